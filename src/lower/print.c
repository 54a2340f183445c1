/* src/lower/print.c - the text of a lowered network. */
#include "lower/lower.h"

static void print_tensor(const tw_model *graph, int t, tw_text *out)
{
    if (t < 0) {
        tw_text_printf(out, "-");
        return;
    }
    const tw_tensor *tensor = &graph->tensor[t];
    tw_text_printf(out, "%s", tensor->name);
    if (tensor->root != t || tensor->offset)
        tw_text_printf(out, "=%s+%" PRId64, graph->tensor[tensor->root].name, tensor->offset);
}

/* Some of the tensors that the operator reads. */
static void print_reads(const tw_model *graph, const tw_op *op, const char *before, tw_span reads, tw_text *out)
{
    for (int64_t i = reads.lo; i < reads.hi; i++) {
        tw_text_printf(out, "%s", i > reads.lo ? ", " : before);
        print_tensor(graph, tw_op_read(op, (int)i), out);
    }
}

static void print_writes(const tw_model *graph, const tw_op *op, tw_text *out)
{
    for (int i = 0; i < tw_op_n_writes(op); i++) {
        tw_text_printf(out, "%s", i ? ", " : " -> ");
        print_tensor(graph, tw_op_written(op, i), out);
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
    (void)tw_op_value_names(op, name);
    if (op->value) {
        tw_text_printf(out, "; value ");
        tw_formula_print(op->value, name, out);
    }
    (void)tw_op_finish_names(op, name);
    if (op->finish) {
        tw_text_printf(out, "; finish ");
        tw_formula_print(op->finish, name, out);
    }
}

static void print_described(const tw_model *graph, const tw_op *op, tw_text *out)
{
    int n = tw_op_output(op);
    tw_text_printf(out, "%s", tw_compute_name(op->compute));
    print_loops(op, out);
    print_reads(graph, op, ": ", (tw_span){0, n}, out);
    print_reads(graph, op, "; held ", (tw_span){n, n + op->n_held}, out);
    print_writes(graph, op, out);
    for (int o = 0; o < op->n_operands; o++) {
        const tw_selection *rows = &op->operand[o].rows;
        if (rows->count > 0)
            tw_text_printf(out, "; %s is %" PRId64 " of %" PRId64 " rows by %s", op->operand[o].name, rows->count,
                           rows->extent, op->operand[rows->index].name);
    }
    print_formulas(op, out);
    tw_text_printf(out, "\n");
}

static void print_host(const tw_model *graph, const tw_op *op, tw_text *out)
{
    tw_text_printf(out, "%s", op->kind == TW_OP_HOST ? "host" : "unknown");
    print_reads(graph, op, ": ", (tw_span){0, op->n_inputs}, out);
    print_writes(graph, op, out);
    tw_text_printf(out, " (%s)\n", op->why);
}

static void print_steps(const tw_model *graph, tw_text *out)
{
    for (int s = 0; s < graph->n_ops; s++) {
        const tw_op *op = &graph->op[s];
        tw_text_printf(out, "%s%s [%s] ", op->from.constant ? "constant " : "", op->name, op->from.what);
        if (op->kind == TW_OP_DESCRIBED)
            print_described(graph, op, out);
        else
            print_host(graph, op, out);
    }
}

void tw_lowered_print(const tw_lowered *lowered, tw_text *out)
{
    print_steps(&lowered->constants, out);
    print_steps(&lowered->graph, out);
    for (int f = 0; f < lowered->n_folds; f++)
        tw_text_printf(out, "folded %s [%s] into %s\n", lowered->fold[f].node, lowered->fold[f].op,
                       lowered->fold[f].into);
    for (int i = 0; i < lowered->n_too_large; i++)
        tw_text_printf(out, "not computed before the network runs, too large: %s\n", lowered->too_large[i]);
    if (lowered->n_constant_nodes > 0 || lowered->constants.n_ops > 0)
        tw_text_printf(out,
                       "%d nodes and %d steps depend on constants alone; the network reads %d of their results\n",
                       lowered->n_constant_nodes, lowered->constants.n_ops, lowered->n_constants);
    tw_text_printf(out, "%d steps, %d tensors, %d folds, %d views\n", lowered->graph.n_ops,
                   lowered->graph.n_tensors, lowered->n_folds, lowered->n_views);
}
