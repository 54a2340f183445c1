/* src/fit/fit.c - see fit.h for the plan.
 *
 * Parameters are whole thousandths; inside a step they are measured in lengths of their ranges, so that one damping
 * suits all. Differences are taken over some percent of a value, not over a thousandth: commands take whole cycles,
 * and over a short distance the rounding of a few of them would be all that changes. */
#include "fit/fit.h"

#include "fit/step.h"
#include "machine/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_STARTS = 5,
    START_SAMPLES = 160, /* of which the starts are judged             */
    START_ROUNDS = 5,
    ROUNDS = 12, /* of one descent                             */
    TRIES = 6,   /* to find a damping that makes things better */
    SWEEPS = 6,  /* over the parameters, one at a time         */
    POLISHES = 3,
};
static const double pull = 1e-8;         /* towards the file's values, per squared range               */
static const double least_scale = 0.002; /* repeated measurements differ by this much                  */
static const double deviations = 6, least_far = 1.15;         /* of an outlier, and as a factor                   */
static const double huber_width = 1.345, tukey_width = 4.685; /* in standard deviations                    */
static const double shown_most = 0.3;     /* errors count up to this much where starts are compared     */
static const double rounding_cost = 1e-3; /* relative, of each value that is rounded                    */
static const double gain_least = 1e-3, gain_last = 1e-4; /* relative; a descent that gains less has arrived   */

typedef struct fitter {
    const tw_fit_problem *problem;
    tw_diag *diag;
    int n; /* parameters */
    const tw_parameter *parameter;
    tw_machine *trial;
    tw_arena *scratch;
    const int *pick; /* samples at hand */
    int m;
    int64_t *cycles;
    double *residual, *there, *slope; /* at the values, at others, and d residual / d parameter: m per parameter */
    double *sorted;
    tw_robust loss;
    const char *stage;
    int64_t begin_ns;
    double longest_run; /* seconds */
    tw_fit *out;
} fitter;

double tw_fit_residual(int64_t predicted, int64_t measured) { return log((double)predicted / (double)measured); }

/* ---- residuals and what they cost ---- */

static double mean_error(const fitter *f, const double *residual)
{
    double sum = 0, weights = 0;
    for (int i = 0; i < f->m; i++) {
        double w = f->problem->sample[f->pick[i]].weight;
        sum += w * fmin(fabs(residual[i]), shown_most);
        weights += w;
    }
    return sum / weights;
}

/* What follows the fit takes some runs more: it ends as long as there is time for them. */
static bool is_late(fitter *f, int64_t begin_ns)
{
    enum { RUNS_AFTER = 3 };
    double seconds = tw_deadline_since(begin_ns);
    f->longest_run = fmax(f->longest_run, seconds);
    return tw_deadline_is_over(f->diag->deadline) ||
           tw_deadline_left(f->diag->deadline) < RUNS_AFTER * f->longest_run;
}

static void show(fitter *f, const double *residual)
{
    const tw_fit_problem *p = f->problem;
    f->out->n_runs++;
    if (!p->progress) return;
    tw_fit_progress progress = {.stage = f->stage, .n_runs = f->out->n_runs, .error = mean_error(f, residual)};
    progress.seconds = tw_deadline_since(f->begin_ns);
    if (!p->progress(p->user, &progress)) f->out->stopped = true;
}

static tw_status find_residuals(fitter *f, const int64_t *value, double *residual)
{
    const tw_fit_problem *p = f->problem;
    int64_t begin_ns = tw_deadline_now();
    tw_arena_mark mark = tw_arena_save(f->scratch);
    tw_status status = tw_machine_with(p->machine, value, f->scratch, f->diag, f->trial);
    if (status == TW_OK) status = tw_clock_run(p->clock, f->trial, p->sample, f->pick, f->m, f->cycles);
    tw_arena_rewind(f->scratch, mark);
    TW_TRY(status);
    f->out->stopped |= is_late(f, begin_ns);
    for (int i = 0; i < f->m; i++)
        residual[i] = tw_fit_residual(tw_max(f->cycles[i], 1), p->sample[f->pick[i]].measured);
    show(f, residual);
    return TW_OK;
}

static double range(const fitter *f, int j) { return (double)(f->parameter[j].most - f->parameter[j].least); }

/* How far a value lies from the file's, in lengths of its range. */
static double departure(const fitter *f, const int64_t *value, int j)
{
    return range(f, j) > 0 ? (double)(value[j] - f->parameter[j].value) / range(f, j) : 0;
}

static double cost_of(const fitter *f, const int64_t *value, const double *residual)
{
    double sum = 0, weights = 0, away = 0;
    for (int i = 0; i < f->m; i++) {
        double w = f->problem->sample[f->pick[i]].weight;
        sum += w * tw_robust_of(&f->loss, residual[i]);
        weights += w;
    }
    for (int j = 0; j < f->n; j++) away += departure(f, value, j) * departure(f, value, j);
    return sum / weights + pull * away;
}

/* Standard deviation of the residuals, as their median tells it. */
static double scale_of(const double *residual, int n, double *sorted)
{
    static const double median_of_normal = 1.4826;
    for (int i = 0; i < n; i++) sorted[i] = fabs(residual[i]);
    qsort(sorted, (size_t)n, sizeof *sorted, tw_by_double);
    double median = (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
    return fmax(median_of_normal * median, least_scale);
}

static void judge(const double *residual, int n, double *sorted, tw_fit *out)
{
    out->scale = scale_of(residual, n, sorted);
    out->far = fmax(deviations * out->scale, log(least_far));
}

tw_status tw_fit_judge(const double *residual, int n, tw_arena *scratch, tw_fit *out)
{
    double *sorted;
    TW_ALLOC(scratch, sorted, n);
    judge(residual, n, sorted, out);
    return TW_OK;
}

static void set_loss(fitter *f, tw_robust_kind kind)
{
    double scale = scale_of(f->residual, f->m, f->sorted);
    f->loss = (tw_robust){kind, scale * (kind == TW_ROBUST_HUBER ? huber_width : tukey_width)};
}

/* ---- one descent ---- */

/* A distance over which differences are taken. */
static int64_t reach(const fitter *f, const int64_t *value, int j)
{
    return tw_max(tw_max(value[j] / 20, (f->parameter[j].most - f->parameter[j].least) / 200), 1);
}

static tw_status find_slope(fitter *f, const int64_t *value, int j)
{
    const tw_parameter *p = &f->parameter[j];
    double *slope = f->slope + (size_t)j * (size_t)f->m;
    int64_t at[TW_MAX_PARAMETERS], h = reach(f, value, j);
    memcpy(at, value, sizeof at);
    int64_t lo = tw_max(value[j] - h, p->least), hi = tw_min(value[j] + h, p->most);
    memset(slope, 0, (size_t)f->m * sizeof *slope);
    if (lo == hi) return TW_OK;
    const double *below = f->residual;
    if (lo < value[j]) {
        at[j] = lo;
        TW_TRY(find_residuals(f, at, slope));
        below = slope;
    }
    const double *above = f->residual;
    if (hi > value[j]) {
        at[j] = hi;
        TW_TRY(find_residuals(f, at, f->there));
        above = f->there;
    }
    double factor = range(f, j) / (double)(hi - lo);
    for (int i = 0; i < f->m; i++) slope[i] = (above[i] - below[i]) * factor;
    return TW_OK;
}

static void build_quadratic(const fitter *f, const int64_t *value, tw_quadratic *q)
{
    double weights = 0;
    *q = (tw_quadratic){.n = f->n};
    for (int i = 0; i < f->m; i++) weights += f->problem->sample[f->pick[i]].weight;
    for (int j = 0; j < f->n; j++) {
        const double *sj = f->slope + (size_t)j * (size_t)f->m;
        for (int k = 0; k <= j; k++) {
            const double *sk = f->slope + (size_t)k * (size_t)f->m;
            double sum = 0;
            for (int i = 0; i < f->m; i++)
                sum += f->problem->sample[f->pick[i]].weight * tw_robust_weight(&f->loss, f->residual[i]) * sj[i] *
                       sk[i];
            q->a[j][k] = q->a[k][j] = sum / weights;
        }
        double sum = 0;
        for (int i = 0; i < f->m; i++)
            sum += f->problem->sample[f->pick[i]].weight * tw_robust_weight(&f->loss, f->residual[i]) * sj[i] *
                   f->residual[i];
        q->g[j] = sum / weights + 2 * pull * departure(f, value, j);
        q->a[j][j] += 2 * pull;
        if (range(f, j) <= 0) continue;
        q->lo[j] = (double)(f->parameter[j].least - value[j]) / range(f, j);
        q->hi[j] = (double)(f->parameter[j].most - value[j]) / range(f, j);
    }
}

static void take_step(const fitter *f, const int64_t *value, const double *d, int64_t *out)
{
    for (int j = 0; j < f->n; j++)
        out[j] =
            tw_clamp(value[j] + (int64_t)llround(d[j] * range(f, j)), f->parameter[j].least, f->parameter[j].most);
}

/* Makes the values better by one step of a damping that works; *gain 0: there is none. */
static tw_status improve(fitter *f, int64_t *value, double *damping, double *gain)
{
    tw_quadratic q;
    *gain = 0;
    for (int j = 0; j < f->n && !f->out->stopped; j++) TW_TRY(find_slope(f, value, j));
    if (f->out->stopped) return TW_OK;
    build_quadratic(f, value, &q);
    double before = cost_of(f, value, f->residual);
    for (int t = 0; t < TRIES && !f->out->stopped; t++) {
        double d[TW_MAX_PARAMETERS] = {0};
        int64_t other[TW_MAX_PARAMETERS] = {0};
        tw_box_step(&q, *damping, d);
        take_step(f, value, d, other);
        if (memcmp(other, value, (size_t)f->n * sizeof *other) == 0) return TW_OK;
        TW_TRY(find_residuals(f, other, f->there));
        double after = cost_of(f, other, f->there);
        if (after < before) {
            memcpy(value, other, sizeof other);
            memcpy(f->residual, f->there, (size_t)f->m * sizeof *f->there);
            *damping = fmax(*damping / 8, 1e-6);
            *gain = (before - after) / before;
            return TW_OK;
        }
        *damping = fmax(*damping * 8, 1e-3);
    }
    return TW_OK;
}

/* Steps until they gain nothing. The residuals at the values are known before and after. */
static tw_status descend(fitter *f, tw_robust_kind kind, int rounds, double least, int64_t *value)
{
    double damping = 1e-3, gain = 1;
    for (int r = 0; r < rounds && gain > least && !f->out->stopped; r++) {
        set_loss(f, kind);
        TW_TRY(improve(f, value, &damping, &gain));
    }
    return TW_OK;
}

/* One parameter at a time, with steps that shrink when nothing is gained. */
static tw_status refine(fitter *f, int64_t *value)
{
    int64_t h[TW_MAX_PARAMETERS];
    set_loss(f, TW_ROBUST_HUBER);
    double best = cost_of(f, value, f->residual);
    for (int j = 0; j < f->n; j++) h[j] = tw_max(reach(f, value, j) / 2, 1);
    for (int s = 0; s < SWEEPS; s++)
        for (int j = 0; j < f->n; j++) {
            bool better = false;
            for (int way = -1; way <= 1 && !better && !f->out->stopped; way += 2) {
                int64_t other[TW_MAX_PARAMETERS];
                memcpy(other, value, sizeof other);
                other[j] = tw_clamp(value[j] + way * h[j], f->parameter[j].least, f->parameter[j].most);
                if (other[j] == value[j]) continue;
                TW_TRY(find_residuals(f, other, f->there));
                double cost = cost_of(f, other, f->there);
                if (cost >= best) continue;
                better = true;
                best = cost;
                memcpy(value, other, sizeof other);
                memcpy(f->residual, f->there, (size_t)f->m * sizeof *f->there);
            }
            if (!better) h[j] = tw_max(h[j] / 2, 1);
        }
    return TW_OK;
}

/* The value with so many digits that are not leading zeros. */
static int64_t with_digits(int64_t value, int digits)
{
    int64_t quantum = 1, most = 1;
    for (int i = 0; i < digits; i++) most *= 10;
    while (value / quantum >= most) quantum *= 10;
    return (value + quantum / 2) / quantum * quantum;
}

/* Two or three digits where they say as much as many: when that costs next to nothing. */
static tw_status round_values(fitter *f, int64_t *value)
{
    set_loss(f, TW_ROBUST_HUBER);
    double most = cost_of(f, value, f->residual);
    for (int j = 0; j < f->n && !f->out->stopped; j++) {
        most *= 1 + rounding_cost;
        for (int digits = 2; digits <= 3; digits++) {
            int64_t other[TW_MAX_PARAMETERS];
            memcpy(other, value, sizeof other);
            other[j] = tw_clamp(with_digits(value[j], digits), f->parameter[j].least, f->parameter[j].most);
            if (other[j] == value[j]) break;
            TW_TRY(find_residuals(f, other, f->there));
            if (cost_of(f, other, f->there) > most) continue;
            value[j] = other[j];
            break;
        }
    }
    return TW_OK;
}

/* ---- the plan ---- */

static void choose_start(const fitter *f, int start, uint64_t *random, int64_t *value)
{
    for (int j = 0; j < f->n; j++) {
        const tw_parameter *p = &f->parameter[j];
        int64_t length = p->most - p->least;
        value[j] = start == 0   ? p->value
                   : start == 1 ? p->least + length / 2
                                : p->least + (int64_t)(tw_random_next(random) % (uint64_t)(length + 1));
    }
}

/* The best of some starts on a part of the samples. */
static tw_status find_start(fitter *f, int *part, int64_t *value)
{
    uint64_t random = 1;
    int stride = (int)tw_cdiv(f->problem->n_samples, START_SAMPLES);
    double least = INFINITY;
    f->stage = "start";
    f->pick = part;
    f->m = 0;
    for (int i = 0; i < f->problem->n_samples; i += stride) part[f->m++] = i;
    for (int s = 0; s < N_STARTS && !f->out->stopped; s++) {
        int64_t at[TW_MAX_PARAMETERS] = {0};
        choose_start(f, s, &random, at);
        TW_TRY(find_residuals(f, at, f->residual));
        TW_TRY(descend(f, TW_ROBUST_HUBER, START_ROUNDS, gain_least, at));
        double error = mean_error(f, f->residual);
        if (error >= least) continue;
        least = error;
        memcpy(value, at, sizeof at);
    }
    return TW_OK;
}

/* All samples, and what their residuals say about what is far. */
static tw_status look_at_all(fitter *f, const int *all, const int64_t *value)
{
    f->pick = all;
    f->m = f->problem->n_samples;
    TW_TRY(find_residuals(f, value, f->residual));
    judge(f->residual, f->m, f->sorted, f->out);
    return TW_OK;
}

/* Keeps the samples that are not far off; whether these are others than before. */
static bool leave_outliers(fitter *f, int *near, int *n_near)
{
    int n = 0;
    bool changed = false;
    for (int i = 0; i < f->m; i++) {
        if (fabs(f->residual[i]) > f->out->far) continue;
        changed |= n >= *n_near || near[n] != i;
        f->residual[n] = f->residual[i];
        near[n++] = i;
    }
    changed |= n != *n_near;
    *n_near = f->m = n;
    f->pick = near;
    return changed;
}

static tw_status run(fitter *f, int *all, int *part, int64_t *value)
{
    int n_near = 0;
    TW_TRY(find_start(f, part, value));
    TW_TRY(look_at_all(f, all, value));
    f->stage = "huber";
    TW_TRY(descend(f, TW_ROBUST_HUBER, ROUNDS, gain_least, value));
    f->stage = "tukey";
    TW_TRY(descend(f, TW_ROBUST_TUKEY, ROUNDS, gain_least, value));
    f->stage = "polish";
    for (int i = 0; i < POLISHES && !f->out->stopped; i++) {
        TW_TRY(look_at_all(f, all, value));
        if (!leave_outliers(f, part, &n_near)) break;
        TW_TRY(descend(f, TW_ROBUST_HUBER, ROUNDS, gain_last, value));
    }
    TW_TRY(refine(f, value));
    TW_TRY(round_values(f, value));
    return look_at_all(f, all, value);
}

tw_status tw_fit_run(const tw_fit_problem *problem, tw_arena *scratch, tw_diag *diag, tw_fit *out)
{
    tw_fit fit = {0};
    fitter f = {.problem = problem,
                .scratch = scratch,
                .diag = diag,
                .n = problem->machine->n_parameters,
                .parameter = problem->machine->parameter,
                .out = &fit};
    size_t m = (size_t)problem->n_samples;
    int *all, *part;
    assert(m > 0);
    TW_ALLOC(scratch, f.trial, 1);
    TW_ALLOC(scratch, f.cycles, m);
    TW_ALLOC(scratch, f.residual, m);
    TW_ALLOC(scratch, f.there, m);
    TW_ALLOC(scratch, f.sorted, m);
    TW_ALLOC(scratch, f.slope, m * (size_t)(f.n + 1));
    TW_ALLOC(scratch, all, m);
    TW_ALLOC(scratch, part, m);
    for (int i = 0; i < problem->n_samples; i++) all[i] = i;
    f.begin_ns = tw_deadline_now();
    TW_TRY(run(&f, all, part, fit.value));
    *out = fit;
    return TW_OK;
}
