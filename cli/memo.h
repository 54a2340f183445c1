/* cli/memo.h - a stream into memory that, unlike open_memstream, is marked (ferror) when memory runs out. */
#ifndef TW_CLI_MEMO_H
#define TW_CLI_MEMO_H
#include <stdbool.h>
#include <stdio.h>

typedef struct memo { /* stays where it is while it is open                */
    char *bytes;      /* zero-terminated once it is closed; free it        */
    size_t n, room;
    FILE *stream;
} memo;

bool memo_open(memo *m);
/* Whether all that was written is there; otherwise nothing is. */
bool memo_close(memo *m);
#endif
