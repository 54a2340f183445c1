/* test/input/test_tree.c - positions and refusals of the tree, and the typed getters on it. */
#include "input/field.h"
#include "tw_read.h"

static const tw_node *entry(const tw_node *map, const char *key)
{
    for (const tw_node *node = map->child; node; node = node->next)
        if (strcmp(node->key, key) == 0) return node;
    return NULL;
}

static void check_refused(const char *text, const char *message)
{
    tw_bench b = tw_bench_new();
    const tw_node *root = NULL;
    CHECK_EQ(tw_read_tree(&b, "f.yaml", text, &root), TW_ERR_INPUT);
    CHECK(root == NULL);
    CHECK_STR(b.diag.n_texts ? b.diag.text[0] : NULL, message);
    tw_bench_free(&b);
}

TEST(every_node_knows_its_line_and_column)
{
    tw_bench b = tw_bench_new();
    const tw_node *root;
    CHECK_EQ(tw_read_tree(&b, "f.yaml", "a: 1\nlist:\n  - {b: 'x y', c: [2, 3]}\n", &root), TW_OK);
    const tw_node *map = entry(root, "list")->child, *c = entry(map, "c");
    CHECK_EQ(map->loc.line, 3);
    CHECK_EQ(map->loc.col, 5);
    CHECK_EQ(entry(map, "b")->key_loc.col, 6);
    CHECK_EQ(entry(map, "b")->loc.col, 9);
    CHECK(entry(map, "b")->quoted);
    CHECK_STR(entry(map, "b")->text, "x y");
    CHECK_EQ(c->n_children, 2);
    CHECK_EQ(c->child->next->loc.col, 23);
    tw_bench_free(&b);
}

TEST(columns_count_bytes_and_a_byte_order_mark_counts_for_nothing)
{
    tw_bench b = tw_bench_new();
    const tw_node *root;
    CHECK_EQ(tw_read_tree(&b, "f.yaml", "\xef\xbb\xbf{\"\xc3\xa9\xe2\x82\xac\": 1, z: 2}\r\n", &root), TW_OK);
    CHECK_EQ(entry(root, "z")->key_loc.col, 14);
    tw_bench_free(&b);
}

TEST(json_is_read_as_yaml)
{
    tw_bench b = tw_bench_new();
    const tw_node *root;
    CHECK_EQ(tw_read_tree(&b, "f.json", "{\"a\": [1, {\"b\": true}]}", &root), TW_OK);
    CHECK_EQ(entry(root, "a")->n_children, 2);
    tw_bench_free(&b);
}

TEST(what_a_configuration_file_has_no_use_for_is_refused)
{
    check_refused("", "f.yaml:1:1: error: the file is empty");
    check_refused("# only a comment\n", "f.yaml:1:1: error: the file is empty");
    check_refused("---\n", "f.yaml:2:1: error: the document is empty");
    check_refused("a: &x 1\n", "f.yaml:1:4: error: anchor '&x' is not allowed here; write the value out");
    check_refused("a: 1\nb: *x\n", "f.yaml:2:4: error: alias '*x' is not allowed here; write the value out");
    check_refused("a: !!int 1\n", "f.yaml:1:4: error: tag 'tag:yaml.org,2002:int' is not allowed here");
    check_refused("a: 1\n---\nb: 2\n", "f.yaml:2:1: error: a second document begins; a file holds one");
    check_refused("? [a]\n: 1\n", "f.yaml:1:3: error: a key must be a word, found a list");
    check_refused("\"\": 1\n", "f.yaml:1:1: error: a key is empty");
    check_refused("a: \"x\\0y\"\n", "f.yaml:1:4: error: text holds a control character");
    check_refused("a: [1, 2\nb: 3\n", "f.yaml:2:2: error: did not find expected ',' or ']'");
    check_refused("a: \xff\n", "f.yaml:1:4: error: invalid leading UTF-8 octet");
    check_refused("a: x\nb: \x01\n", "f.yaml:2:4: error: control characters are not allowed");
}

TEST(a_zero_byte_is_reported_where_it_stands)
{
    tw_bench b = tw_bench_new();
    const tw_node *root;
    CHECK_EQ(tw_tree_parse("f.yaml", "a: 1\nb\0: 2\n", 11, b.arena, &b.diag, &root), TW_ERR_INPUT);
    CHECK_STR(b.diag.text[0], "f.yaml:2:2: error: control characters are not allowed");
    tw_bench_free(&b);
}

TEST(a_duplicate_key_is_shown_with_its_first_place)
{
    tw_bench b = tw_bench_new();
    const tw_node *root;
    CHECK_EQ(tw_read_tree(&b, "f.yaml", "size: 1\nname: x\nsize: 2\n", &root), TW_ERR_INPUT);
    CHECK_EQ(b.diag.n_texts, 2);
    CHECK_STR(b.diag.text[0], "f.yaml:3:1: error: duplicate key 'size'");
    CHECK_STR(b.diag.text[1], "f.yaml:1:1: note: 'size' was first given here");
    tw_bench_free(&b);
}

static void nest(tw_text *t, int depth)
{
    for (int i = 0; i < depth; i++) tw_text_add(t, "[", 1);
    for (int i = 0; i < depth; i++) tw_text_add(t, "]", 1);
}

TEST(nesting_ends_at_the_limit_and_a_million_brackets_do_no_harm)
{
    for (int depth = TW_TREE_DEPTH - 1; depth<3000000; depth = depth> TW_TREE_DEPTH ? depth * 100 : depth + 1) {
        tw_bench b = tw_bench_new();
        tw_text t = {0};
        const tw_node *root;
        nest(&t, depth);
        tw_status status = tw_read_tree(&b, "f.yaml", t.bytes, &root);
        CHECK_EQ(status, depth <= TW_TREE_DEPTH ? TW_OK : TW_ERR_INPUT);
        if (depth > TW_TREE_DEPTH && depth < 900)
            CHECK_STR(b.diag.text[0], "f.yaml:1:33: error: nested deeper than 32 levels");
        tw_text_release(&t);
        tw_bench_free(&b);
    }
}

TEST(a_map_of_256_entries_is_read_and_one_more_is_refused)
{
    for (int n = TW_TREE_MAP_MAX; n <= TW_TREE_MAP_MAX + 1; n++) {
        tw_bench b = tw_bench_new();
        tw_text t = {0};
        const tw_node *root;
        for (int i = 0; i < n; i++) tw_text_printf(&t, "k%d: 1\n", i);
        CHECK_EQ(tw_read_tree(&b, "f.yaml", t.bytes, &root), n <= TW_TREE_MAP_MAX ? TW_OK : TW_ERR_INPUT);
        if (n > TW_TREE_MAP_MAX) CHECK_STR(b.diag.last, "f.yaml:4097:1: error: map has more than 4096 entries");
        tw_text_release(&t);
        tw_bench_free(&b);
    }
}

TEST(a_file_of_very_many_values_is_refused)
{
    tw_bench b = tw_bench_new();
    tw_text t = {0};
    const tw_node *root;
    for (int i = 0; i < TW_TREE_NODES_MAX; i++) tw_text_add(&t, "- a\n", 4);
    CHECK_EQ(tw_read_tree(&b, "f.yaml", t.bytes, &root), TW_ERR_INPUT);
    CHECK_STR(b.diag.last, "f.yaml:262144:3: error: file has more than 262144 values");
    tw_text_release(&t);
    tw_bench_free(&b);
}

TEST(running_out_of_memory_at_any_request_is_survived)
{
    static const char text[] = "a: 1\nb: [x, {c: 2}]\n";
    for (int64_t n = 1;; n++) {
        tw_bench b = tw_bench_new();
        const tw_node *root;
        tw_arena_fail_at(b.arena, n);
        tw_status status = tw_read_tree(&b, "f.yaml", text, &root);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        tw_bench_free(&b);
        if (status == TW_OK) break;
        CHECK(n < 100);
    }
}

/* ---- sizes ---- */

static void check_size(const char *text, tw_size_unit unit, int64_t want)
{
    tw_diag diag = {0};
    tw_node node = {.kind = TW_SCALAR, .loc = {"f", 1, 1}, .text = text};
    int64_t got = -1;
    CHECK_EQ(tw_node_size(&node, "size", unit, true, &diag, &got), want > 0);
    CHECK_EQ(got, want);
    CHECK_EQ(diag.n_errors, want > 0 ? 0 : 1);
    tw_diag_release(&diag);
}

TEST(sizes_are_read_with_separators_and_suffixes)
{
    check_size("10000", TW_SIZE_ELEMENTS, 10000);
    check_size("10'000", TW_SIZE_ELEMENTS, 10000);
    check_size("10_000 elements", TW_SIZE_ELEMENTS, 10000);
    check_size("100 KiB", TW_SIZE_BYTES, 102400);
    check_size("64kB", TW_SIZE_BYTES, 64000);
    check_size("2 MiB", TW_SIZE_BYTES, 2097152);
    check_size("16 bytes", TW_SIZE_BYTES, 16);
    check_size("unlimited", TW_SIZE_BYTES, TW_UNLIMITED);
}

TEST(sizes_that_say_nothing_certain_are_refused)
{
    static const char *const bad[] = {"",    "0",      "-5",          "1.5 MiB", "10 elephants",
                                      "'10", "10'",    "1''0",        "0x10",    "010",
                                      "k",   "12 kib", "16 elements", "1e9",     "99999999999 GiB"};
    for (size_t i = 0; i < TW_COUNT(bad); i++) check_size(bad[i], TW_SIZE_BYTES, -1);
    check_size("1 KiB", TW_SIZE_ELEMENTS, -1);
}

/* ---- integers ---- */

TEST(integers_beyond_64_bits_are_errors_and_do_not_wrap)
{
    static const char *const text[] = {
        "18446744073709551617",  "9223372036854775808", "99999999999999999999999999999",
        "-18446744073709551615", "2147483648",          "0"};
    for (size_t i = 0; i < TW_COUNT(text); i++) {
        tw_diag diag = {0};
        tw_node node = {.kind = TW_SCALAR, .loc = {"f", 1, 1}, .text = text[i]};
        int64_t x = -7;
        CHECK(!tw_node_int(&node, "k", 1, TW_EXTENT_MAX, &diag, &x));
        CHECK_EQ(x, -7);
        tw_text want = {0};
        tw_text_printf(&want, "f:1:1: error: 'k' is %s, outside 1..2147483647", text[i]);
        CHECK_STR(diag.last, want.bytes);
        tw_text_release(&want);
        tw_diag_release(&diag);
    }
}

TEST(an_unknown_key_suggests_the_nearest_one_that_was_asked_for)
{
    tw_bench b = tw_bench_new();
    const tw_node *root;
    const char *name;
    CHECK_EQ(tw_read_tree(&b, "f.yaml", "ordr: x\nzzzzzz: y\n", &root), TW_OK);
    tw_fields f = tw_fields_open(root, "level", &b.diag);
    CHECK(!tw_field_name(&f, "order", TW_OPTIONAL, &name));
    CHECK(!tw_field_name(&f, "at", TW_REQUIRED, &name));
    CHECK_EQ(tw_fields_close(&f), TW_ERR_INPUT);
    CHECK_EQ(b.diag.n_texts, 3);
    CHECK_STR(b.diag.text[0], "f.yaml:1:1: error: missing key 'at' in level");
    CHECK_STR(b.diag.text[1], "f.yaml:1:1: error: unknown key 'ordr' in level; did you mean 'order'?");
    CHECK_STR(b.diag.text[2], "f.yaml:2:1: error: unknown key 'zzzzzz' in level");
    tw_bench_free(&b);
}
