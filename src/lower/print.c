/* src/lower/print.c - the text of a lowered network. */
#include "lower/lower.h"

static void print_tensor(const tw_lowered *lowered, int t, tw_text *out)
{
    if (t < 0) {
        tw_text_printf(out, "-");
        return;
    }
    const tw_net_tensor *tensor = &lowered->tensor[t];
    tw_text_printf(out, "%s", tensor->name);
    if (tensor->root != t || tensor->offset)
        tw_text_printf(out, "=%s+%" PRId64, lowered->tensor[tensor->root].name, tensor->offset);
}

static void print_list(const tw_lowered *lowered, const char *before, const int *tensor, int n, tw_text *out)
{
    for (int i = 0; i < n; i++) {
        tw_text_printf(out, "%s", i ? ", " : before);
        print_tensor(lowered, tensor[i], out);
    }
}

/* "m=4 n=5 | k=3" */
static void print_loops(const tw_op *op, tw_text *out)
{
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0, n = 0; l < op->n_loops; l++) {
            if (op->loop[l].reduces != (pass == 1)) continue;
            tw_text_printf(out, "%s%s=%" PRId64, pass && n++ == 0 ? " | " : " ", op->loop[l].name,
                           op->loop[l].extent);
        }
}

static void print_formulas(const tw_op *op, tw_text *out)
{
    const char *name[TW_MAX_OPERANDS + TW_MAX_HELD];
    int n = tw_op_output(op);
    for (int i = 0; i < n; i++) name[i] = op->operand[i].name;
    for (int h = 0; h < op->n_held; h++) name[n + h] = op->held[h].name;
    if (op->value) {
        tw_text_printf(out, "; value ");
        tw_formula_print(op->value, name, out);
    }
    name[0] = "sum";
    for (int h = 0; h < op->n_held; h++) name[1 + h] = op->held[h].name;
    if (op->finish) {
        tw_text_printf(out, "; finish ");
        tw_formula_print(op->finish, name, out);
    }
}

static void print_tiled(const tw_lowered *lowered, const tw_step *step, tw_text *out)
{
    const tw_op *op = step->model->op;
    tw_text_printf(out, "%s", tw_compute_name(op->compute));
    print_loops(op, out);
    print_list(lowered, ": ", step->operand, step->n_operands - 1, out);
    print_list(lowered, "; held ", step->held, op->n_held, out);
    print_list(lowered, " -> ", &step->operand[step->n_operands - 1], 1, out);
    for (int o = 0; o < step->n_operands; o++)
        if (step->select[o].count > 0)
            tw_text_printf(out, "; %s is %" PRId64 " of %" PRId64 " rows by %s", op->operand[o].name,
                           step->select[o].count, step->select[o].extent, op->operand[step->select[o].index].name);
    print_formulas(op, out);
    tw_text_printf(out, "\n");
}

static void print_host(const tw_lowered *lowered, const tw_step *step, tw_text *out)
{
    tw_text_printf(out, "%s", step->kind == TW_STEP_HOST ? "host" : "unknown");
    print_list(lowered, ": ", step->input, step->n_inputs, out);
    print_list(lowered, " -> ", step->output, step->n_outputs, out);
    tw_text_printf(out, " (%s)\n", step->why);
}

static void print_step(const tw_lowered *lowered, const tw_step *step, tw_text *out)
{
    tw_text_printf(out, "%s%s [%s] ", step->constant ? "constant " : "", step->name, step->op);
    if (step->kind == TW_STEP_TILED)
        print_tiled(lowered, step, out);
    else
        print_host(lowered, step, out);
}

void tw_lowered_print(const tw_lowered *lowered, tw_text *out)
{
    for (int s = 0; s < lowered->n_constant_steps; s++) print_step(lowered, &lowered->constant_step[s], out);
    for (int s = 0; s < lowered->n_steps; s++) print_step(lowered, &lowered->step[s], out);
    for (int f = 0; f < lowered->n_folds; f++)
        tw_text_printf(out, "folded %s [%s] into %s\n", lowered->fold[f].node, lowered->fold[f].op,
                       lowered->fold[f].into);
    for (int i = 0; i < lowered->n_too_large; i++)
        tw_text_printf(out, "not computed before the network runs, too large: %s\n", lowered->too_large[i]);
    if (lowered->n_constant_nodes > 0 || lowered->n_constant_steps > 0)
        tw_text_printf(out,
                       "%d nodes and %d steps depend on constants alone; the network reads %d of their results\n",
                       lowered->n_constant_nodes, lowered->n_constant_steps, lowered->n_constants);
    tw_text_printf(out, "%d steps, %d tensors, %d folds, %d views\n", lowered->n_steps, lowered->n_tensors,
                   lowered->n_folds, lowered->n_views);
}
