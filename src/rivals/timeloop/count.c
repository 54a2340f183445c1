/* src/rivals/timeloop/count.c - the account of a mapping: accesses, energy and cycles of every memory.
 *
 * Energy. An access moves a block of words, and a block that is not full costs as much as one that is; blocks are those of one
 * instance. A level leaks while anything runs, as many instances of it as are used.
 * Cycles. The array takes one cycle per multiply-add of a position. A memory slows it down by what it is asked for beyond its
 * bandwidth, on average over the whole run; the slowest one sets the time, as if everything overlapped from the first cycle to
 * the last. */
#include "rivals/timeloop/foreign.h"

#include <math.h>
#include <string.h>

typedef struct counting {
    tw_tl_case c;
    const tw_rival_layer *layer;
    tw_work work;
    int64_t positions; /* of the array that are used   */
    double compute;    /* cycles of the array: rounds that are not full take as long as full ones */
    int64_t macs;
    tw_tl_use use[TW_RIVAL_OPERANDS][TW_RIVAL_MEMORIES];
    double slow[TW_RIVAL_MEMORIES]; /* cycles that a memory needs */
    double cycles;                  /* of the slowest             */
} counting;

/* ---- accesses ---- */

static bool has_remainders(const tw_loopnest *nest)
{
    for (int i = 0; i < nest->n_loops; i++)
        if (nest->loop[i].bound != nest->loop[i].last) return true;
    return false;
}

static tw_status count_operands(counting *k)
{
    tw_tl_flow flow[TW_RIVAL_MEMORIES];
    bool uneven = has_remainders(k->c.nest);
    for (int o = 0; o < k->c.einsum->n_operands; o++) {
        TW_TRY(uneven ? tw_tl_flows_uneven(&k->c, o, k->layer->loc, k->work.diag, flow)
                      : tw_tl_flows(&k->c, o, flow));
        TW_TRY(tw_tl_uses(&k->c, o, flow, k->layer->loc, k->work.diag, k->use[o]));
    }
    k->positions = 1;
    k->compute = 1;
    k->macs = 1;
    for (int d = 0; d < k->c.einsum->n_dims; d++) k->macs *= k->c.einsum->extent[d];
    for (int i = 0; i < k->c.nest->n_loops; i++)
        if (k->c.nest->loop[i].over >= 0)
            k->positions *= k->c.nest->loop[i].bound;
        else
            k->compute *= (double)k->c.nest->loop[i].bound;
    return TW_OK;
}

/* ---- room ---- */

static tw_status check_room(const counting *k, int m)
{
    const tw_rival_memory *memory = &k->c.machine->memory[m];
    const tw_tl_level *level = memory->extra;
    int64_t words = 0;
    if (memory->size_bits == TW_UNLIMITED) return TW_OK;
    int64_t room = (int64_t)floor((double)(memory->size_bits / memory->word_bits) / memory->buffering);
    for (int o = 0; o < k->c.einsum->n_operands; o++) words += k->use[o][m].tile;
    if (words > room) {
        tw_status status = tw_diag_infeasible(k->work.diag, k->layer->loc,
                                              "tiles of %" PRId64 " words do not fit into the %" PRId64
                                              " of '%s': %" PRId64 " too many",
                                              words, room, memory->name, words - room);
        k->work.diag->short_by = words - room;
        return status;
    }
    if ((double)words < (double)room * level->least_used)
        return tw_diag_infeasible(k->work.diag, k->layer->loc,
                                  "tiles of %" PRId64 " words are less than the share %g of the %" PRId64
                                  " of '%s'",
                                  words, level->least_used, room, memory->name);
    return TW_OK;
}

/* ---- cycles ---- */

static double port_rate(const tw_rival_memory *m, tw_rival_port_kind kind)
{
    for (int p = 0; p < m->n_ports; p++)
        if (m->port[p].kind == kind) return m->port[p].most;
    return INFINITY;
}

double tw_tl_cycles(const tw_rival_memory *memory, int n_operands, const double *reads, const double *writes,
                    double compute)
{
    double read = 0, written = 0, part = 1;
    for (int o = 0; o < n_operands; o++) {
        read += reads[o] / compute;
        written += writes[o] / compute;
    }
    const struct {
        double most, wanted;
    } port[] = {{port_rate(memory, TW_RIVAL_READS), read},
                {port_rate(memory, TW_RIVAL_WRITES), written},
                {port_rate(memory, TW_RIVAL_BOTH), written + read}};
    for (size_t i = 0; i < TW_COUNT(port); i++)
        if (port[i].most < port[i].wanted) part = fmin(part, port[i].most / port[i].wanted);
    return ceil(compute / part);
}

static double cycles_of(const counting *k, int m)
{
    double reads[TW_RIVAL_OPERANDS], writes[TW_RIVAL_OPERANDS];
    for (int o = 0; o < k->c.einsum->n_operands; o++) {
        reads[o] = (double)k->use[o][m].reads;
        writes[o] = (double)(k->use[o][m].fills + k->use[o][m].updates);
    }
    return tw_tl_cycles(&k->c.machine->memory[m], k->c.einsum->n_operands, reads, writes, k->compute);
}

static void count_cycles(counting *k)
{
    k->cycles = k->compute;
    for (int m = 0; m < k->c.machine->n_memories; m++) {
        k->slow[m] = cycles_of(k, m);
        k->cycles = fmax(k->cycles, k->slow[m]);
    }
}

/* ---- energy ---- */

static int64_t most_instances(const counting *k, int m)
{
    int64_t n = 1;
    for (int o = 0; o < k->c.einsum->n_operands; o++) n = tw_max(n, k->use[o][m].instances);
    return n;
}

/* Instances that leak: those in use, or all that are switched off together with them. */
static double leaking(const counting *k, int m)
{
    const tw_hierarchy *h = k->c.machine;
    const tw_tl_level *level = h->memory[m].extra;
    for (int g = 0; level->gate && g < h->n_memories; g++)
        if (strcmp(h->memory[g].name, level->gate) == 0 && h->memory[m].instances > h->memory[g].instances)
            return (double)h->memory[m].instances / (double)h->memory[g].instances * (double)most_instances(k, g);
    return (double)most_instances(k, m);
}

static tw_account_action action(const char *name, const tw_rival_memory *memory, const tw_tl_use *use,
                                int64_t accesses, double pj)
{
    const tw_tl_level *level = memory->extra;
    int64_t clusters = tw_min(use->instances, tw_max(1, memory->instances / level->cluster));
    return (tw_account_action){name, accesses * use->instances,
                               (double)tw_cdiv(accesses, memory->block_words) * pj * (double)clusters};
}

static tw_status make_line(const counting *k, int m, int o, tw_account_line *line)
{
    const tw_rival_memory *memory = &k->c.machine->memory[m];
    const tw_tl_use *use = &k->use[o][m];
    tw_account_action *a;
    TW_ALLOC(k->work.arena, a, 3);
    a[0] = action("read", memory, use, use->reads, memory->read_pj);
    a[1] = action("fill", memory, use, use->fills, memory->write_pj);
    a[2] = action("update", memory, use, use->updates, memory->update_pj);
    *line = (tw_account_line){.memory = memory->name,
                              .operand = k->c.einsum->operand[o].name,
                              .tile_words = use->tile,
                              .own_words = use->own,
                              .instances = use->instances,
                              .n_actions = 3,
                              .action = a};
    return TW_OK;
}

static tw_status check_energy(const counting *k, int m)
{
    const tw_tl_level *level = k->c.machine->memory[m].extra;
    if (level->has_energy) return TW_OK;
    return tw_diag_error(k->work.diag, k->c.machine->memory[m].loc,
                         "no table says what reads and writes of '%s' take; give one, or 'vector_access_energy'",
                         k->c.machine->memory[m].name);
}

/* ---- the account ---- */

static tw_status fill_lines(const counting *k, tw_account *out)
{
    int n_memories = k->c.machine->n_memories, n_operands = k->c.einsum->n_operands;
    tw_account_line *line;
    tw_account_level *level;
    TW_ALLOC(k->work.arena, line, n_memories * n_operands);
    TW_ALLOC(k->work.arena, level, n_memories + 1);
    for (int m = 0; m < n_memories; m++) {
        const tw_rival_memory *memory = &k->c.machine->memory[m];
        double leak = memory->leak_pj * k->cycles * leaking(k, m);
        level[m] = (tw_account_level){memory->name, k->slow[m], leak, leak};
        for (int o = 0; o < n_operands; o++) {
            if (k->c.nest->depth[m][o] < 0) continue;
            TW_TRY(check_energy(k, m));
            TW_TRY(make_line(k, m, o, &line[out->n_lines]));
            for (int a = 0; a < 3; a++) level[m].energy_pj += line[out->n_lines].action[a].energy_pj;
            out->n_lines++;
        }
    }
    level[n_memories] =
        (tw_account_level){k->c.machine->array_name, k->compute, (double)out->macs * k->c.machine->mac_pj, 0};
    out->line = line;
    out->level = level;
    out->n_levels = n_memories + 1;
    return TW_OK;
}

static tw_status fill_parts(const counting *k, tw_account *out)
{
    tw_account_part *part;
    double networks = 0;
    for (int m = 0; m < k->c.machine->n_memories; m++)
        networks += (double)((const tw_tl_level *)k->c.machine->memory[m].extra)->latency;
    TW_ALLOC(k->work.arena, part, 3);
    part[0] = (tw_account_part){"compute", k->compute};
    part[1] = (tw_account_part){"bandwidth", k->cycles - k->compute};
    part[2] = (tw_account_part){"networks", networks};
    out->part = part;
    out->n_parts = 3;
    out->compute_cycles = k->compute;
    out->cycles = k->cycles + networks;
    return TW_OK;
}

static tw_status fill_nest(const counting *k, tw_account *out)
{
    tw_text text = {0};
    tw_loopnest_print(k->c.nest, k->c.einsum, k->c.machine, &text);
    out->nest = text.failed ? NULL : tw_arena_strndup(k->work.arena, text.bytes ? text.bytes : "", text.len);
    tw_text_release(&text);
    return out->nest ? TW_OK : TW_ERR_NOMEM;
}

static tw_status fill(const counting *k, tw_account *out)
{
    *out = (tw_account){.rules = TW_RULES_TIMELOOP, .layer = k->layer->name};
    out->macs = k->macs;
    TW_TRY(fill_lines(k, out));
    TW_TRY(fill_parts(k, out));
    for (int i = 0; i < out->n_levels; i++) out->energy_pj += out->level[i].energy_pj;
    out->utilization = (double)out->macs / (out->cycles * (double)k->c.machine->array_instances);
    return fill_nest(k, out);
}

/* Counts all that the account is made of. */
static tw_status count(const tw_rival *rival, int layer, tw_work work, counting *k)
{
    const tw_rival_layer *l = &rival->layer[layer];
    const tw_tl_layer *extra = l->extra;
    *k = (counting){
        .c = {rival->machine, l->einsum, l->nest, &extra->flags, work.scratch}, .layer = l, .work = work};
    TW_TRY(count_operands(k));
    for (int m = 0; m < rival->machine->n_memories; m++) TW_TRY(check_room(k, m));
    count_cycles(k);
    return TW_OK;
}

/* Elements of the first operand that the outermost memory passes in a cycle, whichever way. */
static double top_rate(const tw_rival *rival, int layer)
{
    const tw_rival_memory *m = &rival->machine->memory[0];
    double least = INFINITY;
    int64_t bits = tw_max(1, rival->layer[layer].einsum->operand[0].bits);
    for (int p = 0; p < m->n_ports; p++) least = fmin(least, m->port[p].most * (double)m->word_bits / (double)bits);
    return isfinite(least) ? least : 0;
}

static tw_status count_own(const tw_rival *rival, int layer, tw_work work, tw_account *out)
{
    counting *k;
    TW_ALLOC(work.arena, k, 1);
    TW_TRY(count(rival, layer, work, k));
    return fill(k, out);
}

tw_status tw_tl_count(const tw_rival *rival, int layer, tw_work work, tw_account *out)
{
    tw_remarks remarks = {.arena = work.arena};
    if (rival->tool == &tw_timeloop_tool)
        TW_TRY(count_own(rival, layer, work, out));
    else
        TW_TRY(tw_tl_count_foreign(rival, layer, work, &remarks, out));
    TW_TRY(tw_tl_remark(out, top_rate(rival, layer), &remarks));
    return tw_remarks_give(&remarks, out);
}

static double line_energy(const counting *k, int m, int o)
{
    const tw_rival_memory *memory = &k->c.machine->memory[m];
    const tw_tl_use *use = &k->use[o][m];
    return action("", memory, use, use->reads, memory->read_pj).energy_pj +
           action("", memory, use, use->fills, memory->write_pj).energy_pj +
           action("", memory, use, use->updates, memory->update_pj).energy_pj;
}

static void sum_up(const counting *k, double *energy_pj, double *cycles)
{
    const tw_hierarchy *h = k->c.machine;
    double pj = (double)k->macs * h->mac_pj;
    *cycles = k->cycles;
    for (int m = 0; m < h->n_memories; m++) {
        pj += h->memory[m].leak_pj * k->cycles * leaking(k, m);
        *cycles += (double)((const tw_tl_level *)h->memory[m].extra)->latency;
        for (int o = 0; o < k->c.einsum->n_operands; o++)
            if (k->c.nest->depth[m][o] >= 0) pj += line_energy(k, m, o);
    }
    *energy_pj = pj;
}

tw_status tw_tl_count_cost(const tw_rival *rival, int layer, tw_work work, double *energy_pj, double *cycles)
{
    tw_arena_mark mark = tw_arena_save(work.scratch);
    counting *k;
    TW_ALLOC(work.scratch, k, 1);
    tw_status status = count(rival, layer, work, k);
    if (status == TW_OK) sum_up(k, energy_pj, cycles);
    tw_arena_rewind(work.scratch, mark);
    return status;
}
