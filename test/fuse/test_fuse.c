/* test/fuse/test_fuse.c - random workloads on random machines: groups are never worse than layers, are right, and keep their bound. */
#include "fuse/fuse.h"
#include "fuse/least.h"
#include "plan/ends.h"
#include "plan/fused.h"
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4000 };

typedef struct draw {
    uint64_t random;
    char machine[ROOM], workload[ROOM];
} draw;

static int64_t pick(draw *d, int64_t lo, int64_t hi) { return tw_test_pick(&d->random, lo, hi); }
static bool toss(draw *d, int64_t n) { return pick(d, 1, n) == 1; }

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

static void draw_machine(draw *d)
{
    bool middle = toss(d, 3);
    add(d->machine,
        "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited, energy: 20 pJ}\n");
    if (middle) add(d->machine, "  - {name: l2, size: %d, energy: 3 pJ}\n", (int)pick(d, 2000, 20000));
    add(d->machine, "  - {name: l1, size: %d, align: %d, energy: 1 pJ}\nengines:\n", (int)pick(d, 600, 6000),
        (int)(1 << pick(d, 0, 3)));
    for (int level = 0; level < 1 + middle; level++) {
        const char *ends = !middle ? "dram, l1" : level == 0 ? "dram, l2" : "l2, l1";
        const char *cost = toss(d, 3) ? "setup: 5, per_row: 1, beat: 8, beats: rows" : "latency: 6, per_cycle: 4";
        if (toss(d, 2)) {
            add(d->machine, "  - {name: in%d, between: [%s], carries: in, cost: {%s}}\n", level, ends, cost);
            add(d->machine, "  - {name: out%d, between: [%s], carries: out, cost: {%s}}\n", level, ends, cost);
        } else {
            add(d->machine, "  - {name: dma%d, between: [%s], %scost: {%s}}\n", level, ends,
                toss(d, 2) ? "prefetch: all, " : "", cost);
        }
    }
    add(d->machine, "  - {name: mac, computes: [multiply-add, add, max, map], memory: l1, energy: 1 pJ%s, cost: {",
        toss(d, 4) ? ", tile_multiple: 2" : "");
    if (toss(d, 2))
        add(d->machine, "array: [%d, %d], latency: %d}}\n", (int)pick(d, 1, 8), (int)pick(d, 1, 8),
            (int)pick(d, 0, 9));
    else
        add(d->machine, "latency: %d, per_cycle: %d}}\n", (int)pick(d, 0, 9), (int)pick(d, 1, 16));
}

/* A chain of convolutions and poolings, with an add of what two operators made now and then. */
static void draw_workload(draw *d)
{
    int n = (int)pick(d, 2, 5), c = (int)pick(d, 1, 4), side = (int)pick(d, 6, 12), before = -1;
    add(d->workload, "workload: w\nops:\n");
    for (int i = 0; i < n; i++) {
        int out = (int)pick(d, 1, 4), kernel = (int)(1 + 2 * pick(d, 0, 1));
        if (before >= 0 && toss(d, 3)) {
            add(d->workload,
                "  - {name: o%d, op: add, shape: [%d, %d, %d], dtype: i8, out_dtype: i8, inputs: {ifm: t%d, w: "
                "t%d}, "
                "output: t%d}\n",
                i, c, side, side, i, before, i + 1);
            before = -1;
            continue;
        }
        if (toss(d, 5) && side >= 6) {
            add(d->workload,
                "  - {name: o%d, op: pool, shape: [%d, %d, %d], kernel: 2, stride: 2, dtype: i8, inputs: {ifm: "
                "t%d}, "
                "output: t%d}\n",
                i, c, side, side, i, i + 1);
            side /= 2;
            before = -1;
            continue;
        }
        before = out == c ? i : -1;
        add(d->workload,
            "  - {name: o%d, op: conv, shape: [%d, %d, %d], out: %d, kernel: %d, pad: %d, dtype: i8, out_dtype: "
            "i8, "
            "accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
            i, c, side, side, out, kernel, kernel / 2, i, i + 1);
        c = out;
    }
}

static tw_status plan_of(tw_context *ctx, const tw_model *model, const tw_machine *machine, bool layers,
                         tw_measure measure, int n_threads, const tw_plan **out)
{
    const tw_objective objective = {.measure = measure};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.objective = &objective;
    options.n_objectives = 1;
    options.groups = !layers;
    options.budget = 20000;
    options.n_threads = n_threads;
    return tw_plan_search(ctx, model, machine, &options, out);
}

static double value_of(const tw_plan *plan, tw_measure measure)
{
    return measure == TW_ENERGY ? (double)plan->sum.energy_fj : (double)plan->sum.cycles;
}

/* The mapping of the plan, written and read again, takes as long. */
static bool reads_back(tw_context *ctx, const tw_plan *plan)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    const tw_mapping *mapping;
    const tw_plan *again;
    CHECK(f != NULL);
    CHECK_EQ(tw_plan_print_mapping(ctx, plan, f), TW_OK);
    fclose(f);
    bool good = tw_mapping_parse(ctx, plan->model, plan->machine, "mapping", text, &mapping) == TW_OK &&
                tw_plan_eval(ctx, plan->model, plan->machine, mapping, &again) == TW_OK &&
                again->sum.cycles == plan->sum.cycles && again->sum.energy_fj == plan->sum.energy_fj;
    if (!good) print_message("%s\n%s\n", tw_context_message(ctx, 0), text);
    free(text);
    return good;
}

/* Whether groups were found; everything about them is checked. */
static bool check(uint64_t seed)
{
    draw d = {.random = seed};
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *layers, *plan;
    draw_machine(&d);
    draw_workload(&d);
    tw_measure measure = toss(&d, 4) ? TW_ENERGY : TW_CYCLES;
    CHECK_EQ(tw_machine_parse(ctx, "m.yaml", d.machine, &machine), TW_OK);
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", d.workload, &model), TW_OK);
    bool any = plan_of(ctx, model, machine, true, measure, 1, &layers) == TW_OK, grouped = false;
    if (any) {
        tw_least least = {0};
        tw_arena *scratch = tw_arena_new();
        const tw_verdict *verdict;
        CHECK_EQ(plan_of(ctx, model, machine, false, measure, 1, &plan), TW_OK);
        CHECK_EQ(tw_least_of(model, machine, scratch, &least), TW_OK);
        grouped = plan->joint != NULL;
        bool good = value_of(plan, measure) <= value_of(layers, measure) && least.cycles <= plan->sum.cycles &&
                    least.cycles <= layers->sum.cycles;
        if (good && grouped)
            good = tw_plan_verify(ctx, plan, 0, NULL, &verdict) == TW_OK && verdict->checked && verdict->equal &&
                   reads_back(ctx, plan);
        if (!good)
            print_message("seed %llu\n%s\n%s\nlayers %g, groups %g, least %lld\n", (unsigned long long)seed,
                          d.machine, d.workload, value_of(layers, measure), value_of(plan, measure),
                          (long long)least.cycles);
        CHECK(good);
        tw_arena_free(scratch);
    }
    tw_context_free(ctx);
    return grouped;
}

TEST(groups_are_right_and_never_worse_than_layers)
{
    uint64_t random = tw_test_seed();
    int n_grouped = 0, n = tw_test_rounds(120);
    for (int i = 0; i < n; i++) n_grouped += check((uint64_t)tw_test_pick(&random, 1, INT64_MAX / 2));
    print_message("%d of %d in groups\n", n_grouped, n);
    CHECK(n_grouped > n / 6);
}

static double cycles_alone(const void *user, double cycles, double energy_fj)
{
    (void)user;
    (void)energy_fj;
    return cycles;
}

/* The cycles of the groups that are found, 0: none are. */
static int64_t cycles_found(const tw_model *model, const tw_machine *machine, bool no_slides)
{
    const tw_fuse_request request = {
        .model = model, .machine = machine, .by = {cycles_alone, NULL}, .no_slides = no_slides, .n_threads = 1};
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    tw_diag diag = {.muted = true};
    const tw_work work = {arena, scratch, &diag};
    tw_fused fused;
    tw_status status = tw_fuse_find(&request, &work, &fused);
    CHECK(status == TW_OK || status == TW_INFEASIBLE);
    tw_arena_free(arena);
    tw_arena_free(scratch);
    return status == TW_OK ? fused.cycles : 0;
}

/* Operators of the group that read the tensor. */
static bool reads(const tw_model *model, const tw_group_map *group, int tensor)
{
    for (int k = 0; k < group->n_ops; k++)
        for (int o = 0; o < tw_op_output(&model->op[group->op[k].op]); o++)
            if (model->op[group->op[k].op].operand[o].tensor == tensor) return true;
    return false;
}

/* Resident tensors that several groups read. */
static int n_skipping(const tw_model *model, const tw_mapping *mapping)
{
    int n = 0;
    for (int r = 0; r < mapping->n_residents; r++) {
        int readers = 0;
        for (int g = 0; g < mapping->n_groups; g++)
            readers += reads(model, &mapping->group[g], mapping->resident[r].tensor);
        n += readers > 1;
    }
    return n;
}

/* Softmax in four steps between two products: rows are whole, and nothing of the scores leaves the chip. */
TEST(attention_is_one_group_over_rows)
{
    static const char
        on[] = "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n"
               "  - {name: l1, size: 12 KiB}\nengines:\n"
               "  - {name: dma, between: [dram, l1], prefetch: all, cost: {latency: 0, per_cycle: 2}}\n"
               "  - {name: mac, computes: [multiply-add, add, max, map], memory: l1, cost: {array: [8, 8]}}\n",
        asked[] =
            "workload: w\nops:\n"
            "  - {name: score, op: matmul, shape: [40, 40, 8], dtype: f32, inputs: {ifm: q, w: k}, output: s}\n"
            "  - {name: top, compute: max, loops: {i: 40, j: 40}, reduce: [j], reads: {s: {tensor: s, dtype: "
            "f32, at: [i, j]}}, writes: {m: {tensor: m, dtype: f32, at: [i]}}}\n"
            "  - {name: power, compute: map, loops: {i: 40, j: 40}, value: \"exp(s - m)\", reads: {s: {tensor: "
            "s, dtype: f32, at: [i, j]}, m: {tensor: m, dtype: f32, at: [i]}}, writes: {e: {tensor: e, dtype: "
            "f32, at: [i, j]}}}\n"
            "  - {name: total, compute: add, loops: {i: 40, j: 40}, reduce: [j], reads: {e: {tensor: e, dtype: "
            "f32, at: [i, j]}}, writes: {z: {tensor: z, dtype: f32, at: [i]}}}\n"
            "  - {name: share, compute: map, loops: {i: 40, j: 40}, value: \"e / z\", reads: {e: {tensor: e, "
            "dtype: f32, at: [i, j]}, z: {tensor: z, dtype: f32, at: [i]}}, writes: {p: {tensor: p, dtype: f32, "
            "at: [i, j]}}}\n"
            "  - {name: context, op: matmul, shape: [40, 8, 40], dtype: f32, inputs: {ifm: p, w: v}, output: "
            "o}\n";
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    const tw_verdict *verdict;
    CHECK_EQ(tw_machine_parse(ctx, "m.yaml", on, &machine), TW_OK);
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", asked, &model), TW_OK);
    CHECK_EQ(plan_of(ctx, model, machine, false, TW_CYCLES, 1, &plan), TW_OK);
    CHECK(plan->joint != NULL);
    CHECK_EQ(plan->mapping->n_groups, 1);
    CHECK(plan->mapping->group[0].n_cuts > 0);
    CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
    CHECK(verdict->checked && verdict->equal);
    tw_context_free(ctx);
}

/* The weights of a block do not fit at once, what comes into it does: it is still there when it is added. */
TEST(what_a_residual_add_reads_stays_while_other_groups_run)
{
    static const char on[] =
        "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n"
        "  - {name: l1, size: 56 KiB}\nengines:\n"
        "  - {name: dma, between: [dram, l1], prefetch: all, cost: {latency: 0, per_cycle: 2}}\n"
        "  - {name: mac, computes: [multiply-add, add, max, map], memory: l1, cost: {array: [32, "
        "8]}}\n";
    draw d = {.random = 1};
    tw_context *ctx = tw_context_new();
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    const tw_verdict *verdict;
    tw_fused fused;
    tw_diag diag = {.muted = true};
    const tw_work work = {arena, scratch, &diag};
    add(d.workload, "workload: w\nops:\n");
    for (int i = 0; i < 6; i++)
        add(d.workload,
            i % 3 == 2
                ? "  - {name: o%d, op: add, shape: [64, 8, 8], dtype: i8, out_dtype: i8, inputs: {ifm: t%d, w: "
                  "t%d}, output: t%d}\n"
                : "  - {name: o%d, op: conv, shape: [64, 8, 8], out: 64, kernel: 3, pad: 1, dtype: i8, "
                  "out_dtype: i8, accumulator: i32, inputs: {ifm: t%d, w: w%d}, output: t%d}\n",
            i, i, i % 3 == 2 ? i - 2 : i, i + 1);
    CHECK_EQ(tw_machine_parse(ctx, "m.yaml", on, &machine), TW_OK);
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", d.workload, &model), TW_OK);
    const tw_fuse_request request = {
        .model = model, .machine = machine, .by = {cycles_alone, NULL}, .n_threads = 1};
    CHECK_EQ(tw_fuse_find(&request, &work, &fused), TW_OK);
    CHECK(n_skipping(model, &fused.mapping) > 0);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, &fused.mapping, &plan), TW_OK);
    CHECK_EQ(plan->sum.cycles, fused.cycles);
    CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
    CHECK(verdict->checked && verdict->equal);
    tw_arena_free(arena);
    tw_arena_free(scratch);
    tw_context_free(ctx);
}

TEST(windows_that_may_slide_are_never_slower)
{
    uint64_t random = tw_test_seed();
    int n_faster = 0;
    for (int i = 0; i < 60; i++) {
        draw d = {.random = (uint64_t)tw_test_pick(&random, 1, INT64_MAX / 2)};
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        draw_machine(&d);
        draw_workload(&d);
        CHECK_EQ(tw_machine_parse(ctx, "m.yaml", d.machine, &machine), TW_OK);
        CHECK_EQ(tw_model_parse(ctx, "w.yaml", d.workload, &model), TW_OK);
        int64_t slide = cycles_found(model, machine, false), again = cycles_found(model, machine, true);
        CHECK(again == 0 || (slide > 0 && slide <= again));
        n_faster += slide > 0 && (again == 0 || slide < again);
        tw_context_free(ctx);
    }
    print_message("%d of 60 are faster\n", n_faster);
    CHECK(n_faster > 10);
}

/* Three convolutions in 3 KiB, on an array of so many rows and columns behind so many bytes a cycle. */
typedef struct trade {
    tw_context *ctx;
    tw_arena *arena, *scratch;
    const tw_model *model;
    const tw_machine *machine;
} trade;

static trade trade_of(int side, int bytes)
{
    trade t = {.ctx = tw_context_new(), .arena = tw_arena_new(), .scratch = tw_arena_new()};
    draw d = {.random = 1};
    add(d.machine,
        "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited, energy: 20 pJ}\n"
        "  - {name: l1, size: 3 KiB, energy: 1 pJ}\nengines:\n"
        "  - {name: dma, between: [dram, l1], prefetch: all, cost: {latency: 0, per_cycle: %d}}\n"
        "  - {name: mac, computes: multiply-add, memory: l1, energy: 1 pJ, cost: {array: [%d, %d]}}\n",
        bytes, side, side);
    add(d.workload, "workload: w\nops:\n");
    for (int i = 0; i < 3; i++)
        add(d.workload,
            "  - {name: o%d, op: conv, shape: [8, 14, 14], out: 8, kernel: 3, pad: 1, dtype: i8, out_dtype: i8, "
            "accumulator: i32, inputs: {ifm: t%d}, output: t%d}\n",
            i, i, i + 1);
    CHECK_EQ(tw_machine_parse(t.ctx, "m.yaml", d.machine, &t.machine), TW_OK);
    CHECK_EQ(tw_model_parse(t.ctx, "w.yaml", d.workload, &t.model), TW_OK);
    return t;
}

static void end_trade(trade *t)
{
    tw_arena_free(t->arena);
    tw_arena_free(t->scratch);
    tw_context_free(t->ctx);
}

/* Groups whose halos can be computed again, but not kept. */
static const tw_plan *without_slides(trade *t)
{
    tw_fused *fused;
    tw_diag diag = {.muted = true};
    const tw_work work = {t->arena, t->scratch, &diag};
    const tw_fuse_request request = {
        .model = t->model, .machine = t->machine, .by = {cycles_alone, NULL}, .no_slides = true, .n_threads = 1};
    const tw_plan *plan;
    fused = TW_NEW(t->arena, tw_fused, 1);
    CHECK(fused != NULL);
    CHECK_EQ(tw_fuse_find(&request, &work, fused), TW_OK);
    CHECK_EQ(tw_plan_eval(t->ctx, t->model, t->machine, &fused->mapping, &plan), TW_OK);
    CHECK_EQ(plan->sum.cycles, fused->cycles);
    return plan;
}

static int64_t points_of(const tw_model *model)
{
    int64_t sum = 0;
    for (int i = 0; i < model->n_ops; i++) sum += tw_op_points(&model->op[i]);
    return sum;
}

/* Where moving is dear halos are computed again, where computing is they are not, by the same search of the same model in the same
 * memory; and the groups of the one machine are slower on the other than what was found there. */
TEST(halos_are_computed_again_only_where_compute_is_cheap)
{
    trade slow = trade_of(16, 1), scarce = trade_of(2, 64);
    const tw_plan *again = without_slides(&slow), *once = without_slides(&scarce), *wrong;
    CHECK(again->sum.macs > points_of(slow.model));
    CHECK(again->mapping->n_groups < 3);
    CHECK_EQ(once->sum.macs, points_of(scarce.model));
    CHECK_EQ(tw_plan_eval(scarce.ctx, scarce.model, scarce.machine, again->mapping, &wrong), TW_OK);
    CHECK(wrong->sum.cycles > once->sum.cycles);
    CHECK(wrong->sum.macs == again->sum.macs);
    end_trade(&slow);
    end_trade(&scarce);
}

/* With all that a plan may do, no point is computed twice where compute is scarce, whatever is kept on chip; and it says why groups end. */
TEST(a_plan_computes_no_point_twice_where_compute_is_scarce)
{
    tw_test_is_long();
    trade t = trade_of(2, 64);
    const tw_plan *layers, *plan;
    const tw_verdict *verdict;
    CHECK_EQ(plan_of(t.ctx, t.model, t.machine, true, TW_CYCLES, 1, &layers), TW_OK);
    CHECK_EQ(plan_of(t.ctx, t.model, t.machine, false, TW_CYCLES, 1, &plan), TW_OK);
    CHECK(plan->sum.cycles <= layers->sum.cycles);
    CHECK(plan->sum.macs <= points_of(t.model));
    CHECK(plan->joint != NULL);
    for (int g = 0; g < plan->mapping->n_groups; g++) {
        tw_group_facts facts = tw_plan_group_facts(plan, g);
        CHECK(facts.points <= facts.points_once);
        CHECK((plan->joint->end[g].kind == TW_ENDS_LAST) == (g + 1 == plan->mapping->n_groups));
        CHECK(plan->joint->end[g].kind != TW_ENDS_COST || plan->joint->end[g].joined > 0);
    }
    CHECK_EQ(tw_plan_verify(t.ctx, plan, 0, NULL, &verdict), TW_OK);
    CHECK(verdict->checked && verdict->equal);
    end_trade(&t);
}

/* `latency+1%,energy`, which the command asks for by default: groups that are hardly faster do not take many times the energy for it. */
TEST(few_cycles_are_not_worth_much_energy)
{
    const tw_summary given = {.cycles = 1000, .energy_fj = 1000};
    const tw_fused hardly = {.cycles = 995, .energy_fj = 1001}, thrifty = {.cycles = 995, .energy_fj = 999},
                   faster = {.cycles = 980, .energy_fj = 9000}, slower = {.cycles = 1001, .energy_fj = 1};
    const tw_fused_scale tolerant = {.measure = TW_CYCLES, .cycles = 1000, .energy_fj = 1000, .within = 0.01},
                         strict = {.measure = TW_CYCLES, .cycles = 1000, .energy_fj = 1000};
    CHECK(!tw_fused_is_better(&tolerant, &hardly, &given) && tw_fused_is_better(&strict, &hardly, &given));
    CHECK(tw_fused_is_better(&tolerant, &thrifty, &given) && tw_fused_is_better(&tolerant, &faster, &given));
    CHECK(!tw_fused_is_better(&tolerant, &slower, &given));
    tw_test_is_long();
    static const tw_objective both[] = {{TW_CYCLES, NULL}, {TW_ENERGY, NULL}};
    static const double within[] = {0.01, 0};
    trade t = trade_of(2, 64);
    const tw_plan *fastest, *plan, *layers;
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.objective = both;
    options.within = within;
    options.n_objectives = 2;
    options.groups = true;
    options.budget = 20000;
    CHECK_EQ(plan_of(t.ctx, t.model, t.machine, false, TW_CYCLES, 1, &fastest), TW_OK);
    CHECK_EQ(plan_of(t.ctx, t.model, t.machine, true, TW_CYCLES, 1, &layers), TW_OK);
    CHECK_EQ(tw_plan_search(t.ctx, t.model, t.machine, &options, &plan), TW_OK);
    CHECK((double)plan->sum.cycles <= 1.02 * (double)fastest->sum.cycles); /* neither is proven */
    CHECK(plan->sum.cycles <= layers->sum.cycles);
    CHECK(plan->sum.energy_fj <= layers->sum.energy_fj ||
          (double)layers->sum.cycles > 1.01 * (double)plan->sum.cycles);
    end_trade(&t);
}

/* The plan as it is written for so many threads. */
static tw_text written(const draw *d, int n_threads)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    tw_text text = {0};
    CHECK_EQ(tw_machine_parse(ctx, "m.yaml", d->machine, &machine), TW_OK);
    CHECK_EQ(tw_model_parse(ctx, "w.yaml", d->workload, &model), TW_OK);
    if (plan_of(ctx, model, machine, false, TW_CYCLES, n_threads, &plan) == TW_OK) {
        tw_mapping_print(plan->mapping, model, machine, &text);
        tw_text_printf(&text, "%lld cycles\n", (long long)plan->sum.cycles);
    }
    tw_context_free(ctx);
    return text;
}

/* With pthread_create behind it: this one is for the build that watches threads, too. */
TEST(any_number_of_threads_finds_the_same_groups)
{
    uint64_t random = tw_test_seed();
    for (int i = tw_test_rounds(24); i > 0; i--) {
        draw d = {.random = (uint64_t)tw_test_pick(&random, 1, INT64_MAX / 2)};
        draw_machine(&d);
        draw_workload(&d);
        tw_text one = written(&d, 1), three = written(&d, 3);
        CHECK_STR(three.bytes, one.bytes);
        tw_text_release(&one);
        tw_text_release(&three);
    }
}

/* Programs were tried in one arena for what lasts and what does not, and the builder read what it had rewound. */
TEST(what_shares_addresses_is_tried_in_memory_of_its_own) { CHECK(check(UINT64_C(4181467377463739154))); }
