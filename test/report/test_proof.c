/* test/report/test_proof.c - what a search said, told again: every way to end, in words and as data. The results are made
 * up, and handed to a plan by tw_plan_restore; the searches themselves are tested elsewhere. */
#include "mapping/record.h"
#include "tw_test.h"
#include "write/json.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- plans with a made-up search ---- */

typedef struct opened {
    tw_context *ctx;
    const tw_plan *plan;
} opened;

static opened restore(const tw_search_record *result)
{
    static const char text[] = "mapping: {matmul: {levels: [{at: buffer, tiles: {m: 2}}]}}\n";
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    opened o = {.ctx = tw_context_new()};
    CHECK_EQ(tw_model_open(o.ctx, "matmul:16x16x16", &model), TW_OK);
    CHECK_EQ(tw_machine_open(o.ctx, "tick-10k", &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(o.ctx, model, machine, "mapping", text, &mapping), TW_OK);
    tw_search_result said = tw_search_view(result);
    if (result->least[0] <= 0) said.least = said.value; /* a record that says nothing of it */
    CHECK_EQ(tw_plan_restore(o.ctx, model, machine, mapping, (const tw_search_result *[]){&said}, &o.plan), TW_OK);
    return o;
}

static tw_search_record proven(void)
{
    return (tw_search_record){.n_objectives = 1,
                              .best = 8616,
                              .value = {8616},
                              .bound = 8616,
                              .bound_by = TW_BOUND_COMPUTE,
                              .bound_at = "mac",
                              .root_bound = 8552,
                              .n_space = 3.24e12,
                              .n_nodes = 12345,
                              .n_points = 310,
                              .closed = {[TW_BOUND_COMPUTE] = 210, [TW_BOUND_LINK] = 5020, [TW_BOUND_PEAK] = 210},
                              .proven = true,
                              .seconds = 3.14159};
}

/* The lines of the report that begin with "  search", without the indentation; their spaces are the report's. */
static char *search_lines(const tw_search_record *result, const tw_print_options *options)
{
    char *text = NULL, *found = NULL;
    size_t n = 0;
    opened o = restore(result);
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_text(o.ctx, o.plan, NULL, options, out), TW_OK);
    fclose(out);
    char *begin = strstr(text, "  search "), *end = begin ? strstr(begin, "\n  memory") : NULL;
    CHECK(begin && end);
    if (begin && end) found = strndup(begin, (size_t)(end - begin));
    free(text);
    tw_context_free(o.ctx);
    return found;
}

static void check_lines(const tw_search_record *result, const tw_print_options *options, const char *expected)
{
    char *lines = search_lines(result, options);
    CHECK_STR(lines, expected);
    free(lines);
}

/* ---- words ---- */

TEST(a_proof_is_told_with_what_closed_the_space_the_strongest_bound_first)
{
    tw_search_record r = proven();
    check_lines(&r, NULL,
                "  search      latency 8'616 cycles, proven\n"
                "              no mapping in the space 'all' takes fewer\n"
                "              3.2e12 points of 'all' (everything that a mapping may choose):\n"
                "              12'345 parts looked at, 310 simulated\n"
                "              closed by link 5'020, compute 210, peak 210\n"
                "              bound at the root 8'552 cycles, by compute (mac): 0.7% above");
    r.n_optima = 6;
    r.limited = true;
    r.space = TW_SPACE_NOTES;
    r.n_space = 999999;
    r.root_bound = 8616;
    r.bound_at = NULL;
    memset(r.closed, 0, sizeof r.closed);
    check_lines(&r, NULL,
                "  search      latency 8'616 cycles, proven, attained by 6\n"
                "              no mapping in the space 'notes', as the options limit it, takes\n"
                "              fewer\n"
                "              999'999 points of 'notes' (the tick machine's family: few\n"
                "              executions, one or two buffers): 12'345 parts looked at, 310\n"
                "              simulated\n"
                "              bound at the root 8'616 cycles, by compute: reached");
}

TEST(what_is_not_proven_has_a_gap_and_a_reason)
{
    static const char *const reason[] = {
        "", "; out of budget", "; out of time", "; interrupted", "; out of memory", ", as asked"};
    tw_search_record r = proven();
    r.proven = false;
    r.bound = 8600;
    r.gap = 0.0065;
    for (int e = TW_END_DONE; e <= TW_END_GAP; e++) {
        char expected[600];
        r.ending = (tw_ending)e;
        snprintf(expected, sizeof expected,
                 "  search      latency 8'616 cycles, not proven: gap 0.7%%%s\n"
                 "              no mapping in the space 'all' takes fewer than 8'600 cycles\n"
                 "              3.2e12 points of 'all' (everything that a mapping may choose):\n"
                 "              12'345 parts looked at, 310 simulated\n"
                 "              closed by link 5'020, compute 210, peak 210\n"
                 "              bound at the root 8'552 cycles, by compute (mac)",
                 reason[e]);
        check_lines(&r, NULL, expected);
    }
    r.gap = 1e-15;
    char *lines = search_lines(&r, NULL);
    CHECK(strstr(lines, "gap <0.1%") != NULL);
    free(lines);
}

TEST(an_end_that_nobody_asked_for_says_how_to_go_on)
{
    static const struct {
        tw_ending ending;
        int64_t work;
        const char *text;
    } row[] = {{TW_END_GAP, 1000, "not proven: gap 0.7%; ended within 1% (--prove goes on)\n"},
               {TW_END_BUDGET, 20000000, "not proven: gap 0.7%; ended after about 2 s of work (--prove goes on)\n"},
               {TW_END_BUDGET, 2000000,
                "not proven: gap 0.7%; ended when nothing better came for a while (--prove goes on)\n"}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_search_record r = proven();
        r.proven = false;
        r.gap = 0.0065;
        r.ending = row[i].ending;
        r.work = row[i].work;
        r.by_default = true;
        char *lines = search_lines(&r, &(tw_print_options){.columns = 120});
        CHECK(strstr(lines, row[i].text) != NULL);
        free(lines);
    }
}

TEST(each_objective_and_space_has_its_words)
{
    static const struct {
        tw_objective objective;
        tw_space_name space;
        const char *text;
    } row[] = {
        {{TW_TICKS, NULL}, TW_SPACE_ALL, "no mapping in the space 'all' takes fewer than 77 ticks\n"},
        {{TW_ENERGY, NULL}, TW_SPACE_WINDOWS, "no mapping in the space 'windows' takes less than 77 fJ\n"},
        {{TW_EDP, NULL}, TW_SPACE_ALL, "no mapping in the space 'all' takes less than 77 fJ cycles\n"},
        {{TW_TRAFFIC, "move"}, TW_SPACE_NOTES, "no mapping in the space 'notes' moves less than 77 elements\n"},
        {{TW_PEAK, "buffer"}, TW_SPACE_ALL, "no mapping in the space 'all' needs less than 77 elements\n"}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        tw_search_record r = proven();
        r.proven = false;
        r.gap = 0.5;
        r.bound = 77;
        r.objective[0] = row[i].objective;
        r.space = row[i].space;
        char *lines = search_lines(&r, &(tw_print_options){.columns = 120});
        CHECK(strstr(lines, row[i].text) != NULL);
        free(lines);
    }
}

TEST(seconds_and_the_cache_are_told_only_when_asked_for)
{
    tw_search_record r = proven();
    tw_print_options options = {.seconds = true};
    char *lines = search_lines(&r, &options);
    CHECK(strstr(lines, "310 simulated, 3.14 s\n") != NULL);
    free(lines);
    options.cached = true; /* the seconds were another run's */
    lines = search_lines(&r, &options);
    CHECK(strstr(lines, "proven (from the cache)\n") != NULL && strstr(lines, "3.14") == NULL);
    free(lines);
}

TEST(objectives_are_told_in_their_units)
{
    tw_search_record r = proven();
    r.n_objectives = 4;
    r.objective[0] = (tw_objective){TW_EDP, NULL};
    r.objective[1] = (tw_objective){TW_ENERGY, NULL};
    r.objective[2] = (tw_objective){TW_TRAFFIC, "move"};
    r.objective[3] = (tw_objective){TW_PEAK, "buffer"};
    r.best = INT64_MAX;
    r.value[0] = 1.26e30;
    r.value[1] = 12345678;
    r.value[2] = 4096;
    r.value[3] = 768;
    r.root_bound = 1e30;
    char *lines = search_lines(&r, &(tw_print_options){.columns = 200});
    CHECK(strstr(lines, "edp 1.3e30 fJ cycles, then energy 12.3 nJ, then traffic of move 4'096 elements, "
                        "then peak of buffer 768 elements, proven\n") != NULL);
    CHECK(strstr(lines, "bound at the root 1.0e30 fJ cycles, by compute (mac): 26% above") != NULL);
    free(lines);
    r.n_objectives = 1;
    r.objective[0] = (tw_objective){TW_PEAK, "buffer"};
    r.value[0] = 0; /* nothing is in the memory, and no bound says more */
    r.root_bound = 0;
    lines = search_lines(&r, NULL);
    CHECK(strstr(lines, "peak of buffer 0 elements, proven") != NULL && strstr(lines, "root") == NULL);
    free(lines);
}

TEST(each_objective_of_a_list_has_its_own_gap_and_says_what_it_gave_up)
{
    tw_search_record r = proven();
    r.n_objectives = 2;
    r.objective[1] = (tw_objective){TW_ENERGY, NULL};
    r.value[1] = r.least[1] = 12345678;
    r.within[0] = 0.01;
    r.least[0] = r.bounds[0] = 8600;
    r.bounds[1] = 12e6;
    r.proven = false;
    r.ending = TW_END_BUDGET;
    char *lines = search_lines(&r, &(tw_print_options){.columns = 200});
    CHECK(strstr(lines,
                 "  search      latency 8'616 cycles (within 1% of 8'600 cycles), proven, then energy 12.3 nJ, "
                 "gap 3%; out of budget\n") != NULL);
    free(lines);
    r.bounds[1] = r.least[1];
    r.bounds[0] = 8600 * 0.985;
    lines = search_lines(&r, &(tw_print_options){.columns = 200});
    CHECK(strstr(lines, "(within 1% of 8'600 cycles), gap 2%, then energy 12.3 nJ, proven; out of budget\n") !=
          NULL);
    free(lines);
    r.bounds[0] = 8600;
    r.proven = true;
    lines = search_lines(&r, &(tw_print_options){.columns = 200});
    CHECK(strstr(lines, "(within 1% of 8'600 cycles), then energy 12.3 nJ, proven\n") != NULL);
    free(lines);
}

TEST(no_line_is_wider_than_the_terminal)
{
    tw_search_record r = proven();
    r.proven = false;
    r.gap = 0.123;
    r.ending = TW_END_MEMORY;
    for (int b = 0; b < TW_N_BOUNDS; b++) r.closed[b] = INT64_MAX - b;
    r.n_nodes = r.n_points = r.n_optima = r.best = INT64_MAX;
    r.value[0] = r.bound = r.root_bound = 9e18;
    char *lines = search_lines(&r, &(tw_print_options){.columns = 60});
    for (char *line = lines; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        CHECK(strcspn(line, "\n") <= 60);
    }
    free(lines);
}

/* ---- data ---- */

static json_t *document(const opened *o)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_json(o->ctx, o->plan, NULL, NULL, out), TW_OK);
    fclose(out);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root) print_error("%s\n", error.text);
    CHECK(root != NULL);
    free(text);
    return root;
}

TEST(the_document_has_every_field_of_the_result)
{
    tw_search_record r = proven();
    r.gap = 0.007427;
    r.ending = TW_END_STOPPED;
    opened o = restore(&r);
    json_t *root = document(&o), *op = json_array_get(json_object_get(root, "ops"), 0);
    json_t *search = json_object_get(op, "search"), *closed = json_object_get(search, "closed");
    json_t *first = json_array_get(json_object_get(search, "objectives"), 0);
    CHECK_EQ(json_integer_value(json_object_get(search, "best")), 8616);
    CHECK_EQ(json_integer_value(json_object_get(search, "points")), 310);
    CHECK_EQ(json_integer_value(json_object_get(search, "nodes")), 12345);
    CHECK_EQ(json_integer_value(json_object_get(search, "root_bound")), 8552);
    CHECK_EQ(json_integer_value(json_object_get(search, "space_points")), INT64_C(3240000000000));
    CHECK(json_real_value(json_object_get(search, "gap")) == r.gap);
    CHECK_STR(json_string_value(json_object_get(search, "bound_by")), "compute");
    CHECK_STR(json_string_value(json_object_get(search, "bound_at")), "mac");
    CHECK_STR(json_string_value(json_object_get(search, "space")), "all");
    CHECK_STR(json_string_value(json_object_get(search, "ending")), "stopped");
    CHECK_STR(json_string_value(json_object_get(search, "space_is")), "everything that a mapping may choose");
    CHECK(json_is_false(json_object_get(search, "space_limited")));
    CHECK(json_is_false(json_object_get(search, "ended_by_default")));
    CHECK_EQ(json_integer_value(json_object_get(search, "work")), 0);
    CHECK_STR(json_string_value(json_object_get(first, "measure")), "latency");
    CHECK(json_is_null(json_object_get(first, "at")));
    CHECK_EQ(json_integer_value(json_object_get(first, "value")), 8616);
    CHECK_EQ(json_object_size(closed), TW_N_BOUNDS);
    for (int b = 0; b < TW_N_BOUNDS; b++)
        CHECK_EQ(json_integer_value(json_object_get(closed, tw_closer_name((tw_closer)b))), r.closed[b]);
    CHECK(json_object_get(op, "front") == NULL && json_object_get(root, "remedies") == NULL);
    json_decref(root);
    tw_context_free(o.ctx);
}

/* Writes one number alone; returns its text. */
static char *number_text(double x)
{
    char *text = NULL;
    size_t n = 0;
    tw_json j = {.out = open_memstream(&text, &n)};
    tw_json_number(&j, x);
    fclose(j.out);
    return text;
}

TEST(whole_numbers_have_no_exponent_and_all_others_read_back)
{
    static const struct {
        double x;
        const char *text;
    } list[] = {{0, "0"},
                {-0.0, "0"},
                {8552, "8552"},
                {-3, "-3"},
                {0.1, "0.1"},
                {0x1p53, "9007199254740992"},
                {1e20, "100000000000000000000"},
                {1e21, "1e+21"},
                {INFINITY, "null"},
                {NAN, "null"}};
    for (size_t i = 0; i < TW_COUNT(list); i++) {
        char *text = number_text(list[i].x);
        CHECK_STR(text, list[i].text);
        free(text);
    }
    uint64_t random = tw_test_seed();
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = tw_random_next(&random);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        char *text = number_text(x);
        CHECK(strtod(text, NULL) == x);
        free(text);
    }
}

TEST(names_are_copied_so_that_the_caller_may_drop_them)
{
    char at[] = "mac", of[] = "move";
    tw_search_record r = proven();
    r.bound_at = at;
    r.objective[0] = (tw_objective){TW_TRAFFIC, of};
    opened o = restore(&r);
    memset(at, 'x', sizeof at - 1);
    memset(of, 'x', sizeof of - 1);
    CHECK_STR(tw_plan_search_result(o.plan, 0)->bound_at, "mac");
    CHECK_STR(tw_plan_search_result(o.plan, 0)->objective[0].at, "move");
    tw_context_free(o.ctx);
}
