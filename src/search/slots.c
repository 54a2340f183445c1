/* src/search/slots.c - the buffers of a lockstep mapping, see leaf.h.
 *
 * Per tiled level the choices that differ are listed with what each adds to the bound of the part, best first; whole
 * mappings are then combinations of them. What a choice adds, per instance of the level:
 *
 *   - a row between two executions when an input with one slot changes, or when the output's slot has to be emptied;
 *     that row holds the loads and stores that caused it;
 *   - with an adder, the last sum;
 *   - with too few slots for a sweep, loads of what was there before.
 *
 * Where loads run beside executions the longer of the two counts. That needs to know how long an execution takes, so
 * choices are made from the innermost level outwards: the cycles of one instance of a level, at least, are those of an execution
 * of the level outside. */
#include "search/leafs.h"
#include "search/view.h"
#include "tile/box.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CHOICES = 4096 };

typedef struct choice {
    int16_t slots[TW_MAX_OPERANDS];
    int64_t ticks, cycles, energy_fj, used; /* added to the part's bound; `used` is the memory's    */
    int64_t pauses;                         /* cycles of rows without execution, in one instance    */
    unsigned paused;                        /* positions whose steps have such a row before them    */
    int64_t units;                          /* moved more on the level's links                      */
    int64_t busy;                           /* of the mover: rows that move an operand at least      */
} choice;

typedef struct level { /* tiled level t */
    const tw_leaf *leaf;
    int t, memory;
    int n_loops; /* cut here, outermost first */
    int loop[TW_MAX_LOOPS];
    int64_t most[TW_MAX_LOOPS], least[TW_MAX_LOOPS]; /* tiles, of the largest and of the smallest piece  */
    int64_t instances;
    bool even;                      /* all pieces are cut alike                         */
    bool mixed;                     /* some pieces are cut into a number of tiles in between */
    bool skips;                     /* tiles in padding may be left out                 */
    int64_t units[TW_MAX_OPERANDS]; /* of a slot: the largest tile, at least            */
    int64_t small[TW_MAX_OPERANDS]; /* of the smallest tile                             */
    int64_t least_slots;            /* of the output                                    */
    tw_accumulate mode;
    int n_choices;
    choice *choice;
} level;

/* ---- geometry ---- */

/* The shortest piece of loop l that reaches tiled level t, or the shortest tile of the innermost level; *even: all are as
 * long. 1 when the cuts are not legal, which the simulation will say. */
static int64_t shortest_piece(const tw_leaf *leaf, int t, int l, bool *even)
{
    int64_t len[TW_MAX_LENGTHS], least = INT64_MAX;
    int n = tw_part_lengths(leaf->space, leaf->part, t, l, len);
    *even = n == 1;
    for (int i = 0; i < n; i++) least = tw_min(least, len[i]);
    return n == 0 ? 1 : least;
}

/* The fewest tiles that level t cuts a piece of loop l into; *mixed: some are cut into more than that and fewer than `most`. */
static int64_t fewest_tiles(const tw_leaf *leaf, const tw_level_map *map, int t, int l, int64_t most, bool *mixed)
{
    int64_t len[TW_MAX_LENGTHS], count[TW_MAX_LENGTHS], least = INT64_MAX;
    int n = tw_part_lengths(leaf->space, leaf->part, t, l, len);
    for (int i = 0; i < n; i++) {
        count[i] = tw_level_split_is_legal(map, l, len[i]) ? tw_level_split(map, l, len[i]).count : 1;
        least = tw_min(least, count[i]);
    }
    for (int i = 0; i < n; i++) *mixed |= count[i] != least && count[i] != most;
    return n == 0 ? 1 : least;
}

static void measure(const tw_leaf *leaf, int t, level *v)
{
    const tw_space *s = leaf->space;
    const tw_frame *f = &s->frame[leaf->part->frame];
    const tw_level_map *map = &leaf->map.level[f->memory[t] - 1];
    int64_t lens[TW_MAX_LOOPS], small[TW_MAX_LOOPS];
    int64_t partials = 1;
    *v = (level){
        .leaf = leaf, .t = t, .memory = f->memory[t], .even = true, .instances = 1, .mode = map->accumulate};
    v->skips = s->clipped && tw_part_is_hollow(s, leaf->part);
    for (int i = 0; i < s->op->n_loops; i++) {
        int l = map->order[i];
        bool even, ignored;
        int64_t piece = tw_part_piece(s, leaf->part, t, l);
        (void)shortest_piece(leaf, t, l, &even);
        lens[l] = leaf->part->var[tw_var_size(s, t, l)].lo;
        small[l] = shortest_piece(leaf, t + 1, l, &ignored);
        for (int k = 0; k < t; k++) /* instances along this loop, at least */
            if (k == t - 1)
                v->instances *= tw_cdiv(s->op->loop[l].extent, leaf->part->var[tw_var_size(s, k, l)].lo);
        if (lens[l] == piece) continue;
        v->loop[v->n_loops] = l;
        v->most[v->n_loops] = tw_cdiv(piece, lens[l]);
        v->least[v->n_loops] = fewest_tiles(leaf, map, t, l, v->most[v->n_loops], &v->mixed);
        v->even &= even;
        if (s->op->loop[l].reduces) partials *= v->most[v->n_loops];
        v->n_loops++;
    }
    v->least_slots = tw_mapping_min_output_slots(v->mode, partials);
    for (int o = 0; o < s->op->n_operands; o++) {
        v->units[o] = s->elem_units[o] * tw_footprint_least(s, o, lens);
        v->small[o] = s->elem_units[o] * tw_footprint_least(s, o, small);
    }
}

static bool depends(const level *v, int operand, int position)
{
    return v->leaf->space->loops[operand] >> v->loop[position] & 1;
}

static bool reduces(const level *v, int position) { return v->leaf->space->op->loop[v->loop[position]].reduces; }

/* Tiles of the operand that the loops inside a position sweep over. */
static int64_t sweep(const level *v, int operand, int position, const int64_t *count)
{
    int64_t n = 1;
    for (int i = position + 1; i < v->n_loops; i++)
        if (depends(v, operand, i)) n *= count[i];
    return n;
}

/* ---- numbers of slots ---- */

typedef struct numbers {
    int n;
    int16_t at[TW_MAX_SLOTS];
} numbers;

/* The first number from `from` to below `to` that is allowed, if any: all of these do the same. */
static void add_class(const level *v, int o, int64_t from, int64_t to, numbers *list)
{
    for (int64_t x = from; x < tw_min(to, TW_MAX_SLOTS + 1); x++)
        if (tw_leaf_allows(v->leaf, v->memory, o, x)) {
            list->at[list->n++] = (int16_t)x;
            return;
        }
}

/* Each number from `from` to `to` by itself, and all above as one. */
static void add_each(const level *v, int o, int64_t from, int64_t to, numbers *list)
{
    for (int64_t x = from; x <= tw_min(to, TW_MAX_SLOTS); x++)
        add_class(v, o, x, x == to ? TW_MAX_SLOTS + 1 : x + 1, list);
}

/* Whether there are few loops, and each piece is cut into one of two numbers of tiles along them. */
enum { FEW_LOOPS = 3 };
static bool few_counts(const level *v) { return v->n_loops <= FEW_LOOPS && !v->mixed; }

static void input_slots(const level *v, int o, numbers *list)
{
    const tw_space *s = v->leaf->space;
    int64_t tiles = sweep(v, o, -1, v->most), mark[TW_MAX_LOOPS * (1 << FEW_LOOPS) + 3] = {1, 2};
    int n = 2;
    if (s->notes) {
        for (int64_t x = 1; x <= tw_min(2, tiles); x++) add_class(v, o, x, x + 1, list);
        return;
    }
    if (v->leaf->exhaustive) {
        add_each(v, o, 1, TW_MAX_SLOTS, list);
        return;
    }
    if (v->skips || (!v->even && !few_counts(v))) { /* sweeps of any length */
        add_each(v, o, 1, tw_max(tiles, 2), list);
        return;
    }
    if (tiles == 1) n = 1;
    /* Pieces may be cut into `most` or `least` tiles along each loop, so a sweep has one of these lengths. */
    int64_t count[TW_MAX_LOOPS];
    for (unsigned which = 0; which < (v->even ? 1u : 1u << v->n_loops) && tiles > 1; which++) {
        for (int i = 0; i < v->n_loops; i++) count[i] = which >> i & 1 ? v->least[i] : v->most[i];
        for (int i = 0; i < v->n_loops; i++)
            if (!depends(v, o, i)) mark[n++] = tw_max(1, sweep(v, o, i, count));
    }
    qsort(mark, (size_t)n, sizeof *mark, tw_by_int64);
    mark[n] = TW_MAX_SLOTS + 1;
    for (int i = 0; i < n; i++)
        if (mark[i] < mark[i + 1]) add_class(v, o, mark[i], mark[i + 1], list);
}

static void output_slots(const level *v, int o, numbers *list)
{
    const tw_space *s = v->leaf->space;
    int64_t tiles = sweep(v, o, -1, v->most), least = v->least_slots;
    bool alone = least == 1 && tiles == 1;
    if (!s->notes && (v->leaf->exhaustive || v->skips)) {
        add_each(v, o, least, v->leaf->exhaustive ? TW_MAX_SLOTS : least + 2, list);
        return;
    }
    add_class(v, o, least, s->notes || !alone ? least + 1 : TW_MAX_SLOTS + 1, list);
    if (!alone) add_class(v, o, least + 1, s->notes ? least + 2 : TW_MAX_SLOTS + 1, list);
}

/* ---- what a choice adds ---- */

static int64_t load_cost(const level *v, int64_t so_far, int operand)
{
    const tw_machine *machine = v->leaf->space->machine;
    const tw_engine *e = &machine->engine[tw_machine_mover(machine, v->memory)];
    int64_t cost = tw_cost_cycles(&e->cost, tw_max(1, v->small[operand]));
    return e->one_channel ? so_far + cost : tw_max(so_far, cost);
}

/* Rows between executions in one instance, and what they cost at least. */
static void add_pauses(const level *v, choice *c)
{
    const tw_op *op = v->leaf->space->op;
    int output = tw_op_output(op);
    int64_t before = 1, outputs = 1, partials = 1, pauses = 0, cycles = 0;
    bool adds = false, tight = c->slots[output] == v->least_slots;
    for (int i = 0; i < v->n_loops; i++)
        if (reduces(v, i))
            partials *= v->least[i];
        else
            outputs *= v->least[i];
    adds = partials > 1 && v->mode != TW_FUSED;
    for (int i = 0; i < v->n_loops; i++) {
        int64_t moves = before * (v->least[i] - 1), cost = 0;
        before *= v->least[i];
        bool pause = false;
        for (int o = 0; o < output; o++) {
            bool changes = depends(v, o, i) && v->least[i] > 1;
            for (int k = i + 1; k < v->n_loops; k++) changes |= depends(v, o, k) && v->least[k] > 1;
            if (c->slots[o] > 1 || !changes) continue;
            pause = true;
            cost = load_cost(v, cost, o);
        }
        if (!reduces(v, i) && tight) {
            pause = true;
            if (!adds) cost = load_cost(v, cost, output);
        }
        int64_t n = moves;
        /* The second partial sum of an output finds room, the further ones do not. */
        if (!pause && reduces(v, i) && adds && tight)
            pause = true, n = i == v->n_loops - 1 ? moves - outputs : moves;
        if (!pause) continue;
        c->paused |= 1u << i;
        pauses += tw_max(n, 0);
        cycles += tw_max(n, 0) * cost;
    }
    const tw_machine *machine = v->leaf->space->machine;
    int adder = tw_machine_adder(machine, v->memory);
    if (adds && adder >= 0) {
        pauses++; /* the last sum comes behind all executions; those that share their engine are rows of their own */
        if (machine->engine[adder].shares >= 0) pauses = tw_max(pauses, outputs * (partials - 1));
        cycles += tw_cost_cycles(&machine->engine[adder].cost,
                                 tw_max(1, v->small[output] / v->leaf->space->elem_units[output]));
    }
    c->ticks = pauses * v->instances;
    c->cycles = cycles * v->instances;
    c->pauses = cycles;
}

/* Energy of one unit on all links that feed the level. */
static int64_t unit_energy(const level *v)
{
    const tw_space *s = v->leaf->space;
    int64_t energy = 0;
    int n_pass = s->frame[v->leaf->part->frame].n_pass[v->t];
    for (int m = v->memory - n_pass; m <= v->memory; m++)
        energy += s->machine->memory[m].energy_fj + s->machine->memory[m - 1].energy_fj;
    return energy;
}

/* Loads of what was there before. */
static void add_reloads(const level *v, choice *c)
{
    const tw_space *s = v->leaf->space;
    const tw_engine *mover = &s->machine->engine[tw_machine_mover(s->machine, v->memory)];
    for (int o = 0; o < s->op->n_operands; o++) {
        int64_t units = s->least[o] * s->elem_units[o], n = 1, again = 1;
        for (int l = 0; l < s->op->n_loops; l++) {
            bool dep = s->loops[o] >> l & 1;
            if (!dep && v->t > 0)
                units *= tw_cdiv(s->op->loop[l].extent, v->leaf->part->var[tw_var_size(s, v->t - 1, l)].lo);
            if (dep) n *= tw_cdiv(s->op->loop[l].extent, v->leaf->part->var[tw_var_size(s, v->t, l)].lo);
            if (!dep && v->t > 0)
                n *= tw_cdiv(s->op->loop[l].extent, v->leaf->part->var[tw_var_size(s, v->t - 1, l)].lo);
        }
        for (int i = 0; i < v->n_loops && o < tw_op_output(s->op); i++)
            if (!depends(v, o, i) && sweep(v, o, i, v->least) > c->slots[o]) again *= v->least[i];
        c->units += units * (again - 1);
        int64_t busy = tw_busy_of(mover, n * again, units * again);
        c->busy = mover->one_channel ? c->busy + busy : tw_max(c->busy, busy); /* a row moves one tile of each */
    }
    c->energy_fj = c->units * unit_energy(v);
}

static void rate(const level *v, choice *c)
{
    const tw_space *s = v->leaf->space;
    int64_t count[TW_MAX_OPERANDS];
    for (int o = 0; o < s->op->n_operands; o++) count[o] = c->slots[o];
    c->used = tw_stacked(count, v->units, s->op->n_operands, s->machine->memory[v->memory].align, 0);
    if (v->skips) return;
    add_pauses(v, c);
    add_reloads(v, c);
}

static int compare_choices(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (x->cycles + x->ticks != y->cycles + y->ticks) return x->cycles + x->ticks < y->cycles + y->ticks ? -1 : 1;
    if (x->units != y->units) return x->units < y->units ? -1 : 1;
    if (x->used != y->used) return x->used < y->used ? -1 : 1;
    return memcmp(x->slots, y->slots, sizeof x->slots);
}

static tw_status list_choices(level *v)
{
    enum { AS_ONE = 4 }; /* so many choices are a piece of work */
    const tw_space *s = v->leaf->space;
    int output = tw_op_output(s->op);
    numbers list[TW_MAX_OPERANDS] = {{0}};
    int64_t total = 1, size = s->machine->memory[v->memory].size;
    for (int o = 0; o <= output; o++) {
        (o == output ? output_slots : input_slots)(v, o, &list[o]);
        total *= list[o].n;
    }
    v->leaf->judge->spent(v->leaf->judge->user, total / AS_ONE);
    v->n_choices = 0;
    v->choice = malloc((size_t)tw_max(total, 1) * sizeof *v->choice);
    if (!v->choice) return TW_ERR_NOMEM;
    for (int64_t k = 0; k < total; k++) {
        choice c = {{0}};
        int64_t rest = k;
        for (int o = output; o >= 0; o--) {
            c.slots[o] = list[o].at[rest % list[o].n];
            rest /= list[o].n;
        }
        rate(v, &c);
        if (c.used <= size || v->leaf->exhaustive) v->choice[v->n_choices++] = c;
    }
    if (!v->leaf->exhaustive) qsort(v->choice, (size_t)v->n_choices, sizeof *v->choice, compare_choices);
    return TW_OK;
}

/* ---- combinations ---- */

static void add_choice(const level *v, const choice *c, tw_outcome *least)
{
    const tw_space *s = v->leaf->space;
    int n_pass = s->frame[v->leaf->part->frame].n_pass[v->t];
    least->ticks += c->ticks;
    least->cycles = tw_max(least->cycles + c->cycles, c->busy);
    least->energy_fj += c->energy_fj;
    least->used[v->memory] = c->used;
    for (int m = v->memory - n_pass; m <= v->memory; m++) {
        least->crossed[m] += c->units;
        least->moved[tw_machine_mover(s->machine, m)] += c->units;
    }
}

static tw_status rate_leaf(tw_leaf *leaf, tw_outcome *least, int64_t *short_by)
{
    *short_by = 0;
    *least = leaf->least.cost;
    tw_part_unpaused(leaf->space, leaf->part, &least->ticks, &least->cycles);
    for (int t = 0; t < leaf->space->frame[leaf->part->frame].n_tiled; t++) {
        level v;
        measure(leaf, t, &v);
        tw_status status = list_choices(&v);
        if (status == TW_OK && v.n_choices > 0) add_choice(&v, &v.choice[0], least);
        if (status == TW_OK && v.n_choices == 0) *short_by = INT64_MAX;
        if (status == TW_OK) free(v.choice);
        TW_TRY(status);
    }
    least->ticks = tw_max(least->ticks, leaf->least.cost.ticks);
    least->cycles = tw_max(least->cycles, leaf->least.cost.cycles);
    return TW_OK;
}

/* Of `moves` steps of a position, those before which the operand is surely loaded. */
static int64_t loads_at(const level *v, const choice *c, int o, int position, int64_t moves)
{
    bool changes = depends(v, o, position) && v->least[position] > 1;
    for (int k = position + 1; k < v->n_loops; k++) changes |= depends(v, o, k) && v->least[k] > 1;
    if (!changes || c->slots[o] < 2) return 0; /* with one slot it is loaded in a row of its own */
    if (!depends(v, o, position) && sweep(v, o, position, v->most) <= c->slots[o]) return 0;
    for (int r = 0; r < position; r++)
        if (!depends(v, o, r) && sweep(v, o, r, v->most) <= c->slots[o]) moves /= v->least[r];
    return moves;
}

/* Cycles by which loads outlast the executions that they run beside, `exec` being the shortest of those. */
static int64_t overhang(const level *v, const choice *c, int64_t exec)
{
    const tw_machine *machine = v->leaf->space->machine;
    const tw_engine *mover = &machine->engine[tw_machine_mover(machine, v->memory)];
    int output = tw_op_output(v->leaf->space->op);
    int64_t before = 1, sum = 0;
    int adder = tw_machine_adder(machine, v->memory);
    /* Sums that take turns with executions have rows of their own, in which loads may run. */
    if (v->mode != TW_FUSED && adder >= 0 && machine->engine[adder].shares >= 0) return 0;
    for (int i = 0; i < v->n_loops; i++) {
        int64_t moves = before * (v->least[i] - 1), most = 0, together = 0;
        before *= v->least[i];
        if (c->paused >> i & 1) continue; /* what is loaded is loaded in the row without execution */
        for (int o = 0; o < output; o++) {
            int64_t n = loads_at(v, c, o, i, moves), cost = tw_cost_cycles(&mover->cost, tw_max(1, v->small[o]));
            most = tw_max(most, n * tw_max(0, cost - exec));
            if (n == moves) together += cost;
        }
        if (mover->one_channel) most = tw_max(most, moves * tw_max(0, together - exec));
        sum += most;
    }
    return sum;
}

/* Cycles of one instance of the level, at least, when an execution takes at least `exec`. */
static int64_t instance_cycles(const level *v, const choice *c, int64_t exec)
{
    const tw_machine *machine = v->leaf->space->machine;
    const tw_engine *mover = &machine->engine[tw_machine_mover(machine, v->memory)];
    int output = tw_op_output(v->leaf->space->op);
    int64_t n = 1, first = 0;
    for (int i = 0; i < v->n_loops; i++) n *= v->least[i];
    for (int o = 0; o < output; o++) {
        int64_t cost = tw_cost_cycles(&mover->cost, tw_max(1, v->small[o]));
        first = mover->one_channel ? first + cost : tw_max(first, cost);
    }
    return first + n * exec + c->pauses + overhang(v, c, exec) +
           tw_cost_cycles(&mover->cost, tw_max(1, v->small[output]));
}

/* What an execution of the innermost level takes at least. */
static int64_t least_exec(const tw_leaf *leaf)
{
    const tw_space *s = leaf->space;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int t = s->frame[leaf->part->frame].n_tiled - 1;
    int64_t points = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        bool even;
        points *= shortest_piece(leaf, t + 1, l, &even);
    }
    return tw_cost_cycles(&mac->cost, points);
}

/* Chooses for tiled level t and those outside; `exec` is the least that an execution at t takes. */
static tw_status combine(tw_leaf *leaf, level *levels, int t, int64_t exec, const tw_outcome *least)
{
    const tw_space *s = leaf->space;
    if (t < 0) return tw_leaf_try(leaf, &leaf->map);
    const tw_outcome *known = &leaf->least.cost;
    int n = leaf->quick ? (int)tw_min(2, levels[t].n_choices) : levels[t].n_choices;
    for (int i = 0; i < n; i++) {
        const choice *c = &levels[t].choice[i];
        tw_outcome with = *least;
        if (leaf->judge->stopped(leaf->judge->user)) {
            leaf->judge->left(leaf->judge->user, &leaf->part->bound);
            return TW_OK;
        }
        add_choice(&levels[t], c, &with);
        int64_t instance = levels[t].skips ? 0 : instance_cycles(&levels[t], c, exec);
        tw_outcome bound = with; /* the part's own bound may be higher */
        bound.ticks = tw_max(with.ticks, known->ticks);
        bound.cycles = tw_max(tw_max(with.cycles, known->cycles), instance * levels[t].instances);
        if (!tw_leaf_wants(leaf, &bound, TW_BOUND_ROWS)) continue;
        for (int o = 0; o < s->op->n_operands; o++) leaf->map.level[levels[t].memory - 1].slots[o] = c->slots[o];
        TW_TRY(combine(leaf, levels, t - 1, instance, &with));
    }
    return TW_OK;
}

/* The least of all choices, figure by figure. */
static choice least_choice(const level *v, int64_t exec, int64_t *instance)
{
    choice least = v->choice[0];
    *instance = INT64_MAX;
    for (int i = 0; i < v->n_choices; i++) {
        const choice *c = &v->choice[i];
        least.ticks = tw_min(least.ticks, c->ticks);
        least.cycles = tw_min(least.cycles, c->cycles);
        least.energy_fj = tw_min(least.energy_fj, c->energy_fj);
        least.used = tw_min(least.used, c->used);
        least.units = tw_min(least.units, c->units);
        least.busy = tw_min(least.busy, c->busy);
        *instance = tw_min(*instance, v->skips ? 0 : instance_cycles(v, c, exec));
    }
    return least;
}

static tw_status bound_leaf(tw_leaf *leaf, tw_outcome *least)
{
    int64_t exec = least_exec(leaf);
    *least = leaf->least.cost;
    tw_part_unpaused(leaf->space, leaf->part, &least->ticks, &least->cycles);
    for (int t = leaf->space->frame[leaf->part->frame].n_tiled - 1; t >= 0; t--) {
        level v;
        measure(leaf, t, &v);
        TW_TRY(list_choices(&v));
        if (v.n_choices > 0) {
            choice c = least_choice(&v, exec, &exec);
            add_choice(&v, &c, least);
            least->cycles = tw_max(least->cycles, exec * v.instances);
        }
        free(v.choice);
        if (v.n_choices == 0) return TW_INFEASIBLE;
    }
    least->ticks = tw_max(least->ticks, leaf->least.cost.ticks);
    least->cycles = tw_max(least->cycles, leaf->least.cost.cycles);
    return TW_OK;
}

static tw_status search_slots(tw_leaf *leaf)
{
    level levels[TW_MAX_MEMORIES];
    int n = leaf->space->frame[leaf->part->frame].n_tiled, made = 0;
    tw_status status = TW_OK;
    for (int t = 0; t < n && status == TW_OK; t++) {
        measure(leaf, t, &levels[t]);
        status = list_choices(&levels[t]);
        made += status == TW_OK;
    }
    tw_outcome base = leaf->least.cost;
    tw_part_unpaused(leaf->space, leaf->part, &base.ticks, &base.cycles);
    if (status == TW_OK) status = combine(leaf, levels, n - 1, least_exec(leaf), &base);
    for (int t = 0; t < made; t++) free(levels[t].choice);
    return status;
}

const tw_search_rules tw_search_rows = {.bound = tw_bound_rows,
                                        .refine = bound_leaf,
                                        .refined_by = TW_BOUND_ROWS,
                                        .estimate = rate_leaf,
                                        .buffers = search_slots,
                                        .notes = true,
                                        .nests = true,
                                        .first_nodes = 8};
