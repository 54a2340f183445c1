/* src/search/leafs.h - what leaf.c, slots.c (programs of rows) and credits.c (streams) share. */
#ifndef TW_SEARCH_LEAFS_H
#define TW_SEARCH_LEAFS_H
#include "search/leaf.h"

typedef struct tw_leaf {
    const tw_space *space;
    const tw_goals *goals;
    const tw_part *part;
    bool exhaustive, quick;
    bool counted; /* no objective depends on time, and the transfers are known by a formula */
    const tw_judge *judge;
    tw_part_bounds least; /* of the part  */
    tw_op_map map;        /* buffers open */
    int64_t n_found;      /* mappings that fit                       */
    int64_t n_refused;    /* those that do not                       */
    int64_t n_better;     /* of those that were better than all before */
} tw_leaf;

/* Simulates a whole mapping and hands the value over. */
TW_NODISCARD tw_status tw_leaf_try(tw_leaf *leaf, const tw_op_map *map);
/* Whether mappings that cost at least this may be worth it. */
bool tw_leaf_wants(const tw_leaf *leaf, const tw_outcome *least, tw_closer closer);
/* Whether operand o may have so many buffers in memory m. */
bool tw_leaf_allows(const tw_leaf *leaf, int m, int o, int64_t slots);

#endif
