/* bench/bench_network.c - whole networks: opening, planning, and the memory that it takes.
 *
 *     bench_network [FILE.onnx...]     default: ResNet-18 beside the project, planned on two machines; and opening the
 *                                      largest network that tools/fetch_models has put into the cache
 *
 * Every figure is taken in a process of its own, whose peak is then the figure's. What is not there is left out. */
#include "bench.h"
#include "onnx/graph.h"
#include "tilewright/network.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 4096 };

static int end(tw_context *ctx, tw_status status)
{
    if (status != TW_OK) fprintf(stderr, "%s\n", tw_context_message(ctx, 0));
    return status == TW_OK ? 0 : 70;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- opening ---- */

static int run_open(const char *path, const char *unused)
{
    tw_diag diag = {0};
    tw_arena *arena = tw_arena_new();
    const tw_graph_file *file;
    struct stat size;
    (void)unused;
    double start = bench_now();
    tw_status status = arena && stat(path, &size) == 0 ? tw_graph_open(path, arena, &diag, &file) : TW_ERR_IO;
    if (status == TW_OK)
        printf("%-22s %8.1f %6d %9.4f", last_part(path), (double)size.st_size * 1e-6, file->graph[0].n_nodes,
               bench_now() - start);
    fflush(stdout);
    return bench_end(status, &diag);
}

static tw_status find_largest(char path[MOST])
{
    char folder[MOST];
    const char *models = getenv("TW_MODELS"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    off_t most = 0;
    if (models)
        snprintf(folder, sizeof folder, "%s", models);
    else if (cache)
        snprintf(folder, sizeof folder, "%s/tilewright/models", cache);
    else
        snprintf(folder, sizeof folder, "%s/.cache/tilewright/models", home ? home : "");
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char name[MOST + 256];
        struct stat file;
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        if (!tw_network_is_path(name) || stat(name, &file) != 0 || file.st_size <= most || strlen(name) >= MOST)
            continue;
        most = file.st_size;
        memcpy(path, name, strlen(name) + 1);
    }
    if (dir) closedir(dir);
    return most > 0 ? TW_OK : TW_INFEASIBLE;
}

/* ---- planning ---- */

static int run_plan(const char *path, const char *machine_name)
{
    tw_context *ctx = tw_context_new();
    const tw_network *network;
    const tw_machine *machine;
    const tw_network_plan *plan;
    if (!ctx) return 70;
    double start = bench_now();
    tw_status status = tw_network_open(ctx, path, &(tw_network_options){0}, &network);
    if (status == TW_OK) status = tw_machine_open(ctx, machine_name, &machine);
    if (status == TW_OK) status = tw_network_search(ctx, network, machine, NULL, &plan);
    if (status != TW_OK) return end(ctx, status);
    const tw_network_totals *t = tw_network_plan_totals(plan);
    int n_layers = tw_network_plan_n_layers(plan);
    printf("%-16s %-8s %6d %6d %8d %9d %12" PRId64 " %7.2f %9.2f", last_part(path), machine_name,
           tw_network_summary_of(network).n_steps, n_layers, t->n_proven, t->n_close, t->cycles,
           t->cycles > 0 ? 100 * (1 - t->bound / (double)t->cycles) : 0, bench_now() - start);
    fflush(stdout);
    return 0;
}

/* ---- processes ---- */

static int measure(int (*run)(const char *path, const char *machine), const char *path, const char *machine)
{
    struct rusage use;
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(run(path, machine));
    if (child < 0 || wait4(child, &status, 0, &use) != child || !WIFEXITED(status) || WEXITSTATUS(status))
        return 70;
    printf(" %8.1f\n", (double)use.ru_maxrss * 1.024e-3);
    return 0;
}

static int plan_on_both(const char *path)
{
    if (access(path, R_OK) != 0) {
        printf("%s is not there\n", path);
        return 0;
    }
    int code = measure(run_plan, path, "kpu");
    return code ? code : measure(run_plan, path, "snitch");
}

static int open_largest(void)
{
    char path[MOST];
    if (find_largest(path) != TW_OK) {
        printf("no networks in the cache: make networks fetches them\n");
        return 0;
    }
    printf("%-22s %8s %6s %9s %8s\n", "opening", "MB", "nodes", "seconds", "peak MB");
    return measure(run_open, path, NULL);
}

int main(int argc, char **argv)
{
    int code = argc > 1 ? 0 : open_largest();
    printf("%-16s %-8s %6s %6s %8s %9s %12s %7s %9s %8s\n", "planning", "machine", "steps", "layers", "proven",
           "within 1%", "cycles", "gap %", "seconds", "peak MB");
    if (argc == 1 && !code) code = plan_on_both("../shared/data/zigzag/workload/resnet18.onnx");
    for (int i = 1; i < argc && !code; i++) code = plan_on_both(argv[i]);
    return code;
}
