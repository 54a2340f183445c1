/* Programs run on given numbers: what comes out is what the operator says of them. */
#include <math.h>
#include <pthread.h>

#include "async_cases.h"
#include "plan/execute.h"
#include "tw_read.h"

static double tolerance_of(tw_dtype dtype)
{
    switch (dtype) {
    case TW_DTYPE_F64: return 1e-12;
    case TW_DTYPE_F32: return 1e-5;
    case TW_DTYPE_F16: return 1e-2;
    case TW_DTYPE_BF16: return 1e-1;
    default: return 0;
    }
}

/* Quarters for floats, and integers that keep every product small. */
static double *draw(uint64_t *r, tw_dtype dtype, int64_t n, tw_arena *arena)
{
    double *x = TW_NEW(arena, double, n + 1);
    bool is_unsigned = strchr("ub", tw_dtype_name(dtype)[0]) && dtype != TW_DTYPE_BF16;
    for (int64_t i = 0; i < n; i++)
        x[i] = tw_dtype_is_float(dtype) ? (double)tw_test_pick(r, -4, 4) / 4
                                        : (double)tw_test_pick(r, is_unsigned ? 0 : -1, 1);
    return x;
}

static tw_given draw_given(uint64_t *r, const tw_model *model, const tw_op *op, tw_arena *arena)
{
    tw_given given = {0};
    for (int o = 0; o < tw_op_output(op); o++) {
        const tw_tensor *t = &model->tensor[op->operand[o].tensor];
        double *x = draw(r, t->dtype, tw_tensor_elems(t), arena);
        bool extreme = op->compute == TW_MAX || op->compute == TW_MIN;
        for (int64_t i = 0; i < tw_tensor_elems(t) && extreme && tw_dtype_is_float(t->dtype); i++)
            if (tw_test_pick(r, 0, 7) == 0) x[i] = (double)NAN;
        given.input[o] = x;
    }
    for (int h = 0; h < op->n_held; h++) {
        int64_t n = op->held[h].loop < 0 ? 1 : op->loop[op->held[h].loop].extent;
        double *x = TW_NEW(arena, double, n);
        for (int64_t i = 0; i < n; i++) x[i] = (double)tw_test_pick(r, 1, 2);
        given.held[h] = x;
    }
    return given;
}

/* Some sums of narrow types do not fit them. */
static bool is_roomy(const tw_model *model, const tw_op *op)
{
    tw_dtype out = model->tensor[op->operand[tw_op_output(op)].tensor].dtype;
    bool wide = op->accumulator == TW_DTYPE_F32 || op->accumulator == TW_DTYPE_F64 ||
                op->accumulator == TW_DTYPE_I32 || op->accumulator == TW_DTYPE_I64;
    return op->compute == TW_MAP || (wide && (op->finish || out == op->accumulator));
}

static void check_output(const test_case *c, const tw_given *given, const double *got)
{
    const tw_op *op = c->in.op;
    const tw_tensor *tensor = &c->model.tensor[op->operand[tw_op_output(op)].tensor];
    int64_t n = tw_tensor_elems(tensor);
    double *want = TW_NEW(c->arena, double, n), tolerance = tolerance_of(tensor->dtype);
    tw_reference_case rc = {.model = &c->model, .op = op};
    memcpy(rc.input, given->input, sizeof rc.input);
    memcpy(rc.held, given->held, sizeof rc.held);
    CHECK(tw_reference_direct(NULL, &rc, want) != NULL);
    for (int64_t i = 0; i < n; i++) {
        bool same = got[i] == want[i] || (isnan(got[i]) && isnan(want[i])) ||
                    fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i]));
        if (!same) print_error("%s: element %d is %g, should be %g\n", c->line, (int)i, got[i], want[i]);
        CHECK(same);
    }
}

static void check_given(uint64_t *r, test_case *c, const record *rec, bool async)
{
    const tw_op *op = c->in.op;
    int64_t n = tw_tensor_elems(&c->model.tensor[op->operand[tw_op_output(op)].tensor]);
    tw_given given = draw_given(r, &c->model, op, c->arena);
    double *got = TW_NEW(c->arena, double, n);
    tw_executor *e = tw_executor_new_given(&c->in, &given, c->arena);
    CHECK(e != NULL && got != NULL);
    tw_row_sink numbers = tw_executor_sink(e);
    tw_order *order = async ? tw_order_new(&c->machine, &numbers, c->arena) : NULL;
    tw_row_sink sink = async ? tw_order_sink(order) : numbers;
    if (async)
        async_replay(rec, &sink);
    else
        record_replay(rec, &sink);
    if (async) CHECK_EQ(tw_order_flush(order), TW_OK);
    const char *fault;
    CHECK_EQ(tw_executor_output(e, got, &fault), TW_OK);
    if (fault) print_error("%s: %s\n", c->line, fault);
    CHECK(fault == NULL);
    check_output(c, &given, got);
}

TEST(rows_compute_what_the_operator_says_of_given_numbers)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 1200; i++) {
        test_case *c = case_new(&r, i % CASE_KINDS, 7);
        if (is_roomy(&c->model, c->in.op)) check_given(&r, c, case_record(c), false);
        case_free(c);
    }
}

TEST(commands_compute_what_the_operator_says_of_given_numbers)
{
    uint64_t r = tw_test_seed();
    for (int i = 0; i < 1200; i++) {
        record *rec;
        test_case *c = async_case_new(&r, i % CASE_KINDS, 7, &rec);
        if (is_roomy(&c->model, c->in.op)) check_given(&r, c, rec, true);
        case_free(c);
    }
}

TEST(a_number_that_its_type_does_not_hold_is_a_fault)
{
    uint64_t r = 1;
    test_case *c = case_new(&r, CASE_ADD, 3);
    tw_tensor *t = (tw_tensor *)c->model.tensor;
    for (int i = 0; i < c->model.n_tensors; i++) t[i].dtype = TW_DTYPE_I8;
    ((tw_op *)c->in.op)->accumulator = TW_DTYPE_I8;
    double x[27] = {1, 128}, y[27] = {0};
    tw_given given = {.input = {x, y}};
    const char *fault = NULL;
    tw_executor *e = tw_executor_new_given(&c->in, &given, c->arena);
    CHECK_EQ(tw_executor_output(e, x, &fault), TW_OK);
    if (tw_tensor_elems(&t[0]) > 1) CHECK_STR(fault, "element 1 of 'ifm' is 128, which type i8 does not hold");
    case_free(c);
}

/* ---- plans ---- */

static const char conv[] = "workload: w\n"
                           "ops:\n"
                           "  - name: op\n"
                           "    compute: multiply-add\n"
                           "    loops: {oc: 8, oy: 6, ox: 6, ic: 3, ky: 3, kx: 3}\n"
                           "    reduce: [ic, ky, kx]\n"
                           "    held: {zero: scalar, bias: oc, scale: oc}\n"
                           "    value: \"(x - zero) * w\"\n"
                           "    finish: \"u8(max(0, min(255, round((sum + bias) * scale))))\"\n"
                           "    accumulator: i32\n"
                           "    reads:\n"
                           "      x: {dtype: u8, at: [ic, oy + ky - 1, ox + kx - 1], shape: [3, 6, 6]}\n"
                           "      w: {dtype: i8, at: [oc, ic, ky, kx]}\n"
                           "    writes: {y: {dtype: u8, at: [oc, oy, ox]}}\n";

typedef struct job {
    const tw_plan *plan;
    const tw_given *given;
    double *out;
    const char *fault;
    tw_status status;
    tw_arena *scratch;
} job;

static void *run_job(void *user)
{
    job *j = user;
    tw_diag diag = {0};
    j->status = tw_plan_execute(&j->plan->op[0], j->given, j->scratch, &diag, j->out, &j->fault);
    tw_diag_release(&diag);
    return NULL;
}

/* The plan that is found for the machine runs, on several threads at once, and all agree with the reference. */
static void check_plan(const char *machine_file)
{
    enum { N_JOBS = 3 };
    uint64_t r = tw_test_seed();
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", conv, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, machine_file, tw_read_source(&b, machine_file), &machine), TW_OK);
    tw_search_options options = {.time_limit = 2};
    tw_status status = tw_plan_search(ctx, model, machine, &options, &plan);
    for (int i = 0; i < tw_context_n_messages(ctx); i++) print_error("%s\n", tw_context_message(ctx, i));
    CHECK_EQ(status, TW_OK);
    tw_given given = draw_given(&r, model, &model->op[0], b.arena);
    int64_t n = 8 * 6 * 6;
    double *want = TW_NEW(b.arena, double, n);
    tw_reference_case rc = {.model = model, .op = &model->op[0]};
    memcpy(rc.input, given.input, sizeof rc.input);
    memcpy(rc.held, given.held, sizeof rc.held);
    CHECK(tw_reference_direct(NULL, &rc, want) != NULL);
    job jobs[N_JOBS];
    pthread_t thread[N_JOBS];
    for (int i = 0; i < N_JOBS; i++) {
        jobs[i] = (job){plan, &given, TW_NEW(b.arena, double, n), NULL, TW_OK, tw_arena_new()};
        CHECK_EQ(pthread_create(&thread[i], NULL, run_job, &jobs[i]), 0);
    }
    for (int i = 0; i < N_JOBS; i++) {
        CHECK_EQ(pthread_join(thread[i], NULL), 0);
        CHECK_EQ(jobs[i].status, TW_OK);
        CHECK_STR(jobs[i].fault ? jobs[i].fault : "", "");
        CHECK_EQ(memcmp(jobs[i].out, want, (size_t)n * sizeof *want), 0);
        tw_arena_free(jobs[i].scratch);
    }
    tw_context_free(ctx);
    tw_bench_free(&b);
}

TEST(plans_run_on_given_numbers)
{
    check_plan("test/onnx/tiny.yaml");
    check_plan("test/onnx/tiny-ticks.yaml");
    check_plan("examples/machines/kpu-minimal.yaml");
    check_plan("examples/machines/snitch.yaml");
}
