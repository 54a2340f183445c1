/* src/rivals/stream/table.c - a cell for each layer and core, and the table as text in 80 columns. */
#include "rivals/stream/table.h"
#include "rivals/remark.h"

#include <stdio.h>
#include <string.h>

/* ---- cells ---- */

typedef struct counter {
    const tw_cores *cores;
    const tw_rival_search_options *options;
    tw_work work;
    const tw_account **cell; /* by layer, then core */
} counter;

static const tw_account **cell_of(const counter *c, int layer, int core)
{
    return &c->cell[layer * c->cores->hda->n_cores + core];
}

/* The cell of a layer that is the same on a core that is the same, NULL: there is none before this one. */
static const tw_account *find_like(const counter *c, int layer, int core)
{
    const tw_rival *view = c->cores->view;
    for (int l = 0; l <= layer; l++)
        for (int k = 0; k < (l < layer ? c->cores->hda->n_cores : core); k++) {
            const tw_rival_layer *a = &view[k].layer[l], *b = &view[core].layer[layer];
            if (view[k].machine == view[core].machine && a->einsum && view->tool->is_same(a, b))
                return *cell_of(c, l, k);
        }
    return NULL;
}

static tw_status count_one(counter *c, int layer, int core, tw_work work, tw_account *out)
{
    const tw_rival *view = &c->cores->view[core];
    if (!c->options) return view->tool->count(view, layer, work, out);
    tw_rival_found found;
    TW_TRY(view->tool->search(view, layer, c->options, work, &found));
    *out = *found.account;
    return TW_OK;
}

/* Where nothing fits, the cell stays empty, and a note says why. */
static tw_status fill_cell(counter *c, int layer, int core)
{
    tw_diag own = {.deadline = c->work.diag->deadline};
    const tw_account *like = find_like(c, layer, core);
    tw_account *account;
    TW_ALLOC(c->work.arena, account, 1);
    tw_status status = TW_OK;
    if (like)
        *account = *like;
    else
        status = count_one(c, layer, core, (tw_work){c->work.arena, c->work.scratch, &own}, account);
    account->layer = c->cores->layer[layer].whole->name;
    if (status == TW_OK) *cell_of(c, layer, core) = account;
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT)
        tw_diag_note(c->work.diag, c->cores->hda->core[core].loc, "core %d does not run '%s': %s", core,
                     c->cores->layer[layer].whole->name, own.last ? own.last : "");
    if (status == TW_STOPPED)
        (void)tw_diag_stopped(c->work.diag, c->cores->hda->core[core].loc, "the search of '%s' on core %d",
                              c->cores->layer[layer].whole->name, core);
    tw_diag_release(&own);
    return status == TW_INFEASIBLE || status == TW_ERR_INPUT ? TW_OK : status;
}

/* ---- rows and columns ---- */

static tw_status describe_parts(const tw_cores_layer *l, tw_arena *arena, const char **out)
{
    const char *text = "";
    for (int d = 0; text && d < l->whole->n_dims; d++)
        if (l->parts[d] > 1)
            text =
                tw_arena_printf(arena, "%s%s%s %" PRId64, text, *text ? ", " : "", l->whole->dim[d], l->parts[d]);
    *out = text;
    return text ? TW_OK : TW_ERR_NOMEM;
}

static tw_status add_rows(const counter *c, tw_core_table *out)
{
    tw_core_row *row;
    TW_ALLOC(c->work.arena, row, c->cores->n_layers + 1);
    for (int i = 0; i < c->cores->n_layers; i++) {
        const tw_cores_layer *l = &c->cores->layer[i];
        row[i] = (tw_core_row){.layer = l->whole->name,
                               .n_tiles = l->n_tiles,
                               .n_dims = l->tile->n_dims,
                               .dim = l->tile->dim,
                               .extent = l->tile->extent,
                               .cell = cell_of(c, i, 0)};
        TW_TRY(describe_parts(l, c->work.arena, &row[i].parts));
    }
    out->row = row;
    out->n_rows = c->cores->n_layers;
    return TW_OK;
}

static tw_status add_columns(const counter *c, tw_core_table *out)
{
    const tw_hda *hda = c->cores->hda;
    tw_core_column *column;
    TW_ALLOC(c->work.arena, column, hda->n_cores);
    for (int i = 0; i < hda->n_cores; i++) {
        int like = 0;
        while (hda->core[like].own != hda->core[i].own) like++;
        column[i] = (tw_core_column){
            .name = hda->core[i].name, .computes = hda->core[i].kind == TW_HDA_COMPUTES, .like = like};
    }
    out->core = column;
    out->n_cores = hda->n_cores;
    return TW_OK;
}

tw_status tw_cores_count(const tw_cores *cores, const tw_rival_search_options *options, tw_work work,
                         tw_core_table *out)
{
    counter c = {.cores = cores, .options = options, .work = work};
    *out = (tw_core_table){.machine = cores->hda->name};
    TW_ALLOC(work.arena, c.cell, cores->n_layers * cores->hda->n_cores + 1);
    for (int l = 0; l < cores->n_layers; l++)
        for (int k = 0; k < cores->hda->n_cores; k++)
            if (cores->view[k].layer[l].einsum) TW_TRY(fill_cell(&c, l, k));
    TW_TRY(add_rows(&c, out));
    return add_columns(&c, out);
}

/* ---- text ---- */

enum {
    COLUMNS = 80,
    BLOCK = 4,
    CELL = 13,
    PARTS = 8,
    RUNS = 48
}; /* columns side by side, widths, and runs that are listed */

/* The end of a long name says more than its beginning. */
static void print_name(const char *name, int width, tw_text *out)
{
    int n = (int)strlen(name);
    if (n <= width)
        tw_text_printf(out, "  %-*s", width, name);
    else
        tw_text_printf(out, "  ..%s", name + n - (width - 2));
}

static int width_for(int n) { return COLUMNS - 2 - PARTS - CELL * n; }

static void print_head(const tw_core_table *t, const int *shown, int n, const char *unit, tw_text *out)
{
    tw_text_printf(out, "\n");
    print_name(unit, width_for(n), out);
    tw_text_printf(out, " %-*s", PARTS - 1, "parts");
    for (int i = 0; i < n; i++) {
        char word[40];
        int alike = 0;
        for (int k = 0; k < t->n_cores; k++) alike += t->core[k].like == shown[i];
        snprintf(word, sizeof word, alike > 1 ? "%d and %d" : "%d", shown[i], alike - 1);
        tw_text_printf(out, " %*s", CELL - 1, word);
    }
    tw_text_printf(out, "\n");
}

/* The account of a layer on a core or on one that is the same. */
static const tw_account *cell_like(const tw_core_table *t, int row, int core)
{
    for (int k = 0; k < t->n_cores; k++)
        if (t->core[k].like == core && t->row[row].cell[k]) return t->row[row].cell[k];
    return NULL;
}

static void print_cells(const tw_core_table *t, const int *shown, int n, bool energy, tw_text *out)
{
    for (int r = 0; r < t->n_rows; r++) {
        print_name(t->row[r].layer, width_for(n), out);
        tw_text_printf(out, " %-*.*s", PARTS - 1, PARTS - 1, *t->row[r].parts ? t->row[r].parts : "-");
        for (int i = 0; i < n; i++) {
            const tw_account *a = cell_like(t, r, shown[i]);
            if (!a)
                tw_text_printf(out, " %*s", CELL - 1, "-");
            else if (energy)
                tw_text_printf(out, " %*.3f", CELL - 1, a->energy_pj / 1e6);
            else
                tw_text_printf(out, " %*.10g", CELL - 1, a->cycles);
        }
        tw_text_printf(out, "\n");
    }
}

static void print_cores(const tw_core_table *t, tw_text *out)
{
    for (int i = 0; i < t->n_cores; i++) {
        if (!t->core[i].computes)
            tw_text_printf(out, "  core %3d  %-24.24s stores\n", i, t->core[i].name);
        else if (t->core[i].like != i)
            tw_text_printf(out, "  core %3d  %-24.24s as core %d\n", i, t->core[i].name, t->core[i].like);
        else
            tw_text_printf(out, "  core %3d  %-24.24s computes\n", i, t->core[i].name);
    }
}

static void print_runs(const tw_core_table *t, tw_text *out)
{
    tw_text_printf(out, "\nall layers in turn, as Stream runs them: %.10g cycles, %.3f uJ\n", t->makespan,
                   t->energy_pj / 1e6);
    for (int i = 0; i < t->n_cores; i++)
        if (t->core[i].computes)
            tw_text_printf(out, "  core %3d  busy %14.10g cycles %6.1f %%\n", i, t->core[i].busy,
                           t->makespan > 0 ? 100 * t->core[i].busy / t->makespan : 0);
    for (int i = 0; i < t->n_runs && t->n_runs <= RUNS; i++) {
        print_name(t->row[t->run[i].layer].layer, width_for(3), out);
        tw_text_printf(out, " core %3d %14.10g .. %14.10g\n", t->run[i].core, t->run[i].start, t->run[i].end);
    }
    if (t->n_runs > RUNS)
        tw_text_printf(out, "  when each of %d tiles runs is in the document (JSON)\n", t->n_runs);
}

/* Cores that run some layer, those that are the same once. */
static int shown_cores(const tw_core_table *t, int *shown)
{
    int n = 0;
    for (int i = 0; i < t->n_cores; i++) {
        bool any = false;
        for (int r = 0; r < t->n_rows; r++) any |= cell_like(t, r, i) != NULL;
        if (any && t->core[i].like == i) shown[n++] = i;
    }
    return n;
}

void tw_core_table_print(const tw_core_table *t, tw_text *out)
{
    int shown[TW_HDA_CORES], n = shown_cores(t, shown);
    tw_text_printf(out, "%s: %d layers on %d cores\nby ZigZag's rules, a tile on each core\n\n", t->machine,
                   t->n_rows, t->n_cores);
    print_cores(t, out);
    for (int at = 0; at < n; at += BLOCK)
        for (int energy = 0; energy < 2; energy++) {
            int block = (int)tw_min(n - at, BLOCK);
            print_head(t, &shown[at], block, energy ? "uJ on core" : "cycles on core", out);
            print_cells(t, &shown[at], block, energy, out);
        }
    if (t->n_runs > 0) print_runs(t, out);
}
