/* src/write/base64.c - bytes as base64; see packed.h. */
#include "write/packed.h"

static void put_group(const uint8_t *b, size_t n, char *to)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned x = (unsigned)b[0] << 16 | (n > 1 ? (unsigned)b[1] << 8 : 0) | (n > 2 ? b[2] : 0);
    for (unsigned i = 0; i < 4; i++) to[i] = i <= n ? digit[x >> (18 - 6 * i) & 63] : '=';
}

void tw_base64_write(const void *bytes, size_t n, FILE *out)
{
    enum { GROUPS = 1024 };
    const uint8_t *b = bytes;
    char line[4 * GROUPS];
    while (n > 0) {
        size_t filled = 0;
        for (; filled < sizeof line && n > 0; filled += 4) {
            size_t now = n < 3 ? n : 3;
            put_group(b, now, line + filled);
            b += now;
            n -= now;
        }
        fwrite(line, 1, filled, out);
    }
}
