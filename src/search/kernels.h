/* src/search/kernels.h - executions of a kernel (machine/cost_kernel.h) over all tiles of an operator.
 *
 * What a kernel takes depends on the lengths of its tile along every loop. Along a loop there are few different lengths, so the
 * tiles are of few kinds: exact cycles are a sum over kinds. For a range of sizes there is a least: with c cores of which as many
 * work as the longest loop allows, and u rows unrolled at most,
 *
 *     points       each takes per_point, and depth / u times as long where that is more
 *     rounds       of an execution with P parallel points at least P / (c u), each per_round more, unless there is one
 *     executions   start, per_lane and the barrier each */
#ifndef TW_SEARCH_KERNELS_H
#define TW_SEARCH_KERNELS_H
#include "search/view.h"

enum { TW_MOST_PIECES = 8 };
typedef struct tw_pieces { /* of a loop: the lengths of its tiles, and how many are so long */
    int n;
    int64_t len[TW_MOST_PIECES], count[TW_MOST_PIECES];
} tw_pieces;

/* Cycles of all executions with nothing to disturb them, `pieces` having an entry for each loop. */
int64_t tw_kernels_exactly(const tw_space *space, const tw_pieces *pieces);
/* The same, at least, of every mapping of the part. */
int64_t tw_kernels_least(const tw_view *view);
#endif
