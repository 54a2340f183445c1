/* src/report/canvas.c - see canvas.h. */
#include "report/canvas.h"
#include "report/utf8.h"

#include <cairo.h>
#include <stdio.h>
#include <string.h>

static const char family[] = "DejaVu Sans, Helvetica, Arial, sans-serif";

static cairo_status_t write_bytes(void *user, const unsigned char *bytes, unsigned n)
{
    return fwrite(bytes, 1, n, user) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

tw_status tw_canvas_open(tw_canvas *c, tw_canvas_kind kind, int width, int height, FILE *out)
{
    *c = (tw_canvas){.kind = kind, .out = out};
    if (kind == TW_CANVAS_SVG) {
        fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                "font-family=\"%s\">\n",
                width, height, width, height, family);
        return TW_OK;
    }
    c->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    c->cairo = cairo_create(c->surface);
    if (cairo_status(c->cairo) != CAIRO_STATUS_SUCCESS) {
        tw_canvas_drop(c);
        return TW_ERR_NOMEM;
    }
    cairo_select_font_face(c->cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    return TW_OK;
}

static void set_colour(tw_canvas *c, unsigned colour)
{
    cairo_set_source_rgb(c->cairo, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                         (colour & 255) / 255.0);
}

void tw_canvas_rect(tw_canvas *c, double x, double y, double w, double h, unsigned colour)
{
    if (c->kind == TW_CANVAS_SVG) {
        fprintf(c->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#%06x\"/>\n", x, y, w, h,
                colour);
        return;
    }
    set_colour(c, colour);
    cairo_rectangle(c->cairo, x, y, w, h);
    cairo_fill(c->cairo);
}

/* The next character of a name, which need not be UTF-8; returns the bytes that were read. Control characters become blanks, what
 * is no character, or none that XML may hold, U+FFFD. */
static size_t next_character(const char *text, char out[5])
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t n = (size_t)tw_utf8_length((const unsigned char *)text);
    if (n == 0 || strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0) {
        strcpy(out, replacement);
        return n ? n : 1;
    }
    memcpy(out, text, n);
    out[n] = 0;
    if ((unsigned char)*out < ' ' || *out == 0x7f) *out = ' ';
    return n;
}

static void write_escaped(const char *text, FILE *out)
{
    char c[5];
    while (*text) {
        text += next_character(text, c);
        fputs(*c == '<' ? "&lt;" : *c == '>' ? "&gt;" : *c == '&' ? "&amp;" : *c == '"' ? "&quot;" : c, out);
    }
}

static void write_text(tw_canvas *c, double x, double y, double size, tw_anchor anchor, unsigned colour,
                       const char *text)
{
    static const char *const word[] = {"start", "middle", "end"};
    fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"%s\" fill=\"#%06x\">", x, y, size,
            word[anchor], colour);
    write_escaped(text, c->out);
    fputs("</text>\n", c->out);
}

static void draw_text(tw_canvas *c, double x, double y, double size, tw_anchor anchor, unsigned colour,
                      const char *text)
{
    cairo_text_extents_t e;
    set_colour(c, colour);
    cairo_set_font_size(c->cairo, size);
    cairo_text_extents(c->cairo, text, &e);
    cairo_move_to(c->cairo, x - (anchor == TW_LEFT ? 0 : anchor == TW_MIDDLE ? e.x_advance / 2 : e.x_advance), y);
    cairo_show_text(c->cairo, text);
    if (cairo_status(c->cairo) != CAIRO_STATUS_SUCCESS) c->failed = true;
}

void tw_canvas_text(tw_canvas *c, double x, double y, double size, tw_anchor anchor, unsigned colour,
                    const char *text)
{
    if (c->kind == TW_CANVAS_SVG) {
        write_text(c, x, y, size, anchor, colour, text);
        return;
    }
    char clean[TW_CANVAS_TEXT], one[5];
    size_t n = 0;
    while (*text && n + sizeof one < sizeof clean) {
        text += next_character(text, one);
        n = (size_t)(stpcpy(clean + n, one) - clean);
    }
    clean[n] = 0;
    draw_text(c, x, y, size, anchor, colour, clean);
}

void tw_canvas_drop(tw_canvas *c)
{
    if (c->cairo) cairo_destroy(c->cairo);
    if (c->surface) cairo_surface_destroy(c->surface);
    c->cairo = c->surface = NULL;
}

tw_status tw_canvas_close(tw_canvas *c)
{
    bool written = true;
    if (c->kind == TW_CANVAS_SVG)
        fputs("</svg>\n", c->out);
    else
        written = cairo_surface_write_to_png_stream(c->surface, write_bytes, c->out) == CAIRO_STATUS_SUCCESS;
    tw_canvas_drop(c);
    if (c->failed) return TW_ERR_NOMEM;
    return written && fflush(c->out) == 0 && !ferror(c->out) ? TW_OK : TW_ERR_IO;
}
