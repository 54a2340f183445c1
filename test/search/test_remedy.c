/* test/search/test_remedy.c - what would help, against searches on machine files changed by hand. */
#include "async_random.h"
#include "brute_random.h"
#include "tw_read.h"
#include "tw_test.h"

#include "advise/remedy.h"
#include "mapping/limits.h"
#include "plan/plan.h"
#include "report/text/remedy.h"

static const char lockstep[] =
    "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: mid, size: 90}, "
    "{name: buf, size: 37, align: 4}], "
    "engines: [{name: dma, between: [out, mid], channels: unlimited, cost: {constant: 5}}, "
    "{name: move, between: [mid, buf], channels: 1, cost: {latency: 3, per_cycle: 2}}, "
    "{name: mac, computes: multiply-add, on: buf, cost: {constant: 12}}, "
    "{name: add, computes: sum, on: buf, cost: {step: 4, per_step: 2}}]}";

static const char async[] =
    "{machine: m, unit: byte, timing: async, memories: [{name: dram, size: unlimited, energy: 3 pJ}, "
    "{name: l1, size: 14, holds: inputs, energy: 1 pJ}, {name: acc, size: 20, holds: output}], "
    "engines: [{name: dma, between: [dram, l1], carries: in, count: 2, cost: {latency: 9, per_cycle: 3}}, "
    "{name: drain, between: [dram, acc], cost: {constant: 4, busy: 2}}, "
    "{name: mac, computes: multiply-add, on: acc, energy: 1 pJ, cost: {latency: 1, per_cycle: 8}}]}";

typedef struct edit { /* a change, and what it is in the machine file */
    tw_change_kind kind;
    const char *at, *text, *from, *to;
} edit;

static const edit lockstep_edit[] = {
    {TW_MORE_MEMORY, "mid", "twice as large: 180 elements", "size: 90", "size: 180"},
    {TW_MORE_MEMORY, "buf", "twice as large: 74 elements", "size: 37", "size: 74"},
    {TW_MORE_BANDWIDTH, "dma", "half the time: 2 cycles", "constant: 5", "constant: 2"},
    {TW_MORE_BANDWIDTH, "move", "twice as fast: 4 elements per cycle", "per_cycle: 2", "per_cycle: 4"},
    {TW_MORE_CHANNELS, "move", "unlimited channels, not 1", "channels: 1", "channels: unlimited"},
    {TW_MORE_BANDWIDTH, "mac", "half the time: 6 cycles", "constant: 12", "constant: 6"},
    {TW_MORE_BANDWIDTH, "add", "twice as fast: 8 sums per step", "step: 4", "step: 8"},
};
static const edit async_edit[] = {
    {TW_MORE_MEMORY, "l1", "twice as large: 28 bytes", "size: 14", "size: 28"},
    {TW_MORE_MEMORY, "acc", "twice as large: 40 bytes", "size: 20", "size: 40"},
    {TW_MORE_BANDWIDTH, "dma", "twice as fast: 6 bytes per cycle", "per_cycle: 3", "per_cycle: 6"},
    {TW_MORE_CHANNELS, "dma", "one more: 3 take turns", "count: 2", "count: 3"},
    {TW_MORE_BANDWIDTH, "drain", "half the time: 2 cycles", "constant: 4, busy: 2", "constant: 2, busy: 1"},
    {TW_MORE_CHANNELS, "drain", "one more: 2 take turns", "name: drain", "name: drain, count: 2"},
    {TW_MORE_BANDWIDTH, "mac", "twice as fast: 16 points per cycle", "per_cycle: 8", "per_cycle: 16"},
};
static const char array[] =
    "{machine: m, unit: byte, timing: async, memories: [{name: dram, size: unlimited}, {name: l1, size: 64}], "
    "engines: [{name: dma, between: [dram, l1], cost: {latency: 2, per_cycle: 4}}, "
    "{name: mac, computes: multiply-add, on: l1, cost: {array: [2, 4]}}]}";
/* Of changes of one array the words tell which; `find` takes the first that is equal in them. */
static const edit array_edit[] = {
    {TW_MORE_MEMORY, "l1", "twice as large: 128 bytes", "size: 64", "size: 128"},
    {TW_MORE_BANDWIDTH, "dma", "twice as fast: 8 bytes per cycle", "per_cycle: 4", "per_cycle: 8"},
    {TW_MORE_CHANNELS, "dma", "one more: 2 take turns", "name: dma", "name: dma, count: 2"},
    {TW_OTHER_ARRAY, "mac", "rows 4, not 2", "[2, 4]", "[4, 4]"},
    {TW_OTHER_ARRAY, "mac", "columns 8, not 4", "[2, 4]", "[2, 8]"},
    {TW_OTHER_ARRAY, "mac", "rows 4 and columns 2, as many units", "[2, 4]", "[4, 2]"},
    {TW_OTHER_ARRAY, "mac", "columns 8 and rows 1, as many units", "[2, 4]", "[1, 8]"},
};

static void substitute(const char *text, const char *from, const char *to, char *out, size_t room)
{
    const char *at = strstr(text, from);
    CHECK(at != NULL);
    snprintf(out, room, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static const tw_plan *search(tw_context *ctx, const char *workload, const char *machine_text,
                             const tw_search_options *options)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan = NULL;
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "m", machine_text, &machine), TW_OK);
    return tw_plan_search(ctx, model, machine, options, &plan) == TW_OK ? plan : NULL;
}

static double value_of(const tw_plan *plan)
{
    double value = 0;
    for (int i = 0; i < plan->model->n_ops; i++) value += tw_plan_search_result(plan, i)->value[0];
    return value;
}

static const tw_remedy *find(const tw_remedy *remedy, int n, const edit *e)
{
    for (int i = 0; i < n; i++)
        if (remedy[i].kind == e->kind && strcmp(remedy[i].at, e->at) == 0 &&
            (e->kind != TW_OTHER_ARRAY || strcmp(remedy[i].change, e->text) == 0))
            return &remedy[i];
    return NULL;
}

static void check_against_edits(const char *workload, const char *machine, const tw_search_options *options,
                                const edit *e, int n_edits)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = search(ctx, workload, machine, options);
    const tw_remedy *remedy;
    int n;
    CHECK(plan != NULL);
    CHECK_EQ(tw_plan_remedies(ctx, plan, options, &remedy, &n), TW_OK);
    CHECK_EQ(n, n_edits);
    for (int i = 0; i < n_edits; i++) {
        char text[2048];
        substitute(machine, e[i].from, e[i].to, text, sizeof text);
        const tw_plan *by_hand = search(ctx, workload, text, options);
        const tw_remedy *r = find(remedy, n, &e[i]);
        CHECK(r != NULL);
        CHECK_STR(r->change, e[i].text);
        CHECK_EQ(r->feasible, by_hand != NULL);
        if (!by_hand) continue;
        CHECK(r->proven);
        CHECK_EQ(r->value, value_of(by_hand));
        CHECK(r->gain == 1 - value_of(by_hand) / value_of(plan));
    }
    tw_context_free(ctx);
}

TEST(every_change_is_worth_what_a_search_on_a_machine_file_with_it_finds)
{
    tw_test_is_long();
    tw_search_options latency = {0};
    check_against_edits("matmul:6x5x7", lockstep, &latency, lockstep_edit, TW_COUNT(lockstep_edit));
    check_against_edits("matmul:3x2x4,dtype=i8", async, &latency, async_edit, TW_COUNT(async_edit));
    check_against_edits("matmul:5x6x3,dtype=i8", array, &latency, array_edit, TW_COUNT(array_edit));
}

TEST(other_objectives_are_answered_in_their_own_measure)
{
    tw_search_options edp = {.n_objectives = 2,
                             .objective = (const tw_objective[]){{TW_EDP, NULL}, {TW_CYCLES, NULL}}};
    check_against_edits("matmul:3x2x4,dtype=i8", async, &edp, async_edit, TW_COUNT(async_edit));
    /* Time does not count: what is left is memory. */
    tw_search_options traffic = {.n_objectives = 1, .objective = (const tw_objective[]){{TW_TRAFFIC, "dma"}}};
    check_against_edits("matmul:3x2x4,dtype=i8", async, &traffic, async_edit, 2);
    tw_search_options ticks = {.n_objectives = 1, .objective = (const tw_objective[]){{TW_TICKS, NULL}}};
    check_against_edits("matmul:6x5x7", lockstep, &ticks, lockstep_edit, TW_COUNT(lockstep_edit));
}

static const char two_ops[] = "workload: w\nops:\n"
                              "  - {name: a, op: matmul, shape: [2, 3, 2], dtype: i8}\n"
                              "  - {name: b, op: matmul, shape: [1, 4, 3], dtype: i8}\n";

TEST(of_several_operators_the_values_are_added_up)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan, *by_hand;
    const tw_remedy *remedy;
    int n;
    if (tw_model_parse(ctx, "w", two_ops, &model) != TW_OK) fail_msg("%s", tw_context_message(ctx, 0));
    CHECK_EQ(tw_machine_parse(ctx, "m", async, &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, NULL, &plan), TW_OK);
    CHECK_EQ(tw_plan_remedies(ctx, plan, NULL, &remedy, &n), TW_OK);
    CHECK_EQ(n, TW_COUNT(async_edit));
    for (size_t i = 0; i < TW_COUNT(async_edit); i++) {
        char text[2048];
        substitute(async, async_edit[i].from, async_edit[i].to, text, sizeof text);
        CHECK_EQ(tw_machine_parse(ctx, "m", text, &machine), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, model, machine, NULL, &by_hand), TW_OK);
        CHECK_EQ(find(remedy, n, &async_edit[i])->value, value_of(by_hand));
    }
    tw_context_free(ctx);
}

/* ---- fusion ---- */

static const char npu[] =
    "machine: small-npu\nunit: byte\ntiming: async\nmemories:\n"
    "  - {name: ddr, size: unlimited}\n"
    "  - {name: cmx, size: 16 KiB, align: 16, placement: lifetime}\n"
    "engines:\n"
    "  - {name: dma, between: [ddr, cmx], carries: both, prefetch: all, cost: {latency: 100, per_cycle: 8}}\n"
    "  - {name: dpu, computes: [multiply-add, add], on: cmx, cost: {array: [16, 16], latency: 20}}\n";

/* Two matmuls, the second of which reads what the first one makes; `wish` is said of it. */
static const tw_plan *plan_pair(tw_context *ctx, const char *wish, const tw_search_options *options)
{
    static const char pair[] = "workload: pair\nops:\n"
                               "  - {name: a, op: matmul, shape: [16, 24, 16], dtype: i8, out_dtype: i8, "
                               "accumulator: i32, output: t}\n"
                               "  - {name: b, op: matmul, shape: [16, 16, 24], dtype: i8, out_dtype: i8, "
                               "accumulator: i32, inputs: {ifm: t}, output: u%s}\n";
    char text[1024];
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    snprintf(text, sizeof text, pair, wish);
    if (tw_model_parse(ctx, "w", text, &model) != TW_OK) fail_msg("%s", tw_context_message(ctx, 0));
    if (tw_machine_parse(ctx, "m", npu, &machine) != TW_OK) fail_msg("%s", tw_context_message(ctx, 0));
    CHECK_EQ(tw_plan_search(ctx, model, machine, options, &plan), TW_OK);
    return plan;
}

TEST(neighbours_that_nobody_wished_to_fuse_are_worth_what_planning_them_fused_gives)
{
    tw_context *ctx = tw_context_new();
    const tw_search_options options = {.size = sizeof options, .budget = 50000};
    const tw_plan *apart = plan_pair(ctx, "", &options), *fused = plan_pair(ctx, ", fused: true", &options);
    const tw_remedy *remedy, *fusion = NULL;
    int n;
    CHECK(value_of(fused) < value_of(apart));
    CHECK_EQ(tw_plan_remedies(ctx, apart, &options, &remedy, &n), TW_OK);
    for (int i = 0; i < n; i++)
        if (remedy[i].kind == TW_OTHER_FUSION) fusion = &remedy[i];
    CHECK(fusion != NULL && fusion->feasible);
    CHECK_EQ(fusion->value, value_of(fused));
    CHECK(strstr(fusion->change, "'b' fused with 'a'") != NULL);
    CHECK_EQ(tw_plan_remedies(ctx, fused, &options, &remedy, &n), TW_OK);
    for (int i = 0; i < n; i++) CHECK(remedy[i].kind != TW_OTHER_FUSION);
    tw_context_free(ctx);
}

/* ---- order ---- */

TEST(the_largest_gain_stands_first_and_equal_ones_in_the_order_of_the_machine)
{
    static const struct {
        const char *workload, *machine;
        const edit *e;
        int n;
    } run[] = {{"matmul:6x5x7", lockstep, lockstep_edit, TW_COUNT(lockstep_edit)},
               {"matmul:3x2x4,dtype=i8", async, async_edit, TW_COUNT(async_edit)}};
    for (size_t r = 0; r < TW_COUNT(run); r++) {
        tw_context *ctx = tw_context_new();
        const tw_plan *plan = search(ctx, run[r].workload, run[r].machine, NULL);
        const tw_remedy *remedy;
        int n, place[16];
        CHECK_EQ(tw_plan_remedies(ctx, plan, NULL, &remedy, &n), TW_OK);
        for (int i = 0; i < n; i++)
            for (int e = 0; e < run[r].n; e++)
                if (find(remedy, n, &run[r].e[e]) == &remedy[i]) place[i] = e;
        for (int i = 1; i < n; i++) {
            if (remedy[i].feasible != remedy[i - 1].feasible)
                CHECK(!remedy[i].feasible);
            else if (remedy[i].gain == remedy[i - 1].gain)
                CHECK(place[i] > place[i - 1]);
            else
                CHECK(remedy[i].gain < remedy[i - 1].gain);
        }
        tw_context_free(ctx);
    }
}

static void check_same(const tw_remedy *a, const tw_remedy *b)
{
    CHECK_EQ(a->kind, b->kind);
    CHECK_STR(a->at, b->at);
    CHECK_STR(a->change, b->change);
    CHECK_EQ(a->feasible, b->feasible);
    CHECK_EQ(a->proven, b->proven);
    CHECK(a->value == b->value);
    CHECK(a->gain == b->gain);
}

TEST(the_list_does_not_depend_on_the_number_of_threads)
{
    tw_context *ctx = tw_context_new();
    tw_search_options one = {.n_threads = 1, .budget = 500000}, two = {.n_threads = 2, .budget = 500000};
    const tw_plan *plan = search(ctx, "matmul:3x2x4,dtype=i8", async, &one);
    const tw_remedy *a, *b;
    int n_a, n_b;
    CHECK_EQ(tw_plan_remedies(ctx, plan, &one, &a, &n_a), TW_OK);
    CHECK_EQ(tw_plan_remedies(ctx, plan, &two, &b, &n_b), TW_OK);
    CHECK_EQ(n_a, n_b);
    for (int i = 0; i < n_a; i++) check_same(&a[i], &b[i]);
    tw_context_free(ctx);
}

/* ---- buffers ---- */

TEST(one_more_buffer_is_tried_where_buffers_are_limited)
{
    tw_context *ctx = tw_context_new();
    tw_search_options few = {.max_buffers = 1}, more = {.max_buffers = 2};
    const tw_plan *plan = search(ctx, "matmul:3x2x4,dtype=i8", async, &few);
    const tw_plan *by_hand = search(ctx, "matmul:3x2x4,dtype=i8", async, &more);
    const tw_remedy *remedy;
    int n;
    CHECK_EQ(tw_plan_remedies(ctx, plan, &few, &remedy, &n), TW_OK);
    CHECK_EQ(n, TW_COUNT(async_edit) + 1);
    const tw_remedy *r = find(remedy, n, &(edit){.kind = TW_MORE_BUFFERS, .at = "m"});
    CHECK(r != NULL);
    CHECK_STR(r->change, "2 of each operand, not 1");
    CHECK_EQ(r->value, value_of(by_hand));
    CHECK(r->gain >= 0);
    tw_context_free(ctx);
}

/* At most so many buffers of the first operand at the first level; 0: as many as it likes. */
static tw_op_limits limited(const tw_machine *machine, int64_t most, const int64_t *list, int n_list)
{
    tw_op_limits limits = tw_op_limits_none(machine);
    if (most > 0) limits.level[0].slots[0].at_most = most;
    limits.level[0].slots[0].list = list;
    limits.level[0].slots[0].n_list = n_list;
    return limits;
}

TEST(a_limit_of_the_user_on_buffers_is_moved_by_one)
{
    tw_test_is_long();
    static const int64_t one[] = {1}, two[] = {1, 2};
    for (int listed = 0; listed < 2; listed++) {
        tw_context *ctx = tw_context_new();
        tw_search_options none = {0};
        const tw_plan *plan = search(ctx, "matmul:3x2x4,dtype=i8", async, &none), *by_hand;
        tw_op_limits few_op = limited(plan->machine, listed ? 0 : 1, one, listed);
        tw_op_limits more_op = limited(plan->machine, listed ? 0 : 2, two, 2 * listed);
        tw_limits few_all = {1, &few_op}, more_all = {1, &more_op};
        tw_search_options few = {.limits = &few_all, .budget = 1000000},
                          more = {.limits = &more_all, .budget = 1000000};
        CHECK_EQ(tw_plan_search(ctx, plan->model, plan->machine, &few, &plan), TW_OK);
        CHECK_EQ(tw_plan_search(ctx, plan->model, plan->machine, &more, &by_hand), TW_OK);
        const tw_remedy *remedy;
        int n;
        CHECK_EQ(tw_plan_remedies(ctx, plan, &few, &remedy, &n), TW_OK);
        CHECK_EQ(n, TW_COUNT(async_edit) + 1);
        const tw_remedy *r = find(remedy, n, &(edit){.kind = TW_MORE_BUFFERS, .at = "l1"});
        CHECK(r != NULL);
        CHECK_STR(r->change, "2 of 'ifm', not 1");
        CHECK_EQ(r->value, value_of(by_hand));
        tw_context_free(ctx);
    }
}

/* ---- interruption ---- */

typedef struct patience {
    int64_t left;
} patience;

static bool be_patient(void *user, const tw_progress *progress)
{
    patience *p = user;
    (void)progress;
    return p->left-- > 0;
}

TEST(an_interruption_leaves_what_was_finished_and_names_the_rest)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = search(ctx, "matmul:3x2x4,dtype=i8", async, NULL);
    const tw_remedy *all, *some;
    int n_all, n, longest = -1;
    CHECK_EQ(tw_plan_remedies(ctx, plan, &(tw_search_options){.budget = 500000}, &all, &n_all), TW_OK);
    for (int64_t calls = 0; longest < n_all; calls += 1 + calls / 2) {
        patience p = {calls};
        tw_search_options options = {.budget = 500000, .progress = be_patient, .user = &p};
        int n_tried = 0;
        CHECK_EQ(tw_plan_remedies(ctx, plan, &options, &some, &n), TW_OK);
        CHECK_EQ(n, n_all);
        while (n_tried < n && !some[n_tried].untried) n_tried++;
        if (calls == 0) CHECK_EQ(n_tried, 0);
        longest = (int)tw_max(n_tried, longest);
        for (int i = 0; i < n_tried; i++)
            check_same(find(all, n_all, &(edit){.kind = some[i].kind, .at = some[i].at}), &some[i]);
        for (int i = n_tried; i < n; i++)
            CHECK(some[i].untried && find(all, n_all, &(edit){.kind = some[i].kind, .at = some[i].at}));
        CHECK(calls < 100000);
    }
    tw_context_free(ctx);
}

/* ---- what an exhausted search says ---- */

TEST(a_search_that_gives_up_is_never_worse_than_the_plan_that_there_is)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = search(ctx, "matmul:3x4x5,dtype=i8", async, NULL);
    tw_search_options hasty = {.budget = 1};
    const tw_remedy *remedy;
    int n;
    CHECK(plan != NULL);
    CHECK_EQ(tw_plan_remedies(ctx, plan, &hasty, &remedy, &n), TW_OK);
    for (int i = 0; i < n; i++) {
        CHECK(remedy[i].feasible);
        CHECK(remedy[i].gain >= 0);
    }
    tw_context_free(ctx);
}

/* Else the gain would be that of searching longer. */
TEST(gains_are_over_the_best_plan_that_is_known)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *best = search(ctx, "matmul:6x5x7", lockstep, NULL), *plan;
    /* As if a search had given up with the best of one way to add up. */
    const tw_plan *some = search(ctx, "matmul:6x5x7", lockstep, &(tw_search_options){.mode = TW_MODE_SEPARATE});
    CHECK(best && some);
    tw_search_result hasty = *tw_plan_search_result(some, 0);
    hasty.proven = false;
    hasty.ending = TW_END_BUDGET;
    CHECK_EQ(tw_plan_restore(ctx, some->model, some->machine, some->mapping, (const tw_search_result *[]){&hasty},
                             &plan),
             TW_OK);
    const tw_remedy *remedy;
    int n;
    CHECK(!tw_plan_search_result(plan, 0)->proven);
    CHECK(value_of(plan) > value_of(best));
    CHECK_EQ(tw_plan_remedies(ctx, plan, NULL, &remedy, &n), TW_OK);
    CHECK_EQ(n, TW_COUNT(lockstep_edit));
    for (int i = 0; i < n; i++) {
        CHECK(!remedy[i].proven);
        CHECK(remedy[i].gain < 1 - remedy[i].value / value_of(plan));
        CHECK(remedy[i].gain >= 1 - remedy[i].value / value_of(best));
    }
    tw_context_free(ctx);
}

/* ---- the smallest capacity ---- */

/* The size that a note gives the memory, 0: none does. */
static int64_t noted(const tw_diag *diag, const char *memory)
{
    char end[80];
    snprintf(end, sizeof end, " '%s' would be large enough", memory);
    for (int i = 0; i < diag->n_texts; i++) {
        const char *at = strstr(diag->text[i], "note: with ");
        if (!at || !strstr(at, end)) continue;
        CHECK(!strstr(at, "less may do"));
        int64_t size = 0;
        for (at += strlen("note: with "); *at != ' '; at++)
            if (*at != '\'') size = size * 10 + (*at - '0');
        return size;
    }
    return 0;
}

static tw_status try_size(tw_bench *b, const tw_model *model, const tw_machine *machine, int m, int64_t size,
                          const tw_search_options *options)
{
    tw_machine changed = *machine;
    tw_diag muted = {.muted = true};
    tw_arena *scratch = tw_arena_new();
    const tw_plan *plan;
    changed.memory[m].size = size;
    tw_status status = tw_plan_find(&(tw_request){model, &changed, options, NULL, NULL},
                                    &(tw_work){b->arena, scratch, &muted}, &plan);
    tw_arena_free(scratch);
    return status;
}

typedef struct least_use {
    int memory;
    int64_t units;
} least_use;

static void take_least(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    least_use *u = user;
    (void)map;
    u->units = tw_min(u->units, outcome->used[u->memory]);
}

/* Brute force with this memory unlimited; 0: nothing fits even then. */
static int64_t least_by_force(const tw_model *model, const tw_machine *machine, int m)
{
    tw_machine relaxed = *machine;
    relaxed.memory[m].size = TW_UNLIMITED;
    least_use least = {m, INT64_MAX};
    int64_t most = machine->timing == TW_LOCKSTEP ? 3 : 2; /* as many as adding up may need */
    int64_t n = brute_run(&(brute_space){model, &relaxed, most, false}, take_least, &least);
    return n > 0 ? least.units : 0;
}

/* The note about several memories: with these sizes it fits, or with none. */
static void check_together(tw_bench *b, const tw_model *model, const tw_machine *machine, const tw_diag *diag)
{
    tw_search_options options = {0};
    tw_machine all = *machine, told = *machine;
    CHECK_EQ(diag->n_texts, 1);
    const char *at = strstr(diag->text[0], "it would fit with these ");
    for (int m = 1; m < machine->n_memories; m++) all.memory[m].size = TW_UNLIMITED;
    if (!at) {
        CHECK(strstr(diag->text[0], "memories of any size would not help"));
        CHECK_EQ(try_size(b, model, &all, 0, TW_UNLIMITED, &options), TW_INFEASIBLE);
        return;
    }
    int innermost = 0;
    for (int m = 1; m < machine->n_memories; m++) {
        char in[80];
        snprintf(in, sizeof in, " in '%s' (has ", machine->memory[m].name);
        const char *size = strstr(at, in);
        if (!size) continue;
        while (size[-1] != ' ') size--;
        told.memory[m].size = strtoll(size, NULL, 10);
        innermost = m;
    }
    CHECK(innermost > 0);
    CHECK_EQ(try_size(b, model, &told, 0, TW_UNLIMITED, &options), TW_OK);
    if (innermost < machine->n_memories - 1) return;
    CHECK_EQ(try_size(b, model, &all, innermost, told.memory[innermost].size - 1, &options), TW_INFEASIBLE);
}

/* One infeasible problem; how many memories would help. */
static int check_capacity(tw_bench *b, const tw_model *model, const tw_machine *machine)
{
    tw_search_options options = {0};
    tw_arena *scratch = tw_arena_new();
    tw_diag diag = {0};
    int n = 0;
    tw_smallest_capacity_note(&(tw_problem){model, 0, machine}, NULL, &options, true, scratch, &diag);
    for (int m = 1; m < machine->n_memories; m++) {
        if (machine->memory[m].size == TW_UNLIMITED) continue;
        int64_t size = noted(&diag, machine->memory[m].name);
        CHECK_EQ(size, least_by_force(model, machine, m));
        if (size == 0) continue;
        n++;
        CHECK_EQ(try_size(b, model, machine, m, size, &options), TW_OK);
        CHECK_EQ(try_size(b, model, machine, m, size - 1, &options), TW_INFEASIBLE);
    }
    if (n == 0) check_together(b, model, machine, &diag);
    tw_diag_release(&diag);
    tw_arena_free(scratch);
    return n;
}

TEST(the_smallest_capacity_fits_and_one_unit_less_does_not)
{
    uint64_t rng = tw_test_seed();
    int n_infeasible = 0, n_alone = 0, n_together = 0, rounds = tw_test_rounds(200);
    for (int i = 0; i < rounds; i++) {
        tw_bench b = tw_bench_new();
        brute_case c;
        tw_model model;
        tw_machine machine;
        brute_random_make(&rng, (brute_wish){.timing = i % 2 ? TW_ASYNC : TW_LOCKSTEP, .limit = 1000}, &c);
        CHECK_EQ(tw_read_model(&b, "w", c.workload, &model), TW_OK);
        CHECK_EQ(tw_read_machine(&b, "m", c.machine, &machine), TW_OK);
        for (int m = 1; m < machine.n_memories; m++)
            machine.memory[m].size = tw_test_pick(&rng, 1, tw_test_pick(&rng, 1, 24));
        tw_search_options options = {0};
        if (try_size(&b, &model, &machine, 0, machine.memory[0].size, &options) == TW_INFEASIBLE) {
            int n = check_capacity(&b, &model, &machine);
            n_infeasible++;
            n_alone += n > 0;
            n_together += n == 0;
        }
        tw_bench_free(&b);
    }
    print_message("%d infeasible: %d by one memory, %d by several\n", n_infeasible, n_alone, n_together);
    CHECK(n_alone >= rounds / 10 && n_together >= rounds / 40);
}

static void note(tw_diag *diag, const char *workload, const char *text, bool proven)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_machine machine;
    tw_arena *scratch = tw_arena_new();
    CHECK_EQ(tw_read_model(&b, "w", workload, &model), TW_OK);
    CHECK_EQ(tw_read_machine(&b, "m", text, &machine), TW_OK);
    tw_smallest_capacity_note(&(tw_problem){&model, 0, &machine}, NULL, &(tw_search_options){0}, proven, scratch,
                              diag);
    tw_arena_free(scratch);
    tw_bench_free(&b);
}

TEST(notes_name_the_memory_and_what_it_lacks)
{
    char text[2048], other[2048];
    tw_diag diag = {0};
    /* One element of each operand, one byte and four of the sum; two inputs. */
    substitute(async, "size: 14", "size: 1", text, sizeof text);
    note(&diag, "matmul:3x2x4,dtype=i8", text, true);
    CHECK_EQ(diag.n_texts, 1);
    CHECK_STR(diag.text[0],
              "m:1:97: note: with 2 bytes 'l1' would be large enough, 1 more than it has: 'ifm' 1 x 1, 'w' 1 x 1");
    tw_diag_release(&diag);
    substitute(text, "size: 20", "size: 3", other, sizeof other);
    note(&diag, "matmul:3x2x4,dtype=i8", other, true);
    CHECK_EQ(diag.n_texts, 1);
    CHECK_STR(diag.text[0], "<workload>:1:1: note: no single memory is to blame; it would fit with these bytes: 2 "
                            "in 'l1' (has 1), 4 in 'acc' "
                            "(has 3)");
    tw_diag_release(&diag);
}

TEST(where_nothing_is_proven_only_what_proves_it_is_told)
{
    char text[2048], other[2048];
    tw_diag diag = {0};
    substitute(async, "size: 14", "size: 1", text, sizeof text);
    note(&diag, "matmul:3x2x4,dtype=i8", text, false);
    CHECK_EQ(diag.n_texts, 1); /* no mapping needs less */
    tw_diag_release(&diag);
    substitute(text, "size: 20", "size: 3", other, sizeof other);
    note(&diag, "matmul:3x2x4,dtype=i8", other, false);
    CHECK_EQ(diag.n_texts, 0);
    tw_diag_release(&diag);
}

/* ---- memory of the host ---- */

TEST(out_of_memory_is_said_wherever_it_happens)
{
    tw_context *ctx = tw_context_new();
    tw_search_options options = {.max_buffers = 1};
    const tw_plan *plan = search(ctx, "matmul:1x2x2,dtype=i8", async, &options);
    tw_status status = TW_ERR_NOMEM;
    for (int which = 0; which < 2; which++)
        for (int64_t n = 1; n == 1 || status == TW_ERR_NOMEM; n++) {
            tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
            const tw_remedy *remedy;
            int n_remedies;
            tw_arena_fail_at(which ? arena : scratch, n);
            tw_diag diag = {0};
            status = tw_remedies_find(plan, &options, &(tw_work){arena, scratch, &diag}, &remedy, &n_remedies);
            CHECK(status == TW_ERR_NOMEM || status == TW_OK);
            if (status == TW_OK) CHECK_EQ(n_remedies, TW_COUNT(async_edit) + 1);
            tw_arena_free(arena);
            tw_arena_free(scratch);
        }
    tw_context_free(ctx);
}

/* ---- the table ---- */

static void check_text(const tw_plan *plan, const tw_remedy *remedy, int n, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    tw_line line;
    tw_line_init(&line, &(tw_print_options){0}, out);
    const tw_remedy_frame frame = tw_remedy_frame_of(plan);
    CHECK_EQ(tw_report_remedies_text(&frame, remedy, n, &line), TW_OK);
    fclose(out);
    CHECK_STR(text, expected);
    free(text);
}

TEST(the_rows_show_what_makes_a_difference_and_the_rest_is_named)
{
    static const tw_remedy remedy[] = {
        {TW_MORE_BANDWIDTH, "dma", "twice as fast: 128 bytes per cycle", true, 12345, 0.0812, true},
        {TW_MORE_MEMORY, "l2", "twice as large: 131'072 bytes", true, 13430, 0.0001, false},
        {TW_MORE_MEMORY, "l3", "twice as large: 262'144 bytes", true, 13431, 0, true},
        {TW_MORE_CHANNELS, "dma", "one more: 2 take turns", true, 13431, 0, true},
        {TW_MORE_CHANNELS, "lift", "one more: 2 take turns", true, 13431, 0, true},
        {TW_MORE_MEMORY, "l1", "twice as large: 65'536 bytes", true, 13431, 0, false},
        {TW_MORE_BANDWIDTH, "lift", "twice as fast: 128 bytes per cycle", true, 14000, -0.0424, false},
        {TW_MORE_CHANNELS, "move", "unlimited channels, not 1", false, 0, 0, false},
        {TW_MORE_CHANNELS, "last", "one more: 2 take turns", .untried = true},
    };
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = search(ctx, "matmul:1x2x2,dtype=i8", async, NULL);
    check_text(plan, remedy, TW_COUNT(remedy),
               "        cycles    gain  what would help\n"
               "        12'345    8.1%  dma: twice as fast: 128 bytes per cycle\n"
               "        13'430   <0.1%  l2: twice as large: 131'072 bytes (best found)\n"
               "             -          move: unlimited channels, not 1 (no plan found)\n"
               "  no gain     more memory: l3; more channels: dma, lift\n"
               "  none found  more memory: l1; more bandwidth: lift\n"
               "  not tried   more channels: last; time was up, or it was interrupted\n\n");
    check_text(plan, remedy + 8, 1, "  not tried   more channels: last; time was up, or it was interrupted\n\n");
    check_text(plan, remedy + 2, 1,
               "  would help  nothing that was tried\n"
               "  no gain     more memory: l3\n\n");
    check_text(plan, remedy, 0,
               "  would help  there is nothing to try: no limited memory, no engine that could\n"
               "              be faster\n\n");
    tw_context_free(ctx);
}
