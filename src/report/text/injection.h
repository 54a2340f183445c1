/* src/report/text/injection.h - prints injection schedules: text for people, CSV or one JSON document for programs.
 *
 * The rows come from outside, one operator after the other, and are written as they come:
 *
 *     open; per operator: begin, put for every row, end; close                                                 */
#ifndef TW_REPORT_TEXT_INJECTION_H
#define TW_REPORT_TEXT_INJECTION_H
#include "plan/plan.h"
#include "report/data/csv.h"
#include "report/facts/shown.h"
#include "write/json.h"
#include "write/line.h"

typedef struct tw_injection_printer {
    /* what is printed, and where: set before tw_injection_open */
    const tw_plan *plan;
    tw_format format;
    bool plain;
    const tw_print_options *options;
    FILE *out;
    /* at hand */
    const tw_op_plan *op;
    const tw_injection_summary *sum;
    tw_csv_loops loops;
    tw_line line;
    tw_json json;
    int n_done; /* operators                                              */
    /* text */
    tw_shown shown;
    bool tall;       /* a line per link, where the links do not fit side by side */
    int64_t skipped; /* steps since the last one shown                      */
    int number, step_width, operand_width;
    int loop_width[TW_MAX_LOOPS];
} tw_injection_printer;

/* The arena outlives the printer. TW_ERR_INPUT for a lockstep machine or a format that there is not. */
TW_NODISCARD tw_status tw_injection_open(tw_injection_printer *printer, tw_arena *arena, tw_diag *diag);
/* `sum` is that of the operator's whole run and outlives it. */
void tw_injection_begin(tw_injection_printer *printer, int op, const tw_injection_summary *sum);
/* A tw_injection_fn. */
tw_status tw_injection_put(void *printer, const tw_injection_row *row);
TW_NODISCARD tw_status tw_injection_end(tw_injection_printer *printer, tw_arena *scratch);
TW_NODISCARD tw_status tw_injection_close(tw_injection_printer *printer, tw_diag *diag);
#endif
