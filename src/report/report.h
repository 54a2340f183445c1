/* src/report/report.h - what can be printed of a plan and of a planned network, one function per document. */
#ifndef TW_REPORT_REPORT_H
#define TW_REPORT_REPORT_H
#include "plan/network.h"
#include "plan/plan.h"
#include "tilewright/paint.h"
#include "tilewright/rivals.h"

/* ---- plans ---- */

/* `verdict` is NULL or holds one entry (possibly NULL) per operator; `options` are not NULL. */
tw_status tw_report_text(const tw_plan *plan, const tw_verdict *const *verdict, const tw_print_options *options,
                         tw_arena *scratch, tw_diag *diag, FILE *out);
tw_status tw_report_json(const tw_plan *plan, const tw_verdict *const *verdict, const tw_print_options *options,
                         tw_arena *scratch, tw_diag *diag, FILE *out);
/* Where the events of a plan begin on the timeline of a network. */
typedef struct tw_event_origin {
    int64_t cycle, number; /* of the first one                                                        */
    bool follows;          /* it is there: operators follow each other, each does not begin at cycle 0 */
} tw_event_origin;
/* Async machines: one line per command; `engine` NULL: of all; `origin` NULL: the plan is all there is. */
tw_status tw_report_events(const tw_plan *plan, const tw_event_origin *origin, tw_format format, const char *engine,
                           tw_arena *scratch, tw_diag *diag, FILE *out);
/* Async machines: the operator in these cycles; their end 0: its own. */
tw_status tw_report_gantt(const tw_op_plan *plan, tw_span cycles, const tw_print_options *options,
                          tw_arena *scratch, tw_diag *diag, FILE *out);
/* The engines of a plan of groups in these cycles of the plan. */
tw_status tw_report_joint_gantt(const tw_plan *plan, tw_span cycles, const tw_print_options *options,
                                tw_arena *scratch, tw_diag *diag, FILE *out);
/* Async machines: the traffic as formulas. */
tw_status tw_report_symbolic(const tw_plan *plan, const tw_print_options *options, tw_arena *scratch, tw_diag *diag,
                             FILE *out);
/* TW_ERR_INPUT for a lockstep machine, which has no `what`. */
tw_status tw_report_needs_async(const tw_machine *machine, const char *what, tw_diag *diag);
/* One stage as stable text; TW_ERR_INPUT for an unknown name. */
tw_status tw_report_dump(const tw_plan *plan, const char *stage, tw_arena *scratch, tw_diag *diag, FILE *out);
/* The verdict on each operator or, of groups, on the plan; `verdict` may be NULL. */
tw_status tw_report_verdict(const tw_plan *plan, const tw_verdict *const *verdict, tw_diag *diag, FILE *out);
/* What an action of a row points to, beside the row itself. */
typedef struct tw_action_tables {
    int source[TW_MAX_OPERANDS];
    int64_t tile[TW_MAX_LOOPS];
} tw_action_tables;
/* A row as the public interface shows it, which lives as long as `row`. `action` and `tables` have room for row->n_events. */
void tw_report_row(const tw_program *program, const tw_rowset *row, tw_action *action, tw_action_tables *tables,
                   tw_row *out);
/* Whether rows of the next level are nested in this one: they do its EXEC. */
bool tw_row_contains_rows(const tw_rowset *row);

/* What the rules of other tools say of layers, on one screen. */
tw_status tw_report_accounts(const tw_account *const *account, int n, const tw_print_options *options,
                             tw_arena *scratch, FILE *out);

/* ---- networks ---- */

tw_status tw_report_network_text(const tw_network_plan *plan, const tw_network_verdict *verdict,
                                 const tw_print_options *options, tw_arena *scratch, tw_diag *diag, FILE *out);
tw_status tw_report_network_json(const tw_network_plan *plan, const tw_network_document *document, tw_diag *diag,
                                 FILE *out);
tw_status tw_report_costs(const tw_network_plan *const *plan, int n_plans, tw_format format, tw_diag *diag,
                          FILE *out);
/* The cost table as a picture: for a screen, or for print with a width as in tw_plot_options. */
typedef struct tw_costs_picture {
    tw_image image;
    bool print;
    double width_mm, dpi;      /* print */
    const tw_painter *painter; /* NULL: SVG only */
    FILE *out;
} tw_costs_picture;
tw_status tw_report_costs_picture(const tw_network_plan *const *plan, int n_plans, const tw_costs_picture *picture,
                                  tw_arena *scratch, tw_diag *diag);
#endif
