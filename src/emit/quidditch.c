/* src/emit/quidditch.c - see quidditch.h. */
#include "emit/quidditch.h"

#include "input/field.h"
#include "mapping/fusion.h"

#include <string.h>

static bool depends(const tw_op *op, int operand, int loop)
{
    return tw_operand_loops(&op->operand[operand]) >> loop & 1;
}

/* ---- dispatches ---- */

/* The first operator behind the dispatch that begins with `op`. An attribute cannot say what is fused: it is what the workload
 * wishes. */
int tw_quidditch_end(const tw_model *model, const tw_machine *machine, int op)
{
    do op++;
    while (op < model->n_ops && tw_fusion_is_default(model, op, machine));
    return op;
}

static bool is_plain(const tw_axis *axis)
{
    return axis->n_terms == 1 && axis->term[0].coef == 1 && axis->offset == 0 && axis->divisor == 1;
}

/* A sum of products over plain positions: no windows, no strides. */
bool tw_quidditch_is_tiled(const tw_op *op)
{
    bool plain = op->compute == TW_MULTIPLY_ADD && tw_op_reductions(op) != 0;
    for (int i = 0; i < op->n_operands; i++)
        for (int a = 0; a < op->operand[i].n_axes; a++) plain = plain && is_plain(&op->operand[i].axis[a]);
    return plain;
}

/* Positions of an operand as digits of loops: "02" is [d0, d2]. */
static bool reads_at(const tw_op *op, int operand, const char *loops)
{
    bool same = op->operand[operand].n_axes == (int)strlen(loops);
    for (int a = 0; same && loops[a]; a++) same = op->operand[operand].axis[a].term[0].loop == loops[a] - '0';
    return same;
}

/* The name that linalg has for a contraction. */
static const char *kind_of(const tw_op *op)
{
    static const struct {
        int n_loops;
        const char *ifm, *w, *ofm, *name;
    } kind[] = {{3, "02", "12", "01", "matmul_transpose_b"},
                {3, "20", "21", "01", "matmul_transpose_a"},
                {3, "02", "21", "01", "matmul"},
                {2, "1", "01", "0", "matvec"},
                {4, "013", "023", "012", "batch_matmul_transpose_b"},
                {4, "013", "032", "012", "batch_matmul"}};
    for (size_t i = 0; op->n_operands == 3 && i < TW_COUNT(kind); i++)
        if (kind[i].n_loops == op->n_loops && reads_at(op, 0, kind[i].ifm) && reads_at(op, 1, kind[i].w) &&
            reads_at(op, 2, kind[i].ofm))
            return kind[i].name;
    return "generic";
}

/* ---- attribute to mapping ---- */

/* What an attribute says about an operator: its cut loops, outermost first, and whether the last is a pipeline. Which
 * inputs that doubles is a property of the memory. */
typedef struct cuts {
    int n;
    int loop[TW_MAX_LOOPS];
    bool dual, all_inputs;
} cuts;

static bool doubles_all(const tw_machine *machine)
{
    return machine->memory[machine->n_memories - 1].doubles == TW_DOUBLE_INPUTS;
}

static bool is_cut(const tw_quidditch_config *lowering, const tw_op *op, int loop)
{
    return lowering->tile[loop] > 0 && lowering->tile[loop] < op->loop[loop].extent;
}

static cuts cuts_of(const tw_quidditch_config *lowering, const tw_op *op, const tw_machine *machine)
{
    cuts c = {.dual = lowering->dual_buffer, .all_inputs = doubles_all(machine)};
    for (int i = 0; i < op->n_loops; i++)
        if (is_cut(lowering, op, lowering->interchange[i])) c.loop[c.n++] = lowering->interchange[i];
    return c;
}

/* Whether the nest comes back to tiles of the output that it has left. */
static bool comes_back(const cuts *c, const tw_op *op)
{
    bool reduces = false, back = false;
    for (int i = 0; i < c->n; i++) {
        back = back || (reduces && depends(op, tw_op_output(op), c->loop[i]));
        reduces = reduces || op->loop[c->loop[i]].reduces;
    }
    return back;
}

static int64_t slots_of(const cuts *c, const tw_op *op, int operand)
{
    bool inside = c->n > 0 && (c->all_inputs || depends(op, operand, c->loop[c->n - 1]));
    return c->dual && inside && operand != tw_op_output(op) ? 2 : 1;
}

/* A level at which nothing is cut, one buffer each. */
static tw_level_map whole_level(const tw_op *op, int memory, tw_loc loc)
{
    tw_level_map level = {.loc = loc, .memory = memory, .min_tile = 1, .accumulate = TW_FUSED};
    for (int l = 0; l < op->n_loops; l++) level.count[l] = 1, level.order[l] = l;
    for (int i = 0; i < op->n_operands; i++) level.slots[i] = 1;
    return level;
}

static tw_level_map level_of(const tw_quidditch_config *lowering, const tw_op *op, const tw_machine *machine)
{
    cuts c = cuts_of(lowering, op, machine);
    tw_level_map level = whole_level(op, machine->n_memories - 1, lowering->tiles_loc);
    for (int i = 0; i < c.n; i++) {
        level.count[c.loop[i]] = 0;
        level.size[c.loop[i]] = lowering->tile[c.loop[i]];
    }
    memcpy(level.order, lowering->interchange, sizeof level.order);
    for (int i = 0; i < op->n_operands; i++) level.slots[i] = slots_of(&c, op, i);
    if (comes_back(&c, op)) level.keeps[tw_op_output(op)] = -1;
    return level;
}

/* Tiles go through the other memories as they are. */
static tw_op_map map_of(const tw_op *op, const tw_machine *machine, const tw_level_map *last, tw_loc loc)
{
    tw_op_map map = {.loc = loc, .n_levels = machine->n_memories - 1};
    for (int l = 0; l < map.n_levels - 1; l++) {
        map.level[l] = whole_level(op, l + 1, loc);
        map.level[l].pass = true;
        memset(map.level[l].slots, 0, sizeof map.level[l].slots);
    }
    map.level[map.n_levels - 1] = *last;
    return map;
}

static void map_dispatch(const tw_quidditch_config *lowering, const tw_model *model, int first,
                         const tw_machine *machine, tw_op_map *out)
{
    int memory = machine->n_memories - 1;
    for (int o = first, end = tw_quidditch_end(model, machine, first); o < end; o++) {
        tw_level_map level = o == first ? level_of(lowering, &model->op[o], machine)
                                        : whole_level(&model->op[o], memory, lowering->loc);
        out[o] = map_of(&model->op[o], machine, &level, lowering->loc);
        out[o].fused = o > first;
    }
}

/* ---- checks ---- */

static tw_words loops_of(const tw_op *op)
{
    tw_words words = {0};
    for (int l = 0; l < op->n_loops; l++) tw_words_add(&words, op->loop[l].name);
    return words;
}

static tw_status check_list(const char *name, int n, tw_loc loc, const tw_op *op, tw_diag *diag)
{
    if (n <= op->n_loops) return TW_OK;
    return tw_diag_error(diag, loc, "'%s' has %d entries, operator '%s' has %d loops: %s", name, n, op->name,
                         op->n_loops, loops_of(op).text);
}

static tw_status check_lowering(const tw_quidditch_config *lowering, const tw_op *op, tw_diag *diag)
{
    if (!tw_quidditch_is_tiled(op))
        return tw_diag_error(diag, lowering->loc, "operator '%s' is no contraction, Quidditch tiles nothing else",
                             op->name);
    TW_TRY(check_list("l1_tiles", lowering->n_tiles, lowering->tiles_loc, op, diag));
    TW_TRY(check_list("l1_tiles_interchange", lowering->n_interchange, lowering->interchange_loc, op, diag));
    tw_status status = TW_OK;
    for (int l = 0; l < op->n_loops; l++)
        if (lowering->tile[l] > op->loop[l].extent)
            status = tw_diag_error(diag, lowering->tile_loc[l],
                                   "'%s' is cut into tiles of %" PRId64 ", its extent is %" PRId64,
                                   op->loop[l].name, lowering->tile[l], op->loop[l].extent);
    return status;
}

/* NULL, or why no config can be about this machine. */
static const char *unfit(const tw_machine *machine)
{
    if (!tw_machine_knows(machine, "buffers")) return "is a lockstep machine";
    if (machine->memory[machine->n_memories - 1].holds != TW_HOLDS_ALL)
        return "has no innermost memory that holds inputs and output";
    return NULL;
}

static tw_status check_machine(const tw_machine *machine, tw_loc loc, tw_diag *diag)
{
    const char *why = unfit(machine);
    if (!why) return TW_OK;
    return tw_diag_error(diag, loc, "machine '%s' %s, a lowering config cannot be for it", machine->name, why);
}

static tw_status check_number(const tw_quidditch_configs *lowering, const tw_model *model,
                              const tw_machine *machine, tw_diag *diag)
{
    int n_dispatches = 0, n = lowering->n;
    for (int o = 0; o < model->n_ops; o = tw_quidditch_end(model, machine, o)) n_dispatches++;
    if (n == n_dispatches) return TW_OK;
    return tw_diag_error(diag, lowering->config[n > n_dispatches ? n_dispatches : n - 1].loc,
                         "workload '%s' has %d dispatch%s, but there %s %d lowering config%s", model->name,
                         n_dispatches, n_dispatches == 1 ? "" : "es", n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
}

tw_status tw_quidditch_map(const tw_quidditch_configs *lowering, const tw_model *model, const tw_machine *machine,
                           tw_arena *arena, tw_diag *diag, tw_mapping *out)
{
    tw_op_map *op;
    int i = 0;
    TW_TRY(check_machine(machine, lowering->config->loc, diag));
    TW_TRY(check_number(lowering, model, machine, diag));
    tw_status status = TW_OK;
    for (int o = 0; o < model->n_ops; o = tw_quidditch_end(model, machine, o), i++)
        if (check_lowering(&lowering->config[i], &model->op[o], diag) != TW_OK) status = TW_ERR_INPUT;
    TW_TRY(status);
    TW_ALLOC(arena, op, model->n_ops);
    i = 0;
    for (int o = 0; o < model->n_ops; o = tw_quidditch_end(model, machine, o))
        map_dispatch(&lowering->config[i++], model, o, machine, op);
    tw_mapping mapping = {model->n_ops, op};
    TW_TRY(tw_mapping_check(&mapping, model, machine, diag));
    *out = mapping;
    return TW_OK;
}

tw_status tw_quidditch_read(const char *text, const tw_model *model, const tw_machine *machine, tw_arena *arena,
                            tw_diag *diag, tw_mapping *out)
{
    tw_quidditch_configs lowering;
    TW_TRY(tw_lowering_read("<lowering-config>", text, arena, diag, &lowering));
    return tw_quidditch_map(&lowering, model, machine, arena, diag, out);
}

/* ---- families ---- */

/* Loops that can be cut. */
static int list_cuttable(const tw_op *op, int loop[TW_MAX_LOOPS])
{
    int n = 0;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].extent > 1) loop[n++] = l;
    return n;
}

/* Ways to put `k` of `n` loops in a row. */
static int64_t n_rows(int n, int k)
{
    int64_t ways = 1;
    for (int i = 0; i < k; i++) ways *= n - i;
    return ways;
}

/* Families are numbered by dual or not, then by how many loops are cut, then by which in which order. */
static cuts family_cuts(const tw_op *op, const tw_machine *machine, int family)
{
    int loop[TW_MAX_LOOPS], n = list_cuttable(op, loop), half = tw_quidditch_n_families(op) / 2;
    cuts c = {.dual = family < half, .all_inputs = doubles_all(machine)};
    assert(half > 0);
    int64_t rest = family % half;
    while (rest >= n_rows(n, c.n)) rest -= n_rows(n, c.n++);
    for (int i = 0; i < c.n; i++) {
        int64_t ways = n_rows(n - i - 1, c.n - i - 1);
        int pick = (int)(rest / ways);
        rest %= ways;
        c.loop[i] = loop[pick];
        memmove(loop + pick, loop + pick + 1, (size_t)(n - i - 1 - pick) * sizeof *loop);
    }
    return c;
}

int tw_quidditch_n_families(const tw_op *op)
{
    int loop[TW_MAX_LOOPS], n = list_cuttable(op, loop);
    int64_t all = 0;
    for (int k = 0; k <= n && all < INT32_MAX / 4; k++) all += n_rows(n, k);
    return (int)tw_min(all, INT32_MAX / 4) * 2;
}

static tw_number_limit exactly(int64_t x)
{
    return (tw_number_limit){.at_least = x, .at_most = x, .multiple_of = 1};
}

/* The level of one operator: its cut loops are cut, in this order, everything else is what Quidditch makes of it. */
static tw_op_limits limits_of(const tw_op *op, const tw_machine *machine, const cuts *c)
{
    tw_op_limits limits = tw_op_limits_none(machine);
    tw_level_limits *level = &limits.level[limits.n_levels - 1];
    unsigned cut = 0;
    for (int l = 0; l < limits.n_levels - 1; l++) limits.level[l].pass = 1;
    level->pass = 0;
    level->cuts = 1U << TW_GREEDY;
    level->has_order = true;
    for (int i = 0; i < c->n; i++) {
        cut |= 1U << c->loop[i];
        level->order[i] = c->loop[i];
        level->tiles[c->loop[i]].at_least = 2;
    }
    for (int l = 0, at = c->n; l < op->n_loops; l++) {
        if (cut >> l & 1) continue;
        level->order[at++] = l;
        level->tiles[l] = exactly(1);
    }
    for (int i = 0; i < op->n_operands; i++) {
        bool all = i == tw_op_output(op) && comes_back(c, op);
        level->slots[i] = exactly(slots_of(c, op, i));
        level->keep[i] = all ? 1U << 1 : 1U << 0;
    }
    return limits;
}

tw_status tw_quidditch_family(const tw_model *model, const tw_machine *machine, int family, tw_arena *arena,
                              tw_limits *out)
{
    tw_op_limits *op;
    TW_ALLOC(arena, op, model->n_ops);
    for (int o = 0; o < model->n_ops; o++) {
        cuts c = o == 0 ? family_cuts(&model->op[o], machine, family) : (cuts){0};
        op[o] = limits_of(&model->op[o], machine, &c);
        if (o > 0) op[o].fused = op[o].whole = true;
    }
    *out = (tw_limits){model->n_ops, op};
    return TW_OK;
}

tw_status tw_quidditch_dispatch(const tw_model *model, const tw_machine *machine, tw_arena *arena, tw_limits *out)
{
    tw_op_limits *op;
    TW_ALLOC(arena, op, model->n_ops);
    for (int o = 0; o < model->n_ops; o++) {
        op[o] = tw_op_limits_none(machine);
        if (o > 0) op[o].fused = op[o].whole = true;
    }
    *out = (tw_limits){model->n_ops, op};
    return TW_OK;
}

/* ---- mapping to attribute ---- */

/* A dispatch of a plan, and where to say what is wrong with it; `why` may be NULL. */
typedef struct view {
    const tw_plan *plan;
    int first, op; /* the contraction, and the operator at hand */
    tw_text *why;
} view;

__attribute__((format(printf, 2, 3))) static bool refuse(const view *v, const char *fmt, ...)
{
    char text[300];
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (v->why && v->op != v->first) tw_text_printf(v->why, "in '%s' ", v->plan->model->op[v->op].name);
    if (v->why) tw_text_printf(v->why, "%s", text);
    return false;
}

static const tw_op *op_of(const view *v) { return &v->plan->model->op[v->op]; }
static const tw_level_map *innermost(const view *v)
{
    const tw_op_map *map = &v->plan->mapping->op[v->op];
    return &map->level[map->n_levels - 1];
}

/* As many as the mapping says, or as the plan took where that leaves it open. */
static int64_t slots_in_plan(const view *v, int operand)
{
    const tw_level_map *level = innermost(v);
    if (level->slots[operand] > 0) return level->slots[operand];
    return v->plan->op[v->op].timeline.pool[level->memory][operand].slots;
}

/* Whether the tiles are of one size, the last one being what is left. */
static bool is_even(const tw_level_map *level, int loop, int64_t extent)
{
    tw_split by_size = tw_split_by_size(extent, tw_level_largest(level, loop, extent));
    tw_split split = tw_level_split(level, loop, extent);
    if (split.count != by_size.count) return false;
    tw_span last = tw_split_at(&split, 0, split.count - 1), alike = tw_split_at(&by_size, 0, split.count - 1);
    return last.lo == alike.lo; /* sizes never grow */
}

/* Cut loops over whose tiles of the operand the memory keeps hold. */
static unsigned kept_loops(const tw_level_map *level, const tw_op *op, int operand)
{
    int keep = tw_level_keep(level, operand);
    bool inside = keep == TW_KEEP_ALL;
    unsigned set = 0;
    for (int i = 0; i < op->n_loops && keep != TW_KEEP_TILE; i++) {
        int l = level->order[i];
        if (inside && depends(op, operand, l) && tw_level_n_tiles(level, l, op->loop[l].extent) > 1) set |= 1U << l;
        inside = inside || l == keep;
    }
    return set;
}

/* For messages: how much of an operand stays. */
typedef struct share {
    char text[64];
} share;
static share share_of(const tw_level_map *level, const tw_op *op, int operand)
{
    int keep = tw_level_keep(level, operand);
    share out = {"a tile"};
    if (kept_loops(level, op, operand) == 0) return out;
    if (keep == TW_KEEP_ALL)
        snprintf(out.text, sizeof out.text, "all");
    else
        snprintf(out.text, sizeof out.text, "the tiles of one '%s'", op->loop[keep].name);
    return out;
}

static tw_quidditch_config lowering_of(const view *v)
{
    const tw_op *op = op_of(v);
    const tw_level_map *level = innermost(v);
    tw_quidditch_config out = {0};
    for (int i = 0; i < op->n_loops; i++) {
        int64_t extent = op->loop[i].extent;
        out.tile[i] = tw_level_n_tiles(level, i, extent) > 1 ? tw_level_largest(level, i, extent) : 0;
        out.interchange[i] = level->order[i];
    }
    for (int i = 0; i < tw_op_output(op); i++) out.dual_buffer = out.dual_buffer || slots_in_plan(v, i) > 1;
    return out;
}

static bool check_operand(const view *v, const tw_level_map *wanted, int operand)
{
    const tw_op *op = op_of(v);
    const tw_level_map *level = innermost(v);
    const char *name = op->operand[operand].name;
    bool resident = tw_view_keeps(v->plan->op[v->op].program.machine, op, operand);
    bool same = kept_loops(level, op, operand) == kept_loops(wanted, op, operand);
    if (!same && !resident)
        return refuse(v, "'%s' keeps %s of '%s', Quidditch %s", v->plan->machine->memory[level->memory].name,
                      share_of(level, op, operand).text, name, share_of(wanted, op, operand).text);
    int64_t slots = slots_in_plan(v, operand), given = wanted->slots[operand];
    if (slots == given || kept_loops(wanted, op, operand) != 0 || resident) return true;
    return refuse(v, "'%s' has %" PRId64 " buffer%s, Quidditch gives it %" PRId64, name, slots,
                  slots == 1 ? "" : "s", given);
}

/* Everything that the two levels may differ in. */
static bool check_level(const view *v, const tw_level_map *wanted)
{
    const tw_op *op = op_of(v);
    const tw_level_map *level = innermost(v);
    for (int l = 0; l < v->plan->mapping->op[v->op].n_levels - 1; l++)
        if (!v->plan->mapping->op[v->op].level[l].pass)
            return refuse(v, "it is tiled for '%s' too, Quidditch tiles for one memory",
                          v->plan->machine->memory[l + 1].name);
    if (level->serpentine) return refuse(v, "it is serpentine, Quidditch's loops all run forwards");
    for (int l = 0; l < op->n_loops; l++)
        if (!is_even(level, l, op->loop[l].extent))
            return refuse(v, "the tiles along '%s' are balanced, Quidditch's have one size and a rest",
                          op->loop[l].name);
    for (int i = 0; i < op->n_operands; i++)
        if (level->shares[i] != 0)
            return refuse(v, "'%s' shares its buffers, in Quidditch each operand has its own", op->operand[i].name);
    for (int i = 0; i < op->n_operands; i++)
        if (!check_operand(v, wanted, i)) return false;
    return true;
}

/* What is fused stays in one piece. */
static bool check_fused(const view *v)
{
    const tw_op *op = op_of(v);
    tw_level_map wanted = whole_level(op, innermost(v)->memory, innermost(v)->loc);
    for (int l = 0; l < op->n_loops; l++)
        if (tw_level_n_tiles(innermost(v), l, op->loop[l].extent) > 1)
            return refuse(v, "it is cut along '%s', Quidditch does not tile what is fused", op->loop[l].name);
    return check_level(v, &wanted);
}

/* The plan fuses what the dispatch has: the operators up to `end`. */
static bool check_dispatch(const view *v, int end)
{
    const tw_mapping *mapping = v->plan->mapping;
    view at = *v;
    if (mapping->op[v->first].fused)
        return refuse(v, "it is fused with the operator before it, which Quidditch puts into another dispatch");
    for (at.op = v->first + 1; at.op < end; at.op++)
        if (!mapping->op[at.op].fused) return refuse(&at, "it is not fused, Quidditch fuses it");
    if (end == mapping->n_ops || !mapping->op[end].fused) return true;
    return refuse(v, "'%s' is fused with it, which Quidditch puts into another dispatch",
                  v->plan->model->op[end].name);
}

bool tw_quidditch_lowering_of(const tw_plan *plan, int op, tw_quidditch_config *out, tw_text *why)
{
    view v = {plan, op, op, why};
    const char *misfit = unfit(plan->machine);
    if (misfit) return refuse(&v, "machine '%s' %s", plan->machine->name, misfit);
    if (!tw_quidditch_is_tiled(op_of(&v))) return refuse(&v, "it is no contraction");
    *out = lowering_of(&v);
    tw_level_map wanted = level_of(out, op_of(&v), plan->machine);
    int end = tw_quidditch_end(plan->model, plan->machine, op);
    bool good = check_dispatch(&v, end) && check_level(&v, &wanted);
    while (good && ++v.op < end) good = check_fused(&v);
    return good;
}

bool tw_quidditch_can_print(const tw_plan *plan)
{
    const tw_machine *machine = plan->machine;
    bool good = machine->memory[machine->n_memories - 1].placement == TW_PLACE_BUMP, some = false;
    if (plan->mapping->n_groups > 0) return false;
    for (int o = 0; good && o < plan->model->n_ops; o = tw_quidditch_end(plan->model, plan->machine, o)) {
        tw_quidditch_config ignored;
        if (!tw_quidditch_is_tiled(&plan->model->op[o])) continue;
        some = true;
        good = tw_quidditch_lowering_of(plan, o, &ignored, NULL);
    }
    return good && some;
}

/* "// fc1: matmul_transpose_b 1x400x161" */
static void print_comment(const tw_op *op, tw_text *out)
{
    tw_text_printf(out, "// %s: %s ", op->name,
                   tw_quidditch_is_tiled(op) ? kind_of(op) : tw_compute_name(op->compute));
    for (int l = 0; l < op->n_loops; l++) tw_text_printf(out, "%s%" PRId64, l ? "x" : "", op->loop[l].extent);
    tw_text_printf(out, "%s\n", tw_quidditch_is_tiled(op) ? "" : ", has no lowering config");
}

tw_status tw_quidditch_print(const tw_plan *plan, tw_diag *diag, tw_text *out)
{
    tw_status status = TW_OK;
    TW_TRY(tw_mapping_refuse_groups(plan->mapping, "emitted as lowering configs", diag));
    for (int o = 0; o < plan->model->n_ops; o = tw_quidditch_end(plan->model, plan->machine, o)) {
        const tw_op *op = &plan->model->op[o];
        tw_quidditch_config lowering;
        tw_text why = {0};
        print_comment(op, out);
        if (tw_quidditch_is_tiled(op) && !tw_quidditch_lowering_of(plan, o, &lowering, &why))
            status = tw_diag_infeasible(diag, plan->mapping->op[o].loc, "no lowering config for '%s': %s", op->name,
                                        why.bytes ? why.bytes : "");
        else if (tw_quidditch_is_tiled(op)) {
            tw_lowering_print(&lowering, op->n_loops, out);
            tw_text_printf(out, "\n");
        }
        if (why.failed) status = TW_ERR_NOMEM;
        tw_text_release(&why);
        if (status == TW_ERR_NOMEM) break;
    }
    return status;
}
