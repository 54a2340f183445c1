/* src/report/plot/canvas.c - see canvas.h. SVG is written as it comes; a painter draws the rest. */
#include "report/plot/canvas.h"
#include "core/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char family[] = "DejaVu Sans, Helvetica, Arial, sans-serif";
enum { MARK_GAP = 4 }; /* units between lines, along x or y, and between dots of one row */
static const double mark_width = 0.8;

/* Whether it is written here. */
static bool is_text(const tw_canvas *c) { return c->medium.image == TW_IMAGE_SVG; }

/* ---- opening ---- */

/* Width and height with their unit are given apart from the lengths that coordinates count. */
static void begin_svg(tw_canvas *c, int width, int height, double scale, const char *unit)
{
    tw_fprintf(c->medium.out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.6g%s\" height=\"%.6g%s\" viewBox=\"0 0 %d %d\" "
               "font-family=\"%s\">\n",
               width * scale, unit, height * scale, unit, width, height, family);
}

static tw_status begin_sheet(tw_canvas *c, double width, double height, double scale)
{
    const tw_medium *m = &c->medium;
    if (!m->painter) return TW_ERR_INPUT;
    c->sheet = m->painter->open(m->image, width, height, scale, m->out);
    return c->sheet ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_canvas_open(tw_canvas *c, const tw_medium *medium, int width, int height)
{
    const double point = 72.0 / 96;
    *c = (tw_canvas){.medium = *medium};
    if (!is_text(c)) return begin_sheet(c, width, height, medium->image == TW_IMAGE_PDF ? point : 1);
    begin_svg(c, width, height, 1, "");
    return TW_OK;
}

double tw_medium_scale(const tw_medium *medium, double mm)
{
    double dots = medium->image == TW_IMAGE_PDF ? 72 : medium->dpi;
    return dots > 0 ? mm / 25.4 * dots : 2;
}

tw_status tw_canvas_open_print(tw_canvas *c, const tw_medium *medium, int width, int height, double mm)
{
    *c = (tw_canvas){.medium = *medium};
    if (!is_text(c)) return begin_sheet(c, width, height, tw_medium_scale(medium, mm / width));
    begin_svg(c, width, height, mm / width, "mm");
    return TW_OK;
}

tw_status tw_canvas_explain(tw_status status, tw_diag *diag)
{
    if (status == TW_ERR_IO) return tw_diag_io(diag, (tw_loc){0}, "cannot write the picture");
    if (status == TW_ERR_INPUT)
        return tw_diag_error(diag, (tw_loc){0},
                             "PNG and PDF need a painter: see tilewright/paint.h; SVG needs none");
    return status;
}

/* ---- colours ---- */

/* The uppermost byte is how much shows through. */
static double opacity(unsigned colour) { return 1 - (colour >> 24) / 255.0; }

unsigned tw_faded(unsigned colour, double opacity)
{
    return (colour & 0xffffff) | (unsigned)lround((1 - opacity) * 255) << 24;
}

unsigned tw_mixed(unsigned a, unsigned b, double share)
{
    unsigned out = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        double x = a >> shift & 255, y = b >> shift & 255;
        out |= (unsigned)lround(x + (y - x) * share) << shift;
    }
    return out;
}

/* fill="#rrggbb", or another attribute */
static void write_colour(tw_canvas *c, const char *name, unsigned colour)
{
    fprintf(c->medium.out, " %s=\"#%06x\"", name, colour & 0xffffff);
    if (colour >> 24) tw_fprintf(c->medium.out, " %s-opacity=\"%.2f\"", name, opacity(colour));
}

/* ---- numbers of an SVG ---- */

/* Hundredths, as short as they can be written: "12", "0.5", "7.25". */
static const char *shortest(double x, char text[32])
{
    tw_snprintf(text, 32, "%.2f", x);
    char *end = text + strlen(text);
    while (end[-1] == '0') *--end = 0;
    if (end[-1] == '.') *--end = 0;
    if (strcmp(text, "-0") == 0) strcpy(text, "0");
    return text;
}
#define SHORT(x) shortest((x), (char[32]){0})

static void write_path(tw_canvas *c, const tw_point *p, int n)
{
    fprintf(c->medium.out, "M%s %s", SHORT(p[0].x), SHORT(p[0].y));
    for (int i = 1; i < n; i++)
        if (p[i].y == p[i - 1].y)
            fprintf(c->medium.out, "H%s", SHORT(p[i].x));
        else if (p[i].x == p[i - 1].x)
            fprintf(c->medium.out, "V%s", SHORT(p[i].y));
        else
            fprintf(c->medium.out, "L%s %s", SHORT(p[i].x), SHORT(p[i].y));
}

/* ---- shapes ---- */

void tw_canvas_rect(tw_canvas *c, double x, double y, double w, double h, unsigned colour)
{
    if (is_text(c)) {
        fprintf(c->medium.out, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"", SHORT(x), SHORT(y), SHORT(w),
                SHORT(h));
        write_colour(c, "fill", colour);
        fputs("/>\n", c->medium.out);
        return;
    }
    const tw_point corner[] = {{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}};
    c->medium.painter->area(c->sheet, corner, TW_COUNT(corner), colour);
}

void tw_canvas_area(tw_canvas *c, const tw_point *p, int n, unsigned colour)
{
    if (is_text(c)) {
        fputs("<path d=\"", c->medium.out);
        write_path(c, p, n);
        fputs("Z\"", c->medium.out);
        write_colour(c, "fill", colour);
        fputs("/>\n", c->medium.out);
        return;
    }
    c->medium.painter->area(c->sheet, p, n, colour);
}

void tw_canvas_line(tw_canvas *c, const tw_point *p, int n, double width, double dash, unsigned colour)
{
    if (is_text(c)) {
        fputs("<path d=\"", c->medium.out);
        write_path(c, p, n);
        fprintf(c->medium.out, "\" fill=\"none\" stroke-width=\"%s\"", SHORT(width));
        write_colour(c, "stroke", colour);
        if (dash > 0) fprintf(c->medium.out, " stroke-dasharray=\"%s\"", SHORT(dash));
        fputs("/>\n", c->medium.out);
        return;
    }
    c->medium.painter->line(c->sheet, p, n, width, dash, colour);
}

void tw_canvas_circle(tw_canvas *c, double x, double y, double radius, double width, unsigned colour)
{
    if (is_text(c)) {
        fprintf(c->medium.out, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\"", SHORT(x), SHORT(y), SHORT(radius));
        write_colour(c, width > 0 ? "stroke" : "fill", colour);
        if (width > 0) fprintf(c->medium.out, " fill=\"none\" stroke-width=\"%s\"", SHORT(width));
        fputs("/>\n", c->medium.out);
        return;
    }
    c->medium.painter->circle(c->sheet, (tw_point){x, y}, radius, width, colour);
}

/* ---- marks ---- */

/* What an SVG repeats in squares: of twice the gap for dots, which stand at two of its corners. */
static void write_mark(tw_canvas *c, tw_mark mark)
{
    FILE *out = c->medium.out;
    switch (mark) {
    case TW_MARK_HATCH:
        fprintf(out, "M-1 1L1 -1M0 %dL%d 0M%d %dL%d %d", MARK_GAP, MARK_GAP, MARK_GAP - 1, MARK_GAP + 1,
                MARK_GAP + 1, MARK_GAP - 1);
        break;
    case TW_MARK_DOTS:
        fprintf(out, "M0.5 1H1.5M%d.5 %dH%d.5", MARK_GAP / 2, MARK_GAP / 2 + 1, MARK_GAP / 2 + 1);
        break;
    case TW_MARK_BARS: fprintf(out, "M0 1H%d", MARK_GAP); break;
    case TW_MARK_POLES: fprintf(out, "M1 0V%d", MARK_GAP); break;
    }
}

static double width_of(tw_mark mark) { return mark == TW_MARK_DOTS ? 1 : mark_width; }

/* Number of the pattern, which is written down when it is used first. The last one stands for those too many. */
static int find_mark(tw_canvas *c, tw_mark mark, unsigned colour)
{
    for (int i = 0; i < c->n_marks; i++)
        if (c->marks[i].mark == mark && c->marks[i].colour == colour) return i;
    if (c->n_marks == TW_CANVAS_MARKS) return c->n_marks - 1;
    fprintf(c->medium.out,
            "<pattern id=\"hatch%d\" width=\"%d\" height=\"%d\" patternUnits=\"userSpaceOnUse\"><path d=\"",
            c->n_marks, MARK_GAP, MARK_GAP);
    write_mark(c, mark);
    fprintf(c->medium.out, "\" stroke-width=\"%s\"", SHORT(width_of(mark)));
    write_colour(c, "stroke", colour);
    fputs("/></pattern>\n", c->medium.out);
    c->marks[c->n_marks].mark = mark;
    c->marks[c->n_marks].colour = colour;
    return c->n_marks++;
}

static void paint_marks(tw_canvas *c, const tw_point *p, int n, const tw_marks *marks)
{
    const tw_painter *painter = c->medium.painter;
    bool knows = painter->size > offsetof(tw_painter, marks) && painter->marks;
    if (marks->mark == TW_MARK_HATCH)
        painter->hatch(c->sheet, p, n, marks->gap, marks->width, marks->colour);
    else if (knows)
        painter->marks(c->sheet, p, n, marks);
}

void tw_canvas_mark(tw_canvas *c, const tw_point *p, int n, tw_mark mark, unsigned colour)
{
    if (!is_text(c)) {
        paint_marks(c, p, n, &(tw_marks){mark, MARK_GAP, width_of(mark), colour});
        return;
    }
    int pattern = find_mark(c, mark, colour);
    fputs("<path d=\"", c->medium.out);
    write_path(c, p, n);
    fprintf(c->medium.out, "Z\" fill=\"url(#hatch%d)\"/>\n", pattern);
}

void tw_canvas_hatch(tw_canvas *c, const tw_point *p, int n, unsigned colour)
{
    tw_canvas_mark(c, p, n, TW_MARK_HATCH, colour);
}

/* ---- texts ---- */

/* In hundredths of the size: from ' ' to '~'; others are taken to be wide. */
double tw_canvas_text_width(const char *text, double size)
{
    static const unsigned char width[] = {
        32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
        64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
        60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
        63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};
    enum { OTHER = 84, WIDE = 105 };
    int sum = 0;
    for (char form[TW_VISIBLE_MAX]; *text;) {
        text += tw_visible_next(text, form);
        unsigned char first = (unsigned char)*form;
        if (first >= 0x80) sum += first < 0xe0 ? OTHER : WIDE;
        for (const char *c = form; first < 0x80 && *c; c++) sum += width[*c - ' '];
    }
    return sum * size / 100;
}

static void write_escaped(const char *text, FILE *out)
{
    char c[TW_VISIBLE_MAX];
    while (*text) {
        text += tw_visible_next(text, c);
        fputs(*c == '<' ? "&lt;" : *c == '>' ? "&gt;" : *c == '&' ? "&amp;" : *c == '"' ? "&quot;" : c, out);
    }
}

static void write_text(tw_canvas *c, const tw_label *label)
{
    static const char *const word[] = {"start", "middle", "end"};
    fprintf(c->medium.out, "<text x=\"%s\" y=\"%s\"", SHORT(label->x), SHORT(label->y));
    fprintf(c->medium.out, " font-size=\"%s\" text-anchor=\"%s\"", SHORT(label->size), word[label->anchor]);
    write_colour(c, "fill", label->colour);
    fputc('>', c->medium.out);
    write_escaped(label->text, c->medium.out);
    fputs("</text>\n", c->medium.out);
}

void tw_canvas_text(tw_canvas *c, const tw_label *label)
{
    char clean[TW_CANVAS_TEXT], one[TW_VISIBLE_MAX];
    size_t n = 0;
    if (is_text(c)) {
        write_text(c, label);
        return;
    }
    for (const char *text = label->text; *text && n + sizeof one < sizeof clean;) {
        text += tw_visible_next(text, one);
        n = (size_t)(stpcpy(clean + n, one) - clean);
    }
    clean[n] = 0;
    tw_label visible = *label;
    visible.text = clean;
    c->medium.painter->text(c->sheet, &visible);
}

/* ---- the end ---- */

void tw_canvas_drop(tw_canvas *c)
{
    if (c->sheet) c->medium.painter->drop(c->sheet);
    c->sheet = NULL;
}

tw_status tw_canvas_close(tw_canvas *c)
{
    FILE *out = c->medium.out;
    tw_status drawn = TW_OK;
    if (is_text(c))
        fputs("</svg>\n", out);
    else
        drawn = c->medium.painter->close(c->sheet);
    c->sheet = NULL;
    return drawn != TW_OK ? drawn : fflush(out) == 0 && !ferror(out) ? TW_OK : TW_ERR_IO;
}
