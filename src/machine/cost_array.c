/* src/machine/cost_array.c - see cost_array.h. */
#include "machine/cost_kind.h"

#include <string.h>

bool tw_dims_are_plain(const tw_cost_array *array)
{
    return array->n_dims == 2 && strcmp(array->dim[0], tw_rows_name) == 0 &&
           strcmp(array->dim[1], tw_columns_name) == 0;
}

static void read_dim(tw_fields *f, const tw_node *entry, tw_cost_array *array)
{
    int d = array->n_dims++;
    array->dim[d] = entry->key ? entry->key : d == 0 ? tw_rows_name : tw_columns_name;
    if (entry->key && !tw_name_is_valid(entry->key))
        TW_REFUSE(f, entry->key_loc, "'%s' is no name for a dimension", entry->key);
    f->n_bad += !tw_node_int(entry, "array", 1, TW_EXTENT_MAX, f->diag, &array->size[d]);
}

static const char *const role_word[] = {"activations", "weights", "output"};
static const unsigned role_bit[] = {TW_HOLDS_ACTIVATIONS, TW_HOLDS_WEIGHTS, TW_HOLDS_OUTPUT};

/* What stays in place, and for how long at least: both or none. */
static void read_stationary(tw_fields *f, tw_cost_array *array)
{
    const tw_node *what = tw_field_node(f, "stationary", TW_OPTIONAL);
    const tw_node *least = tw_field_node(f, "block_least", TW_OPTIONAL);
    int word = 0;
    if (tw_field_word(f, "stationary", TW_OPTIONAL, role_word, TW_COUNT(role_word), &word))
        array->stationary = role_bit[word];
    tw_field_int(f, "block_least", TW_OPTIONAL, 1, TW_EXTENT_MAX, &array->block_least);
    if (!what != !least)
        TW_REFUSE(f, (what ? what : least)->key_loc,
                  "'stationary' and 'block_least' are given together or not at all");
}

static void read_array(const tw_cost_source *source, tw_fields *f, tw_cost *cost)
{
    const tw_node *array = tw_known_node(&source->known, f, "array");
    cost->array = (tw_cost_array){0};
    tw_field_int(f, "latency", TW_OPTIONAL, 0, TW_EXTENT_MAX, &cost->array.latency);
    read_stationary(f, &cost->array);
    if (!array) return;
    if (source->engine != TW_COMPUTES)
        TW_REFUSE(f, array->key_loc, "'array' is only for the compute engine");
    else if (array->kind == TW_LIST ? array->n_children != 2 : array->kind != TW_NODE_MAP)
        TW_REFUSE(f, array->loc,
                  "'array' must be a list of two numbers, rows and columns, or a map of names and numbers");
    else if (array->n_children < 1 || array->n_children > TW_MAX_DIMS)
        TW_REFUSE(f, array->loc, "'array' has %d dimensions, outside 1..%d", array->n_children, TW_MAX_DIMS);
    else
        for (const tw_node *entry = array->child; entry; entry = entry->next) read_dim(f, entry, &cost->array);
}

static bool check_array(const tw_cost *cost, tw_engine_kind engine)
{
    const tw_cost_array *array = &cost->array;
    if (array->n_dims < 1 || array->n_dims > TW_MAX_DIMS) return false;
    for (int d = 0; d < array->n_dims; d++)
        if (array->size[d] < 1 || !array->dim[d]) return false;
    if (array->block_least < 0 || (array->stationary & ~(unsigned)TW_HOLDS_ALL)) return false;
    return engine == TW_COMPUTES;
}

/* Rows and columns as a list, others by their names. */
static void print_array(const tw_cost *cost, const tw_machine *machine, tw_text *out)
{
    const tw_cost_array *array = &cost->array;
    bool plain = tw_dims_are_plain(array);
    (void)machine;
    tw_text_printf(out, "{array: %s", plain ? "[" : "{");
    for (int d = 0; d < array->n_dims; d++) {
        tw_text_printf(out, d ? ", " : "");
        if (!plain) tw_text_printf(out, "%s: ", array->dim[d]);
        tw_text_printf(out, "%" PRId64, array->size[d]);
    }
    tw_text_printf(out, plain ? "]" : "}");
    tw_text_printf(out, ", latency: %" PRId64, array->latency);
    for (size_t i = 0; i < TW_COUNT(role_bit); i++)
        if (array->stationary == role_bit[i]) tw_text_printf(out, ", stationary: %s", role_word[i]);
    if (array->stationary) tw_text_printf(out, ", block_least: %" PRId64, array->block_least);
    tw_text_printf(out, "}");
}

static int64_t array_cycles(const tw_cost *cost, int64_t passes) { return tw_sat_add(cost->array.latency, passes); }

static int64_t array_least(const tw_cost *cost, bool pipelined, int64_t n, int64_t passes)
{
    return tw_cost_add_product(passes, n, pipelined ? 0 : cost->array.latency);
}

static double array_rate(const tw_cost *cost)
{
    double points = 1;
    for (int d = 0; d < cost->array.n_dims; d++) points *= (double)cost->array.size[d];
    return points;
}

static const char *const keys[] = {"array", "latency", "stationary", "block_least", NULL};
const tw_cost_ops tw_cost_array_ops = {.keys = keys,
                                       .told = true,
                                       .read = read_array,
                                       .check = check_array,
                                       .print = print_array,
                                       .cycles = array_cycles,
                                       .least = array_least,
                                       .rate = array_rate};
