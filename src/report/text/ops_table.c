/* src/report/text/ops_table.c - prints a row per operator: its time, how much of the peak that is, and where the rest goes. */
#include "report/text/ops_table.h"

#include "report/facts/network_words.h"
#include "report/text/losses_text.h"
#include "report/text/summary.h"
#include "write/number.h"
#include "write/table.h"

enum { NAME_WIDTH = 24 };
typedef enum column { NAME, CYCLES, SHARE, PEAK, LOST, GAP, ENERGY, N_COLUMNS } column;

static tw_status put_op(const tw_plan *plan, int i, tw_table *table, tw_arena *scratch)
{
    const tw_op_plan *op = &plan->op[i];
    const char *name = tw_clip_words(plan->model->op[i].name, NAME_WIDTH, scratch);
    tw_losses losses;
    if (!name) return TW_ERR_NOMEM;
    TW_TRY(tw_losses_of_op(op, scratch, &losses));
    tw_table_row(table, TW_PLAIN);
    tw_table_put(table, NAME, name);
    tw_table_put(table, CYCLES, TW_GROUPED(losses.cycles));
    tw_table_put(table, SHARE, TW_PERCENT(losses.cycles, plan->sum.cycles));
    tw_table_put(table, PEAK, losses.has_peak ? TW_PERCENT(losses.peak, losses.cycles) : "-");
    tw_table_put(table, LOST, tw_lost_to(&losses));
    tw_table_put(table, GAP,
                 op->searched ? tw_gap_text(op->search.gap, op->search.proven, (char[TW_GAP_MAX]){0}) : "-");
    tw_table_put(table, ENERGY, op->timeline.sum.energy_fj > 0 ? TW_ENERGY(op->timeline.sum.energy_fj) : "-");
    return TW_OK;
}

/* Energies and gaps only where there are any. */
static int n_columns(const tw_plan *plan)
{
    bool searched = false;
    for (int i = 0; i < plan->model->n_ops; i++) searched |= plan->op[i].searched;
    return plan->sum.energy_fj > 0 ? N_COLUMNS : searched ? ENERGY : GAP;
}

tw_status tw_ops_table_print(const tw_plan *plan, tw_line *line, tw_arena *scratch)
{
    static const char *const title[N_COLUMNS] = {
        [NAME] = "operator", [CYCLES] = "cycles", [SHARE] = "share",  [PEAK] = "of peak",
        [LOST] = "lost to",  [GAP] = "gap",       [ENERGY] = "energy"};
    tw_table table;
    tw_table_init(&table, title, n_columns(plan), 1, scratch);
    for (int i = 0; i < plan->model->n_ops; i++) TW_TRY(put_op(plan, i, &table, scratch));
    TW_TRY(tw_table_print(&table, line));
    tw_line_end(line);
    return TW_OK;
}

void tw_ops_verdict_print(const tw_plan *plan, const tw_verdict *const *verdict, tw_line *line)
{
    int n = plan->model->n_ops, n_checked = 0, n_executed = 0, n_wrong = 0;
    tw_text text = {0};
    if (!verdict) {
        tw_fact_put(line, TW_PLAIN, "verified", "no");
        return;
    }
    for (int i = 0; i < n; i++) {
        n_checked += verdict[i] && verdict[i]->checked;
        n_executed += verdict[i] && verdict[i]->executed;
        if (!verdict[i] || !verdict[i]->first_fault) continue;
        n_wrong++;
        tw_text_printf(&text, "%s%s: %s", text.len ? "; " : "", plan->model->op[i].name, verdict[i]->first_fault);
    }
    bool all = n_executed == n;
    if (n_wrong == 0 && all)
        tw_text_printf(&text, "all %d operators checked and executed, each equal to its reference", n);
    else if (n_wrong == 0)
        tw_text_printf(&text, "%d of %d operators checked, %d executed; --full says why", n_checked, n, n_executed);
    if (tw_line_has(line, &text))
        tw_fact_put(line,
                    n_wrong ? TW_ALARM
                    : all   ? TW_GOOD
                            : TW_PLAIN,
                    n_wrong ? "WRONG"
                    : all   ? "verified"
                            : "in part",
                    text.bytes);
    tw_text_release(&text);
}
