/* src/onnx/wire.c - see wire.h. Every length is compared with what is left before anything is read. */
#include "onnx/wire.h"

#include <stdio.h>
#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5, TYPE_BITS = 7 };

tw_wire tw_wire_of(tw_bytes message)
{
    tw_wire wire;
    wire.start = wire.at = message.at;
    wire.end = message.at + message.n;
    wire.broken = false;
    wire.wrong[0] = 0;
    return wire;
}

static bool TW_PRINTF(2, 3) fail(tw_wire *wire, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(wire->wrong, sizeof wire->wrong, fmt, args);
    va_end(args);
    wire->broken = true;
    return false;
}

static size_t left(const tw_wire *wire) { return (size_t)(wire->end - wire->at); }

static bool read_varint(tw_wire *wire, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 10; i++) {
        if (i == left(wire)) return fail(wire, "a number is cut off");
        uint8_t byte = wire->at[i];
        value |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            wire->at += i + 1;
            *out = value;
            return true;
        }
    }
    return fail(wire, "a number has more than 10 bytes");
}

static bool read_fixed(tw_wire *wire, unsigned n, uint64_t *out)
{
    if (left(wire) < n) return fail(wire, "a number of %u bytes is cut off after %zu", n, left(wire));
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) value |= (uint64_t)wire->at[i] << (8 * i);
    wire->at += n;
    *out = value;
    return true;
}

bool tw_wire_number(tw_wire *wire, uint32_t tag, uint64_t *bits)
{
    if (wire->broken || wire->at == wire->end) return false;
    uint32_t type = tag & TYPE_BITS;
    return type == VARINT ? read_varint(wire, bits) : read_fixed(wire, type == FIXED64 ? 8 : 4, bits);
}

static bool read_bytes(tw_wire *wire, uint32_t number, tw_bytes *out)
{
    uint64_t n;
    if (!read_varint(wire, &n)) return false;
    if (n > left(wire))
        return fail(wire, "field %" PRIu32 " has %" PRIu64 " bytes, %zu are left", number, n, left(wire));
    *out = (tw_bytes){wire->at, (size_t)n};
    wire->at += n;
    return true;
}

bool tw_wire_next(tw_wire *wire, tw_field *field)
{
    if (wire->broken || wire->at == wire->end) return false;
    uint64_t tag;
    if (!read_varint(wire, &tag)) return false;
    if (tag > UINT32_MAX || tag >> 3 == 0) return fail(wire, "there is no field with the tag %" PRIu64, tag);
    *field = (tw_field){.tag = (uint32_t)tag, .bytes = {wire->at, 0}};
    uint32_t number = field->tag >> 3;
    switch (tag & TYPE_BITS) {
    case VARINT: return read_varint(wire, &field->bits);
    case FIXED64: return read_fixed(wire, 8, &field->bits);
    case FIXED32: return read_fixed(wire, 4, &field->bits);
    case LENGTH: return read_bytes(wire, number, &field->bytes);
    default:
        return fail(wire, "field %" PRIu32 " has the encoding %u, which ONNX does not use", number,
                    (unsigned)(tag & TYPE_BITS));
    }
}

tw_repeated tw_repeated_of(tw_bytes message, uint32_t tag)
{
    return (tw_repeated){tag, tw_wire_of(message), tw_wire_of((tw_bytes){message.at, 0})};
}

bool tw_repeated_next(tw_repeated *repeated, tw_field *element)
{
    uint32_t packed = repeated->tag >> 3 << 3 | LENGTH;
    *element = (tw_field){.tag = repeated->tag};
    if (tw_wire_number(&repeated->packed, repeated->tag, &element->bits)) return true;
    if (repeated->packed.broken) return false;
    while (tw_wire_next(&repeated->message, element)) {
        if (element->tag == repeated->tag) return true;
        if (element->tag != packed) continue;
        repeated->packed = tw_wire_of(element->bytes);
        if (tw_wire_number(&repeated->packed, repeated->tag, &element->bits)) return true;
        if (repeated->packed.broken) return false;
    }
    return false;
}

const tw_wire *tw_repeated_broken(const tw_repeated *repeated)
{
    return repeated->message.broken ? &repeated->message : repeated->packed.broken ? &repeated->packed : NULL;
}

float tw_wire_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}
