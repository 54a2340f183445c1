/* src/lower/view.c - operators that do nothing: their output is the input's elements in another shape. */
#include "lower/build.h"

static void lower_view(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0);
    if (x.tensor < 0) tw_refuse(l, "an input is missing");
    if (!tw_refused(l)) tw_output_is(l, 0, x, 0);
}

/* Outside of training, and without a mask. */
static void lower_dropout(tw_lowering *l)
{
    const tw_array *training = tw_known_input(l, 2);
    if (tw_has_output(l, 1)) tw_refuse(l, "a mask is asked for");
    if (tw_has_input(l, 2) && (!training || tw_array_get(training, 0) != 0)) tw_refuse(l, "training");
    if (l->opset < 7 && tw_onnx_int(l->node, "is_test", 0) == 0) tw_refuse(l, "training");
    lower_view(l);
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
