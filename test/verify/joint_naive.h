/* test/verify/joint_naive.h - a naive writer of programs of groups: every command when the one before it has ended.
 *
 * It follows docs/design/groups.md word by word and remembers nothing: what a hold holds in a step is worked out from the
 * whole loops each time it is asked for, by visiting every point. */
#ifndef TW_TEST_VERIFY_JOINT_NAIVE_H
#define TW_TEST_VERIFY_JOINT_NAIVE_H
#include "tw_test.h"
#include "verify/joint.h"

#include <string.h>

enum {
    NAIVE_OPS = 3,
    NAIVE_TENSORS = 8,
    NAIVE_GROUPS = 3,
    NAIVE_HOLDS = 24,
    NAIVE_BUFFERS = 512,
    NAIVE_COMMANDS = 4096
};

typedef struct naive_part {
    bool any;
    tw_region region;
} naive_part;

typedef struct naive_hold { /* chains: from[0] outermost */
    int tensor, memory, depth, slots, lanes;
    unsigned per;
    int parent; /* hold that it is filled from, -1: dram                               */
    int outer;  /* hold that it is stored to, -1: dram, -2: none                       */
    int maker;  /* operator of the group that makes the tensor, -1                      */
    bool made, outward, sums, summed;
    int sub;             /* operator per whose sub-steps it is held, -1                          */
    int first;           /* buffer */
    int64_t most;        /* units of a lane */
    int64_t held;        /* by all lanes together, as the tensor's type counts it */
    int n_runs, used_by; /* runs so far; the last command that used the present one, -1: there is none */
} naive_hold;

typedef struct naive {
    tw_tensor tensor[NAIVE_TENSORS];
    tw_op op[NAIVE_OPS];
    tw_model model;
    tw_platform platform;
    tw_platform_core core[2];
    tw_platform_memory memory[5];
    tw_platform_engine engine[8];
    tw_platform_view view[2];
    tw_group_map group[NAIVE_GROUPS];
    tw_group_op group_op[NAIVE_GROUPS][2];
    tw_group_map said[NAIVE_GROUPS]; /* the same where what follows by itself is not said */
    tw_group_op said_op[NAIVE_GROUPS][2];
    tw_nest_cut cut[NAIVE_GROUPS][4];
    tw_group_level level[NAIVE_GROUPS][4];
    tw_hold hold_map[NAIVE_GROUPS][16];
    int n_buffers;
    tw_buffer buffer[NAIVE_BUFFERS];
    tw_joint_input in;
    tw_port port;
    tw_claims claims;
    tw_engine_use use[8];
    tw_memory_use memory_use[5];
    int n;
    int64_t read_units[NAIVE_COMMANDS], write_units[NAIVE_COMMANDS];
    tw_event event[NAIVE_COMMANDS];
    tw_box
        piece[NAIVE_COMMANDS]; /* of executions: all of it, also where padding leaves one point of each reduction */
    tw_rowset row[NAIVE_COMMANDS];
    int way[NAIVE_COMMANDS]; /* of the port */
    int64_t now;
    /* of the group that is being written */
    const tw_group_map *g;
    int n_holds;
    naive_hold hold[NAIVE_HOLDS];
    int path_end[2][TW_MAX_OPERANDS];
    int64_t step, n_steps;
    bool as_stores; /* what is made inside moves inwards as a store of its maker, not as a load of its reader */
} naive;

/* ---- boxes ---- */

static inline const tw_op *naive_op(const naive *v, int which) { return &v->op[v->g->op[which].op]; }

static inline int64_t naive_tiles(const tw_nest_cut *cut, int64_t len)
{
    if (cut->size) return (len + cut->size - 1) / cut->size;
    if (cut->rule == TW_BALANCED) return cut->count < len ? cut->count : len;
    int64_t count = cut->count < len ? cut->count : len, each = (len + count - 1) / count;
    return (len + each - 1) / each;
}

static inline tw_span naive_tile(const tw_nest_cut *cut, tw_span s, int64_t i)
{
    int64_t len = s.hi - s.lo, n = naive_tiles(cut, len), lo = s.lo;
    for (int64_t k = 0; k <= i; k++) {
        int64_t size = cut->size                  ? cut->size
                       : cut->rule == TW_BALANCED ? len / n + (k < len % n)
                                                  : (len + cut->count - 1) / cut->count;
        if (lo + size > s.hi) size = s.hi - lo;
        if (k == i) return (tw_span){lo, lo + size};
        lo += size;
    }
    return s;
}

/* The driver's box after `depth` places of a step; -1 as step count: counts the steps. */
static inline int64_t naive_walk(const naive *v, tw_box box, int place, int64_t step, int depth, tw_box *out)
{
    if (place == v->g->n_cuts) return 1;
    const tw_nest_cut *cut = &v->g->cut[place];
    tw_span whole = box.span[cut->loop];
    int64_t seen = 0;
    for (int64_t i = 0; i < naive_tiles(cut, whole.hi - whole.lo); i++) {
        box.span[cut->loop] = naive_tile(cut, whole, i);
        int64_t inside = naive_walk(v, box, place + 1, -1, depth, out);
        if (step >= seen && step < seen + inside) {
            if (place < depth) *out = box;
            naive_walk(v, box, place + 1, step - seen, depth, out);
            return inside;
        }
        seen += inside;
    }
    return seen;
}

static inline tw_box naive_whole(const tw_op *op)
{
    tw_box box = {0};
    for (int l = 0; l < op->n_loops; l++) box.span[l].hi = op->loop[l].extent;
    return box;
}

static inline tw_box naive_driver_whole(const naive *v)
{
    tw_box box = naive_whole(naive_op(v, v->g->n_ops - 1));
    for (int i = 0; i < v->g->n_parts; i++) box.span[v->g->part[i].loop] = v->g->part[i].span;
    return box;
}

/* Positions along an axis from the first to the last, and what of that lies in the tensor. */
static inline naive_part naive_touch(const tw_op *op, int operand, const tw_box *box)
{
    naive_part part = {.any = true};
    const tw_operand *o = &op->operand[operand];
    for (int a = 0; a < o->n_axes; a++) {
        int64_t least = INT64_MAX, most = INT64_MIN, index[TW_MAX_TERMS] = {0};
        for (bool more = true; more;) {
            int64_t at = o->axis[a].offset;
            for (int t = 0; t < o->axis[a].n_terms; t++)
                at += o->axis[a].term[t].coef * (box->span[o->axis[a].term[t].loop].lo + index[t]);
            least = tw_min(least, at);
            most = tw_max(most, at);
            more = false;
            for (int t = 0; t < o->axis[a].n_terms && !more; t++) {
                tw_span s = box->span[o->axis[a].term[t].loop];
                more = ++index[t] < s.hi - s.lo;
                if (!more) index[t] = 0;
            }
        }
        part.region.axis[a] = (tw_span){tw_max(least, 0), tw_min(most + 1, o->axis[a].extent)};
        if (part.region.axis[a].lo >= part.region.axis[a].hi) part.any = false;
    }
    return part;
}

static inline void naive_hull(naive_part *sum, const naive_part *more, int n_axes)
{
    if (!more->any) return;
    if (!sum->any) {
        *sum = *more;
        return;
    }
    for (int a = 0; a < n_axes; a++)
        sum->region.axis[a] = (tw_span){tw_min(sum->region.axis[a].lo, more->region.axis[a].lo),
                                        tw_max(sum->region.axis[a].hi, more->region.axis[a].hi)};
}

static inline bool naive_same(const naive_part *a, const naive_part *b, int n_axes)
{
    if (a->any != b->any) return false;
    for (int i = 0; i < n_axes && a->any; i++)
        if (a->region.axis[i].lo != b->region.axis[i].lo || a->region.axis[i].hi != b->region.axis[i].hi)
            return false;
    return true;
}

/* The box of an operator; false: it has no points. A group has two operators at most: the first makes for the second. */
static inline bool naive_box(const naive *v, int which, int depth, int64_t step, tw_box *out)
{
    int driver = v->g->n_ops - 1;
    tw_box box = naive_driver_whole(v);
    *out = box;
    if (which < driver) { /* what it makes at once is as deep as the hold where it writes */
        const tw_op *op = naive_op(v, which);
        int made = v->path_end[which][op->n_operands - 1];
        depth = v->hold[made].depth < depth ? v->hold[made].depth : depth;
    }
    naive_walk(v, box, 0, step, depth, out);
    if (which == driver) return true;
    const tw_op *op = naive_op(v, which), *reader = naive_op(v, driver);
    const tw_operand *output = &op->operand[op->n_operands - 1];
    naive_part sum = {0};
    for (int o = 0; o < reader->n_operands - 1; o++) {
        naive_part one = naive_touch(reader, o, out);
        if (reader->operand[o].tensor == output->tensor) naive_hull(&sum, &one, output->n_axes);
    }
    *out = naive_whole(op);
    for (int a = 0; a < output->n_axes && sum.any; a++)
        out->span[output->axis[a].term[0].loop] = sum.region.axis[a];
    return sum.any;
}

static inline naive_part naive_made(const tw_op *op, const tw_box *box)
{
    naive_part part = {.any = true};
    const tw_operand *o = &op->operand[op->n_operands - 1];
    for (int a = 0; a < o->n_axes; a++) part.region.axis[a] = box->span[o->axis[a].term[0].loop];
    return part;
}

/* ---- lanes ---- */

static inline int64_t naive_parts(const naive *v, int which, int loop) { return v->g->op[which].parts[loop]; }

/* The lanes in the order of their numbers: a counter with a digit per loop over the dimensions. */
static inline bool naive_lane(const naive *v, int which, unsigned per, const tw_box *box, int lane, tw_box *out)
{
    const tw_op *op = naive_op(v, which);
    int64_t digit[TW_MAX_LOOPS] = {0};
    *out = *box;
    for (int i = 0; i < lane; i++) {
        int l = op->n_loops - 1;
        for (; l >= 0; l--) {
            int d = v->g->op[which].over.dim[l];
            if (!d || !(per >> (d - 1) & 1)) continue;
            if (++digit[l] < naive_parts(v, which, l)) break;
            digit[l] = 0;
        }
        if (l < 0) return false;
    }
    for (int l = 0; l < op->n_loops; l++) {
        int d = v->g->op[which].over.dim[l];
        if (!d || !(per >> (d - 1) & 1)) continue;
        int64_t parts = naive_parts(v, which, l), len = box->span[l].hi - box->span[l].lo,
                each = (len + parts - 1) / parts;
        out->span[l].lo = box->span[l].lo + digit[l] * each;
        out->span[l].hi = tw_min(out->span[l].lo + each, box->span[l].hi);
        if (out->span[l].lo >= out->span[l].hi) return false;
    }
    return true;
}

/* What a hold, or with `lane` >= 0 one of its lanes, holds; `sub`: the box of the sub-step. */
static inline naive_part naive_region(const naive *v, const naive_hold *h, int64_t step, const tw_box *sub,
                                      int lane)
{
    naive_part sum = {0};
    tw_box box, mine;
    bool makes = h->made || h->outward || h->maker == v->g->n_ops - 1;
    for (int i = 0; i < v->g->n_ops; i++) {
        const tw_op *op = naive_op(v, i);
        if (!naive_box(v, i, h->depth, step, &box)) continue;
        if (sub) box = *sub;
        mine = box;
        bool any = lane < 0 || h->per == 0 || naive_lane(v, i, h->per, &box, lane, &mine);
        if (makes && i == h->maker && any) return naive_made(op, &mine);
        for (int o = 0; o < op->n_operands - 1 && !makes && any; o++) {
            naive_part one = naive_touch(op, o, &mine);
            if (op->operand[o].tensor == h->tensor) naive_hull(&sum, &one, op->operand[o].n_axes);
        }
    }
    return sum;
}

/* ---- writing ---- */

static inline int64_t naive_elems(const tw_tensor *t, const tw_region *r)
{
    int64_t n = 1;
    for (int a = 0; a < t->n_axes; a++) n *= r->axis[a].hi - r->axis[a].lo;
    return n;
}

static inline int64_t naive_units(const naive *v, int tensor, const naive_part *p)
{
    return p->any ? naive_elems(&v->tensor[tensor], &p->region) * tw_dtype_bytes(v->tensor[tensor].dtype) : 0;
}

/* Whether a command passes the port, which is at dram. */
static inline bool naive_at_port(const naive *v, const tw_instr *i)
{
    return i->op != TW_EXEC && v->engine[i->engine].is.outer == 0 && v->platform.n_ports > 0;
}

static inline int64_t naive_words(int64_t units) { return (units + 3) / 4 * 4; }

/* Commands with a time that begins at `start`. */
static inline void naive_time(naive *v, int command, int64_t start)
{
    tw_event *e = &v->event[command];
    const tw_engine *engine = &v->engine[e->instr.engine].is;
    bool array = engine->cost.kind == TW_COST_ARRAY;
    int64_t work = array ? e->instr.passes : e->instr.work;
    int64_t each = array ? 1 : engine->cost.linear.per_cycle, body = (work + each - 1) / each;
    int64_t all = (array ? engine->cost.array.latency : engine->cost.linear.latency) + body;
    int64_t busy = engine->pipelined ? body : all;
    if (naive_at_port(v, &e->instr))
        busy = tw_max(busy, (naive_words(work) + v->port.per_cycle - 1) / v->port.per_cycle);
    e->start_cycle = start;
    e->busy_end = start + busy;
    e->end_cycle = start + tw_max(all, busy);
    v->row[command] = (tw_rowset){.command = true,
                                  .tick = command,
                                  .n_events = 1,
                                  .event = e,
                                  .start_cycle = start,
                                  .end_cycle = e->end_cycle};
}

static inline tw_instr *naive_command(naive *v, tw_instr i, int64_t read_units, int64_t write_units)
{
    CHECK(v->n < NAIVE_COMMANDS);
    i.group = (int16_t)(v->g - v->group);
    v->event[v->n].instr = i;
    v->read_units[v->n] = read_units;
    v->write_units[v->n] = write_units;
    naive_time(v, v->n, v->now);
    v->now = v->event[v->n].end_cycle;
    return &v->event[v->n++].instr;
}

static inline int naive_buffer(const naive *v, int hold)
{
    const naive_hold *h = &v->hold[hold];
    return h->first + (h->n_runs - 1) % h->slots * h->lanes;
}

/* The run that is there ends: the last command that used it gives it back. */
static inline void naive_end(naive *v, naive_hold *h)
{
    if (h->used_by < 0) return;
    tw_instr *i = &v->event[h->used_by].instr;
    i->gives[i->n_gives++] = h->first + (h->n_runs - 1) % h->slots * h->lanes;
    h->used_by = -1;
}

static inline void naive_begin(naive *v, naive_hold *h, int64_t step, const tw_box *sub)
{
    tw_dtype sums = h->sums ? naive_op(v, h->maker)->accumulator : v->tensor[h->tensor].dtype;
    h->n_runs++;
    h->held = 0;
    for (int lane = 0; lane < h->lanes; lane++) {
        naive_part p = naive_region(v, h, step, sub, lane);
        h->held += naive_units(v, h->tensor, &p);
        if (p.any) h->most = tw_max(h->most, naive_elems(&v->tensor[h->tensor], &p.region) * tw_dtype_bytes(sums));
    }
}

static inline int naive_mover(const naive *v, int outer, int inner)
{
    for (int e = 0; e < v->platform.n_engines; e++)
        if (v->engine[e].is.kind == TW_MOVES && v->engine[e].is.outer == outer && v->engine[e].is.memory == inner)
            return e;
    CHECK(false);
    return -1;
}

/* Units of a transfer at the lanes of a hold. */
/* Whether two lanes have the same pieces of all loops that operator `which` knows the tensor by. */
static inline bool naive_alike(const naive *v, const naive_hold *h, int which, int64_t a, int64_t b)
{
    const tw_op *op = naive_op(v, which);
    bool alike = true;
    for (int l = op->n_loops - 1; l >= 0; l--) {
        int d = v->g->op[which].over.dim[l];
        bool knows = false;
        if (!d || !(h->per >> (d - 1) & 1)) continue;
        for (int o = 0; o < op->n_operands; o++)
            for (int x = 0; x < op->operand[o].n_axes && op->operand[o].tensor == h->tensor; x++)
                for (int t = 0; t < op->operand[o].axis[x].n_terms; t++)
                    knows |= op->operand[o].axis[x].term[t].loop == l;
        alike &= !knows || a % naive_parts(v, which, l) == b % naive_parts(v, which, l);
        a /= naive_parts(v, which, l);
        b /= naive_parts(v, which, l);
    }
    return alike;
}

/* The operator whose loops lie over the lanes of a hold. */
static inline int naive_user(const naive *v, const naive_hold *h)
{
    if (h->made || h->outward) return h->maker;
    for (int i = 0; i < v->g->n_ops; i++)
        for (int o = 0; o < naive_op(v, i)->n_operands - 1; o++)
            if (naive_op(v, i)->operand[o].tensor == h->tensor) return i;
    return 0;
}

static inline int64_t naive_work(const naive *v, const naive_hold *h, bool once, const tw_box *sub)
{
    int64_t sum = 0;
    for (int lane = 0; lane < h->lanes; lane++) {
        naive_part p = naive_region(v, h, v->step, sub, lane);
        bool again = false;
        for (int k = 0; k < lane && once; k++) {
            naive_part q = naive_region(v, h, v->step, sub, k);
            again |= q.any && naive_alike(v, h, naive_user(v, h), lane, k);
        }
        if (!again) sum += naive_units(v, h->tensor, &p);
    }
    return sum;
}

static inline void naive_fill(naive *v, int hold, int which, int operand, const tw_box *sub)
{
    naive_hold *h = &v->hold[hold];
    const tw_box *mine = h->sub >= 0 ? sub : NULL;
    if (h->used_by >= 0) return;
    if (h->parent >= 0) naive_fill(v, h->parent, which, operand, sub);
    int outer = h->parent >= 0 ? v->hold[h->parent].memory : 0, engine = naive_mover(v, outer, h->memory);
    int64_t work = naive_work(v, h, v->engine[engine].is.multicast, mine);
    naive_begin(v, h, v->step, mine);
    bool stores = h->maker >= 0 && v->as_stores;
    naive_command(v,
                  (tw_instr){.op = stores ? TW_STORE : TW_LOAD,
                             .engine = (int16_t)engine,
                             .which = (int16_t)(stores ? h->maker : which),
                             .operand = (int16_t)(stores ? naive_op(v, h->maker)->n_operands - 1 : operand),
                             .copies = (int16_t)h->lanes,
                             .n_src = 1,
                             .src = {h->parent >= 0 ? naive_buffer(v, h->parent) : -1},
                             .dst = naive_buffer(v, hold),
                             .takes = true,
                             .work = work,
                             .region = naive_region(v, h, v->step, mine, -1).region},
                  work, naive_work(v, h, false, mine));
    h->used_by = v->n - 1;
    if (h->parent >= 0) v->hold[h->parent].used_by = v->n - 1;
}

static inline void naive_store(naive *v, int hold, int which)
{
    naive_hold *h = &v->hold[hold], *to = h->outer >= 0 ? &v->hold[h->outer] : NULL;
    bool takes = to && to->used_by < 0;
    if (takes) naive_begin(v, to, v->step, NULL);
    int64_t work = naive_work(v, h, h->summed, NULL);
    naive_command(v,
                  (tw_instr){.op = TW_STORE,
                             .engine = (int16_t)naive_mover(v, to ? to->memory : 0, h->memory),
                             .which = (int16_t)which,
                             .operand = (int16_t)(naive_op(v, which)->n_operands - 1),
                             .copies = (int16_t)h->lanes,
                             .n_src = 1,
                             .src = {naive_buffer(v, hold)},
                             .dst = to ? naive_buffer(v, h->outer) : -1,
                             .takes = takes,
                             .work = work,
                             .region = naive_region(v, h, v->step, NULL, -1).region},
                  h->held, work);
    h->used_by = v->n - 1;
    if (to) to->used_by = v->n - 1;
}

static inline int64_t naive_passes(const naive *v, int which, const tw_box *box)
{
    const tw_op *op = naive_op(v, which);
    const tw_platform_view *view = &v->view[v->g->op[which].view];
    const tw_cost *cost = &v->engine[view->engine].is.cost;
    unsigned per = 0;
    for (int m = 0; m < view->machine.n_memories; m++) per |= v->memory[view->memory[m]].is.per;
    int64_t passes = 1, over[TW_MAX_DIMS] = {1, 1, 1, 1};
    for (int l = 0; l < op->n_loops; l++) {
        int64_t len = box->span[l].hi - box->span[l].lo, parts = naive_parts(v, which, l);
        int d = v->g->op[which].over.dim[l];
        if (!d)
            passes *= len;
        else
            over[d - 1] *= per >> (d - 1) & 1 ? (len + parts - 1) / parts : len;
    }
    for (int d = 0; d < tw_cost_dims(cost); d++)
        passes *= per >> d & 1 ? over[d] : (over[d] + cost->array.size[d] - 1) / cost->array.size[d];
    return passes;
}

/* Whether nothing but padding is added up, outside of private memories. */
static inline bool naive_is_padding(const naive *v, int which, const tw_box *box)
{
    const tw_op *op = naive_op(v, which);
    int n_empty = 0, n = op->n_operands - 1;
    for (int o = 0; o <= n; o++)
        if (v->memory[v->hold[v->path_end[which][o]].memory].is.per) return false;
    for (int o = 0; o < n; o++) n_empty += !naive_touch(op, o, box).any;
    return op->compute == TW_MAP ? false : op->compute == TW_MULTIPLY_ADD ? n_empty > 0 : n_empty == n;
}

static inline void naive_exec(naive *v, int which, const tw_box *piece, bool adds)
{
    const tw_op *op = naive_op(v, which);
    tw_box run = *piece, *box = &run;
    for (int l = 0; l < op->n_loops && naive_is_padding(v, which, piece); l++)
        if (op->loop[l].reduces) run.span[l].hi = run.span[l].lo + 1;
    tw_instr i = {.op = TW_EXEC,
                  .engine = (int16_t)v->view[v->g->op[which].view].engine,
                  .which = (int16_t)which,
                  .operand = (int16_t)(op->n_operands - 1),
                  .copies = 1,
                  .accumulates = adds,
                  .box = *box,
                  .work = 1,
                  .passes = naive_passes(v, which, box)};
    for (int l = 0; l < op->n_loops; l++) i.work *= box->span[l].hi - box->span[l].lo;
    for (int o = 0; o < op->n_operands - 1; o++) {
        naive_part need = naive_touch(op, o, box);
        int hold = v->path_end[which][o];
        i.src[i.n_src++] = -1;
        if (!need.any) continue;
        naive_fill(v, hold, which, o, piece);
        i.src[o] = naive_buffer(v, hold);
        i.copies = (int16_t)tw_max(i.copies, v->hold[hold].lanes);
    }
    naive_hold *made = &v->hold[v->path_end[which][op->n_operands - 1]];
    i.takes = made->used_by < 0;
    if (i.takes) naive_begin(v, made, v->step, NULL);
    i.dst = naive_buffer(v, v->path_end[which][op->n_operands - 1]);
    naive_command(v, i, 0, 0);
    v->piece[v->n - 1] = *piece;
    for (int o = 0; o < op->n_operands - 1; o++)
        if (i.src[o] >= 0) v->hold[v->path_end[which][o]].used_by = v->n - 1;
    made->used_by = v->n - 1;
}

/* All pieces of the reductions, the last loop fastest. */
static inline void naive_pieces(naive *v, int which, const tw_box *box, tw_box sub, int loop)
{
    const tw_op *op = naive_op(v, which);
    if (loop == op->n_loops) {
        bool adds = false;
        for (int l = 0; l < op->n_loops; l++) adds |= op->loop[l].reduces && sub.span[l].lo > 0;
        for (int h = 0; h < v->n_holds; h++) {
            naive_hold *hold = &v->hold[h];
            if (hold->sub != which || hold->used_by < 0) continue;
            const tw_instr *user = &v->event[hold->used_by].instr; /* before it */
            tw_box old = user->op == TW_EXEC ? v->piece[hold->used_by] : user->box;
            naive_part before = naive_region(v, hold, v->step, &old, -1),
                       now = naive_region(v, hold, v->step, &sub, -1);
            if (!naive_same(&before, &now, v->tensor[hold->tensor].n_axes)) naive_end(v, hold);
        }
        naive_exec(v, which, &sub, adds);
        return;
    }
    int64_t size = v->g->op[which].reduce[loop];
    if (size == 0 || which == v->g->n_ops - 1) {
        naive_pieces(v, which, box, sub, loop + 1);
        return;
    }
    for (int64_t lo = 0; lo < box->span[loop].hi; lo += size) {
        sub.span[loop] = (tw_span){lo, tw_min(lo + size, box->span[loop].hi)};
        naive_pieces(v, which, box, sub, loop + 1);
    }
}

static inline bool naive_changes(const naive *v, const naive_hold *h, int64_t a, int64_t b)
{
    if (a < 0 || b >= v->n_steps) return true;
    for (int lane = -1; lane < (h->made || h->outward ? 0 : h->lanes); lane++) {
        naive_part x = naive_region(v, h, a, NULL, lane), y = naive_region(v, h, b, NULL, lane);
        if (!naive_same(&x, &y, v->tensor[h->tensor].n_axes)) return true;
    }
    return false;
}

static inline void naive_step(naive *v)
{
    for (int i = 0; i < v->g->n_ops; i++) {
        const tw_op *op = naive_op(v, i);
        int h = v->path_end[i][op->n_operands - 1];
        bool drives = i == v->g->n_ops - 1;
        tw_box box;
        if (!drives && !(naive_changes(v, &v->hold[h], v->step - 1, v->step) &&
                         naive_region(v, &v->hold[h], v->step, NULL, -1).any))
            continue;
        naive_box(v, i, v->g->n_cuts, v->step, &box);
        naive_pieces(v, i, &box, box, 0);
        for (; h >= 0 && v->hold[h].outer != -2; h = v->hold[h].outer) {
            if (drives && !naive_changes(v, &v->hold[h], v->step, v->step + 1)) break;
            naive_store(v, h, i);
        }
    }
    for (int h = 0; h < v->n_holds; h++)
        if (v->hold[h].sub >= 0 || naive_changes(v, &v->hold[h], v->step, v->step + 1)) naive_end(v, &v->hold[h]);
}

static inline void naive_lay(naive *v, int64_t used[5])
{
    for (int h = 0; h < v->n_holds; h++) {
        naive_hold *hold = &v->hold[h];
        for (int i = 0; i < hold->slots * hold->lanes; i++)
            v->buffer[hold->first + i] = (tw_buffer){.memory = hold->memory,
                                                     .operand = hold->tensor,
                                                     .slot = i / hold->lanes,
                                                     .lane = i % hold->lanes,
                                                     .group = (int)(v->g - v->group),
                                                     .offset = used[hold->memory] + i / hold->lanes * hold->most,
                                                     .size = hold->most};
        used[hold->memory] += hold->slots * hold->most;
    }
}

/* Writes one group; its holds are there. */
static inline void naive_write(naive *v, int64_t used[5])
{
    tw_box box = naive_driver_whole(v);
    v->n_steps = naive_walk(v, box, 0, -1, 0, &box);
    for (int h = 0; h < v->n_holds; h++) {
        v->hold[h].first = v->n_buffers;
        v->hold[h].used_by = -1;
        v->n_buffers += v->hold[h].slots * v->hold[h].lanes;
        CHECK(v->n_buffers <= NAIVE_BUFFERS);
    }
    for (v->step = 0; v->step < v->n_steps; v->step++) naive_step(v);
    naive_lay(v, used);
}
#endif
