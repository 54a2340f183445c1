/* src/fuse/order.c - operators in an order that follows chains: of those whose inputs are there, the one comes next that reads what was made last; of
 * equals the first. */
#include "fuse/order.h"

#include "fuse/segment.h"

#include <string.h>

/* When a tensor was made: 1, 2, ..; 0: it is an input, or not made so far. */
typedef struct follower {
    const tw_model *model;
    int *made;
    bool *is_made, *done; /* per tensor: an operator makes it; per operator */
} follower;

/* When the last of what the operator reads was made; -1: something is missing. */
static int ready_at(const follower *f, int i)
{
    int last = 0;
    for (int r = 0; r < tw_op_n_reads(&f->model->op[i]); r++) {
        int tensor = tw_op_read(&f->model->op[i], r);
        if (tensor < 0) continue;
        if (f->is_made[tensor] && f->made[tensor] == 0) return -1;
        last = f->made[tensor] > last ? f->made[tensor] : last;
    }
    return last;
}

static int next_of(const follower *f)
{
    int best = -1, at = -1;
    for (int i = 0; i < f->model->n_ops; i++) {
        int ready = f->done[i] ? -1 : ready_at(f, i);
        if (ready > at) best = i, at = ready;
    }
    return best;
}

tw_status tw_order_follow(const tw_model *model, tw_arena *arena, tw_model *out, int **order, bool *same)
{
    follower f = {.model = model};
    tw_op *op;
    TW_ALLOC(arena, f.made, model->n_tensors + 1);
    TW_ALLOC(arena, f.is_made, model->n_tensors + 1);
    TW_ALLOC(arena, f.done, model->n_ops + 1);
    TW_ALLOC(arena, op, model->n_ops + 1);
    TW_ALLOC(arena, *order, model->n_ops + 1);
    for (int i = 0; i < model->n_ops; i++) f.is_made[tw_op_makes(&model->op[i])] = true;
    *same = true;
    for (int n = 0; n < model->n_ops; n++) {
        int i = next_of(&f);
        assert(i >= 0); /* a model has no cycles */
        f.done[i] = true;
        f.made[tw_op_makes(&model->op[i])] = n + 1;
        op[n] = model->op[i];
        (*order)[n] = i;
        *same &= i == n;
    }
    *out = *model;
    out->op = op;
    return TW_OK;
}

tw_status tw_order_restore(const int *order, tw_arena *arena, tw_mapping *mapping)
{
    tw_group_map *group;
    TW_ALLOC(arena, group, mapping->n_groups);
    memcpy(group, mapping->group, (size_t)mapping->n_groups * sizeof *group);
    for (int g = 0; g < mapping->n_groups; g++) {
        tw_group_op *op;
        TW_ALLOC(arena, op, group[g].n_ops);
        memcpy(op, group[g].op, (size_t)group[g].n_ops * sizeof *op);
        for (int i = 0; i < group[g].n_ops; i++) op[i].op = order[op[i].op];
        group[g].op = op;
    }
    mapping->group = group;
    if (mapping->n_residents == 0) return TW_OK;
    tw_group_resident *resident;
    TW_ALLOC(arena, resident, mapping->n_residents);
    memcpy(resident, mapping->resident, (size_t)mapping->n_residents * sizeof *resident);
    for (int i = 0; i < mapping->n_residents; i++)
        if (resident[i].until > 0) resident[i].until = order[resident[i].until - 1] + 1;
    mapping->resident = resident;
    return TW_OK;
}
