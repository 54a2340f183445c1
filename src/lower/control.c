/* src/lower/control.c - If, and steps of the host with all that their subgraphs read. */
#include "lower/build.h"

#include <string.h>

static int attribute_graph(const tw_lowering *l, const char *name)
{
    const tw_attribute *a = tw_onnx_attribute(l->node, name);
    return a && a->kind == TW_ATTR_GRAPH ? a->graph : -1;
}

/* ---- what subgraphs read ---- */

typedef struct list {
    int n, room;
    int *item;
} list;

static void add_item(tw_lowering *l, list *s, int item)
{
    for (int i = 0; i < s->n; i++)
        if (s->item[i] == item) return;
    if (tw_room_for(l, &s->item, s->n, &s->room, sizeof *s->item)) s->item[s->n++] = item;
}

bool tw_is_within(const tw_graph_file *file, int graph, int around)
{
    while (graph >= 0 && graph != around) graph = file->graph[graph].around;
    return graph >= 0;
}

/* Values from around `top` that the graph reads, in the graphs in it too. */
static void add_outer_values(tw_lowering *l, int top, int graph, list *s)
{
    const tw_graph *g = &l->file->graph[graph];
    for (int n = 0; n < g->n_nodes; n++) {
        const tw_onnx_node *node = &g->node[n];
        for (int i = 0; i < node->n_inputs; i++)
            if (node->input[i] >= 0 && !tw_is_within(l->file, l->file->value[node->input[i]].graph, top))
                add_item(l, s, tw_tensor_of(l, node->input[i]));
        for (int a = 0; a < node->n_attributes; a++)
            if (node->attribute[a].graph >= 0 && node->attribute[a].kind == TW_ATTR_GRAPH)
                add_outer_values(l, top, node->attribute[a].graph, s);
    }
    for (int i = 0; i < g->n_outputs; i++)
        if (g->output[i] >= 0 && !tw_is_within(l->file, l->file->value[g->output[i]].graph, top))
            add_item(l, s, tw_tensor_of(l, g->output[i]));
}

/* ---- steps of the host ---- */

static bool was_lowered(const tw_lowering *l) { return strcmp(l->node->op, "If") == 0; }

/* Inputs in order, then what subgraphs read, then what the branches of an If hand out. */
static list inputs_of(tw_lowering *l)
{
    list own = {0}, around = {0};
    for (int i = 0; i < l->node->n_inputs; i++)
        if (tw_room_for(l, &own.item, own.n, &own.room, sizeof *own.item))
            own.item[own.n++] = tw_tensor_of(l, l->node->input[i]);
    for (int a = 0; a < l->node->n_attributes; a++) {
        const tw_attribute *at = &l->node->attribute[a];
        if (at->kind != TW_ATTR_GRAPH || at->graph < 0) continue;
        add_outer_values(l, at->graph, at->graph, &around);
        const tw_graph *g = &l->file->graph[at->graph];
        for (int i = 0; was_lowered(l) && i < g->n_outputs; i++)
            add_item(l, &around, tw_tensor_of(l, g->output[i]));
    }
    for (int i = 0; i < around.n; i++)
        if (tw_room_for(l, &own.item, own.n, &own.room, sizeof *own.item)) own.item[own.n++] = around.item[i];
    return own;
}

static const int *outputs_of(tw_lowering *l)
{
    int *output = TW_NEW(l->arena, int, tw_max(l->node->n_outputs, 1));
    if (!output) l->no_memory = true;
    for (int i = 0; output && i < l->node->n_outputs; i++) output[i] = tw_tensor_of(l, l->node->output[i]);
    return output;
}

void tw_add_host(tw_lowering *l, const char *why)
{
    list in = inputs_of(l);
    const int *output = outputs_of(l);
    int *node = TW_NEW(l->arena, int, 1);
    if (!node) l->no_memory = true;
    if (l->no_memory || !tw_room_for_step(l)) return;
    *node = l->index;
    bool knows = tw_ref_knows(l->node);
    l->step[l->n_steps++] = (tw_op){.name = l->name,
                                    .kind = knows ? TW_OP_HOST : TW_OP_UNKNOWN,
                                    .from = {l->node->op, l->graph, 1, node, false, l->in_branch},
                                    .why = why,
                                    .n_inputs = in.n,
                                    .n_outputs = l->node->n_outputs,
                                    .input = in.item,
                                    .output = output};
}

/* ---- If ---- */

/* The outputs of the node are those of the branch. */
static void branch_is_all(tw_lowering *l, int graph)
{
    const tw_graph *g = &l->file->graph[graph];
    for (int i = 0; i < l->node->n_outputs && i < g->n_outputs; i++) {
        int from = tw_tensor_of(l, g->output[i]), to = tw_tensor_of(l, l->node->output[i]);
        if (from < 0 || to < 0 || l->no_memory) continue;
        l->tensor[to].root = l->tensor[from].root;
        l->tensor[to].offset = l->tensor[from].offset;
        l->tensor[to].role = l->tensor[from].role;
    }
    l->n_views++;
}

bool tw_lower_if(tw_lowering *l)
{
    const tw_array *condition = tw_known_input(l, 0);
    int yes = attribute_graph(l, "then_branch"), no = attribute_graph(l, "else_branch");
    const char *name = l->name;
    if (yes < 0 || no < 0) return false;
    bool known = condition && condition->data && condition->n == 1,
         taken = known && tw_array_get(condition, 0) != 0;
    bool outer = l->in_branch;
    l->in_branch |= !known;
    if (!known || taken) tw_lower_graph(l, yes, tw_say(l, "%s.then.", name));
    if (!known || !taken) tw_lower_graph(l, no, tw_say(l, "%s.else.", name));
    l->in_branch = outer;
    if (known) branch_is_all(l, taken ? yes : no);
    return known;
}
