/* tilewright/paint.h - who draws PNG and PDF.
 *
 * The library writes SVG itself. Pixels and pages are a painter's work, which lives in a library of its own, so that
 * a program that only plans links no drawing library:
 *
 *     tw_context_use_painter(ctx, tw_cairo_painter());      link with -ltilewright-cairo
 *
 * A painter is a table of functions, so that a program with a drawing library of its own can be one. Lengths are in
 * units of the picture; y grows downwards. Colours are 0xttrrggbb, t being how much shows through. */
#ifndef TILEWRIGHT_PAINT_H
#define TILEWRIGHT_PAINT_H
#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_point {
    double x, y;
} tw_point;
/* Marks on the plane, which go on from one shape to the next. */
typedef enum tw_mark { TW_MARK_HATCH, TW_MARK_DOTS, TW_MARK_BARS, TW_MARK_POLES } tw_mark;
typedef struct tw_marks {
    tw_mark mark;
    double gap, width; /* between lines or dots along x and y, and of each */
    unsigned colour;
} tw_marks;
typedef enum tw_anchor { TW_LEFT, TW_MIDDLE, TW_RIGHT } tw_anchor;
typedef struct tw_label { /* a text that stands on its base line */
    double x, y, size;
    tw_anchor anchor;
    unsigned colour;
    const char *text; /* UTF-8 without control characters */
} tw_label;

typedef struct tw_painter {
    size_t size; /* of this table as the painter knows it */
    /* A sheet of width x height units, `scale` pixels (PNG) or points (PDF) to a unit; NULL: out of memory. */
    void *(*open)(tw_image image, double width, double height, double scale, FILE *out);
    /* What n >= 3 points enclose: filled, or with slanting lines `gap` units apart along x that meet those of its neighbours. */
    void (*area)(void *sheet, const tw_point *point, int n, unsigned colour);
    void (*hatch)(void *sheet, const tw_point *point, int n, double gap, double width, unsigned colour);
    /* Through n >= 2 points; `dash`: length of dashes and of the gaps between them, 0: none. */
    void (*line)(void *sheet, const tw_point *point, int n, double width, double dash, unsigned colour);
    /* Filled, or with `width` > 0 only its line. */
    void (*circle)(void *sheet, tw_point centre, double radius, double width, unsigned colour);
    void (*text)(void *sheet, const tw_label *label);
    /* Writes the picture: TW_OK, TW_ERR_NOMEM, TW_ERR_IO. The sheet is gone. */
    tw_status (*close)(void *sheet);
    /* Gives it up without writing. */
    void (*drop)(void *sheet);
    /* What n >= 3 points enclose, with dots in squares or lines along x (bars) or y (poles). NULL, or beyond `size`: areas stay plain. */
    void (*marks)(void *sheet, const tw_point *point, int n, const tw_marks *marks);
} tw_painter;

/* From now on the context's PNG and PDF are drawn by this painter, which must live as long. */
TW_API void tw_context_use_painter(tw_context *ctx, const tw_painter *painter);

/* In libtilewright-cairo: cairo and FreeType, with DejaVu Sans. */
TW_API const tw_painter *tw_cairo_painter(void);

#ifdef __cplusplus
}
#endif
#endif
