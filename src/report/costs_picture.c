/* src/report/costs_picture.c - the cost table as a picture: a row per step, a column per core.
 *
 *     step            operator      kpu                 snitch
 *     conv1           Conv+Relu     [#### 471 k    ]    [######## 23.4 M]
 *
 * A cell has a bar as long as its share of the longest step on that core, in a colour that tells the same by its darkness,
 * and the cycles in figures. The faster core of a row has a frame. Networks of very many steps are drawn by layer. */
#include "report/canvas.h"
#include "report/network_row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MARGIN = 24,
    ROW = 20,
    HEAD = 92,
    NAME_WIDTH = 250,
    OP_WIDTH = 190,
    CELL_WIDTH = 260,
    CELL_GAP = 16,
    MOST_ROWS = 1200,
    FOOT = 30,
};
static const unsigned ink = 0x1b1f24, faint = 0x8a929b, paper = 0xffffff, stripe = 0xf4f6f8, best = 0x1b1f24;

typedef struct drawing {
    const tw_network_plan *const *plan;
    int n_plans, n_rows;
    const int *step; /* per row */
    int64_t longest[64];
    tw_canvas canvas;
} drawing;

/* From pale yellow over orange to dark violet: even in grey, more is darker. */
static unsigned heat(double share)
{
    static const double stop[4][3] = {{255, 240, 190}, {253, 187, 99}, {221, 90, 90}, {84, 30, 110}};
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

static void clip(const char *text, int most, char out[64])
{
    int n = (int)strlen(text);
    if (n <= most)
        snprintf(out, 64, "%s", text);
    else
        snprintf(out, 64, "..%s", text + n - most + 2);
}

static double cell_x(int core) { return MARGIN + NAME_WIDTH + OP_WIDTH + core * (CELL_WIDTH + CELL_GAP); }
static double row_y(int row) { return HEAD + row * ROW; }

static int fastest(const drawing *d, int step)
{
    int at = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < d->n_plans; i++) {
        tw_network_row row = tw_network_row_of(d->plan[i], step);
        if (row.plan && row.cycles < least) least = row.cycles, at = i;
    }
    return d->n_plans > 1 ? at : -1;
}

static void draw_cell(drawing *d, int r, int core, bool framed)
{
    tw_network_row row = tw_network_row_of(d->plan[core], d->step[r]);
    double x = cell_x(core), y = row_y(r) + 2, h = ROW - 4;
    char text[32];
    if (!row.plan) {
        tw_canvas_text(&d->canvas, x + 4, y + 12, 11, TW_LEFT, faint, row.op ? "no plan" : "time unknown");
        return;
    }
    double share = d->longest[core] > 0 ? (double)row.cycles / (double)d->longest[core] : 0;
    double width = share * (CELL_WIDTH - 70);
    short_number(row.cycles, text);
    tw_canvas_rect(&d->canvas, x, y, width < 1 ? 1 : width, h, heat(share));
    tw_canvas_text(&d->canvas, x + width + 6, y + 12, 11, TW_LEFT, ink, text);
    if (framed) tw_canvas_frame(&d->canvas, x - 2, y - 1, CELL_WIDTH, h + 2, best);
}

static void draw_row(drawing *d, int r)
{
    const tw_network *net = d->plan[0]->network;
    const tw_step *step = &net->lowered->step[d->step[r]];
    char text[64];
    double y = row_y(r);
    int first = fastest(d, d->step[r]);
    if (r % 2) tw_canvas_rect(&d->canvas, MARGIN / 2.0, y, cell_x(d->n_plans) - MARGIN / 2.0, ROW, stripe);
    clip(step->name, 34, text);
    tw_canvas_text(&d->canvas, MARGIN, y + 14, 11, TW_LEFT, ink, text);
    clip(step->op, 25, text);
    tw_canvas_text(&d->canvas, MARGIN + NAME_WIDTH, y + 14, 11, TW_LEFT, faint, text);
    for (int i = 0; i < d->n_plans; i++) draw_cell(d, r, i, i == first);
}

static void draw_head(drawing *d)
{
    const char *path = d->plan[0]->network->file->path, *slash = strrchr(path, '/');
    char text[160], cycles[32];
    snprintf(text, sizeof text, "%s: cycles per %s and core", slash ? slash + 1 : path,
             d->n_rows < d->plan[0]->network->lowered->n_steps ? "distinct layer" : "step");
    tw_canvas_text(&d->canvas, MARGIN, 36, 18, TW_LEFT, ink, text);
    tw_canvas_text(&d->canvas, MARGIN, HEAD - 12, 12, TW_LEFT, faint, "step");
    tw_canvas_text(&d->canvas, MARGIN + NAME_WIDTH, HEAD - 12, 12, TW_LEFT, faint, "operator");
    for (int i = 0; i < d->n_plans; i++) {
        short_number(d->plan[i]->totals.cycles, cycles);
        tw_canvas_text(&d->canvas, cell_x(i), HEAD - 28, 14, TW_LEFT, ink, d->plan[i]->machine->name);
        snprintf(text, sizeof text, "%s cycles in all", cycles);
        tw_canvas_text(&d->canvas, cell_x(i), HEAD - 12, 11, TW_LEFT, faint, text);
    }
}

/* A row per step, or where there are too many, per distinct layer. */
static tw_status list_rows(drawing *d, tw_arena *scratch)
{
    const tw_network *net = d->plan[0]->network;
    int n = net->lowered->n_steps, *step;
    bool by_layer = n > MOST_ROWS;
    TW_ALLOC(scratch, step, n + 1);
    for (int s = 0; s < n && d->n_rows < MOST_ROWS; s++)
        if (!by_layer || (net->layer_of[s] >= 0 && net->layer[net->layer_of[s]].first_step == s)) step[d->n_rows++] = s;
    d->step = step;
    for (int i = 0; i < d->n_plans; i++)
        for (int r = 0; r < d->n_rows; r++)
            d->longest[i] = tw_max(d->longest[i], tw_network_row_of(d->plan[i], step[r]).cycles);
    return TW_OK;
}

static tw_status draw(const tw_network_plan *const *plan, int n_plans, tw_canvas_kind kind, tw_arena *scratch,
                      tw_diag *diag, FILE *out)
{
    drawing d = {.plan = plan, .n_plans = n_plans};
    TW_TRY(list_rows(&d, scratch));
    int width = (int)cell_x(n_plans) + MARGIN, height = HEAD + d.n_rows * ROW + FOOT;
    TW_TRY(tw_canvas_open(&d.canvas, kind, width, height, out));
    tw_canvas_rect(&d.canvas, 0, 0, width, height, paper);
    draw_head(&d);
    for (int r = 0; r < d.n_rows; r++) draw_row(&d, r);
    tw_status status = tw_canvas_close(&d.canvas);
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
