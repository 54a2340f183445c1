/* test/fit/test_shared.c - the Snitch machine against other people's measurements, which lie beside the project. */
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

/* Rows of matvec_sweep.csv that its README lists as mislabelled. */
static const char *const defective[] = {
    "1x336x255w1-56-85", "1x288x270w1-48-90", "1x288x300w1-32-100", "1x384x240w1-48-80", "1x56x450w1-56-90",
    "1x200x630w1-40-90", "1x336x665w1-56-95", "1x432x900w1-48-100", "1x32x700w1-32-100", "1x224x765w1-32-85",
    "1x128x665w1-32-95", "1x96x85w1-32-85",   "1x168x85w1-56-85",   "1x128x95w1-32-95",  "1x320x90w1-40-90",
    "1x224x80w1-32-80",  "1x48x80w1-48-80"};

typedef struct bench {
    tw_context *ctx;
    const tw_machine *machine;
    const tw_calibration *result;
} bench;

static bool is_defective(const char *name)
{
    for (size_t i = 0; i < TW_COUNT(defective); i++)
        if (strcmp(name, defective[i]) == 0) return true;
    return false;
}

/* What the machine, as we ship it, says about a file. */
static bench evaluate(const char *file, const char *cycles, double train)
{
    bench b = {0};
    char path[1024];
    tw_data_use use = {0};
    if (!tw_test_shared()) skip();
    snprintf(path, sizeof path, "%s/data/snitch/%s", tw_test_shared(), file);
    b.ctx = tw_context_new();
    if (tw_machine_open(b.ctx, "snitch", &b.machine) != TW_OK ||
        tw_data_open(b.ctx, b.machine, path, &(tw_data_options){.cycles = cycles}, &use.data) != TW_OK ||
        tw_calibrate(b.ctx, b.machine, &use, 1, &(tw_calibrate_options){.train = train, .drop_copies = true},
                     &b.result) != TW_OK)
        fail_msg("%s: %s", file, tw_context_message(b.ctx, 0));
    return b;
}

static double mean_error(const tw_calibration *c, bool test_only)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < c->n_rows; i++) {
        const tw_row_fit *r = &c->row[i];
        if (r->measured == 0 || r->predicted == 0 || is_defective(r->name) || (test_only && !r->test)) continue;
        double error = (double)r->predicted / (double)r->measured - 1;
        sum += error < 0 ? -error : error;
        n++;
    }
    print_message("%d rows, mean error %.2f %%\n", n, 100 * sum / n);
    return sum / n;
}

TEST(what_fits_is_what_the_compiler_could_place)
{
    bench b = evaluate("matvec_sweep.csv", NULL, 0);
    CHECK_EQ(b.result->n_fit_predicted, 0);
    CHECK_EQ(b.result->n_fit_measured, 0);
    CHECK(b.result->n_misfit > 0);
    tw_context_free(b.ctx);
}

TEST(the_machine_that_we_ship_errs_by_less_than_five_percent)
{
    static const struct {
        const char *file, *cycles;
    } data[] = {{"matvec_sweep.csv", NULL},
                {"dispatch_1_case1_everything.csv", NULL},
                {"dispatch_8_case1_everything.csv", NULL},
                {"1x1200x400wm-n-k-timed.csv", NULL},
                {"1x600x600wm-n-k-timed.csv", "Total Time - 1040700"}};
    for (size_t i = 0; i < TW_COUNT(data); i++) {
        bench b = evaluate(data[i].file, data[i].cycles, 0);
        CHECK(mean_error(b.result, false) < 0.05);
        for (int s = 0; s < b.result->n_sweeps; s++)
            CHECK((double)b.result->sweep[s].pick_cycles <= 1.01 * (double)b.result->sweep[s].best_cycles);
        tw_context_free(b.ctx);
    }
}

/* Nobody tells the fit which rows are wrong. */
TEST(a_fit_to_half_of_a_sweep_predicts_the_other_half)
{
    bench b = evaluate("matvec_sweep.csv", NULL, 0.5);
    CHECK(mean_error(b.result, true) < 0.05);
    tw_context_free(b.ctx);
}
