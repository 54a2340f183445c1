/* src/search/shortlist.c - see shortlist.h. */
#include "search/shortlist.h"

#include "search/view.h"
#include "tile/box.h"
#include "tile/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_COUNTS = 4096,  /* of tiles along a loop that are all looked at, and of the smallest sizes */
    MOST_SIZES = 16,     /* of a loop at one level,                               */
    ROOM = 4,            /* of which so many are left for those that do not divide, if they are too many */
    MOST_PARALLEL = 4,   /* loops of a level that are put into every order        */
    MOST_WEIGHED = 8000, /* nests of a frame                                      */
    MOST_LOOKS = 200000, /* choices of sizes of a frame                           */
    EXECS = 32,          /* so many executions count as a cycle: short programs first */
    MOST_PLACES = TW_SHORTLIST_LEVELS * TW_MAX_LOOPS,
};

typedef struct cook {
    const tw_space *s;
    const tw_frame *f;
    tw_shortlist *shortlist;
    int64_t below, left; /* cycles; nests that may still be weighed */
    int64_t looks_left;  /* choices of sizes that may still be looked at */
    tw_pulse pulse;
    unsigned windows;
    double slack; /* times as many passes as needed do no harm */
    int n_sizes[TW_SHORTLIST_LEVELS][TW_MAX_LOOPS];
    int64_t sizes[TW_SHORTLIST_LEVELS][TW_MAX_LOOPS][MOST_SIZES]; /* of each level, falling */
    tw_candidate candidate;                                       /* at hand */
    /* of its sizes */
    int64_t compute, execs;
    int64_t trips[TW_SHORTLIST_LEVELS][TW_MAX_LOOPS];
    int64_t units[TW_SHORTLIST_LEVELS][TW_MAX_OPERANDS];  /* of a buffer                        */
    int64_t sweep[TW_SHORTLIST_LEVELS][TW_MAX_OPERANDS];  /* of all tiles, each once            */
    bool by_shape;                                        /* some mover is paid for rows and planes, */
    tw_shape shape[TW_SHORTLIST_LEVELS][TW_MAX_OPERANDS]; /* of a whole tile then               */
    int n_cut[TW_SHORTLIST_LEVELS];
    int n_parallel[TW_SHORTLIST_LEVELS];
} cook;

/* ---- sizes ---- */

/* Passes over an array when the loop is cut into tiles of this size: where tiles that differ by one at most have it they
 * are meant, otherwise tiles and a rest. */
static int64_t passes_of(int64_t extent, int64_t size, int64_t rows)
{
    int64_t count = tw_cdiv(extent, size), small = extent / count, n_large = extent % count;
    if (tw_cdiv(extent, count) != size)
        return (count - 1) * tw_cdiv(size, rows) + tw_cdiv(extent - (count - 1) * size, rows);
    return n_large * tw_cdiv(small + 1, rows) + (count - n_large) * tw_cdiv(small, rows);
}

static int64_t rows_of(const cook *c, int l)
{
    const tw_cost *cost = &c->s->machine->engine[c->s->machine->compute].cost;
    int d = c->f->over.dim[l] - 1;
    bool alone = d >= 0 && cost->kind == TW_COST_ARRAY && c->f->alone[d] == l;
    return alone ? cost->array.size[d] : 1;
}

/* Only the innermost level decides about passes: a quarter too many at most, or so many that movers still take longer. */
static bool is_allowed(const cook *c, int t, int l, int64_t size)
{
    const tw_level_limits *limits = &c->s->limits.level[c->f->memory[t] - 1];
    int64_t extent = c->s->op->loop[l].extent, rows = t == c->f->n_tiled - 1 ? rows_of(c, l) : 1;
    if (tw_space_size_near(c->s, c->f, t, l, size) != size) return false;
    if (c->windows >> l & 1) return size == extent;
    if (size < extent && extent / tw_cdiv(extent, size) < tw_max(c->s->min_tile, limits->min_tile)) return false;
    return (double)passes_of(extent, size, rows) <= c->slack * (double)tw_cdiv(extent, rows);
}

static void add_size(cook *c, int t, int l, int64_t size)
{
    int n = c->n_sizes[t][l], at = 0;
    int64_t *sizes = c->sizes[t][l];
    while (at < n && sizes[at] > size) at++;
    if (n == MOST_SIZES || (at < n && sizes[at] == size)) return;
    memmove(&sizes[at + 1], &sizes[at], (size_t)(n - at) * sizeof size);
    sizes[at] = size;
    c->n_sizes[t][l]++;
}

/* Numbers of tiles to look at, rising: all up to MOST_COUNTS, then one for each of the smallest sizes; 0: no more. */
static int64_t count_after(int64_t extent, int64_t count)
{
    if (count < tw_min(extent, MOST_COUNTS)) return count + 1;
    int64_t size = tw_min(tw_cdiv(extent, count) - 1, MOST_COUNTS);
    return size < 1 ? 0 : tw_cdiv(extent, size);
}

/* Those that divide; if there are too many, so far apart that there is room down to 1. */
static void list_divisors(cook *c, int t, int l)
{
    int64_t extent = c->s->op->loop[l].extent;
    int n_divisors = 0;
    for (int64_t count = 1; count > 0; count = count_after(extent, count))
        n_divisors += extent % count == 0 && is_allowed(c, t, l, extent / count);
    double apart = n_divisors > MOST_SIZES ? pow((double)extent, 1.0 / (MOST_SIZES - ROOM)) : 1, before = INFINITY;
    for (int64_t count = 1; count > 0; count = count_after(extent, count)) {
        bool divides = extent % count == 0 && is_allowed(c, t, l, extent / count);
        if (!divides || (double)extent / (double)count * apart > before) continue;
        before = (double)extent / (double)count;
        add_size(c, t, l, extent / count);
    }
}

/* What sizes had best be multiples of: rows of an array, or the points that are done at a time. */
static int64_t grain_of(const cook *c, int l)
{
    const tw_cost *cost = &c->s->machine->engine[c->s->machine->compute].cost;
    int64_t cycles, grain = tw_cost_grain(cost, &cycles);
    return grain > 0 && !c->s->op->loop[l].reduces ? grain : rows_of(c, l);
}

/* Whether a size between half and twice as much is there that takes no more passes. */
static bool is_matched(const cook *c, int t, int l, int64_t size)
{
    int64_t extent = c->s->op->loop[l].extent, rows = grain_of(c, l), passes = passes_of(extent, size, rows);
    for (int i = 0; i < c->n_sizes[t][l]; i++) {
        int64_t other = c->sizes[t][l][i];
        if (2 * other > size && other < 2 * size && passes_of(extent, other, rows) <= passes) return true;
    }
    return false;
}

/* Whole passes and a rest, where what divides takes more. */
static void list_passes(cook *c, int t, int l)
{
    int64_t extent = c->s->op->loop[l].extent, rows = grain_of(c, l);
    for (int64_t size = rows; rows > 1 && size < extent; size *= 2)
        if (is_allowed(c, t, l, size) && !is_matched(c, t, l, size)) add_size(c, t, l, size);
}

/* The smallest size from this one on that the compute engine takes. */
static int64_t taken_above(const cook *c, int t, int l, int64_t size)
{
    const tw_taken *taken = &c->s->taken[l];
    int64_t above =
        t == c->f->n_tiled - 1 ? tw_number_above(&taken->tiles, size) : tw_cdiv(size, taken->step) * taken->step;
    return above > 0 ? tw_min(above, c->s->op->loop[l].extent) : size;
}

/* First those that divide, then those that waste no pass, then others, if there is room. */
static void list_sizes(cook *c, int t, int l)
{
    int64_t extent = c->s->op->loop[l].extent;
    list_divisors(c, t, l);
    list_passes(c, t, l);
    double before = (double)extent;
    for (int64_t count = count_after(extent, 1); count > 0; count = count_after(extent, count)) {
        int64_t size = taken_above(c, t, l, tw_cdiv(extent, count));
        if (tw_cdiv(extent, size) != count || !is_allowed(c, t, l, size) || 4 * (double)size > 3 * before) continue;
        before = (double)size;
        add_size(c, t, l, size);
    }
}

/* ---- the weight of a nest ---- */

typedef struct nest {
    int n, end[TW_SHORTLIST_LEVELS]; /* places, and those before the end of each level */
    int64_t trips[MOST_PLACES];
    unsigned depends[TW_MAX_OPERANDS]; /* places that change the operand's tile */
} nest;

static nest nest_of(const cook *c)
{
    nest n = {0};
    for (int t = 0; t < c->f->n_tiled; t++) {
        for (int i = 0; i < c->n_cut[t]; i++) {
            int l = c->candidate.order[t][i];
            for (int o = 0; o < c->s->op->n_operands; o++)
                if (tw_space_depends(c->s, o, l)) n.depends[o] |= 1u << n.n;
            n.trips[n.n++] = c->trips[t][l];
        }
        n.end[t] = n.n;
    }
    return n;
}

static unsigned span_of(int from, int to) { return (1u << to) - (1u << from); }

static int64_t product_of(const nest *n, unsigned places)
{
    int64_t product = 1;
    for (; places; places &= places - 1) product = tw_sat_mul(product, n->trips[__builtin_ctz(places)]);
    return product;
}

typedef struct residency { /* a choice of how long a memory keeps an input */
    int keep;
    unsigned first; /* places that stand on their first index when a tile comes: see program/flow.h */
    int64_t buffers, transfers, moved;
} residency;

/* `asked`: the same of the memory inside. */
static residency residency_of(const cook *c, const nest *n, int m, int o, unsigned asked, int keep)
{
    int t = c->f->grain[m], end = n->end[t], depth = end - keep;
    unsigned running = (span_of(depth, end) & ~n->depends[o]) | span_of(end, n->n), back = running & ~asked;
    residency s = {.keep = keep, .first = asked | running, .buffers = 1};
    int q = back ? __builtin_ctz(back) : end;
    if (q < end) s.buffers = product_of(n, n->depends[o] & span_of(q + 1, end));
    s.transfers = product_of(n, span_of(0, n->n) & ~s.first);
    s.moved = tw_sat_mul(c->sweep[t][o], product_of(n, span_of(0, n->n) & ~s.first & ~n->depends[o]));
    if (s.transfers > s.buffers) s.buffers++; /* the next one comes meanwhile */
    return s;
}

typedef struct larder { /* the stays of all inputs in one memory */
    const cook *c;
    const nest *n;
    int m;
    int64_t room;
    const unsigned *asked;
    residency now[TW_MAX_OPERANDS], best[TW_MAX_OPERANDS];
    int64_t least, least_room; /* units moved, and held, by the best */
} larder;

static void stock(larder *w, int o, int64_t moved, int64_t held)
{
    if (held > w->room || moved > w->least) return;
    if (o == tw_op_output(w->c->s->op)) {
        if (moved == w->least && held >= w->least_room) return;
        w->least = moved;
        w->least_room = held;
        memcpy(w->best, w->now, sizeof w->best);
        return;
    }
    int t = w->c->f->grain[w->m], n_keeps = w->n->end[t] - (t > 0 ? w->n->end[t - 1] : 0);
    unsigned kept = w->c->s->machine->memory[w->m].keeps, before = 0;
    if (!(kept & tw_role_of(w->c->s->op, o)) || w->c->s->machine->memory[w->m].whole) n_keeps = 0;
    for (int keep = 0; keep <= n_keeps; keep++) {
        residency s = residency_of(w->c, w->n, w->m, o, w->asked[o], keep);
        if (keep > 0 && s.first == before) continue;
        before = s.first;
        w->now[o] = s;
        stock(w, o + 1, tw_sat_add(moved, s.moved), tw_sat_add(held, tw_sat_mul(s.buffers, w->c->units[t][o])));
    }
}

/* Cycles of engines: of all commands, of those of the busiest operand, and of those that are over when the outermost loop takes
 * its second step. */
typedef struct loads {
    int64_t all[TW_MAX_ENGINES], most[TW_MAX_ENGINES], early[TW_MAX_ENGINES];
} loads;

static void load(const tw_machine *machine, loads *busy, int e, int64_t commands, int64_t units)
{
    const tw_engine *engine = &machine->engine[e];
    int64_t each = tw_engine_busy(engine, tw_max(1, units / tw_max(1, commands)));
    if (tw_cost_by_shape(&engine->cost)) each = tw_cost_of_units(&engine->cost, units / tw_max(1, commands));
    int64_t cycles = tw_max(tw_sat_mul(commands, each), tw_busy_of(engine, commands, units));
    busy->all[e] = tw_sat_add(busy->all[e], cycles);
    busy->most[e] = tw_max(busy->most[e], cycles);
}

/* Cycles of the transfer of a whole tile into or out of memory m. */
static int64_t price_of(const cook *c, int m, int o)
{
    const tw_cost *cost = &c->s->machine->engine[c->s->mover[m][o]].cost;
    int t = c->f->grain[m];
    if (!tw_cost_by_shape(cost)) return tw_cost_of_units(cost, c->units[t][o]);
    return tw_cost_cycles(cost, tw_cost_of_transfer(&cost->descriptor, &c->shape[t][o]));
}

/* Transfers of operand o into or out of memory m. Where rows are paid for, beats are fewer at the edges, rows are not. */
static void load_tiles(const cook *c, loads *busy, int m, int o, tw_load sum)
{
    const tw_machine *machine = c->s->machine;
    int e = c->s->mover[m][o], t = c->f->grain[m];
    tw_cost bare = machine->engine[e].cost;
    if (!tw_cost_by_shape(&bare)) {
        load(machine, busy, e, sum.transfers, sum.units);
        return;
    }
    bare.descriptor.per_beat = 0;
    int64_t rows = tw_cost_cycles(&bare, tw_cost_of_transfer(&bare.descriptor, &c->shape[t][o]));
    double share = (double)sum.units / ((double)tw_max(1, sum.transfers) * (double)tw_max(1, c->units[t][o]));
    double each = (double)rows + fmin(share, 1) * (double)(price_of(c, m, o) - rows);
    int64_t cycles = (int64_t)fmin((double)sum.transfers * each, 0x1p62);
    busy->all[e] = tw_sat_add(busy->all[e], cycles);
    busy->most[e] = tw_max(busy->most[e], cycles);
}

/* The same of an input that is kept: what stays while the outermost loop runs comes in its first step. */
static void load_input(const cook *c, loads *busy, int m, int o, const residency *kept)
{
    int e = c->s->mover[m][o];
    int64_t before = busy->all[e];
    load_tiles(c, busy, m, o, (tw_load){kept->transfers, kept->moved});
    if (kept->first & 1) busy->early[e] = tw_sat_add(busy->early[e], busy->all[e] - before);
}

/* Units of a buffer of the output in memory m, where sums may be unfinished. */
static int64_t sum_units(const cook *c, int m)
{
    const tw_space *s = c->s;
    int output = tw_op_output(s->op);
    int64_t len[TW_MAX_LOOPS] = {0};
    for (int l = 0; l < s->op->n_loops; l++) len[l] = c->candidate.size[c->f->n_tiled - 1][l];
    return c->units[c->f->grain[m]][output] / s->elem_units[output] * tw_space_held_units(s, m, output, len);
}

/* Chooses what the memories keep; false: it does not fit. *waits: cycles in which the array waits for its only sum buffer. */
static bool keep_most(cook *c, const nest *n, loads *busy, int64_t *waits)
{
    const tw_space *s = c->s;
    int output = tw_op_output(s->op);
    unsigned asked[TW_MAX_OPERANDS] = {0};
    int64_t n_outputs = product_of(n, n->depends[output]);
    *waits = 0;
    for (int m = s->machine->n_memories - 1; m > 0; m--) {
        int t = c->f->grain[m];
        int64_t room = s->machine->memory[m].size;
        if (tw_space_holds(s, m, output)) {
            int64_t units = sum_units(c, m), sums = n_outputs > 1 && 2 * units <= room ? 2 : 1;
            int64_t stores = product_of(n, n->depends[output] & span_of(0, n->end[t]));
            room -= sums * units;
            if (n_outputs > 1 && sums == 1) *waits = tw_sat_add(*waits, tw_sat_mul(stores, price_of(c, m, output)));
            load_tiles(c, busy, m, output, (tw_load){stores, c->sweep[t][output]});
        }
        if (room < 0) return false;
        if (!tw_space_holds(s, m, 0)) continue;
        larder w = {.c = c, .n = n, .m = m, .room = room, .asked = asked, .least = INT64_MAX};
        stock(&w, 0, 0, 0);
        if (w.least == INT64_MAX) return false;
        for (int o = 0; o < output; o++) {
            c->candidate.keep[m][o] = (int8_t)w.best[o].keep;
            asked[o] = w.best[o].first;
            load_input(c, busy, m, o, &w.best[o]);
        }
    }
    return true;
}

/* The way of the first tiles in and of the last one out. */
static int64_t ends_of(const cook *c)
{
    const tw_space *s = c->s;
    int output = tw_op_output(s->op);
    int64_t cycles = tw_cdiv(s->machine->launch, TW_MILLI), before = 0;
    for (int m = 1; m < s->machine->n_memories; m++) {
        if (tw_space_holds(s, m, output)) cycles = tw_sat_add(cycles, price_of(c, m, output));
        if (!tw_space_holds(s, m, 0)) continue;
        int64_t most = 0, all = 0;
        for (int o = 0; o < output; o++) {
            int64_t one = price_of(c, m, o);
            most = tw_max(most, one);
            all = tw_sat_add(all, one);
        }
        cycles = tw_sat_add(cycles, before == 0 ? all : most);
        before = m;
    }
    return cycles;
}

static bool is_lighter(const tw_candidate *a, const tw_candidate *b)
{
    return a->cycles < b->cycles || (a->cycles == b->cycles && a->moving < b->moving);
}

static void serve(tw_shortlist *shortlist, const tw_candidate *candidate)
{
    int at = 0, n = shortlist->n;
    for (int i = 0; i < n; i++) { /* one of each choice of sizes */
        tw_candidate *d = &shortlist->candidate[i];
        if (d->frame != candidate->frame || memcmp(d->size, candidate->size, sizeof d->size) != 0) continue;
        if (!is_lighter(candidate, d)) return;
        memmove(d, d + 1, (size_t)(n - i - 1) * sizeof *d);
        n--;
        break;
    }
    while (at < n && !is_lighter(candidate, &shortlist->candidate[at])) at++;
    if (at == TW_SHORTLIST_CANDIDATES) return;
    if (n == TW_SHORTLIST_CANDIDATES) n--;
    memmove(&shortlist->candidate[at + 1], &shortlist->candidate[at], (size_t)(n - at) * sizeof *candidate);
    shortlist->candidate[at] = *candidate;
    shortlist->n = n + 1;
}

/* Whether something that takes so long is worth a place. */
static bool is_wanted(const cook *c, int64_t cycles)
{
    const tw_shortlist *shortlist = c->shortlist;
    if (cycles >= c->below) return false;
    return shortlist->n < TW_SHORTLIST_CANDIDATES || cycles <= shortlist->candidate[shortlist->n - 1].cycles;
}

/* Cycles of the first step of the outermost loop and of the others, when executions take so long in all: what comes in the first
 * step alone hides behind its executions, not behind all. */
static int64_t steps_of(const cook *c, const nest *n, const loads *busy, int64_t compute)
{
    const tw_machine *machine = c->s->machine;
    int64_t steps = n->n > 0 ? n->trips[0] : 1, first = compute / steps, other = first;
    for (int e = 0; e < machine->n_engines; e++) {
        int64_t early = busy->early[e] / machine->engine[e].count;
        int64_t each = (busy->all[e] - busy->early[e]) / steps / machine->engine[e].count;
        first = tw_max(first, tw_sat_add(early, each));
        other = tw_max(other, each);
    }
    return tw_sat_add(first, tw_sat_mul(other, steps - 1));
}

static void weigh(cook *c)
{
    const tw_machine *machine = c->s->machine;
    nest n = nest_of(c);
    loads busy = {{0}, {0}, {0}};
    int64_t waits, ends = ends_of(c), moving = 0;
    c->shortlist->n_weighed++;
    c->left--;
    if (!keep_most(c, &n, &busy, &waits)) return;
    int64_t cycles = steps_of(c, &n, &busy, tw_sat_add(c->compute, waits));
    for (int e = 0; e < machine->n_engines; e++) {
        int64_t count = machine->engine[e].count;
        moving = tw_sat_add(moving, busy.all[e]);
        /* Units that take turns may each get one operand. */
        cycles = tw_max(cycles, count > 1 ? tw_max(tw_cdiv(busy.all[e], count), busy.most[e]) : busy.all[e]);
    }
    c->candidate.cycles = tw_sat_add(tw_sat_add(cycles, ends), c->execs / EXECS);
    c->candidate.moving = moving;
    if (is_wanted(c, c->candidate.cycles)) serve(c->shortlist, &c->candidate);
}

/* ---- orders and sizes ---- */

static void order_level(cook *c, int t, int i)
{
    if (c->left <= 0) return;
    if (t == c->f->n_tiled) {
        weigh(c);
        return;
    }
    if (i >= tw_min(c->n_parallel[t], MOST_PARALLEL)) {
        order_level(c, t + 1, 0);
        return;
    }
    int8_t *order = c->candidate.order[t], chosen = order[i];
    for (int k = i; k < c->n_parallel[t]; k++) {
        order[i] = order[k];
        order[k] = chosen;
        order_level(c, t, i + 1);
        order[k] = order[i];
        order[i] = chosen;
    }
}

/* Units that all tiles of level t have together, `n_tiles` along each loop. */
static int64_t sweep_of(const cook *c, int t, int o, const int64_t *n_tiles)
{
    const tw_operand *operand = &c->s->op->operand[o];
    int64_t units = c->s->elem_units[o];
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        int64_t reach = 1, tiles = 1, extent = 1, coef = 0;
        for (int i = 0; i < axis->n_terms; i++) {
            int l = axis->term[i].loop;
            int64_t step = axis->term[i].coef < 0 ? -axis->term[i].coef : axis->term[i].coef;
            if (coef == 0 && n_tiles[l] > 1)
                coef = step, tiles = n_tiles[l], extent = c->s->op->loop[l].extent;
            else
                reach += step * (c->candidate.size[t][l] - 1);
        }
        int64_t sum = coef * (extent - tiles) + tiles * reach;
        sum = axis->divisor > 1 ? tw_cdiv(sum, axis->divisor) : tw_max(1, sum - c->s->overhang[o][a]);
        units = tw_sat_mul(units, sum);
    }
    return units;
}

/* How a tile with these lengths lies in the tensor of operand o. */
static tw_shape shape_of(const tw_space *s, int o, const int64_t *len)
{
    const tw_operand *operand = &s->op->operand[o];
    tw_region region = {0};
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        region.axis[a].hi =
            tw_clamp(tw_cdiv(tw_axis_stretch(axis, len), tw_max(1, axis->divisor)), 1, axis->extent);
    }
    return tw_region_shape(operand, &region, NULL, s->elem_units[o]);
}

static void measure_level(cook *c, int t)
{
    const tw_space *s = c->s;
    int64_t len[TW_MAX_LOOPS], n_tiles[TW_MAX_LOOPS];
    int n = 0;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t piece = t > 0 ? c->candidate.size[t - 1][l] : s->op->loop[l].extent;
        len[l] = c->candidate.size[t][l];
        c->trips[t][l] = tw_cdiv(piece, len[l]);
        n_tiles[l] = t > 0 ? c->trips[0][l] * c->trips[t][l] : c->trips[t][l];
    }
    for (int reduces = 0; reduces < 2; reduces++) {
        for (int l = 0; l < s->op->n_loops; l++)
            if (c->trips[t][l] > 1 && s->op->loop[l].reduces == reduces) c->candidate.order[t][n++] = (int8_t)l;
        if (!reduces) c->n_parallel[t] = n;
    }
    c->n_cut[t] = n;
    for (int o = 0; o < s->op->n_operands; o++) {
        c->units[t][o] = s->elem_units[o] * tw_footprint_most(s, o, len);
        c->sweep[t][o] = sweep_of(c, t, o, n_tiles);
        if (c->by_shape) c->shape[t][o] = shape_of(s, o, len);
    }
}

/* Whether one buffer of each operand of level t fits into its memories. */
static bool level_fits(const cook *c, int t)
{
    const tw_space *s = c->s;
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t sum = 0;
        for (int o = 0; o < s->op->n_operands && c->f->grain[m] == t; o++)
            if (tw_space_holds(s, m, o)) sum = tw_sat_add(sum, c->units[t][o]);
        if (sum > s->machine->memory[m].size) return false;
    }
    return true;
}

/* Cycles that the movers into the memories of level t take at least: every tile comes once. */
static int64_t least_moved(const cook *c, int t)
{
    const tw_space *s = c->s;
    loads busy = {{0}, {0}, {0}};
    int64_t most = 0, n_tiles[TW_MAX_OPERANDS];
    for (int o = 0; o < s->op->n_operands; o++) {
        n_tiles[o] = 1;
        for (int l = 0; l < s->op->n_loops; l++)
            for (int i = 0; i <= t && tw_space_depends(s, o, l); i++)
                n_tiles[o] = tw_sat_mul(n_tiles[o], c->trips[i][l]);
    }
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < s->op->n_operands && c->f->grain[m] == t; o++)
            if (tw_space_holds(s, m, o)) load_tiles(c, &busy, m, o, (tw_load){n_tiles[o], c->sweep[t][o]});
    for (int e = 0; e < s->machine->n_engines; e++)
        most = tw_max(most, tw_cdiv(busy.all[e], s->machine->engine[e].count));
    return most;
}

/* Counts a choice of sizes; false: that is enough. */
static bool may_look(cook *c)
{
    if (c->looks_left <= 0 || c->left <= 0) return false;
    c->looks_left--;
    c->shortlist->n_looked++;
    if (tw_pulse_is_over(&c->pulse, 256)) c->looks_left = 0;
    return c->looks_left > 0;
}

/* Whether a program that takes so long but for its ends may be worth a place. */
static bool may_be_light(const cook *c, int64_t busy)
{
    return is_wanted(c, tw_sat_add(tw_sat_add(busy, ends_of(c)), c->execs / EXECS));
}

/* Tiles of the outer one of two levels: only parallel loops are cut there, sums stay inside. */
static void choose_outer(cook *c, int l)
{
    int inner = c->f->n_tiled - 1;
    if (l == c->s->op->n_loops) {
        measure_level(c, 0);
        measure_level(c, inner);
        if (!level_fits(c, 0)) return;
        int64_t moved = tw_max(least_moved(c, 0), least_moved(c, inner));
        if (may_be_light(c, tw_max(c->compute, moved))) order_level(c, 0, 0);
        return;
    }
    for (int i = 0; i < c->n_sizes[0][l]; i++) {
        int64_t size = c->sizes[0][l][i];
        if (i > 0 && (c->s->op->loop[l].reduces || size < c->candidate.size[inner][l])) break;
        c->candidate.size[0][l] = (int32_t)size;
        if (!may_look(c)) return;
        choose_outer(c, l + 1);
    }
}

/* Passes of all executions for the blocks of an operand that stays in place; 0: none does. */
static int64_t block_passes(const cook *c)
{
    const tw_space *s = c->s;
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    int t = c->f->n_tiled - 1;
    int64_t most = 0;
    for (int o = 0; o < s->op->n_operands && cost->kind == TW_COST_ARRAY && cost->array.stationary; o++) {
        int64_t passes = cost->array.block_least;
        if (!(cost->array.stationary & tw_role_of(s->op, o))) continue;
        for (int l = 0; l < s->op->n_loops; l++) {
            int64_t extent = s->op->loop[l].extent, size = c->candidate.size[t][l];
            passes = tw_sat_mul(passes, tw_space_depends(s, o, l) ? passes_of(extent, size, rows_of(c, l))
                                                                  : tw_cdiv(extent, size));
        }
        most = tw_max(most, passes);
    }
    return most;
}

/* Cycles of the kernel on a whole tile. */
static int64_t kernel_of(const cook *c)
{
    const tw_space *s = c->s;
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    int64_t len[TW_MAX_LOOPS] = {0};
    for (int l = 0; l < s->op->n_loops; l++) len[l] = c->candidate.size[c->f->n_tiled - 1][l];
    tw_kernel_nest tile = tw_nest_of(s->op, len, s->elem_units[tw_max(0, tw_op_output(s->op) - 1)]);
    return tw_cost_cycles(cost, tw_cost_of_kernel(&cost->kernel, &tile, false));
}

/* Cycles of all executions. */
static int64_t compute_of(cook *c)
{
    const tw_space *s = c->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int t = c->f->n_tiled - 1;
    int64_t work = 1, execs = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t extent = s->op->loop[l].extent, size = c->candidate.size[t][l];
        work = tw_sat_mul(work, passes_of(extent, size, rows_of(c, l)));
        execs = tw_sat_mul(execs, tw_cdiv(extent, size));
    }
    c->execs = execs;
    if (mac->cost.kind == TW_COST_KERNEL) return tw_cdiv(tw_sat_mul(execs, kernel_of(c)), mac->count);
    return tw_cdiv(tw_busy_of(mac, execs, tw_max(work, block_passes(c))), mac->count);
}

/* Whether tiles of these sizes, the loops from l on being as short as can be, may fit. */
static bool may_fit(cook *c, int l)
{
    int t = c->f->n_tiled - 1;
    int64_t len[TW_MAX_LOOPS];
    for (int i = 0; i < c->s->op->n_loops; i++)
        len[i] = i < l ? c->candidate.size[t][i] : c->sizes[t][i][c->n_sizes[t][i] - 1];
    for (int o = 0; o < c->s->op->n_operands; o++)
        c->units[t][o] = c->s->elem_units[o] * tw_footprint_most(c->s, o, len);
    return level_fits(c, t);
}

static void choose_inner(cook *c, int l)
{
    int t = c->f->n_tiled - 1;
    if (l < c->s->op->n_loops) {
        for (int i = 0; i < c->n_sizes[t][l]; i++) {
            c->candidate.size[t][l] = (int32_t)c->sizes[t][l][i];
            if (!may_look(c)) return;
            if (may_fit(c, l + 1)) choose_inner(c, l + 1);
        }
        return;
    }
    c->compute = compute_of(c);
    measure_level(c, t);
    if (!is_wanted(c, c->compute) || !level_fits(c, t)) return;
    if (t == 0) {
        if (may_be_light(c, tw_max(c->compute, least_moved(c, 0)))) order_level(c, 0, 0);
        return;
    }
    memcpy(c->units[0], c->units[t], sizeof c->units[0]); /* tiles outside are no smaller */
    memcpy(c->shape[0], c->shape[t], sizeof c->shape[0]);
    if (may_be_light(c, c->compute)) choose_outer(c, 0);
}

/* ---- the shortlist ---- */

/* Whether rows and columns of the array have changed places, against a frame before this one, and nothing else has. */
static bool is_mirrored(const tw_space *s, int frame)
{
    const tw_frame *f = &s->frame[frame];
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    bool square = tw_cost_dims(cost) == 2 && cost->array.size[0] == cost->array.size[1];
    for (int i = 0; i < frame && square; i++) {
        const tw_frame *g = &s->frame[i];
        if (g->n_tiled != f->n_tiled || memcmp(g->memory, f->memory, sizeof g->memory) != 0) continue;
        bool mirrored = true;
        for (int l = 0; l < s->op->n_loops; l++)
            mirrored &= g->over.dim[l] == (f->over.dim[l] > 0 ? 3 - f->over.dim[l] : 0);
        if (mirrored) return true;
    }
    return false;
}

/* How many times longer movers take than executions if every element is moved once and no pass is wasted. Smaller tiles than
 * passes ask for shorten the ends of a program alone: where it is long, that is not worth looking for. */
static double slack_of(cook *c)
{
    enum { LONG = 8 };
    int64_t moved = 0;
    for (int t = 0; t < c->f->n_tiled; t++)
        for (int l = 0; l < c->s->op->n_loops; l++) c->candidate.size[t][l] = (int32_t)c->s->op->loop[l].extent;
    for (int t = 0; t < c->f->n_tiled; t++) {
        measure_level(c, t);
        moved = tw_max(moved, least_moved(c, t));
    }
    memset(c->units, 0, sizeof c->units);
    for (int t = 0; t < c->f->n_tiled; t++)
        for (int o = 0; o < c->s->op->n_operands; o++) c->shape[t][o] = (tw_shape){.planes = 1, .rows = 1};
    if (moved > LONG * ends_of(c)) return 1.25;
    return fmax(1.25, (double)moved / (double)tw_max(1, compute_of(c)));
}

bool tw_shortlist_suits(const tw_space *s, const tw_goals *goals)
{
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    /* Nothing disturbs executions, and none is padded. */
    bool calm = !tw_cost_contends(cost) ||
                (cost->kernel.banks.count == 0 && !s->machine->pads); /* nothing disturbs executions */
    return s->rules->shortlist && goals->n == 1 && goals->goal[0].measure == TW_CYCLES && calm;
}

void tw_shortlist_add(const tw_space *s, int frame, int64_t below, tw_shortlist *shortlist)
{
    cook c = {.s = s,
              .f = &s->frame[frame],
              .shortlist = shortlist,
              .below = below,
              .left = MOST_WEIGHED,
              .looks_left = MOST_LOOKS,
              .pulse = {.deadline = shortlist->deadline},
              .windows = tw_op_windows(s->op)};
    if (c.f->n_tiled > TW_SHORTLIST_LEVELS || is_mirrored(s, frame)) return;
    c.candidate.frame = frame;
    for (int e = 0; e < s->machine->n_engines; e++) c.by_shape |= tw_cost_by_shape(&s->machine->engine[e].cost);
    c.slack = slack_of(&c);
    for (int t = 0; t < c.f->n_tiled; t++)
        for (int l = 0; l < s->op->n_loops; l++) list_sizes(&c, t, l);
    choose_inner(&c, 0);
}

/* Chooses what the candidate keeps, as far as it may. */
static void choose_keeps(const tw_space *s, const tw_candidate *candidate, tw_part *p)
{
    const tw_frame *f = &s->frame[candidate->frame];
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < tw_op_output(s->op); o++) {
            int var = tw_var_keep(s, f, m, o);
            int32_t keep = candidate->keep[m][o];
            while (keep > 0 && !tw_part_may_choose(s, p, var, keep)) keep--;
            if (tw_part_may_choose(s, p, var, keep)) p->var[var] = (tw_range){keep, keep};
        }
}

static bool fill_in(const tw_space *s, const tw_candidate *candidate, tw_part *p)
{
    const tw_frame *f = &s->frame[candidate->frame];
    for (int t = 0; t < f->n_tiled; t++)
        for (int l = 0; l < s->op->n_loops; l++)
            p->var[tw_var_size(s, t, l)] = (tw_range){candidate->size[t][l], candidate->size[t][l]};
    if (!tw_part_complete(s, p)) return false;
    for (int t = 0; t < f->n_tiled; t++) {
        int order[TW_MAX_LOOPS], n = 0;
        unsigned seen = 0;
        for (int i = 0; i < s->op->n_loops && n < s->op->n_loops; i++) {
            int l = candidate->order[t][i];
            if (!(seen >> l & 1)) order[n++] = l;
            seen |= 1u << l;
        }
        for (int l = 0; l < s->op->n_loops; l++)
            if (!(seen >> l & 1)) order[n++] = l;
        if (!tw_part_set_order(s, p, t, order)) return false;
    }
    if (!tw_part_complete(s, p)) return false;
    choose_keeps(s, candidate, p);
    return tw_part_complete(s, p);
}

tw_status tw_shortlist_part(const tw_space *s, const tw_candidate *candidate, tw_part **out)
{
    bool empty;
    tw_part *p = tw_part_of_frame(s, candidate->frame, &empty);
    *out = p;
    if (!p) return TW_ERR_NOMEM;
    if (!empty && fill_in(s, candidate, p)) return TW_OK;
    free(p);
    *out = NULL;
    return TW_OK;
}
