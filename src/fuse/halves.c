/* src/fuse/halves.c - tiles of two levels: the outer ones and the inner ones are counted apart, and the best of either kind are put together; see tiling.h.
 *
 * A pair keeps the sizes of its outer tiles, on which depends what passes the slow links. Inner tiles become as much smaller as it takes to cut an outer one into pieces that are
 * alike, so that both halves still fit:
 *
 *     outer 9 rows, inner 5        9 | 9 | ..  each as 5 + 4
 *
 * What a half takes is that of the tiles it was counted with: the pair's price is an estimate, as that of any tiling. */
#include "fuse/tiler.h"
#include "mapping/taken.h"

#include <string.h>

/* ---- which halves there are ---- */

static bool are_alike(const tw_seams *a, const tw_seams *b)
{
    bool same = a->n_in == b->n_in && a->out == b->out && a->shelf == b->shelf && a->passing == b->passing;
    for (int k = 0; k < a->n_in && same; k++) same = a->in[k] == b->in[k];
    return same;
}

/* Halves do not depend on whether windows slide in the tilings of a list: of two lists of pairs that differ in this alone, the first has them. */
static bool is_first(const tw_drive *drive, int n, int i)
{
    if (!drive->list[n][i].nests) return false;
    for (int k = 0; k < i; k++)
        if (drive->list[n][k].nests && are_alike(&drive->list[n][k].seams, &drive->list[n][i].seams)) return false;
    return true;
}

static const tw_halves *find_halves(const tw_tiler *w, int n, int i)
{
    for (int k = 0; k <= i; k++)
        if (w->halves[n][k] && are_alike(&w->drive->list[n][k].seams, &w->drive->list[n][i].seams))
            return w->halves[n][k];
    return NULL;
}

tw_status tw_halves_open(tw_tiler *w)
{
    for (int n = 0; n < w->drive->n; n++) {
        const tw_segment_frame *f = w->drive->frame[n];
        for (int i = 0; i < TW_MAX_LISTS; i++) {
            w->halves[n][i] = NULL;
            if (!f || f->outer == 0 || i >= w->drive->n_lists[n] || !is_first(w->drive, n, i)) continue;
            if (!w->room[n][i]) TW_ALLOC(w->arena, w->room[n][i], 1);
            w->halves[n][i] = w->room[n][i];
            memset(w->halves[n][i]->n, 0, sizeof w->halves[n][i]->n);
        }
    }
    return TW_OK;
}

/* ---- halves ---- */

static bool is_side_full(const tw_segment_frame *f, tw_side side, uint64_t full)
{
    int last = (int)tw_min(f->outer, 62);
    uint64_t outer = ((uint64_t)2 << last) - 1;
    return (full & (side == TW_OUTER_SIDE ? outer : ~outer)) != 0;
}

bool tw_halves_are_over(const tw_segment_frame *f, uint64_t full)
{
    return f->outer == 0 || (is_side_full(f, TW_OUTER_SIDE, full) && is_side_full(f, TW_INNER_SIDE, full));
}

static bool is_among(const tw_half *list, int n, double price)
{
    return n < TW_MOST_HALVES || price < list[TW_MOST_HALVES - 1].price;
}

static void keep_half(tw_half *list, int *n, const tw_half *half)
{
    int at = *n < TW_MOST_HALVES ? (*n)++ : TW_MOST_HALVES - 1;
    for (; at > 0 && list[at - 1].price > half->price; at--) list[at] = list[at - 1];
    list[at] = *half;
}

static tw_half half_of(const tw_tiling *t, tw_moving moving)
{
    tw_half half = {.is = {.n_cuts = t->n_cuts,
                           .in_slots = t->in_slots,
                           .out_slots = t->out_slots,
                           .changing = t->changing,
                           .slide = t->slide,
                           .slides = t->slides},
                    .running = t->running,
                    .cycles = t->cycles,
                    .energy_fj = t->energy_fj,
                    .price = t->price,
                    .moving = moving};
    memcpy(half.is.loop, t->loop, sizeof t->loop);
    memcpy(half.is.size, t->size, sizeof t->size);
    return half;
}

/* The tiling on one side between the seams of a list; outer tiles are taken as if they were executed at once, at the peak. Whether
 * it is among the best. */
static bool offer_half(tw_tiler *w, int n, tw_side side, int i, tw_tiling *t)
{
    const tw_segment_frame *f = w->drive->frame[n];
    const tw_tilings *list = &w->drive->list[n][i];
    int s = side == TW_INNER_SIDE, slides = t->slide > 0;
    int *n_halves = &w->halves[n][i]->n[s][slides];
    tw_half *best = w->halves[n][i]->half[s][slides];
    t->resident = tw_tiler_residents(f, list);
    if (!tw_tiler_fits(w, f, side, &list->seams, t)) return false;
    tw_moving moving = tw_tiler_price(w, f, side, true, t);
    if (!is_among(best, *n_halves, t->price)) return false;
    if (side == TW_INNER_SIDE) {
        tw_tiler_spread(w, n + 1, t);
        moving = tw_tiler_price(w, f, side, false, t);
        if (!is_among(best, *n_halves, t->price)) return false;
    }
    tw_tiler_describe(w, f, t);
    tw_half half = half_of(t, moving);
    for (int k = 0; k < f->segment.n && side == TW_INNER_SIDE; k++)
        half.over[k] = w->entered[tw_tiler_op(f, k)].over;
    half.last_work = side == TW_INNER_SIDE ? w->entered[0].last_work : 0;
    keep_half(best, n_halves, &half);
    return true;
}

bool tw_halves_offer(tw_tiler *w, int n_entered, uint64_t full, tw_tiling *t)
{
    bool any = false;
    static const tw_side sides[] = {TW_OUTER_SIDE, TW_INNER_SIDE};
    const tw_segment_frame *f = w->drive->frame[n_entered - 1];
    if (!f || !w->wanted[n_entered - 1]) return true;
    if (f->outer == 0) return false;
    for (int s = 0; s < 2; s++) {
        bool may = !is_side_full(f, sides[s], full) && !(t->running && sides[s] == TW_OUTER_SIDE);
        if (!may || (t->slide > 0 && !tw_tiler_may_slide(w, f, sides[s], t))) continue;
        for (int i = 0; i < w->drive->n_lists[n_entered - 1]; i++)
            if (w->halves[n_entered - 1][i]) any |= offer_half(w, n_entered - 1, sides[s], i, t);
    }
    return any;
}

/* ---- pairs ---- */

/* The size of a tile along a loop. */
static int64_t size_of(const tw_op *op, const tw_outer_tiles *is, int loop)
{
    for (int p = 0; p < is->n_cuts; p++)
        if (is->loop[p] == loop) return is->size[p];
    return op->loop[loop].extent;
}

/* Inner tiles that cut an outer one into pieces alike, as the engine takes them. */
static int64_t fit_into(const tw_segment_frame *f, int loop, int64_t outer, int64_t inner)
{
    tw_taken taken = tw_taken_of(&f->op[f->segment.n - 1].engine, tw_frame_driver(f), loop);
    int64_t step = tw_max(1, taken.step), even = tw_cdiv(outer, tw_cdiv(outer, inner));
    return tw_min(inner, tw_cdiv(even, step) * step);
}

/* Writes the inner tiles of the pair, without cuts that outer tiles make needless; false: there is nothing left of them, or of what runs, or they
 * are smaller than the engine takes. */
static bool join_inner(const tw_segment_frame *f, const tw_half *a, const tw_half *b, tw_tiling *t)
{
    for (int p = 0; p < b->is.n_cuts; p++) {
        int loop = b->is.loop[p];
        int64_t outer = size_of(tw_frame_driver(f), &a->is, loop);
        if (b->is.size[p] >= outer) continue;
        t->loop[t->n_cuts] = loop;
        t->size[t->n_cuts++] = fit_into(f, loop, outer, b->is.size[p]);
        int64_t size = t->size[t->n_cuts - 1], rest = tw_frame_driver(f)->loop[loop].extent % outer;
        if (!tw_frame_is_cut_large(f, outer, size) || (rest > 0 && !tw_frame_is_cut_large(f, rest, size)))
            return false;
        if (p == b->is.slide - 1) t->slide = t->n_cuts;
    }
    t->slides = t->slide > 0 ? b->is.slides : 0;
    t->running = b->running;
    return t->n_cuts > 0 && (!t->running || t->loop[t->n_cuts - 1] == t->running - 1);
}

static void join_pair(const tw_tiler *w, const tw_segment_frame *f, const tw_half *a, const tw_half *b,
                      tw_tilings *list)
{
    tw_tiling t = {.nested = true, .outer = a->is, .in_slots = b->is.in_slots, .out_slots = b->is.out_slots};
    const tw_tiling slots = {.in_slots = a->is.in_slots, .out_slots = a->is.out_slots};
    if (!join_inner(f, a, b, &t)) return;
    t.changing = a->is.changing | b->is.changing;
    t.resident = tw_tiler_residents(f, list);
    t.cycles = tw_tiler_overlap(&a->moving, b->cycles, b->last_work, &slots);
    t.energy_fj = a->energy_fj + b->energy_fj;
    t.price = w->by->price(w->by->user, t.cycles, t.energy_fj);
    if (list->n == list->most && t.price >= list->tiling[list->most - 1].price) return;
    for (int k = 0; k < f->segment.n; k++) t.over[k] = *b->over[k];
    tw_tilings_keep(list, &t);
}

void tw_halves_join(tw_tiler *w)
{
    for (int n = 0; n < w->drive->n; n++)
        for (int i = 0; w->drive->frame[n] && i < w->drive->n_lists[n]; i++) {
            tw_tilings *list = &w->drive->list[n][i];
            const tw_halves *h = find_halves(w, n, i);
            for (int slides = 0; slides < 4 && h; slides++) {
                int outer = slides & 1, inner = slides >> 1;
                if (!list->nests || list->keeps != (slides > 0)) continue;
                for (int a = 0; a < h->n[0][outer]; a++)
                    for (int b = 0; b < h->n[1][inner]; b++)
                        join_pair(w, w->drive->frame[n], &h->half[0][outer][a], &h->half[1][inner][b], list);
            }
        }
}
