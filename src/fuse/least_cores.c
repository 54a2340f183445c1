/* src/fuse/least_cores.c - the bound over all cores: see least_cores.h. */
#include "fuse/least_cores.h"

#include "fuse/kinds.h"
#include "fuse/least.h"

#include <math.h>

typedef struct counter {
    const tw_model *model;
    const tw_platform *platform;
    int64_t units;   /* that pass memory 0 */
    int64_t *points; /* of every operator  */
    tw_cores_least *out;
    tw_arena *scratch;
} counter;

static void raise(counter *c, int64_t cycles, const char *by)
{
    if (cycles > c->out->cycles) c->out->cycles = cycles, c->out->by = by;
}

/* What comes of sums of rounded numbers is a little less. */
static int64_t round_down(double cycles) { return cycles < 0x1p62 ? (int64_t)(cycles * (1 - 1e-9)) : 0; }

/* ---- memory 0 ---- */

/* Units a cycle over all ports of memory 0; 0: something passes no port there, or one that has no limit. */
static int64_t rate_of_ports(const tw_platform *p, const char **name)
{
    int64_t rate = 0;
    for (int e = 0; e < p->n_engines; e++) {
        const tw_platform_engine *engine = &p->engine[e];
        if (engine->is.kind != TW_MOVES || engine->is.outer != 0) continue;
        for (int way = 0; way < 2; way++) {
            int port = way == 0 ? engine->reads[0] : engine->writes[1];
            bool used = engine->is.carries & (way == 0 ? TW_INWARDS : TW_OUTWARDS);
            if (used && (port < 0 || p->port[port].memory != 0 || p->port[port].per_cycle == 0)) return 0;
        }
    }
    for (int i = 0; i < p->n_ports; i++) {
        if (p->port[i].memory != 0) continue;
        rate += p->port[i].per_cycle * p->port[i].ways;
        *name = p->port[i].name;
    }
    return rate;
}

/* The bus that the mover passes in every direction in which it carries; -1: there is none, or one without a limit. */
static int bus_of(const tw_platform *p, const tw_platform_engine *e)
{
    static const unsigned way[] = {TW_INWARDS, TW_OUTWARDS};
    int bus = -1;
    for (int i = 0; i < 2; i++) {
        if (!(e->is.carries & way[i])) continue;
        int at = e->reads[i] >= 0 && p->port[e->reads[i]].memory < 0 ? e->reads[i] : e->writes[i];
        if (at < 0 || p->port[at].memory >= 0 || p->port[at].per_cycle == 0 || (bus >= 0 && at != bus)) return -1;
        bus = at;
    }
    return bus;
}

/* The same of all movers there: of those that share a bus no more than the bus passes. A transfer of very many units takes as long as the rate says. */
static tw_status rate_of_movers(const tw_platform *p, tw_arena *scratch, double *rate, const char **name)
{
    static const int64_t many = INT64_C(1) << 40;
    double *over, alone = 0;
    TW_ALLOC(scratch, over, p->n_ports + 1);
    *rate = 0;
    for (int e = 0; e < p->n_engines; e++) {
        const tw_engine *is = &p->engine[e].is;
        if (is->kind != TW_MOVES || is->outer != 0) continue;
        int64_t cycles = tw_cost_least(&is->cost, is->pipelined, 1, many);
        int bus = bus_of(p, &p->engine[e]);
        double own = cycles < 2 ? INFINITY : (double)many / (double)(cycles - 1) * (double)is->count * (1 + 1e-6);
        if (cycles < 2 && bus < 0) return TW_OK;
        *(bus < 0 ? &alone : &over[bus]) += own;
        if (!*name || bus < 0) *name = p->engine[e].name;
    }
    *rate = alone;
    for (int i = 0; i < p->n_ports; i++) {
        double most = (double)p->port[i].per_cycle * (double)p->port[i].ways;
        if (over[i] > most && *rate == 0) *name = p->port[i].name;
        *rate += fmin(over[i], most);
    }
    return TW_OK;
}

/* Whether some engine computes where memory 0 is: then nothing need pass. */
static bool computes_outside(const tw_platform *p)
{
    for (int v = 0; v < p->n_views; v++)
        if (p->view[v].machine.engine[p->view[v].machine.compute].memory == 0) return true;
    return false;
}

static tw_status bound_transfers(counter *c)
{
    const char *name = NULL, *mover = NULL;
    double movers;
    if (c->units == 0 || computes_outside(c->platform)) return TW_OK;
    int64_t ports = rate_of_ports(c->platform, &name);
    if (ports > 0) raise(c, tw_cdiv(c->units, ports), name);
    TW_TRY(rate_of_movers(c->platform, c->scratch, &movers, &mover));
    if (movers > 0) raise(c, round_down((double)c->units / movers), mover);
    return TW_OK;
}

/* ---- engines ---- */

static bool computes(const counter *c, int v, int i)
{
    return tw_machine_computes(&c->platform->view[v].machine, &c->model->op[i]);
}

/* Cycles of all points of an operator on the engine of a view, less what rounding may have added. */
static double cycles_on(const counter *c, int v, int i)
{
    int64_t cycles = tw_least_cycles(&c->platform->view[v], &c->model->op[i], c->points[i]);
    return cycles > 1 ? (double)(cycles - 1) : 0;
}

/* Points a cycle of what the engine of a view computes of this kind; 0: nothing. */
static double speed_of(const counter *c, int v, tw_compute kind)
{
    double points = 0, cycles = 0;
    for (int i = 0; i < c->model->n_ops; i++) {
        if (c->model->op[i].compute != kind || !computes(c, v, i)) continue;
        points += (double)c->points[i];
        cycles += cycles_on(c, v, i);
    }
    return cycles > 0 ? points / cycles : 0;
}

static tw_status bound_kind(counter *c, tw_compute kind)
{
    double *speed, sum = 0, work = 0;
    const char *name = NULL;
    TW_ALLOC(c->scratch, speed, c->platform->n_views);
    for (int v = 0; v < c->platform->n_views; v++) {
        sum += speed[v] = speed_of(c, v, kind);
        if (speed[v] > 0 && !name) name = c->platform->engine[c->platform->view[v].engine].name;
    }
    for (int i = 0; i < c->model->n_ops; i++) {
        double least = INFINITY;
        if (c->model->op[i].compute != kind) continue;
        for (int v = 0; v < c->platform->n_views; v++)
            if (computes(c, v, i)) least = fmin(least, speed[v] * cycles_on(c, v, i));
        if (least < INFINITY) work += least;
    }
    if (sum > 0) raise(c, round_down(work / sum), name);
    return TW_OK;
}

/* ---- the whole ---- */

/* What must pass memory 0, and what must be executed: from the first core by itself that computes everything. It is the same on every core. */
static tw_status count(counter *c, const tw_machine *machine, bool *known)
{
    tw_core_machine *core;
    *known = false;
    TW_ALLOC(c->scratch, c->points, c->model->n_ops);
    TW_TRY(tw_core_machines_of(machine, c->scratch, c->scratch, &core));
    for (int k = 0; k <= c->platform->n_cores && !*known; k++) {
        tw_least least = {.points = c->points};
        if (core[k].kind < k || core[k].machine.platform->n_views == 0) continue;
        TW_TRY(tw_least_of(c->model, &core[k].machine, c->scratch, &least));
        *known = least.engine >= 0;
        c->units = least.units;
    }
    return TW_OK;
}

static tw_status find(counter *c, const tw_machine *machine)
{
    bool known;
    TW_TRY(count(c, machine, &known));
    if (!known) return TW_OK;
    c->out->units = c->units;
    TW_TRY(bound_transfers(c));
    for (int kind = 0; kind < TW_N_COMPUTES; kind++) TW_TRY(bound_kind(c, (tw_compute)kind));
    return TW_OK;
}

tw_status tw_cores_least_of(const tw_model *model, const tw_machine *machine, tw_arena *scratch,
                            tw_cores_least *out)
{
    counter c = {.model = model, .platform = machine->platform, .out = out, .scratch = scratch};
    tw_arena_mark mark = tw_arena_save(scratch);
    *out = (tw_cores_least){0};
    tw_status status = find(&c, machine);
    tw_arena_rewind(scratch, mark);
    return status;
}
