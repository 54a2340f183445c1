/* src/lower/tensors.c - the tensors of a network, and how they are seen, see build.h. */
#include "lower/build.h"

#include <stdio.h>
#include <string.h>

void tw_refuse(tw_lowering *l, const char *why)
{
    if (!l->why) l->why = why;
}

bool tw_room_for(tw_lowering *l, void *items, int n, int *room, size_t size)
{
    void *old;
    if (n < *room) return true;
    int more = *room ? *room * 2 : 64;
    void *grown = l->no_memory ? NULL : tw_arena_alloc(l->arena, (size_t)more, size);
    if (!grown) {
        l->no_memory = true;
        return false;
    }
    memcpy(&old, items, sizeof old);
    if (n) memcpy(grown, old, (size_t)n * size);
    memcpy(items, &grown, sizeof grown);
    *room = more;
    return true;
}

void tw_lowering_beat(tw_lowering *l)
{
    enum { WORK = 256 };
    if (tw_pulse_is_over(&l->pulse, WORK)) l->no_memory = l->stopped = true;
}

bool tw_room_for_step(tw_lowering *l)
{
    tw_lowering_beat(l);
    if (l->n_steps == TW_LOWER_MAX_STEPS) l->no_memory = l->too_many = true;
    return !l->no_memory && tw_room_for(l, &l->step, l->n_steps, &l->step_room, sizeof *l->step);
}

const char *tw_say(tw_lowering *l, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = tw_vsnprintf(NULL, 0, fmt, args);
    char *text = n < 0 ? NULL : tw_arena_alloc(l->arena, (size_t)n + 1, 1);
    if (text) tw_vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    if (!text) l->no_memory = true;
    return text ? text : "";
}

/* ---- types ---- */

static tw_dtype plain_dtype(tw_onnx_type type)
{
    switch (type) {
    case TW_ONNX_F32: return TW_DTYPE_F32;
    case TW_ONNX_U8: return TW_DTYPE_U8;
    case TW_ONNX_I8: return TW_DTYPE_I8;
    case TW_ONNX_U16: return TW_DTYPE_U16;
    case TW_ONNX_I16: return TW_DTYPE_I16;
    case TW_ONNX_I32: return TW_DTYPE_I32;
    case TW_ONNX_I64: return TW_DTYPE_I64;
    case TW_ONNX_BOOL: return TW_DTYPE_BOOL;
    case TW_ONNX_F16: return TW_DTYPE_F16;
    case TW_ONNX_F64: return TW_DTYPE_F64;
    case TW_ONNX_U32: return TW_DTYPE_U32;
    case TW_ONNX_U64: return TW_DTYPE_U64;
    case TW_ONNX_BF16: return TW_DTYPE_BF16;
    default: return TW_N_DTYPES;
    }
}

tw_dtype tw_dtype_of(const tw_lowering *l, tw_onnx_type type)
{
    bool other = type == TW_ONNX_F32 && l->options->float_as != TW_N_DTYPES;
    return other ? l->options->float_as : plain_dtype(type);
}

bool tw_is_float_type(tw_onnx_type type)
{
    return type == TW_ONNX_F32 || type == TW_ONNX_F64 || type == TW_ONNX_F16 || type == TW_ONNX_BF16;
}

static int bits_of(tw_onnx_type type) { return (int)tw_onnx_type_bytes(type) * 8; }

static bool is_signed(tw_onnx_type type)
{
    return type == TW_ONNX_I8 || type == TW_ONNX_I16 || type == TW_ONNX_I32 || type == TW_ONNX_I64;
}

static double power_of_two(int n)
{
    double x = 1;
    while (n-- > 0) x *= 2;
    return x;
}

double tw_type_lowest(tw_onnx_type type) { return is_signed(type) ? -power_of_two(bits_of(type) - 1) : 0; }

double tw_type_highest(tw_onnx_type type) { return power_of_two(bits_of(type) - is_signed(type)) - 1; }

/* ---- shapes ---- */

int64_t tw_product(const int64_t *dim, int n)
{
    int64_t product = 1;
    for (int d = 0; d < n; d++)
        if (!tw_ckd_mul(product, dim[d], &product)) return INT64_MAX;
    return product;
}

int64_t tw_elems_of(tw_seen seen) { return tw_product(seen.dim, seen.n_dims); }

tw_seen tw_reshaped(tw_seen seen, int n_dims, const int64_t *dim)
{
    tw_seen other = {.tensor = seen.tensor, .n_dims = n_dims};
    memcpy(other.dim, dim, (size_t)n_dims * sizeof *dim);
    return other;
}

const tw_shape_of_value *tw_shape_of(const tw_lowering *l, int value) { return &l->shapes->value[value]; }

/* ---- the table ---- */

/* A tensor in the making. */
typedef struct entry {
    tw_tensor tensor; /* root -1: itself */
    tw_tensor_source source;
} entry;

/* Its number; type and bytes are settled here. */
static int add_tensor(tw_lowering *l, entry e)
{
    if (!tw_room_for(l, &l->tensor, l->n_tensors, &l->tensor_room, sizeof *l->tensor) ||
        !tw_room_for(l, &l->source, l->n_tensors, &l->source_room, sizeof *l->source))
        return 0;
    tw_tensor *t = &e.tensor;
    t->dtype = tw_dtype_of(l, e.source.type);
    int64_t width = t->dtype == TW_N_DTYPES ? tw_onnx_type_bytes(e.source.type) : tw_dtype_bytes(t->dtype);
    if (!tw_ckd_mul(tw_tensor_elems(t), width, &t->bytes)) t->bytes = INT64_MAX;
    if (t->root < 0) t->root = l->n_tensors;
    l->tensor[l->n_tensors] = *t;
    l->source[l->n_tensors] = e.source;
    return l->n_tensors++;
}

static tw_tensor_role role_of(const tw_lowering *l, int value)
{
    const tw_value *v = &l->file->value[value];
    if (tw_is_constant(l, value)) return TW_ROLE_CONSTANT;
    return v->node < 0 ? TW_ROLE_INPUT : TW_ROLE_BETWEEN;
}

static void set_shape(tw_tensor *t, int n_dims, const int64_t *dim)
{
    _Static_assert((int)TW_MAX_TENSOR_AXES == (int)TW_ONNX_MAX_DIMS, "every tensor of a file is one of the graph");
    t->n_axes = n_dims;
    memcpy(t->extent, dim, (size_t)n_dims * sizeof *dim);
}

static entry tensor_of_value(const tw_lowering *l, int value)
{
    const tw_shape_of_value *shape = tw_shape_of(l, value);
    const tw_value *v = &l->file->value[value];
    entry e = {.tensor = {.name = v->name, .role = role_of(l, value), .root = -1}, .source = {.value = value}};
    e.tensor.unshaped = !shape->known || !shape->is_tensor;
    e.source.type = shape->is_tensor ? shape->type : TW_ONNX_NONE;
    if (!v->constant && e.tensor.role == TW_ROLE_CONSTANT) e.source.literal = shape->constant;
    if (!e.tensor.unshaped) set_shape(&e.tensor, shape->n_dims, shape->dim);
    return e;
}

int tw_tensor_of(tw_lowering *l, int value)
{
    if (value < 0) return -1;
    if (l->tensor_of_value[value] < 0) l->tensor_of_value[value] = add_tensor(l, tensor_of_value(l, value));
    return l->tensor_of_value[value];
}

tw_seen tw_see(tw_lowering *l, int value)
{
    tw_seen seen = {.tensor = tw_tensor_of(l, value)};
    if (value < 0 || l->no_memory) return seen;
    const tw_tensor *t = &l->tensor[seen.tensor];
    return tw_reshaped(seen, t->n_axes, t->extent);
}

bool tw_has_input(const tw_lowering *l, int i) { return i < l->node->n_inputs && l->node->input[i] >= 0; }

bool tw_is_read(const tw_lowering *l, int value)
{
    const tw_reader_lists *r = &l->readers;
    return value >= 0 && (r->escapes[value] || r->first[value + 1] > r->first[value]);
}

bool tw_has_output(const tw_lowering *l, int i)
{
    return i < l->node->n_outputs && tw_is_read(l, l->node->output[i]);
}

tw_seen tw_see_input(tw_lowering *l, int i) { return tw_see(l, tw_has_input(l, i) ? l->node->input[i] : -1); }
tw_seen tw_see_output(tw_lowering *l, int i) { return tw_see(l, tw_has_output(l, i) ? l->node->output[i] : -1); }

tw_onnx_type tw_type_of(const tw_lowering *l, tw_seen seen)
{
    return seen.tensor < 0 ? TW_ONNX_NONE : l->source[seen.tensor].type;
}

const tw_array *tw_known_input(const tw_lowering *l, int i)
{
    return tw_has_input(l, i) ? tw_shape_of(l, l->node->input[i])->constant : NULL;
}

bool tw_is_zero(const tw_lowering *l, tw_seen seen)
{
    int value = seen.tensor < 0 ? -1 : l->source[seen.tensor].value;
    const tw_array *known = value < 0 ? NULL : tw_shape_of(l, value)->constant;
    if (!known || !known->data) return false;
    for (int64_t i = 0; i < known->n; i++)
        if (tw_array_get(known, i) != 0) return false;
    return true;
}

/* ---- tensors made here ---- */

static const char *name_between(tw_lowering *l, const char *suffix)
{
    for (int i = 0; i < l->node->n_outputs; i++)
        if (l->node->output[i] >= 0) return tw_say(l, "%s%s", l->file->value[l->node->output[i]].name, suffix);
    return tw_say(l, "%s%s", l->name, suffix);
}

static entry made_here(tw_lowering *l, const char *suffix, tw_onnx_type type, int n_dims, const int64_t *dim)
{
    entry e = {.tensor = {.name = name_between(l, suffix), .role = TW_ROLE_BETWEEN, .root = -1},
               .source = {.type = type, .value = -1}};
    set_shape(&e.tensor, n_dims, dim);
    return e;
}

tw_seen tw_between(tw_lowering *l, const char *suffix, tw_onnx_type type, int n_dims, const int64_t *dim)
{
    tw_seen seen = {.tensor = add_tensor(l, made_here(l, suffix, type, n_dims, dim))};
    return tw_reshaped(seen, n_dims, dim);
}

tw_seen tw_between_like(tw_lowering *l, const char *suffix, tw_onnx_type type, tw_seen like)
{
    return tw_between(l, suffix, type, like.n_dims, like.dim);
}

tw_seen tw_literal(tw_lowering *l, const char *suffix, tw_onnx_type type, int n_dims, const int64_t *dim,
                   tw_array **array)
{
    tw_seen seen = {.tensor = -1};
    entry e = made_here(l, suffix, type, n_dims, dim);
    *array = TW_NEW(l->arena, tw_array, 1);
    if (!*array || tw_array_new(type, n_dims, dim, l->arena, *array) != TW_OK) {
        l->no_memory = true;
        return seen;
    }
    e.tensor.role = TW_ROLE_CONSTANT;
    e.source.literal = *array;
    seen.tensor = add_tensor(l, e);
    return tw_reshaped(seen, n_dims, dim);
}

tw_seen tw_counting(tw_lowering *l, const char *suffix, int64_t n)
{
    tw_array *array;
    tw_seen seen = {.tensor = -1};
    if (n > TW_LITERAL_MOST) tw_refuse(l, "too large a constant");
    if (tw_refused(l)) return seen;
    seen = tw_literal(l, suffix, TW_ONNX_I64, 1, &n, &array);
    for (int64_t i = 0; i < n && !tw_refused(l); i++) tw_array_set(array, i, (double)i);
    return seen;
}

tw_seen tw_part_of(tw_lowering *l, const char *suffix, tw_seen whole, int64_t offset, int n_dims,
                   const int64_t *dim)
{
    tw_seen seen = {.tensor = -1};
    if (whole.tensor < 0 || l->no_memory) return seen;
    const tw_tensor of = l->tensor[whole.tensor];
    entry e = made_here(l, suffix, tw_type_of(l, whole), n_dims, dim);
    e.tensor.root = of.root;
    e.tensor.offset = of.offset + offset;
    e.tensor.role = of.role;
    seen.tensor = add_tensor(l, e);
    return tw_reshaped(seen, n_dims, dim);
}

void tw_output_is(tw_lowering *l, int output, tw_seen whole, int64_t offset)
{
    int t = tw_tensor_of(l, l->node->output[output]);
    if (l->no_memory || tw_refused(l)) return;
    if (l->source[t].type != tw_type_of(l, whole)) {
        tw_refuse(l, "type changes");
        return;
    }
    l->tensor[t].root = l->tensor[whole.tensor].root;
    l->tensor[t].offset = l->tensor[whole.tensor].offset + offset;
    l->tensor[t].role = l->tensor[whole.tensor].role;
    l->n_views++;
}

int tw_axis_attribute(tw_lowering *l, const char *name, int64_t fallback, int n_dims)
{
    int64_t axis = tw_onnx_int(l->node, name, fallback);
    if (axis < 0) axis += n_dims;
    if (axis < 0 || axis >= n_dims) {
        tw_refuse(l, "axis out of range");
        return 0;
    }
    return (int)axis;
}
