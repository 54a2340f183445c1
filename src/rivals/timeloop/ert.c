/* src/rivals/timeloop/ert.c - energy tables: what an action of a component takes, in pJ per block of words.
 *
 * Tables are found by the last part of their name, "system.chip.RF[0..255]" being RF's. An action may be there several times with
 * different arguments: the dearest counts. What a memory's actions are called differs from version to version. */
#include "rivals/timeloop/timeloop.h"

#include <string.h>

enum { READ, WRITE, UPDATE, LEAK, COMPUTE, N_ACTIONS };

/* The first name that a table has is taken. */
static const char *const action_name[N_ACTIONS][6] = {
    {"random_read", "read"},
    {"random_fill", "random_write", "fill", "write"},
    {"random_update", "random_write", "update", "write"},
    {"leak"},
    {"mac_random", "mult_random", "mac", "mult", "compute"},
};

typedef struct table {
    double energy[N_ACTIONS];
    int rank[N_ACTIONS]; /* of the name that the energy has; -1: none yet */
} table;

static void take(table *t, const char *name, double energy)
{
    for (int a = 0; a < N_ACTIONS; a++)
        for (int i = 0; i < 6 && action_name[a][i]; i++) {
            if (strcmp(name, action_name[a][i]) != 0) continue;
            if (t->rank[a] >= 0 && i > t->rank[a]) continue;
            t->energy[a] = i == t->rank[a] && t->energy[a] > energy ? t->energy[a] : energy;
            t->rank[a] = i;
        }
}

/* "system.chip.RF[0..255]" -> "RF" */
static size_t last_part(const char *path, const char **out)
{
    const char *bracket = strrchr(path, '['), *end = bracket ? bracket : path + strlen(path), *at = end;
    while (at > path && at[-1] != '.') at--;
    *out = at;
    return (size_t)(end - at);
}

static bool is_named(const char *name, const char *path)
{
    const char *part;
    size_t n = last_part(path, &part);
    return strlen(name) == n && memcmp(name, part, n) == 0;
}

static void apply(tw_tl_reader *r, const char *path, const table *t)
{
    tw_hierarchy *h = r->machine;
    if (is_named(h->array_name, path) && t->rank[COMPUTE] >= 0) h->mac_pj = t->energy[COMPUTE];
    for (int m = 0; m < h->n_memories; m++) {
        if (!is_named(h->memory[m].name, path)) continue;
        if (t->rank[READ] >= 0) h->memory[m].read_pj = t->energy[READ];
        if (t->rank[WRITE] >= 0) h->memory[m].write_pj = t->energy[WRITE];
        if (t->rank[UPDATE] >= 0) h->memory[m].update_pj = t->energy[UPDATE];
        if (t->rank[LEAK] >= 0) h->memory[m].leak_pj = t->energy[LEAK];
        r->level[m].has_energy |= t->rank[READ] >= 0 && t->rank[WRITE] >= 0;
    }
}

static tw_status read_action(tw_tl_reader *r, const tw_node *node, table *t)
{
    tw_fields f = tw_fields_open(node, "action", r->work.diag);
    const char *name = NULL;
    double energy = 0;
    bool good = tw_field_name(&f, "name", TW_REQUIRED, &name);
    if (!tw_field_node(&f, "energy", TW_REQUIRED) || !tw_tl_number(&f, "energy", 0, &energy)) good = false;
    (void)tw_field_node(&f, "arguments", TW_OPTIONAL);
    (void)tw_field_node(&f, "area", TW_OPTIONAL);
    if (good) take(t, name, energy);
    return tw_fields_close(&f);
}

static tw_status read_table(tw_tl_reader *r, const tw_node *node)
{
    tw_fields f = tw_fields_open(node, "table", r->work.diag);
    table t = {.rank = {-1, -1, -1, -1, -1}};
    const tw_node *name = tw_field_node(&f, "name", TW_REQUIRED);
    const tw_node *actions = tw_field_list(&f, "actions", TW_REQUIRED);
    for (const tw_node *a = actions ? actions->child : NULL; a; a = a->next)
        if (read_action(r, a, &t) != TW_OK) f.n_bad++;
    if (name && name->kind == TW_SCALAR) apply(r, name->text, &t);
    return tw_fields_close(&f);
}

/* Version 0.2: tables by component, then by action, with the energy itself or a list of those with arguments. */
static tw_status read_old_action(tw_tl_reader *r, const tw_node *action, table *t)
{
    const tw_node *entry = action->kind == TW_LIST ? action->child : action;
    for (; entry; entry = action->kind == TW_LIST ? entry->next : NULL) {
        tw_fields f = tw_fields_open(entry, "action", r->work.diag);
        double energy = 0;
        if (tw_field_node(&f, "energy", TW_REQUIRED) && tw_tl_number(&f, "energy", 0, &energy))
            take(t, action->key, energy);
        (void)tw_field_node(&f, "arguments", TW_OPTIONAL);
        TW_TRY(tw_fields_close(&f));
    }
    return TW_OK;
}

static tw_status read_old_tables(tw_tl_reader *r, const tw_node *tables)
{
    for (const tw_node *c = tables->child; c; c = c->next) {
        table t = {.rank = {-1, -1, -1, -1, -1}};
        if (c->kind != TW_NODE_MAP) return tw_diag_error(r->work.diag, c->loc, "a table is a map of actions");
        for (const tw_node *a = c->child; a; a = a->next) TW_TRY(read_old_action(r, a, &t));
        apply(r, c->key, &t);
    }
    return TW_OK;
}

tw_status tw_tl_read_energy(tw_tl_reader *r, const tw_node *node)
{
    tw_fields f = tw_fields_open(node, "ERT", r->work.diag);
    (void)tw_field_node(&f, "version", TW_OPTIONAL);
    const tw_node *tables = tw_field_node(&f, "tables", TW_REQUIRED);
    if (tables && tables->kind == TW_NODE_MAP && read_old_tables(r, tables) != TW_OK) f.n_bad++;
    for (const tw_node *t = tables && tables->kind == TW_LIST ? tables->child : NULL; t; t = t->next)
        if (read_table(r, t) != TW_OK) f.n_bad++;
    return tw_fields_close(&f);
}
