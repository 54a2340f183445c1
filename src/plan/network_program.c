/* src/plan/network_program.c - steps that are one program, on numbers: see network_run.h.
 *
 * The program runs as a whole when the first of its steps does, on what lies in the store then. What it makes is handed over step by
 * step, also what never leaves the chip, so that every step is judged by itself, as if it had been run by itself. Where whole numbers
 * need more bits than a double has, the layers' programs run instead, one by one. */
#include "plan/network_join.h"
#include "plan/network_run.h"

#include <string.h>

const tw_network_part *tw_part_of_step(const tw_network_plan *plan, int step)
{
    int lo = 0, hi = plan->n_parts;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (plan->part[mid].first_step <= step)
            lo = mid;
        else
            hi = mid;
    }
    return hi > 0 && plan->part[lo].plan ? &plan->part[lo] : NULL;
}

typedef struct room { /* of the tensors of a program */
    const tw_plan *plan;
    const tw_stretch *stretch;
    const double **tensor;
    tw_given *held;
    double **made;
    uint8_t **there;
} room;

static bool is_read(const tw_model *model, int tensor)
{
    for (int i = 0; i < model->n_ops; i++)
        if (tw_op_reads_bytes(model, &model->op[i], tensor)) return true;
    return false;
}

static tw_status gather(tw_run *r, room *m, tw_arena *arena)
{
    const tw_model *model = m->plan->model;
    TW_ALLOC(arena, m->tensor, model->n_tensors + 1);
    TW_ALLOC(arena, m->made, model->n_tensors + 1);
    TW_ALLOC(arena, m->there, model->n_tensors + 1);
    TW_ALLOC(arena, m->held, model->n_ops + 1);
    for (int i = 0; i < model->n_ops; i++) {
        int tensor = model->op[i].operand[tw_op_output(&model->op[i])].tensor;
        int64_t n = tw_tensor_elems(&model->tensor[tensor]);
        TW_ALLOC(arena, m->made[tensor], n);
        TW_ALLOC(arena, m->there[tensor], n);
        r->program.made[i] = m->made[tensor];
        r->program.there[i] = m->there[tensor];
        TW_TRY(tw_run_held(r, &r->lowered->graph.op[m->stretch->first + i], arena, &m->held[i]));
    }
    for (int t = 0; t < model->n_tensors; t++) {
        if (model->tensor[t].root != t || model->tensor[t].role == TW_ROLE_BETWEEN || !is_read(model, t)) continue;
        int64_t n = tw_tensor_elems(&model->tensor[t]);
        TW_TRY(tw_run_numbers(r, m->stretch->graph_of[t], n, arena, &m->tensor[t]));
    }
    return TW_OK;
}

/* Where an operand's elements are when the program has run. */
static const double *elements_of(const room *m, int tensor)
{
    const tw_model *model = m->plan->model;
    const tw_tensor *is = &model->tensor[tensor];
    if (is->role != TW_ROLE_BETWEEN) return m->tensor[is->root] + is->offset;
    for (int t = 0; t < model->n_tensors; t++)
        if (m->made[t] && tw_tensors_share(model, t, tensor)) return m->made[t] + is->offset;
    return NULL;
}

/* Whether doubles held all whole numbers of all operators. */
static bool is_exact(const tw_run *r, const room *m)
{
    const tw_model *model = m->plan->model;
    for (int i = 0; i < model->n_ops; i++) {
        tw_given given = m->held[i];
        for (int o = 0; o < tw_op_output(&model->op[i]); o++)
            given.input[o] = elements_of(m, model->op[i].operand[o].tensor);
        if (!tw_run_is_exact(model, &model->op[i], &given)) return false;
    }
    return r->n_jobs > 0;
}

/* Why the program is not run; NULL: it is. */
static const char *why_not(const tw_run *r, const tw_plan *plan)
{
    static const int64_t most_elems = INT64_C(1) << 28;
    int64_t most = r->options->max_instructions > 0 ? r->options->max_instructions : INT64_C(1) << 24, elems = 0;
    for (int t = 0; t < plan->model->n_tensors; t++) elems += tw_tensor_elems(&plan->model->tensor[t]);
    if (plan->sum.instructions > most) return "its program is too long";
    return elems > most_elems ? "its tensors are too large" : NULL;
}

static tw_status run(tw_run *r, int j, const tw_stretch *stretch)
{
    const tw_plan *plan = r->program.part->plan;
    tw_diag quiet = tw_diag_quiet(&r->ctx->diag);
    tw_step_verdict *v = &r->verdict[j];
    room m = {.plan = plan, .stretch = stretch};
    TW_ALLOC(r->program.arena, r->program.made, plan->model->n_ops + 1);
    TW_ALLOC(r->program.arena, r->program.there, plan->model->n_ops + 1);
    TW_TRY(gather(r, &m, r->program.arena));
    const tw_joint_given given = {m.tensor, m.held, m.made, m.there};
    TW_TRY(tw_joint_execute(plan, &given, r->program.arena, &quiet, &v->fault));
    if (v->fault) {
        pthread_mutex_lock(&r->lock);
        v->fault = tw_arena_printf(r->ctx->arena, "%s", v->fault);
        pthread_mutex_unlock(&r->lock);
        return v->fault ? TW_OK : TW_ERR_NOMEM;
    }
    if (is_exact(r, &m))
        r->n_programs++;
    else
        r->program.made = NULL;
    return TW_OK;
}

tw_status tw_run_program_begin(tw_run *r, int j)
{
    int step = r->job[j].index;
    const tw_network_part *part = r->job[j].step->from.constant ? NULL : tw_part_of_step(r->plan, step);
    if (!part || part->first_step != step) return TW_OK;
    tw_run_program_end(r);
    const char *why = why_not(r, part->plan);
    if (why) {
        r->why_not = why;
        return TW_OK;
    }
    if (!(r->program.arena = tw_arena_new())) return TW_ERR_NOMEM;
    r->program.part = part;
    TW_TRY(run(r, j, &r->plan->stretch[part - r->plan->part]));
    if (!r->program.made) r->why_not = "its whole numbers need more than 53 bits";
    return TW_OK;
}

const double *tw_run_program_made(const tw_run *r, int j, const uint8_t **there)
{
    const tw_network_part *part = r->program.part;
    int step = r->job[j].index;
    if (!part || !r->program.made || r->job[j].step->from.constant) return NULL;
    if (step < part->first_step || step >= part->first_step + part->n_steps) return NULL;
    *there = r->program.there[step - part->first_step];
    return r->program.made[step - part->first_step];
}

void tw_run_program_end(tw_run *r)
{
    tw_arena_free(r->program.arena);
    r->program = (tw_run_program){0};
}
