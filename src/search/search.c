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
    tw_measure objective;
    tw_cut cut;
    tw_accumulate mode;
    int64_t min_tile, max_single, max_outer, max_inner;
    const tw_eval *eval;
    tw_table *solved; /* solution by level and box */
    unsigned clipped;
    int64_t n_points;
    int64_t left;     /* executions that may still be simulated */
    bool has_nearest; /* of the complete mappings that were refused, the one that misses least memory */
    int64_t least_short;
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
    tw_status status;
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
        map->level[l] =
            (tw_level_map){.loc = s->op.loc, .memory = l + 1, .pass = true, .cut = candidate->cut, .min_tile = 1};
        for (int o = 0; o < s->op.n_operands; o++) map->level[l].slots[o] = TW_PASS_SLOTS;
    }
    map->level[own] = *candidate;
    map->level[own].memory = own + 1;
    map->level[own].loc = s->op.loc;
    for (int l = own + 1; l < map->n_levels; l++) {
        map->level[l] = s->inner->map.level[l - own - 1];
        map->level[l].memory = l + 1;
    }
}

/* Without a shortage of memory (short_by 0) a refusal counts only while there is no other. */
static void keep_nearest(search *all, const tw_op_map *map, int64_t short_by)
{
    if (short_by == 0) short_by = INT64_MAX;
    if (all->has_nearest && short_by >= all->least_short) return;
    all->has_nearest = true;
    all->least_short = short_by;
    all->nearest = *map;
}

/* Takes `amount` from the budget; false when it is used up. */
static bool spend(search *all, int64_t amount)
{
    all->left = amount < all->left ? all->left - amount : 0;
    return all->left > 0;
}

static void keep_best(level_search *s, const tw_op_map *map, int64_t value)
{
    s->all->n_points++;
    if (s->best->feasible && value > s->best->value) return;
    if (s->best->feasible && value == s->best->value)
        s->best->n_optima++;
    else
        *s->best = (solution){true, *map, value, 1};
}

static tw_visit try_candidate(void *user, const tw_level_map *candidate, int64_t n_execs)
{
    level_search *s = user;
    tw_op_map map;
    tw_summary sum;
    int64_t short_by = 0;
    assemble(s, candidate, &map);
    /* What the budget cannot pay is not begun. */
    if (n_execs >= s->all->left) return spend(s->all, n_execs) ? TW_SKIP : TW_STOP;
    tw_status status = s->all->eval->cost(s->all->eval->user, &s->model, &s->machine, &map, &sum, &short_by);
    if (status == TW_OK)
        keep_best(s, &map, value_of(s->all, &sum));
    else if (status == TW_INFEASIBLE && s->pass_outer)
        keep_nearest(s->all, &map, short_by);
    else if (status != TW_INFEASIBLE && status != TW_ERR_INPUT) {
        s->status = status;
        return TW_STOP;
    }
    return spend(s->all, status == TW_INFEASIBLE ? 1 : n_execs) ? TW_GO_ON : TW_STOP;
}

/* ---- bounds ---- */

/* Calls back with every different shape of tile and how many there are of it, until it answers false. */
typedef bool (*shape_fn)(void *user, const tw_box *tile, int64_t n);
static bool each_shape(const level_search *s, const tw_level_map *map, int loop, tw_box *tile, int64_t n,
                       shape_fn fn, void *user)
{
    if (loop == s->op.n_loops) return fn(user, tile, n);
    tw_span span = s->box->span[loop];
    tw_split split = tw_level_split(map, loop, tw_span_len(span));
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
} bound;

static tw_status solve(search *all, int level, const tw_box *box, const solution **out);

/* A tile in padding may be skipped by the program. */
static bool is_neutral(const search *all, const tw_box *tile)
{
    int64_t elems[TW_MAX_OPERANDS];
    tw_region region;
    if (!all->clipped) return false;
    for (int o = 0; o < all->op->n_operands; o++) elems[o] = tw_region_of(&all->op->operand[o], tile, &region);
    return tw_op_is_neutral(all->op, elems);
}

/* The least that executing the tile can cost. */
static tw_status least_of(level_search *s, const tw_box *tile, bool *feasible, int64_t *out)
{
    const tw_machine *machine = s->all->machine;
    *feasible = true;
    *out = 0;
    if (is_neutral(s->all, tile)) return TW_OK;
    if (s->level + 2 < machine->n_memories) {
        const solution *inner;
        TW_TRY(solve(s->all, s->level + 1, tile, &inner));
        *feasible = inner->feasible;
        *out = inner->value;
    } else if (s->all->objective == TW_TICKS) {
        *out = 1;
    } else {
        *out = tw_cost_cycles(&machine->engine[machine->compute].cost, tw_box_points(s->all->op, tile));
    }
    return TW_OK;
}

static bool add_shape(void *user, const tw_box *tile, int64_t n)
{
    bound *b = user;
    level_search *s = b->s;
    int64_t value = 0;
    bool feasible;
    s->status = least_of(s, tile, &feasible, &value);
    if (s->status != TW_OK || !feasible || !spend(s->all, 1)) return false;
    if (!tw_ckd_mul(value, n, &value) || !tw_ckd_add(b->value, value, &b->value)) b->value = INT64_MAX;
    return !s->best->feasible || b->value <= s->best->value;
}

/* Whether the first tile fits with as few slots as can be. Other tiles may be larger, so this refuses only what
 * cannot fit. */
static bool counts_may_fit(const level_search *s, const tw_level_map *map)
{
    tw_box whole = tw_box_of_op(&s->op), tile = tw_level_first_tile(map, &s->op, &whole);
    int64_t partials = 1, need = 0;
    for (int l = 0; l < s->op.n_loops; l++)
        if (s->op.loop[l].reduces) partials *= map->count[l];
    for (int o = 0; o < s->op.n_operands; o++) {
        tw_region region;
        int64_t slots = o == tw_op_output(&s->op) ? tw_mapping_min_output_slots(s->all->mode, partials) : 1;
        int64_t elems = tw_region_of(&s->op.operand[o], &tile, &region);
        int64_t units = tw_machine_units(&s->machine, s->model.tensor[s->op.operand[o].tensor].dtype, elems);
        if (!tw_ckd_mul(units, slots, &units) || !tw_ckd_add(need, units, &need)) return false;
    }
    return need <= s->machine.memory[s->pass_outer ? s->machine.n_memories - 1 : 1].size;
}

/* Executions alone, each at the least it can cost, against the best so far. */
static bool executions_may_win(level_search *s, const tw_level_map *map, int64_t n_execs)
{
    bool innermost = s->level + 2 == s->all->machine->n_memories;
    int64_t filling = s->all->objective == TW_TICKS ? 2 : 0; /* the first load and the last store */
    if (innermost && s->all->objective == TW_TICKS && !s->all->clipped)
        return !s->best->feasible || n_execs + filling <= s->best->value;
    bound b = {s, filling};
    tw_box tile = {0};
    return each_shape(s, map, 0, &tile, 1, add_shape, &b);
}

static tw_visit try_counts(void *user, const tw_level_map *map, int64_t n_execs)
{
    level_search *s = user;
    if (!spend(s->all, 1)) return TW_STOP;
    /* While nothing fits, the direct approach goes on to learn which mapping comes nearest. */
    if (!counts_may_fit(s, map) && (!s->pass_outer || s->best->feasible)) return TW_SKIP;
    if (!executions_may_win(s, map, n_execs)) return s->status != TW_OK || s->all->left <= 0 ? TW_STOP : TW_SKIP;
    if (s->pass_outer || s->level + 2 == s->all->machine->n_memories) return TW_GO_ON;
    tw_box tile = tw_level_first_tile(map, &s->op, s->box);
    s->status = solve(s->all, s->level + 1, &tile, &s->inner);
    if (s->status != TW_OK || s->all->left <= 0) return TW_STOP;
    return s->inner->feasible ? TW_GO_ON : TW_SKIP;
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
    tw_family_walk(&family, &(tw_family_visitor){try_counts, try_candidate, &s});
    return s.status;
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

/* The same for the executions of each level of a multistage plan. */
static tw_status search_multistage(search *all, const tw_box *box, const tw_search_options *options,
                                   tw_arena *scratch, solution *best)
{
    int64_t most = tw_op_points(all->op), outer = all->max_outer, inner = all->max_inner;
    tw_status status = TW_OK;
    bool fixed = options->max_outer > 0 || options->max_inner > 0;
    do {
        const solution *found;
        all->solved = tw_table_new(sizeof(solution), scratch);
        if (!all->solved) return TW_ERR_NOMEM;
        status = solve(all, 0, box, &found);
        if (status == TW_OK) *best = *found;
        if (all->max_inner >= most / 8) break;
        all->max_outer *= 8;
        all->max_inner *= 8;
    } while (status == TW_OK && !best->feasible && !fixed && all->left > 0);
    all->max_outer = outer;
    all->max_inner = inner;
    return status;
}

static tw_status search_mode(search *all, const tw_search_options *options, tw_arena *scratch, solution *best,
                             bool *proven)
{
    tw_box box = tw_box_of_op(all->op);
    bool one_level = all->machine->n_memories == 2;
    bool direct = one_level || options->approach != TW_APPROACH_MULTISTAGE;
    bool multistage = !one_level && options->approach != TW_APPROACH_DIRECT;
    if (direct) {
        solution found = {0};
        all->left = options->budget > 0 ? options->budget : DIRECT_BUDGET;
        TW_TRY(search_direct(all, &box, options, &found));
        keep_better(&found, best);
        *proven &= all->left > 0;
    }
    if (multistage) {
        solution found = {0};
        all->left = options->budget > 0 ? options->budget : MULTISTAGE_BUDGET;
        TW_TRY(search_multistage(all, &box, options, scratch, &found));
        keep_better(&found, best);
        *proven = false;
    }
    return TW_OK;
}

/* ---- options ---- */

/* The modes to try, as a mask. */
static tw_status modes_of(const tw_machine *machine, tw_mode mode, tw_diag *diag, unsigned *out)
{
    const tw_engine *mac = &machine->engine[machine->compute];
    static const tw_accumulate asked[] = {
        [TW_MODE_SEPARATE] = TW_SEPARATE, [TW_MODE_IN_PLACE] = TW_IN_PLACE, [TW_MODE_FUSED] = TW_FUSED};
    bool in_place = mac->accumulate >> TW_IN_PLACE & 1 && tw_machine_adder(machine, mac->memory) >= 0;
    if (mode == TW_MODE_DEFAULT) mode = in_place ? TW_MODE_IN_PLACE : TW_MODE_ANY;
    *out = mac->accumulate;
    if (mode == TW_MODE_ANY) return TW_OK;
    *out &= 1u << asked[mode];
    if (*out) return TW_OK;
    return tw_diag_error(diag, mac->loc, "engine '%s' does not accumulate '%s'", mac->name,
                         tw_accumulate_name(asked[mode]));
}

static void read_options(const tw_search_options *options, const tw_machine *machine, search *all)
{
    all->cut = options->cut == TW_CUT_GREEDY ? TW_GREEDY : TW_BALANCED;
    all->objective = options->n_objectives > 0 ? options->objective[0].measure : TW_TICKS;
    all->min_tile = tw_max(options->min_tile, machine->engine[machine->compute].min_tile);
    all->max_single = options->max_execs > 0 ? options->max_execs : 512;
    all->max_outer = options->max_outer > 0 ? options->max_outer : 16;
    all->max_inner = options->max_inner > 0 ? options->max_inner : 64;
}

tw_status tw_search_op(const tw_model *model, int op, const tw_machine *machine, const tw_search_options *options,
                       const tw_eval *eval, tw_arena *scratch, tw_diag *diag, tw_op_map *map,
                       tw_search_result *result, bool *nearest)
{
    search all = {.model = model, .op = &model->op[op], .machine = machine, .eval = eval};
    *nearest = false;
    unsigned modes = 0;
    read_options(options, machine, &all);
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
    if (!best.feasible) {
        *nearest = all.has_nearest;
        *map = all.nearest;
    }
    if (!best.feasible)
        return tw_diag_infeasible(diag, all.op->loc, "no mapping of '%s' %s fits machine '%s'", all.op->name,
                                  proven ? "in the family" : "that was tried", machine->name);
    *map = best.map;
    *result = (tw_search_result){
        .best = best.value, .n_points = all.n_points, .n_optima = best.n_optima, .proven = proven};
    return TW_OK;
}
