/* test/lib/brute_table.c - outcomes of all mappings in a table, and lists of objectives worked off over its rows. */
#include "brute_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- windows ---- */

unsigned brute_windows_of(const tw_op *op)
{
    unsigned windows = 0;
    for (int l = 0; l < op->n_loops; l++)
        for (int o = 0; o < op->n_operands && op->loop[l].reduces; o++)
            for (int a = 0; a < op->operand[o].n_axes; a++) {
                const tw_axis *axis = &op->operand[o].axis[a];
                bool here = false, others = false;
                for (int i = 0; i < axis->n_terms; i++) {
                    here |= axis->term[i].loop == l;
                    others |= axis->term[i].loop != l && op->loop[axis->term[i].loop].extent > 1;
                }
                if (here && others) windows |= 1u << l;
            }
    return windows;
}

static bool cuts_windows(const tw_op *op, const tw_op_map *map)
{
    unsigned windows = brute_windows_of(op);
    for (int l = 0; l < op->n_loops; l++)
        for (int i = 0; i < map->n_levels && (windows >> l & 1); i++)
            if (!map->level[i].pass && tw_level_n_tiles(&map->level[i], l, op->loop[l].extent) > 1) return true;
    return false;
}

/* ---- the table ---- */

static void *grow(void *at, int64_t n, size_t size)
{
    void *more = realloc(at, (size_t)n * size);
    if (!more) abort();
    return more;
}

static uint64_t hash_of(const brute_row *row)
{
    uint64_t words[sizeof *row / sizeof(uint64_t)], hash = UINT64_C(0x9e3779b97f4a7c15);
    memcpy(words, row, sizeof *row);
    for (size_t i = 0; i < TW_COUNT(words); i++)
        hash = (hash ^ words[i]) * UINT64_C(0xff51afd7ed558ccd), hash ^= hash >> 32;
    return hash;
}

/* The slot of an equal row, or the empty one where it belongs. */
static int64_t *slot_of(const brute_table *t, const brute_row *row)
{
    uint64_t at = hash_of(row);
    for (;; at++) {
        int64_t *slot = &t->slot[at & (uint64_t)(t->n_slots - 1)];
        if (*slot == 0 || memcmp(&t->row[*slot - 1], row, sizeof *row) == 0) return slot;
    }
}

static void make_room(brute_table *t)
{
    if (t->n < t->room) return;
    t->room = t->room ? 2 * t->room : 128;
    t->row = grow(t->row, t->room, sizeof *t->row);
    t->n_slots = 4 * t->room;
    t->slot = grow(t->slot, t->n_slots, sizeof *t->slot);
    memset(t->slot, 0, (size_t)t->n_slots * sizeof *t->slot);
    for (int64_t i = 0; i < t->n; i++) *slot_of(t, &t->row[i]) = i + 1;
}

static void add_row(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    brute_table *t = user;
    const brute_row row = {*outcome, !cuts_windows(&t->space.model->op[t->space.op], map)};
    make_room(t);
    int64_t *slot = slot_of(t, &row);
    if (*slot != 0) return;
    t->row[t->n++] = row;
    *slot = t->n;
}

void brute_table_fill(const brute_space *space, brute_table *out)
{
    *out = (brute_table){.space = *space};
    brute_run(space, add_row, out);
}

void brute_table_release(brute_table *table)
{
    free(table->row);
    free(table->slot);
    *table = (brute_table){0};
}

typedef struct quest {
    const brute_row *row;
    const tw_op *op;
    bool found;
    tw_op_map map;
} quest;

static void compare_row(void *user, const tw_op_map *map, const tw_outcome *outcome)
{
    quest *q = user;
    if (q->found || memcmp(outcome, &q->row->outcome, sizeof *outcome) != 0) return;
    if (q->row->whole == cuts_windows(q->op, map)) return;
    q->found = true;
    q->map = *map;
}

tw_op_map brute_mapping_of(const brute_table *table, const brute_row *row)
{
    quest q = {.row = row, .op = &table->space.model->op[table->space.op]};
    brute_run(&table->space, compare_row, &q);
    return q.map;
}

/* ---- questions ---- */

tw_wide brute_measure(const tw_machine *machine, const tw_objective *objective, const tw_outcome *o)
{
    tw_wide sum = 0;
    switch (objective->measure) {
    case TW_CYCLES: return o->cycles;
    case TW_TICKS: return o->ticks;
    case TW_ENERGY: return o->energy_fj;
    case TW_EDP: return (tw_wide)o->energy_fj * o->cycles;
    case TW_PEAK:
        if (objective->at) return o->used[tw_machine_find_memory(machine, objective->at)];
        for (int m = 1; m < machine->n_memories; m++) sum += o->used[m];
        return sum;
    default: break;
    }
    int memory = tw_machine_find_memory(machine, objective->at);
    if (memory >= 0) return o->crossed[memory];
    for (int e = 0; e < machine->n_engines; e++)
        if (strcmp(machine->engine[e].name, objective->at) == 0) return o->moved[e];
    abort();
}

typedef struct rows { /* that are not ruled out */
    const tw_machine *machine;
    int64_t n;
    const brute_row **row;
} rows;

static tw_wide least_of(const rows *r, const tw_objective *objective)
{
    tw_wide least = brute_measure(r->machine, objective, &r->row[0]->outcome);
    for (int64_t i = 1; i < r->n; i++) {
        tw_wide x = brute_measure(r->machine, objective, &r->row[i]->outcome);
        least = x < least ? x : least;
    }
    return least;
}

static void rule_out(rows *r, const tw_objective *objective, tw_wide most)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->n; i++)
        if (brute_measure(r->machine, objective, &r->row[i]->outcome) <= most) r->row[n++] = r->row[i];
    r->n = n;
}

/* One objective after the other, within their tolerances; then each as small as those behind it leave it; then ties. */
static void work_off(rows *r, const brute_goal *goal, brute_answer *out)
{
    static const tw_objective tie[BRUTE_TIES] = {{TW_ENERGY, NULL}, {TW_CYCLES, NULL}, {TW_PEAK, NULL}};
    for (int i = 0; i < goal->n; i++) {
        tw_wide least = out->least[i] = least_of(r, &goal->objective[i]);
        rule_out(r, &goal->objective[i], least + (tw_wide)floor((double)least * goal->within[i]));
    }
    for (int i = 0; i < goal->n; i++) {
        out->value[i] = least_of(r, &goal->objective[i]);
        rule_out(r, &goal->objective[i], out->value[i]);
    }
    for (int i = 0; i < BRUTE_TIES; i++) {
        out->tie[i] = least_of(r, &tie[i]);
        rule_out(r, &tie[i], out->tie[i]);
    }
    out->best = r->row[0];
}

static bool covers(const tw_wide *a, const tw_wide *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] > b[i]) return false;
    return true;
}

static void add_to_front(const tw_wide *value, int n_goals, brute_answer *out)
{
    int n = 0;
    for (int i = 0; i < out->n_front; i++)
        if (covers(out->front[i], value, n_goals)) return;
    for (int i = 0; i < out->n_front; i++)
        if (!covers(value, out->front[i], n_goals)) memmove(out->front[n++], out->front[i], sizeof out->front[0]);
    if (n == BRUTE_MAX_FRONT) abort();
    memcpy(out->front[n++], value, sizeof out->front[0]);
    out->n_front = n;
}

static void make_front(const rows *r, const brute_goal *goal, brute_answer *out)
{
    for (int64_t i = 0; i < r->n; i++) {
        tw_wide value[TW_MAX_OBJECTIVES] = {0};
        for (int k = 0; k < goal->n; k++)
            value[k] = brute_measure(r->machine, &goal->objective[k], &r->row[i]->outcome);
        add_to_front(value, goal->n, out);
    }
}

void brute_ask(const brute_table *table, const brute_goal *goal, bool whole, brute_answer *out)
{
    rows r = {.machine = table->space.machine, .row = grow(NULL, tw_max(1, table->n), sizeof *r.row)};
    for (int64_t i = 0; i < table->n; i++)
        if (!whole || table->row[i].whole) r.row[r.n++] = &table->row[i];
    out->found = r.n > 0;
    out->n_front = 0;
    if (out->found && goal->pareto) make_front(&r, goal, out);
    if (out->found) work_off(&r, goal, out);
    free(r.row);
}
