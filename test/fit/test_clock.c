/* test/fit/test_clock.c - many threads time samples at once (pthread_create is the clock's), and give one answer. */
#include "cases.h"

#include <stdlib.h>

enum { ROWS = 24 };

static void write_data(char *text)
{
    int at = snprintf(text, CASES_TEXT, "name,workload,lowering_config,cycles\n");
    for (int i = 0; i < ROWS; i++) {
        char workload[128], lowering[160];
        cases_row(i, workload, lowering, sizeof workload);
        at += snprintf(text + at, (size_t)(CASES_TEXT - at), "r%d,\"%s\",\"%s\",%d\n", i, workload, lowering,
                       3000 + 500 * i);
    }
}

static bool stop_soon(void *user, const tw_fit_progress *now)
{
    (void)user;
    return now->n_runs < 60;
}

TEST(one_thread_or_many_find_the_same)
{
    char *text = malloc(CASES_TEXT);
    int64_t value[2][CASES_PARAMETERS], cycles[2][ROWS];
    write_data(text);
    for (int i = 0; i < 2; i++) {
        tw_context *ctx = tw_context_new();
        const tw_machine *machine;
        const tw_calibration *c;
        tw_data_use use = {0};
        CHECK_EQ(tw_machine_parse(ctx, "guess.yaml", cases_guess_machine, &machine), TW_OK);
        CHECK_EQ(tw_data_parse(ctx, machine, "made.csv", text, NULL, &use.data), TW_OK);
        tw_calibrate_options options = {.train = 1, .n_threads = i ? 6 : 1, .progress = stop_soon};
        CHECK_EQ(tw_calibrate(ctx, machine, &use, 1, &options, &c), TW_OK);
        CHECK_EQ(c->n_rows, ROWS);
        for (int p = 0; p < CASES_PARAMETERS; p++) value[i][p] = c->parameter[p].after;
        for (int r = 0; r < ROWS; r++) cycles[i][r] = c->row[r].predicted;
        tw_context_free(ctx);
    }
    for (int p = 0; p < CASES_PARAMETERS; p++) CHECK_EQ(value[0][p], value[1][p]);
    for (int r = 0; r < ROWS; r++) CHECK_EQ(cycles[0][r], cycles[1][r]);
    free(text);
}
