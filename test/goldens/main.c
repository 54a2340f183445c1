/* test/goldens/main.c - goldens DIR: runs every golden file of a folder and of those inside it, ends with "N passed, N failed". */
#include "goldens.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

void check_value(tally *t, const char *file, const char *id, const char *key, int64_t got, int64_t expected)
{
    if (got == expected) {
        t->passed++;
        return;
    }
    t->failed++;
    printf("FAIL %s %s %s: %" PRId64 ", expected %" PRId64 "\n", file, id, key, got, expected);
}

void check_close(tally *t, const char *file, const char *id, const char *key, double got, double expected,
                 double by)
{
    if (fabs(got - expected) <= by * fabs(expected)) {
        t->passed++;
        return;
    }
    t->failed++;
    printf("FAIL %s %s %s: %.12g, expected %.12g\n", file, id, key, got, expected);
}

void check_text(tally *t, const char *file, const char *id, const char *key, const char *got, const char *expected)
{
    if (strcmp(got, expected) == 0) {
        t->passed++;
        return;
    }
    t->failed++;
    printf("FAIL %s %s %s:\n  got      %s\n  expected %s\n", file, id, key, got, expected);
}

void fail_case(tally *t, const char *file, const char *id, const char *why)
{
    t->failed++;
    printf("FAIL %s %s: %s\n", file, id, why);
}

void skip_part(tally *t, const char *file, const char *part, const char *why)
{
    t->skipped++;
    printf("skip %s %s: %s\n", file, part, why);
}

int64_t member(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

/* ---- files ---- */

static const struct {
    const char *pattern;
    void (*run)(tally *t, const char *file, const json_t *root);
} json_reader[] = {
    {"tick_listings*.json", run_tick_listings},
    {"capacity_solutions*.json", run_capacity},
    {"hierarchy*.json", run_hierarchy},
    {"kpu*.json", run_kpu},
    {"reference_gantt_*.json", run_gantt},
    {"vpu*.json", run_vpu},
    {"stream*.json", run_stream},
};

/* What another tool computed: the file says which. `path` is where it is, since it names other files. */
static const struct {
    const char *key;  /* that files of this kind have      */
    const char *word; /* its value, NULL: any              */
    void (*run)(tally *t, const char *path, const char *file, const json_t *root);
} tool_reader[] = {
    {"tool", "timeloop-model", run_timeloop},
    {"hardware", NULL, run_zigzag},
    {"case", NULL, run_stream_summary},
};

static bool is_of_tool(size_t i, const json_t *root)
{
    const char *word = json_string_value(json_object_get(root, tool_reader[i].key));
    return word && (!tool_reader[i].word || strcmp(word, tool_reader[i].word) == 0);
}

static bool read_tool(tally *t, const char *path, const char *file)
{
    bool known = false;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    for (size_t i = 0; root && !known && i < sizeof tool_reader / sizeof *tool_reader; i++)
        if ((known = is_of_tool(i, root))) tool_reader[i].run(t, path, file, root);
    if (root && json_is_array(root) && fnmatch("*.schedule.json", file, 0) == 0) {
        run_stream_schedule(t, path, file, root);
        known = true;
    }
    json_decref(root);
    return known;
}

/* One record per line. */
static const struct {
    const char *pattern;
    void (*run)(tally *t, const char *file, const json_t *record);
} lines_reader[] = {
    {"reference_best_tiles*.jsonl", run_best_tiles},
    {"reference_credit_schedule*.jsonl", run_credit_record},
    {"reference_tile_traffic*.jsonl", run_tile_traffic},
};

static const struct {
    const char *pattern;
    void (*run)(tally *t, const char *path, const char *file);
} path_reader[] = {
    {"tick_programs*.csv", run_tick_programs},
    {"optima*.csv", run_optima},
    {"snitch*.csv", run_snitch},
    {"summary*.csv", run_tool_table},
    {"accesses*.csv", run_tool_table},
    {"layers*.csv", run_tool_table},
    {"networks*.csv", run_tool_table},
    {"mapper_runs*.csv", run_mapper_runs},
    {"*.cost_lut.csv", run_stream_cells},
    {"*.nodes.csv", run_stream_nodes},
    {"*.transfers.csv", run_stream_transfers},
    {"*.all_allocations.csv", run_stream_allocations},
};

static void run_json(tally *t, const char *path, const char *file,
                     void (*run)(tally *t, const char *file, const json_t *root))
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_case(t, file, "", error.text);
    else
        run(t, file, root);
    json_decref(root);
}

/* False when no reader knows files of this name. */
static bool read_file(tally *t, const char *path, const char *file)
{
    for (size_t i = 0; i < sizeof json_reader / sizeof *json_reader; i++)
        if (fnmatch(json_reader[i].pattern, file, 0) == 0) {
            run_json(t, path, file, json_reader[i].run);
            return true;
        }
    for (size_t i = 0; i < sizeof lines_reader / sizeof *lines_reader; i++)
        if (fnmatch(lines_reader[i].pattern, file, 0) == 0) {
            run_json_lines(t, path, file, lines_reader[i].run);
            return true;
        }
    for (size_t i = 0; i < sizeof path_reader / sizeof *path_reader; i++)
        if (fnmatch(path_reader[i].pattern, file, 0) == 0) {
            path_reader[i].run(t, path, file);
            return true;
        }
    if (fnmatch("*.json", file, 0) == 0) return read_tool(t, path, file);
    return false;
}

static void run_file(tally *t, const char *dir, const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    int64_t before = t->passed;
    if (fnmatch("measured_*", file, 0) == 0)
        skip_part(t, file, "(whole file)", "what another program printed, right or wrong");
    else if (fnmatch("rates*.csv", file, 0) == 0 || fnmatch("model_time*.csv", file, 0) == 0)
        skip_part(t, file, "(whole file)", "how long another program took");
    else if (!read_file(t, path, file))
        skip_part(t, file, "(whole file)", "nothing computes this yet");
    else
        printf("%-34s %" PRId64 " values passed\n", file, t->passed - before);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int is_golden(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    if (e->d_type == DT_DIR) return e->d_name[0] != '.';
    return dot && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".json") == 0 || strcmp(dot, ".jsonl") == 0);
}

/* The files of a folder and of those inside it; false with errno when it cannot be read. */
static bool run_folder(tally *t, const char *dir)
{
    struct dirent **entry;
    int n = scandir(dir, &entry, is_golden, by_name);
    for (int i = 0; i < n; i++) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", dir, entry[i]->d_name);
        if (entry[i]->d_type != DT_DIR)
            run_file(t, dir, entry[i]->d_name);
        else if (!run_folder(t, inner))
            fail_case(t, inner, "", strerror(errno));
        free(entry[i]);
    }
    if (n >= 0) free(entry);
    return n >= 0;
}

int main(int argc, char **argv)
{
    tally t = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: goldens DIR\n");
        return 64;
    }
    if (!run_folder(&t, argv[1])) {
        perror(argv[1]);
        return 2;
    }
    if (t.passed + t.failed == 0) fprintf(stderr, "%s holds no golden file that is computed\n", argv[1]);
    printf("%" PRId64 " passed, %" PRId64 " failed, %" PRId64 " skipped\n", t.passed, t.failed, t.skipped);
    return t.failed > 0 || t.passed == 0;
}
