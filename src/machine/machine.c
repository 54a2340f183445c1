/* src/machine/machine.c - costs, finders, invariants and the printer of machines, see machine.h. */
#include "machine/machine.h"

#include "machine/arrange.h"
#include "machine/discipline.h"

#include <string.h>

const char *tw_unit_name(tw_unit unit)
{
    static const char *const name[TW_N_UNITS] = {"element", "byte"};
    return name[unit];
}

const char *tw_reuse_name(tw_reuse reuse)
{
    static const char *const name[TW_N_REUSES] = {"resident", "declared"};
    return name[reuse];
}

const char *tw_accumulate_name(tw_accumulate mode)
{
    static const char *const name[TW_N_ACCUMULATES] = {"separate", "in-place", "fused"};
    return name[mode];
}

const char *tw_placement_name(tw_placement placement)
{
    static const char *const name[TW_N_PLACEMENTS] = {"slots", "bump", "lifetime"};
    return name[placement];
}

const char *tw_doubling_name(tw_doubling doubling)
{
    static const char *const name[TW_N_DOUBLINGS] = {"any", "dual", "dual-inputs"};
    return name[doubling];
}

const char *tw_beats_name(tw_beats beats)
{
    static const char *const name[TW_N_BEATS] = {"packed", "rows", "lines"};
    return name[beats];
}

const char *tw_carries_name(unsigned carries)
{
    static const char *const name[] = {"", "in", "out", "both"};
    return name[carries & TW_BOTH_WAYS];
}

bool tw_dims_are_plain(const tw_cost *cost)
{
    return cost->n_dims == 2 && strcmp(cost->dim[0], tw_rows_name) == 0 &&
           strcmp(cost->dim[1], tw_columns_name) == 0;
}

int64_t tw_cost_cycles(const tw_cost *cost, int64_t work)
{
    int64_t cycles;
    switch (cost->kind) {
    case TW_COST_CONSTANT: return cost->fixed;
    case TW_COST_LINEAR:
    case TW_COST_ARRAY:
        return tw_ckd_add(cost->fixed, tw_cdiv(work, cost->per_cycle), &cycles) ? cycles : INT64_MAX;
    case TW_COST_STEPPED:
        return tw_ckd_mul(cost->fixed, tw_cdiv(work, cost->per_cycle), &cycles) ? cycles : INT64_MAX;
    case TW_COST_DESCRIPTOR:
    case TW_COST_KERNEL:
        if (work == INT64_MAX || !tw_ckd_add(work, cost->each, &cycles)) return INT64_MAX;
        return tw_cdiv(cycles, TW_MILLI);
    case TW_N_COSTS: break;
    }
    return INT64_MAX;
}

double tw_cost_rate(const tw_cost *cost)
{
    switch (cost->kind) {
    case TW_COST_LINEAR: return (double)cost->per_cycle;
    case TW_COST_STEPPED: return cost->fixed > 0 ? (double)cost->per_cycle / (double)cost->fixed : 0;
    case TW_COST_ARRAY: {
        double points = 1;
        for (int d = 0; d < cost->n_dims; d++) points *= (double)cost->array[d];
        return points;
    }
    case TW_COST_DESCRIPTOR: return cost->per_beat > 0 ? (double)cost->beat * TW_MILLI / (double)cost->per_beat : 0;
    case TW_COST_KERNEL: return cost->per_point > 0 ? (double)cost->cores * TW_MILLI / (double)cost->per_point : 0;
    case TW_COST_CONSTANT:
    case TW_N_COSTS: break;
    }
    return 0;
}

/* a + b * c, INT64_MAX when that is too much. */
static int64_t add_product(int64_t a, int64_t b, int64_t c)
{
    int64_t product, sum;
    return tw_ckd_mul(b, c, &product) && tw_ckd_add(a, product, &sum) ? sum : INT64_MAX;
}

/* Beats beside the whole ones that a row touches which begins at `at` of a beat and ends `rest` units after a whole number
 * of beats. */
static int64_t edges_of(int64_t at, int64_t rest, int64_t beat) { return (at + rest > 0) + (at + rest > beat); }

static int64_t beats_of(const tw_cost *cost, const tw_shape *s)
{
    if (cost->beats == TW_BEATS_PACKED) return tw_cdiv(add_product(0, s->rows, s->units), cost->beat);
    int64_t each = tw_cdiv(s->units, cost->beat), sum = 0;
    if (cost->beats == TW_BEATS_ROWS ||
        (s->at % cost->beat == 0 && s->stride % cost->beat == 0 && s->units % cost->beat == 0))
        return add_product(0, s->rows, each);
    /* Where rows begin within a beat repeats after as many rows as a beat has units: the first ones stand for all. */
    int64_t step = s->stride % cost->beat, rest = s->units % cost->beat, at = s->at % cost->beat, to = 0;
    int64_t sweeps = s->rows / cost->beat, left = s->rows % cost->beat;
    for (int64_t i = 0; i < tw_min(s->rows, cost->beat); i++) {
        int64_t edges = tw_max(edges_of(at, rest, cost->beat), edges_of(to, rest, cost->beat));
        sum = add_product(sum, edges, sweeps + (i < left));
        at = at + step < cost->beat ? at + step : at + step - cost->beat;
        to = to + rest < cost->beat ? to + rest : to + rest - cost->beat;
    }
    return add_product(sum, s->rows, s->units / cost->beat);
}

int64_t tw_cost_of_transfer(const tw_cost *cost, const tw_shape *s)
{
    int64_t body = add_product(0, beats_of(cost, s), cost->per_beat),
            least = add_product(0, s->rows, cost->row_least);
    int64_t one =
        add_product(add_product(cost->setup, s->rows, cost->per_row), s->rows > 1 ? tw_max(body, least) : body, 1);
    return add_product(0, s->planes, one);
}

/* What the cores lose of their time to others, in thousandths. */
static int64_t lost_of(const tw_banks *banks, int64_t stride, bool contended)
{
    if (banks->count == 0) return contended ? banks->busy : 0;
    int64_t apart = stride / banks->width % banks->count, lost = 0;
    bool along = 2 * apart >= banks->wave && 2 * apart <= 3 * banks->wave;
    if (contended) lost = along ? banks->along : banks->busy;
    if (apart == 0) lost += banks->full;
    if (2 * apart == banks->count) lost += banks->half;
    return lost;
}

tw_kernel_nest tw_nest_of(const tw_op *op, const int64_t *len, int64_t elem)
{
    tw_kernel_nest n = {1, 1, 1, elem};
    for (int l = 0; l < op->n_loops; l++) {
        *(op->loop[l].reduces ? &n.reduction : &n.others) *= len[l];
        if (!op->loop[l].reduces) n.share = tw_max(n.share, len[l]);
    }
    n.others /= n.share;
    n.stride *= n.reduction;
    return n;
}

int64_t tw_cost_of_kernel(const tw_cost *cost, const tw_kernel_nest *nest, bool contended)
{
    int64_t rows = tw_cdiv(nest->share, cost->cores), lanes = 1;
    for (int i = cost->n_unrolls - 1; i >= 0; i--)
        if (rows % cost->unroll[i] == 0) lanes = cost->unroll[i];
    int64_t rounds = add_product(0, nest->others, rows / lanes);
    int64_t width =
        tw_max(lanes * (TW_MILLI + lost_of(&cost->banks, nest->stride, contended)), cost->depth * TW_MILLI);
    int64_t points = add_product(0, add_product(0, nest->reduction, width), cost->per_point);
    if (points < INT64_MAX) points /= TW_MILLI;
    int64_t round = rounds > 1 ? tw_max(add_product(points, 1, cost->per_round), lanes * cost->row_least) : points;
    return add_product(add_product(cost->start, lanes, cost->per_lane), rounds, round);
}

bool tw_banks_clash(const tw_banks *banks, int64_t stride)
{
    if (banks->count == 0) return false;
    return 2 * (stride / banks->width) % banks->count == 0;
}

int64_t tw_cost_of_fill(const tw_cost *cost, int64_t units)
{
    return add_product(cost->setup + cost->fill, tw_cdiv(units, cost->beat), cost->per_beat);
}

int64_t tw_cost_of_units(const tw_cost *cost, int64_t units)
{
    return tw_cost_cycles(cost, cost->kind == TW_COST_DESCRIPTOR
                                    ? tw_cost_of_transfer(cost, &(tw_shape){1, 1, units, 0, units})
                                    : units);
}

/* The strided mover that fills the memory of the compute engine, which must hold inputs and output; -1: there is none. */
static int strided_link(const tw_machine *machine)
{
    int memory = machine->engine[machine->compute].memory,
        outer = tw_path_outer(tw_machine_role_path(machine, TW_HOLDS_ACTIVATIONS), memory);
    if (machine->memory[memory].holds != TW_HOLDS_ALL) return -1;
    if (tw_path_outer(tw_machine_role_path(machine, TW_HOLDS_WEIGHTS), memory) != outer) return -1;
    int link = tw_machine_link(machine, outer, memory, TW_INWARDS);
    return link >= 0 && machine->engine[link].strided ? link : -1;
}

tw_machine tw_machine_for(const tw_machine *machine, const tw_model *model, const tw_op *op, tw_fusion fusion)
{
    tw_machine view = *machine;
    tw_engine *engine = &view.engine[view.compute];
    if (view.has_apart >> op->compute & 1) engine->cost = view.apart[op->compute];
    int link = strided_link(machine);
    bool alone = !fusion.before && !fusion.behind;
    if (link >= 0 && model && alone && tw_op_is_move(model, op) && tw_arranging_pays(&view, model, op, link)) {
        view.arranged = true;
        view.pads = false;
        view.has_apart = 0;
        for (int m = 1; m < view.n_memories; m++)
            view.memory[m].keeps = 0; /* a buffer is handed over, and stored */
        engine->cost = (tw_cost){.kind = TW_COST_CONSTANT};
        engine->min_tile = engine->tile_multiple = 1;
        engine->energy_fj = 0;
    }
    if (fusion.before) view.launch = 0;
    view.fusion = fusion;
    return view;
}

bool tw_view_keeps(const tw_machine *view, const tw_op *op, int operand)
{
    if (operand == tw_op_output(op)) return view->fusion.behind;
    return view->fusion.before && op->operand[operand].tensor == op[-1].operand[tw_op_output(op - 1)].tensor;
}

int64_t tw_engine_busy(const tw_engine *engine, int64_t work)
{
    const tw_cost *cost = &engine->cost;
    if (cost->kind == TW_COST_CONSTANT) return cost->busy;
    int64_t cycles = tw_cost_cycles(cost, work);
    if (!engine->pipelined || cycles == INT64_MAX || cost->kind == TW_COST_STEPPED) return cycles;
    return cycles - cost->fixed;
}

unsigned tw_role_of(const tw_op *op, int operand)
{
    if (operand == tw_op_output(op)) return TW_HOLDS_OUTPUT;
    return op->operand[operand].weights ? TW_HOLDS_WEIGHTS : TW_HOLDS_ACTIVATIONS;
}

tw_path tw_machine_role_path(const tw_machine *machine, unsigned role)
{
    tw_path path = 1;
    for (int m = 1; m < machine->n_memories; m++)
        if (machine->memory[m].holds & role) path |= 1u << m;
    return path;
}

tw_path tw_machine_path(const tw_machine *machine, const tw_op *op, int operand)
{
    return tw_machine_role_path(machine, tw_role_of(op, operand));
}

/* The roles, for what concerns each of them. */
static const struct role {
    unsigned bit;
    const char *name;
} roles[] = {{TW_HOLDS_ACTIVATIONS, "activations"}, {TW_HOLDS_WEIGHTS, "weights"}, {TW_HOLDS_OUTPUT, "the output"}};

/* The memory before m on the path of the role, -1 when m is not on it. */
static int step_into(const tw_machine *machine, int m, unsigned role)
{
    return machine->memory[m].holds & role ? tw_path_outer(tw_machine_role_path(machine, role), m) : -1;
}

/* Whether inputs of some role come from `outer` into `inner`. */
static bool has_inputs(const tw_machine *machine, int outer, int inner)
{
    return step_into(machine, inner, TW_HOLDS_ACTIVATIONS) == outer ||
           step_into(machine, inner, TW_HOLDS_WEIGHTS) == outer;
}

unsigned tw_machine_ways(const tw_machine *machine, int outer, int inner)
{
    if (outer < 0 || inner <= outer) return 0;
    unsigned ways = has_inputs(machine, outer, inner) ? TW_INWARDS : 0;
    return step_into(machine, inner, TW_HOLDS_OUTPUT) == outer ? TW_BOTH_WAYS : ways;
}

static int next_link(const tw_machine *machine, int outer, int inner, unsigned way, int from)
{
    for (int e = from; e < machine->n_engines; e++) {
        const tw_engine *engine = &machine->engine[e];
        if (engine->kind == TW_MOVES && engine->outer == outer && engine->memory == inner &&
            (engine->carries & way))
            return e;
    }
    return -1;
}

int tw_machine_link(const tw_machine *machine, int outer, int inner, unsigned way)
{
    return next_link(machine, outer, inner, way, 0);
}

static int find_engine(const tw_machine *machine, tw_engine_kind kind, int memory, int from)
{
    for (int e = from; e < machine->n_engines; e++)
        if (machine->engine[e].kind == kind && machine->engine[e].memory == memory) return e;
    return -1;
}

int tw_machine_mover(const tw_machine *machine, int memory) { return find_engine(machine, TW_MOVES, memory, 0); }
int tw_machine_adder(const tw_machine *machine, int memory) { return find_engine(machine, TW_ADDS, memory, 0); }

int tw_machine_find_memory(const tw_machine *machine, const char *name)
{
    for (int m = 0; m < machine->n_memories; m++)
        if (strcmp(machine->memory[m].name, name) == 0) return m;
    return -1;
}

int64_t tw_machine_units(const tw_machine *machine, tw_dtype dtype, int64_t elems)
{
    int64_t units = elems;
    if (machine->unit == TW_UNIT_BYTE && !tw_ckd_mul(elems, tw_dtype_bytes(dtype), &units)) return INT64_MAX;
    return units;
}

/* ---- invariants of every machine ---- */

static tw_status check_memories(const tw_machine *machine, tw_diag *diag)
{
    if (machine->n_memories < 2 || machine->n_memories > TW_MAX_MEMORIES)
        return tw_diag_error(diag, (tw_loc){0}, "machine '%s' has %d memories, outside 2..%d", machine->name,
                             machine->n_memories, TW_MAX_MEMORIES);
    for (int m = 0; m < machine->n_memories; m++) {
        const tw_memory *memory = &machine->memory[m];
        if (memory->size < 1 || memory->align < 1)
            return tw_diag_error(diag, memory->loc,
                                 "memory '%s' has size %" PRId64 " and alignment %" PRId64
                                 ", both must be positive",
                                 memory->name, memory->size, memory->align);
    }
    return TW_OK;
}

/* Exactly one engine computes, on `inner`. */
static tw_status check_compute(const tw_machine *machine, int inner, tw_diag *diag)
{
    const char *which =
        tw_machine_knows(machine, "holds") ? "innermost memory that holds the output," : "innermost memory";
    int first = -1;
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_engine *engine = &machine->engine[e];
        if (engine->kind != TW_COMPUTES) continue;
        if (first >= 0) {
            tw_diag_error(diag, engine->loc, "engine '%s' is a second compute engine", engine->name);
            tw_diag_note(diag, machine->engine[first].loc, "engine '%s' is here", machine->engine[first].name);
            return TW_ERR_INPUT;
        }
        first = e;
        if (engine->memory != inner)
            return tw_diag_error(diag, engine->loc, "compute engine '%s' works on '%s', must be on the %s '%s'",
                                 engine->name, machine->memory[engine->memory].name, which,
                                 machine->memory[inner].name);
        if (engine->tile_multiple < 0 || engine->tile_multiple > TW_EXTENT_MAX)
            return tw_diag_error(diag, engine->loc,
                                 "engine '%s' takes tiles of a multiple of %" PRId64 ", outside 1..%" PRId64,
                                 engine->name, engine->tile_multiple, TW_EXTENT_MAX);
    }
    if (first < 0)
        return tw_diag_error(diag, machine->memory[inner].loc, "no engine computes on the %s '%s'", which,
                             machine->memory[inner].name);
    assert(machine->compute == first);
    return TW_OK;
}

/* ---- of lockstep machines ---- */

static const char *kind_name(tw_engine_kind kind)
{
    return kind == TW_MOVES ? "mover" : kind == TW_COMPUTES ? "compute engine" : "adder";
}

/* At most one engine of this kind on the memory; tells how many there are. */
static tw_status check_single(const tw_machine *machine, tw_engine_kind kind, int memory, int *n, tw_diag *diag)
{
    int first = find_engine(machine, kind, memory, 0);
    int second = first < 0 ? -1 : find_engine(machine, kind, memory, first + 1);
    *n = first >= 0;
    if (second < 0) return TW_OK;
    const tw_engine *a = &machine->engine[first], *b = &machine->engine[second];
    tw_status status = kind == TW_MOVES
                           ? tw_diag_error(diag, b->loc, "engine '%s' is a second mover between '%s' and '%s'",
                                           b->name, machine->memory[memory - 1].name, machine->memory[memory].name)
                           : tw_diag_error(diag, b->loc, "engine '%s' is a second %s on '%s'", b->name,
                                           kind_name(kind), machine->memory[memory].name);
    tw_diag_note(diag, a->loc, "engine '%s' is here", a->name);
    return status;
}

static tw_status check_movers(const tw_machine *machine, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (int m = 1; m < machine->n_memories; m++) {
        int n;
        if (check_single(machine, TW_MOVES, m, &n, diag) != TW_OK) status = TW_ERR_INPUT;
        if (n == 0)
            status = tw_diag_error(diag, machine->memory[m].loc, "no engine moves between '%s' and '%s'",
                                   machine->memory[m - 1].name, machine->memory[m].name);
    }
    return status;
}

static tw_status check_adders(const tw_machine *machine, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (int m = 0; m < machine->n_memories; m++) {
        int n;
        if (check_single(machine, TW_ADDS, m, &n, diag) != TW_OK) status = TW_ERR_INPUT;
    }
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_engine *engine = &machine->engine[e];
        if (engine->kind != TW_ADDS || engine->shares < 0) continue;
        const tw_engine *other = &machine->engine[engine->shares];
        if (other->memory != engine->memory)
            status = tw_diag_error(diag, engine->loc, "adder '%s' on '%s' cannot share '%s', which works on '%s'",
                                   engine->name, machine->memory[engine->memory].name, other->name,
                                   machine->memory[other->memory].name);
    }
    return status;
}

tw_status tw_machine_check_rows(const tw_machine *machine, tw_diag *diag)
{
    tw_status movers = check_movers(machine, diag), compute = check_compute(machine, machine->n_memories - 1, diag);
    tw_status adders = check_adders(machine, diag);
    TW_TRY(movers);
    TW_TRY(compute);
    return adders;
}

/* ---- of async machines ---- */

/* Both paths exist and begin at the outermost memory. */
static tw_status check_holds(const tw_machine *machine, tw_diag *diag)
{
    const tw_memory *outermost = &machine->memory[0];
    tw_status status = TW_OK;
    if (outermost->holds != TW_HOLDS_ALL)
        return tw_diag_error(diag, outermost->loc, "the outermost memory '%s' must hold inputs and output",
                             outermost->name);
    for (int m = 1; m < machine->n_memories; m++)
        if (machine->memory[m].holds == 0 || machine->memory[m].holds > TW_HOLDS_ALL)
            return tw_diag_error(diag, machine->memory[m].loc, "memory '%s' holds nothing",
                                 machine->memory[m].name);
    if (tw_path_innermost(tw_machine_role_path(machine, TW_HOLDS_INPUTS)) == 0)
        status = tw_diag_error(diag, outermost->loc, "no memory inside '%s' holds inputs", outermost->name);
    for (size_t i = 0; i < TW_COUNT(roles) && status == TW_OK; i++)
        if (tw_path_innermost(tw_machine_role_path(machine, roles[i].bit)) == 0)
            status = tw_diag_error(diag, outermost->loc, "no memory inside '%s' holds %s", outermost->name,
                                   roles[i].name);
    return status;
}

/* One step of a path in one direction: at most one engine carries that way and, when `required`, one does. */
static tw_status check_step(const tw_machine *machine, int outer, int inner, unsigned way, bool required,
                            tw_diag *diag)
{
    bool in = way == TW_INWARDS;
    const char *from = machine->memory[in ? outer : inner].name, *to = machine->memory[in ? inner : outer].name;
    int first = next_link(machine, outer, inner, way, 0);
    if (first < 0)
        return required ? tw_diag_error(diag, machine->memory[inner].loc, "no engine carries %s from '%s' to '%s'",
                                        in ? "inputs" : "the output", from, to)
                        : TW_OK;
    int second = next_link(machine, outer, inner, way, first + 1);
    if (second < 0) return TW_OK;
    const tw_engine *a = &machine->engine[first], *b = &machine->engine[second];
    tw_diag_error(diag, b->loc, "engine '%s' is a second mover from '%s' to '%s'", b->name, from, to);
    tw_diag_note(diag, a->loc, "engine '%s' is here", a->name);
    return TW_ERR_INPUT;
}

static tw_status check_paths(const tw_machine *machine, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (int m = 1; m < machine->n_memories; m++) {
        int in = step_into(machine, m, TW_HOLDS_ACTIVATIONS), w = step_into(machine, m, TW_HOLDS_WEIGHTS),
            out = step_into(machine, m, TW_HOLDS_OUTPUT);
        if (in >= 0 && check_step(machine, in, m, TW_INWARDS, true, diag) != TW_OK) status = TW_ERR_INPUT;
        if (w >= 0 && w != in && check_step(machine, w, m, TW_INWARDS, true, diag) != TW_OK) status = TW_ERR_INPUT;
        if (out >= 0 && check_step(machine, out, m, TW_OUTWARDS, true, diag) != TW_OK) status = TW_ERR_INPUT;
        if (out >= 0 && out != in && out != w && check_step(machine, out, m, TW_INWARDS, false, diag) != TW_OK)
            status = TW_ERR_INPUT;
    }
    return status;
}

/* A mover does nothing that no path needs. */
static tw_status check_use(const tw_machine *machine, const tw_engine *mover, tw_diag *diag)
{
    unsigned ways = tw_machine_ways(machine, mover->outer, mover->memory);
    const char *outer = machine->memory[mover->outer].name, *inner = machine->memory[mover->memory].name;
    if (ways == 0)
        return tw_diag_error(diag, mover->loc, "engine '%s' moves between '%s' and '%s', which are not neighbours",
                             mover->name, outer, inner);
    if (mover->carries & ~ways)
        return tw_diag_error(diag, mover->loc,
                             "engine '%s' carries out from '%s' to '%s', where the output does not pass; "
                             "it needs 'carries: in'",
                             mover->name, inner, outer);
    if (mover->joins && !(has_inputs(machine, mover->outer, mover->memory) && (mover->carries & TW_INWARDS)))
        return tw_diag_error(diag, mover->loc, "engine '%s' joins inputs, but carries none", mover->name);
    return TW_OK;
}

/* What the reader of files lets through. */
static bool is_sound(const tw_engine *engine)
{
    const tw_cost *cost = &engine->cost;
    bool has_latency = cost->kind == TW_COST_LINEAR || cost->kind == TW_COST_ARRAY;
    if (engine->count < 1 || engine->count > TW_MAX_UNITS || (engine->pipelined && !has_latency)) return false;
    if (cost->kind == TW_COST_CONSTANT) return 0 <= cost->busy && cost->busy <= cost->fixed;
    if (cost->kind == TW_COST_DESCRIPTOR) return engine->kind == TW_MOVES && cost->beat > 0;
    if (cost->kind == TW_COST_KERNEL) return engine->kind == TW_COMPUTES && cost->cores > 0 && cost->depth > 0;
    if (cost->kind != TW_COST_ARRAY) return true;
    if (cost->n_dims < 1 || cost->n_dims > TW_MAX_DIMS) return false;
    for (int d = 0; d < cost->n_dims; d++)
        if (cost->array[d] < 1 || !cost->dim[d]) return false;
    return engine->kind == TW_COMPUTES && cost->per_cycle == 1;
}

static tw_status check_async_engine(const tw_machine *machine, const tw_engine *engine, tw_diag *diag)
{
    if (engine->kind == TW_ADDS)
        return tw_diag_error(diag, engine->loc, "engine '%s' adds, but async machines add up in the compute engine",
                             engine->name);
    if (engine->kind == TW_COMPUTES && !(engine->accumulate >> TW_FUSED & 1))
        return tw_diag_error(diag, engine->loc,
                             "engine '%s' must accumulate 'fused': async machines add up in the compute engine",
                             engine->name);
    if (!is_sound(engine))
        return tw_diag_error(diag, engine->loc, "engine '%s' has an impossible cost or count", engine->name);
    return engine->kind == TW_MOVES ? check_use(machine, engine, diag) : TW_OK;
}

tw_status tw_machine_check_stream(const tw_machine *machine, tw_diag *diag)
{
    TW_TRY(check_holds(machine, diag));
    tw_status status = check_paths(machine, diag);
    for (int e = 0; e < machine->n_engines; e++)
        if (check_async_engine(machine, &machine->engine[e], diag) != TW_OK) status = TW_ERR_INPUT;
    tw_status compute =
        check_compute(machine, tw_path_innermost(tw_machine_role_path(machine, TW_HOLDS_OUTPUT)), diag);
    return status != TW_OK ? status : compute;
}

tw_status tw_machine_check(const tw_machine *machine, tw_diag *diag)
{
    TW_TRY(check_memories(machine, diag));
    return tw_discipline_of(machine)->check(machine, diag);
}

/* ---- the printer ---- */

static void print_bits(const char *key, unsigned bits, int n, const char *(*name)(int), tw_text *out)
{
    const char *sep = "";
    tw_text_printf(out, ", %s: [", key);
    for (int i = 0; i < n; i++) {
        if (!(bits >> i & 1)) continue;
        tw_text_printf(out, "%s%s", sep, name(i));
        sep = ", ";
    }
    tw_text_printf(out, "]");
}

static const char *compute_name(int i) { return tw_compute_name((tw_compute)i); }
static const char *mode_name(int i) { return tw_accumulate_name((tw_accumulate)i); }

/* In picojoules, with as many decimals as it takes. */
static void print_energy(int64_t fj, tw_text *out)
{
    int64_t rest = fj % 1000;
    int digits = 3;
    if (fj == 0) return;
    tw_text_printf(out, ", energy: %" PRId64, fj / 1000);
    for (; rest > 0 && rest % 10 == 0; rest /= 10) digits--;
    if (rest > 0) tw_text_printf(out, ".%0*" PRId64, digits, rest);
    tw_text_printf(out, " pJ");
}

static void print_roles(const char *key, unsigned bits, tw_text *out)
{
    static const char *const inputs[] = {[0] = "",
                                         [TW_HOLDS_ACTIVATIONS] = "activations",
                                         [TW_HOLDS_WEIGHTS] = "weights",
                                         [TW_HOLDS_INPUTS] = "inputs"};
    const char *in = inputs[bits & TW_HOLDS_INPUTS], *output = bits & TW_HOLDS_OUTPUT ? "output" : "";
    tw_text_printf(out, ", %s: [%s%s%s]", key, in, *in && *output ? ", " : "", output);
}

static void print_memory(const tw_machine *machine, const tw_memory *memory, tw_text *out)
{
    tw_text_printf(out, "  - {name: %s, size: ", memory->name);
    if (memory->size == TW_UNLIMITED)
        tw_text_printf(out, "unlimited");
    else
        tw_text_printf(out, "%" PRId64, memory->size);
    tw_text_printf(out, ", align: %" PRId64, memory->align);
    if (tw_machine_knows(machine, "holds")) print_roles("holds", memory->holds, out);
    if (memory->keeps != TW_HOLDS_ALL) print_roles("keeps", memory->keeps, out);
    if (memory->whole) tw_text_printf(out, ", whole: true");
    if (memory->doubles != TW_DOUBLE_ANY) tw_text_printf(out, ", buffers: %s", tw_doubling_name(memory->doubles));
    if (memory->placement != TW_PLACE_SLOTS)
        tw_text_printf(out, ", placement: %s", tw_placement_name(memory->placement));
    print_energy(memory->energy_fj, out);
    tw_text_printf(out, "}\n");
}

static void print_milli(const char *key, int64_t x, tw_text *out)
{
    int64_t rest = x % TW_MILLI;
    int digits = 3;
    tw_text_printf(out, "%s: %" PRId64, key, x / TW_MILLI);
    for (; rest > 0 && rest % 10 == 0; rest /= 10) digits--;
    if (rest > 0) tw_text_printf(out, ".%0*" PRId64, digits, rest);
}

static void print_descriptor(const tw_cost *cost, tw_text *out)
{
    print_milli("{setup", cost->setup, out);
    print_milli(", per_row", cost->per_row, out);
    tw_text_printf(out, ", beat: %" PRId64, cost->beat);
    print_milli(", per_beat", cost->per_beat, out);
    if (cost->row_least > 0) print_milli(", row_least", cost->row_least, out);
    if (cost->fill > 0) print_milli(", fill", cost->fill, out);
    if (cost->fill_waits > 0) tw_text_printf(out, ", fill_waits: %" PRId64, cost->fill_waits);
    if (cost->clash_waits != cost->fill_waits) tw_text_printf(out, ", clash_waits: %" PRId64, cost->clash_waits);
    tw_text_printf(out, ", beats: %s}", tw_beats_name(cost->beats));
}

/* Rows and columns as a list, others by their names. */
static void print_array(const tw_cost *cost, tw_text *out)
{
    bool plain = tw_dims_are_plain(cost);
    tw_text_printf(out, "{array: %s", plain ? "[" : "{");
    for (int d = 0; d < cost->n_dims; d++) {
        tw_text_printf(out, d ? ", " : "");
        if (!plain) tw_text_printf(out, "%s: ", cost->dim[d]);
        tw_text_printf(out, "%" PRId64, cost->array[d]);
    }
    tw_text_printf(out, plain ? "]" : "}");
}

static void print_banks(const tw_banks *b, tw_text *out)
{
    tw_text_printf(out, ", banks: {count: %" PRId64 ", width: %" PRId64 ", wave: %" PRId64, b->count, b->width,
                   b->wave);
    print_milli(", busy", b->busy, out);
    print_milli(", along", b->along, out);
    print_milli(", half", b->half, out);
    print_milli(", full", b->full, out);
    tw_text_printf(out, "}");
}

static void print_kernel(const tw_cost *cost, tw_text *out)
{
    tw_text_printf(out, "{cores: %" PRId64, cost->cores);
    print_milli(", start", cost->start, out);
    if (cost->per_lane > 0) print_milli(", per_lane", cost->per_lane, out);
    if (cost->row_least > 0) print_milli(", row_least", cost->row_least, out);
    print_milli(", per_round", cost->per_round, out);
    print_milli(", per_point", cost->per_point, out);
    tw_text_printf(out, ", depth: %" PRId64 ", unroll: [", cost->depth);
    for (int i = 0; i < cost->n_unrolls; i++) tw_text_printf(out, "%s%d", i ? ", " : "", cost->unroll[i]);
    tw_text_printf(out, "]");
    if (cost->banks.count > 0) print_banks(&cost->banks, out);
    tw_text_printf(out, "}");
}

static void print_cost(const tw_machine *machine, const tw_cost *cost, tw_text *out)
{
    switch (cost->kind) {
    case TW_COST_CONSTANT:
        tw_text_printf(out, "{constant: %" PRId64, cost->fixed);
        if (tw_machine_knows(machine, "busy")) tw_text_printf(out, ", busy: %" PRId64, cost->busy);
        tw_text_printf(out, "}");
        break;
    case TW_COST_LINEAR:
        tw_text_printf(out, "{latency: %" PRId64 ", per_cycle: %" PRId64 "}", cost->fixed, cost->per_cycle);
        break;
    case TW_COST_STEPPED:
        tw_text_printf(out, "{step: %" PRId64 ", per_step: %" PRId64 "}", cost->per_cycle, cost->fixed);
        break;
    case TW_COST_ARRAY:
        print_array(cost, out);
        tw_text_printf(out, ", latency: %" PRId64 "}", cost->fixed);
        break;
    case TW_COST_DESCRIPTOR: print_descriptor(cost, out); break;
    case TW_COST_KERNEL: print_kernel(cost, out); break;
    case TW_N_COSTS: break;
    }
}

static void print_mover(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    tw_text_printf(out, ", between: [%s, %s]", machine->memory[engine->outer].name,
                   machine->memory[engine->memory].name);
    if (tw_machine_knows(machine, "carries"))
        tw_text_printf(out, ", carries: %s%s%s%s", tw_carries_name(engine->carries),
                       engine->joins ? ", joins: inputs" : "", engine->strided ? ", strided: true" : "",
                       engine->drains       ? ", prefetch: innermost"
                       : engine->prefetches ? ", prefetch: all"
                                            : "");
    else
        tw_text_printf(out, ", channels: %s", engine->one_channel ? "1" : "unlimited");
}

static void print_compute(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    print_bits("computes", engine->computes, TW_N_COMPUTES, compute_name, out);
    tw_text_printf(out, ", on: %s", machine->memory[engine->memory].name);
    print_bits("accumulate", engine->accumulate, TW_N_ACCUMULATES, mode_name, out);
    tw_text_printf(out, ", min_tile: %" PRId64, engine->min_tile);
    if (engine->tile_multiple > 1) tw_text_printf(out, ", tile_multiple: %" PRId64, engine->tile_multiple);
    if (engine->multiple_parallel) tw_text_printf(out, ", multiple_loops: parallel");
    if (engine->unrolls_parallel) tw_text_printf(out, ", unrolls: parallel");
    tw_text_printf(out, ", pad_limit: %s", engine->pad_half ? "half-kernel" : "none");
    if (engine->late) tw_text_printf(out, ", writes: end");
    for (int c = 0, n = 0; c < TW_N_COMPUTES && machine->has_apart; c++) {
        if (machine->has_apart >> c & 1) {
            tw_text_printf(out, "%s%s: ", n++ ? ", " : ", cost_of: {", tw_compute_name((tw_compute)c));
            print_cost(machine, &machine->apart[c], out);
        }
        if (c + 1 == TW_N_COMPUTES) tw_text_printf(out, "}");
    }
    print_energy(engine->energy_fj, out);
}

static void print_adder(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    tw_text_printf(out, ", computes: sum, on: %s", machine->memory[engine->memory].name);
    if (engine->shares >= 0) tw_text_printf(out, ", shares: %s", machine->engine[engine->shares].name);
}

static void print_engine(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    tw_text_printf(out, "  - {name: %s", engine->name);
    switch (engine->kind) {
    case TW_MOVES: print_mover(machine, engine, out); break;
    case TW_COMPUTES: print_compute(machine, engine, out); break;
    case TW_ADDS: print_adder(machine, engine, out); break;
    }
    if (tw_machine_knows(machine, "count"))
        tw_text_printf(out, ", count: %" PRId64 ", pipelined: %s", engine->count,
                       engine->pipelined ? "true" : "false");
    tw_text_printf(out, ", cost: ");
    print_cost(machine, &engine->cost, out);
    tw_text_printf(out, "}\n");
}

void tw_machine_print(const tw_machine *machine, tw_text *out)
{
    tw_text_printf(out, "machine: %s\nunit: %s\ntiming: %s\n", machine->name, tw_unit_name(machine->unit),
                   tw_timing_name(machine->timing));
    if (tw_machine_knows(machine, "reuse")) tw_text_printf(out, "reuse: %s\n", tw_reuse_name(machine->reuse));
    if (machine->clock_mhz > 0) tw_text_printf(out, "clock_mhz: %" PRId64 "\n", machine->clock_mhz);
    if (machine->barrier > 0) print_milli("barrier", machine->barrier, out), tw_text_printf(out, "\n");
    if (machine->launch > 0) print_milli("launch", machine->launch, out), tw_text_printf(out, "\n");
    if (machine->pads) tw_text_printf(out, "pad_to: tile\n");
    tw_text_printf(out, "memories:\n");
    for (int m = 0; m < machine->n_memories; m++) print_memory(machine, &machine->memory[m], out);
    tw_text_printf(out, "engines:\n");
    for (int e = 0; e < machine->n_engines; e++) print_engine(machine, &machine->engine[e], out);
}
