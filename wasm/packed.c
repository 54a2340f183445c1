/* wasm/packed.c - packers (write/packed.h) without zlib: streams of stored blocks, which every reader of deflated data takes.
 *
 * Nothing is sent anywhere, so size does not count. Base64 is that of write/base64.c. */
#include "write/packed.h"

#include <stdlib.h>
#include <string.h>

tw_status tw_packer_open(tw_packer *p)
{
    *p = (tw_packer){.chunk = malloc(TW_PACKER_CHUNK)};
    return p->chunk ? TW_OK : TW_ERR_NOMEM;
}

void tw_packer_add(tw_packer *p, const void *bytes, size_t n)
{
    tw_packer_flush(p);
    p->raw += (int64_t)n;
    tw_text_add(&p->out, bytes, n);
}

void tw_packer_flush(tw_packer *p)
{
    size_t n = p->filled;
    p->filled = 0;
    p->raw += (int64_t)n;
    tw_text_add(&p->out, (const char *)p->chunk, n);
}

static uint32_t adler32(const char *bytes, size_t n)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + (unsigned char)bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static void put_stored(tw_text *out, const char *bytes, size_t n, bool last)
{
    const char head[] = {(char)last, (char)n, (char)(n >> 8), (char)~n, (char)(~n >> 8)};
    tw_text_add(out, head, sizeof head);
    tw_text_add(out, bytes, n);
}

tw_status tw_packer_close(tw_packer *p)
{
    enum { MOST = 65535 };
    tw_text raw, stream = {0};
    tw_packer_flush(p);
    raw = p->out;
    tw_text_add(&stream, "\x78\x01", 2);
    for (size_t at = 0; at == 0 || at < raw.len; at += MOST) {
        size_t n = raw.len - at < MOST ? raw.len - at : MOST;
        put_stored(&stream, raw.bytes ? raw.bytes + at : "", n, at + n == raw.len);
    }
    uint32_t sum = adler32(raw.bytes, raw.len);
    const char tail[] = {(char)(sum >> 24), (char)(sum >> 16), (char)(sum >> 8), (char)sum};
    tw_text_add(&stream, tail, sizeof tail);
    p->failed |= raw.failed || stream.failed;
    tw_text_release(&raw);
    p->out = stream;
    return p->failed ? TW_ERR_NOMEM : TW_OK;
}

void tw_packer_release(tw_packer *p)
{
    free(p->chunk);
    tw_text_release(&p->out);
    *p = (tw_packer){0};
}
