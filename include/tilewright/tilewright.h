/* tilewright.h - the public interface of libtilewright.
 *
 * Tilewright takes an operator (or a list of them), a machine with software-managed memories and
 * a mapping, and answers how the work runs: which tile is where, which engine moves what when,
 * how long it takes, and whether the result is right.
 *
 *     tw_context *ctx = tw_context_new();
 *     const tw_model *model;  const tw_machine *machine;  const tw_mapping *mapping;  const tw_plan *plan;
 *     if (tw_model_open(ctx, "matmul:128x128x512", &model) == TW_OK &&
 *         tw_machine_open(ctx, "tick-100k", &machine) == TW_OK &&
 *         tw_mapping_open(ctx, model, machine, "mapping.yaml", &mapping) == TW_OK &&
 *         tw_plan_eval(ctx, model, machine, mapping, &plan) == TW_OK)
 *         printf("%" PRId64 " ticks\n", tw_plan_summary(plan)->ticks);
 *     for (int i = 0; i < tw_context_n_messages(ctx); i++)
 *         fprintf(stderr, "%s\n", tw_context_message(ctx, i));
 *     tw_context_free(ctx);
 *
 * Ownership. Every value made with a context belongs to it and lives until tw_context_free; all
 * values are handed out as pointers to const and never change. Out-parameters are written only
 * when the call returns TW_OK.
 *
 * Threads. A context is used by one thread at a time; different contexts are independent and the
 * library keeps no other state. Finished values may be read by any number of threads at once, as
 * long as their context is not freed.
 *
 * Growth. No struct has an array in it: there are pointers and counts, so that limits inside the library can move.
 * - Options, which callers fill, begin with `size`, that of the struct as the caller's header has it. An initialiser sets it:
 *
 *       tw_search_options options = TW_SEARCH_OPTIONS_INIT;
 *       options.budget = 1000000;
 *
 *   The library reads so many bytes and no more; what came later is zero then, and zero means what it meant before. A size of 0
 *   (the struct was only zeroed) stands for the first version of the struct, that of release 1.0: what came later is not read.
 *   When the program is newer than the library, what the library does not know has to be zero; TW_ERR_INPUT otherwise.
 *   NULL instead of options: all of them are zero.
 * - Structs that the library hands out one by one, as pointers to const, grow at their end without harm.
 * - All others keep their size as long as the first number of the version stays: those that are returned by value, the elements
 *   of arrays, the members of other structs and what callers fill without a size. What is new about them is a function, or a
 *   struct of its own.
 * Pointers in what a callback sees are valid until it returns, unless they are names; all others live as long as the context.
 *
 * The library never prints, never exits and never changes the process's state. */
#ifndef TILEWRIGHT_TILEWRIGHT_H
#define TILEWRIGHT_TILEWRIGHT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; tw_version() is that of the library. It grows in its first number when a program may have to
 * be changed, in its second when there is more than before. */
#define TW_VERSION_MAJOR  1
#define TW_VERSION_MINOR  0
#define TW_VERSION_PATCH  0
#define TW_VERSION_NUMBER (TW_VERSION_MAJOR * 10000 + TW_VERSION_MINOR * 100 + TW_VERSION_PATCH)

#define TW_API __attribute__((visibility("default")))
/* A status must be looked at. */
#define TW_NODISCARD __attribute__((warn_unused_result))
/* Options with their size, all else zero; each kind has its TW_.._INIT. */
#ifdef __cplusplus
#define TW_SIZED(type) \
    {                  \
        sizeof(type)   \
    }
#else
#define TW_SIZED(type)       \
    {                        \
        .size = sizeof(type) \
    }
#endif

/* ---- status ---- */

typedef enum tw_status {
    TW_OK = 0,
    TW_INFEASIBLE, /* the input is sound, there is no plan; the context's messages give the tightest reason */
    TW_ERR_INPUT,  /* the input is wrong; the messages say where and why                                    */
    TW_ERR_NOMEM,  /* the host is out of memory                                                             */
    TW_ERR_IO,     /* a file cannot be read or written                                                      */
    TW_WRONG,      /* verification found a plan to be wrong: our fault                                      */
    TW_STOPPED,    /* time was up, or it was interrupted, before there was an answer: tw_context_limit_time  */
} tw_status;

/* "ok", "infeasible", ...; never NULL. */
TW_API const char *tw_status_name(tw_status status);
TW_API const char *tw_version(void); /* "1.0.0" */
TW_API int tw_version_number(void);  /* as TW_VERSION_NUMBER, of the library */
/* The one of these words that was probably meant by this one; NULL: none is near. */
TW_API const char *tw_nearest_word(const char *word, const char *const *list, int n);

/* ---- text of other people ---- */

/* Names of files and what is in them may hold anything. Messages and reports show such text in its visible form, one
 * character after the other: as it is, or written out ("\x1b", "\u202e") where it could steer a terminal, reorder a line or
 * is no UTF-8. */
enum { TW_VISIBLE_MAX = 12 }; /* bytes of the visible form of one character, with the zero behind it */
/* The visible form of the character at `s`, which ends with a zero, or of the one byte that is none; returns the bytes that
 * were read. */
TW_API int tw_visible_next(const char *s, char out[TW_VISIBLE_MAX]);
/* Columns that such a form takes: one, or the letters that were written out. */
TW_API int tw_visible_width(const char *form);

/* ---- context ---- */

typedef struct tw_context tw_context;
/* NULL when out of memory. */
TW_API tw_context *tw_context_new(void);
TW_API void tw_context_free(tw_context *ctx);
/* Messages so far, in order of discovery: "file:line:col: error: text". */
TW_API int tw_context_n_messages(const tw_context *ctx);
TW_API const char *tw_context_message(const tw_context *ctx, int i);
/* The same taken apart. Kinds are numbers that will not change; others may join them. */
typedef enum tw_message_kind {
    TW_MESSAGE_ERROR = 1,      /* the input is wrong, or a file cannot be read or written */
    TW_MESSAGE_INFEASIBLE = 2, /* the input is sound, there is no plan: the reason        */
    TW_MESSAGE_NOTE = 3,       /* belongs to the message before it                        */
    TW_MESSAGE_STOPPED = 4,    /* time was up, or it was interrupted                      */
} tw_message_kind;
typedef struct tw_message {
    tw_message_kind kind;
    int line, col;    /* from 1 on; 0: the whole file                     */
    int n_file;       /* bytes of the file's name, 0: no place            */
    const char *file; /* which is not followed by a zero                  */
    const char *text; /* without place and kind                           */
} tw_message;
TW_API tw_message tw_context_message_parts(const tw_context *ctx, int i);
/* Forgets the messages; the texts handed out become invalid, values stay. */
TW_API void tw_context_clear_messages(tw_context *ctx);

/* Time. All work of a context ends so many seconds from now, 0: there is no limit; an interruption before this call is
 * forgotten. Whatever can hand out something unfinished does and says so: searches have the best so far with its gap,
 * verdicts tell that they were not reached. Everything else ends with TW_STOPPED. A limit makes results depend on the host. */
TW_API void tw_context_limit_time(tw_context *ctx, double seconds);
/* As if time were up now; from any thread, or a signal handler. */
TW_API void tw_context_interrupt(tw_context *ctx);
TW_API bool tw_context_is_over(const tw_context *ctx);

/* ---- inputs ---- */

typedef struct tw_model tw_model;     /* tensors and operators                        */
typedef struct tw_machine tw_machine; /* memories, engines, timing                    */
typedef struct tw_mapping tw_mapping; /* per operator: tiles, order, buffers by level */

/* `spec` is a one-line workload ("conv:..."; docs/formats.md has the grammar) or the path of a YAML file. */
TW_API TW_NODISCARD tw_status tw_model_open(tw_context *ctx, const char *spec, const tw_model **out);
/* The text of a YAML workload; `name` stands for the file in messages. */
TW_API TW_NODISCARD tw_status tw_model_parse(tw_context *ctx, const char *name, const char *text,
                                             const tw_model **out);
TW_API int tw_model_n_ops(const tw_model *model);
TW_API const char *tw_model_op_name(const tw_model *model, int op);

/* `spec` is the name of a built-in machine or the path of a YAML file. */
TW_API TW_NODISCARD tw_status tw_machine_open(tw_context *ctx, const char *spec, const tw_machine **out);
TW_API TW_NODISCARD tw_status tw_machine_parse(tw_context *ctx, const char *name, const char *text,
                                               const tw_machine **out);
/* Built-in machines: name and YAML text of the i-th, NULL past the last. */
TW_API const char *tw_machine_builtin_name(int i);
TW_API const char *tw_machine_builtin_text(int i);

TW_API TW_NODISCARD tw_status tw_mapping_open(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                              const char *path, const tw_mapping **out);
TW_API TW_NODISCARD tw_status tw_mapping_parse(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                               const char *name, const char *text, const tw_mapping **out);

/* Each as a file that reads back as the same value. */
TW_API TW_NODISCARD tw_status tw_model_print_to(tw_context *ctx, const tw_model *model, FILE *out);
TW_API TW_NODISCARD tw_status tw_machine_print_to(tw_context *ctx, const tw_machine *machine, FILE *out);
TW_API TW_NODISCARD tw_status tw_mapping_print_to(tw_context *ctx, const tw_mapping *mapping, const tw_model *model,
                                                  const tw_machine *machine, FILE *out);

/* ---- plans ---- */

typedef struct tw_plan tw_plan; /* model + machine + mapping, laid out, programmed and timed */

/* The model that it is about: the one that was given, or that with padding written which the machine does not take, by operators of
 * their own (`materialise` of a mapping file). */
TW_API const tw_model *tw_plan_model(const tw_plan *plan);

/* What this mapping costs. TW_INFEASIBLE when it does not fit the machine. Needs O(1) memory in
 * the number of instructions and time linear in it. */
TW_API TW_NODISCARD tw_status tw_plan_eval(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                           const tw_mapping *mapping, const tw_plan **out);

/* ---- search ---- */

typedef enum tw_cut { TW_BALANCED, TW_GREEDY } tw_cut;
/* What is made small. */
typedef enum tw_measure {
    TW_CYCLES,  /* latency, as simulated                                                               */
    TW_TICKS,   /* lockstep machines: rows                                                             */
    TW_ENERGY,  /* femtojoules                                                                         */
    TW_EDP,     /* energy x cycles                                                                     */
    TW_TRAFFIC, /* units moved on the link named                                                       */
    TW_PEAK,    /* units that the buffers take in the memory named                                     */
    TW_N_MEASURES
} tw_measure;
typedef struct tw_objective {
    tw_measure measure;
    const char *at; /* TRAFFIC: a mover, or a memory: all that passes between it and those outside of it; PEAK: a
                       memory; otherwise NULL                                                          */
} tw_objective;
/* How partial sums are added up. */
typedef enum tw_mode {
    TW_MODE_DEFAULT,  /* any; TW_SPACE_NOTES: in place if the machine can, else the best that it can */
    TW_MODE_SEPARATE, /* an adder puts accumulator + partial into a third slot         */
    TW_MODE_IN_PLACE, /* an adder puts the sum into the accumulator's slot             */
    TW_MODE_FUSED,    /* the execution adds to what its output slot holds              */
    TW_MODE_ANY,      /* the best of those the machine offers                          */
} tw_mode;
typedef enum tw_approach {
    TW_APPROACH_BEST,       /* any level may be passed through                              */
    TW_APPROACH_DIRECT,     /* tile once, for the innermost memory; pass through the others */
    TW_APPROACH_MULTISTAGE, /* tile at every level                                          */
} tw_approach;
/* Which mappings are candidates: docs/search.md. */
typedef enum tw_space_name {
    TW_SPACE_ALL,     /* everything that a mapping may choose                      */
    TW_SPACE_NOTES,   /* the family of the tick machine: few executions, 1 or 2 buffers */
    TW_SPACE_WINDOWS, /* everything, but loops that shift a window are never cut      */
    TW_SPACE_WHOLE,   /* everything, but no loop lies over several dimensions of an array */
    TW_N_SPACES
} tw_space_name;
TW_API const char *tw_space_word(tw_space_name space);    /* "all", "notes", "windows", "whole" */
TW_API const char *tw_space_meaning(tw_space_name space); /* "everything that a mapping may choose", ... */
typedef enum tw_cut_rule { TW_CUT_DEFAULT, TW_CUT_BALANCED, TW_CUT_GREEDY } tw_cut_rule;

/* What a search reports while it runs. */
typedef struct tw_progress {
    int op;                  /* operator at hand                               */
    bool found;              /* there is a mapping so far; `best` is its value */
    double best, bound, gap; /* of the first objective; gap 0..1              */
    double seconds;
    int64_t nodes, simulated;
    double share;      /* of the work or of the time that it may take at most, 0..1; 0: neither is limited */
    const char *space; /* that the bound is about: "all", "windows", ...; NULL: there is no search     */
} tw_progress;

typedef struct tw_limits tw_limits; /* a mapping file that leaves parts open */
/* A mapping file in which anything may be missing, and numbers may be limits: docs/formats.md, "partial mappings". */
TW_API TW_NODISCARD tw_status tw_limits_open(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                             const char *path, const tw_limits **out);
TW_API TW_NODISCARD tw_status tw_limits_parse(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                              const char *name, const char *text, const tw_limits **out);
/* The text that they were read from, byte for byte: what decides a search is this, whatever the file holds by now. */
TW_API const char *tw_limits_text(const tw_limits *limits);

typedef struct tw_search_options { /* all zero: the defaults                                             */
    size_t size;
    const tw_objective
        *objective;   /* the first counts most, the others decide among what is `within` it; among equals
                                      less energy does, then less memory                                 */
    int n_objectives; /* 0: latency alone; more than four are refused                        */
    bool pareto;      /* instead: all that no other mapping beats in every objective         */
    tw_space_name space;
    const tw_limits *limits; /* NULL: none                                                                */
    tw_mode mode;
    tw_cut_rule cut;
    tw_approach approach;
    int64_t min_tile;    /* smallest tile along any cut loop, 0 or 1: no limit                           */
    int64_t max_execs;   /* TW_SPACE_NOTES: executions at a single tiled level, 0: 512                   */
    int64_t max_outer;   /* TW_SPACE_NOTES: executions at each outer level of a multistage plan, 0: 16   */
    int64_t max_inner;   /* TW_SPACE_NOTES: executions at its innermost level, 0: 64                     */
    int64_t max_buffers; /* TW_SPACE_ALL: buffers of an operand in one memory, 0: as many as a mapping can have */
    bool exhaustive;     /* no bounds: simulate every point                                              */
    int64_t budget;      /* pieces of work before the search gives up on the rest, 0: about two seconds' worth */
    int64_t
        patience; /* pieces of work without a better mapping before the search gives up on the rest, 0: no limit. Heeded
                             where the first mappings are made by construction (latency on async machines)   */
    double gap;        /* the search ends when its gap is at most this, 0: 1 %, and a little later. 0.01 is 1 % */
    double time_limit; /* seconds, 0: none. What a search with a time limit finds depends on the host  */
    int64_t memory_limit; /* bytes of the search's own lists, 0: 256 MiB                                  */
    int n_threads;        /* 0: one per core. The result does not depend on it                            */
    /* Called some times a second from the thread that called the search; false ends it with the best so far. */
    bool (*progress)(void *user, const tw_progress *progress);
    void *user;
    bool prove; /* a budget or gap of 0 is none: only a proof, time, memory or `progress` end the search    */
    const double
        *within; /* one for each objective, NULL: 0 each. How far an objective may be above the least found of
                             it so that those behind it get smaller: 0.01 is 1 %. Not of the last, nor with `pareto` */
    bool
        groups; /* operators may run in groups, tile by tile, where that is better than one after the other. A plan in
                    groups has no search results of single operators                                     */
} tw_search_options;
#define TW_SEARCH_OPTIONS_INIT TW_SIZED(tw_search_options)
/* Options without an objective get the one that the command has: on an async machine whose memories have energies the least
 * energy within 1 % of the best latency, elsewhere latency. Fronts and enumerations stay as they are. What the options then
 * point to lives as long as the program. */
TW_API void tw_search_options_aim(const tw_machine *machine, tw_search_options *options);

/* What closed a part of the space without simulating it. */
typedef enum tw_closer {
    TW_BOUND_CAPACITY, /* not even the smallest buffers fit                                  */
    TW_BOUND_COMPUTE,  /* the executions alone, with filling and draining                    */
    TW_BOUND_LINK,     /* what a link has to carry for these tiles                           */
    TW_BOUND_MOVEMENT, /* what any schedule has to carry into a memory of this size          */
    TW_BOUND_ROWS,     /* lockstep: executions and the rows between them                     */
    TW_BOUND_PEAK,     /* the buffers themselves                                             */
    TW_BOUND_ENERGY,   /* what executions and transfers cost at least                        */
    TW_BOUND_RELAXED,  /* a simulation with more buffers than fit                            */
    TW_N_BOUNDS
} tw_closer;
TW_API const char *tw_closer_name(tw_closer closer); /* "capacity", "compute", ... */

typedef enum tw_ending {              /* why a search ended                 */
                         TW_END_DONE, /* every point was simulated or bounded */
                         TW_END_BUDGET,
                         TW_END_TIME,
                         TW_END_STOPPED, /* by `progress` */
                         TW_END_MEMORY,
                         TW_END_GAP, /* it is as small as the options ask for */
} tw_ending;

/* What is said of operators that may be fused, one behind the other, and were decided on together. */
typedef struct tw_fusion_result {
    int n_ops;        /* from this operator on; 0: it is no such, or not the first                             */
    int n_groups;     /* that they were made: 1 is all fused, n_ops none                                       */
    bool chosen;      /* some could have been fused or not; otherwise the limits decide all                    */
    bool other_found; /* `other` is what was found; otherwise it is at least so much                           */
    double value;     /* first objective of all of them; memory: the most, everything else: the sum            */
    double bound;     /* proven: nothing in the space, fused or not, is below it                               */
    double other;     /* of none fused or, where none is, of all; INFINITY: nothing fits, or there is no choice */
} tw_fusion_result;

typedef struct tw_search_result { /* callers fill it for tw_plan_restore: grows as options do              */
    size_t size;
    int n_objectives;
    const tw_objective *objective;
    const double *value;  /* of every objective                                                              */
    int64_t best;         /* value of the first objective; INT64_MAX when larger                             */
    double bound;         /* proven: no mapping of the space has a smaller first objective                   */
    double gap;           /* of the first objective: (least - bound) / least, 0: nothing has less            */
    tw_closer bound_by;   /* what gives `bound` at the root of the search                                    */
    const char *bound_at; /* the engine or memory that it is about, NULL: none                             */
    double root_bound;    /* what is known before anything is cut                                            */
    double n_space;       /* points of the space                                                             */
    int64_t n_nodes;      /* parts of the space that were looked at                                          */
    int64_t n_points;     /* points that were simulated                                                      */
    int64_t work;         /* pieces of work, as tw_search_options.budget counts them                         */
    int n_closed;
    const int64_t *closed; /* parts that each bound closed, by tw_closer                                     */
    int64_t n_optima;      /* TW_SPACE_NOTES, or exhaustive: points that attain the best; otherwise 0         */
    bool proven;           /* of every objective: `bounds` is `least`, nothing better exists in the space     */
    tw_ending ending;
    tw_space_name space;
    double seconds;  /* of the host; the only thing here that differs between runs                      */
    bool by_default; /* the gap or budget that ended it was not given by the options                     */
    bool limited;    /* options leave out a part of the space: a partial mapping, sizes, buffers, modes  */
    /* Of every objective; NULL stands for no tolerance, for `value`, and for nothing known but `bound`. */
    const double *within; /* as tw_search_options has it                                                     */
    const double *least;  /* found, with those before it within theirs: `value` is at most (1 + within) as large */
    const double *bounds; /* proven: no mapping that keeps those before it within theirs has less            */
    tw_fusion_result fusion;
} tw_search_result;
#define TW_SEARCH_RESULT_INIT TW_SIZED(tw_search_result)

/* The best mapping of every operator, as a plan. With `pareto` the plan has, of the front, the mapping that is best in the
 * first objective. */
TW_API TW_NODISCARD tw_status tw_plan_search(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                             const tw_search_options *options, const tw_plan **out);
/* How the search of an operator ended; NULL for a plan that was not searched. */
TW_API const tw_search_result *tw_plan_search_result(const tw_plan *plan, int op);
/* A plan from a mapping that an earlier search found, with what that search said (one result per operator,
 * NULL for those that were not searched): the plan is evaluated again, the results are copied and believed. */
TW_API TW_NODISCARD tw_status tw_plan_restore(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                              const tw_mapping *mapping, const tw_search_result *const *results,
                                              const tw_plan **out);

/* What the search for groups said of a plan in groups. */
typedef struct tw_group_search { /* callers fill it for tw_plan_restore_groups: grows as options do          */
    size_t size;
    tw_measure measure;                      /* that was made small                                       */
    int64_t cycles, energy_fj;               /* of the plan                                               */
    int64_t layers_cycles, layers_energy_fj; /* of the plan layer by layer that it was compared with; 0: none */
    int n_ops;                               /* of the model, if it is known what each takes there; 0     */
    const int64_t *op_cycles, *op_energy_fj; /* per operator: that                                        */
    int64_t bound;                           /* proven: no plan takes fewer cycles; 0: not known          */
    const char *bound_by;                    /* the engine that is busy so long; NULL: not known          */
    bool bound_waits;                        /* or, before that, waits for work                           */
    int64_t n_simulated;                     /* programs                                                  */
    int n_cores;                             /* that were searched; 0: the machine has none, or one       */
    const int64_t *alone; /* per core: cycles of the best plan on it alone; 0: there is none; -n: none was looked
                                                for, since it takes n at least and better was known */
    int64_t equal;        /* cycles of the same groups in equal parts on all cores; 0: not known */
    double space;         /* mappings of a small space that was listed, none of which is better; 0: not known */
    int64_t bound_units;  /* proven: no plan moves fewer into and out of the outermost memory; 0: not known */
} tw_group_search;
#define TW_GROUP_SEARCH_INIT TW_SIZED(tw_group_search)
/* Tables are made in the context. TW_ERR_INPUT, without a message, when the plan is not in groups, or they were given. */
TW_API TW_NODISCARD tw_status tw_plan_group_search(tw_context *ctx, const tw_plan *plan, tw_group_search *out);
/* As tw_plan_restore, of a mapping with groups. TW_ERR_INPUT when the plan does not take the cycles and the energy that are said. */
TW_API TW_NODISCARD tw_status tw_plan_restore_groups(tw_context *ctx, const tw_model *model,
                                                     const tw_machine *machine, const tw_mapping *mapping,
                                                     const tw_group_search *said, const tw_plan **out);

/* Whether the simulation of the plan says of every searched operator what its search said: the value of each objective.
 * Of a restored plan that tells whether mapping and results belong together. */
TW_API bool tw_plan_confirms(const tw_plan *plan);

/* The Pareto front of an operator, best first objective first; 0 points when none was asked for. */
typedef struct tw_front_point {
    int n_values;
    const double *value;       /* of every objective                                */
    const tw_mapping *mapping; /* the plan's mapping with this one for the operator */
} tw_front_point;
TW_API int tw_plan_n_front(const tw_plan *plan, int op);
TW_API const tw_front_point *tw_plan_front(const tw_plan *plan, int op, int i);

/* What a change would give: of the machine, or of a mapping that was given. Each was searched or simulated. */
typedef enum tw_change_kind {
    TW_MORE_MEMORY,
    TW_MORE_BANDWIDTH, /* of a mover; or a faster adder or compute engine                                  */
    TW_MORE_CHANNELS,
    TW_MORE_BUFFERS, /* than the options of the search allow                                              */
    TW_OTHER_ARRAY,  /* a longer dimension, or another shape with as many units                           */
    /* of the mapping */
    TW_OTHER_TILE,
    TW_OTHER_BUFFERS,
    TW_OTHER_ORDER,
    TW_OTHER_KEEP,
    TW_OTHER_UNROLL,
    TW_OTHER_FUSION,
    TW_OTHER_MAPPING, /* the one that a search finds                                                     */
    TW_OTHER_SLIDE,   /* of groups: what two tiles share is kept, or not                                 */
    TW_N_CHANGES
} tw_change_kind;
/* "memory", "bandwidth", "channels", "buffer limit", "array", "tile", "buffers", "order", "keep", "unroll", "fusion", "mapping",
 * "slide" */
TW_API const char *tw_change_word(tw_change_kind kind);
/* Whether it is the mapping that is changed, and not the machine. */
TW_API bool tw_change_is_of_mapping(tw_change_kind kind);
typedef struct tw_remedy {
    tw_change_kind kind;
    const char *at;     /* the memory, engine or operator that is changed                           */
    const char *change; /* "twice as large: 20'000 units"; "buffers of w in l1: 2, not 1"           */
    bool feasible;      /* false: no plan was found with it; value and gain are 0                   */
    double value;       /* first objective, summed over the operators                               */
    double gain;        /* 1 - value / that of the best plan known without the change: the given one, unless it
                           was not proven and these searches met a better                            */
    bool proven;        /* both searches ended with a proof                                         */
    bool untried;       /* time was up, or somebody interrupted, before its search ended: the others say nothing */
    /* What was simulated: evaluating `mapping` on `machine` gives `value`. They live as long as the context. */
    const tw_machine *machine; /* NULL: as it is                                                     */
    const tw_mapping *mapping; /* NULL: the plan's, or there is none                                 */
} tw_remedy;
/* Of a plan that tw_plan_search made with these options: every change of the machine that may help, searched for again. Of a plan
 * of a given mapping: every change of the machine with that mapping, simulated; the single changes of the mapping that help, a
 * memory that is too small for them named; and what a search finds. The largest gain first; those for which there was no time stand
 * behind the others. */
TW_API TW_NODISCARD tw_status tw_plan_remedies(tw_context *ctx, const tw_plan *plan,
                                               const tw_search_options *options, const tw_remedy **out, int *n);
/* Up to three changes of the machine or of the mapping that help, simulated and not searched: takes some milliseconds, and of plans of more than
 * 75'000 instructions tells nothing. The objective is that of the options. */
TW_API TW_NODISCARD tw_status tw_plan_hints(tw_context *ctx, const tw_plan *plan, const tw_search_options *options,
                                            const tw_remedy **out, int *n);

typedef struct tw_summary { /* of one operator or, by tw_plan_summary, of all in sequence           */
    int64_t ticks;          /* rows, the nested ones expanded: time when every row takes 1; async: 0 */
    int64_t cycles;         /* rows at the cost of their slowest engine; async: end of the last command */
    int64_t execs;          /* executions and fills at the innermost level                                   */
    int64_t macs;           /* loop points executed                                                 */
    int64_t instructions;   /* all of them, at every level                                          */
    int64_t energy_fj;      /* femtojoules: each unit moved at both ends, each loop point           */
} tw_summary;
typedef struct tw_engine_use {
    const char *engine;
    int64_t loads, load_units;   /* moves towards the compute engine; units of the machine file     */
    int64_t stores, store_units; /* moves away from it                                              */
    int64_t ops;                 /* executions, sums and fills                                      */
    int64_t busy_cycles; /* summed cost of its instructions; async: until each could be followed by the next */
    /* async machines only, otherwise 0 */
    int64_t count;           /* units that take turns; the cycles here are summed over them             */
    int64_t wait_data;       /* idle before a command whose data came last                              */
    int64_t wait_credit;     /* idle before a command whose buffer became free last                     */
    int64_t critical_cycles; /* its share of the critical path; all shares add up to the makespan       */
    int64_t wait_port;       /* idle before a transfer because a port was taken                         */
} tw_engine_use;
typedef struct tw_memory_use {
    const char *memory;
    int64_t size;         /* INT64_MAX: unlimited                                                   */
    int64_t static_units; /* all slots, sized for the largest tile; this decides whether it fits    */
    int64_t peak_live;    /* most units alive in any row                                            */
} tw_memory_use;

typedef struct tw_link_use {             /* one operand on the link into one memory, both directions             */
    const char *outer, *inner, *operand; /* NULL inner: the memory does not hold the operand            */
    int64_t transfers, units;
    int64_t elems;             /* moved in both directions                                    */
    int64_t loads, load_units; /* the part that moves inwards: for the output, partial sums   */
    int64_t partial_stores;    /* of the stores, those of partial sums                        */
    int64_t partial_units;     /* all units of partial sums, read back or written             */
    int64_t held_units;        /* slots of the operand in `inner`                             */
    int64_t n_slots;
    int64_t least_units; /* what the loops reach of it: each must cross once, except for tiles that a
                            program skips because they meet only padding                            */
} tw_link_use;

typedef struct tw_pool_use { /* async: one pool of buffers and its credits                           */
    const char *memory;
    int n_operands; /* that share it; 0: no such pool                                                  */
    const char *const *operand;
    int64_t slots, slot_units;
    int64_t needed;      /* fewest slots with which the program does not deadlock                     */
    int64_t peak;        /* most slots held at once, as seen by the one unit that fills them          */
    int64_t wait_cycles; /* engines stood idle so long for a credit of this pool                      */
    int64_t
        ahead_units; /* a window slides: size of every slot but the first, which holds a window; 0: all are alike */
} tw_pool_use;

TW_API const tw_summary *tw_plan_summary(const tw_plan *plan);
/* Operators, memories, engines and operands are numbered from 0; a number outside the range is a mistake of the caller.
 * The pool that `operand` uses in `memory`; n_operands is 0 when there is none, or a lockstep machine has it. */
TW_API const tw_pool_use *tw_plan_pool_use(const tw_plan *plan, int op, int memory, int operand);
TW_API const tw_summary *tw_plan_op_summary(const tw_plan *plan, int op);
TW_API int tw_plan_n_engines(const tw_plan *plan);
TW_API const tw_engine_use *tw_plan_engine_use(const tw_plan *plan, int op, int engine);
TW_API int tw_plan_n_memories(const tw_plan *plan);
TW_API const tw_memory_use *tw_plan_memory_use(const tw_plan *plan, int op, int memory);
TW_API int tw_plan_n_operands(const tw_plan *plan, int op);
/* Of the link into `memory`, 1 and up. */
TW_API const tw_link_use *tw_plan_link_use(const tw_plan *plan, int op, int memory, int operand);

/* ---- plans of mappings with groups: operators that run side by side, docs/design/groups.md ---- */

/* Their engines and memories are those of the whole machine, of all its cores, whatever operator is asked for; the summary of an
 * operator has its executions and points, and as cycles the end of its last execution. There are no levels, links, pools,
 * buffers and placements per operator: what is asked for is empty. tw_plan_walk has the commands for the operator, and one verdict is
 * about all of them. */
typedef struct tw_group_use {
    const char *name;
    int n_ops;                      /* in the order in which they run in a step */
    int64_t start_cycle, end_cycle; /* of the first execution, and of the last */
} tw_group_use;
typedef struct tw_group_op_use {
    int op;             /* of the model    */
    const char *engine; /* that runs it    */
    int64_t execs, macs;
    int64_t start_cycle, end_cycle; /* of its executions in this group */
} tw_group_op_use;
/* 0: the plan has no groups. */
TW_API int tw_plan_n_groups(const tw_plan *plan);
TW_API tw_group_use tw_plan_group_use(const tw_plan *plan, int group);
TW_API tw_group_op_use tw_plan_group_op_use(const tw_plan *plan, int group, int i);

/* What a group costs and saves, against its operators one after the other with whole tensors between them. Points are those of the
 * loops: of a convolution its multiply-adds, those on padding too. */
typedef struct tw_group_facts {
    int64_t n_steps;
    int n_tensors;                   /* that its operators read or write                                    */
    int64_t points, points_once;     /* that it computes, and those without what is computed again        */
    int64_t saved_bytes;             /* neither stored nor loaded: twice each tensor that stays inside */
    int64_t kept_bytes;              /* of windows that slide: what stays from one step to the next */
    int64_t even_points, even_bytes; /* points more per byte less, as a reduced fraction; 0: nothing is saved */
    int64_t rescaled; /* of the points: those that rescale sums of reductions that run along a loop */
} tw_group_facts;
typedef struct tw_group_tensor {
    const char *name;
    int n_axes;
    int maker;                 /* operator of the group that makes it, -1: it comes from outside        */
    bool inside;               /* made and read inside: it never goes to the outermost memory           */
    int64_t elems, elems_made; /* all of it; computed in this group, again and again where halos are    */
    int64_t saved_bytes, kept_bytes;
} tw_group_tensor;
/* What the innermost hold of a tensor holds in a step. */
typedef struct tw_group_window {
    bool any; /* false: nothing, all that is asked for is padding */
    int n_axes;
    const int64_t *lo, *hi; /* along each axis: lo .. hi - 1 */
    const int64_t *
        fresh; /* of these, behind the end of the step before: what is new where halos are kept; where the window does
                               not go on from there, all of it */
} tw_group_window;
typedef struct tw_group_step {
    int64_t number;
    int n_tensors; /* in the order of tw_plan_group_tensor */
    const tw_group_window *window;
} tw_group_step;
typedef tw_status (*tw_group_step_fn)(void *user, const tw_group_step *step);
TW_API tw_group_facts tw_plan_group_facts(const tw_plan *plan, int group);
TW_API tw_group_tensor tw_plan_group_tensor(const tw_plan *plan, int group, int i);
/* Every step of a group; what `fn` returns other than TW_OK ends the walk and is returned. */
TW_API TW_NODISCARD tw_status tw_plan_group_walk(tw_context *ctx, const tw_plan *plan, int group,
                                                 tw_group_step_fn fn, void *user);

/* ---- the timeline, row by row ---- */

/* What an instruction of an async machine waited for last. */
typedef enum tw_wait {
    TW_WAIT_NONE,   /* it starts at cycle 0                                  */
    TW_WAIT_ENGINE, /* its engine was busy                                   */
    TW_WAIT_DATA,   /* what it reads was not there                           */
    TW_WAIT_CREDIT, /* the buffer that it writes was not free                */
    TW_WAIT_PORT,   /* the way into a memory that several movers share was taken */
} tw_wait;
TW_API const char *tw_wait_name(tw_wait wait); /* "none", "engine", "data", "credit", "port" */

typedef enum tw_opcode { TW_LOAD, TW_STORE, TW_EXEC, TW_SUM, TW_FILL } tw_opcode;

typedef struct tw_action { /* one instruction of a row                                                  */
    tw_opcode op;
    const char *engine;
    const char *operand; /* what is moved or written                                                  */
    int slot;            /* the slot written; for a store the slot read                               */
    int n_sources;       /* EXEC: one slot per input operand; SUM: accumulator, then partial          */
    const int *source;
    int n_tile;          /* LOAD, STORE, FILL: per axis of the operand; EXEC, SUM: per loop           */
    const int64_t *tile; /* index of the tile at this level                                           */
    bool accumulates;    /* adds to what the target holds                                             */
    int64_t units;       /* LOAD, STORE: units moved; EXEC: loop points; SUM, FILL: elements          */
    int64_t start_cycle, end_cycle;
    /* async machines */
    int unit;              /* which of the engine's units                                           */
    bool partial;          /* LOAD, STORE: moves partial sums                                       */
    const char *from, *to; /* memories; EXEC: of its inputs and of its output                      */
    int64_t busy_end;      /* the engine can start its next command, the sources are read           */
    tw_wait wait;
    int64_t waited;       /* cycles that its unit stood idle before it                              */
    int n_loops;          /* otherwise 0                                                            */
    const int64_t *index; /* tile index per loop of the step that it serves                         */
} tw_action;
/* What starts together. On an async machine: one command of one engine, in an order in which everything comes after
 * what it depends on; `tick` numbers them, and a command that moves several operands has several actions. */
typedef struct tw_row {
    int level;          /* 0: the outermost tiled level; an EXEC of level l contains rows of l + 1   */
    const char *memory; /* the memory that this level tiles for                                      */
    int64_t tick;       /* row index, nested rows counted                                            */
    int64_t start_cycle, end_cycle;
    int64_t live_units; /* alive in `memory`                                                         */
    int n_actions;
    const tw_action *action;
} tw_row;
/* Called with each row before the rows nested in it. A result other than TW_OK ends the walk. */
typedef tw_status (*tw_row_fn)(void *user, const tw_row *row);
TW_API TW_NODISCARD tw_status tw_plan_walk(tw_context *ctx, const tw_plan *plan, int op, tw_row_fn fn, void *user);

/* ---- injection: when each tile must be sent at the latest ---- */

typedef struct tw_injection_link { /* one operand on the link into one memory, in one step             */
    bool sent;                     /* false: the memory holds it already, or is not on its way         */
    int64_t start, arrive;
} tw_injection_link;
typedef struct tw_injection_row { /* one execution, its operands' last moments                         */
    int64_t step;
    int n_loops;
    const int64_t *index; /* tile index per loop                                                      */
    int64_t compute;      /* when it starts                                                           */
    int n_memories, n_operands;
    const tw_injection_link *const *link; /* link[m][o]: into memory m, operand o                     */
} tw_injection_row;
typedef struct tw_injection_summary {
    int64_t steps;
    int64_t prologue;               /* from the first transfer to the first execution                            */
    int64_t last_compute;           /* start of the last execution                                              */
    int64_t period_num, period_den; /* cycles from execution to execution, on average: num / den, reduced */
    const char *limit; /* the engine that sets it; NULL: none does, commands wait for each other in a chain */
    int n_memories, n_operands;
    const int64_t *const *slots; /* slots[m][o]: tiles of operand o that memory m holds at once in this schedule */
    const int64_t *const *pool_slots; /* and of all operands that share its pool there, together        */
} tw_injection_summary;
typedef struct tw_injection_options {
    size_t size;
    bool plain; /* latency only: nothing is ever busy, executions follow each other at their own pace from 0 on, so
                   that transfers start before time 0. A dependency order, not a schedule               */
} tw_injection_options;
#define TW_INJECTION_OPTIONS_INIT TW_SIZED(tw_injection_options)
typedef tw_status (*tw_injection_fn)(void *user, const tw_injection_row *row);
/* Latest start of every transfer of inputs such that every execution starts as early as engines alone allow,
 * whatever the number of buffers. Async machines only. Rows come in program order; `fn` may be NULL. With as many
 * buffers as `pool_slots` says the executions start as told, unless two engines give buffers of one pool back (partial
 * sums that return, tiles in padding, units that take turns): a few more may be needed there. Keeps all instructions, at most 2^22: TW_INFEASIBLE
 * beyond that. The plain schedule has no slots. */
TW_API TW_NODISCARD tw_status tw_plan_injection(tw_context *ctx, const tw_plan *plan, int op,
                                                const tw_injection_options *options, tw_injection_fn fn, void *user,
                                                const tw_injection_summary **out);

/* ---- verification ---- */

/* An operator handed to a reference implementation: dense row-major tensors of doubles holding
 * integer values. Fills `out` and returns the name of what computed it ("OpenBLAS"), or NULL when it
 * has no answer for this operator. See docs/verify.md. */
typedef struct tw_reference_case tw_reference_case;
typedef const char *(*tw_reference_fn)(void *user, const tw_reference_case *c, double *out);

typedef struct tw_verdict {
    bool checked;  /* the checker accepted every row                                       */
    bool executed; /* the numeric run was made                                             */
    bool equal;    /* and agreed with the reference                                        */
    int64_t rows, instructions, elements;
    const char *reference;   /* who computed the reference                                           */
    const char *first_fault; /* NULL when none: "row 4: load into slot ..."                          */
    bool stopped;            /* time was up: what was not done by then is not said                   */
} tw_verdict;
typedef struct tw_verify_options {
    size_t size;
    tw_reference_fn reference; /* NULL: the library's own direct evaluation                          */
    void *user;
    uint64_t seed;            /* of the numbers that are put in                                     */
    int64_t max_macs;         /* larger operators are checked but not executed; 0: 2^31             */
    int64_t max_instructions; /* longer programs are neither checked nor executed; 0: 2^24  */
    void (*progress)(void *progress_user, int64_t done, int64_t total); /* instructions; NULL: nobody asks     */
    void *progress_user;
} tw_verify_options;
#define TW_VERIFY_OPTIONS_INIT TW_SIZED(tw_verify_options)
/* Judges operator `op` or, of a plan in groups, all of it, whatever `op` is. TW_WRONG when a fault was found; the verdict is written in that case too. */
TW_API TW_NODISCARD tw_status tw_plan_verify(tw_context *ctx, const tw_plan *plan, int op,
                                             const tw_verify_options *options, const tw_verdict **out);

/* ---- printing ---- */

typedef struct tw_print_options {
    size_t size;
    int columns;               /* of the terminal; 0: 80                                            */
    bool colour;               /* ANSI colours                                                      */
    bool ascii;                /* no box-drawing characters                                         */
    bool seconds;              /* text: tells how long the search took, on which no two runs agree  */
    bool cached;               /* text: says that the search was an earlier one, see tw_plan_restore */
    bool map;                  /* text: draws the placement's address maps                          */
    int n_remedies;            /* as tw_plan_remedies gave them                                     */
    const tw_remedy *remedy;   /* NULL: nobody asked                                                */
    int64_t first_row, n_rows; /* window of the tick table; n_rows 0: a screenful, -1: all          */
    bool brief;                /* text: what a person wants to know first, on one screen            */
    int n_hints;               /* brief text, and pages: as tw_plan_hints gave them                 */
    const tw_remedy *hint;
} tw_print_options;
#define TW_PRINT_OPTIONS_INIT TW_SIZED(tw_print_options)
/* `verdict` may be NULL, or hold one entry per operator. */
TW_API TW_NODISCARD tw_status tw_plan_print_text(tw_context *ctx, const tw_plan *plan,
                                                 const tw_verdict *const *verdict, const tw_print_options *options,
                                                 FILE *out);
TW_API TW_NODISCARD tw_status tw_plan_print_json(tw_context *ctx, const tw_plan *plan,
                                                 const tw_verdict *const *verdict, const tw_print_options *options,
                                                 FILE *out);
/* The same as one HTML file to look at, which asks for nothing from anywhere: docs/tour.md. Of the options only the
 * remedies count. Plans of more than two million instructions are drawn up to there. */
TW_API TW_NODISCARD tw_status tw_plan_print_html(tw_context *ctx, const tw_plan *plan,
                                                 const tw_verdict *const *verdict, const tw_print_options *options,
                                                 FILE *out);
/* Async machines. One line per command: JSON lines or CSV; `engine` NULL: all of them. */
typedef enum tw_format { TW_FORMAT_TEXT, TW_FORMAT_CSV, TW_FORMAT_JSON, TW_FORMAT_JSONL } tw_format;
TW_API TW_NODISCARD tw_status tw_plan_print_events(tw_context *ctx, const tw_plan *plan, tw_format format,
                                                   const char *engine, FILE *out);
/* The engines over time; [from, to) are cycles of operator `op`, to 0: its end. */
TW_API TW_NODISCARD tw_status tw_plan_print_gantt(tw_context *ctx, const tw_plan *plan, int op, int64_t from,
                                                  int64_t to, const tw_print_options *options, FILE *out);
TW_API TW_NODISCARD tw_status tw_plan_print_injection(tw_context *ctx, const tw_plan *plan, tw_format format,
                                                      const tw_injection_options *injection,
                                                      const tw_print_options *options, FILE *out);
/* Traffic of every link as formulas in the extents and tile sizes of the loops: M, TM, .. */
TW_API TW_NODISCARD tw_status tw_plan_print_symbolic(tw_context *ctx, const tw_plan *plan,
                                                     const tw_print_options *options, FILE *out);
/* Engines, flows and counters over time for a trace viewer, docs/trace.md: packets that ui.perfetto.dev opens, or the
 * JSON of Chrome's about:tracing; as they are, or as gzip, which both viewers open too. */
typedef enum tw_trace_format { TW_TRACE_PERFETTO, TW_TRACE_CHROME } tw_trace_format;
TW_API TW_NODISCARD tw_status tw_plan_print_trace(tw_context *ctx, const tw_plan *plan, tw_trace_format format,
                                                  bool gzip, FILE *out);
/* Pictures for print, docs/plots.md. */
typedef enum tw_plot_kind {
    TW_PLOT_GANTT,    /* the engines over time                                                              */
    TW_PLOT_BUFFERS,  /* what lies at which address of each memory over time                                */
    TW_PLOT_ROOFLINE, /* points per cycle over points per unit moved, for each level                        */
    TW_PLOT_TRAFFIC,  /* what crosses each link: what must, and what crosses again                          */
    TW_PLOT_PARETO,   /* the front in its first two objectives; of plans that were searched for one         */
    TW_PLOT_LOSSES,   /* where the time goes, from the peak of the compute engine to the plan's cycles      */
    TW_N_PLOTS
} tw_plot_kind;
typedef enum tw_image { TW_IMAGE_PNG, TW_IMAGE_SVG, TW_IMAGE_PDF } tw_image;
typedef struct
    tw_plot_options { /* all zero, or NULL: the engines over time, as PNG                                 */
    size_t size;
    tw_plot_kind kind;
    tw_image image;
    double width_mm;  /* 40 to 500; 0: 85, a column of a paper. A PNG has 640 pixels for 85 mm              */
    const char *op;   /* name of an operator, NULL: all of them                                             */
    int64_t from, to; /* GANTT, BUFFERS: cycles of the plan, or of the operator named; to 0: the end        */
    double dpi;       /* PNG: dots per inch, 36 to 1200; 0: 191, which makes the 640 pixels                 */
} tw_plot_options;
#define TW_PLOT_OPTIONS_INIT TW_SIZED(tw_plot_options)
/* `out` takes binary data. TW_ERR_INPUT, with a message, where there is nothing to draw. Memory does not grow with the
 * number of instructions. */
TW_API TW_NODISCARD tw_status tw_plan_plot(tw_context *ctx, const tw_plan *plan, const tw_plot_options *options,
                                           FILE *out);
/* The plan's mapping as a mapping file that reproduces the plan. */
TW_API TW_NODISCARD tw_status tw_plan_print_mapping(tw_context *ctx, const tw_plan *plan, FILE *out);
/* One stage of the walk as stable text: "model", "machine", "mapping", "layout", "program", "timeline". */
TW_API TW_NODISCARD tw_status tw_plan_dump(tw_context *ctx, const tw_plan *plan, const char *stage, FILE *out);
/* The verdict on the plan, one entry per operator, as stable text: what was checked and executed, and the first fault. `verdict` may be
 * NULL: nobody asked. */
TW_API TW_NODISCARD tw_status tw_plan_dump_verdict(tw_context *ctx, const tw_plan *plan,
                                                   const tw_verdict *const *verdict, FILE *out);

/* ---- placement: where things lie, and why they do not fit; docs/whynot.md ---- */

/* A *group* is an operator and the fused ones behind it: they share one address space per memory. */
typedef struct tw_block_use { /* a piece of memory that is given out as one                              */
    const char *name;         /* "w[1]"                                                                  */
    const char *op, *operand; /* whose it is                                                             */
    const char *last_op;      /* that touches it: it is kept until this operator is over                 */
    int slot;                 /* -1: all slots of its pool                                               */
    int64_t size, offset;
    int64_t lower, upper;  /* live in commands [lower, upper) of the group; lockstep: in rows         */
    int64_t reads, writes; /* commands that do; 0 both: nothing ever lies there                       */
    bool dead;             /* nothing reads it                                                        */
    bool at_peak;          /* one of those that make up `live`                                        */
} tw_block_use;
typedef struct tw_placement_use {  /* of one memory in one group                                             */
    const char *memory, *policy;   /* "slots", "bump", "lifetime"                                            */
    int first_op, n_ops;           /* the group                                                              */
    int64_t capacity, align;       /* capacity INT64_MAX: unlimited                                          */
    int64_t height;                /* end of the last block where the policy puts it                           */
    int64_t slots, bump, lifetime; /* heights that the policies give these blocks                             */
    int64_t least;                 /* proven: no placement is lower                                          */
    bool proven;                   /* `lifetime` is as low                                                   */
    int64_t live;                  /* most units that must be there at once: blocks that something touches,    */
    const char *live_op;           /* while this operator runs                                               */
    int64_t n_commands;
    bool coarse; /* too many commands to look at: lifetimes are those of operators         */
    int n_blocks;
    const tw_block_use *block; /* in the order of the program                                            */
} tw_placement_use;
/* Of the memories of a plan that have a policy other than `slots` or serve a group of several operators. */
TW_API int tw_plan_n_placements(const tw_plan *plan);
TW_API const tw_placement_use *tw_plan_placement(const tw_plan *plan, int i);
/* The blocks of each as a picture: addresses upwards, commands to the right. */
TW_API TW_NODISCARD tw_status tw_plan_print_map(tw_context *ctx, const tw_plan *plan,
                                                const tw_print_options *options, FILE *out);

/* What an allocator could do about a memory that is too small. */
typedef enum tw_excuse {
    TW_EXCUSE_NONE,    /* nothing: what must be there at once is larger than the memory                    */
    TW_EXCUSE_REUSE,   /* let blocks that are not needed at the same time share addresses                    */
    TW_EXCUSE_PACKING, /* put the same blocks elsewhere: all of them have room side by side                  */
    TW_EXCUSE_UNUSED,  /* leave out what nothing ever lies in                                              */
    TW_EXCUSE_ALIGNED, /* nothing: what must be there at once fits but for alignment and gaps              */
    TW_EXCUSE_UNKNOWN, /* the exact packing was not found                                                  */
    TW_N_EXCUSES
} tw_excuse;
TW_API const char *
tw_excuse_word(tw_excuse excuse); /* "none", "reuse", "packing", "unused", "aligned", "unknown" */
typedef struct tw_shortage {
    const tw_placement_use *use;
    int64_t over; /* units by which its height exceeds the memory */
    tw_excuse excuse;
} tw_shortage;

typedef enum tw_edit_kind {
    TW_EDIT_TILE,      /* the size of a tile along one loop                                                  */
    TW_EDIT_BUFFERS,   /* how many buffers there are                                                         */
    TW_EDIT_ORDER,     /* of the loops                                                                       */
    TW_EDIT_KEEP,      /* how long tiles are kept                                                            */
    TW_EDIT_PLACEMENT, /* the machine's policy                                                               */
    TW_EDIT_SEVERAL,
    TW_EDIT_UNROLL, /* which loops lie over the dimensions of an array                                       */
    TW_N_EDITS
} tw_edit_kind;
TW_API const char *
tw_edit_word(tw_edit_kind kind); /* "tile", "buffers", "order", "keep", "placement", "several", "unroll" */
typedef struct tw_edit { /* a changed mapping, or the same on a machine with another policy                  */
    tw_edit_kind kind;
    const char *what, *from, *to; /* "n", "240", "120"; SEVERAL: "n 120, k 40", NULL, NULL                   */
    double distance;              /* 1 for everything that is changed, and 1 for each time it is halved     */
    bool fits;
    const char *memory;        /* that misses most; when it fits, of those that were too small the fullest    */
    int64_t height, capacity;  /* of that memory                                                              */
    int64_t cycles;            /* of the group; 0: does not fit, or would take too long to simulate           */
    const tw_mapping *mapping; /* complete. Other groups that do not fit have the nearest that does          */
    const char *policy;        /* PLACEMENT: of `memory` */
} tw_edit;
typedef struct tw_group_why { /* a group that does not fit                                                   */
    int first_op, n_ops;
    int n_memories, n_edits, n_nearest;
    const tw_shortage *memory; /* that are too small                                                         */
    const tw_edit *edit;       /* single changes: those that fit first, the fastest first of all             */
    const tw_edit *nearest;    /* that fit: three by distance, then each that is faster than all nearer ones */
    int64_t n_tried;           /* mappings that were looked at                                               */
    bool stopped;              /* time was up before all were                                                */
} tw_group_why;
typedef struct tw_why_not {
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    int n_groups; /* 0: no memory is too small                                                              */
    const tw_group_why *group;
} tw_why_not;
/* Why the mapping does not fit. TW_INFEASIBLE or TW_ERR_INPUT, with messages, when it would not work in memories of any
 * size either. */
TW_API TW_NODISCARD tw_status tw_plan_why_not(tw_context *ctx, const tw_model *model, const tw_machine *machine,
                                              const tw_mapping *mapping, const tw_why_not **out);
TW_API TW_NODISCARD tw_status tw_why_not_print_text(tw_context *ctx, const tw_why_not *why,
                                                    const tw_print_options *options, FILE *out);
TW_API TW_NODISCARD tw_status tw_why_not_print_json(tw_context *ctx, const tw_why_not *why, FILE *out);

/* ---- other compilers: Quidditch's lowering configs, docs/emit.md ---- */

/* The mapping that Quidditch's attribute stands for, `#quidditch_snitch.lowering_config<..>` or its fields alone; one for
 * each dispatch of the model, which must be a contraction and what is fused with it. Messages point into the text, whose
 * name is "<lowering-config>". */
TW_API TW_NODISCARD tw_status tw_mapping_of_lowering(tw_context *ctx, const tw_model *model,
                                                     const tw_machine *machine, const char *text,
                                                     const tw_mapping **out);
/* The same, out of a file. */
TW_API TW_NODISCARD tw_status tw_mapping_open_lowering(tw_context *ctx, const tw_model *model,
                                                       const tw_machine *machine, const char *path,
                                                       const tw_mapping **out);
/* The fastest plan whose attributes can be printed. Of the options those count that say how it is searched. The plan is
 * an evaluated one: it has no search result. */
TW_API TW_NODISCARD tw_status tw_plan_search_lowering(tw_context *ctx, const tw_model *model,
                                                      const tw_machine *machine, const tw_search_options *options,
                                                      const tw_plan **out);
/* The attributes of a plan, a comment and an attribute for each dispatch; tw_mapping_of_lowering reads them back.
 * TW_INFEASIBLE, and nothing is printed, when an attribute cannot say what the plan does: the messages give the reason. */
TW_API TW_NODISCARD tw_status tw_plan_print_lowering(tw_context *ctx, const tw_plan *plan, FILE *out);
/* Whether they can be printed, and the machine fills its memory as Quidditch does (`placement: bump`). */
TW_API bool tw_plan_has_lowering(const tw_plan *plan);

/* ---- calibration: a machine's parameters from measured cycles ---- */

/* A number in a machine's costs that measurements may settle, and its range; in thousandths. */
typedef struct tw_parameter_info {
    const char *name;
    int64_t value, least, most;
} tw_parameter_info;
TW_API int tw_machine_n_parameters(const tw_machine *machine);
TW_API tw_parameter_info tw_machine_parameter(const tw_machine *machine, int i);
/* The same machine with other values, one per parameter, each brought into its range. */
TW_API TW_NODISCARD tw_status tw_machine_with_values(tw_context *ctx, const tw_machine *machine,
                                                     const int64_t *value, const tw_machine **out);
/* The file that the machine was read from, with its values of the parameters in their places and every other byte,
 * comments too, as it was. The machine is one of this context. */
TW_API TW_NODISCARD tw_status tw_machine_print_source(tw_context *ctx, const tw_machine *machine, FILE *out);

typedef struct tw_data tw_data;  /* a file of measurements: workloads, mappings, cycles; docs/calibrate.md */
typedef struct tw_data_options { /* all zero: as the file's columns tell                                       */
    size_t size;
    const char *workload; /* template over the columns: "matmul:{M}x{N}x{K}"                            */
    const char *lowering; /* template of a lowering configuration,                                      */
    const char *mapping;  /* or of the name of a mapping file                                           */
    const char *cycles;   /* column, or "COLUMN - NUMBER"                                               */
    const char *name;     /* column with the names of the rows, NULL: the first                         */
    int n_where, n_drop;
    const char *const *where; /* "COLUMN=VALUE" or "COLUMN!=VALUE": only rows for which all hold               */
    const char *const *drop;  /* files that list names of rows to leave out                                    */
} tw_data_options;
#define TW_DATA_OPTIONS_INIT TW_SIZED(tw_data_options)
TW_API TW_NODISCARD tw_status tw_data_open(tw_context *ctx, const tw_machine *machine, const char *path,
                                           const tw_data_options *options, const tw_data **out);
TW_API TW_NODISCARD tw_status tw_data_parse(tw_context *ctx, const tw_machine *machine, const char *name,
                                            const char *text, const tw_data_options *options, const tw_data **out);
TW_API int tw_data_n_rows(const tw_data *data);

typedef struct tw_fit_progress {
    const char *stage; /* "start", "huber", "tukey", "polish"                  */
    int n_runs;        /* of all samples through the simulator, or of a part   */
    double error;      /* mean of |ln(predicted / measured)|, each up to 0.3   */
    double seconds;
} tw_fit_progress;
typedef struct tw_calibrate_options {
    size_t size;
    double train;     /* share of the rows that the parameters are fitted to, 0: none, 1: all                  */
    uint64_t seed;    /* of the split; a row's name decides with it on which side the row is                   */
    bool drop_copies; /* leave out rows that repeat another row's `Kernel Time` and `Total Time`               */
    bool balance;     /* each file weighs the same, however many rows it has                                   */
    int n_threads;    /* 0: one per core. The result does not depend on it                                     */
    /* Called some times a second from the thread that called; false ends the fit with the best so far. */
    bool (*progress)(void *user, const tw_fit_progress *progress);
    void *user;
} tw_calibrate_options;
#define TW_CALIBRATE_OPTIONS_INIT TW_SIZED(tw_calibrate_options)
typedef struct tw_data_use {
    const tw_data *data;
    bool test; /* none of its rows is fitted to */
} tw_data_use;

typedef struct tw_parameter_fit {
    const char *name;
    int64_t before, after, least, most; /* thousandths                                                         */
    bool at_bound;
    int tried; /* percent by which the value was changed for `growth`: 10, -10 where the range ends, 0: neither */
    double growth; /* of the mean error, 0.01 being one percent                                                */
} tw_parameter_fit;
/* Errors are of predicted / measured - 1, without sign; shares, not percents. */
typedef struct tw_error_summary { /* of rows that were measured and that fit the machine                       */
    const char *file;             /* NULL: all files                                                           */
    bool test;
    int rows, outliers;
    double mean, kept; /* of all rows, and of those that are no outliers                                       */
    double median, p90, worst, bias; /* bias: median of the error with its sign                                */
    double tau;                      /* Kendall's rank correlation (b) of measured and predicted               */
    int pairs,
        right; /* pairs of rows of one workload that differ by more than 1 %, and those ordered as measured */
} tw_error_summary;
typedef struct tw_sweep_summary { /* of a workload that a file measured with four tiles or more; no outliers    */
    const char *file, *workload;
    int tiles;
    const char *best, *pick;          /* measured best, predicted best                                       */
    int64_t best_cycles, pick_cycles; /* as measured                                                         */
    int64_t best_predicted, pick_predicted;
} tw_sweep_summary;
typedef struct tw_row_fit {
    const char *file, *name, *workload, *tile;
    int line;
    int64_t measured, before, predicted; /* cycles; 0: does not fit                                            */
    bool test, outlier;
} tw_row_fit;
typedef struct tw_calibration {
    const tw_machine *machine; /* with the values that were found                                              */
    int n_parameters, n_errors, n_sweeps, n_rows;
    const tw_parameter_fit *parameter;
    const tw_error_summary *error; /* per file and side of the split; then all files, where there are several  */
    const tw_sweep_summary *sweep;
    const tw_row_fit *row;
    int n_fit, n_misfit;                 /* rows that fit, and that do not fit, as measured and as predicted      */
    int n_fit_measured, n_fit_predicted; /* rows that fit as measured only; as predicted only                 */
    int n_listed, n_copies, n_elsewhere; /* rows that were left out                                            */
    double scale, far; /* robust deviation of ln(predicted / measured), and from where on a row is an outlier */
    double train;
    uint64_t seed;
    int n_runs;
    bool stopped;
} tw_calibration;
TW_API TW_NODISCARD tw_status tw_calibrate(tw_context *ctx, const tw_machine *machine, const tw_data_use *data,
                                           int n_data, const tw_calibrate_options *options,
                                           const tw_calibration **out);
TW_API TW_NODISCARD tw_status tw_calibration_print_text(tw_context *ctx, const tw_calibration *calibration,
                                                        const tw_print_options *options, FILE *out);
TW_API TW_NODISCARD tw_status tw_calibration_print_json(tw_context *ctx, const tw_calibration *calibration,
                                                        FILE *out);

/* ---- packing: buffers with lifetimes, from a file, to addresses; docs/place.md ---- */

typedef enum tw_pack_verdict {
    TW_PACK_FITS,         /* offsets are there                                                      */
    TW_PACK_DOES_NOT_FIT, /* proven                                                                 */
    TW_PACK_UNDECIDED,    /* a limit came first                                                     */
} tw_pack_verdict;
typedef struct tw_pack_options {
    size_t size;
    int64_t capacity;  /* bytes; INT64_MAX: no limit, which asks for minimize                       */
    bool minimize;     /* the least height, at most capacity                                        */
    int64_t max_nodes; /* of the search; 0: enough for most                                         */
    double seconds;    /* of wall clock, on which no two runs agree; 0: no limit                    */
} tw_pack_options;
#define TW_PACK_OPTIONS_INIT TW_SIZED(tw_pack_options)
typedef struct tw_pack_counts { /* how the answer was found                                         */
    int64_t nodes, runs;        /* of the search; 0: bounds and first fit were enough               */
    int64_t over_load;          /* cases closed: a section's load is too high                       */
    int64_t over_idle;          /* .. with holes that nothing can fill                              */
    int64_t dominated;          /* .. a lower placement exists elsewhere                            */
    int64_t repeats, jumps;     /* .. refuted before; refuted together with another                 */
    bool limited;               /* too many buffers for the search: first fit only                  */
} tw_pack_counts;

typedef struct tw_packing tw_packing; /* buffers as a CSV file lists them */
typedef struct tw_packing_buffer {
    const char *id;
    int64_t lower, upper, size; /* live in [lower, upper)                                           */
} tw_packing_buffer;
typedef struct tw_packed {
    tw_pack_verdict verdict;
    int64_t height;                 /* end of the highest buffer; -1: no offsets                    */
    int64_t bound;                  /* proven: nothing lower is possible; INT64_MAX: nothing at all */
    int64_t load;                   /* largest sum of sizes that are live together                  */
    int64_t peak_lower, peak_upper; /* when that is                                                 */
    const int *clique;              /* those buffers                                                */
    int n_clique;
    const int64_t *offset; /* per buffer; NULL unless it fits                                       */
    int64_t capacity;      /* as asked                                                              */
    bool minimized;
    double seconds; /* of wall clock                                                         */
    tw_pack_counts counts;
} tw_packed;

TW_API TW_NODISCARD tw_status tw_packing_open(tw_context *ctx, const char *path, const tw_packing **out);
/* `name` stands for the file in messages. */
TW_API TW_NODISCARD tw_status tw_packing_parse(tw_context *ctx, const char *name, const char *text,
                                               const tw_packing **out);
TW_API int tw_packing_n_buffers(const tw_packing *packing);
TW_API tw_packing_buffer tw_packing_get(const tw_packing *packing, int i);
/* TW_INFEASIBLE when it is proven not to fit; `out` is written then too. */
TW_API TW_NODISCARD tw_status tw_packing_solve(tw_context *ctx, const tw_packing *packing,
                                               const tw_pack_options *options, const tw_packed **out);
/* The file's columns, and `offset`. Only when it fits. */
TW_API TW_NODISCARD tw_status tw_packed_print_csv(tw_context *ctx, const tw_packing *packing,
                                                  const tw_packed *packed, FILE *out);
/* The verdict, with the buffers that are too many; options->seconds also tells how long it took. */
TW_API TW_NODISCARD tw_status tw_packed_print_text(tw_context *ctx, const tw_packing *packing,
                                                   const tw_packed *packed, const tw_print_options *options,
                                                   FILE *out);
TW_API TW_NODISCARD tw_status tw_packed_print_json(tw_context *ctx, const tw_packing *packing,
                                                   const tw_packed *packed, FILE *out);
/* Addresses upwards, time to the right. Without offsets: the buffers of the clique, one on the other. */
TW_API TW_NODISCARD tw_status tw_packed_print_map(tw_context *ctx, const tw_packing *packing,
                                                  const tw_packed *packed, const tw_print_options *options,
                                                  FILE *out);

/* ---- comparing: two documents of plans or networks, as tw_plan_print_json or tw_network_print_json wrote them ---- */

typedef struct tw_comparison tw_comparison;
/* `a` and `b` are files, or folders with a plan.json in them. */
TW_API TW_NODISCARD tw_status tw_comparison_open(tw_context *ctx, const char *a, const char *b,
                                                 const tw_comparison **out);
/* What matters most. */
TW_API TW_NODISCARD tw_status tw_comparison_print_text(tw_context *ctx, const tw_comparison *comparison,
                                                       const tw_print_options *options, FILE *out);
/* Every value: docs/json.md, "Comparisons". */
TW_API TW_NODISCARD tw_status tw_comparison_print_json(tw_context *ctx, const tw_comparison *comparison, FILE *out);
/* A page that needs nothing else. */
TW_API TW_NODISCARD tw_status tw_comparison_print_html(tw_context *ctx, const tw_comparison *comparison, FILE *out);

/* ---- geometry, for callers that only need the numbers ---- */

/* Whether `extent` may be cut into `count` tiles: 1 <= count <= extent, and for greedy
 * ceil(extent / ceil(extent / count)) == count. */
TW_API bool tw_split_is_legal(int64_t extent, int64_t count, tw_cut cut);
/* Tile i of a legal cut is [*lo, *hi). */
TW_API void tw_split_tile(int64_t extent, int64_t count, tw_cut cut, int64_t i, int64_t *lo, int64_t *hi);
/* The largest x >= 0 with quad*x^2 + lin*x + constant <= capacity, all non-negative and not both of
 * quad and lin zero; -1 when not even x = 0 fits. */
TW_API int64_t tw_fit_largest(int64_t quad, int64_t lin, int64_t constant, int64_t capacity);

/* How much of an operand crosses a link when tiles of given sizes are visited in a given order, and the memory
 * behind the link keeps what the loops inside depth h touch: 0 everything, 1 while the outermost loop stays, ..,
 * n_loops one tile. For the output these are visits: written on every one, read back on all but each tile's first. A
 * serpentine nest is walked, in time linear in its tiles; any other takes a formula. */
typedef struct tw_traffic_nest {
    const int64_t *tile; /* size per loop, in the operator's order                                    */
    const char *order;   /* loop names, outermost first, separated by spaces: "m n k"                 */
    bool serpentine;     /* every second sweep runs backwards                                         */
} tw_traffic_nest;
typedef struct tw_traffic {
    int64_t tiles;  /* different tiles of the operand                                                 */
    int64_t sweep;  /* elements of all of them, each once; more than the tensor where windows overlap */
    int64_t loads;  /* tile transfers                                                                 */
    int64_t elems;  /* elements transferred                                                           */
    int64_t held;   /* most elements that stay resident at once                                       */
    int64_t n_held; /* tiles that these are                                                           */
} tw_traffic;
TW_API TW_NODISCARD tw_status tw_traffic_count(tw_context *ctx, const tw_model *model, int op,
                                               const tw_traffic_nest *nest, const char *operand, int depth,
                                               tw_traffic *out);

/* The tiles with the least traffic into a memory of `capacity` elements that holds one tile of each operand: all
 * combinations of multiples of `granule`, the last of each loop covering it whole. Among equals the one that holds
 * fewest elements, then the first in lexicographic order. The output counts as often as it is written or read back. */
typedef struct tw_tile_choice {
    int n_loops;
    const int64_t *tile; /* size per loop                                                             */
    int64_t elems;       /* traffic of all operands                                                   */
    int64_t held;        /* elements of one tile of each                                              */
    int64_t n_tried;
} tw_tile_choice;
TW_API TW_NODISCARD tw_status tw_traffic_best(tw_context *ctx, const tw_model *model, int op, const char *order,
                                              int64_t granule, int64_t capacity, const tw_tile_choice **out);

typedef struct tw_window_axis { /* one axis of a sliding-window operator                             */
    int64_t in_extent;          /* elements of the whole input                                       */
    int64_t kernel;             /* taps                                                              */
    int64_t stride, dilation;   /* input step from output to output, and from tap to tap             */
    int64_t pad_lo, pad_hi;     /* virtual elements before and after the input                       */
    bool ceil_mode;             /* round the number of outputs up                                    */
    bool transposed;            /* outputs are spread by `stride`; pads crop the output              */
    int64_t out_pad;            /* transposed: extra outputs at the end                              */
} tw_window_axis;
typedef struct tw_window {    /* what one tile of outputs needs                                         */
    int64_t in_lo, in_hi;     /* input elements [in_lo, in_hi); empty: the tile lies in the padding     */
    int64_t pad_lo, pad_hi;   /* virtual elements before and after them                              */
    int64_t crop_lo, crop_hi; /* transposed: outputs of [in_lo, in_hi) outside the tile; negative:
                                 outputs of the tile that no input reaches; all_pad: as if the inputs
                                 that end where they begin, at in_lo, reached it                     */
    bool all_pad;             /* nothing to read                                                     */
    bool pad_within_half;     /* not all_pad, and both pads <= kernel / 2                            */
} tw_window;
/* TW_ERR_INPUT with a message when the axis is out of range or has no output. */
TW_API TW_NODISCARD tw_status tw_window_check(tw_context *ctx, const tw_window_axis *axis);
/* Number of outputs of an axis that passed tw_window_check. */
TW_API int64_t tw_window_n_outputs(const tw_window_axis *axis);
/* Window of the outputs [out_lo, out_hi), a non-empty part of [0, tw_window_n_outputs). */
TW_API tw_window tw_window_of(const tw_window_axis *axis, int64_t out_lo, int64_t out_hi);

#ifdef __cplusplus
}
#endif
#endif
