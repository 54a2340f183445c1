/* test/verify/stream_hand.h - one async program written by hand: matmul 2x2x4, partial sums leave the chip and
 * come back.
 *
 *     inputs   dram --dma--> l2 --stream--> l1          stream brings both in one command
 *     output   dram <--dma-- l2 <--lift/back--> acc     the array adds up in acc
 *
 * Four visits (k, m) of one row of the output and half of the reduction; in each two steps n. In the first two
 * visits the sums of a row are collected in l2 in two parts and stored beside the tensor; in the last two they
 * come back, part by part, and leave finished. The inputs share a pool in l2; sums come back on a unit of the dma
 * of their own. */
#ifndef TW_TEST_VERIFY_STREAM_HAND_H
#define TW_TEST_VERIFY_STREAM_HAND_H
#include "program/instr.h"
#include "tw_test.h"
#include "verify/verify.h"

enum { IFM, W, OFM };
enum { MAC, DMA, STREAM, LIFT, BACK };
enum { L2_IN = 0, L2_OUT = 4, L1_IFM = 6, L1_W = 8, ACC = 10, N_BUFFERS = 12 };

static const tw_tensor hand_tensor[] = {
    {.name = "a", .dtype = TW_DTYPE_I8, .n_axes = 2, .extent = {2, 4}},
    {.name = "b", .dtype = TW_DTYPE_I8, .n_axes = 2, .extent = {4, 2}},
    {.name = "c", .dtype = TW_DTYPE_I8, .n_axes = 2, .extent = {2, 2}},
};
#define HAND_AXIS(loop_, extent_)                                             \
    {                                                                         \
        .extent = extent_, .divisor = 1, .n_terms = 1, .term = { {loop_, 1} } \
    }
static const tw_op hand_op = {
    .name = "matmul",
    .compute = TW_MULTIPLY_ADD,
    .accumulator = TW_DTYPE_I32,
    .n_loops = 3,
    .loop = {{"m", 2, false}, {"n", 2, false}, {"k", 4, true}},
    .n_operands = 3,
    .operand = {{"ifm", 0, 2, {HAND_AXIS(0, 2), HAND_AXIS(2, 4)}},
                {"w", 1, 2, {HAND_AXIS(2, 4), HAND_AXIS(1, 2)}},
                {"ofm", 2, 2, {HAND_AXIS(0, 2), HAND_AXIS(1, 2)}}},
};
static const tw_model hand_model = {"one matmul", 3, hand_tensor, 1, &hand_op};

static const tw_machine hand_machine = {
    .name = "hand",
    .unit = TW_UNIT_BYTE,
    .timing = TW_ASYNC,
    .n_memories = 4,
    .memory = {{.name = "dram", .size = TW_UNLIMITED, .align = 1, .holds = TW_HOLDS_ALL},
               {.name = "l2", .size = 32, .align = 1, .holds = TW_HOLDS_ALL},
               {.name = "l1", .size = 8, .align = 1, .holds = TW_HOLDS_INPUTS},
               {.name = "acc", .size = 8, .align = 1, .holds = TW_HOLDS_OUTPUT}},
    .n_engines = 5,
    .engine =
        {{.name = "mac",
          .kind = TW_COMPUTES,
          .outer = -1,
          .memory = 3,
          .count = 1,
          .cost = {TW_COST_ARRAY,
                   .array = {.latency = 3, .n_dims = 2, .dim = {tw_rows_name, tw_columns_name}, .size = {1, 2}}},
          .computes = 15,
          .accumulate = 1u << TW_FUSED,
          .shares = -1,
          .min_tile = 1},
         {.name = "dma",
          .kind = TW_MOVES,
          .memory = 1,
          .carries = TW_BOTH_WAYS,
          .count = 2,
          .cost = {TW_COST_LINEAR, .linear = {3, 4}}},
         {.name = "stream",
          .kind = TW_MOVES,
          .outer = 1,
          .memory = 2,
          .carries = TW_INWARDS,
          .joins = true,
          .pipelined = true,
          .count = 2,
          .cost = {TW_COST_LINEAR, .linear = {2, 2}}},
         {.name = "lift",
          .kind = TW_MOVES,
          .outer = 1,
          .memory = 3,
          .carries = TW_OUTWARDS,
          .count = 1,
          .cost = {TW_COST_CONSTANT, .constant = {2, 1}}},
         {.name = "back",
          .kind = TW_MOVES,
          .outer = 1,
          .memory = 3,
          .carries = TW_INWARDS,
          .count = 1,
          .cost = {TW_COST_STEPPED, .stepped = {.step = 4, .per_step = 2}}}},
    .compute = MAC,
};

/* memory, operand, slot, offset, size, operands */
static const tw_buffer hand_buffer[N_BUFFERS] = {
    {1, IFM, 0, 0, 4, 3},  {1, IFM, 1, 4, 4, 3},  {1, IFM, 2, 8, 4, 3}, {1, IFM, 3, 12, 4, 3},
    {1, OFM, 0, 16, 8, 4}, {1, OFM, 1, 24, 8, 4}, {2, IFM, 0, 0, 2, 1}, {2, IFM, 1, 2, 2, 1},
    {2, W, 0, 4, 2, 2},    {2, W, 1, 6, 2, 2},    {3, OFM, 0, 0, 4, 4}, {3, OFM, 1, 4, 4, 4},
};
static const tw_level_info hand_level[] = {{.memory = 1, .mode = TW_FUSED}, {.memory = 3, .mode = TW_FUSED}};

enum { HAND_MAX = 64 };
typedef struct hand {
    tw_event event[HAND_MAX][2];
    tw_rowset row[HAND_MAX];
    int n;
    tw_buffer buffer[N_BUFFERS];
    tw_layout layout;
    tw_machine machine;
    tw_verify_input in;
} hand;

/* ---- the instructions ---- */

static inline tw_instr *hand_add(hand *h, tw_instr i)
{
    tw_rowset *row = &h->row[h->n - i.together];
    if (!i.together) *row = (tw_rowset){.command = true, .tick = h->n++, .event = h->event[row - h->row]};
    tw_event *e = &h->event[row - h->row][row->n_events++];
    *e = (tw_event){.instr = i};
    row->memory = h->machine.engine[i.engine].memory;
    return &e->instr;
}

static inline void hand_give(tw_instr *i, int buffer) { i->gives[i->n_gives++] = buffer; }

static inline tw_instr *hand_move(hand *h, tw_opcode op, int engine, int operand, int src, int dst,
                                  tw_region region)
{
    return hand_add(h, (tw_instr){.op = op,
                                  .engine = (int16_t)engine,
                                  .operand = (int16_t)operand,
                                  .n_src = 1,
                                  .src = {src},
                                  .dst = dst,
                                  .region = region});
}

static inline tw_region hand_ifm(int64_t m, int64_t k) { return (tw_region){{{m, m + 1}, {2 * k, 2 * k + 2}}}; }
static inline tw_region hand_w(int64_t k, int64_t n, int64_t end)
{
    return (tw_region){{{2 * k, 2 * k + 2}, {n, end}}};
}
static inline tw_region hand_ofm(int64_t m, int64_t n, int64_t end) { return (tw_region){{{m, m + 1}, {n, end}}}; }

/* One step: both inputs in one command, sums that come back, the execution, sums that leave acc. */
static inline void hand_step(hand *h, int k, int m, int n)
{
    int visit = 2 * k + m, step = 2 * visit + n;
    int a = L2_IN + 2 * visit % 4, c = L2_OUT + visit % 2, acc = ACC + step % 2;
    int l1_a = L1_IFM + step % 2, l1_w = L1_W + step % 2;
    tw_instr *i = hand_move(h, TW_LOAD, STREAM, IFM, a, l1_a, hand_ifm(m, k));
    i->takes = true;
    i->work = 2;
    i->unit = (int16_t)(step % 2);
    if (n == 1) hand_give(i, a);
    i = hand_add(h, (tw_instr){.op = TW_LOAD, .engine = STREAM, .operand = W, .together = true, .takes = true});
    i->unit = (int16_t)(step % 2);
    i->n_src = 1;
    i->src[0] = a + 1;
    i->dst = l1_w;
    i->region = hand_w(k, n, n + 1);
    i->work = 2;
    if (n == 1) hand_give(i, a + 1);
    if (k == 1) {
        i = hand_move(h, TW_LOAD, BACK, OFM, c, acc, hand_ofm(m, n, n + 1));
        i->takes = i->partial = true;
        i->work = 4;
    }
    i = hand_add(h, (tw_instr){.op = TW_EXEC, .engine = MAC, .operand = OFM, .n_src = 2, .src = {l1_a, l1_w}});
    i->dst = acc;
    i->takes = k == 0;
    i->accumulates = k == 1;
    i->box = (tw_box){{{m, m + 1}, {n, n + 1}, {2 * k, 2 * k + 2}}};
    i->work = 2;
    i->passes = i->contended = 1;
    hand_give(i, l1_a);
    hand_give(i, l1_w);
    i = hand_move(h, TW_STORE, LIFT, OFM, acc, c, hand_ofm(m, n, n + 1));
    i->takes = k == 0 && n == 0;
    i->partial = k == 0;
    i->work = k == 0 ? 4 : 1;
    hand_give(i, acc);
}

static inline void hand_visit(hand *h, int k, int m)
{
    int visit = 2 * k + m, a = L2_IN + 2 * visit % 4, c = L2_OUT + visit % 2;
    tw_instr *i = hand_move(h, TW_LOAD, DMA, IFM, -1, a, hand_ifm(m, k));
    i->takes = true;
    i->work = 2;
    i = hand_move(h, TW_LOAD, DMA, W, -1, a + 1, hand_w(k, 0, 2));
    i->takes = true;
    i->work = 4;
    if (k == 1) {
        i = hand_move(h, TW_LOAD, DMA, OFM, -1, c, hand_ofm(m, 0, 2));
        i->takes = i->partial = true;
        i->work = 8;
        i->unit = 1;
    }
    hand_step(h, k, m, 0);
    hand_step(h, k, m, 1);
    i = hand_move(h, TW_STORE, DMA, OFM, c, -1, hand_ofm(m, 0, 2));
    i->partial = k == 0;
    i->work = k == 0 ? 8 : 2;
    hand_give(i, c);
}

static inline void hand_write(hand *h)
{
    *h = (hand){.machine = hand_machine};
    for (int b = 0; b < N_BUFFERS; b++) h->buffer[b] = hand_buffer[b];
    h->layout = (tw_layout){.n_buffers = N_BUFFERS, .buffer = h->buffer};
    h->in = (tw_verify_input){.model = &hand_model,
                              .op = &hand_op,
                              .machine = &h->machine,
                              .layout = &h->layout,
                              .n_levels = 2,
                              .level = hand_level,
                              .holds_sums = {true, true, true, true, true, true, true, true},
                              .over = {0, 1, 2}};
    for (int k = 0; k < 2; k++)
        for (int m = 0; m < 2; m++) hand_visit(h, k, m);
}

/* ---- their time, by the book ---- */

typedef struct hand_clock {
    int64_t unit[5][3], there[N_BUFFERS], used[N_BUFFERS], stored[2];
} hand_clock;

static inline int64_t hand_data(const hand_clock *t, const tw_instr *i)
{
    int64_t at = i->takes || i->dst < 0 ? 0 : tw_max(t->there[i->dst], t->used[i->dst]);
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] >= 0) at = tw_max(at, t->there[i->src[k]]);
    return i->op == TW_LOAD && i->partial && i->src[0] < 0 ? tw_max(at, t->stored[i->region.axis[0].lo]) : at;
}

static inline void hand_after(hand_clock *t, const tw_event *e)
{
    const tw_instr *i = &e->instr;
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] >= 0) t->used[i->src[k]] = tw_max(t->used[i->src[k]], e->busy_end);
    for (int k = 0; k < i->n_gives; k++) t->used[i->gives[k]] = tw_max(t->used[i->gives[k]], e->busy_end);
    if (i->dst >= 0)
        t->there[i->dst] = e->end_cycle;
    else
        t->stored[i->region.axis[0].lo] = e->end_cycle;
}

/* Start and end of every command; what it waited for. */
static inline void hand_schedule(hand *h)
{
    static const int64_t latency[] = {3, 3, 2, 1, 0}; /* the part in which the unit is free again */
    hand_clock t = {0};
    for (int r = 0; r < h->n; r++) {
        tw_rowset *row = &h->row[r];
        const tw_instr *first = &h->event[r][0].instr;
        int64_t unit = t.unit[first->engine][first->unit], data = 0, credit = 0, work = 0;
        for (int e = 0; e < row->n_events; e++) {
            const tw_instr *i = &h->event[r][e].instr;
            work += i->work;
            data = tw_max(data, hand_data(&t, i));
            if (i->takes) credit = tw_max(credit, tw_max(t.there[i->dst], t.used[i->dst]));
        }
        int64_t step = h->machine.engine[BACK].cost.stepped.per_step;
        int64_t cost[] = {3 + first->passes, 3 + (work + 3) / 4, 2 + (work + 1) / 2, 2, step * ((work + 3) / 4)};
        int64_t start = tw_max(unit, tw_max(data, credit)), cycles = cost[first->engine];
        int64_t busy = first->engine >= STREAM ? cycles - latency[first->engine] : cycles;
        for (int e = 0; e < row->n_events; e++)
            h->event[r][e] = (tw_event){.instr = h->event[r][e].instr,
                                        .start_cycle = start,
                                        .end_cycle = start + cycles,
                                        .busy_end = start + busy,
                                        .wait = start == 0      ? TW_WAIT_NONE
                                                : start == unit ? TW_WAIT_ENGINE
                                                : start == data ? TW_WAIT_DATA
                                                                : TW_WAIT_CREDIT,
                                        .waited = start - unit};
        row->start_cycle = start;
        row->end_cycle = start + cycles;
        t.unit[first->engine][first->unit] = start + busy;
        for (int e = 0; e < row->n_events; e++) hand_after(&t, &h->event[r][e]);
    }
}

/* ---- finding and editing ---- */

/* The n-th command of an engine, counted from 0. */
static inline int hand_find(const hand *h, int engine, int n)
{
    for (int r = 0; r < h->n; r++)
        if (h->event[r][0].instr.engine == engine && n-- == 0) return r;
    fail_msg("no such command");
    return -1;
}
static inline tw_instr *hand_instr(hand *h, int engine, int n)
{
    return &h->event[hand_find(h, engine, n)][0].instr;
}

static inline void hand_drop(hand *h, int row)
{
    for (int r = row; r + 1 < h->n; r++) {
        h->row[r] = h->row[r + 1];
        h->row[r].tick = r;
        h->row[r].event = h->event[r];
        for (int e = 0; e < 2; e++) h->event[r][e] = h->event[r + 1][e];
    }
    h->n--;
}

/* A copy of a command behind it. */
static inline void hand_double(hand *h, int row)
{
    h->n++;
    for (int r = h->n - 1; r > row; r--) {
        h->row[r] = h->row[r - 1];
        h->row[r].tick = r;
        h->row[r].event = h->event[r];
        for (int e = 0; e < 2; e++) h->event[r][e] = h->event[r - 1][e];
    }
}

/* The command moves up in the program. */
static inline void hand_raise(hand *h, int row, int to)
{
    for (; row > to; row--) {
        tw_rowset a = h->row[row - 1];
        h->row[row - 1] = h->row[row];
        h->row[row] = a;
        for (int e = 0; e < 2; e++) {
            tw_event b = h->event[row - 1][e];
            h->event[row - 1][e] = h->event[row][e];
            h->event[row][e] = b;
        }
        for (int r = row - 1; r <= row; r++) {
            h->row[r].tick = r;
            h->row[r].event = h->event[r];
        }
    }
}

/* The command later or earlier, as a whole. */
static inline void hand_shift(hand *h, int row, int64_t by)
{
    for (int e = 0; e < h->row[row].n_events; e++) {
        h->event[row][e].start_cycle += by;
        h->event[row][e].end_cycle += by;
        h->event[row][e].busy_end += by;
    }
    h->row[row].start_cycle += by;
    h->row[row].end_cycle += by;
}
#endif
