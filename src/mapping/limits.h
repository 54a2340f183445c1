/* src/mapping/limits.h - which mappings the user allows: a mapping file with parts left open.
 *
 * Everything that a mapping file may say may be missing, and then it is searched for. Where a mapping has a number, limits
 * have a set of numbers: 32 itself, `{at most: 64, multiple of: 16}`, or a list of candidates. */
#ifndef TW_MAPPING_LIMITS_H
#define TW_MAPPING_LIMITS_H
#include "mapping/mapping.h"

/* at_least <= x <= at_most, a multiple of `multiple_of`, and one of the list if there is one. */
typedef struct tw_number_limit {
    int64_t at_least, at_most, multiple_of; /* 1, INT64_MAX, 1: any                     */
    int n_list;                             /* 0: no list                               */
    const int64_t *list;                    /* ascending, without repetitions           */
} tw_number_limit;
enum { TW_MAX_CANDIDATES = 256 }; /* in a list */
tw_number_limit tw_number_any(void);
/* Whether it allows every number. */
bool tw_number_is_any(const tw_number_limit *limit);
bool tw_number_allows(const tw_number_limit *limit, int64_t x);
/* Whether it is one number alone, as when the file gives it plainly. It then cuts as in a mapping: a size into tiles of that
 * size and a rest, whatever `cut` says; a count, where `cut` allows one rule only, as that rule cuts every piece. */
bool tw_number_is_one(const tw_number_limit *limit);
/* Smallest allowed number >= x, largest <= x; 0 when there is none. */
int64_t tw_number_above(const tw_number_limit *limit, int64_t x);
int64_t tw_number_below(const tw_number_limit *limit, int64_t x);

/* A size must be allowed, except that a tile that holds all of its loop's piece is always a multiple. */
typedef struct tw_level_limits {
    tw_loc loc;
    int pass;                            /* 1 must pass, 0 must tile, -1 either                    */
    tw_number_limit tiles[TW_MAX_LOOPS]; /* counts                                                 */
    tw_number_limit sizes[TW_MAX_LOOPS]; /* of the largest tile                                    */
    tw_number_limit slots[TW_MAX_OPERANDS];
    unsigned cuts;       /* bit per tw_cut                                                           */
    unsigned accumulate; /* bit per tw_accumulate                                                    */
    bool has_order;
    int order[TW_MAX_LOOPS];         /* all loops: those that are cut stand in this order              */
    uint32_t keep[TW_MAX_OPERANDS];  /* bit 0 tile, bit 1 all, bit 2 + l loop l; all set: any          */
    uint32_t slide[TW_MAX_OPERANDS]; /* bit 0 none, bit 1 + l along loop l; all set: any               */
    bool has_unroll;
    tw_spread over;
    int64_t min_tile;
} tw_level_limits;

typedef struct tw_op_limits {
    int fused;  /* 1 must be, 0 must not be; -1: as the workload wishes, see fusion.h */
    bool whole; /* fused with the one before it and in one piece, whatever else is said; no file says so */
    int n_levels;
    tw_level_limits level[TW_MAX_MEMORIES];
} tw_op_limits;

struct tw_limits {
    int n_ops;
    const tw_op_limits *op;
    const char *text;      /* that they were read from, NULL: none */
    const tw_model *model; /* as a mapping's */
};

/* No limit at all. */
tw_op_limits tw_op_limits_none(const tw_machine *machine);
/* Tree to limits: operators and levels may be absent. */
TW_NODISCARD tw_status tw_limits_of_tree(const tw_node *root, const tw_model *model, const tw_machine *machine,
                                         tw_arena *arena, tw_diag *diag, tw_limits *out);

/* Whether a complete mapping, one that tw_mapping_check accepts, does what the limits allow. Words that mean the same are
 * not told apart: the place of a loop that is not cut, how sums add up where no reduction is cut, greedy and balanced
 * cuts with the same tiles, keeping while the innermost loop stays and keeping a tile. Buffers that an async mapping
 * leaves open are allowed where the limits say nothing about them. */
bool tw_limits_allow(const tw_op_limits *limits, const tw_op *op, const tw_machine *machine, const tw_op_map *map);
/* The loops that a level cuts, outermost first. */
typedef struct tw_cut_loops {
    int n;
    int loop[TW_MAX_LOOPS];
} tw_cut_loops;
/* Whether a memory may keep the operand while the first `depth` of the loops in `cut` stay, which are those of its level. `here` are the limits of the memory, `tiled` those of the level that its tiles are cut by:
 * its own, or of the memory that it passes them to. */
bool tw_limits_allow_keep(const tw_level_limits *here, const tw_level_limits *tiled, const tw_op *op, int operand,
                          const tw_cut_loops *cut, int depth);
/* Whether the operand may slide along the loop. */
bool tw_limits_allow_slide(const tw_level_limits *here, int operand, int loop);
/* Whether windows of the operand that follow each other along the loop share something, `len` being the longest tiles. */
bool tw_windows_overlap(const tw_op *op, int operand, int loop, const int64_t *len);
/* Whether it may come in whole tiles: that is said, or sliding as it is said makes no difference with the loops in `cut`: the loop is not cut,
 * or windows along it share nothing. */
bool tw_limits_allow_whole(const tw_level_limits *here, const tw_op *op, int operand, const tw_cut_loops *cut,
                           const int64_t *len);
#endif
