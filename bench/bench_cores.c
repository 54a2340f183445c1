/* bench/bench_cores.c - a network on meshes of 4, 16 and 64 equal cores: cycles, groups, CPU seconds, memory of the process.
 *
 *     bench_cores [FILE.onnx]      default: ResNet-18 of the data beside the project; run it where examples/ is
 *     bench_cores layers           chains of 8, 16, 32 and 64 convolutions instead: does the work grow with cores x layers?
 *     bench_cores layers SIDE N    only one of N convolutions on a mesh of SIDE x SIDE
 *
 * The machine is examples/machines/tensix-like.yaml with smaller grids. `each` are milliseconds for each core and layer: they should not grow with the number of
 * cores. Memory is the most that the process had so far, so that it is that of the row, since rows grow. */
#include "tilewright/network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_megabytes(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_maxrss / 1024;
}

/* The machine with a grid of side x side; false: the file is not there, or has another grid. */
static bool write_machine(int side, char *text, size_t room)
{
    static const char was[] = "grid: [8, 8]";
    FILE *file = fopen("examples/machines/tensix-like.yaml", "rb");
    if (!file) return false;
    size_t n = fread(text, 1, room - 1, file);
    fclose(file);
    text[n] = '\0';
    char *at = strstr(text, was), by[40];
    if (!at) return false;
    snprintf(by, sizeof by, "grid: [%d, %d]", side, side);
    memcpy(at, by, strlen(was));
    return true;
}

static int run(const char *path, int side)
{
    char text[8192];
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    const tw_network *network;
    const tw_network_plan *plan = NULL;
    tw_network_options open = TW_NETWORK_OPTIONS_INIT;
    tw_search_options search = TW_SEARCH_OPTIONS_INIT;
    tw_network_search_options options = TW_NETWORK_SEARCH_OPTIONS_INIT;
    bool good = ctx && write_machine(side, text, sizeof text) &&
                tw_machine_parse(ctx, "tensix-like", text, &machine) == TW_OK;
    search.groups = true;
    options.search = &search;
    open.dtype = "i8";
    open.machine = good ? machine : NULL;
    good = good && tw_network_open(ctx, path, &open, &network) == TW_OK;
    double start = cpu_seconds();
    good = good && tw_network_search(ctx, network, machine, &options, &plan) == TW_OK;
    double took = cpu_seconds() - start;
    if (good) {
        const tw_network_totals *t = tw_network_plan_totals(plan);
        int layers = tw_network_summary_of(network).n_steps;
        printf("%5d %12" PRId64 " %12.0f %8.2f %8.2f %8.0f\n", side * side, t->cycles, t->bound, took,
               1000 * took / (side * side * layers), peak_megabytes());
    }
    for (int i = 0; ctx && !good && i < tw_context_n_messages(ctx); i++)
        fprintf(stderr, "%s\n", tw_context_message(ctx, i));
    tw_context_free(ctx);
    return !good;
}

/* A chain of convolutions of 64 channels, 56 x 56. */
static void write_chain(int layers, char *text, size_t room)
{
    size_t n = (size_t)snprintf(text, room, "workload: chain\nops:\n");
    for (int i = 0; i < layers; i++)
        n += (size_t)snprintf(
            text + n, room - n,
            "  - {name: c%d, op: conv, shape: [64, 56, 56], out: 64, kernel: 3, pad: 1, dtype: i8, "
            "out_dtype: i8, accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
            i, i, i + 1);
}

static int run_chain(int side, int layers)
{
    static char text[8192], chain[16384];
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    const tw_model *model;
    const tw_plan *plan;
    tw_search_options search = TW_SEARCH_OPTIONS_INIT;
    search.groups = true;
    write_chain(layers, chain, sizeof chain);
    bool good = ctx && write_machine(side, text, sizeof text) &&
                tw_machine_parse(ctx, "tensix-like", text, &machine) == TW_OK &&
                tw_model_parse(ctx, "chain", chain, &model) == TW_OK;
    double start = cpu_seconds();
    good = good && tw_plan_search(ctx, model, machine, &search, &plan) == TW_OK;
    double took = cpu_seconds() - start;
    if (good)
        printf("%5d %6d %12" PRId64 " %8.2f %8.2f %8.0f\n", side * side, layers, tw_plan_summary(plan)->cycles,
               took, 1000 * took / (side * side * layers), peak_megabytes());
    fflush(stdout);
    for (int i = 0; ctx && !good && i < tw_context_n_messages(ctx); i++)
        fprintf(stderr, "%s\n", tw_context_message(ctx, i));
    tw_context_free(ctx);
    return !good;
}

/* All meshes and lengths, or the ones that are asked for. */
static int run_layers(int only_side, int only_layers)
{
    int bad = 0;
    printf("%5s %6s %12s %8s %8s %8s\n", "cores", "layers", "cycles", "CPU s", "each ms", "MB");
    if (only_side > 0) return run_chain(only_side, only_layers);
    for (int side = 2; side <= 8; side *= 2)
        for (int layers = 8; layers <= 64; layers *= 2) bad |= run_chain(side, layers);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "layers") == 0)
        return run_layers(argc > 3 ? atoi(argv[2]) : 0, argc > 3 ? atoi(argv[3]) : 0);
    const char *path = argc > 1 ? argv[1] : "../shared/data/zigzag/workload/resnet18.onnx";
    int bad = 0;
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("'%s' is not there\n", path);
        return 0;
    }
    fclose(file);
    printf("%5s %12s %12s %8s %8s %8s\n", "cores", "cycles", "bound", "CPU s", "each ms", "MB");
    for (int side = 2; side <= 8; side *= 2) bad |= run(path, side);
    return bad;
}
