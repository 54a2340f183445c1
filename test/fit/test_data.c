/* test/fit/test_data.c - measurements: where their parts come from, and what is said when they are not there. */
#include "cases.h"
#include "fit/data.h"

#include <unistd.h>

typedef struct bench {
    tw_context *ctx;
    const tw_machine *machine;
    const tw_data *data;
    tw_status status;
} bench;

static bench read_data(const char *text, const tw_data_options *options)
{
    bench b = {.ctx = tw_context_new()};
    CHECK_EQ(tw_machine_parse(b.ctx, "m.yaml", cases_guess_machine, &b.machine), TW_OK);
    b.status = tw_data_parse(b.ctx, b.machine, "d.csv", text, options, &b.data);
    return b;
}

static void refuses(const char *text, tw_data_options options, const char *message)
{
    bench b = read_data(text, &options);
    CHECK_EQ(b.status, TW_ERR_INPUT);
    CHECK(tw_context_n_messages(b.ctx) > 0);
    CHECK_STR(tw_context_message(b.ctx, 0), message);
    tw_context_free(b.ctx);
}

static const tw_measured *row(const bench *b, int i) { return &b->data->row[i]; }
static void accepts(const bench *b)
{
    if (b->status != TW_OK) fail_msg("%s", tw_context_message(b->ctx, 0));
}

TEST(a_sweep_is_known_by_its_columns)
{
    bench b = read_data("JSON Name,Kernel Time,Total Time,M,N,K,m,n,k\n"
                        "a,1345,294031,1,32,80,1,32,80\n"
                        "b,0,294031,1,32,240,1,32,80\n",
                        NULL);
    accepts(&b);
    CHECK_EQ(tw_data_n_rows(b.data), 2);
    CHECK_STR(row(&b, 0)->name, "a");
    CHECK_STR(row(&b, 0)->workload, "matmul_transpose_b:1x32x80:f64,epilogue=add");
    CHECK_STR(row(&b, 0)->tile, "32x80");
    CHECK_EQ(row(&b, 0)->cycles, 1345);
    CHECK_EQ(row(&b, 0)->total, 294031);
    CHECK_EQ(row(&b, 1)->cycles, 0);
    tw_context_free(b.ctx);
}

TEST(so_are_the_dispatches_of_a_network)
{
    bench b = read_data("JSON Name,Row Dim,Reduction Dim,Kernel Name,Kernel Time,Total Time\n"
                        "0-24-8,24,8,main$async_dispatch_1_matmul_transpose_b_1x1200x400_f64,352490,2162791\n",
                        NULL);
    accepts(&b);
    CHECK_STR(row(&b, 0)->workload, "matmul_transpose_b:1x1200x400:f64,epilogue=add");
    CHECK_STR(row(&b, 0)->tile, "24x8");
    tw_context_free(b.ctx);
}

TEST(templates_say_where_things_are)
{
    static const char *const where[] = {"kind=fast", "x!=3"};
    tw_data_options options = {.workload = "matmul_transpose_b:1x{rows of w}x{K}:f64",
                               .lowering = "l1_tiles = [0, {n}, {K}]",
                               .cycles = "total - 100",
                               .name = "id",
                               .where = where,
                               .n_where = 2};
    bench b = read_data("x,id,rows of w,K,n,total,kind\n1,a,64,32,16,350.0,fast\n2,b,64,32,32,0,fast\n"
                        "3,c,64,32,8,300,fast\n4,d,64,32,8,300,slow\n5,e,64,32,64,299.6,fast\n",
                        &options);
    accepts(&b);
    CHECK_EQ(tw_data_n_rows(b.data), 3);
    CHECK_EQ(b.data->n_elsewhere, 2);
    CHECK_STR(row(&b, 0)->workload, "matmul_transpose_b:1x64x32:f64");
    CHECK_EQ(row(&b, 0)->cycles, 250);
    CHECK_EQ(row(&b, 1)->cycles, 0);
    CHECK_EQ(row(&b, 2)->cycles, 200);
    CHECK(row(&b, 0)->model == row(&b, 2)->model);
    tw_context_free(b.ctx);
}

TEST(missing_columns_are_reported)
{
    refuses("a,b\n1,2\n", (tw_data_options){0},
            "d.csv:1:1: error: no column 'workload', and no '--workload' that says where it is");
    refuses("workload,cycles\nx,2\n", (tw_data_options){0},
            "d.csv:1:1: error: no column 'lowering_config' or 'mapping', and no '--lowering-config' that says it");
    refuses("workload,mapping\nx,2\n", (tw_data_options){0},
            "d.csv:1:1: error: no column 'cycles', and no '--cycles' that says where they are");
    refuses("a,cycles\n1,2\n", (tw_data_options){.workload = "matmul:{M}x8x8", .lowering = "l1_tiles = [{a}]"},
            "--workload:1:8: error: 'd.csv' has no column 'M'; its columns are 'a', 'cycles'");
    refuses("a,cycles\n1,2\n", (tw_data_options){.workload = "matmul:8x8x8", .lowering = "l1_tiles = [{a]"},
            "--lowering-config:1:13: error: the brace that opens here is never closed");
    refuses("workload,lowering_config,c\nx,y,2\n", (tw_data_options){.cycles = "c * 2"},
            "--cycles:1:1: error: 'c * 2' is neither a column of 'd.csv' nor a column plus or minus a number");
    refuses("workload,lowering_config,cycles\nx,y,2\n", (tw_data_options){.name = "id"},
            "--name:1:1: error: 'd.csv' has no column 'id'");
    static const char *const where[] = {"id=3"}, *const broken[] = {"id"};
    refuses("workload,lowering_config,cycles\nx,y,2\n", (tw_data_options){.where = where, .n_where = 1},
            "--where:1:1: error: 'd.csv' has no column 'id'");
    refuses("workload,lowering_config,cycles\nx,y,2\n", (tw_data_options){.where = broken, .n_where = 1},
            "--where:1:1: error: 'id' is not of the form COLUMN=VALUE");
}

TEST(bad_rows_are_reported_where_they_stand)
{
    static const char head[] = "workload,lowering_config,cycles\n";
    static const struct {
        const char *row, *message;
    } bad[] = {
        {"matmul_transpose_b:1x8x8:f64,\"l1_tiles = [0, 8, 8]\",many\n",
         "d.csv:2:53: error: 'many' is no number of cycles"},
        {"matmul_transpose_b:1x8x8:f64,\"l1_tiles = [0, 8, 8]\",-5\n",
         "d.csv:2:53: error: '-5' is no number of cycles"},
        {"matmul_transpose_b:1x8:f64,\"l1_tiles = [0, 8, 8]\",5\n",
         "d.csv:2:1: error: workload 'matmul_transpose_b:1x8:f64': 'shape' has 2 entries, "
         "matmul_transpose_b needs 3: m, n, k"},
        {"missing.yaml,\"l1_tiles = [0, 8, 8]\",5\n",
         "d.csv:2:1: error: workload 'missing.yaml': cannot open: No such file or directory"},
    };
    for (size_t i = 0; i < TW_COUNT(bad); i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", head, bad[i].row);
        refuses(text, (tw_data_options){0}, bad[i].message);
    }
    refuses("Kernel Name,Row Dim,Reduction Dim,Kernel Time\nmain,8,8,77\n", (tw_data_options){0},
            "d.csv:2:1: error: 'main' is no name of a dispatch");
    refuses("Kernel Name,Row Dim,Reduction Dim,Kernel Time\nx_dispatch_1_matmul_transpose_b_1x8x8_f64,8,8,77\n",
            (tw_data_options){.cycles = "Kernel Time - 77"},
            "d.csv:2:47: error: '77' gives 0 cycles, must be at least 1");
}

TEST(a_bad_lowering_config_is_reported_with_its_row)
{
    bench b = read_data("workload,lowering_config,cycles\nmatmul_transpose_b:1x8x8:f64,tiles = 3,5\n"
                        "matmul_transpose_b:1x8x8:f64,l2_tiles = 3,5\n",
                        NULL);
    CHECK_EQ(b.status, TW_ERR_INPUT);
    CHECK_EQ(tw_context_n_messages(b.ctx), 2);
    static const char first[] = "d.csv:2:1: error: lowering_config 'tiles = 3': ";
    CHECK_EQ(strncmp(tw_context_message(b.ctx, 0), first, strlen(first)), 0);
    static const char second[] = "d.csv:3:1: error: lowering_config 'l2_tiles = 3': ";
    CHECK_EQ(strncmp(tw_context_message(b.ctx, 1), second, strlen(second)), 0);
    tw_context_free(b.ctx);
}

static const char four_rows[] = "JSON Name,Kernel Time,Total Time,M,N,K,m,n,k\n"
                                "a,1345,294031,1,32,80,1,32,80\n"
                                "b,2563,295160,1,32,240,1,32,80\n"
                                "c,2563,295160,1,32,400,1,32,80\n"
                                "d,2563,295161,1,32,560,1,32,80\n";

TEST(rows_on_a_list_are_left_out)
{
    char path[] = "/tmp/tw_drop_XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    static const char list[] = "# wrong rows\n a ,d.csv\r\n\nb\nc,other.csv\nx\n";
    CHECK_EQ(write(fd, list, sizeof list - 1), (int64_t)sizeof list - 1);
    const char *const drop[] = {path};
    tw_data_options options = {.drop = drop, .n_drop = 1};
    bench b = read_data(four_rows, &options);
    accepts(&b);
    CHECK_EQ(tw_data_n_rows(b.data), 2);
    CHECK_EQ(b.data->n_listed, 2);
    CHECK_STR(row(&b, 0)->name, "c");
    tw_context_free(b.ctx);

    static const char more[] = "zz,d.csv\n";
    CHECK_EQ(write(fd, more, sizeof more - 1), (int64_t)sizeof more - 1);
    b = read_data(four_rows, &options);
    CHECK_EQ(b.status, TW_ERR_INPUT);
    char message[128];
    snprintf(message, sizeof message, "%s:7:1: error: 'd.csv' has no row 'zz'", path);
    CHECK_STR(tw_context_message(b.ctx, 0), message);
    tw_context_free(b.ctx);
    close(fd);
    unlink(path);
}

TEST(copies_are_rows_that_repeat_both_times_of_another)
{
    bench b = read_data(four_rows, NULL);
    accepts(&b);
    bool first[4] = {0}, second[4] = {0}, *copy[] = {first, second};
    const tw_data *data[] = {b.data, b.data};
    tw_data_find_copies(data, 2, copy); /* the same row, met again, is no copy */
    CHECK(!first[0] && first[1] && first[2] && !first[3]);
    CHECK(!second[0] && second[1] && second[2] && !second[3]);
    tw_context_free(b.ctx);
}
