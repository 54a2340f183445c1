/* bench/search_table.c - what is asked of the search, as a table that measures itself.
 *
 * Every row is searched on one core until it has a proof, the gap that is asked for, or used up its seconds of processor
 * time; the target's seconds are counted on that clock too, so that a busy host changes little. Layers of a network
 * share the seconds of their row. */
#include "search_run.h"
#include "tilewright/network.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PATH = 4096 };
#define TPU_TYPE    ",dtype=i8,out_dtype=i8,accumulator=i32"
#define SWIGLU_TYPE ",dtype=f16"

typedef struct target {
    const char *what, *workload, *machine;
    const char *limits; /* text of a partial mapping, NULL: none         */
    tw_objective objective;
    int64_t best;   /* at most, 0: not asked                          */
    double gap;     /* at most, as a share; 0: a proof; < 0: not asked */
    double seconds; /* of one core                                    */
} target;

static void print_head(void)
{
    printf("%-34s %7s %12s %12s %7s   %s\n", "on one core", "seconds", "best", "bound", "gap %",
           "asked: best, gap %, seconds");
}

typedef struct measured {
    double cpu, best, bound;
    bool found;
} measured;

static double gap_of(const measured *m) { return m->best > 0 ? 1 - m->bound / m->best : 0; }

static void print_asked(const measured *m, int64_t best, double gap, double seconds)
{
    bool good = m->found && m->cpu <= 1.1 * seconds && (best == 0 || m->best <= (double)best) &&
                (gap < 0 || gap_of(m) <= gap + 1e-9);
    char most[32] = "", within[32] = "";
    if (best > 0) snprintf(most, sizeof most, "%" PRId64, best);
    if (gap >= 0) snprintf(within, sizeof within, "%.2f", 100 * gap);
    printf("   %s %s %s %.1f\n", good ? "reached" : "MISSED ", *most ? most : "-", *within ? within : "-", seconds);
    fflush(stdout);
}

static void print_measured(const char *what, const measured *m)
{
    if (m->found)
        printf("%-34s %7.2f %12.0f %12.0f %7.2f", what, m->cpu, m->best, m->bound, 100 * gap_of(m));
    else
        printf("%-34s %7.2f nothing found", what, m->cpu);
}

static measured measured_of(const bench_run *b)
{
    return (measured){b->cpu, (double)b->r.best, b->r.bound, b->found};
}

static int run_target(const target *t, double times)
{
    bench_run b;
    tw_search_options options = {
        .n_objectives = 1, .objective = &t->objective, .gap = t->gap > 0 ? t->gap : 0, .prove = t->gap <= 0};
    int code = bench_search_within(t->workload, t->machine, t->limits, options, times * t->seconds, &b);
    if (code) return code;
    measured m = measured_of(&b);
    print_measured(t->what, &m);
    print_asked(&m, t->best, t->gap, t->seconds);
    return 0;
}

/* ---- operators ---- */

#define CONV    "conv:64x56x56,out=64,kernel=3,pad=1"
#define CONV_I8 CONV ",dtype=i8,out_dtype=i8,accumulator=i32"
static const target before_networks[] = {
    /* quick: within 1 % at once, and the proof */
    {"matmul 64^3 f32, kpu", "matmul:64x64x64,dtype=f32", "kpu", NULL, {TW_CYCLES, NULL}, 0, 0.01, 0.2},
    {"matmul 64^3 f32, kpu, the proof", "matmul:64x64x64,dtype=f32", "kpu", NULL, {TW_CYCLES, NULL}, 0, 0, 5},
    {"matmul 128x128x512, simple3, energy",
     "matmul:128x128x512,dtype=i8,out_dtype=i8,accumulator=i8",
     "simple3",
     NULL,
     {TW_ENERGY, NULL},
     INT64_C(32175) * 1000000, /* fJ */
     0,
     1},
};
/* So little memory that windows of a convolution have to slide. */
#define LITTLE                                                                                                 \
    "machine: little\nunit: byte\ntiming: async\nmemories:\n"                                                  \
    "  - {name: dram, size: unlimited, energy: 100 pJ}\n  - {name: l1, size: 5 KiB, energy: 1 pJ}\nengines:\n" \
    "  - {name: in, between: [dram, l1], carries: in, cost: {latency: 4, per_cycle: 1}}\n"                     \
    "  - {name: out, between: [dram, l1], carries: out, cost: {latency: 4, per_cycle: 4}}\n"                   \
    "  - {name: mac, computes: [multiply-add], memory: l1, energy: 0.1 pJ, cost: {array: [8, 16]}}\n"
#define SLIDING "conv:8x64x32,out=8,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i32"
static const target after_networks[] = {
    {"conv 3x3 56x56x64, kpu", CONV, "kpu", NULL, {TW_CYCLES, NULL}, 0, 0.01, 2},
    {"conv 3x3 56x56x64 i8, gemmini-like", CONV_I8, "gemmini-like", NULL, {TW_CYCLES, NULL}, 459108, -1, 1},
    /* The figure was measured on the Gemmini-like machine: of the two maps in ../shared/repro that fit, its own is 534'249 cycles with i8 and does not
     * fit with f32, and the one for this machine is 2'487'934. With f32 no mapping here takes fewer than 520'395 cycles, and on the Gemmini-like machine none fewer than 460'131 (460'244 found). With i8, 64 channels of nine rows come from flash before anything runs
     * (9'412 cycles), unless input channels are cut in sram: 40 and then 24 of them, while the sums of 8 channels and 8 rows stay in shram. */
    {"conv 3x3 56x56x64 i8, ethos-u55-like", CONV_I8, "ethos-u55-like", NULL, {TW_CYCLES, NULL}, 459108, -1, 1},
    {"swiglu 256x4096x14336, kpu",
     "matmul:256x14336x4096" SWIGLU_TYPE,
     "kpu",
     NULL,
     {TW_CYCLES, NULL},
     58720770,
     -1,
     2},
    {"conv 3x3 that slides, 5 KiB", SLIDING, LITTLE, NULL, {TW_CYCLES, NULL}, 17416, 0.05, 1},
    {"the same, energy", SLIDING, LITTLE, NULL, {TW_ENERGY, NULL}, 0, 0, 1},
    {"the same, traffic", SLIDING, LITTLE, NULL, {TW_TRAFFIC, "l1"}, 33344, 0, 1},
};

static int run_targets(const target *row, size_t n, double times)
{
    for (size_t i = 0; i < n; i++) {
        int code = run_target(&row[i], times);
        if (code) return code;
    }
    return 0;
}

/* ---- the layers of ResNet-18 that multiply ---- */

static const struct {
    int times;
    const char *workload;
} resnet18[] = {
    {1, "conv:3x224x224,out=64,kernel=7,stride=2,pad=3" TPU_TYPE},
    {4, "conv:64x56x56,out=64,kernel=3,pad=1" TPU_TYPE},
    {1, "conv:64x56x56,out=128,kernel=3,pad=1,stride=2" TPU_TYPE},
    {3, "conv:128x28x28,out=128,kernel=3,pad=1" TPU_TYPE},
    {1, "conv:64x56x56,out=128,kernel=1,stride=2" TPU_TYPE},
    {1, "conv:128x28x28,out=256,kernel=3,pad=1,stride=2" TPU_TYPE},
    {3, "conv:256x14x14,out=256,kernel=3,pad=1" TPU_TYPE},
    {1, "conv:128x28x28,out=256,kernel=1,stride=2" TPU_TYPE},
    {1, "conv:256x14x14,out=512,kernel=3,pad=1,stride=2" TPU_TYPE},
    {3, "conv:512x7x7,out=512,kernel=3,pad=1" TPU_TYPE},
    {1, "conv:256x14x14,out=512,kernel=1,stride=2" TPU_TYPE},
    {1, "matmul:1x1000x512" TPU_TYPE},
};

/* Output channels over the rows of the array, input channels over its columns. */
static const char *unroll_of(const char *workload)
{
    return strncmp(workload, "matmul", 6) == 0 ? "mapping: {matmul: {levels: [{at: sram, unroll: [n, k]}]}}\n"
                                               : "mapping: {conv: {levels: [{at: sram, unroll: [oc, ic]}]}}\n";
}

/* Of free unrolling no time is asked: each layer then has the effort of a plan. */
static int run_resnet18(const char *what, bool unrolled, int64_t best, double times)
{
    const double seconds = unrolled ? 2 : 24;
    measured all = {.found = true};
    for (size_t i = 0; i < TW_COUNT(resnet18); i++) {
        double left = times * seconds - all.cpu;
        bench_run b;
        const char *limits = unrolled ? unroll_of(resnet18[i].workload) : NULL;
        int code = bench_search_within(resnet18[i].workload, "tpu-like", limits, (tw_search_options){0},
                                       left / (double)(TW_COUNT(resnet18) - i), &b);
        if (code) return code;
        all.cpu += b.cpu;
        all.found &= b.found;
        all.best += resnet18[i].times * (double)b.r.best;
        all.bound += resnet18[i].times * b.r.bound;
    }
    print_measured(what, &all);
    print_asked(&all, best, -1, seconds);
    return 0;
}

/* ---- traffic ---- */

static int run_shape(const char *line, double times)
{
    int64_t e[3] = {bench_json_number(line, "M"), bench_json_number(line, "N"), bench_json_number(line, "K")};
    char what[60], workload[100], machine[700];
    snprintf(what, sizeof what, "traffic %" PRId64 "x%" PRId64 "x%" PRId64, e[0], e[1], e[2]);
    snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64 ",dtype=f32", e[0], e[1], e[2]);
    bench_scratchpad(BENCH_ELEM_BYTES * bench_json_number(line, "cap_elems"), machine);
    return run_target(&(target){what, workload, machine, NULL, {TW_TRAFFIC, "scratchpad"}, 0, 0.01, 2}, times);
}

static int run_traffic(const char *path, double times)
{
    FILE *f = fopen(path, "r");
    char line[2000];
    int code = 0;
    if (!f) {
        printf("%-34s skipped: no file '%s'\n", "traffic", path);
        return 0;
    }
    while (code == 0 && fgets(line, sizeof line, f))
        if (strchr(line, '{')) code = run_shape(line, times);
    fclose(f);
    return code;
}

/* ---- whole networks ---- */

typedef struct network {
    const char *name, *path; /* path NULL: NAME.onnx in the cache that `make networks` fills */
    tw_network_shape shape;  /* of an input that the file leaves open, input NULL: none    */
} network;

static void path_of(const network *n, char path[MOST_PATH])
{
    const char *models = getenv("TW_MODELS"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (n->path)
        snprintf(path, MOST_PATH, "%s", n->path);
    else if (models)
        snprintf(path, MOST_PATH, "%s/%s.onnx", models, n->name);
    else if (cache)
        snprintf(path, MOST_PATH, "%s/tilewright/models/%s.onnx", cache, n->name);
    else
        snprintf(path, MOST_PATH, "%s/.cache/tilewright/models/%s.onnx", home ? home : "", n->name);
}

/* In a process of its own, so that what one leaves behind does not slow down the next. */
static int plan_network(const network *n, const char *path, const char *machine_name)
{
    tw_context *ctx = tw_context_new();
    const tw_network *net;
    const tw_machine *machine;
    const tw_network_plan *plan;
    char what[64];
    tw_search_options search = {.n_threads = 1};
    tw_network_options options = {.shape = &n->shape, .n_shapes = n->shape.input != NULL};
    snprintf(what, sizeof what, "%s, %s", n->name, machine_name);
    double start = bench_cpu();
    if (!ctx) return 70;
    tw_status status = tw_machine_open(ctx, machine_name, &machine);
    if (status == TW_OK) {
        options.machine = machine;
        status = tw_network_open(ctx, path, &options, &net);
    }
    if (status == TW_OK)
        status = tw_network_search(ctx, net, machine, &(tw_network_search_options){.search = &search}, &plan);
    if (status != TW_OK) {
        printf("%-34s %s\n", what, tw_context_message(ctx, 0));
        return 0;
    }
    const tw_network_totals *t = tw_network_plan_totals(plan);
    measured m = {bench_cpu() - start, (double)t->cycles, t->bound, true};
    print_measured(what, &m);
    printf("   %d of %d layers proven, %d within 1 %%, %d steps without a plan\n", t->n_proven,
           tw_network_plan_n_layers(plan), t->n_close, t->n_refused);
    fflush(stdout);
    return 0;
}

static int run_network(const network *n)
{
    static const char *const machine[] = {"kpu", "snitch"};
    char path[MOST_PATH];
    path_of(n, path);
    if (access(path, R_OK) != 0) {
        printf("%-34s skipped: no file '%s'; make networks fetches some\n", n->name, path);
        return 0;
    }
    for (size_t i = 0; i < TW_COUNT(machine); i++) {
        int status;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            int code = plan_network(n, path, machine[i]);
            fflush(stdout);
            _exit(code);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
            return 70;
    }
    return 0;
}

static int run_attention(void)
{
    char path[] = "/tmp/attention_head.XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return 70;
    bool written = bench_write_attention(file);
    close(file);
    int code = written ? run_network(&(network){"attention_head", path, {0}}) : 70;
    unlink(path);
    return code;
}

int bench_networks(void)
{
    static const int64_t ppocr[] = {1, 3, 320, 320};
    static const network row[] = {
        {"ppocr_det", NULL, {"x", 4, ppocr}},
        {"blaze", "test/networks/blaze.onnx", {0}},
        {"mobilenetv2", "../shared/data/zigzag/workload/mobilenetv2.onnx", {0}},
        {"resnet18", "../shared/data/zigzag/workload/resnet18.onnx", {0}},
    };
    int code = run_attention();
    for (size_t i = 0; i < TW_COUNT(row) && code == 0; i++) code = run_network(&row[i]);
    return code;
}

int bench_table(double times, const char *tiles)
{
    print_head();
    int code = run_targets(before_networks, TW_COUNT(before_networks), times);
    if (code == 0) code = run_resnet18("ResNet-18 MAC layers, tpu-like, KxC", true, 3726293, times);
    if (code == 0) code = run_resnet18("ResNet-18 MAC layers, tpu-like", false, 2888880, times);
    if (code == 0) code = run_targets(after_networks, TW_COUNT(after_networks), times);
    if (code == 0) code = run_traffic(tiles, times);
    if (code == 0) code = bench_networks();
    return code ? code : bench_rate();
}
