/* src/rivals/convert.c - other tools' machines and layers as files of ours. */
#include "rivals/convert.h"

#include <math.h>
#include <string.h>

/* What names of ours allow, and a letter first. */
static void print_name(const char *name, tw_text *out)
{
    if (!tw_is_alpha(*name)) tw_text_printf(out, "x");
    for (; *name; name++) tw_text_printf(out, "%c", tw_is_alnum(*name) || strchr("_.-", *name) ? *name : '_');
}

static void print_loop(const char *name, tw_text *out)
{
    for (; *name; name++) tw_text_printf(out, "%c", tw_to_lower(*name));
}

/* ---- the machine ---- */

/* Bits that one access moves. */
static double access_bits(const tw_rival_memory *m)
{
    double most = 0;
    for (int i = 0; i < m->n_ports; i++) most = fmax(most, m->port[i].most * (double)m->word_bits);
    return most > 0 && m->block_words <= 1 ? most : (double)(m->word_bits * m->block_words);
}

static double pj_per_byte(const tw_rival_memory *m)
{
    return (m->read_pj + m->write_pj) / 2 / (access_bits(m) / 8);
}

/* Bytes on chip, and the memory whose energy stands for them: the largest. */
static int64_t on_chip(const tw_hierarchy *h, const tw_rival_memory **largest)
{
    int64_t bytes = 0, most = 0;
    for (int m = 1; m < h->n_memories; m++) {
        int64_t size;
        const tw_rival_memory *x = &h->memory[m];
        if (x->size_bits == TW_UNLIMITED || !tw_ckd_mul(x->size_bits / 8, tw_max(x->instances, 1), &size))
            size = INT64_C(1) << 50;
        bytes = tw_min(bytes + size, INT64_C(1) << 50);
        if (size < most) continue;
        most = size;
        *largest = x;
    }
    return tw_max(bytes, 1);
}

static bool is_private(const tw_rival_memory *m) { return m->instances > 1; }

/* A point reads its inputs from the registers beside it, and reads and writes its sum. */
static double point_pj(const tw_hierarchy *h, const tw_einsum *e)
{
    double pj = h->mac_pj;
    for (int m = 1; m < h->n_memories; m++)
        for (int o = 0; o < e->n_operands && is_private(&h->memory[m]); o++) {
            const tw_einsum_operand *x = &e->operand[o];
            double bits = (double)(x->partial_bits > 0 ? x->partial_bits : x->bits);
            if (!(h->memory[m].keeps >> o & 1)) continue;
            pj += (h->memory[m].read_pj + (x->updated ? h->memory[m].write_pj : 0)) * bits /
                  access_bits(&h->memory[m]);
        }
    return pj;
}

/* Bytes per cycle of what passes the outermost memory in a direction; 0: it is not said. */
static int64_t top_rate(const tw_hierarchy *h, tw_rival_way way)
{
    double most = 0;
    for (int o = 0; o < TW_RIVAL_OPERANDS; o++) {
        int port = h->memory[0].n_ports > 0 ? h->memory[0].port_of[o][way] : -1;
        if (port >= 0) most = fmax(most, h->memory[0].port[port].most * (double)h->memory[0].word_bits / 8);
    }
    return (int64_t)most;
}

/* Whether reads and writes of the outermost memory take turns. */
static bool takes_turns(const tw_hierarchy *h)
{
    for (int i = 0; i < h->memory[0].n_ports; i++)
        if (h->memory[0].port[i].kind == TW_RIVAL_BOTH) return true;
    return h->memory[0].n_ports == 0;
}

static void print_memories(const tw_hierarchy *h, tw_text *out)
{
    const tw_rival_memory *inner = &h->memory[0];
    int64_t bytes = on_chip(h, &inner);
    tw_text_printf(out, "memories:\n  - {name: ");
    print_name(h->memory[0].name, out);
    tw_text_printf(out,
                   ", size: unlimited, energy: %.3f pJ}\n  - {name: on_chip, size: %" PRId64 ", energy: %.3f pJ}\n",
                   pj_per_byte(&h->memory[0]), bytes, pj_per_byte(inner));
}

static void print_mover(const tw_hierarchy *h, const char *name, const char *carries, int64_t rate, tw_text *out)
{
    tw_text_printf(out, "  - {name: %s, between: [", name);
    print_name(h->memory[0].name, out);
    tw_text_printf(out, ", on_chip], carries: %s, %scost: {latency: 0, per_cycle: %" PRId64 "}}\n", carries,
                   strcmp(carries, "both") == 0 ? "prefetch: all, " : "",
                   rate > 0 ? rate : 1 << 20); /* what is not said does not limit */
}

static void print_array(const tw_hierarchy *h, const tw_einsum *e, tw_text *out)
{
    tw_text_printf(
        out,
        "  - name: array\n    computes: [multiply-add, add, max]\n    memory: on_chip\n    accumulate: fused\n"
        "    energy: %.3f pJ\n    cost: {array: {",
        point_pj(h, e));
    if (h->n_axes == 0) tw_text_printf(out, "lane: 1"); /* a single multiplier */
    for (int a = 0; a < h->n_axes; a++) {
        tw_text_printf(out, "%s", a ? ", " : "");
        print_loop(h->axis[a], out);
        tw_text_printf(out, ": %" PRId64, h->axis_size[a]);
    }
    tw_text_printf(out, "}}\n");
}

tw_status tw_rival_machine_print(const tw_rival *rival, tw_diag *diag, tw_text *out)
{
    enum { AXES = 4 };
    const tw_hierarchy *h = rival->machine;
    const tw_einsum *e = rival->layer[0].einsum;
    unsigned inside = 0;
    for (int m = 1; m < h->n_memories; m++) inside |= h->memory[m].keeps;
    for (int o = 0; o < e->n_operands; o++)
        if (!(inside >> o & 1))
            return tw_diag_error(diag, h->memory[0].loc,
                                 "operand '%s' has no memory but '%s'; a machine of ours has one inside of it",
                                 e->operand[o].name, h->memory[0].name);
    if (h->n_axes > AXES)
        return tw_diag_error(diag, h->memory[0].loc, "the array has %d dimensions; one of ours has at most %d",
                             h->n_axes, AXES);
    tw_text_printf(out, "# Written by 'tilewright convert'. One memory stands for all that is on chip, and the "
                        "registers of the multipliers are\n"
                        "# in the energy of a point; see docs/rules-zigzag.md.\nmachine: ");
    print_name(h->name, out);
    tw_text_printf(out, "\nunit: byte\ntiming: async\n");
    print_memories(h, out);
    tw_text_printf(out, "engines:\n");
    if (takes_turns(h)) {
        print_mover(h, "port", "both", top_rate(h, TW_WAY_READ_DOWN), out);
    } else {
        print_mover(h, "reads", "in", top_rate(h, TW_WAY_READ_DOWN), out);
        print_mover(h, "writes", "out", top_rate(h, TW_WAY_WRITE_DOWN), out);
    }
    print_array(h, e, out);
    return TW_OK;
}

/* ---- layers ---- */

static const char *type_of(int64_t bits)
{
    return bits == 8 ? "i8" : bits == 16 ? "i16" : bits == 32 ? "i32" : bits == 64 ? "i64" : NULL;
}

/* A sum of loops. What a window reaches beyond the tensor is padding, of which the smaller half comes first. */
static void print_rank(const tw_einsum *e, const tw_einsum_rank *rank, int64_t pad, tw_text *out)
{
    for (int i = 0; i < rank->n_terms; i++) {
        tw_text_printf(out, "%s", i ? " + " : "");
        if (rank->term[i].coefficient != 1) tw_text_printf(out, "%" PRId64 "*", rank->term[i].coefficient);
        print_loop(e->dim[rank->term[i].dim], out);
    }
    if (pad > 0) tw_text_printf(out, " - %" PRId64, pad);
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
    print_loop(x->name, out);
    tw_text_printf(out, ": {dtype: %s, %sat: [", type,
                   !x->updated && strcmp(x->name, "W") == 0 ? "role: weights, " : "");
    for (int r = 0; r < x->n_ranks; r++) {
        int64_t reach = tw_einsum_reach(&x->rank[r], e->extent);
        extent[r] = rival->tool->extent_of ? tw_min(reach, rival->tool->extent_of(l, operand, r)) : reach;
        tw_text_printf(out, "%s", r ? ", " : "");
        print_rank(e, &x->rank[r], (reach - extent[r]) / 2, out);
    }
    tw_text_printf(out, "], shape: [");
    for (int r = 0; r < x->n_ranks; r++) tw_text_printf(out, "%s%" PRId64, r ? ", " : "", extent[r]);
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

static const tw_einsum_operand *result_of(const tw_einsum *e)
{
    for (int o = 0; o < e->n_operands; o++)
        if (e->operand[o].updated) return &e->operand[o];
    return &e->operand[0];
}

static void print_loops(const tw_einsum *e, tw_text *out)
{
    unsigned parallel = tw_einsum_relevant(result_of(e));
    const char *between = "";
    tw_text_printf(out, "    loops: {");
    for (int d = 0; d < e->n_dims; d++) {
        tw_text_printf(out, "%s", d ? ", " : "");
        print_loop(e->dim[d], out);
        tw_text_printf(out, ": %" PRId64, e->extent[d]);
    }
    tw_text_printf(out, "}\n    reduce: [");
    for (int d = 0; d < e->n_dims; d++) {
        if (parallel >> d & 1) continue;
        tw_text_printf(out, "%s", between);
        print_loop(e->dim[d], out);
        between = ", ";
    }
    tw_text_printf(out, "]\n");
}

static const char *compute_of(const tw_rival *rival, const tw_einsum *e)
{
    for (int o = 0; o < e->n_operands; o++)
        if (rival->tool->rules == TW_RULES_ZIGZAG && e->operand[o].bits == 0) return "max";
    return e->adds ? "add" : "multiply-add";
}

static tw_status print_layer(const tw_rival *rival, int layer, tw_diag *diag, tw_text *out)
{
    const tw_einsum *e = rival->layer[layer].einsum;
    const char *compute = compute_of(rival, e), *sums = type_of(result_of(e)->partial_bits);
    tw_text_printf(out, "  - name: ");
    print_name(e->name, out);
    tw_text_printf(out, "\n    compute: %s\n", compute);
    print_loops(e, out);
    if (sums && strcmp(compute, "multiply-add") == 0) tw_text_printf(out, "    accumulator: %s\n", sums);
    TW_TRY(print_operands(rival, layer, false, diag, out));
    return print_operands(rival, layer, true, diag, out);
}

tw_status tw_rival_workload_print(const tw_rival *rival, tw_diag *diag, tw_text *out)
{
    tw_text_printf(out, "# Written by 'tilewright convert'. Layers stand on their own: tensors that one makes and "
                        "another reads are not joined.\n"
                        "workload: layers\nops:\n");
    for (int i = 0; i < rival->n_layers; i++) TW_TRY(print_layer(rival, i, diag, out));
    return TW_OK;
}
