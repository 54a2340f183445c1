/* src/program/nest.h - a group of operators resolved against the machine: who holds what, and which commands that makes.
 *
 * docs/design/groups.md has the rules. A *hold of a nest* is a hold of the mapping with everything that follows from it: where its content comes from,
 * who moves it, its buffers. Holds are in an order in which each one comes after the one that feeds it:
 *
 *     input    tensor --load--> hold in sram --load--> hold in l1 --> execution
 *     inside   execution --> hold in acc --store--> hold in l1 --> execution
 *     output   execution --> hold in acc --store--> hold in sram --store--> tensor                                      */
#ifndef TW_PROGRAM_NEST_H
#define TW_PROGRAM_NEST_H
#include "mapping/group.h"
#include "model/running.h"
#include "place/layout.h"
#include "program/instr.h"

typedef enum tw_hold_source {
    TW_FROM_TENSOR, /* in memory 0            */
    TW_FROM_HOLD,   /* another one            */
    TW_FROM_OP,     /* an operator of the group makes it there */
    TW_FROM_GROUP,  /* it is resident there: another group made it, whose buffer this is */
} tw_hold_source;

typedef struct tw_nest_hold {
    int tensor, memory; /* of the model, of the platform */
    int depth;          /* places that stand still       */
    tw_loc loc;
    tw_hold_source from;
    int source;          /* the hold or the operator that it comes from; -1: the tensor                          */
    int engine;          /* of the platform: that brings it, -1: the operator does                               */
    bool inwards;        /* the engine loads; otherwise it stores                                                */
    int drain;           /* engine that stores it to the tensor, -1: none does                                   */
    int which, operand;  /* the operator and its operand that stand for the tensor in commands                   */
    unsigned readers;    /* bit k: operator k of the group reads what is here, or something that comes from here */
    unsigned direct;     /* bit k: it reads it here                                                              */
    int maker;           /* operator of the group that makes the tensor, -1: it comes from memory 0              */
    unsigned loops;      /* of the driver: its region moves with them                                          */
    bool by_sub;         /* held for a sub-step of its only reader                                               */
    bool sums;           /* elements are of the accumulator's type                                               */
    bool slides;         /* a window, along the loop of the last place of its depth, in a circular buffer        */
    int axis;            /* along which it does                                                                  */
    unsigned per;        /* dimensions that the memory is private to                                             */
    int lanes;           /* buffers of a slot                                                                    */
    int64_t slots, size; /* buffers in turn; units of one                                                        */
    int since, until;    /* ranks of the first and the last group that it lives in, see nestshare.h              */
    int64_t ahead;       /* of a window that slides: units of each buffer but the first                          */
    int64_t kept;        /* and of what stays from one step to the next                                          */
    bool crosses;        /* another group makes the tensor, or reads it                                          */
    bool resident;       /* it is resident here, and made or loaded, whole, in this group: others give it back   */
    bool comes;          /* another group makes it                                                               */
    bool is_read;        /* of what is shared with other groups: by an execution of this one, not only padding   */
    int64_t elem_units;  /* of an element in its buffer                                                          */
    int64_t moved_units; /* of an element in a transfer                                                          */
    int group;           /* that it is a hold of                                                                 */
    int32_t first,
        number; /* its first buffer; its number over all groups, which counts belong to                 */
} tw_nest_hold;

/* Units of the first n of its buffers. */
static inline int64_t tw_nest_hold_units(const tw_nest_hold *s, int64_t n)
{
    return s->slides && n > 0 ? s->size + (n - 1) * s->ahead : n * s->size;
}

/* One operator of the group, on its compute engine. */
typedef struct tw_nest_op {
    const tw_op *op;
    const tw_machine *machine; /* its view, with the cost that its engine has for the operator */
    int engine;                /* of the platform                                              */
    tw_spread over;
    unsigned split_dims;          /* dimensions that memories are private to                      */
    int64_t parts[TW_MAX_LOOPS];  /* lanes that share the loop; 1: one                            */
    int64_t reduce[TW_MAX_LOOPS]; /* points of a piece of the loop; its extent: whole             */
    int64_t n_subs;
    int made;                   /* hold that it writes                                      */
    int input[TW_MAX_OPERANDS]; /* hold that it reads each operand from                     */
    int64_t elem_units[TW_MAX_OPERANDS];
} tw_nest_op;

typedef struct tw_nest {
    const tw_model *model;
    const tw_platform *platform;
    const tw_group_map *map;
    const struct tw_mapping *mapping;
    int group; /* its number */
    int rank;  /* see nestshare.h */
    int n_ops;
    tw_nest_op *op;
    int n_places;
    int64_t n_steps;
    int n_holds;
    tw_nest_hold *hold;
    uint64_t depths; /* bit d: a hold has this depth; all places are one, too */
    bool any_slides;
    bool prefetches;
    tw_running running; /* which operators run along the driver's loop map->running - 1; none where that is none */
} tw_nest;

/* Of buffers that share addresses: who takes those of whom. A buffer is taken for the first time when all that it follows were given
 * back for the last time. All of it is per buffer of lane 0; NULL: no buffers share anything. */
typedef struct tw_heirs {
    const int32_t *n_gives;      /* how often it is given back in all                    */
    const int32_t *n_before;     /* buffers that it follows                               */
    const int32_t *first, *heir; /* those that follow it: heir[first[b]] .. heir[first[b + 1] - 1] */
} tw_heirs;

/* All groups of a mapping, with their buffers. */
typedef struct tw_joint {
    const tw_model *model;
    const tw_platform *platform;
    int n_nests;
    const tw_nest *nest;
    int n_holds;                     /* of all */
    const tw_nest_hold *const *hold; /* by number */
    int n_buffers;
    const tw_buffer *buffer;
    int64_t used[TW_MAX_PLATFORM_MEMORIES]; /* end of the last buffer of each memory */
    int n_ranks;
    bool any_shares,
        shares[TW_MAX_PLATFORM_MEMORIES]; /* per memory: buffers of different groups lie at the same addresses */
    tw_heirs heirs;
} tw_joint;

/* How much of a memory all buffers have. */
int64_t tw_joint_room(const tw_joint *joint, int memory);
/* The tensor that a group makes for others. */
static inline int tw_joint_output(const tw_joint *joint, int group)
{
    const tw_op *driver = joint->nest[group].op[joint->nest[group].n_ops - 1].op;
    return driver->operand[tw_op_output(driver)].tensor;
}
/* TW_INFEASIBLE when it does not fit, or cannot be run as it was written. */
TW_NODISCARD tw_status tw_joint_build(const tw_model *model, const tw_platform *platform, const tw_mapping *mapping,
                                      const tw_work *work, const tw_joint **out);

/* Whether the group makes the tensor for others: its output, what is stored besides, and what it loads for all. */
bool tw_nest_makes(const tw_nest *nest, int tensor);

/* ---- the commands of one group, step by step ---- */

typedef struct tw_nest_cursor tw_nest_cursor;
/* NULL when out of memory. Everything is allocated in `arena`. */
tw_nest_cursor *tw_nest_cursor_new(const tw_joint *joint, int group, tw_arena *arena);
/* The commands of the next step, without their times: *out is good until the next call. Returns how many, 0 at the end, -1
 * when out of memory, -2 when more holds end with one command than it can give back, -3 when rows of a window that slides are asked for
 * in a step in which nobody reads them, -4 when a hold has no buffer to take or to give back: the nest was built wrongly. */
int tw_nest_cursor_next(tw_nest_cursor *cursor, tw_event **out);
#endif
