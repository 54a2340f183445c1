/* cli/limit.c - see limit.h. */
#include "limit.h"

#include <time.h>

static const double least = 1e-6; /* seconds: 0 would mean that there is no limit; no search ends in so little */
static struct timespec start;

void limit_begin(void) { clock_gettime(CLOCK_MONOTONIC, &start); }

static double elapsed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec);
}

static double left_of(double seconds)
{
    double left = seconds - elapsed();
    return left > least ? left : least;
}

void limit_apply(tw_context *ctx, double seconds)
{
    tw_context_limit_time(ctx, seconds > 0 ? left_of(seconds) : 0);
}

void limit_apply_grace(tw_context *ctx, double seconds)
{
    static const double grace = 0.25;
    limit_apply(ctx, seconds > 0 ? 1.1 * seconds + grace : 0);
}

double limit_of_search(double seconds, double share)
{
    static const double most_reserve = 2, reserve_share = 0.3;
    if (seconds <= 0) return 0;
    double reserve = reserve_share * seconds < most_reserve ? reserve_share * seconds : most_reserve;
    double left = share * left_of(seconds - reserve);
    return left > least ? left : least;
}
