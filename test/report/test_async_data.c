/* test/report/test_async_data.c - what programs read of async plans, read back: commands as JSON lines and CSV against
 * the rows and the totals of the library, injection schedules against the function that makes them, the document. */
#include "async_plans.h"

#include <jansson.h>

static json_t *field(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (!value) fail_msg("no field '%s'", name);
    return value;
}
static int64_t integer(const json_t *object, const char *name) { return json_integer_value(field(object, name)); }
static const char *string(const json_t *object, const char *name) { return json_string_value(field(object, name)); }

static json_t *parse(const char *text, size_t n)
{
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("%s in '%.*s'", error.text, (int)n, text);
    return root;
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

/* ---- commands ---- */

typedef struct totals { /* per engine */
    int64_t commands, units, busy, waits[4], free_at[8];
} totals;

static int engine_of(const tw_machine *machine, const char *name)
{
    for (int e = 0; e < machine->n_engines; e++)
        if (strcmp(machine->engine[e].name, name) == 0) return e;
    fail_msg("no engine '%s'", name);
    return 0;
}

static int wait_of(const char *name)
{
    for (int w = TW_WAIT_NONE; w <= TW_WAIT_CREDIT; w++)
        if (strcmp(tw_wait_name((tw_wait)w), name) == 0) return w;
    fail_msg("no reason '%s'", name);
    return 0;
}

static void add_command(const json_t *line, const tw_machine *machine, totals *t)
{
    totals *mine = &t[engine_of(machine, string(line, "engine"))];
    int64_t start = integer(line, "start"), unit = integer(line, "unit");
    CHECK(unit >= 0 && unit < 8);
    CHECK_EQ(start - integer(line, "waited"), mine->free_at[unit]);
    mine->free_at[unit] = integer(line, "busy_end");
    mine->commands++;
    mine->units += integer(line, "units");
    mine->busy += integer(line, "busy_end") - start;
    mine->waits[wait_of(string(line, "wait"))] += integer(line, "waited");
    CHECK(integer(line, "end") >= integer(line, "busy_end"));
    CHECK_EQ(json_array_size(field(line, "operands")), json_array_size(field(line, "tiles")));
}

static int64_t read_lines(const char *text, const tw_machine *machine, totals *t)
{
    int64_t n = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1, n++) {
        json_t *line = parse(at, strcspn(at, "\n"));
        CHECK_EQ(integer(line, "number"), n);
        add_command(line, machine, t);
        json_decref(line);
    }
    return n;
}

static int count_commas(const char *line)
{
    int n = 0;
    for (; *line && *line != '\n'; line++) n += *line == ',';
    return n;
}

static void check_csv(const opened *o, int64_t n)
{
    char *text;
    PRINTED(text, tw_plan_print_events(o->ctx, o->plan, TW_FORMAT_CSV, NULL, out));
    CHECK_EQ(count_lines(text), n + 1);
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) CHECK_EQ(count_commas(at), count_commas(text));
    free(text);
}

static void check_filter(const opened *o, const totals *t)
{
    for (int e = 0; e < tw_plan_n_engines(o->plan); e++) {
        char *text;
        const char *name = tw_plan_engine_use(o->plan, 0, e)->engine;
        PRINTED(text, tw_plan_print_events(o->ctx, o->plan, TW_FORMAT_JSONL, name, out));
        CHECK_EQ(count_lines(text), t[e].commands);
        free(text);
    }
}

static void check_events(const opened *o)
{
    char *text;
    totals t[TW_MAX_ENGINES] = {0};
    PRINTED(text, tw_plan_print_events(o->ctx, o->plan, TW_FORMAT_JSONL, NULL, out));
    int64_t n = read_lines(text, o->machine, t);
    for (int e = 0; e < tw_plan_n_engines(o->plan); e++) {
        const tw_engine_use *use = tw_plan_engine_use(o->plan, 0, e);
        bool computes = o->machine->engine[e].kind == TW_COMPUTES;
        CHECK_EQ(t[e].units, computes ? tw_plan_summary(o->plan)->macs : use->load_units + use->store_units);
        CHECK_EQ(t[e].busy, use->busy_cycles);
        CHECK_EQ(t[e].waits[TW_WAIT_DATA], use->wait_data);
        CHECK_EQ(t[e].waits[TW_WAIT_CREDIT], use->wait_credit);
        CHECK_EQ(t[e].waits[TW_WAIT_NONE] + t[e].waits[TW_WAIT_ENGINE], 0);
    }
    check_csv(o, n);
    check_filter(o, t);
    free(text);
}

TEST(commands_read_back_add_up_to_what_the_simulator_counted)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 150; i++) {
        opened o = random_plan(&rng, false);
        if (o.plan && tw_plan_summary(o.plan)->instructions < 3000) check_events(&o);
        tw_context_free(o.ctx);
    }
}

/* ---- injection ---- */

typedef struct expected {
    const json_t *rows;
    int64_t n, transfers;
    const tw_plan *plan;
} expected;

static tw_status check_row(void *user, const tw_injection_row *row)
{
    expected *x = user;
    const json_t *mine = json_array_get(x->rows, (size_t)x->n++), *list = field(mine, "transfers");
    const tw_program *p = &x->plan->op[0].program;
    size_t i = 0;
    CHECK_EQ(integer(mine, "step"), row->step);
    CHECK_EQ(integer(mine, "compute"), row->compute);
    for (int l = 0; l < p->op->n_loops; l++)
        CHECK_EQ(integer(field(mine, "loops"), p->op->loop[l].name), row->index[l]);
    for (int o = 0; o < tw_op_output(p->op); o++)
        for (int m = 1; m < p->machine->n_memories; m++) {
            if (!p->flow->residency[m][o].here) continue;
            const json_t *entry = json_array_get(list, i++);
            CHECK_EQ(json_is_array(entry), row->link[m][o].sent);
            if (!json_is_array(entry)) continue;
            x->transfers++;
            CHECK_EQ(json_integer_value(json_array_get(entry, 0)), row->link[m][o].start);
            CHECK_EQ(json_integer_value(json_array_get(entry, 1)), row->link[m][o].arrive);
        }
    CHECK_EQ(json_array_size(list), i);
    return TW_OK;
}

static void check_injection(const opened *o, bool latency)
{
    char *text, *csv;
    tw_injection_options options = {.plain = latency};
    const tw_injection_summary *sum;
    PRINTED(text, tw_plan_print_injection(o->ctx, o->plan, TW_FORMAT_JSON, &options, NULL, out));
    PRINTED(csv, tw_plan_print_injection(o->ctx, o->plan, TW_FORMAT_CSV, &options, NULL, out));
    json_t *root = parse(text, strlen(text));
    const json_t *op = json_array_get(field(root, "ops"), 0);
    expected x = {.rows = field(op, "rows"), .plan = o->plan};
    CHECK_STR(string(root, "schema"), "tilewright.injection");
    CHECK_EQ(json_is_true(field(root, "plain")), latency);
    CHECK_EQ(tw_plan_injection(o->ctx, o->plan, 0, &options, check_row, &x, &sum), TW_OK);
    CHECK_EQ(json_array_size(x.rows), x.n);
    CHECK_EQ(integer(field(op, "summary"), "steps"), x.n);
    CHECK_EQ(integer(field(op, "summary"), "prologue"), sum->prologue);
    CHECK_EQ(integer(field(field(op, "summary"), "period"), "num"), sum->period_num);
    CHECK_EQ(count_lines(csv), x.transfers + 1);
    for (const char *at = csv; *at; at = strchr(at, '\n') + 1) CHECK_EQ(count_commas(at), count_commas(csv));
    json_decref(root);
    free(text);
    free(csv);
}

TEST(injection_schedules_read_back_are_the_rows_of_the_library)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 60; i++) {
        opened o = random_plan(&rng, false);
        if (o.plan && tw_plan_summary(o.plan)->instructions < 3000) check_injection(&o, i % 2);
        tw_context_free(o.ctx);
    }
}

/* ---- the document ---- */

static void check_part(const opened *o, const json_t *op)
{
    const json_t *part = field(op, "async"), *entry;
    int64_t cycles = tw_plan_summary(o->plan)->cycles, path = 0;
    size_t i;
    CHECK_EQ(integer(part, "energy_fj"), tw_plan_summary(o->plan)->energy_fj);
    CHECK_EQ(json_array_size(field(part, "engines")), tw_plan_n_engines(o->plan));
    json_array_foreach(field(part, "engines"), i, entry)
    {
        int64_t all = integer(entry, "busy_cycles") + integer(entry, "wait_data_cycles") +
                      integer(entry, "wait_credit_cycles") + integer(entry, "idle_cycles");
        CHECK_EQ(all, cycles * integer(entry, "count"));
    }
    json_array_foreach(field(part, "critical_path"), i, entry) path += integer(entry, "cycles");
    CHECK_EQ(path, cycles);
    json_array_foreach(field(part, "pools"), i, entry)
    {
        CHECK(integer(entry, "peak") <= integer(entry, "slots"));
        CHECK(integer(entry, "needed") <= integer(entry, "slots"));
    }
    CHECK(integer(field(op, "bound"), "cycles") <= cycles);
    CHECK(strlen(string(part, "advice")) > 0);
}

static void check_links(const opened *o, const json_t *op)
{
    const json_t *list = field(op, "links");
    size_t i = 0;
    for (int m = 1; m < tw_plan_n_memories(o->plan); m++)
        for (int x = 0; x < tw_plan_n_operands(o->plan, 0); x++) {
            const tw_link_use *use = tw_plan_link_use(o->plan, 0, m, x);
            if (!use->inner) continue;
            const json_t *entry = json_array_get(list, i++);
            CHECK_STR(string(entry, "inner"), use->inner);
            CHECK_EQ(integer(entry, "elements"), use->elems);
            CHECK_EQ(integer(entry, "load_units"), use->load_units);
            CHECK_EQ(integer(entry, "partial_units"), use->partial_units);
        }
    CHECK_EQ(json_array_size(list), i);
}

TEST(the_document_has_the_async_part_and_rows_up_to_the_last_one_asked_for)
{
    uint64_t rng = tw_test_seed();
    for (int i = 0; i < 60; i++) {
        opened o = random_plan(&rng, false);
        if (o.plan && tw_plan_summary(o.plan)->instructions < 3000) {
            char *text;
            tw_print_options some = {.first_row = 1, .n_rows = 3};
            PRINTED(text, tw_plan_print_json(o.ctx, o.plan, NULL, &some, out));
            json_t *root = parse(text, strlen(text));
            const json_t *op = json_array_get(field(root, "ops"), 0), *rows = field(op, "rows");
            check_part(&o, op);
            check_links(&o, op);
            CHECK(json_array_size(rows) <= 3);
            if (json_array_size(rows) > 0) CHECK_EQ(integer(json_array_get(rows, 0), "tick"), 1);
            json_decref(root);
            free(text);
        }
        tw_context_free(o.ctx);
    }
}

/* ---- accessors ---- */

TEST(a_pool_is_found_under_every_operand_that_shares_it)
{
    opened o = open_plan("matmul:64x64x64,dtype=i8", "kpu", "matmul",
                         "{at: l3, pass: true, buffers: {ifm+w: 4}}, {at: l2, pass: true},"
                         "{at: l1, pass: true}, {at: fabric, sizes: {m: 32, n: 32, k: 32}}");
    const tw_pool_use *pool = tw_plan_pool_use(o.plan, 0, 1, 1);
    CHECK(pool == tw_plan_pool_use(o.plan, 0, 1, 0));
    CHECK_EQ(pool->n_operands, 2);
    CHECK_STR(pool->operand[1], "w");
    CHECK_EQ(pool->slots, 4);
    CHECK_EQ(tw_plan_pool_use(o.plan, 0, 4, 0)->n_operands, 0); /* the fabric holds no inputs */
    tw_context_free(o.ctx);
    o = open_plan("matmul:8x8x8", "tick-10k", "matmul", "{at: buffer}");
    CHECK_EQ(tw_plan_pool_use(o.plan, 0, 1, 0)->n_operands, 0);
    tw_context_free(o.ctx);
}
