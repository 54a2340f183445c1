/* test/goldens/zigzag.c - what ZigZag answered: {"name": .., "workload": .., "hardware": .., "layers": [{"best": ..}]}.
 *
 * The files that a case names are in the folder zigzag beside the folder of goldens. Each layer has up to three mappings, best by
 * latency, energy and EDP. Of each: words per operand, level and direction exactly, energy to one millionth, and every part of
 * the latency exactly; where the tool had its usual limit of six factors, that we say what it would answer; and that our search
 * by the same rules finds nothing worse. */
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const criterion[] = {"latency", "energy", "EDP"};
static const tw_measure measure[] = {TW_CYCLES, TW_ENERGY, TW_EDP};
enum { CRITERIA = 3 };

typedef struct golden {
    tally *t;
    const char *path, *file;
    const json_t *root;
    tw_context *ctx;
    const char *id;
    int better, equal; /* mappings that our search improved, and those that it did not */
    double ratio;      /* product of theirs / ours over the better ones */
    int proven;        /* answers that are proven to be the best            */
    double gap;        /* the largest that is left, of the others           */
} golden;

static const json_t *layers_of(const golden *g) { return json_object_get(g->root, "layers"); }

/* ---- the mapping as a file ---- */

static void print_unrolling(const json_t *spatial, FILE *out)
{
    const char *axis, *dim;
    json_t *loops, *factor;
    fprintf(out, "  spatial_mapping:\n");
    json_object_foreach((json_t *)(uintptr_t)spatial, axis, loops)
    {
        fprintf(out, "    %s: [", axis);
        const char *between = "";
        json_object_foreach(loops, dim, factor)
        {
            fprintf(out, "%s\"%s, %.0f\"", between, dim, json_number_value(factor));
            between = ", ";
        }
        fprintf(out, "]\n");
    }
}

static void print_entry(const json_t *layer, const json_t *best, FILE *out)
{
    fprintf(out, "- name: \"%s\"\n", json_string_value(json_object_get(layer, "layer")));
    print_unrolling(json_object_get(best, "spatial_mapping"), out);
    char *nest = json_dumps(json_object_get(best, "temporal_mapping"), 0);
    fprintf(out, "  temporal_mapping: %s\n", nest ? nest : "");
    free(nest);
}

/* Writes the mappings of all layers; the caller frees the name. */
static char *write_mapping(const golden *g, const char *which)
{
    char *name = strdup("/tmp/tilewright-golden-XXXXXX");
    int fd = name ? mkstemp(name) : -1;
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    size_t i;
    json_t *layer;
    if (!out) return NULL;
    json_array_foreach(layers_of(g), i, layer)
        print_entry(layer, json_object_get(json_object_get(layer, "best"), which), out);
    fprintf(out, "- name: default\n  spatial_mapping: {}\n");
    fclose(out);
    return name;
}

/* ---- opening ---- */

static char *input_path(const golden *g, const char *folder, const char *key)
{
    char *out = NULL;
    const char *end = strrchr(g->path, '/'), *name = json_string_value(json_object_get(g->root, key));
    if (!name || asprintf(&out, "%.*s/../../zigzag/%s/%s", end ? (int)(end - g->path) : 1, end ? g->path : ".",
                          folder, name) < 0)
        return NULL;
    return out;
}

static const tw_rival *open_case(const golden *g, const char *mapping)
{
    char *workload = input_path(g, "workload", "workload"), *hardware = input_path(g, "hardware", "hardware");
    const char *path[] = {workload, hardware, mapping};
    const tw_rival *rival = NULL;
    if (workload && hardware && mapping && tw_rival_open(g->ctx, path, 3, &rival) != TW_OK) rival = NULL;
    free(workload);
    free(hardware);
    return rival;
}

static void fail(const golden *g, const char *why)
{
    int n = tw_context_n_messages(g->ctx);
    fail_case(g->t, g->file, g->id, n > 0 ? tw_context_message(g->ctx, n - 1) : why);
}

/* ---- comparing ---- */

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static double part(const tw_account *a, const char *name)
{
    for (int i = 0; i < a->n_parts; i++)
        if (strcmp(a->part[i].name, name) == 0) return a->part[i].cycles;
    return NAN;
}

static const tw_account_line *find_line(const tw_account *a, const char *memory, const char *operand)
{
    for (int i = 0; i < a->n_lines; i++)
        if (strcmp(a->line[i].memory, memory) == 0 && strcmp(a->line[i].operand, operand) == 0) return &a->line[i];
    return NULL;
}

static void check_accesses(const golden *g, const tw_account *a, const json_t *best)
{
    static const char *const way[] = {"rd_out_to_low", "wr_in_by_low", "rd_out_to_high", "wr_in_by_high"};
    const char *operand;
    json_t *levels, *expected;
    size_t l;
    json_object_foreach(json_object_get(best, "accesses"), operand, levels) json_array_foreach(levels, l, expected)
    {
        const json_t *memories = json_object_get(json_object_get(best, "mem_levels"), operand);
        const char *memory = json_string_value(json_array_get(memories, l));
        const tw_account_line *line = memory ? find_line(a, memory, operand) : NULL;
        char where[200];
        if (!line) {
            fail_case(g->t, g->file, g->id, "an operand of a memory is not counted");
            continue;
        }
        for (int w = 0; w < 4; w++) {
            snprintf(where, sizeof where, "%s %s %s", memory, operand, way[w]);
            check_value(g->t, g->file, g->id, where, line->action[w].accesses, (int64_t)number(expected, way[w]));
        }
    }
}

/* A row whose on-loading is negative is the tool's own mistake, which it repeats; the figures may differ. */
static void check_cycles(const golden *g, const tw_account *a, const json_t *best)
{
    const struct {
        const char *key;
        double got;
    } value[] = {{"ideal_cycle", part(a, "ideal")},          {"ideal_temporal_cycle", a->compute_cycles},
                 {"stall_cycles", part(a, "stall")},         {"onloading_cycles", part(a, "on-load")},
                 {"offloading_cycles", part(a, "off-load")}, {"latency", a->cycles}};
    if (number(best, "onloading_cycles") < 0)
        skip_part(g->t, g->file, g->id, "on-loading is negative: a mistake of the tool that its search prefers");
    for (size_t i = 0; i < sizeof value / sizeof *value && number(best, "onloading_cycles") >= 0; i++)
        check_close(g->t, g->file, g->id, value[i].key, value[i].got, number(best, value[i].key), 0);
}

static void check_energy(const golden *g, const tw_account *a, const json_t *best)
{
    check_close(g->t, g->file, g->id, "energy", a->energy_pj, number(best, "energy"), 1e-6);
    check_close(g->t, g->file, g->id, "mac_energy", a->level[a->n_levels - 1].energy_pj, number(best, "mac_energy"),
                1e-6);
}

/* ---- a layer ---- */

static int layer_called(const tw_rival *rival, const char *name)
{
    for (int i = 0; i < tw_rival_n_layers(rival); i++)
        if (strcmp(tw_rival_layer_name(rival, i), name) == 0) return i;
    return -1;
}

static void check_mapping(golden *g, const tw_rival *rival, const json_t *layer, const char *which)
{
    const char *name = json_string_value(json_object_get(layer, "layer"));
    const json_t *best = json_object_get(json_object_get(layer, "best"), which);
    int at = name ? layer_called(rival, name) : -1;
    const tw_account *account;
    if (at < 0 || tw_rival_count(g->ctx, rival, at, TW_RULES_ZIGZAG, &account) != TW_OK) {
        fail(g, "the layer is not counted");
        return;
    }
    check_accesses(g, account, best);
    check_cycles(g, account, best);
    check_energy(g, account, best);
}

/* What the tool itself would answer for the mapping file of the case. */
static void check_answer(golden *g, const tw_rival *rival, const json_t *layer)
{
    const char *name = json_string_value(json_object_get(layer, "layer"));
    const json_t *best = json_object_get(json_object_get(layer, "best"), "latency");
    int at = name ? layer_called(rival, name) : -1;
    const tw_account *account;
    if (at < 0 || tw_rival_count(g->ctx, rival, at, TW_RULES_ZIGZAG, &account) != TW_OK) {
        fail(g, "the layer is not counted");
        return;
    }
    check_close(g->t, g->file, g->id, "latency of the tool's search", account->cycles, number(best, "latency"), 0);
    check_close(g->t, g->file, g->id, "energy of the tool's search", account->energy_pj, number(best, "energy"),
                1e-6);
}

static double value_of(const json_t *best, int criterion_index)
{
    double latency = number(best, "latency"), energy = number(best, "energy");
    return criterion_index == 0 ? latency : criterion_index == 1 ? energy : latency * energy;
}

/* Ours by the same rules: never worse. */
static void check_found(golden *g, const tw_rival_found *found, const json_t *layer, int i)
{
    double theirs = value_of(json_object_get(json_object_get(layer, "best"), criterion[i]), i);
    if (found->value > theirs * (1 + 1e-9)) {
        char why[200];
        snprintf(why, sizeof why, "our %s is %.17g, theirs %.17g", criterion[i], found->value, theirs);
        fail_case(g->t, g->file, g->id, why);
        return;
    }
    g->t->passed++;
    g->proven += found->proven;
    g->gap = fmax(g->gap, found->value / found->bound - 1);
    bool better = found->value < theirs * (1 - 1e-9);
    g->better += better;
    g->equal += !better;
    if (better) g->ratio *= theirs / found->value;
}

static void check_search(golden *g, const tw_rival *rival, int i)
{
    tw_rival_search_options options = TW_RIVAL_SEARCH_OPTIONS_INIT;
    const tw_rival_found **found = calloc((size_t)tw_rival_n_layers(rival) + 1, sizeof *found);
    const tw_rival *mapped;
    size_t k;
    json_t *layer;
    options.measure = measure[i];
    options.max_nodes = getenv("TW_GOLDENS_EVERY") ? 3000 : 0; /* where time is short */
    if (!found || tw_rival_search_all(g->ctx, rival, &options, found, &mapped) != TW_OK) {
        fail(g, "nothing was found");
        free(found);
        return;
    }
    json_array_foreach(layers_of(g), k, layer)
    {
        int at = layer_called(rival, json_string_value(json_object_get(layer, "layer")));
        g->id = json_string_value(json_object_get(layer, "layer"));
        if (at >= 0) check_found(g, found[at], layer, i);
    }
    g->id = "";
    free(found);
}

static void each_layer(golden *g, const tw_rival *rival, const char *what, int i)
{
    size_t k;
    json_t *layer;
    char id[300];
    g->id = id;
    json_array_foreach(layers_of(g), k, layer)
    {
        snprintf(id, sizeof id, "%s %s %s", json_string_value(json_object_get(layer, "layer")), criterion[i], what);
        if (strcmp(what, "mapping") == 0) check_mapping(g, rival, layer, criterion[i]);
        if (strcmp(what, "answer") == 0) check_answer(g, rival, layer);
    }
    g->id = "";
}

/* The mapping file of the case; `free` in its name is ours, of the data's author. */
static const char *mapping_key(const json_t *root)
{
    return json_object_get(root, "mapping") ? "mapping" : "hardware";
}

static void run_case(golden *g)
{
    for (int i = 0; i < CRITERIA; i++) {
        char *mapping = write_mapping(g, criterion[i]);
        const tw_rival *rival = open_case(g, mapping);
        if (rival) each_layer(g, rival, "mapping", i);
        if (!rival) fail(g, "cannot be read");
        if (mapping) unlink(mapping);
        free(mapping);
    }
    char *own = input_path(g, "mapping", mapping_key(g->root));
    const tw_rival *rival = own ? open_case(g, own) : NULL;
    if (!rival) fail(g, "cannot be read");
    if (rival && (int)number(g->root, "lpf_limit") == 6) each_layer(g, rival, "answer", 0);
    for (int i = 0; i < CRITERIA && rival; i++) check_search(g, rival, i);
    free(own);
}

void run_zigzag(tally *t, const char *path, const char *file, const json_t *root)
{
    golden g = {.t = t, .path = path, .file = file, .root = root, .ctx = tw_context_new(), .id = "", .ratio = 1};
    if (g.ctx)
        run_case(&g);
    else
        fail_case(t, file, "", "out of memory");
    if (g.better + g.equal > 0)
        printf("  %d of %d answers better than the tool's, by %.2f %% in the geometric mean of those\n", g.better,
               g.better + g.equal, g.better ? 100 * (1 - pow(g.ratio, -1.0 / g.better)) : 0);
    if (g.better + g.equal > 0)
        printf("  %d of %d answers proven to be the best, the others within %.2f %% of it\n", g.proven,
               g.better + g.equal, 100 * g.gap);
    tw_context_free(g.ctx);
}

/* ---- the same as tables ---- */

const tw_rival *zigzag_open(tw_context *ctx, const char *path, const json_t *root, const char *which)
{
    golden g = {.path = path, .root = root, .ctx = ctx};
    char *mapping = write_mapping(&g, which);
    const tw_rival *rival = open_case(&g, mapping);
    if (mapping) unlink(mapping);
    free(mapping);
    return rival;
}

static void check_line(tally *t, const char *file, const tw_account *a, const json_t *row)
{
    static const char *const way[] = {"rd_out_to_low", "wr_in_by_low", "rd_out_to_high", "wr_in_by_high"};
    const char *memory = json_string_value(json_object_get(row, "memory")),
               *operand = json_string_value(json_object_get(row, "operand"));
    const tw_account_line *line = memory && operand ? find_line(a, memory, operand) : NULL;
    double pj = 0;
    if (!line) {
        fail_case(t, file, a->layer, "an operand of a memory is not counted");
        return;
    }
    for (int w = 0; w < 4; w++) {
        check_value(t, file, a->layer, way[w], line->action[w].accesses, (int64_t)number(row, way[w]));
        pj += line->action[w].energy_pj;
    }
    check_close(t, file, a->layer, "energy", pj, number(row, "energy"), 1e-6);
}

void zigzag_add(const tw_account *a, zigzag_sums *sums)
{
    double value[] = {part(a, "ideal"),    a->compute_cycles, part(a, "stall"), part(a, "on-load"),
                      part(a, "off-load"), a->cycles,         a->energy_pj};
    for (int i = 0; i < ZIGZAG_SUMS; i++) sums->value[i] += value[i];
}

void check_zigzag_sums(tally *t, const char *file, const char *id, const zigzag_sums *sums, const json_t *row)
{
    static const char *const key[] = {"ideal_cycle", "ideal_temporal_cycle", "stall", "onload", "offload",
                                      "latency"};
    if (number(row, "onload") < 0) {
        skip_part(t, file, id, "on-loading is negative: a mistake of the tool that its search prefers");
        return;
    }
    for (int i = 0; i < 6; i++) check_close(t, file, id, key[i], sums->value[i], number(row, key[i]), 1e-12);
    const char *energy = json_object_get(row, "energy") ? "energy" : "energy_pJ";
    check_close(t, file, id, energy, sums->value[6], number(row, energy), 1e-6);
}

void check_zigzag_row(tally *t, const char *file, const tw_account *a, const json_t *row)
{
    zigzag_sums one = {{0}};
    zigzag_add(a, &one);
    if (json_object_get(row, "memory"))
        check_line(t, file, a, row);
    else
        check_zigzag_sums(t, file, a->layer, &one, row);
}
