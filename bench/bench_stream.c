/* bench/bench_stream.c - networks on 1, 2 and 4 cores: cycles, what no plan is below, the same in equal parts, how long two threads planned.
 *
 *     bench_stream [NETWORK [CORES]]      a row of the table alone
 *
 * The machine is Stream's quad-core one beside the project, TPU-like, with a core for pools and one for additions, with 4, 2 and 1 of its compute cores: all on
 * the bus to the DRAM, neighbours linked. Then the lab's four convolutions on its three cores, with Stream's own figures. Run it in the project's folder; what is not
 * there is named and left out. The exit code says whether more cores were slower somewhere. */
#include "plan/plan.h"
#include "tilewright/network.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STREAM "../shared/data/stream/"
#define CORES  STREAM "examples/hardware/cores/"

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_pair(FILE *out, int a, int b)
{
    fprintf(out, "  - {type: link, cores: [%d, %d], bandwidth: 32}\n", a, b);
}

/* The quad-core machine with n compute cores, which are 0 .. n - 1; then pooling, additions, DRAM. */
static void print_machine(int n, FILE *out)
{
    static const char *const helper_name[] = {"pooling", "simd", "offchip"};
    char folder[PATH_MAX];
    if (!realpath(CORES, folder)) return;
    fprintf(out, "name: tpu_like_%d\ncores:\n", n);
    for (int i = 0; i < n; i++) fprintf(out, "  %d: %s/tpu_like.yaml\n", i, folder);
    for (int i = 0; i < 3; i++) fprintf(out, "  %d: %s/%s.yaml\n", n + i, folder, helper_name[i]);
    fprintf(out, "offchip_core_id: %d\nunit_energy_cost: 0\ncore_connectivity:\n", n + 2);
    for (int i = 0; i + 1 < n; i++) print_pair(out, i, i + 1);
    if (n > 2) print_pair(out, n - 1, 0);
    for (int helper = n; helper < n + 2; helper++)
        for (int i = 0; i < n; i++) print_pair(out, i, helper);
    fprintf(out, "  - {type: bus, cores: [0");
    for (int i = 1; i < n + 3; i++) fprintf(out, ", %d", i);
    fprintf(out, "], bandwidth: 128}\n");
}

typedef struct figures {
    int64_t cycles, equal;   /* equal 0: not known */
    double bound, cpu, wall; /* seconds that two threads planned */
} figures;

/* All programs with their groups in equal parts on all cores; 0: it cannot be. */
static int64_t equal_of(const tw_network_plan *plan)
{
    int64_t sum = 0;
    for (int i = 0; i < tw_network_plan_n_parts(plan); i++) {
        const tw_plan *part = tw_network_plan_part(plan, i).plan;
        const tw_joint_search *search = part && part->joint ? part->joint->search : NULL;
        if (part && (!search || search->equal == 0)) return 0;
        if (search) sum += search->equal;
    }
    return sum;
}

static bool plan_on(const char *network_path, const char *machine_path, figures *out)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    const tw_network *network;
    const tw_network_plan *plan;
    tw_search_options search = TW_SEARCH_OPTIONS_INIT;
    tw_network_options open = TW_NETWORK_OPTIONS_INIT;
    tw_network_search_options options = TW_NETWORK_SEARCH_OPTIONS_INIT;
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
    search.groups = true;
    search.n_threads = 2;
    options.search = &search;
    open.dtype = "i8";
    bool good = ctx && tw_machine_open(ctx, machine_path, &machine) == TW_OK;
    open.machine = good ? machine : NULL;
    good = good && tw_network_open(ctx, network_path, &open, &network) == TW_OK &&
           tw_network_search(ctx, network, machine, &options, &plan) == TW_OK;
    if (good) {
        const tw_network_totals *all = tw_network_plan_totals(plan);
        *out = (figures){.cycles = all->cycles,
                         .bound = all->bound,
                         .cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu,
                         .wall = seconds_of(CLOCK_MONOTONIC) - wall};
        out->equal = equal_of(plan);
    }
    for (int i = 0; ctx && !good && i < tw_context_n_messages(ctx); i++)
        fprintf(stderr, "%s\n", tw_context_message(ctx, i));
    tw_context_free(ctx);
    return good;
}

static bool is_there(const char *path)
{
    bool there = access(path, R_OK) == 0;
    if (!there) printf("%-14s left out: no %s\n", "", path);
    return there;
}

static void print_figures(const char *name, int n, const figures *f)
{
    char equal[32] = "-";
    if (f->equal > 0) snprintf(equal, sizeof equal, "%" PRId64, f->equal);
    printf("%-14s %5d %12" PRId64 " %12.0f %7.1f%% %12s %8.2f %8.2f\n", name, n, f->cycles, f->bound,
           100 * ((double)f->cycles - f->bound) / (double)f->cycles, equal, f->cpu, f->wall);
    fflush(stdout);
}

/* On 1, 2 and 4 cores, or on `only` so many unless that is 0; 1: something went wrong, or more of them are slower. */
static int run_network(const char *name, const char *path, int only)
{
    static const int cores[] = {1, 2, 4};
    int64_t before = INT64_MAX;
    int bad = 0;
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
        char file[] = "/tmp/bench_stream.XXXXXX.yaml";
        if (only && cores[i] != only) continue;
        int fd = mkstemps(file, 5);
        FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
        figures f;
        if (!out) return 1;
        print_machine(cores[i], out);
        fclose(out);
        bool good = plan_on(path, file, &f);
        unlink(file);
        if (!good) return 1;
        print_figures(i && !only ? "" : name, cores[i], &f);
        if (f.cycles > before) printf("%-14s slower than on fewer cores\n", "");
        bad |= f.cycles > before;
        before = f.cycles;
    }
    return bad;
}

/* The labs: Stream's figures are those of ../shared/peers/zigzag-stream.md. */
static int run_labs(void)
{
    static const char *const network = STREAM "lab1/workload/4_convs.onnx";
    static const char *const machine = STREAM "lab2/hardware/hda_bus.yaml";
    figures f;
    if (!is_there(network) || !is_there(machine)) return 0;
    if (!plan_on(network, machine, &f)) return 1;
    print_figures("4 convolutions", 3, &f);
    printf("%-14s Stream: lab 1 79340, lab 2 (equal parts) 128831, all on core 2 28728\n", "");
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const rows[][2] = {{"resnet18", STREAM "examples/workload/resnet18.onnx"},
                                          {"mobilenetv2", "../shared/data/zigzag/workload/mobilenetv2.onnx"},
                                          {"swiglu", STREAM "new_format/workload/swiglu_64_128_256.onnx"}};
    int bad = 0, only = argc > 2 ? atoi(argv[2]) : 0;
    printf("%-14s %5s %12s %12s %8s %12s %8s %8s\n", "i8", "cores", "cycles", "bound", "gap", "equal parts",
           "CPU s", "seconds");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((argc < 2 || strcmp(argv[1], rows[i][0]) == 0) && is_there(rows[i][1]) &&
            is_there(CORES "tpu_like.yaml"))
            bad |= run_network(rows[i][0], rows[i][1], only);
    return argc < 2 ? bad | run_labs() : bad;
}
