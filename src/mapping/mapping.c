/* src/mapping/mapping.c - mappings: the reader, the invariants and the printer, see mapping.h.
 *
 * A level is checked by check_level with a table that says where its parts were written. The reader
 * fills the table, so that complaints point at the number in the file; tw_mapping_check points all
 * of it at the level. Walking the levels inwards, `box` is the largest piece that each loop can have
 * at a level: enough to tell whether a level cuts a reduction loop. */
#include "mapping/mapping.h"

#include "mapping/fusion.h"
#include "mapping/groups.h"
#include "mapping/mapping_read.h"
#include "mapping/written.h"

#include <string.h>

#define SAME(field) (memcmp(&a->field, &b->field, sizeof a->field) == 0)
static bool is_same_level(const tw_level_map *a, const tw_level_map *b)
{
    return SAME(memory) && SAME(pass) && SAME(cut) && SAME(count) && SAME(size) && SAME(order) && SAME(min_tile) &&
           SAME(slots) && SAME(accumulate) && SAME(keeps) && SAME(shares) && SAME(serpentine) && SAME(over);
}
#undef SAME

bool tw_op_map_same(const tw_op_map *a, const tw_op_map *b)
{
    bool same = a->fused == b->fused && a->n_levels == b->n_levels;
    for (int l = 0; same && l < a->n_levels; l++) same = is_same_level(&a->level[l], &b->level[l]);
    return same;
}

typedef struct level_locs {
    tw_loc pass, accumulate;
    tw_loc cut[TW_MAX_LOOPS]; /* count or size */
    tw_loc order[TW_MAX_LOOPS];
    tw_loc slots[TW_MAX_OPERANDS];
    tw_loc keep[TW_MAX_OPERANDS];
    tw_loc slide[TW_MAX_OPERANDS];
    tw_loc serpentine, unroll;
} level_locs;

/* What a level is judged by. */
typedef struct scene {
    const tw_op *op;
    const tw_machine *machine;
    tw_diag *diag;
    int64_t box[TW_MAX_LOOPS];
    bool outermost; /* no level above this one is tiled */
} scene;

/* How a level speaks of its buffers: so many slots of each operand, or pools of credits. */
typedef struct buffer_rules {
    bool open; /* a number may be left open: 0 */
    /* What it says, or what holds where it is silent; and all else that only such levels say. */
    void (*read)(tw_fields *f, const scene *s, tw_level_map *level, level_locs *locs);
    tw_status (*check)(const scene *s, const tw_level_map *level, const level_locs *locs);
    /* What only such levels say, the numbers of buffers aside. */
    void (*print)(const tw_op *op, const tw_level_map *level, const tw_machine *machine, tw_text *out);
} buffer_rules;
static const buffer_rules *rules_of(const tw_machine *machine);

tw_split tw_level_split(const tw_level_map *map, int loop, int64_t len)
{
    if (map->size[loop] > 0) return tw_split_by_size(len, map->size[loop]);
    return tw_split_by_count(len, map->count[loop], map->cut);
}

bool tw_level_split_is_legal(const tw_level_map *map, int loop, int64_t len)
{
    return map->size[loop] > 0 || tw_split_is_legal(len, map->count[loop], map->cut);
}

int64_t tw_level_n_tiles(const tw_level_map *map, int loop, int64_t len)
{
    return map->size[loop] > 0 ? tw_cdiv(len, map->size[loop]) : map->count[loop];
}

int64_t tw_level_largest(const tw_level_map *map, int loop, int64_t len)
{
    return map->size[loop] > 0 ? tw_min(map->size[loop], len) : tw_cdiv(len, tw_max(map->count[loop], 1));
}

tw_box tw_level_first_tile(const tw_level_map *map, const tw_op *op, const tw_box *box)
{
    tw_box tile = {0};
    for (int l = 0; l < op->n_loops; l++) {
        tw_split split = tw_level_split(map, l, tw_span_len(box->span[l]));
        tile.span[l] = tw_split_at(&split, box->span[l].lo, 0);
    }
    return tile;
}

int64_t tw_mapping_min_output_slots(tw_accumulate mode, int64_t n_reduction_tiles)
{
    if (n_reduction_tiles <= 1) return 1;
    return mode == TW_SEPARATE ? 3 : mode == TW_IN_PLACE ? 2 : 1;
}

/* ---- levels ---- */

static scene scene_of(const tw_op *op, const tw_machine *machine, tw_diag *diag)
{
    scene s = {.op = op, .machine = machine, .diag = diag, .outermost = true};
    for (int l = 0; l < op->n_loops; l++) s.box[l] = op->loop[l].extent;
    return s;
}

/* Whether there is more than one tile along the reduction loops: 1 no, 2 yes. */
static int64_t reduction_tiles(const scene *s, const tw_level_map *level)
{
    for (int l = 0; l < s->op->n_loops; l++)
        if (s->op->loop[l].reduces && tw_level_n_tiles(level, l, s->box[l]) > 1) return 2;
    return 1;
}

static void enter_level(scene *s, const tw_level_map *level)
{
    if (level->pass) return;
    s->outermost = false;
    for (int l = 0; l < s->op->n_loops; l++) s->box[l] = tw_level_largest(level, l, s->box[l]);
}

static bool can_accumulate(const tw_machine *machine, int memory, tw_accumulate mode)
{
    return tw_map_offers(machine, mode) && (mode == TW_FUSED || tw_machine_adder(machine, memory) >= 0);
}

static tw_accumulate default_mode(const tw_machine *machine, int memory)
{
    if (can_accumulate(machine, memory, TW_IN_PLACE)) return TW_IN_PLACE;
    if (tw_map_offers(machine, TW_FUSED)) return TW_FUSED;
    return tw_map_offers(machine, TW_SEPARATE) ? TW_SEPARATE : TW_IN_PLACE;
}

/* All loops in declared order, parallel ones first. */
static void default_order(const tw_op *op, int *order)
{
    int n = 0;
    for (int reduces = 0; reduces < 2; reduces++)
        for (int l = 0; l < op->n_loops; l++)
            if (op->loop[l].reduces == reduces) order[n++] = l;
}

/* ---- checks of a level ---- */

static tw_status check_count(const scene *s, const tw_level_map *level, int l, tw_loc loc)
{
    const tw_loop *loop = &s->op->loop[l];
    int64_t count = level->count[l], extent = loop->extent;
    if (count < 1 || count > extent)
        return tw_diag_error(s->diag, loc, "'%s' is cut into %" PRId64 " tiles, its extent is %" PRId64, loop->name,
                             count, extent);
    if (!s->outermost || tw_split_is_legal(extent, count, level->cut)) return TW_OK;
    int64_t tile = tw_cdiv(extent, count);
    return tw_diag_error(s->diag, loc,
                         "'%s' with extent %" PRId64 " has no greedy cut into %" PRId64
                         " tiles; the nearest counts are %" PRId64 " and %" PRId64,
                         loop->name, extent, count, tw_cdiv(extent, tile), tw_cdiv(extent, tile - 1));
}

static tw_status check_size(const scene *s, const tw_level_map *level, int l, tw_loc loc)
{
    if (level->size[l] >= 1 && level->size[l] <= s->op->loop[l].extent) return TW_OK;
    return tw_diag_error(s->diag, loc, "'%s' is cut into tiles of %" PRId64 ", its extent is %" PRId64,
                         s->op->loop[l].name, level->size[l], s->op->loop[l].extent);
}

static tw_status check_cuts(const scene *s, const tw_level_map *level, const level_locs *locs)
{
    tw_status status = TW_OK;
    for (int l = 0; l < s->op->n_loops; l++) {
        bool by_size = level->size[l] != 0;
        if (by_size && level->count[l] != 0)
            status = tw_diag_error(s->diag, locs->cut[l], "'%s' has both a count and a size", s->op->loop[l].name);
        else if ((by_size ? check_size : check_count)(s, level, l, locs->cut[l]) != TW_OK)
            status = TW_ERR_INPUT;
    }
    return status;
}

/* A count may be left open, and belongs to an operand that the memory holds. */
static tw_status check_credits(const scene *s, const tw_level_map *level, const level_locs *locs)
{
    for (int i = 0; i < s->op->n_operands; i++) {
        const char *name = s->op->operand[i].name, *memory = s->machine->memory[level->memory].name;
        int owner = tw_level_pool(level, i);
        if (level->slots[i] < 0 || level->slots[i] > TW_MAX_CREDITS)
            return tw_diag_error(s->diag, locs->slots[i], "'%s' is %" PRId64 ", outside 1..%d", name,
                                 level->slots[i], TW_MAX_CREDITS);
        if ((level->slots[i] > 0 || level->keeps[i] != 0) && !tw_map_holds(s->op, s->machine, level->memory, i))
            return tw_diag_error(s->diag, level->slots[i] > 0 ? locs->slots[i] : locs->keep[i],
                                 "memory '%s' does not hold '%s'", memory, name);
        if (owner < 0 || owner > i || level->shares[owner] != 0 ||
            (owner < i && !tw_map_holds(s->op, s->machine, level->memory, i)) ||
            level->slots[owner] != level->slots[i])
            return tw_diag_error(s->diag, locs->slots[i], "'%s' shares buffers in '%s' that are not there", name,
                                 memory);
    }
    return TW_OK;
}

/* A window slides where one axis of an input moves on with the loop, in a pool of its own. */
static tw_status check_slide(const scene *s, const tw_level_map *level, int i, tw_loc loc)
{
    const tw_operand *operand = &s->op->operand[i];
    const char *memory = s->machine->memory[level->memory].name;
    int loop = level->slides[i] - 1;
    if (!tw_map_holds(s->op, s->machine, level->memory, i))
        return tw_diag_error(s->diag, loc, "memory '%s' does not hold '%s'", memory, operand->name);
    TW_TRY(tw_map_check_slide(s->op, i, loop, loc, s->diag));
    for (int k = 0; k < s->op->n_operands; k++)
        if (k != i && tw_level_pool(level, k) == tw_level_pool(level, i))
            return tw_diag_error(s->diag, loc, "'%s' slides in '%s', where it shares its buffers with '%s'",
                                 operand->name, memory, s->op->operand[k].name);
    if (!level->serpentine) return TW_OK;
    return tw_diag_error(s->diag, loc, "'%s' slides along '%s', which runs backwards in every second sweep",
                         operand->name, s->op->loop[loop].name);
}

static tw_status check_pools(const scene *s, const tw_level_map *level, const level_locs *locs)
{
    TW_TRY(check_credits(s, level, locs));
    for (int i = 0; i < s->op->n_operands; i++)
        if (level->slides[i] != 0) TW_TRY(check_slide(s, level, i, locs->slide[i]));
    return TW_OK;
}

static tw_status check_slots(const scene *s, const tw_level_map *level, const level_locs *locs)
{
    int output = tw_op_output(s->op);
    int64_t least = level->pass ? 1 : tw_mapping_min_output_slots(level->accumulate, reduction_tiles(s, level));
    for (int i = 0; i < s->op->n_operands; i++)
        if (level->slots[i] < 1 || level->slots[i] > TW_MAX_SLOTS)
            return tw_diag_error(s->diag, locs->slots[i], "'%s' is %" PRId64 ", outside 1..%d",
                                 s->op->operand[i].name, level->slots[i], TW_MAX_SLOTS);
    if (level->slots[output] >= least) return TW_OK;
    return tw_diag_error(
        s->diag, locs->slots[output], "'%s' is %" PRId64 ", accumulation '%s' needs at least %" PRId64 " buffers",
        s->op->operand[output].name, level->slots[output], tw_accumulate_name(level->accumulate), least);
}

static tw_status check_mode(const scene *s, const tw_level_map *level, const level_locs *locs)
{
    TW_TRY(tw_map_check_offered(s->machine, level->accumulate, locs->accumulate, s->diag));
    if (reduction_tiles(s, level) == 1 || can_accumulate(s->machine, level->memory, level->accumulate))
        return TW_OK;
    return tw_diag_error(s->diag, locs->accumulate, "accumulation '%s' needs an adder, memory '%s' has none",
                         tw_accumulate_name(level->accumulate), s->machine->memory[level->memory].name);
}

static tw_status check_unroll(const scene *s, const tw_level_map *level, const level_locs *locs)
{
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    for (int l = 0; l < s->op->n_loops; l++)
        if (mac->unrolls_parallel && tw_spread_lies(&level->over, l) && s->op->loop[l].reduces)
            return tw_diag_error(s->diag, locs->unroll,
                                 "'%s' reduces; engine '%s' keeps a sum in each element of its array and unrolls "
                                 "parallel loops only",
                                 s->op->loop[l].name, mac->name);
    return tw_spread_check(&level->over, s->op, mac, locs->unroll, s->diag);
}

static tw_status check_level(const scene *s, const tw_level_map *level, const level_locs *locs)
{
    if (level->pass) {
        TW_TRY(tw_map_check_pass(s->machine, level->memory, locs->pass, s->diag));
        return rules_of(s->machine)->check(s, level, locs);
    }
    tw_status cuts = check_cuts(s, level, locs);
    tw_status order = tw_map_check_order(s->op, s->machine, level->order, locs->order, s->diag);
    TW_TRY(cuts);
    TW_TRY(order);
    TW_TRY(check_mode(s, level, locs));
    TW_TRY(check_unroll(s, level, locs));
    return rules_of(s->machine)->check(s, level, locs);
}

static level_locs locs_of(tw_loc loc)
{
    level_locs locs = {.pass = loc, .accumulate = loc, .serpentine = loc, .unroll = loc};
    for (int l = 0; l < TW_MAX_LOOPS; l++) locs.cut[l] = locs.order[l] = loc;
    for (int i = 0; i < TW_MAX_OPERANDS; i++) locs.slots[i] = locs.keep[i] = locs.slide[i] = loc;
    return locs;
}

/* ---- checks of a mapping ---- */

static tw_status check_compute(const tw_op *op, const tw_machine *machine, tw_diag *diag)
{
    const tw_engine *engine = &machine->engine[machine->compute];
    if (tw_machine_computes(machine, op)) return TW_OK;
    return tw_diag_error(diag, op->loc, "operator '%s' computes %s, engine '%s' does not", op->name,
                         tw_compute_name(op->compute), engine->name);
}

tw_status tw_op_map_check(const tw_op_map *map, const tw_op *op, const tw_machine *machine, tw_diag *diag)
{
    TW_TRY(check_compute(op, machine, diag));
    if (map->n_levels != machine->n_memories - 1)
        return tw_diag_error(diag, map->loc, "operator '%s' is mapped to %d levels, machine '%s' has %d", op->name,
                             map->n_levels, machine->name, machine->n_memories - 1);
    scene s = scene_of(op, machine, diag);
    for (int l = 0; l < map->n_levels; l++) {
        const tw_level_map *level = &map->level[l];
        level_locs locs = locs_of(level->loc);
        if (level->memory != l + 1)
            return tw_diag_error(diag, level->loc, "level %d is for memory %d, must be %d", l, level->memory,
                                 l + 1);
        TW_TRY(check_level(&s, level, &locs));
        enter_level(&s, level);
    }
    return TW_OK;
}

static tw_status check_groups(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine,
                              tw_diag *diag)
{
    tw_grouping c = {.model = model,
                     .machine = machine,
                     .n = mapping->n_groups,
                     .group = mapping->group,
                     .n_residents = mapping->n_residents,
                     .resident = mapping->resident,
                     .n_rooms = mapping->n_rooms,
                     .room = mapping->room,
                     .diag = diag};
    if (mapping->n_ops != 0)
        return tw_diag_error(diag, (tw_loc){0}, "mapping has %d operators beside its groups", mapping->n_ops);
    TW_TRY(tw_grouping_check_machine(machine, (tw_loc){0}, diag));
    for (int g = 0; g < c.n; g++) TW_TRY(tw_grouping_check_one(&c, g));
    return tw_grouping_check_all(&c);
}

tw_status tw_mapping_check(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine,
                           tw_diag *diag)
{
    if (mapping->n_groups > 0) return check_groups(mapping, model, machine, diag);
    if (mapping->n_ops != model->n_ops)
        return tw_diag_error(diag, (tw_loc){0}, "mapping has %d operators, workload '%s' has %d", mapping->n_ops,
                             model->name, model->n_ops);
    for (int o = 0; o < model->n_ops; o++) {
        TW_TRY(tw_op_map_check(&mapping->op[o], &model->op[o], machine, diag));
        if (mapping->op[o].fused) TW_TRY(tw_fusion_check(model, o, machine, mapping->op[o].loc, diag));
    }
    return TW_OK;
}

tw_status tw_mapping_refuse_groups(const tw_mapping *mapping, const char *what, tw_diag *diag)
{
    if (mapping->n_groups == 0) return TW_OK;
    return tw_diag_error(diag, mapping->group->loc, "a mapping with groups cannot be %s", what);
}

/* ---- the reader ---- */

static void read_tiling(tw_fields *f, const tw_op *op, tw_level_map *level, level_locs *locs)
{
    int cut = TW_BALANCED;
    tw_map_cuts(f, "tiles", op, level->count, locs->cut);
    tw_map_cuts(f, "sizes", op, level->size, locs->cut);
    const char *word[TW_N_CUTS] = {tw_cut_name(TW_BALANCED), tw_cut_name(TW_GREEDY)};
    tw_field_word(f, "cut", TW_OPTIONAL, word, TW_N_CUTS, &cut);
    level->cut = (tw_cut)cut;
    for (int l = 0; l < op->n_loops; l++)
        if (level->count[l] == 0 && level->size[l] == 0) level->count[l] = 1;
}

static void read_mode(tw_fields *f, const scene *s, tw_level_map *level, level_locs *locs)
{
    const char *word[TW_N_ACCUMULATES];
    for (int m = 0; m < TW_N_ACCUMULATES; m++) word[m] = tw_accumulate_name((tw_accumulate)m);
    int mode = (int)default_mode(s->machine, level->memory);
    const tw_node *node = tw_field_node(f, "accumulate", TW_OPTIONAL);
    tw_field_word(f, "accumulate", TW_OPTIONAL, word, TW_N_ACCUMULATES, &mode);
    level->accumulate = (tw_accumulate)mode;
    if (node) locs->accumulate = node->loc;
}

static void default_slots(const scene *s, tw_level_map *level)
{
    for (int i = 0; i < s->op->n_operands; i++) level->slots[i] = level->pass ? TW_PASS_SLOTS : 1;
    if (!level->pass)
        level->slots[tw_op_output(s->op)] =
            tw_mapping_min_output_slots(level->accumulate, reduction_tiles(s, level));
}

static void read_slots(tw_fields *f, const scene *s, tw_level_map *level, level_locs *locs)
{
    default_slots(s, level);
    const tw_node *slide = tw_field_node(f, "slide", TW_OPTIONAL);
    if (slide)
        TW_REFUSE(f, slide->key_loc, "'slide' needs an async machine: '%s' loads whole tiles", s->machine->name);
    const tw_node *map = tw_field_map(f, "buffers", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int i = tw_map_operand(f, s->op, node->key, strlen(node->key), node->key_loc);
        if (i < 0) continue;
        f->n_bad += !tw_node_int(node, node->key, 1, TW_MAX_SLOTS, f->diag, &level->slots[i]);
        locs->slots[i] = node->loc;
    }
}

/* One entry of `buffers` that are pools: the operands, with `+` between those that share a pool. */
static void read_pool(tw_fields *f, const tw_op *op, const tw_node *node, tw_level_map *level, level_locs *locs,
                      unsigned *seen)
{
    int64_t slots = 0;
    int owner = -1;
    unsigned members = 0;
    f->n_bad += !tw_node_int(node, node->key, 1, TW_MAX_CREDITS, f->diag, &slots);
    for (const char *at = node->key;; at++) {
        size_t len = strcspn(at, "+");
        int i = tw_map_operand(f, op, at, len, node->key_loc);
        if (i < 0) return;
        if ((*seen | members) >> i & 1) {
            TW_REFUSE(f, node->key_loc, "'%s' is given twice in 'buffers'", op->operand[i].name);
            return;
        }
        members |= 1u << i;
        owner = owner < 0 || i < owner ? i : owner;
        at += len;
        if (!*at) break;
    }
    *seen |= members;
    for (int i = 0; i < op->n_operands; i++) {
        if (!(members >> i & 1)) continue;
        level->slots[i] = slots;
        level->shares[i] = i - owner;
        locs->slots[i] = node->loc;
    }
}

static void read_pools(tw_fields *f, const tw_op *op, tw_level_map *level, level_locs *locs)
{
    const tw_node *map = tw_field_map(f, "buffers", TW_OPTIONAL);
    unsigned seen = 0;
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next)
        read_pool(f, op, node, level, locs, &seen);
}

/* `keep`: operand to the loop while which it stays, or `tile`, or `all`. */
static void read_keep(tw_fields *f, const tw_op *op, tw_level_map *level, level_locs *locs)
{
    const tw_node *map = tw_field_map(f, "keep", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int i = tw_map_operand(f, op, node->key, strlen(node->key), node->key_loc);
        if (i < 0) continue;
        int keep = TW_KEEP_TILE;
        locs->keep[i] = node->loc;
        tw_map_keep(f, op, node->key, node, &keep);
        level->keeps[i] = keep == TW_KEEP_TILE ? 0 : keep == TW_KEEP_ALL ? -1 : keep + 1;
    }
}

/* `slide`: operand to the loop along which its window slides, or `none`. */
static void read_slide(tw_fields *f, const tw_op *op, tw_level_map *level, level_locs *locs)
{
    const tw_node *map = tw_field_map(f, "slide", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int i = tw_map_operand(f, op, node->key, strlen(node->key), node->key_loc);
        if (i < 0) continue;
        int loop = TW_SLIDE_NONE;
        locs->slide[i] = node->loc;
        tw_map_slide(f, op, node->key, node, &loop);
        level->slides[i] = loop + 1;
    }
}

static void read_nest(tw_fields *f, const scene *s, tw_level_map *level, level_locs *locs)
{
    const tw_node *serpentine = tw_field_node(f, "serpentine", TW_OPTIONAL);
    tw_field_bool(f, "serpentine", TW_OPTIONAL, &level->serpentine);
    if (serpentine) locs->serpentine = serpentine->loc;
    tw_map_unroll(f, s->op, &s->machine->engine[s->machine->compute].cost, &level->over, &locs->unroll);
}

/* Pools that are not mentioned have as many buffers as are needed. */
static void read_credits(tw_fields *f, const scene *s, tw_level_map *level, level_locs *locs)
{
    if (!level->pass) read_nest(f, s, level, locs);
    read_pools(f, s->op, level, locs);
    read_keep(f, s->op, level, locs);
    read_slide(f, s->op, level, locs);
}

/* Everything but `at`, which the caller has resolved; true when the level is sound. */
static bool read_level(tw_fields *f, scene *s, tw_level_map *level)
{
    level_locs locs = locs_of(level->loc);
    const tw_node *pass = tw_field_node(f, "pass", TW_OPTIONAL);
    tw_field_bool(f, "pass", TW_OPTIONAL, &level->pass);
    if (pass) locs.pass = pass->loc;
    level->accumulate = default_mode(s->machine, level->memory);
    default_order(s->op, level->order);
    for (int l = 0; level->pass && l < s->op->n_loops; l++) level->count[l] = 1;
    if (level->pass) {
        f->what = "pass-through level";
    } else {
        read_tiling(f, s->op, level, &locs);
        tw_map_order(f, s->op, level->order, locs.order);
        read_mode(f, s, level, &locs);
        tw_field_int(f, "min_tile", TW_OPTIONAL, 1, TW_EXTENT_MAX, &level->min_tile);
    }
    rules_of(s->machine)->read(f, s, level, &locs);
    return tw_fields_close(f) == TW_OK && check_level(s, level, &locs) == TW_OK;
}

/* True when all levels are there and sound. */
static bool read_levels(const tw_node *list, scene *s, tw_op_map *map)
{
    bool good = true;
    int next = 1;
    for (const tw_node *node = list->child; node; node = node->next) {
        tw_fields f = tw_fields_open(node, "level", s->diag);
        tw_level_map level = {.loc = node->loc, .min_tile = 1};
        level.memory = f.node ? tw_map_memory(&f, s->machine, next, false) : -1;
        if (level.memory < 0) return false;
        next = level.memory + 1;
        if (!read_level(&f, s, &level)) good = false;
        enter_level(s, &level);
        map->level[level.memory - 1] = level;
    }
    for (; next < s->machine->n_memories; next++, good = false)
        tw_diag_error(s->diag, list->loc, "memory '%s' has no level", s->machine->memory[next].name);
    map->n_levels = s->machine->n_memories - 1;
    return good;
}

static bool read_op(const tw_node *node, const tw_model *model, int op, const tw_machine *machine, tw_diag *diag,
                    tw_op_map *map)
{
    map->loc = node->key_loc;
    tw_fields f = tw_fields_open(node, "mapping of an operator", diag);
    if (!tw_map_fused(&f, model, op, machine, &map->fused)) map->fused = tw_fusion_is_default(model, op, machine);
    const tw_node *levels = tw_field_list(&f, "levels", TW_REQUIRED);
    bool good = tw_fields_close(&f) == TW_OK;
    scene s = scene_of(&model->op[op], machine, diag);
    return levels && read_levels(levels, &s, map) && good;
}

static void read_ops(tw_fields *f, const tw_node *map, const tw_model *model, const tw_machine *machine,
                     tw_op_map *out)
{
    for (const tw_node *node = map->child; node; node = node->next) {
        int o = tw_map_op(f, model, node);
        if (o >= 0 && tw_map_is_none(model, node))
            out[o].loc = node->key_loc;
        else if (o >= 0)
            f->n_bad += !read_op(node, model, o, machine, f->diag, &out[o]);
    }
    for (int o = 0; model->apart && f->n_bad == 0 && o < model->n_ops; o++)
        if (!out[o].loc.file && tw_machine_computes(machine, &model->op[o]))
            TW_REFUSE(f, ((tw_loc){map->loc.file, 0, 0}),
                      "the mapping of layer '%s' is missing; 'none' would leave the layer out", model->op[o].name);
    for (int o = 0; !model->apart && o < model->n_ops; o++) {
        if (!out[o].loc.file) TW_REFUSE(f, map->loc, "operator '%s' has no mapping", model->op[o].name);
        f->n_bad += check_compute(&model->op[o], machine, f->diag) != TW_OK;
    }
}

tw_status tw_mapping_of_tree(const tw_node *root, const tw_model *given, const tw_machine *machine, tw_arena *arena,
                             tw_diag *diag, tw_mapping *out)
{
    tw_op_map *op;
    const tw_model *model;
    tw_fields f = tw_fields_open(root, "mapping file", diag);
    TW_TRY(tw_written_of_tree(&f, given, machine, arena, &model));
    TW_ALLOC(arena, op, model->n_ops);
    const tw_node *groups = tw_field_node(&f, "groups", TW_OPTIONAL);
    const tw_node *map = tw_field_map(&f, "mapping", groups ? TW_OPTIONAL : TW_REQUIRED);
    if (model->apart) tw_field_node(&f, "programs", TW_OPTIONAL); /* who knows the network reads them */
    tw_mapping read = {.n_ops = groups ? 0 : model->n_ops, .op = groups ? NULL : op};
    if (groups && map)
        TW_REFUSE(&f, map->key_loc, "a mapping file has either 'mapping' or 'groups'");
    else if (groups && model->apart)
        TW_REFUSE(&f, groups->key_loc, "groups of a network stand in its 'programs'");
    else if (groups)
        TW_TRY(tw_groups_of_tree(&f, model, machine, false, arena, &read));
    else if (map)
        read_ops(&f, map, model, machine, op);
    TW_TRY(tw_fields_close(&f));
    if (model != given) read.model = model;
    *out = read;
    return TW_OK;
}

/* ---- the printer ---- */

/* The loops that have a value, as a map. */
static void print_cuts(const char *key, const tw_op *op, const int64_t *value, tw_text *out)
{
    const char *sep = "";
    for (int l = 0; l < op->n_loops; l++) {
        if (value[l] == 0) continue;
        if (!*sep) tw_text_printf(out, ", %s: {", key);
        tw_text_printf(out, "%s%s: %" PRId64, sep, op->loop[l].name, value[l]);
        sep = ", ";
    }
    if (*sep) tw_text_printf(out, "}");
}

static void print_tiling(const tw_op *op, const tw_level_map *level, tw_text *out)
{
    print_cuts("tiles", op, level->count, out);
    print_cuts("sizes", op, level->size, out);
    tw_text_printf(out, ", cut: %s, order: [", tw_cut_name(level->cut));
    for (int i = 0; i < op->n_loops; i++)
        tw_text_printf(out, "%s%s", i ? ", " : "", op->loop[level->order[i]].name);
    tw_text_printf(out, "]");
}

/* Operands that share a pool stand together: "ifm+w: 4". Counts that a mapping leaves
 * open are left out. */
static void print_buffers(const tw_op *op, const tw_level_map *level, bool open, tw_text *out)
{
    const char *sep = ", buffers: {";
    for (int i = 0; i < op->n_operands; i++) {
        if (level->shares[i] != 0 || (open && level->slots[i] == 0)) continue;
        tw_text_printf(out, "%s%s", sep, op->operand[i].name);
        for (int j = i + 1; j < op->n_operands; j++)
            if (tw_level_pool(level, j) == i) tw_text_printf(out, "+%s", op->operand[j].name);
        tw_text_printf(out, ": %" PRId64, level->slots[i]);
        sep = ", ";
    }
    if (sep[2] != 'b') tw_text_printf(out, "}");
}

static void print_slides(const tw_op *op, const tw_level_map *level, tw_text *out)
{
    const char *sep = ", slide: {";
    for (int i = 0; i < op->n_operands; i++) {
        if (level->slides[i] == 0) continue;
        tw_text_printf(out, "%s%s: %s", sep, op->operand[i].name, op->loop[level->slides[i] - 1].name);
        sep = ", ";
    }
    if (sep[2] != 's') tw_text_printf(out, "}");
}

static void print_keeps(const tw_op *op, const tw_level_map *level, const tw_machine *machine, tw_text *out)
{
    const char *sep = ", keep: {";
    for (int i = 0; i < op->n_operands; i++) {
        int keep = tw_level_keep(level, i);
        if (!tw_map_holds(op, machine, level->memory, i)) continue;
        tw_text_printf(out, "%s%s: %s", sep, op->operand[i].name,
                       keep == TW_KEEP_TILE  ? "tile"
                       : keep == TW_KEEP_ALL ? "all"
                                             : op->loop[keep].name);
        sep = ", ";
    }
    if (sep[2] != 'k') tw_text_printf(out, "}");
    print_slides(op, level, out);
    if (level->serpentine) tw_text_printf(out, ", serpentine: true");
}

/* Where an array is told which loops it has, whether the mapping says so or leaves it at the default. */
static void print_unroll(const tw_op *op, const tw_level_map *level, const tw_machine *machine, tw_text *out)
{
    const tw_cost *cost = &machine->engine[machine->compute].cost;
    bool counts = level->memory == machine->n_memories - 1 && cost->kind == TW_COST_ARRAY;
    tw_spread spread = tw_spread_or_default(&level->over, op, tw_cost_dims(cost));
    bool given = tw_spread_is_given(&level->over, op);
    if (!given && (!counts || !tw_spread_uses(&spread, op, tw_cost_dims(cost) - 1))) return;
    bool plain = !counts || (tw_dims_are_plain(&cost->array) && tw_spread_loop(&spread, op, 0) >= 0 &&
                             tw_spread_loop(&spread, op, 1) >= 0);
    const char *sep = plain ? ", unroll: [" : ", unroll: {";
    for (int d = 0; d < TW_MAX_DIMS; d++) {
        if (!tw_spread_uses(&spread, op, d)) continue;
        bool one = tw_spread_loop(&spread, op, d) >= 0;
        tw_text_printf(out, "%s", sep);
        if (!plain) tw_text_printf(out, "%s: ", cost->array.dim[d]);
        tw_text_printf(out, one ? "" : "[");
        tw_spread_print(&spread, op, d, ", ", out);
        tw_text_printf(out, one ? "" : "]");
        sep = ", ";
    }
    if (sep[2] != 'u') tw_text_printf(out, plain ? "]" : "}");
}

static const buffer_rules *rules_of(const tw_machine *machine)
{
    static const buffer_rules slots = {false, read_slots, check_slots, NULL},
                              credits = {true, read_credits, check_pools, print_keeps};
    return tw_discipline_of(machine)->credits ? &credits : &slots;
}

static void print_level(const tw_op *op, const tw_level_map *level, const tw_machine *machine, tw_text *out)
{
    tw_text_printf(out, "      - {at: %s", machine->memory[level->memory].name);
    if (level->pass)
        tw_text_printf(out, ", pass: true");
    else
        print_tiling(op, level, out);
    const buffer_rules *rules = rules_of(machine);
    print_buffers(op, level, rules->open, out);
    if (rules->print) rules->print(op, level, machine, out);
    if (!level->pass) print_unroll(op, level, machine, out);
    if (!level->pass) tw_text_printf(out, ", accumulate: %s", tw_accumulate_name(level->accumulate));
    if (!level->pass && level->min_tile > 1) tw_text_printf(out, ", min_tile: %" PRId64, level->min_tile);
    tw_text_printf(out, "}\n");
}

void tw_mapping_print(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine, tw_text *out)
{
    tw_written_print(model, out);
    if (mapping->n_groups > 0) {
        tw_groups_print(mapping, model, machine, out);
        return;
    }
    tw_text_printf(out, "mapping:\n");
    for (int o = 0; o < mapping->n_ops; o++) {
        const tw_op_map *map = &mapping->op[o];
        tw_text_printf(out, "  %s:\n", model->op[o].name);
        if (map->fused != tw_fusion_is_default(model, o, machine))
            tw_text_printf(out, "    fused: %s\n", map->fused ? "true" : "false");
        tw_text_printf(out, "    levels:\n");
        for (int l = 0; l < map->n_levels; l++) print_level(&model->op[o], &map->level[l], machine, out);
    }
}
