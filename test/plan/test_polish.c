/* What `plan` finds in groups has no small change that would make it better: its own advice must not be to map otherwise. */
#include "mapping/groups.h"
#include "plan/group_moves.h"
#include "sim/joint.h"
#include "tw_read.h"
#include "tw_test.h"

#include <stdio.h>

typedef struct trial {
    const tw_plan *plan;
    tw_arena *arena, *scratch;
    int64_t n_tried, n_better;
} trial;

/* A tw_group_move_sink. */
static tw_status try_move(void *user, const tw_group_move *move)
{
    trial *t = user;
    const tw_plan *plan = t->plan;
    tw_diag muted = {.muted = true};
    const tw_work work = {t->arena, t->scratch, &muted};
    tw_arena_mark mark = tw_arena_save(t->arena), scratch = tw_arena_save(t->scratch);
    const tw_joint *joint;
    tw_summary sum;
    tw_status status = tw_mapping_check(&move->mapping, plan->model, plan->machine, &muted);
    if (status == TW_OK)
        status = tw_joint_build(plan->model, plan->machine->platform, &move->mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, NULL, &work, &sum);
    if (status == TW_OK) t->n_tried++;
    if (status == TW_OK && sum.cycles < plan->sum.cycles) {
        t->n_better++;
        print_error("%s: %s takes %lld, not %lld\n", move->at, move->change, (long long)sum.cycles,
                    (long long)plan->sum.cycles);
    }
    tw_arena_rewind(t->arena, mark);
    tw_arena_rewind(t->scratch, scratch);
    return TW_OK;
}

static void check(const char *workload, const char *machine_file)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_objective objective = {.measure = TW_CYCLES};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    const tw_verdict *verdict;
    tw_diag muted = {.muted = true};
    trial t = {.arena = tw_arena_new(), .scratch = tw_arena_new()};
    tw_arena *moves = tw_arena_new();
    options.objective = &objective;
    options.n_objectives = 1;
    options.groups = true;
    options.budget = 20000;
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, machine_file, &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &t.plan), TW_OK);
    CHECK(t.plan->joint != NULL);
    CHECK_EQ(tw_plan_verify(ctx, t.plan, 0, NULL, &verdict), TW_OK);
    const tw_work work = {moves, t.scratch, &muted};
    CHECK_EQ(tw_group_moves_each(t.plan, NULL, &work, (tw_group_move_sink){try_move, &t}), TW_OK);
    print_message("%s: %lld cycles, %lld changes tried\n", workload, (long long)t.plan->sum.cycles,
                  (long long)t.n_tried);
    CHECK(t.n_tried > 3);
    CHECK_EQ(t.n_better, 0);
    tw_arena_free(moves);
    tw_arena_free(t.arena);
    tw_arena_free(t.scratch);
    tw_context_free(ctx);
}

static const char *example(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s/examples/%s", getenv("TW_SOURCE"), name);
    return out;
}

TEST(no_small_change_of_a_plan_with_a_register_file_per_column_is_better)
{
    char machine[512];
    check("matmul:64x64x64,dtype=i8", example("12-lanes/machine.yaml", machine, sizeof machine));
    check("conv:16x14x14,out=32,kernel=3,pad=1,dtype=i8", machine);
}

TEST(no_small_change_of_a_plan_on_two_cores_is_better)
{
    char machine[512], workload[512];
    check(example("11-two-cores/workload.yaml", workload, sizeof workload),
          example("11-two-cores/machine.yaml", machine, sizeof machine));
}
