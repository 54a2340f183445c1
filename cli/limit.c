/* cli/limit.c - see limit.h. */
#include "limit.h"
#include "interrupt.h"

#include <time.h>

static const double least = 1e-6; /* seconds: 0 would mean that there is no limit; no search ends in so little */
/* Who has pressed Ctrl-C waits for what is there: what takes longer to verify is not. */
static const double verified_after_interrupt = 0.1;
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

/* Seconds from now until the stage ends by itself, 0: never. */
static double seconds_of(double limit, limit_stage stage, bool interrupted)
{
    static const double grace = 0.25;
    bool soon = interrupted && stage == LIMIT_VERIFY;
    if (stage == LIMIT_REPORT || (limit <= 0 && !soon)) return 0;
    double left =
        limit > 0 ? left_of(stage == LIMIT_FILES ? 1.1 * limit + grace : limit) : verified_after_interrupt;
    return soon && left > verified_after_interrupt ? verified_after_interrupt : left;
}

/* A signal that comes while the context forgets its earlier one is heard: `came` is asked before and after. */
void limit_enter(tw_context *ctx, double limit, limit_stage stage)
{
    static const interrupt_stage how[] = {[LIMIT_OPEN] = INTERRUPT_OPENING,
                                          [LIMIT_WORK] = INTERRUPT_WORKING,
                                          [LIMIT_VERIFY] = INTERRUPT_WORKING,
                                          [LIMIT_FILES] = INTERRUPT_WRITING,
                                          [LIMIT_REPORT] = INTERRUPT_WRITING};
    bool came = interrupt_came();
    tw_context_limit_time(ctx, seconds_of(limit, stage, came));
    interrupt_enter(how[stage], ctx);
    bool ends = stage == LIMIT_WORK || (stage == LIMIT_VERIFY && !came);
    if (ends && interrupt_came()) tw_context_interrupt(ctx);
}

double limit_of_search(double seconds, double share)
{
    static const double most_reserve = 2, reserve_share = 0.3;
    if (seconds <= 0) return 0;
    double reserve = reserve_share * seconds < most_reserve ? reserve_share * seconds : most_reserve;
    double left = share * left_of(seconds - reserve);
    return left > least ? left : least;
}
