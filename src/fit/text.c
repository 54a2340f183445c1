/* src/fit/text.c - a calibration for people: what the parameters became, how good the predictions are, where not. */
#include "fit/errors.h"
#include "fit/print.h"
#include "fit/residuals.h"
#include "write/number.h"
#include "write/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_WIDTH = 24, OUTLIERS_SHOWN = 20 };

/* A file's name in few characters: without its ending and, where it is long, without its middle. */
static const char *short_name(const char *path, const tw_line *line, char out[2 * FILE_WIDTH + 8])
{
    const char *name = tw_base_name(path), *dot = strrchr(name, '.');
    int n = dot && dot > name ? (int)(dot - name) : (int)strlen(name), tail = FILE_WIDTH / 2;
    while (n > FILE_WIDTH && tail > 0 && (name[n - tail] & 0xc0) == 0x80) tail--; /* the rest of a character */
    if (n <= FILE_WIDTH)
        snprintf(out, 2 * FILE_WIDTH + 8, "%.*s", n, name);
    else
        snprintf(out, 2 * FILE_WIDTH + 8, "%.*s%s%.*s", TW_FIRST(FILE_WIDTH - tail - 1, name), line->glyph.etc,
                 tail, name + n - tail);
    return out;
}
#define SHORT(path) short_name((path), line, (char[2 * FILE_WIDTH + 8]){0})

/* ---- the top ---- */

static int count_rows(const tw_calibration *c, bool test)
{
    int n = 0;
    for (int i = 0; i < c->n_rows; i++) n += c->row[i].test == test && tw_row_is_timed(&c->row[i]);
    return n;
}

static void print_left_out(const tw_calibration *c, tw_line *line)
{
    int at = 2;
    const struct {
        int n;
        const char *why;
    } part[] = {{c->n_listed, "on a list"}, {c->n_copies, "copies of others"}, {c->n_elsewhere, "by --where"}};
    for (size_t i = 0; i < TW_COUNT(part); i++)
        if (part[i].n > 0)
            at = tw_line_printf(line, at, TW_PLAIN, "%s%d rows %s", at > 2 ? ", " : "left out    ", part[i].n,
                                part[i].why);
    if (at > 2) tw_line_end(line);
}

static void print_top(const tw_calibration *c, const char *machine, tw_line *line)
{
    int at = tw_line_printf(line, 0, TW_BOLD, "%s", machine);
    tw_line_printf(line, at, TW_PLAIN, "  %d rows, %d parameters", c->n_rows, c->n_parameters);
    tw_line_end(line);
    tw_line_end(line);
    if (c->train > 0)
        tw_line_printf(line, 2, TW_PLAIN, "fitted to   %d rows; tested on %d others, seed %" PRIu64,
                       count_rows(c, false), count_rows(c, true), c->seed);
    else
        tw_line_printf(line, 2, TW_PLAIN, "fitted to   nothing; tested on %d rows", count_rows(c, true));
    tw_line_end(line);
    print_left_out(c, line);
    tw_line_printf(line, 2, TW_PLAIN,
                   "fits        %d as measured, %d do not, as measured; wrong: %d fit, %d do not", c->n_fit,
                   c->n_misfit, c->n_fit_predicted, c->n_fit_measured);
    tw_line_end(line);
    if (!c->stopped) return;
    tw_line_put(line, 2, TW_ALARM, "stopped     before the end: these are the best values so far");
    tw_line_end(line);
}

/* ---- tables ---- */

static tw_status print_parameters(const tw_calibration *c, tw_arena *scratch, tw_line *line)
{
    static const char *const title[] = {"parameter", "before", "after", "from", "to", "error at +10%", ""};
    static const double nothing = 0.00005; /* would be written as a zero with a sign */
    tw_table t;
    if (c->n_parameters == 0) return TW_OK;
    tw_table_init(&t, title, (int)TW_COUNT(title), 1, scratch);
    t.tail = true;
    for (int i = 0; i < c->n_parameters; i++) {
        const tw_parameter_fit *p = &c->parameter[i];
        tw_table_row(&t, TW_PLAIN);
        tw_table_put(&t, 0, p->name);
        tw_table_put(&t, 1, TW_MILLI_TEXT(p->before));
        tw_table_put(&t, 2, TW_MILLI_TEXT(p->after));
        tw_table_put(&t, 3, TW_MILLI_TEXT(p->least));
        tw_table_put(&t, 4, TW_MILLI_TEXT(p->most));
        if (p->tried)
            tw_table_printf(&t, 5, "%+.2f points", 100 * (fabs(p->growth) < nothing ? 0 : p->growth));
        else
            tw_table_put(&t, 5, "-");
        bool unknown = p->tried && fabs(p->growth) < nothing;
        tw_table_put(&t, 6, p->at_bound ? "at its bound" : unknown ? "not told" : p->tried < 0 ? "at -10%" : "");
    }
    tw_line_end(line);
    return tw_table_print(&t, line);
}

static void put_percent(tw_table *t, int column, double x)
{
    tw_table_printf(t, column, x < 10 ? "%.1f%%" : "%.0f%%", 100 * x);
}

static tw_status print_errors(const tw_calibration *c, tw_arena *scratch, tw_line *line)
{
    static const char *const title[] = {"error of", "rows", "",      "mean", "kept",
                                        "median",   "90%",  "worst", "out",  "tau"};
    tw_table t;
    tw_table_init(&t, title, (int)TW_COUNT(title), 1, scratch);
    for (int i = 0; i < c->n_errors; i++) {
        const tw_error_summary *e = &c->error[i];
        tw_table_row(&t, e->file ? TW_PLAIN : TW_BOLD);
        tw_table_put(&t, 0, e->file ? SHORT(e->file) : "all");
        tw_table_printf(&t, 1, "%d", e->rows);
        tw_table_put(&t, 2, e->test ? "test" : "train");
        put_percent(&t, 3, e->mean);
        put_percent(&t, 4, e->kept);
        put_percent(&t, 5, e->median);
        put_percent(&t, 6, e->p90);
        put_percent(&t, 7, e->worst);
        tw_table_number(&t, 8, e->outliers);
        tw_table_printf(&t, 9, "%.3f", e->tau);
    }
    tw_line_end(line);
    TW_TRY(tw_table_print(&t, line));
    int pairs = 0, right = 0;
    for (int i = 0; i < c->n_errors; i++)
        if (c->error[i].file) pairs += c->error[i].pairs, right += c->error[i].right;
    tw_line_put(line, 2, TW_DIM, "kept: without outliers (out); tau: rank correlation");
    if (pairs > 0) {
        tw_line_end(line);
        tw_line_printf(line, 2, TW_DIM,
                       "of two tiles of one workload the model knows the faster one %d of %d times", right, pairs);
    }
    tw_line_end(line);
    return TW_OK;
}

static tw_status print_sweeps(const tw_calibration *c, tw_arena *scratch, tw_line *line)
{
    static const char *const title[] = {"sweep of",      "tiles",    "best", "measured",
                                        "model's first", "measured", "ratio"};
    enum { MOST = 24 };
    tw_table t;
    if (c->n_sweeps == 0) return TW_OK;
    tw_table_init(&t, title, (int)TW_COUNT(title), 1, scratch);
    t.once = false;
    for (int i = 0; i < c->n_sweeps && i < MOST; i++) {
        const tw_sweep_summary *s = &c->sweep[i];
        tw_table_row(&t, TW_PLAIN);
        tw_table_put(&t, 0, SHORT(s->file));
        tw_table_printf(&t, 1, "%d", s->tiles);
        tw_table_printf(&t, 2, "%.*s", TW_FIRST(20, s->best));
        tw_table_number(&t, 3, s->best_cycles);
        tw_table_printf(&t, 4, "%.*s", TW_FIRST(20, s->pick));
        tw_table_number(&t, 5, s->pick_cycles);
        tw_table_printf(&t, 6, "%.3f", (double)s->pick_cycles / (double)s->best_cycles);
    }
    tw_line_end(line);
    TW_TRY(tw_table_print(&t, line));
    if (c->n_sweeps <= MOST) return TW_OK;
    tw_line_printf(line, 2, TW_DIM, "and %d more: --json", c->n_sweeps - MOST);
    tw_line_end(line);
    return TW_OK;
}

static int by_error(const void *a, const void *b)
{
    const tw_row_fit *x = *(const tw_row_fit *const *)a, *y = *(const tw_row_fit *const *)b;
    double ex = fabs(log(1 + tw_row_error(x))), ey = fabs(log(1 + tw_row_error(y)));
    return ex != ey ? (ex < ey) - (ex > ey) : (x > y) - (x < y);
}

static tw_status print_outliers(const tw_calibration *c, tw_arena *scratch, tw_line *line)
{
    static const char *const title[] = {"outlier", "split", "measured", "predicted", "ratio", "line", "of"};
    const tw_row_fit **row;
    int n = 0;
    tw_table t;
    TW_ALLOC(scratch, row, c->n_rows);
    for (int i = 0; i < c->n_rows; i++)
        if (c->row[i].outlier) row[n++] = &c->row[i];
    if (n == 0) return TW_OK;
    qsort(row, (size_t)n, sizeof *row, by_error);
    tw_table_init(&t, title, (int)TW_COUNT(title), 2, scratch);
    t.tail = true;
    t.once = false;
    for (int i = 0; i < n && i < OUTLIERS_SHOWN; i++) {
        tw_table_row(&t, TW_PLAIN);
        tw_table_printf(&t, 0, "%.*s", TW_FIRST(30, row[i]->name));
        tw_table_put(&t, 1, row[i]->test ? "test" : "train");
        tw_table_number(&t, 2, row[i]->measured);
        tw_table_number(&t, 3, row[i]->predicted);
        tw_table_printf(&t, 4, "%.3f", (double)row[i]->measured / (double)row[i]->predicted);
        tw_table_printf(&t, 5, "%d", row[i]->line);
        tw_table_put(&t, 6, SHORT(row[i]->file));
    }
    tw_line_end(line);
    TW_TRY(tw_table_print(&t, line));
    tw_line_printf(line, 2, TW_DIM, "ratio: measured over predicted; rows beyond %.2f or below %.2f are outliers%s",
                   exp(c->far), exp(-c->far), n > OUTLIERS_SHOWN ? "; the others: --json" : "");
    tw_line_end(line);
    return TW_OK;
}

/* Rows on which measurement and machine disagree about whether they fit. */
static tw_status print_misfits(const tw_calibration *c, tw_arena *scratch, tw_line *line)
{
    static const char *const title[] = {"fits?", "measured", "predicted", "line", "of"};
    tw_table t;
    int n = 0;
    tw_table_init(&t, title, (int)TW_COUNT(title), 3, scratch);
    t.tail = true;
    t.once = false;
    for (int i = 0; i < c->n_rows && n < OUTLIERS_SHOWN; i++) {
        const tw_row_fit *r = &c->row[i];
        if ((r->measured > 0) == (r->before > 0)) continue;
        n++;
        tw_table_row(&t, TW_ALARM);
        tw_table_printf(&t, 0, "%.*s", TW_FIRST(30, r->name));
        tw_table_put(&t, 1, r->measured > 0 ? "yes" : "no");
        tw_table_put(&t, 2, r->before > 0 ? "yes" : "no");
        tw_table_printf(&t, 3, "%d", r->line);
        tw_table_put(&t, 4, SHORT(r->file));
    }
    if (n == 0) return TW_OK;
    tw_line_end(line);
    return tw_table_print(&t, line);
}

tw_status tw_calibration_text(const tw_calibration *c, const char *machine, const tw_print_options *options,
                              tw_arena *scratch, FILE *out)
{
    tw_line *line;
    TW_ALLOC(scratch, line, 1);
    tw_line_init(line, options, out);
    print_top(c, machine, line);
    TW_TRY(print_misfits(c, scratch, line));
    TW_TRY(print_parameters(c, scratch, line));
    TW_TRY(print_errors(c, scratch, line));
    TW_TRY(print_sweeps(c, scratch, line));
    TW_TRY(print_outliers(c, scratch, line));
    tw_line_end(line);
    return tw_residuals_draw(c, scratch, line);
}
