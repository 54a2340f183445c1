/* test/sim/test_injection.c - injection times are a schedule: it can be kept, and nothing in it can be later.
 *
 * Random machines, operators and mappings. The schedule is read through the public interface. */
#include "async_random.h"

#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "tilewright/tilewright.h"

enum { MOST_ROWS = 4000 };

typedef struct kept_row {
    int64_t compute;
    tw_injection_link link[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
} kept_row;
typedef struct table {
    int n;
    kept_row row[MOST_ROWS];
} table;

static tw_status keep_row(void *user, const tw_injection_row *row)
{
    table *t = user;
    if (t->n == MOST_ROWS) return TW_OK;
    kept_row *kept = &t->row[t->n++];
    kept->compute = row->compute;
    for (int m = 0; m < row->n_memories; m++)
        memcpy(kept->link[m], row->link[m], (size_t)row->n_operands * sizeof *row->link[m]);
    return TW_OK;
}

typedef struct starts {
    int n;
    int64_t at[MOST_ROWS];
} starts;

static tw_status keep_start(void *user, const tw_row *row)
{
    starts *s = user;
    if (row->action->op == TW_EXEC && s->n < MOST_ROWS) s->at[s->n++] = row->start_cycle;
    return TW_OK;
}

/* The mapping with exactly the buffers that the schedule asks for. */
static void give_buffers(async_random *r, const tw_plan *plan, const tw_injection_summary *sum)
{
    const tw_program *p = &plan->op[0].program;
    for (int m = 1; m < r->n_memories; m++) {
        size_t len = 0, room = sizeof r->buffers[m];
        r->buffers[m][0] = 0;
        for (int o = 0; o < p->op->n_operands; o++) {
            const tw_residency *residency = p->flow->residency[m];
            if (!residency[o].here || residency[o].pool != o) continue;
            len +=
                (size_t)snprintf(r->buffers[m] + len, room - len, "%s%s", len ? ", " : "", p->op->operand[o].name);
            for (int k = o + 1; k < p->op->n_operands; k++)
                if (residency[k].here && residency[k].pool == o)
                    len += (size_t)snprintf(r->buffers[m] + len, room - len, "+%s", p->op->operand[k].name);
            len += (size_t)snprintf(r->buffers[m] + len, room - len, ": %" PRId64,
                                    tw_max(sum->pool_slots[m][o], plan->op[0].timeline.pool[m][o].needed));
        }
    }
}

/* Whether two engines give slots of one pool back: sums that come back meet sums that go out, and a tile whose last use
 * lies in padding is given back by the execution. Which slot is free first then depends on times that the program, which
 * names its slots, does not know. */
static bool is_mixed(const tw_plan *plan)
{
    const tw_program *p = &plan->op[0].program;
    if (p->clipped) return true;
    for (int m = 0; m < p->machine->n_memories; m++)
        if (p->flow->residency[m][tw_op_output(p->op)].returns) return true;
    return false;
}

/* Every tile arrives before it is read. */
static void check_order(const async_random *r, const tw_plan *plan, const table *t)
{
    const tw_program *p = &plan->op[0].program;
    for (int i = 0; i < t->n; i++)
        for (int m = 1; m < r->n_memories; m++)
            for (int o = 0; o < tw_op_output(p->op); o++) {
                const tw_injection_link *link = &t->row[i].link[m][o];
                int inner = p->flow->residency[m][o].inner;
                if (!link->sent) continue;
                if (link->start < 0) async_random_fail(r, "a transfer starts before time 0");
                int64_t read = inner < 0 ? t->row[i].compute : t->row[i].link[inner][o].start;
                if ((inner < 0 || t->row[i].link[inner][o].sent) && link->arrive > read)
                    async_random_fail(r, "a tile arrives after it is read");
            }
}

TEST(with_the_buffers_that_it_asks_for_the_schedule_is_kept)
{
    uint64_t rng = tw_test_seed();
    int n = 0, rounds = tw_test_rounds(3000);
    static table t;
    static starts s;
    for (int i = 0; i < rounds; i++) {
        async_random r = async_random_make(&rng, (async_wish){.one_unit = true});
        tw_context *ctx = tw_context_new();
        const tw_plan *plan, *again;
        const tw_injection_summary *sum;
        t.n = s.n = 0;
        if (async_random_eval(ctx, &r, &plan) == TW_OK) {
            CHECK_EQ(tw_plan_injection(ctx, plan, 0, NULL, keep_row, &t, &sum), TW_OK);
            check_order(&r, plan, &t);
            CHECK_EQ(sum->last_compute, t.row[t.n - 1].compute);
        }
        if (t.n > 0 && !is_mixed(plan)) {
            give_buffers(&r, plan, sum);
            CHECK_EQ(async_random_eval(ctx, &r, &again), TW_OK);
            CHECK_EQ(tw_plan_walk(ctx, again, 0, keep_start, &s), TW_OK);
            CHECK_EQ(s.n, t.n);
            /* The table begins with the first transfer, the run with the first command, which may be none of them. */
            for (int k = 0; k < s.n; k++)
                if (s.at[k] - s.at[0] != t.row[k].compute - t.row[0].compute)
                    async_random_fail(&r, "an execution does not start when the schedule says");
            n++;
        }
        tw_context_free(ctx);
    }
    print_message("%d of %d were run with the buffers asked for\n", n, rounds);
    CHECK(n > rounds / 4);
}

/* ---- one link: nothing can be later ---- */

static const char *const chain_machine =
    "machine: m\nunit: element\ntiming: async\nreuse: declared\n"
    "memories: [{name: d, size: unlimited}, {name: s, size: unlimited, holds: inputs}, {name: f, size: unlimited, "
    "holds: output}]\n"
    "engines:\n"
    "  - {name: dma, between: [d, s], carries: in, cost: {constant: %" PRId64 ", busy: %" PRId64 "}}\n"
    "  - {name: out, between: [d, f], carries: out, cost: {constant: 0}}\n"
    "  - {name: mac, computes: multiply-add, on: f, cost: {constant: %" PRId64 "}}\n";

/* On a single link with constant costs the latest times are known: walking back from the last step, a transfer ends with
 * its execution or makes way for the next one. */
TEST(on_one_link_every_transfer_is_as_late_as_its_reader_or_the_next_one_allows)
{
    uint64_t rng = tw_test_seed();
    static table t;
    for (int i = 0; i < tw_test_rounds(500); i++) {
        char machine[1024], workload[64];
        int64_t cost = tw_test_pick(&rng, 0, 40), busy = tw_test_pick(&rng, 0, cost),
                mac = tw_test_pick(&rng, 1, 60);
        snprintf(machine, sizeof machine, chain_machine, cost, busy, mac);
        snprintf(workload, sizeof workload, "matmul:%" PRId64 "x%" PRId64 "x%" PRId64, tw_test_pick(&rng, 1, 5),
                 tw_test_pick(&rng, 1, 5), tw_test_pick(&rng, 1, 5));
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *m;
        const tw_mapping *mapping;
        const tw_plan *plan;
        const tw_injection_summary *sum;
        t.n = 0;
        CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "m", machine, &m), TW_OK);
        CHECK_EQ(tw_mapping_parse(
                     ctx, model, m, "p",
                     "mapping: {matmul: {levels: [{at: s, pass: true}, {at: f, sizes: {m: 1, n: 1, k: 1}}]}}",
                     &mapping),
                 TW_OK);
        CHECK_EQ(tw_plan_eval(ctx, model, m, mapping, &plan), TW_OK);
        CHECK_EQ(tw_plan_injection(ctx, plan, 0, NULL, keep_row, &t, &sum), TW_OK);
        int64_t next = INT64_MAX / 2;
        for (int k = t.n - 1; k >= 0; k--)
            for (int o = 1; o >= 0; o--) { /* w is sent behind ifm */
                int64_t latest = tw_min(t.row[k].compute - cost, next - busy);
                CHECK_EQ(t.row[k].link[1][o].start, latest);
                next = latest;
            }
        /* The executions follow the slower of the two, the link or the array. */
        int64_t period = tw_max(mac, 2 * busy);
        for (int k = 1; k < t.n; k++) CHECK_EQ(t.row[k].compute - t.row[k - 1].compute, period);
        CHECK_EQ(sum->prologue, t.row[0].compute);
        if (t.n > 1) CHECK_EQ(sum->period_num, period * sum->period_den);
        tw_context_free(ctx);
    }
}

/* ---- a period that no engine sets ---- */

TEST(a_chain_of_commands_sets_the_period_when_no_engine_is_busy_all_the_time)
{
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *m;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_injection_summary *sum;
    CHECK_EQ(tw_model_open(ctx, "matmul:1x1x9", &model), TW_OK);
    CHECK_EQ(tw_machine_parse(
                 ctx, "m",
                 "machine: m\nunit: element\ntiming: async\nmemories: [{name: d, size: unlimited}, {name: s, "
                 "size: 64}]\nengines:\n  - {name: dma, between: [d, s], cost: {constant: 1}}\n"
                 "  - {name: mac, computes: multiply-add, on: s, cost: {constant: 100, busy: 3}}\n",
                 &m),
             TW_OK);
    CHECK_EQ(
        tw_mapping_parse(ctx, model, m, "p", "mapping: {matmul: {levels: [{at: s, sizes: {k: 1}}]}}", &mapping),
        TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, m, mapping, &plan), TW_OK);
    CHECK_EQ(tw_plan_injection(ctx, plan, 0, NULL, NULL, NULL, &sum), TW_OK);
    CHECK_EQ(sum->period_num, 100); /* each sum waits for the one before it */
    CHECK_EQ(sum->period_den, 1);
    CHECK(sum->limit == NULL);
    tw_context_free(ctx);
}
