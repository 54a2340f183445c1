/* src/report/canvas.c - see canvas.h. */
#include "report/canvas.h"

#include <cairo.h>
#include <stdio.h>

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
    cairo_set_source_rgb(c->cairo, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0, (colour & 255) / 255.0);
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

void tw_canvas_frame(tw_canvas *c, double x, double y, double w, double h, unsigned colour)
{
    if (c->kind == TW_CANVAS_SVG) {
        fprintf(c->out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#%06x\" "
                "stroke-width=\"1.5\"/>\n",
                x, y, w, h, colour);
        return;
    }
    set_colour(c, colour);
    cairo_set_line_width(c->cairo, 1.5);
    cairo_rectangle(c->cairo, x, y, w, h);
    cairo_stroke(c->cairo);
}

static void put_escaped(const char *text, FILE *out)
{
    for (; *text; text++) switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default:
            if ((unsigned char)*text >= ' ') fputc(*text, out);
        }
}

void tw_canvas_text(tw_canvas *c, double x, double y, double size, tw_anchor anchor, unsigned colour, const char *text)
{
    static const char *const word[] = {"start", "middle", "end"};
    if (c->kind == TW_CANVAS_SVG) {
        fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"%s\" fill=\"#%06x\">", x, y, size,
                word[anchor], colour);
        put_escaped(text, c->out);
        fputs("</text>\n", c->out);
        return;
    }
    cairo_text_extents_t e;
    set_colour(c, colour);
    cairo_set_font_size(c->cairo, size);
    cairo_text_extents(c->cairo, text, &e);
    cairo_move_to(c->cairo, x - (anchor == TW_LEFT ? 0 : anchor == TW_MIDDLE ? e.x_advance / 2 : e.x_advance), y);
    cairo_show_text(c->cairo, text);
    if (cairo_status(c->cairo) != CAIRO_STATUS_SUCCESS) c->failed = true;
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
