/* The checker accepts every program that the builder makes and refuses every damaged one. */
#include "broken.h"

/* ---- one program by hand: matmul 2x2x4, rows as in layout L3-A of the tiling notes ---- */

enum { IFM, W, OFM };

static const tw_tensor tensor[] = {
    {.name = "a", .dtype = TW_DTYPE_F32, .n_axes = 2, .extent = {2, 4}},
    {.name = "b", .dtype = TW_DTYPE_F32, .n_axes = 2, .extent = {4, 2}},
    {.name = "c", .dtype = TW_DTYPE_F32, .n_axes = 2, .extent = {2, 2}},
};
#define AXIS(loop_, extent_)                                                  \
    {                                                                         \
        .extent = extent_, .divisor = 1, .n_terms = 1, .term = { {loop_, 1} } \
    }
static const tw_op matmul = {
    .name = "matmul",
    .compute = TW_MULTIPLY_ADD,
    .n_loops = 3,
    .loop = {{"m", 2, false}, {"n", 2, false}, {"k", 4, true}},
    .n_operands = 3,
    .operand = {{"ifm", 0, 2, {AXIS(0, 2), AXIS(2, 4)}},
                {"w", 1, 2, {AXIS(2, 4), AXIS(1, 2)}},
                {"ofm", 2, 2, {AXIS(0, 2), AXIS(1, 2)}}},
};
static const tw_model model = {"one matmul", 3, tensor, 1, &matmul};
static const tw_machine machine = {
    .name = "small",
    .n_memories = 2,
    .memory = {{.name = "outside", .size = TW_UNLIMITED, .align = 1}, {.name = "buffer", .size = 9, .align = 1}},
    .n_engines = 2,
    .engine = {{.name = "mac",
                .kind = TW_COMPUTES,
                .outer = -1,
                .memory = 1,
                .cost = {TW_COST_CONSTANT, .constant = {1, 0}},
                .computes = 15,
                .accumulate = 7,
                .shares = -1,
                .min_tile = 1},
               {.name = "move",
                .kind = TW_MOVES,
                .carries = TW_BOTH_WAYS,
                .outer = 0,
                .memory = 1,
                .cost = {TW_COST_CONSTANT, .constant = {1, 0}},
                .shares = -1}},
};
static const tw_buffer buffer[] = {{1, IFM, 0, 0, 4}, {1, W, 0, 4, 4}, {1, OFM, 0, 8, 1}};
static const tw_layout layout = {.n_buffers = 3, .buffer = buffer};
static const tw_level_info level[] = {{.memory = 1, .mode = TW_SEPARATE}};
static const tw_verify_input small = {
    .model = &model, .op = &matmul, .machine = &machine, .layout = &layout, .n_levels = 1, .level = level};

static tw_instr load(int operand, int64_t m, int64_t n)
{
    tw_instr i = {.op = TW_LOAD,
                  .engine = 1,
                  .operand = (int16_t)operand,
                  .dst = (int16_t)operand,
                  .n_src = 1,
                  .src = {-1},
                  .work = 4,
                  .box = {{{m, m + 1}, {n, n + 1}, {0, 4}}}};
    i.region = operand == IFM ? (tw_region){{{m, m + 1}, {0, 4}}} : (tw_region){{{0, 4}, {n, n + 1}}};
    return i;
}
static tw_instr exec(int64_t m, int64_t n)
{
    return (tw_instr){.op = TW_EXEC,
                      .engine = 0,
                      .operand = OFM,
                      .dst = 2,
                      .n_src = 2,
                      .src = {0, 1},
                      .work = 4,
                      .box = {{{m, m + 1}, {n, n + 1}, {0, 4}}},
                      .region = {{{m, m + 1}, {n, n + 1}}}};
}
static tw_instr store(int64_t m, int64_t n)
{
    return (tw_instr){.op = TW_STORE,
                      .engine = 1,
                      .operand = OFM,
                      .dst = -1,
                      .n_src = 1,
                      .src = {2},
                      .work = 1,
                      .box = {{{m, m + 1}, {n, n + 1}, {0, 4}}},
                      .region = {{{m, m + 1}, {n, n + 1}}}};
}

/* Nine rows: load, execute, store and load the next, ... */
typedef struct hand_made {
    tw_event event[9][3];
    tw_rowset row[9];
} hand_made;

static void put(hand_made *h, int row, tw_instr instr, int64_t live)
{
    tw_rowset *r = &h->row[row];
    h->event[row][r->n_events++] = (tw_event){instr, row, row + 1};
    *r = (tw_rowset){.memory = 1,
                     .tick = row,
                     .start_cycle = row,
                     .end_cycle = row + 1,
                     .live_units = live,
                     .n_events = r->n_events,
                     .event = h->event[row]};
}

static void write_program(hand_made *h)
{
    static const int64_t tile[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    *h = (hand_made){0};
    for (int t = 0; t < 4; t++) {
        int64_t m = tile[t][0], n = tile[t][1];
        bool new_ifm = t == 0 || tile[t - 1][0] != m, new_w = t == 0 || tile[t - 1][1] != n;
        int64_t before = t == 0 ? 8 : 9;
        if (t > 0) put(h, 2 * t, store(tile[t - 1][0], tile[t - 1][1]), before);
        if (new_ifm) put(h, 2 * t, load(IFM, m, n), before);
        if (new_w) put(h, 2 * t, load(W, m, n), before);
        put(h, 2 * t + 1, exec(m, n), 9);
    }
    put(h, 8, store(0, 1), 1);
}

static void check_hand_made(hand_made *h, const char *expected)
{
    tw_arena *arena = tw_arena_new();
    CHECK(arena != NULL);
    tw_checker *checker = tw_checker_new(&small, arena);
    CHECK(checker != NULL);
    tw_row_sink sink = tw_checker_sink(checker);
    for (int i = 0; i < 9; i++) {
        CHECK_EQ(sink.begin(sink.user, &h->row[i]), TW_OK);
        CHECK_EQ(sink.end(sink.user, &h->row[i]), TW_OK);
    }
    const char *fault = tw_checker_finish(checker);
    if (expected)
        CHECK_STR(fault, expected);
    else if (fault)
        CHECK_STR(fault, "no fault");
    tw_arena_free(arena);
}

TEST(nine_rows_written_by_hand_are_right)
{
    hand_made h;
    write_program(&h);
    check_hand_made(&h, NULL);
}

TEST(a_load_into_a_buffer_in_use_names_both)
{
    hand_made h;
    write_program(&h);
    put(&h, 1, load(IFM, 1, 0), 9);
    check_hand_made(&h, "row 1 (buffer): EXEC reads buffer ifm0 that LOAD writes in the same row");
}

TEST(a_store_of_an_unfinished_sum_is_told_from_a_finished_one)
{
    hand_made h;
    write_program(&h);
    h.event[1][0].instr.box.span[2] = (tw_span){0, 3};
    h.event[1][0].instr.work = 3;
    check_hand_made(&h, "row 2 (buffer): STORE moves buffer ofm0 out before every point, once each, is in it");
}

TEST(a_tile_that_is_stored_twice_is_not_a_cover)
{
    hand_made h;
    write_program(&h);
    h.event[7][0].instr = exec(1, 1);
    h.event[8][0].instr = store(1, 1);
    h.event[6][1].instr = load(IFM, 1, 1);
    check_hand_made(&h, "the stores do not write every element of 'ofm' once");
}

TEST(a_late_row_a_wrong_length_and_a_wrong_live_count_are_named)
{
    hand_made h;
    write_program(&h);
    h.row[3].end_cycle++;
    check_hand_made(&h, "row 3 (buffer) lasts 2 cycles, its slowest engine 1");
    write_program(&h);
    h.row[3].start_cycle--;
    check_hand_made(&h, "row 3 (buffer) starts at 2, the row before it ended at 3");
    write_program(&h);
    h.row[8].live_units = 5;
    check_hand_made(&h, "row 8 (buffer) claims 5 live units, has 1");
}

/* ---- programs of the real builder ---- */

TEST(every_program_of_the_builder_is_accepted)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        test_case *c = case_new(&r, i % CASE_KINDS, 9);
        const char *fault = case_check(&c->in, case_record(c), c->arena);
        if (fault) print_error("case %d, %s: %s\n", i, c->line, fault);
        CHECK(fault == NULL);
        case_free(c);
    }
}

/* Damage can leave a program right: a partial sum that was dropped held nothing but padding. Then the
 * executor must find nothing either, whatever the numbers. */
static bool is_harmless(const tw_verify_input *in, const record *rec, tw_arena *arena)
{
    const char *who;
    for (uint64_t seed = 0; seed < 4; seed++)
        if (case_execute(in, rec, seed, arena, NULL, &who)) return false;
    return true;
}

TEST(every_kind_of_damage_is_found)
{
    uint64_t r = tw_test_seed();
    for (size_t d = 0; d < TW_COUNT(damages); d++) {
        int n = 0, harmless = 0;
        for (int i = 0; i < 210; i++) {
            test_case *c = case_new(&r, i % CASE_KINDS, 9);
            patient p = patient_of(&r, c);
            if (damages[d].inflict(&p)) {
                n++;
                if (!case_check(patient_input(&p), p.rec, c->arena)) {
                    harmless++;
                    if (!is_harmless(&p.in, p.rec, c->arena))
                        print_error("%s of %s is missed\n", damages[d].name, c->line);
                    CHECK(is_harmless(&p.in, p.rec, c->arena));
                }
            }
            case_free(c);
        }
        if (n < 40 || harmless * 25 > n) print_error("%s: %d cases, %d harmless\n", damages[d].name, n, harmless);
        CHECK(n >= 40 && harmless * 25 <= n);
    }
}

TEST(running_out_of_memory_is_survived_wherever_it_happens)
{
    uint64_t r = 5;
    test_case *c = case_new(&r, CASE_CONV, 5);
    record *rec = case_record(c);
    for (int64_t n = 1;; n++) {
        tw_arena *arena = tw_arena_new();
        CHECK(arena != NULL);
        tw_arena_fail_at(arena, n);
        tw_checker *checker = tw_checker_new(&c->in, arena);
        tw_status status = checker ? TW_OK : TW_ERR_NOMEM;
        for (int i = 0; i < rec->n_script && status == TW_OK; i++) {
            tw_row_sink sink = tw_checker_sink(checker);
            int at = rec->script[i];
            status = at >= 0 ? sink.begin(sink.user, &rec->row[at]) : sink.end(sink.user, &rec->row[~at]);
        }
        if (status == TW_OK)
            CHECK(tw_checker_finish(checker) == NULL);
        else
            CHECK_EQ(status, TW_ERR_NOMEM);
        tw_arena_free(arena);
        if (status == TW_OK) break;
    }
    case_free(c);
}

/* ---- instructions that no builder would make ---- */

static int64_t wild(uint64_t *r)
{
    static const int64_t value[] = {-1, -2, 0, INT16_MAX, INT16_MIN};
    int64_t pick = tw_test_pick(r, 0, (int64_t)TW_COUNT(value) + 2);
    return pick < (int64_t)TW_COUNT(value) ? value[pick] : tw_test_pick(r, -8, 24);
}

static void scramble(patient *p)
{
    uint64_t *r = p->r;
    tw_rowset *row = &p->rec->row[tw_test_pick(r, 0, p->rec->n_rows - 1)];
    tw_instr *i = &((tw_event *)row->event)[tw_test_pick(r, 0, row->n_events - 1)].instr;
    switch (tw_test_pick(r, 0, 12)) {
    case 0: i->op = (tw_opcode)tw_test_pick(r, 0, 5); break;
    case 1: i->accumulates = !i->accumulates; break;
    case 2: i->nested = !i->nested; break;
    case 3: i->engine = (int16_t)wild(r); break;
    case 4: i->operand = (int16_t)wild(r); break;
    case 5: i->dst = (int16_t)wild(r); break;
    case 6: i->n_src = (int16_t)wild(r); break;
    case 7: i->src[tw_test_pick(r, 0, 2)] = (int16_t)wild(r); break;
    case 8: i->box.span[tw_test_pick(r, 0, 5)].lo = wild(r); break;
    case 9: i->box.span[tw_test_pick(r, 0, 5)].hi = wild(r); break;
    case 10: i->region.axis[tw_test_pick(r, 0, 3)].lo = wild(r); break;
    case 11: i->region.axis[tw_test_pick(r, 0, 3)].hi = wild(r); break;
    default: row->level = (int)tw_test_pick(r, -1, 4); break;
    }
}

TEST(wild_instructions_crash_no_judge_and_what_the_checker_accepts_computes_right)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 1500; i++) {
        test_case *c = case_new(&r, i % CASE_KINDS, 7);
        patient p = patient_of(&r, c);
        for (int64_t k = tw_test_pick(&r, 1, 3); k > 0; k--) scramble(&p);
        const char *fault = case_check(patient_input(&p), p.rec, c->arena), *who;
        const char *wrong = case_execute(&p.in, p.rec, 1, c->arena, NULL, &who);
        if (!fault && wrong) print_error("%s: only the executor says %s\n", c->line, wrong);
        CHECK(fault || !wrong);
        case_free(c);
    }
}
