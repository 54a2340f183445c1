/* test/model/test_formula.c - formulas survive their texts, and one evaluation is like many. */
#include "model/formula.h"
#include "tw_test.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"x", "scale", "bias", "a_long_name_of_a_variable"};
enum { N_VARS = TW_COUNT(names) };

static const tw_formula *parse(const char *text, tw_arena *arena)
{
    const tw_formula *f = NULL;
    tw_diag diag = {0};
    tw_status status =
        tw_formula_parse(&(tw_formula_text){text, (tw_loc){"f", 1, 1}, N_VARS, names}, arena, &diag, &f);
    if (status != TW_OK) print_error("%s: %s\n", text, diag.last);
    CHECK_EQ(status, TW_OK);
    tw_diag_release(&diag);
    return f;
}

static void check_text(const char *text, const char *want)
{
    tw_arena *arena = tw_arena_new();
    tw_text got = {0};
    tw_formula_print(parse(text, arena), names, &got);
    CHECK_STR(got.bytes, want);
    tw_text_release(&got);
    tw_arena_free(arena);
}

TEST(a_text_is_printed_with_as_few_parentheses_as_it_needs)
{
    check_text("max(x*scale+bias,0)", "max(x * scale + bias, 0)");
    check_text("x-(scale-bias)-(1)", "x - (scale - bias) - 1");
    check_text("(x*scale)/(bias*x)", "x * scale / (bias * x)");
    check_text("-x*-(scale+bias)", "-x * -(scale + bias)");
    check_text("- 3 - -4e0 - -(5)", "-3 - -4 - negate(5)");
    check_text("x", "x * 1");
    check_text("select(present(x), inf, -nan)", "select(present(x), inf, nan)");
    check_text("1/3 + 0.1 + 1e300", "1 / 3 + 0.1 + 1e+300");
    check_text("exp(x) / (1 + exp(x))", "$0 = exp(x); $0 / (1 + $0)");
    check_text("$0 = x * 1; $1 = $0 + 2; $1 - $1", "$0 = x * 1 + 2; $0 - $0");
}

static void check_refused(const char *text, const char *want)
{
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const tw_formula *f;
    CHECK_EQ(tw_formula_parse(&(tw_formula_text){text, (tw_loc){"f", 1, 11}, 2, names}, arena, &diag, &f),
             TW_ERR_INPUT);
    CHECK_STR(diag.last, want);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

TEST(what_is_wrong_is_reported_at_its_place)
{
    check_refused("", "f:1:11: error: a number, a name or '(' expected at the end of the formula");
    check_refused("x + ", "f:1:15: error: a number, a name or '(' expected at the end of the formula");
    check_refused("x y", "f:1:13: error: the end of the formula expected at 'y'");
    check_refused("x + y", "f:1:15: error: undefined name 'y' in the formula; there are x, scale");
    check_refused("f(x)", "f:1:11: error: no function is called 'f'");
    check_refused("max(x)", "f:1:11: error: 'max' has 1 arguments, needs 2");
    check_refused("exp(x, 1)", "f:1:17: error: 'exp' has more than 1 arguments");
    check_refused("present(x + 1)", "f:1:11: error: 'present' asks for an input, not for a result");
    check_refused("1.5.2", "f:1:14: error: the end of the formula expected at '.2'");
    check_refused("$1 = x; $1", "f:1:11: error: $0 expected at '$1 = x; $1'");
    check_refused("$0 + x", "f:1:11: error: '$0' was not given before");
    check_refused("(x", "f:1:13: error: ')' expected at the end of the formula");
    char deep[400], wide[400] = "x";
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = 0;
    check_refused(deep, "f:1:75: error: formula is nested deeper than 64");
    for (int i = 0; i < 97; i++) strcat(wide, "+x");
    check_refused(wide, "f:1:11: error: formula has more than 96 steps");
}

/* ---- random ones ---- */

static double random_number(uint64_t *r)
{
    static const double odd[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 1e-320, 0.1, -2.5, 1e300};
    int64_t n = tw_test_pick(r, 0, 2);
    if (n == 0) return odd[tw_test_pick(r, 0, TW_COUNT(odd) - 1)];
    double x = (double)tw_test_pick(r, -1000, 1000);
    return n == 1 ? x : x / (double)tw_test_pick(r, 1, 1000);
}

static const tw_formula *random_formula(uint64_t *r, tw_arena *arena)
{
    tw_formula_draft d = {.n_vars = N_VARS};
    int n = (int)tw_test_pick(r, 1, 60), last = 0;
    for (int i = 0; i < n; i++) {
        tw_fn fn = (tw_fn)tw_test_pick(r, 0, TW_N_FNS - 1);
        int end = N_VARS + d.n_steps - 1, near = end > 8 ? end - 8 : 0;
        int a = (int)tw_test_pick(r, near, end), b = (int)tw_test_pick(r, 0, end), c = (int)tw_test_pick(r, 0, end);
        if (fn == TW_FN_CONSTANT)
            last = tw_formula_constant(&d, random_number(r));
        else
            last = tw_formula_call(&d, fn, fn == TW_FN_PRESENT ? a % N_VARS : a, b, c);
    }
    return tw_formula_finish(&d, last, arena);
}

TEST(printing_a_formula_and_reading_it_gives_the_same_formula)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 3000; i++) {
        tw_arena *arena = tw_arena_new();
        tw_text text = {0};
        const tw_formula *f = random_formula(&r, arena);
        CHECK(f != NULL && tw_formula_check(f));
        tw_formula_print(f, names, &text);
        bool same = tw_formula_equal(f, parse(text.bytes, arena));
        if (!same) print_error("%s\n", text.bytes);
        CHECK(same);
        for (const char *line = text.bytes, *end; line; line = end) { /* each line is a scalar of a file */
            end = strstr(line, "; ");
            end = end ? end + 2 : NULL;
            CHECK((end ? (size_t)(end - line) : strlen(line)) < 255);
        }
        tw_text_release(&text);
        tw_arena_free(arena);
    }
}

TEST(many_evaluations_are_as_many_single_ones)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 1000; i++) {
        tw_arena *arena = tw_arena_new();
        const tw_formula *f = random_formula(&r, arena);
        double data[N_VARS][3 * TW_FORMULA_BLOCK], out[TW_FORMULA_BLOCK];
        const double *var[N_VARS];
        int64_t stride[N_VARS], n = tw_test_pick(&r, 0, TW_FORMULA_BLOCK);
        unsigned present = (unsigned)tw_test_pick(&r, 0, 15);
        for (int v = 0; v < N_VARS; v++) {
            for (int k = 0; k < 3 * TW_FORMULA_BLOCK; k++) data[v][k] = random_number(&r);
            var[v] = data[v];
            stride[v] = tw_test_pick(&r, 0, 3);
        }
        tw_formula_eval_many(f, var, stride, present, n, out);
        for (int k = 0; k < n; k++) {
            double one[N_VARS];
            for (int v = 0; v < N_VARS; v++) one[v] = data[v][k * stride[v]];
            double want = tw_formula_eval(f, one, present);
            CHECK(out[k] == want || (isnan(out[k]) && isnan(want)));
        }
        tw_arena_free(arena);
    }
}

/* ---- functions ---- */

static double eval(const char *text, double x, double y)
{
    tw_arena *arena = tw_arena_new();
    double var[N_VARS] = {x, y};
    double value = tw_formula_eval(parse(text, arena), var, 1);
    tw_arena_free(arena);
    return value;
}

static void check_value(const char *text, double x, double y, double want)
{
    double got = eval(text, x, y);
    if (got != want) print_error("%s of %g, %g is %.17g, should be %.17g\n", text, x, y, got, want);
    CHECK(got == want);
}

TEST(functions_are_what_their_names_say)
{
    check_value("quotient(x, scale)", -7, 2, -3);
    check_value("quotient(x, scale)", 7, 0, 0);
    check_value("quotient(x, scale)", 0x1p53 - 1, 3, 3002399751580330);
    check_value("modulo(x, scale)", -7, 3, 2);
    check_value("modulo(x, scale)", 7, -3, -2);
    check_value("remainder(x, scale)", -7, 3, -1);
    check_value("round(x)", 2.5, 0, 2);
    check_value("round(x)", -3.5, 0, -4);
    check_value("sign(x) + sign(scale)", -0.5, 7, 0);
    check_value("i8(x)", 200.9, 0, -56);
    check_value("u8(x)", -1.5, 0, 255);
    check_value("i32(x)", 0x1p31, 0, -0x1p31);
    check_value("u32(x)", -1, 0, 4294967295.0);
    check_value("i64(x)", 0x1p63, 0, -0x1p63);
    check_value("u64(x)", 0x1p65 + 0x1p20, 0, 0x1p20);
    check_value("i16(x)", NAN, 0, 0);
    check_value("f32(x)", 0.1, 0, 0.1f);
    check_value("f16(x)", 2049, 0, 2048);
    check_value("f16(x)", 2051, 0, 2052);
    check_value("f16(x)", 65519.9, 0, 65504);
    check_value("f16(x)", -65520, 0, -INFINITY);
    check_value("f16(x)", 0x1p-25, 0, 0);
    check_value("f16(x)", 0x1.8p-24, 0, 0x1p-23);
    check_value("bf16(x)", 257, 0, 256);
    check_value("bf16(x)", 259, 0, 260);
    check_value("shift_left(x, scale) + shift_right(x, 1)", 3, 4, 49);
    check_value("bit_and(x, scale) + 10 * bit_or(x, scale) + 1000 * bit_xor(x, scale)", 12, 10, 6148);
    check_value("bit_and(x, scale)", -2, -3, -4);
    check_value("select(present(x), 1, 2) + select(present(scale), 10, 20)", 0, 0, 21);
    check_value("and(x, scale) + 2 * or(x, scale) + 4 * xor(x, scale) + 8 * not(x)", 0, 5, 14);
    check_value("less(x, scale) + 2 * less_equal(x, scale) + 4 * equal(x, scale)", 3, 3, 6);
    CHECK(isnan(eval("max(x, scale)", NAN, 1)) && isnan(eval("min(x, scale)", 1, NAN)));
}

TEST(only_sound_formulas_are_made)
{
    tw_arena *arena = tw_arena_new();
    tw_formula_draft d = {.n_vars = 1};
    CHECK(tw_formula_finish(&d, 5, arena) == NULL);
    d = (tw_formula_draft){.n_vars = 1};
    int a = tw_formula_call(&d, TW_FN_ADD, 0, 7, 0);
    CHECK(tw_formula_finish(&d, a, arena) == NULL);
    d = (tw_formula_draft){.n_vars = 1};
    CHECK(tw_formula_finish(&d, tw_formula_call(&d, TW_FN_PRESENT, tw_formula_constant(&d, 1), 0, 0), arena) ==
          NULL);
    d = (tw_formula_draft){.n_vars = 1};
    for (int i = 0; i <= TW_FORMULA_MAX_STEPS; i++) a = tw_formula_constant(&d, i);
    CHECK(d.failed && tw_formula_finish(&d, a, arena) == NULL);
    tw_arena_free(arena);
}
