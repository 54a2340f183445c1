/* src/reference/index_boxes.c - NonMaxSuppression: of boxes that overlap, the one with the best score. */
#include "reference/moving.h"

#include <stdlib.h>

typedef struct box {
    double lo[2], hi[2];
} box;
typedef struct candidate {
    double score;
    int64_t index;
} candidate;

typedef struct suppression {
    int64_t n_batches, n_classes, n_boxes, at_most; /* at_most: per class of a batch */
    double overlap;                                 /* more than this is suppressed  */
    double score;                                   /* only above this               */
    bool any_score, centered;
    const double *boxes, *scores;
} suppression;

static box box_of(const suppression *s, int64_t i)
{
    const double *p = s->boxes + 4 * i;
    box b;
    for (int k = 0; k < 2; k++) {
        double from = s->centered ? p[k] - p[k + 2] / 2 : p[k], to = s->centered ? p[k] + p[k + 2] / 2 : p[k + 2];
        b.lo[k] = from < to ? from : to;
        b.hi[k] = from < to ? to : from;
    }
    return b;
}

static double area(box b) { return (b.hi[0] - b.lo[0]) * (b.hi[1] - b.lo[1]); }

static bool overlaps(const suppression *s, box a, box b)
{
    double common = 1;
    for (int k = 0; k < 2; k++) {
        double lo = a.lo[k] > b.lo[k] ? a.lo[k] : b.lo[k], hi = a.hi[k] < b.hi[k] ? a.hi[k] : b.hi[k];
        if (hi <= lo) return false;
        common *= hi - lo;
    }
    return common / (area(a) + area(b) - common) > s->overlap;
}

static int by_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The boxes of one class of one batch, the best first; returns how many. */
static int64_t select_boxes(const suppression *s, int64_t batch, int64_t class, candidate *best, int64_t *kept)
{
    const double *score = s->scores + (batch * s->n_classes + class) * s->n_boxes;
    int64_t n = 0, n_kept = 0;
    for (int64_t i = 0; i < s->n_boxes; i++)
        if (score[i] == score[i] && (s->any_score || score[i] > s->score)) best[n++] = (candidate){score[i], i};
    qsort(best, (size_t)n, sizeof *best, by_score);
    for (int64_t i = 0; i < n && n_kept < s->at_most; i++) {
        box b = box_of(s, batch * s->n_boxes + best[i].index);
        bool free = true;
        for (int64_t k = 0; k < n_kept && free; k++)
            free = !overlaps(s, b, box_of(s, batch * s->n_boxes + kept[k]));
        if (free) kept[n_kept++] = best[i].index;
    }
    return n_kept;
}

static tw_status one_real(const tw_ref_case *c, int i, double fallback, double *out)
{
    const tw_array *a = tw_ref_input(c, i);
    if (a && (a->n != 1 || !tw_onnx_is_number(a->type))) return tw_ref_error(c, "input %d must be one number", i);
    *out = a ? tw_array_get(a, 0) : fallback;
    return TW_OK;
}

static tw_status read_suppression(const tw_ref_case *c, suppression *s)
{
    const tw_array *boxes, *scores;
    TW_TRY(tw_ref_need(c, 0, &boxes));
    TW_TRY(tw_ref_need(c, 1, &scores));
    if (boxes->n_dims != 3 || scores->n_dims != 3 || boxes->dim[2] != 4 || boxes->dim[0] != scores->dim[0] ||
        boxes->dim[1] != scores->dim[2] || !tw_onnx_is_float(boxes->type) || !tw_onnx_is_float(scores->type))
        return tw_ref_error(c, "boxes must be B x N x 4 and scores B x C x N");
    TW_TRY(tw_moving_whole(c, 2, 0, &s->at_most));
    TW_TRY(one_real(c, 3, 0, &s->overlap));
    TW_TRY(one_real(c, 4, 0, &s->score));
    s->any_score = !tw_ref_input(c, 4);
    s->centered = tw_onnx_int(c->node, "center_point_box", 0) != 0;
    s->n_batches = boxes->dim[0];
    s->n_classes = scores->dim[1];
    s->n_boxes = boxes->dim[1];
    s->boxes = tw_array_reals(boxes, c->arena);
    s->scores = tw_array_reals(scores, c->arena);
    return s->boxes && s->scores ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_run_non_max_suppression(const tw_ref_case *c, tw_array *output)
{
    suppression s;
    candidate *best;
    int64_t *kept, *found, n = 0;
    TW_TRY(read_suppression(c, &s));
    int64_t pairs = s.n_boxes == 0 ? 0 : s.n_batches * s.n_classes, per_pair = tw_clamp(s.at_most, 0, s.n_boxes);
    TW_ALLOC(c->arena, best, s.n_boxes);
    TW_ALLOC(c->arena, kept, s.n_boxes);
    TW_ALLOC(c->arena, found, 3 * pairs * per_pair);
    for (int64_t p = 0; p < pairs; p++) {
        int64_t batch = p / s.n_classes, n_kept = select_boxes(&s, batch, p % s.n_classes, best, kept);
        for (int64_t i = 0; i < n_kept; i++, n++) {
            found[3 * n] = batch;
            found[3 * n + 1] = p % s.n_classes;
            found[3 * n + 2] = kept[i];
        }
    }
    TW_TRY(tw_ref_make(c, TW_ONNX_I64, 2, (int64_t[]){n, 3}, output));
    tw_array_put_wholes(output, found);
    return TW_OK;
}
