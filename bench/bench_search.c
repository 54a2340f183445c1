/* bench/bench_search.c - how long the best mapping takes to find and to prove.
 *
 *     bench_search                     targets, a table of layers, simulated points per second
 *     bench_search best-tiles [FILE]   traffic into a scratchpad: a reference, the family of its tiles, and everything
 *     bench_search resnet18            the layers of a network on two machines, as networks are planned
 *     bench_search table [TIMES]       what is asked of the search, row by row, on one core: the value, the gap and the seconds
 *                                      to reach, and what was reached; each may take TIMES (1) as long
 *
 * A search that does not end within its time is told to stop: its gap is then above 0. FILE has one JSON object per
 * line, as ../shared/data/golden/kpu/reference_best_tiles_os_64KiB.jsonl. */
#include "search_run.h"

#include <stdlib.h>
#include <string.h>

static void print_head(const char *title)
{
    printf("%-21s %7s %9s %8s %12s %11s %6s\n", title, "seconds", "nodes", "points", "best", "bound", "gap %");
}

static void print_row(const char *what, const bench_run *b)
{
    if (!b->found) {
        printf("%-21s nothing found\n", what);
        return;
    }
    printf("%-21s %7.3f %9" PRId64 " %8" PRId64 " %12" PRId64 " %11.0f %6.2f\n", what, b->r.seconds, b->r.n_nodes,
           b->r.n_points, b->r.best, b->r.bound, 100 * b->r.gap);
    fflush(stdout);
}

/* ---- targets ---- */

static int run_targets(void)
{
    static const struct {
        const char *what, *workload, *machine;
        double target;
        tw_measure measure;
    } row[] = {
        {"tick-three-level rows", "matmul:128x128x512", "tick-three-level", 0.05, TW_TICKS},
        {"tick-three-level", "matmul:128x128x512", "tick-three-level", 0.05, TW_CYCLES},
        {"kpu 4096^3 i8", "matmul:4096x4096x4096,dtype=i8", "kpu", 2, TW_CYCLES},
        {"kpu 4096^3 f32", "matmul:4096x4096x4096,dtype=f32", "kpu", 2, TW_CYCLES},
    };
    print_head("targets");
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_search_options options = {.n_objectives = 1,
                                     .objective = (const tw_objective[]){{row[i].measure, NULL}},
                                     .time_limit = 20,
                                     .prove = true};
        bench_run b;
        int code = bench_search(row[i].workload, row[i].machine, NULL, &options, &b);
        if (code) return code;
        print_row(row[i].what, &b);
        printf("  the target is a proof within %.2f s; the space has %.3g points\n", row[i].target, b.r.n_space);
    }
    return 0;
}

/* ---- layers ---- */

typedef struct layer {
    const char *what, *workload, *machine;
} layer;

#define I8 ",dtype=i8"
/* ResNet-50 and MobileNetV2 at 224 x 224, BERT-base with 128 tokens, LLaMA-7B with one token and with 512. */
static const layer layers[] = {
    {"resnet conv1", "conv:3x224x224,out=64,kernel=7,stride=2,pad=3" I8, "kpu"},
    {"resnet 2a 1x1", "conv:64x56x56,out=64,kernel=1" I8, "kpu"},
    {"resnet 2b 3x3", "conv:64x56x56,out=64,kernel=3,pad=1" I8, "kpu"},
    {"resnet 2c 1x1", "conv:64x56x56,out=256,kernel=1" I8, "kpu"},
    {"resnet 3b 3x3", "conv:128x28x28,out=128,kernel=3,pad=1" I8, "kpu"},
    {"resnet 3a 3x3/2", "conv:128x56x56,out=128,kernel=3,stride=2,pad=1" I8, "kpu"},
    {"resnet 4b 3x3", "conv:256x14x14,out=256,kernel=3,pad=1" I8, "kpu"},
    {"resnet 4c 1x1", "conv:256x14x14,out=1024,kernel=1" I8, "kpu"},
    {"resnet 5b 3x3", "conv:512x7x7,out=512,kernel=3,pad=1" I8, "kpu"},
    {"resnet fc", "gemv:1000x2048" I8, "kpu"},
    {"mobilenet conv1", "conv:3x224x224,out=32,kernel=3,stride=2,pad=1" I8, "kpu"},
    {"mobilenet dw1", "dwconv:32x112x112,kernel=3,pad=1" I8, "kpu"},
    {"mobilenet project1", "conv:32x112x112,out=16,kernel=1" I8, "kpu"},
    {"mobilenet expand2", "conv:16x112x112,out=96,kernel=1" I8, "kpu"},
    {"mobilenet dw2/2", "dwconv:96x112x112,kernel=3,stride=2,pad=1" I8, "kpu"},
    {"mobilenet dw5", "dwconv:384x14x14,kernel=3,pad=1" I8, "kpu"},
    {"mobilenet expand7", "conv:160x7x7,out=960,kernel=1" I8, "kpu"},
    {"mobilenet last", "conv:320x7x7,out=1280,kernel=1" I8, "kpu"},
    {"bert q k v", "matmul:128x768x768" I8, "kpu"},
    {"bert scores", "matmul:128x128x64,batch=12,transpose=b" I8, "kpu"},
    {"bert context", "matmul:128x64x128,batch=12" I8, "kpu"},
    {"bert ffn1", "matmul:128x3072x768" I8, "kpu"},
    {"bert ffn2", "matmul:128x768x3072" I8, "kpu"},
    {"llama decode qkv", "gemv:4096x4096" I8, "kpu"},
    {"llama decode up", "gemv:11008x4096" I8, "kpu"},
    {"llama qkv 512", "matmul:512x4096x4096" I8, "kpu"},
    {"llama scores 512", "matmul:512x512x128,batch=32,transpose=b" I8, "kpu"},
    {"llama up 512", "matmul:512x11008x4096" I8, "kpu"},
    {"llama down 512", "matmul:512x4096x11008" I8, "kpu"},
    {"llama head 512", "matmul:512x32000x4096" I8, "kpu"},
};
static const layer lockstep_layers[] = {
    {"resnet 2a 1x1", "conv:64x56x56,out=64,kernel=1", "tick-costed"},
    {"resnet 5b 3x3", "conv:512x7x7,out=512,kernel=3,pad=1", "tick-costed"},
    {"mobilenet dw5", "dwconv:384x14x14,kernel=3,pad=1", "tick-costed"},
    {"bert scores, one head", "matmul:128x128x64,transpose=b", "tick-costed"},
    {"bert q k v", "matmul:128x768x768", "tick-costed"},
};

/* On `machine` or, if that is NULL, on each layer's own. */
static int run_layers(const char *title, const layer *row, size_t n, const char *machine,
                      const tw_search_options *options)
{
    int n_proven = 0, n_near = 0;
    double seconds = 0;
    print_head(title);
    for (size_t i = 0; i < n; i++) {
        bench_run b;
        int code = bench_search(row[i].workload, machine ? machine : row[i].machine, NULL, options, &b);
        if (code) return code;
        print_row(row[i].what, &b);
        n_proven += b.found && b.r.proven;
        n_near += b.found && b.r.gap < 0.01;
        seconds += b.r.seconds;
    }
    printf("  %d of %zu proven, %d within 1 %%, %.2f s, each at most %.0f\n", n_proven, n, n_near, seconds,
           options->time_limit);
    return 0;
}

/* ---- a network ---- */

#define F32 ",dtype=f32"
/* What differs among the layers of ResNet-18 at 224 x 224. */
static const layer resnet18[] = {
    {"conv1", "conv:3x224x224,out=64,kernel=7,stride=2,pad=3" F32, NULL},
    {"max pool", "pool:64x112x112,kernel=3,stride=2,pad=1" F32, NULL},
    {"layer1 3x3", "conv:64x56x56,out=64,kernel=3,pad=1" F32, NULL},
    {"layer1 add", "add:64x56x56" F32, NULL},
    {"layer2 3x3/2", "conv:64x56x56,out=128,kernel=3,pad=1,stride=2" F32, NULL},
    {"layer2 3x3", "conv:128x28x28,out=128,kernel=3,pad=1" F32, NULL},
    {"layer2 1x1/2", "conv:64x56x56,out=128,kernel=1,stride=2" F32, NULL},
    {"layer2 add", "add:128x28x28" F32, NULL},
    {"layer3 3x3/2", "conv:128x28x28,out=256,kernel=3,pad=1,stride=2" F32, NULL},
    {"layer3 3x3", "conv:256x14x14,out=256,kernel=3,pad=1" F32, NULL},
    {"layer3 1x1/2", "conv:128x28x28,out=256,kernel=1,stride=2" F32, NULL},
    {"layer3 add", "add:256x14x14" F32, NULL},
    {"layer4 3x3/2", "conv:256x14x14,out=512,kernel=3,pad=1,stride=2" F32, NULL},
    {"layer4 3x3", "conv:512x7x7,out=512,kernel=3,pad=1" F32, NULL},
    {"layer4 1x1/2", "conv:256x14x14,out=512,kernel=1,stride=2" F32, NULL},
    {"layer4 add", "add:512x7x7" F32, NULL},
    {"average pool", "pool:512x7x7,kernel=7,type=average" F32, NULL},
    {"gemm", "matmul:1x1000x512" F32, NULL},
};

static int run_resnet18(void)
{
    static const char *const machine[] = {"kpu", "snitch"};
    for (size_t i = 0; i < TW_COUNT(machine); i++) {
        tw_search_options options = {.space = TW_SPACE_WINDOWS, .gap = 0.01, .time_limit = 5};
        int code = run_layers(machine[i], resnet18, TW_COUNT(resnet18), machine[i], &options);
        if (code) return code;
    }
    return 0;
}

/* ---- speed ---- */

static int run_speed(void)
{
    static const layer row[] = {
        {"lockstep, one level", "matmul:12x12x12", "tick-100k"},
        {"lockstep, three levels", "matmul:2x2x3", "tick-three-level"},
        {"async, one pass", "matmul:3x2x2" I8, "kpu-minimal"},
    };
    printf("%-22s %9s %8s %12s\n", "every point, 1 thread", "points", "seconds", "points/s");
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_search_options options = {.exhaustive = true, .max_buffers = 2, .n_threads = 1, .time_limit = 3};
        bench_run b;
        int code = bench_search(row[i].workload, row[i].machine, NULL, &options, &b);
        if (code) return code;
        printf("%-22s %9" PRId64 " %8.3f %12.0f\n", row[i].what, b.r.n_points, b.r.seconds,
               b.r.seconds > 0 ? (double)b.r.n_points / b.r.seconds : 0);
    }
    return 0;
}

/* ---- tiles with the least traffic ---- */

/* Bytes of the best tiles of the family: multiples of the granule, one tile of each operand, k innermost. */
static int64_t family_bytes(const char *workload, int64_t granule, int64_t capacity)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_tile_choice *choice;
    int64_t bytes = 0;
    if (ctx && tw_model_open(ctx, workload, &model) == TW_OK &&
        tw_traffic_best(ctx, model, 0, "m n k", granule, capacity, &choice) == TW_OK)
        bytes = BENCH_ELEM_BYTES * choice->elems;
    tw_context_free(ctx);
    return bytes;
}

static int compare_shape(const char *line, int64_t *n_worse)
{
    int64_t e[3] = {bench_json_number(line, "M"), bench_json_number(line, "N"), bench_json_number(line, "K")};
    int64_t capacity = bench_json_number(line, "cap_elems"), best = bench_json_number(line, "best_true");
    char workload[100], machine[700], shape[60];
    snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64, e[0], e[1], e[2]);
    snprintf(workload, sizeof workload, "matmul:%s,dtype=f32", shape);
    bench_scratchpad(BENCH_ELEM_BYTES * capacity, machine);
    int64_t family = family_bytes(workload, bench_json_number(line, "granule"), capacity);
    tw_search_options options = {
        .n_objectives = 1, .objective = (const tw_objective[]){{TW_TRAFFIC, "scratchpad"}}, .time_limit = 10};
    bench_run b;
    int code = bench_search(workload, machine, NULL, &options, &b);
    if (code) return code;
    if (!b.found || b.r.best > family || family != best) ++*n_worse;
    printf("%-16s %11" PRId64 " %11" PRId64 " %11" PRId64 " %5.1f%% %5.1f %7.3f\n", shape, best, family, b.r.best,
           100.0 * (double)(b.r.best - family) / (double)family, 100 * b.r.gap, b.r.seconds);
    fflush(stdout);
    return 0;
}

static int compare_tiles(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[2000];
    int64_t n_worse = 0;
    int code = 0;
    if (!f) {
        printf("no file '%s'\n", path);
        return 0;
    }
    printf("%-16s %11s %11s %11s %6s %5s %7s\n", "bytes, f32", "reference", "family", "everything", "less", "gap %",
           "seconds");
    while (code == 0 && fgets(line, sizeof line, f))
        if (strchr(line, '{')) code = compare_shape(line, &n_worse);
    fclose(f);
    printf("%s\n", n_worse ? "WORSE than the family somewhere" : "never worse than the family");
    return code;
}

int main(int argc, char **argv)
{
    static const char file[] = "../shared/data/golden/kpu/reference_best_tiles_os_64KiB.jsonl";
    if (argc > 1 && strcmp(argv[1], "best-tiles") == 0) return compare_tiles(argc > 2 ? argv[2] : file);
    if (argc > 1 && strcmp(argv[1], "resnet18") == 0) return run_resnet18();
    if (argc > 1 && strcmp(argv[1], "networks") == 0) return bench_networks();
    if (argc > 1 && strcmp(argv[1], "table") == 0) return bench_table(argc > 2 ? atof(argv[2]) : 1, file);
    const tw_search_options limited = {.time_limit = 5};
    int code = run_targets();
    if (code == 0) code = run_layers("kpu, i8", layers, TW_COUNT(layers), NULL, &limited);
    if (code == 0) code = run_layers("tick-costed", lockstep_layers, TW_COUNT(lockstep_layers), NULL, &limited);
    if (code == 0) code = run_resnet18();
    if (code == 0) code = run_speed();
    if (code == 0) code = compare_tiles(file);
    return code;
}
