/* src/search/blocks.c - see blocks.h. */
#include "search/blocks.h"

#include <stdlib.h>

#include "search/descend.h"
#include "search/view.h"

/* Passes of a block over two dimensions, in the order of the sums that it has. */
static const int64_t shape[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1}, {1, 4}, {4, 1}};
/* Steps of the reduction, in indices. */
static const int64_t steps_alone[] = {1, 2, 4, 8}, steps_beside[] = {16, 12, 8, 24};
enum { SHAPES = TW_COUNT(shape), STEPS = TW_COUNT(steps_alone), ORDERS = 2 };

/* The loop with more than one index over a dimension, -1: there is none, or several. */
static int loop_over(const tw_space *s, const tw_frame *f, int d)
{
    int loop = -1;
    for (unsigned rest = f->loops[d]; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (s->op->loop[l].extent == 1) continue;
        if (loop >= 0) return -1;
        loop = l;
    }
    return loop;
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
    if (s->windows || longest_reduction(s) < 0 || f->n_tiled > 2) return false;
    for (int d = 0; d < 2; d++) {
        int l = loop_over(s, f, d);
        if (l < 0 || (s->reductions >> l & 1)) return false;
    }
    return true;
}

bool tw_blocks_have(const tw_space *s, int frame, int k)
{
    return tw_blocks_suit(s, frame) && k < SHAPES * STEPS * ORDERS;
}

int tw_blocks_step(int k) { return k / ORDERS % STEPS; }

bool tw_blocks_are_kin(int k, int other)
{
    return k / (ORDERS * STEPS) == other / (ORDERS * STEPS) && k % ORDERS == other % ORDERS;
}

/* The loops over the two dimensions in one order or the other, then all others, reductions last. */
static void order_loops(const tw_space *s, const tw_frame *f, bool swap, int order[TW_MAX_LOOPS])
{
    int n = 0, first = loop_over(s, f, swap), second = loop_over(s, f, !swap);
    order[n++] = first;
    order[n++] = second;
    for (int reduces = 0; reduces < 2; reduces++)
        for (int l = 0; l < s->op->n_loops; l++)
            if (l != first && l != second && (int)(s->reductions >> l & 1) == reduces) order[n++] = l;
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

/* The sizes of the k-th; false: it is another's. */
static bool set_sizes(const tw_space *s, int k, tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    const tw_cost_array *array = &s->machine->engine[s->machine->compute].cost.array;
    int reduction = longest_reduction(s), last = f->n_tiled - 1;
    const int64_t *block = shape[k / (STEPS * ORDERS)];
    int64_t step = (last > 0 ? steps_beside : steps_alone)[tw_blocks_step(k)];
    if (last > 0 && block[0] * block[1] == 1) return false;
    for (int t = 0; t <= last; t++) {
        for (int l = 0; l < s->op->n_loops; l++) set_size(s, p, t, l, s->op->loop[l].extent);
        set_size(s, p, t, reduction, step);
        for (int d = 0; d < 2; d++) {
            int l = loop_over(s, f, d);
            int64_t piece = t > 0 ? p->var[tw_var_size(s, 0, l)].hi : s->op->loop[l].extent;
            set_size(s, p, t, l, size_of_passes(piece, last > 0 && t == last ? 1 : block[d], array->size[d]));
            if (t > 0)
                p->var[tw_var_rule(s, f, t, l)] = (tw_range){1, 1}; /* of a rest no more tiles than it has passes */
        }
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
