/* cli/options_plot.c - see options_plot.h. */
#include "options_plot.h"
#include "options.h"
#include "value.h"

#include <string.h>

enum { KEY_PLOT = 700, KEY_WIDTH, KEY_OP, KEY_DPI };
enum { LEAST_MM = 40, MOST_MM = 500, LEAST_DPI = 36, MOST_DPI = 1200 };

static const char *const kind_words[] = {[PLOT_GANTT - 1] = "gantt",       [PLOT_BUFFERS - 1] = "buffers",
                                         [PLOT_ROOFLINE - 1] = "roofline", [PLOT_TRAFFIC - 1] = "traffic",
                                         [PLOT_LOSSES - 1] = "losses",     [PLOT_COSTS - 1] = "costs",
                                         [PLOT_PARETO - 1] = "pareto",     NULL};

static const struct argp_option plot_options[] = {
    {0, 0, 0, 0, "Instead of the report, a picture (docs/plots.md):", 6},
    {"plot", KEY_PLOT, "KIND", 0,
     "gantt, buffers, roofline, traffic, losses, pareto (with --pareto); of networks gantt, losses or costs; -o "
     "names its "
     "file: x.png, x.svg or x.pdf",
     0},
    {"plot-width", KEY_WIDTH, "MM", 0, "width of the picture in millimetres; default 85, a column of a paper", 0},
    {"dpi", KEY_DPI, "N", 0, "of a PNG: dots per inch; default 191, which are 640 pixels for 85 mm", 0},
    {"plot-op", KEY_OP, "NAME", 0, "only this operator", 0},
    {0}};

static const char *word_of(const cli_plot *plot) { return kind_words[plot->kind - 1]; }

static void read_ending(const struct argp_state *state, cli_plot *plot)
{
    static const struct {
        const char *ending;
        tw_image image;
    } known[] = {{".png", TW_IMAGE_PNG}, {".svg", TW_IMAGE_SVG}, {".pdf", TW_IMAGE_PDF}};
    const char *dot = strrchr(plot->file, '.');
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (strcmp(dot, known[i].ending) == 0) {
            plot->image = known[i].image;
            return;
        }
    argp_error(state, "--plot writes .png, .svg or .pdf, not '%s'", plot->file);
}

static bool has_other_view(const cli_options *o) { return o->json || o->dump || o->view != VIEW_NONE; }

static void check_workload(const struct argp_state *state, const cli_options *o)
{
    bool network = tw_network_is_path(o->workload);
    if (network && o->plot.kind != PLOT_COSTS && o->plot.kind != PLOT_LOSSES && o->plot.kind != PLOT_GANTT &&
        o->plot.kind != PLOT_BUFFERS)
        argp_error(state,
                   "--plot=%s is of single operators; of networks there are gantt, buffers, losses and costs",
                   word_of(&o->plot));
    if (network && o->plot.op) argp_error(state, "--plot-op is of workloads, not of networks");
    if (!network && o->plot.kind == PLOT_COSTS)
        argp_error(state, "--plot=costs is of networks, and '%s' is no ONNX file", o->workload);
    if (o->plot.kind == PLOT_PARETO && (o->mapping || o->lowering))
        argp_error(state, "--plot=pareto needs a search: 'tilewright plan' with --pareto");
    if (o->plot.kind == PLOT_PARETO && !o->search.pareto)
        argp_error(state, "--plot=pareto needs --pareto and two objectives, such as --objective=latency,energy");
}

/* A picture takes the place of all files. */
static void check_plot(const struct argp_state *state, cli_options *o)
{
    if (o->plot.kind == PLOT_NONE) {
        if (o->plot.width_mm > 0) argp_error(state, "--plot-width goes with --plot");
        if (o->plot.op) argp_error(state, "--plot-op goes with --plot");
        if (o->plot.dpi > 0) argp_error(state, "--dpi goes with --plot");
        return;
    }
    if (has_other_view(o))
        argp_error(state, "--plot excludes --json, --dump, --events, --gantt, --injection and --symbolic");
    if (!o->file) argp_error(state, "--plot needs -o with the name of the picture: x.png, x.svg or x.pdf");
    o->plot.file = o->file;
    o->folder = NULL;
    read_ending(state, &o->plot);
    if (o->plot.dpi > 0 && o->plot.image != TW_IMAGE_PNG)
        argp_error(state, "--dpi is of a PNG: SVG and PDF have no dots");
    if (o->workload) check_workload(state, o);
}

static error_t parse_plot(int key, char *arg, struct argp_state *state)
{
    cli_options *o = state->input;
    switch (key) {
    case KEY_PLOT: o->plot.kind = (cli_plot_kind)(value_word(state, "--plot", arg, kind_words) + 1); break;
    case KEY_WIDTH: o->plot.width_mm = (double)value_number(state, "--plot-width", arg, LEAST_MM, MOST_MM); break;
    case KEY_OP: o->plot.op = arg; break;
    case KEY_DPI: o->plot.dpi = (double)value_number(state, "--dpi", arg, LEAST_DPI, MOST_DPI); break;
    case ARGP_KEY_SUCCESS: check_plot(state, o); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}
const struct argp options_plot_argp = {plot_options, parse_plot, 0, 0, 0, 0, 0};
