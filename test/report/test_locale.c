/* test/report/test_locale.c - a program that called setlocale() gets the same answers, byte for byte.
 *
 * The locale is de_DE, whose decimal point is a comma. Where it is not installed it is made by localedef in a folder of its own;
 * where that cannot be done either, the tests report themselves skipped. */
#include "core/core.h"
#include "tilewright/paint.h"
#include "tilewright/tilewright.h"
#include "tw_test.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- a locale with a comma ---- */

static char folder[] = "/tmp/tilewright-locale-XXXXXX";
static const char name[] = "de_DE.UTF-8";

static void make_locale(void)
{
    char command[200];
    if (!mkdtemp(folder)) return;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/%s >/dev/null 2>&1", folder, name);
    if (system(command) < 0) return;
    setenv("LOCPATH", folder, 1);
}

static void remove_folder(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (strstr(folder, "XXXXXX") == NULL && system(command) != 0) print_message("%s is left\n", folder);
}

/* Skips the test where there is no such locale. */
static void need_locale(void)
{
    locale_t there = newlocale(LC_ALL_MASK, name, (locale_t)0);
    if (!there && strstr(folder, "XXXXXX")) {
        make_locale();
        atexit(remove_folder);
        there = newlocale(LC_ALL_MASK, name, (locale_t)0);
    }
    if (!there) {
        print_message("there is no locale %s, and localedef cannot make it\n", name);
        skip();
    }
    freelocale(there);
}

/* ---- all that is read and written ---- */

static const char workload[] = "workload: w\n"
                               "tensors:\n"
                               "  - {name: x, dtype: f32, shape: [64]}\n"
                               "  - {name: y, dtype: f32, shape: [64]}\n"
                               "ops:\n"
                               "  - name: scale\n"
                               "    compute: map\n"
                               "    loops: {i: 64}\n"
                               "    value: \"x * 1.75 + 2.5e-1\"\n"
                               "    reads: {x: {tensor: x, at: [i]}}\n"
                               "    writes: {y: {tensor: y, at: [i]}}\n";

static void say_messages(tw_context *ctx, FILE *out)
{
    for (int i = 0; i < tw_context_n_messages(ctx); i++) fprintf(out, "%s\n", tw_context_message(ctx, i));
}

static void write_pictures(tw_context *ctx, const tw_plan *plan, FILE *out)
{
    for (int kind = 0; kind < TW_PLOT_PARETO; kind++)
        for (int image = TW_IMAGE_SVG; image <= TW_IMAGE_PDF; image++) {
            tw_plot_options how = {.kind = (tw_plot_kind)kind, .image = (tw_image)image, .width_mm = 85.5};
            CHECK_EQ(tw_plan_plot(ctx, plan, &how, out), TW_OK);
        }
}

static void write_plan(const char *spec, const char *machine_name, FILE *out)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_context_use_painter(ctx, tw_cairo_painter());
    tw_print_options options = {.columns = 80};
    CHECK_EQ(tw_model_open(ctx, spec, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, machine_name, &machine), TW_OK);
    tw_search_options search = {0};
    CHECK_EQ(tw_plan_search(ctx, model, machine, &search, &plan), TW_OK);
    CHECK_EQ(tw_machine_print_to(ctx, machine, out), TW_OK);
    CHECK_EQ(tw_plan_print_text(ctx, plan, NULL, &options, out), TW_OK);
    CHECK_EQ(tw_plan_print_json(ctx, plan, NULL, &options, out), TW_OK);
    CHECK_EQ(tw_plan_print_html(ctx, plan, NULL, &options, out), TW_OK);
    CHECK_EQ(tw_plan_print_mapping(ctx, plan, out), TW_OK);
    CHECK_EQ(tw_plan_print_trace(ctx, plan, TW_TRACE_CHROME, false, out), TW_OK);
    write_pictures(ctx, plan, out);
    tw_plot_options wide = {.width_mm = 7.5};
    CHECK(tw_plan_plot(ctx, plan, &wide, out) != TW_OK);
    say_messages(ctx, out);
    tw_context_free(ctx);
}

static void write_formula(FILE *out)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    tw_status status = tw_model_parse(ctx, "w.yaml", workload, &model);
    say_messages(ctx, out);
    CHECK_EQ(status, TW_OK);
    CHECK_EQ(tw_model_print_to(ctx, model, out), TW_OK);
    tw_context_free(ctx);
}

static char *everything(size_t *n_bytes)
{
    char *bytes = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&bytes, &n);
    write_formula(out);
    write_plan("matmul:64x64x64,dtype=f64", "snitch", out);
    write_plan("matmul:128x64x64", "tick-three-level", out);
    fclose(out);
    *n_bytes = n;
    return bytes;
}

/* Pictures hold zeros: all bytes count. */
static void check_same(const char *after, size_t n_after, const char *before, size_t n_before)
{
    CHECK_STR(after, before);
    CHECK_EQ(n_after, n_before);
    CHECK(memcmp(after, before, n_before) == 0);
}

TEST(formulas_are_read_with_a_point)
{
    need_locale();
    size_t n;
    char *before = everything(&n);
    CHECK(strstr(before, "x * 1.75 + 0.25") != NULL);
    free(before);
}

TEST(nothing_depends_on_the_locale_of_the_process)
{
    need_locale();
    size_t n_before, n_after = 0;
    char *before = everything(&n_before);
    CHECK(setlocale(LC_ALL, name) != NULL);
    CHECK_STR(localeconv()->decimal_point, ",");
    char *after = everything(&n_after);
    setlocale(LC_ALL, "C");
    check_same(after, n_after, before, n_before);
    free(before);
    free(after);
}

TEST(nothing_depends_on_the_locale_of_the_thread_which_stays_what_it_was)
{
    need_locale();
    size_t n_before, n_after = 0;
    char *before = everything(&n_before);
    locale_t german = newlocale(LC_ALL_MASK, name, (locale_t)0), old = uselocale(german);
    char *after = everything(&n_after), text[20];
    CHECK(uselocale((locale_t)0) == german);
    snprintf(text, sizeof text, "%.2f", 1.75);
    CHECK_STR(text, "1,75");
    uselocale(old);
    freelocale(german);
    check_same(after, n_after, before, n_before);
    free(before);
    free(after);
}

TEST(numbers_have_points_in_every_locale)
{
    need_locale();
    CHECK(setlocale(LC_ALL, name) != NULL);
    char text[40], *end;
    tw_text t = {0};
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    tw_snprintf(text, sizeof text, "%.2f", 1.75);
    CHECK_STR(text, "1.75");
    tw_text_printf(&t, "a, %g", 0.5);
    CHECK_STR(t.bytes, "a, 0.5");
    CHECK_STR(tw_arena_printf(arena, "%.1e", 1500.0), "1.5e+03");
    CHECK_EQ(tw_diag_error(&diag, (tw_loc){0}, "%g", 2.5), TW_ERR_INPUT);
    CHECK_STR(diag.last, "error: 2.5");
    CHECK(tw_strtod("1.75x", &end) == 1.75 && *end == 'x');
    CHECK(tw_strtof("1.75,", &end) == 1.75F && *end == ',');
    setlocale(LC_ALL, "C");
    tw_text_release(&t);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}
