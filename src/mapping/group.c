/* src/mapping/group.c - what follows from a group, and whether it is sound; see groups.h.
 *
 * First comes what a group is by itself: operators in an order, on engines of one core or of several with links between them; levels, cuts, arrays; at last holds, for
 * which all of that must be right. Then what groups are to each other: every operator is in one group or,
 * in parts, in several that are alike; what is read was made by groups that stand before. */
#include <string.h>

#include "mapping/groups.h"
#include "tile/box.h"

/* ---- what follows ---- */

static const tw_op *op_of(const tw_model *model, const tw_group_map *group, int i)
{
    return &model->op[group->op[i].op];
}

int tw_group_maker(const tw_group_map *group, const tw_model *model, int tensor)
{
    for (int i = 0; i < group->n_ops; i++)
        if (tw_op_makes(op_of(model, group, i)) == tensor) return i;
    return -1;
}

bool tw_group_is_inside(const tw_group_map *group, const tw_model *model, int tensor)
{
    int maker = tw_group_maker(group, model, tensor);
    return maker >= 0 && maker < group->n_ops - 1;
}

static bool has_op(const tw_group_map *group, int op)
{
    for (int i = 0; i < group->n_ops; i++)
        if (group->op[i].op == op) return true;
    return false;
}

bool tw_group_is_stored(const tw_group_map *group, const tw_model *model, int tensor)
{
    if (model->tensor[tensor].is_output && tw_group_is_inside(group, model, tensor)) return true;
    for (int r = 0; r < model->n_ops && tw_group_is_inside(group, model, tensor); r++)
        if (!has_op(group, r) && tw_op_reads_bytes(model, &model->op[r], tensor)) return true;
    return false;
}

const tw_hold *tw_group_find_hold(const tw_group_map *group, int tensor, int memory)
{
    for (int h = 0; h < group->n_holds; h++)
        if (group->hold[h].tensor == tensor && group->hold[h].memory == memory) return &group->hold[h];
    return NULL;
}

tw_box tw_group_work(const tw_group_map *group, const tw_op *driver)
{
    tw_box box = tw_box_of_op(driver);
    for (int i = 0; i < group->n_parts; i++) box.span[group->part[i].loop] = group->part[i].span;
    return box;
}

int64_t tw_group_extent(const tw_group_map *group, const tw_op *driver, int loop)
{
    for (int i = 0; i < group->n_parts; i++)
        if (group->part[i].loop == loop) return tw_span_len(group->part[i].span);
    return driver->loop[loop].extent;
}

int tw_group_depth(const tw_group_map *group, int tensor, int memory)
{
    const tw_hold *hold = tw_group_find_hold(group, tensor, memory);
    if (hold && hold->depth >= 0) return hold->depth;
    for (int l = 0; l < group->n_levels; l++)
        if (group->level[l].memory >= memory) return group->level[l].depth;
    return group->n_cuts;
}

int64_t tw_group_slots(const tw_group_map *group, int tensor, int memory)
{
    const tw_hold *hold = tw_group_find_hold(group, tensor, memory);
    return hold && hold->slots > 0 ? hold->slots : 1;
}

const tw_cost *tw_group_cost(const tw_grouping *c, const tw_group_op *op)
{
    const tw_machine *machine = &c->machine->platform->view[op->view].machine;
    tw_compute compute = c->model->op[op->op].compute;
    return machine->has_apart >> compute & 1 ? &machine->apart[compute] : &machine->engine[machine->compute].cost;
}

bool tw_group_running(const tw_group_map *group, const tw_model *model, tw_running *out, int *where,
                      const char **why)
{
    const tw_op *op[TW_MAX_GROUP_OPS];
    for (int i = 0; i < group->n_ops; i++) op[i] = op_of(model, group, i);
    return tw_running_of(model, op, group->n_ops, group->running - 1, out, where, why);
}

/* All memories that the operand passes, memory 0 among them. */
static int path_of(const tw_grouping *c, const tw_group_op *op, int operand, int memory[TW_MAX_MEMORIES])
{
    const tw_platform_view *view = &c->machine->platform->view[op->view];
    tw_path path = tw_machine_path(&view->machine, &c->model->op[op->op], operand);
    int n = 0;
    for (int m = 0; m < view->machine.n_memories; m++)
        if (path >> m & 1) memory[n++] = view->memory[m];
    return n;
}

static bool is_among(const int *list, int n, int x)
{
    for (int i = 0; i < n; i++)
        if (list[i] == x) return true;
    return false;
}

/* Where on the path of what `maker` makes the operand of a reader begins: an index into that path; 0 is memory 0. */
static int meeting(const tw_grouping *c, const tw_group_op *maker, const tw_group_op *reader, int operand)
{
    int out[TW_MAX_MEMORIES], in[TW_MAX_MEMORIES];
    int at = path_of(c, maker, tw_op_output(&c->model->op[maker->op]), out) - 1;
    int n = path_of(c, reader, operand, in);
    while (at > 0 && !is_among(in, n, out[at])) at--;
    return at;
}

/* The memories between which links bring an operand of a reader from its maker in the group, where no memory is on both of their paths; false: none do. */
static bool find_ends(const tw_grouping *c, const tw_group_op *maker, const tw_group_op *reader, int operand,
                      int *from, int *to)
{
    int out[TW_MAX_MEMORIES], in[TW_MAX_MEMORIES];
    int n_out = path_of(c, maker, tw_op_output(&c->model->op[maker->op]), out),
        n_in = path_of(c, reader, operand, in);
    int link[TW_MAX_HOPS];
    int n = tw_platform_find_route(c->machine->platform, (tw_memory_list){n_out, out}, (tw_memory_list){n_in, in},
                                   &c->model->op[reader->op], operand, link);
    if (n == 0) return false;
    *from = c->machine->platform->engine[link[0]].is.outer;
    *to = c->machine->platform->engine[link[n - 1]].is.memory;
    return true;
}

static int place_of(const int *list, int n, int x)
{
    int i = 0;
    while (i < n && list[i] != x) i++;
    return i;
}

/* Of a maker inside the group: the outermost of the places where somebody takes what it makes. */
static int first_meeting(const tw_grouping *c, const tw_group_map *group, int maker)
{
    int tensor = tw_op_makes(op_of(c->model, group, maker)), least = TW_MAX_MEMORIES;
    for (int i = maker + 1; i < group->n_ops; i++) {
        const tw_op *op = op_of(c->model, group, i);
        for (int o = 0; o < tw_op_output(op); o++) {
            if (op->operand[o].tensor != tensor) continue;
            int at = meeting(c, &group->op[maker], &group->op[i], o);
            int from, to;
            if (at == 0 && find_ends(c, &group->op[maker], &group->op[i], o, &from, &to)) {
                int out[TW_MAX_MEMORIES],
                    n = path_of(c, &group->op[maker], tw_op_output(op_of(c->model, group, maker)), out);
                at = place_of(out, n, from);
            }
            least = at < least ? at : least;
        }
    }
    return least;
}

/* Drops the first `n` of `total`. */
static int drop(int *memory, int total, int n)
{
    n = n < total ? n : total;
    memmove(memory, memory + n, (size_t)(total - n) * sizeof *memory);
    return total - n;
}

int tw_group_chain(const tw_grouping *c, const tw_group_map *group, int op, int operand,
                   int memory[TW_MAX_MEMORIES])
{
    const tw_op *is = op_of(c->model, group, op);
    int tensor = is->operand[operand].tensor, maker = tw_group_maker(group, c->model, tensor), first = 1;
    int n = path_of(c, &group->op[op], operand, memory);
    if (!tw_group_is_inside(group, c->model, tensor)) return drop(memory, n, 1);
    if (maker == op && tw_group_is_stored(group, c->model, tensor)) return drop(memory, n, 1);
    if (maker == op) return drop(memory, n, (int)tw_max(1, first_meeting(c, group, op)));
    int out[TW_MAX_MEMORIES], at = meeting(c, &group->op[maker], &group->op[op], operand);
    int from, to;
    if (at == 0 && find_ends(c, &group->op[maker], &group->op[op], operand, &from, &to))
        return drop(memory, n, place_of(memory, n, to));
    path_of(c, &group->op[maker], tw_op_output(op_of(c->model, group, maker)), out);
    while (at > 0 && first < n && memory[first] != out[at]) first++;
    return drop(memory, n, first);
}

/* ---- a group by itself ---- */

/* What is judged, and the group at hand. */
typedef struct judge {
    const tw_grouping *c;
    const tw_group_map *group;
    const tw_group_locs *locs;
    const tw_platform *platform;
    tw_diag *diag;
} judge;

static judge judge_of(const tw_grouping *c, int group)
{
    return (judge){c, &c->group[group], c->locs ? &c->locs[group] : NULL, c->machine->platform, c->diag};
}

/* Where a part of the group was written. */
#define AT(j, part) ((j)->locs && (j)->locs->part.file ? (j)->locs->part : (j)->group->loc)

static const tw_op *judged_op(const judge *j, int i) { return op_of(j->c->model, j->group, i); }

static const char *tensor_name(const judge *j, int tensor) { return j->c->model->tensor[tensor].name; }

static const char *engine_name(const judge *j, int i)
{
    return j->platform->engine[j->platform->view[j->group->op[i].view].engine].name;
}

static const char *memory_name(const judge *j, int memory) { return j->platform->memory[memory].name; }

static tw_status check_numbers(const judge *j)
{
    const tw_group_map *g = j->group;
    if (g->n_ops < 1 || g->n_ops > TW_MAX_GROUP_OPS)
        return tw_diag_error(j->diag, g->loc, "a group has 1..%d operators, found %d", TW_MAX_GROUP_OPS, g->n_ops);
    if (g->n_levels < 1 || g->n_levels > TW_MAX_GROUP_LEVELS)
        return tw_diag_error(j->diag, g->loc, "a group has 1..%d levels, found %d", TW_MAX_GROUP_LEVELS,
                             g->n_levels);
    if (g->n_cuts < 0 || g->n_cuts > TW_MAX_CUTS)
        return tw_diag_error(j->diag, g->loc, "the levels of a group cut at most %d times, found %d", TW_MAX_CUTS,
                             g->n_cuts);
    for (int i = 0; i < g->n_ops; i++)
        if (g->op[i].op < 0 || g->op[i].op >= j->c->model->n_ops || g->op[i].view < 0 ||
            g->op[i].view >= j->platform->n_views)
            return tw_diag_error(j->diag, g->loc, "operator %d of a group, or its engine, is not there", i);
    return TW_OK;
}

static tw_status check_engine(const judge *j, int i)
{
    const tw_platform_view *view = &j->platform->view[j->group->op[i].view];
    const tw_op *op = judged_op(j, i);
    if (!tw_machine_computes(&view->machine, op))
        return tw_diag_error(j->diag, AT(j, engine[i]), "operator '%s' computes %s, engine '%s' does not", op->name,
                             tw_compute_name(op->compute), engine_name(j, i));
    return tw_machine_check_op(&view->machine, op, j->diag);
}

static tw_status check_made_before(const judge *j, int i)
{
    const tw_op *op = judged_op(j, i);
    for (int o = 0; o < tw_op_output(op); o++) {
        int maker = tw_group_maker(j->group, j->c->model, op->operand[o].tensor);
        if (maker >= i)
            return tw_diag_error(j->diag, AT(j, op[i]), "'%s' reads '%s', which '%s' makes only behind it",
                                 op->name, tensor_name(j, op->operand[o].tensor), judged_op(j, maker)->name);
        for (int k = 0; k < j->group->n_ops && maker < 0; k++)
            if (tw_tensors_share(j->c->model, tw_op_makes(judged_op(j, k)), op->operand[o].tensor))
                return tw_diag_error(j->diag, AT(j, op[i]), "'%s' sees what '%s' makes in another shape: %s",
                                     op->name, judged_op(j, k)->name, "they cannot be in one group");
    }
    return TW_OK;
}

/* What a producer makes is read inside, and perhaps outside, too. */
static tw_status check_readers(const judge *j, int i)
{
    const tw_op *op = judged_op(j, i), *driver = judged_op(j, j->group->n_ops - 1);
    unsigned inside = 0;
    for (int k = i + 1; k < j->group->n_ops; k++) inside += tw_op_reads(judged_op(j, k), tw_op_makes(op));
    if (inside == 0)
        return tw_diag_error(j->diag, AT(j, op[i]), "nobody in the group reads what '%s' makes, and '%s' drives it",
                             op->name, driver->name);
    if (j->group->n_parts > 0 && tw_group_is_stored(j->group, j->c->model, tw_op_makes(op)))
        return tw_diag_error(j->diag, AT(j, op[i]), "'%s' is %s, and the group has only a part of the work of '%s'",
                             tensor_name(j, tw_op_makes(op)), tw_needed_as(j->c->model, tw_op_makes(op)),
                             driver->name);
    return TW_OK;
}

static tw_status check_meets(const judge *j, int i)
{
    const tw_op *op = judged_op(j, i);
    for (int o = 0; o < tw_op_output(op); o++) {
        int tensor = op->operand[o].tensor, maker = tw_group_maker(j->group, j->c->model, tensor), from, to;
        if (maker < 0 || meeting(j->c, &j->group->op[maker], &j->group->op[i], o) > 0 ||
            find_ends(j->c, &j->group->op[maker], &j->group->op[i], o, &from, &to))
            continue;
        return tw_diag_error(j->diag, AT(j, op[i]),
                             "'%s' cannot pass from '%s' to '%s' inside the group: on their paths they have only "
                             "'%s' in common",
                             tensor_name(j, tensor), judged_op(j, maker)->name, op->name, memory_name(j, 0));
    }
    return TW_OK;
}

static tw_status check_ops(const judge *j)
{
    tw_status status = TW_OK;
    for (int i = 0; i < j->group->n_ops; i++) {
        for (int k = 0; k < i; k++)
            if (j->group->op[k].op == j->group->op[i].op)
                return tw_diag_error(j->diag, AT(j, op[i]), "'%s' is in the group twice", judged_op(j, i)->name);
        if (check_made_before(j, i) != TW_OK || check_engine(j, i) != TW_OK) status = TW_ERR_INPUT;
    }
    TW_TRY(status);
    for (int i = 0; i < j->group->n_ops; i++)
        if ((i < j->group->n_ops - 1 && check_readers(j, i) != TW_OK) || check_meets(j, i) != TW_OK)
            status = TW_ERR_INPUT;
    return status;
}

/* ---- levels and cuts ---- */

/* Whether something passes the memory in the group. */
static bool is_passed(const judge *j, int tensor, int memory)
{
    int chain[TW_MAX_MEMORIES];
    for (int i = 0; i < j->group->n_ops; i++) {
        const tw_op *op = judged_op(j, i);
        for (int o = 0; o < op->n_operands; o++) {
            if (tensor >= 0 && op->operand[o].tensor != tensor) continue;
            if (is_among(chain, tw_group_chain(j->c, j->group, i, o, chain), memory)) return true;
        }
    }
    return false;
}

static tw_status check_level(const judge *j, int l)
{
    const tw_group_level *level = &j->group->level[l];
    int before = l > 0 ? level[-1].memory : 0, outside = l > 0 ? level[-1].depth : 0;
    if (level->memory < 0 || level->memory >= j->platform->n_memories || level->depth < outside ||
        level->depth > j->group->n_cuts)
        return tw_diag_error(j->diag, level->loc, "level %d has a memory or cuts that are not there", l);
    if (level->memory == 0)
        return tw_diag_error(j->diag, level->loc, "the outermost memory '%s' has no level", memory_name(j, 0));
    if (level->memory <= before)
        return tw_diag_error(j->diag, level->loc, "the level of '%s' stands behind that of '%s', which is %s",
                             memory_name(j, level->memory), memory_name(j, before),
                             level->memory == before ? "the same" : "further inside");
    if (!is_passed(j, -1, level->memory))
        return tw_diag_error(j->diag, level->loc, "nothing in the group passes memory '%s'",
                             memory_name(j, level->memory));
    return TW_OK;
}

static const tw_op *driver_of(const judge *j) { return judged_op(j, j->group->n_ops - 1); }

/* The largest piece of the loop that the cuts before number `cut` leave. */
static int64_t piece_before(const judge *j, int cut)
{
    int loop = j->group->cut[cut].loop;
    int64_t len = tw_group_extent(j->group, driver_of(j), loop);
    for (int k = 0; k < cut; k++) {
        const tw_nest_cut *c = &j->group->cut[k];
        if (c->loop == loop) len = c->size > 0 ? tw_min(c->size, len) : tw_cdiv(len, tw_max(c->count, 1));
    }
    return len;
}

static tw_status check_count(const judge *j, int k)
{
    const tw_nest_cut *cut = &j->group->cut[k];
    const tw_loop *loop = &driver_of(j)->loop[cut->loop];
    int64_t len = piece_before(j, k), tile;
    if (cut->count < 1 || cut->count > len)
        return tw_diag_error(j->diag, cut->loc, "'%s' is cut into %" PRId64 " tiles, %s %" PRId64, loop->name,
                             cut->count, len == loop->extent ? "its extent is" : "the largest piece has", len);
    if (tw_split_is_legal(len, cut->count, cut->rule)) return TW_OK;
    tile = tw_cdiv(len, cut->count);
    return tw_diag_error(j->diag, cut->loc,
                         "'%s' with %" PRId64 " points has no greedy cut into %" PRId64
                         " tiles; the nearest counts are %" PRId64 " and %" PRId64,
                         loop->name, len, cut->count, tw_cdiv(len, tile), tw_cdiv(len, tile - 1));
}

static tw_status check_size(const judge *j, int k)
{
    const tw_nest_cut *cut = &j->group->cut[k];
    const tw_loop *loop = &driver_of(j)->loop[cut->loop];
    if (cut->size >= 1 && cut->size <= loop->extent) return TW_OK;
    return tw_diag_error(j->diag, cut->loc, "'%s' is cut into tiles of %" PRId64 ", its extent is %" PRId64,
                         loop->name, cut->size, loop->extent);
}

/* Each cut is of a level, whose cuts stand together, and of a loop that the level cuts once and, all counts of a level, by one rule. */
static tw_status check_cut(const judge *j, int k)
{
    const tw_group_map *g = j->group;
    const tw_nest_cut *cut = &g->cut[k];
    int level = cut->level, outside = level > 0 && level < g->n_levels ? g->level[level - 1].depth : 0;
    if (cut->loop < 0 || cut->loop >= driver_of(j)->n_loops || level < 0 || level >= g->n_levels || k < outside ||
        k >= g->level[level].depth)
        return tw_diag_error(j->diag, cut->loc, "cut %d has a loop or a level that is not there", k);
    const char *name = driver_of(j)->loop[cut->loop].name;
    if ((cut->count != 0) == (cut->size != 0))
        return tw_diag_error(j->diag, cut->loc, "'%s' has %s a count %s a size", name,
                             cut->size ? "both" : "neither", cut->size ? "and" : "nor");
    for (int o = outside; o < k; o++) {
        if (g->cut[o].loop == cut->loop) return tw_diag_error(j->diag, cut->loc, "'%s' is cut twice", name);
        if (g->cut[o].count > 0 && cut->count > 0 && g->cut[o].rule != cut->rule)
            return tw_diag_error(j->diag, cut->loc, "'%s' is cut by another rule than loops before it", name);
    }
    return cut->size != 0 ? check_size(j, k) : check_count(j, k);
}

static tw_status check_part(const judge *j, int i)
{
    const tw_op *op = driver_of(j);
    int l = j->group->part[i].loop;
    tw_span part = j->group->part[i].span;
    if (l < 0 || l >= op->n_loops) return tw_diag_error(j->diag, AT(j, part), "'%s' has no loop %d", op->name, l);
    if (op->loop[l].reduces)
        return tw_diag_error(j->diag, AT(j, part), "'%s' reduces; only parallel loops are split", op->loop[l].name);
    if (part.lo < 0 || part.hi > op->loop[l].extent || part.lo >= part.hi)
        return tw_diag_error(j->diag, AT(j, part),
                             "'%s' has the part %" PRId64 "..%" PRId64 ", its extent is %" PRId64, op->loop[l].name,
                             part.lo, part.hi, op->loop[l].extent);
    for (int k = 0; k < i; k++)
        if (j->group->part[k].loop == l)
            return tw_diag_error(j->diag, AT(j, part), "the group has two parts of '%s'", op->loop[l].name);
    return TW_OK;
}

static tw_status check_levels(const judge *j)
{
    tw_status status = TW_OK;
    for (int l = 0; l < j->group->n_levels; l++)
        if (check_level(j, l) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    if (j->group->level[j->group->n_levels - 1].depth != j->group->n_cuts)
        return tw_diag_error(j->diag, j->group->loc, "some cuts are of no level");
    if (j->group->n_parts < 0 || j->group->n_parts > TW_MAX_SPLIT_LOOPS)
        return tw_diag_error(j->diag, AT(j, part), "a group has parts of at most %d loops, found %d",
                             TW_MAX_SPLIT_LOOPS, j->group->n_parts);
    for (int i = 0; i < j->group->n_parts; i++) TW_TRY(check_part(j, i));
    for (int k = 0; k < j->group->n_cuts; k++)
        if (check_cut(j, k) != TW_OK) status = TW_ERR_INPUT;
    return status;
}

/* ---- arrays and reductions ---- */

static tw_status check_dim(const judge *j, int i, int d)
{
    const tw_group_op *map = &j->group->op[i];
    const tw_op *op = judged_op(j, i);
    const tw_cost *cost = tw_group_cost(j->c, map);
    int64_t product = 1;
    int first = -1;
    for (int l = 0; l < op->n_loops; l++) {
        if (map->over.dim[l] != d + 1) continue;
        if (first >= 0 && (map->parts[l] > 0) != (map->parts[first] > 0))
            return tw_diag_error(j->diag, AT(j, unroll[i][l]), "of the loops over '%s' all have parts, or none",
                                 cost->array.dim[d]);
        if (first < 0) first = l;
        if (map->parts[l] == 0) continue;
        if (!tw_ckd_mul(product, map->parts[l], &product)) product = INT64_MAX;
        if (product > cost->array.size[d])
            return tw_diag_error(j->diag, AT(j, unroll[i][l]),
                                 "the loops over '%s' have %" PRId64 " parts together, it has %" PRId64 " places",
                                 cost->array.dim[d], product, cost->array.size[d]);
    }
    return TW_OK;
}

/* What lanes of a private memory hold are pieces of loops over its dimensions, so a divided loop has none. */
static tw_status check_divided(const judge *j, int i, int l)
{
    const tw_group_op *map = &j->group->op[i];
    const tw_platform_view *view = &j->platform->view[map->view];
    tw_loc loc = AT(j, unroll[i][l]);
    for (int m = 0; m < view->machine.n_memories; m++)
        if (view->machine.memory[m].per)
            return tw_diag_error(j->diag, loc, "'%s' is divided, but lanes of '%s' have whole pieces of a loop",
                                 judged_op(j, i)->loop[l].name, view->machine.memory[m].name);
    for (int d = tw_cost_dims(tw_group_cost(j->c, map)); d < TW_MAX_DIMS; d++)
        if (map->over.share[l][d] > 0)
            return tw_diag_error(j->diag, loc, "the array of '%s' has no dimension %d", engine_name(j, i), d);
    return tw_spread_check(&map->over, judged_op(j, i), &view->machine.engine[view->machine.compute], loc, j->diag);
}

static tw_status check_unrolled(const judge *j, int i, int l)
{
    const tw_group_op *map = &j->group->op[i];
    const tw_platform_view *view = &j->platform->view[map->view];
    const tw_op *op = judged_op(j, i);
    const tw_cost *cost = tw_group_cost(j->c, map);
    tw_loc loc = AT(j, unroll[i][l]);
    bool divided = tw_spread_divides(&map->over, l);
    if (map->parts[l] < 0 || (map->over.dim[l] == 0 && !divided && map->parts[l] != 0))
        return tw_diag_error(j->diag, loc, "'%s' has parts and lies over no dimension", op->loop[l].name);
    if (map->parts[l] > 0 && divided)
        return tw_diag_error(j->diag, loc, "'%s' is divided, so it has no parts", op->loop[l].name);
    if (map->over.dim[l] == 0 && !divided) return TW_OK;
    if (cost->kind != TW_COST_ARRAY)
        return tw_diag_error(j->diag, loc, "engine '%s' has no array to unroll '%s' over", engine_name(j, i),
                             op->name);
    if (map->over.dim[l] < 0 || map->over.dim[l] > tw_cost_dims(cost))
        return tw_diag_error(j->diag, loc, "the array of '%s' has no dimension %d", engine_name(j, i),
                             map->over.dim[l] - 1);
    if (op->loop[l].reduces && view->machine.engine[view->machine.compute].unrolls_parallel)
        return tw_diag_error(j->diag, loc,
                             "'%s' reduces; engine '%s' keeps a sum in each element of its array and unrolls "
                             "parallel loops only",
                             op->loop[l].name, engine_name(j, i));
    return divided ? check_divided(j, i, l) : TW_OK;
}

static tw_status check_reduced(const judge *j, int i, int l)
{
    const tw_loop *loop = &judged_op(j, i)->loop[l];
    int64_t size = j->group->op[i].reduce[l];
    tw_loc loc = AT(j, reduce[i][l]);
    if (size == 0) return TW_OK;
    if (i == j->group->n_ops - 1)
        return tw_diag_error(j->diag, loc, "'%s' drives the group: its reductions are cut by levels",
                             judged_op(j, i)->name);
    if (!loop->reduces) return tw_diag_error(j->diag, loc, "'%s' does not reduce", loop->name);
    if (size < 1 || size > loop->extent)
        return tw_diag_error(j->diag, loc, "'%s' is cut into pieces of %" PRId64 ", its extent is %" PRId64,
                             loop->name, size, loop->extent);
    return TW_OK;
}

static tw_status check_loops(const judge *j, int i)
{
    tw_status status = TW_OK;
    for (int l = 0; l < judged_op(j, i)->n_loops; l++)
        if (check_unrolled(j, i, l) != TW_OK || check_reduced(j, i, l) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    const tw_cost *cost = tw_group_cost(j->c, &j->group->op[i]);
    for (int d = 0; d < tw_cost_dims(cost); d++)
        if (check_dim(j, i, d) != TW_OK) status = TW_ERR_INPUT;
    return status;
}

/* ---- holds ---- */

static int level_of(const judge *j, int memory)
{
    for (int l = 0; l < j->group->n_levels; l++)
        if (j->group->level[l].memory == memory) return l;
    return -1;
}

static tw_status check_hold(const judge *j, int h)
{
    const tw_hold *hold = &j->group->hold[h];
    int level = hold->memory >= 0 ? level_of(j, hold->memory) : -1;
    if (hold->tensor < 0 || hold->tensor >= j->c->model->n_tensors || level < 0)
        return tw_diag_error(j->diag, hold->loc, "hold %d has a tensor or a level that is not there", h);
    int outside = level > 0 ? j->group->level[level - 1].depth : 0, inside = j->group->level[level].depth;
    const char *name = tensor_name(j, hold->tensor);
    if (hold->slots < 0 || hold->slots > TW_MAX_CREDITS)
        return tw_diag_error(j->diag, hold->loc, "'%s' is %" PRId64 ", outside 1..%d", name, hold->slots,
                             TW_MAX_CREDITS);
    if (hold->depth != -1 && (hold->depth < outside || hold->depth > inside))
        return tw_diag_error(j->diag, hold->loc, "'%s' is held over %d cuts, outside %d..%d", name, hold->depth,
                             outside, inside);
    if (hold->slide < 0 || hold->slide > driver_of(j)->n_loops)
        return tw_diag_error(j->diag, hold->loc, "'%s' slides along loop %d, which is not there", name,
                             hold->slide - 1);
    if (tw_group_find_hold(j->group, hold->tensor, hold->memory) != hold)
        return tw_diag_error(j->diag, hold->loc, "'%s' is held in '%s' twice", name, memory_name(j, hold->memory));
    if (!is_passed(j, hold->tensor, hold->memory))
        return tw_diag_error(j->diag, hold->loc, "'%s' does not pass memory '%s' in the group", name,
                             memory_name(j, hold->memory));
    return TW_OK;
}

/* Where the depth was said: inside, or outside. */
static tw_loc depth_loc(const judge *j, int tensor, int inner, int outer)
{
    const tw_hold *hold = tw_group_find_hold(j->group, tensor, inner);
    if (!hold || hold->depth < 0) hold = tw_group_find_hold(j->group, tensor, outer);
    return hold && hold->loc.file ? hold->loc : j->group->loc;
}

static tw_status check_depths(const judge *j, int i, int operand)
{
    int memory[TW_MAX_MEMORIES], n = tw_group_chain(j->c, j->group, i, operand, memory);
    int tensor = judged_op(j, i)->operand[operand].tensor;
    for (int m = 1; m < n; m++) {
        int outer = tw_group_depth(j->group, tensor, memory[m - 1]),
            inner = tw_group_depth(j->group, tensor, memory[m]);
        if (inner < outer)
            return tw_diag_error(j->diag, depth_loc(j, tensor, memory[m], memory[m - 1]),
                                 "'%s' is held in '%s' over %d cuts, in '%s' outside of it over %d: it must not "
                                 "stay longer further inside",
                                 tensor_name(j, tensor), memory_name(j, memory[m]), inner,
                                 memory_name(j, memory[m - 1]), outer);
    }
    return TW_OK;
}

/* A window slides along the loop whose cut is the last that stands still while it is held: then that is what changes it. */
static tw_status check_slide(const judge *j, const tw_hold *hold)
{
    int depth = tw_group_depth(j->group, hold->tensor, hold->memory), place = -1;
    const char *name = tensor_name(j, hold->tensor), *memory = memory_name(j, hold->memory);
    if (hold->slide == 0) return TW_OK;
    const tw_loop *loop = &driver_of(j)->loop[hold->slide - 1];
    if (tw_group_maker(j->group, j->c->model, hold->tensor) == j->group->n_ops - 1)
        return tw_diag_error(j->diag, hold->loc, "'%s' cannot slide in '%s': it is the output of the group", name,
                             memory);
    if (j->platform->memory[hold->memory].is.per)
        return tw_diag_error(j->diag, hold->loc, "'%s' cannot slide in '%s', which is private to lanes", name,
                             memory);
    if (loop->reduces)
        return tw_diag_error(j->diag, hold->loc, "'%s' cannot slide along '%s', which reduces", name, loop->name);
    for (int k = 0; k < depth; k++)
        if (j->group->cut[k].loop == hold->slide - 1) place = k;
    if (place < 0)
        return tw_diag_error(j->diag, hold->loc,
                             "'%s' cannot slide along '%s' in '%s': it is kept there while '%s' moves", name,
                             loop->name, memory, loop->name);
    if (place == depth - 1) return TW_OK;
    return tw_diag_error(j->diag, hold->loc,
                         "'%s' cannot slide along '%s' in '%s': it is held anew when '%s' inside of it moves; "
                         "'keep: {%s: %s}' lets it stay",
                         name, loop->name, memory, driver_of(j)->loop[j->group->cut[depth - 1].loop].name, name,
                         loop->name);
}

static tw_status check_holds(const judge *j)
{
    tw_status status = TW_OK;
    for (int h = 0; h < j->group->n_holds; h++)
        if (check_hold(j, h) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    for (int i = 0; i < j->group->n_ops; i++)
        for (int o = 0; o < judged_op(j, i)->n_operands; o++) TW_TRY(check_depths(j, i, o));
    for (int h = 0; h < j->group->n_holds; h++)
        if (check_slide(j, &j->group->hold[h]) != TW_OK) status = TW_ERR_INPUT;
    return status;
}

/* ---- reductions that run ---- */

/* The loop is cut, innermost, and no other reduction is. */
static tw_status check_running_cuts(const judge *j, int loop)
{
    const tw_op *driver = driver_of(j);
    bool cut = false;
    for (int k = 0; k < j->group->n_cuts; k++) {
        const tw_nest_cut *is = &j->group->cut[k];
        if (is->loop != loop && driver->loop[is->loop].reduces)
            return tw_diag_error(j->diag, is->loc, "reductions run along '%s', so that reduction '%s' stays whole",
                                 driver->loop[loop].name, driver->loop[is->loop].name);
        if (is->loop != loop && cut)
            return tw_diag_error(j->diag, is->loc,
                                 "loop '%s' is cut inside of '%s', along which reductions run: cut it outside",
                                 driver->loop[is->loop].name, driver->loop[loop].name);
        cut |= is->loop == loop;
    }
    if (cut) return TW_OK;
    return tw_diag_error(j->diag, AT(j, running), "reductions are to run along '%s', which no level cuts",
                         driver->loop[loop].name);
}

/* What runs is kept where it is made, and changed in place, for this group alone. */
static tw_status check_running_ops(const judge *j, const tw_running *running)
{
    for (int i = 0; i < j->group->n_ops; i++) {
        const tw_op *op = judged_op(j, i);
        if (i < j->group->n_ops - 1 && tw_group_is_stored(j->group, j->c->model, tw_op_makes(op)))
            return tw_diag_error(j->diag, AT(j, op[i]), "'%s' is %s, and reductions of the group run along a loop",
                                 tensor_name(j, tw_op_makes(op)), tw_needed_as(j->c->model, tw_op_makes(op)));
        for (int l = 0; l < op->n_loops; l++)
            if ((running->runs >> i & 1) && j->group->op[i].reduce[l] > 0)
                return tw_diag_error(j->diag, AT(j, reduce[i][l]), "'%s' runs along '%s': it has no 'reduce'",
                                     op->name, op->loop[(int)running->loop[i]].name);
    }
    return TW_OK;
}

static tw_status check_running(const judge *j)
{
    const tw_op *driver = driver_of(j);
    int loop = j->group->running - 1, where;
    const char *why;
    tw_running running;
    if (j->group->running == 0) return TW_OK;
    if (loop < 0 || loop >= driver->n_loops)
        return tw_diag_error(j->diag, AT(j, running), "reductions run along a loop that '%s' does not have",
                             driver->name);
    if (!tw_group_running(j->group, j->c->model, &running, &where, &why))
        return tw_diag_error(j->diag, AT(j, running), "reductions cannot run along '%s': of '%s', %s",
                             driver->loop[loop].name, judged_op(j, where)->name, why);
    if (!(running.runs & ~(1u << (j->group->n_ops - 1))))
        return tw_diag_error(j->diag, AT(j, running), "no operator before '%s' reduces along '%s': nothing runs",
                             driver->name, driver->loop[loop].name);
    for (int i = 0; i < j->group->n_parts; i++)
        if (j->group->part[i].loop == loop)
            return tw_diag_error(j->diag, AT(j, part), "reductions run along '%s', of which the group has a part",
                                 driver->loop[loop].name);
    for (int h = 0; h < j->group->n_holds; h++)
        if (j->group->hold[h].slide > 0)
            return tw_diag_error(j->diag, j->group->hold[h].loc,
                                 "no window slides in a group whose reductions run along a loop");
    TW_TRY(check_running_cuts(j, loop));
    return check_running_ops(j, &running);
}

tw_status tw_grouping_check_one(const tw_grouping *c, int group)
{
    judge j = judge_of(c, group);
    TW_TRY(check_numbers(&j));
    TW_TRY(check_ops(&j));
    tw_status status = check_levels(&j);
    for (int i = 0; i < j.group->n_ops; i++)
        if (check_loops(&j, i) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    TW_TRY(check_holds(&j));
    return check_running(&j);
}

/* ---- all groups ---- */

tw_status tw_grouping_check_machine(const tw_machine *machine, tw_loc loc, tw_diag *diag)
{
    if (!tw_discipline_of(machine)->credits)
        return tw_diag_error(diag, loc, "machine '%s' is %s: only async machines have groups", machine->name,
                             tw_timing_name(machine->timing));
    if (!machine->platform)
        return tw_diag_error(diag, loc, "machine '%s' is a view of another one and has no groups", machine->name);
    return TW_OK;
}

static int index_in(const tw_group_map *group, int op)
{
    for (int i = 0; i < group->n_ops; i++)
        if (group->op[i].op == op) return i;
    return -1;
}

/* Two parts of one group: the same operators, and parts of the same loops. */
static bool are_parts(const tw_group_map *a, const tw_group_map *b)
{
    if (a->n_ops != b->n_ops || a->n_parts == 0 || a->n_parts != b->n_parts) return false;
    for (int i = 0; i < a->n_parts; i++)
        if (a->part[i].loop != b->part[i].loop) return false;
    for (int i = 0; i < a->n_ops; i++)
        if (a->op[i].op != b->op[i].op) return false;
    return true;
}

/* In groups that are parts of one another, and whose parts make up all of the loop; or, of some groups, in none. */
static tw_status check_once(const tw_grouping *c, int op, bool some)
{
    int first = -1;
    for (int g = 0; g < c->n; g++) {
        int i = index_in(&c->group[g], op);
        if (i < 0) continue;
        judge j = judge_of(c, g);
        if (first >= 0 && !are_parts(&c->group[first], &c->group[g]))
            return tw_diag_error(c->diag, AT(&j, op[i]), "operator '%s' is in group '%s' already",
                                 c->model->op[op].name, c->group[first].name);
        if (first < 0) first = g;
    }
    if (first >= 0 || some) return TW_OK;
    return tw_diag_error(c->diag, c->loc, "operator '%s' is in no group", c->model->op[op].name);
}

/* The part of the groups like `group` that begins at `at`. */
static const tw_group_map *part_from(const tw_grouping *c, const tw_group_map *group, int64_t at)
{
    for (int g = 0; g < c->n; g++)
        if (are_parts(group, &c->group[g]) && c->group[g].part[0].span.lo == at) return &c->group[g];
    return NULL;
}

/* Parts of one loop stand one behind the other. */
static tw_status check_row(const tw_grouping *c, int group, int parts)
{
    const tw_group_map *g = &c->group[group], *piece;
    judge j = judge_of(c, group);
    int used = 0;
    const tw_loop *loop = &driver_of(&j)->loop[g->part[0].loop];
    for (int64_t at = 0; at < loop->extent; at = piece->part[0].span.hi, used++) {
        piece = part_from(c, g, at);
        if (!piece)
            return tw_diag_error(c->diag, AT(&j, part),
                                 "of the parts of '%s' in 0..%" PRId64 " none begins at %" PRId64, loop->name,
                                 loop->extent, at);
    }
    if (used == parts) return TW_OK;
    return tw_diag_error(c->diag, AT(&j, part), "the parts of '%s' overlap", loop->name);
}

static bool overlap(const tw_group_map *a, const tw_group_map *b)
{
    for (int i = 0; i < a->n_parts; i++)
        if (a->part[i].span.lo >= b->part[i].span.hi || b->part[i].span.lo >= a->part[i].span.hi) return false;
    return true;
}

/* Parts of several loops are boxes that do not overlap, and all points are in one. */
static tw_status check_boxes(const tw_grouping *c, int group)
{
    const tw_group_map *g = &c->group[group];
    judge j = judge_of(c, group);
    const tw_op *driver = driver_of(&j);
    int64_t points = 0;
    for (int k = group; k < c->n; k++) {
        if (!are_parts(g, &c->group[k])) continue;
        const tw_box box = tw_group_work(&c->group[k], driver);
        points += tw_box_points(driver, &box);
        for (int i = group; i < k; i++)
            if (are_parts(g, &c->group[i]) && overlap(&c->group[i], &c->group[k]))
                return tw_diag_error(c->diag, AT(&j, part), "'%s' and '%s' overlap: they are parts of '%s'",
                                     c->group[i].name, c->group[k].name, driver->name);
    }
    if (points == tw_op_points(driver)) return TW_OK;
    return tw_diag_error(c->diag, AT(&j, part), "the parts of '%s' have %" PRId64 " of its %" PRId64 " points",
                         driver->name, points, tw_op_points(driver));
}

static tw_status check_cover(const tw_grouping *c, int group)
{
    const tw_group_map *g = &c->group[group];
    int parts = 0;
    if (g->n_parts == 0 || (group > 0 && are_parts(g, g - 1))) return TW_OK; /* said there */
    for (int k = 0; k < c->n; k++) {
        parts += are_parts(g, &c->group[k]);
        if (k < group && are_parts(g, &c->group[k])) return TW_OK; /* said there */
    }
    return g->n_parts == 1 ? check_row(c, group, parts) : check_boxes(c, group);
}

/* What the group takes from others was made by groups before it. */
static tw_status check_sources(const tw_grouping *c, int group)
{
    const tw_group_map *g = &c->group[group];
    judge j = judge_of(c, group);
    for (int late = group + 1; late < c->n; late++) {
        const tw_group_map *l = &c->group[late];
        if (late > group + 1 && are_parts(l, l - 1)) continue; /* it makes what that one makes */
        for (int i = 0; i < g->n_ops * l->n_ops; i++) {
            const tw_op *reader = op_of(c->model, g, i / l->n_ops);
            int tensor = tw_op_makes(op_of(c->model, l, i % l->n_ops));
            if (tw_op_reads_bytes(c->model, reader, tensor) && tw_group_maker(g, c->model, tensor) < 0)
                return tw_diag_error(c->diag, AT(&j, op[i / l->n_ops]),
                                     "'%s' reads '%s', which group '%s' makes only behind it", reader->name,
                                     c->model->tensor[tensor].name, l->name);
        }
    }
    return TW_OK;
}

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* Names that differ in their hashes differ. */
static tw_status check_names(const tw_grouping *c)
{
    uint32_t hash[TW_MAX_GROUPS];
    tw_status status = TW_OK;
    for (int group = 0; group < c->n; group++) {
        int g = 0;
        hash[group] = hash_name(c->group[group].name);
        while (g < group && (hash[g] != hash[group] || strcmp(c->group[g].name, c->group[group].name) != 0)) g++;
        if (g < group)
            status = tw_diag_error(c->diag, c->group[group].loc, "two groups are called '%s'", c->group[g].name);
    }
    return status;
}

tw_status tw_grouping_check_all(const tw_grouping *c)
{
    tw_status status = TW_OK;
    if (c->n > TW_MAX_GROUPS)
        return tw_diag_error(c->diag, c->loc, "a mapping has at most %d groups, found %d", TW_MAX_GROUPS, c->n);
    for (int o = 0; o < c->model->n_ops; o++)
        if (check_once(c, o, false) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    for (int g = 0; g < c->n; g++)
        if (check_cover(c, g) != TW_OK || check_sources(c, g) != TW_OK) status = TW_ERR_INPUT;
    if (check_names(c) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    TW_TRY(tw_grouping_check_rooms(c));
    return tw_grouping_check_residents(c);
}

/* Whether a group that is not open has the operator. */
static bool is_settled(const tw_grouping *c, int op)
{
    for (int g = 0; g < c->n; g++)
        if (!tw_group_is_open(&c->group[g]) && index_in(&c->group[g], op) >= 0) return true;
    return false;
}

/* Everybody who makes or reads what is resident is in a group that says how. */
static tw_status check_touched(const tw_grouping *c, const tw_group_resident *is)
{
    for (int o = 0; o < c->model->n_ops; o++) {
        const tw_op *op = &c->model->op[o];
        if (is_settled(c, o) || (tw_op_makes(op) != is->tensor && !tw_op_reads_alike(c->model, op, is->tensor)))
            continue;
        return tw_diag_error(c->diag, is->loc,
                             "'%s' is resident, and '%s', which makes or reads it, is in no group with levels",
                             c->model->tensor[is->tensor].name, op->name);
    }
    return TW_OK;
}

tw_status tw_grouping_check_some(const tw_grouping *c)
{
    tw_status status = TW_OK;
    for (int o = 0; o < c->model->n_ops; o++)
        if (check_once(c, o, true) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    if (check_names(c) != TW_OK) status = TW_ERR_INPUT;
    for (int g = 0; g < c->n; g++) {
        const tw_group_map *group = &c->group[g];
        judge j = judge_of(c, g);
        if (group->n_parts > 0)
            status =
                tw_diag_error(c->diag, AT(&j, part), "a mapping that a search completes has no parts of groups");
        for (int i = 1; i < group->n_ops; i++)
            if (group->op[i].op != group->op[i - 1].op + 1)
                status =
                    tw_diag_error(c->diag, AT(&j, op[i]),
                                  "'%s' does not stand right behind '%s': operators of a group do where a search "
                                  "completes the mapping",
                                  op_of(c->model, group, i)->name, op_of(c->model, group, i - 1)->name);
    }
    for (int i = 0; i < c->n_residents; i++)
        if (check_touched(c, &c->resident[i]) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    TW_TRY(tw_grouping_check_rooms(c));
    return tw_grouping_check_residents(c);
}
