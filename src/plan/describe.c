/* src/plan/describe.c - see describe.h. */
#include "plan/describe.h"

/* "w[1]": the operator stands beside it. */
static const char *name_of(const tw_lot *lot, const tw_op *op, tw_arena *arena)
{
    const char *operand = op->operand[lot->operand].name;
    if (lot->n == 0) return tw_arena_printf(arena, "%s, unpadded", operand);
    return lot->slot < 0 ? tw_arena_printf(arena, "%s", operand)
                         : tw_arena_printf(arena, "%s[%d]", operand, lot->slot);
}

/* What nothing ever lies in need not be there. */
static bool is_needed_by(const tw_lot *lot, int op)
{
    return lot->reads + lot->writes > 0 && lot->op <= op && op <= lot->last_op;
}

/* The operator that needs most. */
static int find_peak(const tw_placing *g, int64_t *live)
{
    int peak = g->first_op;
    *live = 0;
    for (int op = g->first_op; op < g->first_op + g->n_ops; op++) {
        int64_t sum = 0;
        for (int i = 0; i < g->n_lots; i++)
            if (is_needed_by(&g->lot[i], op)) sum += g->lot[i].size;
        if (sum <= *live) continue;
        *live = sum;
        peak = op;
    }
    return peak;
}

static tw_status describe_lot(const tw_lot *lot, const tw_op_plan *op, int peak, tw_arena *arena, tw_lot_use *out)
{
    const tw_op *owner = op[lot->op].program.op;
    *out = (tw_lot_use){.name = name_of(lot, owner, arena),
                        .op = owner->name,
                        .operand = owner->operand[lot->operand].name,
                        .last_op = op[lot->last_op].program.op->name,
                        .slot = lot->slot,
                        .size = lot->size,
                        .offset = lot->offset,
                        .lower = lot->lower,
                        .upper = lot->upper,
                        .reads = lot->reads,
                        .writes = lot->writes,
                        .dead = lot->reads == 0,
                        .at_peak = is_needed_by(lot, peak)};
    return out->name ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_placement_describe(const tw_placing *g, const tw_op_plan *op, tw_arena *arena, tw_placement_use *out)
{
    tw_lot_use *lot;
    int64_t live;
    int peak = find_peak(g, &live);
    TW_ALLOC(arena, lot, g->n_lots + 1);
    for (int i = 0; i < g->n_lots; i++) TW_TRY(describe_lot(&g->lot[i], op, peak, arena, &lot[i]));
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
                              .n_lots = g->n_lots,
                              .lot = lot};
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
