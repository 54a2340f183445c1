/* src/report/text/network_table.c - see network_table.h. */
#include "report/text/network_table.h"

#include "plan/off_chip.h"
#include "report/facts/losses.h"
#include "report/facts/network_row.h"
#include "report/facts/network_words.h"
#include "report/text/losses_text.h"
#include "write/number.h"
#include "write/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_LIST = 60, SHOWN = 40, FEW = 12, WIDE = 120 };

typedef struct tables {
    const tw_network_plan *plan;
    const tw_network *net;
    const tw_network_verdict *verdict;
    tw_arena *scratch;
    tw_line *line;
    bool wide, brief;
    bool *shown;       /* per step  */
    bool *layer_shown; /* per layer */
    int n_shown;
    bool expensive; /* those that cost most, not those that were asked for */
} tables;

/* ---- which steps and layers ---- */

typedef struct cost {
    int64_t cycles;
    int of;
} cost;
static int by_cycles(const void *a, const void *b)
{
    const cost *x = a, *y = b;
    if (x->cycles != y->cycles) return x->cycles > y->cycles ? -1 : 1;
    return x->of - y->of;
}

static void keep_expensive(cost *all, int n, int n_kept, bool *kept)
{
    qsort(all, (size_t)n, sizeof *all, by_cycles);
    for (int i = 0; i < n; i++) kept[all[i].of] = i < n_kept;
}

/* What is wrong is shown before anything that is slow. */
static tw_status choose_expensive(tables *t)
{
    int n = t->net->lowered->graph.n_ops;
    cost *all;
    TW_ALLOC(t->scratch, all, n);
    for (int s = 0; s < n; s++) {
        bool wrong = t->verdict && t->verdict->step && t->verdict->step[s].fault;
        all[s] = (cost){wrong ? INT64_MAX : tw_network_row_of(t->plan, s).cycles, s};
    }
    keep_expensive(all, n, t->brief ? FEW : SHOWN, t->shown);
    return TW_OK;
}

static tw_status choose_steps(tables *t, const tw_print_options *o)
{
    int n = t->net->lowered->graph.n_ops;
    TW_ALLOC(t->scratch, t->shown, n + 1);
    TW_ALLOC(t->scratch, t->layer_shown, t->net->layers.n + 1);
    t->expensive = o->n_rows == 0 && n > (t->brief ? FEW + FEW / 2 : LONG_LIST);
    if (t->expensive) TW_TRY(choose_expensive(t));
    for (int s = 0; s < n; s++) {
        if (!t->expensive) t->shown[s] = o->n_rows <= 0 || (s >= o->first_row && s - o->first_row < o->n_rows);
        t->n_shown += t->shown[s];
        if (t->shown[s] && t->net->layers.of[s] >= 0) t->layer_shown[t->net->layers.of[s]] = true;
    }
    return TW_OK;
}

/* Where each layer has a row per memory, fewer of them make a long list. */
static tw_status choose_layers(tables *t, const tw_print_options *o)
{
    int n = 0, n_rows = t->plan->machine->n_memories - 1;
    cost *all;
    TW_ALLOC(t->scratch, all, t->net->layers.n + 1);
    for (int i = 0; i < t->net->layers.n; i++)
        if (t->layer_shown[i] && t->plan->plan[i])
            all[n++] = (cost){t->net->layers.count[i] * t->plan->plan[i]->sum.cycles, i};
    if (o->n_rows != 0 || n * n_rows <= LONG_LIST) return TW_OK;
    int kept = (int)tw_max(1, SHOWN / n_rows);
    keep_expensive(all, n, kept, t->layer_shown);
    tw_line_printf(t->line, 2, TW_DIM, "of the %d most expensive layers:", kept);
    tw_line_end(t->line);
    return TW_OK;
}

/* ---- fitting ---- */

typedef const char *(*clipper)(const char *text, int most, tw_arena *arena);

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many different cells a column has when they are cut so; `cell` has room for all of them. */
static int64_t count_distinct(const tw_table *table, int column, int front, int most, const char **cell)
{
    tw_arena_mark mark = tw_arena_save(table->arena);
    int64_t n = 0, distinct = 0;
    for (int64_t r = 0; r < table->n_rows; r++) {
        const char *text = tw_clip_behind(table->row[r][column], front, most, table->arena);
        if (text) cell[n++] = text;
    }
    qsort(cell, (size_t)n, sizeof *cell, by_text);
    for (int64_t i = 0; i < n; i++) distinct += i == 0 || strcmp(cell[i - 1], cell[i]) != 0;
    tw_arena_rewind(table->arena, mark);
    return distinct;
}

/* Where to cut the names of a column so that as many as possible stay different, near the middle. */
static int best_front(const tw_table *table, int column, int most)
{
    int middle = (most - 2) / 2, best = middle;
    const char **cell = tw_arena_alloc(table->arena, (size_t)table->n_rows + 1, sizeof *cell);
    if (!cell) return middle; /* the table itself will fail */
    int64_t distinct = count_distinct(table, column, middle, most, cell);
    for (int front = middle - 1; front >= 0; front--) {
        int64_t n = count_distinct(table, column, front, most, cell);
        if (n > distinct) best = front, distinct = n;
    }
    return best;
}

/* Characters that the column may have so that the table fits, but no less than `least`. */
static int room_of(const tw_table *table, int column, int least, const tw_line *line)
{
    int width = table->indent + table->n_columns - 1, wanted = table->width[column];
    for (int c = 0; c < table->n_columns; c++) width += table->width[c];
    if (width <= line->columns) return wanted;
    return (int)tw_max(tw_max(least, tw_text_width(table->title[column])), wanted - (width - line->columns));
}

/* Shortens the cells of a column until the table fits, but to no less than `least` characters. */
static void squeeze(tw_table *table, int column, int least, clipper clip, const tw_line *line)
{
    int most = room_of(table, column, least, line);
    if (most >= table->width[column]) return;
    for (int64_t r = 0; r < table->n_rows; r++) {
        const char *text = clip(table->row[r][column], most, table->arena);
        if (text)
            table->row[r][column] = text;
        else
            table->failed = true;
    }
    table->width[column] = most;
}

/* Names stay different where that is possible. */
static void squeeze_names(tw_table *table, int column, int least, const tw_line *line)
{
    int most = room_of(table, column, least, line);
    if (most >= table->width[column]) return;
    int front = best_front(table, column, most);
    for (int64_t r = 0; r < table->n_rows; r++) {
        const char *text = tw_clip_behind(table->row[r][column], front, most, table->arena);
        if (text)
            table->row[r][column] = text;
        else
            table->failed = true;
    }
    table->width[column] = most;
}

/* ---- steps ---- */

typedef enum fact {
    NUMBER,
    NAME,
    OPERATOR,
    OUTPUT,
    LAYER,
    MACS,
    CYCLES,
    SHARE,
    BOUND,
    GAP,
    RUN,
    PEAK,
    LOST,
    BUSY,
    LIMIT,
    ENERGY,
    RATE,
    N_FACTS
} fact;

typedef struct step_table {
    tw_table table;
    const char *title[N_FACTS];
    int column[N_FACTS]; /* -1: not shown */
} step_table;

static bool is_wanted(const tables *t, fact f)
{
    bool searched = t->plan->totals.bound > 0;
    switch (f) {
    case OUTPUT:
    case LAYER:
    case BUSY:
    case LIMIT:
    case MACS: return t->wide;
    case BOUND: return t->wide && searched;
    case GAP: return searched;
    case ENERGY: return t->plan->totals.energy_fj > 0;
    case RUN: return t->verdict != NULL;
    default: return true;
    }
}

static void begin_steps(const tables *t, step_table *st)
{
    const char *rate = t->plan->machine->unit == TW_UNIT_ELEMENT ? "el/cycle" : "B/cycle";
    const char *const title[] = {"",    "step", "operator", "output",  "layer", "MACs",  "cycles", "share", "bound",
                                 "gap", "run",  "of peak",  "lost to", "busy",  "limit", "energy", rate};
    int n = 0;
    for (int f = 0; f < N_FACTS; f++) {
        st->column[f] = is_wanted(t, (fact)f) ? n : -1;
        if (st->column[f] >= 0) st->title[n++] = title[f];
    }
    tw_table_init(&st->table, st->title, n, t->wide ? OUTPUT + 1 : OUTPUT, t->scratch);
    st->table.once = false;
}

static void put(step_table *st, fact f, const char *text)
{
    if (st->column[f] >= 0) tw_table_put(&st->table, st->column[f], text);
}

static const char *verdict_word(const tw_step_verdict *v)
{
    if (v->fault) return "WRONG";
    if (v->executed) return v->equal ? "equal" : v->compared ? "?" : "ran";
    return v->compared ? "untiled" : "host";
}

/* A name without the operator at its end: "/layer1/conv1" of "/layer1/conv1/Conv". */
static const char *short_name(const tw_op *step, tw_arena *arena)
{
    size_t name = strlen(step->name), op = strcspn(step->from.what, "+");
    bool ends = name > op + 1 && strncmp(step->name + name - op, step->from.what, op) == 0 &&
                step->name[name - op - 1] == '/';
    const char *copy = ends ? tw_arena_strndup(arena, step->name, name - op - 1) : NULL;
    return copy ? copy : step->name;
}

static tw_status put_costs(const tables *t, step_table *st, const tw_network_row *row)
{
    tw_losses losses;
    TW_TRY(tw_losses_of_plan(row->plan, t->scratch, &losses));
    if (losses.has_peak) put(st, PEAK, TW_PERCENT(losses.peak, losses.cycles));
    put(st, LOST, tw_lost_to(&losses));
    put(st, RATE, TW_RATE(tw_off_chip_of_op(row->plan, 0), row->cycles));
    put(st, CYCLES, TW_GROUPED(row->cycles));
    put(st, SHARE, TW_PERCENT(row->cycles, t->plan->totals.layers_cycles));
    put(st, GAP, tw_gap_text(row->gap, row->proven, (char[TW_GAP_MAX]){0}));
    put(st, BUSY, TW_PERCENT(row->compute_busy, row->cycles));
    put(st, LIMIT, row->bottleneck);
    if (row->gap >= 0) put(st, BOUND, TW_GROUPED((int64_t)row->bound));
    put(st, ENERGY, TW_ENERGY(row->energy_fj));
    return TW_OK;
}

static tw_status put_step(const tables *t, step_table *st, int s)
{
    tw_network_row row = tw_network_row_of(t->plan, s);
    const tw_step_verdict *v = t->verdict && t->verdict->step ? &t->verdict->step[s] : NULL;
    const char *op = tw_short_op(row.step->from.what, t->scratch);
    tw_table_row(&st->table, v && v->fault ? TW_ALARM : row.plan ? TW_PLAIN : TW_DIM);
    tw_table_printf(&st->table, 0, "%d", s);
    put(st, NAME, t->wide ? row.step->name : short_name(row.step, t->scratch));
    put(st, OPERATOR, op ? op : row.step->from.what);
    put(st, OUTPUT, row.shape);
    if (t->net->layers.of[s] >= 0) put(st, LAYER, TW_GROUPED(t->net->layers.of[s]));
    if (row.macs) put(st, MACS, TW_GROUPED(row.macs));
    if (v) put(st, RUN, verdict_word(v));
    if (row.plan) return put_costs(t, st, &row);
    put(st, CYCLES, "?");
    return TW_OK;
}

/* What is not listed, and all together. */
static tw_status put_sums(const tables *t, step_table *st)
{
    tw_losses losses;
    int64_t moved = 0;
    TW_TRY(tw_losses_of_layers(t->plan, t->scratch, &losses));
    const tw_network_totals *total = &t->plan->totals;
    int64_t cycles = 0, busy = 0, all = total->layers_cycles;
    int n = t->net->lowered->graph.n_ops;
    for (int s = 0; s < n; s++) {
        tw_network_row row = tw_network_row_of(t->plan, s);
        cycles += t->shown[s] ? row.cycles : 0;
        busy += row.compute_busy;
        moved += row.plan ? tw_off_chip_of_op(row.plan, 0) : 0;
    }
    if (t->n_shown < n) {
        tw_table_row(&st->table, TW_DIM);
        tw_table_printf(&st->table, st->column[NAME], "%d others", n - t->n_shown);
        put(st, CYCLES, TW_GROUPED(all - cycles));
        put(st, SHARE, TW_PERCENT(all - cycles, all));
    }
    tw_table_row(&st->table, TW_BOLD);
    put(st, NAME, "total");
    put(st, CYCLES, TW_GROUPED(all));
    put(st, MACS, TW_GROUPED(total->macs));
    put(st, BOUND, TW_GROUPED((int64_t)total->layers_bound));
    if (all > 0) {
        double gap = ((double)all - total->layers_bound) / (double)all;
        put(st, GAP, tw_gap_text(gap, gap <= 0, (char[TW_GAP_MAX]){0}));
        put(st, BUSY, TW_PERCENT(busy, all));
        if (losses.has_peak) put(st, PEAK, TW_PERCENT(losses.peak, losses.cycles));
        put(st, LOST, tw_lost_to(&losses));
        put(st, RATE, TW_RATE(moved, all));
    }
    put(st, ENERGY, TW_ENERGY(total->layers_energy_fj));
    return TW_OK;
}

static tw_status print_steps(const tables *t)
{
    step_table st;
    begin_steps(t, &st);
    for (int s = 0; s < t->net->lowered->graph.n_ops; s++)
        if (t->shown[s]) TW_TRY(put_step(t, &st, s));
    TW_TRY(put_sums(t, &st));
    squeeze(&st.table, st.column[OPERATOR], 14, tw_clip_back, t->line);
    squeeze(&st.table, st.column[OPERATOR], 8, tw_clip_back, t->line);
    squeeze_names(&st.table, st.column[NAME], 10, t->line);
    return tw_table_print(&st.table, t->line);
}

/* ---- layers ---- */

static void put_layer(const tables *t, tw_table *table, int i)
{
    tw_network_row row = tw_network_row_of(t->plan, t->net->layers.first[i]);
    tw_table_row(table, row.plan ? TW_PLAIN : TW_DIM);
    tw_table_printf(table, 0, "%d", i);
    tw_table_put(table, 1, t->net->model->op[i].name);
    tw_table_put(table, 2, row.shape);
    tw_table_printf(table, 3, "%d", t->net->layers.count[i]);
    if (row.macs) tw_table_put(table, 4, TW_GROUPED(row.macs));
    if (row.plan && row.gap >= 0) tw_table_put(table, 5, TW_GROUPED((int64_t)row.bound));
    if (row.plan && row.energy_fj) tw_table_put(table, 6, TW_ENERGY(row.energy_fj));
}

/* Per step of the layer: what a narrow table of steps has no room for. */
static tw_status print_layers(const tables *t)
{
    static const char *const title[] = {"", "layer", "output", "steps", "MACs each", "bound", "energy"};
    tw_table table;
    tw_table_init(&table, title, t->plan->totals.energy_fj > 0 ? 7 : 6, 3, t->scratch);
    table.once = false;
    for (int i = 0; i < t->net->layers.n; i++)
        if (t->layer_shown[i]) put_layer(t, &table, i);
    squeeze_names(&table, 1, 10, t->line);
    squeeze(&table, 2, 8, tw_clip_back, t->line);
    return tw_table_print(&table, t->line);
}

/* ---- layers by memory ---- */

static tw_status put_memories(const tables *t, tw_table *table, int i)
{
    const tw_plan *plan = t->plan->plan[i];
    for (int m = 1; m < t->plan->machine->n_memories; m++) {
        tw_table_row(table, TW_PLAIN);
        tw_table_printf(table, 0, "%d", i);
        if (m == 1) tw_table_put(table, 1, t->net->model->op[i].name);
        tw_table_put(table, 2, t->plan->machine->memory[m].name);
        tw_table_put(table, 3, TW_GROUPED(plan->op[0].memory[m].static_units));
        tw_table_put(table, 4, TW_GROUPED(tw_step_moves(plan, m)));
        const char *tile = tw_tile_text(plan, m - 1, t->scratch);
        if (!tile) return TW_ERR_NOMEM;
        tw_table_put(table, 5, tile);
    }
    return TW_OK;
}

static tw_status print_memories(const tables *t)
{
    bool elements = t->plan->machine->unit == TW_UNIT_ELEMENT;
    const char *title[] = {"", "layer", "memory", elements ? "elements held" : "bytes held", "moved", "tile"};
    tw_table table;
    tw_table_init(&table, title, 6, 3, t->scratch);
    table.tail = true;
    for (int i = 0; i < t->net->layers.n; i++)
        if (t->layer_shown[i] && t->plan->plan[i]) TW_TRY(put_memories(t, &table, i));
    squeeze_names(&table, 1, 12, t->line);
    squeeze(&table, 5, 16, tw_clip_back, t->line);
    return table.n_rows > 0 ? tw_table_print(&table, t->line) : TW_OK;
}

/* ---- all of it ---- */

static void say_what_is_shown(const tables *t)
{
    int n = t->net->lowered->graph.n_ops;
    if (t->n_shown == n) return;
    tw_line_printf(t->line, 2, TW_DIM,
                   "%s%d of %d steps; --full has more, report.txt all:", t->expensive ? "the most expensive " : "",
                   t->n_shown, n);
    tw_line_end(t->line);
}

tw_status tw_network_tables_print(const tw_network_plan *plan, const tw_network_verdict *verdict,
                                  const tw_print_options *options, tw_arena *scratch, tw_line *line)
{
    tables t = {.plan = plan, .net = plan->network, .verdict = verdict, .scratch = scratch, .line = line};
    t.wide = line->columns >= WIDE;
    t.brief = options->brief;
    if (t.net->lowered->graph.n_ops == 0) return TW_OK;
    TW_TRY(choose_steps(&t, options));
    if (plan->totals.n_planned == 0) tw_line_end(line); /* otherwise losses end with an empty line */
    say_what_is_shown(&t);
    TW_TRY(print_steps(&t));
    if (t.brief) return TW_OK;
    if (!t.wide) {
        tw_line_end(line);
        TW_TRY(print_layers(&t));
    }
    tw_line_end(line);
    TW_TRY(choose_layers(&t, options));
    return print_memories(&t);
}
