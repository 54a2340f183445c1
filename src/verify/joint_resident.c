/* src/verify/joint_resident.c - tensors that stay in a memory from the group that makes them to the last one that reads them.
 *
 * Where it is made, the hold is the whole tensor in one buffer, filled part by part in one run that the group never ends. A group
 * that reads it has a hold of its own for it, which is never filled and shares slot and run:
 *
 *     makes a     acc --store--> sram (stays)      reads a     sram (its home is the other) --load--> l1
 *
 * Whichever group reads it last gives it back. */
#include "verify/joint_judge.h"
#include "verify/shape.h"

static bool is_made(const tw_joint_judge *j, const tw_group_map *map, int tensor)
{
    const tw_op *driver = &j->in.model->op[map->op[map->n_ops - 1].op];
    return driver->operand[tw_op_output(driver)].tensor == tensor;
}

/* The last group that runs an operator; without one (0: operators are counted from 1), the last of all. */
static int last_group(const tw_joint_judge *j, int op)
{
    int last = op > 0 ? -1 : j->in.n_groups - 1;
    for (int g = 0; g < j->in.n_groups && op > 0; g++)
        for (int i = 0; i < j->in.group[g].n_ops; i++)
            if (j->in.group[g].op[i].op + 1 == op) last = g;
    return last;
}

/* The first group that reads a tensor, -1: none does. */
static int first_reader(const tw_joint_judge *j, int tensor)
{
    for (int g = 0; g < j->in.n_groups; g++)
        for (int i = 0; i < j->in.group[g].n_ops; i++) {
            const tw_op *op = &j->in.model->op[j->in.group[g].op[i].op];
            for (int o = 0; o < tw_op_output(op); o++)
                if (tw_tensors_are_alike(j->in.model, op->operand[o].tensor, tensor)) return g;
        }
    return -1;
}

/* Whether an operator has a part of the tensor's bytes as something else. */
static bool is_seen_otherwise(const tw_joint_judge *j, int tensor)
{
    for (int i = 0; i < j->in.model->n_ops; i++)
        for (int o = 0; o < j->in.model->op[i].n_operands; o++) {
            int seen = j->in.model->op[i].operand[o].tensor;
            if (!tw_tensors_are_alike(j->in.model, seen, tensor) && tw_tensors_share(j->in.model, seen, tensor))
                return true;
        }
    return false;
}

/* Whether a group has the tensor in two shapes: then it would be done with it twice. */
static bool is_seen_twice(const tw_joint_judge *j, int tensor)
{
    for (int g = 0; g < j->in.n_groups; g++) {
        int seen = -1;
        for (int i = 0; i < j->in.group[g].n_ops; i++) {
            const tw_op *op = &j->in.model->op[j->in.group[g].op[i].op];
            for (int o = 0; o < op->n_operands; o++) {
                if (!tw_tensors_are_alike(j->in.model, op->operand[o].tensor, tensor)) continue;
                if (seen >= 0 && seen != op->operand[o].tensor) return true;
                seen = op->operand[o].tensor;
            }
        }
    }
    return false;
}

/* The same is known of the tensor in all its shapes. */
static void note_shapes(tw_joint_judge *j, int tensor)
{
    const tw_joint_tensor *is = &j->tensor[tensor];
    for (int t = 0; t < j->in.model->n_tensors; t++) {
        if (t == tensor || !tw_tensors_are_alike(j->in.model, t, tensor)) continue;
        j->tensor[t].loader = is->loader;
        j->tensor[t].home = is->home;
        j->tensor[t].leaves = is->leaves;
        j->tensor[t].absent = is->absent;
    }
}

void tw_joint_note_residents(tw_joint_judge *j)
{
    for (int t = 0; t < j->in.model->n_tensors; t++) j->tensor[t].loader = -1;
    for (int i = 0; i < j->in.n_residents && !j->fault.set; i++) {
        const tw_group_resident *r = &j->in.resident[i];
        int makers = 0;
        if (r->tensor < 0 || r->tensor >= j->in.model->n_tensors || r->memory < 1 ||
            r->memory >= j->in.platform->n_memories || j->in.platform->memory[r->memory].is.per) {
            tw_fault_set(&j->fault, "resident %d has no tensor, or no memory that can hold it", i);
            return;
        }
        for (int g = 0; g < j->in.n_groups; g++)
            if (j->in.group[g].n_ops > 0 && is_made(j, &j->in.group[g], r->tensor))
                makers += j->in.group[g].n_parts > 0 ? 2 : 1;
        j->tensor[r->tensor].loader =
            makers == 0 && j->tensor[r->tensor].maker < 0 ? first_reader(j, r->tensor) : -1;
        if (makers != 1 && j->tensor[r->tensor].loader < 0)
            tw_fault_set(&j->fault, "'%s' stays, and is not made by one group",
                         j->in.model->tensor[r->tensor].name);
        if (is_seen_otherwise(j, r->tensor))
            tw_fault_set(&j->fault, "'%s' stays, and somebody sees a part of it as another tensor",
                         j->in.model->tensor[r->tensor].name);
        if (is_seen_twice(j, r->tensor))
            tw_fault_set(&j->fault, "'%s' stays, and a group sees it in two shapes",
                         j->in.model->tensor[r->tensor].name);
        j->tensor[r->tensor].home = r->memory;
        j->tensor[r->tensor].leaves = last_group(j, r->until);
        j->tensor[r->tensor].absent = makers == 1 && !j->in.model->tensor[r->tensor].is_output && r->until == 0;
        note_shapes(j, r->tensor);
    }
}

/* The only run of what stays: all of the tensor. */
static tw_status open_run(tw_joint_judge *j, tw_joint_hold *h)
{
    tw_joint_run *run;
    TW_ALLOC(j->arena, run, 1);
    TW_ALLOC(j->arena, run->lane, h->lanes);
    run->refs = 1;
    run->last_step = run->given_step = -1;
    run->slot = TW_JOINT_FRESH;
    run->region = tw_verify_whole(&j->tensor[h->tensor].shape);
    run->lane[0] = (tw_joint_part){true, run->region};
    h->now = h->next = run->lane[0];
    h->current = run;
    return TW_OK;
}

tw_status tw_joint_hold_resident(tw_joint_judge *j, tw_joint_group *g, int h)
{
    int home = j->tensor[g->hold[h].tensor].home;
    for (int i = h; home > 0; i = g->hold[i].parent) {
        g->hold[i].depth = 0;
        if (g->hold[i].memory == home) {
            g->hold[i].resident = true;
            g->hold[i].slots = 1;
            return open_run(j, &g->hold[i]);
        }
        if (g->hold[i].made) break;
    }
    if (home > 0)
        tw_fault_set(&j->fault, "group '%s': '%s' does not pass '%s', where it should stay", g->map->name,
                     j->in.model->tensor[g->hold[h].tensor].name, j->in.platform->memory[home].name);
    return TW_OK;
}

tw_status tw_joint_load(tw_joint_judge *j, tw_joint_group *g, int tensor)
{
    for (int h = 0; h < g->n_holds; h++) {
        tw_joint_hold *hold = &g->hold[h];
        if (hold->tensor != tensor || hold->parent >= 0 || hold->resident) continue;
        if (hold->memory != j->tensor[tensor].home) {
            tw_fault_set(&j->fault, "group '%s': '%s' comes to '%s' first, and should stay elsewhere", g->map->name,
                         j->in.model->tensor[tensor].name, j->in.platform->memory[hold->memory].name);
            return TW_OK;
        }
        hold->resident = true;
        hold->depth = 0;
        hold->slots = 1;
        return open_run(j, hold);
    }
    return TW_OK;
}

static tw_joint_hold *find_home(const tw_joint_judge *j, const tw_joint_group *before, int tensor)
{
    for (int g = 0; g < before->number; g++)
        for (int h = 0; h < j->group[g].n_holds; h++)
            if (j->group[g].hold[h].resident &&
                tw_tensors_are_alike(j->in.model, j->group[g].hold[h].tensor, tensor))
                return &j->group[g].hold[h];
    return NULL;
}

int tw_joint_join(tw_joint_judge *j, tw_joint_group *g, int tensor)
{
    for (int h = 0; h < g->n_holds; h++)
        if (g->hold[h].home && g->hold[h].tensor == tensor) return h;
    tw_joint_hold *home = find_home(j, g, tensor);
    if (!home) {
        tw_fault_set(&j->fault, "group '%s': no group before it makes '%s', which should stay", g->map->name,
                     j->in.model->tensor[tensor].name);
        return -1;
    }
    int h = tw_joint_add_hold(j, g, tensor, home->memory);
    g->hold[h].home = home;
    g->hold[h].depth = 0;
    g->hold[h].slots = 1;
    g->hold[h].current = home->current;
    g->hold[h].reader = (tw_joint_reader){-1, -1, false};
    g->hold[h].given_step = -1;
    home->last_rank = g->rank;
    return h;
}

tw_joint_hold *tw_joint_guest(const tw_joint_judge *j, const tw_joint_group *g, int buffer)
{
    const tw_buffer *b = &j->in.buffer[buffer];
    for (int h = 0; h < g->n_holds; h++)
        if (g->hold[h].home == &j->group[b->group].hold[j->hold_of[buffer]]) return &g->hold[h];
    return NULL;
}

int tw_joint_owner(const tw_joint_at *s, int index)
{
    int buffer = s->at.instr->src[index];
    if (buffer < 0 || buffer >= s->j->in.n_buffers) return -1;
    int group = s->j->in.buffer[buffer].group;
    return group == s->group->number ? -1 : group;
}
