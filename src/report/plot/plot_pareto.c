/* src/report/plot/plot_pareto.c - the Pareto front of each operator, first objective to the right, second upwards; see plot.h.
 *
 * Points that no other beats in these two are joined by a line of steps; those that are there for the sake of a third
 * objective are rings. Numbers are those of the files in front/, as many as have room. */
#include "report/plot/plot.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>

enum { PANEL = 150, GAP = 10, HEAD = TW_PLOT_LINE + 6, MARK = 3 };
static const unsigned line_colour = 0x0072b2;

typedef struct front {
    tw_plot *plot;
    int op, n;
    const tw_front_point *point;
    const tw_objective *objective;
    tw_plot_frame frame;
    tw_scale x, y;
    double one[2]; /* an axis counts in these: 1, or femtojoules of its unit */
    const char *unit[2];
} front;

/* ---- axes ---- */

static void choose_unit(front *f, int axis, double most)
{
    static const struct {
        double one;
        const char *name;
    } unit[] = {{1e15, " (J)"}, {1e12, " (mJ)"}, {1e9, " (\u00b5J)"}, {1e6, " (nJ)"}, {1e3, " (pJ)"}, {1, " (fJ)"}};
    f->one[axis] = 1;
    f->unit[axis] = "";
    for (size_t i = 0; i < TW_COUNT(unit) && f->objective[axis].measure == TW_ENERGY; i++)
        if (most >= unit[i].one || i == TW_COUNT(unit) - 1) {
            f->one[axis] = unit[i].one;
            f->unit[axis] = unit[i].name;
            return;
        }
}

static double value(const front *f, int point, int axis) { return f->point[point].value[axis] / f->one[axis]; }

static tw_scale scale_of(front *f, int axis)
{
    double lo = f->point[0].value[axis], hi = lo;
    for (int i = 1; i < f->n; i++) {
        lo = fmin(lo, f->point[i].value[axis]);
        hi = fmax(hi, f->point[i].value[axis]);
    }
    enum { WIDE = 20 }; /* beyond that, a front would lie along the axes */
    choose_unit(f, axis, hi);
    lo /= f->one[axis];
    hi /= f->one[axis];
    tw_scale scale = lo > 0 && hi > WIDE * lo ? tw_scale_log(lo, hi, 0, PANEL) : tw_scale_linear(lo, hi, 0, PANEL);
    scale.whole = f->objective[axis].measure != TW_ENERGY && f->objective[axis].measure != TW_EDP;
    return scale;
}

static const char *title_of(const front *f, int axis)
{
    static const char *const word[TW_N_MEASURES] = {"cycles",  "ticks", "energy", "energy \u00d7 cycles",
                                                    "traffic", "peak"};
    const tw_objective *o = &f->objective[axis];
    return tw_arena_printf(f->plot->arena, "%s%s%.40s%s", word[o->measure], o->at ? " " : "", o->at ? o->at : "",
                           f->unit[axis]);
}

/* ---- points ---- */

static bool is_beaten(const front *f, int i)
{
    for (int k = 0; k < f->n; k++) {
        bool no_worse = value(f, k, 0) <= value(f, i, 0) && value(f, k, 1) <= value(f, i, 1);
        if (no_worse && (value(f, k, 0) < value(f, i, 0) || value(f, k, 1) < value(f, i, 1))) return true;
    }
    return false;
}

static tw_point place(const front *f, int i)
{
    return (tw_point){tw_scale_at(&f->x, value(f, i, 0)), tw_scale_at(&f->y, value(f, i, 1))};
}

/* Points come with the first objective growing. */
static tw_status draw_steps(front *f)
{
    tw_point *line;
    int n = 0;
    TW_ALLOC(f->plot->arena, line, 2 * f->n);
    for (int i = 0; i < f->n; i++) {
        if (is_beaten(f, i)) continue;
        tw_point p = place(f, i);
        if (n > 0) line[n] = (tw_point){p.x, line[n - 1].y}, n++;
        line[n++] = p;
    }
    if (n > 1) tw_canvas_line(&f->plot->canvas, line, n, 1, 0, tw_faded(line_colour, 0.5));
    return TW_OK;
}

static bool overlap(tw_plot_frame a, tw_plot_frame b)
{
    return a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height &&
           b.top < a.top + a.height;
}

/* Whether a number may stand there: in the frame's height, not on another one, not on a point. */
static bool is_free(const front *f, tw_plot_frame box, const tw_plot_frame *taken, int n_taken)
{
    if (box.left < f->frame.left || box.left + box.width > f->plot->width - 1) return false;
    if (box.top + box.height > f->frame.top + f->frame.height) return false;
    for (int i = 0; i < n_taken; i++)
        if (overlap(box, taken[i])) return false;
    for (int i = 0; i < f->n; i++) {
        tw_point p = place(f, i);
        if (overlap(box, (tw_plot_frame){p.x - MARK, p.y - MARK, 2 * MARK, 2 * MARK})) return false;
    }
    return true;
}

/* At one of the corners of its point, if it has room there. */
static void draw_number(front *f, int i, tw_plot_frame *taken, int *n_taken)
{
    char text[16];
    tw_point p = place(f, i);
    snprintf(text, sizeof text, "%02d", i + 1);
    double width = tw_canvas_text_width(text, TW_PLOT_TEXT), height = TW_PLOT_TEXT * 0.8;
    for (int corner = 0; corner < 4; corner++) {
        tw_plot_frame box = {corner < 2 ? p.x + MARK + 1 : p.x - MARK - 1 - width,
                             corner % 2 == 0 ? p.y - height - 1 : p.y + 1, width, height};
        if (!is_free(f, box, taken, *n_taken)) continue;
        tw_plot_put(f->plot, box.left, box.top + height, TW_LEFT, TW_FAINT, text);
        taken[(*n_taken)++] = box;
        return;
    }
}

/* The ends first: of those between there may be too many. */
static tw_status draw_numbers(front *f)
{
    tw_plot_frame *taken;
    int n = 0;
    TW_ALLOC(f->plot->arena, taken, f->n);
    draw_number(f, 0, taken, &n);
    for (int i = f->n - 1; i > 0; i--) draw_number(f, i, taken, &n);
    return TW_OK;
}

/* ---- panels ---- */

static tw_status draw_front(front *f)
{
    tw_plot *plot = f->plot;
    f->x = scale_of(f, 0);
    f->y = scale_of(f, 1);
    const char *across = title_of(f, 0), *up = title_of(f, 1);
    if (!across || !up) return TW_ERR_NOMEM;
    if (plot->n_ops > 1) up = tw_arena_printf(plot->arena, "%s: %s", plot->plan->model->op[f->op].name, up);
    if (!up || !(up = tw_plot_fit(up, plot->width - 2 * TW_PLOT_MARGIN, TW_PLOT_TEXT, plot->arena)))
        return TW_ERR_NOMEM;
    tw_plot_put(plot, TW_PLOT_MARGIN, plot->y + TW_PLOT_TEXT, TW_LEFT, TW_INK, up);
    double left = ceil(tw_axis_y_width(&f->y)) + TW_PLOT_MARGIN;
    f->frame = (tw_plot_frame){left, plot->y + HEAD, plot->width - TW_PLOT_MARGIN - 12 - left, PANEL};
    f->x.from = left, f->x.to = left + f->frame.width;
    f->y.from = f->frame.top + PANEL, f->y.to = f->frame.top;
    tw_axis_y(plot, &f->frame, &f->y, true);
    tw_axis_x(plot, &f->frame, &f->x, true, across);
    TW_TRY(draw_steps(f));
    for (int i = 0; i < f->n; i++)
        tw_canvas_circle(&plot->canvas, place(f, i).x, place(f, i).y, MARK, is_beaten(f, i) ? 1 : 0, line_colour);
    plot->y = f->frame.top + PANEL + TW_AXIS_X_HEIGHT + GAP;
    return draw_numbers(f);
}

/* NULL, or what is missing. */
static const char *missing(const tw_plot *plot)
{
    if (!plot->plan->front) return "no Pareto front: search one with two objectives, such as latency,energy";
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops; i++) {
        if (plot->plan->front[i].n == 0) return "no Pareto front: nothing was found";
        if (plot->plan->op[i].search.n_objectives < 2)
            return "a Pareto front is drawn of two objectives, here is one";
    }
    return NULL;
}

tw_status tw_plot_pareto(tw_plot *plot)
{
    const char *why = missing(plot);
    int points = 0;
    char what[60];
    if (why) return tw_diag_error(plot->diag, (tw_loc){0}, "%s", why);
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops; i++) points += plot->plan->front[i].n;
    snprintf(what, sizeof what, "%d point%s of the front%s", points, points == 1 ? "" : "s",
             plot->n_ops > 1 ? "s" : "");
    TW_TRY(tw_plot_open(plot, plot->n_ops * (HEAD + PANEL + TW_AXIS_X_HEIGHT + GAP) - GAP, what));
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops; i++) {
        front f = {.plot = plot,
                   .op = i,
                   .n = plot->plan->front[i].n,
                   .point = plot->plan->front[i].point,
                   .objective = plot->plan->op[i].search.objective};
        TW_TRY(draw_front(&f));
    }
    return tw_plot_close(plot);
}
