/* src/mapping/group.h - several operators as one nest of tiles, as it was written: data alone, which the verifier reads too.
 *
 * A group runs its operators tile by tile. Its last operator drives: the cuts are of its loops, outermost first, and one
 * combination of their tiles is a *step*. In a step every operator makes what those behind it need: the box of a producer is
 * the hull of what its consumers read, all of its reductions included, so halos are computed again.
 *
 *     cuts     oy: 4   ox: 8                 conv2 drives: tiles of 4 rows and 8 columns of its output
 *     depth  0       1       2               x is held in l1 while oy stands still: depth 1, the rows that 4 output rows need
 *
 * A *hold* says of a tensor in a memory how long what lies there stays: `depth` cuts, the outermost ones, stand still. What is held
 * is all that the group touches of the tensor meanwhile, and it is moved at once. Where the window *slides* along a loop, what two tiles of it
 * share stays, and only what is new is moved or, of what is made in the group, made.
 *
 * All groups of a mapping are one program: they run side by side, as far as data, engines and ports allow. */
#ifndef TW_MAPPING_GROUP_H
#define TW_MAPPING_GROUP_H
#include "machine/platform.h"
#include "mapping/opmap.h"

enum {
    TW_MAX_GROUPS = 8192,
    TW_MAX_GROUP_OPS = 16,
    TW_MAX_CUTS = 32,
    TW_MAX_GROUP_LEVELS = 8,
    TW_MAX_SPLIT_LOOPS = 3,
};

typedef struct tw_nest_cut {
    tw_loc loc;
    int level;           /* of the group, that it was written at    */
    int loop;            /* of the driver                           */
    tw_cut rule;         /* how a count cuts                        */
    int64_t count, size; /* tiles, or the size of one: one of them is 0 */
} tw_nest_cut;

typedef struct tw_group_level { /* as people write it */
    tw_loc loc;
    int memory; /* of the platform */
    int depth;  /* cuts up to and including this level */
} tw_group_level;

typedef struct tw_hold {
    tw_loc loc;
    int tensor, memory; /* of the model, of the platform          */
    int depth;          /* -1: as the levels say               */
    int64_t slots;      /* buffers; 0: one                     */
    int slide;          /* 1 + loop of the driver along which a window slides there, 0: none does */
} tw_hold;

/* A tensor that lies whole in a memory from the group that makes it to the last one that reads it there. */
typedef struct tw_group_resident {
    tw_loc loc;
    int tensor, memory; /* of the model, of the platform          */
    int until; /* 1 + an operator that reads it: behind the last group with that one it has left, and is loaded from memory 0; 0: it stays for all */
} tw_group_resident;

/* So much of a memory, from its beginning on, is all that the buffers of all groups have. */
typedef struct tw_group_room {
    tw_loc loc;
    int memory; /* of the platform                */
    int64_t units;
} tw_group_room;

typedef struct tw_group_op {
    int op;         /* of the model                                                                  */
    int view;       /* the compute engine that runs it, see tw_platform                                 */
    tw_spread over; /* loops over the dimensions of its array; none at all: not given                */
    int64_t
        parts[TW_MAX_LOOPS]; /* of a loop over a dimension: lanes side by side that share it; 0: not given     */
    int64_t reduce
        [TW_MAX_LOOPS]; /* all but the driver: size of a piece of a reduction loop, which are executed one after the
                                     other inside the step; 0: whole                                               */
} tw_group_op;

/* Of a loop of the driver, what a group has of it. */
typedef struct tw_group_part {
    int loop;
    tw_span span;
} tw_group_part;

typedef struct tw_group_map {
    tw_loc loc;
    const char *name;
    int n_ops; /* in an order in which what is read was made; the last one drives */
    const tw_group_op *op;
    int n_cuts;
    const tw_nest_cut *cut;
    int n_levels;
    const tw_group_level *level;
    int n_holds; /* what is said; all else follows from the levels */
    const tw_hold *hold;
    int n_parts; /* a group that is split over cores: loops of the driver of which it has parts; 0: it has all */
    tw_group_part part[TW_MAX_SPLIT_LOOPS];
    int running; /* 1 + the driver's loop along which reductions of the group run (model/running.h), 0: none do */
} tw_group_map;
#endif
