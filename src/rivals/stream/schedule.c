/* src/rivals/stream/schedule.c - all tiles, one layer after the other, as Stream evaluates them.
 *
 * At the beginning of a layer all cores wait for the last one. A tile takes its core for as many cycles as it was counted, and while it runs each of its operands
 * takes some of the bits per cycle of every connection on the way to or from the off-chip memory: what passes at once by its mapping, spread over its time,
 * rounded up. If these are more than the connection has, they are looked for as if they were shrunk to it, and are taken as they are. Tiles that need
 * the same data at the same time take them once. */
#include "rivals/stream/table.h"

#include <math.h>
#include <string.h>

typedef struct claim { /* of a connection in one direction */
    int wire;
    double start, end, bits;
    int layer, operand;
    int64_t part; /* which of the operand's parts; the same ones are sent together */
} claim;
typedef struct wish { /* an operand of the tile that is to start */
    int wire, operand;
    int64_t part;
    double bits, shrunk;
} wish;
typedef struct scheduler {
    const tw_cores *cores;
    tw_core_table *table;
    tw_work work;
    int n_claims, room;
    claim *claim;
    tw_core_run *run;
    tw_core_column *column;
    double *idle; /* of each core: from when on */
    int n_wishes;
    wish *wish; /* of one tile */
    int block_room;
    tw_core_block *block;
} scheduler;

/* ---- wires ---- */

/* A bus is one wire, two links between two cores are two. */
static int wire_of(const tw_hda *hda, int link, int from)
{
    return 2 * link + (!hda->link[link].is_bus && hda->link[link].core[0] != from);
}
static double wire_bits(const tw_hda *hda, int wire) { return hda->link[wire / 2].bits; }

static int other_end(const tw_hda_link *link, int core)
{
    return link->core[0] == core ? link->core[1] : link->core[0];
}

/* Adds a wish for each wire between the core and the off-chip memory. */
static void wish_for(scheduler *s, int core, wish w, bool outwards)
{
    const tw_hda *hda = s->cores->hda;
    int way[TW_HDA_CORES], at = outwards ? core : hda->offchip;
    int n = tw_hda_route(hda, at, outwards ? hda->offchip : core, way);
    for (int i = 0; i < n; i++) {
        w.wire = wire_of(hda, way[i], at);
        s->wish[s->n_wishes++] = w;
        if (!hda->link[way[i]].is_bus) at = other_end(&hda->link[way[i]], at);
    }
}

/* ---- what a tile claims ---- */

/* Of the parts that a tile is the t-th of, the number of those that the operand depends on. */
static int64_t part_of(const tw_cores *cores, int layer, const tw_rival_layer *tile, int operand, int64_t t)
{
    const tw_cores_layer *l = &cores->layer[layer];
    unsigned relevant = tw_einsum_relevant(&tile->einsum->operand[operand]);
    int64_t part = 0;
    for (int d = l->whole->n_dims - 1; d >= 0; d--) {
        if (relevant >> d & 1) part = part * l->parts[d] + t % l->parts[d];
        t /= l->parts[d];
    }
    return part;
}

static double bits_at_once(const tw_account *a, const tw_hierarchy *machine, const char *operand)
{
    for (int i = 0; i < a->n_lines; i++)
        if (strcmp(a->line[i].memory, machine->memory[0].name) == 0 && strcmp(a->line[i].operand, operand) == 0)
            return ceil(a->line[i].bits_at_once);
    return 0;
}

/* Shrinks what is wished for of a wire to what it has. */
static void shrink(scheduler *s)
{
    for (int i = 0; i < s->n_wishes; i++) {
        double all = 0, has = wire_bits(s->cores->hda, s->wish[i].wire);
        for (int k = 0; k < s->n_wishes; k++) all += s->wish[k].wire == s->wish[i].wire ? s->wish[k].bits : 0;
        s->wish[i].shrunk = all > has ? floor(has / all * s->wish[i].bits) : s->wish[i].bits;
    }
}

static void make_wishes(scheduler *s, int layer, int core, int64_t t)
{
    const tw_rival_layer *tile = &s->cores->view[core].layer[layer];
    const tw_account *a = s->table->row[layer].cell[core];
    s->n_wishes = 0;
    for (int o = TW_ZZ_OPERANDS - 1; o >= 0; o--) { /* results first, as the tool has them */
        const tw_einsum_operand *x = &tile->einsum->operand[o];
        wish w = {.operand = o,
                  .part = part_of(s->cores, layer, tile, o, t),
                  .bits = bits_at_once(a, s->cores->view[core].machine, x->name)};
        wish_for(s, core, w, x->updated);
    }
    shrink(s);
}

/* ---- when there is room ---- */

static bool is_room(const scheduler *s, double from, double to)
{
    for (int i = 0; i < s->n_wishes; i++) {
        int wire = s->wish[i].wire;
        double wanted = 0;
        for (int k = 0; k < s->n_wishes; k++) wanted += s->wish[k].wire == wire ? s->wish[k].shrunk : 0;
        for (int e = -1; e < s->n_claims; e++) { /* what is claimed changes where claims begin */
            double at = e < 0 ? from : s->claim[e].start, used = 0;
            if (at < from || at >= to) continue;
            for (int k = 0; k < s->n_claims; k++)
                if (s->claim[k].wire == wire && s->claim[k].start <= at && at < s->claim[k].end)
                    used += s->claim[k].bits;
            if (used + wanted > wire_bits(s->cores->hda, wire)) return false;
        }
    }
    return true;
}

static double earliest(const scheduler *s, double from, double cycles)
{
    if (is_room(s, from, from + cycles)) return from;
    double best = INFINITY;
    for (int i = 0; i < s->n_claims; i++) {
        double at = s->claim[i].end;
        if (at > from && at < best && is_room(s, at, at + cycles)) best = at;
    }
    return best;
}

/* ---- running ---- */

static tw_status add_block(scheduler *s, const wish *w)
{
    tw_core_table *t = s->table;
    const tw_rival_layer *tile = &s->cores->view[t->run[t->n_runs].core].layer[t->run[t->n_runs].layer];
    const tw_einsum_operand *x = &tile->einsum->operand[w->operand];
    if (t->n_blocks == s->block_room) {
        tw_core_block *more;
        TW_ALLOC(s->work.arena, more, 2 * s->block_room + 64);
        if (t->n_blocks) memcpy(more, s->block, (size_t)t->n_blocks * sizeof *more);
        s->block = more;
        s->block_room = 2 * s->block_room + 64;
    }
    t->block = s->block;
    s->block[t->n_blocks++] = (tw_core_block){.run = t->n_runs,
                                              .operand = x->name,
                                              .part = w->part,
                                              .outwards = x->updated,
                                              .link = w->wire / 2,
                                              .link_bits = wire_bits(s->cores->hda, w->wire),
                                              .bits_at_once = w->bits,
                                              .bits = tw_cores_bits(tile, w->operand)};
    return TW_OK;
}

/* Claims what a tile wishes for, unless another one that shares it does from the same time on. */
static tw_status add_claim(scheduler *s, claim c, const wish *w)
{
    for (int i = 0; i < s->n_claims; i++) {
        const claim *x = &s->claim[i];
        if (x->wire == c.wire && x->layer == c.layer && x->operand == c.operand && x->part == c.part &&
            x->start == c.start)
            return TW_OK;
    }
    if (s->n_claims == s->room) {
        claim *more;
        TW_ALLOC(s->work.scratch, more, 2 * s->room + 64);
        if (s->room) memcpy(more, s->claim, (size_t)s->room * sizeof *more);
        s->claim = more;
        s->room = 2 * s->room + 64;
    }
    s->claim[s->n_claims++] = c;
    return add_block(s, w);
}

static tw_status run_tile(scheduler *s, int layer, int core, int64_t t)
{
    double cycles = s->table->row[layer].cell[core]->cycles;
    make_wishes(s, layer, core, t);
    double start = earliest(s, s->idle[core], cycles), end = start + cycles;
    s->run[s->table->n_runs] = (tw_core_run){layer, core, t, start, end};
    for (int i = 0; i < s->n_wishes; i++) {
        const wish *w = &s->wish[i];
        TW_TRY(add_claim(s, (claim){w->wire, start, end, w->bits, layer, w->operand, w->part}, w));
    }
    s->table->n_runs++;
    s->idle[core] = end;
    s->column[core].busy += cycles;
    s->table->makespan = fmax(s->table->makespan, end);
    s->table->energy_pj += s->table->row[layer].cell[core]->energy_pj;
    return TW_OK;
}

/* All tiles of a layer are alike, so that the last one ends first if each goes where it would end first. Those of one core stand one behind the other. */
int tw_cores_place(const tw_cores *cores, const tw_core_table *table, int layer, int64_t t)
{
    const tw_cores_layer *l = &cores->layer[layer];
    const tw_account *const *cell = table->row[layer].cell;
    int64_t taken[TW_HDA_CORES] = {0};
    if (l->is_placed) return cell[l->core[t]] ? l->core[t] : -1;
    for (int64_t n = 0; n < l->n_tiles; n++) {
        int best = -1;
        for (int i = 0; i < l->n_cores; i++) {
            int c = l->core[i];
            if (cell[c] && (best < 0 || (double)(taken[c] + 1) * cell[c]->cycles <
                                            (double)(taken[best] + 1) * cell[best]->cycles))
                best = c;
        }
        if (best < 0) return -1;
        taken[best]++;
    }
    for (int i = 0; i < l->n_cores; i++) { /* a core that is named twice has taken all when it comes first */
        if (t < taken[l->core[i]]) return l->core[i];
        t -= taken[l->core[i]];
        taken[l->core[i]] = 0;
    }
    return -1;
}

/* Of the tiles that are left, the one whose core is free first, of equals the first; what ended before then is forgotten. */
static int64_t next_tile(scheduler *s, int layer, const int *core)
{
    int64_t best = -1;
    int n = 0;
    for (int64_t t = 0; t < s->cores->layer[layer].n_tiles; t++)
        if (core[t] >= 0 && (best < 0 || s->idle[core[t]] < s->idle[core[best]])) best = t;
    for (int i = 0; best >= 0 && i < s->n_claims; i++)
        if (s->claim[i].end > s->idle[core[best]]) s->claim[n++] = s->claim[i];
    s->n_claims = n;
    return best;
}

static tw_status run_layer(scheduler *s, int layer)
{
    const tw_cores_layer *l = &s->cores->layer[layer];
    int n_cores = s->cores->hda->n_cores, core[TW_CORES_TILES];
    for (int c = 0; c < n_cores; c++) s->idle[c] = s->table->makespan;
    s->n_claims = 0; /* nothing reaches beyond the layer before */
    for (int64_t t = 0; t < l->n_tiles; t++) {
        core[t] = tw_cores_place(s->cores, s->table, layer, t);
        if (core[t] < 0)
            return tw_diag_infeasible(s->work.diag, l->entry ? l->entry->loc : l->whole->loc,
                                      "no core that the mapping names runs '%s'", l->whole->name);
    }
    for (int64_t t = next_tile(s, layer, core); t >= 0; t = next_tile(s, layer, core)) {
        TW_TRY(run_tile(s, layer, core[t], t));
        core[t] = -1;
    }
    return TW_OK;
}

tw_status tw_cores_schedule(const tw_cores *cores, tw_work work, tw_core_table *table)
{
    scheduler s = {.cores = cores, .table = table, .work = work};
    int64_t n = 0;
    for (int i = 0; i < cores->n_layers; i++) n += cores->layer[i].n_tiles;
    TW_ALLOC(work.arena, s.run, n + 1);
    TW_ALLOC(work.arena, s.column, cores->hda->n_cores);
    TW_ALLOC(work.scratch, s.idle, cores->hda->n_cores);
    TW_ALLOC(work.scratch, s.wish, TW_ZZ_OPERANDS * cores->hda->n_cores);
    memcpy(s.column, table->core, (size_t)cores->hda->n_cores * sizeof *s.column);
    table->run = s.run;
    table->core = s.column;
    for (int i = 0; i < cores->n_layers; i++) TW_TRY(run_layer(&s, i));
    tw_cores_join(cores, table);
    return TW_OK;
}
