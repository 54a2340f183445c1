/* bench/bench_trace.c - what it takes to show a plan of a million events: traces for viewers, and the page.
 *
 * Sizes are bytes per instruction of the plan, each a slice with its links, waits and counters. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define WORKLOAD "matmul:2048x2048x2048,dtype=i8"
#define MAPPING                                               \
    "mapping:\n  matmul:\n    levels:\n"                      \
    "      - {at: l3, pass: true, buffers: {ifm+w: 4}}\n"     \
    "      - {at: l2, pass: true, buffers: {ifm: 4, w: 4}}\n" \
    "      - {at: l1, pass: true}\n"                          \
    "      - {at: fabric, sizes: {m: 32, n: 32, k: 64}, order: [m, n, k]}\n"

typedef struct bench_plan {
    tw_context *ctx;
    const tw_plan *plan;
} bench_plan;

static tw_status print_perfetto(const bench_plan *p, FILE *out)
{
    return tw_plan_print_trace(p->ctx, p->plan, TW_TRACE_PERFETTO, false, out);
}

static tw_status print_perfetto_gz(const bench_plan *p, FILE *out)
{
    return tw_plan_print_trace(p->ctx, p->plan, TW_TRACE_PERFETTO, true, out);
}

static tw_status print_chrome_gz(const bench_plan *p, FILE *out)
{
    return tw_plan_print_trace(p->ctx, p->plan, TW_TRACE_CHROME, true, out);
}

static tw_status print_chrome(const bench_plan *p, FILE *out)
{
    return tw_plan_print_trace(p->ctx, p->plan, TW_TRACE_CHROME, false, out);
}

static tw_status print_page(const bench_plan *p, FILE *out)
{
    return tw_plan_print_html(p->ctx, p->plan, NULL, &(tw_print_options){0}, out);
}

static void print_row(const char *what, int64_t n, double seconds, double bytes)
{
    printf("  %-11s %8.3f s  %7.2f M/s  %8.2f MB  %7.2f bytes each\n", what, seconds, (double)n / seconds * 1e-6,
           bytes * 1e-6, bytes / (double)n);
}

static tw_status measure(const bench_plan *p, const char *what, tw_status (*print)(const bench_plan *, FILE *))
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (!out) return TW_ERR_NOMEM;
    double start = bench_now();
    tw_status status = print(p, out);
    double seconds = bench_now() - start;
    fclose(out);
    int64_t n = tw_plan_summary(p->plan)->instructions;
    if (status == TW_OK) print_row(what, n, seconds, (double)size);
    fflush(stdout);
    free(bytes);
    return status;
}

/* `only`: this one, NULL: all. */
static tw_status run(bench_plan *p, const char *only)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    TW_TRY(tw_model_open(p->ctx, WORKLOAD, &model));
    TW_TRY(tw_machine_open(p->ctx, "kpu", &machine));
    TW_TRY(tw_mapping_parse(p->ctx, model, machine, "mapping", MAPPING, &mapping));
    TW_TRY(tw_plan_eval(p->ctx, model, machine, mapping, &p->plan));
    printf("%s on kpu, %" PRId64 " instructions\n", WORKLOAD, tw_plan_summary(p->plan)->instructions);
    static const struct {
        const char *name;
        tw_status (*print)(const bench_plan *p, FILE *out);
    } writer[] = {{"perfetto", print_perfetto},
                  {"perfetto.gz", print_perfetto_gz},
                  {"chrome", print_chrome},
                  {"chrome.gz", print_chrome_gz},
                  {"page", print_page}};
    for (size_t i = 0; i < sizeof writer / sizeof *writer; i++)
        if (!only || strcmp(only, writer[i].name) == 0) TW_TRY(measure(p, writer[i].name, writer[i].print));
    return TW_OK;
}

int main(int argc, char **argv)
{
    bench_plan p = {.ctx = tw_context_new()};
    tw_status status = p.ctx ? run(&p, argc > 1 ? argv[1] : NULL) : TW_ERR_NOMEM;
    for (int i = 0; p.ctx && i < tw_context_n_messages(p.ctx); i++)
        fprintf(stderr, "%s\n", tw_context_message(p.ctx, i));
    tw_context_free(p.ctx);
    return status == TW_OK ? 0 : 70;
}
