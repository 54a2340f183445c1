/* src/plan/describe.c - see describe.h. */
#include "plan/describe.h"

/* "w[1]": the operator stands beside it. */
static const char *name_of(const tw_block *block, const tw_op *op, tw_arena *arena)
{
    const char *operand = op->operand[block->operand].name;
    if (block->n == 0) return tw_arena_printf(arena, "%s, unpadded", operand);
    return block->slot < 0 ? tw_arena_printf(arena, "%s", operand)
                           : tw_arena_printf(arena, "%s[%d]", operand, block->slot);
}

/* What nothing ever lies in need not be there. */
static bool is_needed_by(const tw_block *block, int op)
{
    return block->reads + block->writes > 0 && block->op <= op && op <= block->last_op;
}

/* The operator that needs most. */
static int find_peak(const tw_placing *g, int64_t *live)
{
    int peak = g->first_op;
    *live = 0;
    for (int op = g->first_op; op < g->first_op + g->n_ops; op++) {
        int64_t sum = 0;
        for (int i = 0; i < g->n_blocks; i++)
            if (is_needed_by(&g->block[i], op)) sum += g->block[i].size;
        if (sum <= *live) continue;
        *live = sum;
        peak = op;
    }
    return peak;
}

static tw_status describe_block(const tw_block *block, const tw_op_plan *op, int peak, tw_arena *arena,
                                tw_block_use *out)
{
    const tw_op *owner = op[block->op].program.op;
    *out = (tw_block_use){.name = name_of(block, owner, arena),
                          .op = owner->name,
                          .operand = owner->operand[block->operand].name,
                          .last_op = op[block->last_op].program.op->name,
                          .slot = block->slot,
                          .size = block->size,
                          .offset = block->offset,
                          .lower = block->lower,
                          .upper = block->upper,
                          .reads = block->reads,
                          .writes = block->writes,
                          .dead = block->reads == 0,
                          .at_peak = is_needed_by(block, peak)};
    return out->name ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_placement_describe(const tw_placing *g, const tw_op_plan *op, tw_arena *arena, tw_placement_use *out)
{
    tw_block_use *block;
    int64_t live;
    int peak = find_peak(g, &live);
    TW_ALLOC(arena, block, g->n_blocks + 1);
    for (int i = 0; i < g->n_blocks; i++) TW_TRY(describe_block(&g->block[i], op, peak, arena, &block[i]));
    *out = (tw_placement_use){.memory = op[g->first_op].program.machine->memory[g->memory].name,
                              .policy = tw_placement_name(g->policy),
                              .first_op = g->first_op,
                              .n_ops = g->n_ops,
                              .capacity = g->capacity,
                              .align = g->align,
                              .height = g->height[g->policy],
                              .slots = g->height[TW_PLACE_SLOTS],
                              .bump = g->height[TW_PLACE_BUMP],
                              .lifetime = g->height[TW_PLACE_LIFETIME],
                              .least = tw_max(g->least, live),
                              .live = live,
                              .live_op = op[peak].program.op->name,
                              .n_commands = g->n_commands,
                              .coarse = g->coarse,
                              .n_blocks = g->n_blocks,
                              .block = block};
    out->proven = out->lifetime == out->least;
    return TW_OK;
}

tw_status tw_placements_describe(const tw_placing *placing, int n, const tw_op_plan *op, tw_arena *arena,
                                 const tw_placement_use **out)
{
    tw_placement_use *list;
    TW_ALLOC(arena, list, n + 1);
    for (int i = 0; i < n; i++) TW_TRY(tw_placement_describe(&placing[i], op, arena, &list[i]));
    *out = list;
    return TW_OK;
}
