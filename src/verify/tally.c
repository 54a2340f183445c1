/* src/verify/tally.c - see tally.h. */
#include "verify/tally.h"
#include "verify/time.h"

static void add(tw_tally *t, int64_t *sum, int64_t more)
{
    if (!tw_ckd_add(*sum, more, sum)) t->overflows = true;
}

static tw_tally_pool *pool_of(tw_tally *t, int buffer) { return &t->pool[t->pool_of[buffer]]; }

bool tw_tally_init(tw_tally *t, const tw_scene *scene, const tw_claims *claims, tw_arena *arena)
{
    const tw_platform *p = scene->platform;
    *t = (tw_tally){.scene = scene, .claims = claims};
    t->engine = TW_NEW(arena, tw_engine_use, p->n_engines + 1);
    t->passed = TW_NEW(arena, tw_tally_passed, p->n_engines + 1);
    t->live = TW_NEW(arena, int64_t, p->n_memories + 1);
    t->idle = TW_NEW(arena, tw_tally_idle, p->n_engines + 1);
    t->lengths = TW_NEW(arena, int64_t, p->n_engines + 1);
    t->last_engine = -1;
    for (int e = 0; e < p->n_engines && t->idle; e++) {
        if (p->engine[e].is.kind == TW_MOVES) continue;
        t->idle[e].ran = TW_NEW(arena, bool, tw_units_count(scene, e));
        t->idle[e].last = TW_NEW(arena, int64_t, tw_units_count(scene, e));
        if (!t->idle[e].ran || !t->idle[e].last) return false;
    }
    t->pool = TW_NEW(arena, tw_tally_pool, scene->n_buffers + 1);
    t->pool_of = TW_NEW(arena, int, scene->n_buffers + 1);
    for (int b = 0; t->pool_of && b < scene->n_buffers; b++) t->pool_of[b] = -1;
    return t->engine && t->passed && t->live && t->idle && t->lengths && t->pool && t->pool_of;
}

bool tw_tally_add_pool(tw_tally *t, int first, int said, int64_t slots, tw_arena *arena)
{
    int64_t *given_at = TW_NEW(arena, int64_t, slots + 1);
    t->pool[t->n_pools++] = (tw_tally_pool){
        .first = first, .said = said, .slots = slots, .given_at = given_at, .moved.life = {INT64_MAX, 0}};
    return given_at;
}

/* ---- counting ---- */

bool tw_tally_add_groups(tw_tally *t, const tw_model *model, int n_groups, tw_arena *arena)
{
    t->model = model;
    t->n_groups = n_groups;
    t->op = TW_NEW(arena, tw_summary, model->n_ops + 1);
    t->op_time = TW_NEW(arena, tw_op_claim, model->n_ops + 1);
    t->group = TW_NEW(arena, tw_tally_passed, (int64_t)n_groups * t->scene->platform->n_engines + 1);
    return t->op && t->op_time && t->group;
}

static tw_tally_passed *group_passed(const tw_tally *t, int group, int engine)
{
    return &t->group[(int64_t)group * t->scene->platform->n_engines + engine];
}

/* One end of a transfer: a port passes whole words. */
static void count_side(tw_tally *t, const tw_instr *i, bool inward, bool reads, int64_t units)
{
    if (t->scene->platform->n_ports > 0)
        units = tw_port_words(tw_port_at(t->scene, i->engine, inward, reads), units);
    add(t, &t->passed[i->engine].units[inward][reads], units);
    if (t->group) group_passed(t, i->group, i->engine)->units[inward][reads] += units; /* at most the sum */
}

/* What comes into a hold, or leaves it for memory 0 or one that holds it there. */
static void count_hold(tw_tally *t, const tw_instr *i)
{
    tw_hold_claim *hold = &pool_of(t, i->op == TW_LOAD ? i->dst : i->src[0])->moved;
    hold->transfers++;
    hold->units += i->work; /* at most what the engine moves */
    if (i->op != TW_LOAD) return;
    hold->loads++;
    hold->load_units += i->work;
}

static void count_transfer(tw_tally *t, const tw_instr *i, const tw_moved *moved)
{
    tw_engine_use *use = &t->engine[i->engine];
    bool load = i->op == TW_LOAD;
    *(load ? &use->loads : &use->stores) += 1;
    add(t, load ? &use->load_units : &use->store_units, i->work);
    count_side(t, i, moved->inward, true, moved->reads);
    count_side(t, i, moved->inward, false, moved->writes);
    if (t->group) count_hold(t, i);
}

void tw_tally_instr(tw_tally *t, const tw_instr *i, const tw_moved *moved)
{
    t->sum.instructions++;
    if (i->nested) return; /* its program does the work: nobody asks which engine it names */
    if (i->op == TW_LOAD || i->op == TW_STORE) {
        count_transfer(t, i, moved ? moved : &(tw_moved){i->op == TW_LOAD, i->work, i->work, i->work});
        return;
    }
    t->engine[i->engine].ops++;
    t->sum.execs += i->op != TW_SUM;
    if (i->op != TW_EXEC) return;
    add(t, &t->sum.macs, i->work);
    add(t, &t->passed[i->engine].points, i->work);
    if (t->group) group_passed(t, i->group, i->engine)->points += i->work;
}

void tw_tally_busy(tw_tally *t, int engine, int64_t cycles) { add(t, &t->engine[engine].busy_cycles, cycles); }

void tw_tally_command(tw_tally *t, const tw_event *e, int awaited)
{
    tw_engine_use *use = &t->engine[e->instr.engine];
    int64_t end = tw_max(e->end_cycle, e->busy_end), length = end - e->start_cycle;
    tw_tally_busy(t, e->instr.engine, e->busy_end - e->start_cycle);
    add(t, &t->lengths[e->instr.engine], length + (e->wait == TW_WAIT_PORT ? e->waited : 0));
    if (end > t->sum.cycles) t->last_engine = e->instr.engine, t->last_length = length;
    t->sum.cycles = tw_max(t->sum.cycles, end);
    if (e->wait == TW_WAIT_DATA) add(t, &use->wait_data, e->waited);
    if (e->wait == TW_WAIT_PORT) add(t, &use->wait_port, e->waited);
    if (e->wait != TW_WAIT_CREDIT) return;
    add(t, &use->wait_credit, e->waited);
    if (awaited >= 0) add(t, &pool_of(t, awaited)->waited, e->waited);
}

void tw_tally_execution(tw_tally *t, const tw_event *e, int64_t late, int64_t contended)
{
    tw_tally_idle *idle = &t->idle[e->instr.engine];
    bool first = !idle->ran[e->instr.unit];
    add(t, &idle->executing, e->busy_end - e->start_cycle);
    add(t, &idle->is.late, late);
    add(t, &idle->is.contended, contended);
    add(t, &idle->is.no_credit, late);
    if (first) add(t, &idle->is.startup, e->start_cycle);
    if (!first && e->wait == TW_WAIT_DATA) add(t, &idle->is.no_data, e->waited);
    if (!first && e->wait == TW_WAIT_CREDIT) add(t, &idle->is.no_credit, e->waited);
    idle->ran[e->instr.unit] = true;
    idle->last[e->instr.unit] = e->busy_end;
}

void tw_tally_op(tw_tally *t, int op, const tw_event *e)
{
    tw_op_claim *time = &t->op_time[op];
    time->start = t->op[op].execs == 0 ? e->start_cycle : tw_min(time->start, e->start_cycle);
    time->busy += e->busy_end - e->start_cycle;
    if (e->instr.rescales) time->rescaled += e->instr.work;
    t->op[op].cycles = tw_max(t->op[op].cycles, e->end_cycle);
    t->op[op].execs++;
    add(t, &t->op[op].macs, e->instr.work);
}

/* Those that are out: not given back yet in the order of the program, or given back later than this. */
void tw_tally_take(tw_tally *t, int buffer, int64_t start)
{
    tw_tally_pool *p = pool_of(t, buffer);
    int64_t late = 0, most = p->n_given < p->slots ? p->n_given : p->slots, at = p->next;
    p->out++;
    for (; late < most; late++) {
        at = at == 0 ? p->slots - 1 : at - 1;
        if (p->given_at[at] <= start) break;
    }
    p->needed = tw_max(p->needed, p->out);
    p->peak = tw_max(p->peak, p->out + late);
    p->moved.life.lo = tw_min(p->moved.life.lo, start);
}

void tw_tally_give(tw_tally *t, int buffer, int64_t end)
{
    tw_tally_pool *p = pool_of(t, buffer);
    p->given_at[p->next] = end;
    p->next = p->next + 1 == p->slots ? 0 : p->next + 1;
    p->out--;
    p->n_given++;
    p->moved.life.hi = tw_max(p->moved.life.hi, end);
}

/* ---- energy ---- */

static void add_energy(tw_tally *t, int64_t units, int64_t each, int64_t *sum)
{
    int64_t part;
    if (!tw_ckd_mul(units, each, &part)) t->overflows = true;
    add(t, sum, part);
}

/* One end of a mover: a port may say another energy than its memory. */
static void add_side(tw_tally *t, int engine, bool inward, bool reads, int64_t units, int64_t *sum)
{
    const tw_engine *e = &t->scene->platform->engine[engine].is;
    const tw_port *port = tw_port_at(t->scene, engine, inward, reads);
    int64_t said = !port ? -1 : reads ? port->read_fj : port->write_fj;
    int memory = inward == reads ? e->outer : e->memory;
    add_energy(t, units, said >= 0 ? said : t->scene->platform->memory[memory].is.energy_fj, sum);
}

/* Of what passed each engine. */
static int64_t energy_of(tw_tally *t, const tw_tally_passed *passed)
{
    int64_t sum = 0;
    for (int e = 0; e < t->scene->platform->n_engines; e++) {
        const tw_engine *engine = &t->scene->platform->engine[e].is;
        add_energy(t, passed[e].points, engine->energy_fj, &sum);
        for (int side = 0; side < 4 && engine->kind == TW_MOVES; side++)
            add_side(t, e, side & 1, side >> 1, passed[e].units[side & 1][side >> 1], &sum);
    }
    return sum;
}

/* ---- comparing ---- */

void tw_tally_claims(tw_fault *fault, const char *of, const char *at, const tw_claim *c, int n)
{
    for (int i = 0; i < n && !fault->set; i++)
        if (c[i].said != c[i].is)
            tw_fault_set(fault, "the report says %s%s%s%s: %" PRId64 ", it is %" PRId64, c[i].what,
                         *of ? " of " : "", of, at, c[i].said, c[i].is);
}

static void compare_sum(const tw_tally *t, tw_fault *fault)
{
    const tw_summary *s = &t->claims->sum, *is = &t->sum;
    const tw_claim c[] = {{"ticks", s->ticks, is->ticks},
                          {"cycles", s->cycles, is->cycles},
                          {"executions", s->execs, is->execs},
                          {"points", s->macs, is->macs},
                          {"instructions", s->instructions, is->instructions},
                          {"energy in fJ", s->energy_fj, is->energy_fj}};
    tw_tally_claims(fault, "", "", c, TW_COUNT(c));
}

/* What was read from and written to memory 0. */
static void compare_outermost(tw_tally *t, tw_fault *fault)
{
    int64_t sum = 0;
    for (int e = 0; e < t->scene->platform->n_engines; e++) {
        const tw_engine *engine = &t->scene->platform->engine[e].is;
        if (engine->kind != TW_MOVES || engine->outer != 0) continue;
        add(t, &sum, t->passed[e].units[true][true]);
        add(t, &sum, t->passed[e].units[false][false]);
    }
    const tw_claim c = {"units of the outermost memory", *t->claims->outermost_units, sum};
    tw_tally_claims(fault, "", "", &c, 1);
}

/* The share of an engine in the critical path is not more than all its commands and the launch, and of the engine of the command that ends
 * last not less than that command. Which way the path takes between is not known here. */
static void compare_share(const tw_tally *t, int e, tw_fault *fault)
{
    int64_t said = t->claims->engine[e].critical_cycles, most = 0, least = e == t->last_engine ? t->last_length : 0;
    if (t->paths && !tw_ckd_add(t->lengths[e], t->launch, &most)) most = INT64_MAX;
    if (said >= least && said <= most) return;
    tw_fault_set(
        fault, "the report says that '%s' has %" PRId64 " cycles of the critical path, it has at %s %" PRId64,
        t->scene->platform->engine[e].name, said, said > most ? "most" : "least", said > most ? most : least);
}

/* What is said of a compute engine in which nothing executes. */
static void compare_idle(tw_tally *t, int e, const tw_idle_claim *said, tw_fault *fault)
{
    tw_tally_idle *idle = &t->idle[e];
    tw_idle_claim is = idle->is;
    int64_t n = tw_units_count(t->scene, e), all = 0;
    for (int64_t u = 0; u < n; u++) {
        add(t, idle->ran[u] ? &is.tail : &is.unused, t->sum.cycles - (idle->ran[u] ? idle->last[u] : 0));
        add(t, &all, t->sum.cycles);
    }
    if (!t->paths) is.no_data = all - idle->executing - is.startup - is.tail - is.unused;
    const tw_claim c[] = {{"cycles before its first execution", said->startup, is.startup},
                          {"cycles behind its last execution", said->tail, is.tail},
                          {"cycles of units that execute nothing", said->unused, is.unused},
                          {"cycles in which results wait for a buffer", said->late, is.late},
                          {"cycles lost to movers", said->contended, is.contended},
                          {"cycles between executions without data", said->no_data, is.no_data},
                          {"cycles between executions without a buffer", said->no_credit, is.no_credit}};
    tw_tally_claims(fault, t->scene->platform->engine[e].name, "", c, TW_COUNT(c));
}

static void compare_engine(const tw_tally *t, int e, tw_fault *fault)
{
    const tw_engine_use *s = &t->claims->engine[e], *is = &t->engine[e];
    const char *name = t->scene->platform->engine[e].name;
    const tw_claim c[] = {{"loads", s->loads, is->loads},
                          {"units loaded", s->load_units, is->load_units},
                          {"stores", s->stores, is->stores},
                          {"units stored", s->store_units, is->store_units},
                          {"runs", s->ops, is->ops},
                          {"busy cycles", s->busy_cycles, is->busy_cycles},
                          {"units", s->count, t->paths ? t->scene->platform->engine[e].is.count : 0}};
    const tw_claim waits[] = {{"cycles without data", s->wait_data, is->wait_data},
                              {"cycles without a credit", s->wait_credit, is->wait_credit},
                              {"cycles before a port", s->wait_port, is->wait_port}};
    tw_tally_claims(fault, name, "", c, TW_COUNT(c));
    if (t->unhurried) return;
    tw_tally_claims(fault, name, "", waits, TW_COUNT(waits));
    compare_share(t, e, fault);
}

/* Which way the critical path takes is not known here; that it leads from the beginning to the end is. */
static void compare_path(const tw_tally *t, tw_fault *fault)
{
    int64_t sum = 0;
    for (int e = 0; e < t->scene->platform->n_engines; e++) sum += t->claims->engine[e].critical_cycles;
    const tw_claim path = {"cycles of the critical path", sum, t->paths ? t->sum.cycles : 0};
    tw_tally_claims(fault, "", "", &path, 1);
}

/* Units of the buffers behind the first of a window that slides; where there are none, as the report says. */
static int64_t units_ahead(const tw_tally *t, const tw_tally_pool *p, const tw_pool_use *said)
{
    const tw_buffer *first = &t->scene->buffer[p->first];
    if (!first->circular) return 0;
    return p->slots > 1 ? first[1].size : said->ahead_units;
}

static void compare_pool(const tw_tally *t, int pool, tw_fault *fault)
{
    const tw_tally_pool *is = &t->pool[pool];
    const tw_pool_use *s = &t->claims->pool[is->said];
    tw_buffer_name name = tw_buffer_name_of(t->scene, is->first, -1, -1);
    const tw_claim c[] = {{"slots", s->slots, is->slots},
                          {"units of a slot", s->slot_units, t->scene->buffer[is->first].size},
                          {"slots needed", s->needed, is->needed},
                          {"slots held at once", s->peak, is->peak},
                          {"units ahead of the window", s->ahead_units, units_ahead(t, is, s)},
                          {"cycles without a credit", s->wait_cycles, t->unhurried ? s->wait_cycles : is->waited}};
    tw_tally_claims(fault, name.text, "", c, TW_COUNT(c));
}

static void compare_op(const tw_tally *t, int op, tw_fault *fault)
{
    const tw_summary *s = &t->claims->op[op], *is = &t->op[op];
    const tw_claim c[] = {
        {"end", s->cycles, is->cycles}, {"executions", s->execs, is->execs}, {"points", s->macs, is->macs}};
    tw_tally_claims(fault, t->model->op[op].name, "", c, TW_COUNT(c));
    if (!t->claims->op_time) return;
    const tw_op_claim *said = &t->claims->op_time[op], *time = &t->op_time[op];
    const tw_claim more[] = {{"start", said->start, time->start},
                             {"busy cycles", said->busy, time->busy},
                             {"points that rescale", said->rescaled, time->rescaled}};
    tw_tally_claims(fault, t->model->op[op].name, "", more, TW_COUNT(more));
}

/* Of what stays until the end the last buffer never comes back. */
static void compare_hold(const tw_tally *t, int pool, tw_fault *fault)
{
    const tw_hold_claim *is = &t->pool[pool].moved, *s = &t->claims->hold[t->pool[pool].said];
    tw_buffer_name name = tw_buffer_name_of(t->scene, t->pool[pool].first, -1, -1);
    const tw_claim c[] = {{"first cycle in use", s->life.lo, t->unhurried ? s->life.lo : is->life.lo},
                          {"last cycle in use", s->life.hi, t->unhurried ? s->life.hi : is->life.hi},
                          {"transfers", s->transfers, is->transfers},
                          {"units moved", s->units, is->units},
                          {"loads", s->loads, is->loads},
                          {"units loaded", s->load_units, is->load_units}};
    tw_tally_claims(fault, name.text, "", c, TW_COUNT(c));
}

static void compare_group(tw_tally *t, int group, tw_fault *fault)
{
    const tw_claim c = {"energy in fJ of a group", t->claims->group_fj[group],
                        energy_of(t, group_passed(t, group, 0))};
    tw_tally_claims(fault, "", "", &c, 1);
}

static void compare_port(const tw_tally *t, int port, tw_fault *fault)
{
    const tw_claim c[] = {{"busy cycles", t->claims->port_busy[port], tw_ways_busy(t->ports, port)},
                          {"transfers", t->claims->port_passed[port], tw_ways_passed(t->ports, port)},
                          {"units",
                           t->claims->port_units ? t->claims->port_units[port] : tw_ways_units(t->ports, port),
                           tw_ways_units(t->ports, port)}};
    tw_tally_claims(fault, t->scene->platform->port[port].name, "", c, TW_COUNT(c));
}

static int64_t pool_units(const tw_tally *t, const tw_tally_pool *p)
{
    return tw_table_units(t->scene, p->first, p->peak);
}

static bool is_alive(const tw_tally_pool *p, int64_t cycle)
{
    tw_span life = p->moved.life;
    return life.lo == cycle || (life.lo < cycle && cycle < life.hi);
}

/* Pools of groups that come one after the other are not all in use at once: the most are when one of them begins to be. */
static int64_t live_with(const tw_tally *t, const tw_tally_pool *first)
{
    int64_t sum = 0;
    for (int i = 0; i < t->n_pools; i++)
        if (t->scene->buffer[t->pool[i].first].memory == t->scene->buffer[first->first].memory &&
            is_alive(&t->pool[i], first->moved.life.lo))
            sum += pool_units(t, &t->pool[i]);
    return sum;
}

static void sum_pools(const tw_tally *t)
{
    for (int i = 0; i < t->n_pools; i++) {
        const tw_tally_pool *p = &t->pool[i];
        int64_t *live = &t->live[t->scene->buffer[p->first].memory];
        *live = t->model ? tw_max(*live, live_with(t, p)) : *live + pool_units(t, p);
    }
}

static void compare_memories(const tw_tally *t, tw_fault *fault)
{
    const tw_platform *p = t->scene->platform;
    sum_pools(t);
    for (int m = 1; m < p->n_memories; m++) {
        const tw_memory_use *s = &t->claims->memory[m];
        const tw_claim c[] = {
            {"units of buffers", s->static_units, t->packed ? t->scene->used[m] : s->static_units},
            {"units in use at once", s->peak_live, t->unhurried ? s->peak_live : t->live[m]}};
        tw_tally_claims(fault, p->memory[m].name, "", c, TW_COUNT(c));
    }
}

void tw_tally_compare(tw_tally *t, tw_fault *fault)
{
    const tw_claims *said = t->claims;
    if (!said || fault->set) return;
    t->sum.energy_fj = energy_of(t, t->passed);
    if (t->overflows) tw_fault_set(fault, "the numbers of the report do not fit into 64 bits");
    compare_sum(t, fault);
    if (said->outermost_units) compare_outermost(t, fault);
    for (int e = 0; e < t->scene->platform->n_engines && said->engine; e++) compare_engine(t, e, fault);
    if (said->engine && !t->unhurried) compare_path(t, fault);
    for (int e = 0; e < t->scene->platform->n_engines && !t->unhurried; e++) {
        if (t->scene->platform->engine[e].is.kind != TW_COMPUTES) continue;
        if (said->idle) compare_idle(t, e, &said->idle[e], fault);
        if (said->has_compute && said->compute_engine == e) compare_idle(t, e, &said->compute, fault);
    }
    for (int i = 0; i < t->n_pools && said->pool; i++) compare_pool(t, i, fault);
    if (said->memory) compare_memories(t, fault);
    for (int i = 0; t->model && i < t->model->n_ops && said->op; i++) compare_op(t, i, fault);
    for (int i = 0; i < t->n_pools && said->hold; i++) compare_hold(t, i, fault);
    for (int g = 0; g < t->n_groups && said->group_fj; g++) compare_group(t, g, fault);
    for (int p = 0; p < t->scene->platform->n_ports && said->port_busy && said->port_passed; p++)
        compare_port(t, p, fault);
}
