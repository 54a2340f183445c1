/* src/program/nestcursor.c - the commands of a group, step by step: see nest.h, and docs/design/groups.md for the rules.
 *
 * A step is known together with the next one, so that whoever reads a hold for the last time can say so. Buffers that are
 * given back are free from the next step on; those that are held for a sub-step, from the next sub-step on. So there always is
 * one: a hold takes at most one per step. */
#include "program/lanes.h"
#include "program/nest.h"
#include "program/walk.h"
#include "tile/box.h"
#include "tile/shape.h"

#include <string.h>

typedef struct slot_ring { /* buffers of a hold that are free, the longest free first */
    int32_t n, head, n_free;
    int32_t *slot;
} slot_ring;

typedef struct holding { /* a hold in the present run */
    int32_t buffer;      /* -1: none                                    */
    bool filled;         /* its content is there                        */
    bool over;           /* nobody reads it any more in this run        */
    int reader;          /* the last command of this step that reads it, -1: none */
    int32_t before;      /* of a window that slides: the buffer of the one that it goes on from, -1: none */
    tw_region region;    /* of a hold by sub-steps                      */
} holding;

struct tw_nest_cursor {
    const tw_joint *joint;
    const tw_nest *nest;
    tw_arena *arena;
    tw_nest_walk now, next, later;
    slot_ring *ring;
    holding *held;
    bool ran[TW_MAX_GROUP_OPS]; /* the operator has made what the present run of its output holds */
    int16_t turn[TW_MAX_PLATFORM_ENGINES];
    int n, room; /* commands of the step */
    tw_event *out;
    int n_late, late_room; /* stores of the last step that wait for the loads of this one */
    tw_event *late;
    int last_exec; /* the last execution of the step */
    bool crowded;  /* more holds end with one command than it can give back */
    bool skipped;  /* nobody read what is new in a window that slides       */
    bool wrong;    /* a hold has no buffer to take, or none to give back    */
};

static tw_status init(tw_nest_cursor *c)
{
    const tw_nest *nest = c->nest;
    TW_ALLOC(c->arena, c->ring, nest->n_holds);
    TW_ALLOC(c->arena, c->held, nest->n_holds);
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        slot_ring *ring = &c->ring[s];
        ring->n = ring->n_free = (int32_t)hold->slots;
        TW_ALLOC(c->arena, ring->slot, ring->n);
        for (int32_t i = 0; i < ring->n; i++) ring->slot[i] = hold->first + i * hold->lanes;
        c->held[s] = (holding){.buffer = -1, .reader = -1, .before = -1};
        if (hold->from == TW_FROM_GROUP)
            c->held[s] = (holding){.buffer = hold->first, .reader = -1, .before = -1, .filled = true};
    }
    TW_TRY(tw_nest_walk_init(&c->now, nest, c->arena));
    TW_TRY(tw_nest_walk_init(&c->next, nest, c->arena));
    TW_TRY(tw_nest_walk_init(&c->later, nest, c->arena));
    tw_nest_walk_next(&c->next);
    return TW_OK;
}

tw_nest_cursor *tw_nest_cursor_new(const tw_joint *joint, int group, tw_arena *arena)
{
    tw_nest_cursor *c = TW_NEW(arena, tw_nest_cursor, 1);
    if (!c) return NULL;
    *c = (tw_nest_cursor){.joint = joint, .nest = &joint->nest[group], .arena = arena};
    return init(c) == TW_OK ? c : NULL;
}

/* ---- buffers ---- */

static int32_t take(tw_nest_cursor *c, int s, tw_instr *in)
{
    slot_ring *ring = &c->ring[s];
    c->wrong |= ring->n_free <= 0;
    if (c->wrong) return -1;
    int32_t buffer = ring->slot[ring->head];
    if (c->nest->hold[s].slides) {
        in->continues = c->now.slide[s].continues ? c->held[s].before : -1;
        in->after = in->continues < 0 ? TW_AFTER_ALL : -1;
    }
    ring->head = ring->head + 1 == ring->n ? 0 : ring->head + 1;
    ring->n_free--;
    c->held[s].buffer = buffer;
    return buffer;
}

static void give(tw_nest_cursor *c, int s, tw_instr *in)
{
    slot_ring *ring = &c->ring[s];
    int32_t tail = ring->head + ring->n_free;
    c->wrong |= in->n_gives == TW_MAX_GIVES || c->held[s].buffer < 0 || ring->n_free >= tw_max(1, ring->n);
    if (c->wrong) return;
    in->gives[in->n_gives++] = c->held[s].buffer;
    if (ring->n > 0) ring->slot[tail >= ring->n ? tail - ring->n : tail] = c->held[s].buffer;
    ring->n_free++;
    c->held[s] = (holding){.buffer = -1, .reader = -1, .before = c->held[s].buffer};
}

/* The same by the command `from` of this step or, where that has given back enough, one behind it; false: none can. */
static bool give_from(tw_nest_cursor *c, int s, int from)
{
    while (from < c->n && c->out[from].instr.n_gives == TW_MAX_GIVES) from++;
    c->crowded |= from == c->n;
    if (!c->crowded) give(c, s, &c->out[from].instr);
    return !c->crowded;
}

/* ---- commands ---- */

static bool widen(tw_nest_cursor *c, tw_event **list, int *room, int n)
{
    if (n < *room) return true;
    int wide = *room ? 2 * *room : 8;
    tw_event *more = TW_NEW(c->arena, tw_event, wide);
    if (!more) return false;
    if (*room) memcpy(more, *list, (size_t)n * sizeof *more);
    *list = more;
    *room = wide;
    return true;
}

static int16_t next_unit(tw_nest_cursor *c, int engine)
{
    int64_t count = c->nest->platform->engine[engine].is.count;
    int16_t unit = c->turn[engine];
    c->turn[engine] = unit + 1 >= count ? 0 : (int16_t)(unit + 1);
    return unit;
}

/* A new command at the end of the step, NULL when out of memory. */
static tw_instr *add(tw_nest_cursor *c, tw_opcode op, int engine, int which, int operand)
{
    if (!widen(c, &c->out, &c->room, c->n)) return NULL;
    tw_event *event = &c->out[c->n++];
    *event = (tw_event){.instr = {.op = op,
                                  .engine = (int16_t)engine,
                                  .operand = (int16_t)operand,
                                  .unit = next_unit(c, engine),
                                  .group = (int16_t)c->nest->group,
                                  .which = (int16_t)which,
                                  .copies = 1,
                                  .dst = -1,
                                  .n_src = 1}};
    for (int p = 0; p < c->nest->n_places; p++) {
        int64_t *index = &event->instr.index[c->nest->map->cut[p].loop];
        *index = *index * c->now.count[p] + c->now.index[p];
    }
    return &event->instr;
}

/* The box of what the hold holds, as its operator sees it. */
static const tw_box *box_of(const tw_nest_cursor *c, int s)
{
    return tw_nest_box(&c->now, c->nest->hold[s].which, c->nest->hold[s].depth);
}

/* What a transfer of a part of a hold is, in units and at both ends. */
static tw_lane_work work_of(const tw_nest_cursor *c, int s, int engine, const tw_box *box, const tw_region *region)
{
    const tw_nest_hold *hold = &c->nest->hold[s];
    const tw_nest_op *op = &c->nest->op[hold->which];
    const tw_engine *mover = &c->nest->platform->engine[engine].is;
    const tw_operand *operand = &op->op->operand[hold->operand];
    tw_lane_work work = {0};
    if (hold->per) {
        tw_lane_question q = {.op = op,
                              .operand = hold->operand,
                              .per = hold->per,
                              .box = box,
                              .elem = hold->moved_units,
                              .engine = mover,
                              .inwards = hold->inwards};
        bool fits = tw_lanes_work(&q, &work);
        assert(fits); /* buffers are below 2^61 units, and there are at most 2^18 */
        (void)fits;
        return work;
    }
    work.units = work.read = work.written = hold->moved_units;
    for (int a = 0; a < operand->n_axes; a++) work.units *= tw_span_len(region->axis[a]);
    work.read = work.written = work.units;
    if (tw_cost_by_shape(&mover->cost)) {
        tw_shape shape = tw_region_shape(operand, region, NULL, hold->moved_units);
        work.price = tw_cost_of_transfer(&mover->cost.descriptor, &shape);
    }
    return work;
}

static void describe_transfer(const tw_nest_cursor *c, tw_instr *in, const tw_nest_hold *hold,
                              const tw_lane_work *work)
{
    in->copies = (int16_t)hold->lanes;
    in->link = hold->number;
    in->tile = c->nest->model->tensor[hold->tensor].root;
    in->work = work->units;
    in->passes = work->price;
    in->reads = work->read;
    in->writes = work->written;
}

static void read_here(tw_nest_cursor *c, int s) { c->held[s].reader = c->n - 1; }

/* ---- inputs ---- */

/* The present content of the hold: elements and, for a sub-step, its region. */
static int64_t content_of(const tw_nest_cursor *c, int s, const tw_box *sub, tw_region *region)
{
    if (c->nest->hold[s].by_sub) return tw_nest_sub_region(c->nest, s, sub, region);
    return tw_nest_asked(&c->now, s, region);
}

/* The innermost place with which what the hold holds may move; -1: none. */
static int moved_by(const tw_nest_cursor *c, const tw_nest_hold *hold)
{
    int p = hold->depth - 1;
    while (p >= 0 && !(hold->loops >> c->nest->map->cut[p].loop & 1)) p--;
    return p;
}

/* Whether the hold holds something else at step `then` than now: its run is over before. */
static bool differs(const tw_nest_cursor *c, const tw_nest_walk *then, int s)
{
    const tw_nest_hold *hold = &c->nest->hold[s];
    int n_axes = c->nest->model->tensor[hold->tensor].n_axes;
    if (hold->slides) return then->done || then->slide[s].number != c->now.slide[s].number;
    if (then->done || then->elems[s] != c->now.elems[s] ||
        !tw_same_region(&then->region[s], &c->now.region[s], n_axes))
        return true;
    return hold->per && hold->inwards && /* what is made is added to, in whatever lanes */
           !tw_lanes_same(&c->nest->op[hold->which], hold->operand, hold->per,
                          tw_nest_box(&c->now, hold->which, hold->depth),
                          tw_nest_box(then, hold->which, hold->depth));
}

/* Whether what stay s has brought was the last that it needs of the present run of the hold that it comes from: that ends before s holds something
 * else. Mostly the next step that may move either tells; where others widen what is held, so that it stays as it is, one further on. */
static bool was_last(tw_nest_cursor *c, int s)
{
    const tw_nest_hold *hold = &c->nest->hold[s];
    int place = (int)tw_max(moved_by(c, hold), moved_by(c, &c->nest->hold[hold->source]));
    if (place < 0) return true;
    tw_nest_walk_copy(&c->later, &c->now);
    do {
        tw_nest_walk_after(&c->later, place);
        if (differs(c, &c->later, hold->source)) return true;
    } while (!differs(c, &c->later, s));
    return false;
}

/* Whether stay s alone reads the one that it comes from. */
static bool reads_alone(const tw_nest *nest, int s)
{
    int n = 0;
    for (int i = 0; i < nest->n_holds; i++)
        n += nest->hold[i].from == TW_FROM_HOLD && nest->hold[i].source == nest->hold[s].source;
    return n == 1 && !nest->hold[nest->hold[s].source].direct;
}

/* Sees to it that the hold, and those that it comes from, hold what the sub-step with the box `sub` needs. */
static bool ensure(tw_nest_cursor *c, int s, const tw_box *sub)
{
    const tw_nest_hold *hold = &c->nest->hold[s];
    if (c->held[s].filled || hold->from == TW_FROM_OP || hold->from == TW_FROM_GROUP) return true;
    if (hold->from == TW_FROM_HOLD && !ensure(c, hold->source, sub)) return false;
    tw_region region;
    int64_t elems = content_of(c, s, sub, &region);
    if (elems == 0 || !hold->inwards) return true;
    c->held[s].region = region;
    tw_lane_work work = work_of(c, s, hold->engine, hold->by_sub ? sub : box_of(c, s), &region);
    tw_instr *in = add(c, TW_LOAD, hold->engine, hold->which, hold->operand);
    if (!in) return false;
    describe_transfer(c, in, hold, &work);
    in->region = region;
    in->box = hold->by_sub ? *sub : *box_of(c, s);
    in->takes = true;
    in->src[0] = hold->from == TW_FROM_HOLD ? c->held[hold->source].buffer : -1;
    in->crosses = hold->crosses && in->src[0] < 0;
    in->dst = take(c, s, in);
    c->held[s].filled = true;
    if (hold->from != TW_FROM_HOLD) return true;
    read_here(c, hold->source);
    if (!hold->by_sub && !c->nest->any_slides && reads_alone(c->nest, s) && was_last(c, s))
        c->held[hold->source].over = true;
    return true;
}

/* Whether what is held for a sub-step is of use to the next one of the same step. */
static bool goes_on(const tw_nest_cursor *c, int s, int k, int64_t sub, const tw_box *box)
{
    const tw_nest_op *op = &c->nest->op[k];
    tw_region region;
    if (sub + 1 >= op->n_subs) return false;
    tw_box next = tw_nest_sub_box(op, box, sub + 1), now = tw_nest_sub_box(op, box, sub);
    const tw_nest_hold *hold = &c->nest->hold[s];
    if (hold->per && !tw_lanes_same(op, hold->operand, hold->per, &now, &next)) return false;
    int64_t elems = tw_nest_sub_region(c->nest, s, &next, &region);
    return elems > 0 &&
           tw_same_region(&region, &c->held[s].region, c->nest->model->tensor[c->nest->hold[s].tensor].n_axes);
}

/* ---- executions ---- */

static bool reduces_on(const tw_nest_cursor *c)
{
    const tw_op *driver = c->nest->op[c->nest->n_ops - 1].op;
    for (int p = 0; p < c->nest->n_places; p++)
        if (driver->loop[c->nest->map->cut[p].loop].reduces && c->now.index[p] > 0) return true;
    return false;
}

static void price_exec(const tw_nest_op *op, const tw_box *box, tw_instr *in)
{
    const tw_cost *cost = &op->machine->engine[op->machine->compute].cost;
    in->work = tw_box_points(op->op, box);
    if (cost->kind == TW_COST_ARRAY) in->passes = in->contended = tw_lane_passes(op, box);
    if (cost->kind != TW_COST_KERNEL) return;
    int64_t len[TW_MAX_LOOPS];
    for (int l = 0; l < op->op->n_loops; l++) len[l] = tw_span_len(box->span[l]);
    tw_kernel_nest nest = tw_nest_of(op->op, len, op->elem_units[tw_max(0, tw_op_output(op->op) - 1)]);
    in->passes = tw_cost_of_kernel(&cost->kernel, &nest, false);
    in->contended = tw_cost_of_kernel(&cost->kernel, &nest, true);
}

/* Gives back what a sub-step held for itself: by its last reader in it, which stands behind command `first`, or by the
 * execution. */
static bool end_sub(tw_nest_cursor *c, int k, int64_t sub, const tw_box *whole, int first)
{
    const tw_nest *nest = c->nest;
    for (int o = 0; o < tw_op_output(nest->op[k].op); o++)
        for (int s = nest->op[k].input[o]; s >= 0 && nest->hold[s].by_sub;
             s = nest->hold[s].from == TW_FROM_HOLD ? nest->hold[s].source : -1) {
            if (!c->held[s].filled || goes_on(c, s, k, sub, whole)) continue;
            if (!give_from(c, s, c->held[s].reader >= first ? c->held[s].reader : c->n - 1)) return false;
        }
    return true;
}

/* The inputs of which the box meets more than padding. */
static unsigned inputs_of(const tw_nest_op *op, const tw_box *box)
{
    unsigned inputs = 0;
    tw_region ignored;
    for (int o = 0; o < tw_op_output(op->op); o++)
        if (tw_region_of(&op->op->operand[o], box, &ignored) > 0) inputs |= 1u << o;
    return inputs;
}

/* First what no other group makes, so that it need not wait for that one. */
static bool ensure_inputs(tw_nest_cursor *c, const tw_nest_op *op, unsigned wanted, const tw_box *box)
{
    for (int crosses = 0; crosses < 2; crosses++)
        for (int o = 0; o < tw_op_output(op->op); o++) {
            if (!(wanted >> o & 1) || c->nest->hold[op->input[o]].comes != (crosses == 1)) continue;
            if (!ensure(c, op->input[o], box)) return false;
        }
    return true;
}

static bool is_running(const tw_nest *nest, int k) { return nest->running.runs >> k & 1; }

/* What operator k has added up so far is multiplied, as its references changed in this step: a point for each element. */
static bool rescale(tw_nest_cursor *c, int k, const tw_box *tile)
{
    const tw_nest_op *op = &c->nest->op[k];
    tw_box box = *tile;
    for (int l = 0; l < op->op->n_loops; l++)
        if (op->op->loop[l].reduces) box.span[l].hi = box.span[l].lo + 1;
    tw_instr *in = add(c, TW_EXEC, op->engine, k, tw_op_output(op->op));
    if (!in) return false;
    in->box = box;
    (void)tw_region_of(&op->op->operand[tw_op_output(op->op)], &box, &in->region);
    price_exec(op, &box, in);
    in->rescales = in->accumulates = true;
    in->dst = c->held[op->made].buffer;
    in->n_src = 0;
    for (unsigned left = c->nest->running.by[k]; left; left &= left - 1) {
        int s = c->nest->op[__builtin_ctz(left)].made;
        in->src[in->n_src++] = c->held[s].buffer;
        read_here(c, s);
    }
    return true;
}

static bool execute(tw_nest_cursor *c, int k, int64_t sub, const tw_box *whole)
{
    const tw_nest_op *op = &c->nest->op[k];
    bool driver = k == c->nest->n_ops - 1;
    int first = c->n;
    tw_box piece = tw_nest_sub_box(op, whole, sub), box = piece;
    unsigned wanted = inputs_of(op, &piece), all = (1u << tw_op_output(op->op)) - 1;
    if (wanted != all && tw_nest_fills(c->nest, k, &piece, &box)) wanted = inputs_of(op, &box);
    if (!ensure_inputs(c, op, wanted, &piece)) return false;
    bool goes_on = (driver || is_running(c->nest, k)) && reduces_on(c);
    if (goes_on && c->nest->running.by[k] && !rescale(c, k, &piece)) return false;
    tw_instr *in = add(c, TW_EXEC, op->engine, k, tw_op_output(op->op));
    if (!in) return false;
    c->last_exec = c->n - 1;
    in->box = box;
    (void)tw_region_of(&op->op->operand[tw_op_output(op->op)], &box, &in->region);
    price_exec(op, &box, in);
    in->accumulates = sub > 0 || goes_on;
    in->takes = c->held[op->made].buffer < 0;
    in->dst = in->takes ? take(c, op->made, in) : c->held[op->made].buffer;
    c->held[op->made].filled = true;
    in->n_src = (int16_t)tw_op_output(op->op);
    for (int o = 0; o < in->n_src; o++) {
        int s = op->input[o];
        in->src[o] = wanted >> o & 1 ? c->held[s].buffer : -1;
        if (wanted >> o & 1) read_here(c, s);
        if (wanted >> o & 1) in->copies = (int16_t)tw_max(in->copies, c->nest->hold[s].lanes);
    }
    return end_sub(c, k, sub, whole, first);
}

/* ---- what was made ---- */

/* Whether nobody needs what it holds after this step. */
static bool ends(const tw_nest_cursor *c, int s) { return c->held[s].over || differs(c, &c->next, s); }

/* The content of hold s moves on: into hold `to`, or to the tensor (-1). */
static bool send(tw_nest_cursor *c, int s, int to)
{
    const tw_nest_hold *hold = &c->nest->hold[s];
    int engine = to < 0 ? hold->drain : c->nest->hold[to].engine;
    tw_region region = c->now.region[s];
    bool inside = hold->maker < c->nest->n_ops - 1;
    if (inside && c->nest->any_slides && tw_nest_asked(&c->now, to < 0 ? s : to, &region) == 0) return true;
    tw_lane_work work = work_of(c, s, engine, box_of(c, s), &region);
    tw_instr *in = add(c, TW_STORE, engine, hold->which, hold->operand);
    if (!in) return false;
    describe_transfer(c, in, hold, &work);
    in->region = region;
    in->box = *box_of(c, s);
    in->src[0] = c->held[s].buffer;
    in->crosses = hold->crosses && to < 0;
    read_here(c, s);
    if (to < 0) return true;
    in->takes = c->held[to].buffer < 0;
    in->dst = in->takes ? take(c, to, in) : c->held[to].buffer;
    c->held[to].filled = true;
    return true;
}

/* The hold that takes what s holds, outwards; -1: none does. */
static int outside_of(const tw_nest *nest, int s)
{
    for (int i = s + 1; i < nest->n_holds; i++)
        if (nest->hold[i].from == TW_FROM_HOLD && nest->hold[i].source == s && !nest->hold[i].inwards) return i;
    return -1;
}

static bool hand_over(tw_nest_cursor *c, int k)
{
    const tw_nest *nest = c->nest;
    bool driver = k == nest->n_ops - 1;
    for (int s = nest->op[k].made, to; s >= 0; s = to) {
        to = outside_of(nest, s);
        if (driver ? !ends(c, s) : to < 0 && nest->hold[s].drain < 0) return true;
        if (to < 0 && nest->hold[s].drain < 0) return true; /* it stays here */
        if (!send(c, s, to)) return false;
        if (!driver && to >= 0 && !nest->any_slides && reads_alone(nest, to)) c->held[s].over = true;
    }
    return true;
}

/* ---- steps ---- */

/* Whether what the operator makes is wanted in this step, and not there yet. */
static bool runs(const tw_nest_cursor *c, int k)
{
    tw_region ignored;
    return tw_nest_asked(&c->now, c->nest->op[k].made, &ignored) > 0 &&
           (k == c->nest->n_ops - 1 || !c->ran[k] || is_running(c->nest, k));
}

/* What nobody needs after this step is given back by its last reader, or by the last execution. */
static bool give_back(tw_nest_cursor *c)
{
    for (int s = 0; s < c->nest->n_holds; s++) {
        c->skipped |= c->nest->hold[s].slides && c->now.slide[s].elems > 0 && !c->held[s].filled && ends(c, s);
        int reader = c->held[s].reader >= 0 ? c->held[s].reader : c->last_exec;
        bool over = c->held[s].buffer >= 0 && !c->nest->hold[s].resident && ends(c, s);
        if (over && !give_from(c, s, reader)) return false;
        c->held[s].reader = -1;
    }
    return true;
}

static int count_loads(const tw_nest_cursor *c)
{
    int n = 0;
    while (n < c->n && c->out[n].instr.op == TW_LOAD) n++;
    return n;
}

static bool needs_late(const tw_nest_cursor *c, int n_loads)
{
    for (int i = 0; i < n_loads; i++)
        for (int k = 0; k < c->n_late; k++)
            for (int g = 0; g < c->late[k].instr.n_gives; g++)
                if (c->late[k].instr.gives[g] == c->out[i].instr.dst) return true;
    return false;
}

/* The stores that waited go behind the first loads of this step, or before them. */
static bool send_late(tw_nest_cursor *c)
{
    int n_loads = count_loads(c), at = needs_late(c, n_loads) ? 0 : n_loads;
    int n = c->n;
    for (int k = 0; k < c->n_late; k++)
        if (!widen(c, &c->out, &c->room, c->n++)) return false;
    memmove(c->out + at + c->n_late, c->out + at, (size_t)(n - at) * sizeof *c->out);
    memcpy(c->out + at, c->late, (size_t)c->n_late * sizeof *c->out);
    c->last_exec += c->n_late;
    c->n_late = 0;
    return true;
}

/* The stores at the end of the step wait for the loads of the next. */
static bool keep_late(tw_nest_cursor *c)
{
    int first = c->last_exec + 1;
    for (int i = first; i < c->n; i++) {
        if (!widen(c, &c->late, &c->late_room, c->n_late)) return false;
        c->late[c->n_late++] = c->out[i];
    }
    c->n = first;
    return true;
}

static bool run_step(tw_nest_cursor *c)
{
    const tw_nest *nest = c->nest;
    c->n = 0;
    c->last_exec = -1;
    for (int k = 0; k < nest->n_ops; k++) {
        if (!runs(c, k)) continue;
        const tw_box *box = tw_nest_box(&c->now, k, nest->hold[nest->op[k].made].depth);
        if (k == nest->n_ops - 1) box = tw_nest_box(&c->now, k, nest->n_places);
        for (int64_t sub = 0; sub < nest->op[k].n_subs; sub++)
            if (!execute(c, k, sub, box)) return false;
        if (!hand_over(c, k)) return false;
        c->ran[k] = true;
    }
    for (int k = 0; k < nest->n_ops; k++) c->ran[k] &= !differs(c, &c->next, nest->op[k].made);
    if (!give_back(c) || c->skipped) return false;
    if (c->n_late > 0 && !send_late(c)) return false;
    if (nest->prefetches && !c->next.done && !keep_late(c)) return false;
    tw_nest_walk_copy(&c->now, &c->next);
    tw_nest_walk_next(&c->next);
    return true;
}

int tw_nest_cursor_next(tw_nest_cursor *c, tw_event **out)
{
    c->n = 0;
    while (!c->now.done && c->n == 0)
        if (!run_step(c) || c->wrong) return c->wrong ? -4 : c->crowded ? -2 : c->skipped ? -3 : -1;
    *out = c->out;
    return c->n;
}
