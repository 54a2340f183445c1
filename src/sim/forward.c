/* src/sim/forward.c - see forward.h. */
#include "sim/forward.h"

#include <string.h>

#include "tile/box.h"

enum {
    FEWEST_ROUNDS = 6,      /* a place that turns less often is not worth looking at */
    MOST_LOOKS = 200,       /* a program that has not settled by then will not       */
    LONG_ROUND = 1000,      /* in a round of so many steps shorter ones are looked for, too */
    MOST_BUFFERS = 1 << 14, /* larger states are not worth comparing             */
    MOST_PARTS = 1 << 12,   /* nor so many tiles of partial sums in a round      */
    CHEAP = 8,              /* so many moments are written down and compared in the time of an instruction */
};

/* ---- which place ---- */

static bool depends_on(const tw_axis *axis, int loop)
{
    for (int i = 0; i < axis->n_terms; i++)
        if (axis->term[i].loop == loop) return true;
    return false;
}

/* Whether what a tile of the operand has depends only on how long a piece of the loop is, not on where: along other axes the tiles of all rounds are the
 * same. What slides brings what the tile before has not. */
static bool is_even(const tw_flow_cursor *c, int o, int loop)
{
    const tw_op *op = c->program->op;
    const tw_operand *operand = &op->operand[o];
    if (c->simple >> o & 1) return true;
    for (int m = 1; m < c->program->machine->n_memories; m++)
        if (c->flow->residency[m][o].here && c->flow->residency[m][o].asks > 0) return false;
    for (int a = 0; a < operand->n_axes; a++)
        if (depends_on(&operand->axis[a], loop) && tw_axis_is_clipped(op, &operand->axis[a])) return false;
    return true;
}

static bool is_uniform(const tw_flow_cursor *c, int loop)
{
    for (int o = 0; o < c->program->op->n_operands; o++)
        if ((c->program->loops[o] >> loop & 1) && !is_even(c, o, loop)) return false;
    return true;
}

/* How tiles of the output are numbered that leave unfinished and come back, NULL: none do. */
static const int64_t *numbers_of_parts(const tw_flow_cursor *c)
{
    const tw_residency *tensor = &c->flow->residency[0][tw_op_output(c->program->op)];
    return tensor->returns ? tensor->stride : NULL;
}

/* Tiles of partial sums that a round of the place may touch. */
static int64_t count_parts(const tw_flow_cursor *c, int place)
{
    const int64_t *number = numbers_of_parts(c);
    int64_t n = number != NULL;
    for (int p = place + 1; number && p < c->flow->n_places && n <= MOST_PARTS; p++)
        if (number[p] > 0) n *= c->flow->trips[p];
    return n;
}

/* The first place from `from` on whose rounds are alike, -1: none. */
static int choose_place(const tw_flow_cursor *c, int from)
{
    const tw_flow *flow = c->flow;
    if (c->program->layout.n_buffers > MOST_BUFFERS) return -1;
    if (flow->serpentine) return -1;
    for (int p = from; p < flow->n_places; p++)
        if (flow->trips[p] >= FEWEST_ROUNDS && is_uniform(c, flow->place[p].loop) &&
            count_parts(c, p) <= MOST_PARTS)
            return p;
    return -1;
}

static bool has_long_rounds(const tw_flow *flow, int place)
{
    int64_t steps = 1;
    for (int p = place + 1; p < flow->n_places && steps < LONG_ROUND; p++) steps *= flow->trips[p];
    return steps >= LONG_ROUND;
}

static int64_t count_moments(const tw_async *s)
{
    int64_t n = 1;
    for (int e = 0; e < s->n_engines; e++) n += s->engine[e].count;
    if (s->behind) n += 2 * (int64_t)s->n_pools;
    return n + 3 * (int64_t)s->n_buffers; /* there, unused, given back */
}

static tw_status new_snapshot(const tw_forward *f, tw_snapshot **out, tw_arena *arena)
{
    tw_snapshot *s;
    TW_ALLOC(arena, s, 1);
    *out = s;
    TW_ALLOC(arena, s->at, f->room);
    TW_ALLOC(arena, s->share, f->room * f->sim->width);
    TW_ALLOC(arena, s->due, f->n_parts + 1);
    return TW_OK;
}

/* Which tiles of partial sums a round touches. */
static tw_status number_parts(tw_forward *f, tw_arena *arena)
{
    const tw_flow *flow = f->cursor->flow;
    const int64_t *number = numbers_of_parts(f->cursor);
    TW_ALLOC(arena, f->part, f->n_parts + 1);
    if (!number) return TW_OK;
    int64_t n = 1;
    for (int p = f->place + 1; p < flow->n_places; p++) {
        if (number[p] == 0) continue;
        for (int64_t i = n; i < n * flow->trips[p]; i++) f->part[i] = f->part[i % n] + i / n * number[p];
        n *= flow->trips[p];
    }
    f->next_part = number[f->place];
    return TW_OK;
}

static tw_status new_forward(tw_async *sim, tw_flow_cursor *cursor, int place, tw_arena *arena, tw_forward **out)
{
    tw_forward *f;
    TW_ALLOC(arena, f, 1);
    *f = (tw_forward){.sim = sim,
                      .cursor = cursor,
                      .place = place,
                      .least_start = INT64_MAX,
                      .n_parts = count_parts(cursor, place)};
    f->room = count_moments(sim) + f->n_parts;
    TW_TRY(number_parts(f, arena));
    TW_TRY(new_snapshot(f, &f->before, arena));
    TW_TRY(new_snapshot(f, &f->now, arena));
    TW_ALLOC(arena, f->growth, f->room * sim->width);
    TW_ALLOC(arena, f->slot, f->room);
    TW_ALLOC(arena, f->path, f->room);
    *out = f;
    return TW_OK;
}

tw_status tw_forward_new(tw_async *sim, tw_flow_cursor *cursor, tw_timeline *total, tw_arena *arena,
                         tw_forward **out)
{
    *out = NULL;
    sim->least_start = INT64_MAX;
    for (int place = choose_place(cursor, 0); place >= 0;) {
        TW_TRY(new_forward(sim, cursor, place, arena, out));
        (*out)->total = total;
        out = &(*out)->inside;
        place = has_long_rounds(cursor->flow, place) ? choose_place(cursor, place + 1) : -1;
    }
    return TW_OK;
}

/* ---- a snapshot ---- */

static void add(tw_forward *f, int64_t *at, int64_t *path)
{
    tw_snapshot *now = f->now;
    int width = f->sim->width;
    assert(now->n < f->room);
    now->at[now->n] = *at;
    if (path)
        memcpy(now->share + now->n * width, path, (size_t)width * sizeof *path);
    else if (width > 0)
        memset(now->share + now->n * width, 0, (size_t)width * sizeof *path);
    f->slot[now->n] = at;
    f->path[now->n++] = path;
}

static void add_moment(tw_forward *f, tw_moment *m)
{
    add(f, &m->at, tw_async_is_brief(f->sim) ? NULL : tw_path_of(f->sim, m));
}

/* Units that take turns, the next one first. */
static void add_units(tw_forward *f)
{
    const tw_async *s = f->sim;
    for (int e = 0; e < s->n_engines; e++) {
        int64_t count = s->engine[e].count, next = count > 1 ? f->cursor->turn[e] % count : 0;
        for (int64_t i = 0; i < count; i++) add_moment(f, &s->unit_free[e][(next + i) % count]);
    }
}

/* Where the last windows of a circular buffer lie, seen from its last row: which of them the next ones wait for. */
static uint64_t print_windows(const tw_past_windows *past, int64_t credits)
{
    uint64_t print = (uint64_t)tw_min(past->n, credits);
    for (int64_t i = tw_max(past->over, past->n - credits); i < past->n; i++)
        print = (print ^ (uint64_t)(past->end - past->first[i % credits])) * UINT64_C(0x9e3779b97f4a7c15);
    return print ^ (uint64_t)(past->n - past->over);
}

/* Free slots in the order in which they will be taken, held ones in the order of their tiles. What is resident is never
 * taken from the ring: its buffer stands there too, but each moment is written down, and moved, once. */
static void add_pool(tw_forward *f, int m, int o)
{
    const tw_async *s = f->sim;
    const tw_flow_cursor *c = f->cursor;
    const tw_residency *residency = &c->flow->residency[m][o];
    if (!residency->here) return;
    for (int64_t i = 0; i < residency->n_tiles; i++) {
        int32_t buffer = c->where[m][o][i];
        if (buffer < 0) continue;
        add_moment(f, &s->there[buffer]);
        add_moment(f, &s->unused[buffer]);
    }
    if (residency->pool != o || residency->resident) return;
    const tw_free_ring *ring = &c->ring[m][o];
    if (residency->slides) {
        add_moment(f, &s->behind[m * TW_MAX_OPERANDS + o]);
        add_moment(f, &s->came[m * TW_MAX_OPERANDS + o]);
    }
    if (residency->slides) f->now->windows[m][o] = print_windows(&c->past[m][o], ring->n);
    f->now->n_free[m][o] = ring->n_free;
    for (int32_t i = 0, at = ring->head; i < ring->n_free; i++, at = at + 1 < ring->n ? at + 1 : 0)
        add_moment(f, &s->unused[ring->slot[at]]);
    if (tw_async_is_brief(s)) return;
    tw_pool_watch *w = &f->sim->pool[m * TW_MAX_OPERANDS + o];
    f->now->n_out[m][o] = w->n_out;
    for (int i = 0; i < w->slots; i++) add(f, &w->given_at[(w->next + i) % w->slots], NULL);
}

/* The tile of partial sums that is touched as number i of the round that stands `away` from the one to come. */
static tw_moment *part_of(const tw_forward *f, int64_t i, int64_t away)
{
    const tw_flow_cursor *c = f->cursor;
    const int64_t *number = numbers_of_parts(c);
    int64_t at = f->part[i] + away * f->next_part;
    for (int p = 0; p <= f->place; p++) at += number[p] * c->index[p];
    return &f->sim->returned[at];
}

static bool has_own_parts(const tw_forward *f) { return f->n_parts > 0 && f->next_part > 0; }

static void add_parts(tw_forward *f)
{
    bool own = has_own_parts(f);
    for (int64_t i = 0; i < f->n_parts; i++) {
        tw_moment *m = part_of(f, i, 0);
        if (own)
            f->now->due[i] = m->at;
        else
            add_moment(f, m);
    }
}

static void take_snapshot(tw_forward *f)
{
    const tw_flow_cursor *c = f->cursor;
    tw_flow_place place = c->flow->place[f->place];
    f->now->n = 0;
    add_units(f);
    for (int m = 1; m < c->program->machine->n_memories; m++)
        for (int o = 0; o < c->program->op->n_operands; o++) add_pool(f, m, o);
    add_parts(f);
    add_moment(f, &f->sim->last);
    f->now->len = tw_span_len(c->tile[place.level].span[place.loop]);
    f->now->step = c->step;
    f->now->total = *f->total;
}

/* ---- comparing and skipping ---- */

/* How a state is that of a round ago, *delta later. */
typedef enum likeness {
    OTHER,
    IN_TIME, /* all moments are, their paths not yet                                       */
    ALIKE,   /* paths too: all grew by the same shares, or each by what it grew by a round ago */
} likeness;

static int64_t commands_of(const tw_engine_use *use) { return use->loads + use->stores + use->ops; }

/* Whether all units of engines that ran in the round have moved. A unit that stands free since long decides nothing, but how long it has
 * stood is counted when its turn comes, and grows from round to round. Units stand first in a snapshot. */
static bool units_moved(const tw_forward *f)
{
    const tw_snapshot *a = f->before, *b = f->now;
    int64_t i = 0;
    for (int e = 0; e < f->sim->n_engines; e++) {
        bool ran = commands_of(&a->total.engine[e]) != commands_of(&b->total.engine[e]);
        for (int64_t end = i + f->sim->engine[e].count; i < end; i++)
            if (ran && a->at[i] == b->at[i]) return false;
    }
    return true;
}

/* Writes down what each path grew by. */
static likeness compare(tw_forward *f, int64_t *delta)
{
    const tw_snapshot *a = f->before, *b = f->now;
    int width = f->sim->width;
    const int64_t *first = NULL; /* of those that have moved: all others must like it */
    bool moved = false, same = true, again = f->grows;
    if (a->n != b->n || a->len != b->len || memcmp(a->n_free, b->n_free, sizeof a->n_free) != 0 ||
        memcmp(a->n_out, b->n_out, sizeof a->n_out) != 0 || memcmp(a->windows, b->windows, sizeof a->windows) != 0)
        return OTHER;
    *delta = b->at[b->n - 1] - a->at[a->n - 1]; /* the last moment of all */
    if (!units_moved(f)) return OTHER;
    for (int64_t i = 0; i < b->n; i++) {
        if (b->at[i] == a->at[i] && b->at[i] < f->least_start) continue;
        if (b->at[i] - a->at[i] != *delta) return OTHER;
        if (width > 0 && !f->path[i]) continue;
        const int64_t *x = a->share + i * width, *y = b->share + i * width;
        int64_t *growth = f->growth + i * width;
        for (int e = 0; e < width; e++) {
            again = again && growth[e] == y[e] - x[e];
            growth[e] = y[e] - x[e];
            same = same && (!first || growth[e] == first[e]);
        }
        if (!first) first = growth;
        moved = true;
    }
    f->same = same;
    return !moved ? OTHER : same || again ? ALIKE : IN_TIME;
}

/* Of n rounds ahead those before the first one that might wait for partial sums, none if the last round might have. */
static int64_t rounds_without_waits(const tw_forward *f, int64_t n)
{
    if (!has_own_parts(f)) return n;
    for (int64_t i = 0; i < f->n_parts; i++) {
        bool set = part_of(f, i, -1)->at != f->before->due[i];
        if (f->before->due[i] >= f->least_start || (set && !f->same && f->sim->width > 0)) return 0;
    }
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < f->n_parts; i++)
            if (part_of(f, i, r)->at >= f->least_start) return r;
    return n;
}

/* What the last round has set of its tiles of partial sums the next n rounds set of theirs. */
static void repeat_parts(tw_forward *f, int64_t n, int64_t delta)
{
    const tw_async *s = f->sim;
    const int64_t *growth = f->growth + (f->now->n - 1) * s->width;
    for (int64_t i = 0; i < f->n_parts && has_own_parts(f); i++) {
        const tw_moment *last = part_of(f, i, -1);
        if (last->at == f->before->due[i]) continue;
        for (int64_t r = 0; r < n; r++) {
            tw_moment *m = part_of(f, i, r);
            m->at = last->at + (r + 1) * delta;
            for (int e = 0; e < s->width; e++) tw_path_of(s, m)[e] = tw_path_of(s, last)[e] + (r + 1) * growth[e];
        }
    }
}

/* Rounds ahead whose tiles are as long as that of the last one, less one so that the place does not end here. */
static int64_t rounds_ahead(const tw_forward *f)
{
    const tw_flow_cursor *c = f->cursor;
    tw_flow_place place = c->flow->place[f->place];
    tw_span piece = place.level > 0 ? c->tile[place.level - 1].span[place.loop]
                                    : (tw_span){0, c->program->op->loop[place.loop].extent};
    tw_split s = tw_level_split(c->program->tiled[place.level].map, place.loop, tw_span_len(piece));
    int64_t at = c->ordinal[f->place], alike = s.extra > at ? s.extra : s.count;
    int64_t last = tw_span_len(tw_split_at(&s, 0, alike - 1));
    if (last != f->now->len) alike--; /* the rest that a greedy cut leaves */
    return tw_max(alike - at - 1, 0);
}

/* Adds n times what a count has grown by. */
static bool repeat(int64_t *to, int64_t from, int64_t n)
{
    int64_t more;
    return tw_ckd_mul(*to - from, n, &more) && tw_ckd_add(*to, more, to);
}

static bool repeat_engine(tw_engine_use *u, const tw_engine_use *v, int64_t n)
{
    return repeat(&u->loads, v->loads, n) && repeat(&u->load_units, v->load_units, n) &&
           repeat(&u->stores, v->stores, n) && repeat(&u->store_units, v->store_units, n) &&
           repeat(&u->ops, v->ops, n) && repeat(&u->busy_cycles, v->busy_cycles, n) &&
           repeat(&u->wait_data, v->wait_data, n) && repeat(&u->wait_credit, v->wait_credit, n);
}

static bool repeat_link(tw_link_count *u, const tw_link_count *v, int64_t n)
{
    return repeat(&u->transfers, v->transfers, n) && repeat(&u->units, v->units, n) &&
           repeat(&u->loads, v->loads, n) && repeat(&u->load_units, v->load_units, n) &&
           repeat(&u->partial_stores, v->partial_stores, n) && repeat(&u->partial_units, v->partial_units, n);
}

/* False when a total leaves 64 bits. */
static bool repeat_totals(tw_timeline *t, const tw_timeline *before, int64_t n, int n_engines)
{
    bool fits = repeat(&t->sum.execs, before->sum.execs, n) && repeat(&t->sum.macs, before->sum.macs, n) &&
                repeat(&t->sum.instructions, before->sum.instructions, n);
    for (int e = 0; e < n_engines && fits; e++) fits = repeat_engine(&t->engine[e], &before->engine[e], n);
    for (int m = 0; m < TW_MAX_MEMORIES; m++)
        for (int o = 0; o < TW_MAX_OPERANDS && fits; o++)
            fits = repeat_link(&t->link[m][o], &before->link[m][o], n) &&
                   repeat(&t->pool[m][o].wait_cycles, before->pool[m][o].wait_cycles, n) &&
                   repeat(&t->no_data[m][o], before->no_data[m][o], n) &&
                   repeat(&t->no_credit[m][o], before->no_credit[m][o], n);
    return fits && repeat(&t->idle.late, before->idle.late, n) &&
           repeat(&t->idle.contended, before->idle.contended, n);
}

static bool skip(tw_forward *f, int64_t n, int64_t delta)
{
    int64_t ahead;
    tw_timeline total = *f->total;
    if (!tw_ckd_mul(delta, n, &ahead) || ahead > INT64_MAX / 8) return false;
    if (!repeat_totals(&total, &f->before->total, n, f->sim->n_engines)) return false;
    *f->total = total;
    repeat_parts(f, n, delta);
    for (int64_t i = 0; i < f->now->n; i++) {
        if (f->now->at[i] == f->before->at[i]) continue;
        *f->slot[i] += ahead;
        for (int e = 0; f->path[i] && e < f->sim->width; e++) f->path[i][e] += n * f->growth[i * f->sim->width + e];
    }
    tw_flow_cursor_skip(f->cursor, f->place, n, n * (f->now->step - f->before->step));
    return true;
}

/* Pays for looks with the instructions since the last call; whether they are paid for. */
static bool has_paid(tw_forward *f)
{
    int64_t done = f->total->sum.instructions;
    f->owed = tw_max(0, f->owed - (done - f->seen));
    f->seen = done;
    return f->owed == 0;
}

/* Keeps the state to compare the next one with, unless comparing has become dearer than simulating: then later ones. */
static void keep_snapshot(tw_forward *f, bool compared)
{
    tw_snapshot *swap = f->before;
    f->before = f->now;
    f->now = swap;
    f->full = !compared || f->owed == 0;
}

static int64_t look(tw_forward *f)
{
    int64_t delta;
    bool may_look = has_paid(f) || f->full;
    if (f->n_looks >= MOST_LOOKS || !may_look) return 0;
    f->n_looks++;
    take_snapshot(f);
    int64_t work = tw_cdiv(f->now->n, CHEAP);
    f->owed += work;
    bool of_one_sweep = f->full && f->cursor->ordinal[f->place] >= 2;
    likeness found = of_one_sweep ? compare(f, &delta) : OTHER;
    int64_t n = found == ALIKE ? rounds_without_waits(f, rounds_ahead(f)) : 0;
    if (n > 0 && skip(f, n, delta)) {
        f->n_looks = 0;
        f->full = f->grows = false;
        f->owed = 0;
    } else {
        bool once_more =
            found == IN_TIME && !f->grows; /* the next round, which tells whether paths go on like this */
        keep_snapshot(f, of_one_sweep && !once_more);
        f->grows = found == IN_TIME && f->full;
    }
    f->seen = f->total->sum.instructions;
    f->least_start = INT64_MAX;
    return work;
}

int64_t tw_forward_look(tw_forward *outermost)
{
    tw_forward *f = outermost;
    while (f && f->place != f->cursor->moved) f = f->inside;
    if (!f) return 0;
    for (tw_forward *g = outermost; g; g = g->inside) g->least_start = tw_min(g->least_start, g->sim->least_start);
    f->sim->least_start = INT64_MAX;
    return look(f);
}
