/* test/fuse/test_nested.c - groups whose tiles are of two levels, against trying all of them.
 *
 * Two random operators on a machine with two memories on chip, as one group. All tiles of the outer memory are tried, whole ones included, and all of the inner memory that cut these again;
 * one buffer of everything or two of what comes in and goes out, in each memory; windows that slide along the last cut of a memory, or do not. The bound is never above any
 * of them. The planner lists such groups, too (fuse/ways.h), and puts those together that are the best alone: plans may be worse than the best that was tried, which is printed, and limited.
 *
 *     TW_SEED=n TW_CASES=n    so many graphs; TW_CASE=i only this one
 */
#include "fuse/least.h"
#include "mapping/groups.h"
#include "plan/plan.h"
#include "sim/joint.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4000, L2 = 1, L1 = 2 };

typedef struct trial {
    uint64_t random;
    char machine_text[ROOM], workload[ROOM];
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    tw_arena *arena, *scratch;
    tw_diag diag;
    tw_least least;
    int64_t n, best, best_flat; /* simulated; of all, and of those whose memories have the same tiles */
    bool below;
} trial;

typedef struct tally {
    int64_t n, n_simulated;
    int n_none, n_worse, n_better, n_nested,
        n_pays; /* plans with tiles of two levels; graphs for which they are the best that was tried */
    double most, sum;
} tally;

static int64_t pick(trial *t, int64_t lo, int64_t hi) { return tw_test_pick(&t->random, lo, hi); }

static void draw(trial *t)
{
    int64_t x = pick(t, 6, 9), c = pick(t, 1, 2), mid = pick(t, 1, 3), out = pick(t, 1, 2), taps = pick(t, 2, 3);
    snprintf(t->workload, ROOM,
             "workload: w\nops:\n"
             "  - name: a\n    compute: multiply-add\n    accumulator: i32\n    loops: {oc: %d, ox: %d, ic: %d, "
             "kx: %d}\n    reduce: [ic, kx]\n"
             "    reads: {ifm: {tensor: x, dtype: i8, at: [ic, ox + kx - 1], shape: [%d, %d]}, w: {tensor: wa, "
             "role: weights, dtype: i8, at: [oc, ic, kx]}}\n"
             "    writes: {ofm: {tensor: m, dtype: i8, at: [oc, ox]}}\n"
             "  - name: b\n    compute: multiply-add\n    accumulator: i32\n    loops: {oc: %d, ox: %d, ic: %d, "
             "kx: %d}\n    reduce: [ic, kx]\n"
             "    reads: {ifm: {tensor: m, dtype: i8, at: [ic, ox + kx - 1], shape: [%d, %d]}, w: {tensor: wb, "
             "role: weights, dtype: i8, at: [oc, ic, kx]}}\n"
             "    writes: {ofm: {tensor: y, dtype: i8, at: [oc, ox]}}\n",
             (int)mid, (int)x, (int)c, (int)taps, (int)c, (int)x, (int)out, (int)x, (int)mid, (int)taps, (int)mid,
             (int)x);
    int64_t weights = taps * mid * (c + out), units = weights + x * (c + mid + out);
    snprintf(t->machine_text, ROOM,
             "machine: m\nunit: byte\ntiming: async\nreuse: resident\nmemories:\n  - {name: dram, size: unlimited, "
             "energy: 20 pJ}\n"
             "  - {name: l2, size: %d, energy: 3 pJ}\n  - {name: l1, size: %d, energy: 1 pJ}\nengines:\n"
             "  - {name: load, between: [dram, l2], carries: in, cost: {latency: %d, per_cycle: 1}}\n"
             "  - {name: store, between: [dram, l2], carries: out, cost: {latency: %d, per_cycle: 1}}\n"
             "  - {name: fill, between: [l2, l1], carries: in, cost: {latency: %d, per_cycle: 4}}\n"
             "  - {name: drain, between: [l2, l1], carries: out, cost: {latency: %d, per_cycle: 4}}\n"
             "  - {name: mac, computes: multiply-add, memory: l1, cost: {latency: %d, per_cycle: %d}}\n",
             (int)pick(t, units / 2, 2 * units), (int)pick(t, weights + 2 * (c + mid), units), (int)pick(t, 2, 20),
             (int)pick(t, 2, 20), (int)pick(t, 0, 3), (int)pick(t, 0, 3), (int)pick(t, 0, 2), (int)pick(t, 1, 8));
}

/* ---- all groups ---- */

static void see(trial *t, const tw_group_map *group, bool nested)
{
    tw_arena_mark mark = tw_arena_save(t->arena), scratch = tw_arena_save(t->scratch);
    const tw_work work = {t->arena, t->scratch, &t->diag};
    const tw_mapping mapping = {.n_groups = 1, .group = group};
    const tw_joint *joint;
    tw_summary sum;
    tw_status status = tw_mapping_check(&mapping, t->model, t->machine, &t->diag);
    if (status == TW_OK) status = tw_joint_build(t->model, t->machine->platform, &mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, NULL, &work, &sum);
    CHECK(status != TW_ERR_NOMEM);
    if (status == TW_OK) {
        t->n++;
        t->below |= t->least.engine >= 0 && sum.cycles < t->least.cycles;
        if (t->best == 0 || sum.cycles < t->best) t->best = sum.cycles;
        if (!nested && (t->best_flat == 0 || sum.cycles < t->best_flat)) t->best_flat = sum.cycles;
    }
    tw_arena_rewind(t->arena, mark);
    tw_arena_rewind(t->scratch, scratch);
}

static int tensor_named(const trial *t, const char *name)
{
    int i = 0;
    while (strcmp(t->model->tensor[i].name, name) != 0) i++;
    return i;
}

/* Buffers and windows: bit 0 and 1 two buffers in l2 and l1, bit 2 and 3 what is read slides there, bit 4 what is made inside does, too. */
static void try_holds(trial *t, tw_group_map *group, int n_outer, unsigned code)
{
    tw_hold hold[5];
    int n = 0, x = tensor_named(t, "x"), m = tensor_named(t, "m"), y = tensor_named(t, "y");
    for (int level = 0; level < 2; level++) {
        int depth = level == 0 ? n_outer : group->n_cuts, memory = level == 0 ? L2 : L1;
        int slide = depth > 0 ? 1 + group->cut[depth - 1].loop : 0;
        int64_t slots = code >> level & 1 ? 2 : 1;
        if ((code >> (2 + level) & 1) && slide == 0) return;
        hold[n++] = (tw_hold){.tensor = x,
                              .memory = memory,
                              .depth = -1,
                              .slots = slots,
                              .slide = code >> (2 + level) & 1 ? slide : 0};
        hold[n++] = (tw_hold){.tensor = y, .memory = memory, .depth = -1, .slots = slots};
        if (level == 1)
            hold[n++] = (tw_hold){
                .tensor = m, .memory = memory, .depth = -1, .slots = 1, .slide = code >> 4 & 1 ? slide : 0};
    }
    group->hold = hold;
    group->n_holds = n;
    see(t, group, n_outer < group->n_cuts);
}

static void try_group(trial *t, const tw_nest_cut *cut, int n_outer, int n_cuts)
{
    const tw_group_op op[] = {{.op = 0}, {.op = 1}};
    const tw_group_level level[] = {{.memory = L2, .depth = n_outer}, {.memory = L1, .depth = n_cuts}};
    tw_group_map group = {
        .name = "g", .n_ops = 2, .op = op, .n_cuts = n_cuts, .cut = cut, .n_levels = 2, .level = level};
    for (unsigned code = 0; code < 32; code++) try_holds(t, &group, n_outer, code);
}

/* Tiles of l2 along positions, each of them cut again along positions, channels, or both. */
static void try_all(trial *t)
{
    const tw_op *b = &t->model->op[1];
    int64_t x = b->loop[1].extent, oc = b->loop[0].extent;
    for (int64_t outer = 1; outer <= x; outer++)
        for (int64_t inner = 1; inner <= outer; inner++)
            for (int64_t channels = 1; channels <= oc; channels++) {
                tw_nest_cut cut[3];
                int n_outer = 0, n;
                if (outer < x) cut[n_outer++] = (tw_nest_cut){.loop = 1, .size = outer};
                n = n_outer;
                if (inner < outer) cut[n++] = (tw_nest_cut){.level = 1, .loop = 1, .size = inner};
                if (channels < oc) cut[n++] = (tw_nest_cut){.level = 1, .loop = 0, .size = channels};
                try_group(t, cut, n_outer, n);
            }
}

/* ---- against the plan ---- */

static bool has_two_levels(const tw_plan *plan)
{
    bool any = false;
    for (int g = 0; plan->joint && g < plan->mapping->n_groups; g++) {
        const tw_group_map *group = &plan->mapping->group[g];
        for (int p = 0; p < group->n_cuts; p++) any |= group->cut[p].level > 0;
    }
    return any;
}

static void show(const trial *t, int number, const char *what, int64_t plan)
{
    fprintf(stderr,
            "---- %s: TW_SEED=%" PRIu64 " TW_CASE=%d\n%s%sbound %" PRId64 ", tried %" PRId64 ", plan %" PRId64 "\n",
            what, tw_test_seed(), number, t->machine_text, t->workload, t->least.cycles, t->best, plan);
}

static void judge(trial *t, int number, const tw_plan *plan, tally *n)
{
    const tw_verdict *verdict;
    for (int i = 0; i < (plan->joint ? 1 : t->model->n_ops); i++) {
        CHECK_EQ(tw_plan_verify(t->ctx, plan, i, NULL, &verdict), TW_OK);
        CHECK(verdict->checked && verdict->equal);
    }
    CHECK(t->least.engine < 0 || plan->sum.cycles >= t->least.cycles);
    n->n_nested += has_two_levels(plan);
    n->n_better += t->n == 0 || plan->sum.cycles < t->best;
    if (t->n == 0 || plan->sum.cycles <= t->best) return;
    double worse = (double)plan->sum.cycles / (double)t->best - 1;
    n->n_worse++;
    n->sum += worse;
    if (worse > n->most) n->most = worse;
    if (worse > 0.01) show(t, number, "worse", plan->sum.cycles);
}

static void try_case(uint64_t random, int number, tally *n)
{
    trial t = {.random = random,
               .diag = {.muted = true},
               .ctx = tw_context_new(),
               .arena = tw_arena_new(),
               .scratch = tw_arena_new()};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    const tw_plan *plan;
    options.groups = true;
    options.budget = 20000;
    options.n_threads = 1 + number % 2;
    draw(&t);
    CHECK_EQ(tw_machine_parse(t.ctx, "m", t.machine_text, &t.machine), TW_OK);
    CHECK_EQ(tw_model_parse(t.ctx, "w", t.workload, &t.model), TW_OK);
    CHECK_EQ(tw_least_of(t.model, t.machine, t.scratch, &t.least), TW_OK);
    try_all(&t);
    if (t.below) show(&t, number, "below the bound", 0);
    CHECK(!t.below);
    tw_status status = tw_plan_search(t.ctx, t.model, t.machine, &options, &plan);
    CHECK(status == TW_OK || (status == TW_INFEASIBLE && t.n == 0));
    n->n++;
    n->n_simulated += t.n;
    n->n_none += status != TW_OK;
    n->n_pays += t.n > 0 && (t.best_flat == 0 || t.best < t.best_flat);
    if (status == TW_OK) judge(&t, number, plan, n);
    tw_context_free(t.ctx);
    tw_arena_free(t.arena);
    tw_arena_free(t.scratch);
}

TEST(no_bound_is_above_any_group_with_tiles_of_two_levels_and_plans_are_near_the_best)
{
    const char *asked = getenv("TW_CASES"), *only = getenv("TW_CASE");
    int n_cases = asked ? atoi(asked) : tw_test_rounds(20), first = only ? atoi(only) : 0;
    uint64_t seed = tw_test_seed();
    tally n = {0};
    for (int i = first; i < (only ? first + 1 : n_cases); i++)
        try_case(seed + (uint64_t)i * UINT64_C(0x632be59bd9b4e019), i, &n);
    print_message("%" PRId64 " graphs, %" PRId64
                  " programs; tiles of two levels are the best that was tried of %d, and in %d plans\n",
                  n.n, n.n_simulated, n.n_pays, n.n_nested);
    print_message(
        "plans: %d better than what was tried, %d worse, by %.1f %% on average and %.1f %% at most; %d have none\n",
        n.n_better, n.n_worse, n.n_worse ? 100 * n.sum / n.n_worse : 0, 100 * n.most, n.n_none);
    CHECK(n.most < 0.03);
}
