/* paint/cairo.c - the painter that cairo is; see tilewright/paint.h. */
#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>
#include <stdlib.h>

#include "paint/font.h"
#include "tilewright/paint.h"

typedef struct sheet {
    tw_image image;
    FILE *out;
    cairo_surface_t *surface;
    cairo_t *cairo;
} sheet;

static cairo_status_t write_bytes(void *user, const unsigned char *bytes, unsigned n)
{
    return fwrite(bytes, 1, n, user) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static void drop(void *user)
{
    sheet *s = user;
    if (s->cairo) cairo_destroy(s->cairo);
    if (s->surface) cairo_surface_destroy(s->surface);
    free(s);
}

static cairo_surface_t *new_surface(tw_image image, double width, double height, FILE *out)
{
    /* No two runs write different bytes: the date is one that was once and for all. */
    static const char date[] = "2000-01-01T00:00:00Z";
    if (image == TW_IMAGE_PNG)
        return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)lround(width), (int)lround(height));
    cairo_surface_t *pdf = cairo_pdf_surface_create_for_stream(write_bytes, out, width, height);
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATE_DATE, date);
    return pdf;
}

static void *open_sheet(tw_image image, double width, double height, double scale, FILE *out)
{
    sheet *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->image = image;
    s->out = out;
    s->surface = new_surface(image, width * scale, height * scale, out);
    s->cairo = cairo_create(s->surface);
    if (cairo_status(s->cairo) == CAIRO_STATUS_SUCCESS) {
        cairo_scale(s->cairo, scale, scale);
        if (font_choose(s->cairo)) return s;
    }
    drop(s);
    return NULL;
}

static void set_colour(sheet *s, unsigned colour)
{
    cairo_set_source_rgba(s->cairo, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                          (colour & 255) / 255.0, 1 - (colour >> 24) / 255.0);
}

static void trace_points(sheet *s, const tw_point *p, int n)
{
    cairo_move_to(s->cairo, p[0].x, p[0].y);
    for (int i = 1; i < n; i++) cairo_line_to(s->cairo, p[i].x, p[i].y);
}

static void area(void *user, const tw_point *p, int n, unsigned colour)
{
    sheet *s = user;
    set_colour(s, colour);
    trace_points(s, p, n);
    cairo_close_path(s->cairo);
    cairo_fill(s->cairo);
}

static void line(void *user, const tw_point *p, int n, double width, double dash, unsigned colour)
{
    sheet *s = user;
    set_colour(s, colour);
    cairo_set_line_width(s->cairo, width);
    cairo_set_dash(s->cairo, &dash, dash > 0, 0);
    trace_points(s, p, n);
    cairo_stroke(s->cairo);
}

static void circle(void *user, tw_point centre, double radius, double width, unsigned colour)
{
    sheet *s = user;
    set_colour(s, colour);
    cairo_new_sub_path(s->cairo);
    cairo_arc(s->cairo, centre.x, centre.y, radius, 0, 2 * acos(-1));
    cairo_set_line_width(s->cairo, width);
    cairo_set_dash(s->cairo, NULL, 0, 0);
    if (width > 0)
        cairo_stroke(s->cairo);
    else
        cairo_fill(s->cairo);
}

/* All slanting lines of the plane that meet the shape: x + y is a multiple of their distance. */
static void hatch(void *user, const tw_point *p, int n, double gap, double width, unsigned colour)
{
    sheet *s = user;
    double left, top, right, bottom;
    cairo_save(s->cairo);
    trace_points(s, p, n);
    cairo_clip_preserve(s->cairo);
    cairo_fill_extents(s->cairo, &left, &top, &right, &bottom);
    cairo_new_path(s->cairo);
    for (double sum = ceil((left + top) / gap) * gap; sum <= right + bottom; sum += gap) {
        cairo_move_to(s->cairo, sum - top + 1, top - 1);
        cairo_line_to(s->cairo, sum - bottom - 1, bottom + 1);
    }
    set_colour(s, colour);
    cairo_set_line_width(s->cairo, width);
    cairo_set_dash(s->cairo, NULL, 0, 0);
    cairo_stroke(s->cairo);
    cairo_restore(s->cairo);
}

static void trace_dots(sheet *s, double gap, double width, const double box[4])
{
    double half = gap / 2;
    for (double y = floor(box[1] / half) * half, row = floor(box[1] / half); y <= box[3]; y += half, row++)
        for (double x = (floor(box[0] / gap) + fmod(fabs(row), 2) / 2) * gap; x <= box[2]; x += gap)
            cairo_rectangle(s->cairo, x + width / 2, y + width / 2, width, width);
}

/* Lines along x or y, each behind a multiple of their distance. */
static void trace_lines(sheet *s, const tw_marks *m, const double box[4])
{
    bool bars = m->mark == TW_MARK_BARS;
    for (double at = floor(box[bars] / m->gap) * m->gap; at <= box[2 + bars]; at += m->gap)
        cairo_rectangle(s->cairo, bars ? box[0] : at + 1, bars ? at + 1 : box[1], bars ? box[2] - box[0] : m->width,
                        bars ? m->width : box[3] - box[1]);
}

static void marks(void *user, const tw_point *p, int n, const tw_marks *m)
{
    sheet *s = user;
    double box[4]; /* left, top, right, bottom */
    cairo_save(s->cairo);
    trace_points(s, p, n);
    cairo_clip_preserve(s->cairo);
    cairo_fill_extents(s->cairo, &box[0], &box[1], &box[2], &box[3]);
    cairo_new_path(s->cairo);
    if (m->mark == TW_MARK_DOTS)
        trace_dots(s, m->gap, m->width, box);
    else
        trace_lines(s, m, box);
    set_colour(s, m->colour);
    cairo_fill(s->cairo);
    cairo_restore(s->cairo);
}

static void text(void *user, const tw_label *label)
{
    sheet *s = user;
    cairo_text_extents_t e;
    cairo_save(s->cairo);
    set_colour(s, label->colour);
    cairo_set_font_size(s->cairo, label->size);
    cairo_text_extents(s->cairo, label->text, &e);
    double back = label->anchor == TW_LEFT ? 0 : label->anchor == TW_MIDDLE ? e.x_advance / 2 : e.x_advance;
    cairo_translate(s->cairo, label->x, label->y);
    cairo_move_to(s->cairo, -back, 0);
    cairo_show_text(s->cairo, label->text);
    cairo_restore(s->cairo);
}

static bool finish(sheet *s)
{
    if (s->image == TW_IMAGE_PNG)
        return cairo_surface_write_to_png_stream(s->surface, write_bytes, s->out) == CAIRO_STATUS_SUCCESS;
    cairo_show_page(s->cairo);
    cairo_surface_finish(s->surface);
    return cairo_surface_status(s->surface) == CAIRO_STATUS_SUCCESS;
}

static tw_status close_sheet(void *user)
{
    sheet *s = user;
    cairo_status_t drawn = cairo_status(s->cairo);
    bool failed = drawn != CAIRO_STATUS_SUCCESS && drawn != CAIRO_STATUS_WRITE_ERROR;
    bool written = finish(s);
    drop(s);
    return failed ? TW_ERR_NOMEM : written ? TW_OK : TW_ERR_IO;
}

const tw_painter *tw_cairo_painter(void)
{
    static const tw_painter painter = {sizeof painter, open_sheet, area,        hatch, line,
                                       circle,         text,       close_sheet, drop,  marks};
    return &painter;
}
