/* bench/bench_timeloop.c - mappings by Timeloop's rules: how many are counted per second on one core, one by one, against the general
 * counter, which is itself a closed form; and how many of them a proof looks at.
 *
 * A product of matrices on three levels with 16 x 16 positions: every frame, all perfect factors, all orders that differ. */
#include "bench.h"
#include "rivals/timeloop/bound.h"
#include "rivals/timeloop/order.h"

#include <math.h>
#include <string.h>

static const char machine[] =
    "architecture:\n  version: 0.3\n  subtree:\n  - name: top\n    local:\n"
    "    - {name: main, class: DRAM, attributes: {width: 64, datawidth: 8, read_bandwidth: 8, write_bandwidth: "
    "8}}\n"
    "    - {name: buffer, class: SRAM, attributes: {depth: 8192, width: 64, datawidth: 8, read_bandwidth: 32, "
    "write_bandwidth: 32}}\n"
    "    - {name: 'file[0..255]', class: regfile, attributes: {depth: 64, width: 8, datawidth: 8, meshX: 16}}\n"
    "    - {name: 'mac[0..255]', class: mac, attributes: {meshX: 16}}\n"
    "ERT:\n  version: 0.3\n  tables:\n"
    "  - {name: top.main, actions: [{name: read, energy: 512}, {name: write, energy: 512}]}\n"
    "  - {name: top.buffer, actions: [{name: read, energy: 16}, {name: write, energy: 20}]}\n"
    "  - {name: top.file, actions: [{name: read, energy: 0.4}, {name: write, energy: 0.5}]}\n"
    "  - {name: top.mac, actions: [{name: compute, energy: 0.2}]}\n"
    "mapspace_constraints:\n  targets:\n"
    "  - {target: buffer, type: bypass, keep: [W, I, O]}\n  - {target: file, type: bypass, keep: [W, I, O]}\n"
    "problem:\n  shape:\n    name: product\n    dimensions: [M, K, N]\n    data_spaces:\n"
    "    - {name: W, projection: [[[K]], [[N]]]}\n    - {name: I, projection: [[[M]], [[K]]]}\n"
    "    - {name: O, projection: [[[M]], [[N]]], read_write: true}\n"
    "  instance: {M: 128, K: 512, N: 128}\n";

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct walk {
    const tw_tl_price *price;
    tw_tl_lattice lattice;
    int64_t counted;
    double best;
} walk;

/* All orders of one choice of factors, none of them cut. */
static void count_orders(walk *w, const double (*factor)[TW_RIVAL_DIMS])
{
    double inside[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
    for (int m = 2; m >= 0; m--)
        for (int d = 0; d < 3; d++) inside[m][d] = (m < 2 ? inside[m + 1][d] : 1) * factor[m][d];
    tw_tl_order_search s = {.price = w->price,
                            .measure = TW_EDP,
                            .factor = factor,
                            .inside = (const double(*)[TW_RIVAL_DIMS])inside,
                            .cycles = w->price->cycles,
                            .best = {INFINITY, INFINITY},
                            .every = true};
    tw_tl_order_best(&s);
    w->counted += s.counted;
    if (s.found) w->best = fmin(w->best, tw_tl_cost_value(TW_EDP, s.best));
}

static void count_factors(walk *w)
{
    const tw_tl_lattice *l = &w->lattice;
    int64_t in[TW_RIVAL_DIMS], out[TW_RIVAL_DIMS];
    for (int i = 0; i < l->size; i++) {
        tw_tl_lattice_at(l, i, in);
        if (!tw_tl_price_fits(w->price, 2, in)) continue;
        for (int k = i; k < l->size; k++) {
            double factor[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
            bool divides = true;
            tw_tl_lattice_at(l, k, out);
            for (int d = 0; d < 3; d++) {
                divides &= out[d] % in[d] == 0;
                factor[2][d] = (double)in[d];
                factor[1][d] = (double)out[d] / (double)in[d];
                factor[0][d] = (double)(w->price->base[d] / out[d]);
            }
            if (divides && tw_tl_price_fits(w->price, 1, out))
                count_orders(w, (const double(*)[TW_RIVAL_DIMS])factor);
        }
    }
}

int main(void)
{
    tw_context *ctx = tw_context_new();
    tw_rival_text file = {"bench", machine};
    const tw_rival *rival;
    const tw_rival_found *found;
    tw_tl_space space;
    tw_tl_frame *frame;
    int n;
    bool cut;
    static tw_tl_price price;
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    static walk w = {.price = &price, .best = INFINITY};
    if (!ctx || tw_rival_parse(ctx, &file, 1, &rival) != TW_OK) return 1;
    tw_tl_space_init(&space, rival, 0);
    if (tw_tl_frames(&space, arena, scratch, &frame, &n, &cut) != TW_OK) return 1;
    double start = cpu_seconds();
    for (int f = 0; f < n; f++)
        if (tw_tl_price_init(&price, &space, &frame[f]) && tw_tl_lattice_init(&w.lattice, 3, price.base))
            count_factors(&w);
    double all = cpu_seconds() - start;
    how.measure = TW_EDP;
    start = cpu_seconds();
    if (tw_rival_search(ctx, rival, 0, &how, &found) != TW_OK) return 1;
    double proof = cpu_seconds() - start;
    printf("%d frames, %" PRId64 " mappings counted in %.2f CPU s: %.2f million per second\n", n, w.counted, all,
           (double)w.counted / all / 1e6);
    printf("best %.6e; proven %.6e after %" PRId64 " mappings in %.3f CPU s\n", w.best, found->value,
           found->counted, proof);
    tw_arena_free(arena);
    tw_arena_free(scratch);
    tw_context_free(ctx);
    return 0;
}
