/* bench/bench_fuse.c - workloads layer by layer and in groups: cycles, what is moved over the outermost link, the bound, CPU seconds.
 *
 *     bench_fuse [NAME..]     rows whose name begins with one of these
 *
 * `again` are groups in which what two tiles share is always computed again, `groups` those that may keep it. Seconds are of one core: those of the search layer by layer, and those that groups take beyond it; and seconds on the wall of
 * the groups on all cores. Networks come from the data beside the project and from the folder of tools/fetch_models (TW_MODELS); those that are not there
 * are left out. Rows levels-* are networks on machines with a second memory further inside, which is as large as the first one or far smaller: what the smaller one costs is the most that holding what
 * groups make in the first one, and cutting it again, could save. */
#include "fuse/fuse.h"
#include "plan/plan.h"
#include "tilewright/network.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A megabyte on chip behind a slow DRAM. */
static const char slow[] =
    "machine: slow-dram\nunit: byte\ntiming: async\nclock_mhz: 1000\nmemories:\n"
    "  - {name: dram, size: unlimited, energy: 60 pJ}\n"
    "  - {name: sram, size: 1 MiB, align: 16, energy: 1 pJ}\nengines:\n"
    "  - {name: dma, between: [dram, sram], prefetch: all, cost: {latency: 100, per_cycle: 4}}\n"
    "  - {name: array, computes: [multiply-add, add, max, map, average, min, product], memory: sram, "
    "energy: 0.1 pJ, cost: {array: [32, 32], latency: 20}}\n";
/* The core of a lab: 64 x 16 multiply-adds, 80 KiB, 4 bytes a cycle both ways. */
static const char lab[] =
    "machine: lab-core\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: dram, size: unlimited, energy: 15.6 pJ}\n"
    "  - {name: sram, size: 80 KiB, energy: 0.33 pJ}\nengines:\n"
    "  - {name: bus, between: [dram, sram], prefetch: all, cost: {latency: 0, per_cycle: 4}}\n"
    "  - {name: array, computes: [multiply-add, add, max, map], memory: sram, energy: 0.04 pJ, "
    "cost: {array: [64, 16]}}\n";
/* Little room beside the weights, and no compute to spare. */
static const char narrow[] =
    "machine: narrow\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: dram, size: unlimited, energy: 15.6 pJ}\n"
    "  - {name: sram, size: 160 KiB, energy: 0.33 pJ}\nengines:\n"
    "  - {name: bus, between: [dram, sram], prefetch: all, cost: {latency: 0, per_cycle: 2}}\n"
    "  - {name: array, computes: [multiply-add, add, max, map], memory: sram, energy: 0.04 pJ, "
    "cost: {array: [32, 8]}}\n";
/* Compute is scarce: an array that is never idle. */
static const char scarce[] =
    "machine: scarce\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: dram, size: unlimited, energy: 15.6 pJ}\n"
    "  - {name: sram, size: 256 KiB, energy: 0.33 pJ}\nengines:\n"
    "  - {name: bus, between: [dram, sram], prefetch: all, cost: {latency: 0, per_cycle: 64}}\n"
    "  - {name: array, computes: [multiply-add, add, max, map], memory: sram, energy: 0.04 pJ, "
    "cost: {array: [4, 4]}}\n";

typedef struct text {
    char *bytes;
    size_t n;
    FILE *out;
} text;

static void conv(FILE *out, int i, int in, int side, int channels, int kernel)
{
    fprintf(
        out,
        "  - {name: l%d, op: conv, shape: [%d, %d, %d], out: %d, kernel: %d, pad: %d, dtype: i8, out_dtype: i8, "
        "accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
        i, in, side, side, channels, kernel, kernel / 2, i, i + 1);
}

static void chain(FILE *out, int n, int channels, int side)
{
    for (int i = 0; i < n; i++) conv(out, i, channels, side, channels, 3);
}

static void four(FILE *out)
{
    for (int i = 0; i < 4; i++) conv(out, i, i ? 8 : 3, 56, 8, 3);
}

static void three(FILE *out) { chain(out, 3, 64, 56); }
static void fifty(FILE *out) { chain(out, 50, 16, 56); }
static void deep(FILE *out) { chain(out, 8, 32, 56); }
static void hundred(FILE *out) { chain(out, 100, 16, 56); }
static void twenty_five(FILE *out) { chain(out, 25, 16, 56); }

/* Extraction, shrinking, four mappings, expanding: the part of FSRCNN before its last layer, on a quarter of a frame. */
static void fsrcnn(FILE *out)
{
    const int channels[] = {1, 56, 12, 12, 12, 12, 12, 56}, kernel[] = {5, 1, 3, 3, 3, 3, 1};
    for (int i = 0; i < 7; i++) conv(out, i, channels[i], 240, channels[i + 1], kernel[i]);
}

/* Residual blocks: two convolutions, and what comes in is added. */
static void blocks(FILE *out, int n, int channels, int side)
{
    for (int b = 0; b < n; b++) {
        conv(out, 3 * b, channels, side, channels, 3);
        conv(out, 3 * b + 1, channels, side, channels, 3);
        fprintf(
            out,
            "  - {name: l%d, op: add, shape: [%d, %d, %d], dtype: i8, out_dtype: i8, inputs: {ifm: t%d, w: t%d}, "
            "output: t%d}\n",
            3 * b + 2, channels, side, side, 3 * b + 2, 3 * b, 3 * b + 3);
    }
}

static void residual(FILE *out) { blocks(out, 2, 64, 56); }
static void wide(FILE *out) { blocks(out, 4, 128, 14); }

/* The two products of a transformer's MLP. */
static void mlp(FILE *out)
{
    const int width[] = {256, 1024, 256};
    for (int i = 0; i < 2; i++)
        fprintf(
            out,
            "  - {name: l%d, op: matmul, shape: [512, %d, %d], dtype: i8, out_dtype: i8, accumulator: i32, inputs: "
            "{ifm: t%d}, output: t%d}\n",
            i, width[i + 1], width[i], i, i + 1);
}

/* Scores, a softmax in four steps, and what it weighs: one head of n rows. */
static void head(FILE *out, int n)
{
    fprintf(
        out,
        "  - {name: score, op: matmul, shape: [%d, %d, 64], dtype: f32, inputs: {ifm: q, w: k}, output: s}\n"
        "  - {name: top, compute: max, loops: {i: %d, j: %d}, reduce: [j], reads: {s: {tensor: s, dtype: f32, "
        "at: [i, j]}}, writes: {m: {tensor: m, dtype: f32, at: [i]}}}\n"
        "  - {name: power, compute: map, loops: {i: %d, j: %d}, value: \"exp(s - m)\", reads: {s: {tensor: s, "
        "dtype: f32, at: [i, j]}, m: {tensor: m, dtype: f32, at: [i]}}, writes: {e: {tensor: e, dtype: f32, at: "
        "[i, j]}}}\n"
        "  - {name: total, compute: add, loops: {i: %d, j: %d}, reduce: [j], reads: {e: {tensor: e, dtype: "
        "f32, at: [i, j]}}, writes: {z: {tensor: z, dtype: f32, at: [i]}}}\n"
        "  - {name: share, compute: map, loops: {i: %d, j: %d}, value: \"e / z\", reads: {e: {tensor: e, "
        "dtype: f32, at: [i, j]}, z: {tensor: z, dtype: f32, at: [i]}}, writes: {p: {tensor: p, dtype: f32, at: "
        "[i, j]}}}\n"
        "  - {name: context, op: matmul, shape: [%d, 64, %d], dtype: f32, inputs: {ifm: p, w: v}, output: o}\n",
        n, n, n, n, n, n, n, n, n, n, n, n);
}

static void attention(FILE *out) { head(out, 512); }

/* A block of a transformer: 128 rows of 256, four heads, floats. */
static void transformer(FILE *out)
{
    fputs("  - {name: to_q, op: matmul, shape: [128, 256, 256], dtype: f32, inputs: {ifm: x}, output: q}\n"
          "  - {name: to_k, op: matmul, shape: [128, 256, 256], dtype: f32, inputs: {ifm: x}, output: k}\n"
          "  - {name: to_v, op: matmul, shape: [128, 256, 256], dtype: f32, inputs: {ifm: x}, output: v}\n"
          "  - {name: score, compute: multiply-add, loops: {h: 4, i: 128, j: 128, d: 64}, reduce: [d], reads: "
          "{q: {tensor: q, dtype: f32, at: [i, 64*h + d]}, k: {tensor: k, dtype: f32, at: [j, 64*h + d]}}, "
          "writes: {o: {tensor: s, dtype: f32, at: [h, i, j]}}}\n"
          "  - {name: top, compute: max, loops: {h: 4, i: 128, j: 128}, reduce: [j], reads: {s: {tensor: s, "
          "dtype: f32, at: [h, i, j]}}, writes: {o: {tensor: m, dtype: f32, at: [h, i]}}}\n"
          "  - {name: power, compute: map, loops: {h: 4, i: 128, j: 128}, value: \"exp((s - m) / 8)\", reads: "
          "{s: {tensor: s, dtype: f32, at: [h, i, j]}, m: {tensor: m, dtype: f32, at: [h, i]}}, writes: {o: "
          "{tensor: e, dtype: f32, at: [h, i, j]}}}\n"
          "  - {name: total, compute: add, loops: {h: 4, i: 128, j: 128}, reduce: [j], reads: {e: {tensor: e, "
          "dtype: f32, at: [h, i, j]}}, writes: {o: {tensor: z, dtype: f32, at: [h, i]}}}\n"
          "  - {name: share, compute: map, loops: {h: 4, i: 128, j: 128}, value: \"e / z\", reads: {e: "
          "{tensor: e, dtype: f32, at: [h, i, j]}, z: {tensor: z, dtype: f32, at: [h, i]}}, writes: {o: "
          "{tensor: p, dtype: f32, at: [h, i, j]}}}\n"
          "  - {name: mix, compute: multiply-add, loops: {h: 4, i: 128, e: 64, j: 128}, reduce: [j], reads: "
          "{p: {tensor: p, dtype: f32, at: [h, i, j]}, v: {tensor: v, dtype: f32, at: [j, 64*h + e]}}, writes: "
          "{o: {tensor: c, dtype: f32, at: [h, i, e]}}}\n"
          "  - {name: out, compute: multiply-add, loops: {i: 128, n: 256, h: 4, e: 64}, reduce: [h, e], reads: "
          "{c: {tensor: c, dtype: f32, at: [h, i, e]}, w: {tensor: wo, dtype: f32, at: [h, e, n], role: "
          "weights}}, writes: {o: {tensor: y, dtype: f32, at: [i, n]}}}\n"
          "  - {name: add1, compute: map, loops: {i: 128, n: 256}, value: \"x + y\", reads: {x: {tensor: x, "
          "dtype: f32, at: [i, n]}, y: {tensor: y, dtype: f32, at: [i, n]}}, writes: {o: {tensor: r, dtype: "
          "f32, at: [i, n]}}}\n"
          "  - {name: mean, compute: add, loops: {i: 128, n: 256}, reduce: [n], value: \"r / 256\", reads: {r: "
          "{tensor: r, dtype: f32, at: [i, n]}}, writes: {o: {tensor: mu, dtype: f32, at: [i]}}}\n"
          "  - {name: spread, compute: multiply-add, loops: {i: 128, n: 256}, reduce: [n], value: \"(r - mu) * "
          "(r - mu) / 256\", reads: {r: {tensor: r, dtype: f32, at: [i, n]}, mu: {tensor: mu, dtype: f32, at: "
          "[i]}}, writes: {o: {tensor: var, dtype: f32, at: [i]}}}\n"
          "  - {name: norm, compute: map, loops: {i: 128, n: 256}, value: \"(r - mu) / sqrt(var + 0.00001)\", "
          "reads: {r: {tensor: r, dtype: f32, at: [i, n]}, mu: {tensor: mu, dtype: f32, at: [i]}, var: "
          "{tensor: var, dtype: f32, at: [i]}}, writes: {o: {tensor: g, dtype: f32, at: [i, n]}}}\n"
          "  - {name: up, op: matmul, shape: [128, 1024, 256], dtype: f32, inputs: {ifm: g}, output: u}\n"
          "  - {name: relu, compute: map, loops: {i: 128, n: 1024}, value: \"max(u, 0)\", reads: {u: {tensor: "
          "u, dtype: f32, at: [i, n]}}, writes: {o: {tensor: a, dtype: f32, at: [i, n]}}}\n"
          "  - {name: down, op: matmul, shape: [128, 256, 1024], dtype: f32, inputs: {ifm: a}, output: b}\n"
          "  - {name: add2, compute: map, loops: {i: 128, n: 256}, value: \"b + g\", reads: {b: {tensor: b, "
          "dtype: f32, at: [i, n]}, g: {tensor: g, dtype: f32, at: [i, n]}}, writes: {o: {tensor: t, dtype: "
          "f32, at: [i, n]}}}\n",
          out);
}

typedef struct row {
    const char *name, *machine;
    void (*write)(FILE *out);
} row;

static char *const *asked; /* names, NULL behind the last */

static bool is_asked(const char *name)
{
    bool any = !*asked;
    for (char *const *a = asked; *a && !any; a++) any = strncmp(name, *a, strlen(*a)) == 0;
    return any;
}

static const tw_plan *plan_of(tw_context *ctx, const tw_model *model, const tw_machine *machine, bool layers,
                              int n_threads, double *seconds)
{
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    const tw_plan *plan = NULL;
    double start = cpu_seconds();
    options.groups = !layers;
    options.n_threads = n_threads;
    if (tw_plan_search(ctx, model, machine, &options, &plan) != TW_OK) return NULL;
    *seconds = cpu_seconds() - start;
    return plan;
}

static double cycles_alone(const void *user, double cycles, double energy_fj)
{
    (void)user;
    (void)energy_fj;
    return cycles;
}

/* Cycles of the groups that are found on one thread, 0: there are none; in CPU seconds. */
static int64_t cycles_of(const tw_model *model, const tw_machine *machine, const tw_plan *layers, bool no_slides,
                         double *seconds)
{
    const tw_fuse_request request = {.model = model,
                                     .machine = machine,
                                     .apart = layers->mapping->op,
                                     .by = {cycles_alone, NULL},
                                     .no_slides = no_slides,
                                     .n_threads = 1};
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    tw_diag diag = {.muted = true};
    const tw_work work = {arena, scratch, &diag};
    tw_fused fused;
    double start = cpu_seconds();
    bool found = arena && scratch && tw_fuse_find(&request, &work, &fused) == TW_OK;
    *seconds = cpu_seconds() - start;
    tw_arena_free(arena);
    tw_arena_free(scratch);
    return found ? fused.cycles : 0;
}

static int run(const row *r)
{
    if (!is_asked(r->name)) return 0;
    text t = {0};
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    double apart = 0, all = 0, more = 0;
    if (!ctx || !(t.out = open_memstream(&t.bytes, &t.n))) return 1;
    fprintf(t.out, "workload: %s\nops:\n", r->name);
    r->write(t.out);
    fclose(t.out);
    bool good = tw_model_parse(ctx, r->name, t.bytes, &model) == TW_OK &&
                tw_machine_parse(ctx, "machine", r->machine, &machine) == TW_OK;
    const tw_plan *layers = good ? plan_of(ctx, model, machine, true, 1, &apart) : NULL;
    const tw_plan *plan = layers ? plan_of(ctx, model, machine, false, 0, &all) : NULL;
    int64_t again = plan ? cycles_of(model, machine, layers, true, &more) : 0;
    if (plan) cycles_of(model, machine, layers, false, &more);
    if (plan)
        printf("%-14s %12" PRId64 " %12" PRId64 " %12" PRId64 " %6.2f %9.2f %9.2f %8.2f %8.2f %8.2f\n", r->name,
               tw_plan_summary(layers)->cycles, again, tw_plan_summary(plan)->cycles,
               (double)tw_plan_summary(layers)->cycles / (double)tw_plan_summary(plan)->cycles,
               (double)tw_plan_summary(layers)->energy_fj / 1e9, (double)tw_plan_summary(plan)->energy_fj / 1e9,
               apart, more, plan->joint ? plan->joint->search->seconds : 0);
    for (int i = 0; !plan && i < tw_context_n_messages(ctx); i++)
        fprintf(stderr, "%s\n", tw_context_message(ctx, i));
    tw_context_free(ctx);
    free(t.bytes);
    return plan ? 0 : 1;
}

/* Eight convolutions of 112 rows behind a link of a byte a cycle, in different memories. */
static void lines(FILE *out) { chain(out, 8, 16, 112); }

static int run_sizes(void)
{
    static const int kib[] = {16, 24, 32, 48, 64, 96, 112};
    int bad = 0;
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++) {
        char machine[800], name[20];
        snprintf(name, sizeof name, "lines-%d", kib[i]);
        snprintf(machine, sizeof machine,
                 "machine: thin\nunit: byte\ntiming: async\nmemories:\n"
                 "  - {name: dram, size: unlimited, energy: 60 pJ}\n"
                 "  - {name: sram, size: %d KiB, align: 16, energy: 1 pJ}\nengines:\n"
                 "  - {name: dma, between: [dram, sram], prefetch: all, cost: {latency: 20, per_cycle: 1}}\n"
                 "  - {name: array, computes: [multiply-add], memory: sram, energy: 0.1 pJ, cost: {array: [32, "
                 "32], latency: 5}}\n",
                 kib[i]);
        bad |= run(&(row){name, machine, lines});
    }
    return bad;
}

/* One head of attention, 1'024 rows of 64, in different memories. */
static void keys(FILE *out) { head(out, 1024); }

static int run_keys(void)
{
    static const int kib[] = {1024, 256, 128, 64, 32, 16};
    int bad = 0;
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++) {
        char machine[800], name[20], size[20];
        snprintf(name, sizeof name, "keys-%d", kib[i]);
        snprintf(size, sizeof size, "%d KiB", kib[i]);
        const char *at = strstr(slow, "1 MiB");
        snprintf(machine, sizeof machine, "%.*s%s%s", (int)(at - slow), slow, size, at + strlen("1 MiB"));
        bad |= run(&(row){name, machine, keys});
    }
    return bad;
}

/* ---- networks ---- */

typedef struct network_row {
    const char *name, *path, *dtype; /* path: "~" is the folder of tools/fetch_models */
    tw_network_dim dim[2];
    const char *machine; /* NULL: the slow one */
} network_row;

static const tw_network_plan *network_plan(tw_context *ctx, const tw_network *network, const tw_machine *machine,
                                           bool layers, double *seconds)
{
    tw_search_options search = TW_SEARCH_OPTIONS_INIT;
    tw_network_search_options options = TW_NETWORK_SEARCH_OPTIONS_INIT;
    const tw_network_plan *plan = NULL;
    double start = cpu_seconds();
    search.groups = !layers;
    search.n_threads = 1;
    options.search = &search;
    if (tw_network_search(ctx, network, machine, &options, &plan) != TW_OK) return NULL;
    *seconds = cpu_seconds() - start;
    return plan;
}

/* Bytes over the outermost mover. */
static int64_t moved_by(const tw_plan *plan)
{
    int64_t sum = 0;
    for (int e = 0; plan && e < tw_plan_n_engines(plan); e++) {
        const tw_engine_use *use = tw_plan_engine_use(plan, 0, e);
        if (strcmp(use->engine, "dma") != 0) continue;
        sum += use->load_units + use->store_units;
    }
    return sum;
}

static int64_t moved(const tw_network_plan *plan, const tw_network *network)
{
    int64_t sum = 0;
    for (int i = 0; i < tw_network_plan_n_parts(plan); i++) {
        tw_network_part part = tw_network_plan_part(plan, i);
        sum += moved_by(part.plan);
        for (int s = part.first_step; s < part.first_step + part.n_steps && !part.plan; s++) {
            int layer = tw_network_step(network, s).layer;
            if (layer >= 0) sum += moved_by(tw_network_plan_layer(plan, layer).plan);
        }
    }
    return sum;
}

static void print_network(const network_row *r, const tw_network *network, const tw_network_plan *layers,
                          const tw_network_plan *groups, const double seconds[2])
{
    const tw_network_totals *a = tw_network_plan_totals(layers), *b = tw_network_plan_totals(groups);
    printf("%-16s %12" PRId64 " %12" PRId64 " %6.2f %11" PRId64 " %11" PRId64 " %6.1f%% %8.2f %8.2f\n", r->name,
           a->cycles, b->cycles, (double)a->cycles / (double)b->cycles, moved(layers, network),
           moved(groups, network), 100 * ((double)b->cycles - b->bound) / (double)b->cycles, seconds[0],
           seconds[1] - seconds[0]);
}

static int run_network(const network_row *r)
{
    if (!is_asked(r->name)) return 0;
    char path[4096];
    const char *home = getenv("HOME"), *models = getenv("TW_MODELS");
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    const tw_network *network;
    double seconds[2] = {0};
    if (*r->path == '~' && models)
        snprintf(path, sizeof path, "%s%s", models, r->path + 1);
    else if (*r->path == '~')
        snprintf(path, sizeof path, "%s/.cache/tilewright/models%s", home ? home : "", r->path + 1);
    else
        snprintf(path, sizeof path, "%s", r->path);
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    tw_network_options open = TW_NETWORK_OPTIONS_INIT;
    bool good = ctx && file && tw_machine_parse(ctx, "machine", r->machine ? r->machine : slow, &machine) == TW_OK;
    open.dtype = r->dtype;
    open.machine = good ? machine : NULL;
    open.dim = r->dim;
    while (open.n_dims < 2 && r->dim[open.n_dims].name) open.n_dims++;
    good = good && tw_network_open(ctx, path, &open, &network) == TW_OK;
    const tw_network_plan *layers = good ? network_plan(ctx, network, machine, true, &seconds[0]) : NULL;
    const tw_network_plan *groups = layers ? network_plan(ctx, network, machine, false, &seconds[1]) : NULL;
    if (groups) print_network(r, network, layers, groups, seconds);
    for (int i = 0; ctx && file && !groups && i < tw_context_n_messages(ctx); i++)
        fprintf(stderr, "%s\n", tw_context_message(ctx, i));
    tw_context_free(ctx);
    return file && !groups;
}

static int run_networks(void)
{
    static const network_row rows[] = {
        {"fsrcnn", "../shared/data/stream/examples/workload/fsrcnn.onnx", "i8", {{0}}},
        {"mobilenetv2", "../shared/data/zigzag/workload/mobilenetv2.onnx", "i8", {{0}}},
        {"resnet18", "../shared/data/zigzag/workload/resnet18.onnx", "i8", {{0}}},
        {"mobilenetv2-f", "../shared/data/zigzag/workload/mobilenetv2.onnx", NULL, {{0}}},
        {"resnet18-f", "../shared/data/zigzag/workload/resnet18.onnx", NULL, {{0}}},
        {"moonshine", "~/moonshine_encoder.onnx", NULL, {{"batch_size", 1}, {"num_samples", 16000}}}};
    int bad = 0;
    printf("\n%-16s %12s %12s %6s %11s %11s %7s %8s %8s\n", "networks", "layers", "groups", "ratio", "bytes",
           "bytes", "gap", "s", "more s");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) bad |= run_network(&rows[i]);
    return bad;
}

/* Networks on machines of two memories on chip. */
static int run_levels(void)
{
    static const char *const networks[][2] = {{"fsrcnn", "../shared/data/stream/examples/workload/fsrcnn.onnx"},
                                              {"mobilenetv2", "../shared/data/zigzag/workload/mobilenetv2.onnx"},
                                              {"resnet18", "../shared/data/zigzag/workload/resnet18.onnx"}};
    static const int kib[][2] = {{1024, 1024}, {1024, 64}, {256, 256}, {256, 32}};
    int bad = 0;
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++)
        for (size_t k = 0; k < sizeof networks / sizeof *networks; k++) {
            char machine[1000], name[60];
            snprintf(name, sizeof name, "levels-%.3s-%d-%d", networks[k][0], kib[i][0], kib[i][1]);
            snprintf(
                machine, sizeof machine,
                "machine: levels\nunit: byte\ntiming: async\nclock_mhz: 1000\nmemories:\n"
                "  - {name: dram, size: unlimited, energy: 60 pJ}\n"
                "  - {name: l2, size: %d KiB, align: 16, energy: 5 pJ}\n"
                "  - {name: l1, size: %d KiB, align: 16, energy: 1 pJ}\nengines:\n"
                "  - {name: dma, between: [dram, l2], prefetch: all, cost: {latency: 100, per_cycle: 4}}\n"
                "  - {name: mover, between: [l2, l1], prefetch: all, cost: {latency: 10, per_cycle: 64}}\n"
                "  - {name: array, computes: [multiply-add, add, max, map, average, min, product], memory: l1, "
                "energy: 0.1 pJ, cost: {array: [32, 32], latency: 20}}\n",
                kib[i][0], kib[i][1]);
            bad |= run_network(&(network_row){name, networks[k][1], "i8", {{0}}, machine});
        }
    return bad;
}

int main(int argc, char **argv)
{
    static const row rows[] = {{"four", lab, four},
                               {"three", slow, three},
                               {"scarce", scarce, three},
                               {"fsrcnn", slow, fsrcnn},
                               {"residual", slow, residual},
                               {"wide", narrow, wide},
                               {"deep", narrow, deep},
                               {"mlp", slow, mlp},
                               {"attention", slow, attention},
                               {"transformer", slow, transformer},
                               {"chain-25", slow, twenty_five},
                               {"chain-50", slow, fifty},
                               {"chain-100", slow, hundred}};
    int bad = 0;
    asked = argv + (argc > 0);
    printf("%-14s %12s %12s %12s %6s %9s %9s %8s %8s %8s\n", "", "layers", "again", "groups", "ratio", "uJ", "uJ",
           "s", "more s", "wall s");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) bad |= run(&rows[i]);
    bad |= run_sizes();
    bad |= run_keys();
    bad |= run_networks();
    return bad | run_levels();
}
