/* src/verify/critical.c - see critical.h. */
#include "verify/critical.h"
#include "verify/scene.h"

typedef struct when { /* a moment, and the weight of the path that leads to it */
    int64_t at;
    uint64_t path;
} when;

struct tw_critical {
    const tw_verify_input *in;
    uint64_t *weight;     /* per engine                                                     */
    when **unit;          /* per engine and unit: it is free                                */
    when *there, *unused; /* per buffer: its value is there; who used it is done            */
    when *behind,
        *came; /* per pool of a circular buffer: all windows so far are free; the last rows began to come */
    when last;
    bool unknown;
};

static uint64_t weight_of(int engine)
{
    uint64_t z = (uint64_t)(engine + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) | 1;
}

tw_critical *tw_critical_new(const tw_verify_input *in, tw_arena *arena)
{
    int n = in->machine->n_engines, n_buffers = in->layout->n_buffers, n_pools = 0;
    int64_t launch = tw_cdiv(in->machine->launch, TW_MILLI);
    tw_critical *p = TW_NEW(arena, tw_critical, 1);
    if (!p) return NULL;
    for (int b = 0; b < n_buffers; b++) n_pools = (int)tw_max(n_pools, in->layout->buffer[b].pool + 1);
    *p = (tw_critical){.in = in,
                       .weight = TW_NEW(arena, uint64_t, n + 1),
                       .unit = TW_NEW(arena, when *, n + 1),
                       .there = TW_NEW(arena, when, n_buffers + 1),
                       .unused = TW_NEW(arena, when, n_buffers + 1),
                       .behind = TW_NEW(arena, when, n_pools + 1),
                       .came = TW_NEW(arena, when, n_pools + 1)};
    if (!p->weight || !p->unit || !p->there || !p->unused || !p->behind || !p->came) return NULL;
    for (int e = 0; e < n; e++) {
        int64_t units = tw_max(1, in->machine->engine[e].count);
        p->weight[e] = weight_of(e);
        if (!(p->unit[e] = TW_NEW(arena, when, units))) return NULL;
        for (int64_t u = 0; u < units; u++) p->unit[e][u] = (when){launch, (uint64_t)launch * p->weight[e]};
    }
    return p;
}

/* ---- what decides a start ---- */

static void wait_for(const when **latest, const when *m)
{
    if (!*latest || m->at > (*latest)->at) *latest = m;
}

static bool slides(const tw_critical *p, const tw_instr *i)
{
    return i->takes && i->dst >= 0 && p->in->layout->buffer[i->dst].circular;
}

static void look_at_target(const tw_critical *p, const tw_instr *i, const when **data, const when **credit)
{
    int pool = p->in->layout->buffer[i->dst].pool;
    if (!i->takes) {
        wait_for(data, &p->unused[i->dst]);
        wait_for(data, &p->there[i->dst]);
        return;
    }
    if (i->op == TW_EXEC && p->in->machine->engine[i->engine].late && !slides(p, i))
        return; /* it waits at its end */
    wait_for(credit, &p->unused[i->dst]);
    if (!slides(p, i)) return;
    wait_for(credit, i->after == TW_AFTER_ALL ? &p->behind[pool] : &p->came[pool]);
    if (i->after >= 0 && i->after < p->in->layout->n_buffers) wait_for(credit, &p->unused[i->after]);
}

static void look(tw_critical *p, const tw_instr *i, const when **data, const when **credit)
{
    const tw_machine *machine = p->in->machine;
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] >= 0) wait_for(data, &p->there[i->src[k]]);
    for (int64_t u = 0; i->drains && u < machine->engine[machine->compute].count; u++)
        wait_for(data, &p->unit[machine->compute][u]);
    p->unknown |= i->op == TW_LOAD && i->src[0] < 0 && i->partial;
    if (i->dst >= 0) look_at_target(p, i, data, credit);
}

/* ---- what follows ---- */

static void delay(when *m, when by)
{
    if (by.at > m->at) *m = by;
}

/* Windows are free in their order. */
static void give(tw_critical *p, int buffer, when freed)
{
    const tw_buffer *b = &p->in->layout->buffer[buffer];
    delay(&p->unused[buffer], freed);
    if (!b->circular) return;
    if (p->unused[buffer].at > p->behind[b->pool].at)
        p->behind[b->pool] = p->unused[buffer];
    else
        p->unused[buffer] = p->behind[b->pool];
}

static void apply(tw_critical *p, const tw_instr *i, when start, when end, when freed)
{
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] >= 0) delay(&p->unused[i->src[k]], freed);
    for (int k = 0; k < i->n_gives; k++) give(p, i->gives[k], freed);
    if (i->dst < 0) return;
    if (!i->takes) {
        delay(&p->there[i->dst], end);
        return;
    }
    bool goes_on = slides(p, i) && i->continues >= 0 && i->continues < p->in->layout->n_buffers &&
                   p->there[i->continues].at > end.at;
    p->there[i->dst] = goes_on ? p->there[i->continues] : end; /* the window before it comes last */
    p->unused[i->dst] = end;
    if (slides(p, i)) p->came[p->in->layout->buffer[i->dst].pool] = start;
}

void tw_critical_command(tw_critical *p, const tw_rowset *row)
{
    const tw_event *e = row->event;
    const when *data = NULL, *credit = NULL, *cause = &p->unit[e->instr.engine][e->instr.unit];
    uint64_t weight = p->weight[e->instr.engine];
    for (int i = 0; i < row->n_events; i++) look(p, &row->event[i].instr, &data, &credit);
    if (data && data->at > cause->at) cause = data;
    if (credit && credit->at > cause->at) cause = credit;
    p->unknown |= cause->at != e->start_cycle;
    when start = {e->start_cycle, cause->path};
    when end = {e->end_cycle, start.path + (uint64_t)(e->end_cycle - e->start_cycle) * weight};
    when freed = {e->busy_end, start.path + (uint64_t)(e->busy_end - e->start_cycle) * weight};
    for (int i = 0; i < row->n_events; i++) apply(p, &row->event[i].instr, start, end, freed);
    p->unit[e->instr.engine][e->instr.unit] = freed;
    delay(&p->last, end.at >= freed.at ? end : freed);
}

bool tw_critical_is(const tw_critical *p, const tw_engine_use *engine)
{
    uint64_t sum = 0;
    for (int e = 0; e < p->in->machine->n_engines; e++) sum += (uint64_t)engine[e].critical_cycles * p->weight[e];
    return p->unknown || sum == p->last.path;
}
