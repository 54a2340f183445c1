/* src/report/plot/plot.h - pictures of a plan for print, all of one look.
 *
 * A picture is as wide as it is asked to be, by default a column of a paper: 85 mm, which are 320 units. Texts are 9.4
 * units high, 7 points on paper. A drawing function measures what it has to show, opens the picture with the height
 * that this takes, draws from top to bottom and closes it:
 *
 *     title                                matmul on kpu: 9'650 cycles
 *     caption, if a bound is known         proven in the space 'all': at least 8'552 cycles
 *     a frame, or several                  |..............|  axes are drawn around it
 *     legend                               [] ifm  [] w  [] ofm                                         */
#ifndef TW_REPORT_PLOT_PLOT_H
#define TW_REPORT_PLOT_PLOT_H
#include "plan/network.h"
#include "plan/plan.h"
#include "report/plot/canvas.h"

#define TW_PLOT_TEXT 9.4
enum { TW_PLOT_MARGIN = 6, TW_PLOT_LINE = 13 /* from one line of text to the next */ };

typedef struct tw_plot {
    const tw_plan *plan; /* NULL: of a network        */
    const char *subject; /* that the title begins with; NULL: the plan's */
    const char *caption; /* a line below the title, NULL: none           */
    const tw_plot_options *options;
    int first_op, n_ops; /* that are shown                       */
    tw_span shown;       /* cycles of the plan                   */
    int64_t cycles;      /* of the operators that are shown      */
    int64_t origin;      /* the cycle of the plan that is called 0 */
    tw_arena *arena;     /* of the picture: a walk rewinds `scratch` */
    tw_arena *scratch;
    tw_diag *diag;
    const tw_painter *painter;
    FILE *out;
    int width; /* units */
    double mm;
    double y; /* where the next thing is drawn */
    tw_canvas canvas;
} tw_plot;

/* `painter` draws PNG and PDF. */
tw_status tw_report_plot(const tw_plan *plan, const tw_plot_options *options, const tw_painter *painter,
                         tw_arena *scratch, tw_diag *diag, FILE *out);
/* Where the time of a whole network goes. */
tw_status tw_report_network_plot_losses(const tw_network_plan *plan, const tw_plot_options *options,
                                        const tw_painter *painter, tw_work work, FILE *out);
/* Those behind it. */
tw_status tw_plot_gantt(tw_plot *plot);
tw_status tw_plot_buffers(tw_plot *plot);
tw_status tw_plot_roofline(tw_plot *plot);
tw_status tw_plot_traffic(tw_plot *plot);
tw_status tw_plot_pareto(tw_plot *plot);
tw_status tw_plot_losses(tw_plot *plot);

/* How many units a picture of so many millimetres has; *mm 0: a column of a paper. */
TW_NODISCARD tw_status tw_plot_units(double *mm, int *units, tw_diag *diag);
/* Whether a PNG may have so many dots per inch; 0: as it has by default. */
TW_NODISCARD tw_status tw_plot_check_dpi(double dpi, tw_diag *diag);
/* Opens a picture of so many units below its title, which says `what` the plan costs. */
TW_NODISCARD tw_status tw_plot_open(tw_plot *plot, double height, const char *what);
/* "9'650 cycles", or of a part "cycles 0 to 1'400 of 9'650". */
enum { TW_PLOT_WINDOW = 4 * TW_GROUPED_MAX };
const char *tw_plot_window(const tw_plot *plot, char text[TW_PLOT_WINDOW]);
/* A text of the usual size. */
void tw_plot_put(tw_plot *plot, double x, double y, tw_anchor anchor, unsigned colour, const char *text);
/* As much of the text as fits, with an ellipsis; in the arena, NULL when out of memory. */
const char *tw_plot_fit(const char *text, double width, double size, tw_arena *arena);
TW_NODISCARD tw_status tw_plot_close(tw_plot *plot);

/* ---- colours: plot_colour.c ---- */

#define TW_INK   0x1b1f24u
#define TW_FAINT 0x5c6570u
#define TW_RULE  0xc4cad0u
#define TW_BACK  0xf1f3f6u
#define TW_PAPER 0xffffffu
/* As the page has them: what is moved, executed, a partial sum. */
typedef enum tw_form { TW_FORM_MOVED, TW_FORM_SOLID, TW_FORM_PARTIAL, TW_N_FORMS } tw_form;
/* Kinds of what takes time: an operand in a form, the tiles of a level, a reason for waiting. */
enum {
    TW_PLOT_HUES = 7, /* as many as the page has */
    TW_KIND_TILES = TW_PLOT_HUES * TW_N_FORMS,
    TW_KIND_DATA,
    TW_KIND_CREDIT,
    TW_KIND_ROW,
    TW_KIND_PORT,
    TW_N_KINDS
};
static inline int tw_kind_of(int hue, tw_form form) { return hue * TW_N_FORMS + (int)form; }
/* Operands are coloured by number: inputs in their order, but the output always has the same. */
int tw_operand_hue(const tw_op *op, int operand);
/* Commands of groups, as in the page: a colour per group; where there is only one, per operator. */
int tw_group_hue(const tw_plan *plan, const tw_instr *instr);
unsigned tw_operand_colour(int hue);
/* Fills a shape as its kind looks. */
void tw_plot_fill(tw_plot *plot, int kind, const tw_point *point, int n);
void tw_plot_fill_rect(tw_plot *plot, int kind, double x, double y, double w, double h);
/* Black or white, whichever is read better on it. */
unsigned tw_ink_on(unsigned colour);
unsigned tw_kind_colour(int kind);
/* What a shape of it is filled with, below any lines. */
unsigned tw_kind_ground(int kind);

typedef struct tw_legend_item {
    int kind; /* < 0: the text alone */
    const char *text;
} tw_legend_item;
/* Height of a legend, and the legend at plot->y. */
double tw_legend_height(const tw_plot *plot, const tw_legend_item *item, int n);
void tw_legend_draw(tw_plot *plot, const tw_legend_item *item, int n);
/* The kinds that occur, bit k for kind k, with their names; returns how many. `item` has room for TW_N_KINDS. */
int tw_legend_of_kinds(const tw_plot *plot, unsigned kinds, tw_legend_item *item);
/* The same where colours are those of tw_group_hue. */
int tw_legend_of_groups(const tw_plot *plot, unsigned kinds, tw_legend_item *item);

/* ---- axes: plot_axis.c ---- */

typedef struct tw_scale { /* values lo..hi at from..to of the picture */
    double lo, hi, from, to;
    bool log;
    bool whole; /* counts: no ticks between two numbers */
} tw_scale;
double tw_scale_at(const tw_scale *scale, double value);
/* Both with round values at their ends. Logarithmic, of positive values: */
tw_scale tw_scale_log(double lo, double hi, double from, double to);
/* From 0, unless lo is far from it. */
tw_scale tw_scale_linear(double lo, double hi, double from, double to);

enum { TW_MAX_TICKS = 24 };
typedef struct tw_tick {
    double value, at;
    char text[TW_GROUPED_MAX];
} tw_tick;
/* Round values whose texts do not touch: `across` along x, otherwise along y. Returns how many. */
int tw_ticks_of(const tw_scale *scale, bool across, tw_tick tick[TW_MAX_TICKS]);

typedef struct tw_plot_frame {
    double left, top, width, height;
} tw_plot_frame;
enum { TW_AXIS_X_HEIGHT = 28 }; /* its numbers and its title */
/* Below and on the left of a frame; `grid`: lines through it. `title` NULL: none. */
void tw_axis_x(tw_plot *plot, const tw_plot_frame *frame, const tw_scale *scale, bool grid, const char *title);
void tw_axis_y(tw_plot *plot, const tw_plot_frame *frame, const tw_scale *scale, bool grid);
/* Room that the numbers of a y axis take. */
double tw_axis_y_width(const tw_scale *scale);
/* "9'650", "471 k", "1.25", "2e-05": of a round value with this distance to the next. */
void tw_tick_text(double value, double step, double most, char text[TW_GROUPED_MAX]);
#endif
