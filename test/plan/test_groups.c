/* test/plan/test_groups.c - random platforms, workloads and groups: whatever has a plan is right.
 *
 * What is drawn: one to three cores with and without a shared SRAM, accumulators of their own and register files per column, ports,
 * movers of several kinds of cost, arrays and vector units; chains of one to three operators that run as a group, side by side or one
 * group after the other; cuts, orders, holds and pieces of reductions. Each plan is judged by the verifier, which executes it. */
#include "least_check.h"
#include "losses_check.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 6000, MAX_CORES = 3 };

typedef struct draw {
    uint64_t random;
    char machine[ROOM], workload[ROOM], mapping[ROOM];
    int n_cores;
    bool sram, lanes[MAX_CORES], acc[MAX_CORES];
    int columns[MAX_CORES];
} draw;

static int64_t pick(draw *d, int64_t lo, int64_t hi) { return tw_test_pick(&d->random, lo, hi); }
static bool toss(draw *d, int64_t n) { return pick(d, 1, n) == 1; }

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

/* ---- machines ---- */

static void add_cost(draw *d)
{
    switch (pick(d, 0, 3)) {
    case 0: add(d->machine, "cost: {constant: %d}", (int)pick(d, 0, 20)); break;
    case 1: add(d->machine, "cost: {latency: %d, per_cycle: %d}", (int)pick(d, 0, 20), (int)pick(d, 1, 32)); break;
    case 2: add(d->machine, "cost: {step: %d, per_step: %d}", (int)pick(d, 1, 64), (int)pick(d, 1, 9)); break;
    default:
        add(d->machine, "cost: {setup: %d.5, beat: %d, row_least: %d, beats: %s}", (int)pick(d, 0, 9),
            (int)pick(d, 1, 32), (int)pick(d, 0, 3), toss(d, 2) ? "rows" : "packed");
    }
}

static void add_mover(draw *d, const char *name, const char *ends, const char *more)
{
    add(d->machine, "      - {name: %s, between: [%s], %s%s", name, ends, more, *more ? ", " : "");
    if (toss(d, 4)) add(d->machine, "count: 2, ");
    add_cost(d);
    add(d->machine, "}\n");
}

static void add_core(draw *d, int c)
{
    const char *outer = d->sram ? "sram" : "dram";
    char ends[40];
    d->lanes[c] = toss(d, 3);
    d->acc[c] = d->lanes[c] || toss(d, 3);
    d->columns[c] = (int)pick(d, 1, 4);
    add(d->machine, "  - name: c%d\n    memories:\n", c);
    add(d->machine, "      - {name: l1, size: 1 MiB, align: %d, energy: 1 pJ%s}\n", (int)pick(d, 1, 16), "");
    if (d->lanes[c])
        add(d->machine, "      - {name: rf, size: 64 KiB, holds: inputs, per: columns, energy: 0.1 pJ}\n");
    if (d->acc[c])
        add(d->machine, "      - {name: acc, size: 64 KiB, holds: output%s}\n",
            d->lanes[c] && toss(d, 2) ? ", per: columns" : "");
    add(d->machine, "    engines:\n");
    snprintf(ends, sizeof ends, "%s, l1", outer);
    if (toss(d, 2)) {
        add_mover(d, "load", ends, "carries: in");
        add_mover(d, "store", ends, "carries: out");
    } else {
        add_mover(d, "dma", ends, toss(d, 2) ? "prefetch: all" : "");
    }
    if (d->lanes[c]) add_mover(d, "feed", "l1, rf", toss(d, 2) ? "carries: in, multicast: true" : "carries: in");
    if (d->acc[c]) add_mover(d, "drain", "l1, acc", toss(d, 2) ? "carries: out, sums: true" : "carries: out");
    add(d->machine,
        "      - {name: array, computes: [multiply-add, add, max, map], memory: %s, energy: 2 pJ%s, cost: {array: "
        "{rows: %d, "
        "columns: %d}, latency: %d}}\n",
        d->acc[c] ? "acc" : "l1", toss(d, 4) ? ", writes: end" : "", (int)pick(d, 1, 4), d->columns[c],
        (int)pick(d, 0, 9));
    if (!d->lanes[c])
        add(d->machine,
            "      - {name: vector, computes: [multiply-add, add, max, map], memory: l1, memories: [%sl1], cost: "
            "{latency: 3, "
            "per_cycle: %d}}\n",
            d->sram ? "sram, " : "", (int)pick(d, 1, 8));
}

static void add_port(draw *d, int number, const char *memory)
{
    add(d->machine, "  - {name: p%d, memory: %s, ways: %d, per_cycle: %d, word: %d, read: 1 pJ}\n", number, memory,
        (int)pick(d, 1, 2), (int)pick(d, 1, 16), (int)pick(d, 1, 8));
}

/* One port or two, of memories that all cores share or, behind lanes, of registers. */
static void draw_ports(draw *d)
{
    bool both = toss(d, 3);
    if (!both && !toss(d, 2)) return;
    add(d->machine, "ports:\n");
    add_port(d, 0, d->sram && (both || toss(d, 2)) ? "sram" : "dram");
    if (both) add_port(d, 1, d->sram ? "dram" : d->lanes[0] && toss(d, 2) ? "c0.rf" : "c0.l1");
}

static void draw_machine(draw *d)
{
    d->n_cores = (int)pick(d, 1, MAX_CORES);
    d->sram = toss(d, 3);
    add(d->machine,
        "machine: drawn\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited, energy: 9 pJ}\n");
    if (d->sram) add(d->machine, "  - {name: sram, size: 2 MiB, energy: 3 pJ}\n");
    if (d->sram) {
        add(d->machine, "engines:\n");
        add_mover(d, "main", "dram, sram", "");
    }
    add(d->machine, "cores:\n");
    for (int c = 0; c < d->n_cores; c++) add_core(d, c);
    draw_ports(d);
}

/* ---- workloads and their groups ---- */

/* Cuts of some loops; bit l of what is returned: loop l is cut. */
static unsigned add_sizes(draw *d, const char *const *loop, const int64_t *extent, int n)
{
    const char *gap = "";
    unsigned cut = 0;
    add(d->mapping, "sizes: {");
    for (int l = 0; l < n; l++) {
        if (toss(d, 3)) continue;
        add(d->mapping, "%s%s: %d", gap, loop[l], (int)pick(d, 1, extent[l]));
        gap = ", ";
        cut |= 1u << l;
    }
    add(d->mapping, "}");
    return cut;
}

typedef struct chain {
    int n;
    const char *op[3];
    const char *tensor[6]; /* that may be kept or have several buffers */
    int n_tensors;
    const char *loop[4]; /* of the driver: parallel ones, then one that reduces */
    int64_t extent[4];
    int n_loops;
    const char *reduce; /* "{op: {loop: n}}", or NULL */
    char reduce_text[60], name[10][24];
} chain;

static const char *name_of(chain *c, int i, const char *prefix, const char *rest)
{
    snprintf(c->name[i], sizeof c->name[i], "%s%s", prefix, rest);
    return c->name[i];
}

static void draw_products(draw *d, chain *c, const char *p)
{
    int64_t m = pick(d, 1, 9), n = pick(d, 1, 9), k = pick(d, 1, 9);
    bool map = toss(d, 2);
    *c = (chain){.n = 1 + map, .n_loops = 3 - map, .loop = {"m", "n", "k"}, .extent = {m, n, k}};
    c->op[0] = name_of(c, 0, p, "mm");
    c->tensor[c->n_tensors++] = name_of(c, 1, p, "mm.ifm");
    c->tensor[c->n_tensors++] = name_of(c, 2, p, "mm.w");
    c->tensor[c->n_tensors++] = name_of(c, 3, p, "sums");
    add(d->workload, "  - {name: %smm, op: matmul, shape: [%d, %d, %d], dtype: f32, output: %ssums}\n", p, (int)m,
        (int)n, (int)k, p);
    if (!map) return;
    c->op[1] = name_of(c, 4, p, "act");
    c->tensor[c->n_tensors++] = name_of(c, 5, p, "act.y");
    add(d->workload,
        "  - {name: %sact, compute: map, loops: {m: %d, n: %d}, value: \"max(0, x) + 1\", reads: {x: {tensor: "
        "%ssums, at: [m, "
        "n]}}, writes: {y: {at: [m, n]}}}\n",
        p, (int)m, (int)n, p);
    if (!toss(d, 2)) return;
    snprintf(c->reduce_text, sizeof c->reduce_text, "{%smm: {k: %d}}", p, (int)pick(d, 1, k));
    c->reduce = c->reduce_text;
}

static void draw_convolutions(draw *d, chain *c, const char *p)
{
    int64_t ch = pick(d, 1, 3), h = pick(d, 3, 9), w = pick(d, 3, 9), mid = pick(d, 1, 3), out = pick(d, 1, 3);
    int64_t k1 = pick(d, 1, 3), k2 = pick(d, 1, 3), stride = pick(d, 1, 2);
    int64_t h1 = h + 2 - k1 + 1, w1 = w + 2 - k1 + 1;
    *c = (chain){.n = 2, .n_loops = 4, .loop = {"oc", "oy", "ox", "ic"}};
    c->op[0] = name_of(c, 0, p, "a");
    c->op[1] = name_of(c, 1, p, "b");
    c->tensor[c->n_tensors++] = name_of(c, 2, p, "a.ifm");
    c->tensor[c->n_tensors++] = name_of(c, 3, p, "a.w");
    c->tensor[c->n_tensors++] = name_of(c, 4, p, "mid");
    c->tensor[c->n_tensors++] = name_of(c, 5, p, "b.w");
    c->tensor[c->n_tensors++] = name_of(c, 6, p, "b.ofm");
    c->extent[0] = out;
    c->extent[1] = (h1 + 2 - k2) / stride + 1;
    c->extent[2] = (w1 + 2 - k2) / stride + 1;
    c->extent[3] = mid;
    add(d->workload,
        "  - {name: %sa, op: conv, shape: [%d, %d, %d], out: %d, kernel: %d, pad: 1, dtype: f32, output: %smid}\n",
        p, (int)ch, (int)h, (int)w, (int)mid, (int)k1, p);
    if (toss(d, 3)) { /* a pool drives: its window may lie in padding alone */
        c->n_tensors = 3;
        c->tensor[c->n_tensors++] = name_of(c, 7, p, "b.ofm");
        c->loop[0] = "c";
        c->extent[0] = mid;
        c->n_loops = 3;
        add(d->workload,
            "  - {name: %sb, op: pool, shape: [%d, %d, %d], kernel: %d, pad: 1, stride: %d, dtype: f32, inputs: "
            "{ifm: "
            "%smid}}\n",
            p, (int)mid, (int)h1, (int)w1, (int)k2, (int)stride, p);
        return;
    }
    add(d->workload,
        "  - {name: %sb, op: conv, shape: [%d, %d, %d], out: %d, kernel: %d, pad: 1, stride: %d, dtype: f32, "
        "inputs: {ifm: "
        "%smid}}\n",
        p, (int)mid, (int)h1, (int)w1, (int)out, (int)k2, (int)stride, p);
    if (!toss(d, 3)) return;
    snprintf(c->reduce_text, sizeof c->reduce_text, "{%sa: {ic: %d}}", p, (int)pick(d, 1, ch));
    c->reduce = c->reduce_text;
}

static void add_engines(draw *d, const chain *c, int first, int n)
{
    const char *gap = "";
    add(d->mapping, ", engines: {");
    for (int i = first; i < first + n; i++, gap = ", ")
        add(d->mapping, "%s%s: %s", gap, c->op[i], toss(d, 2) ? "array" : "vector");
    add(d->mapping, "}");
}

static void add_buffers(draw *d, const chain *c, unsigned cut)
{
    const char *gap = "";
    add(d->mapping, ", buffers: {");
    for (int t = 0; t < c->n_tensors; t++) {
        if (toss(d, 2)) continue;
        add(d->mapping, "%s%s: %d", gap, c->tensor[t], (int)pick(d, 1, 3));
        gap = ", ";
    }
    gap = "";
    add(d->mapping, "}, keep: {");
    for (int t = 0; t < c->n_tensors; t++) {
        int l = (int)pick(d, 0, c->n_loops - 1);
        if (!toss(d, 3) || !(cut >> l & 1)) continue;
        add(d->mapping, "%s%s: %s", gap, c->tensor[t], toss(d, 2) ? "all" : c->loop[l]);
        gap = ", ";
    }
    add(d->mapping, "}");
}

static void add_group(draw *d, const chain *c, int first, int n, int core)
{
    bool whole = first + n == c->n;
    unsigned cut = 0;
    bool split = whole && n == c->n && d->n_cores > 1 && c->extent[1] > d->n_cores && toss(d, 4);
    for (int i = 0; i < d->n_cores; i++) split &= d->lanes[i] == d->lanes[0]; /* the same short names */
    if (split) {
        add(d->mapping, "  - {split: {loop: %s, cores: [", c->loop[1]);
        for (int i = 0; i < d->n_cores; i++) add(d->mapping, "%sc%d", i ? ", " : "", i);
        add(d->mapping, "]}, ops: [");
    } else {
        add(d->mapping, "  - {core: c%d, ops: [", core);
    }
    for (int i = first; i < first + n; i++) add(d->mapping, "%s%s", i > first ? ", " : "", c->op[i]);
    add(d->mapping, "]");
    if (!d->lanes[core]) add_engines(d, c, first, n);
    add(d->mapping, ", levels: [");
    if (d->sram) {
        add(d->mapping, "{at: sram, ");
        if (whole)
            add_sizes(d, c->loop, c->extent, c->n_loops);
        else
            add(d->mapping, "sizes: {}");
        add(d->mapping, "}, ");
    }
    add(d->mapping, "{at: l1, ");
    if (whole && (!d->sram || toss(d, 2)))
        cut = add_sizes(d, c->loop, c->extent, c->n_loops);
    else
        add(d->mapping, "sizes: {}");
    if (whole && n == c->n) add_buffers(d, c, cut);
    add(d->mapping, "}");
    if (d->lanes[core] && !split && whole && toss(d, 2)) {
        add(d->mapping, ", {at: rf, ");
        cut = add_sizes(d, c->loop, c->extent, c->n_loops);
        if (n == c->n && toss(d, 2)) add(d->mapping, ", keep: {%s: all}", c->tensor[pick(d, 0, 1)]);
        add(d->mapping, "}");
    }
    add(d->mapping, "]");
    if (c->reduce && n == c->n && n > 1) add(d->mapping, ", reduce: %s", c->reduce);
    if (n == 1 && first == 0 && c->loop[0][0] == 'm' && c->n_loops == 3 && toss(d, 3) && (d->lanes[core] && !split))
        add(d->mapping, ", unroll: {%s: {rows: m, columns: %s}}", c->op[0], toss(d, 2) ? "k" : "[n, k]");
    add(d->mapping, "}\n");
}

static void draw_all(draw *d)
{
    int n = (int)pick(d, 1, 2);
    draw_machine(d);
    add(d->workload, "workload: drawn\nops:\n");
    add(d->mapping, "groups:\n");
    for (int i = 0; i < n; i++) {
        chain c;
        const char *prefix = i ? "q" : "p";
        if (toss(d, 2))
            draw_products(d, &c, prefix);
        else
            draw_convolutions(d, &c, prefix);
        bool apart = c.n > 1 && toss(d, 3);
        for (int k = 0; k < c.n && apart; k++) add_group(d, &c, k, 1, (int)pick(d, 0, d->n_cores - 1));
        if (!apart) add_group(d, &c, 0, c.n, (int)pick(d, 0, d->n_cores - 1));
    }
}

static void show(const draw *d, tw_context *ctx)
{
    printf("%s%s%s", d->machine, d->workload, d->mapping);
    for (int i = 0; i < tw_context_n_messages(ctx); i++) printf("%s\n", tw_context_message(ctx, i));
}

/* Whether there is a plan. */
static bool judge(uint64_t seed)
{
    draw d = {.random = seed};
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *verdict = NULL;
    draw_all(&d);
    tw_status read = tw_model_parse(ctx, "workload", d.workload, &model);
    if (read == TW_OK) read = tw_machine_parse(ctx, "machine", d.machine, &machine);
    if (read == TW_OK) read = tw_mapping_parse(ctx, model, machine, "mapping", d.mapping, &mapping);
    if (read != TW_OK) show(&d, ctx);
    CHECK_EQ(read, TW_OK);
    tw_status status = tw_plan_eval(ctx, model, machine, mapping, &plan);
    if (status == TW_OK) {
        status = tw_plan_verify(ctx, plan, 0, NULL, &verdict);
        if (status != TW_OK) {
            show(&d, ctx);
            printf("%s\n", status == TW_WRONG ? verdict->first_fault : tw_status_name(status));
        }
        CHECK_EQ(status, TW_OK);
        CHECK(verdict->checked && verdict->executed && verdict->equal);
        losses_check(plan);
        CHECK(least_holds(plan));
        tw_context_free(ctx);
        return true;
    }
    if (status != TW_INFEASIBLE) show(&d, ctx);
    if (getenv("TW_SHOW")) printf("infeasible: %s\n", tw_context_message(ctx, 0));
    CHECK_EQ(status, TW_INFEASIBLE);
    tw_context_free(ctx);
    return false;
}

TEST(whatever_has_a_plan_is_right)
{
    uint64_t random = tw_test_seed();
    const char *asked = getenv("TW_CASES");
    int n = asked ? atoi(asked) : 400, n_plans = 0;
    for (int i = 0; i < n; i++) n_plans += judge(tw_random_next(&random));
    printf("%d of %d have a plan\n", n_plans, n);
    CHECK(n_plans > n / 2);
}
