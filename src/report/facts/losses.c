/* src/report/facts/losses.c - losses of operators, of compute engines of groups, of plans and of networks.
 *
 * Sums are kept in marks: a cycle of one unit has `tick` of them, and a point is worth as many as its operator takes of a cycle at
 * the engine's peak. So every sum is an integer. What is shown is a sum divided by the marks of a cycle of all units, rounded up. */
#include "report/facts/losses.h"

#include "plan/groupfacts.h"
#include "program/lanes.h"
#include "report/facts/jointfacts.h"
#include "tile/box.h"

#include <string.h>

typedef __int128 marks;

const char *tw_loss_name(tw_loss_kind kind)
{
    static const char *const name[] = {"cores",      "recompute", "fill", "overhead", "edge",
                                       "contention", "start",     "end",  "wait"};
    return name[kind];
}

const char *tw_loss_title(tw_loss_kind kind)
{
    static const char *const title[TW_N_LOSSES] = {
        [TW_LOSS_CORES] = "cores idle",  [TW_LOSS_RECOMPUTE] = "recompute",   [TW_LOSS_FILL] = "fill",
        [TW_LOSS_OVERHEAD] = "overhead", [TW_LOSS_EDGE] = "edge tiles",       [TW_LOSS_START] = "start",
        [TW_LOSS_END] = "end",           [TW_LOSS_CONTENTION] = "contention", [TW_LOSS_WAIT] = "waiting"};
    return title[kind];
}

/* ---- the ladder from the peak to what a plan takes ---- */

typedef struct ladder {
    tw_losses *out;
    tw_loss *part;
    marks tick;    /* marks of a cycle of one unit       */
    marks at;      /* sum so far                         */
    int64_t shown; /* the same in cycles, rounded up     */
} ladder;

static int64_t rounded(const ladder *l)
{
    marks cycle = l->tick * l->out->units;
    return (int64_t)((l->at + cycle - 1) / cycle);
}

static void begin(ladder *l, marks peak)
{
    l->at = peak;
    l->out->peak = l->shown = rounded(l);
}

/* Adds so many marks, which are lost as `loss` says. */
static void climb(ladder *l, marks more, tw_loss loss)
{
    l->at += more;
    loss.cycles = rounded(l) - l->shown;
    l->shown += loss.cycles;
    l->out->of[loss.kind] += loss.cycles;
    if (loss.cycles > 0) l->part[l->out->n++] = loss;
}

/* Adds so many cycles, summed over the units. */
static void climb_cycles(ladder *l, int64_t cycles, tw_loss loss) { climb(l, cycles * l->tick, loss); }

/* ---- executions ---- */

/* The executions of one operator on its engine, whichever program they belong to. */
typedef struct runs {
    const tw_op *op;
    bool alone; /* nothing else runs on the engine                         */
    const tw_cost *cost;
    bool pipelined;
    const tw_spread *over;
    const tw_nest_op *lanes;   /* of groups, NULL: none                                   */
    int64_t len[TW_MAX_LOOPS]; /* of a whole tile,                                        */
    int64_t volume;            /* its points,                                             */
    int64_t n_whole;           /* and how many executions there are of it                 */
    int64_t execs, points;     /* all executions, and their points                        */
    int64_t busy;              /* cycles without contention and without waiting for a buffer */
    int64_t elem;              /* units of an element of the streamed input               */
    marks worth;               /* of a point                                              */
    marks most;                /* what they have at the end, see climb_within             */
} runs;

/* Not beyond what the executions take in all: where whole tiles would, the rest is less. */
static void climb_within(ladder *l, const runs *r, marks more, tw_loss loss)
{
    marks room = r->most > l->at ? r->most - l->at : 0;
    loss.op = r->alone ? NULL : r->op->name;
    climb(l, more < room ? more : room, loss);
}

/* Points of a whole tile along the loops over dimension d, and the names of these loops. */
static tw_status look_along(const runs *r, int d, tw_arena *arena, tw_loss *loss)
{
    tw_text text = {0};
    loss->points = 1;
    for (int l = 0; l < r->op->n_loops; l++) {
        int64_t units = tw_spread_units(r->over, l, d, r->len[l]);
        loss->points *= units;
        if (units > 1) tw_text_printf(&text, "%s%s", text.len > 0 ? " " : "", r->op->loop[l].name);
        if (units > 1 && r->over->share[l][d] > 0) tw_text_printf(&text, "/%" PRId32, r->over->share[l][d]);
    }
    loss->loops = tw_arena_strndup(arena, text.len > 0 ? text.bytes : "", text.len);
    tw_text_release(&text);
    return loss->loops ? TW_OK : TW_ERR_NOMEM;
}

/* Passes along dimension d: lanes of private memories have whole pieces of each loop. */
static int64_t passes_along(const runs *r, int d, int64_t points)
{
    int64_t apart = 1;
    if (!r->lanes || !(r->lanes->split_dims >> d & 1)) return tw_cdiv(points, r->cost->array.size[d]);
    for (int l = 0; l < r->op->n_loops; l++)
        if (r->over->dim[l] == d + 1) apart *= tw_cdiv(r->len[l], r->lanes->parts[l]);
    return apart;
}

/* Passes over the array for a whole tile, with those that a block of what stays in place takes at least. */
static int64_t passes_of(const runs *r)
{
    tw_box box = {0};
    for (int l = 0; l < r->op->n_loops; l++) box.span[l] = (tw_span){0, r->len[l]};
    return r->lanes ? tw_lane_passes(r->lanes, &box) : tw_spread_passes(r->over, r->op, &r->cost->array, r->len);
}

/* Points of a loop with those that its last group does not have, where it is divided. */
static int64_t whole_groups(const runs *r, int l)
{
    int64_t points = 1;
    for (int d = -1; d < r->cost->array.n_dims; d++) points *= tw_spread_units(r->over, l, d, r->len[l]);
    return points;
}

/* Slots with whole groups of the loops that have their first share over dimension d. */
static marks fill_groups(const runs *r, int d, marks slots)
{
    for (int l = 0; l < r->op->n_loops; l++) {
        bool first = r->over->share[l][d] > 0;
        for (int e = 0; e < d; e++) first &= r->over->share[l][e] == 0;
        if (first) slots = slots / r->len[l] * whole_groups(r, l);
    }
    return slots;
}

/* Dimension by dimension. */
static tw_status fill_array(ladder *l, const runs *r, tw_arena *arena)
{
    const tw_cost_array *array = &r->cost->array;
    marks slots = r->volume;
    marks all = passes_of(r);
    for (int d = 0; d < array->n_dims; d++) {
        tw_loss loss = {.kind = TW_LOSS_FILL, .dimension = array->dim[d], .size = array->size[d]};
        TW_TRY(look_along(r, d, arena, &loss));
        loss.passes = passes_along(r, d, loss.points);
        marks wider = fill_groups(r, d, slots) / loss.points * loss.passes * loss.size;
        climb_within(l, r, (wider - slots) * r->worth * r->n_whole, loss);
        slots = wider;
        all *= loss.size;
    }
    if (all > slots) climb_within(l, r, (all - slots) * r->worth * r->n_whole, (tw_loss){.kind = TW_LOSS_OVERHEAD});
    return TW_OK;
}

/* The cores of a cluster share the longest parallel loop. */
static tw_loss shared_by_cores(const runs *r, const tw_kernel_nest *nest)
{
    tw_loss loss = {.kind = TW_LOSS_FILL, .dimension = "cores", .loops = "", .points = nest->share};
    for (int l = 0; l < r->op->n_loops; l++)
        if (!r->op->loop[l].reduces && r->len[l] == nest->share && !*loss.loops) loss.loops = r->op->loop[l].name;
    loss.size = r->cost->kernel.cores;
    loss.passes = tw_cdiv(nest->share, loss.size);
    return loss;
}

/* What the kernel takes beside the points of busy cores is its own: its start, rounds, and a multiplier that is not kept busy. */
static void fill_kernel(ladder *l, const runs *r)
{
    tw_kernel_nest nest = tw_nest_of(r->op, r->len, r->elem);
    tw_loss loss = shared_by_cores(r, &nest);
    marks lost = (marks)(r->volume / nest.share) * (loss.passes * loss.size - nest.share) * r->worth;
    climb_within(l, r, lost * r->n_whole, loss);
    int64_t busy = tw_cost_busy(r->cost, r->pipelined, tw_cost_of_kernel(&r->cost->kernel, &nest, false));
    marks own = busy * l->tick - r->volume * r->worth - lost;
    climb_within(l, r, own > 0 ? own * r->n_whole : 0, (tw_loss){.kind = TW_LOSS_OVERHEAD});
}

/* Points are done in whole steps. */
static void fill_steps(ladder *l, const runs *r)
{
    int64_t cycles, step = tw_cost_grain(r->cost, &cycles), n = tw_cdiv(r->volume, step);
    tw_loss loss = {.kind = TW_LOSS_FILL, .dimension = "points", .loops = "", .points = r->volume, .size = step};
    loss.passes = n;
    climb_within(l, r, ((marks)n * step - r->volume) * r->worth * r->n_whole, loss);
}

/* From the points at the peak, which the ladder has for all operators, to the time of all executions of this one. */
static tw_status climb_executions(ladder *l, runs *r, tw_arena *arena)
{
    int64_t fixed = r->pipelined ? 0 : tw_cost_fixed(r->cost);
    if (r->worth == 0) return TW_OK;
    marks more = r->busy * l->tick - r->points * r->worth;
    r->most = l->at +
              (more > 0 ? more
                        : 0); /* less than the peak takes: such a plan is wrong, which is for the verifier to say */
    if (r->cost->kind == TW_COST_ARRAY)
        TW_TRY(fill_array(l, r, arena));
    else if (r->cost->kind == TW_COST_KERNEL)
        fill_kernel(l, r);
    else
        fill_steps(l, r);
    climb_within(l, r, (marks)fixed * r->execs * l->tick, (tw_loss){.kind = TW_LOSS_OVERHEAD});
    climb_within(l, r, r->most, (tw_loss){.kind = TW_LOSS_EDGE});
    assert(l->at == r->most);
    return TW_OK;
}

/* How many marks a cycle of the engine has so that points of all operators are worth whole marks; 0: one of them has no peak, or
 * the numbers are too large. */
static marks common_tick(const runs *r, int n)
{
    int64_t tick = 1;
    for (int i = 0; i < n; i++) {
        int64_t points, cycles;
        if (!tw_cost_peak(r[i].cost, &points, &cycles)) return 0;
        if (tick % points != 0 && !tw_ckd_mul(tick, points, &tick)) return 0;
        if (tick > INT64_C(1) << 40) return 0;
    }
    return tick;
}

static marks worth_of(const runs *r, marks tick)
{
    int64_t points, cycles;
    return tw_cost_peak(r->cost, &points, &cycles) ? tick / points * cycles : 0;
}

/* From the peak to the time of all executions. `needed`: points that these operators have to compute. */
static tw_status climb_to_busy(ladder *l, runs *r, int n, const int64_t *needed, tw_arena *arena)
{
    tw_losses *out = l->out;
    marks peak = 0, twice = 0;
    l->tick = common_tick(r, n);
    out->has_peak = l->tick > 0;
    if (!out->has_peak) l->tick = 1;
    for (int i = 0; i < n; i++) {
        r[i].alone = n == 1;
        r[i].worth = out->has_peak ? worth_of(&r[i], l->tick) : 0;
        peak += out->has_peak ? needed[i] * r[i].worth : r[i].busy;
        twice += (r[i].points - needed[i]) * r[i].worth;
        out->points += needed[i];
    }
    begin(l, peak);
    climb(l, twice, (tw_loss){.kind = TW_LOSS_RECOMPUTE});
    for (int i = 0; i < n; i++) TW_TRY(climb_executions(l, &r[i], arena));
    if (out->has_peak && n > 0 && tw_cost_peak(r->cost, &out->rate, &out->per)) out->rate *= out->units;
    for (int i = 1; i < n; i++)
        if (r[i].worth != r[0].worth) out->rate = out->per = 0;
    return TW_OK;
}

/* Units that never execute are not filled. */
static void climb_unused(ladder *l, const tw_idle *idle)
{
    tw_losses *out = l->out;
    int64_t n = out->cycles > 0 ? idle->unused / out->cycles : 0;
    climb_cycles(l, idle->unused,
                 (tw_loss){.kind = TW_LOSS_FILL,
                           .dimension = "units",
                           .loops = "",
                           .points = out->units - n,
                           .size = out->units,
                           .passes = 1});
}

/* The parts in the order of their kinds, of each the longest first. */
static void sort_parts(tw_loss *part, int n)
{
    for (int i = 1; i < n; i++) {
        tw_loss x = part[i];
        int k = i;
        for (; k > 0; k--) {
            const tw_loss *y = &part[k - 1];
            bool after = y->kind > x.kind || (y->kind == x.kind && y->cycles < x.cycles);
            if (!after) break;
            part[k] = *y;
        }
        part[k] = x;
    }
}

/* ---- one operator ---- */

enum { MOST_LENGTHS = 64, FEW_PARTS = 16 };

typedef struct lengths { /* of tiles along one loop, all different */
    int n;
    int64_t len[MOST_LENGTHS], count[MOST_LENGTHS];
} lengths;

static void add_length(lengths *all, int64_t len, int64_t count)
{
    for (int i = 0; i < all->n; i++)
        if (all->len[i] == len) {
            all->count[i] += count;
            return;
        }
    if (all->n == MOST_LENGTHS) return;
    all->len[all->n] = len;
    all->count[all->n++] = count;
}

/* A split has tiles of at most three lengths, which stand one behind the other. */
static void add_split(lengths *all, const tw_split *s, int64_t count)
{
    int64_t last = s->count - 1, longer = tw_min(s->extra, last);
    if (longer > 0) add_length(all, s->step + 1, longer * count);
    if (last > longer) add_length(all, s->step, (last - longer) * count);
    add_length(all, tw_span_len(tw_split_at(s, 0, last)), count);
}

/* The longest innermost tile along the loop, and how many there are of that length. */
static int64_t longest_tile(const tw_program *p, int loop, int64_t *count)
{
    lengths now = {1, {p->op->loop[loop].extent}, {1}};
    int64_t best = 0;
    for (int t = 0; t < p->n_tiled; t++) {
        lengths next = {0};
        for (int i = 0; i < now.n; i++) {
            tw_split s = tw_level_split(p->tiled[t].map, loop, now.len[i]);
            add_split(&next, &s, now.count[i]);
        }
        now = next;
    }
    for (int i = 0; i < now.n; i++)
        if (now.len[i] > best) best = now.len[i], *count = now.count[i];
    return best;
}

static runs runs_of_op(const tw_op_plan *plan)
{
    static const tw_spread none;
    const tw_program *p = &plan->program;
    const tw_engine *engine = &p->machine->engine[p->machine->compute];
    const tw_timeline *t = &plan->timeline;
    runs r = {.op = p->op,
              .cost = &engine->cost,
              .pipelined = engine->pipelined,
              .over = p->flow ? &p->flow->over : &none,
              .volume = 1,
              .n_whole = 1,
              .execs = t->sum.execs,
              .points = t->sum.macs,
              .busy = t->engine[p->machine->compute].busy_cycles - t->idle.late - t->idle.contended,
              .elem = p->elem_units[tw_max(0, tw_op_output(p->op) - 1)]};
    for (int l = 0; l < p->op->n_loops; l++) {
        int64_t count = 1;
        r.len[l] = longest_tile(p, l, &count);
        r.volume *= r.len[l];
        r.n_whole *= count;
    }
    return r;
}

static tw_loss wait_of(const tw_program *p, int m, int o, tw_wait why)
{
    const tw_residency *s = &p->flow->residency[m][o];
    int by = why == TW_WAIT_CREDIT ? s->drain : s->filler;
    return (tw_loss){.kind = TW_LOSS_WAIT,
                     .why = why,
                     .memory = p->machine->memory[m].name,
                     .operand = p->op->operand[o].name,
                     .by = by < 0 ? NULL : p->machine->engine[by].name};
}

static void climb_stream(ladder *l, const tw_op_plan *plan)
{
    const tw_program *p = &plan->program;
    const tw_timeline *t = &plan->timeline;
    tw_loss start = {.kind = TW_LOSS_START};
    if (t->first_wait >= 0)
        start = wait_of(p, t->first_wait / TW_MAX_OPERANDS, t->first_wait % TW_MAX_OPERANDS, TW_WAIT_DATA);
    start.kind = TW_LOSS_START;
    climb_cycles(l, t->idle.startup, start);
    climb_cycles(l, t->idle.tail, (tw_loss){.kind = TW_LOSS_END});
    for (int m = 0; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            if (t->no_data[m][o] > 0) climb_cycles(l, t->no_data[m][o], wait_of(p, m, o, TW_WAIT_DATA));
            if (t->no_credit[m][o] > 0) climb_cycles(l, t->no_credit[m][o], wait_of(p, m, o, TW_WAIT_CREDIT));
        }
}

/* The engine of the most cycles. */
static int longest(const int64_t *cycles, int n)
{
    int best = 0;
    for (int e = 1; e < n; e++)
        if (cycles[e] > cycles[best]) best = e;
    return best;
}

static void climb_rows(ladder *l, const tw_op_plan *plan)
{
    const tw_timeline *t = &plan->timeline;
    const tw_machine *machine = plan->program.machine;
    const tw_engine *engine = machine->engine;
    int first = longest(t->startup_by, machine->n_engines), last = longest(t->tail_by, machine->n_engines);
    climb_cycles(l, t->idle.startup,
                 (tw_loss){.kind = TW_LOSS_START, .why = TW_WAIT_ENGINE, .by = engine[first].name});
    climb_cycles(l, t->idle.tail, (tw_loss){.kind = TW_LOSS_END, .why = TW_WAIT_ENGINE, .by = engine[last].name});
    for (int e = 0; e < machine->n_engines; e++)
        climb_cycles(l, t->held_up[e],
                     (tw_loss){.kind = TW_LOSS_WAIT, .why = TW_WAIT_ENGINE, .by = engine[e].name});
}

tw_status tw_losses_of_op(const tw_op_plan *plan, tw_arena *arena, tw_losses *out)
{
    const tw_machine *machine = plan->program.machine;
    const tw_engine *engine = &machine->engine[machine->compute];
    const tw_timeline *t = &plan->timeline;
    runs r = runs_of_op(plan);
    int64_t needed = tw_min(tw_op_points(plan->program.op), r.points);
    ladder l = {.out = out};
    TW_ALLOC(arena, l.part, FEW_PARTS + 2 * TW_MAX_MEMORIES * TW_MAX_OPERANDS);
    *out = (tw_losses){.engine = engine->name, .units = tw_max(engine->count, 1), .cycles = t->sum.cycles};
    out->part = l.part;
    out->busy = t->engine[machine->compute].busy_cycles / out->units;
    TW_TRY(climb_to_busy(&l, &r, 1, &needed, arena));
    climb_unused(&l, &t->idle);
    climb_cycles(&l, t->idle.contended, (tw_loss){.kind = TW_LOSS_CONTENTION});
    if (plan->program.flow)
        climb_stream(&l, plan);
    else
        climb_rows(&l, plan);
    sort_parts(l.part, out->n);
    return TW_OK;
}

/* ---- an engine of groups ---- */

/* Of operator k of group g, which runs on the engine. */
static runs runs_of_nest(const tw_plan *plan, int g, int k)
{
    const tw_nest_op *op = &plan->joint->program->nest[g].op[k];
    const tw_joint_span *span = &plan->joint->timeline.op[g][k];
    const tw_engine *engine = &op->machine->engine[op->machine->compute];
    runs r = {.op = op->op,
              .cost = &engine->cost,
              .pipelined = engine->pipelined,
              .over = &op->over,
              .lanes = op,
              .volume = span->most_points,
              .n_whole = span->n_most,
              .execs = span->execs,
              .points = span->macs,
              .busy = span->busy - plan->joint->timeline.op_extra[g * TW_MAX_GROUP_OPS + k],
              .elem = op->elem_units[tw_max(0, tw_op_output(op->op) - 1)]};
    for (int l = 0; l < op->op->n_loops; l++) r.len[l] = tw_span_len(span->most.span[l]);
    return r;
}

/* Who makes it wait: who brings the data, or takes what is in the buffer. */
static tw_loss wait_of_hold(const tw_plan *plan, int hold, tw_wait why)
{
    const tw_joint *program = plan->joint->program;
    const tw_nest_hold *s = program->hold[hold];
    int by = why == TW_WAIT_DATA && s->engine >= 0 ? s->engine : tw_joint_mover_of(plan, hold);
    return (tw_loss){.kind = TW_LOSS_WAIT,
                     .why = why,
                     .memory = program->platform->memory[s->memory].name,
                     .operand = plan->model->tensor[s->tensor].name,
                     .by = by < 0 ? NULL : program->platform->engine[by].name};
}

static void climb_groups(ladder *l, const tw_plan *plan, int engine)
{
    const tw_joint_timeline *t = &plan->joint->timeline;
    int n = plan->joint->program->n_holds;
    const int64_t *data = t->no_data + (int64_t)engine * n, *credit = t->no_credit + (int64_t)engine * n;
    tw_loss start = {0};
    if (t->first_wait[engine] >= 0) start = wait_of_hold(plan, t->first_wait[engine], TW_WAIT_DATA);
    start.kind = TW_LOSS_START;
    climb_cycles(l, t->idle[engine].startup, start);
    climb_cycles(l, t->idle[engine].tail, (tw_loss){.kind = TW_LOSS_END});
    for (int s = 0; s < n; s++) {
        if (data[s] > 0) climb_cycles(l, data[s], wait_of_hold(plan, s, TW_WAIT_DATA));
        if (credit[s] > 0) climb_cycles(l, credit[s], wait_of_hold(plan, s, TW_WAIT_CREDIT));
    }
}

/* Whether it is told by its kind alone, as one with all others of that kind: what says nothing of its own, and fills of less than 1 %. */
static bool is_told_by_kind(const tw_losses *out, const tw_loss *part)
{
    if (part->kind == TW_LOSS_FILL) return !part->dimension || part->cycles < out->cycles / 100;
    return part->kind != TW_LOSS_WAIT && part->kind != TW_LOSS_START;
}

/* Operators of groups lose in the same ways: what many lose a little to is one part. Sorted parts. */
static void join_parts(tw_losses *out, tw_loss *part)
{
    int n = 0;
    for (int i = 0; i < out->n; i++) {
        const tw_loss x = part[i];
        bool joins = false;
        for (int k = 0; k < n && is_told_by_kind(out, &x) && !joins; k++) {
            joins = part[k].kind == x.kind && is_told_by_kind(out, &part[k]);
            if (joins) part[k] = (tw_loss){.kind = x.kind, .cycles = part[k].cycles + x.cycles};
        }
        if (!joins) part[n++] = x;
    }
    out->n = n;
}

/* Whether operator k of group g runs on the engine. */
static bool runs_on(const tw_plan *plan, int g, int k, int engine)
{
    return plan->joint->program->nest[g].op[k].engine == engine && plan->joint->timeline.op[g][k].execs > 0;
}

/* How many operators run on the engine: with many cores, few of all. */
static int count_runs(const tw_plan *plan, int engine)
{
    int n = 0;
    for (int g = 0; g < plan->joint->program->n_nests; g++)
        for (int k = 0; k < plan->joint->program->nest[g].n_ops; k++) n += runs_on(plan, g, k, engine);
    return n;
}

/* For how many holds, for data or for credit, the engine waits. */
static int count_waits(const tw_plan *plan, int engine)
{
    const tw_joint_timeline *t = &plan->joint->timeline;
    int holds = plan->joint->program->n_holds, n = 0;
    const int64_t *data = t->no_data + (int64_t)engine * holds, *credit = t->no_credit + (int64_t)engine * holds;
    for (int s = 0; s < holds; s++) n += (data[s] > 0) + (credit[s] > 0);
    return n;
}

tw_status tw_losses_of_engine(const tw_plan *plan, int engine, tw_arena *arena, bool *executes, tw_losses *out)
{
    const tw_joint *program = plan->joint->program;
    const tw_joint_timeline *t = &plan->joint->timeline;
    const tw_idle *idle = &t->idle[engine];
    int most = count_runs(plan, engine), n = 0;
    runs *r;
    int64_t *needed;
    ladder l = {.out = out};
    TW_ALLOC(arena, r, most + 1);
    TW_ALLOC(arena, needed, most + 1);
    TW_ALLOC(arena, l.part, FEW_PARTS * (most + 1) + count_waits(plan, engine));
    for (int g = 0; g < program->n_nests; g++)
        for (int k = 0; k < program->nest[g].n_ops; k++) {
            if (!runs_on(plan, g, k, engine)) continue;
            needed[n] = tw_min(plan->joint->timeline.op[g][k].macs, tw_group_points_once(plan, g, k));
            r[n++] = runs_of_nest(plan, g, k);
        }
    *executes = n > 0;
    *out = (tw_losses){.engine = program->platform->engine[engine].name,
                       .units = tw_max(program->platform->engine[engine].is.count, 1),
                       .cycles = t->sum.cycles,
                       .part = l.part};
    if (n == 0) return TW_OK;
    out->busy = t->engine[engine].busy_cycles / out->units;
    TW_TRY(climb_to_busy(&l, r, n, needed, arena));
    climb_unused(&l, idle);
    climb_cycles(&l, idle->contended, (tw_loss){.kind = TW_LOSS_CONTENTION});
    climb_groups(&l, plan, engine);
    sort_parts(l.part, out->n);
    join_parts(out, l.part);
    return TW_OK;
}

/* ---- several ---- */

/* Adds losses by kind: what runs one after the other takes the sum of the times. */
static void add_losses(tw_losses *sum, const tw_losses *more)
{
    bool first = sum->engine == NULL;
    if (first) *sum = (tw_losses){.engine = more->engine, .units = more->units, .has_peak = true};
    sum->rate = first ? more->rate : sum->rate == more->rate && sum->per == more->per ? sum->rate : 0;
    sum->per = sum->rate > 0 ? more->per : 0;
    sum->has_peak &= more->has_peak;
    sum->points += more->points;
    sum->peak += more->peak;
    sum->cycles += more->cycles;
    sum->busy += more->busy;
    for (int k = 0; k < TW_N_LOSSES; k++) sum->of[k] += more->of[k];
}

/* One part for each kind. */
static tw_status list_kinds(tw_losses *sum, tw_arena *arena)
{
    tw_loss *part;
    TW_ALLOC(arena, part, TW_N_LOSSES);
    for (int k = 0; k < TW_N_LOSSES; k++)
        if (sum->of[k] > 0) part[sum->n++] = (tw_loss){.kind = (tw_loss_kind)k, .cycles = sum->of[k]};
    sum->part = part;
    return TW_OK;
}

/* Engines of cores that share points: so many, which take all of them so long at their peaks. */
typedef struct crew {
    int n;
    int64_t points;
    int64_t rate, per; /* points a cycle */
} crew;

/* Kinds of operators that the engine executes, as a mask. */
static unsigned kinds_of(const tw_plan *plan, int engine)
{
    const tw_joint *program = plan->joint->program;
    unsigned kinds = 0;
    for (int g = 0; g < program->n_nests; g++)
        for (int k = 0; k < program->nest[g].n_ops; k++)
            if (program->nest[g].op[k].engine == engine) kinds |= 1u << program->nest[g].op[k].op->compute;
    return kinds;
}

/* Adds one rate to the crew's; false: the numbers become too large. */
static bool add_rate(crew *c, int64_t rate, int64_t per)
{
    __int128 sum = (__int128)c->rate * per + (__int128)rate * c->per, all = (__int128)c->per * per;
    if (c->n > 0 && c->per == per) sum = c->rate + rate, all = per;
    if (sum > INT32_MAX || all > INT32_MAX) return false;
    c->rate = (int64_t)sum;
    c->per = (int64_t)all;
    c->n++;
    return true;
}

/* The engine with what it has to do; *can is false when it has no peak. Engines that cannot do what the first one does are left out. */
static tw_status add_engine(const tw_plan *plan, int e, unsigned kinds, tw_arena *arena, crew *c, bool *can)
{
    const tw_platform_engine *engine = &plan->joint->program->platform->engine[e];
    tw_losses one;
    bool executes;
    int64_t rate, per;
    if (engine->is.kind != TW_COMPUTES || engine->core < 0 || (engine->is.computes & kinds) != kinds) return TW_OK;
    TW_TRY(tw_losses_of_engine(plan, e, arena, &executes, &one));
    *can &= tw_cost_peak(&engine->is.cost, &rate, &per) && (!executes || one.rate > 0);
    if (!*can) return TW_OK;
    rate *= tw_max(engine->is.count, 1);
    if (executes) rate = one.rate, per = one.per, c->points += one.points;
    *can = add_rate(c, rate, per);
    return TW_OK;
}

/* Begins the losses of one engine of several cores with the peak of all. */
static tw_status begin_with_cores(const tw_plan *plan, int engine, tw_arena *arena, tw_losses *out)
{
    const tw_platform *platform = plan->joint->program->platform;
    crew c = {.per = 1};
    bool can = out->has_peak && out->rate > 0 && platform->n_cores > 1 && platform->engine[engine].core >= 0;
    for (int e = 0; e < platform->n_engines && can; e++)
        TW_TRY(add_engine(plan, e, kinds_of(plan, engine), arena, &c, &can));
    if (!can || c.n < 2) return TW_OK;
    int64_t peak = (int64_t)(((__int128)c.points * c.per + c.rate - 1) / c.rate);
    if (peak > out->peak) return TW_OK;
    tw_loss *part;
    TW_ALLOC(arena, part, out->n + 1);
    part[0] = (tw_loss){.kind = TW_LOSS_CORES, .cycles = out->peak - peak};
    int n = part[0].cycles > 0;
    if (out->n > 0) memcpy(part + n, out->part, (size_t)out->n * sizeof *part);
    out->of[TW_LOSS_CORES] = out->peak - peak;
    out->part = part;
    out->n += n;
    out->peak = peak;
    out->points = c.points;
    out->rate = c.rate;
    out->per = c.per;
    out->all_cores = true;
    return TW_OK;
}

/* Of the compute engine that is busy longest. */
static tw_status losses_of_groups(const tw_plan *plan, tw_arena *arena, tw_losses *out)
{
    const tw_platform *platform = plan->joint->program->platform;
    int best = -1;
    for (int e = 0; e < platform->n_engines; e++) {
        const tw_engine_use *use = plan->joint->timeline.engine;
        if (platform->engine[e].is.kind != TW_COMPUTES) continue;
        if (best < 0 || use[e].busy_cycles > use[best].busy_cycles) best = e;
    }
    bool executes;
    TW_TRY(tw_losses_of_engine(plan, best, arena, &executes, out));
    return begin_with_cores(plan, best, arena, out);
}

tw_status tw_losses_of_plan(const tw_plan *plan, tw_arena *arena, tw_losses *out)
{
    if (plan->joint) return losses_of_groups(plan, arena, out);
    if (plan->model->n_ops == 1) return tw_losses_of_op(&plan->op[0], arena, out);
    *out = (tw_losses){0};
    for (int i = 0; i < plan->model->n_ops; i++) {
        tw_losses one;
        TW_TRY(tw_losses_of_op(&plan->op[i], arena, &one));
        add_losses(out, &one);
    }
    return list_kinds(out, arena);
}

/* Of the layers of n steps. */
static tw_status add_steps(const tw_network_plan *plan, int first, int n, tw_arena *arena, tw_losses *out)
{
    for (int s = first; s < first + n; s++) {
        int layer = plan->network->layers.of[s];
        tw_losses one;
        if (layer < 0 || !plan->plan[layer]) continue;
        TW_TRY(tw_losses_of_plan(plan->plan[layer], arena, &one));
        add_losses(out, &one);
    }
    return TW_OK;
}

tw_status tw_losses_of_layers(const tw_network_plan *plan, tw_arena *arena, tw_losses *out)
{
    *out = (tw_losses){0};
    TW_TRY(add_steps(plan, 0, plan->network->lowered->graph.n_ops, arena, out));
    return list_kinds(out, arena);
}

tw_status tw_losses_of_network(const tw_network_plan *plan, tw_arena *arena, tw_losses *out)
{
    *out = (tw_losses){0};
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_network_part *part = &plan->part[i];
        tw_losses one;
        if (part->plan) TW_TRY(tw_losses_of_plan(part->plan, arena, &one));
        if (part->plan)
            add_losses(out, &one);
        else
            TW_TRY(add_steps(plan, part->first_step, part->n_steps, arena, out));
    }
    return list_kinds(out, arena);
}

/* ---- for people ---- */

/* "ox 7 of 16 columns", "oc 24 in 2 passes of 16 columns" */
static const char *fill_text(const tw_loss *loss, tw_arena *arena)
{
    char points[TW_GROUPED_MAX], size[TW_GROUPED_MAX], passes[TW_GROUPED_MAX];
    const char *gap = *loss->loops ? " " : "";
    tw_grouped(loss->points, points), tw_grouped(loss->size, size), tw_grouped(loss->passes, passes);
    if (strcmp(loss->dimension, "points") == 0)
        return tw_arena_printf(arena, "a tile of %s points in %s steps of %s", points, passes, size);
    if (strcmp(loss->dimension, "units") == 0)
        return tw_arena_printf(arena, "%s of %s units execute anything", points, size);
    if (loss->passes == 1)
        return tw_arena_printf(arena, "%s%s%s of %s %s", loss->loops, gap, points, size, loss->dimension);
    return tw_arena_printf(arena, "%s%s%s in %s passes of %s %s", loss->loops, gap, points, passes, size,
                           loss->dimension);
}

static const char *wait_text(const tw_loss *loss, tw_arena *arena)
{
    const char *by = loss->by ? loss->by : "";
    const char *open = loss->by ? " (" : "", *close = loss->by ? ")" : "";
    if (!loss->operand) return loss->by ? tw_arena_printf(arena, "for %s", by) : "";
    const char *what = loss->why == TW_WAIT_CREDIT ? "a buffer of " : "";
    return tw_arena_printf(arena, "for %s%s in %s%s%s%s", what, loss->operand, loss->memory, open, by, close);
}

/* Of a part that belongs to no operator in particular, or to the only one. */
static const char *text_of(const tw_loss *loss, tw_arena *arena)
{
    static const char *const text[TW_N_LOSSES] = {
        [TW_LOSS_CORES] = "other cores have less than their share",
        [TW_LOSS_RECOMPUTE] = "points computed more than once",
        [TW_LOSS_FILL] = "whole tiles leave units empty",
        [TW_LOSS_WAIT] = "between two executions",
        [TW_LOSS_OVERHEAD] = "of every execution",
        [TW_LOSS_EDGE] = "smaller tiles at the edges",
        [TW_LOSS_CONTENTION] = "movers use the memory, too",
        [TW_LOSS_START] = "until the first execution",
        [TW_LOSS_END] = "after the last execution",
    };
    if (loss->kind == TW_LOSS_FILL && loss->dimension) return fill_text(loss, arena);
    if (loss->kind == TW_LOSS_WAIT && (loss->operand || loss->by)) return wait_text(loss, arena);
    if (loss->kind == TW_LOSS_START && loss->operand)
        return tw_arena_printf(arena, "until %s is in %s", loss->operand, loss->memory);
    return text[loss->kind] ? text[loss->kind] : "";
}

const char *tw_loss_text(const tw_loss *loss, tw_arena *arena)
{
    const char *text = text_of(loss, arena);
    return text && loss->op ? tw_arena_printf(arena, "%s: %s", loss->op, text) : text;
}
