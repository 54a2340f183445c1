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

/* Parts of one segment, which several cores run, count as one. */
static int segment_at(const tw_joint *program, int group)
{
    int n = 0;
    for (int g = 1; g <= group; g++) {
        const tw_group_map *a = program->nest[g - 1].map, *b = program->nest[g].map;
        n += a->n_parts == 0 || b->n_parts == 0 || a->op[0].op != b->op[0].op;
    }
    return n;
}

static int n_segments(const tw_joint *program) { return segment_at(program, program->n_nests - 1) + 1; }

int tw_group_hue(const tw_plan *plan, const tw_instr *instr)
{
    const tw_joint *program = plan->joint->program;
    return (program->n_nests > 1 ? segment_at(program, instr->group) : instr->which) % TW_PLOT_HUES;
}

unsigned tw_operand_colour(int hue)
{
    static const unsigned colour[TW_PLOT_HUES] = {0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7,
                                                  0x0072b2, 0xf0e442, 0x8a8f98};
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

/* Operators may call their operands differently: "ifm/x"; where there are more names, what they are. */
static const char *operand_text(const tw_plot *plot, int kind)
{
    static const char *const word[TW_N_FORMS] = {"", " computed", " partial"};
    static const char *const role[] = {"first input", "second input", "output", "third input", "fourth input"};
    const char *name[2] = {"", ""};
    int n = 0, hue = kind / TW_N_FORMS;
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops && n < 3; i++) {
        const tw_op *op = &plot->plan->model->op[i];
        int operand = 0;
        while (operand < op->n_operands && tw_operand_hue(op, operand) != hue) operand++;
        if (operand == op->n_operands) continue;
        const char *mine = op->operand[operand].name;
        if (strcmp(mine, name[0]) == 0 || strcmp(mine, name[1]) == 0) continue;
        if (n < 2) name[n] = mine;
        n++;
    }
    if (n > 2)
        return tw_arena_printf(plot->arena, "%s%s", hue < (int)TW_COUNT(role) ? role[hue] : "fifth input",
                               word[kind % TW_N_FORMS]);
    return tw_arena_printf(plot->arena, "%.20s%s%.20s%s", name[0], n > 1 ? "/" : "", name[1],
                           word[kind % TW_N_FORMS]);
}

/* The group or, of a single one, the operator of a hue: the first that has it, and dots for more. */
static const char *group_name(const tw_plot *plot, int hue)
{
    const tw_joint *program = plot->plan->joint->program;
    const tw_nest *nest = &program->nest[0];
    int n = program->n_nests > 1 ? n_segments(program) : nest->n_ops, first = 0;
    while (program->n_nests > 1 && segment_at(program, first) < hue) first++;
    const tw_nest *of = &program->nest[first];
    const char *name = program->n_nests == 1  ? nest->op[hue].op->name
                       : of->map->n_parts > 0 ? of->op[of->n_ops - 1].op->name /* of all parts */
                                              : of->map->name;
    return tw_arena_printf(plot->arena, "%.24s%s", name, hue + TW_PLOT_HUES < n ? ", \u2026" : "");
}

static const char *group_text(const tw_plot *plot, int kind)
{
    const char *name = group_name(plot, kind / TW_N_FORMS);
    if (!name) return NULL;
    switch (kind % TW_N_FORMS) {
    case TW_FORM_SOLID: return tw_arena_printf(plot->arena, "%s computed", name);
    case TW_FORM_PARTIAL: return tw_arena_printf(plot->arena, "partial sums of %s", name);
    default: return tw_arena_printf(plot->arena, "moved for %s", name);
    }
}

typedef const char *(*kind_text)(const tw_plot *plot, int kind);

static int list_kinds(const tw_plot *plot, unsigned kinds, kind_text name, tw_legend_item *item)
{
    static const char *const text[] = {"tiles", "waits for data", "waits for a free buffer", "waits for the row",
                                       "waits for a port"};
    int n = 0;
    for (int k = 0; k < TW_N_KINDS; k++) {
        if (!(kinds >> k & 1)) continue;
        item[n].kind = k;
        item[n].text = k < TW_KIND_TILES ? name(plot, k) : text[k - TW_KIND_TILES];
        n += item[n].text != NULL;
    }
    return n;
}

int tw_legend_of_kinds(const tw_plot *plot, unsigned kinds, tw_legend_item *item)
{
    return list_kinds(plot, kinds, operand_text, item);
}

/* More groups than colours: only that is told, and the waits. */
static unsigned without_names(unsigned kinds)
{
    const unsigned hues = (1u << TW_KIND_TILES) - 1;
    unsigned some = 0;
    for (int hue = 0; hue < TW_PLOT_HUES; hue++)
        for (int form = 0; form < TW_N_FORMS; form++)
            if (kinds >> tw_kind_of(hue, (tw_form)form) & 1) some |= 1u << form;
    return (kinds & ~hues) | some;
}
static const char *any_group_text(const tw_plot *plot, int kind)
{
    static const char *const word[TW_N_FORMS] = {"moved, a colour per group in turn", "computed, the same darker",
                                                 "partial sums"};
    (void)plot;
    return word[kind % TW_N_FORMS];
}

int tw_legend_of_groups(const tw_plot *plot, unsigned kinds, tw_legend_item *item)
{
    const tw_joint *program = plot->plan->joint->program;
    if (program->n_nests > 1 && n_segments(program) > TW_PLOT_HUES)
        return list_kinds(plot, without_names(kinds), any_group_text, item);
    return list_kinds(plot, kinds, group_text, item);
}
