/* src/onnx/print.c - a network as text: the values, then the nodes of each graph.
 *
 *     value 0 'x' in graph 0: input float batchx3x8x8
 *     value 1 'w' in graph 0: constant float 4x3x3x3 at byte 210
 *     value 2 'y' in graph 0: node 0 float ?
 *     graph 0 'net': (0) -> (2)
 *       node 0 'c1' Conv (0, 1, -) -> (2) group=1 pads=[1, 1, 1, 1] */
#include "core/utf8.h"
#include "onnx/source.h"

#include <string.h>

static void print_dims(const tw_declared *d, tw_text *out)
{
    if (d->n_dims == 0) tw_text_printf(out, " scalar");
    if (d->n_dims < 0) tw_text_printf(out, " of any rank");
    for (int i = 0; i < d->n_dims; i++) {
        tw_text_printf(out, i == 0 ? " " : "x");
        if (d->dim[i] >= 0)
            tw_text_printf(out, "%" PRId64, d->dim[i]);
        else
            tw_text_printf(out, "%s", d->symbol[i] ? d->symbol[i] : "?");
    }
}

static void print_declared(const tw_declared *d, tw_text *out)
{
    if (!d->there) return;
    tw_text_printf(out, " declared %s", d->is_tensor ? tw_onnx_type_name(d->type) : "as no tensor");
    if (d->is_tensor) print_dims(d, out);
}

static void print_constant(const tw_constant *c, tw_text *out)
{
    char shape[TW_SHAPE_MAX];
    tw_text_printf(out, "%s %s at byte %" PRId64, tw_onnx_type_name(c->type),
                   tw_onnx_shape(c->dim, c->n_dims, shape), c->offset);
    if (!c->external) return;
    tw_text_printf(out, " in '");
    tw_text_add_visible(out, c->location);
    tw_text_printf(out, "' from byte %" PRId64, c->external_offset);
}

static void print_value(const tw_value *v, int index, tw_text *out)
{
    tw_text_printf(out, "value %d '%s' in graph %d:", index, v->name, v->graph);
    if (v->node >= 0)
        tw_text_printf(out, " node %d", v->node);
    else if (!v->constant)
        tw_text_printf(out, " input");
    if (v->constant) tw_text_printf(out, " constant ");
    if (v->constant) print_constant(v->constant, out);
    print_declared(&v->declared, out);
    tw_text_add(out, "\n", 1);
}

static void print_string(const char *s, size_t n, tw_text *out)
{
    tw_text_add(out, "'", 1);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 32 || s[i] == 127)
            tw_text_printf(out, "\\x%02x", (unsigned char)s[i]);
        else
            tw_text_add(out, &s[i], 1);
    tw_text_add(out, "'", 1);
}

static void print_element(const tw_attribute *a, int i, tw_text *out)
{
    if (a->kind == TW_ATTR_INTS) tw_text_printf(out, "%" PRId64, a->ints[i]);
    if (a->kind == TW_ATTR_FLOATS) tw_text_printf(out, "%.9g", (double)a->floats[i]);
    if (a->kind == TW_ATTR_STRINGS) print_string(a->strings[i], strlen(a->strings[i]), out);
}

static void print_list(const tw_attribute *a, tw_text *out)
{
    tw_text_add(out, "[", 1);
    for (int i = 0; i < a->n; i++) {
        if (i > 0) tw_text_add(out, ", ", 2);
        print_element(a, i, out);
    }
    tw_text_add(out, "]", 1);
}

static void print_attribute(const tw_attribute *a, tw_text *out)
{
    tw_text_printf(out, " %s=", a->name);
    switch (a->kind) {
    case TW_ATTR_NONE: tw_text_printf(out, "nothing"); break;
    case TW_ATTR_FLOAT: tw_text_printf(out, "%.9g", (double)a->f); break;
    case TW_ATTR_INT: tw_text_printf(out, "%" PRId64, a->i); break;
    case TW_ATTR_STRING: print_string(a->s, a->s_bytes, out); break;
    case TW_ATTR_TENSOR: print_constant(a->tensor, out); break;
    case TW_ATTR_GRAPH: tw_text_printf(out, "graph %d", a->graph); break;
    case TW_ATTR_FLOATS:
    case TW_ATTR_INTS:
    case TW_ATTR_STRINGS: print_list(a, out); break;
    case TW_ATTR_OTHER: tw_text_printf(out, "other"); break;
    }
}

static void print_values(const int *value, int n, tw_text *out)
{
    tw_text_add(out, "(", 1);
    for (int i = 0; i < n; i++) {
        if (i > 0) tw_text_add(out, ", ", 2);
        if (value[i] < 0)
            tw_text_add(out, "-", 1);
        else
            tw_text_printf(out, "%d", value[i]);
    }
    tw_text_add(out, ")", 1);
}

static void print_node(const tw_onnx_node *n, int index, tw_text *out)
{
    tw_text_printf(out, "  node %d '%s' %s%s%s ", index, n->name, n->domain, n->domain[0] ? "." : "", n->op);
    print_values(n->input, n->n_inputs, out);
    tw_text_printf(out, " -> ");
    print_values(n->output, n->n_outputs, out);
    for (int i = 0; i < n->n_attributes; i++) print_attribute(&n->attribute[i], out);
    tw_text_add(out, "\n", 1);
}

static void print_graph(const tw_graph *g, int index, tw_text *out)
{
    tw_text_printf(out, "graph %d '%s'", index, g->name);
    if (g->around >= 0) tw_text_printf(out, " in graph %d", g->around);
    tw_text_printf(out, ": ");
    print_values(g->input, g->n_inputs, out);
    tw_text_printf(out, " -> ");
    print_values(g->output, g->n_outputs, out);
    tw_text_add(out, "\n", 1);
    for (int i = 0; i < g->n_nodes; i++) print_node(&g->node[i], i, out);
}

void tw_graph_print(const tw_graph_file *file, tw_text *out)
{
    tw_text_printf(out, "ir %" PRId64 " by '%s'\n", file->ir_version, file->producer);
    for (int i = 0; i < file->n_opsets; i++)
        tw_text_printf(out, "opset '%s' %" PRId64 "\n", file->opset_domain[i], file->opset_version[i]);
    for (int i = 0; i < file->n_values; i++) print_value(&file->value[i], i, out);
    for (int i = 0; i < file->n_graphs; i++) print_graph(&file->graph[i], i, out);
}
