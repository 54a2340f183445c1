/* bench/bench.h - what the benchmarks share. They print figures and judge none. */
#ifndef TW_BENCH_H
#define TW_BENCH_H
#include "core/core.h"

#include <stdio.h>
#include <time.h>

static inline double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints what went wrong; the exit code. */
static inline int bench_end(tw_status status, tw_diag *diag)
{
    for (int i = 0; i < diag->n_texts; i++) fprintf(stderr, "%s\n", diag->text[i]);
    tw_diag_release(diag);
    return status == TW_OK ? 0 : 70;
}
#endif
