/* test/input/test_oneline.c - one-line workloads say the same as their YAML files. */
#include "tw_read.h"

static void check_same(const char *line, const char *yaml)
{
    tw_bench b = tw_bench_new();
    tw_model one, file;
    tw_text x = {0}, y = {0};
    CHECK_EQ(tw_read_model(&b, "f.yaml", line, &one), TW_OK);
    CHECK_EQ(tw_read_model(&b, "f.yaml", yaml, &file), TW_OK);
    tw_model_print(&one, &x);
    tw_model_print(&file, &y);
    CHECK_STR(x.bytes, y.bytes);
    tw_text_release(&x);
    tw_text_release(&y);
    tw_bench_free(&b);
}

TEST(each_kind_says_the_same_on_one_line_and_in_a_file)
{
    check_same("matmul:4x5x6", "workload: matmul\nops:\n  - {name: matmul, op: matmul, shape: [4, 5, 6]}\n");
    check_same("matmul:4x5x6,batch=2,transpose=ab,dtype=i8",
               "workload: matmul\nops:\n"
               "  - {name: matmul, op: matmul, shape: [4, 5, 6], batch: 2, transpose: ab, dtype: i8}\n");
    check_same("gemv:7x9,dtype=f64",
               "workload: gemv\nops:\n  - {name: gemv, op: gemv, shape: [7, 9], dtype: f64}\n");
    check_same(
        "conv:4x8x9,out=6,kernel=3x2,stride=2,pad=1x0x1x1,groups=2,transposed,out_pad=1",
        "workload: conv\nops:\n"
        "  - {name: conv, op: conv, shape: [4, 8, 9], out: 6, kernel: [3, 2], stride: 2, pad: [1, 0, 1, 1],\n"
        "     groups: 2, transposed: true, out_pad: 1}\n");
    check_same("dwconv:4x8x8,kernel=3,dilation=2x1,batch=3",
               "workload: dwconv\nops:\n"
               "  - {name: dwconv, op: dwconv, shape: [4, 8, 8], kernel: 3, dilation: [2, 1], batch: 3}\n");
    check_same("pool:4x8x8,kernel=3,stride=2,ceil,type=average,count_pad,pad=1",
               "workload: pool\nops:\n"
               "  - {name: pool, op: pool, shape: [4, 8, 8], kernel: 3, stride: 2, ceil: true, type: average,\n"
               "     count_pad: true, pad: 1}\n");
    check_same("gemv:7x9:f64", "workload: gemv\nops:\n  - {name: gemv, op: gemv, shape: [7, 9], dtype: f64}\n");
    check_same("matmul_transpose_b:4x5x6:i8,batch=2",
               "workload: matmul_transpose_b\nops:\n"
               "  - {name: matmul_transpose_b, op: matmul_transpose_b, shape: [4, 5, 6], dtype: i8, batch: 2}\n");
    check_same("matmul:4x5x6:f64,epilogue=add",
               "workload: matmul\nops:\n"
               "  - {name: matmul, op: matmul, shape: [4, 5, 6], dtype: f64, epilogue: add}\n");
    check_same("add:5", "workload: add\nops:\n  - {name: add, op: add, shape: [5]}\n");
}

TEST(a_one_line_workload_is_told_from_a_path_by_letters_and_a_colon)
{
    CHECK(tw_oneline_is("matmul:1x1x1"));
    CHECK(tw_oneline_is("matmul_transpose_b:1x1x1"));
    CHECK(tw_oneline_is("nonsense:"));
    CHECK(!tw_oneline_is("_x:3"));
    CHECK(!tw_oneline_is("net.yaml"));
    CHECK(!tw_oneline_is("./conv:3"));
    CHECK(!tw_oneline_is(":3"));
    CHECK(!tw_oneline_is(""));
}

static void check_refused(const char *line, const char *message)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    CHECK_EQ(tw_read_model(&b, NULL, line, &model), TW_ERR_INPUT);
    CHECK_STR(b.diag.text[0], message);
    tw_bench_free(&b);
}

TEST(mistakes_are_reported_at_their_column)
{
    check_refused(
        "soft:3x3",
        "<workload>:1:1: error: 'op' must be one of matmul, matmul_transpose_b, gemv, conv, dwconv, pool, add, "
        "found 'soft'");
    check_refused("matmul:", "<workload>:1:8: error: the dimensions are missing");
    check_refused("matmul:4xx6", "<workload>:1:10: error: a number is missing");
    check_refused("matmul:4x5x", "<workload>:1:12: error: a number is missing");
    check_refused("matmul:4x5x0", "<workload>:1:12: error: 'shape' is 0, outside 1..2147483647");
    check_refused("matmul:4x5", "<workload>:1:8: error: 'shape' has 2 entries, matmul needs 3: m, n, k");
    check_refused("matmul:4x5x6:", "<workload>:1:14: error: the element type is missing");
    check_refused("matmul:4x5x6:,batch=2", "<workload>:1:14: error: the element type is missing");
    check_refused("matmul::f64", "<workload>:1:8: error: the dimensions are missing");
    check_refused("matmul:4x5x6:f64,dtype=f64", "<workload>:1:18: error: duplicate option 'dtype'");
    check_refused("matmul:4x5x6:f64:f64",
                  "<workload>:1:14: error: 'dtype' must be one of i8, u8, i16, i32, f32, f64, u16, u32, "
                  "i64, u64, f16, bf16, bool, found 'f64:f64'");
    check_refused("matmul:4x5x6,", "<workload>:1:14: error: an option is missing");
    check_refused("matmul:4x5x6,dtype", "<workload>:1:14: error: option 'dtype' needs a value, as in 'dtype=...'");
    check_refused("matmul:4x5x6,dtype=", "<workload>:1:20: error: option 'dtype' has no value");
    check_refused("matmul:4x5x6,batch=2,batch=3", "<workload>:1:22: error: duplicate option 'batch'");
    check_refused("matmul:4x5x6,bach=2",
                  "<workload>:1:14: error: unknown key 'bach' in matmul; did you mean 'batch'?");
    check_refused("matmul:4x5x6,name=x", "<workload>:1:14: error: 'name' is not an option of a one-line workload");
    check_refused("matmul:4 x5x6", "<workload>:1:9: error: a space or special character in a one-line workload");
    check_refused("conv:3x8x8,out=4", "<workload>:1:1: error: missing key 'kernel' in conv");
    check_refused("conv:3x8x8,out=4,kernel=9",
                  "<workload>:1:25: error: kernel reaches 9 elements, padded input has 8");
}

TEST(running_out_of_memory_at_any_request_is_survived)
{
    for (int64_t n = 1;; n++) {
        tw_bench b = tw_bench_new();
        tw_model model;
        tw_arena_fail_at(b.arena, n);
        tw_status status = tw_read_model(&b, NULL, "conv:4x8x8,out=6,kernel=3x2,pad=1,transposed", &model);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        tw_bench_free(&b);
        if (status == TW_OK) break;
        CHECK(n < 200);
    }
}
