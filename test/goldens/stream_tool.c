/* test/goldens/stream_tool.c - what Stream answered: LAB.summary.json, .schedule.json, .nodes.csv, .transfers.csv, .cost_lut.csv and .all_allocations.csv.
 *
 * LAB is a folder of ../../stream beside the goldens, with `hardware`, `mapping` and `workload`; where it has no hardware or workload of its own (lab1_free), those of
 * the folder whose name it begins with. Everything is of the tool's evaluation of layers one after the other: each tile on its core as the tool's own search maps it,
 * and the run of all tiles. Cycles, bits and words are compared exactly, energy to one millionth. */
#include "goldens.h"
#include "tilewright/rivals.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct lab {
    tally *t;
    const char *file;
    char folder[3000], name[200]; /* that of all labs; this one's */
    tw_context *ctx;
    const tw_core_table *table;
} lab;

/* ---- files ---- */

/* The first file of a lab's folder that is no folder; false: there is none. */
static bool find_input(const lab *l, const char *part, char out[4096])
{
    char name[200];
    snprintf(name, sizeof name, "%s", l->name);
    for (;;) {
        char folder[3400];
        struct dirent **entry = NULL;
        bool found = false;
        snprintf(folder, sizeof folder, "%s/%s/%s", l->folder, name, part);
        int n = scandir(folder, &entry, NULL, alphasort);
        for (int i = 0; i < n; i++) {
            if (!found && entry[i]->d_name[0] != '.' && entry[i]->d_type != DT_DIR)
                found = snprintf(out, 4096, "%s/%s", folder, entry[i]->d_name) > 0;
            free(entry[i]);
        }
        free(entry);
        char *end = strrchr(name, '_');
        if (found || !end) return found;
        *end = 0;
    }
}

/* The table of the lab with its own mapping, or with the one in this file; NULL, with a failure, when it cannot be counted. */
static const tw_core_table *table_with(lab *l, const char *mapping)
{
    char path[3][4096];
    const char *list[3] = {path[0], path[1], mapping ? mapping : path[2]};
    const tw_rival *rival = NULL;
    const tw_core_table *table = NULL;
    bool there = find_input(l, "hardware", path[0]) && find_input(l, "workload", path[1]) &&
                 (mapping || find_input(l, "mapping", path[2]));
    if (there && tw_rival_open(l->ctx, list, 3, &rival) == TW_OK &&
        tw_rival_table(l->ctx, rival, NULL, &table) == TW_OK)
        return table;
    int n = tw_context_n_messages(l->ctx);
    fail_case(l->t, l->file, l->name, n > 0 ? tw_context_message(l->ctx, n - 1) : "its inputs are not there");
    return NULL;
}

static bool open_lab(tally *t, const char *path, const char *file, lab *l)
{
    const char *end = strrchr(path, '/');
    *l = (lab){.t = t, .file = file, .ctx = tw_context_new()};
    snprintf(l->folder, sizeof l->folder, "%.*s/../../stream", end ? (int)(end - path) : 1, end ? path : ".");
    snprintf(l->name, sizeof l->name, "%.*s", (int)strcspn(file, "."), file);
    l->table = l->ctx ? table_with(l, NULL) : NULL;
    return l->table != NULL;
}

/* ---- figures ---- */

static int row_called(const tw_core_table *t, const char *name)
{
    for (int i = 0; name && i < t->n_rows; i++)
        if (strcmp(t->row[i].layer, name) == 0) return i;
    return -1;
}

static double number(const csv *c, int row, const char *column)
{
    const char *text = csv_text(c, row, column);
    return text ? strtod(text, NULL) : NAN;
}

static double part(const tw_account *a, const char *name)
{
    for (int i = 0; i < a->n_parts; i++)
        if (strcmp(a->part[i].name, name) == 0) return a->part[i].cycles;
    return NAN;
}

static const tw_account *cell_of(const tw_core_table *t, const tw_core_run *run)
{
    return t->row[run->layer].cell[run->core];
}
static double offchip_energy(const tw_account *a) { return a->level[0].energy_pj; }
static double onchip_energy(const tw_account *a) { return a->energy_pj - a->level[0].energy_pj; }

/* The number of the core that is the off-chip memory, as the tool has it: the last that does not compute. */
static int offchip_core(const tw_core_table *t)
{
    int at = t->n_cores - 1;
    while (at > 0 && t->core[at].computes) at--;
    return at;
}

/* ---- LAB.cost_lut.csv: the tool's mapping of a tile on a core ---- */

enum { LOOPS = 64, OPERANDS = 3, LEVELS = 12 };
static const char operand_name[OPERANDS] = {'I', 'W', 'O'};

typedef struct nest { /* of an account, outermost first */
    int n_loops, n_array;
    char loop[LOOPS][40], array[LOOPS][40]; /* "(K, 8)" */
    int n_levels[OPERANDS],
        at[OPERANDS][LEVELS]; /* before which loop each memory of an operand stands, outermost first */
} nest;

static void take_memory(const char *list, nest *n)
{
    for (int o = 0; o < OPERANDS; o++)
        if (strchr(list, operand_name[o]) && n->n_levels[o] < LEVELS) n->at[o][n->n_levels[o]++] = n->n_loops;
}

/* Multipliers along a loop over the array that the tool counts: where they do not divide it, those that are in use in each of as many steps. */
static long long used_of(const tw_core_row *row, const nest *n, const char *dim, long long size)
{
    int64_t steps = 1;
    for (int i = 0; i < n->n_loops; i++)
        if (strncmp(n->loop[i] + 1, dim, strlen(dim)) == 0 && n->loop[i][1 + strlen(dim)] == ',')
            steps *= strtoll(strchr(n->loop[i], ',') + 1, NULL, 10);
    for (int d = 0; d < row->n_dims; d++)
        if (strcmp(row->dim[d], dim) == 0 && steps * size > row->extent[d]) return row->extent[d] / steps;
    return size;
}

static void read_nest(const tw_core_row *row, const char *text, nest *n)
{
    *n = (nest){0};
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        char dim[16], text_of_line[200];
        long long size;
        snprintf(text_of_line, sizeof text_of_line, "%.*s", (int)strcspn(line, "\n"), line);
        bool is_loop = sscanf(text_of_line, " for %15s in %lld", dim, &size) == 2;
        if (!is_loop && strchr(text_of_line, ':'))
            take_memory(strchr(text_of_line, ':'), n);
        else if (is_loop && strstr(text_of_line, " over ") && n->n_array < LOOPS)
            snprintf(n->array[n->n_array++], sizeof n->array[0], "(%s, %lld)", dim, used_of(row, n, dim, size));
        else if (is_loop && n->n_loops < LOOPS)
            snprintf(n->loop[n->n_loops++], sizeof n->loop[0], "(%s, %lld)", dim, size);
    }
}

/* "{I: [[], [(C, 3), (FX, 3)], []], W: .., O: ..}": lowest memory and innermost loop first. */
static void print_temporal(const nest *n, char *out, size_t room)
{
    size_t len = (size_t)snprintf(out, room, "{");
    for (int o = 0; o < OPERANDS; o++) {
        len += (size_t)snprintf(out + len, room - len, "%s%c: [", o ? ", " : "", operand_name[o]);
        int end = n->n_loops;
        for (int l = n->n_levels[o] - 1; l >= 0; l--) {
            len += (size_t)snprintf(out + len, room - len, "%s[", l < n->n_levels[o] - 1 ? ", " : "");
            for (int i = end - 1; i >= n->at[o][l]; i--)
                len += (size_t)snprintf(out + len, room - len, "%s%s", i < end - 1 ? ", " : "", n->loop[i]);
            len += (size_t)snprintf(out + len, room - len, "]");
            end = n->at[o][l];
        }
        len += (size_t)snprintf(out + len, room - len, "]");
    }
    snprintf(out + len, room - len, "}");
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

/* All loops over the array, sorted: at which memory each stands is a matter of the machine alone. */
static void print_spatial(nest *n, char *out, size_t room)
{
    size_t len = 0;
    *out = 0;
    qsort(n->array, (size_t)n->n_array, sizeof n->array[0], by_text);
    for (int i = 0; i < n->n_array; i++) len += (size_t)snprintf(out + len, room - len, "%s", n->array[i]);
}

/* The same of the tool's text, from one operand: "[[(K, 8)], [(FY, 3)], [], []]". */
static void sort_spatial(const char *text, nest *n, char *out, size_t room)
{
    *n = (nest){0};
    const char *end = strchr(text, '}'), *next = strstr(text, "W:");
    end = next ? next : end;
    for (const char *at = text; (at = strchr(at, '(')) && at < end && n->n_array < LOOPS; at++)
        snprintf(n->array[n->n_array++], sizeof n->array[0], "%.*s", (int)strcspn(at, ")") + 1, at);
    print_spatial(n, out, room);
}

/* ---- mappings that the tool found equally good: which of them its search returns depends on how it lists what lies over the array ---- */

typedef struct tie {
    lab *l;
    int row, core; /* of the table */
    const char *temporal;
    nest over; /* .array: what lies over the array */
    int axis[LOOPS];
} tie;

/* "{I: [[], [(C, 3)]], ..}" as YAML, in which a loop is a list. */
static void print_loops(const char *text, FILE *out)
{
    for (; *text; text++) fputc(*text == '(' ? '[' : *text == ')' ? ']' : *text, out);
}

/* The tool's mapping as a file, with these axes. */
static bool write_tie(const tie *x, char path[100])
{
    const tw_core_row *row = &x->l->table->row[x->row];
    snprintf(path, 100, "/tmp/tilewright-golden-XXXXXX.yaml");
    int fd = mkstemps(path, 5);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) return false;
    fprintf(out, "- name: \"%s\"\n  core_allocation: [%d", row->layer, x->core);
    for (int c = 0, n = 1; c < x->l->table->n_cores && n < row->n_tiles; c++)
        if (c != x->core && x->l->table->core[c].computes) n += fprintf(out, ", %d", c) > 0;
    fprintf(out, "]\n  inter_core_tiling: [");
    if (row->n_tiles > 1)
        fprintf(out, "\"%.*s, %s\"", (int)strcspn(row->parts, " "), row->parts, strchr(row->parts, ' ') + 1);
    fprintf(out, "]\n  spatial_mapping: {");
    for (int i = 0; i < x->over.n_array; i++)
        fprintf(out, "%sD%d: [\"%.*s\"]", i ? ", " : "", x->axis[i] + 1, (int)strlen(x->over.array[i]) - 2,
                x->over.array[i] + 1);
    fprintf(out, "}\n  temporal_mapping: ");
    print_loops(x->temporal, out);
    fprintf(out, "\n- name: default\n  core_allocation: [%d]\n", x->core);
    fclose(out);
    return true;
}

/* Whether the mapping counts as the cell of the table does. */
static bool counts_alike(const tie *x)
{
    char path[2][4096], mapping[100];
    const char *list[3] = {path[0], path[1], mapping};
    const tw_account *cell = x->l->table->row[x->row].cell[x->core], *a = NULL;
    const tw_rival *rival = NULL;
    tw_context *ctx = tw_context_new();
    bool good = ctx && find_input(x->l, "hardware", path[0]) && find_input(x->l, "workload", path[1]) &&
                write_tie(x, mapping);
    bool alike = good && tw_rival_open(ctx, list, 3, &rival) == TW_OK && tw_rival_core(rival, x->core) &&
                 tw_rival_count(ctx, tw_rival_core(rival, x->core), x->row, TW_RULES_ZIGZAG, &a) == TW_OK &&
                 a->cycles == cell->cycles && fabs(a->energy_pj - cell->energy_pj) <= 1e-6 * cell->energy_pj;
    if (good) unlink(mapping);
    tw_context_free(ctx);
    return alike;
}

/* Tries the loops over all axes, each over one of its own: the table does not say over which they lie. */
static bool lies_somewhere(tie *x, int loop)
{
    enum { AXES = 4 };
    if (loop == x->over.n_array) return counts_alike(x);
    for (x->axis[loop] = 0; x->axis[loop] < AXES; x->axis[loop]++) {
        bool taken = false;
        for (int i = 0; i < loop; i++) taken |= x->axis[i] == x->axis[loop];
        if (!taken && lies_somewhere(x, loop + 1)) return true;
    }
    return false;
}

/* The mapping that the tool returned: ours, or one that counts the same to the cycle and in energy. */
static void check_mapping(lab *l, const char *id, const csv *c, int row, int at, int core)
{
    const tw_account *a = l->table->row[at].cell[core];
    char got[2][4000], wanted[4000];
    nest n;
    const char *spatial = csv_text(c, row, "spatial_mapping");
    const char *temporal = csv_text(c, row, "temporal_mapping_inner_to_outer_per_level");
    if (!spatial || !temporal) return;
    read_nest(&l->table->row[at], a->nest, &n);
    print_temporal(&n, got[0], sizeof got[0]);
    print_spatial(&n, got[1], sizeof got[1]);
    tie x = {.l = l, .row = at, .core = core, .temporal = temporal};
    sort_spatial(spatial, &x.over, wanted, sizeof wanted);
    bool same = strcmp(got[0], temporal) == 0 && strcmp(got[1], wanted) == 0;
    if (same || lies_somewhere(&x, 0)) {
        l->t->passed++;
        if (!same)
            printf("  %s %s: another mapping that is exactly as good lies over the array as %s\n", l->file, id,
                   got[1]);
        return;
    }
    check_text(l->t, l->file, id, "temporal_mapping", got[0], temporal);
    check_text(l->t, l->file, id, "spatial_mapping", got[1], wanted);
}

static void check_cell(lab *l, const csv *c, int row)
{
    const char *name = csv_text(c, row, "layer");
    int at = row_called(l->table, name), core = (int)csv_int(c, row, "core");
    char id[300];
    snprintf(id, sizeof id, "%s on core %d", name ? name : "", core);
    const tw_account *a = at >= 0 && core >= 0 && core < l->table->n_cores ? l->table->row[at].cell[core] : NULL;
    if (!a) {
        fail_case(l->t, l->file, id, "is not counted");
        return;
    }
    const struct {
        const char *key;
        double got, by;
    } value[] = {
        {"ideal_cycle", part(a, "ideal"), 0}, {"ideal_temporal_cycle", a->compute_cycles, 0},
        {"stall", part(a, "stall"), 0},       {"onload", part(a, "on-load"), 0},
        {"offload", part(a, "off-load"), 0},  {"latency", a->cycles, 0},
        {"energy", a->energy_pj, 1e-6},       {"spatial_utilisation", part(a, "ideal") / a->compute_cycles, 1e-12}};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        if (csv_text(c, row, value[i].key))
            check_close(l->t, l->file, id, value[i].key, value[i].got, number(c, row, value[i].key), value[i].by);
    check_mapping(l, id, c, row, at, core);
}

/* ---- LAB.nodes.csv: every tile, in the order in which they were put on the cores ---- */

/* "B=1 K=3 ..": each loop that is named; those that are not named have one iteration. */
static void check_dims(lab *l, const char *id, const tw_core_row *row, const char *dims)
{
    char text[1000], *save = NULL;
    snprintf(text, sizeof text, "%s", dims);
    for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save)) {
        char *is = strchr(pair, '=');
        int64_t got = 1;
        if (!is) continue;
        *is = 0;
        for (int d = 0; d < row->n_dims; d++)
            if (strcmp(row->dim[d], pair) == 0) got = row->extent[d];
        check_value(l->t, l->file, id, pair, got, strtoll(is + 1, NULL, 10));
    }
}

/* Operands that pass the connection to the off-chip memory while the tile runs, as the tool's memory operands. */
static void check_streamed(lab *l, const char *id, const tw_account *a, const char *wanted)
{
    static const char *const word[] = {"I1", "I2", "O"};
    char got[40] = "";
    for (int o = OPERANDS - 1; o >= 0; o--)
        for (int i = 0; i < a->n_lines; i++)
            if (strcmp(a->line[i].memory, a->level[0].name) == 0 && a->line[i].operand[0] == operand_name[o])
                snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", *got ? " " : "", word[o]);
    check_text(l->t, l->file, id, "too_large_operands", got, wanted);
}

static void check_node(lab *l, const csv *c, int row)
{
    const tw_core_run *run = &l->table->run[row];
    const tw_account *a = cell_of(l->table, run);
    const char *dims = csv_text(c, row, "dims"), *streamed = csv_text(c, row, "too_large_operands");
    char id[100];
    snprintf(id, sizeof id, "tile %d", row);
    const struct {
        const char *key;
        double got, by;
    } value[] = {{"layer_id", run->layer, 0},
                 {"sub_id", (double)run->tile, 0},
                 {"core", run->core, 0},
                 {"start", run->start, 0},
                 {"end", run->end, 0},
                 {"runtime", run->end - run->start, 0},
                 {"onchip_energy", onchip_energy(a), 1e-6},
                 {"offchip_energy", offchip_energy(a), 1e-6}};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        if (csv_text(c, row, value[i].key))
            check_close(l->t, l->file, id, value[i].key, value[i].got, number(c, row, value[i].key), value[i].by);
    if (csv_text(c, row, "name"))
        check_text(l->t, l->file, id, "name", l->table->row[run->layer].layer, csv_text(c, row, "name"));
    if (streamed) check_streamed(l, id, a, streamed);
    if (dims) check_dims(l, id, &l->table->row[run->layer], dims);
}

/* ---- LAB.transfers.csv: what takes the connections ---- */

/* The tile whose number a tensor has: the first of the layer that has this part of the operand. */
static int64_t owner_of(const tw_core_table *t, const tw_core_block *b)
{
    for (int i = 0; i < t->n_blocks; i++) {
        const tw_core_block *x = &t->block[i];
        if (t->run[x->run].layer == t->run[b->run].layer && x->part == b->part &&
            strcmp(x->operand, b->operand) == 0)
            return t->run[x->run].tile;
    }
    return -1;
}

static void print_tensor(const tw_core_table *t, const tw_core_block *b, char out[80])
{
    snprintf(out, 80, "Tensor(%d, %" PRId64 ", %.20s)", t->run[b->run].layer, owner_of(t, b), b->operand);
}

static void check_block(lab *l, const csv *c, int row)
{
    const tw_core_table *t = l->table;
    const tw_core_block *b = &t->block[row];
    const tw_core_run *run = &t->run[b->run];
    int from = b->outwards ? run->core : offchip_core(t), to = b->outwards ? offchip_core(t) : run->core;
    char id[100], tensor[80], sender[40], receiver[40];
    snprintf(id, sizeof id, "block %d", row);
    print_tensor(t, b, tensor);
    snprintf(sender, sizeof sender, "Core(%d)", from);
    snprintf(receiver, sizeof receiver, "Core(%d)", to);
    const struct {
        const char *key;
        double got, by;
    } value[] = {{"start", run->start, 0},
                 {"end", run->end, 0},
                 {"bits", (double)b->bits, 0},
                 {"bandwidth_used", b->bits_at_once, 0},
                 {"link_bandwidth", b->link_bits, 0},
                 {"energy", offchip_energy(cell_of(t, run)), 1e-6}};
    const struct {
        const char *key, *got;
    } word[] = {{"type", "block"}, {"tensor", tensor}, {"sender", sender}, {"receiver", receiver}};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        if (csv_text(c, row, value[i].key))
            check_close(l->t, l->file, id, value[i].key, value[i].got, number(c, row, value[i].key), value[i].by);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (csv_text(c, row, word[i].key))
            check_text(l->t, l->file, id, word[i].key, word[i].got, csv_text(c, row, word[i].key));
}

/* ---- LAB.all_allocations.csv: each layer on a core of its own choice ---- */

/* Writes the mapping of a row; false: it cannot. */
static bool write_allocation(const lab *l, const csv *c, int row, char path[100])
{
    snprintf(path, 100, "/tmp/tilewright-golden-XXXXXX.yaml");
    int fd = mkstemps(path, 5);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) return false;
    for (int i = 0; i < l->table->n_rows; i++) {
        char column[300];
        snprintf(column, sizeof column, "core_of_%s", l->table->row[i].layer);
        const char *core = csv_text(c, row, column);
        if (core) fprintf(out, "- name: \"%s\"\n  core_allocation: [%s]\n", l->table->row[i].layer, core);
    }
    fprintf(out, "- name: default\n  core_allocation: [0]\n");
    fclose(out);
    return true;
}

static void check_allocation(lab *l, const csv *c, int row)
{
    char path[100], id[40];
    lab own = *l;
    snprintf(id, sizeof id, "row %d", row);
    if (!(own.ctx = tw_context_new()) || !write_allocation(l, c, row, path)) {
        fail_case(l->t, l->file, id, "no mapping could be written");
        tw_context_free(own.ctx);
        return;
    }
    const tw_core_table *t = table_with(&own, path);
    if (t) {
        check_close(l->t, l->file, id, "latency_cycles", t->makespan, number(c, row, "latency_cycles"), 0);
        check_close(l->t, l->file, id, "energy", t->energy_pj, number(c, row, "energy"), 1e-6);
        check_close(l->t, l->file, id, "EDP", t->energy_pj * t->makespan, number(c, row, "EDP"), 1e-6);
    }
    unlink(path);
    tw_context_free(own.ctx);
}

/* ---- tables ---- */

static void run_table(tally *t, const char *path, const char *file, void (*check)(lab *, const csv *, int),
                      int (*count)(const tw_core_table *))
{
    lab l;
    csv c = {0};
    bool open = open_lab(t, path, file, &l);
    if (open && !csv_read(path, &c)) fail_case(t, file, "", "is no table");
    int n = open && c.text && count ? count(l.table) : c.n_rows;
    if (open && c.text) check_value(t, file, l.name, "rows", n, c.n_rows);
    for (int row = 0; open && row < c.n_rows && row < n; row++) check(&l, &c, row);
    csv_release(&c);
    tw_context_free(l.ctx);
}

static int count_cells(const tw_core_table *t)
{
    int n = 0;
    for (int i = 0; i < t->n_rows; i++)
        for (int k = 0; k < t->n_cores; k++) n += t->row[i].cell[k] != NULL;
    return n;
}
static int count_runs(const tw_core_table *t) { return t->n_runs; }
static int count_blocks(const tw_core_table *t) { return t->n_blocks; }

void run_stream_cells(tally *t, const char *path, const char *file)
{
    run_table(t, path, file, check_cell, count_cells);
}
void run_stream_nodes(tally *t, const char *path, const char *file)
{
    run_table(t, path, file, check_node, count_runs);
}
void run_stream_transfers(tally *t, const char *path, const char *file)
{
    run_table(t, path, file, check_block, count_blocks);
}
void run_stream_allocations(tally *t, const char *path, const char *file)
{
    run_table(t, path, file, check_allocation, NULL);
}

/* ---- LAB.summary.json ---- */

static void check_number(lab *l, const json_t *root, const char *key, double got, double by)
{
    const json_t *value = json_object_get(root, key);
    if (value) check_close(l->t, l->file, l->name, key, got, json_number_value(value), by);
}

/* Nothing is sent between cores, kept or evicted where layers run one after the other: all that is spent outside of the cores is at the off-chip memory. */
static void check_energy_parts(lab *l, const json_t *root)
{
    const tw_core_table *t = l->table;
    double onchip = 0, offchip = 0;
    const char *key;
    json_t *value;
    for (int i = 0; i < t->n_runs; i++) {
        onchip += onchip_energy(cell_of(t, &t->run[i]));
        offchip += offchip_energy(cell_of(t, &t->run[i]));
    }
    json_object_foreach(json_object_get(root, "energy_parts"), key, value)
    {
        bool inside = strcmp(key, "total_cn_onchip_energy") == 0,
             outside = strcmp(key, "total_cn_offchip_memory_energy") == 0;
        check_close(l->t, l->file, l->name, key,
                    inside    ? onchip
                    : outside ? offchip
                              : 0,
                    json_number_value(value), 1e-6);
    }
}

static void check_cores(lab *l, const json_t *root)
{
    const tw_core_table *t = l->table;
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(root, "core_busy_cycles"), key, value)
    {
        int core = atoi(key);
        double busy = core < t->n_cores ? t->core[core].busy : NAN;
        check_close(l->t, l->file, key, "core_busy_cycles", busy, json_number_value(value), 0);
    }
    json_object_foreach(json_object_get(root, "core_nodes"), key, value)
    {
        int64_t n = 0;
        for (int i = 0; i < t->n_runs; i++) n += t->run[i].core == atoi(key);
        check_value(l->t, l->file, key, "core_nodes", n, json_integer_value(value));
    }
}

static void check_layers(lab *l, const json_t *root)
{
    const tw_core_table *t = l->table;
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(root, "layer_core"), key, value)
    {
        char got[1000] = "", wanted[1000] = "";
        size_t i;
        json_t *core;
        for (int c = 0; c < t->n_cores; c++) {
            bool used = false;
            for (int r = 0; r < t->n_runs; r++) used |= t->run[r].layer == atoi(key) && t->run[r].core == c;
            if (used) snprintf(got + strlen(got), sizeof got - strlen(got), " %d", c);
        }
        json_array_foreach(value, i, core)
            snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), " %d", (int)json_integer_value(core));
        check_text(l->t, l->file, key, "layer_core", got, wanted);
    }
}

/* Where layers run one after the other, nothing stays in a core between them, and the tool counts none of it; the off-chip memory has all tensors at last. How large the
 * memories are is part of the question. */
static void check_peaks(lab *l, const json_t *root)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(root, "memory_peaks"), key, value)
    {
        bool outside = atoi(key + strcspn(key, "0123456789")) == offchip_core(l->table);
        check_value(l->t, l->file, key, "peak_bits", outside ? l->table->offchip_bits : 0,
                    member(value, "peak_bits", -1));
    }
}

void run_stream_summary(tally *t, const char *path, const char *file, const json_t *root)
{
    lab l;
    if (open_lab(t, path, file, &l)) {
        const tw_core_table *table = l.table;
        check_number(&l, root, "latency_cycles", table->makespan, 0);
        check_number(&l, root, "energy", table->energy_pj, 1e-6);
        check_number(&l, root, "EDP", table->energy_pj * table->makespan, 1e-6);
        check_number(&l, root, "computation_nodes", table->n_runs, 0);
        check_number(&l, root, "edges", (double)table->n_edges, 0);
        check_number(&l, root, "transfers", 0, 0);
        check_number(&l, root, "blocks", table->n_blocks, 0);
        check_number(&l, root, "lut_entries", count_cells(table), 0);
        check_energy_parts(&l, root);
        check_cores(&l, root);
        check_layers(&l, root);
        check_peaks(&l, root);
    }
    tw_context_free(l.ctx);
}

/* ---- LAB.schedule.json: the tool's trace ---- */

static double argument(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(event, "args"), key));
    return text ? strtod(text, NULL) : NAN;
}

/* "{'rf_4B_O': 0.0147, 'dram': 0.69}" of an operand: energy in each memory over all multiplications. */
static void check_breakdown(lab *l, const char *id, const tw_account *a, const char *operand, const char *text)
{
    for (const char *at = text; (at = strchr(at, '\''));) {
        char memory[100];
        double pj = 0;
        snprintf(memory, sizeof memory, "%.*s", (int)strcspn(at + 1, "'"), at + 1);
        at += strlen(memory) + 2;
        for (int i = 0; i < a->n_lines; i++)
            if (strcmp(a->line[i].memory, memory) == 0 && strcmp(a->line[i].operand, operand) == 0)
                for (int k = 0; k < a->line[i].n_actions; k++) pj += a->line[i].action[k].energy_pj;
        at += strspn(at, ": ");
        check_close(l->t, l->file, id, memory, pj / (double)a->macs, strtod(at, NULL), 1e-6);
    }
}

/* What a tile reads: its own inputs with their padding, and what tiles of other layers make. */
static void check_tensors(lab *l, const char *id, const json_t *tensors)
{
    const tw_core_table *t = l->table;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)tensors, key, value)
    {
        int64_t bits = -1;
        for (int i = 0; i < t->n_blocks && bits < 0; i++) {
            char name[80];
            print_tensor(t, &t->block[i], name);
            if (strcmp(name, key) == 0) bits = t->block[i].bits;
        }
        check_value(l->t, l->file, id, key, bits, strtoll(json_string_value(value), NULL, 10));
    }
}

static void check_compute(lab *l, const json_t *event)
{
    const tw_core_table *t = l->table;
    const char *name = json_string_value(json_object_get(event, "name")),
               *at = name ? strstr(name, " (Id: ") : NULL;
    int layer = -1, tile = -1, run = -1;
    const char *operand;
    json_t *text;
    if (at) sscanf(at, " (Id: %d, Sub_id: %d)", &layer, &tile);
    for (int i = 0; i < t->n_runs; i++)
        if (t->run[i].layer == layer && t->run[i].tile == tile) run = i;
    if (run < 0) {
        fail_case(l->t, l->file, name ? name : "", "no such tile runs");
        return;
    }
    const tw_core_run *r = &t->run[run];
    const tw_account *a = cell_of(t, r);
    double ideal = part(a, "ideal"), without_offload = a->cycles - part(a, "off-load");
    check_value(l->t, l->file, name, "ts", (int64_t)r->start, member(event, "ts", -1));
    check_value(l->t, l->file, name, "dur", (int64_t)(r->end - r->start), member(event, "dur", -1));
    check_value(l->t, l->file, name, "tid", r->core, member(event, "tid", -1));
    check_close(l->t, l->file, name, "Runtime", r->end - r->start, argument(event, "Runtime"), 0);
    check_close(l->t, l->file, name, "SpatialUtilization", ideal / a->compute_cycles,
                argument(event, "SpatialUtilization"), 1e-12);
    check_close(l->t, l->file, name, "SpatialUtilizationWithTemporal", ideal / without_offload,
                argument(event, "SpatialUtilizationWithTemporal"), 1e-12);
    check_close(l->t, l->file, name, "Energy", onchip_energy(a), argument(event, "Energy"), 1e-6);
    check_close(l->t, l->file, name, "EnergyTotalPerOp", a->energy_pj / (double)a->macs,
                argument(event, "EnergyTotalPerOp"), 1e-6);
    check_tensors(l, name, json_object_get(json_object_get(event, "args"), "Tensors"));
    json_object_foreach(json_object_get(json_object_get(event, "args"), "EnergyBreakdownPerOp"), operand, text)
        check_breakdown(l, name, a, operand, json_string_value(text));
}

/* The number of a connection's row behind those of cores: those that are used, in the machine's order. */
static int link_row(const tw_core_table *t, int link)
{
    int row = 0;
    for (int c = 0; c < t->n_cores; c++) row += t->core[c].busy > 0;
    for (int k = 0; k < link; k++) {
        bool used = false;
        for (int i = 0; i < t->n_blocks; i++) used |= t->block[i].link == k;
        row += used;
    }
    return row;
}

/* Blocks come in the order of the run. */
static void check_block_event(lab *l, const json_t *event, int at)
{
    const tw_core_table *t = l->table;
    const char *name = json_string_value(json_object_get(event, "name"));
    if (at >= t->n_blocks) {
        fail_case(l->t, l->file, name ? name : "", "no such block is there");
        return;
    }
    const tw_core_block *b = &t->block[at];
    const tw_core_run *r = &t->run[b->run];
    char tensor[80], whole[140];
    print_tensor(t, b, tensor);
    snprintf(whole, sizeof whole, "Block ({%s: %" PRId64 "})", tensor, b->bits);
    check_text(l->t, l->file, tensor, "name", whole, name ? name : "");
    check_value(l->t, l->file, tensor, "ts", (int64_t)r->start, member(event, "ts", -1));
    check_value(l->t, l->file, tensor, "dur", (int64_t)(r->end - r->start), member(event, "dur", -1));
    check_value(l->t, l->file, tensor, "tid", link_row(t, b->link), member(event, "tid", -1));
    check_close(l->t, l->file, tensor, "Runtime", r->end - r->start, argument(event, "Runtime"), 0);
    check_close(l->t, l->file, tensor, "Activity", b->bits_at_once, argument(event, "Activity"), 0);
    check_close(l->t, l->file, tensor, "LinkBandwidth", b->link_bits, argument(event, "LinkBandwidth"), 0);
    check_close(l->t, l->file, tensor, "Energy", offchip_energy(cell_of(t, r)), argument(event, "Energy"), 1e-6);
}

void run_stream_schedule(tally *t, const char *path, const char *file, const json_t *root)
{
    lab l;
    size_t i;
    json_t *event;
    int runs = 0, blocks = 0;
    bool open = open_lab(t, path, file, &l);
    for (i = 0; open && i < json_array_size(root); i++) {
        event = json_array_get(root, i);
        const char *kind = json_string_value(json_object_get(event, "cat"));
        if (kind && strcmp(kind, "compute") == 0) check_compute(&l, event), runs++;
        if (kind && strcmp(kind, "block") == 0) check_block_event(&l, event, blocks++);
        if (kind && strcmp(kind, "transfer") == 0)
            fail_case(t, file, json_string_value(json_object_get(event, "name")),
                      "where layers run one after the other nothing is transferred");
    }
    if (open) check_value(t, file, l.name, "tiles", l.table->n_runs, runs);
    if (open) check_value(t, file, l.name, "blocks", l.table->n_blocks, blocks);
    tw_context_free(l.ctx);
}
