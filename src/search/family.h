/* src/search/family.h - the candidates for one tiled level, in a fixed order (models.md 1.7).
 *
 *   counts   per loop every count that both cut rules can make, the product at most max_execs; a cut loop
 *            keeps floor(length / count) >= min_tile
 *   slots    inputs 1 or 2, but not more than the operand has tiles; the output as few as the mode needs or
 *            one more (1 when there is a single output tile and no partial sums)
 *   order    the loops as declared, then the other orders of the cut parallel loops if they are at most three
 *
 * Candidates come with the first loop's count varying slowest, then slots, then order. */
#ifndef TW_SEARCH_FAMILY_H
#define TW_SEARCH_FAMILY_H
#include "search/mapping.h"

typedef struct tw_family {
    const tw_op *op;
    int64_t len[TW_MAX_LOOPS]; /* lengths of the box to cut */
    int memory;                /* of the level              */
    tw_accumulate mode;
    tw_cut cut;
    int64_t min_tile, max_execs;
} tw_family;

typedef enum tw_visit { TW_GO_ON, TW_SKIP, TW_STOP } tw_visit;
/* `counts` is called with each choice of counts, before its slots and orders: TW_SKIP leaves those out.
 * `candidate` is called with each whole candidate. TW_STOP from either ends the walk. */
typedef struct tw_family_visitor {
    tw_visit (*counts)(void *user, const tw_level_map *map, int64_t n_execs);
    tw_visit (*candidate)(void *user, const tw_level_map *map, int64_t n_execs);
    void *user;
} tw_family_visitor;

/* False when a visit stopped the walk. */
bool tw_family_walk(const tw_family *family, const tw_family_visitor *visitor);
#endif
