/* src/sim/order.c - see order.h: commands that wait, and a moment before which nothing more can start. */
#include "sim/order.h"

#include "core/agenda.h"

#include <string.h>

typedef struct held { /* a command that waits */
    tw_rowset row;
    tw_event *event;
    int room;          /* events */
    struct held *next; /* of those that were passed on and can be used again */
} held;

typedef struct engine_clock {
    bool moves;
    int n_units;
    int64_t *free;          /* per unit: end of its last command         */
    int64_t to_come, loads; /* instructions and loads, negative: not known */
} engine_clock;

struct tw_order {
    tw_arena *arena;
    tw_row_sink sink;
    int n_engines, compute;
    engine_clock clock[TW_MAX_ENGINES];
    int64_t last_exec; /* start of the last execution seen */
    int64_t n_taken;
    tw_agenda agenda;
    held *over;
};

tw_order *tw_order_new(const tw_machine *machine, const tw_row_sink *sink, tw_arena *arena)
{
    tw_order *o = TW_NEW(arena, tw_order, 1);
    if (!o) return NULL;
    *o = (tw_order){.arena = arena, .sink = *sink, .n_engines = machine->n_engines, .compute = machine->compute};
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_engine *engine = &machine->engine[e];
        engine_clock *c = &o->clock[e];
        c->moves = engine->kind == TW_MOVES;
        c->loads = engine->carries & TW_INWARDS ? -1 : 0;
        c->n_units = (int)tw_clamp(engine->count, 1, INT16_MAX);
        c->to_come = -1;
        c->free = TW_NEW(arena, int64_t, c->n_units);
        if (!c->free) return NULL;
    }
    return o;
}

void tw_order_expect(tw_order *order, int engine, int64_t n_instrs) { order->clock[engine].to_come = n_instrs; }
void tw_order_expect_loads(tw_order *order, int engine, int64_t n_loads) { order->clock[engine].loads = n_loads; }

/* ---- what may still come ---- */

/* The moment before which no command that is still to come can start. */
static int64_t earliest(const tw_order *o)
{
    int64_t all = INT64_MAX;
    for (int e = 0; e < o->n_engines; e++) {
        const engine_clock *c = &o->clock[e];
        if (c->to_come == 0) continue;
        int64_t mine = INT64_MAX;
        for (int u = 0; u < c->n_units; u++) mine = tw_min(mine, c->free[u]);
        bool only_stores = c->moves && c->loads == 0;
        all = tw_min(all, only_stores ? tw_max(mine, o->last_exec) : mine);
    }
    return all;
}

static void note(tw_order *o, const tw_rowset *row)
{
    for (int i = 0; i < row->n_events; i++) {
        const tw_event *e = &row->event[i];
        if (e->instr.engine < 0 || e->instr.engine >= o->n_engines) continue;
        engine_clock *c = &o->clock[e->instr.engine];
        if (e->instr.unit >= 0 && e->instr.unit < c->n_units) c->free[e->instr.unit] = e->busy_end;
        if (c->to_come > 0) c->to_come--;
        if (c->loads > 0 && e->instr.op == TW_LOAD) c->loads--;
        if (e->instr.engine == o->compute) o->last_exec = e->start_cycle;
    }
}

/* ---- passing on ---- */

static tw_status pass_on(tw_order *o, int64_t until)
{
    while (tw_agenda_is_due(&o->agenda, until)) {
        held *h = tw_agenda_take(&o->agenda).what;
        if (o->sink.begin) TW_TRY(o->sink.begin(o->sink.user, &h->row));
        if (o->sink.end) TW_TRY(o->sink.end(o->sink.user, &h->row));
        h->next = o->over;
        o->over = h;
    }
    return TW_OK;
}

static tw_status keep(tw_order *o, const tw_rowset *row, held **out)
{
    held *h = o->over;
    if (h)
        o->over = h->next;
    else
        TW_ALLOC(o->arena, h, 1);
    if (h->room < row->n_events) {
        TW_ALLOC(o->arena, h->event, row->n_events);
        h->room = row->n_events;
    }
    if (row->n_events > 0) memcpy(h->event, row->event, (size_t)row->n_events * sizeof *h->event);
    h->row = *row;
    h->row.event = h->event;
    *out = h;
    return TW_OK;
}

/* A command that starts at the very moment may still be preceded by none: what comes later follows it. */
static tw_status take(void *user, const tw_rowset *row)
{
    tw_order *o = user;
    held *h;
    TW_TRY(keep(o, row, &h));
    TW_TRY(tw_agenda_put(&o->agenda, (tw_agenda_entry){row->start_cycle, o->n_taken++, h}, o->arena));
    note(o, row);
    return pass_on(o, earliest(o));
}

tw_row_sink tw_order_sink(tw_order *order) { return (tw_row_sink){take, NULL, order}; }

tw_status tw_order_flush(tw_order *order) { return pass_on(order, INT64_MAX); }
