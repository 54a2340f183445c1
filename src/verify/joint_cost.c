/* src/verify/joint_cost.c - how long the commands of groups take, at ports too, and what they need of energy.
 *
 * What is asked of a machine in cost.h is asked of a scratch machine whose only engine is the one at hand. */
#include "verify/cost.h"
#include "verify/joint_judge.h"
#include "verify/shape.h"

static int64_t rounds(int64_t work, int64_t per) { return work / per + (work % per ? 1 : 0); }

void tw_joint_add(tw_joint_judge *j, int64_t *sum, int64_t by)
{
    if (!tw_ckd_add(*sum, by, sum)) j->overflows = true;
}

/* ---- what is moved ---- */

static int64_t units_of(const tw_joint_at *s, const tw_region *region)
{
    const tw_joint_judge *j = s->j;
    return tw_joint_units(j, j->in.model->tensor[s->tensor].dtype,
                          tw_verify_region_elems(&j->tensor[s->tensor].shape, region));
}

/* Whether a lane differs from one before it only in pieces of loops that the operand does not depend on. Pieces are filled from
 * the first on, so that is a lane which has a piece other than the first of such a loop. */
static bool is_repeated(const tw_joint_at *s, unsigned per, int64_t lane)
{
    const tw_operand *operand = &s->op->op->operand[s->instr->operand];
    unsigned known = 0;
    for (int a = 0; a < operand->n_axes; a++) known |= tw_verify_axis_loops(&operand->axis[a]);
    for (int l = s->op->op->n_loops - 1; l >= 0; l--) {
        if (s->op->dim[l] == 0 || !(per >> (s->op->dim[l] - 1) & 1)) continue;
        if (lane % s->op->parts[l] > 0 && !(known >> l & 1)) return true;
        lane /= s->op->parts[l];
    }
    return false;
}

/* A part of what a lane holds: of a store of what was just made, what it has of that. */
static tw_joint_part moved_part(const tw_joint_at *s, const tw_joint_part *lane)
{
    const tw_operand *shape = &s->j->tensor[s->tensor].shape;
    tw_joint_part part = *lane;
    if (!lane->any) return part;
    part.region = tw_verify_common(shape, &lane->region, &s->todo->region);
    part.any = tw_verify_region_is_sound(shape, &part.region);
    return part;
}

tw_joint_moved tw_joint_move(const tw_joint_at *s, const tw_joint_hold *inner)
{
    bool inward = s->inward;
    const tw_engine *e = &s->j->in.platform->engine[s->instr->engine].is;
    const tw_joint_run *run = inward ? s->todo->run : s->todo->src[0].run;
    tw_joint_moved moved = {0};
    if (inner->lanes == 1) {
        moved.work = moved.reads = moved.writes = units_of(s, &s->todo->region);
        return moved;
    }
    int64_t once = 0, each = 0;
    for (int64_t i = 0; i < inner->lanes; i++) {
        tw_joint_part part = moved_part(s, &run->lane[i]);
        if (!part.any) continue;
        each += units_of(s, &part.region);
        if (!is_repeated(s, inner->per, i)) once += units_of(s, &part.region);
    }
    bool shared = inward ? e->multicast : inner->summed;
    moved.work = shared ? once : each;
    moved.reads = shared && inward ? once : each;
    moved.writes = shared && !inward ? once : each;
    return moved;
}

/* ---- passes ---- */

/* Of all loops, or of those that move an operand. */
static int64_t passes_of(const tw_joint_op *o, const tw_box *box, const tw_operand *operand)
{
    int64_t n = 1;
    for (int d = -1; d < tw_cost_dims(&o->engine.cost); d++) {
        int64_t points = 1, pieces = 1;
        for (int l = 0; l < o->op->n_loops; l++) {
            if (o->dim[l] != d + 1 || (operand && !tw_verify_moves(operand, l))) continue;
            points *= tw_span_len(box->span[l]);
            pieces *= rounds(tw_span_len(box->span[l]), o->parts[l]);
        }
        bool is_private = d >= 0 && (o->dims >> d & 1);
        n *= d < 0 ? points : is_private ? pieces : rounds(points, o->engine.cost.array.size[d]);
    }
    return n;
}

static int64_t array_passes(const tw_joint_op *o, const tw_box *box)
{
    const tw_cost_array *array = &o->engine.cost.array;
    int64_t n = passes_of(o, box, NULL);
    for (int i = 0; i < o->op->n_operands; i++)
        if (tw_verify_stays(array, o->op, i)) n = tw_verify_held(array, n, passes_of(o, box, &o->op->operand[i]));
    return n;
}

static tw_verify_input view_of(const tw_joint_at *s, const tw_engine *engine)
{
    s->j->scratch->engine[0] = *engine;
    return (tw_verify_input){
        .model = s->j->in.model, .op = s->op->op, .machine = s->j->scratch, .deadline = s->j->in.deadline};
}

static int64_t shape_of(const tw_joint_at *s, const tw_engine *engine, const tw_region *region)
{
    tw_verify_input in = view_of(s, engine);
    tw_instr alone = *s->instr;
    alone.engine = 0;
    if (region) {
        alone.region = *region;
        alone.work = units_of(s, region);
    }
    return tw_verify_shape(&in, &alone);
}

/* Each lane is a transfer of its own, but those that are served together. */
static int64_t transfer_shape(const tw_joint_at *s, const tw_engine *engine)
{
    bool inward = s->inward;
    int hold = inward ? s->todo->dst : s->todo->src[0].hold;
    const tw_joint_hold *h = &s->group->hold[hold];
    const tw_joint_run *run = inward ? s->todo->run : s->todo->src[0].run;
    int64_t sum = 0;
    if (h->lanes == 1) return shape_of(s, engine, &s->todo->region);
    for (int64_t i = 0; i < h->lanes; i++) {
        tw_joint_part part = moved_part(s, &run->lane[i]);
        bool shared = inward ? engine->multicast : h->summed;
        if (part.any && !(shared && is_repeated(s, h->per, i))) sum += shape_of(s, engine, &part.region);
    }
    return sum;
}

/* What the time is counted in, and the second answer of a kernel that a mover disturbs; -1: nothing but the first. */
static int64_t time_work(const tw_joint_at *s, const tw_engine *engine, int64_t work, int64_t *disturbed)
{
    *disturbed = -1;
    if (s->instr->op != TW_EXEC) return engine->cost.kind == TW_COST_DESCRIPTOR ? transfer_shape(s, engine) : work;
    if (engine->cost.kind == TW_COST_ARRAY) return array_passes(s->op, &s->todo->box);
    if (engine->cost.kind != TW_COST_KERNEL) return work;
    tw_verify_input in = view_of(s, engine);
    tw_instr alone = *s->instr;
    alone.engine = 0;
    *disturbed = tw_verify_contended(&in, &alone);
    return tw_verify_shape(&in, &alone);
}

static const tw_engine *engine_of(const tw_joint_at *s)
{
    return s->instr->op == TW_EXEC ? &s->op->engine : &s->j->in.platform->engine[s->instr->engine].is;
}

bool tw_joint_check_passes(const tw_joint_at *s)
{
    const tw_engine *e = engine_of(s);
    int64_t disturbed, is = time_work(s, e, s->instr->work, &disturbed);
    if ((e->cost.kind != TW_COST_ARRAY && e->cost.kind != TW_COST_DESCRIPTOR && e->cost.kind != TW_COST_KERNEL) ||
        s->instr->passes == is)
        return true;
    return tw_joint_fault(s, "claims %" PRId64 " passes, makes %" PRId64, s->instr->passes, is);
}

/* ---- time ---- */

static const tw_port *port_at(const tw_joint_at *s, bool reads)
{
    const tw_platform_engine *e = &s->j->in.platform->engine[s->instr->engine];
    bool outward = !s->inward;
    int port = reads ? e->reads[outward] : e->writes[outward];
    return port >= 0 && port < s->j->in.platform->n_ports ? &s->j->in.platform->port[port] : NULL;
}

static int64_t whole_words(const tw_port *port, int64_t units)
{
    return port && port->word > 1 ? rounds(units, port->word) * port->word : units;
}

static int64_t port_cycles(const tw_port *port, int64_t units)
{
    return port && port->per_cycle > 0 ? rounds(whole_words(port, units), port->per_cycle) : 0;
}

typedef struct length {
    int64_t busy, all;
} length;

static length length_of(const tw_joint_at *s, int64_t work, const tw_joint_moved *moved)
{
    const tw_engine *e = engine_of(s);
    length t = {.all = tw_verify_cycles(e, work)};
    t.busy = tw_verify_busy(e, t.all);
    if (s->instr->op == TW_EXEC || t.all < 0) return t;
    t.busy = tw_max(t.busy, port_cycles(port_at(s, true), moved->reads));
    t.busy = tw_max(t.busy, port_cycles(port_at(s, false), moved->writes));
    t.all = tw_max(t.all, t.busy);
    return t;
}

/* Whether a mover that was commanded before it still works on the memory of the compute engine when it starts. */
static bool is_disturbed(const tw_joint_at *s)
{
    const tw_platform *p = s->j->in.platform;
    for (int e = 0; e < p->n_engines; e++) {
        if (p->engine[e].is.kind != TW_MOVES || p->engine[e].is.memory != p->engine[s->instr->engine].is.memory)
            continue;
        for (int64_t u = 0; u < tw_max(1, p->engine[e].is.count); u++)
            if (s->j->engine[e].free[u] > s->event->start_cycle) return true;
    }
    return false;
}

bool tw_joint_check_time(const tw_joint_at *s, const tw_joint_moved *moved, int64_t late_until)
{
    const tw_event *e = s->event;
    int64_t disturbed, work = time_work(s, engine_of(s), s->instr->work, &disturbed),
                       took = e->end_cycle - e->start_cycle, kept = e->busy_end - e->start_cycle;
    length t = length_of(s, work, moved);
    if (e->start_cycle < 0 || took < 0 || kept < 0) return tw_joint_fault(s, "runs backwards in time");
    if (disturbed >= 0 && (s->j->in.unhurried ? took != t.all : is_disturbed(s)))
        t = length_of(s, disturbed, moved);
    if (t.all < 0) return tw_joint_fault(s, "takes longer than can be counted");
    if (late_until > e->start_cycle + t.all) t.all = t.busy = late_until - e->start_cycle;
    if (took != t.all) return tw_joint_fault(s, "takes %" PRId64 " cycles, should take %" PRId64, took, t.all);
    if (kept == t.busy) return true;
    return tw_joint_fault(s, "keeps its engine busy for %" PRId64 " cycles, should for %" PRId64, kept, t.busy);
}

/* ---- energy ---- */

static void add_side(const tw_joint_at *s, bool reads, int memory, int64_t units)
{
    const tw_port *port = port_at(s, reads);
    int64_t said = !port   ? -1
                   : reads ? port->read_fj
                           : port->write_fj,
            part, each = said >= 0 ? said : s->j->in.platform->memory[memory].is.energy_fj;
    if (!tw_ckd_mul(whole_words(port, units), each, &part)) s->j->overflows = true;
    tw_joint_add(s->j, &s->j->sum.energy_fj, part);
}

void tw_joint_add_energy(const tw_joint_at *s, const tw_joint_moved *moved)
{
    const tw_engine *e = &s->j->in.platform->engine[s->instr->engine].is;
    int64_t part;
    if (s->instr->op == TW_EXEC) {
        if (!tw_ckd_mul(s->instr->work, e->energy_fj, &part)) s->j->overflows = true;
        tw_joint_add(s->j, &s->j->sum.energy_fj, part);
        return;
    }
    bool inward = s->inward;
    add_side(s, true, inward ? e->outer : e->memory, moved->reads);
    add_side(s, false, inward ? e->memory : e->outer, moved->writes);
}
