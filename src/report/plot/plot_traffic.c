/* src/report/plot/plot_traffic.c - what crosses each link: a bar per operand, first what must cross, then what crosses again;
 * see plot.h. All bars of a picture have the same scale. */
#include "plan/links.h"
#include "report/plot/plot.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROW = 13, BAR = 9, GAP = 5, NAME_MAX = 70 };

typedef struct traffic {
    tw_plot *plot;
    double most;        /* units of the longest bar */
    double left, right; /* of the bars, at most */
    int n_rows, n_groups;
} traffic;

static const tw_op_plan *op_of(const traffic *t, int op) { return &t->plot->plan->op[op]; }

static const tw_link_use *use_of(const traffic *t, int op, int memory, int operand)
{
    const tw_link_use *use = &op_of(t, op)->link[memory][operand];
    return use->inner && use->units > 0 ? use : NULL;
}

/* "65'536  4.0x" */
static void label_of(const tw_link_use *use, char text[2 * TW_GROUPED_MAX])
{
    char ratio[TW_GROUPED_MAX];
    tw_rate(use->units, use->least_units, ratio);
    if (use->units == use->least_units || use->least_units <= 0)
        snprintf(text, 2 * TW_GROUPED_MAX, "%s", TW_GROUPED(use->units));
    else
        snprintf(text, 2 * TW_GROUPED_MAX, "%s, %s\u00d7", TW_GROUPED(use->units), ratio);
}

/* ---- measuring ---- */

static bool is_shown(const traffic *t, int op, int memory)
{
    for (int o = 0; o < t->plot->plan->model->op[op].n_operands; o++)
        if (use_of(t, op, memory, o)) return true;
    return false;
}

static void measure_link(traffic *t, int op, int memory)
{
    const tw_op *described = &t->plot->plan->model->op[op];
    char text[2 * TW_GROUPED_MAX];
    t->n_groups += is_shown(t, op, memory);
    for (int o = 0; o < described->n_operands; o++) {
        const tw_link_use *use = use_of(t, op, memory, o);
        if (!use) continue;
        label_of(use, text);
        t->n_rows++;
        t->most = fmax(t->most, (double)use->units);
        t->left = fmax(t->left, fmin(NAME_MAX, tw_canvas_text_width(described->operand[o].name, TW_PLOT_TEXT)));
        t->right = fmax(t->right, tw_canvas_text_width(text, TW_PLOT_TEXT));
    }
}

static void measure(traffic *t)
{
    const tw_plot *plot = t->plot;
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops; i++)
        for (int m = 1; m < plot->plan->machine->n_memories; m++) measure_link(t, i, m);
    t->left = ceil(t->left) + TW_PLOT_MARGIN + 6;
    t->right = fmax(t->left + 20, plot->width - TW_PLOT_MARGIN - ceil(t->right) - 4);
}

/* ---- drawing ---- */

static tw_status draw_bar(traffic *t, int op, int operand, const tw_link_use *use)
{
    tw_plot *plot = t->plot;
    char text[2 * TW_GROUPED_MAX];
    double width = (double)use->units / t->most * (t->right - t->left), y = plot->y;
    double must = width * fmin(1, (double)use->least_units / (double)use->units);
    const char *name =
        tw_plot_fit(plot->plan->model->op[op].operand[operand].name, NAME_MAX, TW_PLOT_TEXT, plot->arena);
    if (!name) return TW_ERR_NOMEM;
    int hue = tw_operand_hue(&plot->plan->model->op[op], operand);
    tw_plot_put(plot, t->left - 4, y + BAR - 1, TW_RIGHT, TW_INK, name);
    tw_plot_fill_rect(plot, tw_kind_of(hue, TW_FORM_MOVED), t->left, y, must, BAR);
    if (width > must)
        tw_plot_fill_rect(plot, tw_kind_of(hue, TW_FORM_PARTIAL), t->left + must, y, width - must, BAR);
    label_of(use, text);
    tw_plot_put(plot, t->left + width + 4, y + BAR - 1, TW_LEFT, TW_FAINT, text);
    plot->y += ROW;
    return TW_OK;
}

/* "dram <-> l3", of several operators behind the name of its own. */
static const char *head_of(const traffic *t, int op, const tw_link_use *use)
{
    const tw_plot *plot = t->plot;
    bool several = plot->n_ops > 1;
    const char *text =
        tw_arena_printf(plot->arena, "%s%s%s \u2194 %s", several ? plot->plan->model->op[op].name : "",
                        several ? ": " : "", use->outer, use->inner);
    return text ? tw_plot_fit(text, plot->width - 2 * TW_PLOT_MARGIN, TW_PLOT_TEXT, plot->arena) : NULL;
}

static tw_status draw_link(traffic *t, int op, int memory)
{
    tw_plot *plot = t->plot;
    const char *text = NULL;
    if (!is_shown(t, op, memory)) return TW_OK;
    for (int o = 0; o < plot->plan->model->op[op].n_operands && !text; o++) {
        const tw_link_use *use = use_of(t, op, memory, o);
        if (use) text = head_of(t, op, use);
    }
    if (!text) return TW_ERR_NOMEM;
    plot->y += GAP;
    tw_plot_put(plot, TW_PLOT_MARGIN, plot->y + BAR - 1, TW_LEFT, TW_FAINT, text);
    plot->y += ROW;
    for (int o = 0; o < plot->plan->model->op[op].n_operands; o++) {
        const tw_link_use *use = use_of(t, op, memory, o);
        if (use) TW_TRY(draw_bar(t, op, o, use));
    }
    return TW_OK;
}

/* Filled: must cross; hatched: crosses again. In the colours of the first operand, which stand for all. */
static int list_legend(tw_legend_item item[2])
{
    item[0] = (tw_legend_item){tw_kind_of(0, TW_FORM_MOVED), "must cross"};
    item[1] = (tw_legend_item){tw_kind_of(0, TW_FORM_PARTIAL), "crosses again"};
    return 2;
}

tw_status tw_plot_traffic(tw_plot *plot)
{
    traffic t = {.plot = plot};
    tw_legend_item item[2];
    int n = list_legend(item);
    char what[60];
    measure(&t);
    if (t.n_rows == 0) return tw_diag_error(plot->diag, (tw_loc){0}, "no traffic: nothing is moved");
    snprintf(what, sizeof what, "%s moved", tw_unit_plural(plot->plan->machine->unit));
    double rows = t.n_rows * ROW + t.n_groups * (ROW + GAP);
    TW_TRY(tw_plot_open(plot, rows + 6 + tw_legend_height(plot, item, n), what));
    plot->y -= GAP;
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops; i++)
        for (int m = 1; m < plot->plan->machine->n_memories; m++) TW_TRY(draw_link(&t, i, m));
    plot->y += 6 + GAP;
    tw_legend_draw(plot, item, n);
    return tw_plot_close(plot);
}
