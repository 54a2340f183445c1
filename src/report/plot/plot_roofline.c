/* src/report/plot/plot_roofline.c - how near the plan comes to what its engines can do, one point per level; see plot.h.
 *
 *     points/cycle |       ______________   the compute engine
 *                  |      /.    /
 *                  |     / .   /            each link: its rate times the points per unit that crosses it
 *                  |    /  o  /  o
 *                  +--------------------
 *                       points per unit
 *
 * All points are equally high: the plan has one speed. A point lies as far to the right as each unit that crosses the
 * link into its memory is made use of, and below two roofs: the highest is the compute engine's, the slanted one that
 * of its link. Movers that share a link count with what each has to carry: the slowest one is the roof. */
#include "plan/links.h"
#include "report/plot/plot.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>

enum { HEIGHT = 150, HEAD = TW_PLOT_LINE + 6, MARK = 3 };

typedef struct level {
    int memory;
    double units;   /* that cross the link into it           */
    double cycles;  /* that its movers take at best; 0: any number can run at once */
    double x, roof; /* points per unit; units per cycle, 0: none */
} level;

typedef struct roofline {
    tw_plot *plot;
    double points, cycles, peak;
    int n_levels;
    level level[TW_MAX_MEMORIES];
} roofline;

/* ---- rates ---- */

/* Units or points in a cycle at best, of all units of the engine; 0: its cost does not tell. */
static double best_rate(const tw_engine *e) { return (double)tw_max(1, e->count) * tw_cost_rate(&e->cost); }

/* Cycles that an engine takes for its work at best; while it is busy, where nothing else is known. */
static double least_cycles(const tw_engine *e, const tw_engine_use *use, double work)
{
    double rate = best_rate(e);
    return rate > 0 ? work / rate : (double)use->busy_cycles / (double)tw_max(1, e->count);
}

static bool is_unbounded(const tw_engine *e) { return e->kind == TW_MOVES && !e->one_channel; }

/* ---- what the operators do ---- */

static void add_links(const tw_op_plan *op, level *l)
{
    const tw_machine *machine = op->program.machine;
    double slowest = 0;
    for (int o = 0; o < op->program.op->n_operands; o++) l->units += (double)op->link[l->memory][o].units;
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_engine *mover = &machine->engine[e];
        const tw_engine_use *use = &op->timeline.engine[e];
        if (mover->kind != TW_MOVES || mover->memory != l->memory || is_unbounded(mover)) continue;
        slowest = fmax(slowest, least_cycles(mover, use, (double)(use->load_units + use->store_units)));
    }
    l->cycles += slowest;
}

static void add_op(roofline *r, const tw_op_plan *op)
{
    const tw_program *p = &op->program;
    tw_machine machine = tw_machine_for(p->machine, p->model, p->op, p->machine->fusion);
    const tw_engine_use *use = &op->timeline.engine[machine.compute];
    double points = (double)op->timeline.sum.macs;
    double least = least_cycles(&machine.engine[machine.compute], use, points);
    r->points += points;
    r->cycles += (double)op->timeline.sum.cycles;
    if (least > 0) r->peak = fmax(r->peak, points / least);
    for (int i = 0; i < r->n_levels; i++) add_links(op, &r->level[i]);
}

static tw_status collect(roofline *r)
{
    const tw_plot *plot = r->plot;
    level all[TW_MAX_MEMORIES];
    for (int m = 1; m < plot->plan->machine->n_memories; m++) r->level[r->n_levels++] = (level){.memory = m};
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops; i++) add_op(r, &plot->plan->op[i]);
    int n = 0;
    for (int i = 0; i < r->n_levels; i++) {
        level l = r->level[i];
        if (l.units <= 0) continue;
        l.x = r->points / l.units;
        l.roof = l.cycles > 0 ? l.units / l.cycles : 0;
        all[n++] = l;
    }
    r->n_levels = n;
    for (int i = 0; i < n; i++) r->level[i] = all[i];
    if (n > 0 && r->points > 0 && r->cycles > 0 && r->peak > 0) return TW_OK;
    return tw_diag_error(plot->diag, (tw_loc){0}, "no roofline: nothing is moved or executed");
}

/* ---- drawing ---- */

static unsigned level_colour(int i)
{
    static const unsigned colour[TW_MAX_MEMORIES] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                                     0xe69f00, 0x56b4e9, 0x8a8f98, 0x000000};
    return colour[i];
}

static void draw_roof(roofline *r, int i, const tw_scale *x, const tw_scale *y)
{
    const level *l = &r->level[i];
    unsigned colour = level_colour(i);
    double speed = r->points / r->cycles, roof = l->roof > 0 ? fmin(r->peak, l->roof * l->x) : r->peak;
    double at = tw_scale_at(x, l->x);
    if (l->roof > 0) {
        double left = fmax(x->lo, y->lo / l->roof), ridge = r->peak / l->roof;
        tw_point line[] = {{tw_scale_at(x, left), tw_scale_at(y, left * l->roof)},
                           {tw_scale_at(x, ridge), tw_scale_at(y, r->peak)}};
        tw_canvas_line(&r->plot->canvas, line, 2, 1.25, 2 * i, colour);
    }
    tw_point up[] = {{at, tw_scale_at(y, speed)}, {at, tw_scale_at(y, roof)}};
    tw_canvas_line(&r->plot->canvas, up, 2, 0.75, 2, colour);
}

/* Those behind others are larger, so that all are seen. */
static void draw_marks(roofline *r, const tw_scale *x, const tw_scale *y)
{
    double speed = tw_scale_at(y, r->points / r->cycles);
    for (int i = 0; i < r->n_levels; i++) {
        double at = tw_scale_at(x, r->level[i].x), radius = MARK;
        for (int k = i + 1; k < r->n_levels; k++)
            if (fabs(tw_scale_at(x, r->level[k].x) - at) < MARK) radius += MARK / 2.0;
        tw_canvas_circle(&r->plot->canvas, at, speed, radius, 0, level_colour(i));
    }
}

static void number(double value, char text[TW_GROUPED_MAX])
{
    if (value >= 1000 && value < 9e17)
        tw_grouped(llround(value), text);
    else
        tw_snprintf(text, TW_GROUPED_MAX, "%.3g", value);
}

/* "l3  28.2 points/byte at most 64 bytes/cycle" */
static void draw_key(roofline *r, int i)
{
    tw_plot *plot = r->plot;
    const level *l = &r->level[i];
    const tw_machine *machine = plot->plan->machine;
    char text[256], intensity[TW_GROUPED_MAX], rate[TW_GROUPED_MAX];
    number(l->x, intensity);
    number(l->roof, rate);
    int n = snprintf(text, sizeof text, "into %.30s: %s points/%s", machine->memory[l->memory].name, intensity,
                     tw_unit_name(machine->unit));
    if (l->roof > 0)
        snprintf(text + n, sizeof text - (size_t)n, ", %s %s/cycle", rate, tw_unit_brief(machine->unit));
    tw_canvas_circle(&plot->canvas, TW_PLOT_MARGIN + MARK, plot->y + TW_PLOT_TEXT - MARK, MARK, 0, level_colour(i));
    tw_plot_put(plot, TW_PLOT_MARGIN + 12, plot->y + TW_PLOT_TEXT, TW_LEFT, TW_INK, text);
    plot->y += TW_PLOT_LINE;
}

static void set_ranges(const roofline *r, tw_scale *x, tw_scale *y)
{
    double speed = r->points / r->cycles, least = r->level[0].x, most = least;
    for (int i = 0; i < r->n_levels; i++) {
        const level *l = &r->level[i];
        double ridge = l->roof > 0 ? r->peak / l->roof : l->x;
        least = fmin(least, fmin(l->x, ridge));
        most = fmax(most, fmax(l->x, ridge));
    }
    *x = tw_scale_log(least / 2, most * 1.5, 0, 1);
    *y = tw_scale_log(fmin(speed, r->peak) / 2, r->peak * 1.3, HEIGHT, 0);
}

static tw_status draw(roofline *r)
{
    tw_plot *plot = r->plot;
    tw_scale x, y;
    char what[100], speed[TW_GROUPED_MAX], peak[TW_GROUPED_MAX], title[60];
    set_ranges(r, &x, &y);
    number(r->points / r->cycles, speed);
    number(r->peak, peak);
    snprintf(what, sizeof what, "%s points/cycle of %s", speed, peak);
    snprintf(title, sizeof title, "points per %s", tw_unit_name(plot->plan->machine->unit));
    TW_TRY(tw_plot_open(plot, HEAD + HEIGHT + TW_AXIS_X_HEIGHT + 4 + r->n_levels * TW_PLOT_LINE, what));
    tw_plot_put(plot, TW_PLOT_MARGIN, plot->y + TW_PLOT_TEXT, TW_LEFT, TW_INK, "points per cycle");
    tw_plot_frame f = {.left = ceil(tw_axis_y_width(&y)) + TW_PLOT_MARGIN, .top = plot->y + HEAD, .height = HEIGHT};
    f.width = plot->width - TW_PLOT_MARGIN - 6 - f.left;
    x.from = f.left, x.to = f.left + f.width;
    y.from = f.top + HEIGHT, y.to = f.top;
    tw_axis_y(plot, &f, &y, true);
    tw_axis_x(plot, &f, &x, true, title);
    double top = tw_scale_at(&y, r->peak);
    for (int i = 0; i < r->n_levels; i++) draw_roof(r, i, &x, &y);
    tw_canvas_line(&plot->canvas, (tw_point[]){{f.left, top}, {f.left + f.width, top}}, 2, 1.25, 0, TW_INK);
    draw_marks(r, &x, &y);
    snprintf(what, sizeof what, "%.40s: %s", plot->plan->machine->engine[plot->plan->machine->compute].name, peak);
    tw_plot_put(plot, f.left + f.width - 2, top - 3, TW_RIGHT, TW_INK, what);
    plot->y = f.top + HEIGHT + TW_AXIS_X_HEIGHT + 4;
    for (int i = 0; i < r->n_levels; i++) draw_key(r, i);
    return tw_plot_close(plot);
}

tw_status tw_plot_roofline(tw_plot *plot)
{
    roofline r = {.plot = plot};
    TW_TRY(collect(&r));
    return draw(&r);
}
