/* test/goldens/tick.c - tick machines: tick_programs.csv, tick_listings.json, capacity_solutions.json. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

/* ---- machines and mappings as text ---- */

#define EXEC    "{latency: 0, per_cycle: 1024}"
#define SUM     "{latency: 0, per_cycle: 64}"
#define LINEAR  "{latency: 64, per_cycle: 32}"
#define STEPPED "{step: 2048, per_step: 64}"
const cost_set unit_cost = {"{constant: 1}", "{constant: 1}", "{constant: 1}", false};
const cost_set linear_parallel = {LINEAR, EXEC, SUM, false}, linear_shared = {LINEAR, EXEC, SUM, true};
const cost_set stepped_parallel = {STEPPED, EXEC, SUM, false}, stepped_shared = {STEPPED, EXEC, SUM, true};
const cost_set constant_parallel = {"{constant: 256}", EXEC, SUM, false},
               constant_shared = {"{constant: 256}", EXEC, SUM, true};

char *tick_machine(const cost_set *cost, int n_levels, const int64_t *size, bool adder_shared)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    fprintf(f,
            "machine: golden\nunit: element\ntiming: lockstep\nmemories:\n  - {name: outside, size: unlimited}\n");
    for (int l = 0; l < n_levels; l++) {
        fprintf(f, "  - {name: l%d, size: ", n_levels - l);
        if (size[l] > 0)
            fprintf(f, "%" PRId64 "}\n", size[l]);
        else
            fprintf(f, "unlimited}\n");
    }
    fprintf(f, "engines:\n");
    for (int l = n_levels; l >= 1; l--) {
        if (l == n_levels)
            fprintf(f, "  - {name: move%d, between: [outside, l%d]", l, l);
        else
            fprintf(f, "  - {name: move%d, between: [l%d, l%d]", l, l + 1, l);
        fprintf(f, ", channels: %s, cost: %s}\n", cost->shared ? "1" : "unlimited", cost->transfer);
        fprintf(f, "  - {name: add%d, computes: sum, on: l%d, cost: %s%s}\n", l, l, cost->sum,
                adder_shared && l == 1 ? ", shares: mac" : "");
    }
    fprintf(f, "  - {name: mac, computes: multiply-add, on: l1, cost: %s}\n", cost->exec);
    fclose(f);
    return text;
}

static const char *mode_word(const char *mode)
{
    return *mode == 'S' ? "separate" : *mode == 'I' ? "in-place" : "fused";
}

char *tick_mapping(int n_levels, const tick_level *level, const char *mode, const char *split)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    fprintf(f, "mapping:\n  matmul:\n    levels:\n");
    for (int i = 0; i < n_levels; i++) {
        const tick_level *l = &level[i];
        if (l->pass) {
            fprintf(f, "      - {at: l%d, pass: true}\n", n_levels - i);
            continue;
        }
        fprintf(f,
                "      - {at: l%d, tiles: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64
                "}, cut: %s, order: [%s, k], ",
                n_levels - i, l->mt, l->nt, l->kt, split, strcmp(l->order, "nm") == 0 ? "n, m" : "m, n");
        fprintf(f, "buffers: {ifm: %" PRId64 ", w: %" PRId64 ", ofm: %" PRId64 "}, accumulate: %s}\n", l->ni, l->nw,
                l->no, mode_word(mode));
    }
    fclose(f);
    return text;
}

const tw_plan *tick_eval(tw_context *ctx, const int64_t shape[3], const char *machine_text,
                         const char *mapping_text)
{
    char workload[128];
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, shape[0], shape[1], shape[2]);
    if (tw_model_open(ctx, workload, &model) == TW_OK &&
        tw_machine_parse(ctx, "machine", machine_text, &machine) == TW_OK &&
        tw_mapping_parse(ctx, model, machine, "mapping", mapping_text, &mapping) == TW_OK &&
        tw_plan_eval(ctx, model, machine, mapping, &plan) == TW_OK)
        return plan;
    for (int i = 0; i < tw_context_n_messages(ctx); i++) printf("  %s\n", tw_context_message(ctx, i));
    tw_context_clear_messages(ctx);
    return NULL;
}

/* ---- tick_programs.csv ---- */

typedef struct case_text {
    int64_t shape[3];
    char *mapping;
    bool shared_adder;
} case_text;

static const tw_plan *eval_row(tw_context *ctx, const case_text *c, const cost_set *cost)
{
    char *machine = tick_machine(cost, 1, (int64_t[]){0}, c->shared_adder);
    const tw_plan *plan = tick_eval(ctx, c->shape, machine, c->mapping);
    free(machine);
    return plan;
}

static void check_counts(tally *t, const char *file, const char *id, const csv *c, int row, const tw_plan *plan)
{
    const tw_summary *sum = tw_plan_summary(plan);
    const tw_engine_use *move = tw_plan_engine_use(plan, 0, 0);
    const tw_memory_use *buffer = tw_plan_memory_use(plan, 0, 1);
    const struct {
        const char *key;
        int64_t got;
    } value[] = {
        {"slots_elems", buffer->static_units},
        {"T", sum->execs},
        {"ticks", sum->ticks},
        {"loads", move->loads},
        {"load_elems", move->load_units},
        {"stores", move->stores},
        {"peak_live", buffer->peak_live},
    };
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        if (csv_text(c, row, value[i].key))
            check_value(t, file, id, value[i].key, value[i].got, csv_int(c, row, value[i].key));
}

static void check_costs(tally *t, const char *file, const char *id, const csv *c, int row, tw_context *ctx,
                        const case_text *text)
{
    const struct {
        const char *key;
        const cost_set *cost;
    } set[] = {{"lin_par", &linear_parallel}, {"lin_sh", &linear_shared},        {"step_par", &stepped_parallel},
               {"step_sh", &stepped_shared},  {"const_par", &constant_parallel}, {"const_sh", &constant_shared}};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        if (!csv_text(c, row, set[i].key)) continue;
        const tw_plan *plan = eval_row(ctx, text, set[i].cost);
        if (plan)
            check_value(t, file, id, set[i].key, tw_plan_summary(plan)->cycles, csv_int(c, row, set[i].key));
        else
            fail_case(t, file, id, set[i].key);
    }
}

static void run_program_row(tally *t, const char *file, const csv *c, int row)
{
    const char *id = csv_text(c, row, "id");
    tick_level level = {
        csv_int(c, row, "mt"), csv_int(c, row, "nt"), csv_int(c, row, "kt"),     csv_int(c, row, "ni"),
        csv_int(c, row, "nw"), csv_int(c, row, "no"), csv_text(c, row, "order"), false};
    const char *sum_unit = csv_text(c, row, "sum_unit");
    case_text text = {{csv_int(c, row, "M"), csv_int(c, row, "N"), csv_int(c, row, "K")},
                      tick_mapping(1, &level, csv_text(c, row, "mode"), csv_text(c, row, "split")),
                      sum_unit && strcmp(sum_unit, "shared") == 0};
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = eval_row(ctx, &text, &unit_cost);
    if (!plan)
        fail_case(t, file, id, "cannot be evaluated");
    else {
        check_counts(t, file, id, c, row, plan);
        check_costs(t, file, id, c, row, ctx, &text);
    }
    tw_context_free(ctx);
    free(text.mapping);
}

void run_tick_programs(tally *t, const char *path, const char *file)
{
    static const char *const needed[] = {"id",    "M",  "N",  "K",  "mt",    "nt",  "kt",
                                         "split", "ni", "nw", "no", "order", "mode"};
    csv c;
    bool good = csv_read(path, &c);
    for (size_t i = 0; good && i < sizeof needed / sizeof *needed; i++)
        good = c.n_rows == 0 || csv_text(&c, 0, needed[i]);
    if (!good) fail_case(t, file, "", "not a table with the columns of tick_programs.csv");
    for (int row = 0; good && row < c.n_rows; row++) run_program_row(t, file, &c, row);
    csv_release(&c);
}

/* ---- tick_listings.json ---- */

typedef struct listing {
    tally *t;
    const char *file, *id;
    const json_t *rows, *live;
    int64_t n;
} listing;

static json_t *tile_of(const tw_action *a)
{
    json_t *list = json_array();
    for (int i = 0; i < a->n_tile; i++) json_array_append_new(list, json_integer(a->tile[i]));
    return list;
}

/* The action as the golden file writes it. */
static json_t *action_json(const tw_action *a)
{
    json_t *o = json_object();
    json_object_set_new(o, "tile", tile_of(a));
    switch (a->op) {
    case TW_LOAD:
        json_object_set_new(o, "op", json_string("load"));
        json_object_set_new(o, "cls", json_string(a->operand));
        json_object_set_new(o, "slot", json_integer(a->slot));
        json_object_set_new(o, "elems", json_integer(a->units));
        break;
    case TW_STORE:
        json_object_set_new(o, "op", json_string("store"));
        json_object_set_new(o, "slot", json_integer(a->slot));
        json_object_set_new(o, "elems", json_integer(a->units));
        break;
    case TW_SUM:
        json_object_set_new(o, "op", json_string("sum"));
        json_object_set_new(o, "a", json_integer(a->source[0]));
        json_object_set_new(o, "b", json_integer(a->source[1]));
        json_object_set_new(o, "dst", json_integer(a->slot));
        json_object_set_new(o, "elems", json_integer(a->units));
        break;
    case TW_EXEC:
    case TW_FILL:
        json_object_set_new(o, "op", json_string(a->op == TW_EXEC ? "exec" : "fill"));
        json_object_set_new(o, "ifm", json_integer(a->source[0]));
        json_object_set_new(o, "w", json_integer(a->source[1]));
        json_object_set_new(o, "ofm", json_integer(a->slot));
        json_object_set_new(o, "macs", json_integer(a->units));
        break;
    }
    return o;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Rows are sets of ops: joins their texts in sorted order, so that two equal sets read the same. */
static char *row_text(char **op, size_t n)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    qsort(op, n, sizeof *op, by_text);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%s ", op[i]);
        free(op[i]);
    }
    fclose(f);
    free(op);
    return text;
}

static char *expected_row(const json_t *ops)
{
    size_t n = json_array_size(ops);
    char **op = calloc(n + 1, sizeof *op);
    for (size_t i = 0; i < n; i++) op[i] = json_dumps(json_array_get(ops, i), JSON_SORT_KEYS | JSON_COMPACT);
    return row_text(op, n);
}

static char *actual_row(const tw_row *row)
{
    char **op = calloc((size_t)row->n_actions + 1, sizeof *op);
    for (int i = 0; i < row->n_actions; i++) {
        json_t *o = action_json(&row->action[i]);
        op[i] = json_dumps(o, JSON_SORT_KEYS | JSON_COMPACT);
        json_decref(o);
    }
    return row_text(op, (size_t)row->n_actions);
}

static tw_status check_row(void *user, const tw_row *row)
{
    listing *l = user;
    char key[32];
    snprintf(key, sizeof key, "row %" PRId64, l->n);
    if (l->rows) {
        char *got = actual_row(row), *expected = expected_row(json_array_get(l->rows, (size_t)l->n));
        check_text(l->t, l->file, l->id, key, got, expected);
        free(got);
        free(expected);
    }
    if (l->live)
        check_value(l->t, l->file, l->id, "live", row->live_units,
                    json_integer_value(json_array_get(l->live, (size_t)l->n)));
    l->n++;
    return TW_OK;
}

static int64_t at(const json_t *list, size_t i) { return json_integer_value(json_array_get(list, i)); }

static void run_listing(tally *t, const char *file, const char *id, const json_t *o)
{
    const json_t *shape = json_object_get(o, "shape"), *counts = json_object_get(o, "counts");
    const json_t *slots = json_object_get(o, "slots"), *split = json_object_get(o, "split");
    const char *order = json_string_value(json_object_get(o, "order")),
               *mode = json_string_value(json_object_get(o, "mode"));
    const char *sum_unit = json_string_value(json_object_get(o, "sum_unit"));
    tick_level level = {at(counts, 0), at(counts, 1), at(counts, 2),        at(slots, 0),
                        at(slots, 1),  at(slots, 2),  order ? order : "mn", false};
    case_text text = {{at(shape, 0), at(shape, 1), at(shape, 2)},
                      tick_mapping(1, &level, mode ? mode : "I", split ? json_string_value(split) : "balanced"),
                      sum_unit && strcmp(sum_unit, "shared") == 0};
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = eval_row(ctx, &text, &unit_cost);
    listing l = {t, file, id, json_object_get(o, "rows"), json_object_get(o, "live"), 0};
    if (!plan || tw_plan_walk(ctx, plan, 0, check_row, &l) != TW_OK)
        fail_case(t, file, id, "cannot be evaluated");
    else {
        check_value(t, file, id, "ticks", tw_plan_summary(plan)->ticks, member(o, "ticks", l.n));
        if (l.rows) check_value(t, file, id, "rows", l.n, (int64_t)json_array_size(l.rows));
    }
    tw_context_free(ctx);
    free(text.mapping);
}

void run_tick_listings(tally *t, const char *file, const json_t *root)
{
    const char *id;
    json_t *o;
    json_object_foreach((json_t *)root, id, o) run_listing(t, file, id, o);
}

/* ---- capacity_solutions.json ---- */

static void run_solution(tally *t, const char *file, const json_t *o)
{
    const char *id = json_string_value(json_object_get(o, "id"));
    int64_t dim = member(o, "dim", 1);
    int64_t x =
        tw_fit_largest(member(o, "quad", 0), member(o, "lin", 0), member(o, "const", 0), member(o, "cap", 0));
    int64_t usable = x > dim ? dim : x; /* a tile is never larger than the loop */
    int64_t tiles = usable > 0 ? (dim + usable - 1) / usable : 0;
    if (!id) id = "?";
    if (json_object_get(o, "x")) check_value(t, file, id, "x", x, member(o, "x", 0));
    if (json_object_get(o, "tiles")) check_value(t, file, id, "tiles", tiles, member(o, "tiles", 0));
    const json_t *sizes = json_object_get(o, "balanced");
    if (!sizes || tiles == 0) return;
    check_value(t, file, id, "balanced count", tiles, (int64_t)json_array_size(sizes));
    for (int64_t i = 0; i < tiles && i < (int64_t)json_array_size(sizes); i++) {
        int64_t lo, hi;
        tw_split_tile(dim, tiles, TW_BALANCED, i, &lo, &hi);
        check_value(t, file, id, "balanced", hi - lo, at(sizes, (size_t)i));
    }
}

void run_capacity(tally *t, const char *file, const json_t *root)
{
    size_t i;
    json_t *o;
    json_array_foreach((json_t *)root, i, o) run_solution(t, file, o);
}
