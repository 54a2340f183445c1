/* test/search/test_mapping.c - mapping files: defaults, round trips and the validator. */
#include "tw_read.h"

typedef struct stage {
    tw_bench bench;
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
} stage;

static stage stage_of(const char *workload, const char *machine)
{
    stage s = {.bench = tw_bench_new()};
    char path[100];
    snprintf(path, sizeof path, "examples/machines/%s.yaml", machine);
    CHECK_EQ(tw_read_model(&s.bench, "w.yaml", workload, &s.model), TW_OK);
    CHECK_EQ(tw_read_machine(&s.bench, path, tw_read_source(&s.bench, path), &s.machine), TW_OK);
    return s;
}

static tw_status read_mapping(stage *s, const char *text)
{
    tw_status status = tw_read_mapping(&s->bench, "map.yaml", text, &s->model, &s->machine, &s->mapping);
    for (int i = 0; status != TW_OK && i < s->bench.diag.n_texts; i++) print_error("%s\n", s->bench.diag.text[i]);
    return status;
}

static void check_round_trip(stage *s)
{
    tw_text first = {0}, second = {0};
    CHECK_EQ(tw_mapping_check(&s->mapping, &s->model, &s->machine, &s->bench.diag), TW_OK);
    tw_mapping_print(&s->mapping, &s->model, &s->machine, &first);
    CHECK_EQ(read_mapping(s, first.bytes), TW_OK);
    tw_mapping_print(&s->mapping, &s->model, &s->machine, &second);
    CHECK_STR(second.bytes, first.bytes);
    tw_text_release(&first);
    tw_text_release(&second);
}

static const char three_levels[] =
    "mapping:\n"
    "  matmul:\n"
    "    levels:\n"
    "      - {at: l3, tiles: {m: 5}, cut: balanced, order: [n, m, k], buffers: {ifm: 2, w: 1, ofm: 2}}\n"
    "      - {at: l2, pass: true}\n"
    "      - {at: l1, tiles: {n: 2}, sizes: {k: 57}, buffers: {ifm: 2, w: 2, ofm: 4}, accumulate: separate}\n";

TEST(every_field_of_a_mapping_file_arrives)
{
    stage s = stage_of("matmul:128x128x512", "tick-three-level");
    CHECK_EQ(read_mapping(&s, three_levels), TW_OK);
    const tw_level_map *level = s.mapping.op[0].level;
    CHECK_EQ(s.mapping.op[0].n_levels, 3);
    CHECK_EQ(level[0].count[0], 5);
    CHECK_EQ(level[0].count[1], 1);
    CHECK_EQ(level[0].order[0], 1);
    CHECK_EQ(level[0].accumulate, TW_IN_PLACE);
    CHECK(level[1].pass);
    CHECK_EQ(level[1].slots[2], 2);
    CHECK_EQ(level[2].size[2], 57);
    CHECK_EQ(level[2].count[2], 0);
    CHECK_EQ(level[2].slots[2], 4);
    CHECK_EQ(level[2].accumulate, TW_SEPARATE);
    check_round_trip(&s);
    tw_bench_free(&s.bench);
}

TEST(the_shortest_mapping_keeps_everything_whole)
{
    stage s = stage_of("matmul:128x128x512", "tick-100k");
    CHECK_EQ(read_mapping(&s, "mapping: {matmul: {levels: [{at: buffer}]}}\n"), TW_OK);
    const tw_level_map *level = s.mapping.op[0].level;
    for (int l = 0; l < 3; l++) {
        CHECK_EQ(level->count[l], 1);
        CHECK_EQ(level->order[l], l);
        CHECK_EQ(level->slots[l], 1);
    }
    check_round_trip(&s);
    tw_bench_free(&s.bench);
}

TEST(output_buffers_default_to_the_least_that_the_mode_needs)
{
    static const struct {
        const char *mode;
        int64_t want;
    } all[] = {{"separate", 3}, {"in-place", 2}, {"fused", 1}};
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        stage s = stage_of("matmul:128x128x512", "tick-100k");
        char text[200];
        snprintf(text, sizeof text, "mapping: {matmul: {levels: [{at: buffer, tiles: {k: 2}, accumulate: %s}]}}\n",
                 all[i].mode);
        CHECK_EQ(read_mapping(&s, text), TW_OK);
        CHECK_EQ(s.mapping.op[0].level[0].slots[2], all[i].want);
        CHECK_EQ(tw_mapping_min_output_slots(s.mapping.op[0].level[0].accumulate, 2), all[i].want);
        CHECK_EQ(tw_mapping_min_output_slots(s.mapping.op[0].level[0].accumulate, 1), 1);
        check_round_trip(&s);
        tw_bench_free(&s.bench);
    }
}

TEST(loops_that_the_order_leaves_out_are_filled_in)
{
    static const struct {
        const char *order;
        int want[6];
    } all[] = {
        {"[]", {0, 1, 2, 3, 4, 5}},           {"[ox]", {2, 0, 1, 3, 4, 5}},         {"[ky]", {0, 1, 2, 4, 3, 5}},
        {"[ox, kx, ic]", {2, 0, 1, 5, 3, 4}}, {"[ox, oy, oc]", {2, 1, 0, 3, 4, 5}},
    };
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        stage s = stage_of("conv:4x8x8,out=4,kernel=3", "tick-100k");
        char text[200];
        snprintf(text, sizeof text, "mapping: {conv: {levels: [{at: buffer, order: %s}]}}\n", all[i].order);
        CHECK_EQ(read_mapping(&s, text), TW_OK);
        for (int l = 0; l < 6; l++) CHECK_EQ(s.mapping.op[0].level[0].order[l], all[i].want[l]);
        check_round_trip(&s);
        tw_bench_free(&s.bench);
    }
}

/* Oracle for "the nearest counts": try every count. */
TEST(a_greedy_count_that_does_not_exist_names_its_neighbours)
{
    for (int64_t count = 1; count <= 100; count++) {
        stage s = stage_of("matmul:100x1x1", "tick-100k");
        char text[200];
        snprintf(text, sizeof text, "mapping: {matmul: {levels: [{at: buffer, cut: greedy, tiles: {m: %d}}]}}\n",
                 (int)count);
        tw_status status = tw_read_mapping(&s.bench, "map.yaml", text, &s.model, &s.machine, &s.mapping);
        CHECK_EQ(status, tw_split_is_legal(100, count, TW_GREEDY) ? TW_OK : TW_ERR_INPUT);
        int64_t below = count, above = count;
        while (!tw_split_is_legal(100, below, TW_GREEDY)) below--;
        while (!tw_split_is_legal(100, above, TW_GREEDY)) above++;
        snprintf(text, sizeof text, "the nearest counts are %d and %d", (int)below, (int)above);
        if (status != TW_OK) CHECK(strstr(s.bench.diag.last, text) != NULL);
        tw_bench_free(&s.bench);
    }
}

TEST(an_operator_that_the_engine_cannot_compute_is_reported_where_it_is_described)
{
    stage s = stage_of("pool:4x8x8,kernel=2", "tick-100k");
    s.machine.engine[s.machine.compute].computes = 1U << TW_MULTIPLY_ADD;
    CHECK_EQ(read_mapping(&s, "mapping: {pool: {levels: [{at: buffer}]}}\n"), TW_ERR_INPUT);
    CHECK_STR(s.bench.diag.last, "<workload>:1:1: error: operator 'pool' computes max, engine 'mac' does not");
    tw_bench_free(&s.bench);
}

typedef void (*breaker)(tw_op_map *map);
static void too_few_levels(tw_op_map *map) { map->n_levels--; }
static void wrong_memory(tw_op_map *map) { map->level[0].memory = 2; }
static void inner_pass(tw_op_map *map) { map->level[2].pass = true; }
static void no_count(tw_op_map *map) { map->level[0].count[0] = 0; }
static void huge_count(tw_op_map *map) { map->level[0].count[0] = 129; }
static void huge_size(tw_op_map *map) { map->level[2].size[2] = 513; }
static void both(tw_op_map *map) { map->level[2].count[2] = 3; }
static void twice_in_order(tw_op_map *map) { map->level[0].order[0] = 0; }
static void reduction_outside(tw_op_map *map) { map->level[0].order[0] = 2, map->level[0].order[2] = 1; }
static void no_slot(tw_op_map *map) { map->level[1].slots[0] = 0; }
static void too_few_slots(tw_op_map *map) { map->level[2].slots[2] = 2; }

TEST(a_broken_mapping_is_not_accepted)
{
    static const breaker all[] = {too_few_levels,    wrong_memory, inner_pass,   no_count,
                                  huge_count,        huge_size,    both,         twice_in_order,
                                  reduction_outside, no_slot,      too_few_slots};
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        stage s = stage_of("matmul:128x128x512", "tick-three-level");
        CHECK_EQ(read_mapping(&s, three_levels), TW_OK);
        tw_op_map map = s.mapping.op[0];
        s.mapping.op = &map;
        CHECK_EQ(tw_mapping_check(&s.mapping, &s.model, &s.machine, &s.bench.diag), TW_OK);
        all[i](&map);
        CHECK_EQ(tw_mapping_check(&s.mapping, &s.model, &s.machine, &s.bench.diag), TW_ERR_INPUT);
        tw_bench_free(&s.bench);
    }
}

/* ---- the reader and the validator agree ---- */

static void shuffle(int *order, int n, uint64_t *rng)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)tw_test_pick(rng, 0, i), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* Mostly sound: counts and sizes may exceed the loop, orders may break the rule, buffers may be too few. */
static tw_level_map random_level(const tw_op *op, int memory, uint64_t *rng)
{
    tw_level_map level = {.memory = memory, .pass = tw_test_pick(rng, 0, 4) == 0};
    level.cut = tw_test_pick(rng, 0, 1) ? TW_GREEDY : TW_BALANCED;
    level.accumulate = (tw_accumulate)tw_test_pick(rng, 0, TW_N_ACCUMULATES - 1);
    for (int l = 0; l < op->n_loops; l++) {
        int64_t x =
            tw_test_pick(rng, 0, 9) ? tw_test_pick(rng, 1, tw_min(op->loop[l].extent, 4)) : op->loop[l].extent + 1;
        *(tw_test_pick(rng, 0, 2) ? &level.count[l] : &level.size[l]) = x;
        level.order[l] = l;
    }
    if (tw_test_pick(rng, 0, 3) == 0) shuffle(level.order, op->n_loops, rng);
    for (int i = 0; i < op->n_operands; i++) level.slots[i] = tw_test_pick(rng, tw_test_pick(rng, 0, 19) != 0, 5);
    return level;
}

TEST(what_the_reader_accepts_is_what_the_validator_accepts)
{
    uint64_t rng = tw_test_seed();
    int n_accepted = 0;
    for (int i = 0; i < 3000; i++) {
        stage s = stage_of("conv:6x9x9,out=5,kernel=3", "tick-three-level");
        tw_op_map map = {.n_levels = 3};
        for (int l = 0; l < 3; l++) map.level[l] = random_level(&s.model.op[0], l + 1, &rng);
        tw_mapping made = {1, &map}, got;
        tw_text first = {0}, second = {0};
        tw_mapping_print(&made, &s.model, &s.machine, &first);
        tw_status want = tw_mapping_check(&made, &s.model, &s.machine, &s.bench.diag);
        CHECK_EQ(tw_read_mapping(&s.bench, "map.yaml", first.bytes, &s.model, &s.machine, &got), want);
        if (want == TW_OK) {
            tw_mapping_print(&got, &s.model, &s.machine, &second);
            CHECK_STR(second.bytes, first.bytes);
            n_accepted++;
        }
        tw_text_release(&first);
        tw_text_release(&second);
        tw_bench_free(&s.bench);
    }
    CHECK(n_accepted > 100);
}

TEST(running_out_of_memory_at_any_request_is_survived)
{
    for (int64_t n = 1;; n++) {
        stage s = stage_of("matmul:128x128x512", "tick-three-level");
        tw_arena_fail_at(s.bench.arena, n);
        tw_status status = tw_read_mapping(&s.bench, "map.yaml", three_levels, &s.model, &s.machine, &s.mapping);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        tw_bench_free(&s.bench);
        if (status == TW_OK) break;
        CHECK(n < 1000);
    }
}
