/* The judge of groups knows when each command starts: at ports, and where two groups take turns. Both programs are written by
 * hand. */
#include "joint_hand.h"

static void check(const joint_hand *h, const char *expected)
{
    tw_arena *arena = tw_arena_new();
    const char *fault = NULL, *who = NULL;
    int64_t elements = 0;
    CHECK(arena != NULL);
    tw_joint_judge *j = tw_joint_judge_new(&h->in, arena);
    CHECK(j != NULL);
    tw_row_sink sink = tw_joint_judge_sink(j);
    for (int i = 0; i < h->n; i++) CHECK_EQ(sink.begin(sink.user, &h->row[i]), TW_OK);
    CHECK_EQ(tw_joint_judge_finish(j, &fault, &who, &elements), TW_OK);
    CHECK_STR(fault ? fault : "no fault", expected ? expected : "no fault");
    tw_arena_free(arena);
}

/* When a command starts and ends. */
static void place(joint_hand *h, int command, int64_t start, int64_t end)
{
    h->event[command].start_cycle = h->row[command].start_cycle = start;
    h->event[command].busy_end = h->event[command].end_cycle = h->row[command].end_cycle = end;
}

/* ---- ports ---- */

/* The first store is on an engine of its own, and the port stands between it and the second load:
 *
 *     dma    a--- b---        b---
 *     spare                c---           the load of b is ready at 8, fits before the store, and goes there
 *     mac            exec--   ..      */
static void before_the_store(joint_hand *h)
{
    joint_hand_write(h);
    h->in.claims = NULL;
    h->event[3].instr.engine = HAND_SPARE;
    hand_wait(h, 3, TW_WAIT_DATA, 14);
    place(h, 4, 8, 12);
    place(h, 5, 18, 24);
    hand_wait(h, 5, TW_WAIT_CREDIT, 4);
    place(h, 6, 24, 28);
    hand_wait(h, 6, TW_WAIT_DATA, 12);
}

TEST(a_transfer_goes_into_a_gap_before_another)
{
    joint_hand h;
    before_the_store(&h);
    check(&h, NULL);
    place(&h, 4, 10, 14);
    check(&h, "command 4 (dma): LOAD 'b' of 'matmul' starts at 10, nothing keeps it after 8");
    place(&h, 4, 11, 15);
    check(&h, "command 4 (dma): LOAD 'b' of 'matmul' starts at 11, port 'bus' is taken until 18");
    before_the_store(&h);
    h.event[5].wait = TW_WAIT_DATA;
    check(&h, "command 5 (mac): EXEC 'c' of 'matmul' says that it waited for data, it was a credit");
}

/* With words of 8 units and one unit a cycle the load does not fit before the store any more. */
static void behind_the_store(joint_hand *h)
{
    static const int64_t at[][2] = {{0, 8}, {8, 16}, {16, 22}, {22, 30}, {30, 38}, {38, 44}, {44, 52}};
    joint_hand_write(h);
    h->in.claims = NULL;
    h->port.word = 8;
    h->port.per_cycle = 1;
    h->event[3].instr.engine = HAND_SPARE;
    for (int i = 0; i < h->n; i++) place(h, i, at[i][0], at[i][1]);
    hand_wait(h, 2, TW_WAIT_DATA, 16);
    hand_wait(h, 3, TW_WAIT_DATA, 22);
    hand_wait(h, 4, TW_WAIT_PORT, 14);
    hand_wait(h, 5, TW_WAIT_DATA, 16);
}

TEST(a_transfer_waits_for_a_port)
{
    joint_hand h;
    behind_the_store(&h);
    check(&h, NULL);
    place(&h, 4, 29, 37);
    check(&h, "command 4 (dma): LOAD 'b' of 'matmul' starts at 29, port 'bus' is taken until 30");
    place(&h, 4, 31, 39);
    check(&h, "command 4 (dma): LOAD 'b' of 'matmul' starts at 31, nothing keeps it after 30");
    behind_the_store(&h);
    hand_wait(&h, 4, TW_WAIT_DATA, 14);
    check(&h, "command 4 (dma): LOAD 'b' of 'matmul' says that it waited for data, it was a port");
    behind_the_store(&h);
    h.port.ways = 2; /* there is room at its side */
    check(&h, "command 4 (dma): LOAD 'b' of 'matmul' starts at 30, nothing keeps it after 16");
}

/* ---- stores that wait ---- */

/* The load of the second column comes before the store of the first. */
static void load_first(joint_hand *h)
{
    joint_hand_write(h);
    h->in.claims = NULL;
    tw_instr load = h->event[4].instr;
    h->event[4].instr = h->event[3].instr;
    h->event[3].instr = load;
    place(h, 3, 8, 12);
    hand_wait(h, 3, TW_WAIT_ENGINE, 0);
    place(h, 4, 14, 18);
    hand_wait(h, 4, TW_WAIT_DATA, 2);
    place(h, 5, 18, 24);
    hand_wait(h, 5, TW_WAIT_CREDIT, 4);
    place(h, 6, 24, 28);
    hand_wait(h, 6, TW_WAIT_DATA, 6);
}

TEST(stores_wait_for_loads_where_a_mover_runs_ahead)
{
    joint_hand h;
    load_first(&h);
    check(&h, "group 'g': command 4 waits for the next loads, no mover of it runs ahead");
    h.engine[HAND_DMA].is.prefetches = true;
    check(&h, NULL);
    joint_hand_write(&h);
    check(&h, NULL);
    h.engine[HAND_DMA].is.prefetches = true;
    check(&h, "group 'g': its stores from command 3 on do not wait for the next loads");
}

/* ---- turns ---- */

typedef struct two {
    joint_hand h;
    tw_group_map group[2];
    tw_buffer buffer[6];
} two;

static void take(two *t, int command, tw_instr i, int64_t start)
{
    t->h.event[command].instr = i;
    place(&t->h, command, start, start + (i.op == TW_EXEC ? 6 : 4));
}

/* Each of two groups makes one column, with buffers of its own. Loads and the first execution are ready when group 1 is, too,
 * and come first; then the loads of group 1 are ready before the store of group 0 is:
 *
 *     dma   a0-- b0-- a1-- b1-- c0-- ..c1--
 *     mac             exec0-   exec1-                */
static void two_write(two *t)
{
    static const int order[] = {0, 1, 2, 4, 5, 3, 6, 7}; /* the commands of group 0, then those of group 1 */
    static const int64_t start[] = {0, 4, 8, 8, 12, 16, 16, 22};
    joint_hand *h = &t->h;
    tw_instr each[8];
    joint_hand_write(h);
    for (int i = 0; i < 4; i++) each[i] = h->event[i].instr;
    each[4] = h->event[0].instr;
    for (int i = 0; i < 3; i++) each[5 + i] = h->event[4 + i].instr;
    for (int i = 0; i < 8; i++) {
        bool second = i >= 4;
        int b = 3 * second;
        each[i].group = second;
        if (each[i].op == TW_LOAD) each[i].dst = b + each[i].operand;
        if (each[i].op == TW_STORE) each[i].src[0] = each[i].gives[0] = b + 2;
        if (each[i].op != TW_EXEC) continue;
        each[i].src[0] = each[i].gives[0] = b;
        each[i].src[1] = each[i].gives[1] = b + 1;
        each[i].dst = b + 2;
        each[i].n_gives = 2;
    }
    h->n = 8;
    for (int i = 0; i < 8; i++) {
        h->row[i] = (tw_rowset){.command = true, .tick = i, .n_events = 1, .event = &h->event[i]};
        take(t, i, each[order[i]], start[i]);
        hand_wait(h, i, i == 0 ? TW_WAIT_NONE : TW_WAIT_ENGINE, 0);
    }
    hand_wait(h, 2, TW_WAIT_DATA, 8);
    hand_wait(h, 6, TW_WAIT_DATA, 2);
    hand_wait(h, 7, TW_WAIT_DATA, 2);
    for (int g = 0; g < 2; g++) {
        t->group[g] = h->group;
        t->group[g].name = g ? "right" : "left";
        t->group[g].n_parts = 1;
        t->group[g].part[0] = (tw_group_part){1, {g, g + 1}};
        t->group[g].n_holds = 0;
        for (int b = 0; b < 3; b++)
            t->buffer[3 * g + b] = (tw_buffer){.memory = 1,
                                               .operand = b,
                                               .group = g,
                                               .offset = 20 * g + (b == 1   ? 8
                                                                   : b == 2 ? 12
                                                                            : 0),
                                               .size = b == 1 ? 4 : 8};
    }
    h->in.n_groups = 2;
    h->in.group = t->group;
    h->in.n_buffers = 6;
    h->in.buffer = t->buffer;
    h->in.claims = NULL;
}

/* Two commands that follow each other change places; their times stay. */
static void swap(two *t, int command)
{
    tw_event e = t->h.event[command];
    t->h.event[command] = t->h.event[command + 1];
    t->h.event[command + 1] = e;
    for (int i = command; i < command + 2; i++) {
        t->h.row[i].start_cycle = t->h.event[i].start_cycle;
        t->h.row[i].end_cycle = t->h.event[i].end_cycle;
    }
}

TEST(groups_take_turns)
{
    two t;
    two_write(&t);
    check(&t.h, NULL);
    swap(&t, 2); /* the execution is ready at 8, as the load of the second group is, and stands first */
    check(&t.h,
          "command 3 (mac): EXEC 'c' of 'matmul' could start at 8 and comes after command 2 of group 'right', "
          "which could start at 8");
    two_write(&t);
    swap(&t, 5);
    check(&t.h, "command 6 (dma): STORE 'c' of 'matmul' could start at 14 and comes after command 5 of group "
                "'right', which could start at 16");
    t.h.in.unhurried = true;
    check(&t.h, NULL);
}

TEST(a_group_may_not_go_before_one_that_is_ready_earlier)
{
    two t;
    two_write(&t);
    /* the store of group 0, ready at 14, before the load of b of group 1, ready at 12 */
    tw_event load = t.h.event[4], store = t.h.event[5];
    take(&t, 4, store.instr, 14);
    hand_wait(&t.h, 4, TW_WAIT_DATA, 2);
    take(&t, 5, load.instr, 18);
    hand_wait(&t.h, 5, TW_WAIT_ENGINE, 0);
    check(&t.h, "command 5 (dma): LOAD 'b' of 'matmul' could start at 0 and comes after command 4 of group 'left', "
                "which could start at 14");
}
