/* src/fuse/exact.c - a walk over all mappings of the space, from the first run to the last, that leaves out what bounds rule out; see exact.h.
 *
 * Every way of every run is simulated alone first: what it executes and moves is the same beside others, whatever it waits for. */
#include "fuse/exact.h"

#include "core/deadline.h"
#include "fuse/ways.h"
#include "sim/joint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 8, MOST_WAYS = 6000, MOST_NESTED_WAYS = 12000, MOST_ENGINES = 24 };
/* Mappings on one core: more are a problem for estimates; of tiles of two levels, for those ways of each run that are the best alone. */
static const double most_on_one_core = 40000;
enum { BEST_ALONE = 12 };
static const int64_t most_commands = 3000000, of_a_group = 20; /* building one is work, too */

typedef struct uses {           /* what commands take of what each has once, whatever waits for what */
    int64_t busy[MOST_ENGINES]; /* cycles of engines of one unit; of others nothing */
    double energy_fj;
} uses;

typedef struct facts { /* of a way */
    bool fits;         /* by itself */
    int64_t alone;     /* cycles                                                                      */
    int64_t path[2]
                [2]; /* cycles of the longest path through it: [where its input stays][with stores to memory 0]   */
    uses always, loads, stores; /* in any case; for what operators make, from memory 0; to memory 0 */
    int64_t in, out;            /* units over memory 0's ports: loads of what the run before made, stores       */
    int64_t out_chained;        /* stores of what depends on that                                               */
    int64_t own;                /* loads of what nobody else reads and no operator makes                         */
} facts;

typedef struct run { /* from operator i on, so many */
    int n;
    const tw_way *way;
    facts *facts;
    int *order; /* the fastest first */
} run;

typedef struct choice {
    const tw_way *way;
    int first, n_ops;
    bool resident;
} choice;

/* What the beginning of a mapping takes at least. */
typedef struct least {
    int64_t end;    /* of its last run, whatever comes before it */
    int64_t cycles; /* of all                                   */
    int64_t units;  /* over memory 0's ports                     */
    uses uses;
} least;

typedef struct exact {
    const tw_fuse_request *asked;
    const tw_platform *platform;
    tw_platform roomy; /* with memories in which everything fits */
    const tw_model *model;
    const tw_span *readers;
    bool *made;                /* per tensor: an operator makes it                */
    bool linked[MOST_OPS + 1]; /* the operator reads what the one before it makes */
    run run[MOST_OPS][MOST_OPS + 1];
    int64_t rest[MOST_OPS +
                 1]; /* cycles of the runs from operator i on that wait for each other, up to one that does not  */
    int64_t far[MOST_OPS +
                1]; /* cycles, from the beginning, until those behind such a one have ended                     */
    int64_t rest_units
        [MOST_OPS +
         1]; /* of all runs from operator i on                                                            */
    uses rest_uses[MOST_OPS + 1]; /* the same */
    int64_t rate;                 /* of memory 0's ports; 0: there is no limit */
    bool broadcasts;
    int n_chosen;
    choice chosen[MOST_OPS];
    double price; /* of the best so far */
    int64_t left; /* commands */
    bool over;
    bool nests; /* one core, and more than one memory on chip */
    tw_exact *out;
    tw_arena *arena, *scratch, *bench;
    tw_diag *diag;
} exact;

static double price_of(const exact *x, double cycles, double energy_fj)
{
    return x->asked->by.price(x->asked->by.user, cycles, energy_fj);
}

/* Whether nothing that takes so much is better. Where cycles are what counts, energy does not decide between equals. */
static bool is_no_better(const exact *x, int64_t cycles, double energy_fj)
{
    bool by_cycles = price_of(x, 1, 0) == 1 && price_of(x, 0, 1) < 1e-6;
    if (by_cycles && x->out->best.cycles > 0) return cycles >= x->out->best.cycles;
    return price_of(x, (double)cycles, by_cycles ? 0 : energy_fj) + (by_cycles ? 1e-3 : 0) >= x->price;
}

/* ---- each way alone ---- */

/* The longest path through the commands of a way: where what it reads of other operators is there already, or not, and what it makes stays, or not. It begins with what the
 * run before makes or, if the run does not read that, with anything. */
typedef struct paths {
    bool in, out;   /* loads of what operators make, stores to memory 0: there are such */
    int64_t *there; /* per buffer: when it is, -1: no path leads there */
    int64_t *free;  /* per engine: when it is                          */
    int64_t most;
} paths;

typedef struct watcher {
    const tw_joint *joint;
    int before; /* tensor that the run before makes, -1: it reads none of it */
    const tw_span *readers;
    const bool *made; /* per tensor: by an operator */
    paths path[2][2];
    int64_t *in, *own; /* per group  */
    int64_t out, out_chained;
    uses always, loads, stores;
} watcher;

static const tw_op *op_of(const watcher *w, const tw_instr *in)
{
    return w->joint->nest[in->group].op[in->which].op;
}

/* Without what it waits for while it runs. */
static int64_t busy_of(const watcher *w, const tw_instr *in)
{
    const tw_machine *view = w->joint->nest[in->group].op[in->which].machine;
    tw_engine engine = w->joint->platform->engine[in->engine].is;
    engine.cost = view->engine[view->compute].cost;
    return tw_engine_busy(&engine, tw_cost_has_passes(&engine.cost) ? in->passes : in->work);
}

static void see_transfer(watcher *w, const tw_instr *in, bool needs)
{
    const tw_platform_engine *engine = &w->joint->platform->engine[in->engine];
    int tensor = op_of(w, in)->operand[in->operand].tensor;
    if (engine->is.outer != 0) return;
    if (in->op == TW_STORE) {
        w->out += in->work;
        w->out_chained += needs ? in->work : 0;
    } else if (tensor == w->before)
        w->in[in->group] += in->work;
    else if (tw_span_len(w->readers[tensor]) == 1)
        w->own[in->group] += in->work;
}

/* Cycles that the command takes at least, whoever it hears. */
static int64_t length_of(const watcher *w, const tw_event *event)
{
    const tw_instr *in = &event->instr;
    if (in->op == TW_EXEC) return busy_of(w, in);
    if (in->heard) return tw_engine_busy(&w->joint->platform->engine[in->engine].is, in->work);
    return event->end_cycle - event->start_cycle;
}

/* What the command takes in any case, or unless a tensor stays. */
static void see_uses(watcher *w, const tw_event *event)
{
    const tw_instr *in = &event->instr;
    const tw_platform_engine *engine = &w->joint->platform->engine[in->engine];
    bool far = in->op != TW_EXEC && engine->is.outer == 0;
    bool made = in->op == TW_LOAD && w->made[op_of(w, in)->operand[in->operand].tensor];
    uses *u = !far ? &w->always : in->op == TW_STORE ? &w->stores : made ? &w->loads : &w->always;
    int64_t busy = in->op == TW_EXEC ? busy_of(w, in) : in->heard ? 0 : event->busy_end - event->start_cycle;
    if (engine->is.count <= 1 && in->engine < MOST_ENGINES) u->busy[in->engine] += busy;
    if (!in->heard) u->energy_fj += tw_joint_energy(w->joint->platform, in);
}

/* Whether the command is on a path; if so, it is followed. */
static bool follow(const watcher *w, const tw_event *event, paths *p)
{
    const tw_instr *in = &event->instr;
    const tw_platform_engine *engine = &w->joint->platform->engine[in->engine];
    int tensor = in->op == TW_LOAD ? op_of(w, in)->operand[in->operand].tensor : -1;
    int64_t start = w->before < 0 ? 0 : -1, length = length_of(w, event);
    bool comes = tensor >= 0 && w->made[tensor], begins = comes && tensor == w->before;
    if (!p->in && comes) length = 0;
    if (!p->out && in->op == TW_STORE && engine->is.outer == 0) length = 0;
    if (begins) start = 0;
    for (int s = 0; s < in->n_src; s++)
        if (in->src[s] >= 0) start = tw_max(start, p->there[in->src[s]]);
    if (start >= 0 && length > 0 && engine->is.count <= 1) start = tw_max(start, p->free[in->engine]);
    if (in->dst >= 0)
        p->there[in->dst] = in->takes ? (start < 0 ? -1 : start + length)
                                      : tw_max(p->there[in->dst], start < 0 ? -1 : start + length);
    if (start < 0) return false;
    if (length > 0) p->free[in->engine] = start + tw_min(length, event->busy_end - event->start_cycle);
    if (in->op == TW_EXEC || p->out) p->most = tw_max(p->most, start + length);
    return true;
}

/* A tw_row_sink. */
static tw_status see(void *user, const tw_rowset *row)
{
    watcher *w = user;
    for (int i = 0; i < row->n_events; i++) {
        bool needs = follow(w, &row->event[i], &w->path[1][1]);
        for (int k = 0; k < 3; k++) (void)follow(w, &row->event[i], &w->path[k >> 1][k & 1]);
        see_uses(w, &row->event[i]);
        if (row->event[i].instr.op != TW_EXEC) see_transfer(w, &row->event[i].instr, needs);
    }
    return TW_OK;
}

static tw_status open_watcher(const exact *x, const tw_joint *joint, int first, watcher *w)
{
    *w = (watcher){.joint = joint, .before = -1, .readers = x->readers, .made = x->made};
    if (x->linked[first]) w->before = tw_op_makes(&x->model->op[first - 1]);
    for (int v = 0; v < 4; v++) {
        paths *p = &w->path[v >> 1][v & 1];
        *p = (paths){.in = v >> 1, .out = v & 1};
        TW_ALLOC(x->bench, p->there, joint->n_buffers);
        TW_ALLOC(x->bench, p->free, x->platform->n_engines);
        for (int i = 0; i < joint->n_buffers; i++) p->there[i] = -1;
    }
    TW_ALLOC(x->bench, w->in, joint->n_nests);
    TW_ALLOC(x->bench, w->own, joint->n_nests);
    return TW_OK;
}

/* Of parts that may load the same, where that passes once, the one with the most. */
static int64_t of_parts(const exact *x, const int64_t *units, int n)
{
    int64_t sum = 0, most = 0;
    for (int i = 0; i < n; i++) sum += units[i], most = tw_max(most, units[i]);
    return x->broadcasts ? most : sum;
}

/* The platform with so much memory that everything fits: what has no room by itself may have it where its input stays, and
 * runs the same commands then. */
static tw_status make_room(exact *x)
{
    tw_platform_memory *memory;
    TW_ALLOC(x->arena, memory, x->platform->n_memories);
    memcpy(memory, x->platform->memory, (size_t)x->platform->n_memories * sizeof *memory);
    for (int m = 1; m < x->platform->n_memories; m++) memory[m].is.size = INT64_MAX / 4;
    x->roomy = *x->platform;
    x->roomy.memory = memory;
    return TW_OK;
}

static tw_status run_alone(exact *x, const tw_way *way, int first, facts *out)
{
    tw_diag quiet = tw_diag_quiet(x->diag);
    const tw_work work = {x->bench, x->scratch, &quiet};
    const tw_mapping mapping = {.n_groups = way->n, .group = way->group};
    const tw_joint *joint;
    tw_joint_timeline timeline;
    watcher w;
    tw_status status = tw_joint_build(x->model, x->platform, &mapping, &work, &joint);
    bool fits = status == TW_OK;
    if (status == TW_INFEASIBLE) status = tw_joint_build(x->model, &x->roomy, &mapping, &work, &joint);
    x->left -= of_a_group * way->n;
    if (status != TW_OK) return status;
    TW_TRY(open_watcher(x, joint, first, &w));
    const tw_row_sink sink = {see, NULL, &w};
    TW_TRY(tw_joint_run(joint, &sink, &work, &timeline));
    x->left -= timeline.sum.instructions;
    *out = (facts){.fits = fits,
                   .alone = timeline.sum.cycles,
                   .in = of_parts(x, w.in, way->n),
                   .own = of_parts(x, w.own, way->n),
                   .out = w.out,
                   .out_chained = w.out_chained,
                   .always = w.always,
                   .loads = w.loads,
                   .stores = w.stores};
    for (int v = 0; v < 4; v++) out->path[!(v >> 1)][v & 1] = w.path[v >> 1][v & 1].most;
    return TW_OK;
}

typedef struct ranked {
    bool fits;
    int64_t alone;
    int way;
} ranked;

/* By cycles; those that do not fit alone last; of equals the first. */
static int by_cycles(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->fits != y->fits) return x->fits ? -1 : 1;
    if (x->alone != y->alone) return x->alone < y->alone ? -1 : 1;
    return x->way - y->way;
}

static tw_status sort_ways(const exact *x, run *r)
{
    tw_arena_mark mark = tw_arena_save(x->bench);
    ranked *all;
    TW_ALLOC(x->bench, all, r->n + 1);
    for (int i = 0; i < r->n; i++) all[i] = (ranked){r->facts[i].fits, r->facts[i].alone, i};
    qsort(all, (size_t)r->n, sizeof *all, by_cycles);
    for (int i = 0; i < r->n; i++) r->order[i] = all[i].way;
    tw_arena_rewind(x->bench, mark);
    return TW_OK;
}

static tw_status measure_ways(exact *x, int first, run *r)
{
    TW_ALLOC(x->arena, r->facts, r->n);
    TW_ALLOC(x->arena, r->order, r->n);
    for (int i = 0; i < r->n; i++) {
        tw_arena_mark mark = tw_arena_save(x->bench);
        tw_status status = run_alone(x, &r->way[i], first, &r->facts[i]);
        tw_arena_rewind(x->bench, mark);
        if (status != TW_OK && status != TW_INFEASIBLE && status != TW_ERR_INPUT) return status;
        if (tw_deadline_is_over(x->diag->deadline) || x->left <= 0) return TW_STOPPED;
    }
    return sort_ways(x, r);
}

/* What a way takes alone. */
static double price_alone(const exact *x, const facts *f)
{
    return f->fits ? price_of(x, (double)f->alone, f->always.energy_fj + f->loads.energy_fj + f->stores.energy_fj)
                   : INFINITY;
}

/* Leaves those ways of a run that are the best alone. */
static tw_status shorten(exact *x, run *r)
{
    tw_way *way;
    facts *f;
    int best[BEST_ALONE], n = 0;
    for (int i = 0; i < r->n; i++) {
        double price = price_alone(x, &r->facts[i]);
        if (n == BEST_ALONE && price >= price_alone(x, &r->facts[best[n - 1]])) continue;
        int at = n < BEST_ALONE ? n++ : n - 1;
        for (; at > 0 && price_alone(x, &r->facts[best[at - 1]]) > price; at--) best[at] = best[at - 1];
        best[at] = i;
    }
    TW_ALLOC(x->arena, way, BEST_ALONE);
    TW_ALLOC(x->arena, f, BEST_ALONE);
    for (int i = 0; i < n; i++) {
        way[i] = r->way[best[i]];
        f[i] = r->facts[best[i]];
    }
    r->n = n;
    r->way = way;
    r->facts = f;
    return sort_ways(x, r);
}

/* ---- what is left at least ---- */

static int64_t over_ports(const exact *x, int64_t units) { return x->rate > 0 ? tw_cdiv(units, x->rate) : 0; }

/* Cycles from the end of the run before, if it waits for it, to when what it makes can be read; `in` and `out`: that comes from memory 0, this goes there. */
static int64_t run_least(const exact *x, int first, const facts *f, bool in, bool out)
{
    int64_t units = (in ? f->in : 0) + (out ? x->linked[first] ? f->out_chained : f->out : 0);
    return tw_max(f->path[x->linked[first] && in ? 0 : 1][out], over_ports(x, units));
}

static bool is_output(const exact *x, int op)
{
    return x->readers[tw_op_makes(&x->model->op[op])].hi > x->model->n_ops;
}

static void add_uses(uses *sum, const uses *more)
{
    for (int e = 0; e < MOST_ENGINES; e++) sum->busy[e] += more->busy[e];
    sum->energy_fj += more->energy_fj;
}

/* The least of each. */
static void lower_uses(uses *to, const uses *other)
{
    for (int e = 0; e < MOST_ENGINES; e++) to->busy[e] = tw_min(to->busy[e], other->busy[e]);
    to->energy_fj = fmin(to->energy_fj, other->energy_fj);
}

static int64_t most_busy(const uses *a, const uses *b)
{
    int64_t most = 0;
    for (int e = 0; e < MOST_ENGINES; e++) most = tw_max(most, a->busy[e] + b->busy[e]);
    return most;
}

/* What [i, i + k) and all behind it take at least, if it is run in this way. */
static void add_rest(exact *x, int i, int k, const facts *f)
{
    int n = x->model->n_ops, next = i + k;
    bool linked = x->linked[next], out = is_output(x, next - 1);
    int64_t own = run_least(x, i, f, false, next == n);
    if (x->rest[next] == INT64_MAX) return;
    x->rest[i] = tw_min(x->rest[i], own + (linked ? x->rest[next] : 0));
    x->far[i] = tw_min(x->far[i], linked ? x->far[next] : tw_max(x->rest[next], x->far[next]));
    x->rest_units[i] = tw_min(x->rest_units[i], f->own + (out ? f->out : 0) + x->rest_units[next]);
    uses all = f->always;
    add_uses(&all, &x->rest_uses[next]);
    if (next == n) add_uses(&all, &f->stores);
    lower_uses(&x->rest_uses[i], &all);
}

static void find_rest(exact *x)
{
    int n = x->model->n_ops;
    for (int i = n - 1; i >= 0; i--) {
        x->rest[i] = x->far[i] = x->rest_units[i] = INT64_MAX;
        for (int e = 0; e < MOST_ENGINES; e++) x->rest_uses[i].busy[e] = INT64_MAX / 2;
        x->rest_uses[i].energy_fj = INFINITY;
        for (int k = 1; k <= n - i; k++)
            for (int w = 0; w < x->run[i][k].n; w++) add_rest(x, i, k, &x->run[i][k].facts[w]);
    }
}

/* ---- the walk ---- */

static tw_status write_mapping(const exact *x, tw_arena *arena, tw_mapping *out)
{
    tw_group_map *group;
    tw_group_resident *resident;
    int n = 0;
    for (int i = 0; i < x->n_chosen; i++) n += x->chosen[i].way->n;
    TW_ALLOC(arena, group, n);
    TW_ALLOC(arena, resident, x->n_chosen);
    *out = (tw_mapping){.n_groups = n, .group = group, .resident = resident};
    n = 0;
    for (int i = 0; i < x->n_chosen; i++) {
        const choice *c = &x->chosen[i];
        for (int k = 0; k < c->way->n; k++) group[n++] = c->way->group[k];
        if (c->resident)
            resident[out->n_residents++] = (tw_group_resident){
                .tensor = tw_op_makes(&x->model->op[c->first + c->n_ops - 1]), .memory = c->way->home};
    }
    return TW_OK;
}

static tw_status keep(exact *x, const tw_summary *sum)
{
    double price = price_of(x, (double)sum->cycles, (double)sum->energy_fj);
    if (price >= x->price) return TW_OK;
    x->price = price;
    x->out->best.cycles = sum->cycles;
    x->out->best.energy_fj = sum->energy_fj;
    x->out->best.model = x->model;
    return write_mapping(x, x->arena, &x->out->best.mapping);
}

static tw_status try_chosen(exact *x)
{
    tw_diag quiet = tw_diag_quiet(x->diag);
    const tw_work work = {x->bench, x->scratch, &quiet};
    tw_arena_mark mark = tw_arena_save(x->bench);
    tw_meter meter = {.limit = tw_max(1, x->left)};
    tw_mapping mapping;
    const tw_joint *joint = NULL;
    tw_summary sum;
    x->out->n_tried++;
    tw_status status = write_mapping(x, x->bench, &mapping);
    if (status == TW_OK) status = tw_mapping_check(&mapping, x->model, x->asked->machine, &quiet);
    if (status == TW_OK) status = tw_joint_build(x->model, x->platform, &mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, &meter, &work, &sum);
    x->left -= meter.done + of_a_group * mapping.n_groups;
    x->over = x->left <= 0 || tw_deadline_is_over(x->diag->deadline);
    tw_arena_rewind(x->bench, mark);
    if (status == TW_OK) return keep(x, &sum);
    return status == TW_INFEASIBLE || status == TW_ERR_INPUT ? TW_OK : status;
}

static tw_status walk(exact *x, int first, least so_far);

/* Whether some run before stays in a memory for one of operators [first, last). */
static bool reads_resident(const exact *x, int first, int last)
{
    for (int i = 0; i < x->n_chosen; i++) {
        const choice *c = &x->chosen[i];
        if (!c->resident) continue;
        int tensor = tw_op_makes(&x->model->op[c->first + c->n_ops - 1]);
        for (int k = first; k < last; k++)
            if (tw_op_reads_bytes(x->model, &x->model->op[k], tensor)) return true;
    }
    return false;
}

/* The way behind those that are chosen, and all that follows it. */
static tw_status take_way(exact *x, int first, int n_ops, const tw_way *way, const facts *f, bool resident,
                          const least *so_far)
{
    int next = first + n_ops;
    bool in = !(x->n_chosen > 0 && x->chosen[x->n_chosen - 1].resident);
    bool out = !resident || is_output(x, next - 1);
    least now = *so_far;
    bool reads = reads_resident(x, first, next);
    if (!f->fits && !resident && !reads) return TW_OK; /* nor beside others */
    now.end = (x->linked[first] ? so_far->end : 0) + run_least(x, first, f, in, !resident);
    now.units += f->own + (in ? f->in : 0) + (out ? f->out : 0);
    now.cycles = tw_max(now.cycles, x->linked[next] ? now.end + x->rest[next] : tw_max(now.end, x->rest[next]));
    now.cycles = tw_max(now.cycles, x->far[next]);
    now.cycles = tw_max(now.cycles, over_ports(x, now.units + x->rest_units[next]));
    add_uses(&now.uses, &f->always);
    if (!reads) add_uses(&now.uses, &f->loads);
    if (!resident) add_uses(&now.uses, &f->stores);
    now.cycles = tw_max(now.cycles, most_busy(&now.uses, &x->rest_uses[next]));
    if (is_no_better(x, now.cycles, now.uses.energy_fj + x->rest_uses[next].energy_fj)) return TW_OK;
    x->chosen[x->n_chosen++] = (choice){way, first, n_ops, resident};
    tw_status status = walk(x, next, now);
    x->n_chosen--;
    return status;
}

static tw_status walk(exact *x, int first, least so_far)
{
    if (first == x->model->n_ops) return try_chosen(x);
    for (int k = x->model->n_ops - first; k >= 1; k--) {
        const run *r = &x->run[first][k];
        bool is_last = first + k == x->model->n_ops;
        for (int i = 0; i < r->n && x->rest[first + k] < INT64_MAX && !x->over; i++) {
            int w = r->order[i];
            TW_TRY(take_way(x, first, k, &r->way[w], &r->facts[w], false, &so_far));
            if (r->way[w].home > 0 && !is_last && !x->over)
                TW_TRY(take_way(x, first, k, &r->way[w], &r->facts[w], true, &so_far));
        }
    }
    return TW_OK;
}

/* ---- the space ---- */

static tw_status list_runs(exact *x, bool *few)
{
    int n = x->model->n_ops, total = 0, most = x->nests ? MOST_NESTED_WAYS : MOST_WAYS;
    for (int i = 0; i < n; i++)
        for (int k = 1; k <= n - i; k++) {
            const tw_segment segment = {x->model, i, k};
            tw_ways ways = {0};
            if (!tw_segment_is_closed(&segment, x->readers)) continue;
            TW_TRY(tw_ways_list(&segment, x->asked->machine, most - total, x->arena, &ways));
            if (ways.n > most - total) return TW_OK;
            total += ways.n;
            x->run[i][k].n = ways.n;
            x->run[i][k].way = ways.way;
        }
    *few = true;
    return TW_OK;
}

static double count_mappings(const exact *x)
{
    int n = x->model->n_ops;
    double count[MOST_OPS + 1] = {0};
    count[n] = 1;
    for (int i = n - 1; i >= 0; i--)
        for (int k = 1; k <= n - i; k++)
            for (int w = 0; w < x->run[i][k].n; w++)
                count[i] += count[i + k] * (x->run[i][k].way[w].home > 0 && i + k < n ? 2 : 1);
    return count[0];
}

/* Units a cycle into and out of memory 0; 0: something passes no port there, or one without a limit. */
static int64_t rate_of(const tw_platform *p, bool *broadcasts)
{
    int64_t rate = 0;
    for (int e = 0; e < p->n_engines; e++) {
        const tw_platform_engine *engine = &p->engine[e];
        for (int way = 0; way < 2 && engine->is.kind == TW_MOVES && engine->is.outer == 0; way++) {
            int port = way == 0 ? engine->reads[0] : engine->writes[1];
            bool used = engine->is.carries & (way == 0 ? TW_INWARDS : TW_OUTWARDS);
            if (used && (port < 0 || p->port[port].memory != 0 || p->port[port].per_cycle == 0)) return 0;
        }
    }
    for (int i = 0; i < p->n_ports; i++) {
        rate += p->port[i].memory == 0 ? p->port[i].per_cycle * p->port[i].ways : 0;
        *broadcasts |= p->port[i].broadcasts;
    }
    return rate;
}

static tw_status find_links(exact *x)
{
    TW_ALLOC(x->arena, x->made, x->model->n_tensors);
    for (int i = 0; i < x->model->n_ops; i++) x->made[tw_op_makes(&x->model->op[i])] = true;
    for (int i = 1; i < x->model->n_ops; i++)
        x->linked[i] = tw_op_reads_bytes(x->model, &x->model->op[i], tw_op_makes(&x->model->op[i - 1]));
    return TW_OK;
}

static tw_status search(exact *x)
{
    bool few = false;
    TW_TRY(tw_readers_of(x->model, x->arena, &x->readers));
    TW_TRY(find_links(x));
    x->rate = rate_of(x->platform, &x->broadcasts);
    TW_TRY(make_room(x));
    TW_TRY(list_runs(x, &few));
    if (!few) return TW_OK;
    x->out->n_mappings = count_mappings(x);
    bool all = x->platform->n_cores > 1 || x->out->n_mappings <= most_on_one_core;
    if (!all && !x->nests) return TW_OK;
    for (int i = 0; i < x->model->n_ops; i++)
        for (int k = 1; k <= x->model->n_ops - i; k++) {
            TW_TRY(measure_ways(x, i, &x->run[i][k]));
            if (!all) TW_TRY(shorten(x, &x->run[i][k]));
        }
    find_rest(x);
    TW_TRY(walk(x, 0, (least){0}));
    x->out->complete = all && !x->over;
    return TW_OK;
}

tw_status tw_exact_find(const tw_fuse_request *asked, double known, const tw_work *work, tw_exact *out)
{
    exact *x;
    *out = (tw_exact){0};
    if (asked->model->n_ops > MOST_OPS || !tw_ways_suit(asked->machine)) return TW_OK;
    TW_ALLOC(work->arena, x, 1);
    *x = (exact){.asked = asked,
                 .platform = asked->machine->platform,
                 .model = asked->model,
                 .price = known,
                 .left = asked->is_attempt ? most_commands / 30 : most_commands,
                 .nests = asked->machine->platform->n_cores < 2 && asked->machine->platform->n_memories > 2,
                 .out = out,
                 .arena = work->arena,
                 .scratch = work->scratch,
                 .diag = work->diag};
    if (!(x->bench = tw_arena_new())) return TW_ERR_NOMEM;
    tw_status status = search(x);
    tw_arena_free(x->bench);
    out->best.n_simulated = (int)tw_min(out->n_tried, INT32_MAX);
    return status == TW_STOPPED ? TW_OK : status;
}
