/* test/input/test_doc.c - documents built in code: every built-in machine and some workloads and mappings built entry by
 * entry are what their files are; what no file can say is refused with its place. And what is asked of the plans. */
#include "input/doc.h"
#include "mapping/mapping.h"
#include "tw_test.h"

#include <math.h>
#include <string.h>

/* The same tree by calls. */
static void copy_children(tw_doc *to, const tw_node *from)
{
    for (const tw_node *n = from->child; n; n = n->next)
        if (n->kind == TW_SCALAR)
            tw_doc_put(to, n->key, n->text);
        else
            copy_children(n->kind == TW_LIST ? tw_doc_list(to, n->key) : tw_doc_map(to, n->key), n);
}

static tw_doc *doc_of(tw_context *ctx, const char *text)
{
    static tw_arena *arena; /* one tree at a time */
    tw_diag diag = {0};
    const tw_node *root;
    tw_arena_free(arena);
    arena = tw_arena_new();
    CHECK_EQ(tw_tree_parse("text", text, strlen(text), arena, &diag, &root), TW_OK);
    tw_doc *doc = tw_doc_new(ctx, "doc");
    copy_children(doc, root);
    tw_arena_free(arena);
    arena = NULL;
    return doc;
}

typedef struct printed {
    char *text;
    size_t n;
} printed;
#define PRINTED(call)                              \
    ({                                             \
        printed p = {0};                           \
        FILE *out = open_memstream(&p.text, &p.n); \
        CHECK_EQ(call, TW_OK);                     \
        fclose(out);                               \
        p;                                         \
    })
static void check_same(printed a, printed b)
{
    assert_string_equal(a.text, b.text);
    free(a.text);
    free(b.text);
}

TEST(a_machine_built_in_code_is_the_one_of_its_file)
{
    for (int i = 0; tw_machine_builtin_name(i); i++) {
        tw_context *ctx = tw_context_new();
        const tw_machine *read, *built;
        CHECK_EQ(tw_machine_open(ctx, tw_machine_builtin_name(i), &read), TW_OK);
        CHECK_EQ(tw_machine_build(ctx, doc_of(ctx, tw_machine_builtin_text(i)), &built), TW_OK);
        check_same(PRINTED(tw_machine_print_to(ctx, read, out)), PRINTED(tw_machine_print_to(ctx, built, out)));
        FILE *nowhere = tmpfile();
        CHECK_EQ(tw_machine_print_source(ctx, built, nowhere), TW_ERR_INPUT);
        fclose(nowhere);
        tw_context_free(ctx);
    }
}

static const char workload[] = "workload: two\nops:\n  - {name: a, op: matmul, shape: [64, 32, 48], dtype: i8}\n"
                               "  - {name: b, op: conv, shape: [3, 9, 9], out: 8, kernel: 3, pad: 1}\n";
static const char mapping[] = "mapping:\n  a: {levels: [{at: buffer, tiles: {m: 4, n: 2}}]}\n"
                              "  b: {levels: [{at: buffer}]}\n";

TEST(a_model_and_a_mapping_built_in_code_are_those_of_their_files)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model, *built;
    const tw_machine *machine;
    const tw_mapping *map, *same;
    const tw_limits *limits;
    CHECK_EQ(tw_model_parse(ctx, "w", workload, &model), TW_OK);
    CHECK_EQ(tw_model_build(ctx, doc_of(ctx, workload), &built), TW_OK);
    check_same(PRINTED(tw_model_print_to(ctx, model, out)), PRINTED(tw_model_print_to(ctx, built, out)));
    CHECK_EQ(tw_machine_open(ctx, "tick-100k", &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "m", mapping, &map), TW_OK);
    CHECK_EQ(tw_mapping_build(ctx, built, machine, doc_of(ctx, mapping), &same), TW_OK);
    check_same(PRINTED(tw_mapping_print_to(ctx, map, model, machine, out)),
               PRINTED(tw_mapping_print_to(ctx, same, model, machine, out)));
    CHECK_EQ(tw_limits_build(ctx, built, machine, doc_of(ctx, mapping), &limits), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "m", tw_limits_text(limits), &same), TW_OK);
    check_same(PRINTED(tw_mapping_print_to(ctx, map, model, machine, out)),
               PRINTED(tw_mapping_print_to(ctx, same, model, machine, out)));
    tw_context_free(ctx);
}

TEST(any_text_survives_being_printed_and_read)
{
    static const char *const text[] = {"plain", "-5",  "- x", "",   "a: b",     "\"quoted\\\"",
                                       "x, y",  "[1]", "1e6", "*x", "\xc3\xa9", " x "};
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_text out = {0};
    const tw_node *root;
    tw_doc *doc = tw_doc_of_arena(arena, "d");
    tw_doc_put_texts(doc, "list: of texts", TW_COUNT(text), text);
    tw_doc_print(doc, &out);
    CHECK_EQ(tw_tree_parse("out", out.bytes, out.len, arena, &diag, &root), TW_OK);
    const tw_node *n = root->child->child;
    assert_string_equal(root->child->key, "list: of texts");
    for (size_t i = 0; i < TW_COUNT(text); i++, n = n->next) assert_string_equal(n->text, text[i]);
    CHECK(n == NULL);
    tw_text_release(&out);
    tw_arena_free(arena);
}

static void check_refused(void (*spoil)(tw_doc *doc), const char *message)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    tw_doc *doc = tw_doc_new(ctx, "d");
    spoil(doc);
    CHECK_EQ(tw_machine_build(ctx, doc, &machine), TW_ERR_INPUT);
    assert_string_equal(tw_context_message(ctx, 0), message);
    tw_context_free(ctx);
}
static void twice(tw_doc *d) { tw_doc_put(d, "unit", "byte"), tw_doc_put(d, "unit", "byte"); }
static void key_in_list(tw_doc *d) { tw_doc_put(tw_doc_list(d, "memories"), "name", "x"); }
static void no_key(tw_doc *d)
{
    tw_doc_put(tw_doc_add(tw_doc_list(d, "memories"), NULL, "name", "x", NULL), NULL, "y");
}
static void not_finite(tw_doc *d) { tw_doc_put_real(d, "clock_mhz", INFINITY); }
static void control(tw_doc *d) { tw_doc_put(d, "machine", "a\nb"); }
static void unknown(tw_doc *d)
{
    tw_doc_put(d, "machine", "x");
    tw_doc_put(d, "unit", "byte");
    tw_doc_put(d, "timing", "async");
    tw_doc *memories = tw_doc_list(d, "memories"), *engines = tw_doc_list(d, "engines");
    for (int i = 0; i < 2; i++) tw_doc_add(memories, NULL, "name", i ? "y" : "x", i ? "size" : "sise", "3", NULL);
    for (int i = 0; i < 2; i++) tw_doc_add(engines, NULL, "name", "e", NULL);
}
static void deep(tw_doc *d)
{
    for (int i = 0; i < TW_TREE_DEPTH; i++) d = tw_doc_map(d, "x");
}

TEST(what_no_file_can_say_is_refused_with_its_place)
{
    check_refused(twice, "d.unit: error: this key is there already");
    check_refused(key_in_list, "d.memories.name: error: a list has no keys");
    check_refused(no_key, "d.memories[0][1]: error: an entry of a map needs a key");
    check_refused(not_finite, "d: error: a number is not finite");
    check_refused(control, "d.machine: error: control characters are not allowed");
    check_refused(
        deep,
        "d.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x: error: lists and maps are nested too "
        "deeply");
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    tw_doc *doc = tw_doc_new(ctx, "d");
    unknown(doc);
    CHECK_EQ(tw_machine_build(ctx, doc, &machine), TW_ERR_INPUT);
    bool told = false;
    for (int i = 0; i < tw_context_n_messages(ctx); i++)
        told |= strncmp(tw_context_message(ctx, i), "d.memories[0].sise: error: ", 27) == 0;
    CHECK(told);
    CHECK_EQ(tw_machine_build(ctx, NULL, &machine), TW_ERR_NOMEM);
    tw_doc_put(NULL, "a", "b");
    CHECK(tw_doc_map(NULL, "a") == NULL);
    tw_context_free(ctx);
}

/* Commands that write an operand's buffers are the transfers of its link, or the executions. */
TEST(buffers_are_touched_as_often_as_the_links_say)
{
    static const char *const machine_name[] = {"kpu", "tick-100k", "snitch"};
    for (size_t m = 0; m < TW_COUNT(machine_name); m++) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_plan *plan;
        const tw_buffer_info *b;
        int n;
        CHECK_EQ(tw_model_open(ctx, "matmul:48x40x56", &model), TW_OK);
        CHECK_EQ(tw_machine_open(ctx, machine_name[m], &machine), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, model, machine, &(tw_search_options){.gap = 0.2, .budget = 2000}, &plan),
                 TW_OK);
        CHECK_EQ(tw_plan_buffers(ctx, plan, 0, &b, &n), TW_OK);
        int64_t end = tw_plan_op_summary(plan, 0)->cycles;
        for (int memory = 1; memory < tw_plan_n_memories(plan); memory++)
            for (int o = 0; o < tw_plan_n_operands(plan, 0); o++) {
                const tw_link_use *link = tw_plan_link_use(plan, 0, memory, o);
                int64_t writes = 0, reads = 0;
                for (int i = 0; i < n; i++) {
                    if (!link->inner || strcmp(b[i].memory, link->inner) != 0 ||
                        strcmp(b[i].operand, link->operand) != 0)
                        continue;
                    writes += b[i].writes, reads += b[i].reads;
                    CHECK(b[i].offset >= 0 && b[i].size > 0);
                    CHECK(b[i].last < b[i].first ? b[i].reads + b[i].writes == 0
                                                 : b[i].first >= 0 && b[i].last <= end);
                }
                if (!link->inner) continue;
                bool output = o == tw_plan_n_operands(plan, 0) - 1;
                if (!output) CHECK_EQ(writes, link->loads);
                if (output) CHECK(reads >= link->transfers - link->loads && writes > 0);
            }
        int64_t product = 1;
        for (int l = 0; l < tw_plan_n_loops(plan, 0); l++) {
            CHECK_EQ(tw_plan_n_tiles(plan, 0, 0, l),
                     tw_cdiv(tw_plan_loop_extent(plan, 0, l), tw_plan_tile_size(plan, 0, 0, l)));
            product *= tw_plan_n_tiles(plan, 0, 0, l);
        }
        if (tw_plan_n_levels(plan, 0) == 1) CHECK_EQ(product, tw_plan_op_summary(plan, 0)->execs);
        tw_context_free(ctx);
    }
}
