/* src/machine/cost.c - the table of the kinds of costs, and what is asked through it; see cost.h. */
#include "machine/cost_kind.h"
#include "machine/discipline.h"

#include <string.h>

static const tw_cost_ops *const ops_of[TW_N_COSTS] = {
    [TW_COST_CONSTANT] = &tw_cost_constant_ops, [TW_COST_LINEAR] = &tw_cost_linear_ops,
    [TW_COST_STEPPED] = &tw_cost_stepped_ops,   [TW_COST_DESCRIPTOR] = &tw_cost_descriptor_ops,
    [TW_COST_KERNEL] = &tw_cost_kernel_ops,     [TW_COST_ARRAY] = &tw_cost_array_ops};

/* ---- time ---- */

int64_t tw_cost_cycles(const tw_cost *cost, int64_t work) { return ops_of[cost->kind]->cycles(cost, work); }
double tw_cost_rate(const tw_cost *cost) { return ops_of[cost->kind]->rate(cost); }

int64_t tw_cost_least(const tw_cost *cost, bool pipelined, int64_t n, int64_t work)
{
    return n > 0 ? ops_of[cost->kind]->least(cost, pipelined, n, work) : 0;
}

int64_t tw_cost_fixed(const tw_cost *cost)
{
    switch (cost->kind) {
    case TW_COST_CONSTANT: return cost->constant.cycles;
    case TW_COST_LINEAR: return cost->linear.latency;
    case TW_COST_ARRAY: return cost->array.latency;
    default: return 0;
    }
}

int64_t tw_cost_grain(const tw_cost *cost, int64_t *cycles)
{
    *cycles = cost->kind == TW_COST_STEPPED ? cost->stepped.per_step : 1;
    if (cost->kind == TW_COST_STEPPED) return cost->stepped.step;
    return cost->kind == TW_COST_LINEAR ? cost->linear.per_cycle : 0;
}

/* Points that an array does in one cycle; 0: more than a number of 32 bits. */
static int64_t array_points(const tw_cost_array *array)
{
    int64_t points = 1;
    for (int d = 0; d < array->n_dims; d++)
        points = points > 0 && array->size[d] <= INT32_MAX / points ? points * array->size[d] : 0;
    return points;
}

bool tw_cost_peak(const tw_cost *cost, int64_t *points, int64_t *cycles)
{
    *cycles = 1;
    switch (cost->kind) {
    case TW_COST_LINEAR: *points = cost->linear.per_cycle; break;
    case TW_COST_STEPPED: *points = cost->stepped.step, *cycles = cost->stepped.per_step; break;
    case TW_COST_KERNEL: *points = cost->kernel.cores * TW_MILLI, *cycles = cost->kernel.per_point; break;
    case TW_COST_ARRAY: *points = array_points(&cost->array); break;
    default: return false;
    }
    return *points > 0 && *cycles > 0 && *points <= INT32_MAX && *cycles <= INT32_MAX;
}

int64_t tw_cost_busy(const tw_cost *cost, bool pipelined, int64_t work)
{
    if (cost->kind == TW_COST_CONSTANT) return cost->constant.busy;
    int64_t cycles = tw_cost_cycles(cost, work);
    return pipelined && cycles < INT64_MAX ? cycles - tw_cost_fixed(cost) : cycles;
}

int64_t tw_cost_of_units(const tw_cost *cost, int64_t units)
{
    return tw_cost_cycles(cost, tw_cost_by_shape(cost)
                                    ? tw_cost_of_transfer(&cost->descriptor, &(tw_shape){1, 1, units, 0, units})
                                    : units);
}

void tw_cost_calm(tw_cost *cost)
{
    if (cost->kind == TW_COST_KERNEL) cost->kernel.banks.busy = cost->kernel.banks.along = 0;
    if (cost->kind == TW_COST_DESCRIPTOR) cost->descriptor.fill_waits = cost->descriptor.clash_waits = 0;
}

bool tw_cost_set_barrier(tw_cost *cost, int64_t barrier)
{
    if (cost->kind == TW_COST_DESCRIPTOR) cost->descriptor.barrier = barrier;
    if (cost->kind == TW_COST_KERNEL) cost->kernel.barrier = barrier;
    return cost->kind == TW_COST_DESCRIPTOR || cost->kind == TW_COST_KERNEL;
}

/* ---- the file ---- */

static bool has_key(const tw_cost_ops *ops, const char *key)
{
    for (const char *const *own = ops->keys; *own; own++)
        if (strcmp(*own, key) == 0) return true;
    return false;
}

/* The kind that one of its keys tells, and that key; NULL: none does. */
static const tw_cost_ops *find_told(tw_fields *f, const tw_node **first)
{
    const tw_cost_ops *told = NULL;
    for (int k = TW_N_COSTS - 1; k >= 0; k--) {
        const tw_node *node = ops_of[k]->told ? tw_field_node(f, ops_of[k]->keys[0], TW_OPTIONAL) : NULL;
        if (node && !told) told = ops_of[k], *first = node;
    }
    return told;
}

/* The kind whose keys the map uses, TW_N_COSTS when there is none or, reported, when they are of two. */
static tw_cost_kind find_kind(const tw_cost_source *source, tw_fields *f)
{
    const tw_node *first = NULL;
    const tw_cost_ops *found = find_told(f, &first);
    bool clash = false;
    for (int k = 0; k < TW_N_COSTS; k++)
        for (const char *const *key = ops_of[k]->keys; *key; key++) {
            const tw_node *node = tw_field_node(f, *key, TW_OPTIONAL);
            if (!node || clash || (found && has_key(found, node->key))) continue;
            if (found) {
                TW_REFUSE(f, node->key_loc, "'%s' does not go with '%s' in one cost", node->key, first->key);
                clash = true;
                continue;
            }
            found = ops_of[k];
            first = node;
        }
    if (!found)
        TW_REFUSE(f, f->node->loc, "cost must be one of {constant}, {latency, per_cycle}, {step, per_step}%s",
                  tw_machine_knows(source->known.machine, "array")
                      ? ", {array}, {setup, per_row, beat, per_beat}, {cores, start, unroll, ..}"
                      : "");
    int kind = 0;
    while (kind < TW_N_COSTS && (clash || ops_of[kind] != found)) kind++;
    return (tw_cost_kind)kind;
}

bool tw_cost_read(const tw_cost_source *source, tw_fields *parent, const tw_node *node, tw_cost *cost)
{
    if (!node) return false;
    tw_fields f = tw_fields_open(node, "cost", parent->diag);
    tw_cost_kind kind = f.node ? find_kind(source, &f) : TW_N_COSTS;
    if (kind < TW_N_COSTS) {
        cost->kind = kind;
        ops_of[kind]->read(source, &f, cost);
    }
    bool good = tw_fields_close(&f) == TW_OK;
    parent->n_bad += !good;
    return good;
}

bool tw_cost_check(const tw_cost *cost, tw_engine_kind engine) { return ops_of[cost->kind]->check(cost, engine); }

void tw_cost_print(const tw_cost *cost, const tw_machine *machine, tw_text *out)
{
    ops_of[cost->kind]->print(cost, machine, out);
}

void tw_milli_print(const char *key, int64_t x, tw_text *out)
{
    int64_t rest = x % TW_MILLI;
    int digits = 3;
    tw_text_printf(out, "%s: %" PRId64, key, x / TW_MILLI);
    for (; rest > 0 && rest % 10 == 0; rest /= 10) digits--;
    if (rest > 0) tw_text_printf(out, ".%0*" PRId64, digits, rest);
}
