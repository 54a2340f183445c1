/* src/fuse/order.h - another order of a model's operators, in which each one stands behind what it reads last:
 *
 *     a1 b1 a2 b2   becomes   a1 a2 b1 b2       where a2 reads what a1 makes, and b2 what b1 makes
 *
 * Segments are operators that stand one behind the other, so that the order decides which operators can be one group. */
#ifndef TW_FUSE_ORDER_H
#define TW_FUSE_ORDER_H
#include "mapping/mapping.h"

/* The model with its operators in that order; order[i] is the number that operator i of it has in `model`. *same: it is the order that there was. */
TW_NODISCARD tw_status tw_order_follow(const tw_model *model, tw_arena *arena, tw_model *out, int **order,
                                       bool *same);
/* A mapping of groups of the reordered model as one of the model itself. */
TW_NODISCARD tw_status tw_order_restore(const int *order, tw_arena *arena, tw_mapping *mapping);
#endif
