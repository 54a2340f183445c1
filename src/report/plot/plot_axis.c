/* src/report/plot/plot_axis.c - axes with round values, see plot.h. */
#include "report/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TICK = 3, GAP = 8 /* between the texts of two ticks */ };

double tw_scale_at(const tw_scale *s, double value)
{
    double share = s->log ? log(value / s->lo) / log(s->hi / s->lo) : (value - s->lo) / (s->hi - s->lo);
    return s->from + share * (s->to - s->from);
}

/* 1, 2 or 5 times a power of ten, not below x > 0. */
static double round_up(double x)
{
    double power = pow(10, floor(log10(x)));
    const double step[] = {1, 2, 5, 10};
    for (size_t i = 0; i < TW_COUNT(step); i++)
        if (step[i] * power >= x * (1 - 1e-9)) return step[i] * power;
    return 10 * power;
}

tw_scale tw_scale_linear(double lo, double hi, double from, double to)
{
    enum { STEPS = 5 };
    double range = hi - lo > 0 ? hi - lo : hi > 0 ? hi : 1;
    if (lo > 0 && lo < range) lo = 0;
    double step = round_up((hi > lo ? hi - lo : range) / STEPS);
    tw_scale s = {.lo = floor(lo / step) * step, .hi = ceil(hi / step) * step, .from = from, .to = to};
    if (s.hi <= s.lo) s.hi = s.lo + step;
    return s;
}

tw_scale tw_scale_log(double lo, double hi, double from, double to)
{
    return (tw_scale){.lo = 1 / round_up(1 / lo), .hi = round_up(hi), .from = from, .to = to, .log = true};
}

/* ---- ticks ---- */

static void with_unit(double value, double step, double most, char text[TW_GROUPED_MAX])
{
    static const struct {
        double one, from;
        const char *name;
    } unit[] = {{1e12, 1e14, " T"}, {1e9, 1e11, " G"}, {1e6, 1e8, " M"}, {1e3, 1e5, " k"}};
    for (size_t i = 0; i < TW_COUNT(unit); i++) {
        if (most < unit[i].from / 10 || fmod(step, unit[i].one / 10) != 0 || value == 0) continue;
        bool whole = fmod(step, unit[i].one) == 0;
        char number[TW_GROUPED_MAX];
        if (whole)
            snprintf(text, TW_GROUPED_MAX, "%s%s", tw_grouped(llround(value / unit[i].one), number), unit[i].name);
        else
            tw_snprintf(text, TW_GROUPED_MAX, "%.1f%s", value / unit[i].one, unit[i].name);
        return;
    }
    tw_grouped(llround(value), text);
}

void tw_tick_text(double value, double step, double most, char text[TW_GROUPED_MAX])
{
    enum { DIGITS = 6 };
    if (fabs(value) > 9e17 || (value != 0 && most < 1e-5)) {
        tw_snprintf(text, TW_GROUPED_MAX, "%.3g", value);
    } else if (step >= 1) {
        with_unit(value, step, most, text);
    } else {
        int digits = (int)ceil(-log10(step) - 1e-9);
        tw_snprintf(text, TW_GROUPED_MAX, "%.*f", digits < DIGITS ? digits : DIGITS, value);
    }
}

static bool add_tick(const tw_scale *s, double value, double step, tw_tick *tick, int *n)
{
    if (*n == TW_MAX_TICKS) return false;
    double most = fabs(s->hi) > fabs(s->lo) ? fabs(s->hi) : fabs(s->lo);
    if (fabs(value) < step * 1e-9) value = 0;
    tick[*n] = (tw_tick){.value = value, .at = tw_scale_at(s, value)};
    tw_tick_text(value, step, most, tick[(*n)++].text);
    return true;
}

/* Every power of ten, with `among` others between them. */
static int log_ticks(const tw_scale *s, int every, const double *among, int n_among, tw_tick *tick)
{
    int n = 0, first = (int)floor(log10(s->lo) + 1e-9);
    for (int e = first; pow(10, e) <= s->hi * (1 + 1e-9); e++)
        for (int i = 0; i < n_among && e % every == 0; i++) {
            double value = among[i] * pow(10, e);
            if (value >= s->lo * (1 - 1e-9) && value <= s->hi * (1 + 1e-9)) add_tick(s, value, value, tick, &n);
        }
    return n;
}

static int linear_ticks(const tw_scale *s, double step, tw_tick *tick)
{
    int n = 0;
    for (double i = ceil(s->lo / step - 1e-9); i * step <= s->hi + step * 1e-9; i++)
        if (!add_tick(s, i * step, step, tick, &n)) break;
    return n;
}

/* Whether the texts keep their distance. */
static bool fit(const tw_tick *tick, int n, bool across)
{
    for (int i = 1; i < n; i++) {
        double a = across ? tw_canvas_text_width(tick[i - 1].text, TW_PLOT_TEXT) / 2 : TW_PLOT_TEXT / 2;
        double b = across ? tw_canvas_text_width(tick[i].text, TW_PLOT_TEXT) / 2 : TW_PLOT_TEXT / 2;
        if (fabs(tick[i].at - tick[i - 1].at) < a + b + GAP) return false;
    }
    return true;
}

int tw_ticks_of(const tw_scale *s, bool across, tw_tick tick[TW_MAX_TICKS])
{
    static const double among[] = {1, 2, 5};
    enum { ROOM = TW_MAX_TICKS - 1 };
    int n;
    if (s->log) {
        n = log_ticks(s, 1, among, 3, tick);
        for (int every = 1; n >= ROOM || !fit(tick, n, across); every++) n = log_ticks(s, every, among, 1, tick);
        return n;
    }
    double step = round_up((s->hi - s->lo) / ROOM);
    if (s->whole) step = fmax(step, 1);
    while (n = linear_ticks(s, step, tick), n > 2 && !fit(tick, n, across)) step = round_up(step * 1.5);
    return n > 1 && !fit(tick, n, across) ? 1 : n;
}

/* ---- drawing ---- */

/* A text in the middle of x that does not leave the picture. */
static void put_inside(tw_plot *plot, double x, double y, const char *text)
{
    double half = tw_canvas_text_width(text, TW_PLOT_TEXT) / 2 + 1;
    if (x + half > plot->width)
        tw_plot_put(plot, plot->width - 1, y, TW_RIGHT, TW_FAINT, text);
    else
        tw_plot_put(plot, x, y, TW_MIDDLE, TW_FAINT, text);
}

void tw_axis_x(tw_plot *plot, const tw_plot_frame *f, const tw_scale *scale, bool grid, const char *title)
{
    tw_tick tick[TW_MAX_TICKS];
    int n = tw_ticks_of(scale, true, tick);
    double bottom = f->top + f->height;
    for (int i = 0; i < n; i++) {
        tw_point line[] = {{tick[i].at, grid ? f->top : bottom}, {tick[i].at, bottom + TICK}};
        tw_canvas_line(&plot->canvas, line, 2, 0.5, 0, TW_RULE);
        put_inside(plot, tick[i].at, bottom + TICK + TW_PLOT_TEXT, tick[i].text);
    }
    tw_canvas_line(&plot->canvas, (tw_point[]){{f->left, bottom}, {f->left + f->width, bottom}}, 2, 0.75, 0,
                   TW_FAINT);
    if (title)
        tw_plot_put(plot, f->left + f->width / 2, bottom + TICK + TW_PLOT_TEXT + 11, TW_MIDDLE, TW_INK, title);
}

double tw_axis_y_width(const tw_scale *scale)
{
    tw_tick tick[TW_MAX_TICKS];
    int n = tw_ticks_of(scale, false, tick);
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, tw_canvas_text_width(tick[i].text, TW_PLOT_TEXT));
    return most + TICK + 2;
}

void tw_axis_y(tw_plot *plot, const tw_plot_frame *f, const tw_scale *scale, bool grid)
{
    tw_tick tick[TW_MAX_TICKS];
    int n = tw_ticks_of(scale, false, tick);
    for (int i = 0; i < n; i++) {
        tw_point line[] = {{f->left - TICK, tick[i].at}, {f->left + (grid ? f->width : 0), tick[i].at}};
        tw_canvas_line(&plot->canvas, line, 2, 0.5, 0, TW_RULE);
        tw_plot_put(plot, f->left - TICK - 1, tick[i].at + TW_PLOT_TEXT * 0.36, TW_RIGHT, TW_FAINT, tick[i].text);
    }
    tw_canvas_line(&plot->canvas, (tw_point[]){{f->left, f->top}, {f->left, f->top + f->height}}, 2, 0.75, 0,
                   TW_FAINT);
}
