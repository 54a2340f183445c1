/* src/machine/cost_stepped.c - see cost_stepped.h. */
#include "machine/cost_kind.h"

static void read_stepped(const tw_cost_source *source, tw_fields *f, tw_cost *cost)
{
    (void)source;
    cost->stepped = (tw_cost_stepped){0};
    tw_field_int(f, "per_step", TW_REQUIRED, 0, TW_EXTENT_MAX, &cost->stepped.per_step);
    tw_field_int(f, "step", TW_REQUIRED, 1, TW_EXTENT_MAX, &cost->stepped.step);
}

static bool check_stepped(const tw_cost *cost, tw_engine_kind engine)
{
    (void)cost, (void)engine;
    return true;
}

static void print_stepped(const tw_cost *cost, const tw_machine *machine, tw_text *out)
{
    (void)machine;
    tw_text_printf(out, "{step: %" PRId64 ", per_step: %" PRId64 "}", cost->stepped.step, cost->stepped.per_step);
}

static int64_t stepped_cycles(const tw_cost *cost, int64_t work)
{
    return tw_cost_add_product(0, cost->stepped.per_step, tw_cdiv(work, cost->stepped.step));
}

static int64_t stepped_least(const tw_cost *cost, bool pipelined, int64_t n, int64_t work)
{
    (void)pipelined;
    return tw_cost_add_product(0, cost->stepped.per_step, tw_max(n, tw_cdiv(work, cost->stepped.step)));
}

static double stepped_rate(const tw_cost *cost)
{
    return cost->stepped.per_step > 0 ? (double)cost->stepped.step / (double)cost->stepped.per_step : 0;
}

static const char *const keys[] = {"step", "per_step", NULL};
const tw_cost_ops tw_cost_stepped_ops = {.keys = keys,
                                         .read = read_stepped,
                                         .check = check_stepped,
                                         .print = print_stepped,
                                         .cycles = stepped_cycles,
                                         .least = stepped_least,
                                         .rate = stepped_rate};
