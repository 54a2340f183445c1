/* test/fuzz/fuzz_yaml.c - bytes to every reader of text.
 *
 * The first byte picks the reader: o one-line workload, w workload file, m machine file, p mapping
 * file (of a fixed workload and machine), a the same for an async machine, l and k a partial mapping of the first and of
 * the second; anything else only the tree. What a reader accepts must pass its validator, and its printed form must be
 * read again and print the same. An async mapping is also built and run: it ends, or it is refused. A mapping, as limits,
 * allows itself. */
#include "machine/read.h"
#include "mapping/fusion.h"
#include "mapping/limits.h"
#include "model/read.h"
#include "program/program.h"
#include "sim/timeline.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char fixed_machine[] =
    "machine: fixed\nunit: byte\ntiming: lockstep\n"
    "memories: [{name: dram, size: unlimited}, {name: l2, size: 1 MiB}, {name: l1, size: 64 KiB, align: 64}]\n"
    "engines:\n"
    "  - {name: dma, between: [dram, l2], channels: 1, cost: {latency: 9, per_cycle: 8}}\n"
    "  - {name: mover, between: [l2, l1], channels: unlimited, cost: {step: 64, per_step: 2}}\n"
    "  - {name: mac, computes: [multiply-add, max], on: l1, accumulate: [separate, in-place], cost: {constant: "
    "1}}\n"
    "  - {name: adder, computes: sum, on: l1, shares: mac, cost: {constant: 1}}\n";
static const char async_machine[] =
    "machine: fixed\nunit: byte\ntiming: async\n"
    "memories: [{name: dram, size: unlimited}, {name: l2, size: 1 MiB}, {name: l1, size: 64 KiB, holds: inputs}, "
    "{name: fab, size: 64 KiB, holds: output}]\n"
    "engines:\n"
    "  - {name: dma, between: [dram, l2], cost: {latency: 9, per_cycle: 8}, pipelined: true}\n"
    "  - {name: stream, between: [l2, l1], carries: in, joins: inputs, count: 2, cost: {constant: 3, busy: 1}}\n"
    "  - {name: drain, between: [l2, fab], cost: {step: 64, per_step: 2}}\n"
    "  - {name: mac, computes: multiply-add, on: fab, cost: {array: [4, 4]}}\n";
static const char fixed_workload[] = "workload: fixed\nops: [{name: fc, op: matmul, shape: [100, 64, 30]},\n"
                                     " {name: c1, op: conv, shape: [3, 9, 9], out: 4, kernel: 3, pad: 1}]\n";

typedef struct input {
    const char *bytes;
    size_t n;
    tw_arena *arena;
    tw_diag *diag;
} input;

static void expect(bool holds)
{
    if (!holds) abort();
}

/* A refusal comes with at least one message, an acceptance with none. */
static tw_status checked(const input *in, tw_status status)
{
    expect(status == TW_OK || status == TW_ERR_INPUT);
    expect((status == TW_OK) == (in->diag->n_errors == 0));
    return status;
}

static tw_status tree_of(const input *in, const tw_node **root)
{
    return checked(in, tw_tree_parse("fuzz", in->bytes, in->n, in->arena, in->diag, root));
}

static tw_status read_model(const input *in, tw_model *out)
{
    const tw_node *root;
    TW_TRY(tree_of(in, &root));
    return checked(in, tw_model_of_tree(root, in->arena, in->diag, out));
}

static tw_status read_machine(const input *in, tw_machine *out)
{
    const tw_node *root;
    TW_TRY(tree_of(in, &root));
    return checked(in, tw_machine_of_tree(root, in->arena, in->diag, out));
}

static input fixed(const input *in, const char *text) { return (input){text, strlen(text), in->arena, in->diag}; }

/* The printed forms must agree; releases both. */
static void expect_same(tw_text *a, tw_text *b)
{
    expect(!a->failed && !b->failed && strcmp(a->bytes, b->bytes) == 0);
    tw_text_release(a);
    tw_text_release(b);
}

static void return_model(const input *in, const tw_model *model)
{
    tw_text a = {0}, b = {0};
    tw_model again;
    expect(tw_model_check(model, in->diag) == TW_OK);
    tw_model_print(model, &a);
    input printed = fixed(in, a.bytes);
    expect(read_model(&printed, &again) == TW_OK);
    tw_model_print(&again, &b);
    expect_same(&a, &b);
}

static void try_model(const input *in)
{
    tw_model model;
    if (read_model(in, &model) == TW_OK) return_model(in, &model);
}

static void try_oneline(const input *in)
{
    const tw_node *root;
    tw_model model;
    char *line = tw_arena_strndup(in->arena, in->bytes, in->n);
    expect(line != NULL);
    if (checked(in, tw_oneline_parse(line, in->arena, in->diag, &root)) != TW_OK) return;
    if (checked(in, tw_model_of_tree(root, in->arena, in->diag, &model)) == TW_OK) return_model(in, &model);
}

static void try_machine(const input *in)
{
    tw_text a = {0}, b = {0};
    tw_machine machine, again;
    if (read_machine(in, &machine) != TW_OK) return;
    expect(tw_machine_check(&machine, in->diag) == TW_OK);
    tw_machine_print(&machine, &a);
    input printed = fixed(in, a.bytes);
    expect(read_machine(&printed, &again) == TW_OK);
    tw_machine_print(&again, &b);
    expect_same(&a, &b);
}

static tw_status read_mapping(const input *in, const tw_model *model, const tw_machine *machine, tw_mapping *out)
{
    const tw_node *root;
    TW_TRY(tree_of(in, &root));
    return checked(in, tw_mapping_of_tree(root, model, machine, in->arena, in->diag, out));
}

static tw_status read_limits(const input *in, const tw_model *model, const tw_machine *machine, tw_limits *out)
{
    const tw_node *root;
    TW_TRY(tree_of(in, &root));
    return checked(in, tw_limits_of_tree(root, model, machine, in->arena, in->diag, out));
}

/* Whether it has nothing that limits refuse, and no `min_tile` that its own cuts may violate. */
static bool is_searched(const tw_op_map *map)
{
    for (int l = 0; l < map->n_levels; l++) {
        if (map->level[l].serpentine || map->level[l].min_tile > 1) return false;
        for (int i = 0; i < TW_MAX_OPERANDS; i++)
            if (map->level[l].shares[i] != 0) return false;
    }
    return true;
}

static void return_limits(const input *printed, const tw_model *model, const tw_machine *machine,
                          const tw_mapping *mapping)
{
    tw_limits limits;
    for (int o = 0; o < model->n_ops; o++)
        if (!is_searched(&mapping->op[o])) return;
    expect(read_limits(printed, model, machine, &limits) == TW_OK);
    for (int o = 0; o < model->n_ops; o++)
        expect(tw_limits_allow(&limits.op[o], &model->op[o], machine, &mapping->op[o]));
}

static bool is_empty(const tw_number_limit *limit, int64_t most)
{
    int64_t least = tw_number_above(limit, 1);
    return least == 0 || least > most;
}

/* Every set of counts and buffers has a number. */
static void try_limits(const input *in, const char *machine_of)
{
    tw_model model;
    tw_machine machine;
    tw_limits limits;
    input workload_text = fixed(in, fixed_workload), machine_text = fixed(in, machine_of);
    expect(read_model(&workload_text, &model) == TW_OK && read_machine(&machine_text, &machine) == TW_OK);
    if (read_limits(in, &model, &machine, &limits) != TW_OK) return;
    expect(limits.n_ops == model.n_ops);
    for (int o = 0; o < model.n_ops; o++)
        for (int l = 0; l < limits.op[o].n_levels; l++) {
            const tw_level_limits *level = &limits.op[o].level[l];
            expect(level->cuts != 0 && level->accumulate != 0 && level->min_tile >= 1);
            expect(level->pass != 1 || l < limits.op[o].n_levels - 1);
            for (int i = 0; i < model.op[o].n_loops; i++)
                expect(!is_empty(&level->tiles[i], model.op[o].loop[i].extent));
            for (int i = 0; i < model.op[o].n_operands; i++)
                expect(level->keep[i] != 0 && !is_empty(&level->slots[i], TW_MAX_CREDITS));
        }
}

/* Programs that are short enough to be run for every input. */
static void run_mapping(const input *in, const tw_model *model, const tw_machine *machine,
                        const tw_mapping *mapping)
{
    enum { MOST_EXECS = 20000 };
    for (int o = 0; o < model->n_ops; o++) {
        tw_program program;
        tw_timeline timeline;
        tw_machine view = *machine;
        view.fusion = tw_fusion_of(mapping->op, model->n_ops, o);
        if (tw_program_build(&(tw_problem){model, o, &view}, &mapping->op[o], in->arena, in->diag, &program) !=
            TW_OK)
            continue;
        if (program.n_execs > MOST_EXECS) continue;
        tw_status status = tw_timeline_run(&program, in->arena, in->diag, &timeline);
        expect(status == TW_INFEASIBLE || (status == TW_OK && timeline.sum.macs == tw_op_points(program.op)));
    }
}

static void try_mapping(const input *in, const char *machine_of, bool runs)
{
    tw_text a = {0}, b = {0};
    tw_model model;
    tw_machine machine;
    tw_mapping mapping, again;
    input workload_text = fixed(in, fixed_workload), machine_text = fixed(in, machine_of);
    expect(read_model(&workload_text, &model) == TW_OK && read_machine(&machine_text, &machine) == TW_OK);
    if (read_mapping(in, &model, &machine, &mapping) != TW_OK) return;
    expect(tw_mapping_check(&mapping, &model, &machine, in->diag) == TW_OK);
    tw_mapping_print(&mapping, &model, &machine, &a);
    input printed = fixed(in, a.bytes);
    expect(read_mapping(&printed, &model, &machine, &again) == TW_OK);
    tw_mapping_print(&again, &model, &machine, &b);
    if (mapping.n_groups == 0) return_limits(&printed, &model, &machine, &mapping);
    expect_same(&a, &b);
    if (runs && mapping.n_groups == 0) run_mapping(in, &model, &machine, &mapping);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    tw_diag diag = {0};
    input in = {(const char *)data + 1, size - 1, tw_arena_new(), &diag};
    const tw_node *root;
    expect(in.arena != NULL);
    switch (data[0]) {
    case 'o': try_oneline(&in); break;
    case 'w': try_model(&in); break;
    case 'm': try_machine(&in); break;
    case 'p': try_mapping(&in, fixed_machine, false); break;
    case 'a': try_mapping(&in, async_machine, true); break;
    case 'l': try_limits(&in, fixed_machine); break;
    case 'k': try_limits(&in, async_machine); break;
    default: (void)tree_of(&in, &root);
    }
    tw_arena_free(in.arena);
    tw_diag_release(&diag);
    return 0;
}
