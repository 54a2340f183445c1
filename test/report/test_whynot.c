/* test/report/test_whynot.c - why a mapping does not fit: the note's table to the byte, and laws for random machines.
 * What is suggested is evaluated, what is said to be impossible is checked by adding up. */
#include "tw_test.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct question {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;   /* NULL: does not fit */
    const tw_why_not *why; /* NULL: it fits, or memory is not the reason */
} question;

static question ask(const char *model, const char *machine, const char *mapping)
{
    question q = {.ctx = tw_context_new()};
    CHECK_EQ(tw_model_open(q.ctx, model, &q.model), TW_OK);
    tw_status status = tw_machine_parse(q.ctx, "machine", machine, &q.machine);
    if (status == TW_OK) status = tw_mapping_parse(q.ctx, q.model, q.machine, "mapping", mapping, &q.mapping);
    if (status != TW_OK) fail_msg("%s", tw_context_message(q.ctx, 0));
    if (tw_plan_eval(q.ctx, q.model, q.machine, q.mapping, &q.plan) == TW_OK) return q;
    q.plan = NULL;
    if (tw_plan_why_not(q.ctx, q.model, q.machine, q.mapping, &q.why) != TW_OK) q.why = NULL;
    return q;
}

static void forget(question *q) { tw_context_free(q->ctx); }

#define PRINTED(text, call)                               \
    do {                                                  \
        size_t printed_n_ = 0;                            \
        FILE *out = open_memstream(&(text), &printed_n_); \
        CHECK_EQ((call), TW_OK);                          \
        fclose(out);                                      \
    } while (0)

/* ---- the note ---- */

/* Eight cores that share l1; what lies there is given out in the order of the program and never taken back. */
static const char *cluster(const char *placement, const char *more)
{
    static char text[1024];
    snprintf(
        text, sizeof text,
        "machine: cluster\nunit: byte\ntiming: async\nmemories:\n  - {name: l3, size: unlimited}\n"
        "  - {name: l1, size: 100000, align: 8, placement: %s, keeps: [output], whole: true%s}\nengines:\n"
        "  - {name: dma, between: [l3, l1], joins: inputs, cost: {latency: 100, per_cycle: 64}}\n"
        "  - {name: cores, computes: [multiply-add, add], on: l1, tile_multiple: 8, multiple_loops: parallel,\n"
        "     cost: {latency: 50, per_cycle: 8}}\n",
        placement, more);
    return text;
}

static const char plain[] = "matmul_transpose_b:1x1200x400:f64";
static const char with_add[] = "matmul_transpose_b:1x1200x400:f64,epilogue=add";

static const char *tiles(const char *buffers, const char *keep, bool add)
{
    static char text[512];
    snprintf(text, sizeof text,
             "mapping:\n  matmul_transpose_b:\n    levels:\n"
             "      - {at: l1, sizes: {n: 240, k: 80}, order: [m, k, n], buffers: {%s}%s}\n%s",
             buffers, keep, add ? "  matmul_transpose_b.add: {levels: [{at: l1}]}\n" : "");
    return text;
}
static const char all[] = ", keep: {ofm: all}";

static const tw_shortage *only_shortage(const question *q)
{
    CHECK(q->why != NULL);
    CHECK_EQ(q->why->n_groups, 1);
    CHECK_EQ(q->why->group[0].n_memories, 1);
    return &q->why->group[0].memory[0];
}

static void check_offsets(const tw_shortage *s, int n, const int64_t *offset, int64_t end, int64_t over)
{
    CHECK_EQ(s->use->n_blocks, n);
    for (int i = 0; i < n; i++) CHECK_EQ(s->use->block[i].offset, offset[i]);
    CHECK_EQ(s->use->height, end);
    CHECK_EQ(s->over, over);
    CHECK_EQ(s->use->capacity, 100000);
}

TEST(the_note_s_tile_ends_63840_bytes_too_high_and_no_allocator_can_help)
{
    question q = ask(plain, cluster("bump", ""), tiles("ifm: 1, w: 1", all, false));
    const tw_shortage *s = only_shortage(&q);
    check_offsets(s, 3, (int64_t[]){0, 9600, 10240}, 163840, 63840);
    CHECK_STR(s->use->block[0].name, "ofm");
    CHECK_STR(s->use->block[1].name, "ifm");
    CHECK_STR(s->use->block[2].name, "w");
    CHECK_EQ(s->use->block[2].size, 153600);
    CHECK_EQ(s->use->live, 163840);
    CHECK_EQ(s->excuse, TW_EXCUSE_NONE);
    forget(&q);
}

TEST(the_operands_of_the_addition_come_behind)
{
    question q = ask(with_add, cluster("bump", ""), tiles("ifm: 1, w: 1", all, true));
    const tw_shortage *s = only_shortage(&q);
    check_offsets(s, 5, (int64_t[]){0, 9600, 10240, 163840, 173440}, 183040, 83040);
    CHECK_STR(s->use->block[0].last_op, "matmul_transpose_b.add");
    CHECK_STR(s->use->live_op, "matmul_transpose_b");
    CHECK_EQ(s->use->live, 163840);
    CHECK_EQ(s->use->lifetime, 163840);
    CHECK(s->use->proven);
    CHECK_EQ(s->excuse, TW_EXCUSE_NONE);
    forget(&q);
    q = ask(with_add, cluster("lifetime", ""), tiles("ifm: 1, w: 1", all, true));
    s = only_shortage(&q);
    CHECK_EQ(s->use->height, 163840);
    CHECK_EQ(s->over, 63840);
    forget(&q);
}

/* The note doubles both inputs; Quidditch only the one that changes with every step. */
TEST(dual_buffers_of_both_inputs_or_of_the_weights_alone)
{
    question q = ask(plain, cluster("bump", ""), tiles("ifm: 2, w: 2", all, false));
    check_offsets(only_shortage(&q), 5, (int64_t[]){0, 9600, 10240, 10880, 164480}, 318080, 218080);
    forget(&q);
    q = ask(plain, cluster("bump", ", buffers: dual"), tiles("ifm: 1, w: 2", all, false));
    check_offsets(only_shortage(&q), 4, (int64_t[]){0, 9600, 10240, 163840}, 317440, 217440);
    forget(&q);
}

static const tw_edit *find_edit(const question *q, tw_edit_kind kind, const char *what)
{
    const tw_group_why *g = &q->why->group[0];
    for (int i = 0; i < g->n_edits; i++)
        if (g->edit[i].kind == kind && strcmp(g->edit[i].what, what) == 0) return &g->edit[i];
    fail_msg("no change of %s", what);
    return NULL;
}

TEST(every_single_change_says_what_it_would_take)
{
    question q = ask(plain, cluster("bump", ""), tiles("ifm: 2, w: 2", all, false));
    const tw_edit *single = find_edit(&q, TW_EDIT_BUFFERS, "buffers of w");
    CHECK_EQ(single->height, 318080 - 153600);
    CHECK(!single->fits);
    CHECK_EQ(find_edit(&q, TW_EDIT_BUFFERS, "buffers of ifm")->height, 318080 - 640);
    CHECK_EQ(find_edit(&q, TW_EDIT_BUFFERS, "buffers of ifm, w")->height, 163840);
    CHECK_EQ(find_edit(&q, TW_EDIT_KEEP, "keep ofm")->height, 318080 - 9600 + 1920);
    const tw_edit *n = find_edit(&q, TW_EDIT_TILE, "tile of n"), *k = find_edit(&q, TW_EDIT_TILE, "tile of k");
    CHECK_STR(n->to, "48"); /* of 8 to 240 that divide 1200: 80 would take 9'600 + 1'280 + 102'400 */
    CHECK_EQ(n->height, 9600 + 2 * 640 + 2 * 8 * 48 * 80);
    CHECK(n->fits && n->cycles > 0);
    CHECK_STR(k->to, "20");
    CHECK_EQ(k->height, 9600 + 2 * 8 * 20 + 2 * 8 * 240 * 20);
    CHECK_EQ(find_edit(&q, TW_EDIT_PLACEMENT, "placement of l1")->height, 318080);
    forget(&q);
    q = ask(plain, cluster("bump", ""), tiles("ifm: 1, w: 1", all, false));
    CHECK_EQ(find_edit(&q, TW_EDIT_KEEP, "keep ofm")->height, 156160); /* as the note expected */
    forget(&q);
}

TEST(lifetime_reuse_is_named_where_it_would_fit)
{
    static const char map[] = "mapping:\n  matmul_transpose_b:\n    levels:\n"
                              "      - {at: l1, sizes: {n: 80, k: 100}, order: [m, k, n], buffers: {ifm: 1, w: 1}, "
                              "keep: {ofm: all}}\n  matmul_transpose_b.add: {levels: [{at: l1}]}\n";
    char machine[1024];
    snprintf(machine, sizeof machine, "%s", cluster("bump", ""));
    memcpy(strstr(machine, "100000"), " 90000", 6); /* C 9'600, A 800, B 64'000; X and Y 9'600 each */
    question q = ask(with_add, machine, map);
    const tw_shortage *s = only_shortage(&q);
    CHECK_EQ(s->use->height, 93600);
    CHECK_EQ(s->use->live, 74400);
    CHECK_EQ(s->excuse, TW_EXCUSE_REUSE);
    bool offered = false;
    for (int i = 0; i < q.why->group[0].n_edits; i++) {
        const tw_edit *e = &q.why->group[0].edit[i];
        offered = offered || (e->kind == TW_EDIT_PLACEMENT && strcmp(e->policy, "lifetime") == 0 && e->fits);
    }
    CHECK(offered);
    forget(&q);
}

TEST(a_mapping_that_fits_is_no_question)
{
    question q = ask(plain, cluster("bump", ""),
                     "mapping: {matmul_transpose_b: {levels: [{at: l1, sizes: {n: 40, k: 100}, order: [m, k, n], "
                     "buffers: {ifm: 2, w: 2}, keep: {ofm: all}}]}}\n");
    CHECK(q.plan != NULL);
    CHECK_EQ(tw_plan_n_placements(q.plan), 1);
    const tw_placement_use *use = tw_plan_placement(q.plan, 0);
    CHECK_EQ(use->height, 75200);
    CHECK_STR(use->policy, "bump");
    CHECK_EQ(tw_plan_why_not(q.ctx, q.model, q.machine, q.mapping, &q.why), TW_OK);
    CHECK_EQ(q.why->n_groups, 0);
    forget(&q);
    q = ask(with_add, cluster("bump", ""),
            "mapping: {matmul_transpose_b: {levels: [{at: l1, sizes: {n: 40, k: 100}, order: [m, k, n], buffers: "
            "{ifm: 2, w: 2}, keep: {ofm: all}}]}, matmul_transpose_b.add: {levels: [{at: l1}]}}\n");
    CHECK(q.plan != NULL);
    CHECK_EQ(tw_plan_placement(q.plan, 0)->height, 94400);
    CHECK_EQ(tw_plan_placement(q.plan, 0)->lifetime, 75200);
    CHECK_EQ(tw_plan_memory_use(q.plan, 0, 1)->size, 100000);
    forget(&q);
}

TEST(another_reason_than_memory_is_passed_on)
{
    question q = ask(plain, cluster("bump", ""),
                     "mapping: {matmul_transpose_b: {levels: [{at: l1, sizes: {n: 250, k: 80}}]}}\n");
    CHECK(!q.plan && !q.why); /* no multiple of 8 */
    forget(&q);
}

/* TW_UPDATE=1 writes the golden file anew: look at the difference before you commit it. */
TEST(the_page_is_printed_byte_for_byte)
{
    const char *source = getenv("TW_SOURCE"), *golden;
    char *text, path[400];
    size_t n;
    if (!source) skip();
    question q = ask(with_add, cluster("bump", ", buffers: dual"), tiles("ifm: 1, w: 2", all, true));
    PRINTED(text, tw_why_not_print_text(q.ctx, q.why, &(tw_print_options){.columns = 80}, out));
    snprintf(path, sizeof path, "%s/test/report/golden/whynot-80.txt", source);
    FILE *file = getenv("TW_UPDATE") ? fopen(path, "w") : NULL;
    if (file) {
        fputs(text, file);
        fclose(file);
    }
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    CHECK_EQ(tw_file_read(path, 1 << 20, arena, &diag, &golden, &n), TW_OK);
    CHECK_STR(text, golden);
    tw_diag_release(&diag);
    tw_arena_free(arena);
    free(text);
    forget(&q);
}

/* The section of a plan that fits, and its document. */
TEST(a_plan_tells_where_everything_lies)
{
    question q =
        ask(with_add, cluster("bump", ""),
            "mapping: {matmul_transpose_b: {levels: [{at: l1, sizes: {n: 40, k: 100}, order: [m, k, n], "
            "buffers: {ifm: 2, w: 2}, keep: {ofm: all}}]}, matmul_transpose_b.add: {levels: [{at: l1}]}}\n");
    char *text;
    PRINTED(text, tw_plan_print_text(q.ctx, q.plan, NULL, &(tw_print_options){.columns = 80, .map = true}, out));
    CHECK(strstr(text, "bump ends at 94'400 of 100'000 bytes") != NULL);
    CHECK(strstr(text, "commands 0") != NULL);
    CHECK(strstr(text, "stays for matmul_transpose_b.add") != NULL);
    CHECK(strstr(text, "left by matmul_transpose_b") != NULL);
    CHECK(strstr(text, "(null)") == NULL);
    CHECK(strstr(text, "80'800") == NULL);
    free(text);
    PRINTED(text, tw_plan_print_json(q.ctx, q.plan, NULL, &(tw_print_options){0}, out));
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *placement = json_array_get(json_object_get(root, "placement"), 0);
    const json_t *bump = json_object_get(json_object_get(placement, "policies"), "bump");
    CHECK_EQ(json_integer_value(json_object_get(placement, "height")), 94400);
    CHECK_EQ(json_integer_value(json_object_get(placement, "fragmentation")), 19200);
    CHECK_EQ(json_integer_value(json_object_get(bump, "waste")), 19200);
    CHECK_EQ(json_array_size(json_object_get(placement, "blocks")), 7);
    json_decref(root);
    free(text);
    forget(&q);
}

/* ---- laws ---- */

static int64_t group_cycles(const tw_plan *plan, const tw_group_why *g)
{
    int64_t sum = 0;
    for (int i = 0; i < g->n_ops; i++) sum += tw_plan_op_summary(plan, g->first_op + i)->cycles;
    return sum;
}

/* Through a file and back. */
static const tw_mapping *reread(question *q, const tw_mapping *mapping)
{
    char *text;
    const tw_mapping *again = NULL;
    PRINTED(text, tw_mapping_print_to(q->ctx, mapping, q->model, q->machine, out));
    CHECK_EQ(tw_mapping_parse(q->ctx, q->model, q->machine, "again", text, &again), TW_OK);
    free(text);
    return again;
}

static void check_edit(question *q, const tw_group_why *g, const tw_edit *e)
{
    const tw_plan *plan;
    if (e->kind == TW_EDIT_PLACEMENT) return;
    tw_status status = tw_plan_eval(q->ctx, q->model, q->machine, reread(q, e->mapping), &plan);
    CHECK_EQ(status, e->fits ? TW_OK : TW_INFEASIBLE);
    CHECK_EQ(e->fits, e->height <= e->capacity);
    if (e->fits) CHECK_EQ(group_cycles(plan, g), e->cycles);
    tw_context_clear_messages(q->ctx);
}

static void check_shortage(const tw_shortage *s)
{
    const tw_placement_use *use = s->use;
    int64_t end = 0, most = 0;
    for (int i = 0; i < use->n_blocks; i++) {
        const tw_block_use *block = &use->block[i];
        end = tw_max(end, block->offset + block->size);
        CHECK(block->lower < block->upper && block->upper <= use->n_commands);
        CHECK_EQ(block->offset % use->align, 0);
    }
    /* the operator that needs most: no block is needed by an operator before its own or behind its last */
    for (int i = 0; i < use->n_blocks; i++) {
        int64_t sum = 0;
        for (int k = 0; k < use->n_blocks; k++) {
            const tw_block_use *block = &use->block[k];
            bool here = strcmp(block->op, use->block[i].op) == 0 || strcmp(block->last_op, use->block[i].op) == 0;
            if (here && block->reads + block->writes > 0) sum += block->size;
        }
        most = tw_max(most, sum);
    }
    CHECK_EQ(end, use->height);
    CHECK_EQ(use->live, most);
    CHECK_EQ(s->over, use->height - use->capacity);
    CHECK(s->over > 0);
    CHECK_EQ(s->excuse == TW_EXCUSE_NONE, most > use->capacity);
    CHECK(use->lifetime <= use->bump && use->lifetime <= use->slots && use->least <= use->lifetime);
}

static void check_nearest(const tw_group_why *g)
{
    int64_t fastest = INT64_MAX;
    for (int i = 0; i < g->n_nearest; i++) {
        CHECK(g->nearest[i].fits);
        CHECK(i == 0 || g->nearest[i].distance >= g->nearest[i - 1].distance);
        CHECK(i < 3 || g->nearest[i].cycles < fastest);
        fastest = tw_min(fastest, g->nearest[i].cycles);
    }
}

static void check_text(question *q)
{
    char *text;
    tw_print_options how = {.columns = 72, .ascii = true};
    PRINTED(text, tw_why_not_print_text(q->ctx, q->why, &how, out));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) CHECK(strcspn(line, "\n") <= 72);
    for (const char *c = text; *c; c++) CHECK((unsigned char)*c < 128);
    CHECK(strstr(text, " is short by ") != NULL);
    free(text);
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void check_json(question *q)
{
    char *text;
    PRINTED(text, tw_why_not_print_json(q->ctx, q->why, out));
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    CHECK(root != NULL);
    CHECK_STR(json_string_value(json_object_get(root, "schema")), "tilewright.why-not");
    json_t *groups = json_object_get(root, "groups");
    CHECK_EQ(json_array_size(groups), q->why->n_groups);
    for (int i = 0; i < q->why->n_groups; i++) {
        const tw_group_why *g = &q->why->group[i];
        const json_t *group = json_array_get(groups, (size_t)i);
        const json_t *memory = json_array_get(json_object_get(group, "memories"), 0);
        CHECK_EQ(number(memory, "over"), g->memory[0].over);
        CHECK_EQ(json_array_size(json_object_get(memory, "blocks")), g->memory[0].use->n_blocks);
        CHECK_EQ(json_array_size(json_object_get(group, "changes")), g->n_edits);
        CHECK_EQ(json_array_size(json_object_get(group, "nearest")), g->n_nearest);
        for (int k = 0; k < g->n_nearest; k++)
            CHECK_EQ(number(json_array_get(json_object_get(group, "nearest"), (size_t)k), "cycles"),
                     g->nearest[k].cycles);
    }
    json_decref(root);
    free(text);
}

static void check_why(question *q)
{
    CHECK(q->why->n_groups > 0);
    for (int i = 0; i < q->why->n_groups; i++) {
        const tw_group_why *g = &q->why->group[i];
        for (int m = 0; m < g->n_memories; m++) check_shortage(&g->memory[m]);
        for (int k = 0; k < g->n_edits; k++) check_edit(q, g, &g->edit[k]);
        for (int k = 0; k < g->n_nearest; k++) check_edit(q, g, &g->nearest[k]);
        check_nearest(g);
    }
    check_text(q);
    check_json(q);
}

/* A cluster with one memory of a random kind. */
typedef struct small {
    const char *placement;
    int align, size;
    bool whole, dual, add;
    char model[80], map[400];
} small;

static const char *small_machine(const small *s, const char *placement)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "machine: small\nunit: byte\ntiming: async\nmemories:\n  - {name: far, size: unlimited}\n"
             "  - {name: near, size: %d, align: %d, placement: %s, whole: %s, buffers: %s}\nengines:\n"
             "  - {name: dma, between: [far, near], cost: {latency: 5, per_cycle: 8}}\n"
             "  - {name: mac, computes: [multiply-add, add], on: near, cost: {latency: 2, per_cycle: 2}}\n",
             s->size, s->align, placement, s->whole ? "true" : "false", s->dual ? "dual" : "any");
    return text;
}

static small random_small(uint64_t *rng)
{
    static const char *const policy[] = {"slots", "bump", "lifetime"}, *const order[] = {"m, n, k", "m, k, n",
                                                                                         "k, n, m", "n, k, m"};
    int m = (int)tw_test_pick(rng, 1, 6), n = (int)tw_test_pick(rng, 1, 24), k = (int)tw_test_pick(rng, 1, 24);
    small s = {.placement = policy[tw_test_pick(rng, 0, 2)],
               .align = 1 << tw_test_pick(rng, 0, 3),
               .size = (int)tw_test_pick(rng, 8, 2500),
               .dual = tw_test_pick(rng, 0, 1),
               .add = tw_test_pick(rng, 0, 1)};
    s.whole = s.add || tw_test_pick(rng, 0, 1);
    snprintf(s.model, sizeof s.model, "matmul_transpose_b:%dx%dx%d:%s%s", m, n, k,
             tw_test_pick(rng, 0, 1) ? "f64" : "f32", s.add ? ",epilogue=add" : "");
    char buffers[60] = "";
    if (!s.dual && tw_test_pick(rng, 0, 1))
        snprintf(buffers, sizeof buffers, ", buffers: {ifm: %d, w: %d}", (int)tw_test_pick(rng, 1, 3),
                 (int)tw_test_pick(rng, 1, 3));
    snprintf(s.map, sizeof s.map,
             "mapping:\n  matmul_transpose_b:\n    levels:\n      - {at: near, sizes: {m: %d, n: %d, k: %d}, "
             "order: [%s]%s%s}\n%s",
             (int)tw_test_pick(rng, 1, m), (int)tw_test_pick(rng, 1, n), (int)tw_test_pick(rng, 1, k),
             order[tw_test_pick(rng, 0, 3)], buffers, s.add || tw_test_pick(rng, 0, 1) ? ", keep: {ofm: all}" : "",
             s.add ? "  matmul_transpose_b.add: {levels: [{at: near}]}\n" : "");
    return s;
}

/* What is said about another policy is what a machine that has it says. */
static void check_placements(const small *s, const question *q)
{
    for (int i = 0; i < q->why->n_groups; i++)
        for (int k = 0; k < q->why->group[i].n_edits; k++) {
            const tw_edit *e = &q->why->group[i].edit[k];
            if (e->kind != TW_EDIT_PLACEMENT) continue;
            question other = ask(s->model, small_machine(s, e->policy), s->map);
            CHECK_EQ(other.plan != NULL, e->fits);
            if (other.plan)
                CHECK_EQ(group_cycles(other.plan, &q->why->group[i]), e->cycles);
            else
                CHECK_EQ(only_shortage(&other)->use->height, e->height);
            if (other.plan && tw_plan_n_placements(other.plan) > 0)
                CHECK_EQ(tw_plan_placement(other.plan, 0)->height, e->height);
            forget(&other);
        }
}

/* The verdict about allocators, by asking the machine that has the best one. */
static void check_excuse(const small *s, const question *q)
{
    const tw_shortage *shortage = only_shortage(q);
    question other = ask(s->model, small_machine(s, "lifetime"), s->map);
    if (shortage->excuse == TW_EXCUSE_NONE) CHECK(!other.plan);
    if (shortage->excuse == TW_EXCUSE_REUSE || shortage->excuse == TW_EXCUSE_PACKING) CHECK(other.plan != NULL);
    forget(&other);
}

TEST(what_is_suggested_fits_and_costs_what_it_says_on_random_machines)
{
    uint64_t rng = tw_test_seed();
    int n_short = 0;
    for (int i = 0; i < 300; i++) {
        small s = random_small(&rng);
        question q = ask(s.model, small_machine(&s, s.placement), s.map);
        if (q.why && q.why->n_groups > 0) {
            n_short++;
            check_why(&q);
            check_placements(&s, &q);
            check_excuse(&s, &q);
        }
        if (q.plan) {
            CHECK_EQ(tw_plan_why_not(q.ctx, q.model, q.machine, q.mapping, &q.why), TW_OK);
            CHECK_EQ(q.why->n_groups, 0);
        }
        forget(&q);
    }
    CHECK(n_short > 50);
}

/* Two memories in rows. */
TEST(lockstep_machines_are_asked_too)
{
    uint64_t rng = tw_test_seed();
    int n_short = 0;
    for (int i = 0; i < 100; i++) {
        char machine[800], map[400], model[60];
        snprintf(machine, sizeof machine,
                 "machine: rows\nunit: element\ntiming: lockstep\nmemories:\n  - {name: far, size: unlimited}\n"
                 "  - {name: mid, size: %d}\n  - {name: near, size: %d, align: %d}\nengines:\n"
                 "  - {name: a, between: [far, mid], channels: 1, cost: {latency: 3, per_cycle: 4}}\n"
                 "  - {name: b, between: [mid, near], channels: unlimited, cost: {constant: 1}}\n"
                 "  - {name: mac, computes: [multiply-add], on: near, accumulate: [fused], cost: {latency: 1, "
                 "per_cycle: 8}}\n",
                 (int)tw_test_pick(&rng, 20, 900), (int)tw_test_pick(&rng, 10, 400), 1 << tw_test_pick(&rng, 0, 2));
        int m = (int)tw_test_pick(&rng, 2, 16), n = (int)tw_test_pick(&rng, 2, 16),
            k = (int)tw_test_pick(&rng, 2, 16);
        snprintf(model, sizeof model, "matmul:%dx%dx%d", m, n, k);
        snprintf(map, sizeof map,
                 "mapping: {matmul: {levels: [{at: mid, tiles: {m: %d}, buffers: {ifm: 2, w: %d}},"
                 " {at: near, tiles: {n: %d, k: %d}, buffers: {ifm: %d}}]}}\n",
                 (int)tw_test_pick(&rng, 1, 2), (int)tw_test_pick(&rng, 1, 2), (int)tw_test_pick(&rng, 1, 2),
                 (int)tw_test_pick(&rng, 1, 2), (int)tw_test_pick(&rng, 1, 3));
        question q = ask(model, machine, map);
        if (q.why && q.why->n_groups > 0) check_why(&q), n_short++;
        forget(&q);
    }
    CHECK(n_short > 20);
}

/* Several groups that do not fit: each suggestion is complete. */
TEST(suggestions_for_one_group_mend_the_others)
{
    char *workload;
    size_t size;
    FILE *out = open_memstream(&workload, &size);
    fputs("workload: two\nops:\n  - {name: a, op: matmul, shape: [8, 64, 64], dtype: f32, output: x}\n"
          "  - {name: b, op: matmul, shape: [8, 64, 64], dtype: f32, inputs: {ifm: x}}\n",
          out);
    fclose(out);
    question q = {.ctx = tw_context_new()};
    CHECK_EQ(tw_model_parse(q.ctx, "two", workload, &q.model), TW_OK);
    CHECK_EQ(tw_machine_parse(q.ctx, "machine", cluster("bump", ""), &q.machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(q.ctx, q.model, q.machine, "map",
                              "mapping: {a: {levels: [{at: l1, sizes: {m: 8}, buffers: {w: 7}}]},"
                              " b: {levels: [{at: l1, buffers: {w: 7}}]}}\n",
                              &q.mapping),
             TW_OK);
    CHECK_EQ(tw_plan_why_not(q.ctx, q.model, q.machine, q.mapping, &q.why), TW_OK);
    CHECK_EQ(q.why->n_groups, 2);
    check_why(&q);
    forget(&q);
    free(workload);
}
