/* test/verify/test_running.c - groups whose reductions run along a loop: random softmaxes with tiles of any size, on random machines.
 *
 * The judge derives every command anew and runs them on numbers; what comes out is held against the softmax, computed operator by operator. Here it is
 * seen to that plans are right, and that as many points rescale as there have to. */
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

enum { CASES = 60, TEXT = 4000 };

typedef struct drawn {
    int64_t h, i, j, d, e;                /* heads, rows, keys, two widths    */
    int64_t tile_h, tile_i, tile_j;       /* at most                          */
    bool two, scaled, masked, sums_alone; /* engines; steps that there may be */
} drawn;

static drawn draw(uint64_t *rng)
{
    drawn d = {.h = tw_test_pick(rng, 1, 2),
               .i = tw_test_pick(rng, 1, 9),
               .j = tw_test_pick(rng, 2, 17),
               .d = tw_test_pick(rng, 1, 5),
               .e = tw_test_pick(rng, 1, 5)};
    d.tile_h = tw_test_pick(rng, 1, d.h);
    d.tile_i = tw_test_pick(rng, 1, d.i);
    d.tile_j = tw_test_pick(rng, 1, d.j - 1);
    d.two = tw_test_pick(rng, 0, 1);
    d.scaled = tw_test_pick(rng, 0, 1);
    d.masked = tw_test_pick(rng, 0, 2) == 0;
    d.sums_alone = tw_test_pick(rng, 0, 5) == 0;
    return d;
}

#define N(x) (int)(x)

static void write(const drawn *d, char *text)
{
    const char *s = d->masked ? "b" : "s";
    int n =
        snprintf(text, TEXT,
                 "workload: attention\nops:\n"
                 "  - {name: score, compute: multiply-add, loops: {h: %d, i: %d, j: %d, d: %d}, reduce: [d], "
                 "reads: {q: {tensor: q, dtype: f32, at: [h, i, d]}, k: {tensor: k, dtype: f32, at: [h, j, d]}}, "
                 "writes: {s: {tensor: s, at: [h, i, j]}}}\n",
                 N(d->h), N(d->i), N(d->j), N(d->d));
    if (d->masked)
        n +=
            snprintf(text + n, TEXT - (size_t)n,
                     "  - {name: bias, compute: map, loops: {h: %d, i: %d, j: %d}, value: \"s + a\", reads: {s: "
                     "{tensor: s, at: [h, i, j]}, a: {tensor: a, dtype: f32, at: [i, j]}}, writes: {b: {tensor: b, "
                     "dtype: f32, at: [h, i, j]}}}\n",
                     N(d->h), N(d->i), N(d->j));
    if (!d->sums_alone)
        n +=
            snprintf(text + n, TEXT - (size_t)n,
                     "  - {name: top, compute: max, loops: {h: %d, i: %d, j: %d}, reduce: [j], reads: {s: {tensor: "
                     "%s, at: [h, i, j]}}, writes: {m: {tensor: m, at: [h, i]}}}\n",
                     N(d->h), N(d->i), N(d->j), s);
    n +=
        snprintf(text + n, TEXT - (size_t)n,
                 "  - {name: power, compute: map, loops: {h: %d, i: %d, j: %d}, value: \"%s\", reads: {s: {tensor: "
                 "%s, at: [h, i, j]}%s}, writes: {e: {tensor: e, dtype: f32, at: [h, i, j]}}}\n",
                 N(d->h), N(d->i), N(d->j),
                 d->sums_alone ? "exp(s / 8)"
                 : d->scaled   ? "exp((s - m) * 0.25)"
                               : "exp(s - m)",
                 s, d->sums_alone ? "" : ", m: {tensor: m, at: [h, i]}");
    n +=
        snprintf(text + n, TEXT - (size_t)n,
                 "  - {name: total, compute: add, loops: {h: %d, i: %d, j: %d}, reduce: [j], reads: {e: {tensor: "
                 "e, at: [h, i, j]}}, writes: {z: {tensor: z, at: [h, i]}}}\n"
                 "  - {name: share, compute: map, loops: {h: %d, i: %d, j: %d}, value: \"e / z\", reads: {e: "
                 "{tensor: e, at: [h, i, j]}, z: {tensor: z, at: [h, i]}}, writes: {p: {tensor: p, dtype: f32, at: "
                 "[h, i, j]}}}\n"
                 "  - {name: context, compute: multiply-add, loops: {h: %d, i: %d, e: %d, j: %d}, reduce: [j], "
                 "reads: {p: {tensor: p, at: [h, i, j]}, v: {tensor: v, dtype: f32, at: [h, j, e]}}, writes: {o: "
                 "{tensor: o, at: [h, i, e]}}}\n",
                 N(d->h), N(d->i), N(d->j), N(d->h), N(d->i), N(d->j), N(d->h), N(d->i), N(d->e), N(d->j));
}

static void write_machine(uint64_t *rng, const drawn *d, char *text)
{
    int n = snprintf(
        text, TEXT,
        "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited, energy: 9 "
        "pJ}\n  - {name: l1, size: 64 KiB, align: %d, energy: 1 pJ}\nengines:\n"
        "  - {name: dma, between: [dram, l1], %scost: {latency: %d, per_cycle: %d}%s}\n",
        1 << (int)tw_test_pick(rng, 0, 4), tw_test_pick(rng, 0, 1) ? "prefetch: all, " : "",
        N(tw_test_pick(rng, 0, 9)), N(tw_test_pick(rng, 1, 8)), tw_test_pick(rng, 0, 1) ? ", pipelined: true" : "");
    n += snprintf(text + n, TEXT - (size_t)n,
                  "  - {name: array, computes: [multiply-add%s], memory: l1, energy: 2 pJ, cost: {array: [4, 3], "
                  "latency: %d}%s}\n",
                  d->two ? "" : ", add, max, map", N(tw_test_pick(rng, 0, 9)),
                  tw_test_pick(rng, 0, 1) ? ", pipelined: true" : "");
    if (d->two)
        snprintf(text + n, TEXT - (size_t)n,
                 "  - {name: vector, computes: [add, max, map], memory: l1, energy: 3 pJ, cost: {latency: %d, "
                 "per_cycle: 2}, count: %d%s}\n",
                 N(tw_test_pick(rng, 0, 9)), N(tw_test_pick(rng, 1, 2)),
                 tw_test_pick(rng, 0, 1) ? ", pipelined: true" : "");
}

static void write_mapping(uint64_t *rng, const drawn *d, bool runs, char *text)
{
    snprintf(
        text, TEXT,
        "groups:\n  - name: head\n    ops: [score%s%s, power, total, share, context]\n    levels:\n"
        "      - {at: l1, sizes: {h: %d, i: %d, j: %d}, order: [h, i, j], buffers: {k: %d, v: %d, s: %d, e: %d, "
        "o: %d}}\n%s",
        d->masked ? ", bias" : "", d->sums_alone ? "" : ", top", N(d->tile_h), N(d->tile_i),
        N(runs ? d->tile_j : d->j), N(tw_test_pick(rng, 1, 2)), N(tw_test_pick(rng, 1, 2)),
        N(tw_test_pick(rng, 1, 2)), N(tw_test_pick(rng, 1, 2)), N(tw_test_pick(rng, 1, 2)),
        runs ? "    running: j\n" : "");
}

/* The plan of a mapping, which is right. */
static const tw_plan *plan_of(tw_context *ctx, const char *workload, const char *machine, const char *mapping)
{
    const tw_model *model;
    const tw_machine *on;
    const tw_mapping *map;
    const tw_plan *plan = NULL;
    const tw_verdict *verdict = NULL;
    bool good = tw_model_parse(ctx, "workload", workload, &model) == TW_OK &&
                tw_machine_parse(ctx, "machine", machine, &on) == TW_OK &&
                tw_mapping_parse(ctx, model, on, "mapping", mapping, &map) == TW_OK &&
                tw_plan_eval(ctx, model, on, map, &plan) == TW_OK &&
                tw_plan_verify(ctx, plan, 0, NULL, &verdict) == TW_OK;
    if (!good)
        printf("%s%s%s%s\n%s\n", workload, machine, mapping, verdict ? verdict->first_fault : "",
               tw_context_n_messages(ctx) > 0 ? tw_context_message(ctx, 0) : "");
    CHECK(good && verdict->equal);
    return good ? plan : NULL;
}

/* Points that rescale: of the sum one for each row, of the product one for each element, with every tile of keys but the first. */
static int64_t rescaled(const drawn *d)
{
    int64_t n = tw_cdiv(d->j, d->tile_j) - 1;
    return n * d->h * d->i * (d->e + (d->sums_alone ? 0 : 1));
}

TEST(random_softmaxes_that_run_are_right)
{
    uint64_t rng = tw_test_seed();
    for (int c = 0; c < tw_test_rounds(CASES); c++) {
        char workload[TEXT], machine[TEXT], mapping[TEXT];
        drawn d = draw(&rng);
        tw_context *ctx = tw_context_new();
        write(&d, workload);
        write_machine(&rng, &d, machine);
        write_mapping(&rng, &d, true, mapping);
        const tw_plan *runs = plan_of(ctx, workload, machine, mapping);
        write_mapping(&rng, &d, false, mapping);
        const tw_plan *whole = plan_of(ctx, workload, machine, mapping);
        if (!runs || !whole) break;
        tw_group_facts f = tw_plan_group_facts(runs, 0), g = tw_plan_group_facts(whole, 0);
        CHECK_EQ(f.rescaled, rescaled(&d));
        CHECK_EQ(g.rescaled, 0);
        CHECK_EQ(f.points - f.rescaled, g.points);
        tw_context_free(ctx);
    }
}
