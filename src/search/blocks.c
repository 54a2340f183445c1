/* src/search/blocks.c - see blocks.h. */
#include "search/blocks.h"

#include <stdlib.h>

#include "search/descend.h"
#include "search/view.h"

/* Passes of a block over two dimensions, in the order of the sums that it has. */
static const int64_t shape[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1}, {1, 4}, {4, 1}};
/* Steps of the reduction, in indices. */
static const int64_t steps_alone[] = {1, 2, 4, 8}, steps_beside[] = {16, 12, 8, 24};
enum { SHAPES = TW_COUNT(shape), STEPS = TW_COUNT(steps_alone), ORDERS = 2, MOST_LOOPS = 2, SHARES = 5 };

typedef struct over { /* a dimension: its loops with more than one index */
    int n, loop[MOST_LOOPS];
} over;

/* More than MOST_LOOPS count as none. */
static over loops_over(const tw_space *s, const tw_frame *f, int d)
{
    over found = {0};
    for (unsigned rest = f->loops[d]; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (s->op->loop[l].extent == 1) continue;
        if (found.n == MOST_LOOPS) return (over){0};
        found.loop[found.n++] = l;
    }
    return found;
}

static bool is_shared(const tw_space *s, const tw_frame *f)
{
    return loops_over(s, f, 0).n + loops_over(s, f, 1).n > 2;
}

/* The longest reduction, -1: there is none. */
static int longest_reduction(const tw_space *s)
{
    int best = -1;
    for (int l = 0; l < s->op->n_loops; l++)
        if ((s->reductions >> l & 1) && (best < 0 || s->op->loop[l].extent > s->op->loop[best].extent)) best = l;
    return best;
}

bool tw_blocks_suit(const tw_space *s, int frame)
{
    const tw_frame *f = &s->frame[frame];
    if (s->rules->nests || s->resident || f->n_dims != 2) return false;
    if (s->windows || longest_reduction(s) < 0 || f->n_tiled > (is_shared(s, f) ? 1 : 2)) return false;
    for (int d = 0; d < 2; d++) {
        over loops = loops_over(s, f, d);
        if (loops.n == 0) return false;
        for (int i = 0; i < loops.n; i++)
            if (s->reductions >> loops.loop[i] & 1) return false;
    }
    return true;
}

bool tw_blocks_have(const tw_space *s, int frame, int k)
{
    int shares = is_shared(s, &s->frame[frame]) ? SHARES : 1;
    return tw_blocks_suit(s, frame) && k < SHAPES * STEPS * ORDERS * shares;
}

int tw_blocks_step(int k) { return k / ORDERS % STEPS; }

bool tw_blocks_are_kin(int k, int other)
{
    return k / (ORDERS * STEPS) == other / (ORDERS * STEPS) && k % ORDERS == other % ORDERS;
}

/* The loops over the two dimensions in one order or the other, then all others, reductions last. Where loops share a dimension those of
 * the first input are in front of the others, or behind them. */
static void order_loops(const tw_space *s, const tw_frame *f, bool swap, int order[TW_MAX_LOOPS])
{
    const unsigned laid = f->loops[0] | f->loops[1];
    const unsigned first = is_shared(s, f) ? s->loops[0] : 1u << loops_over(s, f, 0).loop[0];
    int n = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int l = 0; l < s->op->n_loops; l++)
            if ((laid >> l & 1) && s->op->loop[l].extent > 1 && (bool)(first >> l & 1) == (swap == (turn == 1)))
                order[n++] = l;
    for (int reduces = 0; reduces < 2; reduces++)
        for (int l = 0; l < s->op->n_loops; l++) {
            bool done = (laid >> l & 1) && s->op->loop[l].extent > 1;
            if (!done && (int)(s->reductions >> l & 1) == reduces) order[n++] = l;
        }
}

static void set_size(const tw_space *s, tw_part *p, int t, int l, int64_t size)
{
    size = tw_space_size_near(s, &s->frame[p->frame], t, l, tw_min(size, s->op->loop[l].extent));
    p->var[tw_var_size(s, t, l)] = (tw_range){(int32_t)size, (int32_t)size};
}

/* The size of tiles along a loop that take so many passes of `units`: as even as that wastes none. */
static int64_t size_of_passes(int64_t extent, int64_t passes, int64_t units)
{
    int64_t size = tw_min(passes * units, extent), n = tw_cdiv(extent, size), even = tw_cdiv(extent, n);
    return n * tw_cdiv(even, units) <= tw_cdiv(extent, units) ? even : size;
}

/* Sizes along the loops of a dimension of level t, whose tiles take so many passes; false: there are none like that. Of two loops the second
 * has `share` indices beside each other. */
static bool set_over(const tw_space *s, tw_part *p, int t, int d, int64_t passes, int64_t share)
{
    const tw_frame *f = &s->frame[p->frame];
    int64_t units = s->machine->engine[s->machine->compute].cost.array.size[d], size[MOST_LOOPS];
    over loops = loops_over(s, f, d);
    size[0] = passes * units / share;
    size[1] = share;
    if (loops.n > 1 && passes * units % share != 0) return false;
    for (int i = 0; i < loops.n; i++) {
        int l = loops.loop[i];
        int64_t piece = t > 0 ? p->var[tw_var_size(s, 0, l)].hi : s->op->loop[l].extent;
        if (loops.n == 1) size[0] = size_of_passes(piece, passes, units);
        if (size[i] > piece) return false;
        set_size(s, p, t, l, size[i]);
        if (t > 0) /* of a rest no more tiles than it has passes */
            p->var[tw_var_rule(s, f, t, l)] = (tw_range){1, 1};
    }
    return true;
}

/* The sizes of the k-th; false: it is another's. */
static bool set_sizes(const tw_space *s, int k, tw_part *p)
{
    int reduction = longest_reduction(s), last = s->frame[p->frame].n_tiled - 1;
    const int64_t *block = shape[k / (STEPS * ORDERS) % SHAPES];
    const int64_t share = INT64_C(1) << k / (STEPS * ORDERS * SHAPES);
    int64_t step = (last > 0 ? steps_beside : steps_alone)[tw_blocks_step(k)];
    if (last > 0 && block[0] * block[1] == 1) return false;
    for (int t = 0; t <= last; t++) {
        for (int l = 0; l < s->op->n_loops; l++) set_size(s, p, t, l, s->op->loop[l].extent);
        set_size(s, p, t, reduction, step);
        for (int d = 0; d < 2; d++)
            if (!set_over(s, p, t, d, last > 0 && t == last ? 1 : block[d], share)) return false;
    }
    return true;
}

tw_status tw_blocks_part(const tw_space *s, int frame, int k, tw_part **out)
{
    bool empty;
    tw_part *p = tw_part_of_frame(s, frame, &empty);
    *out = p;
    if (!p) return TW_ERR_NOMEM;
    if (!empty && set_sizes(s, k, p)) return TW_OK;
    free(p);
    *out = NULL;
    return TW_OK;
}

/* All sums of a block stay until they are finished. */
static void keep_sums(const tw_space *s, tw_part *p)
{
    int output = tw_op_output(s->op);
    int var = tw_var_keep(s, &s->frame[p->frame], tw_path_innermost(s->path[output]), output);
    for (int32_t kept = (int32_t)s->op->n_loops; kept > p->var[var].lo; kept--)
        if (tw_part_may_choose(s, p, var, kept)) p->var[var] = (tw_range){kept, kept};
}

tw_status tw_blocks_complete(const tw_space *s, int k, tw_part *p, tw_part **out)
{
    const tw_frame *f = &s->frame[p->frame];
    const tw_goals least = {.n = 1, .goal = {{.measure = TW_ENERGY}}}; /* what moves little keeps much */
    int order[TW_MAX_LOOPS];
    *out = NULL;
    order_loops(s, f, k % ORDERS, order);
    if (!tw_part_complete(s, p)) return TW_OK;
    for (int t = 0; t < f->n_tiled; t++)
        if (!tw_part_set_order(s, p, t, order) || !tw_part_complete(s, p)) return TW_OK;
    for (int i = f->keep; i < f->n_vars; i++) p->var[i] = (tw_range){0, INT32_MAX};
    TW_TRY(tw_closed_complete(s, &least, p, out));
    if (*out && f->n_tiled > 1) keep_sums(s, *out);
    return TW_OK;
}
