/* src/machine/cost_constant.c - see cost_constant.h. */
#include "machine/cost_kind.h"
#include "machine/discipline.h"

static void read_constant(const tw_cost_source *source, tw_fields *f, tw_cost *cost)
{
    tw_cost_constant *c = &cost->constant;
    *c = (tw_cost_constant){0};
    bool known = tw_field_int(f, "constant", TW_REQUIRED, 0, TW_EXTENT_MAX, &c->cycles);
    c->busy = c->cycles;
    if (tw_known_node(&source->known, f, "busy"))
        tw_field_int(f, "busy", TW_OPTIONAL, 0, known ? c->cycles : TW_EXTENT_MAX, &c->busy);
}

static bool check_constant(const tw_cost *cost, tw_engine_kind engine)
{
    (void)engine;
    return 0 <= cost->constant.busy && cost->constant.busy <= cost->constant.cycles;
}

static void print_constant(const tw_cost *cost, const tw_machine *machine, tw_text *out)
{
    tw_text_printf(out, "{constant: %" PRId64, cost->constant.cycles);
    if (tw_machine_knows(machine, "busy")) tw_text_printf(out, ", busy: %" PRId64, cost->constant.busy);
    tw_text_printf(out, "}");
}

static int64_t constant_cycles(const tw_cost *cost, int64_t work)
{
    (void)work;
    return cost->constant.cycles;
}

static int64_t constant_least(const tw_cost *cost, bool pipelined, int64_t n, int64_t work)
{
    (void)pipelined, (void)work;
    return tw_cost_add_product(0, n, cost->constant.busy);
}

static double constant_rate(const tw_cost *cost)
{
    (void)cost;
    return 0;
}

static const char *const keys[] = {"constant", "busy", NULL};
const tw_cost_ops tw_cost_constant_ops = {.keys = keys,
                                          .read = read_constant,
                                          .check = check_constant,
                                          .print = print_constant,
                                          .cycles = constant_cycles,
                                          .least = constant_least,
                                          .rate = constant_rate};
