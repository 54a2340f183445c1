/* src/reference/move_cast.c - elements of another type.
 *
 * Floats lose their fraction on the way to integers and wrap around there, as tw_array_get_int has it; the standard
 * leaves open what becomes of too large ones. Floats become the shortest text that reads back as the same number. */
#include "reference/moving.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- texts ---- */

static const char *shortest(double x, tw_onnx_type type, tw_arena *arena)
{
    char text[40];
    if (isnan(x)) return "NaN";
    if (isinf(x)) return x > 0 ? "INF" : "-INF";
    for (int digits = 1; digits <= 17; digits++) {
        tw_snprintf(text, sizeof text, "%.*g", digits, x);
        double back =
            type == TW_ONNX_F32 ? (double)tw_strtof(text, NULL) : tw_onnx_rounded(type, tw_strtod(text, NULL));
        if (back == x) break;
    }
    return tw_arena_strndup(arena, text, strlen(text));
}

static const char *text_of(const tw_array *x, int64_t i, tw_arena *arena)
{
    if (tw_onnx_is_float(x->type)) return shortest(tw_array_get(x, i), x->type, arena);
    int64_t v = tw_array_get_int(x, i);
    if (x->type == TW_ONNX_U64) return tw_arena_printf(arena, "%" PRIu64, (uint64_t)v);
    return tw_arena_printf(arena, "%" PRId64, v);
}

static tw_status cast_to_text(const tw_array *x, tw_arena *arena, tw_array *out)
{
    const char **text = tw_moving_at(out, 0);
    for (int64_t i = 0; i < x->n; i++)
        if (!(text[i] = text_of(x, i, arena))) return TW_ERR_NOMEM;
    return TW_OK;
}

/* One text as a float or an integer of the output; false when it is not one. */
static bool read_text(const char *text, tw_array *one)
{
    char *end;
    errno = 0;
    if (one->type == TW_ONNX_F32) {
        *(float *)tw_moving_at(one, 0) = tw_strtof(text, &end);
    } else if (tw_onnx_is_float(one->type)) {
        tw_array_put_reals(one, &(double){tw_strtod(text, &end)});
    } else {
        int64_t v = one->type == TW_ONNX_U64 ? (int64_t)strtoull(text, &end, 10) : strtoll(text, &end, 10);
        if (errno != 0) return false;
        tw_array_put_wholes(one, &v);
    }
    return end != text && *end == 0;
}

static tw_status cast_from_text(const tw_ref_case *c, const tw_array *x, tw_array *out)
{
    const char *const *text = x->data;
    for (int64_t i = 0; i < x->n; i++) {
        tw_array one = {.type = out->type, .n = 1, .data = tw_moving_at(out, i)};
        if (!read_text(text[i], &one))
            return tw_ref_error(c, "'%.*s' is not a number of type %s", TW_FIRST(40, text[i]),
                                tw_onnx_type_name(out->type));
    }
    return TW_OK;
}

/* ---- numbers ---- */

static void cast_element(const tw_array *x, int64_t i, tw_array *one)
{
    bool from_real = tw_onnx_is_float(x->type), to_real = tw_onnx_is_float(one->type);
    int64_t v = tw_array_get_int(x, i);
    if (from_real && (to_real || one->type == TW_ONNX_BOOL))
        tw_array_set(one, 0, tw_array_get(x, i));
    else if (one->type == TW_ONNX_BOOL)
        tw_array_put_wholes(one, &(int64_t){v != 0});
    else if (!to_real)
        tw_array_put_wholes(one, &v);
    else if (one->type != TW_ONNX_F32)
        tw_array_set(one, 0, tw_array_get(x, i));
    else
        *(float *)tw_moving_at(one, 0) = x->type == TW_ONNX_U64 ? (float)(uint64_t)v : (float)v;
}

static tw_status cast_to(const tw_ref_case *c, const tw_array *x, tw_onnx_type type, tw_array *out)
{
    bool from_text = x->type == TW_ONNX_STRING, to_text = type == TW_ONNX_STRING;
    if (x->type != type && ((!from_text && !tw_onnx_is_number(x->type)) || (!to_text && !tw_onnx_is_number(type))))
        return tw_ref_unknown(c, "from %s to %s", tw_onnx_type_name(x->type), tw_onnx_type_name(type));
    TW_TRY(tw_ref_make(c, type, x->n_dims, x->dim, out));
    if (x->type == type) {
        tw_moving_run(out, 0, x, 0, x->n);
        return TW_OK;
    }
    if (to_text) return cast_to_text(x, c->arena, out);
    if (from_text) return cast_from_text(c, x, out);
    for (int64_t i = 0; i < x->n; i++)
        cast_element(x, i, &(tw_array){.type = type, .n = 1, .data = tw_moving_at(out, i)});
    return TW_OK;
}

/* Opset 1 names the type, later it is a number; -1: no type that is known. */
static int64_t type_of(const tw_attribute *to)
{
    if (to->kind != TW_ATTR_STRING) return to->i > 0 && to->i < TW_ONNX_N_TYPES ? to->i : -1;
    for (int t = 1; t < TW_ONNX_N_TYPES; t++)
        if (tw_same_word(tw_onnx_type_name((tw_onnx_type)t), to->s)) return t;
    return -1;
}

tw_status tw_run_cast(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x;
    TW_TRY(tw_ref_need(c, 0, &x));
    const tw_attribute *to = tw_onnx_attribute(c->node, "to");
    if (!to) return tw_ref_error(c, "'to' is missing");
    int64_t type = type_of(to);
    if (type < 0) return tw_ref_unknown(c, "type %" PRId64, to->i);
    return cast_to(c, x, (tw_onnx_type)type, output);
}

tw_status tw_run_cast_like(const tw_ref_case *c, tw_array *output)
{
    const tw_array *x, *like;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_need(c, 1, &like));
    return cast_to(c, x, like->type, output);
}
