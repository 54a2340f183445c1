/* test/plan/test_evaluate.c - what a search has simulated is not simulated again for its plan. */
#include "plan/evaluate.h"
#include "plan/plan.h"
#include "tw_test.h"

#include <string.h>

static const char machine_text[] =
    "{machine: m, unit: element, timing: lockstep, memories: [{name: out, size: unlimited}, {name: buf, size: "
    "100}], "
    "engines: [{name: move, between: [out, buf], channels: unlimited, cost: {constant: 1}}, "
    "{name: mac, computes: multiply-add, on: buf, cost: {constant: 1}}, {name: add, computes: sum, on: buf, cost: "
    "{constant: 1}}]}";

typedef struct bench {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    tw_evaluator *evaluator;
} bench;

static bench open_bench(const char *workload, const char *sizes)
{
    char text[200];
    bench b = {.ctx = tw_context_new(), .evaluator = tw_evaluator_new(2)};
    snprintf(text, sizeof text, "mapping: {matmul: {levels: [{at: buf, sizes: {%s}}]}}\n", sizes);
    CHECK_EQ(tw_model_open(b.ctx, workload, &b.model), TW_OK);
    CHECK_EQ(tw_machine_parse(b.ctx, "m", machine_text, &b.machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(b.ctx, b.model, b.machine, "map", text, &b.mapping), TW_OK);
    return b;
}

static void close_bench(bench *b)
{
    tw_evaluator_free(b->evaluator);
    tw_context_free(b->ctx);
}

static tw_outcome evaluate(const bench *b)
{
    const tw_eval *eval = tw_evaluator_eval(b->evaluator);
    tw_meter meter = {.limit = INT64_MAX};
    tw_outcome out;
    int64_t short_by;
    CHECK_EQ(eval->cost(eval->user[1], &(tw_problem){b->model, 0, b->machine}, &b->mapping->op[0], &meter, &out,
                        &short_by),
             TW_OK);
    return out;
}

TEST(the_timeline_of_a_long_program_is_recalled_as_it_was)
{
    bench b = open_bench("matmul:48x48x48", "m: 1, n: 1, k: 1");
    tw_timeline got;
    const tw_plan *plan;
    CHECK(!tw_evaluator_recall(b.evaluator, &(tw_problem){b.model, 0, b.machine}, &b.mapping->op[0], &got));
    tw_outcome out = evaluate(&b);
    CHECK(tw_evaluator_recall(b.evaluator, &(tw_problem){b.model, 0, b.machine}, &b.mapping->op[0], &got));
    CHECK_EQ(tw_plan_eval(b.ctx, b.model, b.machine, b.mapping, &plan), TW_OK);
    const tw_timeline *want = &plan->op[0].timeline;
    CHECK_EQ(got.sum.cycles, out.cycles);
    CHECK_EQ(memcmp(&got.sum, &want->sum, sizeof got.sum), 0);
    CHECK_EQ(memcmp(got.peak_live, want->peak_live, sizeof got.peak_live), 0);
    CHECK_EQ(memcmp(got.link, want->link, sizeof got.link), 0);
    close_bench(&b);
}

TEST(another_mapping_or_a_larger_memory_is_not_recalled)
{
    bench b = open_bench("matmul:48x48x48", "m: 1, n: 1, k: 1");
    tw_timeline got;
    tw_machine larger = *b.machine;
    tw_op_map other = b.mapping->op[0];
    evaluate(&b);
    larger.memory[1].size++;
    other.level[0].size[0] = 2;
    CHECK(!tw_evaluator_recall(b.evaluator, &(tw_problem){b.model, 0, &larger}, &b.mapping->op[0], &got));
    CHECK(!tw_evaluator_recall(b.evaluator, &(tw_problem){b.model, 0, b.machine}, &other, &got));
    close_bench(&b);
}

TEST(short_programs_are_not_kept)
{
    bench b = open_bench("matmul:4x4x4", "m: 2, n: 2, k: 2");
    tw_timeline got;
    evaluate(&b);
    CHECK(!tw_evaluator_recall(b.evaluator, &(tw_problem){b.model, 0, b.machine}, &b.mapping->op[0], &got));
    close_bench(&b);
}
