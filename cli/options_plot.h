/* cli/options_plot.h - the options of pictures, as a parser for argp whose input is a cli_options. */
#ifndef TW_CLI_OPTIONS_PLOT_H
#define TW_CLI_OPTIONS_PLOT_H
#include "tilewright/tilewright.h"

#include <argp.h>

typedef enum cli_plot_kind {
    PLOT_NONE,
    PLOT_GANTT,
    PLOT_BUFFERS,
    PLOT_ROOFLINE,
    PLOT_TRAFFIC,
    PLOT_LOSSES,
    PLOT_COSTS,
    PLOT_PARETO
} cli_plot_kind;
typedef struct cli_plot {
    cli_plot_kind kind;
    tw_image image;
    const char *file;
    double width_mm; /* 0: the library's default    */
    const char *op;  /* NULL: all                    */
} cli_plot;

extern const struct argp options_plot_argp;
/* Whether the picture has an axis of cycles. */
static inline bool options_plot_has_cycles(const cli_plot *plot)
{
    return plot->kind == PLOT_GANTT || plot->kind == PLOT_BUFFERS;
}
#endif
