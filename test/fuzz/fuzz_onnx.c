/* test/fuzz/fuzz_onnx.c - bytes to the reader of ONNX models.
 *
 * What it accepts has every index in range and every value written before it is read, prints, and each of its constants is
 * read or refused with a message; so are its shapes. The same bytes are a tensor too. */
#include "infer/infer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds) abort();
}

static void check_values(const int *value, int n, const tw_graph_file *file)
{
    for (int i = 0; i < n; i++) expect(value[i] >= -1 && value[i] < file->n_values);
}

static void check_node(const tw_graph_file *file, int graph, int index)
{
    const tw_onnx_node *node = &file->graph[graph].node[index];
    check_values(node->input, node->n_inputs, file);
    check_values(node->output, node->n_outputs, file);
    for (int i = 0; i < node->n_inputs; i++) {
        const tw_value *value = node->input[i] < 0 ? NULL : &file->value[node->input[i]];
        expect(!value || value->graph != graph || value->node < index);
    }
    for (int i = 0; i < node->n_attributes; i++) {
        const tw_attribute *a = &node->attribute[i];
        expect(a->kind != TW_ATTR_TENSOR || a->tensor);
        expect(a->kind != TW_ATTR_GRAPH || (a->graph > graph && a->graph < file->n_graphs));
    }
}

static void read_constant(const tw_constant *constant, tw_arena *arena)
{
    tw_diag diag = {0};
    const void *out;
    expect(constant->type < TW_ONNX_N_TYPES && constant->n_elems >= 0);
    if (constant->external) return; /* nothing of this machine is an answer */
    tw_status status = tw_constant_read(constant, "fuzz.onnx", arena, &diag, &out);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (diag.n_errors == 0));
    tw_diag_release(&diag);
}

static void check_file(const tw_graph_file *file, tw_arena *arena)
{
    tw_text text = {0};
    for (int g = 0; g < file->n_graphs; g++) {
        check_values(file->graph[g].input, file->graph[g].n_inputs, file);
        check_values(file->graph[g].output, file->graph[g].n_outputs, file);
        for (int i = 0; i < file->graph[g].n_nodes; i++) check_node(file, g, i);
    }
    for (int i = 0; i < file->n_values; i++)
        if (file->value[i].constant) read_constant(file->value[i].constant, arena);
    tw_graph_print(file, &text);
    expect(!text.failed);
    tw_text_release(&text);
}

static void infer(const tw_graph_file *file, tw_arena *arena)
{
    tw_diag diag = {0};
    tw_text text = {0};
    const tw_shapes *shapes;
    tw_status status = tw_infer_shapes(file, &(tw_infer_options){0}, arena, &diag, &shapes);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect(status == TW_OK || diag.n_errors > 0);
    if (status == TW_OK) tw_shapes_print(shapes, &text);
    tw_text_release(&text);
    tw_diag_release(&diag);
}

static void read_tensor(const uint8_t *bytes, size_t size, tw_arena *arena)
{
    tw_diag diag = {0};
    const tw_constant *constant;
    tw_status status = tw_constant_parse("fuzz.pb", bytes, size, arena, &diag, &constant);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (diag.n_errors == 0));
    if (status == TW_OK) read_constant(constant, arena);
    tw_diag_release(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tw_diag diag = {0};
    tw_arena *arena = tw_arena_new();
    const tw_graph_file *file;
    expect(arena != NULL);
    tw_status status = tw_graph_read("fuzz.onnx", bytes, size, arena, &diag, &file);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (diag.n_errors == 0));
    if (status == TW_OK) {
        check_file(file, arena);
        infer(file, arena);
    }
    read_tensor(bytes, size, arena);
    tw_arena_free(arena);
    tw_diag_release(&diag);
    return 0;
}
