/* bench/bench_zigzag.c - networks by ZigZag's rules: what the tool would answer, and what the search finds, in CPU seconds.
 *
 *     bench_zigzag [FOLDER]     FOLDER holds workload/, hardware/ and mapping/ of the tool; default ../shared/data/zigzag
 *
 * The tool itself took 113 CPU seconds for ResNet-18 on its tpu_like with loops that are not split, 122 mappings per second. The
 * figures are of one core. */
#include "tilewright/rivals.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct row {
    const char *workload, *hardware, *mapping;
} row;
typedef struct sums {
    double cycles, energy_uj, seconds;
    int64_t counted;
    int layers, proven;
    double gap; /* the largest of those that are not proven */
} sums;

static const tw_rival *open_row(tw_context *ctx, const char *folder, const row *r)
{
    char path[3][4096];
    const char *const list[] = {path[0], path[1], path[2]};
    const tw_rival *rival = NULL;
    snprintf(path[0], sizeof path[0], "%s/workload/%s", folder, r->workload);
    snprintf(path[1], sizeof path[1], "%s/hardware/%s", folder, r->hardware);
    snprintf(path[2], sizeof path[2], "%s/mapping/%s", folder, r->mapping);
    return tw_rival_open(ctx, list, 3, &rival) == TW_OK ? rival : NULL;
}

/* What the tool answers: its own search, with every layer searched, as it does. */
static int count_all(tw_context *ctx, const tw_rival *rival, sums *out)
{
    double start = cpu_seconds();
    for (int i = 0; i < tw_rival_n_layers(rival); i++) {
        const tw_account *account;
        if (tw_rival_count(ctx, rival, i, TW_RULES_ZIGZAG, &account) != TW_OK) return 1;
        out->cycles += account->cycles;
        out->energy_uj += account->energy_pj / 1e6;
    }
    out->seconds = cpu_seconds() - start;
    return 0;
}

static int search_all(tw_context *ctx, const tw_rival *rival, tw_measure measure, sums *out)
{
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    const tw_rival_found **found = calloc((size_t)tw_rival_n_layers(rival), sizeof *found);
    const tw_rival *mapped;
    double start = cpu_seconds();
    how.measure = measure;
    tw_status status = found ? tw_rival_search_all(ctx, rival, &how, found, &mapped) : TW_ERR_NOMEM;
    for (int i = 0; i < tw_rival_n_layers(rival) && status == TW_OK; i++) {
        out->cycles += found[i]->account->cycles;
        out->energy_uj += found[i]->account->energy_pj / 1e6;
        out->counted += found[i]->counted;
        out->layers++;
        out->proven += found[i]->proven;
        out->gap = fmax(out->gap, found[i]->value / found[i]->bound - 1);
    }
    out->seconds = cpu_seconds() - start;
    free(found);
    return status != TW_OK;
}

static void print_sums(const char *what, const sums *s)
{
    printf("  %-22s %14.1f cycles %12.3f uJ %8.3f s", what, s->cycles, s->energy_uj, s->seconds);
    if (s->counted > 0)
        printf(" %9" PRId64 " mappings, %d of %d layers proven, others within %.2f %%", s->counted, s->proven,
               s->layers, 100 * s->gap);
    printf("\n");
}

static int run_row(const char *folder, const row *r)
{
    static const struct {
        const char *name;
        tw_measure measure;
    } objective[] = {
        {"searched for latency", TW_CYCLES}, {"searched for energy", TW_ENERGY}, {"searched for EDP", TW_EDP}};
    tw_context *ctx = tw_context_new();
    const tw_rival *rival = ctx ? open_row(ctx, folder, r) : NULL;
    sums own = {0};
    int code = !rival || count_all(ctx, rival, &own);
    if (rival) printf("%s on %s, %d layers\n", r->workload, r->hardware, tw_rival_n_layers(rival));
    if (!code) print_sums("the tool's answer", &own);
    for (int i = 0; i < 3 && !code; i++) {
        sums s = {0};
        code = search_all(ctx, rival, objective[i].measure, &s);
        if (!code) print_sums(objective[i].name, &s);
    }
    tw_context_free(ctx);
    return code;
}

int main(int argc, char **argv)
{
    static const row rows[] = {{"resnet18.onnx", "tpu_like.yaml", "tpu_like.yaml"},
                               {"resnet18.yaml", "meta_prototype.yaml", "meta_prototype_like.yaml"},
                               {"alexnet.onnx", "tpu_like.yaml", "tpu_like.yaml"},
                               {"alexnet.onnx", "edge_tpu_like.yaml", "edge_tpu_like.yaml"},
                               {"mobilenetv2.onnx", "edge_tpu_like.yaml", "edge_tpu_like.yaml"}};
    const char *folder = argc > 1 ? argv[1] : "../shared/data/zigzag";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (run_row(folder, &rows[i])) printf("%s on %s: not there\n", rows[i].workload, rows[i].hardware);
    return 0;
}
