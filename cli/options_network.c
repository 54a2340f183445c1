/* cli/options_network.c - see options_network.h. */
#include "options_network.h"
#include "options.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_DIM = 600,
    KEY_SHAPE,
    KEY_STRICT,
    KEY_NO_FOLD,
    KEY_DTYPE,
    KEY_CORE,
    KEY_FILL,
    KEY_INPUT,
    KEY_DATA,
    KEY_TOLERANCE,
    KEY_MAX_MEMORY
};

static const struct argp_option network_options[] = {
    {0, 0, 0, 0, "Networks (WORKLOAD is an ONNX file):", 3},
    {"dim", KEY_DIM, "NAME=N", 0, "size of a dimension that the file does not fix", 0},
    {"input-shape", KEY_SHAPE, "NAME=AxBxC", 0, "shape of an input", 0},
    {"fill", KEY_FILL, "NAME=VALUE", 0, "an input whose elements all have this value; shapes may depend on it", 0},
    {"strict", KEY_STRICT, 0, 0, "an operator without a description is an error", 0},
    {"no-fold", KEY_NO_FOLD, 0, 0, "make every node a step, even if all of its inputs are constant", 0},
    {"dtype", KEY_DTYPE, "TYPE", 0, "plan floating-point tensors as if they had this type, such as i8", 0},
    {"core", KEY_CORE, "MACHINE", 0, "another machine to compare each step on; may be repeated", 0},
    {0}};

/* The part before '='; the rest is in *value. */
static const char *split(const struct argp_state *state, const char *option, char *arg, const char **value)
{
    char *equals = strrchr(arg, '=');
    if (!equals || equals == arg || !equals[1]) argp_error(state, "%s takes NAME=VALUE, not '%s'", option, arg);
    *equals = 0;
    *value = equals + 1;
    return arg;
}

static void check_room(const struct argp_state *state, const char *option, int n, int most)
{
    if (n >= most) argp_error(state, "more than %d times %s", most, option);
}

static void check_once(const struct argp_state *state, const char *option, const char *before, const char *name)
{
    if (strcmp(before, name) == 0) argp_error(state, "%s of '%s' is given twice", option, name);
}

/* "1x3x224x224": so many. */
static int read_shape(const struct argp_state *state, const char *text, int64_t dim[CLI_MAX_DIMS])
{
    int n = 0;
    for (const char *at = text;; at++) {
        char *end;
        long long size = strtoll(at, &end, 10);
        if (end == at || size < 0 || size > INT32_MAX || (*end && *end != 'x') || n == CLI_MAX_DIMS)
            argp_error(state, "--input-shape takes NAME=AxBxC, not '%s'", text);
        dim[n++] = size;
        at = end;
        if (!*end) return n;
    }
}

static double read_value(const struct argp_state *state, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end) argp_error(state, "--fill takes NAME=VALUE, not '%s'", text);
    return value;
}

static error_t parse_network(int key, char *arg, struct argp_state *state)
{
    cli_network *n = &((cli_options *)state->input)->network;
    const char *value;
    switch (key) {
    case KEY_DIM:
        check_room(state, "--dim", n->open.n_dims, CLI_MAX_BINDINGS);
        n->dim[n->open.n_dims].name = split(state, "--dim", arg, &value);
        n->dim[n->open.n_dims++].size = value_number(state, "--dim", value, 0, INT32_MAX);
        break;
    case KEY_SHAPE:
        check_room(state, "--input-shape", n->open.n_shapes, CLI_MAX_BINDINGS);
        n->shape[n->open.n_shapes].input = split(state, "--input-shape", arg, &value);
        for (int i = 0; i < n->open.n_shapes; i++)
            check_once(state, "--input-shape", n->shape[i].input, n->shape[n->open.n_shapes].input);
        n->shape[n->open.n_shapes].n_dims = read_shape(state, value, n->shape_dim[n->open.n_shapes]);
        n->shape[n->open.n_shapes].dim = n->shape_dim[n->open.n_shapes];
        n->open.n_shapes++;
        break;
    case KEY_FILL:
        check_room(state, "--fill", n->open.n_fills, CLI_MAX_BINDINGS);
        n->fill[n->open.n_fills].input = split(state, "--fill", arg, &value);
        for (int i = 0; i < n->open.n_fills; i++)
            check_once(state, "--fill", n->fill[i].input, n->fill[n->open.n_fills].input);
        n->fill[n->open.n_fills++].value = read_value(state, value);
        break;
    case KEY_STRICT: n->open.strict = true; break;
    case KEY_NO_FOLD: n->open.no_fold = true; break;
    case KEY_DTYPE: n->open.dtype = arg; break;
    case KEY_CORE:
        check_room(state, "--core", n->n_cores, CLI_MAX_CORES);
        n->core[n->n_cores++] = arg;
        break;
    case ARGP_KEY_SUCCESS:
        n->open.dim = n->dim;
        n->open.shape = n->shape;
        n->open.fill = n->fill;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
    n->given = true;
    return 0;
}
const struct argp options_network_argp = {network_options, parse_network, 0, 0, 0, 0, 0};

static const struct argp_option run_options[] = {
    {0, 0, 0, 0, "What it is run on:", 8},
    {"input", KEY_INPUT, "NAME=FILE.pb", 0, "elements of an input; others are random", 0},
    {"data", KEY_DATA, "DIR", 0, "input_0.pb.. of all inputs; output_0.pb.. are compared with the results", 0},
    {"max-memory", KEY_MAX_MEMORY, "SIZE", 0, "that the run may take, as in 4GiB; default half of the host's", 0},
    {"tolerance", KEY_TOLERANCE, "PERCENT", 0,
     "how far results may be off, of the largest element; default 0.1% for floats, nothing for whole numbers", 0},
    {0}};

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
    cli_network *n = &((cli_options *)state->input)->network;
    switch (key) {
    case KEY_INPUT:
        check_room(state, "--input", n->n_inputs, CLI_MAX_BINDINGS);
        n->input_name[n->n_inputs] = split(state, "--input", arg, &n->input_file[n->n_inputs]);
        for (int i = 0; i < n->n_inputs; i++)
            check_once(state, "--input", n->input_name[i], n->input_name[n->n_inputs]);
        n->n_inputs++;
        return 0;
    case KEY_DATA: n->data = arg; return 0;
    case KEY_MAX_MEMORY: n->max_memory = value_bytes(state, "--max-memory", arg); return 0;
    case KEY_TOLERANCE: n->tolerance = value_percent(state, "--tolerance", arg) / 100; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}
const struct argp options_run_argp = {run_options, parse_run, 0, 0, 0, 0, 0};
