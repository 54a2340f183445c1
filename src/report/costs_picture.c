/* src/report/costs_picture.c - the cost table as a picture: a row per step, a column per core.
 *
 *         step            operator      kpu                          snitch
 *      0  conv1           Conv+Relu     ####### 471 k       12 uJ    ############## 23.4 M
 *         total                         1.2 M               40 uJ    88.1 M
 *
 * A bar is as long as its step's share of the longest step on that core, in a colour that tells the same by its darkness, also
 * to those who see no colours. The figures of the fastest core of a step are dark, the others faint. Networks of very many
 * steps are drawn by layer. */
#include "report/canvas.h"
#include "report/network_row.h"
#include "report/network_words.h"
#include "report/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MARGIN = 24,
    ROW = 20,
    BASE = 14, /* of a text, from the top of its row */
    TITLE_Y = 38,
    LEGEND_Y = 62,
    CORE_Y = 98,
    UNIT_Y = 114,
    HEAD = 124,
    NUMBER_WIDTH = 44,
    NAME_WIDTH = 250,
    OP_WIDTH = 170,
    BAR_WIDTH = 170,
    CYCLES_WIDTH = 70,
    ENERGY_WIDTH = 70,
    CELL_GAP = 24,
    LEGEND_WIDTH = 160,
    MOST_ROWS = 1200,
    MOST_CHARACTERS = 48,
};
static const unsigned ink = 0x1b1f24, faint = 0x6a737d, paper = 0xffffff, stripe = 0xf4f6f8, rule = 0xc4cad0;

typedef struct drawing {
    const tw_network_plan *const *plan;
    int n_plans, n_rows;
    const int *step; /* per row */
    bool by_layer, energy;
    const int64_t *longest; /* per core */
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
    snprintf(out, 32, u == 0 || v >= 99.95 ? "%.0f%s" : v >= 9.995 ? "%.1f%s" : "%.2f%s", v, unit[u]);
}

/* ---- texts ---- */

/* About the width of a text of size 11, and rather more: fonts differ. */
static double pixels_of(const char *text)
{
    double sum = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool wide = (c >= 'A' && c <= 'Z') || strchr("mw@%&", c);
        if ((c & 0xc0) != 0x80) sum += c >= 0xe0 ? 11.5 : c == 'W' || c == 'M' ? 11 : wide ? 9 : 7;
    }
    return sum;
}

typedef const char *(*clipper)(const char *text, int most, tw_arena *arena);
static const char *fitting(const char *text, int pixels, clipper clip, tw_arena *arena)
{
    const char *shorter = text;
    for (int most = MOST_CHARACTERS; most > 3; most--) {
        shorter = clip(text, most, arena);
        if (!shorter || pixels_of(shorter) <= pixels) break;
    }
    return shorter;
}

/* ---- where things are ---- */

static double name_x(void) { return MARGIN + NUMBER_WIDTH; }
static double op_x(void) { return name_x() + NAME_WIDTH; }
static double cell_width(const drawing *d) { return BAR_WIDTH + CYCLES_WIDTH + (d->energy ? ENERGY_WIDTH : 0); }
static double cell_x(const drawing *d, int core) { return op_x() + OP_WIDTH + core * (cell_width(d) + CELL_GAP); }
static double right_edge(const drawing *d) { return cell_x(d, d->n_plans) - CELL_GAP; }
static double row_y(int row) { return HEAD + row * ROW; }

static void put(drawing *d, double x, double y, double size, tw_anchor anchor, unsigned colour, const char *text)
{
    tw_canvas_text(&d->canvas, x, y, size, anchor, colour, text);
}

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
    put(d, x, y, 11, TW_LEFT, colour, text);
    if (!d->energy || energy == 0) return;
    put(d, x + CYCLES_WIDTH + ENERGY_WIDTH - 8, y, 11, TW_RIGHT, faint, TW_ENERGY(energy));
}

static void draw_cell(drawing *d, int r, int core, bool first)
{
    tw_network_row row = tw_network_row_of(d->plan[core], d->step[r]);
    double x = cell_x(d, core), y = row_y(r);
    if (!row.plan) {
        put(d, x, y + BASE, 11, TW_LEFT, faint, row.op ? "no plan" : "time unknown");
        return;
    }
    double share = d->longest[core] > 0 ? (double)row.cycles / (double)d->longest[core] : 0;
    double width = share * (BAR_WIDTH - 8);
    tw_canvas_rect(&d->canvas, x, y + 3, width < 1 ? 1 : width, ROW - 6, heat(share));
    draw_numbers(d, x + BAR_WIDTH, y + BASE, row.cycles, row.energy_fj, first ? ink : faint);
}

static tw_status draw_row(drawing *d, int r)
{
    const tw_network *net = d->plan[0]->network;
    int s = d->step[r], layer = net->layer_of[s];
    const tw_step *step = &net->lowered->step[s];
    char number[32];
    double y = row_y(r);
    tw_arena_mark mark = tw_arena_save(d->scratch);
    const char *op = tw_short_op(step->op, d->scratch),
               *name = fitting(step->name, NAME_WIDTH - 10, tw_clip_front, d->scratch);
    if (op) op = fitting(op, OP_WIDTH - 10, tw_clip_back, d->scratch);
    if (!op || !name) return TW_ERR_NOMEM;
    if (d->by_layer && layer >= 0)
        snprintf(number, sizeof number, "%d\u00d7", net->layer[layer].n_steps);
    else
        snprintf(number, sizeof number, "%d", s);
    if (r % 2) tw_canvas_rect(&d->canvas, MARGIN / 2.0, y, right_edge(d), ROW, stripe);
    put(d, name_x() - 12, y + BASE, 11, TW_RIGHT, faint, number);
    put(d, name_x(), y + BASE, 11, TW_LEFT, ink, name);
    put(d, op_x(), y + BASE, 11, TW_LEFT, faint, op);
    tw_arena_rewind(d->scratch, mark);
    for (int i = 0; i < d->n_plans; i++) draw_cell(d, r, i, i == fastest(d, s));
    return TW_OK;
}

/* ---- around them ---- */

static void draw_total(drawing *d)
{
    double y = row_y(d->n_rows);
    char text[80];
    tw_canvas_rect(&d->canvas, MARGIN / 2.0, y, right_edge(d), 1, rule);
    put(d, name_x(), y + BASE + 4, 12, TW_LEFT, ink, "total");
    for (int i = 0; i < d->n_plans; i++) {
        const tw_network_totals *t = &d->plan[i]->totals;
        draw_numbers(d, cell_x(d, i) + BAR_WIDTH, y + BASE + 4, t->cycles, t->energy_fj, ink);
        int missing = t->n_refused + t->n_untimed;
        snprintf(text, sizeof text, "without %d step%s", missing, missing == 1 ? "" : "s");
        if (missing > 0) put(d, cell_x(d, i), y + BASE + 4, 11, TW_LEFT, faint, text);
    }
}

/* What the colours mean. */
static void draw_legend(drawing *d)
{
    enum { PIECES = 40 };
    double x = name_x(), y = LEGEND_Y - 10;
    for (int i = 0; i < PIECES; i++)
        tw_canvas_rect(&d->canvas, x + i * (LEGEND_WIDTH / PIECES), y, LEGEND_WIDTH / PIECES, 10,
                       heat((i + 0.5) / PIECES));
    put(d, x + LEGEND_WIDTH + 10, LEGEND_Y - 1, 11, TW_LEFT, faint,
        d->n_plans > 1 ? "0 to the longest step of the core; dark figures: the fastest core of the step"
                       : "0 to the longest step");
}

static void draw_head(drawing *d)
{
    const char *path = d->plan[0]->network->file->path, *slash = strrchr(path, '/');
    char text[TW_CANVAS_TEXT];
    snprintf(text, sizeof text, "%.200s: cycles %sof each %s", slash ? slash + 1 : path,
             d->energy ? "and energy " : "", d->by_layer ? "distinct layer" : "step");
    put(d, name_x(), TITLE_Y, 18, TW_LEFT, ink, text);
    draw_legend(d);
    put(d, name_x(), UNIT_Y, 11, TW_LEFT, faint, d->by_layer ? "layer" : "step");
    put(d, op_x(), UNIT_Y, 11, TW_LEFT, faint, "operator");
    for (int i = 0; i < d->n_plans; i++) {
        double x = cell_x(d, i);
        put(d, x, CORE_Y, 14, TW_LEFT, ink, d->plan[i]->machine->name);
        put(d, x + BAR_WIDTH, UNIT_Y, 11, TW_LEFT, faint, "cycles");
        if (d->plan[i]->totals.energy_fj > 0) put(d, x + cell_width(d) - 8, UNIT_Y, 11, TW_RIGHT, faint, "energy");
    }
    tw_canvas_rect(&d->canvas, MARGIN / 2.0, HEAD - 1, right_edge(d), 1, rule);
}

/* ---- all of it ---- */

/* A row per step, or where there are too many, per distinct layer. */
static tw_status list_rows(drawing *d)
{
    const tw_network *net = d->plan[0]->network;
    int n = net->lowered->n_steps, *step;
    int64_t *longest;
    d->by_layer = n > MOST_ROWS;
    TW_ALLOC(d->scratch, step, n + 1);
    TW_ALLOC(d->scratch, longest, d->n_plans);
    for (int s = 0; s < n && d->n_rows < MOST_ROWS; s++)
        if (!d->by_layer || (net->layer_of[s] >= 0 && net->layer[net->layer_of[s]].first_step == s))
            step[d->n_rows++] = s;
    for (int i = 0; i < d->n_plans; i++) {
        for (int r = 0; r < d->n_rows; r++)
            longest[i] = tw_max(longest[i], tw_network_row_of(d->plan[i], step[r]).cycles);
        d->energy |= d->plan[i]->totals.energy_fj > 0;
    }
    d->step = step;
    d->longest = longest;
    return TW_OK;
}

static tw_status draw_all(drawing *d)
{
    draw_head(d);
    for (int r = 0; r < d->n_rows; r++) TW_TRY(draw_row(d, r));
    draw_total(d);
    return TW_OK;
}

static tw_status draw(const tw_network_plan *const *plan, int n_plans, tw_canvas_kind kind, tw_arena *scratch,
                      tw_diag *diag, FILE *out)
{
    drawing d = {.plan = plan, .n_plans = n_plans, .scratch = scratch};
    TW_TRY(list_rows(&d));
    int width = (int)right_edge(&d) + MARGIN, height = HEAD + (d.n_rows + 1) * ROW + MARGIN;
    TW_TRY(tw_canvas_open(&d.canvas, kind, width, height, out));
    tw_canvas_rect(&d.canvas, 0, 0, width, height, paper);
    tw_status status = draw_all(&d);
    if (status != TW_OK) {
        tw_canvas_drop(&d.canvas);
        return status;
    }
    status = tw_canvas_close(&d.canvas);
    return status == TW_ERR_IO ? tw_diag_io(diag, (tw_loc){0}, "cannot write the picture") : status;
}

tw_status tw_report_costs_svg(const tw_network_plan *const *plan, int n_plans, tw_arena *scratch, tw_diag *diag,
                              FILE *out)
{
    return draw(plan, n_plans, TW_CANVAS_SVG, scratch, diag, out);
}

tw_status tw_report_costs_png(const tw_network_plan *const *plan, int n_plans, tw_arena *scratch, tw_diag *diag,
                              FILE *out)
{
    return draw(plan, n_plans, TW_CANVAS_PNG, scratch, diag, out);
}
