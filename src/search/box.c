/* src/search/box.c - see box.h. */
#include "search/box.h"

#include "search/joint.h"
#include "search/start.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOPS = 3,          /* parallel ones that have several points                    */
    KINDS = 1 << LOOPS, /* of tiles: along each loop a long one, or a short one       */
    ORDERS = 6,
    LONGEST = 1 << 10, /* points of a loop                                          */
    LARGEST = 1 << 24, /* points of all parallel loops                              */
    BLOCKS = 1 << 12,  /* that are followed one by one                              */
    TRIPS = 16,        /* of sums: so many are counted                              */
    MOST = 1 << 19,    /* steps of work                                             */
};

typedef struct cuts { /* of a loop by level 0: tiles of the two lengths, the long ones first */
    int64_t len[2], count[2];
} cuts;

typedef struct box {
    const tw_space *s;
    int output;
    tw_route way[TW_MAX_OPERANDS];
    const tw_engine *first, *mac,
        *drain;              /* the first mover, the array, what brings sums out of the innermost memory */
    const tw_engine *write;  /* what brings sums out of the first memory                          */
    const tw_engine *second; /* one that carries all inputs next, no quicker; NULL: there is none     */
    bool has[2];             /* frames with one tiled level; with several                             */
    int64_t units;           /* points of a pass                              */
    int64_t room;            /* for sums in the innermost memory of the output  */
    int n_loops, loop[LOOPS], reduction;
    int64_t points;       /* of the reduction                                             */
    int64_t launch;       /* cycles before and behind what the first mover carries         */
    int64_t waits[TRIPS]; /* cycles of waiting where sums leave so many times, at least; INT64_MAX: they cannot */
    int64_t enough, left; /* what is not below that is no matter; steps of work             */
    /* at hand */
    cuts cut[LOOPS];
    int64_t passes[KINDS]; /* of a tile, for a point of the reduction          */
    int64_t all;           /* the same of all tiles                              */
} box;

typedef struct block { /* blocks, by the loops along which they are short */
    bool single;       /* P is not cut                                        */
    unsigned inside;   /* loops that run inside of the reduction, by place    */
    int64_t sums[KINDS], passes[KINDS];
    int64_t first[KINDS],
        last[KINDS]; /* passes of the tile that is finished first, and of the one that begins last, at least */
    int n_orders;
    int64_t pairs[ORDERS][KINDS][KINDS]; /* of blocks one after the other           */
} block;

/* ---- what is asked of operators and machines ---- */

static bool is_plain_axis(const tw_space *s, const tw_axis *axis)
{
    int terms = 0;
    int64_t extent = 1;
    for (int i = 0; i < axis->n_terms; i++) {
        const int64_t own = s->op->loop[axis->term[i].loop].extent;
        terms += own > 1;
        extent = tw_sat_mul(extent, own);
        if (own > 1 && axis->term[i].coef != 1) return false;
    }
    return terms <= 1 && axis->divisor == 1 && axis->offset == 0 && axis->extent == extent;
}

/* Each loop that an operand depends on moves an axis of its own. */
static bool has_plain_axes(const tw_space *s)
{
    for (int o = 0; o < s->op->n_operands; o++) {
        unsigned seen = 0;
        for (int a = 0; a < s->op->operand[o].n_axes; a++) {
            const tw_axis *axis = &s->op->operand[o].axis[a];
            if (!is_plain_axis(s, axis)) return false;
            for (int i = 0; i < axis->n_terms; i++) {
                if (s->op->loop[axis->term[i].loop].extent == 1) continue;
                if (seen >> axis->term[i].loop & 1) return false;
                seen |= 1u << axis->term[i].loop;
            }
        }
    }
    return true;
}

/* One reduction, on which all inputs depend and the output does not, and a few parallel loops. */
static bool look_at_loops(box *b)
{
    const tw_space *s = b->s;
    int64_t points = 1;
    b->reduction = -1;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t extent = s->op->loop[l].extent;
        if (extent == 1) continue;
        if (extent > LONGEST) return false;
        if (s->reductions >> l & 1) {
            if (b->reduction >= 0) return false;
            b->reduction = l;
            continue;
        }
        if (b->n_loops == LOOPS || !tw_space_depends(s, b->output, l)) return false;
        b->loop[b->n_loops++] = l;
        points = tw_sat_mul(points, extent);
    }
    if (b->reduction < 0 || b->n_loops == 0 || points > LARGEST || !has_plain_axes(s)) return false;
    if (tw_space_depends(s, b->output, b->reduction)) return false;
    for (int o = 0; o < b->output; o++)
        if (!tw_space_depends(s, o, b->reduction)) return false;
    b->points = s->op->loop[b->reduction].extent;
    return true;
}

static bool is_linear(const tw_engine *engine) { return engine->cost.kind == TW_COST_LINEAR; }

/* One mover that brings all inputs first, an array that takes a cycle for a pass, and one engine that takes sums out. */
static bool look_at_engines(box *b)
{
    const tw_space *s = b->s;
    const tw_machine *machine = s->machine;
    b->mac = &machine->engine[machine->compute];
    if (b->mac->cost.kind != TW_COST_ARRAY || b->mac->cost.array.stationary || b->mac->count > 1) return false;
    if (b->mac->late || tw_engine_busy(b->mac, 1000) - tw_engine_busy(b->mac, 1) != 999) return false;
    for (int m = 1; m < machine->n_memories; m++)
        if (machine->memory[m].whole) return false;
    for (int o = 0; o <= b->output; o++) {
        for (int m = 1; m < machine->n_memories; m++)
            if (tw_space_holds(s, m, o)) b->way[o].memory[b->way[o].n++] = m;
        if (b->way[o].n == 0) return false;
        for (int k = 0; k < b->way[o].n; k++)
            if (!is_linear(&machine->engine[s->mover[b->way[o].memory[k]][o]])) return false;
    }
    for (int o = 0; o <= b->output; o++)
        if (b->way[o].memory[0] != 1) return false;
    b->write = &machine->engine[s->mover[1][b->output]];
    for (int o = 0; o < b->output; o++) {
        const tw_engine *engine = &machine->engine[s->mover[1][o]];
        if (o > 0 && engine != b->first) return false;
        b->first = engine;
    }
    b->drain = &machine->engine[s->mover[tw_path_innermost(s->path[b->output])][b->output]];
    return b->first->count == 1 && !b->first->joins && b->drain->count == 1 && b->write->count == 1;
}

/* The way of so many sums into the first memory. */
static int64_t way_out(const box *b, int64_t sums)
{
    const tw_space *s = b->s;
    int64_t cycles = 0;
    for (int k = 1; k < b->way[b->output].n; k++) {
        const tw_engine *engine = &s->machine->engine[s->mover[b->way[b->output].memory[k]][b->output]];
        cycles = tw_sat_add(cycles, tw_cost_of_units(&engine->cost, tw_sat_mul(sums, s->elem_units[b->output])));
    }
    return cycles;
}

static int64_t late(const tw_engine *engine)
{
    return tw_cost_cycles(&engine->cost, 1) - tw_engine_busy(engine, 1);
}

/* The one engine that carries all inputs behind the first mover, if no unit takes less there. */
static const tw_engine *second_mover(const box *b)
{
    const tw_space *s = b->s;
    const tw_engine *second = NULL;
    int64_t cycles[2], grain = tw_cost_grain(&b->first->cost, &cycles[0]);
    for (int o = 0; o < b->output; o++) {
        if (b->way[o].n < 2) return NULL;
        const tw_engine *engine = &s->machine->engine[s->mover[b->way[o].memory[1]][o]];
        if (o > 0 && engine != second) return NULL;
        second = engine;
    }
    if (second == b->first || second->count > 1 || second->joins) return NULL;
    if (tw_cost_grain(&second->cost, &cycles[1]) != grain || cycles[1] < cycles[0]) return NULL;
    return tw_engine_busy(second, 1) >= tw_engine_busy(b->first, 1) ? second : NULL;
}

static void look_at_ends(box *b)
{
    const tw_space *s = b->s;
    b->launch = tw_cdiv(s->machine->launch, TW_MILLI) + late(b->first);
    b->second = second_mover(b);
    const tw_memory *memory = &s->machine->memory[tw_path_innermost(s->path[b->output])];
    int64_t each = tw_min(s->partial_units, s->elem_units[b->output]);
    b->room = memory->size == TW_UNLIMITED || each <= 0 ? INT64_MAX : memory->size / each;
}

/* The first memory has tiles of level 0 in all frames, and no frame has the reduction over the array; how long it waits for sums that leave. */
static tw_status look_at_frames(box *b, bool *good)
{
    const tw_space *s = b->s;
    const tw_cost *cost = &b->mac->cost;
    b->units = 1;
    for (int d = 0; d < cost->array.n_dims; d++) b->units = tw_sat_mul(b->units, cost->array.size[d]);
    for (int i = 0; i < TRIPS; i++) b->waits[i] = INT64_MAX;
    for (int i = 0; i < s->n_frames && *good; i++) {
        const tw_frame *f = &s->frame[i];
        bool empty;
        tw_view v;
        *good = f->grain[1] == 0 && f->over.dim[b->reduction] == 0 &&
                f->grain[tw_path_innermost(s->path[b->output])] == f->n_tiled - 1;
        b->has[f->n_tiled > 1] = true;
        if (!*good || s->back[tw_path_innermost(s->path[b->output])] < 0) continue;
        tw_part *part = tw_part_of_frame(s, i, &empty);
        if (!part && !empty) return TW_ERR_NOMEM;
        if (!part) continue;
        tw_view_of(s, part, NULL, &v);
        for (int64_t n = 2; n < TRIPS; n++) b->waits[n] = tw_min(b->waits[n], tw_joint_returns(&v, 0, n));
        free(part);
    }
    return TW_OK;
}

static tw_status look(box *b, bool *good)
{
    const tw_space *s = b->s;
    *good = !s->leaves_out && !s->rules->nests && !s->machine->pads && !s->divided && !s->resident && !s->clipped &&
            s->rules->shortlist && !s->discipline->adders && s->machine->reuse == TW_REUSE_DECLARED &&
            b->output > 0;
    *good = *good && look_at_loops(b) && look_at_engines(b);
    if (*good) TW_TRY(look_at_frames(b, good));
    if (*good) look_at_ends(b);
    return TW_OK;
}

/* ---- tiles ---- */

/* Cuts a loop into tiles of this size by one of the rules; false: it is no rule of them, or the same as the other. */
static bool cut_loop(int64_t extent, int64_t size, bool greedy, cuts *out)
{
    int64_t n = tw_cdiv(extent, size), rest = extent - (n - 1) * size, more = extent % n;
    if (greedy && rest == size) return false;
    if (!greedy && tw_cdiv(extent, n) != size) return false;
    if (greedy)
        *out = (cuts){{size, rest}, {n - 1, 1}};
    else
        *out = (cuts){{size, extent / n}, {more == 0 ? n : more, more == 0 ? 0 : n - more}};
    return true;
}

static int64_t last_of(const cuts *cut) { return cut->len[cut->count[1] > 0]; }
static int64_t last_but_one_of(const cuts *cut) { return cut->len[cut->count[1] > 1]; }
static bool is_cut(const cuts *cut) { return cut->count[0] + cut->count[1] > 1; }

/* Tiles of a kind. */
static int64_t count_of(const box *b, unsigned kind)
{
    int64_t n = 1;
    for (int i = 0; i < b->n_loops; i++) n *= b->cut[i].count[kind >> i & 1];
    return n;
}

/* Passes of all tiles. */
static void look_at_tiles(box *b)
{
    b->all = 0;
    for (unsigned kind = 0; kind < 1u << b->n_loops; kind++) {
        int64_t sums = 1;
        for (int i = 0; i < b->n_loops; i++) sums *= b->cut[i].len[kind >> i & 1];
        b->passes[kind] = tw_cdiv(sums, b->units);
        b->all += count_of(b, kind) * b->passes[kind];
    }
}

/* The way of a tile of so many sums into the first memory behind its last pass, at least: what is executed last has all of them but for those of all
 * other passes, or the tile takes a pass more, and the program `more` cycles. */
static int64_t leaving(const box *b, int64_t sums, int64_t more)
{
    int64_t spare = (tw_cdiv(sums, b->units) - 1) * b->units;
    return tw_min(way_out(b, sums - spare), way_out(b, 1) + more);
}

static int64_t last_sums(const box *b)
{
    int64_t last = 1;
    for (int i = 0; i < b->n_loops; i++) last *= last_of(&b->cut[i]);
    return last;
}

/* Cycles in which the last tile goes out of the first memory. */
static int64_t storing(const box *b)
{
    return tw_cost_of_units(&b->write->cost, last_sums(b) * b->s->elem_units[b->output]);
}

/* Cycles behind all passes, by the last tile. */
static int64_t end_of(const box *b, bool single, int64_t more)
{
    return (single ? way_out(b, last_sums(b)) : leaving(b, last_sums(b), more)) + storing(b);
}

/* The same by the tile before it, which leaves the first memory first, where one of these loops runs innermost and of the last tile so many points of
 * the reduction come behind it; that the array waits in between does not come on top. */
static int64_t end_behind(const box *b, unsigned loops, int64_t points, bool single, int64_t more)
{
    int64_t last = last_sums(b), least = INT64_MAX, each = b->s->elem_units[b->output];
    for (int i = 0; i < b->n_loops; i++) {
        if (!(loops >> i & 1) || !is_cut(&b->cut[i])) continue;
        int64_t sums = last / last_of(&b->cut[i]) * last_but_one_of(&b->cut[i]);
        int64_t out = single ? way_out(b, sums) : leaving(b, sums, more);
        least = tw_min(least, out + tw_busy_of(b->write, 1, sums * each));
    }
    return least == INT64_MAX ? 0 : least + storing(b) - tw_cdiv(last, b->units) * points;
}

/* Units of an input for a point of the reduction: of P, or a tile that is short along these loops. */
static int64_t input_units(const box *b, int o, unsigned kind)
{
    int64_t units = b->s->elem_units[o];
    for (int i = 0; i < b->n_loops; i++)
        if (tw_space_depends(b->s, o, b->loop[i])) units *= b->cut[i].len[kind >> i & 1];
    return units;
}

/* Cycles in which the first mover carries all inputs of P, of so many points of the reduction. */
static int64_t carrying_tile(const box *b, int64_t points)
{
    int64_t cycles = 0;
    for (int o = 0; o < b->output; o++) cycles += tw_engine_busy(b->first, input_units(b, o, 0) * points);
    return cycles;
}

/* The same of the first block: each tile comes by a command of its own. */
static int64_t carrying_block(const box *b, unsigned inside, int64_t points)
{
    int64_t cycles = 0;
    for (int o = 0; o < b->output; o++) {
        unsigned own = 0;
        for (int i = 0; i < b->n_loops; i++)
            own |= (unsigned)((inside >> i & 1) && tw_space_depends(b->s, o, b->loop[i])) << i;
        for (unsigned kind = 0; kind < 1u << b->n_loops; kind++) {
            int64_t n = (kind & ~own) == 0;
            for (int i = 0; i < b->n_loops && n > 0; i++)
                if (own >> i & 1) n *= b->cut[i].count[kind >> i & 1];
            if (n > 0) cycles += n * tw_engine_busy(b->first, input_units(b, o, kind) * points);
        }
    }
    return cycles;
}

/* Cycles of steps of the way of an input, from the k-th on, with so many units. */
static int64_t steps_in(const box *b, int o, int k, int64_t units)
{
    int64_t cycles = 0;
    for (int i = k; i < b->way[o].n; i++)
        cycles += tw_cost_of_units(&b->s->machine->engine[b->s->mover[b->way[o].memory[i]][o]].cost, units);
    return cycles;
}

/* The least of all inputs, from step k on, where of each there are so many points of the reduction in P; 0: one unit. */
static int64_t way_in(const box *b, int k, int64_t points)
{
    int64_t least = INT64_MAX;
    for (int o = 0; o < b->output; o++)
        least = tw_min(least, steps_in(b, o, k, points > 0 ? input_units(b, o, 0) * points : 1));
    return least;
}

/* Cycles from the moment at which the first mover can have carried all that is needed until P, which is not cut, has come with so many points of the
 * reduction: the second mover has the largest tile of an input, and all that comes behind it; then one of the inputs goes on. That tile itself goes on, too,
 * and no more than the other inputs of P have come behind it. */
static int64_t coming(const box *b, int64_t points)
{
    int64_t least = way_in(b, 1, points), most = 0, sum = carrying_tile(b, points);
    if (!b->second) return least;
    for (int o = 0; o < b->output; o++) {
        int64_t units = input_units(b, o, 0) * points;
        most = tw_max(most, tw_busy_of(b->second, 1, units));
        least = tw_max(least, steps_in(b, o, 1, units) - (sum - tw_engine_busy(b->first, units)));
    }
    return tw_max(least, most + late(b->second) + way_in(b, 2, points));
}

/* Cycles up to the last pass where the first mover carries what some execution needs in so many, which then takes so long to come, with which so many
 * passes begin. */
static int64_t cycles_of(const box *b, int64_t carried, int64_t comes, int64_t passes)
{
    return b->launch + carried + comes + tw_busy_of(b->mac, 1, passes);
}

/* ---- blocks ---- */

/* Counts, of each kind of a block and that of the next, how many there are, the loops being nested in this order. */
static void count_pairs(const box *b, const int *order, int n, unsigned inside, int64_t pairs[KINDS][KINDS])
{
    int64_t at[LOOPS] = {0};
    int before = -1;
    memset(pairs, 0, sizeof(int64_t[KINDS][KINDS]));
    for (bool more = true; more;) {
        unsigned kind = 0;
        for (int i = 0; i < b->n_loops; i++)
            if (!(inside >> i & 1) && at[i] >= b->cut[i].count[0]) kind |= 1u << i;
        if (before >= 0) pairs[before][kind]++;
        before = (int)kind;
        more = false;
        for (int i = n - 1; i >= 0 && !more; i--) {
            const cuts *cut = &b->cut[order[i]];
            more = ++at[order[i]] < cut->count[0] + cut->count[1];
            if (!more) at[order[i]] = 0;
        }
    }
}

static void look_at_orders(box *b, block *k)
{
    static const int8_t orders[ORDERS][LOOPS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int loops[LOOPS], n = 0;
    for (int i = 0; i < b->n_loops; i++)
        if (!(k->inside >> i & 1)) loops[n++] = i;
    k->n_orders = n == 3 ? 6 : n == 2 ? 2 : 1;
    for (int i = 0; i < k->n_orders; i++) {
        int order[LOOPS];
        for (int j = 0; j < n; j++) order[j] = loops[n == 3 ? orders[i][j] : n == 2 && i == 1 ? 1 - j : j];
        count_pairs(b, order, n, k->inside, k->pairs[i]);
    }
}

/* Sums and passes of each kind of block, and in which order they come as far as that matters; false: a block has no room. */
static bool look_at_blocks(box *b, block *k)
{
    int64_t n = 1;
    memset(k->passes, 0, sizeof k->passes);
    for (unsigned kind = 0; kind < 1u << b->n_loops; kind++) {
        unsigned own = kind & ~k->inside;
        int64_t sums = 1, tiles = 1;
        for (int i = 0; i < b->n_loops; i++) {
            bool whole = k->inside >> i & 1;
            sums *= whole ? b->s->op->loop[b->loop[i]].extent : b->cut[i].len[kind >> i & 1];
            if (whole) tiles *= b->cut[i].count[kind >> i & 1];
        }
        k->sums[own] = sums;
        k->passes[own] += tiles * b->passes[kind];
        k->first[own] = k->last[own] = 1;
    }
    if (k->sums[0] > b->room) return false;
    for (unsigned kind = 0; kind < 1u << b->n_loops && k->single; kind++) {
        unsigned last = kind & ~k->inside;
        for (int i = 0; i < b->n_loops; i++)
            if ((k->inside >> i & 1) && b->cut[i].count[1] > 0) last |= 1u << i;
        k->first[kind & ~k->inside] = b->passes[kind & ~k->inside];
        k->last[kind & ~k->inside] = b->passes[last];
    }
    for (int i = 0; i < b->n_loops; i++)
        if (!(k->inside >> i & 1)) n *= b->cut[i].count[0] + b->cut[i].count[1];
    k->n_orders = 0;
    if (n > 1 && n <= BLOCKS && 2 * k->sums[0] > b->room) {
        look_at_orders(b, k);
        b->left -= n;
    }
    return true;
}

/* Cycles in which the array waits between blocks, where iterations have `first` points and the last one `last`; and *once between two of them, at most. */
static int64_t waiting(box *b, const block *k, int64_t first, int64_t last, int64_t *once)
{
    int64_t least = INT64_MAX, each[KINDS][KINDS];
    *once = 0;
    if (k->n_orders == 0) return 0;
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < KINDS; j++) {
            int64_t over = 0;
            for (int order = 0; order < k->n_orders && over == 0; order++) over = k->pairs[order][i][j];
            if (over > 0) over = k->sums[i] + k->sums[j] - b->room;
            each[i][j] = 0;
            if (over <= 0) continue;
            int64_t leaves = tw_busy_of(b->drain, 1, over * b->s->elem_units[b->output]);
            each[i][j] =
                tw_max(0, leaves - (k->passes[i] - k->first[i]) * last - (k->passes[j] - k->last[j]) * first);
            *once = tw_max(*once, each[i][j]);
        }
    for (int order = 0; order < k->n_orders; order++) {
        int64_t sum = 0;
        for (int i = 0; i < KINDS; i++)
            for (int j = 0; j < KINDS; j++) sum += k->pairs[order][i][j] * each[i][j];
        least = tw_min(least, sum);
    }
    b->left -= 4;
    return least;
}

/* ---- the three cases ---- */

/* Cycles up to the last pass where the first block begins an iteration with so many points of the reduction, after so many that the first mover has carried
 * in `before`. */
static int64_t with_iteration(const box *b, const block *k, int64_t after, int64_t before, int64_t points)
{
    int64_t left = b->all * b->points - k->passes[0] * after;
    return cycles_of(b, before + carrying_tile(b, points), k->single ? coming(b, points) : way_in(b, 1, 0), left);
}

/* The end of a program in which sums stay and the array waits so long, and `once` between two blocks at most: the last wait may lie behind the end
 * of the last tile but one. A pass more in some tile may save two. */
static int64_t finish(const box *b, const block *k, int64_t begins, int64_t last, int64_t waits, int64_t once)
{
    int64_t more = tw_max(0, b->points - 2 * once), own = k->inside ? 0 : once;
    int64_t behind =
        k->inside ? end_behind(b, k->inside, last, true, more) : end_behind(b, ~0u, b->points, k->single, more);
    return begins + tw_max(waits + end_of(b, k->single, more), tw_max(0, waits - own) + behind);
}

/* Sums stay, iterations being cut like this. */
static int64_t with_iterations(box *b, const block *k, const cuts *along)
{
    int64_t after = 0, before = 0, n = along->count[0] + along->count[1], begins = 0, last = last_of(along);
    int64_t each[2], once;
    for (int i = 0; i < 2; i++) each[i] = carrying_block(b, k->inside, along->len[i]);
    for (int64_t i = 0; i < n; i++) {
        int64_t now = along->len[i >= along->count[0]];
        if (i == 0 || i >= n - 2 || i + 1 == along->count[0] || i == along->count[0]) {
            begins = tw_max(begins, with_iteration(b, k, after, before, now));
            b->left--;
        }
        after += now;
        before += each[i >= along->count[0]];
    }
    int64_t waits = waiting(b, k, along->len[0], last, &once);
    return finish(b, k, begins, last, waits, once);
}

/* Cycles where the first execution needs P of all inputs, with so many points of the reduction. */
static int64_t with_first(const box *b, int64_t points)
{
    return cycles_of(b, carrying_tile(b, points), way_in(b, 1, 0), b->all * b->points) +
           end_of(b, false, b->points);
}

/* Sums leave, and come back. */
static int64_t with_trips(const box *b, const cuts *along)
{
    int64_t n = along->count[0] + along->count[1];
    return tw_sat_add(with_first(b, along->len[0]), b->waits[tw_min(n, TRIPS - 1)]);
}

/* Level 0 cuts the reduction into tiles of this size, and `k` are blocks, NULL: sums leave. */
static int64_t by_rules(box *b, const block *k, int64_t size, int64_t best)
{
    for (int greedy = 0; greedy < 2; greedy++) {
        cuts along;
        if (!cut_loop(b->points, size, greedy, &along)) continue;
        b->left--;
        best = tw_min(best, k ? with_iterations(b, k, &along) : with_trips(b, &along));
    }
    return best;
}

/* Whether the loops in the mask, by place, are cut. */
static bool are_cut(const box *b, unsigned loops)
{
    for (int i = 0; i < b->n_loops; i++)
        if ((loops >> i & 1) && !is_cut(&b->cut[i])) return false;
    return true;
}

/* The least of the tiles at hand, where the reduction is cut into tiles of lo to hi. */
static int64_t weigh(box *b, int64_t lo, int64_t hi, int64_t best)
{
    int64_t most = tw_min(hi, b->points - 1);
    look_at_tiles(b);
    b->left -= 4;
    if (with_first(b, tw_min(lo, b->points)) >= best) return best;
    if (hi >= b->points) best = tw_min(best, with_first(b, b->points));
    for (int64_t size = lo; size <= most && b->left > 0; size++) best = by_rules(b, NULL, size, best);
    for (unsigned inside = 0; inside < 1u << b->n_loops; inside++) {
        block k = {.inside = inside, .single = inside > 0 || !b->has[1]};
        if ((k.single && !b->has[0]) || !are_cut(b, inside) || !look_at_blocks(b, &k)) continue;
        for (int64_t size = lo; size <= most && b->left > 0; size++) best = by_rules(b, &k, size, best);
    }
    return best;
}

/* The same by all rules of the loops from the i-th on, whose tiles have sizes of lo to hi. */
static int64_t choose(box *b, int i, const int64_t *lo, const int64_t *hi, int64_t best)
{
    if (i == b->n_loops) return weigh(b, lo[b->reduction], hi[b->reduction], best);
    int l = b->loop[i];
    int64_t extent = b->s->op->loop[l].extent;
    for (int64_t size = lo[l]; size <= hi[l] && b->left > 0; size++)
        for (int greedy = 0; greedy < 2; greedy++)
            if (cut_loop(extent, size, greedy, &b->cut[i])) best = choose(b, i + 1, lo, hi, best);
    return best;
}

static tw_status least_of(const tw_space *s, const int64_t *lo, const int64_t *hi, int64_t enough, int64_t *cycles)
{
    box b = {.s = s, .output = tw_op_output(s->op), .left = MOST};
    bool good;
    *cycles = 0;
    TW_TRY(look(&b, &good));
    if (!good) return TW_OK;
    int64_t best = choose(&b, 0, lo, hi, enough);
    if (b.left > 0) *cycles = best;
    return TW_OK;
}

tw_status tw_box_floor(const tw_space *s, int64_t enough, int64_t *cycles)
{
    int64_t lo[TW_MAX_LOOPS], hi[TW_MAX_LOOPS];
    for (int l = 0; l < s->op->n_loops; l++) lo[l] = 1, hi[l] = s->op->loop[l].extent;
    return least_of(s, lo, hi, enough, cycles);
}

tw_status tw_box_of_tile(const tw_space *s, const int64_t size[TW_MAX_LOOPS], int64_t enough, int64_t *cycles)
{
    int64_t len[TW_MAX_LOOPS];
    for (int l = 0; l < s->op->n_loops; l++) len[l] = tw_min(size[l], s->op->loop[l].extent);
    return least_of(s, len, len, enough, cycles);
}
