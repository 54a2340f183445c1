/* src/verify/reference.c - the operator as it is written down: every point of the nest, one after the other.
 *
 * Slow and obvious: the position of a point in every operand is worked out from the access map. Only what does
 * not change along the longest loop, which is run innermost, is worked out once for all its points. */
#include <math.h>
#include <stdlib.h>

#include "verify/numbers.h"
#include "verify/shape.h"

/* An operand along one run of that loop. */
typedef struct track {
    bool in_padding; /* all along the run                                      */
    int64_t fixed;   /* offset from the axes that do not move                  */
    int n_moving;
    const tw_axis *moving[TW_MAX_AXES];
    int64_t stride[TW_MAX_AXES];
} track;

static void track_begin(track *t, const tw_operand *operand, int loop, const int64_t index[TW_MAX_LOOPS])
{
    int64_t stride = 1, position;
    *t = (track){0};
    for (int a = operand->n_axes - 1; a >= 0; a--) {
        const tw_axis *axis = &operand->axis[a];
        if (tw_verify_axis_loops(axis) >> loop & 1) {
            t->moving[t->n_moving] = axis;
            t->stride[t->n_moving++] = stride;
        } else if (tw_verify_position(axis, index, &position)) {
            t->fixed += stride * position;
        } else {
            t->in_padding = true;
        }
        stride *= axis->extent;
    }
}

/* The element of the dense tensor at this point; -1: in the padding. */
static int64_t track_at(const track *t, const int64_t index[TW_MAX_LOOPS])
{
    int64_t at = t->fixed, position = 0;
    if (t->in_padding) return -1;
    for (int i = 0; i < t->n_moving; i++) {
        if (!tw_verify_position(t->moving[i], index, &position)) return -1;
        at += t->stride[i] * position;
    }
    return at;
}

/* The element of an input at this point, in whichever piece it is; NULL: in the padding. */
static const double *find(const tw_reference_case *c, const track *t, int input, const int64_t index[TW_MAX_LOOPS])
{
    for (int o = input; o < tw_op_output(c->op); o++) {
        if (o != input && c->op->operand[o].beside != input + 1) continue;
        int64_t at = track_at(&t[o], index);
        if (at >= 0) return &c->input[o][at];
    }
    return NULL;
}

/* What a point contributes; false: nothing. A product with padding is zero, otherwise padding is left out. */
static bool combine(const tw_reference_case *c, const track *t, const int64_t index[TW_MAX_LOOPS], double *value)
{
    bool product = c->op->compute == TW_MULTIPLY_ADD, any = product;
    *value = product ? 1 : 0;
    for (int o = 0; o < tw_op_output(c->op); o++) {
        if (c->op->operand[o].beside > 0) continue;
        const double *at = find(c, t, o, index);
        if (product)
            *value *= at ? *at : 0;
        else if (!at)
            continue;
        else if (c->op->compute == TW_MAX)
            *value = any && *value > *at ? *value : *at;
        else
            *value += *at;
        any = true;
    }
    return any;
}

/* The same where the operator has a formula for it. */
static bool evaluate(const tw_reference_case *c, const track *t, const int64_t index[TW_MAX_LOOPS], double *value)
{
    const tw_op *op = c->op;
    double var[TW_MAX_OPERANDS + TW_MAX_HELD];
    int n = 0;
    unsigned present = ~0u;
    for (; n < tw_op_output(op) && op->operand[n].beside == 0; n++) {
        const double *at = find(c, t, n, index);
        var[n] = at ? *at : 0;
        if (!at) present &= ~(1u << n);
    }
    if (present != ~0u && op->compute != TW_MAP) return false;
    for (int h = 0; h < op->n_held; h++)
        var[n + h] = c->held[h][op->held[h].loop < 0 ? 0 : index[op->held[h].loop]];
    *value = tw_formula_eval(op->value, var, present);
    if (c->bound == 0) return true;
    *value = *value != *value ? 0 : nearbyint(c->positive ? fabs(*value) : *value);
    if (op->compute == TW_PRODUCT)
        *value = *value < 0 ? -1 : 1;
    else
        *value = fmax(-c->bound, fmin(c->bound, *value));
    return true;
}

static double put_together(tw_compute compute, double old, double value)
{
    switch (compute) {
    case TW_MAX: return value > old || value != value ? value : old;
    case TW_MIN: return value < old || value != value ? value : old;
    case TW_PRODUCT: return old * value;
    case TW_MAP: return value;
    default: return old + value;
    }
}

/* All points along one loop. `n_read` counts, per output element, the points that contributed. */
static void run_loop(const tw_reference_case *c, int loop, int64_t index[TW_MAX_LOOPS], double *out, double *n_read)
{
    const tw_op *op = c->op;
    track t[TW_MAX_OPERANDS] = {0};
    for (int o = 0; o < op->n_operands; o++) track_begin(&t[o], &op->operand[o], loop, index);
    for (index[loop] = 0; index[loop] < op->loop[loop].extent; index[loop]++) {
        int64_t at = track_at(&t[tw_op_output(op)], index);
        double value = 0;
        bool any = op->value ? evaluate(c, t, index, &value) : combine(c, t, index, &value);
        if (n_read && (any || op->average_counts_padding)) n_read[at]++;
        if (any) out[at] = put_together(op->compute, out[at], value);
    }
}

static void run_nest(const tw_reference_case *c, double *out, double *n_read)
{
    const tw_op *op = c->op;
    int longest = 0;
    for (int l = 1; l < op->n_loops; l++)
        if (op->loop[l].extent > op->loop[longest].extent) longest = l;
    unsigned outer = ((1u << op->n_loops) - 1) & ~(1u << longest);
    tw_box box = tw_verify_whole_box(op);
    int64_t index[TW_MAX_LOOPS];
    tw_verify_visit_first(&box, outer, index);
    tw_pulse pulse = {.deadline = c->deadline};
    do run_loop(c, longest, index, out, n_read);
    while (tw_verify_visit_next(&box, outer, index) && !tw_pulse_is_over(&pulse, 8 * op->loop[longest].extent));
}

/* Every element by itself: its position tells what is held for it. */
static void finish(const tw_reference_case *c, int64_t n, double *out)
{
    const tw_operand *output = &c->op->operand[tw_op_output(c->op)];
    for (int64_t i = 0; i < n; i++) {
        int64_t index[TW_MAX_LOOPS] = {0}, rest = i;
        double var[1 + TW_MAX_HELD] = {out[i]};
        (void)tw_numbers_round(c->op->accumulator, var, 1);
        for (int a = output->n_axes - 1; a >= 0; a--) {
            index[output->axis[a].term[0].loop] = rest % output->axis[a].extent;
            rest /= output->axis[a].extent;
        }
        for (int h = 0; h < c->op->n_held; h++)
            var[1 + h] = c->held[h][c->op->held[h].loop < 0 ? 0 : index[c->op->held[h].loop]];
        out[i] = tw_formula_eval(c->op->finish, var, ~0u);
    }
}

const char *tw_reference_direct(void *user, const tw_reference_case *c, double *out)
{
    (void)user;
    const tw_tensor *tensor = &c->model->tensor[c->op->operand[tw_op_output(c->op)].tensor];
    int64_t n = tw_operand_elems(&c->op->operand[tw_op_output(c->op)]);
    double *n_read = NULL;
    if (c->op->compute == TW_AVERAGE && !(n_read = calloc((size_t)n, sizeof *n_read))) return NULL;
    tw_dtype sums = c->op->finish ? c->op->accumulator : tensor->dtype;
    for (int64_t i = 0; i < n; i++) out[i] = tw_numbers_neutral(c->op->compute, sums);
    run_nest(c, out, n_read);
    for (int64_t i = 0; i < n && n_read; i++)
        if (n_read[i] > 0) out[i] /= n_read[i];
    free(n_read);
    if (c->op->finish) finish(c, n, out);
    return "direct evaluation";
}
