/* src/rivals/timeloop/write.c - a plan of ours as a file of Timeloop: architecture, energies, problem and mapping in one.
 *
 * Words of a memory have one width there, and a memory one bandwidth for reads and one for writes: elements of different widths are
 * refused, and of several movers that write into a memory the rates add up. */
#include "rivals/timeloop/write.h"
#include "rivals/plain.h"

#include <math.h>
#include <string.h>

typedef struct writer {
    const tw_rival *ours;
    const tw_rival_layer *layer;
    int64_t bits; /* of a word */
    tw_text *out;
} writer;

/* ---- the machine ---- */

/* Words per cycle in these directions, of all ports that serve them; 0: some have none, which is no limit. */
static double words_per_cycle(const writer *w, int m, unsigned ways)
{
    const tw_rival_memory *x = &w->ours->machine->memory[m];
    unsigned used = 0;
    double rate = 0;
    for (int o = 0; o < w->layer->einsum->n_operands; o++)
        for (int way = 0; way < TW_N_WAYS; way++) {
            bool updated = w->layer->einsum->operand[o].updated;
            if (!(ways >> way & 1) || !(x->keeps >> o & 1) || (way == TW_WAY_WRITE_DOWN && !updated)) continue;
            if (x->port_of[o][way] < 0) return 0;
            used |= 1u << x->port_of[o][way];
        }
    for (int p = 0; p < x->n_ports; p++)
        if (used >> p & 1) rate += x->port[p].most * (double)x->word_bits / (double)w->bits;
    return rate;
}

/* What a memory sends inwards and gets from there counts; what it gets from outside is limited at the other end, and adds to what it
 * may write. */
static void print_bandwidths(const writer *w, int m)
{
    unsigned fills = m > 0 ? 1u << TW_WAY_WRITE_UP : 0;
    double reads = words_per_cycle(w, m, 1u << TW_WAY_READ_DOWN),
           writes = words_per_cycle(w, m, 1u << TW_WAY_WRITE_DOWN | fills),
           both = words_per_cycle(w, m, 1u << TW_WAY_READ_DOWN | 1u << TW_WAY_WRITE_DOWN | fills);
    if (both > 0 && both < reads + writes) {
        tw_text_printf(w->out, ", shared_bandwidth: %g", both);
        return;
    }
    if (reads > 0) tw_text_printf(w->out, ", read_bandwidth: %g", reads);
    if (writes > 0) tw_text_printf(w->out, ", write_bandwidth: %g", writes);
}

static void print_architecture(const writer *w)
{
    const tw_hierarchy *h = w->ours->machine;
    tw_text_printf(w->out, "architecture:\n  version: 0.4\n  subtree:\n  - name: system\n    local:\n");
    for (int m = 0; m < h->n_memories; m++) {
        const tw_rival_memory *x = &h->memory[m];
        tw_text_printf(
            w->out, "    - name: %s\n      class: %s\n      attributes: {datawidth: %" PRId64 ", width: %" PRId64,
            x->name, m == 0 ? "DRAM" : "smartbuffer_SRAM", w->bits, w->bits);
        if (x->size_bits != TW_UNLIMITED) tw_text_printf(w->out, ", depth: %" PRId64, x->size_bits / w->bits);
        print_bandwidths(w, m);
        tw_text_printf(w->out, "}\n");
    }
    tw_text_printf(w->out,
                   "    - name: %s[0..%" PRId64 "]\n      class: intmac\n      attributes: {datawidth: %" PRId64,
                   h->array_name, h->array_instances - 1, w->bits);
    if (h->n_axes > 0) tw_text_printf(w->out, ", meshX: %" PRId64, h->axis_size[0]);
    tw_text_printf(w->out, "}\n");
}

static void print_energies(const writer *w)
{
    const tw_hierarchy *h = w->ours->machine;
    tw_text_printf(w->out, "ERT:\n  version: 0.4\n  tables:\n");
    for (int m = 0; m < h->n_memories; m++) {
        double pj = h->memory[m].read_pj * (double)w->bits / (double)h->memory[m].word_bits;
        tw_text_printf(
            w->out,
            "  - name: system.%s\n    actions: [{name: read, energy: %.17g}, {name: write, energy: %.17g}]\n",
            h->memory[m].name, pj, pj);
    }
    tw_text_printf(w->out, "  - name: system.%s\n    actions: [{name: compute, energy: %.17g}]\n", h->array_name,
                   h->mac_pj);
}

/* ---- the problem ---- */

/* Coefficients have names: those of their values. */
static void print_coefficients(const writer *w)
{
    const tw_einsum *e = w->layer->einsum;
    tw_text_printf(w->out, "    coefficients:\n    - {name: one, default: 1}\n");
    for (int o = 0; o < e->n_operands; o++)
        for (int r = 0; r < e->operand[o].n_ranks; r++)
            for (int t = 0; t < e->operand[o].rank[r].n_terms; t++) {
                int64_t c = e->operand[o].rank[r].term[t].coefficient;
                if (c > 1) tw_text_printf(w->out, "    - {name: o%d_r%d_t%d, default: %" PRId64 "}\n", o, r, t, c);
            }
}

static void print_tensor(const writer *w, int o)
{
    const tw_einsum *e = w->layer->einsum;
    const tw_einsum_operand *x = &e->operand[o];
    tw_text_printf(w->out, "    - name: %s\n      projection: [", x->name);
    for (int r = 0; r < x->n_ranks; r++) {
        tw_text_printf(w->out, "%s[", r ? ", " : "");
        for (int t = 0; t < x->rank[r].n_terms; t++) {
            tw_text_printf(w->out, "%s[%s", t ? ", " : "", e->dim[x->rank[r].term[t].dim]);
            if (x->rank[r].term[t].coefficient > 1) tw_text_printf(w->out, ", o%d_r%d_t%d", o, r, t);
            tw_text_printf(w->out, "]");
        }
        tw_text_printf(w->out, "]");
    }
    tw_text_printf(w->out, x->updated ? "]\n      read_write: true\n" : "]\n");
}

static void print_problem(const writer *w)
{
    const tw_einsum *e = w->layer->einsum;
    tw_text_printf(w->out, "problem:\n  version: 0.4\n  shape:\n    name: ");
    tw_print_our_name(e->name, w->out);
    tw_text_printf(w->out, "\n    dimensions: [");
    for (int d = 0; d < e->n_dims; d++) tw_text_printf(w->out, "%s%s", d ? ", " : "", e->dim[d]);
    tw_text_printf(w->out, "]\n");
    print_coefficients(w);
    tw_text_printf(w->out, "    data_spaces:\n");
    for (int o = 0; o < e->n_operands; o++) print_tensor(w, o);
    tw_text_printf(w->out, "  instance: {");
    for (int d = 0; d < e->n_dims; d++)
        tw_text_printf(w->out, "%s%s: %" PRId64, d ? ", " : "", e->dim[d], e->extent[d]);
    tw_text_printf(w->out, "}\n");
}

/* ---- the mapping ---- */

/* The array hangs on the innermost memory, its first axis being X. */
static tw_status as_theirs(const tw_rival *ours, tw_work work, tw_rival *out)
{
    tw_hierarchy *h;
    tw_tl_level *level;
    TW_ALLOC(work.arena, h, 1);
    TW_ALLOC(work.arena, level, ours->machine->n_memories);
    *h = *ours->machine;
    for (int m = 0; m < h->n_memories; m++) {
        level[m] = (tw_tl_level){
            .mesh_x = 1, .mesh_y = 1, .fan_x = 1, .fan_y = 1, .axis_x = -1, .axis_y = -1, .cluster = 1};
        h->memory[m].extra = &level[m];
    }
    tw_tl_level *last = &level[h->n_memories - 1];
    if (h->n_axes > 0) last->fan_x = h->axis_size[last->axis_x = 0];
    if (h->n_axes > 1) last->fan_y = h->axis_size[last->axis_y = 1];
    *out = *ours;
    out->machine = h;
    return TW_OK;
}

static tw_status print_mapping(const writer *w, tw_work work)
{
    tw_rival theirs;
    const tw_rival *taken;
    tw_plain *plain;
    TW_ALLOC(work.arena, plain, 1);
    TW_TRY(as_theirs(w->ours, work, &theirs));
    TW_TRY(tw_plain_of(w->layer, theirs.machine, work.diag, plain));
    TW_TRY(tw_tl_take(&theirs, 0, plain, work, &taken));
    tw_tl_print_mapping(taken, 0, w->out);
    return TW_OK;
}

static tw_status check(const writer *w, tw_diag *diag)
{
    const tw_einsum *e = w->layer->einsum;
    const tw_hierarchy *h = w->ours->machine;
    if (w->ours->n_layers != 1)
        return tw_diag_error(diag, w->layer->loc,
                             "the workload has %d operators; a file of Timeloop has one problem",
                             w->ours->n_layers);
    if (h->n_axes > 2)
        return tw_diag_error(diag, w->layer->loc, "the array has %d dimensions; one of Timeloop has two",
                             h->n_axes);
    for (int o = 0; o < e->n_operands; o++)
        if (e->operand[o].bits != w->bits ||
            (e->operand[o].partial_bits > 0 && e->operand[o].partial_bits != w->bits))
            return tw_diag_error(
                diag, w->layer->loc,
                "elements of '%s' and of '%s' differ in width; words of a memory of Timeloop have one width",
                e->operand[o].name, e->operand[0].name);
    return TW_OK;
}

tw_status tw_tl_write(const tw_rival *ours, tw_work work, tw_text *out)
{
    writer w = {ours, &ours->layer[0], ours->layer[0].einsum->operand[0].bits, out};
    TW_TRY(check(&w, work.diag));
    tw_text_printf(out, "# Written by 'tilewright convert'.\n");
    print_architecture(&w);
    print_energies(&w);
    print_problem(&w);
    return print_mapping(&w, work);
}
