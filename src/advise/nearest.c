/* src/advise/nearest.c - see nearest.h. */
#include "advise/nearest.h"

#include "core/deadline.h"
#include "plan/placing.h"

typedef struct change {
    bool found;
    int64_t n_execs;
    int level, loop, operand; /* loop or operand is -1 */
    int64_t value;            /* tiles or buffers      */
} change;

/* Whether every pool has the slots without which the program cannot work. */
static bool runs(const tw_program *p)
{
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++)
            if (p->stop[m][o].here && p->layout.count[m][o] < p->stop[m][p->stop[m][o].pool].needed) return false;
    return true;
}

/* Whether the mapping fits; *execs are its executions, -1 when it does not fit or does not run. */
static bool fits(const tw_problem *problem, const tw_op_map *map, tw_arena *scratch, int64_t *execs)
{
    tw_diag muted = {.muted = true};
    tw_program program;
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_status status = tw_program_build(problem, map, scratch, &muted, &program);
    if (status == TW_OK) status = tw_group_check(&program, scratch, &muted);
    *execs = status == TW_OK && runs(&program) ? program.n_execs : -1;
    tw_arena_rewind(scratch, mark);
    return status == TW_OK;
}

static void keep(change *best, change candidate)
{
    candidate.found = candidate.n_execs >= 0;
    if (candidate.found && (!best->found || candidate.n_execs < best->n_execs)) *best = candidate;
}

static void set_slots(tw_level_map *level, const tw_op *op, int pool, int64_t n)
{
    for (int o = pool; o < op->n_operands; o++)
        if (tw_level_pool(level, o) == pool) level->slots[o] = n;
}

/* The most slots below the given ones that fit, if any; fewer fit as well, down to what the program needs. The output
 * keeps what its mode needs, so only inputs are tried. */
static void try_fewer_buffers(const tw_problem *problem, const tw_op_map *map, int level, tw_arena *scratch,
                              change *best)
{
    const tw_op *op = &problem->model->op[problem->op];
    for (int o = 0; o < tw_op_output(op); o++) {
        tw_op_map changed = *map;
        int64_t low = 0, high = map->level[level].slots[o] - 1, execs; /* low fits, or is 0 */
        if (tw_level_pool(&map->level[level], o) != o) continue;
        while (low < high) {
            int64_t n = high - (high - low) / 2;
            set_slots(&changed.level[level], op, o, n);
            if (fits(problem, &changed, scratch, &execs))
                low = n;
            else
                high = n - 1;
        }
        set_slots(&changed.level[level], op, o, low);
        execs = -1;
        if (low > 0) fits(problem, &changed, scratch, &execs);
        keep(best, (change){.n_execs = execs, .level = level, .loop = -1, .operand = o, .value = low});
    }
}

/* More tiles along one loop: every next count up to 16, then in steps of a sixteenth, until one fits. */
static void try_more_tiles(const tw_problem *problem, const tw_op_map *map, int level, const tw_deadline *deadline,
                           tw_arena *scratch, change *best)
{
    const tw_op *o = &problem->model->op[problem->op];
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
            int64_t execs;
            fits(problem, &changed, scratch, &execs);
            if (tw_deadline_is_over(deadline)) return;
            keep(best, (change){.n_execs = execs, .level = level, .loop = l, .operand = -1, .value = c});
            if (execs >= 0) break;
        }
    }
}

void tw_nearest_note(const tw_problem *problem, const tw_op_map *map, tw_arena *scratch, tw_diag *diag)
{
    const tw_op *op = &problem->model->op[problem->op];
    change best = {0};
    for (int l = 0; l < map->n_levels; l++) {
        try_fewer_buffers(problem, map, l, scratch, &best);
        if (!map->level[l].pass) try_more_tiles(problem, map, l, diag->deadline, scratch, &best);
    }
    if (!best.found && tw_deadline_is_over(diag->deadline))
        tw_diag_note(diag, map->loc, "there was no time to look for a change with which it fits");
    if (!best.found) return;
    const tw_level_map *level = &map->level[best.level];
    const char *at = problem->machine->memory[level->memory].name;
    if (best.loop >= 0)
        tw_diag_note(diag, level->loc, "it fits with %" PRId64 " tiles along '%s' at '%s'", best.value,
                     op->loop[best.loop].name, at);
    else
        tw_diag_note(diag, level->loc, "it fits with %" PRId64 " buffer%s of '%s' at '%s'", best.value,
                     best.value == 1 ? "" : "s", op->operand[best.operand].name, at);
}
