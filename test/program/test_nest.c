/* test/program/test_nest.c - programs of groups against programs of one operator.
 *
 * A group of one operator on a machine without anything new is what a mapping of that operator is. Two generators that share
 * no code must come to the same: cycles, commands, units, energy. Random machines, operators, tiles and orders; where all cuts
 * are even the programs are equal, elsewhere the group sends no more than the other. */
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

typedef struct loop {
    const char *name;
    int64_t extent, outer, inner; /* size of a tile in l2 and in l1 */
    bool reduces;
} loop;

typedef struct scene {
    uint64_t seed;
    tw_context *ctx;
    char workload[200], machine[1500], level[2][600], text[3000];
    int n_loops;
    loop loop[7];
} scene;

static void append(char *text, size_t room, const char *fmt, ...) TW_PRINTF(3, 4);
static void append(char *text, size_t room, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, room - n, fmt, args);
    va_end(args);
}

static int64_t pick(scene *s, int64_t lo, int64_t hi) { return tw_test_pick(&s->seed, lo, hi); }

/* A divisor of x, or anything up to it. */
static int64_t part_of(scene *s, int64_t x, bool even)
{
    int64_t size = pick(s, 1, x);
    while (even && x % size != 0) size--;
    return size;
}

static void draw_workload(scene *s)
{
    if (pick(s, 0, 1)) {
        int64_t m = pick(s, 1, 12), n = pick(s, 1, 12), k = pick(s, 1, 12);
        snprintf(s->workload, sizeof s->workload, "matmul:%dx%dx%d,dtype=i8", (int)m, (int)n, (int)k);
        s->n_loops = 3;
        s->loop[0] = (loop){"m", m, 0, 0, false};
        s->loop[1] = (loop){"n", n, 0, 0, false};
        s->loop[2] = (loop){"k", k, 0, 0, true};
        return;
    }
    int64_t c = pick(s, 1, 4), h = pick(s, 3, 8), w = pick(s, 3, 8), out = pick(s, 1, 6);
    snprintf(s->workload, sizeof s->workload, "conv:%dx%dx%d,out=%d,kernel=3,dtype=i8", (int)c, (int)h, (int)w,
             (int)out);
    s->n_loops = 4;
    s->loop[0] = (loop){"oc", out, 0, 0, false};
    s->loop[1] = (loop){"oy", h - 2, 0, 0, false};
    s->loop[2] = (loop){"ox", w - 2, 0, 0, false};
    s->loop[3] = (loop){"ic", c, 0, 0, true};
}

static void draw_machine(scene *s)
{
    int64_t l = pick(s, 0, 30), b = pick(s, 1, 16);
    snprintf(s->machine, sizeof s->machine,
             "machine: drawn\nunit: byte\ntiming: async\nmemories:\n"
             "  - {name: dram, size: unlimited, energy: 7 pJ}\n"
             "  - {name: l2, size: 1 MiB, energy: 2 pJ, align: %d}\n"
             "  - {name: l1, size: 1 MiB, energy: 1 pJ}\n"
             "engines:\n"
             "  - {name: fetch, between: [dram, l2], carries: in, cost: {latency: %d, per_cycle: %d}%s}\n"
             "  - {name: feed, between: [l2, l1], carries: in, cost: {latency: 1, per_cycle: 4}, count: %d}\n"
             "  - {name: array, computes: [multiply-add], memory: l1, energy: 3 pJ, cost: {array: [%d, %d], "
             "latency: 2}}\n"
             "  - {name: drain, between: [l2, l1], carries: out, cost: {constant: %d}}\n"
             "  - {name: back, between: [dram, l2], carries: out, cost: {latency: 5, per_cycle: 3}}\n",
             (int)pick(s, 1, 32), (int)l, (int)b, pick(s, 0, 1) ? ", pipelined: true" : "", (int)pick(s, 1, 2),
             (int)pick(s, 1, 4), (int)pick(s, 1, 4), (int)pick(s, 0, 9));
}

/* Parallel loops in any order, then reductions. */
static void draw_level(scene *s, int level, bool even)
{
    char *text = s->level[level];
    int order[7], n_parallel = 0;
    snprintf(text, sizeof s->level[0], "{at: %s, sizes: {", level ? "l1" : "l2");
    for (int l = 0; l < s->n_loops; l++) {
        loop *x = &s->loop[l];
        order[l] = l;
        n_parallel += !x->reduces;
        int64_t *size = level ? &x->inner : &x->outer;
        *size = part_of(s, level ? x->outer : x->extent, even);
        if (!level && x->reduces) *size = x->extent; /* sums stay where they are made */
        append(text, sizeof s->level[0], "%s%s: %d", l ? ", " : "", x->name, (int)*size);
    }
    for (int i = n_parallel - 1; i > 0; i--) {
        int k = (int)pick(s, 0, i), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    append(text, sizeof s->level[0], "}, order: [");
    for (int l = 0; l < s->n_loops; l++)
        append(text, sizeof s->level[0], "%s%s", l ? ", " : "", s->loop[order[l]].name);
    append(text, sizeof s->level[0], "], buffers: {ifm: %d, w: %d, ofm: %d}}", (int)pick(s, 1, 3),
           (int)pick(s, 1, 3), (int)pick(s, 1, 3));
}

static tw_summary eval(scene *s, const char *format, const char *name)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    s->text[0] = 0;
    append(s->text, sizeof s->text, format, name, s->level[0], s->level[1]);
    tw_status status = tw_model_open(s->ctx, s->workload, &model);
    if (status == TW_OK) status = tw_machine_parse(s->ctx, "machine", s->machine, &machine);
    if (status == TW_OK) status = tw_mapping_parse(s->ctx, model, machine, "mapping", s->text, &mapping);
    if (status == TW_OK) status = tw_plan_eval(s->ctx, model, machine, mapping, &plan);
    for (int i = 0; i < tw_context_n_messages(s->ctx); i++) printf("%s\n", tw_context_message(s->ctx, i));
    CHECK_EQ(status, TW_OK);
    return *tw_plan_summary(plan);
}

static void compare(uint64_t seed, bool even)
{
    scene s = {.seed = seed, .ctx = tw_context_new()};
    draw_workload(&s);
    draw_machine(&s);
    for (int level = 0; level < 2; level++) draw_level(&s, level, even);
    const char *name = s.n_loops == 3 ? "matmul" : "conv";
    tw_summary one = eval(&s, "mapping: {%s: {levels: [%s, %s]}}", name);
    tw_summary group = eval(&s, "groups: [{ops: [%s], levels: [%s, %s]}]", name);
    bool same = one.cycles == group.cycles && one.execs == group.execs && one.macs == group.macs &&
                one.instructions == group.instructions && one.energy_fj == group.energy_fj;
    bool less = one.execs == group.execs && one.macs == group.macs && one.instructions >= group.instructions &&
                one.energy_fj >= group.energy_fj;
    if (even ? !same : !less)
        printf("%s\n%s%s\n%s\n%d cycles %d commands %d fJ against %d %d %d\n", s.workload, s.machine, s.level[0],
               s.level[1], (int)one.cycles, (int)one.instructions, (int)one.energy_fj, (int)group.cycles,
               (int)group.instructions, (int)group.energy_fj);
    CHECK(even ? same : less);
    tw_context_free(s.ctx);
}

TEST(a_group_of_one_operator_with_even_tiles_is_that_operator)
{
    uint64_t random = tw_test_seed();
    for (int i = 0; i < 300; i++) compare(tw_random_next(&random), true);
}

TEST(a_group_of_one_operator_with_uneven_tiles_moves_no_more)
{
    uint64_t random = tw_test_seed();
    for (int i = 0; i < 300; i++) compare(tw_random_next(&random), false);
}
