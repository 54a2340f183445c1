/* test/api/test_message.c - messages taken apart are the messages; the header and the library agree about the version. */
#include "tilewright/tilewright.h"
#include "tw_test.h"

#include <string.h>

/* Puts the parts together again. */
static void check_parts(const tw_context *ctx, int i, tw_message_kind kind)
{
    static const char *const word[] = {"", "error", "infeasible", "note", "stopped"};
    tw_message m = tw_context_message_parts(ctx, i);
    char text[4096];
    int n = snprintf(text, sizeof text, "%.*s", m.n_file, m.file);
    if (m.n_file > 0) n += snprintf(text + n, sizeof text - (size_t)n, ":");
    if (m.line > 0) n += snprintf(text + n, sizeof text - (size_t)n, "%d:%d:", m.line, m.col);
    snprintf(text + n, sizeof text - (size_t)n, "%s%s: %s", m.n_file > 0 ? " " : "", word[m.kind], m.text);
    assert_string_equal(text, tw_context_message(ctx, i));
    CHECK_EQ(m.kind, kind);
}

TEST(a_message_is_its_parts)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    CHECK_EQ(tw_model_parse(ctx, "bad\n.yaml",
                            "workload: w\nops: [{name: a, op: matmul, shape: [4, 4, 4], dtype: i9}]\n", &model),
             TW_ERR_INPUT);
    check_parts(ctx, 0, TW_MESSAGE_ERROR);
    CHECK_EQ(tw_context_message_parts(ctx, 0).line, 2);
    CHECK(tw_context_message_parts(ctx, 0).n_file > (int)strlen("bad.yaml"));
    tw_context_clear_messages(ctx);
    CHECK_EQ(tw_model_open(ctx, "matmul:512x512x512", &model), TW_OK);
    CHECK_EQ(tw_machine_open(ctx, "tick-10k", &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "m",
                              "mapping: {matmul: {levels: [{at: buffer, tiles: {m: 4}}]}}", &mapping),
             TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_INFEASIBLE);
    check_parts(ctx, 0, TW_MESSAGE_INFEASIBLE);
    for (int i = 1; i < tw_context_n_messages(ctx); i++) check_parts(ctx, i, TW_MESSAGE_NOTE);
    CHECK(tw_context_n_messages(ctx) > 1);
    tw_context_clear_messages(ctx);
    tw_context_interrupt(ctx);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_INFEASIBLE);
    tw_context_free(ctx);
}

TEST(the_header_and_the_library_agree_about_the_version)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH);
    assert_string_equal(tw_version(), text);
    CHECK_EQ(tw_version_number(), TW_VERSION_NUMBER);
}
