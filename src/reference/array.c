/* src/reference/array.c - elements of every type as double or int64_t, see reference.h and entries.h.
 *
 * A conversion is one switch over the types with a loop in each case; the macros EACH_WHOLE and LOOP keep that to a
 * page. Half floats go through float: to nearest even from there, and from a double by rounding to odd first, so
 * that no value is rounded twice. */
#include "reference/entries.h"

#include <math.h>
#include <string.h>

#define EACH_WHOLE(X) \
    X(U8, uint8_t)    \
    X(I8, int8_t)     \
    X(U16, uint16_t)  \
    X(I16, int16_t)   \
    X(U32, uint32_t)  \
    X(I32, int32_t)   \
    X(U64, uint64_t)  \
    X(I64, int64_t)
#define LOOP(statement)                            \
    do {                                           \
        for (int64_t i = 0; i < n; i++) statement; \
    } while (0)

/* ---- half floats ---- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float tw_f16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, fraction = bits & 1023u;
    if (exponent == 31) return float_of(sign | 0x7f800000u | fraction << 13);
    float magnitude =
        exponent == 0 ? ldexpf((float)fraction, -24) : float_of((exponent + 112) << 23 | fraction << 13);
    return sign ? -magnitude : magnitude;
}

/* x >> shift, to nearest even; 0 < shift < 32. */
static uint32_t shifted_to_even(uint32_t x, uint32_t shift)
{
    uint32_t half = 1u << (shift - 1), kept = x >> shift, lost = x & ((1u << shift) - 1);
    return kept + (lost > half || (lost == half && (kept & 1)));
}

uint16_t tw_f16_of_float(float x)
{
    uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (rest >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* 2^16 and more */
    if (rest >= 0x38800000u) return (uint16_t)(sign | shifted_to_even(rest - 0x38000000u, 13));
    if (rest < 0x33000000u) return (uint16_t)sign; /* below half of the smallest */
    uint32_t fraction = (rest & 0x7fffffu) | 0x800000u;
    return (uint16_t)(sign | shifted_to_even(fraction, 126 - (rest >> 23)));
}

float tw_bf16_to_float(uint16_t bits) { return float_of((uint32_t)bits << 16); }

uint16_t tw_bf16_of_float(float x)
{
    uint32_t bits = bits_of(x);
    if (x != x) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)shifted_to_even(bits, 16);
}

/* A float that rounds on to any narrower format as x itself would: towards zero, with the last bit set when
 * inexact. */
static float odd_float(double x)
{
    float near = (float)x;
    if (near == x || x != x) return near;
    uint32_t bits = isinf(near) ? bits_of(near) - 1 : bits_of(near);
    if (fabs((double)float_of(bits)) > fabs(x)) bits--;
    return float_of(bits | 1u);
}

static uint16_t f16_of_double(double x) { return tw_f16_of_float(odd_float(x)); }
static uint16_t bf16_of_double(double x) { return tw_bf16_of_float(odd_float(x)); }

/* ---- one element ---- */

/* Bits of the whole part modulo 2^64; 0 of what is not a number. */
static uint64_t wrapped(double x)
{
    if (!isfinite(x)) return 0;
    double rest = fmod(trunc(x), 0x1p64);
    return rest < 0 ? 0 - (uint64_t)-rest : (uint64_t)rest;
}

double tw_array_get(const tw_array *array, int64_t i)
{
    switch (array->type) {
    case TW_ONNX_F32: return ((const float *)array->data)[i];
    case TW_ONNX_F64: return ((const double *)array->data)[i];
    case TW_ONNX_F16: return tw_f16_to_float(((const uint16_t *)array->data)[i]);
    case TW_ONNX_BF16: return tw_bf16_to_float(((const uint16_t *)array->data)[i]);
    case TW_ONNX_U64: return (double)((const uint64_t *)array->data)[i];
    default: return (double)tw_array_get_int(array, i);
    }
}

int64_t tw_array_get_int(const tw_array *array, int64_t i)
{
    switch (array->type) {
#define X(id, type) \
    case TW_ONNX_##id: return (int64_t)((const type *)array->data)[i];
        EACH_WHOLE(X)
#undef X
    case TW_ONNX_BOOL: return ((const uint8_t *)array->data)[i] != 0;
    case TW_ONNX_F32:
    case TW_ONNX_F64:
    case TW_ONNX_F16:
    case TW_ONNX_BF16: return (int64_t)wrapped(tw_array_get(array, i));
    default: return 0;
    }
}

void tw_array_set(tw_array *array, int64_t i, double value)
{
    void *data = (void *)array->data;
    switch (array->type) {
    case TW_ONNX_F32: ((float *)data)[i] = (float)value; break;
    case TW_ONNX_F64: ((double *)data)[i] = value; break;
    case TW_ONNX_F16: ((uint16_t *)data)[i] = f16_of_double(value); break;
    case TW_ONNX_BF16: ((uint16_t *)data)[i] = bf16_of_double(value); break;
    case TW_ONNX_BOOL: ((uint8_t *)data)[i] = value != 0; break;
#define X(id, type) \
    case TW_ONNX_##id: ((type *)data)[i] = (type)wrapped(value); break;
        EACH_WHOLE(X)
#undef X
    default: break;
    }
}

double tw_onnx_rounded(tw_onnx_type type, double x)
{
    uint64_t room;
    tw_array one = {.type = type, .n = 1, .data = &room};
    tw_array_set(&one, 0, x);
    return tw_array_get(&one, 0);
}

/* ---- all elements ---- */

bool tw_onnx_is_float(tw_onnx_type type)
{
    return type == TW_ONNX_F32 || type == TW_ONNX_F64 || type == TW_ONNX_F16 || type == TW_ONNX_BF16;
}

bool tw_onnx_is_whole(tw_onnx_type type)
{
    switch (type) {
#define X(id, type_) case TW_ONNX_##id:
        EACH_WHOLE(X)
#undef X
    case TW_ONNX_BOOL: return true;
    default: return false;
    }
}

bool tw_onnx_is_number(tw_onnx_type type) { return tw_onnx_is_float(type) || tw_onnx_is_whole(type); }

int64_t tw_array_elem_bytes(tw_onnx_type type)
{
    return type == TW_ONNX_STRING ? (int64_t)sizeof(char *) : tw_onnx_type_bytes(type);
}

tw_status tw_array_new(tw_onnx_type type, int n_dims, const int64_t *dim, tw_arena *arena, tw_array *out)
{
    tw_array a = {.type = type, .n_dims = n_dims, .n = 1};
    for (int i = 0; i < n_dims; i++) {
        a.dim[i] = dim[i];
        if (!tw_ckd_mul(a.n, dim[i], &a.n)) return TW_ERR_NOMEM;
    }
    char *data = tw_arena_alloc(arena, (size_t)tw_max(a.n, 1), (size_t)tw_max(tw_array_elem_bytes(type), 1));
    if (!data) return TW_ERR_NOMEM;
    a.data = data;
    *out = a;
    return TW_OK;
}

double *tw_array_reals(const tw_array *a, tw_arena *arena)
{
    int64_t n = a->n;
    double *v = TW_NEW(arena, double, tw_max(n, 1));
    if (!v) return NULL;
    switch (a->type) {
    case TW_ONNX_F32: LOOP(v[i] = (double)((const float *)a->data)[i]); break;
#define X(id, type) \
    case TW_ONNX_##id: LOOP(v[i] = (double)((const type *)a->data)[i]); break;
        EACH_WHOLE(X)
#undef X
    default: LOOP(v[i] = tw_array_get(a, i)); break;
    }
    return v;
}

int64_t *tw_array_wholes(const tw_array *a, tw_arena *arena)
{
    int64_t n = a->n;
    int64_t *v = TW_NEW(arena, int64_t, tw_max(n, 1));
    if (v) LOOP(v[i] = tw_array_get_int(a, i));
    return v;
}

void tw_array_put_reals(tw_array *out, const double *v)
{
    int64_t n = out->n;
    if (out->type == TW_ONNX_F32)
        LOOP(((float *)out->data)[i] = (float)v[i]);
    else
        LOOP(tw_array_set(out, i, v[i]));
}

void tw_array_put_wholes(tw_array *out, const int64_t *v)
{
    int64_t n = out->n;
    void *data = (void *)out->data;
    switch (out->type) {
#define X(id, type) \
    case TW_ONNX_##id: LOOP(((type *)data)[i] = (type)v[i]); break;
        EACH_WHOLE(X)
#undef X
    case TW_ONNX_BOOL: LOOP(((uint8_t *)data)[i] = v[i] != 0); break;
    default: LOOP(tw_array_set(out, i, (double)v[i])); break;
    }
}
