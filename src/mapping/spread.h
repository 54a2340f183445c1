/* src/mapping/spread.h - which loops lie over which dimension of an array, what that takes, and how it is written.
 *
 * Over a dimension of d units lie any number of loops; a tile takes ceil(points of these loops / d) passes along it. A loop lies over one
 * dimension, or over several: `oc/2` over the rows and `oc` over the columns puts two neighbouring channels over the rows, and
 * the pairs over the columns. Of a tile with n points of a loop whose share is s
 *
 *     min(n, s)   lie over the dimension that has the share,
 *     ceil(n / s) over the other, or are done one after the other where the loop is named nowhere else.
 *
 * With several shares the first dimension has neighbours, the next one groups of them, and so on. */
#ifndef TW_MAPPING_SPREAD_H
#define TW_MAPPING_SPREAD_H
#include "mapping/opmap.h"

/* The loops that lie over the dimensions of an array of so many: as given or, by default, the longest parallel ones, one over
 * each, in the order of their declaration. */
tw_spread tw_spread_or_default(const tw_spread *given, const tw_op *op, int n_dims);
bool tw_spread_is_given(const tw_spread *spread, const tw_op *op);
/* Whether loop l lies over any dimension, over several of them, over this one; and whether any loop lies over it. */
bool tw_spread_lies(const tw_spread *spread, int loop);
bool tw_spread_divides(const tw_spread *spread, int loop);
bool tw_spread_has(const tw_spread *spread, int loop, int dim);
bool tw_spread_uses(const tw_spread *spread, const tw_op *op, int dim);
/* The only loop over the dimension, -1: there is none, or several. */
int tw_spread_loop(const tw_spread *spread, const tw_op *op, int dim);
/* Of so many points of loop l, those that lie side by side over the dimension; over -1: those that are done one after the other. */
int64_t tw_spread_units(const tw_spread *spread, int loop, int dim, int64_t len);
/* Multiplies the points that lie over each dimension, its number + 1, and those that are done one after the other, 0, by so many of the loop. */
void tw_spread_lay(const tw_spread *spread, int loop, int64_t len, int64_t along[1 + TW_MAX_DIMS]);
/* Passes over the array for a tile of these lengths per loop. */
int64_t tw_spread_passes(const tw_spread *spread, const tw_op *op, const tw_cost_array *array, const int64_t *len);

/* Whether the engine's array can have divided loops, and these shares are some. */
TW_NODISCARD tw_status tw_spread_check(const tw_spread *spread, const tw_op *op, const tw_engine *engine,
                                       tw_loc loc, tw_diag *diag);
/* "oc", or "oy, oc/2": the loops over a dimension, in the order of the operator. */
void tw_spread_print(const tw_spread *spread, const tw_op *op, int dim, const char *between, tw_text *out);
#endif
