/* src/tile/shape.h - how a region lies in its tensor, for movers that are told rows and planes. */
#ifndef TW_TILE_SHAPE_H
#define TW_TILE_SHAPE_H
#include "machine/machine.h"

/* From the last axis outwards whole axes make one row, the next axis counts rows, those before it planes. Rows that are
 * scattered have a gap of one element between them. `elem`: units of an element; `len`: positions that are moved along each
 * axis, NULL: those of the region, which is not empty. */
tw_shape tw_region_shape(const tw_operand *operand, const tw_region *region, const int64_t *len, int64_t elem);
#endif
