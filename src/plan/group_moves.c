/* src/plan/group_moves.c - mappings with groups that differ from a given one in one thing; group_moves.h lists them.
 *
 * A move copies the list of groups and, of the group that it changes, the lists that it touches. */
#include "plan/group_moves.h"

#include "core/deadline.h"
#include "mapping/groups.h"
#include "write/number.h"

#include <string.h>

typedef struct lister {
    const tw_plan *plan;
    const tw_pricing *by;
    const tw_work *work;
    tw_group_move_sink sink;
    int g;                     /* the group at hand */
    const tw_group_map *group; /* the same          */
    tw_frame_facts facts;
    tw_tiler *tiler; /* NULL: nothing is fused anew */
} lister;

#define COPY(to, from, n, more)                                    \
    do {                                                           \
        TW_ALLOC(l->work->arena, to, (n) + (more));                \
        if ((n) > 0) memcpy(to, from, (size_t)(n) * sizeof *(to)); \
    } while (0)

static const tw_op *driver_of(const lister *l) { return &l->plan->model->op[l->group->op[l->group->n_ops - 1].op]; }
static const tw_platform *platform_of(const lister *l) { return l->plan->machine->platform; }
static const char *memory_name(const lister *l, int m) { return platform_of(l)->memory[m].name; }

/* Hands on the plan's mapping with this group instead of the one at hand; text NULL: out of memory. */
static tw_status put(const lister *l, tw_group_move move, const tw_group_map *changed, const char *text)
{
    const tw_mapping *mapping = l->plan->mapping;
    tw_group_map *group;
    if (!text) return TW_ERR_NOMEM;
    COPY(group, mapping->group, mapping->n_groups, 0);
    group[l->g] = *changed;
    move.group = l->g;
    move.at = l->group->name;
    move.change = text;
    move.mapping = *mapping;
    move.mapping.group = group;
    return l->sink.put(l->sink.user, &move);
}

/* ---- tiles ---- */

/* What the cut divides: the tile of a cut of the same loop outside of it, or all that the group has of the loop. */
static int64_t length_at(const lister *l, int n_cuts, int loop)
{
    int64_t len = tw_group_extent(l->group, driver_of(l), loop);
    for (int k = 0; k < n_cuts; k++) {
        const tw_nest_cut *cut = &l->group->cut[k];
        if (cut->loop == loop) len = cut->size > 0 ? tw_min(cut->size, len) : tw_cdiv(len, cut->count);
    }
    return len;
}

static tw_status put_size(const lister *l, int k, int64_t size, int64_t now, int64_t whole)
{
    tw_group_map group = *l->group;
    tw_nest_cut *cut;
    COPY(cut, group.cut, group.n_cuts, 0);
    cut[k].size = size;
    cut[k].count = 0;
    group.cut = cut;
    const char *loop = driver_of(l)->loop[cut[k].loop].name;
    const char *text =
        size < whole
            ? tw_arena_printf(l->work->arena, "tile of %s: %s, not %s", loop, TW_GROUPED(size), TW_GROUPED(now))
            : tw_arena_printf(l->work->arena, "tile of %s: whole, not %s", loop, TW_GROUPED(now));
    return put(l, (tw_group_move){.kind = TW_OTHER_TILE, .thing = cut[k].loop}, &group, text);
}

/* Whether the size is one of those that cut into at most so many equal pieces. */
static bool is_even(int64_t whole, int64_t size, int64_t most)
{
    int64_t n = tw_cdiv(whole, size);
    return n <= most && tw_cdiv(whole, n) == size;
}

/* Sizes that cut into 1, 2, 3 .. equal pieces; the next smaller and the next larger size, if those are none of them. */
static tw_status list_sizes(const lister *l)
{
    enum { MOST_PIECES = 32 };
    for (int k = 0; k < l->group->n_cuts; k++) {
        const tw_nest_cut *cut = &l->group->cut[k];
        int64_t whole = length_at(l, k, cut->loop), now = length_at(l, k + 1, cut->loop), last = 0;
        for (int64_t n = 1; n <= MOST_PIECES && n <= whole; n++) {
            int64_t size = tw_cdiv(whole, n);
            if (size != last && size != now) TW_TRY(put_size(l, k, size, now, whole));
            last = size;
        }
        for (int64_t size = now - 1; size <= now + 1; size += 2)
            if (size > 0 && size < whole && !is_even(whole, size, MOST_PIECES))
                TW_TRY(put_size(l, k, size, now, whole));
    }
    return TW_OK;
}

/* A new cut at the last level, as cut number `at` of the group. */
static tw_status put_cut(const lister *l, int loop, int64_t size, int at)
{
    tw_group_map group = *l->group;
    tw_nest_cut *cut;
    tw_group_level *level;
    tw_hold *hold;
    COPY(cut, group.cut, group.n_cuts, 1);
    COPY(level, group.level, group.n_levels, 0);
    COPY(hold, group.hold, group.n_holds, 0);
    memmove(&cut[at + 1], &cut[at], (size_t)(group.n_cuts - at) * sizeof *cut);
    cut[at] = (tw_nest_cut){.loc = group.loc, .level = group.n_levels - 1, .loop = loop, .size = size};
    level[group.n_levels - 1].depth++;
    for (int h = 0; h < group.n_holds; h++) hold[h].depth += hold[h].depth > at;
    group.cut = cut;
    group.n_cuts++;
    group.level = level;
    group.hold = hold;
    return put(l, (tw_group_move){.kind = TW_OTHER_TILE, .thing = loop}, &group,
               tw_arena_printf(l->work->arena, "tile of %s: %s, not whole; %s of the cuts",
                               driver_of(l)->loop[loop].name, TW_GROUPED(size),
                               at == group.n_cuts - 1 ? "innermost" : "outermost"));
}

static tw_status list_cuts(const lister *l)
{
    const tw_op *op = driver_of(l);
    int n = l->group->n_levels, first = n > 1 ? l->group->level[n - 2].depth : 0, last = l->group->n_cuts;
    if (n == 0 || last == TW_MAX_CUTS) return TW_OK;
    for (int loop = 0; loop < op->n_loops; loop++) {
        int64_t whole = length_at(l, last, loop);
        bool is_cut = false;
        for (int k = 0; k < last; k++) is_cut |= l->group->cut[k].loop == loop;
        for (int64_t pieces = 2; pieces <= 8 && pieces <= whole && !is_cut; pieces *= 2) {
            TW_TRY(put_cut(l, loop, tw_cdiv(whole, pieces), last));
            if (first < last) TW_TRY(put_cut(l, loop, tw_cdiv(whole, pieces), first));
        }
    }
    return TW_OK;
}

/* ---- levels ---- */

/* What a memory holds once has one buffer, stays for all the time and does not slide. */
static void hold_once(tw_hold *hold)
{
    hold->slots = 1;
    hold->depth = -1;
    hold->slide = 0;
}

/* The level holds what `depth` cuts leave: cuts behind that are those of the next level. Holds of cuts that are no longer its own are as the levels say. */
static tw_status put_depth(const lister *l, int i, int depth)
{
    tw_group_map group = *l->group;
    tw_nest_cut *cut;
    tw_group_level *level;
    tw_hold *hold;
    int outside = i > 0 ? group.level[i - 1].depth : 0, memory = group.level[i].memory;
    COPY(cut, group.cut, group.n_cuts, 0);
    COPY(level, group.level, group.n_levels, 0);
    COPY(hold, group.hold, group.n_holds, 0);
    for (int k = outside; k < group.level[i + 1].depth; k++) cut[k].level = k < depth ? i : i + 1;
    level[i].depth = depth;
    for (int h = 0; h < group.n_holds; h++) {
        bool own = hold[h].memory == memory,
             cuts = hold[h].depth > depth || (hold[h].slide > 0 && depth <= outside);
        if (own && depth <= outside)
            hold_once(&hold[h]);
        else if (own && cuts)
            hold[h].depth = -1, hold[h].slide = 0;
    }
    group.cut = cut;
    group.level = level;
    group.hold = hold;
    const char *name = memory_name(l, memory), *loop;
    bool less = depth < l->group->level[i].depth;
    loop = driver_of(l)->loop[group.cut[less ? depth : depth - 1].loop].name;
    return put(l, (tw_group_move){.kind = TW_OTHER_TILE, .thing = TW_MAX_LOOPS + i}, &group,
               tw_arena_printf(l->work->arena,
                               less ? "%s holds all of %s, which is cut further inside"
                                    : "%s holds a tile of %s, which is not cut again further inside",
                               name, loop));
}

/* A tile of an outer memory that has none along a loop which is cut further inside: so many of those inside. */
static tw_status put_outer(const lister *l, int i, int inner, int64_t size)
{
    tw_group_map group = *l->group;
    tw_nest_cut *cut;
    tw_group_level *level;
    tw_hold *hold;
    int at = group.level[i].depth, loop = group.cut[inner].loop;
    COPY(cut, group.cut, group.n_cuts, 1);
    COPY(level, group.level, group.n_levels, 0);
    COPY(hold, group.hold, group.n_holds, 0);
    memmove(&cut[at + 1], &cut[at], (size_t)(group.n_cuts - at) * sizeof *cut);
    cut[at] = (tw_nest_cut){.loc = group.loc, .level = i, .loop = loop, .size = size};
    for (int k = i; k < group.n_levels; k++) level[k].depth++;
    for (int h = 0; h < group.n_holds; h++) hold[h].depth += hold[h].depth > at;
    group.cut = cut;
    group.n_cuts++;
    group.level = level;
    group.hold = hold;
    return put(l, (tw_group_move){.kind = TW_OTHER_TILE, .thing = TW_MAX_LOOPS + i}, &group,
               tw_arena_printf(l->work->arena, "tile of %s in %s: %s, not whole", driver_of(l)->loop[loop].name,
                               memory_name(l, group.level[i].memory), TW_GROUPED(size)));
}

static tw_status list_outer(const lister *l, int i)
{
    int at = l->group->level[i].depth;
    if (l->group->n_cuts == TW_MAX_CUTS) return TW_OK;
    for (int k = at; k < l->group->level[i + 1].depth; k++) {
        int64_t whole = length_at(l, at, l->group->cut[k].loop), inner = length_at(l, k + 1, l->group->cut[k].loop);
        for (int64_t pieces = 2; pieces <= 8; pieces *= 2)
            if (tw_cdiv(whole, pieces) > inner) TW_TRY(put_outer(l, i, k, tw_cdiv(whole, pieces)));
    }
    return TW_OK;
}

/* Which cuts are of which level, where there are several. */
static tw_status list_levels(const lister *l)
{
    for (int i = 0; i + 1 < l->group->n_levels; i++) {
        int outside = i > 0 ? l->group->level[i - 1].depth : 0, depth = l->group->level[i].depth;
        if (depth > outside) TW_TRY(put_depth(l, i, depth - 1));
        if (depth < l->group->level[i + 1].depth) TW_TRY(put_depth(l, i, depth + 1));
        TW_TRY(list_outer(l, i));
    }
    return TW_OK;
}

/* ---- order ---- */

static int level_of(const lister *l, int memory)
{
    for (int i = 0; i < l->group->n_levels; i++)
        if (l->group->level[i].memory == memory) return i;
    return -1;
}

/* "oy ox": the cuts of a level. */
static const char *order_words(const lister *l, const tw_nest_cut *cut, int level)
{
    const char *words = "";
    for (int k = 0; k < l->group->n_cuts && words; k++)
        if (cut[k].level == level)
            words = tw_arena_printf(l->work->arena, "%s%s%s", words, *words ? " " : "",
                                    driver_of(l)->loop[cut[k].loop].name);
    return words;
}

/* "; ifm in l1 kept while n stands still, not m": what is kept for some of the cuts is kept for as many of the others. */
static const char *kept_words(const lister *l, const tw_nest_cut *cut)
{
    const char *words = "";
    for (int h = 0; h < l->group->n_holds && words; h++) {
        const tw_hold *hold = &l->group->hold[h];
        int level = level_of(l, hold->memory), outside = level > 0 ? l->group->level[level - 1].depth : 0;
        if (level < 0 || hold->depth <= outside || hold->depth >= l->group->level[level].depth) continue;
        int was = l->group->cut[hold->depth - 1].loop, is = cut[hold->depth - 1].loop;
        if (was != is)
            words = tw_arena_printf(l->work->arena, "%s; %s in %s kept while %s stands still, not %s", words,
                                    l->plan->model->tensor[hold->tensor].name, memory_name(l, hold->memory),
                                    driver_of(l)->loop[is].name, driver_of(l)->loop[was].name);
    }
    return words;
}

static tw_status put_order(const lister *l, int i, int j)
{
    tw_group_map group = *l->group;
    tw_nest_cut *cut;
    COPY(cut, group.cut, group.n_cuts, 0);
    cut[i] = group.cut[j];
    cut[j] = group.cut[i];
    const char *now = order_words(l, group.cut, cut[i].level), *then = order_words(l, cut, cut[i].level);
    const char *kept = kept_words(l, cut);
    if (!now || !then || !kept) return TW_ERR_NOMEM;
    group.cut = cut;
    return put(l, (tw_group_move){.kind = TW_OTHER_ORDER}, &group,
               tw_arena_printf(l->work->arena, "order %s, not %s%s", then, now, kept));
}

static tw_status list_orders(const lister *l)
{
    for (int i = 0; i < l->group->n_cuts; i++)
        for (int j = i + 1; j < l->group->n_cuts; j++)
            if (l->group->cut[i].level == l->group->cut[j].level && l->group->cut[i].loop != l->group->cut[j].loop)
                TW_TRY(put_order(l, i, j));
    return TW_OK;
}

/* ---- buffers, keeps, slides ---- */

static bool is_resident(const lister *l, int tensor)
{
    for (int i = 0; i < l->plan->mapping->n_residents; i++)
        if (tw_tensors_are_alike(l->plan->model, l->plan->mapping->resident[i].tensor, tensor)) return true;
    return false;
}

/* What the mapping says of a hold of the program; where it says nothing, an entry that says as much. */
static tw_hold hold_of(const lister *l, const tw_nest_hold *built)
{
    const tw_hold *said = tw_group_find_hold(l->group, built->tensor, built->memory);
    return said ? *said
                : (tw_hold){.loc = l->group->loc, .tensor = built->tensor, .memory = built->memory, .depth = -1};
}

static tw_status put_hold(const lister *l, tw_group_move move, const tw_hold *changed, const char *text)
{
    tw_group_map group = *l->group;
    tw_hold *hold;
    COPY(hold, group.hold, group.n_holds, 1);
    const tw_hold *said = tw_group_find_hold(l->group, changed->tensor, changed->memory);
    hold[said ? (int)(said - group.hold) : group.n_holds++] = *changed;
    group.hold = hold;
    move.thing = changed->tensor * TW_MAX_PLATFORM_MEMORIES + changed->memory;
    return put(l, move, &group, text);
}

static tw_status list_buffers(const lister *l, const tw_nest_hold *built)
{
    int64_t now = tw_group_slots(l->group, built->tensor, built->memory);
    for (int64_t slots = tw_max(1, now - 1); slots <= now + 1; slots++) {
        tw_hold hold = hold_of(l, built);
        if (slots == now) continue;
        hold.slots = slots;
        TW_TRY(put_hold(l, (tw_group_move){.kind = TW_OTHER_BUFFERS}, &hold,
                        tw_arena_printf(l->work->arena, "buffers of %s in %s: %" PRId64 ", not %" PRId64,
                                        l->plan->model->tensor[built->tensor].name, memory_name(l, built->memory),
                                        slots, now)));
    }
    return TW_OK;
}

/* How long something is kept that stands still with so many cuts. */
static const char *keep_words(const lister *l, int level, int depth)
{
    int outside = level > 0 ? l->group->level[level - 1].depth : 0;
    if (depth == l->group->level[level].depth) return "for one tile";
    if (depth <= outside) return "all the time";
    return tw_arena_printf(l->work->arena, "while %s stands still",
                           driver_of(l)->loop[l->group->cut[depth - 1].loop].name);
}

static tw_status list_keeps(const lister *l, const tw_nest_hold *built, int level)
{
    int outside = level > 0 ? l->group->level[level - 1].depth : 0;
    int now = (int)tw_max(outside, tw_group_depth(l->group, built->tensor, built->memory));
    for (int depth = outside; depth <= l->group->level[level].depth; depth++) {
        tw_hold hold = hold_of(l, built);
        if (depth == now || hold.slide > 0) continue;
        const char *then = keep_words(l, level, depth), *was = keep_words(l, level, now);
        if (!then || !was) return TW_ERR_NOMEM;
        hold.depth = depth;
        TW_TRY(put_hold(l, (tw_group_move){.kind = TW_OTHER_KEEP}, &hold,
                        tw_arena_printf(l->work->arena, "keep %s in %s %s, not %s",
                                        l->plan->model->tensor[built->tensor].name, memory_name(l, built->memory),
                                        then, was)));
    }
    return TW_OK;
}

static tw_status list_slides(const lister *l, const tw_nest_hold *built, int level)
{
    int outside = level > 0 ? l->group->level[level - 1].depth : 0;
    const char *tensor = l->plan->model->tensor[built->tensor].name, *memory = memory_name(l, built->memory);
    tw_hold hold = hold_of(l, built);
    const tw_group_move move = {.kind = TW_OTHER_SLIDE};
    int now = hold.slide;
    hold.slide = 0;
    if (now > 0)
        TW_TRY(put_hold(
            l, move, &hold,
            tw_arena_printf(l->work->arena, "%s in %s comes in whole tiles and does not slide", tensor, memory)));
    for (int k = outside; k < l->group->level[level].depth; k++) {
        hold.depth = k + 1;
        hold.slide = 1 + l->group->cut[k].loop;
        if (hold.slide == now) continue;
        TW_TRY(put_hold(l, move, &hold,
                        tw_arena_printf(l->work->arena, "%s in %s slides along %s: what two tiles share stays",
                                        tensor, memory, driver_of(l)->loop[hold.slide - 1].name)));
    }
    return TW_OK;
}

/* Only what a level of the group is about can be said in a file. */
static tw_status list_holds(const lister *l)
{
    const tw_nest *nest = &l->plan->joint->program->nest[l->g];
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *built = &nest->hold[s];
        int level = level_of(l, built->memory);
        if (level < 0 || is_resident(l, built->tensor)) continue;
        TW_TRY(list_buffers(l, built));
        TW_TRY(list_keeps(l, built, level));
        TW_TRY(list_slides(l, built, level));
    }
    return TW_OK;
}

/* ---- arrays ---- */

/* "rows oc ic, columns oy" */
static const char *spread_words(const lister *l, const tw_op *op, const tw_cost_array *array, const tw_spread *over)
{
    const char *words = "";
    for (int d = 0; d < array->n_dims && words; d++) {
        bool any = false;
        for (int i = 0; i < op->n_loops && words; i++) {
            if (!tw_spread_has(over, i, d)) continue;
            words = tw_arena_printf(l->work->arena, "%s%s%s %s", words, *words && !any ? ", " : "",
                                    any ? "" : array->dim[d], op->loop[i].name);
            if (words && over->share[i][d] > 0)
                words = tw_arena_printf(l->work->arena, "%s/%" PRId32, words, over->share[i][d]);
            any = true;
        }
    }
    return words;
}

static tw_status put_spread(const lister *l, int k, const tw_cost_array *array, const tw_spread *now,
                            const tw_spread *then)
{
    tw_group_map group = *l->group;
    tw_group_op *member;
    const tw_op *op = &l->plan->model->op[group.op[k].op];
    const char *was = spread_words(l, op, array, now), *is = spread_words(l, op, array, then);
    if (!was || !is) return TW_ERR_NOMEM;
    COPY(member, group.op, group.n_ops, 0);
    member[k].over = *then;
    group.op = member;
    return put(l, (tw_group_move){.kind = TW_OTHER_UNROLL, .thing = k}, &group,
               tw_arena_printf(l->work->arena, "%s over %s, not %s", op->name, *is ? is : "nothing", was));
}

static tw_status list_spreads(const lister *l, int k)
{
    const tw_grouping all = {.model = l->plan->model, .machine = l->plan->machine};
    const tw_group_op *member = &l->group->op[k];
    const tw_op *op = &l->plan->model->op[member->op];
    const tw_cost *cost = tw_group_cost(&all, member);
    int n_dims = tw_cost_dims(cost);
    if (n_dims == 0) return TW_OK;
    tw_spread now = tw_spread_or_default(&member->over, op, n_dims), swapped = now;
    for (int i = 0; i < op->n_loops; i++) {
        if (member->parts[i] > 0) return TW_OK; /* lanes have a share each: that is no small change */
        if (now.dim[i] > 0) swapped.dim[i] = (int8_t)(now.dim[i] % n_dims + 1);
        for (int d = 0; d < n_dims; d++) swapped.share[i][(d + 1) % n_dims] = now.share[i][d];
    }
    if (n_dims > 1) TW_TRY(put_spread(l, k, &cost->array, &now, &swapped));
    for (int i = 0; i < op->n_loops; i++)
        for (int d = 0; d <= n_dims && op->loop[i].extent > 1; d++) {
            tw_spread then = now;
            then.dim[i] = (int8_t)d;
            memset(then.share[i], 0, sizeof then.share[i]); /* the whole loop */
            if (d != now.dim[i]) TW_TRY(put_spread(l, k, &cost->array, &now, &then));
        }
    return TW_OK;
}

/* ---- what stays between groups ---- */

/* Whether the group says how it holds the tensor, in whatever shape, in the memory. */
static bool says(const tw_model *model, const tw_hold *hold, int tensor, int memory)
{
    return hold->memory == memory && tw_tensors_are_alike(model, hold->tensor, tensor);
}

/* Groups say nothing of a tensor in the memory where it stays. */
static tw_status forget_holds(const tw_model *model, const tw_group_resident *is, tw_arena *arena,
                              tw_group_map *group)
{
    tw_hold *hold;
    int n = 0;
    for (int h = 0; h < group->n_holds; h++) n += says(model, &group->hold[h], is->tensor, is->memory);
    if (n == 0) return TW_OK;
    TW_ALLOC(arena, hold, group->n_holds);
    n = 0;
    for (int h = 0; h < group->n_holds; h++)
        if (!says(model, &group->hold[h], is->tensor, is->memory)) hold[n++] = group->hold[h];
    group->hold = hold;
    group->n_holds = n;
    return TW_OK;
}

tw_status tw_group_mapping_that_keeps(const tw_mapping *from, const tw_model *model, int tensor,
                                      const tw_group_resident *is, tw_arena *arena, tw_mapping *out)
{
    tw_group_resident *resident;
    tw_group_map *group;
    TW_ALLOC(arena, resident, from->n_residents + 1);
    TW_ALLOC(arena, group, from->n_groups);
    memcpy(group, from->group, (size_t)from->n_groups * sizeof *group);
    *out = *from;
    out->group = group;
    out->resident = resident;
    out->n_residents = 0;
    for (int i = 0; i < from->n_residents; i++)
        if (from->resident[i].tensor != tensor) resident[out->n_residents++] = from->resident[i];
    if (!is) return TW_OK;
    resident[out->n_residents++] = *is;
    for (int g = 0; g < from->n_groups; g++) TW_TRY(forget_holds(model, is, arena, &group[g]));
    return TW_OK;
}

/* `is` NULL: it does not stay. */
static tw_status put_resident(const lister *l, int tensor, const tw_group_resident *is, const char *text)
{
    if (!text) return TW_ERR_NOMEM;
    tw_group_move move = {.kind = TW_OTHER_KEEP, .group = -1, .thing = tensor, .change = text};
    move.at = l->plan->model->tensor[tensor].name;
    TW_TRY(
        tw_group_mapping_that_keeps(l->plan->mapping, l->plan->model, tensor, is, l->work->arena, &move.mapping));
    if (is) move.stays = &move.mapping.resident[move.mapping.n_residents - 1];
    return l->sink.put(l->sink.user, &move);
}

/* Residents without those of a tensor; returns how many. */
static tw_status residents_without(const lister *l, int tensor, tw_group_resident **out, int *n)
{
    const tw_mapping *mapping = l->plan->mapping;
    tw_group_resident *list;
    TW_ALLOC(l->work->arena, list, mapping->n_residents + 1);
    *n = 0;
    for (int i = 0; i < mapping->n_residents; i++)
        if (mapping->resident[i].tensor != tensor) list[(*n)++] = mapping->resident[i];
    *out = list;
    return TW_OK;
}

/* The tensor stays for some of those who read it, and leaves behind one of them: all but the last. */
static tw_status list_leaving(const lister *l, int tensor, int memory)
{
    const tw_model *model = l->plan->model;
    int last = model->n_ops - 1;
    while (last >= 0 && !tw_op_reads_alike(model, &model->op[last], tensor)) last--;
    for (int i = 0; i < last; i++) {
        const tw_group_resident is = {.loc = l->group->loc, .tensor = tensor, .memory = memory, .until = i + 1};
        if (!tw_op_reads_alike(model, &model->op[i], tensor)) continue;
        const char *text = tw_arena_printf(l->work->arena, "stays in %s until '%s' has read it",
                                           memory_name(l, memory), model->op[i].name);
        TW_TRY(put_resident(l, tensor, &is, text));
    }
    return TW_OK;
}

/* Whether one of groups [first, end) reads the tensor. */
static bool is_read_by(const lister *l, int first, int end, int tensor)
{
    for (int g = first; g < end; g++)
        for (int k = 0; k < l->plan->mapping->group[g].n_ops; k++)
            if (tw_op_reads_alike(l->plan->model, &l->plan->model->op[l->plan->mapping->group[g].op[k].op], tensor))
                return true;
    return false;
}

static bool is_made(const tw_model *model, int tensor)
{
    for (int i = 0; i < model->n_ops; i++)
        if (tw_tensors_share(model, tw_op_makes(&model->op[i]), tensor)) return true;
    return false;
}

/* Whether the group at hand is the first of several that load the tensor, which does not stay. */
static bool is_loaded_again(const lister *l, int tensor)
{
    return !is_resident(l, tensor) && !is_made(l->plan->model, tensor) && !is_read_by(l, 0, l->g, tensor) &&
           is_read_by(l, l->g + 1, l->plan->mapping->n_groups, tensor);
}

/* What the group at hand loads first, and groups behind it, too, stays from then on. */
static tw_status list_inputs(const lister *l)
{
    for (int k = 0; k < l->group->n_ops; k++) {
        const tw_op *op = &l->plan->model->op[l->group->op[k].op];
        for (int o = 0; o < tw_op_output(op); o++) {
            int tensor = op->operand[o].tensor;
            const tw_group_resident is = {.loc = l->group->loc, .tensor = tensor, .memory = l->facts.home[tensor]};
            if (is.memory == 0 || !is_loaded_again(l, tensor)) continue;
            TW_TRY(put_resident(l, tensor, &is,
                                tw_arena_printf(l->work->arena, "stays in %s, where it is loaded first",
                                                memory_name(l, is.memory))));
        }
    }
    return TW_OK;
}

/* What the group at hand makes for others: it stays in a memory, or does not any more. */
static tw_status list_resident(const lister *l)
{
    int tensor = tw_joint_output(l->plan->joint->program, l->g);
    const tw_group_resident is = {.loc = l->group->loc, .tensor = tensor, .memory = l->facts.home[tensor]};
    if (l->group->n_parts > 0 || !is_read_by(l, l->g + 1, l->plan->mapping->n_groups, tensor)) return TW_OK;
    if (is_resident(l, tensor))
        return put_resident(
            l, tensor, NULL,
            tw_arena_printf(l->work->arena, "goes through %s between its groups", memory_name(l, 0)));
    if (is.memory == 0) return TW_OK;
    TW_TRY(
        put_resident(l, tensor, &is,
                     tw_arena_printf(l->work->arena, "stays in %s between its groups", memory_name(l, is.memory))));
    return list_leaving(l, tensor, is.memory);
}

/* ---- fusion ---- */

enum { MOST_TILINGS = 4 };

/* Operators first .. first + n - 1 of the model as a group, cut in the ways that look best. */
typedef struct option {
    int n; /* 0: it cannot be one */
    tw_group_map group[MOST_TILINGS];
} option;

static tw_status find_option(const lister *l, int first, int n, tw_seams seams, option *out)
{
    const tw_segment segment = {l->plan->model, first, n};
    const tw_segment_frame *frame;
    out->n = 0;
    if (n > TW_MAX_GROUP_OPS || !tw_segment_is_closed(&segment, l->facts.readers)) return TW_OK;
    tw_status status = tw_frame_of(&l->facts, &segment, l->work->arena, &frame);
    if (status == TW_INFEASIBLE) return TW_OK;
    TW_TRY(status);
    tw_tilings list = {.seams = seams, .most = MOST_TILINGS};
    TW_ALLOC(l->work->arena, list.tiling, MOST_TILINGS + 1);
    TW_TRY(tw_tilings_find_one(l->tiler, frame, &list));
    for (int i = 0; i < list.n && i < MOST_TILINGS; i++)
        TW_TRY(tw_tiling_group(frame, &list.tiling[i], l->work->arena, &out->group[out->n++]));
    return TW_OK;
}

/* The operators of a group, if they stand one behind the other in the model; false: they do not, or it is a part. */
static bool segment_of(const tw_group_map *group, int *first)
{
    *first = group->op[0].op;
    for (int k = 0; k < group->n_ops; k++)
        if (group->op[k].op != *first + k) return false;
    return group->n_parts == 0;
}

/* "l0, l1", or "l0 to l7" */
static const char *op_words(const lister *l, int first, int n)
{
    enum { LISTED = 3 };
    const char *words = "";
    const tw_op *op = &l->plan->model->op[first];
    if (n > LISTED) return tw_arena_printf(l->work->arena, "%s to %s", op[0].name, op[n - 1].name);
    for (int k = 0; k < n && words; k++)
        words =
            tw_arena_printf(l->work->arena, "%s%s%s", words, k > 0 ? ", " : "", l->plan->model->op[first + k].name);
    return words;
}

/* Replaces `n_old` groups from the one at hand on by `n_new` of these. */
static tw_status put_groups(const lister *l, int n_old, const tw_group_map *is, int n_new, tw_group_move move)
{
    const tw_mapping *mapping = l->plan->mapping;
    tw_group_map *group;
    int behind = mapping->n_groups - l->g - n_old;
    if (!move.change) return TW_ERR_NOMEM;
    if (mapping->n_groups + n_new - n_old > TW_MAX_GROUPS) return TW_OK;
    COPY(group, mapping->group, l->g, n_new + behind);
    memcpy(&group[l->g], is, (size_t)n_new * sizeof *group);
    if (behind > 0) memcpy(&group[l->g + n_new], &mapping->group[l->g + n_old], (size_t)behind * sizeof *group);
    move.kind = TW_OTHER_FUSION;
    move.group = l->g;
    move.at = l->group->name;
    move.mapping.n_groups = mapping->n_groups + n_new - n_old;
    move.mapping.group = group;
    move.mapping.n_rooms = mapping->n_rooms;
    move.mapping.room = mapping->room;
    return l->sink.put(l->sink.user, &move);
}

static tw_seams seams_of(const lister *l, int first, int n)
{
    const tw_op *op = l->plan->model->op;
    int before = first > 0 ? tw_op_makes(&op[first - 1]) : -1;
    return (tw_seams){.n_in = before >= 0 && is_resident(l, before),
                      .in = {before},
                      .out = is_resident(l, tw_op_makes(&op[first + n - 1]))};
}

/* The group at hand and the next one as one. */
static tw_status list_join(const lister *l)
{
    const tw_mapping *mapping = l->plan->mapping;
    const tw_group_map *next = l->group + 1;
    tw_group_resident *list;
    int first, second, n_residents;
    option all;
    if (l->g + 1 == mapping->n_groups || !segment_of(l->group, &first) || !segment_of(next, &second)) return TW_OK;
    if (second != first + l->group->n_ops) return TW_OK;
    TW_TRY(find_option(l, first, l->group->n_ops + next->n_ops, seams_of(l, first, l->group->n_ops + next->n_ops),
                       &all));
    TW_TRY(residents_without(l, tw_op_makes(&l->plan->model->op[second - 1]), &list, &n_residents));
    const char *a = op_words(l, first, l->group->n_ops), *b = op_words(l, second, next->n_ops);
    if (!a || !b) return TW_ERR_NOMEM;
    for (int i = 0; i < all.n; i++) {
        tw_group_move move = {.thing = -1, .mapping = {.n_residents = n_residents, .resident = list}};
        move.change = tw_arena_printf(l->work->arena, "%s fused with %s, tile by tile", a, b);
        TW_TRY(put_groups(l, 2, &all.group[i], 1, move));
    }
    return TW_OK;
}

/* The group at hand as two, parted before its operator k; what is between them stays on chip, or does not. */
static tw_status put_parted(const lister *l, int first, int k, bool resident)
{
    enum { EACH = 2 };
    const tw_model *model = l->plan->model;
    int tensor = tw_op_makes(&model->op[first + k - 1]), n = l->group->n_ops, n_residents;
    int memory = resident ? l->facts.home[tensor] : 0;
    tw_seams left = seams_of(l, first, k), right = seams_of(l, first + k, n - k);
    tw_group_resident *list;
    option a, b;
    if (resident && memory == 0) return TW_OK;
    left.out = resident;
    right.n_in = resident;
    TW_TRY(find_option(l, first, k, left, &a));
    TW_TRY(find_option(l, first + k, n - k, right, &b));
    TW_TRY(residents_without(l, tensor, &list, &n_residents));
    if (resident)
        list[n_residents++] = (tw_group_resident){.loc = l->group->loc, .tensor = tensor, .memory = memory};
    const char *before = op_words(l, first, k), *behind = op_words(l, first + k, n - k);
    if (!before || !behind) return TW_ERR_NOMEM;
    for (int i = 0; i < a.n && i < EACH; i++)
        for (int j = 0; j < b.n && j < EACH; j++) {
            const tw_group_map pair[] = {a.group[i], b.group[j]};
            tw_group_move move = {.thing = k, .mapping = {.n_residents = n_residents, .resident = list}};
            move.change = tw_arena_printf(l->work->arena, "%s apart from %s: %s %s %s", before, behind,
                                          model->tensor[tensor].name, resident ? "stays whole in" : "goes through",
                                          memory_name(l, memory));
            TW_TRY(put_groups(l, 1, pair, 2, move));
        }
    return TW_OK;
}

static tw_status list_partings(const lister *l)
{
    int first;
    if (!segment_of(l->group, &first)) return TW_OK;
    for (int k = 1; k < l->group->n_ops; k++) {
        TW_TRY(put_parted(l, first, k, false));
        TW_TRY(put_parted(l, first, k, true));
        if (tw_deadline_is_over(l->work->diag->deadline)) return TW_STOPPED;
    }
    return TW_OK;
}

/* ---- all of them ---- */

static tw_status list_group(const lister *l)
{
    TW_TRY(list_holds(l));
    TW_TRY(list_sizes(l));
    TW_TRY(list_orders(l));
    TW_TRY(list_cuts(l));
    TW_TRY(list_levels(l));
    TW_TRY(list_resident(l));
    TW_TRY(list_inputs(l));
    for (int k = 0; k < l->group->n_ops; k++) TW_TRY(list_spreads(l, k));
    return TW_OK;
}

tw_status tw_group_moves_that_stay(const tw_plan *plan, const tw_work *work, tw_group_move_sink sink)
{
    lister l = {.plan = plan, .work = work, .sink = sink};
    TW_TRY(tw_frame_facts_of(plan->model, plan->machine, work->arena, &l.facts));
    for (l.g = 0; l.g < plan->mapping->n_groups; l.g++) {
        l.group = &plan->mapping->group[l.g];
        if (!is_resident(&l, tw_joint_output(plan->joint->program, l.g))) TW_TRY(list_resident(&l));
        TW_TRY(list_inputs(&l));
    }
    return TW_OK;
}

tw_status tw_group_moves_each(const tw_plan *plan, const tw_pricing *by, const tw_work *work,
                              tw_group_move_sink sink)
{
    lister l = {.plan = plan, .by = by, .work = work, .sink = sink};
    TW_TRY(tw_frame_facts_of(plan->model, plan->machine, work->arena, &l.facts));
    for (l.g = 0; l.g < plan->mapping->n_groups; l.g++) {
        l.group = &plan->mapping->group[l.g];
        TW_TRY(list_group(&l));
    }
    if (!by) return TW_OK;
    TW_TRY(tw_tiler_new(by, work->arena, &l.tiler));
    for (l.g = 0; l.g < plan->mapping->n_groups; l.g++) {
        l.group = &plan->mapping->group[l.g];
        TW_TRY(list_join(&l));
        TW_TRY(list_partings(&l));
    }
    return TW_OK;
}
