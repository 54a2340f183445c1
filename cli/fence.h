/* cli/fence.h - other people's libraries behind a fence.
 *
 * What draws (cairo, FreeType, fontconfig) and what computes references (OpenBLAS, oneDNN) is not ours, and where memory is short
 * some of it crashes, aborts or ends the process. It works in a child: its end is then an answer, not ours. */
#ifndef TW_CLI_FENCE_H
#define TW_CLI_FENCE_H
#include <stdio.h>

enum { FENCE_BROKEN = -1 };

/* Calls work(user) in a child and returns what it returns, 0 to 255. FENCE_BROKEN with a message on standard error when the
 * child ended in another way, or there could be none; `what` names it: "drawing". The child writes to files that were open
 * before; nothing else that it changes is seen here. */
int fence_run(const char *what, int (*work)(void *user), void *user);
/* Draws behind a fence, twice: a library that goes on without what it found no memory for draws something else the second time.
 * What came out equal is written to `out`. Returns what `draw` returns, 0 being success, or FENCE_BROKEN with a
 * message; a failure to write to `out` is left to its stream. */
int fence_draw(int (*draw)(void *user, FILE *out), void *user, FILE *out);
#endif
