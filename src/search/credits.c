/* src/search/credits.c - the buffers of an async mapping, see leaf.h.
 *
 * A range of buffers for each pool is bounded by a simulation on a machine whose memories are as large as they have to
 * be: with the upper ends where more buffers never take longer, otherwise with so many that nothing waits for one. Its
 * lower ends must fit. */
#include "search/leafs.h"
#include "search/view.h"

#include <math.h>
#include <string.h>

enum {
    MOST_TRIES = 4096, /* simulations for one choice of everything else    */
    FREE = 1 << 14,    /* more buffers than that are never simulated       */
    SHORT = 200000,    /* instructions of programs that are tried once more */
};

typedef struct pool {
    int memory, operand;
    int64_t units;  /* of one buffer                                         */
    int64_t ahead;  /* of each further one of a window that slides, else 0   */
    int64_t enough; /* with so many nothing waits for a buffer, 0: too many */
} pool;

typedef struct credits {
    tw_leaf *leaf;
    tw_outline outline;
    tw_machine roomy; /* memories without limit */
    bool timed;       /* a goal depends on time         */
    bool placed;      /* a goal depends on space        */
    bool counts;      /* units and energy of the outline are exact, padding or not */
    int n_pools;
    pool pool[TW_MAX_MEMORIES * TW_MAX_OPERANDS];
    int64_t n_tries;
    bool has_full; /* what was tried first, and whether it did not fit */
    int32_t full[TW_MAX_MEMORIES * TW_MAX_OPERANDS];
    bool full_refused;
    int32_t flow[TW_MAX_MEMORIES * TW_MAX_OPERANDS]; /* what is under way; 0: not known                  */
    bool refused;                                    /* what was tried last did not fit */
    tw_outcome least;                                /* whatever the buffers           */
    int64_t busiest; /* cycles that the busiest engine takes, at least; 0: not known */
} credits;

typedef struct span {
    int32_t lo[TW_MAX_MEMORIES * TW_MAX_OPERANDS], hi[TW_MAX_MEMORIES * TW_MAX_OPERANDS];
} span;

/* ---- what does not depend on buffers ---- */

static tw_status ask_outline(credits *c)
{
    const tw_leaf *leaf = c->leaf;
    TW_TRY(leaf->judge->outline(leaf->judge->user, &leaf->map, &c->outline));
    c->counts = c->outline.exact;
    c->outline.exact = c->outline.exact && !(leaf->space->clipped && tw_part_is_hollow(leaf->space, leaf->part));
    return TW_OK;
}

static void raise_counts(credits *c)
{
    const tw_machine *machine = c->leaf->space->machine;
    c->least.energy_fj = tw_max(c->least.energy_fj, c->outline.energy_fj);
    for (int e = 0; e < machine->n_engines; e++) c->least.moved[e] = tw_max(c->least.moved[e], c->outline.units[e]);
    for (int m = 1; m < machine->n_memories; m++)
        c->least.crossed[m] = tw_max(c->least.crossed[m], c->outline.crossed[m]);
}

/* With the transfers counted exactly the links are busier than the part's bound knew. */
static void raise_least(credits *c)
{
    const tw_space *s = c->leaf->space;
    c->least = c->leaf->least.cost;
    int64_t executing =
        tw_cdiv(tw_sat_mul(c->outline.n_execs, c->outline.alone), s->machine->engine[s->machine->compute].count);
    c->least.cycles = tw_max(c->least.cycles, tw_sat_add(executing, tw_cdiv(s->machine->launch, TW_MILLI)));
    if (c->counts) raise_counts(c);
    if (!c->outline.exact) return;
    c->busiest = executing;
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->kind != TW_MOVES) continue;
        int64_t busy = tw_cdiv(tw_busy_of(engine, c->outline.commands[e], c->outline.units[e]), engine->count);
        c->least.cycles = tw_max(c->least.cycles, busy);
        c->busiest = tw_max(c->busiest, busy);
    }
}

/* Further buffers of a window that slides that a whole window takes, as every sweep begins with one: as many for each window are
 * enough for all sweeps side by side. Of other tiles 1. */
static int64_t windows_long(int64_t units, int64_t ahead) { return ahead > 0 ? tw_cdiv(units, ahead) : 1; }

static void find_pools(credits *c)
{
    const tw_space *s = c->leaf->space;
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < s->op->n_operands; o++)
            if (c->outline.here[m][o]) {
                int64_t units = c->outline.slot_units[m][o], ahead = c->outline.ahead_units[m][o];
                int64_t n = tw_sat_mul(c->outline.transfers[m][o], windows_long(units, ahead));
                c->pool[c->n_pools++] = (pool){.memory = m,
                                               .operand = o,
                                               .units = units,
                                               .ahead = ahead,
                                               .enough = n <= FREE ? tw_max(n, 1) : 0};
            }
    c->timed = tw_goals_timed(c->leaf->goals);
    c->placed = tw_goals_placed(c->leaf->goals);
}

/* ---- ranges ---- */

/* Units up to the last buffer when the one that leaves the largest gap behind it comes last. */
static int64_t packed_tightly(const credits *c, const int64_t *count, const int64_t *units, int m)
{
    const tw_space *s = c->leaf->space;
    int64_t align = s->machine->memory[m].align, end = 0, gap = 0;
    for (int o = 0; o < s->op->n_operands; o++) {
        if (count[o] <= 0) continue;
        int64_t size = c->outline.packed[m][o] ? tw_sat_mul(units[o], count[o]) : units[o];
        int64_t n = c->outline.packed[m][o] ? 1 : count[o], step = tw_sat_mul(tw_cdiv(size, align), align);
        end = tw_sat_add(end, tw_sat_mul(step, n));
        gap = tw_max(gap, step - size);
    }
    return end == INT64_MAX ? end : end - gap;
}

/* Units up to the last buffer when they are given out in the order of the loops that they belong to. */
static int64_t given_out(const credits *c, const int64_t *count, const int64_t *units, int m)
{
    const tw_space *s = c->leaf->space;
    if (s->machine->memory[m].placement == TW_PLACE_LIFETIME) return packed_tightly(c, count, units, m);
    int64_t align = s->machine->memory[m].align, end = 0;
    for (int depth = 0; depth <= TW_MAX_LOOPS * TW_MAX_MEMORIES; depth++) {
        bool deeper = false;
        for (int o = 0; o < s->op->n_operands; o++) {
            deeper |= count[o] > 0 && c->outline.depth[m][o] > depth;
            if (count[o] <= 0 || c->outline.depth[m][o] != depth) continue;
            int64_t step = c->outline.packed[m][o] ? units[o] : tw_cdiv(units[o], align) * align;
            end = tw_cdiv(end, align) * align;
            end = tw_sat_add(end, tw_sat_add(tw_sat_mul(step, count[o] - 1), units[o]));
            if (end > INT64_MAX / 2) return INT64_MAX;
        }
        if (!deeper) break;
    }
    return tw_sat_add(end, c->outline.extra[m] > 0 ? tw_cdiv(end, align) * align - end + c->outline.extra[m] : 0);
}

/* Units of memory m with the lower or the upper ends, for this operator alone. */
static int64_t own_by(const credits *c, const span *r, bool high, int m)
{
    const tw_space *s = c->leaf->space;
    int64_t count[TW_MAX_OPERANDS] = {0}, units[TW_MAX_OPERANDS] = {0};
    for (int i = 0; i < c->n_pools; i++)
        if (c->pool[i].memory == m) {
            const pool *p = &c->pool[i];
            count[p->operand] = high ? r->hi[i] : r->lo[i];
            units[p->operand] = p->units;
            if (p->ahead == 0 || count[p->operand] == 0) continue;
            units[p->operand] = tw_sat_add(p->units, tw_sat_mul(p->ahead, count[p->operand] - 1)); /* one piece */
            count[p->operand] = 1;
        }
    if (s->machine->memory[m].placement == TW_PLACE_SLOTS)
        return tw_stacked(count, units, s->op->n_operands, s->machine->memory[m].align, s->resident);
    return given_out(c, count, units, m);
}

/* The same for its whole group. */
static int64_t used_by(const credits *c, const span *r, bool high, int m)
{
    const tw_memory *memory = &c->leaf->space->machine->memory[m];
    int64_t own = own_by(c, r, high, m);
    return memory->reserved > 0 ? tw_memory_with_others(memory, own) : tw_max(own, c->outline.others[m]);
}

/* The memory that is too small, 0: none. */
static int overflows(const credits *c, const span *r, bool high)
{
    const tw_machine *machine = c->leaf->space->machine;
    for (int m = 1; m < machine->n_memories; m++)
        if (used_by(c, r, high, m) > tw_memory_full(&machine->memory[m])) return m;
    return 0;
}

static void put(const credits *c, const int32_t *count, tw_op_map *map)
{
    *map = c->leaf->map;
    for (int i = 0; i < c->n_pools; i++) map->level[c->pool[i].memory - 1].slots[c->pool[i].operand] = count[i];
}

/* Buffers of a pool, at most, in a memory that has single and double ones only. */
static int64_t doubled_at_most(const credits *c, const pool *p, int64_t least, int64_t most)
{
    const tw_space *s = c->leaf->space;
    tw_doubling doubles = s->machine->memory[p->memory].doubles;
    bool input = p->operand < tw_op_output(s->op) && !(s->resident >> p->operand & 1);
    if (doubles == TW_DOUBLE_ANY || c->leaf->map.level[p->memory - 1].pass) return most;
    if (doubles == TW_DOUBLE_CHANGING) input = c->outline.changes[p->memory][p->operand];
    int64_t wanted = input ? 2 : c->outline.needed[p->memory][p->operand];
    return tw_max(least, tw_min(wanted, s->max_buffers));
}

/* From what is needed to what fits if all others have what they need; false when not even that does. */
static bool first_span(credits *c, span *r)
{
    const tw_space *s = c->leaf->space;
    for (int i = 0; i < c->n_pools; i++) {
        const pool *p = &c->pool[i];
        const tw_number_limit *limit = &s->limits.level[p->memory - 1].slots[p->operand];
        /* Tiles that lie in padding take no buffer: where there are some, fewer may do. */
        int64_t needed = c->outline.exact ? tw_max(1, c->outline.needed[p->memory][p->operand]) : 1;
        int64_t lo = tw_number_above(limit, needed);
        if (lo == 0 || lo > s->max_buffers) return false;
        r->lo[i] = r->hi[i] = (int32_t)lo;
    }
    int m = overflows(c, r, false);
    if (m > 0) {
        tw_op_map map;
        put(c, r->lo, &map);
        int64_t size = tw_memory_full(&s->machine->memory[m]);
        c->leaf->judge->refused(c->leaf->judge->user, &map, used_by(c, r, false, m) - size);
        return false;
    }
    for (int i = 0; i < c->n_pools; i++) {
        const pool *p = &c->pool[i];
        const tw_number_limit *limit = &s->limits.level[p->memory - 1].slots[p->operand];
        int64_t most = tw_min(s->max_buffers, p->enough > 0 ? tw_max(p->enough, r->lo[i]) : s->max_buffers);
        if (!c->timed) most = tw_min(most, tw_max(r->lo[i], c->outline.needed[p->memory][p->operand]));
        int64_t size = s->machine->memory[p->memory].size;
        /* What alignment leaves between buffers more of them may fill. */
        int64_t gaps = (s->machine->memory[p->memory].align - 1) * s->op->n_operands;
        int64_t more = p->ahead > 0 ? p->ahead : p->units;
        if (size != TW_UNLIMITED && more > 0)
            most = tw_min(most, r->lo[i] + (size - own_by(c, r, false, p->memory) + gaps) / more);
        most = doubled_at_most(c, p, r->lo[i], most);
        r->hi[i] = (int32_t)tw_max(tw_number_below(limit, most), r->lo[i]);
    }
    return true;
}

/* Executions that nothing disturbs, whatever runs beside them. */
static void release_pressure(tw_machine *machine)
{
    for (int e = 0; e < machine->n_engines; e++) tw_cost_calm(&machine->engine[e].cost);
}

/* What the range costs at least; *known: `out` is what the upper ends cost, and they fit. */
static tw_status bound_span(credits *c, const span *r, tw_outcome *out, bool *known)
{
    const tw_judge *judge = c->leaf->judge;
    tw_op_map map;
    int32_t count[TW_MAX_MEMORIES * TW_MAX_OPERANDS];
    bool unfinished = false, limited = !c->timed || c->outline.reorders;
    int64_t ignored, buffers = 0;
    *out = c->least;
    *known = false;
    for (int m = 1; m < c->leaf->space->machine->n_memories; m++) out->used[m] = used_by(c, r, false, m);
    for (int i = 0; i < c->n_pools; i++) {
        bool single = r->lo[i] == r->hi[i];
        count[i] = r->hi[i];
        if (!c->outline.monotone && !single) count[i] = (int32_t)c->pool[i].enough;
        limited |= count[i] == 0;
        buffers += count[i];
    }
    if (limited || buffers > 4 * FREE) return TW_OK;
    if (c->roomy.n_memories == 0) c->roomy = *c->leaf->space->machine;
    for (int m = 1; m < c->roomy.n_memories; m++) {
        c->roomy.memory[m].size = TW_UNLIMITED;
        c->roomy.memory[m].others = NULL;
        c->roomy.memory[m].reserved = 0;
    }
    release_pressure(&c->roomy);
    tw_outcome relaxed;
    put(c, count, &map);
    c->n_tries++;
    tw_status status = judge->cost(judge->user, &c->roomy, &map, &relaxed, &unfinished, &ignored);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT || unfinished) return TW_OK;
    TW_TRY(status);
    *known = !c->outline.contended && memcmp(count, r->hi, (size_t)c->n_pools * sizeof *count) == 0 &&
             overflows(c, r, true) == 0;
    out->cycles = tw_max(out->cycles, relaxed.cycles);
    return TW_OK;
}

static tw_status try_counts(credits *c, const int32_t *count)
{
    tw_op_map map;
    if (c->has_full && memcmp(count, c->full, (size_t)c->n_pools * sizeof *count) == 0) { /* again */
        c->refused = c->full_refused;
        return TW_OK;
    }
    int64_t refused = c->leaf->n_refused;
    put(c, count, &map);
    c->n_tries++;
    tw_status status = tw_leaf_try(c->leaf, &map);
    c->refused = c->leaf->n_refused > refused;
    return status;
}

/* The same, and remembers what it tried. */
static tw_status try_first(credits *c, const int32_t *count)
{
    TW_TRY(try_counts(c, count));
    memcpy(c->full, count, sizeof c->full);
    c->has_full = true;
    c->full_refused = c->refused;
    return TW_OK;
}

/* So many more buffers of pool i of the upper ends, if they are allowed and fit; *more_fit: they may, but are more than `most`. */
static bool grow_pool(const credits *c, const span *r, int i, int64_t more, int64_t most, span *full,
                      bool *more_fit)
{
    const pool *p = &c->pool[i];
    const int32_t was = full->hi[i];
    int64_t n = tw_min(r->hi[i], was + more);
    n = tw_number_below(&c->leaf->space->limits.level[p->memory - 1].slots[p->operand], n);
    if (n <= was) return false;
    if (n > r->lo[i] + most) {
        *more_fit = true;
        return false;
    }
    full->hi[i] = (int32_t)n;
    if (!overflows(c, full, true)) return true;
    full->hi[i] = was;
    return false;
}

/* Up to `most` buffers more than needed for each pool, as far as they fit, all growing together, and then windows that slide by what is
 * left: a piece less and each sweep waits. Whether any more would fit. */
static bool grow(const credits *c, const span *r, int64_t most, span *full)
{
    bool grows = true, more_fit = false, ignored;
    *full = *r;
    memcpy(full->hi, full->lo, sizeof full->hi);
    for (int64_t step = 1; grows; step *= 2) {
        grows = false;
        for (int i = 0; i < c->n_pools; i++)
            grows |= grow_pool(c, r, i, tw_min(step, tw_max(1, full->hi[i])), most, full, &more_fit);
    }
    for (int i = 0; i < c->n_pools; i++)
        for (int64_t more = c->pool[i].ahead > 0 ? full->hi[i] / 2 : 0; more > 0; more /= 2)
            grow_pool(c, r, i, tw_min(more, r->lo[i] + most - full->hi[i]), most, full, &ignored);
    return more_fit;
}

/* Buffers for what is under way: a tile holds one while it comes and while it is read, and so many come in that time, at the
 * rate of the busiest engine. */
static tw_status try_flow(credits *c, const span *r)
{
    const tw_space *s = c->leaf->space;
    int32_t count[TW_MAX_MEMORIES * TW_MAX_OPERANDS];
    span guess = *r;
    double cycles = (double)tw_max(1, c->busiest > 0 ? c->busiest : c->least.cycles);
    for (int i = 0; i < c->n_pools; i++) {
        const pool *p = &c->pool[i];
        double held = 0, transfers = (double)c->outline.transfers[p->memory][p->operand];
        for (int e = 0; e < s->machine->n_engines; e++) {
            const tw_engine *engine = &s->machine->engine[e];
            if (engine->kind == TW_MOVES && (engine->memory == p->memory || engine->outer == p->memory))
                held += (double)tw_cost_of_units(&engine->cost, tw_max(1, p->units));
        }
        double more = 1 + (double)windows_long(p->units, p->ahead) + held * transfers / cycles;
        guess.hi[i] = (int32_t)(more < (double)(r->hi[i] - r->lo[i]) ? r->lo[i] + more : r->hi[i]);
        const tw_number_limit *limit = &s->limits.level[p->memory - 1].slots[p->operand];
        guess.hi[i] = (int32_t)tw_max(tw_number_below(limit, guess.hi[i]), r->lo[i]);
        count[i] = guess.hi[i];
    }
    if (overflows(c, &guess, true)) {
        span fitting;
        grow(c, &guess, TW_MAX_CREDITS, &fitting);
        memcpy(count, fitting.hi, sizeof count);
    }
    memcpy(c->flow, count, sizeof count);
    return try_first(c, count);
}

/* What the results leave of each memory goes to the inputs: they come ahead of phases in which more comes than is executed, the more the more room
 * they have, while results only have to leave. */
static tw_status try_ahead(credits *c, const span *r)
{
    span inputs = *r, full;
    for (int i = 0; i < c->n_pools; i++) {
        if (c->flow[i] == 0) return TW_OK;
        inputs.lo[i] = c->flow[i];
        if (c->pool[i].operand == tw_op_output(c->leaf->space->op)) inputs.hi[i] = c->flow[i];
    }
    if (overflows(c, &inputs, false)) return TW_OK;
    grow(c, &inputs, TW_MAX_CREDITS, &full);
    return try_counts(c, full.hi);
}

/* Cycles of the movers at least, and of all executions when none of them is disturbed. */
static int64_t moving_cycles(const credits *c)
{
    const tw_space *s = c->leaf->space;
    int64_t most = 0;
    for (int e = 0; e < s->machine->n_engines && c->outline.exact; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->kind != TW_MOVES || !(engine->carries & TW_INWARDS) || engine->count > 1) continue;
        most = tw_max(most, tw_busy_of(engine, c->outline.commands[e], c->outline.units[e]));
    }
    return most;
}

/* Buffers with which every input of memory m is so many steps ahead of what is executed, a step being what the input that comes most often needs
 * one more tile for; results have what they need. */
static void come_ahead(const credits *c, const span *r, int m, int64_t steps, span *out)
{
    int64_t often = 1;
    for (int i = 0; i < c->n_pools; i++)
        if (c->pool[i].memory == m) often = tw_max(often, c->outline.transfers[m][c->pool[i].operand]);
    for (int i = 0; i < c->n_pools; i++) {
        const pool *p = &c->pool[i];
        if (p->memory != m || p->operand == tw_op_output(c->leaf->space->op)) continue;
        const tw_number_limit *limit = &c->leaf->space->limits.level[m - 1].slots[p->operand];
        double share = (double)c->outline.transfers[m][p->operand] / (double)often;
        int64_t n = r->lo[i] + (int64_t)ceil((double)steps * share * (double)windows_long(p->units, p->ahead));
        out->hi[i] = (int32_t)tw_max(tw_number_below(limit, tw_min(n, r->hi[i])), r->lo[i]);
    }
}

/* Where a mover is nearly as busy as the array it works ahead for the phases that it is too slow for, as far as all memories behind it let it: what comes
 * together has room together. */
static tw_status try_even(credits *c, const span *r)
{
    span even = *r;
    memcpy(even.hi, r->lo, sizeof even.hi);
    for (int m = 1; m < c->leaf->space->machine->n_memories; m++) {
        int64_t lo = 0, hi = 1;
        for (; hi < TW_MAX_CREDITS; hi *= 2) {
            come_ahead(c, r, m, hi, &even);
            if (overflows(c, &even, true)) break;
            lo = hi;
        }
        while (lo + 1 < hi) {
            int64_t middle = lo + (hi - lo) / 2;
            come_ahead(c, r, m, middle, &even);
            if (overflows(c, &even, true))
                hi = middle;
            else
                lo = middle;
        }
        come_ahead(c, r, m, lo, &even);
    }
    return overflows(c, &even, true) ? TW_OK : try_counts(c, even.hi);
}

/* More and more buffers, as long as that helps: programs with many take longer to simulate. */
static tw_status try_full(credits *c, const span *r)
{
    span full;
    bool more = true;
    for (int64_t most = 1; more && tw_leaf_wants(c->leaf, &c->least, TW_BOUND_LINK); most *= 4) {
        int64_t found = c->leaf->n_better;
        more = grow(c, r, most, &full);
        TW_TRY(try_first(c, full.hi));
        if (c->leaf->judge->stopped(c->leaf->judge->user) || (most > 16 && c->leaf->n_better == found)) break;
    }
    return TW_OK;
}

static int widest(const credits *c, const span *r)
{
    int best = -1;
    double most = 0;
    for (int i = 0; i < c->n_pools; i++) {
        double ratio = (double)r->hi[i] / r->lo[i];
        if (r->lo[i] < r->hi[i] && ratio > most) best = i, most = ratio;
    }
    return best;
}

/* By construction: what is under way, and more for inputs; more and more of all where neither fits, or somebody has time. */
static tw_status try_some(credits *c, const span *r)
{
    if (widest(c, r) < 0) return TW_OK;
    int64_t better = c->leaf->n_better;
    TW_TRY(try_flow(c, r));
    TW_TRY(try_ahead(c, r));
    bool is_short = tw_outline_instructions(&c->outline, c->leaf->space->machine) <= SHORT;
    if (c->leaf->n_better > better && is_short && 10 * moving_cycles(c) >= 9 * c->least.cycles)
        TW_TRY(try_even(c, r));
    return c->leaf->quick && c->leaf->n_found > 0 ? TW_OK : try_full(c, r);
}

static tw_status search_span(credits *c, const span *r);

static tw_status halve(credits *c, const span *r, int i)
{
    const pool *p = &c->pool[i];
    const tw_number_limit *limit = &c->leaf->space->limits.level[p->memory - 1].slots[p->operand];
    int32_t middle = r->lo[i] + (r->hi[i] - r->lo[i]) / 2;
    span half = *r;
    half.lo[i] = (int32_t)tw_number_above(limit, middle + 1); /* more buffers first */
    if (half.lo[i] > 0 && half.lo[i] <= half.hi[i]) TW_TRY(search_span(c, &half));
    half = *r;
    half.hi[i] = (int32_t)tw_number_below(limit, middle);
    return half.hi[i] >= half.lo[i] ? search_span(c, &half) : TW_OK;
}

static tw_status search_span(credits *c, const span *r)
{
    tw_outcome least;
    bool known;
    int i = widest(c, r);
    if (overflows(c, r, false)) return TW_OK;
    if (!c->timed && !c->placed && c->leaf->n_found > 0) return TW_OK; /* the others are no different */
    if (i < 0) return try_counts(c, r->lo);
    if (c->n_tries >= MOST_TRIES || c->leaf->judge->stopped(c->leaf->judge->user)) {
        tw_goal_value bound = tw_goals_value(c->leaf->goals, &c->least);
        c->leaf->judge->left(c->leaf->judge->user, &bound);
        return TW_OK;
    }
    TW_TRY(bound_span(c, r, &least, &known));
    if (!tw_leaf_wants(c->leaf, &least, TW_BOUND_RELAXED)) return TW_OK;
    if (known && c->outline.monotone && !c->placed) {
        TW_TRY(try_counts(c, r->hi));
        if (!c->refused) return TW_OK; /* packed with the others, it may not fit: then with fewer */
    }
    return halve(c, r, i);
}

/* ---- single or double ---- */

/* Whether every transfer of inputs waits for the execution before it: all inputs have one buffer, and nothing is stored
 * while the next execution runs. */
static bool takes_turns(const credits *c, const span *r)
{
    const tw_machine *machine = c->leaf->space->machine;
    for (int i = 0; i < c->n_pools; i++)
        if (c->pool[i].operand < tw_op_output(c->leaf->space->op) && r->lo[i] > 1) return false;
    return !machine->engine[machine->compute].late;
}

static const tw_op *leaf_op(const credits *c) { return c->leaf->space->op; }

/* Whether it is still at work when another engine begins with what the transfer before has brought: one unit, which does not
 * begin the next transfer before the end of this one. */
static bool works_to_the_end(const tw_engine *mover)
{
    int64_t cycles = tw_cost_of_units(&mover->cost, 1);
    bool constant = mover->cost.kind == TW_COST_CONSTANT;
    return mover->count == 1 && !mover->pipelined && cycles > 0 &&
           (!constant || mover->cost.constant.busy == cycles);
}

/* Where the mover fetches the next tile while this one is executed, all but the last executions of a sweep are disturbed.
 * With single buffers transfers and executions follow each other. */
static bool worth_trying(credits *c, const span *r, bool doubled)
{
    const tw_outline *o = &c->outline;
    const tw_machine *machine = c->leaf->space->machine;
    tw_outcome least = c->least;
    bool ahead = false; /* a transfer comes with every execution, before that of the step before it */
    for (int i = 0; i < leaf_op(c)->n_operands; i++) ahead |= o->changes[1][i];
    int link = tw_machine_link(machine, 0, 1, TW_INWARDS, TW_HOLDS_ALL);
    const tw_engine *mover = link >= 0 ? &machine->engine[link] : NULL;
    ahead &= mover && mover->roles == 0 && !mover->named && mover->prefetches && works_to_the_end(mover);
    int64_t launch = tw_cdiv(machine->launch, TW_MILLI), last = ahead ? o->n_sweeps : o->n_execs;
    int64_t cycles = tw_sat_add(tw_sat_mul(o->n_execs - last, o->under), tw_sat_mul(last, o->alone));
    if (!doubled) cycles = tw_sat_add(tw_sat_mul(o->n_execs, o->alone), takes_turns(c, r) ? moving_cycles(c) : 0);
    least.cycles = tw_max(least.cycles, tw_sat_add(cycles, launch));
    return tw_leaf_wants(c->leaf, &least, TW_BOUND_RELAXED);
}

/* As few buffers as can be; where these must be doubled together, that may be more than the least of each. */
static tw_status try_least(credits *c, const span *r)
{
    bool doubles = false;
    for (int i = 0; i < c->n_pools; i++)
        doubles |= c->leaf->space->machine->memory[c->pool[i].memory].doubles != TW_DOUBLE_ANY;
    TW_TRY(try_counts(c, r->lo));
    return doubles ? try_counts(c, r->hi) : TW_OK;
}

static tw_status try_dual(credits *c, const span *r)
{
    bool differs = memcmp(r->lo, r->hi, (size_t)c->n_pools * sizeof r->lo[0]) != 0;
    if (differs && !overflows(c, r, true) && worth_trying(c, r, true)) TW_TRY(try_counts(c, r->hi));
    return worth_trying(c, r, false) ? try_counts(c, r->lo) : TW_OK;
}

/* ---- without bounds ---- */

static tw_status try_all(credits *c, int32_t *count, int i)
{
    const tw_space *s = c->leaf->space;
    if (i == c->n_pools) return try_counts(c, count);
    for (int64_t n = 1; n <= s->max_buffers; n++) {
        if (!tw_leaf_allows(c->leaf, c->pool[i].memory, c->pool[i].operand, n)) continue;
        count[i] = (int32_t)n;
        TW_TRY(try_all(c, count, i + 1));
        if (!c->leaf->judge->stopped(c->leaf->judge->user)) continue;
        c->leaf->judge->left(c->leaf->judge->user, &c->leaf->part->bound);
        break;
    }
    return TW_OK;
}

static tw_status outline_leaf(tw_leaf *leaf, tw_outcome *least, int64_t *short_by)
{
    credits c = {.leaf = leaf};
    const tw_space *s = leaf->space;
    span r;
    *short_by = 0;
    TW_TRY(ask_outline(&c));
    raise_least(&c);
    find_pools(&c);
    *least = c.least;
    for (int i = 0; i < c.n_pools; i++) {
        int64_t needed = tw_max(1, c.outline.needed[c.pool[i].memory][c.pool[i].operand]);
        if (needed > s->max_buffers) return TW_INFEASIBLE;
        r.lo[i] = (int32_t)needed;
    }
    for (int m = 1; m < s->machine->n_memories; m++)
        *short_by += tw_max(0, used_by(&c, &r, false, m) - tw_memory_full(&s->machine->memory[m]));
    return TW_OK;
}

/* Where tiles that lie in padding leave open how few buffers would do: whether there is room for as many as surely do, which
 * are then put in; how many there are does not matter. */
static bool has_needed(const credits *c, span *r)
{
    span enough = *r;
    for (int i = 0; i < c->n_pools; i++) {
        const pool *p = &c->pool[i];
        const tw_number_limit *limit = &c->leaf->space->limits.level[p->memory - 1].slots[p->operand];
        int64_t n = tw_number_above(limit, tw_max(1, c->outline.needed[p->memory][p->operand]));
        if (n == 0 || n > c->leaf->space->max_buffers) return false;
        enough.lo[i] = (int32_t)n;
        enough.hi[i] = (int32_t)tw_max(enough.hi[i], enough.lo[i]);
    }
    if (overflows(c, &enough, false)) return false;
    *r = enough;
    return true;
}

/* Whether nothing has to be simulated to know what the goals ask for. Where tiles may lie in padding r becomes as many buffers as surely do; what room they
 * take is then known where fewer are not possible. */
static bool is_counted(const credits *c, span *r)
{
    span enough = *r;
    if (c->timed || !c->counts) return false;
    if (c->outline.exact) return true;
    if (!has_needed(c, &enough)) return false;
    if (c->placed && memcmp(enough.lo, r->lo, (size_t)c->n_pools * sizeof r->lo[0]) != 0) return false;
    *r = enough;
    return true;
}

static tw_status search_credits(tw_leaf *leaf)
{
    credits c = {.leaf = leaf};
    span r;
    int32_t count[TW_MAX_MEMORIES * TW_MAX_OPERANDS];
    tw_status status = ask_outline(&c);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) {
        if (status == TW_INFEASIBLE) leaf->judge->refused(leaf->judge->user, &leaf->map, 0);
        return TW_OK;
    }
    TW_TRY(status);
    raise_least(&c);
    find_pools(&c);
    if (leaf->exhaustive) return try_all(&c, count, 0);
    if (!first_span(&c, &r) || !tw_leaf_wants(leaf, &c.least, TW_BOUND_LINK)) return TW_OK;
    leaf->counted = is_counted(&c, &r);
    if (leaf->counted &&
        !leaf->judge->affords(leaf->judge->user, tw_outline_instructions(&c.outline, leaf->space->machine))) {
        leaf->judge->left(leaf->judge->user, &leaf->part->bound);
        return TW_OK;
    }
    if (leaf->counted) return try_least(&c, &r);
    const tw_machine *machine = leaf->space->machine;
    if (machine->n_memories == 2 && machine->memory[1].doubles != TW_DOUBLE_ANY && c.outline.exact &&
        c.outline.alone > 0 && !c.placed && machine->engine[machine->compute].count == 1)
        return try_dual(&c, &r);
    span enough = r; /* fewer may do, but which is not known */
    if (!c.outline.exact && has_needed(&c, &enough)) TW_TRY(try_some(&c, &enough));
    if (leaf->n_found == 0) TW_TRY(try_some(&c, &r));
    if (leaf->quick && leaf->n_found == 0) return try_least(&c, &r); /* nothing to choose, or not so */
    if (leaf->quick || !tw_leaf_wants(leaf, &c.least, TW_BOUND_LINK)) return TW_OK;
    return search_span(&c, &r);
}

static tw_status refine(tw_leaf *leaf, tw_outcome *least)
{
    int64_t ignored;
    return outline_leaf(leaf, least, &ignored);
}

const tw_search_rules tw_search_stream = {.bound = tw_bound_links,
                                          .refine = refine,
                                          .refined_by = TW_BOUND_LINK,
                                          .estimate = outline_leaf,
                                          .buffers = search_credits,
                                          .short_first = true,
                                          .shortlist = true,
                                          .seeds_first = true,
                                          .first_nodes = 1};
