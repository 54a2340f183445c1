/* test/goldens/timeloop.c - what Timeloop's model counted for a mapping: {"tool": "timeloop-model", "arch": .., "results": ..}.
 *
 * The files that a case names are in the folder timeloop beside the folder of goldens. Per level and tensor: the tile, what an
 * instance owns, the instances used, accesses per instance exactly, energy to one millionth and what was cut off in printing;
 * cycles exactly. What passes the networks between levels is not ours to count. */
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden {
    tally *t;
    const char *file, *id;
    const tw_account *account;
} golden;

static const tw_account_line *find_line(const tw_account *a, const char *memory, const char *operand)
{
    for (int i = 0; i < a->n_lines; i++)
        if (strcmp(a->line[i].memory, memory) == 0 && strcmp(a->line[i].operand, operand) == 0) return &a->line[i];
    return NULL;
}

static const tw_account_level *find_level(const tw_account *a, const char *name)
{
    for (int i = 0; i < a->n_levels; i++)
        if (strcmp(a->level[i].name, name) == 0) return &a->level[i];
    return NULL;
}

static int64_t accesses(const tw_account_line *line, const char *action)
{
    for (int i = 0; i < line->n_actions; i++)
        if (strcmp(line->action[i].name, action) == 0) return line->action[i].accesses;
    return 0;
}

static double energy(const tw_account_line *line)
{
    double pj = 0;
    for (int i = 0; i < line->n_actions; i++) pj += line->action[i].energy_pj;
    return pj;
}

/* "LEVEL TENSOR KEY", when the key is there. */
static bool wants(const json_t *object, const char *key, const char *level, const char *tensor, char where[200])
{
    snprintf(where, 200, "%s %s %s", level, tensor, key);
    return json_is_number(json_object_get(object, key));
}

static void check_number(golden *g, const json_t *object, const char *key, const char *const of[2], int64_t got)
{
    char where[200];
    if (wants(object, key, of[0], of[1], where))
        check_value(g->t, g->file, g->id, where, got, (int64_t)json_number_value(json_object_get(object, key)));
}

/* Printed with two decimals. */
static void check_energy(golden *g, const json_t *object, const char *key, const char *const of[2], double got)
{
    char where[200];
    if (!wants(object, key, of[0], of[1], where)) return;
    double expected = json_number_value(json_object_get(object, key));
    if (fabs(got - expected) <= 0.0051) got = expected;
    check_close(g->t, g->file, g->id, where, got, expected, 1e-6);
}

static void check_tensor(golden *g, const char *level, const char *tensor, const json_t *expected)
{
    static const struct {
        const char *key, *action;
    } count[] = {
        {"reads_per_instance", "read"}, {"fills_per_instance", "fill"}, {"updates_per_instance", "update"}};
    const char *of[2] = {level, tensor};
    const tw_account_line *line = find_line(g->account, level, tensor);
    if (!line) {
        fail_case(g->t, g->file, g->id, "a tensor is not counted");
        return;
    }
    check_number(g, expected, "tile_words", of, line->tile_words);
    check_number(g, expected, "partition_words", of, line->own_words);
    check_number(g, expected, "utilized_instances", of, line->instances);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        if (json_is_number(json_object_get(expected, count[i].key)))
            check_value(g->t, g->file, level, count[i].key, accesses(line, count[i].action),
                        (int64_t)json_number_value(json_object_get(expected, count[i].key)) * line->instances);
    check_energy(g, expected, "energy_pJ_total", of, energy(line));
}

static void check_level(golden *g, const json_t *expected)
{
    const char *name = json_string_value(json_object_get(expected, "name")), *tensor;
    const tw_account_level *level = name ? find_level(g->account, name) : NULL;
    const char *of[2] = {name, ""};
    json_t *of_tensor;
    if (!level) {
        fail_case(g->t, g->file, g->id, "a level is not counted");
        return;
    }
    check_number(g, expected, "cycles", of, (int64_t)level->cycles);
    check_number(g, expected, "computes", of, g->account->macs);
    check_energy(g, expected, "leakage_energy_pJ", of, level->leak_pj);
    check_energy(g, expected, "energy_pJ", of, level->energy_pj - level->leak_pj);
    json_object_foreach(json_object_get(expected, "tensors"), tensor, of_tensor)
        check_tensor(g, name, tensor, of_tensor);
}

static void check_totals(golden *g, const json_t *results)
{
    const char *of[2] = {"total", ""};
    check_number(g, results, "cycles", of, (int64_t)g->account->cycles);
    check_energy(g, results, "energy_pJ_sum_of_levels", of, g->account->energy_pj);
    check_energy(g, results, "edp_pJ_cycles", of, g->account->energy_pj * g->account->cycles);
    check_number(g, results, "computes", of, g->account->macs);
    const json_t *used = json_object_get(results, "utilization_percent"); /* with two decimals */
    if (json_is_number(used))
        check_close(g->t, g->file, g->id, "utilization", 1 + g->account->utilization,
                    1 + json_number_value(used) / 100, 5.1e-5);
}

/* The path of an input, beside the folder in which the golden's folder is. */
static char *input_path(const char *path, const char *input)
{
    char *out = NULL;
    const char *end = strrchr(path, '/');
    if (!input ||
        asprintf(&out, "%.*s/../../timeloop/%s", end ? (int)(end - path) : 1, end ? path : ".", input) < 0)
        return NULL;
    return out;
}

const tw_account *timeloop_account(tw_context *ctx, const char *path, const json_t *root)
{
    static const char *const key[] = {"arch", "energy_table", "problem", "mapping"};
    char *input[4];
    const tw_rival *rival;
    const tw_account *account = NULL;
    bool all = true;
    for (int i = 0; i < 4; i++) {
        input[i] = input_path(path, json_string_value(json_object_get(root, key[i])));
        all &= input[i] != NULL;
    }
    if (all && tw_rival_open(ctx, (const char *const *)input, 4, &rival) == TW_OK &&
        tw_rival_count(ctx, rival, 0, TW_RULES_TIMELOOP, &account) != TW_OK)
        account = NULL;
    for (int i = 0; i < 4; i++) free(input[i]);
    return account;
}

void run_timeloop(tally *t, const char *path, const char *file, const json_t *root)
{
    const char *id = json_string_value(json_object_get(root, "case"));
    const json_t *results = json_object_get(root, "results"), *level;
    size_t i;
    tw_context *ctx = tw_context_new();
    golden g = {t, file, id ? id : "", ctx ? timeloop_account(ctx, path, root) : NULL};
    if (g.account) {
        json_array_foreach(json_object_get(results, "levels"), i, level) check_level(&g, level);
        check_totals(&g, results);
    } else {
        fail_case(t, file, g.id,
                  ctx && tw_context_n_messages(ctx) > 0 ? tw_context_message(ctx, 0) : "not counted");
    }
    tw_context_free(ctx);
}

/* ---- the same as tables ---- */

void check_timeloop_row(tally *t, const char *file, const tw_account *account, const json_t *row)
{
    const char *level = json_string_value(json_object_get(row, "level")),
               *tensor = json_string_value(json_object_get(row, "tensor"));
    golden g = {t, file, json_string_value(json_object_get(row, "case")), account};
    if (level && tensor)
        check_tensor(&g, level, tensor, row);
    else
        check_totals(&g, row);
}
