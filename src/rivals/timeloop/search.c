/* src/rivals/timeloop/search.c - the best mapping under Timeloop's rules, with its proof.
 *
 * Frames are taken in the order of their bounds. Within a frame factors are chosen memory by memory from inside, those first
 * that the table of bounds promises most; when all are chosen the orders are tried. What the table or the loops so far show to be
 * no better than the best mapping is left out, so that at the end nothing better is left anywhere. Where the search is stopped,
 * the least of what was left out for that reason is the bound that is proven. */
#include "core/deadline.h"
#include "rivals/timeloop/bound.h"
#include "rivals/timeloop/order.h"
#include "rivals/timeloop/sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct choice { /* a frame, or factors of a memory */
    int at;
    tw_tl_cost least; /* no mapping with it is better */
} choice;

typedef struct hunt {
    const tw_rival *rival;
    int layer;
    const tw_rival_search_options *options;
    tw_work work;
    tw_tl_space space;
    tw_tl_frame *frame;
    tw_tl_price price;
    tw_tl_lattice lattice;
    tw_tl_table table;
    size_t table_room;
    int64_t factor[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
    tw_pulse pulse;
    int width; /* factors of a memory that are tried at most, 0: all */
    bool stopped;
    bool found;
    tw_tl_cost best, open; /* so far; the least that was left out when it stopped */
    int best_frame;
    int at_frame;
    int64_t best_factor[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
    tw_tl_orders best_orders;
    int64_t nodes, counted;
    tw_rival_layer trial_layer; /* for counting as if from a file */
    tw_rival trial;
    tw_loopnest trial_nest;
    tw_loopnest_loop *trial_loop;
} hunt;

static const tw_tl_cost worst = {INFINITY, INFINITY};
static const tw_tl_traffic nothing;

static void leave_open(hunt *h, tw_tl_cost least)
{
    if (tw_tl_cost_less(h->options->measure, least, h->open)) h->open = least;
}

static bool is_over(hunt *h, int64_t work)
{
    h->nodes++;
    if (h->options->max_nodes > 0 && h->nodes > h->options->max_nodes) h->stopped = true;
    if (tw_pulse_is_over(&h->pulse, work)) h->stopped = true;
    return h->stopped;
}

static bool is_better(const hunt *h, tw_tl_cost least)
{
    return tw_tl_cost_less(h->options->measure, least, h->best);
}

/* What everything costs if the handovers take `pj`, and the memories so many cycles, at least. */
static tw_tl_cost with_handovers(const tw_tl_price *p, double pj, double cycles)
{
    double energy = p->fixed_pj + pj + p->leak_pj * cycles;
    return (tw_tl_cost){energy * (1 - 1e-12), cycles + p->space->latency};
}

/* ---- nests ---- */

/* Iterations of the last rounds: the digits of the extent in the factors. */
static void find_last(const tw_tl_space *s, const tw_tl_frame *f, const int64_t (*factor)[TW_RIVAL_DIMS],
                      int64_t (*last)[TW_RIVAL_DIMS])
{
    for (int d = 0; d < s->n_dims; d++) {
        int64_t rest = s->einsum->extent[d] - 1;
        for (int m = s->n_memories - 1; m >= 0; m--) {
            rest /= f->over[m][d];
            last[m][d] = rest % factor[m][d] + 1;
            rest /= factor[m][d];
        }
    }
}

/* Puts a mapping into the form of a file's. */
static void write_nest(const tw_tl_space *s, const tw_tl_frame *f, const int64_t (*factor)[TW_RIVAL_DIMS],
                       const tw_tl_orders *orders, tw_loopnest_loop *loop, tw_loopnest *out)
{
    int64_t last[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
    int n = 0;
    find_last(s, f, factor, last);
    for (int m = 0; m < s->n_memories; m++) {
        const tw_tl_level *level = s->machine->memory[m].extra;
        for (int o = 0; o < s->n_operands; o++) out->depth[m][o] = f->bypass[m] >> o & 1 ? -1 : n;
        for (int i = orders->n[m] - 1; i >= 0; i--) {
            int d = orders->dim[m][i];
            loop[n++] = (tw_loopnest_loop){d, factor[m][d], last[m][d], -1, m};
        }
        for (int y = 1; y >= 0; y--)
            for (int d = s->n_dims - 1; d >= 0; d--)
                if (f->over[m][d] > 1 && (int)(f->on_y[m] >> d & 1) == y)
                    loop[n++] =
                        (tw_loopnest_loop){d, f->over[m][d], f->over[m][d], y ? level->axis_y : level->axis_x, m};
    }
    out->loop = loop;
    out->n_loops = n;
}

/* What a mapping costs, counted as one from a file. */
static bool recount(void *user, const tw_tl_orders *orders, tw_tl_cost *cost)
{
    hunt *h = user;
    tw_diag quiet = tw_diag_quiet(h->work.diag);
    tw_work work = {h->work.arena, h->work.scratch, &quiet};
    write_nest(&h->space, &h->frame[h->at_frame], (const int64_t(*)[TW_RIVAL_DIMS])h->factor, orders, h->trial_loop,
               &h->trial_nest);
    return tw_tl_count_cost(&h->trial, 0, work, &cost->energy_pj, &cost->cycles) == TW_OK;
}

/* ---- factors ---- */

static void try_orders(hunt *h)
{
    double factor[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS], inside[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
    int n = h->space.n_memories;
    for (int m = n - 1; m >= 0; m--)
        for (int d = 0; d < h->space.n_dims; d++) {
            factor[m][d] = (double)h->factor[m][d];
            inside[m][d] = (m + 1 < n ? inside[m + 1][d] : 1) * factor[m][d];
        }
    tw_tl_order_search s = {.price = &h->price,
                            .measure = h->options->measure,
                            .factor = (const double(*)[TW_RIVAL_DIMS])factor,
                            .inside = (const double(*)[TW_RIVAL_DIMS])inside,
                            .cycles = h->price.cycles,
                            .recount = recount,
                            .user = h,
                            .best = h->best};
    tw_tl_order_best(&s);
    h->counted += s.counted;
    if (!s.found) return;
    h->found = true;
    h->best = s.best;
    h->best_frame = h->at_frame;
    h->best_orders = s.orders;
    memcpy(h->best_factor, h->factor, sizeof h->factor);
}

static int by_value(const void *a, const void *b, void *measure)
{
    const choice *x = a, *y = b;
    if (tw_tl_cost_less(*(const tw_measure *)measure, x->least, y->least)) return -1;
    if (tw_tl_cost_less(*(const tw_measure *)measure, y->least, x->least)) return 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

typedef struct gathering { /* of the factors of one memory */
    hunt *h;
    int m, from, n;
    int waiting;                  /* memories further inside than m + 1 without loops between them and here */
    double inner;                 /* energy of the handovers that do not wait                               */
    double any;                   /* the least of those into m + 1 and the memories that wait               */
    double cycles;                /* that memories need at least, whatever is chosen                          */
    const tw_tl_traffic *traffic; /* of the handovers that do not wait                                   */
    choice *choice;
} gathering;

/* The least that the handovers into m and outside of it take with the iterations `at` inside, `waiting` of them being open. */
static double outside(const hunt *h, int m, int waiting, int at)
{
    return tw_tl_table_row(&h->table, m, waiting)[at];
}

static void take(hunt *h, int m, int from, int to)
{
    const tw_tl_lattice *l = &h->lattice;
    for (int d = 0; d < l->n_dims; d++)
        h->factor[m][d] = l->divisor[d][to / l->stride[d] % l->n[d]] / l->divisor[d][from / l->stride[d] % l->n[d]];
}

/* Cycles with the factors that lead to `at`, where they are guessed. */
static double guess_cycles(const gathering *g, int at)
{
    hunt *h = g->h;
    tw_tl_traffic traffic = *g->traffic;
    int64_t time[TW_RIVAL_DIMS];
    take(h, g->m, g->from, at);
    tw_tl_lattice_at(&h->lattice, g->from, time);
    tw_tl_traffic_add(&h->price, g->m + 1, g->waiting, time, (tw_tl_block_factors){g->m, h->factor[g->m]},
                      &traffic);
    return tw_tl_traffic_cycles(&h->price, &traffic);
}

/* All factors of dimensions d and up. */
static void gather(gathering *g, int d, int at)
{
    hunt *h = g->h;
    const tw_tl_lattice *l = &h->lattice;
    if (d == l->n_dims) {
        bool inside = g->m + 1 < h->space.n_memories, none = at == g->from && inside;
        double pj = none ? outside(h, g->m, g->waiting + 1, at) : g->any + outside(h, g->m, 0, at);
        double cycles = g->traffic->apart && inside && !none ? guess_cycles(g, at) : g->cycles;
        tw_tl_cost least = with_handovers(&h->price, g->inner + pj, cycles);
        if (pj < INFINITY && is_better(h, least)) g->choice[g->n++] = (choice){at, least};
        return;
    }
    int first = g->from / l->stride[d] % l->n[d];
    for (int to = first; to < l->n[d]; to++) {
        int64_t a = l->divisor[d][first], b = l->divisor[d][to];
        if (b % a == 0 && tw_tl_allows(&h->space.limits->time[g->m], d, b / a))
            gather(g, d + 1, at + (to - first) * l->stride[d]);
    }
}

static tw_status choose(hunt *h, int m, int from, int waiting, double inner, const tw_tl_traffic *traffic);

/* Goes on with factors of memory g->m. Handovers that wait are settled by its loops, if it has any. */
static tw_status follow(hunt *h, const gathering *g, const choice *c)
{
    int64_t time[TW_RIVAL_DIMS];
    bool inside = g->m + 1 < h->space.n_memories;
    take(h, g->m, g->from, c->at);
    if (c->at == g->from && inside) return choose(h, g->m - 1, c->at, g->waiting + 1, g->inner, g->traffic);
    double inner = g->inner;
    tw_tl_traffic traffic = *g->traffic;
    tw_tl_block_factors block = {g->m, h->factor[g->m]};
    tw_tl_lattice_at(&h->lattice, g->from, time);
    if (inside) {
        inner += tw_tl_bound_waiting(&h->price, g->m + 1, g->waiting, time, block);
        tw_tl_traffic_add(&h->price, g->m + 1, g->waiting, time, block, &traffic);
    }
    double cycles = tw_tl_traffic_cycles(&h->price, &traffic);
    if (!is_better(h, with_handovers(&h->price, inner + outside(h, g->m, 0, c->at), cycles))) return TW_OK;
    return choose(h, g->m - 1, c->at, 0, inner, &traffic);
}

/* The factors of memory m, best promise first, and all that is outside of it. */
static tw_status choose(hunt *h, int m, int from, int waiting, double inner, const tw_tl_traffic *traffic)
{
    tw_arena_mark mark = tw_arena_save(h->work.scratch);
    gathering g = {.h = h, .m = m, .from = from, .waiting = waiting, .inner = inner, .traffic = traffic};
    tw_tl_traffic open = *traffic;
    int64_t time[TW_RIVAL_DIMS];
    tw_measure measure = h->options->measure;
    tw_status status = TW_OK;
    if (m == 0) {
        take(h, 0, from, h->lattice.size - 1);
        try_orders(h);
        return TW_OK;
    }
    TW_ALLOC(h->work.scratch, g.choice, h->lattice.size);
    tw_tl_lattice_at(&h->lattice, from, time);
    if (m + 1 < h->space.n_memories) {
        g.any = tw_tl_bound_waiting(&h->price, m + 1, waiting, time, (tw_tl_block_factors){0});
        tw_tl_traffic_add(&h->price, m + 1, waiting, time, (tw_tl_block_factors){0}, &open);
    }
    g.cycles = tw_tl_traffic_cycles(&h->price, &open);
    gather(&g, 0, from);
    qsort_r(g.choice, (size_t)g.n, sizeof *g.choice, by_value, &measure);
    for (int i = 0; i < g.n && status == TW_OK; i++) {
        if (!is_better(h, g.choice[i].least)) break;
        if (h->width > 0 && i >= h->width) break;
        if (is_over(h, 1 << 8)) {
            leave_open(h, g.choice[i].least);
            break;
        }
        status = follow(h, &g, &g.choice[i]);
    }
    tw_arena_rewind(h->work.scratch, mark);
    return status;
}

/* ---- frames ---- */

static tw_status open_frame(hunt *h, int f, bool closely)
{
    tw_loc loc = h->rival->layer[h->layer].loc;
    if (!tw_tl_price_init(&h->price, &h->space, &h->frame[f]))
        return tw_diag_error(h->work.diag, loc, "operands reside in more than %d memories", TW_TL_HANDOVERS);
    if (!tw_tl_lattice_init(&h->lattice, h->space.n_dims, h->price.base))
        return tw_diag_error(h->work.diag, loc, "the sizes have too many divisors to be searched");
    size_t need = tw_tl_table_room(h->space.n_memories, h->lattice.size);
    if (need > h->table_room) {
        TW_ALLOC(h->work.arena, h->table.of, need);
        h->table_room = need;
    }
    h->table.n_memories = h->space.n_memories;
    h->table.size = h->lattice.size;
    h->at_frame = f;
    tw_tl_bound_fill(&h->price, &h->lattice, closely, &h->table);
    return TW_OK;
}

/* The least that a frame promises. */
static tw_tl_cost frame_bound(hunt *h)
{
    int m = h->space.n_memories - 1;
    double *of = tw_tl_table_row(&h->table, m, 0), least = INFINITY;
    for (int i = 0; i < h->lattice.size; i++) {
        int64_t time[TW_RIVAL_DIMS];
        if (of[i] >= least) continue;
        tw_tl_lattice_at(&h->lattice, i, time);
        bool allowed = true;
        for (int d = 0; d < h->space.n_dims; d++) allowed &= tw_tl_allows(&h->space.limits->time[m], d, time[d]);
        if (allowed) least = of[i];
    }
    if (m == 0) least = 0;
    return least < INFINITY ? with_handovers(&h->price, least, tw_tl_traffic_cycles(&h->price, &nothing)) : worst;
}

/* With a time limit half of what is left is for it: of further frames nothing is known. */
static tw_status sort_frames(hunt *h, int n, choice *order)
{
    tw_measure measure = h->options->measure;
    const tw_deadline *deadline = h->work.diag->deadline;
    double left = tw_deadline_left(deadline);
    tw_deadline half;
    tw_deadline_init(&half, isfinite(left) ? left / 2 : 0, deadline);
    for (int f = 0; f < n; f++) {
        order[f] = (choice){.at = f};
        if (tw_deadline_is_over(&half)) continue;
        TW_TRY(open_frame(h, f, false));
        order[f].least = frame_bound(h);
    }
    qsort_r(order, (size_t)n, sizeof *order, by_value, &measure);
    return TW_OK;
}

/* A first look, a few factors wide, so that there is something to be better than. With `apart` memories are taken to be as slow as they
 * mostly are, which keeps away from mappings that only look fast. */
static tw_status look_around(hunt *h, int n, const choice *order, bool apart)
{
    enum { FRAMES = 40, WIDTH = 3, WIDER = 6 };
    tw_tl_traffic traffic = {.apart = apart};
    h->width = apart ? WIDER : WIDTH;
    for (int i = 0; i < tw_min(n, FRAMES) && !h->stopped; i++) {
        if (!is_better(h, order[i].least)) break;
        TW_TRY(open_frame(h, order[i].at, true));
        TW_TRY(choose(h, h->space.n_memories - 1, 0, 0, 0, &traffic));
    }
    h->width = 0;
    h->open = worst;
    return TW_OK;
}

/* Both ways. */
static tw_status look_first(hunt *h, int n, const choice *order)
{
    TW_TRY(look_around(h, n, order, false));
    return h->options->measure != TW_ENERGY ? look_around(h, n, order, true) : TW_OK;
}

/* Time is up and nothing was found: something is looked for a moment longer. */
static tw_status hurry(hunt *h, int n, const choice *order)
{
    static const double moment = 0.2; /* seconds */
    tw_deadline soon;
    tw_deadline_init(&soon, moment, NULL);
    h->pulse = (tw_pulse){.deadline = &soon};
    h->stopped = false;
    tw_status status = look_around(h, n, order, false);
    h->pulse = (tw_pulse){.deadline = h->work.diag->deadline};
    return status;
}

static tw_status search_frames(hunt *h, int n, const choice *order)
{
    TW_TRY(look_first(h, n, order));
    if (!h->found && tw_deadline_is_over(h->pulse.deadline)) TW_TRY(hurry(h, n, order));
    for (int i = 0; i < n; i++) {
        if (!is_better(h, order[i].least)) return TW_OK;
        if (is_over(h, 1 << 10)) {
            leave_open(h, order[i].least);
            return TW_OK;
        }
        TW_TRY(open_frame(h, order[i].at, true));
        TW_TRY(choose(h, h->space.n_memories - 1, 0, 0, 0, &nothing));
    }
    return TW_OK;
}

/* ---- any sizes ---- */

static tw_status search_sizes(hunt *h, int f)
{
    tw_tl_sizes s = {.price = &h->price,
                     .measure = h->options->measure,
                     .pulse = &h->pulse,
                     .most_nodes = h->options->max_nodes,
                     .nodes = &h->nodes,
                     .counted = &h->counted,
                     .factor = h->factor,
                     .recount = recount,
                     .user = h,
                     .open = h->open,
                     .best = h->best};
    h->at_frame = f;
    TW_TRY(tw_tl_sizes_search(&s, h->work.scratch));
    h->stopped |= s.stopped;
    h->open = s.open;
    if (!s.found) return TW_OK;
    h->found = true;
    h->best = s.best;
    h->best_frame = f;
    h->best_orders = s.orders;
    memcpy(h->best_factor, s.best_factor, sizeof h->best_factor);
    return TW_OK;
}

/* Whether sizes that do not divide can be counted along any dimension of any frame. */
static bool can_be_uneven(const hunt *h)
{
    for (int o = 0; o < h->space.n_operands; o++)
        if (h->space.slides[o]) return false;
    return true;
}

static tw_status search_all_sizes(hunt *h, int n, choice *order)
{
    tw_measure measure = h->options->measure;
    for (int f = 0; f < n; f++) {
        if (!tw_tl_price_init(&h->price, &h->space, &h->frame[f])) return TW_OK;
        order[f] = (choice){f, h->price.exact ? tw_tl_sizes_bound(&h->price) : worst};
    }
    qsort_r(order, (size_t)n, sizeof *order, by_value, &measure);
    for (int i = 0; i < n && is_better(h, order[i].least); i++) {
        if (h->stopped) {
            leave_open(h, order[i].least);
            return TW_OK;
        }
        if (tw_tl_price_init(&h->price, &h->space, &h->frame[order[i].at])) TW_TRY(search_sizes(h, order[i].at));
    }
    return TW_OK;
}

/* ---- the result ---- */

static tw_status make_rival(hunt *h, tw_rival **out)
{
    tw_rival_layer *layer;
    tw_loopnest *nest;
    tw_loopnest_loop *loop;
    tw_rival *rival;
    TW_ALLOC(h->work.arena, rival, 1);
    TW_ALLOC(h->work.arena, layer, h->rival->n_layers);
    TW_ALLOC(h->work.arena, nest, 1);
    TW_ALLOC(h->work.arena, loop, 2 * TW_RIVAL_MEMORIES * TW_RIVAL_DIMS);
    write_nest(&h->space, &h->frame[h->best_frame], (const int64_t(*)[TW_RIVAL_DIMS])h->best_factor,
               &h->best_orders, loop, nest);
    memcpy(layer, h->rival->layer, (size_t)h->rival->n_layers * sizeof *layer);
    layer[h->layer].nest = nest;
    *rival = *h->rival;
    rival->layer = layer;
    *out = rival;
    return TW_OK;
}

static tw_status finish(hunt *h, bool cut, tw_rival_found *out)
{
    tw_rival *rival;
    tw_account *account;
    tw_measure measure = h->options->measure;
    TW_TRY(make_rival(h, &rival));
    TW_ALLOC(h->work.arena, account, 1);
    TW_TRY(tw_tl_count(rival, h->layer, h->work, account));
    tw_tl_cost cost = {account->energy_pj, account->cycles};
    assert(fabs(cost.energy_pj - h->best.energy_pj) <= 1e-9 * cost.energy_pj && cost.cycles == h->best.cycles);
    out->account = account;
    out->rival = rival;
    out->value = tw_tl_cost_value(measure, cost);
    out->proven = !h->stopped || !is_better(h, h->open);
    out->bound = out->proven ? out->value : tw_tl_cost_value(measure, h->open);
    out->nodes = h->nodes;
    out->counted = h->counted;
    out->space = cut ? "the first part of the mappings with perfect factors"
                 : h->options->any_sizes && can_be_uneven(h)
                     ? "all mappings that the constraints allow, tiles of any size "
                       "along dimensions that lie over no fan-out"
                     : "all mappings with perfect factors that the constraints allow";
    return TW_OK;
}

static tw_status prepare(hunt *h)
{
    const tw_rival_layer *l = &h->rival->layer[h->layer];
    tw_tl_space_init(&h->space, h->rival, h->layer);
    TW_ALLOC(h->work.arena, h->trial_loop, 2 * TW_RIVAL_MEMORIES * TW_RIVAL_DIMS);
    h->trial_layer = *l;
    h->trial_layer.nest = &h->trial_nest;
    h->trial = *h->rival;
    h->trial.layer = &h->trial_layer;
    h->trial.n_layers = 1;
    return TW_OK;
}

tw_status tw_tl_search(const tw_rival *rival, int layer, const tw_rival_search_options *options, tw_work work,
                       tw_rival_found *out)
{
    hunt *h;
    choice *order;
    int n;
    bool cut;
    TW_ALLOC(work.arena, h, 1);
    *h = (hunt){.rival = rival, .layer = layer, .options = options, .work = work, .best = worst, .open = worst};
    h->pulse.deadline = work.diag->deadline;
    TW_TRY(prepare(h));
    TW_TRY(tw_tl_frames(&h->space, work.arena, work.scratch, &h->frame, &n, &cut));
    TW_ALLOC(work.arena, order, n + 1);
    TW_TRY(sort_frames(h, n, order));
    TW_TRY(search_frames(h, n, order));
    if (options->any_sizes && can_be_uneven(h)) TW_TRY(search_all_sizes(h, n, order));
    if (h->found) return finish(h, cut, out);
    if (h->stopped)
        return tw_diag_stopped(work.diag, rival->layer[layer].loc, "the search for a mapping of '%s'",
                               rival->layer[layer].name);
    return tw_diag_infeasible(work.diag, rival->layer[layer].loc,
                              "no mapping of '%s' keeps to the constraints and fits", rival->layer[layer].name);
}
