/* test/rivals/test_stream.c - machines of Stream in all dialects, layers on their cores, and the runs of the published labs. */
#include "rivals/stream/table.h"
#include "tilewright/rivals.h"
#include "tw_read.h"

#include <math.h>

#define FOLDER "test/rivals/stream/"

/* ---- files ---- */

enum { CORES = 3 };
static const char *const core_file[CORES] = {"big.yaml", "little.yaml", "dram.yaml"};

/* A machine with the files of its cores and up to two more. */
static const tw_rival *open_set(tw_bench *b, tw_context *ctx, const char *machine, const char *second,
                                const char *third)
{
    const char *name[3] = {machine, second, third};
    tw_rival_text file[3 + CORES];
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (name[i]) {
            const char *path = tw_arena_printf(b->arena, FOLDER "%s", name[i]);
            file[n++] = (tw_rival_text){name[i], tw_read_source(b, path)};
        }
    for (int i = 0; i < CORES; i++) {
        const char *path = tw_arena_printf(b->arena, FOLDER "%s", core_file[i]);
        file[n++] = (tw_rival_text){core_file[i], tw_read_source(b, path)};
    }
    const tw_rival *rival = NULL;
    tw_status status = tw_rival_parse(ctx, file, n, &rival);
    for (int i = 0; status != TW_OK && i < tw_context_n_messages(ctx); i++)
        print_message("%s\n", tw_context_message(ctx, i));
    CHECK_EQ(status, TW_OK);
    return rival;
}

/* The machine in our words without the lines that are remarks. */
static char *convert(tw_context *ctx, const tw_rival *rival)
{
    char *text = NULL, *to;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CHECK(out != NULL);
    CHECK_EQ(tw_rival_print_machine(ctx, rival, out), TW_OK);
    fclose(out);
    to = text;
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n") + 1;
        bool remark = *line == '#';
        if (!remark) memmove(to, line, length);
        if (!remark) to += length;
        line += length;
    }
    *to = 0;
    return text;
}

TEST(all_dialects_say_the_same_machine)
{
    static const char *const dialect[] = {"hda_2024_11.yaml", "hda_2024_05.yaml", "hda_2026.yaml"};
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    char *now = convert(ctx, open_set(&b, ctx, "hda.yaml", NULL, NULL));
    for (size_t i = 0; i < TW_COUNT(dialect); i++) {
        char *then = convert(ctx, open_set(&b, ctx, dialect[i], NULL, NULL));
        CHECK_STR(then, now);
        free(then);
    }
    free(now);
    tw_context_free(ctx);
    tw_bench_free(&b);
}

TEST(the_converted_machine_has_a_core_of_ours_for_each_that_computes)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    tw_machine machine;
    char *text = convert(ctx, open_set(&b, ctx, "hda.yaml", NULL, NULL));
    CHECK_EQ(tw_read_machine(&b, "converted", text, &machine), TW_OK);
    CHECK_EQ(machine.platform->n_cores, 2);
    CHECK_STR(machine.platform->core[0].name, "big");
    CHECK_STR(machine.platform->core[1].name, "little");
    CHECK_EQ(machine.platform->n_ports, 1);
    CHECK_EQ(machine.platform->port[0].per_cycle, 4); /* 32 bits */
    free(text);
    tw_context_free(ctx);
    tw_bench_free(&b);
}

/* ---- layers on cores ---- */

static const tw_core_table *table_of(tw_context *ctx, const tw_rival *rival, const tw_rival_search_options *how)
{
    const tw_core_table *table = NULL;
    CHECK_EQ(tw_rival_table(ctx, rival, how, &table), TW_OK);
    return table;
}

TEST(both_forms_of_a_mapping_say_the_same)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const tw_core_table *older = table_of(ctx, open_set(&b, ctx, "hda.yaml", "layers.yaml", "mapping.yaml"), NULL);
    const tw_core_table *newer =
        table_of(ctx, open_set(&b, ctx, "hda.yaml", "layers.yaml", "mapping_2026.yaml"), NULL);
    CHECK(older->makespan == newer->makespan);
    CHECK_EQ(older->n_runs, newer->n_runs);
    for (int i = 0; i < older->n_rows; i++) CHECK_STR(older->row[i].parts, newer->row[i].parts);
    CHECK_STR(older->row[0].parts, "K 2");
    CHECK(older->row[1].cell[0] && !older->row[1].cell[1]); /* 'deep' is of type Conv, which core 0 runs alone */
    CHECK(older->row[2].cell[0] && older->row[2].cell[1]);  /* the rest runs anywhere                          */
    tw_context_free(ctx);
    tw_bench_free(&b);
}

static char *copy_of(tw_bench *b, const char *path)
{
    return tw_arena_printf(b->arena, "%s", tw_read_source(b, path));
}

TEST(a_cell_is_what_zigzag_counts_for_the_core_with_the_dram_around_it)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const tw_rival *rival = open_set(&b, ctx, "hda.yaml", "layers.yaml", NULL), *alone = NULL;
    const char *big = copy_of(&b, FOLDER "big.yaml"), *dram = strstr(copy_of(&b, FOLDER "dram.yaml"), "  dram:\n");
    const char *array = strstr(big, "operational_array");
    char *one = tw_arena_printf(b.arena, "%.*s%.*s%s", (int)(array - big), big,
                                (int)(strstr(dram, "operational_array") - dram), dram, array);
    const tw_rival_text file[] = {{"one.yaml", one},
                                  {"layers.yaml", tw_read_source(&b, FOLDER "layers.yaml")},
                                  {"free.yaml", "- name: default\n  spatial_mapping: {}\n"}};
    CHECK_EQ(tw_rival_parse(ctx, file, 3, &alone), TW_OK);
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    how.measure = TW_CYCLES;
    const tw_core_table *table = table_of(ctx, rival, &how);
    for (int i = 0; i < tw_rival_n_layers(alone); i++) {
        const tw_rival_found *found;
        CHECK_EQ(tw_rival_search(ctx, alone, i, &how, &found), TW_OK);
        CHECK(found->account->cycles == table->row[i].cell[0]->cycles);
        CHECK(found->account->energy_pj == table->row[i].cell[0]->energy_pj);
    }
    tw_context_free(ctx);
    tw_bench_free(&b);
}

/* hda.yaml and layers.yaml with a mapping of one entry, for both cores. */
static tw_status parse_with(tw_bench *b, tw_context *ctx, const char *spatial, const tw_rival **out)
{
    const char *name[] = {"hda.yaml", "layers.yaml", "big.yaml", "little.yaml", "dram.yaml"};
    tw_rival_text file[6];
    for (int i = 0; i < 5; i++)
        file[i] = (tw_rival_text){name[i], copy_of(b, tw_arena_printf(b->arena, FOLDER "%s", name[i]))};
    file[5] = (tw_rival_text){
        "mapping.yaml",
        tw_arena_printf(b->arena, "- name: default\n  core_allocation: [0, 1]\n  spatial_mapping: {%s}\n",
                        spatial)};
    return tw_rival_parse(ctx, file, 6, out);
}

TEST(what_lies_over_an_axis_is_about_cores_that_have_it_and_no_dataflow_of_their_own)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const tw_rival *free_one = NULL, *laid = NULL, *bad = NULL;
    CHECK_EQ(parse_with(&b, ctx, "", &free_one), TW_OK);
    CHECK_EQ(parse_with(&b, ctx, "D1: [\"OX, 2\"], D2: [\"OY, 2\"]", &laid), TW_OK);
    const tw_core_table *before = table_of(ctx, free_one, NULL), *after = table_of(ctx, laid, NULL);
    CHECK(after->row[0].cell[0]->compute_cycles > before->row[0].cell[0]->compute_cycles);
    CHECK(after->row[0].cell[1]->cycles == before->row[0].cell[1]->cycles);
    CHECK_EQ(parse_with(&b, ctx, "D1: [\"OX, 2\"], D3: [\"C, 4\"]", &bad), TW_ERR_INPUT);
    CHECK(strstr(tw_context_message(ctx, tw_context_n_messages(ctx) - 1), "the array has no dimension 'D3'") !=
          NULL);
    tw_context_free(ctx);
    tw_bench_free(&b);
}

static char *machine_of(tw_bench *b, const char *connectivity)
{
    return tw_arena_printf(b->arena,
                           "name: ways\ncores: {0: ./big.yaml, 1: ./little.yaml, 2: ./big.yaml, 3: ./dram.yaml}\n"
                           "offchip_core_id: 3\ncore_connectivity: [%s]\n",
                           connectivity);
}

/* The machine in our words; NULL: it is refused. */
static char *convert_ways(tw_bench *b, tw_context *ctx, const char *connectivity)
{
    const char *name[] = {"big.yaml", "little.yaml", "dram.yaml"};
    tw_rival_text file[4] = {{"ways.yaml", machine_of(b, connectivity)}};
    const tw_rival *rival = NULL;
    char *text = NULL;
    size_t n = 0;
    for (int i = 0; i < 3; i++)
        file[1 + i] = (tw_rival_text){name[i], copy_of(b, tw_arena_printf(b->arena, FOLDER "%s", name[i]))};
    CHECK_EQ(tw_rival_parse(ctx, file, 4, &rival), TW_OK);
    FILE *out = open_memstream(&text, &n);
    tw_status status = tw_rival_print_machine(ctx, rival, out);
    fclose(out);
    if (status == TW_OK) return text;
    free(text);
    return NULL;
}

/* Two buses, of which one is shared; a core that reaches the memory over another one; and what is narrower than a byte. */
TEST(cores_that_share_a_way_to_the_memory_share_it_in_ours)
{
    static const struct {
        const char *is, *port;
    } machine[] = {
        {"{type: bus, cores: [0, 1, 3], bandwidth: 16}, {type: bus, cores: [2, 3], bandwidth: 8}",
         "{name: way0, broadcast: true, per_cycle: 2, movers: [big_0."},
        {"{cores: [0, 1], bandwidth: 16}, {cores: [0, 3], bandwidth: 16}, {cores: [2, 3], bandwidth: 16}",
         "{name: way1, broadcast: false, per_cycle: 2, movers: [big_0."},
        {"{type: bus, cores: [0, 1, 2, 3], bandwidth: 7}", NULL}};
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    for (size_t i = 0; i < TW_COUNT(machine); i++) {
        tw_machine read;
        char *text = convert_ways(&b, ctx, machine[i].is);
        CHECK_EQ(text != NULL, machine[i].port != NULL);
        if (!text) continue;
        CHECK(strstr(text, machine[i].port) != NULL);
        CHECK_EQ(tw_read_machine(&b, "converted", text, &read), TW_OK);
        free(text);
    }
    CHECK(strstr(tw_context_message(ctx, tw_context_n_messages(ctx) - 1),
                 "ways.yaml:4:21: error: 7 bits per cycle are less than a byte") != NULL);
    tw_context_free(ctx);
    tw_bench_free(&b);
}

TEST(a_loop_that_no_layer_has_is_named_where_it_stands)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const tw_rival *rival = NULL;
    const char *name[] = {"hda.yaml", "layers.yaml", "big.yaml", "little.yaml", "dram.yaml"};
    tw_rival_text file[6] = {
        {"m.yaml", "- name: default\n  core_allocation: [0, 1]\n  inter_core_tiling: [\"Q, 2\"]\n"}};
    for (int i = 0; i < 5; i++)
        file[1 + i] = (tw_rival_text){name[i], copy_of(&b, tw_arena_printf(b.arena, FOLDER "%s", name[i]))};
    CHECK_EQ(tw_rival_parse(ctx, file, 6, &rival), TW_OK);
    CHECK_STR(tw_context_message(ctx, 0),
              "m.yaml:3:23: note: no layer that 'default' is about has a loop 'Q', which is left out");
    tw_context_free(ctx);
    tw_bench_free(&b);
}

/* How long the slower of two cores works if the first has n tiles of a layer; infinite where it cannot run any. */
static double slower(const tw_core_row *row, int n)
{
    double cycles = 0;
    for (int c = 0; c < 2; c++) {
        int64_t tiles = c == 0 ? n : row->n_tiles - n;
        if (tiles > 0) cycles = fmax(cycles, row->cell[c] ? (double)tiles * row->cell[c]->cycles : INFINITY);
    }
    return cycles;
}

/* Oracle: all numbers of tiles that the first core may have. */
TEST(tiles_that_no_core_was_named_for_go_where_the_last_ends_first)
{
    static const char *const cut[] = {"K, 3", "K, 5", "K, all", "OY, 4", "OY, all", "K, 1"};
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    const char *name[] = {"hda.yaml", "layers.yaml", "big.yaml", "little.yaml", "dram.yaml"};
    tw_rival_text file[6] = {0};
    for (int i = 0; i < 5; i++)
        file[1 + i] = (tw_rival_text){name[i], copy_of(&b, tw_arena_printf(b.arena, FOLDER "%s", name[i]))};
    for (size_t k = 0; k < TW_COUNT(cut); k++) {
        const tw_rival *rival = NULL;
        file[0] = (tw_rival_text){
            "m.yaml",
            tw_arena_printf(b.arena, "- name: default\n  core_allocation: [0, 1]\n  inter_core_tiling: [\"%s\"]\n",
                            cut[k])};
        CHECK_EQ(tw_rival_parse(ctx, file, 6, &rival), TW_OK);
        const tw_core_table *table = table_of(ctx, rival, NULL);
        for (int r = 0; r < table->n_rows; r++) {
            double busy[2] = {0}, least = INFINITY;
            for (int i = 0; i < table->n_runs; i++)
                if (table->run[i].layer == r) busy[table->run[i].core] += table->run[i].end - table->run[i].start;
            for (int n = 0; n <= table->row[r].n_tiles; n++) least = fmin(least, slower(&table->row[r], n));
            CHECK(table->row[r].n_tiles == 2 || fmax(busy[0], busy[1]) == least); /* two have a core each */
        }
    }
    tw_context_free(ctx);
    tw_bench_free(&b);
}

/* ---- in our words ---- */

/* What `print` writes of the files; the caller frees it. */
static char *text_of(tw_context *ctx, const tw_rival *rival,
                     tw_status (*print)(tw_context *, const tw_rival *, FILE *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CHECK(out != NULL);
    CHECK_EQ(print(ctx, rival, out), TW_OK);
    fclose(out);
    return text;
}

/* The files as ours, evaluated: machine, workload and groups. */
static const tw_plan *plan_of(tw_context *ctx, const tw_rival *rival)
{
    char *machine = text_of(ctx, rival, tw_rival_print_machine),
         *workload = text_of(ctx, rival, tw_rival_print_workload);
    char *groups = text_of(ctx, rival, tw_rival_print_our_mapping);
    const tw_machine *m = NULL;
    const tw_model *w = NULL;
    const tw_mapping *g = NULL;
    const tw_plan *plan = NULL;
    CHECK_EQ(tw_machine_parse(ctx, "machine", machine, &m), TW_OK);
    CHECK_EQ(tw_model_parse(ctx, "workload", workload, &w), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, w, m, "groups", groups, &g), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, w, m, g, &plan), TW_OK);
    free(machine);
    free(workload);
    free(groups);
    return plan;
}

static void check_right(tw_context *ctx, const tw_plan *plan)
{
    const tw_verdict *verdict = NULL;
    CHECK_EQ(tw_plan_verify(ctx, plan, -1, NULL, &verdict), TW_OK);
    CHECK(verdict->checked && verdict->executed && verdict->equal);
}

TEST(a_mapping_of_cores_becomes_groups_that_run_and_are_right)
{
    tw_bench b = tw_bench_new();
    tw_context *ctx = tw_context_new();
    check_right(ctx, plan_of(ctx, open_set(&b, ctx, "hda.yaml", "layers.yaml", "mapping.yaml")));
    check_right(ctx, plan_of(ctx, open_set(&b, ctx, "hda.yaml", "layers.yaml", "mapping_2026.yaml")));
    tw_context_free(ctx);
    tw_bench_free(&b);
}

/* ---- ways ---- */

static bool shares_link(const tw_hda *hda, int a, int b)
{
    for (int i = 0; i < hda->n_links; i++) {
        bool has[2] = {false, false};
        for (int k = 0; k < hda->link[i].n_cores; k++) {
            has[0] |= hda->link[i].core[k] == a;
            has[1] |= hda->link[i].core[k] == b;
        }
        if (has[0] && has[1]) return true;
    }
    return false;
}

TEST(a_way_has_the_fewest_connections_and_each_leads_on)
{
    enum { N = 7, LINKS = 9 };
    uint64_t random = tw_test_seed();
    for (int round = 0; round < 300; round++) {
        int core[LINKS][3], far[N][N];
        tw_hda_link link[LINKS];
        tw_hda hda = {.n_cores = N, .n_links = (int)tw_test_pick(&random, 1, LINKS), .link = link};
        for (int i = 0; i < hda.n_links; i++) {
            link[i] = (tw_hda_link){.n_cores = 2 + (int)tw_test_pick(&random, 0, 1), .core = core[i]};
            link[i].is_bus = link[i].n_cores > 2;
            for (int k = 0; k < 3; k++) core[i][k] = (int)tw_test_pick(&random, 0, N - 1);
        }
        for (int a = 0; a < N; a++)
            for (int c = 0; c < N; c++) far[a][c] = a == c ? 0 : shares_link(&hda, a, c) ? 1 : 100;
        for (int m = 0; m < N; m++)
            for (int a = 0; a < N; a++)
                for (int c = 0; c < N; c++) far[a][c] = (int)tw_min(far[a][c], far[a][m] + far[m][c]);
        for (int a = 0; a < N; a++)
            for (int c = 0; c < N; c++) {
                int way[N], n = tw_hda_route(&hda, a, c, way);
                CHECK_EQ(n, far[a][c] < 100 ? far[a][c] : -1);
                for (int i = 0; i + 1 < n; i++) {
                    bool meets = false;
                    for (int x = 0; x < link[way[i]].n_cores; x++)
                        for (int y = 0; y < link[way[i + 1]].n_cores; y++)
                            meets |= link[way[i]].core[x] == link[way[i + 1]].core[y];
                    CHECK(meets);
                }
            }
    }
}

/* ---- what the tool computed ---- */

static const tw_rival *open_lab(tw_context *ctx, const char *shared, const char *lab)
{
    char path[3][500];
    const char *file[3] = {path[0], path[1], path[2]};
    const tw_rival *rival = NULL;
    bool free_one = strcmp(lab, "lab1_free") == 0;
    snprintf(path[0], 500, "%s/data/stream/%s/hardware/hda_bus.yaml", shared, free_one ? "lab1" : lab);
    snprintf(path[1], 500, "%s/data/stream/%s/mapping/mapping.yaml", shared, lab);
    snprintf(path[2], 500, "%s/data/stream/%s/workload/4_convs.onnx", shared, free_one ? "lab1" : lab);
    CHECK_EQ(tw_rival_open(ctx, file, 3, &rival), TW_OK);
    return rival;
}

static int row_called(const tw_core_table *t, const char *name)
{
    for (int i = 0; i < t->n_rows; i++)
        if (strcmp(t->row[i].layer, name) == 0) return i;
    return -1;
}

/* Every row of the tool's table: latency exactly, energy to one millionth; and ours is never slower. */
static void check_rows(const char *shared, const char *lab, const tw_core_table *theirs, const tw_core_table *ours)
{
    char path[500], line[4000], name[100];
    int core, n = 0;
    double ideal, temporal, stall, onload, offload, latency, energy;
    snprintf(path, sizeof path, "%s/data/golden/stream/%s.cost_lut.csv", shared, lab);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%99[^,],%d,%lf,%lf,%lf,%lf,%lf,%lf,%lf", name, &core, &ideal, &temporal, &stall, &onload,
                   &offload, &latency, &energy) != 9)
            continue;
        int row = row_called(theirs, name);
        CHECK(row >= 0);
        const tw_account *a = theirs->row[row].cell[core];
        CHECK(a != NULL);
        CHECK(a->cycles == latency && a->compute_cycles == temporal && a->part[2].cycles == stall);
        CHECK(fabs(a->energy_pj / energy - 1) < 1e-6);
        CHECK(ours->row[row].cell[core]->cycles <= latency);
        n++;
    }
    fclose(f);
    CHECK(n >= 4);
}

/* Every tile that the tool ran: where, when it began and when it ended. */
static void check_runs(const char *shared, const char *lab, const tw_core_table *t)
{
    char path[500], line[4000];
    int layer, part, core, n = 0;
    double start, end;
    snprintf(path, sizeof path, "%s/data/golden/stream/%s.nodes.csv", shared, lab);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%d,%d,%*[^,],%d,%lf,%lf", &layer, &part, &core, &start, &end) != 5) continue;
        CHECK(n < t->n_runs);
        CHECK(t->run[n].layer == layer && t->run[n].core == core && t->run[n].start == start &&
              t->run[n].end == end);
        n++;
    }
    fclose(f);
    CHECK_EQ(n, t->n_runs);
}

TEST(the_labs_cost_and_run_as_the_tool_says)
{
    static const char *const lab[] = {"lab1", "lab2", "lab1_free"};
    const char *shared = tw_test_shared();
    if (!shared) skip();
    for (size_t i = 0; i < TW_COUNT(lab); i++) {
        tw_context *ctx = tw_context_new();
        tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
        const tw_rival *rival = open_lab(ctx, shared, lab[i]);
        const tw_core_table *theirs = table_of(ctx, rival, NULL);
        how.measure = TW_CYCLES;
        how.max_nodes = 2000;
        check_rows(shared, lab[i], theirs, table_of(ctx, rival, &how));
        if (i < 2) check_runs(shared, lab[i], theirs);
        if (i == 2) CHECK(theirs->makespan == 28728); /* the best of all 81 ways to put the layers on the cores */
        tw_context_free(ctx);
    }
}

/* The lab's equal split on our own clock: three cores in step, so that what they share crosses the bus once. It is busy all the time, but for the last
 * bytes' way: input, weights, and what four layers store and three load, four bytes a cycle. */
TEST(the_equal_split_of_lab_2_takes_what_its_bytes_take_on_the_bus)
{
    const char *shared = tw_test_shared();
    if (!shared) skip();
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = plan_of(ctx, open_lab(ctx, shared, "lab2"));
    int64_t rows = 8 * 56 * 56, bytes = 3 * 56 * 56 + 8 * 9 * (3 + 3 * 8) + 4 * rows + 3 * rows;
    CHECK(tw_plan_summary(plan)->cycles >= tw_cdiv(bytes, 4));
    CHECK(tw_plan_summary(plan)->cycles <= tw_cdiv(bytes, 4) + 100);
    check_right(ctx, plan);
    tw_context_free(ctx);
}
