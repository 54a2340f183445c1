/* src/machine/machine.c - what is found in machines, and their invariants; machine.h has the words, print.c the printer. */
#include "machine/machine.h"

#include "machine/arrange.h"
#include "machine/cost_kind.h"
#include "machine/discipline.h"
#include "machine/platform.h"

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

const char *tw_carries_name(unsigned carries)
{
    static const char *const name[] = {"", "in", "out", "both"};
    return name[carries & TW_BOTH_WAYS];
}

/* The strided mover that fills the memory of the compute engine, which must hold inputs and output; -1: there is none. */
static int strided_link(const tw_machine *machine)
{
    int memory = machine->engine[machine->compute].memory,
        outer = tw_path_outer(tw_machine_role_path(machine, TW_HOLDS_ACTIVATIONS), memory);
    if (machine->memory[memory].holds != TW_HOLDS_ALL) return -1;
    if (tw_path_outer(tw_machine_role_path(machine, TW_HOLDS_WEIGHTS), memory) != outer) return -1;
    int link = tw_machine_link(machine, outer, memory, TW_INWARDS, TW_HOLDS_ALL);
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
            view.memory[m].keeps &= TW_HOLDS_OUTPUT; /* what is loaded is a part of the output, and handed over */
        engine->cost = (tw_cost){.kind = TW_COST_CONSTANT};
        engine->min_tile = engine->tile_multiple = 1;
        engine->n_tile_sizes = 0;
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
    return tw_cost_busy(&engine->cost, engine->pipelined, work);
}

unsigned tw_role_of(const tw_op *op, int operand)
{
    if (operand == tw_op_output(op)) return TW_HOLDS_OUTPUT;
    return op->operand[operand].weights ? TW_HOLDS_WEIGHTS : TW_HOLDS_ACTIVATIONS;
}

/* The name that machines know an operand by: a piece is called like its input. */
static const char *called(const tw_op *op, int operand) { return op->operand[tw_op_variable(op, operand)].name; }

bool tw_names_have(const tw_names *names, const char *name)
{
    for (int i = 0; names && name && i < names->n; i++)
        if (strcmp(names->name[i], name) == 0) return true;
    return false;
}

/* Whether operands of the role that are called so, or otherwise than all that are named (NULL), lie in the memory. */
static bool holds(const tw_memory *memory, unsigned role, const char *name)
{
    return (memory->holds & role) || tw_names_have(memory->named, name);
}

static tw_path path_of(const tw_machine *machine, unsigned role, const char *name)
{
    tw_path path = 1;
    for (int m = 1; m < machine->n_memories; m++)
        if (holds(&machine->memory[m], role, name)) path |= 1u << m;
    return path;
}

tw_path tw_machine_role_path(const tw_machine *machine, unsigned role) { return path_of(machine, role, NULL); }

tw_path tw_machine_path(const tw_machine *machine, const tw_op *op, int operand)
{
    return path_of(machine, tw_role_of(op, operand), called(op, operand));
}

/* The roles, for what concerns each of them. */
static const struct role {
    unsigned bit;
    const char *name;
} roles[] = {{TW_HOLDS_ACTIVATIONS, "activations"}, {TW_HOLDS_WEIGHTS, "weights"}, {TW_HOLDS_OUTPUT, "the output"}};

/* The memory before m on the path of operands of the role that are called so, -1 when m is not on it. */
static int step_into(const tw_machine *machine, int m, unsigned role, const char *name)
{
    return holds(&machine->memory[m], role, name) ? tw_path_outer(path_of(machine, role, name), m) : -1;
}

/* Whether inputs of some role come from `outer` into `inner`. */
static bool has_inputs(const tw_machine *machine, int outer, int inner)
{
    return step_into(machine, inner, TW_HOLDS_ACTIVATIONS, NULL) == outer ||
           step_into(machine, inner, TW_HOLDS_WEIGHTS, NULL) == outer;
}

/* The ways that operands of these roles pass which are called so. */
static unsigned ways_of(const tw_machine *machine, int outer, int inner, unsigned among, const char *name)
{
    unsigned ways = 0;
    for (size_t i = 0; i < TW_COUNT(roles); i++)
        if ((roles[i].bit & among) && step_into(machine, inner, roles[i].bit, name) == outer)
            ways |= roles[i].bit == TW_HOLDS_OUTPUT ? TW_BOTH_WAYS : TW_INWARDS;
    return ways;
}

/* The same whatever they are called: a name that some memory holds may be that of an operand of any role. */
static unsigned ways_among(const tw_machine *machine, int outer, int inner, unsigned among)
{
    unsigned ways = ways_of(machine, outer, inner, among, NULL);
    for (int m = 1; m < machine->n_memories; m++) {
        const tw_names *named = machine->memory[m].named;
        for (int i = 0; named && i < named->n; i++) ways |= ways_of(machine, outer, inner, among, named->name[i]);
    }
    return ways;
}

unsigned tw_machine_ways(const tw_machine *machine, int outer, int inner)
{
    return outer < 0 || inner <= outer ? 0 : ways_among(machine, outer, inner, TW_HOLDS_ALL);
}

/* Of a mover. */
static unsigned roles_of(const tw_engine *mover)
{
    return mover->roles == 0 && !mover->named ? TW_HOLDS_ALL : mover->roles;
}

static bool links(const tw_engine *engine, int outer, int inner, unsigned way)
{
    return engine->kind == TW_MOVES && engine->outer == outer && engine->memory == inner && (engine->carries & way);
}

int tw_machine_link(const tw_machine *machine, int outer, int inner, unsigned way, unsigned among)
{
    for (int e = 0; e < machine->n_engines; e++)
        if (links(&machine->engine[e], outer, inner, way) && (roles_of(&machine->engine[e]) & among)) return e;
    return -1;
}

int tw_machine_link_of(const tw_machine *machine, const tw_op *op, int operand, int outer, int inner, unsigned way)
{
    for (int e = 0; e < machine->n_engines; e++)
        if (links(&machine->engine[e], outer, inner, way) &&
            tw_names_have(machine->engine[e].named, called(op, operand)))
            return e;
    return tw_machine_link(machine, outer, inner, way, tw_role_of(op, operand));
}

bool tw_engine_carries(const tw_engine *mover, const tw_op *op, int operand)
{
    return tw_names_have(mover->named, called(op, operand)) || (roles_of(mover) & tw_role_of(op, operand));
}

static bool has_names(const tw_machine *machine)
{
    bool named = false;
    for (int m = 0; m < machine->n_memories; m++) named |= machine->memory[m].named != NULL;
    for (int e = 0; e < machine->n_engines; e++) named |= machine->engine[e].named != NULL;
    return named;
}

tw_status tw_machine_check_op(const tw_machine *machine, const tw_op *op, tw_diag *diag)
{
    if (!has_names(machine)) return TW_OK;
    for (int o = 0; o < op->n_operands; o++) {
        tw_path path = tw_machine_path(machine, op, o);
        bool output = o == tw_op_output(op);
        for (int m = tw_path_innermost(path); m > 0; m = tw_path_outer(path, m)) {
            int outer = tw_path_outer(path, m);
            if (tw_machine_link_of(machine, op, o, outer, m, output ? TW_OUTWARDS : TW_INWARDS) >= 0) continue;
            return tw_diag_error(diag, op->loc, "operator '%s': no engine carries '%s' from '%s' to '%s'", op->name,
                                 op->operand[o].name, machine->memory[output ? m : outer].name,
                                 machine->memory[output ? outer : m].name);
        }
        const tw_engine *compute = &machine->engine[machine->compute];
        if (output && tw_path_innermost(path) != compute->memory)
            return tw_diag_error(diag, op->loc,
                                 "operator '%s': memory '%s' holds '%s', but engine '%s' works on '%s'", op->name,
                                 machine->memory[tw_path_innermost(path)].name, op->operand[o].name, compute->name,
                                 machine->memory[compute->memory].name);
    }
    return TW_OK;
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

/* The lists of sizes that the reader of files lets through. */
static bool are_sizes(const tw_engine *engine)
{
    for (int i = 0; i < engine->n_tile_sizes; i++) {
        const tw_tile_sizes *list = &engine->tile_sizes[i];
        int64_t before = 0;
        if (!list->loop || list->n_sizes < 1 || list->n_sizes > TW_MAX_TILE_SIZES) return false;
        for (int k = 0; k < list->n_sizes; before = list->size[k++])
            if (list->size[k] <= before || list->size[k] > TW_EXTENT_MAX) return false;
    }
    return engine->n_tile_sizes >= 0 && engine->n_tile_sizes <= TW_MAX_SIZED_LOOPS;
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
        if (!are_sizes(engine))
            return tw_diag_error(diag, engine->loc,
                                 "engine '%s' has tile sizes that do not rise within 1..%" PRId64, engine->name,
                                 TW_EXTENT_MAX);
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
        if ((machine->memory[m].holds == 0 && !machine->memory[m].named) || machine->memory[m].holds > TW_HOLDS_ALL)
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

/* Whether both carry something alike. */
static bool overlap(const tw_engine *a, const tw_engine *b)
{
    if (roles_of(a) & roles_of(b)) return true;
    for (int i = 0; a->named && i < a->named->n; i++)
        if (tw_names_have(b->named, a->named->name[i])) return true;
    return false;
}

/* The first mover of a step that carries something which one before it does, -1 when there is none. */
static int second_link(const tw_machine *machine, int outer, int inner, unsigned way, int *first)
{
    for (int e = 0; e < machine->n_engines; e++) {
        if (!links(&machine->engine[e], outer, inner, way)) continue;
        for (*first = 0; *first < e; ++*first)
            if (links(&machine->engine[*first], outer, inner, way) &&
                overlap(&machine->engine[*first], &machine->engine[e]))
                return e;
    }
    return -1;
}

/* One step of a path in one direction: at most one engine carries that way and, when `required`, one does. Several share
 * the step when they carry different operands. */
static tw_status check_step(const tw_machine *machine, int outer, int inner, unsigned way, bool required,
                            tw_diag *diag)
{
    bool in = way == TW_INWARDS;
    const char *from = machine->memory[in ? outer : inner].name, *to = machine->memory[in ? inner : outer].name;
    int first = 0, e = 0;
    while (e < machine->n_engines && !links(&machine->engine[e], outer, inner, way)) e++;
    if (e == machine->n_engines)
        return required ? tw_diag_error(diag, machine->memory[inner].loc, "no engine carries %s from '%s' to '%s'",
                                        in ? "inputs" : "the output", from, to)
                        : TW_OK;
    int second = second_link(machine, outer, inner, way, &first);
    if (second < 0) return TW_OK;
    const tw_engine *a = &machine->engine[first], *b = &machine->engine[second];
    tw_diag_error(diag, b->loc, "engine '%s' is a second mover from '%s' to '%s'", b->name, from, to);
    tw_diag_note(diag, a->loc, "engine '%s' is here", a->name);
    return TW_ERR_INPUT;
}

/* Where several engines share a step, one of them carries each role that passes. */
static tw_status check_shares(const tw_machine *machine, int inner, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (size_t i = 0; i < TW_COUNT(roles); i++) {
        bool in = roles[i].bit != TW_HOLDS_OUTPUT;
        unsigned way = in ? TW_INWARDS : TW_OUTWARDS;
        int outer = step_into(machine, inner, roles[i].bit, NULL), others = 0;
        for (int e = 0; e < machine->n_engines && outer >= 0; e++)
            others += links(&machine->engine[e], outer, inner, way);
        if (others == 0 || tw_machine_link(machine, outer, inner, way, roles[i].bit) >= 0) continue;
        status =
            tw_diag_error(diag, machine->memory[inner].loc, "no engine carries %s from '%s' to '%s'", roles[i].name,
                          machine->memory[in ? outer : inner].name, machine->memory[in ? inner : outer].name);
    }
    return status;
}

/* Steps that only operands pass which a memory holds by their names. */
static tw_status check_named_steps(const tw_machine *machine, int inner, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (int outer = 0; outer < inner; outer++) {
        if (ways_of(machine, outer, inner, TW_HOLDS_ALL, NULL) != 0) continue;
        if (check_step(machine, outer, inner, TW_INWARDS, false, diag) != TW_OK) status = TW_ERR_INPUT;
        if (check_step(machine, outer, inner, TW_OUTWARDS, false, diag) != TW_OK) status = TW_ERR_INPUT;
    }
    return status;
}

static tw_status check_paths(const tw_machine *machine, tw_diag *diag)
{
    tw_status status = TW_OK;
    for (int m = 1; m < machine->n_memories; m++) {
        int in = step_into(machine, m, TW_HOLDS_ACTIVATIONS, NULL),
            w = step_into(machine, m, TW_HOLDS_WEIGHTS, NULL), out = step_into(machine, m, TW_HOLDS_OUTPUT, NULL);
        if (in >= 0 && check_step(machine, in, m, TW_INWARDS, true, diag) != TW_OK) status = TW_ERR_INPUT;
        if (w >= 0 && w != in && check_step(machine, w, m, TW_INWARDS, true, diag) != TW_OK) status = TW_ERR_INPUT;
        if (out >= 0 && check_step(machine, out, m, TW_OUTWARDS, true, diag) != TW_OK) status = TW_ERR_INPUT;
        if (out >= 0 && out != in && out != w && check_step(machine, out, m, TW_INWARDS, false, diag) != TW_OK)
            status = TW_ERR_INPUT;
        if (check_shares(machine, m, diag) != TW_OK) status = TW_ERR_INPUT;
        if (machine->memory[m].named && check_named_steps(machine, m, diag) != TW_OK) status = TW_ERR_INPUT;
    }
    return status;
}

/* What a mover is said to carry passes there. */
static tw_status check_roles(const tw_machine *machine, const tw_engine *mover, tw_diag *diag)
{
    for (size_t i = 0; i < TW_COUNT(roles); i++) {
        if (!(mover->roles & roles[i].bit) || ways_among(machine, mover->outer, mover->memory, roles[i].bit))
            continue;
        return tw_diag_error(diag, mover->loc, "engine '%s' carries %s between '%s' and '%s', where none pass",
                             mover->name, roles[i].name, machine->memory[mover->outer].name,
                             machine->memory[mover->memory].name);
    }
    return TW_OK;
}

/* The ways on which it has something to carry. */
static unsigned ways_of_mover(const tw_machine *machine, const tw_engine *mover)
{
    unsigned ways = ways_among(machine, mover->outer, mover->memory, roles_of(mover));
    for (int i = 0; mover->named && i < mover->named->n; i++)
        ways |= ways_of(machine, mover->outer, mover->memory, TW_HOLDS_ALL, mover->named->name[i]);
    return ways;
}

/* A mover does nothing that no path needs. */
static tw_status check_use(const tw_machine *machine, const tw_engine *mover, tw_diag *diag)
{
    const char *outer = machine->memory[mover->outer].name, *inner = machine->memory[mover->memory].name;
    if (tw_machine_ways(machine, mover->outer, mover->memory) == 0)
        return tw_diag_error(diag, mover->loc, "engine '%s' moves between '%s' and '%s', which are not neighbours",
                             mover->name, outer, inner);
    TW_TRY(check_roles(machine, mover, diag));
    if (mover->carries & ~ways_of_mover(machine, mover))
        return tw_diag_error(diag, mover->loc,
                             "engine '%s' carries out from '%s' to '%s', where the output does not pass; "
                             "it needs 'carries: in'",
                             mover->name, inner, outer);
    if (mover->joins && !(has_inputs(machine, mover->outer, mover->memory) && (mover->carries & TW_INWARDS)))
        return tw_diag_error(diag, mover->loc, "engine '%s' joins inputs, but carries none", mover->name);
    if (mover->sums && !(mover->carries & TW_OUTWARDS))
        return tw_diag_error(diag, mover->loc, "engine '%s' sums on the way out, but carries nothing out",
                             mover->name);
    return TW_OK;
}

/* Whether there may be a path that both are on: an operand that one holds by its name may be of any role. */
static bool may_share(const tw_memory *a, const tw_memory *b)
{
    return (a->holds & b->holds) || a->named || b->named;
}

/* The first memory inside m, on a path that both are on, which there are fewer copies of, -1 when there is none. */
static int wider_inside(const tw_machine *machine, int m)
{
    for (int i = m + 1; i < machine->n_memories; i++)
        if ((machine->memory[m].per & ~machine->memory[i].per) &&
            may_share(&machine->memory[m], &machine->memory[i]))
            return i;
    return -1;
}

/* Copies of a memory belong to parts of the array: nothing that all parts share lies between them. */
static tw_status check_private(const tw_machine *machine, tw_diag *diag)
{
    const tw_engine *compute = &machine->engine[machine->compute];
    int n_dims = tw_cost_dims(&compute->cost);
    for (int m = 0; m < machine->n_memories; m++) {
        const tw_memory *memory = &machine->memory[m];
        int inside = wider_inside(machine, m);
        if (memory->per == 0) continue;
        if (m == 0)
            return tw_diag_error(diag, memory->loc, "the outermost memory '%s' cannot be private", memory->name);
        if (memory->per >> n_dims)
            return tw_diag_error(diag, memory->loc, "memory '%s' is private to a dimension that '%s' does not have",
                                 memory->name, compute->name);
        if (inside < 0) continue;
        tw_diag_error(diag, memory->loc, "memory '%s' is private, but '%s', which lies inside it, is %s",
                      memory->name, machine->memory[inside].name,
                      machine->memory[inside].per ? "private to other dimensions" : "shared");
        tw_diag_note(diag, machine->memory[inside].loc, "memory '%s' is here", machine->memory[inside].name);
        return TW_ERR_INPUT;
    }
    return TW_OK;
}

/* What the reader of files lets through. */
static bool is_sound(const tw_engine *engine)
{
    if (engine->count < 1 || engine->count > TW_MAX_UNITS) return false;
    if (engine->pipelined && !tw_cost_has_latency(&engine->cost)) return false;
    return tw_cost_check(&engine->cost, engine->kind);
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
    if (status == TW_OK && compute == TW_OK) compute = check_private(machine, diag);
    return status != TW_OK ? status : compute;
}

tw_status tw_machine_check(const tw_machine *machine, tw_diag *diag)
{
    TW_TRY(check_memories(machine, diag));
    TW_TRY(tw_discipline_of(machine)->check(machine, diag));
    return machine->platform ? tw_platform_check(machine->platform, diag) : TW_OK;
}
