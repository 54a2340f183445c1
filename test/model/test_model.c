/* test/model/test_model.c - operators become the nests that their definitions ask for.
 *
 * The oracle for the kinds is the definition itself, evaluated with plain loops on small numbers:
 * every point of the nest must name exactly the elements that the definition multiplies. */
#include "model/expr.h"
#include "tw_read.h"

static void read_or_fail(tw_bench *b, const char *text, tw_model *model)
{
    tw_status status = tw_read_model(b, "f.yaml", text, model);
    if (status != TW_OK) print_error("%s\n%s\n", text, b->diag.last ? b->diag.last : "");
    CHECK_EQ(status, TW_OK);
}

static void check_round_trip(tw_bench *b, const tw_model *model)
{
    tw_text first = {0}, second = {0};
    tw_model again;
    tw_model_print(model, &first);
    read_or_fail(b, first.bytes, &again);
    CHECK_EQ(tw_model_check(&again, &b->diag), TW_OK);
    tw_model_print(&again, &second);
    CHECK_STR(second.bytes, first.bytes);
    for (int o = 0; o < model->n_ops; o++) {
        CHECK_EQ(model->op[o].n_operands, again.op[o].n_operands);
        CHECK_EQ(model->op[o].accumulator, again.op[o].accumulator);
        CHECK(tw_formula_equal(model->op[o].value, again.op[o].value));
        CHECK(tw_formula_equal(model->op[o].finish, again.op[o].finish));
        CHECK_EQ(
            memcmp(model->op[o].operand[0].axis, again.op[o].operand[0].axis, sizeof model->op[o].operand[0].axis),
            0);
    }
    tw_text_release(&first);
    tw_text_release(&second);
}

static void check_kind(const char *line, const char *want)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_text got = {0};
    read_or_fail(&b, line, &model);
    tw_model_print(&model, &got);
    CHECK_STR(got.bytes, want);
    check_round_trip(&b, &model);
    tw_text_release(&got);
    tw_bench_free(&b);
}

TEST(a_transposed_batched_matmul_of_bytes)
{
    check_kind("matmul:2x3x4,batch=5,transpose=b,dtype=i8",
               "workload: matmul\n"
               "tensors:\n"
               "  - {name: matmul.ifm, dtype: i8, shape: [5, 2, 4]}\n"
               "  - {name: matmul.w, dtype: i8, shape: [5, 3, 4]}\n"
               "  - {name: matmul.ofm, dtype: i32, shape: [5, 2, 3]}\n"
               "ops:\n"
               "  - name: matmul\n"
               "    compute: multiply-add\n"
               "    loops: {b: 5, m: 2, n: 3, k: 4}\n"
               "    reduce: [k]\n"
               "    reads:\n"
               "      ifm: {tensor: matmul.ifm, at: [b, m, k]}\n"
               "      w: {tensor: matmul.w, at: [b, n, k], role: weights}\n"
               "    writes:\n"
               "      ofm: {tensor: matmul.ofm, at: [b, m, n]}\n");
}

TEST(a_matmul_whose_second_matrix_is_transposed_has_a_name_of_its_own)
{
    tw_bench b = tw_bench_new();
    tw_model one, other;
    read_or_fail(&b, "matmul:2x3x4,transpose=b", &one);
    read_or_fail(&b, "matmul_transpose_b:2x3x4", &other);
    CHECK_EQ(memcmp(one.op[0].operand[1].axis, other.op[0].operand[1].axis, sizeof one.op[0].operand[1].axis), 0);
    check_round_trip(&b, &other);
    tw_bench_free(&b);
}

/* The epilogue reads what the operator makes and another tensor of the same shape, and makes what `output` names. */
TEST(an_epilogue_is_an_operator_more_that_wants_to_be_fused_with_the_first)
{
    tw_bench b = tw_bench_new();
    tw_model m;
    read_or_fail(&b,
                 "workload: w\nops:\n"
                 "  - {name: last, op: add, shape: [2, 3], dtype: i32, inputs: {ifm: y}}\n"
                 "  - {name: fc, op: matmul, shape: [2, 3, 4], dtype: i8, output: y, epilogue: add}\n",
                 &m);
    CHECK_EQ(m.n_ops, 3);
    CHECK_STR(m.op[0].name, "fc");
    CHECK_STR(m.op[1].name, "fc.add");
    CHECK_STR(m.op[2].name, "last");
    CHECK(!m.op[0].wants_fusion && m.op[1].wants_fusion && !m.op[2].wants_fusion);
    CHECK_EQ(m.op[1].compute, TW_ADD);
    CHECK_EQ(m.op[1].operand[0].tensor, m.op[0].operand[2].tensor);
    CHECK_STR(m.tensor[m.op[1].operand[1].tensor].name, "fc.add.bias");
    CHECK_STR(m.tensor[m.op[1].operand[2].tensor].name, "y");
    for (int o = 0; o < 3; o++) CHECK_EQ(m.tensor[m.op[1].operand[o].tensor].dtype, TW_DTYPE_I32);
    CHECK_EQ(tw_chain_input(&m, 0), -1);
    CHECK_EQ(tw_chain_input(&m, 1), 0);
    CHECK_EQ(tw_chain_input(&m, 2), 0);
    check_round_trip(&b, &m);
    tw_bench_free(&b);
}

TEST(a_transposed_grouped_convolution)
{
    check_kind("conv:4x8x8,out=6,kernel=3,stride=2,pad=1,groups=2,transposed,out_pad=1",
               "workload: conv\n"
               "tensors:\n"
               "  - {name: conv.ifm, dtype: f32, shape: [2, 2, 8, 8]}\n"
               "  - {name: conv.w, dtype: f32, shape: [2, 3, 2, 3, 3]}\n"
               "  - {name: conv.ofm, dtype: f32, shape: [2, 3, 16, 16]}\n"
               "ops:\n"
               "  - name: conv\n"
               "    compute: multiply-add\n"
               "    loops: {g: 2, oc: 3, oy: 16, ox: 16, ic: 2, ky: 3, kx: 3}\n"
               "    reduce: [ic, ky, kx]\n"
               "    reads:\n"
               "      ifm: {tensor: conv.ifm, at: [g, ic, (oy - ky + 1)/2, (ox - kx + 1)/2]}\n"
               "      w: {tensor: conv.w, at: [g, oc, ic, ky, kx], role: weights}\n"
               "    writes:\n"
               "      ofm: {tensor: conv.ofm, at: [g, oc, oy, ox]}\n");
}

TEST(bytes_that_are_added_up_in_32_bits)
{
    check_kind("gemv:2x3,dtype=i8,out_dtype=i8,accumulator=i32",
               "workload: gemv\n"
               "tensors:\n"
               "  - {name: gemv.ifm, dtype: i8, shape: [3]}\n"
               "  - {name: gemv.w, dtype: i8, shape: [2, 3]}\n"
               "  - {name: gemv.ofm, dtype: i8, shape: [2]}\n"
               "ops:\n"
               "  - name: gemv\n"
               "    compute: multiply-add\n"
               "    accumulator: i32\n"
               "    loops: {n: 2, k: 3}\n"
               "    reduce: [k]\n"
               "    reads:\n"
               "      ifm: {tensor: gemv.ifm, at: [k]}\n"
               "      w: {tensor: gemv.w, at: [n, k], role: weights}\n"
               "    writes:\n"
               "      ofm: {tensor: gemv.ofm, at: [n]}\n");
}

TEST(an_average_pool_that_counts_padding)
{
    check_kind("pool:3x5x5,kernel=2,stride=2,pad=0x0x1x1,type=average,count_pad",
               "workload: pool\n"
               "tensors:\n"
               "  - {name: pool.ifm, dtype: f32, shape: [3, 5, 5]}\n"
               "  - {name: pool.ofm, dtype: f32, shape: [3, 3, 3]}\n"
               "ops:\n"
               "  - name: pool\n"
               "    compute: average\n"
               "    count_padding: true\n"
               "    loops: {c: 3, oy: 3, ox: 3, ky: 2, kx: 2}\n"
               "    reduce: [ky, kx]\n"
               "    reads:\n"
               "      ifm: {tensor: pool.ifm, at: [c, 2*oy + ky, 2*ox + kx]}\n"
               "    writes:\n"
               "      ofm: {tensor: pool.ofm, at: [c, oy, ox]}\n");
}

/* ---- positions against the definition ---- */

static int64_t position(const tw_axis *axis, const int64_t *index)
{
    int64_t x = axis->offset;
    for (int t = 0; t < axis->n_terms; t++) x += axis->term[t].coef * index[axis->term[t].loop];
    return x % axis->divisor == 0 ? x / axis->divisor : -1;
}

/* Output positions of a forward window, counted by sliding it until it leaves the padded input. */
static int64_t outputs_by_sliding(int64_t in, int64_t k, int64_t s, int64_t d, int64_t lo, int64_t hi)
{
    int64_t n = 0;
    for (int64_t first = -lo; first + (k - 1) * d < in + hi; first += s) n++;
    return n;
}

static void check_conv_axis(int64_t in, int64_t k, int64_t s, int64_t d, int64_t lo, int64_t hi)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    char line[200];
    snprintf(line, sizeof line, "conv:2x%dx3,out=2,kernel=%dx1,stride=%dx1,dilation=%dx1,pad=%dx0x%dx0", (int)in,
             (int)k, (int)s, (int)d, (int)lo, (int)hi);
    read_or_fail(&b, line, &model);
    const tw_op *op = &model.op[0];
    int oy = tw_op_find_loop(op, "oy"), ky = tw_op_find_loop(op, "ky");
    CHECK_EQ(op->loop[oy].extent, outputs_by_sliding(in, k, s, d, lo, hi));
    CHECK_EQ(op->loop[ky].extent, k);
    const tw_axis *axis = &op->operand[0].axis[1];
    CHECK_EQ(axis->extent, in);
    for (int64_t o = 0; o < op->loop[oy].extent; o++)
        for (int64_t tap = 0; tap < k; tap++) {
            int64_t index[TW_MAX_LOOPS] = {0};
            index[oy] = o;
            index[ky] = tap;
            CHECK_EQ(position(axis, index), o * s + tap * d - lo);
        }
    check_round_trip(&b, &model);
    tw_bench_free(&b);
}

TEST(a_convolution_has_an_output_wherever_its_window_fits)
{
    for (int64_t in = 1; in <= 7; in += 2)
        for (int64_t k = 1; k <= 4; k++)
            for (int64_t s = 1; s <= 3; s++)
                for (int64_t d = 1; d <= 2; d++)
                    for (int64_t lo = 0; lo <= 2; lo++)
                        for (int64_t hi = 0; hi <= 2; hi++)
                            if ((k - 1) * d + 1 <= lo + in + hi) check_conv_axis(in, k, s, d, lo, hi);
}

/* Scatter: input i with tap t lands on output i*s + t*d - pad. The nest gathers; both must pair the same. */
static void check_transposed_axis(int64_t in, int64_t k, int64_t s, int64_t d, int64_t pad)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    char line[200];
    snprintf(line, sizeof line, "conv:1x%dx3,out=1,kernel=%dx1,stride=%dx1,dilation=%dx1,pad=%dx0,transposed",
             (int)in, (int)k, (int)s, (int)d, (int)pad);
    read_or_fail(&b, line, &model);
    const tw_op *op = &model.op[0];
    int oy = tw_op_find_loop(op, "oy"), ky = tw_op_find_loop(op, "ky");
    for (int64_t o = 0; o < op->loop[oy].extent; o++)
        for (int64_t tap = 0; tap < k; tap++) {
            int64_t index[TW_MAX_LOOPS] = {0}, want = -1;
            index[oy] = o;
            index[ky] = tap;
            for (int64_t i = 0; i < in; i++)
                if (i * s + tap * d - pad == o) want = i;
            int64_t got = position(&op->operand[0].axis[1], index);
            CHECK_EQ(got >= 0 && got < in ? got : -1, want);
        }
    tw_bench_free(&b);
}

TEST(a_transposed_convolution_gathers_what_the_definition_scatters)
{
    for (int64_t in = 1; in <= 5; in += 2)
        for (int64_t k = 1; k <= 4; k++)
            for (int64_t s = 1; s <= 3; s++)
                for (int64_t d = 1; d <= 2; d++)
                    for (int64_t pad = 0; pad <= 1; pad++)
                        if ((in - 1) * s - 2 * pad + (k - 1) * d + 1 >= 1) check_transposed_axis(in, k, s, d, pad);
}

TEST(element_types_of_results)
{
    static const struct {
        const char *line;
        tw_dtype want;
    } kind[] = {
        {"matmul:2x2x2", TW_DTYPE_F32},
        {"matmul:2x2x2,dtype=f64", TW_DTYPE_F64},
        {"gemv:2x2,dtype=u8", TW_DTYPE_I32},
        {"add:4,dtype=i16", TW_DTYPE_I32},
        {"add:4,dtype=i32", TW_DTYPE_I32},
        {"add:4,dtype=f32", TW_DTYPE_F32},
        {"pool:1x4x4,kernel=2,dtype=i8", TW_DTYPE_I8},
        {"matmul:2x2x2,dtype=i8,out_dtype=i16", TW_DTYPE_I16},
        {"conv:1x4x4,out=2,kernel=3,dtype=i8,out_dtype=i8", TW_DTYPE_I8},
        {"pool:1x4x4,kernel=2,dtype=i8,type=average,out_dtype=f32", TW_DTYPE_F32},
    };
    for (size_t i = 0; i < TW_COUNT(kind); i++) {
        tw_bench b = tw_bench_new();
        tw_model model;
        read_or_fail(&b, kind[i].line, &model);
        const tw_op *op = &model.op[0];
        CHECK_EQ(model.tensor[op->operand[tw_op_output(op)].tensor].dtype, kind[i].want);
        tw_bench_free(&b);
    }
}

TEST(partial_sums_have_the_outputs_type_or_the_one_that_is_given)
{
    static const struct {
        const char *text;
        tw_dtype want;
    } all[] = {
        {"matmul:2x2x2", TW_DTYPE_F32},
        {"matmul:2x2x2,dtype=u8", TW_DTYPE_I32},
        {"matmul:2x2x2,dtype=i8,out_dtype=i8", TW_DTYPE_I8},
        {"matmul:2x2x2,dtype=i8,out_dtype=i8,accumulator=i8", TW_DTYPE_I8},
        {"matmul:2x2x2,dtype=i8,out_dtype=u8,accumulator=i16", TW_DTYPE_I16},
        {"matmul:2x2x2,accumulator=f64", TW_DTYPE_F64},
        {"conv:1x4x4,out=2,kernel=3,dtype=i8,out_dtype=i8,accumulator=i32", TW_DTYPE_I32},
        {"pool:1x4x4,kernel=2,dtype=i8,accumulator=i8", TW_DTYPE_I8},
        {"workload: net\n"
         "ops:\n"
         "  - {name: s, compute: add, accumulator: i32, loops: {m: 4, k: 4}, reduce: [k],\n"
         "     reads: {x: {dtype: i8, at: [m, k]}}, writes: {o: {dtype: i16, at: [m]}}}\n",
         TW_DTYPE_I32},
    };
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        tw_bench b = tw_bench_new();
        tw_model model;
        read_or_fail(&b, all[i].text, &model);
        CHECK_EQ(model.op[0].accumulator, all[i].want);
        check_round_trip(&b, &model);
        tw_bench_free(&b);
    }
}

TEST(an_accumulator_holds_every_value_of_the_output)
{
    tw_diag diag = {0};
    for (int a = 0; a < TW_N_DTYPES; a++)
        for (int o = 0; o < TW_N_DTYPES; o++)
            for (int c = 0; c < TW_N_COMPUTES; c++) {
                tw_dtype acc = (tw_dtype)a, out = (tw_dtype)o;
                bool wider =
                    tw_dtype_bytes(acc) > tw_dtype_bytes(out) && tw_dtype_is_float(acc) == tw_dtype_is_float(out);
                bool no_sign = strchr("ub", tw_dtype_name(acc)[0]) && acc != TW_DTYPE_BF16,
                     sign = !strchr("ub", tw_dtype_name(out)[0]);
                wider &= !no_sign || !sign;
                bool sums = c == TW_MULTIPLY_ADD || c == TW_ADD;
                tw_status want = a == o || (sums && wider) ? TW_OK : TW_ERR_INPUT;
                CHECK_EQ(tw_accumulator_check((tw_compute)c, acc, out, (tw_loc){0}, &diag), want);
            }
    tw_diag_release(&diag);
}

/* ---- described operators and graphs ---- */

static const char two_ops[] = "workload: net\n"
                              "tensors:\n"
                              "  - {name: x, dtype: i8, shape: [8, 6]}\n"
                              "ops:\n"
                              "  - name: second\n"
                              "    compute: max\n"
                              "    loops: {m: 8, j: 3, t: 2}\n"
                              "    reduce: [t]\n"
                              "    reads: {a: {tensor: y, dtype: i32, at: [m, 2*j + t]}}\n"
                              "    writes: {z: {at: [m, j]}}\n"
                              "  - {name: first, op: matmul, shape: [8, 6, 6], inputs: {ifm: x}, output: y}\n";

TEST(operators_are_put_into_the_order_of_their_data)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    read_or_fail(&b, two_ops, &model);
    CHECK_STR(model.op[0].name, "first");
    CHECK_STR(model.op[1].name, "second");
    CHECK_EQ(model.n_tensors, 4);
    const tw_tensor *z = &model.tensor[model.op[1].operand[1].tensor];
    CHECK_STR(z->name, "second.z");
    CHECK_EQ(z->dtype, TW_DTYPE_I32);
    CHECK_EQ(z->extent[1], 3);
    CHECK_EQ(model.tensor[model.op[1].operand[0].tensor].extent[1], 6);
    check_round_trip(&b, &model);
    tw_bench_free(&b);
}

/* A layer of a network is called by its operator; a page hands such files to the planner again. */
TEST(a_workload_that_is_called_by_an_operator_of_a_network_can_be_read_again)
{
    static const char *const name[][2] = {{"layer1/layer1.0/conv1/Conv", "workload: layer1_layer1.0_conv1_Conv\n"},
                                          {"7 x~1", "workload: _7_x_1\n"},
                                          {"", "workload: _\n"}};
    char long_name[300];
    for (size_t i = 0; i <= TW_COUNT(name); i++) {
        tw_bench b = tw_bench_new();
        tw_model model;
        tw_text got = {0};
        read_or_fail(&b, "matmul:4x4x4", &model);
        memset(long_name, '/', sizeof long_name - 1);
        long_name[sizeof long_name - 1] = 0;
        model.name = i < TW_COUNT(name) ? name[i][0] : long_name;
        tw_model_print(&model, &got);
        if (i < TW_COUNT(name)) CHECK_EQ(strncmp(got.bytes, name[i][1], strlen(name[i][1])), 0);
        check_round_trip(&b, &model);
        tw_text_release(&got);
        tw_bench_free(&b);
    }
}

TEST(expressions_are_printed_as_they_are_understood)
{
    static const char *const pair[][2] = {
        {"m", "m"},
        {"k*3 + m", "3*k + m"},
        {"-m + 7", "-m + 7"},
        {"2 * m - k + 1 - 3", "2*m - k - 2"},
        {"m + m + k", "2*m + k"},
        {"(m + 1 - 2*k)/4", "(m - 2*k + 1)/4"},
        {"(m)/1", "m"},
        {"(m - k)", "m - k"},
        {"5", "5"},
        {"(-5)/2", "(-5)/2"},
    };
    tw_op op = {.n_loops = 2, .loop = {{"m", 4, false}, {"k", 4, true}}};
    for (size_t i = 0; i < TW_COUNT(pair); i++) {
        tw_diag diag = {0};
        tw_node node = {.kind = TW_SCALAR, .loc = {"f", 1, 1}, .text = pair[i][0]};
        tw_axis axis = {0};
        tw_text out = {0};
        CHECK_EQ(tw_expr_parse(&node, &op, &diag, &axis), TW_OK);
        tw_expr_print(&axis, &op, &out);
        CHECK_STR(out.bytes, pair[i][1]);
        tw_text_release(&out);
        tw_diag_release(&diag);
    }
}

TEST(expressions_that_mean_nothing_are_reported_at_the_character)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "f:1:5: error: a loop or a number expected at the end of ''"},
        {"q + 1", "f:1:5: error: undefined loop 'q' in 'q + 1'; the loops are m"},
        {"m + qq", "f:1:9: error: undefined loop 'qq' in 'm + qq'; the loops are m"},
        {"m m", "f:1:7: error: '+', '-' or the end expected at 'm'"},
        {"m +", "f:1:8: error: a loop or a number expected at the end of 'm +'"},
        {"(m", "f:1:7: error: ')' expected at the end of '(m'"},
        {"(m)/0", "f:1:9: error: division by 0 in '(m)/0'"},
        {"m/2", "f:1:6: error: '+', '-' or the end expected at '/2'"},
        {"m*m", "f:1:7: error: a number expected at 'm'"},
        {"0*m", "f:1:5: error: loop 'm' has factor 0 in '0*m'"},
        {"99999999999*m", "f:1:5: error: number in '99999999999*m' exceeds 2147483647"},
    };
    tw_op op = {.n_loops = 1, .loop = {{"m", 4, false}}};
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        tw_diag diag = {0};
        tw_node node = {.kind = TW_SCALAR, .loc = {"f", 1, 5}, .text = bad[i].text};
        tw_axis axis = {0};
        CHECK_EQ(tw_expr_parse(&node, &op, &diag, &axis), TW_ERR_INPUT);
        CHECK_STR(diag.last, bad[i].message);
        tw_diag_release(&diag);
    }
}

/* ---- the validator is fed broken models ---- */

typedef void (*breaker)(tw_model *model, tw_op *op);
static void zero_extent(tw_model *m, tw_op *op) { op->loop[0].extent = 0 * m->n_ops; }
static void huge_points(tw_model *m, tw_op *op)
{
    for (int l = 0; l < op->n_loops * m->n_ops; l++) op->loop[l].extent = TW_EXTENT_MAX;
}
static void shifted_output(tw_model *m, tw_op *op) { op->operand[2].axis[0].offset = m->n_ops; }
static void reduced_output(tw_model *m, tw_op *op) { op->loop[0].reduces = m->n_ops > 0; }
static void unused_loop(tw_model *m, tw_op *op) { op->loop[op->n_loops++] = (tw_loop){"z", 2, m->n_ops > 0}; }
static void foreign_tensor(tw_model *m, tw_op *op) { op->operand[0].tensor = m->n_tensors; }
static void other_shape(tw_model *m, tw_op *op) { op->operand[0].tensor = m->n_tensors - 1; }
static void zero_coefficient(tw_model *m, tw_op *op) { op->operand[0].axis[0].term[0].coef = m->n_ops - 1; }
static void narrow_sums(tw_model *m, tw_op *op) { op->accumulator = m->n_ops ? TW_DTYPE_I8 : TW_DTYPE_F32; }
static void same_names(tw_model *m, tw_op *op) { op->loop[0].name = op->loop[m->n_ops].name; }

TEST(a_broken_model_is_not_accepted)
{
    static const breaker all[] = {zero_extent,    huge_points, shifted_output,   reduced_output, unused_loop,
                                  foreign_tensor, other_shape, zero_coefficient, same_names,     narrow_sums};
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        tw_bench b = tw_bench_new();
        tw_model model;
        read_or_fail(&b, "matmul:4x5x6", &model);
        tw_op op = model.op[0];
        CHECK_EQ(tw_model_check(&model, &b.diag), TW_OK);
        all[i](&model, &op);
        model.op = &op;
        CHECK_EQ(tw_model_check(&model, &b.diag), TW_ERR_INPUT);
        CHECK_EQ(b.diag.n_errors, 1);
        tw_bench_free(&b);
    }
}

TEST(operators_out_of_order_are_not_accepted)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    read_or_fail(&b, two_ops, &model);
    tw_op swapped[2] = {model.op[1], model.op[0]};
    model.op = swapped;
    CHECK_EQ(tw_model_check(&model, &b.diag), TW_ERR_INPUT);
    CHECK_STR(b.diag.last, "f.yaml:5:5: error: operator 'second' reads tensor 'y' before it is written");
    tw_bench_free(&b);
}

TEST(tensors_know_what_they_are_to_the_graph)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    read_or_fail(&b,
                 "workload: w\nops:\n"
                 "  - {name: a, op: matmul, shape: [4, 5, 6], inputs: {ifm: x, w: v}, output: t}\n"
                 "  - {name: b, op: matmul, shape: [4, 7, 5], inputs: {ifm: t}, output: y}\n",
                 &model);
    static const struct {
        const char *name;
        tw_tensor_role role;
        bool is_output;
        int64_t bytes;
    } want[] = {{"x", TW_ROLE_INPUT, false, 96},
                {"v", TW_ROLE_CONSTANT, false, 120},
                {"t", TW_ROLE_BETWEEN, false, 80},
                {"b.w", TW_ROLE_CONSTANT, false, 140},
                {"y", TW_ROLE_BETWEEN, true, 112}};
    CHECK_EQ(model.n_tensors, TW_COUNT(want));
    for (int t = 0; t < model.n_tensors; t++) {
        CHECK_STR(model.tensor[t].name, want[t].name);
        CHECK_EQ(model.tensor[t].role, want[t].role);
        CHECK_EQ(model.tensor[t].is_output, want[t].is_output);
        CHECK_EQ(model.tensor[t].bytes, want[t].bytes);
        CHECK_EQ(model.tensor[t].root, t);
    }
    tw_bench_free(&b);
}

TEST(running_out_of_memory_at_any_request_is_survived)
{
    for (int64_t n = 1;; n++) {
        tw_bench b = tw_bench_new();
        tw_model model;
        tw_arena_fail_at(b.arena, n);
        tw_status status = tw_read_model(&b, "f.yaml", two_ops, &model);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        tw_bench_free(&b);
        if (status == TW_OK) break;
        CHECK(n < 1000);
    }
}

/* ---- formulas ---- */

/* Layers of a network are told apart by it. */
TEST(scattered_rows_are_part_of_the_text_of_a_model)
{
    static const char text[] = "workload: w\n"
                               "ops:\n"
                               "  - name: put\n"
                               "    compute: map\n"
                               "    loops: {b: 2, r: 4, c: 5}\n"
                               "    value: \"x\"\n"
                               "    reads: {x: {at: [b, r, c], scattered: 2}}\n"
                               "    writes: {y: {at: [b, r, c], scattered: 3}}\n";
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_text got = {0};
    read_or_fail(&b, text, &model);
    check_round_trip(&b, &model);
    tw_model_print(&model, &got);
    CHECK(strstr(got.bytes, "      x: {tensor: put.x, at: [b, r, c], scattered: 2}\n") != NULL);
    CHECK_EQ(model.op[0].operand[1].scattered, 3);
    CHECK(!tw_op_is_move(&model, &model.op[0]));
    tw_text_release(&got);
    tw_bench_free(&b);
}

TEST(formulas_are_part_of_the_text_of_a_model)
{
    static const char text[] = "workload: w\n"
                               "ops:\n"
                               "  - name: conv\n"
                               "    compute: multiply-add\n"
                               "    loops: {n: 4, k: 5}\n"
                               "    reduce: [k]\n"
                               "    accumulator: i32\n"
                               "    held: {zero: scalar, scale: n}\n"
                               "    value: \"(x-zero)*w\"\n"
                               "    finish: \"u8(sum*scale)\"\n"
                               "    reads: {x: {dtype: u8, at: [k]}, w: {dtype: i8, at: [k, n]}}\n"
                               "    writes: {y: {dtype: u8, at: [n]}}\n"
                               "  - name: swish\n"
                               "    compute: map\n"
                               "    loops: {n: 4}\n"
                               "    value: [\"$0 = exp(x)\", \"f16(x * $0 / (1 + $0))\"]\n"
                               "    reads: {x: {tensor: conv.y, at: [n]}}\n"
                               "    writes: {y: {dtype: f16, at: [n]}}\n";
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_text got = {0};
    read_or_fail(&b, text, &model);
    check_round_trip(&b, &model);
    tw_model_print(&model, &got);
    CHECK(strstr(got.bytes, "    held: {zero: scalar, scale: n}\n"
                            "    value: \"(x - zero) * w\"\n"
                            "    finish: \"u8(sum * scale)\"\n") != NULL);
    CHECK(strstr(got.bytes, "    value: [\"$0 = exp(x)\", \"f16(x * $0 / (1 + $0))\"]\n") != NULL);
    CHECK_EQ(model.op[0].n_held, 2);
    CHECK_EQ(model.op[0].held[0].loop, -1);
    CHECK_EQ(model.op[0].held[1].loop, 0);
    tw_text_release(&got);
    tw_bench_free(&b);
}
