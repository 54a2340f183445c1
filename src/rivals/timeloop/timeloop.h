/* src/rivals/timeloop/timeloop.h - Timeloop's files: sections, spread over any number of files, each of them there once.
 *
 *     architecture               a tree of subtrees with their local components, outermost first        arch.c
 *     ERT                        energy per action of each component                                    ert.c
 *     problem                    the shape of a product of tensors, and its sizes                       problem.c
 *     mapping                    factors, orders and bypasses per level                                 directive.c
 *     architecture_constraints,
 *     mapspace_constraints       the same in part, for a search                                         limits.c
 *
 * What is written in one of them and understood by none is an error where it stands; what the dense model has no use for (areas,
 * technology, options of the tool's own search) is read over. */
#ifndef TW_RIVALS_TIMELOOP_TIMELOOP_H
#define TW_RIVALS_TIMELOOP_TIMELOOP_H
#include "input/field.h"
#include "rivals/rival.h"

typedef struct tw_tl_level { /* of a memory, in addition: tw_rival_memory.extra                       */
    int64_t mesh_x, mesh_y;  /* instances side by side                                                */
    int64_t fan_x, fan_y;    /* instances of what is inside of it, per instance                       */
    int axis_x, axis_y;      /* the array's axes that these are, -1: none                             */
    int64_t cluster;         /* so many instances are one physical memory                             */
    double least_used;       /* share of it that a mapping must fill                                  */
    const char *gate;        /* the memory with which it is switched off, NULL: itself                */
    int64_t latency;         /* cycles of the networks to what is inside of it, there and back        */
    bool has_energy;         /* somebody said what an access takes                                    */
} tw_tl_level;

enum { TW_TL_NO_REUSE, TW_TL_NO_MULTICAST, TW_TL_NO_LINKS, TW_TL_READ_FIRST, TW_TL_N_FLAGS };
/* How a mapping wants an operand counted against the rules, per memory: bit o of operand o. */
typedef struct tw_tl_flags {
    unsigned of[TW_TL_N_FLAGS][TW_RIVAL_MEMORIES];
} tw_tl_flags;

/* What constraints leave to a search; all sizes are products of loops of one block. */
typedef struct tw_tl_block {        /* the loops over time of a memory, or those over its fan-out */
    int64_t exactly[TW_RIVAL_DIMS]; /* 0: free                                                   */
    int64_t least[TW_RIVAL_DIMS], most[TW_RIVAL_DIMS]; /* 0: none                                */
    int n_inner, n_outer;
    int inner[TW_RIVAL_DIMS], outer[TW_RIVAL_DIMS]; /* orders that are fixed, innermost first     */
    int split;                                      /* loops of the order on X, -1: free          */
} tw_tl_block;
typedef struct tw_tl_limits {
    tw_tl_block time[TW_RIVAL_MEMORIES], space[TW_RIVAL_MEMORIES];
    unsigned keep[TW_RIVAL_MEMORIES], bypass[TW_RIVAL_MEMORIES]; /* operands; neither: free */
    double least_parallel;                                       /* share of the array, 0: any */
    tw_tl_flags flags;
} tw_tl_limits;

typedef struct tw_tl_layer { /* tw_rival_layer.extra */
    tw_tl_flags flags;       /* of the mapping, and of the constraints    */
    tw_tl_limits limits;     /* zeroed and free where there are none      */
} tw_tl_layer;

/* ---- reading ---- */

typedef struct tw_tl_reader {
    tw_work work;
    tw_hierarchy *machine; /* NULL: not read yet */
    tw_tl_level *level;    /* of its memories    */
    tw_einsum *einsum;
} tw_tl_reader;

TW_NODISCARD tw_status tw_tl_read(const tw_rival_file *file, int n, tw_work work, tw_rival *out);
TW_NODISCARD tw_status tw_tl_read_architecture(tw_tl_reader *r, const tw_node *node);
TW_NODISCARD tw_status tw_tl_read_energy(tw_tl_reader *r, const tw_node *node);
TW_NODISCARD tw_status tw_tl_read_problem(tw_tl_reader *r, const tw_node *node);
TW_NODISCARD tw_status tw_tl_read_mapping(tw_tl_reader *r, const tw_node *node, tw_tl_flags *flags,
                                          tw_loopnest *out);
TW_NODISCARD tw_status tw_tl_read_limits(tw_tl_reader *r, const tw_node *node, tw_tl_limits *out);
/* Everything free. */
void tw_tl_limits_init(tw_tl_limits *limits);

/* What directives of mappings and constraints have in common. `target` is the name of a memory, or its number from inside. */
int tw_tl_read_target(tw_tl_reader *r, tw_fields *f);
/* A list of operands; bit o of *out. */
void tw_tl_read_operands(tw_tl_reader *r, tw_fields *f, const char *key, unsigned *out);
/* The flags of a directive, which is about loops over time or over the fan-out. */
void tw_tl_read_flags(tw_tl_reader *r, tw_fields *f, bool over_time, int memory, tw_tl_flags *flags);
/* Dimensions of an order, innermost first: "KMN", "K,M,N" or a list of them. Returns how many; *bar, unless NULL, is how many of
 * them stand before a '_'. */
int tw_tl_read_order(tw_tl_reader *r, tw_fields *f, int dim[TW_RIVAL_DIMS], int *bar);
/* One after the other of "M4 K=8 N=8,2 C<=16". */
typedef struct tw_tl_factor {
    int dim;
    char relation;       /* '=', '<' (at most) or '>' (at least)              */
    int64_t bound, last; /* 0 of the file: all of the dimension        */
} tw_tl_factor;
typedef void (*tw_tl_take_factor)(tw_fields *f, tw_loc loc, const tw_tl_factor *factor, void *user);
void tw_tl_read_factors(tw_tl_reader *r, tw_fields *f, tw_tl_take_factor take, void *user);

/* A number that is not negative, with or without a point. */
bool tw_tl_number(tw_fields *f, const char *key, double least, double *out);
/* Where a text begins that stands `at` bytes behind the beginning of a scalar. */
tw_loc tw_tl_inside(const tw_node *node, size_t at);

/* ---- counting, searching and printing ---- */

TW_NODISCARD tw_status tw_tl_count(const tw_rival *rival, int layer, tw_work work, tw_account *out);
/* Energy and cycles alone; `work.arena` is not touched. */
TW_NODISCARD tw_status tw_tl_count_cost(const tw_rival *rival, int layer, tw_work work, double *energy_pj,
                                        double *cycles);
TW_NODISCARD tw_status tw_tl_search(const tw_rival *rival, int layer, const tw_rival_search_options *options,
                                    tw_work work, tw_rival_found *out);
/* A nest from elsewhere in place of the files': see tw_rival_tool. */
TW_NODISCARD tw_status tw_tl_take(const tw_rival *rival, int layer, const tw_plain *nest, tw_work work,
                                  const tw_rival **out);
void tw_tl_print_mapping(const tw_rival *rival, int layer, tw_text *out);
#endif
