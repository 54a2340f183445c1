/* src/advise/change.c - machines that are better in one thing; change.h lists them.
 *
 * A change is a copy of the machine with one number made better, and the words for it. Nothing is judged here. */
#include "advise/change.h"

#include "machine/discipline.h"
#include "plan/links.h"
#include "write/number.h"

/* What the list is made with. */
typedef struct lister {
    const tw_machine *machine;
    tw_arena *arena;
    tw_change_sink sink;
} lister;

/* Hands on the change with these words; NULL: there was no memory for them. */
static tw_status put(const lister *l, tw_change_kind kind, const char *at, const char *text,
                     const tw_machine *changed)
{
    if (!text) return TW_ERR_NOMEM;
    return l->sink.put(l->sink.user, &(tw_remedy){.kind = kind, .at = at, .change = text}, changed);
}

/* Twice as much; 0 when there is no such number. */
static int64_t twice(int64_t x, int64_t most) { return x <= most / 2 ? 2 * x : 0; }

static tw_status list_memories(const lister *l)
{
    for (int m = 1; m < l->machine->n_memories; m++) {
        const tw_memory *memory = &l->machine->memory[m];
        tw_machine changed = *l->machine;
        int64_t size = memory->size == TW_UNLIMITED ? 0 : twice(memory->size, INT64_MAX / 4);
        if (size == 0) continue;
        changed.memory[m].size = size;
        TW_TRY(
            put(l, TW_MORE_MEMORY, memory->name,
                tw_arena_printf(l->arena, "twice as large: %s %s", TW_GROUPED(size), tw_unit_plural(changed.unit)),
                &changed));
    }
    return TW_OK;
}

/* ---- faster engines ---- */

/* Halves what one `of` takes; false when it cannot be less. */
static bool halve_each(int64_t *x, const char *of, tw_arena *arena, const char **text)
{
    if (*x < 2) return false;
    *x /= 2;
    *text = tw_arena_printf(arena, "half the time for each %s", of);
    return true;
}

static bool halve_constant(tw_cost_constant *cost, tw_arena *arena, const char **text)
{
    if (cost->cycles < 2) return false;
    cost->cycles /= 2;
    cost->busy = tw_max(tw_min(cost->busy, 1), cost->busy / 2);
    *text =
        tw_arena_printf(arena, "half the time: %s cycle%s", TW_GROUPED(cost->cycles), cost->cycles == 1 ? "" : "s");
    return true;
}

/* Of `each`, a cycle or a step: twice the work. */
static bool widen(int64_t *x, const char *work, const char *each, tw_arena *arena, const char **text)
{
    *x = twice(*x, TW_EXTENT_MAX);
    *text = tw_arena_printf(arena, "twice as fast: %s %s per %s", TW_GROUPED(*x), work, each);
    return *x > 0;
}

/* Makes the cost smaller and says how; false when it is as small as it gets. Arrays grow by their dimensions. */
static bool make_faster(tw_cost *cost, const char *work, tw_arena *arena, const char **text)
{
    switch (cost->kind) {
    case TW_COST_CONSTANT: return halve_constant(&cost->constant, arena, text);
    case TW_COST_LINEAR: return widen(&cost->linear.per_cycle, work, "cycle", arena, text);
    case TW_COST_STEPPED:
        return cost->stepped.per_step > 0 && widen(&cost->stepped.step, work, "step", arena, text);
    case TW_COST_DESCRIPTOR: return halve_each(&cost->descriptor.per_beat, "beat", arena, text);
    case TW_COST_KERNEL: return halve_each(&cost->kernel.per_point, "point", arena, text);
    case TW_COST_ARRAY:
    case TW_N_COSTS: break;
    }
    return false;
}

static tw_status list_speed(const lister *l, int e)
{
    const tw_engine *engine = &l->machine->engine[e];
    tw_machine changed = *l->machine;
    const char *work = engine->kind == TW_MOVES      ? tw_unit_plural(changed.unit)
                       : engine->kind == TW_COMPUTES ? "points"
                                                     : "sums";
    const char *text = NULL;
    if (!make_faster(&changed.engine[e].cost, work, l->arena, &text)) return TW_OK;
    return put(l, TW_MORE_BANDWIDTH, engine->name, text, &changed);
}

static tw_status list_channels(const lister *l, int e)
{
    const tw_engine *engine = &l->machine->engine[e];
    tw_machine changed = *l->machine;
    if (engine->kind != TW_MOVES) return TW_OK;
    if (tw_machine_knows(&changed, "count")) {
        if (engine->count >= TW_MAX_UNITS) return TW_OK;
        changed.engine[e].count++;
        return put(l, TW_MORE_CHANNELS, engine->name,
                   tw_arena_printf(l->arena, "one more: %" PRId64 " take turns", engine->count + 1), &changed);
    }
    if (!engine->one_channel) return TW_OK;
    changed.engine[e].one_channel = false;
    return put(l, TW_MORE_CHANNELS, engine->name, tw_arena_printf(l->arena, "unlimited channels, not 1"), &changed);
}

/* ---- arrays ---- */

/* Dimension d twice as long. */
static tw_status list_longer(const lister *l, int e, int d)
{
    tw_machine changed = *l->machine;
    tw_cost_array *array = &changed.engine[e].cost.array;
    int64_t before = array->size[d];
    array->size[d] = twice(before, TW_EXTENT_MAX);
    if (array->size[d] == 0) return TW_OK;
    return put(l, TW_OTHER_ARRAY, changed.engine[e].name,
               tw_arena_printf(l->arena, "%s %" PRId64 ", not %" PRId64, array->dim[d], array->size[d], before),
               &changed);
}

/* Dimension d twice, dimension h half as long: as many units. */
static tw_status list_reshaped(const lister *l, int e, int d, int h)
{
    tw_machine changed = *l->machine;
    tw_cost_array *array = &changed.engine[e].cost.array;
    if (array->size[h] % 2 != 0 || twice(array->size[d], TW_EXTENT_MAX) == 0) return TW_OK;
    array->size[d] *= 2;
    array->size[h] /= 2;
    return put(l, TW_OTHER_ARRAY, changed.engine[e].name,
               tw_arena_printf(l->arena, "%s %" PRId64 " and %s %" PRId64 ", as many units", array->dim[d],
                               array->size[d], array->dim[h], array->size[h]),
               &changed);
}

static tw_status list_arrays(const lister *l, int e)
{
    const tw_cost *cost = &l->machine->engine[e].cost;
    if (cost->kind != TW_COST_ARRAY) return TW_OK;
    for (int d = 0; d < cost->array.n_dims; d++) TW_TRY(list_longer(l, e, d));
    for (int d = 0; d < cost->array.n_dims; d++)
        for (int h = 0; h < cost->array.n_dims; h++)
            if (h != d) TW_TRY(list_reshaped(l, e, d, h));
    return TW_OK;
}

tw_status tw_changes_each(const tw_machine *machine, bool timed, tw_arena *arena, tw_change_sink sink)
{
    const lister l = {machine, arena, sink};
    TW_TRY(list_memories(&l));
    for (int e = 0; e < machine->n_engines && timed; e++) {
        TW_TRY(list_speed(&l, e));
        TW_TRY(list_channels(&l, e));
        TW_TRY(list_arrays(&l, e));
    }
    return TW_OK;
}
