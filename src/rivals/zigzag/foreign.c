/* src/rivals/zigzag/foreign.c - a machine, a layer and a nest of another tool as ZigZag's rules count them.
 *
 * One nest for all operands is a nest with a cut per operand, so that orders, tiles, what passes by and what lies over fan-outs carry
 * over as they are. What does not is fitted, and a remark says how:
 *   - an access moves a block, and a port moves a width per cycle: the block is the granularity of the port; a direction without a
 *     bandwidth has a port of its own for each operand, as wide as the largest transfer, which is known when the nest is: the machine is
 *     made twice;
 *   - elements have the width of the outermost memory's words everywhere;
 *   - a memory with several buffers has the size that is left for one. */
#include "rivals/zigzag/foreign.h"
#include "rivals/zigzag/count.h"

#include <math.h>
#include <string.h>

typedef struct adoption {
    const tw_rival *rival;
    const tw_rival_layer *layer;
    tw_work work;
    tw_hierarchy *machine;
    tw_einsum *einsum;
    tw_remarks *remarks;
    double widest[TW_RIVAL_MEMORIES][TW_RIVAL_OPERANDS][TW_N_WAYS]; /* bits of a transfer; 0: not known yet */
} adoption;

static unsigned residents(const tw_loopnest *nest, const tw_einsum *e, int m)
{
    unsigned mask = 0;
    for (int o = 0; o < e->n_operands; o++)
        if (nest->depth[m][o] >= 0) mask |= 1u << o;
    return mask;
}

/* ---- ports ---- */

static bool is_reading(int way) { return way == TW_WAY_READ_DOWN || way == TW_WAY_READ_UP; }

/* Bits that a port passes in a cycle, or the largest transfer where there is none. */
static double width_of(const adoption *a, int index, int operand, int way)
{
    const tw_rival_memory *from = &a->rival->machine->memory[index];
    double block = (double)(from->block_words * from->word_bits);
    int port = from->port_of[operand][way];
    if (port >= 0) return from->port[port].most * (double)from->word_bits;
    return block * fmax(1, ceil(a->widest[index][operand][way] / block));
}

/* A port of its own for each direction that has none; all move blocks, and take as much as their blocks do. */
static void widen(const adoption *a, int index, int operand, int way)
{
    const tw_rival_memory *from = &a->rival->machine->memory[index];
    tw_rival_memory *m = &a->machine->memory[index];
    double block = (double)(from->block_words * from->word_bits), most = width_of(a, index, operand, way);
    int port = from->port_of[operand][way];
    if (port < 0) {
        port = m->n_ports++;
        m->port[port] =
            (tw_rival_port){.name = "unlimited", .kind = is_reading(way) ? TW_RIVAL_READS : TW_RIVAL_WRITES};
        m->port_of[operand][way] = port;
    }
    m->port[port].most = most;
    m->port[port].least = (int64_t)fmax(1, fmin(block, most));
    m->port[port].pj = (is_reading(way) ? from->read_pj : from->write_pj) * most / block;
}

static tw_status adopt_memory(adoption *a, int index)
{
    const tw_rival_memory *from = &a->rival->machine->memory[index];
    tw_rival_memory *m = &a->machine->memory[index];
    *m = *from;
    m->keeps = residents(a->layer->nest, a->einsum, index);
    if (m->size_bits != TW_UNLIMITED) m->size_bits = (int64_t)((double)m->size_bits / m->buffering);
    m->word_bits = m->block_words = 1;
    if (m->keeps == 0) return TW_OK;
    for (int o = 0; o < a->einsum->n_operands; o++)
        for (int way = 0; way < TW_N_WAYS; way++)
            if (m->keeps >> o & 1) widen(a, index, o, way);
    for (int p = 0; p < m->n_ports; p++) /* the rules tell ports apart by where their names are */
        if (!(m->port[p].name = tw_arena_printf(a->work.arena, "%s", m->port[p].name))) return TW_ERR_NOMEM;
    if (from->update_pj != from->write_pj)
        return tw_remark(a->remarks,
                         "updates of '%s' cost what a write does, %g pJ instead of %g: these rules know no other",
                         from->name, from->write_pj, from->update_pj);
    return TW_OK;
}

/* ---- the layer ---- */

/* Elements have one width, whatever words of memories have. */
static tw_status remark_widths(adoption *a, int operand)
{
    const tw_hierarchy *h = a->rival->machine;
    const tw_einsum_operand *x = &a->einsum->operand[operand];
    for (int m = 0; m < h->n_memories; m++)
        if (a->layer->nest->depth[m][operand] >= 0 && x->bits % h->memory[m].word_bits != 0)
            TW_TRY(tw_remark(a->remarks,
                             "elements of '%s' have %" PRId64 " bits in '%s', too, whose words have %" PRId64,
                             x->name, x->bits, h->memory[m].name, h->memory[m].word_bits));
    return TW_OK;
}

/* ---- the nest ---- */

static tw_status adopt_unrolling(const adoption *a, tw_zz_unrolling *u)
{
    const tw_loopnest *nest = a->layer->nest;
    u->n = 0;
    for (int axis = 0; axis < a->machine->n_axes; axis++)
        for (int i = 0; i < nest->n_loops; i++) {
            if (nest->loop[i].over != axis) continue;
            if (u->n == (int)TW_COUNT(u->part))
                return tw_diag_error(a->work.diag, a->layer->loc, "more than %d loops lie over the array",
                                     (int)TW_COUNT(u->part));
            u->part[u->n++] = (tw_zz_unroll){axis, nest->loop[i].dim, nest->loop[i].bound};
        }
    return TW_OK;
}

/* Loops over time that are inside of a tile. */
static int loops_inside(const tw_loopnest *nest, int depth)
{
    int n = 0;
    for (int i = depth; i < nest->n_loops; i++) n += nest->loop[i].over < 0;
    return n;
}

static tw_status adopt_nest(const adoption *a, const tw_zz_case *c, tw_zz_nest *out)
{
    const tw_loopnest *nest = a->layer->nest;
    *out = (tw_zz_nest){0};
    for (int i = nest->n_loops - 1; i >= 0; i--) {
        const tw_loopnest_loop *l = &nest->loop[i];
        if (l->last != l->bound)
            return tw_diag_error(a->work.diag, a->layer->loc,
                                 "a loop over '%s' has %" PRId64 " iterations in its last round instead of %" PRId64
                                 "; ZigZag's rules know rounds of one length",
                                 a->einsum->dim[l->dim], l->last, l->bound);
        if (l->over >= 0) continue;
        if (out->n_loops == TW_ZZ_LOOPS)
            return tw_diag_error(a->work.diag, a->layer->loc, "more than %d loops over time", TW_ZZ_LOOPS);
        out->loop[out->n_loops].dim = l->dim;
        out->loop[out->n_loops++].size = l->bound;
    }
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < c->operand[o].n_levels; l++)
            out->cut[o][l] = loops_inside(nest, nest->depth[c->operand[o].level[l].memory][c->operand[o].index]);
    tw_zz_nest_settle(c, out);
    return TW_OK;
}

static tw_status remark_room(const adoption *a, const tw_zz_case *c, const tw_zz_nest *nest)
{
    int m;
    if (tw_zz_nest_fits(c, nest, &m)) return TW_OK;
    return tw_remark(a->remarks,
                     "the tiles in '%s' are %.0f bits by these rules, more than its %" PRId64
                     ": the tool would refuse the mapping",
                     a->machine->memory[m].name, tw_zz_memory_bits(c, nest, m), a->machine->memory[m].size_bits);
}

/* ---- the whole ---- */

static tw_status adopt_machine(adoption *a)
{
    *a->machine = *a->rival->machine;
    for (int m = 0; m < a->machine->n_memories; m++) TW_TRY(adopt_memory(a, m));
    return TW_OK;
}

static void find_widest(adoption *a, const tw_zz_case *c, const tw_zz_nest *nest)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        tw_zz_times times;
        tw_zz_flows flows;
        tw_zz_times_of(c, nest, o, &times);
        tw_zz_flows_of(c, nest, o, false, &times, &flows);
        for (int l = 0; l < c->operand[o].n_levels; l++)
            for (int way = 0; way < TW_N_WAYS; way++) {
                double *widest = &a->widest[c->operand[o].level[l].memory][c->operand[o].index][way];
                *widest = fmax(*widest, flows.way[l][way].amount * flows.way[l][way].bits);
            }
    }
}

static bool is_unlimited(const adoption *a, int m, bool reading)
{
    const tw_rival_memory *from = &a->rival->machine->memory[m];
    for (int o = 0; o < a->einsum->n_operands; o++)
        for (int way = 0; way < TW_N_WAYS; way++)
            if (is_reading(way) == reading && (a->machine->memory[m].keeps >> o & 1) && from->port_of[o][way] < 0 &&
                a->widest[m][o][way] > 0)
                return true;
    return false;
}

static tw_status remark_unlimited(const adoption *a)
{
    for (int m = 0; m < a->machine->n_memories; m++)
        for (int reading = 0; reading < 2; reading++)
            if (is_unlimited(a, m, reading))
                TW_TRY(tw_remark(
                    a->remarks,
                    "'%s' has no bandwidth for some %s: each operand has a port of its own there, as wide as its "
                    "transfers",
                    a->machine->memory[m].name, reading ? "reads" : "writes"));
    return TW_OK;
}

static tw_status adopt(adoption *a, tw_zz_extra *x, tw_zz_unrolling *u, tw_zz_nest *nest)
{
    tw_zz_case *c;
    TW_ALLOC(a->work.arena, a->machine, 1);
    TW_ALLOC(a->work.arena, a->einsum, 1);
    TW_ALLOC(a->work.arena, c, 1);
    *a->einsum = *a->layer->einsum;
    TW_TRY(adopt_machine(a));
    TW_TRY(adopt_unrolling(a, u));
    TW_TRY(tw_zz_case_build(a->machine, a->einsum, &x->facts, u, a->layer->loc, a->work.diag, c));
    TW_TRY(adopt_nest(a, c, nest));
    find_widest(a, c, nest);
    a->remarks->n = 0; /* those about the machine come again */
    for (int o = 0; o < a->einsum->n_operands; o++) TW_TRY(remark_widths(a, o));
    TW_TRY(adopt_machine(a));
    TW_TRY(remark_unlimited(a));
    return remark_room(a, c, nest);
}

tw_status tw_zz_adopt(const tw_rival *rival, int layer, tw_work work, tw_remarks *remarks, tw_zz_goal *goal,
                      tw_zz_best *best)
{
    adoption a = {.rival = rival, .layer = &rival->layer[layer], .work = work, .remarks = remarks};
    tw_zz_extra *x;
    tw_zz_unrolling *u;
    TW_ALLOC(work.arena, x, 1);
    TW_ALLOC(work.arena, u, 1);
    *best = (tw_zz_best){.unrolling = 0};
    TW_TRY(adopt(&a, x, u, &best->nest));
    x->unrolling = u;
    x->n_unrollings = 1;
    *goal = (tw_zz_goal){
        .machine = a.machine, .einsum = a.einsum, .extra = x, .loc = a.layer->loc, .measure = TW_CYCLES};
    return TW_OK;
}
