/* src/lower/resize.h - what a Resize says, for those who take the nearest element (nearest.c) and those who weigh neighbours
 * (resize.c).
 *
 * Every output position of an axis is a place between the input's; the coordinate mode says which. Scales and places are
 * floats, so that one that is near a boundary falls on the side on which onnxruntime sees it. */
#ifndef TW_LOWER_RESIZE_H
#define TW_LOWER_RESIZE_H
#include "lower/build.h"

typedef struct tw_resize {
    tw_seen x, y;
    const char *places; /* the coordinate mode                         */
    double beyond;      /* what tf_crop_and_resize reads outside of x  */
    float scale[TW_ONNX_MAX_DIMS], start[TW_ONNX_MAX_DIMS], end[TW_ONNX_MAX_DIMS];
} tw_resize;
/* Of a Resize or an Upsample; refuses what is not known. */
tw_resize tw_resize_read(tw_lowering *l);
/* Versions before 11: positions and roundings are fixed. */
bool tw_resize_is_old(const tw_lowering *l);
/* Where output position i of axis d lies among the input's. */
float tw_resize_place(const tw_resize *r, int d, int64_t i);
/* Whether that place reads nothing of x. */
bool tw_resize_is_beyond(const tw_resize *r, int d, double place);
/* An axis that keeps its extent at a scale of 1 stays as it is, also where the mode would shift it by half an element. */
bool tw_resize_is_untouched(const tw_resize *r, int d);
/* A vector along the axis that is 1 where its positions read nothing of x, and 0 elsewhere; left out: there is no such
 * position. */
tw_seen tw_resize_beyond(tw_lowering *l, const tw_resize *r, int d);
/* What such positions become, in the type of y. */
double tw_resize_fill(const tw_lowering *l, const tw_resize *r);
#endif
