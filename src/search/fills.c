/* src/search/fills.c - see fills.h. */
#include "search/fills.h"

#include "search/layout.h"
#include "search/view.h"

static bool comes_before(const tw_fill *a, const tw_fill *b)
{
    if (a->cycles != b->cycles) return a->cycles < b->cycles;
    for (int i = 0; i < TW_LAID_LOOPS; i++)
        if (a->size[i] != b->size[i]) return a->size[i] < b->size[i];
    return false;
}

/* A heap with the worst on top. */
static void sink(tw_fill *heap, int n, int at)
{
    for (int worst = at;; at = worst) {
        for (int i = 2 * at + 1; i <= 2 * at + 2 && i < n; i++)
            if (comes_before(&heap[worst], &heap[i])) worst = i;
        if (worst == at) return;
        tw_fill other = heap[at];
        heap[at] = heap[worst];
        heap[worst] = other;
    }
}

static void offer(tw_fill *heap, int *n, int most, const tw_fill *fill)
{
    if (*n == most) {
        if (!comes_before(fill, &heap[0])) return;
        heap[0] = *fill;
        sink(heap, most, 0);
        return;
    }
    heap[(*n)++] = *fill;
    if (*n == most)
        for (int i = most / 2; i-- > 0;) sink(heap, most, i);
}

static void sort(tw_fill *heap, int n)
{
    for (int i = n / 2; i-- > 0;) sink(heap, n, i);
    for (int last = n; --last > 0;) {
        tw_fill worst = heap[0];
        heap[0] = heap[last];
        heap[last] = worst;
        sink(heap, last, 0);
    }
}

/* Cycles in which all sums leave their innermost memory. */
static int64_t leaving(const tw_space *s)
{
    int output = tw_op_output(s->op), m = tw_path_innermost(s->path[output]);
    return tw_busy_of(&s->machine->engine[s->mover[m][output]], 1,
                      tw_sat_mul(s->least[output], s->elem_units[output]));
}

int tw_fills_of(const tw_space *s, int most, tw_fill *out)
{
    int64_t room = tw_layout_room(s), extent[TW_LAID_LOOPS] = {1, 1, 1}, beside = 1, out_cycles = leaving(s);
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int n = 0;
    if (!s->laid_least || room == INT64_MAX) return 0;
    for (int i = 0; i < s->n_laid; i++) extent[i] = s->op->loop[s->laid_loop[i]].extent;
    for (int l = 0; l < s->op->n_loops; l++)
        if (!tw_layout_may_lie(s, l)) beside = tw_sat_mul(beside, s->op->loop[l].extent);
    for (int64_t b = 1; b <= extent[1]; b++)
        for (int64_t c = 1; c <= extent[2]; c++) {
            int64_t longest = tw_min(tw_min(extent[0], room / (b * c)), TW_LAID_LONGEST);
            for (int64_t a = 1; a <= longest; a++) {
                tw_fill fill = {.size = {(int32_t)a, (int32_t)b, (int32_t)c}};
                fill.cycles = tw_busy_of(mac, 1, tw_sat_mul(beside, tw_layout_at(s, a, b, c)));
                if (2 * a * b * c > room) fill.cycles = tw_sat_add(fill.cycles, out_cycles);
                offer(out, &n, most, &fill);
            }
        }
    sort(out, n);
    return n;
}
