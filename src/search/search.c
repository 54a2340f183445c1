/* src/search/search.c - see search.h. */
#include "search/search.h"

#include "core/table.h"
#include "search/family.h"
#include "tile/box.h"
#include "tile/split.h"

#include <string.h>

/* Executions to simulate at most, per mode, unless the caller says otherwise: some seconds. */
#define DIRECT_BUDGET     INT64_C(30000000)
#define MULTISTAGE_BUDGET INT64_C(8000000)

typedef struct solution {
    bool feasible;
    tw_op_map map; /* of the levels from this one inwards */
    int64_t value;
    int64_t n_optima;
} solution;

typedef struct search {
    const tw_model *model;
    const tw_op *op;
    const tw_machine *machine;
    tw_objective objective;
    tw_cut cut;
    tw_accumulate mode;
    int64_t min_tile, max_single, max_outer, max_inner;
    const tw_eval *eval;
    tw_table *solved; /* solution by level and box */
    unsigned clipped;
    int64_t n_points;
    int64_t left;        /* executions that may still be simulated */
    int64_t least_short; /* of the complete mappings that did not fit, the one that misses least memory */
    tw_op_map nearest;
} search;

/* ---- smaller problems ---- */

/* The operator restricted to a box: the same nest, shorter and shifted. */
static tw_op op_on_box(const tw_op *op, const tw_box *box)
{
    tw_op sub = *op;
    for (int l = 0; l < op->n_loops; l++) sub.loop[l].extent = tw_span_len(box->span[l]);
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            tw_axis *axis = &sub.operand[o].axis[a];
            if (o == tw_op_output(op)) {
                axis->extent = sub.loop[axis->term[0].loop].extent;
                continue;
            }
            for (int t = 0; t < axis->n_terms; t++)
                axis->offset += axis->term[t].coef * box->span[axis->term[t].loop].lo;
        }
    return sub;
}

/* The machine from memory `outermost` inwards. */
static tw_machine machine_from(const tw_machine *machine, int outermost)
{
    tw_machine sub = *machine;
    sub.n_memories = machine->n_memories - outermost;
    memcpy(sub.memory, machine->memory + outermost, (size_t)sub.n_memories * sizeof *sub.memory);
    int moved[TW_MAX_ENGINES];
    sub.n_engines = 0;
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_engine *engine = &machine->engine[e];
        moved[e] = -1;
        if ((engine->kind == TW_MOVES ? engine->outer : engine->memory) < outermost) continue;
        moved[e] = sub.n_engines;
        tw_engine *copy = &sub.engine[sub.n_engines++];
        *copy = *engine;
        copy->outer -= engine->kind == TW_MOVES ? outermost : 0;
        copy->memory -= outermost;
    }
    for (int e = 0; e < sub.n_engines; e++)
        if (sub.engine[e].shares >= 0) sub.engine[e].shares = moved[sub.engine[e].shares];
    sub.compute = moved[machine->compute];
    return sub;
}

/* ---- one level's candidates ---- */

typedef struct level_search {
    search *all;
    int level; /* of the machine: maps memory level + 1 */
    const tw_box *box;
    tw_model model; /* the operator on this box */
    tw_op op;
    tw_machine machine;    /* from memory `level` inwards */
    const solution *inner; /* for the first tile of the counts at hand, NULL: innermost */
    solution *best;
    bool pass_outer; /* direct: the levels outside this one are passed through */
} level_search;

static int64_t value_of(const search *all, const tw_summary *sum)
{
    return all->objective == TW_TICKS ? sum->ticks : sum->cycles;
}

/* All levels of the machine at hand: the candidate, and what is outside or inside of it. */
static void assemble(const level_search *s, const tw_level_map *candidate, tw_op_map *map)
{
    map->loc = s->op.loc;
    map->n_levels = s->machine.n_memories - 1;
    int own = s->pass_outer ? map->n_levels - 1 : 0;
    for (int l = 0; l < own; l++) {
        map->level[l] = (tw_level_map){.loc = s->op.loc, .memory = l + 1, .pass = true, .cut = candidate->cut};
        for (int o = 0; o < s->op.n_operands; o++) map->level[l].slots[o] = 2;
    }
    map->level[own] = *candidate;
    map->level[own].memory = own + 1;
    map->level[own].loc = s->op.loc;
    for (int l = own + 1; l < map->n_levels; l++) {
        map->level[l] = s->inner->map.level[l - own - 1];
        map->level[l].memory = l + 1;
    }
}

static void keep_nearest(search *all, const tw_op_map *map, int64_t short_by)
{
    if (short_by <= 0 || short_by >= all->least_short) return;
    all->least_short = short_by;
    all->nearest = *map;
}

static tw_status try_candidate(void *user, const tw_level_map *candidate, int64_t n_execs)
{
    level_search *s = user;
    tw_op_map map;
    tw_summary sum;
    int64_t short_by = 0;
    if (s->all->left <= 0) return TW_OK;
    assemble(s, candidate, &map);
    tw_status status = s->all->eval->cost(s->all->eval->user, &s->model, &s->machine, &map, &sum, &short_by);
    s->all->left -= status == TW_OK ? n_execs : 1;
    if (status == TW_INFEASIBLE && s->pass_outer) keep_nearest(s->all, &map, short_by);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    s->all->n_points++;
    int64_t value = value_of(s->all, &sum);
    if (s->best->feasible && value > s->best->value) return TW_OK;
    if (s->best->feasible && value == s->best->value) {
        s->best->n_optima++;
        return TW_OK;
    }
    *s->best = (solution){true, map, value, 1};
    return TW_OK;
}

/* ---- bounds ---- */

/* Calls back with every different shape of tile and how many there are of it. */
typedef bool (*shape_fn)(void *user, const tw_box *tile, int64_t n);
static bool each_shape(const level_search *s, const tw_level_map *map, int loop, tw_box *tile, int64_t n,
                       shape_fn fn, void *user)
{
    if (loop == s->op.n_loops) return fn(user, tile, n);
    tw_span span = s->box->span[loop];
    tw_split split = tw_split_by_count(tw_span_len(span), map->count[loop], map->cut);
    /* Near the tensor's edge every tile is its own shape. */
    bool positions = s->all->clipped != 0;
    int64_t last_len = -1, run = 0;
    for (int64_t i = 0; i <= split.count; i++) {
        int64_t len = i < split.count ? tw_span_len(tw_split_at(&split, span.lo, i)) : -1;
        if (len == last_len && !positions) {
            run++;
            continue;
        }
        if (run > 0) {
            tile->span[loop] = tw_split_at(&split, span.lo, i - 1);
            if (!each_shape(s, map, loop + 1, tile, n * run, fn, user)) return false;
        }
        last_len = len;
        run = 1;
    }
    return true;
}

typedef struct bound {
    level_search *s;
    int64_t value;
    tw_status status;
} bound;

static tw_status solve(search *all, int level, const tw_box *box, const solution **out);

static bool add_shape(void *user, const tw_box *tile, int64_t n)
{
    bound *b = user;
    level_search *s = b->s;
    int64_t value;
    if (s->level + 2 < s->all->machine->n_memories) {
        const solution *inner;
        b->status = solve(s->all, s->level + 1, tile, &inner);
        if (b->status != TW_OK || !inner->feasible) return false;
        value = inner->value;
    } else {
        const tw_engine *mac = &s->all->machine->engine[s->all->machine->compute];
        value = s->all->objective == TW_TICKS ? 1 : tw_cost_cycles(&mac->cost, tw_box_points(s->all->op, tile));
    }
    if (!tw_ckd_mul(value, n, &value) || !tw_ckd_add(b->value, value, &b->value)) b->value = INT64_MAX;
    return !s->best->feasible || b->value <= s->best->value;
}

/* Whether the first tile fits with as few slots as can be. Other tiles may be larger, so this refuses only what
 * cannot fit. */
static bool counts_may_fit(const level_search *s, const tw_level_map *map)
{
    tw_box tile = {0};
    int64_t partials = 1, need = 0;
    for (int l = 0; l < s->op.n_loops; l++) {
        tw_split split = tw_split_by_count(s->op.loop[l].extent, map->count[l], map->cut);
        tile.span[l] = tw_split_at(&split, 0, 0);
        if (s->op.loop[l].reduces) partials *= map->count[l];
    }
    for (int o = 0; o < s->op.n_operands; o++) {
        tw_region region;
        int64_t slots = o == tw_op_output(&s->op) ? tw_mapping_min_output_slots(s->all->mode, partials) : 1;
        int64_t elems = tw_region_of(&s->op.operand[o], &tile, &region);
        need += slots * tw_machine_units(&s->machine, s->model.tensor[s->op.operand[o].tensor].dtype, elems);
    }
    return need <= s->machine.memory[s->pass_outer ? s->machine.n_memories - 1 : 1].size;
}

/* Whether the tiles can fit, and executions alone, each at the least it can cost, leave room below the best so far. */
static bool counts_may_win(void *user, const tw_level_map *map, int64_t n_execs)
{
    level_search *s = user;
    (void)n_execs;
    if (--s->all->left <= 0) return false;
    if (!counts_may_fit(s, map) && (!s->pass_outer || s->best->feasible)) return false;
    bound b = {.s = s, .value = s->all->objective == TW_TICKS ? 2 : 0};
    tw_box tile;
    if (!each_shape(s, map, 0, &tile, 1, add_shape, &b)) return false;
    if (s->pass_outer || s->level + 2 == s->all->machine->n_memories) return true;
    for (int l = 0; l < s->op.n_loops; l++) {
        tw_split split = tw_split_by_count(tw_span_len(s->box->span[l]), map->count[l], map->cut);
        tile.span[l] = tw_split_at(&split, s->box->span[l].lo, 0);
    }
    return solve(s->all, s->level + 1, &tile, &s->inner) == TW_OK && s->inner->feasible;
}

/* ---- levels ---- */

static tw_status search_level(search *all, int level, const tw_box *box, int64_t max_execs, bool direct,
                              solution *best)
{
    level_search s = {.all = all, .level = level, .box = box, .best = best, .pass_outer = direct};
    s.op = op_on_box(all->op, box);
    s.model = *all->model;
    s.model.n_ops = 1;
    s.model.op = &s.op;
    s.machine = machine_from(all->machine, direct ? 0 : level);
    tw_family family = {.op = &s.op,
                        .memory = 1,
                        .mode = all->mode,
                        .cut = all->cut,
                        .min_tile = all->min_tile,
                        .max_execs = max_execs};
    for (int l = 0; l < s.op.n_loops; l++) family.len[l] = s.op.loop[l].extent;
    return tw_family_walk(&family, counts_may_win, try_candidate, &s);
}

/* The best mapping from `level` inwards for a box, remembered. */
static tw_status solve(search *all, int level, const tw_box *box, const solution **out)
{
    int64_t key[TW_BOX_KEY_MAX + 1];
    bool found;
    int n = tw_box_key(all->op, box, all->clipped, key);
    key[n++] = level;
    solution *s = tw_table_entry(all->solved, key, n, &found);
    if (!s) return TW_ERR_NOMEM;
    *out = s;
    if (found) return TW_OK;
    bool innermost = level + 2 == all->machine->n_memories;
    return search_level(all, level, box, innermost ? all->max_inner : all->max_outer, false, s);
}

static void keep_better(const solution *candidate, solution *best)
{
    if (candidate->feasible && (!best->feasible || candidate->value < best->value)) *best = *candidate;
}

/* When nothing fits with the usual number of executions, more of them are allowed, eightfold at a time. */
static tw_status search_direct(search *all, const tw_box *box, const tw_search_options *options, solution *best)
{
    int64_t most = tw_op_points(all->op);
    for (int64_t n = all->max_single;; n = n > most / 8 ? most : n * 8) {
        TW_TRY(search_level(all, all->machine->n_memories - 2, box, n, true, best));
        if (best->feasible || options->max_execs > 0 || n >= most || all->left <= 0) return TW_OK;
    }
}

static tw_status search_mode(search *all, const tw_search_options *options, tw_arena *scratch, solution *best,
                             bool *proven)
{
    tw_box box = tw_box_of_op(all->op);
    bool one_level = all->machine->n_memories == 2;
    const char *only = options->approach;
    all->solved = tw_table_new(sizeof(solution), scratch);
    if (!all->solved) return TW_ERR_NOMEM;
    if (one_level || !only || strcmp(only, "direct") == 0) {
        solution direct = {0};
        all->left = options->budget > 0 ? options->budget : DIRECT_BUDGET;
        TW_TRY(search_direct(all, &box, options, &direct));
        keep_better(&direct, best);
        *proven &= all->left > 0;
    }
    if (!one_level && (!only || strcmp(only, "multistage") == 0)) {
        const solution *multistage;
        all->left = options->budget > 0 ? options->budget : MULTISTAGE_BUDGET;
        TW_TRY(solve(all, 0, &box, &multistage));
        keep_better(multistage, best);
        *proven = false;
    }
    return TW_OK;
}

/* ---- options ---- */

static bool has_word(const char *word, const char *const *list, int n, int *out)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0) {
            *out = i;
            return true;
        }
    return false;
}

/* The modes to try, as a mask. */
static tw_status modes_of(const tw_machine *machine, const char *mode, tw_diag *diag, unsigned *out)
{
    const tw_engine *mac = &machine->engine[machine->compute];
    static const char *const word[] = {"separate", "in-place", "fused", "any"};
    int i = TW_N_ACCUMULATES;
    if (mode && !has_word(mode, word, 4, &i))
        return tw_diag_error(diag, (tw_loc){0}, "mode '%s' is none of separate, in-place, fused, any", mode);
    if (!mode) {
        i = TW_IN_PLACE;
        for (int m = 0; !(mac->accumulate >> i & 1) && m < TW_N_ACCUMULATES; m++) i = m;
    }
    *out = i == TW_N_ACCUMULATES ? mac->accumulate : mac->accumulate & 1u << i;
    if (*out == 0)
        return tw_diag_error(diag, mac->loc, "engine '%s' does not accumulate in mode '%s'", mac->name, mode);
    return TW_OK;
}

static tw_status read_options(const tw_search_options *options, const tw_machine *machine, tw_diag *diag,
                              search *all)
{
    static const char *const cut[] = {"balanced", "greedy"}, *const approach[] = {"direct", "multistage"};
    int i = 0;
    if (options->cut && !has_word(options->cut, cut, 2, &i))
        return tw_diag_error(diag, (tw_loc){0}, "cut '%s' is none of balanced, greedy", options->cut);
    all->cut = i == 0 ? TW_BALANCED : TW_GREEDY;
    if (options->approach && !has_word(options->approach, approach, 2, &i))
        return tw_diag_error(diag, (tw_loc){0}, "approach '%s' is none of direct, multistage", options->approach);
    all->objective = options->objective;
    all->min_tile = tw_max(options->min_tile, machine->engine[machine->compute].min_tile);
    all->max_single = options->max_execs > 0 ? options->max_execs : 512;
    all->max_outer = options->max_outer > 0 ? options->max_outer : 16;
    all->max_inner = options->max_inner > 0 ? options->max_inner : 64;
    return TW_OK;
}

tw_status tw_search_op(const tw_model *model, int op, const tw_machine *machine, const tw_search_options *options,
                       const tw_eval *eval, tw_arena *scratch, tw_diag *diag, tw_op_map *map,
                       tw_search_result *result, bool *nearest)
{
    search all = {.model = model, .op = &model->op[op], .machine = machine, .eval = eval, .least_short = INT64_MAX};
    *nearest = false;
    unsigned modes = 0;
    TW_TRY(read_options(options, machine, diag, &all));
    TW_TRY(modes_of(machine, options->mode, diag, &modes));
    if (!(machine->engine[machine->compute].computes >> all.op->compute & 1))
        return tw_diag_error(diag, all.op->loc, "engine '%s' of '%s' does not compute '%s'",
                             machine->engine[machine->compute].name, machine->name,
                             tw_compute_name(all.op->compute));
    all.clipped = tw_op_clipped(all.op);
    solution best = {0};
    bool proven = true;
    for (int m = 0; m < TW_N_ACCUMULATES; m++) {
        if (!(modes >> m & 1)) continue;
        all.mode = (tw_accumulate)m;
        tw_arena_mark mark = tw_arena_save(scratch);
        tw_status status = search_mode(&all, options, scratch, &best, &proven);
        tw_arena_rewind(scratch, mark);
        TW_TRY(status);
    }
    if (!best.feasible && all.least_short < INT64_MAX) {
        *nearest = true;
        *map = all.nearest;
    }
    if (!best.feasible)
        return tw_diag_infeasible(diag, all.op->loc, "no mapping of '%s' %s fits machine '%s'", all.op->name,
                                  proven ? "in the family" : "that was tried", machine->name);
    *map = best.map;
    *result = (tw_search_result){best.value, all.n_points, best.n_optima, proven};
    return TW_OK;
}
