/* test/sim/test_threads.c - contexts are independent: many threads, one answer. */
#include "tw_test.h"

#include <pthread.h>

enum { THREADS = 4 };

static void *plan_one(void *result)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    const tw_verdict *verdict;
    tw_search_options options = {.approach = TW_APPROACH_MULTISTAGE};
    int64_t *ticks = result;
    if (tw_model_open(ctx, "matmul:64x64x96", &model) == TW_OK &&
        tw_machine_open(ctx, "tick-three-level", &machine) == TW_OK &&
        tw_plan_search(ctx, model, machine, &options, &plan) == TW_OK &&
        tw_plan_verify(ctx, plan, 0, NULL, &verdict) == TW_OK)
        *ticks = tw_plan_summary(plan)->ticks;
    tw_context_free(ctx);
    return NULL;
}

TEST(threads_with_contexts_of_their_own_do_not_disturb_each_other)
{
    pthread_t thread[THREADS];
    int64_t ticks[THREADS] = {0}, alone = 0;
    plan_one(&alone);
    CHECK(alone > 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&thread[i], NULL, plan_one, &ticks[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(ticks[i], alone);
}

/* One plan, read by all at once. */
static void *walk_one(void *user)
{
    const tw_plan *plan = user;
    tw_context *ctx = tw_context_new();
    const tw_verdict *verdict;
    bool good = tw_plan_verify(ctx, plan, 0, NULL, &verdict) == TW_OK;
    tw_context_free(ctx);
    return good ? user : NULL;
}

TEST(a_finished_plan_is_read_by_many_threads_at_once)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan;
    CHECK_EQ(tw_model_open(ctx, "conv:8x14x14,out=8,kernel=3,pad=1,stride=2", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "tick-10k", &machine), TW_OK);
    CHECK_EQ(tw_plan_search(ctx, model, machine, NULL, &plan), TW_OK);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&thread[i], NULL, walk_one, (void *)plan), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(thread[i], &result);
        CHECK(result == (void *)plan);
    }
    tw_context_free(ctx);
}
