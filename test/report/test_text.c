/* test/report/test_text.c - the report for people: its width, its bars, what it leaves out, and one golden page. */
#include "core/core.h"
#include "tw_test.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- plans to print ---- */

typedef struct plan_case {
    const char *model, *machine, *op, *levels;
} plan_case;

static const plan_case reduction = {
    "matmul:128x128x512", "tick-100k", "matmul",
    "{at: buffer, tiles: {m: 2, n: 2, k: 2}, buffers: {ifm: 2, w: 2, ofm: 3}, accumulate: in-place}"};

static const plan_case cases[] = {
    {"matmul:128x128x512", "tick-100k", "matmul", "{at: buffer, tiles: {m: 5}, buffers: {ifm: 2, w: 1, ofm: 2}}"},
    {"matmul:128x128x512", "tick-three-level", "matmul",
     "{at: l3, tiles: {m: 5}, buffers: {ifm: 2, w: 1, ofm: 2}},"
     "{at: l2, tiles: {n: 2}, buffers: {ifm: 1, w: 1, ofm: 1}},"
     "{at: l1, tiles: {n: 2, k: 9}, cut: greedy, buffers: {ifm: 2, w: 2, ofm: 4}, accumulate: separate}"},
    {"matmul:128x128x512", "tick-three-level", "matmul",
     "{at: l3, pass: true}, {at: l2, pass: true},"
     "{at: l1, tiles: {m: 4, n: 4, k: 12}, buffers: {ifm: 2, w: 2, ofm: 4}, accumulate: separate}"},
    {"matmul:128x128x512", "tick-costed", "matmul",
     "{at: buffer, tiles: {m: 4, n: 4, k: 8}, buffers: {ifm: 2, w: 2, ofm: 2}, accumulate: fused}"},
    {"conv:16x28x28,out=32,kernel=3x3,pad=1", "tick-50k", "conv",
     "{at: buffer, tiles: {oc: 2, oy: 3, ox: 2, ic: 2, ky: 3, kx: 3}, buffers: {ifm: 2, w: 2, ofm: 3},"
     " accumulate: in-place}"},
};

typedef struct opened {
    tw_context *ctx;
    const tw_plan *plan;
} opened;

static opened open_case(const plan_case *c)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    opened o = {.ctx = tw_context_new()};
    tw_text text = {0};
    tw_text_printf(&text, "mapping: {%s: {levels: [%s]}}\n", c->op, c->levels);
    CHECK_EQ(tw_model_open(o.ctx, c->model, &model), TW_OK);
    CHECK_EQ(tw_machine_open(o.ctx, c->machine, &machine), TW_OK);
    tw_status status = tw_mapping_parse(o.ctx, model, machine, "mapping", text.bytes, &mapping);
    if (status == TW_OK) status = tw_plan_eval(o.ctx, model, machine, mapping, &o.plan);
    if (status != TW_OK) print_error("%s\n", tw_context_message(o.ctx, 0));
    CHECK_EQ(status, TW_OK);
    tw_text_release(&text);
    return o;
}

static char *print_plan(const opened *o, const tw_print_options *options)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_text(o->ctx, o->plan, NULL, options, out), TW_OK);
    fclose(out);
    return text;
}

/* ---- reading lines ---- */

/* Characters of a line, counted without the printer's help: bytes that do not continue one. */
static int line_width(const char *line, size_t n)
{
    int width = 0;
    for (size_t i = 0; i < n; i++) width += (line[i] & 0xc0) != 0x80;
    return width;
}

static int count_lines_with(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) n++;
    return n;
}

static int widest_line(const char *text)
{
    int widest = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
        widest = (int)tw_max(widest, line_width(at, strcspn(at, "\n")));
    return widest;
}

/* ---- tests ---- */

static char *read_golden(const char *name)
{
    const char *source = getenv("TW_SOURCE");
    tw_text path = {0};
    if (!source) skip();
    tw_text_printf(&path, "%s/test/report/golden/%s", source, name);
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const char *bytes;
    size_t n;
    CHECK_EQ(tw_file_read(path.bytes, 1 << 20, arena, &diag, &bytes, &n), TW_OK);
    char *copy = strdup(bytes);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    tw_text_release(&path);
    return copy;
}

static void write_golden(const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/test/report/golden/%s", getenv("TW_SOURCE"), name);
    FILE *out = fopen(path, "w");
    CHECK(out != NULL);
    fputs(text, out);
    fclose(out);
}

static void check_golden(const char *name, const tw_print_options *options)
{
    opened o = open_case(&reduction);
    char *text = print_plan(&o, options);
    if (getenv("TW_UPDATE")) write_golden(name, text);
    char *golden = read_golden(name);
    CHECK_STR(text, golden);
    free(text);
    free(golden);
    tw_context_free(o.ctx);
}

TEST(the_eleven_rows_of_the_reduction_are_printed_byte_for_byte)
{
    check_golden("reduction-80.txt", &(tw_print_options){.columns = 80});
    check_golden("reduction-60-ascii.txt", &(tw_print_options){.columns = 60, .ascii = true});
    check_golden("reduction-132-colour.txt", &(tw_print_options){.columns = 132, .colour = true});
}

TEST(the_dump_of_its_timeline_is_stable)
{
    opened o = open_case(&reduction);
    char *text = NULL, *golden = read_golden("reduction-timeline.txt");
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_dump(o.ctx, o.plan, "timeline", out), TW_OK);
    CHECK_EQ(tw_plan_dump(o.ctx, o.plan, "nothing", out), TW_ERR_INPUT);
    fclose(out);
    CHECK_STR(text, golden);
    free(text);
    free(golden);
    tw_context_free(o.ctx);
}

TEST(no_line_is_wider_than_asked_for)
{
    static const int widths[] = {60, 61, 72, 80, 97, 132, 200, 400};
    for (size_t c = 0; c < TW_COUNT(cases); c++) {
        opened o = open_case(&cases[c]);
        for (size_t w = 0; w < TW_COUNT(widths); w++)
            for (int ascii = 0; ascii < 2; ascii++) {
                tw_print_options options = {.columns = widths[w], .ascii = ascii, .n_rows = w % 2 ? -1 : 0};
                char *text = print_plan(&o, &options);
                CHECK(widest_line(text) <= widths[w]);
                CHECK(widest_line(text) == widths[w]); /* the bars use all of it */
                free(text);
            }
        tw_context_free(o.ctx);
    }
}

TEST(ascii_output_is_ascii_and_nothing_is_coloured_unasked)
{
    opened o = open_case(&cases[1]);
    char *text = print_plan(&o, &(tw_print_options){.ascii = true, .n_rows = -1});
    for (const char *at = text; *at; at++) CHECK((*at >= ' ' && *at < 0x7f) || *at == '\n');
    free(text);
    tw_context_free(o.ctx);
}

TEST(without_its_escapes_a_coloured_report_is_the_plain_one)
{
    opened o = open_case(&cases[1]);
    char *plain = print_plan(&o, &(tw_print_options){0});
    char *colour = print_plan(&o, &(tw_print_options){.colour = true}), *to = colour;
    CHECK(strstr(colour, "\033[") != NULL);
    for (const char *at = colour; *at;)
        if (*at == '\033')
            at += strcspn(at, "m") + 1;
        else
            *to++ = *at++;
    *to = 0;
    CHECK_STR(colour, plain);
    free(plain);
    free(colour);
    tw_context_free(o.ctx);
}

/* The reduction's slots: four of 16'384, three of 4'096, in a memory of 100'000. From 83 columns on, three cells for
 * "|o0" are no more than the share of the small ones. */
TEST(bars_are_to_scale)
{
    static const int64_t edge[] = {0, 16384, 32768, 49152, 65536, 69632, 73728, 77824};
    opened o = open_case(&reduction);
    for (int columns = 83; columns <= 300; columns += 7) {
        char *text = print_plan(&o, &(tw_print_options){.columns = columns, .ascii = true});
        const char *bar = strstr(text, "\n buffer |");
        CHECK(bar != NULL);
        bar += strlen("\n buffer ");
        int width = (int)strcspn(bar, "\n") - 1; /* cells left of the right wall */
        int walls = 0;
        for (int i = 0; i < width; i++) walls += bar[i] == '|' || bar[i] == '>';
        CHECK_EQ(walls, TW_COUNT(edge));
        CHECK_EQ(bar[width], '|');
        for (size_t i = 0; i < TW_COUNT(edge); i++) {
            char wall = bar[edge[i] * width / 100000];
            CHECK(wall == '|' || wall == '>');
        }
        free(text);
    }
    tw_context_free(o.ctx);
}

/* Small slots take what their name needs; the large ones stay equal among each other. */
TEST(every_slot_shows_its_initial_and_number_where_there_is_room_for_all)
{
    static const char *const name[] = {"i0", "i1", "w0", "w1", "ofm0 ", "ofm1 ", "ofm2 "};
    opened o = open_case(
        &(plan_case){"matmul:128x128x512", "tick-costed", "matmul",
                     "{at: buffer, tiles: {k: 32}, buffers: {ifm: 2, w: 2, ofm: 3}, accumulate: in-place}"});
    for (int columns = 60; columns <= 100; columns++) {
        char *text = print_plan(&o, &(tw_print_options){.columns = columns, .ascii = true});
        const char *bar = strstr(text, "57'344 <- peak\n");
        CHECK(bar != NULL);
        bar = strchr(bar, '\n') + strlen("\n buffer ");
        int least = INT_MAX, most = 0;
        for (size_t i = 0; i < TW_COUNT(name); i++) {
            CHECK(*bar == '|' || *bar == '>');
            CHECK_EQ(strncmp(bar + 1, name[i], strlen(name[i])), 0);
            int width = 1 + (int)strcspn(bar + 1, "|>\n");
            if (i < 4) CHECK_EQ(width, 3);
            if (i >= 4) least = (int)tw_min(least, width);
            if (i >= 4) most = (int)tw_max(most, width);
            bar += width;
        }
        CHECK(most - least <= 1);
        CHECK_EQ(strncmp(bar, "| 57%\n", 6), 0);
        free(text);
    }
    tw_context_free(o.ctx);
}

/* 64 slots of each operand in 50 cells: some have none, and nothing is drawn outside. */
TEST(more_slots_than_cells_are_survived)
{
    opened o =
        open_case(&(plan_case){"matmul:128x128x512", "tick-100k", "matmul",
                               "{at: buffer, tiles: {m: 128, n: 64, k: 64}, buffers: {ifm: 64, w: 64, ofm: 64},"
                               " accumulate: in-place}"});
    char *text = print_plan(&o, &(tw_print_options){.columns = 60, .ascii = true});
    CHECK(strstr(text, "buffer: ifm 64 x 8, w 64 x 16, ofm 64 x 2 of 100'000") != NULL);
    CHECK_EQ(widest_line(text), 60);
    free(text);
    tw_context_free(o.ctx);
}

TEST(the_legend_tells_the_slots_of_every_memory_and_their_size)
{
    opened o = open_case(&cases[2]);
    char *text = print_plan(&o, &(tw_print_options){.ascii = true});
    CHECK(strstr(text, "\n  l3: ifm 2 x 1'376, w 2 x 1'376, ofm 2 x 1'024 of 100'000\n") != NULL);
    CHECK(strstr(text, "\n  l1: ifm 2 x 1'376, w 2 x 1'376, ofm 4 x 1'024 of 10'000\n") != NULL);
    free(text);
    tw_context_free(o.ctx);
}

/* The reduction of l1 is cut, so that the plan has an adder; the outer levels only move. */
TEST(every_engine_has_a_column_where_the_line_is_wide_enough)
{
    opened o = open_case(&cases[1]);
    char *wide = print_plan(&o, &(tw_print_options){.columns = 132, .ascii = true});
    const char *header = strstr(wide, "\n ticks ");
    CHECK(header != NULL);
    static const char *const title[] = {" move3 ", " move2 ", " move1 ", " mac ", " add1 ", " live\n"};
    for (size_t i = 0; i < TW_COUNT(title); i++) {
        const char *at = strstr(header, title[i]);
        CHECK(at != NULL && (size_t)(at - header) < 1 + strcspn(header + 1, "\n"));
    }
    CHECK(strstr(wide, "run in l2") == NULL);
    char *narrow = print_plan(&o, &(tw_print_options){.columns = 60, .ascii = true});
    CHECK(strstr(narrow, "run in l2") != NULL && strstr(narrow, "run in l1") != NULL);
    CHECK(strstr(narrow, "\n ticks ") && strstr(narrow, "\n   ticks ") && strstr(narrow, "\n     tick "));
    free(wide);
    free(narrow);
    tw_context_free(o.ctx);
}

TEST(the_peak_is_marked_once_and_dead_slots_are_dotted)
{
    opened o = open_case(&reduction);
    char *text = print_plan(&o, &(tw_print_options){.ascii = true});
    CHECK_EQ(count_lines_with(text, "77'824 <- peak"), 1);
    const char *last = strstr(text, "\n 10 "); /* only the last output is left */
    CHECK(last != NULL);
    const char *bar = strstr(last, " buffer |");
    CHECK(bar != NULL);
    CHECK_EQ(strspn(bar + strlen(" buffer "), "|."), strcspn(bar + strlen(" buffer "), "o"));
    free(text);
    tw_context_free(o.ctx);
}

TEST(a_long_plan_is_cut_short_and_says_how_to_see_the_rest)
{
    opened o = open_case(&cases[1]); /* 227 ticks */
    char *few = print_plan(&o, &(tw_print_options){.ascii = true});
    CHECK(strstr(few, "... 207 ticks left out, 16-222; see them with --rows=16-222 or --rows=all") != NULL);
    CHECK(strstr(few, "\n 226 ") != NULL);
    char *all = print_plan(&o, &(tw_print_options){.ascii = true, .n_rows = -1});
    CHECK(strstr(all, "left out") == NULL);
    char *some = print_plan(&o, &(tw_print_options){.ascii = true, .first_row = 100, .n_rows = 3});
    CHECK(strstr(some, "... 100 ticks left out, 0-99;") != NULL);
    CHECK(strstr(some, "... 124 ticks left out, 103-226;") != NULL);
    CHECK_EQ(count_lines_with(some, " left out"), 2);
    free(few);
    free(all);
    free(some);
    tw_context_free(o.ctx);
}

TEST(an_outer_row_is_a_heading_with_its_range_of_ticks)
{
    opened o = open_case(&cases[1]);
    char *text = print_plan(&o, &(tw_print_options){.ascii = true, .n_rows = -1});
    CHECK(strstr(text, "\n 1-45 ") != NULL);
    CHECK(strstr(text, "\n   2-22 ") != NULL);
    CHECK(strstr(text, "\n   24-44 ") != NULL);
    CHECK(strstr(text, "\n 181-225 ") != NULL);
    free(text);
    tw_context_free(o.ctx);
}

/* The lines of text up to `end` that are bars. */
static tw_text bars_of(const char *text, const char *end)
{
    tw_text bars = {0};
    for (const char *next; text < end; text = next) {
        next = text + strcspn(text, "\n") + 1;
        if (memchr(text, '|', (size_t)(next - text))) tw_text_add(&bars, text, (size_t)(next - text));
    }
    return bars;
}

/* Lifetimes that were not kept must not matter for the rows that are printed. */
TEST(a_window_shows_the_same_bars_as_the_whole_table)
{
    for (int c = 1; c <= 2; c++) {
        opened o = open_case(&cases[c]);
        tw_print_options options = {.ascii = true, .columns = 120, .n_rows = -1};
        char *all = print_plan(&o, &options);
        tw_text all_bars = bars_of(all, all + strlen(all));
        for (int64_t first = 5; first < 190; first += 31) {
            options.first_row = first;
            options.n_rows = 4;
            char *some = print_plan(&o, &options), *end = strstr(strstr(some, "left out") + 1, "left out");
            tw_text bars = bars_of(some, end);
            const char *leaf = strstr(bars.bytes, "    l1 |"); /* headings before the window are apart from it */
            CHECK(strstr(all_bars.bytes, c == 1 ? leaf : bars.bytes) != NULL);
            tw_text_release(&bars);
            free(some);
        }
        tw_text_release(&all_bars);
        free(all);
        tw_context_free(o.ctx);
    }
}

TEST(a_fault_is_shown_and_a_plan_that_was_not_verified_is_not_called_so)
{
    opened o = open_case(&reduction);
    char *text = print_plan(&o, NULL);
    CHECK(strstr(text, "  verified    no\n") != NULL);
    free(text);
    tw_verdict wrong = {.first_fault = "row 4: load into slot 1 that is being read"};
    const tw_verdict *list[] = {&wrong};
    size_t n;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_text(o.ctx, o.plan, list, NULL, out), TW_OK);
    fclose(out);
    CHECK(strstr(text, "  WRONG       row 4: load into slot 1 that is being read\n") != NULL);
    free(text);
    tw_verdict checked = {.checked = true, .rows = 11, .instructions = 28};
    list[0] = &checked;
    out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_text(o.ctx, o.plan, list, &(tw_print_options){.colour = true}, out), TW_OK);
    fclose(out);
    CHECK(strstr(text, "checked     \033[0m11 rows, 28 instructions; not executed") != NULL);
    CHECK(strstr(text, "verified") == NULL);
    free(text);
    tw_context_free(o.ctx);
}
