/* bench/search_run.c - see search_run.h. */
#include "search_run.h"

#include <stdlib.h>
#include <string.h>

double bench_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tw_status open_machine(tw_context *ctx, const char *machine, const tw_machine **out)
{
    return strchr(machine, '\n') ? tw_machine_parse(ctx, "machine", machine, out)
                                 : tw_machine_open(ctx, machine, out);
}

int bench_search(const char *workload, const char *machine, const char *limits, const tw_search_options *options,
                 bench_run *out)
{
    tw_context *ctx = tw_context_new();
    tw_search_options asked = *options;
    const tw_model *model;
    const tw_machine *m;
    const tw_plan *plan;
    double start = bench_cpu();
    if (!ctx) return 70;
    tw_status status = tw_model_open(ctx, workload, &model);
    if (status == TW_OK) status = open_machine(ctx, machine, &m);
    if (status == TW_OK && limits) status = tw_limits_parse(ctx, model, m, "mapping", limits, &asked.limits);
    if (status == TW_OK) status = tw_plan_search(ctx, model, m, &asked, &plan);
    *out = (bench_run){.found = status == TW_OK};
    if (status == TW_OK) out->r = *tw_plan_search_result(plan, 0);
    out->r.bound_at = NULL; /* belongs to the context */
    out->cpu = bench_cpu() - start;
    if (status != TW_OK) printf("  %s: %s\n", workload, tw_context_message(ctx, 0));
    tw_context_free(ctx);
    return status == TW_OK || status == TW_INFEASIBLE ? 0 : 70;
}

static bool is_early(void *user, const tw_progress *progress)
{
    (void)progress;
    return bench_cpu() < *(const double *)user;
}

int bench_search_within(const char *workload, const char *machine, const char *limits, tw_search_options options,
                        double seconds, bench_run *out)
{
    double end = bench_cpu() + seconds;
    options.size = sizeof options;
    options.n_threads = 1;
    options.progress = is_early;
    options.user = &end;
    return bench_search(workload, machine, limits, &options, out);
}

int64_t bench_json_number(const char *line, const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at ? strtoll(at + strlen(quoted), NULL, 10) : 0;
}

void bench_scratchpad(int64_t bytes, char text[700])
{
    snprintf(text, 700,
             "machine: scratchpad\nunit: byte\ntiming: async\nmemories:\n"
             "  - {name: dram, size: unlimited}\n  - {name: scratchpad, size: %" PRId64 "}\nengines:\n"
             "  - {name: dma, between: [dram, scratchpad], cost: {latency: 0, per_cycle: 64}}\n"
             "  - {name: mac, computes: multiply-add, memory: scratchpad, cost: {latency: 0, per_cycle: 256}}\n",
             bytes);
}
