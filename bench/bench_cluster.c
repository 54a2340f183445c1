/* bench/bench_cluster.c - how long the search takes for a dispatch of the Snitch cluster.
 *
 * Each dispatch of NsNet2 is searched many times, on one thread and on all; the table has the fastest and the median run of
 * the search itself, and of the whole call, which also builds the plan. */
#include "bench.h"

#include <stdlib.h>

enum { RUNS = 101 };

typedef struct timing {
    double search[RUNS], call[RUNS];
    tw_search_result result;
} timing;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* A context for each call: nothing is kept from one to the next. */
static int run_once(const char *workload, int n_threads, timing *t, int i)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_search_options options = {.n_threads = n_threads};
    if (!ctx) return 70;
    tw_status status = tw_model_open(ctx, workload, &model);
    if (status == TW_OK) status = tw_machine_open(ctx, "snitch", &machine);
    double start = bench_now();
    if (status == TW_OK) status = tw_plan_search(ctx, model, machine, &options, &plan);
    t->call[i] = bench_now() - start;
    if (status == TW_OK) t->result = *tw_plan_search_result(plan, 0);
    t->search[i] = t->result.seconds;
    if (status != TW_OK) printf("%s: %s\n", workload, tw_context_message(ctx, 0));
    tw_context_free(ctx);
    return status == TW_OK ? 0 : 70;
}

int main(void)
{
    static const char *const shape[] = {"1x400x161", "1x1200x400", "1x600x400", "1x600x600", "1x161x600"};
    printf("%-12s %7s  %13s  %13s  %6s %9s %10s\n", "dispatch", "threads", "search us", "whole call us", "parts",
           "simulated", "cycles");
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (int n_threads = 1; n_threads >= 0; n_threads--) {
            static timing t;
            char workload[80];
            snprintf(workload, sizeof workload, "matmul_transpose_b:%s:f64,epilogue=add", shape[s]);
            for (int i = 0; i < RUNS; i++)
                if (run_once(workload, n_threads, &t, i) != 0) return 70;
            qsort(t.search, RUNS, sizeof *t.search, by_size);
            qsort(t.call, RUNS, sizeof *t.call, by_size);
            printf("%-12s %7s  %5.0f / %5.0f  %5.0f / %5.0f  %6" PRId64 " %9" PRId64 " %10" PRId64 "\n", shape[s],
                   n_threads ? "1" : "all", 1e6 * t.search[0], 1e6 * t.search[RUNS / 2], 1e6 * t.call[0],
                   1e6 * t.call[RUNS / 2], t.result.n_nodes, t.result.n_points, t.result.best);
        }
    return 0;
}
