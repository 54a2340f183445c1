/* test/report/test_json.c - the writer alone, and the plan's document read back by jansson. */
#include "tw_test.h"
#include "write/json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct page { /* text that a writer wrote */
    char *text;
    size_t n;
    tw_json j;
} page;

static void page_init(page *p, bool pretty)
{
    *p = (page){0};
    p->j = (tw_json){.out = open_memstream(&p->text, &p->n), .pretty = pretty};
}

static const char *page_text(page *p)
{
    fclose(p->j.out);
    return p->text;
}

TEST(commas_and_nesting_are_kept_right)
{
    page p;
    page_init(&p, false);
    tw_json_open(&p.j, '{');
    tw_json_key(&p.j, "a");
    tw_json_open(&p.j, '[');
    tw_json_int(&p.j, 1);
    tw_json_open(&p.j, '{');
    tw_json_close(&p.j);
    tw_json_open(&p.j, '[');
    tw_json_close(&p.j);
    tw_json_null(&p.j);
    tw_json_close(&p.j);
    tw_json_key_bool(&p.j, "b", true);
    tw_json_key_string(&p.j, "c", NULL);
    tw_json_close(&p.j);
    tw_json_end(&p.j);
    CHECK_STR(page_text(&p), "{\"a\":[1,{},[],null],\"b\":true,\"c\":null}\n");
    free(p.text);
}

TEST(pretty_output_indents_and_keeps_small_things_on_a_line)
{
    page p;
    page_init(&p, true);
    tw_json_open(&p.j, '{');
    tw_json_key(&p.j, "rows");
    tw_json_open(&p.j, '[');
    tw_json_open_line(&p.j, '{');
    tw_json_key_int(&p.j, "x", 1);
    tw_json_key(&p.j, "y");
    tw_json_open(&p.j, '[');
    tw_json_int(&p.j, 2);
    tw_json_int(&p.j, 3);
    tw_json_close(&p.j);
    tw_json_close(&p.j);
    tw_json_close(&p.j);
    tw_json_key_int(&p.j, "n", 4);
    tw_json_close(&p.j);
    tw_json_end(&p.j);
    CHECK_STR(page_text(&p), "{\n  \"rows\": [\n    {\"x\": 1, \"y\": [2, 3]}\n  ],\n  \"n\": 4\n}\n");
    free(p.text);
}

/* Writes one string and lets jansson read it. */
static void check_string(const char *text, const char *expected)
{
    page p;
    page_init(&p, false);
    tw_json_open(&p.j, '[');
    tw_json_string(&p.j, text);
    tw_json_close(&p.j);
    json_error_t error;
    json_t *root = json_loads(page_text(&p), 0, &error);
    CHECK(root != NULL);
    CHECK_STR(json_string_value(json_array_get(root, 0)), expected);
    json_decref(root);
    free(p.text);
}

TEST(strings_come_back_as_they_were)
{
    check_string("", "");
    check_string("plain", "plain");
    check_string("a \"quoted\" \\ path/with\tall\n\r\b\f of it", "a \"quoted\" \\ path/with\tall\n\r\b\f of it");
    check_string("\x01\x1f\x7f", "\x01\x1f\x7f");
    check_string("schön → 漢字 😀", "schön → 漢字 😀");
}

TEST(bytes_that_are_not_utf8_become_the_replacement_character)
{
    check_string("a\xff"
                 "b",
                 "a\xef\xbf\xbd"
                 "b");
    check_string("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong */
    check_string("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    check_string("cut \xe2\x86", "cut \xef\xbf\xbd\xef\xbf\xbd");         /* ends inside a character */
    check_string("\xf5\x80\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(every_byte_string_gives_a_document_that_can_be_read)
{
    uint64_t random = tw_test_seed();
    for (int round = 0; round < 2000; round++) {
        char text[24] = {0};
        for (int i = 0; i < 20; i++) text[i] = (char)tw_test_pick(&random, 1, 255);
        page p;
        page_init(&p, round % 2);
        tw_json_open(&p.j, '{');
        tw_json_key_int(&p.j, text, round);
        tw_json_close(&p.j);
        json_error_t error;
        json_t *root = json_loads(page_text(&p), 0, &error);
        CHECK(root != NULL);
        json_decref(root);
        free(p.text);
    }
}

TEST(integers_are_exact)
{
    page p;
    page_init(&p, false);
    tw_json_open(&p.j, '[');
    tw_json_int(&p.j, INT64_MAX);
    tw_json_int(&p.j, INT64_MIN);
    tw_json_close(&p.j);
    CHECK_STR(page_text(&p), "[9223372036854775807,-9223372036854775808]");
    free(p.text);
}

/* ---- the plan's document ---- */

static const char mapping_text[] =
    "mapping:\n"
    "  matmul:\n"
    "    levels:\n"
    "      - {at: buffer, tiles: {m: 2, n: 2, k: 2}, buffers: {ifm: 2, w: 2, ofm: 3},"
    " accumulate: in-place}\n";

typedef struct document {
    tw_context *ctx;
    const tw_plan *plan;
    json_t *root;
} document;

static document document_of(int64_t first_row, int64_t n_rows, const tw_verdict *verdict)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    document d = {.ctx = tw_context_new()};
    CHECK_EQ(tw_model_open(d.ctx, "matmul:128x128x512", &model), TW_OK);
    CHECK_EQ(tw_machine_open(d.ctx, "tick-100k", &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(d.ctx, model, machine, "mapping", mapping_text, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(d.ctx, model, machine, mapping, &d.plan), TW_OK);
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    tw_print_options options = {.first_row = first_row, .n_rows = n_rows};
    CHECK_EQ(tw_plan_print_json(d.ctx, d.plan, verdict ? &verdict : NULL, &options, out), TW_OK);
    fclose(out);
    json_error_t error;
    d.root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    CHECK(d.root != NULL);
    free(text);
    return d;
}

static void document_release(document *d)
{
    json_decref(d->root);
    tw_context_free(d->ctx);
}

static int64_t int_at(const json_t *object, const char *key)
{
    CHECK(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

TEST(the_document_says_what_the_interface_says)
{
    document d = document_of(0, 0, NULL);
    CHECK_STR(json_string_value(json_object_get(d.root, "schema")), "tilewright.plan");
    CHECK_EQ(int_at(d.root, "version"), 1);
    const json_t *op = json_array_get(json_object_get(d.root, "ops"), 0);
    const json_t *summary = json_object_get(op, "summary"), *engines = json_object_get(op, "engines");
    CHECK_EQ(int_at(summary, "ticks"), tw_plan_op_summary(d.plan, 0)->ticks);
    CHECK_EQ(int_at(summary, "instructions"), tw_plan_op_summary(d.plan, 0)->instructions);
    CHECK_EQ(json_array_size(engines), tw_plan_n_engines(d.plan));
    for (int e = 0; e < tw_plan_n_engines(d.plan); e++) {
        const tw_engine_use *use = tw_plan_engine_use(d.plan, 0, e);
        CHECK_STR(json_string_value(json_object_get(json_array_get(engines, (size_t)e), "name")), use->engine);
        CHECK_EQ(int_at(json_array_get(engines, (size_t)e), "load_units"), use->load_units);
    }
    CHECK(json_is_null(json_object_get(op, "verdict")));
    CHECK(json_is_null(json_object_get(op, "search")));
    CHECK(json_object_get(op, "rows") == NULL);
    CHECK(json_is_null(json_object_get(json_array_get(json_object_get(op, "memories"), 0), "size")));
    document_release(&d);
}

TEST(awaited_cycles_of_all_engines_add_up_to_the_cycles_of_the_plan)
{
    document d = document_of(0, 0, NULL);
    const json_t *op = json_array_get(json_object_get(d.root, "ops"), 0), *engines = json_object_get(op, "engines");
    int64_t sum = 0;
    for (size_t e = 0; e < json_array_size(engines); e++)
        sum += int_at(json_array_get(engines, e), "awaited_cycles");
    CHECK_EQ(sum, int_at(json_object_get(op, "summary"), "cycles"));
    document_release(&d);
}

TEST(rows_are_written_when_they_are_asked_for)
{
    document all = document_of(0, -1, NULL), some = document_of(3, 2, NULL);
    const json_t *rows = json_object_get(json_array_get(json_object_get(all.root, "ops"), 0), "rows");
    CHECK_EQ(json_array_size(rows), 11);
    int64_t actions = 0;
    for (size_t r = 0; r < json_array_size(rows); r++) {
        CHECK_EQ(int_at(json_array_get(rows, r), "tick"), (int64_t)r);
        actions += (int64_t)json_array_size(json_object_get(json_array_get(rows, r), "actions"));
    }
    CHECK_EQ(actions, tw_plan_op_summary(all.plan, 0)->instructions);
    rows = json_object_get(json_array_get(json_object_get(some.root, "ops"), 0), "rows");
    CHECK_EQ(json_array_size(rows), 2);
    CHECK_EQ(int_at(json_array_get(rows, 0), "tick"), 3);
    document_release(&all);
    document_release(&some);
}

static tw_status check_w_tile(void *user, const tw_row *row)
{
    int *seen = user;
    for (int i = 0; i < row->n_actions; i++) {
        const tw_action *a = &row->action[i];
        if (a->op == TW_EXEC) CHECK_EQ(a->n_tile, 3);
        if (a->op != TW_LOAD || strcmp(a->operand, "w") != 0 || row->tick != 1) continue;
        CHECK_EQ(a->n_tile, 2); /* w[k, n], although n is the outer loop */
        CHECK_EQ(a->tile[0], 1);
        CHECK_EQ(a->tile[1], 0);
        CHECK_EQ(a->slot, 1);
        (*seen)++;
    }
    return TW_OK;
}

TEST(a_loaded_tile_is_named_along_the_axes_of_its_tensor)
{
    document d = document_of(0, 0, NULL);
    int seen = 0;
    CHECK_EQ(tw_plan_walk(d.ctx, d.plan, 0, check_w_tile, &seen), TW_OK);
    CHECK_EQ(seen, 1);
    document_release(&d);
}

/* What stands under ops[0].verdict: 1, 0, or -1 for null. */
static int verdict_at(const document *d, const char *key)
{
    const json_t *op = json_array_get(json_object_get(d->root, "ops"), 0);
    const json_t *value = json_object_get(json_object_get(op, "verdict"), key);
    CHECK(value != NULL);
    return json_is_null(value) ? -1 : json_is_true(value);
}

TEST(a_plan_that_was_only_checked_is_not_verified)
{
    const tw_verdict checked = {.checked = true, .rows = 11},
                     verified = {.checked = true, .executed = true, .equal = true, .rows = 11, .elements = 16384},
                     wrong = {.checked = true, .executed = true, .rows = 11, .first_fault = "differs"};
    document d = document_of(0, 0, &checked);
    CHECK_EQ(verdict_at(&d, "verified"), 0);
    CHECK_EQ(verdict_at(&d, "checked"), 1);
    CHECK_EQ(verdict_at(&d, "executed"), 0);
    CHECK_EQ(verdict_at(&d, "equal"), -1);
    CHECK_EQ(verdict_at(&d, "elements"), -1);
    document_release(&d);
    d = document_of(0, 0, &verified);
    CHECK_EQ(verdict_at(&d, "verified"), 1);
    CHECK_EQ(verdict_at(&d, "equal"), 1);
    document_release(&d);
    d = document_of(0, 0, &wrong);
    CHECK_EQ(verdict_at(&d, "verified"), 0);
    CHECK_EQ(verdict_at(&d, "equal"), 0);
    document_release(&d);
}
