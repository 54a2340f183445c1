/* src/fuse/stages.c - cuts groups into stages and places these on cores: see stages.h. */
#include "fuse/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- where to cut ---- */

bool tw_stages_can_pass(const tw_platform *p)
{
    int core[TW_MAX_PLATFORM_MEMORIES];
    for (int e = 0; e < p->n_engines; e++)
        if (tw_platform_is_link(p, e)) return true;
    for (int m = 0; m < p->n_memories; m++) core[m] = -2;
    for (int v = 0; v < p->n_views; v++) {
        int own = p->engine[p->view[v].engine].core;
        for (int i = 1; i < p->view[v].machine.n_memories; i++) {
            int *known = &core[p->view[v].memory[i]];
            if (*known >= -1 && *known != own) return true;
            *known = own;
        }
    }
    return false;
}

int tw_stages_cores(const tw_platform *platform, const tw_core_machine *core, int first, int of[TW_STAGES_CORES])
{
    int n = platform->n_cores, k = 0;
    for (int i = 0; i < n && k < TW_STAGES_CORES; i++)
        if (core[(first + i) % n].kind == core[first].kind) of[k++] = (first + i) % n;
    return k;
}

static double work_of(const tw_op *op, const tw_machine *machine)
{
    const tw_cost *cost = machine->has_apart >> op->compute & 1 ? &machine->apart[op->compute]
                                                                : &machine->engine[machine->compute].cost;
    double work = 1;
    for (int l = 0; l < op->n_loops; l++) work *= (double)op->loop[l].extent;
    for (int d = 0; d < tw_cost_dims(cost); d++) work /= (double)cost->array.size[d];
    return work;
}

bool tw_stages_work(const tw_segment *segment, const tw_core_machine *core, double work[TW_MAX_GROUP_OPS])
{
    const tw_platform *own = core->machine.platform;
    for (int i = 0; i < segment->n; i++) {
        const tw_op *op = tw_segment_op(segment, i);
        int view = tw_platform_find_computing(own, op);
        if (view < 0) return false;
        work[i] = work_of(op, &own->view[view].machine);
    }
    return true;
}

/* The first so many operators in stages over some cores. */
typedef struct prefix {
    double least; /* work of the slowest stage */
    int from;     /* where the last stage begins */
    int n_cores;  /* and what it has            */
} prefix;

static void find_prefix(const double *sum, int end, int s, int c, int most,
                        prefix at[TW_MAX_GROUP_OPS + 1][TW_STAGES_CORES + 1][TW_STAGES_CORES + 1])
{
    prefix *out = &at[end][s][c];
    out->least = INFINITY;
    for (int m = s - 1; m < end; m++)
        for (int j = s == 1 ? c : 1; j <= tw_min(most, c - (s - 1)) && (s > 1 || m == 0); j++) {
            double worst = (sum[end] - sum[m]) / j;
            if (s > 1) worst = fmax(at[m][s - 1][c - j].least, worst);
            if (worst < out->least) *out = (prefix){worst, m, j};
        }
}

void tw_stages_cut(const double *work, int n_ops, int k, int n_cores, int most_last, tw_stages *out)
{
    prefix at[TW_MAX_GROUP_OPS + 1][TW_STAGES_CORES + 1][TW_STAGES_CORES + 1];
    double sum[TW_MAX_GROUP_OPS + 1] = {0};
    for (int i = 0; i < n_ops; i++) sum[i + 1] = sum[i] + work[i];
    for (int s = 1; s <= k; s++)
        for (int end = s; end <= n_ops; end++)
            for (int c = s; c <= n_cores - (k - s); c++)
                find_prefix(sum, end, s, c, s == k ? most_last : n_cores, at);
    *out = (tw_stages){.k = k};
    for (int s = k, end = n_ops, c = n_cores; s > 0; s--) {
        const prefix *p = &at[end][s][c];
        out->first[s - 1] = p->from;
        out->n_cores[s - 1] = p->n_cores;
        end = p->from;
        c -= p->n_cores;
    }
}

/* ---- which cores ---- */

/* Links from core to core, at least; 0: none lead there, or memories that both reach. */
static void count_links(const tw_platform *p, int from, int to_n, const int *to, int *out)
{
    int distance[TW_MAX_CORES] = {0}, queue[TW_MAX_CORES], n = 0;
    distance[from] = 1;
    queue[n++] = from;
    for (int i = 0; i < n; i++)
        for (int e = 0; e < p->n_engines; e++) {
            const tw_engine *is = &p->engine[e].is;
            if (!tw_platform_is_link(p, e) || p->memory[is->outer].core != queue[i]) continue;
            int next = p->memory[is->memory].core;
            if (distance[next] > 0) continue;
            distance[next] = distance[queue[i]] + 1;
            queue[n++] = next;
        }
    for (int i = 0; i < to_n; i++) out[i] = distance[to[i]] - (distance[to[i]] > 0);
}

/* Links on the ways of all pairs. */
static int cost_of(int n_pairs, const int (*pair)[2], const int (*links)[TW_STAGES_CORES], const int *at)
{
    int sum = 0;
    for (int i = 0; i < n_pairs; i++) sum += links[at[pair[i][0]]][at[pair[i][1]]];
    return sum;
}

static void swap(int *a, int *b)
{
    int was = *a;
    *a = *b;
    *b = was;
}

void tw_stages_settle(const tw_platform *platform, int n_pairs, const int (*pair)[2], int n, int *of)
{
    int links[TW_STAGES_CORES][TW_STAGES_CORES], at[TW_STAGES_CORES], was[TW_STAGES_CORES];
    for (int i = 0; i < n; i++) at[i] = i, was[i] = of[i];
    for (int i = 0; i < n; i++) count_links(platform, of[i], n, of, links[i]);
    for (bool better = true; better;) {
        better = false;
        for (int i = 0; i < n; i++)
            for (int k = i + 1; k < n; k++) {
                int before = cost_of(n_pairs, pair, links, at);
                swap(&at[i], &at[k]);
                bool helps = cost_of(n_pairs, pair, links, at) < before;
                if (!helps) swap(&at[i], &at[k]);
                better |= helps;
            }
    }
    for (int i = 0; i < n; i++) of[i] = was[at[i]];
}

/* ---- on cores ---- */

typedef struct placer {
    const tw_model *model;
    const tw_core_machine *core;
    const tw_group_map *group;
    const int *stage, *of;
    int k;
    tw_group_level *level;
    tw_hold *hold;
    tw_group_map *out;
} placer;

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

/* Whether an operator of the stage makes the tensor, or reads it; *comes: it comes from another one. */
static bool uses(const placer *p, int stage, int tensor, bool *comes)
{
    bool used = false, made_elsewhere = false;
    for (int i = 0; i < p->group->n_ops; i++) {
        const tw_op *op = &p->model->op[p->group->op[i].op];
        for (int o = 0; o < op->n_operands; o++) {
            if (op->operand[o].tensor != tensor) continue;
            used |= p->stage[i] == stage;
            made_elsewhere |= o == tw_op_output(op) && p->stage[i] != stage;
        }
    }
    *comes = used && made_elsewhere;
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
    for (int s = 0; s < p->k; s++)
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
                          const int *stage, const int *of, int k, tw_arena *arena, tw_group_map *out)
{
    const tw_core_machine *own = &core[of[0]];
    placer p = {.model = model, .core = core, .group = group, .stage = stage, .of = of, .k = k, .out = out};
    tw_group_op *op;
    TW_ALLOC(arena, op, group->n_ops);
    TW_ALLOC(arena, p.level, TW_MAX_GROUP_LEVELS);
    TW_ALLOC(arena, p.hold, k * (group->n_holds + group->n_ops) + 1);
    *out = *group;
    out->n_levels = out->n_holds = 0;
    for (int i = 0; i < group->n_ops; i++) {
        op[i] = group->op[i];
        int at = place_in(own->view, own->machine.platform->n_views, op[i].view);
        if (at >= 0) op[i].view = core[of[stage[i]]].view[at];
    }
    if (!place_levels(&p)) return TW_INFEASIBLE;
    place_holds(&p);
    out->op = op;
    out->level = p.level;
    out->hold = p.hold;
    return TW_OK;
}
