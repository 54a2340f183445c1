/* network.h - whole networks: ONNX in, a plan for every layer out.
 *
 *     const tw_network *net;  const tw_network_plan *plan;
 *     if (tw_network_open(ctx, "resnet18.onnx", NULL, &net) == TW_OK &&
 *         tw_network_search(ctx, net, machine, NULL, &plan) == TW_OK)
 *         tw_network_print_text(ctx, plan, NULL, NULL, stdout);
 *
 * A network is a list of steps in the order in which they run. A step is a described operator that is planned and runs as
 * a tiled program, or an operator without a description: that one is listed, its tensors flow, its time is unknown. Steps
 * whose operators are equal but for the names share a layer, which is planned once. */
#ifndef TILEWRIGHT_NETWORK_H
#define TILEWRIGHT_NETWORK_H
#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading ---- */

typedef struct tw_network tw_network;
typedef struct tw_network_dim { /* a dimension that the file names */
    const char *name;
    int64_t size;
} tw_network_dim;
typedef struct tw_network_shape { /* of an input */
    const char *input;
    int n_dims;
    const int64_t *dim;
} tw_network_shape;
typedef struct tw_network_fill { /* an input, all of whose elements are known to be this */
    const char *input;
    double value;
} tw_network_fill;
/* Elements of a tensor: dense, little-endian, of the type that the network gives it; bools are bytes. */
typedef struct tw_network_data {
    const char *name;
    const char *type; /* "float", "int64", ... as ONNX calls them */
    int n_dims;
    const int64_t *dim;
    int64_t n_elems;
    const void *bytes;
} tw_network_data;
typedef struct tw_network_options { /* all zero: the defaults                                             */
    size_t size;
    int n_dims, n_shapes;
    const tw_network_dim *dim;
    const tw_network_shape *shape;
    bool no_fold; /* every node is a step of its own, also where it depends on constants alone      */
    bool strict;  /* a step without a description is an error                                       */
    const char
        *dtype; /* plan tensors of floats as if they were of this type ("i8"); NULL: as they are. Such a network
                          cannot be executed                                                             */
    /* Inputs whose elements are known, as constants: shapes may depend on them. */
    int n_data, n_fills;
    const tw_network_data *data;
    const tw_network_fill *fill;
    const tw_machine
        *machine; /* that it is planned for: loops that an array is better laid out over stay apart. NULL:
                                  any; such a network can be planned for every machine, too                 */
} tw_network_options;
#define TW_NETWORK_OPTIONS_INIT TW_SIZED(tw_network_options)
TW_API TW_NODISCARD tw_status tw_network_open(tw_context *ctx, const char *path, const tw_network_options *options,
                                              const tw_network **out);
/* Whether the name of a workload is that of an ONNX file. */
TW_API bool tw_network_is_path(const char *spec);
/* A tensor in a file of its own, as ONNX's tests have it. */
TW_API TW_NODISCARD tw_status tw_network_data_open(tw_context *ctx, const char *path, const tw_network_data **out);
TW_API TW_NODISCARD tw_status tw_network_data_write(tw_context *ctx, const tw_network_data *data, FILE *out);
/* Largest |a - b| over the largest |b|, of equal types and shapes; NaN where they are not equal. Two elements that are no
 * numbers, or the same infinity, are equal. `close`: every element is within ONNX's own tolerance,
 * |a - b| <= 1e-7 + 1e-3 |b|, whole numbers and strings equal. */
TW_API double tw_network_data_differ(const tw_network_data *a, const tw_network_data *b, bool *close);

typedef struct tw_network_summary {
    const char *path, *producer;
    int64_t opset;
    int n_nodes, n_steps, n_layers; /* layers: distinct described operators                            */
    int n_tiled, n_host, n_unknown; /* steps: described; evaluated as they are; neither                */
    int n_folded, n_views;          /* nodes that became part of another; that only see bytes differently */
    int n_constant_nodes;           /* nodes that depend on constants alone, and are no steps          */
    int n_constants;                /* results of such nodes that steps read, and their bytes          */
    int64_t constant_bytes;
    int64_t macs;         /* multiply-adds of all described steps                            */
    int64_t weight_bytes; /* constants that steps read                                       */
} tw_network_summary;
TW_API tw_network_summary tw_network_summary_of(const tw_network *network);

typedef enum tw_step_type { TW_TILED, TW_ON_HOST, TW_UNKNOWN_STEP } tw_step_type;
typedef struct tw_step_info {
    const char *name, *op; /* "conv1", "Conv+Relu"                                                       */
    tw_step_type type;
    const char *why;   /* not TILED: the reason                                                      */
    int layer;         /* TILED; -1                                                                  */
    const char *shape; /* of its output: "1x64x112x112"; "?" unknown                                 */
    int64_t points;    /* loop points                                                                */
} tw_step_info;
TW_API tw_step_info tw_network_step(const tw_network *network, int step);
/* What was folded: node into node. */
typedef struct tw_fold_info {
    const char *node, *op, *into;
} tw_fold_info;
TW_API tw_fold_info tw_network_fold(const tw_network *network, int i);
/* Operators without a description, the most frequent first. */
typedef struct tw_undescribed {
    const char *op, *why;
    int n;
} tw_undescribed;
TW_API int tw_network_n_undescribed(const tw_network *network);
TW_API tw_undescribed tw_network_undescribed(const tw_network *network, int i);
/* Values whose declared shape contradicts what follows from the inputs. */
/* Values that have no shape: it depends on data, or on an operator that is not known. */
TW_API int tw_network_n_unshaped(const tw_network *network);
TW_API int tw_network_n_stale(const tw_network *network);
TW_API const char *tw_network_stale(const tw_network *network, int i);
/* Inputs and outputs; type and dims without elements. */
TW_API int tw_network_n_inputs(const tw_network *network);
TW_API tw_network_data tw_network_input(const tw_network *network, int i);
/* Whether input i is no data but says how: a shape, axes, scales. Given to tw_network_open it makes shapes known. */
TW_API bool tw_network_input_says_how(const tw_network *network, int i);
TW_API int tw_network_n_outputs(const tw_network *network);
TW_API tw_network_data tw_network_output(const tw_network *network, int i);
/* "graph", "shapes", "steps" or "model" (all layers, as a workload file) as stable text. */
TW_API TW_NODISCARD tw_status tw_network_dump(tw_context *ctx, const tw_network *network, const char *stage,
                                              FILE *out);

/* ---- planning ---- */

typedef struct tw_network_plan tw_network_plan;
typedef struct tw_network_progress {
    int n_done, n_layers;
    const char *name; /* of a layer at work                                                              */
    int n_refused;    /* layers that the machine cannot run                                              */
    double seconds;
} tw_network_progress;
typedef struct tw_network_search_options {
    size_t size;
    const tw_search_options
        *search;     /* of each layer, NULL: the defaults. time_limit is for the whole network, n_threads
                                        counts layers at a time. limits: for the model of all layers     */
    bool keep_space; /* search->space counts; false: the space for networks (docs/search.md) */
    /* Called some times a second from the calling thread; false ends the searches with the best so far. */
    bool (*progress)(void *user, const tw_network_progress *progress);
    void *user;
} tw_network_search_options;
#define TW_NETWORK_SEARCH_OPTIONS_INIT TW_SIZED(tw_network_search_options)
/* Layers that the machine cannot run are no error: their steps have no plan, and say why. */
TW_API TW_NODISCARD tw_status tw_network_search(tw_context *ctx, const tw_network *network,
                                                const tw_machine *machine, const tw_network_search_options *options,
                                                const tw_network_plan **out);
/* A partial mapping of the layers, by their names: for the limits of tw_network_search_options.search. */
TW_API TW_NODISCARD tw_status tw_network_limits(tw_context *ctx, const tw_network *network,
                                                const tw_machine *machine, const char *path, const tw_limits **out);
/* A mapping file that an earlier plan wrote. */
TW_API TW_NODISCARD tw_status tw_network_eval(tw_context *ctx, const tw_network *network, const tw_machine *machine,
                                              const char *mapping_path, const tw_network_plan **out);

/* What searches said of a plan, for one that is made again from its mapping. */
typedef struct tw_network_found { /* callers fill it: grows as options do */
    size_t size;
    int n_layers;                         /* of the network */
    const tw_search_result *const *layer; /* per layer; NULL: it has no plan, or was not searched */
    int n_programs;                       /* parts of the plan that have one */
    const tw_group_search *program;       /* in their order */
} tw_network_found;
#define TW_NETWORK_FOUND_INIT TW_SIZED(tw_network_found)
/* The plan of a mapping file's text (`name` is for messages) that an earlier search wrote, with what it said, which is copied and believed as far as the simulation says the
 * same: TW_ERR_INPUT when it does not. */
TW_API TW_NODISCARD tw_status tw_network_restore(tw_context *ctx, const tw_network *network,
                                                 const tw_machine *machine, const char *name, const char *text,
                                                 const tw_network_found *found, const tw_network_plan **out);

typedef struct tw_layer_info { /* a distinct operator, planned                                           */
    const char *name;          /* of the first step that has it                                          */
    int first_step, n_steps;
    const tw_model *model; /* one operator                                                           */
    const tw_plan *plan;   /* NULL: none                                                             */
    const char *refusal;   /* then: why                                                              */
    bool foreign;          /* the machine has no engine that computes such an operator               */
} tw_layer_info;
TW_API int tw_network_plan_n_layers(const tw_network_plan *plan);
TW_API tw_layer_info tw_network_plan_layer(const tw_network_plan *plan, int layer);
/* Whether the layer has no plan because time was up, or somebody interrupted, before there was one: that is no proof that there is none. */
TW_API bool tw_network_plan_is_left(const tw_network_plan *plan, int layer);

/* Steps one behind the other, and what they are done by. Parts follow each other. */
typedef struct tw_network_part {
    int first_step, n_steps;
    const tw_plan *
        plan; /* all of them as one program, in groups on one timeline; NULL: each step by the plan of its layer, if it has one.
                            Operator i of the plan's model is step first_step + i */
} tw_network_part;
TW_API int tw_network_plan_n_parts(const tw_network_plan *plan);
TW_API tw_network_part tw_network_plan_part(const tw_network_plan *plan, int part);

typedef struct tw_network_totals {
    int64_t cycles, energy_fj, macs; /* of the steps that have a plan                                    */
    double
        bound; /* proven: no mapping of the spaces searched takes fewer cycles in these steps; of programs: no plan does */
    int n_proven, n_close;    /* layers: gap 0; below 1 %                                                   */
    int n_ran_out;            /* layers: the budget ended the search                                        */
    int n_planned, n_refused; /* steps with a plan; TILED steps without one                              */
    int n_untimed;            /* steps that are not TILED                                                   */
    double seconds;           /* that the searches took                                                     */
    int n_programs, n_groups; /* parts whose steps are one program; groups of all of them                   */
    /* Of all steps one after the other, each by the plan of its layer: what the programs were compared with. 0: steps
     * of programs have none. */
    int64_t layers_cycles, layers_energy_fj;
    double layers_bound;
} tw_network_totals;
TW_API const tw_network_totals *tw_network_plan_totals(const tw_network_plan *plan);

/* What a change of the machine would give the whole network, searched for again. */
typedef struct tw_network_remedy {
    tw_remedy all;       /* cycles of all steps, or their energy where that is the first objective */
    int n_layers;        /* 0: it was not tried, or some layer has no plan with it             */
    const double *layer; /* of all steps of each layer                                       */
    const char *
        mapping; /* what gains: the text of the mapping file with which tw_network_eval, on all.machine or as it is, comes to it; NULL: none */
} tw_network_remedy;
/* Of a plan that tw_network_search made with these options, or that tw_network_eval made of a mapping, which is then simulated on changed machines. The time limit is for all of it: the largest gain first, then what there was no
 * time for. What was finished stays when `progress` ends it. */
TW_API TW_NODISCARD tw_status tw_network_remedies(tw_context *ctx, const tw_network_plan *plan,
                                                  const tw_network_search_options *options,
                                                  const tw_network_remedy **out, int *n);

/* Tensors between the steps, and where they lie. */
typedef struct tw_tensor_place {
    const char *name;
    int64_t bytes;
    int first_step, last_step; /* it is needed from the one to the other                                 */
    int64_t offset;            /* in the outermost memory                                                */
    bool fits_on_chip;         /* it can stay in `on_chip` beside what the steps need there,             */
    int64_t on_chip_offset;    /* at this address                                                        */
    int64_t saved_bytes;       /* then so much need not cross the outermost link                         */
} tw_tensor_place;
typedef struct tw_network_memory {
    const char *memory;   /* the outermost                                                          */
    int64_t weight_bytes; /* constants, there all the time                                          */
    int64_t peak_bytes;   /* height that the tensors between steps take with lifetimes              */
    int64_t least_bytes;  /* no placement is lower                                                  */
    int64_t sum_bytes;    /* without lifetimes                                                      */
    int peak_step;
    const char *on_chip; /* the next memory inwards                                                */
    int64_t on_chip_size, on_chip_peak;
    int64_t saved_bytes;
    int n_tensors;
    const tw_tensor_place *tensor;
} tw_network_memory;
TW_API const tw_network_memory *tw_network_plan_memory(const tw_network_plan *plan);

/* ---- running ---- */

typedef struct tw_step_verdict {
    bool executed, checked, equal; /* as a tiled program; each command checked; agrees with the reference */
    const char *fault;             /* NULL: none                                                          */
    bool compared;                 /* a reference for what it made was there: the end of a chain          */
    double deviation;              /* largest |got - reference| / largest |reference| of its tensors      */
    const char *why_not;           /* not executed: the reason                                            */
} tw_step_verdict;
typedef struct tw_network_verdict {
    int n_steps;
    const tw_step_verdict *step; /* one per step of the network                                         */
    int n_executed, n_checked, n_equal, n_wrong, n_host, n_skipped;
    int n_constants, n_constants_equal; /* steps that made constants; that agree with the reference         */
    const char *constant_fault;         /* the first that does not: its name and what is wrong; NULL        */
    bool stopped;                       /* time was up: the others were not reached                            */
    int n_outputs;
    const tw_network_data *output; /* what the programs computed                                          */
    int n_programs;                /* parts that were run as one program, or checked                      */
    int64_t n_commands; /* of tw_network_check: commands of programs that were checked; `step` is NULL then */
    const char *program_why_not; /* a part was run step by step instead, by the plans of layers; NULL: none */
} tw_network_verdict;
typedef struct tw_network_run_options {
    size_t size;
    int n_inputs;
    const tw_network_data *input; /* by name; others are random, drawn from `seed`                        */
    uint64_t seed;
    bool no_reference;        /* only run                                                             */
    int64_t max_instructions; /* longer programs are run as they are described, untiled; 0: 2^24      */
    int64_t max_memory;       /* bytes that it may take; 0: half of the host's                        */
    bool (*progress)(void *user, const tw_network_progress *progress);
    void *user;
} tw_network_run_options;
#define TW_NETWORK_RUN_OPTIONS_INIT TW_SIZED(tw_network_run_options)
/* Whether a run has what it needs: the elements of inputs that decide about shapes, the files of the weights, memory. Messages
 * say what is missing; TW_INFEASIBLE: memory. Needs no plan. */
TW_API TW_NODISCARD tw_status tw_network_run_check(tw_context *ctx, const tw_network *network,
                                                   const tw_network_run_options *options);
/* Runs every step: tiled programs on byte-addressed memories whose free bytes are poison, the others by evaluation of
 * the operator. Weights are read from the file now. TW_WRONG: a fault or a tensor that differs. */
TW_API TW_NODISCARD tw_status tw_network_run(tw_context *ctx, const tw_network_plan *plan,
                                             const tw_network_run_options *options, const tw_network_verdict **out);

/* Checks every command of the plan's programs, as tw_plan_verify does; nothing is run on numbers, weights are not needed. What steps by their layers do is not looked at.
 * The verdict has no steps. TW_WRONG: a fault, which is in a message. */
TW_API TW_NODISCARD tw_status tw_network_check(tw_context *ctx, const tw_network_plan *plan,
                                               const tw_network_verdict **out);

/* ---- printing ---- */

/* `verdict` and `options` may be NULL. */
TW_API TW_NODISCARD tw_status tw_network_print_text(tw_context *ctx, const tw_network_plan *plan,
                                                    const tw_network_verdict *verdict,
                                                    const tw_print_options *options, FILE *out);
TW_API TW_NODISCARD tw_status tw_network_print_json(tw_context *ctx, const tw_network_plan *plan,
                                                    const tw_network_verdict *verdict, FILE *out);
/* The same with what else is known. */
typedef struct tw_network_document {
    size_t size;
    const tw_network_verdict *verdict; /* NULL: not run */
    int n_remedies;
    const tw_network_remedy *remedy; /* NULL: nobody asked */
    int n_hints; /* pages: what is said where nobody asked, as tw_plan_hints gave it of some layer or program */
    const tw_remedy *hint;
} tw_network_document;
#define TW_NETWORK_DOCUMENT_INIT TW_SIZED(tw_network_document)
TW_API TW_NODISCARD tw_status tw_network_print_document(tw_context *ctx, const tw_network_plan *plan,
                                                        const tw_network_document *document, FILE *out);
/* As one HTML file to look at; `plan` as for tw_network_print_costs, the first is shown layer by layer. */
TW_API TW_NODISCARD tw_status tw_network_print_html(tw_context *ctx, const tw_network_plan *const *plan,
                                                    int n_plans, const tw_network_verdict *verdict, FILE *out);
/* The same with what else is known. */
TW_API TW_NODISCARD tw_status tw_network_print_page(tw_context *ctx, const tw_network_plan *const *plan,
                                                    int n_plans, const tw_network_document *document, FILE *out);
/* The timeline of a network: its programs, and between them steps by the plans of their layers, one after the other. Commands as
 * tw_plan_print_events writes them, with cycles of the network; CSV has one kind of rows, so that a network of both kinds has none. */
TW_API TW_NODISCARD tw_status tw_network_print_events(tw_context *ctx, const tw_network_plan *plan,
                                                      tw_format format, const char *engine, FILE *out);
/* The engines over time, a chart for each program and for each step between them; of those in cycles [from, to) of the network, to 0: its end. */
TW_API TW_NODISCARD tw_status tw_network_print_gantt(tw_context *ctx, const tw_network_plan *plan, int64_t from,
                                                     int64_t to, const tw_print_options *options, FILE *out);
/* As tw_plan_plot draws TW_PLOT_GANTT or, if options->kind says so, TW_PLOT_BUFFERS: of the program, or of the steps between programs, that cycle options->from is in; from and to both 0: of those
 * that take longest. */
TW_API TW_NODISCARD tw_status tw_network_plot_gantt(tw_context *ctx, const tw_network_plan *plan,
                                                    const tw_plot_options *options, FILE *out);
/* As tw_plan_print_trace: the whole timeline. */
TW_API TW_NODISCARD tw_status tw_network_print_trace(tw_context *ctx, const tw_network_plan *plan,
                                                     tw_trace_format format, bool gzip, FILE *out);
/* A mapping file that tw_network_eval and partial mappings read. */
TW_API TW_NODISCARD tw_status tw_network_print_mapping(tw_context *ctx, const tw_network_plan *plan, FILE *out);
/* The cost table: a row per step, a column per core. `plan` are plans of one network on different machines (cores). */
TW_API TW_NODISCARD tw_status tw_network_print_costs(tw_context *ctx, const tw_network_plan *const *plan,
                                                     int n_plans, tw_format format,
                                                     FILE *out); /* TW_FORMAT_CSV or _JSON */
TW_API TW_NODISCARD tw_status tw_network_draw_costs_svg(tw_context *ctx, const tw_network_plan *const *plan,
                                                        int n_plans, FILE *out);
TW_API TW_NODISCARD tw_status tw_network_draw_costs_png(tw_context *ctx, const tw_network_plan *const *plan,
                                                        int n_plans, FILE *out);
/* The same for print, of the width of tw_plot_options. */
TW_API TW_NODISCARD tw_status tw_network_plot_costs(tw_context *ctx, const tw_network_plan *const *plan,
                                                    int n_plans, tw_image image, double width_mm, FILE *out);
/* The same with all that these options say of image, width and dots per inch. TW_PLOT_LOSSES draws where the time of the first plan
 * goes instead; no other option counts. */
TW_API TW_NODISCARD tw_status tw_network_plot(tw_context *ctx, const tw_network_plan *const *plan, int n_plans,
                                              const tw_plot_options *options, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
