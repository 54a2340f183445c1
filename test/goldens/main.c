/* test/goldens/main.c - goldens DIR: runs every golden file of a folder, ends with "N passed, N failed". */
#include "goldens.h"

#include <dirent.h>
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

void skip_part(tally *t, const char *file, const char *part)
{
    t->skipped++;
    printf("skip %s %s: nothing computes this yet\n", file, part);
}

int64_t member(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

/* ---- files ---- */

static const struct {
    const char *file;
    void (*run)(tally *t, const char *file, const json_t *root);
} json_reader[] = {
    {"tick_listings.json", run_tick_listings},
    {"capacity_solutions.json", run_capacity},
    {"hierarchy.json", run_hierarchy},
    {"vpu.json", run_vpu},
};

static bool run_json(tally *t, const char *path, const char *file)
{
    for (size_t i = 0; i < sizeof json_reader / sizeof *json_reader; i++) {
        if (strcmp(json_reader[i].file, file) != 0) continue;
        json_error_t error;
        json_t *root = json_load_file(path, 0, &error);
        if (!root)
            fail_case(t, file, "", error.text);
        else
            json_reader[i].run(t, file, root);
        json_decref(root);
        return true;
    }
    return false;
}

static void run_file(tally *t, const char *dir, const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    int64_t before = t->passed;
    if (strcmp(file, "tick_programs.csv") == 0)
        run_tick_programs(t, path, file);
    else if (strcmp(file, "reference_tile_traffic.jsonl") == 0)
        run_tile_traffic(t, path, file);
    else if (!run_json(t, path, file)) {
        skip_part(t, file, "(whole file)");
        return;
    }
    printf("%-28s %" PRId64 " values passed\n", file, t->passed - before);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int is_golden(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return dot && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".json") == 0 || strcmp(dot, ".jsonl") == 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: goldens DIR\n");
        return 64;
    }
    struct dirent **entry;
    int n = scandir(argv[1], &entry, is_golden, by_name);
    if (n < 0) {
        perror(argv[1]);
        return 2;
    }
    tally t = {0};
    for (int i = 0; i < n; i++) {
        run_file(&t, argv[1], entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (t.passed + t.failed == 0) fprintf(stderr, "%s holds no golden file that is computed\n", argv[1]);
    printf("%" PRId64 " passed, %" PRId64 " failed, %" PRId64 " skipped\n", t.passed, t.failed, t.skipped);
    return t.failed > 0 || t.passed == 0;
}
