/* src/write/gzip.c - see gzip.h. */
#include "write/gzip.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 4, WINDOW_BITS = 15 + 16 /* 16: with the head and tail of gzip */, MEMORY = 8, CHUNK = 1 << 16 };

typedef struct gzip {
    FILE *out;
    z_stream zlib;
    unsigned char chunk[CHUNK];
} gzip;

static int deflate_to_out(gzip *g, int flush)
{
    do {
        g->zlib.next_out = g->chunk;
        g->zlib.avail_out = CHUNK;
        if (deflate(&g->zlib, flush) == Z_STREAM_ERROR) return -1;
        size_t n = CHUNK - g->zlib.avail_out;
        if (fwrite(g->chunk, 1, n, g->out) != n) return -1;
    } while (g->zlib.avail_out == 0);
    return 0;
}

static ssize_t take(void *cookie, const char *bytes, size_t n)
{
    gzip *g = cookie;
    g->zlib.next_in = (unsigned char *)(uintptr_t)bytes; /* zlib only reads it */
    g->zlib.avail_in = (uInt)n;
    return deflate_to_out(g, Z_NO_FLUSH) == 0 ? (ssize_t)n : 0;
}

static int end(void *cookie)
{
    gzip *g = cookie;
    g->zlib.avail_in = 0;
    int result = deflate_to_out(g, Z_FINISH);
    deflateEnd(&g->zlib);
    free(g);
    return result;
}

FILE *tw_gzip_open(FILE *out)
{
    gzip *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->out = out;
    bool ready = deflateInit2(&g->zlib, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    FILE *stream = ready ? fopencookie(g, "w", (cookie_io_functions_t){.write = take, .close = end}) : NULL;
    if (stream) return stream;
    if (ready) deflateEnd(&g->zlib);
    free(g);
    return NULL;
}
