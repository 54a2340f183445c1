/* src/sim/async.c - engines that run side by side, see timeline.h.
 *
 * What can be waited for is a *moment*: a unit is free, a buffer's value is there, a buffer may be overwritten, a
 * tile of partial sums is back in the tensor. A command starts at the latest of its moments and sets others:
 *
 *     unit free      = start + busy
 *     value there    = start + cost
 *     buffer free    = the latest start + busy of those who read it or gave it back
 *
 * Each moment carries the critical path that leads to it: how many cycles of it belong to each engine. The path to a
 * start is that of the moment that came last; what the command adds is its own. At the end the path of the last moment
 * of all is the critical path of the program, found in one pass and without keeping a single command.
 *
 * When a stretch of the program leaves everything as it found it, only later, forward.c skips its repetitions. */
#include "sim/async.h"

#include <string.h>

#include "place/layout.h"
#include "program/flowcursor.h"
#include "sim/discipline.h"
#include "sim/forward.h"
#include "sim/port.h"

enum { CHEAP = 4 }; /* so many buffers are made ready in the time of an instruction */

/* ---- start ---- */

static tw_moment *new_moments(int64_t n, int32_t *n_paths, tw_arena *arena)
{
    tw_moment *m = TW_NEW(arena, tw_moment, n + 1);
    for (int64_t i = 0; m && i < n; i++) m[i].path = (*n_paths)++;
    return m;
}

static tw_status init_pools(tw_async *s, tw_arena *arena)
{
    for (int b = 0; b < s->n_buffers; b++) s->pool[s->buffer[b].pool].slots++;
    for (int p = 0; p < s->n_pools; p++) TW_ALLOC(arena, s->pool[p].given_at, s->pool[p].slots + 1);
    return TW_OK;
}

/* Tables of what compute engines wait for; what is counted into is the caller's. */
static tw_status init_idle(tw_async *s, tw_arena *arena)
{
    TW_ALLOC(arena, s->first_data, tw_async_n_waits(s));
    TW_ALLOC(arena, s->first_credit, tw_async_n_waits(s));
    TW_ALLOC(arena, s->ran, s->n_engines);
    for (int e = 0; e < s->n_engines; e++)
        if (s->engine[e].kind == TW_COMPUTES) TW_ALLOC(arena, s->ran[e], s->engine[e].count);
    return TW_OK;
}

tw_status tw_async_init(tw_async *s, tw_arena *arena)
{
    int32_t n_paths = 1;
    TW_ALLOC(arena, s->unit_free, s->n_engines);
    TW_ALLOC(arena, s->price, s->n_engines);
    TW_ALLOC(arena, s->pool, s->n_pools);
    for (int e = 0; e < s->n_engines; e++) {
        s->unit_free[e] = new_moments(s->engine[e].count, &n_paths, arena);
        if (!s->unit_free[e]) return TW_ERR_NOMEM;
        for (int64_t u = 0; u < s->engine[e].count; u++) s->unit_free[e][u].at = tw_cdiv(s->launch, TW_MILLI);
        s->price[e] = (tw_priced){.work = -1};
    }
    s->there = new_moments(s->n_buffers, &n_paths, arena);
    s->unused = new_moments(s->n_buffers, &n_paths, arena);
    for (int b = 0; b < s->n_buffers && !s->behind; b++) {
        if (!s->buffer[b].circular) continue;
        s->behind = new_moments(s->n_pools, &n_paths, arena);
        s->came = new_moments(s->n_pools, &n_paths, arena);
        if (!s->behind || !s->came) return TW_ERR_NOMEM;
    }
    if (s->n_returned > 0) s->returned = new_moments(s->n_returned, &n_paths, arena);
    if (!s->there || !s->unused || (s->n_returned > 0 && !s->returned)) return TW_ERR_NOMEM;
    s->last.path = 0;
    if (tw_async_is_brief(s)) return TW_OK;
    TW_ALLOC(arena, s->path, (int64_t)n_paths * s->width);
    for (int e = 0; e < s->n_engines; e++)
        for (int64_t u = 0; u < s->engine[e].count; u++)
            tw_path_of(s, &s->unit_free[e][u])[e] = s->unit_free[e][u].at;
    TW_TRY(init_idle(s, arena));
    return init_pools(s, arena);
}

/* ---- moments ---- */

static void copy_path(const tw_async *s, int64_t *to, const int64_t *from)
{
    if (s->width == TW_PATH_NARROW)
        memcpy(to, from, TW_PATH_NARROW * sizeof *to);
    else
        memcpy(to, from, (size_t)s->width * sizeof *to);
}

/* The moment is `after` cycles after a start that the path `from` leads to, spent by the engine. */
static void set_moment(const tw_async *s, tw_moment *m, int64_t at, const int64_t *from, int engine, int64_t after)
{
    m->at = at;
    if (tw_async_is_brief(s)) return;
    int64_t *to = tw_path_of(s, m);
    copy_path(s, to, from);
    to[engine] += after;
}

static void delay_moment(const tw_async *s, tw_moment *m, int64_t at, const int64_t *from, int engine,
                         int64_t after)
{
    if (at > m->at) set_moment(s, m, at, from, engine, after);
}

/* ---- a command ---- */

typedef tw_async_command command;

static void wait_for(const tw_moment **latest, const tw_moment *m)
{
    if (!*latest || m->at > (*latest)->at) *latest = m;
}

/* Whether it brings new rows of a window into a circular buffer. */
static bool slides(const tw_async *s, const tw_instr *in)
{
    return in->takes && in->dst >= 0 && s->buffer[in->dst].circular;
}

/* Its rows come behind those of the window before, and where those of other windows lay when these have been given back. */
static void wait_for_rows(const tw_async *s, command *c, const tw_instr *in)
{
    int pool = s->buffer[in->dst].pool;
    wait_for(&c->credit, in->after == TW_AFTER_ALL ? &s->behind[pool] : &s->came[pool]);
    if (in->after >= 0) wait_for(&c->credit, &s->unused[in->after]);
}

static void collect_waits(const tw_async *s, command *c, const tw_instr *in)
{
    for (int k = 0; k < in->n_src; k++)
        if (in->src[k] >= 0) wait_for(&c->data, &s->there[in->src[k]]);
    if (in->drains)
        for (int64_t u = 0; u < s->engine[s->drained].count; u++) wait_for(&c->data, &s->unit_free[s->drained][u]);
    if (in->op == TW_LOAD && in->src[0] < 0 && (in->partial || in->crosses))
        wait_for(&c->data, &s->returned[in->tile]);
    if (in->dst < 0) return;
    if (in->takes && in->op == TW_EXEC && s->engine[in->engine].late && !s->buffer[in->dst].circular) {
        c->late = &s->unused[in->dst];
        return;
    }
    wait_for(in->takes ? &c->credit : &c->data, &s->unused[in->dst]);
    if (slides(s, in)) wait_for_rows(s, c, in);
    if (!in->takes) wait_for(&c->data, &s->there[in->dst]);
}

static tw_status price(tw_async *s, const tw_engine *engine, tw_priced *p, int64_t work)
{
    if (p->work == work) return TW_OK;
    *p = (tw_priced){work, tw_cost_cycles(&engine->cost, work), tw_engine_busy(engine, work)};
    if (p->cycles < INT64_MAX / 4) return TW_OK;
    return tw_diag_error(s->diag, engine->loc, "%" PRId64 " units of work on '%s' take more than 2^61 cycles", work,
                         engine->name);
}

/* What an engine may cost apart for an operator, in programs that have several. */
static int own_price(const tw_async *s, const tw_instr *in)
{
    return s->op_engine && in->op == TW_EXEC ? in->group * TW_MAX_GROUP_OPS + in->which : -1;
}

static const tw_engine *engine_of(const tw_async *s, const tw_instr *in)
{
    int own = own_price(s, in);
    return own >= 0 ? s->op_engine[own] : &s->engine[in->engine];
}

/* Whether a mover works on the engine's memory when the command starts. */
static bool is_contended(const tw_async *s, int64_t start, const tw_engine *engine)
{
    for (int e = 0; e < s->n_engines; e++) {
        const tw_engine *mover = &s->engine[e];
        if (mover->kind != TW_MOVES || mover->memory != engine->memory) continue;
        for (int64_t u = 0; u < mover->count; u++)
            if (s->unit_free[e][u].at > start) return true;
    }
    return false;
}

/* What it waits for, and until when; ports not looked at. */
static void look(tw_async *s, command *c)
{
    int e = c->event->instr.engine;
    bool by_shape = tw_cost_has_passes(&engine_of(s, &c->event->instr)->cost);
    c->unit = &s->unit_free[e][c->event->instr.unit];
    c->work = 0;
    for (int i = 0; i < c->n; i++) {
        collect_waits(s, c, &c->event[i].instr);
        int64_t work = by_shape ? c->event[i].instr.passes : c->event[i].instr.work;
        if (!tw_ckd_add(c->work, work, &c->work)) s->overflows = true;
    }
    c->start = c->unit->at;
    c->wait = c->start > 0 ? TW_WAIT_ENGINE : TW_WAIT_NONE;
    if (c->data && c->data->at > c->start) c->start = c->data->at, c->wait = TW_WAIT_DATA;
    if (c->credit && c->credit->at > c->start) c->start = c->credit->at, c->wait = TW_WAIT_CREDIT;
}

/* The ports at both ends of a transfer. */
static void pass_ports(tw_async *s, command *c)
{
    int64_t busy = c->busy_end - c->start, cost = c->end - c->start, start = c->start;
    c->start = tw_ports_pass(s->ports, &c->event->instr, start, &busy);
    if (c->start > start) c->wait = TW_WAIT_PORT;
    c->waited += c->start - start;
    c->busy_end = c->start + busy;
    c->end = c->start + tw_max(cost, busy);
}

static tw_status schedule(tw_async *s, command *c)
{
    const tw_instr *first = &c->event->instr;
    const tw_engine *engine = engine_of(s, first);
    int own = own_price(s, first);
    tw_priced *priced = own >= 0 ? &s->op_price[own] : &s->price[first->engine];
    look(s, c);
    c->waited = c->start - c->unit->at;
    if (first->op == TW_EXEC && first->contended != c->work && tw_cost_has_passes(&engine->cost) &&
        is_contended(s, c->start, engine)) {
        if (!tw_async_is_brief(s))
            c->contended = tw_engine_busy(engine, first->contended) - tw_engine_busy(engine, c->work);
        c->work = first->contended;
    }
    TW_TRY(price(s, engine, priced, c->work));
    c->end = c->start + priced->cycles;
    c->busy_end = c->own_end = c->start + priced->busy;
    int64_t stall =
        c->late ? tw_max(0, c->late->at - c->end) : 0; /* at its end, so long is its engine busy besides */
    c->end += stall;
    c->busy_end += stall;
    if (s->ports && first->op != TW_EXEC) pass_ports(s, c);
    if (c->end < INT64_MAX / 2) return TW_OK;
    return tw_diag_error(s->diag, s->loc, "the time of '%s' exceeds 2^62 cycles", s->name);
}

/* ---- what it changes ---- */

/* Credits that are out when one is taken: those that no instruction has given back so far, and those that were, but
 * later than this. */
static void count_taken(tw_async *s, int64_t start, const tw_buffer *b)
{
    tw_pool_watch *w = &s->pool[b->pool];
    tw_pool_use *use = &s->pool_use[b->pool];
    int64_t out = ++w->n_out;
    use->needed = tw_max(use->needed, out);
    for (int64_t i = 0, g = w->next; i < tw_min(w->n_given, w->slots); i++) {
        g = g == 0 ? w->slots - 1 : g - 1;
        if (w->given_at[g] <= start) break;
        out++;
    }
    use->peak = tw_max(use->peak, out);
}

static void count_credits(tw_async *s, const command *c, const tw_instr *in)
{
    if (tw_async_is_brief(s)) return;
    const tw_buffer *buffer = s->buffer;
    if (in->takes) count_taken(s, c->late ? c->end : c->start, &buffer[in->dst]);
    for (int i = 0; i < in->n_gives; i++) {
        const tw_buffer *b = &buffer[in->gives[i]];
        tw_pool_watch *w = &s->pool[b->pool];
        w->given_at[w->next] = c->busy_end;
        w->next = w->next + 1 == w->slots ? 0 : w->next + 1;
        w->n_out--;
        w->n_given++;
    }
}

/* Counts that leave 64 bits are remembered and reported at the end. */
static void add_to(tw_async *s, int64_t *sum, int64_t more)
{
    if (!tw_ckd_add(*sum, more, sum)) s->overflows = true;
}

static void count_transfer(tw_async *s, const tw_instr *in, tw_engine_use *use)
{
    tw_link_count *link = &s->link[in->link];
    bool load = in->op == TW_LOAD;
    *(load ? &use->loads : &use->stores) += 1;
    add_to(s, load ? &use->load_units : &use->store_units, in->work);
    link->transfers++;
    add_to(s, &link->units, in->work);
    if (load) {
        link->loads++;
        link->load_units += in->work; /* at most the units */
    } else if (in->partial) {
        link->partial_stores++;
    }
    if (in->partial) link->partial_units += in->work;
}

/* The buffer whose credit came last. */
static const tw_buffer *awaited(const tw_async *s, const command *c)
{
    for (int i = 0; i < c->n; i++) {
        const tw_instr *in = &c->event[i].instr;
        if (!in->takes || in->dst < 0) continue;
        const tw_buffer *b = &s->buffer[in->dst];
        bool rows = b->circular && (c->credit == &s->behind[b->pool] || c->credit == &s->came[b->pool] ||
                                    (in->after >= 0 && c->credit == &s->unused[in->after]));
        if (rows || c->credit == &s->unused[in->dst]) return b;
    }
    return NULL;
}

/* The pool of the buffer that a moment is about. */
static int pool_of(const tw_async *s, const tw_moment *m)
{
    bool there = m >= s->there && m < s->there + s->n_buffers;
    return s->buffer[m - (there ? s->there : s->unused)].pool;
}

/* What stood between the execution before this one and it, and what it loses by itself. */
static void count_idle(tw_async *s, const command *c)
{
    const tw_instr *in = &c->event->instr;
    int64_t row = s->one_computes ? 0 : in->engine, at = 0, late = c->busy_end - c->own_end;
    tw_idle *idle = &s->idle[row];
    bool *ran = &s->ran[in->engine][in->unit], waits = c->waited > 0 && c->wait != TW_WAIT_ENGINE;
    bool credit = c->wait == TW_WAIT_CREDIT;
    if (waits) {
        at = row * s->n_pools + (credit ? s->buffer[in->dst].pool : pool_of(s, c->data));
        add_to(s, credit ? &s->no_credit[at] : &s->no_data[at], c->waited);
    }
    if (!*ran) {
        if (waits) (credit ? s->first_credit : s->first_data)[at] += c->waited;
        if (waits && s->first_wait[row] < 0) s->first_wait[row] = (int)(at - row * s->n_pools);
        add_to(s, &idle->startup, c->start);
        *ran = true;
    }
    if (s->op_extra) add_to(s, &s->op_extra[own_price(s, in)], c->contended + late);
    if (c->contended > 0) add_to(s, &idle->contended, c->contended);
    if (late <= 0) return;
    add_to(s, &idle->late, late);
    add_to(s, &s->no_credit[row * s->n_pools + s->buffer[in->dst].pool], late);
}

/* Units that have executed stand idle until the end; waits before their first execution are no waits between executions. */
static void finish_idle(tw_async *s)
{
    for (int e = 0; e < s->n_engines; e++) {
        tw_idle *idle = &s->idle[s->one_computes ? 0 : e];
        for (int64_t u = 0; s->ran[e] && u < s->engine[e].count; u++)
            add_to(s, s->ran[e][u] ? &idle->tail : &idle->unused,
                   s->last.at - (s->ran[e][u] ? s->unit_free[e][u].at : 0));
    }
    for (int64_t i = 0; i < tw_async_n_waits(s); i++) {
        s->no_data[i] -= s->first_data[i];
        s->no_credit[i] -= s->first_credit[i];
    }
}

static void count(tw_async *s, const command *c)
{
    tw_engine_use *use = &s->use[c->event->instr.engine];
    tw_summary *sum = s->sum;
    add_to(s, &use->busy_cycles, c->busy_end - c->start);
    if (c->wait == TW_WAIT_DATA) add_to(s, &use->wait_data, c->waited);
    if (c->wait == TW_WAIT_PORT) add_to(s, &use->wait_port, c->waited);
    if (c->wait == TW_WAIT_CREDIT) {
        const tw_buffer *b = awaited(s, c);
        add_to(s, &use->wait_credit, c->waited);
        if (b) add_to(s, &s->pool_use[b->pool].wait_cycles, c->waited);
    }
    if (c->event->instr.op == TW_EXEC && !tw_async_is_brief(s)) count_idle(s, c);
    sum->instructions += c->n;
    for (int i = 0; i < c->n; i++) {
        count_credits(s, c, &c->event[i].instr);
        if (c->event[i].instr.op != TW_EXEC) {
            count_transfer(s, &c->event[i].instr, use);
            continue;
        }
        use->ops++;
        sum->execs++;
        sum->macs += c->event[i].instr.work;
    }
}

static void copy_moment(const tw_async *s, tw_moment *to, const tw_moment *from)
{
    if (to == from) return;
    to->at = from->at;
    if (!tw_async_is_brief(s)) copy_path(s, tw_path_of(s, to), tw_path_of(s, from));
}

/* Windows are given back in their order: what one frees is free when those before it are done, too. */
static void give_window(const tw_async *s, int buffer)
{
    tw_moment *behind = &s->behind[s->buffer[buffer].pool], *unused = &s->unused[buffer];
    if (unused->at > behind->at)
        copy_moment(s, behind, unused);
    else
        copy_moment(s, unused, behind);
}

static void apply_one(tw_async *s, const command *c, const tw_instr *in, const int64_t *from)
{
    int e = in->engine;
    int64_t busy = c->busy_end - c->start, cost = c->end - c->start;
    for (int k = 0; k < in->n_src; k++)
        if (in->src[k] >= 0) delay_moment(s, &s->unused[in->src[k]], c->busy_end, from, e, busy);
    for (int i = 0; i < in->n_gives; i++) {
        delay_moment(s, &s->unused[in->gives[i]], c->busy_end, from, e, busy);
        if (s->buffer[in->gives[i]].circular) give_window(s, in->gives[i]);
    }
    if (in->dst < 0) {
        if (!s->returned) return; /* nothing comes back that could be waited for */
        if (in->partial) set_moment(s, &s->returned[in->tile], c->end, from, e, cost);
        if (in->crosses) delay_moment(s, &s->returned[in->tile], c->end, from, e, cost);
        return;
    }
    if (in->takes) {
        const tw_moment *before = slides(s, in) && in->continues >= 0 ? &s->there[in->continues] : NULL;
        if (before && before->at > c->end)
            copy_moment(s, &s->there[in->dst], before); /* its last rows are there, the others not yet */
        else
            set_moment(s, &s->there[in->dst], c->end, from, e, cost);
        set_moment(s, &s->unused[in->dst], c->end, from, e, cost);
        if (slides(s, in)) set_moment(s, &s->came[s->buffer[in->dst].pool], c->start, from, e, 0);
    } else {
        delay_moment(s, &s->there[in->dst], c->end, from, e, cost);
    }
}

/* The unit that becomes free at `at`, as the one that held a port until then does; NULL: it has begun something else. */
static const tw_moment *freed_at(const tw_async *s, int64_t at)
{
    for (int e = 0; e < s->n_engines; e++)
        for (int64_t u = 0; u < s->engine[e].count; u++)
            if (s->unit_free[e][u].at == at) return &s->unit_free[e][u];
    return NULL;
}

/* The path to the start of a command: to the last moment that it waited for. Where a port was taken then, the path of who held it or,
 * where that is not known any more, its own wait. */
static void find_path(const tw_async *s, const command *c, int64_t *from)
{
    const tw_moment *held = c->wait == TW_WAIT_PORT ? freed_at(s, c->start) : NULL;
    if (held) {
        copy_path(s, from, tw_path_of(s, held));
        return;
    }
    const tw_moment *cause = c->unit;
    if (c->data && c->data->at > cause->at) cause = c->data;
    if (c->credit && c->credit->at > cause->at) cause = c->credit;
    copy_path(s, from, tw_path_of(s, cause));
    if (c->wait == TW_WAIT_PORT) from[c->event->instr.engine] += c->start - cause->at;
}

static void apply(tw_async *s, const command *c)
{
    int64_t from[TW_MAX_PLATFORM_ENGINES];
    int e = c->event->instr.engine;
    if (!tw_async_is_brief(s)) find_path(s, c, from);
    for (int i = 0; i < c->n; i++) apply_one(s, c, &c->event[i].instr, from);
    set_moment(s, &s->unit_free[e][c->event->instr.unit], c->busy_end, from, e, c->busy_end - c->start);
    delay_moment(s, &s->last, tw_max(c->end, c->busy_end), from, e, tw_max(c->end, c->busy_end) - c->start);
}

static tw_status show(tw_async *s, const command *c)
{
    tw_rowset row = {.command = true,
                     .memory = s->engine[c->event->instr.engine].memory,
                     .tick = s->n_commands,
                     .start_cycle = c->start,
                     .end_cycle = c->end,
                     .n_events = c->n,
                     .event = c->event};
    for (int i = 0; i < c->n; i++) {
        tw_event *e = &c->event[i];
        e->start_cycle = c->start;
        e->end_cycle = c->end;
        e->busy_end = c->busy_end;
        e->wait = c->wait;
        e->waited = c->waited;
    }
    if (s->sink->begin) TW_TRY(s->sink->begin(s->sink->user, &row));
    return s->sink->end ? s->sink->end(s->sink->user, &row) : TW_OK;
}

int64_t tw_async_ready(tw_async *s, tw_event *event, int n)
{
    command c = {.event = event, .n = n};
    look(s, &c);
    return c.start;
}

void tw_async_follow(tw_async *s, int from, int to)
{
    if (s->unused[from].at > s->unused[to].at) copy_moment(s, &s->unused[to], &s->unused[from]);
}

tw_status tw_async_command_run(tw_async *s, tw_event *event, int n)
{
    command c = {.event = event, .n = n};
    TW_TRY(schedule(s, &c));
    count(s, &c);
    if (s->sink) TW_TRY(show(s, &c));
    apply(s, &c);
    s->least_start = tw_min(s->least_start, c.start);
    s->n_commands++;
    return TW_OK;
}

tw_status tw_async_finish(tw_async *s)
{
    s->sum->cycles = s->last.at;
    if (!tw_async_is_brief(s)) finish_idle(s);
    if (s->overflows)
        return tw_diag_error(s->diag, s->loc, "the traffic or the work of '%s' exceeds 2^63", s->name);
    for (int e = 0; e < s->n_engines && !tw_async_is_brief(s); e++) {
        s->use[e].engine = s->engine[e].name;
        s->use[e].count = s->engine[e].count;
        s->use[e].critical_cycles = tw_path_of(s, &s->last)[e];
    }
    return TW_OK;
}

/* ---- the program of one operator ---- */

/* Whether a transfer's cost depends on where its tile lies: no two rounds are then alike. */
static bool by_place(const tw_machine *machine)
{
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_cost *cost = &machine->engine[e].cost;
        if (cost->kind == TW_COST_DESCRIPTOR && cost->descriptor.beats == TW_BEATS_LINES) return true;
    }
    return false;
}

static tw_status run(tw_async *s, const tw_program *program, tw_timeline *out, tw_arena *arena)
{
    tw_flow_cursor cursor;
    tw_event step[TW_FLOW_STEP_MAX];
    tw_forward *forward = NULL;
    if (!tw_meter_add(s->meter, s->n_buffers / CHEAP)) return TW_INFEASIBLE;
    TW_TRY(tw_flow_cursor_init(&cursor, program, arena));
    if (!s->sink && !cursor.prefetches && !by_place(program->machine))
        TW_TRY(tw_forward_new(s, &cursor, out, arena, &forward));
    cursor.brief = !s->sink;
    for (int n; (n = tw_flow_cursor_next(&cursor, step)) != 0;) {
        if (n < 0) return tw_flow_explain_deadlock(&cursor, s->diag);
        if (!tw_meter_add(s->meter, n)) return TW_INFEASIBLE;
        for (int i = 0, k; i < n; i = k) {
            for (k = i + 1; k < n && step[k].instr.together;) k++;
            TW_TRY(tw_async_command_run(s, &step[i], k - i));
        }
        if (forward && !tw_meter_add(s->meter, tw_forward_look(forward))) return TW_INFEASIBLE;
    }
    return TW_OK;
}

static void describe_pools(const tw_program *p, tw_timeline *out)
{
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            const tw_residency *residency = &p->flow->residency[m][o];
            if (!residency->here) continue;
            tw_pool_use *use = &out->pool[m][residency->pool];
            use->memory = p->machine->memory[m].name;
            use->n_operands++;
            if (residency->pool != o) continue;
            use->slots = p->layout.count[m][o];
            use->needed = tw_max(use->needed, 1); /* also where all tiles lie in padding */
            use->slot_units = p->layout.buffer[p->layout.first[m][o]].size;
            if (residency->slides) use->ahead_units = p->layout.ahead[m][o];
            out->peak_live[m] += tw_layout_units(&p->layout, m, o, use->peak);
        }
}

tw_status tw_async_run(const tw_program *program, const tw_sim_request *asked, tw_arena *scratch, tw_diag *diag,
                       tw_timeline *out)
{
    const tw_machine *machine = program->machine;
    const tw_residency *tensor = &program->flow->residency[0][tw_op_output(program->op)];
    int width = machine->n_engines <= TW_PATH_NARROW ? TW_PATH_NARROW : TW_MAX_ENGINES;
    tw_timeline result = {.first_wait = -1};
    tw_async s = {.engine = machine->engine,
                  .n_engines = machine->n_engines,
                  .width = asked->brief ? 0 : width,
                  .buffer = program->layout.buffer,
                  .n_buffers = program->layout.n_buffers,
                  .n_pools = TW_MAX_MEMORIES * TW_MAX_OPERANDS,
                  .drained = machine->compute,
                  .launch = machine->launch,
                  .name = program->op->name,
                  .loc = program->op->loc,
                  .sink = asked->sink,
                  .meter = asked->meter,
                  .diag = diag,
                  .sum = &result.sum,
                  .use = result.engine,
                  .link = &result.link[0][0],
                  .pool_use = &result.pool[0][0],
                  .idle = &result.idle,
                  .one_computes = true,
                  .no_data = &result.no_data[0][0],
                  .no_credit = &result.no_credit[0][0],
                  .first_wait = &result.first_wait,
                  .n_returned = tensor->returns ? tensor->n_tiles : 0};
    TW_TRY(tw_async_init(&s, scratch));
    TW_TRY(run(&s, program, &result, scratch));
    TW_TRY(tw_async_finish(&s));
    if (!asked->brief) describe_pools(program, &result);
    result.brief = asked->brief;
    result.has_waits = !asked->brief;
    *out = result;
    return TW_OK;
}
