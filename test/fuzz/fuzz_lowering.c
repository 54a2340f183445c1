/* test/fuzz/fuzz_lowering.c - bytes to the reader of lowering configs.
 *
 * The first byte picks the workload. A refusal comes with a message; what is accepted must be a legal mapping whose
 * printed form reads as the same one, and when it is evaluated its attribute must say the same again. */
#include "emit/quidditch.h"
#include "mapping/mapping.h"
#include "plan/plan.h"

#include "machine/read.h"
#include "model/read.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char cluster[] =
    "machine: cluster\nunit: byte\ntiming: async\n"
    "memories: [{name: l3, size: unlimited}, {name: l1, size: unlimited, placement: bump, whole: true}]\n"
    "engines:\n"
    "  - {name: dma, between: [l3, l1], joins: inputs, cost: {latency: 9, per_cycle: 8}}\n"
    "  - {name: cores, computes: [multiply-add, add], on: l1, cost: {latency: 5, per_cycle: 8}}\n";
static const char *const workload[] = {"matmul_transpose_b:2x30x12:f64", "gemv:9x7",
                                       "matmul:4x6x5,batch=3,transpose=ab",
                                       "matmul_transpose_b:1x24x16:f64,epilogue=add"};

static void expect(bool holds)
{
    if (!holds) abort();
}

static void open_scene(uint8_t which, tw_arena *arena, tw_diag *diag, tw_model *model, tw_machine *machine)
{
    const tw_node *root;
    expect(tw_oneline_parse(workload[which % TW_COUNT(workload)], arena, diag, &root) == TW_OK);
    expect(tw_model_of_tree(root, arena, diag, model) == TW_OK);
    expect(tw_tree_parse("cluster", cluster, strlen(cluster), arena, diag, &root) == TW_OK);
    expect(tw_machine_of_tree(root, arena, diag, machine) == TW_OK);
}

/* The attribute of its plan is a mapping that prints the same. */
static void return_mapping(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                           tw_arena *arena, tw_arena *scratch, tw_diag *diag)
{
    const tw_plan *plan;
    tw_mapping again;
    tw_text attribute = {0}, a = {0}, b = {0};
    expect(tw_mapping_check(mapping, model, machine, diag) == TW_OK);
    expect(tw_plan_build(model, machine, mapping, NULL, &(tw_work){arena, scratch, diag}, &plan) == TW_OK);
    expect(tw_quidditch_can_print(plan) && tw_quidditch_print(plan, diag, &attribute) == TW_OK);
    expect(tw_quidditch_read(attribute.bytes, model, machine, arena, diag, &again) == TW_OK);
    tw_mapping_print(mapping, model, machine, &a);
    tw_mapping_print(&again, model, machine, &b);
    expect(!a.failed && !b.failed && strcmp(a.bytes, b.bytes) == 0);
    tw_text_release(&attribute);
    tw_text_release(&a);
    tw_text_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    tw_diag diag = {0};
    tw_arena *arena = tw_arena_new(), *scratch = tw_arena_new();
    expect(arena && scratch);
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    open_scene(data[0], arena, &diag, &model, &machine);
    char *text = tw_arena_strndup(arena, (const char *)data + 1, size - 1);
    expect(text != NULL);
    tw_status status = tw_quidditch_read(text, &model, &machine, arena, &diag, &mapping);
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (diag.n_errors == 0));
    if (status == TW_OK) return_mapping(&model, &machine, &mapping, arena, scratch, &diag);
    tw_arena_free(scratch);
    tw_arena_free(arena);
    tw_diag_release(&diag);
    return 0;
}
