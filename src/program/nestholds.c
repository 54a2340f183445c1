/* src/program/nestholds.c - which holds a group has.
 *
 * Each operand of each operator has a path of memories; a hold is opened in each of them, from where its content is (memory 0, the memory where it is
 * resident, another core's, the operator that makes it) to the compute engine. Operators that read the same tensor share what their paths share. */
#include "program/nestbuild.h"

#include "mapping/groups.h"

#include <string.h>

/* The memories on the path of an operand, outermost first, without memory 0; returns how many. `own` are those of the view. */
static int path_of(const tw_nest *nest, int k, int operand, int memory[TW_MAX_MEMORIES], int own[TW_MAX_MEMORIES])
{
    const tw_platform_view *view = tw_nest_view_of(nest, k);
    tw_path path = tw_machine_path(&view->machine, nest->op[k].op, operand);
    int n = 0;
    for (int m = 1; m < view->machine.n_memories; m++)
        if (path >> m & 1) own[n] = m, memory[n++] = view->memory[m];
    return n;
}

/* The engine, of the platform, that carries an operand between two memories of the view; -1: there is none. */
static int carrier(const tw_nest *nest, int k, int operand, const int ends[2], unsigned way)
{
    const tw_platform_view *view = tw_nest_view_of(nest, k);
    int link = tw_machine_link_of(&view->machine, nest->op[k].op, operand, ends[0], ends[1], way);
    return link < 0 ? -1 : view->mover[link];
}

static int find_hold(const tw_nest *nest, int tensor, int memory)
{
    for (int s = 0; s < nest->n_holds; s++)
        if (nest->hold[s].tensor == tensor && nest->hold[s].memory == memory) return s;
    return -1;
}

/* What the mapping says about a hold: the levels, unless it is said for the tensor itself. */
static void settle_hold(const tw_nest *nest, tw_nest_hold *s)
{
    const tw_group_map *map = nest->map;
    s->depth = map->n_cuts;
    s->slots = 1;
    s->slides = false;
    s->loc = map->loc;
    for (int l = map->n_levels - 1; l >= 0; l--)
        if (map->level[l].memory >= s->memory) s->depth = map->level[l].depth, s->loc = map->level[l].loc;
    for (int h = 0; h < map->n_holds; h++) {
        if (map->hold[h].tensor != s->tensor || map->hold[h].memory != s->memory) continue;
        if (map->hold[h].depth >= 0) s->depth = map->hold[h].depth;
        if (map->hold[h].slots > 0) s->slots = map->hold[h].slots;
        s->slides = map->hold[h].slide > 0;
        s->loc = map->hold[h].loc;
    }
}

/* A hold of its own, or the one that another operator's path made already; -1 when out of memory. */
static int open_hold(tw_nest_builder *b, const tw_nest_hold *like)
{
    tw_nest *nest = b->nest;
    int s = find_hold(nest, like->tensor, like->memory);
    if (s >= 0) return s;
    if (nest->n_holds == b->room) {
        int room = b->room ? 2 * b->room : 16;
        tw_nest_hold *wider = TW_NEW(b->arena, tw_nest_hold, room);
        if (!wider) return -1;
        if (b->room) memcpy(wider, nest->hold, (size_t)nest->n_holds * sizeof *wider);
        nest->hold = wider;
        b->room = room;
    }
    s = nest->n_holds++;
    nest->hold[s] = *like;
    settle_hold(nest, &nest->hold[s]);
    return s;
}

int tw_nest_maker_of(const tw_nest *nest, int tensor)
{
    for (int k = 0; k < nest->n_ops; k++)
        if (nest->op[k].op->operand[tw_op_output(nest->op[k].op)].tensor == tensor) return k;
    return -1;
}

/* What is said of a tensor that is resident; NULL: it is not, or no longer. */
static const tw_group_resident *resident_of(const tw_nest *nest, int tensor)
{
    const tw_mapping *mapping = nest->mapping;
    for (int i = 0; i < mapping->n_residents; i++) {
        const tw_group_resident *is = &mapping->resident[i];
        if (!tw_tensors_are_alike(nest->model, is->tensor, tensor)) continue;
        bool left = is->until > 0 && nest->group > tw_resident_last(is, mapping->group, mapping->n_groups);
        return left ? NULL : is;
    }
    return NULL;
}

int tw_nest_home_of(const tw_nest *nest, int tensor)
{
    const tw_group_resident *is = resident_of(nest, tensor);
    return is ? is->memory : 0;
}

/* What brings the operand of operator k from a hold (-1: from the tensor) to place i of its path: the mover between neighbours there or, from another
 * core's memory, a link. */
static int bringer(const tw_nest *nest, int k, int operand, int from, int i)
{
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES], ends[2];
    (void)path_of(nest, k, operand, memory, own);
    int source = from < 0 ? 0 : nest->hold[from].memory;
    if (from >= 0 && (i == 0 || memory[i - 1] != source)) {
        int link[TW_MAX_HOPS];
        int n = tw_platform_find_route(nest->platform, (tw_memory_list){1, &source},
                                       (tw_memory_list){1, &memory[i]}, nest->op[k].op, operand, link);
        return n == 1 ? link[0] : -1; /* come_over went all the way but the last link */
    }
    ends[0] = i > 0 ? own[i - 1] : 0;
    ends[1] = own[i];
    return carrier(nest, k, operand, ends, TW_INWARDS);
}

/* The operand of operator k comes inwards from `from` (a hold, or -1: the tensor) through the memories first .. n - 1. */
static tw_status come_in(tw_nest_builder *b, int k, int operand, int from, int first)
{
    tw_nest *nest = b->nest;
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES], n = path_of(nest, k, operand, memory, own);
    int tensor = nest->op[k].op->operand[operand].tensor, maker = tw_nest_maker_of(nest, tensor);
    for (int i = first; i < n; i++) {
        tw_nest_hold like = {.tensor = tensor,
                             .memory = memory[i],
                             .from = from < 0 ? TW_FROM_TENSOR : TW_FROM_HOLD,
                             .source = from,
                             .engine = bringer(nest, k, operand, from, i),
                             .inwards = true,
                             .drain = -1,
                             .which = k,
                             .operand = operand,
                             .maker = maker,
                             .per = tw_nest_view_of(nest, k)->machine.memory[own[i]].per};
        int s = open_hold(b, &like);
        if (s < 0) return TW_ERR_NOMEM;
        if (nest->hold[s].from != like.from || nest->hold[s].source != from)
            return tw_diag_infeasible(b->diag, nest->map->loc, "'%s' comes to '%s' on two ways in group '%s'",
                                      tw_nest_tensor_name(nest, tensor), tw_nest_memory_name(nest, memory[i]),
                                      nest->map->name);
        from = s;
    }
    for (int s = from; s >= 0; s = nest->hold[s].from == TW_FROM_HOLD ? nest->hold[s].source : -1)
        nest->hold[s].readers |= 1u << k;
    nest->op[k].input[operand] = from;
    if (from >= 0) nest->hold[from].direct |= 1u << k;
    return TW_OK;
}

/* A route on which what operator k reads comes to a place of its path. */
typedef struct route {
    int n, link[TW_MAX_HOPS];
    int first; /* the place where it ends */
} route;

/* Routes from some memories to the path of operand of operator k; false: there is none. */
static bool find_route(const tw_nest *nest, tw_memory_list from, int k, int operand, route *out)
{
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES], n = path_of(nest, k, operand, memory, own);
    out->n = tw_platform_find_route(nest->platform, from, (tw_memory_list){n, memory}, nest->op[k].op, operand,
                                    out->link);
    if (out->n == 0) return false;
    for (out->first = 0; memory[out->first] != nest->platform->engine[out->link[out->n - 1]].is.memory;)
        out->first++;
    return true;
}

/* The operand comes over a route from the hold `from`: in each memory on the way it is held as where the route ends, and then inwards. */
static tw_status come_over(tw_nest_builder *b, int k, int operand, int from, const route *r)
{
    tw_nest *nest = b->nest;
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    (void)path_of(nest, k, operand, memory, own);
    int tensor = nest->op[k].op->operand[operand].tensor;
    tw_nest_hold end = {.tensor = tensor, .memory = memory[r->first]};
    settle_hold(nest, &end);
    for (int i = 0; i + 1 < r->n; i++) {
        tw_nest_hold like = {.tensor = tensor,
                             .memory = nest->platform->engine[r->link[i]].is.memory,
                             .from = TW_FROM_HOLD,
                             .source = from,
                             .engine = r->link[i],
                             .inwards = true,
                             .drain = -1,
                             .which = k,
                             .operand = operand,
                             .maker = tw_nest_maker_of(nest, tensor)};
        int n_before = nest->n_holds, s = open_hold(b, &like);
        if (s < 0) return TW_ERR_NOMEM;
        if (nest->hold[s].from != TW_FROM_HOLD || nest->hold[s].source != from)
            return tw_diag_infeasible(b->diag, nest->map->loc, "'%s' comes to '%s' on two ways in group '%s'",
                                      tw_nest_tensor_name(nest, tensor), tw_nest_memory_name(nest, like.memory),
                                      nest->map->name);
        if (s == n_before) {
            nest->hold[s].depth = end.depth;
            nest->hold[s].slots = end.slots;
            nest->hold[s].slides = false;
            nest->hold[s].loc = end.loc;
        }
        from = s;
    }
    return come_in(b, k, operand, from, r->first);
}

/* The hold that operator k writes. */
static tw_status open_made(tw_nest_builder *b, int k)
{
    tw_nest *nest = b->nest;
    int output = tw_op_output(nest->op[k].op), memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    int n = path_of(nest, k, output, memory, own);
    tw_nest_hold like = {.tensor = nest->op[k].op->operand[output].tensor,
                         .memory = memory[n - 1],
                         .from = TW_FROM_OP,
                         .source = k,
                         .engine = -1,
                         .drain = -1,
                         .which = k,
                         .operand = output,
                         .maker = k,
                         .per = tw_nest_view_of(nest, k)->machine.memory[own[n - 1]].per};
    nest->op[k].made = open_hold(b, &like);
    return nest->op[k].made < 0 ? TW_ERR_NOMEM : TW_OK;
}

/* What operator k makes goes outwards, up to memory `to` (0: to the tensor); *out is the hold there. */
static tw_status go_out(tw_nest_builder *b, int k, int to, int *out)
{
    tw_nest *nest = b->nest;
    int output = tw_op_output(nest->op[k].op), memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    int n = path_of(nest, k, output, memory, own), s = nest->op[k].made;
    for (int i = n - 1; i >= 0 && memory[i] != to; i--) {
        int ends[2] = {i > 0 ? own[i - 1] : 0, own[i]}, engine = carrier(nest, k, output, ends, TW_OUTWARDS);
        if (i == 0) {
            nest->hold[s].drain = engine;
            break;
        }
        tw_nest_hold like = nest->hold[s];
        like.memory = memory[i - 1];
        like.from = TW_FROM_HOLD;
        like.source = s;
        like.engine = engine;
        like.readers = like.direct = 0;
        like.per = tw_nest_view_of(nest, k)->machine.memory[own[i - 1]].per;
        if ((s = open_hold(b, &like)) < 0) return TW_ERR_NOMEM;
    }
    *out = s;
    return TW_OK;
}

/* The outermost common memory of what operator j makes and k tw_op_reads, going outwards from j; 0: there is none. */
static int meeting(const tw_nest *nest, int j, int k, int operand, int *first)
{
    int made[TW_MAX_MEMORIES], read[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    int n_made = path_of(nest, j, tw_op_output(nest->op[j].op), made, own),
        n_read = path_of(nest, k, operand, read, own);
    for (int i = n_made - 1; i >= 0; i--)
        for (int r = 0; r < n_read; r++)
            if (read[r] == made[i]) {
                *first = r + 1;
                return made[i];
            }
    return 0;
}

static tw_status open_inside(tw_nest_builder *b, int j, int k, int operand)
{
    tw_nest *nest = b->nest;
    int first = 0, at, memory = meeting(nest, j, k, operand, &first);
    int tensor = nest->op[k].op->operand[operand].tensor;
    if (memory > 0) {
        TW_TRY(go_out(b, j, memory, &at));
        return come_in(b, k, operand, at, first);
    }
    int made[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    int n_made = path_of(nest, j, tw_op_output(nest->op[j].op), made, own);
    route r;
    if (!find_route(nest, (tw_memory_list){n_made, made}, k, operand, &r))
        return tw_diag_infeasible(b->diag, nest->map->loc,
                                  "'%s' is made by '%s' and read by '%s', but no memory inside '%s' is on both "
                                  "paths, and no link leads from one to the other",
                                  tw_nest_tensor_name(nest, tensor), nest->op[j].op->name, nest->op[k].op->name,
                                  tw_nest_memory_name(nest, 0));
    TW_TRY(go_out(b, j, nest->platform->engine[r.link[0]].is.outer, &at));
    return come_over(b, k, operand, at, &r);
}

/* What another group made and left in a memory comes inwards from there. */
static tw_status open_resident(tw_nest_builder *b, int k, int operand, int home)
{
    tw_nest *nest = b->nest;
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES], n = path_of(nest, k, operand, memory, own), first = 0;
    while (first < n && memory[first] != home) first++;
    tw_nest_hold like = {.tensor = nest->op[k].op->operand[operand].tensor,
                         .memory = home,
                         .from = TW_FROM_GROUP,
                         .source = -1,
                         .engine = -1,
                         .inwards = true,
                         .drain = -1,
                         .which = k,
                         .operand = operand,
                         .maker = -1};
    int s = open_hold(b, &like);
    if (s < 0) return TW_ERR_NOMEM;
    nest->hold[s].depth = 0;
    nest->hold[s].slots = 0;
    if (first < n) return come_in(b, k, operand, s, first + 1);
    route r;
    if (find_route(nest, (tw_memory_list){1, &home}, k, operand, &r)) return come_over(b, k, operand, s, &r);
    return tw_diag_infeasible(b->diag, nest->map->loc, "'%s' is in '%s', from where no link leads to '%s'",
                              tw_nest_tensor_name(nest, nest->op[k].op->operand[operand].tensor),
                              tw_nest_memory_name(nest, home), nest->op[k].op->name);
}

/* Whether the tensor is an input of the model, and no group before this one reads it. */
static bool reads_first(const tw_nest *nest, int tensor)
{
    const tw_model *model = nest->model;
    for (int i = 0; i < model->n_ops; i++)
        if (tw_tensors_share(model, tw_op_makes(&model->op[i]), tensor)) return false;
    for (int g = 0; g < nest->group; g++)
        for (int i = 0; i < nest->mapping->group[g].n_ops; i++)
            if (tw_op_reads_alike(model, &model->op[nest->mapping->group[g].op[i].op], tensor)) return false;
    return true;
}

/* An input of the model is loaded, all of it, for the groups behind this one, too. */
static tw_status open_loaded(tw_nest_builder *b, int k, int operand, int home)
{
    TW_TRY(come_in(b, k, operand, -1, 0));
    tw_nest_hold *s = &b->nest->hold[find_hold(b->nest, b->nest->op[k].op->operand[operand].tensor, home)];
    s->resident = true;
    s->slots = 1;
    s->depth = 0;
    return TW_OK;
}

static tw_status open_input(tw_nest_builder *b, int k, int operand)
{
    int tensor = b->nest->op[k].op->operand[operand].tensor, maker = tw_nest_maker_of(b->nest, tensor);
    int home = tw_nest_home_of(b->nest, tensor);
    if (maker >= 0) return open_inside(b, maker, k, operand);
    if (home > 0 && reads_first(b->nest, tensor)) return open_loaded(b, k, operand, home);
    return home > 0 ? open_resident(b, k, operand, home) : come_in(b, k, operand, -1, 0);
}

/* What the driver makes goes to memory 0 or, when it is resident, no further than that unless it is asked for at the end, or tw_nest_leaves. */
static tw_status open_output(tw_nest_builder *b)
{
    tw_nest *nest = b->nest;
    int driver = nest->n_ops - 1, tensor = nest->hold[nest->op[driver].made].tensor, at;
    const tw_group_resident *is = resident_of(nest, tensor);
    int home = is ? is->memory : 0;
    bool stored = nest->model->tensor[tensor].is_output || (is && is->until > 0);
    TW_TRY(go_out(b, driver, stored ? 0 : home, &at));
    if (home == 0) return TW_OK;
    int s = find_hold(nest, tensor, home);
    nest->hold[s].resident = true;
    nest->hold[s].slots = 1;
    for (; s >= 0 && s < nest->n_holds; s++) /* whole there and, outside of that, as well */
        if (nest->hold[s].tensor == tensor) nest->hold[s].depth = 0;
    return TW_OK;
}

bool tw_nest_leaves(const tw_nest *nest, int k)
{
    return k == nest->n_ops - 1 ||
           tw_group_is_stored(nest->map, nest->model, nest->op[k].op->operand[tw_op_output(nest->op[k].op)].tensor);
}

tw_status tw_nest_open_holds(tw_nest_builder *b)
{
    tw_nest *nest = b->nest;
    int ignored;
    for (int k = 0; k < nest->n_ops; k++) {
        TW_TRY(open_made(b, k));
        for (int o = 0; o < tw_op_output(nest->op[k].op); o++) TW_TRY(open_input(b, k, o));
    }
    for (int k = 0; k < nest->n_ops - 1; k++)
        if (tw_nest_leaves(nest, k)) TW_TRY(go_out(b, k, 0, &ignored));
    return open_output(b);
}
