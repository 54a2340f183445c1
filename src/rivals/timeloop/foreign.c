/* src/rivals/timeloop/foreign.c - a machine, a layer and a nest of another tool, counted by Timeloop's rules.
 *
 * The rules count every operand on its own. So each operand gets the row of its own memories, with the loops over time cut where its tiles are
 * and the loops over the array inside of the innermost memory that serves their axis: nests with a cut per operand ("uneven") are counted
 * although one mapping of the tool could not say them. Memories that operands share are put together again for room and for cycles.
 *
 * Made to fit: an access moves a block or, where the memory has none, is as wide as its port, and the words of a block are the elements that fit into it; a port is asked for what
 * passes it on average; results have the width of partial sums where any are added to; a round that is not full counts as full. */
#include "rivals/timeloop/foreign.h"

#include <math.h>
#include <string.h>

typedef struct row { /* the memories of one operand, outermost first */
    int n, memory[TW_RIVAL_MEMORIES];
    tw_tl_use use[TW_RIVAL_MEMORIES];
} row;
typedef struct foreign {
    const tw_rival *rival;
    const tw_rival_layer *layer;
    const tw_hierarchy *machine;
    const tw_einsum *einsum;
    tw_work work;
    tw_remarks *remarks;
    row row[TW_RIVAL_OPERANDS];
    double compute, cycles, level_cycles[TW_RIVAL_MEMORIES];
} foreign;

/* Bits of an element in a memory: results to which nothing is added any more have their final width. */
static int64_t bits_of(const tw_einsum_operand *x, const tw_tl_use *use)
{
    return x->partial_bits > 0 && use->reads > 0 ? x->partial_bits : x->bits;
}

/* ---- one operand ---- */

static void list_memories(const foreign *f, int operand, row *r)
{
    r->n = 0;
    for (int m = 0; m < f->machine->n_memories; m++)
        if (f->layer->nest->depth[m][operand] >= 0) r->memory[r->n++] = m;
}

/* The memory of the row that a loop belongs to: it is inside of its tile, and outside of the next one's. */
static int level_of(const foreign *f, int operand, const row *r, int i)
{
    const tw_loopnest *nest = f->layer->nest;
    int level = 0;
    for (int k = 1; k < r->n; k++) {
        const tw_rival_memory *m = &f->machine->memory[r->memory[k]];
        bool inside = nest->loop[i].over < 0 ? nest->depth[r->memory[k]][operand] <= i
                                             : (m->serves >> nest->loop[i].over & 1) != 0;
        if (inside) level = k;
    }
    return level;
}

/* The loops in the order of the row: those over time of a memory, then those over its fan-out. */
static tw_status row_nest(const foreign *f, int operand, const row *r, tw_loopnest *out)
{
    const tw_loopnest *nest = f->layer->nest;
    tw_loopnest_loop *loop;
    TW_ALLOC(f->work.scratch, loop, nest->n_loops + 1);
    *out = (tw_loopnest){.loop = loop};
    for (int k = 0; k < r->n; k++) {
        out->depth[k][operand] = out->n_loops;
        for (int space = 0; space < 2; space++)
            for (int i = 0; i < nest->n_loops; i++) {
                if ((nest->loop[i].over >= 0) != space || level_of(f, operand, r, i) != k) continue;
                loop[out->n_loops] = nest->loop[i];
                loop[out->n_loops++].level = k;
            }
    }
    return TW_OK;
}

/* Fan-outs are as long as the axes that lie in them; of several, the first is X. */
static tw_status row_machine(const foreign *f, const row *r, tw_hierarchy **out)
{
    tw_tl_level *level;
    TW_ALLOC(f->work.scratch, *out, 1);
    TW_ALLOC(f->work.scratch, level, r->n + 1);
    (*out)->n_memories = r->n;
    for (int k = 0; k < r->n; k++) {
        unsigned serves = f->machine->memory[r->memory[k]].serves,
                 inner = k + 1 < r->n ? f->machine->memory[r->memory[k + 1]].serves : 0;
        (*out)->memory[k] = f->machine->memory[r->memory[k]];
        (*out)->memory[k].extra = &level[k];
        level[k] = (tw_tl_level){.fan_x = 1, .fan_y = 1, .axis_x = -1, .axis_y = -1, .cluster = 1};
        for (int a = 0, first = 1; a < f->machine->n_axes; a++) {
            if (!((serves & ~inner) >> a & 1)) continue;
            *(first ? &level[k].fan_x : &level[k].fan_y) *= f->machine->axis_size[a];
            first = 0;
        }
    }
    return TW_OK;
}

static tw_status count_operand(foreign *f, int operand)
{
    row *r = &f->row[operand];
    tw_hierarchy *machine;
    tw_loopnest nest;
    tw_tl_flow flow[TW_RIVAL_MEMORIES];
    list_memories(f, operand, r);
    TW_TRY(row_nest(f, operand, r, &nest));
    TW_TRY(row_machine(f, r, &machine));
    tw_tl_case c = {machine, f->einsum, &nest, NULL, f->work.scratch};
    TW_TRY(tw_tl_flows(&c, operand, flow));
    return tw_tl_uses(&c, operand, flow, f->layer->loc, f->work.diag, r->use);
}

/* ---- memories that operands share ---- */

static const tw_tl_use *use_in(const foreign *f, int operand, int memory)
{
    for (int k = 0; k < f->row[operand].n; k++)
        if (f->row[operand].memory[k] == memory) return &f->row[operand].use[k];
    return NULL;
}

static tw_status check_room(const foreign *f, int m)
{
    const tw_rival_memory *memory = &f->machine->memory[m];
    int64_t bits = 0;
    for (int o = 0; o < f->einsum->n_operands; o++) {
        const tw_tl_use *use = use_in(f, o, m);
        if (use) bits += use->tile * bits_of(&f->einsum->operand[o], use);
    }
    if (memory->size_bits == TW_UNLIMITED || bits <= memory->size_bits) return TW_OK;
    return tw_remark(f->remarks,
                     "the tiles in '%s' are %" PRId64 " bits by these rules, more than its %" PRId64
                     ": the tool would refuse the mapping",
                     memory->name, bits, memory->size_bits);
}

static double width_of(const tw_rival_memory *m, int operand, tw_rival_way way)
{
    int port = m->port_of[operand][way];
    if (m->block_words * m->word_bits > 1) return (double)(m->block_words * m->word_bits);
    return port >= 0 ? m->port[port].most * (double)m->word_bits : 0;
}

/* Bits that pass a port in all, per instance. */
static double port_bits(const foreign *f, int m, int port)
{
    const tw_rival_memory *memory = &f->machine->memory[m];
    double bits = 0;
    for (int o = 0; o < f->einsum->n_operands; o++) {
        const tw_tl_use *use = use_in(f, o, m);
        if (!use) continue;
        double each = (double)bits_of(&f->einsum->operand[o], use);
        if (memory->port_of[o][TW_WAY_READ_DOWN] == port) bits += (double)use->reads * each;
        if (memory->port_of[o][TW_WAY_WRITE_UP] == port) bits += (double)use->fills * each;
        if (memory->port_of[o][TW_WAY_WRITE_DOWN] == port) bits += (double)use->updates * each;
    }
    return bits;
}

static void count_cycles(foreign *f)
{
    f->compute = 1;
    for (int i = 0; i < f->layer->nest->n_loops; i++)
        if (f->layer->nest->loop[i].over < 0) f->compute *= (double)f->layer->nest->loop[i].bound;
    f->cycles = f->compute;
    for (int m = 0; m < f->machine->n_memories; m++) {
        const tw_rival_memory *memory = &f->machine->memory[m];
        f->level_cycles[m] = f->compute;
        for (int p = 0; p < memory->n_ports; p++) {
            double width = memory->port[p].most * (double)memory->word_bits;
            f->level_cycles[m] = fmax(f->level_cycles[m], ceil(port_bits(f, m, p) / width));
        }
        f->cycles = fmax(f->cycles, f->level_cycles[m]);
    }
}

/* ---- the account ---- */

/* Accesses of a port move as many elements as fit; an element that is wider takes several. */
static tw_account_action action_of(const foreign *f, int m, int operand, tw_rival_way way, int64_t words)
{
    static const char *const name[TW_N_WAYS] = {"read", "update", "", "fill"};
    const tw_rival_memory *memory = &f->machine->memory[m];
    const tw_tl_use *use = use_in(f, operand, m);
    double bits = (double)bits_of(&f->einsum->operand[operand], use), width = width_of(memory, operand, way);
    double accesses =
        width >= bits ? ceil((double)words / floor(width / bits)) : (double)words * ceil(bits / fmax(width, 1));
    double pj = way == TW_WAY_READ_DOWN ? memory->read_pj : memory->write_pj;
    if (width == 0) accesses = (double)words;
    return (tw_account_action){name[way], words * use->instances, accesses * pj * (double)use->instances};
}

static tw_status add_line(const foreign *f, int m, int operand, tw_account_line *line)
{
    const tw_tl_use *use = use_in(f, operand, m);
    tw_account_action *a;
    TW_ALLOC(f->work.arena, a, 3);
    a[0] = action_of(f, m, operand, TW_WAY_READ_DOWN, use->reads);
    a[1] = action_of(f, m, operand, TW_WAY_WRITE_UP, use->fills);
    a[2] = action_of(f, m, operand, TW_WAY_WRITE_DOWN, use->updates);
    *line = (tw_account_line){.memory = f->machine->memory[m].name,
                              .operand = f->einsum->operand[operand].name,
                              .tile_words = use->tile,
                              .own_words = use->own,
                              .instances = use->instances,
                              .n_actions = 3,
                              .action = a};
    return TW_OK;
}

static tw_status fill_lines(const foreign *f, tw_account *out)
{
    int n_memories = f->machine->n_memories, n_operands = f->einsum->n_operands;
    tw_account_line *line;
    tw_account_level *level;
    TW_ALLOC(f->work.arena, line, n_memories * n_operands);
    TW_ALLOC(f->work.arena, level, n_memories + 1);
    for (int m = 0; m < n_memories; m++) {
        level[m] = (tw_account_level){.name = f->machine->memory[m].name, .cycles = f->level_cycles[m]};
        for (int o = 0; o < n_operands; o++) {
            if (!use_in(f, o, m)) continue;
            TW_TRY(add_line(f, m, o, &line[out->n_lines]));
            for (int i = 0; i < 3; i++) level[m].energy_pj += line[out->n_lines].action[i].energy_pj;
            out->n_lines++;
        }
    }
    level[n_memories] =
        (tw_account_level){f->machine->array_name, f->compute, (double)out->macs * f->machine->mac_pj, 0};
    out->line = line;
    out->level = level;
    out->n_levels = n_memories + 1;
    for (int i = 0; i < out->n_levels; i++) out->energy_pj += level[i].energy_pj;
    return TW_OK;
}

static tw_status fill_parts(const foreign *f, tw_account *out)
{
    tw_account_part *part;
    TW_ALLOC(f->work.arena, part, 2);
    part[0] = (tw_account_part){"compute", f->compute};
    part[1] = (tw_account_part){"bandwidth", f->cycles - f->compute};
    out->part = part;
    out->n_parts = 2;
    out->compute_cycles = f->compute;
    out->cycles = f->cycles;
    out->utilization = (double)out->macs / (out->cycles * (double)f->machine->array_instances);
    return TW_OK;
}

/* ---- what was made to fit ---- */

static tw_status remark_rounds(const foreign *f)
{
    const tw_loopnest *nest = f->layer->nest;
    for (int d = 0; d < f->einsum->n_dims; d++) {
        int64_t covered = 1;
        for (int i = 0; i < nest->n_loops; i++)
            if (nest->loop[i].dim == d) covered *= nest->loop[i].bound;
        if (covered != f->einsum->extent[d])
            TW_TRY(tw_remark(f->remarks, "rounds of '%s' count as full: %" PRId64 " iterations instead of %" PRId64,
                             f->einsum->dim[d], covered, f->einsum->extent[d]));
    }
    return TW_OK;
}

static tw_status remark_operands(const foreign *f)
{
    for (int o = 0; o < f->einsum->n_operands; o++) {
        const tw_einsum_operand *x = &f->einsum->operand[o];
        for (int r = 0; r < x->n_ranks && f->rival->tool->extent_of; r++) {
            int64_t real = f->rival->tool->extent_of(f->layer, o, r),
                    reach = tw_einsum_reach(&x->rank[r], f->einsum->extent);
            if (real < reach)
                TW_TRY(tw_remark(f->remarks,
                                 "padding of '%s' is moved like data: an axis of %" PRId64 " counts as %" PRId64,
                                 x->name, real, reach));
        }
    }
    return TW_OK;
}

tw_status tw_tl_count_foreign(const tw_rival *rival, int layer, tw_work work, tw_remarks *remarks, tw_account *out)
{
    foreign *f;
    const tw_rival_layer *l = &rival->layer[layer];
    TW_ALLOC(work.arena, f, 1);
    *f = (foreign){.rival = rival,
                   .layer = l,
                   .machine = rival->machine,
                   .einsum = l->einsum,
                   .work = work,
                   .remarks = remarks};
    *out = (tw_account){.rules = TW_RULES_TIMELOOP, .layer = l->name, .macs = 1};
    for (int d = 0; d < l->einsum->n_dims; d++)
        if (!tw_ckd_mul(out->macs, l->einsum->extent[d], &out->macs))
            return tw_diag_error(work.diag, l->loc, "'%s' has more than 2^63 multiply-adds", l->name);
    for (int o = 0; o < l->einsum->n_operands; o++) TW_TRY(count_operand(f, o));
    for (int m = 0; m < f->machine->n_memories; m++) TW_TRY(check_room(f, m));
    count_cycles(f);
    TW_TRY(fill_lines(f, out));
    TW_TRY(fill_parts(f, out));
    TW_TRY(remark_rounds(f));
    return remark_operands(f);
}
