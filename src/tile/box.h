/* src/tile/box.h - the part of a tensor that a box of loop points touches.
 *
 * A tile is a box: one span per loop. Its footprint in an operand is, axis by axis, the hull of the
 * positions that the access map reaches, clipped at the tensor's edge. The hull is exact when the
 * positions are dense (stride <= kernel, no dilation) and otherwise the smallest interval that
 * holds them: what a buffer must hold and a transfer moves. */
#ifndef TW_TILE_BOX_H
#define TW_TILE_BOX_H
#include "model/model.h"

/* The whole iteration space of the operator. */
tw_box tw_box_of_op(const tw_op *op);
/* Points in the box. The operator's product of extents was checked, so this cannot overflow. */
int64_t tw_box_points(const tw_op *op, const tw_box *box);
/* Whether there are none. */
bool tw_box_is_empty(const tw_op *op, const tw_box *box);
/* Bit l is set when loop l moves along the axis. */
unsigned tw_axis_loops(const tw_axis *axis);
/* Positions that tiles of these lengths reach along an axis before division, away from the tensor's edge. */
static inline int64_t tw_axis_stretch(const tw_axis *axis, const int64_t *len)
{
    int64_t reach = 1;
    for (int t = 0; t < axis->n_terms; t++) {
        int64_t coef = axis->term[t].coef;
        reach += (coef < 0 ? -coef : coef) * (len[axis->term[t].loop] - 1);
    }
    return reach;
}
/* Positions along one axis before clipping: the reach. */
tw_span tw_axis_reach(const tw_axis *axis, const tw_box *box);
/* The footprint; returns its number of elements, 0 when the box touches only padding. */
int64_t tw_region_of(const tw_operand *operand, const tw_box *box, tw_region *out);
/* How much padding the reach holds below and above the tensor, along one axis. */
void tw_axis_padding(const tw_axis *axis, const tw_box *box, int64_t *lo, int64_t *hi);

/* Whether some position of the axis lies outside the tensor, or is skipped by the division; and the
 * operands with such an axis, as a mask. */
bool tw_axis_is_clipped(const tw_op *op, const tw_axis *axis);
unsigned tw_op_clipped(const tw_op *op);

/* Whether a box contributes nothing but the neutral value, given the elements of its footprint in each operand:
 * a product with an input that lies wholly in padding, or anything else whose inputs all do. A map always makes
 * something: it may write constants. */
bool tw_op_is_neutral(const tw_op *op, const int64_t elems[TW_MAX_OPERANDS]);

/* A name for what a program on this box looks like: boxes with equal keys have the same tiles, footprints
 * and padding, wherever they lie. `clipped` is tw_op_clipped. Returns the number of entries. */
enum { TW_BOX_KEY_MAX = TW_MAX_LOOPS + 3 * TW_MAX_OPERANDS * TW_MAX_AXES };
int tw_box_key(const tw_op *op, const tw_box *box, unsigned clipped, int64_t key[TW_BOX_KEY_MAX]);
#endif
