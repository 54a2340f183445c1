/* test/model/test_running.c - which reductions can run along a loop, and what is rescaled by what. */
#include "model/running.h"

#include "tw_test.h"

#include <stdio.h>
#include <string.h>

enum { TEXT = 3000 };

/* Scores, maximum, power, sum, share, product; with other formulas than those of a softmax. */
typedef struct formulas {
    const char *top, *power, *total, *share, *type, *context;
} formulas;
static const formulas softmax = {"max", "exp(s - m)", "add", "e / z", "f32", ""};

static void write(const formulas *f, char text[TEXT])
{
    snprintf(
        text, TEXT,
        "workload: w\nops:\n"
        "  - {name: score, compute: multiply-add, loops: {i: 4, j: 6, d: 3}, reduce: [d], reads: {q: {tensor: q, "
        "dtype: %s, at: [i, d]}, k: {tensor: k, dtype: %s, at: [j, d]}}, writes: {s: {tensor: s, at: [i, j]}}}\n"
        "  - {name: top, compute: %s, loops: {i: 4, j: 6}, reduce: [j], reads: {s: {tensor: s, at: [i, j]}}, "
        "writes: {m: {tensor: m, at: [i]}}}\n"
        "  - {name: power, compute: map, loops: {i: 4, j: 6}, value: \"%s\", reads: {s: {tensor: s, at: [i, "
        "j]}, m: {tensor: m, at: [i]}}, writes: {e: {tensor: e, dtype: %s, at: [i, j]}}}\n"
        "  - {name: total, compute: %s, loops: {i: 4, j: 6}, reduce: [j], reads: {e: {tensor: e, at: [i, j]}}, "
        "writes: {z: {tensor: z, dtype: %s, at: [i]}}}\n"
        "  - {name: share, compute: map, loops: {i: 4, j: 6}, value: \"%s\", reads: {e: {tensor: e, at: [i, "
        "j]}, z: {tensor: z, at: [i]}}, writes: {p: {tensor: p, dtype: %s, at: [i, j]}}}\n"
        "  - {name: context, compute: multiply-add, loops: {i: 4, n: 5, j: 6}, reduce: [j]%s, reads: {p: "
        "{tensor: p, at: [i, j]}, v: {tensor: v, dtype: %s, at: [j, n]}}, writes: {o: {tensor: o, at: [i, n]}}}\n",
        f->type, f->type, f->top, f->power, f->type, f->total, f->type, f->share, f->type, f->context, f->type);
}

/* The sentence about what is in the way, "" when nothing is. */
static const char *look(const formulas *f, tw_running *out, int *where)
{
    char text[TEXT];
    static char why[200];
    const char *said = NULL;
    tw_context *ctx = tw_context_new();
    const tw_model *model = NULL;
    const tw_op *op[6];
    write(f, text);
    if (tw_model_parse(ctx, "w", text, &model) != TW_OK) printf("%s\n%s", tw_context_message(ctx, 0), text);
    CHECK(model != NULL);
    for (int i = 0; i < 6; i++) op[i] = &model->op[i];
    bool can = tw_running_of(model, op, 6, 2, out, where, &said);
    CHECK_EQ(can, said == NULL);
    snprintf(why, sizeof why, "%s", can ? "" : said);
    tw_context_free(ctx);
    return why;
}

TEST(a_softmax_runs_and_its_sums_have_references)
{
    tw_running r;
    int where;
    CHECK_STR(look(&softmax, &r, &where), "");
    CHECK_EQ(r.runs, 1u << 1 | 1u << 3 | 1u << 5);
    CHECK_EQ(r.by[1], 0);
    CHECK_EQ(r.by[3], 1u << 1);
    CHECK_EQ(r.by[5], 1u << 1 | 1u << 3);
    CHECK_EQ(r.references, 1u << 1 | 1u << 3);
    CHECK_EQ(r.loop[0], 1);
    CHECK_EQ(r.loop[5], 2);
}

TEST(formulas_that_scale_and_formulas_that_do_not)
{
    static const char *const rescaled = "what it makes cannot be rescaled when what it depends on changes",
                             *const added =
                                 "what it has added up cannot be rescaled when what it depends on changes";
    static const struct {
        formulas f;
        int where;
        const char *why;
    } kind[] = {
        {{"max", "exp((s - m) / 8)", "add", "e / z", "f32", ""}, 0, ""},
        {{"max", "exp(2 * s - 2 * m) * 3", "add", "e * reciprocal(z)", "f32", ""}, 0, ""},
        {{"max", "exp(s - m / 2) * sqrt(abs(m))", "add", "e / max(z, 1)", "f32", ""}, 0, ""},
        {{"max", "exp(-m) * exp(s)", "add", "f32(e / z)", "f32", ""}, 0, ""},
        {{"max", "exp(s)", "add", "e / z", "f32", ""}, 0, ""}, /* without the maximum: the sum alone is one */
        {{"min", "exp(m - s)", "add", "e / z", "f64", ""}, 0, ""},
        {{"max", "exp(s - m)", "add", "e / z", "f32", ", finish: \"max(sum, 0)\""}, 0, ""},
        {{"max", "s - m", "max", "exp(e) / z", "f32", ""}, 3, added},    /* what is shifted is not added up */
        {{"max", "exp(s * m)", "add", "e / z", "f32", ""}, 2, rescaled}, /* by s * m', of which j is a part */
        {{"max", "max(s - m, 0)", "add", "e / z", "f32", ""}, 2, rescaled},
        {{"max", "1 / (s - m)", "add", "e / z", "f32", ""}, 2, rescaled},
        {{"max", "exp(s - m) + 1", "add", "e / z", "f32", ""}, 2, rescaled},
        {{"max", "exp(s - m)", "max", "e / z", "f32", ""}, 3, added},
        {{"max", "exp(s - m)", "add", "e + z", "f32", ""}, 4, rescaled},
        {{"max", "exp(s - m)", "add", "select(z, e, 0)", "f32", ""}, 4, rescaled},
        {{"average", "exp(s - m)", "add", "e / z", "f32", ""}, 1, "it divides by the number of all points"},
        {{"max", "s - m", "add", "e", "i32", ""}, 1, "it does not compute with floats"},
    };
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        tw_running r;
        int where = 0;
        const char *why = look(&kind[i].f, &r, &where);
        if (strcmp(why, kind[i].why) != 0) printf("%s; %s\n", kind[i].f.power, kind[i].f.share);
        CHECK_STR(why, kind[i].why);
        if (*why) CHECK_EQ(where, kind[i].where);
    }
}

TEST(without_a_maximum_the_sum_alone_is_a_reference)
{
    tw_running r;
    int where;
    CHECK_STR(look(&(formulas){"max", "exp(s) + 0 * m", "add", "e / z", "f32", ""}, &r, &where),
              "what it has added up cannot be rescaled when what it depends on changes");
    CHECK_STR(look(&(formulas){"max", "exp(s)", "add", "e / z", "f32", ""}, &r, &where), "");
    CHECK_EQ(r.by[3], 0);
    CHECK_EQ(r.by[5], 1u << 3);
}
