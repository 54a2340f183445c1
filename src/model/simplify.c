/* src/model/simplify.c - see simplify.h.
 *
 * Each rewriting leaves a sound operator, and each lets others apply: a tap that is alone is a loop of one step, a
 * window that is gone leaves loops that can be merged. All but merging are done once, in the order of the header; then
 * pairs are merged until none is left. The number of loops falls with every merge, so that this ends. */
#include "model/simplify.h"

#include <string.h>

static bool is_called(const tw_op *op, const char *name) { return tw_op_find_loop(op, name) >= 0; }

/* ---- loops of one step ---- */

static void remove_axis(tw_operand *operand, int a)
{
    operand->n_axes--;
    operand->scattered -= a < operand->scattered;
    memmove(&operand->axis[a], &operand->axis[a + 1], (size_t)(operand->n_axes - a) * sizeof *operand->axis);
}

/* Takes a loop out of an axis, and moves those behind it up. */
static void remove_from_axis(tw_axis *axis, int loop)
{
    int n = 0;
    for (int t = 0; t < axis->n_terms; t++) {
        tw_term term = axis->term[t];
        if (term.loop == loop) continue;
        term.loop -= term.loop > loop;
        axis->term[n++] = term;
    }
    axis->n_terms = n;
}

static void remove_loop(tw_op *op, int loop)
{
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) remove_from_axis(&op->operand[o].axis[a], loop);
    for (int h = 0; h < op->n_held; h++) {
        if (op->held[h].loop == loop) op->held[h].loop = -1;
        op->held[h].loop -= op->held[h].loop > loop;
    }
    op->n_loops--;
    memmove(&op->loop[loop], &op->loop[loop + 1], (size_t)(op->n_loops - loop) * sizeof *op->loop);
}

/* Whether an axis that this loop walks alone would stand outside of its tensor. */
static bool holds_position(const tw_op *op, int loop)
{
    int64_t position;
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            tw_axis axis = op->operand[o].axis[a];
            remove_from_axis(&axis, loop);
            if (axis.n_terms == 0 && !tw_axis_position(&axis, axis.offset, &position)) return true;
        }
    return false;
}

static bool is_needed(const tw_op *op, int loop)
{
    int n = 0;
    for (int l = 0; l < op->n_loops; l++) n += !op->loop[l].reduces;
    return op->loop[loop].extent > 1 || (!op->loop[loop].reduces && n == 1) || holds_position(op, loop);
}

static bool is_nothing(const tw_operand *operand, const tw_axis *axis)
{
    return operand->n_axes > 1 && axis->n_terms == 0 && axis->extent == 1;
}

bool tw_op_drop_ones(tw_op *op)
{
    bool changed = false;
    for (int l = op->n_loops - 1; l >= 0; l--)
        if (!is_needed(op, l)) {
            remove_loop(op, l);
            changed = true;
        }
    for (int o = 0; o < op->n_operands; o++)
        for (int a = op->operand[o].n_axes - 1; a >= 0; a--)
            if (is_nothing(&op->operand[o], &op->operand[o].axis[a])) {
                remove_axis(&op->operand[o], a);
                changed = true;
            }
    return changed;
}

/* ---- windows ---- */

/* Blocks of fewer elements are worth a loop of their own only if no window is left. */
enum { BLOCK_LEAST = 8 };

typedef struct window { /* an axis that a reduction walks together with others */
    int operand, axis, loop;
    int64_t block; /* elements; windows begin and end at multiples of it */
} window;

static int64_t divisor_of_both(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    return b == 0 ? a : divisor_of_both(b < 0 ? -b : b, a % b);
}

/* The axis walked by this loop alone, from end to end. */
static bool is_walked(const tw_op *op, const tw_axis *axis, int loop)
{
    return axis->n_terms == 1 && axis->term[0].loop == loop && axis->term[0].coef == 1 && axis->offset == 0 &&
           axis->divisor == 1 && axis->extent == op->loop[loop].extent;
}

static int64_t block_of(const tw_op *op, const tw_axis *axis, int loop)
{
    int64_t block = divisor_of_both(divisor_of_both(axis->extent, axis->offset), op->loop[loop].extent);
    for (int t = 0; t < axis->n_terms; t++) {
        if (axis->term[t].loop == loop && axis->term[t].coef != 1) return 1;
        if (axis->term[t].loop != loop) block = divisor_of_both(block, axis->term[t].coef);
    }
    bool worth = block == op->loop[loop].extent || block >= BLOCK_LEAST;
    return worth && axis->n_terms > 1 && axis->divisor == 1 ? block : 1;
}

/* Whether everything but the window's own axis is walked by the loop from end to end, and there is room for what comes. */
static bool can_be_split(const tw_op *op, const window *w)
{
    for (int o = 0; o < op->n_operands; o++) {
        const tw_operand *operand = &op->operand[o];
        int n = 0;
        for (int a = 0; a < operand->n_axes; a++) {
            bool own = o == w->operand && a == w->axis, walks = tw_axis_has_loop(&operand->axis[a], w->loop);
            if (walks && !own && !is_walked(op, &operand->axis[a], w->loop)) return false;
            n += walks;
        }
        if (operand->n_axes + n > TW_MAX_AXES) return false;
    }
    return op->n_loops < TW_MAX_LOOPS;
}

static bool find_window(const tw_op *op, window *w)
{
    for (w->loop = 0; w->loop < op->n_loops; w->loop++)
        for (w->operand = 0; op->loop[w->loop].reduces && w->operand < tw_op_output(op); w->operand++)
            for (w->axis = 0; w->axis < op->operand[w->operand].n_axes; w->axis++) {
                const tw_axis *axis = &op->operand[w->operand].axis[w->axis];
                if (!tw_axis_has_loop(axis, w->loop)) continue;
                w->block = block_of(op, axis, w->loop);
                if (w->block > 1 && can_be_split(op, w)) return true;
            }
    return false;
}

/* Room for a loop behind `loop`; returns its number. */
static int insert_loop(tw_op *op, int loop)
{
    int new = loop + 1;
    memmove(&op->loop[new + 1], &op->loop[new], (size_t)(op->n_loops - new) * sizeof *op->loop);
    op->n_loops++;
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++)
            for (int t = 0; t < op->operand[o].axis[a].n_terms; t++) {
                tw_term *term = &op->operand[o].axis[a].term[t];
                term->loop += term->loop >= new;
            }
    for (int h = 0; h < op->n_held; h++) op->held[h].loop += op->held[h].loop >= new;
    return new;
}

/* Along the blocks, then inside of one. */
static void split_axis(tw_operand *operand, int a, int loop, int inner, int64_t block)
{
    tw_axis *axis = &operand->axis[a];
    memmove(axis + 1, axis, (size_t)(operand->n_axes - a) * sizeof *axis);
    operand->n_axes++;
    axis[0].extent /= block;
    axis[0].offset /= block;
    for (int t = 0; t < axis[0].n_terms; t++)
        if (axis[0].term[t].loop != loop) axis[0].term[t].coef /= block;
    axis[1] = (tw_axis){.extent = block, .divisor = 1, .n_terms = 1, .term = {{inner, 1}}};
}

/* A window of one block: its loop walks inside of the block and nowhere else. */
static void end_window(tw_op *op, const window *w)
{
    tw_operand *operand = &op->operand[w->operand];
    split_axis(operand, w->axis, w->loop, w->loop, w->block);
    tw_axis *blocks = &operand->axis[w->axis];
    int n = 0;
    for (int t = 0; t < blocks->n_terms; t++)
        if (blocks->term[t].loop != w->loop) blocks->term[n++] = blocks->term[t];
    blocks->n_terms = n;
}

/* A window of several blocks: one loop along them and one inside. False: their names are taken, or no memory. */
static bool split_window(tw_op *op, const window *w, tw_arena *arena, bool *no_memory)
{
    const char *outer = tw_arena_printf(arena, "%s0", op->loop[w->loop].name);
    const char *inner = tw_arena_printf(arena, "%s1", op->loop[w->loop].name);
    *no_memory |= !outer || !inner;
    if (!outer || !inner || is_called(op, outer) || is_called(op, inner)) return false;
    int64_t blocks = op->loop[w->loop].extent / w->block;
    int new = insert_loop(op, w->loop);
    op->loop[w->loop] = (tw_loop){outer, blocks, true};
    op->loop[new] = (tw_loop){inner, w->block, true};
    for (int o = 0; o < op->n_operands; o++)
        for (int a = op->operand[o].n_axes - 1; a >= 0; a--)
            if (tw_axis_has_loop(&op->operand[o].axis[a], w->loop))
                split_axis(&op->operand[o], a, w->loop, new, w->block);
    return true;
}

/* A loop is split at most once: what is left of it along the blocks has none of its own. */
static void split_windows(tw_op *op, tw_arena *arena, bool *no_memory)
{
    window w;
    while (!*no_memory && find_window(op, &w)) {
        if (w.block == op->loop[w.loop].extent)
            end_window(op, &w);
        else if (!split_window(op, &w, arena, no_memory))
            return;
    }
}

/* ---- merging ---- */

typedef enum meeting { ABSENT, SIDE_BY_SIDE, APART } meeting;

/* How an operand is walked by an outer and an inner loop; *at: the axis of the outer one. */
static meeting meeting_of(const tw_op *op, const tw_operand *operand, int outer, int inner, int *at)
{
    int n_outer = 0, n_inner = 0, a_outer = -1, a_inner = -1;
    for (int a = 0; a < operand->n_axes; a++) {
        if (tw_axis_has_loop(&operand->axis[a], outer)) n_outer++, a_outer = a;
        if (tw_axis_has_loop(&operand->axis[a], inner)) n_inner++, a_inner = a;
    }
    *at = a_outer;
    if (n_outer == 0 && n_inner == 0) return ABSENT;
    if (n_outer != 1 || n_inner != 1 || a_inner != a_outer + 1 || a_inner == operand->scattered) return APART;
    const tw_axis *axis = &operand->axis[a_outer];
    int64_t extent;
    bool alone = axis->n_terms == 1 && axis->term[0].coef == 1 && axis->divisor == 1;
    bool fits = tw_ckd_mul(axis->extent, axis[1].extent, &extent) && extent <= TW_EXTENT_MAX;
    return alone && fits && is_walked(op, &axis[1], inner) ? SIDE_BY_SIDE : APART;
}

static bool is_held_along(const tw_op *op, int loop)
{
    for (int h = 0; h < op->n_held; h++)
        if (op->held[h].loop == loop) return true;
    return false;
}

static bool can_merge(const tw_op *op, int outer, int inner)
{
    int64_t extent;
    int at;
    if (outer == inner || op->loop[outer].reduces != op->loop[inner].reduces) return false;
    if (is_held_along(op, outer) || is_held_along(op, inner)) return false;
    if (!tw_ckd_mul(op->loop[outer].extent, op->loop[inner].extent, &extent) || extent > TW_EXTENT_MAX)
        return false;
    for (int o = 0; o < op->n_operands; o++)
        if (meeting_of(op, &op->operand[o], outer, inner, &at) == APART) return false;
    return true;
}

/* The positions of the outer axis count whole rows of the inner one; outside of the tensor stays outside. */
static void merge_axes(tw_operand *operand, int a)
{
    operand->axis[a].offset *= operand->axis[a + 1].extent;
    operand->axis[a].extent *= operand->axis[a + 1].extent;
    remove_axis(operand, a + 1);
}

static void merge(tw_op *op, int outer, int inner, const char *name)
{
    int at;
    for (int o = 0; o < op->n_operands; o++)
        if (meeting_of(op, &op->operand[o], outer, inner, &at) == SIDE_BY_SIDE) merge_axes(&op->operand[o], at);
    op->loop[outer].extent *= op->loop[inner].extent;
    op->loop[outer].name = name;
    remove_loop(op, inner);
}

/* ---- arrays ---- */

static bool may_lie_over(const tw_op *op, int loop, const tw_grid *grid)
{
    return loop < 0 || !grid->parallel || !op->loop[loop].reduces;
}

/* With loop r over the rows and loop c over the columns, -1: none. */
static int64_t passes_with(const tw_op *op, const tw_grid *grid, int r, int c)
{
    int64_t n = 1;
    for (int l = 0; l < op->n_loops; l++)
        n *= l == r   ? tw_cdiv(op->loop[l].extent, grid->rows)
             : l == c ? tw_cdiv(op->loop[l].extent, grid->columns)
                      : op->loop[l].extent;
    return n;
}

int64_t tw_grid_passes(const tw_grid *grid, const tw_op *op)
{
    int64_t least = INT64_MAX;
    for (int r = -1; r < op->n_loops; r++)
        for (int c = -1; c < op->n_loops; c++)
            if (may_lie_over(op, r, grid) && may_lie_over(op, c, grid) && (r != c || r < 0))
                least = tw_min(least, passes_with(op, grid, r, c));
    return least;
}

/* ---- the whole ---- */

typedef struct merging {
    tw_op *op;
    const tw_merge_judge *judge;
    tw_arena *arena;
    bool no_memory;
} merging;

static bool try_pair(merging *m, int outer, int inner)
{
    if (m->no_memory || !can_merge(m->op, outer, inner)) return false;
    const char *name = tw_arena_printf(m->arena, "%s%s", m->op->loop[outer].name, m->op->loop[inner].name);
    m->no_memory |= !name;
    if (!name || is_called(m->op, name)) return false;
    tw_op merged = *m->op;
    merge(&merged, outer, inner, name);
    const tw_merge_judge *judge = m->judge;
    if (judge->is_worse && judge->is_worse(judge->user, m->op, outer, inner, &merged)) return false;
    *m->op = merged;
    return true;
}

static bool merge_one(merging *m)
{
    for (int outer = 0; outer < m->op->n_loops; outer++)
        for (int inner = 0; inner < m->op->n_loops; inner++)
            if (try_pair(m, outer, inner)) return true;
    return false;
}

bool tw_op_simplify(tw_op *op, const tw_merge_judge *judge, tw_arena *arena)
{
    merging m = {op, judge, arena, false};
    tw_op_drop_ones(op);
    if (tw_op_drop_taps(op)) tw_op_drop_ones(op);
    split_windows(op, arena, &m.no_memory);
    tw_op_drop_ones(op);
    while (merge_one(&m)) continue;
    return !m.no_memory;
}
