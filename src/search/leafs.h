/* src/search/leafs.h - what leaf.c, slots.c (lockstep) and credits.c (async) share. */
#ifndef TW_SEARCH_LEAFS_H
#define TW_SEARCH_LEAFS_H
#include "search/leaf.h"

typedef struct tw_leaf {
    const tw_space *space;
    const tw_goals *goals;
    const tw_part *part;
    bool exhaustive, quick;
    const tw_judge *judge;
    tw_least least;    /* of the part  */
    tw_op_map map;     /* buffers open */
    int64_t n_found;   /* mappings that fit                       */
    int64_t n_refused; /* those that do not                       */
    int64_t n_better;  /* of those that were better than all before */
} tw_leaf;

/* Simulates a whole mapping and hands the value over. */
TW_NODISCARD tw_status tw_leaf_try(tw_leaf *leaf, const tw_op_map *map);
/* Whether mappings that cost at least this may be worth it. */
bool tw_leaf_wants(const tw_leaf *leaf, const tw_outcome *least, tw_closer closer);
/* Whether operand o may have so many buffers in memory m. */
bool tw_leaf_allows(const tw_leaf *leaf, int m, int o, int64_t slots);

TW_NODISCARD tw_status tw_leaf_slots(tw_leaf *leaf);
/* What the mapping costs at least, whatever its buffers; *short_by: what they miss in memory if they are as few as can be. */
TW_NODISCARD tw_status tw_leaf_outlined(tw_leaf *leaf, tw_outcome *least, int64_t *short_by);
/* Lockstep: a bound over all choices of slots; TW_INFEASIBLE when none fits. */
TW_NODISCARD tw_status tw_leaf_paced(tw_leaf *leaf, tw_outcome *least);
TW_NODISCARD tw_status tw_leaf_rated(tw_leaf *leaf, tw_outcome *least, int64_t *short_by);
TW_NODISCARD tw_status tw_leaf_credits(tw_leaf *leaf);
#endif
