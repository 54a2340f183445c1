/* test/sim/test_async.c - the async simulator against models.md 4.2, played by hand: see credit_oracle.h.
 *
 * Random machines of the KPU's shape with random costs, pools and units, random matmuls with uneven tiles: the moments
 * of every command, what it waited for, deadlocks, and the fewest buffers that avoid them. */
#include "async_random.h"
#include "credit_oracle.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

/* ---- a case ---- */

typedef enum cost_form { CONSTANT, LINEAR, STEPPED, ARRAY } cost_form;
typedef struct cost_map { /* of one engine, as the machine file gives it */
    cost_form form;
    int64_t fixed, per; /* cycles, latency, cycles per step; work per cycle, work per step */
    int64_t busy;       /* CONSTANT                                                       */
    int64_t array[2];
    bool pipelined;
} cost_map;

typedef struct async_case {
    credit_case credit;
    int64_t extent[3], size[3]; /* i, j, k */
    int64_t in_bytes, out_bytes;
    cost_map cost[N_STAGES];
} async_case;

static const char *const engine_name[N_STAGES] = {"dma", "move", "stream", "array", "drain", "lift", "out"};

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t length(const async_case *c, int loop, int64_t i)
{
    return tw_min(c->size[loop], c->extent[loop] - i * c->size[loop]);
}

static credit_cost price(const cost_map *m, int64_t work)
{
    int64_t steps = up(work, tw_max(m->per, 1));
    switch (m->form) {
    case CONSTANT: return (credit_cost){m->fixed, m->busy};
    case STEPPED: return (credit_cost){m->fixed * steps, m->fixed * steps};
    case LINEAR:
    case ARRAY: break;
    }
    return (credit_cost){m->fixed + steps, m->pipelined ? steps : m->fixed + steps};
}

/* Of whose costs and units it takes part. */
static credit_stage engine_of(const async_case *c, credit_stage stage)
{
    if (stage == OUT && c->credit.dma_writes) return DMA;
    return stage == LIFT && c->credit.mover_lifts ? MOVE : stage;
}

static credit_cost cost_of(const void *user, credit_stage stage, char operand, const int64_t tile[3])
{
    const async_case *c = user;
    int64_t m = length(c, 0, tile[0]), n = length(c, 1, tile[1]), k = length(c, 2, tile[2]);
    const cost_map *map = &c->cost[engine_of(c, stage)];
    int64_t a = m * k * c->in_bytes, b = k * n * c->in_bytes;
    if (stage == COMPUTE && map->form == ARRAY) return price(map, up(m, map->array[0]) * up(n, map->array[1]) * k);
    if (stage == COMPUTE) return price(map, m * n * k);
    return price(map, operand == 'A' ? a : operand == 'B' ? b : operand == '+' ? a + b : m * n * c->out_bytes);
}

/* ---- random ones ---- */

static cost_map random_cost(uint64_t *rng, bool computes)
{
    cost_map m = {.form = (cost_form)tw_test_pick(rng, CONSTANT, computes ? ARRAY : STEPPED)};
    int64_t most = tw_test_pick(rng, 0, 2) ? 40 : 4; /* many ties, or few */
    m.fixed = tw_test_pick(rng, 0, most);
    m.busy = tw_test_pick(rng, 0, 1) ? m.fixed : tw_test_pick(rng, 0, m.fixed);
    m.per = m.form == ARRAY ? 1 : tw_test_pick(rng, 1, computes ? 30 : 8);
    m.array[0] = tw_test_pick(rng, 1, 3);
    m.array[1] = tw_test_pick(rng, 1, 3);
    m.pipelined = (m.form == LINEAR || m.form == ARRAY) && tw_test_pick(rng, 0, 1);
    return m;
}

static void random_pools(uint64_t *rng, async_case *c)
{
    credit_case *r = &c->credit;
    for (int m = 0; m < 3; m++) r->shared[m] = tw_test_pick(rng, 0, 2) == 0;
    int64_t most = tw_test_pick(rng, 1, 6);
    for (int p = 0; p < N_POOLS; p++) r->slots[p] = tw_test_pick(rng, 1, most);
    /* Mostly enough for the panel, or nearly every case would be dead. */
    if (tw_test_pick(rng, 0, 3)) r->slots[L2_A] += r->n[2] - 1 + r->shared[1];
    if (tw_test_pick(rng, 0, 3)) r->slots[L1_A] += r->shared[2];
}

static async_case random_case(uint64_t *rng)
{
    async_case c = {.in_bytes = INT64_C(1) << tw_test_pick(rng, 0, 2), .out_bytes = 4};
    credit_case *r = &c.credit;
    for (int l = 0; l < 3; l++) {
        c.extent[l] = tw_test_pick(rng, 1, 11);
        c.size[l] = up(c.extent[l], tw_test_pick(rng, 1, tw_min(tw_test_pick(rng, 0, 4) ? 4 : 11, c.extent[l])));
        r->n[l] = up(c.extent[l], c.size[l]);
    }
    r->joined = tw_test_pick(rng, 0, 1);
    r->dma_writes = tw_test_pick(rng, 0, 3) == 0;
    r->mover_lifts = tw_test_pick(rng, 0, 3) == 0;
    bool several = tw_test_pick(rng, 0, 2) == 0;
    for (int e = 0; e < N_STAGES; e++) {
        c.cost[e] = random_cost(rng, e == COMPUTE);
        r->units[e] = several ? tw_test_pick(rng, 1, 3) : 1;
    }
    if (!r->joined && tw_test_pick(rng, 0, 1)) r->units[STREAM] = 2; /* one for A, one for B */
    random_pools(rng, &c);
    r->cost = cost_of;
    return c;
}

/* ---- as text ---- */

static void print_cost(FILE *f, const cost_map *m)
{
    const char *pipelined = m->pipelined ? ", pipelined: true" : "";
    switch (m->form) {
    case CONSTANT: fprintf(f, "cost: {constant: %" PRId64 ", busy: %" PRId64 "}", m->fixed, m->busy); break;
    case LINEAR:
        fprintf(f, "cost: {latency: %" PRId64 ", per_cycle: %" PRId64 "}%s", m->fixed, m->per, pipelined);
        break;
    case STEPPED: fprintf(f, "cost: {per_step: %" PRId64 ", step: %" PRId64 "}", m->fixed, m->per); break;
    case ARRAY:
        fprintf(f, "cost: {latency: %" PRId64 ", array: [%" PRId64 ", %" PRId64 "]}%s", m->fixed, m->array[0],
                m->array[1], pipelined);
        break;
    }
}

static void print_engine(FILE *f, const async_case *c, credit_stage e, const char *keys)
{
    fprintf(f, "  - {name: %s, %s, count: %" PRId64 ", ", engine_name[e], keys, c->credit.units[e]);
    print_cost(f, &c->cost[e]);
    fprintf(f, "}\n");
}

static void print_machine(FILE *f, const async_case *c)
{
    const credit_case *r = &c->credit;
    fprintf(f, "machine: m\nunit: byte\ntiming: async\nreuse: declared\nmemories:\n"
               "  - {name: dram, size: unlimited}\n  - {name: l3, size: unlimited}\n"
               "  - {name: l2, size: unlimited}\n  - {name: l1, size: unlimited, holds: inputs}\n"
               "  - {name: fabric, size: unlimited, holds: output}\nengines:\n");
    print_engine(f, c, DMA, r->dma_writes ? "between: [dram, l3]" : "between: [dram, l3], carries: in");
    print_engine(f, c, MOVE, r->mover_lifts ? "between: [l3, l2]" : "between: [l3, l2], carries: in");
    print_engine(f, c, STREAM,
                 r->joined ? "between: [l2, l1], carries: in, joins: inputs" : "between: [l2, l1], carries: in");
    print_engine(f, c, COMPUTE, "computes: multiply-add, on: fabric");
    print_engine(f, c, DRAIN, "between: [l2, fabric], carries: out");
    if (!r->mover_lifts) print_engine(f, c, LIFT, "between: [l3, l2], carries: out");
    if (!r->dma_writes) print_engine(f, c, OUT, "between: [dram, l3], carries: out");
}

static void print_inputs(FILE *f, const credit_case *r, int memory, credit_pool a)
{
    if (r->shared[memory])
        fprintf(f, "ifm+w: %" PRId64, r->slots[a]);
    else
        fprintf(f, "ifm: %" PRId64 ", w: %" PRId64, r->slots[a], r->slots[a + 1]);
}

static void print_mapping(FILE *f, const async_case *c)
{
    const credit_case *r = &c->credit;
    fprintf(f, "mapping:\n  matmul:\n    levels:\n      - {at: l3, pass: true, buffers: {");
    print_inputs(f, r, 0, L3_A);
    fprintf(f, ", ofm: %" PRId64 "}}\n      - {at: l2, pass: true, keep: {ifm: m}, buffers: {", r->slots[L3_C]);
    print_inputs(f, r, 1, L2_A);
    fprintf(f, ", ofm: %" PRId64 "}}\n      - {at: l1, pass: true, buffers: {", r->slots[L2_C]);
    print_inputs(f, r, 2, L1_A);
    fprintf(f,
            "}}\n      - {at: fabric, sizes: {m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64 "}, order: [m, n, k], ",
            c->size[0], c->size[1], c->size[2]);
    fprintf(f, "unroll: [m, n], buffers: {ofm: %" PRId64 "}}\n", r->slots[FABRIC_C]);
}

typedef struct texts {
    char workload[256], machine[2048], mapping[1024];
} texts;

static texts texts_of(const async_case *c)
{
    texts t = {0};
    static const char *const dtype[] = {"", "i8", "i16", "", "i32"};
    snprintf(t.workload, sizeof t.workload,
             "workload: w\nops:\n  - {name: matmul, op: matmul, shape: [%" PRId64 ", %" PRId64 ", %" PRId64
             "], dtype: %s, out_dtype: i32}\n",
             c->extent[0], c->extent[1], c->extent[2], dtype[c->in_bytes]);
    FILE *f = fmemopen(t.machine, sizeof t.machine, "w");
    print_machine(f, c);
    fclose(f);
    f = fmemopen(t.mapping, sizeof t.mapping, "w");
    print_mapping(f, c);
    fclose(f);
    return t;
}

static tw_status eval(tw_context *ctx, const texts *t, const tw_plan **plan)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    if (tw_model_parse(ctx, "workload", t->workload, &model) != TW_OK ||
        tw_machine_parse(ctx, "machine", t->machine, &machine) != TW_OK ||
        tw_mapping_parse(ctx, model, machine, "mapping", t->mapping, &mapping) != TW_OK)
        fail_msg("%s\n%s%s%s", tw_context_message(ctx, 0), t->workload, t->machine, t->mapping);
    return tw_plan_eval(ctx, model, machine, mapping, plan);
}

/* ---- comparing ---- */

typedef struct watcher {
    const async_case *c;
    const credit_result *expected;
    const char *what;
    int at;
    int64_t busy[N_STAGES], wait_data[N_STAGES], wait_credit[N_STAGES]; /* by engine */
} watcher;

static credit_stage stage_of(const tw_row *row)
{
    const tw_action *a = row->action;
    int e = 0;
    while (strcmp(engine_name[e], a->engine) != 0) e++;
    if (a->op != TW_STORE) return (credit_stage)e;
    return e == DMA ? OUT : e == MOVE ? LIFT : (credit_stage)e;
}

static char letter_of(const char *operand) { return *operand == 'i' ? 'A' : *operand == 'w' ? 'B' : 'C'; }

static bool same_tile(const tw_row *row, const credit_event *e)
{
    for (int i = 0; i < row->n_actions; i++) {
        const tw_action *a = &row->action[i];
        const int64_t *t = e->tile;
        bool same = a->op == TW_EXEC               ? a->tile[0] == t[0] && a->tile[1] == t[1] && a->tile[2] == t[2]
                    : letter_of(a->operand) == 'A' ? a->tile[0] == t[0] && a->tile[1] == t[2]
                    : letter_of(a->operand) == 'B' ? a->tile[0] == t[2] && a->tile[1] == t[1]
                                                   : a->tile[0] == t[0] && a->tile[1] == t[1];
        if (!same) return false;
    }
    return true;
}

static tw_wait reason_of(const credit_event *e)
{
    if (e->t.start == e->t.unit_free) return e->t.start > 0 ? TW_WAIT_ENGINE : TW_WAIT_NONE;
    return e->t.start == e->t.data_ready ? TW_WAIT_DATA : TW_WAIT_CREDIT;
}

static tw_status compare(void *user, const tw_row *row)
{
    watcher *w = user;
    const credit_event *e = &w->expected->event[w->at];
    if (w->at >= w->expected->n_events) fail_msg("too many commands\n%s", w->what);
    const tw_action *a = row->action;
    credit_stage stage = stage_of(row);
    char operand = row->n_actions == 2 ? '+' : letter_of(a->operand);
    if (stage != e->stage || operand != e->operand || !same_tile(row, e) || a->unit != e->unit ||
        row->start_cycle != e->t.start || row->end_cycle != e->t.end || a->busy_end != e->t.busy_end ||
        a->wait != reason_of(e) || a->waited != e->t.start - e->t.unit_free)
        fail_msg("command %d: %s %c at %" PRId64 "-%" PRId64 " busy %" PRId64 " unit %d wait %s %" PRId64
                 ", expected %s %c [%" PRId64 " %" PRId64 " %" PRId64 "] at %" PRId64 "-%" PRId64 " busy %" PRId64
                 " unit %d wait %s\n%s",
                 w->at, a->engine, operand, row->start_cycle, row->end_cycle, a->busy_end, a->unit,
                 tw_wait_name(a->wait), a->waited, engine_name[e->stage], e->operand, e->tile[0], e->tile[1],
                 e->tile[2], e->t.start, e->t.end, e->t.busy_end, e->unit, tw_wait_name(reason_of(e)), w->what);
    credit_stage engine = engine_of(w->c, stage);
    w->busy[engine] += e->t.busy_end - e->t.start;
    if (a->wait == TW_WAIT_DATA) w->wait_data[engine] += a->waited;
    if (a->wait == TW_WAIT_CREDIT) w->wait_credit[engine] += a->waited;
    w->at++;
    return TW_OK;
}

static void compare_engines(const watcher *w, const tw_plan *plan)
{
    int64_t critical = 0;
    for (int i = 0; i < tw_plan_n_engines(plan); i++) {
        const tw_engine_use *use = tw_plan_engine_use(plan, 0, i);
        int e = 0;
        while (strcmp(engine_name[e], use->engine) != 0) e++;
        CHECK_EQ(use->busy_cycles, w->busy[e]);
        CHECK_EQ(use->wait_data, w->wait_data[e]);
        CHECK_EQ(use->wait_credit, w->wait_credit[e]);
        CHECK_EQ(use->count, w->c->credit.units[e]);
        critical += use->critical_cycles;
    }
    CHECK_EQ(critical, w->expected->makespan);
}

/* Where the library keeps the pool. */
static const struct {
    int memory, operand;
} home[N_POOLS] = {{1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}, {4, 2}, {2, 2}, {1, 2}};

static bool is_there(const credit_case *r, int pool)
{
    return pool > L1_B || pool % 2 == 0 || !r->shared[pool / 2];
}

/* Units run side by side may start out of order, which only the oracle can count. */
static bool is_in_order(const credit_case *r)
{
    for (int e = 0; e < N_STAGES; e++)
        if (r->units[e] > 1) return false;
    return true;
}

static void compare_pools(const async_case *c, const credit_result *expected, const tw_plan *plan, const char *what)
{
    for (int p = 0; p < N_POOLS; p++) {
        const tw_pool_use *use = tw_plan_pool_use(plan, 0, home[p].memory, home[p].operand);
        if (!is_there(&c->credit, p)) continue;
        CHECK_EQ(use->slots, c->credit.slots[p]);
        if (is_in_order(&c->credit) && use->peak != expected->peak[p])
            fail_msg("pool %d: peak %" PRId64 ", expected %" PRId64 "\n%s", p, use->peak, expected->peak[p], what);
        CHECK(use->peak <= use->slots);
        CHECK(use->peak >= use->needed);
    }
}

/* Whether the pools give their credits back in the order in which they are asked for, so that names make no difference. */
static bool names_do_not_matter(const credit_case *r)
{
    for (int e = 0; e < N_STAGES; e++)
        if (r->units[e] > 1 && (e != STREAM || r->joined || r->units[e] != 2)) return false;
    return r->units[STREAM] == 1 || (!r->shared[1] && !r->shared[2]);
}

static void check_anonymous(const async_case *c, const credit_result *expected, const char *what)
{
    credit_case r = c->credit;
    if (!names_do_not_matter(&r)) return;
    r.anonymous = true;
    credit_result other = credit_oracle(&r);
    bool same = other.dead == expected->dead;
    for (int i = 0; i < other.n_events && same; i++) same = other.event[i].t.start == expected->event[i].t.start;
    if (!same) fail_msg("the oracles disagree\n%s", what);
    credit_release(&other);
}

/* Units that take turns overtake each other: a later command may give back what an earlier one waits for. Whether
 * that saves a program depends on the costs, so the library refuses in the order of the program. */
static bool is_refused_exactly(const credit_case *r) { return names_do_not_matter(r); }

/* Whether it deadlocks, by both. */
static bool check_case(async_case *c)
{
    c->credit.user = c;
    credit_result expected = credit_oracle(&c->credit);
    texts t = texts_of(c);
    char what[4096];
    snprintf(what, sizeof what, "%s%s%s", t.workload, t.machine, t.mapping);
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = NULL;
    tw_status status = eval(ctx, &t, &plan);
    bool must_agree = is_refused_exactly(&c->credit) || expected.dead || status == TW_OK;
    if ((must_agree && (status == TW_INFEASIBLE) != expected.dead) || (status != TW_OK && status != TW_INFEASIBLE))
        fail_msg("status %s, the oracle says %s; %s\n%s", tw_status_name(status), expected.dead ? "dead" : "alive",
                 status == TW_OK ? "" : tw_context_message(ctx, 0), what);
    check_anonymous(c, &expected, what);
    if (status == TW_OK) {
        watcher w = {.c = c, .expected = &expected, .what = what};
        CHECK_EQ(tw_plan_walk(ctx, plan, 0, compare, &w), TW_OK);
        CHECK_EQ(w.at, expected.n_events);
        CHECK_EQ(tw_plan_summary(plan)->cycles, expected.makespan);
        compare_engines(&w, plan);
        compare_pools(c, &expected, plan, what);
    }
    tw_context_free(ctx);
    credit_release(&expected);
    return status != TW_OK;
}

TEST(ten_thousand_random_machines_agree_with_queues_played_by_hand)
{
    uint64_t rng = tw_test_seed();
    int n_dead = 0, n = tw_test_rounds(10000);
    for (int i = 0; i < n; i++) {
        async_case c = random_case(&rng);
        n_dead += check_case(&c);
    }
    print_message("%d of %d deadlock\n", n_dead, n);
    CHECK(n_dead > n / 20 && n_dead < n / 2);
}

/* What the library says is needed. */
static void needed_of(const async_case *c, int64_t needed[N_POOLS])
{
    async_case ample = *c;
    for (int p = 0; p < N_POOLS; p++) ample.credit.slots[p] = 40;
    texts t = texts_of(&ample);
    tw_context *ctx = tw_context_new();
    const tw_plan *plan;
    CHECK_EQ(eval(ctx, &t, &plan), TW_OK);
    for (int p = 0; p < N_POOLS; p++)
        needed[p] = tw_plan_pool_use(plan, 0, home[p].memory, home[p].operand)->needed;
    tw_context_free(ctx);
}

TEST(what_is_needed_is_enough_and_one_less_is_not)
{
    uint64_t rng = tw_test_seed();
    int n = tw_test_rounds(3000), n_less = 0;
    for (int i = 0; i < n; i++) {
        async_case c = random_case(&rng);
        int64_t needed[N_POOLS];
        needed_of(&c, needed);
        for (int p = 0; p < N_POOLS; p++) c.credit.slots[p] = needed[p];
        if (check_case(&c)) fail_msg("case %d deadlocks with what is needed", i);
        for (int p = 0; p < N_POOLS; p++) {
            if (!is_there(&c.credit, p) || needed[p] < 2 || !is_refused_exactly(&c.credit)) continue;
            async_case less = c;
            for (int other = 0; other < N_POOLS; other++)
                if (other != p && tw_test_pick(&rng, 0, 1)) less.credit.slots[other] += 3;
            less.credit.slots[p]--;
            if (!check_case(&less)) fail_msg("case %d: pool %d lives with fewer than needed", i, p);
            n_less++;
        }
    }
    print_message("%d pools were made too small\n", n_less);
    CHECK(n_less > n / 4);
}
