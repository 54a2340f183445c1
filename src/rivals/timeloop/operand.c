/* src/rivals/timeloop/operand.c - the flows of one operand in closed form, see operand.h for the rules.
 *
 * Boxes are vectors over the operand's axes: sizes and moves. Nothing here walks iterations; children are walked only where
 * several of their loops move the same axis, so that their shifts may coincide, or where links are possible. */
#include "rivals/timeloop/operand.h"

#include <string.h>

typedef struct vec {
    int64_t at[TW_RIVAL_RANKS];
} vec;

typedef struct loop_step {
    int64_t bound;
    vec step;
    bool moves;
} loop_step;

/* All that is known about the loops around one memory's children. */
typedef struct tower {
    const tw_tl_case *c;
    const tw_einsum_operand *operand;
    int n_ranks;
    int n_time; /* loops over time outside of the children, outermost first */
    loop_step *time;
    int n_space; /* loops over the fan-out, outermost first                 */
    loop_step space[TW_RIVAL_DIMS];
    vec tile;      /* sizes of a child's box      */
    double volume; /* words of it                 */
    bool always;   /* the array: it keeps nothing */
} tower;

static bool is_zero(const tower *t, const vec *v)
{
    for (int r = 0; r < t->n_ranks; r++)
        if (v->at[r] != 0) return false;
    return true;
}
static bool is_equal(const tower *t, const vec *a, const vec *b)
{
    return memcmp(a->at, b->at, (size_t)t->n_ranks * sizeof a->at[0]) == 0;
}

/* Where an iteration of a loop over `dim`, inside of which `inner` iterations are one, moves the operand's box. */
static vec step_of(const tower *t, int dim, int64_t inner)
{
    vec step = {0};
    for (int r = 0; r < t->n_ranks; r++)
        for (int i = 0; i < t->operand->rank[r].n_terms; i++)
            if (t->operand->rank[r].term[i].dim == dim)
                step.at[r] += t->operand->rank[r].term[i].coefficient * inner;
    return step;
}

/* ---- time ---- */

/* The move of the box when loop i steps. */
static vec move_of(const tower *t, int i)
{
    vec move = t->time[i].step;
    for (int j = i + 1; j < t->n_time; j++)
        for (int r = 0; r < t->n_ranks; r++) move.at[r] -= t->time[j].step.at[r];
    return move;
}

static int innermost_mover(const tower *t)
{
    int k = t->n_time - 1;
    while (k >= 0 && !t->time[k].moves) k--;
    return k;
}

/* Words of the box that are not in the one before, which was `move` away. */
static double entering(const tower *t, const vec *move)
{
    double overlap = 1;
    for (int r = 0; r < t->n_ranks; r++)
        overlap *= (double)tw_max(0, t->tile.at[r] - (move->at[r] < 0 ? -move->at[r] : move->at[r]));
    return t->volume - overlap;
}

typedef struct change { /* what a step of a loop brings */
    vec move;
    double words;
    bool whole; /* all of the box */
} change;

static change change_of(const tower *t, int i, int k)
{
    change c = {.move = move_of(t, i), .words = t->volume};
    if (!t->always && (i > k || is_zero(t, &c.move)))
        c.words = 0;
    else if (!t->always && is_equal(t, &c.move, &t->time[k].step))
        c.words = entering(t, &c.move);
    c.whole = c.words == t->volume;
    return c;
}

/* ---- children ---- */

/* Shifts of all children in a row, the innermost loop fastest. */
static int64_t list_shifts(const tower *t, vec *shift)
{
    int64_t n = 1;
    shift[0] = (vec){0};
    for (int l = 0; l < t->n_space; l++) {
        for (int64_t e = n - 1; e >= 0; e--)
            for (int64_t i = t->space[l].bound - 1; i >= 0; i--)
                for (int r = 0; r < t->n_ranks; r++)
                    shift[e * t->space[l].bound + i].at[r] = shift[e].at[r] + i * t->space[l].step.at[r];
        n *= t->space[l].bound;
    }
    return n;
}

static uint64_t hash(const tower *t, const vec *v)
{
    uint64_t h = 0;
    for (int r = 0; r < t->n_ranks; r++) h = (h ^ (uint64_t)v->at[r]) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

typedef struct crowd { /* the children of a memory one by one; room for them is the caller's */
    int64_t n;
    vec *shift;
    int32_t *slot; /* of a hash table of n_slots: the child, -1 */
    int64_t n_slots;
    bool *linked;
} crowd;

/* How many different shifts there are among the children that are not linked. */
static int64_t count_different(const tower *t, const crowd *c)
{
    int64_t n = 0;
    memset(c->slot, 0xff, (size_t)c->n_slots * sizeof *c->slot);
    for (int64_t e = 0; e < c->n; e++) {
        if (c->linked && c->linked[e]) continue;
        uint64_t at = hash(t, &c->shift[e]) & (uint64_t)(c->n_slots - 1);
        while (c->slot[at] >= 0 && !is_equal(t, &c->shift[c->slot[at]], &c->shift[e]))
            at = (at + 1) & (uint64_t)(c->n_slots - 1);
        if (c->slot[at] >= 0) continue;
        c->slot[at] = (int32_t)e;
        n++;
    }
    return n;
}

/* Whether two loops over the fan-out move the same axis. */
static bool axes_are_shared(const tower *t)
{
    for (int r = 0; r < t->n_ranks; r++) {
        int n = 0;
        for (int l = 0; l < t->n_space; l++) n += t->space[l].step.at[r] != 0;
        if (n > 1) return true;
    }
    return false;
}

static int64_t n_children(const tower *t)
{
    int64_t n = 1;
    for (int l = 0; l < t->n_space; l++) n *= t->space[l].bound;
    return n;
}

/* ---- links ---- */

typedef struct grid { /* as the tool numbers the children: rows of the fan-out's width, used or not */
    int64_t width, height;
} grid;

static bool had(const tower *t, const crowd *c, const vec *wanted, int64_t e)
{
    return e >= 0 && e < c->n && is_equal(t, &c->shift[e], wanted);
}

/* Marks the children whose part a neighbour had before the box moved; returns how many. */
static int64_t link_children(const tower *t, const crowd *c, grid g, const vec *move)
{
    int64_t n = 0;
    for (int64_t e = 0; e < c->n; e++) {
        int64_t h = e % g.width, v = e / g.width;
        vec wanted = c->shift[e];
        for (int r = 0; r < t->n_ranks; r++) wanted.at[r] += move->at[r];
        c->linked[e] =
            v < g.height &&
            ((v > 0 && had(t, c, &wanted, e - g.width)) || (v + 1 < g.height && had(t, c, &wanted, e + g.width)) ||
             (h > 0 && had(t, c, &wanted, e - 1)) || (h + 1 < g.width && had(t, c, &wanted, e + 1)));
        n += c->linked[e];
    }
    return n;
}

typedef struct linker {
    const tower *t;
    const crowd *c;
    grid g;
    int64_t different; /* shifts of all children */
    tw_tl_flow *flow;
} linker;

/* Adds `times` steps that bring `now` after a step that brought `before`. */
static void add_step(const linker *l, double times, const change *before, const change *now)
{
    if (now->words == 0) return;
    int64_t linked = 0, different = l->different;
    if (before->words > 0 && before->words == now->words && before->whole == now->whole) {
        linked = link_children(l->t, l->c, l->g, &now->move);
        if (linked > 0) different = count_different(l->t, l->c);
        memset(l->c->linked, 0, (size_t)l->c->n * sizeof *l->c->linked);
    }
    if (linked > 0 && different >= l->different) {
        linked = 0;
        different = l->different;
    }
    l->flow->accesses += times * now->words * (double)different;
    l->flow->received += times * now->words * (double)(l->c->n - linked);
    l->flow->links += times * now->words * (double)linked;
}

/* All steps, each with the one before it: before a loop steps, the innermost one did, and before that one begins anew the loop
 * whose step made it so. */
static void add_linked(const linker *l)
{
    const tower *t = l->t;
    int k = innermost_mover(t), last = t->n_time - 1;
    change start = {.words = t->volume, .whole = true};
    change inner = last >= 0 ? change_of(t, last, k) : start;
    double rounds = 1, again = last >= 0 ? (double)(t->time[last].bound - 1) : 0;
    l->flow->accesses = t->volume * (double)l->different;
    l->flow->received = t->volume * (double)l->c->n;
    if (last >= 0) add_step(l, again, &start, &inner);
    for (int i = 0; i < last; i++) {
        change c = change_of(t, i, k);
        double times = rounds * (double)(t->time[i].bound - 1);
        add_step(l, times, &inner, &c);
        add_step(l, times * again, &c, &inner);
        rounds *= (double)t->time[i].bound;
    }
}

/* Whether a part may be the part of another child after a step: several loops move the same axis, or nothing is kept. */
static bool may_link(const tower *t)
{
    if (t->always) return true;
    for (int r = 0; r < t->n_ranks; r++)
        if (t->operand->rank[r].n_terms > 1) return true;
    return false;
}

/* ---- the flow of one memory ---- */

/* Words that enter one child in all. */
static double entering_all(const tower *t)
{
    int k = innermost_mover(t);
    double words = t->volume, rounds = 1;
    for (int i = 0; i < t->n_time; i++) {
        if (i <= k || t->always) words += rounds * (double)(t->time[i].bound - 1) * change_of(t, i, k).words;
        rounds *= (double)t->time[i].bound;
    }
    return words;
}

static int64_t different_shifts(const tower *t)
{
    int64_t n = 1;
    for (int l = 0; l < t->n_space; l++)
        if (t->space[l].moves) n *= t->space[l].bound;
    return n;
}

static tw_status gather_children(const tower *t, crowd *c)
{
    tw_arena *scratch = t->c->scratch;
    c->n = n_children(t);
    for (c->n_slots = 2; c->n_slots < 2 * c->n;) c->n_slots *= 2;
    TW_ALLOC(scratch, c->shift, c->n);
    TW_ALLOC(scratch, c->slot, c->n_slots);
    TW_ALLOC(scratch, c->linked, c->n);
    list_shifts(t, c->shift);
    return TW_OK;
}

typedef struct sharing { /* what children of a memory may do */
    bool multicast, links;
} sharing;

/* Children one by one: their shifts coincide in part, or they get parts from each other. */
static tw_status flow_one_by_one(const tower *t, grid g, sharing may, tw_tl_flow *flow)
{
    crowd c;
    tw_arena_mark mark = tw_arena_save(t->c->scratch);
    tw_status status = gather_children(t, &c);
    if (status == TW_OK) {
        linker l = {t, &c, g, may.multicast ? count_different(t, &c) : c.n, flow};
        flow->accesses = entering_all(t) * (double)l.different;
        flow->received = entering_all(t) * (double)c.n;
        if (may.links) add_linked(&l);
    }
    tw_arena_rewind(t->c->scratch, mark);
    return status;
}

static tw_status flow_of(const tower *t, grid g, sharing may, tw_tl_flow *flow)
{
    double words = entering_all(t);
    int64_t n = n_children(t);
    if (t->n_space > 0 && ((may.multicast && axes_are_shared(t)) || (may.links && may_link(t))))
        return flow_one_by_one(t, g, may, flow);
    flow->accesses = words * (double)(may.multicast ? different_shifts(t) : n);
    flow->received = words * (double)n;
    return TW_OK;
}

/* ---- towers ---- */

/* The loops outside of memory m's children; `inner` is how many iterations of each dimension are inside of the loop at hand. */
static void climb(tower *t, int m, int64_t inner[TW_RIVAL_DIMS])
{
    const tw_loopnest *nest = t->c->nest;
    for (int i = nest->n_loops - 1; i >= 0; i--) {
        const tw_loopnest_loop *l = &nest->loop[i];
        if (l->level <= m) {
            loop_step s = {l->bound, step_of(t, l->dim, inner[l->dim]), false};
            s.moves = !is_zero(t, &s.step);
            if (l->over < 0)
                t->time[nest->n_loops - 1 - t->n_time++] = s;
            else if (l->level == m)
                t->space[TW_RIVAL_DIMS - 1 - t->n_space++] = s;
        }
        inner[l->dim] *= l->bound;
    }
    memmove(t->time, t->time + nest->n_loops - t->n_time, (size_t)t->n_time * sizeof *t->time);
    memmove(t->space, t->space + TW_RIVAL_DIMS - t->n_space, (size_t)t->n_space * sizeof *t->space);
}

/* Iterations of each dimension in the loops of memories from `first` on, and in those over the fan-out of the memory before. */
static void sizes_inside(const tw_tl_case *c, int first, bool with_fan_out, int64_t size[TW_RIVAL_DIMS])
{
    for (int d = 0; d < TW_RIVAL_DIMS; d++) size[d] = 1;
    for (int i = 0; i < c->nest->n_loops; i++) {
        const tw_loopnest_loop *l = &c->nest->loop[i];
        if (l->level >= first || (with_fan_out && l->level == first - 1 && l->over >= 0)) size[l->dim] *= l->bound;
    }
}

static int64_t volume_inside(const tw_tl_case *c, int operand, int first, bool with_fan_out)
{
    int64_t size[TW_RIVAL_DIMS], volume = 0;
    sizes_inside(c, first, with_fan_out, size);
    bool fits = tw_einsum_volume(&c->einsum->operand[operand], size, &volume); /* no more than the whole tensor */
    assert(fits);
    return fits ? volume : 0;
}

static int64_t instances_of(const tw_tl_case *c, int m)
{
    int64_t n = 1;
    for (int i = 0; i < c->nest->n_loops; i++)
        if (c->nest->loop[i].over >= 0 && c->nest->loop[i].level < m) n *= c->nest->loop[i].bound;
    return n;
}

static bool has_flag(const tw_tl_case *c, int flag, int m, int operand)
{
    return c->flags && m < c->machine->n_memories && c->flags->of[flag][m] >> operand & 1;
}

static tw_status flow_of_memory(const tw_tl_case *c, int operand, int m, tower *t, tw_tl_flow *flow)
{
    const tw_tl_level *level = c->machine->memory[m].extra;
    bool to_array = m + 1 == c->machine->n_memories;
    int64_t inner[TW_RIVAL_DIMS];
    t->c = c; /* the loops are written before they are read: there is room for very many */
    t->operand = &c->einsum->operand[operand];
    t->n_time = t->n_space = 0;
    t->n_ranks = t->operand->n_ranks;
    t->tile = (vec){0};
    t->always = to_array || has_flag(c, TW_TL_NO_REUSE, m + 1, operand);
    for (int d = 0; d < TW_RIVAL_DIMS; d++) inner[d] = 1;
    climb(t, m, inner);
    sizes_inside(c, m + 1, false, inner);
    for (int r = 0; r < t->n_ranks; r++) t->tile.at[r] = tw_einsum_reach(&t->operand->rank[r], inner);
    t->volume = (double)volume_inside(c, operand, m + 1, false);
    *flow = (tw_tl_flow){.fan_out = n_children(t),
                         .tile = volume_inside(c, operand, m, false),
                         .spread = t->n_space > 0 ? volume_inside(c, operand, m + 1, true) : 0,
                         .instances = instances_of(c, m)};
    sharing may = {!has_flag(c, TW_TL_NO_MULTICAST, m, operand), !has_flag(c, TW_TL_NO_LINKS, m, operand)};
    return flow_of(t, (grid){level->fan_x, level->fan_y}, may, flow);
}

tw_status tw_tl_flows(const tw_tl_case *c, int operand, tw_tl_flow *flow)
{
    tower *t;
    tw_status status = TW_OK;
    tw_arena_mark mark = tw_arena_save(c->scratch);
    TW_ALLOC(c->scratch, t, 1);
    TW_ALLOC(c->scratch, t->time, c->nest->n_loops + 1);
    for (int m = 0; m < c->machine->n_memories && status == TW_OK; m++)
        status = flow_of_memory(c, operand, m, t, &flow[m]);
    tw_arena_rewind(c->scratch, mark);
    return status;
}
