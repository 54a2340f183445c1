/* Both judges accept every program of the async builder, and find what is broken in it. */
#include "stream_broken.h"
#include "tw_read.h"

TEST(every_async_program_of_the_builder_is_accepted_and_computes_the_reference)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(3000); i++) {
        record *rec;
        test_case *c = async_case_new(&r, i % CASE_KINDS, 9, &rec);
        const char *fault = async_check(&c->in, rec, c->arena), *wrong = async_execute(&c->in, rec, r, c->arena);
        if (fault) print_error("case %d, %s: %s\n", i, c->line, fault);
        if (wrong) print_error("case %d, %s: executed: %s\n", i, c->line, wrong);
        CHECK(fault == NULL && wrong == NULL);
        case_free(c);
    }
}

/* A wrong number can look right by chance in a tiny tile; four draws rarely agree. */
static bool is_right(const tw_verify_input *in, const record *rec, tw_arena *arena)
{
    for (uint64_t seed = 0; seed < 4; seed++)
        if (async_execute(in, rec, seed, arena)) return false;
    return true;
}

/* Damage can leave a program right: commands that do not concern each other change places. Then the executor must
 * find nothing either, whatever the numbers. */
TEST(every_kind_of_damage_is_found)
{
    uint64_t r = tw_test_seed();
    for (size_t d = 0; d < TW_COUNT(stream_damages); d++) {
        int n = 0, harmless = 0, executed = 0;
        for (int i = 0; i < 140; i++) {
            record *rec;
            test_case *c = async_case_new(&r, i % CASE_KINDS, 8, &rec);
            patient p = stream_patient(&r, c, rec);
            if (stream_damages[d].inflict(&p)) {
                n++;
                const char *fault = async_check(patient_input(&p), p.rec, c->arena);
                bool right = is_right(&p.in, p.rec, c->arena);
                if (!fault && !right)
                    print_error("%s of %s is missed: %s\n", stream_damages[d].name, c->line,
                                async_execute(&p.in, p.rec, 0, c->arena));
                CHECK(fault || right);
                harmless += !fault;
                executed += !right;
            }
            case_free(c);
        }
        bool often = n >= 10 && (!stream_damages[d].changes_data || executed * 10 >= (n - harmless) * 8);
        if (!often)
            print_error("%s: %d cases, %d harmless, %d found by executing\n", stream_damages[d].name, n, harmless,
                        executed);
        CHECK(often);
    }
}

/* All of it is about time, and none of it may pass. Each program gets one damage that it has a place for, a rare one if it
 * can. */
TEST(damage_to_what_clusters_promise_is_found)
{
    enum { N = TW_COUNT(cluster_damages) };
    uint64_t r = tw_test_seed();
    int n[N] = {0};
    for (int i = 0; i < 6000; i++) {
        record *rec;
        test_case *c = async_case_new(&r, i % CASE_KINDS, 8, &rec);
        for (int k = 0; k < RARE_DAMAGES + N; k++) {
            int d = k < RARE_DAMAGES ? (i + k) % RARE_DAMAGES : (i + k) % N;
            if (k < RARE_DAMAGES && n[d] > 50) continue;
            patient p = stream_patient(&r, c, rec);
            if (!cluster_damages[d].inflict(&p)) continue;
            const char *fault = async_check(patient_input(&p), p.rec, c->arena);
            if (!fault) print_error("%s of case %d, %s, is missed\n", cluster_damages[d].name, i, c->line);
            CHECK(fault != NULL);
            n[d]++;
            break;
        }
        case_free(c);
    }
    for (int d = 0; d < N; d++) {
        if (n[d] == 0) print_error("%s was never inflicted\n", cluster_damages[d].name);
        CHECK(n[d] > 0);
    }
}

/* ---- instructions that no builder would make ---- */

static int64_t wild(uint64_t *r)
{
    static const int64_t value[] = {-1, -2, 0, INT16_MAX, INT16_MIN, 1 << 30};
    int64_t pick = tw_test_pick(r, 0, (int64_t)TW_COUNT(value) + 2);
    return pick < (int64_t)TW_COUNT(value) ? value[pick] : tw_test_pick(r, -8, 24);
}

static int64_t wild_cycle(uint64_t *r)
{
    static const int64_t value[] = {INT64_MIN, INT64_MAX, -1, 0};
    int64_t pick = tw_test_pick(r, 0, 7);
    return pick < 4 ? value[pick] : tw_test_pick(r, 0, 200);
}

static void scramble_instr(uint64_t *r, tw_instr *i)
{
    switch (tw_test_pick(r, 0, 17)) {
    case 0: i->op = (tw_opcode)tw_test_pick(r, 0, 5); break;
    case 1: i->accumulates = !i->accumulates; break;
    case 2: i->nested = !i->nested; break;
    case 3: i->engine = (int16_t)wild(r); break;
    case 4: i->operand = (int16_t)wild(r); break;
    case 5: i->dst = (int32_t)wild(r); break;
    case 6: i->n_src = (int16_t)wild(r); break;
    case 7: i->src[tw_test_pick(r, 0, 2)] = (int32_t)wild(r); break;
    case 8: i->box.span[tw_test_pick(r, 0, 5)].lo = wild(r); break;
    case 9: i->box.span[tw_test_pick(r, 0, 5)].hi = wild_cycle(r); break;
    case 10: i->region.axis[tw_test_pick(r, 0, 3)].lo = wild(r); break;
    case 11: i->region.axis[tw_test_pick(r, 0, 3)].hi = wild_cycle(r); break;
    case 12: i->unit = (int16_t)wild(r); break;
    case 13: i->n_gives = (int16_t)wild(r); break;
    case 14: i->gives[tw_test_pick(r, 0, 2)] = (int32_t)wild(r); break;
    case 15: i->takes = !i->takes; break;
    case 16: i->partial = !i->partial; break;
    default: i->work = wild_cycle(r); break;
    }
}

static void scramble(patient *p)
{
    uint64_t *r = p->r;
    tw_rowset *row = &p->rec->row[any_row(p)];
    tw_event *e = &((tw_event *)row->event)[tw_test_pick(r, 0, row->n_events - 1)];
    switch (tw_test_pick(r, 0, 12)) {
    case 0: row->level = (int)tw_test_pick(r, -1, 4); break;
    case 1: row->start_cycle = e->start_cycle = wild_cycle(r); break;
    case 2: row->end_cycle = e->end_cycle = wild_cycle(r); break;
    case 3: e->busy_end = wild_cycle(r); break;
    case 4: e->waited = wild_cycle(r); break;
    default: scramble_instr(r, &e->instr); break;
    }
}

TEST(wild_commands_crash_no_judge_and_what_the_checker_accepts_computes_right)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(2500); i++) {
        record *rec;
        test_case *c = async_case_new(&r, i % CASE_KINDS, 7, &rec);
        patient p = stream_patient(&r, c, rec);
        for (int64_t k = tw_test_pick(&r, 1, 3); k > 0; k--) scramble(&p);
        const char *fault = async_check(patient_input(&p), p.rec, c->arena);
        const char *wrong = async_execute(&p.in, p.rec, 1, c->arena);
        if (!fault && wrong) print_error("%s: only the executor says %s\n", c->line, wrong);
        CHECK(fault || !wrong);
        case_free(c);
    }
}

/* ---- memory ---- */

/* Bytes that the checker needs for a matmul of 64 x 64 x k on the KPU whose partial sums all leave and come back. */
static size_t checker_peak(int64_t k, int64_t *n_commands)
{
    static const char mapping_text[] = "mapping:\n"
                                       "  matmul:\n"
                                       "    levels:\n"
                                       "      - {at: l3, pass: true}\n"
                                       "      - {at: l2, pass: true}\n"
                                       "      - {at: l1, pass: true}\n"
                                       "      - {at: fabric, sizes: {m: 8, n: 8, k: 8}, order: [k, m, n]}\n";
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    test_case *c = TW_NEW(b.arena, test_case, 1);
    snprintf(c->line, sizeof c->line, "matmul:64x64x%d,dtype=i8", (int)k);
    CHECK_EQ(tw_read_model(&b, "model", c->line, &model), TW_OK);
    CHECK_EQ(tw_read_machine(&b, "kpu", tw_read_source(&b, "examples/machines/kpu.yaml"), &machine), TW_OK);
    CHECK_EQ(tw_read_mapping(&b, "mapping", mapping_text, &model, &machine, &mapping), TW_OK);
    c->model = model;
    c->machine = machine;
    c->map = mapping.op[0];
    CHECK_EQ(tw_program_build(&(tw_problem){&c->model, 0, &c->machine}, &c->map, b.arena, &b.diag, &c->program),
             TW_OK);
    async_input(c);
    tw_arena *judge = tw_arena_new();
    tw_checker *checker = tw_checker_new(&c->in, judge);
    CHECK(checker != NULL);
    tw_row_sink sink = tw_checker_sink(checker);
    tw_timeline timeline;
    CHECK_EQ(tw_timeline_walk(&c->program, &sink, b.arena, &b.diag, &timeline), TW_OK);
    CHECK(tw_checker_finish(checker) == NULL);
    size_t peak = tw_arena_peak(judge);
    *n_commands = timeline.sum.instructions;
    tw_arena_free(judge);
    tw_bench_free(&b);
    return peak;
}

TEST(memory_of_the_checker_grows_with_what_is_held_not_with_the_program)
{
    int64_t n_short, n_long;
    size_t of_short = checker_peak(64, &n_short), of_long = checker_peak(64 * 32, &n_long);
    CHECK(n_long > 20 * n_short);
    CHECK(of_long < of_short + of_short / 4); /* the loop is longer, and so is the table of its weights */
}
