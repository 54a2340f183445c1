/* src/lower/matmul.c - products of matrices.
 *
 *     [b..] m n | k        ifm [b..] m k       w [b..] k n       ofm [b..] m n
 *
 * Batches are walked by one loop where both operands treat them alike, and belong to m where the second has none. A
 * vector is a matrix with one row or column. */
#include "lower/build.h"

#include <string.h>

typedef struct product {
    tw_seen a, b, y;
    bool trans_a, trans_b;
    int64_t m, n, k;
    int batches; /* loops before m */
    int64_t extent[TW_ONNX_MAX_DIMS];
    bool in_a[TW_ONNX_MAX_DIMS], in_b[TW_ONNX_MAX_DIMS];
    int loop_m, loop_n;
} product;

/* ---- shapes ---- */

/* Vectors become matrices: a row on the left, a column on the right. */
static void make_matrices(product *p)
{
    if (p->a.n_dims == 1) p->a = TW_RESHAPED(p->a, 1, p->a.dim[0]);
    if (p->b.n_dims == 1) p->b = TW_RESHAPED(p->b, p->b.dim[0], 1);
}

static void add_batch(product *p, int64_t extent, bool in_a, bool in_b)
{
    int last = p->batches - 1;
    if (extent == 1) return;
    if (last >= 0 && p->in_a[last] == in_a && p->in_b[last] == in_b) {
        p->extent[last] *= extent;
        return;
    }
    p->extent[p->batches] = extent;
    p->in_a[p->batches] = in_a;
    p->in_b[p->batches++] = in_b;
}

static int64_t batch_dim(tw_seen x, int d, int n)
{
    int at = d - (n - (x.n_dims - 2));
    return at < 0 ? 1 : x.dim[at];
}

static void find_batches(tw_lowering *l, product *p)
{
    int n = (int)tw_max(p->a.n_dims, p->b.n_dims) - 2;
    for (int d = 0; d < n; d++) {
        int64_t a = batch_dim(p->a, d, n), b = batch_dim(p->b, d, n), both = tw_max(a, b);
        if ((a != both && a != 1) || (b != both && b != 1)) tw_refuse(l, "shapes contradict each other");
        add_batch(p, both, a == both, b == both);
    }
}

/* The last batches of a that b has not are rows. */
static void join_rows(product *p)
{
    int last = p->batches - 1;
    if (last < 0 || p->in_b[last] || p->trans_a) return;
    p->m *= p->extent[last];
    p->batches--;
}

static bool read_product(tw_lowering *l, tw_matrix a, tw_matrix b, tw_seen y, product *p)
{
    bool trans_a = a.transposed, trans_b = b.transposed;
    *p = (product){.a = a.seen, .b = b.seen, .y = y, .trans_a = trans_a, .trans_b = trans_b};
    if (p->a.n_dims < 1 || p->b.n_dims < 1) tw_refuse(l, "a scalar is no matrix");
    if (tw_refused(l)) return false;
    make_matrices(p);
    p->m = p->a.dim[p->a.n_dims - (trans_a ? 1 : 2)];
    p->k = p->a.dim[p->a.n_dims - (trans_a ? 2 : 1)];
    p->n = p->b.dim[p->b.n_dims - (trans_b ? 2 : 1)];
    if (p->k != p->b.dim[p->b.n_dims - (trans_b ? 1 : 2)]) tw_refuse(l, "shapes contradict each other");
    find_batches(l, p);
    join_rows(p);
    return !tw_refused(l);
}

/* ---- the nest ---- */

/* Of the batches it has those that `has` says. */
static void add_matrix(tw_lowering *l, tw_matrix x, const bool *has, int batches, int rows, int columns)
{
    tw_add_operand(l, x.seen);
    for (int i = 0; i < batches; i++)
        if (has[i]) tw_add_axis(l, i);
    tw_add_axis(l, x.transposed ? columns : rows);
    tw_add_axis(l, x.transposed ? rows : columns);
}

static void begin_product(tw_lowering *l, const char *suffix, product *p)
{
    static const char *const names[] = {"b",  "b1", "b2",  "b3",  "b4",  "b5",  "b6",  "b7",
                                        "b8", "b9", "b10", "b11", "b12", "b13", "b14", "b15"};
    tw_nest_begin(l, suffix, TW_MULTIPLY_ADD);
    for (int i = 0; i < p->batches; i++) tw_add_loop(l, names[i], p->extent[i], false);
    p->loop_m = tw_add_loop(l, "m", p->m, false);
    p->loop_n = tw_add_loop(l, "n", p->n, false);
    int k = tw_add_loop(l, "k", p->k, true);
    if (tw_refused(l)) return;
    add_matrix(l, (tw_matrix){p->a, p->trans_a}, p->in_a, p->batches, p->loop_m, k);
    add_matrix(l, (tw_matrix){p->b, p->trans_b}, p->in_b, p->batches, k, p->loop_n);
    tw_add_output(l, p->y);
    int sum = tw_tail(l);
    bool wraps = !tw_refused(l) && l->nest.op.accumulator == TW_DTYPE_I64;
    if (wraps) tw_set_tail(l, tw_fit(l, sum, tw_type_of(l, p->y)));
}

void tw_matmul(tw_lowering *l, const char *suffix, tw_matrix a, tw_matrix b, tw_seen out)
{
    product p;
    if (read_product(l, a, b, out, &p)) begin_product(l, suffix, &p);
    bool narrow = !tw_refused(l) && l->nest.op.accumulator == TW_DTYPE_I32 && tw_type_of(l, out) != TW_ONNX_I32;
    if (!narrow) return;
    int sum = tw_tail(l);
    tw_set_tail(l, tw_fit(l, sum, tw_type_of(l, out)));
}

static void lower_matmul(tw_lowering *l)
{
    tw_matmul(l, "", (tw_matrix){tw_see_input(l, 0), false}, (tw_matrix){tw_see_input(l, 1), false},
              tw_see_output(l, 0));
}

static void lower_fused_matmul(tw_lowering *l)
{
    bool a = tw_onnx_int(l->node, "transA", 0) != 0, b = tw_onnx_int(l->node, "transB", 0) != 0;
    double alpha = (double)tw_onnx_float(l->node, "alpha", 1);
    if (tw_onnx_int(l->node, "transBatchA", 0) || tw_onnx_int(l->node, "transBatchB", 0))
        tw_refuse(l, "transposed batches");
    tw_matmul(l, "", (tw_matrix){tw_see_input(l, 0), a}, (tw_matrix){tw_see_input(l, 1), b}, tw_see_output(l, 0));
    if (tw_refused(l) || alpha == 1) return;
    int sum = tw_tail(l);
    tw_set_tail(l, tw_times(l, sum, tw_num(l, alpha)));
}

/* ---- Gemm ---- */

/* What is added: how it meets the output. */
typedef enum addend { NOTHING, SCALAR, ALONG_M, ALONG_N, WHOLE } addend;

static addend addend_of(tw_lowering *l, tw_seen c, tw_seen y)
{
    int64_t rows = c.n_dims > 1 ? c.dim[c.n_dims - 2] : 1, columns = c.n_dims > 0 ? c.dim[c.n_dims - 1] : 1;
    if (c.tensor < 0) return NOTHING;
    if (c.n_dims > 2 || y.n_dims != 2) tw_refuse(l, "not two axes");
    if (rows == 1 && columns == 1) return SCALAR;
    if (rows == 1) return ALONG_N;
    return columns == 1 ? ALONG_M : WHOLE;
}

/* The step that adds a whole matrix to the finished product. */
static void add_matrix_after(tw_lowering *l, tw_seen sums, tw_seen c, double beta, tw_seen y)
{
    tw_seen input[2] = {sums, c};
    int var[2];
    tw_map(l, "", y, 2, input, var);
    if (tw_refused(l)) return;
    int scaled = beta == 1 ? var[1] : tw_times(l, var[1], tw_num(l, beta));
    tw_set_value(l, tw_fit(l, tw_plus(l, var[0], scaled), tw_type_of(l, y)));
}

static int hold_addend(tw_lowering *l, tw_seen c, addend how)
{
    return tw_hold(l, c, how == SCALAR ? -1 : how == ALONG_M ? 0 : 1);
}

static void lower_gemm(tw_lowering *l)
{
    bool ta = tw_onnx_int(l->node, "transA", 0) != 0, tb = tw_onnx_int(l->node, "transB", 0) != 0;
    double alpha = (double)tw_onnx_float(l->node, "alpha", 1), beta = (double)tw_onnx_float(l->node, "beta", 1);
    tw_seen c = tw_see_input(l, 2), y = tw_see_output(l, 0);
    addend how = addend_of(l, c, y);
    tw_seen sum = how == WHOLE ? tw_between_like(l, ".product", tw_type_of(l, y), y) : y;
    tw_matmul(l, how == WHOLE ? ".product" : "", (tw_matrix){tw_see_input(l, 0), ta},
              (tw_matrix){tw_see_input(l, 1), tb}, sum);
    if (tw_refused(l)) return;
    int x = tw_tail(l);
    if (alpha != 1) x = tw_times(l, x, tw_num(l, alpha));
    if (how != NOTHING && how != WHOLE) {
        int held = hold_addend(l, c, how);
        x = tw_plus(l, x, beta == 1 ? held : tw_times(l, held, tw_num(l, beta)));
    }
    tw_set_tail(l, x > 0 ? tw_fit(l, x, tw_type_of(l, y)) : x);
    if (how == WHOLE) add_matrix_after(l, sum, c, beta, y);
}

static void lower_fused_gemm(tw_lowering *l)
{
    const tw_attribute *a = tw_onnx_attribute(l->node, "activation_alpha");
    const tw_attribute *b = tw_onnx_attribute(l->node, "activation_beta");
    lower_gemm(l);
    if (tw_refused(l)) return;
    const char *name = tw_onnx_string(l->node, "activation", "");
    int x = tw_tail(l);
    tw_set_tail(l, tw_activation(l, name, x, a ? &a->f : NULL, b ? &b->f : NULL));
}

/* ---- quantised ---- */

/* A zero point: a scalar, or one per row of a, or per column of b. */
static int hold_side(tw_lowering *l, tw_seen x, const product *p, bool rows)
{
    int64_t n = tw_elems_of(x);
    if (n == 1) return tw_hold(l, x, -1);
    if (n != (rows ? p->m : p->n)) tw_refuse(l, "zero points or scales per batch");
    return tw_refused(l) ? 0 : tw_hold(l, x, rows ? p->loop_m : p->loop_n);
}

static bool counts(const tw_lowering *l, tw_seen zero) { return zero.tensor >= 0 && !tw_is_zero(l, zero); }

/* Opens the nest of (a - a_zero) * (b - b_zero), added up as i32. */
static bool begin_quantised(tw_lowering *l, const char *suffix, product *p, tw_seen a_zero, tw_seen b_zero)
{
    if (tw_refused(l)) return false;
    begin_product(l, suffix, p);
    if (tw_refused(l)) return false;
    l->nest.op.accumulator = TW_DTYPE_I32;
    if (counts(l, a_zero) || counts(l, b_zero)) {
        tw_value_begin(l);
        int a = counts(l, a_zero) ? tw_minus(l, 0, hold_side(l, a_zero, p, true)) : 0;
        int b = counts(l, b_zero) ? tw_minus(l, 1, hold_side(l, b_zero, p, false)) : 1;
        tw_set_value(l, tw_times(l, a, b));
    }
    return !tw_refused(l);
}

/* Inputs by number, -1: there is none. */
typedef struct quantised {
    int a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero;
} quantised;

static tw_seen see_or_none(tw_lowering *l, int i) { return i < 0 ? (tw_seen){.tensor = -1} : tw_see_input(l, i); }

/* What the sums are worth: a_scale * b_scale. */
static int scale_of(tw_lowering *l, const quantised *q, const product *p)
{
    int a = hold_side(l, tw_see_input(l, q->a_scale), p, true);
    return tw_times(l, a, hold_side(l, tw_see_input(l, q->b_scale), p, false));
}

static int requantised(tw_lowering *l, const quantised *q, int x, tw_seen y)
{
    if (q->y_scale < 0 || !tw_has_input(l, q->y_scale)) return x;
    int zero = tw_has_input(l, q->y_zero) ? tw_hold(l, tw_see_input(l, q->y_zero), -1) : -1;
    return tw_quantize(l, tw_over(l, x, tw_hold(l, tw_see_input(l, q->y_scale), -1)), zero, tw_type_of(l, y));
}

static void quantised_product(tw_lowering *l, const quantised *q, bool ta, bool tb, double alpha)
{
    product p;
    tw_seen y = tw_see_output(l, 0), c = see_or_none(l, q->c);
    bool integer_c = tw_type_of(l, c) == TW_ONNX_I32;
    if (!read_product(l, (tw_matrix){tw_see_input(l, q->a), ta}, (tw_matrix){tw_see_input(l, q->b), tb}, y, &p))
        return;
    if (!begin_quantised(l, "", &p, see_or_none(l, q->a_zero), see_or_none(l, q->b_zero))) return;
    int x = tw_tail(l);
    if (c.tensor >= 0 && integer_c) x = tw_plus(l, x, hold_side(l, c, &p, false));
    x = tw_times(l, x, scale_of(l, q, &p));
    if (alpha != 1) x = tw_times(l, x, tw_num(l, alpha));
    if (c.tensor >= 0 && !integer_c) x = tw_plus(l, x, hold_side(l, c, &p, false));
    if (!tw_refused(l)) tw_set_tail(l, requantised(l, q, x, y));
}

static void lower_matmul_integer(tw_lowering *l)
{
    product p;
    if (read_product(l, (tw_matrix){tw_see_input(l, 0), false}, (tw_matrix){tw_see_input(l, 1), false},
                     tw_see_output(l, 0), &p))
        begin_quantised(l, "", &p, tw_see_input(l, 2), tw_see_input(l, 3));
}

static void lower_qlinear_matmul(tw_lowering *l)
{
    static const quantised q = {0, 1, 2, 3, 4, 5, -1, 6, 7};
    quantised_product(l, &q, false, false, 1);
}

static void lower_qgemm(tw_lowering *l)
{
    static const quantised q = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    bool ta = tw_onnx_int(l->node, "transA", 0) != 0, tb = tw_onnx_int(l->node, "transB", 0) != 0;
    quantised_product(l, &q, ta, tb, (double)tw_onnx_float(l->node, "alpha", 1));
}

static void lower_matmul_to_float(tw_lowering *l)
{
    static const quantised q = {0, 2, 4, 1, 3, 5, 6, -1, -1};
    quantised_product(l, &q, false, false, 1);
}

void tw_dynamic_matmul(tw_lowering *l, const char *suffix, tw_seen a, const tw_quantised *b, tw_seen bias,
                       tw_seen y)
{
    product p;
    const int64_t one = 1;
    tw_seen q = tw_between_like(l, tw_say(l, "%s.bytes", suffix), TW_ONNX_U8, a);
    tw_seen scale = tw_between(l, tw_say(l, "%s.scale", suffix), TW_ONNX_F32, 1, &one);
    tw_seen zero = tw_between(l, tw_say(l, "%s.zero", suffix), TW_ONNX_U8, 1, &one);
    if (!read_product(l, (tw_matrix){q, false}, (tw_matrix){b->x, false}, y, &p)) return;
    tw_dynamic_quantize(l, suffix, a, q, scale, zero);
    if (!begin_quantised(l, suffix, &p, zero, b->zero)) return;
    int x = tw_tail(l);
    x = tw_times(l, x, tw_times(l, tw_hold(l, scale, -1), hold_side(l, b->scale, &p, false)));
    if (bias.tensor >= 0) x = tw_plus(l, x, hold_side(l, bias, &p, false));
    if (!tw_refused(l)) tw_set_tail(l, x);
}

/* A, B, b_scale, b_zero, bias */
static void lower_dynamic_matmul(tw_lowering *l)
{
    const tw_quantised b = {tw_see_input(l, 1), tw_see_input(l, 2), tw_see_input(l, 3)};
    tw_dynamic_matmul(l, "", tw_see_input(l, 0), &b, tw_see_input(l, 4), tw_see_output(l, 0));
}

#define MS "com.microsoft"
const tw_describer tw_matmul_ops[] = {
    {"MatMul", "", lower_matmul, true},
    {"Gemm", "", lower_gemm, true},
    {"FusedMatMul", MS, lower_fused_matmul, true},
    {"TransposeMatMul", MS, lower_fused_matmul, true},
    {"FusedGemm", MS, lower_fused_gemm, true},
    {"MatMulInteger", "", lower_matmul_integer, true},
    {"QLinearMatMul", "", lower_qlinear_matmul, true},
    {"QGemm", MS, lower_qgemm, true},
    {"MatMulIntegerToFloat", MS, lower_matmul_to_float, true},
    {"DynamicQuantizeMatMul", MS, lower_dynamic_matmul, true},
    {0},
};
