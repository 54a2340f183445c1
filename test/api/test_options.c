/* test/api/test_options.c - options of every version: shorter ones end where they say, longer ones ask for nothing unknown, and
 * what was never initialised is noticed. */
#include "api/options.h"
#include "tw_test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two pages, the second of which must not be touched. */
typedef struct fence {
    char *page;
    size_t size;
} fence;

static fence fence_new(void)
{
    fence f = {NULL, (size_t)sysconf(_SC_PAGESIZE)};
    f.page = mmap(NULL, 2 * f.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(f.page != MAP_FAILED);
    CHECK_EQ(mprotect(f.page + f.size, f.size, PROT_NONE), 0);
    return f;
}

static void fence_free(fence f) { munmap(f.page, 2 * f.size); }

/* The first n bytes, directly before the second page. */
static void *at_the_fence(fence f, const void *options, size_t n)
{
    return memcpy(f.page + f.size - n, options, n);
}

typedef struct opened {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
} opened;

static opened open_all(void)
{
    opened o = {.ctx = tw_context_new()};
    CHECK_EQ(tw_model_open(o.ctx, "matmul:128x128x512", &o.model), TW_OK);
    CHECK_EQ(tw_machine_open(o.ctx, "tick-100k", &o.machine), TW_OK);
    return o;
}

TEST(every_prefix_of_options_is_read_up_to_its_end_and_no_further)
{
    fence f = fence_new();
    tw_diag diag = {0};
    tw_search_options given, own;
    memset(&given, 0x5a, sizeof given);
    for (size_t n = sizeof given.size; n <= sizeof given; n += sizeof given.size) {
        given.size = n;
        CHECK_EQ(tw_search_options_take(at_the_fence(f, &given, n), &diag, &own), TW_OK);
        CHECK_EQ(own.size, sizeof own);
        const char *bytes = (const char *)&own;
        for (size_t i = sizeof own.size; i < sizeof own; i++) CHECK_EQ(bytes[i], i < n ? 0x5a : 0);
    }
    tw_diag_release(&diag);
    fence_free(f);
}

TEST(a_search_with_shorter_options_is_that_with_the_rest_zero)
{
    fence f = fence_new();
    opened o = open_all();
    const tw_plan *plan;
    const tw_objective ticks = {TW_TICKS, NULL};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.objective = &ticks;
    options.n_objectives = 1;
    options.size = offsetof(tw_search_options, space);
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, at_the_fence(f, &options, options.size), &plan), TW_OK);
    CHECK_EQ(tw_plan_summary(plan)->ticks, 5);
    CHECK(tw_plan_search_result(plan, 0)->proven);
    tw_context_free(o.ctx);
    fence_free(f);
}

TEST(a_size_of_zero_is_that_of_the_first_version)
{
    fence f = fence_new();
    tw_diag diag = {0};
    tw_injection_options plain = {.plain = true}, own;
    size_t first = offsetof(tw_injection_options, plain) + sizeof plain.plain;
    memcpy(f.page + f.size - first, &plain, first);
    CHECK_EQ(tw_injection_options_take((const void *)(f.page + f.size - first), &diag, &own), TW_OK);
    CHECK(own.plain);
    tw_search_options all = {.user = &all}, taken;
    CHECK_EQ(tw_search_options_take(&all, &diag, &taken), TW_OK);
    CHECK(taken.user == &all);
    CHECK_EQ(tw_search_options_take(NULL, &diag, &taken), TW_OK);
    CHECK(taken.user == NULL);
    tw_diag_release(&diag);
    fence_free(f);
}

TEST(a_newer_program_may_not_ask_for_what_the_library_does_not_know)
{
    struct {
        tw_search_options now;
        int64_t later;
    } newer = {.now.size = sizeof newer};
    opened o = open_all();
    const tw_plan *plan;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &newer.now, &plan), TW_OK);
    newer.later = 1;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &newer.now, &plan), TW_ERR_INPUT);
    CHECK(strstr(tw_context_message(o.ctx, 0), "newer than this library") != NULL);
    tw_context_free(o.ctx);
}

TEST(a_size_that_nobody_set_is_noticed)
{
    opened o = open_all();
    const tw_plan *plan;
    tw_search_options options;
    memset(&options, 0xa5, sizeof options);
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &options, &plan), TW_ERR_INPUT);
    options.size = 3;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &options, &plan), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(o.ctx, 1), "error: the size of options is 3; their initialiser sets it");
    tw_context_free(o.ctx);
}

TEST(too_many_objectives_are_refused)
{
    opened o = open_all();
    const tw_plan *plan;
    const tw_objective five[5] = {{TW_TICKS, NULL}, {TW_CYCLES, NULL}, {TW_ENERGY, NULL}, {TW_EDP, NULL}};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.objective = five;
    options.n_objectives = 5;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &options, &plan), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(o.ctx, 0), "error: a search takes up to 4 objectives, not 5");
    tw_context_free(o.ctx);
}

/* What is refused about the tolerances of two objectives. */
static void check_within(opened *o, const double within[2], bool pareto, const char *message)
{
    const tw_objective two[2] = {{TW_CYCLES, NULL}, {TW_ENERGY, NULL}};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    const tw_plan *plan;
    options.objective = two;
    options.n_objectives = 2;
    options.within = within;
    options.pareto = pareto;
    tw_context_clear_messages(o->ctx);
    CHECK_EQ(tw_plan_search(o->ctx, o->model, o->machine, &options, &plan), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(o->ctx, 0), message);
}

TEST(tolerances_that_mean_nothing_are_refused)
{
    opened o = open_all();
    check_within(&o, (const double[]){-0.1, 0}, false,
                 "error: objective 1 may be above its least by 0 to 100 times, not -0.1");
    check_within(&o, (const double[]){101, 0}, false,
                 "error: objective 1 may be above its least by 0 to 100 times, not 101");
    check_within(&o, (const double[]){0, 0.01}, false,
                 "error: the last objective has none behind it that it could be above its least for");
    check_within(&o, (const double[]){0.01, 0}, true,
                 "error: a Pareto front takes objectives as they are, none of them within a share");
    tw_context_free(o.ctx);
}

TEST(a_result_tells_the_least_and_the_bound_of_every_objective)
{
    opened o = open_all();
    const tw_objective two[2] = {{TW_CYCLES, NULL}, {TW_PEAK, "buffer"}};
    const double within[2] = {0.5, 0};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    const tw_plan *plan;
    options.objective = two;
    options.n_objectives = 2;
    options.within = within;
    options.space = TW_SPACE_NOTES;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &options, &plan), TW_OK);
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    CHECK(r->within[0] == 0.5 && r->within[1] == 0);
    CHECK(r->least[0] <= r->value[0] && r->value[0] <= 1.5 * r->least[0]);
    CHECK(r->least[1] == r->value[1]);
    CHECK(r->bounds[0] == r->bound && r->bounds[1] <= r->least[1]);
    tw_context_free(o.ctx);
}

TEST(a_result_lives_as_long_as_the_context_whatever_becomes_of_the_options)
{
    opened o = open_all();
    const tw_plan *plan;
    char name[] = "buffer";
    tw_objective objective[] = {{TW_PEAK, name}, {TW_TICKS, NULL}};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.objective = objective;
    options.n_objectives = 2;
    options.space = TW_SPACE_NOTES;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &options, &plan), TW_OK);
    memset(name, 'x', sizeof name - 1);
    memset(objective, 0, sizeof objective);
    const tw_search_result *r = tw_plan_search_result(plan, 0);
    CHECK_EQ(r->size, sizeof *r);
    CHECK_EQ(r->n_objectives, 2);
    CHECK_EQ(r->objective[0].measure, TW_PEAK);
    CHECK_STR(r->objective[0].at, "buffer");
    CHECK_EQ(r->objective[1].measure, TW_TICKS);
    CHECK_EQ((int64_t)r->value[0], r->best);
    CHECK_EQ(r->n_closed, TW_N_BOUNDS);
    tw_context_free(o.ctx);
}

TEST(operators_that_were_not_searched_are_restored_without_a_result)
{
    opened o = open_all();
    const tw_plan *plan, *again;
    const tw_mapping *mapping;
    char *text = NULL;
    size_t n = 0;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, NULL, &plan), TW_OK);
    FILE *out = open_memstream(&text, &n);
    CHECK_EQ(tw_plan_print_mapping(o.ctx, plan, out), TW_OK);
    fclose(out);
    CHECK_EQ(tw_mapping_parse(o.ctx, o.model, o.machine, "m", text, &mapping), TW_OK);
    const tw_search_result *said[] = {tw_plan_search_result(plan, 0)}, *none[] = {NULL};
    CHECK_EQ(tw_plan_restore(o.ctx, o.model, o.machine, mapping, said, &again), TW_OK);
    CHECK(tw_plan_confirms(again));
    CHECK(tw_plan_search_result(again, 0)->closed != said[0]->closed);
    for (int i = 0; i < said[0]->n_closed; i++)
        CHECK_EQ(tw_plan_search_result(again, 0)->closed[i], said[0]->closed[i]);
    CHECK_EQ(tw_plan_restore(o.ctx, o.model, o.machine, mapping, none, &again), TW_OK);
    CHECK(tw_plan_search_result(again, 0) == NULL);
    free(text);
    tw_context_free(o.ctx);
}

TEST(an_operator_that_the_plan_has_not_is_not_judged)
{
    opened o = open_all();
    const tw_plan *plan;
    const tw_verdict *verdict;
    tw_search_options some = TW_SEARCH_OPTIONS_INIT;
    some.budget = 1000;
    CHECK_EQ(tw_plan_search(o.ctx, o.model, o.machine, &some, &plan), TW_OK);
    for (int op = -1; op <= 1; op++)
        CHECK_EQ(tw_plan_verify(o.ctx, plan, op, NULL, &verdict), op == 0 ? TW_OK : TW_ERR_INPUT);
    CHECK_STR(tw_context_message(o.ctx, 0), "error: the plan has no operator -1");
    tw_context_free(o.ctx);
}
