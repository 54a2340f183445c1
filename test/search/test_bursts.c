/* test/search/test_bursts.c - what movers carry block by block, against programs.
 *
 * Sizes of the output's loops are drawn on a small machine with an array, one memory for inputs inside another; then orders, rules, residencies
 * and buffers are drawn many times, and each program is simulated. None ends before the bound of the sizes, or of the mapping. That the bound says something is
 * held by counting how often it is above that of every mover alone, and how near to it the best of the programs comes.
 *
 * And sizes.h: whatever mapping is drawn of a frame that it divides, it is in one of the parts, or takes what all others are said to take. */
#include "search/bursts.h"
#include "search/sizes.h"

#include "plan/evaluate.h"
#include "tw_read.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct scene {
    tw_context *ctx;
    tw_arena *arena;
    tw_evaluator *evaluator;
    const tw_model *model;
    tw_machine machine;
    tw_space space;
    char text[1200];
} scene;

enum { FIGURES = 9 };

/* The machine with these sizes, latencies, rates and counts. */
static void open_machine(scene *s, const char *workload, const int64_t figure[FIGURES])
{
    const tw_machine *machine;
    tw_diag diag = {.muted = true};
    snprintf(
        s->text, sizeof s->text,
        "machine: m\nunit: element\ntiming: async\nreuse: declared\nmemories:\n  - {name: dram, size: unlimited}\n"
        "  - {name: l2, size: %" PRId64 "}\n  - {name: l1, size: %" PRId64 ", holds: inputs}\n"
        "  - {name: sums, size: %" PRId64 ", holds: output}\nengines:\n"
        "  - {name: load, between: [dram, l2], carries: in, cost: {latency: %" PRId64 ", per_cycle: %" PRId64
        "}, pipelined: true}\n"
        "  - {name: feed, between: [l2, l1], carries: in, count: %" PRId64
        ", cost: {latency: 0, per_cycle: %" PRId64 "}, pipelined: true}\n"
        "  - {name: mac, computes: [multiply-add], memory: sums, accumulate: fused, unrolls: parallel, cost: "
        "{array: "
        "[%" PRId64 ", %" PRId64 "]}}\n"
        "  - {name: drain, between: [l2, sums], carries: both, cost: {latency: 0, per_cycle: 2}}\n"
        "  - {name: write, between: [dram, l2], carries: out, cost: {latency: 3, per_cycle: 2}, pipelined: true}\n",
        figure[0], figure[1], figure[2], figure[3], figure[4], figure[5], figure[6], figure[7], figure[8]);
    s->ctx = tw_context_new();
    s->arena = tw_arena_new();
    s->evaluator = tw_evaluator_new(1);
    CHECK_EQ(tw_model_open(s->ctx, workload, &s->model), TW_OK);
    CHECK_EQ(tw_machine_parse(s->ctx, "machine", s->text, &machine), TW_OK);
    s->machine = tw_machine_for(machine, s->model, &s->model->op[0], (tw_fusion){0});
    tw_search_options options = {.space = TW_SPACE_WINDOWS};
    CHECK_EQ(tw_space_of(&(tw_problem){s->model, 0, &s->machine}, &options, s->arena, &diag, &s->space), TW_OK);
    s->space.wants = TW_WANTS_TIME;
    CHECK_EQ(tw_space_measure(&s->space, s->arena), TW_OK);
}

static void open_scene(scene *s, const char *workload, uint64_t *rng)
{
    static const int8_t least[FIGURES] = {20, 10, 4, 0, 1, 1, 1, 1, 1},
                        most[FIGURES] = {120, 60, 40, 1, 2, 2, 4, 4, 3};
    int64_t figure[FIGURES];
    for (int i = 0; i < FIGURES; i++) figure[i] = tw_test_pick(rng, least[i], most[i]);
    open_machine(s, workload, figure);
}

static void close_scene(scene *s)
{
    tw_evaluator_free(s->evaluator);
    tw_arena_free(s->arena);
    tw_context_free(s->ctx);
}

typedef struct walk { /* of the parts that come out of a division, one at random */
    uint64_t *rng;
    tw_part *next;
    int n;
} walk;

static bool take(void *user, tw_part *part)
{
    walk *w = user;
    if (tw_test_pick(w->rng, 1, ++w->n) > 1) {
        free(part);
        return true;
    }
    free(w->next);
    w->next = part;
    return true;
}

/* A mapping of the part, whose buffers are open; NULL: none. */
static tw_part *walk_down(const tw_space *s, const tw_part *from, uint64_t *rng)
{
    size_t size = sizeof *from + (size_t)s->frame[from->frame].n_vars * sizeof from->var[0];
    tw_part *part = malloc(size);
    memcpy(part, from, size);
    for (;;) {
        walk w = {.rng = rng};
        bool divided;
        CHECK_EQ(tw_part_divide(s, part, take, &w, &divided), TW_OK);
        if (!divided) return part;
        free(part);
        part = w.next;
        if (!part) return NULL;
    }
}

/* A frame with one tiled level, the joined one if there is one and the dice say so; sizes of loops of the output are drawn. */
static tw_part *draw_sizes(const tw_space *s, uint64_t *rng)
{
    bool empty;
    int frame = -1, n = 0;
    for (int i = 0; i < s->n_frames; i++)
        if (s->frame[i].n_tiled == 1 && tw_test_pick(rng, 1, ++n) == 1) frame = i;
    tw_part *part = tw_part_of_frame(s, frame, &empty);
    for (int l = 0; l < s->op->n_loops; l++) {
        tw_range *range = &part->var[tw_var_size(s, 0, l)];
        if (s->reductions >> l & 1) continue;
        int32_t size = (int32_t)tw_test_pick(rng, range->lo, tw_test_pick(rng, range->lo, range->hi));
        *range = (tw_range){size, size};
    }
    return part;
}

/* Cycles of the mapping with drawn buffers, fewer and fewer until they fit; INT64_MAX: none do. */
static int64_t simulate(const scene *s, const tw_part *part, uint64_t *rng)
{
    const tw_eval *eval = tw_evaluator_eval(s->evaluator);
    tw_op_map map;
    const bool uneven = tw_test_pick(rng, 0, 1) == 1;
    tw_part_map(&s->space, part, &map);
    for (int64_t most = 24; most > 0; most -= 1 + most / 8) {
        tw_outcome real;
        tw_meter meter = {.limit = 100000};
        int64_t ignored;
        for (int m = 1; m < s->machine.n_memories; m++)
            for (int o = 0; o < s->space.op->n_operands; o++)
                map.level[m - 1].slots[o] = o == tw_op_output(s->space.op)
                                                ? tw_test_pick(rng, 0, 2)
                                                : tw_test_pick(rng, uneven ? 1 : 1 + most / 2, most);
        tw_status status =
            eval->cost(eval->user[0], &(tw_problem){s->model, 0, &s->machine}, &map, &meter, &real, &ignored);
        if (status == TW_OK && !meter.unfinished) return real.cycles;
    }
    return INT64_MAX;
}

/* What all programs of the mapping take at least, by bounds that know all of its sizes; 0: nothing fits. */
static int64_t bound_of(const tw_space *s, const tw_part *leaf)
{
    tw_part_bounds least = {0};
    tw_part_least(s, leaf, &least);
    return least.feasible ? least.cost.cycles : 0;
}

typedef struct tally {
    int programs, by_links, near;
} tally;

static tally check_programs(uint64_t rng, int rounds)
{
    static const char *const spec[] = {
        "matmul:6x12x9,dtype=i8,out_dtype=i8,accumulator=i8",
        "matmul:5x9x6,batch=2,dtype=i8,out_dtype=i8,accumulator=i8",
        "conv:9x3x5,out=7,kernel=1,dtype=i8,out_dtype=i8,accumulator=i8",
        "conv:8x7x5,out=5,kernel=1,stride=2,dtype=i8,out_dtype=i8,accumulator=i8",
        "conv:4x3x5,out=7,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i8",
        "conv:3x7x5,out=5,kernel=3,stride=2,pad=1,dtype=i8,out_dtype=i8,accumulator=i8",
        "dwconv:3x5x5,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i8"};
    tally n = {0};
    for (int i = 0; i < rounds; i++) {
        scene s;
        open_scene(&s, spec[(size_t)i % TW_COUNT(spec)], &rng);
        tw_part *part = draw_sizes(&s.space, &rng);
        tw_part_bounds least = {0};
        int64_t best = INT64_MAX;
        tw_part_least(&s.space, part, &least);
        for (int k = 0; least.feasible && k < 30; k++) {
            tw_part *leaf = walk_down(&s.space, part, &rng);
            for (int again = 0; leaf && again < 2; again++) {
                int64_t cycles = simulate(&s, leaf, &rng);
                n.programs += cycles < INT64_MAX;
                best = tw_min(best, cycles);
                int64_t bound = tw_max(least.cost.cycles, bound_of(&s.space, leaf));
                if (cycles >= bound) continue;
                fprintf(stderr, "bound %" PRId64 ", simulated %" PRId64 "\n%s\non\n%s", bound, cycles,
                        spec[(size_t)i % TW_COUNT(spec)], s.text);
                CHECK(false);
            }
            free(leaf);
        }
        n.by_links += best < INT64_MAX && least.cycles_by == TW_BOUND_LINK;
        n.near += best < INT64_MAX && best * 10 <= least.cost.cycles * 11;
        free(part);
        close_scene(&s);
    }
    return n;
}

TEST(no_program_ends_before_what_its_blocks_need)
{
    tally n = check_programs(tw_test_seed(), tw_test_rounds(1500));
    printf("%d programs, %d by links, %d within a tenth\n", n.programs, n.by_links, n.near);
    CHECK(n.programs > 4 * tw_test_rounds(1500));
    CHECK(n.by_links > 0 && n.near > 0);
}

/* The last tile that comes is one of sums, behind the last input and by the same mover: so little comes after it. */
TEST(what_comes_last_may_be_sums_that_come_back)
{
    static const char workload[] = "matmul:6x12x9,dtype=i8,out_dtype=i8,accumulator=i8";
    static const char text[] =
        "mapping:\n  matmul:\n    levels:\n"
        "      - {at: l2, pass: true, buffers: {ifm: 2, w: 2, ofm: 2}, keep: {ifm: m, w: m, ofm: m}}\n"
        "      - {at: l1, pass: true, buffers: {ifm: 2, w: 3}, keep: {ifm: m, w: m}}\n"
        "      - {at: sums, tiles: {m: 3, n: 6, k: 3}, cut: balanced, order: [k, m, n], buffers: {ofm: 2}, "
        "keep: {ofm: m}, unroll: {columns: n}, accumulate: fused}\n";
    scene s;
    const tw_mapping *mapping;
    open_machine(&s, workload, (const int64_t[FIGURES]){44, 37, 32, 0, 1, 2, 1, 4, 3});
    CHECK_EQ(tw_mapping_parse(s.ctx, s.model, &s.machine, "mapping", text, &mapping), TW_OK);
    const tw_eval *eval = tw_evaluator_eval(s.evaluator);
    tw_outcome real;
    tw_meter meter = {.limit = 100000};
    int64_t ignored;
    CHECK_EQ(eval->cost(eval->user[0], &(tw_problem){s.model, 0, &s.machine}, mapping->op, &meter, &real, &ignored),
             TW_OK);
    for (int i = 0; i < s.space.n_frames; i++) {
        tw_part *part;
        CHECK_EQ(tw_part_of_map(&s.space, i, mapping->op, &part), TW_OK);
        if (!part) continue;
        CHECK(bound_of(&s.space, part) <= real.cycles);
        free(part);
    }
    close_scene(&s);
}

typedef struct listed { /* parts of one size each */
    int n;
    tw_part *part[600];
} listed;

static bool list_part(void *user, tw_part *part)
{
    listed *all = user;
    CHECK(all->n < (int)TW_COUNT(all->part));
    all->part[all->n++] = part;
    return true;
}

/* Whether all sizes of the mapping are in the ranges of the part. */
static bool contains(const tw_space *s, const tw_part *part, const tw_part *leaf)
{
    for (int l = 0; l < s->op->n_loops; l++) {
        tw_range range = part->var[tw_var_size(s, 0, l)], size = leaf->var[tw_var_size(s, 0, l)];
        if (size.lo < range.lo || size.hi > range.hi) return false;
    }
    return true;
}

TEST(of_all_sizes_none_is_left_out)
{
    static const char *const spec[] = {"conv:3x3x5,out=7,kernel=1,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "conv:2x7x7,out=10,kernel=1,dtype=i8,out_dtype=i8,accumulator=i8",
                                       "conv:2x5x5,out=3,kernel=3,pad=1,dtype=i8,out_dtype=i8,accumulator=i8"};
    uint64_t rng = tw_test_seed();
    int n_divided = 0, n_beyond = 0;
    for (int i = 0; i < tw_test_rounds(600); i++) {
        scene s;
        int joined = -1;
        open_scene(&s, spec[(size_t)i % TW_COUNT(spec)], &rng);
        for (int f = 0; f < s.space.n_frames; f++)
            if (s.space.frame[f].joined && s.space.frame[f].n_tiled == 1) joined = f;
        listed all = {0};
        int64_t beyond = INT64_MAX;
        bool empty, divided = false;
        tw_part *part = joined < 0 ? NULL : tw_part_of_frame(&s.space, joined, &empty);
        int64_t limit = tw_test_pick(&rng, 1, 400);
        if (part && !empty)
            CHECK_EQ(tw_sizes_divide(&s.space, part, limit, list_part, &all, &beyond, &divided), TW_OK);
        for (int k = 0; divided && k < 30; k++) {
            tw_part *leaf = walk_down(&s.space, part, &rng);
            bool found = !leaf;
            for (int n = 0; leaf && n < all.n; n++) found |= contains(&s.space, all.part[n], leaf);
            if (!found) CHECK(simulate(&s, leaf, &rng) >= beyond);
            n_beyond += !found;
            free(leaf);
        }
        n_divided += divided;
        for (int n = 0; n < all.n; n++) free(all.part[n]);
        free(part);
        close_scene(&s);
    }
    printf("%d divided, %d beyond\n", n_divided, n_beyond);
    CHECK(n_divided > 0 && n_beyond > 0);
}
