/* test/verify/joint_hand.h - one program of a group, written by hand: matmul 2x2x4 in two steps of one column.
 *
 *     dram ==port==dma==> l1 [mac]      a stays, b and c go by column; every command waits for the one before it
 *
 * The port passes words of 4 units, 4 units in a cycle, one transfer at a time. */
#ifndef TW_TEST_VERIFY_JOINT_HAND_H
#define TW_TEST_VERIFY_JOINT_HAND_H
#include "tw_test.h"
#include "verify/joint.h"

enum { HAND_DMA, HAND_MAC, HAND_SPARE, HAND_ENGINES };
enum { HAND_A, HAND_B = 1, HAND_C = 3, HAND_BUFFERS = 4 };
enum { HAND_COMMANDS = 7, HAND_ROOM = 16 };

static const tw_tensor joint_tensor[] = {
    {.name = "a", .dtype = TW_DTYPE_I8, .n_axes = 2, .extent = {2, 4}},
    {.name = "b", .dtype = TW_DTYPE_I8, .n_axes = 2, .extent = {4, 2}, .root = 1},
    {.name = "c", .dtype = TW_DTYPE_I32, .n_axes = 2, .extent = {2, 2}, .root = 2},
};
#define JOINT_AXIS(loop_, extent_)                                            \
    {                                                                         \
        .extent = extent_, .divisor = 1, .n_terms = 1, .term = { {loop_, 1} } \
    }
static const tw_op joint_op = {
    .name = "matmul",
    .compute = TW_MULTIPLY_ADD,
    .accumulator = TW_DTYPE_I32,
    .n_loops = 3,
    .loop = {{"m", 2, false}, {"n", 2, false}, {"k", 4, true}},
    .n_operands = 3,
    .operand = {{"ifm", 0, 2, {JOINT_AXIS(0, 2), JOINT_AXIS(2, 4)}},
                {"w", 1, 2, {JOINT_AXIS(2, 4), JOINT_AXIS(1, 2)}, .weights = true},
                {"ofm", 2, 2, {JOINT_AXIS(0, 2), JOINT_AXIS(1, 2)}}},
};
static const tw_model joint_model = {"one matmul", 3, joint_tensor, 1, &joint_op};

typedef struct joint_hand {
    tw_platform platform;
    tw_platform_memory memory[2];
    tw_platform_engine engine[HAND_ENGINES];
    tw_port port;
    tw_platform_view view;
    tw_group_map group;
    tw_group_op op;
    tw_nest_cut cut;
    tw_group_level level;
    tw_hold hold[2];
    tw_buffer buffer[HAND_BUFFERS];
    tw_claims claims;
    tw_engine_use use[HAND_ENGINES];
    tw_memory_use memory_use[2];
    tw_pool_use pool[3];
    tw_summary op_sum;
    int64_t port_busy, port_passed;
    tw_joint_input in;
    int n;
    tw_event event[HAND_ROOM];
    tw_rowset row[HAND_ROOM];
} joint_hand;

static inline void hand_machine_of(joint_hand *h)
{
    h->memory[0] = (tw_platform_memory){"dram", -1, {.name = "dram", .size = TW_UNLIMITED, .align = 1}, 1};
    h->memory[1] = (tw_platform_memory){"l1", -1, {.name = "l1", .size = 48, .align = 4}, 1};
    for (int m = 0; m < 2; m++) h->memory[m].is.holds = TW_HOLDS_ALL;
    h->memory[0].is.energy_fj = 10;
    h->memory[1].is.energy_fj = 1;
    tw_engine dma = {.name = "dma",
                     .kind = TW_MOVES,
                     .memory = 1,
                     .carries = TW_BOTH_WAYS,
                     .count = 1,
                     .cost = {.kind = TW_COST_LINEAR, .linear = {.latency = 3, .per_cycle = 8}}};
    tw_engine mac = {
        .name = "mac",
        .kind = TW_COMPUTES,
        .outer = -1,
        .memory = 1,
        .count = 1,
        .energy_fj = 5,
        .cost = {.kind = TW_COST_ARRAY, .array = {.latency = 2, .n_dims = 1, .dim = {tw_rows_name}, .size = {2}}},
        .computes = 15,
        .accumulate = 1u << TW_FUSED,
        .shares = -1,
        .min_tile = 1};
    h->engine[HAND_DMA] = (tw_platform_engine){"dma", -1, dma, {0, -1}, {-1, 0}};
    h->engine[HAND_MAC] = (tw_platform_engine){"mac", -1, mac, {-1, -1}, {-1, -1}};
    h->engine[HAND_SPARE] = h->engine[HAND_DMA];
    h->engine[HAND_SPARE].name = "spare";
    h->engine[HAND_SPARE].is.carries = TW_OUTWARDS;
    h->port = (tw_port){.name = "bus",
                        .serves = TW_PORT_READS | TW_PORT_WRITES,
                        .ways = 1,
                        .per_cycle = 4,
                        .word = 4,
                        .read_fj = 20,
                        .write_fj = -1};
    h->view = (tw_platform_view){.engine = HAND_MAC, .memory = {0, 1}, .mover = {HAND_DMA, HAND_MAC}};
    h->view.machine = (tw_machine){.name = "hand",
                                   .unit = TW_UNIT_BYTE,
                                   .timing = TW_ASYNC,
                                   .n_memories = 2,
                                   .memory = {h->memory[0].is, h->memory[1].is},
                                   .n_engines = 2,
                                   .engine = {dma, mac},
                                   .compute = 1};
    h->platform = (tw_platform){.n_memories = 2,
                                .memory = h->memory,
                                .n_engines = HAND_ENGINES,
                                .engine = h->engine,
                                .n_ports = 1,
                                .port = &h->port,
                                .n_views = 1,
                                .view = &h->view};
}

static inline void hand_mapping_of(joint_hand *h)
{
    h->op = (tw_group_op){.op = 0, .view = 0};
    h->cut = (tw_nest_cut){.loop = 1, .size = 1};
    h->level = (tw_group_level){.memory = 1, .depth = 1};
    h->hold[0] = (tw_hold){.tensor = 0, .memory = 1, .depth = 0};
    h->hold[1] = (tw_hold){.tensor = 1, .memory = 1, .depth = -1, .slots = 2};
    h->group = (tw_group_map){.name = "g",
                              .n_ops = 1,
                              .op = &h->op,
                              .n_cuts = 1,
                              .cut = &h->cut,
                              .n_levels = 1,
                              .level = &h->level,
                              .n_holds = 2,
                              .hold = h->hold};
    h->buffer[0] = (tw_buffer){.memory = 1, .operand = 0, .offset = 0, .size = 8};
    h->buffer[1] = (tw_buffer){.memory = 1, .operand = 1, .offset = 8, .size = 4, .pool = 1};
    h->buffer[2] = (tw_buffer){.memory = 1, .operand = 1, .slot = 1, .offset = 12, .size = 4, .pool = 1};
    h->buffer[3] = (tw_buffer){.memory = 1, .operand = 2, .offset = 16, .size = 8, .pool = 2};
}

static inline tw_instr *hand_command(joint_hand *h, tw_instr i)
{
    h->event[h->n] = (tw_event){.instr = i};
    h->event[h->n].instr.copies = 1;
    h->row[h->n] = (tw_rowset){.command = true, .tick = h->n, .n_events = 1, .event = &h->event[h->n]};
    return &h->event[h->n++].instr;
}

static inline void hand_step(joint_hand *h, int n)
{
    tw_span all_m = {0, 2}, all_k = {0, 4}, column = {n, n + 1};
    int b = HAND_B + n;
    hand_command(h, (tw_instr){.op = TW_LOAD,
                               .engine = HAND_DMA,
                               .operand = 1,
                               .n_src = 1,
                               .src = {-1},
                               .dst = b,
                               .takes = true,
                               .work = 4,
                               .region = {{all_k, column}}});
    tw_instr *i = hand_command(h, (tw_instr){.op = TW_EXEC,
                                             .engine = HAND_MAC,
                                             .operand = 2,
                                             .n_src = 2,
                                             .src = {HAND_A, b},
                                             .dst = HAND_C,
                                             .takes = true,
                                             .work = 8,
                                             .passes = 4,
                                             .box = {{all_m, column, all_k}}});
    i->gives[i->n_gives++] = b;
    if (n == 1) i->gives[i->n_gives++] = HAND_A;
    i = hand_command(h, (tw_instr){.op = TW_STORE,
                                   .engine = HAND_DMA,
                                   .operand = 2,
                                   .n_src = 1,
                                   .src = {HAND_C},
                                   .dst = -1,
                                   .work = 8,
                                   .region = {{all_m, column}}});
    i->gives[i->n_gives++] = HAND_C;
}

/* Each command when the one before it ends. A load of 8 takes 3 + 1, of which the port keeps it 2. */
static inline void hand_times(joint_hand *h)
{
    int64_t now = 0;
    for (int i = 0; i < h->n; i++) {
        int64_t length = h->event[i].instr.op == TW_EXEC ? 6 : 4;
        h->event[i].start_cycle = h->row[i].start_cycle = now;
        h->event[i].busy_end = h->event[i].end_cycle = h->row[i].end_cycle = now += length;
    }
}

/* What a command waited for, and how long its unit stood idle. */
static inline void hand_wait(joint_hand *h, int command, tw_wait wait, int64_t waited)
{
    h->event[command].wait = wait;
    h->event[command].waited = waited;
}

/* Loads wait for the one before them, what comes behind them for its data: the mac 8 cycles each time, the dma 6. */
static inline void hand_waits(joint_hand *h)
{
    for (int i = 1; i < h->n; i++) hand_wait(h, i, TW_WAIT_ENGINE, 0);
    hand_wait(h, 2, TW_WAIT_DATA, 8);
    hand_wait(h, 3, TW_WAIT_DATA, 6);
    hand_wait(h, 5, TW_WAIT_DATA, 8);
    hand_wait(h, 6, TW_WAIT_DATA, 6);
}

static inline void hand_claims(joint_hand *h)
{
    h->use[HAND_DMA] = (tw_engine_use){.loads = 3,
                                       .load_units = 16,
                                       .stores = 2,
                                       .store_units = 16,
                                       .busy_cycles = 20,
                                       .wait_data = 12,
                                       .critical_cycles = 20};
    h->use[HAND_MAC] = (tw_engine_use){.ops = 2, .busy_cycles = 12, .wait_data = 16, .critical_cycles = 12};
    for (int e = 0; e < HAND_ENGINES; e++) h->use[e].count = h->engine[e].is.count;
    h->memory_use[1].static_units = 24;
    h->memory_use[1].peak_live = 20;
    h->pool[0] = (tw_pool_use){.slots = 1, .slot_units = 8, .needed = 1, .peak = 1};
    h->pool[1] = (tw_pool_use){.slots = 2, .slot_units = 4, .needed = 1, .peak = 1};
    h->pool[2] = h->pool[0];
    h->op_sum = (tw_summary){.cycles = 28, .execs = 2, .macs = 16};
    h->port_busy = 20;
    h->port_passed = 5;
    h->claims = (tw_claims){.engine = h->use,
                            .memory = h->memory_use,
                            .pool = h->pool,
                            .op = &h->op_sum,
                            .port_busy = &h->port_busy,
                            .port_passed = &h->port_passed};
    /* 16 points at 5; 16 units in at 20 and 1, 16 out at 1 and 10 */
    h->claims.sum =
        (tw_summary){.cycles = 32, .execs = 2, .macs = 16, .instructions = 7, .energy_fj = 80 + 16 * 21 + 16 * 11};
}

static inline void joint_hand_write(joint_hand *h)
{
    *h = (joint_hand){0};
    hand_machine_of(h);
    hand_mapping_of(h);
    hand_command(h, (tw_instr){.op = TW_LOAD,
                               .engine = HAND_DMA,
                               .n_src = 1,
                               .src = {-1},
                               .dst = HAND_A,
                               .takes = true,
                               .work = 8,
                               .region = {{{0, 2}, {0, 4}}}});
    for (int n = 0; n < 2; n++) hand_step(h, n);
    hand_times(h);
    hand_waits(h);
    hand_claims(h);
    h->in = (tw_joint_input){.model = &joint_model,
                             .platform = &h->platform,
                             .n_groups = 1,
                             .group = &h->group,
                             .n_buffers = HAND_BUFFERS,
                             .buffer = h->buffer,
                             .claims = &h->claims,
                             .seed = 7,
                             .executes = true};
}
#endif
