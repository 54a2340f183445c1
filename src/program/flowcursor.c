/* src/program/flowcursor.c - see flowcursor.h. */
#include "program/flowcursor.h"
#include "machine/arrange.h"
#include "program/slide.h"
#include "tile/box.h"
#include "tile/shape.h"

#include <stddef.h>
#include <string.h>

/* ---- the nest ---- */

static bool is_first(const tw_flow_cursor *c, tw_places set) { return (set & ~c->at_first) == 0; }
static bool is_last(const tw_flow_cursor *c, tw_places set) { return (set & ~c->at_last) == 0; }

static void mark_place(tw_flow_cursor *c, int p)
{
    tw_places bit = (tw_places)1 << p;
    c->index[p] = c->backwards[p] ? c->count[p] - 1 - c->ordinal[p] : c->ordinal[p];
    c->at_first = c->ordinal[p] == 0 ? c->at_first | bit : c->at_first & ~bit;
    c->at_last = c->ordinal[p] + 1 == c->count[p] ? c->at_last | bit : c->at_last & ~bit;
}

/* Cuts loop `loop` anew from level `from` inwards, after a place of it has moved there. */
static void cut_loop(tw_flow_cursor *c, int loop, int from)
{
    const tw_program *p = c->program;
    tw_span piece = from > 0 ? c->tile[from - 1].span[loop] : (tw_span){0, p->op->loop[loop].extent};
    for (int t = from; t < p->n_tiled; t++) {
        tw_split s = tw_level_split(p->tiled[t].map, loop, tw_span_len(piece));
        int64_t at = 0;
        for (int q = 0; q < c->flow->n_places; q++) {
            if (c->flow->place[q].level != t || c->flow->place[q].loop != loop) continue;
            c->count[q] = s.count;
            mark_place(c, q);
            at = c->index[q];
        }
        piece = tw_split_at(&s, piece.lo, at);
        c->resized |= tw_span_len(piece) != tw_span_len(c->tile[t].span[loop]);
        c->tile[t].span[loop] = piece;
    }
}

/* The tile of a level; of level -1: everything. */
static const tw_box *box_of(const tw_flow_cursor *c, int level) { return level < 0 ? &c->whole : &c->tile[level]; }

static int64_t elems_of(const tw_flow_cursor *c, int level, int operand)
{
    return level < 0 ? c->whole_elems[operand] : c->elems[level][operand];
}

/* ---- windows that slide ---- */

/* The rows of the window that stands `away` tiles from the current one in its sweep, none where the sweep has no such tile. */
static tw_span window_at(const tw_flow_cursor *c, const tw_residency *s, int operand, int64_t away)
{
    const tw_program *p = c->program;
    int64_t at = c->index[s->slide.place] + away;
    if (at < 0 || at >= c->count[s->slide.place]) return (tw_span){0, 0};
    tw_span piece = box_of(c, s->grain - 1)->span[s->slide.loop];
    tw_split split = tw_level_split(p->tiled[s->grain].map, s->slide.loop, tw_span_len(piece));
    return tw_slide_window(&p->op->operand[operand], &s->slide, box_of(c, s->grain),
                           tw_split_at(&split, piece.lo, at));
}

/* What a transfer into memory m moves for the current tile: all of it or, where it slides, the new rows. */
static int64_t find_moved(const tw_flow_cursor *c, int m, int operand, tw_region *out)
{
    const tw_residency *s = &c->flow->residency[m][operand];
    const tw_operand *o = &c->program->op->operand[operand];
    int64_t n = tw_region_of(o, box_of(c, s->grain), out);
    if (s->asks == 0 || n == 0) return n;
    const tw_residency *asks = &c->flow->residency[s->asks][operand];
    tw_span *rows = &out->axis[asks->slide.axis], whole = *rows;
    *rows = tw_slide_new_rows(whole, window_at(c, asks, operand, -1));
    return n / tw_span_len(whole) * tw_span_len(*rows);
}

static int64_t moved_elems(const tw_flow_cursor *c, int m, int operand)
{
    tw_region region;
    const tw_residency *s = &c->flow->residency[m][operand];
    return s->asks > 0 ? find_moved(c, m, operand, &region) : elems_of(c, s->grain, operand);
}

/* Whether the window that comes next has no new rows: it goes on with the buffer of this one. */
static bool goes_on(const tw_flow_cursor *c, int m, int operand)
{
    const tw_residency *s = &c->flow->residency[m][operand];
    if (!s->slides) return false;
    tw_span now = window_at(c, s, operand, 0), next = window_at(c, s, operand, 1);
    return tw_span_len(next) > 0 && next.hi == now.hi;
}

static int64_t count_elems(const tw_flow_cursor *c, int level, int operand)
{
    const tw_operand *o = &c->program->op->operand[operand];
    if (c->simple >> operand & 1) {
        int64_t n = 1;
        for (unsigned loops = c->program->loops[operand]; loops; loops &= loops - 1)
            n *= tw_span_len(c->tile[level].span[__builtin_ctz(loops)]);
        return n;
    }
    tw_region region;
    return tw_region_of(o, &c->tile[level], &region);
}

/* Positions along an axis that are moved; a padded reduction is moved whole. */
static int64_t moved_len(const tw_flow_cursor *c, const tw_axis *axis, tw_span span)
{
    unsigned whole = c->program->padded & tw_op_reductions(c->program->op);
    for (int t = 0; t < axis->n_terms && whole; t++)
        if (whole >> axis->term[t].loop & 1) return c->program->largest[axis->term[t].loop];
    return tw_span_len(span);
}

/* How what a transfer of the current tile into or out of memory m moves lies in its tensor. */
static tw_shape shape_of(const tw_flow_cursor *c, int m, int operand, int64_t elem)
{
    const tw_operand *o = &c->program->op->operand[operand];
    tw_region region;
    int64_t len[TW_MAX_AXES];
    if (find_moved(c, m, operand, &region) == 0) return (tw_shape){0};
    for (int a = 0; a < o->n_axes; a++) len[a] = moved_len(c, &o->axis[a], region.axis[a]);
    return tw_region_shape(o, &region, len, elem);
}

/* Units of a tile that is zeroed before it is filled, since a reduction in it is padded; 0: none. */
static int64_t zeroed_units(const tw_flow_cursor *c, int operand)
{
    const tw_program *p = c->program;
    int64_t units = p->elem_units[operand];
    if (!(p->loops[operand] & p->padded & tw_op_reductions(p->op))) return 0;
    for (unsigned left = p->loops[operand]; left; left &= left - 1) units *= p->largest[__builtin_ctz(left)];
    return units;
}

/* Whether the transfer puts elements into the order of the output: into the compute engine's memory. */
static bool is_arranged(const tw_flow_cursor *c, int engine, int operand)
{
    const tw_program *p = c->program;
    return p->machine->arranged && operand < tw_op_output(p->op) && p->machine->engine[engine].strided;
}

/* What the buffer holds that the tile is laid out in: the output's there, or what is kept of the input if that is more. */
static const tw_box *laid_box(const tw_flow_cursor *c, int level)
{
    int grain = c->flow->residency[c->out_memory][tw_op_output(c->program->op)].grain;
    return box_of(c, grain < level ? grain : level);
}

/* Steps of a loop in a piece that tiles have which are not nothing but rim; the tiles of level `level` inside of level `outer`. */
static int64_t steps_outside_rim(const tw_flow_cursor *c, int loop, tw_span piece, int outer, int level)
{
    const tw_program *p = c->program;
    if (outer == level) return tw_rim_has(p->op, loop, piece) ? 0 : tw_span_len(piece);
    tw_split split = tw_level_split(p->tiled[outer + 1].map, loop, tw_span_len(piece));
    int64_t n = 0;
    for (int64_t i = 0; i < split.count; i++)
        n += steps_outside_rim(c, loop, tw_split_at(&split, piece.lo, i), outer + 1, level);
    return n;
}

/* Points of what is stored that no load has zeroed: those of tiles, as they are loaded, that are nothing but rim. */
static int64_t points_of_rim(const tw_flow_cursor *c, int level)
{
    const tw_op *op = c->program->op;
    const tw_box *box = box_of(c, level);
    int loaded = c->flow->residency[c->flow->innermost[0]][0].grain;
    int64_t outside = 1;
    for (int l = 0; l < op->n_loops; l++)
        outside *= steps_outside_rim(c, l, box->span[l], level, loaded > level ? loaded : level);
    return tw_box_points(op, box) - outside;
}

/* Units of a tile of a pad that are zeroed: before it is filled where a part of it is rim; before it is stored those that nothing was
 * filled into. */
static int64_t rim_units(const tw_flow_cursor *c, int engine, int level, int operand)
{
    const tw_program *p = c->program;
    const tw_machine *machine = p->machine;
    bool stores = operand == tw_op_output(p->op) && machine->engine[engine].memory == c->out_memory;
    if (!machine->arranged || tw_op_output(p->op) != 1) return 0;
    if (stores) return points_of_rim(c, level) * p->elem_units[operand];
    if (!is_arranged(c, engine, operand)) return 0;
    const tw_box *box = box_of(c, level);
    return tw_rim_of(p->op, box) == TW_RIM_SOME ? tw_box_points(p->op, box) * p->elem_units[operand] : 0;
}

/* What a transfer of the current tile into or out of memory m costs by its shape, where the engine asks for it. */
static int64_t price_of(const tw_flow_cursor *c, int engine, int m, int operand, bool partial)
{
    int level = c->flow->residency[m][operand].grain;
    const tw_cost *cost = &c->program->machine->engine[engine].cost;
    if (!tw_cost_by_shape(cost)) return 0;
    int64_t elem = partial ? c->program->partial_units : c->program->elem_units[operand];
    tw_shape shape = is_arranged(c, engine, operand)
                         ? tw_arranged(c->program->op, operand, box_of(c, level), laid_box(c, level), elem)
                         : shape_of(c, m, operand, elem);
    int64_t zeroed = zeroed_units(c, operand) + rim_units(c, engine, level, operand);
    return tw_sat_add(tw_cost_of_transfer(&cost->descriptor, &shape),
                      zeroed > 0 ? tw_cost_of_fill(&cost->descriptor, zeroed) : 0);
}

static void count_footprints(tw_flow_cursor *c, unsigned loops, int from)
{
    for (int o = 0; o < c->program->op->n_operands; o++)
        for (int t = from; t < c->program->n_tiled && (c->program->loops[o] & loops); t++)
            c->elems[t][o] = count_elems(c, t, o);
}

/* Serpentine nests: whether the residencies whose depth the place `moved` lies outside of began with this move, and end with
 * the next one. Only the place that moves changes its index there; those inside it turn around. */
static void renew_residencies(tw_flow_cursor *c, int moved)
{
    const tw_flow *flow = c->flow;
    for (int m = 1; m < c->program->machine->n_memories; m++)
        for (int o = 0; o < c->program->op->n_operands; o++) {
            const tw_residency *s = &flow->residency[m][o];
            if (!s->here || moved >= s->depth) continue;
            c->fresh[m][o] = moved < 0 || (s->key >> moved & 1);
            int next = s->depth - 1;
            while (next >= 0 && (c->at_last >> next & 1)) next--;
            c->ending[m][o] = next < 0 || (s->key >> next & 1);
        }
}

static int64_t sum_over_places(const tw_flow_cursor *c, const int64_t *weight)
{
    int64_t sum = 0;
    for (int p = 0; p < c->flow->n_places; p++) sum += weight[p] * c->index[p];
    return sum;
}

/* Which tile each residency is at, after places of these loops have moved. */
static void find_tiles(tw_flow_cursor *c, unsigned loops)
{
    for (int o = 0; o < c->program->op->n_operands; o++) {
        if (!(c->program->loops[o] & loops)) continue;
        for (int m = 1; m < c->program->machine->n_memories; m++) {
            const tw_residency *s = &c->flow->residency[m][o];
            if (!s->here) continue;
            c->number[m][o] = sum_over_places(c, s->number);
            if (s->n_tiles > 1) c->now[m][o] = &c->where[m][o][sum_over_places(c, s->stride)];
        }
    }
}

static void advance(tw_flow_cursor *c)
{
    const tw_flow *flow = c->flow;
    unsigned loops = 0;
    int level = c->program->n_tiled, p = flow->n_places - 1;
    for (; p >= 0; p--) {
        bool wraps = c->ordinal[p] + 1 >= c->count[p];
        if (c->count[p] > 1 || !wraps) {
            loops |= 1u << flow->place[p].loop;
            level = flow->place[p].level;
        }
        c->ordinal[p] = wraps ? 0 : c->ordinal[p] + 1;
        if (!wraps) break;
        if (flow->serpentine) c->backwards[p] = !c->backwards[p];
    }
    c->moved = p;
    if (p < flow->n_places - 1) c->idle = ~0u;
    c->done = p < 0;
    if (c->done) return;
    for (unsigned left = loops; left; left &= left - 1) cut_loop(c, __builtin_ctz(left), level);
    count_footprints(c, loops, level);
    find_tiles(c, loops);
    if (flow->serpentine) renew_residencies(c, p);
}

void tw_flow_cursor_skip(tw_flow_cursor *c, int place, int64_t n, int64_t steps)
{
    int loop = c->flow->place[place].loop, level = c->flow->place[place].level;
    c->ordinal[place] += n;
    c->step += steps;
    cut_loop(c, loop, level);
    count_footprints(c, 1u << loop, level);
    find_tiles(c, 1u << loop);
}

/* ---- start ---- */

static bool is_simple(const tw_op *op, const tw_operand *operand)
{
    unsigned seen = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        if (axis->n_terms > 1 || tw_axis_is_clipped(op, axis)) return false;
        if (axis->n_terms == 0) continue;
        unsigned bit = 1u << axis->term[0].loop;
        if (axis->term[0].coef != 1 || (seen & bit)) return false;
        seen |= bit;
    }
    return true;
}

static tw_status init_memory(tw_flow_cursor *c, int m, tw_arena *arena)
{
    for (int o = 0; o < c->program->op->n_operands; o++) {
        const tw_residency *s = &c->flow->residency[m][o];
        c->fresh[m][o] = c->ending[m][o] = true;
        if (!s->here) continue;
        TW_ALLOC(arena, c->where[m][o], s->n_tiles);
        for (int64_t i = 0; i < s->n_tiles; i++) c->where[m][o][i] = -1;
        c->now[m][o] = c->where[m][o];
        if (s->pool != o) continue;
        tw_free_ring *ring = &c->ring[m][o];
        ring->n = ring->n_free = c->program->layout.count[m][o];
        TW_ALLOC(arena, ring->slot, ring->n);
        for (int32_t i = 0; i < ring->n; i++) ring->slot[i] = c->program->layout.first[m][o] + i;
        if (s->slides) TW_ALLOC(arena, c->past[m][o].first, ring->n);
        if (s->slides) TW_ALLOC(arena, c->past[m][o].buffer, ring->n);
        if (s->resident && o != tw_op_output(c->program->op))
            for (int64_t i = 0; i < s->n_tiles; i++) c->where[m][o][i] = ring->slot[i];
    }
    return TW_OK;
}

static bool share_pool(const tw_flow *flow, int m, int a, int b)
{
    return flow->residency[m][a].here && flow->residency[m][b].here &&
           flow->residency[m][a].pool == flow->residency[m][b].pool;
}

/* Whether buffers of an input are also those of something that another kind of command gives back: the output, which stores
 * do, or an input that ends in another memory, so that of the two one is given back by executions and one by loads. Loads that run ahead
 * of an execution would then get buffers in another order than they are given back in. */
static bool mixes_givers(const tw_program *p, int m, int operand)
{
    const tw_flow *flow = p->flow;
    for (int o = operand + 1; o < p->op->n_operands; o++) {
        bool same =
            o < tw_op_output(p->op) && (flow->residency[m][o].inner < 0) == (flow->residency[m][operand].inner < 0);
        if (share_pool(flow, m, operand, o) && !same) return true;
    }
    return false;
}

tw_status tw_flow_cursor_init(tw_flow_cursor *c, const tw_program *program, tw_arena *arena)
{
    const tw_op *op = program->op;
    memset(c, 0, offsetof(tw_flow_cursor, waiting)); /* programs of a few commands are run by the million */
    c->program = program;
    c->flow = program->flow;
    c->out_memory = program->flow->innermost[tw_op_output(op)];
    TW_ALLOC(arena, c->holder, program->layout.n_buffers + 1);
    for (int o = 0; o < op->n_operands; o++)
        if (is_simple(op, &op->operand[o])) c->simple |= 1u << o;
    for (int m = 1; m < program->machine->n_memories; m++) TW_TRY(init_memory(c, m, arena));
    for (int e = 0; e < program->machine->n_engines; e++) c->prefetches |= program->machine->engine[e].prefetches;
    for (int m = 1; m < program->machine->n_memories; m++)
        for (int o = 0; o < tw_op_output(op); o++) c->prefetches &= !mixes_givers(program, m, o);
    if (c->prefetches) TW_ALLOC(arena, c->freed, program->layout.n_buffers + 1);
    for (int i = 0; c->prefetches && i < program->layout.n_buffers; i++) c->freed[i] = -1;
    for (int l = 0; l < op->n_loops; l++) cut_loop(c, l, 0);
    for (int o = 0; o < op->n_operands; o++)
        for (int t = 0; t < program->n_tiled; t++) c->elems[t][o] = count_elems(c, t, o);
    c->whole = tw_box_of_op(op);
    for (int o = 0; o < op->n_operands; o++) {
        tw_region region;
        c->whole_elems[o] = tw_region_of(&op->operand[o], &c->whole, &region);
    }
    if (c->flow->serpentine) renew_residencies(c, -1);
    return TW_OK;
}

/* ---- slots ---- */

/* The buffer of the window whose rows the current one reads further, -1: the sweep begins with it. */
static int32_t continued(const tw_flow_cursor *c, int m, int o)
{
    const tw_residency *s = &c->flow->residency[m][o];
    return s->slides && tw_span_len(window_at(c, s, o, -1)) > 0 ? c->window[m][o] : -1;
}

/* Notes the window that has taken `buffer`. Returns the credit of the last window before it that has rows where its own come, -1: none but those
 * that must have been given back for its credit anyway. */
static int32_t note_window(tw_flow_cursor *c, int m, int o, bool begins, int32_t buffer)
{
    tw_past_windows *past = &c->past[m][o];
    const tw_residency *s = &c->flow->residency[m][o];
    int64_t credits = c->ring[m][o].n, rows = c->program->layout.rows[m][o];
    tw_span window = window_at(c, s, o, 0);
    if (begins) past->base = past->end - window.lo;
    past->end = past->base + window.hi;
    past->over = tw_max(past->over, past->n - credits + 1);
    int64_t known = past->over;
    while (past->over < past->n && past->first[past->over % credits] < past->end - rows) past->over++;
    int32_t after = past->over > known ? past->buffer[(past->over - 1) % credits] : -1;
    past->first[past->n % credits] = past->base + window.lo;
    past->buffer[past->n++ % credits] = buffer;
    return after;
}

/* Takes a credit for the current tile, which the engine brings; false when there is none. */
static bool take(tw_flow_cursor *c, int m, int o, int engine)
{
    const tw_residency *s = &c->flow->residency[m][o];
    tw_free_ring *ring = &c->ring[m][s->pool];
    if (s->resident) {
        *c->now[m][o] = ring->slot[c->now[m][o] - c->where[m][o]];
        return true;
    }
    bool anew = s->slides && continued(c, m, o) < 0;
    if (anew ? ring->n_free < ring->n : ring->n_free == 0) {
        c->stuck_memory = m;
        c->stuck_operand = o;
        c->stuck_engine = engine;
        return false;
    }
    int32_t buffer = ring->slot[ring->head];
    c->window[m][o] = buffer;
    ring->head = ring->head + 1 == ring->n ? 0 : ring->head + 1;
    ring->n_free--;
    if (ring->n - ring->n_free > ring->most_out) ring->most_out = ring->n - ring->n_free;
    *c->now[m][o] = buffer;
    c->holder[buffer] = (tw_holder){o, c->number[m][o]};
    return true;
}

static void free_slot(tw_flow_cursor *c, int32_t buffer)
{
    const tw_buffer *b = &c->program->layout.buffer[buffer];
    tw_free_ring *ring = &c->ring[b->memory][b->operand];
    int32_t tail = ring->head + ring->n_free;
    ring->slot[tail >= ring->n ? tail - ring->n : tail] = buffer;
    ring->n_free++;
    if (c->freed) c->freed[buffer] = c->step;
}

static bool give(tw_flow_cursor *c, tw_instr *in, int32_t buffer)
{
    if (in->n_gives == TW_MAX_GIVES) return false;
    in->gives[in->n_gives++] = buffer;
    free_slot(c, buffer);
    return true;
}

/* The current tile leaves the memory with this instruction, or, when there is none, with the next EXEC. */
static void leave(tw_flow_cursor *c, tw_instr *in, int m, int o)
{
    int32_t *at = c->now[m][o];
    if (*at < 0) return;
    if (!in || !give(c, in, *at)) c->owed[c->n_owed++] = *at;
    *at = -1;
}

/* ---- instructions ---- */

static void describe(tw_flow_cursor *c, tw_instr *in, int level)
{
    const tw_op *op = c->program->op;
    for (int l = 0; l < op->n_loops; l++) {
        in->index[l] = 0;
        in->box.span[l] = box_of(c, level)->span[l];
    }
    for (int p = 0; p < c->flow->n_places; p++) {
        int l = c->flow->place[p].loop;
        if (c->flow->place[p].level > level) continue;
        in->index[l] = in->index[l] * c->flow->trips[p] + c->index[p];
    }
    (void)tw_region_of(&op->operand[in->operand], box_of(c, level), &in->region);
}

static tw_instr *emit(tw_flow_cursor *c, tw_opcode op, int engine, int operand, int level, bool together)
{
    tw_instr *in = &c->out[c->n++].instr;
    int64_t count = c->program->machine->engine[engine].count;
    in->op = op;
    in->accumulates = in->nested = in->takes = in->partial = in->drains = false;
    in->together = together;
    in->crosses = false;
    in->engine = (int16_t)engine;
    in->operand = (int16_t)operand;
    in->n_src = 1;
    in->n_gives = 0;
    in->unit = 0;
    if (count > 1) {
        int16_t *turn = &c->turn[engine];
        if (!together) *turn = *turn + 1 >= count + 1 ? 1 : (int16_t)(*turn + 1);
        in->unit = (int16_t)(*turn - 1);
    }
    if (!c->brief) describe(c, in, level);
    return in;
}

static int64_t units_of(const tw_flow_cursor *c, int operand, bool partial, int64_t elems)
{
    return elems * (partial ? c->program->partial_units : c->program->elem_units[operand]);
}

/* Whether what an engine brings waits for all executions: in the first step of a sweep, in which other places than the innermost have moved, and
 * as the first input in it where those before lie in padding. The first step has nothing before it. */
static bool drains(const tw_flow_cursor *c, int engine, bool partial)
{
    if (!c->program->machine->engine[engine].drains || c->step == 0) return false;
    return c->moved < c->flow->n_places - 1 || (!partial && (c->idle >> engine & 1));
}

/* Brings so many elements of the current tile from the next memory outside; false at a deadlock. */
static bool emit_load(tw_flow_cursor *c, int m, int o, int64_t elems, bool together)
{
    const tw_residency *s = &c->flow->residency[m][o];
    bool partial = o == tw_op_output(c->program->op);
    int32_t before = continued(c, m, o);
    if (!take(c, m, o, s->filler)) return false;
    tw_instr *in = emit(c, TW_LOAD, s->filler, o, s->grain, together);
    in->takes = true;
    in->partial = partial;
    in->drains = drains(c, s->filler, partial);
    if (!partial) c->idle &= ~(1u << s->filler);
    in->work = units_of(c, o, partial, elems);
    in->passes = price_of(c, s->filler, m, o, partial);
    in->continues = before;
    in->after = s->slides ? note_window(c, m, o, before < 0, *c->now[m][o]) : -1;
    if (s->asks > 0 && !c->brief) (void)find_moved(c, m, o, &in->region);
    in->link = m * TW_MAX_OPERANDS + o;
    in->tile = c->number[m][o];
    in->src[0] = s->outer == 0 ? -1 : *c->now[s->outer][o];
    in->dst = *c->now[m][o];
    return true;
}

static void emit_store(tw_flow_cursor *c, int m, bool takes)
{
    int o = tw_op_output(c->program->op);
    const tw_residency *s = &c->flow->residency[m][o];
    tw_instr *in = emit(c, TW_STORE, s->drain, o, s->grain, false);
    in->takes = takes;
    in->partial = !is_last(c, c->flow->reductions);
    in->work = units_of(c, o, in->partial, moved_elems(c, m, o));
    in->passes = price_of(c, s->drain, m, o, in->partial);
    in->link = m * TW_MAX_OPERANDS + o;
    in->tile = c->number[m][o];
    in->src[0] = *c->now[m][o];
    in->dst = s->outer == 0 ? -1 : *c->now[s->outer][o];
    leave(c, in, m, o);
}

/* The zeros of the next tile for which the compute engine waits. */
static int64_t waits_of(const tw_flow_cursor *c, bool clash)
{
    const tw_program *p = c->program;
    int64_t sum = 0;
    for (int o = 0; o < tw_op_output(p->op) && p->padded; o++) {
        const tw_residency *s = &c->flow->residency[c->flow->innermost[o]][o];
        if (s->filler < 0 || s->depth < c->flow->n_places) continue; /* it does not change with every step */
        const tw_cost *cost = &p->machine->engine[s->filler].cost;
        int64_t zeroed = zeroed_units(c, o);
        if (zeroed <= 0 || cost->kind != TW_COST_DESCRIPTOR) continue;
        if (zeroed <= (clash ? cost->descriptor.clash_waits : cost->descriptor.fill_waits))
            sum = tw_sat_add(sum, tw_cost_of_fill(&cost->descriptor, zeroed));
    }
    return sum;
}

/* The tile as a kernel sees it; padded loops have their whole length. */
static tw_kernel_nest nest_of(const tw_flow_cursor *c)
{
    const tw_program *p = c->program;
    int64_t len[TW_MAX_LOOPS];
    for (int l = 0; l < p->op->n_loops; l++)
        len[l] = p->padded >> l & 1 ? p->largest[l] : tw_span_len(c->tile[p->n_tiled - 1].span[l]);
    return tw_nest_of(p->op, len, p->elem_units[tw_max(0, tw_op_output(p->op) - 1)]);
}

static int64_t passes_of(const tw_flow_cursor *c)
{
    const tw_program *p = c->program;
    const tw_cost *cost = &p->machine->engine[p->machine->compute].cost;
    int64_t len[TW_MAX_LOOPS];
    if (cost->kind != TW_COST_ARRAY) return 0;
    for (int l = 0; l < p->op->n_loops; l++) len[l] = tw_span_len(c->tile[p->n_tiled - 1].span[l]);
    return tw_spread_passes(&c->flow->over, p->op, &cost->array, len);
}

/* What executing a tile is, which follows from its lengths. */
static void count_execution(tw_flow_cursor *c)
{
    const tw_program *p = c->program;
    const tw_cost *cost = &p->machine->engine[p->machine->compute].cost;
    c->resized = false;
    c->points = tw_box_points(p->op, &c->tile[p->n_tiled - 1]);
    c->passes = c->contended = passes_of(c);
    if (cost->kind != TW_COST_KERNEL) return;
    tw_kernel_nest nest = nest_of(c);
    c->passes = tw_cost_of_kernel(&cost->kernel, &nest, false);
    c->contended = tw_sat_add(tw_cost_of_kernel(&cost->kernel, &nest, true),
                              waits_of(c, tw_banks_clash(&cost->kernel.banks, nest.stride)));
}

/* ---- inputs ---- */

/* The memories into which the step brings a tile of the operand, as bits: each is asked by the one inside it. */
static unsigned asked_for(const tw_flow_cursor *c, int o)
{
    unsigned asked = 0;
    for (int m = c->flow->innermost[o]; m > 0; m = c->flow->residency[m][o].outer) {
        const tw_residency *s = &c->flow->residency[m][o];
        if (s->resident) break;
        bool hands_on = s->passing && s->inner >= 0; /* whatever the memory inside asks for */
        if (!hands_on && !(c->fresh[m][o] && is_first(c, s->running))) break;
        asked |= 1u << m;
    }
    return asked;
}

/* The tile of memory m has been asked for by the memory inside, in the last instruction if that was a transfer. */
static void after_reading(tw_flow_cursor *c, int m, int o, tw_instr *reader)
{
    const tw_flow *flow = c->flow;
    const tw_residency *s = &flow->residency[m][o];
    bool over = s->passing || (!flow->serpentine && is_last(c, s->last));
    if (over && !goes_on(c, m, o)) leave(c, reader, m, o);
}

/* False at a deadlock. */
static bool bring(tw_flow_cursor *c, int m, int o, bool together, bool *moved)
{
    const tw_residency *s = &c->flow->residency[m][o];
    int64_t elems = moved_elems(c, m, o);
    *moved = elems > 0; /* what lies wholly in padding, or is there, is not moved */
    if (*moved && !emit_load(c, m, o, elems, together)) return false;
    if (s->outer > 0) after_reading(c, s->outer, o, *moved ? &c->out[c->n - 1].instr : NULL);
    return true;
}

static bool bring_inputs(tw_flow_cursor *c)
{
    int n_inputs = tw_op_output(c->program->op), n_memories = c->program->machine->n_memories;
    unsigned asked[TW_MAX_OPERANDS];
    const bool *joins = c->flow->joins;
    bool moved;
    for (int o = 0; o < n_inputs; o++) asked[o] = asked_for(c, o);
    for (int from = 1, to; from < n_memories; from = to + 1) {
        for (to = from; to < n_memories && !joins[to];) to++;
        for (int o = 0; o < n_inputs; o++)
            for (int m = from; m < to; m++)
                if ((asked[o] >> m & 1) && !bring(c, m, o, false, &moved)) return false;
        bool together = false;
        for (int o = 0; o < n_inputs && to < n_memories; o++) {
            if (!(asked[o] >> to & 1)) continue;
            if (!bring(c, to, o, together, &moved)) return false;
            together |= moved;
        }
    }
    return true;
}

/* ---- the output ---- */

static bool begins(const tw_flow_cursor *c, int m)
{
    int o = tw_op_output(c->program->op);
    return c->fresh[m][o] && is_first(c, c->flow->residency[m][o].running);
}

static bool ends(const tw_flow_cursor *c, int m)
{
    int o = tw_op_output(c->program->op);
    const tw_residency *s = &c->flow->residency[m][o];
    return c->ending[m][o] && !s->resident && is_last(c, s->running);
}

/* Partial sums come back into memory m from the next memory outside that holds them. */
static bool bring_back(tw_flow_cursor *c, int m)
{
    int o = tw_op_output(c->program->op), outer = c->flow->residency[m][o].outer;
    const tw_residency *s = &c->flow->residency[outer][o];
    if (outer > 0 && (s->passing || begins(c, outer)) && !bring_back(c, outer)) return false;
    if (!emit_load(c, m, o, moved_elems(c, m, o), false)) return false;
    if (outer > 0 && s->passing) leave(c, &c->out[c->n - 1].instr, outer, o);
    return true;
}

/* What memory m holds moves on outwards: through every memory whose residency ends with it. */
static bool send_out(tw_flow_cursor *c, int m)
{
    int o = tw_op_output(c->program->op), outer = c->flow->residency[m][o].outer;
    bool takes = outer > 0 && *c->now[outer][o] < 0;
    if (takes && !take(c, outer, o, c->flow->residency[m][o].drain)) return false;
    emit_store(c, m, takes);
    if (outer == 0) return true;
    const tw_residency *next = &c->flow->residency[outer][o];
    return (!next->passing && !ends(c, outer)) || send_out(c, outer);
}

/* ---- steps ---- */

static bool emit_exec(tw_flow_cursor *c)
{
    const tw_program *p = c->program;
    int output = tw_op_output(p->op), memory = c->out_memory;
    const int *innermost = c->flow->innermost;
    /* The memory may hold a larger tile of the output than one execution makes: each of its parts starts afresh. */
    bool begin = begins(c, memory), afresh = is_first(c, c->flow->reductions);
    if (begin && !(afresh ? take(c, memory, output, p->machine->compute) : bring_back(c, memory))) return false;
    tw_instr *in = emit(c, TW_EXEC, p->machine->compute, output, p->n_tiled - 1, false);
    in->takes = begin && afresh;
    in->accumulates = !afresh;
    if (c->resized) count_execution(c);
    in->work = c->points;
    in->passes = c->passes;
    in->contended = c->contended;
    in->dst = *c->now[memory][output];
    in->n_src = (int16_t)output;
    for (int o = 0; o < output; o++) in->src[o] = *c->now[innermost[o]][o];
    for (int o = 0; o < output; o++) {
        const tw_residency *s = &c->flow->residency[innermost[o]][o];
        bool over = c->ending[innermost[o]][o] && !s->resident && is_last(c, s->last);
        if (over && !goes_on(c, innermost[o], o)) leave(c, in, innermost[o], o);
    }
    if (c->flow->serpentine)
        for (int o = 0; o < output; o++)
            for (int m = c->flow->residency[innermost[o]][o].outer; m > 0; m = c->flow->residency[m][o].outer) {
                const tw_residency *s = &c->flow->residency[m][o];
                if (!s->passing && c->ending[m][o] && is_last(c, s->running)) leave(c, in, m, o);
            }
    while (c->n_owed > 0 && give(c, in, c->owed[c->n_owed - 1])) c->n_owed--;
    return !ends(c, memory) || send_out(c, memory);
}

/* Whether the load needs a buffer that the last step gave back. */
static bool was_freed(const tw_flow_cursor *c, const tw_instr *in)
{
    bool circular = c->program->layout.buffer[in->dst].circular;
    return c->freed[in->dst] == c->step - 1 || (circular && in->after >= 0 && c->freed[in->after] == c->step - 1);
}

/* Whether the loads of this step could have been sent before the last one was over. */
static bool run_ahead(const tw_flow_cursor *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->out[i].instr.drains || was_freed(c, &c->out[i].instr)) return false;
    return true;
}

/* The execution of the last step goes behind the loads of this one, or before them. */
static void send_waiting(tw_flow_cursor *c)
{
    size_t n = (size_t)c->n_waiting;
    if (!run_ahead(c)) {
        memmove(c->out + n, c->out, (size_t)c->n * sizeof *c->out);
        memcpy(c->out, c->waiting, n * sizeof *c->out);
    } else {
        memcpy(c->out + c->n, c->waiting, n * sizeof *c->out);
    }
    c->n += c->n_waiting;
    c->n_waiting = 0;
}

/* All but the loads of a step wait for those of the next, if there is one. */
static void keep_waiting(tw_flow_cursor *c, int n_kept)
{
    bool over = (~c->at_last & (((tw_places)1 << c->flow->n_places) - 1)) == 0;
    if (over) return;
    c->n_waiting = c->n - n_kept;
    c->n = n_kept;
    memcpy(c->waiting, c->out + n_kept, (size_t)c->n_waiting * sizeof *c->out);
}

/* The instructions of one step, which may all wait; false at a deadlock. */
static bool run_step(tw_flow_cursor *c)
{
    if (!bring_inputs(c)) return false;
    if (c->n_waiting > 0) send_waiting(c);
    int n_loads = c->n;
    if (!emit_exec(c)) return false;
    if (c->prefetches) keep_waiting(c, n_loads);
    c->step++;
    advance(c);
    return true;
}

int tw_flow_cursor_next(tw_flow_cursor *c, tw_event out[TW_FLOW_STEP_MAX])
{
    c->n = 0;
    c->out = out;
    while (!c->done && c->n == 0)
        if (!run_step(c)) return -1;
    return c->n;
}
