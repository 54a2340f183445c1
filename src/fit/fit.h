/* src/fit/fit.h - which values of a machine's parameters explain measured cycles best?
 *
 * Each sample has a residual: the logarithm of what the simulator predicts over what was measured. The sum of a
 * robust loss of the residuals is made small by Gauss-Newton steps on finite differences, damped (Levenberg and
 * Marquardt) and kept in the box of the parameters' ranges:
 *
 *     start    from the file's values, the middle of the ranges and some points between, on a part of the samples
 *     huber    from the best of them; far residuals count linearly
 *     tukey    far residuals count no more: rows that carry the time of another run lose their pull
 *     polish   without the rows that are still far off, then one parameter at a time, since the simulated time is
 *              a whole number of cycles with kinks where another engine becomes the slower one
 *
 * A weak pull towards the values of the file settles parameters that the samples say nothing about. All arithmetic
 * has a fixed order, so that the same samples give the same values, whatever the number of threads. */
#ifndef TW_FIT_FIT_H
#define TW_FIT_FIT_H
#include "fit/clock.h"

typedef struct tw_fit_problem {
    const tw_machine *machine;
    const tw_fit_sample *sample; /* each fits the machine */
    int n_samples;
    tw_clock *clock;
    /* Asked after each run of the clock; false ends the fit with the best so far. May be NULL. */
    bool (*progress)(void *user, const tw_fit_progress *progress);
    void *user;
} tw_fit_problem;

typedef struct tw_fit {
    int64_t value[TW_MAX_PARAMETERS]; /* thousandths                                                        */
    double scale;                     /* robust standard deviation of the residuals                         */
    double far;                       /* residuals beyond it are outliers: 6 deviations, at least 15 %      */
    int n_runs;                       /* of the clock, over all samples or a part of them                   */
    bool stopped;
} tw_fit;

/* Values for at least one sample. */
TW_NODISCARD tw_status tw_fit_run(const tw_fit_problem *problem, tw_arena *scratch, tw_diag *diag, tw_fit *out);
/* Fills in `scale` and `far` for the residuals of any samples, at least one. */
TW_NODISCARD tw_status tw_fit_judge(const double *residual, int n, tw_arena *scratch, tw_fit *out);
/* ln(predicted / measured) */
double tw_fit_residual(int64_t predicted, int64_t measured);
#endif
