/* The executor computes what the operator says, and only when the program is right. */
#include "../../cli/oracle.h"
#include "broken.h"
#include "verify/numbers.h"

#include <math.h>

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

/* On a machine that takes everything. */
static test_case *case_of_line(const char *line)
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
    CHECK_EQ(tw_program_build(&(tw_problem){&c->model, 0, &c->machine}, &c->map, arena, &diag, &c->program), TW_OK);
    tw_diag_release(&diag);
    case_input(c);
    return c;
}

static void check_line(const char *line, const char *expected)
{
    test_case *c = case_of_line(line);
    const char *who, *fault = case_execute(&c->in, case_record(c), 7, c->arena, NULL, &who);
    CHECK_STR(fault ? fault : "", "");
    CHECK_STR(who, expected);
    case_free(c);
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
    for (size_t i = 0; i < TW_COUNT(line); i++) check_line(line[i], "direct evaluation");
}

TEST(averages_are_exact_where_the_divisors_allow_it_and_say_so_where_not)
{
    check_line("pool:2x9x9,kernel=3,pad=1,type=average", "direct evaluation");
    check_line("pool:2x97x89,kernel=97x89,type=average", "direct evaluation, relative tolerance 1e-5");
}

/* What a type makes of a number must be what the function that is called like it does. */
static void check_rounding(tw_dtype dtype, double x)
{
    tw_arena *arena = tw_arena_new();
    tw_formula_draft d = {.n_vars = 1};
    int result = tw_formula_call(&d, dtype == TW_DTYPE_F16 ? TW_FN_F16 : TW_FN_BF16, 0, 0, 0);
    double want = tw_formula_eval(tw_formula_finish(&d, result, arena), &x, 1), got;
    uint8_t bytes[8];
    CHECK_EQ(tw_numbers_pack(dtype, &x, 1, bytes), 1);
    tw_numbers_unpack(dtype, bytes, 1, &got);
    CHECK(got == want || (isnan(got) && isnan(want)));
    tw_arena_free(arena);
}

TEST(narrow_floats_are_rounded_to_the_nearest_even)
{
    for (tw_dtype dtype = TW_DTYPE_F16; dtype <= TW_DTYPE_BF16; dtype++)
        for (int code = 0; code < 1 << 16; code++) {
            uint16_t from = (uint16_t)code, to;
            double x, next;
            tw_numbers_unpack(dtype, (const uint8_t *)&from, 1, &x);
            CHECK_EQ(tw_numbers_pack(dtype, &x, 1, (uint8_t *)&to), 1);
            CHECK(to == from || isnan(x));
            if (code % 7 || (code & 0x7fff) == 0x7fff) continue;
            from++;
            tw_numbers_unpack(dtype, (const uint8_t *)&from, 1, &next);
            check_rounding(dtype, x);
            check_rounding(dtype, (x + next) / 2);
            check_rounding(dtype, x + (next - x) / 3);
        }
}

TEST(integers_of_every_width_are_kept)
{
    static const struct {
        tw_dtype dtype;
        double lowest, highest;
    } all[] = {{TW_DTYPE_U16, 0, 65535},           {TW_DTYPE_U32, 0, 4294967295.0}, {TW_DTYPE_I64, -0x1p63, 0x1p53},
               {TW_DTYPE_U64, 0, 0x1p63},          {TW_DTYPE_BOOL, 0, 1},           {TW_DTYPE_I16, -32768, 32767},
               {TW_DTYPE_I32, -0x1p31, 0x7fffffff}};
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        double x[] = {all[i].lowest, all[i].highest, 1, 0.5}, got[3];
        uint8_t bytes[32];
        CHECK_EQ(tw_numbers_pack(all[i].dtype, x, 4, bytes), 3);
        tw_numbers_unpack(all[i].dtype, bytes, 3, got);
        CHECK_EQ(memcmp(x, got, sizeof got), 0);
        double below = nextafter(all[i].lowest, -INFINITY) - 1;
        CHECK_EQ(tw_numbers_pack(all[i].dtype, &below, 1, bytes), 0);
    }
}

/* ---- memory ---- */

static tw_status run_in(const test_case *c, const record *rec, tw_arena *arena, const char **who,
                        const char **fault)
{
    tw_executor *executor = tw_executor_new(&c->in, 1, arena);
    if (!executor) return TW_ERR_NOMEM;
    tw_row_sink sink = tw_executor_sink(executor);
    for (int i = 0; i < rec->n_script; i++) {
        int at = rec->script[i];
        TW_TRY(at >= 0 ? sink.begin(sink.user, &rec->row[at]) : sink.end(sink.user, &rec->row[~at]));
    }
    return tw_executor_finish(executor, NULL, NULL, who, fault);
}

/* The program in ever more memory: nothing but TW_ERR_NOMEM, then the right answer. */
static void walk_memory(test_case *c, const char *expected)
{
    record *rec = case_record(c);
    tw_status status = TW_ERR_NOMEM;
    int64_t n = 0;
    while (status != TW_OK) {
        const char *who, *fault;
        tw_arena *arena = tw_arena_new();
        CHECK(arena != NULL);
        tw_arena_fail_at(arena, ++n);
        status = run_in(c, rec, arena, &who, &fault);
        if (status == TW_OK) {
            CHECK(fault == NULL);
            CHECK_STR(who, expected);
        } else {
            CHECK_EQ(status, TW_ERR_NOMEM);
        }
        tw_arena_free(arena);
    }
    CHECK(n > 5);
}

TEST(too_little_memory_is_never_a_fault_of_the_plan)
{
    for (int kind = 0; kind < CASE_KINDS; kind++) {
        uint64_t r = 5;
        test_case *c = case_new(&r, kind, 5);
        tw_compute compute = c->model.op[0].compute;
        bool sums = compute == TW_MULTIPLY_ADD || compute == TW_ADD || compute == TW_PRODUCT;
        bool rounds = c->model.op[0].value && sums;
        walk_memory(c, rounds ? "direct evaluation, values rounded" : "direct evaluation");
        case_free(c);
    }
}

TEST(too_little_memory_does_not_shorten_the_name_of_the_reference)
{
    test_case *c = case_of_line("pool:2x97x89,kernel=97x89,type=average");
    walk_memory(c, "direct evaluation, relative tolerance 1e-5");
    case_free(c);
}
