/* src/plan/sums.c - see sums.h. */
#include "plan/sums.h"

#include "core/deadline.h"
#include "model/summed.h"
#include "plan/fused.h"
#include "plan/several.h"

enum { MOST_OPS = 4, MOST_TRIED = 3 };

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
static int loop_of(const tw_op *op)
{
    int best = -1;
    for (int l = 0; l < op->n_loops; l++)
        if (tw_sum_can_be_divided(op, l) && (best < 0 || op->loop[l].extent > op->loop[best].extent)) best = l;
    return best;
}

/* The operators that are tried, those with the most points first; how many. */
static int list_ops(const tw_request *asked, const tw_op *of[MOST_TRIED])
{
    int n = 0;
    for (int i = 0; i < asked->model->n_ops; i++) {
        const tw_op *op = &asked->model->op[i];
        if (loop_of(op) < 0 || count_cores(asked->machine->platform, op) < 2) continue;
        int at = n;
        for (; at > 0 && tw_op_points(of[at - 1]) < tw_op_points(op); at--)
            if (at < MOST_TRIED) of[at] = of[at - 1];
        if (at < MOST_TRIED) of[at] = op;
        n = (int)tw_min(n + 1, MOST_TRIED);
    }
    return n;
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

typedef struct sums {
    int n;
    tw_divided_sum which[MOST_TRIED];
} sums;

/* Plans the model with these sums divided, and takes it if it is better. */
static tw_status try_sums(const tw_request *asked, const sums *s, const tw_work *work, const tw_plan **out,
                          bool *better)
{
    tw_request own = *asked;
    tw_diag quiet = tw_diag_quiet(work->diag);
    const tw_work silent = {work->arena, work->scratch, &quiet};
    const tw_plan *plan;
    tw_status status = tw_model_divide_sums(asked->model, s->n, s->which, asked->model->op[0].loc, work->arena,
                                            &quiet, &own.model);
    *better = false;
    own.start = NULL;
    own.advisor = NULL;
    if (status == TW_OK) status = tw_several_find(&own, NULL, &silent, &plan);
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
           asked->model->n_divided == 0 && (measure == TW_CYCLES || measure == TW_EDP) && !is_near_bound(plan);
}

tw_status tw_sums_improve(const tw_request *asked, const tw_work *work, const tw_plan **out)
{
    const tw_op *of[MOST_TRIED];
    const tw_plan *given = *out;
    sums kept = {0};
    if (!is_asked(asked, given)) return TW_OK;
    int n = list_ops(asked, of);
    for (int i = 0; i < n; i++) {
        int loop = loop_of(of[i]), cores = count_cores(asked->machine->platform, of[i]);
        int64_t most = tw_min(tw_min(cores, TW_MAX_SUMS), of[i]->loop[loop].extent);
        sums best = kept;
        for (int64_t pieces = 2; pieces <= most; pieces = pieces < most ? most : most + 1) {
            sums s = kept;
            tw_divided_sum *which = &s.which[s.n++];
            bool better;
            if (tw_deadline_is_over(work->diag->deadline)) return TW_OK;
            *which = (tw_divided_sum){.op = of[i]->name, .loop = of[i]->loop[loop].name, .n = (int)pieces};
            for (int k = 0; k < which->n; k++) which->share[k] = 1;
            TW_TRY(try_sums(asked, &s, work, out, &better));
            if (better) best = s;
        }
        kept = best;
    }
    return *out == given ? TW_OK : bound_as(given, *out, work->arena, out);
}
