/* src/rivals/zigzag/zigzag.h - ZigZag's files: an accelerator, a mapping, and a workload or a network.
 *
 *     accelerator   memories, lowest first, with ports, and an array of multipliers       accelerator.c
 *     mapping       per layer, type of layer or by default: what lies over the array,
 *                   and the order of the loops over time                                 mapping.c, unroll.c
 *     workload      layers as equations with sizes and precisions                         workload.c
 *     ONNX          convolutions and matrix products, as the tool takes them              network.c
 *
 * Memory operands are numbered I1, I2, O; the operands of a layer's einsum have the number of the memory operand that they are
 * linked to, so that one hierarchy serves all layers. Keys that the tool knows and its model has no use for (area, latency,
 * mem_type) are read over; others are errors where they stand. */
#ifndef TW_RIVALS_ZIGZAG_ZIGZAG_H
#define TW_RIVALS_ZIGZAG_ZIGZAG_H
#include "input/field.h"
#include "rivals/rival.h"
#include "rivals/zigzag/case.h"

enum { TW_ZZ_I1, TW_ZZ_I2, TW_ZZ_O };                        /* memory operands         */
enum { TW_ZZ_LAYER_O, TW_ZZ_LAYER_W, TW_ZZ_LAYER_I };        /* operands of a layer     */
enum { TW_ZZ_HINTS = TW_RIVAL_DIMS, TW_ZZ_CANDIDATES = 32 }; /* dims of a hint; unrollings that are tried */

typedef struct tw_zz_part { /* "K, 32" under an axis */
    int axis;
    const char *dim;
    int64_t factor;
    tw_loc loc;
} tw_zz_part;
typedef struct tw_zz_hint { /* dims that may lie over an axis */
    int n;
    const char *dim[TW_ZZ_HINTS];
} tw_zz_hint;
typedef struct tw_zz_order { /* one line of temporal_ordering */
    const char *dim;         /* "*": a gap */
    int64_t size;            /* 0: "*"     */
    tw_loc loc;
} tw_zz_order;

typedef struct tw_zz_entry { /* of a mapping file */
    const char *name;
    tw_loc loc;
    int n_parts;
    tw_zz_part part[4 * TW_RIVAL_AXES];
    bool given[TW_RIVAL_AXES]; /* the file says what lies over this axis */
    tw_zz_hint hint[TW_RIVAL_AXES];
    int n_orders;
    const tw_zz_order *order; /* innermost first */
    const tw_node
        *temporal; /* the cut nest, NULL: none (temporal_mapping is ours: the tool has no way to say it) */
    int link[TW_ZZ_OPERANDS]; /* O, W, I to memory operands */
} tw_zz_entry;
typedef struct tw_zz_mapping {
    int n_entries;
    const tw_zz_entry *entry;
} tw_zz_mapping;

/* A layer before its operands are linked: equation, sizes, precisions. */
typedef struct tw_zz_relation { /* ix = 2*ox + 1*fx */
    const char *name;
    int dim[2];
    int64_t step[2], size, pad; /* size 0: not said */
    bool has_before;            /* what of the padding comes first is said: */
    int64_t before;
} tw_zz_relation;
typedef struct tw_zz_layer {
    const char *name, *type;
    tw_loc loc;
    int n_dims;
    const char *dim[TW_RIVAL_DIMS];
    int64_t extent[TW_RIVAL_DIMS];
    int n_relations;
    tw_zz_relation relation[TW_ZZ_WINDOWS];
    int order[TW_ZZ_OPERANDS];                 /* LAYER_O first, then as the equation has them */
    int n_indices[TW_ZZ_OPERANDS];             /* by LAYER_O, .. */
    int index[TW_ZZ_OPERANDS][TW_RIVAL_RANKS]; /* a dim, or n_dims + a relation */
    int64_t bits[TW_ZZ_OPERANDS], final_bits;
    bool adds;         /* W + I instead of W * I */
    const char *value; /* a formula of ours of i and w instead of both; NULL: none */
    int64_t id,
        source, /* its number, and that of the layer that makes I; equal where I is an input of all, or made by what is no layer */
        other; /* likewise of W, which is a constant in most */
} tw_zz_layer;

/* tw_rival_layer.extra */
typedef struct tw_zz_extra {
    tw_zz_layer_facts facts;
    const tw_zz_layer *layer;
    const tw_zz_entry *entry;
    int n_unrollings;
    const tw_zz_unrolling *unrolling; /* those to try, the most promising first */
    const tw_zz_nest *chosen;         /* with the first unrolling; NULL: none was chosen yet */
    int64_t tiles; /* Stream: of the layer that run at the same time; 0: it is a layer of ZigZag */
} tw_zz_extra;

typedef struct tw_zz_reader {
    tw_work work;
    tw_hierarchy *machine;
    const tw_hierarchy *
        widest; /* Stream: of the cores that an entry is about, the one with the most axes; NULL: there is one core */
    int (*listed)[TW_ZZ_OPERANDS];
    const tw_zz_mapping *mapping;
    int n_layers;
    tw_zz_layer *layer;
    bool may_idle; /* the array may have no multipliers: a core that only stores                      */
    bool
        is_stream; /* loops of networks come in the order that Stream has them in: orders that are equally good are told apart by it */
} tw_zz_reader;

bool tw_zz_is_accelerator(const tw_node *root);
bool tw_zz_is_mapping(const tw_node *root);
bool tw_zz_is_workload(const tw_node *root);
TW_NODISCARD tw_status tw_zz_read_accelerator(tw_zz_reader *r, const tw_node *root);
TW_NODISCARD tw_status tw_zz_read_mapping(tw_zz_reader *r, const tw_node *root);
/* One entry of a mapping file, for this machine. */
TW_NODISCARD tw_status tw_zz_read_entry(tw_zz_reader *r, const tw_node *node, tw_zz_entry *e);
/* What a map says lies over the array under this key (`dataflows` of a core, `spatial_mapping`), as an entry of a mapping; *out is NULL
 * where it says nothing. */
TW_NODISCARD tw_status tw_zz_read_dataflow(tw_zz_reader *r, const tw_node *root, const char *key,
                                           const tw_zz_entry **out);
/* Operands of a layer go to the memory operands that they go to where nothing is said. */
void tw_zz_default_links(tw_zz_entry *entry);
TW_NODISCARD tw_status tw_zz_read_workload(tw_zz_reader *r, const tw_node *root);
TW_NODISCARD tw_status tw_zz_read_network(tw_zz_reader *r, const tw_graph_file *graph);
/* The entry for a layer: by its name, its type, or the default. */
const tw_zz_entry *tw_zz_entry_for(const tw_zz_mapping *mapping, const tw_zz_layer *layer);
int tw_zz_dim_of(const tw_zz_layer *layer, const char *name); /* -1: none */

/* What may lie over the array: what the entry says, made to fit, or where it leaves axes open the candidates that promise most. */
TW_NODISCARD tw_status tw_zz_unrollings_of(const tw_zz_reader *r, const tw_zz_layer *layer,
                                           const tw_zz_entry *entry, tw_zz_extra *out);
/* A number that is not negative, with or without a point. */
bool tw_zz_number(tw_fields *f, const char *key, tw_presence presence, double *out);
/* "I1, tl" or "K, 32": what is before the comma and after it. TW_ERR_INPUT: it is not of this form. */
TW_NODISCARD tw_status tw_zz_pair(const tw_node *node, const char *what, tw_work work, const char **first,
                                  const char **second);
/* Position of a memory operand "I1", "I2", "O"; -1: none. */
int tw_zz_operand_called(const char *name);

/* ---- nests ---- */

/* The order that the entry asks for; what it leaves open is any. */
bool tw_zz_order_allows(const tw_zz_entry *entry, const tw_zz_case *c, const tw_zz_nest *nest);
/* Whether an order that the entry asks for may begin with these loops, innermost first. */
bool tw_zz_order_begins(const tw_zz_entry *entry, const tw_zz_case *c, const tw_zz_nest *nest);
/* Whether the entry says the order of all loops, each of them once. */
bool tw_zz_order_is_whole(const tw_zz_entry *entry, const tw_zz_case *c);
/* The nest that the entry's order or cuts fix. *fixed is false where they leave some of it open. TW_INFEASIBLE: it does not
 * fit. */
TW_NODISCARD tw_status tw_zz_given_nest(const tw_zz_extra *x, const tw_zz_case *c, tw_diag *diag, bool *fixed,
                                        tw_zz_nest *out);

/* The layer as a product with its operands linked as the entry has it. */
TW_NODISCARD tw_status tw_zz_describe_layer(const tw_zz_layer *l, const tw_zz_entry *entry, tw_arena *arena,
                                            tw_rival_layer *out);
/* Finds out which of n layers reads the result of which. */
void tw_zz_find_makers(const tw_zz_layer *l, int n, tw_rival_layer *out);
/* The same, and what may lie over the array of the reader's machine. */
TW_NODISCARD tw_status tw_zz_build_layer(tw_zz_reader *r, const tw_zz_layer *l, const tw_zz_entry *entry,
                                         tw_rival_layer *out);
/* A nest from elsewhere in place of the files': see tw_rival_tool. */
TW_NODISCARD tw_status tw_zz_take(const tw_rival *rival, int layer, const tw_plain *nest, tw_work work,
                                  const tw_rival **out);
/* The files with what `extra` has chosen, which the case was built with. */
TW_NODISCARD tw_status tw_zz_put_in_place(const tw_rival *rival, int layer, const tw_zz_extra *extra,
                                          const tw_zz_case *c, tw_work work, const tw_rival **out);

/* ---- the tool's own search, and ours ---- */

typedef struct tw_zz_best {
    int unrolling; /* of the extra's, -1: nothing fits */
    tw_zz_nest nest;
    double latency, energy, value;
    int64_t counted;
} tw_zz_best;
typedef struct tw_zz_goal { /* what a search looks at */
    const tw_hierarchy *machine;
    const tw_einsum *einsum;
    const tw_zz_extra *extra;
    tw_loc loc;
    tw_measure measure;
    int64_t max_nodes;
    int64_t tiles; /* above 0: latency is that of so many tiles at the same time, as Stream compares nests */
} tw_zz_goal;
/* What nests are compared by: the measure, then the other figure. */
typedef struct tw_zz_figure {
    double value, other, latency, energy;
} tw_zz_figure;
tw_zz_figure tw_zz_figure_of(tw_measure measure, double latency, double energy);
double tw_zz_value(tw_measure measure, double latency, double energy);
static inline bool tw_zz_is_less(tw_zz_figure a, tw_zz_figure b)
{
    return a.value < b.value || (a.value == b.value && a.other < b.other);
}

/* All orders of the loops' largest factors, six or as many as there are loops, each cut as the tool does; or the one nest that
 * the files fix. The best of them come first, and the very best is what ZigZag answers. */
enum { TW_ZZ_STARTS = 8, TW_ZZ_ORDERED = 10 }; /* nests that are kept; loops of which all orders are tried */
typedef struct tw_zz_starts {
    int most, n; /* that are wanted, and that there are */
    tw_zz_nest nest[TW_ZZ_STARTS];
    tw_zz_figure figure[TW_ZZ_STARTS];
    int64_t counted;
    bool fixed;  /* there is nothing to search                                    */
    int refused; /* orders that the files allow, and that do not fit */
} tw_zz_starts;
TW_NODISCARD tw_status tw_zz_orders(const tw_zz_goal *goal, const tw_zz_case *c, tw_diag *diag, tw_zz_starts *out);
/* Says why nothing was found: a memory that cannot hold even the least that any nest puts there, or an order that cannot be; where
 * it is neither, that nothing was found. */
tw_status tw_zz_explain(const tw_zz_goal *goal, bool is_ordered_out, tw_diag *diag);
/* What ZigZag answers, over all unrollings. */
TW_NODISCARD tw_status tw_zz_loma(const tw_zz_goal *goal, tw_diag *diag, tw_zz_best *out);
/* Sizes, orders and cuts free. `bound`: no nest of the space is below it. */
TW_NODISCARD tw_status tw_zz_search(const tw_zz_goal *goal, tw_work work, tw_zz_best *out, double *bound);
#endif
