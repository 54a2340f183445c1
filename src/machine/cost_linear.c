/* src/machine/cost_linear.c - see cost_linear.h. */
#include "machine/cost_kind.h"

static void read_linear(const tw_cost_source *source, tw_fields *f, tw_cost *cost)
{
    (void)source;
    cost->linear = (tw_cost_linear){0};
    tw_field_int(f, "latency", TW_REQUIRED, 0, TW_EXTENT_MAX, &cost->linear.latency);
    tw_field_int(f, "per_cycle", TW_REQUIRED, 1, TW_EXTENT_MAX, &cost->linear.per_cycle);
}

static bool check_linear(const tw_cost *cost, tw_engine_kind engine)
{
    (void)cost, (void)engine;
    return true;
}

static void print_linear(const tw_cost *cost, const tw_machine *machine, tw_text *out)
{
    (void)machine;
    tw_text_printf(out, "{latency: %" PRId64 ", per_cycle: %" PRId64 "}", cost->linear.latency,
                   cost->linear.per_cycle);
}

static int64_t linear_cycles(const tw_cost *cost, int64_t work)
{
    return tw_sat_add(cost->linear.latency, tw_cdiv(work, cost->linear.per_cycle));
}

static int64_t linear_least(const tw_cost *cost, bool pipelined, int64_t n, int64_t work)
{
    return tw_cost_add_product(tw_max(n, tw_cdiv(work, cost->linear.per_cycle)), n,
                               pipelined ? 0 : cost->linear.latency);
}

static double linear_rate(const tw_cost *cost) { return (double)cost->linear.per_cycle; }

static const char *const keys[] = {"latency", "per_cycle", NULL};
const tw_cost_ops tw_cost_linear_ops = {.keys = keys,
                                        .read = read_linear,
                                        .check = check_linear,
                                        .print = print_linear,
                                        .cycles = linear_cycles,
                                        .least = linear_least,
                                        .rate = linear_rate};
