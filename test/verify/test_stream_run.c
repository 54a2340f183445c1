/* The executor of async programs runs a program written by hand in the order of time, and finds what goes wrong in
 * it. */
#include "sim/order.h"
#include "stream_hand.h"

static tw_status run(hand *h, uint64_t seed, tw_arena *arena, const char **fault)
{
    const char *who;
    tw_executor *executor = tw_executor_new(&h->in, seed, arena);
    if (!executor) return TW_ERR_NOMEM;
    tw_row_sink numbers = tw_executor_sink(executor);
    tw_order *order = tw_order_new(&h->machine, &numbers, arena);
    if (!order) return TW_ERR_NOMEM;
    tw_row_sink sink = tw_order_sink(order);
    for (int i = 0; i < h->n; i++) TW_TRY(sink.begin(sink.user, &h->row[i]));
    TW_TRY(tw_order_flush(order));
    return tw_executor_finish(executor, NULL, NULL, &who, fault);
}

static void check(hand *h, const char *expected)
{
    const char *fault;
    tw_arena *arena = tw_arena_new();
    CHECK(arena != NULL);
    fault = NULL;
    for (uint64_t seed = 1; seed <= 4 && !fault; seed++) CHECK_EQ(run(h, seed, arena, &fault), TW_OK);
    CHECK_STR(fault ? fault : "no fault", expected ? expected : "no fault");
    tw_arena_free(arena);
}

TEST(a_program_written_by_hand_computes_the_product)
{
    hand h;
    hand_write(&h);
    hand_schedule(&h);
    check(&h, NULL);
}

/* ---- wrong numbers, one draw in four at the latest ---- */

static void load_brings_another_row(hand *h) { hand_instr(h, DMA, 0)->region = hand_ifm(1, 0); }
static void sums_are_dropped(hand *h)
{
    hand_drop(h, hand_find(h, BACK, 1));
    hand_instr(h, MAC, 5)->accumulates = false;
    hand_instr(h, MAC, 5)->takes = true;
}
static void point_is_left_out(hand *h) { hand_instr(h, MAC, 0)->box.span[2].hi = 1; }
static void execution_is_doubled(hand *h)
{
    int r = hand_find(h, MAC, 4);
    hand_double(h, r);
    h->event[r][0].instr.n_gives = 0;
}
static void store_is_dropped(hand *h) { hand_drop(h, h->n - 1); }
static void sums_are_stored_as_finished(hand *h) { hand_instr(h, DMA, 2)->partial = false; }

/* ---- data that are not there ---- */

static void load_brings_a_short_region(hand *h) { hand_instr(h, DMA, 0)->region.axis[1].hi = 1; }
static void input_is_missing(hand *h) { hand_instr(h, MAC, 0)->src[0] = -1; }
static void credit_is_given_too_early(hand *h) { hand_give(hand_instr(h, BACK, 1), L2_OUT); }
static void buffer_is_taken_too_early(hand *h) { hand_instr(h, DMA, 3)->dst = L2_IN; }
static void load_is_dropped(hand *h) { hand_drop(h, hand_find(h, DMA, 0)); }
static void part_is_not_lifted(hand *h) { hand_drop(h, hand_find(h, LIFT, 1)); }
static void sums_do_not_come_back(hand *h) { hand_drop(h, hand_find(h, BACK, 0)); }
static void pool_has_the_other_input(hand *h) { hand_instr(h, STREAM, 0)->src[0] = L2_IN + 1; }
static void execution_is_early(hand *h) { hand_shift(h, hand_find(h, MAC, 0), -1); }
static void store_is_early(hand *h) { hand_shift(h, hand_find(h, LIFT, 0), -1); }
static void slots_are_small(hand *h) { h->buffer[L2_OUT].size = 7; }
static void buffers_overlap(hand *h) { h->buffer[L1_W].offset = 3; }

typedef struct damage {
    void (*inflict)(hand *h);
    const char *fault;
} damage;

TEST(what_goes_wrong_is_named)
{
    static const damage all[] = {
        {load_brings_another_row, "command 2 (stream): LOAD reads a region that l2.ifm0 does not hold"},
        {sums_are_dropped, "element (0, 1) of 'ofm' is -2, should be 4"},
        {point_is_left_out, "element (0, 0) of 'ofm' is 0, should be -2"},
        {execution_is_doubled, "element (0, 0) of 'ofm' is 0, should be -2"},
        {store_is_dropped, "element (1, 0) of 'ofm' is never stored"},
        {sums_are_stored_as_finished, "command 20 (dma): LOAD reads partial sums, there are none"},
        {load_brings_a_short_region, "command 2 (stream): LOAD reads a region that l2.ifm0 does not hold"},
        {input_is_missing, "command 3 (mac): EXEC reads elements of 'ifm' that its buffer does not hold"},
        {credit_is_given_too_early, "command 29 (dma): STORE reads l2.ofm0, which was given back"},
        {buffer_is_taken_too_early, "command 11 (stream): LOAD reads l2.ifm2, which holds nothing"},
        {load_is_dropped, "command 1 (stream): LOAD reads l2.ifm0, which holds nothing"},
        {part_is_not_lifted, "command 7 (dma): STORE reads a region that l2.ofm0 does not hold"},
        {sums_do_not_come_back, "command 22 (mac): EXEC reads acc.ofm0, which was given back"},
        {pool_has_the_other_input, "command 2 (stream): LOAD reads 'ifm' from l2.ifm1, which holds 'w'"},
        {slots_are_small, "command 7 (lift): STORE puts 8 bytes into l2.ofm0, which has 7"},
        {buffers_overlap, "element (0, 0) of 'ofm' is -4, should be -2"},
    };
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        hand h;
        hand_write(&h);
        all[i].inflict(&h);
        hand_schedule(&h);
        check(&h, all[i].fault);
    }
}

TEST(what_comes_too_early_finds_nothing)
{
    hand h;
    hand_write(&h);
    hand_schedule(&h);
    execution_is_early(&h);
    check(&h, "command 3 (mac): EXEC reads element 0 of l1.ifm0, which holds no data");
    hand_write(&h);
    hand_schedule(&h);
    store_is_early(&h);
    check(&h, "command 4 (lift): STORE reads element 0 of acc.ofm0, which holds no data");
}

/* The second load into the buffer starts while the stream still reads the first. */
TEST(a_source_that_is_overwritten_under_its_reader_is_noticed)
{
    hand h;
    hand_write(&h);
    hand_schedule(&h);
    int load = hand_find(&h, DMA, 6), stream = hand_find(&h, STREAM, 1);
    CHECK_EQ(h.event[load][0].instr.dst, h.event[stream][0].instr.src[0]);
    hand_shift(&h, load, h.row[stream].start_cycle + 1 - h.row[load].start_cycle);
    check(&h, "command 2 (stream): LOAD reads l2.ifm0 until cycle 10, which is overwritten before");
}

TEST(commands_out_of_order_are_not_run)
{
    hand h;
    const char *fault, *who;
    tw_arena *arena = tw_arena_new();
    hand_write(&h);
    hand_schedule(&h);
    tw_executor *executor = tw_executor_new(&h.in, 1, arena);
    CHECK(executor != NULL);
    tw_row_sink sink = tw_executor_sink(executor);
    for (int i = 0; i < h.n; i++) CHECK_EQ(sink.begin(sink.user, &h.row[i]), TW_OK);
    CHECK_EQ(tw_executor_finish(executor, NULL, NULL, &who, &fault), TW_OK);
    CHECK_STR(fault, "command 5 (stream) starts at 8, one that starts at 16 was run before it");
    tw_arena_free(arena);
}

/* Whatever the sums are made of, finished elements leave as the output's type. */
TEST(every_type_of_sums_computes_the_product)
{
    hand h;
    tw_op op = hand_op;
    hand_write(&h);
    hand_schedule(&h);
    for (int d = 0; d < TW_N_DTYPES; d++) {
        op.accumulator = (tw_dtype)d;
        h.in.op = &op;
        for (int b = L2_OUT; b < N_BUFFERS; b++) h.buffer[b].size = 16;
        for (int b = 0, at[4] = {0}; b < N_BUFFERS; at[h.buffer[b].memory] += 16, b++)
            h.buffer[b].offset = at[h.buffer[b].memory];
        check(&h, NULL);
    }
}

TEST(too_little_memory_is_never_a_fault)
{
    tw_status status = TW_ERR_NOMEM;
    hand h;
    hand_write(&h);
    hand_schedule(&h);
    for (int64_t n = 1; status != TW_OK; n++) {
        const char *fault;
        tw_arena *arena = tw_arena_new();
        CHECK(arena != NULL);
        tw_arena_fail_at(arena, n);
        status = run(&h, 1, arena, &fault);
        if (status == TW_OK)
            CHECK(fault == NULL);
        else
            CHECK_EQ(status, TW_ERR_NOMEM);
        tw_arena_free(arena);
    }
}
