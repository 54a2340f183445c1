/* src/search/seed.h - good mappings to begin with: the better the best so far, the more the bounds close.
 *
 * In each frame a mapping is improved step by step: a size doubled, halved or moved to the next multiple, an order, a
 * rule, a mode or a keep replaced, as long as its estimate falls. The estimate is a bound of the single mapping (leaf.h),
 * so nothing is simulated until the end. What is found proves nothing. */
#ifndef TW_SEARCH_SEED_H
#define TW_SEARCH_SEED_H
#include "search/leaf.h"

typedef struct tw_climb {
    const tw_space *space;
    const tw_goals *goals;
    const tw_judge *judge;
    tw_part **at; /* the part at hand while the judge is asked */
    int64_t most; /* mappings that are looked at, at most      */
} tw_climb;
/* Climbs, and simulates the last mapping. `start` is where it begins, NULL: with whole loops, halved until they fit. */
TW_NODISCARD tw_status tw_seed_frame(const tw_climb *climb, int frame, const tw_part *start);
/* The same from `start` alone, whose sizes stay as they are: only orders, rules, modes and keeps are improved. */
TW_NODISCARD tw_status tw_seed_choices(const tw_climb *climb, const tw_part *start);
/* The tiles with the least traffic into a memory that is as large as that of the frame's one tiled level, for the k-th order of
 * the loops and tiles of multiples of `granule`; NULL when there are none. */
TW_NODISCARD tw_status tw_seed_tiles(const tw_space *space, int frame, int64_t k, int64_t granule,
                                     tw_arena *scratch, tw_part **out);
#endif
