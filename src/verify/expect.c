/* src/verify/expect.c - see expect.h. */
#include "verify/expect.h"
#include "verify/room.h"
#include "verify/shape.h"

#include <string.h>

/* A loop that a level cuts. Those of all levels, outermost first, are the nest that the program walks. */
typedef struct cut_loop {
    int level, loop; /* the level counts those that are tiled */
} cut_loop;

typedef struct cut_loops {
    int n;
    cut_loop at[TW_MAX_MEMORIES * TW_MAX_LOOPS];
} cut_loops;

/* From the whole loops inwards: what is cut where, and what is left of each loop in the end. */
static void walk_levels(const tw_op_map *map, tw_level_info level[TW_MAX_MEMORIES], tw_verify_input *in,
                        cut_loops *nest)
{
    int n = 0;
    unsigned cut = 0;
    for (int l = 0; l < in->op->n_loops; l++) in->largest[l] = in->op->loop[l].extent;
    for (int i = 0; i < map->n_levels; i++) {
        const tw_level_map *at = &map->level[i];
        in->is_pass[at->memory] = at->pass;
        if (at->pass) continue;
        cut = 0;
        for (int k = 0; k < in->op->n_loops; k++) {
            int l = at->order[k];
            if (tw_steps_tiles(at, l, in->largest[l]) <= 1) continue;
            cut |= 1u << l;
            nest->at[nest->n++] = (cut_loop){n, l};
        }
        for (int l = 0; l < in->op->n_loops; l++) in->largest[l] = tw_steps_longest(at, l, in->largest[l]);
        level[n++] = (tw_level_info){.memory = at->memory, .mode = at->accumulate};
    }
    in->n_levels = n;
    in->level = level;
    in->padded = 0;
    for (int l = 0; l < in->op->n_loops && in->machine->pads; l++) /* those that the innermost level cuts */
        if ((cut >> l & 1) && in->op->loop[l].extent % in->largest[l] != 0) in->padded |= 1u << l;
}

/* ---- inputs that change with every execution ---- */

/* Whether a memory that keeps the operand as it is told keeps tiles of it while loops that the level cuts go on. */
static bool keeps_more(const tw_level_map *memory, const tw_level_map *tiled, const cut_loops *nest, int level,
                       int operand, int n_loops)
{
    int keep = memory->keeps[operand];
    bool behind = keep < 0; /* the loop while which it is kept, or all */
    for (int k = 0; keep != 0 && k < n_loops; k++) {
        for (int i = 0; i < nest->n && behind; i++)
            if (nest->at[i].level == level && nest->at[i].loop == tiled->order[k]) return true;
        if (tiled->order[k] == keep - 1) behind = true;
    }
    return false;
}

/* The innermost memory of inputs gets a new tile for every execution: its tiles are those that are executed, it keeps no more
 * than one of them and, where a tile that is still needed stays, the innermost loop changes it. */
static bool is_streamed(const tw_op_map *map, const tw_verify_input *in, const cut_loops *nest, int operand)
{
    int memory = tw_verify_outside(in, in->machine->n_memories, operand), grain = 0;
    while (in->level[grain].memory < memory) grain++;
    if (tw_verify_finds(in, operand)) return false;
    if (nest->n == 0) return true;
    const cut_loop *last = &nest->at[nest->n - 1];
    const tw_level_map *tiled = &map->level[in->level[grain].memory - 1];
    if (last->level > grain || keeps_more(&map->level[memory - 1], tiled, nest, grain, operand, in->op->n_loops))
        return false;
    return in->machine->reuse != TW_REUSE_RESIDENT ||
           (tw_verify_loops(&in->op->operand[operand]) >> last->loop & 1);
}

void tw_verify_expect(const tw_op_map *map, tw_level_info level[TW_MAX_MEMORIES], tw_verify_input *in)
{
    in->map = map;
    cut_loops nest = {0};
    walk_levels(map, level, in, &nest);
    in->innermost = -1;
    tw_residencies residencies;
    tw_residencies_init(&residencies, in);
    memcpy(in->holds_sums, residencies.sums, sizeof in->holds_sums);
    if (!residencies.one_nest) return;
    for (int m = 1; m < in->machine->n_memories; m++)
        for (int o = 0; o < in->op->n_operands; o++)
            in->slide[m][o] = (tw_verify_slide){tw_room_rows(in, &residencies, m, o), residencies.of[m][o].axis};
    for (int o = 0; o < in->op->n_operands - 1; o++) in->streamed[o] = is_streamed(map, in, &nest, o);
    bool plain = in->n_levels == 1 && nest.n > 0 && !map->level[map->n_levels - 1].serpentine;
    if (plain) in->innermost = nest.at[nest.n - 1].loop;
    const tw_cost *cost = &in->machine->engine[in->machine->compute].cost;
    tw_verify_lay_out(&map->level[map->n_levels - 1].over, tw_cost_dims(cost), in);
    int memory = in->machine->engine[in->machine->compute].memory;
    in->laid_whole = in->machine->memory[memory].whole && map->level[memory - 1].keeps[in->op->n_operands - 1] < 0;
}

void tw_verify_residents(tw_verify_input *in, tw_resident resident[TW_MAX_OPERANDS])
{
    const tw_op *op = in->op;
    in->resident = resident;
    in->n_residents = 0;
    for (int o = 0; o < op->n_operands; o++) {
        bool output = o == op->n_operands - 1;
        int memory = tw_verify_outside(in, in->machine->n_memories, o);
        if (!(output ? tw_verify_leaves(in) : tw_verify_finds(in, o))) continue;
        resident[in->n_residents++] = (tw_resident){
            .operand = o, .buffer = in->layout->first[memory][o], .region = tw_verify_whole(&op->operand[o])};
    }
}
