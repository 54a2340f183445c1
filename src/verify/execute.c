/* src/verify/execute.c - runs the instructions on numbers: what is there at the start and what must be there at
 * the end.
 *
 * Every memory but the outermost is an array of bytes with a shadow that tells which of them hold data; the
 * outermost one is the tensors themselves. In between, rows.c runs rows and stream.c commands. After the first
 * fault nothing is executed any more. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/executor.h"
#include "verify/scene.h"
#include "verify/shape.h"

static const tw_runner *runner_of(const tw_machine *machine)
{
    return tw_discipline_of(machine)->rows ? &tw_row_runner : &tw_stream_runner;
}

tw_row_sink tw_executor_sink(tw_executor *e) { return e->runner->sink(e); }

/* ---- start ---- */

/* Whether outputs on the chip are of the accumulator's type: where they count as what they become in the end, only an
 * operator that is finished needs the other type. */
static bool has_sums(const tw_executor *e) { return e->runner->converts || e->in.op->finish; }

static int64_t bytes_per_unit(const tw_executor *e)
{
    const tw_verify_input *in = &e->in;
    int64_t bytes = 1, sum = tw_dtype_bytes(in->op->accumulator);
    bool elements = in->machine->unit == TW_UNIT_ELEMENT;
    for (int o = 0; o < in->op->n_operands && elements; o++)
        bytes = tw_max(bytes, tw_dtype_bytes(tw_verify_dtype(in, o)));
    if (elements && has_sums(e)) bytes = tw_max(bytes, sum);
    if (!elements && !e->runner->converts && in->op->finish)
        bytes = tw_cdiv(sum, tw_dtype_bytes(tw_verify_dtype(in, tw_op_output(in->op))));
    return bytes;
}

/* The type of what a buffer holds at first; it may change. */
static tw_dtype dtype_in_buffer(const tw_executor *e, int operand)
{
    bool sums = operand == tw_op_output(&e->op) && !e->runner->converts;
    return sums ? e->op.accumulator : tw_verify_dtype(&e->in, operand);
}

/* The buffers of a window that slides are one place: each names a window in it. */
static void make_circular(tw_executor *e, int memory)
{
    const tw_layout *layout = e->in.layout;
    for (int o = 0; o < e->in.op->n_operands; o++) {
        const tw_verify_slide *slide = &e->in.slide[memory][o];
        int first = layout->first[memory][o], n = slide->rows > 0 ? layout->count[memory][o] : 0;
        int64_t room = 0;
        for (int i = first; i < first + n; i++) room += e->buffer[i].room;
        for (int i = first; i < first + n; i++) {
            tw_place *p = &e->buffer[i];
            *p = e->buffer[first];
            p->buffer = i;
            p->room = room;
            p->rows = slide->rows;
            p->axis = slide->axis;
        }
    }
}

/* One array per memory; buffers that overlap there overlap here. */
static bool make_memory(tw_executor *e, int memory)
{
    const tw_layout *layout = e->in.layout;
    int64_t unit = bytes_per_unit(e), end = 0, bytes;
    for (int i = 0; i < layout->n_buffers; i++)
        if (layout->buffer[i].memory == memory)
            end = tw_max(end, layout->buffer[i].offset + layout->buffer[i].size);
    if (!tw_ckd_mul(end, unit, &bytes)) return false;
    uint8_t *data = TW_NEW(e->arena, uint8_t, bytes + 1), *shadow = TW_NEW(e->arena, uint8_t, bytes + 1);
    if (!data || !shadow) return false;
    for (int i = 0; i < layout->n_buffers; i++) {
        const tw_buffer *b = &layout->buffer[i];
        if (b->memory != memory) continue;
        e->buffer[i] = (tw_place){.buffer = i,
                                  .operand = b->operand,
                                  .dtype = dtype_in_buffer(e, b->operand),
                                  .data = data + b->offset * unit,
                                  .shadow = shadow + b->offset * unit,
                                  .room = b->size * unit};
        tw_place_poison(&e->buffer[i]);
    }
    make_circular(e, memory);
    return true;
}

/* What the numbers come from: a seed, or somebody gave them. */
typedef struct source {
    uint64_t seed;
    const tw_given *given;
} source;

static void fill_input(tw_executor *e, int operand, const source *from, int64_t n)
{
    tw_place *p = &e->tensor[operand];
    double *input = e->input[operand];
    if (from->given)
        memcpy(input, from->given->input[operand], (size_t)n * sizeof *input);
    else
        tw_draw_fill(&e->draw, e->in.model, &e->op, operand, from->seed, input);
    int64_t fits = tw_numbers_pack(p->dtype, input, n, p->data);
    if (fits < n)
        tw_fault_set(&e->fault, "element %" PRId64 " of '%s' is %g, which type %s does not hold", fits,
                     e->op.operand[operand].name, input[fits], tw_dtype_name(p->dtype));
}

static bool make_tensor(tw_executor *e, int operand, const source *from)
{
    const tw_tensor *tensor = &e->in.model->tensor[e->op.operand[operand].tensor];
    int64_t n = tw_operand_elems(&e->op.operand[operand]), bytes = n * tw_dtype_bytes(tensor->dtype);
    tw_place *p = &e->tensor[operand];
    bool is_output = operand == tw_op_output(&e->op);
    *p = (tw_place){.buffer = -1,
                    .operand = operand,
                    .dtype = tensor->dtype,
                    .room = bytes,
                    .full = true,
                    .region = tw_verify_whole(&e->op.operand[operand])};
    p->data = TW_NEW(e->arena, uint8_t, bytes);
    if (is_output)
        p->shadow = TW_NEW(e->arena, uint8_t, bytes);
    else
        e->input[operand] = TW_NEW(e->arena, double, n);
    if (!p->data || (is_output ? !p->shadow : !e->input[operand])) return false;
    if (is_output)
        memset(p->data, 0xff, (size_t)bytes);
    else
        fill_input(e, operand, from, n);
    return true;
}

static bool make_held(tw_executor *e, int held, const source *from)
{
    int loop = e->op.held[held].loop;
    int64_t n = loop < 0 ? 1 : e->op.loop[loop].extent;
    double *value = TW_NEW(e->arena, double, n);
    e->value.held[held] = value;
    if (!value) return false;
    if (from->given)
        memcpy(value, from->given->held[held], (size_t)n * sizeof *value);
    else
        tw_draw_held(held, from->seed, n, value);
    return true;
}

static bool choose_numbers(tw_executor *e, bool given)
{
    if (e->op.compute == TW_AVERAGE && !(e->divisor = tw_numbers_divisors(&e->op, e->arena))) return false;
    if (given) return true;
    e->draw = tw_draw_of(e->in.model, &e->op, e->divisor);
    e->value.bound = e->draw.bound;
    e->value.positive = e->draw.positive;
    if (e->draw.undivided) e->op.compute = TW_ADD;
    return true;
}

static tw_executor *make(const tw_verify_input *in, const source *from, tw_arena *arena)
{
    tw_executor *e = TW_NEW(arena, tw_executor, 1);
    if (!e) return NULL;
    e->in = *in;
    e->op = *in->op;
    e->in.scene = tw_scene_of_op(in, arena);
    if (!e->in.scene) return NULL;
    e->runner = runner_of(in->machine);
    if (!has_sums(e)) e->op.accumulator = tw_verify_dtype(in, tw_op_output(in->op));
    e->arena = arena;
    e->value.deadline = in->deadline;
    e->buffer = TW_NEW(arena, tw_place, in->layout->n_buffers + 1);
    if (!e->buffer || !choose_numbers(e, from->given)) return NULL;
    for (int o = 0; o < in->op->n_operands; o++)
        if (!make_tensor(e, o, from)) return NULL;
    for (int h = 0; h < in->op->n_held; h++)
        if (!make_held(e, h, from)) return NULL;
    if (e->runner->init(e) != TW_OK) return NULL;
    for (int i = 0; i < in->layout->n_buffers; i++)
        if (!tw_table_is_sound(e->in.scene, i)) tw_fault_set(&e->fault, "layout: buffer %d has no place", i);
    if (e->fault.set) return e;
    for (int m = 1; m < in->machine->n_memories; m++)
        if (!make_memory(e, m)) return NULL;
    if (e->runner->place && e->runner->place(e) != TW_OK) return NULL;
    return e;
}

tw_executor *tw_executor_new(const tw_verify_input *in, uint64_t seed, tw_arena *arena)
{
    return make(in, &(source){.seed = seed}, arena);
}

tw_executor *tw_executor_new_given(const tw_verify_input *in, const tw_given *given, tw_arena *arena)
{
    return make(in, &(source){.given = given}, arena);
}

/* ---- the comparison ---- */

/* Whether the output is b as the output's type has it; formulas may make what is no number. */
static bool is_equal(const tw_executor *e, double a, double b)
{
    double size = fabs(b) > 1 ? fabs(b) : 1;
    uint8_t bytes[8];
    if (a == b || fabs(a - b) <= e->draw.tolerance * size || (isnan(a) && isnan(b))) return true;
    tw_dtype dtype = tw_verify_dtype(&e->in, tw_op_output(&e->op));
    if (!tw_dtype_is_float(dtype)) return false;
    (void)tw_numbers_pack(dtype, &b, 1, bytes);
    tw_numbers_unpack(dtype, bytes, 1, &b);
    return a == b;
}

/* "(0, 3, 17)" of a flat index. */
enum { COORDINATES_MAX = 96 };
static const char *coordinates(const tw_operand *operand, int64_t at, char text[COORDINATES_MAX])
{
    int64_t position[TW_MAX_AXES];
    for (int a = operand->n_axes - 1; a >= 0; a--) {
        position[a] = at % operand->axis[a].extent;
        at /= operand->axis[a].extent;
    }
    size_t n = 0;
    text[0] = 0;
    for (int a = 0; a < operand->n_axes && n < COORDINATES_MAX; a++)
        n += (size_t)snprintf(text + n, COORDINATES_MAX - n, "%s%" PRId64, a ? ", " : "", position[a]);
    return text;
}

/* The output as it lies in the outermost memory; `expected` may be NULL. */
static void compare(tw_executor *e, const double *expected, double *got)
{
    int output = tw_op_output(&e->op);
    const tw_operand *operand = &e->op.operand[output];
    const tw_place *p = &e->tensor[output];
    tw_dtype dtype = tw_verify_dtype(&e->in, output);
    int64_t n = tw_verify_region_elems(operand, &p->region), elem = tw_dtype_bytes(dtype);
    char at[COORDINATES_MAX];
    tw_numbers_unpack(dtype, p->data, n, got);
    for (int64_t i = 0; i < n && !e->fault.set; i++) {
        if (!p->shadow[i * elem])
            tw_fault_set(&e->fault, "element (%s) of '%s' is never stored", coordinates(operand, i, at),
                         operand->name);
        else if (expected && !is_equal(e, got[i], expected[i]))
            tw_fault_set(&e->fault, "element (%s) of '%s' is %.9g, should be %.9g", coordinates(operand, i, at),
                         operand->name, got[i], expected[i]);
    }
}

/* Who computed the reference, and what is special about the comparison; NULL when out of memory. */
static const char *describe(tw_executor *e, const char *who)
{
    const char *how = e->draw.undivided       ? ", sums not divided"
                      : e->draw.bound > 0     ? ", values rounded"
                      : e->draw.tolerance > 0 ? ", relative tolerance 1e-5"
                                              : NULL;
    return how ? tw_arena_printf(e->arena, "%s%s", who, how) : who;
}

/* Whether there is time for a reference that does not look at the deadline. */
static bool is_quick(const tw_executor *e)
{
    static const double points_per_second = 2e9;
    return (double)tw_op_points(&e->op) < points_per_second * tw_deadline_left(e->in.deadline);
}

tw_status tw_executor_finish(tw_executor *e, tw_reference_fn reference, void *user, const char **who,
                             const char **fault)
{
    const char *judge = NULL;
    double *expected, *got;
    int64_t n = tw_operand_elems(&e->op.operand[tw_op_output(&e->op)]);
    if (e->runner->finish && !e->fault.set) TW_TRY(e->runner->finish(e));
    if (!e->fault.set) {
        TW_ALLOC(e->arena, expected, n);
        TW_ALLOC(e->arena, got, n);
        tw_reference_case c = {.model = e->in.model, .op = &e->op};
        for (int o = 0; o < tw_op_output(&e->op); o++) c.input[o] = e->input[o];
        memcpy(c.held, e->value.held, sizeof c.held);
        c.bound = e->value.bound;
        c.positive = e->value.positive;
        c.deadline = e->in.deadline;
        judge = reference && is_quick(e) ? reference(user, &c, expected) : NULL;
        if (!judge) judge = tw_reference_direct(NULL, &c, expected);
        judge = judge ? describe(e, judge) : NULL;
        if (!judge) return TW_ERR_NOMEM;
        compare(e, expected, got);
    }
    *who = judge;
    *fault = e->fault.set ? e->fault.text : NULL;
    return TW_OK;
}

tw_status tw_executor_output(tw_executor *e, double *out, const char **fault)
{
    if (e->runner->finish && !e->fault.set) TW_TRY(e->runner->finish(e));
    if (!e->fault.set) compare(e, NULL, out);
    *fault = e->fault.set ? e->fault.text : NULL;
    return TW_OK;
}
