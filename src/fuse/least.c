/* src/fuse/least.c - see least.h. */
#include "fuse/least.h"

#include "tile/box.h"
#include "tile/traffic.h"

typedef struct load { /* of one engine */
    int64_t commands, work;
} load;

typedef struct counter {
    const tw_model *model;
    const tw_platform *platform;
    load *move;      /* per engine of the platform */
    int64_t *busy;   /* per engine of the platform: executions */
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

/* The mover between memory 0 and the next memory on the operand's way; -1: the operand does not leave memory 0. */
static int first_mover(const tw_platform_view *view, const tw_op *op, int operand)
{
    tw_path path = tw_machine_path(&view->machine, op, operand) & ~1u;
    unsigned way = operand == tw_op_output(op) ? TW_OUTWARDS : TW_INWARDS;
    if (path == 0) return -1;
    int link = tw_machine_link_of(&view->machine, op, operand, 0, __builtin_ctz(path), way);
    return link < 0 ? -1 : view->mover[link];
}

/* ---- executions ---- */

/* Of all combinations of the loops that move along the axis, the share that lies outside of the tensor. */
static double share_outside(const tw_op *op, const tw_axis *axis)
{
    static const tw_term none = {0};
    const tw_term *a = axis->n_terms > 0 ? &axis->term[0] : &none, *b = axis->n_terms > 1 ? &axis->term[1] : &none;
    int64_t n[2] = {axis->n_terms > 0 ? op->loop[a->loop].extent : 1, axis->n_terms > 1 ? op->loop[b->loop].extent : 1};
    int64_t outside = 0;
    if (axis->n_terms > 2 || n[0] > 1 << 16 || n[1] > 1 << 10) return 1;
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t k = 0; k < n[1]; k++) {
            int64_t at;
            outside += !tw_axis_position(axis, axis->offset + i * a->coef + k * b->coef, &at);
        }
    return (double)outside / (double)(n[0] * n[1]);
}

/* Points that are executed in any case: a tile that reads nothing but padding is not, and may have every point that reads some. */
static int64_t points_least(const tw_op *op)
{
    double share = 1;
    for (int o = 0; o < tw_op_output(op); o++)
        for (int a = 0; a < op->operand[o].n_axes; a++)
            if (tw_axis_is_clipped(op, &op->operand[o].axis[a])) share -= share_outside(op, &op->operand[o].axis[a]);
    return share > 0 ? (int64_t)((double)tw_op_points(op) * share * (1 - 1e-9)) : 0;
}

/* Cycles at the peak of the engine. */
static int64_t cycles_least(const tw_cost *cost, bool pipelined, int64_t points)
{
    int64_t at_once = 1, cycles;
    if (cost->kind == TW_COST_KERNEL)
        return tw_cost_peak(cost, &at_once, &cycles) ? points / at_once * cycles : 0;
    for (int d = 0; d < tw_cost_dims(cost); d++) at_once *= cost->array.size[d];
    return tw_cost_least(cost, pipelined, 1, tw_cdiv(points, at_once));
}

static void count_exec(counter *c, const tw_platform_view *view, const tw_op *op)
{
    const tw_machine *machine = &view->machine;
    const tw_engine *engine = &machine->engine[machine->compute];
    const tw_cost *cost = machine->has_apart >> op->compute & 1 ? &machine->apart[op->compute] : &engine->cost;
    c->busy[view->engine] = tw_cost_sum(c->busy[view->engine], cycles_least(cost, engine->pipelined, points_least(op)));
}

/* ---- transfers ---- */

/* What is read of each input of the graph by the operator that reads most of it. */
static tw_status count_inputs(counter *c, const tw_platform_view *const *view)
{
    for (int t = 0; t < c->model->n_tensors; t++) {
        int64_t most = 0;
        int mover = -1;
        for (int i = 0; i < c->model->n_ops; i++) {
            const tw_op *op = &c->model->op[i];
            if (op->operand[tw_op_output(op)].tensor == t) {
                most = 0;
                break; /* it is made here */
            }
            for (int o = 0; o < tw_op_output(op); o++) {
                int64_t elems;
                if (op->operand[o].tensor != t) continue;
                TW_TRY(tw_traffic_least(op, o, c->scratch, &elems));
                int engine = first_mover(view[i], op, o);
                if (engine < 0 || elems <= most) continue;
                most = elems;
                mover = engine;
            }
        }
        if (most == 0) continue;
        c->move[mover].commands++;
        c->move[mover].work += tw_machine_units(&c->platform->view[0].machine, c->model->tensor[t].dtype, most);
    }
    return TW_OK;
}

static bool is_read(const tw_model *model, int tensor)
{
    for (int i = 0; i < model->n_ops; i++)
        for (int o = 0; o < tw_op_output(&model->op[i]); o++)
            if (model->op[i].operand[o].tensor == tensor) return true;
    return false;
}

static tw_status count_output(counter *c, const tw_platform_view *view, const tw_op *op)
{
    int output = tw_op_output(op), tensor = op->operand[output].tensor, mover = first_mover(view, op, output);
    int64_t elems;
    if (mover < 0 || (is_read(c->model, tensor) && !c->model->tensor[tensor].is_output)) return TW_OK;
    TW_TRY(tw_traffic_least(op, output, c->scratch, &elems));
    c->move[mover].commands++;
    c->move[mover].work += tw_machine_units(&view->machine, c->model->tensor[tensor].dtype, elems);
    return TW_OK;
}

/* Cycles of an engine that has so many units of itself. */
static int64_t cycles_of(const counter *c, int e)
{
    const tw_engine *engine = &c->platform->engine[e].is;
    const load *l = &c->move[e];
    int64_t busy = c->busy[e];
    if (l->commands > 0)
        busy = tw_cost_least(&engine->cost, engine->pipelined, engine->joins ? 1 : l->commands, l->work);
    return busy / tw_max(1, engine->count);
}

static tw_status count_all(counter *c, tw_least *out)
{
    const tw_platform_view **view;
    TW_ALLOC(c->scratch, view, c->model->n_ops);
    TW_ALLOC(c->scratch, c->move, c->platform->n_engines);
    TW_ALLOC(c->scratch, c->busy, c->platform->n_engines);
    for (int i = 0; i < c->model->n_ops; i++) {
        int v = only_view(c->platform, &c->model->op[i]);
        if (v < 0) return TW_OK;
        view[i] = &c->platform->view[v];
        count_exec(c, view[i], &c->model->op[i]);
        TW_TRY(count_output(c, view[i], &c->model->op[i]));
    }
    TW_TRY(count_inputs(c, view));
    for (int e = 0; e < c->platform->n_engines; e++) {
        int64_t cycles = cycles_of(c, e);
        if (out->engine < 0 || cycles > out->cycles) *out = (tw_least){cycles, e};
    }
    return TW_OK;
}

tw_status tw_least_of(const tw_model *model, const tw_machine *machine, tw_arena *scratch, tw_least *out)
{
    counter c = {.model = model, .platform = machine->platform, .scratch = scratch};
    tw_arena_mark mark = tw_arena_save(scratch);
    *out = (tw_least){0, -1};
    tw_status status = count_all(&c, out);
    tw_arena_rewind(scratch, mark);
    return status;
}
