/* The checker of async programs accepts a program written by hand, and names every kind of damage to it. */
#include "stream_hand.h"

static void check(hand *h, const char *expected)
{
    tw_arena *arena = tw_arena_new();
    CHECK(arena != NULL);
    tw_checker *checker = tw_checker_new(&h->in, arena);
    CHECK(checker != NULL);
    tw_row_sink sink = tw_checker_sink(checker);
    for (int i = 0; i < h->n; i++) CHECK_EQ(sink.begin(sink.user, &h->row[i]), TW_OK);
    const char *fault = tw_checker_finish(checker);
    CHECK_STR(fault ? fault : "no fault", expected ? expected : "no fault");
    tw_arena_free(arena);
}

TEST(a_program_written_by_hand_is_right)
{
    hand h;
    hand_write(&h);
    hand_schedule(&h);
    CHECK_EQ(h.n, 42);
    check(&h, NULL);
}

/* ---- credits ---- */

static void load_into_a_held_buffer(hand *h) { hand_instr(h, DMA, 1)->dst = L2_IN; }
static void first_part_takes_no_credit(hand *h) { hand_instr(h, LIFT, 0)->takes = false; }
static void second_part_takes_a_credit(hand *h) { hand_instr(h, LIFT, 1)->takes = true; }
static void credit_is_given_twice(hand *h) { hand_give(hand_instr(h, MAC, 0), L1_IFM); }
static void credit_is_given_too_early(hand *h) { hand_give(hand_instr(h, STREAM, 0), L2_IN); }
static void credit_is_never_given(hand *h) { hand_instr(h, MAC, 7)->n_gives = 1; }
static void target_is_given(hand *h) { hand_give(hand_instr(h, MAC, 0), ACC); }
static void sums_are_given_away(hand *h) { hand_give(hand_instr(h, STREAM, 1), L2_OUT); }
static void load_takes_no_credit(hand *h) { hand_instr(h, DMA, 0)->takes = false; }
static void execution_adds_to_what_it_takes(hand *h) { hand_instr(h, MAC, 0)->accumulates = true; }
static void tensor_is_taken(hand *h) { hand_instr(h, DMA, 2)->takes = true; }

/* ---- engines, buffers, work ---- */

static void store_on_the_wrong_mover(hand *h) { hand_instr(h, LIFT, 0)->engine = DMA; }
static void load_on_a_mover_that_goes_out(hand *h) { hand_instr(h, BACK, 0)->engine = LIFT; }
static void execution_on_a_mover(hand *h) { hand_instr(h, MAC, 0)->engine = LIFT; }
static void load_on_the_array(hand *h)
{
    hand_instr(h, BACK, 0)->passes = 4;
    hand_instr(h, BACK, 0)->engine = MAC;
}
static void sums_skip_a_memory(hand *h) { hand_instr(h, LIFT, 0)->dst = -1; }
static void unit_is_unknown(hand *h) { hand_instr(h, DMA, 0)->unit = 2; }
static void buffer_is_for_another(hand *h) { hand_instr(h, STREAM, 0)->dst = L1_W; }
static void buffer_is_unknown(hand *h) { hand_instr(h, LIFT, 0)->src[0] = N_BUFFERS; }
static void pool_has_the_other_input(hand *h) { hand_instr(h, STREAM, 0)->src[0] = L2_IN + 1; }
static void work_is_wrong(hand *h) { hand_instr(h, DMA, 0)->work = 3; }
static void partial_work_is_counted_as_finished(hand *h) { hand_instr(h, LIFT, 0)->work = 1; }
static void passes_are_wrong(hand *h) { hand_instr(h, MAC, 0)->passes = hand_instr(h, MAC, 0)->contended = 2; }
static void loads_on_a_mover_that_joins_none(hand *h) { h->machine.engine[STREAM].joins = false; }
static void sum_has_no_meaning(hand *h) { hand_instr(h, LIFT, 0)->op = TW_SUM; }
static void store_adds(hand *h) { hand_instr(h, LIFT, 1)->accumulates = true; }

/* ---- data ---- */

static void load_takes_another_column(hand *h) { hand_instr(h, STREAM, 0)->region = hand_ifm(0, 1); }
static void region_leaves_the_tensor(hand *h) { hand_instr(h, DMA, 0)->region.axis[0] = (tw_span){2, 3}; }
static void box_is_moved(hand *h) { hand_instr(h, MAC, 0)->box.span[2] = (tw_span){1, 3}; }
static void box_leaves_the_loops(hand *h) { hand_instr(h, MAC, 0)->box.span[1] = (tw_span){2, 3}; }
static void source_is_missing(hand *h) { hand_instr(h, MAC, 0)->src[1] = -1; }
static void accumulation_is_not_there(hand *h)
{
    hand_instr(h, MAC, 1)->accumulates = true;
    hand_instr(h, MAC, 1)->takes = false;
    hand_instr(h, MAC, 1)->dst = ACC;
}
static void unfinished_sums_leave_as_finished(hand *h)
{
    hand_instr(h, DMA, 2)->partial = false;
    hand_instr(h, DMA, 2)->work = 2;
}
static void finished_elements_come_back(hand *h)
{
    hand_instr(h, BACK, 0)->partial = false;
    hand_instr(h, BACK, 0)->work = 1;
}
static void sums_come_back_twice(hand *h)
{
    hand_double(h, hand_find(h, BACK, 0));
    hand_instr(h, BACK, 1)->dst = ACC + 1;
}
static void other_sums_come_back(hand *h) { hand_instr(h, BACK, 0)->region = hand_ofm(0, 1, 2); }
static void sums_come_back_from_nowhere(hand *h)
{
    hand_instr(h, DMA, 8)->region = hand_ofm(0, 0, 1);
    hand_instr(h, DMA, 8)->work = 4;
}
static void part_is_stored_twice(hand *h)
{
    hand_instr(h, LIFT, 1)->region = hand_ofm(0, 0, 1);
    hand_instr(h, MAC, 1)->box.span[1] = (tw_span){0, 1};
    hand_instr(h, STREAM, 1)[0].n_gives = 1;
    h->event[hand_find(h, STREAM, 1)][1].instr.region = hand_w(0, 0, 1);
}
static void store_leaves_a_part_behind(hand *h) { hand_drop(h, hand_find(h, LIFT, 1)); }
static void execution_forgets_the_sums(hand *h)
{
    hand_drop(h, hand_find(h, BACK, 1));
    hand_instr(h, MAC, 5)->accumulates = false;
    hand_instr(h, MAC, 5)->takes = true;
}
static void row_is_stored_as_another(hand *h) { hand_instr(h, DMA, 9)->region = hand_ofm(1, 0, 2); }
static void point_is_executed_twice(hand *h)
{
    hand_instr(h, DMA, 6)->region = hand_ifm(0, 0);
    hand_instr(h, DMA, 7)->region = hand_w(0, 0, 2);
    for (int n = 0; n < 2; n++) {
        int r = hand_find(h, STREAM, 4 + n);
        h->event[r][0].instr.region = hand_ifm(0, 0);
        h->event[r][1].instr.region = hand_w(0, n, n + 1);
        hand_instr(h, MAC, 4 + n)->box.span[2] = (tw_span){0, 2};
    }
}
static void last_store_is_dropped(hand *h) { hand_drop(h, h->n - 1); }
static void a_row_is_never_made(hand *h)
{
    for (int r = h->n - 1; r >= 0; r--) {
        int visit = r >= 30 ? 3 : r >= 18 ? 2 : r >= 9 ? 1 : 0;
        if (visit % 2) hand_drop(h, r);
    }
}

/* ---- the tables ---- */

static void slots_are_small(hand *h) { h->buffer[L2_OUT].size = 7; }
static void buffers_overlap(hand *h) { h->buffer[1].offset = 2; }
static void memory_is_too_small(hand *h) { h->machine.memory[1].size = 31; }

typedef struct damage {
    void (*inflict)(hand *h);
    const char *fault;
} damage;

static void check_all(const damage *d, size_t n, bool late)
{
    for (size_t i = 0; i < n; i++) {
        hand h;
        hand_write(&h);
        if (late) hand_schedule(&h);
        d[i].inflict(&h);
        if (!late) hand_schedule(&h);
        check(&h, d[i].fault);
    }
}

TEST(damaged_instructions_are_named_even_when_the_time_is_right)
{
    static const damage all[] = {
        {load_into_a_held_buffer, "command 1 (dma): LOAD takes buffer l2.ifm0, which is held"},
        {first_part_takes_no_credit, "command 4 (lift): STORE writes buffer l2.ofm0, which nobody holds"},
        {second_part_takes_a_credit, "command 7 (lift): STORE takes buffer l2.ofm0, which is held"},
        {credit_is_given_twice, "command 3 (mac): EXEC gives back buffer l1.ifm0, which nobody holds"},
        {credit_is_given_too_early, "command 5 (stream): LOAD reads buffer l2.ifm0, which nobody holds"},
        {credit_is_never_given, "buffer l1.w1 is still held at the end"},
        {target_is_given, "command 3 (mac): EXEC gives back buffer acc.ofm0, which it writes"},
        {sums_are_given_away,
         "command 5 (stream): LOAD gives back buffer l2.ofm0, which has sums in it that nobody took"},
        {load_takes_no_credit, "command 0 (dma): LOAD fills buffer l2.ifm0 without taking it"},
        {execution_adds_to_what_it_takes, "command 3 (mac): EXEC adds to buffer acc.ofm0, which it takes only now"},
        {store_on_the_wrong_mover, "command 4 (dma): STORE on 'dma' does not run between memories 'l2' and 'acc'"},
        {load_on_a_mover_that_goes_out, "command 22 (lift): LOAD on 'lift', which does not carry inwards"},
        {execution_on_a_mover, "command 3 (lift): EXEC is not on the compute engine 'mac'"},
        {load_on_the_array, "command 22 (mac): LOAD is not on a mover"},
        {other_sums_come_back, "command 23 (mac): EXEC takes sums of a region that buffer acc.ofm0 does not hold"},
        {sums_come_back_from_nowhere, "command 20 (dma): LOAD takes sums of a region that ofm does not hold"},
        {part_is_stored_twice, "command 7 (lift): STORE overwrites sums in buffer l2.ofm0 that nobody took"},
        {unit_is_unknown, "command 0 (dma) is on unit 2 of 'dma', which has 2"},
        {buffer_is_for_another, "command 2 (stream): LOAD uses buffer l1.w0 for operand 'ifm'"},
        {pool_has_the_other_input, "command 2 (stream): LOAD reads 'ifm' from buffer l2.ifm1, which holds 'w'"},
        {work_is_wrong, "command 0 (dma): LOAD claims work 3, does 2"},
        {partial_work_is_counted_as_finished, "command 4 (lift): STORE claims work 1, does 4"},
        {passes_are_wrong, "command 3 (mac): EXEC claims 2 passes, makes 1"},
        {loads_on_a_mover_that_joins_none, "command 2 (stream) joins instructions, which 'stream' cannot"},
        {store_adds, "command 7 (lift): STORE adds to what its target holds"},
        {load_takes_another_column,
         "command 2 (stream): LOAD takes a region of 'ifm' that buffer l2.ifm0 does not hold"},
        {box_is_moved, "command 3 (mac): EXEC takes a region of 'ifm' that buffer l1.ifm0 does not hold"},
        {box_leaves_the_loops, "command 3 (mac): EXEC box leaves the loops"},
        {source_is_missing, "command 3 (mac): EXEC has no buffer for 'w', which it reads"},
        {accumulation_is_not_there, "command 6 (mac): EXEC writes buffer acc.ofm0, which nobody holds"},
        {unfinished_sums_leave_as_finished,
         "command 8 (dma): STORE moves buffer l2.ofm0 out as finished before every point, once each, is in it"},
        {finished_elements_come_back, "command 22 (back): LOAD brings finished elements back"},
        {sums_come_back_twice, "command 23 (back): LOAD takes sums of a region that buffer l2.ofm0 does not hold"},
        {store_leaves_a_part_behind,
         "command 7 (dma): STORE takes sums of a region that buffer l2.ofm0 does not hold"},
        {execution_forgets_the_sums,
         "command 27 (lift): STORE moves buffer acc.ofm1 out as finished before every point, once each, is in it"},
        {row_is_stored_as_another,
         "command 29 (dma): STORE takes sums of a region that buffer l2.ofm0 does not hold"},
        {point_is_executed_twice,
         "command 24 (lift): STORE moves buffer acc.ofm0 out as finished before every point, once each, is in it"},
        {last_store_is_dropped, "buffer l2.ofm1 is still held at the end"},
        {a_row_is_never_made, "the stores do not write every element of 'ofm' once"},
        {slots_are_small, "command 7 (lift): STORE puts 8 units into buffer l2.ofm0 of 7"},
        {buffers_overlap, "layout: buffer l2.ifm1 lies at 2, buffer l2.ifm0 before it ends at 4"},
        {memory_is_too_small, "layout: buffer l2.ofm1 ends at 32, 'l2' has 31"},
    };
    check_all(all, TW_COUNT(all), false);
}

/* ---- time ---- */

static void number_is_wrong(hand *h) { h->row[5].tick++; }
static void execution_is_early(hand *h) { hand_shift(h, hand_find(h, MAC, 0), -1); }
static void load_is_early(hand *h) { hand_shift(h, hand_find(h, STREAM, 3), -1); }
static void dma_overlaps(hand *h) { hand_shift(h, hand_find(h, DMA, 1), -1); }
static void sums_are_not_back(hand *h) { hand_shift(h, hand_find(h, DMA, 8), -1); }
static void store_is_early(hand *h) { hand_shift(h, hand_find(h, LIFT, 0), -1); }
static void engine_idles(hand *h) { hand_shift(h, h->n - 1, 1); }
static void reason_is_wrong(hand *h) { h->event[3][0].wait = TW_WAIT_CREDIT; }
static void idle_time_is_wrong(hand *h) { h->event[3][0].waited++; }
static void transfer_is_long(hand *h)
{
    h->event[0][0].end_cycle++;
    h->row[0].end_cycle++;
}
static void unit_is_busy_too_long(hand *h) { h->event[4][0].busy_end++; }
static void members_disagree(hand *h) { h->event[2][1].end_cycle++; }
static void member_stands_alone(hand *h) { h->event[2][1].instr.together = false; }
static void row_disagrees(hand *h) { h->row[3].end_cycle++; }
static void time_runs_backwards(hand *h) { hand_shift(h, 0, -1); }
static void buffer_is_still_held(hand *h)
{
    for (int r = 0; r < h->n; r++)
        if (h->event[r][0].wait == TW_WAIT_CREDIT) {
            hand_shift(h, r, -1);
            return;
        }
}

TEST(damaged_times_are_named)
{
    static const damage all[] = {
        {number_is_wrong, "command 6 (stream) should have number 5"},
        {execution_is_early, "command 3 (mac): EXEC starts at 11, buffer l1.ifm0 is written until 12"},
        {load_is_early, "command 14 (stream): LOAD starts at 34, buffer l2.ifm3 is written until 35"},
        {dma_overlaps, "command 1 (dma) starts at 3, unit 0 of 'dma' is busy until 4"},
        {sums_are_not_back, "command 20 (dma): LOAD starts at 26, its sums are stored in 'dram' until 27"},
        {store_is_early, "command 4 (lift): STORE starts at 15, buffer acc.ofm0 is written until 16"},
        {engine_idles, "command 41 (dma): STORE starts at 111, nothing keeps it after 110"},
        {reason_is_wrong, "command 3 (mac): EXEC says that it waited for a credit, it was data"},
        {idle_time_is_wrong, "command 3 (mac): EXEC says that its unit stood idle for 13 cycles, it was 12"},
        {transfer_is_long, "command 0 (dma) takes 5 cycles, should take 4"},
        {unit_is_busy_too_long, "command 4 (lift) keeps its engine busy for 2 cycles, should for 1"},
        {members_disagree, "command 2 (stream) has instructions that disagree about its engine or its time"},
        {member_stands_alone, "command 2 (stream) holds instructions that do not belong together"},
        {row_disagrees, "command 3 (mac) disagrees with its instruction about its time"},
        {time_runs_backwards, "command 0 (dma) runs backwards in time"},
        {sums_skip_a_memory,
         "command 4 (lift): STORE moves 'ofm' between 'dram' and 'acc', which is not on its path"},
        {buffer_is_unknown, "command 4 (lift): STORE names buffer 12, there is none"},
        {sum_has_no_meaning, "command 4 (lift): SUM has no meaning on an async machine"},
        {region_leaves_the_tensor, "command 0 (dma): LOAD region leaves tensor 'ifm'"},
        {tensor_is_taken, "command 8 (dma): STORE takes a credit of 'dram'"},
        {buffer_is_still_held, "command 22 (back): LOAD starts at 43, buffer acc.ofm0 is held until 44"},
    };
    check_all(all, TW_COUNT(all), true);
}

/* Sums that come back while others of their buffer leave: the store waits for the load. */
TEST(a_buffer_that_is_read_is_not_written)
{
    hand h;
    hand_write(&h);
    hand_raise(&h, hand_find(&h, BACK, 1), hand_find(&h, LIFT, 4));
    h.machine.engine[BACK].cost.stepped.per_step = 40;
    hand_schedule(&h);
    check(&h, NULL);
    hand_shift(&h, hand_find(&h, LIFT, 4), -1);
    check(&h, "command 25 (lift): STORE starts at 123, buffer l2.ofm0 is read until 124");
}

TEST(nothing_is_found_when_nothing_runs)
{
    hand h;
    hand_write(&h);
    h.n = 0;
    check(&h, "the stores do not write every element of 'ofm' once");
}

TEST(too_little_memory_is_never_a_fault)
{
    tw_status status = TW_ERR_NOMEM;
    hand h;
    hand_write(&h);
    hand_schedule(&h);
    for (int64_t n = 1; status != TW_OK; n++) {
        tw_arena *arena = tw_arena_new();
        CHECK(arena != NULL);
        tw_arena_fail_at(arena, n);
        tw_checker *checker = tw_checker_new(&h.in, arena);
        status = checker ? TW_OK : TW_ERR_NOMEM;
        for (int i = 0; i < h.n && status == TW_OK; i++) {
            tw_row_sink sink = tw_checker_sink(checker);
            status = sink.begin(sink.user, &h.row[i]);
        }
        if (status == TW_OK)
            CHECK(tw_checker_finish(checker) == NULL);
        else
            CHECK_EQ(status, TW_ERR_NOMEM);
        tw_arena_free(arena);
    }
}
