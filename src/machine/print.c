/* src/machine/print.c - a machine, and the platform that it is a view of, as a file that the reader takes. */
#include "machine/cost_kind.h"
#include "machine/discipline.h"
#include "machine/platform.h"

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
static void print_pj(const char *key, int64_t fj, tw_text *out)
{
    int64_t rest = fj % 1000;
    int digits = 3;
    tw_text_printf(out, ", %s: %" PRId64, key, fj / 1000);
    for (; rest > 0 && rest % 10 == 0; rest /= 10) digits--;
    if (rest > 0) tw_text_printf(out, ".%0*" PRId64, digits, rest);
    tw_text_printf(out, " pJ");
}

static void print_energy(int64_t fj, tw_text *out)
{
    if (fj > 0) print_pj("energy", fj, out);
}

/* Operands, by roles and by names. */
static void print_roles(const char *key, unsigned bits, const tw_names *named, tw_text *out)
{
    static const char *const inputs[] = {[0] = "",
                                         [TW_HOLDS_ACTIVATIONS] = "activations",
                                         [TW_HOLDS_WEIGHTS] = "weights",
                                         [TW_HOLDS_INPUTS] = "inputs"};
    const char *in = inputs[bits & TW_HOLDS_INPUTS], *output = bits & TW_HOLDS_OUTPUT ? "output" : "";
    tw_text_printf(out, ", %s: [%s%s%s", key, in, *in && *output ? ", " : "", output);
    for (int i = 0; named && i < named->n; i++) tw_text_printf(out, "%s%s", i || bits ? ", " : "", named->name[i]);
    tw_text_printf(out, "]");
}

/* The dimensions of the array that there is one of it for each index of. */
static void print_per(const tw_machine *machine, const tw_memory *memory, tw_text *out)
{
    const tw_cost *cost = &machine->engine[machine->compute].cost;
    const char *sep = "";
    if (memory->per == 0) return;
    tw_text_printf(out, ", per: [");
    for (int d = 0; d < tw_cost_dims(cost); d++) {
        if (!(memory->per >> d & 1)) continue;
        tw_text_printf(out, "%s%s", sep, cost->array.dim[d]);
        sep = ", ";
    }
    tw_text_printf(out, "]");
}

static void print_memory(const tw_machine *machine, const tw_memory *memory, tw_text *out)
{
    tw_text_printf(out, "  - {name: %s, size: ", memory->name);
    if (memory->size == TW_UNLIMITED)
        tw_text_printf(out, "unlimited");
    else
        tw_text_printf(out, "%" PRId64, memory->size);
    tw_text_printf(out, ", align: %" PRId64, memory->align);
    if (tw_machine_knows(machine, "holds")) print_roles("holds", memory->holds, memory->named, out);
    if (memory->keeps != TW_HOLDS_ALL) print_roles("keeps", memory->keeps, NULL, out);
    if (memory->whole) tw_text_printf(out, ", whole: true");
    if (memory->doubles != TW_DOUBLE_ANY) tw_text_printf(out, ", buffers: %s", tw_doubling_name(memory->doubles));
    if (memory->placement != TW_PLACE_SLOTS)
        tw_text_printf(out, ", placement: %s", tw_placement_name(memory->placement));
    print_per(machine, memory, out);
    print_energy(memory->energy_fj, out);
    tw_text_printf(out, "}\n");
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
    if (engine->roles != 0 || engine->named) print_roles("roles", engine->roles, engine->named, out);
    tw_text_printf(out, "%s%s", engine->multicast ? ", multicast: true" : "", engine->sums ? ", sums: true" : "");
}

static void print_tile_sizes(const tw_engine *engine, tw_text *out)
{
    for (int i = 0; i < engine->n_tile_sizes; i++) {
        const tw_tile_sizes *list = &engine->tile_sizes[i];
        tw_text_printf(out, "%s%s: [", i ? ", " : ", tile_sizes: {", list->loop);
        for (int k = 0; k < list->n_sizes; k++) tw_text_printf(out, "%s%" PRId64, k ? ", " : "", list->size[k]);
        tw_text_printf(out, "]%s", i + 1 == engine->n_tile_sizes ? "}" : "");
    }
}

static void print_compute(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    print_bits("computes", engine->computes, TW_N_COMPUTES, compute_name, out);
    tw_text_printf(out, ", memory: %s", machine->memory[engine->memory].name);
    print_bits("accumulate", engine->accumulate, TW_N_ACCUMULATES, mode_name, out);
    tw_text_printf(out, ", min_tile: %" PRId64, engine->min_tile);
    if (engine->tile_multiple > 1) tw_text_printf(out, ", tile_multiple: %" PRId64, engine->tile_multiple);
    if (engine->multiple_parallel) tw_text_printf(out, ", multiple_loops: parallel");
    print_tile_sizes(engine, out);
    if (engine->unrolls_parallel || engine->unrolls_whole)
        tw_text_printf(out, ", unrolls: %s",
                       !engine->unrolls_whole      ? "parallel"
                       : !engine->unrolls_parallel ? "whole"
                                                   : "[parallel, whole]");
    tw_text_printf(out, ", pad_limit: %s", engine->pad_half ? "half-kernel" : "none");
    if (engine->late) tw_text_printf(out, ", writes: end");
    for (int c = 0, n = 0; c < TW_N_COMPUTES && machine->has_apart; c++) {
        if (machine->has_apart >> c & 1) {
            tw_text_printf(out, "%s%s: ", n++ ? ", " : ", cost_of: {", tw_compute_name((tw_compute)c));
            tw_cost_print(&machine->apart[c], machine, out);
        }
        if (c + 1 == TW_N_COMPUTES) tw_text_printf(out, "}");
    }
    print_energy(engine->energy_fj, out);
}

static void print_adder(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    tw_text_printf(out, ", computes: sum, memory: %s", machine->memory[engine->memory].name);
    if (engine->shares >= 0) tw_text_printf(out, ", shares: %s", machine->engine[engine->shares].name);
}

static void open_engine(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    tw_text_printf(out, "  - {name: %s", engine->name);
    switch (engine->kind) {
    case TW_MOVES: print_mover(machine, engine, out); break;
    case TW_COMPUTES: print_compute(machine, engine, out); break;
    case TW_ADDS: print_adder(machine, engine, out); break;
    }
}

static void close_engine(const tw_machine *machine, const tw_engine *engine, tw_text *out)
{
    if (tw_machine_knows(machine, "count"))
        tw_text_printf(out, ", count: %" PRId64 ", pipelined: %s", engine->count,
                       engine->pipelined ? "true" : "false");
    tw_text_printf(out, ", cost: ");
    tw_cost_print(&engine->cost, machine, out);
    tw_text_printf(out, "}\n");
}

/* ---- the printer of platforms ---- */

/* A view that has the memory or the engine of the platform, and what it is called there. */
static const tw_platform_view *view_with(const tw_platform *p, int memory, int engine, int *at)
{
    for (int v = 0; v < p->n_views; v++) {
        const tw_platform_view *view = &p->view[v];
        for (*at = 0; *at < view->machine.n_memories; ++*at)
            if (view->memory[*at] == memory) return view;
        for (*at = 0; *at < view->machine.n_engines; ++*at)
            if (view->mover[*at] == engine) return view;
    }
    return &p->view[0]; /* a platform has nothing that no view has, but links */
}

static void print_memories_of(const tw_platform *p, int core, tw_text *out)
{
    for (int m = 0, n = 0, at; m < p->n_memories; m++) {
        if (p->memory[m].core != core) continue;
        const tw_platform_view *view = view_with(p, m, -1, &at);
        tw_memory memory = view->machine.memory[at];
        memory.name = p->memory[m].is.name;
        if (n++ == 0) tw_text_printf(out, core < 0 ? "memories:\n" : "  memories:\n");
        print_memory(&view->machine, &memory, out);
    }
}

/* The memories of a view, where these are not all that its compute engine sees. */
static void print_paths(const tw_platform *p, const tw_platform_view *view, const tw_machine *named, tw_text *out)
{
    int core = p->engine[view->engine].core, n = 0;
    for (int m = 0; m < p->n_memories; m++) n += p->memory[m].core < 0 || p->memory[m].core == core;
    for (int m = 0; m < named->n_memories; m++) { /* those on the way through other cores */
        int other = p->memory[view->memory[m]].core;
        n += other >= 0 && other != core;
    }
    if (n == named->n_memories) return;
    for (int m = 1; m < named->n_memories; m++)
        tw_text_printf(out, "%s%s", m == 1 ? ", memories: [" : ", ", named->memory[m].name);
    tw_text_printf(out, "]");
}

/* A link names both of its memories in full. */
static void print_link(const tw_platform *p, int e, tw_text *out)
{
    tw_machine named = p->view[0].machine;
    tw_engine link = p->engine[e].is;
    named.memory[0].name = p->memory[link.outer].name;
    named.memory[1].name = p->memory[link.memory].name;
    link.outer = 0;
    link.memory = 1;
    open_engine(&named, &link, out);
    close_engine(&named, &link, out);
}

/* An engine of a core calls the memories there by their short names. */
static void print_engine_of(const tw_platform *p, int e, tw_text *out)
{
    int at;
    if (tw_platform_is_link(p, e)) {
        print_link(p, e, out);
        return;
    }
    const tw_platform_view *view = view_with(p, -1, e, &at);
    tw_machine named = view->machine;
    tw_engine engine = named.engine[at];
    for (int m = 0; m < named.n_memories; m++) {
        const tw_platform_memory *memory = &p->memory[view->memory[m]];
        named.memory[m].name = memory->core == p->engine[e].core ? memory->is.name : memory->name;
    }
    engine.name = p->engine[e].is.name;
    open_engine(&named, &engine, out);
    if (engine.kind == TW_COMPUTES) print_paths(p, view, &named, out);
    close_engine(&named, &engine, out);
}

static void print_engines_of(const tw_platform *p, int core, tw_text *out)
{
    for (int e = 0, n = 0; e < p->n_engines; e++) {
        if (p->engine[e].core != core) continue;
        if (n++ == 0) tw_text_printf(out, core < 0 ? "engines:\n" : "  engines:\n");
        print_engine_of(p, e, out);
    }
}

static void print_port(const tw_platform *p, int i, tw_text *out)
{
    static const char *const serves[] = {"", "reads", "writes", "both"};
    const tw_port *port = &p->port[i];
    const char *sep = "";
    tw_text_printf(out, "  - {name: %s", port->name);
    if (port->memory >= 0) tw_text_printf(out, ", memory: %s", p->memory[port->memory].name);
    tw_text_printf(out, ", ways: %" PRId64, port->ways);
    if (port->per_cycle > 0) tw_text_printf(out, ", per_cycle: %" PRId64, port->per_cycle);
    tw_text_printf(out, ", word: %" PRId64, port->word);
    if (port->read_fj >= 0) print_pj("read", port->read_fj, out);
    if (port->write_fj >= 0) print_pj("write", port->write_fj, out);
    if (port->broadcasts) tw_text_printf(out, ", broadcast: true");
    if (port->memory >= 0) tw_text_printf(out, ", serves: %s", serves[port->serves]);
    tw_text_printf(out, ", movers: [");
    for (int e = 0; e < p->n_engines; e++) {
        const tw_platform_engine *engine = &p->engine[e];
        if (engine->reads[0] != i && engine->reads[1] != i && engine->writes[0] != i && engine->writes[1] != i)
            continue;
        tw_text_printf(out, "%s%s", sep, engine->name);
        sep = ", ";
    }
    tw_text_printf(out, "]}\n");
}

/* The parts of a machine with one view; of a platform those of all views, and its cores. */
static void print_parts(const tw_machine *machine, tw_text *out)
{
    const tw_platform *p = machine->platform;
    if (!p || (p->n_cores == 0 && p->n_views == 1)) {
        tw_text_printf(out, "memories:\n");
        for (int m = 0; m < machine->n_memories; m++) print_memory(machine, &machine->memory[m], out);
        tw_text_printf(out, "engines:\n");
        for (int e = 0; e < machine->n_engines; e++) {
            open_engine(machine, &machine->engine[e], out);
            close_engine(machine, &machine->engine[e], out);
        }
        return;
    }
    print_memories_of(p, -1, out);
    print_engines_of(p, -1, out);
    for (int c = 0; c < p->n_cores; c++) {
        tw_text_printf(out, "%s- name: %s\n", c == 0 ? "cores:\n" : "", p->core[c].name);
        print_memories_of(p, c, out);
        print_engines_of(p, c, out);
    }
}

void tw_machine_print(const tw_machine *machine, tw_text *out)
{
    tw_text_printf(out, "machine: %s\nunit: %s\ntiming: %s\n", machine->name, tw_unit_name(machine->unit),
                   tw_timing_name(machine->timing));
    if (tw_machine_knows(machine, "reuse")) tw_text_printf(out, "reuse: %s\n", tw_reuse_name(machine->reuse));
    if (machine->clock_mhz > 0) tw_text_printf(out, "clock_mhz: %" PRId64 "\n", machine->clock_mhz);
    if (machine->barrier > 0) tw_milli_print("barrier", machine->barrier, out), tw_text_printf(out, "\n");
    if (machine->launch > 0) tw_milli_print("launch", machine->launch, out), tw_text_printf(out, "\n");
    if (machine->pads) tw_text_printf(out, "pad_to: tile\n");
    print_parts(machine, out);
    for (int i = 0; machine->platform && i < machine->platform->n_ports; i++) {
        if (i == 0) tw_text_printf(out, "ports:\n");
        print_port(machine->platform, i, out);
    }
}
