/* src/write/packed.h - bytes, deflated as they come, and base64: how a page carries its data.
 *
 *     tw_packer p;
 *     TW_TRY(tw_packer_open(&p));
 *     tw_packer_put(&p, 300);             the bytes 172, 2
 *     TW_TRY(tw_packer_close(&p));        p.out has the zlib stream
 *     tw_base64_write(p.out.bytes, p.out.len, out);
 *     tw_packer_release(&p);
 *
 * A packer remembers that it failed; close tells. */
#ifndef TW_WRITE_PACKED_H
#define TW_WRITE_PACKED_H
#include "core/core.h"

enum { TW_PACKER_CHUNK = 1 << 14 };
typedef struct tw_packer {
    struct z_stream_s *zlib; /* NULL: closed            */
    int64_t n, raw;          /* numbers put, bytes put  */
    tw_text out;
    bool failed;
    size_t filled;
    uint8_t *chunk; /* bytes that zlib has not seen yet */
} tw_packer;

TW_NODISCARD tw_status tw_packer_open(tw_packer *p);
void tw_packer_add(tw_packer *p, const void *bytes, size_t n);
void tw_packer_flush(tw_packer *p); /* of the chunk; for the two below */
/* A number as little-endian groups of seven bits, the last without its high bit. */
static inline void tw_packer_put(tw_packer *p, uint64_t x)
{
    enum { LONGEST = 10 };
    if (p->filled + LONGEST > TW_PACKER_CHUNK) tw_packer_flush(p);
    uint8_t *at = p->chunk + p->filled;
    for (; x >= 128; x >>= 7) *at++ = (uint8_t)(x | 128);
    *at++ = (uint8_t)x;
    p->n++;
    p->filled = (size_t)(at - p->chunk);
}
/* 0, -1, 1, -2, .. as 0, 1, 2, 3, .. */
static inline void tw_packer_put_signed(tw_packer *p, int64_t x)
{
    tw_packer_put(p, (uint64_t)x << 1 ^ (uint64_t)(x >> 63));
}
TW_NODISCARD tw_status tw_packer_close(tw_packer *p);
/* Also of one that is open, or was never. */
void tw_packer_release(tw_packer *p);

/* In one line, padded. */
void tw_base64_write(const void *bytes, size_t n, FILE *out);
#endif
