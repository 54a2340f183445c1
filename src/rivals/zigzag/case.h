/* src/rivals/zigzag/case.h - one layer over one array, as ZigZag's rules see it: what a nest is counted with.
 *
 * Prepared once from the shared values (rivals/array.h) and an unrolling; from then on counting a nest is arithmetic without
 * allocation, so that a search can do it a million times a second.
 *
 *     level    of an operand: its memories from the multipliers outwards, 0 is next to them
 *     stage    one more: stage 0 is the multipliers, stage l + 1 is level l; unrollings belong to stages
 *     loop     over time, innermost first
 *     cut      cut[o][l] loops are inside of operand o's tile at level l; those of the top level are all
 *
 * A loop is relevant (R: moves the operand), irrelevant (IR: reuses it), or one of the two of a sliding window (PR). Loops of
 * one iteration are none of these.
 *
 * Numbers are double, as the tool's are: where an unrolling does not divide its loop the tool counts energy with the exact
 * fraction and latency with the fraction rounded down, and the account follows it to the last bit that matters. */
#ifndef TW_RIVALS_ZIGZAG_CASE_H
#define TW_RIVALS_ZIGZAG_CASE_H
#include "rivals/array.h"

enum {
    TW_ZZ_OPERANDS = 3,                       /* the result and two inputs                        */
    TW_ZZ_LEVELS = 8,                         /* memories of one operand                          */
    TW_ZZ_WINDOWS = 4,                        /* sliding windows of one operand                   */
    TW_ZZ_LOOPS = 64,                         /* over time                                        */
    TW_ZZ_PORTS = 128,                        /* of all memories                                  */
    TW_ZZ_LINKS = TW_ZZ_OPERANDS * TW_N_WAYS, /* that one port can serve     */
};

/* ---- what lies over the array ---- */

typedef struct tw_zz_unroll { /* a loop over an axis of the array; several may share an axis */
    int axis, dim;
    int64_t factor; /* as the user wrote it: the fraction comes later */
} tw_zz_unroll;
typedef struct tw_zz_unrolling {
    int n;
    tw_zz_unroll part[4 * TW_RIVAL_AXES]; /* in the order of the axes */
} tw_zz_unrolling;

/* ---- what one layer says beyond the einsum ---- */

typedef struct tw_zz_window_size { /* the real extent of an axis of an input, 0: what the loops reach */
    int64_t most[TW_RIVAL_RANKS];
} tw_zz_window_size;

/* ---- the case ---- */

typedef enum tw_zz_kind { TW_ZZ_NONE, TW_ZZ_R, TW_ZZ_IR, TW_ZZ_PR } tw_zz_kind;

typedef struct tw_zz_window { /* index = step[0] * dim[0] + step[1] * dim[1] */
    int dim[2];
    int64_t step[2];
    double most; /* distinct indices there are at all */
} tw_zz_window;

typedef struct tw_zz_level {
    int memory;                               /* of the hierarchy */
    double size;                              /* bits */
    double pj[TW_N_WAYS];                     /* of a word of `most` bits */
    double least[TW_N_WAYS], most[TW_N_WAYS]; /* bits per cycle; 0: no port */
    int port[TW_N_WAYS];                      /* of the case, -1: none       */
} tw_zz_level;

/* One reading of the unrolling: as a fraction, or rounded down. */
typedef struct tw_zz_array {
    double r[TW_ZZ_LEVELS + 1];                      /* R unrollings of a stage, multiplied     */
    double of_dim[TW_ZZ_LEVELS + 1][TW_RIVAL_DIMS];  /* the same by loop                        */
    double span[TW_ZZ_LEVELS + 1][TW_ZZ_WINDOWS][2]; /* PR unrollings of a stage                */
    double boost[TW_ZZ_LEVELS];     /* different tiles of stage l that one instance of level l feeds */
    double units[TW_ZZ_LEVELS + 1]; /* instances in use                        */
    bool sums[TW_ZZ_LEVELS + 1];    /* an IR loop of more than one iteration is unrolled here */
} tw_zz_array;

typedef struct tw_zz_operand {
    const char *name;
    int index; /* of the einsum */
    int n_levels, n_windows;
    tw_zz_level level[TW_ZZ_LEVELS];
    tw_zz_kind kind[TW_RIVAL_DIMS];
    int window_of[TW_RIVAL_DIMS], side_of[TW_RIVAL_DIMS]; /* PR: which window, which of its two loops */
    tw_zz_window window[TW_ZZ_WINDOWS];
    int n_listed, listed[TW_RIVAL_RANKS]; /* R loops as the equation has them */
    double bits, partial_bits;
    tw_zz_array exact, whole;
    bool ir_over[TW_ZZ_LEVELS + 1]; /* an IR loop is unrolled at this stage, were it of one iteration */
} tw_zz_operand;

typedef struct tw_zz_link { /* one direction of one operand at one level */
    int operand, level;
    tw_rival_way way;
} tw_zz_link;
typedef struct tw_zz_port {
    const char *name;
    int memory;
    double most;
    int n_links;
    tw_zz_link link[TW_ZZ_LINKS];
    bool is_shared_by_inputs;
} tw_zz_port;

typedef struct tw_zz_case {
    const tw_hierarchy *machine;
    const tw_einsum *einsum;
    tw_zz_unrolling unrolling;
    int n_dims;
    int64_t steps[TW_RIVAL_DIMS]; /* iterations that are left for time: what the loops of a nest multiply to */
    double cycles;                /* their product                                                            */
    double macs, multipliers;
    tw_zz_operand operand[TW_ZZ_OPERANDS]; /* the result first, then as the equation has them */
    int n_ports;
    tw_zz_port port[TW_ZZ_PORTS];
    int n_memories;
    int n_sharing[TW_RIVAL_MEMORIES]; /* operands of a memory, in the order of the file */
    tw_zz_link sharing[TW_RIVAL_MEMORIES][TW_ZZ_OPERANDS];
    bool is_whole; /* no unrolling is a fraction: `exact` and `whole` are the same */
} tw_zz_case;

/* What ZigZag knows about a layer and the shared values do not; all zero is what it assumes for layers of other tools. */
typedef struct tw_zz_layer_facts {
    int order[TW_ZZ_OPERANDS]; /* einsum operands as the equation has them, the result first */
    bool is_ordered;
    tw_zz_window_size size[TW_RIVAL_OPERANDS];
    const int (*listed)[TW_ZZ_OPERANDS]; /* operands of each memory as the file lists them, NULL: by number */
} tw_zz_layer_facts;

/* TW_ERR_INPUT at `loc` where these rules cannot count it: other than two inputs, more than two loops in an index, more
 * multipliers than the array has, no port where data must pass. */
TW_NODISCARD tw_status tw_zz_case_build(const tw_hierarchy *machine, const tw_einsum *einsum,
                                        const tw_zz_layer_facts *facts, const tw_zz_unrolling *unrolling,
                                        tw_loc loc, tw_diag *diag, tw_zz_case *out);
/* Distinct indices of a window whose loops have so many iterations. */
double tw_zz_window_reach(const tw_zz_window *window, double a, double b);

/* ---- a nest ---- */

typedef struct tw_zz_nest {
    int n_loops;
    struct {
        int dim;
        int64_t size;
    } loop[TW_ZZ_LOOPS];                   /* innermost first */
    int cut[TW_ZZ_OPERANDS][TW_ZZ_LEVELS]; /* by operand of the case */
} tw_zz_nest;

/* Bits of an operand's tile at a level. Of the cuts those up to this level count. */
double tw_zz_tile_bits(const tw_zz_case *c, const tw_zz_nest *nest, int operand, int level);
/* Bits that the operands of memory `m` take there. Sums that still grow count with the width of partial sums. */
double tw_zz_memory_bits(const tw_zz_case *c, const tw_zz_nest *nest, int memory);
/* Whether every memory holds what the nest puts there; *memory is the first that does not. */
bool tw_zz_nest_fits(const tw_zz_case *c, const tw_zz_nest *nest, int *memory);
/* Cuts the loops of the nest as ZigZag does: level by level as many loops as lead to the fewest transfers from above. False:
 * it finds no room, and *memory is where. */
bool tw_zz_nest_allocate(const tw_zz_case *c, tw_zz_nest *nest, int *memory);
/* Moves each cut outwards over irrelevant loops: the data stay, and nothing is counted otherwise. */
void tw_zz_nest_settle(const tw_zz_case *c, tw_zz_nest *nest);
#endif
