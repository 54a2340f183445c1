/* src/report/plot/plot.c - what all pictures of a plan have in common, see plot.h. */
#include "report/plot/plot.h"
#include "report/text/proof.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Units of a picture that is 85 mm wide. */
enum { COLUMN_UNITS = 320, COLUMN_MM = 85, LEAST_MM = 40, MOST_MM = 500 };

/* ---- what is shown ---- */

static tw_status list_ops(const tw_plan *plan, const char *name, tw_diag *diag)
{
    tw_text text = {0};
    for (int i = 0; i < plan->model->n_ops; i++)
        tw_text_printf(&text, "%s%s", i ? ", " : "", plan->model->op[i].name);
    tw_status status = text.failed ? TW_ERR_NOMEM
                                   : tw_diag_error(diag, (tw_loc){0}, "no operator '%s'; there are %s", name,
                                                   text.bytes ? text.bytes : "none");
    tw_text_release(&text);
    return status;
}

static tw_status choose_ops(tw_plot *plot)
{
    const tw_model *model = plot->plan->model;
    const char *name = plot->options->op;
    plot->n_ops = model->n_ops;
    if (!name) return TW_OK;
    plot->n_ops = 1;
    for (int i = 0; i < model->n_ops; i++, plot->first_op++)
        if (strcmp(model->op[i].name, name) == 0) return TW_OK;
    return list_ops(plot->plan, name, plot->diag);
}

static int64_t cycles_of(const tw_plan *plan, int first, int n)
{
    int64_t sum = 0;
    if (plan->joint) return n > 0 ? plan->sum.cycles : 0;
    for (int i = first; i < first + n; i++) sum += plan->op[i].timeline.sum.cycles;
    return sum;
}

static tw_status choose_cycles(tw_plot *plot)
{
    const tw_plot_options *o = plot->options;
    int64_t end = cycles_of(plot->plan, plot->first_op, plot->n_ops), to = o->to ? o->to : end;
    plot->origin = cycles_of(plot->plan, 0, plot->first_op);
    plot->cycles = end;
    if (o->from >= 0 && to <= end && (o->from < to || end == 0)) {
        plot->shown = (tw_span){plot->origin + o->from, plot->origin + to};
        return TW_OK;
    }
    return tw_diag_error(plot->diag, (tw_loc){0}, "no cycles %" PRId64 ":%" PRId64 " to show, there are 0:%" PRId64,
                         o->from, to, end);
}

tw_status tw_plot_check_dpi(double dpi, tw_diag *diag)
{
    enum { LEAST = 36, MOST = 1200 };
    if (dpi == 0 || (dpi >= LEAST && dpi <= MOST)) return TW_OK;
    return tw_diag_error(diag, (tw_loc){0}, "a picture has %d to %d dots per inch, not %g", LEAST, MOST, dpi);
}

tw_status tw_plot_units(double *mm, int *units, tw_diag *diag)
{
    if (*mm == 0) *mm = COLUMN_MM;
    *units = (int)lround(*mm * COLUMN_UNITS / COLUMN_MM);
    if (*mm >= LEAST_MM && *mm <= MOST_MM) return TW_OK;
    return tw_diag_error(diag, (tw_loc){0}, "a picture is %d to %d mm wide, not %g", LEAST_MM, MOST_MM, *mm);
}

/* Groups are one program: of the pictures, those of its engines and memories show it. */
static tw_status check_joint(const tw_plot_options *options, tw_diag *diag)
{
    if (options->kind != TW_PLOT_GANTT && options->kind != TW_PLOT_LOSSES && options->kind != TW_PLOT_BUFFERS)
        return tw_diag_error(diag, (tw_loc){0},
                             "of a mapping with groups there is no such picture, only gantt, buffers and losses");
    if (options->op)
        return tw_diag_error(
            diag, (tw_loc){0},
            "the operators of a mapping with groups run side by side: there is no picture of '%s' alone",
            options->op);
    return TW_OK;
}

/* Pictures of what an operator costs say what is proven of that. */
static tw_status find_caption(tw_plot *plot)
{
    tw_text text = {0};
    tw_plot_kind kind = plot->options->kind;
    if (kind == TW_PLOT_GANTT || kind == TW_PLOT_BUFFERS || plot->n_ops != 1 || plot->plan->joint) return TW_OK;
    tw_search_caption(&plot->plan->op[plot->first_op], &text);
    bool any = text.len > 0;
    if (any) plot->caption = tw_arena_printf(plot->arena, "%s", text.bytes);
    bool lost = text.failed || (any && !plot->caption);
    tw_text_release(&text);
    return lost ? TW_ERR_NOMEM : TW_OK;
}

tw_status tw_report_plot(const tw_plan *plan, const tw_plot_options *options, const tw_painter *painter,
                         tw_arena *scratch, tw_diag *diag, FILE *out)
{
    static tw_status (*const draw[TW_N_PLOTS])(tw_plot * plot) = {
        [TW_PLOT_GANTT] = tw_plot_gantt,       [TW_PLOT_BUFFERS] = tw_plot_buffers,
        [TW_PLOT_ROOFLINE] = tw_plot_roofline, [TW_PLOT_TRAFFIC] = tw_plot_traffic,
        [TW_PLOT_LOSSES] = tw_plot_losses,     [TW_PLOT_PARETO] = tw_plot_pareto};
    tw_plot plot = {
        .plan = plan, .options = options, .painter = painter, .scratch = scratch, .diag = diag, .out = out};
    if (plan->model->n_ops == 0) return tw_diag_error(diag, (tw_loc){0}, "a plan without operators has no picture");
    if (plan->joint) TW_TRY(check_joint(options, diag));
    plot.mm = options->width_mm;
    TW_TRY(tw_plot_units(&plot.mm, &plot.width, diag));
    TW_TRY(tw_plot_check_dpi(options->dpi, diag));
    TW_TRY(choose_ops(&plot));
    TW_TRY(choose_cycles(&plot));
    plot.arena = tw_arena_new();
    tw_status status = plot.arena ? find_caption(&plot) : TW_ERR_NOMEM;
    if (status == TW_OK) status = draw[options->kind](&plot);
    tw_canvas_drop(&plot.canvas);
    tw_arena_free(plot.arena);
    return status;
}

/* ---- texts ---- */

const char *tw_plot_window(const tw_plot *plot, char text[TW_PLOT_WINDOW])
{
    int64_t from = plot->shown.lo - plot->origin, to = plot->shown.hi - plot->origin;
    if (from == 0 && to == plot->cycles)
        snprintf(text, TW_PLOT_WINDOW, "%s cycles", TW_GROUPED(to));
    else
        snprintf(text, TW_PLOT_WINDOW, "cycles %s to %s of %s", TW_GROUPED(from), TW_GROUPED(to),
                 TW_GROUPED(plot->cycles));
    return text;
}

void tw_plot_put(tw_plot *plot, double x, double y, tw_anchor anchor, unsigned colour, const char *text)
{
    tw_canvas_text(&plot->canvas, &(tw_label){x, y, TW_PLOT_TEXT, anchor, colour, text});
}

const char *tw_plot_fit(const char *text, double width, double size, tw_arena *arena)
{
    size_t n = strlen(text);
    if (tw_canvas_text_width(text, size) <= width) return tw_arena_strndup(arena, text, n);
    char *copy = tw_arena_alloc(arena, n + sizeof "\u2026", 1);
    if (!copy) return NULL;
    do {
        while (n > 0 && ((unsigned char)text[--n] & 0xc0) == 0x80) continue;
        snprintf(copy, n + sizeof "\u2026", "%.*s\u2026", (int)n, text);
    } while (n > 0 && tw_canvas_text_width(copy, size) > width);
    return copy;
}

/* ---- opening and closing ---- */

/* The next line, as much of it as there is room for. */
static tw_status put_line(tw_plot *plot, unsigned colour, const char *text)
{
    if (text) text = tw_plot_fit(text, plot->width - 2 * TW_PLOT_MARGIN, TW_PLOT_TEXT, plot->arena);
    if (!text) return TW_ERR_NOMEM;
    tw_plot_put(plot, TW_PLOT_MARGIN, plot->y + TW_PLOT_TEXT, TW_LEFT, colour, text);
    plot->y += TW_PLOT_LINE;
    return TW_OK;
}

/* "matmul on kpu: 9'650 cycles", and the caption. */
static tw_status put_title(tw_plot *plot, const char *what)
{
    const tw_plan *plan = plot->plan;
    const char *name = !plan ? "" : plot->n_ops == 1 ? plan->model->op[plot->first_op].name : plan->model->name;
    const char *text = plan ? tw_arena_printf(plot->arena, "%s on %s: %s", name, plan->machine->name, what)
                            : tw_arena_printf(plot->arena, "%s: %s", plot->subject, what);
    plot->y = TW_PLOT_MARGIN;
    TW_TRY(put_line(plot, TW_INK, text));
    if (plot->caption) TW_TRY(put_line(plot, TW_INK, plot->caption));
    plot->y += 4;
    return TW_OK;
}

tw_status tw_plot_open(tw_plot *plot, double height, const char *what)
{
    double head = (plot->caption ? 2 : 1) * TW_PLOT_LINE + 4, all = TW_PLOT_MARGIN + head + height + TW_PLOT_MARGIN;
    const tw_medium medium = {plot->options->image, plot->painter, plot->out, plot->options->dpi};
    if (all * fmax(2, tw_medium_scale(&medium, plot->mm / plot->width)) > TW_CANVAS_MAX)
        return tw_diag_error(plot->diag, (tw_loc){0},
                             "the picture would be too high; choose one operator, or fewer dots per inch");
    TW_TRY(tw_canvas_explain(tw_canvas_open_print(&plot->canvas, &medium, plot->width, (int)ceil(all), plot->mm),
                             plot->diag));
    tw_canvas_rect(&plot->canvas, 0, 0, plot->width, ceil(all), TW_PAPER);
    return put_title(plot, what);
}

tw_status tw_plot_close(tw_plot *plot) { return tw_canvas_explain(tw_canvas_close(&plot->canvas), plot->diag); }
