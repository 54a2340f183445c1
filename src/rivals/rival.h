/* src/rivals/rival.h - a set of files of another tool, read.
 *
 * Each tool has a folder with an importer, its rules and a search under them, and hands them over as a tw_rival_tool. What they
 * share are the values of array.h and the account that comes out. */
#ifndef TW_RIVALS_RIVAL_H
#define TW_RIVALS_RIVAL_H
#include "input/tree.h"
#include "onnx/graph.h"
#include "rivals/array.h"

typedef struct tw_rival_layer {
    const char *name;
    const tw_einsum *einsum;
    const tw_loopnest *nest; /* NULL: the files do not map it                   */
    tw_loc loc;              /* of the mapping, or of the layer                 */
    int made_by;       /* 1 + the layer whose result it reads as activations; 0: none, or it is not known which */
    int also_by;       /* likewise, as weights: two tensors element by element      */
    const void *extra; /* what its tool alone knows: constraints, hints   */
} tw_rival_layer;

typedef struct tw_rival_tool tw_rival_tool;
typedef struct tw_plain tw_plain; /* a nest between formats, see plain.h */
struct tw_rival {
    const tw_rival_tool *tool;
    const tw_hierarchy *machine;
    int n_layers;
    const tw_rival_layer *layer;
    const struct tw_cores *cores; /* of which `machine` is one, see stream/cores.h; NULL: there is one */
};

typedef struct tw_rival_file { /* one file: a tree, or a network */
    const char *name;
    const tw_node *root;        /* NULL: a network */
    const tw_graph_file *graph; /* NULL: a tree    */
    const char *reference;      /* as another file names it; NULL: it was given */
} tw_rival_file;

struct tw_rival_tool {
    tw_rules rules;
    /* Whether the file, a map or a list, is one of this tool's. */
    bool (*knows)(const tw_node *root);
    tw_status (*read)(const tw_rival_file *file, int n, tw_work work, tw_rival *out);
    /* Also of files of another tool: what those leave out has the tool's default, and what `extra` points to is not looked at.
     * TW_INFEASIBLE where the mapping does not fit; TW_ERR_INPUT where these rules cannot count it. */
    tw_status (*count)(const tw_rival *rival, int layer, tw_work work, tw_account *out);
    tw_status (*search)(const tw_rival *rival, int layer, const tw_rival_search_options *options, tw_work work,
                        tw_rival_found *out);
    /* The files with this nest in place of theirs. TW_ERR_INPUT names what the tool's mappings cannot say. */
    tw_status (*take)(const tw_rival *rival, int layer, const tw_plain *nest, tw_work work, const tw_rival **out);
    bool orders_steps; /* by its rules it counts in which order the steps inside of the innermost tiles run */
    void (*print_mapping)(const tw_rival *rival, int layer, tw_text *out);
    /* Whether two layers differ in nothing but their names; NULL: no two are the same. */
    bool (*is_same)(const tw_rival_layer *a, const tw_rival_layer *b);
    /* The real extent of an axis of an operand, where it is less than what the loops reach; NULL: it never is. */
    int64_t (*extent_of)(const tw_rival_layer *layer, int operand, int rank);
    /* The files with the nest that the tool itself would choose for a layer without one; NULL: it chooses none, and what is not
     * mapped cannot be counted. */
    tw_status (*choose)(const tw_rival *rival, int layer, tw_work work, const tw_rival **out);
    bool repeats_keys;         /* a key that is there twice is read with a warning, and the last one counts */
    const tw_rival_tool *base; /* a tool whose files may be among its own; NULL: none              */
};
extern const tw_rival_tool tw_timeloop_tool, tw_zigzag_tool, tw_stream_tool;

/* The tool that counts by these rules, NULL: none. */
const tw_rival_tool *tw_rival_tool_for(tw_rules rules);
/* The tool that knows the file, NULL: none. */
const tw_rival_tool *tw_rival_tool_of(const tw_node *root);
TW_NODISCARD tw_status tw_rival_read(const tw_rival_file *file, int n, tw_work work, tw_rival *out);

/* The entry of a map, NULL: there is none, or it is no map. */
const tw_node *tw_rival_entry(const tw_node *map, const char *key);

/* The sums of an account's lines and parts are its totals, and nothing is negative. */
TW_NODISCARD tw_status tw_account_check(const tw_account *account, tw_diag *diag);
void tw_account_print(const tw_account *account, tw_text *out);
#endif
