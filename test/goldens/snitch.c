/* test/goldens/snitch.c - snitch.csv: tiles of a matrix times a vector in the L1 of a cluster, models.md section 2.
 *
 * A row is an order of the two loops, a tile and whether the inputs have two buffers. The machine is the built-in
 * `snitch-note` with the row's limit for its memory, so that a row that does not fit it has no plan and fails. */
#include "goldens.h"

#include <string.h>

enum { DMA, CORES }; /* engines of the machine */
enum { L3, L1 };     /* and its memories       */

/* Without the limits that the built-in machine puts on tiles and buffers: rows may have any. */
static const char machine_text[] =
    "machine: golden\nunit: byte\ntiming: async\nreuse: resident\n"
    "memories:\n"
    "  - {name: l3, size: unlimited}\n"
    "  - {name: l1, size: %" PRId64 ", align: 8, placement: bump, keeps: [output], whole: true}\n"
    "engines:\n"
    "  - {name: dma, between: [l3, l1], joins: inputs, prefetch: all, cost: {setup: 100, beat: 64}}\n"
    "  - {name: cores, computes: multiply-add, on: l1, writes: end, cost: {cores: 8, start: 50}}\n";

typedef struct tiling {
    int64_t n_extent, k_extent, limit, n, k;
    bool k_outside; /* KN: every step of k comes back to all of the result, which is kept */
    bool dual;
} tiling;

/* False when the row is none of the format. */
static bool read_tiling(const csv *c, int row, tiling *out)
{
    const char *order = csv_text(c, row, "order");
    *out =
        (tiling){csv_int(c, row, "N"), csv_int(c, row, "K"),     csv_int(c, row, "limit"),    csv_int(c, row, "n"),
                 csv_int(c, row, "k"), strcmp(order, "KN") == 0, csv_int(c, row, "dual") != 0};
    return out->n_extent >= 1 && out->k_extent >= 1 && out->limit >= 1 && out->n >= 1 && out->n <= out->n_extent &&
           out->k >= 1 && out->k <= out->k_extent && (out->k_outside || strcmp(order, "NK") == 0);
}

static void print_mapping(const tiling *t, char *out, size_t room)
{
    snprintf(out, room,
             "mapping:\n  matmul_transpose_b:\n    levels:\n"
             "      - {at: l1, sizes: {n: %" PRId64 ", k: %" PRId64
             "}, order: [%s], buffers: {ifm: %d, w: %d, ofm: 1}, "
             "keep: {ofm: %s}}\n",
             t->n, t->k, t->k_outside ? "k, m, n" : "m, n, k", t->dual ? 2 : 1, t->dual ? 2 : 1,
             t->k_outside ? "all" : "tile");
}

/* NULL, with the reason printed, when there is none. */
static const tw_plan *eval_tiling(tw_context *ctx, const tiling *t)
{
    char workload[128], machine[sizeof machine_text + 32], mapping[512];
    const tw_model *model;
    const tw_machine *cluster;
    const tw_mapping *map;
    const tw_plan *plan = NULL;
    snprintf(workload, sizeof workload, "matmul_transpose_b:1x%" PRId64 "x%" PRId64 ":f64", t->n_extent,
             t->k_extent);
    snprintf(machine, sizeof machine, machine_text, t->limit);
    print_mapping(t, mapping, sizeof mapping);
    bool good = tw_model_open(ctx, workload, &model) == TW_OK &&
                tw_machine_parse(ctx, "machine", machine, &cluster) == TW_OK &&
                tw_mapping_parse(ctx, model, cluster, "mapping", mapping, &map) == TW_OK &&
                tw_plan_eval(ctx, model, cluster, map, &plan) == TW_OK;
    for (int i = 0; i < tw_context_n_messages(ctx); i++) printf("  %s\n", tw_context_message(ctx, i));
    return good ? plan : NULL;
}

static void check_plan(tally *t, const char *file, const char *id, const csv *c, int row, const tw_plan *plan)
{
    const tw_engine_use *dma = tw_plan_engine_use(plan, 0, DMA);
    const struct {
        const char *key;
        int64_t got;
    } value[] = {
        {"l1_bytes", tw_plan_memory_use(plan, 0, L1)->static_units},
        {"dma_transfers", dma->loads + dma->stores},
        {"dma_bytes", dma->load_units + dma->store_units},
        {"cycles", tw_plan_summary(plan)->cycles},
    };
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        if (csv_text(c, row, value[i].key))
            check_value(t, file, id, value[i].key, value[i].got, csv_int(c, row, value[i].key));
}

static void run_row(tally *t, const char *file, const csv *c, int row)
{
    char id[160];
    tiling tile;
    bool sound = read_tiling(c, row, &tile);
    snprintf(id, sizeof id, "row %d: %s,%" PRId64 ",%" PRId64 ",%d of %" PRId64 "x%" PRId64, row + 1,
             csv_text(c, row, "order"), tile.n, tile.k, tile.dual, tile.n_extent, tile.k_extent);
    tw_context *ctx = sound ? tw_context_new() : NULL;
    const tw_plan *plan = ctx ? eval_tiling(ctx, &tile) : NULL;
    if (plan)
        check_plan(t, file, id, c, row, plan);
    else
        fail_case(t, file, id, sound ? "cannot be evaluated" : "is no tile of this shape");
    tw_context_free(ctx);
}

void run_snitch(tally *t, const char *path, const char *file)
{
    static const char *const needed[] = {"N", "K", "limit", "order", "n", "k", "dual"};
    csv c;
    bool good = csv_read(path, &c);
    for (size_t i = 0; good && i < sizeof needed / sizeof *needed; i++)
        good = c.n_rows == 0 || csv_text(&c, 0, needed[i]);
    if (!good) fail_case(t, file, "", "not a table with the columns of snitch.csv");
    for (int row = 0; good && row < c.n_rows; row++) run_row(t, file, &c, row);
    csv_release(&c);
}
