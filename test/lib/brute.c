/* test/lib/brute.c - see brute.h.
 *
 * One function per kind of choice: each makes its choice in all ways and calls the next kind. What is chosen first
 * is what the others depend on: levels, cuts and orders of all levels, then keeping, sums, unrolling and buffers. */
#include "brute.h"

#include "plan/plan.h"
#include "search/layout.h"
#include "sim/timeline.h"

#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const brute_space *space;
    const tw_op *op;
    const tw_machine *machine; /* with the operator's costs  */
    const tw_machine *roomy;   /* with memories of any size  */
    const tw_space *joined;    /* of a search that divides loops, NULL: it does not */
    tw_op_map map;
    tw_op_map behind[BRUTE_MAX_OPS];                /* of all operators; the first is `map` */
    int64_t len[TW_MAX_MEMORIES + 1][TW_MAX_LOOPS]; /* longest piece that reaches a level */
    bool counts;                                    /* only count, up to `limit`          */
    int64_t limit, n_tried, n_good;
    brute_fn fn;
    void *user;
    tw_arena *scratch;
    tw_diag diag;
} walk;

static void walk_level(walk *w, int level);

static bool is_async(const walk *w) { return w->machine->timing == TW_ASYNC; }

static unsigned role_of(const tw_op *op, int o)
{
    if (o == op->n_operands - 1) return TW_HOLDS_OUTPUT;
    return op->operand[o].weights ? TW_HOLDS_WEIGHTS : TW_HOLDS_ACTIVATIONS;
}

static bool holds(const walk *w, int level, int operand)
{
    const tw_memory *memory = &w->machine->memory[level + 1];
    bool named = false;
    for (int i = 0; memory->named && i < memory->named->n; i++)
        named |= strcmp(memory->named->name[i], w->op->operand[operand].name) == 0;
    return named || (memory->holds & role_of(w->op, operand));
}

/* Whether a tiled level cuts the longest piece of the loop that it gets. */
static bool is_cut(const walk *w, int level, int loop)
{
    const tw_level_map *map = &w->map.level[level];
    return map->size[loop] > 0 ? map->size[loop] < w->len[level][loop] : map->count[loop] > 1;
}

/* ---- the judgement ---- */

static void check_memory(tw_status status)
{
    if (status == TW_ERR_NOMEM) abort();
}

static tw_outcome outcome_of(const walk *w, const tw_timeline *t)
{
    tw_outcome out = {.cycles = t->sum.cycles, .ticks = t->sum.ticks, .energy_fj = t->sum.energy_fj};
    for (int e = 0; e < w->machine->n_engines; e++)
        out.moved[e] = t->engine[e].load_units + t->engine[e].store_units;
    for (int m = 0; m < w->machine->n_memories; m++)
        for (int o = 0; o < w->op->n_operands; o++) out.crossed[m] += t->link[m][o].units;
    return out;
}

static tw_status check(walk *w)
{
    w->behind[w->space->op] = w->map;
    tw_mapping mapping = {w->space->model->n_ops, w->behind};
    return tw_mapping_check(&mapping, w->space->model, w->machine, &w->diag);
}

/* One operator alone: does it fit, what does it cost? */
static tw_status run_alone(walk *w, tw_outcome *out)
{
    tw_program program;
    tw_timeline timeline;
    TW_TRY(tw_program_build(&(tw_problem){w->space->model, w->space->op, w->machine}, &w->map, w->scratch, &w->diag,
                            &program));
    TW_TRY(tw_timeline_run(&program, w->scratch, &w->diag, &timeline));
    *out = outcome_of(w, &timeline);
    for (int m = 0; m < w->machine->n_memories; m++) out->used[m] = program.layout.used[m];
    return TW_OK;
}

/* With others fused behind it: all are built as if there were room for anything, placed together, and then held against
 * the memories that there are. */
static tw_status run_group(walk *w, tw_outcome *out)
{
    tw_op_plan op[BRUTE_MAX_OPS];
    tw_placing placing[TW_MAX_MEMORIES];
    tw_parts parts = {op, placing, 0};
    const tw_group group = {
        .model = w->space->model, .machine = w->roomy, .map = w->behind, .n = w->space->model->n_ops};
    memset(op, 0, sizeof op);
    TW_TRY(tw_group_build(&group, &(tw_work){w->scratch, w->scratch, &w->diag}, &parts));
    *out = outcome_of(w, &op[0].timeline);
    for (int i = 0; i < parts.n_placings; i++) {
        int m = placing[i].memory;
        out->used[m] = placing[i].height[placing[i].policy];
        if (out->used[m] > w->machine->memory[m].size) return TW_INFEASIBLE;
    }
    return TW_OK;
}

/* Whether a machine that pads loops is asked for innermost tiles of this size along the loop. */
static bool is_unpadded(const walk *w, int loop, int64_t size)
{
    const tw_engine *mac = &w->machine->engine[w->machine->compute];
    int64_t extent = w->op->loop[loop].extent, step = 1;
    bool some = false;
    if (!mac->multiple_parallel || !w->op->loop[loop].reduces) step = tw_max(1, mac->tile_multiple);
    for (int64_t s = step; s < extent; s += step) some |= extent % s == 0;
    if (size == extent) return true;
    return size % step == 0 && (extent % size == 0 || (!some && step > 1));
}

static bool is_asked_for(const walk *w)
{
    int inner = w->map.n_levels - 1;
    const tw_level_map *map = &w->map.level[inner];
    for (int l = 0; l < w->op->n_loops && w->machine->pads; l++)
        if (map->count[l] > 1 || !is_unpadded(w, l, w->len[inner + 1][l])) return false;
    return true;
}

static void judge(walk *w)
{
    if (!is_asked_for(w)) return;
    tw_arena_mark mark = tw_arena_save(w->scratch);
    tw_outcome outcome;
    tw_status status = check(w);
    if (status == TW_OK)
        status = (w->space->model->n_ops > 1 && !w->space->alone ? run_group : run_alone)(w, &outcome);
    check_memory(status);
    w->n_tried++;
    if (status == TW_OK) {
        w->n_good++;
        w->fn(w->user, &w->map, &outcome);
    }
    tw_arena_rewind(w->scratch, mark);
}

/* ---- buffers ---- */

static bool has_buffers(const walk *w, int level, int operand)
{
    if (tw_view_keeps(w->machine, w->op, operand)) return false;
    return is_async(w) ? holds(w, level, operand) : !w->map.level[level].pass;
}

/* `i` counts operands of levels. */
static void walk_buffers(walk *w, int i)
{
    int level = i / w->op->n_operands, operand = i % w->op->n_operands;
    if (level == w->map.n_levels) {
        judge(w);
        return;
    }
    int64_t *slots = &w->map.level[level].slots[operand], most = w->space->max_buffers;
    for (*slots = 1; has_buffers(w, level, operand) && *slots <= most; ++*slots) walk_buffers(w, i + 1);
    if (has_buffers(w, level, operand)) return;
    *slots = is_async(w) ? 0 : TW_PASS_SLOTS;
    walk_buffers(w, i + 1);
}

static int64_t count_buffers(const walk *w)
{
    int64_t n = 1;
    for (int l = 0; l < w->map.n_levels; l++)
        for (int o = 0; o < w->op->n_operands; o++) n *= has_buffers(w, l, o) ? w->space->max_buffers : 1;
    return n;
}

/* Whether a mapping with these cuts, orders and stays, but with single buffers, can be built. */
static bool can_be_built(walk *w)
{
    tw_arena_mark mark = tw_arena_save(w->scratch);
    tw_program program;
    for (int l = 0; l < w->map.n_levels; l++)
        for (int o = 0; o < w->op->n_operands; o++)
            w->map.level[l].slots[o] = has_buffers(w, l, o) ? 1 : is_async(w) ? 0 : TW_PASS_SLOTS;
    tw_status status = tw_program_build(&(tw_problem){w->space->model, w->space->op, w->machine}, &w->map,
                                        w->scratch, &w->diag, &program);
    check_memory(status);
    tw_arena_rewind(w->scratch, mark);
    return status == TW_OK;
}

static void walk_all_buffers(walk *w)
{
    if (w->counts)
        w->n_tried += count_buffers(w);
    else if (w->space->full || w->space->max_buffers == 1 || can_be_built(w))
        walk_buffers(w, 0);
}

/* ---- unrolling ---- */

/* Every loop of more than one point over any dimension of the array or over none. */
static void walk_spreads(walk *w, int loop)
{
    const tw_cost *cost = &w->machine->engine[w->machine->compute].cost;
    int8_t *dim = w->map.level[w->map.n_levels - 1].over.dim;
    if (loop == w->op->n_loops) {
        walk_all_buffers(w); /* no loop at all: the default */
        return;
    }
    int n_dims = w->op->loop[loop].extent > 1 ? cost->array.n_dims : 0;
    for (dim[loop] = 0; dim[loop] <= n_dims; dim[loop]++) walk_spreads(w, loop + 1);
    dim[loop] = 0;
}

/* Where loops may be divided and one level is tiled: the spread with the fewest passes of its tiles. That no other has fewer is tried out by
 * test/search/test_layout.c. */
static void walk_divided(walk *w)
{
    tw_level_map *inner = &w->map.level[w->map.n_levels - 1];
    tw_tiles tiles[TW_MAX_LOOPS];
    tw_spread over;
    for (int i = 0; i < w->map.n_levels - 1; i++)
        if (!w->map.level[i].pass) return;
    for (int l = 0; l < w->op->n_loops; l++)
        tiles[l] = tw_tiles_of(tw_level_split(inner, l, w->op->loop[l].extent));
    if (tw_layout_best(w->joined, tiles, &over) == 0) return;
    bool divided = false;
    for (int l = 0; l < w->op->n_loops; l++) divided |= tw_spread_divides(&over, l);
    if (!divided) return;
    inner->over = over;
    walk_all_buffers(w);
    inner->over = (tw_spread){{0}};
}

static void walk_unrolls(walk *w)
{
    bool array = w->machine->engine[w->machine->compute].cost.kind == TW_COST_ARRAY;
    walk_spreads(w, array ? 0 : w->op->n_loops);
    if (w->joined) walk_divided(w);
}

/* ---- sums ---- */

static bool cuts_reduction(const walk *w, int level)
{
    for (int l = 0; l < w->op->n_loops; l++)
        if (w->op->loop[l].reduces && is_cut(w, level, l)) return true;
    return false;
}

static void walk_modes(walk *w, int level)
{
    if (level == w->map.n_levels) {
        walk_unrolls(w);
        return;
    }
    unsigned offered = is_async(w) ? 1u << TW_FUSED : w->machine->engine[w->machine->compute].accumulate;
    for (int mode = 0; mode < TW_N_ACCUMULATES; mode++) {
        if (!(offered >> mode & 1)) continue;
        w->map.level[level].accumulate = (tw_accumulate)mode;
        walk_modes(w, level + 1);
        bool same = w->map.level[level].pass || (!w->space->full && !cuts_reduction(w, level));
        if (same) break;
    }
}

/* ---- keeping ---- */

/* The level whose tiles a memory holds: its own or, when it is passed through, the next tiled one. */
static int grain_of(const walk *w, int level)
{
    while (w->map.level[level].pass) level++;
    return level;
}

/* Whether keeping while `loop` stays differs from everything else that can be said: it is cut, and another loop that
 * is cut stands inside. */
static bool matters(const walk *w, int grain, int loop)
{
    const int *order = w->map.level[grain].order;
    int at = 0;
    while (order[at] != loop) at++;
    bool inside = false;
    for (at++; at < w->op->n_loops; at++) inside |= is_cut(w, grain, order[at]);
    return inside && is_cut(w, grain, loop);
}

static bool cuts_something(const walk *w, int level)
{
    for (int l = 0; l < w->op->n_loops; l++)
        if (is_cut(w, level, l)) return true;
    return false;
}

/* Whether the memory may keep the operand for longer than a tile. */
static bool may_keep(const walk *w, int level, int operand)
{
    unsigned what = role_of(w->op, operand);
    return w->machine->memory[level + 1].keeps & what;
}

/* Whether the loop moves one axis of the input, together with another loop and not divided: windows may slide along it. */
static bool moves_window(const walk *w, int operand, int loop)
{
    int n = 0;
    bool window = false;
    for (int a = 0; a < w->op->operand[operand].n_axes; a++)
        for (int t = 0; t < w->op->operand[operand].axis[a].n_terms; t++) {
            const tw_axis *axis = &w->op->operand[operand].axis[a];
            if (axis->term[t].loop != loop) continue;
            n++;
            window = axis->n_terms > 1 && axis->divisor == 1 && axis->term[t].coef > 0;
        }
    return n == 1 && window;
}

static void walk_keeps(walk *w, int i);

/* All ways to slide with the keep that is chosen: what the builder does not know is refused. Two words mean the same where
 * the loop is not cut; keeping while it stays says the same as a tile, or is what lets a tile stay that is to be declared. */
static void walk_slides(walk *w, int i)
{
    int level = i / w->op->n_operands, operand = i % w->op->n_operands, keep = w->map.level[level].keeps[operand];
    bool slides = operand != tw_op_output(w->op) && !w->machine->pads && !w->machine->memory[level + 1].whole;
    walk_keeps(w, i + 1);
    for (int l = 0; l < w->op->n_loops && slides && is_async(w); l++) {
        if (!moves_window(w, operand, l) || !holds(w, level, operand) || !may_keep(w, level, operand)) continue;
        if (!w->space->full && (!is_cut(w, grain_of(w, level), l) || (keep != 0 && keep != l + 1))) continue;
        w->map.level[level].slides[operand] = l + 1;
        walk_keeps(w, i + 1);
    }
    w->map.level[level].slides[operand] = 0;
}

static void walk_keeps(walk *w, int i)
{
    if (w->counts && w->n_tried > w->limit) return;
    int level = i / w->op->n_operands, operand = i % w->op->n_operands;
    if (level == w->map.n_levels) {
        walk_modes(w, 0);
        return;
    }
    int *keeps = &w->map.level[level].keeps[operand], grain = grain_of(w, level);
    *keeps = 0;
    walk_slides(w, i);
    if (!is_async(w) || !holds(w, level, operand) || !may_keep(w, level, operand)) return;
    if (tw_view_keeps(w->machine, w->op, operand)) return;
    if (w->space->full || cuts_something(w, grain)) {
        *keeps = -1;
        walk_slides(w, i);
    }
    for (int l = 0; l < w->op->n_loops && !w->machine->memory[level + 1].whole; l++) {
        if (!w->space->full && !matters(w, grain, l)) continue;
        *keeps = l + 1;
        walk_slides(w, i);
    }
    *keeps = 0;
}

/* ---- orders ---- */

/* Whether loop b may follow loop a at once. */
static bool may_follow(const walk *w, int level, int a, int b)
{
    if (!is_async(w) && w->op->loop[a].reduces != w->op->loop[b].reduces) return w->op->loop[b].reduces;
    if (w->space->full) return true;
    bool cut_a = is_cut(w, level, a), cut_b = is_cut(w, level, b);
    if (cut_a != cut_b) return cut_a; /* those that are not cut come last, in one order */
    return cut_a || a < b;
}

static void walk_orders(walk *w, int level, int at, unsigned used)
{
    int *order = w->map.level[level].order;
    if (at == w->op->n_loops) {
        walk_level(w, level + 1);
        return;
    }
    for (int l = 0; l < w->op->n_loops; l++) {
        if ((used >> l & 1) || (at > 0 && !may_follow(w, level, order[at - 1], l))) continue;
        order[at] = l;
        walk_orders(w, level, at + 1, used | 1u << l);
    }
}

/* ---- cuts ---- */

static void walk_cuts(walk *w, int level, int loop)
{
    tw_level_map *map = &w->map.level[level];
    if (w->counts && w->n_tried > w->limit) return;
    if (loop == w->op->n_loops) {
        walk_orders(w, level, 0, 0);
        return;
    }
    int64_t len = w->len[level][loop], longest = w->space->full ? len : len - 1;
    map->size[loop] = 0;
    for (int64_t c = 1; c <= len; c++) {
        if (tw_cdiv(len, tw_cdiv(len, c)) != c) continue;
        map->count[loop] = c;
        w->len[level + 1][loop] = tw_cdiv(len, c);
        walk_cuts(w, level, loop + 1);
    }
    map->count[loop] = 0;
    for (int64_t t = 1; t <= longest; t++) {
        map->size[loop] = t;
        w->len[level + 1][loop] = t;
        walk_cuts(w, level, loop + 1);
    }
}

/* ---- levels ---- */

static void walk_level(walk *w, int level)
{
    if (level == w->map.n_levels) {
        walk_keeps(w, 0);
        return;
    }
    tw_level_map *map = &w->map.level[level];
    *map = (tw_level_map){.memory = level + 1, .min_tile = 1, .cut = TW_BALANCED, .pass = true};
    for (int l = 0; l < w->op->n_loops; l++) map->count[l] = 1, map->order[l] = l;
    memcpy(w->len[level + 1], w->len[level], sizeof w->len[level]);
    if (level < w->map.n_levels - 1) walk_level(w, level + 1);
    *map = (tw_level_map){.memory = level + 1, .min_tile = 1, .cut = TW_BALANCED};
    walk_cuts(w, level, 0);
}

static tw_op_map one_tile(const tw_op *op, int n_levels)
{
    tw_op_map map = {.fused = true, .n_levels = n_levels};
    for (int l = 0; l < n_levels; l++) {
        tw_level_map *level = &map.level[l];
        *level = (tw_level_map){.memory = l + 1, .min_tile = 1, .accumulate = TW_FUSED, .pass = l + 1 < n_levels};
        for (int i = 0; i < op->n_loops; i++) level->order[i] = i, level->count[i] = 1;
        for (int o = 0; o < op->n_operands; o++) level->slots[o] = 1;
    }
    return map;
}

/* The space of a search where that divides loops, NULL: it does not. */
static const tw_space *joined_of(const walk *w)
{
    tw_search_options options = {.space = TW_SPACE_ALL};
    tw_space *space = TW_NEW(w->scratch, tw_space, 1);
    tw_problem problem = {w->space->model, w->space->op, w->machine};
    tw_diag muted = {.muted = true};
    if (!space || tw_space_of(&problem, &options, w->scratch, &muted, space) != TW_OK) return NULL;
    for (int i = 0; i < space->n_frames; i++)
        if (space->frame[i].joined) return space;
    return NULL;
}

static walk walk_of(const brute_space *space)
{
    walk w = {
        .space = space, .op = &space->model->op[space->op], .scratch = tw_arena_new(), .diag = {.muted = true}};
    if (!w.scratch) abort();
    tw_machine *machine = TW_NEW(w.scratch, tw_machine, 2);
    if (!machine) abort();
    unsigned fused = space->alone ? space->fused : ~1u;
    tw_fusion fusion = {fused >> space->op & 1,
                        space->op + 1 < space->model->n_ops && fused >> (space->op + 1) & 1};
    machine[0] = tw_machine_for(space->machine, space->model, w.op, fusion);
    machine[1] = *space->machine;
    for (int m = 1; m < space->machine->n_memories; m++) machine[1].memory[m].size = TW_UNLIMITED;
    w.machine = &machine[0];
    w.roomy = &machine[1];
    w.joined = space->divided ? joined_of(&w) : NULL;
    assert(space->model->n_ops <= BRUTE_MAX_OPS);
    w.map.n_levels = space->machine->n_memories - 1;
    w.map.fused = fusion.before;
    for (int i = 0; i < space->model->n_ops; i++) {
        w.behind[i] = one_tile(&space->model->op[i], w.map.n_levels);
        w.behind[i].fused = fused >> i & 1;
    }
    for (int l = 0; l < w.op->n_loops; l++) w.len[0][l] = w.op->loop[l].extent;
    return w;
}

int64_t brute_size(const brute_space *space, int64_t limit)
{
    walk w = walk_of(space);
    w.counts = true;
    w.limit = limit;
    walk_level(&w, 0);
    tw_arena_free(w.scratch);
    return w.n_tried;
}

int64_t brute_run(const brute_space *space, brute_fn fn, void *user)
{
    walk w = walk_of(space);
    w.fn = fn;
    w.user = user;
    walk_level(&w, 0);
    tw_arena_free(w.scratch);
    return w.n_good;
}
