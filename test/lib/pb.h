/* test/lib/pb.h - protobuf messages written by hand: fields appended to a text that grows.
 *
 *     tw_text node = {0};
 *     pb_text(&node, 4, "Relu");
 *     pb_message(&graph, 1, &node);      appends it and empties it */
#ifndef TW_TEST_PB_H
#define TW_TEST_PB_H
#include "core/core.h"

#include <string.h>

static inline void pb_varint(tw_text *t, uint64_t x)
{
    for (; x >= 128; x >>= 7) tw_text_add(t, &(char){(char)(x | 128)}, 1);
    tw_text_add(t, &(char){(char)x}, 1);
}

static inline void pb_tag(tw_text *t, int field, int type) { pb_varint(t, (uint64_t)(field << 3 | type)); }

static inline void pb_int(tw_text *t, int field, int64_t x)
{
    pb_tag(t, field, 0);
    pb_varint(t, (uint64_t)x);
}

static inline void pb_bytes(tw_text *t, int field, const void *bytes, size_t n)
{
    pb_tag(t, field, 2);
    pb_varint(t, n);
    tw_text_add(t, bytes, n);
}

static inline void pb_text(tw_text *t, int field, const char *text) { pb_bytes(t, field, text, strlen(text)); }

static inline void pb_float(tw_text *t, int field, float x)
{
    pb_tag(t, field, 5);
    tw_text_add(t, (const char *)&x, sizeof x);
}

static inline void pb_double(tw_text *t, int field, double x)
{
    pb_tag(t, field, 1);
    tw_text_add(t, (const char *)&x, sizeof x);
}

static inline void pb_packed(tw_text *t, int field, const int64_t *x, int n)
{
    tw_text list = {0};
    for (int i = 0; i < n; i++) pb_varint(&list, (uint64_t)x[i]);
    pb_bytes(t, field, list.bytes ? list.bytes : "", list.len);
    tw_text_release(&list);
}

static inline void pb_message(tw_text *t, int field, tw_text *inner)
{
    pb_bytes(t, field, inner->bytes ? inner->bytes : "", inner->len);
    tw_text_release(inner);
}
#endif
