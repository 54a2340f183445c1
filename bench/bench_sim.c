/* bench/bench_sim.c - how fast programs are generated and timed, and in how much memory.
 *
 * Figures are ratios within this run: the simulation alone against one whose rows somebody watches, and the
 * memory of a program a thousand times as long against the short one. */
#include "core/core.h"
#include "input/tree.h"
#include "machine/read.h"
#include "model/read.h"
#include "search/mapping.h"
#include "sim/timeline.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct bench_case {
    const char *name, *workload, *machine, *mapping;
} bench_case;

#define ONE_BUFFER                                                                             \
    "machine: m\nunit: element\ntiming: lockstep\n"                                            \
    "memories: [{name: out, size: unlimited}, {name: buf, size: unlimited}]\n"                 \
    "engines:\n"                                                                               \
    "  - {name: move, between: [out, buf], channels: 1, cost: {latency: 64, per_cycle: 32}}\n" \
    "  - {name: mac, computes: multiply-add, on: buf, cost: {latency: 0, per_cycle: 1024}}\n"  \
    "  - {name: add, computes: sum, on: buf, cost: {latency: 0, per_cycle: 64}}\n"
#define LEVEL(tiles, buffers, mode) \
    "mapping: {matmul: {levels: [{at: buf, tiles: " tiles ", buffers: " buffers ", accumulate: " mode "}]}}\n"

static const bench_case bench[] = {
    {"thousand", "matmul:512x512x512", ONE_BUFFER,
     LEVEL("{m: 8, n: 8, k: 5}", "{ifm: 2, w: 2, ofm: 4}", "separate")},
    {"million", "matmul:4096x4096x4096", ONE_BUFFER,
     LEVEL("{m: 64, n: 64, k: 76}", "{ifm: 2, w: 2, ofm: 4}", "separate")},
    {"million, fused", "matmul:4096x4096x4096", ONE_BUFFER,
     LEVEL("{m: 70, n: 70, k: 70}", "{ifm: 2, w: 2, ofm: 2}", "fused")},
    {"million, hits", "matmul:4096x4096x4096", ONE_BUFFER,
     LEVEL("{m: 512, n: 1024, k: 1}", "{ifm: 2, w: 2, ofm: 2}", "fused")},
    {"hundred million", "matmul:65536x4096x4096", ONE_BUFFER,
     LEVEL("{m: 1024, n: 128, k: 256}", "{ifm: 2, w: 2, ofm: 2}", "fused")},
};

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
    TW_TRY(tw_tree_parse("machine", b->machine, strlen(b->machine), arena, diag, &root));
    TW_TRY(tw_machine_of_tree(root, arena, diag, machine));
    TW_TRY(tw_tree_parse("mapping", b->mapping, strlen(b->mapping), arena, diag, &root));
    TW_TRY(tw_mapping_of_tree(root, model, machine, arena, diag, mapping));
    return tw_program_build(model, 0, machine, &mapping->op[0], arena, diag, program);
}

static tw_status ignore(void *user, const tw_rowset *row)
{
    *(int64_t *)user += row->n_events;
    return TW_OK;
}

static tw_status run(const bench_case *b, tw_diag *diag)
{
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new(), *watch_arena = tw_arena_new();
    tw_program program;
    tw_timeline t = {0}, watched;
    double start = 0, streamed = 0, with_rows = 0;
    int64_t seen = 0;
    tw_status status = build(b, arena, diag, &program);
    if (status == TW_OK) {
        start = now();
        status = tw_timeline_run(&program, scratch, diag, &t);
        streamed = now() - start;
    }
    bool small = status == TW_OK && t.sum.instructions < 5000000;
    if (small) {
        start = now();
        status = tw_timeline_walk(&program, &(tw_row_sink){ignore, ignore, &seen}, watch_arena, diag, &watched);
        with_rows = now() - start;
    }
    if (status == TW_OK) {
        double n = (double)t.sum.instructions;
        printf("%-16s %12" PRId64 " %9.3f %10.1f %9.1f", b->name, t.sum.instructions, streamed, n / streamed * 1e-6,
               1e9 * streamed / n);
        if (small) printf(" %9.2fx", with_rows / streamed);
        printf("\n");
    }
    tw_arena_free(arena);
    tw_arena_free(scratch);
    tw_arena_free(watch_arena);
    return status;
}

/* Peak memory of a streaming run. */
static size_t peak_bytes(const bench_case *b, tw_diag *diag)
{
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    tw_program program;
    tw_timeline t;
    size_t peak = 0;
    if (build(b, arena, diag, &program) == TW_OK && tw_timeline_run(&program, scratch, diag, &t) == TW_OK)
        peak = tw_arena_peak(scratch);
    tw_arena_free(arena);
    tw_arena_free(scratch);
    return peak;
}

int main(void)
{
    tw_diag diag = {0};
    tw_status status = TW_OK;
    printf("simulation      instructions   seconds      M/s  ns/instr   watched\n");
    for (size_t i = 0; i < TW_COUNT(bench) && status == TW_OK; i++) status = run(&bench[i], &diag);
    size_t small = peak_bytes(&bench[0], &diag), large = peak_bytes(&bench[1], &diag);
    printf("memory          %zu bytes for a thousand instructions, %zu for a million: %.4f bytes per instruction\n",
           small, large, (double)large / 1e6);
    for (int i = 0; i < diag.n_texts; i++) fprintf(stderr, "%s\n", diag.text[i]);
    tw_diag_release(&diag);
    return status == TW_OK ? 0 : 70;
}
