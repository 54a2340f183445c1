/* test/machine/test_platform.c - machine files that describe a graph: views, ports, names, private memories. */
#include "machine/platform.h"

#include "tw_read.h"

/* Two cores behind one memory: one with a private accumulator and a bias that goes there, one with two compute engines and a
 * mover for weights alone. */
static const char cores[] =
    "machine: two-cores\n"
    "unit: byte\n"
    "timing: async\n"
    "memories:\n"
    "  - {name: dram, size: unlimited, energy: 100 pJ}\n"
    "  - {name: l2, size: 1 MiB}\n"
    "engines:\n"
    "  - {name: dma, between: [dram, l2], cost: {latency: 100, per_cycle: 32}}\n"
    "cores:\n"
    "  - name: big\n"
    "    memories:\n"
    "      - {name: l1, size: 64 KiB, holds: [inputs]}\n"
    "      - {name: acc, size: 4 KiB, holds: [output, bias], per: columns}\n"
    "    engines:\n"
    "      - {name: load, between: [l2, l1], carries: in, cost: {constant: 7}}\n"
    "      - {name: bias, between: [l1, acc], carries: in, roles: bias, multicast: true, cost: {constant: 8}}\n"
    "      - {name: drain, between: [l2, acc], carries: out, sums: true, cost: {constant: 9}}\n"
    "      - {name: array, computes: multiply-add, memory: acc, cost: {array: [16, 8]}}\n"
    "    ports:\n"
    "      - {name: wide, memory: l1, ways: 2}\n"
    "  - name: little\n"
    "    memories:\n"
    "      - {name: l1, size: 16 KiB}\n"
    "    engines:\n"
    "      - {name: dma, between: [l2, l1], roles: [activations, output], cost: {constant: 3}}\n"
    "      - {name: weigh, between: [l2, l1], roles: weights, carries: in, cost: {constant: 4}}\n"
    "      - {name: array, computes: multiply-add, memory: l1, cost: {array: [4, 4]}}\n"
    "      - {name: vector, computes: [add, max], memory: l1, cost: {latency: 4, per_cycle: 8}}\n"
    "ports:\n"
    "  - {name: ddr, memory: dram, per_cycle: 16, word: 4, read: 1.5 pJ, write: 0 pJ}\n"
    "  - {name: l2r, memory: l2, serves: reads, movers: [big.load, little.dma, little.weigh]}\n";

/* Without cores: two compute engines, one of which does without l1. */
static const char flat[] = "machine: flat\n"
                           "unit: element\n"
                           "timing: async\n"
                           "memories:\n"
                           "  - {name: dram, size: unlimited}\n"
                           "  - {name: l2, size: 10000}\n"
                           "  - {name: l1, size: 1000}\n"
                           "  - {name: rf, size: 16, per: [rows, columns]}\n"
                           "engines:\n"
                           "  - {name: in, between: [dram, l2], cost: {constant: 1}}\n"
                           "  - {name: mac, computes: multiply-add, memory: rf, cost: {array: [2, 3]}}\n"
                           "  - {name: down, between: [l2, l1], cost: {constant: 2}}\n"
                           "  - {name: last, between: [l1, rf], cost: {constant: 3}}\n"
                           "  - {name: vector, computes: add, memory: l1, memories: [l1], cost: {constant: 5},\n"
                           "     cost_of: {add: {constant: 6}}}\n"
                           "  - {name: around, between: [dram, l1], cost: {constant: 4}}\n";

static void read_or_fail(tw_bench *b, const char *text, tw_machine *machine)
{
    tw_status status = tw_read_machine(b, "m.yaml", text, machine);
    if (status != TW_OK) print_error("%s\n%s\n", text, b->diag.last ? b->diag.last : "");
    CHECK_EQ(status, TW_OK);
}

static void check_round_trip(tw_bench *b, const tw_machine *machine)
{
    tw_text first = {0}, second = {0};
    tw_machine again;
    tw_machine_print(machine, &first);
    read_or_fail(b, first.bytes, &again);
    tw_machine_print(&again, &second);
    CHECK_STR(second.bytes, first.bytes);
    CHECK_EQ(again.platform->n_views, machine->platform->n_views);
    for (int v = 0; v < again.platform->n_views; v++) {
        const tw_platform_view *a = &again.platform->view[v], *m = &machine->platform->view[v];
        CHECK_EQ(a->engine, m->engine);
        CHECK_EQ(a->machine.n_memories, m->machine.n_memories);
        CHECK_EQ(a->machine.n_engines, m->machine.n_engines);
        for (int i = 0; i < a->machine.n_memories; i++) CHECK_EQ(a->memory[i], m->memory[i]);
        for (int i = 0; i < a->machine.n_engines; i++) CHECK_EQ(a->mover[i], m->mover[i]);
    }
    tw_text_release(&first);
    tw_text_release(&second);
}

TEST(the_parts_of_all_cores_are_numbered_shared_ones_first)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, cores, &m);
    const tw_platform *p = m.platform;
    static const char *const memory[] = {"dram", "l2", "big.l1", "big.acc", "little.l1"};
    static const char *const engine[] = {"dma",        "big.load",     "big.bias",     "big.drain",    "big.array",
                                         "little.dma", "little.weigh", "little.array", "little.vector"};
    CHECK_EQ(p->n_cores, 2);
    CHECK_EQ(p->n_memories, (int)TW_COUNT(memory));
    CHECK_EQ(p->n_engines, (int)TW_COUNT(engine));
    for (int i = 0; i < p->n_memories; i++) CHECK_STR(p->memory[i].name, memory[i]);
    for (int i = 0; i < p->n_engines; i++) CHECK_STR(p->engine[i].name, engine[i]);
    CHECK_STR(p->memory[4].is.name, "l1");
    CHECK_EQ(p->memory[1].core, -1);
    CHECK_EQ(p->memory[3].core, 0);
    CHECK_EQ(p->memory[3].lanes, 8);
    CHECK_EQ(p->memory[2].lanes, 1);
    CHECK_EQ(p->engine[3].is.outer, 1);
    CHECK_EQ(p->engine[3].is.memory, 3);
    CHECK(p->engine[3].is.sums);
    CHECK(p->engine[2].is.multicast);
    CHECK_EQ(p->engine[6].is.roles, (unsigned)TW_HOLDS_WEIGHTS);
    CHECK_EQ(tw_machine_check(&m, &b.diag), TW_OK);
    check_round_trip(&b, &m);
    tw_bench_free(&b);
}

TEST(a_view_is_a_machine_of_its_own)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, cores, &m);
    const tw_platform *p = m.platform;
    CHECK_EQ(p->n_views, 3);
    CHECK_EQ(p->view[0].engine, 4);
    CHECK_EQ(p->view[2].engine, 8);
    CHECK_EQ(m.n_memories, 4);
    CHECK_STR(m.memory[3].name, "big.acc");
    CHECK_EQ(m.memory[3].per, 2U);
    CHECK_STR(m.engine[m.compute].name, "big.array");
    const tw_machine *little = &p->view[1].machine;
    CHECK_EQ(little->n_memories, 3);
    CHECK_EQ(little->n_engines, 4);
    CHECK_STR(little->memory[2].name, "little.l1");
    CHECK_EQ(tw_machine_link(little, 1, 2, TW_INWARDS, TW_HOLDS_WEIGHTS), 2);
    CHECK_EQ(tw_machine_link(little, 1, 2, TW_INWARDS, TW_HOLDS_ACTIVATIONS), 1);
    CHECK_EQ(tw_machine_link(little, 1, 2, TW_OUTWARDS, TW_HOLDS_OUTPUT), 1);
    CHECK_EQ(tw_machine_link(little, 1, 2, TW_OUTWARDS, TW_HOLDS_WEIGHTS), -1);
    CHECK_EQ(tw_machine_link(little, 1, 2, TW_INWARDS, TW_HOLDS_ALL), 1);
    CHECK_STR(p->view[2].machine.engine[p->view[2].machine.compute].name, "little.vector");
    for (int v = 0; v < p->n_views; v++) {
        CHECK(p->view[v].machine.platform == p);
        CHECK_EQ(tw_machine_check(&p->view[v].machine, &b.diag), TW_OK);
    }
    tw_bench_free(&b);
}

TEST(compute_engines_without_cores_choose_their_memories)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, flat, &m);
    const tw_platform *p = m.platform;
    CHECK_EQ(p->n_cores, 0);
    CHECK_EQ(p->n_views, 2);
    CHECK_EQ(m.n_memories, 4);
    CHECK_EQ(m.n_engines, 4); /* not the way around l2, nor the other compute engine */
    CHECK_EQ(m.has_apart, 0U);
    CHECK_EQ(m.memory[3].per, 3U);
    CHECK_EQ(p->memory[3].lanes, 6);
    const tw_machine *vector = &p->view[1].machine;
    CHECK_EQ(vector->n_memories, 2);
    CHECK_EQ(p->view[1].memory[1], 2);
    CHECK_EQ(vector->n_engines, 2);
    CHECK_STR(vector->engine[tw_machine_mover(vector, 1)].name, "around");
    CHECK_EQ(vector->has_apart, 1U << TW_ADD);
    check_round_trip(&b, &m);
    tw_bench_free(&b);
}

TEST(ports_are_where_movers_read_and_write)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, cores, &m);
    const tw_platform *p = m.platform;
    enum { DDR, L2R, WIDE, NONE = -1 };
    CHECK_EQ(p->n_ports, 3);
    CHECK_STR(p->port[WIDE].name, "big.wide");
    CHECK_EQ(p->port[WIDE].memory, 2);
    CHECK_EQ(p->port[WIDE].ways, 2);
    CHECK_EQ(p->port[WIDE].read_fj, -1);
    CHECK_EQ(p->port[DDR].read_fj, 1500);
    CHECK_EQ(p->port[DDR].write_fj, 0);
    static const int use[][4] = {/* reads in, out; writes in, out */
                                 {DDR, NONE, NONE, DDR},
                                 {L2R, NONE, WIDE, NONE},
                                 {WIDE, NONE, NONE, NONE},
                                 {NONE, NONE, NONE, NONE}};
    for (int e = 0; e < (int)TW_COUNT(use); e++) {
        CHECK_EQ(p->engine[e].reads[0], use[e][0]);
        CHECK_EQ(p->engine[e].reads[1], use[e][1]);
        CHECK_EQ(p->engine[e].writes[0], use[e][2]);
        CHECK_EQ(p->engine[e].writes[1], use[e][3]);
    }
    CHECK_EQ(tw_port_cycles(&p->port[DDR], 0), 0);
    CHECK_EQ(tw_port_cycles(&p->port[DDR], 1), 1);
    CHECK_EQ(tw_port_cycles(&p->port[DDR], 33), 3); /* 36 units, 16 in a cycle */
    CHECK_EQ(tw_port_cycles(&p->port[WIDE], 1000), 0);
    tw_port slow = {.ways = 1, .per_cycle = 3, .word = 4};
    CHECK_EQ(tw_port_cycles(&slow, 1), 2);
    CHECK_EQ(tw_port_cycles(&slow, INT64_MAX), INT64_MAX);
    tw_bench_free(&b);
}

TEST(names_are_found_inside_a_core_and_outside)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, cores, &m);
    const tw_platform *p = m.platform;
    CHECK_EQ(tw_platform_find_core(p, "little"), 1);
    CHECK_EQ(tw_platform_find_core(p, "huge"), -1);
    CHECK_EQ(tw_platform_find_memory(p, "big.l1", -1), 2);
    CHECK_EQ(tw_platform_find_memory(p, "l1", 1), 4);
    CHECK_EQ(tw_platform_find_memory(p, "big.l1", 1), 2);
    CHECK_EQ(tw_platform_find_memory(p, "l1", -1), -2);
    CHECK_EQ(tw_platform_find_memory(p, "acc", -1), 3);
    CHECK_EQ(tw_platform_find_memory(p, "acc", 1), -1);
    CHECK_EQ(tw_platform_find_memory(p, "l2", 0), 1);
    CHECK_EQ(tw_platform_find_memory(p, "l3", -1), -1);
    CHECK_EQ(tw_platform_find_view(p, "array", 1), 1);
    CHECK_EQ(tw_platform_find_view(p, "array", -1), -2);
    CHECK_EQ(tw_platform_find_view(p, "vector", -1), 2);
    CHECK_EQ(tw_platform_find_view(p, "big.dma", -1), -1);
    tw_bench_free(&b);
}

TEST(a_machine_says_what_only_groups_can_use)
{
    static const char plain[] = "machine: plain\nunit: byte\ntiming: async\nmemories: [{name: dram, size: "
                                "unlimited}, {name: l1, size: 100}]\n"
                                "engines:\n  - {name: dma, between: [dram, l1], cost: {constant: 1}}\n"
                                "  - {name: mac, computes: multiply-add, memory: l1, cost: {constant: 1}}\n";
    tw_bench b = tw_bench_new();
    tw_machine m;
    const char *what = NULL;
    tw_loc loc = {0};
    read_or_fail(&b, plain, &m);
    CHECK(!tw_platform_needs_groups(m.platform, &what, &loc));
    CHECK_EQ(m.platform->n_views, 1);
    CHECK(m.platform->view[0].machine.platform == m.platform);
    read_or_fail(&b, cores, &m);
    CHECK(tw_platform_needs_groups(m.platform, &what, &loc));
    CHECK_STR(what, "ddr");
    CHECK_EQ(loc.line, 30);
    read_or_fail(&b, flat, &m);
    CHECK(tw_platform_needs_groups(m.platform, &what, &loc));
    CHECK_STR(what, "rf");
    CHECK_EQ(loc.line, 8);
    tw_bench_free(&b);
}

TEST(operands_are_held_and_carried_by_their_names)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    tw_model model;
    read_or_fail(&b, cores, &m);
    CHECK_EQ(tw_read_model(&b, "<line>", "matmul:8x8x8:i8", &model), TW_OK);
    tw_op op = model.op[0];
    CHECK_EQ(tw_machine_path(&m, &op, 1), 7U);
    CHECK_EQ(tw_machine_check_op(&m, &op, &b.diag), TW_OK);
    op.operand[1].name = "bias";
    CHECK_EQ(tw_machine_path(&m, &op, 1), 15U);
    CHECK_EQ(tw_machine_link_of(&m, &op, 1, 2, 3, TW_INWARDS), 2);
    CHECK_EQ(tw_machine_link_of(&m, &op, 0, 2, 3, TW_INWARDS), -1);
    CHECK_EQ(tw_machine_check_op(&m, &op, &b.diag), TW_OK);
    m.engine[2].named = NULL, m.engine[2].roles = TW_HOLDS_OUTPUT;
    CHECK_EQ(tw_machine_check_op(&m, &op, &b.diag), TW_ERR_INPUT);
    CHECK(strstr(b.diag.last, "no engine carries 'bias' from 'big.l1' to 'big.acc'"));
    tw_bench_free(&b);
}

TEST(broken_platforms_are_refused)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, cores, &m);
    const tw_platform *p = m.platform;
    tw_platform_memory memory[5];
    tw_platform_engine engine[9];
    tw_port port[3];
    memcpy(memory, p->memory, sizeof memory);
    memcpy(engine, p->engine, sizeof engine);
    memcpy(port, p->port, sizeof port);
    tw_platform other = *p;
    other.memory = memory, other.engine = engine, other.port = port, other.n_views = 0;
    CHECK_EQ(tw_platform_check(&other, &b.diag), TW_ERR_INPUT);
    other.n_views = p->n_views; /* whose machines belong to the first platform */
    CHECK_EQ(tw_platform_check(&other, &b.diag), TW_ERR_INPUT);
    memory[3].lanes = 0;
    CHECK_EQ(tw_platform_check(&other, &b.diag), TW_ERR_INPUT);
    CHECK(strstr(b.diag.last, "memory 3"));
    memory[3].lanes = 8;
    engine[0].reads[0] = 1; /* a port of another memory */
    CHECK_EQ(tw_platform_check(&other, &b.diag), TW_ERR_INPUT);
    CHECK(strstr(b.diag.last, "engine 0"));
    engine[0].reads[0] = 0;
    port[2].ways = 0;
    CHECK_EQ(tw_platform_check(&other, &b.diag), TW_ERR_INPUT);
    CHECK(strstr(b.diag.last, "port 2"));
    tw_bench_free(&b);
}

/* ---- grids ---- */

static const char grid_head[] =
    "machine: grid\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\ncores:\n";
static const char grid_parts[] = "    memories: [{name: m, size: 4 KiB}]\n    engines:\n"
                                 "      - {name: dma, between: [dram, m], cost: {latency: 0, per_cycle: 4}}\n"
                                 "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 4]}}\n";

/* The neighbours of each core are those whose row and column differ by one in all: every link is one of such a pair, and every pair has one each way. */
static void check_links(const tw_platform *p, int rows, int columns)
{
    int n = 0;
    for (int e = 0; e < p->n_engines; e++) {
        if (!tw_platform_is_link(p, e)) continue;
        int a = p->memory[p->engine[e].is.outer].core, b = p->memory[p->engine[e].is.memory].core;
        CHECK_EQ(abs(a / columns - b / columns) + abs(a % columns - b % columns), 1);
        CHECK_EQ(p->engine[e].core, b);
        for (int other = 0; other < e; other++)
            CHECK(!tw_platform_is_link(p, other) || p->engine[other].is.outer != p->engine[e].is.outer ||
                  p->engine[other].is.memory != p->engine[e].is.memory);
        n++;
    }
    CHECK_EQ(n, 2 * (rows * (columns - 1) + columns * (rows - 1)));
}

TEST(a_grid_is_the_cores_and_links_that_it_stands_for)
{
    static const int size[][2] = {{1, 1}, {1, 5}, {3, 4}, {8, 8}, {16, 16}};
    for (size_t i = 0; i < TW_COUNT(size); i++) {
        tw_bench b = tw_bench_new();
        tw_machine m;
        char text[2000], name[40];
        snprintf(text, sizeof text,
                 "%s  - name: t\n    grid: [%d, %d]\n    links: {name: noc, memory: m, cost: {latency: 3, "
                 "per_cycle: 4}}\n%s",
                 grid_head, size[i][0], size[i][1], grid_parts);
        read_or_fail(&b, text, &m);
        int n = size[i][0] * size[i][1];
        CHECK_EQ(m.platform->n_cores, n);
        CHECK_EQ(m.platform->n_views, n);
        CHECK_EQ(m.platform->n_memories, n + 1);
        for (int c = 0; c < n; c++) {
            snprintf(name, sizeof name, "t_%d_%d", c / size[i][1], c % size[i][1]);
            CHECK_STR(m.platform->core[c].name, name);
        }
        check_links(m.platform, size[i][0], size[i][1]);
        if (n <= 12) check_round_trip(&b, &m);
        tw_bench_free(&b);
    }
}

TEST(a_grid_that_wraps_joins_its_ends_and_a_row_has_one_number)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    char text[2000];
    int n = 0;
    snprintf(text, sizeof text,
             "%s  - name: t\n    grid: [4]\n    links: {name: ring, memory: m, wrap: true, cost: {latency: 3, "
             "per_cycle: 4}}\n%s",
             grid_head, grid_parts);
    read_or_fail(&b, text, &m);
    CHECK_STR(m.platform->core[3].name, "t_3");
    for (int e = 0; e < m.platform->n_engines; e++) {
        if (!tw_platform_is_link(m.platform, e)) continue;
        int a = m.platform->memory[m.platform->engine[e].is.outer].core,
            z = m.platform->memory[m.platform->engine[e].is.memory].core;
        CHECK((z - a + 4) % 4 == 1 || (a - z + 4) % 4 == 1);
        n++;
    }
    CHECK_EQ(n, 8);
    tw_bench_free(&b);
}

/* ---- routes ---- */

/* Links between every two memories by trying all walks of that many links: slow, and without any notion of a shortest path. */
static int fewest_links(const tw_platform *p, int from, int to, int most)
{
    if (from == to) return 0;
    int best = most + 1;
    for (int e = 0; e < p->n_engines && most > 0; e++) {
        if (!tw_platform_is_link(p, e) || p->engine[e].is.outer != from) continue;
        int rest = fewest_links(p, p->engine[e].is.memory, to, (best < most ? best : most) - 1);
        if (1 + rest < best) best = 1 + rest;
    }
    return best;
}

TEST(a_route_has_the_fewest_links_and_of_these_the_first)
{
    tw_bench b = tw_bench_new();
    tw_machine m;
    tw_model model;
    char text[2000];
    snprintf(text, sizeof text,
             "%s  - name: t\n    grid: [2, 3]\n    links: {name: noc, memory: m, cost: {latency: 3, per_cycle: "
             "4}}\n%s",
             grid_head, grid_parts);
    read_or_fail(&b, text, &m);
    CHECK_EQ(tw_read_model(&b, "w", "matmul:4x4x4,dtype=i8", &model), TW_OK);
    const tw_platform *p = m.platform;
    for (int from = 1; from < p->n_memories; from++)
        for (int to = 1; to < p->n_memories; to++) {
            int link[TW_MAX_HOPS], at = from;
            int n = tw_platform_find_route(p, (tw_memory_list){1, &from}, (tw_memory_list){1, &to}, &model.op[0], 0,
                                           link);
            CHECK_EQ(n, fewest_links(p, from, to, 5));
            for (int i = 0; i < n; i++) {
                CHECK_EQ(p->engine[link[i]].is.outer, at);
                for (int e = 0; e < link[i]; e++) /* no link before it is as good */
                    CHECK(!tw_platform_is_link(p, e) || p->engine[e].is.outer != at ||
                          fewest_links(p, p->engine[e].is.memory, to, 5) >= n - i);
                at = p->engine[link[i]].is.memory;
            }
            CHECK_EQ(at, to);
        }
    tw_bench_free(&b);
}

/* ---- cores behind others ---- */

/* c stands behind b, and b behind a, which the file gives in the other order; what leads out of c and b carries from them. */
static const char row[] =
    "machine: row\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited}]\n"
    "engines:\n"
    "  - {name: in, between: [b.m, c.m], carries: in, cost: {latency: 1, per_cycle: 4}}\n"
    "  - {name: out, between: [c.m, b.m], carries: in, cost: {latency: 2, per_cycle: 2}}\n"
    "cores:\n"
    "  - name: c\n    memories: [{name: m, size: 4 KiB}]\n    engines:\n"
    "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 4]}}\n"
    "  - name: b\n    memories: [{name: m, size: 4 KiB}]\n    engines:\n"
    "      - {name: hop, between: [a.l1, m], cost: {latency: 3, per_cycle: 4}}\n"
    "      - {name: mac, computes: multiply-add, memory: m, cost: {array: [4, 4]}}\n"
    "  - name: a\n    memories: [{name: l2, size: 16 KiB}, {name: l1, size: 4 KiB}, {name: acc, size: 1 KiB, "
    "holds: output}]\n    engines:\n"
    "      - {name: dma, between: [dram, l2], cost: {latency: 5, per_cycle: 4}}\n"
    "      - {name: down, between: [l2, l1], cost: {latency: 1, per_cycle: 4}}\n"
    "      - {name: drain, between: [l1, acc], carries: out, cost: {latency: 1, per_cycle: 4}}\n"
    "      - {name: mac, computes: multiply-add, memory: acc, cost: {array: [4, 4]}}\n";

TEST(a_core_behind_another_has_the_memories_on_its_way_out_in_its_view)
{
    static const char *const memory[] = {"dram", "a.l2", "a.l1", "a.acc", "b.m", "c.m"};
    static const char *const of_c[] = {"dram", "a.l2", "a.l1", "b.m", "c.m"};
    static const char *const moves[] = {"in", "out", "b.hop", "a.dma", "a.down"};
    tw_bench b = tw_bench_new();
    tw_machine m;
    read_or_fail(&b, row, &m);
    const tw_platform *p = m.platform;
    CHECK_EQ(p->n_memories, (int)TW_COUNT(memory));
    for (int i = 0; i < p->n_memories; i++) CHECK_STR(p->memory[i].name, memory[i]);
    CHECK_EQ(m.n_memories, (int)TW_COUNT(of_c)); /* c's is the first view */
    for (int i = 0; i < m.n_memories; i++) CHECK_STR(m.memory[i].name, of_c[i]);
    CHECK_EQ(m.n_engines, (int)TW_COUNT(moves) + 1);
    for (size_t i = 0; i < TW_COUNT(moves); i++) {
        bool found = false;
        for (int e = 0; e < m.n_engines; e++) found |= strcmp(m.engine[e].name, moves[i]) == 0;
        CHECK(found);
    }
    CHECK_EQ(p->view[1].machine.n_memories, 4);
    CHECK_EQ(p->view[2].machine.n_memories, 4);
    CHECK_EQ(p->engine[0].is.carries, (unsigned)TW_INWARDS);
    CHECK_EQ(p->engine[1].is.carries, (unsigned)TW_OUTWARDS); /* from the inner memory, c's, to the outer one */
    CHECK_EQ(p->engine[1].is.outer, 4);
    CHECK_EQ(p->engine[1].is.memory, 5);
    CHECK_EQ(tw_machine_link(&m, 3, 4, TW_OUTWARDS, TW_HOLDS_OUTPUT), 1);
    for (int v = 0; v < p->n_views; v++) CHECK_EQ(tw_machine_check(&p->view[v].machine, &b.diag), TW_OK);
    check_round_trip(&b, &m);
    tw_bench_free(&b);
}
