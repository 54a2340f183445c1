/* test/report/test_network.c - a planned network as text, JSON, CSV and pictures: goldens of a small one, names that nobody
 * should give to a node, lists that are too long for a screen. */
#include "pb.h"
#include "report/facts/network_words.h"
#include "tilewright/network.h"
#include "tilewright/paint.h"
#include "tw_test.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- networks ---- */

enum { NODE = 1, NAME = 2, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, VALUE = 13 }; /* fields of a graph */

static void add_value(tw_text *graph, int field, const char *name, int n, const int64_t *dim)
{
    tw_text shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (int i = 0; i < n; i++) {
        tw_text d = {0};
        pb_int(&d, 1, dim[i]);
        pb_message(&shape, 1, &d);
    }
    pb_int(&tensor, 1, 1);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&value, 1, name);
    pb_message(&value, 2, &type);
    pb_message(graph, field, &value);
}

static void add_weights(tw_text *graph, const char *name, int n, const int64_t *dim)
{
    static const float zeros[512];
    size_t elems = 1;
    tw_text t = {0};
    for (int i = 0; i < n; i++) pb_int(&t, 1, dim[i]), elems *= (size_t)dim[i];
    CHECK(elems <= TW_COUNT(zeros));
    pb_int(&t, 2, 1);
    pb_text(&t, 8, name);
    pb_bytes(&t, 9, zeros, elems * sizeof *zeros);
    pb_message(graph, INITIALIZER, &t);
}

/* `inputs` are words. */
static void add_node(tw_text *graph, const char *name, const char *op, const char *inputs, const char *output)
{
    tw_text node = {0};
    char *words = strdup(inputs), *rest = words;
    for (char *word; (word = strsep(&rest, " "));) pb_text(&node, 1, word);
    free(words);
    pb_text(&node, 2, output);
    pb_text(&node, 3, name);
    pb_text(&node, 4, op);
    pb_message(graph, NODE, &node);
}

/* The file is gone after this; what was mapped stays. */
static tw_status open_graph(tw_context *ctx, tw_text *graph, const tw_network **out)
{
    char path[] = "/tmp/tw_network_XXXXXX.onnx";
    tw_text model = {0}, opset = {0};
    pb_text(graph, NAME, "g");
    pb_int(&model, 1, 8);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_message(&model, 7, graph);
    FILE *file = fdopen(mkstemps(path, 5), "wb");
    CHECK_EQ(fwrite(model.bytes, 1, model.len, file), model.len);
    fclose(file);
    tw_text_release(&model);
    tw_status status = tw_network_open(ctx, path, NULL, out);
    unlink(path);
    return status;
}

typedef struct planned {
    tw_context *ctx;
    const tw_network *network;
    const tw_network_plan *plan;
} planned;

static planned plan_graph(tw_text *graph, const char *machine_name)
{
    planned p = {.ctx = tw_context_new()};
    const tw_machine *machine;
    tw_context_use_painter(p.ctx, tw_cairo_painter());
    tw_status status = open_graph(p.ctx, graph, &p.network);
    if (status == TW_OK) status = tw_machine_open(p.ctx, machine_name, &machine);
    if (status == TW_OK) status = tw_network_search(p.ctx, p.network, machine, NULL, &p.plan);
    if (status != TW_OK) print_error("%s\n", tw_context_message(p.ctx, 0));
    CHECK_EQ(status, TW_OK);
    return p;
}

/* A convolution with what is folded into it, an operator that nobody knows, two equal layers, a softmax. */
static planned small_network(const char *machine)
{
    static const int64_t x[] = {1, 4, 8, 8}, w[] = {8, 4, 3, 3}, y[] = {1, 8, 6, 6}, channels[] = {8};
    tw_text g = {0};
    add_value(&g, INPUT, "x", 4, x);
    add_weights(&g, "w", 4, w);
    add_weights(&g, "s", 1, channels);
    add_node(&g, "/features/0/conv/Conv", "Conv", "x w", "c");
    add_node(&g, "/features/0/bn/BatchNormalization", "BatchNormalization", "c s s s s", "b");
    add_node(&g, "/features/0/act/Relu", "Relu", "b", "r");
    add_node(&g, "a \"b\", c", "Frobnicate", "r", "f");
    add_value(&g, VALUE, "f", 4, y);
    add_node(&g, "first", "Sqrt", "f", "q1");
    add_node(&g, "second", "Exp", "f", "q2");
    add_node(&g, "sum", "Add", "q1 q2", "z");
    add_node(&g, "soft", "Softmax", "z", "out");
    add_value(&g, OUTPUT, "out", 4, y);
    add_value(&g, OUTPUT, "q1", 4, y);
    return plan_graph(&g, machine);
}

/* Steps of `n` different lengths. */
static planned long_network(int n)
{
    tw_text g = {0};
    for (int i = 0; i < n; i++) {
        char in[16], out[16], name[16];
        snprintf(in, sizeof in, "x%d", i);
        snprintf(out, sizeof out, "y%d", i);
        snprintf(name, sizeof name, "node%d", i);
        add_value(&g, INPUT, in, 1, &(int64_t){8 * (i % 50 + 1)});
        add_node(&g, name, "Sqrt", in, out);
        add_value(&g, OUTPUT, out, 1, &(int64_t){8 * (i % 50 + 1)});
    }
    return plan_graph(&g, "snitch");
}

/* ---- printing ---- */

static char *text_of(const planned *p, const tw_print_options *options)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_network_print_text(p->ctx, p->plan, NULL, options, out), TW_OK);
    fclose(out);
    return text;
}

typedef tw_status (*costs_printer)(tw_context *ctx, const tw_network_plan *const *plan, int n, FILE *out);
static char *costs_of(const planned *p, int n_plans, costs_printer print, size_t *n)
{
    const tw_network_plan *const plan[] = {p->plan, p->plan, p->plan};
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    CHECK_EQ(print(p->ctx, plan, n_plans, out), TW_OK);
    fclose(out);
    return text;
}
static tw_status print_csv(tw_context *ctx, const tw_network_plan *const *plan, int n, FILE *out)
{
    return tw_network_print_costs(ctx, plan, n, TW_FORMAT_CSV, out);
}
static tw_status print_json(tw_context *ctx, const tw_network_plan *const *plan, int n, FILE *out)
{
    return tw_network_print_costs(ctx, plan, n, TW_FORMAT_JSON, out);
}

/* Without the first line: it has the name of a file that is different every time. */
static void check_golden(const planned *p, const char *name, const tw_print_options *options)
{
    const char *source = getenv("TW_SOURCE"), *bytes;
    tw_text path = {0};
    tw_diag diag = {0};
    size_t n;
    if (!source) skip();
    tw_arena *arena = tw_arena_new();
    tw_text_printf(&path, "%s/test/report/golden/%s", source, name);
    char *text = text_of(p, options);
    if (getenv("TW_UPDATE")) {
        FILE *file = fopen(path.bytes, "w");
        CHECK(file != NULL);
        fputs(strchr(text, '\n') + 1, file);
        fclose(file);
    }
    CHECK_EQ(tw_file_read(path.bytes, 1 << 20, arena, &diag, &bytes, &n), TW_OK);
    CHECK_STR(strchr(text, '\n') + 1, bytes);
    free(text);
    tw_diag_release(&diag);
    tw_text_release(&path);
    tw_arena_free(arena);
}

/* ---- tests ---- */

TEST(a_small_network_is_printed_byte_for_byte)
{
    planned p = small_network("tick-three-level");
    check_golden(&p, "network-80.txt", &(tw_print_options){.columns = 80});
    check_golden(&p, "network-160.txt", &(tw_print_options){.columns = 160, .n_rows = -1});
    tw_context_free(p.ctx);
}

TEST(a_gap_below_one_per_cent_does_not_look_like_one)
{
    static const struct {
        double gap;
        bool proven;
        const char *text;
    } c[] = {{0.00999999, false, "0.99%"},
             {0.01, false, "1.00%"},
             {0, true, "0"},
             {1e-9, false, "<0.01%"},
             {-1, false, "-"},
             {0.254, false, "25%"},
             {0.5, true, "0"}};
    for (size_t i = 0; i < TW_COUNT(c); i++)
        CHECK_STR(tw_gap_text(c[i].gap, c[i].proven, (char[TW_GAP_MAX]){0}), c[i].text);
}

TEST(names_are_cut_between_characters)
{
    tw_arena *arena = tw_arena_new();
    CHECK_STR(tw_short_op("Conv+BatchNormalization+Relu", arena), "Conv+BN+Relu");
    CHECK_STR(tw_short_op("LayerNormalization", arena), "LayerNorm");
    CHECK_STR(tw_short_op("GlobalAveragePool", arena), "GlobalAvgPool");
    CHECK_STR(tw_clip_behind("\u00fcn\u00ef\u2192c\u00f6d\u00e9", 1, 5, arena), "\u00fc..d\u00e9");
    CHECK_STR(tw_clip_back("\u00fcn\u00ef\u2192c\u00f6d\u00e9", 5, arena), "\u00fcn\u00ef..");
    CHECK_STR(tw_clip_back("short", 5, arena), "short");
    tw_arena_free(arena);
}

static int widest_line(const char *text)
{
    int widest = 0;
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchrnul(text, '\n');
        int width = 0;
        for (const char *c = text; c < end; c++) width += (*c & 0xc0) != 0x80;
        widest = width > widest ? width : widest;
    }
    return widest;
}

TEST(no_line_is_wider_than_asked_for_and_none_has_control_characters)
{
    planned p = small_network("snitch");
    for (int columns = 60; columns <= 180; columns += 20) {
        char *text = text_of(&p, &(tw_print_options){.columns = columns});
        CHECK(widest_line(text) <= columns);
        for (const char *c = text; *c; c++) CHECK(*c == '\n' || (unsigned char)*c >= ' ');
        free(text);
    }
    tw_context_free(p.ctx);
}

static int lines_with(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) n++;
    return n;
}

TEST(of_a_long_list_the_expensive_steps_are_shown_and_the_others_are_counted)
{
    planned p = long_network(100);
    char *some = text_of(&p, &(tw_print_options){.columns = 80});
    char *all = text_of(&p, &(tw_print_options){.columns = 160, .n_rows = -1});
    char *window = text_of(&p, &(tw_print_options){.columns = 80, .first_row = 3, .n_rows = 2});
    CHECK(strstr(some, "the most expensive 40 of 100 steps") != NULL);
    CHECK(strstr(some, "60 others") != NULL);
    CHECK(strstr(some, "node49 ") && strstr(some, "node99 ") && !strstr(some, "node50 "));
    CHECK(!strstr(all, "others"));
    CHECK_EQ(lines_with(all, "Sqrt"), 100);
    CHECK(strstr(window, "2 of 100 steps;") && strstr(window, "node3 ") && strstr(window, "node4 "));
    CHECK(!strstr(window, "node5 "));
    free(some);
    free(all);
    free(window);
    tw_context_free(p.ctx);
}

TEST(the_document_adds_up)
{
    planned p = small_network("snitch");
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_network_print_json(p.ctx, p.plan, NULL, out), TW_OK);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL), *steps = json_object_get(root, "steps");
    json_int_t sum = 0;
    CHECK_EQ(json_array_size(steps), tw_network_summary_of(p.network).n_steps);
    for (size_t i = 0; i < json_array_size(steps); i++)
        sum += json_integer_value(json_object_get(json_array_get(steps, i), "cycles"));
    CHECK_EQ(sum, json_integer_value(json_object_get(json_object_get(root, "totals"), "cycles")));
    CHECK_EQ(sum, tw_network_plan_totals(p.plan)->cycles);
    CHECK_STR(json_string_value(json_object_get(json_array_get(steps, 1), "name")), "a \"b\", c");
    CHECK_STR(json_string_value(json_object_get(json_array_get(steps, 1), "kind")), "unknown");
    json_decref(root);
    free(text);
    tw_context_free(p.ctx);
}

/* Fields of a line of CSV; returns where the next line begins. */
static const char *skip_csv_line(const char *at, int *n_fields)
{
    bool quoted = false;
    for (*n_fields = 1; *at && (quoted || *at != '\n'); at++) {
        if (*at == '"') quoted = !quoted;
        *n_fields += !quoted && *at == ',';
    }
    CHECK(!quoted);
    return *at ? at + 1 : at;
}

TEST(the_cost_table_has_as_many_fields_in_every_line)
{
    planned p = small_network("snitch");
    size_t n;
    char *csv = costs_of(&p, 3, print_csv, &n), *json = costs_of(&p, 3, print_json, &n);
    int n_lines = 0, n_fields;
    for (const char *at = csv; *at; n_lines++) {
        at = skip_csv_line(at, &n_fields);
        CHECK_EQ(n_fields, 5 + 3 * 2);
    }
    CHECK_EQ(n_lines, 1 + tw_network_summary_of(p.network).n_steps);
    CHECK(strstr(csv, "\n1,\"a \"\"b\"\", c\",Frobnicate,1x8x6x6,0,,,,,,\n") != NULL);
    json_t *root = json_loads(json, 0, NULL);
    CHECK_EQ(json_array_size(json_object_get(root, "cores")), 3);
    CHECK(json_is_null(
        json_array_get(json_object_get(json_array_get(json_object_get(root, "steps"), 1), "cycles"), 0)));
    json_decref(root);
    free(csv);
    free(json);
    tw_context_free(p.ctx);
}

TEST(pictures_take_any_name)
{
    static const char *const names[] = {"<svg>&amp;\"", "\xff\xfe\x80",    "tab\tnew\nline\x1b[31m",
                                        "\xef\xbf\xbe", "\u65e5\u672c",    "WWWWWWWWWWWWWWW",
                                        "\xe2\x82",     "\xf0\x9f\x98\x80"};
    tw_text g = {0};
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        char in[16], out[16];
        snprintf(in, sizeof in, "x%zu", i);
        snprintf(out, sizeof out, "y%zu", i);
        add_value(&g, INPUT, in, 1, &(int64_t){8});
        add_node(&g, names[i], "Sqrt", in, out);
        add_value(&g, OUTPUT, out, 1, &(int64_t){8});
    }
    planned p = plan_graph(&g, "snitch");
    size_t n_svg, n_png;
    char *svg = costs_of(&p, 3, tw_network_draw_costs_svg, &n_svg),
         *png = costs_of(&p, 3, tw_network_draw_costs_png, &n_png);
    CHECK(n_png > 1000 && memcmp(png, "\x89PNG\r\n\x1a\n", 8) == 0);
    for (size_t i = 0; i < n_svg; i++) CHECK(svg[i] == '\n' || (unsigned char)svg[i] >= ' ');
    CHECK(strstr(svg, "&lt;svg&gt;&amp;amp;&quot;") != NULL);
    CHECK(strstr(svg, "\u65e5\u672c") != NULL);
    CHECK(!memchr(svg, 0xff, n_svg) && !strstr(svg, "\xef\xbf\xbe"));
    CHECK_STR(svg + n_svg - 7, "</svg>\n");
    free(svg);
    free(png);
    tw_context_free(p.ctx);
}

TEST(a_network_without_steps_is_no_misfortune)
{
    tw_text g = {0};
    add_value(&g, INPUT, "x", 1, &(int64_t){8});
    add_value(&g, OUTPUT, "x", 1, &(int64_t){8});
    planned p = plan_graph(&g, "snitch");
    size_t n;
    char *text = text_of(&p, NULL), *svg = costs_of(&p, 1, tw_network_draw_costs_svg, &n);
    CHECK(strstr(text, "0 cycles") != NULL);
    CHECK(strstr(svg, "total") != NULL);
    free(text);
    free(svg);
    tw_context_free(p.ctx);
}

TEST(names_of_steps_lose_what_repeats_and_then_long_words)
{
    tw_arena *arena = tw_arena_new();
    CHECK_STR(tw_brief_name("/layer1/layer1.0/conv1/Conv", arena), "layer1.0/conv1");
    CHECK_STR(tw_brief_name("/layer2/layer2.0/downsample/downsample.0/Conv", arena), "layer2.0/downsample.0/Conv");
    CHECK_STR(tw_brief_name("/fc/Gemm", arena), "fc/Gemm");
    CHECK_STR(tw_brief_name("conv", arena), "conv");
    CHECK_STR(tw_brief_name("//", arena), "");
    CHECK_STR(tw_clip_words("layer1.0/conv1", 14, arena), "layer1.0/conv1");
    CHECK_STR(tw_clip_words("layer1.0/conv1", 13, arena), "lay\u20261.0/conv1");
    CHECK_STR(tw_clip_words("layer1.0/conv1", 9, arena), "l\u20261.0/c\u20261");
    CHECK_STR(tw_clip_words("0123456789", 5, arena), "0\u2026789");
    CHECK_STR(tw_clip_words("\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e", 4, arena), "\u65e5\u2026\u672c\u8a9e");
    tw_arena_free(arena);
}

/* However short: never longer than asked for, and names that differ in a number keep differing while there is room for it. */
TEST(shortened_names_fit_and_stay_different)
{
    tw_arena *arena = tw_arena_new();
    for (int most = 9; most < 30; most++)
        for (int a = 0; a < 12; a++)
            for (int b = 0; b < a; b++) {
                const char *x = tw_clip_words(tw_arena_printf(arena, "block%d/convolution%d", a % 4, a / 4), most,
                                              arena),
                           *y = tw_clip_words(tw_arena_printf(arena, "block%d/convolution%d", b % 4, b / 4), most,
                                              arena);
                CHECK(strcmp(x, y) != 0);
            }
    tw_arena_free(arena);
}
