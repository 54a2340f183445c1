/* src/plan/divide.c - see divide.h. */
#include "plan/divide.h"

#include "core/deadline.h"
#include "model/divided.h"
#include "plan/fused.h"
#include "plan/several.h"

enum { MOST_OPS = 6, MOST_TRIED = 4 };

/* Loops of operators that are divided together. */
typedef struct division {
    int loop[MOST_OPS];     /* of each operator, -1: it is not divided */
    int64_t points, extent; /* of the first; of its loop */
} division;

typedef struct divisions {
    int n;
    division of[MOST_TRIED]; /* the first has the most points */
} divisions;

/* How many cores have an engine for the operator. */
static int count_cores(const tw_platform *platform, const tw_op *op)
{
    bool has[TW_MAX_CORES] = {0};
    int n = 0;
    for (int v = 0; v < platform->n_views; v++) {
        int core = platform->engine[platform->view[v].engine].core;
        if (core < 0 || has[core] || !tw_machine_computes(&platform->view[v].machine, op)) continue;
        has[core] = true;
        n++;
    }
    return n;
}

/* The longest reduction of the operator that can be divided; -1: there is none. */
static int reduction_of(const tw_op *op)
{
    int best = -1;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces && tw_op_can_be_divided(op, l) &&
            (best < 0 || op->loop[l].extent > op->loop[best].extent))
            best = l;
    return best;
}

/* The loop that runs along an axis of an operand, and along no other; -1: none does, or not point by point. */
static int loop_along(const tw_operand *operand, int axis)
{
    const tw_axis *is = &operand->axis[axis];
    if (is->n_terms != 1 || is->term[0].coef != 1 || is->offset != 0 || is->divisor != 1) return -1;
    for (int a = 0; a < operand->n_axes; a++)
        for (int t = 0; t < operand->axis[a].n_terms && a != axis; t++)
            if (operand->axis[a].term[t].loop == is->term[0].loop) return -1;
    return is->term[0].loop;
}

/* The axis of the output along which a parallel loop runs. */
static int axis_along(const tw_op *op, int loop)
{
    int a = 0;
    while (loop_along(&op->operand[tw_op_output(op)], a) != loop) a++;
    return a;
}

/* Operator i of a division: reads what operators before it make in parts, along `axis` of each tensor. False: it cannot go along. */
static bool go_along(const tw_model *model, int i, const int *axis, division *d)
{
    const tw_op *op = &model->op[i];
    for (int o = 0; o < tw_op_output(op); o++) {
        int along = axis[op->operand[o].tensor];
        if (along < 0) continue;
        int loop = loop_along(&op->operand[o], along);
        if (loop < 0 || (d->loop[i] >= 0 && d->loop[i] != loop) || !tw_op_can_be_divided(op, loop)) return false;
        d->loop[i] = loop;
    }
    return true;
}

/* A parallel loop of an operator, and all that reads what it makes, until it is added up; false: that cannot be divided. */
static bool follow(const tw_model *model, int first, int loop, tw_arena *scratch, division *d)
{
    int *axis = TW_NEW(scratch, int, model->n_tensors);
    bool added = false;
    if (!axis) return false;
    for (int t = 0; t < model->n_tensors; t++) axis[t] = -1;
    for (int i = 0; i < model->n_ops; i++) d->loop[i] = -1;
    d->loop[first] = loop;
    for (int i = first; i < model->n_ops; i++) {
        const tw_op *op = &model->op[i];
        if (i > first && !go_along(model, i, axis, d)) return false;
        if (d->loop[i] < 0) continue;
        added |= op->loop[d->loop[i]].reduces;
        if (op->loop[d->loop[i]].reduces) continue;
        if (model->tensor[tw_op_makes(op)].is_output) return false;
        axis[tw_op_makes(op)] = axis_along(op, d->loop[i]);
    }
    return added;
}

static void keep(divisions *all, division d, const tw_op *op, int loop)
{
    int at = all->n;
    d.points = tw_op_points(op);
    d.extent = op->loop[loop].extent;
    for (; at > 0 && all->of[at - 1].points < d.points; at--)
        if (at < MOST_TRIED) all->of[at] = all->of[at - 1];
    if (at < MOST_TRIED) all->of[at] = d;
    all->n = (int)tw_min(all->n + 1, MOST_TRIED);
}

/* Divisions that are tried. */
static void list_divisions(const tw_request *asked, tw_arena *scratch, divisions *all)
{
    const tw_model *model = asked->model;
    division d;
    *all = (divisions){0};
    for (int i = 0; i < model->n_ops; i++) {
        const tw_op *op = &model->op[i];
        if (count_cores(asked->machine->platform, op) < 2) continue;
        for (int l = 0; l < op->n_loops; l++)
            if (!op->loop[l].reduces && tw_op_can_be_divided(op, l) && follow(model, i, l, scratch, &d))
                keep(all, d, op, l);
        int sum = reduction_of(op);
        if (sum < 0) continue;
        for (int k = 0; k < model->n_ops; k++) d.loop[k] = k == i ? sum : -1;
        keep(all, d, op, sum);
    }
}

/* The plan with the bound of the model as it was given: it holds for all that computes the same. */
static tw_status bound_as(const tw_plan *given, const tw_plan *plan, tw_arena *arena, const tw_plan **out)
{
    tw_plan *own;
    tw_joint_plan *joint;
    tw_joint_search *search;
    *out = plan;
    if (!plan->joint || !plan->joint->search || !given->joint || !given->joint->search) return TW_OK;
    TW_ALLOC(arena, own, 1);
    TW_ALLOC(arena, joint, 1);
    TW_ALLOC(arena, search, 1);
    *own = *plan;
    *joint = *plan->joint;
    *search = *plan->joint->search;
    search->bound = given->joint->search->bound;
    search->bound_by = given->joint->search->bound_by;
    search->space = 0; /* what is proven of small spaces is so of one model alone */
    search->alone = given->joint->search->alone;
    search->equal = given->joint->search->equal;
    search->n_simulated += given->joint->search->n_simulated;
    search->seconds += given->joint->search->seconds;
    joint->search = search;
    own->joint = joint;
    *out = own;
    return TW_OK;
}

typedef struct chosen {
    int n;
    tw_divided_op which[MOST_OPS];
} chosen;

/* Adds a division into so many pieces; false: one of its operators is divided already. */
static bool choose(const tw_model *model, const division *d, int64_t pieces, chosen *c)
{
    for (int i = 0; i < model->n_ops; i++)
        for (int k = 0; k < c->n && d->loop[i] >= 0; k++)
            if (c->which[k].op == model->op[i].name) return false;
    for (int i = 0; i < model->n_ops; i++) {
        if (d->loop[i] < 0) continue;
        tw_divided_op *which = &c->which[c->n++];
        *which =
            (tw_divided_op){.op = model->op[i].name, .loop = model->op[i].loop[d->loop[i]].name, .n = (int)pieces};
        for (int k = 0; k < which->n; k++) which->share[k] = 1;
    }
    return true;
}

/* Plans the model divided like this, and takes it if it is better. */
static tw_status try_divided(const tw_request *asked, const chosen *c, const tw_work *work, const tw_plan **out,
                             bool *better)
{
    tw_request own = *asked;
    tw_diag quiet = tw_diag_quiet(work->diag);
    const tw_work silent = {work->arena, work->scratch, &quiet};
    const tw_plan *plan;
    tw_status status =
        tw_model_divide(asked->model, c->n, c->which, asked->model->op[0].loc, work->arena, &quiet, &own.model);
    *better = false;
    own.start = NULL;
    own.advisor = NULL;
    if (status == TW_OK) status = tw_several_beat(&own, *out, &silent, &plan);
    if (status != TW_OK) return status == TW_ERR_NOMEM ? status : TW_OK;
    tw_fused_scale scale = tw_fused_scale_of(asked, &(*out)->sum);
    const tw_fused found = {.cycles = plan->sum.cycles, .energy_fj = plan->sum.energy_fj};
    *better = tw_fused_is_better(&scale, &found, &(*out)->sum);
    if (*better) *out = plan;
    return TW_OK;
}

/* Whether there is little to win: a tenth of the bound at most. */
static bool is_near_bound(const tw_plan *plan)
{
    const tw_joint_search *search = plan->joint ? plan->joint->search : NULL;
    return search && (double)plan->sum.cycles <= 1.1 * (double)search->bound;
}

static bool is_asked(const tw_request *asked, const tw_plan *plan)
{
    tw_measure measure = tw_fused_scale_of(asked, &plan->sum).measure;
    return asked->writes && !asked->options->limits && !asked->options->pareto && tw_several_is_asked(asked) &&
           asked->machine->platform->n_cores > 1 && asked->model->n_ops <= MOST_OPS &&
           asked->model->n_divided == 0 && plan->model == asked->model &&
           (measure == TW_CYCLES || measure == TW_EDP) && !is_near_bound(plan);
}

tw_status tw_divide_improve(const tw_request *asked, const tw_work *work, const tw_plan **out)
{
    const tw_plan *given = *out;
    divisions all;
    chosen kept = {0};
    if (!is_asked(asked, given)) return TW_OK;
    list_divisions(asked, work->scratch, &all);
    for (int i = 0; i < all.n; i++) {
        int64_t most = tw_min(tw_min(asked->machine->platform->n_cores, TW_MAX_PIECES), all.of[i].extent);
        chosen best = kept;
        for (int64_t pieces = 2; pieces <= most; pieces = pieces < most ? most : most + 1) {
            chosen c = kept;
            bool better;
            if (tw_deadline_is_over(work->diag->deadline)) break;
            if (!choose(asked->model, &all.of[i], pieces, &c)) continue;
            TW_TRY(try_divided(asked, &c, work, out, &better));
            if (better) best = c;
        }
        kept = best;
    }
    return *out == given ? TW_OK : bound_as(given, *out, work->arena, out);
}
