/* test/error/test_error.c - bad inputs and the exact messages they cause.
 *
 * Every case is a file NAME.KIND of this folder, where KIND is machine.yaml, workload.yaml, mapping.yaml
 * or oneline, and a file NAME.expected with all its messages, one per line. A mapping is read for
 * matmul:128x128x512 on examples/machines/tick-three-level.yaml, or as its first line says:
 *
 *     # with WORKLOAD on MACHINE-FILE
 *
 * NAME.rival.yaml is a file of another tool; its first line names the files that it is read with, if there are any, and what is
 * read is counted, or if it is a machine with several cores, its table:
 *
 *     # with FILE FILE
 *
 * A case without its expectation, and an expectation without its case, are failures. */
#include "tilewright/rivals.h"
#include "tw_read.h"

#include <dirent.h>
#include <unistd.h>

static const char *const kinds[] = {".machine.yaml", ".workload.yaml", ".mapping.yaml", ".oneline", ".rival.yaml"};
enum { MACHINE, WORKLOAD, MAPPING, ONELINE, RIVAL, N_KINDS };
enum { RIVAL_FILES = 8 };

/* Length of the name before `ending`, 0 when the file does not end so. */
static size_t stem(const char *file, const char *ending)
{
    size_t n = strlen(file), e = strlen(ending);
    return n > e && strcmp(file + n - e, ending) == 0 ? n - e : 0;
}

static int kind_of(const char *file, size_t *n)
{
    for (int k = 0; k < N_KINDS; k++)
        if ((*n = stem(file, kinds[k])) > 0) return k;
    return -1;
}

static tw_status run_mapping(tw_bench *b, const char *file, const char *text)
{
    char workload[200] = "matmul:128x128x512", machine[200] = "examples/machines/tick-three-level.yaml";
    tw_model model;
    tw_machine m;
    tw_mapping mapping;
    int fields = sscanf(text, "# with %199s on %199s", workload, machine);
    CHECK(fields == 0 || fields == 2);
    bool is_file = strstr(workload, ".yaml") != NULL;
    CHECK_EQ(tw_read_model(b, file, is_file ? tw_read_source(b, workload) : workload, &model), TW_OK);
    CHECK_EQ(tw_read_machine(b, machine, tw_read_source(b, machine), &m), TW_OK);
    return tw_read_mapping(b, file, text, &model, &m, &mapping);
}

static tw_status run_oneline(tw_bench *b, const char *file, char *text)
{
    tw_model model;
    text[strcspn(text, "\n")] = 0;
    return tw_read_model(b, file, text, &model);
}

/* The files that the first line names, behind the case itself. */
static int rival_files(tw_bench *b, const char *file, const char *text, tw_rival_text *out)
{
    char *line = tw_arena_strndup(b->arena, text, strcspn(text, "\n")), *rest = line + strlen("# with ");
    int n = 1;
    out[0] = (tw_rival_text){file, text};
    if (strncmp(line, "# with ", strlen("# with ")) != 0) return n;
    for (const char *name = strsep(&rest, " "); name; name = strsep(&rest, " ")) {
        CHECK(n < RIVAL_FILES);
        out[n++] = (tw_rival_text){name, tw_read_source(b, name)};
    }
    return n;
}

/* The messages of the context become those of the bench. */
static void take_messages(tw_context *ctx, tw_bench *b)
{
    for (int i = 0; i < tw_context_n_messages(ctx) && b->diag.n_texts < TW_DIAG_MAX; i++)
        b->diag.text[b->diag.n_texts++] = strdup(tw_context_message(ctx, i));
}

static tw_status run_rival(tw_bench *b, const char *file, const char *text)
{
    tw_context *ctx = tw_context_new();
    tw_rival_text part[RIVAL_FILES];
    const tw_rival *rival;
    const tw_account *account;
    const tw_core_table *table;
    tw_status status = tw_rival_parse(ctx, part, rival_files(b, file, text, part), &rival);
    if (status == TW_OK && tw_rival_n_cores(rival) > 0)
        status = tw_rival_table(ctx, rival, NULL, &table);
    else if (status == TW_OK)
        status = tw_rival_count(ctx, rival, 0, tw_rival_rules(rival), &account);
    take_messages(ctx, b);
    tw_context_free(ctx);
    return status == TW_INFEASIBLE ? TW_ERR_INPUT : status;
}

static tw_status run(tw_bench *b, int kind, const char *file, char *text)
{
    tw_machine machine;
    tw_model model;
    switch (kind) {
    case MACHINE: return tw_read_machine(b, file, text, &machine);
    case WORKLOAD: return tw_read_model(b, file, text, &model);
    case MAPPING: return run_mapping(b, file, text);
    case RIVAL: return run_rival(b, file, text);
    default: return run_oneline(b, file, text);
    }
}

static char *read_case(tw_bench *b, const char *file)
{
    const char *text = tw_read_source(b, tw_arena_printf(b->arena, "test/error/%s", file));
    return tw_arena_strndup(b->arena, text, strlen(text));
}

/* All messages of the run, one per line. */
static const char *messages(tw_bench *b)
{
    char *all = "";
    for (int i = 0; i < b->diag.n_texts; i++) all = tw_arena_printf(b->arena, "%s%s\n", all, b->diag.text[i]);
    return all;
}

static void check_case(const char *file, int kind, size_t n)
{
    tw_bench b = tw_bench_new();
    tw_status status = run(&b, kind, file, read_case(&b, file));
    const char *got = messages(&b);
    CHECK_EQ(status, TW_ERR_INPUT);
    CHECK_STR(got, read_case(&b, tw_arena_printf(b.arena, "%.*s.expected", (int)n, file)));
    tw_bench_free(&b);
}

static bool exists(tw_bench *b, const char *folder, const char *file, size_t n, const char *ending)
{
    return access(tw_arena_printf(b->arena, "%s/%.*s%s", folder, (int)n, file, ending), R_OK) == 0;
}

/* Exactly one case belongs to an expectation. */
static void check_expectation(const char *folder, const char *file, size_t n)
{
    tw_bench b = tw_bench_new();
    int cases = 0;
    for (int k = 0; k < N_KINDS; k++) cases += exists(&b, folder, file, n, kinds[k]);
    if (cases != 1) print_error("%s belongs to %d cases\n", file, cases);
    CHECK_EQ(cases, 1);
    tw_bench_free(&b);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

TEST(every_bad_input_causes_exactly_the_messages_that_are_expected)
{
    const char *source = getenv("TW_SOURCE");
    char folder[4096];
    struct dirent **entry;
    int n_cases = 0;
    snprintf(folder, sizeof folder, "%s/test/error", source ? source : ".");
    int n = scandir(folder, &entry, NULL, by_name);
    CHECK(n > 0);
    for (int i = 0; i < n; i++) {
        const char *file = entry[i]->d_name;
        size_t length;
        int kind = kind_of(file, &length);
        if (kind >= 0) {
            check_case(file, kind, length);
            n_cases++;
        } else if ((length = stem(file, ".expected")) > 0) {
            check_expectation(folder, file, length);
        }
        free(entry[i]);
    }
    free(entry);
    CHECK(n_cases >= 36);
}
