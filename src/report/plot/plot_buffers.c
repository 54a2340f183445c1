/* src/report/plot/plot_buffers.c - what lies where: a panel per memory, time to the right, addresses upwards; see plot.h.
 *
 * A buffer is a strip (plot_strip.h): residencies with their tile, hatched until they have arrived. Where an operator has
 * very many buffers in a memory, those behind each other are one strip, filled as far as they are.
 *
 * A plan of groups has the memories of all cores, of many the first ones; buffers that share addresses are drawn where they are, each as long as it lives. */
#include "plan/links.h"
#include "report/facts/hardware.h"
#include "report/plot/plot_strip.h"
#include "report/trace/trace.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PANEL = 62,
    PANEL_GAP = 6,
    HEAD = TW_PLOT_LINE + 6,
    MOST_STRIPS = 80 /* of an operator in a memory */,
    MOST_OF_GROUPS = 1000,
    MOST_PANELS = 16
};

typedef struct held { /* what lies in a buffer now */
    bool full;
    int64_t since, arrived;
    int op, operand;
    int64_t index[TW_MAX_LOOPS]; /* of its tile */
} held;

typedef struct slot { /* what is drawn as one strip */
    int strip, memory;
    int64_t offset, size;
    tw_span when;
} slot;

typedef struct buffers {
    tw_plot *plot;
    tw_strips strips;
    int n_slots;
    slot *slot;
    int *slot_of; /* per buffer of the operator at hand, -1: in no panel */
    held *held;
    bool shown;     /* the operator at hand */
    tw_instr instr; /* of an event that is made up for its label */
    int n_more;     /* memories that have no panel */
} buffers;

/* ---- strips ---- */

/* The buffers of an operator, or of all groups. */
typedef struct shelf {
    int n;
    const tw_buffer *buffer;
    const int64_t *used; /* per memory */
} shelf;

static shelf shelf_of(const tw_plan *plan, int op)
{
    shelf s = {0};
    s.buffer = tw_hardware_buffers(plan, op, &s.n);
    s.used = plan->joint ? plan->joint->program->used : plan->op[op].program.layout.used;
    return s;
}

static int count_in(const shelf *s, int memory)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) n += s->buffer[i].memory == memory;
    return n;
}

/* While the buffer can hold something: of groups, from its first use to its last. */
static tw_span life_of(const buffers *b, const tw_buffer *buffer, tw_span all)
{
    const tw_plan *plan = b->plot->plan;
    if (!plan->joint) return all;
    tw_span life = plan->joint->timeline.life[buffer->pool];
    return life.lo < life.hi ? life : (tw_span){0, 0};
}

static tw_status add_slot(buffers *b, slot s, bool sum)
{
    TW_TRY(sum ? tw_strips_add_sum(&b->strips, s.when, &s.strip) : tw_strips_add(&b->strips, &s.strip));
    b->slot[b->n_slots++] = s;
    return TW_OK;
}

static tw_status add_buffers(buffers *b, const shelf *all, int memory, tw_span when)
{
    for (int i = 0; i < all->n; i++) {
        const tw_buffer *buffer = &all->buffer[i];
        if (buffer->memory != memory) continue;
        b->slot_of[i] = b->n_slots;
        TW_TRY(add_slot(
            b,
            (slot){
                .memory = memory, .offset = buffer->offset, .size = buffer->size, .when = life_of(b, buffer, when)},
            false));
    }
    return TW_OK;
}

/* Equal parts of the addresses; a buffer belongs to the one that it begins in. */
static tw_status add_parts(buffers *b, const shelf *all, int memory, tw_span when)
{
    int first = b->n_slots;
    int64_t size = tw_cdiv(tw_max(1, all->used[memory]), MOST_STRIPS);
    for (int i = 0; i < MOST_STRIPS; i++)
        TW_TRY(add_slot(b, (slot){.memory = memory, .offset = i * size, .size = size, .when = when}, true));
    for (int i = 0; i < all->n; i++) {
        const tw_buffer *buffer = &all->buffer[i];
        if (buffer->memory != memory) continue;
        b->slot_of[i] = first + (int)tw_clamp(buffer->offset / size, 0, MOST_STRIPS - 1);
        b->strips.strip[b->slot[b->slot_of[i]].strip].weight += (double)buffer->size;
    }
    return TW_OK;
}

/* Of groups most buffers are short-lived. */
static int most_strips(const tw_plan *plan) { return plan->joint ? MOST_OF_GROUPS : MOST_STRIPS; }

static tw_status begin_op(void *user, int op, int64_t start)
{
    buffers *b = user;
    const tw_plot *plot = b->plot;
    const shelf all = shelf_of(plot->plan, op);
    tw_span when = {start, start + (plot->plan->joint ? plot->plan->sum : plot->plan->op[op].timeline.sum).cycles};
    b->shown = when.lo < plot->shown.hi && when.hi > plot->shown.lo;
    if (!b->shown) return TW_OK;
    TW_ALLOC(plot->arena, b->slot_of, all.n + 1);
    TW_ALLOC(plot->arena, b->held, all.n + 1);
    for (int m = 1; m < tw_hardware_n_memories(plot->plan); m++)
        TW_TRY(count_in(&all, m) > most_strips(plot->plan) ? add_parts(b, &all, m, when)
                                                           : add_buffers(b, &all, m, when));
    return TW_OK;
}

/* ---- residencies ---- */

static const char *label_of(buffers *b, const held *h, int op, char *text)
{
    const tw_plan *plan = b->plot->plan;
    tw_trace_event event = {.op = op, .instr = &b->instr};
    if (plan->joint) {
        snprintf(text, TW_TRACE_TEXT, "%.100s",
                 plan->model->tensor[plan->model->op[op].operand[h->operand].tensor].name);
        return text;
    }
    b->instr.operand = (int16_t)h->operand;
    memcpy(event.index, h->index, sizeof event.index);
    return tw_trace_label(b->plot->plan, &event, text);
}

/* Both parts of it: reserved, and there. */
static tw_status put(buffers *b, int buffer, int op, int64_t end)
{
    char text[TW_TRACE_TEXT];
    held *h = &b->held[buffer];
    const slot *s = &b->slot[b->slot_of[buffer]];
    double weight = (double)shelf_of(b->plot->plan, op).buffer[buffer].size;
    int64_t arrived = tw_min(h->arrived, end);
    int hue = tw_operand_hue(&b->plot->plan->model->op[h->op], h->operand);
    tw_strip_part coming = {tw_kind_of(hue, TW_FORM_PARTIAL), 1}, there = {tw_kind_of(hue, TW_FORM_MOVED), 1};
    h->full = false;
    TW_TRY(tw_strips_put(&b->strips, s->strip,
                         &(tw_strip_piece){(tw_span){h->since, arrived}, &coming, 1, weight, NULL}));
    const char *label =
        tw_strips_shows_label(&b->strips, (tw_span){arrived, end}) ? label_of(b, h, h->op, text) : NULL;
    return tw_strips_put(&b->strips, s->strip,
                         &(tw_strip_piece){(tw_span){arrived, end}, &there, 1, weight, label});
}

/* What the buffer holds: of groups an execution says it by the operator's output. */
static int operand_of(const buffers *b, const tw_trace_event *event)
{
    if (!b->plot->plan->joint || event->instr->op != TW_EXEC) return event->instr->operand;
    return tw_op_output(&b->plot->plan->model->op[event->op]);
}

static tw_status take_event(void *user, const tw_trace_event *event)
{
    buffers *b = user;
    if (!b->shown) return TW_OK;
    int32_t dst = event->instr->dst;
    if (event->opens) {
        if (b->held[dst].full) TW_TRY(put(b, dst, event->op, event->start));
        b->held[dst] = (held){.full = true,
                              .since = event->start,
                              .arrived = event->end,
                              .op = event->op,
                              .operand = operand_of(b, event)};
        memcpy(b->held[dst].index, event->index, sizeof event->index);
    }
    for (int i = 0; i < event->n_closed; i++)
        if (b->held[event->closed_buffer[i]].full)
            TW_TRY(put(b, event->closed_buffer[i], event->op, event->busy_end));
    return TW_OK;
}

static tw_status end_op(void *user, int op, int64_t end)
{
    buffers *b = user;
    for (int i = 0; b->shown && i < shelf_of(b->plot->plan, op).n; i++)
        if (b->held[i].full) TW_TRY(put(b, i, op, end));
    return TW_OK;
}

/* ---- panels ---- */

typedef struct panel {
    int memory;
    int64_t used, capacity;
    tw_scale y;
} panel;

/* A capacity far above all that is used would leave little of that to be seen. */
static bool shows_capacity(const panel *p) { return p->capacity != TW_UNLIMITED && p->capacity / 2 <= p->used; }

static void set_scale(panel *p, double top)
{
    double most = (double)(shows_capacity(p) ? tw_max(p->capacity, p->used) : p->used);
    p->y = (tw_scale){.lo = 0, .hi = most * 1.04, .from = top + PANEL, .to = top};
}

static void draw_slot(const buffers *b, const slot *s, const panel *p, const tw_scale *x)
{
    tw_plot *plot = b->plot;
    tw_span when = tw_span_clip(s->when, b->strips.shown.lo, b->strips.shown.hi);
    double left = tw_scale_at(x, (double)when.lo), right = tw_scale_at(x, (double)when.hi);
    double lower = tw_scale_at(&p->y, (double)s->offset), upper = tw_scale_at(&p->y, (double)(s->offset + s->size));
    tw_canvas_rect(&plot->canvas, left, upper, right - left, lower - upper, TW_BACK);
    tw_strip_draw(&b->strips, s->strip, plot, x, upper, lower - upper);
    if (lower - upper > 3)
        tw_canvas_line(&plot->canvas, (tw_point[]){{left, upper}, {right, upper}}, 2, 0.5, 0, TW_PAPER);
}

static void draw_head(const buffers *b, const panel *p, double y)
{
    tw_plot *plot = b->plot;
    char text[200];
    const tw_machine *machine = plot->plan->machine;
    const char *unit = tw_unit_plural(machine->unit), *name = tw_hardware_memory_name(plot->plan, p->memory);
    if (p->capacity == TW_UNLIMITED)
        snprintf(text, sizeof text, "%.40s: %s %s", name, TW_GROUPED(p->used), unit);
    else
        snprintf(text, sizeof text, "%.40s: %s of %s %s", name, TW_GROUPED(p->used), TW_GROUPED(p->capacity), unit);
    tw_plot_put(plot, TW_PLOT_MARGIN, y + TW_PLOT_TEXT, TW_LEFT, TW_INK, text);
    double room = plot->width - 2 * TW_PLOT_MARGIN - tw_canvas_text_width(text, TW_PLOT_TEXT) - 8;
    snprintf(text, sizeof text, "address, %s", unit);
    if (tw_canvas_text_width(text, TW_PLOT_TEXT) > room) snprintf(text, sizeof text, "%s", unit);
    if (tw_canvas_text_width(text, TW_PLOT_TEXT) > room) return; /* the head names the unit, too */
    tw_plot_put(plot, plot->width - TW_PLOT_MARGIN, y + TW_PLOT_TEXT, TW_RIGHT, TW_FAINT, text);
}

static void draw_panel(const buffers *b, panel *p, const tw_plot_frame *f, const tw_scale *x)
{
    tw_canvas *c = &b->plot->canvas;
    set_scale(p, f->top);
    for (int i = 0; i < b->n_slots; i++)
        if (b->slot[i].memory == p->memory) draw_slot(b, &b->slot[i], p, x);
    tw_axis_y(b->plot, f, &p->y, false);
    if (!shows_capacity(p)) return;
    double y = tw_scale_at(&p->y, (double)p->capacity);
    tw_canvas_line(c, (tw_point[]){{f->left, y}, {f->left + f->width, y}}, 2, 1, 4, 0xb3261e);
}

static double axis_width(panel *p, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        set_scale(&p[i], 0);
        most = fmax(most, tw_axis_y_width(&p[i].y));
    }
    return ceil(most) + TW_PLOT_MARGIN;
}

static int list_legend(const buffers *b, tw_legend_item *item)
{
    unsigned kinds = 0, all = tw_strips_kinds(&b->strips);
    for (int o = 0; o < TW_PLOT_HUES; o++) {
        unsigned mine = 1u << tw_kind_of(o, TW_FORM_MOVED);
        if (all & (mine | 1u << tw_kind_of(o, TW_FORM_PARTIAL))) kinds |= mine;
    }
    int n = tw_legend_of_kinds(b->plot, kinds, item);
    item[n++] = (tw_legend_item){-1, "hatched: reserved, not yet there"};
    if (b->n_more > 0)
        item[n++] = (tw_legend_item){-1, tw_arena_printf(b->plot->arena, "%d more memories", b->n_more)};
    return n;
}

static tw_status draw(buffers *b, panel *p, int n_panels, double left)
{
    tw_plot *plot = b->plot;
    tw_legend_item item[TW_N_KINDS + 2];
    int n_items = list_legend(b, item);
    if (!item[n_items - 1].text) return TW_ERR_NOMEM;
    char what[TW_PLOT_WINDOW];
    tw_plot_window(plot, what);
    double height = n_panels * (HEAD + PANEL + PANEL_GAP) + TW_AXIS_X_HEIGHT;
    TW_TRY(tw_plot_open(plot, height + tw_legend_height(plot, item, n_items), what));
    tw_plot_frame f = {left, 0, plot->width - TW_PLOT_MARGIN - left, PANEL};
    tw_scale x = {(double)b->strips.shown.lo, (double)b->strips.shown.hi, f.left, f.left + f.width, false};
    for (int i = 0; i < n_panels; i++) {
        draw_head(b, &p[i], plot->y);
        f.top = plot->y + HEAD;
        draw_panel(b, &p[i], &f, &x);
        plot->y = f.top + PANEL + PANEL_GAP;
    }
    x.lo -= (double)plot->origin;
    x.hi -= (double)plot->origin;
    tw_axis_x(plot, &f, &x, false, "cycles");
    plot->y += TW_AXIS_X_HEIGHT - PANEL_GAP + 4;
    tw_legend_draw(plot, item, n_items);
    return tw_plot_close(plot);
}

/* Of each operator that is shown: strips at most. */
static int64_t count_slots(const tw_plot *plot)
{
    int64_t n = 0;
    if (plot->plan->joint) {
        const tw_joint *program = plot->plan->joint->program;
        return program->n_buffers + (int64_t)program->platform->n_memories * MOST_STRIPS;
    }
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops; i++)
        n += plot->plan->op[i].program.layout.n_buffers + TW_MAX_MEMORIES * MOST_STRIPS;
    return n;
}

/* Memories that something is put into by an operator that is shown; their heights are known before the walk. *more: of how many others there is no panel. */
static int list_panels(const tw_plot *plot, panel *out, int *more)
{
    int n = 0;
    *more = 0;
    int n_shown = plot->plan->joint ? 1 : plot->n_ops;
    for (int m = 1; m < tw_hardware_n_memories(plot->plan); m++) {
        panel p = {.memory = m, .capacity = tw_hardware_memory(plot->plan, m)->size};
        for (int i = plot->first_op; i < plot->first_op + n_shown; i++)
            p.used = tw_max(p.used, shelf_of(plot->plan, i).used[m]);
        *more += p.used > 0 && n == MOST_PANELS;
        if (p.used > 0 && n < MOST_PANELS) out[n++] = p;
    }
    return n;
}

tw_status tw_plot_buffers(tw_plot *plot)
{
    buffers *b;
    panel p[MOST_PANELS];
    bool complete;
    int more, n = list_panels(plot, p, &more);
    double left = axis_width(p, n);
    TW_ALLOC(plot->arena, b, 1);
    b->plot = plot;
    b->n_more = more;
    TW_ALLOC(plot->arena, b->slot, count_slots(plot));
    TW_TRY(tw_strips_init(&b->strips, plot->shown, plot->width - TW_PLOT_MARGIN - left, plot->arena));
    tw_trace_sink sink = {NULL, begin_op, take_event, end_op, b};
    TW_TRY(tw_trace_walk(plot->plan, 0, &sink, plot->scratch, plot->diag, &complete));
    TW_TRY(tw_strips_end(&b->strips));
    return draw(b, p, n, left);
}
