/* src/report/plot/canvas.c - see canvas.h. SVG is written as it comes; cairo draws the rest. */
#include "report/plot/canvas.h"
#include "core/utf8.h"
#include "report/plot/font.h"

#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char family[] = "DejaVu Sans, Helvetica, Arial, sans-serif";
enum { HATCH = 4 }; /* units between its lines, along x */
static const double hatch_width = 0.8;

static cairo_status_t write_bytes(void *user, const unsigned char *bytes, unsigned n)
{
    return fwrite(bytes, 1, n, user) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* ---- opening ---- */

/* Width and height with their unit are given apart from the lengths that coordinates count. */
static void begin_svg(tw_canvas *c, int width, int height, double scale, const char *unit)
{
    tw_fprintf(c->out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.6g%s\" height=\"%.6g%s\" viewBox=\"0 0 %d %d\" "
               "font-family=\"%s\">\n",
               width * scale, unit, height * scale, unit, width, height, family);
}

static tw_status begin_cairo(tw_canvas *c, double width, double height, double scale)
{
    /* No two runs write different bytes: the date is one that was once and for all. */
    static const char date[] = "2000-01-01T00:00:00Z";
    bool pdf = c->kind == TW_CANVAS_PDF;
    c->surface = pdf ? cairo_pdf_surface_create_for_stream(write_bytes, c->out, width * scale, height * scale)
                     : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)lround(width * scale),
                                                  (int)lround(height * scale));
    if (pdf) cairo_pdf_surface_set_metadata(c->surface, CAIRO_PDF_METADATA_CREATE_DATE, date);
    c->cairo = cairo_create(c->surface);
    if (cairo_status(c->cairo) != CAIRO_STATUS_SUCCESS) {
        tw_canvas_drop(c);
        return TW_ERR_NOMEM;
    }
    cairo_scale(c->cairo, scale, scale);
    tw_status status = tw_font_choose(c->cairo);
    if (status != TW_OK) tw_canvas_drop(c);
    return status;
}

tw_status tw_canvas_open(tw_canvas *c, tw_canvas_kind kind, int width, int height, FILE *out)
{
    const double point = 72.0 / 96;
    *c = (tw_canvas){.kind = kind, .out = out};
    if (kind != TW_CANVAS_SVG) return begin_cairo(c, width, height, kind == TW_CANVAS_PDF ? point : 1);
    begin_svg(c, width, height, 1, "");
    return TW_OK;
}

tw_status tw_canvas_open_print(tw_canvas *c, tw_canvas_kind kind, int width, int height, double mm, FILE *out)
{
    *c = (tw_canvas){.kind = kind, .out = out};
    if (kind != TW_CANVAS_SVG)
        return begin_cairo(c, width, height, kind == TW_CANVAS_PDF ? mm / 25.4 * 72 / width : 2);
    begin_svg(c, width, height, mm / width, "mm");
    return TW_OK;
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

static void set_colour(tw_canvas *c, unsigned colour)
{
    cairo_set_source_rgba(c->cairo, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                          (colour & 255) / 255.0, opacity(colour));
}

/* fill="#rrggbb", or another attribute */
static void write_colour(tw_canvas *c, const char *name, unsigned colour)
{
    fprintf(c->out, " %s=\"#%06x\"", name, colour & 0xffffff);
    if (colour >> 24) tw_fprintf(c->out, " %s-opacity=\"%.2f\"", name, opacity(colour));
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
    fprintf(c->out, "M%s %s", SHORT(p[0].x), SHORT(p[0].y));
    for (int i = 1; i < n; i++)
        if (p[i].y == p[i - 1].y)
            fprintf(c->out, "H%s", SHORT(p[i].x));
        else if (p[i].x == p[i - 1].x)
            fprintf(c->out, "V%s", SHORT(p[i].y));
        else
            fprintf(c->out, "L%s %s", SHORT(p[i].x), SHORT(p[i].y));
}

/* ---- shapes ---- */

void tw_canvas_rect(tw_canvas *c, double x, double y, double w, double h, unsigned colour)
{
    if (c->kind == TW_CANVAS_SVG) {
        fprintf(c->out, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"", SHORT(x), SHORT(y), SHORT(w),
                SHORT(h));
        write_colour(c, "fill", colour);
        fputs("/>\n", c->out);
        return;
    }
    set_colour(c, colour);
    cairo_rectangle(c->cairo, x, y, w, h);
    cairo_fill(c->cairo);
}

static void trace_points(tw_canvas *c, const tw_point *p, int n)
{
    cairo_move_to(c->cairo, p[0].x, p[0].y);
    for (int i = 1; i < n; i++) cairo_line_to(c->cairo, p[i].x, p[i].y);
}

void tw_canvas_area(tw_canvas *c, const tw_point *p, int n, unsigned colour)
{
    if (c->kind == TW_CANVAS_SVG) {
        fputs("<path d=\"", c->out);
        write_path(c, p, n);
        fputs("Z\"", c->out);
        write_colour(c, "fill", colour);
        fputs("/>\n", c->out);
        return;
    }
    set_colour(c, colour);
    trace_points(c, p, n);
    cairo_fill(c->cairo);
}

void tw_canvas_line(tw_canvas *c, const tw_point *p, int n, double width, double dash, unsigned colour)
{
    if (c->kind == TW_CANVAS_SVG) {
        fputs("<path d=\"", c->out);
        write_path(c, p, n);
        fprintf(c->out, "\" fill=\"none\" stroke-width=\"%s\"", SHORT(width));
        write_colour(c, "stroke", colour);
        if (dash > 0) fprintf(c->out, " stroke-dasharray=\"%s\"", SHORT(dash));
        fputs("/>\n", c->out);
        return;
    }
    set_colour(c, colour);
    cairo_set_line_width(c->cairo, width);
    cairo_set_dash(c->cairo, &dash, dash > 0, 0);
    trace_points(c, p, n);
    cairo_stroke(c->cairo);
}

void tw_canvas_circle(tw_canvas *c, double x, double y, double radius, double width, unsigned colour)
{
    if (c->kind == TW_CANVAS_SVG) {
        fprintf(c->out, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\"", SHORT(x), SHORT(y), SHORT(radius));
        write_colour(c, width > 0 ? "stroke" : "fill", colour);
        if (width > 0) fprintf(c->out, " fill=\"none\" stroke-width=\"%s\"", SHORT(width));
        fputs("/>\n", c->out);
        return;
    }
    set_colour(c, colour);
    cairo_new_sub_path(c->cairo);
    cairo_arc(c->cairo, x, y, radius, 0, 2 * acos(-1));
    cairo_set_line_width(c->cairo, width);
    cairo_set_dash(c->cairo, NULL, 0, 0);
    if (width > 0)
        cairo_stroke(c->cairo);
    else
        cairo_fill(c->cairo);
}

/* ---- hatching ---- */

/* Number of the pattern, which is written down when it is used first. The last one stands for colours too many. */
static int find_hatch(tw_canvas *c, unsigned colour)
{
    for (int i = 0; i < c->n_hatches; i++)
        if (c->hatch[i] == colour) return i;
    if (c->n_hatches == TW_CANVAS_HATCHES) return c->n_hatches - 1;
    fprintf(c->out,
            "<pattern id=\"hatch%d\" width=\"%d\" height=\"%d\" patternUnits=\"userSpaceOnUse\">"
            "<path d=\"M-1 1L1 -1M0 %dL%d 0M%d %dL%d %d\" stroke-width=\"%s\"",
            c->n_hatches, HATCH, HATCH, HATCH, HATCH, HATCH - 1, HATCH + 1, HATCH + 1, HATCH - 1,
            SHORT(hatch_width));
    write_colour(c, "stroke", colour);
    fputs("/></pattern>\n", c->out);
    c->hatch[c->n_hatches] = colour;
    return c->n_hatches++;
}

/* All slanting lines of the plane that meet the shape: x + y is a multiple of their distance. */
static void draw_hatch(tw_canvas *c, const tw_point *p, int n, unsigned colour)
{
    double left, top, right, bottom;
    cairo_save(c->cairo);
    trace_points(c, p, n);
    cairo_clip_preserve(c->cairo);
    cairo_fill_extents(c->cairo, &left, &top, &right, &bottom);
    cairo_new_path(c->cairo);
    for (double sum = ceil((left + top) / HATCH) * HATCH; sum <= right + bottom; sum += HATCH) {
        cairo_move_to(c->cairo, sum - top + 1, top - 1);
        cairo_line_to(c->cairo, sum - bottom - 1, bottom + 1);
    }
    set_colour(c, colour);
    cairo_set_line_width(c->cairo, hatch_width);
    cairo_set_dash(c->cairo, NULL, 0, 0);
    cairo_stroke(c->cairo);
    cairo_restore(c->cairo);
}

void tw_canvas_hatch(tw_canvas *c, const tw_point *p, int n, unsigned colour)
{
    if (c->kind != TW_CANVAS_SVG) {
        draw_hatch(c, p, n, colour);
        return;
    }
    int pattern = find_hatch(c, colour);
    fputs("<path d=\"", c->out);
    write_path(c, p, n);
    fprintf(c->out, "Z\" fill=\"url(#hatch%d)\"/>\n", pattern);
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

static void write_text(tw_canvas *c, double x, double y, double size, tw_anchor anchor, unsigned colour,
                       const char *text)
{
    static const char *const word[] = {"start", "middle", "end"};
    fprintf(c->out, "<text x=\"%s\" y=\"%s\"", SHORT(x), SHORT(y));
    fprintf(c->out, " font-size=\"%s\" text-anchor=\"%s\"", SHORT(size), word[anchor]);
    write_colour(c, "fill", colour);
    fputc('>', c->out);
    write_escaped(text, c->out);
    fputs("</text>\n", c->out);
}

static void show_text(tw_canvas *c, double x, double y, double size, tw_anchor anchor, unsigned colour,
                      const char *text)
{
    cairo_text_extents_t e;
    cairo_save(c->cairo);
    set_colour(c, colour);
    cairo_set_font_size(c->cairo, size);
    cairo_text_extents(c->cairo, text, &e);
    cairo_translate(c->cairo, x, y);
    cairo_move_to(c->cairo, anchor == TW_LEFT ? 0 : anchor == TW_MIDDLE ? -e.x_advance / 2 : -e.x_advance, 0);
    cairo_show_text(c->cairo, text);
    cairo_restore(c->cairo);
}

static void put_text(tw_canvas *c, double x, double y, double size, tw_anchor anchor, unsigned colour,
                     const char *text)
{
    if (c->kind == TW_CANVAS_SVG) {
        write_text(c, x, y, size, anchor, colour, text);
        return;
    }
    char clean[TW_CANVAS_TEXT], one[TW_VISIBLE_MAX];
    size_t n = 0;
    while (*text && n + sizeof one < sizeof clean) {
        text += tw_visible_next(text, one);
        n = (size_t)(stpcpy(clean + n, one) - clean);
    }
    clean[n] = 0;
    show_text(c, x, y, size, anchor, colour, clean);
}

void tw_canvas_text(tw_canvas *c, double x, double y, double size, tw_anchor anchor, unsigned colour,
                    const char *text)
{
    put_text(c, x, y, size, anchor, colour, text);
}

/* ---- the end ---- */

void tw_canvas_drop(tw_canvas *c)
{
    if (c->cairo) cairo_destroy(c->cairo);
    if (c->surface) cairo_surface_destroy(c->surface);
    c->cairo = c->surface = NULL;
}

static bool finish(tw_canvas *c)
{
    switch (c->kind) {
    case TW_CANVAS_SVG: return fputs("</svg>\n", c->out) >= 0;
    case TW_CANVAS_PNG:
        return cairo_surface_write_to_png_stream(c->surface, write_bytes, c->out) == CAIRO_STATUS_SUCCESS;
    case TW_CANVAS_PDF: break;
    }
    cairo_show_page(c->cairo);
    cairo_surface_finish(c->surface);
    return cairo_surface_status(c->surface) == CAIRO_STATUS_SUCCESS;
}

tw_status tw_canvas_close(tw_canvas *c)
{
    cairo_status_t drawn = c->cairo ? cairo_status(c->cairo) : CAIRO_STATUS_SUCCESS;
    c->failed |= drawn != CAIRO_STATUS_SUCCESS && drawn != CAIRO_STATUS_WRITE_ERROR;
    bool written = finish(c);
    tw_canvas_drop(c);
    if (c->failed) return TW_ERR_NOMEM;
    return written && fflush(c->out) == 0 && !ferror(c->out) ? TW_OK : TW_ERR_IO;
}
