/* src/report/plot/plot_gantt.c - the engines over time, a row per track; see plot.h and plot_strip.h.
 *
 * Engines of many units have one row, and rows beyond the last that has room are one together: shares in columns. Engines of groups
 * that do nothing have none. What several operands do in one command is drawn on each other, by what is moved of each. */
#include "report/facts/hardware.h"
#include "report/facts/jointfacts.h"
#include "report/plot/plot_strip.h"
#include "report/trace/trace.h"
#include "write/grow.h"
#include "write/number.h"

#include <stdio.h>
#include <string.h>

enum { MOST_UNITS = 4, MOST_ROWS = 40, ROW = 15, BAR = 12, NAME_MAX = 84, SHARE_WIDTH = 35, NAMED = 30 };

typedef struct row {
    tw_track track;
    int n_tracks;
    int strip;
    double busy; /* cycles of all its tracks */
    bool used;   /* it does something, shown or not */
} row;

typedef struct command { /* instructions that are one command */
    int row;
    tw_span when;
    int n_parts;
    tw_strip_part part[TW_MAX_OPERANDS];
    double all;
    char label[TW_TRACE_TEXT];
} command;

typedef struct gantt {
    tw_plot *plot;
    tw_strips strips;
    bool has_waits; /* otherwise a track stands still until the row is over */
    int n_rows;
    row row[MOST_ROWS];
    int n_idle; /* tracks without a row: their engines do nothing */
    int64_t n_tracks, track_room;
    int *row_of; /* per track */
    command now;
} gantt;

/* ---- rows ---- */

static bool is_shared(const gantt *g, const tw_track *track)
{
    return track->engine >= 0 && tw_hardware_engine(g->plot->plan, track->engine)->count > MOST_UNITS;
}

/* The row of an engine of many units, or the last row; -1: a new one. */
static int find_row(const gantt *g, const tw_track *track)
{
    for (int r = 0; r < g->n_rows && is_shared(g, track); r++)
        if (g->row[r].track.engine == track->engine) return r;
    return g->n_rows == MOST_ROWS ? MOST_ROWS - 1 : -1;
}

static tw_status add_row(gantt *g, const tw_track *track)
{
    row *r = &g->row[g->n_rows++];
    *r = (row){.track = *track};
    return is_shared(g, track) || g->n_rows == MOST_ROWS ? tw_strips_add_sum(&g->strips, g->strips.shown, &r->strip)
                                                         : tw_strips_add(&g->strips, &r->strip);
}

static tw_status take_track(void *user, int number, const tw_track *track)
{
    gantt *g = user;
    const tw_plan *plan = g->plot->plan;
    g->row_of = tw_grow(g->strips.arena, g->row_of, number, &g->track_room, sizeof *g->row_of);
    if (!g->row_of) return TW_ERR_NOMEM;
    g->row_of[number] = -1;
    if (plan->joint && track->engine >= 0 && tw_joint_does_nothing(plan, track->engine)) {
        g->n_idle++;
        return TW_OK;
    }
    int r = find_row(g, track);
    if (r < 0) {
        r = g->n_rows;
        TW_TRY(add_row(g, track));
    }
    g->row_of[number] = r;
    g->row[r].n_tracks++;
    g->strips.strip[g->row[r].strip].weight++;
    return TW_OK;
}

/* ---- events ---- */

static int kind_of(const gantt *g, const tw_trace_event *event)
{
    const tw_instr *in = event->instr;
    if (g->row[g->row_of[event->track]].track.engine < 0) return TW_KIND_TILES;
    const tw_plan *plan = g->plot->plan;
    int hue = plan->joint ? tw_group_hue(plan, in) : tw_operand_hue(&plan->model->op[event->op], in->operand);
    if (in->op > TW_STORE) return tw_kind_of(hue, TW_FORM_SOLID);
    return tw_kind_of(hue, in->partial ? TW_FORM_PARTIAL : TW_FORM_MOVED);
}

static tw_status put_command(gantt *g)
{
    command *c = &g->now;
    if (c->n_parts == 0) return TW_OK;
    for (int i = 0; i < c->n_parts; i++)
        c->part[i].share = c->all > 0 ? c->part[i].share / c->all : 1.0 / c->n_parts;
    row *r = &g->row[c->row];
    r->busy += (double)tw_span_len(tw_span_clip(c->when, g->strips.shown.lo, g->strips.shown.hi));
    tw_status status =
        tw_strips_put(&g->strips, r->strip, &(tw_strip_piece){c->when, c->part, c->n_parts, 1, c->label});
    c->n_parts = 0;
    return status;
}

static tw_status put_gap(gantt *g, const tw_trace_event *event, const row *r)
{
    static const int kind[] = {[TW_WAIT_NONE] = -1,
                               [TW_WAIT_ENGINE] = -1,
                               [TW_WAIT_DATA] = TW_KIND_DATA,
                               [TW_WAIT_CREDIT] = TW_KIND_CREDIT,
                               [TW_WAIT_PORT] = TW_KIND_PORT};
    tw_strip_part part = {g->has_waits ? kind[event->wait] : TW_KIND_ROW, 1};
    if (event->gap <= 0 || part.kind < 0) return TW_OK;
    return tw_strips_put(&g->strips, r->strip,
                         &(tw_strip_piece){(tw_span){event->start - event->gap, event->start}, &part, 1, 1, NULL});
}

static tw_status take_event(void *user, const tw_trace_event *event)
{
    gantt *g = user;
    command *c = &g->now;
    tw_span when = {event->start, event->busy_end};
    if (!event->joins) {
        TW_TRY(put_command(g));
        *c = (command){.row = g->row_of[event->track], .when = when};
        g->row[c->row].used = true;
        TW_TRY(put_gap(g, event, &g->row[c->row]));
        if (tw_strips_shows_label(&g->strips, when)) tw_trace_label(g->plot->plan, event, c->label);
    }
    if (c->n_parts == TW_MAX_OPERANDS) return TW_OK;
    c->part[c->n_parts++] = (tw_strip_part){kind_of(g, event), (double)event->instr->work};
    c->all += (double)event->instr->work;
    return TW_OK;
}

static tw_status end_op(void *user, int op, int64_t end)
{
    (void)op, (void)end;
    return put_command(user);
}

/* ---- drawing ---- */

/* Tiles of levels first, then the engines in the order of the machine. */
static int rank(const tw_track *t)
{
    return (t->engine < 0 ? t->level : TW_MAX_MEMORIES + t->engine) * 2 * TW_MAX_UNITS + t->unit + t->lane;
}

/* Those that do something; returns how many. */
static int sort_rows(gantt *g, int order[MOST_ROWS])
{
    int n = 0;
    for (int i = 0; i < g->n_rows; i++) {
        if (!g->row[i].used) continue;
        int at = n++;
        for (; at > 0 && rank(&g->row[order[at - 1]].track) > rank(&g->row[i].track); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

static const char *idle_text(const gantt *g, int n_idle)
{
    return tw_arena_printf(g->plot->arena, "%d engine%s without work", n_idle, n_idle == 1 ? "" : "s");
}

static const char *name_of(const gantt *g, const row *r)
{
    char text[TW_TRACE_TEXT];
    tw_arena *arena = g->strips.arena;
    tw_track_name(g->plot->plan, &r->track, text);
    if (r->n_tracks == 1) return tw_plot_fit(text, NAME_MAX, TW_PLOT_TEXT, arena);
    if (!is_shared(g, &r->track)) return tw_arena_printf(arena, "%d others", r->n_tracks);
    const char *engine = tw_hardware_engine_name(g->plot->plan, r->track.engine);
    engine = tw_arena_printf(arena, "%s \u00d7%d", engine, r->n_tracks);
    return engine ? tw_plot_fit(engine, NAME_MAX, TW_PLOT_TEXT, arena) : NULL;
}

static void draw_row(gantt *g, const row *r, const char *name, const tw_plot_frame *f, const tw_scale *x, double y)
{
    tw_plot *plot = g->plot;
    char share[TW_GROUPED_MAX];
    double base = y + BAR / 2.0 + TW_PLOT_TEXT * 0.36;
    int64_t cycles = g->strips.shown.hi - g->strips.shown.lo;
    tw_canvas_rect(&plot->canvas, f->left, y, f->width, BAR, TW_BACK);
    tw_strip_draw(&g->strips, r->strip, plot, x, y, BAR);
    tw_plot_put(plot, f->left - 4, base, TW_RIGHT, TW_INK, name);
    tw_percent((int64_t)(r->busy / r->n_tracks), cycles, share);
    tw_plot_put(plot, plot->width - 2, base, TW_RIGHT, TW_FAINT, share);
}

/* Of several operators: where one ends and the next begins, and the names of those that are wide enough. */
static tw_status draw_borders(gantt *g, const tw_plot_frame *f, const tw_scale *x)
{
    tw_plot *plot = g->plot;
    int64_t at = plot->origin;
    for (int i = plot->first_op; i < plot->first_op + plot->n_ops; i++) {
        tw_span when =
            tw_span_clip((tw_span){at, at + plot->plan->op[i].timeline.sum.cycles}, plot->shown.lo, plot->shown.hi);
        double from = tw_scale_at(x, (double)when.lo), to = tw_scale_at(x, (double)when.hi);
        at += plot->plan->op[i].timeline.sum.cycles;
        if (tw_span_len(when) == 0) continue;
        if (when.lo > plot->shown.lo)
            tw_canvas_line(&plot->canvas, (tw_point[]){{from, f->top - 2}, {from, f->top + f->height}}, 2, 0.75, 2,
                           TW_INK);
        const char *name = tw_plot_fit(plot->plan->model->op[i].name, to - from - 4, TW_PLOT_TEXT, plot->arena);
        if (!name) return TW_ERR_NOMEM;
        if (to - from > NAMED) tw_plot_put(plot, (from + to) / 2, f->top - 4, TW_MIDDLE, TW_FAINT, name);
    }
    return TW_OK;
}

static tw_status draw(gantt *g, double left)
{
    tw_plot *plot = g->plot;
    int order[MOST_ROWS];
    const char *name[MOST_ROWS];
    tw_legend_item item[TW_N_KINDS + 1];
    unsigned kinds = tw_strips_kinds(&g->strips);
    int n_items =
        plot->plan->joint ? tw_legend_of_groups(plot, kinds, item) : tw_legend_of_kinds(plot, kinds, item);
    for (int r = 0; r < g->n_rows; r++)
        if (!(name[r] = name_of(g, &g->row[r]))) return TW_ERR_NOMEM;
    int n_rows = sort_rows(g, order);
    int n_idle = g->n_idle + g->n_rows - n_rows;
    if (n_idle > 0) item[n_items++] = (tw_legend_item){-1, idle_text(g, n_idle)};
    if (n_items > 0 && !item[n_items - 1].text) return TW_ERR_NOMEM;
    bool borders = plot->n_ops > 1 && !plot->plan->joint; /* groups run side by side */
    double height = n_rows * ROW, names = borders ? TW_PLOT_LINE : 0;
    char what[TW_PLOT_WINDOW];
    tw_plot_window(plot, what);
    TW_TRY(tw_plot_open(plot, names + height + TW_AXIS_X_HEIGHT + 2 + tw_legend_height(plot, item, n_items), what));
    tw_plot_frame f = {left, plot->y + names, plot->width - SHARE_WIDTH - left, height};
    tw_scale cycles = {
        .lo = (double)g->strips.shown.lo, .hi = (double)g->strips.shown.hi, f.left, f.left + f.width, false};
    for (int r = 0; r < n_rows; r++) draw_row(g, &g->row[order[r]], name[order[r]], &f, &cycles, f.top + r * ROW);
    if (borders) TW_TRY(draw_borders(g, &f, &cycles));
    tw_scale shown = cycles;
    shown.lo -= (double)plot->origin;
    shown.hi -= (double)plot->origin;
    tw_axis_x(plot, &f, &shown, false, "cycles");
    tw_plot_put(plot, plot->width - 2, f.top + height + 14 + TW_PLOT_TEXT, TW_RIGHT, TW_FAINT, "busy");
    plot->y = f.top + height + TW_AXIS_X_HEIGHT + 2;
    tw_legend_draw(plot, item, n_items);
    return tw_plot_close(plot);
}

/* Before the tracks are known: the names that there may be. */
static double names_width(const tw_plot *plot)
{
    double most = 0;
    const tw_machine *machine = plot->plan->machine;
    bool rows = !plot->plan->op[0].timeline.has_waits; /* lanes, and tiles that others are nested in */
    for (int e = 0; e < tw_hardware_n_engines(plot->plan); e++) {
        double width = tw_canvas_text_width(tw_hardware_engine_name(plot->plan, e), TW_PLOT_TEXT);
        bool several = tw_hardware_engine(plot->plan, e)->count > 1 || rows;
        most = width + (several ? 2 * TW_PLOT_TEXT : 0) > most ? width + (several ? 2 * TW_PLOT_TEXT : 0) : most;
    }
    for (int m = 0; m < machine->n_memories && rows; m++) {
        double width = tw_canvas_text_width(machine->memory[m].name, TW_PLOT_TEXT) + 3 * TW_PLOT_TEXT;
        most = width > most ? width : most;
    }
    return most < NAME_MAX ? most : NAME_MAX;
}

tw_status tw_plot_gantt(tw_plot *plot)
{
    gantt *g;
    bool complete;
    double left = (double)(int)(names_width(plot) + TW_PLOT_MARGIN + 4);
    TW_ALLOC(plot->arena, g, 1);
    *g = (gantt){.plot = plot, .has_waits = plot->plan->op[0].timeline.has_waits};
    TW_TRY(tw_strips_init(&g->strips, plot->shown, plot->width - SHARE_WIDTH - left, plot->arena));
    tw_trace_sink sink = {take_track, NULL, take_event, end_op, g};
    TW_TRY(tw_trace_walk(plot->plan, 0, &sink, plot->scratch, plot->diag, &complete));
    TW_TRY(tw_strips_end(&g->strips));
    return draw(g, left);
}
