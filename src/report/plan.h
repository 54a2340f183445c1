/* src/report/plan.h - a finished plan, as the printers see it. pipeline.c makes it. */
#ifndef TW_REPORT_PLAN_H
#define TW_REPORT_PLAN_H
#include "program/program.h"
#include "search/mapping.h"
#include "sim/timeline.h"

typedef struct tw_op_plan {
    tw_program program;
    tw_timeline timeline;
    bool searched;
    tw_search_result search;
    tw_memory_use memory[TW_MAX_MEMORIES];
    tw_link_use link[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* into memory m, from 1 on */
} tw_op_plan;

/* A piece of memory that is given out as one, see placing.h. */
typedef struct tw_lot {
    int op, operand;
    int last_op;      /* that touches it: it is kept until that one is over                           */
    int slot;         /* -1: all slots of the pool                                                    */
    int first, n;     /* buffers of the operator's layout; n 0: nothing ever lies there               */
    int64_t size;     /* units                                                                        */
    int64_t lower, upper; /* live in commands [lower, upper) of the group                             */
    int64_t reads, writes; /* commands that do                                                        */
    int64_t offset;
} tw_lot;

typedef struct tw_placing { /* of one memory in one group of operators */
    int memory, first_op, n_ops;
    tw_placement policy;
    int64_t capacity, align;
    int n_lots;
    tw_lot *lot;               /* in the order in which `bump` gives them out                         */
    int64_t n_commands;
    bool coarse;               /* too many commands to look at: lifetimes are whole operators         */
    int64_t height[TW_N_PLACEMENTS]; /* that each policy takes                                        */
    bool proven;               /* the last one is the least                                           */
    int64_t least;             /* no placement is lower than this                                     */
    int64_t live;              /* most units that must be there at once,                              */
    int live_op;               /* in this operator                                                    */
} tw_placing;

typedef struct tw_front_list { /* Pareto front of one operator */
    int n;
    const tw_front_point *point;
} tw_front_list;

struct tw_plan {
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_op_plan *op; /* one per operator of the model, run one after the other */
    const tw_front_list *front; /* one per operator, NULL: not searched */
    int n_placings;             /* per group and memory                 */
    const tw_placing *placing;
    const tw_placement_use *placement; /* the same for the public interface */
    tw_summary sum;
};

/* `verdict` is NULL or holds one entry (possibly NULL) per operator; `options` are not NULL. */
tw_status tw_report_text(const tw_plan *plan, const tw_verdict *const *verdict, const tw_print_options *options,
                         tw_arena *scratch, tw_diag *diag, FILE *out);
tw_status tw_report_json(const tw_plan *plan, const tw_verdict *const *verdict, const tw_print_options *options,
                         tw_arena *scratch, tw_diag *diag, FILE *out);
/* Async machines: one line per command; `engine` NULL: of all. */
tw_status tw_report_events(const tw_plan *plan, tw_format format, const char *engine, tw_arena *scratch,
                           tw_diag *diag, FILE *out);
/* Async machines: operator `op` in the cycles [from, to); to 0: to its end. */
tw_status tw_report_gantt(const tw_plan *plan, int op, int64_t from, int64_t to, const tw_print_options *options,
                          tw_arena *scratch, tw_diag *diag, FILE *out);
/* Async machines: the traffic as formulas. */
tw_status tw_report_symbolic(const tw_plan *plan, const tw_print_options *options, tw_arena *scratch, tw_diag *diag,
                             FILE *out);
/* TW_ERR_INPUT for a lockstep machine, which has no `what`. */
tw_status tw_report_needs_async(const tw_plan *plan, const char *what, tw_diag *diag);
/* One stage as stable text; TW_ERR_INPUT for an unknown name. */
tw_status tw_report_dump(const tw_plan *plan, const char *stage, tw_arena *scratch, tw_diag *diag, FILE *out);
/* A row as the public interface shows it. `action` has room for row->n_events. */
void tw_report_row(const tw_program *program, const tw_rowset *row, tw_action *action, tw_row *out);
/* Whether rows of the next level are nested in this one: they do its EXEC. */
bool tw_row_contains_rows(const tw_rowset *row);
#endif
