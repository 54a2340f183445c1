/* src/verify/execute.c - runs the instructions on numbers: what is there at the start and what must be there at
 * the end.
 *
 * Every memory but the outermost is an array of bytes with a shadow that tells which of them hold data; the
 * outermost one is the tensors themselves. In between, rows.c runs rows and stream.c commands. After the first
 * fault nothing is executed any more. */
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
    bool sums = operand == tw_op_output(&e->is.op) && !e->runner->converts;
    return sums ? e->is.op.accumulator : tw_verify_dtype(&e->in, operand);
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
            p->stride = room / slide->rows;
            p->axis = slide->axis;
        }
    }
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
        tw_draw_fill(&e->is.draw, e->in.model, &e->is.op, operand, from->seed, input);
    int64_t fits = tw_numbers_pack(p->dtype, input, n, p->data);
    if (fits < n)
        tw_fault_set(&e->fault, "element %" PRId64 " of '%s' is %g, which type %s does not hold", fits,
                     e->is.op.operand[operand].name, input[fits], tw_dtype_name(p->dtype));
}

static bool make_tensor(tw_executor *e, int operand, const source *from)
{
    const tw_tensor *tensor = &e->in.model->tensor[e->is.op.operand[operand].tensor];
    int64_t n = tw_operand_elems(&e->is.op.operand[operand]), bytes = n * tw_dtype_bytes(tensor->dtype);
    tw_place *p = &e->tensor[operand];
    bool is_output = operand == tw_op_output(&e->is.op);
    *p = (tw_place){.buffer = -1,
                    .operand = operand,
                    .shape = &e->is.op.operand[operand],
                    .dtype = tensor->dtype,
                    .room = bytes,
                    .full = true,
                    .region = tw_verify_whole(&e->is.op.operand[operand])};
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

/* What the buffers are for at first; it may change. */
static bool make_buffers(tw_executor *e)
{
    const tw_layout *layout = e->in.layout;
    e->buffer = tw_places_new(e->in.scene, bytes_per_unit(e), e->arena);
    for (int i = 0; i < layout->n_buffers && e->buffer; i++) {
        int operand = layout->buffer[i].operand;
        e->buffer[i].operand = operand;
        e->buffer[i].shape = &e->is.op.operand[operand];
        e->buffer[i].dtype = dtype_in_buffer(e, operand);
    }
    for (int m = 1; m < e->in.machine->n_memories && e->buffer; m++) make_circular(e, m);
    return e->buffer;
}

static bool make_numbers(tw_executor *e, const source *from)
{
    tw_op op = *e->in.op;
    if (!has_sums(e)) op.accumulator = tw_verify_dtype(&e->in, tw_op_output(&op));
    if (!tw_maths_init(&e->is, e->in.model, &op, !from->given, e->arena)) return false;
    if (e->is.draw.undivided) e->is.op.compute = TW_ADD;
    e->is.value.deadline = e->in.deadline;
    for (int o = 0; o < op.n_operands; o++)
        if (!make_tensor(e, o, from)) return false;
    return tw_maths_hold(&e->is, from->seed, from->given, e->arena);
}

static tw_executor *make(const tw_verify_input *in, const source *from, tw_arena *arena)
{
    tw_executor *e = TW_NEW(arena, tw_executor, 1);
    if (!e) return NULL;
    e->in = *in;
    e->arena = arena;
    e->runner = runner_of(in->machine);
    e->in.scene = tw_scene_of_op(in, arena);
    if (!e->in.scene || !make_numbers(e, from) || e->runner->init(e) != TW_OK) return NULL;
    for (int i = 0; i < in->layout->n_buffers; i++)
        if (!tw_table_is_sound(e->in.scene, i)) tw_fault_set(&e->fault, "layout: buffer %d has no place", i);
    if (e->fault.set) return e;
    if (!make_buffers(e) || (e->runner->place && e->runner->place(e) != TW_OK)) return NULL;
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

/* ---- the end ---- */

/* Who computed the reference, and what is special about the comparison; NULL when out of memory. */
static const char *describe(tw_executor *e, const char *who)
{
    const char *how = e->is.draw.undivided       ? ", sums not divided"
                      : e->is.draw.bound > 0     ? ", values rounded"
                      : e->is.draw.tolerance > 0 ? ", relative tolerance 1e-5"
                                                 : NULL;
    return how ? tw_arena_printf(e->arena, "%s%s", who, how) : who;
}

tw_status tw_executor_finish(tw_executor *e, tw_reference_fn reference, void *user, const char **who,
                             const char **fault)
{
    const char *judge = NULL;
    double *expected, *got;
    int output = tw_op_output(&e->is.op);
    int64_t n = tw_operand_elems(&e->is.op.operand[tw_op_output(&e->is.op)]);
    if (e->runner->finish && !e->fault.set) TW_TRY(e->runner->finish(e));
    if (!e->fault.set) {
        TW_ALLOC(e->arena, expected, n);
        TW_ALLOC(e->arena, got, n);
        const tw_referee by = {reference, user, e->in.model, e->in.deadline};
        judge = tw_referee_answer(&by, &e->is, (const double *const *)e->input, expected);
        judge = judge ? describe(e, judge) : NULL;
        if (!judge) return TW_ERR_NOMEM;
        tw_compare(&e->fault, &e->tensor[output], e->is.op.operand[output].name, e->is.draw.tolerance, expected,
                   got);
    }
    *who = judge;
    *fault = e->fault.set ? e->fault.text : NULL;
    return TW_OK;
}

tw_status tw_executor_output(tw_executor *e, double *out, const char **fault)
{
    if (e->runner->finish && !e->fault.set) TW_TRY(e->runner->finish(e));
    int output = tw_op_output(&e->is.op);
    if (!e->fault.set) tw_compare(&e->fault, &e->tensor[output], e->is.op.operand[output].name, 0, NULL, out);
    *fault = e->fault.set ? e->fault.text : NULL;
    return TW_OK;
}
