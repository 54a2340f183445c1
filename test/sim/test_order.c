/* Commands in program order come out in the order of time, as early as is certain. */
#include "sim/order.h"
#include "tw_test.h"

#include <string.h>

enum { MAC, IN, OUT, N_ENGINES, MAX = 400 };

static tw_machine machine_of(int64_t n_in)
{
    return (tw_machine){
        .name = "three",
        .timing = TW_ASYNC,
        .n_memories = 2,
        .n_engines = N_ENGINES,
        .engine = {{.name = "mac", .kind = TW_COMPUTES, .outer = -1, .memory = 1, .count = 1},
                   {.name = "in", .kind = TW_MOVES, .memory = 1, .carries = TW_INWARDS, .count = n_in},
                   {.name = "out", .kind = TW_MOVES, .memory = 1, .carries = TW_OUTWARDS, .count = 1}},
        .compute = MAC};
}

typedef struct list {
    int n;
    int64_t tick[MAX], start[MAX];
    int n_events[MAX];
    int64_t stop_at; /* fails with the command of this number */
} list;

static tw_status note(void *user, const tw_rowset *row)
{
    list *l = user;
    if (row->tick == l->stop_at) return TW_ERR_NOMEM;
    l->tick[l->n] = row->tick;
    l->start[l->n] = row->start_cycle;
    l->n_events[l->n++] = row->n_events;
    for (int i = 0; i < row->n_events; i++) CHECK_EQ(row->event[i].instr.work, 10 * row->tick + i);
    return TW_OK;
}

static tw_status put(const tw_row_sink *sink, int64_t tick, int engine, int unit, int64_t start, int64_t busy)
{
    tw_event event[2] = {0};
    int n = engine == IN && tick % 3 == 0 ? 2 : 1;
    for (int i = 0; i < n; i++)
        event[i] = (tw_event){.instr = {.engine = (int16_t)engine, .unit = (int16_t)unit, .work = 10 * tick + i},
                              .start_cycle = start,
                              .end_cycle = start + busy,
                              .busy_end = start + busy};
    tw_rowset row = {.tick = tick, .start_cycle = start, .end_cycle = start + busy, .n_events = n, .event = event};
    return sink->begin(sink->user, &row);
}

TEST(a_command_waits_until_none_can_start_before_it)
{
    tw_arena *arena = tw_arena_new();
    tw_machine machine = machine_of(1);
    list got = {.stop_at = -1};
    tw_row_sink to = {note, NULL, &got};
    tw_order *order = tw_order_new(&machine, &to, arena);
    CHECK(order != NULL);
    tw_row_sink sink = tw_order_sink(order);
    CHECK_EQ(put(&sink, 0, IN, 0, 0, 10), TW_OK);
    CHECK_EQ(got.n, 1); /* nobody starts before cycle 0 */
    CHECK_EQ(put(&sink, 1, MAC, 0, 10, 30), TW_OK);
    CHECK_EQ(got.n, 2); /* the next load starts at 10 at the earliest, and behind this in the program */
    CHECK_EQ(put(&sink, 2, IN, 0, 12, 10), TW_OK);
    CHECK_EQ(got.n, 2); /* a store may start at 10 */
    CHECK_EQ(put(&sink, 3, MAC, 0, 40, 30), TW_OK);
    CHECK_EQ(got.n, 3); /* but behind this execution no more; the next load can start at 22 */
    CHECK_EQ(put(&sink, 4, IN, 0, 22, 10), TW_OK);
    CHECK_EQ(got.n, 4);
    CHECK_EQ(put(&sink, 5, OUT, 0, 70, 5), TW_OK);
    CHECK_EQ(got.n, 4); /* the execution at 40 waits for loads, which can start at 32 */
    CHECK_EQ(tw_order_flush(order), TW_OK);
    CHECK_EQ(got.n, 6);
    static const int64_t tick[] = {0, 1, 2, 4, 3, 5};
    for (int i = 0; i < 6; i++) CHECK_EQ(got.tick[i], tick[i]);
    tw_arena_free(arena);
}

TEST(an_engine_that_is_done_holds_nobody_up)
{
    tw_arena *arena = tw_arena_new();
    tw_machine machine = machine_of(1);
    list got = {.stop_at = -1};
    tw_row_sink to = {note, NULL, &got};
    tw_order *order = tw_order_new(&machine, &to, arena);
    CHECK(order != NULL);
    tw_order_expect(order, IN, 2); /* one command of two instructions */
    tw_row_sink sink = tw_order_sink(order);
    CHECK_EQ(put(&sink, 0, IN, 0, 0, 10), TW_OK);
    for (int i = 1; i < 50; i++) {
        CHECK_EQ(put(&sink, i, MAC, 0, 100 * i, 100), TW_OK);
        CHECK_EQ(got.n, i + 1);
    }
    tw_arena_free(arena);
}

TEST(an_engine_with_no_more_loads_waits_for_executions)
{
    tw_arena *arena = tw_arena_new();
    tw_machine machine = machine_of(1);
    machine.engine[IN].carries = TW_BOTH_WAYS;
    list got = {.stop_at = -1};
    tw_row_sink to = {note, NULL, &got};
    for (int told = 0; told < 2; told++) {
        got.n = 0;
        tw_order *order = tw_order_new(&machine, &to, arena);
        CHECK(order != NULL);
        if (told) tw_order_expect_loads(order, IN, 2);
        tw_row_sink sink = tw_order_sink(order);
        CHECK_EQ(put(&sink, 0, IN, 0, 0, 10), TW_OK);
        for (int i = 1; i < 50; i++) CHECK_EQ(put(&sink, i, MAC, 0, 100 * i, 100), TW_OK);
        CHECK_EQ(got.n, told ? 50 : 1);
    }
    tw_arena_free(arena);
}

/* Engines that run their commands one after the other, whatever the program is. */
static void check_random(uint64_t *r, bool tell)
{
    tw_arena *arena = tw_arena_new();
    int n_units = (int)tw_test_pick(r, 1, 3);
    tw_machine machine = machine_of(n_units);
    int64_t free[N_ENGINES][3] = {{0}}, start[MAX], total[N_ENGINES] = {0}, last_exec = 0;
    int engine[MAX], unit[MAX], busy[MAX], n = (int)tw_test_pick(r, 1, MAX);
    list got = {.stop_at = -1};
    tw_row_sink to = {note, NULL, &got};
    tw_order *order = tw_order_new(&machine, &to, arena);
    CHECK(order != NULL);
    for (int i = 0; i < n; i++) {
        engine[i] = (int)tw_test_pick(r, 0, 2);
        unit[i] = engine[i] == IN ? (int)tw_test_pick(r, 0, n_units - 1) : 0;
        busy[i] = (int)tw_test_pick(r, 0, 9);
        start[i] = free[engine[i]][unit[i]] + tw_test_pick(r, 0, 3) * tw_test_pick(r, 0, 9);
        if (engine[i] == OUT) start[i] = tw_max(start[i], last_exec);
        if (engine[i] == MAC) last_exec = start[i];
        free[engine[i]][unit[i]] = start[i] + busy[i];
        total[engine[i]] += engine[i] == IN && i % 3 == 0 ? 2 : 1;
    }
    for (int e = 0; e < N_ENGINES && tell; e++) tw_order_expect(order, e, total[e]);
    tw_row_sink sink = tw_order_sink(order);
    for (int i = 0; i < n; i++) CHECK_EQ(put(&sink, i, engine[i], unit[i], start[i], busy[i]), TW_OK);
    CHECK(!tell || got.n == n);
    CHECK_EQ(tw_order_flush(order), TW_OK);
    CHECK_EQ(got.n, n);
    for (int i = 1; i < n; i++)
        CHECK(got.start[i - 1] < got.start[i] ||
              (got.start[i - 1] == got.start[i] && got.tick[i - 1] < got.tick[i]));
    tw_arena_free(arena);
}

TEST(every_program_comes_out_sorted_and_complete)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 500; i++) check_random(&r, i % 2);
}

TEST(memory_does_not_grow_with_the_program)
{
    tw_arena *arena = tw_arena_new();
    tw_machine machine = machine_of(1);
    tw_row_sink nobody = {0};
    tw_order *order = tw_order_new(&machine, &nobody, arena);
    CHECK(order != NULL);
    tw_row_sink sink = tw_order_sink(order);
    size_t before = 0;
    for (int i = 0; i < 100000; i++) {
        CHECK_EQ(put(&sink, i, i % 2 ? MAC : IN, 0, 10 * (i / 2) + (i % 2 ? 50 : 0), 10), TW_OK);
        if (i == 1000) before = tw_arena_peak(arena);
    }
    CHECK_EQ(tw_arena_peak(arena), before);
    tw_arena_free(arena);
}

TEST(a_sink_that_stops_and_a_host_without_memory_end_the_walk)
{
    tw_machine machine = machine_of(1);
    list got = {.stop_at = 1};
    tw_row_sink to = {note, NULL, &got};
    for (int64_t fail = 0; fail < 12; fail++) {
        tw_arena *arena = tw_arena_new();
        tw_arena_fail_at(arena, fail);
        tw_order *order = tw_order_new(&machine, &to, arena);
        tw_status status = order ? TW_OK : TW_ERR_NOMEM;
        for (int i = 0; i < 3 && status == TW_OK; i++) {
            tw_row_sink sink = tw_order_sink(order);
            status = put(&sink, i, IN, 0, 10 * i, 10);
        }
        if (status == TW_OK) status = tw_order_flush(order);
        CHECK_EQ(status, TW_ERR_NOMEM);
        tw_arena_free(arena);
    }
}
