/* src/write/line.h - one line of a terminal, as cells.
 *
 * A printer puts pieces of text at columns, in any order, and ends the line. Each cell holds one character and
 * its style, so that widths are counted in characters and no line is wider than what was asked for: what lies
 * beyond the last column is not drawn. Printers that must not lose text measure first and wrap. */
#ifndef TW_WRITE_LINE_H
#define TW_WRITE_LINE_H
#include "core/core.h"

enum { TW_COLUMNS_MIN = 60, TW_COLUMNS_DEFAULT = 80, TW_COLUMNS_MAX = 400 };

typedef enum tw_style {
    TW_PLAIN,
    TW_BOLD,  /* headings            */
    TW_DIM,   /* what is not there   */
    TW_ALARM, /* faults              */
    TW_GOOD,  /* a plan that was verified */
    TW_HUES,  /* TW_HUES + i: the colour of operand i, i taken modulo TW_N_HUES */
} tw_style;
enum { TW_N_HUES = 6 };
static inline tw_style tw_style_of_operand(int operand) { return (tw_style)(TW_HUES + operand % TW_N_HUES); }

/* Characters that differ between terminals. */
typedef struct tw_glyphs {
    const char *arrow;               /* from > to               */
    const char *wall;                /* left edge of a slot     */
    const char *enter;               /* left edge of a slot that is being written */
    const char *dead;                /* cell of a slot without a live value       */
    const char *filled, *empty;      /* cells of a gauge */
    const char *left;                /* points at the peak      */
    const char *times;               /* between extents         */
    const char *etc;                 /* rows left out           */
    const char *corner[4];           /* of a box: top left, top right, bottom left, bottom right */
    const char *beam, *pole;         /* its edges, and lines between boxes                       */
    const char *up, *down;           /* where such a line points                                 */
    const char *tick;                /* of an axis                                               */
    const char *run, *run_begins;    /* cells of a Gantt chart: the compute engine works    */
    const char *no_data, *no_credit; /* an engine waits                                     */
} tw_glyphs;

typedef struct tw_line {
    FILE *out;
    int columns;
    bool colour;
    tw_glyphs glyph;
    bool failed; /* out of memory: something is missing               */
    int used;    /* cells from the left edge to the last one written  */
    struct {
        char bytes[5];
        unsigned char style;
    } cell[TW_COLUMNS_MAX];
} tw_line;

/* An empty line for `out` with the width, colours and characters of `options`. */
void tw_line_init(tw_line *line, const tw_print_options *options, FILE *out);
/* Writes text at column `at` (from 0) and returns the column after it. */
int tw_line_put(tw_line *line, int at, tw_style style, const char *text);
int tw_line_printf(tw_line *line, int at, tw_style style, const char *fmt, ...) TW_PRINTF(4, 5);
/* Text that ends before column `end`. */
void tw_line_put_right(tw_line *line, int end, tw_style style, const char *text);
/* Prints the line without trailing blanks and starts an empty one. */
void tw_line_end(tw_line *line);
/* Words from column `at`, broken into as many lines as they need, each continued at column `at`; ends the line. */
void tw_line_wrap(tw_line *line, int at, tw_style style, const char *text);

/* Whether the text is whole; the line remembers one that is not. */
bool tw_line_has(tw_line *line, const tw_text *text);
/* TW_ERR_NOMEM when something is missing. */
TW_NODISCARD tw_status tw_line_status(const tw_line *line);

/* Characters of a UTF-8 text. */
int tw_text_width(const char *text);
#endif
