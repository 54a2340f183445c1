/* src/report/canvas.h - rectangles and texts on paper: as SVG, whose texts stay texts, or as PNG.
 *
 *     tw_canvas c;
 *     TW_TRY(tw_canvas_open(&c, TW_CANVAS_PNG, 640, 480, out));
 *     tw_canvas_rect(&c, 0, 0, 640, 480, 0xffffff);
 *     tw_canvas_text(&c, 20, 40, 12, TW_LEFT, 0x000000, "hello");
 *     TW_TRY(tw_canvas_close(&c));
 *
 * Lengths are in pixels, y grows downwards, colours are 0xrrggbb; a text stands on its base line at y. */
#ifndef TW_REPORT_CANVAS_H
#define TW_REPORT_CANVAS_H
#include "core/core.h"

typedef enum tw_canvas_kind { TW_CANVAS_SVG, TW_CANVAS_PNG } tw_canvas_kind;
typedef enum tw_anchor { TW_LEFT, TW_MIDDLE, TW_RIGHT } tw_anchor;
typedef struct tw_canvas {
    tw_canvas_kind kind;
    FILE *out;
    void *cairo, *surface; /* of a PNG */
    bool failed;
} tw_canvas;

enum {
    TW_CANVAS_MAX = 30000, /* pixels along one side                 */
    TW_CANVAS_TEXT = 512,  /* bytes of a text on a PNG, less is cut */
};

TW_NODISCARD tw_status tw_canvas_open(tw_canvas *canvas, tw_canvas_kind kind, int width, int height, FILE *out);
void tw_canvas_rect(tw_canvas *canvas, double x, double y, double w, double h, unsigned colour);
/* Any bytes: what is not UTF-8 is drawn as U+FFFD, control characters as blanks. */
void tw_canvas_text(tw_canvas *canvas, double x, double y, double size, tw_anchor anchor, unsigned colour,
                    const char *text);
/* TW_ERR_IO when something could not be written, TW_ERR_NOMEM; releases everything. */
TW_NODISCARD tw_status tw_canvas_close(tw_canvas *canvas);
/* Gives it up without writing. */
void tw_canvas_drop(tw_canvas *canvas);
#endif
