/* test/search/test_limits.c - partial mappings: the reader, its complaints, and what limits allow.
 *
 * Two oracles enumerate: sets of numbers are tried number by number, and mappings are judged by the lists of all tiles
 * that their levels make, as the documentation puts it. */
#include "async_random.h"
#include "mapping/limits.h"
#include "tw_read.h"

static const char async_text[] =
    "machine: fixed\nunit: byte\ntiming: async\n"
    "memories: [{name: dram, size: unlimited}, {name: l2, size: unlimited}, {name: l1, size: unlimited, holds: "
    "inputs}, {name: fab, size: unlimited, holds: output}]\n"
    "engines:\n"
    "  - {name: dma, between: [dram, l2], cost: {latency: 9, per_cycle: 8}}\n"
    "  - {name: stream, between: [l2, l1], carries: in, cost: {constant: 3}}\n"
    "  - {name: drain, between: [l2, fab], cost: {constant: 2}}\n"
    "  - {name: mac, computes: multiply-add, on: fab, cost: {array: [4, 4]}}\n";

typedef struct stage {
    tw_bench bench;
    tw_model model;
    tw_machine machine;
    tw_limits limits;
} stage;

/* `machine` is the text of a machine file, or the name of one of the examples. */
static stage stage_of(const char *workload, const char *machine)
{
    stage s = {.bench = tw_bench_new()};
    bool text = strchr(machine, '\n') != NULL;
    char path[100];
    snprintf(path, sizeof path, "examples/machines/%s.yaml", text ? "?" : machine);
    CHECK_EQ(tw_read_model(&s.bench, "w.yaml", workload, &s.model), TW_OK);
    CHECK_EQ(tw_read_machine(&s.bench, "m.yaml", text ? machine : tw_read_source(&s.bench, path), &s.machine),
             TW_OK);
    return s;
}

static tw_status read_limits(stage *s, const char *text)
{
    const tw_node *root;
    TW_TRY(tw_read_tree(&s->bench, "lim.yaml", text, &root));
    return tw_limits_of_tree(root, &s->model, &s->machine, s->bench.arena, &s->bench.diag, &s->limits);
}

/* The limits of one level, its keys given; it is the first one of the file. */
static tw_level_limits level_of(stage *s, const char *level)
{
    char text[1000];
    snprintf(text, sizeof text, "mapping: {%s: {levels: [{%s}]}}\n", s->model.op[0].name, level);
    tw_status status = read_limits(s, text);
    if (status != TW_OK) print_error("%s\n%s", s->bench.diag.last, text);
    CHECK_EQ(status, TW_OK);
    int l = 0;
    while (!s->limits.op[0].level[l].loc.file) l++;
    return s->limits.op[0].level[l];
}

/* ---- sets of numbers ---- */

static bool naive_allows(const tw_number_limit *limit, int64_t x)
{
    bool listed = limit->n_list == 0;
    for (int i = 0; i < limit->n_list; i++) listed |= limit->list[i] == x;
    return listed && limit->at_least <= x && x <= limit->at_most && x % limit->multiple_of == 0;
}

TEST(sets_of_numbers_are_what_trying_every_number_says)
{
    enum { MOST = 60 };
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 2000; i++) {
        int64_t list[4] = {tw_test_pick(&rng, 1, 9)};
        for (int k = 1; k < 4; k++) list[k] = list[k - 1] + tw_test_pick(&rng, 1, 15);
        tw_number_limit limit = {tw_test_pick(&rng, 1, 40),
                                 tw_test_pick(&rng, 0, 3) ? tw_test_pick(&rng, 1, 50) : 55,
                                 tw_test_pick(&rng, 1, 9), (int)tw_test_pick(&rng, 0, 1) * 4, list};
        for (int64_t x = 0; x <= MOST; x++) {
            int64_t above = x, below = x;
            while (above <= MOST && (above == 0 || !naive_allows(&limit, above))) above++;
            while (below > 0 && !naive_allows(&limit, below)) below--;
            CHECK_EQ(tw_number_allows(&limit, x), x > 0 && naive_allows(&limit, x));
            CHECK_EQ(tw_number_above(&limit, x), above <= MOST ? above : 0);
            CHECK_EQ(tw_number_below(&limit, x), below);
        }
    }
}

TEST(a_set_without_limits_has_every_number_up_to_the_largest)
{
    tw_number_limit any = tw_number_any(), even = any;
    even.multiple_of = 2;
    CHECK_EQ(tw_number_above(&any, INT64_MAX), INT64_MAX);
    CHECK_EQ(tw_number_below(&any, INT64_MAX), INT64_MAX);
    CHECK_EQ(tw_number_above(&any, -7), 1);
    CHECK_EQ(tw_number_below(&any, 0), 0);
    CHECK_EQ(tw_number_above(&even, INT64_MAX), 0);
    CHECK_EQ(tw_number_below(&even, INT64_MAX), INT64_MAX - 1);
    CHECK(!tw_number_is_one(&any));
}

/* ---- the reader ---- */

static void check_number(const tw_number_limit *got, int64_t least, int64_t most, int64_t multiple, int n_list)
{
    CHECK_EQ(got->at_least, least);
    CHECK_EQ(got->at_most, most);
    CHECK_EQ(got->multiple_of, multiple);
    CHECK_EQ(got->n_list, n_list);
}

TEST(every_field_of_a_partial_mapping_arrives)
{
    stage s = stage_of("matmul:128x128x512", "tick-three-level");
    tw_level_limits l1 = level_of(
        &s, "at: l1, tiles: {m: 5, n: {at most: 8}}, sizes: {n: [64, 16, 32], k: {at least: 3, multiple of: "
            "2}}, cut: [greedy], order: [n, m, k], buffers: {ifm: 2, w: {at least: 2, at most: 9}, ofm: [4]}, "
            "accumulate: [fused, separate], min_tile: 8");
    CHECK_EQ(s.limits.n_ops, 1);
    CHECK_EQ(s.limits.op[0].n_levels, 3);
    CHECK(s.limits.op[0].level[2].loc.file && !s.limits.op[0].level[1].loc.file);
    CHECK_EQ(l1.pass, 0);
    check_number(&l1.tiles[0], 5, 5, 1, 0);
    check_number(&l1.tiles[1], 1, 8, 1, 0);
    check_number(&l1.tiles[2], 1, INT64_MAX, 1, 0);
    check_number(&l1.sizes[0], 1, INT64_MAX, 1, 0);
    check_number(&l1.sizes[1], 16, 64, 1, 3);
    CHECK_EQ(l1.sizes[1].list[1], 32);
    check_number(&l1.sizes[2], 3, INT64_MAX, 2, 0);
    check_number(&l1.slots[0], 2, 2, 1, 0);
    check_number(&l1.slots[1], 2, 9, 1, 0);
    check_number(&l1.slots[2], 4, 4, 1, 1);
    CHECK(tw_number_is_one(&l1.slots[0]) && tw_number_is_one(&l1.slots[2]) && !tw_number_is_one(&l1.slots[1]));
    CHECK_EQ(l1.cuts, 1u << TW_GREEDY);
    CHECK_EQ(l1.accumulate, 1u << TW_FUSED | 1u << TW_SEPARATE);
    CHECK(l1.has_order);
    CHECK_EQ(l1.order[0], 1);
    CHECK_EQ(l1.order[1], 0);
    CHECK_EQ(l1.min_tile, 8);
    CHECK_EQ(l1.keep[0], UINT32_MAX);
    CHECK(!l1.has_unroll);
    tw_bench_free(&s.bench);
}

TEST(every_field_of_an_async_partial_mapping_arrives)
{
    stage s = stage_of("matmul:100x64x30", async_text);
    tw_level_limits l2 = level_of(&s, "at: l2, keep: {ifm: m, w: [all, tile, k]}, buffers: {ofm: 65536}");
    CHECK_EQ(l2.pass, -1);
    CHECK_EQ(l2.keep[0], 1u << 2);
    CHECK_EQ(l2.keep[1], 1u << 1 | 1u << 0 | 1u << 4);
    CHECK_EQ(l2.keep[2], UINT32_MAX);
    check_number(&l2.slots[2], 65536, 65536, 1, 0);
    tw_level_limits fab = level_of(&s, "at: fab, unroll: [k, m]");
    CHECK(fab.has_unroll);
    CHECK_EQ(fab.over.dim[2], 1);
    CHECK_EQ(fab.over.dim[0], 2);
    CHECK_EQ(fab.over.dim[1], 0);
    CHECK_EQ(fab.pass, 0);
    tw_bench_free(&s.bench);
}

static void check_none(const tw_level_limits *level)
{
    CHECK_EQ(level->pass, -1);
    CHECK_EQ(level->cuts, 3);
    CHECK_EQ(level->accumulate, 7);
    CHECK_EQ(level->min_tile, 1);
    CHECK(!level->has_order && !level->has_unroll);
    for (int l = 0; l < TW_MAX_LOOPS; l++) {
        check_number(&level->tiles[l], 1, INT64_MAX, 1, 0);
        check_number(&level->sizes[l], 1, INT64_MAX, 1, 0);
    }
    for (int i = 0; i < TW_MAX_OPERANDS; i++) {
        check_number(&level->slots[i], 1, INT64_MAX, 1, 0);
        CHECK_EQ(level->keep[i], UINT32_MAX);
    }
}

TEST(what_is_left_out_is_free)
{
    static const char *const all[] = {
        "mapping: {}\n",
        "mapping: {matmul: {}}\n",
        "mapping: {matmul: {levels: []}}\n",
        "mapping: {matmul: {levels: [{at: l1}]}}\n",
        "mapping: {matmul: {levels: [{at: l3}, {at: l1, buffers: {}}]}}\n",
    };
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        stage s = stage_of("matmul:128x128x512", "tick-three-level");
        CHECK_EQ(read_limits(&s, all[i]), TW_OK);
        CHECK_EQ(s.limits.n_ops, 1);
        CHECK_EQ(s.limits.op[0].n_levels, 3);
        for (int l = 0; l < 3; l++) check_none(&s.limits.op[0].level[l]);
        tw_bench_free(&s.bench);
    }
}

TEST(what_only_tiled_levels_have_makes_a_level_tiled)
{
    static const struct {
        const char *keys;
        int pass;
    } all[] = {{"tiles: {m: {at most: 4}}", 0},   {"sizes: {}", 0},         {"cut: balanced", 0},
               {"order: [m, n, k]", 0},           {"accumulate: fused", 0}, {"min_tile: 2", 0},
               {"buffers: {ifm: 2}", -1},         {"pass: false", 0},       {"pass: true", 1},
               {"pass: true, buffers: {w: 3}", 1}};
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        stage s = stage_of("matmul:128x128x512", "tick-three-level");
        char text[200];
        snprintf(text, sizeof text, "at: l2, %s", all[i].keys);
        CHECK_EQ(level_of(&s, text).pass, all[i].pass);
        tw_bench_free(&s.bench);
    }
}

TEST(operators_are_limited_one_by_one)
{
    stage s = stage_of("workload: two\nops: [{name: a, op: matmul, shape: [8, 8, 8]},\n"
                       " {name: b, op: matmul, shape: [6, 6, 6]}]\n",
                       "tick-100k");
    CHECK_EQ(read_limits(&s, "mapping: {b: {levels: [{at: buffer, sizes: {m: 6}}]}}\n"), TW_OK);
    CHECK_EQ(s.limits.n_ops, 2);
    check_none(&s.limits.op[0].level[0]);
    check_number(&s.limits.op[1].level[0].sizes[0], 6, 6, 1, 0);
    tw_bench_free(&s.bench);
}

/* ---- what is refused ---- */

typedef struct bad_case {
    const char *text, *messages; /* a level's keys, or a whole file; all messages, one per line */
} bad_case;

static const char *messages_of(tw_bench *b)
{
    char *all = "";
    for (int i = 0; i < b->diag.n_texts; i++) all = tw_arena_printf(b->arena, "%s%s\n", all, b->diag.text[i]);
    return all;
}

/* Texts that are no file stand for one level; their columns count from the level's brace. */
static void check_refused(const char *workload, const char *machine, const bad_case *bad, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        stage s = stage_of(workload, machine);
        bool file = strncmp(bad[i].text, "at: ", 4) != 0;
        const char *text =
            file ? bad[i].text
                 : tw_arena_printf(s.bench.arena, "mapping:\n matmul:\n  levels:\n  -\n   {%s}\n", bad[i].text);
        tw_status status = read_limits(&s, text);
        CHECK_STR(messages_of(&s.bench), bad[i].messages);
        CHECK_EQ(status, TW_ERR_INPUT);
        tw_bench_free(&s.bench);
    }
}

TEST(every_mistake_is_reported_where_it_stands)
{
    static const bad_case bad[] = {
        /* the file */
        {"[]\n", "lim.yaml:1:1: error: mapping file must be a map, found a list\n"},
        {"maping: {}\n", "lim.yaml:1:1: error: missing key 'mapping' in mapping file\n"
                         "lim.yaml:1:1: error: unknown key 'maping' in mapping file; did you mean 'mapping'?\n"},
        {"mapping: 3\n", "lim.yaml:1:10: error: 'mapping' must be a map, found '3'\n"},
        {"mapping: {conv: {}}\n",
         "lim.yaml:1:11: error: workload 'matmul' has no operator 'conv'; its operators are matmul\n"},
        {"mapping: {matmul: [1]}\n", "lim.yaml:1:19: error: mapping of an operator must be a map, found a list\n"},
        {"mapping: {matmul: {level: []}}\n",
         "lim.yaml:1:20: error: unknown key 'level' in mapping of an operator; did you mean 'levels'?\n"},
        {"mapping: {matmul: {levels: {}}}\n", "lim.yaml:1:28: error: 'levels' must be a list, found a map\n"},
        {"mapping: {matmul: {levels: [l1]}}\n", "lim.yaml:1:29: error: level must be a map, found 'l1'\n"},
        {"mapping: {matmul: {levels: [{tiles: {m: 2}}]}}\n", "lim.yaml:1:29: error: missing key 'at' in level\n"},
        {"mapping: {matmul: {levels: [{at: l1}, {at: l2}]}}\n",
         "lim.yaml:1:44: error: level 'l2' comes after 'l1': levels go from the outside in\n"},
        {"mapping: {matmul: {levels: [{at: l1}, {at: l1}]}}\n",
         "lim.yaml:1:44: error: level 'l1' comes after 'l1': levels go from the outside in\n"},
        /* levels */
        {"at: l7", "lim.yaml:5:9: error: 'at' must be one of l3, l2, l1, found 'l7'\n"},
        {"at: outside",
         "lim.yaml:5:9: error: 'at' must be one of l3, l2, l1, found the outermost memory 'outside'\n"},
        {"at: l1, tile: {m: 2}", "lim.yaml:5:13: error: unknown key 'tile' in level; did you mean 'tiles'?\n"},
        {"at: l1, serpentine: true", "lim.yaml:5:13: error: unknown key 'serpentine' in level\n"},
        {"at: l1, keep: {ifm: m}", "lim.yaml:5:13: error: unknown key 'keep' in level\n"},
        {"at: l1, unroll: [m, n]", "lim.yaml:5:13: error: unknown key 'unroll' in level\n"},
        {"at: l1, pass: true", "lim.yaml:5:19: error: the innermost memory 'l1' cannot be passed through\n"},
        {"at: l2, pass: maybe", "lim.yaml:5:19: error: 'pass' must be true or false, found 'maybe'\n"},
        {"at: l2, pass: true, tiles: {m: 2}", "lim.yaml:5:25: error: unknown key 'tiles' in pass-through level\n"},
        /* counts and sizes */
        {"at: l1, tiles: 4", "lim.yaml:5:20: error: 'tiles' must be a map, found '4'\n"},
        {"at: l1, tiles: {x: 4}",
         "lim.yaml:5:21: error: operator 'matmul' has no loop 'x'; its loops are m, n, k\n"},
        {"at: l1, tiles: {m: four}", "lim.yaml:5:24: error: 'm' must be an integer, found 'four'\n"},
        {"at: l1, tiles: {m: 0}", "lim.yaml:5:24: error: 'm' is 0, outside 1..2147483647\n"},
        {"at: l1, tiles: {m: 200}", "lim.yaml:5:24: error: 'm' is cut into 200 tiles, its extent is 128\n"},
        {"at: l1, sizes: {m: 200}", "lim.yaml:5:24: error: 'm' is cut into tiles of 200, its extent is 128\n"},
        {"at: l1, sizes: {m: {at least: 129}}",
         "lim.yaml:5:24: error: 'm' is cut into tiles of at least 129, its extent is 128\n"},
        {"at: l1, tiles: {m: {at least: 129}}",
         "lim.yaml:5:24: error: 'm' is cut into at least 129 tiles, its extent is 128\n"},
        {"at: l1, tiles: {m: {at least: 5, at most: 4}}",
         "lim.yaml:5:24: error: 'm' is at least 5 and at most 4\n"},
        {"at: l1, tiles: {m: {at least: 17, at most: 31, multiple of: 16}}",
         "lim.yaml:5:24: error: 'm' must be a multiple of 16, 17..31 has none\n"},
        {"at: l1, tiles: {m: {multiple of: 200}}",
         "lim.yaml:5:24: error: 'm' must be a multiple of 200, 1..128 has none\n"},
        {"at: l3, sizes: {m: {at most: 31, at least: 17, multiple of: 16}}",
         "lim.yaml:5:24: error: 'm' must be a multiple of 16, 17..31 has none\n"},
        {"at: l1, sizes: {m: {}}",
         "lim.yaml:5:24: error: 'm' has no limit: give 'at least', 'at most' or 'multiple of'\n"},
        {"at: l1, sizes: {m: {at mots: 8}}",
         "lim.yaml:5:25: error: unknown key 'at mots' in limit; did you mean 'at most'?\n"},
        {"at: l1, sizes: {m: {at most: [8]}}",
         "lim.yaml:5:34: error: 'at most' must be an integer, found a list\n"},
        {"at: l1, sizes: {m: {multiple of: 0}}",
         "lim.yaml:5:38: error: 'multiple of' is 0, outside 1..2147483647\n"},
        {"at: l1, sizes: {m: []}", "lim.yaml:5:24: error: 'm' has 0 candidates, outside 1..256\n"},
        {"at: l1, sizes: {m: 64}, tiles: {m: 3}",
         "lim.yaml:5:24: error: 'm' cannot be cut into 3 tiles of such sizes, its extent is 128\n"},
        {"at: l1, tiles: {m: [2, 3]}, sizes: {m: {multiple of: 500}}",
         "lim.yaml:5:44: error: 'm' cannot be cut into 2 tiles of such sizes, its extent is 128\n"},
        {"at: l1, sizes: {m: [8, 16, 8]}", "lim.yaml:5:32: error: '8' is given twice in 'm'\n"},
        {"at: l1, sizes: {m: [8, x, 129, 0]}", "lim.yaml:5:28: error: 'm' must be an integer, found 'x'\n"
                                               "lim.yaml:5:31: error: 'm' is cut into tiles of 129, its extent is "
                                               "128\n"
                                               "lim.yaml:5:36: error: 'm' is 0, outside 1..2147483647\n"},
        {"at: l1, sizes: {m: [{at most: 8}]}", "lim.yaml:5:25: error: 'm' must be an integer, found a map\n"},
        /* the rest */
        {"at: l1, cut: even", "lim.yaml:5:18: error: 'cut' must be one of balanced, greedy, found 'even'\n"},
        {"at: l1, cut: []", "lim.yaml:5:18: error: 'cut' is empty\n"},
        {"at: l1, cut: [greedy, greedy]", "lim.yaml:5:27: error: 'greedy' is given twice in 'cut'\n"},
        {"at: l1, order: [m, n]", "lim.yaml:5:20: error: 'order' names 2 of the 3 loops of 'matmul': a partial "
                                  "mapping names all or none\n"},
        {"at: l1, order: []", "lim.yaml:5:20: error: 'order' names 0 of the 3 loops of 'matmul': a partial mapping "
                              "names all or none\n"},
        {"at: l1, order: [m, n, n]", "lim.yaml:5:27: error: loop 'n' is given twice in 'order'\n"},
        {"at: l1, order: [m, n, z]",
         "lim.yaml:5:27: error: operator 'matmul' has no loop 'z'; its loops are m, n, k\n"},
        {"at: l1, order: [m, k, n]", "lim.yaml:5:27: error: loop 'n' is inside reduction loop 'k': partial sums "
                                     "would have to leave the memory\n"},
        {"at: l1, accumulate: [fused, added]",
         "lim.yaml:5:33: error: 'accumulate' must be one of separate, in-place, fused, found 'added'\n"},
        {"at: l1, min_tile: 0", "lim.yaml:5:23: error: 'min_tile' is 0, outside 1..2147483647\n"},
        {"at: l1, min_tile: {at least: 4}", "lim.yaml:5:23: error: 'min_tile' must be an integer, found a map\n"},
        {"at: l1, buffers: {ifm: 65}", "lim.yaml:5:28: error: 'ifm' is 65, outside 1..64\n"},
        {"at: l1, buffers: {ifm: {at most: 65}}", "lim.yaml:5:38: error: 'at most' is 65, outside 1..64\n"},
        {"at: l1, buffers: {ifm: {at least: 33, multiple of: 33, at most: 65}}",
         "lim.yaml:5:69: error: 'at most' is 65, outside 1..64\n"},
        {"at: l1, buffers: {ifm: {at least: 34, multiple of: 33}}",
         "lim.yaml:5:28: error: 'ifm' must be a multiple of 33, 34..64 has none\n"},
        {"at: l1, buffers: {bias: 1}",
         "lim.yaml:5:23: error: operator 'matmul' has no operand 'bias'; its operands are ifm, w, ofm\n"},
        {"at: l1, buffers: {ifm+w: 4}",
         "lim.yaml:5:23: error: operator 'matmul' has no operand 'ifm+w'; its operands are ifm, w, ofm\n"},
        /* several at once */
        {"mapping:\n  matmul:\n    levels:\n    - {at: l3, tiles: {m: 0}, cut: odd}\n    - {at: l1, pass: true}\n",
         "lim.yaml:4:27: error: 'm' is 0, outside 1..2147483647\n"
         "lim.yaml:4:36: error: 'cut' must be one of balanced, greedy, found 'odd'\n"
         "lim.yaml:5:22: error: the innermost memory 'l1' cannot be passed through\n"},
    };
    check_refused("matmul:128x128x512", "tick-three-level", bad, TW_COUNT(bad));
}

TEST(every_mistake_of_an_async_level_is_reported_where_it_stands)
{
    static const bad_case bad[] = {
        {"at: l1, buffers: {ofm: 2}", "lim.yaml:5:28: error: memory 'l1' does not hold 'ofm'\n"},
        {"at: fab, keep: {ifm: tile}", "lim.yaml:5:26: error: memory 'fab' does not hold 'ifm'\n"},
        {"at: l1, buffers: {ifm: 65537}", "lim.yaml:5:28: error: 'ifm' is 65537, outside 1..65536\n"},
        {"at: l1, buffers: {ifm+w: 4, ifm: 0}",
         "lim.yaml:5:23: error: 'ifm+w' is a shared pool, which is not searched: a partial mapping cannot have it\n"
         "lim.yaml:5:38: error: 'ifm' is 0, outside 1..65536\n"},
        {"at: fab, serpentine: false",
         "lim.yaml:5:14: error: 'serpentine' is not searched: a partial mapping cannot have it\n"},
        {"at: l2, keep: {ifm: x}", "lim.yaml:5:25: error: 'keep' of 'ifm' must be a loop, 'tile' or 'all', found "
                                   "'x'; the loops are m, n, k\n"},
        {"at: l2, keep: {ifm: [m, [n], m]}",
         "lim.yaml:5:29: error: 'keep' of 'ifm' must be a loop, 'tile' or 'all', found '...'; the loops are m, n, "
         "k\n"
         "lim.yaml:5:34: error: 'm' is given twice in 'keep' of 'ifm'\n"},
        {"at: l2, keep: {ifm: []}", "lim.yaml:5:25: error: 'keep' of 'ifm' is empty\n"},
        {"at: l2, keep: {bias: m}",
         "lim.yaml:5:20: error: operator 'matmul' has no operand 'bias'; its operands are ifm, w, ofm\n"},
        {"at: l2, keep: all", "lim.yaml:5:19: error: 'keep' must be a map, found 'all'\n"},
        {"at: fab, unroll: [m]", "lim.yaml:5:22: error: 'unroll' must name 2 loops: rows, then columns\n"},
        {"at: fab, unroll: [m, m]", "lim.yaml:5:26: error: 'unroll' names 'm' twice\n"},
        {"at: fab, unroll: {rows: [m/2, m], columns: n}", "lim.yaml:5:35: error: 'unroll' names 'm' twice\n"},
        {"at: fab, unroll: {rows: [m/2, m/4], columns: m}", "lim.yaml:5:35: error: 'unroll' names 'm' twice\n"},
        {"at: fab, unroll: [m/1, n]",
         "lim.yaml:5:23: error: 'm/1' must be 'm/N' with N in 2..100, the points side by side\n"},
        {"at: fab, unroll: [m/101, n]",
         "lim.yaml:5:23: error: 'm/101' must be 'm/N' with N in 2..100, the points side by side\n"},
        {"at: fab, unroll: [m/, n]",
         "lim.yaml:5:23: error: 'm/' must be 'm/N' with N in 2..100, the points side by side\n"},
        {"at: fab, unroll: [m/2x, n]",
         "lim.yaml:5:23: error: 'm/2x' must be 'm/N' with N in 2..100, the points side by side\n"},
        {"at: fab, unroll: [m/-2, n]",
         "lim.yaml:5:23: error: 'm/-2' must be 'm/N' with N in 2..100, the points side by side\n"},
        {"at: fab, unroll: [m/99999999999999999999, n]", "lim.yaml:5:23: error: 'm/99999999999999999999' must be "
                                                         "'m/N' with N in 2..100, the points side by side\n"},
        {"at: fab, unroll: [q/2, n]",
         "lim.yaml:5:23: error: operator 'matmul' has no loop 'q'; its loops are m, n, k\n"},
        {"at: fab, accumulate: [fused, in-place]",
         "lim.yaml:5:34: error: machine 'fixed' does not accumulate 'in-place'; it offers fused\n"},
        {"at: l2, pass: true, unroll: [m, n]",
         "lim.yaml:5:25: error: unknown key 'unroll' in pass-through level\n"},
    };
    check_refused("matmul:100x64x30", async_text, bad, TW_COUNT(bad));
}

TEST(a_size_that_fits_no_multiple_is_no_mistake_where_the_loop_may_stay_whole)
{
    static const char *const good[] = {
        "at: l1, sizes: {m: {at least: 17, at most: 31, multiple of: 16}}",
        "at: l3, sizes: {m: {multiple of: 500}}",
        "at: l3, sizes: {m: {multiple of: 500, at least: 128}}",
        "at: l3, sizes: {m: {at most: 1000}}, tiles: {m: {at most: 1000}}",
        "at: l3, sizes: {m: 127}, tiles: {m: 2}",
        "at: l3, sizes: {m: {at least: 64, multiple of: 64}}, tiles: {m: {at least: 2}}"};
    for (size_t i = 0; i < TW_COUNT(good); i++) {
        stage s = stage_of("matmul:128x128x512", "tick-three-level");
        level_of(&s, good[i]);
        tw_bench_free(&s.bench);
    }
}

TEST(a_list_has_at_most_256_candidates)
{
    for (int n = 256; n <= 257; n++) {
        stage s = stage_of("matmul:1000x8x8", "tick-100k");
        char *text = tw_arena_printf(s.bench.arena, "mapping: {matmul: {levels: [{at: buffer, sizes: {m: [1");
        for (int i = 2; i <= n; i++) text = tw_arena_printf(s.bench.arena, "%s, %d", text, i);
        tw_status status = read_limits(&s, tw_arena_printf(s.bench.arena, "%s]}}]}}", text));
        CHECK_EQ(status, n == 256 ? TW_OK : TW_ERR_INPUT);
        if (n > 256) CHECK_STR(s.bench.diag.last, "lim.yaml:1:53: error: 'm' has 257 candidates, outside 1..256");
        tw_bench_free(&s.bench);
    }
}

TEST(running_out_of_memory_at_any_request_is_survived)
{
    static const char text[] = "mapping: {matmul: {levels: [{at: l3, tiles: {m: [1, 2]}}, {at: l1, sizes: {k: [4, "
                               "2]}, buffers: {w: [1, 2, 3]}}]}}\n";
    for (int64_t n = 1;; n++) {
        stage s = stage_of("matmul:128x128x512", "tick-three-level");
        tw_arena_fail_at(s.bench.arena, n);
        tw_status status = read_limits(&s, text);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        tw_bench_free(&s.bench);
        if (status == TW_OK) break;
        CHECK(n < 1000);
    }
}

TEST(the_public_functions_read_texts_and_files)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_limits *limits = NULL;
    CHECK_EQ(tw_model_open(ctx, "matmul:128x128x512", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "tick-100k", &machine), TW_OK);
    CHECK_EQ(tw_limits_parse(ctx, model, machine, "mine", "mapping: {matmul: {levels: [{at: l1}]}}", &limits),
             TW_ERR_INPUT);
    CHECK_STR(tw_context_message(ctx, 0), "mine:1:34: error: 'at' must be one of buffer, found 'l1'");
    CHECK(limits == NULL);
    CHECK_EQ(tw_limits_open(ctx, model, machine, "/nowhere/limits.yaml", &limits), TW_ERR_IO);
    CHECK_EQ(tw_limits_parse(ctx, model, machine, "mine", "mapping: {}", &limits), TW_OK);
    CHECK_EQ(limits->n_ops, 1);
    tw_bench b = tw_bench_new();
    tw_read_source(&b, "examples/02-reduction/mapping.yaml"); /* says what TW_SOURCE must be */
    char *path = tw_arena_printf(b.arena, "%s/examples/02-reduction/mapping.yaml", getenv("TW_SOURCE"));
    CHECK_EQ(tw_limits_open(ctx, model, machine, path, &limits), TW_OK);
    check_number(&limits->op[0].level[0].tiles[2], 2, 2, 1, 0);
    tw_bench_free(&b);
    tw_context_free(ctx);
}

/* ---- all tiles of a mapping ---- */

enum { MOST_PIECES = 64, MOST_TILES = 16 };
typedef struct piece { /* what a level makes of one piece of a loop */
    int64_t len;
    int n;
    int64_t tile[MOST_TILES];
} piece;
typedef struct pieces {
    int n;
    piece at[MOST_PIECES];
} pieces;

/* The tiles of one piece; false when it cannot be cut so. */
static bool cut_piece(int64_t len, bool by_size, int64_t x, bool greedy, piece *out)
{
    *out = (piece){.len = len};
    if (!by_size && x > len) return false;
    int64_t size = by_size ? x : greedy ? (len + x - 1) / x : len / x, longer = by_size || greedy ? 0 : len % x;
    for (int64_t left = len; left > 0; longer--) {
        int64_t tile = tw_min(size + (longer > 0), left);
        out->tile[out->n++] = tile;
        left -= tile;
    }
    return by_size || out->n == x;
}

static bool same_tiles(const piece *a, const piece *b)
{
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (a->tile[i] != b->tile[i]) return false;
    return true;
}

typedef struct world { /* of one mapping: per level and loop */
    pieces cut[TW_MAX_MEMORIES][TW_MAX_LOOPS];
} world;

/* False when some piece cannot be cut as the mapping says. */
static bool make_world(const tw_op *op, const tw_op_map *map, world *w)
{
    for (int l = 0; l < op->n_loops; l++) {
        pieces now = {.n = 1, .at = {{op->loop[l].extent}}};
        for (int i = 0; i < map->n_levels; i++) {
            const tw_level_map *level = &map->level[i];
            bool by_size = level->size[l] > 0;
            pieces next = {0};
            if (level->pass) continue;
            for (int k = 0; k < now.n; k++) {
                piece *p = &now.at[k];
                if (!cut_piece(p->len, by_size, by_size ? level->size[l] : level->count[l], level->cut == TW_GREEDY,
                               p))
                    return false;
                for (int j = 0; j < p->n; j++) next.at[next.n++].len = p->tile[j];
            }
            w->cut[i][l] = now;
            now = next;
        }
    }
    return true;
}

static const piece *largest(const world *w, int level, int loop)
{
    const pieces *p = &w->cut[level][loop];
    const piece *best = &p->at[0];
    for (int i = 1; i < p->n; i++)
        if (p->at[i].len > best->len) best = &p->at[i];
    return best;
}

static bool cuts(const world *w, int level, int loop) { return largest(w, level, loop)->n > 1; }

/* ---- random mappings ---- */

static void shuffle(int *order, int n, uint64_t *rng)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)tw_test_pick(rng, 0, i), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

static void random_slots(const stage *s, int memory, tw_level_map *level, uint64_t *rng)
{
    const tw_op *op = &s->model.op[0];
    for (int i = 0; i < op->n_operands; i++) {
        unsigned what = i == op->n_operands - 1  ? TW_HOLDS_OUTPUT
                        : op->operand[i].weights ? TW_HOLDS_WEIGHTS
                                                 : TW_HOLDS_ACTIVATIONS;
        if (!(s->machine.memory[memory].holds & what)) continue;
        level->slots[i] = tw_test_pick(rng, 3, 5);
        if (s->machine.timing == TW_ASYNC) level->keeps[i] = (int)tw_test_pick(rng, -1, op->n_loops);
    }
}

static void random_cut(const tw_op *op, int l, tw_level_map *level, uint64_t *rng)
{
    level->count[l] = level->size[l] = 0;
    *(tw_test_pick(rng, 0, 1) ? &level->count[l] : &level->size[l]) =
        tw_test_pick(rng, 1, tw_min(op->loop[l].extent, 5));
}

static tw_op_map random_map(const stage *s, uint64_t *rng)
{
    const tw_op *op = &s->model.op[0];
    bool async = s->machine.timing == TW_ASYNC;
    tw_op_map map = {.n_levels = s->machine.n_memories - 1};
    for (int i = 0; i < map.n_levels; i++) {
        tw_level_map *level = &map.level[i];
        *level = (tw_level_map){.memory = i + 1, .min_tile = 1, .cut = (tw_cut)tw_test_pick(rng, 0, 1)};
        level->pass = i < map.n_levels - 1 && tw_test_pick(rng, 0, 2) == 0;
        level->accumulate = async ? TW_FUSED : (tw_accumulate)tw_test_pick(rng, 0, 2);
        for (int l = 0; l < op->n_loops; l++) level->order[l] = l, level->count[l] = 1;
        random_slots(s, i + 1, level, rng);
        if (level->pass) continue;
        for (int l = 0; l < op->n_loops; l++)
            if (tw_test_pick(rng, 0, 2)) random_cut(op, l, level, rng);
        if (async) shuffle(level->order, op->n_loops, rng);
        if (!async && tw_test_pick(rng, 0, 1)) level->order[0] = 1, level->order[1] = 0; /* both are parallel */
        if (async && tw_test_pick(rng, 0, 1)) level->over.dim[tw_test_pick(rng, 0, 1)] = 1, level->over.dim[2] = 2;
    }
    return map;
}

/* A mapping that can be built, with all its tiles. */
static tw_op_map sound_map(stage *s, uint64_t *rng, world *w)
{
    for (;;) {
        tw_op_map map = random_map(s, rng);
        if (make_world(&s->model.op[0], &map, w) &&
            tw_mapping_check(&(tw_mapping){1, &map}, &s->model, &s->machine, &s->bench.diag) == TW_OK)
            return map;
        tw_diag_release(&s->bench.diag);
    }
}

static stage small_stage(bool async) { return stage_of("matmul:9x6x7", async ? async_text : "tick-three-level"); }

/* ---- what a printed mapping allows ---- */

/* How many loops of those that are cut stay while the operand is kept. */
static int keep_depth(const stage *s, const world *w, int level, const int *order, int keep)
{
    int depth = 0;
    for (int i = 0; i < s->model.op[0].n_loops && keep != TW_KEEP_ALL; i++) {
        depth += cuts(w, level, order[i]);
        if (order[i] == keep) break;
    }
    return depth;
}

static int tiled_from(const tw_op_map *map, int level)
{
    while (map->level[level].pass) level++;
    return level;
}

static bool same_order(const stage *s, const world *w, int level, const int *a, const int *b)
{
    int x[TW_MAX_LOOPS], y[TW_MAX_LOOPS], n = 0, m = 0;
    for (int i = 0; i < s->model.op[0].n_loops; i++) {
        if (cuts(w, level, a[i])) x[n++] = a[i];
        if (cuts(w, level, b[i])) y[m++] = b[i];
    }
    return n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static bool adds(const stage *s, const world *w, int level)
{
    bool any = false;
    for (int l = 0; l < s->model.op[0].n_loops; l++) any |= s->model.op[0].loop[l].reduces && cuts(w, level, l);
    return any;
}

static bool same_tiling(const stage *s, int level, const tw_level_map *a, const world *wa, const tw_level_map *b,
                        const world *wb)
{
    const tw_op *op = &s->model.op[0];
    for (int l = 0; l < op->n_loops; l++) {
        if (wa->cut[level][l].n != wb->cut[level][l].n) return false;
        for (int k = 0; k < wa->cut[level][l].n; k++)
            if (!same_tiles(&wa->cut[level][l].at[k], &wb->cut[level][l].at[k])) return false;
    }
    tw_spread x = tw_spread_or_default(&a->over, op, 2), y = tw_spread_or_default(&b->over, op, 2);
    bool innermost = level == s->machine.n_memories - 2, async = s->machine.timing == TW_ASYNC;
    return same_order(s, wa, level, a->order, b->order) &&
           (!adds(s, wa, level) || a->accumulate == b->accumulate) &&
           (!innermost || !async || memcmp(&x, &y, sizeof x) == 0);
}

/* Whether two mappings do the same, by everything that they do. */
static bool same_meaning(const stage *s, const tw_op_map *a, const world *wa, const tw_op_map *b, const world *wb)
{
    for (int i = 0; i < a->n_levels; i++)
        if (a->level[i].pass != b->level[i].pass) return false;
    for (int i = 0; i < a->n_levels; i++)
        if (!a->level[i].pass && !same_tiling(s, i, &a->level[i], wa, &b->level[i], wb)) return false;
    for (int i = 0; i < a->n_levels; i++)
        for (int o = 0; o < s->model.op[0].n_operands; o++) {
            int t = tiled_from(a, i);
            if (a->level[i].slots[o] != b->level[i].slots[o]) return false;
            if (a->level[i].slots[o] > 0 &&
                keep_depth(s, wa, t, a->level[t].order, tw_level_keep(&a->level[i], o)) !=
                    keep_depth(s, wb, t, b->level[t].order, tw_level_keep(&b->level[i], o)))
                return false;
        }
    return true;
}

/* Changes one thing of a mapping, which may become unsound. */
static void change(const stage *s, tw_op_map *map, uint64_t *rng)
{
    const tw_op *op = &s->model.op[0];
    tw_level_map *level = &map->level[tw_test_pick(rng, 0, map->n_levels - 1)];
    int l = (int)tw_test_pick(rng, 0, op->n_loops - 1), o = (int)tw_test_pick(rng, 0, op->n_operands - 1), m = l;
    switch (tw_test_pick(rng, 0, 7)) {
    case 0: random_cut(op, l, level, rng); break;
    case 1: level->cut = level->cut == TW_GREEDY ? TW_BALANCED : TW_GREEDY; break;
    case 2:
        m = (l + 1) % op->n_loops;
        level->order[0] = l, level->order[1] = m, level->order[2] = 3 - l - m;
        break;
    case 3: level->slots[o] = level->slots[o] ? tw_test_pick(rng, 3, 5) : 0; break;
    case 4:
        level->keeps[o] = level->slots[o] && s->machine.timing == TW_ASYNC ? (int)tw_test_pick(rng, -1, 3) : 0;
        break;
    case 5: level->accumulate = (tw_accumulate)tw_test_pick(rng, 0, 2); break;
    case 6: level->over = (tw_spread){{1, 2}}; break;
    case 7: level->pass = !level->pass; break;
    }
}

/* A size above its piece means the same as no cut, but only who writes it so is allowed it. */
static bool has_oversize(const stage *s, const tw_op_map *map, const world *w)
{
    for (int i = 0; i < map->n_levels; i++)
        for (int l = 0; l < s->model.op[0].n_loops && !map->level[i].pass; l++)
            if (map->level[i].size[l] > largest(w, i, l)->len) return true;
    return false;
}

static void read_printed(stage *s, const tw_op_map *map)
{
    tw_text text = {0};
    tw_mapping_print(&(tw_mapping){1, map}, &s->model, &s->machine, &text);
    tw_status status = read_limits(s, text.bytes);
    if (status != TW_OK) print_error("%s\n%s", s->bench.diag.last, text.bytes);
    CHECK_EQ(status, TW_OK);
    tw_text_release(&text);
}

static void fail_with(const stage *s, const tw_op_map *a, const tw_op_map *b, const char *why)
{
    tw_text text = {0};
    tw_mapping_print(&(tw_mapping){1, a}, &s->model, &s->machine, &text);
    tw_mapping_print(&(tw_mapping){1, b}, &s->model, &s->machine, &text);
    print_error("%s\n%s", why, text.bytes);
    fail();
}

TEST(a_printed_mapping_allows_what_does_the_same_and_nothing_else)
{
    uint64_t rng = tw_test_seed();
    int n_same = 0, n_other = 0;
    for (int i = 0; i < tw_test_rounds(4000); i++) {
        stage s = small_stage(i % 2);
        static world w, v;
        tw_op_map a = sound_map(&s, &rng, &w);
        read_printed(&s, &a);
        if (!tw_limits_allow(&s.limits.op[0], &s.model.op[0], &s.machine, &a)) fail_with(&s, &a, &a, "not itself");
        for (int k = 0; k < 10 && !has_oversize(&s, &a, &w); k++) {
            tw_op_map b = a;
            change(&s, &b, &rng);
            if (tw_test_pick(&rng, 0, 1)) change(&s, &b, &rng);
            if (!make_world(&s.model.op[0], &b, &v) ||
                tw_mapping_check(&(tw_mapping){1, &b}, &s.model, &s.machine, &s.bench.diag) != TW_OK)
                continue;
            bool same = same_meaning(&s, &a, &w, &b, &v);
            if (tw_limits_allow(&s.limits.op[0], &s.model.op[0], &s.machine, &b) != same)
                fail_with(&s, &a, &b, same ? "does the same" : "does something else");
            *(same ? &n_same : &n_other) += 1;
        }
        tw_bench_free(&s.bench);
    }
    CHECK(n_same > tw_test_rounds(4000) && n_other > tw_test_rounds(4000));
}

TEST(printed_mappings_of_random_async_programs_are_limits_that_allow_them)
{
    uint64_t rng = tw_test_seed();
    int n_allowed = 0;
    for (int i = 0; i < tw_test_rounds(1000); i++) {
        async_random r = async_random_make(&rng, (async_wish){0});
        stage s = {.bench = tw_bench_new()};
        tw_mapping mapping;
        char text[4096];
        async_mapping_text(&r, text, sizeof text);
        CHECK_EQ(tw_read_model(&s.bench, "w.yaml", r.workload, &s.model), TW_OK);
        CHECK_EQ(tw_read_machine(&s.bench, "m.yaml", r.machine, &s.machine), TW_OK);
        CHECK_EQ(tw_read_mapping(&s.bench, "map.yaml", text, &s.model, &s.machine, &mapping), TW_OK);
        if (!r.serpentine) {
            read_printed(&s, &mapping.op[0]);
            if (!tw_limits_allow(&s.limits.op[0], &s.model.op[0], &s.machine, &mapping.op[0]))
                async_random_fail(&r, "its own limits do not allow it");
            n_allowed++;
        }
        tw_bench_free(&s.bench);
    }
    CHECK(n_allowed > tw_test_rounds(1000) / 2);
}

TEST(a_size_above_its_piece_is_allowed_to_who_writes_it)
{
    stage s = stage_of("matmul:128x128x512", "tick-three-level");
    tw_mapping mapping;
    CHECK_EQ(tw_read_mapping(&s.bench, "map.yaml",
                             "mapping: {matmul: {levels: [{at: l3, tiles: {m: 4}}, {at: l2, pass: true}, {at: l1, "
                             "sizes: {m: 64}}]}}\n",
                             &s.model, &s.machine, &mapping),
             TW_OK);
    read_printed(&s, &mapping.op[0]);
    CHECK(tw_limits_allow(&s.limits.op[0], &s.model.op[0], &s.machine, &mapping.op[0]));
    tw_op_map whole = mapping.op[0];
    whole.level[2].size[0] = 0, whole.level[2].count[0] = 1;
    CHECK(!tw_limits_allow(&s.limits.op[0], &s.model.op[0], &s.machine, &whole));
    tw_bench_free(&s.bench);
}

/* ---- limits against the words of the documentation ---- */

static tw_number_limit random_number(uint64_t *rng, const int64_t list[3])
{
    tw_number_limit limit = tw_number_any();
    int64_t kind = tw_test_pick(rng, 0, 9);
    if (kind == 1) limit.at_least = limit.at_most = tw_test_pick(rng, 1, 6);
    if (kind == 2) limit.at_least = tw_test_pick(rng, 1, 4);
    if (kind == 3) limit.at_most = tw_test_pick(rng, 1, 6);
    if (kind == 4) limit.multiple_of = tw_test_pick(rng, 1, 3);
    if (kind == 5) limit = (tw_number_limit){list[0], list[2], 1, 3, list};
    if (kind == 6) limit.at_most = 6, limit.multiple_of = 2;
    return limit;
}

static tw_op_limits random_limits(const stage *s, uint64_t *rng)
{
    static const int64_t list[3] = {1, 3, 4};
    const tw_op *op = &s->model.op[0];
    tw_op_limits limits = tw_op_limits_none(&s->machine);
    if (tw_test_pick(rng, 0, 3) == 0) limits.fused = (int)tw_test_pick(rng, 0, 1);
    for (int i = 0; i < limits.n_levels; i++) {
        tw_level_limits *level = &limits.level[i];
        if (tw_test_pick(rng, 0, 3) == 0) level->pass = (int)tw_test_pick(rng, 0, 1);
        if (tw_test_pick(rng, 0, 3) == 0) level->cuts = 1u << tw_test_pick(rng, 0, 1);
        if (tw_test_pick(rng, 0, 3) == 0) level->accumulate = (unsigned)tw_test_pick(rng, 1, 7);
        if (tw_test_pick(rng, 0, 3) == 0) level->min_tile = tw_test_pick(rng, 1, 3);
        level->has_order = tw_test_pick(rng, 0, 2) == 0;
        shuffle(level->order, op->n_loops, rng);
        level->has_unroll = tw_test_pick(rng, 0, 3) == 0;
        level->over = (tw_spread){{1}};
        level->over.dim[tw_test_pick(rng, 1, 2)] = 2;
        for (int l = 0; l < op->n_loops; l++) {
            if (tw_test_pick(rng, 0, 3) == 0) level->tiles[l] = random_number(rng, list);
            if (tw_test_pick(rng, 0, 3) == 0) level->sizes[l] = random_number(rng, list);
        }
        for (int o = 0; o < op->n_operands; o++) {
            if (tw_test_pick(rng, 0, 4) == 0) level->slots[o] = random_number(rng, list);
            if (tw_test_pick(rng, 0, 4) == 0) level->keep[o] = (uint32_t)tw_test_pick(rng, 1, 31);
        }
    }
    return limits;
}

/* Whether every piece of the loop is cut as these numbers cut it. */
static bool all_cut_so(const pieces *p, bool by_size, int64_t x, bool greedy)
{
    for (int i = 0; i < p->n; i++) {
        piece other;
        if (!cut_piece(p->at[i].len, by_size, x, greedy, &other) || !same_tiles(&p->at[i], &other)) return false;
    }
    return true;
}

static bool loop_allowed(const tw_level_limits *limits, const tw_level_map *map, const world *w, int level, int l)
{
    const pieces *all = &w->cut[level][l];
    const piece *top = largest(w, level, l);
    tw_number_limit sizes = limits->sizes[l];
    bool whole = top->n == 1, greedy = map->size[l] > 0 || map->cut == TW_GREEDY;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].n > 1 && all->at[i].len / all->at[i].n < limits->min_tile) return false;
    if (!naive_allows(&limits->tiles[l], top->n)) return false;
    if (sizes.at_least == sizes.at_most) /* a plain size */
        return map->size[l] == sizes.at_least ||
               (top->tile[0] == sizes.at_least && all_cut_so(all, true, sizes.at_least, true));
    if (whole) sizes.multiple_of = 1;
    if (!naive_allows(&sizes, top->tile[0])) return false;
    if (whole || limits->cuts == 3) return true;
    bool plain = limits->tiles[l].at_least == limits->tiles[l].at_most;
    return (!plain && (limits->cuts >> greedy & 1)) || all_cut_so(all, false, top->n, limits->cuts == 2);
}

/* Whether some order of all loops, in which those that are cut stand as the mapping has them and, if the limits give an
 * order, all as they say, has a word of `keep` mean this depth. */
static bool keep_allowed(const stage *s, const world *w, const tw_level_limits *here, const tw_level_limits *tiled,
                         int level, const int *order, int operand, int depth)
{
    static const int all[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 6; i++) {
        if (tiled->has_order ? memcmp(all[i], tiled->order, sizeof all[i]) != 0
                             : !same_order(s, w, level, all[i], order))
            continue;
        for (int word = 0; word < 5; word++) {
            int keep = word == 0 ? TW_KEEP_TILE : word == 1 ? TW_KEEP_ALL : word - 2;
            if ((here->keep[operand] >> word & 1) && keep_depth(s, w, level, all[i], keep) == depth) return true;
        }
    }
    return false;
}

static bool naive_limits(const stage *s, const tw_op_limits *limits, const tw_op_map *map, const world *w)
{
    const tw_op *op = &s->model.op[0];
    if (limits->fused != -1 && limits->fused != map->fused) return false;
    for (int i = 0; i < map->n_levels; i++) {
        const tw_level_limits *lim = &limits->level[i];
        const tw_level_map *level = &map->level[i];
        int t = tiled_from(map, i);
        if (lim->pass != -1 && lim->pass != level->pass) return false;
        if (!level->pass) {
            for (int l = 0; l < op->n_loops; l++)
                if (!loop_allowed(lim, level, w, i, l)) return false;
            if (lim->has_order && !same_order(s, w, i, lim->order, level->order)) return false;
            if (adds(s, w, i) && !(lim->accumulate >> level->accumulate & 1)) return false;
            tw_spread over = tw_spread_or_default(&level->over, op, 2);
            if (lim->has_unroll && s->machine.timing == TW_ASYNC && i == map->n_levels - 1 &&
                memcmp(&over, &lim->over, sizeof over) != 0)
                return false;
        }
        for (int o = 0; o < op->n_operands; o++) {
            int depth = keep_depth(s, w, t, map->level[t].order, tw_level_keep(level, o));
            const tw_number_limit *slots = &lim->slots[o];
            bool says = slots->at_least > 1 || slots->at_most < INT64_MAX || slots->multiple_of > 1;
            if (level->slots[o] == 0 ? says : !naive_allows(slots, level->slots[o])) return false;
            if (lim->keep[o] != UINT32_MAX &&
                !keep_allowed(s, w, lim, &limits->level[t], t, map->level[t].order, o, depth))
                return false;
        }
    }
    return true;
}

TEST(limits_allow_what_the_documentation_says)
{
    uint64_t rng = tw_test_seed();
    int n_allowed = 0, n_refused = 0;
    for (int i = 0; i < tw_test_rounds(2000); i++) {
        stage s = small_stage(i % 2);
        static world w;
        tw_op_map map = sound_map(&s, &rng, &w);
        for (int k = 0; k < 200; k++) {
            tw_op_limits limits = random_limits(&s, &rng), none = tw_op_limits_none(&s.machine);
            map.fused = tw_test_pick(&rng, 0, 1);
            if (k % 2) /* one level only, so that not everything is refused */
                for (int l = 0; l < limits.n_levels; l++)
                    if (l != k / 2 % limits.n_levels) limits.level[l] = none.level[l];
            bool want = naive_limits(&s, &limits, &map, &w);
            bool got = tw_limits_allow(&limits, &s.model.op[0], &s.machine, &map);
            if (got != want) fail_with(&s, &map, &map, want ? "should be allowed" : "should be refused");
            *(got ? &n_allowed : &n_refused) += 1;
        }
        tw_bench_free(&s.bench);
    }
    CHECK(n_allowed > tw_test_rounds(2000) * 10 && n_refused > tw_test_rounds(2000) * 10);
}

TEST(no_limits_allow_every_mapping)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 200; i++) {
        stage s = small_stage(i % 2);
        static world w;
        tw_op_map map = sound_map(&s, &rng, &w);
        tw_op_limits none = tw_op_limits_none(&s.machine);
        CHECK(tw_limits_allow(&none, &s.model.op[0], &s.machine, &map));
        tw_bench_free(&s.bench);
    }
}

TEST(buffers_that_a_mapping_leaves_open_are_allowed_where_nothing_is_said)
{
    stage s = stage_of("matmul:100x64x30", async_text);
    tw_mapping mapping;
    CHECK_EQ(tw_read_mapping(&s.bench, "map.yaml",
                             "mapping: {matmul: {levels: [{at: l2, pass: true}, {at: l1, pass: true}, {at: fab, "
                             "sizes: {m: 16}}]}}\n",
                             &s.model, &s.machine, &mapping),
             TW_OK);
    level_of(&s, "at: l2, buffers: {ifm: {at most: 3}}");
    CHECK(!tw_limits_allow(&s.limits.op[0], &s.model.op[0], &s.machine, &mapping.op[0]));
    level_of(&s, "at: l2, keep: {ifm: [m, tile]}");
    CHECK(tw_limits_allow(&s.limits.op[0], &s.model.op[0], &s.machine, &mapping.op[0]));
    tw_bench_free(&s.bench);
}
