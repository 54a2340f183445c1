/* src/verify/links.c - what is reported of one operator beside what every program counts: what crossed the links between memories,
 * what had to cross them at least, and what a search says of its own result. */
#include "verify/links.h"
#include "verify/shape.h"

#include <math.h>
#include <string.h>

void tw_links_count(tw_links *k, const tw_instr *i)
{
    if (i->op != TW_LOAD && i->op != TW_STORE) return;
    tw_link_use *link = &k->link[k->in->machine->engine[i->engine].memory][i->operand];
    bool load = i->op == TW_LOAD;
    link->transfers++;
    link->units += i->work;
    link->elems += tw_verify_region_elems(&k->in->op->operand[i->operand], &i->region);
    if (load) {
        link->loads++;
        link->load_units += i->work;
    }
    if (!i->partial) return;
    link->partial_stores += !load;
    link->partial_units += i->work;
}

/* Positions along an axis that the loops reach. */
static int64_t reached(const tw_op *op, const tw_axis *axis, tw_arena *arena)
{
    enum { MOST = 1 << 20 };
    tw_box all = tw_verify_whole_box(op);
    int64_t index[TW_MAX_LOOPS], at, n = 0, visits = 1;
    unsigned loops = tw_verify_axis_loops(axis);
    for (int l = 0; l < op->n_loops; l++)
        if ((loops >> l & 1) && !tw_ckd_mul(visits, op->loop[l].extent, &visits)) return -1;
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
static int64_t least_units(const tw_verify_input *in, int operand)
{
    const tw_operand *o = &in->op->operand[operand];
    int64_t n = 1;
    tw_arena *arena = tw_arena_new();
    for (int a = 0; a < o->n_axes && n >= 0; a++) {
        int64_t axis = arena ? reached(in->op, &o->axis[a], arena) : -1;
        n = axis < 0 ? -1 : n * axis;
    }
    tw_arena_free(arena);
    return n < 0 ? -1 : tw_verify_units(in, operand, n);
}

static void compare_links(const tw_links *k, tw_fault *fault)
{
    const tw_machine *m = k->in->machine;
    const tw_layout *layout = k->in->layout;
    for (int o = 0; o < k->in->op->n_operands; o++) {
        int64_t least = least_units(k->in, o);
        for (int i = 1; i < m->n_memories && !fault->set; i++) {
            const tw_link_use *s = &k->in->claims->link[i][o], *is = &k->link[i][o];
            int64_t slots = layout->count[i][o],
                    held = slots ? tw_table_units(k->in->scene, layout->first[i][o], slots) : 0;
            char at[80];
            if (!s->inner && is->transfers == 0) continue;
            const tw_claim c[] = {{"transfers", s->transfers, is->transfers},
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
            tw_tally_claims(fault, k->in->op->operand[o].name, at, c, TW_COUNT(c));
        }
    }
}

/* ---- what a search says of its result ---- */

/* Whether traffic of the memory that is named is counted at memory m, on its outer side: at itself, or at those that are joined to the outermost one. */
static bool is_counted_at(const tw_links *k, int m, const char *name)
{
    const tw_machine *machine = k->in->machine;
    bool joined = false;
    for (int e = 0; e < machine->n_engines; e++)
        joined |=
            machine->engine[e].kind == TW_MOVES && machine->engine[e].memory == m && machine->engine[e].outer == 0;
    return strcmp(machine->memory[m].name, name) == 0 || (joined && strcmp(machine->memory[0].name, name) == 0);
}

static double measured(const tw_links *k, const tw_objective *objective)
{
    const tw_machine *m = k->in->machine;
    double sum = 0;
    switch (objective->measure) {
    case TW_CYCLES: return (double)k->tally->sum.cycles;
    case TW_TICKS: return (double)k->tally->sum.ticks;
    case TW_ENERGY: return (double)k->tally->sum.energy_fj;
    case TW_EDP: return (double)((__int128)k->tally->sum.energy_fj * k->tally->sum.cycles);
    case TW_TRAFFIC:
        for (int i = 1; i < m->n_memories; i++)
            for (int o = 0; o < k->in->op->n_operands && is_counted_at(k, i, objective->at); o++)
                sum += (double)k->link[i][o].units;
        for (int e = 0; e < m->n_engines && sum == 0; e++)
            if (m->engine[e].kind == TW_MOVES && strcmp(m->engine[e].name, objective->at) == 0)
                sum = (double)k->tally->engine[e].load_units + (double)k->tally->engine[e].store_units;
        return sum;
    case TW_PEAK: /* of a group: all that share the memory, which is more than its own */
        for (int i = 1; i < m->n_memories && tw_verify_is_alone(k->in); i++)
            if (strcmp(m->memory[i].name, objective->at) == 0) return (double)k->in->claims->memory[i].static_units;
        break;
    case TW_N_MEASURES: break;
    }
    return -1;
}

/* Objective i is what was measured, and no further above the least that was found than it may be. */
static void compare_objective(const tw_links *k, const tw_search_result *s, int i, tw_fault *fault)
{
    double is = measured(k, &s->objective[i]), within = s->within ? s->within[i] : 0;
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

static void compare_search(const tw_links *k, tw_fault *fault)
{
    const tw_search_result *s = k->in->claims->search;
    if (!s || fault->set) return;
    for (int i = 0; i < s->n_objectives && !fault->set; i++) compare_objective(k, s, i, fault);
    if (fault->set || s->n_objectives < 1) return;
    double least = s->least ? s->least[0] : s->value[0], gap = least > 0 ? (least - s->bound) / least : 0;
    if (s->bound > least)
        tw_fault_set(fault, "the search says that nothing is below %.17g, but this is %.17g", s->bound, least);
    else if (s->proven && s->bound != least)
        tw_fault_set(fault, "the search calls %.17g proven, its bound is %.17g", least, s->bound);
    else if (fabs(s->gap - gap) > 1e-9)
        tw_fault_set(fault, "the search says that its gap is %.9g, it is %.9g", s->gap, gap);
}

void tw_links_compare(const tw_links *k, tw_fault *fault)
{
    if (!k->in->claims || fault->set) return;
    compare_links(k, fault);
    compare_search(k, fault);
}
