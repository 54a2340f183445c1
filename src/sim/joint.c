/* src/sim/joint.c - the clock of programs of groups: merges their streams, and lets engines and ports run them. */
#include "sim/joint.h"

#include "core/deadline.h"
#include "sim/async.h"
#include "sim/fanout.h"
#include "sim/port.h"

#include <string.h>

typedef struct stream { /* of one group */
    tw_nest_cursor *cursor;
    tw_event *event; /* of the step at hand */
    int n, next;
    bool over;
    int64_t ready; /* of one that is awake: not before then it can start */
} stream;

typedef struct runner {
    const tw_joint *joint;
    tw_async clock;
    stream *stream;
    tw_joint_timeline *out;
    __int128 energy_fj;
    bool brief;
    int n_awake, *awake; /* groups that wait for nobody, a heap: on top the one that is ready first */
    int *waiting;        /* at each gate, a root tensor or a buffer: 1 + the group that came last, 0: none */
    int *next_waiting;   /* per group: the same of the one that came there before it                   */
    int *open;           /* per root tensor: groups that make some of it and have commands left        */
    bool any_resident;
    int *readers;    /* per root of a resident tensor: groups that are not done with it                      */
    int32_t *left;   /* per buffer: times that it is still given back; NULL: none share addresses  */
    int32_t *before; /* per buffer: those that it follows and that are not given back for good     */
} runner;

/* ---- streams ---- */

/* The program of the group cannot go on, which is no fault of the mapping's. */
static tw_status is_wrong(const runner *r, int g, const char *why)
{
    const tw_group_map *map = r->joint->nest[g].map;
    (void)tw_diag_error(r->clock.diag, map->loc, "the program that was made of group '%s' cannot go on: %s",
                        map->name, why);
    return TW_WRONG;
}

static tw_status explain(const runner *r, int g, int why)
{
    if (why == -1) return TW_ERR_NOMEM;
    const tw_group_map *map = r->joint->nest[g].map;
    if (why == -4) return is_wrong(r, g, "a tensor has no buffer to take or to give back");
    if (why == -3)
        return tw_diag_infeasible(r->clock.diag, map->loc,
                                  "a window of group '%s' cannot slide: what is new is not read in the same step",
                                  map->name);
    return tw_diag_infeasible(r->clock.diag, map->loc, "more than %d buffers of group '%s' are given back at once",
                              TW_MAX_GIVES, map->name);
}

/* Whether the buffer belongs to another group: it holds a resident tensor. */
static bool is_elsewhere(const runner *r, const tw_instr *in, int32_t buffer)
{
    return buffer >= 0 && r->joint->buffer[buffer].group != in->group;
}

static int resident_root(const runner *r, int32_t buffer)
{
    return r->joint->model->tensor[r->joint->buffer[buffer].operand].root;
}

/* What the next command of the group waits for until others have come: the tensor or the buffer of a gate (`waiting`); -1: nothing. Who loads
 * or reads what other groups make waits until these have no commands left, who takes a buffer for the first time waits for the last use
 * of those whose addresses it has. */
static int gate_of(const runner *r, int g)
{
    const stream *s = &r->stream[g];
    const tw_instr *in = &s->event[s->next].instr;
    if (in->op == TW_LOAD && in->crosses && r->open[in->tile] > 0) return (int)in->tile;
    for (int i = 0; i < in->n_src && r->any_resident; i++)
        if (is_elsewhere(r, in, in->src[i]) && r->open[resident_root(r, in->src[i])] > 0)
            return resident_root(r, in->src[i]);
    return r->before && in->takes && r->before[in->dst] > 0 ? r->joint->model->n_tensors + in->dst : -1;
}

/* In the words for a wait that never ends. */
static const char *held_up_by(const runner *r, int g)
{
    const stream *s = &r->stream[g];
    int gate = gate_of(r, g);
    if (gate >= r->joint->model->n_tensors) return "a buffer waits for addresses that nobody gives back";
    bool loads = s->event[s->next].instr.op == TW_LOAD && s->event[s->next].instr.crosses;
    return loads ? "a load waits for a tensor that never is complete"
                 : "a command waits for a resident tensor that never is complete";
}

/* ---- which group is next ---- */

static bool is_sooner(const runner *r, int a, int b)
{
    int64_t x = r->stream[a].ready, y = r->stream[b].ready;
    return x != y ? x < y : a < b;
}

static void sink(runner *r, int at)
{
    int g = r->awake[at];
    for (int child; (child = 2 * at + 1) < r->n_awake; at = child) {
        if (child + 1 < r->n_awake && is_sooner(r, r->awake[child + 1], r->awake[child])) child++;
        if (!is_sooner(r, r->awake[child], g)) break;
        r->awake[at] = r->awake[child];
    }
    r->awake[at] = g;
}

static void rise(runner *r, int at)
{
    int g = r->awake[at];
    for (; at > 0 && is_sooner(r, g, r->awake[(at - 1) / 2]); at = (at - 1) / 2)
        r->awake[at] = r->awake[(at - 1) / 2];
    r->awake[at] = g;
}

static void look(runner *r, int g)
{
    stream *s = &r->stream[g];
    s->ready = tw_async_ready(&r->clock, &s->event[s->next], 1);
}

/* The group is awake, or waits at a gate. */
static void settle(runner *r, int g)
{
    if (r->stream[g].over) return;
    int gate = gate_of(r, g);
    if (gate >= 0) {
        r->next_waiting[g] = r->waiting[gate];
        r->waiting[gate] = g + 1;
        return;
    }
    look(r, g);
    r->awake[r->n_awake] = g;
    rise(r, r->n_awake++);
}

/* Whoever waits there may go on, or waits for something else. */
static void open_gate(runner *r, int gate)
{
    int g = r->waiting[gate] - 1;
    r->waiting[gate] = 0;
    for (int next; g >= 0; g = next) {
        next = r->next_waiting[g] - 1;
        settle(r, g);
    }
}

/* The group whose next command can start first, which is not among those awake any more; -1: all are over. A time that was found before may
 * only have become later, so that the least one is looked at again until it stays the least. */
static int choose(runner *r)
{
    if (r->n_awake == 0) return -1;
    while (r->n_awake > 1) {
        int64_t before = r->stream[r->awake[0]].ready;
        look(r, r->awake[0]);
        if (r->stream[r->awake[0]].ready == before) break;
        sink(r, 0);
    }
    int first = r->awake[0];
    r->awake[0] = r->awake[--r->n_awake];
    if (r->n_awake > 0) sink(r, 0);
    return first;
}

/* ---- what is over ---- */

static void count_tensor(runner *r, int root, int n)
{
    r->open[root] += n;
    if (r->open[root] == 0) open_gate(r, root);
}

/* What the group makes for others, or loads for them, is open as long as it has commands. */
static void count_open(runner *r, int g, int n)
{
    const tw_nest *nest = &r->joint->nest[g];
    const tw_tensor *tensor = r->joint->model->tensor;
    int output = tw_joint_output(r->joint, g);
    count_tensor(r, tensor[output].root, n);
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        bool leaves = hold->drain >= 0 && hold->tensor != output;
        if (leaves || (hold->resident && hold->from == TW_FROM_TENSOR))
            count_tensor(r, tensor[hold->tensor].root, n);
    }
}

static tw_status refill(runner *r, int g)
{
    stream *s = &r->stream[g];
    if (s->over || s->next < s->n) return TW_OK;
    s->next = 0;
    s->n = tw_nest_cursor_next(s->cursor, &s->event);
    if (s->n < 0) return explain(r, g, s->n);
    s->over = s->n == 0;
    if (s->over) count_open(r, g, -1);
    return TW_OK;
}

/* Each group that reads a resident tensor is done with it once; the last one gives it back. */
static void share_gives(runner *r, tw_instr *in)
{
    int n = 0;
    for (int i = 0; i < in->n_gives; i++) {
        int32_t b = in->gives[i];
        bool kept = is_elsewhere(r, in, b) && --r->readers[resident_root(r, b)] > 0;
        if (!kept) in->gives[n++] = b;
        if (kept && r->left) r->left[b]--;
    }
    in->n_gives = (int16_t)n;
}

/* What is given back for good frees those that follow it. */
static void free_heirs(runner *r, const tw_instr *in)
{
    const tw_heirs *h = &r->joint->heirs;
    for (int i = 0; i < in->n_gives && r->left; i++) {
        int32_t b = in->gives[i];
        if (--r->left[b] > 0) continue;
        for (int32_t k = h->first[b]; k < h->first[b + 1]; k++) {
            tw_async_follow(&r->clock, b, h->heir[k]);
            if (--r->before[h->heir[k]] == 0) open_gate(r, r->joint->model->n_tensors + h->heir[k]);
        }
    }
}

/* ---- what a command adds ---- */

/* Femtojoules of passing units through a memory's port, or into the memory itself. */
static __int128 energy_at(const tw_platform *platform, int memory, int port, bool reads, int64_t units)
{
    int64_t each = platform->memory[memory].is.energy_fj;
    if (port < 0) return (__int128)each * units;
    const tw_port *p = &platform->port[port];
    int64_t own = reads ? p->read_fj : p->write_fj;
    return (__int128)(own >= 0 ? own : each) * tw_cdiv(units, p->word) * p->word;
}

static __int128 energy_of(const tw_platform *platform, const tw_instr *in)
{
    const tw_platform_engine *engine = &platform->engine[in->engine];
    if (in->op == TW_EXEC) return (__int128)engine->is.energy_fj * in->work;
    bool out = in->op == TW_STORE;
    int source = out ? engine->is.memory : engine->is.outer, target = out ? engine->is.outer : engine->is.memory;
    __int128 sum = energy_at(platform, target, engine->writes[out], false, in->writes);
    return in->heard ? sum : sum + energy_at(platform, source, engine->reads[out], true, in->reads);
}

double tw_joint_energy(const tw_platform *platform, const tw_instr *in) { return (double)energy_of(platform, in); }

/* Units of one command that are read from or written to memory 0. */
static int64_t outermost_of(const tw_platform *platform, const tw_instr *in)
{
    const tw_platform_engine *engine = &platform->engine[in->engine];
    bool out = in->op == TW_STORE;
    if (in->op == TW_EXEC || engine->is.outer != 0 || in->heard) return 0;
    int port = out ? engine->writes[1] : engine->reads[0];
    int64_t units = out ? in->writes : in->reads, word = port >= 0 ? platform->port[port].word : 1;
    return tw_cdiv(units, word) * word;
}

/* What a group has fits if the sum does, which is checked in the end. */
static void add_energy(runner *r, const tw_instr *in)
{
    r->out->outermost_units = tw_sat_add(r->out->outermost_units, outermost_of(r->joint->platform, in));
    __int128 fj = energy_of(r->joint->platform, in);
    r->energy_fj += fj;
    if (r->out->group_fj && r->energy_fj <= INT64_MAX) r->out->group_fj[in->group] += (int64_t)fj;
}

static void add_span(runner *r, const tw_event *event)
{
    tw_joint_span *span = &r->out->op[event->instr.group][event->instr.which];
    if (event->instr.op != TW_EXEC) return;
    if (span->execs == 0 || event->start_cycle < span->start_cycle) span->start_cycle = event->start_cycle;
    span->end_cycle = tw_max(span->end_cycle, event->end_cycle);
    span->execs++;
    span->macs += event->instr.work;
    if (event->instr.rescales) span->rescaled += event->instr.work;
    span->busy += event->busy_end - event->start_cycle;
    if (event->instr.work > span->most_points) {
        span->most_points = event->instr.work;
        span->most = event->instr.box;
        span->n_most = 0;
    }
    span->n_most += event->instr.work == span->most_points;
}

/* ---- the whole ---- */

/* How long buffers of each hold are held, from the first to the last. */
static void add_life(runner *r, const tw_event *event)
{
    const tw_instr *in = &event->instr;
    const tw_buffer *buffer = r->joint->buffer;
    if (in->takes) {
        bool late = in->op == TW_EXEC && r->clock.engine[in->engine].late && !buffer[in->dst].circular;
        tw_span *life = &r->out->life[buffer[in->dst].pool];
        life->lo = tw_min(life->lo, late ? event->end_cycle : event->start_cycle);
    }
    for (int i = 0; i < in->n_gives; i++) {
        tw_span *life = &r->out->life[buffer[in->gives[i]].pool];
        life->hi = tw_max(life->hi, event->busy_end);
    }
}

static tw_status see(void *user, const tw_rowset *row)
{
    add_span(user, row->event);
    add_life(user, row->event);
    return TW_OK;
}

/* The engine that runs each operator, with the cost that it has for it, in the platform's numbers. */
static tw_status find_engines(runner *r, tw_arena *scratch)
{
    const tw_engine **engine;
    int n = r->joint->n_nests * TW_MAX_GROUP_OPS;
    TW_ALLOC(scratch, engine, n);
    TW_ALLOC(scratch, r->clock.op_price, n);
    for (int i = 0; i < n; i++) r->clock.op_price[i].work = -1;
    for (int g = 0; g < r->joint->n_nests; g++)
        for (int k = 0; k < r->joint->nest[g].n_ops; k++) {
            const tw_nest_op *op = &r->joint->nest[g].op[k];
            tw_engine *own;
            TW_ALLOC(scratch, own, 1);
            *own = r->clock.engine[op->engine];
            own->cost = op->machine->engine[op->machine->compute].cost;
            engine[g * TW_MAX_GROUP_OPS + k] = own;
        }
    r->clock.op_engine = engine;
    return TW_OK;
}

static tw_status init_heirs(runner *r, tw_arena *scratch)
{
    const tw_heirs *h = &r->joint->heirs;
    size_t n = (size_t)r->joint->n_buffers;
    if (!r->joint->any_shares) return TW_OK;
    TW_ALLOC(scratch, r->left, r->joint->n_buffers + 1);
    TW_ALLOC(scratch, r->before, r->joint->n_buffers + 1);
    memcpy(r->left, h->n_gives, n * sizeof *r->left);
    memcpy(r->before, h->n_before, n * sizeof *r->before);
    return TW_OK;
}

static tw_status init_residents(runner *r, tw_arena *scratch)
{
    TW_ALLOC(scratch, r->readers, r->joint->model->n_tensors);
    for (int i = 0; i < r->joint->n_holds; i++) {
        const tw_nest_hold *s = r->joint->hold[i];
        if (s->from != TW_FROM_GROUP) continue;
        r->readers[r->joint->model->tensor[s->tensor].root]++;
        r->any_resident = true;
    }
    return TW_OK;
}

/* What is told of a run beyond its sums. */
static tw_status init_waits(runner *r, tw_arena *arena)
{
    int n_engines = r->joint->platform->n_engines, n_holds = r->joint->n_holds;
    TW_ALLOC(arena, r->out->op, r->joint->n_nests);
    TW_ALLOC(arena, r->out->idle, n_engines);
    TW_ALLOC(arena, r->out->op_extra, (int64_t)r->joint->n_nests * TW_MAX_GROUP_OPS);
    TW_ALLOC(arena, r->out->group_fj, r->joint->n_nests + 1);
    TW_ALLOC(arena, r->out->first_wait, n_engines);
    TW_ALLOC(arena, r->out->no_data, (int64_t)n_engines * n_holds);
    TW_ALLOC(arena, r->out->no_credit, (int64_t)n_engines * n_holds);
    TW_ALLOC(arena, r->out->life, n_holds);
    for (int e = 0; e < n_engines; e++) r->out->first_wait[e] = -1;
    for (int i = 0; i < n_holds; i++) r->out->life[i].lo = INT64_MAX;
    r->clock.idle = r->out->idle;
    r->clock.op_extra = r->out->op_extra;
    r->clock.no_data = r->out->no_data;
    r->clock.no_credit = r->out->no_credit;
    r->clock.first_wait = r->out->first_wait;
    r->clock.width = (int)tw_max(TW_PATH_NARROW, n_engines);
    return TW_OK;
}

static tw_status init_streams(runner *r, tw_arena *scratch)
{
    TW_ALLOC(scratch, r->open, r->joint->model->n_tensors);
    TW_ALLOC(scratch, r->waiting, (int64_t)r->joint->model->n_tensors + r->joint->n_buffers);
    TW_ALLOC(scratch, r->next_waiting, r->joint->n_nests);
    for (int g = 0; g < r->joint->n_nests; g++) count_open(r, g, 1);
    TW_ALLOC(scratch, r->stream, r->joint->n_nests);
    TW_ALLOC(scratch, r->awake, r->joint->n_nests);
    for (int g = 0; g < r->joint->n_nests; g++)
        if (!(r->stream[g].cursor = tw_nest_cursor_new(r->joint, g, scratch))) return TW_ERR_NOMEM;
    return TW_OK;
}

static tw_status init(runner *r, const tw_work *work)
{
    const tw_platform *platform = r->joint->platform;
    tw_engine *engine;
    TW_ALLOC(work->scratch, engine, platform->n_engines);
    for (int e = 0; e < platform->n_engines; e++) {
        engine[e] = platform->engine[e].is;
        engine[e].name = platform->engine[e].name;
    }
    TW_ALLOC(work->arena, r->out->engine, platform->n_engines);
    TW_ALLOC(work->arena, r->out->link, r->joint->n_holds);
    TW_ALLOC(work->arena, r->out->pool, r->joint->n_holds);
    TW_ALLOC(work->arena, r->out->port_busy, platform->n_ports);
    TW_ALLOC(work->arena, r->out->port_passed, platform->n_ports);
    TW_ALLOC(work->arena, r->out->port_units, platform->n_ports);
    r->clock.use = r->out->engine;
    r->clock.link = r->out->link;
    r->clock.pool_use = r->out->pool;
    r->clock.engine = engine;
    r->clock.n_engines = platform->n_engines;
    if (!r->brief) TW_TRY(init_waits(r, work->arena));
    if (platform->n_ports > 0 && !(r->clock.ports = tw_ports_new(platform, r->joint->model, work->scratch)))
        return TW_ERR_NOMEM;
    TW_TRY(init_streams(r, work->scratch));
    TW_TRY(find_engines(r, work->scratch));
    TW_TRY(init_heirs(r, work->scratch));
    TW_TRY(init_residents(r, work->scratch));
    return tw_async_init(&r->clock, work->scratch);
}

static bool is_over(void *user) { return tw_deadline_is_over(((const tw_diag *)user)->deadline); }

static tw_status run_streams(runner *r)
{
    for (int g = 0; g < r->joint->n_nests; g++) TW_TRY(refill(r, g));
    for (int g = 0; g < r->joint->n_nests; g++) settle(r, g);
    for (int g; (g = choose(r)) >= 0;) {
        stream *s = &r->stream[g];
        tw_event *event = &s->event[s->next++];
        if (!tw_meter_add(r->clock.meter, 1)) return TW_STOPPED;
        if (r->any_resident) share_gives(r, &event->instr);
        TW_TRY(tw_async_command_run(&r->clock, event, 1));
        add_energy(r, &event->instr);
        free_heirs(r, &event->instr);
        TW_TRY(refill(r, g));
        settle(r, g);
    }
    for (int g = 0; g < r->joint->n_nests; g++)
        if (!r->stream[g].over)
            return is_wrong(r, g, held_up_by(r, g)); /* later groups wait for earlier ones alone */
    return TW_OK;
}

static tw_status finish(runner *r)
{
    TW_TRY(tw_async_finish(&r->clock));
    for (int p = 0; p < r->joint->platform->n_ports; p++) {
        r->out->port_busy[p] = tw_ports_busy(r->clock.ports, p);
        r->out->port_passed[p] = tw_ports_passed(r->clock.ports, p);
        r->out->port_units[p] = tw_ports_units(r->clock.ports, p);
    }
    for (int i = 0; i < r->joint->n_holds; i++) {
        const tw_nest_hold *s = r->joint->hold[i];
        tw_pool_use *use = &r->out->pool[i];
        use->memory = r->joint->platform->memory[s->memory].name;
        use->slots = s->slots;
        use->slot_units = s->size;
        if (s->slides) use->ahead_units = s->ahead;
    }
    if (r->energy_fj > INT64_MAX)
        return tw_diag_error(r->clock.diag, r->clock.loc, "the energy of '%s' exceeds 2^63 fJ", r->clock.name);
    r->out->sum.energy_fj = (int64_t)r->energy_fj;
    return TW_OK;
}

static tw_status run(runner *r, const tw_work *work)
{
    TW_TRY(init(r, work));
    tw_status status = run_streams(r);
    if (status == TW_STOPPED && r->clock.meter->done > r->clock.meter->limit) return TW_INFEASIBLE;
    if (status == TW_STOPPED)
        return tw_diag_stopped(work->diag, r->clock.loc, "the simulation of '%s'", r->clock.name);
    if (status != TW_OK && status != TW_WRONG) return status;
    tw_status end = finish(r);
    return end == TW_OK ? status : end;
}

static tw_async clock_of(const tw_joint *joint, const tw_row_sink *sink, tw_meter *meter, tw_diag *diag)
{
    return (tw_async){.buffer = joint->buffer,
                      .n_buffers = joint->n_buffers,
                      .n_pools = joint->n_holds,
                      .launch = joint->platform->view[0].machine.launch,
                      .name = joint->model->name,
                      .loc = joint->nest[0].map->loc,
                      .sink = sink,
                      .meter = meter,
                      .diag = diag,
                      .n_returned = joint->model->n_tensors};
}

tw_status tw_joint_run(const tw_joint *joint, const tw_row_sink *sink, const tw_work *work, tw_joint_timeline *out)
{
    tw_joint_timeline result = {0};
    runner r = {.joint = joint, .out = &result};
    tw_meter meter = {.limit = INT64_MAX, .stopped = is_over, .user = work->diag};
    tw_row_fanout fanout = {0};
    tw_row_fanout_add(&fanout, (tw_row_sink){see, NULL, &r});
    if (sink) tw_row_fanout_add(&fanout, *sink);
    tw_row_sink all = tw_row_fanout_sink(&fanout);
    r.clock = clock_of(joint, &all, &meter, work->diag);
    r.clock.sum = &result.sum;
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = run(&r, work);
    tw_arena_rewind(work->scratch, mark);
    if (status == TW_OK || status == TW_WRONG) *out = result;
    return status;
}

tw_status tw_joint_measure(const tw_joint *joint, tw_meter *meter, const tw_work *work, tw_summary *out)
{
    tw_joint_timeline result = {0};
    runner r = {.joint = joint, .out = &result, .brief = true};
    tw_meter own = {.limit = INT64_MAX, .stopped = is_over, .user = work->diag};
    r.clock = clock_of(joint, NULL, meter ? meter : &own, work->diag);
    r.clock.sum = &result.sum;
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = run(&r, &(tw_work){work->scratch, work->scratch, work->diag});
    tw_arena_rewind(work->scratch, mark);
    if (status == TW_OK) *out = result.sum;
    return status;
}
