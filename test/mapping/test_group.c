/* test/mapping/test_group.c - mapping files with groups: what arrives, what is refused, round trips. */
#include "mapping/groups.h"
#include "tw_read.h"

typedef struct stage {
    tw_bench bench;
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
} stage;

/* x -> conv1 -> mid -> conv2 -> y -> conv3 -> z -> pool1 -> p */
static const char chain[] =
    "workload: chain\n"
    "ops:\n"
    "  - {name: conv1, op: conv, shape: [8, 20, 20], out: 16, kernel: 3, dtype: f32, "
    "inputs: {ifm: x, w: w1}, output: mid}\n"
    "  - {name: conv2, op: conv, shape: [16, 18, 18], out: 8, kernel: 3, dtype: f32, "
    "inputs: {ifm: mid, w: w2}, output: y}\n"
    "  - {name: conv3, op: conv, shape: [8, 16, 16], out: 8, kernel: 1, dtype: f32, inputs: "
    "{ifm: y, w: w3}, output: z}\n"
    "  - {name: pool1, op: pool, shape: [8, 16, 16], kernel: 2, stride: 2, dtype: f32, "
    "inputs: {ifm: z}, output: p}\n";

static const char sound[] =
    "groups:\n"
    "  - name: pair\n"
    "    core: big\n"
    "    ops: [conv1, conv2]\n"
    "    engines: {conv1: array, conv2: array}\n"
    "    levels:\n"
    "      - {at: sram, sizes: {oy: 8}}\n"
    "      - {at: l1, sizes: {oy: 4, ox: 8}, tiles: {ic: 2}, cut: balanced, order: [oy, ox, ic],\n"
    "         buffers: {x: 2, mid: 2}, keep: {w2: all, x: oy}}\n"
    "    unroll: {conv1: {rows: oc, columns: [oy, ox]}, conv2: {rows: oc, columns: {oy: 4, ox: 4}}}\n"
    "    reduce: {conv1: {ic: 4}}\n"
    "  - name: halves\n"
    "    split: {loop: oy, cores: [big, little], shares: [3, 1]}\n"
    "    ops: [conv3]\n"
    "    levels: [{at: l1, sizes: {oy: 2}}]\n"
    "  - {core: little, ops: [pool1], levels: [{at: l1, sizes: {oy: 2}, buffers: {ifm: 2}}]}\n"
    "resident: {y: sram}\n";

static const char *duo_text(tw_bench *b) { return tw_read_source(b, "test/mapping/duo.yaml"); }

static stage stage_new(void)
{
    stage s = {.bench = tw_bench_new()};
    CHECK_EQ(tw_read_model(&s.bench, "w.yaml", chain, &s.model), TW_OK);
    CHECK_EQ(tw_read_machine(&s.bench, "duo.yaml", duo_text(&s.bench), &s.machine), TW_OK);
    return s;
}

static tw_status read_quietly(stage *s, const char *text)
{
    return tw_read_mapping(&s->bench, "map.yaml", text, &s->model, &s->machine, &s->mapping);
}

static void read_sound(stage *s, const char *text)
{
    tw_status status = read_quietly(s, text);
    for (int i = 0; status != TW_OK && i < s->bench.diag.n_texts; i++) print_error("%s\n", s->bench.diag.text[i]);
    CHECK_EQ(status, TW_OK);
}

TEST(every_field_of_a_group_arrives)
{
    stage s = stage_new();
    read_sound(&s, sound);
    CHECK_EQ(s.mapping.n_ops, 0);
    CHECK_EQ(s.mapping.n_groups, 4);
    const tw_group_map *pair = &s.mapping.group[0];
    const tw_op *conv1 = &s.model.op[0], *conv2 = &s.model.op[1];
    CHECK_STR(pair->name, "pair");
    CHECK_EQ(pair->n_ops, 2);
    CHECK_EQ(pair->op[1].op, 1);
    CHECK_EQ(pair->op[0].view, 0);
    CHECK_EQ(pair->n_levels, 2);
    CHECK_EQ(pair->level[1].memory, 2);
    CHECK_EQ(pair->level[0].depth, 1);
    CHECK_EQ(pair->level[1].depth, 4);
    CHECK_EQ(pair->n_cuts, 4);
    CHECK_EQ(pair->cut[0].loop, tw_op_find_loop(conv2, "oy"));
    CHECK_EQ(pair->cut[0].size, 8);
    CHECK_EQ(pair->cut[2].loop, tw_op_find_loop(conv2, "ox"));
    CHECK_EQ(pair->cut[3].count, 2);
    CHECK_EQ(pair->cut[3].level, 1);
    CHECK_EQ(pair->n_holds, 3);
    for (int h = 0; h < pair->n_holds; h++) {
        const tw_hold *hold = &pair->hold[h];
        const char *name = s.model.tensor[hold->tensor].name;
        bool x = strcmp(name, "x") == 0, mid = strcmp(name, "mid") == 0;
        CHECK_EQ(hold->memory, 2);
        CHECK_EQ(hold->depth, x ? 2 : mid ? -1 : 1);
        CHECK_EQ(hold->slots, x || mid ? 2 : 0);
    }
    CHECK_EQ(pair->op[0].over.dim[tw_op_find_loop(conv1, "ox")], 2);
    CHECK_EQ(pair->op[0].parts[tw_op_find_loop(conv1, "ox")], 0);
    CHECK_EQ(pair->op[1].parts[tw_op_find_loop(conv2, "ox")], 4);
    CHECK_EQ(pair->op[0].reduce[tw_op_find_loop(conv1, "ic")], 4);
    CHECK_EQ(pair->n_parts, 0);
    tw_bench_free(&s.bench);
}

TEST(a_split_makes_one_group_per_core)
{
    stage s = stage_new();
    read_sound(&s, sound);
    const tw_group_map *big = &s.mapping.group[1], *little = &s.mapping.group[2], *pool = &s.mapping.group[3];
    CHECK_STR(big->name, "halves.big");
    CHECK_STR(little->name, "halves.little");
    CHECK_EQ(big->part[0].span.lo, 0);
    CHECK_EQ(big->part[0].span.hi, 12);
    CHECK_EQ(little->part[0].span.lo, 12);
    CHECK_EQ(little->part[0].span.hi, 16);
    CHECK_EQ(big->level[0].memory, 2);
    CHECK_EQ(little->level[0].memory, 3);
    CHECK_EQ(little->op[0].view, 1);
    CHECK_STR(pool->name, "pool1");
    CHECK_EQ(pool->op[0].view, 2);
    CHECK_EQ(pool->n_holds, 1);
    CHECK_STR(s.model.tensor[pool->hold[0].tensor].name, "z");
    tw_bench_free(&s.bench);
}

TEST(depths_and_buffers_follow_from_the_levels)
{
    stage s = stage_new();
    read_sound(&s, sound);
    const tw_group_map *pair = &s.mapping.group[0], *pool = &s.mapping.group[3];
    const tw_grouping c = {.model = &s.model, .machine = &s.machine};
    int x = s.model.op[0].operand[0].tensor, mid = s.model.op[1].operand[0].tensor, memory[TW_MAX_MEMORIES];
    CHECK_EQ(tw_group_depth(pair, x, 1), 1);
    CHECK_EQ(tw_group_depth(pair, x, 2), 2);
    CHECK_EQ(tw_group_depth(pair, mid, 2), 4);
    CHECK_EQ(tw_group_slots(pair, mid, 2), 2);
    CHECK_EQ(tw_group_slots(pair, x, 1), 1);
    CHECK_EQ(tw_group_depth(pool, mid, 1), 1); /* sram has no level: that of little.l1 */
    CHECK_EQ(tw_group_chain(&c, pair, 0, 0, memory), 2);
    CHECK_EQ(memory[0], 1);
    CHECK_EQ(tw_group_chain(&c, pair, 1, 0, memory), 1); /* mid stays in big.l1 */
    CHECK_EQ(memory[0], 2);
    CHECK_EQ(tw_group_chain(&c, pair, 0, tw_op_output(&s.model.op[0]), memory), 1);
    CHECK_EQ(memory[0], 2);
    CHECK_EQ(tw_group_maker(pair, &s.model, mid), 0);
    CHECK(tw_group_is_inside(pair, &s.model, mid));
    CHECK(!tw_group_is_inside(pair, &s.model, x));
    tw_bench_free(&s.bench);
}

/* Reads, prints, reads again and prints again. */
static void check_round_trip(stage *s)
{
    tw_text first = {0}, second = {0};
    CHECK_EQ(tw_mapping_check(&s->mapping, &s->model, &s->machine, &s->bench.diag), TW_OK);
    tw_mapping_print(&s->mapping, &s->model, &s->machine, &first);
    read_sound(s, first.bytes);
    tw_mapping_print(&s->mapping, &s->model, &s->machine, &second);
    CHECK_STR(second.bytes, first.bytes);
    tw_text_release(&first);
    tw_text_release(&second);
}

TEST(groups_print_as_a_file_that_says_the_same)
{
    stage s = stage_new();
    tw_text text = {0};
    read_sound(&s, sound);
    check_round_trip(&s);
    tw_mapping_print(&s.mapping, &s.model, &s.machine, &text);
    CHECK_STR(text.bytes,
              "groups:\n"
              "  - name: pair\n"
              "    ops: [conv1, conv2]\n"
              "    engines: {conv1: big.array, conv2: big.array}\n"
              "    levels:\n"
              "      - {at: sram, sizes: {oy: 8}, order: [oy]}\n"
              "      - {at: big.l1, sizes: {oy: 4, ox: 8}, tiles: {ic: 2}, order: [oy, ox, ic], cut: balanced, "
              "buffers: {x: 2, "
              "mid: 2}, keep: {x: oy, w2: all}}\n"
              "    unroll: {conv1: {rows: [oc], columns: [oy, ox]}, conv2: {rows: [oc], columns: {oy: 4, ox: 4}}}\n"
              "    reduce: {conv1: {ic: 4}}\n"
              "  - name: halves.big\n"
              "    ops: [conv3]\n"
              "    engines: {conv3: big.array}\n"
              "    part: {loop: oy, from: 0, to: 12}\n"
              "    levels:\n"
              "      - {at: big.l1, sizes: {oy: 2}, order: [oy]}\n"
              "  - name: halves.little\n"
              "    ops: [conv3]\n"
              "    engines: {conv3: little.array}\n"
              "    part: {loop: oy, from: 12, to: 16}\n"
              "    levels:\n"
              "      - {at: little.l1, sizes: {oy: 2}, order: [oy]}\n"
              "  - name: pool1\n"
              "    ops: [pool1]\n"
              "    engines: {pool1: little.vector}\n"
              "    levels:\n"
              "      - {at: little.l1, sizes: {oy: 2}, order: [oy], buffers: {z: 2}}\n"
              "resident: {y: sram}\n");
    tw_text_release(&text);
    tw_bench_free(&s.bench);
}

/* ---- messages ---- */

/* The mapping that `sound` becomes when its first `old` is replaced. */
static const char *with(tw_bench *b, const char *old, const char *new)
{
    const char *at = strstr(sound, old);
    CHECK(at != NULL);
    return tw_arena_printf(b->arena, "%.*s%s%s", (int)(at - sound), sound, new, at + strlen(old));
}

/* What is written instead of what, and the messages, which end with a line end each. */
static const struct mistake {
    const char *old, *new, *messages;
} mistakes[] = {
    {"groups:\n", "mapping: {}\ngroups:\n",
     "map.yaml:1:1: error: a mapping file has either 'mapping' or 'groups'\n"
     "map.yaml:18:1: error: unknown key 'resident' in mapping file\n"},
    {"resident: {y: sram}", "resident: {y: sram, mid: sram}",
     "map.yaml:17:26: error: 'mid' is neither made by one group and read by others nor an input that several "
     "groups read: only what crosses "
     "groups can be resident\n"},
    {"resident: {y: sram}", "resident: {y: {in: sram, until: conv3}}",
     "map.yaml:17:15: error: 'y' leaves 'sram' behind 'conv3', and no group behind that reads it\n"},
    {"resident: {y: sram}", "resident: {y: {in: sram, until: pool1}}",
     "map.yaml:17:15: error: 'y' leaves 'sram' behind 'pool1', which does not read it\n"},
    {"resident: {y: sram}", "resident: {y: {in: sram, until: conv9}}",
     "map.yaml:17:33: error: 'until' must be one of conv1, conv2, conv3, pool1, found 'conv9'\n"},
    {"resident: {y: sram}", "resident: {y: {in: sram}}",
     "map.yaml:17:15: error: missing key 'until' in resident\n"},
    {"resident: {y: sram}", "resident: {z: sram}",
     "map.yaml:17:15: error: 'z' is made in parts, of which group 'halves.big' makes one: it cannot be resident\n"},
    {"resident: {y: sram}", "resident: {y: big.l1}",
     "map.yaml:17:15: error: 'y' does not pass memory 'big.l1' on its way to 'conv3' in group 'halves.little', and "
     "no link leads there\n"},
    {"resident: {y: sram}", "resident: {y: little.l1}",
     "map.yaml:17:15: error: 'y' does not pass memory 'little.l1' on its way out of group 'pair'\n"},
    {"resident: {y: sram}", "resident: {x: sram}",
     "map.yaml:17:15: error: 'x' is neither made by one group and read by others nor an input that several groups "
     "read: only what crosses "
     "groups can be resident\n"},
    {"sizes: {oy: 8}}", "sizes: {oy: 8}, buffers: {y: 2}}",
     "map.yaml:7:49: error: 'y' is resident in 'sram': it is whole there, in one buffer, and no level says "
     "otherwise\n"},
    {"core: big", "core: huge", "map.yaml:3:11: error: there is no core 'huge'; the cores are big, little\n"},
    {"[conv1, conv2]", "[conv9, conv2]",
     "map.yaml:4:11: error: workload 'chain' has no operator 'conv9'; its operators are conv1, conv2, conv3, "
     "pool1\n"},
    {"[conv1, conv2]", "[conv2, conv1]",
     "map.yaml:4:11: error: 'conv2' reads 'mid', which 'conv1' makes only behind it\n"},
    {"[conv1, conv2]", "[conv1, conv3]",
     "map.yaml:5:29: error: the group has no operator 'conv2'; its operators are conv1, conv3\n"},
    {"[conv1, conv2]", "[]", "map.yaml:4:10: error: a group has 1..16 operators, found 0\n"},
    {"{conv1: array, conv2: array}", "vector",
     "map.yaml:5:14: error: there is no compute engine 'vector'; there are big.array\n"},
    {"{conv1: array, conv2: array}", "little.vector",
     "map.yaml:5:14: error: operator 'conv1' computes multiply-add, engine 'little.vector' does not\n"
     "map.yaml:5:14: error: operator 'conv2' computes multiply-add, engine 'little.vector' does not\n"},
    {"at: sram", "at: l2", "map.yaml:7:14: error: 'at' must be one of sram, big.l1, found 'l2'\n"},
    {"at: sram", "at: dram", "map.yaml:7:14: error: the outermost memory 'dram' has no level\n"},
    {"at: sram", "at: l1",
     "map.yaml:8:14: error: the level of 'big.l1' stands behind that of 'big.l1', which is the same\n"},
    {"at: sram", "at: little.l1",
     "map.yaml:7:14: error: nothing in the group passes memory 'little.l1'\n"
     "map.yaml:8:14: error: the level of 'big.l1' stands behind that of 'little.l1', which "
     "is further inside\n"},
    {"{oy: 8}", "{oy: 17}", "map.yaml:7:32: error: 'oy' is cut into tiles of 17, its extent is 16\n"},
    {"tiles: {ic: 2}", "tiles: {ic: 17}", "map.yaml:8:53: error: 'ic' is cut into 17 tiles, its extent is 16\n"},
    {"sizes: {oy: 4, ox: 8}, tiles: {ic: 2}, cut: balanced", "tiles: {oy: 9}",
     "map.yaml:8:30: error: 'oy' is cut into 9 tiles, the largest piece has 8\n"},
    {"sizes: {oy: 8}", "tiles: {oy: 7}, cut: greedy",
     "map.yaml:7:32: error: 'oy' with 16 points has no greedy cut into 7 tiles; the nearest counts are 6 and 8\n"},
    {"tiles: {ic: 2}", "tiles: {ox: 2}", "map.yaml:8:37: error: 'ox' has both a count and a size\n"},
    {"[oy, ox, ic]", "[oy, oy, iy]",
     "map.yaml:8:84: error: loop 'oy' is given twice in 'order'\n"
     "map.yaml:8:88: error: operator 'conv2' has no loop 'iy'; its loops are oc, oy, ox, ic, ky, kx\n"},
    {"{x: 2, mid: 2}", "{q: 2, w: 2}",
     "map.yaml:9:20: error: the group has no tensor 'q'; its tensors are x, w1, mid, w2, y\n"
     "map.yaml:9:26: error: several operators of the group have an operand 'w'; its tensors are x, w1, mid, w2, "
     "y\n"},
    {"{x: 2, mid: 2}", "{x: 0, mid: 65537}",
     "map.yaml:9:23: error: 'x' is 0, outside 1..65536\nmap.yaml:9:31: error: 'mid' is 65537, outside 1..65536\n"},
    {"x: oy}", "x: kx}",
     "map.yaml:9:54: error: 'kx' is not cut at this level, so that 'x' cannot be kept while it stands\n"},
    {"sizes: {oy: 8}}", "sizes: {oy: 8}, buffers: {mid: 2}}",
     "map.yaml:7:51: error: 'mid' does not pass memory 'sram' in the group\n"},
    {"rows: oc, columns: [oy, ox]", "rows: oc, depth: [oy, ox]",
     "map.yaml:10:32: error: the array of 'big.array' has no dimension 'depth'; it has rows, columns\n"},
    {"{oy: 4, ox: 4}", "{oy: 4, ox: 5}",
     "map.yaml:10:91: error: the loops over 'columns' have 20 parts together, it has 16 places\n"},
    {"{oy: 4, ox: 4}", "{oy: 4, oc: 4}", "map.yaml:10:87: error: 'unroll' names 'oc' twice\n"},
    {"{conv1: {ic: 4}}", "{conv2: {ic: 4}}",
     "map.yaml:11:26: error: 'conv2' drives the group: its reductions are cut by levels\n"},
    {"{conv1: {ic: 4}}", "{conv1: {oy: 4}}", "map.yaml:11:26: error: 'oy' does not reduce\n"},
    {"{conv1: {ic: 4}}", "{conv1: {ic: 9}}",
     "map.yaml:11:26: error: 'ic' is cut into pieces of 9, its extent is 8\n"},
    {"loop: oy, cores", "loop: ic, cores", "map.yaml:13:12: error: 'ic' reduces; only parallel loops are split\n"},
    {"shares: [3, 1]", "shares: [1, 1000]",
     "map.yaml:13:12: error: core 'big' gets nothing of 'oy': its extent is 16, the share 1 of 1001\n"},
    {"[big, little], shares: [3, 1]", "[big, big], shares: [3]",
     "map.yaml:13:36: error: core 'big' is given twice in 'cores'\n"},
    {"shares: [3, 1]", "shares: [3]", "map.yaml:13:53: error: 'shares' has 1 entries for 2 cores\n"},
    {"ops: [conv3]\n", "ops: [conv3]\n    core: big\n",
     "map.yaml:15:5: error: a group that is split has its cores in 'split', and no 'core'\n"},
    {"split: {loop: oy, cores: [big, little], shares: [3, 1]}", "part: {loop: oy, from: 0, to: 12}",
     "map.yaml:13:11: error: of the parts of 'oy' in 0..16 none begins at 12\n"},
    {"ops: [pool1]", "ops: [conv3]",
     "map.yaml:16:26: error: operator 'conv3' is in group 'halves.big' already\n"
     "map.yaml:2:3: error: operator 'pool1' is in no group\n"},
    {"name: halves", "name: pair.x\n    unroll: {conv3: {rows: ic}}",
     "map.yaml:13:28: error: 'ic' reduces; engine 'little.array' keeps a sum in each element of its array and "
     "unrolls "
     "parallel loops only\n"},
};

TEST(every_mistake_is_reported_at_its_place)
{
    for (size_t i = 0; i < TW_COUNT(mistakes); i++) {
        stage s = stage_new();
        CHECK_EQ(read_quietly(&s, with(&s.bench, mistakes[i].old, mistakes[i].new)), TW_ERR_INPUT);
        const char *all = "";
        for (int k = 0; k < s.bench.diag.n_texts; k++)
            all = tw_arena_printf(s.bench.arena, "%s%s\n", all, s.bench.diag.text[k]);
        CHECK_STR(all, mistakes[i].messages);
        tw_bench_free(&s.bench);
    }
}

TEST(a_memory_without_a_level_is_held_as_long_as_the_next_one_inside)
{
    stage s = stage_new();
    CHECK_EQ(read_quietly(&s, with(&s.bench, "buffers: {ifm: 2}", "keep: {ifm: all}")), TW_ERR_INPUT);
    CHECK_STR(
        s.bench.diag.text[0],
        "map.yaml:16:80: error: 'z' is held in 'little.l1' over 0 cuts, in 'sram' outside of it over 1: it must "
        "not stay longer further inside");
    tw_bench_free(&s.bench);
}

/* conv2 and conv3 both read mid */
static const char forked[] = "workload: fork\n"
                             "ops:\n"
                             "  - {name: conv1, op: conv, shape: [4, 8, 8], out: 4, kernel: 1, dtype: f32, inputs: "
                             "{ifm: x, w: w1}, output: mid}\n"
                             "  - {name: conv2, op: conv, shape: [4, 8, 8], out: 4, kernel: 1, dtype: f32, inputs: "
                             "{ifm: mid, w: w2}, output: y}\n"
                             "  - {name: conv3, op: conv, shape: [4, 8, 8], out: 4, kernel: 1, dtype: f32, inputs: "
                             "{ifm: mid, w: w3}, output: z}\n";

static const struct order {
    const char *groups[3], *message;
} orders[] = {
    {{"conv1", "conv2", "conv3"}, NULL},
    {{"conv1", "conv3", "conv2"}, NULL},
    {{"conv2", "conv1", "conv3"},
     "map.yaml:2:12: error: 'conv2' reads 'mid', which group 'conv1' makes only behind it"},
    {{"conv1, conv2", "conv3", NULL}, NULL},
    {{"conv3", "conv1, conv2", NULL},
     "map.yaml:2:12: error: 'conv3' reads 'mid', which group 'conv2' makes only behind it"},
    {{"conv1, conv2, conv3", NULL, NULL},
     "map.yaml:2:19: error: nobody in the group reads what 'conv2' makes, and 'conv3' drives it"},
    {{"conv1", "conv2, conv3", NULL},
     "map.yaml:3:12: error: nobody in the group reads what 'conv2' makes, and 'conv3' drives it"},
    {{"conv1", "conv2", NULL}, "map.yaml:2:3: error: operator 'conv3' is in no group"},
    {{"conv1", "conv2, conv2", "conv3"}, "map.yaml:3:19: error: 'conv2' is in the group twice"},
};

TEST(groups_stand_in_an_order_in_which_everything_is_made_before_it_is_read)
{
    for (size_t i = 0; i < TW_COUNT(orders); i++) {
        stage s = stage_new();
        char *text = "groups:\n";
        CHECK_EQ(tw_read_model(&s.bench, "w.yaml", forked, &s.model), TW_OK);
        for (int g = 0; g < 3 && orders[i].groups[g]; g++)
            text = tw_arena_printf(s.bench.arena, "%s  - {ops: [%s], core: big, levels: [{at: l1}]}\n", text,
                                   orders[i].groups[g]);
        CHECK_EQ(read_quietly(&s, text), orders[i].message ? TW_ERR_INPUT : TW_OK);
        if (orders[i].message) CHECK_STR(s.bench.diag.text[0], orders[i].message);
        tw_bench_free(&s.bench);
    }
}

TEST(a_lockstep_machine_and_a_machine_by_itself_have_no_groups)
{
    stage s = stage_new();
    const char *path = "examples/machines/tick-10k.yaml";
    s.machine.platform = NULL;
    CHECK_EQ(read_quietly(&s, sound), TW_ERR_INPUT);
    CHECK_STR(s.bench.diag.text[0],
              "map.yaml:1:1: error: machine 'duo' is a view of another one and has no groups");
    tw_diag_release(&s.bench.diag);
    CHECK_EQ(tw_read_machine(&s.bench, path, tw_read_source(&s.bench, path), &s.machine), TW_OK);
    CHECK_EQ(read_quietly(&s, sound), TW_ERR_INPUT);
    CHECK_STR(s.bench.diag.text[0],
              "map.yaml:1:1: error: machine 'tick-10k' is lockstep: only async machines have groups");
    tw_bench_free(&s.bench);
}

/* ---- random groups ---- */

enum { MOST_GROUPS = 8, MOST_HOLDS = 64 };
typedef struct made {
    char name[16];
    tw_group_map map;
    tw_group_op op[4];
    tw_nest_cut cut[TW_MAX_CUTS];
    tw_group_level level[3];
    tw_hold hold[MOST_HOLDS];
} made;

static bool chance(uint64_t *rng, int one_in) { return tw_test_pick(rng, 1, one_in) == 1; }

static int view_for(const stage *s, int op, int core, uint64_t *rng)
{
    const tw_platform *p = s->machine.platform;
    for (int v = 0; v < p->n_views; v++) {
        const tw_machine *m = &p->view[v].machine;
        if (p->engine[p->view[v].engine].core == core &&
            (m->engine[m->compute].computes >> s->model.op[op].compute & 1))
            return v;
    }
    return (int)tw_test_pick(rng, 0, p->n_views - 1);
}

static void add_cuts(made *g, const tw_op *op, int level, uint64_t *rng)
{
    tw_cut rule = chance(rng, 2) ? TW_GREEDY : TW_BALANCED;
    int first = (int)tw_test_pick(rng, 0, op->n_loops - 1);
    for (int i = 0; i < op->n_loops; i++) {
        int l = (first + i) % op->n_loops;
        int64_t extent = op->loop[l].extent;
        tw_nest_cut cut = {.level = level, .loop = l};
        if (!chance(rng, 3)) continue;
        if (chance(rng, 2))
            cut.size = tw_test_pick(rng, 1, chance(rng, 20) ? extent + 1 : extent);
        else
            cut.count = tw_test_pick(rng, 1, chance(rng, 20) ? extent + 1 : tw_min(extent, 2)), cut.rule = rule;
        g->cut[g->map.n_cuts++] = cut;
    }
}

static bool is_touched(const stage *s, const tw_group_map *map, int tensor)
{
    for (int i = 0; i < map->n_ops; i++)
        for (int o = 0; o < s->model.op[map->op[i].op].n_operands; o++)
            if (s->model.op[map->op[i].op].operand[o].tensor == tensor) return true;
    return false;
}

static void add_holds(const stage *s, made *g, int outside, int memory, uint64_t *rng)
{
    for (int t = 0; t < s->model.n_tensors; t++) {
        tw_hold hold = {.tensor = t, .memory = memory, .depth = -1};
        if (!is_touched(s, &g->map, t) || !chance(rng, 6)) continue;
        if (chance(rng, 2)) hold.slots = tw_test_pick(rng, 1, 3);
        if (hold.slots == 0 || chance(rng, 2)) hold.depth = (int)tw_test_pick(rng, outside, g->map.n_cuts);
        g->hold[g->map.n_holds++] = hold;
    }
}

static void add_array(const stage *s, tw_group_op *op, bool drives, uint64_t *rng)
{
    const tw_grouping c = {.model = &s->model, .machine = &s->machine};
    const tw_op *is = &s->model.op[op->op];
    bool parts[2] = {chance(rng, 2), chance(rng, 2)};
    for (int l = 0; l < is->n_loops && tw_group_cost(&c, op)->kind == TW_COST_ARRAY; l++) {
        int dim = (int)tw_test_pick(rng, 0, 2);
        if (dim == 0 || !chance(rng, 3) || (is->loop[l].reduces && !chance(rng, 4))) continue;
        op->over.dim[l] = (int8_t)dim;
        if (parts[dim - 1]) op->parts[l] = tw_test_pick(rng, 1, 4);
    }
    for (int l = 0; l < is->n_loops; l++)
        if (is->loop[l].reduces && (!drives || chance(rng, 40)) && chance(rng, 3))
            op->reduce[l] = tw_test_pick(rng, 1, is->loop[l].extent);
}

/* Mostly sound: operators first..last on the core. */
static void make_group(const stage *s, made *g, int first, int last, int core, uint64_t *rng)
{
    g->map = (tw_group_map){.name = g->name, .op = g->op, .cut = g->cut, .level = g->level, .hold = g->hold};
    for (int o = first; o <= last; o++) {
        tw_group_op *op = &g->op[g->map.n_ops++];
        *op = (tw_group_op){.op = o, .view = view_for(s, o, core, rng)};
        add_array(s, op, o == last, rng);
    }
    for (int m = 1; m <= 2; m++) {
        int outside = g->map.n_cuts, memory = m == 1 ? 1 : 2 + core;
        if (m == 1 && chance(rng, 2)) continue;
        add_cuts(g, &s->model.op[last], g->map.n_levels, rng);
        add_holds(s, g, outside, memory, rng);
        g->level[g->map.n_levels++] = (tw_group_level){.memory = memory, .depth = g->map.n_cuts};
    }
}

/* Two parts of a loop of the driver, which mostly meet. */
static int make_parts(const stage *s, made *g, int first, int last, uint64_t *rng)
{
    int loop = (int)tw_test_pick(rng, 0, 2);
    int64_t extent = s->model.op[last].loop[loop].extent, at = tw_test_pick(rng, 1, extent - 1);
    for (int i = 0; i < 2; i++) {
        make_group(s, &g[i], first, last, (int)tw_test_pick(rng, 0, 1), rng);
        g[i].map.n_parts = 1;
        g[i].map.part[0].loop = loop;
    }
    g[0].map.part[0].span = (tw_span){0, at};
    g[1].map.part[0].span = (tw_span){chance(rng, 20) ? at - 1 : at, extent};
    return 2;
}

static int make_groups(const stage *s, made *g, uint64_t *rng)
{
    int n = 0;
    for (int first = 0, last; first < s->model.n_ops; first = last + 1) {
        last = (int)tw_test_pick(rng, first, tw_min(first + 1, s->model.n_ops - 1));
        if (chance(rng, 4))
            n += make_parts(s, &g[n], first, last, rng);
        else
            make_group(s, &g[n++], first, last, last == 3 ? 1 : (int)tw_test_pick(rng, 0, 1), rng);
    }
    return n;
}

static void check_same_op(const tw_group_op *a, const tw_group_op *b, const tw_op *op)
{
    CHECK_EQ(a->op, b->op);
    CHECK_EQ(a->view, b->view);
    for (int l = 0; l < op->n_loops; l++) {
        CHECK_EQ(a->over.dim[l], b->over.dim[l]);
        CHECK_EQ(a->parts[l], b->parts[l]);
        CHECK_EQ(a->reduce[l], b->reduce[l]);
    }
}

static void check_same_nest(const tw_group_map *a, const tw_group_map *b)
{
    CHECK_EQ(a->n_levels, b->n_levels);
    for (int l = 0; l < a->n_levels; l++) {
        CHECK_EQ(a->level[l].memory, b->level[l].memory);
        CHECK_EQ(a->level[l].depth, b->level[l].depth);
    }
    CHECK_EQ(a->n_cuts, b->n_cuts);
    for (int k = 0; k < a->n_cuts; k++) {
        CHECK_EQ(a->cut[k].level, b->cut[k].level);
        CHECK_EQ(a->cut[k].loop, b->cut[k].loop);
        CHECK_EQ(a->cut[k].rule, b->cut[k].rule);
        CHECK_EQ(a->cut[k].count, b->cut[k].count);
        CHECK_EQ(a->cut[k].size, b->cut[k].size);
    }
}

static void check_same(const tw_group_map *a, const tw_group_map *b, const tw_model *model)
{
    CHECK_STR(a->name, b->name);
    CHECK_EQ(a->n_ops, b->n_ops);
    for (int i = 0; i < a->n_ops; i++) check_same_op(&a->op[i], &b->op[i], &model->op[a->op[i].op]);
    check_same_nest(a, b);
    CHECK_EQ(a->n_holds, b->n_holds);
    for (int h = 0; h < a->n_holds; h++) {
        CHECK_EQ(a->hold[h].tensor, b->hold[h].tensor);
        CHECK_EQ(a->hold[h].memory, b->hold[h].memory);
        CHECK_EQ(a->hold[h].depth, b->hold[h].depth);
        CHECK_EQ(a->hold[h].slots, b->hold[h].slots);
    }
    CHECK_EQ(a->n_parts, b->n_parts);
    for (int i = 0; i < a->n_parts; i++) {
        CHECK_EQ(a->part[i].loop, b->part[i].loop);
        CHECK_EQ(a->part[i].span.lo, b->part[i].span.lo);
        CHECK_EQ(a->part[i].span.hi, b->part[i].span.hi);
    }
}

TEST(random_groups_read_back_as_they_are_and_the_reader_accepts_what_the_validator_accepts)
{
    uint64_t rng = tw_test_seed();
    int n_accepted = 0, n_refused = 0;
    for (int i = 0; i < 3000; i++) {
        stage s = stage_new();
        made g[MOST_GROUPS] = {0};
        tw_group_map map[MOST_GROUPS];
        tw_text text = {0};
        int n = make_groups(&s, g, &rng);
        for (int k = 0; k < n; k++) {
            snprintf(g[k].name, sizeof g[k].name, "g%d", k);
            map[k] = g[k].map;
        }
        tw_mapping mapping = {.n_groups = n, .group = map};
        tw_status want = tw_mapping_check(&mapping, &s.model, &s.machine, &s.bench.diag);
        tw_mapping_print(&mapping, &s.model, &s.machine, &text);
        if (want == TW_OK) read_sound(&s, text.bytes);
        CHECK_EQ(read_quietly(&s, text.bytes), want);
        for (int k = 0; want == TW_OK && k < n; k++) check_same(&map[k], &s.mapping.group[k], &s.model);
        if (want == TW_OK) check_round_trip(&s);
        n_accepted += want == TW_OK;
        n_refused += want != TW_OK;
        tw_text_release(&text);
        tw_bench_free(&s.bench);
    }
    CHECK(n_accepted > 300);
    CHECK(n_refused > 300);
}

/* ---- broken groups ---- */

typedef void (*breaker)(made *g);
static void no_ops(made *g) { g->map.n_ops = 0; }
static void foreign_op(made *g) { g->op[0].op = 9; }
static void foreign_view(made *g) { g->op[0].view = 3; }
static void no_levels(made *g) { g->map.n_levels = 0; }
static void too_many_cuts(made *g) { g->map.n_cuts = TW_MAX_CUTS + 1; }
static void foreign_memory(made *g) { g->level[0].memory = 4; }
static void outermost_memory(made *g) { g->level[0].memory = 0; }
static void too_deep(made *g) { g->level[0].depth = 3; }
static void cut_of_no_level(made *g) { g->level[1].depth = 1; }
static void foreign_loop(made *g) { g->cut[0].loop = 12; }
static void foreign_level(made *g) { g->cut[1].level = 0; }
static void neither(made *g) { g->cut[0].size = 0; }
static void both(made *g) { g->cut[0].count = 2; }
static void negative_size(made *g) { g->cut[0].size = -1; }
static void foreign_tensor(made *g) { g->hold[0].tensor = 99; }
static void no_such_depth(made *g) { g->hold[0].depth = 3; }
static void below_depth(made *g) { g->hold[0].depth = -2; }
static void negative_slots(made *g) { g->hold[0].slots = -1; }
static void too_many_slots(made *g) { g->hold[0].slots = TW_MAX_CREDITS + 1; }
static void held_nowhere(made *g) { g->hold[0].memory = 3; }
static void held_twice(made *g) { g->hold[1] = g->hold[0], g->map.n_holds = 2; }
static void foreign_dim(made *g) { g->op[0].over.dim[0] = 3; }
static void negative_dim(made *g) { g->op[0].over.dim[0] = -1; }
static void lone_parts(made *g) { g->op[0].parts[0] = 2; }
static void some_parts(made *g) { g->op[0].over.dim[0] = g->op[0].over.dim[1] = 1, g->op[0].parts[1] = 2; }
static void negative_reduce(made *g) { g->op[0].reduce[3] = -4; }
static void foreign_part(made *g) { g->map.n_parts = 1, g->map.part[0].loop = 12; }
static void empty_part(made *g) { g->map.n_parts = 1, g->map.part[0] = (tw_group_part){1, {0, 0}}; }
static void large_part(made *g) { g->map.n_parts = 1, g->map.part[0] = (tw_group_part){1, {0, 17}}; }

TEST(a_broken_group_is_not_accepted)
{
    static const breaker all[] = {
        no_ops,          foreign_op,       foreign_view,   no_levels,       too_many_cuts,
        foreign_memory,  outermost_memory, too_deep,       cut_of_no_level, foreign_loop,
        foreign_level,   neither,          both,           negative_size,   foreign_tensor,
        no_such_depth,   below_depth,      negative_slots, too_many_slots,  held_nowhere,
        held_twice,      foreign_dim,      negative_dim,   lone_parts,      some_parts,
        negative_reduce, foreign_part,     empty_part,     large_part};
    static const char two[] =
        "groups:\n"
        "  - ops: [conv1, conv2]\n"
        "    core: big\n"
        "    levels: [{at: sram, sizes: {oy: 8}}, {at: l1, sizes: {oy: 4}, buffers: {x: 2}}]\n"
        "  - {ops: [conv3], core: big, levels: [{at: l1}]}\n"
        "  - {ops: [pool1], core: little, levels: [{at: l1}]}\n";
    for (size_t i = 0; i < TW_COUNT(all) + 1; i++) {
        stage s = stage_new();
        made g = {0};
        tw_group_map map[3];
        read_sound(&s, two);
        memcpy(map, s.mapping.group, sizeof map);
        g.map = map[0];
        memcpy(g.op, g.map.op, (size_t)g.map.n_ops * sizeof *g.op);
        memcpy(g.cut, g.map.cut, (size_t)g.map.n_cuts * sizeof *g.cut);
        memcpy(g.level, g.map.level, (size_t)g.map.n_levels * sizeof *g.level);
        memcpy(g.hold, g.map.hold, (size_t)g.map.n_holds * sizeof *g.hold);
        g.map.op = g.op, g.map.cut = g.cut, g.map.level = g.level, g.map.hold = g.hold;
        if (i < TW_COUNT(all)) all[i](&g);
        map[0] = g.map;
        tw_mapping mapping = {.n_groups = 3, .group = map};
        tw_status status = tw_mapping_check(&mapping, &s.model, &s.machine, &s.bench.diag);
        if (i < TW_COUNT(all) && status == TW_OK) print_error("breaker %zu is accepted\n", i);
        CHECK_EQ(status, i < TW_COUNT(all) ? TW_ERR_INPUT : TW_OK);
        tw_bench_free(&s.bench);
    }
}

TEST(running_out_of_memory_at_any_request_is_survived)
{
    for (int64_t n = 1;; n++) {
        stage s = stage_new();
        tw_arena_fail_at(s.bench.arena, n);
        tw_status status = read_quietly(&s, sound);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        tw_bench_free(&s.bench);
        if (status == TW_OK) break;
        CHECK(n < 2000);
    }
}
