/* The library's direct evaluation against OpenBLAS and oneDNN, on operators drawn at random. */
#include "../../cli/oracle.h"
#include "cases.h"

static double *random_input(const test_case *c, int operand, uint64_t *r)
{
    const tw_tensor *tensor = &c->model.tensor[c->model.op[0].operand[operand].tensor];
    int64_t n = tw_tensor_elems(tensor), least = tensor->dtype == TW_DTYPE_U8 ? 0 : -4;
    double *x = TW_NEW(c->arena, double, n);
    CHECK(x != NULL);
    for (int64_t i = 0; i < n; i++) x[i] = (double)tw_test_pick(r, least, least + 8);
    return x;
}

/* Returns who answered, NULL when nobody did. */
static const char *compare(test_case *c, uint64_t *r)
{
    const tw_op *op = &c->model.op[0];
    int64_t n = tw_tensor_elems(&c->model.tensor[op->operand[tw_op_output(op)].tensor]);
    double *a = TW_NEW(c->arena, double, n), *b = TW_NEW(c->arena, double, n);
    CHECK(a && b);
    tw_reference_case rc = {.model = &c->model, .op = op};
    for (int o = 0; o < tw_op_output(op); o++) rc.input[o] = random_input(c, o, r);
    const char *who = tw_oracle_reference(NULL, &rc, a);
    if (!who) return NULL;
    CHECK(tw_reference_direct(NULL, &rc, b) != NULL);
    double tolerance = op->compute == TW_AVERAGE ? 1e-5 : 0;
    for (int64_t i = 0; i < n; i++) {
        double off = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        if (off > tolerance) {
            print_error("%s: element %" PRId64 ": %s says %g, we say %g\n", c->line, i, who, a[i], b[i]);
            fail();
        }
    }
    return who;
}

static void compare_kind(int kind, const char *expected, int least)
{
    if (!tw_oracle_is_present()) skip();
    uint64_t r = tw_test_seed() + (uint64_t)kind;
    int answered = 0;
    for (int i = 0; i < 120; i++) {
        test_case *c = case_new(&r, kind, 12);
        const char *who = compare(c, &r);
        if (who) {
            CHECK_STR(who, expected);
            answered++;
        }
        case_free(c);
    }
    print_message("%d of 120 answered\n", answered);
    CHECK(answered >= least);
}

TEST(matmul_in_every_transposition_agrees_with_openblas) { compare_kind(CASE_MATMUL, "OpenBLAS", 120); }
TEST(gemv_agrees_with_openblas) { compare_kind(CASE_GEMV, "OpenBLAS", 120); }
TEST(convolution_agrees_with_onednn) { compare_kind(CASE_CONV, "oneDNN", 115); }
TEST(transposed_convolution_agrees_with_onednn) { compare_kind(CASE_TRANSPOSED, "oneDNN", 100); }
TEST(depthwise_convolution_agrees_with_onednn) { compare_kind(CASE_DWCONV, "oneDNN", 115); }
TEST(pooling_agrees_with_onednn) { compare_kind(CASE_POOL, "oneDNN", 100); }

TEST(an_operator_that_neither_library_knows_gets_no_answer)
{
    uint64_t r = 1;
    test_case *c = case_new(&r, CASE_ADD, 6);
    CHECK(compare(c, &r) == NULL);
    case_free(c);
}
