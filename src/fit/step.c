/* src/fit/step.c - see step.h. */
#include "fit/step.h"

#include <math.h>

/* ---- the step ---- */

typedef struct factor { /* the free coordinates' part of A, as L L' */
    int n, index[TW_MAX_PARAMETERS];
    double l[TW_MAX_PARAMETERS][TW_MAX_PARAMETERS];
} factor;

/* Adds coordinate i; false when A says nothing about it that the others do not say. */
static bool extend(factor *f, const tw_quadratic *q, double damping, int i)
{
    static const double nothing = 1e-12;
    double *row = f->l[f->n], diagonal = q->a[i][i] * (1 + damping), rest = diagonal;
    for (int k = 0; k < f->n; k++) {
        double sum = q->a[i][f->index[k]];
        for (int j = 0; j < k; j++) sum -= row[j] * f->l[k][j];
        row[k] = sum / f->l[k][k];
        rest -= row[k] * row[k];
    }
    if (rest <= nothing * diagonal || diagonal <= 0) return false;
    row[f->n] = sqrt(rest);
    f->index[f->n++] = i;
    return true;
}

static void solve(const factor *f, double *x)
{
    for (int k = 0; k < f->n; k++) {
        for (int j = 0; j < k; j++) x[k] -= f->l[k][j] * x[j];
        x[k] /= f->l[k][k];
    }
    for (int k = f->n - 1; k >= 0; k--) {
        for (int j = k + 1; j < f->n; j++) x[k] -= f->l[j][k] * x[j];
        x[k] /= f->l[k][k];
    }
}

/* How steep it is along each coordinate. */
static void slope_at(const tw_quadratic *q, double damping, const double *d, double *slope)
{
    for (int i = 0; i < q->n; i++) {
        slope[i] = q->g[i] + damping * q->a[i][i] * d[i];
        for (int k = 0; k < q->n; k++) slope[i] += q->a[i][k] * d[k];
    }
}

/* From d to the best point that only the free coordinates reach, however far. */
static void way_to_best(const tw_quadratic *q, double damping, const bool *edge, const double *slope, double *way)
{
    factor f = {0};
    double x[TW_MAX_PARAMETERS];
    for (int i = 0; i < q->n; i++) {
        way[i] = 0;
        if (!edge[i]) extend(&f, q, damping, i);
    }
    for (int k = 0; k < f.n; k++) x[k] = -slope[f.index[k]];
    solve(&f, x);
    for (int k = 0; k < f.n; k++) way[f.index[k]] = x[k];
}

/* Goes along the way up to the first edge; the coordinate that lies on it then, -1: none. */
static int walk(const tw_quadratic *q, const bool *edge, const double *way, double *d)
{
    double length = 1;
    int first = -1;
    for (int i = 0; i < q->n; i++) {
        if (edge[i] || way[i] == 0) continue;
        double room = ((way[i] > 0 ? q->hi[i] : q->lo[i]) - d[i]) / way[i];
        if (room >= length) continue;
        length = room > 0 ? room : 0;
        first = i;
    }
    for (int i = 0; i < q->n; i++) {
        d[i] += length * way[i];
        if (i == first) d[i] = way[i] > 0 ? q->hi[i] : q->lo[i];
    }
    return first;
}

/* The coordinate on an edge that would gain most by leaving it, -1: none would. */
static int find_leaver(const tw_quadratic *q, const bool *edge, const double *slope, const double *d)
{
    int best = -1;
    for (int i = 0; i < q->n; i++) {
        bool inwards = edge[i] && q->lo[i] < q->hi[i] && (d[i] <= q->lo[i] ? slope[i] < 0 : slope[i] > 0);
        if (inwards && (best < 0 || fabs(slope[i]) > fabs(slope[best]))) best = i;
    }
    return best;
}

void tw_box_step(const tw_quadratic *q, double damping, double d[TW_MAX_PARAMETERS])
{
    enum { ROUNDS = 8 * TW_MAX_PARAMETERS }; /* each ends on one more edge or off one; rounding could repeat some */
    bool edge[TW_MAX_PARAMETERS] = {false};
    double slope[TW_MAX_PARAMETERS], way[TW_MAX_PARAMETERS];
    for (int i = 0; i < q->n; i++) d[i] = 0;
    for (int r = 0; r < ROUNDS; r++) {
        slope_at(q, damping, d, slope);
        way_to_best(q, damping, edge, slope, way);
        int hit = walk(q, edge, way, d);
        if (hit >= 0) {
            edge[hit] = true;
            continue;
        }
        slope_at(q, damping, d, slope);
        int leaver = find_leaver(q, edge, slope, d);
        if (leaver < 0) return;
        edge[leaver] = false;
    }
}

/* ---- losses ---- */

double tw_robust_of(const tw_robust *loss, double residual)
{
    double x = fabs(residual), w = loss->width;
    if (loss->kind == TW_ROBUST_HUBER) return x <= w ? x * x / 2 : w * (x - w / 2);
    double near = x < w ? 1 - x * x / (w * w) : 0;
    return w * w / 6 * (1 - near * near * near);
}

double tw_robust_weight(const tw_robust *loss, double residual)
{
    double x = fabs(residual), w = loss->width;
    if (loss->kind == TW_ROBUST_HUBER) return x <= w ? 1 : w / x;
    double near = x < w ? 1 - x * x / (w * w) : 0;
    return near * near;
}
