/* test/wasm/test_tree.c - the reader of files that stands in for libyaml in the page, against libyaml. */
#define tw_tree_parse small_tree_parse
#include "wasm/tree.c"
#undef tw_tree_parse

#include "tw_test.h"

#include <glob.h>

tw_status tw_tree_parse(const char *file, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                        const tw_node **root);

static void check_same(const char *path, const tw_node *a, const tw_node *b)
{
    bool same = a->kind == b->kind && a->n_children == b->n_children && a->loc.line == b->loc.line &&
                a->loc.col == b->loc.col && a->quoted == b->quoted;
    if (!same)
        fail_msg("%s:%d:%d: another node than at %d:%d", path, a->loc.line, a->loc.col, b->loc.line, b->loc.col);
    CHECK_EQ(a->text == NULL, b->text == NULL);
    if (a->text) CHECK_STR(a->text, b->text);
    CHECK_EQ(a->key == NULL, b->key == NULL);
    if (a->key) CHECK_STR(a->key, b->key);
    const tw_node *x = a->child, *y = b->child;
    for (; x && y; x = x->next, y = y->next) check_same(path, x, y);
    CHECK(!x && !y);
}

/* Both read it, or neither does. */
static bool check_text(const char *name, const char *text, size_t n)
{
    tw_arena *arena = tw_arena_new();
    tw_diag mine = {0}, theirs = {.muted = true};
    const tw_node *a, *b;
    tw_status small = small_tree_parse(name, text, n, arena, &mine, &a);
    tw_status large = tw_tree_parse(name, text, n, arena, &theirs, &b);
    if (small != large) fail_msg("%s: %s", name, mine.n_texts > 0 ? mine.text[0] : "read here alone");
    if (small == TW_OK) check_same(name, a, b);
    tw_diag_release(&mine);
    tw_diag_release(&theirs);
    tw_arena_free(arena);
    return small == TW_OK;
}

static int check_files(const char *pattern)
{
    const char *source = getenv("TW_SOURCE");
    char path[4096];
    glob_t found;
    int n_read = 0;
    snprintf(path, sizeof path, "%s/%s", source ? source : ".", pattern);
    if (glob(path, 0, NULL, &found) != 0) return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char text[1 << 16];
        FILE *in = fopen(found.gl_pathv[i], "r");
        CHECK(in != NULL);
        size_t n = fread(text, 1, sizeof text, in);
        fclose(in);
        n_read += check_text(found.gl_pathv[i], text, n);
    }
    globfree(&found);
    return n_read;
}

TEST(every_example_is_the_tree_that_libyaml_reads)
{
    CHECK(check_files("examples/machines/*.yaml") >= 10);
    CHECK(check_files("examples/*/*.yaml") >= 20);
}

TEST(what_the_page_writes_is_the_tree_that_libyaml_reads)
{
    static const char *const text[] = {
        "{machine: m, sizes: [1, 2], \"a b\": \"c: d\", e: 200 pJ, f: {g: {}, h: []}}",
        "{\"a\": \"\\u00e9\\\"\", 'b': 'it''s'}",
        "a: 1 # one\nb:\n  - x: 1\n    y: [1,\n      2]\n  - z\n",
        "a:\n- 1\n- 2\nb: end\n",
        "- - 1\n  - 2\n- {a: b}\n",
    };
    for (size_t i = 0; i < TW_COUNT(text); i++) CHECK(check_text("text", text[i], strlen(text[i])));
}

TEST(what_is_wrong_has_a_place_and_a_reason)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{a: 1", "t:1:6: error: ',' or '}' is missing"},
        {"{a: 1,", "t:1:1: error: '}' is missing"},
        {"{a: 1 b: 2}", "t:1:8: error: ',' or '}' is missing"},
        {"a: 1\na: 2\n", "t:2:1: error: 'a' is given twice"},
        {"a: \"x\n", "t:1:4: error: the text in quotes has no end, or more than 255 bytes"},
        {"a: &b 1\n", "t:1:4: error: what begins with '&' is not read here"},
        {"a:\n", "t:1:3: error: a value is missing"},
        {"a: 1\n   b: 2\n", "t:2:4: error: the line is indented too far"},
        {"", "t:1:1: error: the file is empty"},
    };
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        tw_arena *arena = tw_arena_new();
        tw_diag diag = {0};
        const tw_node *root;
        CHECK_EQ(small_tree_parse("t", bad[i].text, strlen(bad[i].text), arena, &diag, &root), TW_ERR_INPUT);
        CHECK_STR(diag.text[0], bad[i].message);
        tw_diag_release(&diag);
        tw_arena_free(arena);
    }
}
