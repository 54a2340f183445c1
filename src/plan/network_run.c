/* src/plan/network_run.c - every step of a network on numbers: see network.h.
 *
 * The steps run in their order, each on what the steps before it made: described operators as tiled programs, the others by
 * evaluation. Behind them a second thread evaluates the nodes that a step stands for, on the same inputs, and compares:
 * a fault is found where it is made, and roundings do not add up over the network.
 *
 * Elements are kept in the type that the network gives them; programs work on doubles. */
#include "plan/network_run.h"

#include "core/deadline.h"

#include <string.h>
#include <time.h>

/* ---- tiled steps ---- */

tw_status tw_run_numbers(tw_run *r, int tensor, int64_t n, tw_arena *scratch, const double **out)
{
    tw_array array;
    double *all;
    TW_TRY(tw_run_look(r, tensor, &array));
    if (array.n >= n) return (*out = tw_array_reals(&array, scratch)) ? TW_OK : TW_ERR_NOMEM;
    if (array.n != 1)
        return tw_diag_error(&r->ctx->diag, (tw_loc){r->net->file->path, 0, 0},
                             "tensor '%s' has %" PRId64 " elements, not %" PRId64,
                             r->lowered->graph.tensor[tensor].name, array.n, n);
    TW_ALLOC(scratch, all, n);
    for (int64_t i = 0; i < n; i++) all[i] = tw_array_get(&array, 0);
    *out = all;
    return TW_OK;
}

static tw_status refuse_row(tw_run *r, const tw_op *step, const tw_selection *s, const tw_array *index, int64_t row)
{
    tw_loc loc = {r->net->file->path, 0, 0};
    if (s->counts)
        return tw_diag_error(&r->ctx->diag, loc,
                             "step '%s': entry %" PRId64 " of its indices is outside the tensor", step->name, row);
    return tw_diag_error(&r->ctx->diag, loc,
                         "step '%s': index %" PRId64 " is %" PRId64 ", outside the %" PRId64 " that there are",
                         step->name, row, tw_array_get_int(index, row), s->extent);
}

/* Rows of a tensor, where its index finds them. */
static tw_status rows_of(tw_run *r, const tw_op *step, int operand, tw_arena *scratch, const double **out)
{
    const tw_selection *s = &step->operand[operand].rows;
    tw_array whole, index;
    double *rows;
    TW_TRY(tw_run_look(r, step->operand[operand].tensor, &whole));
    TW_TRY(tw_run_look(r, step->operand[s->index].tensor, &index));
    TW_ALLOC(scratch, rows, s->outer * s->count * s->inner);
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->count; i++) {
            int64_t from = tw_selection_at(s, &index, o, i), to = (o * s->count + i) * s->inner;
            if (from < 0) return refuse_row(r, step, s, &index, i);
            for (int64_t k = 0; k < s->inner; k++) rows[to + k] = tw_array_get(&whole, from + k);
        }
    *out = rows;
    return TW_OK;
}

/* What a step made is written where the index of its output says; with `turn`, the rows whose turn it is. */
static tw_status keep_rows(tw_run *r, const tw_op *step, const double *rows, const int32_t *turn, int32_t now)
{
    int operand = tw_op_output(step);
    const tw_selection *s = &step->operand[operand].rows;
    tw_array whole, index;
    TW_TRY(tw_run_look(r, step->operand[operand].tensor, &whole));
    TW_TRY(tw_run_look(r, step->operand[s->index].tensor, &index));
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->count; i++) {
            int64_t to = tw_selection_at(s, &index, o, i), from = (o * s->count + i) * s->inner;
            if (to < 0) return refuse_row(r, step, s, &index, i);
            for (int64_t k = 0; k < s->inner && (!turn || turn[i] == now); k++)
                tw_array_set(&whole, to + k, rows[from + k]);
        }
    return TW_OK;
}

/* ---- rows that are combined ---- */

/* A row that several updates name has to be written before it is read again. So such a step runs in turns: in the first it
 * writes what the first update of every row makes, in the second what the second does to that. */
typedef struct turns {
    int32_t n;
    const int32_t *of; /* per row of the updates; NULL: all at once */
} turns;

/* A step that reads the rows that it writes. */
static bool combines_rows(const tw_op *step)
{
    const tw_operand *first = &step->operand[0], *output = &step->operand[tw_op_output(step)];
    return output->rows.count > 0 && first->rows.count > 0 && first->tensor == output->tensor;
}

static tw_status find_turns(tw_run *r, const tw_op *step, tw_arena *scratch, turns *out)
{
    const tw_selection *s = &step->operand[0].rows;
    tw_array index;
    int32_t *of, *named;
    *out = (turns){.n = 1};
    if (!combines_rows(step)) return TW_OK;
    TW_TRY(tw_run_look(r, step->operand[s->index].tensor, &index));
    TW_ALLOC(scratch, of, s->count);
    TW_ALLOC(scratch, named, s->extent);
    for (int64_t i = 0; i < s->count; i++) {
        int64_t at = tw_selection_at(s, &index, 0, i);
        if (at < 0) return refuse_row(r, step, s, &index, i);
        of[i] = named[at / s->inner]++;
        out->n = (int32_t)tw_max(out->n, of[i] + 1);
    }
    out->of = of;
    return TW_OK;
}

tw_status tw_run_held(tw_run *r, const tw_op *op, tw_arena *scratch, tw_given *out)
{
    for (int h = 0; h < op->n_held; h++) {
        int64_t n = op->held[h].loop < 0 ? 1 : op->loop[op->held[h].loop].extent;
        TW_TRY(tw_run_numbers(r, op->held[h].tensor, n, scratch, &out->held[h]));
    }
    return TW_OK;
}

static tw_status gather(tw_run *r, const tw_op *op, tw_arena *scratch, tw_given *out)
{
    for (int o = 0; o < tw_op_output(op); o++) {
        const tw_operand *operand = &op->operand[o];
        if (operand->rows.count > 0)
            TW_TRY(rows_of(r, op, o, scratch, &out->input[o]));
        else
            TW_TRY(tw_run_numbers(r, operand->tensor, tw_operand_elems(operand), scratch, &out->input[o]));
    }
    return tw_run_held(r, op, scratch, out);
}

static const char *why_untiled(const tw_run *r, const tw_plan *plan, int layer)
{
    int64_t most = r->options->max_instructions > 0 ? r->options->max_instructions : INT64_C(1) << 24;
    if (!plan) return r->plan->refusal[layer];
    return plan->op[0].timeline.sum.instructions > most ? "its program is too long" : NULL;
}

/* As it is described, where there is no program. */
static tw_status run_described(tw_run *r, const tw_op *step, const tw_given *given, double *out)
{
    const tw_deadline *deadline = r->ctx->diag.deadline;
    tw_reference_case c = {.model = &r->lowered->graph, .op = step, .deadline = deadline};
    memcpy(c.input, given->input, sizeof c.input);
    memcpy(c.held, given->held, sizeof c.held);
    if (!tw_reference_direct(NULL, &c, out)) return TW_ERR_NOMEM;
    return tw_deadline_is_over(deadline) ? TW_STOPPED : TW_OK;
}

static tw_status keep_fault(tw_run *r, tw_step_verdict *v)
{
    pthread_mutex_lock(&r->lock);
    v->fault = tw_arena_printf(r->ctx->arena, "%s", v->fault);
    pthread_mutex_unlock(&r->lock);
    return v->fault ? TW_OK : TW_ERR_NOMEM;
}

static const char *const too_wide = "its whole numbers need more than 53 bits";

/* The step's program on these inputs, or its description. */
static tw_status run_once(tw_run *r, int j, const tw_given *given, tw_arena *scratch, double *out)
{
    tw_step_verdict *v = &r->verdict[j];
    const tw_op *step = r->job[j].step;
    int layer = r->job[j].layer;
    if (v->why_not) return run_described(r, step, given, out);
    tw_diag quiet = tw_diag_quiet(&r->ctx->diag);
    const tw_model alone = tw_model_alone(&r->lowered->graph, r->job[j].index);
    const tw_op_plan op = tw_op_plan_for(&r->plan->plan[layer]->op[0], &alone, 0);
    TW_TRY(tw_plan_execute(&op, given, scratch, &quiet, out, &v->fault));
    v->executed = v->checked = v->fault == NULL;
    return v->fault ? keep_fault(r, v) : TW_OK;
}

/* Evaluates the nodes instead of running the step. */
static tw_status run_nodes(tw_run *r, int j, const char *why, tw_arena *scratch)
{
    r->inexact = false;
    r->verdict[j].executed = r->verdict[j].checked = false;
    r->verdict[j].why_not = why;
    return tw_run_by_nodes(r, j, scratch);
}

/* One turn of a step; *exact: its doubles held its whole numbers, else it has not run. */
static tw_status run_turn(tw_run *r, int j, const turns *t, int32_t now, tw_arena *scratch, bool *exact)
{
    const tw_op *step = r->job[j].step;
    const tw_operand *output = &step->operand[tw_op_output(step)];
    tw_given given = {0};
    double *out;
    TW_TRY(gather(r, step, scratch, &given));
    r->inexact = !tw_run_is_exact(&r->lowered->graph, step, &given) || r->inexact;
    *exact = !r->inexact || step->from.n_nodes == 0;
    if (!*exact) return TW_OK;
    if (r->inexact) r->verdict[j].why_not = too_wide; /* the last step of the chain makes what counts */
    TW_ALLOC(scratch, out, tw_operand_elems(output) + 1);
    TW_TRY(run_once(r, j, &given, scratch, out));
    if (r->verdict[j].fault) return TW_OK;
    if (output->rows.count > 0) return keep_rows(r, step, out, t->of, now);
    return tw_run_keep(r, output->tensor, out);
}

/* The step has been run, as one of a program. What nobody of its group needs, and the program did not make, is as it is described. */
static tw_status take_made(tw_run *r, int j, const double *made, const uint8_t *there, tw_arena *scratch)
{
    const tw_op *step = r->job[j].step;
    const tw_operand *output = &step->operand[tw_op_output(step)];
    int64_t n = tw_operand_elems(output);
    r->verdict[j].executed = r->verdict[j].checked = true;
    if (!memchr(there, 0, (size_t)n)) return tw_run_keep(r, output->tensor, made);
    tw_given given = {0};
    double *all;
    TW_ALLOC(scratch, all, n);
    TW_TRY(gather(r, step, scratch, &given));
    TW_TRY(run_described(r, step, &given, all));
    for (int64_t i = 0; i < n; i++)
        if (there[i]) all[i] = made[i];
    return tw_run_keep(r, output->tensor, all);
}

static tw_status run_tiled(tw_run *r, int j, tw_arena *scratch)
{
    enum { MOST_TURNS = 64 };
    const tw_op *step = r->job[j].step;
    int layer = r->job[j].layer;
    turns t;
    const uint8_t *there;
    const double *made = tw_run_program_made(r, j, &there);
    if (made) return take_made(r, j, made, there, scratch);
    TW_TRY(find_turns(r, step, scratch, &t));
    if (t.n > MOST_TURNS) return run_nodes(r, j, "a row is named too often", scratch);
    r->verdict[j].why_not = layer < 0 ? "a constant" : why_untiled(r, r->plan->plan[layer], layer);
    for (int32_t now = 0; now < t.n && !r->verdict[j].fault; now++) {
        bool exact;
        tw_arena_mark mark = tw_arena_save(scratch);
        TW_TRY(run_turn(r, j, &t, now, scratch, &exact));
        if (!exact) return run_nodes(r, j, too_wide, scratch);
        tw_arena_rewind(scratch, mark);
    }
    return TW_OK;
}

/* ---- the others ---- */

static tw_status run_host(tw_run *r, int j, tw_arena *scratch)
{
    const tw_op *step = r->job[j].step;
    const tw_onnx_node *node = &r->net->file->graph[step->from.graph].node[step->from.node[0]];
    tw_array *output;
    r->verdict[j].why_not = step->why ? step->why : "evaluated, not planned";
    TW_ALLOC(scratch, output, node->n_outputs + 1);
    TW_TRY(tw_run_evaluate(r, step->from.graph, node, scratch, &r->ctx->diag, output));
    for (int i = 0; i < step->n_outputs; i++)
        if (step->output[i] >= 0) TW_TRY(tw_run_keep_array(r, step->output[i], &output[i]));
    return TW_OK;
}

/* ---- the whole ---- */

static tw_status run_unknown(tw_run *r, int j)
{
    const tw_op *step = r->job[j].step;
    return tw_diag_infeasible(&r->ctx->diag, (tw_loc){r->net->file->path, 0, 0},
                              "step '%s' (%s) cannot be executed: %s", step->name, step->from.what, step->why);
}

static tw_status run_job(tw_run *r, int j)
{
    const tw_op *step = r->job[j].step;
    if (step->from.in_branch) {
        r->verdict[j].why_not = "evaluated with its If";
        return TW_OK;
    }
    tw_arena *scratch = tw_arena_new();
    if (!scratch) return TW_ERR_NOMEM;
    tw_status status = step->kind == TW_OP_DESCRIBED ? run_tiled(r, j, scratch)
                       : step->kind == TW_OP_HOST    ? run_host(r, j, scratch)
                                                     : run_unknown(r, j);
    tw_arena_free(scratch);
    return status;
}

static bool tell(const tw_run *r, int j, const struct timespec *start)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double seconds = (double)(t.tv_sec - start->tv_sec) + (double)(t.tv_nsec - start->tv_nsec) * 1e-9;
    tw_network_progress p = {j, r->n_jobs, r->job[j].step->name, 0, seconds};
    return !r->options->progress || r->options->progress(r->options->user, &p);
}

/* The judge may go on. */
static void announce(tw_run *r, int n_ran, bool over)
{
    pthread_mutex_lock(&r->lock);
    r->n_ran = n_ran;
    r->over = over;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* Waits until the judge is near enough. */
static void await_judge(tw_run *r, int j)
{
    pthread_mutex_lock(&r->lock);
    while (!r->options->no_reference && j > r->n_judged + TW_RUN_AHEAD) pthread_cond_wait(&r->moved, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

static void announce_judged(tw_run *r, int n_judged)
{
    pthread_mutex_lock(&r->lock);
    r->n_judged = n_judged;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* Steps from this one on are not reached: what was done before it stands. */
static tw_status stop_at(tw_run *r, int j)
{
    r->stopped = true;
    (void)tw_diag_stopped(&r->ctx->diag, (tw_loc){r->net->file->path, 0, 0}, "step '%s' (%d of %d)",
                          r->job[j].step->name, j + 1, r->n_jobs);
    return TW_OK;
}

static tw_status run_jobs(tw_run *r)
{
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int j = 0; j < r->n_jobs; j++) {
        if (!tell(r, j, &start)) break;
        await_judge(r, j);
        tw_status status = tw_deadline_is_over(r->ctx->diag.deadline) ? TW_STOPPED : tw_run_program_begin(r, j);
        if (status == TW_OK && !r->verdict[j].fault) status = run_job(r, j);
        if (status == TW_STOPPED) return stop_at(r, j);
        TW_TRY(status);
        if (r->verdict[j].fault) break; /* what follows has nothing to stand on */
        if (r->options->no_reference) tw_run_release(r, j);
        announce(r, j + 1, false);
    }
    return TW_OK;
}

/* Whether job j has been run; waits for it. */
static bool await(tw_run *r, int j)
{
    pthread_mutex_lock(&r->lock);
    while (j >= r->n_ran && !r->over) pthread_cond_wait(&r->moved, &r->lock);
    bool ran = j < r->n_ran;
    pthread_mutex_unlock(&r->lock);
    return ran;
}

static void *judge_all(void *user)
{
    tw_run *r = user;
    for (int j = 0; j < r->n_jobs && r->judged == TW_OK && await(r, j); j++) {
        r->judged = tw_run_judge(r, j);
        tw_run_release(r, j);
        announce_judged(r, j + 1);
    }
    announce_judged(r, r->n_jobs); /* nobody waits for a judge who is gone */
    return NULL;
}

static tw_status run_both(tw_run *r)
{
    pthread_t thread;
    if (r->options->no_reference) return run_jobs(r);
    if (pthread_create(&thread, NULL, judge_all, r) != 0) return TW_ERR_NOMEM;
    tw_status status = run_jobs(r);
    announce(r, r->n_ran, true);
    pthread_join(thread, NULL);
    r->stopped |= r->judged == TW_STOPPED;
    if (status == TW_OK && r->complaint)
        return tw_diag_error(&r->ctx->diag, (tw_loc){r->net->file->path, 0, 0}, "%s", r->complaint);
    return status != TW_OK ? status : r->judged == TW_STOPPED ? TW_OK : r->judged;
}

static tw_status keep_outputs(tw_run *r, tw_network_verdict *out)
{
    const tw_graph *main = &r->net->file->graph[0];
    tw_network_data *data;
    TW_ALLOC(r->ctx->arena, data, main->n_outputs + 1);
    for (int i = 0; i < main->n_outputs; i++) {
        tw_array array;
        int64_t *dim;
        TW_TRY(tw_run_value(r, main->output[i], &array));
        TW_ALLOC(r->ctx->arena, dim, array.n_dims + 1);
        memcpy(dim, array.dim, (size_t)array.n_dims * sizeof *dim);
        data[i] = (tw_network_data){.name = r->net->file->value[main->output[i]].name,
                                    .type = tw_onnx_type_name(array.type),
                                    .n_dims = array.n_dims,
                                    .dim = dim,
                                    .n_elems = array.n,
                                    .bytes = array.data};
    }
    out->n_outputs = main->n_outputs;
    out->output = data;
    return TW_OK;
}

static void count_step(const tw_run *r, int j, tw_network_verdict *out)
{
    const tw_step_verdict *v = &r->verdict[j];
    const tw_op *step = r->job[j].step;
    out->n_wrong += v->fault != NULL;
    if (step->from.constant) {
        out->n_constants += j < r->n_ran;
        out->n_constants_equal += v->equal;
        return;
    }
    out->n_executed += v->executed;
    out->n_checked += v->checked;
    out->n_equal += v->equal;
    out->n_host += j < r->n_ran && step->kind != TW_OP_DESCRIBED;
    out->n_skipped += step->kind == TW_OP_DESCRIBED && !v->executed;
}

/* Counts; the verdicts of the network's steps are handed out, and the first fault of a constant. */
static tw_status sum_up(const tw_run *r, tw_network_verdict *out)
{
    tw_step_verdict *step;
    TW_ALLOC(r->ctx->arena, step, r->lowered->graph.n_ops + 1);
    for (int j = 0; j < r->n_jobs; j++) {
        const tw_run_job *job = &r->job[j];
        count_step(r, j, out);
        if (!job->step->from.constant)
            step[job->index] = r->verdict[j];
        else if (r->verdict[j].fault && !out->constant_fault) {
            out->constant_fault = tw_arena_printf(r->ctx->arena, "'%s': %s", job->step->name, r->verdict[j].fault);
            if (!out->constant_fault) return TW_ERR_NOMEM;
        }
    }
    out->n_steps = r->lowered->graph.n_ops;
    out->step = step;
    return TW_OK;
}

tw_status tw_network_execute(tw_context *ctx, const tw_network_plan *plan, const tw_network_run_options *options,
                             tw_network_verdict *out)
{
    tw_run r = {
        .plan = plan, .net = plan->network, .lowered = plan->network->lowered, .options = options, .ctx = ctx};
    if (!r.net->executable)
        return tw_diag_error(&ctx->diag, (tw_loc){r.net->file->path, 0, 0},
                             "a network that is planned with another element type cannot be executed");
    TW_TRY(tw_run_check(ctx, plan->network, options));
    TW_TRY(tw_run_order(&r));
    TW_ALLOC(ctx->arena, r.verdict, r.n_jobs + 1);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.moved, NULL);
    tw_status status = tw_run_begin(&r);
    if (status == TW_OK) status = run_both(&r);
    *out = (tw_network_verdict){0};
    tw_status summed = sum_up(&r, out);
    out->stopped = r.stopped;
    out->n_programs = r.n_programs;
    out->program_why_not = r.why_not;
    tw_run_program_end(&r);
    if (status == TW_OK) status = summed;
    if (status == TW_OK && out->n_wrong == 0 && r.n_ran == r.n_jobs) status = keep_outputs(&r, out);
    tw_run_end(&r);
    pthread_cond_destroy(&r.moved);
    pthread_mutex_destroy(&r.lock);
    return status == TW_OK && out->n_wrong > 0 ? TW_WRONG : status;
}
