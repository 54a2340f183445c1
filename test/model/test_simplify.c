/* test/model/test_simplify.c - operators with fewer loops compute the same numbers, and are never slower.
 *
 * Random nests (windows of every kind, products, element-wise work with axes in any order) are evaluated point by point
 * as the description says, before and after, on the same elements in the same order. Small ones are then searched for in
 * both forms on machines of all timings: the optimum of fewer loops is not worse but for the first load and the last store, which
 * two loops that are both cut unevenly can make a little shorter (tiles of 4, 2, 2, 1 points). Case i of a seed is
 * always the same:
 *
 *     TW_SEED=n TW_CASE=i     only this one */
#include "machine/merge.h"
#include "model/simplify.h"
#include "plan/plan.h"
#include "tw_read.h"
#include "tw_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t pick(uint64_t *rng, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(tw_random_next(rng) % (uint64_t)(hi - lo + 1));
}

/* ---- random nests ---- */

static int add_loop(tw_op *op, const char *name, int64_t extent, bool reduces)
{
    op->loop[op->n_loops] = (tw_loop){name, extent, reduces};
    return op->n_loops++;
}

static tw_operand *add_operand(tw_op *op, const char *name)
{
    op->operand[op->n_operands] = (tw_operand){.name = name, .tensor = op->n_operands};
    return &op->operand[op->n_operands++];
}

static void walk(const tw_op *op, tw_operand *operand, int loop)
{
    operand->axis[operand->n_axes++] = (tw_axis){op->loop[loop].extent, 0, 1, false, 1, {{loop, 1}}};
}

static void add_output(tw_op *op)
{
    tw_operand *out = add_operand(op, "ofm");
    for (int l = 0; l < op->n_loops; l++)
        if (!op->loop[l].reduces) walk(op, out, l);
}

typedef struct sliding { /* along one axis */
    int64_t in, kernel, stride, dilation, pad, out;
    bool transposed, floors;
} sliding;

static sliding random_sliding(uint64_t *rng)
{
    sliding s;
    do {
        s = (sliding){
            pick(rng, 1, 9), pick(rng, 1, 4), pick(rng, 1, 4), pick(rng, 1, 3), pick(rng, 0, 4), 0, false, false};
        if (pick(rng, 0, 2) == 0) s.stride = s.kernel, s.dilation = 1, s.pad = 0;
        if (pick(rng, 0, 5) == 0)
            s = (sliding){pick(rng, 2, 4) * 8, 16, 8, 1, pick(rng, 0, 1) * 8, 0, false, false};
        s.transposed = pick(rng, 0, 5) == 0;
        s.floors = s.transposed && s.stride > 1 && pick(rng, 0, 1) == 1;
        int64_t reach = (s.kernel - 1) * s.dilation + 1;
        s.out = s.transposed ? (s.in - 1) * s.stride + reach - 2 * s.pad
                             : tw_fdiv(s.in + 2 * s.pad - reach, s.stride) + 1;
    } while (s.out < 1 || s.out > 12);
    return s;
}

static tw_axis axis_of(const sliding *s, int out, int tap)
{
    if (s->transposed) return (tw_axis){s->in, s->pad, s->stride, s->floors, 2, {{out, 1}, {tap, -s->dilation}}};
    return (tw_axis){s->in, -s->pad, 1, false, 2, {{out, s->stride}, {tap, s->dilation}}};
}

/* A convolution, or a pool when there are no weights. */
static tw_op random_windows(uint64_t *rng, bool weights)
{
    static const tw_compute pools[] = {TW_MAX, TW_MIN, TW_ADD, TW_PRODUCT, TW_AVERAGE};
    tw_op op = {.name = "op", .compute = weights ? TW_MULTIPLY_ADD : pools[pick(rng, 0, 4)]};
    static const char *const on[] = {"oy", "ox"}, *const kn[] = {"ky", "kx"};
    int n = (int)pick(rng, 1, 2), o[2], k[2];
    sliding s[2] = {random_sliding(rng), random_sliding(rng)};
    int b = add_loop(&op, "b", pick(rng, 1, 2), false), c = add_loop(&op, "c", pick(rng, 1, 5), false);
    for (int d = 0; d < n; d++) o[d] = add_loop(&op, on[d], s[d].out, false);
    int ic = weights ? add_loop(&op, "ic", pick(rng, 1, 3), true) : c;
    for (int d = 0; d < n; d++) k[d] = add_loop(&op, kn[d], s[d].kernel, true);
    tw_operand *ifm = add_operand(&op, "ifm");
    walk(&op, ifm, b);
    walk(&op, ifm, ic);
    for (int d = 0; d < n; d++) ifm->axis[ifm->n_axes++] = axis_of(&s[d], o[d], k[d]);
    if (weights) {
        tw_operand *w = add_operand(&op, "w");
        walk(&op, w, c);
        walk(&op, w, ic);
        for (int d = 0; d < n; d++) walk(&op, w, k[d]);
    }
    add_output(&op);
    op.average_counts_padding = op.compute == TW_AVERAGE && pick(rng, 0, 1);
    return op;
}

/* Operands with some of the loops each, mostly in their order, sometimes shifted out of the tensor. */
static tw_op random_product(uint64_t *rng)
{
    static const char *const name[] = {"i", "j", "k", "l", "m"}, *const operand[] = {"ifm", "w"};
    tw_op op = {.name = "op", .compute = pick(rng, 0, 3) ? TW_MULTIPLY_ADD : TW_ADD};
    int n = (int)pick(rng, 2, 5), parallel = (int)pick(rng, 1, n);
    unsigned reached = 0;
    for (int l = 0; l < n; l++) add_loop(&op, name[l], pick(rng, 1, 4), l >= parallel);
    for (int i = 0; i < 2; i++) {
        tw_operand *x = add_operand(&op, operand[i]);
        unsigned has = (unsigned)pick(rng, 1, (1 << n) - 1) | (i == 1 ? ~reached & ((1U << n) - 1) : 0);
        int turn = pick(rng, 0, 3) ? 0 : (int)pick(rng, 0, n - 1);
        for (int l = 0; l < n; l++)
            if (has >> (l + turn) % n & 1) walk(&op, x, (l + turn) % n);
        if (pick(rng, 0, 3) == 0) x->axis[0].offset = pick(rng, -1, 1);
        reached |= has;
    }
    add_output(&op);
    return op;
}

static tw_op random_op(uint64_t *rng)
{
    int64_t kind = pick(rng, 0, 4);
    return kind < 2 ? random_windows(rng, true) : kind < 3 ? random_windows(rng, false) : random_product(rng);
}

/* ---- evaluation by the description ---- */

static int64_t elems_of(const tw_operand *operand)
{
    int64_t n = 1;
    for (int a = 0; a < operand->n_axes; a++) n *= operand->axis[a].extent;
    return n;
}

/* The element of the operand at a point, -1: padding. */
static int64_t place_of(const tw_operand *operand, const int64_t *index)
{
    int64_t place = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        int64_t at = axis->offset;
        for (int t = 0; t < axis->n_terms; t++) at += axis->term[t].coef * index[axis->term[t].loop];
        if (at < 0 || (at % axis->divisor != 0 && !axis->floors) || at / axis->divisor >= axis->extent) return -1;
        place = place * axis->extent + at / axis->divisor;
    }
    return place;
}

static double neutral(tw_compute compute)
{
    return compute == TW_MAX ? -INFINITY : compute == TW_MIN ? INFINITY : compute == TW_PRODUCT ? 1 : 0;
}

static void add_point(const tw_op *op, const double *const *x, const int64_t *index, double *out, double *count)
{
    int64_t to = place_of(&op->operand[tw_op_output(op)], index), at[TW_MAX_OPERANDS];
    bool all = true;
    double sum = 0, product = 1;
    for (int i = 0; i < tw_op_output(op); i++) {
        at[i] = place_of(&op->operand[i], index);
        all &= at[i] >= 0;
        sum += at[i] >= 0 ? x[i][at[i]] : 0;
        product *= at[i] >= 0 ? x[i][at[i]] : 0;
    }
    count[to] += all || op->average_counts_padding;
    if (op->compute == TW_MULTIPLY_ADD) out[to] += all ? product : 0;
    if (op->compute == TW_ADD || op->compute == TW_AVERAGE) out[to] += sum;
    if (op->compute == TW_PRODUCT && all) out[to] *= sum;
    if (op->compute == TW_MAX && all) out[to] = fmax(out[to], sum);
    if (op->compute == TW_MIN && all) out[to] = fmin(out[to], sum);
}

static double *evaluate(const tw_op *op, const double *const *x)
{
    int64_t n = elems_of(&op->operand[tw_op_output(op)]), index[TW_MAX_LOOPS] = {0};
    double *out = calloc((size_t)n, sizeof *out), *count = calloc((size_t)n, sizeof *count);
    if (!out || !count) abort();
    for (int64_t i = 0; i < n; i++) out[i] = neutral(op->compute);
    for (int l = 0; l >= 0;) {
        add_point(op, x, index, out, count);
        for (l = op->n_loops - 1; l >= 0 && ++index[l] == op->loop[l].extent; l--) index[l] = 0;
    }
    for (int64_t i = 0; i < n && op->compute == TW_AVERAGE; i++) out[i] = count[i] > 0 ? out[i] / count[i] : 0;
    free(count);
    return out;
}

/* ---- the law about numbers ---- */

static bool is_sound(const tw_op *op)
{
    tw_diag diag = {0};
    tw_op_locs locs = tw_op_locs_of((tw_loc){0});
    bool sound = tw_op_check(op, &locs, &diag) == TW_OK;
    if (!sound) fprintf(stderr, "%s\n", diag.last);
    tw_diag_release(&diag);
    return sound;
}

static bool compute_the_same(const tw_op *op, const tw_op *simple, uint64_t *rng)
{
    double *x[TW_MAX_OPERANDS] = {0};
    bool same = true;
    for (int i = 0; i < op->n_operands; i++) same &= elems_of(&op->operand[i]) == elems_of(&simple->operand[i]);
    for (int i = 0; i < tw_op_output(op); i++) {
        x[i] = calloc((size_t)elems_of(&op->operand[i]), sizeof **x);
        if (!x[i]) abort();
        for (int64_t e = 0; e < elems_of(&op->operand[i]); e++) x[i][e] = (double)pick(rng, -3, 3);
    }
    double *a = evaluate(op, (const double *const *)x), *b = evaluate(simple, (const double *const *)x);
    for (int64_t e = 0; e < elems_of(&op->operand[tw_op_output(op)]) && same; e++)
        same = a[e] == b[e] || fabs(a[e] - b[e]) < 1e-12;
    for (int i = 0; i < op->n_operands; i++) free(x[i]);
    free(a);
    free(b);
    return same;
}

static int64_t number_from(const char *name, int64_t fallback)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : fallback;
}

static bool at_random(const void *user, const tw_op *apart, int outer, int inner, const tw_op *merged)
{
    uint64_t rng = *(const uint64_t *)user + (uint64_t)(100 * outer + inner + apart->n_loops + merged->n_operands);
    return pick(&rng, 0, 1) == 1;
}

static void check_numbers(uint64_t seed, int64_t i)
{
    uint64_t rng = seed * 1000003 + (uint64_t)i;
    tw_op op = random_op(&rng), simple = op;
    if (!is_sound(&op)) return; /* such as a window that never meets its input */
    tw_arena *arena = tw_arena_new();
    const tw_merge_judge judge = {pick(&rng, 0, 1) ? at_random : NULL, &rng};
    CHECK(tw_op_simplify(&simple, &judge, arena));
    bool good = is_sound(&simple) && compute_the_same(&op, &simple, &rng);
    if (!good) fprintf(stderr, "TW_SEED=%" PRIu64 " TW_CASE=%" PRId64 " differs\n", seed, i);
    CHECK(good);
    tw_arena_free(arena);
}

TEST(fewer_loops_compute_the_same_numbers)
{
    uint64_t seed = (uint64_t)number_from("TW_SEED", 14);
    int64_t only = number_from("TW_CASE", -1);
    printf("seed %" PRIu64 "\n", seed);
    for (int64_t i = tw_max(only, 0); i < (only >= 0 ? only + 1 : 3000); i++) check_numbers(seed, i);
}

/* ---- the law about time ---- */

static const char *const machines[] = {
    "machine: m\nunit: element\ntiming: lockstep\nmemories: [{name: dram, size: unlimited}, {name: l1, size: 60}]\n"
    "engines: [{name: mv, between: [dram, l1], channels: 1, cost: {latency: 1, per_cycle: 4}}, {name: mac, "
    "computes: "
    "[multiply-add, add, max, min, product, average, map], on: l1, accumulate: fused, cost: {latency: 1, "
    "per_cycle: 4}}]\n",
    "machine: m\nunit: element\ntiming: async\nmemories: [{name: dram, size: unlimited}, {name: l1, size: 60}]\n"
    "engines: [{name: mv, between: [dram, l1], cost: {latency: 3, per_cycle: 4}}, {name: mac, computes: "
    "[multiply-add, add, max, min, product, average, map], on: l1, cost: {latency: 1, per_cycle: 4}}]\n",
    "machine: m\nunit: element\ntiming: async\nmemories: [{name: dram, size: unlimited}, {name: l1, size: 80}]\n"
    "engines: [{name: mv, between: [dram, l1], cost: {latency: 3, per_cycle: 4}}, {name: mac, computes: "
    "[multiply-add, add, max, min, product, average, map], on: l1, unrolls: parallel, cost: {array: [3, 2]}}]\n",
};

/* A model of this operator alone. */
static tw_model model_of(tw_op *op, tw_tensor *tensor)
{
    for (int i = 0; i < op->n_operands; i++) {
        tensor[i] =
            (tw_tensor){.name = op->operand[i].name, .dtype = TW_DTYPE_F32, .n_axes = op->operand[i].n_axes};
        for (int a = 0; a < tensor[i].n_axes; a++) tensor[i].extent[a] = op->operand[i].axis[a].extent;
    }
    op->accumulator = TW_DTYPE_F32;
    return (tw_model){"layer", op->n_operands, tensor, 1, op};
}

/* Cycles of the optimum; INT64_MAX: there is none; -1: not proven. */
static int64_t optimum(tw_op op, const char *text)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    const tw_plan *plan = NULL;
    tw_tensor tensor[TW_MAX_OPERANDS];
    tw_model model = model_of(&op, tensor);
    tw_search_options o = {.space = TW_SPACE_WINDOWS, .n_threads = 1, .max_buffers = 3, .budget = 300000};
    CHECK_EQ(tw_machine_parse(ctx, "machine", text, &machine), TW_OK);
    tw_status status = tw_plan_search(ctx, &model, machine, &o, &plan);
    int64_t cycles = INT64_MAX;
    if (status == TW_OK) cycles = tw_plan_search_result(plan, 0)->proven ? plan->sum.cycles : -1;
    tw_context_free(ctx);
    return cycles;
}

static void show(tw_op *op)
{
    tw_tensor tensor[TW_MAX_OPERANDS];
    tw_model model = model_of(op, tensor);
    tw_text text = {0};
    tw_model_print(&model, &text);
    fputs(text.bytes ? text.bytes : "", stderr);
    tw_text_release(&text);
}

static int check_time(uint64_t seed, int64_t i)
{
    uint64_t rng = seed * 1000003 + (uint64_t)i;
    tw_op op = random_op(&rng), simple = op;
    int m = (int)pick(&rng, 0, 2);
    if (!is_sound(&op) || tw_op_points(&op) > 600) return 0;
    tw_arena *arena = tw_arena_new();
    tw_bench bench = tw_bench_new();
    tw_machine machine;
    CHECK_EQ(tw_read_machine(&bench, "machine", machines[m], &machine), TW_OK);
    tw_merge_judge judge = tw_merge_judge_of(&machine);
    CHECK(tw_op_simplify(&simple, &judge, arena));
    tw_bench_free(&bench);
    bool changed = simple.n_loops != op.n_loops;
    int64_t before = changed ? optimum(op, machines[m]) : -1, after = changed ? optimum(simple, machines[m]) : -1;
    /* Two loops may lie over two dimensions of an array, one loop over one: what is lost is a few passes of tiny tiles. */
    bool good = before < 0 || before == INT64_MAX || after <= before + 4 + before / 50;
    if (!good) {
        fprintf(stderr, "TW_SEED=%" PRIu64 " TW_CASE=%" PRId64 ": %" PRId64 " cycles became %" PRId64 "\n%s", seed,
                i, before, after, machines[m]);
        show(&op);
        show(&simple);
    }
    CHECK(good);
    tw_arena_free(arena);
    return before >= 0 && after >= 0;
}

/* Two loops along a row are one, and so are two that count rows; a row and its neighbour are not. */
TEST(rows_that_lie_apart_residency_rows)
{
    tw_op op = {.name = "op", .compute = TW_MAP, .n_loops = 5, .n_operands = 2};
    static const char *const name[] = {"a", "b", "one", "c", "d"};
    for (int l = 0; l < 5; l++) op.loop[l] = (tw_loop){name[l], l == 2 ? 1 : l + 2, false};
    for (int o = 0; o < 2; o++) {
        op.operand[o] = (tw_operand){.name = o ? "y" : "x", .tensor = o, .n_axes = 5, .scattered = o ? 0 : 3};
        for (int a = 0; a < 5; a++)
            op.operand[o].axis[a] =
                (tw_axis){.extent = op.loop[a].extent, .divisor = 1, .n_terms = 1, .term = {{a, 1}}};
    }
    tw_arena *arena = tw_arena_new();
    const tw_merge_judge judge = {0};
    CHECK(tw_op_simplify(&op, &judge, arena));
    CHECK_EQ(op.n_loops, 2);
    CHECK_EQ(op.loop[0].extent, 6);
    CHECK_EQ(op.loop[1].extent, 30);
    CHECK_EQ(op.operand[0].scattered, 1);
    CHECK_EQ(op.operand[1].scattered, 0);
    tw_arena_free(arena);
}

TEST(the_optimum_of_fewer_loops_is_not_slower)
{
    uint64_t seed = (uint64_t)number_from("TW_SEED", 14);
    int64_t only = number_from("TW_CASE", -1);
    int n = 0;
    for (int64_t i = tw_max(only, 0); i < (only >= 0 ? only + 1 : tw_test_part(250)); i++) n += check_time(seed, i);
    printf("seed %" PRIu64 ": %d optima compared\n", seed, n);
    CHECK(only >= 0 || n > tw_test_part(100));
}
