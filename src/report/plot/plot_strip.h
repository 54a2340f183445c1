/* src/report/plot/plot_strip.h - what one thing does along the axis of time, for pictures whose size does not grow with it.
 *
 *     share  1 |   ____            |
 *              |__|    |_   _____  |     pieces that are wider than two pixels: as they are, from edge to edge
 *            0 |__|____|_|_|_____|_|     narrower ones: a column of pixels holds each kind with its share of the time
 *
 * In either case the area of a kind is the time that it takes: a picture never shows more or less of it than there
 * is. A strip may stand for several things (the units of an engine, buffers behind each other): then columns hold the
 * shares of all of them. Nothing is kept but what is drawn. */
#ifndef TW_REPORT_PLOT_PLOT_STRIP_H
#define TW_REPORT_PLOT_PLOT_STRIP_H
#include "report/plot/plot.h"

typedef struct tw_strip_part { /* of what happens at one time */
    int kind;
    double share; /* of the height */
} tw_strip_part;

typedef struct tw_strip_bar {
    int kind;
    int64_t from, to;  /* cycles */
    double lo, hi;     /* of the height */
    bool whole;        /* a piece as it is */
    const char *label; /* NULL: none */
    int64_t next;      /* bar of the strip, -1: none */
} tw_strip_bar;

typedef struct tw_strip {
    bool sum;
    double weight;       /* of a sum: of all that it stands for, set by its owner */
    int64_t first, last; /* bars, -1: none */
    int64_t at;          /* end of the last piece */
    int column;          /* at work, beginning with `lo` */
    int64_t lo;
    int first_column, n_columns; /* of a sum */
    double *time;                /* per kind; of a sum per column and kind */
} tw_strip;

typedef struct tw_strips {
    tw_span shown;
    int columns;
    int64_t wide; /* cycles from which on a piece is drawn as it is */
    tw_arena *arena;
    int64_t n_strips, strip_room, n_bars, bar_room;
    tw_strip *strip;
    tw_strip_bar *bar;
    double *busy;   /* per kind, over all strips: cycles that are shown */
    tw_point *line; /* room for the corners of a shape */
} tw_strips;

/* Of `width` units, two columns each. */
TW_NODISCARD tw_status tw_strips_init(tw_strips *strips, tw_span shown, double width, tw_arena *arena);
/* A strip of its own; its pieces come in the order of time. */
TW_NODISCARD tw_status tw_strips_add(tw_strips *strips, int *out);
/* A sum of several within these cycles: pieces in any order, each of some weight. Its own weight is the
 * owner's to set before the end. */
TW_NODISCARD tw_status tw_strips_add_sum(tw_strips *strips, tw_span cycles, int *out);
typedef struct tw_strip_piece { /* of the time of a strip                    */
    tw_span when;
    const tw_strip_part *part; /* how its height is divided                 */
    int n_parts;
    double weight;     /* counts only in a sum                      */
    const char *label; /* NULL: none                                */
} tw_strip_piece;
TW_NODISCARD tw_status tw_strips_put(tw_strips *strips, int strip, const tw_strip_piece *piece);
/* Whether a label may be seen on a piece of this length. */
bool tw_strips_shows_label(const tw_strips *strips, tw_span when);
/* After the last piece. */
TW_NODISCARD tw_status tw_strips_end(tw_strips *strips);
/* Kinds that occur: bit k for kind k. */
unsigned tw_strips_kinds(const tw_strips *strips);
/* Draws one between top and top + height. */
void tw_strip_draw(const tw_strips *strips, int strip, tw_plot *plot, const tw_scale *x, double top, double height);
#endif
