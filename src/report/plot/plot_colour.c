/* src/report/plot/plot_colour.c - colours and legends, see plot.h.
 *
 * Operands have the colours of Okabe and Ito, which people of any colour vision tell apart, in the order in which the
 * page gives them (web/src/style.css). What waits has a pale ground and the marks that the page gives it (web/src/theme.ts). */
#include "report/plot/plot.h"

#include <string.h>

enum { OUTPUT_HUE = 2 };

int tw_operand_hue(const tw_op *op, int operand)
{
    if (operand == tw_op_output(op)) return OUTPUT_HUE;
    return operand < OUTPUT_HUE ? operand : operand + 1;
}

unsigned tw_operand_colour(int hue)
{
    static const unsigned colour[TW_MAX_OPERANDS] = {0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7, 0x0072b2, 0xf0e442};
    return colour[hue];
}

static const unsigned tiles = 0xd3d9e0;

unsigned tw_kind_colour(int kind)
{
    static const unsigned wait[] = {0xd55e00, 0x8e4fa8, 0x9aa4b1, 0xb8336a};
    if (kind == TW_KIND_TILES) return tiles;
    if (kind > TW_KIND_TILES) return wait[kind - TW_KIND_DATA];
    unsigned colour = tw_operand_colour(kind / TW_N_FORMS);
    return kind % TW_N_FORMS == TW_FORM_SOLID ? tw_mixed(colour, 0x000000, 0.28) : colour;
}

unsigned tw_ink_on(unsigned colour)
{
    double light = 0.299 * (colour >> 16 & 255) + 0.587 * (colour >> 8 & 255) + 0.114 * (colour & 255);
    return light > 140 ? TW_INK : TW_PAPER;
}

static bool is_partial(int kind) { return kind < TW_KIND_TILES && kind % TW_N_FORMS == TW_FORM_PARTIAL; }

static tw_mark mark_of(int kind)
{
    switch (kind) {
    case TW_KIND_CREDIT: return TW_MARK_DOTS;
    case TW_KIND_ROW: return TW_MARK_BARS;
    case TW_KIND_PORT: return TW_MARK_POLES;
    default: return TW_MARK_HATCH;
    }
}

unsigned tw_kind_ground(int kind)
{
    unsigned colour = tw_kind_colour(kind);
    if (is_partial(kind)) return tw_mixed(colour, TW_PAPER, 0.6);
    return kind > TW_KIND_TILES ? tw_mixed(colour, TW_PAPER, 0.95) : colour;
}

/* Partial sums have lines on a pale ground of their colour. So has waiting, but quiet beside what works. */
void tw_plot_fill(tw_plot *plot, int kind, const tw_point *p, int n)
{
    unsigned colour = tw_kind_colour(kind);
    tw_canvas_area(&plot->canvas, p, n, tw_kind_ground(kind));
    if (is_partial(kind))
        tw_canvas_hatch(&plot->canvas, p, n, colour);
    else if (kind > TW_KIND_TILES)
        tw_canvas_mark(&plot->canvas, p, n, mark_of(kind), tw_mixed(colour, TW_PAPER, 0.66));
}

void tw_plot_fill_rect(tw_plot *plot, int kind, double x, double y, double w, double h)
{
    tw_plot_fill(plot, kind, (tw_point[]){{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, 4);
}

/* ---- legends ---- */

enum { SWATCH = 10, SPACE = 4, GAP = 12 };

static double item_width(const tw_legend_item *item)
{
    return (item->kind >= 0 ? SWATCH + SPACE : 0) + tw_canvas_text_width(item->text, TW_PLOT_TEXT);
}

/* Where item i begins, given where the one before ends; a new line where it has no room. */
static tw_point place_item(const tw_plot *plot, const tw_legend_item *item, tw_point at)
{
    if (at.x > TW_PLOT_MARGIN && at.x + item_width(item) > plot->width - TW_PLOT_MARGIN)
        return (tw_point){TW_PLOT_MARGIN, at.y + TW_PLOT_LINE};
    return at;
}

double tw_legend_height(const tw_plot *plot, const tw_legend_item *item, int n)
{
    tw_point at = {TW_PLOT_MARGIN, 0};
    for (int i = 0; i < n; i++) {
        at = place_item(plot, &item[i], at);
        at.x += item_width(&item[i]) + GAP;
    }
    return n > 0 ? at.y + TW_PLOT_LINE + 2 : 0;
}

void tw_legend_draw(tw_plot *plot, const tw_legend_item *item, int n)
{
    tw_point at = {TW_PLOT_MARGIN, plot->y};
    for (int i = 0; i < n; i++) {
        at = place_item(plot, &item[i], at);
        double text = at.x;
        if (item[i].kind >= 0) {
            tw_plot_fill_rect(plot, item[i].kind, at.x, at.y + 2, SWATCH, SWATCH - 2);
            text += SWATCH + SPACE;
        }
        tw_plot_put(plot, text, at.y + TW_PLOT_TEXT, TW_LEFT, TW_INK, item[i].text);
        at.x += item_width(&item[i]) + GAP;
    }
    plot->y = at.y + TW_PLOT_LINE + 2;
}

/* Operators may call their operands differently: "ifm/x", and dots for further names. */
static const char *operand_text(const tw_plot *plot, int kind)
{
    static const char *const word[TW_N_FORMS] = {"", " computed", " partial"};
    const char *name[2] = {"", ""};
    int n = 0;
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops && n < 3; i++) {
        const tw_op *op = &plot->plan->model->op[i];
        int operand = 0;
        while (operand < op->n_operands && tw_operand_hue(op, operand) != kind / TW_N_FORMS) operand++;
        if (operand == op->n_operands) continue;
        const char *mine = op->operand[operand].name;
        if (strcmp(mine, name[0]) == 0 || strcmp(mine, name[1]) == 0) continue;
        if (n < 2) name[n] = mine;
        n++;
    }
    return tw_arena_printf(plot->arena, "%.20s%s%.20s%s%s", name[0], n > 1 ? "/" : "", name[1],
                           n > 2 ? "/\u2026" : "", word[kind % TW_N_FORMS]);
}

int tw_legend_of_kinds(const tw_plot *plot, unsigned kinds, tw_legend_item *item)
{
    static const char *const text[] = {"tiles", "waits for data", "waits for a free buffer", "waits for the row",
                                       "waits for a port"};
    int n = 0;
    for (int k = 0; k < TW_N_KINDS; k++) {
        if (!(kinds >> k & 1)) continue;
        item[n].kind = k;
        item[n].text = k < TW_KIND_TILES ? operand_text(plot, k) : text[k - TW_KIND_TILES];
        n += item[n].text != NULL;
    }
    return n;
}
