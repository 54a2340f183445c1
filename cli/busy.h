/* cli/busy.h - work that takes long and reports nothing, or only how far it is: one line on a terminal.
 *
 *     verifying matmul  [########----------------]  2.1 s
 *
 * A thread of its own draws it, from half a second on, and erases it at the end; without a terminal there is none. */
#ifndef TW_CLI_BUSY_H
#define TW_CLI_BUSY_H
#include "tilewright/tilewright.h"

typedef struct busy busy;
/* NULL: nobody would see it, which the functions below take. The text is copied. */
busy *busy_begin(bool quiet, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* How far it is; as tw_verify_options has it, `user` is the busy. */
void busy_at(void *user, int64_t done, int64_t total);
void busy_end(busy *b);
#endif
