/* src/model/unmerge.c - see unmerge.h. */
#include "model/unmerge.h"

#include <string.h>

typedef struct pieces { /* that a loop is divided into, outermost first */
    int n;              /* 0: it is not; -1: it cannot be */
    int64_t extent[TW_MAX_AXES];
} pieces;

/* Whether the axis is the loop, from end to end. */
static bool is_walked(const tw_op *op, const tw_axis *axis)
{
    return axis->n_terms == 1 && axis->term[0].coef == 1 && axis->offset == 0 && axis->divisor == 1 &&
           axis->extent == op->loop[axis->term[0].loop].extent;
}

/* Asks for the loop of an axis to be divided like this. */
static void ask(const tw_op *op, const tw_axis *axis, const pieces *like, pieces *of)
{
    if (!is_walked(op, axis)) return;
    pieces *loop = &of[axis->term[0].loop];
    bool same = loop->n == like->n && memcmp(loop->extent, like->extent, sizeof like->extent) == 0;
    if (loop->n == 0)
        *loop = *like;
    else if (!same)
        loop->n = -1;
}

/* Compares the operand's axes with the tensor's from the outermost on; where one axis is several of the tensor's, these are its pieces. */
static void compare(const tw_op *op, const tw_operand *operand, const tw_tensor *tensor, pieces *of)
{
    int t = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        pieces p = {0};
        int64_t whole = 1;
        while (t < tensor->n_axes && whole < operand->axis[a].extent && p.n < TW_MAX_AXES) {
            if (tensor->extent[t] > 1) p.extent[p.n++] = tensor->extent[t];
            whole *= tensor->extent[t++];
        }
        if (whole != operand->axis[a].extent) return; /* finer than the tensor, or other elements of it */
        if (p.n > 1) ask(op, &operand->axis[a], &p, of);
    }
}

/* Loops that occur in an axis with something else, or that something is held along, stay as they are; so do all if there would be too
 * many. */
static void refuse(const tw_op *op, pieces *of)
{
    int n_loops = op->n_loops;
    for (int h = 0; h < op->n_held; h++)
        if (op->held[h].loop >= 0) of[op->held[h].loop].n = 0;
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++)
            for (int k = 0; k < op->operand[o].axis[a].n_terms && !is_walked(op, &op->operand[o].axis[a]); k++)
                of[op->operand[o].axis[a].term[k].loop].n = 0;
    for (int l = 0; l < op->n_loops; l++) n_loops += of[l].n > 1 ? of[l].n - 1 : 0;
    for (int o = 0; o < op->n_operands; o++) {
        int n_axes = op->operand[o].n_axes;
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            const tw_axis *axis = &op->operand[o].axis[a];
            if (axis->n_terms == 1 && of[axis->term[0].loop].n > 1) n_axes += of[axis->term[0].loop].n - 1;
        }
        if (n_axes > TW_MAX_AXES) n_loops = TW_MAX_LOOPS + 1;
    }
    for (int l = 0; l < op->n_loops && n_loops > TW_MAX_LOOPS; l++) of[l].n = 0;
}

/* The pieces as loops; `first` gets the first of each. */
static bool divide_loops(const tw_op *from, const pieces *of, tw_arena *arena, int *first, tw_op *to)
{
    to->n_loops = 0;
    for (int l = 0; l < from->n_loops; l++) {
        first[l] = to->n_loops;
        if (of[l].n <= 1) to->loop[to->n_loops++] = from->loop[l];
        for (int p = 0; p < of[l].n && of[l].n > 1; p++) {
            const char *name = tw_arena_printf(arena, "%s%d", from->loop[l].name, p);
            if (!name) return false;
            to->loop[to->n_loops++] = (tw_loop){name, of[l].extent[p], from->loop[l].reduces};
        }
    }
    return true;
}

static void divide_axes(const tw_operand *from, const pieces *of, const int *first, tw_operand *to)
{
    to->n_axes = 0;
    for (int a = 0; a < from->n_axes; a++) {
        const tw_axis *axis = &from->axis[a];
        const pieces *p = axis->n_terms > 0 ? &of[axis->term[0].loop] : NULL;
        tw_axis *own = &to->axis[to->n_axes];
        if (!p || p->n <= 1) {
            *own = *axis;
            for (int k = 0; k < own->n_terms; k++) own->term[k].loop = first[own->term[k].loop];
            to->n_axes++;
            continue;
        }
        for (int k = 0; k < p->n; k++)
            to->axis[to->n_axes++] = (tw_axis){
                .extent = p->extent[k], .divisor = 1, .n_terms = 1, .term = {{first[axis->term[0].loop] + k, 1}}};
    }
}

bool tw_tensor_refine(tw_tensor *tensor, const tw_operand *operand)
{
    int64_t extent[TW_MAX_TENSOR_AXES];
    int n = 0, own = 0, t = 0;
    if (tw_operand_elems(operand) != tw_tensor_elems(tensor)) return false;
    for (int a = 0; a < operand->n_axes; a++)
        if (operand->axis[a].extent > 1 && n < TW_MAX_TENSOR_AXES) extent[n++] = operand->axis[a].extent;
    for (int a = 0; a < tensor->n_axes; a++) {
        int64_t whole = 1;
        own += tensor->extent[a] > 1;
        while (t < n && whole < tensor->extent[a]) whole *= extent[t++];
        if (whole != tensor->extent[a]) return false;
    }
    if (n <= own) return false;
    tensor->n_axes = n;
    memcpy(tensor->extent, extent, (size_t)n * sizeof *extent);
    return true;
}

bool tw_op_unmerge(tw_op *op, const tw_model *model, tw_arena *arena)
{
    pieces of[TW_MAX_LOOPS] = {0};
    int first[TW_MAX_LOOPS];
    tw_op was = *op;
    for (int o = 0; o < op->n_operands; o++)
        if (op->operand[o].rows.count == 0) compare(op, &op->operand[o], &model->tensor[op->operand[o].tensor], of);
    refuse(op, of);
    if (!divide_loops(&was, of, arena, first, op)) return false;
    for (int o = 0; o < op->n_operands; o++) divide_axes(&was.operand[o], of, first, &op->operand[o]);
    for (int h = 0; h < op->n_held; h++)
        if (op->held[h].loop >= 0) op->held[h].loop = first[op->held[h].loop];
    return true;
}
