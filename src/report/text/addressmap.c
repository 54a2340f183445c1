/* src/report/text/addressmap.c - see addressmap.h.
 *
 * The picture is a grid of cell corners. Every time and address at which a box begins or ends gets its own column or
 * row if there are enough, in between the remaining ones are given out in proportion. Too many: they share, evenly over the range. */
#include "report/text/addressmap.h"

#include <stdlib.h>
#include <string.h>

enum { GUTTER = 14, DEFAULT_ROWS = 40, MAX_ROWS = 200 };

typedef struct axis {
    int n; /* distinct values, ascending      */
    int64_t *value;
    int *at;    /* the grid line of each           */
    int length; /* grid lines are 0 .. length      */
    bool exact; /* no two values share a grid line */
} axis;

static double share(const axis *a, int k)
{
    double range = (double)a->value[a->n - 1] - (double)a->value[0];
    return range > 0 ? ((double)a->value[k] - (double)a->value[0]) / range : 0;
}

/* Grid lines for the values, at least `apart` from each other if `length` allows it. */
static void lay(axis *a, int length, int apart)
{
    a->exact = (int64_t)(a->n - 1) * apart <= length;
    a->length = length;
    for (int k = 0; k < a->n; k++) {
        int ideal = (int)(share(a, k) * length + 0.5);
        a->at[k] = a->exact
                       ? (int)tw_clamp(ideal, k > 0 ? a->at[k - 1] + apart : 0, length - (a->n - 1 - k) * apart)
                       : ideal;
    }
}

static int line_of(const axis *a, int64_t value)
{
    int lo = 0, hi = a->n - 1;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (a->value[mid] < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return a->at[lo];
}

static tw_status axis_of(const tw_map_box *box, int n, bool time, int64_t extra, tw_arena *scratch, axis *out)
{
    TW_ALLOC(scratch, out->value, 2 * (size_t)n + 2);
    TW_ALLOC(scratch, out->at, 2 * (size_t)n + 2);
    int m = 0;
    for (int i = 0; i < n; i++) {
        out->value[m++] = time ? box[i].lower : box[i].offset;
        out->value[m++] = time ? box[i].upper : box[i].offset + box[i].size;
    }
    if (!time) out->value[m++] = 0;
    if (extra >= 0) out->value[m++] = extra;
    qsort(out->value, (size_t)m, sizeof *out->value, tw_by_int64);
    for (int k = 0; k < m; k++)
        if (out->n == 0 || out->value[out->n - 1] != out->value[k]) out->value[out->n++] = out->value[k];
    return TW_OK;
}

/* ---- the grid ---- */

enum { EAST = 1, WEST = 2, NORTH = 4, SOUTH = 8 };

typedef struct grid {
    axis x, y;
    unsigned char *edge; /* per corner: where lines go from it     */
    int *owner;          /* per corner: the box right above, plus 1 */
    int capacity;        /* grid line, -1: none                    */
} grid;

static size_t corner(const grid *g, int x, int y) { return (size_t)y * (size_t)(g->x.length + 1) + (size_t)x; }

static void add_box(grid *g, const tw_map_box *b, int number)
{
    int x0 = line_of(&g->x, b->lower), x1 = line_of(&g->x, b->upper);
    int y0 = line_of(&g->y, b->offset), y1 = line_of(&g->y, b->offset + b->size);
    for (int x = x0; x < x1; x++)
        for (int side = 0; side < 2; side++) {
            int y = side ? y1 : y0;
            g->edge[corner(g, x, y)] |= EAST;
            g->edge[corner(g, x + 1, y)] |= WEST;
        }
    for (int y = y0; y < y1; y++)
        for (int side = 0; side < 2; side++) {
            int x = side ? x1 : x0;
            g->edge[corner(g, x, y)] |= NORTH;
            g->edge[corner(g, x, y + 1)] |= SOUTH;
        }
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) g->owner[corner(g, x, y)] = number + 1;
}

static const char *joint(unsigned edge, bool ascii)
{
    static const char *const unicode[16] = {" ", "─", "─", "─", "│", "└", "┘", "┴",
                                            "│", "┌", "┐", "┬", "│", "├", "┤", "┼"};
    static const char *const plain[16] = {" ", "-", "-", "-", "|", "+", "+", "+",
                                          "|", "+", "+", "+", "|", "+", "+", "+"};
    return ascii ? plain[edge] : unicode[edge];
}

/* A number in the gutter when it belongs to this grid line. */
static void put_address(const grid *g, int y, tw_line *line)
{
    char text[TW_GROUPED_MAX];
    for (int k = g->y.n - 1; k >= 0; k--)
        if (g->y.at[k] == y) {
            tw_line_put_right(line, GUTTER - 1, y == g->capacity ? TW_BOLD : TW_DIM,
                              tw_grouped(g->y.value[k], text));
            return;
        }
}

static bool is_ascii(const tw_line *line) { return (unsigned char)line->glyph.beam[0] < 0x80; }

static void draw_edges(const grid *g, int y, tw_line *line)
{
    bool ascii = is_ascii(line), over = g->capacity >= 0 && y > g->capacity;
    for (int x = 0; x <= g->x.length; x++) {
        unsigned e = g->edge[corner(g, x, y)];
        bool limit = y == g->capacity && !(e & (EAST | WEST));
        if (limit)
            tw_line_put(line, GUTTER + x, TW_BOLD, ascii ? "=" : "┄");
        else if (e)
            tw_line_put(line, GUTTER + x, over ? TW_ALARM : TW_DIM, joint(e, ascii));
    }
}

static void put_name(tw_line *line, int at, int room, tw_style style, const char *name)
{
    char text[4 * TW_COLUMNS_MAX + 1];
    size_t n = 0;
    for (int k = 0; k < room && name[n] && n < sizeof text - 5; k++) do
            n++;
        while ((name[n] & 0xc0) == 0x80);
    memcpy(text, name, n);
    text[n] = 0;
    tw_line_put(line, at, style, text);
}

/* What lies above the capacity. */
static void hatch(const grid *g, int y, tw_line *line)
{
    for (int x = 0; x <= g->x.length; x++)
        if (g->owner[corner(g, x, y)] > 0) tw_line_put(line, GUTTER + x, TW_ALARM, is_ascii(line) ? "/" : "╱");
}

/* The cells above grid line y: walls, and a name where a box's highest row begins. */
static void draw_cells(const grid *g, int y, const tw_map_box *box, tw_line *line)
{
    bool over = g->capacity >= 0 && y >= g->capacity;
    if (over) hatch(g, y, line);
    for (int x = 0; x <= g->x.length; x++) {
        int owner = g->owner[corner(g, x, y)];
        bool wall = (g->edge[corner(g, x, y)] & NORTH) != 0;
        if (wall) tw_line_put(line, GUTTER + x, over ? TW_ALARM : TW_DIM, line->glyph.pole);
        bool begins = owner > 0 && (x == 0 || g->owner[corner(g, x - 1, y)] != owner);
        bool top_row = owner > 0 && (y + 1 == g->y.length || g->owner[corner(g, x, y + 1)] != owner);
        if (!begins || !top_row) continue;
        int end = x;
        while (end <= g->x.length && g->owner[corner(g, end, y)] == owner) end++;
        int hue = box[owner - 1].hue;
        put_name(line, GUTTER + x + 1, end - x - 1,
                 over       ? TW_ALARM
                 : hue >= 0 ? tw_style_of_operand(hue)
                            : TW_PLAIN,
                 box[owner - 1].name);
    }
}

static void draw_times(const grid *g, const char *what, tw_line *line)
{
    char text[TW_GROUPED_MAX];
    int free_from = 0;
    for (int k = 0; k < g->x.n; k++) { /* the last one always, others where there is room before it */
        const char *number = tw_grouped(g->x.value[k], text);
        int width = tw_text_width(number), at = GUTTER + g->x.at[k];
        if (at + width > line->columns) at = line->columns - width;
        char last[TW_GROUPED_MAX];
        int keep = line->columns - tw_text_width(tw_grouped(g->x.value[g->x.n - 1], last)) - 1;
        keep = (int)tw_min(keep, GUTTER + g->x.at[g->x.n - 1] - 1);
        if (at < free_from || (k + 1 < g->x.n && at + width > keep)) continue;
        tw_line_put(line, at, TW_DIM, number);
        free_from = at + width + 1;
    }
    if (what) tw_line_put_right(line, GUTTER - 1, TW_DIM, what);
    tw_line_end(line);
}

/* ---- too many boxes to draw apart: how full each cell is ---- */

/* Bytes of the boxes inside [t0, t1) x [a0, a1), as a part of it. */
static double fill_of(const tw_map_box *box, int n, double t0, double t1, double a0, double a1)
{
    double used = 0;
    for (int i = 0; i < n; i++) {
        double from = (double)box[i].lower, to = (double)box[i].upper, low = (double)box[i].offset,
               high = low + (double)box[i].size;
        double w = (to < t1 ? to : t1) - (from > t0 ? from : t0),
               h = (high < a1 ? high : a1) - (low > a0 ? low : a0);
        if (w > 0 && h > 0) used += w * h;
    }
    return used / ((t1 - t0) * (a1 - a0));
}

static void draw_fill(const tw_map_box *box, int n, const grid *g, int rows, int64_t capacity, tw_line *line)
{
    static const char *const shade[] = {" ", "░", "▒", "▓", "█"}, *const plain[] = {" ", ".", "+", "x", "#"};
    bool ascii = is_ascii(line), drawn = false;
    double t_lo = (double)g->x.value[0], t_hi = (double)g->x.value[g->x.n - 1],
           top = (double)g->y.value[g->y.n - 1];
    char text[TW_GROUPED_MAX];
    for (int r = rows - 1; r >= 0; r--) {
        double a0 = top * r / rows, a1 = top * (r + 1) / rows;
        bool over = capacity != TW_UNLIMITED && a0 >= (double)capacity;
        if (!drawn && capacity != TW_UNLIMITED && a1 <= (double)capacity && r < rows - 1) {
            for (int c = 0; c < g->x.length; c++) tw_line_put(line, GUTTER + c, TW_BOLD, ascii ? "=" : "┄");
            tw_line_put_right(line, GUTTER - 1, TW_BOLD, tw_grouped(capacity, text));
            tw_line_end(line);
            drawn = true;
        }
        tw_line_put_right(line, GUTTER - 1, TW_DIM,
                          tw_grouped(r == rows - 1 ? g->y.value[g->y.n - 1] : (int64_t)a1, text));
        for (int c = 0; c < g->x.length; c++) {
            double t0 = t_lo + (t_hi - t_lo) * c / g->x.length, t1 = t_lo + (t_hi - t_lo) * (c + 1) / g->x.length;
            double fill = fill_of(box, n, t0, t1, a0, a1);
            int level = fill <= 0 ? 0 : fill > 0.999 ? 4 : fill > 0.66 ? 3 : fill > 0.33 ? 2 : 1;
            tw_line_put(line, GUTTER + c, over ? TW_ALARM : TW_PLAIN, ascii ? plain[level] : shade[level]);
        }
        tw_line_end(line);
    }
}

/* ---- the whole ---- */

tw_status tw_addressmap_draw(const tw_map_box *box, int n, const tw_map_options *options, tw_line *line,
                             tw_arena *scratch)
{
    int rows = options->rows > 0 ? (int)tw_min(options->rows, MAX_ROWS) : DEFAULT_ROWS;
    tw_map_box *kept;
    TW_ALLOC(scratch, kept, n + 1);
    int m = 0;
    int64_t height = 0;
    for (int i = 0; i < n; i++) {
        if (box[i].lower >= box[i].upper || box[i].size <= 0) continue;
        kept[m++] = box[i];
        height = tw_max(height, box[i].offset + box[i].size);
    }
    if (m == 0) {
        tw_line_put(line, 0, TW_DIM, "nothing takes room");
        tw_line_end(line);
        return TW_OK;
    }
    bool bounded = options->capacity != TW_UNLIMITED && options->capacity <= 2 * height;
    grid g = {.capacity = -1};
    TW_TRY(axis_of(kept, m, true, -1, scratch, &g.x));
    TW_TRY(axis_of(kept, m, false, bounded ? options->capacity : -1, scratch, &g.y));
    lay(&g.x, line->columns - GUTTER - 1, 3);
    if (!g.x.exact) lay(&g.x, line->columns - GUTTER - 1, 1);
    lay(&g.y, (int)tw_min(rows / 2, g.y.n - 1), 1);
    if (!g.x.exact || !g.y.exact) {
        draw_fill(kept, m, &g, (int)tw_min(rows, 24), bounded ? options->capacity : TW_UNLIMITED, line);
        draw_times(&g, options->time, line);
        return TW_OK;
    }
    size_t corners = (size_t)(g.x.length + 1) * (size_t)(g.y.length + 1);
    TW_ALLOC(scratch, g.edge, corners);
    TW_ALLOC(scratch, g.owner, corners);
    for (int i = 0; i < m; i++) add_box(&g, &kept[i], i);
    if (bounded) g.capacity = line_of(&g.y, options->capacity);
    for (int y = g.y.length; y >= 0; y--) {
        put_address(&g, y, line);
        draw_edges(&g, y, line);
        tw_line_end(line);
        if (y == 0) break;
        draw_cells(&g, y - 1, kept, line);
        tw_line_end(line);
    }
    draw_times(&g, options->time, line);
    return TW_OK;
}
