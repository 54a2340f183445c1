/* src/nearest.c - see nearest.h. */
#include "nearest.h"

typedef struct change {
    bool found;
    int64_t n_execs;
    int level, loop, operand; /* loop or operand is -1 */
    int64_t value;            /* tiles or buffers      */
} change;

/* Executions of the mapping when it fits, else -1. */
static int64_t fits(const tw_model *model, int op, const tw_machine *machine, const tw_op_map *map,
                    tw_arena *scratch)
{
    tw_diag muted = {.muted = true};
    tw_program program;
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_status status = tw_program_build(model, op, machine, map, scratch, &muted, &program);
    tw_arena_rewind(scratch, mark);
    return status == TW_OK ? program.n_execs : -1;
}

static void keep(change *best, change candidate)
{
    candidate.found = candidate.n_execs >= 0;
    if (candidate.found && (!best->found || candidate.n_execs < best->n_execs)) *best = candidate;
}

/* The slot counts below the given ones; the output keeps what its mode needs, so only inputs are tried. */
static void try_fewer_buffers(const tw_model *model, int op, const tw_machine *machine, const tw_op_map *map,
                              int level, tw_arena *scratch, change *best)
{
    for (int o = 0; o < tw_op_output(&model->op[op]); o++)
        for (int64_t n = map->level[level].slots[o] - 1; n >= 1; n--) {
            tw_op_map changed = *map;
            changed.level[level].slots[o] = n;
            int64_t execs = fits(model, op, machine, &changed, scratch);
            keep(best, (change){.n_execs = execs, .level = level, .loop = -1, .operand = o, .value = n});
            if (execs >= 0) break;
        }
}

/* More tiles along one loop: every next count up to 16, then in steps of a sixteenth, until one fits. */
static void try_more_tiles(const tw_model *model, int op, const tw_machine *machine, const tw_op_map *map,
                           int level, tw_arena *scratch, change *best)
{
    const tw_op *o = &model->op[op];
    for (int l = 0; l < o->n_loops; l++) {
        tw_op_map changed = *map;
        tw_level_map *at = &changed.level[level];
        int64_t from = at->size[l] > 0 ? tw_cdiv(o->loop[l].extent, at->size[l]) : at->count[l];
        at->size[l] = 0;
        for (int64_t c = from + 1; c <= o->loop[l].extent && c > 0;
             c = tw_split_next_legal(o->loop[l].extent, c + 1 + c / 16, at->cut)) {
            if (o->loop[l].reduces && at->slots[tw_op_output(o)] < tw_mapping_min_output_slots(at->accumulate, 2))
                break;
            at->count[l] = c;
            int64_t execs = fits(model, op, machine, &changed, scratch);
            keep(best, (change){.n_execs = execs, .level = level, .loop = l, .operand = -1, .value = c});
            if (execs >= 0) break;
        }
    }
}

void tw_nearest_note(const tw_model *model, int op, const tw_machine *machine, const tw_op_map *map,
                     tw_arena *scratch, tw_diag *diag)
{
    change best = {0};
    for (int l = 0; l < map->n_levels; l++) {
        try_fewer_buffers(model, op, machine, map, l, scratch, &best);
        if (!map->level[l].pass) try_more_tiles(model, op, machine, map, l, scratch, &best);
    }
    if (!best.found) return;
    const tw_level_map *level = &map->level[best.level];
    const char *at = machine->memory[level->memory].name;
    if (best.loop >= 0)
        tw_diag_note(diag, level->loc, "it fits with %" PRId64 " tiles along '%s' at '%s'", best.value,
                     model->op[op].loop[best.loop].name, at);
    else
        tw_diag_note(diag, level->loc, "it fits with %" PRId64 " buffer%s of '%s' at '%s'", best.value,
                     best.value == 1 ? "" : "s", model->op[op].operand[best.operand].name, at);
}
