/* test/emit/test_quidditch.c - lowering configs: every form is read, every mistake is told at its place, and what is
 * written reads back.
 *
 * The oracle of the random test walks the nest that an attribute describes, step by step, and watches tiles: which inputs
 * change when only the innermost loop moves, and whether an output tile is met again after it was left. */
#include "tilewright/tilewright.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

/* A cluster like that of the Snitch note with these keys of its L1. */
#define CLUSTER(keys)                                                                                  \
    "machine: cluster\nunit: byte\ntiming: async\nreuse: resident\n"                                   \
    "memories: [{name: l3, size: unlimited}, {name: l1, align: 8, whole: true, " keys "}]\n"           \
    "engines:\n"                                                                                       \
    "  - {name: dma, between: [l3, l1], joins: inputs, prefetch: all, cost: {setup: 100, beat: 64}}\n" \
    "  - {name: cores, computes: [multiply-add, add], on: l1, writes: end, cost: {cores: 8, start: 50}}\n"
static const char large[] = CLUSTER("size: unlimited, placement: bump");
static const char dual_inputs[] = CLUSTER("size: unlimited, placement: bump, buffers: dual-inputs");
static const char slots[] = CLUSTER("size: unlimited");
static const char three[] =
    "machine: three\nunit: byte\ntiming: async\n"
    "memories: [{name: l3, size: unlimited}, {name: l2, size: unlimited}, {name: l1, size: unlimited}]\n"
    "engines:\n"
    "  - {name: dma, between: [l3, l2], cost: {constant: 9}}\n"
    "  - {name: mover, between: [l2, l1], cost: {constant: 3}}\n"
    "  - {name: mac, computes: multiply-add, on: l1, cost: {constant: 5}}\n";

static const char dispatch[] = "matmul_transpose_b:1x1200x400:f64";
static const char fused[] = "matmul_transpose_b:1x1200x400:f64,epilogue=add";
static const char two[] = "workload: two\nops:\n"
                          "  - {name: fc1, op: matmul_transpose_b, shape: [1, 400, 161], dtype: f64}\n"
                          "  - {name: fc2, op: matmul_transpose_b, shape: [1, 600, 400], dtype: f64}\n";
static const char mixed[] = "workload: mixed\nops:\n"
                            "  - {name: fc, op: matmul, shape: [4, 8, 16], dtype: f64, output: y}\n"
                            "  - {name: gate, op: add, shape: [4, 8], inputs: {ifm: y}, dtype: f64}\n";

typedef struct stage {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
} stage;

/* A workload or machine of several lines is a file. */
static stage open_stage(const char *workload, const char *machine)
{
    stage s = {.ctx = tw_context_new()};
    bool file = strchr(workload, '\n') != NULL;
    CHECK_EQ(file ? tw_model_parse(s.ctx, "w.yaml", workload, &s.model) : tw_model_open(s.ctx, workload, &s.model),
             TW_OK);
    CHECK_EQ(strchr(machine, '\n') ? tw_machine_parse(s.ctx, "m.yaml", machine, &s.machine)
                                   : tw_machine_open(s.ctx, machine, &s.machine),
             TW_OK);
    return s;
}
static void close_stage(stage *s) { tw_context_free(s->ctx); }

static tw_status read_config(stage *s, const char *text)
{
    return tw_mapping_of_lowering(s->ctx, s->model, s->machine, text, &s->mapping);
}

/* All messages, a line each; the caller frees. */
static char *messages(const stage *s)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    for (int i = 0; i < tw_context_n_messages(s->ctx); i++)
        fprintf(out, "%s%s", i ? "\n" : "", tw_context_message(s->ctx, i));
    fclose(out);
    return text;
}

static char *mapping_text(stage *s)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_mapping_print_to(s->ctx, s->mapping, s->model, s->machine, out), TW_OK);
    fclose(out);
    return text;
}

static char *lowering_text(stage *s, tw_status expected)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_lowering(s->ctx, s->plan, out), expected);
    fclose(out);
    return text;
}

/* The level of the first operator, as it is printed: "sizes: {n: 40}, .., accumulate: fused". */
static void check_level(stage *s, const char *expected)
{
    char *text = mapping_text(s), *at = strstr(text, "{at: l1, ");
    CHECK(at != NULL);
    at[strcspn(at, "\n")] = 0;
    CHECK_STR(at + strlen("{at: l1, "), expected);
    free(text);
}

/* ---- reading ---- */

#define DUAL_KN                                                                                             \
    "tiles: {m: 1}, sizes: {n: 40, k: 100}, cut: balanced, order: [k, m, n], buffers: {ifm: 1, w: 2, ofm: " \
    "1}, keep: {ifm: tile, w: tile, ofm: all}, accumulate: fused}"

TEST(the_attribute_and_its_fields_are_the_same_in_every_form)
{
    static const char *const form[] = {
        "l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true",
        "l1_tiles=[0,40,100],l1_tiles_interchange=[2,0,1],dual_buffer=true",
        "dual_buffer = true, l1_tiles_interchange = [2, 0, 1], l1_tiles = [0, 40, 100]",
        "#quidditch_snitch.lowering_config<l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], "
        "dual_buffer = true>",
        "lowering_config = #quidditch_snitch.lowering_config<workgroup_tiles = [0, 0, 0], l1_tiles = [0, 40, 100], "
        "l1_tiles_interchange = [2, 0, 1], dual_buffer = true>",
        "lowering_config=l1_tiles=[0,40,100],l1_tiles_interchange=[2,0,1],dual_buffer=true",
        "\n  lowering_config =\n\t#quidditch_snitch.lowering_config\n <\n "
        "l1_tiles\n=\n[\n0\n,\n40\n,\n100\n]\n,\r\n"
        "l1_tiles_interchange\n=\n[ 2 , 0 , 1 ]\n, dual_buffer\n=\ntrue\n>\n\n",
        "// fc1: matmul_transpose_b\nl1_tiles = [0, 40, // n\n 100], l1_tiles_interchange = [2, 0, 1], "
        "dual_buffer = true // done",
        "workgroup_tiles = [], l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true"};
    for (size_t i = 0; i < TW_COUNT(form); i++) {
        stage s = open_stage(dispatch, large);
        CHECK_EQ(read_config(&s, form[i]), TW_OK);
        check_level(&s, DUAL_KN);
        close_stage(&s);
    }
}

TEST(what_a_config_leaves_out_has_a_default)
{
    static const struct {
        const char *text, *level;
    } row[] = {
        {"l1_tiles = []",
         "tiles: {m: 1, n: 1, k: 1}, cut: balanced, order: [m, n, k], buffers: {ifm: 1, w: 1, ofm: "
         "1}, keep: {ifm: tile, w: tile, ofm: tile}, accumulate: fused}"},
        {"#quidditch_snitch.lowering_config<>",
         "tiles: {m: 1, n: 1, k: 1}, cut: balanced, order: [m, n, k], buffers: {ifm: 1, w: 1, ofm: 1}, keep: {ifm: "
         "tile, w: tile, ofm: tile}, accumulate: fused}"},
        {"l1_tiles = [0, 40]",
         "tiles: {m: 1, k: 1}, sizes: {n: 40}, cut: balanced, order: [m, n, k], buffers: {ifm: 1, w: 1, ofm: 1}, "
         "keep: {ifm: tile, w: tile, ofm: tile}, accumulate: fused}"},
        {"l1_tiles_interchange = [1, 0]",
         "tiles: {m: 1, n: 1, k: 1}, cut: balanced, order: [n, m, k], buffers: {ifm: 1, w: 1, ofm: 1}, keep: {ifm: "
         "tile, w: tile, ofm: tile}, accumulate: fused}"},
        {"dual_buffer = true", /* there is no loop to pipeline */
         "tiles: {m: 1, n: 1, k: 1}, cut: balanced, order: [m, n, k], buffers: {ifm: 1, w: 1, ofm: 1}, keep: {ifm: "
         "tile, w: tile, ofm: tile}, accumulate: fused}"},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        stage s = open_stage(dispatch, large);
        CHECK_EQ(read_config(&s, row[i].text), TW_OK);
        check_level(&s, row[i].level);
        close_stage(&s);
    }
}

TEST(a_loop_of_one_trip_is_none)
{
    stage s = open_stage(dispatch, large);
    CHECK_EQ(read_config(&s, "l1_tiles = [1, 1200, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true"),
             TW_OK);
    check_level(&s,
                "tiles: {m: 1, n: 1}, sizes: {k: 100}, cut: balanced, order: [k, m, n], buffers: {ifm: 2, w: 2, "
                "ofm: 1}, keep: {ifm: tile, w: tile, ofm: tile}, accumulate: fused}");
    close_stage(&s);
}

TEST(a_machine_may_double_all_inputs)
{
    stage s = open_stage(dispatch, dual_inputs);
    CHECK_EQ(read_config(&s, "l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true"),
             TW_OK);
    check_level(
        &s, "tiles: {m: 1}, sizes: {n: 40, k: 100}, cut: balanced, order: [k, m, n], buffers: {ifm: 2, w: 2, ofm: "
            "1}, keep: {ifm: tile, w: tile, ofm: all}, accumulate: fused}");
    CHECK_EQ(tw_plan_eval(s.ctx, s.model, s.machine, s.mapping, &s.plan), TW_OK);
    CHECK_EQ(tw_plan_summary(s.plan)->cycles, 73252); /* models.md, section 2 */
    char *text = lowering_text(&s, TW_OK);
    CHECK(strstr(text, "l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true") != NULL);
    free(text);
    close_stage(&s);
}

TEST(what_is_fused_stays_whole)
{
    stage s = open_stage(fused, large);
    CHECK_EQ(read_config(&s, "l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true"),
             TW_OK);
    check_level(&s, DUAL_KN);
    char *text = mapping_text(&s);
    CHECK(strstr(text,
                 "  matmul_transpose_b.add:\n    levels:\n"
                 "      - {at: l1, tiles: {m: 1, n: 1}, cut: balanced, order: [m, n], buffers: {ifm: 1, bias: 1, "
                 "ofm: 1}, keep: {ifm: tile, bias: tile, ofm: tile}, accumulate: fused}\n") != NULL);
    free(text);
    close_stage(&s);
}

TEST(other_memories_are_passed_through)
{
    stage s = open_stage("matmul:8x8x8", three);
    CHECK_EQ(read_config(&s, "l1_tiles = [4, 2, 8], dual_buffer = true"), TW_OK);
    char *text = mapping_text(&s);
    CHECK_STR(
        text,
        "mapping:\n  matmul:\n    levels:\n"
        "      - {at: l2, pass: true, keep: {ifm: tile, w: tile, ofm: tile}}\n"
        "      - {at: l1, tiles: {k: 1}, sizes: {m: 4, n: 2}, cut: balanced, order: [m, n, k], buffers: {ifm: 1, "
        "w: 2, ofm: 1}, keep: {ifm: tile, w: tile, ofm: tile}, accumulate: fused}\n");
    free(text);
    close_stage(&s);
}

TEST(each_dispatch_has_a_config_of_its_own)
{
    stage s = open_stage(two, large);
    CHECK_EQ(read_config(&s, "// fc1\n#quidditch_snitch.lowering_config<l1_tiles = [0, 40]>\n"
                             "lowering_config = #quidditch_snitch.lowering_config<l1_tiles = [0, 30, 8]>"),
             TW_OK);
    char *text = mapping_text(&s);
    CHECK(strstr(text, "fc1:\n    levels:\n      - {at: l1, tiles: {m: 1, k: 1}, sizes: {n: 40}, ") != NULL);
    CHECK(strstr(text, "fc2:\n    levels:\n      - {at: l1, tiles: {m: 1}, sizes: {n: 30, k: 8}, ") != NULL);
    free(text);
    close_stage(&s);
}

/* ---- mistakes ---- */

#define FIELDS "; fields are workgroup_tiles, l1_tiles, l1_tiles_interchange and dual_buffer"
#define NAME   "#quidditch_snitch.lowering_config"

TEST(every_mistake_is_told_where_it_was_made)
{
    static const struct {
        const char *text, *message;
    } row[] = {
        {"", "1:1: error: a field is missing, found the end" FIELDS},
        {" \n // nothing\n", "3:1: error: a field is missing, found the end" FIELDS},
        {"l1_tiles = [0],", "1:16: error: a field is missing, found the end" FIELDS},
        {"<l1_tiles = [0]>", "1:1: error: a field is missing, found '<'" FIELDS},
        {"tiles = [0]", "1:1: error: unknown field 'tiles'" FIELDS},
        {"l1_tiles = [0], l1_tiles = [0]", "1:17: error: field 'l1_tiles' is given twice"},
        {"l1_tiles", "1:9: error: '=' is missing after 'l1_tiles', found the end"},
        {"l1_tiles: [0]", "1:9: error: '=' is missing after 'l1_tiles', found ':'"},
        {"l1_tiles = 40", "1:12: error: '[' is missing before the entries of 'l1_tiles', found '40'"},
        {"l1_tiles = [0, 40", "1:18: error: ']' is missing behind the entries of 'l1_tiles', found the end"},
        {"l1_tiles = [0 40]", "1:15: error: ']' is missing behind the entries of 'l1_tiles', found '40'"},
        {"l1_tiles = [0, ]", "1:16: error: an entry of 'l1_tiles' must be an integer, found ']'"},
        {"l1_tiles = [0,\n  4x]", "2:3: error: an entry of 'l1_tiles' must be an integer, found '4x'"},
        {"l1_tiles = [1.5]", "1:13: error: an entry of 'l1_tiles' must be an integer, found '1.5'"},
        {"l1_tiles = [\x01]", "1:13: error: an entry of 'l1_tiles' must be an integer, found byte 0x01"},
        {"l1_tiles = [-8]", "1:13: error: an entry of 'l1_tiles' is '-8', outside 0..2147483647"},
        {"l1_tiles = [0, 2147483648, 99999999999999999999]",
         "1:16: error: an entry of 'l1_tiles' is '2147483648', outside 0..2147483647\n"
         "<lowering-config>:1:28: error: an entry of 'l1_tiles' is '99999999999999999999', outside 0..2147483647"},
        {"l1_tiles = [0,0,0,0,0,0,0,0,0,0,0,0,0]", "1:37: error: 'l1_tiles' has more than 12 entries"},
        {"l1_tiles = [0, 0, 0, 1]",
         "1:12: error: 'l1_tiles' has 4 entries, operator 'matmul_transpose_b' has 3 loops: m, n, k"},
        {"l1_tiles_interchange = [3, 2, 1, 0]",
         "1:24: error: 'l1_tiles_interchange' has 4 entries, operator 'matmul_transpose_b' has 3 loops: m, n, k"},
        {"l1_tiles = [2, 1201, 400]",
         "1:13: error: 'm' is cut into tiles of 2, its extent is 1\n"
         "<lowering-config>:1:16: error: 'n' is cut into tiles of 1201, its extent is 1200"},
        {"l1_tiles_interchange = [0, 1, 1]", "1:31: error: 'l1_tiles_interchange' has 1 twice"},
        {"l1_tiles_interchange = [0, 2]",
         "1:28: error: 'l1_tiles_interchange' has 2, its 2 entries must be 0..1 in some order"},
        {"workgroup_tiles = [0, 600, 0]",
         "1:23: error: 'workgroup_tiles' has 600, must be 0: a plan is for one workgroup"},
        {"dual_buffer = yes", "1:15: error: 'dual_buffer' must be 'true' or 'false', found 'yes'"},
        {"dual_buffer = true false", "1:20: error: unexpected 'false' behind the lowering config"},
        {"dual_buffer = true " NAME "<>", "1:20: error: unexpected '" NAME "' behind the lowering config"},
        {NAME "<> dual_buffer = true", "1:37: error: unexpected 'dual_buffer' behind the lowering config"},
        {NAME "<>>", "1:36: error: unexpected '>' behind the lowering config"},
        {"#quidditch_snitch.lowering<>", "1:1: error: attribute '#quidditch_snitch.lowering' is not '" NAME "'"},
        {NAME "s<>", "1:1: error: attribute '" NAME "s' is not '" NAME "'"},
        {NAME, "1:34: error: '<' is missing after '" NAME "', found the end"},
        {NAME "<l1_tiles = [0]", "1:49: error: '>' is missing at the end of '" NAME "', found the end"},
        {"lowering_config", "1:16: error: '=' is missing after 'lowering_config', found the end"},
        {NAME "<>" NAME "<>",
         "1:36: error: workload 'matmul_transpose_b' has 1 dispatch, but there are 2 lowering configs"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1",
         "1:1: error: unknown field 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'" FIELDS},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        stage s = open_stage(dispatch, "snitch-note");
        CHECK_EQ(read_config(&s, row[i].text), TW_ERR_INPUT);
        char *text = messages(&s);
        CHECK(strncmp(text, "<lowering-config>:", strlen("<lowering-config>:")) == 0);
        CHECK_STR(text + strlen("<lowering-config>:"), row[i].message);
        free(text);
        close_stage(&s);
    }
}

TEST(workloads_and_machines_that_no_config_is_for_are_refused)
{
    static const struct {
        const char *workload, *machine, *text, *message;
    } row[] = {
        {"add:4x8,dtype=f64", large, "l1_tiles = [2]",
         "<lowering-config>:1:1: error: operator 'add' is no contraction, Quidditch tiles nothing else"},
        {"conv:4x8x8,out=4,kernel=3,dtype=f64", large, "l1_tiles = [2]",
         "<lowering-config>:1:1: error: operator 'conv' is no contraction, Quidditch tiles nothing else"},
        {mixed, large, NAME "<> " NAME "<>",
         "<lowering-config>:1:37: error: operator 'gate' is no contraction, Quidditch tiles nothing else"},
        {two, large, "\n l1_tiles = [0, 40]",
         "<lowering-config>:2:2: error: workload 'two' has 2 dispatches, but there is 1 lowering config"},
        {"matmul:8x8x8", "tick-100k", "l1_tiles = [2]",
         "<lowering-config>:1:1: error: machine 'tick-100k' is a lockstep machine, a lowering config cannot be for "
         "it"},
        {"matmul:8x8x8", "kpu", "l1_tiles = [2]",
         "<lowering-config>:1:1: error: machine 'kpu' has no innermost memory that holds inputs and output, a "
         "lowering "
         "config cannot be for it"},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        stage s = open_stage(row[i].workload, row[i].machine);
        CHECK_EQ(read_config(&s, row[i].text), TW_ERR_INPUT);
        char *text = messages(&s);
        CHECK_STR(text, row[i].message);
        free(text);
        close_stage(&s);
    }
}

/* ---- what the note says ---- */

TEST(the_tile_of_the_note_does_not_fit_by_63840_bytes)
{
    stage s = open_stage(dispatch, "snitch-note");
    CHECK_EQ(read_config(&s, "l1_tiles = [0, 240, 80], l1_tiles_interchange = [0, 2, 1], dual_buffer = false"),
             TW_OK);
    CHECK_EQ(tw_plan_eval(s.ctx, s.model, s.machine, s.mapping, &s.plan), TW_INFEASIBLE);
    char *text = messages(&s);
    CHECK(strstr(text, "63840") != NULL);
    free(text);
    close_stage(&s);
}

/* 8 * (3N + k + 2nk) bytes, the rule that separates what that compiler can place from what it cannot. */
TEST(the_footprint_is_the_rule_of_the_compiler)
{
    static const int64_t tile[][2] = {{40, 100}, {24, 200}, {80, 50}, {8, 8}, {240, 10}};
    for (size_t i = 0; i < TW_COUNT(tile); i++) {
        char config[120];
        int64_t n = tile[i][0], k = tile[i][1];
        stage s = open_stage(fused, large);
        snprintf(config, sizeof config,
                 "l1_tiles = [0, %" PRId64 ", %" PRId64 "], l1_tiles_interchange = [2, 0, 1], dual_buffer = true",
                 n, k);
        CHECK_EQ(read_config(&s, config), TW_OK);
        CHECK_EQ(tw_plan_eval(s.ctx, s.model, s.machine, s.mapping, &s.plan), TW_OK);
        const tw_pool_use *w = tw_plan_pool_use(s.plan, 0, 1, 1), *ifm = tw_plan_pool_use(s.plan, 0, 1, 0);
        CHECK_EQ(w->slots * w->slot_units + ifm->slots * ifm->slot_units, 8 * (k + 2 * n * k));
        close_stage(&s);
    }
}

/* ---- writing ---- */

static void eval_mapping(stage *s, const char *mapping)
{
    CHECK_EQ(tw_mapping_parse(s->ctx, s->model, s->machine, "map.yaml", mapping, &s->mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(s->ctx, s->model, s->machine, s->mapping, &s->plan), TW_OK);
}

#define LEVEL(keys) "mapping: {matmul_transpose_b: {levels: [{at: l1, " keys "}]}}\n"

TEST(a_plan_is_written_with_0_for_loops_that_are_not_cut)
{
    static const struct {
        const char *mapping, *attribute;
    } row[] = {
        {LEVEL("sizes: {n: 40, k: 100}, order: [k, m, n], buffers: {ifm: 1, w: 2}, keep: {ofm: all}"),
         "l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = true"},
        {LEVEL("sizes: {n: 40, k: 100}, order: [k, m, n], keep: {ofm: all}"),
         "l1_tiles = [0, 40, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = false"},
        {LEVEL("tiles: {n: 5}, sizes: {k: 25}, order: [m, n, k], buffers: {ifm: 2, w: 2}"),
         "l1_tiles = [0, 240, 25], l1_tiles_interchange = [0, 1, 2], dual_buffer = true"},
        {LEVEL("tiles: {n: 1, k: 1}, sizes: {m: 1}"),
         "l1_tiles = [0, 0, 0], l1_tiles_interchange = [0, 1, 2], dual_buffer = false"},
        /* the same, said in another way */
        {LEVEL("sizes: {k: 100}, order: [k, m, n], keep: {ofm: all}"),
         "l1_tiles = [0, 0, 100], l1_tiles_interchange = [2, 0, 1], dual_buffer = false"},
        {LEVEL("sizes: {n: 700}, cut: greedy"),
         "l1_tiles = [0, 700, 0], l1_tiles_interchange = [0, 1, 2], dual_buffer = "
         "false"},
        {LEVEL("tiles: {k: 3}, cut: greedy"),
         "l1_tiles = [0, 0, 134], l1_tiles_interchange = [0, 1, 2], dual_buffer = "
         "false"},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        char expected[300];
        stage s = open_stage(dispatch, large);
        eval_mapping(&s, row[i].mapping);
        char *text = lowering_text(&s, TW_OK);
        snprintf(expected, sizeof expected,
                 "// matmul_transpose_b: matmul_transpose_b 1x1200x400\n" NAME
                 "<workgroup_tiles = [0, 0, 0], %s>\n",
                 row[i].attribute);
        CHECK_STR(text, expected);
        CHECK(tw_plan_has_lowering(s.plan));
        free(text);
        close_stage(&s);
    }
}

TEST(what_no_attribute_can_say_is_told)
{
    static const struct {
        const char *mapping, *why;
    } row[] = {
        {LEVEL("sizes: {n: 40, k: 100}, order: [k, m, n], buffers: {ifm: 2, w: 2}, keep: {ofm: all}"),
         "'ifm' has 2 buffers, Quidditch gives it 1"},
        {LEVEL("sizes: {n: 40, k: 100}, order: [n, m, k], buffers: {ifm: 1, w: 2}"),
         "'ifm' has 1 buffer, Quidditch gives it 2"},
        {LEVEL("sizes: {n: 40}, buffers: {w: 3}"), "'w' has 3 buffers, Quidditch gives it 2"},
        {LEVEL("sizes: {n: 40}, buffers: {ofm: 2}"), "'ofm' has 2 buffers, Quidditch gives it 1"},
        {LEVEL("sizes: {n: 40, k: 100}, order: [k, m, n], keep: {ofm: tile}"),
         "'l1' keeps a tile of 'ofm', Quidditch all"},
        {LEVEL("sizes: {n: 40}, keep: {ofm: all}"), "'l1' keeps all of 'ofm', Quidditch a tile"},
        {LEVEL("sizes: {n: 40, k: 100}, keep: {ifm: n}, buffers: {ifm: 4}"),
         "'l1' keeps the tiles of one 'n' of 'ifm', Quidditch a tile"},
        {LEVEL("tiles: {n: 7}"), "the tiles along 'n' are balanced, Quidditch's have one size and a rest"},
        {LEVEL("sizes: {n: 40, k: 100}, serpentine: true"), "it is serpentine, Quidditch's loops all run forwards"},
        {LEVEL("sizes: {n: 40}, buffers: {ifm+w: 2}"),
         "'w' shares its buffers, in Quidditch each operand has its own"},
    };
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        char expected[300];
        stage s = open_stage(dispatch, large);
        eval_mapping(&s, row[i].mapping);
        char *text = lowering_text(&s, TW_INFEASIBLE), *told = messages(&s);
        snprintf(expected, sizeof expected,
                 "map.yaml:1:11: infeasible: no lowering config for 'matmul_transpose_b': %s", row[i].why);
        CHECK_STR(told, expected);
        CHECK_STR(text, "");
        CHECK(!tw_plan_has_lowering(s.plan));
        free(text);
        free(told);
        close_stage(&s);
    }
}

TEST(the_reason_may_lie_in_what_is_fused)
{
    stage s = open_stage(fused, large);
    eval_mapping(&s, "mapping:\n"
                     "  matmul_transpose_b: {levels: [{at: l1, sizes: {n: 40}}]}\n"
                     "  matmul_transpose_b.add: {levels: [{at: l1, sizes: {n: 600}}]}\n");
    char *text = lowering_text(&s, TW_INFEASIBLE), *told = messages(&s);
    CHECK_STR(
        told,
        "map.yaml:2:3: infeasible: no lowering config for 'matmul_transpose_b': in 'matmul_transpose_b.add' it "
        "is cut along 'n', Quidditch does not tile what is fused");
    free(text);
    free(told);
    close_stage(&s);
}

TEST(a_plan_that_fuses_otherwise_than_the_workload_wishes_has_no_config)
{
    static const struct {
        const char *workload, *mapping, *why;
    } row[] = {{fused,
                "mapping: {matmul_transpose_b: {levels: [{at: l1, sizes: {n: 40}}]},\n"
                "  matmul_transpose_b.add: {fused: false, levels: [{at: l1}]}}\n",
                "'matmul_transpose_b': in 'matmul_transpose_b.add' it is not fused, Quidditch fuses it"},
               {mixed, "mapping: {fc: {levels: [{at: l1}]}, gate: {fused: true, levels: [{at: l1}]}}\n",
                "'fc': 'gate' is fused with it, which Quidditch puts into another dispatch"}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        char expected[300];
        stage s = open_stage(row[i].workload, large);
        eval_mapping(&s, row[i].mapping);
        char *text = lowering_text(&s, TW_INFEASIBLE), *told = messages(&s);
        snprintf(expected, sizeof expected, "map.yaml:1:11: infeasible: no lowering config for %s", row[i].why);
        CHECK_STR(told, expected);
        CHECK(!tw_plan_has_lowering(s.plan));
        free(text);
        free(told);
        close_stage(&s);
    }
}

TEST(two_tiled_levels_are_one_too_many)
{
    stage s = open_stage("matmul:8x8x8", three);
    eval_mapping(&s, "mapping: {matmul: {levels: [{at: l2, tiles: {m: 2}}, {at: l1, tiles: {m: 2}}]}}\n");
    char *text = lowering_text(&s, TW_INFEASIBLE), *told = messages(&s);
    CHECK_STR(
        told,
        "map.yaml:1:11: infeasible: no lowering config for 'matmul': it is tiled for 'l2' too, Quidditch tiles "
        "for one memory");
    free(text);
    free(told);
    close_stage(&s);
}

TEST(a_dispatch_that_is_no_contraction_has_no_config)
{
    stage s = open_stage(mixed, large);
    eval_mapping(
        &s, "mapping: {fc: {levels: [{at: l1, sizes: {m: 2}}]}, gate: {levels: [{at: l1, tiles: {d0: 2}}]}}\n");
    char *text = lowering_text(&s, TW_OK);
    CHECK_STR(text, "// fc: matmul 4x8x16\n" NAME "<workgroup_tiles = [0, 0, 0], l1_tiles = [2, 0, 0], "
                    "l1_tiles_interchange = [0, 1, 2], dual_buffer = false>\n"
                    "// gate: add 4x8, has no lowering config\n");
    free(text);
    close_stage(&s);
}

TEST(a_machine_that_places_otherwise_is_not_offered_a_file)
{
    stage s = open_stage(dispatch, slots);
    eval_mapping(&s, LEVEL("sizes: {n: 40}"));
    CHECK(!tw_plan_has_lowering(s.plan));
    char *text = lowering_text(&s, TW_OK); /* but gets the attribute when it asks */
    free(text);
    close_stage(&s);
}

/* ---- there and back ---- */

enum { MAX_LOOPS = 4, MAX_INPUTS = 2 };
typedef struct kind {
    const char *format;
    int n_loops;
    bool reads[MAX_INPUTS + 1][MAX_LOOPS]; /* ifm, w, ofm: which loops each depends on */
} kind;
static const kind kinds[] = {
    {"matmul_transpose_b:%" PRId64 "x%" PRId64 "x%" PRId64 ":f64", 3, {{1, 0, 1}, {0, 1, 1}, {1, 1, 0}}},
    {"matmul:%" PRId64 "x%" PRId64 "x%" PRId64, 3, {{1, 0, 1}, {0, 1, 1}, {1, 1, 0}}},
    {"gemv:%" PRId64 "x%" PRId64, 2, {{0, 1}, {1, 1}, {1, 0}}},
};

typedef struct attribute {
    const kind *kind;
    int64_t extent[MAX_LOOPS], tile[MAX_LOOPS];
    int order[MAX_LOOPS];
    bool dual;
} attribute;

static attribute random_attribute(uint64_t *rng)
{
    attribute a = {.kind = &kinds[tw_test_pick(rng, 0, TW_COUNT(kinds) - 1)], .dual = tw_test_pick(rng, 0, 1)};
    for (int l = 0; l < a.kind->n_loops; l++) {
        a.extent[l] = tw_test_pick(rng, 1, 12);
        a.tile[l] = tw_test_pick(rng, 0, a.extent[l]);
        int at = (int)tw_test_pick(rng, 0, l);
        a.order[l] = a.order[at];
        a.order[at] = l;
    }
    return a;
}

static void put_space(FILE *out, uint64_t *rng)
{
    static const char *const space[] = {"", "", " ", "  ", "\n", "\t", " // ,>]\n"};
    fputs(space[tw_test_pick(rng, 0, TW_COUNT(space) - 1)], out);
}

static void put_list(FILE *out, uint64_t *rng, const char *name, const int64_t *value, int n)
{
    fputs(name, out);
    put_space(out, rng);
    fputc('=', out);
    put_space(out, rng);
    for (int i = 0; i < n; i++) {
        fputs(i ? "," : "[", out);
        put_space(out, rng);
        fprintf(out, "%" PRId64, value[i]);
        put_space(out, rng);
    }
    fputc(']', out);
}

/* The attribute as somebody might write it; the caller frees. */
static char *random_text(const attribute *a, uint64_t *rng)
{
    int64_t order[MAX_LOOPS], none[MAX_LOOPS] = {0};
    int n = a->kind->n_loops, first = (int)tw_test_pick(rng, 0, 3);
    bool complete = tw_test_pick(rng, 0, 1);
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (int l = 0; l < n; l++) order[l] = a->order[l];
    if (tw_test_pick(rng, 0, 1)) fputs("lowering_config = ", out);
    put_space(out, rng);
    if (complete) fputs(NAME "<", out);
    for (int i = 0; i < 4; i++) {
        put_space(out, rng);
        switch ((first + i) % 4) {
        case 0: put_list(out, rng, "workgroup_tiles", none, n); break;
        case 1: put_list(out, rng, "l1_tiles", a->tile, n); break;
        case 2: put_list(out, rng, "l1_tiles_interchange", order, n); break;
        default: fprintf(out, "dual_buffer = %s", a->dual ? "true" : "false"); break;
        }
        put_space(out, rng);
        if (i < 3) fputc(',', out);
    }
    if (complete) fputc('>', out);
    put_space(out, rng);
    fclose(out);
    return text;
}

static bool is_cut(const attribute *a, int loop) { return a->tile[loop] > 0 && a->tile[loop] < a->extent[loop]; }

/* Number of the tile of an operand at these positions. */
static int64_t tile_of(const attribute *a, int operand, const int64_t *index)
{
    int64_t number = 0;
    for (int l = 0; l < a->kind->n_loops; l++)
        if (a->kind->reads[operand][l]) number = number * 16 + index[l];
    return number;
}

static bool step(const attribute *a, int64_t *index)
{
    for (int p = a->kind->n_loops - 1; p >= 0; p--) {
        int l = a->order[p];
        int64_t trips = is_cut(a, l) ? (a->extent[l] + a->tile[l] - 1) / a->tile[l] : 1;
        if (++index[l] < trips) return true;
        index[l] = 0;
    }
    return false;
}

/* Walks the nest: is an output tile met again, and which inputs change between two steps of the innermost loop? */
static void watch(const attribute *a, bool *back, bool changes[MAX_INPUTS])
{
    int64_t index[MAX_LOOPS] = {0}, before[MAX_LOOPS], last = -1;
    static bool left[1 << 16];
    int innermost = -1;
    memset(left, 0, sizeof left);
    memset(changes, 0, MAX_INPUTS * sizeof *changes);
    *back = false;
    for (int p = 0; p < a->kind->n_loops; p++)
        if (is_cut(a, a->order[p])) innermost = a->order[p];
    do {
        int64_t output = tile_of(a, MAX_INPUTS, index);
        if (last >= 0 && output != last) left[last] = true;
        *back = *back || left[output];
        last = output;
        if (innermost >= 0 && index[innermost] > 0) {
            memcpy(before, index, sizeof before);
            before[innermost]--;
            for (int i = 0; i < MAX_INPUTS; i++) changes[i] |= tile_of(a, i, index) != tile_of(a, i, before);
        }
    } while (step(a, index));
}

static void check_against_walk(stage *s, const attribute *a, bool *dual)
{
    bool back, changes[MAX_INPUTS];
    char expected[80];
    watch(a, &back, changes);
    char *text = mapping_text(s);
    snprintf(expected, sizeof expected, "buffers: {ifm: %d, w: %d, ofm: 1}", a->dual && changes[0] ? 2 : 1,
             a->dual && changes[1] ? 2 : 1);
    CHECK(strstr(text, expected) != NULL);
    snprintf(expected, sizeof expected, "keep: {ifm: tile, w: tile, ofm: %s}", back ? "all" : "tile");
    CHECK(strstr(text, expected) != NULL);
    *dual = a->dual && (changes[0] || changes[1]);
    free(text);
}

static char *canonical(const attribute *a, bool dual)
{
    char *text;
    size_t len;
    int n = a->kind->n_loops;
    FILE *out = open_memstream(&text, &len);
    fputs("\n" NAME "<workgroup_tiles = [", out);
    for (int l = 0; l < n; l++) fputs(l ? ", 0" : "0", out);
    fputs("], l1_tiles = [", out);
    for (int l = 0; l < n; l++) fprintf(out, "%s%" PRId64, l ? ", " : "", is_cut(a, l) ? a->tile[l] : 0);
    fputs("], l1_tiles_interchange = [", out);
    for (int l = 0; l < n; l++) fprintf(out, "%s%d", l ? ", " : "", a->order[l]);
    fprintf(out, "], dual_buffer = %s>\n", dual ? "true" : "false");
    fclose(out);
    return text;
}

TEST(random_attributes_become_mappings_and_the_same_attributes_again)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        attribute a = random_attribute(&rng);
        char workload[100];
        snprintf(workload, sizeof workload, a.kind->format, a.extent[0], a.extent[1], a.extent[2]);
        stage s = open_stage(workload, large);
        char *text = random_text(&a, &rng);
        tw_status status = read_config(&s, text);
        if (status != TW_OK) print_error("%s\n%s\n", text, tw_context_message(s.ctx, 0));
        CHECK_EQ(status, TW_OK);
        bool dual;
        check_against_walk(&s, &a, &dual);
        CHECK_EQ(tw_plan_eval(s.ctx, s.model, s.machine, s.mapping, &s.plan), TW_OK);
        char *written = lowering_text(&s, TW_OK), *expected = canonical(&a, dual), *before = mapping_text(&s);
        CHECK_STR(strchr(written, '\n'), expected);
        CHECK_EQ(read_config(&s, written), TW_OK);
        char *after = mapping_text(&s);
        CHECK_STR(after, before);
        free(text);
        free(written);
        free(expected);
        free(before);
        free(after);
        close_stage(&s);
    }
}

/* ---- the search ---- */

/* The fastest of all attributes, each evaluated; INT64_MAX when none fits. */
static int64_t fastest(stage *s, const int64_t extent[3])
{
    static const char *const order[] = {"[0, 1, 2]", "[0, 2, 1]", "[1, 0, 2]",
                                        "[1, 2, 0]", "[2, 0, 1]", "[2, 1, 0]"};
    int64_t best = INT64_MAX;
    for (int64_t m = 1; m <= extent[0]; m++)
        for (int64_t n = 1; n <= extent[1]; n++)
            for (int64_t k = 1; k <= extent[2]; k++)
                for (int o = 0; o < 6; o++)
                    for (int dual = 0; dual < 2; dual++) {
                        char text[160];
                        snprintf(text, sizeof text,
                                 "l1_tiles = [%" PRId64 ", %" PRId64 ", %" PRId64
                                 "], l1_tiles_interchange = %s, dual_buffer = %s",
                                 m, n, k, order[o], dual ? "true" : "false");
                        CHECK_EQ(read_config(s, text), TW_OK);
                        if (tw_plan_eval(s->ctx, s->model, s->machine, s->mapping, &s->plan) != TW_OK) continue;
                        int64_t cycles = tw_plan_summary(s->plan)->cycles;
                        best = cycles < best ? cycles : best;
                    }
    return best;
}

TEST(the_search_finds_the_fastest_of_all_attributes)
{
    static const struct {
        int64_t extent[3];
        int size;
        const char *epilogue;
    } row[] = {{{1, 12, 8}, 100000, ""}, {{1, 12, 8}, 320, ""}, {{1, 9, 10}, 400, ",epilogue=add"},
               {{3, 4, 5}, 300, ""},     {{1, 6, 6}, 60, ""},   {{1, 1, 1}, 24, ""}};
    for (size_t i = 0; i < TW_COUNT(row); i++) {
        char workload[80], machine[sizeof CLUSTER("") + 60];
        const int64_t *e = row[i].extent;
        snprintf(workload, sizeof workload, "matmul_transpose_b:%" PRId64 "x%" PRId64 "x%" PRId64 ":f64%s", e[0],
                 e[1], e[2], row[i].epilogue);
        snprintf(machine, sizeof machine, CLUSTER("size: %d, placement: bump"), row[i].size);
        stage s = open_stage(workload, machine);
        int64_t best = fastest(&s, e);
        tw_context_clear_messages(s.ctx);
        tw_status status = tw_plan_search_lowering(s.ctx, s.model, s.machine, NULL, &s.plan);
        CHECK_EQ(status, best < INT64_MAX ? TW_OK : TW_INFEASIBLE);
        if (status == TW_OK) {
            CHECK_EQ(tw_plan_summary(s.plan)->cycles, best);
            CHECK(tw_plan_has_lowering(s.plan));
        } else {
            CHECK(tw_context_n_messages(s.ctx) > 0);
        }
        close_stage(&s);
    }
}
