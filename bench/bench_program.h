/* bench/bench_program.h - three ways to go through the same program.
 *
 * Streaming (nobody sees the rows), watched (somebody does, which is what reports cost), and verified (both judges
 * watch; `checked`: only the checker, where executing would take too long). Rates are per instruction of the program, and
 * memory is the peak of the run's arena: the bytes per instruction of a long program show that it does not grow with the
 * length. */
#ifndef TW_BENCH_PROGRAM_H
#define TW_BENCH_PROGRAM_H
#include "bench.h"
#include "input/tree.h"
#include "machine/read.h"
#include "mapping/mapping.h"
#include "model/read.h"
#include "sim/timeline.h"

#include <string.h>

typedef struct bench_case {
    const char *workload, *machine, *mapping, *what;
    bool huge; /* only when asked for */
} bench_case;

enum {
    WATCHED_MAX = 5000000,         /* instructions up to which a program is watched and verified too         */
    EXECUTED_POINTS_MAX = 10000000 /* and loop points up to which it is executed: beyond, they take the time */
};

static inline tw_status bench_build(const bench_case *b, tw_arena *arena, tw_diag *diag, tw_program *program)
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
    TW_TRY(tw_tree_parse("machine", b->machine, strlen(b->machine), arena, diag, &root));
    TW_TRY(tw_machine_of_tree(root, arena, diag, machine));
    TW_TRY(tw_tree_parse("mapping", b->mapping, strlen(b->mapping), arena, diag, &root));
    TW_TRY(tw_mapping_of_tree(root, model, machine, arena, diag, mapping));
    return tw_program_build(&(tw_problem){model, 0, machine}, &mapping->op[0], arena, diag, program);
}

static inline void bench_row(const char *how, int64_t instructions, double seconds, size_t peak_bytes,
                             double streamed)
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

static inline tw_status bench_count(void *user, const tw_rowset *row)
{
    *(int64_t *)user += row->n_events;
    return TW_OK;
}

static inline tw_status bench_streaming(const tw_program *program, tw_arena *scratch, tw_diag *diag,
                                        tw_summary *sum, double *seconds)
{
    tw_timeline t;
    double start = bench_now();
    TW_TRY(tw_timeline_run(program, scratch, diag, &t));
    *seconds = bench_now() - start;
    *sum = t.sum;
    bench_row("streaming", sum->instructions, *seconds, tw_arena_peak(scratch), *seconds);
    return TW_OK;
}

static inline tw_status bench_watched(const tw_program *program, double streamed, tw_arena *scratch, tw_diag *diag)
{
    tw_timeline t;
    int64_t seen = 0;
    double start = bench_now();
    TW_TRY(tw_timeline_walk(program, &(tw_row_sink){bench_count, NULL, &seen}, scratch, diag, &t));
    bench_row("watched", seen, bench_now() - start, tw_arena_peak(scratch), streamed);
    return TW_OK;
}

/* Through the public interface, as the command does it. */
static inline tw_status bench_verified(const bench_case *b, bool executes, double streamed)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *verdict;
    tw_verify_options how = {.max_macs = executes ? EXECUTED_POINTS_MAX : 1};
    if (!ctx) return TW_ERR_NOMEM;
    tw_status status = tw_model_open(ctx, b->workload, &model);
    if (status == TW_OK) status = tw_machine_parse(ctx, "machine", b->machine, &machine);
    if (status == TW_OK) status = tw_mapping_parse(ctx, model, machine, "mapping", b->mapping, &mapping);
    if (status == TW_OK) status = tw_plan_eval(ctx, model, machine, mapping, &plan);
    double start = bench_now();
    if (status == TW_OK) status = tw_plan_verify(ctx, plan, 0, &how, &verdict);
    if (status == TW_OK)
        bench_row(executes ? "verified" : "checked", verdict->instructions, bench_now() - start, 0, streamed);
    tw_context_free(ctx);
    return status;
}

static inline tw_status bench_case_run(const bench_case *b, tw_arena *arena, tw_arena *stream, tw_arena *watch,
                                       tw_diag *diag)
{
    tw_program program;
    tw_summary sum;
    double streamed;
    TW_TRY(bench_build(b, arena, diag, &program));
    printf("%s, %" PRId64 " executions, %s\n", b->workload, program.n_execs, b->what);
    fflush(stdout);
    TW_TRY(bench_streaming(&program, stream, diag, &sum, &streamed));
    if (sum.instructions > WATCHED_MAX) return TW_OK;
    TW_TRY(bench_watched(&program, streamed, watch, diag));
    return bench_verified(b, sum.macs <= EXECUTED_POINTS_MAX, streamed);
}

/* The whole table; the exit code of the benchmark. */
static inline int bench_programs(const char *title, const bench_case *bench, size_t n, bool huge)
{
    tw_diag diag = {0};
    tw_status status = TW_OK;
    printf("%-12s instructions   seconds      M/s  ns/instr   peak bytes  bytes/instr  against streaming\n", title);
    for (size_t i = 0; i < n && status == TW_OK; i++) {
        if (bench[i].huge && !huge) continue;
        tw_arena *arena = tw_arena_new(), *stream = tw_arena_new(), *watch = tw_arena_new();
        status = arena && stream && watch ? bench_case_run(&bench[i], arena, stream, watch, &diag) : TW_ERR_NOMEM;
        tw_arena_free(arena);
        tw_arena_free(stream);
        tw_arena_free(watch);
    }
    return bench_end(status, &diag);
}
#endif
