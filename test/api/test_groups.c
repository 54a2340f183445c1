/* test/api/test_groups.c - what the public interface says of a plan of groups, and that nothing it can be asked ends badly. */
#include "tilewright/build.h"
#include "tw_test.h"

#include <string.h>

static const char model_text[] = "workload: two-products\n"
                                 "ops:\n"
                                 "  - {name: wide, op: matmul, shape: [64, 64, 64], dtype: i8}\n"
                                 "  - {name: narrow, op: matmul, shape: [16, 32, 32], dtype: i8}\n";
static const char machine_text[] =
    "machine: big-little\n"
    "unit: byte\n"
    "timing: async\n"
    "memories:\n"
    "  - {name: dram, size: unlimited, energy: 100 pJ}\n"
    "ports:\n"
    "  - {name: ddr, memory: dram, per_cycle: 16, word: 4}\n"
    "cores:\n"
    "  - name: big\n"
    "    memories: [{name: l1, size: 64 KiB}]\n"
    "    engines:\n"
    "      - {name: dma, between: [dram, l1], cost: {latency: 24, per_cycle: 16}}\n"
    "      - {name: array, computes: multiply-add, memory: l1, cost: {array: [16, 16], latency: 16}}\n"
    "  - name: little\n"
    "    memories: [{name: l1, size: 16 KiB}]\n"
    "    engines:\n"
    "      - {name: dma, between: [dram, l1], cost: {latency: 24, per_cycle: 8}}\n"
    "      - {name: array, computes: multiply-add, memory: l1, cost: {array: [4, 4], latency: 4}}\n";
static const char mapping_text[] = "groups:\n"
                                   "  - core: big\n"
                                   "    ops: [wide]\n"
                                   "    levels: [{at: l1, sizes: {m: 32, n: 32}}]\n"
                                   "  - core: little\n"
                                   "    ops: [narrow]\n"
                                   "    levels: [{at: l1, sizes: {m: 16, n: 16}}]\n";

typedef struct asked {
    tw_context *ctx;
    const tw_plan *plan;
} asked;

static asked make_plan(void)
{
    asked a = {.ctx = tw_context_new()};
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    bool made = tw_model_parse(a.ctx, "model", model_text, &model) == TW_OK &&
                tw_machine_parse(a.ctx, "machine", machine_text, &machine) == TW_OK &&
                tw_mapping_parse(a.ctx, model, machine, "mapping", mapping_text, &mapping) == TW_OK &&
                tw_plan_eval(a.ctx, model, machine, mapping, &a.plan) == TW_OK;
    for (int i = 0; i < tw_context_n_messages(a.ctx); i++) fprintf(stderr, "%s\n", tw_context_message(a.ctx, i));
    CHECK(made);
    return a;
}

TEST(groups_and_their_operators_are_told)
{
    asked a = make_plan();
    CHECK_EQ(tw_plan_n_groups(a.plan), 2);
    int64_t execs = 0, macs = 0;
    for (int g = 0; g < 2; g++) {
        tw_group_use group = tw_plan_group_use(a.plan, g);
        CHECK_EQ(group.n_ops, 1);
        tw_group_op_use op = tw_plan_group_op_use(a.plan, g, 0);
        CHECK_EQ(op.op, g);
        CHECK_STR(op.engine, g ? "little.array" : "big.array");
        CHECK(group.start_cycle == op.start_cycle && group.end_cycle == op.end_cycle);
        CHECK(op.start_cycle < op.end_cycle && op.end_cycle <= tw_plan_summary(a.plan)->cycles);
        CHECK_EQ(tw_plan_op_summary(a.plan, g)->cycles, op.end_cycle);
        execs += op.execs;
        macs += op.macs;
    }
    CHECK_EQ(execs, tw_plan_summary(a.plan)->execs);
    CHECK_EQ(macs, tw_plan_summary(a.plan)->macs);
    CHECK_EQ(macs, 64 * 64 * 64 + 16 * 32 * 32);
    tw_context_free(a.ctx);
}

TEST(engines_and_memories_are_those_of_all_cores)
{
    asked a = make_plan();
    static const char *const engine[] = {"big.dma", "big.array", "little.dma", "little.array"};
    static const char *const memory[] = {"dram", "big.l1", "little.l1"};
    CHECK_EQ(tw_plan_n_engines(a.plan), 4);
    for (int e = 0; e < 4; e++) CHECK_STR(tw_plan_engine_use(a.plan, 0, e)->engine, engine[e]);
    CHECK_EQ(tw_plan_n_memories(a.plan), 3);
    for (int m = 0; m < 3; m++) CHECK_STR(tw_plan_memory_use(a.plan, 1, m)->memory, memory[m]);
    tw_context_free(a.ctx);
}

static tw_status count(void *user, const tw_row *row)
{
    CHECK_EQ(row->n_actions, 1);
    ++*(int64_t *)user;
    return TW_OK;
}

TEST(a_walk_has_the_commands_of_its_operator)
{
    asked a = make_plan();
    int64_t n[2] = {0};
    for (int op = 0; op < 2; op++) CHECK_EQ(tw_plan_walk(a.ctx, a.plan, op, count, &n[op]), TW_OK);
    CHECK(n[0] > 0 && n[1] > 0);
    CHECK_EQ(n[0] + n[1], tw_plan_summary(a.plan)->instructions);
    tw_context_free(a.ctx);
}

TEST(what_operators_have_otherwise_is_empty)
{
    asked a = make_plan();
    const tw_buffer_info *buffer;
    int n = -1;
    CHECK_EQ(tw_plan_n_levels(a.plan, 0), 0);
    CHECK_EQ(tw_plan_n_loops(a.plan, 0), 3);
    CHECK_STR(tw_plan_loop_name(a.plan, 1, 2), "k");
    CHECK_EQ(tw_plan_n_operands(a.plan, 0), 3);
    CHECK(!tw_plan_link_use(a.plan, 0, 1, 0)->inner);
    CHECK_EQ(tw_plan_pool_use(a.plan, 0, 1, 0)->n_operands, 0);
    CHECK_EQ(tw_plan_n_placements(a.plan), 0);
    CHECK_EQ(tw_plan_buffers(a.ctx, a.plan, 0, &buffer, &n), TW_OK);
    CHECK_EQ(n, 0);
    CHECK(!tw_plan_search_result(a.plan, 0));
    CHECK_EQ(tw_plan_n_front(a.plan, 0), 0);
    CHECK(!tw_plan_has_lowering(a.plan));
    CHECK(tw_plan_confirms(a.plan));
    tw_context_free(a.ctx);
}

TEST(everything_is_printed_or_refused_with_a_message)
{
    asked a = make_plan();
    const tw_injection_summary *sum;
    const tw_remedy *remedy;
    int n;
    FILE *out = tmpfile();
    CHECK(out);
    CHECK_EQ(tw_plan_print_text(a.ctx, a.plan, NULL, NULL, out), TW_OK);
    CHECK_EQ(tw_plan_print_json(a.ctx, a.plan, NULL, NULL, out), TW_OK);
    CHECK_EQ(tw_plan_print_html(a.ctx, a.plan, NULL, NULL, out), TW_OK);
    CHECK_EQ(tw_plan_print_events(a.ctx, a.plan, TW_FORMAT_CSV, NULL, out), TW_OK);
    CHECK_EQ(tw_plan_print_gantt(a.ctx, a.plan, 1, 0, 0, NULL, out), TW_OK);
    CHECK_EQ(tw_plan_print_trace(a.ctx, a.plan, TW_TRACE_CHROME, false, out), TW_OK);
    CHECK_EQ(tw_plan_print_trace(a.ctx, a.plan, TW_TRACE_PERFETTO, true, out), TW_OK);
    CHECK_EQ(tw_plan_print_map(a.ctx, a.plan, NULL, out), TW_OK);
    CHECK_EQ(tw_plan_print_mapping(a.ctx, a.plan, out), TW_OK);
    CHECK_EQ(tw_plan_plot(a.ctx, a.plan, &(tw_plot_options){.image = TW_IMAGE_SVG}, out), TW_OK);
    CHECK_EQ(tw_plan_remedies(a.ctx, a.plan, NULL, &remedy, &n), TW_OK);
    CHECK(n > 0);
    CHECK_EQ(tw_context_n_messages(a.ctx), 0);
    CHECK_EQ(tw_plan_print_symbolic(a.ctx, a.plan, NULL, out), TW_ERR_INPUT);
    CHECK_EQ(tw_plan_print_injection(a.ctx, a.plan, TW_FORMAT_TEXT, NULL, NULL, out), TW_ERR_INPUT);
    CHECK_EQ(tw_plan_injection(a.ctx, a.plan, 0, NULL, NULL, NULL, &sum), TW_ERR_INPUT);
    CHECK_EQ(tw_plan_print_lowering(a.ctx, a.plan, out), TW_ERR_INPUT);
    CHECK_EQ(tw_plan_print_gantt(a.ctx, a.plan, 0, 5, 1 << 30, NULL, out), TW_ERR_INPUT);
    CHECK_EQ(tw_plan_plot(a.ctx, a.plan, &(tw_plot_options){.kind = TW_PLOT_LOSSES, .image = TW_IMAGE_SVG}, out),
             TW_OK);
    CHECK_EQ(tw_plan_plot(a.ctx, a.plan, &(tw_plot_options){.kind = TW_PLOT_BUFFERS, .image = TW_IMAGE_SVG}, out),
             TW_OK);
    for (tw_plot_kind kind = TW_PLOT_ROOFLINE; kind < TW_PLOT_LOSSES; kind++)
        CHECK_EQ(tw_plan_plot(a.ctx, a.plan, &(tw_plot_options){.kind = kind, .image = TW_IMAGE_SVG}, out),
                 TW_ERR_INPUT);
    CHECK_EQ(tw_context_n_messages(a.ctx), 8);
    fclose(out);
    tw_context_free(a.ctx);
}
