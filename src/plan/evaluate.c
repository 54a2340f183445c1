/* src/plan/evaluate.c - see evaluate.h. */
#include "plan/evaluate.h"

#include "plan/placing.h"
#include "program/program.h"
#include "sim/timeline.h"

#include <stdlib.h>
#include <string.h>

/* What a search will ask for again at its end: the timeline of the best so far by each of these. */
typedef enum criterion { FEWEST_CYCLES, FEWEST_TICKS, LEAST_ENERGY, LEAST_EDP, N_CRITERIA } criterion;
typedef struct kept {
    const tw_model *model; /* NULL: nothing is kept */
    int op;
    int64_t size[TW_MAX_MEMORIES]; /* of the machine's memories: searches ask about larger ones, too */
    tw_op_map map;
    tw_timeline timeline;
} kept;

typedef struct bench { /* of one thread */
    tw_arena *scratch;
    tw_diag diag; /* muted: refusals are answers here */
    kept best[N_CRITERIA];
} bench;

struct tw_evaluator {
    int n;
    bench *bench;
    tw_eval eval;
};

tw_status tw_outcome_of(const tw_program *p, const tw_timeline *timeline, tw_arena *scratch, tw_outcome *out)
{
    *out = (tw_outcome){
        .cycles = timeline->sum.cycles, .ticks = timeline->sum.ticks, .energy_fj = timeline->sum.energy_fj};
    for (int e = 0; e < p->machine->n_engines; e++)
        out->moved[e] = timeline->engine[e].load_units + timeline->engine[e].store_units;
    for (int m = 1; m < p->machine->n_memories; m++) {
        TW_TRY(tw_group_need(p, m, scratch, &out->used[m]));
        for (int o = 0; o < p->op->n_operands; o++) out->crossed[m] += timeline->link[m][o].units;
    }
    return TW_OK;
}

/* ---- timelines that are asked for again ---- */

static double praised(const tw_timeline *t, criterion by)
{
    switch (by) {
    case FEWEST_CYCLES: return (double)t->sum.cycles;
    case FEWEST_TICKS: return (double)t->sum.ticks;
    case LEAST_ENERGY: return (double)t->sum.energy_fj;
    default: return (double)t->sum.energy_fj * (double)t->sum.cycles;
    }
}

/* Short programs are simulated again sooner than they are looked for. */
static void remember(bench *b, const tw_problem *problem, const tw_op_map *map, const tw_timeline *timeline)
{
    static const int64_t short_program = 100000; /* instructions */
    if (timeline->sum.instructions < short_program) return;
    for (int by = 0; by < N_CRITERIA; by++) {
        kept *k = &b->best[by];
        bool same = k->model == problem->model && k->op == problem->op;
        if (same && praised(timeline, (criterion)by) >= praised(&k->timeline, (criterion)by)) continue;
        *k = (kept){.model = problem->model, .op = problem->op, .map = *map, .timeline = *timeline};
        for (int m = 0; m < problem->machine->n_memories; m++) k->size[m] = problem->machine->memory[m].size;
    }
}

static bool is_of(const kept *k, const tw_problem *problem, const tw_op_map *map)
{
    const tw_machine *machine = problem->machine;
    bool same = k->model == problem->model && k->op == problem->op && tw_op_map_same(&k->map, map);
    for (int m = 0; same && m < machine->n_memories; m++) same = k->size[m] == machine->memory[m].size;
    return same;
}

bool tw_evaluator_recall(const tw_evaluator *e, const tw_problem *problem, const tw_op_map *map, tw_timeline *out)
{
    for (int i = 0; i < e->n; i++)
        for (int by = 0; by < N_CRITERIA; by++)
            if (is_of(&e->bench[i].best[by], problem, map)) {
                *out = e->bench[i].best[by].timeline;
                return true;
            }
    return false;
}

/* Programs of fewer executions are measured, and simulated once more if they are the best. */
static const int64_t short_execs = 20000;

static tw_status cost(void *user, const tw_problem *problem, const tw_op_map *map, tw_meter *meter, tw_outcome *out,
                      int64_t *short_by)
{
    bench *b = user;
    tw_arena_mark mark = tw_arena_save(b->scratch);
    tw_program program;
    tw_timeline timeline;
    b->diag.short_by = 0;
    tw_status status = tw_program_build(problem, map, b->scratch, &b->diag, &program);
    if (status == TW_OK) status = tw_group_check(&program, b->scratch, &b->diag);
    *short_by = status == TW_INFEASIBLE ? b->diag.short_by : 0;
    bool brief = status == TW_OK && program.n_execs < short_execs;
    if (status == TW_OK) status = tw_timeline_measure(&program, brief, meter, b->scratch, &b->diag, &timeline);
    if (status == TW_OK && !meter->unfinished) status = tw_outcome_of(&program, &timeline, b->scratch, out);
    if (status == TW_OK && !meter->unfinished && !timeline.brief) remember(b, problem, map, &timeline);
    if (!brief) meter->done *= 2; /* as long as that takes with all that is told of a plan */
    tw_arena_rewind(b->scratch, mark);
    return meter->unfinished ? TW_OK : status;
}

/* ---- outlines ---- */

static bool add_to(int64_t *sum, int64_t x) { return tw_ckd_add(*sum, x, sum); }

/* Transfers and units of operand o between memory m and the one outside it, added to the engines. */
static bool count_link(const tw_program *p, int m, int o, tw_outline *out)
{
    const tw_residency *residency = &p->flow->residency[m][o];
    const tw_machine *machine = p->machine;
    int output = tw_op_output(p->op);
    tw_flow_count count;
    int64_t units, back = 0, energy;
    if (!tw_flow_traffic(p, m, o, &count) || !tw_ckd_mul(count.elems, p->elem_units[o], &units)) return false;
    out->transfers[m][o] = count.transfers;
    if (o == output) { /* finished elements leave once; the others leave and come back as partial sums */
        if (!tw_ckd_mul(count.elems - count.sweep, p->partial_units, &back)) return false;
        units = count.sweep * p->elem_units[o] + back;
        if (back > 0 && residency->filler >= 0) {
            out->commands[residency->filler] += 1;
            if (!add_to(&out->units[residency->filler], back)) return false;
        }
    }
    int e = o == output ? residency->drain : residency->filler;
    bool joins = machine->engine[e].joins && o < output;
    if (joins)
        out->commands[e] = tw_max(out->commands[e], count.transfers);
    else if (!add_to(&out->commands[e], count.transfers))
        return false;
    return add_to(&out->units[e], units) && add_to(&out->crossed[m], units) && add_to(&out->crossed[m], back) &&
           tw_ckd_mul(units + back, machine->memory[residency->outer].energy_fj + machine->memory[m].energy_fj,
                      &energy) &&
           add_to(&out->energy_fj, energy);
}

static bool is_monotone(const tw_program *p)
{
    for (int e = 0; e < p->machine->n_engines; e++) {
        const tw_engine *engine = &p->machine->engine[e];
        if (engine->count > 1 || (engine->late && engine->pipelined))
            return false; /* may wait where it came sooner */
    }
    for (int m = 1; m < p->machine->n_memories; m++)
        if (p->flow->residency[m][tw_op_output(p->op)].returns) return false;
    return true;
}

/* What executions of a kernel cost, if all of them are alike. */
static void outline_execs(const tw_program *p, tw_outline *out)
{
    const tw_cost *cost = &p->machine->engine[p->machine->compute].cost;
    int last = p->flow->n_places - 1;
    out->n_execs = p->n_execs;
    out->n_sweeps = last < 0 ? 1 : p->n_execs / p->flow->trips[last];
    if (cost->kind != TW_COST_KERNEL || p->n_tiled > 1) return;
    for (int l = 0; l < p->op->n_loops; l++)
        if (p->op->loop[l].extent % p->largest[l] != 0 && !(p->padded >> l & 1)) return;
    tw_kernel_nest nest = tw_nest_of(p->op, p->largest, p->elem_units[tw_max(0, tw_op_output(p->op) - 1)]);
    out->alone = tw_cost_cycles(cost, tw_cost_of_kernel(&cost->kernel, &nest, false));
    out->under = tw_cost_cycles(cost, tw_cost_of_kernel(&cost->kernel, &nest, true));
}

/* A mover that prefetches sends inputs before outputs as far as there are buffers; without outputs on the way that makes no
 * difference. */
static bool reorders(const tw_program *p)
{
    const tw_residency *out = &p->flow->residency[p->flow->innermost[tw_op_output(p->op)]][tw_op_output(p->op)];
    bool prefetches = false;
    for (int e = 0; e < p->machine->n_engines; e++) prefetches |= p->machine->engine[e].prefetches;
    return prefetches && !out->resident && out->grain >= 0;
}

static tw_status outline_program(const tw_program *p, tw_arena *scratch, tw_outline *out)
{
    *out = (tw_outline){.exact = true,
                        .monotone = is_monotone(p),
                        .contended = tw_cost_contends(&p->machine->engine[p->machine->compute].cost),
                        .reorders = reorders(p)};
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            if (!p->stop[m][o].here) continue;
            out->here[m][o] = true;
            out->needed[m][o] = p->flow->needed[m][o];
            const tw_residency *residency = &p->flow->residency[m][o];
            int first = p->layout.first[m][o];
            out->slot_units[m][o] = p->layout.buffer[first].size;
            out->ahead_units[m][o] = p->layout.ahead[m][o];
            out->depth[m][o] = residency->depth;
            out->packed[m][o] = p->machine->memory[m].placement != TW_PLACE_SLOTS && residency->n_tiles > 1;
            out->changes[m][o] =
                o < tw_op_output(p->op) && residency->filler >= 0 && residency->depth >= p->flow->n_places;
            if (residency->resident) continue;
            out->exact = count_link(p, m, o, out) && out->exact;
        }
    outline_execs(p, out);
    for (int m = 1; m < p->machine->n_memories; m++) {
        int64_t end = 0;
        for (int i = 0; i < p->layout.n_buffers; i++)
            if (p->layout.buffer[i].memory == m)
                end = tw_max(end, p->layout.buffer[i].offset + p->layout.buffer[i].size);
        int64_t align = p->machine->memory[m].align;
        TW_TRY(tw_group_need_others(p, m, scratch, &out->others[m]));
        out->extra[m] = tw_max(0, p->layout.used[m] - tw_cdiv(end, align) * align);
    }
    int64_t compute;
    out->exact = out->exact &&
                 tw_ckd_mul(tw_op_points(p->op), p->machine->engine[p->machine->compute].energy_fj, &compute) &&
                 add_to(&out->energy_fj, compute);
    return TW_OK;
}

static tw_status outline(void *user, const tw_problem *problem, const tw_op_map *map, tw_outline *out)
{
    bench *b = user;
    tw_arena_mark mark = tw_arena_save(b->scratch);
    tw_program program;
    tw_status status = tw_program_build_roomy(problem, map, b->scratch, &b->diag, &program);
    if (status == TW_OK) status = outline_program(&program, b->scratch, out);
    tw_arena_rewind(b->scratch, mark);
    return status;
}

/* What the formula counts of a program, but its time. */
static tw_status outcome_by_formula(const tw_program *p, tw_arena *scratch, tw_outcome *out)
{
    tw_outline outline;
    TW_TRY(outline_program(p, scratch, &outline));
    *out = (tw_outcome){.energy_fj = outline.energy_fj};
    memcpy(out->moved, outline.units, sizeof out->moved);
    memcpy(out->crossed, outline.crossed, sizeof out->crossed);
    for (int m = 1; m < p->machine->n_memories; m++) TW_TRY(tw_group_need(p, m, scratch, &out->used[m]));
    return TW_OK;
}

static tw_status count(void *user, const tw_problem *problem, const tw_op_map *map, tw_outcome *out,
                       int64_t *short_by)
{
    bench *b = user;
    tw_arena_mark mark = tw_arena_save(b->scratch);
    tw_program program;
    b->diag.short_by = 0;
    tw_status status = tw_program_build(problem, map, b->scratch, &b->diag, &program);
    if (status == TW_OK) status = tw_group_check(&program, b->scratch, &b->diag);
    *short_by = status == TW_INFEASIBLE ? b->diag.short_by : 0;
    if (status == TW_OK) status = outcome_by_formula(&program, b->scratch, out);
    tw_arena_rewind(b->scratch, mark);
    return status;
}

/* ---- the evaluator ---- */

tw_evaluator *tw_evaluator_new(int n)
{
    tw_evaluator *c = calloc(1, sizeof *c);
    if (!c || !(c->bench = calloc((size_t)n, sizeof *c->bench))) {
        free(c);
        return NULL;
    }
    c->eval = (tw_eval){.cost = cost, .count = count, .outline = outline, .n_users = n};
    for (c->n = 0; c->n < n; c->n++) {
        bench *b = &c->bench[c->n];
        b->diag.muted = true;
        c->eval.user[c->n] = b;
        if (!(b->scratch = tw_arena_new())) {
            tw_evaluator_free(c);
            return NULL;
        }
    }
    return c;
}

void tw_evaluator_free(tw_evaluator *c)
{
    if (!c) return;
    for (int i = 0; i < c->n; i++) tw_arena_free(c->bench[i].scratch);
    free(c->bench);
    free(c);
}

const tw_eval *tw_evaluator_eval(const tw_evaluator *c) { return &c->eval; }
