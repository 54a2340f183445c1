/* src/report/text/proof.c - see proof.h.
 *
 * Values are doubles that hold whole numbers, but for energy x cycles, which may be larger than 2^63. */
#include "report/text/proof.h"

#include "plan/links.h"
#include "report/facts/cuts.h"
#include "report/facts/network_row.h"
#include "report/facts/network_words.h"
#include "report/text/summary.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 64 };

static const char *measure_word(tw_measure measure)
{
    static const char *const word[] = {[TW_CYCLES] = "latency", [TW_TICKS] = "ticks",     [TW_ENERGY] = "energy",
                                       [TW_EDP] = "edp",        [TW_TRAFFIC] = "traffic", [TW_PEAK] = "peak"};
    return word[measure];
}

/* ---- numbers ---- */

/* "1'234", from a million on "3.2e12". */
static const char *count_text(double x, char out[TW_GROUPED_MAX])
{
    char text[TW_GROUPED_MAX];
    if (x < 1e6) return tw_grouped((int64_t)x, out);
    tw_snprintf(text, sizeof text, "%.1e", x);
    size_t mantissa = strcspn(text, "e");
    snprintf(out, TW_GROUPED_MAX, "%.*se%d", (int)mantissa, text, atoi(text + mantissa + 1));
    return out;
}

/* "8'616 cycles", "12.3 nJ", "12'345 bytes" */
static const char *value_text(const tw_machine *machine, tw_measure measure, double x, char out[VALUE_MAX])
{
    char number[TW_GROUPED_MAX];
    bool fits = x < 0x1p63;
    const char *unit = measure == TW_CYCLES ? " cycles" : measure == TW_TICKS ? " ticks" : "";
    if (measure == TW_ENERGY || measure == TW_EDP) {
        unit = fits && measure == TW_ENERGY ? "" : fits ? " cycles" : measure == TW_ENERGY ? " fJ" : " fJ cycles";
        fits ? tw_energy((int64_t)x, number) : count_text(x, number);
    } else {
        fits ? tw_grouped((int64_t)x, number) : count_text(x, number);
    }
    if (measure == TW_TRAFFIC || measure == TW_PEAK)
        snprintf(out, VALUE_MAX, "%s %s", number, tw_unit_plural(machine->unit));
    else
        snprintf(out, VALUE_MAX, "%s%s", number, unit);
    return out;
}

/* Of a share 0..1; rounded up, so that what is there is not called nothing. */
static const char *share_text(double share, char out[TW_GROUPED_MAX])
{
    static const int64_t whole = 1000000000;
    int64_t part = (int64_t)(share * (double)whole);
    return tw_percent(part + ((double)part < share * (double)whole), whole, out);
}

/* ---- how it ended ---- */

/* "latency 8'616 cycles" */
static void describe_value(const tw_machine *machine, const tw_search_record *r, int i, tw_text *out)
{
    char value[VALUE_MAX];
    const tw_objective *objective = &r->objective[i];
    const char *word =
        objective->measure == TW_TICKS ? "" : measure_word(objective->measure); /* the unit says it */
    tw_text_printf(out, "%s%s%s%s%s%s", i ? ", then " : "", word, objective->at ? " of " : "",
                   objective->at ? objective->at : "", *word ? " " : "",
                   value_text(machine, objective->measure, r->value[i], value));
}

/* "latency 8'616 cycles, then traffic of dma 4'096 bytes" */
static void describe_values(const tw_machine *machine, const tw_search_record *r, tw_text *out)
{
    for (int i = 0; i < r->n_objectives; i++) describe_value(machine, r, i, out);
}

/* A stage behind the first waits for its next gain; a search that ends so has taken less than this. */
static const char *ending_text(const tw_search_record *r)
{
    static const int64_t some_work = 10000000;
    static const char *const text[] = {[TW_END_DONE] = "",
                                       [TW_END_BUDGET] = "; out of budget",
                                       [TW_END_TIME] = "; out of time",
                                       [TW_END_STOPPED] = "; interrupted",
                                       [TW_END_MEMORY] = "; out of memory",
                                       [TW_END_GAP] = ", as asked"};
    if (r->by_default && r->ending == TW_END_BUDGET)
        return r->work < some_work ? "; ended when nothing better came for a while (--prove goes on)"
                                   : "; ended after about 2 s of work (--prove goes on)";
    if (r->by_default && r->ending == TW_END_GAP) return "; ended within 1% (--prove goes on)";
    return text[r->ending];
}

static void describe_proof(const tw_search_record *r, tw_text *out)
{
    char number[TW_GROUPED_MAX];
    if (!r->proven) {
        tw_text_printf(out, ", not proven: gap %s%s", share_text(r->gap, number), ending_text(r));
        return;
    }
    tw_text_printf(out, ", proven");
    if (r->n_optima > 0) tw_text_printf(out, ", attained by %s", tw_grouped(r->n_optima, number));
}

static double gap_of(const tw_search_record *r, int i)
{
    return r->least[i] > r->bounds[i] && r->least[i] > 0 ? (r->least[i] - r->bounds[i]) / r->least[i] : 0;
}

/* " (within 1% of 8'486 cycles)", and how far from the least that there can be; the last also says how it ended. */
static void describe_stage(const tw_machine *machine, const tw_search_record *r, int i, tw_text *out)
{
    char value[VALUE_MAX], number[TW_GROUPED_MAX];
    describe_value(machine, r, i, out);
    if (r->within[i] > 0)
        tw_text_printf(out, " (within %s of %s)", share_text(r->within[i], number),
                       value_text(machine, r->objective[i].measure, r->least[i], value));
    if (r->proven) return;
    if (gap_of(r, i) > 0)
        tw_text_printf(out, ", gap %s", share_text(gap_of(r, i), number));
    else
        tw_text_printf(out, ", proven");
}

/* Several objectives that are not all proven: each with its own gap. */
static void describe_stages(const tw_machine *machine, const tw_search_record *r, tw_text *out)
{
    for (int i = 0; i < r->n_objectives; i++) describe_stage(machine, r, i, out);
    tw_text_printf(out, r->proven ? ", proven" : "%s", ending_text(r));
}

/* The bound that closed most comes first. */
static void describe_closers(const tw_search_record *r, tw_text *out)
{
    char number[TW_GROUPED_MAX];
    unsigned told = 0;
    for (int k = 0; k < TW_N_BOUNDS; k++) {
        int most = -1;
        for (int b = 0; b < TW_N_BOUNDS; b++)
            if (!(told >> b & 1) && r->closed[b] > (most < 0 ? 0 : r->closed[most])) most = b;
        if (most < 0) return;
        tw_text_printf(out, "%s %s %s", told ? "," : "closed by", tw_closer_name((tw_closer)most),
                       tw_grouped(r->closed[most], number));
        told |= 1u << most;
    }
}

static const char *less_word(tw_measure measure)
{
    static const char *const word[] = {
        [TW_CYCLES] = "takes fewer", [TW_TICKS] = "takes fewer",  [TW_ENERGY] = "takes less",
        [TW_EDP] = "takes less",     [TW_TRAFFIC] = "moves less", [TW_PEAK] = "needs less"};
    return word[measure];
}

/* What is proven, and of what: "no mapping in the space 'all' takes fewer than 8'552 cycles". */
static void describe_claim(const tw_machine *machine, const tw_search_record *r, tw_text *out)
{
    char value[VALUE_MAX];
    tw_measure measure = r->objective[0].measure;
    if (!r->proven && r->bound <= 0) return;
    tw_text_printf(out, "no mapping in the space '%s'%s %s", tw_space_word(r->space),
                   r->limited ? ", as the options limit it," : "", less_word(measure));
    if (!r->proven) tw_text_printf(out, " than %s", value_text(machine, measure, r->bound, value));
}

void tw_search_caption(const tw_op_plan *plan, tw_text *out)
{
    char value[VALUE_MAX];
    const tw_search_record *r = &plan->search;
    const char *space = tw_space_word(r->space), *limited = r->limited ? ", as limited" : "";
    tw_measure measure = r->objective[0].measure;
    if (!plan->searched || (!r->proven && r->bound <= 0)) return;
    if (r->proven)
        tw_text_printf(out, "proven: no mapping in the space '%s'%s %s", space, limited, less_word(measure));
    else
        tw_text_printf(out, "proven in the space '%s'%s: at least %s", space, limited,
                       value_text(plan->program.machine, measure, r->bound, value));
}

static void describe_work(const tw_search_record *r, const tw_print_options *options, tw_text *out)
{
    char points[TW_GROUPED_MAX], parts[TW_GROUPED_MAX], simulated[TW_GROUPED_MAX];
    tw_text_printf(out, "%s points of '%s' (%s): %s parts looked at, %s simulated", count_text(r->n_space, points),
                   tw_space_word(r->space), tw_space_meaning(r->space), tw_grouped(r->n_nodes, parts),
                   tw_grouped(r->n_points, simulated));
    if (options->seconds && !options->cached) tw_text_printf(out, ", %.2f s", r->seconds);
}

/* What was known before anything was cut. */
static void describe_bound(const tw_machine *machine, const tw_search_record *r, tw_text *out)
{
    char value[VALUE_MAX], number[TW_GROUPED_MAX];
    tw_measure measure = r->objective[0].measure;
    tw_text_printf(out, "bound at the root %s, by %s", value_text(machine, measure, r->root_bound, value),
                   tw_closer_name(r->bound_by));
    if (r->bound_at) tw_text_printf(out, " (%s)", r->bound_at);
    if (!r->proven) return;
    if (r->least[0] <= r->root_bound)
        tw_text_printf(out, ": reached");
    else
        tw_text_printf(out, ": %s above", share_text(r->least[0] / r->root_bound - 1, number));
}

/* "fused: 3 operators, 355'344 cycles -> 347'891 cycles"; what else could have been done stands before what is done. */
static void describe_fusion(const tw_machine *machine, const tw_search_record *r, tw_text *out)
{
    char value[VALUE_MAX], other[VALUE_MAX], number[TW_GROUPED_MAX];
    const tw_fusion_result *f = &r->fusion;
    tw_measure measure = r->objective[0].measure;
    bool none = f->n_groups == f->n_ops, compared = f->chosen && isfinite(f->other);
    value_text(machine, measure, f->value, value);
    value_text(machine, measure, compared ? f->other : 0, other);
    const char *least = f->other_found ? "" : "at least ";
    tw_text_printf(out, "%s: %d operators",
                   none              ? "not fused"
                   : f->n_groups > 1 ? "fused in part"
                                     : "fused",
                   f->n_ops);
    if (!none && f->n_groups > 1) tw_text_printf(out, " in %d groups", f->n_groups);
    if (none || !compared)
        tw_text_printf(out, ", %s", value);
    else
        tw_text_printf(out, ", %s%s -> %s", least, other, value);
    if (none && compared) tw_text_printf(out, "; fused they would take %s%s", least, other);
    if (f->chosen && !compared) tw_text_printf(out, "; %s nothing fits", none ? "fused" : "not fused");
    if (f->value > f->bound)
        tw_text_printf(out, "; gap %s in the space '%s'", share_text((f->value - f->bound) / f->value, number),
                       tw_space_word(r->space));
}

/* Of the first operator of a chain. */
static void print_fusion(const tw_machine *machine, const tw_search_record *r, tw_line *line)
{
    tw_text fusion = {0};
    if (r->fusion.n_ops == 0) return;
    describe_fusion(machine, r, &fusion);
    if (tw_line_has(line, &fusion)) tw_fact_put(line, TW_PLAIN, "fusion", fusion.bytes);
    tw_text_release(&fusion);
}

void tw_search_print(const tw_op_plan *plan, const tw_print_options *options, tw_line *line)
{
    const tw_search_record *r = &plan->search;
    const tw_machine *machine = plan->program.machine;
    tw_text text[5] = {0};
    if (!plan->searched) return;
    if (r->n_objectives > 1 && r->n_optima == 0 && (r->proven || r->bounds[1] > 0)) {
        describe_stages(machine, r, &text[0]);
    } else {
        describe_values(machine, r, &text[0]);
        describe_proof(r, &text[0]);
    }
    if (options->cached) tw_text_printf(&text[0], " (from the cache)");
    describe_claim(machine, r, &text[1]);
    if (!options->brief) {
        describe_work(r, options, &text[2]);
        describe_closers(r, &text[3]);
        if (r->root_bound > 0) describe_bound(machine, r, &text[4]); /* of a peak it may be nothing */
    }
    for (size_t i = 0; i < TW_COUNT(text); i++) {
        if (tw_line_has(line, &text[i]) && text[i].len)
            tw_fact_put(line, TW_PLAIN, i ? "" : "search", text[i].bytes);
        tw_text_release(&text[i]);
    }
    print_fusion(machine, r, line);
}

/* " in the space 'all'"; where operators were searched in several, all of them. */
static void describe_spaces(const tw_plan *plan, tw_text *out)
{
    unsigned spaces = 0;
    char text[TW_SPACES_MAX];
    for (int i = 0; i < plan->model->n_ops; i++)
        if (plan->op[i].searched) spaces |= 1u << plan->op[i].search.space;
    tw_text_printf(out, " in %s", tw_spaces_text(spaces, text));
}

/* "3 of 18 operators proven best in the space 'all'; the largest gap is 4.35%, of conv3; out of budget" */
static void describe_searches(const tw_plan *plan, tw_text *out)
{
    const tw_search_record *worst = NULL;
    char number[TW_GAP_MAX];
    int n = 0, n_proven = 0, at = 0;
    bool stopped = false;
    for (int i = 0; i < plan->model->n_ops; i++) {
        const tw_search_record *r = &plan->op[i].search;
        if (!plan->op[i].searched) continue;
        n++;
        n_proven += r->proven;
        stopped |= r->ending == TW_END_STOPPED;
        if (r->proven || (worst && r->gap <= worst->gap)) continue;
        worst = r;
        at = i;
    }
    if (n == 0) return;
    tw_text_printf(out, "%d of %d operators proven best", n_proven, n);
    describe_spaces(plan, out);
    if (worst)
        tw_text_printf(out, "; the largest gap is %s, of %s%s", tw_gap_text(worst->gap, false, number),
                       plan->model->op[at].name, ending_text(worst));
    if (stopped && worst && worst->ending != TW_END_STOPPED) tw_text_printf(out, "; interrupted");
}

void tw_searches_print(const tw_plan *plan, const tw_print_options *options, tw_line *line)
{
    tw_text text = {0};
    describe_searches(plan, &text);
    if (text.len && options->cached) tw_text_printf(&text, " (from the cache)");
    if (text.len && tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, "search", text.bytes);
    tw_text_release(&text);
    for (int i = 0; i < plan->model->n_ops; i++)
        if (plan->op[i].searched) print_fusion(plan->machine, &plan->op[i].search, line);
}

/* ---- the front ---- */

/* "l2 m 64 n 64, l1 k 32": the largest tile along every loop that a level cuts. */
static void describe_tiles(const tw_program *p, tw_text *out)
{
    tw_cuts cuts = tw_cuts_of(p);
    for (int t = 0; t < cuts.n_levels; t++) {
        if (!cuts.level[t].loops) continue;
        tw_text_printf(out, "%s%s", out->len ? ", " : "", p->machine->memory[p->tiled[t].map->memory].name);
        for (int l = 0; l < p->op->n_loops; l++)
            if (cuts.level[t].loops >> l & 1)
                tw_text_printf(out, " %s %" PRId64, p->op->loop[l].name, cuts.level[t].largest[l]);
    }
    if (!out->len) tw_text_printf(out, "whole");
}

typedef struct front {
    const tw_plan *plan;
    int op, n;
    const tw_search_record *search;
    int end[TW_MAX_OBJECTIVES]; /* column behind each value */
} front;

/* Cycles, ticks and units as bare numbers: the title says what they are. */
static const char *front_value(const front *f, int point, int i, char out[VALUE_MAX])
{
    tw_measure measure = f->search->objective[i].measure;
    value_text(f->plan->machine, measure, tw_plan_front(f->plan, f->op, point)->value[i], out);
    if (measure != TW_ENERGY && measure != TW_EDP) out[strcspn(out, " ")] = 0;
    return out;
}

/* "cycles", "traffic dma" */
static const char *front_title(const front *f, int i, char out[VALUE_MAX])
{
    const tw_objective *objective = &f->search->objective[i];
    const char *word = objective->measure == TW_CYCLES ? "cycles" : measure_word(objective->measure);
    snprintf(out, VALUE_MAX, "%s%s%.16s", word, objective->at ? " " : "", objective->at ? objective->at : "");
    return out;
}

/* Columns as wide as what stands in them. Returns the column of the tiles. */
static int place_columns(front *f)
{
    char text[VALUE_MAX];
    int at = TW_FACT_NAME + tw_text_width("point");
    for (int i = 0; i < f->search->n_objectives; i++) {
        int width = tw_text_width(front_title(f, i, text));
        for (int k = 0; k < f->n; k++) width = (int)tw_max(width, tw_text_width(front_value(f, k, i, text)));
        f->end[i] = at += 2 + width;
    }
    return at + 2;
}

static tw_status point_tiles(const front *f, int point, tw_arena *scratch, tw_diag *diag, tw_text *out)
{
    tw_program program;
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_status status =
        tw_program_build(&(tw_problem){f->plan->model, f->op, f->plan->op[f->op].program.machine},
                         &tw_plan_front(f->plan, f->op, point)->mapping->op[f->op], scratch, diag, &program);
    if (status == TW_OK) describe_tiles(&program, out);
    tw_arena_rewind(scratch, mark);
    return status == TW_OK && out->failed ? TW_ERR_NOMEM : status;
}

static void print_row(const front *f, int point, int at, const char *tiles, tw_line *line)
{
    char text[VALUE_MAX];
    tw_line_printf(line, TW_FACT_NAME, TW_PLAIN, "%5d", point + 1);
    for (int i = 0; i < f->search->n_objectives; i++)
        tw_line_put_right(line, f->end[i], TW_PLAIN, front_value(f, point, i, text));
    tw_line_wrap(line, at, TW_PLAIN, tiles);
}

/* The same as a sentence, where a table would be too wide. */
static void print_fact(const front *f, int point, const char *tiles, tw_line *line)
{
    char number[TW_GROUPED_MAX];
    tw_text text = {0};
    tw_search_record r = *f->search;
    const tw_front_point *at = tw_plan_front(f->plan, f->op, point);
    memcpy(r.value, at->value, (size_t)at->n_values * sizeof *at->value);
    describe_values(f->plan->machine, &r, &text);
    tw_text_printf(&text, "; %s", tiles);
    if (tw_line_has(line, &text)) tw_fact_put(line, TW_PLAIN, tw_grouped(point + 1, number), text.bytes);
    tw_text_release(&text);
}

static void print_titles(const front *f, int at, tw_line *line)
{
    char text[VALUE_MAX];
    tw_line_put(line, TW_FACT_NAME, TW_BOLD, "point");
    for (int i = 0; i < f->search->n_objectives; i++)
        tw_line_put_right(line, f->end[i], TW_BOLD, front_title(f, i, text));
    tw_line_put(line, at, TW_BOLD, "tiles");
    tw_line_end(line);
}

tw_status tw_front_print(const tw_plan *plan, int op, bool brief, tw_line *line, tw_arena *scratch, tw_diag *diag)
{
    enum { TILES_MIN = 16, BRIEF_ROWS = 16 };
    front f = {.plan = plan, .op = op, .n = tw_plan_n_front(plan, op), .search = &plan->op[op].search};
    if (f.n == 0) return TW_OK;
    int at = place_columns(&f);
    bool table = at + TILES_MIN <= line->columns;
    tw_line_printf(line, 0, TW_BOLD, "Pareto front of %s", plan->model->op[op].name);
    tw_line_end(line);
    if (table) print_titles(&f, at, line);
    int rows = brief && f.n > BRIEF_ROWS ? BRIEF_ROWS : f.n;
    for (int i = 0; i < rows; i++) {
        int k = rows < f.n ? (int)((int64_t)i * (f.n - 1) / (rows - 1)) : i;
        tw_text tiles = {0};
        tw_status status = point_tiles(&f, k, scratch, diag, &tiles);
        if (status == TW_OK && !tw_line_has(line, &tiles)) status = TW_ERR_NOMEM;
        if (status == TW_OK && table) print_row(&f, k, at, tiles.bytes, line);
        if (status == TW_OK && !table) print_fact(&f, k, tiles.bytes, line);
        tw_text_release(&tiles);
        TW_TRY(status);
    }
    if (rows < f.n) {
        tw_line_printf(line, TW_FACT_NAME, TW_DIM, "%d of %d points; --full prints all", rows, f.n);
        tw_line_end(line);
    }
    tw_line_end(line);
    return TW_OK;
}

/* ---- data ---- */

static const char *ending_word(tw_ending ending)
{
    static const char *const word[] = {
        [TW_END_DONE] = "done",       [TW_END_BUDGET] = "budget", [TW_END_TIME] = "time",
        [TW_END_STOPPED] = "stopped", [TW_END_MEMORY] = "memory", [TW_END_GAP] = "gap"};
    return word[ending];
}

static void write_objectives(const tw_search_record *r, tw_json *j)
{
    tw_json_key_open(j, "objectives", '[');
    for (int i = 0; i < r->n_objectives; i++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "measure", measure_word(r->objective[i].measure));
        tw_json_key_string(j, "at", r->objective[i].at);
        tw_json_key_number(j, "value", r->value[i]);
        tw_json_key_number(j, "within", r->within[i]);
        tw_json_key_number(j, "least", r->least[i]);
        tw_json_key_number(j, "bound", r->bounds[i]);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_fusion(const tw_fusion_result *f, tw_json *j)
{
    tw_json_key(j, "fusion");
    if (f->n_ops == 0) {
        tw_json_null(j);
        return;
    }
    tw_json_open_line(j, '{');
    tw_json_key_int(j, "operators", f->n_ops);
    tw_json_key_int(j, "groups", f->n_groups);
    tw_json_key_number(j, "value", f->value);
    tw_json_key_number(j, "bound", f->bound);
    tw_json_key_bool(j, "chosen", f->chosen);
    tw_json_key_bool(j, "other_found", f->other_found);
    tw_json_key(j, "other");
    if (isfinite(f->other))
        tw_json_number(j, f->other);
    else
        tw_json_null(j);
    tw_json_close(j);
}

void tw_search_json(const tw_op_plan *plan, tw_json *j)
{
    const tw_search_record *r = &plan->search;
    tw_json_key(j, "search");
    if (!plan->searched) {
        tw_json_null(j);
        return;
    }
    tw_json_open(j, '{');
    tw_json_key_int(j, "best", r->best);
    tw_json_key_int(j, "points", r->n_points);
    tw_json_key_int(j, "optima", r->n_optima);
    tw_json_key_bool(j, "proven", r->proven);
    write_objectives(r, j);
    tw_json_key_number(j, "bound", r->bound);
    tw_json_key_number(j, "gap", r->gap);
    tw_json_key_number(j, "root_bound", r->root_bound);
    tw_json_key_string(j, "bound_by", tw_closer_name(r->bound_by));
    tw_json_key_string(j, "bound_at", r->bound_at);
    tw_json_key_string(j, "space", tw_space_word(r->space));
    tw_json_key_string(j, "space_is", tw_space_meaning(r->space));
    tw_json_key_bool(j, "space_limited", r->limited);
    tw_json_key_number(j, "space_points", r->n_space);
    tw_json_key_int(j, "nodes", r->n_nodes);
    tw_json_key_open_line(j, "closed", '{');
    for (int b = 0; b < TW_N_BOUNDS; b++) tw_json_key_int(j, tw_closer_name((tw_closer)b), r->closed[b]);
    tw_json_close(j);
    tw_json_key_string(j, "ending", ending_word(r->ending));
    tw_json_key_bool(j, "ended_by_default", r->by_default);
    tw_json_key_int(j, "work", r->work);
    write_fusion(&r->fusion, j);
    tw_json_close(j);
}

tw_status tw_front_json(const tw_plan *plan, int op, tw_json *j)
{
    int n = tw_plan_n_front(plan, op);
    if (n == 0) return TW_OK;
    tw_json_key_open(j, "front", '[');
    for (int k = 0; k < n; k++) {
        const tw_front_point *point = tw_plan_front(plan, op, k);
        tw_text mapping = {0};
        tw_mapping_print(point->mapping, plan->model, plan->machine, &mapping);
        tw_json_open(j, '{');
        tw_json_key_open_line(j, "values", '[');
        for (int i = 0; i < plan->op[op].search.n_objectives; i++) tw_json_number(j, point->value[i]);
        tw_json_close(j);
        tw_json_key_string(j, "mapping", mapping.bytes);
        tw_json_close(j);
        bool failed = mapping.failed;
        tw_text_release(&mapping);
        if (failed) return TW_ERR_NOMEM;
    }
    tw_json_close(j);
    return TW_OK;
}
