/* src/fuse/stages.c - cuts groups into stages and places these on cores: see stages.h. */
#include "fuse/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- where to cut ---- */

/* Cycles of an operator at the peak of its engine, more or less. */
static double work_of(const tw_model *model, const tw_platform *platform, const tw_group_op *at)
{
    const tw_op *op = &model->op[at->op];
    const tw_machine *machine = &platform->view[at->view].machine;
    const tw_cost *cost = machine->has_apart >> op->compute & 1 ? &machine->apart[op->compute]
                                                                : &machine->engine[machine->compute].cost;
    double work = 1;
    for (int l = 0; l < op->n_loops; l++) work *= (double)op->loop[l].extent;
    for (int d = 0; d < tw_cost_dims(cost); d++) work /= (double)cost->array.size[d];
    return work;
}

void tw_stages_cut(const tw_model *model, const tw_platform *platform, const tw_group_map *group, int k,
                   int first[TW_MAX_GROUP_OPS])
{
    double sum[TW_MAX_GROUP_OPS + 1] = {0}, least[TW_MAX_GROUP_OPS + 1][TW_MAX_GROUP_OPS + 1];
    int from[TW_MAX_GROUP_OPS + 1][TW_MAX_GROUP_OPS + 1] = {{0}}, n = group->n_ops;
    for (int i = 0; i < n; i++) sum[i + 1] = sum[i] + work_of(model, platform, &group->op[i]);
    for (int end = 1; end <= n; end++) least[end][1] = sum[end];
    for (int s = 2; s <= k; s++)
        for (int end = s; end <= n; end++) {
            least[end][s] = INFINITY;
            for (int m = s - 1; m < end; m++) {
                double worst = fmax(least[m][s - 1], sum[end] - sum[m]);
                if (worst < least[end][s]) least[end][s] = worst, from[end][s] = m;
            }
        }
    for (int s = k, end = n; s > 0; s--) end = first[s - 1] = s > 1 ? from[end][s] : 0;
}

/* ---- on cores ---- */

typedef struct placer {
    const tw_model *model;
    const tw_core_machine *core;
    const tw_group_map *group;
    const int *first, *of;
    int k;
    tw_group_level *level;
    tw_hold *hold;
    tw_group_map *out;
} placer;

static int stage_of(const placer *p, int op)
{
    int s = p->k - 1;
    while (p->first[s] > op) s--;
    return s;
}

/* The place of a number in a list that has it, or -1. */
static int place_in(const int *list, int n, int x)
{
    for (int i = 0; i < n; i++)
        if (list[i] == x) return i;
    return -1;
}

/* A memory of the first stage's core as that of another stage; one that is shared stays as it is. */
static int memory_in(const placer *p, int memory, int stage)
{
    const tw_core_machine *own = &p->core[p->of[0]], *other = &p->core[p->of[stage]];
    int at = place_in(own->memory, own->machine.platform->n_memories, memory);
    return at < 0 ? memory : other->memory[at];
}

/* Whether an operator of the stage makes the tensor, or reads it; *comes: it comes from a stage before. */
static bool uses(const placer *p, int stage, int tensor, bool *comes)
{
    bool used = false, made_before = false;
    for (int i = 0; i < p->group->n_ops; i++) {
        const tw_op *op = &p->model->op[p->group->op[i].op];
        for (int o = 0; o < op->n_operands; o++) {
            if (op->operand[o].tensor != tensor) continue;
            used |= stage_of(p, i) == stage;
            made_before |= o == tw_op_output(op) && stage_of(p, i) < stage;
        }
    }
    *comes = used && made_before;
    return used;
}

static int by_memory(const void *x, const void *y)
{
    const tw_group_level *a = x, *b = y;
    return a->memory - b->memory;
}

static bool place_levels(const placer *p)
{
    for (int s = 0; s < p->k; s++)
        for (int l = 0; l < p->group->n_levels; l++) {
            tw_group_level level = p->group->level[l];
            bool known = false;
            level.memory = memory_in(p, level.memory, s);
            for (int i = 0; i < p->out->n_levels; i++) known |= p->level[i].memory == level.memory;
            if (known) continue;
            if (p->out->n_levels == TW_MAX_GROUP_LEVELS) return false;
            p->level[p->out->n_levels++] = level;
        }
    qsort(p->level, (size_t)p->out->n_levels, sizeof *p->level, by_memory);
    return true;
}

static void add_hold(const placer *p, tw_hold hold)
{
    for (int i = 0; i < p->out->n_holds; i++) {
        tw_hold *old = &p->hold[i];
        if (old->tensor != hold.tensor || old->memory != hold.memory) continue;
        old->slots = tw_max(old->slots, hold.slots);
        return;
    }
    p->hold[p->out->n_holds++] = hold;
}

/* Holds of each stage are those of the tensors that it uses; what comes from another stage has two buffers. */
static void place_holds(const placer *p)
{
    for (int s = 0; s < p->k; s++)
        for (int h = 0; h < p->group->n_holds; h++) {
            tw_hold hold = p->group->hold[h];
            bool comes;
            if (!uses(p, s, hold.tensor, &comes)) continue;
            hold.memory = memory_in(p, hold.memory, s);
            if (comes) hold.slots = tw_max(2, hold.slots);
            add_hold(p, hold);
        }
    for (int s = 1; s < p->k; s++)
        for (int i = 0; i < p->group->n_ops; i++) {
            const tw_op *op = &p->model->op[p->group->op[i].op];
            bool comes;
            int tensor = op->operand[tw_op_output(op)].tensor, n = p->group->n_levels;
            if (n == 0 || !uses(p, s, tensor, &comes) || !comes) continue;
            int memory = memory_in(p, p->group->level[n - 1].memory, s);
            add_hold(p, (tw_hold){.tensor = tensor, .memory = memory, .depth = -1, .slots = 2});
        }
}

tw_status tw_stages_place(const tw_model *model, const tw_core_machine *core, const tw_group_map *group,
                          const int *first, const int *of, int k, tw_arena *arena, tw_group_map *out)
{
    const tw_core_machine *own = &core[of[0]];
    placer p = {.model = model, .core = core, .group = group, .first = first, .of = of, .k = k, .out = out};
    tw_group_op *op;
    TW_ALLOC(arena, op, group->n_ops);
    TW_ALLOC(arena, p.level, TW_MAX_GROUP_LEVELS);
    TW_ALLOC(arena, p.hold, k * (group->n_holds + group->n_ops) + 1);
    *out = *group;
    out->n_levels = out->n_holds = 0;
    for (int i = 0; i < group->n_ops; i++) {
        op[i] = group->op[i];
        int at = place_in(own->view, own->machine.platform->n_views, op[i].view);
        if (at >= 0) op[i].view = core[of[stage_of(&p, i)]].view[at];
    }
    if (!place_levels(&p)) return TW_INFEASIBLE;
    place_holds(&p);
    out->op = op;
    out->level = p.level;
    out->hold = p.hold;
    return TW_OK;
}
