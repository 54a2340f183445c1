/* src/search/family.c - see family.h: three nested choices, counts, slots, order. */
#include "search/family.h"

#include "tile/split.h"

typedef struct walk {
    const tw_family *family;
    const tw_family_visitor *visitor;
    tw_level_map map;
    int64_t n_execs;
    int parallel[TW_MAX_LOOPS], n_parallel; /* cut parallel loops, as declared */
} walk;

/* ---- order ---- */

/* All loops as declared, parallel ones first, with the cut ones of these in the given order. */
static void set_order(walk *w, const int *cut_order)
{
    const tw_op *op = w->family->op;
    int n = 0, cut = 0;
    for (int l = 0; l < op->n_loops; l++)
        if (!op->loop[l].reduces) w->map.order[n++] = w->map.count[l] > 1 ? cut_order[cut++] : l;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) w->map.order[n++] = l;
}

static void swap(int *a, int *b)
{
    int t = *a;
    *a = *b;
    *b = t;
}

/* With more cut parallel loops than this only the declared order is tried. */
enum { MOST_PERMUTED = 3 };

/* The next order of the first n entries, smallest loop numbers first; false after the last. */
static bool next_order(int *p, int n)
{
    int i = n - 2;
    while (i >= 0 && p[i] > p[i + 1]) i--;
    if (i < 0) return false;
    int j = n - 1;
    while (p[j] < p[i]) j--;
    swap(&p[i], &p[j]);
    for (int a = i + 1, b = n - 1; a < b; a++, b--) swap(&p[a], &p[b]);
    return true;
}

/* The functions below return false when the walk is to end. */
static bool try_orders(walk *w)
{
    int order[TW_MAX_LOOPS];
    for (int i = 0; i < w->n_parallel; i++) order[i] = w->parallel[i];
    do {
        set_order(w, order);
        if (w->visitor->candidate(w->visitor->user, &w->map, w->n_execs) == TW_STOP) return false;
    } while (w->n_parallel <= MOST_PERMUTED && next_order(order, w->n_parallel));
    return true;
}

/* ---- slots ---- */

static int64_t tiles_of(const walk *w, unsigned loops)
{
    int64_t n = 1;
    for (int l = 0; l < w->family->op->n_loops; l++)
        if (loops >> l & 1) n *= w->map.count[l];
    return n;
}

static bool try_slots(walk *w, int operand)
{
    const tw_op *op = w->family->op;
    int output = tw_op_output(op);
    if (operand == op->n_operands) return try_orders(w);
    int64_t tiles = tiles_of(w, tw_operand_loops(&op->operand[operand]));
    int64_t least = 1, most = tw_min(2, tiles);
    if (operand == output) {
        int64_t partials = tiles_of(w, tw_op_reductions(op));
        least = tw_mapping_min_output_slots(w->family->mode, partials);
        most = least == 1 && tiles == 1 ? 1 : least + 1;
    }
    for (w->map.slots[operand] = least; w->map.slots[operand] <= most; w->map.slots[operand]++)
        if (!try_slots(w, operand + 1)) return false;
    return true;
}

/* ---- counts ---- */

static bool try_counts(walk *w, int loop)
{
    const tw_family *f = w->family;
    if (loop == f->op->n_loops) {
        tw_visit visit = w->visitor->counts(w->visitor->user, &w->map, w->n_execs);
        if (visit != TW_GO_ON) return visit == TW_SKIP;
        w->n_parallel = 0;
        for (int l = 0; l < f->op->n_loops; l++)
            if (!f->op->loop[l].reduces && w->map.count[l] > 1) w->parallel[w->n_parallel++] = l;
        return try_slots(w, 0);
    }
    int64_t so_far = w->n_execs, len = f->len[loop];
    for (int64_t c = 1; c > 0 && c <= f->max_execs / so_far; c = tw_split_next_legal(len, c + 1, TW_GREEDY)) {
        if (c > 1 && len / c < f->min_tile) break;
        w->map.count[loop] = c;
        w->n_execs = so_far * c;
        if (!try_counts(w, loop + 1)) return false;
    }
    w->n_execs = so_far;
    return true;
}

bool tw_family_walk(const tw_family *family, const tw_family_visitor *visitor)
{
    walk w = {.family = family, .visitor = visitor, .n_execs = 1};
    w.map.memory = family->memory;
    w.map.cut = family->cut;
    w.map.accumulate = family->mode;
    w.map.min_tile = 1;
    return try_counts(&w, 0);
}
