/* src/verify/cover.c - see cover.h.
 *
 * Why a wrong cover is not missed. Two multisets of points have the same fingerprint only if the
 * difference of their counts is a zero of a polynomial whose variables are the indices' weights. That
 * polynomial is not zero, has degree at most TW_MAX_LOOPS + 1 (each point is a product of distinct
 * variables), and counts stay far below the prime. For weights drawn at random modulo p = 2^61 - 1 it
 * vanishes with probability at most 13 / p < 2^-57 (Schwartz-Zippel), so a wrong cover passes with
 * probability below 2^-50. Our weights come from splitmix64 and do not depend on the plan: nobody
 * builds a plan against them.
 *
 * Padding. A plan may leave out tiles that meet only padding, and need not. So that both are right,
 * points in padding weigh nothing. Whether a point lies in padding is a condition on few loops at a
 * time: (oy, ky) for rows, (ox, kx) for columns. Loops that share such a condition form a group; the
 * weight of a box is the product over its groups, a group is summed by visiting its combinations, and a
 * group without condition is one loop. For the sake of those loops it is not the weights that are drawn but their sums
 * below every index; the weight of an index is the difference of two. Sums from below and weights determine each other,
 * so that the weights are as random as the sums, and a span of any length takes two of these.
 *
 * Visiting is dear and tiles repeat: results are remembered in small tables keyed by the spans. */
#include "verify/cover.h"

#include "verify/shape.h"

#define PRIME ((UINT64_C(1) << 61) - 1)

enum { MEMO_SIZE = 64, MAX_CONDITIONS = TW_MAX_OPERANDS * TW_MAX_AXES };

typedef struct memo_entry {
    bool full, any;
    tw_box box;
    uint64_t weight;
    tw_span touch;
} memo_entry;
typedef struct memo { /* results that depend on the spans of a few loops */
    unsigned loops;
    memo_entry entry[MEMO_SIZE];
} memo;

typedef struct group { /* loops that conditions tie together */
    unsigned loops;
    int n_conditions;
    const tw_axis *condition[MAX_CONDITIONS];
    memo *memo; /* NULL when there is no condition: a single loop */
} group;

typedef struct contribution { /* one product of inputs: a factor of its own and its groups */
    uint64_t factor;
    int n_groups;
    group group[TW_MAX_LOOPS];
} contribution;

struct tw_cover {
    const tw_op *op;
    tw_pulse pulse;
    int n_contributions;
    contribution contribution[TW_MAX_OPERANDS];
    memo *touch[TW_MAX_OPERANDS][TW_MAX_AXES];
};

/* ---- arithmetic modulo the prime ---- */

uint64_t tw_cover_add(uint64_t a, uint64_t b)
{
    uint64_t s = a + b;
    return s >= PRIME ? s - PRIME : s;
}

uint64_t tw_cover_subtract(uint64_t a, uint64_t b) { return a >= b ? a - b : a + PRIME - b; }

static uint64_t multiply(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return tw_cover_add((uint64_t)product & PRIME, (uint64_t)(product >> 61));
}

/* What the indices of a loop below this one weigh together; loops from TW_MAX_LOOPS on name factors of contributions. */
static uint64_t sum_below(int loop, int64_t index)
{
    uint64_t state = UINT64_C(0x7117e3719117) * (uint64_t)(loop + 1);
    state = tw_random_next(&state) ^ (uint64_t)index;
    return tw_random_next(&state) % PRIME;
}

static uint64_t sum_of_span(int loop, tw_span span)
{
    return tw_cover_subtract(sum_below(loop, span.hi), sum_below(loop, span.lo));
}

static uint64_t weight_of(int loop, int64_t index) { return sum_of_span(loop, (tw_span){index, index + 1}); }

/* ---- remembered results ---- */

static bool same_spans(const tw_box *a, const tw_box *b, unsigned loops)
{
    for (unsigned rest = loops; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (a->span[l].lo != b->span[l].lo || a->span[l].hi != b->span[l].hi) return false;
    }
    return true;
}

/* The entry for a box; `full` tells whether it already holds the answer. */
static memo_entry *memo_find(memo *m, const tw_box *box)
{
    uint64_t hash = 0;
    for (unsigned rest = m->loops; rest; rest &= rest - 1) {
        tw_span s = box->span[__builtin_ctz(rest)];
        hash = (hash ^ (uint64_t)s.lo) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ (uint64_t)s.hi) * UINT64_C(0x9e3779b97f4a7c15);
    }
    memo_entry *e = &m->entry[hash >> 58];
    if (e->full && !same_spans(&e->box, box, m->loops)) e->full = false;
    if (!e->full) e->box = *box;
    return e;
}

static memo *memo_new(unsigned loops, tw_arena *arena)
{
    memo *m = TW_NEW(arena, memo, 1);
    if (m) m->loops = loops;
    return m;
}

/* ---- groups ---- */

/* Puts the loops of a condition into one group. */
static void tie(contribution *c, const tw_axis *axis)
{
    unsigned loops = tw_verify_axis_loops(axis);
    group merged = {.loops = loops};
    int n = 0;
    for (int g = 0; g < c->n_groups; g++) {
        const group *old = &c->group[g];
        if (!(old->loops & loops)) {
            if (n != g) c->group[n] = *old;
            n++;
            continue;
        }
        merged.loops |= old->loops;
        for (int i = 0; i < old->n_conditions; i++) merged.condition[merged.n_conditions++] = old->condition[i];
    }
    merged.condition[merged.n_conditions++] = axis;
    c->group[n++] = merged;
    c->n_groups = n;
}

/* Groups of a product of the inputs in [first, end). */
static bool contribution_init(contribution *c, const tw_op *op, int first, int end, tw_arena *arena)
{
    *c = (contribution){.factor = sum_below(TW_MAX_LOOPS, first), .n_groups = op->n_loops};
    for (int l = 0; l < op->n_loops; l++) c->group[l] = (group){.loops = 1u << l};
    for (int o = first; o < end; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            const tw_axis *axis = &op->operand[o].axis[a];
            if (axis->n_terms > 0 && tw_verify_axis_can_miss(op, axis)) tie(c, axis);
        }
    for (int g = 0; g < c->n_groups; g++)
        if (c->group[g].n_conditions && !(c->group[g].memo = memo_new(c->group[g].loops, arena))) return false;
    return true;
}

static bool in_bounds(const group *g, const int64_t index[TW_MAX_LOOPS])
{
    int64_t position;
    for (int i = 0; i < g->n_conditions; i++)
        if (!tw_verify_position(g->condition[i], index, &position)) return false;
    return true;
}

static uint64_t visit_group(const group *g, const tw_box *box, tw_pulse *pulse)
{
    enum { WORK = 16 };
    int64_t index[TW_MAX_LOOPS];
    uint64_t sum = 0;
    tw_verify_visit_first(box, g->loops, index);
    do {
        if (!in_bounds(g, index)) continue;
        uint64_t product = 1;
        for (unsigned rest = g->loops; rest; rest &= rest - 1) {
            int l = __builtin_ctz(rest);
            product = multiply(product, weight_of(l, index[l]));
        }
        sum = tw_cover_add(sum, product);
    } while (tw_verify_visit_next(box, g->loops, index) && !tw_pulse_is_over(pulse, WORK));
    return sum;
}

static uint64_t group_weight(tw_cover *cover, const group *g, const tw_box *box)
{
    if (!g->memo) {
        int loop = __builtin_ctz(g->loops);
        return sum_of_span(loop, box->span[loop]);
    }
    memo_entry *e = memo_find(g->memo, box);
    if (!e->full) {
        e->weight = visit_group(g, box, &cover->pulse);
        e->full = true;
    }
    return e->weight;
}

/* ---- answers ---- */

tw_cover *tw_cover_new(const tw_op *op, const tw_deadline *deadline, tw_arena *arena)
{
    tw_cover *cover = TW_NEW(arena, tw_cover, 1);
    if (!cover) return NULL;
    cover->op = op;
    cover->pulse.deadline = deadline;
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++)
            if (!(cover->touch[o][a] = memo_new(tw_verify_axis_loops(&op->operand[o].axis[a]), arena))) return NULL;
    int n_inputs = op->n_operands - 1;
    bool together = op->compute == TW_MULTIPLY_ADD || op->compute == TW_MAP;
    cover->n_contributions = together ? 1 : n_inputs;
    for (int i = 0; i < cover->n_contributions; i++) {
        int end = op->compute == TW_MAP ? 0 : together ? n_inputs : i + 1;
        if (!contribution_init(&cover->contribution[i], op, i, end, arena)) return NULL;
    }
    return cover;
}

uint64_t tw_cover_box(tw_cover *cover, const tw_box *box)
{
    uint64_t sum = 0;
    for (int i = 0; i < cover->n_contributions; i++) {
        const contribution *c = &cover->contribution[i];
        uint64_t weight = c->factor;
        for (int g = 0; g < c->n_groups && weight; g++)
            weight = multiply(weight, group_weight(cover, &c->group[g], box));
        sum = tw_cover_add(sum, weight);
    }
    return sum;
}

uint64_t tw_cover_finished(tw_cover *cover, const tw_region *region)
{
    const tw_op *op = cover->op;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    tw_box box = tw_verify_whole_box(op);
    for (int a = 0; a < out->n_axes; a++) box.span[out->axis[a].term[0].loop] = region->axis[a];
    return tw_cover_box(cover, &box);
}

uint64_t tw_cover_region(const tw_cover *cover, const tw_region *region)
{
    const tw_operand *out = &cover->op->operand[tw_op_output(cover->op)];
    uint64_t weight = 1;
    for (int a = 0; a < out->n_axes; a++)
        weight = multiply(weight, sum_of_span(out->axis[a].term[0].loop, region->axis[a]));
    return weight;
}

static void visit_axis(const tw_axis *axis, const tw_box *box, tw_pulse *pulse, memo_entry *e)
{
    enum { WORK = 8 };
    unsigned loops = tw_verify_axis_loops(axis);
    int64_t index[TW_MAX_LOOPS], at;
    e->any = false;
    e->touch = (tw_span){INT64_MAX, INT64_MIN};
    tw_verify_visit_first(box, loops, index);
    do {
        if (!tw_verify_position(axis, index, &at)) continue;
        e->any = true;
        e->touch = (tw_span){tw_min(e->touch.lo, at), tw_max(e->touch.hi, at + 1)};
    } while (tw_verify_visit_next(box, loops, index) && !tw_pulse_is_over(pulse, WORK));
    e->full = true;
}

/* An axis that is one loop: its positions are the loop's indices, moved. */
static bool touch_plain(const tw_axis *axis, const tw_box *box, tw_span *out)
{
    tw_span loop = box->span[axis->term[0].loop];
    int64_t lo = loop.lo + axis->offset, hi = loop.hi + axis->offset;
    out->lo = lo > 0 ? lo : 0;
    out->hi = hi < axis->extent ? hi : axis->extent;
    return out->lo < out->hi;
}

bool tw_cover_touch(tw_cover *cover, int operand, int axis, const tw_box *box, tw_span *out)
{
    const tw_axis *a = &cover->op->operand[operand].axis[axis];
    if (a->n_terms == 1 && a->term[0].coef == 1 && a->divisor == 1) return touch_plain(a, box, out);
    memo_entry *e = memo_find(cover->touch[operand][axis], box);
    if (!e->full) visit_axis(&cover->op->operand[operand].axis[axis], box, &cover->pulse, e);
    *out = e->touch;
    return e->any;
}

bool tw_cover_reach(tw_cover *cover, int operand, const tw_box *box, tw_region *out)
{
    bool any = true;
    for (int a = 0; a < cover->op->operand[operand].n_axes && any; a++)
        any = tw_cover_touch(cover, operand, a, box, &out->axis[a]);
    return any;
}
