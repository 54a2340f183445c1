/* rivals.h - files of other mapping tools, counted by those tools' own rules.
 *
 *     const char *file[] = {"arch.yaml", "ERT.yaml", "problem.yaml", "mapping.yaml"};
 *     const tw_rival *rival;  const tw_account *account;
 *     if (tw_rival_open(ctx, file, 4, &rival) == TW_OK &&
 *         tw_rival_count(ctx, rival, 0, tw_rival_rules(rival), &account) == TW_OK)
 *         printf("%.0f cycles, %.3f uJ\n", account->cycles, account->energy_pj / 1e6);
 *
 * Which tool a file belongs to is told by its content. A set of files describes one machine and one layer or several; a layer
 * comes with a mapping, or one is searched for. docs/rules.md says by which rules is counted, and where they leave physics. */
#ifndef TILEWRIGHT_RIVALS_H
#define TILEWRIGHT_RIVALS_H
#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tw_rules {
    TW_RULES_NATIVE,   /* the timed simulation of a plan     */
    TW_RULES_TIMELOOP, /* the counts of Timeloop's model     */
    TW_RULES_ZIGZAG,   /* the counts of ZigZag's cost model  */
    TW_N_RULES
} tw_rules;
TW_API const char *tw_rules_word(tw_rules rules); /* "native", "timeloop", "zigzag" */

/* ---- reading ---- */

typedef struct tw_rival tw_rival; /* a machine of another tool, and layers for it */

/* Whose file it is. TW_RULES_NATIVE: ours, or no file at all, such as a one-line workload or the name of a machine; what is wrong
 * with the file is left for its reader to say. */
TW_API tw_rules tw_rival_kind(const char *path);
/* Reads files that belong together, in any order; all are of one tool. */
TW_API TW_NODISCARD tw_status tw_rival_open(tw_context *ctx, const char *const *path, int n, const tw_rival **out);
/* The same of texts; `name` stands for each file in messages. */
typedef struct tw_rival_text {
    const char *name, *text;
} tw_rival_text;
TW_API TW_NODISCARD tw_status tw_rival_parse(tw_context *ctx, const tw_rival_text *file, int n,
                                             const tw_rival **out);
/* A plan of ours, operator by operator, so that it can be counted by other tools' rules. TW_ERR_INPUT names a concept that these do
 * not have. */
TW_API TW_NODISCARD tw_status tw_rival_of_plan(tw_context *ctx, const tw_plan *plan, const tw_rival **out);
TW_API tw_rules tw_rival_rules(const tw_rival *rival);
TW_API int tw_rival_n_layers(const tw_rival *rival);
TW_API const char *tw_rival_layer_name(const tw_rival *rival, int layer);
/* Whether the files say how the layer is mapped. */
TW_API bool tw_rival_is_mapped(const tw_rival *rival, int layer);

/* ---- counting ---- */

typedef struct tw_account_action { /* one direction in which words pass a memory */
    const char *name;              /* "read", "fill", "update"; "read to below", ... */
    int64_t accesses;              /* of all instances, in the rules' unit           */
    double energy_pj;
} tw_account_action;
typedef struct tw_account_line { /* one operand in one memory */
    const char *memory, *operand;
    int64_t tile_words; /* of one instance                                               */
    int64_t own_words;  /* share of the operand that one instance sees at all, 0: the rules know none */
    int64_t instances;  /* that are used                                                 */
    int n_actions;
    const tw_account_action *action;
    double
        bits_at_once; /* ZigZag, an operand's outermost memory: bits per cycle from or to below while they pass; else 0 */
} tw_account_line;
typedef struct tw_account_level { /* one memory, or the array itself */
    const char *name;
    double cycles;    /* that it needs, computing included; 0: the rules know none */
    double energy_pj; /* of all operands, and what leaks                          */
    double leak_pj;
} tw_account_level;
typedef struct tw_account_part { /* one part of the latency, in the order in which they add up */
    const char *name;            /* "compute", "stall", "on-load", ...                         */
    double cycles;
} tw_account_part;
typedef struct tw_account {
    tw_rules rules;
    const char *layer;
    int64_t macs;             /* multiply-adds, those of padding included where the rules count them */
    double compute_cycles;    /* if no memory ever held the array up                                */
    double cycles, energy_pj; /* all of it; cycles are whole but for halves in ZigZag's sums        */
    double utilization;       /* of the array over all cycles, 0 to 1                               */
    int n_lines, n_levels, n_parts;
    const tw_account_line *line;   /* outermost memory first, then in order of operands */
    const tw_account_level *level; /* outermost first, the array last                    */
    const tw_account_part *part;
    const char *nest; /* the loops, outermost first, as text */
    int n_remarks;    /* what these rules leave out or made to fit, in words and figures */
    const char *const *remark;
} tw_account;

/* What the mapping of the files costs by the rules of their tool, or of the other one. TW_INFEASIBLE where it does not fit. */
TW_API TW_NODISCARD tw_status tw_rival_count(tw_context *ctx, const tw_rival *rival, int layer, tw_rules rules,
                                             const tw_account **out);
/* Accounts on one screen: time, where it goes, energy and loops of one, a line for each of several. */
TW_API TW_NODISCARD tw_status tw_accounts_print_brief(tw_context *ctx, const tw_account *const *account, int n,
                                                      const tw_print_options *options, FILE *out);
/* All of an account as text that stays the same from run to run, or as JSON. */
TW_API TW_NODISCARD tw_status tw_account_print_text(tw_context *ctx, const tw_account *account, FILE *out);
TW_API TW_NODISCARD tw_status tw_account_print_json(tw_context *ctx, const tw_account *account, FILE *out);

/* ---- searching ---- */

typedef struct tw_rival_search_options { /* all zero: the defaults                           */
    size_t size;
    tw_measure measure;  /* TW_CYCLES, TW_ENERGY or TW_EDP; ties by the others, then the first found */
    bool any_sizes;      /* tiles need not divide what they cut; default: they do                   */
    int64_t max_nodes;   /* 0: until it is proven; the same result on every host                    */
    bool free_unrolling; /* ZigZag: the search also chooses what lies over the array                */
} tw_rival_search_options;
#define TW_RIVAL_SEARCH_OPTIONS_INIT TW_SIZED(tw_rival_search_options)
typedef struct tw_rival_found {
    const tw_account *account; /* of the best mapping                                              */
    const tw_rival *rival;     /* the files with that mapping in place of theirs                   */
    double value, bound;       /* of the measure; no mapping of the space is below the bound       */
    bool proven;               /* they are equal                                                   */
    int64_t nodes, counted;    /* of the search; mappings counted one by one                       */
    double seconds;
    const char *space; /* over what it is proven, in words */
} tw_rival_found;
TW_API TW_NODISCARD tw_status tw_rival_search(tw_context *ctx, const tw_rival *rival, int layer,
                                              const tw_rival_search_options *options, const tw_rival_found **out);
/* The first layer that is the same but for its name: `layer` itself, or one before it. */
TW_API int tw_rival_like(const tw_rival *rival, int layer);
/* Searches all layers, those that are the same once. `out` has one entry per layer; *mapped is the files with all mappings in
 * place of theirs. */
TW_API TW_NODISCARD tw_status tw_rival_search_all(tw_context *ctx, const tw_rival *rival,
                                                  const tw_rival_search_options *options,
                                                  const tw_rival_found **out, const tw_rival **mapped);

/* ---- machines with several cores (Stream) ---- */

typedef struct tw_core_column { /* a core */
    const char *name;
    bool computes;
    int like;    /* the first core that is the same: itself, or one before it */
    double busy; /* cycles, as Stream runs all layers one after the other  */
} tw_core_column;
typedef struct tw_core_row { /* a layer */
    const char *layer;
    const char *parts; /* how it lies over cores, "K 3"; "" where one core runs all of it                        */
    int64_t n_tiles;
    int n_dims; /* loops of a tile: names as the files have them, and extents */
    const char *const *dim;
    const int64_t *extent;
    const tw_account *const
        *cell; /* of a tile on each core, NULL: the core does not run it, or nothing fits there */
} tw_core_row;
typedef struct tw_core_run { /* one tile */
    int layer, core;
    int64_t tile; /* of the layer */
    double start, end;
} tw_core_run;
typedef struct
    tw_core_block { /* a connection that an operand of a tile takes while the tile runs; tiles that share the operand then take it once */
    int run;
    const char *operand;
    int64_t part;        /* of the operand, which parts of the layer share */
    bool outwards;       /* to the off-chip memory                       */
    int link;            /* in the machine's order                       */
    double link_bits;    /* per cycle that it has                        */
    double bits_at_once; /* per cycle that the operand takes of them     */
    int64_t bits;        /* of the operand, padding included             */
} tw_core_block;
typedef struct tw_core_table {
    const char *machine;
    int n_rows, n_cores;
    const tw_core_row *row;
    const tw_core_column *core;
    int n_runs; /* 0: there are no layers */
    const tw_core_run *run;
    int n_blocks;
    const tw_core_block *block;
    int64_t n_edges;            /* pairs of tiles of which one reads what the other makes                       */
    int64_t offchip_bits;       /* of everything that is in the off-chip memory at last: inputs, weights, results */
    double makespan, energy_pj; /* of all runs */
} tw_core_table;
/* Cores of the machine, those that only store included; 0: it is a single array. A machine with cores may be read alone, and then has no layers;
 * otherwise what is said above about layers is about what one core runs of them, on the first core that computes. */
TW_API int tw_rival_n_cores(const tw_rival *rival);
/* The same files for one of the cores; NULL: it does not compute. */
TW_API const tw_rival *tw_rival_core(const tw_rival *rival, int core);
/* Whether the core may run the layer. */
TW_API bool tw_rival_runs(const tw_rival *rival, int core, int layer);
/* What each layer costs on each core, by the tool's own search (`options` NULL) or by ours, and all layers one after the other on the cores that the mapping
 * names; where it leaves open which, on the fastest. */
TW_API TW_NODISCARD tw_status tw_rival_table(tw_context *ctx, const tw_rival *rival,
                                             const tw_rival_search_options *options, const tw_core_table **out);
TW_API TW_NODISCARD tw_status tw_core_table_print_text(tw_context *ctx, const tw_core_table *table, FILE *out);
TW_API TW_NODISCARD tw_status tw_core_table_print_json(tw_context *ctx, const tw_core_table *table, FILE *out);

/* ---- converting ---- */

/* The machine, and all layers, as files of ours. The machine to plan on has the memories that are there once, and what is private to
 * parts of the array in the energy of a point; the one for mappings has all memories, see docs/design/rivals.md. */
TW_API TW_NODISCARD tw_status tw_rival_print_machine(tw_context *ctx, const tw_rival *rival, FILE *out);
TW_API TW_NODISCARD tw_status tw_rival_print_levels(tw_context *ctx, const tw_rival *rival, FILE *out);
TW_API TW_NODISCARD tw_status tw_rival_print_workload(tw_context *ctx, const tw_rival *rival, FILE *out);
/* The mappings of all layers as a file of ours, for the machine with all memories; and a file of ours as the mappings of the layers:
 * *out is the files with them in place of theirs. What one of the formats cannot say is an error that names it. */
TW_API TW_NODISCARD tw_status tw_rival_print_our_mapping(tw_context *ctx, const tw_rival *rival, FILE *out);
TW_API TW_NODISCARD tw_status tw_rival_take_our_mapping(tw_context *ctx, const tw_rival *rival, const char *path,
                                                        const tw_rival **out);
/* A plan of ours (tw_rival_of_plan) as files of another tool: all sections of Timeloop in one, or one of the three of ZigZag. */
typedef enum tw_rival_output {
    TW_RIVAL_TIMELOOP,
    TW_RIVAL_ZIGZAG_ACCELERATOR,
    TW_RIVAL_ZIGZAG_WORKLOAD,
    TW_RIVAL_ZIGZAG_MAPPING
} tw_rival_output;
TW_API TW_NODISCARD tw_status tw_rival_print_as(tw_context *ctx, const tw_rival *ours, tw_rival_output what,
                                                FILE *out);
/* The mapping of a layer as a file of its tool. */
TW_API TW_NODISCARD tw_status tw_rival_print_mapping(tw_context *ctx, const tw_rival *rival, int layer, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
