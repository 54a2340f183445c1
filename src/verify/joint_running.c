/* src/verify/joint_running.c - groups whose reductions run along a loop: who does, and by what factor sums are rescaled.
 *
 * Which loops go along follows from the tensors that operators share. By what a sum is multiplied is not derived from formulas: what a point contributes
 * is computed twice, with the references as they were and as they are, and anything for all inputs that do not depend on them. The quotient is the
 * factor, if the mapping is right to say that there is one; if it is not, the numbers in the end are wrong. */
#include "verify/joint_runner.h"
#include "verify/shape.h"

#include <math.h>
#include <string.h>

static int maker_in(const tw_joint_group *g, int tensor)
{
    for (int i = 0; i < g->n_ops; i++)
        if (g->op[i].op->operand[tw_op_output(g->op[i].op)].tensor == tensor) return i;
    return -1;
}

/* ---- loops ---- */

/* The one loop that moves the axis, -1: there is none, or several. */
static int only_loop(const tw_axis *axis) { return axis->n_terms == 1 ? axis->term[0].loop : -1; }

static bool moves(const tw_axis *axis, int loop)
{
    for (int t = 0; t < axis->n_terms; t++)
        if (axis->term[t].loop == loop) return true;
    return false;
}

/* Everybody who touches the axis of the tensor goes along with it; how many did not before, -1: somebody cannot. */
static int spread(tw_joint_group *g, int tensor, int axis)
{
    int n = 0;
    for (int i = 0; i < g->n_ops; i++)
        for (int o = 0; o < g->op[i].op->n_operands; o++) {
            if (g->op[i].op->operand[o].tensor != tensor) continue;
            int loop = only_loop(&g->op[i].op->operand[o].axis[axis]);
            if (loop < 0 || (g->op[i].along >= 0 && g->op[i].along != loop)) return -1;
            n += g->op[i].along < 0;
            g->op[i].along = loop;
        }
    return n;
}

/* Operators that go along with the driver's loop. */
static bool find_along(tw_joint_group *g)
{
    for (int n = 1; n > 0;) {
        n = 0;
        for (int i = 0; i < g->n_ops; i++)
            for (int o = 0; o < g->op[i].op->n_operands && g->op[i].along >= 0; o++) {
                const tw_operand *operand = &g->op[i].op->operand[o];
                if (maker_in(g, operand->tensor) < 0) continue;
                for (int a = 0; a < operand->n_axes; a++) {
                    int more = moves(&operand->axis[a], g->op[i].along) ? spread(g, operand->tensor, a) : 0;
                    if (more < 0) return false;
                    n += more;
                }
            }
    }
    return true;
}

/* What runs and what an operator's points depend on, through operators that do not run; as bits of operators. */
static unsigned references(const tw_joint_group *g, int number)
{
    unsigned found = 0;
    const tw_op *op = g->op[number].op;
    for (int o = 0; o < tw_op_output(op); o++) {
        int maker = maker_in(g, op->operand[o].tensor);
        if (maker >= 0) found |= g->op[maker].runs ? 1u << maker : references(g, maker);
    }
    return found;
}

void tw_joint_find_running(tw_joint_judge *j, tw_joint_group *g)
{
    int loop = g->map->running - 1, driver = g->n_ops - 1;
    unsigned all = 0;
    for (int i = 0; i < g->n_ops; i++) g->op[i].along = -1;
    if (loop < 0) return;
    if (loop >= g->op[driver].op->n_loops || !g->op[driver].op->loop[loop].reduces) {
        tw_fault_set(&j->fault, "group '%s' runs along no reduction of '%s'", g->map->name, g->op[driver].op->name);
        return;
    }
    g->op[driver].along = loop;
    if (!find_along(g)) {
        tw_fault_set(&j->fault, "group '%s': not all operators can go along with '%s'", g->map->name,
                     g->op[driver].op->loop[loop].name);
        return;
    }
    for (int i = 0; i < g->n_ops; i++)
        g->op[i].runs = g->op[i].along >= 0 && g->op[i].op->loop[g->op[i].along].reduces;
    for (int i = 0; i < g->n_ops; i++)
        if (g->op[i].runs) all |= g->op[i].by = references(g, i);
    for (int i = 0; i < g->n_ops; i++) {
        g->op[i].is_reference = all >> i & 1;
        int made = g->op[i].op->operand[tw_op_output(g->op[i].op)].tensor;
        j->tensor[made].plain = true;
        j->tensor[made].rounds = i == driver;
        for (int o = 0; o < tw_op_output(g->op[i].op); o++)
            j->tensor[j->in.model->tensor[g->op[i].op->operand[o].tensor].root].small = true;
    }
}

/* ---- factors ---- */

typedef struct pair { /* with the references as they were, and as they are */
    double old, now;
} pair;

typedef struct reference { /* what a running operator made */
    const double *old, *now;
    tw_region region;
} reference;

typedef struct factors {
    const tw_joint_judge *j;
    const tw_joint_group *g;
    reference of[TW_MAX_GROUP_OPS];
    double other; /* what all else is taken for */
} factors;

static pair point(const factors *f, int number, const int64_t index[TW_MAX_LOOPS]);

/* The element of what an operator of the group makes. */
static pair element(const factors *f, int maker, const int64_t position[TW_MAX_AXES])
{
    const tw_op *op = f->g->op[maker].op;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    if (f->g->op[maker].runs) {
        const reference *r = &f->of[maker];
        int64_t at = 0;
        for (int a = 0; a < out->n_axes; a++)
            at = at * tw_span_len(r->region.axis[a]) + position[a] - r->region.axis[a].lo;
        return (pair){r->old[at], r->now[at]};
    }
    if (references(f->g, maker) == 0) return (pair){f->other, f->other};
    int64_t index[TW_MAX_LOOPS] = {0};
    for (int a = 0; a < out->n_axes; a++) index[out->axis[a].term[0].loop] = position[a];
    pair p = point(f, maker, index);
    const tw_maths *m = &f->j->runner->op[f->g->op[maker].map->op];
    for (int h = 0; h < 2 && op->finish; h++) {
        double *value = h ? &p.now : &p.old, var[1 + TW_MAX_HELD] = {*value};
        for (int i = 0; i < op->n_held; i++)
            var[1 + i] = m->value.held[i][op->held[i].loop < 0 ? 0 : index[op->held[i].loop]];
        *value = tw_formula_eval(op->finish, var, ~0u);
    }
    return p;
}

/* What a point of an operator contributes. */
static pair point(const factors *f, int number, const int64_t index[TW_MAX_LOOPS])
{
    const tw_op *op = f->g->op[number].op;
    const tw_maths *m = &f->j->runner->op[f->g->op[number].map->op];
    int n = tw_op_output(op);
    double old[TW_MAX_OPERANDS + TW_MAX_HELD], now[TW_MAX_OPERANDS + TW_MAX_HELD];
    for (int o = 0; o < n; o++) {
        int64_t position[TW_MAX_AXES];
        int maker = maker_in(f->g, op->operand[o].tensor);
        bool there = true;
        for (int a = 0; a < op->operand[o].n_axes; a++)
            there = there && tw_verify_position(&op->operand[o].axis[a], index, &position[a]);
        pair p = maker >= 0 && there ? element(f, maker, position) : (pair){f->other, f->other};
        old[o] = p.old;
        now[o] = p.now;
    }
    for (int h = 0; h < op->n_held; h++)
        old[n + h] = now[n + h] = m->value.held[h][op->held[h].loop < 0 ? 0 : index[op->held[h].loop]];
    if (op->value) return (pair){tw_formula_eval(op->value, old, ~0u), tw_formula_eval(op->value, now, ~0u)};
    pair p = {old[0], now[0]};
    for (int o = 1; o < n; o++) {
        p.old = op->compute == TW_MULTIPLY_ADD ? p.old * old[o] : p.old + old[o];
        p.now = op->compute == TW_MULTIPLY_ADD ? p.now * now[o] : p.now + now[o];
    }
    return p;
}

/* With some of the references in the place of all else: one with which nothing vanishes. */
static double factor(factors *f, int number, const int64_t index[TW_MAX_LOOPS])
{
    for (int i = 0; i <= 2 * f->g->n_ops; i++) {
        const reference *r = &f->of[i / 2 % f->g->n_ops];
        f->other = i == 2 * f->g->n_ops || !r->now ? 1 : i % 2 ? *r->now : *r->old;
        pair p = point(f, number, index);
        if (isfinite(p.old) && isfinite(p.now) && fabs(p.old) > 1e-100) return p.now / p.old;
    }
    return NAN;
}

/* Loops of the operator that lead to references. */
static unsigned loops_of(const tw_joint_group *g, int number)
{
    const tw_op *op = g->op[number].op;
    unsigned loops = 0;
    for (int o = 0; o < tw_op_output(op); o++) {
        int maker = maker_in(g, op->operand[o].tensor);
        if (maker >= 0 && (g->op[maker].runs || references(g, maker))) loops |= tw_verify_loops(&op->operand[o]);
    }
    return loops;
}

/* Multiplies the elements of the output's region of a box. */
static void multiply(factors *f, int number, const tw_box *box, double *value)
{
    const tw_op *op = f->g->op[number].op;
    unsigned outputs = 0, matter = loops_of(f->g, number);
    int64_t index[TW_MAX_LOOPS], last[TW_MAX_LOOPS];
    double by = 1;
    bool known = false;
    for (int l = 0; l < op->n_loops; l++)
        if (!op->loop[l].reduces) outputs |= 1u << l;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    for (int l = 0; l < op->n_loops; l++) index[l] = box->span[l].lo;
    for (int a = 0; a >= 0;) {
        for (int l = 0; l < op->n_loops && known; l++) known = !(matter & outputs & 1u << l) || index[l] == last[l];
        if (!known) by = factor(f, number, index);
        memcpy(last, index, sizeof last);
        known = true;
        *value++ *= by;
        for (a = out->n_axes - 1; a >= 0; a--) {
            int l = out->axis[a].term[0].loop;
            if (++index[l] < box->span[l].hi) break;
            index[l] = box->span[l].lo;
        }
    }
}

bool tw_joint_rescale(const tw_joint_judge *j, const tw_joint_job *job, tw_execution *x, double *value)
{
    const tw_instr *i = &job->event.instr;
    factors f = {.j = j, .g = &j->group[i->group]};
    int n = 0;
    for (int k = 0; k < f.g->n_ops; k++) {
        if (!(f.g->op[i->which].by >> k & 1)) continue;
        int buffer = i->src[n++];
        const tw_place *now = &j->runner->place[buffer], *old = &j->runner->past[buffer];
        f.of[k] = (reference){tw_place_read_numbers(x, old, &now->region),
                              tw_place_read_numbers(x, now, &now->region), now->region};
        if (!f.of[k].old || !f.of[k].now) return false;
    }
    multiply(&f, i->which, &i->box, value);
    return true;
}
