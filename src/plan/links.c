/* src/plan/links.c - see links.h. */
#include "plan/links.h"

const char *tw_unit_plural(tw_unit unit) { return unit == TW_UNIT_BYTE ? "bytes" : "elements"; }
const char *tw_unit_brief(tw_unit unit) { return unit == TW_UNIT_BYTE ? "B" : "elem"; }

bool tw_link_exists(const tw_op_plan *plan, int memory, int operand)
{
    const tw_residency *residency = &plan->program.flow->residency[memory][operand];
    return memory > 0 && residency->here && !residency->resident;
}

static tw_amount amount(int64_t transfers, int64_t units, int64_t elem_units)
{
    return (tw_amount){transfers, units / elem_units, units};
}

static void split_output(const tw_op_plan *plan, const tw_link_use *use, int operand, tw_crossing *c)
{
    int64_t sum = plan->program.partial_units, stores = use->transfers - use->loads;
    c->sums_back = amount(use->loads, use->load_units, sum);
    c->sums_out = amount(use->partial_stores, use->partial_units - use->load_units, sum);
    c->moved =
        amount(stores - use->partial_stores, use->units - use->partial_units, plan->program.elem_units[operand]);
}

tw_crossing tw_crossing_of(const tw_op_plan *plan, int memory, int operand)
{
    const tw_program *p = &plan->program;
    const tw_link_use *use = &plan->link[memory][operand];
    const tw_residency *residency = &p->flow->residency[memory][operand];
    bool output = operand == tw_op_output(p->op);
    tw_crossing c = {.engine = output ? residency->drain : residency->filler,
                     .back_engine = output && residency->returns ? residency->filler : -1,
                     .least = use->least_units / p->elem_units[operand]};
    if (output)
        split_output(plan, use, operand, &c);
    else
        c.moved = amount(use->transfers, use->units, p->elem_units[operand]);
    c.visits = c.moved.elems + c.sums_out.elems;
    c.all = c.visits + c.sums_back.elems;
    return c;
}
