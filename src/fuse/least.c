/* src/fuse/least.c - see least.h. */
#include "fuse/least.h"

#include "fuse/ahead.h"
#include "model/pieces.h"
#include "tile/box.h"

#include <string.h>

/* Positions of an axis that are walked one by one. */
static const int64_t most_walked = INT64_C(1) << 22;

typedef tw_ahead_points points;

typedef struct need { /* of a tensor: the elements whose position along every axis is marked */
    int64_t elems;    /* 0: nobody needs it */
    bool is_read;     /* by somebody, who may find nothing but padding there */
    int n_axes;
    int64_t extent[TW_MAX_AXES];
    bool *mark[TW_MAX_AXES];
    int op, operand; /* of the reader that needs them */
} need;

typedef struct counter {
    const tw_model *model;
    const tw_platform *platform;
    need *need;                         /* per tensor */
    const tw_platform_view **view;      /* per operator */
    tw_ahead_op *at;                    /* per operator: what ahead.h asks about it */
    int64_t *commands, *moved, *worked; /* per engine of the platform */
    int64_t *points;                    /* of every operator, that are executed; NULL: nobody asks */
    bool given_up;
    tw_arena *scratch;
} counter;

/* The only view that computes the operator; -1: there are several, or none. */
static int only_view(const tw_platform *platform, const tw_op *op)
{
    int found = -1;
    for (int v = 0; v < platform->n_views; v++) {
        if (!tw_machine_computes(&platform->view[v].machine, op)) continue;
        if (found >= 0) return -1;
        found = v;
    }
    return found;
}

/* ---- what is needed ---- */

static int64_t count_marks(const bool *mark, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += mark[i];
    return sum;
}

/* Whether some point with index v of the loop, which is a term of the axis, finds an element there. */
static bool finds_any(const tw_op *op, const tw_axis *axis, int term, int64_t v)
{
    int other = 1 - term;
    int64_t at, n = axis->n_terms > 1 ? op->loop[axis->term[other].loop].extent : 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t value = axis->offset + v * axis->term[term].coef;
        if (tw_axis_position(axis, value + (axis->n_terms > 1 ? i * axis->term[other].coef : 0), &at)) return true;
    }
    return false;
}

/* Points that read nothing but padding need not be executed, nor what they read besides be loaded: of a product with one such input, of anything else that adds up
 * with that input alone. */
static void drop_padding(const tw_op *op, points *p)
{
    int n = tw_op_n_variables(op);
    bool all = op->compute == TW_MULTIPLY_ADD || (op->compute != TW_MAP && n == 1);
    for (int o = 0; o < n && all; o++) {
        const tw_operand whole = tw_op_whole_input(op, o);
        for (int a = 0; a < whole.n_axes; a++) {
            const tw_axis *axis = &whole.axis[a];
            if (axis->n_terms > 2 || !tw_axis_is_clipped(op, axis)) continue;
            for (int t = 0; t < axis->n_terms; t++)
                for (int64_t v = 0; v < op->loop[axis->term[t].loop].extent; v++)
                    p->mark[axis->term[t].loop][v] &= finds_any(op, axis, t, v);
        }
    }
}

/* Of reductions, and of everything when the output's shape is not the one that is needed, all points. */
static tw_status points_of(counter *c, const tw_op *op, points *out)
{
    const tw_operand *output = &op->operand[tw_op_output(op)];
    const need *n = &c->need[output->tensor];
    bool same = n->n_axes == output->n_axes;
    for (int a = 0; a < output->n_axes && same; a++) same = n->extent[a] == output->axis[a].extent;
    for (int l = 0; l < op->n_loops; l++) {
        TW_ALLOC(c->scratch, out->mark[l], op->loop[l].extent);
        memset(out->mark[l], 1, (size_t)op->loop[l].extent);
    }
    for (int a = 0; a < output->n_axes && same; a++) {
        const tw_axis *axis = &output->axis[a];
        if (axis->n_terms != 1 || axis->term[0].coef != 1 || axis->divisor != 1 || axis->offset < 0) continue;
        for (int64_t i = 0; i < op->loop[axis->term[0].loop].extent; i++)
            if (i + axis->offset < axis->extent) out->mark[axis->term[0].loop][i] = n->mark[a][i + axis->offset];
    }
    drop_padding(op, out);
    for (int l = 0; l < op->n_loops; l++) out->count[l] = count_marks(out->mark[l], op->loop[l].extent);
    c->given_up |= !same; /* a reader sees it in another shape */
    return TW_OK;
}

static void walk_axis(const tw_op *op, const tw_axis *axis, const points *p, int term, int64_t value, bool *mark)
{
    int64_t at;
    if (term == axis->n_terms) {
        if (tw_axis_position(axis, value, &at)) mark[at] = true;
        return;
    }
    int l = axis->term[term].loop;
    for (int64_t i = 0; i < op->loop[l].extent; i++)
        if (p->mark[l][i]) walk_axis(op, axis, p, term + 1, value + i * axis->term[term].coef, mark);
}

/* What the operator reads of an operand; kept if no reader needs more of the tensor. */
static tw_status need_operand(counter *c, int i, int o, const points *p)
{
    const tw_op *op = &c->model->op[i];
    const tw_operand *operand = &op->operand[o];
    need now = {.elems = 1, .is_read = true, .n_axes = operand->n_axes, .op = i, .operand = o};
    c->given_up |= tw_operand_is_diagonal(operand);
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        double steps = 1;
        for (int t = 0; t < axis->n_terms; t++) steps *= (double)p->count[axis->term[t].loop];
        if (steps > (double)most_walked || axis->extent > most_walked) {
            c->given_up = true;
            return TW_OK;
        }
        TW_ALLOC(c->scratch, now.mark[a], axis->extent);
        now.extent[a] = axis->extent;
        walk_axis(op, axis, p, 0, axis->offset, now.mark[a]);
        now.elems *= count_marks(now.mark[a], axis->extent);
    }
    if (now.elems > c->need[operand->tensor].elems) c->need[operand->tensor] = now;
    return TW_OK;
}

/* An output of the graph is needed whole. */
static tw_status need_output(counter *c, const tw_op *op)
{
    const tw_operand *output = &op->operand[tw_op_output(op)];
    need *n = &c->need[output->tensor];
    if (n->elems > 0 && !c->model->tensor[output->tensor].is_output) return TW_OK;
    *n = (need){.elems = 1, .is_read = n->is_read, .n_axes = output->n_axes, .op = -1};
    for (int a = 0; a < output->n_axes; a++) {
        n->extent[a] = output->axis[a].extent;
        n->elems *= n->extent[a];
        TW_ALLOC(c->scratch, n->mark[a], n->extent[a]);
        memset(n->mark[a], 1, (size_t)n->extent[a]);
    }
    return TW_OK;
}

/* ---- executions ---- */

/* Of the needed points along the axis, the share that lies outside of the tensor. */
static double share_outside(const tw_op *op, const tw_axis *axis, const points *p)
{
    static const tw_term none = {0};
    const tw_term *a = axis->n_terms > 0 ? &axis->term[0] : &none, *b = axis->n_terms > 1 ? &axis->term[1] : &none;
    int64_t n[2] = {axis->n_terms > 0 ? op->loop[a->loop].extent : 1,
                    axis->n_terms > 1 ? op->loop[b->loop].extent : 1};
    int64_t outside = 0, all = 0, at;
    if (axis->n_terms > 2 || n[0] * n[1] > most_walked) return 1;
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t k = 0; k < n[1]; k++) {
            if ((axis->n_terms > 0 && !p->mark[a->loop][i]) || (axis->n_terms > 1 && !p->mark[b->loop][k]))
                continue;
            outside += !tw_axis_position(axis, axis->offset + i * a->coef + k * b->coef, &at);
            all++;
        }
    return all > 0 ? (double)outside / (double)all : 1;
}

/* Points that are executed in any case: a tile that reads nothing but padding is not, and may have every point that reads some. */
static int64_t points_least(const tw_op *op, const points *p)
{
    double share = 1, n = 1;
    for (int l = 0; l < op->n_loops; l++) n *= (double)p->count[l];
    for (int o = 0; o < tw_op_output(op); o++)
        for (int a = 0; a < op->operand[o].n_axes; a++)
            if (tw_axis_is_clipped(op, &op->operand[o].axis[a]))
                share -= share_outside(op, &op->operand[o].axis[a], p);
    return share > 0 ? (int64_t)(n * share * (1 - 1e-9)) : 0;
}

/* Cycles at the peak of the engine. */
static int64_t cycles_least(const tw_cost *cost, bool pipelined, int64_t n)
{
    int64_t at_once = 1, cycles;
    if (cost->kind == TW_COST_KERNEL) return tw_cost_peak(cost, &at_once, &cycles) ? n / at_once * cycles : 0;
    for (int d = 0; d < tw_cost_dims(cost); d++) at_once *= cost->array.size[d];
    return tw_cost_least(cost, pipelined, 1, tw_cdiv(n, at_once));
}

/* Cycles of points of an operator, at the peak. */
static int64_t exec_least(const tw_platform_view *view, const tw_op *op, int64_t n)
{
    const tw_machine *machine = &view->machine;
    const tw_engine *engine = &machine->engine[machine->compute];
    const tw_cost *cost = machine->has_apart >> op->compute & 1 ? &machine->apart[op->compute] : &engine->cost;
    return cycles_least(cost, engine->pipelined, n);
}

int64_t tw_least_cycles(const tw_platform_view *view, const tw_op *op, int64_t n)
{
    return exec_least(view, op, n) / tw_max(1, view->machine.engine[view->machine.compute].count);
}

static void count_exec(counter *c, int i, const points *p)
{
    const tw_op *op = &c->model->op[i];
    int64_t *worked = &c->worked[c->view[i]->engine];
    int64_t n = points_least(op, p), cycles = exec_least(c->view[i], op, n);
    *worked = tw_sat_add(*worked, cycles);
    if (c->points) c->points[i] = n;
    double all = 1;
    for (int l = 0; l < op->n_loops; l++) all *= (double)p->count[l];
    c->at[i] = (tw_ahead_op){
        .needed = *p, .outside = all > 0 ? 1 - (double)n / all : 1, .cycles = cycles, .engine = c->view[i]->engine};
}

/* ---- transfers ---- */

/* The mover between memory 0 and the next memory on the operand's way; -1: the operand does not leave memory 0. */
static int first_mover(const tw_platform_view *view, const tw_op *op, int operand)
{
    tw_path path = tw_machine_path(&view->machine, op, operand) & ~1u;
    unsigned way = operand == tw_op_output(op) ? TW_OUTWARDS : TW_INWARDS;
    if (path == 0) return -1;
    int link = tw_machine_link_of(&view->machine, op, operand, 0, __builtin_ctz(path), way);
    return link < 0 ? -1 : view->mover[link];
}

static void count_move(counter *c, int i, int operand, int64_t elems)
{
    const tw_op *op = &c->model->op[i];
    int mover = first_mover(c->view[i], op, operand);
    if (mover < 0 || elems == 0) return;
    if (operand != tw_op_output(op)) {
        c->at[i].mover[operand] = mover + 1;
        c->at[i].units[operand] =
            tw_machine_units(&c->view[i]->machine, c->model->tensor[op->operand[operand].tensor].dtype, elems);
    }
    c->commands[mover]++;
    c->moved[mover] +=
        tw_machine_units(&c->view[i]->machine, c->model->tensor[op->operand[operand].tensor].dtype, elems);
}

/* ---- the whole ---- */

/* The most that readers need of a tensor whose bytes they see in other shapes. */
static int64_t needed_otherwise(const counter *c, int tensor)
{
    int64_t most = 0;
    for (int t = 0; t < c->model->n_tensors; t++)
        if (t != tensor && tw_tensors_share(c->model, t, tensor)) most = tw_max(most, c->need[t].elems);
    return most;
}

/* Whether somebody reads it, in whatever shape. */
static bool is_read_at_all(const counter *c, int tensor)
{
    for (int t = 0; t < c->model->n_tensors; t++)
        if (c->need[t].is_read && (t == tensor || tw_tensors_share(c->model, t, tensor))) return true;
    return false;
}

/* It is made here: it is no input of the graph, in whatever shape. */
static void settle_made(counter *c, int tensor)
{
    for (int t = 0; t < c->model->n_tensors; t++)
        if (tw_tensors_share(c->model, t, tensor)) c->need[t].elems = 0;
}

/* Where readers see what is made in other shapes, it is needed whole or, if they do not need all of it, nothing is known of it. */
static tw_status count_op(counter *c, int i)
{
    const tw_op *op = &c->model->op[i];
    int tensor = op->operand[tw_op_output(op)].tensor;
    const tw_tensor *is = &c->model->tensor[tensor];
    points p = {0};
    int64_t otherwise = needed_otherwise(c, tensor);
    need *made = &c->need[tensor];
    bool is_read = is_read_at_all(c, tensor);
    for (int o = 0; o < tw_op_output(op); o++) c->need[op->operand[o].tensor].is_read = true;
    if (is_read && made->elems == 0 && otherwise == 0 && !is->is_output) return TW_OK; /* none of it is needed */
    if (otherwise == tw_tensor_elems(is)) made->elems = 0;
    if (otherwise == 0 || made->elems > 0 || otherwise == tw_tensor_elems(is) || is->is_output) {
        TW_TRY(need_output(c, op));
        if (!is_read || is->is_output) count_move(c, i, tw_op_output(op), made->elems);
        TW_TRY(points_of(c, op, &p));
        count_exec(c, i, &p);
        for (int o = 0; o < tw_op_output(op); o++) TW_TRY(need_operand(c, i, o, &p));
    }
    settle_made(c, tensor);
    return TW_OK;
}

/* Inputs of the graph are loaded once, as far as the view of them that needs most does. */
static void count_inputs(counter *c)
{
    for (int t = 0; t < c->model->n_tensors; t++) {
        const need *n = &c->need[t];
        bool most = n->elems > 0;
        for (int k = 0; k < c->model->n_tensors && most; k++)
            if (tw_tensors_share(c->model, k, t))
                most = c->need[k].elems < n->elems || (c->need[k].elems == n->elems && k >= t);
        if (most) count_move(c, n->op, n->operand, n->elems);
    }
}

/* Cycles of an engine that has so many units of itself. */
static int64_t cycles_of(const counter *c, int e)
{
    const tw_engine *engine = &c->platform->engine[e].is;
    int64_t busy = c->worked[e], n = engine->joins ? tw_min(1, c->commands[e]) : c->commands[e];
    if (n > 0) busy = tw_cost_least(&engine->cost, engine->pipelined, n, c->moved[e]);
    return busy / tw_max(1, engine->count);
}

/* What is executed and moved; *known is false when there is no bound. */
static tw_status count_ops(counter *c, bool *known)
{
    const tw_model *model = c->model;
    *known = false;
    TW_ALLOC(c->scratch, c->view, model->n_ops);
    TW_ALLOC(c->scratch, c->at, model->n_ops);
    TW_ALLOC(c->scratch, c->need, model->n_tensors);
    TW_ALLOC(c->scratch, c->commands, c->platform->n_engines);
    TW_ALLOC(c->scratch, c->moved, c->platform->n_engines);
    TW_ALLOC(c->scratch, c->worked, c->platform->n_engines);
    for (int i = model->n_ops - 1; i >= 0 && !c->given_up; i--) {
        int v = only_view(c->platform, &model->op[i]);
        if (v < 0) return TW_OK;
        c->view[i] = &c->platform->view[v];
        TW_TRY(count_op(c, i));
    }
    *known = !c->given_up;
    return TW_OK;
}

static tw_status count_all(counter *c, tw_least *out)
{
    const tw_model *model = c->model;
    bool known;
    TW_TRY(count_ops(c, &known));
    if (!known) return TW_OK;
    count_inputs(c);
    for (int e = 0; e < c->platform->n_engines; e++) {
        int64_t cycles = cycles_of(c, e);
        out->units += c->moved[e];
        if (out->engine < 0 || cycles > out->cycles) out->cycles = cycles, out->engine = e;
    }
    tw_ahead ahead = {model, c->platform, c->at, 0, -1};
    TW_TRY(tw_ahead_of(&ahead, c->scratch));
    if (ahead.cycles > out->cycles) out->cycles = ahead.cycles, out->engine = ahead.mover, out->waits = true;
    return TW_OK;
}

tw_status tw_least_of(const tw_model *model, const tw_machine *machine, tw_arena *scratch, tw_least *out)
{
    counter c = {.model = model, .platform = machine->platform, .points = out->points, .scratch = scratch};
    tw_arena_mark mark = tw_arena_save(scratch);
    *out = (tw_least){.engine = -1, .points = out->points};
    tw_status status = count_all(&c, out);
    tw_arena_rewind(scratch, mark);
    return status;
}

tw_status tw_least_work_of(const tw_model *model, const tw_machine *machine, tw_arena *scratch, int64_t *cycles)
{
    counter c = {.model = model, .platform = machine->platform, .scratch = scratch};
    tw_arena_mark mark = tw_arena_save(scratch);
    bool known;
    *cycles = 0;
    tw_status status = count_ops(&c, &known);
    for (int e = 0; e < c.platform->n_engines && status == TW_OK && known; e++)
        *cycles = tw_max(*cycles, c.worked[e] / tw_max(1, c.platform->engine[e].is.count));
    tw_arena_rewind(scratch, mark);
    return status;
}

bool tw_operand_is_diagonal(const tw_operand *operand)
{
    unsigned seen = 0;
    for (int a = 0; a < operand->n_axes; a++)
        for (int t = 0; t < operand->axis[a].n_terms; t++) {
            unsigned loop = 1u << operand->axis[a].term[t].loop;
            if (seen & loop) return true;
            seen |= loop;
        }
    return false;
}
