/* src/program/cursor.c - see cursor.h. */
#include "program/cursor.h"
#include "tile/box.h"

#include <string.h>

/* ---- start ---- */

static void init_pools(tw_cursor *c)
{
    const tw_layout *layout = &c->program->layout;
    for (int o = 0; o < c->program->op->n_operands; o++) {
        tw_slot_pool *pool = &c->pool[o];
        pool->n = layout->count[c->level->memory][o];
        pool->first = layout->first[c->level->memory][o];
        pool->last = 0;
        for (int s = 0; s < pool->n; s++) pool->key[s] = pool->stamp[s] = -1;
    }
    memset(c->turn, 0, sizeof c->turn);
}

/* A value is named by the tile indices of the loops its operand depends on, read as one number. */
static void init_keys(tw_cursor *c)
{
    const tw_op *op = c->program->op;
    for (int o = 0; o < op->n_operands; o++) {
        c->key[o] = 0;
        int64_t stride = 1;
        for (int l = 0; l < op->n_loops; l++) {
            bool used = c->program->loops[o] >> l & 1;
            c->key_stride[o][l] = used ? stride : 0;
            if (used) stride *= c->split[l].count;
        }
    }
}

void tw_cursor_init(tw_cursor *c, const tw_program *program, int level, const tw_box *box,
                    const int32_t outer[TW_MAX_OPERANDS], bool accumulate_outer)
{
    const tw_op *op = program->op;
    c->program = program;
    c->level = &program->tiled[level];
    c->brief = false;
    c->accumulate_outer = accumulate_outer;
    memcpy(c->outer, outer, sizeof c->outer);
    c->box = *box;
    for (int l = 0; l < op->n_loops; l++) {
        c->split[l] = tw_level_split(c->level->map, l, tw_span_len(box->span[l]));
        c->index[l] = 0;
        c->tile.span[l] = tw_split_at(&c->split[l], box->span[l].lo, 0);
    }
    c->done = false;
    c->step = c->n_freeing = 0;
    c->accumulator = -1;
    c->reductions = tw_op_reductions(op);
    init_keys(c);
    init_pools(c);
    for (int o = 0; o < op->n_operands; o++) {
        tw_region region;
        c->elems[o] = tw_region_of(&op->operand[o], &c->tile, &region);
    }
}

/* ---- moving on ---- */

static void set_index(tw_cursor *c, int loop, int64_t i)
{
    int64_t by = i - c->index[loop];
    c->index[loop] = i;
    c->tile.span[loop] = tw_split_at(&c->split[loop], c->box.span[loop].lo, i);
    for (int o = 0; o < c->program->op->n_operands; o++) c->key[o] += by * c->key_stride[o][loop];
}

/* The next tile in loop order; false after the last. */
static bool advance(tw_cursor *c)
{
    const tw_op *op = c->program->op;
    unsigned changed = 0;
    for (int i = op->n_loops - 1; i >= 0; i--) {
        int l = c->level->map->order[i];
        if (c->split[l].count == 1) continue;
        changed |= 1u << l;
        bool wraps = c->index[l] + 1 == c->split[l].count;
        set_index(c, l, wraps ? 0 : c->index[l] + 1);
        if (wraps) continue;
        for (int o = 0; o < op->n_operands; o++) {
            tw_region region;
            if (c->program->loops[o] & changed) c->elems[o] = tw_region_of(&op->operand[o], &c->tile, &region);
        }
        return true;
    }
    return false;
}

static bool is_last_reduction(const tw_cursor *c)
{
    for (int l = 0; l < c->program->op->n_loops; l++)
        if ((c->reductions >> l & 1) && c->index[l] + 1 < c->split[l].count) return false;
    return true;
}

/* ---- instructions ---- */

static tw_instr *emit(tw_cursor *c, tw_opcode op, int engine, int operand, int64_t work)
{
    tw_instr *in = &c->out[c->n++];
    in->op = op;
    in->accumulates = in->nested = in->takes = in->partial = in->drains = in->together = false;
    in->unit = in->n_gives = 0;
    in->engine = (int16_t)engine;
    in->operand = (int16_t)operand;
    in->n_src = 1;
    in->work = work;
    if (c->brief) return in;
    const tw_op *o = c->program->op;
    for (int l = 0; l < o->n_loops; l++) {
        in->index[l] = c->index[l];
        in->box.span[l] = c->tile.span[l];
    }
    (void)tw_region_of(&o->operand[operand], &c->tile, &in->region);
    return in;
}

static int next_fifo(tw_cursor *c, int memory, int operand)
{
    int n = c->program->layout.count[memory][operand], *turn = &c->turn[memory][operand];
    int slot = *turn;
    *turn = slot + 1 == n ? 0 : slot + 1;
    return c->program->layout.first[memory][operand] + slot;
}

static void emit_loads(tw_cursor *c, int operand, int buffer)
{
    const tw_tiled_level *level = c->level;
    int64_t units = tw_program_units(c->program, operand, c->elems[operand]);
    int from = c->outer[operand];
    for (int i = 0; i <= level->n_pass; i++) {
        int to = i < level->n_pass ? next_fifo(c, level->pass[i], operand) : buffer;
        tw_instr *in = emit(c, TW_LOAD, level->mover[i], operand, units);
        in->src[0] = (int16_t)from;
        in->dst = (int16_t)to;
        in->takes = true;
        from = to;
    }
}

static void emit_stores(tw_cursor *c, int buffer)
{
    const tw_tiled_level *level = c->level;
    int output = tw_op_output(c->program->op), from = buffer;
    int64_t units = tw_program_units(c->program, output, c->elems[output]);
    for (int i = level->n_pass; i >= 0; i--) {
        int to = i > 0 ? next_fifo(c, level->pass[i - 1], output) : c->outer[output];
        tw_instr *in = emit(c, TW_STORE, level->mover[i], output, units);
        in->src[0] = (int16_t)from;
        in->dst = (int16_t)to;
        in->accumulates = i == 0 && c->accumulate_outer;
        in->takes =
            i > 0; /* into a buffer of the level outside it fills a part of what the execution there has begun */
        from = to;
    }
}

/* ---- slots ---- */

/* Where a layout has too few slots none is free: the first one is overwritten, which the verifier objects to. */
static int oldest(const tw_slot_pool *pool, bool free_only)
{
    int best = -1;
    for (int s = 0; s < pool->n; s++)
        if ((!free_only || pool->key[s] < 0) && (best < 0 || pool->stamp[s] < pool->stamp[best])) best = s;
    return best < 0 ? 0 : best;
}

/* The slot that holds the operand's value, loaded if need be. */
static int acquire_input(tw_cursor *c, int operand)
{
    tw_slot_pool *pool = &c->pool[operand];
    int64_t key = c->key[operand];
    int slot = pool->key[pool->last] == key ? pool->last : -1;
    for (int s = 0; s < pool->n && slot < 0; s++)
        if (pool->key[s] == key) slot = s;
    if (slot < 0) {
        slot = oldest(pool, false);
        pool->key[slot] = key;
        emit_loads(c, operand, pool->first + slot);
    }
    pool->stamp[slot] = c->step;
    pool->last = slot;
    return pool->first + slot;
}

static int acquire_output(tw_cursor *c)
{
    tw_slot_pool *pool = &c->pool[tw_op_output(c->program->op)];
    int slot = oldest(pool, true);
    pool->key[slot] = 0; /* held */
    return slot;
}

/* Slots that one instruction frees share its stamp; a later instruction's is larger. */
static void free_output(tw_cursor *c, int slot)
{
    tw_slot_pool *pool = &c->pool[tw_op_output(c->program->op)];
    pool->key[slot] = -1;
    pool->stamp[slot] = c->n_freeing;
}

/* ---- steps ---- */

static int emit_exec(tw_cursor *c, bool fused)
{
    const tw_program *p = c->program;
    int n_in = tw_op_output(p->op), source[TW_MAX_OPERANDS];
    for (int o = 0; o < n_in; o++) source[o] = c->elems[o] > 0 ? acquire_input(c, o) : -1;
    int slot = fused ? c->accumulator : acquire_output(c);
    tw_instr *in = emit(c, TW_EXEC, p->machine->compute, n_in, tw_box_points(p->op, &c->tile));
    in->accumulates = fused;
    in->takes = !fused;
    in->nested = !c->level->innermost;
    in->dst = (int16_t)(c->pool[n_in].first + slot);
    in->n_src = (int16_t)n_in;
    for (int o = 0; o < n_in; o++) in->src[o] = (int16_t)source[o];
    if (in->nested && c->brief) in->box = c->tile;
    return slot;
}

static int emit_fill(tw_cursor *c)
{
    const tw_program *p = c->program;
    int output = tw_op_output(p->op), slot = acquire_output(c);
    tw_instr *in = emit(c, TW_FILL, p->machine->compute, output, c->elems[output]);
    in->n_src = 0;
    in->takes = true;
    in->dst = (int16_t)(c->pool[output].first + slot);
    return slot;
}

/* Adds the partial in `slot` to the accumulator. */
static void emit_sum(tw_cursor *c, int slot)
{
    int output = tw_op_output(c->program->op), first = c->pool[output].first, old = c->accumulator;
    bool separate = c->level->map->accumulate == TW_SEPARATE;
    int to = separate ? acquire_output(c) : old;
    tw_instr *in = emit(c, TW_SUM, c->level->adder, output, c->elems[output]);
    in->n_src = 2;
    in->takes = separate;
    in->src[0] = (int16_t)(first + old);
    in->src[1] = (int16_t)(first + slot);
    in->dst = (int16_t)(first + to);
    free_output(c, slot);
    if (separate) free_output(c, old);
    c->n_freeing++;
    c->accumulator = to;
}

static void make_step(tw_cursor *c)
{
    bool last = is_last_reduction(c), padding = c->program->clipped && tw_op_is_neutral(c->program->op, c->elems),
         started = c->accumulator >= 0;
    bool fused = started && c->level->map->accumulate == TW_FUSED;
    if (padding && last && !started && c->level->innermost) {
        c->accumulator = emit_fill(c);
    } else if (!padding || (last && !started)) {
        int slot = emit_exec(c, fused);
        if (!started)
            c->accumulator = slot;
        else if (!fused)
            emit_sum(c, slot);
    }
    if (!last) return;
    emit_stores(c, c->pool[tw_op_output(c->program->op)].first + c->accumulator);
    free_output(c, c->accumulator);
    c->n_freeing++;
    c->accumulator = -1;
}

int tw_cursor_next(tw_cursor *c, tw_instr out[TW_STEP_MAX])
{
    c->n = 0;
    c->out = out;
    while (c->n == 0 && !c->done) {
        make_step(c);
        c->step++;
        c->done = !advance(c);
    }
    return c->n;
}
