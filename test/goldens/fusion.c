/* test/goldens/fusion.c - `fusion` and `residual` of vpu.json: chains of convolutions as one group, tile by tile.
 *
 * A case becomes a workload, a machine with room for everything and a mapping with one group that cuts the rows of the last operator; a
 * tile by itself is a part of them. What is compared is what the library says of that group's plan. */
#include "goldens.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 15, MOST_TILES = 256, ROWS = 1 /* axis of every tensor here */ };

static const char machine_text[] =
    "machine: roomy\nunit: byte\ntiming: async\n"
    "memories: [{name: dram, size: unlimited}, {name: l1, size: unlimited}]\n"
    "engines:\n"
    "  - {name: dma, between: [dram, l1], cost: {latency: 0, per_cycle: 32}}\n"
    "  - {name: core, computes: [multiply-add, add], memory: l1, cost: {latency: 0, per_cycle: 1024}}\n";

typedef struct rows { /* of a tensor in a step */
    int64_t lo, hi, fresh;
} rows;

typedef struct fused { /* what was found of a case */
    tw_context *ctx;
    const tw_plan *plan;
    int n_tensors, tensor[MOST_LAYERS + 1]; /* the ones that are asked for, by their place in the group's tensors */
    int group;                              /* that is looked at */
    int64_t n_tiles;
    rows window[MOST_TILES][MOST_LAYERS + 1];
} fused;

/* ---- a plan ---- */

static const char *say(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *say(FILE *out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(out, format, list);
    va_end(list);
    return NULL;
}

static tw_status keep_step(void *user, const tw_group_step *step)
{
    fused *f = user;
    if (f->n_tiles == MOST_TILES) return TW_ERR_INPUT;
    for (int i = 0; i < f->n_tensors; i++) {
        const tw_group_window *w = &step->window[f->tensor[i]];
        f->window[f->n_tiles][i] = (rows){w->lo[ROWS], w->hi[ROWS], w->fresh[ROWS]};
    }
    f->n_tiles++;
    return TW_OK;
}

/* The tensors called t0, t1, .. in the group. */
static bool find_tensors(fused *f)
{
    int n = tw_plan_group_facts(f->plan, f->group).n_tensors, found = 0;
    for (int i = 0; i < n; i++) {
        tw_group_tensor t = tw_plan_group_tensor(f->plan, f->group, i);
        for (int k = 0; k < f->n_tensors; k++) {
            char name[16];
            snprintf(name, sizeof name, "t%d", k);
            if (strcmp(name, t.name) == 0) f->tensor[k] = i, found++;
        }
    }
    return found == f->n_tensors;
}

/* Evaluates the workload, whose last operator has `tiles` of rows, and keeps the windows of its steps. */
static bool fuse(fused *f, const char *workload, const char *mapping)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *map;
    return tw_model_parse(f->ctx, "case", workload, &model) == TW_OK &&
           tw_machine_parse(f->ctx, "machine", machine_text, &machine) == TW_OK &&
           tw_mapping_parse(f->ctx, model, machine, "mapping", mapping, &map) == TW_OK &&
           tw_plan_eval(f->ctx, model, machine, map, &f->plan) == TW_OK && find_tensors(f) &&
           tw_plan_group_walk(f->ctx, f->plan, f->group, keep_step, f) == TW_OK;
}

static void give_up(tally *t, const char *file, const char *id, tw_context *ctx)
{
    fail_case(t, file, id, tw_context_n_messages(ctx) > 0 ? tw_context_message(ctx, 0) : "cannot be evaluated");
}

/* ---- chains ---- */

typedef struct layer {
    int64_t k, s, d, pt, pb, ci, co, h, w, out_h, out_w;
} layer;

/* A single tap for a single column reads one column: it is repeated for each, so that all are read, and so are its points. */
static int64_t repeats(const layer *l) { return l->k == 1 && l->out_w == 1 ? l->w : 1; }

/* The least that is at least `from` and, times n, reaches x - 1: every column is read. */
static int64_t reach(int64_t from, int64_t x, int64_t n)
{
    return n > 0 && from * n < x - 1 ? (x - 1 + n - 1) / n : from;
}

/* A convolution of t<i> into t<i + 1>. Its columns are not cut: all are read and made in each tile, wherever they are padded. */
static void write_layer(FILE *out, int i, const layer *l)
{
    int64_t stride = reach(l->s, l->w, l->out_w - 1), dilation = l->out_w > 1 ? l->d : reach(l->d, l->w, l->k - 1);
    say(out, "  - name: conv%d\n    compute: multiply-add\n    reduce: [ic, ky, kx]\n", i);
    say(out,
        "    loops: {oc: %" PRId64 ", oy: %" PRId64 ", ox: %" PRId64 ", ic: %" PRId64 ", ky: %" PRId64
        ", kx: %" PRId64 "}\n",
        l->co, l->out_h, l->out_w, l->ci, l->k, l->k * repeats(l));
    say(out,
        "    reads:\n      ifm: {tensor: t%d, dtype: i8, shape: [%" PRId64 ", %" PRId64 ", %" PRId64
        "], at: [ic, %" PRId64 "*oy + %" PRId64 "*ky - %" PRId64 ", %" PRId64 "*ox + %" PRId64 "*kx]}\n",
        i, l->ci, l->h, l->w, l->s, l->d, l->pt, stride, dilation);
    say(out, "      w: {dtype: i8, role: weights, at: [oc, ic, ky, kx]}\n");
    say(out, "    writes: {ofm: {tensor: t%d, dtype: i8, at: [oc, oy, ox]}}\n", i + 1);
}

static char *write_chain(const layer *l, int n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    say(out, "workload: chain\nops:\n");
    for (int i = 0; i < n; i++) write_layer(out, i, &l[i]);
    fclose(out);
    return text;
}

static char *write_group(const char *const *op, int n, int64_t tiles, const char *loop)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    say(out, "groups:\n  - name: fused\n    ops: [");
    for (int i = 0; i < n; i++) say(out, "%s%s", i ? ", " : "", op[i]);
    say(out, "]\n    levels: [{at: l1, tiles: {%s: %" PRId64 "}}]\n", loop, tiles);
    fclose(out);
    return text;
}

static bool read_layers(fields *f, const json_t *list, layer *l, int n)
{
    int64_t h[MOST_LAYERS + 1], w[MOST_LAYERS + 1];
    bool good = field_list(f, "H", 1, n + 1, h) && field_list(f, "W", 1, n + 1, w);
    for (int i = 0; i < n && good; i++) {
        fields one = open_fields(f->t, f->file, f->id, json_array_get(list, (size_t)i));
        l[i] = (layer){field_int(&one, "k", 1),
                       field_int(&one, "s", 1),
                       field_int(&one, "d", 1),
                       field_int(&one, "pt", 0),
                       field_int(&one, "pb", 0),
                       field_int(&one, "ci", 1),
                       field_int(&one, "co", 1),
                       h[i],
                       w[i],
                       h[i + 1],
                       w[i + 1]};
        good = close_fields(&one);
        const tw_window_axis axis = {.in_extent = l[i].h,
                                     .kernel = l[i].k,
                                     .stride = l[i].s,
                                     .dilation = l[i].d,
                                     .pad_lo = l[i].pt,
                                     .pad_hi = l[i].pb};
        if (good) check_value(f->t, f->file, f->id, "H", tw_window_n_outputs(&axis), l[i].out_h);
    }
    return good;
}

static void check_span(fields *f, const json_t *expected, const rows *w)
{
    check_value(f->t, f->file, f->id, "window begin", w->lo, json_integer_value(json_array_get(expected, 0)));
    check_value(f->t, f->file, f->id, "window end", w->hi, json_integer_value(json_array_get(expected, 1)));
}

/* `windows` has a list per tile, `cached_new_rows` one per tensor. */
static void check_windows(fields *f, const fused *is)
{
    const json_t *windows = field_any(f, "windows"), *fresh = field_any(f, "cached_new_rows"),
                 *total = field_any(f, "rows_total");
    if (windows) check_value(f->t, f->file, f->id, "tiles", is->n_tiles, (int64_t)json_array_size(windows));
    for (int i = 0; i < is->n_tensors; i++) {
        int64_t sum = 0;
        for (int64_t t = 0; t < is->n_tiles; t++) {
            const rows *w = &is->window[t][i];
            const json_t *tile = windows ? json_array_get(windows, (size_t)t) : NULL,
                         *of = fresh ? json_array_get(fresh, (size_t)i) : NULL;
            if (tile) check_span(f, json_array_get(tile, (size_t)i), w);
            if (of)
                check_value(f->t, f->file, f->id, "cached_new_rows", w->fresh,
                            json_integer_value(json_array_get(of, (size_t)t)));
            sum += w->hi - w->lo;
        }
        if (total)
            check_value(f->t, f->file, f->id, "rows_total", sum,
                        json_integer_value(json_array_get(total, (size_t)i)));
    }
}

/* Rows of a tensor that a tile has exactly as the one before had them: they stay where they are, and are not made again. */
static int64_t rows_unchanged(const fused *is, int tensor)
{
    int64_t n = 0;
    for (int64_t t = 1; t < is->n_tiles; t++) {
        const rows *before = &is->window[t - 1][tensor], *w = &is->window[t][tensor];
        if (before->lo == w->lo && before->hi == w->hi) n += w->hi - w->lo;
    }
    return n;
}

static int64_t macs_of_row(const fused *is, const layer *l, int i)
{
    const tw_group_tensor made = tw_plan_group_tensor(is->plan, 0, is->tensor[i + 1]);
    int64_t n_rows = made.elems_made / (made.elems / l[i].out_h);
    return tw_plan_group_op_use(is->plan, 0, i).macs / repeats(&l[i]) / (n_rows > 0 ? n_rows : 1);
}

/* The golden counts all windows of all tiles; a group does not run where nothing changed. */
static void check_facts(fields *f, const fused *is, const layer *l, int n)
{
    tw_group_facts facts = tw_plan_group_facts(is->plan, 0);
    const json_t *macs = field_any(f, "mac_row"), *middle = field_any(f, "middle_bytes");
    int64_t spared = 0, once = facts.points_once;
    for (int i = 0; i < n; i++) {
        int64_t again = (repeats(&l[i]) - 1) * l[i].out_h * l[i].co * l[i].ci; /* points once of repeated taps */
        int64_t run = tw_plan_group_op_use(is->plan, 0, i).macs;
        spared += rows_unchanged(is, i + 1) * macs_of_row(is, l, i) - (run - run / repeats(&l[i]));
        once -= again;
    }
    field_check(f, "mac_base", once);
    field_check(f, "mac_fused", facts.points + spared);
    field_check(f, "mac_extra", facts.points + spared - once);
    field_check(f, "saved_bytes", facts.saved_bytes);
    for (int i = 0; i < n; i++) {
        const tw_group_tensor made = tw_plan_group_tensor(is->plan, 0, is->tensor[i + 1]);
        if (macs)
            check_value(f->t, f->file, f->id, "mac_row", macs_of_row(is, l, i),
                        json_integer_value(json_array_get(macs, (size_t)i)));
        if (middle && i < n - 1)
            check_value(f->t, f->file, f->id, "middle_bytes", made.saved_bytes / 2,
                        json_integer_value(json_array_get(middle, (size_t)i)));
    }
}

static void run_chain(tally *t, const char *file, const json_t *o, size_t number)
{
    char id[32], name[MOST_LAYERS][16];
    snprintf(id, sizeof id, "fusion[%zu]", number);
    fields f = open_fields(t, file, id, o);
    const json_t *list = field_array(&f, "layers");
    const char *op[MOST_LAYERS];
    layer l[MOST_LAYERS];
    int n = list ? (int)json_array_size(list) : 0;
    int64_t tiles = field_int(&f, "T", 1);
    if (n < 1 || n > MOST_LAYERS || tiles > MOST_TILES || !read_layers(&f, list, l, n)) {
        fail_case(t, file, id, "is no chain of 1 to 15 convolutions in at most 256 tiles");
        return;
    }
    for (int i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "conv%d", i);
        op[i] = name[i];
    }
    fused *is = calloc(1, sizeof *is);
    char *workload = write_chain(l, n), *mapping = write_group(op, n, tiles, "oy");
    if (!is) abort();
    is->ctx = tw_context_new();
    is->n_tensors = n + 1;
    if (fuse(is, workload, mapping)) {
        check_windows(&f, is);
        check_facts(&f, is, l, n);
        close_fields(&f);
    } else
        give_up(t, file, id, is->ctx);
    tw_context_free(is->ctx);
    free(workload);
    free(mapping);
    free(is);
}

/* ---- residual ---- */

/* t0 -> conv -> t1 -> conv -> t2, and t0 + t2; with kernels of 3, unless `k` says one for both or two. */
static char *write_residual(int64_t h, const int64_t k[2])
{
    layer l[2];
    for (int i = 0; i < 2; i++) l[i] = (layer){k[i], 1, 1, (k[i] - 1) / 2, k[i] / 2, 4, 4, h, h, h, h};
    char *chain = write_chain(l, 2), *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    say(out,
        "%s  - {name: sum, op: add, shape: [4, %" PRId64 ", %" PRId64
        "], inputs: {ifm: t0, w: t2}, output: t3, out_dtype: i8}\n",
        chain, h, h);
    fclose(out);
    free(chain);
    return text;
}

static void check_residual(fields *f, const fused *is)
{
    static const char *const key[] = {"x", "a_out", "b_out"};
    for (int i = 0; i < 3; i++) {
        const json_t *expected = field_any(f, key[i]);
        if (expected) check_span(f, expected, &is->window[0][i]);
    }
}

/* The tile is a part of the rows that is one group, those before and behind it are others; returns the number of that group. */
static int write_parts(char **text, int64_t h, const int64_t tile[2])
{
    const int64_t edge[] = {0, tile[0], tile[1], h};
    size_t size;
    int number = 0;
    FILE *out = open_memstream(text, &size);
    if (!out) abort();
    say(out, "groups:\n");
    for (int i = 0; i < 3; i++) {
        if (edge[i] == edge[i + 1]) continue;
        number += i == 0;
        say(out,
            "  - {name: p%d, ops: [conv0, conv1, sum], part: {loop: d1, from: %" PRId64 ", to: %" PRId64
            "}, levels: [{at: l1}]}\n",
            i, edge[i], edge[i + 1]);
    }
    fclose(out);
    return number;
}

static void run_residual(tally *t, const char *file, const json_t *o)
{
    fields f = open_fields(t, file, "residual", o);
    const json_t *kernel = field_any(&f, "k");
    int64_t tile[2], k[2] = {3, 3}, h = field_int(&f, "H", 1);
    field_any(&f, "note");
    if (json_is_integer(kernel)) k[0] = k[1] = field_int(&f, "k", 1);
    if (json_is_array(kernel) && !field_list(&f, "k", 1, 2, k)) return;
    if (!field_list(&f, "out_tile", 0, 2, tile) || tile[1] <= tile[0] || tile[1] > h) {
        fail_case(t, file, "residual", "is no tile of a residual block");
        return;
    }
    char *workload = write_residual(h, k), *mapping;
    fused *is = calloc(1, sizeof *is);
    if (!is) abort();
    is->ctx = tw_context_new();
    is->n_tensors = 3;
    is->group = write_parts(&mapping, h, tile);
    if (fuse(is, workload, mapping)) {
        check_residual(&f, is);
        close_fields(&f);
    } else
        give_up(t, file, "residual", is->ctx);
    tw_context_free(is->ctx);
    free(workload);
    free(mapping);
    free(is);
}

void run_fusion(tally *t, const char *file, const json_t *root)
{
    const json_t *residual = json_object_get(root, "residual");
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(root, "fusion"), i, o) run_chain(t, file, o, i);
    if (json_is_object(residual)) run_residual(t, file, residual);
    json_array_foreach(json_is_array(residual) ? residual : NULL, i, o) run_residual(t, file, o);
}
