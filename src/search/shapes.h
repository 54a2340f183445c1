/* src/search/shapes.h - what movers that are told rows and planes (machine/cost_descriptor.h) take at least.
 *
 * A row of a tile is what lies together in its tensor: whole axes from the last one outwards, and the next. The axis after
 * that, of those along which the tile has more than one position, counts rows; the others count planes, and each plane is set up
 * anew. Tiles of a part are at most so long along each axis, so rows and planes have at most so many elements, and all that must be moved is
 * so many rows and planes at least. */
#ifndef TW_SEARCH_SHAPES_H
#define TW_SEARCH_SHAPES_H
#include "search/view.h"

/* Busy cycles of engine e, all of its units together; 0: it is not told shapes, or they are not known here. */
int64_t tw_shapes_busy(const tw_view *view, int e, const tw_traffic_bound *all);
/* Thousandths of a cycle that a unit of the operand, moved into or out of memory m, takes at least: that of the longest rows and planes; 0 as above. */
double tw_shapes_rate(const tw_view *view, int m, int operand);
/* Cycles of one transfer of so many units of an operand into or out of memory m; 0 as above. */
int64_t tw_shapes_cycles(const tw_view *view, int m, int operand, int64_t units);
#endif
