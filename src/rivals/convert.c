/* src/rivals/convert.c - other tools' machines and layers as files of ours. */
#include "rivals/convert.h"
#include "rivals/stream/cores.h"
#include "rivals/stream/machine.h"

#include <string.h>

tw_status tw_rival_machine_print(const tw_rival *rival, tw_levels_kind kind, tw_work work, tw_text *out)
{
    tw_diag *diag = work.diag;
    tw_levels levels;
    if (rival->cores && kind == TW_LEVELS_MANAGED) return tw_hda_print(rival->cores->hda, work.scratch, diag, out);
    if (rival->cores)
        return tw_diag_error(
            diag, rival->cores->hda->loc,
            "a machine with several cores is converted as a whole; 'levels' are those of one core");
    TW_TRY(tw_levels_of(rival, 0, kind, diag, &levels));
    return tw_levels_print_machine(rival, 0, &levels, diag, out);
}

/* ---- layers ---- */

static const char *type_of(int64_t bits)
{
    return bits == 8 ? "i8" : bits == 16 ? "i16" : bits == 32 ? "i32" : bits == 64 ? "i64" : NULL;
}

/* A sum of loops. */
static void print_rank(const tw_einsum *e, const tw_einsum_rank *rank, int64_t pad, tw_text *out)
{
    for (int i = 0; i < rank->n_terms; i++) {
        tw_text_printf(out, "%s", i ? " + " : "");
        if (rank->term[i].coefficient != 1) tw_text_printf(out, "%" PRId64 "*", rank->term[i].coefficient);
        tw_print_our_loop(e->dim[rank->term[i].dim], out);
    }
    if (pad > 0) tw_text_printf(out, " - %" PRId64, pad);
}

/* What a window reaches beyond the tensor is padding: how much of it comes first, as the file says; the smaller half where it does not. */
static int64_t pad_before(const tw_einsum *e, const tw_einsum_rank *rank, int64_t extent)
{
    return rank->has_before ? rank->before : (tw_einsum_reach(rank, e->extent) - extent) / 2;
}

/* Whether positions along all axes are numbers that we count with. */
static bool is_countable(const tw_einsum *e, const tw_einsum_operand *x)
{
    for (int r = 0; r < x->n_ranks; r++) {
        double reach = 1;
        for (int t = 0; t < x->rank[r].n_terms; t++)
            reach += (double)x->rank[r].term[t].coefficient * (double)e->extent[x->rank[r].term[t].dim];
        if (reach > (double)TW_EXTENT_MAX) return false;
    }
    return true;
}

static void extents_of(const tw_rival *rival, int layer, int operand, int64_t *extent)
{
    const tw_rival_layer *l = &rival->layer[layer];
    const tw_einsum_operand *x = &l->einsum->operand[operand];
    for (int r = 0; r < x->n_ranks; r++) {
        int64_t reach = tw_einsum_reach(&x->rank[r], l->einsum->extent);
        extent[r] = rival->tool->extent_of ? tw_min(reach, rival->tool->extent_of(l, operand, r)) : reach;
    }
}

static int result_number(const tw_einsum *e)
{
    int o = 0;
    while (o + 1 < e->n_operands && !e->operand[o].updated) o++;
    return o;
}

static const tw_einsum_operand *result_of(const tw_einsum *e) { return &e->operand[result_number(e)]; }

/* Walks both lists of extents; those of 1 may be left out on either side. */
static bool align(const int64_t *made, int n_made, const int64_t *own, int n_own, int *axis)
{
    int j = 0;
    for (int i = 0; i < n_made; i++) {
        while (j < n_own && own[j] != made[i] && made[i] != 1 && own[j] == 1) j++;
        bool same = j < n_own && own[j] == made[i];
        if (!same && made[i] != 1) return false;
        axis[i] = same ? j++ : -1;
    }
    while (j < n_own && own[j] == 1) j++;
    return j == n_own;
}

int tw_rival_maker(const tw_rival *rival, int layer, int operand, int axis[TW_RIVAL_RANKS])
{
    const tw_rival_layer *l = &rival->layer[layer];
    const tw_einsum_operand *x = &l->einsum->operand[operand];
    int64_t own[TW_RIVAL_RANKS], made[TW_RIVAL_RANKS];
    int from = (operand == tw_einsum_weights(l->einsum) ? l->also_by : l->made_by) - 1;
    if (from < 0 || x->updated) return -1;
    const tw_einsum *maker = rival->layer[from].einsum;
    int o = result_number(maker);
    if (maker->operand[o].bits != x->bits) return -1;
    extents_of(rival, layer, operand, own);
    extents_of(rival, from, o, made);
    return align(made, maker->operand[o].n_ranks, own, x->n_ranks, axis) ? from : -1;
}

static void print_maker(const tw_rival *rival, int maker, tw_text *out)
{
    const tw_einsum *e = rival->layer[maker].einsum;
    tw_text_printf(out, "tensor: ");
    tw_print_our_name(e->name, out);
    tw_text_printf(out, ".");
    tw_print_our_loop(e->operand[result_number(e)].name, out);
    tw_text_printf(out, ", ");
}

static tw_status print_operand(const tw_rival *rival, int layer, int operand, tw_diag *diag, tw_text *out)
{
    const tw_rival_layer *l = &rival->layer[layer];
    const tw_einsum *e = l->einsum;
    const tw_einsum_operand *x = &e->operand[operand];
    const char *type = type_of(x->bits > 0 ? x->bits : 16);
    int64_t extent[TW_RIVAL_RANKS];
    if (!type)
        return tw_diag_error(diag, l->loc, "elements of '%s' of '%s' have %" PRId64 " bits, which no type has",
                             x->name, l->name, x->bits);
    if (!is_countable(e, x))
        return tw_diag_error(diag, l->loc, "an axis of '%s' of '%s' is longer than %" PRId64, x->name, l->name,
                             TW_EXTENT_MAX);
    tw_text_printf(out, "      ");
    tw_print_our_loop(x->name, out);
    tw_text_printf(out, ": {");
    int axis[TW_RIVAL_RANKS], maker = tw_rival_maker(rival, layer, operand, axis);
    bool weights = operand == tw_einsum_weights(e) && maker < 0;
    int n = x->n_ranks;
    for (int r = 0; maker < 0 && r < n; r++) axis[r] = r;
    if (maker >= 0) n = result_of(rival->layer[maker].einsum)->n_ranks;
    if (maker >= 0) print_maker(rival, maker, out);
    tw_text_printf(out, "dtype: %s, %sat: [", type, weights ? "role: weights, " : "");
    extents_of(rival, layer, operand, extent);
    for (int r = 0; r < n; r++) {
        const tw_einsum_rank *rank = axis[r] >= 0 ? &x->rank[axis[r]] : NULL;
        tw_text_printf(out, "%s", r ? ", " : "");
        if (rank)
            print_rank(e, rank, pad_before(e, rank, extent[axis[r]]), out);
        else
            tw_text_printf(out, "0");
    }
    tw_text_printf(out, "], shape: [");
    for (int r = 0; r < n; r++)
        tw_text_printf(out, "%s%" PRId64, r ? ", " : "", axis[r] >= 0 ? extent[axis[r]] : 1);
    tw_text_printf(out, "]}\n");
    return TW_OK;
}

/* Operands without a width are none: the tool's way to write a pool. */
static tw_status print_operands(const tw_rival *rival, int layer, bool updated, tw_diag *diag, tw_text *out)
{
    const tw_einsum *e = rival->layer[layer].einsum;
    tw_text_printf(out, updated ? "    writes:\n" : "    reads:\n");
    for (int o = 0; o < e->n_operands; o++)
        if (e->operand[o].updated == updated &&
            (updated || e->operand[o].bits > 0 || rival->tool->rules == TW_RULES_TIMELOOP))
            TW_TRY(print_operand(rival, layer, o, diag, out));
    return TW_OK;
}

static void print_loops(const tw_einsum *e, tw_text *out)
{
    unsigned parallel = tw_einsum_relevant(result_of(e));
    const char *between = "";
    tw_text_printf(out, "    loops: {");
    for (int d = 0; d < e->n_dims; d++) {
        tw_text_printf(out, "%s", d ? ", " : "");
        tw_print_our_loop(e->dim[d], out);
        tw_text_printf(out, ": %" PRId64, e->extent[d]);
    }
    tw_text_printf(out, "}\n    reduce: [");
    for (int d = 0; d < e->n_dims; d++) {
        if (parallel >> d & 1) continue;
        tw_text_printf(out, "%s", between);
        tw_print_our_loop(e->dim[d], out);
        between = ", ";
    }
    tw_text_printf(out, "]\n");
}

/* A mean of integers would need floats; one takes as long as a maximum. */
static const char *compute_of(const tw_rival *rival, const tw_einsum *e)
{
    if (e->value) return "map";
    for (int o = 0; o < e->n_operands; o++)
        if (rival->tool->rules == TW_RULES_ZIGZAG && e->operand[o].bits == 0) return "max";
    return e->adds ? "add" : "multiply-add";
}

static tw_status print_layer(const tw_rival *rival, int layer, tw_diag *diag, tw_text *out)
{
    const tw_einsum *e = rival->layer[layer].einsum;
    const char *compute = compute_of(rival, e), *sums = type_of(result_of(e)->partial_bits);
    tw_text_printf(out, "  - name: ");
    tw_print_our_name(e->name, out);
    tw_text_printf(out, "\n    compute: %s\n", compute);
    print_loops(e, out);
    if (e->value) tw_text_printf(out, "    value: \"%s\"\n", e->value);
    if (sums && strcmp(compute, "multiply-add") == 0) tw_text_printf(out, "    accumulator: %s\n", sums);
    TW_TRY(print_operands(rival, layer, false, diag, out));
    return print_operands(rival, layer, true, diag, out);
}

tw_status tw_rival_workload_print(const tw_rival *rival, tw_diag *diag, tw_text *out)
{
    tw_rival whole = *rival;
    if (rival->cores) whole.layer = rival->cores->whole; /* not what one core runs of them */
    rival = &whole;
    if (rival->n_layers == 0)
        return tw_diag_error(diag, rival->cores ? rival->cores->hda->loc : (tw_loc){0}, "no workload was given");
    tw_text_printf(
        out,
        "# Written by 'tilewright convert'. What one layer makes and another reads is one tensor where both have "
        "the same axes.\n"
        "workload: layers\nops:\n");
    for (int i = 0; i < rival->n_layers; i++) TW_TRY(print_layer(rival, i, diag, out));
    return TW_OK;
}
