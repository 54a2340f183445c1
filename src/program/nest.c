/* src/program/nest.c - from a group as it was written to its holds and buffers: see nest.h.
 *
 * First the holds, path by path; then one walk over all steps, which finds how large each buffer has to be and whether the
 * compute engines take the tiles; then addresses. */
#include "program/nest.h"

#include "mapping/groups.h"
#include "mapping/taken.h"
#include "model/pieces.h"
#include "program/lanes.h"
#include "program/nestshare.h"
#include "program/walk.h"
#include "tile/box.h"

#include <stdlib.h>
#include <string.h>

/* Steps of one group: more are refused instead of walked for hours. */
static const int64_t most_steps = INT64_C(1) << 28;

/* Of a window that slides, most of all steps: rows of it, by which it moves on, that stay; and elements of a row. */
typedef struct tw_slide_rows {
    int64_t window, moved, kept, row;
} tw_slide_rows;

typedef struct builder {
    tw_nest *nest;
    tw_arena *arena;
    tw_diag *diag;
    int room; /* holds that there is room for */
    int64_t
        sharing[TW_MAX_GROUP_OPS];    /* of each operator: lanes with sums of the same elements, 0: not known yet */
    tw_slide_rows *rows;              /* of each hold */
    uint8_t *marks[TW_MAX_GROUP_OPS]; /* what leaves besides the output: a bit for each element that was made, */
    int64_t missing[TW_MAX_GROUP_OPS]; /* and how many were not */
} builder;

static const tw_platform_view *view_of(const tw_nest *nest, int k)
{
    return &nest->platform->view[nest->map->op[k].view];
}

static const char *memory_name(const tw_nest *nest, int memory) { return nest->platform->memory[memory].name; }
static const char *tensor_name(const tw_nest *nest, int tensor) { return nest->model->tensor[tensor].name; }

/* ---- operators ---- */

static int64_t array_size(const tw_machine *machine, int dim)
{
    return dim < tw_cost_dims(&machine->engine[machine->compute].cost)
               ? machine->engine[machine->compute].cost.array.size[dim]
               : 1;
}

/* Lanes that share each loop over a dimension that memories are private to. */
static void share_loops(const tw_group_op *given, tw_nest_op *op)
{
    int64_t left[TW_MAX_DIMS];
    for (int d = 0; d < TW_MAX_DIMS; d++) left[d] = array_size(op->machine, d);
    for (int l = 0; l < op->op->n_loops; l++) {
        int d = op->over.dim[l] - 1;
        op->parts[l] = 1;
        if (d < 0 || !(op->split_dims >> d & 1)) continue;
        op->parts[l] = given->parts[l] > 0 ? given->parts[l] : tw_min(left[d], op->op->loop[l].extent);
        left[d] = tw_max(1, left[d] / op->parts[l]);
    }
}

/* The view for the operator at hand: with the cost that the engine has for it. */
static tw_status open_machine(const tw_machine *machine, const tw_op *op, tw_arena *arena, const tw_machine **out)
{
    tw_machine *own;
    TW_ALLOC(arena, own, 1);
    *own = *machine;
    if (own->has_apart >> op->compute & 1) own->engine[own->compute].cost = own->apart[op->compute];
    *out = own;
    return TW_OK;
}

static tw_status open_op(builder *b, int k)
{
    tw_nest *nest = b->nest;
    const tw_group_op *given = &nest->map->op[k];
    tw_nest_op *op = &nest->op[k];
    op->op = &nest->model->op[given->op];
    op->engine = view_of(nest, k)->engine;
    TW_TRY(open_machine(&view_of(nest, k)->machine, op->op, b->arena, &op->machine));
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    bool array = engine->cost.kind == TW_COST_ARRAY;
    if (array) op->over = tw_spread_or_default(&given->over, op->op, tw_cost_dims(&engine->cost));
    for (int m = 1; m < op->machine->n_memories && array; m++) op->split_dims |= op->machine->memory[m].per;
    share_loops(given, op);
    op->n_subs = 1;
    for (int l = 0; l < op->op->n_loops; l++) {
        bool cut = given->reduce[l] > 0 && op->op->loop[l].reduces;
        op->reduce[l] = cut ? tw_min(given->reduce[l], op->op->loop[l].extent) : op->op->loop[l].extent;
        if (cut) op->n_subs *= tw_cdiv(op->op->loop[l].extent, op->reduce[l]);
    }
    for (int o = 0; o < TW_MAX_OPERANDS; o++) op->input[o] = -1;
    for (int o = 0; o < op->op->n_operands; o++)
        op->elem_units[o] = tw_machine_units(op->machine, nest->model->tensor[op->op->operand[o].tensor].dtype, 1);
    op->made = -1;
    if (op->n_subs <= 1 << 20) return TW_OK;
    return tw_diag_error(b->diag, nest->map->loc, "'reduce' cuts operator '%s' into more than %d pieces",
                         op->op->name, 1 << 20);
}

/* ---- holds ---- */

/* The memories on the path of an operand, outermost first, without memory 0; returns how many. `own` are those of the view. */
static int path_of(const tw_nest *nest, int k, int operand, int memory[TW_MAX_MEMORIES], int own[TW_MAX_MEMORIES])
{
    const tw_platform_view *view = view_of(nest, k);
    tw_path path = tw_machine_path(&view->machine, nest->op[k].op, operand);
    int n = 0;
    for (int m = 1; m < view->machine.n_memories; m++)
        if (path >> m & 1) own[n] = m, memory[n++] = view->memory[m];
    return n;
}

/* The engine, of the platform, that carries an operand between two memories of the view; -1: there is none. */
static int carrier(const tw_nest *nest, int k, int operand, const int ends[2], unsigned way)
{
    const tw_platform_view *view = view_of(nest, k);
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
static int open_hold(builder *b, const tw_nest_hold *like)
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

static int maker_of(const tw_nest *nest, int tensor)
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
        if (is->tensor != tensor) continue;
        bool left = is->until > 0 && nest->group > tw_resident_last(is, mapping->group, mapping->n_groups);
        return left ? NULL : is;
    }
    return NULL;
}

/* The memory in which the group finds the tensor resident, 0: it does not. */
static int home_of(const tw_nest *nest, int tensor)
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
static tw_status come_in(builder *b, int k, int operand, int from, int first)
{
    tw_nest *nest = b->nest;
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES], n = path_of(nest, k, operand, memory, own);
    int tensor = nest->op[k].op->operand[operand].tensor, maker = maker_of(nest, tensor);
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
                             .per = view_of(nest, k)->machine.memory[own[i]].per};
        int s = open_hold(b, &like);
        if (s < 0) return TW_ERR_NOMEM;
        if (nest->hold[s].from != like.from || nest->hold[s].source != from)
            return tw_diag_infeasible(b->diag, nest->map->loc, "'%s' comes to '%s' on two ways in group '%s'",
                                      tensor_name(nest, tensor), memory_name(nest, memory[i]), nest->map->name);
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
static tw_status come_over(builder *b, int k, int operand, int from, const route *r)
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
                             .maker = maker_of(nest, tensor)};
        int n_before = nest->n_holds, s = open_hold(b, &like);
        if (s < 0) return TW_ERR_NOMEM;
        if (nest->hold[s].from != TW_FROM_HOLD || nest->hold[s].source != from)
            return tw_diag_infeasible(b->diag, nest->map->loc, "'%s' comes to '%s' on two ways in group '%s'",
                                      tensor_name(nest, tensor), memory_name(nest, like.memory), nest->map->name);
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
static tw_status open_made(builder *b, int k)
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
                         .per = view_of(nest, k)->machine.memory[own[n - 1]].per};
    nest->op[k].made = open_hold(b, &like);
    return nest->op[k].made < 0 ? TW_ERR_NOMEM : TW_OK;
}

/* What operator k makes goes outwards, up to memory `to` (0: to the tensor); *out is the hold there. */
static tw_status go_out(builder *b, int k, int to, int *out)
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
        like.per = view_of(nest, k)->machine.memory[own[i - 1]].per;
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

static tw_status open_inside(builder *b, int j, int k, int operand)
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
                                  tensor_name(nest, tensor), nest->op[j].op->name, nest->op[k].op->name,
                                  memory_name(nest, 0));
    TW_TRY(go_out(b, j, nest->platform->engine[r.link[0]].is.outer, &at));
    return come_over(b, k, operand, at, &r);
}

/* What another group made and left in a memory comes inwards from there. */
static tw_status open_resident(builder *b, int k, int operand, int home)
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
                              tensor_name(nest, nest->op[k].op->operand[operand].tensor), memory_name(nest, home),
                              nest->op[k].op->name);
}

/* Whether the tensor is an input of the model, and no group before this one reads it. */
static bool reads_first(const tw_nest *nest, int tensor)
{
    const tw_model *model = nest->model;
    for (int i = 0; i < model->n_ops; i++)
        if (model->op[i].operand[tw_op_output(&model->op[i])].tensor == tensor) return false;
    for (int g = 0; g < nest->group; g++)
        for (int i = 0; i < nest->mapping->group[g].n_ops; i++)
            if (tw_op_reads(&model->op[nest->mapping->group[g].op[i].op], tensor)) return false;
    return true;
}

/* An input of the model is loaded, all of it, for the groups behind this one, too. */
static tw_status open_loaded(builder *b, int k, int operand, int home)
{
    TW_TRY(come_in(b, k, operand, -1, 0));
    tw_nest_hold *s = &b->nest->hold[find_hold(b->nest, b->nest->op[k].op->operand[operand].tensor, home)];
    s->resident = true;
    s->slots = 1;
    s->depth = 0;
    return TW_OK;
}

static tw_status open_input(builder *b, int k, int operand)
{
    int tensor = b->nest->op[k].op->operand[operand].tensor, maker = maker_of(b->nest, tensor);
    int home = home_of(b->nest, tensor);
    if (maker >= 0) return open_inside(b, maker, k, operand);
    if (home > 0 && reads_first(b->nest, tensor)) return open_loaded(b, k, operand, home);
    return home > 0 ? open_resident(b, k, operand, home) : come_in(b, k, operand, -1, 0);
}

/* What the driver makes goes to memory 0 or, when it is resident, no further than that unless it is asked for at the end, or leaves. */
static tw_status open_output(builder *b)
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

/* Whether what operator k makes goes to memory 0: the output of the group, and what others read, too. */
static bool leaves(const tw_nest *nest, int k)
{
    return k == nest->n_ops - 1 ||
           tw_group_is_stored(nest->map, nest->model, nest->op[k].op->operand[tw_op_output(nest->op[k].op)].tensor);
}

static tw_status open_holds(builder *b)
{
    tw_nest *nest = b->nest;
    int ignored;
    for (int k = 0; k < nest->n_ops; k++) {
        TW_TRY(open_made(b, k));
        for (int o = 0; o < tw_op_output(nest->op[k].op); o++) TW_TRY(open_input(b, k, o));
    }
    for (int k = 0; k < nest->n_ops - 1; k++)
        if (leaves(nest, k)) TW_TRY(go_out(b, k, 0, &ignored));
    return open_output(b);
}

/* What operator k makes and others of the group read is made, held and read in step: as long as where it stays longest. On the way out, where
 * nobody reads it, it is held as long. */
static int hold_in_step(tw_nest *nest, int k)
{
    int depth = nest->hold[nest->op[k].made].depth;
    for (int s = 0; s < nest->n_holds; s++)
        if (nest->hold[s].maker == k && nest->hold[s].readers) depth = (int)tw_min(depth, nest->hold[s].depth);
    for (int s = 0; s < nest->n_holds; s++)
        if (nest->hold[s].maker == k) nest->hold[s].depth = depth;
    return depth;
}

/* What an operator reads is held at least as long as what it makes of it. */
static void hold_longer(tw_nest *nest)
{
    for (int k = nest->n_ops - 2; k >= 0; k--) {
        int depth = hold_in_step(nest, k);
        for (int s = 0; s < nest->n_holds; s++)
            if (nest->hold[s].readers >> k & 1) nest->hold[s].depth = (int)tw_min(nest->hold[s].depth, depth);
    }
}

/* ---- what follows for each hold ---- */

static unsigned cut_by_reduce(const tw_nest_op *op)
{
    unsigned loops = 0;
    for (int l = 0; l < op->op->n_loops; l++)
        if (op->reduce[l] < op->op->loop[l].extent) loops |= 1u << l;
    return loops;
}

/* Whether what operator k writes is incomplete for a while. */
static bool has_sums(const tw_nest *nest, int k)
{
    const tw_nest_op *op = &nest->op[k];
    unsigned over = tw_lane_loops(op, nest->hold[op->made].per) & tw_op_reductions(op->op);
    bool cut = op->n_subs > 1 || (over && tw_lane_count(op, nest->hold[op->made].per) > 1);
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    bool by_steps = k == nest->n_ops - 1 || (nest->running.runs >> k & 1);
    for (int p = 0; p < nest->n_places && by_steps; p++)
        cut |= driver->loop[nest->map->cut[p].loop].reduces &&
               tw_place_split(nest, p, driver->loop[nest->map->cut[p].loop].extent).count > 1;
    return cut;
}

/* Sums that are read where they lie must be what the tensor's type has. */
static tw_status check_sums(const builder *b, int k)
{
    const tw_nest *nest = b->nest;
    const tw_op *op = nest->op[k].op;
    const tw_nest_hold *made = &nest->hold[nest->op[k].made];
    if (!made->sums || (!made->direct && !made->resident)) return TW_OK;
    if (made->resident)
        return tw_diag_infeasible(b->diag, made->loc,
                                  "operator '%s' adds up '%s' in pieces in '%s', where it is resident: groups that "
                                  "read it there would see sums",
                                  op->name, tensor_name(nest, made->tensor), memory_name(nest, made->memory));
    if (op->accumulator == nest->model->tensor[made->tensor].dtype && !op->finish) return TW_OK;
    return tw_diag_infeasible(
        b->diag, made->loc,
        "operator '%s' adds up '%s' in pieces in '%s', where it is read as '%s': only a transfer "
        "makes '%s' of '%s'",
        op->name, tensor_name(nest, made->tensor), memory_name(nest, made->memory),
        tw_dtype_name(nest->model->tensor[made->tensor].dtype),
        tw_dtype_name(nest->model->tensor[made->tensor].dtype), tw_dtype_name(op->accumulator));
}

static bool reads_twice(const tw_op *op, int tensor)
{
    int n = 0;
    for (int o = 0; o < tw_op_output(op); o++) n += op->operand[o].tensor == tensor;
    return n > 1;
}

/* Whether the tensor has one reader in the group, all of whose operands that are it change with the pieces of its reductions. */
static bool changes_by_sub(const tw_nest *nest, const tw_nest_hold *s)
{
    for (int k = 0; k < nest->n_ops; k++) {
        const tw_op *op = nest->op[k].op;
        for (int o = 0; o < tw_op_output(op); o++) {
            if (op->operand[o].tensor != s->tensor) continue;
            if (k != s->which || !(tw_operand_loops(&op->operand[o]) & cut_by_reduce(&nest->op[k]))) return false;
        }
    }
    return true;
}

/* Which loops of the driver move each loop of each operator. */
typedef unsigned moved_by[TW_MAX_GROUP_OPS][TW_MAX_LOOPS];

static unsigned loops_of_axis(const tw_axis *axis, const unsigned *moved)
{
    unsigned loops = 0;
    for (int t = 0; t < axis->n_terms; t++) loops |= moved[axis->term[t].loop];
    return loops;
}

/* The loops of a producer follow what is read of its output. */
static void follow_loops(const tw_nest *nest, int k, moved_by moved)
{
    const tw_op *op = nest->op[k].op;
    const tw_operand *out = &op->operand[tw_op_output(op)];
    for (int j = k + 1; j < nest->n_ops; j++)
        for (int o = 0; o < tw_op_output(nest->op[j].op); o++) {
            const tw_operand *read = &nest->op[j].op->operand[o];
            for (int a = 0; a < out->n_axes && read->tensor == out->tensor; a++)
                if (out->axis[a].n_terms > 0)
                    moved[k][out->axis[a].term[0].loop] |= loops_of_axis(&read->axis[a], moved[j]);
        }
}

/* Loops that may leave an operator without work, because everything that is read of its output is padding: any, where something behind it is
 * padded, since an operator without work leaves those before it without, whichever of their loops move. */
static unsigned emptying_loops(const tw_nest *nest, int k)
{
    for (int j = k + 1; j < nest->n_ops; j++)
        for (int o = 0; o < tw_op_output(nest->op[j].op); o++)
            if (maker_of(nest, nest->op[j].op->operand[o].tensor) >= 0 && (tw_op_clipped(nest->op[j].op) >> o & 1))
                return ~0u;
    return 0;
}

static int slide_loop(const tw_nest *nest, const tw_nest_hold *s)
{
    for (int h = 0; h < nest->map->n_holds; h++)
        if (nest->map->hold[h].tensor == s->tensor && nest->map->hold[h].memory == s->memory)
            return nest->map->hold[h].slide - 1;
    return -1;
}

/* The axis along which a window slides: the one that the loop moves; -1: there is none, -2: there are several. */
static int slide_axis(const tw_nest *nest, const tw_nest_hold *s, moved_by moved)
{
    int axis = -1, loop = slide_loop(nest, s);
    for (int a = 0; a < nest->model->tensor[s->tensor].n_axes; a++) {
        unsigned loops = 0;
        for (int k = 0; k < nest->n_ops; k++)
            for (int o = 0; o < nest->op[k].op->n_operands; o++)
                if (nest->op[k].op->operand[o].tensor == s->tensor)
                    loops |= loops_of_axis(&nest->op[k].op->operand[o].axis[a], moved[k]);
        if (loops >> loop & 1) axis = axis == -1 ? a : -2;
    }
    return axis;
}

static void find_loops(tw_nest *nest)
{
    moved_by moved = {{0}};
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    for (int l = 0; l < driver->n_loops; l++) moved[nest->n_ops - 1][l] = 1u << l;
    for (int k = nest->n_ops - 2; k >= 0; k--) {
        follow_loops(nest, k, moved);
        if (nest->running.runs >> k & 1) moved[k][nest->running.loop[k]] |= 1u << (nest->map->running - 1);
    }
    for (int s = 0; s < nest->n_holds; s++) {
        tw_nest_hold *hold = &nest->hold[s];
        for (unsigned left = tw_lane_loops(&nest->op[hold->which], hold->per); left; left &= left - 1)
            hold->loops |= moved[hold->which][__builtin_ctz(left)];
        for (int k = 0; k < nest->n_ops; k++) {
            const tw_op *op = nest->op[k].op;
            if (hold->readers >> k & 1) hold->loops |= emptying_loops(nest, k);
            for (int o = 0; o < op->n_operands; o++)
                for (int a = 0; a < op->operand[o].n_axes && op->operand[o].tensor == hold->tensor; a++)
                    hold->loops |= loops_of_axis(&op->operand[o].axis[a], moved[k]);
        }
        if (hold->slides) hold->axis = slide_axis(nest, hold, moved);
    }
}

/* Why a window cannot slide as it should; NULL: it can. */
static const char *why_not_slide(const tw_nest *nest, const tw_nest_hold *s, int loop)
{
    const tw_machine *machine = nest->op[s->which].machine;
    if (s->depth == 0 || nest->map->cut[s->depth - 1].loop != loop)
        return "what is made of it is held longer, and it as long";
    return s->axis == -1       ? "the loop does not move it"
           : s->axis == -2     ? "the loop moves more than one axis of it"
           : s->by_sub         ? "it is held for parts of a step"
           : s->sums           ? "it is added up there in pieces"
           : machine->arranged ? "the movers rearrange its tiles"
                               : NULL;
}

static tw_status check_slide(const builder *b, tw_nest_hold *s)
{
    const tw_nest *nest = b->nest;
    if (!s->slides) return TW_OK;
    int loop = slide_loop(nest, s);
    const char *why = why_not_slide(nest, s, loop);
    if (!why) return TW_OK;
    return tw_diag_error(b->diag, s->loc, "'%s' cannot slide along '%s' in '%s': %s", tensor_name(nest, s->tensor),
                         nest->op[nest->n_ops - 1].op->loop[loop].name, memory_name(nest, s->memory), why);
}

static tw_status settle_content(const builder *b, tw_nest_hold *s)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *op = &nest->op[s->which];
    tw_dtype dtype = nest->model->tensor[s->tensor].dtype;
    s->sums = s->from == TW_FROM_OP && has_sums(nest, s->maker);
    s->moved_units = tw_machine_units(op->machine, dtype, 1);
    s->elem_units = s->sums ? tw_machine_units(op->machine, op->op->accumulator, 1) : s->moved_units;
    int steps = s->which == nest->n_ops - 1 ? nest->n_places : nest->hold[op->made].depth;
    bool comes_by_step = s->inwards && s->from != TW_FROM_GROUP && !s->resident;
    s->by_sub = comes_by_step && s->depth == steps && changes_by_sub(nest, s);
    s->lanes = 1;
    if (!s->per) return TW_OK;
    s->lanes = (int)nest->platform->memory[s->memory].lanes;
    bool shared = s->inwards ? (s->readers & (s->readers - 1)) || reads_twice(op->op, s->tensor) : s->direct != 0;
    if (shared)
        return tw_diag_infeasible(
            b->diag, s->loc,
            "'%s' is held in '%s', which is private to lanes, for more than one operator of group '%s'",
            tensor_name(nest, s->tensor), memory_name(nest, s->memory), nest->map->name);
    return TW_OK;
}

/* The lanes of a private memory may hold sums of the same elements: what takes them out adds them up. */
static tw_status check_lanes(const builder *b, const tw_nest_hold *s)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *op = &nest->op[s->which];
    unsigned over = tw_lane_loops(op, s->per) & tw_op_reductions(op->op);
    int64_t sharing = 1;
    for (; over; over &= over - 1) sharing *= op->parts[__builtin_ctz(over)];
    if (s->from != TW_FROM_OP || sharing == 1) return TW_OK;
    int engine = s->drain;
    for (int i = 0; i < nest->n_holds; i++)
        if (nest->hold[i].from == TW_FROM_HOLD && &nest->hold[nest->hold[i].source] == s)
            engine = nest->hold[i].engine;
    if (engine >= 0 && nest->platform->engine[engine].is.sums && op->op->compute != TW_MAP) return TW_OK;
    return tw_diag_infeasible(b->diag, s->loc,
                              "%" PRId64
                              " lanes of '%s' hold sums of the same elements of '%s', and engine '%s', which takes "
                              "them out, does not add up ('sums: true')",
                              sharing, memory_name(nest, s->memory), tensor_name(nest, s->tensor),
                              engine >= 0 ? nest->platform->engine[engine].name : "none");
}

/* What a machine file may say about programs of one operator, and programs of groups do not do: an answer that ignored it would be
 * wrong. Placement is not among them: buffers that lie one behind the other are where every policy may put them. */
static tw_status check_known(const builder *b)
{
    const tw_nest *nest = b->nest;
    const tw_machine *machine = nest->op[0].machine;
    if (machine->reuse != TW_REUSE_RESIDENT)
        return tw_diag_error(
            b->diag, nest->map->loc,
            "machine '%s' has 'reuse: declared', which groups do not know: they never send again what is there",
            machine->name);
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        const tw_memory *memory = &nest->platform->memory[hold->memory].is;
        const tw_engine *mover = hold->engine >= 0 ? &nest->platform->engine[hold->engine].is : NULL;
        if (memory->doubles != TW_DOUBLE_ANY)
            return tw_diag_error(b->diag, memory->loc, "memory '%s' has 'buffers: %s', which groups do not know",
                                 memory_name(nest, hold->memory), tw_doubling_name(memory->doubles));
        if (mover && (mover->joins || mover->drains))
            return tw_diag_error(b->diag, mover->loc, "engine '%s' has '%s', which groups do not know",
                                 nest->platform->engine[hold->engine].name,
                                 mover->joins ? "joins: inputs" : "prefetch: innermost");
    }
    return TW_OK;
}

/* Pieces of reductions are tiles, too. */
static tw_status check_reduce(const builder *b)
{
    const tw_nest *nest = b->nest;
    for (int k = 0; k < nest->n_ops; k++) {
        const tw_nest_op *op = &nest->op[k];
        const tw_engine *engine = &op->machine->engine[op->machine->compute];
        for (int l = 0; l < op->op->n_loops; l++) {
            int64_t n = tw_cdiv(op->op->loop[l].extent, op->reduce[l]), points = op->op->loop[l].extent / n;
            if (n > 1 && points < engine->min_tile)
                return tw_diag_infeasible(
                    b->diag, nest->map->loc,
                    "pieces of loop '%s' of '%s' have %" PRId64 " points, engine '%s' needs at least %" PRId64,
                    op->op->loop[l].name, op->op->name, points, engine->name, engine->min_tile);
        }
    }
    return TW_OK;
}

/* Partial sums of the driver stay until they are complete. */
static tw_status check_order(const builder *b)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *driver = &nest->op[nest->n_ops - 1];
    const tw_nest_hold *made = &nest->hold[driver->made];
    int outside = -1;
    tw_box box = tw_group_work(nest->map, driver->op);
    for (int p = 0; p < nest->n_places; p++) {
        int loop = nest->map->cut[p].loop;
        tw_split s = tw_place_split(nest, p, tw_span_len(box.span[loop]));
        box.span[loop] = tw_split_at(&s, box.span[loop].lo, 0);
        if (s.count < 2) continue;
        if (driver->op->loop[loop].reduces) outside = outside < 0 ? loop : outside;
        if (driver->op->loop[loop].reduces || outside < 0 || p >= made->depth) continue;
        return tw_diag_infeasible(
            b->diag, nest->map->cut[p].loc,
            "loop '%s' is cut inside reduction loop '%s': partial sums of '%s' would have to leave "
            "'%s', which groups do not do; keep '%s' there for longer, or change the order",
            driver->op->loop[loop].name, driver->op->loop[outside].name, tensor_name(nest, made->tensor),
            memory_name(nest, made->memory), tensor_name(nest, made->tensor));
    }
    return TW_OK;
}

static bool carries_ahead(const tw_nest *nest)
{
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        if (hold->engine >= 0 && nest->platform->engine[hold->engine].is.prefetches) return true;
        if (hold->drain >= 0 && nest->platform->engine[hold->drain].is.prefetches) return true;
    }
    return false;
}

/* What others read, too, leaves from where all that is made of it comes. */
static tw_status check_leaving(const builder *b)
{
    const tw_nest *nest = b->nest;
    for (int k = 0; k < nest->n_ops - 1; k++) {
        const tw_nest_hold *made = &nest->hold[nest->op[k].made];
        if (!leaves(nest, k) || !made->direct || made->direct == made->readers) continue;
        return tw_diag_infeasible(b->diag, nest->map->loc,
                                  "'%s' is read in several memories of group '%s', and outside of it",
                                  tensor_name(nest, made->tensor), nest->map->name);
    }
    return TW_OK;
}

/* What is made in a group whose reductions run along a loop is made for one step, and what runs is read where it is made. Inside of that loop no
 * other is cut. */
static tw_status check_running(const builder *b)
{
    const tw_nest *nest = b->nest;
    bool inside_loop = false;
    for (int p = 0; p < nest->n_places && nest->running.runs; p++) {
        bool other = nest->map->cut[p].loop != nest->map->running - 1;
        if (other && (inside_loop || nest->op[nest->n_ops - 1].op->loop[nest->map->cut[p].loop].reduces))
            return tw_diag_infeasible(b->diag, nest->map->cut[p].loc,
                                      "loop '%s' is cut where reductions of group '%s' run along another one",
                                      nest->op[nest->n_ops - 1].op->loop[nest->map->cut[p].loop].name,
                                      nest->map->name);
        inside_loop |= !other;
    }
    for (int s = 0; s < nest->n_holds && nest->running.runs; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        bool runs = hold->maker >= 0 && (nest->running.runs >> hold->maker & 1);
        bool inside = hold->maker >= 0 && hold->maker < nest->n_ops - 1;
        if (hold->per)
            return tw_diag_infeasible(b->diag, hold->loc,
                                      "'%s' is private to lanes, and reductions of group '%s' run along a loop",
                                      memory_name(nest, hold->memory), nest->map->name);
        if (inside && (hold->depth < nest->n_places || (runs && hold->from != TW_FROM_OP)))
            return tw_diag_infeasible(
                b->diag, hold->loc,
                hold->depth < nest->n_places
                    ? "'%s' is kept in '%s' while the loop moves on along which reductions of group '%s' run"
                    : "'%s' is moved to '%s', and changes with every step of group '%s'",
                tensor_name(nest, hold->tensor), memory_name(nest, hold->memory), nest->map->name);
    }
    return TW_OK;
}

static tw_status settle(builder *b)
{
    tw_nest *nest = b->nest;
    hold_longer(nest);
    find_loops(nest);
    TW_TRY(check_leaving(b));
    TW_TRY(check_running(b));
    nest->depths = (uint64_t)1 << nest->n_places;
    for (int s = 0; s < nest->n_holds; s++) {
        TW_TRY(settle_content(b, &nest->hold[s]));
        TW_TRY(check_slide(b, &nest->hold[s]));
        nest->any_slides |= nest->hold[s].slides;
        TW_TRY(check_lanes(b, &nest->hold[s]));
        nest->depths |= (uint64_t)1 << nest->hold[s].depth;
    }
    for (int k = 0; k < nest->n_ops; k++) TW_TRY(check_sums(b, k));
    nest->prefetches = carries_ahead(nest);
    TW_TRY(check_known(b));
    TW_TRY(check_reduce(b));
    return check_order(b);
}

/* ---- the walk that measures ---- */

/* What the cuts ask of the lengths that reach them. */
static tw_status check_cuts(const builder *b, const tw_nest_walk *w)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *driver = &nest->op[nest->n_ops - 1];
    const tw_engine *engine = &driver->machine->engine[driver->machine->compute];
    for (int p = 0; p < nest->n_places; p++) {
        const tw_nest_cut *cut = &nest->map->cut[p];
        int64_t len = tw_span_len(tw_nest_box(w, nest->n_ops - 1, p)->span[cut->loop]);
        if (!tw_place_is_legal(nest, p, len))
            return tw_diag_error(b->diag, cut->loc,
                                 "a piece of loop '%s' with %" PRId64 " points cannot be cut into %" PRId64
                                 " tiles",
                                 driver->op->loop[cut->loop].name, len, cut->count);
        tw_split s = tw_place_split(nest, p, len);
        if (s.count > 1 && len / s.count < engine->min_tile)
            return tw_diag_infeasible(
                b->diag, cut->loc,
                "tiles of loop '%s' have %" PRId64 " points, engine '%s' needs at least %" PRId64,
                driver->op->loop[cut->loop].name, len / s.count, engine->name, engine->min_tile);
    }
    return TW_OK;
}

/* An innermost tile of a cut loop is such as the engine takes. */
static tw_status check_taken(const builder *b, const tw_nest_cut *cut, int64_t len, bool last)
{
    const tw_nest_op *driver = &b->nest->op[b->nest->n_ops - 1];
    const tw_engine *engine = &driver->machine->engine[driver->machine->compute];
    const char *name = driver->op->loop[cut->loop].name;
    tw_taken taken = tw_taken_of(engine, driver->op, cut->loop);
    if (last ? len <= taken.last : tw_number_allows(&taken.tiles, len)) return TW_OK;
    if (taken.tiles.n_list == 0)
        return tw_diag_infeasible(b->diag, cut->loc,
                                  "a tile of loop '%s' has %" PRId64
                                  " points, engine '%s' needs a multiple of %" PRId64 " in all but the last",
                                  name, len, engine->name, taken.step);
    return tw_diag_infeasible(b->diag, cut->loc,
                              "a tile of loop '%s' has %" PRId64
                              " points, which is none of the sizes that engine '%s' takes",
                              name, len, engine->name);
}

/* A loop that is not cut is one tile, which may be too long. */
static tw_status check_whole(const builder *b, const tw_box *tile)
{
    const tw_nest_op *driver = &b->nest->op[b->nest->n_ops - 1];
    for (int l = 0; l < driver->op->n_loops; l++) {
        const tw_nest_cut whole = {.loc = b->nest->map->loc, .loop = l};
        int64_t len = tw_span_len(tile->span[l]);
        if (len == driver->op->loop[l].extent) TW_TRY(check_taken(b, &whole, len, true));
    }
    return TW_OK;
}

/* The innermost tile of every cut loop, but for the one that ends the loop. */
static tw_status check_tile(const builder *b, const tw_nest_walk *w)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *driver = &nest->op[nest->n_ops - 1];
    const tw_box *tile = tw_nest_box(w, nest->n_ops - 1, nest->n_places);
    for (int p = 0; p < nest->n_places; p++) {
        int l = nest->map->cut[p].loop;
        int64_t len = tw_span_len(tile->span[l]);
        bool last = tile->span[l].hi == driver->op->loop[l].extent;
        TW_TRY(check_taken(b, &nest->map->cut[p], len, last));
        if (driver->machine->pads && last && tile->span[l].lo > 0 && tile->span[l].lo % len != 0)
            return tw_diag_infeasible(
                b->diag, nest->map->cut[p].loc,
                "machine '%s' pads loops to whole tiles, which groups do not do: the last tile of '%s' "
                "has %" PRId64 " points",
                driver->machine->name, driver->op->loop[l].name, len);
    }
    return check_whole(b, tile);
}

/* Padding that an execution meets along one axis, against what its engine takes. */
static tw_status check_padding(const builder *b, const tw_nest_op *op, const tw_box *box)
{
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    for (int o = 0; o < tw_op_n_variables(op->op) && engine->pad_half; o++) {
        const tw_operand whole = tw_op_whole_input(op->op, o);
        for (int a = 0; a < whole.n_axes; a++) {
            const tw_axis *axis = &whole.axis[a];
            int64_t kernel = 0, lo, hi;
            for (int t = 0; t < axis->n_terms; t++)
                if (op->op->loop[axis->term[t].loop].reduces && axis->n_terms > 1)
                    kernel = tw_max(kernel, op->op->loop[axis->term[t].loop].extent);
            if (kernel == 0 || axis->divisor > 1) continue;
            tw_axis_padding(axis, box, &lo, &hi);
            if (tw_max(lo, hi) > kernel / 2)
                return tw_diag_infeasible(
                    b->diag, op->op->loc,
                    "a tile of '%s' has %" PRId64 " elements of padding, engine '%s' takes at most "
                    "%" PRId64 " for a kernel of %" PRId64 "; the padding must be materialised",
                    op->op->operand[o].name, tw_max(lo, hi), engine->name, kernel / 2, kernel);
        }
    }
    return TW_OK;
}

/* What operator k executes in a step, in pieces of its reductions. */
static const tw_box *run_box(const tw_nest *nest, const tw_nest_walk *w, int k)
{
    return tw_nest_box(w, k, k == nest->n_ops - 1 ? nest->n_places : nest->hold[nest->op[k].made].depth);
}

static tw_status refuse_made(const builder *b, const tw_nest_op *op, int l, int64_t len, const tw_taken *taken)
{
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    const char *loop = op->op->loop[l].name, *made = op->op->name;
    if (taken->tiles.n_list > 0)
        return tw_diag_infeasible(b->diag, b->nest->map->loc,
                                  "a tile of loop '%s' of '%s' has %" PRId64
                                  " points, which is none of the sizes that engine '%s' takes",
                                  loop, made, len, engine->name);
    if (len < engine->min_tile)
        return tw_diag_infeasible(b->diag, b->nest->map->loc,
                                  "a tile of loop '%s' of '%s' has %" PRId64
                                  " points, engine '%s' needs at least %" PRId64,
                                  loop, made, len, engine->name, engine->min_tile);
    return tw_diag_infeasible(b->diag, b->nest->map->loc,
                              "a tile of loop '%s' of '%s' has %" PRId64
                              " points, engine '%s' needs a multiple of %" PRId64 " in all but the last",
                              loop, made, len, engine->name, taken->step);
}

/* What a producer executes follows from what is read of it: where its engine takes some sizes only, it must be one of them. Multiples and a least
 * size are asked of tiles that are cut, which are the pieces of its reductions. */
static tw_status check_made(const builder *b, const tw_nest_op *op, const tw_box *box)
{
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    for (int l = 0; l < op->op->n_loops; l++) {
        int64_t extent = op->op->loop[l].extent,
                len = op->op->loop[l].reduces ? op->reduce[l] : tw_span_len(box->span[l]);
        bool whole = len == extent, last = !op->op->loop[l].reduces && box->span[l].hi == extent;
        tw_taken taken = tw_taken_of(engine, op->op, l);
        bool asked = op->op->loop[l].reduces || taken.tiles.n_list > 0,
             short_of = op->op->loop[l].reduces && !whole && len < engine->min_tile;
        bool refused = whole || last ? len > taken.last : !tw_number_allows(&taken.tiles, len);
        if (short_of || (asked && refused)) return refuse_made(b, op, l, len, &taken);
        if (op->machine->pads && !whole)
            return tw_diag_infeasible(b->diag, b->nest->map->loc,
                                      "machine '%s' pads loops to whole tiles, which groups do not do: a tile of "
                                      "loop '%s' of '%s' has %" PRId64 " points",
                                      op->machine->name, op->op->loop[l].name, op->op->name, len);
    }
    return TW_OK;
}

/* What an operator of the group executes in a step is such as its engine takes. */
static tw_status check_run(const builder *b, const tw_nest_walk *w, int k)
{
    const tw_nest_op *op = &b->nest->op[k];
    const tw_box *box = run_box(b->nest, w, k);
    tw_box ignored;
    if (tw_box_is_empty(op->op, box)) return TW_OK;
    if (k < b->nest->n_ops - 1) TW_TRY(check_made(b, op, box));
    return tw_nest_fills(b->nest, k, box, &ignored) ? TW_OK : check_padding(b, op, box);
}

/* Sums of one element lie in the same lanes whatever piece of the reduction is executed. */
static tw_status check_sharing(builder *b, const tw_nest_walk *w, int k)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *op = &nest->op[k];
    const tw_nest_hold *made = &nest->hold[op->made];
    const tw_box *held = tw_nest_box(w, k, made->depth);
    const tw_box *whole = k == nest->n_ops - 1 ? tw_nest_box(w, k, nest->n_places) : held;
    if (!made->per) return TW_OK;
    if (b->sharing[k] == 0) b->sharing[k] = tw_lanes_sharing(op, made->per, held);
    for (int64_t sub = 0; sub < op->n_subs; sub++) {
        tw_box box = tw_nest_sub_box(op, whole, sub);
        if (tw_lanes_sharing(op, made->per, &box) != b->sharing[k])
            return tw_diag_infeasible(
                b->diag, made->loc,
                "a reduction of '%s' lies over the lanes of '%s', where its tiles do not all fill the "
                "same ones: let them be of one size",
                op->op->name, memory_name(nest, made->memory));
    }
    return TW_OK;
}

/* A lane holds what its own executions need only if the loops over the lanes are not cut while it is held: each tile is divided
 * among the lanes anew. Sums are added to in whatever piece of a reduction. */
static tw_status check_pieces(const builder *b, const tw_nest_walk *w, const tw_nest_hold *s)
{
    const tw_nest *nest = b->nest;
    const tw_nest_op *op = &nest->op[s->which];
    int steps = s->which == nest->n_ops - 1 ? nest->n_places : nest->hold[op->made].depth;
    const tw_box *held = tw_nest_box(w, s->which, s->depth), *tile = tw_nest_box(w, s->which, steps);
    unsigned loops = tw_lane_loops(op, s->per);
    if (!s->inwards) loops &= ~tw_op_reductions(op->op);
    for (; loops; loops &= loops - 1) {
        int l = __builtin_ctz(loops);
        bool divided = !s->by_sub && op->reduce[l] < tw_span_len(tile->span[l]);
        if (tw_span_len(tile->span[l]) == 0 || op->parts[l] == 1) continue;
        if (!divided && held->span[l].lo == tile->span[l].lo && held->span[l].hi == tile->span[l].hi) continue;
        return tw_diag_infeasible(
            b->diag, s->loc,
            "loop '%s' of '%s' lies over the lanes of '%s' and is cut while '%s' is held there, so that a "
            "lane would need parts of all its tiles: hold it for a tile, or cut another loop",
            op->op->loop[l].name, op->op->name, memory_name(nest, s->memory), tensor_name(nest, s->tensor));
    }
    return TW_OK;
}

static int64_t held_elems(const tw_nest_walk *w, int s)
{
    const tw_nest *nest = w->nest;
    const tw_nest_hold *hold = &nest->hold[s];
    if (hold->from == TW_FROM_OP && (nest->running.references >> hold->maker & 1))
        return 2 * w->elems[s]; /* and what it was before the last step */
    const tw_nest_op *op = &nest->op[hold->which];
    const tw_box *box = tw_nest_box(w, hold->which, hold->depth);
    int64_t most = 0;
    if (!hold->by_sub) return hold->per ? tw_lane_elems(op, hold->operand, hold->per, box) : w->elems[s];
    for (int64_t sub = 0; sub < op->n_subs; sub++) {
        tw_box piece = tw_nest_sub_box(op, box, sub);
        tw_region region;
        most = tw_max(most, hold->per ? tw_lane_elems(op, hold->operand, hold->per, &piece)
                                      : tw_nest_sub_region(nest, s, &piece, &region));
    }
    return most;
}

/* Rows of the window, and how many of them come ahead of it and stay: each as many as most, and as long as the longest. */
static bool measure_slide(builder *b, const tw_nest_walk *w, int s)
{
    tw_nest_hold *hold = &b->nest->hold[s];
    tw_slide_rows *most = &b->rows[s];
    const struct tw_nest_slide *slide = &w->slide[s];
    if (w->elems[s] == 0) return true;
    int64_t rows = tw_span_len(w->region[s].axis[hold->axis]), fresh = tw_span_len(slide->fresh.axis[hold->axis]);
    most->window = tw_max(most->window, rows);
    most->moved = tw_max(most->moved, slide->moved);
    if (slide->continues && slide->elems > 0) most->kept = tw_max(most->kept, rows - fresh);
    most->row = tw_max(most->row, w->elems[s] / rows);
    return tw_ckd_mul(most->row * most->window, hold->elem_units, &hold->size) && hold->size <= INT64_MAX / 4 &&
           tw_ckd_mul(most->row * most->moved, hold->elem_units, &hold->ahead) && hold->ahead <= INT64_MAX / 4 &&
           tw_ckd_mul(most->row * most->kept, hold->elem_units, &hold->kept);
}

static tw_status measure_step(builder *b, const tw_nest_walk *w)
{
    tw_nest *nest = b->nest;
    TW_TRY(check_cuts(b, w));
    TW_TRY(check_tile(b, w));
    for (int k = 0; k < nest->n_ops; k++) {
        TW_TRY(check_run(b, w, k));
        TW_TRY(check_sharing(b, w, k));
    }
    for (int s = 0; s < nest->n_holds; s++) {
        tw_nest_hold *hold = &nest->hold[s];
        if (hold->per) TW_TRY(check_pieces(b, w, hold));
        int64_t units = 0, elems = hold->slides ? 0 : held_elems(w, s);
        if (!tw_ckd_mul(elems, hold->elem_units, &units) || units > INT64_MAX / 4 ||
            (hold->slides && !measure_slide(b, w, s)))
            return tw_diag_error(b->diag, hold->loc, "'%s' in '%s' takes more than 2^61 units",
                                 tensor_name(nest, hold->tensor), memory_name(nest, hold->memory));
        hold->size = tw_max(hold->size, units);
    }
    return TW_OK;
}

/* The first pieces of the cuts are legal, so that the walk can begin. */
static tw_status check_first(const builder *b)
{
    const tw_nest *nest = b->nest;
    const tw_op *op = nest->op[nest->n_ops - 1].op;
    tw_box box = tw_group_work(nest->map, op);
    int64_t steps = 1;
    for (int p = 0; p < nest->n_places; p++) {
        const tw_nest_cut *cut = &nest->map->cut[p];
        int64_t len = tw_span_len(box.span[cut->loop]);
        if (!tw_place_is_legal(nest, p, len))
            return tw_diag_error(b->diag, cut->loc,
                                 "loop '%s' with %" PRId64 " points cannot be cut into %" PRId64 " tiles",
                                 op->loop[cut->loop].name, len, cut->count);
        tw_split s = tw_place_split(nest, p, len);
        box.span[cut->loop] = tw_split_at(&s, box.span[cut->loop].lo, 0);
        if (!tw_ckd_mul(steps, s.count, &steps) || steps > most_steps)
            return tw_diag_error(b->diag, cut->loc, "group '%s' has more than 2^28 steps", nest->map->name);
    }
    return TW_OK;
}

/* ---- what others read, too ---- */

/* Marks the elements of a region of a tensor that were not made so far; how many these are. */
static int64_t mark_region(const tw_tensor *tensor, const tw_region *region, uint8_t *made)
{
    int64_t at[TW_MAX_AXES], n = 0;
    int last = tensor->n_axes - 1, a;
    for (a = 0; a <= last; a++) at[a] = region->axis[a].lo;
    do {
        int64_t row = 0;
        for (a = 0; a < last; a++) row = (row + at[a]) * tensor->extent[a + 1];
        for (int64_t e = row + region->axis[last].lo; e < row + region->axis[last].hi; e++) {
            n += !(made[e / 8] >> e % 8 & 1);
            made[e / 8] |= (uint8_t)(1u << e % 8);
        }
        for (a = last - 1; a >= 0 && ++at[a] >= region->axis[a].hi; a--) at[a] = region->axis[a].lo;
    } while (a >= 0);
    return n;
}

/* The elements of what leaves, each with a bit. */
static tw_status open_marks(builder *b, tw_arena *scratch)
{
    const tw_nest *nest = b->nest;
    for (int k = 0; k < nest->n_ops - 1; k++) {
        if (!leaves(nest, k)) continue;
        b->missing[k] = tw_tensor_elems(&nest->model->tensor[nest->hold[nest->op[k].made].tensor]);
        TW_ALLOC(scratch, b->marks[k], b->missing[k] / 8 + 1);
    }
    return TW_OK;
}

static void mark_made(builder *b, const tw_nest_walk *w)
{
    const tw_nest *nest = b->nest;
    tw_region region;
    for (int k = 0; k < nest->n_ops - 1; k++)
        if (b->marks[k] && tw_nest_asked(w, nest->op[k].made, &region) > 0)
            b->missing[k] -=
                mark_region(&nest->model->tensor[nest->hold[nest->op[k].made].tensor], &region, b->marks[k]);
}

static tw_status check_missing(const builder *b)
{
    const tw_nest *nest = b->nest;
    for (int k = 0; k < nest->n_ops - 1; k++)
        if (b->missing[k] > 0)
            return tw_diag_infeasible(
                b->diag, nest->map->loc,
                "'%s' is read outside of group '%s', too, which does not make %" PRId64 " of its elements",
                tensor_name(nest, nest->hold[nest->op[k].made].tensor), nest->map->name, b->missing[k]);
    return TW_OK;
}

static tw_status measure(builder *b, tw_arena *scratch)
{
    tw_nest_walk w;
    TW_TRY(open_marks(b, scratch));
    TW_TRY(tw_nest_walk_init(&w, b->nest, scratch));
    TW_ALLOC(scratch, b->rows, b->nest->n_holds);
    for (; !w.done; tw_nest_walk_next(&w), b->nest->n_steps++) {
        TW_TRY(measure_step(b, &w));
        mark_made(b, &w);
    }
    return check_missing(b);
}

static tw_status build_nest(builder *b, const tw_work *work)
{
    tw_nest *nest = b->nest;
    nest->n_ops = nest->map->n_ops;
    nest->n_places = nest->map->n_cuts;
    TW_ALLOC(b->arena, nest->op, nest->n_ops);
    for (int k = 0; k < nest->n_ops; k++) TW_TRY(open_op(b, k));
    int where;
    const char *why;
    if (nest->map->running > 0 && !tw_group_running(nest->map, nest->model, &nest->running, &where, &why))
        return tw_diag_error(b->diag, nest->map->loc, "reductions of group '%s' cannot run: of '%s', %s",
                             nest->map->name, nest->op[where].op->name, why);
    TW_TRY(check_first(b));
    TW_TRY(open_holds(b));
    TW_TRY(settle(b));
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = measure(b, work->scratch);
    tw_arena_rewind(work->scratch, mark);
    return status;
}

/* ---- all groups ---- */

static int output_of(const tw_nest *nest)
{
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    return driver->operand[tw_op_output(driver)].tensor;
}

bool tw_nest_makes(const tw_nest *nest, int tensor)
{
    for (int s = 0; s < nest->n_holds; s++)
        if (tw_tensors_share(nest->model, nest->hold[s].tensor, tensor) &&
            (nest->hold[s].drain >= 0 || nest->hold[s].resident))
            return true;
    return tw_tensors_share(nest->model, output_of(nest), tensor);
}

/* Of each tensor that others are views of. */
typedef struct crossing {
    bool made, loaded; /* a group makes it; one loads it for others, too */
    int read;          /* the last group that reads it of another one     */
} crossing;

/* What the group reads and groups before it make, or loaded for it. */
static void find_coming(tw_nest *nest, int group, crossing *of)
{
    const tw_model *model = nest->model;
    for (int s = 0; s < nest->n_holds; s++) {
        tw_nest_hold *hold = &nest->hold[s];
        crossing *c = &of[model->tensor[hold->tensor].root];
        if (hold->maker >= 0 || !(c->made || (c->loaded && home_of(nest, hold->tensor) > 0))) continue;
        hold->crosses = hold->comes = true;
        c->read = group;
    }
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        crossing *c = &of[model->tensor[hold->tensor].root];
        bool loads = hold->resident && hold->from == TW_FROM_TENSOR;
        c->loaded |= loads;
        c->made |= !loads && (hold->drain >= 0 || hold->resident);
    }
    of[model->tensor[output_of(nest)].root].made = true;
}

/* What passes from group to group. */
static tw_status find_crossing(const tw_joint *joint, tw_nest *nest, tw_arena *scratch)
{
    tw_arena_mark mark = tw_arena_save(scratch);
    crossing *of;
    TW_ALLOC(scratch, of, joint->model->n_tensors);
    for (int g = 0; g < joint->n_nests; g++) find_coming(&nest[g], g, of);
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++) {
            tw_nest_hold *hold = &nest[g].hold[s];
            if (hold->maker >= 0 && g < of[joint->model->tensor[hold->tensor].root].read &&
                tw_nest_makes(&nest[g], hold->tensor))
                hold->crosses = true;
        }
    tw_arena_rewind(scratch, mark);
    return TW_OK;
}

int64_t tw_joint_room(const tw_joint *joint, int memory)
{
    const tw_mapping *mapping = joint->nest[0].mapping;
    return tw_room_of(mapping->room, mapping->n_rooms, memory, joint->platform->memory[memory].is.size);
}

static tw_status refuse_size(const tw_joint *joint, int memory, int64_t need, tw_diag *diag)
{
    const tw_memory *mem = &joint->platform->memory[memory].is;
    int64_t room = tw_joint_room(joint, memory);
    tw_status status = tw_diag_infeasible(
        diag, joint->nest[0].map->loc, "memory '%s' is short by %" PRId64 ": buffers need %" PRId64 " of %" PRId64,
        joint->platform->memory[memory].name, need - room, need, room);
    diag->short_by = need - room;
    for (int i = 0; i < joint->n_holds; i++) {
        const tw_nest_hold *s = joint->hold[i];
        if (s->memory == memory && s->slides)
            tw_diag_note(diag, s->loc, "'%s' takes %" PRId64 " in '%s', where it slides",
                         joint->model->tensor[s->tensor].name, tw_nest_hold_units(s, s->slots),
                         joint->platform->memory[memory].name);
        else if (s->memory == memory)
            tw_diag_note(diag, s->loc, "'%s' takes %" PRId64 " x %" PRId64 " in '%s'",
                         joint->model->tensor[s->tensor].name, s->slots, s->size,
                         joint->platform->memory[memory].name);
    }
    tw_diag_note(diag, mem->loc, "memory '%s' declared here with %" PRId64, joint->platform->memory[memory].name,
                 mem->size);
    return status;
}

/* Buffers of a hold from *end on, lane by lane alike. */
static bool lay_hold(const tw_joint *joint, int group, tw_nest_hold *s, tw_buffer *buffer, int *n, int64_t *end)
{
    int64_t align = joint->platform->memory[s->memory].is.align;
    s->first = *n;
    for (int64_t slot = 0; slot < s->slots; slot++) {
        bool ahead = s->slides && slot > 0;
        int64_t at = ahead ? *end : tw_cdiv(*end, align) * align, size = ahead ? s->ahead : s->size;
        if (!tw_ckd_add(at, size, end) || *end > INT64_MAX / 2) return false;
        for (int lane = 0; lane < s->lanes; lane++)
            buffer[(*n)++] = (tw_buffer){.memory = s->memory,
                                         .operand = s->tensor,
                                         .slot = (int)slot,
                                         .offset = at,
                                         .size = size,
                                         .circular = s->slides,
                                         .inside = ahead,
                                         .pool = s->number,
                                         .lane = lane,
                                         .group = group};
    }
    return true;
}

/* By memories, groups and tensors. */
static int by_place(const void *x, const void *y)
{
    const tw_nest_hold *a = *(tw_nest_hold *const *)x, *b = *(tw_nest_hold *const *)y;
    if (a->memory != b->memory) return a->memory - b->memory;
    return a->group != b->group ? a->group - b->group : a->tensor - b->tensor;
}

/* The holds in a memory, of which `next` is the first; *next moves behind them. */
static tw_status lay_memory(tw_joint *joint, int memory, tw_nest_hold *const **next, tw_buffer *buffer,
                            tw_diag *diag)
{
    for (; **next && (**next)->memory == memory; ++*next) {
        tw_nest_hold *s = **next;
        if (!lay_hold(joint, s->group, s, buffer, &joint->n_buffers, &joint->used[memory]))
            return tw_diag_error(diag, s->loc, "buffers in '%s' exceed 2^62", joint->platform->memory[memory].name);
    }
    return TW_OK;
}

/* All holds, memory by memory; NULL behind the last. */
static tw_status list_places(const tw_joint *joint, tw_nest *nest, tw_arena *scratch, tw_nest_hold *const **out)
{
    tw_nest_hold **all;
    int n = 0;
    TW_ALLOC(scratch, all, joint->n_holds + 1);
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++) all[n++] = &nest[g].hold[s];
    qsort(all, (size_t)n, sizeof *all, by_place);
    *out = all;
    return TW_OK;
}

static tw_status lay_memories(tw_joint *joint, tw_nest *nest, tw_buffer *buffer, const tw_work *work)
{
    tw_nest_hold *const *next;
    TW_TRY(list_places(joint, nest, work->scratch, &next));
    for (int m = 1; m < joint->platform->n_memories; m++) {
        TW_TRY(lay_memory(joint, m, &next, buffer, work->diag));
        int64_t align = joint->platform->memory[m].is.align, room = tw_joint_room(joint, m);
        if (joint->used[m] <= room) continue;
        bool by_order = joint->used[m] - room < align; /* another one may end with a buffer that needs no gap */
        if (joint->n_ranks == 1 && !by_order) return refuse_size(joint, m, joint->used[m], work->diag);
        TW_TRY(tw_joint_pack(joint, m, buffer, work));
    }
    return TW_OK;
}

static tw_status lay_out(tw_joint *joint, tw_nest *nest, const tw_work *work)
{
    int64_t n = 0;
    tw_buffer *buffer;
    for (int i = 0; i < joint->n_holds; i++)
        if (!tw_ckd_add(n, joint->hold[i]->slots * joint->hold[i]->lanes, &n) || n > TW_MAX_BUFFERS)
            return tw_diag_error(work->diag, nest->map->loc, "the mapping has more than %d buffers",
                                 TW_MAX_BUFFERS);
    TW_ALLOC(work->arena, buffer, n + 1);
    joint->buffer = buffer;
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = lay_memories(joint, nest, buffer, work);
    tw_arena_rewind(work->scratch, mark);
    return status;
}

/* Stays are numbered over all groups. */
static tw_status number_holds(tw_joint *joint, tw_nest *nest, tw_arena *arena)
{
    const tw_nest_hold **all;
    int n = 0;
    for (int g = 0; g < joint->n_nests; g++) n += nest[g].n_holds;
    TW_ALLOC(arena, all, n);
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++) {
            nest[g].hold[s].number = joint->n_holds;
            nest[g].hold[s].group = g;
            all[joint->n_holds++] = &nest[g].hold[s];
        }
    joint->hold = all;
    return TW_OK;
}

tw_status tw_joint_build(const tw_model *model, const tw_platform *platform, const tw_mapping *mapping,
                         const tw_work *work, const tw_joint **out)
{
    tw_joint *joint;
    tw_nest *nest;
    TW_ALLOC(work->arena, joint, 1);
    TW_ALLOC(work->arena, nest, mapping->n_groups);
    *joint = (tw_joint){.model = model, .platform = platform, .n_nests = mapping->n_groups, .nest = nest};
    for (int g = 0; g < joint->n_nests; g++) {
        nest[g] = (tw_nest){
            .model = model, .platform = platform, .map = &mapping->group[g], .mapping = mapping, .group = g};
        builder b = {.nest = &nest[g], .arena = work->arena, .diag = work->diag};
        TW_TRY(build_nest(&b, work));
    }
    TW_TRY(find_crossing(joint, nest, work->scratch));
    TW_TRY(number_holds(joint, nest, work->arena));
    tw_joint_live(joint, nest);
    TW_TRY(lay_out(joint, nest, work));
    tw_joint_settle_residents(joint, nest);
    TW_TRY(tw_joint_find_heirs(joint, work));
    *out = joint;
    return TW_OK;
}
