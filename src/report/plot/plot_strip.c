/* src/report/plot/plot_strip.c - see plot_strip.h. */
#include "report/plot/plot_strip.h"
#include "write/grow.h"

#include <math.h>
#include <string.h>

enum { PIXELS = 2 /* per unit */, LABEL_UNITS = 14 /* that the shortest label takes */ };

/* ---- columns ---- */

static int64_t edge(const tw_strips *s, int64_t column)
{
    int64_t len = s->shown.hi - s->shown.lo;
    return s->shown.lo + len / s->columns * column + len % s->columns * column / s->columns;
}

/* The column that holds this cycle. */
static int column_of(const tw_strips *s, int64_t cycle)
{
    double share = (double)(cycle - s->shown.lo) / (double)(s->shown.hi - s->shown.lo);
    int64_t c = tw_clamp((int64_t)(share * s->columns), 0, s->columns - 1);
    while (c > 0 && edge(s, c) > cycle) c--;
    while (c < s->columns - 1 && edge(s, c + 1) <= cycle) c++;
    return (int)c;
}

tw_status tw_strips_init(tw_strips *s, tw_span shown, double width, tw_arena *arena)
{
    int64_t pixels = (int64_t)(width * PIXELS), len = tw_max(1, tw_span_len(shown));
    *s = (tw_strips){.shown = {shown.lo, shown.lo + len},
                     .columns = (int)tw_min(pixels, len),
                     .wide = tw_max(1, tw_cdiv(len, pixels) * 2),
                     .arena = arena};
    if (len <= pixels) s->wide = 1;
    TW_ALLOC(arena, s->busy, TW_N_KINDS);
    TW_ALLOC(arena, s->line, 6 * (s->columns + 2));
    return TW_OK;
}

/* ---- strips and bars ---- */

static tw_status add_strip(tw_strips *s, tw_strip strip, int *out)
{
    s->strip = tw_grow(s->arena, s->strip, s->n_strips, &s->strip_room, sizeof *s->strip);
    if (!s->strip) return TW_ERR_NOMEM;
    strip.first = strip.last = -1;
    s->strip[s->n_strips] = strip;
    *out = (int)s->n_strips++;
    return TW_OK;
}

tw_status tw_strips_add(tw_strips *s, int *out)
{
    tw_strip strip = {.at = s->shown.lo, .lo = s->shown.lo};
    TW_ALLOC(s->arena, strip.time, TW_N_KINDS);
    return add_strip(s, strip, out);
}

tw_status tw_strips_add_sum(tw_strips *s, tw_span cycles, int *out)
{
    tw_strip strip = {.sum = true};
    cycles = tw_span_clip(cycles, s->shown.lo, s->shown.hi);
    if (tw_span_len(cycles) > 0) {
        strip.first_column = column_of(s, cycles.lo);
        strip.n_columns = column_of(s, cycles.hi - 1) + 1 - strip.first_column;
    }
    TW_ALLOC(s->arena, strip.time, strip.n_columns * TW_N_KINDS + 1);
    return add_strip(s, strip, out);
}

static tw_status add_bar(tw_strips *s, tw_strip *strip, tw_strip_bar bar)
{
    s->bar = tw_grow(s->arena, s->bar, s->n_bars, &s->bar_room, sizeof *s->bar);
    if (!s->bar) return TW_ERR_NOMEM;
    bar.next = -1;
    s->bar[s->n_bars] = bar;
    if (strip->last >= 0)
        s->bar[strip->last].next = s->n_bars;
    else
        strip->first = s->n_bars;
    strip->last = s->n_bars++;
    return TW_OK;
}

/* The shares of a stretch of time, one on the other. */
static tw_status add_stack(tw_strips *s, tw_strip *strip, int64_t from, int64_t to, double *time, double all)
{
    double lo = 0;
    for (int k = 0; k < TW_N_KINDS && all > 0; k++) {
        double hi = fmin(1, lo + time[k] / all);
        if (time[k] > 0)
            TW_TRY(add_bar(s, strip, (tw_strip_bar){.kind = k, .from = from, .to = to, .lo = lo, .hi = hi}));
        lo = hi;
        time[k] = 0;
    }
    return TW_OK;
}

/* Ends the column at work, which nothing more happens in before `hi`. */
static tw_status flush(tw_strips *s, tw_strip *strip, int64_t hi)
{
    int64_t lo = strip->lo;
    strip->lo = hi;
    return hi > lo ? add_stack(s, strip, lo, hi, strip->time, (double)(hi - lo)) : TW_OK;
}

/* ---- pieces ---- */

static tw_status put_whole(tw_strips *s, tw_strip *strip, tw_span when, const tw_strip_part *part, int n,
                           const char *label)
{
    double lo = 0;
    TW_TRY(flush(s, strip, tw_min(when.lo, edge(s, strip->column + 1))));
    for (int i = 0; i < n; i++) {
        double hi = i == n - 1 ? fmin(1, lo + part[i].share) : lo + part[i].share;
        tw_strip_bar bar = {
            .kind = part[i].kind, .from = when.lo, .to = when.hi, .lo = lo, .hi = hi, .whole = true};
        if (label && tw_strips_shows_label(s, when)) {
            bar.label = tw_arena_strndup(s->arena, label, strlen(label));
            if (!bar.label) return TW_ERR_NOMEM;
        }
        TW_TRY(add_bar(s, strip, bar));
        lo = hi;
    }
    strip->lo = when.hi;
    strip->column = column_of(s, tw_min(when.hi, s->shown.hi - 1));
    return TW_OK;
}

static tw_status put_narrow(tw_strips *s, tw_strip *strip, tw_span when, const tw_strip_part *part, int n)
{
    for (int64_t at = when.lo; at < when.hi;) {
        int c = column_of(s, at);
        int64_t end = tw_min(when.hi, edge(s, c + 1));
        if (c != strip->column) {
            TW_TRY(flush(s, strip, edge(s, strip->column + 1)));
            strip->column = c;
            strip->lo = edge(s, c);
        }
        for (int i = 0; i < n; i++) strip->time[part[i].kind] += (double)(end - at) * part[i].share;
        at = end;
    }
    return TW_OK;
}

static void put_sum(tw_strips *s, tw_strip *strip, tw_span when, const tw_strip_part *part, int n, double weight)
{
    for (int64_t at = when.lo; at < when.hi;) {
        int c = column_of(s, at), mine = c - strip->first_column;
        int64_t end = tw_min(when.hi, edge(s, c + 1));
        for (int i = 0; i < n && mine >= 0 && mine < strip->n_columns; i++)
            strip->time[mine * TW_N_KINDS + part[i].kind] += (double)(end - at) * part[i].share * weight;
        at = end;
    }
}

bool tw_strips_shows_label(const tw_strips *s, tw_span when)
{
    double units = (double)s->columns / PIXELS, len = (double)tw_span_len(s->shown);
    if (len <= s->columns) return true;
    return (double)(when.hi - when.lo) / len * units >= LABEL_UNITS;
}

tw_status tw_strips_put(tw_strips *s, int number, const tw_strip_piece *piece)
{
    tw_strip *strip = &s->strip[number];
    const tw_strip_part *part = piece->part;
    int n = piece->n_parts;
    tw_span when =
        tw_span_clip(piece->when, strip->sum ? s->shown.lo : tw_max(s->shown.lo, strip->at), s->shown.hi);
    if (tw_span_len(when) == 0) return TW_OK;
    for (int i = 0; i < n; i++) s->busy[part[i].kind] += (double)(when.hi - when.lo) * part[i].share;
    if (strip->sum) {
        put_sum(s, strip, when, part, n, piece->weight);
        return TW_OK;
    }
    strip->at = when.hi;
    return when.hi - when.lo >= s->wide ? put_whole(s, strip, when, part, n, piece->label)
                                        : put_narrow(s, strip, when, part, n);
}

tw_status tw_strips_end(tw_strips *s)
{
    for (int64_t i = 0; i < s->n_strips; i++) {
        tw_strip *strip = &s->strip[i];
        if (!strip->sum) TW_TRY(flush(s, strip, tw_max(strip->lo, edge(s, strip->column + 1))));
        for (int c = 0; c < strip->n_columns; c++) {
            int64_t from = edge(s, strip->first_column + c), to = edge(s, strip->first_column + c + 1);
            TW_TRY(
                add_stack(s, strip, from, to, &strip->time[c * TW_N_KINDS], (double)(to - from) * strip->weight));
        }
    }
    return TW_OK;
}

unsigned tw_strips_kinds(const tw_strips *s)
{
    unsigned kinds = 0;
    for (int k = 0; k < TW_N_KINDS; k++)
        if (s->busy[k] > 0) kinds |= 1u << k;
    return kinds;
}

/* ---- drawing ---- */

typedef struct drawing {
    const tw_strips *strips;
    tw_plot *plot;
    const tw_scale *x;
    double top, height;
} drawing;

static double at_share(const drawing *d, double share) { return d->top + d->height * (1 - share); }
static double at_cycle(const drawing *d, int64_t cycle) { return tw_scale_at(d->x, (double)cycle); }

static void draw_label(const drawing *d, const tw_strip_bar *bar, double left, double width)
{
    const double text = tw_canvas_text_width(bar->label, TW_PLOT_TEXT);
    double height = (bar->hi - bar->lo) * d->height;
    if (text + 3 > width || height < TW_PLOT_TEXT) return;
    tw_plot_put(d->plot, left + width / 2, at_share(d, bar->hi) + height / 2 + TW_PLOT_TEXT * 0.36, TW_MIDDLE,
                tw_ink_on(tw_kind_colour(bar->kind)), bar->label);
}

/* Neighbours of one colour are told apart by a line of paper between them. */
static void draw_whole(const drawing *d, const tw_strip_bar *bar)
{
    enum { LINED = 3 };
    double left = at_cycle(d, bar->from), right = at_cycle(d, bar->to);
    double upper = at_share(d, bar->hi), lower = at_share(d, bar->lo);
    tw_plot_fill_rect(d->plot, bar->kind, left, upper, right - left, lower - upper);
    if (bar->kind > TW_KIND_TILES || right - left < LINED) return;
    tw_canvas_line(&d->plot->canvas, (tw_point[]){{left, upper}, {left, lower}}, 2, 0.5, 0, TW_PAPER);
    if (bar->label) draw_label(d, bar, left, right - left);
}

static void add_corner(tw_point *p, int *n, double x, double y)
{
    if (*n >= 2 && p[*n - 1].y == y && p[*n - 2].y == y) --*n;
    p[(*n)++] = (tw_point){x, y};
}

/* Bars of one kind that follow each other without a gap, as one shape; returns the bar behind them. */
static int64_t draw_run(const drawing *d, int64_t first, int kind)
{
    const tw_strip_bar *bar = d->strips->bar;
    tw_point *p = d->strips->line, *back = p + 4 * (d->strips->columns + 2);
    int n = 0, n_back = 0;
    int64_t b = first, end = bar[first].from;
    for (; b >= 0 && (bar[b].kind != kind || (!bar[b].whole && bar[b].from == end)); b = bar[b].next) {
        if (bar[b].kind != kind) continue;
        add_corner(p, &n, at_cycle(d, bar[b].from), at_share(d, bar[b].hi));
        add_corner(p, &n, at_cycle(d, bar[b].to), at_share(d, bar[b].hi));
        add_corner(back, &n_back, at_cycle(d, bar[b].from), at_share(d, bar[b].lo));
        add_corner(back, &n_back, at_cycle(d, bar[b].to), at_share(d, bar[b].lo));
        end = bar[b].to;
    }
    while (n_back > 0) {
        tw_point last = back[--n_back];
        add_corner(p, &n, last.x, last.y);
    }
    tw_plot_fill(d->plot, kind, p, n);
    return b;
}

static void draw_kind(const drawing *d, const tw_strip *strip, int kind)
{
    const tw_strip_bar *bar = d->strips->bar;
    for (int64_t b = strip->first; b >= 0;) {
        if (bar[b].kind != kind) {
            b = bar[b].next;
        } else if (bar[b].whole) {
            draw_whole(d, &bar[b]);
            b = bar[b].next;
        } else {
            b = draw_run(d, b, kind);
        }
    }
}

void tw_strip_draw(const tw_strips *s, int number, tw_plot *plot, const tw_scale *x, double top, double height)
{
    drawing d = {s, plot, x, top, height};
    for (int k = 0; k < TW_N_KINDS; k++) draw_kind(&d, &s->strip[number], k);
}
