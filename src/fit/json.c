/* src/fit/json.c - a calibration as one JSON document, described field by field in docs/calibrate.md. */
#include "write/json.h"
#include "fit/print.h"
#include "machine/machine.h"

enum { SCHEMA_VERSION = 1 };

/* The double nearest to the decimal number. */
static double decimal(int64_t thousandths) { return (double)thousandths / TW_MILLI; }

static void write_parameters(tw_json *j, const tw_calibration *c)
{
    tw_json_key_open(j, "parameters", '[');
    for (int i = 0; i < c->n_parameters; i++) {
        const tw_parameter_fit *p = &c->parameter[i];
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "name", p->name);
        tw_json_key_number(j, "before", decimal(p->before));
        tw_json_key_number(j, "after", decimal(p->after));
        tw_json_key_number(j, "from", decimal(p->least));
        tw_json_key_number(j, "to", decimal(p->most));
        tw_json_key_bool(j, "at_bound", p->at_bound);
        tw_json_key_int(j, "changed_percent", p->tried);
        tw_json_key_number(j, "error_growth", p->growth);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_errors(tw_json *j, const tw_calibration *c)
{
    tw_json_key_open(j, "errors", '[');
    for (int i = 0; i < c->n_errors; i++) {
        const tw_error_summary *e = &c->error[i];
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "file", e->file);
        tw_json_key_string(j, "split", e->test ? "test" : "train");
        tw_json_key_int(j, "rows", e->rows);
        tw_json_key_int(j, "outliers", e->outliers);
        tw_json_key_number(j, "mean", e->mean);
        tw_json_key_number(j, "mean_without_outliers", e->kept);
        tw_json_key_number(j, "median", e->median);
        tw_json_key_number(j, "p90", e->p90);
        tw_json_key_number(j, "worst", e->worst);
        tw_json_key_number(j, "bias", e->bias);
        tw_json_key_number(j, "tau", e->tau);
        tw_json_key_int(j, "pairs", e->pairs);
        tw_json_key_int(j, "pairs_right", e->right);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_sweeps(tw_json *j, const tw_calibration *c)
{
    tw_json_key_open(j, "sweeps", '[');
    for (int i = 0; i < c->n_sweeps; i++) {
        const tw_sweep_summary *s = &c->sweep[i];
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "file", s->file);
        tw_json_key_string(j, "workload", s->workload);
        tw_json_key_int(j, "tiles", s->tiles);
        tw_json_key_string(j, "best", s->best);
        tw_json_key_int(j, "best_measured", s->best_cycles);
        tw_json_key_int(j, "best_predicted", s->best_predicted);
        tw_json_key_string(j, "pick", s->pick);
        tw_json_key_int(j, "pick_measured", s->pick_cycles);
        tw_json_key_int(j, "pick_predicted", s->pick_predicted);
        tw_json_key_number(j, "ratio", (double)s->pick_cycles / (double)s->best_cycles);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_rows(tw_json *j, const tw_calibration *c)
{
    tw_json_key_open(j, "rows", '[');
    for (int i = 0; i < c->n_rows; i++) {
        const tw_row_fit *r = &c->row[i];
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "file", r->file);
        tw_json_key_int(j, "line", r->line);
        tw_json_key_string(j, "name", r->name);
        tw_json_key_string(j, "workload", r->workload);
        tw_json_key_string(j, "tile", r->tile);
        tw_json_key_string(j, "split", r->test ? "test" : "train");
        tw_json_key_int_or_null(j, "measured", r->measured, r->measured > 0);
        tw_json_key_int_or_null(j, "before", r->before, r->before > 0);
        tw_json_key_int_or_null(j, "predicted", r->predicted, r->predicted > 0);
        tw_json_key_bool(j, "outlier", r->outlier);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_fit(tw_json *j, const tw_calibration *c)
{
    tw_json_key_open_line(j, "split", '{');
    tw_json_key_number(j, "train", c->train);
    tw_json_key_int(j, "seed", (int64_t)c->seed);
    tw_json_close(j);
    tw_json_key_open_line(j, "left_out", '{');
    tw_json_key_int(j, "listed", c->n_listed);
    tw_json_key_int(j, "copies", c->n_copies);
    tw_json_key_int(j, "elsewhere", c->n_elsewhere);
    tw_json_close(j);
    tw_json_key_open_line(j, "fit", '{');
    tw_json_key_int(j, "runs", c->n_runs);
    tw_json_key_bool(j, "stopped", c->stopped);
    tw_json_key_number(j, "scale", c->scale);
    tw_json_key_number(j, "outlier_from", c->far);
    tw_json_close(j);
    tw_json_key_open_line(j, "fits", '{');
    tw_json_key_int(j, "both", c->n_fit);
    tw_json_key_int(j, "measured_only", c->n_fit_measured);
    tw_json_key_int(j, "predicted_only", c->n_fit_predicted);
    tw_json_key_int(j, "neither", c->n_misfit);
    tw_json_close(j);
}

void tw_calibration_json(const tw_calibration *c, const char *machine, FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    tw_json_key_string(&j, "schema", "tilewright.calibration");
    tw_json_key_int(&j, "version", SCHEMA_VERSION);
    tw_json_key_open_line(&j, "tool", '{');
    tw_json_key_string(&j, "name", "tilewright");
    tw_json_key_string(&j, "version", tw_version());
    tw_json_close(&j);
    tw_json_key_open_line(&j, "machine", '{');
    tw_json_key_string(&j, "name", machine);
    tw_json_close(&j);
    write_fit(&j, c);
    write_parameters(&j, c);
    write_errors(&j, c);
    write_sweeps(&j, c);
    write_rows(&j, c);
    tw_json_close(&j);
    tw_json_end(&j);
}
