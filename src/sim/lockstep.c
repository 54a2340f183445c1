/* src/sim/lockstep.c - rows: see timeline.h for the rules.
 *
 * One run is one program of one tiled level on one box. Its steps arrive in program order; each
 * instruction's row follows from the rows already given to what it depends on. Rows are collected
 * in a window that slides: once the compute engine has passed a row by more than the depth of the
 * pass-through chain, nothing can join it, and it is closed, that is costed and forgotten. When
 * somebody watches, a row stays open a little longer, until it is known which values were still alive in it,
 * and is then shown. */
#include "core/table.h"
#include "program/cursor.h"
#include "sim/discipline.h"
#include "sim/live.h"
#include "tile/box.h"

#include <string.h>

/* What is collected about a row while it is open. */
typedef struct open_row {
    int64_t mover[TW_MAX_MEMORIES]; /* cycles on each mover of the chain; the last is the level's own       */
    int64_t compute, sum;           /* cycles                                                               */
    int64_t nested_ticks;           /* rows inside the row's EXEC, 0 when it is the compute engine's        */
    bool runs;                      /* an EXEC is in the row                                                */
    const tw_timeline *nested;      /* of its program of the next level, NULL: it is the compute engine's   */
    int leader; /* place in the chain of the innermost mover that works; n_pass: the level itself */
    int64_t change[TW_MAX_MEMORIES]; /* live units: pass-through memories, then the level's own              */
    int64_t first_event, n_events;   /* when watched: chain of events, by index; first_event is 1-based      */
} open_row;

typedef struct kept_event {
    tw_event event;
    int64_t next; /* 1-based, 0: last */
} kept_event;

/* An input slot and the value in it. */
typedef struct slot_life {
    int64_t size;      /* 0: empty                                */
    int64_t last_read; /* row                                     */
    int64_t doubt;     /* row since which it is in doubt, -1: not */
} slot_life;

typedef struct shared_state {
    const tw_program *program;
    const tw_row_sink *sink; /* NULL: nobody watches */
    tw_meter *meter;
    tw_arena *scratch;
    tw_diag *diag;
    tw_table *memo; /* what nested programs cost, by level and box: few different ones exist, two lengths per
                       loop and the edges, so that each is simulated once and looked up ever after */
} shared_state;

/* Where a run begins: its program's box, the buffers outside it, and the time of its first row. */
typedef struct place {
    const tw_box *box;
    const int32_t *outer;
    bool accumulate;
    int64_t tick, cycle;
} place;

typedef struct run {
    shared_state *all;
    const tw_program *program;
    const tw_tiled_level *level;
    int depth; /* index of the tiled level */
    tw_cursor cursor;
    int64_t *wrote, *touched;       /* per buffer: row of the last write, of the last access; -1: never */
    int64_t last_compute, last_sum; /* rows, -1: never */
    open_row *row;                  /* ring of `room` rows, a power of two */
    int64_t room, base, top;        /* rows base..top-1 are open           */
    slot_life *life;                /* per buffer, inputs only             */
    int *input;                     /* the buffers that hold inputs at this level */
    int n_inputs;
    tw_live live;
    int64_t pass_alive[TW_MAX_MEMORIES];
    kept_event *event;                        /* pool, when watched                         */
    int64_t n_events, event_room, free_event; /* free_event: 1-based chain of entries to use again */
    int64_t tick, cycle;                      /* of the oldest open row                     */
    bool overflow, has_run;                   /* a count has left 64 bits; an execution is behind it */
    struct last_cost {
        int64_t work, cycles;
    } last_cost[TW_MAX_ENGINES];
    tw_timeline *out;
    tw_instr step[TW_STEP_MAX];
} run;

/* ---- the window ---- */

static open_row *row_at(run *r, int64_t row) { return &r->row[row & (r->room - 1)]; }

/* Only the entries that the level's chain uses. */
static void clear_row(open_row *row, int n_pass)
{
    row->compute = row->sum = row->nested_ticks = row->first_event = row->n_events = 0;
    row->leader = 0;
    row->runs = false;
    row->nested = NULL;
    for (int i = 0; i <= n_pass; i++) row->mover[i] = row->change[i] = 0;
}

static tw_status grow_window(run *r, int64_t row)
{
    int64_t room = r->room;
    open_row *ring;
    while (row - r->base >= room) room *= 2;
    TW_ALLOC(r->all->scratch, ring, room);
    for (int64_t i = r->base; i < r->top; i++) ring[i & (room - 1)] = *row_at(r, i);
    r->row = ring;
    r->room = room;
    return TW_OK;
}

/* Opens the rows up to `row`. */
static tw_status widen(run *r, int64_t row)
{
    if (row - r->base >= r->room) TW_TRY(grow_window(r, row));
    while (r->top <= row) clear_row(row_at(r, r->top++), r->level->n_pass);
    return TW_OK;
}

static void add_to(run *r, int64_t *sum, int64_t amount)
{
    if (!tw_ckd_add(*sum, amount, sum)) r->overflow = true;
}

static int64_t row_cycles(const run *r, const open_row *row)
{
    return row->leader < r->level->n_pass ? row->mover[row->leader]
                                          : tw_max(row->mover[row->leader], tw_max(row->compute, row->sum));
}

/* ---- where no execution runs ---- */

/* The engine that the row waits for beside the execution in it. */
static int slowest_of(const run *r, const open_row *row)
{
    int own = r->level->n_pass, mover = r->level->mover[row->leader];
    return row->leader == own && row->sum > row->mover[own] ? r->level->adder : mover;
}

/* Cycles without an execution, which an engine takes: before the first one, or behind the last one so far. */
static void add_idle(run *r, int engine, int64_t cycles)
{
    bool before = !r->has_run;
    add_to(r, &(before ? r->out->startup_by : r->out->tail_by)[engine], cycles);
    add_to(r, before ? &r->out->idle.startup : &r->out->idle.tail, cycles);
}

/* An execution begins: what stood behind the last one lies between two. */
static void end_idle(run *r)
{
    tw_timeline *t = r->out;
    for (int e = 0; t->idle.tail > 0 && e < r->program->machine->n_engines; e++) {
        add_to(r, &t->held_up[e], t->tail_by[e]);
        t->tail_by[e] = 0;
    }
    t->idle.tail = 0;
    r->has_run = true;
}

/* The nested program has a first and a last execution of its own. */
static void count_nested_idle(run *r, const tw_timeline *child)
{
    int n = r->program->machine->n_engines;
    for (int e = 0; child->idle.startup > 0 && e < n; e++) add_idle(r, e, child->startup_by[e]);
    end_idle(r);
    for (int e = 0; e < n; e++) add_to(r, &r->out->held_up[e], child->held_up[e]);
    for (int e = 0; child->idle.tail > 0 && e < n; e++) add_idle(r, e, child->tail_by[e]);
}

static void count_idle(run *r, const open_row *row)
{
    int64_t rest = row_cycles(r, row);
    if (row->nested) {
        count_nested_idle(r, row->nested);
    } else if (row->runs) {
        end_idle(r);
    }
    if (row->runs) rest -= row->compute;
    if (rest > 0) add_idle(r, slowest_of(r, row), rest);
}

/* ---- what is alive ---- */

static void start_doubts(run *r, int64_t row)
{
    for (int i = 0; i < r->n_inputs; i++) {
        slot_life *s = &r->life[r->input[i]];
        if (s->size == 0 || s->doubt >= 0 || s->last_read >= row) continue;
        s->doubt = row;
        tw_live_doubt(&r->live, row, s->size);
    }
}

static void settle(run *r, slot_life *s, bool was_alive)
{
    int64_t since = s->doubt;
    bool is_shared = false;
    s->doubt = -1;
    for (int i = 0; i < r->n_inputs; i++) is_shared |= r->life[r->input[i]].doubt == since;
    tw_live_settle(&r->live, since, s->size, was_alive, is_shared);
}

/* The value in the slot has been read for the last time. */
static void end_life(run *r, slot_life *s)
{
    if (s->size == 0) return;
    int64_t dead_from = s->last_read + 1;
    if (s->doubt >= 0) {
        settle(r, s, false);
        dead_from = r->base;
    }
    if (dead_from < r->top) row_at(r, dead_from)->change[r->level->n_pass] -= s->size;
    s->size = 0;
}

static void begin_life(run *r, int buffer, int64_t row, int64_t size)
{
    end_life(r, &r->life[buffer]);
    r->life[buffer] = (slot_life){size, row, -1};
    row_at(r, row)->change[r->level->n_pass] += size;
}

static void read_life(run *r, int buffer, int64_t row)
{
    slot_life *s = &r->life[buffer];
    if (s->doubt >= 0) settle(r, s, true);
    s->last_read = row;
}

/* ---- closing rows ---- */

static void show_memory_peaks(run *r, const open_row *row)
{
    for (int i = 0; i < r->level->n_pass; i++) {
        r->pass_alive[i] += row->change[i];
        int64_t *peak = &r->out->peak_live[r->level->pass[i]];
        *peak = tw_max(*peak, r->pass_alive[i]);
    }
}

/* Costs the oldest open row and lets it go; returns what is alive in it. */
static int64_t close_row(run *r)
{
    open_row *row = row_at(r, r->base);
    start_doubts(r, r->base);
    int64_t alive = tw_live_close(&r->live, r->base, row->change[r->level->n_pass]);
    show_memory_peaks(r, row);
    add_to(r, &r->out->sum.cycles, row_cycles(r, row));
    count_idle(r, row);
    add_to(r, &r->out->sum.ticks, row->nested_ticks > 0 ? row->nested_ticks : 1);
    r->base++;
    return alive;
}

/* ---- placing instructions ---- */

/* Most tiles are alike: an engine's last answer is usually the next one too. */
static int64_t engine_cycles(run *r, const tw_instr *in)
{
    struct last_cost *last = &r->last_cost[in->engine];
    if (last->work != in->work) {
        last->work = in->work;
        last->cycles = tw_cost_cycles(&r->program->machine->engine[in->engine].cost, in->work);
    }
    return last->cycles;
}

/* A place in the pool, 1-based; 0 when out of memory. */
static int64_t new_event(run *r)
{
    int64_t e = r->free_event;
    if (e) {
        r->free_event = r->event[e - 1].next;
        return e;
    }
    if (r->n_events == r->event_room) {
        int64_t room = r->event_room ? r->event_room * 2 : 64;
        kept_event *list = TW_NEW(r->all->scratch, kept_event, room);
        if (!list) return 0;
        if (r->n_events) memcpy(list, r->event, (size_t)r->n_events * sizeof *list);
        r->event = list;
        r->event_room = room;
    }
    return ++r->n_events;
}

static tw_status append_event(run *r, const tw_instr *in, int64_t row, int64_t cycles)
{
    int64_t e = new_event(r);
    if (!e) return TW_ERR_NOMEM;
    kept_event *kept = &r->event[e - 1];
    kept->event.instr = *in;          /* the times are filled in when the row is shown */
    kept->event.start_cycle = cycles; /* the duration until the row's own start is known */
    kept->next = 0;
    open_row *at = row_at(r, row);
    int64_t *link = &at->first_event;
    while (*link) link = &r->event[*link - 1].next;
    *link = e;
    at->n_events++;
    return TW_OK;
}

static inline tw_status keep_event(run *r, const tw_instr *in, int64_t row, int64_t cycles)
{
    return r->all->sink ? append_event(r, in, row, cycles) : TW_OK;
}

static int chain_place(const run *r, int engine)
{
    int i = 0;
    while (r->level->mover[i] != engine) i++;
    return i;
}

/* Books a transfer in its row. */
static tw_status put_transfer(run *r, const tw_instr *in, int64_t row)
{
    TW_TRY(widen(r, row + 2));
    int i = chain_place(r, in->engine);
    int64_t cycles = engine_cycles(r, in), *busy = &row_at(r, row)->mover[i];
    if (r->program->machine->engine[in->engine].one_channel)
        add_to(r, busy, cycles);
    else
        *busy = tw_max(*busy, cycles);
    row_at(r, row)->leader = (int)tw_max(row_at(r, row)->leader, i);
    tw_engine_use *use = &r->out->engine[in->engine];
    bool load = in->op == TW_LOAD;
    *(load ? &use->loads : &use->stores) += 1;
    add_to(r, load ? &use->load_units : &use->store_units, in->work);
    add_to(r, &use->busy_cycles, cycles);
    tw_link_count *link = &r->out->link[r->program->machine->engine[in->engine].memory][in->operand];
    link->transfers++;
    add_to(r, &link->units, in->work);
    link->loads += load;
    link->load_units += load ? in->work : 0; /* at most the units */
    if (in->dst >= 0) r->wrote[in->dst] = r->touched[in->dst] = row;
    if (in->src[0] >= 0) r->touched[in->src[0]] = row;
    return keep_event(r, in, row, cycles);
}

/* A FIFO's value lives in the row that brings it and the next one, which takes it on. */
static void pass_life(run *r, int chain, int64_t row, int64_t size)
{
    row_at(r, row)->change[chain] += size;
    row_at(r, row + 2)->change[chain] -= size;
}

/* Loads of a step go as late as their EXEC in row `exec` allows. */
static tw_status put_loads(run *r, const tw_instr *in, int n, int64_t exec)
{
    int own = r->level->n_pass;
    for (int k = 0; k < n; k++) {
        int i = chain_place(r, in[k].engine);
        int64_t row = exec - 1 - (own - i);
        TW_TRY(put_transfer(r, &in[k], row));
        if (i < own)
            pass_life(r, i, row, in[k].work);
        else
            begin_life(r, in[k].dst, row, in[k].work);
    }
    return TW_OK;
}

/* First row in which each load's value can be there for use; the loads of one operand form a chain. */
static int64_t ready_after_loads(const run *r, const tw_instr *in, int n)
{
    int64_t ready = 0, arrives = -1;
    for (int k = 0; k < n; k++) {
        bool first_of_chain = k == 0 || in[k].operand != in[k - 1].operand;
        int64_t row = r->touched[in[k].dst] + 1;
        if (!first_of_chain) row = tw_max(row, arrives + 1);
        arrives = row;
        ready = tw_max(ready, arrives + 1);
    }
    return ready;
}

static bool adder_is_shared(const run *r)
{
    return r->level->adder >= 0 && r->program->machine->engine[r->level->adder].shares >= 0;
}

static tw_status nested_timeline(run *r, const tw_instr *in, const tw_timeline **out);

static void count_nested(run *r, const tw_timeline *child)
{
    tw_timeline *t = r->out;
    add_to(r, &t->sum.execs, child->sum.execs);
    add_to(r, &t->sum.macs, child->sum.macs);
    add_to(r, &t->sum.instructions, child->sum.instructions);
    for (int e = 0; e < r->program->machine->n_engines; e++) {
        t->engine[e].loads += child->engine[e].loads;
        t->engine[e].stores += child->engine[e].stores;
        t->engine[e].ops += child->engine[e].ops;
        add_to(r, &t->engine[e].load_units, child->engine[e].load_units);
        add_to(r, &t->engine[e].store_units, child->engine[e].store_units);
        add_to(r, &t->engine[e].busy_cycles, child->engine[e].busy_cycles);
    }
    for (int m = 0; m < r->program->machine->n_memories; m++) {
        t->peak_live[m] = tw_max(t->peak_live[m], child->peak_live[m]);
        for (int o = 0; o < r->program->op->n_operands; o++) {
            t->link[m][o].transfers += child->link[m][o].transfers;
            add_to(r, &t->link[m][o].units, child->link[m][o].units);
            t->link[m][o].loads += child->link[m][o].loads;
            t->link[m][o].load_units += child->link[m][o].load_units; /* at most the units */
        }
    }
}

/* Cycles of an EXEC or FILL, and its share of the counts. */
static tw_status compute_cycles(run *r, const tw_instr *in, const tw_timeline **nested, int64_t *cycles)
{
    *nested = NULL;
    if (in->nested) {
        TW_TRY(nested_timeline(r, in, nested));
        count_nested(r, *nested);
        *cycles = (*nested)->sum.cycles;
        return TW_OK;
    }
    *cycles = engine_cycles(r, in);
    tw_engine_use *use = &r->out->engine[in->engine];
    use->ops++;
    add_to(r, &use->busy_cycles, *cycles);
    r->out->sum.execs++;
    if (in->op == TW_EXEC) add_to(r, &r->out->sum.macs, in->work);
    return TW_OK;
}

static int64_t output_units(const run *r)
{
    int output = tw_op_output(r->program->op);
    return tw_program_units(r->program, output, r->cursor.elems[output]);
}

static tw_status put_compute(run *r, const tw_instr *in, int64_t ready, int64_t units, int64_t *row_out)
{
    int64_t row = tw_max(ready, r->last_compute + 1), cycles;
    const tw_timeline *nested;
    if (adder_is_shared(r)) row = tw_max(row, r->last_sum + 1);
    for (int i = 0; i < in->n_src; i++)
        if (in->src[i] >= 0) row = tw_max(row, r->wrote[in->src[i]] + 1);
    row = tw_max(row, r->touched[in->dst] + 1);
    TW_TRY(widen(r, row + 1));
    TW_TRY(compute_cycles(r, in, &nested, &cycles));
    open_row *at = row_at(r, row);
    at->leader = r->level->n_pass;
    at->compute = cycles;
    at->runs = true;
    at->nested = nested;
    at->nested_ticks = nested ? nested->sum.ticks : 0;
    r->wrote[in->dst] = r->touched[in->dst] = row;
    r->last_compute = row;
    if (!in->accumulates) at->change[r->level->n_pass] += units;
    *row_out = row;
    return keep_event(r, in, row, cycles);
}

static tw_status put_sum(run *r, const tw_instr *in, int64_t units)
{
    int64_t row = r->last_sum + 1;
    if (adder_is_shared(r)) row = tw_max(row, r->last_compute + 1);
    row = tw_max(row, tw_max(r->wrote[in->src[0]], r->wrote[in->src[1]]) + 1);
    row = tw_max(row, r->touched[in->dst] + 1);
    TW_TRY(widen(r, row + 1));
    bool in_place = in->dst == in->src[0];
    row_at(r, row)->leader = r->level->n_pass;
    row_at(r, row)->sum = engine_cycles(r, in);
    if (!in_place) row_at(r, row)->change[r->level->n_pass] += units;
    row_at(r, row + 1)->change[r->level->n_pass] -= in_place ? units : 2 * units;
    r->touched[in->src[0]] = r->touched[in->src[1]] = row;
    r->wrote[in->dst] = r->touched[in->dst] = row;
    r->last_sum = row;
    tw_engine_use *use = &r->out->engine[in->engine];
    use->ops++;
    add_to(r, &use->busy_cycles, engine_cycles(r, in));
    return keep_event(r, in, row, engine_cycles(r, in));
}

static tw_status put_store(run *r, const tw_instr *in)
{
    int own = r->level->n_pass, i = chain_place(r, in->engine);
    int64_t row = r->wrote[in->src[0]] + 1;
    if (i > 0) row = tw_max(row, r->touched[in->dst] + 1);
    TW_TRY(put_transfer(r, in, row));
    if (i == own) row_at(r, row + 1)->change[own] -= in->work;
    if (i > 0) pass_life(r, i - 1, row, in->work);
    return TW_OK;
}

/* ---- a step ---- */

/* The execution decides when its loads go, and they when their slots are written. */
static tw_status put_exec(run *r, const tw_instr *in, const tw_instr *load, int n_loads, int64_t units)
{
    int64_t row;
    TW_TRY(put_compute(r, in, ready_after_loads(r, load, n_loads), units, &row));
    TW_TRY(put_loads(r, load, n_loads, row));
    for (int i = 0; i < in->n_src; i++) {
        if (in->src[i] < 0) continue;
        r->touched[in->src[i]] = row;
        read_life(r, in->src[i], row);
    }
    return TW_OK;
}

static tw_status put_step(run *r, int n, int64_t units)
{
    const tw_instr *in = r->step;
    int n_loads = 0;
    while (n_loads < n && in[n_loads].op == TW_LOAD) n_loads++;
    for (int k = n_loads; k < n; k++) {
        if (in[k].op == TW_SUM)
            TW_TRY(put_sum(r, &in[k], units));
        else if (in[k].op == TW_STORE)
            TW_TRY(put_store(r, &in[k]));
        else
            TW_TRY(put_exec(r, &in[k], in, n_loads, units));
    }
    return TW_OK;
}

/* ---- a run ---- */

static tw_status init_buffers(run *r)
{
    const tw_layout *layout = &r->program->layout;
    tw_arena *scratch = r->all->scratch;
    int inputs = 0, output = tw_op_output(r->program->op);
    TW_ALLOC(scratch, r->wrote, layout->n_buffers);
    TW_ALLOC(scratch, r->touched, layout->n_buffers);
    TW_ALLOC(scratch, r->life, layout->n_buffers);
    TW_ALLOC(scratch, r->input, layout->n_buffers);
    for (int b = 0; b < layout->n_buffers; b++) {
        r->wrote[b] = r->touched[b] = -1;
        r->life[b].doubt = -1;
        if (layout->buffer[b].memory == r->level->memory && layout->buffer[b].operand != output)
            r->input[inputs++] = b;
    }
    r->n_inputs = inputs;
    return tw_live_init(&r->live, inputs, scratch);
}

static tw_status init_run(run *r, shared_state *all, int depth, const place *from, tw_timeline *out)
{
    r->all = all;
    r->program = all->program;
    r->level = &all->program->tiled[depth];
    r->depth = depth;
    r->last_compute = r->last_sum = -1;
    r->room = 16;
    r->base = r->top = 0;
    r->n_events = r->event_room = r->free_event = 0;
    r->event = NULL;
    r->tick = from->tick;
    r->cycle = from->cycle;
    r->overflow = r->has_run = false;
    r->out = out;
    memset(r->pass_alive, 0, sizeof r->pass_alive);
    for (int e = 0; e < TW_MAX_ENGINES; e++) r->last_cost[e].work = -1;
    TW_ALLOC(all->scratch, r->row, r->room);
    TW_TRY(init_buffers(r));
    tw_cursor_init(&r->cursor, r->program, depth, from->box, from->outer, from->accumulate);
    r->cursor.brief = all->sink == NULL;
    *out = (tw_timeline){0};
    return TW_OK;
}

/* Rows before this one are settled: nothing can join them, and when somebody watches, no value is in doubt
 * in them, so that they can be shown with what is alive. */
static int64_t settled_rows(const run *r)
{
    int64_t end = r->last_compute - r->level->n_pass;
    if (!r->all->sink) return end;
    for (int i = 0; i < r->n_inputs; i++) {
        const slot_life *s = &r->life[r->input[i]];
        if (s->size > 0) end = tw_min(end, s->last_read + 1);
    }
    return end;
}

static tw_status show_row(run *r);

static tw_status close_rows(run *r, int64_t end)
{
    while (r->base < end) {
        if (r->all->sink)
            TW_TRY(show_row(r));
        else
            close_row(r);
    }
    if (!r->overflow) return TW_OK;
    return tw_diag_error(r->all->diag, r->program->op->loc, "the time of '%s' exceeds 2^63 cycles",
                         r->program->op->name);
}

/* Rows behind the last instruction exist only to hold deaths. */
static int64_t end_of_rows(const run *r)
{
    int64_t last = tw_max(r->last_compute, r->last_sum);
    for (int b = 0; b < r->program->layout.n_buffers; b++) last = tw_max(last, r->touched[b]);
    return last + 1;
}

static tw_status run_steps(run *r)
{
    int64_t units = output_units(r);
    for (int n; (n = tw_cursor_next(&r->cursor, r->step)) > 0;) {
        TW_TRY(put_step(r, n, units));
        if (!tw_meter_add(r->all->meter, n)) return TW_INFEASIBLE;
        add_to(r, &r->out->sum.instructions, n);
        units = output_units(r); /* the cursor stands on the next step */
        TW_TRY(close_rows(r, settled_rows(r)));
    }
    for (int i = 0; i < r->n_inputs; i++) end_life(r, &r->life[r->input[i]]);
    TW_TRY(close_rows(r, end_of_rows(r)));
    int64_t *peak = &r->out->peak_live[r->level->memory];
    *peak = tw_max(*peak, tw_live_peak(&r->live));
    return TW_OK;
}

static tw_status simulate(shared_state *all, int depth, const place *from, tw_timeline *out)
{
    tw_arena_mark mark = tw_arena_save(all->scratch);
    run *r = TW_NEW(all->scratch, run, 1);
    if (!r) return TW_ERR_NOMEM;
    tw_status status = init_run(r, all, depth, from, out);
    if (status == TW_OK) status = run_steps(r);
    tw_arena_rewind(all->scratch, mark);
    return status;
}

static tw_status nested_timeline(run *r, const tw_instr *in, const tw_timeline **out)
{
    bool found;
    int64_t key[TW_BOX_KEY_MAX + 1];
    int n = tw_box_key(r->program->op, &in->box, r->program->clipped, key);
    key[n++] = r->depth;
    tw_timeline *entry = tw_table_entry(r->all->memo, key, n, &found);
    if (!entry) return TW_ERR_NOMEM;
    *out = entry;
    if (found) return TW_OK;
    shared_state unwatched = *r->all;
    unwatched.sink = NULL;
    static const int32_t anywhere[TW_MAX_OPERANDS]; /* time does not depend on where data comes from */
    return simulate(&unwatched, r->depth + 1, &(place){&in->box, anywhere, in->accumulates, 0, 0}, entry);
}

/* ---- showing rows ---- */

/* Where the nested program finds its operands. */
static void outer_buffers(const tw_program *program, const tw_instr *exec, int32_t outer[TW_MAX_OPERANDS])
{
    int output = tw_op_output(program->op);
    for (int o = 0; o < output; o++) outer[o] = exec->src[o];
    outer[output] = exec->dst;
}

/* Gathers the events of the oldest open row, timed. */
static tw_status gather(run *r, tw_rowset *row, const tw_instr **nested)
{
    open_row *at = row_at(r, r->base);
    tw_event *list;
    TW_ALLOC(r->all->scratch, list, at->n_events + 1);
    int64_t mover_free[TW_MAX_MEMORIES];
    for (int i = 0; i < TW_MAX_MEMORIES; i++) mover_free[i] = row->start_cycle;
    *nested = NULL;
    for (int64_t e = at->first_event; e; e = r->event[e - 1].next) {
        tw_event *ev = &list[row->n_events++];
        *ev = r->event[e - 1].event;
        int64_t cycles = ev->start_cycle;
        ev->start_cycle = row->start_cycle;
        if (ev->instr.op <= TW_STORE && r->program->machine->engine[ev->instr.engine].one_channel) {
            int i = chain_place(r, ev->instr.engine);
            ev->start_cycle = mover_free[i];
            mover_free[i] += cycles;
        }
        ev->end_cycle = ev->busy_end = ev->start_cycle + cycles;
        ev->wait = TW_WAIT_NONE;
        ev->waited = 0;
        if (ev->instr.nested) *nested = &ev->instr;
    }
    row->event = list;
    return TW_OK;
}

/* Gives the row's places in the pool back. */
static void release_events(run *r, const open_row *at)
{
    for (int64_t e = at->first_event, next; e; e = next) {
        next = r->event[e - 1].next;
        r->event[e - 1].next = r->free_event;
        r->free_event = e;
    }
}

static tw_status show_gathered(run *r, tw_rowset *row, const tw_instr *nested)
{
    const tw_row_sink *sink = r->all->sink;
    if (sink->begin) TW_TRY(sink->begin(sink->user, row));
    if (nested) {
        int32_t outer[TW_MAX_OPERANDS];
        tw_timeline ignored;
        outer_buffers(r->program, nested, outer);
        place inside = {&nested->box, outer, nested->accumulates, row->tick, row->start_cycle};
        TW_TRY(simulate(r->all, r->depth + 1, &inside, &ignored));
    }
    return sink->end ? sink->end(sink->user, row) : TW_OK;
}

/* Closes the oldest row and shows it, with what is nested in it. */
static tw_status show_row(run *r)
{
    const open_row *at = row_at(r, r->base);
    const tw_instr *nested;
    int64_t ticks = at->nested_ticks > 0 ? at->nested_ticks : 1, cycles = row_cycles(r, at);
    tw_rowset row = {.level = r->depth,
                     .memory = r->level->memory,
                     .tick = r->tick,
                     .start_cycle = r->cycle,
                     .end_cycle = r->cycle + cycles};
    tw_arena_mark mark = tw_arena_save(r->all->scratch);
    tw_status status = gather(r, &row, &nested);
    release_events(r, at);
    row.live_units = close_row(r);
    if (status == TW_OK) status = show_gathered(r, &row, nested);
    tw_arena_rewind(r->all->scratch, mark);
    r->tick += ticks;
    r->cycle += cycles;
    return status;
}

/* ---- the whole ---- */

tw_status tw_lockstep_run(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch, tw_diag *diag,
                          tw_timeline *out)
{
    int32_t outer[TW_MAX_OPERANDS];
    for (int o = 0; o < TW_MAX_OPERANDS; o++) outer[o] = -1;
    shared_state all = {program, asked->sink, asked->meter, scratch, diag, NULL};
    tw_arena *keep = program->n_tiled > 1 ? tw_arena_new() : NULL;
    tw_box box = tw_box_of_op(program->op);
    tw_status status = TW_OK;
    if (program->n_tiled > 1 && (!keep || !(all.memo = tw_table_new(sizeof(tw_timeline), keep))))
        status = TW_ERR_NOMEM;
    tw_timeline result;
    if (status == TW_OK) status = simulate(&all, 0, &(place){&box, outer, false, 0, 0}, &result);
    tw_arena_free(keep);
    if (status != TW_OK) return status;
    for (int e = 0; e < program->machine->n_engines; e++)
        result.engine[e].engine = program->machine->engine[e].name;
    *out = result;
    return TW_OK;
}
