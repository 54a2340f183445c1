/* src/rivals/timeloop/order.h - the best orders of the loops over time, when all factors are chosen.
 *
 * From the innermost memory outwards, loop by loop, each handover keeps the words that entered so far. An order is tried only as
 * long as it makes a difference: as soon as every operand moves with every loop that is left in a block, these may stand anyhow. */
#ifndef TW_RIVALS_TIMELOOP_ORDER_H
#define TW_RIVALS_TIMELOOP_ORDER_H
#include "rivals/timeloop/price.h"

typedef struct tw_tl_orders { /* of a mapping: the loops of each memory over time, innermost first */
    int n[TW_RIVAL_MEMORIES];
    int dim[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
} tw_tl_orders;

typedef struct tw_tl_cost { /* of a mapping */
    double energy_pj, cycles;
} tw_tl_cost;
/* Whether a is better than b by the measure; among equals by the other of energy and cycles. */
bool tw_tl_cost_less(tw_measure measure, tw_tl_cost a, tw_tl_cost b);
double tw_tl_cost_value(tw_measure measure, tw_tl_cost cost);

typedef struct tw_tl_order_search {
    const tw_tl_price *price;
    tw_measure measure;
    /* Iterations over time of each memory's loops, and inside of each memory, of every dimension. Where a factor does not divide
     * they are averages: how many there are in all, over how many there are further outside. */
    const double (*factor)[TW_RIVAL_DIMS], (*inside)[TW_RIVAL_DIMS];
    double cycles; /* of the array, rounds that are not full included */
    bool rough;    /* averages: words may be fewer by a third, see sizes.h, and every mapping is counted again */
    /* What a mapping really costs where the price is not exact or rough. */
    bool (*recount)(void *user, const tw_tl_orders *orders, tw_tl_cost *cost);
    void *user;
    bool every; /* nothing is cut: for measuring */
    bool found; /* something better than `best` was when it began; then it is that one */
    tw_tl_cost best;
    tw_tl_orders orders;
    int64_t counted;
} tw_tl_order_search;
void tw_tl_order_best(tw_tl_order_search *search);
#endif
