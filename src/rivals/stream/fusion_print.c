/* src/rivals/stream/fusion_print.c - layers that run tile by tile as groups of ours, see fusion.h.
 *
 * Each core that has a part of a layer of the group has a group of ours with all of its layers; those that the mapping puts on other cores run there, and what they make
 * passes a link. What a tile needs of a layer before the last is made for it. Where cores need all of what the mapping cuts over them, each makes it by itself. */
#include "rivals/convert.h"
#include "rivals/stream/fusion.h"
#include "rivals/stream/machine.h"
#include "rivals/stream/spread.h"

#include <string.h>

enum { MEMBERS = 16 }; /* operators of a group of ours */

typedef struct member {
    int layer, core;
    const tw_einsum *einsum;
    tw_levels levels;                         /* of its core */
    int64_t box[TW_RIVAL_DIMS];               /* what it runs of a tile */
    int maker[TW_ZZ_OPERANDS];                /* of an operand: a member, -1: it comes from outside */
    int axis[TW_ZZ_OPERANDS][TW_RIVAL_RANKS]; /* see tw_rival_maker */
} member;

typedef struct writer {
    const tw_cores *cores;
    const tw_hda_fusion *fused;
    tw_rival whole;
    tw_diag *diag;
    tw_text *out;
    int n;
    member member[MEMBERS];
    int64_t n_parts;
    int part_loop; /* of the driver; -1: the group is not cut */
    tw_span part;
    int64_t size[TW_RIVAL_DIMS]; /* of a tile of the driver */
} writer;

static member *driver_of(writer *w) { return &w->member[w->n - 1]; }

static tw_status refuse(const writer *w, const char *why, const char *layer)
{
    tw_diag_note(w->diag, w->fused->group->loc, "group '%s' runs layer by layer: '%s' %s", w->fused->group->name,
                 layer, why);
    return TW_INFEASIBLE;
}

/* ---- members ---- */

static void find_makers(writer *w, member *m)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        int from = tw_rival_maker(&w->whole, m->layer, o, m->axis[o]);
        m->maker[o] = from >= w->fused->first && from < m->layer ? from - w->fused->first : -1;
    }
}

static bool is_read(const writer *w, int at)
{
    for (int k = at + 1; k < w->n; k++)
        for (int o = 0; o < TW_ZZ_OPERANDS; o++)
            if (w->member[k].maker[o] == at) return true;
    return at == w->n - 1;
}

static tw_status take_members(writer *w)
{
    if (w->fused->n > MEMBERS)
        return refuse(w, "and the others are more than a group has", w->cores->layer[w->fused->first].whole->name);
    for (int i = 0; i < w->fused->n; i++) {
        member *m = &w->member[w->n++];
        *m = (member){.layer = w->fused->first + i, .einsum = w->cores->whole[w->fused->first + i].einsum};
        find_makers(w, m);
    }
    for (int i = 0; i < w->n; i++)
        if (!is_read(w, i)) return refuse(w, "is read by no other layer of it", w->member[i].einsum->name);
    return TW_OK;
}

/* The loop of the driver that a loop of a member becomes, from what it makes to what reads it; -1: none. */
static int follow(const writer *w, int at, int loop)
{
    if (at == w->n - 1) return loop;
    const tw_einsum_operand *made = &w->member[at].einsum->operand[TW_ZZ_O];
    for (int r = 0; r < made->n_ranks; r++) {
        if (made->rank[r].term[0].dim != loop) continue;
        for (int k = at + 1; k < w->n; k++)
            for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
                const member *m = &w->member[k];
                if (m->maker[o] != at || m->axis[o][r] < 0) continue;
                int next = m->einsum->operand[o].rank[m->axis[o][r]].term[0].dim;
                bool parallel = tw_einsum_relevant(&m->einsum->operand[TW_ZZ_O]) >> next & 1;
                int end = parallel ? follow(w, k, next) : -1;
                if (end >= 0) return end;
            }
    }
    return -1;
}

/* ---- parts ---- */

static int cut_loop(const tw_cores_layer *l)
{
    for (int d = 0; d < l->whole->n_dims; d++)
        if (l->parts[d] > 1) return d;
    return -1;
}

/* Whether a core has more than one part. */
static bool has_crowd(const tw_cores_layer *l)
{
    for (int i = 0; i < l->n_cores; i++)
        for (int k = 0; k < i; k++)
            if (l->core[i] == l->core[k]) return true;
    return l->n_tiles > l->n_cores;
}

static tw_status check_parts(writer *w, const tw_cores_layer *l)
{
    int n = 0;
    if (l->n_tiles == 1) return TW_OK;
    for (int d = 0; d < l->whole->n_dims; d++) n += l->parts[d] > 1;
    if (n > 1) return refuse(w, "is cut over cores along several loops", l->whole->name);
    if (has_crowd(l)) return refuse(w, "has several parts on one core", l->whole->name);
    if (w->n_parts > 1 && w->n_parts != l->n_tiles)
        return refuse(w, "is cut over another number of cores than the others", l->whole->name);
    w->n_parts = l->n_tiles;
    return TW_OK;
}

/* The last layer that is cut over cores says along which loop of the driver the group is. */
static tw_status find_parts(writer *w)
{
    w->n_parts = 1;
    w->part_loop = -1;
    for (int i = 0; i < w->n; i++) TW_TRY(check_parts(w, &w->cores->layer[w->member[i].layer]));
    for (int i = w->n - 1; i >= 0 && w->part_loop < 0; i--) {
        int d = cut_loop(&w->cores->layer[w->member[i].layer]);
        if (d >= 0) w->part_loop = follow(w, i, d);
    }
    if (w->n_parts == 1 || w->part_loop >= 0) return TW_OK;
    return refuse(w, "has no loop along which its layers are cut over cores", driver_of(w)->einsum->name);
}

static void remark_repeats(writer *w)
{
    for (int i = 0; i < w->n - 1; i++) {
        const tw_cores_layer *l = &w->cores->layer[w->member[i].layer];
        int d = cut_loop(l);
        if (d >= 0 && follow(w, i, d) != w->part_loop)
            tw_diag_note(w->diag, l->entry->loc,
                         "each of the %" PRId64
                         " cores reads all of what '%s' makes along '%s', and makes it by itself in group '%s'",
                         w->n_parts, l->whole->name, l->whole->dim[d], w->fused->group->name);
    }
}

/* The cores of one part, and which of the driver's indices it has; false: none. */
static tw_status take_part(writer *w, const tw_core_table *table, int64_t part, bool *any)
{
    const tw_einsum *e = driver_of(w)->einsum;
    for (int i = 0; i < w->n; i++) {
        member *m = &w->member[i];
        bool cut = w->cores->layer[m->layer].n_tiles > 1;
        m->core = tw_cores_place(w->cores, table, m->layer, cut ? part : 0);
        if (m->core < 0)
            return tw_diag_infeasible(w->diag, w->cores->layer[m->layer].whole->loc,
                                      "no core that the mapping names runs '%s'", m->einsum->name);
        TW_TRY(tw_hda_levels(w->cores->hda, m->core, w->diag, &m->levels));
    }
    *any = true;
    if (w->part_loop < 0) return TW_OK;
    int64_t extent = e->extent[w->part_loop], size = tw_cdiv(extent, w->n_parts);
    w->part = (tw_span){tw_min(part * size, extent), tw_min((part + 1) * size, extent)};
    *any = w->part.lo < w->part.hi;
    return TW_OK;
}

/* ---- tiles ---- */

static int64_t whole_of(writer *w, int d)
{
    return d == w->part_loop ? tw_span_len(w->part) : driver_of(w)->einsum->extent[d];
}

/* The layer that the cut names or, of a type, the first of it; -1: there is none. */
static int member_of(const writer *w, const tw_hda_cut *cut)
{
    int found = -1;
    for (int i = w->n - 1; i >= 0; i--) {
        const tw_zz_layer *l = w->cores->layer[w->member[i].layer].whole;
        if (strcmp(l->name, cut->layer) == 0) return i;
        if (strcmp(l->type, cut->layer) == 0) found = i;
    }
    return found;
}

/* A cut of another layer has as many elements of the driver's loop as are made of so many. */
static void take_cut(writer *w, const tw_hda_cut *cut)
{
    int i = member_of(w, cut);
    const tw_zz_layer *l = i < 0 ? NULL : w->cores->layer[w->member[i].layer].whole;
    int d = l ? tw_allocation_dim(l, cut->dim) : -1;
    if (d < 0 || l->extent[d] <= cut->n) return;
    int loop = follow(w, i, d);
    if (loop < 0) {
        tw_diag_note(w->diag, cut->loc, "'%s' of '%s' becomes no loop of '%s', and is not cut", l->dim[d], l->name,
                     driver_of(w)->einsum->name);
        return;
    }
    int64_t size = cut->n * driver_of(w)->einsum->extent[loop] / l->extent[d];
    w->size[loop] = tw_clamp(size, 1, w->size[loop]);
}

/* What each layer runs of a tile: what those behind it read. */
static void find_boxes(writer *w)
{
    memcpy(driver_of(w)->box, w->size, sizeof w->size);
    for (int i = w->n - 2; i >= 0; i--) {
        member *m = &w->member[i];
        const tw_einsum_operand *made = &m->einsum->operand[TW_ZZ_O];
        memcpy(m->box, m->einsum->extent, sizeof m->box);
        for (int r = 0; r < made->n_ranks; r++) {
            int64_t most = 1;
            for (int k = i + 1; k < w->n; k++)
                for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
                    const member *reader = &w->member[k];
                    if (reader->maker[o] != i || reader->axis[o][r] < 0) continue;
                    most = tw_max(
                        most, tw_einsum_reach(&reader->einsum->operand[o].rank[reader->axis[o][r]], reader->box));
                }
            m->box[made->rank[r].term[0].dim] = tw_min(most, m->box[made->rank[r].term[0].dim]);
        }
    }
}

/* Bytes that the buffers of a core's layers take about: two of what changes, one of weights. */
static double bytes_on(writer *w, int core)
{
    double sum = 0;
    for (int i = 0; i < w->n; i++)
        for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
            const member *m = &w->member[i];
            const tw_einsum_operand *x = &m->einsum->operand[o];
            int64_t words = 0;
            if (m->core != core || (m->maker[o] >= 0 && w->member[m->maker[o]].core == core)) continue;
            if (!tw_einsum_volume(x, m->box, &words)) return 1e18;
            double bytes = (double)words * (double)tw_max(x->bits, o == TW_ZZ_O ? x->partial_bits : 0) / 8;
            sum += o == TW_ZZ_I2 && m->maker[o] < 0 ? bytes : 2 * bytes;
        }
    return sum;
}

static int too_small(writer *w)
{
    find_boxes(w);
    for (int i = 0; i < w->n; i++)
        if (bytes_on(w, w->member[i].core) > (double)w->member[i].levels.level[0].bytes) return i;
    return -1;
}

/* How well a loop of the driver is cut once more: one that is cut already before one along which a window moves, and that before others, along which what the layers
 * before make is made for every tile. */
static int preference(writer *w, int d)
{
    const tw_einsum *e = driver_of(w)->einsum;
    int best = w->size[d] < whole_of(w, d) ? 2 : 0;
    for (int o = 0; o < e->n_operands; o++)
        for (int r = 0; r < e->operand[o].n_ranks; r++) {
            const tw_einsum_rank *rank = &e->operand[o].rank[r];
            if (rank->n_terms > 1 && rank->term[0].dim == d && best == 0) best = 1;
        }
    return best;
}

/* The loop of what the driver makes that is cut next, the longest of those that are as good; -1: all are down to 1. */
static int next_cut(writer *w)
{
    unsigned parallel = tw_einsum_relevant(&driver_of(w)->einsum->operand[TW_ZZ_O]);
    int best = -1;
    for (int d = 0; d < driver_of(w)->einsum->n_dims; d++) {
        if (!(parallel >> d & 1) || w->size[d] == 1) continue;
        int better = best < 0 ? 1 : preference(w, d) - preference(w, best);
        if (better > 0 || (better == 0 && w->size[d] > w->size[best])) best = d;
    }
    return best;
}

static tw_status find_tile(writer *w)
{
    const tw_hda_group *g = w->fused->group;
    for (int d = 0; d < driver_of(w)->einsum->n_dims; d++) w->size[d] = whole_of(w, d);
    for (int c = 0; c < g->n_intra; c++) take_cut(w, &g->intra[c]);
    for (;;) {
        int full = too_small(w), d = next_cut(w);
        if (full < 0) return TW_OK;
        if (d < 0) return refuse(w, "does not fit into its core beside the others", w->member[full].einsum->name);
        w->size[d] = tw_cdiv(w->size[d], 2);
    }
}

/* ---- text ---- */

static bool on_one_core(const writer *w)
{
    for (int i = 1; i < w->n; i++)
        if (w->member[i].core != w->member[0].core) return false;
    return true;
}

static void print_core(const writer *w, int core) { tw_print_our_name(w->cores->hda->core[core].name, w->out); }

static void print_tensor(const writer *w, int at, int operand)
{
    const member *m = &w->member[at];
    int from = tw_rival_maker(&w->whole, m->layer, operand, (int[TW_RIVAL_RANKS]){0});
    const tw_einsum *e = from >= 0 ? w->cores->whole[from].einsum : m->einsum;
    tw_print_our_name(e->name, w->out);
    tw_text_printf(w->out, ".");
    tw_print_our_loop(e->operand[from >= 0 ? TW_ZZ_O : operand].name, w->out);
}

static void print_sizes(writer *w)
{
    const char *between = ", sizes: {";
    for (int d = 0; d < driver_of(w)->einsum->n_dims; d++) {
        if (w->size[d] == whole_of(w, d)) continue;
        tw_text_printf(w->out, "%s", between);
        tw_print_our_loop(driver_of(w)->einsum->dim[d], w->out);
        tw_text_printf(w->out, ": %" PRId64, w->size[d]);
        between = ", ";
    }
    if (between[2] == 0) tw_text_printf(w->out, "}");
}

static int maker_of(const writer *w, int at, int operand)
{
    return tw_rival_maker(&w->whole, w->member[at].layer, operand, (int[TW_RIVAL_RANKS]){0});
}

/* Whether no layer before this one has the tensor on the core: each is named once. */
static bool is_first(const writer *w, int at, int operand, int core)
{
    int from = maker_of(w, at, operand);
    for (int k = 0; k < at && from >= 0; k++)
        for (int o = 0; o < TW_ZZ_OPERANDS; o++)
            if (w->member[k].core == core && maker_of(w, k, o) == from) return false;
    return true;
}

/* What comes from outside, or from another core, and what leaves the group has two buffers. */
static bool has_two(const writer *w, int at, int operand)
{
    const member *m = &w->member[at];
    if (operand == TW_ZZ_O) return at == w->n - 1;
    if (operand == TW_ZZ_I2 && m->maker[operand] < 0) return false;
    return m->maker[operand] < 0 || w->member[m->maker[operand]].core != m->core;
}

/* The only loop that tiles cut, -1: there are none or several. */
static int only_cut(writer *w)
{
    int cut = -1, n = 0;
    for (int d = 0; d < driver_of(w)->einsum->n_dims; d++)
        if (w->size[d] < whole_of(w, d)) cut = d, n++;
    return n == 1 ? cut : -1;
}

/* Windows along the loop that is cut: rows that two tiles share stay, and are neither loaded nor made again. */
static bool slides(writer *w, int at, int operand)
{
    const member *m = &w->member[at];
    const tw_einsum_operand *x = &m->einsum->operand[operand];
    int cut = only_cut(w), from = m->maker[operand];
    if (operand == TW_ZZ_O || cut < 0 || (from >= 0 && w->member[from].core != m->core)) return false;
    for (int r = 0; r < x->n_ranks; r++)
        if (x->rank[r].n_terms > 1 && follow(w, at, x->rank[r].term[0].dim) == cut) return true;
    return false;
}

static void print_buffers(writer *w, int core)
{
    const char *between = ", buffers: {";
    for (int i = 0; i < w->n; i++)
        for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
            bool empty = w->member[i].einsum->operand[o].bits == 0;
            if (w->member[i].core != core || empty || !has_two(w, i, o) || !is_first(w, i, o, core)) continue;
            tw_text_printf(w->out, "%s", between);
            print_tensor(w, i, o);
            tw_text_printf(w->out, ": 2");
            between = ", ";
        }
    if (between[2] == 0) tw_text_printf(w->out, "}");
}

static void print_slides(writer *w, int core)
{
    const char *between = ", slide: {";
    for (int i = 0; i < w->n; i++)
        for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
            if (w->member[i].core != core || !slides(w, i, o) || !is_first(w, i, o, core)) continue;
            tw_text_printf(w->out, "%s", between);
            print_tensor(w, i, o);
            tw_text_printf(w->out, ": ");
            tw_print_our_loop(driver_of(w)->einsum->dim[only_cut(w)], w->out);
            between = ", ";
        }
    if (between[2] == 0) tw_text_printf(w->out, "}");
}

static void print_levels(writer *w, bool one)
{
    bool first = true;
    tw_text_printf(w->out, "    levels:\n");
    for (int c = 0; c < w->cores->hda->n_cores; c++)
        for (int i = 0; i < w->n; i++) {
            tw_rival rival = {.machine = w->cores->hda->core[c].machine};
            if (w->member[i].core != c) continue;
            tw_text_printf(w->out, "      - {at: ");
            if (!one) print_core(w, c);
            if (!one) tw_text_printf(w->out, ".");
            tw_levels_print_name(&rival, &w->member[i].levels, 0, w->out);
            if (first) print_sizes(w);
            print_buffers(w, c);
            print_slides(w, c);
            tw_text_printf(w->out, "}\n");
            first = false;
            break;
        }
}

static void print_engines(const writer *w)
{
    tw_text_printf(w->out, "    engines: {");
    for (int i = 0; i < w->n; i++) {
        tw_text_printf(w->out, "%s", i ? ", " : "");
        tw_print_our_name(w->member[i].einsum->name, w->out);
        tw_text_printf(w->out, ": ");
        print_core(w, w->member[i].core);
        tw_text_printf(w->out, ".array");
    }
    tw_text_printf(w->out, "}\n");
}

static void print_unroll(writer *w)
{
    tw_text_printf(w->out, "    unroll: {");
    for (int i = 0; i < w->n; i++) {
        const member *m = &w->member[i];
        tw_text_printf(w->out, "%s", i ? ", " : "");
        tw_stream_spread_print(m->einsum, "", m->box, w->cores->hda->core[m->core].machine, w->out);
    }
    tw_text_printf(w->out, "}\n");
}

static void print_group(writer *w, int number)
{
    bool one = on_one_core(w);
    tw_text_printf(w->out, "  - name: ");
    tw_print_our_name(w->fused->group->name, w->out);
    tw_text_printf(w->out, ".%d\n", number);
    if (one) {
        tw_text_printf(w->out, "    core: ");
        print_core(w, w->member[0].core);
        tw_text_printf(w->out, "\n");
    }
    tw_text_printf(w->out, "    ops: [");
    for (int i = 0; i < w->n; i++) {
        tw_text_printf(w->out, "%s", i ? ", " : "");
        tw_print_our_name(w->member[i].einsum->name, w->out);
    }
    tw_text_printf(w->out, "]\n");
    if (!one) print_engines(w);
    if (w->part_loop >= 0) {
        tw_text_printf(w->out, "    part: {loop: ");
        tw_print_our_loop(driver_of(w)->einsum->dim[w->part_loop], w->out);
        tw_text_printf(w->out, ", from: %" PRId64 ", to: %" PRId64 "}\n", w->part.lo, w->part.hi);
    }
    print_levels(w, one);
    print_unroll(w);
}

tw_status tw_hda_fusion_print(const tw_cores *cores, const tw_core_table *table, const tw_hda_fusion *fused,
                              tw_diag *diag, tw_text *out)
{
    writer w = {.cores = cores, .fused = fused, .diag = diag, .out = out};
    int number = 0;
    w.whole = (tw_rival){.tool = &tw_zigzag_tool, .n_layers = cores->n_layers, .layer = cores->whole};
    TW_TRY(take_members(&w));
    TW_TRY(find_parts(&w));
    for (int pass = 0; pass < 2; pass++) /* all parts fit, or none is printed */
        for (int64_t p = 0; p < w.n_parts; p++) {
            bool any = false;
            TW_TRY(take_part(&w, table, p, &any));
            if (!any) continue;
            TW_TRY(find_tile(&w));
            if (pass == 1) print_group(&w, number++);
        }
    remark_repeats(&w);
    return TW_OK;
}
