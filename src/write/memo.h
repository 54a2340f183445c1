/* src/write/memo.h - a stream into memory.
 *
 * The C library has one (open_memstream), but when memory runs out it loses what is written without marking the stream.
 * Here ferror tells. */
#ifndef TW_WRITE_MEMO_H
#define TW_WRITE_MEMO_H
#include "core/core.h"

#include <stdio.h>

typedef struct tw_memo { /* stays where it is while it is open */
    tw_text text;
    FILE *stream;
} tw_memo;

TW_NODISCARD tw_status tw_memo_open(tw_memo *m);
/* Its text is complete after this. The status is the caller's, of what it has printed, or that of the stream. */
TW_NODISCARD tw_status tw_memo_close(tw_memo *m, tw_status status);
void tw_memo_release(tw_memo *m);
#endif
