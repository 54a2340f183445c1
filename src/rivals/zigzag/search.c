/* src/rivals/zigzag/search.c - better nests by ZigZag's own rules: sizes, orders and cuts free.
 *
 * The tool orders the loops' largest factors and lets an allocator cut them. Here the best of those orders are where a climb
 * begins, with every loop split into its prime factors: a loop moves to another place, a cut to the next place that makes a
 * difference, as long as that helps; then the best nest is disturbed and climbs again, until the budget of nests is spent. The
 * sequence of disturbances is fixed, so that the same files give the same answer. Where all orders of all factors with all cuts
 * are few enough, they are all tried instead, and the answer is proven.
 *
 * Otherwise it is a heuristic with a bound. Energy has the least one of lattice.h, which is proven where its nest fits; latency and EDP have
 * that of front.h, which is proven where a nest reaches it. Nests whose loading the tool counts as less than nothing are no answers and
 * are left out. */
#include "core/deadline.h"
#include "rivals/zigzag/front.h"
#include "rivals/zigzag/zigzag.h"

#include <math.h>
#include <string.h>

enum { BUDGET = 40000, KICKS = 3, CUTS = 3000, SMALL = 4 };

typedef struct climber {
    const tw_zz_case *c;
    const tw_zz_goal *goal;
    bool is_ordered; /* the entry fixes a part of the order */
    int64_t counted, budget;
    uint64_t random;
    const tw_zz_nest *frugal; /* the one that takes least energy, if it fits; without loops: not known */
    tw_zz_nest now, best;
    tw_zz_figure at, record;
} climber;

static const tw_zz_figure nothing = {INFINITY, INFINITY, 0, 0};

/* ---- orders that are allowed ---- */

/* Neighbours over the same dim as one loop, wherever they are cut. */
static void merge_loops(tw_zz_nest *nest)
{
    int n = 0;
    for (int i = 0; i < nest->n_loops; i++)
        if (n > 0 && nest->loop[n - 1].dim == nest->loop[i].dim)
            nest->loop[n - 1].size *= nest->loop[i].size;
        else
            nest->loop[n++] = nest->loop[i];
    nest->n_loops = n;
}

static bool is_allowed(const climber *k, const tw_zz_nest *nest)
{
    if (!k->is_ordered || tw_zz_order_allows(k->goal->extra->entry, k->c, nest)) return true;
    tw_zz_nest merged = *nest;
    merge_loops(&merged);
    return tw_zz_order_allows(k->goal->extra->entry, k->c, &merged);
}

/* ---- counting ---- */

static tw_zz_figure figure_of(climber *k, const tw_zz_nest *nest)
{
    tw_zz_count count;
    k->counted++;
    if (!tw_zz_count_nest(k->c, nest, &count) || count.onload < 0 || count.offload < 0) return nothing;
    tw_zz_figure f = tw_zz_figure_of(k->goal->measure, count.latency, count.energy);
    if (tw_zz_is_less(f, k->record)) {
        k->record = f;
        k->best = *nest;
    }
    return f;
}

/* ---- cuts ---- */

/* The next place of a cut outwards or inwards at which something changes; false: there is none. */
static bool shift_cut(const tw_zz_case *c, tw_zz_nest *nest, int o, int l, int by)
{
    const tw_zz_operand *x = &c->operand[o];
    int at = nest->cut[o][l] + by;
    if (by < 0) /* what is irrelevant and just inside would only come back */
        while (at > 0 && x->kind[nest->loop[at].dim] == TW_ZZ_IR) at--;
    if (at < (l > 0 ? nest->cut[o][l - 1] : 0) || at > nest->cut[o][l + 1]) return false;
    nest->cut[o][l] = at;
    tw_zz_nest_settle(c, nest);
    return true;
}

static tw_zz_figure improve_cuts(climber *k, tw_zz_nest *nest, tw_zz_figure at)
{
    int memory;
    for (bool moved = true; moved && k->counted < k->budget;) {
        moved = false;
        for (int o = 0; o < TW_ZZ_OPERANDS; o++)
            for (int l = 0; l + 1 < k->c->operand[o].n_levels; l++)
                for (int by = 1; by >= -1; by -= 2) {
                    tw_zz_nest next = *nest;
                    if (!shift_cut(k->c, &next, o, l, by) || !tw_zz_nest_fits(k->c, &next, &memory)) continue;
                    tw_zz_figure f = figure_of(k, &next);
                    if (!tw_zz_is_less(f, at)) continue;
                    at = f;
                    *nest = next;
                    moved = true;
                }
    }
    return at;
}

/* All cuts of one order, operand by operand and level by level; `used` is what those before take of each memory. False: `budget`
 * is spent before all were tried. */
typedef struct cutter {
    climber *k;
    tw_zz_nest *nest, best;
    tw_zz_figure least;
    double used[TW_RIVAL_MEMORIES];
    int64_t budget;
} cutter;

static bool try_cuts(cutter *t, int o, int l)
{
    const tw_zz_case *c = t->k->c;
    if (o == TW_ZZ_OPERANDS) {
        tw_zz_figure f = figure_of(t->k, t->nest);
        if (tw_zz_is_less(f, t->least)) {
            t->least = f;
            t->best = *t->nest;
        }
        return --t->budget >= 0;
    }
    const tw_zz_operand *x = &c->operand[o];
    bool top = l == x->n_levels - 1;
    int m = x->level[l].memory;
    for (int at = top ? t->nest->n_loops : l ? t->nest->cut[o][l - 1] : 0; at <= t->nest->n_loops; at++) {
        if (at < t->nest->n_loops && x->kind[t->nest->loop[at].dim] == TW_ZZ_IR) continue;
        t->nest->cut[o][l] = at;
        double bits = tw_zz_tile_bits(c, t->nest, o, l), before = t->used[m];
        if (before + bits > x->level[l].size) break;
        t->used[m] += bits;
        bool good = try_cuts(t, top ? o + 1 : o, top ? 0 : l + 1);
        t->used[m] = before;
        if (!good) return false;
    }
    return true;
}

/* The best cuts of the present order, as far as the budget goes. */
static void polish(climber *k)
{
    tw_zz_nest nest = k->now;
    cutter t = {
        .k = k, .nest = &nest, .least = k->at, .best = k->now, .budget = tw_min(CUTS, k->budget - k->counted)};
    (void)try_cuts(&t, 0, 0);
    k->now = t.best;
    k->at = t.least;
}

/* The figure of an order of loops with the tool's cuts, and with better ones where that looks worth it. */
static tw_zz_figure try_order(climber *k, tw_zz_nest *nest)
{
    int memory;
    if (!is_allowed(k, nest) || !tw_zz_nest_allocate(k->c, nest, &memory)) return nothing;
    tw_zz_nest_settle(k->c, nest);
    tw_zz_figure f = figure_of(k, nest);
    return f.value <= 1.02 * k->at.value ? improve_cuts(k, nest, f) : f;
}

/* ---- climbing ---- */

static void move_loop(tw_zz_nest *nest, int from, int to)
{
    typeof(nest->loop[0]) moved = nest->loop[from];
    int step = from < to ? 1 : -1;
    for (int i = from; i != to; i += step) nest->loop[i] = nest->loop[i + step];
    nest->loop[to] = moved;
}

/* One round over all moves; whether any helped. */
static bool climb_once(climber *k)
{
    bool moved = false;
    for (int from = 0; from < k->now.n_loops; from++)
        for (int to = 0; to < k->now.n_loops && k->counted < k->budget; to++) {
            int beside = to > from ? to : to - 1;
            if (from == to || (to == from - 1)) continue; /* the same as moving that one here */
            if (beside >= 0 && k->now.loop[to].dim == k->now.loop[from].dim &&
                k->now.loop[to].size == k->now.loop[from].size)
                continue;
            tw_zz_nest next = k->now;
            move_loop(&next, from, to);
            tw_zz_figure f = try_order(k, &next);
            if (!tw_zz_is_less(f, k->at)) continue;
            k->at = f;
            k->now = next;
            moved = true;
        }
    return moved;
}

static void climb(climber *k)
{
    for (tw_zz_figure before = nothing; tw_zz_is_less(k->at, before) && k->counted < k->budget;) {
        before = k->at;
        while (k->counted < k->budget && climb_once(k)) {
        }
        polish(k);
    }
}

/* Splits every loop into its prime factors; cuts are made anew. */
static void split_loops(const tw_zz_nest *nest, tw_zz_nest *out)
{
    *out = (tw_zz_nest){0};
    for (int i = 0; i < nest->n_loops; i++) {
        int64_t n = nest->loop[i].size;
        for (int64_t p = 2; n > 1 && out->n_loops<TW_ZZ_LOOPS; p += p * p> n ? n - p : 1)
            for (; p > 1 && n % p == 0 && out->n_loops < TW_ZZ_LOOPS; n /= p) {
                out->loop[out->n_loops].dim = nest->loop[i].dim;
                out->loop[out->n_loops++].size = p;
            }
    }
}

/* Begins at an order; false: it cannot be cut. */
static bool start_at(climber *k, const tw_zz_nest *nest)
{
    k->at = nothing;
    split_loops(nest, &k->now);
    k->at = try_order(k, &k->now);
    return k->at.value < INFINITY;
}

/* A few random moves of the best nest. An order that cannot be cut is counted as well: where only few can be, the budget ends the search all the same. */
static bool kick(climber *k)
{
    tw_zz_nest next;
    int64_t before = k->counted;
    split_loops(&k->best, &next);
    if (next.n_loops < 3) return false;
    for (int i = 0; i < KICKS; i++)
        move_loop(&next, (int)(tw_random_next(&k->random) % (uint64_t)next.n_loops),
                  (int)(tw_random_next(&k->random) % (uint64_t)next.n_loops));
    k->at = nothing;
    k->now = next;
    k->at = try_order(k, &k->now);
    if (k->counted == before) k->counted++;
    return true;
}

/* ---- everything ---- */

/* Whether loops that are placed so far, apart or merged, can begin an order that the entry allows. */
static bool may_begin(const climber *k, const tw_zz_nest *nest)
{
    if (!k->is_ordered || tw_zz_order_begins(k->goal->extra->entry, k->c, nest)) return true;
    tw_zz_nest merged = *nest;
    merge_loops(&merged);
    return tw_zz_order_begins(k->goal->extra->entry, k->c, &merged);
}

/* Orders of the factors: so many that it does not matter how many more there are. */
static double n_orders(const tw_zz_nest *split)
{
    double orders = 1;
    for (int i = 0; i < split->n_loops; i++) {
        int like = 1;
        for (int j = 0; j < i; j++)
            like += split->loop[j].dim == split->loop[i].dim && split->loop[j].size == split->loop[i].size;
        orders = orders * (i + 1) / like;
    }
    return orders;
}

/* Places one of the factors that are left after the other; equal ones once. False: the budget is spent. */
static bool try_orders(cutter *t, tw_zz_nest *left)
{
    if (!may_begin(t->k, t->nest)) return true;
    if (left->n_loops == 0) return !is_allowed(t->k, t->nest) || try_cuts(t, 0, 0);
    for (int i = 0; i < left->n_loops; i++) {
        bool again = false;
        for (int j = 0; j < i; j++)
            again |= left->loop[j].dim == left->loop[i].dim && left->loop[j].size == left->loop[i].size;
        if (again) continue;
        tw_zz_nest rest = *left;
        move_loop(&rest, i, left->n_loops - 1);
        rest.n_loops--;
        t->nest->loop[t->nest->n_loops++] = left->loop[i];
        bool good = try_orders(t, &rest);
        t->nest->n_loops--;
        if (!good) return false;
    }
    return true;
}

/* Tries everything, where that is little. */
static bool exhaust(climber *k)
{
    tw_zz_nest whole = {0}, split, nest = {0};
    for (int d = 0; d < k->c->n_dims; d++)
        if (k->c->steps[d] > 1) {
            whole.loop[whole.n_loops].dim = d;
            whole.loop[whole.n_loops++].size = k->c->steps[d];
        }
    split_loops(&whole, &split);
    cutter t = {.k = k, .nest = &nest, .least = nothing, .budget = SMALL * k->budget};
    double orders = k->is_ordered && tw_zz_order_is_whole(k->goal->extra->entry, k->c) ? 1 : n_orders(&split);
    return orders * split.n_loops * split.n_loops <= (double)t.budget && try_orders(&t, &split);
}

/* ---- the bound ---- */

/* A nest in which an operand passes everything once: all irrelevant loops innermost, and all loops inside of every tile. */
static void relax(const tw_zz_case *c, int operand, tw_zz_nest *nest)
{
    *nest = (tw_zz_nest){0};
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < c->n_dims; d++)
            if (c->steps[d] > 1 && (c->operand[operand].kind[d] == TW_ZZ_IR) == (pass == 0)) {
                nest->loop[nest->n_loops].dim = d;
                nest->loop[nest->n_loops++].size = c->steps[d];
            }
    for (int l = 0; l < c->operand[operand].n_levels; l++) nest->cut[operand][l] = nest->n_loops;
}

/* By how much rounding can shrink what is passed: the tool rounds tiles to whole elements, and windows down. */
static double rounding(const tw_zz_case *c, int operand)
{
    return c->is_whole ? 1 : 2.0 / 3 / (double)(1 << c->operand[operand].n_windows);
}

static double energy_bound(const tw_zz_case *c)
{
    double energy = c->machine->mac_pj * c->macs;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        tw_zz_nest nest;
        tw_zz_times times;
        tw_zz_flows flows;
        relax(c, o, &nest);
        tw_zz_times_of(c, &nest, o, &times);
        tw_zz_flows_of(c, &nest, o, false, &times, &flows);
        double least = tw_zz_operand_energy(c, o, &flows, NULL);
        if (least < INFINITY) energy += rounding(c, o) * least;
    }
    return energy;
}

static double load_bound(const tw_zz_case *c, int o, int l, const tw_zz_flows *f)
{
    const tw_zz_operand *x = &c->operand[o];
    tw_rival_way up = o == 0 ? TW_WAY_READ_UP : TW_WAY_WRITE_UP,
                 down = o == 0 ? TW_WAY_WRITE_DOWN : TW_WAY_READ_DOWN;
    double lower = f->way[l][up].amount * f->way[l][up].bits / x->level[l].most[up];
    double upper = f->way[l + 1][down].amount * f->way[l + 1][down].bits / x->level[l + 1].most[down];
    return fmax(lower, upper);
}

/* Every element passes every port once, and of what a port needs in all only the cycles of the layer hide anything. Pairs of
 * levels of which the tool forgets the loading (all but the last whose ports the inputs share on one side) do not count. */
static double latency_bound(const tw_zz_case *c)
{
    double cycles = c->cycles;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        tw_zz_nest nest;
        tw_zz_times times;
        tw_zz_flows flows;
        bool forgets = false;
        relax(c, o, &nest);
        tw_zz_times_of(c, &nest, o, &times);
        tw_zz_flows_of(c, &nest, o, true, &times, &flows);
        for (int l = c->operand[o].n_levels - 2; l >= 0; l--) {
            const tw_zz_level *low = &c->operand[o].level[l], *high = &c->operand[o].level[l + 1];
            bool half = o > 0 && c->port[low->port[TW_WAY_WRITE_UP]].is_shared_by_inputs !=
                                     c->port[high->port[TW_WAY_READ_DOWN]].is_shared_by_inputs;
            if (!(half && forgets)) cycles = fmax(cycles, floor(load_bound(c, o, l, &flows)));
            forgets |= half;
        }
    }
    return cycles;
}

/* `least` is the least energy by a path through the lattice, 0: not known. */
static double bound_of(const tw_zz_case *c, tw_measure measure, double least)
{
    return tw_zz_value(measure, latency_bound(c), least > 0 ? least : energy_bound(c));
}

/* ---- the whole ---- */

/* Loops of which no cut is between are one. */
static void tidy(const tw_zz_case *c, tw_zz_nest *nest)
{
    tw_zz_nest out = {0};
    bool is_cut[TW_ZZ_LOOPS + 1] = {0};
    int place[TW_ZZ_LOOPS + 1];
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < c->operand[o].n_levels; l++) is_cut[nest->cut[o][l]] = true;
    for (int i = 0; i <= nest->n_loops; i++) {
        place[i] = out.n_loops;
        if (i == nest->n_loops) break;
        if (i > 0 && !is_cut[i] && nest->loop[i].dim == nest->loop[i - 1].dim)
            out.loop[out.n_loops - 1].size *= nest->loop[i].size;
        else
            out.loop[out.n_loops++] = nest->loop[i];
    }
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < c->operand[o].n_levels; l++) out.cut[o][l] = place[nest->cut[o][l]];
    *nest = out;
}

static void keep(const climber *k, int unrolling, tw_zz_best *out)
{
    tw_zz_figure had = tw_zz_figure_of(k->goal->measure, out->latency, out->energy);
    out->counted += k->counted;
    if (!(k->record.value < INFINITY) || (out->unrolling >= 0 && !tw_zz_is_less(k->record, had))) return;
    out->unrolling = unrolling;
    out->nest = k->best;
    out->latency = k->record.latency;
    out->energy = k->record.energy;
    out->value = k->record.value;
    tidy(k->c, &out->nest);
}

/* The bound may be the same sum in another order. */
static bool is_reached(const climber *k, double bound) { return k->record.value <= bound * (1 + 1e-12); }
static bool is_done(const climber *k, double bound) { return k->counted >= k->budget || is_reached(k, bound); }

/* Where the tool finds nothing: results complete as far inside as they can be, and all cuts. */
static void begin_anywhere(climber *k)
{
    relax(k->c, 0, &k->now);
    k->at = nothing;
    if (is_allowed(k, &k->now)) polish(k);
}

/* The path of least energy is a nest, of which other cuts may be faster; where its tiles do not fit together, its order is a good
 * one. */
static void begin_with(climber *k, const tw_zz_nest *nest)
{
    int memory;
    if (nest->n_loops == 0 || !is_allowed(k, nest)) return;
    if (!tw_zz_nest_fits(k->c, nest, &memory)) {
        if (start_at(k, nest)) climb(k);
        return;
    }
    k->now = *nest;
    k->at = figure_of(k, nest);
    polish(k);
}

/* The tool's best orders; when time is up, those of the ones that were tried. *over: it was. */
static tw_status find_starts(climber *k, tw_diag *diag, tw_zz_starts *out, bool *over)
{
    tw_diag quiet = tw_diag_quiet(diag);
    tw_status status = tw_zz_orders(k->goal, k->c, &quiet, out);
    *over = status == TW_STOPPED;
    return status == TW_OK || *over ? TW_OK : tw_zz_orders(k->goal, k->c, diag, out);
}

/* From the tool's best orders uphill, then from disturbed ones. *bound rises to what is found where everything was tried. */
static tw_status run(climber *k, double *least, tw_diag *diag)
{
    double bound = *least;
    tw_zz_starts starts = {.most = TW_ZZ_STARTS};
    bool over;
    TW_TRY(find_starts(k, diag, &starts, &over));
    k->counted = starts.counted;
    k->budget += starts.counted;
    for (int i = 0; i < starts.n; i++) (void)figure_of(k, &starts.nest[i]);
    if (!starts.fixed) begin_with(k, k->frugal);
    if (starts.n == 0) begin_anywhere(k);
    if (over || (!starts.fixed && is_reached(k, bound))) return TW_OK;
    if (starts.fixed || exhaust(k)) {
        *least = k->record.value;
        return TW_OK;
    }
    k->budget += k->counted - starts.counted;
    for (int i = 0; i < starts.n && !is_done(k, bound); i++)
        if (start_at(k, &starts.nest[i])) climb(k);
    while (!is_done(k, bound) && k->record.value < INFINITY && !tw_deadline_is_over(diag->deadline) && kick(k))
        climb(k);
    return TW_OK;
}

/* The least that any nest can take, and a better one if there is one on the way. *bound rises to it, or to `known`, which another
 * unrolling reaches. */
static tw_status prove(climber *k, double known, tw_work work, double *bound)
{
    tw_zz_least least;
    known = fmin(known, k->record.value);
    if (k->goal->measure == TW_ENERGY || known <= *bound * (1 + 1e-12)) return TW_OK;
    TW_TRY(tw_zz_front(k->c, k->goal->measure, known, work, &least));
    k->budget = k->counted + k->budget / 4;
    begin_with(k, &least.nest);
    *bound = fmax(*bound, fmin(least.bound, fmin(known, k->record.value)));
    return TW_OK;
}

static tw_status search_unrolling(const tw_zz_goal *goal, int u, tw_work work, tw_zz_best *out, double *bound)
{
    tw_diag *diag = work.diag;
    tw_zz_case c;
    tw_zz_nest frugal = {0};
    double energy = 0;
    int64_t budget = goal->max_nodes > 0 ? goal->max_nodes : BUDGET;
    TW_TRY(tw_zz_case_build(goal->machine, goal->einsum, &goal->extra->facts, &goal->extra->unrolling[u], goal->loc,
                            diag, &c));
    if (goal->measure != TW_CYCLES) TW_TRY(tw_zz_least_energy(&c, work.scratch, &energy, &frugal));
    double least = bound_of(&c, goal->measure, energy);
    climber k = {.c = &c,
                 .goal = goal,
                 .record = nothing,
                 .random = 18,
                 .budget = budget / goal->extra->n_unrollings,
                 .frugal = &frugal,
                 .is_ordered = goal->extra->entry && goal->extra->entry->n_orders > 0};
    if (out->unrolling < 0 || least < out->value) {
        TW_TRY(run(&k, &least, diag));
        TW_TRY(prove(&k, out->unrolling < 0 ? INFINITY : out->value, work, &least));
    }
    *bound = fmin(*bound, least);
    keep(&k, u, out);
    return TW_OK;
}

tw_status tw_zz_search(const tw_zz_goal *goal, tw_work work, tw_zz_best *out, double *bound)
{
    *out = (tw_zz_best){.unrolling = -1};
    *bound = INFINITY;
    for (int u = 0; u < goal->extra->n_unrollings; u++) TW_TRY(search_unrolling(goal, u, work, out, bound));
    if (out->unrolling >= 0) return TW_OK;
    return tw_zz_loma(goal, work.diag, out); /* says why nothing fits */
}
