/* src/rivals/zigzag/write.c - a plan of ours as files of ZigZag: accelerator, workload and mapping.
 *
 * The machine and the nest are those that its rules count (foreign.c), in the tool's words: operands are I, W and O, loops have capital
 * letters, the axes of the array are D1, D2, .. and ports are numbered. */
#include "rivals/zigzag/write.h"
#include "rivals/levels.h"
#include "rivals/zigzag/foreign.h"

#include <math.h>
#include <string.h>

static const char *const letter[TW_ZZ_OPERANDS] = {"I", "W", "O"}, *const linked[TW_ZZ_OPERANDS] = {"I1", "I2",
                                                                                                    "O"};

/* ---- the accelerator ---- */

static void print_port(const tw_rival_memory *m, int p, tw_text *out)
{
    static const char *const kind[] = {"read", "write", "read_write"}, *const prefix[] = {"r", "w", "rw"},
                             *const way_word[TW_N_WAYS] = {"tl", "fl", "th", "fh"};
    bool reads = false, writes = false;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int way = 0; way < TW_N_WAYS; way++) {
            if (!(m->keeps >> o & 1) || m->port_of[o][way] != p) continue;
            reads |= way == TW_WAY_READ_DOWN || way == TW_WAY_READ_UP;
            writes |= way == TW_WAY_WRITE_DOWN || way == TW_WAY_WRITE_UP;
        }
    if (!reads && !writes) return;
    int k = reads && writes ? 2 : writes;
    tw_text_printf(out,
                   "      - name: %s_port_%d\n        type: %s\n        bandwidth_min: %" PRId64
                   "\n        bandwidth_max: %.0f\n"
                   "        allocation:\n",
                   prefix[k], p + 1, kind[k], m->port[p].least, m->port[p].most);
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int way = 0; way < TW_N_WAYS; way++)
            if ((m->keeps >> o & 1) && m->port_of[o][way] == p)
                tw_text_printf(out, "          - %s, %s\n", linked[o], way_word[way]);
}

static void print_axes(const tw_hierarchy *h, tw_text *out)
{
    for (int a = 0; a < h->n_axes; a++) tw_text_printf(out, "%sD%d", a ? ", " : "", a + 1);
}

static void print_memory(const tw_hierarchy *h, const tw_rival_memory *m, tw_text *out)
{
    const char *between = "";
    tw_text_printf(out, "  ");
    tw_print_our_name(m->name, out);
    tw_text_printf(out,
                   ":\n    size: %" PRId64
                   "\n    r_cost: %.17g\n    w_cost: %.17g\n    area: 0\n    latency: 1\n    operands: [",
                   m->size_bits == TW_UNLIMITED ? INT64_C(1) << 50 : m->size_bits, m->read_pj, m->write_pj);
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        if (!(m->keeps >> o & 1)) continue;
        tw_text_printf(out, "%s%s", between, linked[o]);
        between = ", ";
    }
    tw_text_printf(out, "]\n    ports:\n");
    for (int p = 0; p < m->n_ports; p++) print_port(m, p, out);
    tw_text_printf(out, "    served_dimensions: [");
    print_axes(h, out);
    tw_text_printf(out, "]\n");
}

static void print_accelerator(const tw_hierarchy *h, tw_text *out)
{
    tw_text_printf(out, "# Written by 'tilewright convert'.\nname: ");
    tw_print_our_name(h->name, out);
    tw_text_printf(out, "\nmemories:\n");
    for (int m = h->n_memories - 1; m >= 0; m--) print_memory(h, &h->memory[m], out);
    tw_text_printf(out, "operational_array:\n  unit_energy: %.17g\n  unit_area: 1\n  dimensions: [", h->mac_pj);
    print_axes(h, out);
    tw_text_printf(out, "]\n  sizes: [");
    for (int a = 0; a < h->n_axes; a++) tw_text_printf(out, "%s%" PRId64, a ? ", " : "", h->axis_size[a]);
    tw_text_printf(out, "]\n");
}

/* ---- the workload ---- */

static void print_lower(const char *name, tw_text *out)
{
    for (; *name; name++) tw_text_printf(out, "%c", tw_to_lower(*name));
}

/* An index that is a sum of two loops has a name of its own. */
static void print_operand(const tw_einsum *e, int o, tw_text *out)
{
    tw_text_printf(out, "%s", letter[o]);
    for (int r = 0; r < e->operand[o].n_ranks; r++) {
        const tw_einsum_rank *rank = &e->operand[o].rank[r];
        tw_text_printf(out, "[");
        if (rank->n_terms == 1)
            print_lower(e->dim[rank->term[0].dim], out);
        else
            tw_text_printf(out, "ix%d%d", o, r);
        tw_text_printf(out, "]");
    }
}

static void print_relations(const tw_einsum *e, tw_text *out)
{
    const char *between = "";
    tw_text_printf(out, "  dimension_relations: [");
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int r = 0; r < e->operand[o].n_ranks; r++) {
            const tw_einsum_rank *rank = &e->operand[o].rank[r];
            if (rank->n_terms != 2) continue;
            tw_text_printf(out, "%six%d%d=%" PRId64 "*", between, o, r, rank->term[0].coefficient);
            print_lower(e->dim[rank->term[0].dim], out);
            tw_text_printf(out, "+%" PRId64 "*", rank->term[1].coefficient);
            print_lower(e->dim[rank->term[1].dim], out);
            between = ", ";
        }
    tw_text_printf(out, "]\n");
}

static void print_layer(const tw_einsum *e, int index, tw_text *out)
{
    tw_text_printf(out, "- id: %d\n  name: ", index);
    tw_print_our_name(e->name, out);
    tw_text_printf(out, "\n  operator_type: Gemm\n  equation: ");
    print_operand(e, TW_ZZ_O, out);
    tw_text_printf(out, "+=");
    print_operand(e, TW_ZZ_I1, out);
    tw_text_printf(out, e->adds ? "+" : "*");
    print_operand(e, TW_ZZ_I2, out);
    tw_text_printf(out, "\n");
    print_relations(e, out);
    tw_text_printf(out, "  loop_dims: [");
    for (int d = 0; d < e->n_dims; d++) tw_text_printf(out, "%s%s", d ? ", " : "", e->dim[d]);
    tw_text_printf(out, "]\n  loop_sizes: [");
    for (int d = 0; d < e->n_dims; d++) tw_text_printf(out, "%s%" PRId64, d ? ", " : "", e->extent[d]);
    tw_text_printf(out,
                   "]\n  operand_precision: {I: %" PRId64 ", W: %" PRId64 ", O: %" PRId64 ", O_final: %" PRId64
                   "}\n"
                   "  operand_source: {I: %d, W: %d}\n",
                   e->operand[0].bits, e->operand[1].bits,
                   e->operand[2].partial_bits > 0 ? e->operand[2].partial_bits : e->operand[2].bits,
                   e->operand[2].bits, index, index);
}

/* ---- the whole ---- */

/* Ports that are there for want of a bandwidth may as well be as wide as the widest: they move the same blocks. */
static void even_out(tw_hierarchy *h)
{
    for (int m = 0; m < h->n_memories; m++) {
        tw_rival_memory *x = &h->memory[m];
        double most = 0;
        for (int p = 0; p < x->n_ports; p++) most = fmax(most, x->port[p].most);
        for (int p = 0; p < x->n_ports; p++) {
            if (strcmp(x->port[p].name, "unlimited") != 0) continue;
            x->port[p].pj *= most / x->port[p].most;
            x->port[p].most = most;
        }
        for (int p = 0; p < x->n_ports; p++)
            if (x->port[p].kind != TW_RIVAL_WRITES) x->read_pj = x->port[p].pj;
        for (int p = 0; p < x->n_ports; p++)
            if (x->port[p].kind != TW_RIVAL_READS) x->write_pj = x->port[p].pj;
    }
}

/* An access of the tool costs the same through each port of a memory. */
static tw_status check_costs(const tw_hierarchy *h, tw_loc loc, tw_diag *diag)
{
    for (int m = 0; m < h->n_memories; m++)
        for (int writing = 0; writing < 2; writing++) {
            double least = INFINITY, most = 0;
            for (int o = 0; o < TW_ZZ_OPERANDS; o++)
                for (int way = 0; way < TW_N_WAYS; way++) {
                    bool is_write = way == TW_WAY_WRITE_DOWN || way == TW_WAY_WRITE_UP;
                    int port = h->memory[m].port_of[o][way];
                    if (is_write != writing || !(h->memory[m].keeps >> o & 1) || port < 0) continue;
                    least = fmin(least, h->memory[m].port[port].pj);
                    most = fmax(most, h->memory[m].port[port].pj);
                }
            if (most > least)
                return tw_diag_error(
                    diag, loc,
                    "accesses of '%s' take %g to %g pJ through ports of different widths; a memory of ZigZag has "
                    "one cost",
                    h->memory[m].name, least, most);
        }
    return TW_OK;
}

static const char *upper(const char *name, tw_arena *arena)
{
    char *copy = tw_arena_strndup(arena, name, strlen(name));
    for (char *at = copy; at && *at; at++)
        if (*at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
    return copy;
}

/* The layer in the tool's words. */
static tw_status in_their_words(const tw_einsum *from, tw_work work, tw_loc loc, tw_einsum *e)
{
    *e = *from;
    if (e->n_operands != TW_ZZ_OPERANDS || !e->operand[TW_ZZ_O].updated)
        return tw_diag_error(work.diag, loc,
                             "'%s' has %d operands; a layer of ZigZag has two inputs and one result", e->name,
                             e->n_operands);
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) e->operand[o].name = letter[o];
    for (int d = 0; d < e->n_dims; d++)
        if (!(e->dim[d] = upper(e->dim[d], work.arena))) return TW_ERR_NOMEM;
    return TW_OK;
}

static tw_status print_one(const tw_rival *ours, int layer, tw_zz_file file, tw_work work, tw_text *out)
{
    tw_remarks remarks = {.arena = work.arena};
    tw_zz_goal goal;
    tw_zz_best *best;
    tw_einsum *e;
    tw_zz_extra *x;
    tw_hierarchy *h;
    TW_ALLOC(work.arena, best, 1);
    TW_ALLOC(work.arena, e, 1);
    TW_ALLOC(work.arena, x, 1);
    TW_ALLOC(work.arena, h, 1);
    TW_TRY(in_their_words(ours->layer[layer].einsum, work, ours->layer[layer].loc, e));
    TW_TRY(tw_zz_adopt(ours, layer, work, &remarks, &goal, best));
    *h = *goal.machine;
    even_out(h);
    TW_TRY(check_costs(h, ours->layer[layer].loc, work.diag));
    for (int a = 0; a < h->n_axes; a++)
        if (!(h->axis[a] = tw_arena_printf(work.arena, "D%d", a + 1))) return TW_ERR_NOMEM;
    *x = *goal.extra;
    x->chosen = &best->nest;
    tw_rival_layer mapped = {.name = e->name, .einsum = e, .loc = ours->layer[layer].loc, .extra = x};
    tw_rival theirs = {.tool = &tw_zigzag_tool, .machine = h, .n_layers = 1, .layer = &mapped};
    if (file == TW_ZZ_ACCELERATOR && layer == 0) print_accelerator(h, out);
    if (file == TW_ZZ_WORKLOAD) print_layer(e, layer, out);
    if (file == TW_ZZ_MAPPING) tw_zigzag_tool.print_mapping(&theirs, 0, out);
    return TW_OK;
}

tw_status tw_zz_write(const tw_rival *ours, tw_zz_file file, tw_work work, tw_text *out)
{
    if (ours->n_layers != 1) /* ports are as wide as the largest transfer of the layer */
        return tw_diag_error(work.diag, ours->layer[0].loc,
                             "the workload has %d operators; one at a time can be written", ours->n_layers);
    return print_one(ours, 0, file, work, out);
}
