/* src/verify/tally.c - see tally.h. */
#include "verify/tally.h"
#include "verify/shape.h"

#include <math.h>
#include <string.h>

static void add(tw_tally *t, int64_t *sum, int64_t more)
{
    if (!tw_ckd_add(*sum, more, sum)) t->overflows = true;
}

/* The buffers of a pool belong to the first operand of those that share it. */
static tw_tally_pool *pool_of(tw_tally *t, int buffer)
{
    const tw_buffer *b = &t->in->layout->buffer[buffer];
    return &t->pool[b->memory][b->operand];
}

bool tw_tally_init(tw_tally *t, const tw_verify_input *in, tw_arena *arena)
{
    *t = (tw_tally){.in = in};
    if (!tw_discipline_of(in->machine)->credits) return true;
    for (int i = 0; i < in->layout->n_buffers; i++) pool_of(t, i)->slots++;
    for (int m = 0; m < in->machine->n_memories; m++)
        for (int o = 0; o < in->op->n_operands; o++) {
            t->pool[m][o].given_at = TW_NEW(arena, int64_t, t->pool[m][o].slots + 1);
            if (!t->pool[m][o].given_at) return false;
        }
    return true;
}

/* ---- counting ---- */

static void count_transfer(tw_tally *t, const tw_instr *i, tw_engine_use *use)
{
    tw_link_use *link = &t->link[t->in->machine->engine[i->engine].memory][i->operand];
    bool load = i->op == TW_LOAD;
    *(load ? &use->loads : &use->stores) += 1;
    add(t, load ? &use->load_units : &use->store_units, i->work);
    link->transfers++;
    add(t, &link->units, i->work);
    link->elems += tw_verify_region_elems(&t->in->op->operand[i->operand], &i->region);
    if (load) {
        link->loads++;
        link->load_units += i->work;
    }
    if (!i->partial) return;
    link->partial_stores += !load;
    link->partial_units += i->work;
}

void tw_tally_instr(tw_tally *t, const tw_instr *i)
{
    t->sum.instructions++;
    if (i->nested) return; /* its program does the work: nobody asks which engine it names */
    tw_engine_use *use = &t->engine[i->engine];
    if (i->op == TW_LOAD || i->op == TW_STORE) {
        count_transfer(t, i, use);
        return;
    }
    use->ops++;
    t->sum.execs += i->op != TW_SUM;
    if (i->op == TW_EXEC) add(t, &t->sum.macs, i->work);
}

void tw_tally_busy(tw_tally *t, int engine, int64_t cycles) { add(t, &t->engine[engine].busy_cycles, cycles); }

void tw_tally_wait(tw_tally *t, const tw_event *e, int awaited)
{
    tw_engine_use *use = &t->engine[e->instr.engine];
    if (e->wait == TW_WAIT_DATA) add(t, &use->wait_data, e->waited);
    if (e->wait != TW_WAIT_CREDIT) return;
    add(t, &use->wait_credit, e->waited);
    if (awaited >= 0) add(t, &pool_of(t, awaited)->waited, e->waited);
}

/* Those that are out: not given back yet in the order of the program, or given back later than this. */
void tw_tally_take(tw_tally *t, int buffer, int64_t start)
{
    tw_tally_pool *p = pool_of(t, buffer);
    int64_t late = 0, most = p->n_given < p->slots ? p->n_given : p->slots, at = p->next;
    p->out++;
    for (; late < most; late++) {
        at = at == 0 ? p->slots - 1 : at - 1;
        if (p->given_at[at] <= start) break;
    }
    p->needed = tw_max(p->needed, p->out);
    p->peak = tw_max(p->peak, p->out + late);
}

void tw_tally_give(tw_tally *t, int buffer, int64_t end)
{
    tw_tally_pool *p = pool_of(t, buffer);
    p->given_at[p->next] = end;
    p->next = p->next + 1 == p->slots ? 0 : p->next + 1;
    p->out--;
    p->n_given++;
}

/* ---- comparing ---- */

typedef struct claim {
    const char *what;
    int64_t said, is;
} claim;

static void compare(tw_fault *fault, const char *of, const char *at, const claim *c, int n)
{
    for (int i = 0; i < n && !fault->set; i++)
        if (c[i].said != c[i].is)
            tw_fault_set(fault, "the report says %s%s%s%s: %" PRId64 ", it is %" PRId64, c[i].what,
                         *of ? " of " : "", of, at, c[i].said, c[i].is);
}

static void sum_energy(tw_tally *t)
{
    const tw_machine *m = t->in->machine;
    int64_t part;
    if (!tw_ckd_mul(t->sum.macs, m->engine[m->compute].energy_fj, &t->sum.energy_fj)) t->overflows = true;
    for (int i = 1; i < m->n_memories; i++)
        for (int o = 0; o < t->in->op->n_operands; o++) {
            int64_t both = m->memory[i].energy_fj + m->memory[tw_verify_outside(t->in, i, o)].energy_fj;
            if (!tw_ckd_mul(t->link[i][o].units, both, &part)) t->overflows = true;
            add(t, &t->sum.energy_fj, part);
        }
}

static void compare_sum(const tw_tally *t, tw_fault *fault)
{
    const tw_summary *s = &t->in->claims->sum, *is = &t->sum;
    const claim c[] = {{"ticks", s->ticks, is->ticks},
                       {"cycles", s->cycles, is->cycles},
                       {"executions", s->execs, is->execs},
                       {"points", s->macs, is->macs},
                       {"instructions", s->instructions, is->instructions},
                       {"energy in fJ", s->energy_fj, is->energy_fj}};
    compare(fault, "", "", c, TW_COUNT(c));
}

static void compare_engines(const tw_tally *t, tw_fault *fault)
{
    const tw_machine *m = t->in->machine;
    int64_t critical = 0;
    for (int e = 0; e < m->n_engines; e++) {
        const tw_engine_use *s = &t->in->claims->engine[e], *is = &t->engine[e];
        const claim c[] = {{"loads", s->loads, is->loads},
                           {"units loaded", s->load_units, is->load_units},
                           {"stores", s->stores, is->stores},
                           {"units stored", s->store_units, is->store_units},
                           {"runs", s->ops, is->ops},
                           {"busy cycles", s->busy_cycles, is->busy_cycles},
                           {"cycles of waiting for data", s->wait_data, is->wait_data},
                           {"cycles of waiting for credits", s->wait_credit, is->wait_credit},
                           {"units", s->count, t->paths ? m->engine[e].count : 0}};
        compare(fault, m->engine[e].name, "", c, TW_COUNT(c));
        critical += s->critical_cycles;
        if (s->critical_cycles < 0 && !fault->set)
            tw_fault_set(fault, "the report gives '%s' less than nothing of the critical path", m->engine[e].name);
    }
    const claim path[] = {{"cycles", critical, t->paths ? t->sum.cycles : 0}};
    compare(fault, "the critical path", "", path, 1);
}

/* Positions along an axis that the loops reach. */
static int64_t reached(const tw_op *op, const tw_axis *axis, tw_arena *arena)
{
    enum { MOST = 1 << 20 };
    tw_box all = {0};
    int64_t index[TW_MAX_LOOPS], at, n = 0, visits = 1;
    unsigned loops = tw_verify_axis_loops(axis);
    for (int l = 0; l < op->n_loops; l++) {
        all.span[l].hi = op->loop[l].extent;
        if ((loops >> l & 1) && !tw_ckd_mul(visits, op->loop[l].extent, &visits)) return -1;
    }
    if (axis->extent > MOST || visits > MOST) return -1; /* too many to look at */
    uint8_t *seen = TW_NEW(arena, uint8_t, axis->extent);
    if (!seen) return -1;
    tw_verify_visit_first(&all, loops, index);
    do {
        if (!tw_verify_position(axis, index, &at) || seen[at]) continue;
        seen[at] = 1;
        n++;
    } while (tw_verify_visit_next(&all, loops, index));
    return n;
}

/* Units of the operand that the loops reach, -1: not known. */
static int64_t least_units(const tw_tally *t, int operand)
{
    const tw_operand *o = &t->in->op->operand[operand];
    int64_t n = 1;
    tw_arena *arena = tw_arena_new();
    for (int a = 0; a < o->n_axes && n >= 0; a++) {
        int64_t axis = arena ? reached(t->in->op, &o->axis[a], arena) : -1;
        n = axis < 0 ? -1 : n * axis;
    }
    tw_arena_free(arena);
    return n < 0 ? -1 : tw_verify_units(t->in, operand, n);
}

/* Units of the first n buffers of a pool. */
static int64_t units_of_first(const tw_tally *t, int memory, int operand, int64_t n)
{
    const tw_layout *layout = t->in->layout;
    int64_t sum = 0;
    if (n <= 0 || layout->count[memory][operand] == 0) return 0;
    const tw_buffer *first = &layout->buffer[layout->first[memory][operand]];
    if (t->in->slide[memory][operand].rows == 0) return n * first->size;
    for (int64_t k = 0; k < n && k < layout->count[memory][operand]; k++) sum += first[k].size;
    return sum;
}

static void compare_links(const tw_tally *t, tw_fault *fault)
{
    const tw_machine *m = t->in->machine;
    const tw_layout *layout = t->in->layout;
    for (int o = 0; o < t->in->op->n_operands; o++) {
        int64_t least = least_units(t, o);
        for (int i = 1; i < m->n_memories && !fault->set; i++) {
            const tw_link_use *s = &t->in->claims->link[i][o], *is = &t->link[i][o];
            int64_t slots = layout->count[i][o], held = units_of_first(t, i, o, slots);
            char at[80];
            if (!s->inner && is->transfers == 0) continue;
            const claim c[] = {{"transfers", s->transfers, is->transfers},
                               {"units", s->units, is->units},
                               {"elements", s->elems, is->elems},
                               {"loads", s->loads, is->loads},
                               {"units loaded", s->load_units, is->load_units},
                               {"stores of partial sums", s->partial_stores, is->partial_stores},
                               {"units of partial sums", s->partial_units, is->partial_units},
                               {"buffers", s->n_slots, slots},
                               {"units held", s->held_units, held},
                               {"least units", s->least_units, least < 0 ? s->least_units : least}};
            snprintf(at, sizeof at, " into '%.60s'", m->memory[i].name);
            compare(fault, t->in->op->operand[o].name, at, c, TW_COUNT(c));
        }
    }
}

/* Units of the buffers behind the first of a window that slides; where there are none, as the report says. */
static int64_t units_ahead(const tw_tally *t, int memory, int operand)
{
    const tw_layout *layout = t->in->layout;
    if (t->in->slide[memory][operand].rows == 0) return 0;
    return layout->count[memory][operand] > 1 ? layout->buffer[layout->first[memory][operand] + 1].size
                                              : t->in->claims->pool[memory][operand].ahead_units;
}

static void compare_pools(tw_tally *t, tw_fault *fault)
{
    const tw_machine *m = t->in->machine;
    for (int i = 1; i < m->n_memories; i++)
        for (int o = 0; o < t->in->op->n_operands && !fault->set; o++) {
            const tw_pool_use *s = &t->in->claims->pool[i][o];
            const tw_tally_pool *is = &t->pool[i][o];
            int first = t->in->layout->first[i][o];
            if (is->slots == 0) continue;
            int64_t units = t->in->layout->buffer[first].size;
            char at[80];
            const claim c[] = {{"buffers", s->slots, is->slots},
                               {"units of a buffer", s->slot_units, units},
                               {"buffers needed", s->needed, tw_max(is->needed, 1)},
                               {"most buffers in use", s->peak, is->peak},
                               {"cycles of waiting", s->wait_cycles, is->waited},
                               {"units ahead of the window", s->ahead_units, units_ahead(t, i, o)}};
            t->live[i] += units_of_first(t, i, o, is->peak);
            snprintf(at, sizeof at, " in '%.60s'", m->memory[i].name);
            compare(fault, t->in->op->operand[o].name, at, c, TW_COUNT(c));
        }
}

static void compare_memories(const tw_tally *t, tw_fault *fault)
{
    const tw_machine *m = t->in->machine;
    for (int i = 1; i < m->n_memories; i++) {
        const claim c[] = {{"most units alive", t->in->claims->memory[i].peak_live, t->live[i]}};
        compare(fault, m->memory[i].name, "", c, 1);
    }
}

/* ---- what a search says of its result ---- */

static double measured(const tw_tally *t, const tw_objective *objective)
{
    const tw_machine *m = t->in->machine;
    double sum = 0;
    switch (objective->measure) {
    case TW_CYCLES: return (double)t->sum.cycles;
    case TW_TICKS: return (double)t->sum.ticks;
    case TW_ENERGY: return (double)t->sum.energy_fj;
    case TW_EDP: return (double)((__int128)t->sum.energy_fj * t->sum.cycles);
    case TW_TRAFFIC:
        for (int i = 1; i < m->n_memories; i++)
            for (int o = 0; o < t->in->op->n_operands && strcmp(m->memory[i].name, objective->at) == 0; o++)
                sum += (double)t->link[i][o].units;
        for (int e = 0; e < m->n_engines && sum == 0; e++)
            if (m->engine[e].kind == TW_MOVES && strcmp(m->engine[e].name, objective->at) == 0)
                sum = (double)t->engine[e].load_units + (double)t->engine[e].store_units;
        return sum;
    case TW_PEAK: /* of a group: all that share the memory, which is more than its own */
        for (int i = 1; i < m->n_memories && tw_verify_is_alone(t->in); i++)
            if (strcmp(m->memory[i].name, objective->at) == 0) return (double)t->in->claims->memory[i].static_units;
        break;
    case TW_N_MEASURES: break;
    }
    return -1;
}

/* Objective i is what was measured, and no further above the least that was found than it may be. */
static void compare_objective(const tw_tally *t, const tw_search_result *s, int i, tw_fault *fault)
{
    double is = measured(t, &s->objective[i]), within = s->within ? s->within[i] : 0;
    double least = s->least ? s->least[i] : s->value[i];
    if (is >= 0 && s->value[i] != is)
        tw_fault_set(fault, "the search says that objective %d is %.17g, it is %.17g", i + 1, s->value[i], is);
    else if (s->value[i] < least || s->value[i] > least * (1 + within))
        tw_fault_set(fault, "objective %d is %.17g, which is not within %g of the least found, %.17g", i + 1,
                     s->value[i], within, least);
    else if (s->bounds && s->bounds[i] > least)
        tw_fault_set(fault, "the search says that nothing is below %.17g, but the least found is %.17g",
                     s->bounds[i], least);
}

static void compare_search(const tw_tally *t, tw_fault *fault)
{
    const tw_search_result *s = t->in->claims->search;
    if (!s || fault->set) return;
    for (int i = 0; i < s->n_objectives && !fault->set; i++) compare_objective(t, s, i, fault);
    if (fault->set || s->n_objectives < 1) return;
    double least = s->least ? s->least[0] : s->value[0], gap = least > 0 ? (least - s->bound) / least : 0;
    if (s->bound > least)
        tw_fault_set(fault, "the search says that nothing is below %.17g, but this is %.17g", s->bound, least);
    else if (s->proven && s->bound != least)
        tw_fault_set(fault, "the search calls %.17g proven, its bound is %.17g", least, s->bound);
    else if (fabs(s->gap - gap) > 1e-9)
        tw_fault_set(fault, "the search says that its gap is %.9g, it is %.9g", s->gap, gap);
}

void tw_tally_compare(tw_tally *t, tw_fault *fault)
{
    if (!t->in->claims || fault->set) return;
    sum_energy(t);
    if (t->overflows) tw_fault_set(fault, "the numbers of the report do not fit into 64 bits");
    compare_sum(t, fault);
    compare_engines(t, fault);
    compare_links(t, fault);
    compare_pools(t, fault);
    compare_memories(t, fault);
    compare_search(t, fault);
}
