/* src/verify/joint_holds.c - which holds a group has, from its mapping alone: where each operand comes from, and where what is made goes.
 *
 * Holds of a tensor form a tree. Of an input its root is the tensor in memory 0, and every reader has a way down from there;
 * of what is made inside, the root is where the maker writes:
 *
 *     dram --> l2 --> big.l1             made in big.acc --> l2 (outward) --> little.l1 (inward)
 *               +---> little.l1
 *
 * What is made inside stays equally long wherever it is, and what an operator reads stays as long as what it makes of it. */
#include "verify/joint_judge.h"
#include "verify/shape.h"

#include <string.h>

/* ---- paths ---- */

typedef struct path {
    int n;
    int memory[TW_MAX_MEMORIES]; /* of the platform, outermost first */
} path;

static path path_of(const tw_joint_judge *j, const tw_joint_op *o, int operand)
{
    path p = {1, {o->view->memory[0]}};
    for (int m = 1; m < o->view->machine.n_memories; m++) {
        int memory = o->view->memory[m];
        if (tw_verify_memory_holds(&j->in.platform->memory[memory].is, o->op, operand)) p.memory[p.n++] = memory;
    }
    return p;
}

static int place_on(const path *p, int memory)
{
    for (int i = 0; i < p->n; i++)
        if (p->memory[i] == memory) return i;
    return -1;
}

/* ---- holds ---- */

static int depth_of(const tw_group_map *map, int tensor, int memory)
{
    int depth = -1;
    for (int i = 0; i < map->n_holds; i++)
        if (map->hold[i].tensor == tensor && map->hold[i].memory == memory) depth = map->hold[i].depth;
    for (int i = 0; i < map->n_levels && depth < 0; i++)
        if (map->level[i].memory == memory) depth = map->level[i].depth;
    for (int i = 0; i < map->n_levels && depth < 0; i++)
        if (map->level[i].memory > memory) depth = map->level[i].depth;
    return depth < 0 || depth > map->n_cuts ? map->n_cuts : depth;
}

static int64_t slots_of(const tw_group_map *map, int tensor, int memory)
{
    for (int i = 0; i < map->n_holds; i++)
        if (map->hold[i].tensor == tensor && map->hold[i].memory == memory && map->hold[i].slots > 0)
            return map->hold[i].slots;
    return 1;
}

/* 1 + the loop along which the tensor slides in the memory, 0: along none. */
static int slide_of(const tw_group_map *map, int tensor, int memory)
{
    for (int i = 0; i < map->n_holds; i++)
        if (map->hold[i].tensor == tensor && map->hold[i].memory == memory) return map->hold[i].slide;
    return 0;
}

int tw_joint_add_hold(const tw_joint_judge *j, tw_joint_group *g, int tensor, int memory)
{
    const tw_platform_memory *m = &j->in.platform->memory[memory];
    g->hold[g->n_holds] = (tw_joint_hold){.group = g->number,
                                          .tensor = tensor,
                                          .memory = memory,
                                          .depth = depth_of(g->map, tensor, memory),
                                          .slots = slots_of(g->map, tensor, memory),
                                          .lanes = m->is.per ? tw_max(1, m->lanes) : 1,
                                          .per = m->is.per,
                                          .parent = -1,
                                          .outer = -2,
                                          .maker = -1,
                                          .last_rank = g->rank,
                                          .divided_by = -1,
                                          .first = -1};
    int slide = slide_of(g->map, tensor, memory);
    g->hold[g->n_holds].slide = (struct tw_joint_slide){.is = slide > 0, .loop = slide - 1, .axis = -1, .last = -1};
    g->slides |= slide > 0;
    return g->n_holds++;
}

/* The hold of the tensor in a memory that is filled from `parent`. */
static int find_inward(const tw_joint_judge *j, tw_joint_group *g, int tensor, int memory, int parent)
{
    for (int h = 0; h < g->n_holds; h++) {
        const tw_joint_hold *old = &g->hold[h];
        bool inward = !old->made && !old->outward && !old->home;
        if (inward && old->tensor == tensor && old->memory == memory && old->parent == parent) return h;
    }
    int h = tw_joint_add_hold(j, g, tensor, memory);
    g->hold[h].parent = parent;
    g->hold[h].maker = parent >= 0 ? g->hold[parent].maker : -1;
    return h;
}

/* The hold outside of one that was made, in this memory. */
static int find_outward(const tw_joint_judge *j, tw_joint_group *g, int from, int memory)
{
    if (g->hold[from].outer >= 0) return g->hold[from].outer;
    int h = tw_joint_add_hold(j, g, g->hold[from].tensor, memory);
    g->hold[h].parent = from;
    g->hold[h].maker = g->hold[from].maker;
    g->hold[h].outward = true;
    g->hold[from].outer = h;
    return h;
}

int tw_joint_maker_in(const tw_joint_group *g, int tensor)
{
    for (int i = 0; i < g->n_ops; i++)
        if (g->op[i].op->operand[tw_op_output(g->op[i].op)].tensor == tensor) return i;
    return -1;
}

/* ---- over links ---- */

/* Whether the engine is a link, between memories of different cores, that carries the operand. */
static bool is_link_for(const tw_joint_judge *j, int engine, const tw_op *op, int operand)
{
    const tw_platform *p = j->in.platform;
    const tw_engine *e = &p->engine[engine].is;
    if (e->kind != TW_MOVES || !(e->carries & TW_INWARDS)) return false;
    int a = p->memory[e->outer].core, b = p->memory[e->memory].core;
    return a >= 0 && b >= 0 && a != b &&
           (tw_verify_is_named(e->named, op, operand) || (e->roles & tw_verify_role(op, operand)) ||
            (!e->roles && !e->named));
}

int tw_joint_link(const tw_joint_judge *j, int from, int to, const tw_op *op, int operand)
{
    for (int e = 0; e < j->in.platform->n_engines; e++)
        if (is_link_for(j, e, op, operand) && j->in.platform->engine[e].is.outer == from &&
            j->in.platform->engine[e].is.memory == to)
            return e;
    return -1;
}

typedef struct
    reached { /* a memory, by a link from another one that was reached before; -1: it is where routes begin */
    int memory, before;
} reached;

/* Adds what one more link reaches from `at`, or (-1) from all memories of a path but its first, in the order of the links; where a route ends
 * it is not told apart. Returns how many there are then. */
static int reach(const tw_joint_judge *j, const path *from, int at, const tw_op *op, int operand, reached *list,
                 int n)
{
    const tw_platform *p = j->in.platform;
    for (int e = 0; e < p->n_engines; e++) {
        const tw_engine *is = &p->engine[e].is;
        if (!is_link_for(j, e, op, operand)) continue;
        if (at >= 0 ? is->outer != list[at].memory : place_on(from, is->outer) < 1) continue;
        bool known = place_on(from, is->memory) > 0;
        for (int i = 0; i < n; i++) known |= list[i].memory == is->memory;
        if (!known) list[n++] = (reached){is->memory, at};
    }
    return n;
}

/* The memories that a route passes from one of `from` to one of `to` (memory 0, the first of each, left out), the last of which is the one where it ends: as few as can be, and
 * where several links are as good the first one, hop by hop. Memories are reached in the order of such routes. Returns how many, 0: there is no route; -1: there
 * is no room. */
static int find_route(tw_joint_judge *j, const path *from, const path *to, const tw_op *op, int operand, int **out)
{
    const tw_platform *p = j->in.platform;
    reached *list = TW_NEW(j->arena, reached, p->n_memories + 1);
    int length = 0, n, end;
    *out = TW_NEW(j->arena, int, p->n_memories + 1);
    if (!list || !*out) return -1;
    n = reach(j, from, -1, op, operand, list, 0);
    for (end = 0; end < n && place_on(to, list[end].memory) < 1; end++)
        if (p->memory[list[end].memory].lanes <= 1) n = reach(j, from, end, op, operand, list, n);
    if (end == n) return 0;
    for (int i = end; i >= 0; i = list[i].before) length++;
    for (int i = end, k = length - 1; i >= 0; i = list[i].before) (*out)[k--] = list[i].memory;
    return length;
}

/* What comes over a route is held in each memory on the way as it is where the route ends; the hold before that one. */
static int pass(const tw_joint_judge *j, tw_joint_group *g, int tensor, const int *route, int n, int hold)
{
    int end = route[n - 1];
    for (int i = 0; i + 1 < n; i++) {
        int n_before = g->n_holds;
        hold = find_inward(j, g, tensor, route[i], hold);
        if (hold < n_before) continue;
        g->hold[hold].depth = depth_of(g->map, tensor, end);
        g->hold[hold].slots = slots_of(g->map, tensor, end);
        g->hold[hold].slide.is = false;
    }
    return hold;
}

/* Over links: the maker's output goes outwards to where the first one begins; the place before the one on the reader's path where the last one ends, -1: there is no
 * route. */
static int cross(tw_joint_judge *j, tw_joint_group *g, int maker, const path *to, const tw_op *reader, int operand,
                 int *hold)
{
    int output = tw_op_output(g->op[maker].op), *route;
    path from = path_of(j, &g->op[maker], output);
    int n = find_route(j, &from, to, reader, operand, &route), begin = from.n - 1, first = -1;
    j->no_memory |= n < 0;
    if (n <= 0) return -1;
    for (int i = 1; i < from.n; i++) { /* where the first link begins: of several memories that of the first link */
        int link = tw_joint_link(j, from.memory[i], route[0], reader, operand);
        if (link >= 0 && (first < 0 || link < first)) first = link, begin = i;
    }
    *hold = g->op[maker].hold[output];
    for (int i = from.n - 1; i > begin; i--) *hold = find_outward(j, g, *hold, from.memory[i - 1]);
    *hold = pass(j, g, g->hold[*hold].tensor, route, n, *hold);
    return place_on(to, route[n - 1]) - 1;
}

/* From where it is made to the first memory on the reader's path; that memory's place there, 0: there is none. */
static int meet(const tw_joint_judge *j, tw_joint_group *g, int maker, const path *to, int *hold)
{
    int output = tw_op_output(g->op[maker].op);
    path from = path_of(j, &g->op[maker], output);
    bool meets = false;
    for (int i = 1; i < from.n; i++) meets |= place_on(to, from.memory[i]) > 0;
    if (!meets) return 0;
    *hold = g->op[maker].hold[output];
    for (int i = from.n - 1; i > 0; i--) {
        int on = place_on(to, from.memory[i]);
        if (on > 0) return on;
        if (i > 1) *hold = find_outward(j, g, *hold, from.memory[i - 1]);
    }
    return 0;
}

static bool check_path(tw_joint_judge *j, const tw_joint_group *g, const tw_joint_op *o, const path *p, int operand)
{
    if (p->n > 1) return true;
    tw_fault_set(&j->fault, "group '%s': no memory of '%s' holds '%s' of '%s'", g->map->name, o->engine.name,
                 o->op->operand[operand].name, o->op->name);
    return false;
}

bool tw_joint_add_input(tw_joint_judge *j, tw_joint_group *g, int number, int operand)
{
    tw_joint_op *o = &g->op[number];
    int tensor = o->op->operand[operand].tensor, maker = tw_joint_maker_in(g, tensor), hold = -1, from = 0;
    path p = path_of(j, o, operand);
    if (!check_path(j, g, o, &p, operand)) return false;
    if (maker >= number) {
        tw_fault_set(&j->fault, "group '%s': '%s' reads '%s' before it is made", g->map->name, o->op->name,
                     j->in.model->tensor[tensor].name);
        return false;
    }
    if (maker >= 0 && (from = meet(j, g, maker, &p, &hold)) == 0 &&
        (from = cross(j, g, maker, &p, o->op, operand, &hold)) < 0) {
        tw_fault_set(&j->fault, "group '%s': '%s' and '%s' share no memory for '%s'", g->map->name,
                     g->op[maker].op->name, o->op->name, j->in.model->tensor[tensor].name);
        return false;
    }
    bool loads = j->tensor[tensor].loader == g->number;
    if (maker < 0 && j->tensor[tensor].home > 0 && g->number <= j->tensor[tensor].leaves && !loads) {
        hold = tw_joint_join(j, g, tensor);
        from = place_on(&p, j->tensor[tensor].home);
        const path home = {2, {0, j->tensor[tensor].home}};
        int *route, n = from < 1 && hold >= 0 ? find_route(j, &home, &p, o->op, operand, &route) : 0;
        j->no_memory |= n < 0;
        if (n > 0) from = place_on(&p, route[n - 1]) - 1;
        if (n > 0) hold = pass(j, g, tensor, route, n, hold);
        if (hold >= 0 && from < 1 && n == 0)
            tw_fault_set(&j->fault, "group '%s': '%s' stays where '%s' cannot read it", g->map->name,
                         j->in.model->tensor[tensor].name, o->op->name);
        if (j->fault.set) return false;
    }
    for (int i = from + 1; i < p.n; i++) hold = find_inward(j, g, tensor, p.memory[i], hold);
    o->hold[operand] = hold;
    if (loads) j->no_memory |= tw_joint_load(j, g, tensor) != TW_OK;
    return !j->fault.set && !j->no_memory;
}

/* Whether an operator that is not of the group reads the tensor, in whatever shape, or it is handed over. */
static bool is_needed_outside(const tw_joint_judge *j, const tw_joint_group *g, int tensor)
{
    for (int r = 0; r < j->in.model->n_ops; r++) {
        const tw_op *op = &j->in.model->op[r];
        bool mine = false;
        for (int i = 0; i < g->n_ops; i++) mine |= g->op[i].op == op;
        for (int o = 0; o < tw_op_output(op) && !mine; o++)
            if (tw_tensors_share(j->in.model, op->operand[o].tensor, tensor)) return true;
    }
    return j->in.model->tensor[tensor].is_output;
}

bool tw_joint_add_output(tw_joint_judge *j, tw_joint_group *g, int number)
{
    tw_joint_op *o = &g->op[number];
    int output = tw_op_output(o->op), tensor = o->op->operand[output].tensor;
    path p = path_of(j, o, output);
    if (!check_path(j, g, o, &p, output)) return false;
    int h = tw_joint_add_hold(j, g, tensor, p.memory[p.n - 1]);
    g->hold[h].maker = number;
    g->hold[h].made = true;
    o->hold[output] = h;
    o->depth = number == g->n_ops - 1 ? g->map->n_cuts : g->hold[h].depth;
    if (number < g->n_ops - 1 && !is_needed_outside(j, g, tensor)) return true;
    int last = j->tensor[tensor].absent ? j->tensor[tensor].home : 0;
    for (int i = p.n - 2; i > 0 && g->hold[h].memory != last; i--) h = find_outward(j, g, h, p.memory[i]);
    if (!j->tensor[tensor].absent) g->hold[h].outer = -1;
    j->no_memory |= tw_joint_hold_resident(j, g, h) != TW_OK;
    return !j->no_memory && !j->fault.set;
}

void tw_joint_note_readers(tw_joint_group *g)
{
    for (int i = 0; i < g->n_ops; i++)
        for (int o = 0; o < tw_op_output(g->op[i].op); o++)
            for (int h = g->op[i].hold[o]; h >= 0; h = g->hold[h].made ? -1 : g->hold[h].parent)
                g->hold[h].through |= 1u << i;
}

/* What is made inside stays equally long wherever it is, as long as where it stays longest and is read; on its way out as long, too. */
static void settle_made(tw_joint_group *g, int number)
{
    tw_joint_op *o = &g->op[number];
    o->depth = g->hold[o->hold[tw_op_output(o->op)]].depth;
    for (int h = 0; h < g->n_holds; h++)
        if (g->hold[h].maker == number && g->hold[h].through != 0 && g->hold[h].depth < o->depth)
            o->depth = g->hold[h].depth;
    for (int h = 0; h < g->n_holds; h++)
        if (g->hold[h].maker == number) g->hold[h].depth = o->depth;
}

void tw_joint_settle_depths(tw_joint_group *g)
{
    for (int i = g->n_ops - 2; i >= 0; i--) {
        settle_made(g, i);
        for (int h = 0; h < g->n_holds; h++)
            if ((g->hold[h].through >> i & 1) && g->hold[h].depth > g->op[i].depth)
                g->hold[h].depth = g->op[i].depth;
    }
}

/* All that read the tensor are operands of one operator, and depend on the loops that it divides: then its number. */
static int divider_of(const tw_joint_group *g, const tw_joint_hold *h)
{
    int divider = -1;
    if (h->made || h->outward || h->home || h->resident) return -1;
    for (int i = 0; i < g->n_ops; i++)
        for (int o = 0; o < tw_op_output(g->op[i].op); o++) {
            const tw_operand *operand = &g->op[i].op->operand[o];
            if (operand->tensor != h->tensor) continue;
            if (!(tw_verify_loops(operand) & g->op[i].divided) || (divider >= 0 && divider != i)) return -1;
            divider = i;
        }
    return divider >= 0 && h->depth >= g->op[divider].depth ? divider : -1;
}

void tw_joint_note_sums(tw_joint_judge *j, tw_joint_group *g)
{
    for (int h = 0; h < g->n_holds; h++) {
        tw_joint_hold *hold = &g->hold[h];
        hold->divided_by = divider_of(g, hold);
        if (!hold->made) continue;
        const tw_joint_op *o = &g->op[hold->maker];
        hold->sums = o->divided != 0;
        for (int c = 0; c < g->map->n_cuts && (hold->maker == g->n_ops - 1 || o->runs); c++)
            hold->sums |= g->op[g->n_ops - 1].op->loop[g->map->cut[c].loop].reduces && g->count[c] > 1;
        for (int l = 0; l < o->op->n_loops; l++)
            hold->summed |= o->op->loop[l].reduces && o->in.over[l] > 0 && (hold->per >> (o->in.over[l] - 1) & 1) &&
                            o->in.parts[l] > 1;
        hold->sums |= hold->summed;
        if (hold->sums && hold->resident)
            tw_fault_set(&j->fault, "group '%s': sums of '%s' stay where others read it", g->map->name,
                         o->op->operand[tw_op_output(o->op)].name);
    }
}
