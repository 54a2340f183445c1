/* src/search/descend.c - sizes improved step by step with the bound of the closed form: see descend.h. */
#include "search/descend.h"

#include <stdlib.h>
#include <string.h>

static size_t part_bytes(const tw_space *s, const tw_part *p)
{
    return sizeof *p + (size_t)s->frame[p->frame].n_vars * sizeof *p->var;
}

static tw_part *copy_of(const tw_space *s, const tw_part *p)
{
    tw_part *copy = malloc(part_bytes(s, p));
    if (copy) memcpy(copy, p, part_bytes(s, p));
    return copy;
}

/* ---- orders and residencies ---- */

/* What the first objective asks of memory m; where it asks nothing, energy decides, or units where nothing costs energy. */
static tw_price price_at(const tw_space *s, const tw_goals *goals, int m)
{
    enum { ABOVE_ALL = 1 << 20 };
    const tw_goal *goal = &goals->goal[0];
    tw_price price = tw_price_of_energy(s, m), units = tw_price_of_units(s, m, -1);
    bool named = goal->measure == TW_TRAFFIC && tw_goal_crosses(goal, m);
    int64_t sum = 0;
    if (goal->measure == TW_TRAFFIC && goal->engine >= 0 && s->machine->engine[goal->engine].memory == m) {
        units = tw_price_of_units(s, m, goal->engine);
        named = true;
    }
    for (int o = 0; o < s->op->n_operands; o++) sum = tw_sat_add(sum, price.of[o]);
    if (!named && sum > 0) return price;
    for (int o = 0; o < s->op->n_operands; o++) {
        price.of[o] = tw_sat_add(price.of[o] >> 10, tw_sat_mul(units.of[o], ABOVE_ALL));
        price.back = price.of[tw_op_output(s->op)];
    }
    return price;
}

/* How many residencies the loop lies in: the loops of an order stand from few to many. */
static int depth_in(const tw_choice *choice, int k)
{
    int depth = 0;
    for (int r = 0; r < choice->n; r++) depth += choice->inside[choice->sequence[r]] >> k & 1;
    return depth;
}

/* Chooses the order of the level; the loops that it cuts come first in `order`, outermost first. */
static bool put_order(const tw_closed *c, tw_part *p, int order[TW_MAX_LOOPS])
{
    const tw_space *s = c->v->s;
    unsigned cut = 0;
    int n = 0;
    for (int depth = 0; depth <= c->choice.n; depth++)
        for (int k = 0; k < c->n_loops; k++)
            if (depth_in(&c->choice, k) == depth) {
                order[n++] = c->loop[k];
                cut |= 1u << c->loop[k];
            }
    for (int l = 0; l < s->op->n_loops; l++)
        if (!(cut >> l & 1)) order[n++] = l;
    return tw_part_set_order(s, p, c->level, order);
}

/* Loops of the order, counted from the innermost, that lie inside the residency of operand i of the list. */
static int kept_loops(const tw_closed *c, const int *order, int i)
{
    if (c->choice.whole >> i & 1) return c->n_loops;
    for (int at = 0; at < c->n_loops; at++)
        for (int k = 0; k < c->n_loops; k++)
            if (c->loop[k] == order[at] && (c->choice.inside[i] >> k & 1)) return c->n_loops - at;
    return 0;
}

/* Units of operand i of the list when `kept` loops are inside its residency. */
static int64_t units_kept(const tw_closed *c, const int *order, int i, int kept)
{
    const tw_space *s = c->v->s;
    int64_t units = c->v->slot_units[c->level][c->operand[i]];
    int at = c->n_loops - kept;
    while (at < c->n_loops && tw_space_depends(s, c->operand[i], order[at]))
        at++; /* each of their tiles comes once */
    for (; at < c->n_loops; at++) {
        int64_t piece = tw_part_piece(s, c->v->p, c->level, order[at]), size = c->v->lo[c->level][order[at]];
        if (tw_space_depends(s, c->operand[i], order[at])) units = tw_sat_mul(units, tw_cdiv(piece, size));
    }
    return units;
}

/* Puts each residency into the innermost memory of the level that has room for it. Single tiles stay in all of them. */
static void put_keeps(const tw_closed *c, tw_part *p, const int order[TW_MAX_LOOPS])
{
    const tw_space *s = c->v->s;
    int64_t left[TW_MAX_MEMORIES];
    for (int m = 1; m < s->machine->n_memories; m++) {
        left[m] = s->machine->memory[m].size == TW_UNLIMITED ? INT64_MAX : s->machine->memory[m].size;
        for (int o = 0; o < s->op->n_operands && left[m] < INT64_MAX; o++)
            if (tw_space_holds(s, m, o)) left[m] -= c->v->slot_units[c->v->f->grain[m]][o];
    }
    for (int i = 0; i < c->n; i++) {
        int o = c->operand[i], kept = kept_loops(c, order, i);
        int64_t one = c->v->slot_units[c->level][o], all = units_kept(c, order, i, kept);
        for (int m = s->machine->n_memories - 1; m >= c->memory; m--) {
            if (c->v->f->grain[m] != c->level || !tw_space_holds(s, m, o)) continue;
            int var = tw_var_keep(s, c->v->f, m, o);
            p->var[var] = (tw_range){0, 0};
            while (kept > 0 && !tw_part_may_choose(s, p, var, kept)) kept--; /* longer would be no different */
            if (all - one > left[m]) continue;
            p->var[var] = (tw_range){kept, kept};
            if (left[m] < INT64_MAX) left[m] -= all - one;
            if (all > one) kept = 0, all = one; /* further out it passes */
        }
    }
}

/* The outermost memory whose tiles level t cuts. */
static int memory_of(const tw_space *s, const tw_frame *f, int t)
{
    int m = 1;
    while (m < s->machine->n_memories - 1 && f->grain[m] != t) m++;
    return m;
}

static bool complete(const tw_space *s, const tw_goals *goals, const tw_part *sized, tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    tw_view v;
    tw_closed c;
    tw_view_of(s, sized, NULL, &v);
    for (int t = 0; t < f->n_tiled; t++) {
        int m = memory_of(s, f, t), order[TW_MAX_LOOPS];
        tw_price price = price_at(s, goals, m);
        if (!tw_closed_of(&v, m, &c) || tw_closed_least(&c, &price) == INT64_MAX) return false;
        if (!put_order(&c, p, order)) return false;
        put_keeps(&c, p, order);
    }
    return tw_part_complete(s, p);
}

tw_status tw_closed_complete(const tw_space *s, const tw_goals *goals, const tw_part *sized, tw_part **out)
{
    *out = copy_of(s, sized);
    if (!*out) return TW_ERR_NOMEM;
    if (complete(s, goals, sized, *out)) return TW_OK;
    free(*out);
    *out = NULL;
    return TW_OK;
}

/* ---- sizes ---- */

typedef struct state {
    tw_descent *d;
    const tw_frame *f;
    tw_part *now, *next, *tried; /* tried: for the question whether sizes are allowed */
    bool fits;
    tw_goal_value value;
} state;

static void set_size(const state *st, tw_part *p, int t, int l, int64_t size)
{
    const tw_space *s = st->d->space;
    tw_range to = {(int32_t)size, (int32_t)size};
    p->var[tw_var_size(s, t, l)] = to;
    for (int i = 0; i < st->f->n_tiled; i++) { /* what is outside is as large, what is inside no larger */
        tw_range *r = &p->var[tw_var_size(s, i, l)];
        if ((i < t && r->lo < size) || (i > t && r->lo > size)) *r = to;
    }
}

static bool is_allowed(const state *st, const tw_part *p)
{
    memcpy(st->tried, p, part_bytes(st->d->space, p));
    return tw_part_complete(st->d->space, st->tried);
}

/* Takes the neighbour if it is better. */
static bool look(state *st)
{
    const tw_space *s = st->d->space;
    tw_part_bounds least = {0};
    st->d->looks--;
    tw_part_least(s, st->next, &least);
    if (!least.feasible) return false;
    tw_goal_value value = tw_goals_value(st->d->goals, &least.cost);
    if (st->fits && tw_value_compare(st->d->goals, &value, &st->value) >= 0) return false;
    if (!is_allowed(st, st->next)) return false;
    st->fits = true;
    st->value = value;
    tw_part *was = st->now;
    st->now = st->next;
    st->next = was;
    return true;
}

static void begin_step(state *st) { memcpy(st->next, st->now, part_bytes(st->d->space, st->now)); }

/* Lengths next to one, those that divide the piece outside among them. */
static int list_sizes(const state *st, int t, int l, int64_t to[8])
{
    const tw_space *s = st->d->space;
    int64_t size = st->now->var[tw_var_size(s, t, l)].lo, len = s->op->loop[l].extent;
    int64_t piece = tw_part_piece(s, st->now, t, l), n = tw_cdiv(piece, size);
    const int64_t all[] = {
        size * 2, size / 2, size + 1, size - 1, tw_cdiv(piece, n + 1), n > 1 ? tw_cdiv(piece, n - 1) : len, len};
    int count = 0;
    for (size_t i = 0; i < TW_COUNT(all); i++)
        if (all[i] >= 1 && all[i] <= len && all[i] != size) to[count++] = all[i];
    return count;
}

static bool is_over(const state *st) { return st->d->looks <= 0 || st->d->stopped(st->d->user); }

static bool step_one(state *st)
{
    bool moved = false;
    for (int t = st->f->n_tiled - 1; t >= 0; t--)
        for (int l = 0; l < st->d->space->op->n_loops && !is_over(st); l++) {
            int64_t to[8];
            int n = list_sizes(st, t, l, to);
            for (int i = 0; i < n; i++) {
                begin_step(st);
                set_size(st, st->next, t, l, to[i]);
                moved |= look(st);
            }
        }
    return moved;
}

/* One loop longer and another one shorter, at one level. */
static bool step_two(state *st)
{
    const tw_space *s = st->d->space;
    for (int t = st->f->n_tiled - 1; t >= 0; t--)
        for (int a = 0; a < s->op->n_loops; a++)
            for (int b = 0; b < s->op->n_loops && !is_over(st); b++) {
                int64_t to_a[8], to_b[8];
                if (a == b) continue;
                int n_a = list_sizes(st, t, a, to_a), n_b = list_sizes(st, t, b, to_b);
                for (int i = 0; i < n_a; i++)
                    for (int k = 0; k < n_b; k++) {
                        bool longer = to_a[i] > st->now->var[tw_var_size(s, t, a)].lo;
                        if (!longer || to_b[k] > st->now->var[tw_var_size(s, t, b)].lo) continue;
                        begin_step(st);
                        set_size(st, st->next, t, a, to_a[i]);
                        set_size(st, st->next, t, b, to_b[k]);
                        if (look(st)) return true;
                    }
            }
    return false;
}

/* Halves the longest loop of the innermost level that does not fit, until it fits. */
static void shrink(state *st)
{
    const tw_space *s = st->d->space;
    begin_step(st);
    for (int i = 0; i < 64 * TW_MAX_LOOPS && !is_over(st); i++) {
        tw_part_bounds least = {0};
        tw_part_least(s, st->next, &least);
        if (least.feasible && is_allowed(st, st->next)) {
            look(st);
            return;
        }
        int t = st->f->n_tiled - 1 - i % st->f->n_tiled, longest = 0;
        for (int l = 1; l < s->op->n_loops; l++)
            if (st->next->var[tw_var_size(s, t, l)].lo > st->next->var[tw_var_size(s, t, longest)].lo) longest = l;
        set_size(st, st->next, t, longest, tw_cdiv(st->next->var[tw_var_size(s, t, longest)].lo, 2));
        st->d->looks--;
    }
}

/* Only sizes are chosen, so that the bound is that of the best order and residencies. */
static void open_choices(const state *st, tw_part *p)
{
    for (int i = st->f->rule; i < st->f->n_vars; i++) p->var[i] = (tw_range){0, INT32_MAX};
}

tw_status tw_descend(tw_descent *d, const tw_part *start, tw_part **out)
{
    const tw_space *s = d->space;
    state st = {.d = d, .f = &s->frame[start->frame]};
    *out = NULL;
    st.now = copy_of(s, start);
    st.next = copy_of(s, start);
    st.tried = copy_of(s, start);
    tw_status status = st.now && st.next && st.tried ? TW_OK : TW_ERR_NOMEM;
    if (status == TW_OK) {
        open_choices(&st, st.now);
        shrink(&st);
        while (st.fits && !is_over(&st) && (step_one(&st) || step_two(&st))) continue;
        if (st.fits) *out = st.now, st.now = NULL;
    }
    free(st.now);
    free(st.next);
    free(st.tried);
    return status;
}
