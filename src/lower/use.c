/* src/lower/use.c - what a lowered network says about its elements, see lower.h. */
#include "lower/lower.h"

#include <string.h>

tw_array tw_lowered_array(const tw_lowered *lowered, int tensor)
{
    const tw_tensor *t = &lowered->graph.tensor[tensor];
    tw_array array = {.type = lowered->source[tensor].type, .n_dims = t->n_axes, .n = tw_tensor_elems(t)};
    memcpy(array.dim, t->extent, sizeof array.dim);
    return array;
}

const tw_constant *tw_lowered_constant(const tw_lowered *lowered, int tensor)
{
    const tw_tensor_source *from = &lowered->source[tensor];
    bool elsewhere = from->literal || from->value < 0 || lowered->graph.tensor[tensor].role != TW_ROLE_CONSTANT;
    return elsewhere ? NULL : lowered->shapes->file->value[from->value].constant;
}

int64_t tw_selection_at(const tw_selection *s, const tw_array *index, int64_t outer, int64_t row)
{
    int64_t at = tw_array_get_int(index, row);
    if (at < 0) at += s->extent;
    return at < 0 || at >= s->extent ? -1 : (outer * s->extent + at) * s->inner;
}
