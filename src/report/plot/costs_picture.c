/* src/report/plot/costs_picture.c - the cost table as a picture: a row per step, a column per core.
 *
 *         step            operator      kpu                          snitch
 *      0  conv1           Conv+Relu     ####### 471 k       12 uJ    ############## 23.4 M
 *         total                         1.2 M               40 uJ    88.1 M
 *
 * A bar is as long as its step's share of the longest step on any core, in a colour that tells the same by its darkness, also
 * to those who see no colours: one scale for all. Names of steps are shortened so that they stay different. The figures of the fastest core of a step are dark, the others faint. Networks of very many
 * steps are drawn by layer. */
#include "report/facts/network_row.h"
#include "report/facts/network_words.h"
#include "report/plot/plot.h"
#include "report/report.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CHARACTERS = 48 };

/* Lengths and sizes of texts: one set for the screen, and one that is made to fit a width of paper. */
typedef struct look {
    double margin, row, base; /* base line of a text, from the top of its row */
    double title_y, legend_y, core_y, unit_y, head;
    double number, name, op, bar, cycles, energy,
        gap;         /* widths, the last between two cores; op, energy 0: not shown */
    double gradient; /* width of the legend's colours */
    double text, title_text, core_text;
    int many, most_rows; /* steps from which on rows are layers, and the most that are drawn */
} look;
static const look screen = {.margin = 24,
                            .row = 20,
                            .base = 14,
                            .title_y = 38,
                            .legend_y = 62,
                            .core_y = 98,
                            .unit_y = 114,
                            .head = 124,
                            .number = 44,
                            .name = 250,
                            .op = 170,
                            .bar = 170,
                            .cycles = 70,
                            .energy = 70,
                            .gap = 24,
                            .gradient = 160,
                            .text = 11,
                            .title_text = 18,
                            .core_text = 14,
                            .many = 1200,
                            .most_rows = 1200};

static const unsigned ink = 0x1b1f24, faint = 0x6a737d, paper = 0xffffff, stripe = 0xf4f6f8, rule = 0xc4cad0;

typedef struct drawing {
    const tw_network_plan *const *plan;
    int n_plans, n_rows;
    const int *step; /* per row */
    bool by_layer, energy;
    look look;
    const char *const *name; /* per row    */
    int64_t longest;         /* on any core */
    tw_arena *scratch;
    tw_canvas canvas;
} drawing;

/* From pale yellow over orange to dark violet: even in grey, more is darker. */
static unsigned heat(double share)
{
    static const double stop[4][3] = {{255, 233, 170}, {253, 176, 88}, {214, 84, 92}, {84, 30, 110}};
    double at = sqrt(share < 0 ? 0 : share > 1 ? 1 : share) * 3;
    int i = at >= 3 ? 2 : (int)at;
    unsigned rgb = 0;
    for (int k = 0; k < 3; k++) {
        double x = stop[i][k] + (stop[i + 1][k] - stop[i][k]) * (at - i);
        rgb = rgb << 8 | (unsigned)(x + 0.5);
    }
    return rgb;
}

/* "471 k", "23.4 M" */
static void short_number(int64_t x, char out[32])
{
    static const char *const unit[] = {"", " k", " M", " G", " T"};
    double v = (double)x;
    int u = 0;
    while (v >= 999.5 && u < 4) v /= 1000, u++;
    tw_snprintf(out, 32, u == 0 || v >= 99.95 ? "%.0f%s" : v >= 9.995 ? "%.1f%s" : "%.2f%s", v, unit[u]);
}

/* ---- texts ---- */

typedef const char *(*clipper)(const char *text, int most, tw_arena *arena);
static const char *fitting(const drawing *d, const char *text, double width, clipper clip)
{
    const char *shorter = text;
    for (int most = MOST_CHARACTERS; most > 3; most--) {
        shorter = clip(text, most, d->scratch);
        if (!shorter || tw_canvas_text_width(shorter, d->look.text) <= width) break;
    }
    return shorter;
}

/* ---- where things are ---- */

static double name_x(const drawing *d) { return d->look.margin + d->look.number; }
static double op_x(const drawing *d) { return name_x(d) + d->look.name; }
static double cell_width(const drawing *d)
{
    return d->look.bar + d->look.cycles + (d->energy ? d->look.energy : 0);
}
static double cell_x(const drawing *d, int core)
{
    return op_x(d) + d->look.op + core * (cell_width(d) + d->look.gap);
}
static double right_edge(const drawing *d) { return cell_x(d, d->n_plans) - d->look.gap; }
static double title_x(const drawing *d) { return d->look.margin < screen.margin ? d->look.margin : name_x(d); }
static double row_y(const drawing *d, int row) { return d->look.head + row * d->look.row; }

static void put(drawing *d, tw_label label) { tw_canvas_text(&d->canvas, &label); }

/* ---- cells ---- */

static int fastest(const drawing *d, int step)
{
    int at = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < d->n_plans; i++) {
        tw_network_row row = tw_network_row_of(d->plan[i], step);
        if (row.plan && row.cycles < least) least = row.cycles, at = i;
    }
    return at;
}

static void draw_numbers(drawing *d, double x, double y, int64_t cycles, int64_t energy, unsigned colour)
{
    char text[32];
    short_number(cycles, text);
    put(d, (tw_label){x, y, d->look.text, TW_LEFT, colour, text});
    if (!d->energy || d->look.energy == 0 || energy == 0) return;
    put(d,
        (tw_label){x + d->look.cycles + d->look.energy - 4, y, d->look.text, TW_RIGHT, faint, TW_ENERGY(energy)});
}

static void draw_cell(drawing *d, int r, int core, bool first)
{
    tw_network_row row = tw_network_row_of(d->plan[core], d->step[r]);
    double x = cell_x(d, core), y = row_y(d, r);
    if (!row.plan) {
        put(d, (tw_label){x, y + d->look.base, d->look.text, TW_LEFT, faint,
                          row.step->kind == TW_OP_DESCRIBED ? "no plan" : "time unknown"});
        return;
    }
    double share = d->longest > 0 ? (double)row.cycles / (double)d->longest : 0;
    double width = share * (d->look.bar - 8);
    tw_canvas_rect(&d->canvas, x, y + d->look.row * 0.15, width < 1 ? 1 : width, d->look.row - d->look.row * 0.3,
                   heat(share));
    draw_numbers(d, x + d->look.bar, y + d->look.base, row.cycles, row.energy_fj, first ? ink : faint);
}

static tw_status draw_row(drawing *d, int r)
{
    const tw_network *net = d->plan[0]->network;
    int s = d->step[r], layer = net->layers.of[s];
    const tw_op *step = &net->lowered->graph.op[s];
    char number[32];
    double y = row_y(d, r);
    tw_arena_mark mark = tw_arena_save(d->scratch);
    const char *op = tw_short_op(step->from.what, d->scratch),
               *name = fitting(d, d->name[r], d->look.name - 10, tw_clip_words);
    if (op && d->look.op > 0) op = fitting(d, op, d->look.op - 10, tw_clip_back);
    if (!op || !name) return TW_ERR_NOMEM;
    if (d->by_layer && layer >= 0)
        snprintf(number, sizeof number, "%d\u00d7", net->layers.count[layer]);
    else
        snprintf(number, sizeof number, "%d", s);
    if (r % 2) tw_canvas_rect(&d->canvas, d->look.margin / 2, y, right_edge(d), d->look.row, stripe);
    put(d, (tw_label){name_x(d) - 12, y + d->look.base, d->look.text, TW_RIGHT, faint, number});
    put(d, (tw_label){name_x(d), y + d->look.base, d->look.text, TW_LEFT, ink, name});
    if (d->look.op > 0) put(d, (tw_label){op_x(d), y + d->look.base, d->look.text, TW_LEFT, faint, op});
    tw_arena_rewind(d->scratch, mark);
    for (int i = 0; i < d->n_plans; i++) draw_cell(d, r, i, i == fastest(d, s));
    return TW_OK;
}

/* ---- around them ---- */

static void draw_total(drawing *d)
{
    double y = row_y(d, d->n_rows);
    char text[80];
    tw_canvas_rect(&d->canvas, d->look.margin / 2, y, right_edge(d), 1, rule);
    put(d, (tw_label){name_x(d), y + d->look.base + 4, d->look.text + 1, TW_LEFT, ink, "total"});
    for (int i = 0; i < d->n_plans; i++) {
        const tw_network_totals *t = &d->plan[i]->totals;
        draw_numbers(d, cell_x(d, i) + d->look.bar, y + d->look.base + 4, t->layers_cycles, t->layers_energy_fj,
                     ink);
        int missing = t->n_refused + t->n_untimed;
        snprintf(text, sizeof text, "without %d step%s", missing, missing == 1 ? "" : "s");
        if (missing > 0) put(d, (tw_label){cell_x(d, i), y + d->look.base + 4, d->look.text, TW_LEFT, faint, text});
    }
}

/* What the colours mean. */
static void draw_legend(drawing *d)
{
    enum { PIECES = 40 };
    static const char *const several[] = {
        "0 to the longest step on any core, in cycles; dark figures: the fastest core of the step",
        "0 to the longest step; dark figures: fastest", "dark: fastest core", ""};
    double x = title_x(d), y = d->look.legend_y - 10, piece = d->look.gradient / PIECES;
    int i = 0;
    for (int k = 0; k < PIECES; k++)
        tw_canvas_rect(&d->canvas, x + k * piece, y, piece, 10, heat((k + 0.5) / PIECES));
    x += d->look.gradient + 10;
    while (*several[i] && tw_canvas_text_width(several[i], d->look.text) > right_edge(d) - x) i++;
    put(d, (tw_label){x, d->look.legend_y - 1, d->look.text, TW_LEFT, faint,
                      d->n_plans > 1 ? several[i] : "0 to the longest step, in cycles"});
}

static tw_status draw_head(drawing *d)
{
    const char *path = d->plan[0]->network->file->path, *slash = strrchr(path, '/');
    char text[TW_CANVAS_TEXT];
    snprintf(text, sizeof text, "%.*s: cycles %sof each %s", TW_FIRST(200, slash ? slash + 1 : path),
             d->energy && d->look.energy > 0 ? "and energy " : "", d->by_layer ? "distinct layer" : "step");
    const char *title = tw_plot_fit(text, right_edge(d) - title_x(d), d->look.title_text, d->scratch);
    if (!title) return TW_ERR_NOMEM;
    put(d, (tw_label){title_x(d), d->look.title_y, d->look.title_text, TW_LEFT, ink, title});
    draw_legend(d);
    put(d, (tw_label){name_x(d), d->look.unit_y, d->look.text, TW_LEFT, faint, d->by_layer ? "layer" : "step"});
    if (d->look.op > 0) put(d, (tw_label){op_x(d), d->look.unit_y, d->look.text, TW_LEFT, faint, "operator"});
    for (int i = 0; i < d->n_plans; i++) {
        double x = cell_x(d, i);
        put(d, (tw_label){x, d->look.core_y, d->look.core_text, TW_LEFT, ink, d->plan[i]->machine->name});
        put(d, (tw_label){x + d->look.bar, d->look.unit_y, d->look.text, TW_LEFT, faint, "cycles"});
        if (d->plan[i]->totals.energy_fj > 0 && d->look.energy > 0)
            put(d, (tw_label){x + cell_width(d) - 4, d->look.unit_y, d->look.text, TW_RIGHT, faint, "energy"});
    }
    tw_canvas_rect(&d->canvas, d->look.margin / 2, d->look.head - 1, right_edge(d), 1, rule);
    return TW_OK;
}

/* ---- all of it ---- */

/* Whether another row has the same brief name. */
static bool is_ambiguous(const char *const *name, int n, int row)
{
    for (int i = 0; i < n; i++)
        if (i != row && strcmp(name[i], name[row]) == 0) return true;
    return false;
}

/* Brief names; those that would be two rows' stay as they are. */
static tw_status name_rows(drawing *d)
{
    const tw_op *op = d->plan[0]->network->lowered->graph.op;
    const char **brief, **name;
    TW_ALLOC(d->scratch, brief, d->n_rows + 1);
    TW_ALLOC(d->scratch, name, d->n_rows + 1);
    for (int r = 0; r < d->n_rows; r++)
        if (!(brief[r] = tw_brief_name(op[d->step[r]].name, d->scratch))) return TW_ERR_NOMEM;
    for (int r = 0; r < d->n_rows; r++)
        name[r] = !*brief[r] || is_ambiguous(brief, d->n_rows, r) ? op[d->step[r]].name : brief[r];
    d->name = name;
    return TW_OK;
}

/* A row per step, or where there are too many, per distinct layer. */
static tw_status list_rows(drawing *d)
{
    const tw_network *net = d->plan[0]->network;
    int n = net->lowered->graph.n_ops, *step;
    d->by_layer = n > d->look.many;
    TW_ALLOC(d->scratch, step, n + 1);
    for (int s = 0; s < n && d->n_rows < d->look.most_rows; s++)
        if (!d->by_layer || (net->layers.of[s] >= 0 && net->layers.first[net->layers.of[s]] == s))
            step[d->n_rows++] = s;
    for (int i = 0; i < d->n_plans; i++) {
        for (int r = 0; r < d->n_rows; r++)
            d->longest = tw_max(d->longest, tw_network_row_of(d->plan[i], step[r]).cycles);
        d->energy |= d->plan[i]->totals.energy_fj > 0;
    }
    d->step = step;
    return name_rows(d);
}

static tw_status draw_all(drawing *d)
{
    TW_TRY(draw_head(d));
    for (int r = 0; r < d->n_rows; r++) TW_TRY(draw_row(d, r));
    draw_total(d);
    return TW_OK;
}

static tw_status finish(drawing *d, int width, int height, tw_diag *diag)
{
    tw_canvas_rect(&d->canvas, 0, 0, width, height, paper);
    tw_status status = draw_all(d);
    if (status != TW_OK) {
        tw_canvas_drop(&d->canvas);
        return status;
    }
    return tw_canvas_explain(tw_canvas_close(&d->canvas), diag);
}

static int height_of(const drawing *d)
{
    return (int)(d->look.head + (d->n_rows + 1) * d->look.row + d->look.margin);
}

/* For a screen: as wide as it has to be. */
static tw_status draw_screen(drawing *d, const tw_medium *medium, tw_diag *diag)
{
    d->look = screen;
    TW_TRY(list_rows(d));
    int width = (int)(right_edge(d) + d->look.margin), height = height_of(d);
    TW_TRY(tw_canvas_explain(tw_canvas_open(&d->canvas, medium, width, height), diag));
    return finish(d, width, height, diag);
}

/* ---- for print ---- */

/* Each column of text that still leaves room for bars is shown: energies first, then operators. */
static look fit_look(const drawing *d, double width)
{
    enum { CYCLES = 40, ENERGY = 48, OP = 70, ROOMY = 44, GAP = 6 };
    look l = {.margin = TW_PLOT_MARGIN,
              .row = 13,
              .base = 10,
              .title_y = 15,
              .legend_y = 32,
              .core_y = 48,
              .unit_y = 61,
              .head = 66,
              .number = 26,
              .name = d->n_plans > 1 ? width / 4 : width / 3.4,
              .cycles = CYCLES,
              .gap = GAP,
              .gradient = 60,
              .text = TW_PLOT_TEXT,
              .title_text = TW_PLOT_TEXT,
              .core_text = TW_PLOT_TEXT,
              .many = 64,
              .most_rows = 1000};
    double room = width - 2 * l.margin - l.number - l.name + GAP, each = room / d->n_plans - CYCLES - GAP;
    if (d->energy && each - ENERGY >= ROOMY) l.energy = ENERGY;
    if (each - l.energy - OP / (double)d->n_plans >= ROOMY) l.op = OP;
    l.bar = each - l.energy - l.op / d->n_plans;
    return l;
}

static tw_status draw_print(drawing *d, const tw_medium *medium, double width_mm, tw_diag *diag)
{
    int width;
    TW_TRY(tw_plot_units(&width_mm, &width, diag));
    TW_TRY(tw_plot_check_dpi(medium->dpi, diag));
    d->look = (look){.many = 64, .most_rows = 1000};
    TW_TRY(list_rows(d));
    d->look = fit_look(d, width);
    if (d->look.bar < 0)
        return tw_diag_error(diag, (tw_loc){0}, "a picture of %g mm has no room for %d cores", width_mm,
                             d->n_plans);
    if (height_of(d) * tw_medium_scale(medium, width_mm / width) > TW_CANVAS_MAX)
        return tw_diag_error(diag, (tw_loc){0}, "the picture would be too high; choose fewer dots per inch");
    TW_TRY(tw_canvas_explain(tw_canvas_open_print(&d->canvas, medium, width, height_of(d), width_mm), diag));
    return finish(d, width, height_of(d), diag);
}

tw_status tw_report_costs_picture(const tw_network_plan *const *plan, int n_plans, const tw_costs_picture *picture,
                                  tw_arena *scratch, tw_diag *diag)
{
    drawing d = {.plan = plan, .n_plans = n_plans, .scratch = scratch};
    const tw_medium medium = {picture->image, picture->painter, picture->out, picture->dpi};
    return picture->print ? draw_print(&d, &medium, picture->width_mm, diag) : draw_screen(&d, &medium, diag);
}
