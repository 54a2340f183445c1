/* src/sim/injection.c - see injection.h. */
#include "sim/injection.h"

#include <stdlib.h>
#include <string.h>

#include "program/flowcursor.h"

enum { NEVER = -1 };

typedef struct record { /* one instruction, and the command that it is part of */
    int64_t start, cost, busy;
    int64_t unused_at; /* LOAD: when its tile was read for the last time */
    int32_t dst;
    int32_t src[TW_MAX_OPERANDS];
    int16_t engine, unit, operand, n_src;
    uint8_t op;
    bool together, last_of_step;
    int64_t index[TW_MAX_LOOPS];
} record;

typedef struct schedule {
    const tw_program *program;
    const tw_machine *machine;
    tw_diag *diag;
    int64_t n, room, n_steps;
    record *at;
    int64_t *unit[TW_MAX_ENGINES]; /* forwards: when free; backwards: start of its next command */
    int64_t *moment;               /* per buffer: forwards when there; backwards when needed    */
    int64_t *returned;             /* per tile of partial sums in the tensor                    */
    int64_t busy[TW_MAX_ENGINES];
} schedule;

/* ---- forwards ---- */

static tw_status add_record(schedule *s, const record *r, tw_arena *arena)
{
    if (s->n == s->room) {
        int64_t room = s->room ? 2 * s->room : 1024;
        if (room > TW_INJECTION_MAX)
            return tw_diag_error(s->diag, s->program->op->loc,
                                 "'%s' has more than %d instructions, too many for a table of injection times",
                                 s->program->op->name, TW_INJECTION_MAX);
        record *wider;
        TW_ALLOC(arena, wider, room);
        if (s->n) memcpy(wider, s->at, (size_t)s->n * sizeof *wider);
        s->at = wider;
        s->room = room;
    }
    s->at[s->n++] = *r;
    return TW_OK;
}

static int64_t data_of(const schedule *s, const tw_instr *in)
{
    int64_t at = 0;
    for (int k = 0; k < in->n_src; k++)
        if (in->src[k] >= 0) at = tw_max(at, s->moment[in->src[k]]);
    if (in->op == TW_LOAD && in->partial && in->src[0] < 0) at = tw_max(at, s->returned[in->tile]);
    if (in->op == TW_EXEC && in->accumulates) at = tw_max(at, s->moment[in->dst]);
    return at;
}

static tw_status run_forwards(schedule *s, const tw_event *step, int n, bool last, tw_arena *arena)
{
    const tw_instr *in = &step->instr;
    const tw_engine *engine = &s->machine->engine[in->engine];
    bool array = in->op == TW_EXEC && engine->cost.kind == TW_COST_ARRAY;
    int64_t work = 0, *unit = &s->unit[in->engine][in->unit], start = *unit;
    for (int i = 0; i < n; i++) {
        work += array ? step[i].instr.passes : step[i].instr.work;
        start = tw_max(start, data_of(s, &step[i].instr));
    }
    int64_t cost = tw_cost_cycles(&engine->cost, work), busy = tw_engine_busy(engine, work);
    *unit = start + busy;
    s->busy[in->engine] += busy;
    for (int i = 0; i < n; i++) {
        record r = {.start = start,
                    .cost = cost,
                    .busy = busy,
                    .dst = step[i].instr.dst,
                    .engine = step[i].instr.engine,
                    .unit = step[i].instr.unit,
                    .operand = step[i].instr.operand,
                    .n_src = step[i].instr.n_src,
                    .op = (uint8_t)step[i].instr.op,
                    .together = i > 0,
                    .last_of_step = last && i + 1 == n};
        memcpy(r.src, step[i].instr.src, sizeof r.src);
        memcpy(r.index, step[i].instr.index, sizeof r.index);
        TW_TRY(add_record(s, &r, arena));
        if (step[i].instr.dst >= 0)
            s->moment[step[i].instr.dst] = start + cost;
        else if (step[i].instr.partial)
            s->returned[step[i].instr.tile] = start + cost;
    }
    return TW_OK;
}

static tw_status init(schedule *s, tw_arena *arena)
{
    const tw_stay *tensor = &s->program->flow->stay[0][tw_op_output(s->program->op)];
    for (int e = 0; e < s->machine->n_engines; e++) TW_ALLOC(arena, s->unit[e], s->machine->engine[e].count);
    TW_ALLOC(arena, s->moment, s->program->layout.n_buffers + 1);
    TW_ALLOC(arena, s->returned, tensor->returns ? tensor->n_tiles : 1);
    return TW_OK;
}

static tw_status record_program(schedule *s, tw_arena *arena)
{
    tw_flow_cursor cursor;
    tw_event step[TW_FLOW_STEP_MAX];
    TW_TRY(init(s, arena));
    TW_TRY(tw_flow_cursor_init(&cursor, s->program, arena));
    for (int n; (n = tw_flow_cursor_next(&cursor, step)) != 0; s->n_steps++) {
        if (n < 0) return tw_flow_explain_deadlock(&cursor, s->diag);
        for (int i = 0, k; i < n; i = k) {
            for (k = i + 1; k < n && step[k].instr.together;) k++;
            TW_TRY(run_forwards(s, &step[i], k - i, k == n, arena));
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
    return engine->cost.kind == TW_COST_LINEAR ? engine->cost.fixed : r->cost;
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

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* A tile is held from the start of its transfer until the last of its readers is done. */
static void find_last_uses(schedule *s)
{
    for (int b = 0; b < s->program->layout.n_buffers; b++) s->moment[b] = NEVER;
    for (int64_t i = s->n - 1; i >= 0; i--) {
        record *r = &s->at[i];
        if (is_input(s, r)) {
            r->unused_at = tw_max(s->moment[r->dst], r->start + r->cost);
            s->moment[r->dst] = NEVER;
        }
        for (int j = 0; j < r->n_src; j++)
            if (r->src[j] >= 0) s->moment[r->src[j]] = tw_max(s->moment[r->src[j]], r->start + r->busy);
    }
}

static tw_status count_slots(schedule *s, int m, int o, tw_arena *arena, int64_t *out)
{
    int64_t *from, *to, n = 0, held = 0, most = 0;
    TW_ALLOC(arena, from, s->n + 1);
    TW_ALLOC(arena, to, s->n + 1);
    for (int64_t i = 0; i < s->n; i++) {
        const record *r = &s->at[i];
        if (!is_input(s, r) || r->operand != o || s->machine->engine[r->engine].memory != m) continue;
        from[n] = r->start;
        to[n++] = r->unused_at;
    }
    qsort(from, (size_t)n, sizeof *from, by_value);
    qsort(to, (size_t)n, sizeof *to, by_value);
    for (int64_t i = 0, k = 0; i < n; i++) {
        for (; k < n && to[k] <= from[i]; k++) held--;
        most = tw_max(most, ++held);
    }
    *out = most;
    return TW_OK;
}

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

static void find_period(const schedule *s, bool plain, tw_injection_summary *out)
{
    int best = s->machine->compute;
    for (int e = 0; e < s->machine->n_engines && !plain; e++)
        if ((double)s->busy[e] / (double)s->machine->engine[e].count >
            (double)s->busy[best] / (double)s->machine->engine[best].count)
            best = e;
    int64_t num = s->busy[best], den = s->machine->engine[best].count * s->n_steps, by = gcd(num, den);
    out->limit = s->machine->engine[best].name;
    out->period_num = num / (by ? by : 1);
    out->period_den = den / (by ? by : 1);
}

static tw_status summarise(schedule *s, bool plain, tw_arena *arena, tw_injection_summary *out)
{
    *out = (tw_injection_summary){.steps = s->n_steps};
    int64_t first = INT64_MAX, least = INT64_MAX;
    for (int64_t i = 0; i < s->n; i++) {
        const record *r = &s->at[i];
        if (is_input(s, r)) least = tw_min(least, r->start);
        if (r->op != TW_EXEC) continue;
        first = tw_min(first, r->start);
        out->last_compute = tw_max(out->last_compute, r->start);
    }
    out->prologue = least < first ? first - least : 0;
    find_period(s, plain, out);
    if (plain) return TW_OK;
    find_last_uses(s);
    for (int m = 1; m < s->machine->n_memories; m++)
        for (int o = 0; o < tw_op_output(s->program->op); o++) {
            tw_arena_mark mark = tw_arena_save(arena);
            tw_status status = count_slots(s, m, o, arena, &out->slots[m][o]);
            tw_arena_rewind(arena, mark);
            TW_TRY(status);
        }
    return TW_OK;
}

/* ---- rows ---- */

static tw_status show_rows(const schedule *s, tw_injection_fn fn, void *user)
{
    int64_t step = 0;
    for (int64_t first = 0, last; first < s->n; first = last + 1) {
        for (last = first; !s->at[last].last_of_step;) last++;
        tw_injection_row row = {.step = step++, .n_loops = s->program->op->n_loops};
        for (int64_t i = first; i <= last; i++) {
            const record *r = &s->at[i];
            if (r->op == TW_EXEC) {
                row.compute = r->start;
                memcpy(row.index, r->index, sizeof row.index);
            }
            if (is_input(s, r))
                row.link[s->machine->engine[r->engine].memory][r->operand] =
                    (tw_injection_link){true, r->start, r->start + r->cost};
        }
        TW_TRY(fn(user, &row));
    }
    return TW_OK;
}

tw_status tw_injection_run(const tw_program *program, const tw_injection_options *options, tw_injection_fn fn,
                           void *user, tw_arena *scratch, tw_diag *diag, tw_injection_summary *out)
{
    schedule s = {.program = program, .machine = program->machine, .diag = diag};
    if (!program->flow)
        return tw_diag_error(diag, program->op->loc,
                             "injection times are those of async machines, '%s' is lockstep",
                             program->machine->name);
    TW_TRY(record_program(&s, scratch));
    if (options->plain) {
        make_plain(&s);
    } else {
        run_backwards(&s);
        shift(&s);
    }
    TW_TRY(summarise(&s, options->plain, scratch, out));
    return fn ? show_rows(&s, fn, user) : TW_OK;
}
