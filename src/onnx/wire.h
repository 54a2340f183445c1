/* src/onnx/wire.h - the fields of a protobuf message, one after the other, without copying any of it.
 *
 * A message is a sequence of fields; a field is a tag (number and encoding) and a value: a varint, 4 or 8 bytes, or a
 * length and so many bytes, which may be a message again. The walker knows nothing of ONNX. It never reads behind the
 * bytes it was given, and never enters a message that nobody asks for: what is skipped costs its header.
 *
 *     for (tw_wire w = tw_wire_of(message); tw_wire_next(&w, &field);)
 *         switch (field.tag) {
 *         case TW_WIRE_VARINT(1): version = (int64_t)field.bits; break;
 *         case TW_WIRE_BYTES(7): graph = field.bytes; break;
 *         }
 *     return tw_wire_end(..);     the loop also ends where the bytes make no sense
 *
 * A known number in an unexpected encoding is a tag that no case names: skipped, as protobuf does with what it does not
 * know. Groups, which ONNX never had, are refused. */
#ifndef TW_ONNX_WIRE_H
#define TW_ONNX_WIRE_H
#include "core/core.h"

typedef struct tw_bytes {
    const uint8_t *at;
    size_t n;
} tw_bytes;

#define TW_WIRE_VARINT(field)  ((field) << 3)
#define TW_WIRE_FIXED64(field) ((field) << 3 | 1)
#define TW_WIRE_BYTES(field)   ((field) << 3 | 2)
#define TW_WIRE_FIXED32(field) ((field) << 3 | 5)

typedef struct tw_field {
    uint32_t tag;   /* TW_WIRE_..(number)                         */
    uint64_t bits;  /* of a varint, 8 bytes or 4 bytes            */
    tw_bytes bytes; /* of a field with a length, else empty       */
} tw_field;

typedef struct tw_wire {
    const uint8_t *start, *at, *end;
    bool broken;
    char wrong[96]; /* what, when it is broken; `at` tells where */
} tw_wire;

tw_wire tw_wire_of(tw_bytes message);
/* The next field; false at the end, or when what follows is no field. */
TW_NODISCARD bool tw_wire_next(tw_wire *wire, tw_field *field);

/* The elements of one repeated field of numbers or strings, packed into one field or each in its own: the `bits` or
 * `bytes` of one element each time. `tag` is that of a single element. */
typedef struct tw_repeated {
    uint32_t tag;
    tw_wire message, packed;
} tw_repeated;
tw_repeated tw_repeated_of(tw_bytes message, uint32_t tag);
TW_NODISCARD bool tw_repeated_next(tw_repeated *repeated, tw_field *element);
/* The walker that is broken, or NULL. */
const tw_wire *tw_repeated_broken(const tw_repeated *repeated);

/* The next number of one encoding, without a tag, as packed fields have them. */
TW_NODISCARD bool tw_wire_number(tw_wire *wire, uint32_t tag, uint64_t *bits);

/* 4 bytes as the number they are. */
float tw_wire_float(uint64_t bits);
#endif
