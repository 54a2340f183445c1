/* src/fit/residuals.c - see residuals.h.
 *
 *     +10% |          .  :
 *          |   . :+#::..:#  .
 *        0 |-.:+####++:+#+:-----
 *          |    .:++.  .
 *     -10% |       v                    v ^: outliers beyond the edge
 *          +---------+---------+---
 *          1'345   10'000    100'000    measured cycles, a logarithmic scale */
#include "fit/residuals.h"

#include "fit/errors.h"
#include "write/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HALF = 6, ROWS = 2 * HALF + 1, LEFT = 9 };

typedef struct picture {
    int columns;
    double low, high; /* ln(measured) at the edges          */
    double most;      /* error at the upper edge            */
    int *count;       /* ROWS x columns, the top row first  */
} picture;

/* An error that few of the rows exceed, rounded up to a plain one. */
static double edge_of(double *error, int n)
{
    static const double plain[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
    static const double share = 0.97;
    qsort(error, (size_t)n, sizeof *error, tw_by_double);
    double e = error[(int)(share * (n - 1))];
    size_t i = 0;
    while (i + 1 < TW_COUNT(plain) && plain[i] < e) i++;
    return plain[i];
}

static int column_of(const picture *p, int64_t measured)
{
    double share = p->high > p->low ? (log((double)measured) - p->low) / (p->high - p->low) : 0.5;
    return (int)tw_clamp((int64_t)lround(share * (p->columns - 1)), 0, p->columns - 1);
}

static void count_rows(picture *p, const tw_calibration *c)
{
    for (int i = 0; i < c->n_rows; i++) {
        if (!tw_row_is_timed(&c->row[i])) continue;
        double error = fmax(fmin(tw_row_error(&c->row[i]) / p->most, 2), -2);
        int row = (int)tw_clamp(HALF - (int64_t)lround(error * (HALF - 1)), 0, ROWS - 1);
        p->count[row * p->columns + column_of(p, c->row[i].measured)]++;
    }
}

static const char *mark(const tw_glyphs *glyph, int row, int n)
{
    if (n == 0) return row == HALF ? glyph->beam : "";
    if (row == 0) return glyph->up;
    if (row == ROWS - 1) return glyph->down;
    return n == 1 ? "." : n <= 3 ? ":" : n <= 8 ? "+" : "#";
}

static void draw_row(const picture *p, int row, tw_line *line)
{
    char label[16] = "";
    double error = p->most * (HALF - row) / (HALF - 1);
    if (row == HALF)
        snprintf(label, sizeof label, "0");
    else if (row == 1 || row == ROWS - 2)
        tw_snprintf(label, sizeof label, "%+.0f%%", 100 * error);
    else if (row == 0 || row == ROWS - 1)
        snprintf(label, sizeof label, "%s", row ? "below" : "above");
    tw_line_put_right(line, LEFT - 2, TW_DIM, label);
    tw_line_put(line, LEFT - 1, TW_DIM, line->glyph.pole);
    for (int x = 0; x < p->columns; x++) {
        int n = p->count[row * p->columns + x];
        bool edge = row == 0 || row == ROWS - 1;
        tw_line_put(line, LEFT + x, n == 0 ? TW_DIM : edge ? TW_ALARM : TW_PLAIN, mark(&line->glyph, row, n));
    }
    tw_line_end(line);
}

/* The edges and the powers of ten between them, where there is room. */
static void draw_axis(const picture *p, int64_t least, int64_t most, tw_line *line)
{
    tw_line_put(line, LEFT - 1, TW_DIM, line->glyph.corner[2]);
    for (int x = 0; x < p->columns; x++) tw_line_put(line, LEFT + x, TW_DIM, line->glyph.beam);
    for (int64_t ten = 10; ten < most; ten *= 10)
        if (ten > least) tw_line_put(line, LEFT + column_of(p, ten), TW_DIM, line->glyph.tick);
    tw_line_end(line);
    int free = tw_line_put(line, LEFT, TW_DIM, TW_GROUPED(least)) + 1;
    int end = LEFT + p->columns - tw_text_width(TW_GROUPED(most)) - 1;
    for (int64_t ten = 10; ten < most; ten *= 10) {
        int width = tw_text_width(TW_GROUPED(ten)), at = LEFT + column_of(p, ten) - width / 2;
        if (ten > least && at > free && at + width < end) free = tw_line_put(line, at, TW_DIM, TW_GROUPED(ten)) + 1;
    }
    tw_line_put_right(line, LEFT + p->columns, TW_DIM, TW_GROUPED(most));
    tw_line_end(line);
}

tw_status tw_residuals_draw(const tw_calibration *c, tw_arena *scratch, tw_line *line)
{
    picture p = {.columns = line->columns - LEFT - 2};
    double *error;
    int n = 0;
    int64_t least = INT64_MAX, most = 0;
    TW_ALLOC(scratch, error, c->n_rows);
    TW_ALLOC(scratch, p.count, (int64_t)ROWS * p.columns);
    for (int i = 0; i < c->n_rows; i++) {
        if (!tw_row_is_timed(&c->row[i])) continue;
        if (!c->row[i].outlier) error[n++] = fabs(tw_row_error(&c->row[i]));
        least = tw_min(least, c->row[i].measured);
        most = tw_max(most, c->row[i].measured);
    }
    if (n == 0) return TW_OK;
    p.most = edge_of(error, n);
    p.low = log((double)least);
    p.high = log((double)most);
    count_rows(&p, c);
    tw_line_put(line, 2, TW_BOLD, "error of the prediction, over measured cycles: . 1 row, : 3, + 8, # more");
    tw_line_end(line);
    for (int row = 0; row < ROWS; row++) draw_row(&p, row, line);
    draw_axis(&p, least, most, line);
    return TW_OK;
}
