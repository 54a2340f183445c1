/* src/verify/numbers.c - see numbers.h.
 *
 * The choice of values. A sum of n products is exact while its magnitude stays below the limit of the
 * output's type. Small amplitudes are tried first; when even products of -1, 0 and 1 could overflow (n
 * above the limit), the first input is thinned out until the sum stays far from the limit: eight standard
 * deviations, or four times the mean where nothing is negative. Averages divide: their inputs are multiples
 * of all divisors that occur, if the type has room for that. Formulas make anything of integers: where their values are
 * added up, they are rounded and cut off so that the sum is exact; a maximum or a map has nothing to lose. */
#include "verify/numbers.h"

#include <math.h>
#include <string.h>

#include "verify/shape.h"

#define FOR_EACH_TYPE(X) \
    X(I8, int8_t)        \
    X(U8, uint8_t)       \
    X(I16, int16_t)      \
    X(I32, int32_t)      \
    X(F32, float)        \
    X(F64, double)       \
    X(U16, uint16_t)     \
    X(U32, uint32_t)     \
    X(I64, int64_t)      \
    X(U64, uint64_t)     \
    X(BOOL, uint8_t)

/* ---- f16 and bf16: a sign, so many bits of exponent, the rest of the digits ---- */

typedef struct narrow {
    int digits; /* behind the point */
    int least;  /* exponent of the smallest normal number */
} narrow;
static narrow narrow_of(tw_dtype dtype) { return dtype == TW_DTYPE_F16 ? (narrow){10, -14} : (narrow){7, -126}; }

static double narrow_to_double(narrow t, uint16_t code)
{
    int size = code & 0x7fff, exponent = size >> t.digits, digits = size & ((1 << t.digits) - 1);
    double x;
    if (exponent == (0x7fff >> t.digits))
        x = digits ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        x = ldexp(digits, t.least - t.digits);
    else
        x = ldexp(digits + (1 << t.digits), t.least - t.digits + exponent - 1);
    return code & 0x8000 ? -x : x;
}

/* To nearest, ties to even: a carry out of the digits goes into the exponent, and out of that makes infinity. */
static uint16_t narrow_of_double(narrow t, double x)
{
    int sign = signbit(x) ? 0x8000 : 0, infinity = 0x7fff >> t.digits << t.digits, exponent;
    if (isnan(x)) return (uint16_t)(infinity | 1 << (t.digits - 1));
    if (isinf(x) || x == 0) return (uint16_t)(sign | (x == 0 ? 0 : infinity));
    (void)frexp(x, &exponent);
    int scale = exponent - 1 > t.least ? exponent - 1 : t.least; /* of the last digit, times 2^digits */
    double steps = rint(ldexp(fabs(x), t.digits - scale));
    int64_t code = (int64_t)steps + ((int64_t)(scale - t.least) << t.digits);
    return (uint16_t)(sign | (int)tw_min(code, infinity));
}

void tw_numbers_unpack(tw_dtype dtype, const uint8_t *bytes, int64_t n, double *out)
{
    switch (dtype) {
#define X(id, type)                                             \
    case TW_DTYPE_##id:                                         \
        for (int64_t i = 0; i < n; i++) {                       \
            type x;                                             \
            memcpy(&x, bytes + (size_t)i * sizeof x, sizeof x); \
            out[i] = (double)x;                                 \
        }                                                       \
        break;
        FOR_EACH_TYPE(X)
#undef X
    case TW_DTYPE_F16:
    case TW_DTYPE_BF16:
        for (int64_t i = 0; i < n; i++) {
            uint16_t x;
            memcpy(&x, bytes + (size_t)i * sizeof x, sizeof x);
            out[i] = narrow_to_double(narrow_of(dtype), x);
        }
        break;
    case TW_N_DTYPES: break;
    }
}

static void range_of(tw_dtype dtype, double *lo, double *hi)
{
    *lo = -INFINITY, *hi = INFINITY;
    switch (dtype) {
    case TW_DTYPE_I8: *lo = INT8_MIN, *hi = INT8_MAX; break;
    case TW_DTYPE_U8: *lo = 0, *hi = UINT8_MAX; break;
    case TW_DTYPE_I16: *lo = INT16_MIN, *hi = INT16_MAX; break;
    case TW_DTYPE_I32: *lo = INT32_MIN, *hi = INT32_MAX; break;
    case TW_DTYPE_U16: *lo = 0, *hi = UINT16_MAX; break;
    case TW_DTYPE_U32: *lo = 0, *hi = UINT32_MAX; break;
    case TW_DTYPE_I64: *lo = -0x1p63, *hi = 0x1.fffffffffffffp62; break; /* the last double below 2^63 */
    case TW_DTYPE_U64: *lo = 0, *hi = 0x1.fffffffffffffp63; break;
    case TW_DTYPE_BOOL: *lo = 0, *hi = 1; break;
    default: break;
    }
}

static bool fits(double x, bool is_float, double lo, double hi)
{
    return is_float || (x >= lo && x <= hi && (x >= 0x1p53 || x == (double)(int64_t)x));
}

int64_t tw_numbers_pack(tw_dtype dtype, const double *value, int64_t n, uint8_t *bytes)
{
    double lo, hi;
    bool is_float = tw_dtype_is_float(dtype);
    range_of(dtype, &lo, &hi);
    switch (dtype) {
#define X(id, type)                                             \
    case TW_DTYPE_##id:                                         \
        for (int64_t i = 0; i < n; i++) {                       \
            if (!fits(value[i], is_float, lo, hi)) return i;    \
            type x = (type)value[i];                            \
            memcpy(bytes + (size_t)i * sizeof x, &x, sizeof x); \
        }                                                       \
        break;
        FOR_EACH_TYPE(X)
#undef X
    case TW_DTYPE_F16:
    case TW_DTYPE_BF16:
        for (int64_t i = 0; i < n; i++) {
            uint16_t x = narrow_of_double(narrow_of(dtype), value[i]);
            memcpy(bytes + (size_t)i * sizeof x, &x, sizeof x);
        }
        break;
    case TW_N_DTYPES: break;
    }
    return n;
}

int64_t tw_numbers_round(tw_dtype dtype, double *value, int64_t n)
{
    uint8_t bytes[8];
    for (int64_t i = 0; i < n; i++) {
        if (tw_numbers_pack(dtype, &value[i], 1, bytes) < 1) return i;
        tw_numbers_unpack(dtype, bytes, 1, &value[i]);
    }
    return n;
}

static double smaller(double a, double b) { return a < b ? a : b; }

/* The value below all others: -128 for i8, minus infinity for f32; and the one above all others. */
static double lowest(tw_dtype dtype)
{
    double lo, hi;
    range_of(dtype, &lo, &hi);
    return lo;
}

static double highest(tw_dtype dtype)
{
    double lo, hi;
    range_of(dtype, &lo, &hi);
    return hi;
}

double tw_numbers_neutral(tw_compute compute, tw_dtype dtype)
{
    switch (compute) {
    case TW_MAX: return lowest(dtype);
    case TW_MIN: return highest(dtype);
    case TW_PRODUCT: return 1;
    default: return 0;
    }
}

/* Integers up to this magnitude are exact in the type. */
static double exact_limit(tw_dtype dtype)
{
    double lo, hi;
    if (dtype == TW_DTYPE_F32) return 1 << 24;
    if (dtype == TW_DTYPE_F16) return 1 << 11;
    if (dtype == TW_DTYPE_BF16) return 1 << 8;
    if (dtype == TW_DTYPE_F64) return (double)(INT64_C(1) << 53);
    range_of(dtype, &lo, &hi);
    return smaller(hi, (double)(INT64_C(1) << 53));
}

/* ---- averages ---- */

static unsigned loops_where(const tw_op *op, bool reduces)
{
    unsigned loops = 0;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces == reduces) loops |= 1u << l;
    return loops;
}

static bool input_exists(const tw_operand *input, const int64_t index[TW_MAX_LOOPS])
{
    int64_t at;
    for (int a = 0; a < input->n_axes; a++)
        if (!tw_verify_position(&input->axis[a], index, &at)) return false;
    return true;
}

/* Points of the window at one output; `index` holds the output's loops. */
static int64_t window_points(const tw_op *op, const tw_box *box, const int64_t index[TW_MAX_LOOPS])
{
    unsigned reductions = loops_where(op, true);
    int64_t at[TW_MAX_LOOPS], n = 0;
    memcpy(at, index, sizeof at);
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) at[l] = 0;
    do {
        bool exists = op->average_counts_padding;
        for (int o = 0; o < tw_op_output(op) && !exists; o++) exists = input_exists(&op->operand[o], at);
        n += exists;
    } while (tw_verify_visit_next(box, reductions, at));
    return n;
}

/* Where an output position lies in its tensor. */
static int64_t output_at(const tw_op *op, const int64_t index[TW_MAX_LOOPS])
{
    const tw_operand *out = &op->operand[tw_op_output(op)];
    int64_t at = 0;
    for (int a = 0; a < out->n_axes; a++) at = at * out->axis[a].extent + index[out->axis[a].term[0].loop];
    return at;
}

double *tw_numbers_divisors(const tw_op *op, tw_arena *arena)
{
    double *divisor = TW_NEW(arena, double, tw_operand_elems(&op->operand[tw_op_output(op)]));
    if (!divisor) return NULL;
    tw_box box = tw_verify_whole_box(op);
    unsigned outputs = loops_where(op, false);
    int64_t index[TW_MAX_LOOPS];
    tw_verify_visit_first(&box, outputs, index);
    do divisor[output_at(op, index)] = (double)tw_max(1, window_points(op, &box, index));
    while (tw_verify_visit_next(&box, outputs, index));
    return divisor;
}

/* ---- the choice ---- */

/* The least common multiple of n divisors, or something above `limit`. */
static int64_t common_multiple(const double *divisor, int64_t n, int64_t limit)
{
    int64_t multiple = 1;
    for (int64_t i = 0; i < n && multiple <= limit; i++) {
        int64_t d = (int64_t)divisor[i];
        assert(d > 0);
        multiple = multiple / tw_gcd(multiple, d) * d;
    }
    return multiple;
}

static double reduction_points(const tw_op *op)
{
    double n = 1;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) n *= (double)op->loop[l].extent;
    return n;
}

static tw_dtype dtype_of(const tw_model *model, const tw_op *op, int operand)
{
    return model->tensor[op->operand[operand].tensor].dtype;
}

/* What both the output and its partial sums hold exactly; the output is something else where these are finished. */
static double output_limit(const tw_model *model, const tw_op *op)
{
    if (op->finish) return exact_limit(op->accumulator);
    return smaller(exact_limit(dtype_of(model, op, tw_op_output(op))), exact_limit(op->accumulator));
}

static void draw_sums(tw_draw *draw, const tw_op *op, double limit)
{
    bool product = op->compute == TW_MULTIPLY_ADD;
    int n_inputs = tw_op_n_variables(op);
    double n = reduction_points(op) * (product ? 1 : n_inputs), term = 0;
    for (draw->amplitude = 4; draw->amplitude > 0; draw->amplitude /= 2) {
        double largest = (double)(2 * draw->amplitude);
        term = largest;
        for (int i = 1; i < n_inputs && product; i++) term *= largest;
        if (n * term <= limit) return;
    }
    draw->amplitude = 1;
    double share = draw->positive ? limit / (4 * n) : limit * limit / (64 * n);
    draw->density = share < 1 ? share : 1;
}

static void draw_averages(tw_draw *draw, const tw_model *model, const tw_op *op, const double *divisor)
{
    int output = tw_op_output(op);
    double room = smaller(exact_limit(dtype_of(model, op, 0)), output_limit(model, op));
    bool is_float = tw_dtype_is_float(dtype_of(model, op, 0)) && tw_dtype_is_float(dtype_of(model, op, output)) &&
                    tw_dtype_is_float(op->accumulator);
    if (is_float) room = smaller(room, 1 << 24) / reduction_points(op); /* a reference may add before it divides */
    int64_t most = INT64_C(1) << 20;
    draw->scale = common_multiple(divisor, tw_operand_elems(&op->operand[output]), most);
    draw->amplitude = (int64_t)smaller(4, room / (2 * (double)draw->scale));
    if (draw->scale <= most && draw->amplitude > 0) return;
    draw->scale = 1;
    draw->amplitude = 4;
    if (is_float || op->finish) {
        draw->tolerance = 1e-5;
    } else {
        draw->undivided = true;
        draw_sums(draw, op, output_limit(model, op));
    }
}

static bool is_unsigned(tw_dtype dtype) { return lowest(dtype) == 0; }

/* A product of n such numbers has some twos in it, far fewer than the type has room for. */
static void draw_factors(tw_draw *draw, const tw_op *op, double limit)
{
    double bits = floor(log2(limit)), n = reduction_points(op);
    draw->factors = true;
    draw->density = n <= bits ? 0.5 : smaller(0.5, bits / (16 * n));
}

tw_draw tw_draw_of(const tw_model *model, const tw_op *op, const double *divisor)
{
    tw_dtype out = dtype_of(model, op, tw_op_output(op));
    tw_draw draw = {.amplitude = 4, .scale = 1, .density = 1};
    double limit = output_limit(model, op);
    bool sums = op->compute == TW_MULTIPLY_ADD || op->compute == TW_ADD;
    draw.positive = (!op->finish && is_unsigned(out)) || is_unsigned(op->accumulator);
    if (op->value && (sums || op->compute == TW_PRODUCT))
        draw.bound = limit < reduction_points(op) ? 1 : floor(limit / reduction_points(op));
    else if (op->compute == TW_AVERAGE)
        draw_averages(&draw, model, op, divisor);
    else if (op->compute == TW_PRODUCT)
        draw_factors(&draw, op, limit);
    else if (sums)
        draw_sums(&draw, op, limit);
    return draw;
}

double tw_draw_one(const tw_draw *draw, tw_dtype dtype, uint64_t *state)
{
    uint64_t r = tw_random_next(state);
    int64_t a = draw->amplitude;
    bool positive = draw->positive || is_unsigned(dtype);
    bool in_share = draw->density >= 1 || (double)(tw_random_next(state) >> 11) * 0x1p-53 < draw->density;
    if (dtype == TW_DTYPE_BOOL) return (double)(r & 1);
    if (draw->factors) return (double)draw->scale * (in_share && a > 1 ? 2 : positive || r & 1 ? 1 : -1);
    if (!in_share) return 0;
    int64_t x = positive ? (int64_t)(r % (uint64_t)(2 * a)) : (int64_t)(r % (uint64_t)(2 * a + 1)) - a;
    return (double)(x * draw->scale);
}

void tw_draw_held(int held, uint64_t seed, int64_t n, double *out)
{
    uint64_t state = seed + (uint64_t)(held + 1) * UINT64_C(0x9fb21c651e98df25);
    for (int64_t i = 0; i < n; i++) out[i] = (double)(1 + tw_random_next(&state) % 4);
}

void tw_draw_fill(const tw_draw *draw, const tw_model *model, const tw_op *op, int operand, uint64_t seed,
                  double *out)
{
    int tensor = op->operand[operand].tensor;
    tw_draw mine = *draw;
    if (!draw->factors && tensor != op->operand[0].tensor && tw_op_variable(op, operand) != 0) mine.density = 1;
    int64_t n = tw_operand_elems(&op->operand[operand]);
    uint64_t state = seed + (uint64_t)tensor * UINT64_C(0x632be59bd9b4e019);
    for (int64_t i = 0; i < n; i++) out[i] = tw_draw_one(&mine, model->tensor[tensor].dtype, &state);
}
