/* test/fit/test_fit.c - parameters that made the measurements are found again. */
#include "cases.h"

#include <math.h>
#include <stdio.h>

typedef struct bench {
    tw_context *ctx;
    const tw_machine *machine;
    const tw_data *data;
} bench;

/* What the true machine says about row i, in cycles; 0: does not fit. */
static int64_t true_cycles(tw_context *ctx, const tw_machine *machine, int i)
{
    char workload[128], lowering[160];
    const tw_model *model;
    const tw_mapping *mapping;
    const tw_plan *plan;
    cases_row(i, workload, lowering, sizeof workload);
    if (tw_model_open(ctx, workload, &model) != TW_OK ||
        tw_mapping_of_lowering(ctx, model, machine, lowering, &mapping) != TW_OK)
        fail_msg("%s, %s: %s", workload, lowering, tw_context_message(ctx, 0));
    tw_status status = tw_plan_eval(ctx, model, machine, mapping, &plan);
    return status == TW_OK ? tw_plan_summary(plan)->cycles : 0;
}

/* Row i is mislabelled. */
static bool is_wrong(int i) { return i % 20 == 7; }

/* The measurements, each off by up to `noise` percent. */
static void write_data(char *text, double noise, bool wrong)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine;
    uint64_t random = 5;
    CHECK_EQ(tw_machine_parse(ctx, "true.yaml", cases_true_machine, &machine), TW_OK);
    int at = snprintf(text, CASES_TEXT, "name,workload,lowering_config,cycles\n");
    for (int i = 0; i < CASES_ROWS; i++) {
        char workload[128], lowering[160];
        cases_row(i, workload, lowering, sizeof workload);
        double cycles = (double)true_cycles(ctx, machine, i);
        cycles *= 1 + noise / 100 * (double)tw_test_pick(&random, -1000, 1000) / 1000;
        if (wrong && is_wrong(i)) cycles *= i % 40 == 7 ? 3 : 0.4;
        at += snprintf(text + at, (size_t)(CASES_TEXT - at), "r%d,\"%s\",\"%s\",%.0f\n", i, workload, lowering,
                       cycles);
    }
    CHECK(at < CASES_TEXT);
    tw_context_free(ctx);
}

static bench open_bench(const char *machine, const char *text)
{
    bench b = {.ctx = tw_context_new()};
    if (tw_machine_parse(b.ctx, "guess.yaml", machine, &b.machine) != TW_OK ||
        tw_data_parse(b.ctx, b.machine, "made.csv", text, NULL, &b.data) != TW_OK)
        fail_msg("%s", tw_context_message(b.ctx, 0));
    return b;
}

static const tw_calibration *calibrate(bench *b, tw_calibrate_options options)
{
    const tw_calibration *c;
    tw_data_use use = {b->data, false};
    if (tw_calibrate(b->ctx, b->machine, &use, 1, &options, &c) != TW_OK)
        fail_msg("%s", tw_context_message(b->ctx, 0));
    return c;
}

TEST(what_made_the_measurements_is_found_again)
{
    char *text = malloc(CASES_TEXT);
    write_data(text, 0, false);
    bench b = open_bench(cases_guess_machine, text), t = open_bench(cases_true_machine, text);
    const tw_calibration *c = calibrate(&b, (tw_calibrate_options){.train = 1});
    CHECK_EQ(c->n_parameters, CASES_PARAMETERS);
    for (int i = 0; i < c->n_parameters; i++) {
        int64_t want = tw_machine_parameter(t.machine, i).value;
        print_message("%-10s %6.3f, found %6.3f\n", c->parameter[i].name, (double)want / 1000,
                      (double)c->parameter[i].after / 1000);
        CHECK(llabs(c->parameter[i].after - want) <= want / 20 + 100);
    }
    CHECK_EQ(c->n_errors, 1);
    CHECK(c->error[0].mean < 0.003);
    CHECK_EQ(c->error[0].outliers, 0);
    tw_context_free(b.ctx);
    tw_context_free(t.ctx);
    free(text);
}

TEST(noise_and_mislabelled_rows_move_little_and_are_named)
{
    char *text = malloc(CASES_TEXT);
    write_data(text, 1.5, true);
    bench b = open_bench(cases_guess_machine, text);
    const tw_calibration *c = calibrate(&b, (tw_calibrate_options){.train = 1});
    for (int i = 0; i < c->n_rows; i++) {
        const tw_row_fit *row = &c->row[i];
        int number = atoi(row->name + 1);
        if (row->measured == 0) continue;
        if (row->outlier != is_wrong(number)) print_error("row %s: %d\n", row->name, row->outlier);
        CHECK_EQ(row->outlier, is_wrong(number));
    }
    CHECK(c->error[0].kept < 0.015);
    CHECK(c->error[0].mean > 0.05); /* the wrong rows are still counted */
    tw_context_free(b.ctx);
    free(text);
}

TEST(rows_that_were_not_fitted_to_are_predicted_as_well)
{
    char *text = malloc(CASES_TEXT);
    write_data(text, 1, true);
    bench b = open_bench(cases_guess_machine, text);
    const tw_calibration *c = calibrate(&b, (tw_calibrate_options){.train = 0.5, .seed = 3});
    CHECK_EQ(c->n_errors, 2);
    CHECK(!c->error[0].test && c->error[1].test);
    CHECK(c->error[0].rows > CASES_ROWS / 4 && c->error[1].rows > CASES_ROWS / 4);
    CHECK(c->error[1].kept < 0.015);
    CHECK(c->error[1].tau > 0.9);
    tw_context_free(b.ctx);
    free(text);
}

TEST(the_number_of_threads_changes_nothing)
{
    char *text = malloc(CASES_TEXT), *bytes[2];
    size_t n[2];
    write_data(text, 1, true);
    for (int i = 0; i < 2; i++) {
        bench b = open_bench(cases_guess_machine, text);
        const tw_calibration *c = calibrate(&b, (tw_calibrate_options){.train = 0.5, .n_threads = 1 + 3 * i});
        FILE *out = open_memstream(&bytes[i], &n[i]);
        CHECK_EQ(tw_calibration_print_json(b.ctx, c, out), TW_OK);
        fclose(out);
        tw_context_free(b.ctx);
    }
    CHECK_EQ(n[0], n[1]);
    CHECK_EQ(memcmp(bytes[0], bytes[1], n[0]), 0);
    free(bytes[0]);
    free(bytes[1]);
    free(text);
}

TEST(without_training_the_values_stay_and_the_errors_are_told)
{
    char *text = malloc(CASES_TEXT);
    write_data(text, 0, false);
    bench b = open_bench(cases_true_machine, text);
    const tw_calibration *c = calibrate(&b, (tw_calibrate_options){.train = 0});
    for (int i = 0; i < c->n_parameters; i++) CHECK_EQ(c->parameter[i].before, c->parameter[i].after);
    CHECK_EQ(c->n_errors, 1);
    CHECK(c->error[0].test && c->error[0].worst == 0 && c->error[0].tau == 1);
    CHECK_EQ(c->n_runs, 0);
    tw_context_free(b.ctx);
    free(text);
}

static bool stop_soon(void *user, const tw_fit_progress *now)
{
    int *most = user;
    return now->n_runs < *most;
}

TEST(a_fit_that_is_stopped_has_the_best_so_far)
{
    char *text = malloc(CASES_TEXT);
    write_data(text, 1, true);
    for (int most = 1; most < 100; most += 33) {
        bench b = open_bench(cases_guess_machine, text);
        const tw_calibration *c =
            calibrate(&b, (tw_calibrate_options){.train = 1, .progress = stop_soon, .user = &most});
        CHECK(c->stopped);
        for (int i = 0; i < c->n_parameters; i++)
            CHECK(c->parameter[i].after >= c->parameter[i].least && c->parameter[i].after <= c->parameter[i].most);
        tw_context_free(b.ctx);
    }
    free(text);
}

TEST(what_cannot_be_fitted_is_said)
{
    static const char row[] = "workload,lowering_config,cycles\n"
                              "\"matmul_transpose_b:1x4800x400:f64\",\"l1_tiles = [0, 240, 400]\",0\n";
    bench b = open_bench(cases_guess_machine, row);
    const tw_calibration *c;
    tw_data_use use = {b.data, false};
    CHECK_EQ(tw_calibrate(b.ctx, b.machine, &use, 1, &(tw_calibrate_options){.train = 1}, &c), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(b.ctx, 0),
              "cluster: error: no row is left to fit to: 1 rows, 0 of them measured and fitting");
    CHECK_EQ(tw_calibrate(b.ctx, b.machine, &use, 1, &(tw_calibrate_options){.train = 0}, &c), TW_OK);
    CHECK_EQ(c->n_misfit, 1);
    tw_context_free(b.ctx);
}

/* ---- the machine file ---- */

static char *source_of(tw_context *ctx, const tw_machine *machine)
{
    char *bytes;
    size_t n;
    FILE *out = open_memstream(&bytes, &n);
    CHECK_EQ(tw_machine_print_source(ctx, machine, out), TW_OK);
    fclose(out);
    return bytes;
}

TEST(a_machine_file_keeps_every_byte_but_its_values)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine, *other, *again;
    static const int64_t value[] = {62000, 1800, 1250, 110000, 14000, 820000};
    CHECK_EQ(tw_machine_parse(ctx, "guess.yaml", cases_guess_machine, &machine), TW_OK);
    char *same = source_of(ctx, machine);
    CHECK_STR(same, cases_guess_machine);
    CHECK_EQ(tw_machine_with_values(ctx, machine, value, &other), TW_OK);
    char *changed = source_of(ctx, other);
    CHECK_STR(changed, cases_true_machine);
    CHECK_EQ(tw_machine_parse(ctx, "again.yaml", changed, &again), TW_OK);
    for (int i = 0; i < CASES_PARAMETERS; i++) CHECK_EQ(tw_machine_parameter(again, i).value, value[i]);
    free(same);
    free(changed);
    tw_context_free(ctx);
}

TEST(values_outside_their_ranges_are_brought_inside)
{
    tw_context *ctx = tw_context_new();
    const tw_machine *machine, *other;
    static const int64_t value[] = {-5, 100000, 0, 400001, 14500, 820001};
    CHECK_EQ(tw_machine_parse(ctx, "guess.yaml", cases_guess_machine, &machine), TW_OK);
    CHECK_EQ(tw_machine_n_parameters(machine), CASES_PARAMETERS);
    CHECK_EQ(tw_machine_with_values(ctx, machine, value, &other), TW_OK);
    static const int64_t want[] = {0, 8000, 500, 400000, 14500, 820001};
    for (int i = 0; i < CASES_PARAMETERS; i++) CHECK_EQ(tw_machine_parameter(other, i).value, want[i]);
    CHECK_STR(tw_machine_parameter(other, 2).name, "per_beat");
    tw_context_free(ctx);
}

TEST(a_built_in_machine_has_its_file)
{
    tw_context *ctx = tw_context_new();
    for (int i = 0; tw_machine_builtin_name(i); i++) {
        const tw_machine *machine;
        CHECK_EQ(tw_machine_open(ctx, tw_machine_builtin_name(i), &machine), TW_OK);
        char *text = source_of(ctx, machine);
        CHECK_STR(text, tw_machine_builtin_text(i));
        free(text);
    }
    tw_context_free(ctx);
}
