/* src/machine/machine.c - costs, finders, invariants and the printer of machines, see machine.h. */
#include "machine/machine.h"

#include <string.h>

const char *tw_unit_name(tw_unit unit)
{
    static const char *const name[TW_N_UNITS] = {"element", "byte"};
    return name[unit];
}

const char *tw_timing_name(tw_timing timing)
{
    static const char *const name[TW_N_TIMINGS] = {"lockstep"};
    return name[timing];
}

const char *tw_accumulate_name(tw_accumulate mode)
{
    static const char *const name[TW_N_ACCUMULATES] = {"separate", "in-place", "fused"};
    return name[mode];
}

int64_t tw_cost_cycles(const tw_cost *cost, int64_t work)
{
    int64_t cycles;
    switch (cost->kind) {
    case TW_COST_CONSTANT: return cost->fixed;
    case TW_COST_LINEAR:
        return tw_ckd_add(cost->fixed, tw_cdiv(work, cost->per_cycle), &cycles) ? cycles : INT64_MAX;
    case TW_COST_STEPPED:
        return tw_ckd_mul(cost->fixed, tw_cdiv(work, cost->per_cycle), &cycles) ? cycles : INT64_MAX;
    }
    return INT64_MAX;
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

/* ---- invariants ---- */

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

static tw_status check_compute(const tw_machine *machine, tw_diag *diag)
{
    int inner = machine->n_memories - 1, first = -1;
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
            return tw_diag_error(diag, engine->loc,
                                 "compute engine '%s' works on '%s', must be on the innermost memory '%s'",
                                 engine->name, machine->memory[engine->memory].name, machine->memory[inner].name);
    }
    if (first < 0)
        return tw_diag_error(diag, machine->memory[inner].loc, "no engine computes on the innermost memory '%s'",
                             machine->memory[inner].name);
    assert(machine->compute == first);
    return TW_OK;
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

tw_status tw_machine_check(const tw_machine *machine, tw_diag *diag)
{
    TW_TRY(check_memories(machine, diag));
    tw_status movers = check_movers(machine, diag), compute = check_compute(machine, diag);
    tw_status adders = check_adders(machine, diag);
    TW_TRY(movers);
    TW_TRY(compute);
    return adders;
}

/* ---- the printer ---- */

static void print_memory(const tw_memory *memory, tw_text *out)
{
    tw_text_printf(out, "  - {name: %s, size: ", memory->name);
    if (memory->size == TW_UNLIMITED)
        tw_text_printf(out, "unlimited");
    else
        tw_text_printf(out, "%" PRId64, memory->size);
    tw_text_printf(out, ", align: %" PRId64 "}\n", memory->align);
}

static void print_cost(const tw_cost *cost, tw_text *out)
{
    switch (cost->kind) {
    case TW_COST_CONSTANT: tw_text_printf(out, "{constant: %" PRId64 "}", cost->fixed); break;
    case TW_COST_LINEAR:
        tw_text_printf(out, "{latency: %" PRId64 ", per_cycle: %" PRId64 "}", cost->fixed, cost->per_cycle);
        break;
    case TW_COST_STEPPED:
        tw_text_printf(out, "{step: %" PRId64 ", per_step: %" PRId64 "}", cost->per_cycle, cost->fixed);
        break;
    }
}

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

static void print_compute(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    print_bits("computes", engine->computes, TW_N_COMPUTES, compute_name, out);
    tw_text_printf(out, ", on: %s", machine->memory[engine->memory].name);
    print_bits("accumulate", engine->accumulate, TW_N_ACCUMULATES, mode_name, out);
    tw_text_printf(out, ", min_tile: %" PRId64 ", pad_limit: %s", engine->min_tile,
                   engine->pad_half ? "half-kernel" : "none");
}

static void print_engine(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    tw_text_printf(out, "  - {name: %s", engine->name);
    if (engine->kind == TW_MOVES)
        tw_text_printf(out, ", between: [%s, %s], channels: %s", machine->memory[engine->outer].name,
                       machine->memory[engine->memory].name, engine->one_channel ? "1" : "unlimited");
    if (engine->kind == TW_COMPUTES) print_compute(machine, engine, out);
    if (engine->kind == TW_ADDS)
        tw_text_printf(out, ", computes: sum, on: %s", machine->memory[engine->memory].name);
    if (engine->kind == TW_ADDS && engine->shares >= 0)
        tw_text_printf(out, ", shares: %s", machine->engine[engine->shares].name);
    tw_text_printf(out, ", cost: ");
    print_cost(&engine->cost, out);
    tw_text_printf(out, "}\n");
}

void tw_machine_print(const tw_machine *machine, tw_text *out)
{
    tw_text_printf(out, "machine: %s\nunit: %s\ntiming: %s\nmemories:\n", machine->name,
                   tw_unit_name(machine->unit), tw_timing_name(machine->timing));
    for (int m = 0; m < machine->n_memories; m++) print_memory(&machine->memory[m], out);
    tw_text_printf(out, "engines:\n");
    for (int e = 0; e < machine->n_engines; e++) print_engine(machine, &machine->engine[e], out);
}
