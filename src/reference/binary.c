/* src/reference/binary.c - element-wise operators with several operands that are broadcast.
 *
 * Two or more operands are folded from the left: floats in double, rounded once at the end, integers in int64_t.
 * The type uint64 keeps its bits there, and the few functions that see the difference have an unsigned version. */
#include "reference/entries.h"

#include <math.h>
#include <string.h>

typedef struct rule {
    double (*real)(double a, double b);
    int64_t (*whole)(int64_t a, int64_t b);
    int64_t (*natural)(uint64_t a, uint64_t b); /* NULL: as whole */
    bool truth;                                 /* the result is bool            */
    bool mean;                                  /* of reals: divided by how many */
} rule;

/* ---- functions ---- */

static double real_add(double a, double b) { return a + b; }
static double real_sub(double a, double b) { return a - b; }
static double real_mul(double a, double b) { return a * b; }
static double real_div(double a, double b) { return a / b; }
static double real_min(double a, double b) { return a < b || a != a ? a : b; }
static double real_max(double a, double b) { return a > b || a != a ? a : b; }
static double real_mod(double a, double b) { return a - b * floor(a / b); }
static double real_prelu(double a, double b) { return a < 0 ? a * b : a; }
static double real_eq(double a, double b) { return a == b; }
static double real_lt(double a, double b) { return a < b; }
static double real_le(double a, double b) { return a <= b; }
static double real_gt(double a, double b) { return a > b; }
static double real_ge(double a, double b) { return a >= b; }

static int64_t whole_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t whole_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t whole_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t whole_div(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? whole_sub(0, a) : a / b; }
static int64_t whole_rem(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int64_t whole_mod(int64_t a, int64_t b)
{
    int64_t rest = whole_rem(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static int64_t whole_prelu(int64_t a, int64_t b) { return a < 0 ? whole_mul(a, b) : a; }
static int64_t whole_eq(int64_t a, int64_t b) { return a == b; }
static int64_t whole_lt(int64_t a, int64_t b) { return a < b; }
static int64_t whole_le(int64_t a, int64_t b) { return a <= b; }
static int64_t whole_gt(int64_t a, int64_t b) { return a > b; }
static int64_t whole_ge(int64_t a, int64_t b) { return a >= b; }
static int64_t whole_and(int64_t a, int64_t b) { return a & b; }
static int64_t whole_or(int64_t a, int64_t b) { return a | b; }
static int64_t whole_xor(int64_t a, int64_t b) { return a ^ b; }
static int64_t whole_pow(int64_t a, int64_t b)
{
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    int64_t power = 1;
    for (; b > 0; b >>= 1, a = whole_mul(a, a))
        if (b & 1) power = whole_mul(power, a);
    return power;
}

static int64_t natural_div(uint64_t a, uint64_t b) { return b == 0 ? 0 : (int64_t)(a / b); }
static int64_t natural_mod(uint64_t a, uint64_t b) { return b == 0 ? 0 : (int64_t)(a % b); }
static int64_t natural_first(uint64_t a, uint64_t b __attribute__((unused))) { return (int64_t)a; }
static int64_t natural_min(uint64_t a, uint64_t b) { return (int64_t)(a < b ? a : b); }
static int64_t natural_max(uint64_t a, uint64_t b) { return (int64_t)(a > b ? a : b); }
static int64_t natural_lt(uint64_t a, uint64_t b) { return a < b; }
static int64_t natural_le(uint64_t a, uint64_t b) { return a <= b; }
static int64_t natural_gt(uint64_t a, uint64_t b) { return a > b; }
static int64_t natural_ge(uint64_t a, uint64_t b) { return a >= b; }
static int64_t natural_left(uint64_t a, uint64_t b) { return b > 63 ? 0 : (int64_t)(a << b); }
static int64_t natural_right(uint64_t a, uint64_t b) { return b > 63 ? 0 : (int64_t)(a >> b); }
static int64_t whole_left(int64_t a, int64_t b) { return natural_left((uint64_t)a, (uint64_t)b); }
static int64_t whole_right(int64_t a, int64_t b) { return natural_right((uint64_t)a, (uint64_t)b); }

/* ---- folding ---- */

/* Which element of an operand the next one of the result reads; nothing is walked where none is repeated. */
typedef struct reader {
    tw_walk walk;
    int64_t next;
    bool dense;
} reader;

static reader reader_of(const tw_array *a, const tw_array *out)
{
    reader r = {.walk = tw_walk_of(out->n_dims, out->dim), .dense = a->n == out->n};
    tw_walk_operand(&r.walk, a);
    return r;
}

static int64_t read_next(reader *r)
{
    if (r->dense) return r->next++;
    int64_t at = r->walk.at[0];
    tw_walk_next(&r->walk);
    return at;
}

static tw_status fold_reals(const tw_array *const *in, int n, const rule *r, tw_arena *arena, tw_array *out)
{
    double *v;
    TW_ALLOC(arena, v, tw_max(out->n, 1));
    for (int k = 0; k < n; k++) {
        const double *x = tw_array_reals(in[k], arena);
        reader of = reader_of(in[k], out);
        if (!x) return TW_ERR_NOMEM;
        for (int64_t i = 0; i < out->n; i++) {
            double y = x[read_next(&of)];
            v[i] = k == 0 ? y : r->real(v[i], y);
        }
    }
    for (int64_t i = 0; r->mean && i < out->n; i++) v[i] /= n;
    tw_array_put_reals(out, v);
    return TW_OK;
}

static tw_status fold_wholes(const tw_array *const *in, int n, const rule *r, tw_arena *arena, tw_array *out)
{
    bool natural = in[0]->type == TW_ONNX_U64 && r->natural;
    int64_t *v;
    TW_ALLOC(arena, v, tw_max(out->n, 1));
    for (int k = 0; k < n; k++) {
        const int64_t *x = tw_array_wholes(in[k], arena);
        reader of = reader_of(in[k], out);
        if (!x) return TW_ERR_NOMEM;
        for (int64_t i = 0; i < out->n; i++) {
            int64_t y = x[read_next(&of)];
            v[i] = k == 0 ? y : natural ? r->natural((uint64_t)v[i], (uint64_t)y) : r->whole(v[i], y);
        }
    }
    tw_array_put_wholes(out, v);
    return TW_OK;
}

/* Operands of numbers; their types may differ only where `mixed`. The result has the first one's. */
static tw_status fold(const tw_ref_case *c, const tw_array *const *in, int n, const rule *r, bool mixed,
                      tw_array *out)
{
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    bool whole = true;
    for (int k = 0; k < n; k++) {
        if (!tw_onnx_is_number(in[k]->type) || (!mixed && in[k]->type != in[0]->type))
            return tw_ref_error(c, "operand %d is of type %s, operand 0 of type %s", k,
                                tw_onnx_type_name(in[k]->type), tw_onnx_type_name(in[0]->type));
        whole = whole && tw_onnx_is_whole(in[k]->type);
    }
    if (whole ? !r->whole : !r->real) return tw_ref_error(c, "elements of type %s", tw_onnx_type_name(in[0]->type));
    TW_TRY(tw_ref_broadcast(c, in, n, &n_dims, dim));
    TW_TRY(tw_ref_make(c, r->truth ? TW_ONNX_BOOL : in[0]->type, n_dims, dim, out));
    return whole ? fold_wholes(in, n, r, c->arena, out) : fold_reals(in, n, r, c->arena, out);
}

/* Before opset 7, `broadcast` lays the second operand's axes from `axis` on against the first one's, and the
 * slopes of PRelu are per channel. */
static tw_status aligned(const tw_ref_case *c, const tw_array *a, const tw_array *b, tw_array *out)
{
    bool channels = strcmp(c->node->op, "PRelu") == 0 && b->n != 1;
    int64_t axis = tw_onnx_int(c->node, "axis", channels ? 1 : INT64_MAX);
    int first;
    *out = *b;
    if (c->opset >= 7 || axis == INT64_MAX || b->n_dims >= a->n_dims) return TW_OK;
    TW_TRY(tw_ref_axis(c, axis, a->n_dims, &first));
    if (first + b->n_dims > a->n_dims) return tw_ref_error(c, "the second operand ends behind the first");
    for (int i = first + b->n_dims; i < a->n_dims; i++) out->dim[out->n_dims++] = 1;
    return TW_OK;
}

static tw_status run_pair(const tw_ref_case *c, tw_array *output, const rule *r, bool mixed)
{
    const tw_array *in[2];
    tw_array second;
    TW_TRY(tw_ref_need(c, 0, &in[0]));
    TW_TRY(tw_ref_need(c, 1, &in[1]));
    TW_TRY(aligned(c, in[0], in[1], &second));
    in[1] = &second;
    return fold(c, in, 2, r, mixed, output);
}

/* ---- operators ---- */

#define PAIRS(X)                                                   \
    X(Add, real_add, whole_add, NULL, false, false)                \
    X(Sub, real_sub, whole_sub, NULL, false, false)                \
    X(Mul, real_mul, whole_mul, NULL, false, false)                \
    X(Div, real_div, whole_div, natural_div, false, false)         \
    X(Pow, pow, whole_pow, NULL, false, true)                      \
    X(PRelu, real_prelu, whole_prelu, natural_first, false, false) \
    X(Less, real_lt, whole_lt, natural_lt, true, false)            \
    X(LessOrEqual, real_le, whole_le, natural_le, true, false)     \
    X(Greater, real_gt, whole_gt, natural_gt, true, false)         \
    X(GreaterOrEqual, real_ge, whole_ge, natural_ge, true, false)  \
    X(And, NULL, whole_and, NULL, true, false)                     \
    X(Or, NULL, whole_or, NULL, true, false)                       \
    X(Xor, NULL, whole_xor, NULL, true, false)                     \
    X(BitwiseAnd, NULL, whole_and, NULL, false, false)             \
    X(BitwiseOr, NULL, whole_or, NULL, false, false)               \
    X(BitwiseXor, NULL, whole_xor, NULL, false, false)

#define X(op, real, whole, natural, truth, mixed)                                \
    static tw_status run_##op(const tw_ref_case *c, tw_array *output)            \
    {                                                                            \
        return run_pair(c, output, &(rule){real, whole, natural, truth}, mixed); \
    }
PAIRS(X)
#undef X

static tw_status equal_strings(const tw_ref_case *c, const tw_array *const *in, tw_array *out)
{
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    const char *const *a = in[0]->data, *const *b = in[1]->data;
    TW_TRY(tw_ref_broadcast(c, in, 2, &n_dims, dim));
    TW_TRY(tw_ref_make(c, TW_ONNX_BOOL, n_dims, dim, out));
    tw_walk w = tw_walk_of(n_dims, dim);
    tw_walk_operand(&w, in[0]);
    tw_walk_operand(&w, in[1]);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) tw_array_set(out, i, strcmp(a[w.at[0]], b[w.at[1]]) == 0);
    return TW_OK;
}

static tw_status run_equal(const tw_ref_case *c, tw_array *output)
{
    const tw_array *in[2];
    TW_TRY(tw_ref_need(c, 0, &in[0]));
    TW_TRY(tw_ref_need(c, 1, &in[1]));
    if (in[0]->type == TW_ONNX_STRING && in[1]->type == TW_ONNX_STRING) return equal_strings(c, in, output);
    return run_pair(c, output, &(rule){real_eq, whole_eq, NULL, true}, false);
}

static tw_status run_mod(const tw_ref_case *c, tw_array *output)
{
    rule as_c = {fmod, whole_rem, natural_mod, false}, as_python = {real_mod, whole_mod, natural_mod, false};
    return run_pair(c, output, tw_onnx_int(c->node, "fmod", 0) ? &as_c : &as_python, false);
}

static tw_status run_shift(const tw_ref_case *c, tw_array *output)
{
    const char *direction = tw_onnx_string(c->node, "direction", "");
    if (strcmp(direction, "LEFT") == 0)
        return run_pair(c, output, &(rule){NULL, whole_left, natural_left, false}, false);
    if (strcmp(direction, "RIGHT") == 0)
        return run_pair(c, output, &(rule){NULL, whole_right, natural_right, false}, false);
    return tw_ref_error(c, "direction '%s' is neither LEFT nor RIGHT", direction);
}

/* ---- any number of operands ---- */

static tw_status run_all(const tw_ref_case *c, tw_array *output, const rule *r)
{
    const tw_array **in;
    TW_ALLOC(c->arena, in, tw_max(c->n_inputs, 1));
    for (int i = 0; i < tw_max(c->n_inputs, 1); i++) TW_TRY(tw_ref_need(c, i, &in[i]));
    return fold(c, in, c->n_inputs, r, false, output);
}

static tw_status run_min(const tw_ref_case *c, tw_array *output)
{
    return run_all(c, output, &(rule){real_min, tw_min, natural_min, false});
}

static tw_status run_max(const tw_ref_case *c, tw_array *output)
{
    return run_all(c, output, &(rule){real_max, tw_max, natural_max, false});
}

static tw_status run_sum(const tw_ref_case *c, tw_array *output)
{
    return run_all(c, output, &(rule){.real = real_add});
}

static tw_status run_mean(const tw_ref_case *c, tw_array *output)
{
    return run_all(c, output, &(rule){.real = real_add, .mean = true});
}

/* ---- Where ---- */

static tw_status run_where(const tw_ref_case *c, tw_array *output)
{
    const tw_array *in[3];
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    for (int i = 0; i < 3; i++) TW_TRY(tw_ref_need(c, i, &in[i]));
    if (in[0]->type != TW_ONNX_BOOL) return tw_ref_error(c, "the condition is not of type bool");
    if (in[1]->type != in[2]->type) return tw_ref_error(c, "the two choices have different types");
    TW_TRY(tw_ref_broadcast(c, in, 3, &n_dims, dim));
    TW_TRY(tw_ref_make(c, in[1]->type, n_dims, dim, output));
    size_t bytes = (size_t)tw_array_elem_bytes(in[1]->type);
    tw_walk w = tw_walk_of(n_dims, dim);
    for (int k = 0; k < 3; k++) tw_walk_operand(&w, in[k]);
    for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) {
        int choice = ((const uint8_t *)in[0]->data)[w.at[0]] ? 1 : 2;
        memcpy((char *)output->data + (size_t)i * bytes,
               (const char *)in[choice]->data + (size_t)w.at[choice] * bytes, bytes);
    }
    return TW_OK;
}

const tw_ref_entry tw_ref_binary[] = {
#define X(op, real, whole, natural, truth, mixed) {#op, "", run_##op},
    PAIRS(X)
#undef X
        {"Equal", "", run_equal},
    {"Mod", "", run_mod},
    {"BitShift", "", run_shift},
    {"Min", "", run_min},
    {"Max", "", run_max},
    {"Sum", "", run_sum},
    {"Mean", "", run_mean},
    {"Where", "", run_where},
    {0},
};
