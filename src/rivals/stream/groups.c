/* src/rivals/stream/groups.c - see groups.h. */
#include "rivals/stream/groups.h"
#include "mapping/group.h"
#include "model/divided.h"
#include "rivals/stream/fusion.h"
#include "rivals/stream/machine.h"
#include "rivals/stream/spread.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tile { /* what one core runs of a layer */
    const tw_rival_layer *layer;
    const tw_einsum *einsum;
    const tw_levels *levels;
    int core;
    int n_loops, loop[TW_MAX_SPLIT_LOOPS]; /* that lie over cores */
    tw_span span[TW_MAX_SPLIT_LOOPS];
    int64_t all[TW_RIVAL_DIMS], size[TW_RIVAL_DIMS];
    bool doubles;               /* what changes has two buffers */
    bool is_cut;                /* the mapping says sizes of tiles, or the most of them */
    int64_t cut[TW_RIVAL_DIMS]; /* those sizes                                          */
    int slides;                 /* the loop along which rows that tiles share stay, -1: none */
    int n_beside;   /* groups of the layer on the same core, this one among them: they share its memory */
    bool sums;      /* the loop over cores is added up: the tile is an operator of its own */
    char piece[16]; /* ".sum0" of such a one, else empty                              */
} tile;

/* ---- sizes ---- */

static unsigned cut_loops(const tile *t)
{
    unsigned cut = 0;
    for (int d = 0; d < t->einsum->n_dims; d++)
        if (t->size[d] < t->all[d]) cut |= 1u << d;
    return cut;
}

static int buffers_of(const tile *t, int operand)
{
    return t->doubles && (tw_einsum_relevant(&t->einsum->operand[operand]) & cut_loops(t)) ? 2 : 1;
}

/* Bytes of an operand's buffers, sums with the width of partial ones. */
static double bytes_of(const tile *t, int operand)
{
    const tw_einsum_operand *x = &t->einsum->operand[operand];
    int64_t words = 0;
    if (!tw_einsum_volume(x, t->size, &words)) return 1e18;
    return (double)words * (double)tw_max(x->bits, x->partial_bits) / 8 * buffers_of(t, operand);
}

/* How much is missing in all memories. */
static double missing(const tile *t)
{
    double sum = 0;
    for (int l = 0; l < t->levels->n; l++) {
        double bytes = 0;
        for (int o = 0; o < t->einsum->n_operands; o++)
            if (t->levels->level[l].holds >> o & 1) bytes += bytes_of(t, o);
        sum += fmax(0, bytes - (double)(t->levels->level[l].bytes / t->n_beside));
    }
    return sum;
}

/* The loop whose halving leaves least missing: one of the result's before a reduction. */
static int next_cut(tile *t)
{
    unsigned parallel = tw_einsum_relevant(&t->einsum->operand[TW_ZZ_O]);
    for (int reduces = 0; reduces < 2; reduces++) {
        int best = -1;
        double least = 0;
        for (int d = 0; d < t->einsum->n_dims; d++) {
            int64_t size = t->size[d];
            if (size == 1 || (parallel >> d & 1) == (unsigned)reduces) continue;
            t->size[d] = tw_cdiv(size, 2);
            double rest = missing(t);
            t->size[d] = size;
            if (best >= 0 && rest >= least) continue;
            best = d;
            least = rest;
        }
        if (best >= 0) return best;
    }
    return -1;
}

static bool fit(tile *t, bool doubles)
{
    t->slides = -1;
    t->doubles = doubles;
    memcpy(t->size, t->all, sizeof t->size);
    while (missing(t) > 0) {
        int d = next_cut(t);
        if (d < 0) return false;
        t->size[d] = tw_cdiv(t->size[d], 2);
    }
    return true;
}

/* Which loop of the result has a window in an operand, and the longest of these; -1: none has. */
static int row_loop(const tile *t)
{
    int best = -1;
    for (int o = 0; o < t->einsum->n_operands; o++)
        for (int r = 0; r < t->einsum->operand[o].n_ranks; r++) {
            const tw_einsum_rank *rank = &t->einsum->operand[o].rank[r];
            int d = rank->term[0].dim;
            if (rank->n_terms > 1 && (best < 0 || t->size[d] > t->size[best])) best = d;
        }
    return best;
}

/* Loads and stores go on while the array computes only where there are several tiles: rows, if they fit. */
static bool fit_rows(tile *t)
{
    enum { TILES = 8 };
    memcpy(t->size, t->all, sizeof t->size);
    int d = row_loop(t);
    if (d < 0) return false;
    t->doubles = true;
    t->size[d] = tw_cdiv(t->all[d], TILES);
    t->slides = t->size[d] < t->all[d] ? d : -1;
    return missing(t) == 0;
}

/* As the mapping cuts them. Rows that two tiles share stay where nothing else is cut. */
static bool fit_cuts(tile *t)
{
    int d = row_loop(t);
    if (!t->is_cut) return false;
    t->doubles = true;
    for (int k = 0; k < t->einsum->n_dims; k++) t->size[k] = tw_min(t->all[k], t->cut[k]);
    t->slides = d >= 0 && cut_loops(t) == 1u << d ? d : -1;
    return missing(t) == 0;
}

/* ---- text ---- */

static void print_tensor(const tile *t, int operand, tw_text *out)
{
    if (t->sums && operand == TW_ZZ_O)
        tw_text_printf(out, "sums");
    else
        tw_print_our_loop(t->einsum->operand[operand].name, out);
}

static void print_cuts(const tile *t, tw_text *out)
{
    const char *between = ", sizes: {";
    for (int d = 0; d < t->einsum->n_dims; d++) {
        if (t->size[d] == t->all[d]) continue;
        tw_text_printf(out, "%s", between);
        tw_print_our_loop(t->einsum->dim[d], out);
        tw_text_printf(out, ": %" PRId64, t->size[d]);
        between = ", ";
    }
    if (between[2] == 0) tw_text_printf(out, "}");
}

static void print_buffers(const tile *t, int level, tw_text *out)
{
    const char *between = ", buffers: {";
    for (int o = 0; o < t->einsum->n_operands; o++) {
        if (!(t->levels->level[level].holds >> o & 1) || buffers_of(t, o) < 2) continue;
        tw_text_printf(out, "%s", between);
        print_tensor(t, o, out);
        tw_text_printf(out, ": 2");
        between = ", ";
    }
    if (between[2] == 0) tw_text_printf(out, "}");
}

static bool has_window(const tile *t, int operand)
{
    const tw_einsum_operand *x = &t->einsum->operand[operand];
    for (int r = 0; r < x->n_ranks; r++)
        if (x->rank[r].n_terms > 1 && x->rank[r].term[0].dim == t->slides) return true;
    return false;
}

static void print_slide(const tile *t, tw_text *out)
{
    for (int o = 0; t->slides >= 0 && o < t->einsum->n_operands; o++) {
        if (!(t->levels->level[0].holds >> o & 1) || !has_window(t, o)) continue;
        tw_text_printf(out, ", slide: {");
        print_tensor(t, o, out);
        tw_text_printf(out, ": ");
        tw_print_our_loop(t->einsum->dim[t->slides], out);
        tw_text_printf(out, "}");
    }
}

/* One loop, or a list of them. */
static void print_part(const tile *t, tw_text *out)
{
    if (t->sums) return;
    for (int l = 0; l < t->n_loops; l++) {
        tw_text_printf(out, "%s%s{loop: ", l == 0 ? "    part: " : ", ", l == 0 && t->n_loops > 1 ? "[" : "");
        tw_print_our_loop(t->einsum->dim[t->loop[l]], out);
        tw_text_printf(out, ", from: %" PRId64 ", to: %" PRId64 "}", t->span[l].lo, t->span[l].hi);
    }
    if (t->n_loops > 0) tw_text_printf(out, "%s\n", t->n_loops > 1 ? "]" : "");
}

static void print_tile(const tw_cores *cores, const tile *t, int number, tw_text *out)
{
    tw_rival rival = {.machine = cores->hda->core[t->core].machine};
    tw_text_printf(out, "  - name: ");
    tw_print_our_name(t->layer->name, out);
    tw_text_printf(out, ".%d\n    core: ", number);
    tw_print_our_name(cores->hda->core[t->core].name, out);
    tw_text_printf(out, "\n    ops: [");
    tw_print_our_name(t->layer->name, out);
    tw_text_printf(out, "%s]\n", t->piece);
    print_part(t, out);
    tw_text_printf(out, "    levels:\n");
    for (int l = 0; l < t->levels->n; l++) { /* all memories of a core have tiles of one size */
        tw_text_printf(out, "      - {at: ");
        tw_levels_print_name(&rival, t->levels, l, out);
        if (l == 0) print_cuts(t, out);
        print_buffers(t, l, out);
        if (l == 0) print_slide(t, out);
        tw_text_printf(out, "}\n");
    }
    tw_text_printf(out, "    unroll: {");
    tw_stream_spread_print(t->einsum, t->piece, t->size, rival.machine, out);
    tw_text_printf(out, "}\n");
}

/* ---- tiles of a layer ---- */

static bool is_added_up(const tw_einsum *e, int d) { return !(tw_einsum_relevant(&e->operand[TW_ZZ_O]) >> d & 1); }

/* The loops that lie over cores. */
static tw_status find_loops(const tw_cores_layer *l, const tw_einsum *e, tw_diag *diag, tile *t)
{
    for (int d = 0; d < l->whole->n_dims; d++) {
        if (l->parts[d] == 1) continue;
        if (t->n_loops == TW_MAX_SPLIT_LOOPS)
            return tw_diag_error(diag, l->entry->loc, "more than %d loops of '%s' lie over cores",
                                 TW_MAX_SPLIT_LOOPS, l->whole->name);
        t->sums |= is_added_up(e, d);
        t->loop[t->n_loops++] = d;
    }
    if (!t->sums || (t->n_loops == 1 && l->n_tiles <= TW_MAX_SUMS)) return TW_OK;
    return tw_diag_error(diag, l->entry->loc,
                         "'%s' of '%s' is added up over %" PRId64
                         " cores: ours does so over one loop and at most %d cores",
                         e->dim[t->loop[0]], l->whole->name, l->n_tiles, TW_MAX_SUMS);
}

/* What tile n has of each of these loops, the last one fastest; false: nothing, since parts are rounded up. */
static bool find_spans(const tw_cores_layer *l, const tw_einsum *e, int64_t n, tile *t)
{
    bool any = true;
    for (int i = t->n_loops - 1; i >= 0; i--) {
        int64_t extent = e->extent[t->loop[i]], parts = l->parts[t->loop[i]], size = tw_cdiv(extent, parts);
        t->span[i] = (tw_span){n % parts * size, tw_min((n % parts + 1) * size, extent)};
        any &= t->span[i].lo < t->span[i].hi;
        n /= parts;
    }
    return any;
}

static tw_status print_one(const tw_cores *cores, int layer, tile *t, int number, tw_diag *diag, tw_text *out)
{
    memcpy(t->all, t->einsum->extent, sizeof t->all);
    for (int l = 0; l < t->n_loops; l++) t->all[t->loop[l]] = tw_span_len(t->span[l]);
    if (!fit_cuts(t) && !fit_rows(t) && !fit(t, true) && !fit(t, false))
        return tw_diag_infeasible(diag, cores->layer[layer].whole->loc,
                                  "no tile of '%s' fits into the memories of core %d", t->layer->name, t->core);
    print_tile(cores, t, number, out);
    return TW_OK;
}

/* Adds up the sums of a layer on the core of its first tile: its longest loop in as many parts as there must be for them to fit. */
static void print_adder(const tw_cores *cores, tile *t, int n, tw_text *out)
{
    const tw_einsum_operand *o = &t->einsum->operand[TW_ZZ_O];
    tw_rival rival = {.machine = cores->hda->core[t->core].machine};
    int longest = -1, last = t->levels->n - 1;
    int64_t words = 0;
    memcpy(t->all, t->einsum->extent, sizeof t->all);
    memcpy(t->size, t->all, sizeof t->size);
    for (int d = 0; d < t->einsum->n_dims; d++) {
        if (is_added_up(t->einsum, d))
            t->size[d] = t->all[d] = 1;
        else if (longest < 0 || t->all[d] > t->all[longest])
            longest = d;
    }
    while (tw_einsum_volume(o, t->size, &words) && longest >= 0 && t->size[longest] > 1 &&
           (double)words * (double)(n * tw_max(o->bits, o->partial_bits) + o->bits) / 8 >
               (double)t->levels->level[last].bytes / 2)
        t->size[longest] = tw_cdiv(t->size[longest], 2);
    tw_text_printf(out, "  - name: ");
    tw_print_our_name(t->layer->name, out);
    tw_text_printf(out, "\n    core: ");
    tw_print_our_name(cores->hda->core[t->core].name, out);
    tw_text_printf(out, "\n    ops: [");
    tw_print_our_name(t->layer->name, out);
    tw_text_printf(out, "]\n    levels:\n");
    for (int l = 0; l <= last; l++) {
        tw_text_printf(out, "      - {at: ");
        tw_levels_print_name(&rival, t->levels, l, out);
        if (l == 0) print_cuts(t, out);
        tw_text_printf(out, "}\n");
    }
}

/* The layers that are added up over cores, and by which shares. */
static void print_divisions(const tw_cores *cores, tw_text *out)
{
    const char *between = "divide: {";
    for (int i = 0; i < cores->n_layers; i++) {
        const tw_cores_layer *l = &cores->layer[i];
        const tw_einsum *e = cores->whole[i].einsum;
        tile t = {.layer = &cores->whole[i], .einsum = e};
        tw_diag quiet = {.muted = true};
        if (find_loops(l, e, &quiet, &t) != TW_OK || !t.sums) continue;
        tw_text_printf(out, "%s", between);
        tw_print_our_name(t.layer->name, out);
        tw_text_printf(out, ": {");
        tw_print_our_loop(e->dim[t.loop[0]], out);
        between = ", ";
        for (int64_t n = 0; n < l->n_tiles; n++)
            if (find_spans(l, e, n, &t))
                tw_text_printf(out, "%s%" PRId64, n == 0 ? ": [" : ", ", tw_span_len(t.span[0]));
        tw_text_printf(out, "]}");
    }
    if (between[0] == ',') tw_text_printf(out, "}\n");
}

/* The first tile behind n that is no group with it: where one loop lies over cores, those that one core has one behind the other are one. */
static int64_t end_of_group(const tile *t, const int *core, int64_t n_tiles, int64_t n)
{
    int64_t end = n + 1;
    while (t->n_loops == 1 && !t->sums && end < n_tiles && core[end] == core[n]) end++;
    return end;
}

static int n_groups_on(const tile *t, const int *core, int64_t n_tiles, int at)
{
    int n = 0;
    for (int64_t i = 0; i < n_tiles; i = end_of_group(t, core, n_tiles, i)) n += core[i] == at;
    return t->sums ? 1 : n; /* sums are operators of their own, one after the other */
}

static tw_status place_tiles(const tw_cores *cores, const tw_core_table *table, int layer, tw_diag *diag, int *core)
{
    const tw_cores_layer *l = &cores->layer[layer];
    for (int64_t n = 0; n < l->n_tiles; n++) {
        core[n] = tw_cores_place(cores, table, layer, n);
        if (core[n] < 0)
            return tw_diag_infeasible(diag, l->whole->loc, "no core that the mapping names runs '%s'",
                                      l->whole->name);
    }
    return TW_OK;
}

/* What tiles n to `end` are of the loops over cores; several along one loop are made one after the other. */
static bool find_group(const tw_cores_layer *l, const tw_einsum *e, int64_t n, int64_t end, tile *t)
{
    tile last = *t;
    if (!find_spans(l, e, n, t)) return false;
    if (end == n + 1) return true;
    int64_t size = tw_span_len(t->span[0]);
    for (int64_t i = end - 1; i > n && !find_spans(l, e, i, &last);) i--;
    t->span[0].hi = tw_max(t->span[0].hi, last.span[0].hi);
    t->cut[t->loop[0]] = tw_min(t->cut[t->loop[0]], size);
    t->is_cut = true;
    return true;
}

/* `alone`: the group of the mapping that has this layer and no other, NULL: there is none. */
static tw_status print_layer(const tw_cores *cores, const tw_core_table *table, int layer,
                             const tw_hda_fusion *alone, tw_diag *diag, tw_text *out)
{
    const tw_cores_layer *l = &cores->layer[layer];
    const tw_einsum *e = cores->whole[layer].einsum;
    tw_levels levels;
    tile t = {.layer = &cores->whole[layer], .einsum = e, .levels = &levels};
    TW_TRY(find_loops(l, e, diag, &t));
    memcpy(t.cut, e->extent, sizeof t.cut);
    t.is_cut = tw_hda_fusion_sizes(cores, layer, alone, t.cut);
    int number = 0, core[TW_CORES_TILES];
    TW_TRY(place_tiles(cores, table, layer, diag, core));
    for (int64_t n = 0, end; n < l->n_tiles; n = end) {
        end = end_of_group(&t, core, l->n_tiles, n);
        if (!find_group(l, e, n, end, &t)) continue;
        t.core = core[n];
        t.n_beside = n_groups_on(&t, core, l->n_tiles, t.core);
        TW_TRY(tw_hda_levels(cores->hda, t.core, diag, &levels));
        if (t.sums) snprintf(t.piece, sizeof t.piece, ".sum%d", number);
        TW_TRY(print_one(cores, layer, &t, number++, diag, out));
    }
    if (!t.sums) return TW_OK;
    t.core = core[0];
    TW_TRY(tw_hda_levels(cores->hda, t.core, diag, &levels));
    print_adder(cores, &t, number, out);
    return TW_OK;
}

/* Groups that cannot be fused are printed layer by layer. */
static tw_status print_fused(const tw_cores *cores, const tw_core_table *table, const tw_hda_fusion *f,
                             tw_diag *diag, tw_text *out)
{
    tw_status status = f->n > 1 ? tw_hda_fusion_print(cores, table, f, diag, out) : TW_INFEASIBLE;
    if (status != TW_INFEASIBLE) return status;
    for (int i = f->first; i < f->first + f->n; i++)
        TW_TRY(print_layer(cores, table, i, f->n == 1 ? f : NULL, diag, out));
    return TW_OK;
}

tw_status tw_cores_print_groups(const tw_cores *cores, const tw_core_table *table, tw_diag *diag, tw_text *out)
{
    const tw_hda_fusion *fused = cores->fused;
    int next = 0;
    tw_text_printf(out, "# Written by 'tilewright convert'; for the machine and the workload that it writes of the "
                        "same files.\n");
    print_divisions(cores, out);
    tw_text_printf(out, "groups:\n");
    for (int i = 0; i < cores->n_layers;) {
        bool begins = next < cores->n_fused && fused[next].first == i;
        if (begins)
            TW_TRY(print_fused(cores, table, &fused[next], diag, out));
        else
            TW_TRY(print_layer(cores, table, i, NULL, diag, out));
        i += begins ? fused[next++].n : 1;
    }
    return TW_OK;
}
