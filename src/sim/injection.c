/* src/sim/injection.c - see injection.h. */
#include "sim/injection.h"

#include <stdlib.h>
#include <string.h>

#include "machine/discipline.h"
#include "program/flowcursor.h"

typedef struct record { /* one instruction, and the command that it is part of */
    int64_t start, cost, busy;
    int64_t unused_at; /* takes a slot: when it was touched for the last time */
    int32_t dst;
    int32_t src[TW_MAX_OPERANDS];
    int16_t engine, unit, operand, n_src;
    uint8_t op;
    bool takes, together, last_of_step;
} record;

typedef struct schedule {
    const tw_program *program;
    const tw_machine *machine;
    tw_diag *diag;
    int64_t n, n_steps;
    record *at;
    int64_t *unit[TW_MAX_ENGINES]; /* forwards: when free; backwards: start of its next command */
    int64_t *moment;               /* per buffer: forwards when there; backwards when needed    */
    int64_t *read;                 /* per buffer, forwards: its readers are done                */
    int64_t *returned;             /* per tile of partial sums in the tensor                    */
    int64_t busy[TW_MAX_ENGINES];
} schedule;

/* ---- forwards ---- */

static int64_t data_of(const schedule *s, const tw_instr *in)
{
    int64_t at = 0;
    for (int k = 0; k < in->n_src; k++)
        if (in->src[k] >= 0) at = tw_max(at, s->moment[in->src[k]]);
    if (in->op == TW_LOAD && in->partial && in->src[0] < 0) at = tw_max(at, s->returned[in->tile]);
    /* What is written into a slot that stays held waits for those who wrote and read it before. */
    if (in->dst >= 0 && !in->takes) at = tw_max(at, tw_max(s->moment[in->dst], s->read[in->dst]));
    return at;
}

static void run_forwards(schedule *s, const tw_event *step, int n, bool last)
{
    const tw_instr *in = &step->instr;
    const tw_engine *engine = &s->machine->engine[in->engine];
    bool array = tw_cost_has_passes(&engine->cost);
    int64_t work = 0, *unit = &s->unit[in->engine][in->unit], start = *unit;
    for (int i = 0; i < n; i++) {
        work += array ? step[i].instr.passes : step[i].instr.work;
        start = tw_max(start, data_of(s, &step[i].instr));
    }
    int64_t cost = tw_cost_cycles(&engine->cost, work), busy = tw_engine_busy(engine, work);
    *unit = start + busy;
    s->busy[in->engine] += busy;
    for (int i = 0; i < n; i++) {
        record *r = &s->at[s->n++];
        *r = (record){.start = start,
                      .cost = cost,
                      .busy = busy,
                      .dst = step[i].instr.dst,
                      .engine = step[i].instr.engine,
                      .unit = step[i].instr.unit,
                      .operand = step[i].instr.operand,
                      .n_src = step[i].instr.n_src,
                      .op = (uint8_t)step[i].instr.op,
                      .takes = step[i].instr.takes,
                      .together = i > 0,
                      .last_of_step = last && i + 1 == n};
        memcpy(r->src, step[i].instr.src, sizeof r->src);
        for (int k = 0; k < r->n_src; k++)
            if (r->src[k] >= 0) s->read[r->src[k]] = tw_max(s->read[r->src[k]], start + busy);
        if (r->dst >= 0 && r->takes) s->moment[r->dst] = s->read[r->dst] = 0;
        if (r->dst >= 0)
            s->moment[r->dst] = tw_max(s->moment[r->dst], start + cost);
        else if (step[i].instr.partial)
            s->returned[step[i].instr.tile] = start + cost;
    }
}

static tw_status init(schedule *s, int64_t n_instrs, tw_arena *arena)
{
    TW_ALLOC(arena, s->at, n_instrs);
    const tw_residency *tensor = &s->program->flow->residency[0][tw_op_output(s->program->op)];
    for (int e = 0; e < s->machine->n_engines; e++) TW_ALLOC(arena, s->unit[e], s->machine->engine[e].count);
    TW_ALLOC(arena, s->moment, s->program->layout.n_buffers + 1);
    TW_ALLOC(arena, s->read, s->program->layout.n_buffers + 1);
    TW_ALLOC(arena, s->returned, tensor->returns ? tensor->n_tiles : 1);
    return TW_OK;
}

/* Executions whose length depends on what else runs have no latest start, nor do transfers that wait for engines. */
static tw_status refuse(const schedule *s)
{
    bool odd = s->machine->launch > 0;
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        odd |= engine->prefetches || engine->late || tw_cost_contends(&engine->cost);
    }
    if (!odd) return TW_OK;
    return tw_diag_error(s->diag, (tw_loc){0},
                         "'%s' has no injection schedule: it prefetches, launches, writes late or runs kernels",
                         s->machine->name);
}

/* A window has room by the order of the windows, which buffers without number do not have. */
static tw_status refuse_slides(const schedule *s)
{
    const tw_flow *flow = s->program->flow;
    if (!flow->any_slides) return TW_OK;
    return tw_diag_error(s->diag, s->program->map->loc, "'%s' has no injection schedule: windows of it slide",
                         s->program->op->name);
}

static tw_status record_program(schedule *s, int64_t n_instrs, tw_arena *arena)
{
    tw_flow_cursor cursor;
    tw_event step[TW_FLOW_STEP_MAX];
    TW_TRY(refuse(s));
    TW_TRY(refuse_slides(s));
    TW_TRY(init(s, n_instrs, arena));
    TW_TRY(tw_flow_cursor_init(&cursor, s->program, arena));
    for (int n; (n = tw_flow_cursor_next(&cursor, step)) != 0; s->n_steps++) {
        if (n < 0) return tw_flow_explain_deadlock(&cursor, s->diag);
        for (int i = 0, k; i < n; i = k) {
            for (k = i + 1; k < n && step[k].instr.together;) k++;
            run_forwards(s, &step[i], k - i, k == n);
        }
    }
    return TW_OK;
}

/* ---- backwards ---- */

static bool is_input(const schedule *s, const record *r)
{
    return r->op == TW_LOAD && r->operand != tw_op_output(s->program->op);
}

static void run_backwards(schedule *s)
{
    const int64_t far = INT64_MAX / 2;
    for (int e = 0; e < s->machine->n_engines; e++)
        for (int64_t u = 0; u < s->machine->engine[e].count; u++) s->unit[e][u] = far;
    for (int b = 0; b < s->program->layout.n_buffers; b++) s->moment[b] = far;
    for (int64_t i = s->n - 1, first; i >= 0; i = first - 1) {
        for (first = i; s->at[first].together;) first--;
        record *r = &s->at[first];
        int64_t start = is_input(s, r) ? s->unit[r->engine][r->unit] - r->busy : r->start;
        for (int64_t k = first; k <= i && is_input(s, r); k++)
            start = tw_min(start, s->moment[s->at[k].dst] - r->cost);
        if (start >= far / 2) start = r->start; /* nobody reads it */
        s->unit[r->engine][r->unit] = start;
        for (int64_t k = first; k <= i; k++) {
            record *x = &s->at[k];
            x->start = start;
            if (x->dst >= 0 && is_input(s, x)) s->moment[x->dst] = far;
            for (int j = 0; j < x->n_src; j++)
                if (x->src[j] >= 0) s->moment[x->src[j]] = tw_min(s->moment[x->src[j]], start);
        }
    }
}

/* Puts the first transfer at time 0. */
static void shift(schedule *s)
{
    int64_t least = INT64_MAX;
    for (int64_t i = 0; i < s->n; i++) least = tw_min(least, s->at[i].start);
    for (int64_t i = 0; i < s->n; i++) s->at[i].start -= least;
}

/* ---- the plain schedule ---- */

static int64_t latency_of(const tw_engine *engine, const record *r)
{
    return engine->cost.kind == TW_COST_LINEAR ? engine->cost.linear.latency : r->cost;
}

/* Latencies of the links from memory m inwards. */
static int64_t way_inwards(const schedule *s, int64_t first, int64_t last, int m, int operand)
{
    int64_t sum = 0;
    for (int64_t i = first; i <= last; i++) {
        const record *r = &s->at[i];
        const tw_engine *engine = &s->machine->engine[r->engine];
        if (is_input(s, r) && r->operand == operand && engine->memory >= m) sum += latency_of(engine, r);
    }
    return sum;
}

static void make_plain(schedule *s)
{
    int64_t now = 0;
    for (int64_t first = 0, last; first < s->n; first = last + 1) {
        for (last = first; !s->at[last].last_of_step;) last++;
        int64_t cost = 0;
        for (int64_t i = first; i <= last; i++) {
            record *r = &s->at[i];
            if (r->op == TW_EXEC) cost = r->cost;
            if (r->op == TW_EXEC) r->start = now;
            if (!is_input(s, r)) continue;
            r->start = now - way_inwards(s, first, last, s->machine->engine[r->engine].memory, r->operand);
        }
        for (int64_t i = first; i <= last; i++)
            if (is_input(s, &s->at[i])) s->at[i].cost = latency_of(&s->machine->engine[s->at[i].engine], &s->at[i]);
        now += cost;
    }
}

/* ---- what it needs ---- */

/* A slot is held from the start of the command that takes it until the one that gives it back, and all that touched
 * it, are done. The cursor walks along to say who gives what back. */
static tw_status find_last_uses(schedule *s, tw_arena *arena)
{
    tw_flow_cursor cursor;
    tw_event step[TW_FLOW_STEP_MAX];
    int64_t *taken, at = 0;
    TW_ALLOC(arena, taken, s->program->layout.n_buffers + 1);
    TW_TRY(tw_flow_cursor_init(&cursor, s->program, arena));
    cursor.brief = true;
    for (int n; (n = tw_flow_cursor_next(&cursor, step)) > 0;)
        for (int i = 0; i < n; i++, at++) {
            const tw_instr *in = &step[i].instr;
            const record *r = &s->at[at];
            if (in->takes) taken[in->dst] = at;
            if (in->dst >= 0) {
                int64_t *last = &s->at[taken[in->dst]].unused_at;
                *last = tw_max(*last, r->start + r->cost);
            }
            for (int k = 0; k < in->n_src + in->n_gives; k++) {
                int32_t b = k < in->n_src ? in->src[k] : in->gives[k - in->n_src];
                int64_t *last = b < 0 ? NULL : &s->at[taken[b]].unused_at;
                if (last) *last = tw_max(*last, r->start + r->busy);
            }
        }
    return TW_OK;
}

/* The most slots that these operands hold at once in a memory. `from` and `to` have room for all instructions. */
static int64_t count_slots(const schedule *s, int memory, unsigned operands, int64_t *from, int64_t *to)
{
    int64_t n = 0, held = 0, most = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const record *r = &s->at[i];
        if (!r->takes || !(operands >> r->operand & 1) || s->program->layout.buffer[r->dst].memory != memory)
            continue;
        from[n] = r->start;
        to[n++] = r->unused_at;
    }
    qsort(from, (size_t)n, sizeof *from, tw_by_int64);
    qsort(to, (size_t)n, sizeof *to, tw_by_int64);
    for (int64_t i = 0, k = 0; i < n; i++) {
        for (; k < n && to[k] <= from[i]; k++) held--;
        most = tw_max(most, ++held);
    }
    return most;
}

/* What the schedule needs of each memory, per operand. */
typedef struct needs {
    int64_t slots[TW_MAX_MEMORIES][TW_MAX_OPERANDS], pool_slots[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    const int64_t *slots_of[TW_MAX_MEMORIES], *pool_slots_of[TW_MAX_MEMORIES]; /* the rows of the two */
} needs;

static tw_status count_all_slots(schedule *s, tw_arena *arena, needs *out)
{
    const tw_op *op = s->program->op;
    int64_t *from, *to;
    TW_ALLOC(arena, from, s->n);
    TW_ALLOC(arena, to, s->n);
    TW_TRY(find_last_uses(s, arena));
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < op->n_operands; o++) {
            const tw_residency *residency = s->program->flow->residency[m];
            unsigned sharers = 0;
            if (!residency[o].here) continue;
            for (int k = 0; k < op->n_operands; k++)
                if (residency[k].here && residency[k].pool == residency[o].pool) sharers |= 1u << k;
            out->slots[m][o] = count_slots(s, m, 1u << o, from, to);
            out->pool_slots[m][o] = sharers == 1u << o ? out->slots[m][o] : count_slots(s, m, sharers, from, to);
        }
    return TW_OK;
}

/* The period of the executions, and the engine that sets it: the one that is busy for almost all of it. Where none is,
 * commands wait for each other in a chain, such as sums that go out and come back. */
static void find_period(const schedule *s, int64_t first, bool plain, tw_injection_summary *out)
{
    int best = s->machine->compute;
    for (int e = 0; e < s->machine->n_engines && !plain; e++)
        if ((double)s->busy[e] / (double)s->machine->engine[e].count >
            (double)s->busy[best] / (double)s->machine->engine[best].count)
            best = e;
    bool one = s->n_steps == 1;
    int64_t num = one ? s->busy[s->machine->compute] : out->last_compute - first, den = one ? 1 : s->n_steps - 1;
    int64_t by = tw_gcd(num, den);
    out->period_num = num / (by ? by : 1);
    out->period_den = den / (by ? by : 1);
    double period = (double)num / (double)den,
           alone = (double)s->busy[best] / ((double)s->machine->engine[best].count * (double)s->n_steps);
    if (alone >= 0.9 * period) out->limit = s->machine->engine[best].name;
}

static tw_status summarise(schedule *s, bool plain, const tw_work *work, const tw_injection_summary **made)
{
    tw_injection_summary *out;
    needs *needed;
    TW_ALLOC(work->arena, out, 1);
    TW_ALLOC(work->arena, needed, 1);
    for (int m = 0; m < s->machine->n_memories; m++) {
        needed->slots_of[m] = needed->slots[m];
        needed->pool_slots_of[m] = needed->pool_slots[m];
    }
    *out = (tw_injection_summary){.steps = s->n_steps,
                                  .n_memories = s->machine->n_memories,
                                  .n_operands = s->program->op->n_operands,
                                  .slots = needed->slots_of,
                                  .pool_slots = needed->pool_slots_of};
    *made = out;
    int64_t first = INT64_MAX, least = INT64_MAX;
    for (int64_t i = 0; i < s->n; i++) {
        const record *r = &s->at[i];
        if (is_input(s, r)) least = tw_min(least, r->start);
        if (r->op != TW_EXEC) continue;
        first = tw_min(first, r->start);
        out->last_compute = tw_max(out->last_compute, r->start);
    }
    out->prologue = least < first ? first - least : 0;
    find_period(s, first, plain, out);
    return plain ? TW_OK : count_all_slots(s, work->scratch, needed);
}

/* ---- rows ---- */

/* The cursor walks along for the indices, which the records do not keep. */
static tw_status show_rows(const schedule *s, const tw_injection_request *asked, tw_arena *arena)
{
    tw_flow_cursor cursor;
    tw_event events[TW_FLOW_STEP_MAX];
    tw_injection_link link[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    const tw_injection_link *into[TW_MAX_MEMORIES];
    static const int64_t origin[TW_MAX_LOOPS] = {0}; /* of steps that execute nothing */
    int64_t step = 0;
    for (int m = 0; m < TW_MAX_MEMORIES; m++) into[m] = link[m];
    TW_TRY(tw_flow_cursor_init(&cursor, s->program, arena));
    for (int64_t first = 0, last; first < s->n; first = last + 1) {
        for (last = first; !s->at[last].last_of_step;) last++;
        tw_injection_row row = {.step = step++,
                                .n_loops = s->program->op->n_loops,
                                .index = origin,
                                .n_memories = s->machine->n_memories,
                                .n_operands = s->program->op->n_operands,
                                .link = into};
        memset(link, 0, sizeof link);
        int n = tw_flow_cursor_next(&cursor, events);
        assert(n == last - first + 1);
        for (int i = 0; i < n; i++)
            if (events[i].instr.op == TW_EXEC) row.index = events[i].instr.index;
        for (int64_t i = first; i <= last; i++) {
            const record *r = &s->at[i];
            if (r->op == TW_EXEC) row.compute = r->start;
            if (is_input(s, r))
                link[s->machine->engine[r->engine].memory][r->operand] =
                    (tw_injection_link){true, r->start, r->start + r->cost};
        }
        TW_TRY(asked->fn(asked->user, &row));
    }
    return TW_OK;
}

tw_status tw_injection_run(const tw_program *program, int64_t n_instrs, const tw_injection_request *asked,
                           const tw_work *work, const tw_injection_summary **out)
{
    tw_diag *diag = work->diag;
    bool plain = asked->options->plain;
    schedule s = {.program = program, .machine = program->machine, .diag = diag};
    if (!tw_discipline_of(program->machine)->credits)
        return tw_diag_error(diag, program->op->loc,
                             "injection times are those of async machines, '%s' is lockstep",
                             program->machine->name);
    if (n_instrs > TW_INJECTION_MAX)
        return tw_diag_infeasible(diag, program->op->loc,
                                  "'%s' has %" PRId64
                                  " instructions; a schedule of injection times, which is found "
                                  "backwards, keeps all of them, at most %d",
                                  program->op->name, n_instrs, TW_INJECTION_MAX);
    TW_TRY(record_program(&s, n_instrs, work->scratch));
    if (plain) {
        make_plain(&s);
    } else {
        run_backwards(&s);
        shift(&s);
    }
    TW_TRY(summarise(&s, plain, work, out));
    return asked->fn ? show_rows(&s, asked, work->scratch) : TW_OK;
}
