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
/* Positions along one axis before clipping: the reach. */
tw_span tw_axis_reach(const tw_axis *axis, const tw_box *box);
/* The footprint; returns its number of elements, 0 when the box touches only padding. */
int64_t tw_region_of(const tw_operand *operand, const tw_box *box, tw_region *out);
/* How much padding the reach holds below and above the tensor, along one axis. */
void tw_axis_padding(const tw_axis *axis, const tw_box *box, int64_t *lo, int64_t *hi);
#endif
