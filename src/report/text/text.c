/* src/report/text/text.c - the plan for people: per operator the summary, the mapping, the ticks; then the total. On one screen: the total,
 * and a row per operator. */
#include "report/report.h"
#include "report/text/async.h"
#include "report/text/joint.h"
#include "report/text/losses_text.h"
#include "report/text/ops_table.h"
#include "report/text/placement.h"
#include "report/text/proof.h"
#include "report/text/remedy.h"
#include "report/text/summary.h"
#include "report/text/ticktable.h"
#include "report/text/traffic.h"
#include "sim/fanout.h"
#include "write/number.h"

#include <stdio.h>
#include <string.h>

#define MORE "the tables and the timeline"

static tw_status walk(const tw_op_plan *plan, tw_row_sink sink, tw_arena *scratch, tw_diag *diag)
{
    tw_timeline again;
    return tw_timeline_walk(&plan->program, &sink, scratch, diag, &again);
}

/* Time, speed and energy of all operators. */
static void print_sums(const tw_plan *plan, const tw_losses *losses, tw_line *line)
{
    tw_text text = {0};
    if (plan->sum.ticks > 0) tw_text_printf(&text, "%s ticks, ", TW_GROUPED(plan->sum.ticks));
    tw_cycles_add(plan->machine, plan->sum.cycles, &text);
    tw_text_printf(&text, "%s one operator after the other; %s points", plan->machine->clock_mhz > 0 ? "" : ",",
                   TW_GROUPED(plan->sum.macs));
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "time", text.bytes);
    tw_text_release(&text);
    tw_speed_print(losses, line);
    if (plan->sum.energy_fj > 0) tw_fact_put(line, TW_PLAIN, "energy", TW_ENERGY(plan->sum.energy_fj));
}

static tw_status print_total(const tw_plan *plan, tw_line *line, tw_arena *scratch)
{
    tw_losses losses;
    TW_TRY(tw_losses_of_plan(plan, scratch, &losses));
    tw_line_printf(line, 0, TW_BOLD, "all %d operators", plan->model->n_ops);
    tw_line_end(line);
    print_sums(plan, &losses, line);
    tw_line_end(line);
    return tw_losses_print(&losses, line, scratch);
}

/* Several operators on one screen. */
static tw_status print_several(const tw_plan *plan, const tw_verdict *const *verdict,
                               const tw_print_options *options, tw_line *line, const tw_work *work)
{
    tw_losses losses;
    for (int i = 0; i < plan->model->n_ops; i++)
        TW_TRY(tw_front_print(plan, i, options->brief, line, work->scratch, work->diag));
    TW_TRY(tw_losses_of_plan(plan, work->scratch, &losses));
    tw_line_printf(line, tw_line_printf(line, 0, TW_BOLD, "%s on %s", plan->model->name, plan->machine->name),
                   TW_PLAIN, "  %d operators, %s points", plan->model->n_ops, TW_GROUPED(plan->sum.macs));
    tw_line_end(line);
    tw_line_end(line);
    print_sums(plan, &losses, line);
    tw_searches_print(plan, options, line);
    tw_ops_verdict_print(plan, verdict, line);
    tw_line_end(line);
    TW_TRY(tw_losses_print(&losses, line, work->scratch));
    return tw_ops_table_print(plan, line, work->scratch);
}

/* ---- one operator ---- */

/* Everything that the printers keep over the two walks lies in the work's arena; its scratch is the walk's own. */
static tw_status print_op(const tw_op_plan *plan, const tw_verdict *verdict, const tw_print_options *options,
                          tw_line *line, const tw_work *work)
{
    if (plan->timeline.has_waits) return tw_async_print(plan, verdict, options, line, work);
    tw_shown shown = tw_shown_of(options, plan->timeline.sum.ticks);
    tw_usage usage;
    tw_ticktable *table;
    TW_ALLOC(work->arena, table, 1);
    tw_usage_init(&usage, &plan->program);
    TW_TRY(tw_ticktable_init(table, plan, &usage, &shown, line, work->arena));
    tw_row_fanout first = {0};
    tw_row_fanout_add(&first, tw_usage_sink(&usage));
    tw_ticktable_measure(table, &first);
    TW_TRY(walk(plan, tw_row_fanout_sink(&first), work->scratch, work->diag));
    tw_heading_print(plan, line);
    TW_TRY(tw_summary_print(plan, &usage, verdict, options, line, work->arena));
    if (!options->brief) tw_traffic_print(plan, line);
    tw_mapping_table_print(&plan->program, &table->cuts, line);
    if (options->brief) return TW_OK;
    TW_TRY(tw_ticktable_begin(table));
    TW_TRY(walk(plan, tw_ticktable_rows(table), work->scratch, work->diag));
    tw_ticktable_end(table);
    return TW_OK;
}

static tw_status print_remedies(const tw_plan *plan, const tw_print_options *options, tw_line *line)
{
    const tw_remedy_frame frame = tw_remedy_frame_of(plan);
    if (!options->brief) tw_line_end(line);
    return tw_report_remedies_text(&frame, options->remedy, options->n_remedies, line);
}

/* The end of a report on one screen: advice, and where there is more. */
static void end_screen(const tw_plan *plan, const tw_print_options *options, tw_line *line)
{
    const tw_remedy_frame frame = tw_remedy_frame_of(plan);
    if (!options->brief) return;
    if (!options->remedy && options->hint) tw_report_hints_text(&frame, options->hint, options->n_hints, line);
    tw_more_print(line,
                  options->remedy        ? ""
                  : options->n_hints > 0 ? "--explain tries more; "
                                         : "--explain tries what would help; ",
                  MORE);
}

static tw_status print_placements(const tw_plan *plan, const tw_print_options *options, tw_line *line,
                                  tw_arena *scratch)
{
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_status status = tw_placements_print(plan, options->map, line, scratch);
    tw_arena_rewind(scratch, mark);
    return status;
}

static tw_status end_report(const tw_line *line, FILE *out, tw_diag *diag)
{
    TW_TRY(tw_line_status(line));
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the report");
    return TW_OK;
}

static tw_status print_joint(const tw_plan *plan, const tw_verdict *verdict, bool brief, tw_line *line,
                             const tw_work *outer)
{
    tw_arena *arena = tw_arena_new();
    if (!arena) return TW_ERR_NOMEM;
    tw_status status = tw_joint_print(plan, verdict, brief, line, &(tw_work){arena, outer->scratch, outer->diag});
    tw_arena_free(arena);
    return status;
}

tw_status tw_report_text(const tw_plan *plan, const tw_verdict *const *verdict, const tw_print_options *options,
                         tw_arena *scratch, tw_diag *diag, FILE *out)
{
    tw_line line;
    tw_line_init(&line, options, out);
    if (plan->joint) {
        TW_TRY(
            print_joint(plan, verdict ? verdict[0] : NULL, options->brief, &line, &(tw_work){NULL, scratch, diag}));
        if (options->remedy) TW_TRY(print_remedies(plan, options, &line));
        end_screen(plan, options, &line);
        return end_report(&line, out, diag);
    }
    bool several = plan->model->n_ops > 1, one_screen = several && options->brief;
    tw_status status =
        one_screen ? print_several(plan, verdict, options, &line, &(tw_work){scratch, scratch, diag}) : TW_OK;
    for (int i = 0; i < plan->model->n_ops && !one_screen && status == TW_OK; i++) {
        tw_arena *arena = tw_arena_new();
        if (!arena) return TW_ERR_NOMEM;
        if (i > 0) tw_line_end(&line);
        status = tw_front_print(plan, i, options->brief, &line, scratch, diag);
        if (status == TW_OK)
            status = print_op(&plan->op[i], verdict ? verdict[i] : NULL, options, &line,
                              &(tw_work){arena, scratch, diag});
        tw_arena_free(arena);
    }
    if (status != TW_OK) return status;
    if (!options->brief || options->map) TW_TRY(print_placements(plan, options, &line, scratch));
    if (several && !one_screen) {
        tw_line_end(&line);
        TW_TRY(print_total(plan, &line, scratch));
    }
    if (options->remedy) TW_TRY(print_remedies(plan, options, &line));
    end_screen(plan, options, &line);
    return end_report(&line, out, diag);
}
