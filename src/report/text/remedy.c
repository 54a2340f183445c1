/* src/report/text/remedy.c - remedies as a table of what helps and a list of what does not, and as data. */
#include "report/text/remedy.h"

#include "plan/links.h"
#include "report/text/summary.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

enum { MOST_ROWS = 12, VALUE_END = 14, GAIN_END = 22, TEXT_AT = 24 }; /* columns of a row */

static const char *measure_title(const tw_remedy_frame *f)
{
    switch (f->measure) {
    case TW_TICKS: return "ticks";
    case TW_ENERGY: return "energy";
    case TW_EDP: return "EDP";
    case TW_TRAFFIC:
    case TW_PEAK: return tw_unit_plural(f->unit);
    default: return "cycles";
    }
}

static const char *value_text(const tw_remedy_frame *f, double value, char out[TW_GROUPED_MAX])
{
    if (value >= 0x1p62 || f->measure == TW_EDP)
        tw_snprintf(out, TW_GROUPED_MAX, "%.4g", value);
    else if (f->measure == TW_ENERGY)
        tw_energy((int64_t)value, out);
    else
        tw_grouped((int64_t)value, out);
    return out;
}

static const char *gain_text(double gain, char out[16])
{
    if (fabs(gain) < 0.0005)
        snprintf(out, 16, "%s", gain > 0 ? "<0.1%" : ">-0.1%");
    else
        tw_snprintf(out, 16, "%.1f%%", 100 * gain);
    return out;
}

/* "array: columns 32, not 16", and how sure that is. */
static void put_change(const tw_remedy_frame *f, const tw_remedy *remedy, tw_line *line)
{
    bool names = f->several || !tw_change_is_of_mapping(remedy->kind);
    const char *sure = !remedy->feasible                ? " (no plan found)"
                       : f->searched && !remedy->proven ? " (best found)"
                                                        : "";
    tw_text text = {0};
    tw_text_printf(&text, "%.*s: %s%s", TW_FIRST(32, names ? remedy->at : "mapping"), remedy->change, sure);
    if (tw_line_has(line, &text)) tw_line_wrap(line, TEXT_AT, TW_PLAIN, text.bytes);
    tw_text_release(&text);
}

static void print_row(const tw_remedy_frame *f, const tw_remedy *remedy, tw_line *line)
{
    char value[TW_GROUPED_MAX], gain[16];
    tw_line_put_right(line, VALUE_END, TW_PLAIN, remedy->feasible ? value_text(f, remedy->value, value) : "-");
    if (remedy->feasible) tw_line_put_right(line, GAIN_END, TW_PLAIN, gain_text(remedy->gain, gain));
    put_change(f, remedy, line);
}

typedef enum outcome { HELPS, NO_GAIN, NONE_FOUND, UNTRIED } outcome;
static outcome outcome_of(const tw_remedy *remedy)
{
    if (remedy->untried) return UNTRIED;
    if (remedy->feasible && remedy->gain < 0 && !remedy->proven)
        return NONE_FOUND;                                    /* its search gave up too soon */
    if (!remedy->feasible || remedy->gain != 0) return HELPS; /* or makes it worse: a row of its own */
    return remedy->proven ? NO_GAIN : NONE_FOUND;
}

static const char *const phrase[TW_N_CHANGES] = {
    [TW_MORE_MEMORY] = "more memory",     [TW_MORE_BANDWIDTH] = "more bandwidth",
    [TW_MORE_CHANNELS] = "more channels", [TW_MORE_BUFFERS] = "more buffers",
    [TW_OTHER_ARRAY] = "another array",   [TW_OTHER_TILE] = "other tiles",
    [TW_OTHER_BUFFERS] = "other buffers", [TW_OTHER_ORDER] = "another order",
    [TW_OTHER_KEEP] = "other keeps",      [TW_OTHER_UNROLL] = "another unroll",
    [TW_OTHER_FUSION] = "fusion",         [TW_OTHER_MAPPING] = "another mapping",
    [TW_OTHER_SLIDE] = "sliding windows"};

/* Whether one before it says the same, or one of its kind at the same place has a row. */
static bool is_said(const tw_remedy *remedy, int n, int i, outcome which)
{
    for (int k = 0; k < n; k++) {
        bool same = remedy[k].kind == remedy[i].kind && strcmp(remedy[k].at, remedy[i].at) == 0;
        if (same && (outcome_of(&remedy[k]) == HELPS || (k < i && outcome_of(&remedy[k]) == which))) return true;
    }
    return false;
}

/* "more memory: l3, l1; more channels: dma" */
static void print_rest(const char *title, const tw_remedy *remedy, int n, outcome which, const char *why,
                       tw_line *line)
{
    tw_text text = {0};
    for (int k = 0; k < TW_N_CHANGES; k++) {
        const char *mark = NULL;
        for (int i = 0; i < n; i++) {
            if ((int)remedy[i].kind != k || outcome_of(&remedy[i]) != which || is_said(remedy, n, i, which))
                continue;
            if (!mark) tw_text_printf(&text, "%s%s: ", text.len ? "; " : "", phrase[k]);
            tw_text_printf(&text, "%s%s", mark ? mark : "", remedy[i].at);
            mark = ", ";
        }
    }
    if (text.len) tw_text_printf(&text, "%s", why);
    if (tw_line_has(line, &text) && text.len) tw_fact_put(line, TW_PLAIN, title, text.bytes);
    tw_text_release(&text);
}

/* Gains are over the best plan that is known, which need not be the one that they were asked for. */
static void print_base(const tw_remedy_frame *f, const tw_remedy *remedy, int n, tw_line *line)
{
    double best = INFINITY;
    char text[256], number[TW_GROUPED_MAX];
    for (int i = 0; i < n; i++)
        if (remedy[i].feasible && remedy[i].gain < 1) best = round(remedy[i].value / (1 - remedy[i].gain));
    if (!f->searched || !(best < f->value * (1 - 1e-9))) return;
    snprintf(
        text, sizeof text,
        "these searches met a plan with %s %s for the machine as it is; gains are over that one, which a longer "
        "search finds",
        value_text(f, best, number), measure_title(f));
    tw_fact_put(line, TW_PLAIN, "note", text);
}

/* The rows; how many there are. */
static int print_rows(const tw_remedy_frame *f, const tw_remedy *remedy, int n, tw_line *line)
{
    int n_rows = 0;
    for (int i = 0; i < n; i++) {
        if (outcome_of(&remedy[i]) != HELPS || n_rows++ >= MOST_ROWS) continue;
        if (n_rows == 1) {
            tw_line_put_right(line, VALUE_END, TW_BOLD, measure_title(f));
            tw_line_put_right(line, GAIN_END, TW_BOLD, "gain");
            tw_line_put(line, TEXT_AT, TW_BOLD, "what would help");
            tw_line_end(line);
        }
        print_row(f, &remedy[i], line);
    }
    if (n_rows > MOST_ROWS) {
        tw_line_printf(line, TEXT_AT, TW_PLAIN, "%d more gain%s less", n_rows - MOST_ROWS,
                       n_rows - MOST_ROWS == 1 ? "s" : "");
        tw_line_end(line);
    }
    return n_rows;
}

static tw_remedy_frame frame_of_groups(const tw_plan *plan)
{
    const tw_joint_search *search = plan->joint->search;
    bool timed = !search || search->measure == TW_TRAFFIC; /* advice of groups is about time or energy */
    return (tw_remedy_frame){.measure = timed ? TW_CYCLES : search->measure,
                             .unit = plan->machine->unit,
                             .searched = search,
                             .several = true};
}

tw_remedy_frame tw_remedy_frame_of(const tw_plan *plan)
{
    bool searched = plan->op[0].searched;
    if (plan->joint) return frame_of_groups(plan);
    tw_remedy_frame f = {.measure = searched ? plan->op[0].search.objective[0].measure : TW_CYCLES,
                         .unit = plan->machine->unit,
                         .searched = searched,
                         .several = plan->model->n_ops > 1};
    for (int i = 0; i < plan->model->n_ops; i++) f.value += plan->op[i].search.value[0];
    return f;
}

tw_status tw_report_remedies_text(const tw_remedy_frame *f, const tw_remedy *remedy, int n, tw_line *line)
{
    int n_tried = 0;
    for (int i = 0; i < n; i++) n_tried += !remedy[i].untried;
    if (n == 0)
        tw_fact_put(line, TW_PLAIN, "would help",
                    "there is nothing to try: no limited memory, no engine that could be faster");
    else if (print_rows(f, remedy, n, line) == 0 && n_tried > 0)
        tw_fact_put(line, TW_PLAIN, "would help", "nothing that was tried");
    print_rest("no gain", remedy, n, NO_GAIN, "", line);
    print_rest("none found", remedy, n, NONE_FOUND, "", line);
    print_rest("not tried", remedy, n, UNTRIED, "; time was up, or it was interrupted", line);
    print_base(f, remedy, n, line);
    tw_line_end(line);
    return tw_line_status(line);
}

void tw_report_hints_text(const tw_remedy_frame *f, const tw_remedy *hint, int n, tw_line *line)
{
    for (int i = 0; i < n; i++) {
        char value[TW_GROUPED_MAX];
        bool names = f->several || !tw_change_is_of_mapping(hint[i].kind);
        tw_text text = {0};
        tw_text_printf(&text, "%.*s%s%s -> %s%s%s, %.0f%% less", TW_FIRST(32, names ? hint[i].at : ""),
                       names ? ": " : "", hint[i].change, value_text(f, hint[i].value, value),
                       f->measure == TW_ENERGY ? "" : " ", f->measure == TW_ENERGY ? "" : measure_title(f),
                       100 * hint[i].gain);
        if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, i == 0 ? "advice" : "", text.bytes);
        tw_text_release(&text);
    }
    if (n == 0) tw_fact_put(line, TW_PLAIN, "advice", "no single change that was simulated saves 1%");
    tw_line_end(line);
}

/* ---- data ---- */

/* A number, null where there is none. */
static void put_number(tw_json *j, const char *key, bool is_there, double x)
{
    if (is_there) {
        tw_json_key_number(j, key, x);
        return;
    }
    tw_json_key_null(j, key);
}

void tw_report_remedy_json(const tw_remedy *remedy, tw_json *j)
{
    tw_json_key_string(j, "of", tw_change_is_of_mapping(remedy->kind) ? "mapping" : "machine");
    tw_json_key_string(j, "more", tw_change_word(remedy->kind));
    tw_json_key_string(j, "at", remedy->at);
    tw_json_key_string(j, "change", remedy->change);
    tw_json_key_bool(j, "tried", !remedy->untried);
    if (remedy->untried) {
        tw_json_key_null(j, "feasible");
    } else {
        tw_json_key_bool(j, "feasible", remedy->feasible);
    }
    put_number(j, "value", remedy->feasible, remedy->value);
    put_number(j, "gain", remedy->feasible, remedy->gain);
    tw_json_key_bool(j, "proven", remedy->proven);
}

void tw_report_remedies_json(const tw_remedy *remedy, int n, tw_json *j)
{
    tw_json_open(j, '[');
    for (int i = 0; i < n; i++) {
        tw_json_open_line(j, '{');
        tw_report_remedy_json(&remedy[i], j);
        tw_json_close(j);
    }
    tw_json_close(j);
}
