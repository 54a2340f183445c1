/* src/verify/joint_numbers.c - see joint_runner.h: what the numbers are, and what they should be in the end. */
#include "verify/joint_runner.h"
#include "verify/shape.h"

#include <math.h>
#include <string.h>

/* ---- drawing ---- */

/* Numbers that suit one more reader. */
static void suit(tw_draw *sum, const tw_draw *more, bool thins)
{
    sum->amplitude = tw_max(1, tw_min(sum->amplitude, more->amplitude));
    sum->positive |= more->positive;
    if (more->factors) sum->factors = true;
    if ((thins || more->factors) && more->density < sum->density) sum->density = more->density;
}

static tw_draw draw_for(const tw_joint_judge *j, int tensor)
{
    tw_draw sum = {.amplitude = 4, .scale = 1, .density = 1};
    for (int i = 0; i < j->in.model->n_ops; i++) {
        const tw_op *op = &j->in.model->op[i];
        if (tw_op_reads_bytes(j->in.model, op, tensor))
            suit(&sum, &j->runner->op[i].draw, tw_tensors_share(j->in.model, op->operand[0].tensor, tensor));
    }
    return sum;
}

/* What the numbers that are drawn for a tensor are multiplied by: quarters where powers are made of them. */
static double unit_of(const tw_joint_judge *j, int tensor)
{
    const tw_tensor *is = &j->in.model->tensor[tensor];
    return j->tensor[is->root].small && tw_dtype_is_float(is->dtype) ? 0.25 : 1;
}

void tw_joint_tame(const tw_joint_judge *j, int tensor, double *value, int64_t n)
{
    tw_dtype dtype = j->in.model->tensor[tensor].dtype;
    for (int64_t i = 0; i < n && !j->in.given; i++) {
        uint64_t state = 0;
        double x = value[i] == 0 ? 0 : value[i];
        if (!isnan(x)) memcpy(&state, &x, sizeof state);
        state ^= j->in.seed;
        value[i] = tw_draw_one(&j->runner->stock[tensor].draw, dtype, &state) * unit_of(j, tensor);
    }
}

/* The numbers of a tensor that nobody makes. */
static void fill(tw_joint_judge *j, int tensor, int64_t n)
{
    tw_joint_stock *s = &j->runner->stock[tensor];
    const tw_tensor *is = &j->in.model->tensor[tensor];
    uint64_t state = j->in.seed + (uint64_t)tensor * UINT64_C(0x632be59bd9b4e019);
    if (j->in.given && !j->in.given->tensor[tensor]) return; /* nobody reads it */
    for (int64_t i = 0; i < n; i++)
        s->value[i] = j->in.given ? j->in.given->tensor[tensor][i]
                                  : tw_draw_one(&s->draw, is->dtype, &state) * unit_of(j, tensor);
    int64_t fits = tw_numbers_pack(is->dtype, s->value, n, s->place.data); /* what is drawn fits */
    if (fits < n)
        tw_fault_set(&j->fault, "element %" PRId64 " of '%s' is %g, which type %s does not hold", fits, is->name,
                     s->value[fits], tw_dtype_name(is->dtype));
}

/* Bytes of another tensor, seen in its own shape. */
static void init_view(tw_joint_judge *j, int tensor)
{
    tw_joint_stock *s = &j->runner->stock[tensor];
    const tw_tensor *is = &j->in.model->tensor[tensor];
    const tw_joint_stock *root = &j->runner->stock[is->root];
    int64_t skipped = is->offset * tw_dtype_bytes(is->dtype),
            bytes = tw_tensor_elems(is) * tw_dtype_bytes(is->dtype);
    *s = *root;                    /* numbers are drawn for all of its shapes alike */
    if (!root->place.data) return; /* it is never there */
    if (skipped + bytes > root->place.room || is->dtype != root->place.dtype) {
        tw_fault_set(&j->fault, "'%s' reaches beyond the bytes that it is a view of", is->name);
        return;
    }
    s->place.operand = tensor;
    s->place.shape = &j->tensor[tensor].shape;
    s->place.room = bytes;
    s->place.region = tw_verify_whole(&j->tensor[tensor].shape);
    s->place.data += skipped;
    if (s->place.shadow) s->place.shadow += skipped;
    if (s->value) s->value += is->offset;
}

static tw_status init_tensor(tw_joint_judge *j, int tensor)
{
    tw_joint_stock *s = &j->runner->stock[tensor];
    const tw_tensor *is = &j->in.model->tensor[tensor];
    const tw_operand *shape = &j->tensor[tensor].shape;
    int64_t n = tw_tensor_elems(is), bytes = n * tw_dtype_bytes(is->dtype);
    s->draw = draw_for(j, tensor);
    for (int i = 0; i < j->in.model->n_ops; i++)
        s->is_read |= tw_op_reads_bytes(j->in.model, &j->in.model->op[i], tensor);
    if (j->tensor[tensor].absent) return TW_OK;
    s->place = (tw_place){.buffer = -1,
                          .operand = tensor,
                          .shape = shape,
                          .dtype = is->dtype,
                          .room = bytes,
                          .full = true,
                          .region = tw_verify_whole(shape)};
    TW_ALLOC(j->arena, s->place.data, bytes);
    if (j->tensor[tensor].maker >= 0) {
        TW_ALLOC(j->arena, s->place.shadow, bytes);
        return TW_OK;
    }
    TW_ALLOC(j->arena, s->value, n);
    fill(j, tensor, n);
    return TW_OK;
}

static tw_status init_tensors(tw_joint_judge *j)
{
    const tw_tensor *tensor = j->in.model->tensor;
    for (int t = 0; t < j->in.model->n_tensors; t++)
        if (tensor[t].root == t) TW_TRY(init_tensor(j, t));
    for (int t = 0; t < j->in.model->n_tensors; t++)
        if (tensor[t].root != t) init_view(j, t);
    return TW_OK;
}

/* The type of what lies in the buffers of a hold: sums of averages are divided when they are complete, and may be anything before. */
static tw_dtype held_dtype(const tw_joint_judge *j, const tw_joint_hold *h)
{
    bool average = h->sums && j->group[h->group].op[h->maker].op->compute == TW_AVERAGE;
    return average ? TW_DTYPE_F64 : tw_joint_dtype(j, h);
}

/* Bytes that a unit of a memory has here: one, or as many as the widest type has where units are elements or sums wider than said. */
static int64_t bytes_per_unit(const tw_joint_judge *j)
{
    bool wide = j->known.scene->unit == TW_UNIT_ELEMENT;
    for (int g = 0; g < j->in.n_groups; g++)
        for (int h = 0; h < j->group[g].n_holds; h++) {
            const tw_joint_hold *hold = &j->group[g].hold[h];
            wide |= held_dtype(j, hold) != tw_joint_dtype(j, hold);
        }
    return wide ? (int64_t)sizeof(double) : 1;
}

/* The buffers of a window that slides are one place: each names a window in it. */
static void join_window(const tw_joint_judge *j, const tw_joint_hold *h, int buffer)
{
    tw_place *first = &j->runner->place[h->first], *p = &j->runner->place[buffer];
    if (buffer > h->first) first->room += p->room;
    *p = *first;
    p->buffer = buffer;
    p->rows = h->slide.window + (h->slots - 1) * h->slide.moved;
    p->stride = h->slide.row * tw_dtype_bytes(first->dtype);
    p->axis = h->slide.axis;
}

/* The second half of a reference's buffer is for what was there before the last step. */
static tw_status keep_past(tw_joint_judge *j, int buffer)
{
    tw_joint_runner *r = j->runner;
    if (!r->past) TW_ALLOC(j->arena, r->past, j->in.n_buffers);
    int64_t half = r->place[buffer].room /= 2;
    r->past[buffer] = r->place[buffer];
    r->past[buffer].data += half;
    if (r->past[buffer].shadow) r->past[buffer].shadow += half;
    return TW_OK;
}

static tw_status init_buffers(tw_joint_judge *j)
{
    j->runner->place = tw_places_new(j->known.scene, bytes_per_unit(j), j->arena);
    if (!j->runner->place) return TW_ERR_NOMEM;
    for (int b = 0; b < j->in.n_buffers; b++) {
        tw_place *p = &j->runner->place[b];
        p->operand = j->in.buffer[b].operand;
        p->shape = &j->tensor[p->operand].shape;
        const tw_joint_hold *h = &j->group[j->in.buffer[b].group].hold[j->hold_of[b]];
        p->dtype = held_dtype(j, h);
        if (h->slide.is) join_window(j, h, b);
        if (tw_joint_is_reference(&j->group[h->group], h)) TW_TRY(keep_past(j, b));
    }
    return TW_OK;
}

tw_status tw_joint_draw(tw_joint_judge *j)
{
    for (int i = 0; i < j->in.model->n_ops; i++) {
        tw_maths *m = &j->runner->op[i];
        m->value.deadline = j->in.deadline;
        if (!tw_maths_init(m, j->in.model, &j->in.model->op[i], !j->in.given, j->arena) ||
            !tw_maths_hold(m, j->in.seed + (uint64_t)i, j->in.given ? &j->in.given->op[i] : NULL, j->arena))
            return TW_ERR_NOMEM;
        if (j->tensor[m->op.operand[tw_op_output(&m->op)].tensor].plain) m->value.bound = 0;
    }
    TW_TRY(init_tensors(j));
    return init_buffers(j);
}

/* ---- completing ---- */

/* What was made of a tensor that never comes to memory 0, for those who gave the numbers; but for what was made with references that changed
 * later. */
static void tell_made(const tw_joint_judge *j, int tensor, const tw_region *region, const double *value)
{
    const tw_operand *shape = &j->tensor[tensor].shape;
    if (!j->in.given || !j->tensor[tensor].absent || !j->in.given->made[tensor] || j->tensor[tensor].plain) return;
    tw_region whole = tw_verify_whole(shape);
    tw_runs r = tw_runs_of(shape, region, &whole, 1);
    do {
        memcpy(&j->in.given->made[tensor][tw_runs_offset(&r)], value, (size_t)r.bytes * sizeof *value);
        memset(&j->in.given->there[tensor][tw_runs_offset(&r)], 1, (size_t)r.bytes);
        value += r.bytes;
    } while (tw_runs_next(&r));
}

int64_t tw_joint_complete(const tw_joint_judge *j, int op, const tw_region *region, double *value, int64_t n)
{
    const tw_maths *m = &j->runner->op[op];
    int tensor = m->op.operand[tw_op_output(&m->op)].tensor;
    tw_compute_divide(m, region, value);
    if (m->op.finish) {
        int64_t fits = tw_numbers_round(m->op.accumulator, value, n);
        if (fits < n) return fits;
        tw_compute_finish(m, region, value);
    }
    int64_t fits = tw_numbers_round(j->in.model->tensor[tensor].dtype, value, n);
    bool plain = j->tensor[tensor].plain;
    if (fits == n && j->tensor[tensor].inside && !plain) tw_joint_tame(j, tensor, value, n);
    if (fits == n) tell_made(j, tensor, region, value);
    return fits;
}

/* ---- the reference ---- */

/* How much the output of a group may differ whose sums were rescaled: of its size or, where that is less than 1, of 1. */
static double tolerance_of(const tw_joint_judge *j, int tensor)
{
    tw_dtype dtype = j->in.model->tensor[tensor].dtype;
    if (!j->tensor[tensor].rounds) return 0;
    return dtype == TW_DTYPE_F16 ? 0.01 : dtype == TW_DTYPE_BF16 ? 0.05 : 1e-5;
}

/* What the operator makes of the tensors as they should be; `is`, of root tensors, gets its output as the others read it. */
static tw_status compare_op(tw_joint_judge *j, int number, double **is, const char **who, int64_t *elements)
{
    const tw_maths *m = &j->runner->op[number];
    const double *input[TW_MAX_OPERANDS];
    int output = tw_op_output(&m->op), tensor = m->op.operand[output].tensor;
    const tw_tensor *made = &j->in.model->tensor[tensor];
    int64_t n = tw_tensor_elems(made);
    const tw_referee by = {j->in.reference, j->in.user, j->in.model, j->in.deadline};
    double *got, *out;
    for (int o = 0; o < output; o++) {
        const tw_tensor *seen = &j->in.model->tensor[m->op.operand[o].tensor];
        input[o] = is[seen->root] + seen->offset;
    }
    if (!is[made->root]) TW_ALLOC(j->arena, is[made->root], tw_tensor_elems(&j->in.model->tensor[made->root]));
    out = is[made->root] + made->offset;
    TW_ALLOC(j->arena, got, n);
    *who = tw_referee_answer(&by, m, input, out);
    if (!*who) return TW_ERR_NOMEM;
    int64_t fits = tw_numbers_round(made->dtype, out, n);
    if (fits < n)
        tw_fault_set(&j->fault, "'%s' makes the value %g, which type %s does not hold", m->op.name, out[fits],
                     tw_dtype_name(made->dtype));
    else if (!j->tensor[tensor].absent)
        tw_compare(&j->fault, &j->runner->stock[tensor].place, made->name, tolerance_of(j, tensor), out, got);
    if (!j->tensor[tensor].absent) *elements += n;
    if (j->tensor[tensor].rounds && !j->fault.set)
        memcpy(out, got, (size_t)n * sizeof *out); /* what others make of it is made of these very numbers */
    if (j->runner->stock[tensor].is_read && (!j->tensor[tensor].plain || j->tensor[tensor].rounds))
        tw_joint_tame(j, tensor, out, n);
    return TW_OK;
}

/* What lies in memory 0 in the end is handed over as it is. */
static void hand_over(tw_joint_judge *j)
{
    for (int i = 0; i < j->in.model->n_ops && !j->fault.set; i++) {
        int tensor = j->in.model->op[i].operand[tw_op_output(&j->in.model->op[i])].tensor;
        const tw_tensor *is = &j->in.model->tensor[tensor];
        if (j->tensor[tensor].absent || !j->in.given->made[tensor]) continue;
        tw_compare(&j->fault, &j->runner->stock[tensor].place, is->name, 0, NULL, j->in.given->made[tensor]);
        memset(j->in.given->there[tensor], 1, (size_t)tw_tensor_elems(is));
    }
}

tw_status tw_joint_compare(tw_joint_judge *j, const char **who, int64_t *elements)
{
    double **is;
    if (j->in.given) {
        hand_over(j);
        return TW_OK;
    }
    TW_ALLOC(j->arena, is, j->in.model->n_tensors);
    for (int t = 0; t < j->in.model->n_tensors; t++)
        if (j->tensor[t].maker < 0 && j->in.model->tensor[t].root == t) is[t] = j->runner->stock[t].value;
    bool rounds = false;
    for (int i = 0; i < j->in.model->n_ops && !j->fault.set; i++) TW_TRY(compare_op(j, i, is, who, elements));
    for (int t = 0; t < j->in.model->n_tensors; t++) rounds |= j->tensor[t].rounds;
    if (!rounds || !*who) return TW_OK;
    *who = tw_arena_printf(j->arena, "%s but for the last digits of rescaled sums", *who);
    return *who ? TW_OK : TW_ERR_NOMEM;
}
