/* src/machine/vary.c - machines with one part changed in every place where it stands; see vary.h. */
#include "machine/vary.h"

#include <string.h>

#define COPY(to, from, n)                                          \
    do {                                                           \
        TW_ALLOC(arena, to, n);                                    \
        if ((n) > 0) memcpy(to, from, (size_t)(n) * sizeof *(to)); \
    } while (0)

tw_status tw_variant_of(const tw_machine *machine, tw_arena *arena, tw_variant *out)
{
    const tw_platform *p = machine->platform;
    *out = (tw_variant){0};
    COPY(out->machine, machine, 1);
    if (!p) return TW_OK;
    COPY(out->platform, p, 1);
    COPY(out->memory, p->memory, p->n_memories);
    COPY(out->engine, p->engine, p->n_engines);
    COPY(out->view, p->view, p->n_views);
    COPY(out->port, p->port, p->n_ports);
    out->platform->memory = out->memory;
    out->platform->engine = out->engine;
    out->platform->view = out->view;
    out->platform->port = out->port;
    out->view[0].machine = *machine;
    for (int v = 0; v < p->n_views; v++) out->view[v].machine.platform = out->platform;
    out->machine->platform = out->platform;
    return TW_OK;
}

int tw_variant_memory(const tw_variant *v, int memory) { return v->view ? v->view[0].memory[memory] : memory; }
int tw_variant_engine(const tw_variant *v, int engine) { return v->view ? v->view[0].mover[engine] : engine; }

void tw_variant_set_size(tw_variant *v, int memory, int64_t size)
{
    if (!v->platform) {
        v->machine->memory[memory].size = size;
        return;
    }
    v->memory[memory].is.size = size;
    for (int i = 0; i < v->platform->n_views; i++)
        for (int m = 0; m < v->view[i].machine.n_memories; m++)
            if (v->view[i].memory[m] == memory) v->view[i].machine.memory[m].size = size;
    memcpy(v->machine->memory, v->view[0].machine.memory, sizeof v->machine->memory);
}

static void change_engine(tw_engine *to, const tw_engine *is)
{
    to->cost = is->cost;
    to->count = is->count;
    to->one_channel = is->one_channel;
}

/* How many there are of a memory that is private to dimensions of the view's array; 0: too many. */
static int64_t lanes_in(const tw_platform_view *view, const tw_memory *memory)
{
    const tw_cost *cost = &view->machine.engine[view->machine.compute].cost;
    int64_t lanes = 1;
    for (int d = 0; d < tw_cost_dims(cost); d++)
        if ((memory->per >> d & 1) && (!tw_ckd_mul(lanes, cost->array.size[d], &lanes) || lanes > TW_EXTENT_MAX))
            return 0;
    return lanes;
}

/* Private memories are as many as the arrays are long; all arrays that share one agree on that. */
static bool count_lanes(tw_variant *v)
{
    bool seen[TW_MAX_PLATFORM_MEMORIES] = {false};
    for (int i = 0; i < v->platform->n_views; i++)
        for (int m = 0; m < v->view[i].machine.n_memories; m++) {
            int at = v->view[i].memory[m];
            if (v->memory[at].is.per == 0) continue;
            int64_t lanes = lanes_in(&v->view[i], &v->view[i].machine.memory[m]);
            if (lanes == 0 || (seen[at] && v->memory[at].lanes != lanes)) return false;
            seen[at] = true;
            v->memory[at].lanes = lanes;
        }
    return true;
}

bool tw_variant_set_engine(tw_variant *v, int engine, const tw_engine *is)
{
    if (!v->platform) {
        change_engine(&v->machine->engine[engine], is);
        return true;
    }
    change_engine(&v->engine[engine].is, is);
    for (int i = 0; i < v->platform->n_views; i++)
        for (int e = 0; e < v->view[i].machine.n_engines; e++)
            if (v->view[i].mover[e] == engine) change_engine(&v->view[i].machine.engine[e], is);
    memcpy(v->machine->engine, v->view[0].machine.engine, sizeof v->machine->engine);
    return count_lanes(v);
}

static void count_outermost(tw_machine *machine)
{
    for (int m = 0; m < machine->n_memories; m++) machine->memory[m].energy_fj = m == 0;
    for (int e = 0; e < machine->n_engines; e++) machine->engine[e].energy_fj = 0;
}

void tw_variant_count_outermost(tw_variant *v)
{
    count_outermost(v->machine);
    if (!v->platform) return;
    for (int m = 0; m < v->platform->n_memories; m++) v->memory[m].is.energy_fj = m == 0;
    for (int e = 0; e < v->platform->n_engines; e++) v->engine[e].is.energy_fj = 0;
    for (int i = 0; i < v->platform->n_views; i++) count_outermost(&v->view[i].machine);
    for (int p = 0; p < v->platform->n_ports; p++) v->port[p].read_fj = v->port[p].write_fj = -1;
}
