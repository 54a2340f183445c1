/* test/program/test_flow.c - who keeps what: the instructions of async programs against sets of tiles.
 *
 * Random machines, operators and mappings. What the simulator counts on every link must be what the oracle counts with
 * sets (residency_oracle.h), what the formula says, and what tw_traffic_count says. */
#include "async_random.h"
#include "plan/plan.h"
#include "residency_oracle.h"
#include "tile/traffic.h"

#include <stdio.h>
#include <string.h>

typedef struct scene {
    const async_random *r;
    tw_context *ctx;
    const tw_op_plan *plan;
    const tw_op *op;
    const tw_program *program;
    residency_result expected;
} scene;

static void differ(const scene *s, const char *what, int m, int o, int64_t got, int64_t expected)
{
    char why[256];
    if (got == expected) return;
    snprintf(why, sizeof why, "%s of %s into %s: %" PRId64 ", expected %" PRId64, what, s->op->operand[o].name,
             s->program->machine->memory[m].name, got, expected);
    async_random_fail(s->r, why);
}

static bool holds(const scene *s, int m, int o)
{
    return s->program->machine->memory[m].holds & (o == tw_op_output(s->op)    ? TW_HOLDS_OUTPUT
                                                   : s->op->operand[o].weights ? TW_HOLDS_WEIGHTS
                                                                               : TW_HOLDS_ACTIVATIONS);
}

/* ---- the set oracle ---- */

/* Where cuts are uneven nothing moves less than the sets say. */
static void compare_uneven(const scene *s, int m, int o)
{
    const tw_link_use *got = &s->plan->link[m][o];
    const residency_count *c = &s->expected.count[m][o];
    if (got->loads < c->loads) differ(s, "too few loads", m, o, got->loads, c->loads);
    if (got->elems < c->load_elems + c->store_elems + c->partial_elems)
        differ(s, "too few elements", m, o, got->elems, c->load_elems + c->store_elems + c->partial_elems);
    if (o == tw_op_output(s->op))
        differ(s, "complete stores", m, o, got->transfers - got->loads - got->partial_stores, c->stores);
}

static void compare_link(const scene *s, int m, int o)
{
    const tw_link_use *got = &s->plan->link[m][o];
    const residency_count *c = &s->expected.count[m][o];
    const tw_program *p = s->program;
    bool output = o == tw_op_output(s->op);
    int64_t each = p->elem_units[o], partial = p->partial_units;
    differ(s, "loads", m, o, got->loads, c->loads);
    differ(s, "stores", m, o, got->transfers - got->loads, c->stores + c->partial_stores);
    differ(s, "partial stores", m, o, got->partial_stores, c->partial_stores);
    differ(s, "loaded units", m, o, got->load_units, c->load_elems * (output ? partial : each));
    differ(s, "partial units", m, o, got->partial_units, output ? (c->load_elems + c->partial_elems) * partial : 0);
    differ(s, "units", m, o, got->units,
           output ? (c->load_elems + c->partial_elems) * partial + c->store_elems * each : c->load_elems * each);
    differ(s, "elements", m, o, got->elems, c->load_elems + c->store_elems + c->partial_elems);
}

/* ---- the formula ---- */

static void compare_formula(const scene *s, int m, int o)
{
    tw_flow_count count;
    const tw_link_use *got = &s->plan->link[m][o];
    bool output = o == tw_op_output(s->op);
    if (s->r->serpentine) return;
    CHECK(tw_flow_traffic(s->program, m, o, &count));
    differ(s, "elements by formula", m, o, count.elems,
           output ? got->elems - got->load_units / s->program->partial_units : got->elems);
    if (!s->expected.empty_tiles)
        differ(s, "transfers by formula", m, o, count.transfers, output ? got->transfers - got->loads : got->loads);
}

/* Loops outside of which the operand is kept in this memory or in one inside it, whichever keeps it longer. */
static int kept_depth(const scene *s, int m, int o)
{
    int depth = s->op->n_loops;
    const tw_level_map *tiled = s->program->tiled[0].map;
    for (; m < s->program->machine->n_memories; m++) {
        int keep = tw_level_keep(&s->program->map->level[m - 1], o),
            here = keep == TW_KEEP_ALL ? 0 : s->op->n_loops;
        for (int i = 0; keep >= 0 && i < s->op->n_loops; i++)
            if (tiled->order[i] == keep) here = i + 1;
        if (holds(s, m, o) && here < depth) depth = here;
    }
    return depth;
}

static void compare_traffic(const scene *s, int m, int o)
{
    const tw_level_map *tiled = s->program->tiled[0].map;
    const residency_count *c = &s->expected.count[m][o];
    bool output = o == tw_op_output(s->op);
    int64_t tile[TW_MAX_LOOPS];
    char order[128] = "";
    tw_traffic traffic;
    if (s->expected.slides || !s->r->single || !s->r->by_size || s->program->machine->reuse != TW_REUSE_RESIDENT)
        return;
    for (int l = 0; l < s->op->n_loops; l++) {
        tile[l] = tiled->size[l] ? tiled->size[l] : s->op->loop[l].extent;
        snprintf(order + strlen(order), sizeof order - strlen(order), "%s%s", l ? " " : "",
                 s->op->loop[tiled->order[l]].name);
    }
    tw_traffic_nest nest = {tile, order, s->r->serpentine};
    tw_status status = tw_traffic_count(s->ctx, &(tw_model){.n_ops = 1, .op = s->op}, 0, &nest,
                                        s->op->operand[o].name, kept_depth(s, m, o), &traffic);
    CHECK_EQ(status, TW_OK);
    differ(s, "elements by tw_traffic_count", m, o, traffic.elems,
           output ? c->store_elems + c->partial_elems : c->load_elems);
    if (!s->expected.empty_tiles)
        differ(s, "transfers by tw_traffic_count", m, o, traffic.loads,
               output ? c->stores + c->partial_stores : c->loads);
}

/* ---- laws of counts ---- */

static void check_least(const scene *s, int m, int o)
{
    const tw_link_use *got = &s->plan->link[m][o];
    if (got->units < got->least_units) differ(s, "fewer units than must cross", m, o, got->units, got->least_units);
}

static void check_points(const scene *s)
{
    CHECK_EQ(s->plan->timeline.sum.macs, tw_op_points(s->op));
    CHECK_EQ(s->plan->timeline.sum.execs, s->expected.steps);
    CHECK_EQ(s->expected.points, tw_op_points(s->op));
}

static void check_energy(const scene *s)
{
    const tw_machine *machine = s->program->machine;
    int64_t fj = s->expected.points * machine->engine[machine->compute].energy_fj;
    for (int o = 0; o < s->op->n_operands; o++)
        for (int m = 1, outer = 0; m < machine->n_memories; m++) {
            if (!holds(s, m, o)) continue;
            fj += s->plan->link[m][o].units * (machine->memory[outer].energy_fj + machine->memory[m].energy_fj);
            outer = m;
        }
    if (s->plan->timeline.sum.energy_fj != fj) async_random_fail(s->r, "energy is not counts x cost");
}

/* Partial sums that come back need an engine that carries them. */
static bool can_return(const scene *s)
{
    const tw_machine *machine = s->program->machine;
    int output = tw_op_output(s->op);
    for (int m = 1, outer = 0; m < machine->n_memories; m++) {
        bool carried = false;
        if (!holds(s, m, output)) continue;
        for (int e = 0; e < machine->n_engines; e++)
            carried |= machine->engine[e].kind == TW_MOVES && machine->engine[e].outer == outer &&
                       machine->engine[e].memory == m && (machine->engine[e].carries & TW_INWARDS);
        if (s->expected.count[m][output].loads > 0 && !carried) return false;
        outer = m;
    }
    return true;
}

/* ---- a case ---- */

/* The parts of a plan that could not be made, for the oracle. */
static void open_without_plan(scene *s, tw_program *program)
{
    char mapping[4096];
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *map;
    async_mapping_text(s->r, mapping, sizeof mapping);
    CHECK_EQ(tw_model_parse(s->ctx, "workload", s->r->workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(s->ctx, "machine", s->r->machine, &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(s->ctx, model, machine, "mapping", mapping, &map), TW_OK);
    *program = (tw_program){.op = &model->op[0], .machine = machine, .map = &map->op[0]};
    s->program = program;
    s->op = program->op;
}

static int n_uneven, n_slid;

/* What slides is also checked and executed. */
static void verify(const scene *s, const tw_plan *plan)
{
    const tw_verdict *verdict;
    if (!s->expected.slides) return;
    tw_status status = tw_plan_verify(s->ctx, plan, 0, &(tw_verify_options){0}, &verdict);
    if (status != TW_OK || !verdict->checked || !verdict->executed || !verdict->equal)
        async_random_fail(s->r,
                          status != TW_OK || !verdict->first_fault ? "there is no verdict" : verdict->first_fault);
}

static bool check_case(const async_random *r)
{
    scene s = {.r = r, .ctx = tw_context_new()};
    const tw_plan *plan = NULL;
    tw_program bare;
    tw_status status = async_random_eval(s.ctx, r, &plan);
    if (status == TW_OK) {
        s.plan = &plan->op[0];
        s.program = &s.plan->program;
        s.op = s.program->op;
    } else {
        open_without_plan(&s, &bare);
    }
    residency_oracle(s.program->machine, s.op, s.program->map, &s.expected);
    n_uneven += s.expected.uneven;
    const char *message = status == TW_OK ? "" : tw_context_message(s.ctx, 0);
    if (strstr(message, "cannot slide") ||
        strstr(message, "deadlock")) { /* of what is kept, with too few buffers */
        tw_context_free(s.ctx);
        return false;
    }
    n_slid += s.expected.slides;
    if (status == TW_OK) verify(&s, plan);
    if (status != (can_return(&s) ? TW_OK : TW_INFEASIBLE) && !(s.expected.uneven && status == TW_INFEASIBLE))
        async_random_fail(r, status == TW_OK ? "partial sums come back without an engine"
                                             : tw_context_message(s.ctx, 0));
    for (int m = 1; status == TW_OK && m < s.program->machine->n_memories; m++)
        for (int o = 0; o < s.op->n_operands; o++) {
            if (!holds(&s, m, o)) continue;
            (s.expected.uneven ? compare_uneven : compare_link)(&s, m, o);
            compare_formula(&s, m, o);
            compare_traffic(&s, m, o);
            check_least(&s, m, o);
        }
    if (status == TW_OK) {
        check_points(&s);
        check_energy(&s);
    }
    tw_context_free(s.ctx);
    return status == TW_OK;
}

TEST(ten_thousand_random_plans_move_what_sets_of_tiles_and_the_formulas_say)
{
    uint64_t rng = tw_test_seed();
    int n = tw_test_rounds(10000), n_planned = 0;
    for (int i = 0; i < n; i++) {
        async_random r = async_random_make(&rng, (async_wish){0});
        n_planned += check_case(&r);
    }
    print_message("%d of %d have a plan, %d are cut unevenly\n", n_planned, n, n_uneven);
    CHECK(n_planned > n / 2);
}

TEST(random_windows_that_slide_load_each_element_that_was_not_there)
{
    uint64_t rng = tw_test_seed();
    int n = tw_test_rounds(10000), n_planned = 0;
    n_slid = 0;
    for (int i = 0; i < n; i++) {
        async_random r = async_random_make(&rng, (async_wish){.slides = true});
        for (int m = 1; m < r.n_memories; m++)
            if (strstr(r.level[m], "slide") && tw_test_pick(&rng, 0, 2))
                snprintf(r.buffers[m], sizeof r.buffers[m], "ifm: %d", (int)tw_test_pick(&rng, 1, 4));
        n_planned += check_case(&r);
    }
    print_message("%d of %d have a plan, in %d of them something slides\n", n_planned, n, n_slid);
    CHECK(n_slid > n / 6);
}
