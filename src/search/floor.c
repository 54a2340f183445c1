/* src/search/floor.c - the least that crosses into a memory over all nests: floor.h has the idea. */
#include "search/floor.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 512 }; /* lengths of one loop */

typedef struct
    step { /* lengths least .. most of a loop, at which its tiles are counted by `most` and held by `least` */
    int32_t least, most;
} step;

typedef struct stairs {
    int loop, n;
    step step[MOST_STEPS];
} stairs;

typedef struct floor_search {
    const tw_space *s;
    const tw_price *price;
    int memory;
    int n, operand[TW_CLOSED_OPERANDS]; /* that cross                                                  */
    int idle[TW_MAX_LOOPS];             /* the operand of the list that does not depend on the loop, -1: none */
    int64_t once[TW_CLOSED_OPERANDS];   /* cost when it comes once                                     */
    int64_t again[TW_CLOSED_OPERANDS];  /* each further time; INT64_MAX: it must not                    */
    /* one sequence of residencies, the longest first */
    int rank[TW_CLOSED_OPERANDS]; /* of each operand */
    int at_rank[TW_CLOSED_OPERANDS];
    int n_free, free_loop[TW_MAX_LOOPS]; /* loops with a length to choose, those of inner residencies first */
    int64_t len[TW_MAX_LOOPS];           /* chosen, least of their step                                   */
    int64_t times[TW_CLOSED_OPERANDS];
    int64_t best;
    int64_t most;   /* combinations */
    stairs *stairs; /* per loop     */
} floor_search;

/* ---- what there is to choose ---- */

/* The shortest pieces of which there are as many as of those of length n. */
static int64_t shortest(int64_t extent, int64_t n) { return tw_cdiv(extent, tw_cdiv(extent, n)); }

static int64_t count_steps(int64_t extent)
{
    int64_t n_steps = 0;
    for (int64_t n = extent; n >= 1; n = shortest(extent, n) - 1) n_steps++;
    return n_steps;
}

/* All lengths that make different numbers of pieces, in at most `most` groups. */
static void list_steps(int64_t extent, int64_t most, stairs *out)
{
    int64_t in_one = tw_cdiv(count_steps(extent), tw_clamp(most, 1, MOST_STEPS)), i = 0;
    out->n = 0;
    for (int64_t n = extent; n >= 1; n = shortest(extent, n) - 1) { /* from the longest down */
        if (i++ % in_one == 0) out->step[out->n++].most = (int32_t)n;
        out->step[out->n - 1].least = (int32_t)shortest(extent, n);
    }
    for (int a = 0, b = out->n - 1; a < b; a++, b--) { /* ascending */
        step s = out->step[a];
        out->step[a] = out->step[b];
        out->step[b] = s;
    }
}

static bool find_operands(floor_search *f)
{
    const tw_space *s = f->s;
    int output = tw_op_output(s->op);
    for (int o = 0; o < s->op->n_operands; o++) {
        if (!tw_space_holds(s, f->memory, o) || (s->resident >> o & 1)) continue;
        if (f->n == TW_CLOSED_OPERANDS) return false;
        int64_t sums = tw_sat_mul(s->least[o], s->partial_units);
        f->once[f->n] = tw_sat_mul(tw_sat_mul(s->least[o], s->elem_units[o]), f->price->of[o]);
        f->again[f->n] = o < output               ? f->once[f->n]
                         : s->back[f->memory] < 0 ? INT64_MAX
                                                  : tw_sat_mul(sums, tw_sat_add(f->price->of[o], f->price->back));
        f->operand[f->n++] = o;
    }
    for (int l = 0; l < s->op->n_loops; l++) {
        f->idle[l] = -1;
        for (int i = 0; i < f->n; i++) {
            if (tw_space_depends(s, f->operand[i], l)) continue;
            if (f->idle[l] >= 0) return false; /* idle for two */
            f->idle[l] = i;
        }
    }
    return f->n > 0;
}

/* ---- room ---- */

/* Whether the lengths chosen so far, all others being 1, can be held. */
static bool can_hold(const floor_search *f)
{
    const tw_space *s = f->s;
    int64_t left[TW_MAX_MEMORIES];
    tw_load_of load[TW_CLOSED_OPERANDS];
    for (int m = f->memory; m < s->machine->n_memories; m++)
        left[m] = s->machine->memory[m].size == TW_UNLIMITED ? INT64_MAX : s->machine->memory[m].size;
    for (int i = 0; i < f->n; i++) {
        int64_t len[TW_MAX_LOOPS];
        for (int l = 0; l < s->op->n_loops; l++)
            len[l] = f->idle[l] >= 0 && f->rank[f->idle[l]] > f->rank[i] ? f->len[l] : 1;
        int64_t elems = tw_touched_least(s, f->operand[i], len);
        load[i] = (tw_load_of){f->operand[i], tw_sat_mul(s->elem_units[f->operand[i]], elems)};
    }
    return tw_have_room(s, load, f->n, (const int[]){f->memory, s->machine->n_memories - 1}, left);
}

/* ---- one sequence ---- */

static int64_t cost_of(const floor_search *f, int i)
{
    if (f->times[i] == 1) return f->once[i];
    return tw_sat_add(f->once[i], tw_sat_mul(f->again[i], f->times[i] - 1));
}

static int64_t total(const floor_search *f)
{
    int64_t sum = 0;
    for (int i = 0; i < f->n; i++) sum = tw_sat_add(sum, cost_of(f, i));
    return sum;
}

/* Chooses lengths from loop k of the list on. Longer ones cost less and hold more. */
static void choose(floor_search *f, int k)
{
    if (k == f->n_free) {
        f->best = tw_min(f->best, total(f));
        return;
    }
    int l = f->free_loop[k], i = f->idle[l];
    int64_t times = f->times[i], extent = f->s->op->loop[l].extent;
    if (k == f->n_free - 1) { /* the longest that fits is best */
        int lo = 0, hi = f->stairs[l].n - 1;
        while (lo < hi) {
            int middle = lo + (hi - lo + 1) / 2;
            f->len[l] = f->stairs[l].step[middle].least;
            if (can_hold(f))
                lo = middle;
            else
                hi = middle - 1;
        }
        f->times[i] = tw_sat_mul(times, tw_cdiv(extent, f->stairs[l].step[lo].most));
        f->best = tw_min(f->best, total(f));
    } else {
        for (int j = 0; j < f->stairs[l].n; j++) {
            f->len[l] = f->stairs[l].step[j].least;
            if (j > 0 && !can_hold(f)) break;
            f->times[i] = tw_sat_mul(times, tw_cdiv(extent, f->stairs[l].step[j].most));
            choose(f, k + 1);
        }
    }
    f->len[l] = 1;
    f->times[i] = times;
}

/* The lengths of the loops to choose from, so that there are about `most` combinations; the last loop is chosen by halving. */
static void list_lengths(floor_search *f)
{
    double all = 1;
    for (int k = 0; k < f->n_free - 1; k++) all *= (double)count_steps(f->s->op->loop[f->free_loop[k]].extent);
    double part = all > (double)f->most ? pow((double)f->most / all, 1.0 / (f->n_free - 1)) : 1;
    for (int k = 0; k < f->n_free; k++) {
        int64_t extent = f->s->op->loop[f->free_loop[k]].extent;
        double wanted = k == f->n_free - 1 ? MOST_STEPS : part * (double)count_steps(extent);
        list_steps(extent, tw_max(2, (int64_t)wanted), &f->stairs[f->free_loop[k]]);
    }
}

/* The loops whose lengths matter: those that all but the longest residency are idle in. */
static void try_sequence(floor_search *f)
{
    f->n_free = 0;
    for (int r = f->n - 1; r > 0; r--)
        for (int l = 0; l < f->s->op->n_loops; l++)
            if (f->idle[l] == f->at_rank[r] && f->s->op->loop[l].extent > 1) f->free_loop[f->n_free++] = l;
    for (int l = 0; l < f->s->op->n_loops; l++) f->len[l] = 1;
    for (int i = 0; i < f->n; i++) f->times[i] = 1;
    if (!can_hold(f)) return;
    list_lengths(f);
    choose(f, 0);
}

static void try_sequences(floor_search *f, int r, unsigned left)
{
    if (left == 0) {
        try_sequence(f);
        return;
    }
    for (unsigned rest = left; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        f->rank[i] = r;
        f->at_rank[r] = i;
        try_sequences(f, r + 1, left & ~(1u << i));
    }
}

int64_t tw_floor_of(const tw_space *s, int m, const tw_price *price, int64_t most)
{
    floor_search f = {.s = s, .price = price, .memory = m, .best = INT64_MAX, .most = most};
    stairs all[TW_MAX_LOOPS];
    if (!find_operands(&f)) return 0;
    f.stairs = all;
    try_sequences(&f, 0, (1u << f.n) - 1);
    return f.best == INT64_MAX ? 0 : f.best;
}
