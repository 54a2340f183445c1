/* src/lower/view.c - operators that do nothing: their output is the input's elements in another shape. */
#include "lower/build.h"

static void lower_view(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0);
    if (x.tensor < 0) tw_refuse(l, "an input is missing");
    if (!tw_refused(l)) tw_output_is(l, 0, x, 0);
}

/* A known input that is zero. */
static bool is_off(tw_lowering *l, int i)
{
    const tw_array *known = tw_known_input(l, i);
    return known && known->n > 0 && tw_is_zero(l, tw_see_input(l, i));
}

/* The mask of what is kept: everything. */
static void keep_all(tw_lowering *l)
{
    tw_seen mask = tw_see_output(l, 1);
    tw_array *array;
    if (tw_elems_of(mask) > TW_LITERAL_MOST) tw_refuse(l, "a mask is asked for");
    if (tw_refused(l)) return;
    mask = tw_literal(l, ".all", tw_type_of(l, mask), mask.n_dims, mask.dim, &array);
    for (int64_t i = 0; i < tw_elems_of(mask) && !tw_refused(l); i++) tw_array_set(array, i, 1);
    if (!tw_refused(l)) tw_output_is(l, 1, mask, 0);
}

/* Outside of training, or dropping nothing. */
static void lower_dropout(tw_lowering *l)
{
    if (tw_has_input(l, 2) && !is_off(l, 2) && !is_off(l, 1)) tw_refuse(l, "training");
    if (l->opset < 7 && tw_onnx_int(l->node, "is_test", 0) == 0) tw_refuse(l, "training");
    if (tw_has_output(l, 0)) lower_view(l);
    if (tw_has_output(l, 1)) keep_all(l);
}

const tw_describer tw_view_ops[] = {
    {"Reshape", "", lower_view, false},
    {"Flatten", "", lower_view, false},
    {"Squeeze", "", lower_view, false},
    {"Unsqueeze", "", lower_view, false},
    {"Identity", "", lower_view, false},
    {"Dropout", "", lower_dropout, false},
    {0},
};
