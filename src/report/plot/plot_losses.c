/* src/report/plot/plot_losses.c - where the time goes: a bar for the peak and one for each part, which begins where the one above it
 * ends, up to the time that the plan takes; see plot.h. */
#include "report/facts/losses.h"
#include "report/facts/network_row.h"
#include "report/plot/plot.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROW = 25, BAR = 9 };

typedef struct waterfall {
    tw_plot *plot;
    tw_losses losses;
    double left, right; /* of the bars */
    int64_t done;       /* cycles      */
} waterfall;

enum { PEAK_HUE = 2 };

/* The hues of the page's waterfall (web/src/waterfall.ts). */
static int look_of(const tw_loss *loss)
{
    switch (loss->kind) {
    case TW_LOSS_WAIT: return loss->why == TW_WAIT_CREDIT ? TW_KIND_CREDIT : TW_KIND_DATA;
    case TW_LOSS_START:
    case TW_LOSS_END: return TW_KIND_TILES;
    case TW_LOSS_CORES: return tw_kind_of(4, TW_FORM_MOVED);
    case TW_LOSS_FILL: return tw_kind_of(1, TW_FORM_MOVED);
    case TW_LOSS_RECOMPUTE:
    case TW_LOSS_CONTENTION: return tw_kind_of(3, TW_FORM_MOVED);
    default: return tw_kind_of(5, TW_FORM_MOVED);
    }
}

static double x_of(const waterfall *w, int64_t cycle)
{
    return w->left + (w->right - w->left) * (double)cycle / (double)tw_max(w->losses.cycles, 1);
}

/* On a pale ground whose marks would run through the text it has a ground of its own. */
static void put_inside(tw_plot *plot, int look, double x, double y, const char *label)
{
    double width = tw_canvas_text_width(label, TW_PLOT_TEXT) + 6;
    bool marked = look > TW_KIND_TILES;
    if (marked) tw_canvas_rect(&plot->canvas, x - width / 2, y, width, BAR, TW_PAPER);
    tw_plot_put(plot, x, y + BAR - 1, TW_MIDDLE, marked ? TW_INK : tw_ink_on(tw_kind_colour(look)), label);
}

/* The bar, its cycles behind it, and below it what it is about. */
static tw_status draw_row(waterfall *w, const char *name, int64_t cycles, int look, const char *text)
{
    tw_plot *plot = w->plot;
    char label[2 * TW_GROUPED_MAX];
    double from = x_of(w, w->done), to = fmax(x_of(w, w->done + cycles), from + 0.7), y = plot->y;
    const char *below = tw_plot_fit(text, plot->width - TW_PLOT_MARGIN - w->left, TW_PLOT_TEXT, plot->arena);
    if (!below) return TW_ERR_NOMEM;
    snprintf(label, sizeof label, "%s, %s", TW_GROUPED(cycles), TW_PERCENT(cycles, w->losses.cycles));
    tw_plot_put(plot, w->left - 4, y + BAR - 1, TW_RIGHT, TW_INK, name);
    tw_plot_fill_rect(plot, look, from, y, to - from, BAR);
    bool fits = to + 4 + tw_canvas_text_width(label, TW_PLOT_TEXT) <= plot->width - TW_PLOT_MARGIN;
    bool before = from - 4 - tw_canvas_text_width(label, TW_PLOT_TEXT) >= w->left;
    if (fits)
        tw_plot_put(plot, to + 4, y + BAR - 1, TW_LEFT, TW_INK, label);
    else if (before)
        tw_plot_put(plot, from - 4, y + BAR - 1, TW_RIGHT, TW_INK, label);
    else
        put_inside(plot, look, (from + to) / 2, y, label);
    tw_plot_put(plot, w->left, y + BAR + TW_PLOT_TEXT, TW_LEFT, TW_FAINT, below);
    plot->y += ROW;
    w->done += cycles;
    return TW_OK;
}

static tw_status draw_rows(waterfall *w)
{
    const tw_losses *losses = &w->losses;
    char text[96];
    if (losses->has_peak && losses->rate > 0)
        snprintf(text, sizeof text, "%s points at %s a cycle", TW_GROUPED(losses->points),
                 TW_RATE(losses->rate, losses->per));
    else
        snprintf(text, sizeof text, losses->has_peak ? "%s points at the peak" : "executions of %s points",
                 TW_GROUPED(losses->points));
    TW_TRY(draw_row(w, losses->has_peak ? "peak" : "executing", losses->peak, tw_kind_of(PEAK_HUE, TW_FORM_SOLID),
                    text));
    for (int i = 0; i < losses->n; i++) {
        const char *what = tw_loss_text(&losses->part[i], w->plot->arena);
        if (!what) return TW_ERR_NOMEM;
        TW_TRY(draw_row(w, tw_loss_title(losses->part[i].kind), losses->part[i].cycles, look_of(&losses->part[i]),
                        what));
    }
    return TW_OK;
}

static tw_status draw(tw_plot *plot, const tw_losses *losses)
{
    waterfall w = {plot, *losses, TW_PLOT_MARGIN + 52, plot->width - TW_PLOT_MARGIN, 0};
    char what[128];
    int n = snprintf(what, sizeof what, "%s cycles", TW_GROUPED(w.losses.cycles));
    if (w.losses.has_peak && n > 0)
        snprintf(what + n, sizeof what - (size_t)n, ", %s of peak", TW_PERCENT(w.losses.peak, w.losses.cycles));
    TW_TRY(tw_plot_open(plot, (1 + w.losses.n) * ROW + 4, what));
    TW_TRY(draw_rows(&w));
    return tw_plot_close(plot);
}

tw_status tw_plot_losses(tw_plot *plot)
{
    tw_losses losses;
    bool one = plot->n_ops == 1 && !plot->plan->joint;
    TW_TRY(one ? tw_losses_of_op(&plot->plan->op[plot->first_op], plot->arena, &losses)
               : tw_losses_of_plan(plot->plan, plot->arena, &losses));
    return draw(plot, &losses);
}

static tw_status draw_network(tw_plot *plot, const tw_network_plan *plan)
{
    tw_losses losses;
    const char *path = tw_network_summary_of(plan->network).path, *slash = strrchr(path, '/');
    plot->subject = tw_arena_printf(plot->arena, "%s on %s", slash ? slash + 1 : path, plan->machine->name);
    if (!plot->subject) return TW_ERR_NOMEM;
    if (plan->totals.n_programs == 0 && plan->totals.bound > 0) {
        char spaces[TW_SPACES_MAX];
        plot->caption = tw_arena_printf(plot->arena, "proven in %s: at least %s cycles",
                                        tw_spaces_text(tw_network_spaces(plan), spaces),
                                        TW_GROUPED((int64_t)plan->totals.bound));
        if (!plot->caption) return TW_ERR_NOMEM;
    }
    TW_TRY(tw_losses_of_network(plan, plot->arena, &losses));
    return draw(plot, &losses);
}

tw_status tw_report_network_plot_losses(const tw_network_plan *plan, const tw_plot_options *options,
                                        const tw_painter *painter, tw_work work, FILE *out)
{
    tw_plot plot = {.options = options, .painter = painter, .scratch = work.scratch, .diag = work.diag, .out = out};
    plot.mm = options->width_mm;
    TW_TRY(tw_plot_units(&plot.mm, &plot.width, work.diag));
    TW_TRY(tw_plot_check_dpi(options->dpi, work.diag));
    plot.arena = tw_arena_new();
    tw_status status = plot.arena ? draw_network(&plot, plan) : TW_ERR_NOMEM;
    tw_canvas_drop(&plot.canvas);
    tw_arena_free(plot.arena);
    return status;
}
