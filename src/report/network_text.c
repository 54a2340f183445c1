/* src/report/network_text.c - a planned network for people: what was not understood, how long it takes, a line per step, the
 * layers' tiles and memories, where tensors lie. */
#include "report/network_row.h"
#include "report/number.h"
#include "report/summary.h"
#include "report/table.h"

#include <stdio.h>
#include <string.h>

typedef struct page {
    const tw_network_plan *plan;
    const tw_network *net;
    const tw_network_verdict *verdict;
    const tw_print_options *options;
    tw_arena *scratch;
    tw_line line;
} page;

/* ---- the facts ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_heading(page *p)
{
    tw_network_summary sum = tw_network_summary_of(p->net);
    int at = tw_line_put(&p->line, 0, TW_BOLD, base_name(sum.path));
    at = tw_line_printf(&p->line, at, TW_BOLD, " on %s", p->plan->machine->name);
    tw_line_printf(&p->line, at, TW_PLAIN, "  %d nodes", sum.n_nodes);
    tw_line_end(&p->line);
    tw_line_end(&p->line);
    char text[200];
    snprintf(text, sizeof text, "%d (%d on the host), %d of them distinct; %s multiply-adds", sum.n_steps,
             sum.n_host + sum.n_unknown, sum.n_layers, TW_GROUPED(sum.macs));
    tw_fact_put(&p->line, TW_PLAIN, "steps", text);
}

static void put_time(page *p)
{
    const tw_network_totals *t = &p->plan->totals;
    char text[256];
    snprintf(text, sizeof text, "%s cycles for %d of %d steps, one after the other", TW_GROUPED(t->cycles), t->n_planned,
             p->net->lowered->n_steps);
    tw_fact_put(&p->line, TW_PLAIN, "time", text);
    if (t->bound > 0 && t->cycles > 0) {
        snprintf(text, sizeof text, "%s cycles: at most %.2f%% to gain; %d of %d layers proven, %d within 1%%",
                 TW_GROUPED((int64_t)t->bound), 100 * ((double)t->cycles - t->bound) / (double)t->cycles, t->n_proven,
                 p->net->n_layers, t->n_close);
        tw_fact_put(&p->line, TW_PLAIN, "bound", text);
    }
    if (t->energy_fj > 0) tw_fact_put(&p->line, TW_PLAIN, "energy", TW_ENERGY(t->energy_fj));
}

/* Operators that have no time: first of all, and in red. */
static void put_undescribed(page *p)
{
    tw_text text = {0};
    const tw_lowered *lowered = p->net->lowered;
    for (int i = 0; i < lowered->n_undescribed; i++) {
        const tw_count *c = &lowered->undescribed[i];
        tw_text_printf(&text, "%s%s %d (%s)", i ? ", " : "", c->op, c->n, c->why);
    }
    if (text.bytes) tw_fact_put(&p->line, TW_ALARM, "no time for", text.bytes);
    tw_text_release(&text);
}

static void put_refused(page *p)
{
    tw_text text = {0};
    int n = 0;
    for (int i = 0; i < p->net->n_layers; i++) {
        if (!p->plan->refusal[i]) continue;
        if (n < 3) tw_text_printf(&text, "%s'%s': %s", n ? "; " : "", p->net->model->op[i].name, p->plan->refusal[i]);
        n++;
    }
    if (n > 3) tw_text_printf(&text, "; and %d more layers", n - 3);
    if (text.bytes) tw_fact_put(&p->line, TW_ALARM, "no plan for", text.bytes);
    tw_text_release(&text);
}

static void put_folds(page *p)
{
    const tw_lowered *lowered = p->net->lowered;
    char text[512];
    size_t n = 0;
    const char *seen[8];
    int n_seen = 0;
    for (int i = 0; i < lowered->n_folds && n_seen < 8; i++) {
        int count = 0, k = 0;
        while (k < n_seen && strcmp(seen[k], lowered->fold[i].op) != 0) k++;
        if (k < n_seen) continue;
        seen[n_seen++] = lowered->fold[i].op;
        for (int j = i; j < lowered->n_folds; j++) count += strcmp(lowered->fold[j].op, lowered->fold[i].op) == 0;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %d", n ? ", " : "", lowered->fold[i].op, count);
        if (n >= sizeof text) break;
    }
    if (n_seen == 0) return;
    if (n < sizeof text - 64) snprintf(text + n, sizeof text - n, " into the steps before them; %d views need no work", lowered->n_views);
    tw_fact_put(&p->line, TW_PLAIN, "folded", text);
}

static void put_stale(page *p)
{
    const tw_shapes *shapes = p->net->shapes;
    char text[400];
    if (shapes->n_stale == 0) return;
    snprintf(text, sizeof text, "%d shapes in the file are wrong, such as %s", shapes->n_stale, shapes->stale[0]);
    tw_fact_put(&p->line, TW_ALARM, "stale", text);
}

static void put_memory(page *p)
{
    const tw_network_memory *m = &p->plan->memory;
    char text[400];
    snprintf(text, sizeof text,
             "%s bytes in %s for tensors between steps (%s, without sharing %s), at step %d; weights %s bytes",
             TW_GROUPED(m->peak_bytes), m->memory, m->peak_bytes == m->least_bytes ? "least possible" : "not proven least",
             TW_GROUPED(m->sum_bytes), m->peak_step + 1, TW_GROUPED(m->weight_bytes));
    tw_fact_put(&p->line, TW_PLAIN, "peak", text);
    int n = 0;
    for (int i = 0; i < m->n_tensors; i++) n += m->tensor[i].fits_on_chip;
    if (!m->on_chip) return;
    snprintf(text, sizeof text, "%d of %d tensors fit into %s beside the buffers of their steps: %s %s would not cross the outer link",
             n, m->n_tensors, m->on_chip, TW_GROUPED(m->saved_bytes),
             p->plan->machine->unit == TW_UNIT_ELEMENT ? "elements" : "bytes");
    tw_fact_put(&p->line, TW_PLAIN, "on chip", text);
}

static void put_verdict(page *p)
{
    const tw_network_verdict *v = p->verdict;
    char text[256];
    if (!v) {
        tw_fact_put(&p->line, TW_DIM, "verified", "no; 'tilewright verify' runs every layer on numbers");
        return;
    }
    snprintf(text, sizeof text,
             "%d tiled programs executed, every command checked; %d tensors equal to the reference, %d wrong; %d steps on "
             "the host, %d untiled",
             v->n_executed, v->n_equal, v->n_wrong, v->n_host, v->n_skipped);
    tw_fact_put(&p->line, v->n_wrong ? TW_ALARM : TW_GOOD, v->n_wrong ? "wrong" : "verified", text);
}

/* ---- the table of steps ---- */

static const char *gap_text(const tw_network_row *row, tw_arena *arena)
{
    if (row->gap < 0) return "-";
    if (row->proven) return "0";
    return tw_arena_printf(arena, "%.2g%%", 100 * row->gap);
}

static const char *verdict_text(const tw_step_verdict *v)
{
    if (v->fault) return "WRONG";
    if (v->executed) return v->equal ? "equal" : v->compared ? "?" : "ran";
    return v->compared ? "untiled" : "host";
}

static const char *clipped(const char *text, int most, tw_arena *arena)
{
    int n = (int)strlen(text);
    if (n <= most) return text;
    const char *cut = tw_arena_printf(arena, "..%s", text + n - most + 2);
    return cut ? cut : text;
}

enum { STEP, OPERATOR, SHAPE, CYCLES, GAP, BUSY, LIMIT, VERDICT, MACS, BOUND, ENERGY, N_STEP_COLUMNS };

static void put_step(page *p, tw_table *table, int s)
{
    tw_network_row row = tw_network_row_of(p->plan, s);
    const tw_step_verdict *v = p->verdict ? &p->verdict->step[s] : NULL;
    bool wide = p->line.columns >= 120;
    tw_table_row(table, v && v->fault ? TW_ALARM : row.plan ? TW_PLAIN : TW_DIM);
    tw_table_put(table, STEP, clipped(row.step->name, wide ? 40 : 20, p->scratch));
    tw_table_put(table, OPERATOR, clipped(row.step->op, wide ? 40 : 16, p->scratch));
    tw_table_put(table, SHAPE, row.shape);
    if (v) tw_table_put(table, VERDICT, verdict_text(v));
    if (row.macs) tw_table_put(table, MACS, TW_GROUPED(row.macs));
    if (!row.plan) {
        tw_table_put(table, CYCLES, "?");
        return;
    }
    tw_table_put(table, CYCLES, TW_GROUPED(row.cycles));
    tw_table_put(table, GAP, gap_text(&row, p->scratch));
    tw_table_put(table, BUSY, TW_PERCENT(row.compute_busy, row.cycles));
    tw_table_put(table, LIMIT, row.bottleneck);
    if (row.gap >= 0) tw_table_put(table, BOUND, TW_GROUPED((int64_t)row.bound));
    if (row.energy_fj) tw_table_put(table, ENERGY, TW_ENERGY(row.energy_fj));
}

static tw_status put_steps(page *p)
{
    static const char *const title[] = {"step", "operator", "output", "cycles", "gap", "busy", "limit",
                                        "run",  "MACs",     "bound",  "energy"};
    tw_table table;
    tw_table_init(&table, title, N_STEP_COLUMNS, 3, p->scratch);
    for (int s = 0; s < p->net->lowered->n_steps; s++) put_step(p, &table, s);
    tw_line_end(&p->line);
    return tw_table_print(&table, &p->line);
}

/* ---- the table of layers ---- */

static void put_layer(page *p, tw_table *table, int i)
{
    const tw_plan *plan = p->plan->plan[i];
    const tw_machine *machine = p->plan->machine;
    tw_table_row(table, TW_PLAIN);
    tw_table_put(table, 0, clipped(p->net->model->op[i].name, 24, p->scratch));
    tw_table_printf(table, 1, "%d", p->net->layer[i].n_steps);
    for (int m = 1; m < machine->n_memories; m++) {
        tw_table_put(table, 2 * m, TW_GROUPED(plan->op[0].memory[m].static_units));
        tw_table_put(table, 2 * m + 1, TW_GROUPED(tw_step_moves(plan, m)));
    }
    const char *tiles = tw_tiles_text(plan, p->scratch);
    if (tiles) tw_table_put(table, 2 * machine->n_memories, tiles);
}

/* Per memory what the layer's buffers take there and what is moved into it and out; last the tile. */
static tw_status put_layers(page *p)
{
    const tw_machine *machine = p->plan->machine;
    const char *title[TW_TABLE_COLUMNS] = {"layer", "steps"};
    tw_table table;
    int n = 2;
    for (int m = 1; m < machine->n_memories && n + 3 < TW_TABLE_COLUMNS; m++) {
        title[n++] = machine->memory[m].name;
        title[n++] = "moved";
    }
    title[n++] = "tile";
    tw_table_init(&table, title, n, 1, p->scratch);
    table.tail = true;
    for (int i = 0; i < p->net->n_layers; i++)
        if (p->plan->plan[i]) put_layer(p, &table, i);
    tw_line_end(&p->line);
    return tw_table_print(&table, &p->line);
}

tw_status tw_report_network_text(const tw_network_plan *plan, const tw_network_verdict *verdict,
                                 const tw_print_options *options, tw_arena *scratch, tw_diag *diag, FILE *out)
{
    page *p = TW_NEW(scratch, page, 1);
    if (!p) return TW_ERR_NOMEM;
    *p = (page){.plan = plan, .net = plan->network, .verdict = verdict, .options = options, .scratch = scratch};
    tw_line_init(&p->line, options, out);
    put_heading(p);
    put_undescribed(p);
    put_refused(p);
    put_stale(p);
    put_time(p);
    put_memory(p);
    put_folds(p);
    put_verdict(p);
    TW_TRY(put_steps(p));
    TW_TRY(put_layers(p));
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the report");
    return TW_OK;
}
