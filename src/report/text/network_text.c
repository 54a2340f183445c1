/* src/report/text/network_text.c - a planned network for people: first what was not understood, then how long it takes, how good
 * that is, where tensors lie, whether it was run; then the tables. */
#include "report/facts/network_row.h"
#include "report/facts/network_words.h"
#include "report/report.h"
#include "report/text/losses_text.h"
#include "report/text/network_groups.h"
#include "report/text/network_table.h"
#include "report/text/remedy.h"
#include "report/text/summary.h"
#include "write/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct page {
    const tw_network_plan *plan;
    const tw_network *net;
    const tw_network_verdict *verdict;
    const tw_print_options *options;
    tw_arena *scratch;
    tw_line line;
    tw_losses losses; /* of the steps that have a plan */
} page;

/* ---- the facts ---- */

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static void put_heading(page *p)
{
    tw_network_summary sum = tw_network_summary_of(p->net);
    int at = tw_line_put(&p->line, 0, TW_BOLD, tw_base_name(sum.path));
    at = tw_line_printf(&p->line, at, TW_BOLD, " on %s", p->plan->machine->name);
    tw_line_printf(&p->line, at, TW_PLAIN, "  %d node%s", sum.n_nodes, plural(sum.n_nodes));
    tw_line_end(&p->line);
    tw_line_end(&p->line);
}

/* What the bounds are about. */
static void put_spaces(page *p)
{
    char text[128];
    unsigned spaces = tw_network_spaces(p->plan);
    for (int i = 0; i < TW_N_SPACES; i++) {
        if (!(spaces >> i & 1)) continue;
        snprintf(text, sizeof text, "'%s' is %s", tw_space_word((tw_space_name)i),
                 tw_space_meaning((tw_space_name)i));
        tw_fact_put(&p->line, TW_PLAIN, "", text);
    }
}

/* Steps that are in programs. */
static int count_joined(const tw_network_plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->n_parts; i++)
        if (plan->part[i].plan) n += plan->part[i].n_steps;
    return n;
}

static void put_time(page *p)
{
    const tw_network_totals *t = &p->plan->totals;
    int n = p->net->lowered->graph.n_ops;
    char text[256], gap[TW_GAP_MAX], spaces[TW_SPACES_MAX], clock[80] = "";
    int64_t mhz = p->plan->machine->clock_mhz;
    if (mhz > 0) snprintf(clock, sizeof clock, ", %s at %s MHz,", TW_DURATION(t->cycles, mhz), TW_GROUPED(mhz));
    snprintf(text, sizeof text, "%s cycles%s for %s%d step%s, ", TW_GROUPED(t->cycles), clock,
             t->n_planned < n ? "only "
             : n == 1         ? "the "
                              : "all ",
             t->n_planned, plural(t->n_planned));
    int joined = count_joined(p->plan);
    if (t->n_programs > 0 && joined < t->n_planned)
        snprintf(text + strlen(text), sizeof text - strlen(text), "of which %d are %d program%s of %d group%s",
                 joined, t->n_programs, plural(t->n_programs), t->n_groups, plural(t->n_groups));
    else if (t->n_programs > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text), "as %d program%s of %d group%s", t->n_programs,
                 plural(t->n_programs), t->n_groups, plural(t->n_groups));
    else
        snprintf(text + strlen(text), sizeof text - strlen(text), "one after the other");
    if (t->n_planned < n)
        snprintf(text + strlen(text), sizeof text - strlen(text), "; %d %s not in it", n - t->n_planned,
                 n - t->n_planned == 1 ? "is" : "are");
    tw_fact_put(&p->line, TW_PLAIN, "time", text);
    tw_network_gain_print(p->plan, &p->line);
    if (t->n_planned > 0) tw_speed_print(&p->losses, &p->line);
    if (t->n_programs > 0 && t->bound > 0) {
        snprintf(text, sizeof text, "no plan takes fewer than %s cycles, in groups or layer by layer",
                 TW_GROUPED((int64_t)t->bound));
        tw_distance_add(text, sizeof text, t->cycles, (int64_t)t->bound);
        tw_fact_put(&p->line, TW_PLAIN, "bound", text);
        tw_network_cores_print(p->plan, &p->line, p->scratch);
    } else if (t->bound > 0 && t->cycles > 0) {
        double left = ((double)t->cycles - t->bound) / (double)t->cycles;
        bool reached = left <= 0;
        snprintf(text, sizeof text,
                 "%s cycles, no mappings in %s take fewer: %s%s%s; of %d layers %d proven best, %d within 1%%",
                 TW_GROUPED((int64_t)t->bound), tw_spaces_text(tw_network_spaces(p->plan), spaces),
                 reached ? "reached" : "at most ", reached ? "" : tw_gap_text(left, false, gap),
                 reached ? "" : " to gain", p->net->layers.n, t->n_proven, t->n_close);
        tw_fact_put(&p->line, TW_PLAIN, "bound", text);
        if (!p->options->brief) put_spaces(p);
    }
    if (t->energy_fj > 0) tw_fact_put(&p->line, TW_PLAIN, "energy", TW_ENERGY(t->energy_fj));
}

static bool ran_out(const tw_plan *plan)
{
    return plan && plan->op[0].searched && plan->op[0].search.ending == TW_END_BUDGET &&
           plan->op[0].search.gap >= 0.01;
}

/* Layers whose searches the budget ended, the first few by name. */
static void put_ran_out(page *p)
{
    enum { LISTED = 3 };
    int n = p->plan->totals.n_ran_out, listed = 0;
    tw_text text = {0};
    if (n == 0) return;
    tw_text_printf(&text, "%d layer%s ran out of work with a gap above 1%%:", n, plural(n));
    for (int i = 0; i < p->net->layers.n && listed < LISTED; i++)
        if (ran_out(p->plan->plan[i]))
            tw_text_printf(&text, "%s %s (%s)", listed++ ? "," : "", p->net->model->op[i].name,
                           tw_gap_text(p->plan->plan[i]->op[0].search.gap, false, (char[TW_GAP_MAX]){0}));
    if (n > listed) tw_text_printf(&text, " and %d more", n - listed);
    tw_text_printf(&text, "; --budget=N gives each more, --prove no limit");
    if (tw_line_has(&p->line, &text)) tw_fact_put(&p->line, TW_PLAIN, "budget", text.bytes);
    tw_text_release(&text);
}

static void put_steps(page *p)
{
    tw_network_summary sum = tw_network_summary_of(p->net);
    char text[200];
    snprintf(text, sizeof text, "%d, of which %d tiled, in %d distinct layer%s; %s multiply-adds", sum.n_steps,
             sum.n_tiled, sum.n_layers, plural(sum.n_layers), TW_GROUPED(sum.macs));
    tw_fact_put(&p->line, TW_PLAIN, "steps", text);
}

/* Operators that have no time: first of all, and in red. */
static void put_undescribed(page *p)
{
    tw_text text = {0};
    const tw_lowered *lowered = p->net->lowered;
    for (int i = 0; i < lowered->n_undescribed; i++) {
        const tw_undescribed *c = &lowered->undescribed[i];
        tw_text_printf(&text, "%s%s %d (%s)", i ? ", " : "", c->op, c->n, c->why);
    }
    if (tw_line_has(&p->line, &text) && text.len > 0) tw_fact_put(&p->line, TW_ALARM, "no time for", text.bytes);
    tw_text_release(&text);
}

/* "'conv1' and 2 more: reason of the first", or each with its own where everything is asked for. */
static void put_refused(page *p)
{
    tw_text text = {0};
    int n = 0;
    bool all = p->options->n_rows < 0;
    for (int i = 0; i < p->net->layers.n; i++) {
        const char *name = p->net->model->op[i].name, *why = p->plan->refusal[i];
        if (!why || (n++ > 0 && !all)) continue;
        int more = p->plan->totals.n_refused - p->net->layers.count[i];
        tw_text_printf(&text, "%s%s", n > 1 ? "; " : "", name);
        if (!all && more > 0) tw_text_printf(&text, " and %d more step%s", more, plural(more));
        tw_text_printf(&text, ": %s", why);
    }
    if (tw_line_has(&p->line, &text) && text.len > 0) tw_fact_put(&p->line, TW_ALARM, "no plan for", text.bytes);
    tw_text_release(&text);
}

typedef struct tally {
    const char *op;
    int n;
} tally;
static int by_count(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    return x->n != y->n ? y->n - x->n : strcmp(x->op, y->op);
}

/* Distinct operators of what was folded, the most frequent first. */
static int tally_folds(const tw_lowered *lowered, tally *out, int most)
{
    int n = 0;
    for (int i = 0; i < lowered->n_folds; i++) {
        int k = 0;
        while (k < n && strcmp(out[k].op, lowered->fold[i].op) != 0) k++;
        if (k == most) continue;
        if (k == n) out[n++] = (tally){lowered->fold[i].op, 0};
        out[k].n++;
    }
    qsort(out, (size_t)n, sizeof *out, by_count);
    return n;
}

static void put_folds(page *p)
{
    enum { MOST = 64, LISTED = 8 };
    const tw_lowered *lowered = p->net->lowered;
    tally all[MOST];
    tw_text text = {0};
    int n = tally_folds(lowered, all, MOST), rest = lowered->n_folds;
    for (int i = 0; i < n && i < LISTED; rest -= all[i].n, i++)
        tw_text_printf(&text, "%s%s %d", i ? ", " : "", all[i].op, all[i].n);
    if (rest > 0) tw_text_printf(&text, ", others %d", rest);
    if (n > 0) tw_text_printf(&text, " into the steps before them");
    if (lowered->n_views > 0)
        tw_text_printf(&text, "%s%d view%s need%s no work", n ? "; " : "", lowered->n_views,
                       plural(lowered->n_views), lowered->n_views == 1 ? "s" : "");
    if (tw_line_has(&p->line, &text) && text.len > 0) tw_fact_put(&p->line, TW_PLAIN, "folded", text.bytes);
    tw_text_release(&text);
}

/* "23 nodes depend on constants alone: 8 results of 1'024 bytes, made before the network runs" */
static void put_constants(page *p)
{
    const tw_lowered *lowered = p->net->lowered;
    tw_text text = {0};
    if (lowered->n_constant_nodes > 0)
        tw_text_printf(&text, "%d node%s depend%s on constants alone and %s no work", lowered->n_constant_nodes,
                       plural(lowered->n_constant_nodes), lowered->n_constant_nodes == 1 ? "s" : "",
                       lowered->n_constant_nodes == 1 ? "is" : "are");
    if (lowered->n_constants > 0)
        tw_text_printf(&text, "%s%d result%s of %s byte%s %s read like weights", text.len > 0 ? "; " : "",
                       lowered->n_constants, plural(lowered->n_constants), TW_GROUPED(lowered->constant_bytes),
                       lowered->constant_bytes == 1 ? "" : "s", lowered->n_constants == 1 ? "is" : "are");
    for (int i = 0; i < lowered->n_too_large && i < 3; i++)
        tw_text_printf(&text, "%s%s'%s'", text.len > 0 && i == 0 ? "; " : "", i ? ", " : "", lowered->too_large[i]);
    if (lowered->n_too_large > 3) tw_text_printf(&text, " and %d more", lowered->n_too_large - 3);
    if (lowered->n_too_large > 0)
        tw_text_printf(&text, " %s left as %s: more than %s bytes of constants",
                       lowered->n_too_large == 1 ? "is" : "are", lowered->n_too_large == 1 ? "it is" : "they are",
                       TW_GROUPED(TW_CONSTANT_MOST_BYTES));
    if (tw_line_has(&p->line, &text) && text.len > 0) tw_fact_put(&p->line, TW_PLAIN, "constants", text.bytes);
    tw_text_release(&text);
}

/* Both sides of an If are planned when nobody knows which one runs. */
static void put_branches(page *p)
{
    int n = 0;
    char text[160];
    for (int s = 0; s < p->net->lowered->graph.n_ops; s++) n += p->net->lowered->graph.op[s].from.in_branch;
    if (n == 0) return;
    snprintf(text, sizeof text, "%d step%s of an If whose condition is not known: all of them are in the totals", n,
             plural(n));
    tw_fact_put(&p->line, TW_ALARM, "branches", text);
}

static void put_unshaped(page *p)
{
    char text[160];
    int n = p->net->shapes->n_unknown;
    if (n == 0) return;
    snprintf(text, sizeof text, "%d value%s: it depends on data, or on an operator that is not known", n,
             plural(n));
    tw_fact_put(&p->line, TW_ALARM, "no shape", text);
}

static void put_stale(page *p)
{
    const tw_shapes *shapes = p->net->shapes;
    tw_text text = {0};
    if (shapes->n_stale == 0) return;
    tw_text_printf(&text, "%d shape%s in the file %s wrong, such as %s", shapes->n_stale, plural(shapes->n_stale),
                   shapes->n_stale == 1 ? "is" : "are", shapes->stale[0]);
    if (tw_line_has(&p->line, &text) && text.len > 0) tw_fact_put(&p->line, TW_ALARM, "stale", text.bytes);
    tw_text_release(&text);
}

static void put_on_chip(page *p)
{
    const tw_network_memory *m = &p->plan->memory;
    char text[400];
    int n = 0;
    if (!m->on_chip || m->n_tensors == 0) return;
    for (int i = 0; i < m->n_tensors; i++) n += m->tensor[i].fits_on_chip;
    if (n == 0)
        snprintf(text, sizeof text, "none of %d tensors fits into %s beside the buffers of its steps", m->n_tensors,
                 m->on_chip);
    else
        snprintf(text, sizeof text,
                 "%d of %d tensors fit into %s beside the buffers of their steps: %s %s would not cross the "
                 "outer link",
                 n, m->n_tensors, m->on_chip, TW_GROUPED(m->saved_bytes),
                 p->plan->machine->unit == TW_UNIT_ELEMENT ? "elements" : "bytes");
    tw_fact_put(&p->line, TW_PLAIN, "on chip", text);
}

static void put_memory(page *p)
{
    const tw_network_memory *m = &p->plan->memory;
    char text[400], proof[80] = "least possible";
    if (m->peak_bytes > m->least_bytes)
        snprintf(proof, sizeof proof, "at least %s needed", TW_GROUPED(m->least_bytes));
    snprintf(text, sizeof text,
             "%s bytes in %s for tensors between steps (%s; without sharing %s), at step %d; weights %s "
             "bytes",
             TW_GROUPED(m->peak_bytes), m->memory, proof, TW_GROUPED(m->sum_bytes), m->peak_step,
             TW_GROUPED(m->weight_bytes));
    if (m->n_tensors > 0) tw_fact_put(&p->line, TW_PLAIN, "tensors", text);
    put_on_chip(p);
}

/* ---- the verdict ---- */

static void put_faults(page *p, tw_text *text)
{
    enum { LISTED = 3 };
    int n = 0;
    for (int s = 0; s < p->verdict->n_steps; s++) {
        const char *fault = p->verdict->step[s].fault;
        if (fault && n++ < LISTED)
            tw_text_printf(text, "; step %d '%s': %s", s, p->net->lowered->graph.op[s].name, fault);
    }
    if (n > LISTED) tw_text_printf(text, "; and %d more", n - LISTED);
}

/* Of programs that were not run on numbers. */
static void put_checked(page *p)
{
    const tw_network_verdict *v = p->verdict;
    char text[200];
    snprintf(text, sizeof text, "%s %s command%s of %d program%s%s; 'tilewright verify' runs %s on numbers",
             v->n_wrong ? "wrong:" : "checked", TW_GROUPED(v->n_commands), plural(v->n_commands), v->n_programs,
             plural(v->n_programs), v->stopped ? " before time was up" : "", v->n_programs == 1 ? "it" : "them");
    tw_fact_put(&p->line,
                v->n_wrong   ? TW_ALARM
                : v->stopped ? TW_PLAIN
                             : TW_GOOD,
                v->stopped ? "in part" : "verified", text);
}

static void put_verdict(page *p)
{
    const tw_network_verdict *v = p->verdict;
    tw_text text = {0};
    if (!v) {
        tw_fact_put(&p->line, TW_DIM, "verified", "no; 'tilewright verify' runs every layer on numbers");
        return;
    }
    if (!v->step) {
        put_checked(p);
        return;
    }
    tw_text_printf(&text, "%d tiled program%s executed, every command checked; %d tensor%s equal to the reference",
                   v->n_executed, plural(v->n_executed), v->n_equal, plural(v->n_equal));
    if (v->n_programs > 0)
        tw_text_printf(&text, "; %d program%s of several steps, as they are planned", v->n_programs,
                       plural(v->n_programs));
    if (v->program_why_not) tw_text_printf(&text, "; a program was run layer by layer: %s", v->program_why_not);
    if (v->n_host > 0) tw_text_printf(&text, "; %d step%s on the host", v->n_host, plural(v->n_host));
    if (v->n_skipped > 0) tw_text_printf(&text, "; %d untiled", v->n_skipped);
    if (v->n_constants > 0)
        tw_text_printf(&text, "; %d of %d folded constant%s compared, equal too", v->n_constants_equal,
                       v->n_constants, plural(v->n_constants));
    if (v->n_wrong > 0) tw_text_printf(&text, "; %d wrong", v->n_wrong);
    if (v->constant_fault) tw_text_printf(&text, "; constant %s", v->constant_fault);
    put_faults(p, &text);
    if (v->stopped) tw_text_printf(&text, "; time was up before the rest was reached");
    const char *title = v->n_wrong ? "wrong" : v->stopped ? "in part" : "verified";
    if (tw_line_has(&p->line, &text) && text.len > 0)
        tw_fact_put(&p->line, v->n_wrong ? TW_ALARM : v->stopped ? TW_PLAIN : TW_GOOD, title, text.bytes);
    tw_text_release(&text);
}

/* Of the first layer that was searched for; NULL: none was. */
static const tw_search_record *first_search(const page *p)
{
    for (int i = 0; i < p->net->layers.n; i++)
        if (p->plan->plan[i] && p->plan->plan[i]->op[0].searched) return &p->plan->plan[i]->op[0].search;
    return NULL;
}

static tw_remedy_frame frame_of(const page *p)
{
    const tw_search_record *first = first_search(p);
    bool energy = first && first->objective[0].measure == TW_ENERGY;
    return (tw_remedy_frame){
        .measure = energy ? TW_ENERGY : TW_CYCLES, .unit = p->plan->machine->unit, .several = true};
}

/* What would help all layers together. */
static tw_status put_remedies(page *p)
{
    const tw_remedy_frame frame = frame_of(p);
    if (p->plan->totals.n_programs == 0) tw_line_end(&p->line);
    return tw_report_remedies_text(&frame, p->options->remedy, p->options->n_remedies, &p->line);
}

/* What stands above the tables of a network in programs. */
static tw_status put_layers(page *p)
{
    tw_losses losses;
    TW_TRY(tw_losses_of_layers(p->plan, p->scratch, &losses));
    tw_line_end(&p->line);
    tw_fact_put(&p->line, TW_PLAIN, "layers", "what follows is about the same steps layer by layer");
    tw_line_end(&p->line);
    return tw_losses_print(&losses, &p->line, p->scratch);
}

tw_status tw_report_network_text(const tw_network_plan *plan, const tw_network_verdict *verdict,
                                 const tw_print_options *options, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    page *p = TW_NEW(scratch, page, 1);
    if (!p) return TW_ERR_NOMEM;
    *p = (page){.plan = plan, .net = plan->network, .verdict = verdict, .options = options, .scratch = scratch};
    tw_line_init(&p->line, options, out);
    TW_TRY(tw_losses_of_network(plan, scratch, &p->losses));
    put_heading(p);
    put_undescribed(p);
    put_refused(p);
    put_unshaped(p);
    put_branches(p);
    put_stale(p);
    put_time(p);
    put_ran_out(p);
    put_steps(p);
    if (!options->brief) {
        put_memory(p);
        put_folds(p);
        put_constants(p);
    }
    put_verdict(p);
    TW_TRY(tw_network_groups_print(plan, !options->brief, &p->line, scratch));
    bool layers = plan->totals.layers_cycles > 0 || plan->totals.n_programs == 0;
    if (plan->totals.n_planned > 0) {
        tw_line_end(&p->line);
        TW_TRY(tw_losses_print(&p->losses, &p->line, scratch));
    }
    if (options->remedy) TW_TRY(put_remedies(p));
    if (plan->totals.n_programs > 0) layers &= !options->brief;
    if (plan->totals.n_programs > 0 && layers) TW_TRY(put_layers(p));
    if (layers) TW_TRY(tw_network_tables_print(plan, verdict, options, scratch, &p->line));
    if (options->brief) {
        const tw_remedy_frame frame = frame_of(p);
        if (layers) tw_line_end(&p->line);
        if (options->hint) tw_report_hints_text(&frame, options->hint, options->n_hints, &p->line);
        tw_more_print(&p->line,
                      !options->remedy && first_search(p) != NULL ? "--explain tries what would help; " : "",
                      "all facts, layers and memories");
    }
    TW_TRY(tw_line_status(&p->line));
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the report");
    return TW_OK;
}
