/* src/verify/joint_claims.c - what the commands of groups add up to, and whether the report says the same. */
#include "verify/joint_judge.h"

/* ---- counts ---- */

static void count_wait(const tw_joint_at *s, tw_engine_use *use)
{
    int64_t waited = s->event->waited;
    if (s->event->wait == TW_WAIT_DATA) tw_joint_add(s->j, &use->wait_data, waited);
    if (s->event->wait == TW_WAIT_PORT) tw_joint_add(s->j, &use->wait_port, waited);
    if (s->event->wait != TW_WAIT_CREDIT) return;
    tw_joint_add(s->j, &use->wait_credit, waited);
    if (s->todo->dst >= 0) tw_joint_add(s->j, &s->group->hold[s->todo->dst].use.wait_cycles, waited);
}

static void count_operator(const tw_joint_at *s)
{
    tw_summary *sum = &s->j->op_sum[s->op->map->op];
    sum->cycles = tw_max(sum->cycles, s->event->end_cycle);
    sum->execs++;
    tw_joint_add(s->j, &sum->macs, s->instr->work);
}

void tw_joint_count(const tw_joint_at *s)
{
    tw_engine_use *use = &s->j->engine[s->instr->engine].use;
    const tw_instr *i = s->instr;
    s->j->sum.instructions++;
    s->j->sum.cycles = tw_max(s->j->sum.cycles, s->event->end_cycle);
    tw_joint_add(s->j, &use->busy_cycles, s->event->busy_end - s->event->start_cycle);
    count_wait(s, use);
    if (i->op == TW_LOAD) {
        use->loads++;
        tw_joint_add(s->j, &use->load_units, i->work);
    } else if (i->op == TW_STORE) {
        use->stores++;
        tw_joint_add(s->j, &use->store_units, i->work);
    } else {
        use->ops++;
        s->j->sum.execs++;
        tw_joint_add(s->j, &s->j->sum.macs, i->work);
        count_operator(s);
    }
}

/* Slots that are out when one of them is taken: by the program before it, and of those given back again the ones that are so
 * later than this. */
void tw_joint_count_taken(const tw_joint_at *s, tw_joint_hold *h)
{
    int64_t held = 0, out = 0, taken = tw_joint_is_late(s) ? s->event->end_cycle : s->event->start_cycle;
    for (int64_t i = 0; i < h->slots; i++) {
        bool is_held = h->slot[i].run;
        held += is_held;
        out += is_held || h->slot[i].given_at > taken;
    }
    h->use.needed = tw_max(h->use.needed, held);
    h->use.peak = tw_max(h->use.peak, out);
}

/* ---- the report ---- */

static void compare(tw_joint_judge *j, const char *what, const char *of, int64_t said, int64_t is)
{
    if (said != is && !j->fault.set)
        tw_fault_set(&j->fault, "the report says %s%s%s: %" PRId64 ", it is %" PRId64, what, *of ? " of " : "", of,
                     said, is);
}

static void compare_engine(tw_joint_judge *j, int engine)
{
    const tw_engine_use *s = &j->in.claims->engine[engine], *is = &j->engine[engine].use;
    const char *name = j->in.platform->engine[engine].name;
    compare(j, "loads", name, s->loads, is->loads);
    compare(j, "units loaded", name, s->load_units, is->load_units);
    compare(j, "stores", name, s->stores, is->stores);
    compare(j, "units stored", name, s->store_units, is->store_units);
    compare(j, "runs", name, s->ops, is->ops);
    compare(j, "busy cycles", name, s->busy_cycles, is->busy_cycles);
    if (j->in.unhurried) return;
    compare(j, "cycles without data", name, s->wait_data, is->wait_data);
    compare(j, "cycles without a credit", name, s->wait_credit, is->wait_credit);
    compare(j, "cycles before a port", name, s->wait_port, is->wait_port);
}

/* Which way the critical path takes is not known here; that it leads from the beginning to the end is. */
static void compare_path(tw_joint_judge *j)
{
    int64_t sum = 0;
    for (int e = 0; e < j->in.platform->n_engines; e++) {
        int64_t share = j->in.claims->engine[e].critical_cycles;
        tw_joint_add(j, &sum, share);
        if (share < 0) compare(j, "share of the critical path", j->in.platform->engine[e].name, share, 0);
    }
    compare(j, "cycles of the critical path", "", sum, j->sum.cycles);
}

/* A hold is the pool that its buffers name. */
static void compare_hold(tw_joint_judge *j, const tw_joint_hold *h)
{
    if (h->first < 0) return;
    const tw_buffer *first = &j->in.buffer[h->first];
    const tw_pool_use *s = &j->in.claims->pool[first->pool];
    tw_buffer_name name = tw_joint_buffer_name(j, h->first, -1);
    compare(j, "slots", name.text, s->slots, h->slots);
    compare(j, "units of a slot", name.text, s->slot_units, first->size);
    compare(j, "slots needed", name.text, s->needed, h->use.needed);
    compare(j, "slots held at once", name.text, s->peak, h->use.peak);
    if (!j->in.unhurried) compare(j, "cycles without a credit", name.text, s->wait_cycles, h->use.wait_cycles);
}

static int64_t peak_of(const tw_joint_judge *j, int memory)
{
    int64_t sum = 0;
    for (int g = 0; g < j->in.n_groups; g++)
        for (int i = 0; i < j->group[g].n_holds; i++) {
            const tw_joint_hold *h = &j->group[g].hold[i];
            if (h->memory == memory && h->first >= 0) sum += h->use.peak * j->in.buffer[h->first].size;
        }
    return sum;
}

static void compare_memory(tw_joint_judge *j, int memory)
{
    const tw_memory_use *s = &j->in.claims->memory[memory];
    const char *name = j->in.platform->memory[memory].name;
    compare(j, "units of buffers", name, s->static_units, j->static_units[memory]);
    if (!j->in.unhurried) compare(j, "units in use at once", name, s->peak_live, peak_of(j, memory));
}

static void compare_op(tw_joint_judge *j, int op)
{
    const tw_summary *s = &j->in.claims->op[op], *is = &j->op_sum[op];
    const char *name = j->in.model->op[op].name;
    compare(j, "end", name, s->cycles, is->cycles);
    compare(j, "executions", name, s->execs, is->execs);
    compare(j, "points", name, s->macs, is->macs);
}

static void compare_port(tw_joint_judge *j, int port)
{
    const char *name = j->in.platform->port[port].name;
    compare(j, "busy cycles", name, j->in.claims->port_busy[port], tw_joint_ports_busy(j, port));
    compare(j, "transfers", name, j->in.claims->port_passed[port], tw_joint_ports_passed(j, port));
}

void tw_joint_compare(tw_joint_judge *j)
{
    const tw_joint_claims *said = j->in.claims;
    if (!said || j->fault.set) return;
    if (j->overflows) tw_fault_set(&j->fault, "the numbers of the report do not fit into 64 bits");
    compare(j, "cycles", "", said->sum.cycles, j->sum.cycles);
    compare(j, "executions", "", said->sum.execs, j->sum.execs);
    compare(j, "points", "", said->sum.macs, j->sum.macs);
    compare(j, "instructions", "", said->sum.instructions, j->sum.instructions);
    compare(j, "energy in fJ", "", said->sum.energy_fj, j->sum.energy_fj);
    for (int e = 0; e < j->in.platform->n_engines && said->engine; e++) compare_engine(j, e);
    if (said->engine && !j->in.unhurried) compare_path(j);
    for (int m = 1; m < j->in.platform->n_memories && said->memory; m++) compare_memory(j, m);
    for (int g = 0; g < j->in.n_groups && said->pool; g++)
        for (int h = 0; h < j->group[g].n_holds; h++) compare_hold(j, &j->group[g].hold[h]);
    for (int p = 0; p < j->in.platform->n_ports && said->port_busy && said->port_passed; p++) compare_port(j, p);
    for (int o = 0; o < j->in.model->n_ops && said->op; o++) compare_op(j, o);
}
