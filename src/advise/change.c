/* src/advise/change.c - machines that are better in one thing; change.h lists them.
 *
 * A change is a copy of the machine with one number made better, and the words for it. Nothing is judged here. */
#include "advise/change.h"

#include "machine/cost_kind.h"
#include "machine/discipline.h"
#include "plan/links.h"
#include "write/number.h"

#include <string.h>

const char *tw_change_word(tw_change_kind kind)
{
    static const char *const word[TW_N_CHANGES] = {
        [TW_MORE_MEMORY] = "memory",    [TW_MORE_BANDWIDTH] = "bandwidth", [TW_MORE_CHANNELS] = "channels",
        [TW_MORE_BUFFERS] = "buffers",  [TW_OTHER_ARRAY] = "array",        [TW_OTHER_TILE] = "tile",
        [TW_OTHER_BUFFERS] = "buffers", [TW_OTHER_ORDER] = "order",        [TW_OTHER_KEEP] = "keep",
        [TW_OTHER_UNROLL] = "unroll",   [TW_OTHER_FUSION] = "fusion",      [TW_OTHER_MAPPING] = "mapping",
        [TW_OTHER_SLIDE] = "slide"};
    return word[kind];
}

bool tw_change_is_of_mapping(tw_change_kind kind) { return kind >= TW_OTHER_TILE; }

/* What the list is made with. */
typedef struct lister {
    const tw_machine *machine;
    tw_change_scope scope;
    tw_arena *arena;
    tw_change_sink sink;
} lister;

/* A machine that is about to be changed, and the memory or the engine that is: by its number, and as it is. */
typedef struct change {
    const lister *l;
    tw_variant changed;
    int part;
    const char *at;
    tw_memory memory;
    tw_engine engine;
} change;

/* Hands on the change with these words; NULL: there was no memory for them. */
static tw_status put(const change *c, tw_change_kind kind, const char *text)
{
    if (!text) return TW_ERR_NOMEM;
    return c->l->sink.put(c->l->sink.user, &(tw_remedy){.kind = kind, .at = c->at, .change = text},
                          c->changed.machine);
}

/* Twice as much; 0 when there is no such number. */
static int64_t twice(int64_t x, int64_t most) { return x <= most / 2 ? 2 * x : 0; }

/* ---- parts ---- */

static const tw_platform *platform_of(const lister *l) { return l->scope.all ? l->machine->platform : NULL; }

static bool memories_are_alike(const tw_platform_memory *a, const tw_platform_memory *b)
{
    return a->core >= 0 && b->core >= 0 && a->is.size == b->is.size && strcmp(a->is.name, b->is.name) == 0;
}

/* Whether a machine file would say the same of both. */
static bool costs_are_equal(const tw_machine *machine, const tw_cost *a, const tw_cost *b)
{
    tw_text one = {0}, other = {0};
    tw_cost_print(a, machine, &one);
    tw_cost_print(b, machine, &other);
    bool equal =
        !one.failed && !other.failed && one.len == other.len && memcmp(one.bytes, other.bytes, one.len) == 0;
    tw_text_release(&one);
    tw_text_release(&other);
    return equal;
}

static bool engines_are_alike(const tw_platform *p, const tw_platform_engine *a, const tw_platform_engine *b)
{
    return a->core >= 0 && b->core >= 0 && a->is.kind == b->is.kind && a->is.count == b->is.count &&
           strcmp(a->is.name, b->is.name) == 0 && costs_are_equal(&p->view[0].machine, &a->is.cost, &b->is.cost);
}

/* The first part that it is changed together with, often itself. */
static int first_memory(const tw_platform *p, int m)
{
    for (int i = 1; i < m; i++)
        if (memories_are_alike(&p->memory[i], &p->memory[m])) return i;
    return m;
}

static int first_engine(const tw_platform *p, int e)
{
    for (int i = 0; i < e; i++)
        if (engines_are_alike(p, &p->engine[i], &p->engine[e])) return i;
    return e;
}

/* Of several that are changed together the short name, else the full one. */
static const char *name_memory(const tw_platform *p, int m)
{
    for (int i = m + 1; i < p->n_memories; i++)
        if (first_memory(p, i) == m) return p->memory[m].is.name;
    return p->memory[m].name;
}

static const char *name_engine(const tw_platform *p, int e)
{
    for (int i = e + 1; i < p->n_engines; i++)
        if (first_engine(p, i) == e) return p->engine[e].is.name;
    return p->engine[e].name;
}

/* Memory i of the machine or of the platform. */
static tw_status begin_memory(const lister *l, int i, change *out)
{
    const tw_platform *p = platform_of(l);
    *out = (change){.l = l, .memory = p ? p->memory[i].is : l->machine->memory[i]};
    TW_TRY(tw_variant_of(l->machine, l->arena, &out->changed));
    out->part = p ? i : tw_variant_memory(&out->changed, i);
    out->at = p ? name_memory(p, i) : out->memory.name;
    return TW_OK;
}

static tw_status begin_engine(const lister *l, int i, change *out)
{
    const tw_platform *p = platform_of(l);
    *out = (change){.l = l, .engine = p ? p->engine[i].is : l->machine->engine[i]};
    TW_TRY(tw_variant_of(l->machine, l->arena, &out->changed));
    out->part = p ? i : tw_variant_engine(&out->changed, i);
    out->at = p ? name_engine(p, i) : out->engine.name;
    return TW_OK;
}

/* Makes the engine of the change, and all like it, what it is now; false: the machine would be none. */
static bool set_engine(change *c)
{
    const tw_platform *p = platform_of(c->l);
    bool good = true;
    for (int e = 0; p && e < p->n_engines; e++)
        if (e != c->part && first_engine(p, e) == c->part) good = tw_variant_set_engine(&c->changed, e, &c->engine);
    return tw_variant_set_engine(&c->changed, c->part, &c->engine) && good;
}

static tw_status put_engine(change *c, tw_change_kind kind, const char *text)
{
    if (!text) return TW_ERR_NOMEM;
    return set_engine(c) ? put(c, kind, text) : TW_OK;
}

static tw_status list_memory(const lister *l, int i)
{
    change c;
    const tw_platform *p = platform_of(l);
    const tw_memory *memory = p ? &p->memory[i].is : &l->machine->memory[i];
    int64_t size = memory->size == TW_UNLIMITED ? 0 : twice(memory->size, INT64_MAX / 4);
    if (size == 0 || (p && first_memory(p, i) != i)) return TW_OK;
    TW_TRY(begin_memory(l, i, &c));
    for (int m = 1; p && m < p->n_memories; m++)
        if (first_memory(p, m) == i) tw_variant_set_size(&c.changed, m, size);
    tw_variant_set_size(&c.changed, c.part, size);
    return put(
        &c, TW_MORE_MEMORY,
        tw_arena_printf(l->arena, "twice as large: %s %s", TW_GROUPED(size), tw_unit_plural(l->machine->unit)));
}

/* ---- faster engines ---- */

/* Halves what one `of` takes; false when it cannot be less. */
static bool halve_each(int64_t *x, const char *of, tw_arena *arena, const char **text)
{
    if (*x < 2) return false;
    *x /= 2;
    *text = tw_arena_printf(arena, "half the time for each %s: %g cycles", of, (double)*x / TW_MILLI);
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
    change c;
    const char *text = NULL;
    TW_TRY(begin_engine(l, e, &c));
    const char *work = c.engine.kind == TW_MOVES      ? tw_unit_plural(l->machine->unit)
                       : c.engine.kind == TW_COMPUTES ? "points"
                                                      : "sums";
    return make_faster(&c.engine.cost, work, l->arena, &text) ? put_engine(&c, TW_MORE_BANDWIDTH, text) : TW_OK;
}

static tw_status list_channels(const lister *l, int e)
{
    change c;
    TW_TRY(begin_engine(l, e, &c));
    if (c.engine.kind != TW_MOVES) return TW_OK;
    if (tw_machine_knows(l->machine, "count")) {
        if (c.engine.count >= TW_MAX_UNITS) return TW_OK;
        c.engine.count++;
        return put_engine(&c, TW_MORE_CHANNELS,
                          tw_arena_printf(l->arena, "one more: %" PRId64 " take turns", c.engine.count));
    }
    if (!c.engine.one_channel) return TW_OK;
    c.engine.one_channel = false;
    return put_engine(&c, TW_MORE_CHANNELS, tw_arena_printf(l->arena, "unlimited channels, not 1"));
}

/* ---- arrays ---- */

/* Dimension d twice as long. */
static tw_status list_longer(const lister *l, int e, int d)
{
    change c;
    TW_TRY(begin_engine(l, e, &c));
    tw_cost_array *array = &c.engine.cost.array;
    int64_t before = array->size[d];
    array->size[d] = twice(before, TW_EXTENT_MAX);
    if (array->size[d] == 0) return TW_OK;
    return put_engine(
        &c, TW_OTHER_ARRAY,
        tw_arena_printf(l->arena, "%s %" PRId64 ", not %" PRId64, array->dim[d], array->size[d], before));
}

/* Dimension d twice, dimension h half as long: as many units. */
static tw_status list_reshaped(const lister *l, int e, int d, int h)
{
    change c;
    TW_TRY(begin_engine(l, e, &c));
    tw_cost_array *array = &c.engine.cost.array;
    if (array->size[h] % 2 != 0 || twice(array->size[d], TW_EXTENT_MAX) == 0) return TW_OK;
    array->size[d] *= 2;
    array->size[h] /= 2;
    return put_engine(&c, TW_OTHER_ARRAY,
                      tw_arena_printf(l->arena, "%s %" PRId64 " and %s %" PRId64 ", as many units", array->dim[d],
                                      array->size[d], array->dim[h], array->size[h]));
}

static tw_status list_arrays(const lister *l, int e, const tw_cost *cost)
{
    if (cost->kind != TW_COST_ARRAY) return TW_OK;
    for (int d = 0; d < cost->array.n_dims; d++) TW_TRY(list_longer(l, e, d));
    for (int d = 0; d < cost->array.n_dims; d++)
        for (int h = 0; h < cost->array.n_dims; h++)
            if (h != d) TW_TRY(list_reshaped(l, e, d, h));
    return TW_OK;
}

static tw_status list_engine(const lister *l, int e)
{
    const tw_platform *p = platform_of(l);
    if (p && first_engine(p, e) != e) return TW_OK;
    TW_TRY(list_speed(l, e));
    TW_TRY(list_channels(l, e));
    return list_arrays(l, e, p ? &p->engine[e].is.cost : &l->machine->engine[e].cost);
}

/* ---- ports ---- */

static tw_status list_port(const lister *l, int i)
{
    const tw_port *port = &l->machine->platform->port[i];
    change c = {.l = l, .at = port->name};
    int64_t rate = twice(port->per_cycle, TW_EXTENT_MAX);
    if (rate > 0) {
        TW_TRY(tw_variant_of(l->machine, l->arena, &c.changed));
        c.changed.port[i].per_cycle = rate;
        TW_TRY(put(&c, TW_MORE_BANDWIDTH,
                   tw_arena_printf(l->arena, "twice as fast: %s %s per cycle", TW_GROUPED(rate),
                                   tw_unit_plural(l->machine->unit))));
    }
    if (port->ways >= TW_MAX_WAYS) return TW_OK;
    TW_TRY(tw_variant_of(l->machine, l->arena, &c.changed));
    c.changed.port[i].ways++;
    return put(&c, TW_MORE_CHANNELS,
               tw_arena_printf(l->arena, "%" PRId64 " transfers at the same time, not %" PRId64, port->ways + 1,
                               port->ways));
}

tw_status tw_changes_each(const tw_machine *machine, tw_change_scope scope, tw_arena *arena, tw_change_sink sink)
{
    const lister l = {machine, scope, arena, sink};
    const tw_platform *p = platform_of(&l);
    int n_memories = p ? p->n_memories : machine->n_memories, n_engines = p ? p->n_engines : machine->n_engines;
    for (int m = 1; m < n_memories; m++) TW_TRY(list_memory(&l, m));
    for (int e = 0; e < n_engines && scope.timed; e++) TW_TRY(list_engine(&l, e));
    for (int i = 0; p && i < p->n_ports && scope.timed; i++) TW_TRY(list_port(&l, i));
    return TW_OK;
}
