/* src/plan/groupfacts.c - see groupfacts.h.
 *
 * Points are counted where they are executed, so totals need no walk; windows are what the walk over the steps finds. */
#include "plan/groupfacts.h"

#include "program/walk.h"

static const tw_nest *nest_of(const tw_plan *plan, int group) { return &plan->joint->program->nest[group]; }

static const tw_operand *output_of(const tw_op *op) { return &op->operand[tw_op_output(op)]; }

/* ---- points ---- */

int64_t tw_group_points_once(const tw_plan *plan, int group, int k)
{
    const tw_joint *program = plan->joint->program;
    const tw_op *op = nest_of(plan, group)->op[k].op;
    __int128 before = 0, own = 0, all = 0, once = tw_op_points(op);
    for (int g = 0; g < program->n_nests; g++)
        for (int j = 0; j < program->nest[g].n_ops; j++) {
            int64_t points = plan->joint->timeline.op[g][j].macs;
            if (program->nest[g].op[j].op != op) continue;
            if (g == group) own = points;
            if (g < group) before += points;
            all += points;
        }
    return all == 0 ? 0 : (int64_t)((before + own) * once / all - before * once / all);
}

/* ---- tensors ---- */

static bool touches(const tw_nest *nest, int tensor)
{
    for (int s = 0; s < nest->n_holds; s++)
        if (nest->hold[s].tensor == tensor) return true;
    return false;
}

static int maker_of(const tw_nest *nest, int tensor)
{
    for (int k = 0; k < nest->n_ops; k++)
        if (output_of(nest->op[k].op)->tensor == tensor) return k;
    return -1;
}

static int tensor_at(const tw_nest *nest, int i)
{
    int t = 0;
    for (; i >= 0; t++) i -= touches(nest, t);
    return t - 1;
}

/* Whether it goes to the outermost memory. */
static bool leaves(const tw_nest *nest, int tensor)
{
    for (int s = 0; s < nest->n_holds; s++)
        if (nest->hold[s].tensor == tensor && nest->hold[s].drain >= 0) return true;
    return false;
}

/* What is made inside is not loaded and, unless others read it, too, not stored. */
static int64_t saved_bytes(const tw_nest *nest, int tensor)
{
    int maker = maker_of(nest, tensor);
    if (maker < 0 || maker == nest->n_ops - 1) return 0;
    return (leaves(nest, tensor) ? 1 : 2) * nest->model->tensor[tensor].bytes;
}

/* What stays of the tensor from step to step, in bytes: where several holds of it slide, in the first. */
static int64_t kept_bytes(const tw_nest *nest, int tensor)
{
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        if (hold->tensor == tensor && hold->slides)
            return hold->kept / hold->elem_units * tw_dtype_bytes(nest->model->tensor[tensor].dtype);
    }
    return 0;
}

static int64_t elems_made(const tw_plan *plan, int group, int k)
{
    const tw_op *op = nest_of(plan, group)->op[k].op;
    int64_t each = 1;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces) each *= op->loop[l].extent;
    const tw_joint_span *span = &plan->joint->timeline.op[group][k];
    return (span->macs - span->rescaled) / each;
}

tw_group_tensor tw_group_tensor_of(const tw_plan *plan, int group, int i)
{
    const tw_nest *nest = nest_of(plan, group);
    int t = tensor_at(nest, i), maker = maker_of(nest, t);
    const tw_tensor *tensor = &nest->model->tensor[t];
    return (tw_group_tensor){.name = tensor->name,
                             .n_axes = tensor->n_axes,
                             .maker = maker,
                             .inside = maker >= 0 && maker < nest->n_ops - 1,
                             .elems = tw_tensor_elems(tensor),
                             .elems_made = maker < 0 ? 0 : elems_made(plan, group, maker),
                             .saved_bytes = saved_bytes(nest, t),
                             .kept_bytes = kept_bytes(nest, t)};
}

/* The one axis along which the first step, whose tiles are the largest, has a part of the tensor; -1: none or several. */
static int cut_axis(const tw_nest_walk *w, int hold)
{
    const tw_tensor *tensor = &w->nest->model->tensor[w->nest->hold[hold].tensor];
    int axis = -1;
    for (int a = 0; a < tensor->n_axes; a++) {
        if (tw_span_len(w->region[hold].axis[a]) == tensor->extent[a]) continue;
        if (axis >= 0) return -1;
        axis = a;
    }
    return axis;
}

tw_group_rows tw_group_rows_of(const tw_plan *plan, int group, int i)
{
    tw_group_tensor t = tw_group_tensor_of(plan, group, i);
    const tw_nest *nest = nest_of(plan, group);
    tw_group_rows rows = {0};
    tw_nest_walk w;
    tw_arena *arena = t.maker < 0 ? NULL : tw_arena_new();
    if (!arena) return rows;
    if (tw_nest_walk_init(&w, nest, arena) == TW_OK) {
        int hold = nest->op[t.maker].made, axis = w.elems[hold] > 0 ? cut_axis(&w, hold) : -1;
        int64_t extent = axis < 0 ? 0 : nest->model->tensor[nest->hold[hold].tensor].extent[axis];
        if (extent > 0 && t.elems_made % (t.elems / extent) == 0)
            rows = (tw_group_rows){t.elems_made / (t.elems / extent), extent};
    }
    tw_arena_free(arena);
    return rows;
}

int64_t tw_group_needs(const tw_plan *plan, int group, int memory)
{
    const tw_nest *nest = nest_of(plan, group);
    int64_t sum = 0;
    for (int s = 0; s < nest->n_holds; s++)
        if (nest->hold[s].memory == memory) sum += tw_nest_hold_units(&nest->hold[s], nest->hold[s].slots);
    return sum;
}

/* ---- the whole ---- */

tw_group_facts tw_group_facts_of(const tw_plan *plan, int group)
{
    const tw_nest *nest = nest_of(plan, group);
    tw_group_facts f = {.n_steps = nest->n_steps};
    for (int k = 0; k < nest->n_ops; k++) {
        f.points += plan->joint->timeline.op[group][k].macs;
        f.rescaled += plan->joint->timeline.op[group][k].rescaled;
        f.points_once += tw_group_points_once(plan, group, k);
    }
    for (int t = 0; t < nest->model->n_tensors; t++) {
        f.n_tensors += touches(nest, t);
        f.saved_bytes += saved_bytes(nest, t);
        f.kept_bytes += kept_bytes(nest, t);
    }
    int64_t more = tw_max(0, f.points - f.points_once), common = tw_gcd(more, f.saved_bytes);
    if (f.saved_bytes == 0) return f;
    f.even_points = more / common;
    f.even_bytes = f.saved_bytes / common;
    return f;
}

/* ---- steps ---- */

typedef struct spans { /* of one tensor */
    int64_t lo[TW_MAX_TENSOR_AXES], hi[TW_MAX_TENSOR_AXES], fresh[TW_MAX_TENSOR_AXES];
} spans;

/* What the holds of the tensor hold together that change most often; false: nothing. */
static bool window_of(const tw_nest_walk *w, int tensor, tw_region *out)
{
    int depth = -1;
    bool any = false;
    for (int s = 0; s < w->nest->n_holds; s++)
        if (w->nest->hold[s].tensor == tensor) depth = (int)tw_max(depth, w->nest->hold[s].depth);
    for (int s = 0; s < w->nest->n_holds; s++) {
        if (w->nest->hold[s].tensor != tensor || w->nest->hold[s].depth < depth || w->elems[s] == 0) continue;
        for (int a = 0; a < w->nest->model->tensor[tensor].n_axes; a++) {
            tw_span is = w->region[s].axis[a], *to = &out->axis[a];
            *to = any ? (tw_span){tw_min(to->lo, is.lo), tw_max(to->hi, is.hi)} : is;
        }
        any = true;
    }
    return any;
}

/* Where a window lies, and how far its end is behind that of the step before; where that went back, all of it is new. */
static void show_window(const tw_nest_walk *w, int tensor, spans *at, tw_group_window *out)
{
    tw_region region;
    bool before = out->any, any = window_of(w, tensor, &region);
    spans was = *at;
    *out = (tw_group_window){any, w->nest->model->tensor[tensor].n_axes, at->lo, at->hi, at->fresh};
    for (int a = 0; a < out->n_axes; a++) {
        tw_span span = any ? region.axis[a] : (tw_span){0, 0};
        bool goes_on = before && was.hi[a] <= span.hi && was.lo[a] <= span.lo;
        at->lo[a] = span.lo;
        at->hi[a] = span.hi;
        at->fresh[a] = span.hi - (goes_on ? was.hi[a] : span.lo);
    }
}

static tw_status walk(const tw_nest *nest, tw_group_step_fn fn, void *user, tw_arena *scratch)
{
    tw_nest_walk w;
    tw_group_window *window;
    spans *at;
    int n = 0;
    TW_TRY(tw_nest_walk_init(&w, nest, scratch));
    TW_ALLOC(scratch, window, nest->n_holds);
    TW_ALLOC(scratch, at, nest->n_holds);
    for (int64_t number = 0; !w.done; tw_nest_walk_next(&w), number++, n = 0) {
        for (int t = 0; t < nest->model->n_tensors; t++) {
            if (!touches(nest, t)) continue;
            show_window(&w, t, &at[n], &window[n]);
            n++;
        }
        TW_TRY(fn(user, &(tw_group_step){number, n, window}));
    }
    return TW_OK;
}

tw_status tw_group_walk(const tw_plan *plan, int group, tw_group_step_fn fn, void *user, tw_arena *scratch)
{
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_status status = walk(nest_of(plan, group), fn, user, scratch);
    tw_arena_rewind(scratch, mark);
    return status;
}

/* ---- against layers ---- */

static int64_t end_of_group(const tw_plan *plan, int group)
{
    int64_t end = 0;
    for (int k = 0; k < nest_of(plan, group)->n_ops; k++)
        end = tw_max(end, plan->joint->timeline.op[group][k].end_cycle);
    return end;
}

tw_group_gain tw_group_gain_of(const tw_plan *plan, int group)
{
    const tw_nest *nest = nest_of(plan, group);
    const tw_joint_search *search = plan->joint->search;
    bool known = search && search->apart_op && nest->map->n_parts == 0;
    tw_group_gain gain = {.energy_fj = plan->joint->timeline.group_fj[group]};
    int64_t before = 0, last = group + 1 == plan->mapping->n_groups;
    for (int g = 0; g < group; g++) before = tw_max(before, end_of_group(plan, g));
    int64_t end = last ? plan->sum.cycles : end_of_group(plan, group);
    gain.cycles = tw_max(0, end - before);
    gain.layers_cycles = gain.layers_energy_fj = known ? 0 : -1;
    for (int k = 0; k < nest->n_ops && known; k++) {
        gain.layers_cycles += search->apart_op[nest->map->op[k].op].cycles;
        gain.layers_energy_fj += search->apart_op[nest->map->op[k].op].energy_fj;
    }
    return gain;
}
