/* src/verify/reference.c - the operator as it is written down: every point of the nest, one after the other.
 *
 * Slow and obvious: for each point the position in every operand is worked out from the access map. */
#include <stdlib.h>

#include "verify/numbers.h"
#include "verify/shape.h"

/* Where the point reads or writes in the dense tensor; -1: in the padding. */
static int64_t element_at(const tw_operand *operand, const int64_t index[TW_MAX_LOOPS])
{
    int64_t at = 0, position;
    for (int a = 0; a < operand->n_axes; a++) {
        if (!tw_verify_position(&operand->axis[a], index, &position)) return -1;
        at = at * operand->axis[a].extent + position;
    }
    return at;
}

/* What a point contributes; false: nothing. A product with padding is zero, otherwise padding is left out. */
static bool combine(const tw_reference_case *c, const int64_t index[TW_MAX_LOOPS], double *value)
{
    const tw_op *op = c->op;
    bool product = op->compute == TW_MULTIPLY_ADD, any = product;
    *value = product ? 1 : 0;
    for (int o = 0; o < tw_op_output(op); o++) {
        int64_t at = element_at(&op->operand[o], index);
        if (product) *value *= at < 0 ? 0 : c->input[o][at];
        else if (at < 0) continue;
        else if (op->compute == TW_MAX) *value = any && *value > c->input[o][at] ? *value : c->input[o][at];
        else *value += c->input[o][at];
        any = true;
    }
    return any;
}

/* All points of the nest. `n_read` counts, per output element, the points that contributed. */
static void run_nest(const tw_reference_case *c, double *out, double *n_read)
{
    const tw_op *op = c->op;
    tw_box box = {0};
    unsigned loops = (1u << op->n_loops) - 1;
    int64_t index[TW_MAX_LOOPS];
    for (int l = 0; l < op->n_loops; l++) box.span[l] = (tw_span){0, op->loop[l].extent};
    tw_verify_visit_first(&box, loops, index);
    do {
        int64_t at = element_at(&op->operand[tw_op_output(op)], index);
        double value;
        bool any = combine(c, index, &value);
        if (n_read && (any || op->average_counts_padding)) n_read[at]++;
        if (!any) continue;
        if (op->compute == TW_MAX) out[at] = value > out[at] ? value : out[at];
        else out[at] += value;
    } while (tw_verify_visit_next(&box, loops, index));
}

const char *tw_reference_direct(void *user, const tw_reference_case *c, double *out)
{
    (void)user;
    const tw_tensor *tensor = &c->model->tensor[c->op->operand[tw_op_output(c->op)].tensor];
    int64_t n = tw_tensor_elems(tensor);
    double *n_read = NULL;
    if (c->op->compute == TW_AVERAGE && !(n_read = calloc((size_t)n, sizeof *n_read))) return NULL;
    for (int64_t i = 0; i < n; i++) out[i] = c->op->compute == TW_MAX ? tw_numbers_lowest(tensor->dtype) : 0;
    run_nest(c, out, n_read);
    for (int64_t i = 0; i < n && n_read; i++)
        if (n_read[i] > 0) out[i] /= n_read[i];
    free(n_read);
    return "direct evaluation";
}
