/* src/report/text/async.c - see async.h. */
#include "report/text/async.h"
#include "report/report.h"
#include "report/text/gantt.h"
#include "report/text/hierarchy.h"
#include "report/text/linktable.h"
#include "report/text/losses_text.h"
#include "report/text/proof.h"
#include "report/text/stalls.h"
#include "report/text/summary.h"
#include "sim/fanout.h"
#include "write/number.h"

#include <stdio.h>
#include <string.h>

void tw_heading_print(const tw_op_plan *plan, tw_line *line)
{
    const tw_op *op = plan->program.op;
    char number[TW_GROUPED_MAX];
    tw_text title = {0}, loops = {0};
    tw_text_printf(&title, "%s on %s", op->name, plan->program.machine->name);
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].extent > 1)
            tw_text_printf(&loops, "%s %s, ", op->loop[l].name, tw_grouped(op->loop[l].extent, number));
    tw_text_printf(&loops, "%s points", tw_grouped(tw_op_points(op), number));
    if (tw_line_has(line, &title) && tw_line_has(line, &loops)) {
        int at = tw_text_width(title.bytes) + 2;
        bool one_line = at + tw_text_width(loops.bytes) <= line->columns;
        if (one_line)
            tw_line_put(line, 0, TW_BOLD, title.bytes);
        else
            tw_line_wrap(line, 0, TW_BOLD, title.bytes);
        tw_line_wrap(line, one_line ? at : 2, TW_PLAIN, loops.bytes);
    }
    tw_text_release(&title);
    tw_text_release(&loops);
    tw_line_end(line);
}

/* ---- facts ---- */

static void print_time(const tw_op_plan *plan, tw_line *line)
{
    const tw_summary *s = &plan->timeline.sum;
    tw_text text = {0};
    tw_cycles_add(plan->program.machine, s->cycles, &text);
    tw_text_printf(&text, " for %s execution%s and %s instructions", TW_GROUPED(s->execs), s->execs == 1 ? "" : "s",
                   TW_GROUPED(s->instructions));
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "time", text.bytes);
    tw_text_release(&text);
}

/* The engine that is busy longest; and, where that is another one, whose commands the critical path is made of. */
static void print_bottleneck(const tw_op_plan *plan, tw_line *line)
{
    tw_busiest b = tw_busiest_of(plan);
    int64_t cycles = plan->timeline.sum.cycles;
    const tw_engine_use *use = plan->timeline.engine;
    int path = tw_most_critical(plan);
    char text[256];
    int n = snprintf(text, sizeof text, "%s: busy %s of %s cycles (%s), critical path %s", use[b.engine].engine,
                     TW_GROUPED(b.cycles), TW_GROUPED(cycles), TW_PERCENT(b.cycles, cycles),
                     TW_PERCENT(use[b.engine].critical_cycles, cycles));
    if (path != b.engine && n > 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, "; the largest part of that is %s, %s", use[path].engine,
                 TW_PERCENT(use[path].critical_cycles, cycles));
    tw_fact_put(line, TW_PLAIN, "bottleneck", text);
}

static void print_bound(const tw_op_plan *plan, tw_line *line)
{
    tw_busiest b = tw_busiest_of(plan);
    char text[256];
    snprintf(text, sizeof text, "%s cycles, as long as %s is busy", TW_GROUPED(b.cycles),
             plan->timeline.engine[b.engine].engine);
    tw_distance_add(text, sizeof text, plan->timeline.sum.cycles, b.cycles);
    tw_fact_put(line, TW_PLAIN, "bound", text);
}

/* Femtojoules at one memory: every unit on a link is read at one end and written at the other. */
static int64_t memory_energy(const tw_op_plan *plan, int memory)
{
    const tw_program *p = &plan->program;
    int64_t units = 0;
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            const tw_residency *residency = &p->flow->residency[m][o];
            if (residency->here && (m == memory || residency->outer == memory)) units += plan->link[m][o].units;
        }
    return units * p->machine->memory[memory].energy_fj;
}

typedef struct share {
    const char *name;
    int64_t energy_fj;
} share;

/* Largest first; of equal ones in the order given. */
static void sort_shares(share *list, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && list[k].energy_fj > list[k - 1].energy_fj; k--) {
            share swap = list[k];
            list[k] = list[k - 1];
            list[k - 1] = swap;
        }
}

/* "12.3 nJ, 5.86 pJ a point: dram 60%, array 25%, l3 10%, l2 5%" */
static void print_energy(const tw_op_plan *plan, tw_line *line)
{
    const tw_machine *machine = plan->program.machine;
    const tw_engine *compute = &machine->engine[machine->compute];
    const tw_summary *s = &plan->timeline.sum;
    share list[TW_MAX_MEMORIES + 1] = {{compute->name, s->macs * compute->energy_fj}};
    int n = 1;
    tw_text text = {0};
    if (s->energy_fj == 0) return;
    for (int m = 0; m < machine->n_memories; m++)
        list[n++] = (share){machine->memory[m].name, memory_energy(plan, m)};
    sort_shares(list, n);
    tw_text_printf(&text, "%s, %s a point", TW_ENERGY(s->energy_fj), TW_ENERGY(s->energy_fj / tw_max(s->macs, 1)));
    for (int i = 0; i < n && list[i].energy_fj > 0; i++)
        tw_text_printf(&text, "%s%s %s", i ? ", " : ": ", list[i].name,
                       TW_PERCENT(list[i].energy_fj, s->energy_fj));
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "energy", text.bytes);
    tw_text_release(&text);
}

/* ---- the page ---- */

/* Commands that are watched for the chart of the whole. Where they are more it shows the beginning, about so many
 * commands long: unwatched, the simulator may skip what repeats. */
#define WATCHED_MAX   (INT64_C(1) << 20)
#define SHOWN_OF_MORE 2048

static tw_status watch(const tw_op_plan *plan, tw_activity *activity, tw_gantt *gantt, tw_arena *scratch,
                       tw_diag *diag)
{
    tw_timeline again;
    tw_row_fanout fanout = {0};
    tw_row_fanout_add(&fanout, tw_activity_sink(activity));
    tw_row_fanout_add(&fanout, tw_gantt_sink(gantt));
    tw_row_sink sink = tw_row_fanout_sink(&fanout);
    return tw_timeline_walk(&plan->program, &sink, scratch, diag, &again);
}

/* What a person wants to know first: how long, how good, where the time goes, what to change, and whether it is right. */
static tw_status print_facts(const tw_op_plan *plan, const tw_verdict *verdict, const tw_print_options *options,
                             tw_line *line, tw_arena *arena)
{
    tw_losses losses;
    const char *advice = tw_stall_advice(plan, arena);
    TW_TRY(tw_losses_of_op(plan, arena, &losses));
    if (!advice) return TW_ERR_NOMEM;
    tw_heading_print(plan, line);
    print_time(plan, line);
    tw_speed_print(&losses, line);
    print_bottleneck(plan, line);
    if (!options->brief) print_bound(plan, line);
    print_energy(plan, line);
    tw_search_print(plan, options, line);
    tw_verdict_print(verdict, "commands", line);
    tw_line_end(line);
    TW_TRY(tw_losses_print(&losses, line, arena));
    if (*advice) tw_line_wrap(line, 2, TW_PLAIN, advice);
    if (*advice) tw_line_end(line);
    return TW_OK;
}

static tw_status print_first_screen(const tw_op_plan *plan, const tw_verdict *verdict,
                                    const tw_print_options *options, tw_line *line, tw_arena *arena)
{
    tw_cuts cuts = tw_cuts_of(&plan->program);
    TW_TRY(print_facts(plan, verdict, options, line, arena));
    tw_mapping_table_print(&plan->program, &cuts, line);
    return TW_OK;
}

tw_status tw_async_print(const tw_op_plan *plan, const tw_verdict *verdict, const tw_print_options *options,
                         tw_line *line, const tw_work *work)
{
    tw_arena *arena = work->arena, *scratch = work->scratch;
    if (options->brief) return print_first_screen(plan, verdict, options, line, arena);
    tw_cuts cuts = tw_cuts_of(&plan->program);
    tw_activity activity = {0};
    tw_gantt gantt;
    bool watched = plan->timeline.sum.instructions <= WATCHED_MAX;
    tw_span shown = {0, tw_max(plan->timeline.sum.cycles, 1)};
    if (!watched) shown.hi = tw_max(shown.hi / (plan->timeline.sum.instructions / SHOWN_OF_MORE), 1);
    tw_gantt_cast cast;
    TW_TRY(tw_gantt_cast_of(&plan->program, arena, &cast));
    TW_TRY(tw_gantt_init(&gantt, &cast, shown, line, arena));
    TW_TRY(watched ? watch(plan, &activity, &gantt, scratch, work->diag)
                   : tw_gantt_watch(&gantt, plan, scratch, work->diag));
    TW_TRY(print_facts(plan, verdict, options, line, arena));
    tw_mapping_table_print(&plan->program, &cuts, line);
    TW_TRY(tw_linktable_print(plan, line, arena));
    TW_TRY(tw_hierarchy_print(plan, line, arena));
    TW_TRY(tw_stalls_print(plan, watched ? &activity : NULL, line, arena));
    if (!watched) {
        tw_line_wrap(line, 2, TW_PLAIN, "the beginning; other parts with --gantt --cycles=FROM:TO:");
        tw_line_end(line);
    }
    tw_gantt_print(&gantt, line);
    return TW_OK;
}

/* ---- the chart alone ---- */

static tw_status check_span(const tw_op_plan *plan, tw_span shown, tw_diag *diag)
{
    if (shown.lo >= 0 && shown.lo < shown.hi && shown.hi <= tw_max(plan->timeline.sum.cycles, 1)) return TW_OK;
    return tw_diag_error(diag, (tw_loc){0},
                         "cycles %" PRId64 ":%" PRId64 " are no part of '%s', which has 0:%" PRId64, shown.lo,
                         shown.hi, plan->program.op->name, plan->timeline.sum.cycles);
}

tw_status tw_report_gantt(const tw_op_plan *plan, tw_span cycles, const tw_print_options *options,
                          tw_arena *scratch, tw_diag *diag, FILE *out)
{
    TW_TRY(tw_report_needs_async(plan->program.machine, "a Gantt chart", diag));
    tw_span shown = {cycles.lo, cycles.hi ? cycles.hi : tw_max(plan->timeline.sum.cycles, 1)};
    tw_line line;
    tw_gantt gantt;
    TW_TRY(check_span(plan, shown, diag));
    tw_line_init(&line, options, out);
    tw_gantt_cast cast;
    TW_TRY(tw_gantt_cast_of(&plan->program, scratch, &cast));
    TW_TRY(tw_gantt_init(&gantt, &cast, shown, &line, scratch));
    TW_TRY(tw_gantt_watch(&gantt, plan, scratch, diag));
    tw_heading_print(plan, &line);
    tw_gantt_print(&gantt, &line);
    TW_TRY(tw_line_status(&line));
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the chart");
    return TW_OK;
}
