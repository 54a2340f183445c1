/* src/fit/calibrate.c - the walk of a calibration:
 *
 *     rows (without copies) -> what fits -> train | test -> values -> predictions -> errors, sweeps
 *
 * Whether a mapping fits does not depend on what commands cost, so that rows that do not fit are simulated once. */
#include "fit/calibrate.h"

#include "fit/errors.h"
#include "fit/fit.h"
#include "machine/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct walk {
    const tw_machine *machine;
    const tw_data_use *data;
    int n_data;
    const tw_calibrate_options *options;
    tw_clock *clock;
    tw_arena *arena, *scratch;
    tw_diag *diag;
    tw_calibration *out;
    tw_row_fit *row;
    tw_fit_sample *sample; /* of each row */
    int64_t *cycles;
    int *train, n_train; /* rows that are fitted to       */
    int *timed, n_timed; /* rows that have both numbers   */
    tw_fit fit;
} walk;

/* ---- rows ---- */

/* Which rows are fitted to is decided by their names, so that a row stays on its side when the file grows. */
static bool is_train(const tw_calibrate_options *options, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ options->seed; /* FNV-1a */
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (double)(tw_random_next(&hash) >> 11) * 0x1p-53 < options->train;
}

static tw_status find_copies(walk *w, bool **copy)
{
    const tw_data **data;
    TW_ALLOC(w->scratch, data, w->n_data);
    for (int d = 0; d < w->n_data; d++) {
        data[d] = w->data[d].data;
        TW_ALLOC(w->scratch, copy[d], data[d]->n_rows);
    }
    if (w->options->drop_copies) tw_data_find_copies(data, w->n_data, copy);
    return TW_OK;
}

static void add_row(walk *w, const tw_data *data, const tw_measured *m, bool test)
{
    int i = w->out->n_rows++;
    w->sample[i] = (tw_fit_sample){m->model, m->mapping, m->cycles, 1};
    w->row[i] = (tw_row_fit){.file = data->file,
                             .name = m->name,
                             .workload = m->workload,
                             .tile = m->tile,
                             .line = m->loc.line,
                             .measured = m->cycles,
                             .test = test || !is_train(w->options, m->name)};
}

static tw_status collect_rows(walk *w)
{
    bool **copy;
    int n = 0;
    for (int d = 0; d < w->n_data; d++) n += w->data[d].data->n_rows;
    TW_ALLOC(w->arena, w->row, n);
    TW_ALLOC(w->scratch, w->sample, n);
    TW_ALLOC(w->scratch, w->cycles, n);
    TW_ALLOC(w->scratch, w->train, n);
    TW_ALLOC(w->scratch, w->timed, n);
    TW_ALLOC(w->scratch, copy, w->n_data);
    TW_TRY(find_copies(w, copy));
    for (int d = 0; d < w->n_data; d++) {
        const tw_data *data = w->data[d].data;
        w->out->n_listed += data->n_listed;
        w->out->n_elsewhere += data->n_elsewhere;
        for (int i = 0; i < data->n_rows; i++) {
            w->out->n_copies += copy[d][i];
            if (!copy[d][i]) add_row(w, data, &data->row[i], w->data[d].test);
        }
    }
    w->out->row = w->row;
    return TW_OK;
}

/* Files weigh the same when their rows share one weight. */
static void weigh(walk *w)
{
    for (int d = 0; d < w->n_data && w->options->balance; d++) {
        int n = 0;
        for (int i = 0; i < w->n_train; i++) n += w->row[w->train[i]].file == w->data[d].data->file;
        for (int i = 0; i < w->n_train; i++)
            if (w->row[w->train[i]].file == w->data[d].data->file) w->sample[w->train[i]].weight = 1.0 / n;
    }
}

static int *count_of(tw_calibration *c, bool measured, bool predicted)
{
    if (measured) return predicted ? &c->n_fit : &c->n_fit_measured;
    return predicted ? &c->n_fit_predicted : &c->n_misfit;
}

/* What fits, and what the machine says before it is calibrated. */
static tw_status look_first(walk *w)
{
    TW_TRY(tw_clock_run(w->clock, w->machine, w->sample, NULL, w->out->n_rows, w->cycles));
    for (int i = 0; i < w->out->n_rows; i++) {
        w->row[i].before = w->cycles[i];
        (*count_of(w->out, w->row[i].measured > 0, w->cycles[i] > 0))++;
        if (w->row[i].measured == 0 || w->cycles[i] == 0) continue;
        w->timed[w->n_timed++] = i;
        if (!w->row[i].test) w->train[w->n_train++] = i;
    }
    weigh(w);
    return TW_OK;
}

/* ---- values ---- */

static tw_status fit(walk *w)
{
    const tw_machine *machine = w->machine;
    tw_loc loc = {machine->name, 0, 0};
    for (int j = 0; j < machine->n_parameters; j++) w->fit.value[j] = machine->parameter[j].value;
    if (w->options->train <= 0) return TW_OK;
    if (machine->n_parameters == 0)
        return tw_diag_error(w->diag, loc, "the machine has no 'parameters' that measurements could settle");
    if (w->n_train == 0)
        return tw_diag_error(w->diag, loc, "no row is left to fit to: %d rows, %d of them measured and fitting",
                             w->out->n_rows, w->n_timed);
    tw_fit_sample *sample;
    TW_ALLOC(w->scratch, sample, w->n_train);
    for (int i = 0; i < w->n_train; i++) sample[i] = w->sample[w->train[i]];
    tw_fit_problem problem = {.machine = machine,
                              .sample = sample,
                              .n_samples = w->n_train,
                              .clock = w->clock,
                              .progress = w->options->progress,
                              .user = w->options->user};
    return tw_fit_run(&problem, w->scratch, w->diag, &w->fit);
}

/* Times of all rows that have one, with these values. */
static tw_status predict(walk *w, const int64_t *value)
{
    tw_machine *machine;
    TW_ALLOC(w->scratch, machine, 1);
    TW_TRY(tw_machine_with(w->machine, value, w->scratch, w->diag, machine));
    return tw_clock_run(w->clock, machine, w->sample, w->timed, w->n_timed, w->cycles);
}

static tw_status predict_rows(walk *w)
{
    double *residual;
    TW_ALLOC(w->scratch, residual, w->n_timed);
    TW_TRY(predict(w, w->fit.value));
    for (int i = 0; i < w->n_timed; i++) {
        tw_row_fit *row = &w->row[w->timed[i]];
        row->predicted = w->cycles[i];
        residual[i] = tw_fit_residual(row->predicted, row->measured);
    }
    for (int i = 0; i < w->out->n_rows; i++)
        if (w->row[i].measured == 0) w->row[i].predicted = w->row[i].before;
    if (w->options->train <= 0 && w->n_timed > 0) TW_TRY(tw_fit_judge(residual, w->n_timed, w->scratch, &w->fit));
    for (int i = 0; i < w->n_timed; i++) w->row[w->timed[i]].outlier = fabs(residual[i]) > w->fit.far;
    return TW_OK;
}

/* ---- what they are worth ---- */

/* Mean error of the rows that were fitted to (of all, where none was), outliers apart, from the last prediction. */
static double mean_error(const walk *w)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < w->n_timed; i++) {
        const tw_row_fit *row = &w->row[w->timed[i]];
        if (row->outlier || (row->test && w->n_train > 0)) continue;
        sum += fabs((double)w->cycles[i] / (double)row->measured - 1);
        n++;
    }
    return n ? sum / n : 0;
}

static tw_status try_change(walk *w, tw_parameter_fit *p, int j, double now)
{
    int64_t value[TW_MAX_PARAMETERS], tenth = p->after / 10;
    memcpy(value, w->fit.value, sizeof value);
    p->tried = tenth == 0 ? 0 : p->after + tenth <= p->most ? 10 : p->after - tenth >= p->least ? -10 : 0;
    if (p->tried == 0) return TW_OK;
    value[j] += p->tried > 0 ? tenth : -tenth;
    TW_TRY(predict(w, value));
    p->growth = mean_error(w) - now;
    return TW_OK;
}

/* Or so near to it that nobody could tell. */
static bool is_at_bound(const tw_parameter_fit *p)
{
    int64_t near = (p->most - p->least) / 1000;
    return p->least < p->most && (p->after <= p->least + near || p->after >= p->most - near);
}

static tw_status describe_parameters(walk *w)
{
    tw_parameter_fit *parameter;
    TW_ALLOC(w->arena, parameter, w->machine->n_parameters);
    double now = mean_error(w);
    for (int j = 0; j < w->machine->n_parameters; j++) {
        const tw_parameter *p = &w->machine->parameter[j];
        parameter[j] = (tw_parameter_fit){
            .name = p->name, .before = p->value, .after = w->fit.value[j], .least = p->least, .most = p->most};
        parameter[j].at_bound = is_at_bound(&parameter[j]);
        w->fit.stopped |= tw_deadline_is_over(w->diag->deadline);
        if (!w->fit.stopped) TW_TRY(try_change(w, &parameter[j], j, now));
    }
    w->out->parameter = parameter;
    w->out->n_parameters = w->machine->n_parameters;
    return TW_OK;
}

static tw_status describe_errors(walk *w)
{
    tw_error_summary *error;
    int n = 0;
    TW_ALLOC(w->arena, error, 2 * (w->n_data + 1));
    for (int d = 0; d <= w->n_data; d++)
        for (int test = 0; test < 2; test++) {
            tw_row_choice choice = {d < w->n_data ? w->data[d].data->file : NULL, test == 1};
            if (d == w->n_data && w->n_data == 1) continue;
            TW_TRY(tw_errors_of(w->row, w->out->n_rows, choice, w->scratch, &error[n]));
            n += error[n].rows > 0;
        }
    w->out->error = error;
    w->out->n_errors = n;
    return tw_sweeps_of(w->row, w->out->n_rows, w->arena, &w->out->sweep, &w->out->n_sweeps);
}

static tw_status run(walk *w)
{
    TW_TRY(collect_rows(w));
    TW_TRY(look_first(w));
    TW_TRY(fit(w));
    tw_clock_go_on(
        w->clock); /* the fit ends some runs before the time does, and is not given up for what a busy host takes longer */
    TW_TRY(predict_rows(w));
    TW_TRY(describe_parameters(w));
    TW_TRY(describe_errors(w));
    w->out->scale = w->fit.scale;
    w->out->far = w->fit.far;
    w->out->n_runs = w->fit.n_runs;
    w->out->stopped = w->fit.stopped;
    return TW_OK;
}

tw_status tw_calibrate_run(const tw_calibrate_request *asked, const tw_work *work, tw_calibration *out)
{
    const tw_calibrate_options *options = asked->options;
    tw_calibration result = {.train = options->train, .seed = options->seed};
    int64_t threads = options->n_threads > 0 ? options->n_threads : sysconf(_SC_NPROCESSORS_ONLN);
    walk w = {.machine = asked->machine,
              .data = asked->data,
              .n_data = asked->n_data,
              .options = options,
              .arena = work->arena,
              .scratch = work->scratch,
              .diag = work->diag,
              .out = &result};
    w.clock = tw_clock_new((int)tw_clamp(threads, 1, 64), asked->time, work->diag->deadline);
    if (!w.clock) return TW_ERR_NOMEM;
    tw_status status = run(&w);
    tw_clock_free(w.clock);
    if (status == TW_STOPPED) return tw_diag_stopped(work->diag, (tw_loc){0}, "the prediction of all rows");
    if (status == TW_OK) *out = result;
    return status;
}
