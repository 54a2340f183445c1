/* src/write/wire.c - see wire.h. */
#include "write/wire.h"

#include <string.h>

enum { VARINT, FIXED64, BYTES }; /* types of fields */
enum { LONGEST = 10 };           /* bytes of a number */

static size_t put_varint(uint8_t *to, uint64_t x)
{
    size_t n = 0;
    for (; x >= 128; x >>= 7) to[n++] = (uint8_t)(x | 128);
    to[n++] = (uint8_t)x;
    return n;
}

static void put(tw_wire_out *w, uint64_t x)
{
    assert(w->n + LONGEST <= sizeof w->byte);
    w->n += put_varint(w->byte + w->n, x);
}

static void put_tag(tw_wire_out *w, int field, int type) { put(w, (uint64_t)field << 3 | (uint64_t)type); }

void tw_wire_uint(tw_wire_out *w, int field, uint64_t x)
{
    put_tag(w, field, VARINT);
    put(w, x);
}

void tw_wire_fixed64(tw_wire_out *w, int field, uint64_t x)
{
    put_tag(w, field, FIXED64);
    assert(w->n + 8 <= sizeof w->byte);
    for (int i = 0; i < 8; i++) w->byte[w->n++] = (uint8_t)(x >> 8 * i);
}

/* A field whose content, `n` bytes, follows. */
static void put_head(tw_wire_out *w, int field, size_t n)
{
    put_tag(w, field, BYTES);
    put(w, n);
}

void tw_wire_text(tw_wire_out *w, int field, const char *text)
{
    size_t n = strlen(text), room = sizeof w->byte / 2 - (w->n < sizeof w->byte / 2 ? w->n : sizeof w->byte / 2);
    if (n > room) n = room;
    put_head(w, field, n);
    memcpy(w->byte + w->n, text, n);
    w->n += n;
}

size_t tw_wire_open(tw_wire_out *w, int field)
{
    put_tag(w, field, BYTES);
    return w->n++;
}

void tw_wire_close(tw_wire_out *w, size_t at)
{
    uint8_t length[LONGEST];
    size_t n = w->n - at - 1, more = put_varint(length, n) - 1;
    assert(w->n + more <= sizeof w->byte);
    if (more > 0) memmove(w->byte + at + 1 + more, w->byte + at + 1, n);
    memcpy(w->byte + at, length, 1 + more);
    w->n += more;
}
