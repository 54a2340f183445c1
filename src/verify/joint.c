/* src/verify/joint.c - see joint.h: begin and end of the judge of groups. */
#include "verify/joint_judge.h"
#include "verify/shape.h"

#include <stdio.h>

/* ---- begin ---- */

static bool is_in_group(const tw_joint_judge *j, int group, int op)
{
    for (int i = 0; i < j->in.group[group].n_ops; i++)
        if (j->in.group[group].op[i].op == op) return true;
    return false;
}

/* Points of the driver's loops that two groups have in common, or one with itself. */
static int64_t common_points(const tw_op *op, const tw_group_map *a, const tw_group_map *b)
{
    int64_t points = 1;
    for (int l = 0; l < op->n_loops; l++) {
        tw_span both = {0, op->loop[l].extent};
        for (int i = 0; i < a->n_parts + b->n_parts; i++) {
            const tw_group_part *part = i < a->n_parts ? &a->part[i] : &b->part[i - a->n_parts];
            if (part->loop != l) continue;
            both.lo = tw_max(both.lo, part->span.lo);
            both.hi = tw_min(both.hi, part->span.hi);
        }
        points *= tw_max(0, both.hi - both.lo);
    }
    return points;
}

/* Every operator is in one group; or it drives several, whose parts of its loops are apart and all of them together. */
static void check_cover(tw_joint_judge *j, int op)
{
    int n = 0, whole = 0, parts = 0;
    int64_t points = 0, all = 1;
    const tw_op *is = &j->in.model->op[op];
    for (int g = 0; g < j->in.n_groups; g++) {
        const tw_group_map *map = &j->in.group[g];
        if (!is_in_group(j, g, op)) continue;
        n++;
        whole += map->n_parts == 0;
        if (map->op[map->n_ops - 1].op != op || map->n_parts == 0) continue;
        parts++;
        points += common_points(is, map, map);
        for (int i = 0; i < g; i++)
            if (j->in.group[i].op[j->in.group[i].n_ops - 1].op == op && common_points(is, map, &j->in.group[i]) > 0)
                tw_fault_set(&j->fault, "groups '%s' and '%s' have the same part of '%s'", j->in.group[i].name,
                             map->name, is->name);
    }
    for (int l = 0; l < is->n_loops; l++) all *= is->loop[l].extent;
    if (n == 0) tw_fault_set(&j->fault, "operator '%s' is in no group", is->name);
    if (whole > 0 && n > 1) tw_fault_set(&j->fault, "operator '%s' is in %d groups", is->name, n);
    if (parts > 0 && points != all)
        tw_fault_set(&j->fault, "the parts of '%s' have %" PRId64 " points, it has %" PRId64, is->name, points,
                     all);
}

/* What a producer makes is read in its group; where it is read outside, too, or handed over, all of it must be stored. */
static tw_status check_inside(tw_joint_judge *j, int group, int op)
{
    const tw_op *is = &j->in.model->op[op];
    int tensor = is->operand[tw_op_output(is)].tensor;
    tw_joint_tensor *t = &j->tensor[tensor];
    bool read = false, outside = j->in.model->tensor[tensor].is_output;
    for (int i = 0; i < j->in.model->n_ops; i++)
        for (int o = 0; o < tw_op_output(&j->in.model->op[i]); o++) {
            int seen = j->in.model->op[i].operand[o].tensor;
            if (!tw_tensors_share(j->in.model, seen, tensor)) continue;
            if (is_in_group(j, group, i) && seen != tensor)
                tw_fault_set(&j->fault, "group '%s': '%s' reads '%s' in another shape", j->in.group[group].name,
                             j->in.model->op[i].name, j->in.model->tensor[tensor].name);
            read |= is_in_group(j, group, i);
            outside |= !is_in_group(j, group, i);
        }
    if (!read)
        tw_fault_set(&j->fault, "group '%s': nobody in it reads '%s'", j->in.group[group].name,
                     j->in.model->tensor[tensor].name);
    t->inside = t->absent = !outside;
    if (!outside) return TW_OK;
    if (j->in.group[group].n_parts > 0)
        tw_fault_set(&j->fault, "group '%s': it is a part, and '%s' is needed outside of it",
                     j->in.group[group].name, j->in.model->tensor[tensor].name);
    t->missing = tw_tensor_elems(&j->in.model->tensor[tensor]);
    TW_ALLOC(j->arena, t->stored, t->missing / 8 + 1);
    return TW_OK;
}

static tw_status init_tensors(tw_joint_judge *j)
{
    const tw_model *model = j->in.model;
    TW_ALLOC(j->arena, j->tensor, model->n_tensors + 1);
    for (int t = 0; t < model->n_tensors; t++) {
        tw_joint_tensor *is = &j->tensor[t];
        is->maker = -1;
        is->shape = (tw_operand){.name = model->tensor[t].name, .tensor = t, .n_axes = model->tensor[t].n_axes};
        for (int a = 0; a < is->shape.n_axes; a++) is->shape.axis[a].extent = model->tensor[t].extent[a];
    }
    for (int i = 0; i < model->n_ops; i++)
        j->tensor[model->tensor[model->op[i].operand[tw_op_output(&model->op[i])].tensor].root].maker = i;
    for (int t = 0; t < model->n_tensors; t++) j->tensor[t].maker = j->tensor[model->tensor[t].root].maker;
    return TW_OK;
}

/* What does not depend on the groups. */
static tw_status init_scene(tw_joint_judge *j)
{
    const tw_joint_input *in = &j->in;
    tw_machine *bare;
    TW_ALLOC(j->arena, bare, 1);
    bare->unit = in->platform->view[0].machine.unit;
    const tw_scene *scene = tw_scene_of_model(in->model, in->platform, in->n_buffers, in->buffer, j->arena);
    if (!scene || !tw_tally_init(&j->tally, scene, in->claims, j->arena) ||
        !tw_units_init(&j->units, scene, in->platform->view[0].machine.launch, j->arena) ||
        !(j->ports = tw_ways_new(scene, in->model, j->arena)))
        return TW_ERR_NOMEM;
    j->known = (tw_verify_input){.model = in->model, .machine = bare, .deadline = in->deadline, .scene = scene};
    j->tally.launch = j->units.free[0][0];
    j->tally.ports = j->ports;
    j->tally.paths = j->tally.packed = true;
    j->tally.unhurried = in->unhurried;
    return tw_tally_add_groups(&j->tally, in->model, in->n_groups, j->arena) ? TW_OK : TW_ERR_NOMEM;
}

static tw_status init_groups(tw_joint_judge *j)
{
    TW_ALLOC(j->arena, j->group, j->in.n_groups + 1);
    for (int g = 0; g < j->in.n_groups && !j->fault.set; g++) TW_TRY(tw_joint_group_init(j, g));
    for (int g = 0; g < j->in.n_groups && !j->fault.set; g++)
        for (int i = 0; i < j->in.group[g].n_ops - 1; i++) TW_TRY(check_inside(j, g, j->in.group[g].op[i].op));
    for (int i = 0; i < j->in.model->n_ops && !j->fault.set; i++) check_cover(j, i);
    return TW_OK;
}

static tw_status init(tw_joint_judge *j)
{
    TW_TRY(init_scene(j));
    TW_TRY(init_tensors(j));
    tw_joint_note_residents(j);
    TW_TRY(init_groups(j));
    if (!j->fault.set) TW_TRY(tw_joint_table(j));
    if (j->fault.set) return TW_OK;
    j->order = tw_joint_order_new(j);
    j->turns = tw_joint_turns_new(j);
    if (!j->order || !j->turns) return TW_ERR_NOMEM;
    return j->in.executes && !tw_joint_runner_new(j) ? TW_ERR_NOMEM : TW_OK;
}

tw_joint_judge *tw_joint_judge_new(const tw_joint_input *in, tw_arena *arena)
{
    tw_joint_judge *j = TW_NEW(arena, tw_joint_judge, 1);
    if (!j) return NULL;
    j->in = *in;
    j->arena = arena;
    return init(j) == TW_OK ? j : NULL;
}

/* ---- commands ---- */

static tw_status begin(void *user, const tw_rowset *row)
{
    tw_joint_judge *j = user;
    if (row->n_events < 1) tw_fault_set(&j->fault, "command %" PRId64 " is empty", row->tick);
    for (int i = 0; i < row->n_events && !j->fault.set; i++) TW_TRY(tw_joint_command(j, row, &row->event[i]));
    return TW_OK;
}

tw_row_sink tw_joint_judge_sink(tw_joint_judge *judge) { return (tw_row_sink){begin, NULL, judge}; }

/* ---- end ---- */

static void missing(tw_joint_judge *j, const tw_joint_group *g, const tw_joint_queue *q, const char *what,
                    int tensor)
{
    if (q->first)
        tw_fault_set(&j->fault,
                     "group '%s' ends before the %s of '%s' in step %" PRId64 ", %" PRId64 " came before it",
                     g->map->name, what, j->in.model->tensor[tensor].name, q->first->step, q->n_done);
}

static void check_complete(tw_joint_judge *j, const tw_joint_group *g)
{
    for (int i = 0; i < g->n_ops; i++)
        missing(j, g, &g->op[i].exec, "EXEC", g->op[i].op->operand[tw_op_output(g->op[i].op)].tensor);
    for (int h = 0; h < g->n_holds; h++) {
        missing(j, g, &g->hold[h].fill, "LOAD", g->hold[h].tensor);
        missing(j, g, &g->hold[h].store, "STORE", g->hold[h].tensor);
    }
}

/* What stayed and was given back by one who does not read it was so in the last step of its group. */
static void check_last_step(tw_joint_judge *j, const tw_joint_group *g, const tw_joint_hold *h)
{
    if (h->home && h->given_step >= 0 && h->given_step != g->step)
        tw_fault_set(&j->fault,
                     "group '%s': '%s' is given back in step %" PRId64
                     " by a command that does not read it, the last step is %" PRId64,
                     g->map->name, j->in.model->tensor[h->tensor].name, h->given_step, g->step);
}

static void check_credits(tw_joint_judge *j, const tw_joint_group *g)
{
    for (int h = 0; h < g->n_holds; h++) check_last_step(j, g, &g->hold[h]);
    for (int h = 0; h < g->n_holds; h++)
        for (int64_t s = 0; s < g->hold[h].slots; s++)
            if (g->hold[h].slot[s].run && !g->hold[h].home)
                tw_fault_set(&j->fault, "buffer %s of group '%s' is never given back",
                             tw_joint_buffer_name(j, g->hold[h].first + (int)(s * g->hold[h].lanes), -1).text,
                             g->map->name);
}

/* Buffers are as large as the largest that they hold, and no larger. */
static void check_sizes(tw_joint_judge *j, const tw_joint_group *g)
{
    for (int h = 0; h < g->n_holds; h++) {
        const tw_joint_hold *hold = &g->hold[h];
        if (hold->first >= 0 && !hold->slide.is && !hold->home && j->in.buffer[hold->first].size != hold->most)
            tw_fault_set(&j->fault,
                         "layout: buffer %s has %" PRId64 " units, the largest that it holds has %" PRId64,
                         tw_joint_buffer_name(j, hold->first, -1).text, j->in.buffer[hold->first].size, hold->most);
    }
}

tw_status tw_joint_judge_finish(tw_joint_judge *j, const char **fault, const char **who, int64_t *elements)
{
    *who = NULL;
    *elements = 0;
    for (int i = 0; i < j->in.n_groups && !j->fault.set; i++) {
        while (!j->group[i].done && j->group[i].n_pending == 0 && !j->fault.set)
            TW_TRY(tw_joint_advance(j, &j->group[i]));
        check_complete(j, &j->group[i]);
        check_credits(j, &j->group[i]);
        tw_joint_check_ahead(j, &j->group[i]);
        check_sizes(j, &j->group[i]);
    }
    for (int t = 0; t < j->in.model->n_tensors && !j->fault.set; t++)
        if (j->tensor[t].missing > 0)
            tw_fault_set(&j->fault,
                         "'%s' is needed outside of the group that makes it, and %" PRId64
                         " of its elements are never stored",
                         j->in.model->tensor[t].name, j->tensor[t].missing);
    if (!j->fault.set) TW_TRY(tw_joint_order_flush(j));
    tw_tally_compare(&j->tally, &j->fault);
    if (!j->fault.set && j->runner) TW_TRY(tw_joint_runner_finish(j, who, elements));
    *fault = j->fault.set ? j->fault.text : NULL;
    return TW_OK;
}
