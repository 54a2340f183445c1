/* bench/bench_place.c - the challenging instances of MiniMalloc: CPU seconds to fit, and the least heights.
 *
 *     bench_place [FOLDER [SECONDS]]      default ../shared/data/minimalloc, 20 s per minimisation; 0: only fit
 */
#include "tilewright/tilewright.h"

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

/* The CPU seconds of one question; a row of the table. */
static double ask(const char *folder, const char *name, int64_t capacity, double seconds)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.1048576.csv", folder, name);
    tw_context *ctx = tw_context_new();
    const tw_packing *packing;
    const tw_packed *p;
    if (!ctx || tw_packing_open(ctx, path, &packing) != TW_OK) {
        printf("%-8s cannot be read\n", path);
        tw_context_free(ctx);
        return 0;
    }
    bool minimize = capacity == INT64_MAX;
    tw_pack_options options = {.capacity = capacity, .minimize = minimize, .seconds = seconds};
    double before = cpu_seconds();
    tw_status status = tw_packing_solve(ctx, packing, &options, &p);
    double spent = cpu_seconds() - before;
    if (status == TW_OK || status == TW_INFEASIBLE) {
        const char *verdict = p->verdict == TW_PACK_FITS ? minimize && p->bound < p->height ? "interval" : "yes"
                              : p->verdict == TW_PACK_UNDECIDED ? "undecided"
                                                                : "no";
        printf("%-8s %7d %9" PRId64 "  %-9s %9" PRId64 " %9" PRId64 " %9" PRId64 " %6" PRId64 " %8.2f\n", name,
               tw_packing_n_buffers(packing), minimize ? p->load : capacity, verdict, p->height, p->bound,
               p->counts.nodes, p->counts.runs, spent);
    }
    tw_context_free(ctx);
    return spent;
}

int main(int argc, char **argv)
{
    static const char *const name[] = {"A", "B", "C", "D", "E", "G", "H", "J", "K"};
    const char *folder = argc > 1 ? argv[1] : "../shared/data/minimalloc";
    double seconds = argc > 2 ? atof(argv[2]) : 20, total = 0;
    printf("fits in capacity?\n%-8s %7s %9s  %-9s %9s %9s %9s %6s %8s\n", "instance", "buffers", "capacity", "fits",
           "height", "bound", "nodes", "runs", "CPU s");
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) total += ask(folder, name[i], 1048576, 0);
    printf("total of nine: %.2f CPU s\n", total);
    ask(folder, "C", 1039360, 0);
    if (seconds <= 0) return 0;
    printf("\nleast height, at most %g s each\n%-8s %7s %9s  %-9s %9s %9s %9s %6s %8s\n", seconds, "instance",
           "buffers", "load", "proven", "height", "bound", "nodes", "runs", "CPU s");
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) ask(folder, name[i], INT64_MAX, seconds);
    return 0;
}
