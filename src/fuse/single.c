/* src/fuse/single.c - see single.h.
 *
 * Each tiled level becomes one of the group, with the loops that it cuts. "While loop m stays" is the number of cuts up to and including
 * that of m; what the levels leave open are buffers, of which there are two where one would do. */
#include "fuse/single.h"

typedef struct writer {
    const tw_problem *problem;
    const tw_op *op;
    const tw_platform_view *view;
    int64_t box[TW_MAX_LOOPS]; /* what the level at hand gets */
    tw_nest_cut *cut;
    tw_group_level *level;
    tw_hold *hold;
    tw_group_map *out;
} writer;

static bool is_known(const tw_level_map *level, const tw_op *op)
{
    if (level->serpentine) return false;
    for (int o = 0; o < op->n_operands; o++)
        if (level->shares[o]) return false;
    return true;
}

/* Cuts of the level up to and including loop `last`, TW_KEEP_TILE: all of them, TW_KEEP_ALL: none. */
static int cuts_to(const writer *w, const tw_level_map *level, int last)
{
    int n = 0;
    for (int i = 0; i < w->op->n_loops && last != TW_KEEP_ALL; i++) {
        int l = level->order[i];
        n += tw_level_n_tiles(level, l, w->box[l]) > 1;
        if (l == last) break;
    }
    return n;
}

/* Tiles of the operand that the level holds together: those of the loops inside the one while which it is kept. */
static int64_t tiles_inside(const writer *w, const tw_level_map *level, int o)
{
    int last = tw_level_keep(level, o);
    int64_t n = 1;
    for (int i = w->op->n_loops - 1; i >= 0 && last != TW_KEEP_TILE; i--) {
        int l = level->order[i];
        if (l == last) break;
        if (tw_operand_loops(&w->op->operand[o]) >> l & 1) n *= tw_level_n_tiles(level, l, w->box[l]);
    }
    return n;
}

/* 1 + the loop along which the operand's window slides; 0: none does, or there is one window. */
static int slide_of(const writer *w, const tw_level_map *level, int o)
{
    int loop = level->slides[o] - 1;
    return loop >= 0 && tw_level_n_tiles(level, loop, w->box[loop]) > 1 ? 1 + loop : 0;
}

/* Levels count buffers of a tile, groups those of all that is held. A window slides along the last cut that stands still while it is held: those inside of that leave it as it is. */
static void write_holds(writer *w, const tw_level_map *level, int outside)
{
    for (int o = 0; o < w->op->n_operands; o++) {
        if (!(tw_machine_path(&w->view->machine, w->op, o) >> level->memory & 1)) continue;
        int64_t slots = level->slots[o] > 0 ? level->slots[o] : 2 * tiles_inside(w, level, o);
        int slide = slide_of(w, level, o), last = slide ? slide - 1 : tw_level_keep(level, o);
        w->hold[w->out->n_holds++] = (tw_hold){.tensor = w->op->operand[o].tensor,
                                               .memory = w->view->memory[level->memory],
                                               .depth = outside + cuts_to(w, level, last),
                                               .slide = slide,
                                               .slots = tw_max(1, slots / tiles_inside(w, level, o))};
    }
}

static void write_level(writer *w, const tw_level_map *level)
{
    tw_group_map *out = w->out;
    write_holds(w, level, out->n_cuts);
    for (int i = 0; i < w->op->n_loops; i++) {
        int l = level->order[i];
        if (tw_level_n_tiles(level, l, w->box[l]) == 1) continue;
        w->cut[out->n_cuts++] = (tw_nest_cut){.level = out->n_levels,
                                              .loop = l,
                                              .rule = level->cut,
                                              .count = level->size[l] > 0 ? 0 : level->count[l],
                                              .size = level->size[l]};
    }
    w->level[out->n_levels++] = (tw_group_level){.memory = w->view->memory[level->memory], .depth = out->n_cuts};
    for (int l = 0; l < w->op->n_loops; l++) w->box[l] = tw_level_largest(level, l, w->box[l]);
}

tw_status tw_single_group(const tw_problem *problem, const tw_op_map *map, tw_arena *arena, tw_group_map *out)
{
    const tw_op *op = &problem->model->op[problem->op];
    writer w = {.problem = problem, .op = op, .view = &problem->machine->platform->view[0], .out = out};
    tw_group_op *self;
    int n_cuts = 0;
    for (int i = 0; i < map->n_levels; i++)
        if (!map->level[i].pass) n_cuts += op->n_loops;
    if (map->n_levels > TW_MAX_GROUP_LEVELS || n_cuts > TW_MAX_CUTS || map->fused) return TW_INFEASIBLE;
    TW_ALLOC(arena, w.cut, n_cuts);
    TW_ALLOC(arena, w.level, map->n_levels);
    TW_ALLOC(arena, w.hold, map->n_levels * TW_MAX_OPERANDS);
    TW_ALLOC(arena, self, 1);
    *out = (tw_group_map){.name = op->name, .n_ops = 1, .op = self, .cut = w.cut, .level = w.level};
    out->hold = w.hold;
    for (int l = 0; l < op->n_loops; l++) w.box[l] = op->loop[l].extent;
    *self = (tw_group_op){.op = problem->op, .over = map->level[map->n_levels - 1].over};
    for (int i = 0; i < map->n_levels; i++) {
        if (map->level[i].pass) continue;
        if (!is_known(&map->level[i], op)) return TW_INFEASIBLE;
        write_level(&w, &map->level[i]);
    }
    return out->n_levels > 0 ? TW_OK : TW_INFEASIBLE;
}
