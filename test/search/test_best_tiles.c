/* test/search/test_best_tiles.c - least traffic into a scratchpad: all mappings against the family of the reference.
 *
 * The family has one tile of each operand, sizes that are multiples of 16, and the reduction innermost. Everything that
 * it holds is a mapping of the two-memory machine here, so the search of the whole space is never worse. */
#include "async_random.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { ELEM_BYTES = 4 };

static int64_t number(const json_t *record, const char *key)
{
    CHECK(json_is_integer(json_object_get(record, key)));
    return json_integer_value(json_object_get(record, key));
}

static const tw_machine *scratchpad(tw_context *ctx, int64_t bytes)
{
    char text[600];
    const tw_machine *machine;
    snprintf(
        text, sizeof text,
        "machine: scratchpad\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n  - {name: "
        "pad, size: %" PRId64 "}\nengines:\n  - {name: dma, between: [dram, pad], cost: {latency: 0, per_cycle: "
        "64}}\n  - {name: mac, computes: multiply-add, on: pad, cost: {latency: 0, per_cycle: 256}}\n",
        bytes);
    CHECK_EQ(tw_machine_parse(ctx, "machine", text, &machine), TW_OK);
    return machine;
}

/* Traffic of the mapping that is the family's best, and of the best of all. */
static void check_shape(const int64_t e[3], int64_t granule, int64_t capacity, int64_t expected)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_plan *plan;
    const tw_tile_choice *choice;
    int64_t tile[3];
    char text[400];
    snprintf(text, sizeof text, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64 ",dtype=f32", e[0], e[1], e[2]);
    CHECK_EQ(tw_model_open(ctx, text, &model), TW_OK);
    const tw_machine *machine = scratchpad(ctx, ELEM_BYTES * capacity);
    CHECK_EQ(tw_traffic_best(ctx, model, 0, "m n k", granule, capacity, &choice), TW_OK);
    int64_t family = ELEM_BYTES * choice->elems;
    if (expected) CHECK_EQ(family, expected);
    for (int l = 0; l < 3; l++) tile[l] = tw_min(choice->tile[l], e[l]);
    snprintf(text, sizeof text,
             "mapping: {matmul: {levels: [{at: pad, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64
             "}, buffers: {ifm: 1, w: 1, ofm: 1}}]}}",
             tile[0], tile[1], tile[2]);
    const tw_mapping *mapping;
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "mapping", text, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
    int64_t units = 0;
    for (int o = 0; o < 3; o++) units += tw_plan_link_use(plan, 0, 1, o)->units;
    CHECK_EQ(units, family);
    tw_search_options options = {
        .n_objectives = 1, .objective = (const tw_objective[]){{TW_TRAFFIC, "pad"}}, .budget = 1000000};
    CHECK_EQ(tw_plan_search(ctx, model, machine, &options, &plan), TW_OK);
    CHECK(tw_plan_search_result(plan, 0)->best <= family);
    tw_context_free(ctx);
}

TEST(all_mappings_together_are_never_worse_than_the_family_of_the_reference)
{
    const char *shared = tw_test_shared();
    if (!shared) skip();
    char path[4096], line[2000];
    snprintf(path, sizeof path, "%s/data/golden/kpu/reference_best_tiles_os_64KiB.jsonl", shared);
    FILE *f = fopen(path, "r");
    if (!f) skip();
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        json_t *record = json_loads(line, 0, NULL);
        CHECK(record != NULL);
        int64_t e[3] = {number(record, "M"), number(record, "N"), number(record, "K")};
        if (e[0] * e[1] * e[2] <= 512 * 512 * 512) {
            check_shape(e, number(record, "granule"), number(record, "cap_elems"), number(record, "best_true"));
            n++;
        }
        json_decref(record);
    }
    fclose(f);
    CHECK(n > 0);
}

TEST(nor_than_that_of_other_shapes_and_capacities)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < tw_test_rounds(40); i++) {
        int64_t e[3], granule = tw_test_pick(&rng, 1, 8);
        for (int l = 0; l < 3; l++) e[l] = tw_test_pick(&rng, 1, 60);
        check_shape(e, granule, 3 * granule * granule + tw_test_pick(&rng, 0, 800), 0);
    }
}
