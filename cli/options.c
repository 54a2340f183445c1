/* cli/options.c - see options.h. One argp parser for the options that all reports share, one per sub-command
 * on top of it. */
#include "options.h"
#include "help.h"
#include "input.h"
#include "options_search.h"
#include "terminal.h"
#include "value.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_JSON = 256,
    KEY_FULL,
    KEY_ROWS,
    KEY_DUMP,
    KEY_NO_VERIFY,
    KEY_SEED,
    KEY_MAX_MACS,
    KEY_MAX_INSTRUCTIONS,
    KEY_COLUMNS,
    KEY_ASCII,
    KEY_COLOR,
    KEY_MAPPING,
    KEY_LOWERING,
    KEY_TARGET,
    KEY_EVENTS,
    KEY_ENGINE,
    KEY_GANTT,
    KEY_CYCLES,
    KEY_INJECTION,
    KEY_PLAIN,
    KEY_SYMBOLIC,
    KEY_MAP,
    KEY_TRACE,
    KEY_TIME_LIMIT,
    KEY_EXPLAIN,
    KEY_RULES,
    KEY_ANY_SIZES,
    KEY_AS,
};

/* ---- values ---- */

/* Words of an option; the index of a word is its value. */
static const char *const stage_words[] = {"model",   "machine", "mapping", "layout", "program", "timeline",
                                          "verdict", "graph",   "shapes",  "steps",  NULL};

/* "all", "A-B" (both included) or "N" (the first N). */
static void read_rows(const struct argp_state *state, const char *text, tw_print_options *print)
{
    char first[32];
    const char *dash = strchr(text, '-');
    print->first_row = 0;
    if (strcmp(text, "all") == 0) {
        print->n_rows = -1;
    } else if (!dash) {
        print->n_rows = value_number(state, "--rows", text, 1, INT64_MAX);
    } else {
        snprintf(first, sizeof first, "%.*s", (int)(dash - text), text);
        print->first_row = value_number(state, "--rows", first, 0, INT64_MAX - 1);
        print->n_rows =
            value_number(state, "--rows", dash + 1, print->first_row, INT64_MAX - 1) - print->first_row + 1;
    }
}

/* The format of a view, one of `words`, the first one when none is given; words and formats go together. */
static tw_format read_format(const struct argp_state *state, const char *option, const char *text,
                             const char *const *words, const tw_format *format)
{
    return format[text ? value_word(state, option, text, words) : 0];
}

static const char *const events_words[] = {"jsonl", "csv", NULL};
static const tw_format events_format[] = {TW_FORMAT_JSONL, TW_FORMAT_CSV};
static const char *const injection_words[] = {"text", "csv", "json", NULL};
static const tw_format injection_format[] = {TW_FORMAT_TEXT, TW_FORMAT_CSV, TW_FORMAT_JSON};

/* "FROM:TO"; either may be left out. Whether the plan has these cycles shows later. */
static void read_cycles(const struct argp_state *state, const char *text, cli_options *out)
{
    char from[32] = "";
    const char *colon = strchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof from)
        argp_error(state, "--cycles takes FROM:TO, not '%s'", text);
    else
        memcpy(from, text, (size_t)(colon - text));
    out->from = *from ? value_number(state, "--cycles", from, 0, INT64_MAX - 1) : 0;
    out->to = colon && colon[1] ? value_number(state, "--cycles", colon + 1, 0, INT64_MAX) : 0;
    if (colon && colon[1] && out->to <= out->from)
        argp_error(state, "--cycles=%s is empty: FROM must be before TO", text);
}

/* ---- options of every report ---- */

typedef struct parser {
    cli_options *out;
    terminal terminal;
    int n_views; /* --json, --dump and the views: one at most */
    bool cycles;
} parser;

static const struct argp_option report_options[] = {
    {0, 0, 0, 0, "What is printed:", 4},
    {"full", KEY_FULL, 0, 0, "all of the report, not only its first screen: as report.txt has it", 0},
    {"json", KEY_JSON, 0, 0, "one JSON document on standard output (docs/json.md)", 0},
    {"rows", KEY_ROWS, "all|A-B|N", 0,
     "ticks or steps to show, in a full report; with --json rows are written only if asked for", 0},
    {"dump", KEY_DUMP, "STAGE", 0,
     "print a stage instead: model, machine, mapping, layout, program, timeline or verdict; of a network graph, "
     "shapes, steps or model",
     0},
    {"columns", KEY_COLUMNS, "N", 0, "width of the report, 60 to 400; default: the terminal's, or 80", 0},
    {"ascii", KEY_ASCII, 0, 0, "no box-drawing characters", 0},
    {"color", KEY_COLOR, "WHEN", 0, "auto (default), always or never; NO_COLOR is honoured", 0},
    {"map", KEY_MAP, 0, 0, "draw where buffers are allocated in memories that have a placement", 0},
    {"trace", KEY_TRACE, "FILE", 0,
     "also write a trace to open in ui.perfetto.dev: x.pftrace, or x.json as for Chrome; x.pftrace.gz and "
     "x.json.gz are smaller (docs/trace.md)",
     0},
    {"quiet", 'q', 0, 0, "no text report, only messages, files and the exit code", 0},
    {0, 0, 0, 0, "Instead of the report, of plans on async machines (with -o into a file too):", 5},
    {"gantt", KEY_GANTT, 0, 0, "the engines over time", 0},
    {"cycles", KEY_CYCLES, "FROM:TO", 0, "with --gantt, and --plot of gantt or buffers: only these cycles", 0},
    {"events", KEY_EVENTS, "jsonl|csv", OPTION_ARG_OPTIONAL, "every command, one line each; default jsonl", 0},
    {"engine", KEY_ENGINE, "NAME", 0, "with --events: only this engine's commands", 0},
    {"injection", KEY_INJECTION, "text|csv|json", OPTION_ARG_OPTIONAL,
     "the latest time at which each tile can be sent; default text", 0},
    {"plain", KEY_PLAIN, 0, 0, "with --injection: by latency alone, as if nothing were ever busy", 0},
    {"symbolic", KEY_SYMBOLIC, 0, 0, "traffic as formulas in the sizes of loops and tiles", 0},
    {0, 0, 0, 0, "Verification:", 7},
    {"no-verify", KEY_NO_VERIFY, 0, 0, "neither check nor execute the plan", 0},
    {"seed", KEY_SEED, "N", 0, "of the random inputs on which the plan is executed", 0},
    {"max-macs", KEY_MAX_MACS, "N", 0, "operators of more points are checked but not executed; default 2147483648",
     0},
    {"max-instructions", KEY_MAX_INSTRUCTIONS, "N", 0,
     "longer programs are neither checked nor executed; default 16777216", 0},
    {0}};

static void choose_view(parser *p, cli_view view)
{
    p->n_views += p->out->view != view;
    p->out->view = view;
}

static error_t parse_view(int key, char *arg, struct argp_state *state)
{
    parser *p = state->input;
    cli_options *o = p->out;
    switch (key) {
    case KEY_EVENTS:
        choose_view(p, VIEW_EVENTS);
        o->format = read_format(state, "--events", arg, events_words, events_format);
        break;
    case KEY_INJECTION:
        choose_view(p, VIEW_INJECTION);
        o->format = read_format(state, "--injection", arg, injection_words, injection_format);
        break;
    case KEY_GANTT: choose_view(p, VIEW_GANTT); break;
    case KEY_SYMBOLIC: choose_view(p, VIEW_SYMBOLIC); break;
    case KEY_ENGINE: o->engine = arg; break;
    case KEY_PLAIN: o->injection.plain = true; break;
    case KEY_CYCLES:
        p->cycles = true;
        read_cycles(state, arg, o);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Whether the first `n` bytes of the path end so. */
static bool ends_with(const char *path, size_t n, const char *ending)
{
    size_t len = strlen(ending);
    return n >= len && memcmp(path + n - len, ending, len) == 0;
}

tw_trace_format options_trace_format(const char *path, bool *gzip)
{
    size_t n = strlen(path);
    *gzip = ends_with(path, n, ".gz");
    if (*gzip) n -= strlen(".gz");
    return ends_with(path, n, ".json") ? TW_TRACE_CHROME : TW_TRACE_PERFETTO;
}

static bool is_trace_name(const char *name)
{
    static const char *const ending[] = {".pftrace", ".json", ".pftrace.gz", ".json.gz"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (n > strlen(ending[i]) && strcmp(name + n - strlen(ending[i]), ending[i]) == 0) return true;
    return false;
}

static void check_views(const struct argp_state *state)
{
    const parser *p = state->input;
    const cli_options *o = p->out;
    if (o->json && o->dump) argp_error(state, "--json and --dump exclude each other");
    if (p->n_views + o->json + (o->dump != NULL) > 1)
        argp_error(state, "--json, --dump, --events, --gantt, --injection and --symbolic exclude each other");
    if (o->engine && o->view != VIEW_EVENTS) argp_error(state, "--engine goes with --events");
    if (p->cycles && o->view != VIEW_GANTT && !options_plot_has_cycles(&o->plot))
        argp_error(state, "--cycles goes with --gantt, --plot=gantt and --plot=buffers");
    if (o->injection.plain && o->view != VIEW_INJECTION) argp_error(state, "--plain goes with --injection");
    if (o->trace && !is_trace_name(o->trace))
        argp_error(state, "--trace writes .pftrace or .json, and these with .gz, not '%s'", o->trace);
    if (o->trace && o->dump) argp_error(state, "--trace and --dump exclude each other");
}

static error_t parse_report(int key, char *arg, struct argp_state *state)
{
    parser *p = state->input;
    cli_options *o = p->out;
    switch (key) {
    case KEY_JSON: o->json = true; break;
    case KEY_FULL: o->print.brief = false; break;
    case KEY_ROWS:
        read_rows(state, arg, &o->print);
        o->print.brief = false;
        break;
    case KEY_DUMP: o->dump = stage_words[value_word(state, "--dump", arg, stage_words)]; break;
    case KEY_COLUMNS:
        o->columns_given = true;
        p->terminal.columns = terminal_read_columns(state, arg);
        break;
    case KEY_ASCII: p->terminal.ascii = true; break;
    case KEY_MAP: o->print.map = true; break;
    case KEY_COLOR: p->terminal.colour = terminal_read_colour(state, arg); break;
    case KEY_TRACE: o->trace = arg; break;
    case 'q': o->quiet = true; break;
    case KEY_NO_VERIFY: o->verify = false; break;
    case KEY_SEED: o->seed = (uint64_t)value_number(state, "--seed", arg, 0, INT64_MAX); break;
    case KEY_MAX_MACS: o->max_macs = value_number(state, "--max-macs", arg, 1, INT64_MAX); break;
    case KEY_MAX_INSTRUCTIONS:
        o->max_instructions = value_number(state, "--max-instructions", arg, 1, INT64_MAX);
        break;
    case ARGP_KEY_SUCCESS: check_views(state); break;
    default: return parse_view(key, arg, state);
    }
    return 0;
}

static const struct argp report_argp = {report_options, parse_report, 0, 0, 0, 0, 0};

/* ---- sub-commands ---- */

static const char *folder(struct argp_state *state, const char *arg)
{
    if (!*arg) argp_error(state, "--output needs the name of a folder");
    return arg;
}

/* The first child reads the report's options, the others those of the search. */
static error_t hand_down(struct argp_state *state, int n_children)
{
    parser *p = state->input;
    state->child_inputs[0] = p;
    for (int i = 1; i < n_children; i++) state->child_inputs[i] = p->out;
    return 0;
}

#define OPTION_OUTPUT                                                                             \
    {                                                                                             \
        "output", 'o', "DIR", 0, "folder for report.html, report.txt, plan.json, mapping.yaml", 0 \
    }
#define OPTION_MACHINE                                                                                        \
    {                                                                                                         \
        "machine", 'm', "MACHINE", 0,                                                                         \
            "a built-in machine (see 'tilewright machines') or a file; files of other tools: each of them", 0 \
    }
#define OPTION_RULES                                                                                              \
    {                                                                                                             \
        "rules", KEY_RULES, "NAME", 0,                                                                            \
            "count as native (simulated), timeloop, zigzag, or all side by side; default: as the machine's file", \
            0                                                                                                     \
    }
#define OPTION_MAPPING                                                  \
    {                                                                   \
        "mapping", KEY_MAPPING, "FILE", 0, "the mapping to evaluate", 0 \
    }
#define OPTION_TIME_LIMIT                                                      \
    {                                                                          \
        "time-limit", KEY_TIME_LIMIT, "SECONDS", 0,                            \
            "of the whole command: what is not reached by then is left out", 0 \
    }
#define OPTION_EXPLAIN                                                                                             \
    {                                                                                                              \
        "explain", KEY_EXPLAIN, 0, 0,                                                                              \
            "also which changes of the mapping and of the machine would help, each simulated: 10 seconds; -o DIR " \
            "writes each as files",                                                                                \
            0                                                                                                      \
    }
#define OPTION_LOWERING                                                                                       \
    {                                                                                                         \
        "lowering-config", KEY_LOWERING, "TEXT|@FILE", 0, "instead: Quidditch's attributes (docs/emit.md)", 0 \
    }

static void refuse_command(const struct argp_state *state, const char *word)
{
    static const char *const all[] = {"plan",  "eval",    "verify",   "emit",    "calibrate",
                                      "place", "compare", "machines", "convert", "help"};
    const char *near = tw_nearest_word(word, all, sizeof all / sizeof *all);
    argp_error(state,
               "there is no command '%s'%s%s%s are plan, eval, verify, emit, calibrate, place, compare, machines, "
               "convert, "
               "help",
               word, near ? "; did you mean '" : "", near ? near : "", near ? "'? Commands" : "; commands");
}

static error_t parse_example(int key, char *arg, struct argp_state *state)
{
    parser *p = state->input;
    switch (key) {
    case 'o': p->out->folder = folder(state, arg); break;
    case ARGP_KEY_INIT: return hand_down(state, 2);
    case ARGP_KEY_ARG: refuse_command(state, arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* "-" is standard input, which may be read more than once. */
static const char *input_path(const char *arg)
{
    if (strcmp(arg, "-") != 0) return arg;
    input_keep();
    return "/dev/stdin";
}

static error_t take_workload(const char *arg, struct argp_state *state)
{
    parser *p = state->input;
    if (p->out->workload) argp_error(state, "one workload at a time: '%s' is a second one", arg);
    p->out->workload = input_path(arg);
    return 0;
}

static void require(const struct argp_state *state, const char *value, const char *what)
{
    if (!value) argp_error(state, "%s is missing", what);
}

static const char *const rules_words[] = {[TW_RULES_NATIVE] = "native",
                                          [TW_RULES_TIMELOOP] = "timeloop",
                                          [TW_RULES_ZIGZAG] = "zigzag",
                                          [RULES_ALL] = "all",
                                          NULL};

/* Machines of other tools are described by several files. */
static void take_machine(const char *arg, const struct argp_state *state)
{
    cli_options *o = ((parser *)state->input)->out;
    if (o->n_machine_files == CLI_MAX_FILES) argp_error(state, "more than %d files of machines", CLI_MAX_FILES);
    o->machine_file[o->n_machine_files++] = input_path(arg);
    o->machine = o->machine_file[0];
}

/* One file of another tool can have everything: a problem, an architecture, a mapping. */
static bool is_of_rival(const cli_options *o)
{
    return o->workload && tw_rival_kind(o->workload) != TW_RULES_NATIVE;
}

/* A network that only shows itself needs no machine. */
static bool needs_machine(const cli_options *o)
{
    static const char *const of_network[] = {"graph", "shapes", "steps", "model"};
    if (is_of_rival(o)) return false;
    for (size_t i = 0; o->dump && o->workload && tw_network_is_path(o->workload) && i < 4; i++)
        if (strcmp(o->dump, of_network[i]) == 0) return false;
    return true;
}

static error_t parse_workload(int key, char *arg, struct argp_state *state)
{
    cli_options *o = ((parser *)state->input)->out;
    switch (key) {
    case 'm': take_machine(arg, state); break;
    case KEY_RULES: o->rules = (int)value_word(state, "--rules", arg, rules_words); break;
    case 'o': o->folder = o->file = folder(state, arg); break;
    case ARGP_KEY_ARG: return take_workload(arg, state);
    case ARGP_KEY_END: require(state, o->workload, "the workload"); break;
    case ARGP_KEY_SUCCESS:
        if (needs_machine(o)) require(state, o->machine, "--machine");
        if (o->network.given && !tw_network_is_path(o->workload))
            argp_error(state, "options of networks need an ONNX file, not '%s'", o->workload);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse_plan(int key, char *arg, struct argp_state *state)
{
    if (key == KEY_ANY_SIZES) ((parser *)state->input)->out->any_sizes = true;
    if (key == KEY_ANY_SIZES) return 0;
    return key == ARGP_KEY_INIT ? hand_down(state, 5) : parse_workload(key, arg, state);
}

/* Of networks: `plan` verifies everything else by itself. */
static error_t parse_verify(int key, char *arg, struct argp_state *state)
{
    cli_options *o = ((parser *)state->input)->out;
    if (key == ARGP_KEY_INIT) return hand_down(state, 5);
    if (key == KEY_MAPPING) {
        o->mapping = arg;
        return 0;
    }
    error_t error = parse_workload(key, arg, state);
    if (key == ARGP_KEY_END && !tw_network_is_path(o->workload))
        argp_error(state, "'%s' is no ONNX file; 'tilewright plan' verifies other workloads by itself",
                   o->workload);
    return error;
}

/* A mapping, as a file or as a lowering config. */
static error_t parse_mapping(int key, char *arg, struct argp_state *state)
{
    cli_options *o = ((parser *)state->input)->out;
    if (key == KEY_MAPPING) o->mapping = input_path(arg);
    if (key == KEY_LOWERING) o->lowering = arg;
    if (key == KEY_MAPPING || key == KEY_LOWERING) return 0;
    error_t error = parse_workload(key, arg, state);
    if (key == ARGP_KEY_END && o->mapping && o->lowering)
        argp_error(state, "--mapping and --lowering-config exclude each other");
    return error;
}

static error_t parse_eval(int key, char *arg, struct argp_state *state)
{
    cli_options *o = ((parser *)state->input)->out;
    if (key == ARGP_KEY_INIT) return hand_down(state, 3);
    if (key == KEY_TIME_LIMIT) o->search.time_limit = value_seconds(state, "--time-limit", arg);
    if (key == KEY_EXPLAIN) o->explain = true;
    if (key == KEY_TIME_LIMIT || key == KEY_EXPLAIN) return 0;
    error_t error = parse_mapping(key, arg, state);
    if (key == ARGP_KEY_END && !o->mapping && !o->lowering && !is_of_rival(o))
        argp_error(state, "--mapping or --lowering-config is missing");
    return error;
}

static error_t parse_emit(int key, char *arg, struct argp_state *state)
{
    static const char *const target_words[] = {"quidditch", NULL};
    cli_options *o = ((parser *)state->input)->out;
    switch (key) {
    case KEY_TARGET: o->target = target_words[value_word(state, "--target", arg, target_words)]; return 0;
    case 'o': o->file = arg; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = o; return 0;
    case ARGP_KEY_END: require(state, o->target, "--target"); break;
    case ARGP_KEY_SUCCESS:
        if (o->explain) argp_error(state, "--explain goes with 'tilewright plan'");
        break;
    default: break;
    }
    return parse_mapping(key, arg, state);
}

static error_t parse_machines(int key, char *arg, struct argp_state *state)
{
    cli_options *o = ((parser *)state->input)->out;
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    if (o->machine) argp_error(state, "one machine at a time: '%s' is a second one", arg);
    o->machine = arg;
    return 0;
}

static void parse(const struct argp *argp, int argc, char **argv, cli_options *out)
{
    parser p = {.out = out, .terminal.colour = "auto"};
    out->verify = true;
    out->print.brief = true;
    out->rules = RULES_OF_FILES;
    out->search.size = sizeof out->search;
    out->injection.size = sizeof out->injection;
    out->network.open.size = sizeof out->network.open;
    help_parse(argp, argc, argv, &p);
    terminal_apply(&p.terminal, &out->print);
}

void cli_options_example(int argc, char **argv, cli_options *out)
{
    static const struct argp_child children[] = {{&report_argp, 0, 0, 0}, {&options_effort_argp, 0, 0, 0}, {0}};
    static const char doc[] =
        "Plans how neural networks are tiled on machines with software-managed memories.\n\n"
        "  plan WORKLOAD -m MACHINE                  search the best mapping\n"
        "  eval WORKLOAD -m MACHINE --mapping=FILE   what a mapping costs\n"
        "  verify MODEL.onnx -m MACHINE              run a network on numbers\n"
        "  emit WORKLOAD -m MACHINE --target=NAME    a plan for another compiler\n"
        "  calibrate -m MACHINE DATA.csv...          fit a machine to measurements\n"
        "  place FILE.csv [--capacity=SIZE]          allocate buffers with lifetimes\n"
        "  compare A B [-o FILE.html]                how two plans differ\n"
        "  machines [NAME]                           list or print built-in machines\n"
        "  convert FILE...                           Timeloop's or ZigZag's files\n"
        "  help [COMMAND]                            the options of a command\n\n"
        "Without a command the built-in example is planned, matmul:128x128x512 on tick-three-level, with these "
        "options:\v"
        "Exit codes: 0 done, 1 infeasible, 2 bad input, 64 usage, 70 our fault, 74 cannot write.";
    static const struct argp_option options[] = {OPTION_OUTPUT, {0}};
    static const struct argp argp = {options, parse_example, "[COMMAND ...]", doc, children, 0, 0};
    *out = (cli_options){
        .workload = "matmul:128x128x512", .machine = "tick-three-level", .folder = "out", .explain = true};
    parse(&argp, argc, argv, out);
}

void cli_options_plan(int argc, char **argv, cli_options *out)
{
    static const struct argp_child children[] = {{&report_argp, 0, 0, 0},         {&options_goal_argp, 0, 0, 0},
                                                 {&options_effort_argp, 0, 0, 0}, {&options_network_argp, 0, 0, 0},
                                                 {&options_plot_argp, 0, 0, 0},   {0}};
    static const char doc[] =
        "Searches the best mapping of each operator of WORKLOAD, verifies the plan, prints it and "
        "writes it to a folder (default: out). WORKLOAD is a line such as matmul:128x128x512, a YAML file or an "
        "ONNX "
        "file.";
    static const struct argp_option options[] = {
        OPTION_MACHINE,
        OPTION_RULES,
        {"any-sizes", KEY_ANY_SIZES, 0, 0, "by other tools' rules: tiles need not divide what they cut", 0},
        OPTION_OUTPUT,
        {0}};
    static const struct argp argp = {options, parse_plan, "WORKLOAD", doc, children, 0, 0};
    *out = (cli_options){.folder = "out"};
    parse(&argp, argc, argv, out);
}

void cli_options_eval(int argc, char **argv, cli_options *out)
{
    static const struct argp_child children[] = {
        {&report_argp, 0, 0, 0}, {&options_network_argp, 0, 0, 0}, {&options_plot_argp, 0, 0, 0}, {0}};
    static const char doc[] = "Answers what a mapping of WORKLOAD costs, whether it fits, and why not.";
    static const struct argp_option options[] = {OPTION_MACHINE,    OPTION_MAPPING, OPTION_LOWERING, OPTION_RULES,
                                                 OPTION_TIME_LIMIT, OPTION_EXPLAIN, OPTION_OUTPUT,   {0}};
    static const struct argp argp = {options, parse_eval, "WORKLOAD", doc, children, 0, 0};
    *out = (cli_options){0};
    parse(&argp, argc, argv, out);
}

void cli_options_verify(int argc, char **argv, cli_options *out)
{
    static const struct argp_child children[] = {{&report_argp, 0, 0, 0},         {&options_goal_argp, 0, 0, 0},
                                                 {&options_effort_argp, 0, 0, 0}, {&options_network_argp, 0, 0, 0},
                                                 {&options_run_argp, 0, 0, 0},    {0}};
    static const char doc[] =
        "Plans a network, runs the tiled program of every layer on real data (the weights of the "
        "file, inputs given or random) and compares each tensor with an independent evaluation.";
    static const struct argp_option options[] = {
        OPTION_MACHINE,
        {"mapping", KEY_MAPPING, "FILE", 0, "run this mapping; default: search one", 0},
        {"output", 'o', "DIR", 0, "folder for the report, and for the outputs as output_0.pb..", 0},
        {0}};
    static const struct argp argp = {options, parse_verify, "MODEL.onnx", doc, children, 0, 0};
    *out = (cli_options){0};
    parse(&argp, argc, argv, out);
}

void cli_options_emit(int argc, char **argv, cli_options *out)
{
    static const struct argp_child children[] = {{&options_effort_argp, 0, 0, 0}, {0}};
    static const char doc[] = "Prints the plan of WORKLOAD as another compiler reads it. Without a mapping the "
                              "best one is searched for.\v"
                              "Targets:\n"
                              "  quidditch   the attribute #quidditch_snitch.lowering_config of every dispatch";
    static const struct argp_option options[] = {OPTION_MACHINE,
                                                 {"target", KEY_TARGET, "NAME", 0, "quidditch", 0},
                                                 {"mapping", KEY_MAPPING, "FILE", 0, "the mapping to print", 0},
                                                 OPTION_LOWERING,
                                                 {"output", 'o', "FILE", 0, "a file instead of standard output", 0},
                                                 {0}};
    static const struct argp argp = {options, parse_emit, "WORKLOAD", doc, children, 0, 0};
    *out = (cli_options){0};
    parse(&argp, argc, argv, out);
}

void cli_options_machines(int argc, char **argv, cli_options *out)
{
    static const char doc[] = "Lists the built-in machines, or prints the file of one.";
    static const struct argp argp = {0, parse_machines, "[NAME]", doc, 0, 0, 0};
    *out = (cli_options){0};
    parse(&argp, argc, argv, out);
}

/* Files of another tool, in any order. */
static error_t parse_convert(int key, char *arg, struct argp_state *state)
{
    static const char *const words[] = {"machine",         "workload",       "levels",
                                        "mapping",         "timeloop",       "zigzag-accelerator",
                                        "zigzag-workload", "zigzag-mapping", NULL};
    cli_options *o = ((parser *)state->input)->out;
    bool back = strstr(o->converts_to, "timeloop") || strstr(o->converts_to, "zigzag");
    switch (key) {
    case 'm': o->machine_of_ours = input_path(arg); return 0;
    case KEY_AS: o->converts_to = words[value_word(state, "--as", arg, words)]; return 0;
    case KEY_MAPPING: o->mapping = input_path(arg); return 0;
    case ARGP_KEY_ARG: take_machine(arg, state); return 0;
    case ARGP_KEY_END:
        require(state, o->machine, back ? "the workload" : "a file of another tool");
        if (back) require(state, o->machine_of_ours, "--machine");
        if (back) require(state, o->mapping, "--mapping");
        if (o->mapping && !back && strcmp(o->converts_to, "mapping") != 0)
            argp_error(state, "--mapping goes with --as=mapping");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void cli_options_convert(int argc, char **argv, cli_options *out)
{
    static const char doc[] =
        "Prints what files of ZigZag or Timeloop describe together as a file of ours: the machine to plan on, "
        "the layers, the machine with all levels, or the mapping for that one; or a mapping of ours as theirs. Or "
        "prints "
        "a workload, a machine and a mapping of ours as a file of Timeloop, or as the files of ZigZag.";
    static const struct argp_option options[] = {
        {"as", KEY_AS, "WHAT", 0,
         "machine (default), workload, levels or mapping; of files of ours: timeloop, zigzag-accelerator, "
         "zigzag-workload or "
         "zigzag-mapping",
         0},
        {"machine", 'm', "MACHINE", 0, "of files of ours: the machine, FILE being the workload", 0},
        {"mapping", KEY_MAPPING, "FILE", 0, "a mapping of ours, to print as one of theirs", 0},
        {0}};
    static const struct argp argp = {options, parse_convert, "FILE...", doc, 0, 0, 0};
    *out = (cli_options){.converts_to = "machine"};
    parse(&argp, argc, argv, out);
}
