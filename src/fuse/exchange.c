/* src/fuse/exchange.c - runs of operators on the same cores with tensors in parts: lists them, writes the model and the mapping of each, simulates it; see exchange.h. */
#include "fuse/exchange.h"

#include "core/deadline.h"
#include "fuse/hunt.h"
#include "fuse/renumber.h"
#include "model/divided.h"

#include <string.h>

/* Longest run; most runs at a time; most operators of a model. */
enum { LONGEST = 8, MOST_RUNS = 32, MOST_OPS = 256, MOST_CORES = TW_MAX_SUMS };
static const int64_t most_commands = 2000000;

/* Operators [first, last], split over cores along an axis of what they make. */
typedef struct run {
    int first, last, axis;
    int n, core[MOST_CORES];
} run;

/* How the groups of a run are tiled: with the whole memory, with what the parts leave of it, with half of it; for speed or with few commands. */
typedef enum room { ALL_ROOM, LEFT_ROOM, HALF_ROOM, N_ROOMS } room;

/* How parts are tiled in so much room: attempts have models of their own, but their operators are alike. */
typedef struct known_tiles {
    int64_t less; /* units that the parts leave less */
    tw_tiled *tiled[TW_TILED_BUCKETS];
    tw_candidates *candidates;
} known_tiles;

typedef struct exchange {
    const tw_fuse_request *asked;
    const tw_mapping *base;
    tw_core_machine *core;
    const tw_span *readers;
    int64_t *alone; /* cycles of operator i on core c: alone[i * cores + c], -1: not known yet, 0: it cannot */
    int n_runs;
    run run[MOST_RUNS];
    tw_cores_hunt first; /* on the model as it is given */
    tw_alike *alike;     /* of the models of all attempts  */
    known_tiles *known;  /* for each kind of room          */
    tw_cores_found found, other;
    tw_exchanged *out;
    const tw_work *work;
    tw_arena *bench;
} exchange;

/* A model with runs, and a search on it. */
typedef struct attempt {
    exchange *e;
    const tw_model *model;
    tw_fuse_request asked;
    tw_cores_hunt hunt;
    room room;
    bool coarse;
    int n_groups, n_residents;
    tw_group_map *group;
    tw_group_resident *resident;
    bool fails;
} attempt;

static int n_cores(const exchange *e) { return e->asked->machine->platform->n_cores; }
static const tw_op *op_of(const exchange *e, int i) { return &e->asked->model->op[i]; }

/* ---- which runs there are ---- */

/* Whether some link leads from core to core. */
static bool has_links(const tw_platform *p)
{
    for (int i = 0; i < p->n_engines; i++) {
        const tw_engine *is = &p->engine[i].is;
        if (is->kind != TW_MOVES) continue;
        int a = p->memory[is->memory].core, b = p->memory[is->outer].core;
        if (a >= 0 && b >= 0 && a != b) return true;
    }
    return false;
}

/* The parallel loop of the operator along the axis of its output. */
static int loop_at(const tw_op *op, int axis) { return op->operand[tw_op_output(op)].axis[axis].term[0].loop; }

static int64_t extent_at(const tw_op *op, int axis) { return op->loop[loop_at(op, axis)].extent; }

/* Whether the tensor is made and read between the first and the last operator, and nobody sees it otherwise. */
static bool is_inside(const exchange *e, int tensor, const run *r)
{
    const tw_model *model = e->asked->model;
    if (model->tensor[tensor].is_output || e->readers[tensor].hi > r->last + 1) return false;
    for (int t = 0; t < model->n_tensors; t++)
        if (t != tensor && model->tensor[t].root == model->tensor[tensor].root) return false;
    return true;
}

static bool can_be_run(const exchange *e, const run *r)
{
    int n_axes = op_of(e, r->last)->operand[tw_op_output(op_of(e, r->last))].n_axes;
    for (int i = r->first; i <= r->last; i++) {
        const tw_op *op = op_of(e, i);
        if (op->operand[tw_op_output(op)].n_axes != n_axes || r->axis >= n_axes) return false;
        if (extent_at(op, r->axis) < r->n) return false;
        if (i == r->last) continue;
        if (!tw_op_can_be_divided(op, loop_at(op, r->axis)) || !is_inside(e, tw_op_makes(op), r)) return false;
    }
    return true;
}

/* Whether groups of the given mapping begin with the run and end with it. */
static bool is_between_groups(const exchange *e, const run *r)
{
    for (int g = 0; g < e->base->n_groups; g++) {
        const tw_group_map *group = &e->base->group[g];
        bool any = false, all = true;
        for (int i = 0; i < group->n_ops; i++) {
            bool in = group->op[i].op >= r->first && group->op[i].op <= r->last;
            any |= in;
            all &= in;
        }
        if (any && !all) return false;
    }
    return true;
}

static bool is_free(const exchange *e, const run *r)
{
    for (int i = 0; i < e->n_runs; i++)
        if (r->first <= e->run[i].last && e->run[i].first <= r->last) return false;
    return true;
}

/* What the operator takes alone on a core. */
static tw_status cycles_on(exchange *e, int op, int core, int64_t *out)
{
    int64_t *known = &e->alone[op * n_cores(e) + core];
    int kind = e->core[core].kind;
    if (kind < core) return cycles_on(e, op, kind, out);
    if (*known < 0) {
        const tw_hunt_split whole = {.segment = {e->asked->model, op, 1}};
        tw_hunt_part p = {.core = core};
        if (e->core[core].machine.platform->n_views > 0) TW_TRY(tw_part_tile(&e->first, &whole, &p));
        *known = p.cycles;
    }
    *out = *known;
    return TW_OK;
}

/* The cores that can run all of it, in their order. */
static tw_status list_cores(exchange *e, run *r)
{
    r->n = 0;
    for (int c = 0; c < n_cores(e) && r->n < MOST_CORES; c++) {
        int64_t cycles = 1;
        for (int i = r->first; i <= r->last && cycles > 0; i++) TW_TRY(cycles_on(e, i, c, &cycles));
        if (cycles > 0) r->core[r->n++] = c;
    }
    return TW_OK;
}

/* Points of an operator's loop that each core has: in proportion to its speed, one at least. */
static tw_status share(exchange *e, const run *r, int op, tw_span span[MOST_CORES])
{
    int64_t extent = extent_at(op_of(e, op), r->axis), at = 0;
    double sum = 0, before = 0, weight[MOST_CORES];
    for (int c = 0; c < r->n; c++) {
        int64_t cycles;
        TW_TRY(cycles_on(e, op, r->core[c], &cycles));
        sum += weight[c] = 1 / (double)cycles;
    }
    for (int c = 0; c < r->n; c++) {
        before += weight[c];
        int64_t end = c == r->n - 1 ? extent : (int64_t)((double)extent * before / sum + 0.5);
        end = tw_clamp(end, at + 1, extent - (r->n - 1 - c));
        span[c] = (tw_span){at, end};
        at = end;
    }
    return TW_OK;
}

/* ---- the model ---- */

static tw_status divide(exchange *e, const tw_model **out)
{
    tw_divided_op *which;
    int n = 0;
    tw_diag quiet = tw_diag_quiet(e->work->diag);
    TW_ALLOC(e->work->arena, which, e->asked->model->n_ops);
    for (int k = 0; k < e->n_runs; k++) {
        const run *r = &e->run[k];
        for (int i = r->first; i < r->last; i++) {
            tw_span span[MOST_CORES];
            const tw_op *op = op_of(e, i);
            TW_TRY(share(e, r, i, span));
            which[n] = (tw_divided_op){.op = op->name, .loop = op->loop[loop_at(op, r->axis)].name, .n = r->n};
            for (int c = 0; c < r->n; c++) which[n].share[c] = tw_span_len(span[c]);
            n++;
        }
    }
    return tw_model_divide(e->asked->model, n, which, op_of(e, 0)->loc, e->work->arena, &quiet, out);
}

/* ---- the mapping ---- */

/* The outermost memory of its core where the operator writes. */
static int home_of(const tw_platform *platform, const tw_op *op, int view)
{
    const tw_platform_view *v = &platform->view[view];
    tw_path path = tw_machine_path(&v->machine, op, tw_op_output(op));
    for (int m = 1; m < v->machine.n_memories; m++)
        if (path >> m & 1) return v->memory[m];
    return 0;
}

/* Adds the group of a part, which may be an operator of its own (no loops). */
static tw_status add_group(attempt *a, const tw_hunt_split *s, tw_hunt_part *p)
{
    tw_group_map *group = &a->group[a->n_groups];
    TW_TRY(tw_part_tile(&a->hunt, s, p));
    a->fails |= p->cycles == 0;
    if (a->fails) return TW_OK;
    if (a->coarse) p->group = p->coarse;
    TW_TRY(tw_part_place(&a->hunt, s, p, group));
    a->n_groups++;
    return TW_OK;
}

/* The parts of an operator that is divided, each in a group of its own; what it makes stays. */
static tw_status add_divided(attempt *a, const run *r, int op)
{
    const tw_op *was = op_of(a->e, op);
    for (int c = 0; c < r->n && !a->fails; c++) {
        int at = tw_renumber_part(was, c, a->model);
        const tw_hunt_split whole = {.segment = {a->model, at, 1}};
        tw_hunt_part p = {.core = r->core[c]};
        TW_TRY(add_group(a, &whole, &p));
        if (a->fails) return TW_OK;
        const tw_group_map *group = &a->group[a->n_groups - 1];
        int memory = home_of(a->hunt.platform, &a->model->op[at], group->op[0].view);
        a->resident[a->n_residents++] =
            (tw_group_resident){.tensor = tw_op_makes(&a->model->op[at]), .memory = memory};
    }
    return TW_OK;
}

/* The last operator of a run, which is split. */
static tw_status add_last(attempt *a, const run *r)
{
    int at = tw_renumber_op(op_of(a->e, r->last), a->model);
    tw_span span[MOST_CORES];
    const tw_hunt_split s = {
        .segment = {a->model, at, 1}, .n_loops = 1, .loop = {loop_at(&a->model->op[at], r->axis)}, .n = r->n};
    TW_TRY(share(a->e, r, r->last, span));
    for (int c = 0; c < r->n && !a->fails; c++) {
        tw_hunt_part p = {.core = r->core[c], .span = {span[c]}};
        TW_TRY(add_group(a, &s, &p));
    }
    return TW_OK;
}

/* A group of the given mapping, whose operators have other numbers now. */
static tw_status add_given(attempt *a, const tw_group_map *given)
{
    tw_group_map *group = &a->group[a->n_groups++];
    *group = *given;
    return tw_renumber_group(a->e->asked->model, a->model, a->hunt.arena, group);
}

static const run *run_of(const exchange *e, int op)
{
    for (int k = 0; k < e->n_runs; k++)
        if (op >= e->run[k].first && op <= e->run[k].last) return &e->run[k];
    return NULL;
}

static tw_status add_groups(attempt *a)
{
    const exchange *e = a->e;
    const run *done = NULL;
    for (int g = 0; g < e->base->n_groups && !a->fails; g++) {
        const run *r = run_of(e, e->base->group[g].op[0].op);
        if (!r) TW_TRY(add_given(a, &e->base->group[g]));
        if (!r || r == done) continue;
        for (int i = r->first; i < r->last && !a->fails; i++) TW_TRY(add_divided(a, r, i));
        if (!a->fails) TW_TRY(add_last(a, r));
        done = r;
    }
    for (int i = 0; i < e->base->n_residents; i++) { /* what is made in a run does not stay whole */
        int maker = -1, tensor = e->base->resident[i].tensor;
        for (int k = 0; k < e->asked->model->n_ops; k++)
            if (tw_op_makes(op_of(e, k)) == tensor) maker = k;
        if (maker < 0 || run_of(e, maker)) continue;
        tw_group_resident *is = &a->resident[a->n_residents++];
        *is = e->base->resident[i];
        a->fails |= !tw_renumber_resident(e->asked->model, a->model, is);
    }
    return TW_OK;
}

/* Units of the parts on a core that are there at once, at most. */
static int64_t parts_at_once(const exchange *e, const run *r)
{
    int64_t most = 0;
    for (int i = r->first; i <= r->last; i++) {
        int64_t sum = 0;
        for (int k = r->first; k <= i && k < r->last; k++) {
            int tensor = tw_op_makes(op_of(e, k));
            if (e->readers[tensor].hi > i) sum += e->asked->model->tensor[tensor].bytes / r->n;
        }
        most = tw_max(most, sum);
    }
    return most;
}

/* Machines of the cores with as much memory as tiles are to have, and what is known of parts on them. */
static tw_status make_room(attempt *a, tw_core_machine **out)
{
    const exchange *e = a->e;
    known_tiles *known = &e->known[a->room];
    int64_t less = 0;
    *out = e->core;
    for (int k = 0; k < e->n_runs && a->room == LEFT_ROOM; k++) less = tw_max(less, parts_at_once(e, &e->run[k]));
    if (known->less != less || !known->candidates) {
        tw_candidates_free(known->candidates);
        *known = (known_tiles){.less = less};
        TW_TRY(tw_candidates_new(&known->candidates));
    }
    memcpy(a->hunt.tiled, known->tiled, sizeof known->tiled);
    a->hunt.candidates = known->candidates;
    if (a->room == ALL_ROOM) return TW_OK;
    TW_ALLOC(a->hunt.arena, *out, n_cores(e) + 1);
    memcpy(*out, e->core, (size_t)(n_cores(e) + 1) * sizeof **out);
    for (int c = 0; c < n_cores(e); c++)
        TW_TRY(tw_core_reduce(&e->core[c], a->room == HALF_ROOM ? -1 : less, a->hunt.arena, &(*out)[c].machine));
    return TW_OK;
}

/* Writes the mapping of the runs, and keeps it if it is the best so far. */
static tw_status try_mapping(attempt *a, bool *better)
{
    exchange *e = a->e;
    tw_hunt_figures m;
    bool can;
    a->n_groups = a->n_residents = 0;
    a->fails = false;
    TW_TRY(make_room(a, &a->hunt.core));
    TW_TRY(add_groups(a));
    memcpy(e->known[a->room].tiled, a->hunt.tiled, sizeof a->hunt.tiled);
    if (a->fails) return TW_OK;
    const tw_mapping mapping = {
        .n_groups = a->n_groups, .group = a->group, .n_residents = a->n_residents, .resident = a->resident};
    TW_TRY(tw_hunt_try(&a->hunt, &mapping, &m, &can));
    const tw_hunt_figures was = {e->out->cycles, e->out->energy_fj, 0};
    if (!can || tw_hunt_price(&a->hunt, &m) >= tw_hunt_price(&a->hunt, &was)) return TW_OK;
    *better = true;
    e->out->model = a->model;
    e->out->mapping = mapping;
    e->out->cycles = m.cycles;
    e->out->energy_fj = m.energy_fj;
    return TW_OK;
}

/* All runs so far, the last of which is new. */
static tw_status try_runs(exchange *e, bool *better)
{
    attempt a = {.e = e, .asked = *e->asked};
    int most = e->base->n_groups;
    *better = false;
    tw_status status = divide(e, &a.model);
    if (status != TW_OK) return status == TW_ERR_INPUT ? TW_OK : status;
    a.asked.model = a.model;
    TW_TRY(tw_alike_open(e->alike, a.model));
    a.hunt = e->first;
    a.hunt.asked = &a.asked;
    a.hunt.alike = e->alike;
    a.hunt.best = &e->other.best;
    a.hunt.out = &e->other;
    for (int k = 0; k < e->n_runs; k++) most += (e->run[k].last - e->run[k].first + 1) * e->run[k].n;
    for (int way = 0; way < 2 * N_ROOMS && !tw_deadline_is_over(e->work->diag->deadline); way++) {
        TW_ALLOC(e->work->arena, a.group, most);
        TW_ALLOC(e->work->arena, a.resident, most + e->base->n_residents);
        a.room = (enum room)(way / 2);
        a.coarse = way % 2 == 1;
        TW_TRY(try_mapping(&a, better));
    }
    return TW_OK;
}

/* ---- the search ---- */

static bool is_over(const exchange *e)
{
    return e->found.n_commands + e->other.n_commands > most_commands ||
           tw_deadline_is_over(e->work->diag->deadline);
}

/* A run from `first` on, along each axis of what it makes; kept if it is better. */
static tw_status try_run(exchange *e, int first, int n)
{
    run r = {.first = first, .last = first + n - 1};
    const tw_op *last = op_of(e, r.last);
    if (!is_free(e, &r) || !is_between_groups(e, &r)) return TW_OK;
    TW_TRY(list_cores(e, &r));
    if (r.n < 2) return TW_OK;
    run best = {0};
    for (r.axis = 0; r.axis < last->operand[tw_op_output(last)].n_axes && !is_over(e); r.axis++) {
        bool better;
        if (!can_be_run(e, &r)) continue;
        e->run[e->n_runs++] = r;
        tw_status status = try_runs(e, &better);
        e->n_runs--;
        TW_TRY(status);
        if (better) best = r;
    }
    if (best.n > 0) e->run[e->n_runs++] = best;
    return TW_OK;
}

static tw_status search(exchange *e)
{
    const tw_model *model = e->asked->model;
    TW_ALLOC(e->work->scratch, e->alone, (int64_t)model->n_ops * n_cores(e));
    for (int64_t i = 0; i < (int64_t)model->n_ops * n_cores(e); i++) e->alone[i] = -1;
    TW_TRY(tw_readers_of(model, e->work->arena, &e->readers));
    TW_TRY(tw_core_machines_of(e->asked->machine, e->work->arena, e->work->scratch, &e->core));
    TW_TRY(tw_alike_new(e->work->arena, &e->alike));
    TW_ALLOC(e->work->scratch, e->known, N_ROOMS);
    e->first.core = e->core;
    TW_TRY(tw_hunt_open_alike(&e->first));
    e->first.readers = e->readers;
    for (int n = (int)tw_min(LONGEST, model->n_ops); n >= 2; n--)
        for (int i = 0; i + n <= model->n_ops && e->n_runs < MOST_RUNS && !is_over(e); i++)
            TW_TRY(try_run(e, i, n));
    return TW_OK;
}

tw_status tw_exchange_find(const tw_fuse_request *asked, const tw_fused *base, const tw_work *work,
                           tw_exchanged *out)
{
    exchange *e;
    *out = (tw_exchanged){.cycles = base->cycles, .energy_fj = base->energy_fj};
    if (asked->model->n_ops < 2 || asked->model->n_ops > MOST_OPS || !has_links(asked->machine->platform))
        return TW_OK;
    TW_ALLOC(work->scratch, e, 1);
    *e = (exchange){.asked = asked, .base = &base->mapping, .out = out, .work = work};
    if (!(e->bench = tw_arena_new())) return TW_ERR_NOMEM;
    e->first = (tw_cores_hunt){.asked = asked,
                               .platform = asked->machine->platform,
                               .best = &e->found.best,
                               .out = &e->found,
                               .arena = work->arena,
                               .scratch = work->scratch,
                               .bench = e->bench,
                               .diag = work->diag};
    tw_status status = tw_candidates_new(&e->first.candidates);
    if (status == TW_OK) status = search(e);
    tw_candidates_free(e->first.candidates);
    for (int r = 0; e->known && r < N_ROOMS; r++) tw_candidates_free(e->known[r].candidates);
    tw_arena_free(e->bench);
    out->n_simulated = e->found.best.n_simulated + e->other.best.n_simulated;
    out->n_commands = e->found.n_commands + e->other.n_commands;
    return status == TW_STOPPED ? TW_OK : status;
}
