/* src/machine/arrange.c - see arrange.h. */
#include "machine/arrange.h"

typedef struct strides {
    int64_t from[TW_MAX_LOOPS], to[TW_MAX_LOOPS]; /* elements from one step of the loop to the next */
    int64_t n[TW_MAX_LOOPS];                      /* steps at which the input has elements          */
    int64_t at;                                   /* of the first one in the input                  */
    bool none;
} strides;

/* The steps of the axis's loop, of those given, at which the input has elements; it may end before it begins. */
static tw_span steps_present(const tw_axis *axis, tw_span steps)
{
    int64_t coef = axis->term[0].coef;
    return (tw_span){tw_max(steps.lo, tw_cdiv(-axis->offset, coef)),
                     tw_min(steps.hi, tw_fdiv(axis->extent - 1 - axis->offset, coef) + 1)};
}

/* A loop that the input does not have begins again at the same element. */
static strides strides_of(const tw_op *op, const tw_operand *input, const tw_box *box, const tw_box *laid)
{
    const tw_operand *output = &op->operand[tw_op_output(op)];
    strides s = {.none = false};
    int64_t below = 1;
    for (int l = 0; l < op->n_loops; l++) s.n[l] = tw_span_len(box->span[l]);
    for (int a = input->n_axes - 1; a >= 0; below *= input->axis[a--].extent) {
        const tw_axis *axis = &input->axis[a];
        if (axis->n_terms == 0) {
            s.at += axis->offset * below;
            continue;
        }
        int l = axis->term[0].loop;
        int64_t coef = axis->term[0].coef;
        tw_span present = steps_present(axis, box->span[l]);
        s.none |= present.lo >= present.hi;
        s.n[l] = present.hi - present.lo;
        s.from[l] = coef * below;
        s.at += (coef * present.lo + axis->offset) * below;
    }
    below = 1;
    for (int a = output->n_axes - 1; a >= 0; a--) {
        int l = output->axis[a].term[0].loop;
        s.to[l] = below;
        below *= tw_span_len(laid->span[l]);
    }
    return s;
}

tw_shape tw_arranged(const tw_op *op, int operand, const tw_box *box, const tw_box *laid, int64_t elem)
{
    const tw_operand *output = &op->operand[tw_op_output(op)];
    strides s = strides_of(op, &op->operand[operand], box, laid);
    int64_t run = 1, rows = 1, others = 1, stride = 0;
    bool follows = true;
    if (s.none) return (tw_shape){0};
    for (int a = output->n_axes - 1; a >= 0; a--) {
        int l = output->axis[a].term[0].loop;
        if (s.n[l] == 1) continue;
        follows = follows && s.from[l] == run && s.to[l] == run;
        if (follows) {
            run *= s.n[l];
            continue;
        }
        bool longer = s.n[l] > rows;
        others *= longer ? rows : s.n[l];
        if (longer) rows = s.n[l], stride = s.from[l];
    }
    return (tw_shape){others, rows, run * elem, s.at * elem, stride * elem};
}

tw_rim tw_rim_of(const tw_op *op, const tw_box *box)
{
    if (tw_op_output(op) != 1) return TW_RIM_NONE;
    strides s = strides_of(op, &op->operand[0], box, box);
    if (s.none) return TW_RIM_ALL;
    for (int l = 0; l < op->n_loops; l++)
        if (s.n[l] < tw_span_len(box->span[l])) return TW_RIM_SOME;
    return TW_RIM_NONE;
}

bool tw_rim_has(const tw_op *op, int loop, tw_span steps)
{
    const tw_operand *input = &op->operand[0];
    for (int a = 0; a < input->n_axes; a++) {
        const tw_axis *axis = &input->axis[a];
        if (axis->n_terms == 0 || axis->term[0].loop != loop) continue;
        tw_span present = steps_present(axis, steps);
        if (present.lo >= present.hi) return true;
    }
    return false;
}

/* Thousandths of a cycle of all executions, at least. */
static int64_t computing(const tw_machine *machine, const tw_op *op, int64_t elem)
{
    const tw_cost *cost = &machine->engine[machine->compute].cost;
    int64_t len[TW_MAX_LOOPS], cycles = tw_cost_cycles(cost, tw_op_points(op));
    for (int l = 0; l < op->n_loops; l++) len[l] = op->loop[l].extent;
    tw_kernel_nest nest = tw_nest_of(op, len, elem);
    if (cost->kind == TW_COST_KERNEL) return tw_cost_of_kernel(&cost->kernel, &nest, false);
    return cycles < INT64_MAX / TW_MILLI ? cycles * TW_MILLI : INT64_MAX;
}

bool tw_arranging_pays(const tw_machine *machine, const tw_model *model, const tw_op *op, int link)
{
    tw_cost_descriptor cost = machine->engine[link].cost.descriptor; /* a strided mover has one */
    tw_box all;
    int64_t arranged = 0, plain = 0;
    cost.beats = TW_BEATS_ROWS; /* wherever the rows lie */
    for (int l = 0; l < op->n_loops; l++) all.span[l] = (tw_span){0, op->loop[l].extent};
    for (int o = 0; o < op->n_operands; o++) {
        const tw_tensor *tensor = &model->tensor[op->operand[o].tensor];
        int64_t elem = tw_machine_units(machine, tensor->dtype, 1);
        tw_shape dense = {1, 1, tw_operand_elems(&op->operand[o]) * elem, 0, 0};
        tw_shape shape = o == tw_op_output(op) ? dense : tw_arranged(op, o, &all, &all, elem);
        arranged = tw_sat_add(arranged, tw_cost_of_transfer(&cost, &shape));
        plain = tw_sat_add(plain, tw_cost_of_transfer(&cost, &dense));
        if (o == tw_op_output(op) && tw_rim_of(op, &all) != TW_RIM_NONE)
            arranged = tw_sat_add(arranged, tw_cost_of_fill(&cost, dense.units));
    }
    int64_t elem = tw_machine_units(machine, model->tensor[op->operand[0].tensor].dtype, 1);
    return arranged <= tw_max(plain, computing(machine, op, elem));
}
