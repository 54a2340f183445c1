/* cli/options_search.c - see options_search.h. What the options mean: docs/search.md. */
#include "options_search.h"
#include "options.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_OBJECTIVE = 256,
    KEY_PARETO,
    KEY_SPACE,
    KEY_LAYERS,
    KEY_LIMITS,
    KEY_MIN_TILE,
    KEY_MAX_BUFFERS,
    KEY_MAX_EXECS,
    KEY_MODE,
    KEY_CUT,
    KEY_APPROACH,
    KEY_EXHAUSTIVE,
    KEY_BUDGET,
    KEY_GAP,
    KEY_PROVE,
    KEY_TIME_LIMIT,
    KEY_MEMORY_LIMIT,
    KEY_THREADS,
    KEY_NO_CACHE,
    KEY_EXPLAIN,
};
enum { BUFFERS_MAX = 65536, THREADS_MAX = 64 };

/* Words of an option; the index of a word is its value. */
static const char *const space_words[] = {[TW_SPACE_ALL] = "all",
                                          [TW_SPACE_NOTES] = "notes",
                                          [TW_SPACE_WINDOWS] = "windows",
                                          [TW_SPACE_WHOLE] = "whole",
                                          NULL};
static const char *const mode_words[] = {
    [TW_MODE_DEFAULT] = "default", [TW_MODE_SEPARATE] = "separate", [TW_MODE_IN_PLACE] = "in-place",
    [TW_MODE_FUSED] = "fused",     [TW_MODE_ANY] = "any",           NULL};
static const char *const cut_words[] = {
    [TW_CUT_DEFAULT] = "default", [TW_CUT_BALANCED] = "balanced", [TW_CUT_GREEDY] = "greedy", NULL};
static const char *const approach_words[] = {
    [TW_APPROACH_BEST] = "best", [TW_APPROACH_DIRECT] = "direct", [TW_APPROACH_MULTISTAGE] = "multistage", NULL};

/* ---- objectives ---- */

static const struct {
    const char *word;
    tw_measure measure;
    bool named; /* followed by the name of a mover or memory */
} objective_word[] = {{"latency", TW_CYCLES, false}, {"cycles", TW_CYCLES, false}, {"ticks", TW_TICKS, false},
                      {"energy", TW_ENERGY, false},  {"edp", TW_EDP, false},       {"traffic", TW_TRAFFIC, true},
                      {"peak", TW_PEAK, true}};
#define OBJECTIVES "latency (or cycles), ticks, energy, edp, traffic:NAME and peak:NAME"

/* "latency+1%": cuts the tolerance off the end of the word and returns it as a share, 0: there is none. */
static double read_within(const struct argp_state *state, char *word)
{
    static const double most = 10000; /* percent, as the library has it */
    char *plus = strrchr(word, '+'), *end = plus;
    size_t n = strlen(word);
    if (!plus || n == 0 || word[n - 1] != '%') return 0;
    double percent = strtod(plus + 1, &end);
    bool number = (plus[1] >= '0' && plus[1] <= '9') || plus[1] == '.';
    if (!number || end != word + n - 1 || !(percent <= most))
        argp_error(state, "--objective takes a tolerance as in latency+1%%,energy, from 0 to %.0f %%, not '%s'",
                   most, plus);
    *plus = 0;
    return percent / 100;
}

static tw_objective read_objective(const struct argp_state *state, const char *text)
{
    for (size_t i = 0; i < sizeof objective_word / sizeof *objective_word; i++) {
        size_t n = strlen(objective_word[i].word);
        if (strncmp(text, objective_word[i].word, n) != 0) continue;
        bool named = text[n] == ':' && text[n + 1];
        if (named ? !objective_word[i].named : objective_word[i].named || text[n]) continue;
        return (tw_objective){objective_word[i].measure, named ? text + n + 1 : NULL};
    }
    static const char *const words[] = {"latency", "cycles", "ticks", "energy", "edp"};
    const char *near = strpbrk(text, "+:") ? NULL : tw_nearest_word(text, words, sizeof words / sizeof *words);
    argp_error(state, "--objective takes some of " OBJECTIVES ", not '%s'%s%s%s", text,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return (tw_objective){0};
}

static bool is_same(const tw_objective *a, const tw_objective *b)
{
    return a->measure == b->measure && (a->at ? b->at && strcmp(a->at, b->at) == 0 : !b->at);
}

/* The list is cut into words in place: names stay where they are, in the arguments of the process. */
static void read_objectives(const struct argp_state *state, char *list, cli_options *o)
{
    tw_search_options *s = &o->search;
    s->n_objectives = 0;
    s->objective = o->objective;
    s->within = o->within;
    for (char *word; (word = strsep(&list, ","));) {
        double within = read_within(state, word);
        tw_objective objective = read_objective(state, word);
        for (int i = 0; i < s->n_objectives; i++)
            if (is_same(&s->objective[i], &objective))
                argp_error(state, "--objective has '%s' twice; it takes different ones of " OBJECTIVES, word);
        if (s->n_objectives == CLI_MAX_OBJECTIVES)
            argp_error(state, "--objective takes at most %d; '%s' is one more", CLI_MAX_OBJECTIVES, word);
        else {
            o->within[s->n_objectives] = within;
            o->objective[s->n_objectives++] = objective;
        }
    }
}

/* ---- which mapping ---- */

static const struct argp_option goal_options[] = {
    {0, 0, 0, 0, "What is searched for:", 1},
    {"objective", KEY_OBJECTIVE, "LIST", 0,
     "what to minimise: latency, ticks, energy, edp, traffic:NAME of a mover or memory, peak:NAME "
     "of a memory. Of several, separated by commas, later ones break ties or, as in latency+1%,energy, decide "
     "within 1 % of the best; then less energy and less memory do. Default: latency+1%,energy on async "
     "machines with energies, latency elsewhere",
     0},
    {"pareto", KEY_PARETO, 0, 0, "the Pareto front of the objectives", 0},
    {"space", KEY_SPACE, "all|windows|whole|notes", 0,
     "the search space: all mappings, those that cut no window, those that divide no loop over several "
     "dimensions of an array, or the small family of the tick machine",
     0},
    {"layers", KEY_LAYERS, 0, 0,
     "run operators one after the other; by default they are fused where that is better", 0},
    {"mapping", KEY_LIMITS, "FILE", 0, "a partial mapping; what it leaves open is searched", 0},
    {"min-tile", KEY_MIN_TILE, "N", 0, "smallest tile along any cut loop", 0},
    {"max-buffers", KEY_MAX_BUFFERS, "N", 0, "most buffers of an operand in one memory", 0},
    {"max-execs", KEY_MAX_EXECS, "N", 0, "with --space=notes: most executions at one tiled level; default 512", 0},
    {"mode", KEY_MODE, "MODE", 0,
     "partial sums: separate, in-place, fused, or any, the best of those offered; default any, with --space=notes "
     "in-place if offered, else the best that is",
     0},
    {"cut", KEY_CUT, "balanced|greedy", 0, "how a count cuts a loop; default either, with --space=notes balanced",
     0},
    {"approach", KEY_APPROACH, "APPROACH", 0,
     "multistage (tile for every memory), direct (for the innermost one) or best of both, the default", 0},
    {0}};

static void check_goal(const struct argp_state *state)
{
    const tw_search_options *s = &((const cli_options *)state->input)->search;
    if (s->pareto && s->n_objectives < 2)
        argp_error(state, "--pareto needs two objectives or more, as in --objective=latency,energy");
    for (int i = 0; i < s->n_objectives; i++) {
        if (s->within[i] > 0 && s->pareto)
            argp_error(state, "--pareto takes objectives as they are, without a tolerance");
        if (s->within[i] > 0 && i == s->n_objectives - 1)
            argp_error(state,
                       "the last objective has none behind it that its tolerance could serve; say which, as in "
                       "--objective=latency+1%%,energy");
    }
    if (s->max_execs > 0 && s->space != TW_SPACE_NOTES) argp_error(state, "--max-execs goes with --space=notes");
    if (s->max_buffers > 0 && s->space == TW_SPACE_NOTES)
        argp_error(state, "--max-buffers goes with --space=all, windows or whole");
}

static error_t parse_goal(int key, char *arg, struct argp_state *state)
{
    cli_options *o = state->input;
    tw_search_options *s = &o->search;
    switch (key) {
    case KEY_OBJECTIVE: read_objectives(state, arg, o); break;
    case KEY_PARETO: s->pareto = true; break;
    case KEY_SPACE:
        s->space = value_word(state, "--space", arg, space_words);
        o->space_given = true;
        break;
    case KEY_LAYERS: o->layers = true; break;
    case KEY_LIMITS: o->limits = arg; break;
    case KEY_MIN_TILE: s->min_tile = value_number(state, "--min-tile", arg, 1, INT32_MAX); break;
    case KEY_MAX_BUFFERS: s->max_buffers = value_number(state, "--max-buffers", arg, 1, BUFFERS_MAX); break;
    case KEY_MAX_EXECS: s->max_execs = value_number(state, "--max-execs", arg, 1, INT32_MAX); break;
    case KEY_MODE: s->mode = value_word(state, "--mode", arg, mode_words); break;
    case KEY_CUT: s->cut = value_word(state, "--cut", arg, cut_words); break;
    case KEY_APPROACH: s->approach = value_word(state, "--approach", arg, approach_words); break;
    case ARGP_KEY_SUCCESS: check_goal(state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp options_goal_argp = {goal_options, parse_goal, 0, 0, 0, 0, 0};

/* ---- what may be spent ---- */

static const struct argp_option effort_options[] = {
    {0, 0, 0, 0, "How it is searched (Ctrl-C ends a search with the best so far):", 2},
    {"time-limit", KEY_TIME_LIMIT, "SECONDS", 0,
     "of the whole command: the search ends with the best so far, what is not reached is left out", 0},
    {"memory-limit", KEY_MEMORY_LIMIT, "SIZE", 0, "of the search, as in 512MiB; default 256MiB", 0},
    {"prove", KEY_PROVE, 0, 0, "search until the optimum is proven, however long that takes", 0},
    {"gap", KEY_GAP, "PERCENT", 0, "stop when the gap is at most this; default: soon after 1%", 0},
    {"budget", KEY_BUDGET, "N", 0,
     "limit of the search, in pieces of work; default 20000000, about two seconds for each operator", 0},
    {"threads", KEY_THREADS, "N", 0, "default: one per core; the result does not depend on it", 0},
    {"exhaustive", KEY_EXHAUSTIVE, 0, 0, "no bounds: simulate every point of the space, if it is small", 0},
    {"no-cache", KEY_NO_CACHE, 0, 0, "search even if the answer is known; so does TILEWRIGHT_NO_CACHE=1", 0},
    {"explain", KEY_EXPLAIN, 0, 0,
     "try other memories, bandwidths, arrays, tiles, orders and fusion, each planned or simulated, for up to 30 "
     "seconds; -o DIR writes each as files",
     0},
    {0}};

static error_t parse_effort(int key, char *arg, struct argp_state *state)
{
    cli_options *o = state->input;
    tw_search_options *s = &o->search;
    switch (key) {
    case KEY_TIME_LIMIT: s->time_limit = value_seconds(state, "--time-limit", arg); break;
    case KEY_MEMORY_LIMIT: s->memory_limit = value_bytes(state, "--memory-limit", arg); break;
    case KEY_GAP: s->gap = value_percent(state, "--gap", arg) / 100; break;
    case KEY_PROVE: s->prove = true; break;
    case KEY_BUDGET: s->budget = value_number(state, "--budget", arg, 1, INT64_MAX); break;
    case KEY_THREADS: s->n_threads = (int)value_number(state, "--threads", arg, 1, THREADS_MAX); break;
    case KEY_EXHAUSTIVE: s->exhaustive = true; break;
    case KEY_NO_CACHE: o->no_cache = true; break;
    case KEY_EXPLAIN: o->explain = true; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp options_effort_argp = {effort_options, parse_effort, 0, 0, 0, 0, 0};
