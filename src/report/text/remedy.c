/* src/report/text/remedy.c - see remedy.h. */
#include "report/text/remedy.h"

#include "plan/links.h"
#include "report/text/summary.h"
#include "write/number.h"
#include "write/table.h"

#include <math.h>
#include <stdio.h>

static const char *kind_name(tw_change_kind kind)
{
    static const char *const name[] = {[TW_MORE_MEMORY] = "memory",
                                       [TW_MORE_BANDWIDTH] = "bandwidth",
                                       [TW_MORE_CHANNELS] = "channels",
                                       [TW_MORE_BUFFERS] = "buffers"};
    return name[kind];
}
enum { N_KINDS = TW_MORE_BUFFERS + 1 };

/* ---- text ---- */

enum { AT, CHANGE, GAIN, VALUE, PROOF, N_COLUMNS };

static const char *measure_title(const tw_plan *plan)
{
    switch (plan->op[0].search.objective[0].measure) {
    case TW_TICKS: return "ticks";
    case TW_ENERGY: return "energy";
    case TW_EDP: return "EDP";
    case TW_TRAFFIC:
    case TW_PEAK: return tw_unit_plural(plan->machine->unit);
    default: return "cycles";
    }
}

static const char *value_text(const tw_plan *plan, double value, char out[TW_GROUPED_MAX])
{
    tw_measure measure = plan->op[0].search.objective[0].measure;
    if (value >= 0x1p62 || measure == TW_EDP)
        tw_snprintf(out, TW_GROUPED_MAX, "%.4g", value);
    else if (measure == TW_ENERGY)
        tw_energy((int64_t)value, out);
    else
        tw_grouped((int64_t)value, out);
    return out;
}

static void put_gain(tw_table *table, double gain)
{
    if (fabs(gain) < 0.0005)
        tw_table_put(table, GAIN, gain > 0 ? "<0.1%" : ">-0.1%");
    else
        tw_table_printf(table, GAIN, "%.1f%%", 100 * gain);
}

static void put_row(tw_table *table, const tw_plan *plan, const tw_remedy *remedy)
{
    tw_table_row(table, TW_PLAIN);
    tw_table_printf(table, AT, "%.16s", remedy->at);
    tw_table_put(table, CHANGE, remedy->change);
    if (!remedy->feasible) {
        tw_table_put(table, VALUE, "-");
        tw_table_put(table, PROOF, "no plan found");
        return;
    }
    tw_table_put(table, VALUE, value_text(plan, remedy->value, (char[TW_GROUPED_MAX]){0}));
    put_gain(table, remedy->gain);
    tw_table_put(table, PROOF, remedy->proven ? "proven" : "best found");
}

typedef enum outcome { HELPS, NO_GAIN, NONE_FOUND, UNTRIED } outcome;
static outcome outcome_of(const tw_remedy *remedy)
{
    if (remedy->untried) return UNTRIED;
    if (!remedy->feasible || remedy->gain != 0) return HELPS; /* or makes it worse: a row of its own */
    return remedy->proven ? NO_GAIN : NONE_FOUND;
}

/* "more memory: l3, l1; more channels: dma" */
static void print_rest(const char *title, const tw_remedy *remedy, int n, outcome which, const char *why,
                       tw_line *line)
{
    tw_text text = {0};
    for (int k = 0; k < N_KINDS; k++) {
        const char *mark = NULL;
        for (int i = 0; i < n; i++) {
            if ((int)remedy[i].kind != k || outcome_of(&remedy[i]) != which) continue;
            if (!mark) tw_text_printf(&text, "%smore %s: ", text.len ? "; " : "", kind_name((tw_change_kind)k));
            tw_text_printf(&text, "%s%s", mark ? mark : "", remedy[i].at);
            mark = ", ";
        }
    }
    if (text.len) tw_text_printf(&text, "%s", why);
    if (tw_line_has(line, &text) && text.len) tw_fact_put(line, TW_PLAIN, title, text.bytes);
    tw_text_release(&text);
}

/* Gains are over the best plan that is known, which need not be the one that they were asked for. */
static void print_base(const tw_plan *plan, const tw_remedy *remedy, int n, tw_line *line)
{
    double had = 0, best = INFINITY;
    char text[256], number[TW_GROUPED_MAX];
    for (int i = 0; i < plan->model->n_ops; i++) had += plan->op[i].search.value[0];
    for (int i = 0; i < n; i++)
        if (remedy[i].feasible && remedy[i].gain < 1) best = round(remedy[i].value / (1 - remedy[i].gain));
    if (!(best < had * (1 - 1e-9))) return;
    snprintf(
        text, sizeof text,
        "these searches met a plan with %s %s for the machine as it is; gains are over that one, which a longer "
        "search finds",
        value_text(plan, best, number), measure_title(plan));
    tw_fact_put(line, TW_PLAIN, "note", text);
}

tw_status tw_report_remedies_text(const tw_plan *plan, const tw_remedy *remedy, int n, tw_line *line,
                                  tw_arena *arena)
{
    const char *const title[N_COLUMNS] = {"what would help", "", "gain", measure_title(plan), ""};
    tw_table table;
    tw_table_init(&table, title, N_COLUMNS, 2, arena);
    table.tail = true;
    table.once = false;
    int n_tried = 0;
    for (int i = 0; i < n; i++) {
        n_tried += !remedy[i].untried;
        if (outcome_of(&remedy[i]) == HELPS) put_row(&table, plan, &remedy[i]);
    }
    if (table.n_rows > 0)
        TW_TRY(tw_table_print(&table, line));
    else if (n_tried > 0)
        tw_fact_put(line, TW_PLAIN, "would help", "nothing that was tried");
    else if (n == 0)
        tw_fact_put(line, TW_PLAIN, "would help",
                    "there is nothing to try: no limited memory, no engine that could be faster");
    print_rest("no gain", remedy, n, NO_GAIN, "", line);
    print_rest("none found", remedy, n, NONE_FOUND, "", line);
    print_rest("not tried", remedy, n, UNTRIED, "; time was up, or it was interrupted", line);
    print_base(plan, remedy, n, line);
    tw_line_end(line);
    return TW_OK;
}

/* ---- data ---- */

void tw_report_remedies_json(const tw_remedy *remedy, int n, tw_json *j)
{
    tw_json_open(j, '[');
    for (int i = 0; i < n; i++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "more", kind_name(remedy[i].kind));
        tw_json_key_string(j, "at", remedy[i].at);
        tw_json_key_string(j, "change", remedy[i].change);
        tw_json_key_bool(j, "tried", !remedy[i].untried);
        if (remedy[i].untried) {
            tw_json_key(j, "feasible");
            tw_json_null(j);
        } else {
            tw_json_key_bool(j, "feasible", remedy[i].feasible);
        }
        if (remedy[i].feasible) {
            tw_json_key_number(j, "value", remedy[i].value);
            tw_json_key_number(j, "gain", remedy[i].gain);
        } else {
            tw_json_key(j, "value");
            tw_json_null(j);
            tw_json_key(j, "gain");
            tw_json_null(j);
        }
        tw_json_key_bool(j, "proven", remedy[i].proven);
        tw_json_close(j);
    }
    tw_json_close(j);
}
