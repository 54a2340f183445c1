/* test/input/test_formats.c - the examples in docs/formats.md are accepted as they stand there.
 *
 * An indented block that begins with `workload:`, `machine:`, `# for` or `# limits for` is a complete file; the lines of
 * the block that begins with `kind:` are one-line workloads. */
#include "mapping/limits.h"
#include "tw_read.h"

/* The indented block at `text`, without its indentation; *end is behind it. */
static char *take_block(tw_bench *b, const char *text, const char **end)
{
    tw_text t = {0};
    while (strncmp(text, "    ", 4) == 0 || *text == '\n') {
        size_t n = strcspn(text, "\n"), skip = *text == '\n' ? 0 : 4;
        tw_text_add(&t, text + skip, n - skip + 1);
        text += n + 1;
    }
    *end = text;
    char *copy = tw_arena_strndup(b->arena, t.bytes, t.len);
    tw_text_release(&t);
    return copy;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static void check_lines(tw_bench *b, char *lines)
{
    tw_model model;
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!begins(line, "kind:")) CHECK_EQ(tw_read_model(b, NULL, line, &model), TW_OK);
}

static void check_mapping(tw_bench *b, const char *text, bool partial)
{
    static const char path[] = "examples/machines/tick-three-level.yaml";
    tw_model model;
    tw_machine machine;
    tw_mapping mapping;
    tw_limits limits;
    const tw_node *root;
    CHECK_EQ(tw_read_model(b, NULL, "matmul:128x128x512", &model), TW_OK);
    CHECK_EQ(tw_read_machine(b, path, tw_read_source(b, path), &machine), TW_OK);
    if (!partial) CHECK_EQ(tw_read_mapping(b, "formats.md", text, &model, &machine, &mapping), TW_OK);
    CHECK_EQ(tw_read_tree(b, "formats.md", text, &root), TW_OK);
    CHECK_EQ(tw_limits_of_tree(root, &model, &machine, b->arena, &b->diag, &limits), TW_OK);
}

/* Whether the block is an example, which is then checked. */
static bool check_block(tw_bench *b, char *block)
{
    tw_model model;
    tw_machine machine;
    if (begins(block, "workload:"))
        CHECK_EQ(tw_read_model(b, "formats.md", block, &model), TW_OK);
    else if (begins(block, "machine:"))
        CHECK_EQ(tw_read_machine(b, "formats.md", block, &machine), TW_OK);
    else if (begins(block, "# for matmul:128x128x512 on tick-three-level"))
        check_mapping(b, block, false);
    else if (begins(block, "# limits for matmul:128x128x512 on tick-three-level"))
        check_mapping(b, block, true);
    else if (begins(block, "kind:"))
        check_lines(b, block);
    else
        return false;
    return true;
}

TEST(the_examples_of_the_documentation_are_accepted)
{
    tw_bench b = tw_bench_new();
    int n = 0;
    for (const char *at = tw_read_source(&b, "docs/formats.md"); *at;) {
        const char *end = at + strcspn(at, "\n") + 1;
        if (begins(at, "    ")) n += check_block(&b, take_block(&b, at, &end));
        at = end;
    }
    CHECK_EQ(n, 5);
    tw_bench_free(&b);
}
