/* src/mapping/opmap.h - the mapping of one operator as it was written: data alone, which the verifier reads too. What it means
 * is in mapping.h. */
#ifndef TW_MAPPING_OPMAP_H
#define TW_MAPPING_OPMAP_H
#include "machine/machine.h"
#include "model/model.h"

/* Which loops lie over which dimension of an array. Several may lie over one: they fill it together. A loop may be divided: some
 * neighbouring points of it, its share, lie over one dimension, as many of these groups as there are over another. */
typedef struct tw_spread {
    int8_t dim[TW_MAX_LOOPS]; /* number + 1, 0: none; of a divided loop: of what its shares leave  */
    int32_t share[TW_MAX_LOOPS][TW_MAX_DIMS]; /* points of the loop over each dimension, 0: it has no share there */
} tw_spread;

typedef struct tw_level_map {
    tw_loc loc;
    int memory;                     /* >= 1                                                       */
    bool pass;                      /* pass-through: of the rest only `slots` counts              */
    tw_cut cut;                     /* how counts cut                                             */
    int64_t count[TW_MAX_LOOPS];    /* tiles per loop; 0 when `size` is given instead             */
    int64_t size[TW_MAX_LOOPS];     /* largest tile per loop, 0 when `count` is given             */
    int order[TW_MAX_LOOPS];        /* all loops, outermost first; lockstep: reductions last      */
    int64_t min_tile;               /* a cut loop keeps at least this many points per tile, 1: any */
    int64_t slots[TW_MAX_OPERANDS]; /* buffers per operand; partial sums live in the output's. Async: 0
                                       means as many as are needed, two where one would do        */
    tw_accumulate accumulate;
    /* async machines only */
    int keeps[TW_MAX_OPERANDS];  /* see tw_level_keep: 0 one tile, -1 all, else the loop's number + 1 */
    int shares[TW_MAX_OPERANDS]; /* see tw_level_pool: how many operands before it the pool stands */
    int slides[TW_MAX_OPERANDS]; /* the loop along which its window slides, number + 1; 0: tiles come whole */
    bool serpentine;             /* every second sweep of a loop runs backwards                   */
    tw_spread over;              /* see tw_level_spread; no loop at all: not given                */
} tw_level_map;
enum {
    TW_KEEP_TILE = -1, /* one tile                                                  */
    TW_KEEP_ALL = -2,  /* everything, while the level works on one tile of the next */
    TW_SLIDE_NONE = -1,
};

typedef struct tw_op_map {
    tw_loc loc;
    bool fused;   /* with the operator before it, see fusion.h                  */
    int n_levels; /* the machine's memories less one; level l maps memory l + 1 */
    tw_level_map level[TW_MAX_MEMORIES];
} tw_op_map;
#endif
