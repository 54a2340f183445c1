/* cli/options_calibrate.c - see options_calibrate.h. */
#include "options_calibrate.h"
#include "help.h"
#include "terminal.h"
#include "value.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_TRAIN = 256,
    KEY_SEED,
    KEY_TEST,
    KEY_WORKLOAD,
    KEY_LOWERING,
    KEY_MAPPING,
    KEY_CYCLES,
    KEY_NAME,
    KEY_WHERE,
    KEY_DROP,
    KEY_COPIES,
    KEY_BALANCE,
    KEY_THREADS,
    KEY_TIME_LIMIT,
    KEY_JSON,
    KEY_COLUMNS,
    KEY_ASCII,
    KEY_COLOR,
};

static const struct argp_option options[] = {
    {"machine", 'm', "MACHINE", 0, "a built-in machine or a file, with 'parameters'", 0},
    {"output", 'o', "FILE", 0, "write the machine file with the values found", 0},
    {0, 0, 0, 0, "Which rows are fitted to:", 1},
    {"train", KEY_TRAIN, "SHARE", 0, "a share such as 0.5 (the default), all, or none: only tell the errors", 0},
    {"seed", KEY_SEED, "N", 0, "of the split; default 0", 0},
    {"test", KEY_TEST, "FILE", 0, "data that is only tested on", 0},
    {"balance", KEY_BALANCE, 0, 0, "each file weighs the same, however many rows it has", 0},
    {"drop", KEY_DROP, "FILE", 0, "leave out the rows that this file lists", 0},
    {"drop-copies", KEY_COPIES, 0, 0, "leave out rows that repeat another row's 'Kernel Time' and 'Total Time'", 0},
    {"where", KEY_WHERE, "COLUMN=VALUE", 0, "only these rows; also COLUMN!=VALUE", 0},
    {0, 0, 0, 0, "Where a row has what, as texts with {COLUMN} in them (FILE.csv:TEXT is for that file only):", 2},
    {"workload", KEY_WORKLOAD, "TEXT", 0, "a workload, such as 'matmul:{M}x{N}x{K}'", 0},
    {"lowering-config", KEY_LOWERING, "TEXT", 0, "Quidditch's attribute, such as 'l1_tiles = [0, {n}, {k}]'", 0},
    {"mapping", KEY_MAPPING, "TEXT", 0, "instead: the name of a mapping file", 0},
    {"cycles", KEY_CYCLES, "COLUMN", 0, "measured cycles: a column, or 'COLUMN - NUMBER'", 0},
    {"name", KEY_NAME, "COLUMN", 0, "names of the rows; default: the first column", 0},
    {0, 0, 0, 0, "What is printed:", 3},
    {"json", KEY_JSON, 0, 0, "one JSON document on standard output (docs/calibrate.md)", 0},
    {"columns", KEY_COLUMNS, "N", 0, "width of the report, 60 to 400; default: the terminal's, or 80", 0},
    {"ascii", KEY_ASCII, 0, 0, "no box-drawing characters", 0},
    {"color", KEY_COLOR, "WHEN", 0, "auto (default), always or never; NO_COLOR is honoured", 0},
    {"quiet", 'q', 0, 0, "no report, only messages, files and the exit code", 0},
    {"time-limit", KEY_TIME_LIMIT, "SECONDS", 0, "of the whole command: the fit ends with the best so far", 0},
    {"threads", KEY_THREADS, "N", 0, "default: one per core; the result does not depend on it", 0},
    {0}};

typedef struct parser {
    calibrate_options *out;
    terminal terminal;
} parser;

/* ---- values ---- */

static double read_share(const struct argp_state *state, const char *text)
{
    char *end;
    if (strcmp(text, "all") == 0) return 1;
    if (strcmp(text, "none") == 0) return 0;
    double x = strtod(text, &end);
    bool decimal = *text && strspn(text, "0123456789.") == strlen(text);
    if (!decimal || *end || x <= 0 || x > 1)
        argp_error(state, "--train takes a share above 0 and up to 1, all or none, not '%s'", text);
    return x;
}

static void add_file(const struct argp_state *state, const char *path, bool test)
{
    calibrate_options *o = ((parser *)state->input)->out;
    if (o->n_files == CALIBRATE_FILES) argp_error(state, "more than %d files", CALIBRATE_FILES);
    for (int i = 0; i < o->n_files; i++)
        if (strcmp(o->file[i].path, path) == 0) argp_error(state, "'%s' is given twice", path);
    o->file[o->n_files].path = path;
    o->file[o->n_files++].test = test;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* How many bytes of "FILE.csv:TEXT" name a file, 0: none do. */
static size_t file_length(const char *text)
{
    static const char ending[] = ".csv:";
    const char *at = strstr(text, ending);
    return at ? (size_t)(at - text) + sizeof ending - 2 : 0;
}

static bool is_for(const char *text, const char *path)
{
    size_t n = file_length(text);
    const char *name = base_name(path);
    return n == 0 || (strlen(name) == n && memcmp(name, text, n) == 0);
}

static void add_text(const struct argp_state *state, int key, const char *text)
{
    calibrate_options *o = ((parser *)state->input)->out;
    if (o->n_texts == CALIBRATE_TEXTS) argp_error(state, "more than %d options about the data", CALIBRATE_TEXTS);
    o->text[o->n_texts++] = (data_text){key, text};
}

/* A text for one file must be for one that is there. */
static void check_texts(const struct argp_state *state)
{
    const calibrate_options *o = ((parser *)state->input)->out;
    for (int i = 0; i < o->n_texts; i++) {
        const char *text = o->text[i].text;
        bool found = file_length(text) == 0;
        for (int k = 0; k < o->n_files && !found; k++) found = is_for(text, o->file[k].path);
        if (!found) argp_error(state, "'%.*s' is none of the data files", (int)file_length(text), text);
    }
}

/* What is fitted to stands before what is only tested on, as it was given otherwise. */
static void sort_files(calibrate_options *o)
{
    for (int i = 1; i < o->n_files; i++)
        for (int k = i; k > 0 && o->file[k - 1].test && !o->file[k].test; k--) {
            const char *path = o->file[k].path;
            o->file[k].path = o->file[k - 1].path;
            o->file[k].test = true;
            o->file[k - 1].path = path;
            o->file[k - 1].test = false;
        }
}

/* ---- the parser ---- */

static error_t parse_printing(int key, char *arg, struct argp_state *state)
{
    parser *p = state->input;
    switch (key) {
    case KEY_JSON: p->out->json = true; break;
    case KEY_COLUMNS: p->terminal.columns = terminal_read_columns(state, arg); break;
    case KEY_ASCII: p->terminal.ascii = true; break;
    case KEY_COLOR: p->terminal.colour = terminal_read_colour(state, arg); break;
    case 'q': p->out->quiet = true; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    calibrate_options *o = ((parser *)state->input)->out;
    switch (key) {
    case 'm': o->machine = arg; break;
    case 'o': o->output = arg; break;
    case KEY_TRAIN: o->fit.train = read_share(state, arg); break;
    case KEY_SEED: o->fit.seed = (uint64_t)value_number(state, "--seed", arg, 0, INT64_MAX); break;
    case KEY_TIME_LIMIT: o->time_limit = value_seconds(state, "--time-limit", arg); break;
    case KEY_THREADS: o->fit.n_threads = (int)value_number(state, "--threads", arg, 1, 64); break;
    case KEY_COPIES: o->fit.drop_copies = true; break;
    case KEY_BALANCE: o->fit.balance = true; break;
    case KEY_TEST: add_file(state, arg, true); break;
    case KEY_WORKLOAD:
    case KEY_LOWERING:
    case KEY_MAPPING:
    case KEY_CYCLES:
    case KEY_NAME:
    case KEY_WHERE: add_text(state, key, arg); break;
    case KEY_DROP:
        if (o->n_drop == CALIBRATE_FILES) argp_error(state, "more than %d lists", CALIBRATE_FILES);
        o->drop[o->n_drop++] = arg;
        break;
    case ARGP_KEY_ARG: add_file(state, arg, false); break;
    case ARGP_KEY_END:
        if (!o->machine) argp_error(state, "--machine is missing");
        if (o->n_files == 0) argp_error(state, "the data is missing");
        if (o->output && !*o->output) argp_error(state, "--output needs the name of a file");
        check_texts(state);
        sort_files(o);
        break;
    default: return parse_printing(key, arg, state);
    }
    return 0;
}

void calibrate_options_read(int argc, char **argv, calibrate_options *out)
{
    static const char doc[] =
        "Finds the values of MACHINE's parameters that explain measured cycles best, and tells how well: on rows "
        "that "
        "were fitted to, and on rows that were not.\v"
        "DATA is a CSV file, one measurement per row. docs/calibrate.md tells which columns are known.";
    static const struct argp argp = {options, parse, "DATA.csv...", doc, 0, 0, 0};
    parser p = {.out = out, .terminal = {.colour = "auto"}};
    *out = (calibrate_options){.fit = {.size = sizeof out->fit, .train = 0.5}};
    help_parse(&argp, argc, argv, &p);
    terminal_apply(&p.terminal, &out->print);
}

tw_data_options calibrate_options_of(const calibrate_options *o, const char *path)
{
    tw_data_options data = {.size = sizeof data, .drop = o->drop, .n_drop = o->n_drop};
    const char **where = calloc((size_t)o->n_texts + 1, sizeof *where);
    data.where = where;
    for (int pass = 0; pass < 2; pass++) /* what is for this file alone comes last, and counts */
        for (int i = 0; i < o->n_texts; i++) {
            const char *text = o->text[i].text;
            size_t n = file_length(text);
            if (!is_for(text, path) || (n > 0) != (pass == 1)) continue;
            if (n > 0) text += n + 1;
            switch (o->text[i].key) {
            case KEY_WORKLOAD: data.workload = text; break;
            case KEY_LOWERING: data.lowering = text; break;
            case KEY_MAPPING: data.mapping = text; break;
            case KEY_CYCLES: data.cycles = text; break;
            case KEY_NAME: data.name = text; break;
            default:
                if (where) where[data.n_where++] = text;
            }
        }
    return data;
}
