/* bench/bench_async.c - how fast programs of async machines are generated, timed and checked, and in how much memory.
 *
 * The machine of the KPU note on its links, with real costs; the result leaves the fabric as well. Rates are per
 * instruction of the program, and memory is the peak of the run's arena: it does not grow with the program's length.
 * Streaming skips rounds that repeat (sim/forward.h), so its rate counts instructions that were never made; where partial
 * sums return nothing is skipped, and the rate is that of the plain simulation.
 * With the argument `huge`, a program of more than 10^9 instructions comes last. */
#include "bench.h"
#include "input/tree.h"
#include "machine/read.h"
#include "model/read.h"
#include "search/mapping.h"
#include "sim/timeline.h"

#include <string.h>

#define MACHINE                                                                                                 \
    "machine: kpu\nunit: byte\ntiming: async\nreuse: declared\n"                                                \
    "memories:\n"                                                                                               \
    "  - {name: dram, size: unlimited}\n"                                                                       \
    "  - {name: l3, size: unlimited}\n"                                                                         \
    "  - {name: l2, size: unlimited}\n"                                                                         \
    "  - {name: l1, size: unlimited, holds: inputs}\n"                                                          \
    "  - {name: fabric, size: unlimited, holds: output}\n"                                                      \
    "engines:\n"                                                                                                \
    "  - {name: dma, between: [dram, l3], carries: in, cost: {latency: 100, per_cycle: 64}, pipelined: true}\n" \
    "  - {name: mover, between: [l3, l2], carries: in, cost: {latency: 10, per_cycle: 64}, pipelined: true}\n"  \
    "  - {name: streamer, between: [l2, l1], carries: in, count: 2, cost: {latency: 11, per_cycle: 64}, "       \
    "pipelined: true}\n"                                                                                        \
    "  - {name: array, computes: multiply-add, on: fabric, cost: {array: [32, 32]}}\n"                          \
    "  - {name: drain, between: [l2, fabric], cost: {latency: 10, per_cycle: 64}, pipelined: true}\n"           \
    "  - {name: lift, between: [l3, l2], carries: out, cost: {latency: 10, per_cycle: 64}, pipelined: true}\n"  \
    "  - {name: write, between: [dram, l3], carries: out, cost: {latency: 100, per_cycle: 64}, pipelined: true}\n"
#define MAPPING(l2, order, keep)                                          \
    "mapping:\n  matmul:\n    levels:\n"                                  \
    "      - {at: l3, pass: true, buffers: {ifm+w: 8}}\n"                 \
    "      - {at: l2, pass: true, keep: {" keep "}, buffers: {" l2 "}}\n" \
    "      - {at: l1, pass: true, buffers: {ifm: 2, w: 2}}\n"             \
    "      - {at: fabric, sizes: {m: 64, n: 64, k: 64}, order: [" order "]}\n"

typedef struct bench_case {
    const char *workload, *mapping, *what;
    bool huge;
} bench_case;

static const bench_case bench[] = {
    {"matmul:512x512x512", MAPPING("ifm: 16, w: 4", "m, n, k", "ifm: m"), "A panel in l2", false},
    {"matmul:4096x4096x4096", MAPPING("ifm: 128, w: 4", "m, n, k", "ifm: m"), "A panel in l2", false},
    {"matmul:4096x4096x4096", MAPPING("ifm: 2, w: 4", "k, m, n", "ifm: m"), "k outside, partial sums return",
     false},
    {"matmul:16384x16384x4096", MAPPING("ifm: 128, w: 4", "m, n, k", "ifm: m"), "A panel in l2", false},
    {"matmul:32768x32768x49152", MAPPING("ifm: 1536, w: 4", "m, n, k", "ifm: m"), "A panel in l2", true},
};

/* Instructions up to which a program is watched and checked too. */
enum { WATCHED_MAX = 5000000 };

static tw_status build(const bench_case *b, tw_arena *arena, tw_diag *diag, tw_program *program)
{
    const tw_node *root;
    tw_model *model;
    tw_machine *machine;
    tw_mapping *mapping;
    TW_ALLOC(arena, model, 1);
    TW_ALLOC(arena, machine, 1);
    TW_ALLOC(arena, mapping, 1);
    TW_TRY(tw_oneline_parse(b->workload, arena, diag, &root));
    TW_TRY(tw_model_of_tree(root, arena, diag, model));
    TW_TRY(tw_tree_parse("machine", MACHINE, strlen(MACHINE), arena, diag, &root));
    TW_TRY(tw_machine_of_tree(root, diag, machine));
    TW_TRY(tw_tree_parse("mapping", b->mapping, strlen(b->mapping), arena, diag, &root));
    TW_TRY(tw_mapping_of_tree(root, model, machine, arena, diag, mapping));
    return tw_program_build(model, 0, machine, &mapping->op[0], arena, diag, program);
}

static void print_row(const char *how, int64_t instructions, double seconds, size_t peak_bytes, double streamed)
{
    double n = (double)instructions;
    printf("  %-10s %12" PRId64 " %9.3f %8.2f %9.1f", how, instructions, seconds, n / seconds * 1e-6,
           1e9 * seconds / n);
    if (peak_bytes)
        printf(" %12zu %10.4f", peak_bytes, (double)peak_bytes / n);
    else
        printf(" %12s %10s", "-", "-");
    printf(" %8.2fx\n", seconds / streamed);
}

static tw_status count(void *user, const tw_rowset *row)
{
    *(int64_t *)user += row->n_events;
    return TW_OK;
}

static tw_status run_streaming(const tw_program *program, tw_arena *scratch, tw_diag *diag, tw_summary *sum,
                               double *seconds)
{
    tw_timeline t;
    double start = bench_now();
    TW_TRY(tw_timeline_run(program, scratch, diag, &t));
    *seconds = bench_now() - start;
    *sum = t.sum;
    print_row("streaming", sum->instructions, *seconds, tw_arena_peak(scratch), *seconds);
    return TW_OK;
}

static tw_status run_watched(const tw_program *program, double streamed, tw_arena *scratch, tw_diag *diag)
{
    tw_timeline t;
    int64_t seen = 0;
    double start = bench_now();
    TW_TRY(tw_timeline_walk(program, &(tw_row_sink){count, NULL, &seen}, scratch, diag, &t));
    print_row("watched", seen, bench_now() - start, tw_arena_peak(scratch), streamed);
    return TW_OK;
}

/* Through the public interface, as the command does it; executing would take the time of the multiply-adds. */
static tw_status run_checked(const bench_case *b, double streamed)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *verdict;
    tw_verify_options how = {.max_macs = 1};
    if (!ctx) return TW_ERR_NOMEM;
    tw_status status = tw_model_open(ctx, b->workload, &model);
    if (status == TW_OK) status = tw_machine_parse(ctx, "machine", MACHINE, &machine);
    if (status == TW_OK) status = tw_mapping_parse(ctx, model, machine, "mapping", b->mapping, &mapping);
    if (status == TW_OK) status = tw_plan_eval(ctx, model, machine, mapping, &plan);
    double start = bench_now();
    if (status == TW_OK) status = tw_plan_verify(ctx, plan, 0, &how, &verdict);
    if (status == TW_OK) print_row("checked", verdict->instructions, bench_now() - start, 0, streamed);
    tw_context_free(ctx);
    return status;
}

static tw_status run(const bench_case *b, tw_arena *arena, tw_arena *stream, tw_arena *watch, tw_diag *diag)
{
    tw_program program;
    tw_summary sum;
    double streamed;
    TW_TRY(build(b, arena, diag, &program));
    printf("%s in 64x64x64, %" PRId64 " executions, %s\n", b->workload, program.n_execs, b->what);
    fflush(stdout);
    TW_TRY(run_streaming(&program, stream, diag, &sum, &streamed));
    if (sum.instructions > WATCHED_MAX) return TW_OK;
    TW_TRY(run_watched(&program, streamed, watch, diag));
    return run_checked(b, streamed);
}

int main(int argc, char **argv)
{
    tw_diag diag = {0};
    tw_status status = TW_OK;
    bool huge = argc > 1 && strcmp(argv[1], "huge") == 0;
    printf("async        instructions   seconds      M/s  ns/instr   peak bytes  bytes/instr  against streaming\n");
    for (size_t i = 0; i < TW_COUNT(bench) && status == TW_OK; i++) {
        if (bench[i].huge && !huge) continue;
        tw_arena *arena = tw_arena_new(), *stream = tw_arena_new(), *watch = tw_arena_new();
        status = arena && stream && watch ? run(&bench[i], arena, stream, watch, &diag) : TW_ERR_NOMEM;
        tw_arena_free(arena);
        tw_arena_free(stream);
        tw_arena_free(watch);
    }
    return bench_end(status, &diag);
}
