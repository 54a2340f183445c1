/* test/onnx/test_order.c - nodes that do not stand in the order of their data: the reader sorts them; and how many there may
 * be. */
#include "onnx/graph.h"
#include "pb.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

/* ---- graphs ---- */

/* "a b -> c d" */
static tw_text node_of(const char *op, const char *name, const char *values)
{
    tw_text node = {0};
    bool output = false;
    char *copy = strdup(values), *rest = copy, *word;
    while ((word = strsep(&rest, " ")))
        if (strcmp(word, "->") == 0)
            output = true;
        else if (*word)
            pb_text(&node, output ? 2 : 1, word);
    free(copy);
    pb_text(&node, 3, name);
    pb_text(&node, 4, op);
    return node;
}

static void add_node(tw_text *graph, const char *op, const char *name, const char *values)
{
    tw_text node = node_of(op, name, values);
    pb_message(graph, 1, &node);
}

static void add_name(tw_text *graph, int field, const char *name)
{
    tw_text value = {0};
    pb_text(&value, 1, name);
    pb_message(graph, field, &value);
}

static void add_branch(tw_text *node, tw_text *graph)
{
    tw_text a = {0};
    pb_text(&a, 1, "then_branch");
    pb_message(&a, 6, graph);
    pb_int(&a, 20, 5);
    pb_message(node, 5, &a);
}

typedef struct fixture {
    tw_arena *arena;
    tw_diag diag;
    tw_text model;
    const tw_graph_file *file;
    tw_status status;
} fixture;

static fixture read_graph(tw_text *graph)
{
    fixture f = {.arena = tw_arena_new()};
    pb_int(&f.model, 1, 8);
    pb_text(graph, 2, "g");
    pb_message(&f.model, 7, graph);
    f.status = tw_graph_read("m.onnx", (const uint8_t *)f.model.bytes, f.model.len, f.arena, &f.diag, &f.file);
    return f;
}

static void release(fixture *f)
{
    tw_arena_free(f->arena);
    tw_diag_release(&f->diag);
    tw_text_release(&f->model);
}

/* The names of the nodes of a graph, one after the other. */
static void check_names(const fixture *f, int graph, const char *expected)
{
    tw_text names = {0};
    CHECK_EQ(f->status, TW_OK);
    for (int i = 0; i < f->file->graph[graph].n_nodes; i++)
        tw_text_printf(&names, "%s%s", i ? " " : "", f->file->graph[graph].node[i].name);
    CHECK_STR(names.bytes, expected);
    tw_text_release(&names);
}

static void refused(tw_text *graph, const char *message)
{
    fixture f = read_graph(graph);
    CHECK_EQ(f.status, TW_ERR_INPUT);
    CHECK_EQ(f.diag.n_texts, 1);
    CHECK_STR(f.diag.text[0], message);
    release(&f);
}

/* ---- order ---- */

TEST(nodes_move_behind_what_they_wait_for_and_a_note_says_so)
{
    tw_text g = {0};
    add_name(&g, 11, "x");
    add_node(&g, "Add", "last", "b c -> y");
    add_node(&g, "Relu", "one", "x -> a");
    add_node(&g, "Neg", "three", "b -> c");
    add_node(&g, "Exp", "two", "a -> b");
    add_node(&g, "Log", "aside", "x -> z");
    fixture f = read_graph(&g);
    check_names(&f, 0, "one two three last aside");
    CHECK_EQ(f.diag.n_texts, 1);
    CHECK_EQ(f.diag.n_errors, 0);
    CHECK_STR(
        f.diag.text[0],
        "m.onnx: note: nodes are not in the order of their data, and were sorted: node 'last' (Add) at byte 11 "
        "reads what node 'two' (Exp) at byte 72 writes");
    release(&f);
}

TEST(what_is_in_order_stays_as_it_is)
{
    tw_text g = {0};
    add_name(&g, 11, "x");
    add_node(&g, "Relu", "b", "x -> b");
    add_node(&g, "Relu", "a", "x -> a");
    add_node(&g, "Add", "c", "a b -> c");
    fixture f = read_graph(&g);
    check_names(&f, 0, "b a c");
    CHECK_EQ(f.diag.n_texts, 0);
    release(&f);
}

TEST(what_a_branch_reads_is_read_by_its_node)
{
    tw_text g = {0}, inner = {0}, node = node_of("If", "if", "c -> y");
    add_name(&g, 11, "c");
    add_node(&inner, "Neg", "second", "k -> l");
    add_node(&inner, "Neg", "first", "late -> k");
    add_name(&inner, 12, "l");
    add_branch(&node, &inner);
    pb_message(&g, 1, &node);
    add_node(&g, "Exp", "exp", "c -> late");
    fixture f = read_graph(&g);
    check_names(&f, 0, "exp if");
    check_names(&f, 1, "first second");
    CHECK_EQ(f.diag.n_texts, 1);
    release(&f);
}

TEST(a_branch_may_give_what_is_written_behind_it)
{
    tw_text g = {0}, inner = {0}, node = node_of("If", "if", "c -> y");
    add_name(&g, 11, "c");
    add_name(&inner, 12, "late");
    add_branch(&node, &inner);
    pb_message(&g, 1, &node);
    add_node(&g, "Exp", "exp", "c -> late");
    fixture f = read_graph(&g);
    check_names(&f, 0, "exp if");
    release(&f);
}

/* ---- cycles ---- */

TEST(a_cycle_is_named_in_the_direction_of_its_data)
{
    tw_text g = {0};
    add_name(&g, 11, "x");
    add_node(&g, "Relu", "before", "x -> w");
    add_node(&g, "Add", "a", "w r -> p");
    add_node(&g, "Neg", "", "p -> q");
    add_node(&g, "Exp", "c", "q -> r");
    add_node(&g, "Exp", "behind", "r -> s");
    refused(&g, "m.onnx: error: node 'a' (Add) at byte 33: needs what is made of its output: cycle: 'a' -> Neg at "
                "byte 52 -> 'c' "
                "-> 'a'");
}

TEST(of_a_long_cycle_only_a_part_is_named)
{
    tw_text g = {0};
    for (int i = 0; i < 1000; i++) {
        char name[20], values[40];
        snprintf(name, sizeof name, "n%d", i);
        snprintf(values, sizeof values, "v%d -> v%d", (i + 999) % 1000, i);
        add_node(&g, "Neg", name, values);
    }
    fixture f = read_graph(&g);
    CHECK_EQ(f.status, TW_ERR_INPUT);
    CHECK(strstr(f.diag.text[0],
                 "cycle: 'n0' -> 'n1' -> 'n2' -> 'n3' -> 'n4' -> 'n5' -> 'n6' -> 'n7' -> .. 992 more -> 'n0'"));
    release(&f);
}

/* ---- any order ---- */

enum { NODES = 60 };

static void shuffle(int *order, int n, uint64_t *seed)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)tw_test_pick(seed, 0, i), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
}

/* Node i reads up to three of the values of the nodes before it. */
static tw_text random_graph(uint64_t *seed)
{
    tw_text g = {0}, text[NODES] = {{0}};
    int order[NODES];
    add_name(&g, 11, "v-1");
    for (int i = 0; i < NODES; i++) {
        char values[100], name[20];
        int n = 0;
        for (int k = (int)tw_test_pick(seed, 1, 3); k > 0; k--)
            n += snprintf(values + n, sizeof values - (size_t)n, "v%d ", (int)tw_test_pick(seed, -1, i - 1));
        snprintf(values + n, sizeof values - (size_t)n, "-> v%d", i);
        snprintf(name, sizeof name, "n%d", i);
        text[i] = node_of("Sum", name, values);
    }
    shuffle(order, NODES, seed);
    for (int i = 0; i < NODES; i++) pb_message(&g, 1, &text[order[i]]);
    return g;
}

TEST(every_shuffled_graph_is_sorted)
{
    uint64_t seed = tw_test_seed();
    for (int round = 0; round < 50; round++) {
        tw_text g = random_graph(&seed);
        fixture f = read_graph(&g);
        CHECK_EQ(f.status, TW_OK);
        const tw_graph *graph = &f.file->graph[0];
        CHECK_EQ(graph->n_nodes, NODES);
        bool written[NODES + 1] = {false};
        for (int i = 0; i < NODES; i++) {
            const tw_onnx_node *node = &graph->node[i];
            for (int k = 0; k < node->n_inputs; k++) {
                const tw_value *value = &f.file->value[node->input[k]];
                CHECK(value->node < i);
                CHECK(value->node < 0 || written[atoi(value->name + 1)]);
            }
            CHECK_STR(node->name + 1, f.file->value[node->output[0]].name + 1);
            CHECK_EQ(f.file->value[node->output[0]].node, i);
            written[atoi(node->name + 1)] = true;
        }
        release(&f);
    }
}

/* ---- how many ---- */

TEST(too_many_nodes_are_refused_before_anything_is_made_of_them)
{
    tw_text g = {0};
    for (int i = 0; i < 400000; i++) pb_bytes(&g, 1, "\x0a\x01x\x12\x01y\x22\x04Relu", 12);
    fixture f = read_graph(&g);
    CHECK_EQ(f.status, TW_ERR_INPUT);
    CHECK_STR(f.diag.text[0], "m.onnx: error: more than 1048576 nodes, values, attributes and inputs");
    CHECK(tw_arena_peak(f.arena) < 1 << 20);
    release(&f);
}
