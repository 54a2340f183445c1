/* test/goldens/hierarchy.c - hierarchy.json: plans over three levels, tiled at each (multistage) or once (direct).
 *
 * A witness names counts and slots but no loop orders: the better of the orders counts, level by level. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

static int64_t at(const json_t *list, size_t i) { return json_integer_value(json_array_get(list, i)); }

typedef struct problem {
    tally *t;
    const char *file;
    int64_t shape[3], size[3]; /* sizes outermost first */
} problem;

static tick_level level_of(const json_t *w)
{
    return (tick_level){at(w, 0), at(w, 1), at(w, 2), at(w, 3), at(w, 4), at(w, 5), "mn", false};
}

static int64_t value_of(const problem *p, int n, tick_level *level, const char *mode, const cost_set *cost,
                        bool cycles)
{
    int64_t best = -1;
    char *machine = tick_machine(cost, n, p->size, false);
    for (int orders = 0; orders < 1 << n; orders++) {
        for (int l = 0; l < n; l++) level[l].order = orders >> l & 1 ? "nm" : "mn";
        char *mapping = tick_mapping(n, level, mode, "balanced");
        tw_context *ctx = tw_context_new();
        const tw_plan *plan = tick_eval(ctx, p->shape, machine, mapping);
        int64_t value = plan ? (cycles ? tw_plan_summary(plan)->cycles : tw_plan_summary(plan)->ticks) : -1;
        if (value >= 0 && (best < 0 || value < best)) best = value;
        tw_context_free(ctx);
        free(mapping);
    }
    free(machine);
    return best;
}

static void check_multistage(const problem *p, const char *id, const json_t *witness, const json_t *values,
                             const cost_set *cost, bool cycles)
{
    const char *mode;
    json_t *w;
    json_object_foreach((json_t *)witness, mode, w)
    {
        if (!json_object_get(values, mode)) continue;
        tick_level level[3] = {level_of(json_array_get(w, 0)), level_of(json_array_get(w, 1)),
                               level_of(json_array_get(w, 2))};
        check_value(p->t, p->file, id, mode, value_of(p, 3, level, mode, cost, cycles), member(values, mode, 0));
    }
}

static void check_direct(const problem *p, const char *id, const json_t *witness, const json_t *values,
                         const cost_set *cost)
{
    const char *mode;
    json_t *w;
    json_object_foreach((json_t *)witness, mode, w)
    {
        if (!json_object_get(values, mode)) continue;
        tick_level level[3] = {{.pass = true, .order = "mn"}, {.pass = true, .order = "mn"}, level_of(w)};
        check_value(p->t, p->file, id, mode, value_of(p, 3, level, mode, cost, true), member(values, mode, 0));
    }
}

/* What the search of the family finds, with its proof. */
static void check_search(const problem *p, const char *id, const json_t *values, const cost_set *cost, bool cycles,
                         tw_approach approach, int64_t min_tile)
{
    const char *mode;
    json_t *value;
    char workload[96];
    snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, p->shape[0], p->shape[1],
             p->shape[2]);
    char *text = tick_machine(cost, 3, p->size, false);
    json_object_foreach((json_t *)values, mode, value)
    {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_plan *plan;
        tw_search_options options = {.n_objectives = 1,
                                     .objective = (const tw_objective[]){{cycles ? TW_CYCLES : TW_TICKS, NULL}},
                                     .space = TW_SPACE_NOTES,
                                     .mode = *mode == 'S'   ? TW_MODE_SEPARATE
                                             : *mode == 'I' ? TW_MODE_IN_PLACE
                                                            : TW_MODE_FUSED,
                                     .approach = approach,
                                     .min_tile = min_tile,
                                     .budget = INT64_MAX};
        if (tw_model_open(ctx, workload, &model) == TW_OK &&
            tw_machine_parse(ctx, "machine", text, &machine) == TW_OK &&
            tw_plan_search(ctx, model, machine, &options, &plan) == TW_OK) {
            const tw_search_result *found = tw_plan_search_result(plan, 0);
            check_value(p->t, p->file, id, mode, found->best, json_integer_value(value));
            check_value(p->t, p->file, id, "proven", found->proven, true);
        } else {
            fail_case(p->t, p->file, id, "no plan");
        }
        tw_context_free(ctx);
    }
    free(text);
}

static void check_costed(const problem *p, const char *key, const json_t *o, const cost_set *cost)
{
    char id[64];
    if (!o) return;
    snprintf(id, sizeof id, "%s multistage plan", key);
    check_multistage(p, id, json_object_get(o, "witness"), json_object_get(o, "multistage"), cost, true);
    snprintf(id, sizeof id, "%s direct plan", key);
    check_direct(p, id, json_object_get(o, "direct_witness"), json_object_get(o, "direct"), cost);
    snprintf(id, sizeof id, "%s multistage search", key);
    check_search(p, id, json_object_get(o, "multistage"), cost, true, TW_APPROACH_MULTISTAGE, 0);
    snprintf(id, sizeof id, "%s direct search", key);
    check_search(p, id, json_object_get(o, "direct"), cost, true, TW_APPROACH_DIRECT, 0);
}

/* The plans of the tiling notes, L3-B / L2-C / L1-I of models.md 1.8. */
static void check_notes(const problem *p, const json_t *root)
{
    tick_level level[3] = {
        {5, 1, 1, 2, 1, 2, "mn", false}, {1, 2, 1, 1, 1, 1, "mn", false}, {1, 2, 9, 2, 2, 4, "mn", false}};
    if (json_object_get(root, "notes_plan_two_levels"))
        check_value(p->t, p->file, "notes", "two levels", value_of(p, 2, level, "S", &unit_cost, false),
                    member(root, "notes_plan_two_levels", 0));
    if (json_object_get(root, "notes_plan_three_levels"))
        check_value(p->t, p->file, "notes", "three levels", value_of(p, 3, level, "S", &unit_cost, false),
                    member(root, "notes_plan_three_levels", 0));
}

void run_hierarchy(tally *t, const char *file, const json_t *root)
{
    const json_t *shape = json_object_get(root, "shape"), *caps = json_object_get(root, "caps");
    problem p = {t, file, {at(shape, 0), at(shape, 1), at(shape, 2)}, {at(caps, 2), at(caps, 1), at(caps, 0)}};
    check_notes(&p, root);
    check_multistage(&p, "multistage plan", json_object_get(root, "witness"), json_object_get(root, "multistage"),
                     &unit_cost, false);
    static const struct {
        const char *key;
        tw_approach approach;
        int64_t min_tile;
    } search[] = {{"multistage", TW_APPROACH_MULTISTAGE, 0},
                  {"direct", TW_APPROACH_DIRECT, 0},
                  {"multistage_min32", TW_APPROACH_MULTISTAGE, 32},
                  {"direct_min32", TW_APPROACH_DIRECT, 32}};
    for (size_t i = 0; i < sizeof search / sizeof *search; i++)
        check_search(&p, search[i].key, json_object_get(root, search[i].key), &unit_cost, false, search[i].approach,
                     search[i].min_tile);
    check_costed(&p, "linear_parallel", json_object_get(root, "linear_parallel"), &linear_parallel);
    check_costed(&p, "linear_shared", json_object_get(root, "linear_shared"), &linear_shared);
}
