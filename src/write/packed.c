/* src/write/packed.c - packers on zlib; see packed.h. */
#include "write/packed.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Columns repeat at short distances: more effort finds little more. */
enum { LEVEL = 4, WINDOW_BITS = 15, MEMORY = 8 };

tw_status tw_packer_open(tw_packer *p)
{
    *p = (tw_packer){.zlib = calloc(1, sizeof *p->zlib), .chunk = malloc(TW_PACKER_CHUNK)};
    bool ready = p->zlib && p->chunk &&
                 deflateInit2(p->zlib, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    if (ready) return TW_OK;
    free(p->zlib);
    p->zlib = NULL;
    return TW_ERR_NOMEM;
}

static void deflate_all(tw_packer *p, const uint8_t *bytes, size_t n, int flush)
{
    char out[TW_PACKER_CHUNK];
    p->raw += (int64_t)n;
    p->zlib->next_in = (Bytef *)(uintptr_t)bytes; /* zlib only reads it */
    p->zlib->avail_in = (uInt)n;
    do {
        p->zlib->next_out = (Bytef *)out;
        p->zlib->avail_out = sizeof out;
        p->failed |= deflate(p->zlib, flush) == Z_STREAM_ERROR;
        tw_text_add(&p->out, out, sizeof out - p->zlib->avail_out);
    } while (p->zlib->avail_out == 0 && !p->failed);
}

void tw_packer_flush(tw_packer *p)
{
    deflate_all(p, p->chunk, p->filled, Z_NO_FLUSH);
    p->filled = 0;
}

void tw_packer_add(tw_packer *p, const void *bytes, size_t n)
{
    enum { MOST = 1 << 30 };
    const uint8_t *at = bytes;
    tw_packer_flush(p);
    for (; n > MOST; n -= MOST, at += MOST) deflate_all(p, at, MOST, Z_NO_FLUSH);
    deflate_all(p, at, n, Z_NO_FLUSH);
}

tw_status tw_packer_close(tw_packer *p)
{
    deflate_all(p, p->chunk, p->filled, Z_FINISH);
    p->filled = 0;
    deflateEnd(p->zlib);
    free(p->zlib);
    p->zlib = NULL;
    return p->failed || p->out.failed ? TW_ERR_NOMEM : TW_OK;
}

void tw_packer_release(tw_packer *p)
{
    if (p->zlib) deflateEnd(p->zlib);
    free(p->zlib);
    free(p->chunk);
    tw_text_release(&p->out);
    *p = (tw_packer){0};
}
