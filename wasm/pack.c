/* wasm/pack.c - pack FILE OUT: a file as pages carry it, deflated and in base64. A build packs the planner's core once, so that no report has to. */
#include "write/packed.h"

#include <stdlib.h>
#include <zlib.h>

/* All of a file; NULL: it cannot be read. The caller frees it. */
static uint8_t *read_all(const char *path, size_t *n)
{
    FILE *in = fopen(path, "rb");
    uint8_t *bytes = NULL;
    *n = 0;
    for (size_t room = 1 << 20, got = 1; in && got > 0; *n += got, room *= 2) {
        uint8_t *more = realloc(bytes, room);
        if (!more) abort();
        bytes = more;
        got = fread(bytes + *n, 1, room - *n, in);
    }
    if (in) fclose(in);
    return bytes;
}

int main(int argc, char **argv)
{
    size_t n;
    uint8_t *bytes = argc == 3 ? read_all(argv[1], &n) : NULL;
    if (!bytes) return fprintf(stderr, "usage: pack FILE OUT\n"), 64;
    uLongf len = compressBound((uLong)n);
    uint8_t *packed = malloc(len);
    FILE *out = fopen(argv[2], "wb");
    if (!packed || !out || compress2(packed, &len, bytes, (uLong)n, Z_BEST_COMPRESSION) != Z_OK) return 70;
    tw_base64_write(packed, len, out);
    int failed = ferror(out);
    return fclose(out) != 0 || failed ? 74 : 0;
}
