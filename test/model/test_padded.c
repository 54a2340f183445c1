/* test/model/test_padded.c - padding that is written: point by point, the same elements as before, and numbers that add nothing. */
#include "model/padded.h"
#include "tw_test.h"

static bool position(const tw_axis *axis, const int64_t *at, int64_t *out)
{
    int64_t value = axis->offset;
    for (int t = 0; t < axis->n_terms; t++) value += axis->term[t].coef * at[axis->term[t].loop];
    return tw_axis_position(axis, value, out);
}

/* Element that a point reads, axis by axis; false: it lies in the padding. */
static bool element(const tw_operand *operand, const int64_t *at, int64_t *out)
{
    for (int a = 0; a < operand->n_axes; a++)
        if (!position(&operand->axis[a], at, &out[a])) return false;
    return true;
}

typedef struct window {
    int64_t rows, taps, stride, dilation, lo, hi;
} window;

static window draw_window(uint64_t *random)
{
    window w = {.taps = tw_test_pick(random, 1, 5),
                .stride = tw_test_pick(random, 1, 3),
                .dilation = tw_test_pick(random, 1, 3),
                .lo = tw_test_pick(random, 0, 7),
                .hi = tw_test_pick(random, 0, 7)};
    w.rows = tw_max(1, (w.taps - 1) * w.dilation + 1 - w.lo - w.hi) + tw_test_pick(random, 0, 6);
    return w;
}

static int64_t outputs_of(const window *w)
{
    return (w->rows + w->lo + w->hi - ((w->taps - 1) * w->dilation + 1)) / w->stride + 1;
}

/* out[c, y, x] = sum over u, v of in[c, y.., x..] * w[c, u, v], or a maximum without weights. */
static tw_op window_op(const window *y, const window *x, tw_compute compute)
{
    bool sums = compute == TW_MULTIPLY_ADD;
    tw_op op = {.name = "conv", .compute = compute, .n_loops = 5, .n_operands = sums ? 3 : 2};
    const int64_t extent[] = {2, outputs_of(y), outputs_of(x), y->taps, x->taps};
    static const char *const name[] = {"c", "y", "x", "u", "v"};
    for (int l = 0; l < 5; l++) op.loop[l] = (tw_loop){name[l], extent[l], l >= 3};
    tw_operand *in = &op.operand[0], *out = &op.operand[op.n_operands - 1];
    *in = (tw_operand){.name = "ifm", .tensor = 0, .n_axes = 3};
    in->axis[0] = (tw_axis){.extent = 2, .divisor = 1, .n_terms = 1, .term = {{0, 1}}};
    in->axis[1] = (tw_axis){y->rows, -y->lo, 1, false, 2, {{1, y->stride}, {3, y->dilation}}};
    in->axis[2] = (tw_axis){x->rows, -x->lo, 1, false, 2, {{2, x->stride}, {4, x->dilation}}};
    if (sums) op.operand[1] = (tw_operand){.name = "w", .tensor = 1, .n_axes = 2};
    for (int a = 0; a < 2 && sums; a++)
        op.operand[1].axis[a] = (tw_axis){extent[3 + a], 0, 1, false, 1, {{3 + a, 1}}};
    *out = (tw_operand){.name = "ofm", .tensor = op.n_operands - 1, .n_axes = 3};
    for (int a = 0; a < 3; a++) out->axis[a] = (tw_axis){extent[a], 0, 1, false, 1, {{a, 1}}};
    return op;
}

static void next_point(const tw_op *op, int64_t *at)
{
    int l = op->n_loops - 1;
    while (l >= 0 && ++at[l] == op->loop[l].extent) at[l--] = 0;
}

/* Each point reads by way of the larger tensor what it read before, or padding, or the rim. */
static void check_points(const tw_op *op, const tw_op *pad, const tw_op *taken)
{
    int64_t at[TW_MAX_LOOPS] = {0}, before[TW_MAX_AXES], between[TW_MAX_AXES], after[TW_MAX_AXES];
    for (int64_t i = 0; i < tw_op_points(op); i++, next_point(op, at)) {
        bool was = element(&op->operand[0], at, before), is = element(&taken->operand[0], at, between);
        if (is) is = element(&pad->operand[0], between, after);
        CHECK_EQ(was, is);
        for (int a = 0; is && a < op->operand[0].n_axes; a++) CHECK_EQ(before[a], after[a]);
    }
}

/* What is left is half a kernel at most, and no less than that where something was written. */
static void check_rest(const tw_op *op, const tw_op *taken, const window *w, int axis)
{
    int64_t least, most, extent = taken->operand[0].axis[axis].extent, half = w->taps / 2;
    CHECK(tw_axis_values(&taken->operand[0].axis[axis], taken, &least, &most));
    CHECK(-least <= half);
    CHECK(most - (extent - 1) <= half);
    tw_excess e = tw_excess_of(op, 0);
    CHECK_EQ(extent, w->rows + e.lo[axis] + e.hi[axis]);
    if (e.lo[axis] > 0) CHECK_EQ(-least, half);
    if (e.hi[axis] > 0) CHECK_EQ(most - (extent - 1), half);
    CHECK(!tw_excess_of(taken, 0).any);
}

TEST(every_point_reads_what_it_read_before)
{
    uint64_t random = tw_test_seed();
    int n_written = 0;
    for (int i = 0; i < 400; i++) {
        window y = draw_window(&random), x = draw_window(&random);
        tw_op op = window_op(&y, &x, i % 2 ? TW_MAX : TW_MULTIPLY_ADD);
        tw_arena *arena = tw_arena_new();
        if (tw_excess_of(&op, 0).any) {
            const tw_op *pad = tw_padding_op(&op, 0, 9, i % 3, "pad", arena);
            tw_op taken = tw_padding_taken(&op, 0, 9);
            check_points(&op, pad, &taken);
            check_rest(&op, &taken, &y, 1);
            check_rest(&op, &taken, &x, 2);
            CHECK_EQ(taken.operand[0].tensor, 9);
            CHECK_EQ(pad->compute, op.compute == TW_MAX ? TW_MAX : i % 3 ? TW_MAP : TW_MULTIPLY_ADD);
            n_written++;
        }
        tw_arena_free(arena);
    }
    CHECK(n_written > 100);
}

/* An operator whose value is this text of x, w and what is held, z and a vector v. */
static tw_op with_value(const char *text, tw_arena *arena)
{
    static const window w = {5, 3, 1, 1, 2, 2};
    static const char *const name[] = {"x", "w", "z", "v"};
    const tw_formula_text source = {.text = text, .n_vars = 4, .name = name};
    tw_diag diag = {0};
    tw_op op = window_op(&w, &w, TW_MULTIPLY_ADD);
    op.n_held = 2;
    op.held[0] = (tw_held){"z", -1, 5};
    op.held[1] = (tw_held){"v", 0, 6};
    CHECK_EQ(tw_formula_parse(&source, arena, &diag, &op.value), TW_OK);
    return op;
}

TEST(the_rim_has_numbers_that_add_nothing)
{
    static const struct {
        const char *value;
        bool can;
        int held; /* of the operator that writes */
    } row[] = {
        {"x * w", true, 0},
        {"(x - z) * w", true, 1},
        {"(x - 128) * (w - z)", true, 0},
        {"(x + 1) * w", false, 0},
        {"(x - v) * w", false, 0},
        {"x * w + x", true, 0},
        {"x * w + w", false, 0},
        {"exp(x) * w", false, 0},
        {"f32((x - z) * w)", true, 1},
        {"(x - z) * (x - 1)", true, 1},
    };
    uint64_t random = tw_test_seed();
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_arena *arena = tw_arena_new();
        tw_op op = with_value(row[i].value, arena);
        CHECK_EQ(tw_padding_can_be_written(&op, 0), row[i].can);
        if (row[i].can) {
            const tw_op *pad = tw_padding_op(&op, 0, 9, true, "pad", arena);
            double held[2] = {(double)tw_test_pick(&random, -99, 99), 7}, of_pad[2] = {0, held[0]};
            CHECK_EQ(pad->n_held, row[i].held);
            double rim = tw_formula_eval(pad->value, of_pad, ~1u);
            double var[] = {rim, (double)tw_test_pick(&random, -99, 99), held[0], held[1]};
            CHECK(tw_formula_eval(op.value, var, ~0u) == 0);
            of_pad[0] = 42;
            CHECK(tw_formula_eval(pad->value, of_pad, ~0u) == 42);
        }
        tw_arena_free(arena);
    }
}

TEST(an_average_over_what_is_there_keeps_its_padding)
{
    static const window w = {5, 3, 1, 1, 2, 2};
    tw_op op = window_op(&w, &w, TW_AVERAGE);
    CHECK(tw_excess_of(&op, 0).any);
    CHECK(!tw_padding_can_be_written(&op, 0));
    op.average_counts_padding = true;
    CHECK(tw_padding_can_be_written(&op, 0));
    op.compute = TW_MIN;
    CHECK(tw_padding_can_be_written(&op, 0));
    op.compute = TW_MAP;
    CHECK(!tw_padding_can_be_written(&op, 0));
}
