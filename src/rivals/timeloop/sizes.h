/* src/rivals/timeloop/sizes.h - tiles of any sizes.
 *
 * A tile of a memory is a whole number of tiles of the next inner one, and the outermost loop takes as many rounds as it needs, the
 * last one shorter. A dimension of E iterations in tiles of s is in ceil(E / s) of them, and in tiles of k x s in
 * ceil(ceil(E / s) / k): only the number of tiles counts, so of all sizes that make the same number the smallest is enough.
 *
 * A loop that has one iteration in its last round stops nothing from standing still there. That is one tile of n, n > 2, along its
 * dimension: what moves with it gets at least the part (n - 1) / n of the words of full rounds, 2/3 or more. */
#ifndef TW_RIVALS_TIMELOOP_SIZES_H
#define TW_RIVALS_TIMELOOP_SIZES_H
#include "core/deadline.h"
#include "rivals/timeloop/order.h"

typedef struct tw_tl_sizes { /* a search over one frame */
    const tw_tl_price *price;
    tw_measure measure;
    tw_pulse *pulse;
    int64_t most_nodes, *nodes, *counted;
    bool stopped;
    tw_tl_cost open; /* the least that was left out when it stopped */
    bool found;
    tw_tl_cost best;                  /* to be beaten, then what did */
    int64_t (*factor)[TW_RIVAL_DIMS]; /* bounds of the loops over time, as they are tried */
    bool (*recount)(void *user, const tw_tl_orders *orders, tw_tl_cost *cost); /* with these factors */
    void *user;
    int64_t best_factor[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
    tw_tl_orders orders;
} tw_tl_sizes;
/* Whether any sizes along a dimension can be counted: it lies over no fan-out, and nothing slides by it. */
bool tw_tl_sizes_are_free(const tw_tl_price *price, int dim);
/* No mapping of the frame is better than this. */
tw_tl_cost tw_tl_sizes_bound(const tw_tl_price *price);
TW_NODISCARD tw_status tw_tl_sizes_search(tw_tl_sizes *search, tw_arena *scratch);
#endif
