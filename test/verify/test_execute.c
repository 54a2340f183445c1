/* The executor computes what the operator says, and only when the program is right. */
#include "../../cli/oracle.h"
#include "broken.h"
#include "verify/kernel.h"

#include <time.h>

TEST(every_program_of_the_builder_computes_the_reference)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        test_case *c = case_new(&r, i % CASE_KINDS, 9);
        const char *who,
            *fault = case_execute(&c->in, case_record(c), r, c->arena, i % 4 ? NULL : tw_oracle_reference, &who);
        if (fault) print_error("case %d, %s: %s (%s)\n", i, c->line, fault, who ? who : "-");
        CHECK(fault == NULL && who != NULL);
        case_free(c);
    }
}

/* A wrong number can look right by chance in a tiny tile; four draws rarely agree. */
static bool is_found(const tw_verify_input *in, const record *rec, tw_arena *arena)
{
    const char *who;
    for (uint64_t seed = 0; seed < 4; seed++)
        if (case_execute(in, rec, seed, arena, NULL, &who)) return true;
    return false;
}

TEST(damage_that_changes_data_is_found)
{
    uint64_t r = tw_test_seed();
    for (size_t d = 0; d < TW_COUNT(damages); d++) {
        int n = 0, found = 0;
        for (int i = 0; i < 210 && damages[d].changes_data; i++) {
            test_case *c = case_new(&r, i % CASE_KINDS, 9);
            patient p = patient_of(&r, c);
            if (damages[d].inflict(&p)) {
                n++;
                found += is_found(patient_input(&p), p.rec, c->arena);
            }
            case_free(c);
        }
        /* what is left are tiles that need nothing of what they read wrongly: padding, gaps of a stride */
        if (found * 10 < n * 9) print_error("%s: found %d of %d\n", damages[d].name, found, n);
        CHECK(found * 10 >= n * 9);
    }
}

/* ---- types ---- */

/* One whole tile on a machine that takes everything. */
static const char *run_line(const char *line, const char **who)
{
    uint64_t r = 3;
    tw_arena *arena = tw_arena_new();
    test_case *c = TW_NEW(arena, test_case, 1);
    tw_diag diag = {0};
    CHECK(c != NULL);
    c->arena = arena;
    CHECK_EQ(case_model(line, arena, &diag, &c->model), TW_OK);
    c->machine = case_machine(&r);
    c->map = case_map(&r, &c->model.op[0], &c->machine);
    CHECK_EQ(tw_program_build(&c->model, 0, &c->machine, &c->map, arena, &diag, &c->program), TW_OK);
    case_input(c);
    static char text[400], name[100];
    const char *by, *fault = case_execute(&c->in, case_record(c), 7, arena, NULL, &by);
    snprintf(text, sizeof text, "%s", fault ? fault : "");
    snprintf(name, sizeof name, "%s", by ? by : "");
    *who = name;
    tw_arena_free(arena);
    tw_diag_release(&diag);
    return text;
}

TEST(every_type_computes_without_overflow)
{
    static const char *const line[] = {
        "matmul:6x5x700,dtype=i8",
        "matmul:6x5x700,dtype=u8",
        "matmul:6x5x700,dtype=i16",
        "matmul:6x5x700,dtype=i32",
        "matmul:6x5x700,dtype=f32",
        "matmul:6x5x700,dtype=f64",
        "pool:3x9x9,kernel=3,pad=1,dtype=u8",
        "add:5x6,dtype=i8",
    };
    for (size_t i = 0; i < TW_COUNT(line); i++) {
        const char *who;
        CHECK_STR(run_line(line[i], &who), "");
        CHECK_STR(who, "direct evaluation");
    }
}

TEST(averages_are_exact_where_the_divisors_allow_it_and_say_so_where_not)
{
    const char *who;
    CHECK_STR(run_line("pool:2x9x9,kernel=3,pad=1,type=average", &who), "");
    CHECK_STR(who, "direct evaluation");
    CHECK_STR(run_line("pool:2x97x89,kernel=97x89,type=average", &who), "");
    CHECK_STR(who, "direct evaluation, relative tolerance 1e-5");
}

/* ---- memory ---- */

TEST(running_out_of_memory_is_survived_wherever_it_happens)
{
    uint64_t r = 5;
    test_case *c = case_new(&r, CASE_POOL, 5);
    record *rec = case_record(c);
    for (int64_t n = 1;; n++) {
        tw_arena *arena = tw_arena_new();
        const char *who;
        CHECK(arena != NULL);
        tw_arena_fail_at(arena, n);
        tw_executor *executor = tw_executor_new(&c->in, 1, arena);
        tw_status status = executor ? TW_OK : TW_ERR_NOMEM;
        for (int i = 0; i < rec->n_script && status == TW_OK; i++) {
            tw_row_sink sink = tw_executor_sink(executor);
            int at = rec->script[i];
            status = at >= 0 ? sink.begin(sink.user, &rec->row[at]) : sink.end(sink.user, &rec->row[~at]);
        }
        const char *fault = status == TW_OK ? tw_executor_finish(executor, NULL, NULL, &who) : "no memory";
        tw_arena_free(arena);
        if (!fault) break;
    }
    case_free(c);
}

/* ---- speed: printed, never judged ---- */

TEST(how_fast_a_matmul_tile_runs)
{
    enum { M = 64, N = 64, K = 512 };
    tw_arena *arena = tw_arena_new();
    tw_model model;
    tw_diag diag = {0};
    CHECK_EQ(case_model("matmul:64x64x512", arena, &diag, &model), TW_OK);
    double *a = TW_NEW(arena, double, M *K), *b = TW_NEW(arena, double, K *N), *out = TW_NEW(arena, double, M *N);
    tw_box box = {{{0, M}, {0, N}, {0, K}}};
    tw_kernel_input input[] = {{a, {{{0, M}, {0, K}}}}, {b, {{{0, K}, {0, N}}}}};
    CHECK(a && b && out);
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int i = 0; i < 20; i++) CHECK_EQ(tw_kernel_run(&model.op[0], TW_MULTIPLY_ADD, &box, input, out), -1);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    double seconds = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
    print_message("%.0f million multiply-adds a second\n", 20.0 * M * N * K / seconds * 1e-6);
    tw_arena_free(arena);
}
