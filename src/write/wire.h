/* src/write/wire.h - messages in the wire format of Protocol Buffers, put together in a small buffer.
 *
 *     tw_wire_out w = {0};
 *     size_t at = tw_wire_open(&w, 1);         a field that is a message
 *     tw_wire_uint(&w, 8, 300);                with a number in it
 *     tw_wire_close(&w, at);                   0a 03 40 ac 02
 *
 * A length is known only when its message is closed: one byte is kept for it, and a longer one moves the message. Texts
 * that find no room are cut off; other fields fit by construction, which is asserted. */
#ifndef TW_WRITE_WIRE_H
#define TW_WRITE_WIRE_H
#include "core/core.h"

enum { TW_WIRE_ROOM = 4096 };
typedef struct tw_wire_out {
    size_t n;
    uint8_t byte[TW_WIRE_ROOM];
} tw_wire_out;

void tw_wire_uint(tw_wire_out *w, int field, uint64_t x);
void tw_wire_fixed64(tw_wire_out *w, int field, uint64_t x);
void tw_wire_text(tw_wire_out *w, int field, const char *text);
size_t tw_wire_open(tw_wire_out *w, int field);
void tw_wire_close(tw_wire_out *w, size_t at);
#endif
