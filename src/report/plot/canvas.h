/* src/report/plot/canvas.h - shapes and texts on paper: as SVG, whose texts stay texts; as PNG or PDF by a painter.
 *
 *     tw_canvas c;
 *     TW_TRY(tw_canvas_open(&c, &(tw_medium){TW_IMAGE_PNG, painter, out}, 640, 480));
 *     tw_canvas_rect(&c, 0, 0, 640, 480, 0xffffff);
 *     tw_canvas_text(&c, &(tw_label){20, 40, 12, TW_LEFT, 0x000000, "hello"});
 *     TW_TRY(tw_canvas_close(&c));
 *
 * Lengths are in pixels, or in the units of a picture for print; y grows downwards; a text stands on its base line at
 * y. Colours are 0xrrggbb, or what tw_faded makes of one. Points that are not finite are the caller's mistake. */
#ifndef TW_REPORT_PLOT_CANVAS_H
#define TW_REPORT_PLOT_CANVAS_H
#include "core/core.h"
#include "tilewright/paint.h"

typedef struct tw_medium {
    tw_image image;
    const tw_painter *painter; /* of a PNG or PDF; NULL: there is none, and only SVG */
    FILE *out;
    double dpi; /* of a PNG for print; 0: two pixels for each unit */
} tw_medium;
/* Pixels of a PNG, points of a PDF for a unit of a picture for print that is so many millimetres long. */
double tw_medium_scale(const tw_medium *medium, double mm);

enum {
    TW_CANVAS_MAX = 30000, /* pixels along one side                       */
    TW_CANVAS_TEXT = 512,  /* bytes of a text on a PNG or PDF, more is cut */
    TW_CANVAS_MARKS = 32,  /* patterns that an SVG may have                */
};

typedef struct tw_canvas {
    tw_medium medium;
    void *sheet; /* of a PNG or PDF           */
    int n_marks; /* of an SVG: defined so far */
    struct {
        tw_mark mark;
        unsigned colour;
    } marks[TW_CANVAS_MARKS];
} tw_canvas;

/* A pixel is a pixel, and 1/96 inch of a PDF. TW_ERR_INPUT: nobody draws such an image here. */
TW_NODISCARD tw_status tw_canvas_open(tw_canvas *canvas, const tw_medium *medium, int width, int height);
/* For print: `mm` millimetres are `width` units; a PNG has two pixels for each unit, or the dots per inch of its medium. */
TW_NODISCARD tw_status tw_canvas_open_print(tw_canvas *canvas, const tw_medium *medium, int width, int height,
                                            double mm);
/* Says what a status of open and close means, and returns it. */
tw_status tw_canvas_explain(tw_status status, tw_diag *diag);

/* What is behind it shows through; opacity 0..1. */
unsigned tw_faded(unsigned colour, double opacity);
/* `share` of b in a, neither faded. */
unsigned tw_mixed(unsigned a, unsigned b, double share);

void tw_canvas_rect(tw_canvas *canvas, double x, double y, double w, double h, unsigned colour);
/* What n >= 3 points enclose: filled, and with slanting lines that meet those of its neighbours. */
void tw_canvas_area(tw_canvas *canvas, const tw_point *point, int n, unsigned colour);
void tw_canvas_hatch(tw_canvas *canvas, const tw_point *point, int n, unsigned colour);
/* The same with other marks. */
void tw_canvas_mark(tw_canvas *canvas, const tw_point *point, int n, tw_mark mark, unsigned colour);
/* Through n >= 2 points; `dash` is the length of dashes and of the gaps between them, 0: none. */
void tw_canvas_line(tw_canvas *canvas, const tw_point *point, int n, double width, double dash, unsigned colour);
/* Filled, or with `width` > 0 only its line. */
void tw_canvas_circle(tw_canvas *canvas, double x, double y, double radius, double width, unsigned colour);

/* Any bytes: what is not UTF-8 is drawn as U+FFFD, control characters as blanks. */
void tw_canvas_text(tw_canvas *canvas, const tw_label *label);
/* How wide a text is in the font that pictures ask for; others are about as wide. */
double tw_canvas_text_width(const char *text, double size);

/* TW_ERR_IO when something could not be written, TW_ERR_NOMEM; releases everything. */
TW_NODISCARD tw_status tw_canvas_close(tw_canvas *canvas);
/* Gives it up without writing. */
void tw_canvas_drop(tw_canvas *canvas);
#endif
