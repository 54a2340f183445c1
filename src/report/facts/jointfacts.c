/* src/report/facts/jointfacts.c - see jointfacts.h. */
#include "report/facts/jointfacts.h"

#include <stdio.h>

static const tw_platform *platform_of(const tw_plan *plan) { return plan->joint->program->platform; }

/* ---- where the time goes ---- */

tw_joint_limit tw_joint_limit_of(const tw_plan *plan)
{
    const tw_platform *platform = platform_of(plan);
    const tw_joint_timeline *t = &plan->joint->timeline;
    tw_joint_limit most = {.cycles = -1};
    for (int e = 0; e < platform->n_engines; e++) {
        int64_t cycles = tw_cdiv(t->engine[e].busy_cycles, tw_max(platform->engine[e].is.count, 1));
        if (cycles > most.cycles) most = (tw_joint_limit){false, e, cycles};
    }
    for (int p = 0; p < platform->n_ports; p++) {
        int64_t cycles = tw_cdiv(t->port_busy[p], tw_max(platform->port[p].ways, 1));
        if (cycles > most.cycles) most = (tw_joint_limit){true, p, cycles};
    }
    return most;
}

const char *tw_joint_limit_name(const tw_plan *plan, const tw_joint_limit *limit)
{
    const tw_platform *platform = platform_of(plan);
    return limit->port ? platform->port[limit->number].name : platform->engine[limit->number].name;
}

int tw_joint_most_critical(const tw_plan *plan)
{
    const tw_engine_use *use = plan->joint->timeline.engine;
    int most = 0;
    for (int e = 1; e < platform_of(plan)->n_engines; e++)
        if (use[e].critical_cycles > use[most].critical_cycles) most = e;
    return most;
}

int64_t tw_joint_port_path(const tw_plan *plan)
{
    int64_t rest = plan->sum.cycles;
    for (int e = 0; e < platform_of(plan)->n_engines; e++) rest -= plan->joint->timeline.engine[e].critical_cycles;
    return rest;
}

int64_t tw_joint_idle(const tw_plan *plan, int engine)
{
    const tw_engine_use *use = &plan->joint->timeline.engine[engine];
    int64_t units = tw_max(platform_of(plan)->engine[engine].is.count, 1);
    return plan->sum.cycles * units - use->busy_cycles - use->wait_data - use->wait_credit - use->wait_port;
}

bool tw_joint_does_nothing(const tw_plan *plan, int engine)
{
    const tw_engine_use *use = &plan->joint->timeline.engine[engine];
    return use->ops + use->loads + use->stores == 0;
}

int64_t tw_joint_compute_energy(const tw_plan *plan, int engine)
{
    const tw_joint *program = plan->joint->program;
    int64_t points = 0;
    for (int g = 0; g < program->n_nests; g++)
        for (int k = 0; k < program->nest[g].n_ops; k++)
            if (program->nest[g].op[k].engine == engine) points += plan->joint->timeline.op[g][k].macs;
    return points * program->platform->engine[engine].is.energy_fj;
}

/* ---- groups ---- */

tw_span tw_joint_group_span(const tw_plan *plan, int group)
{
    tw_span all = {INT64_MAX, 0};
    for (int k = 0; k < plan->joint->program->nest[group].n_ops; k++) {
        const tw_joint_span *span = &plan->joint->timeline.op[group][k];
        if (span->execs == 0) continue;
        all.lo = tw_min(all.lo, span->start_cycle);
        all.hi = tw_max(all.hi, span->end_cycle);
    }
    return all.lo < all.hi ? all : (tw_span){0, 0};
}

/* The loops that the first `depth` places cut, each once; returns how many. */
static int loops_of(const tw_nest *nest, int depth, int loop[TW_MAX_LOOPS])
{
    int n = 0;
    for (int p = 0; p < depth; p++) {
        int i = 0;
        while (i < n && loop[i] != nest->map->cut[p].loop) i++;
        loop[i] = nest->map->cut[p].loop;
        n += i == n;
    }
    return n;
}

const char *tw_joint_slide_loop(const tw_plan *plan, const tw_nest_hold *hold, int group)
{
    const tw_nest *nest = &plan->joint->program->nest[group];
    return nest->op[nest->n_ops - 1].op->loop[nest->map->cut[hold->depth - 1].loop].name;
}

void tw_joint_kept_print(const tw_plan *plan, const tw_nest_hold *hold, int group, tw_text *out)
{
    const tw_nest *nest = &plan->joint->program->nest[group];
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    int loop[TW_MAX_LOOPS], n = loops_of(nest, hold->depth, loop);
    if (hold->resident || hold->from == TW_FROM_GROUP)
        tw_text_printf(out, "resident");
    else if (hold->slides)
        tw_text_printf(out, "slides along %s", tw_joint_slide_loop(plan, hold, group));
    else if (hold->by_sub)
        tw_text_printf(out, "for a part of a step");
    else if (n == 0)
        tw_text_printf(out, "all along");
    else if (hold->depth == nest->n_places)
        tw_text_printf(out, "for a step");
    else {
        for (int i = 0; i < n; i++) tw_text_printf(out, "%s%s", i ? ", " : "while ", driver->loop[loop[i]].name);
        tw_text_printf(out, n > 1 ? " stand still" : " stands still");
    }
}

int tw_joint_group_of_hold(const tw_plan *plan, int hold)
{
    const tw_joint *program = plan->joint->program;
    int g = 0;
    for (; hold >= program->nest[g].n_holds; g++) hold -= program->nest[g].n_holds;
    return g;
}

int tw_joint_mover_of(const tw_plan *plan, int hold)
{
    const tw_nest *nest = &plan->joint->program->nest[tw_joint_group_of_hold(plan, hold)];
    const tw_nest_hold *s = plan->joint->program->hold[hold];
    if (s->engine >= 0 && s->inwards) return s->engine;
    if (s->drain >= 0) return s->drain;
    for (int i = 0; i < nest->n_holds; i++) {
        const tw_nest_hold *next = &nest->hold[i];
        if (next->from == TW_FROM_HOLD && &nest->hold[next->source] == s && !next->inwards) return next->engine;
    }
    return -1;
}

/* ---- commands ---- */

const char *tw_joint_label(const tw_plan *plan, const tw_instr *in, char *text)
{
    const tw_joint *program = plan->joint->program;
    const tw_nest *nest = &program->nest[in->group];
    bool moves = in->op == TW_LOAD || in->op == TW_STORE;
    const tw_nest_hold *hold = moves ? program->hold[in->link] : NULL;
    int loop[TW_MAX_LOOPS], n = loops_of(nest, moves ? hold->depth : nest->n_places, loop);
    const char *name = moves ? plan->model->tensor[hold->tensor].name : nest->op[in->which].op->name;
    int used = snprintf(text, TW_JOINT_LABEL, "%.80s", name);
    for (int i = 0; i < n && used < TW_JOINT_LABEL; i++)
        used +=
            snprintf(text + used, (size_t)(TW_JOINT_LABEL - used), "%c%" PRId64, i ? ',' : '[', in->index[loop[i]]);
    if (n > 0 && used < TW_JOINT_LABEL) snprintf(text + used, (size_t)(TW_JOINT_LABEL - used), "]");
    return text;
}

int tw_joint_label_depth(const tw_plan *plan, const tw_instr *in)
{
    const tw_nest *nest = &plan->joint->program->nest[in->group];
    bool moves = in->op == TW_LOAD || in->op == TW_STORE;
    int loop[TW_MAX_LOOPS];
    return loops_of(nest, moves ? plan->joint->program->hold[in->link]->depth : nest->n_places, loop);
}

int tw_joint_cut_loops(const tw_plan *plan, int group, int loop[TW_MAX_LOOPS])
{
    const tw_nest *nest = &plan->joint->program->nest[group];
    return loops_of(nest, nest->n_places, loop);
}

tw_status tw_joint_walk(const tw_plan *plan, const tw_row_sink *sink, tw_arena *scratch, tw_diag *diag)
{
    tw_arena *tables = tw_arena_new();
    tw_joint_timeline again;
    if (!tables) return TW_ERR_NOMEM;
    tw_status status = tw_joint_run(plan->joint->program, sink, &(tw_work){tables, scratch, diag}, &again);
    tw_arena_free(tables);
    return status;
}

static const char *memory_of(const tw_joint *program, int buffer)
{
    return program->platform->memory[buffer < 0 ? 0 : program->buffer[buffer].memory].name;
}

static int slot_of(const tw_joint *program, int buffer) { return buffer < 0 ? -1 : program->buffer[buffer].slot; }

static int first_source(const tw_instr *in)
{
    for (int i = 0; i < in->n_src; i++)
        if (in->src[i] >= 0) return in->src[i];
    return -1;
}

static tw_action action_of(const tw_joint *program, const tw_event *event, tw_action_tables *own)
{
    const tw_instr *in = &event->instr;
    const tw_nest *nest = &program->nest[in->group];
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    tw_action a = {.op = in->op,
                   .engine = program->platform->engine[in->engine].name,
                   .operand = nest->op[in->which].op->operand[in->operand].name,
                   .slot = slot_of(program, in->op == TW_STORE ? in->src[0] : in->dst),
                   .accumulates = in->accumulates,
                   .units = in->work,
                   .start_cycle = event->start_cycle,
                   .end_cycle = event->end_cycle,
                   .unit = in->unit,
                   .partial = in->partial,
                   .from = memory_of(program, first_source(in)),
                   .to = memory_of(program, in->dst),
                   .busy_end = event->busy_end,
                   .wait = event->wait,
                   .waited = event->waited};
    a.n_tile = driver->n_loops;
    a.tile = a.index = in->index;
    if (in->op != TW_EXEC) return a;
    for (int i = 0; i < in->n_src; i++) own->source[i] = slot_of(program, in->src[i]);
    a.n_sources = in->n_src;
    a.source = own->source;
    return a;
}

void tw_joint_row(const tw_plan *plan, const tw_rowset *row, tw_action *action, tw_action_tables *tables,
                  tw_row *out)
{
    const tw_joint *program = plan->joint->program;
    assert(row->n_events == 1);
    *action = action_of(program, &row->event[0], tables);
    *out = (tw_row){.memory = action->to,
                    .tick = row->tick,
                    .start_cycle = row->start_cycle,
                    .end_cycle = row->end_cycle,
                    .n_actions = 1,
                    .action = action};
}

/* ---- what passes ports ---- */

typedef struct counter {
    const tw_plan *plan;
    tw_port_traffic *at; /* port * tensors + tensor */
} counter;

static void count_at(const counter *c, int port, int tensor, const tw_instr *in, bool reads, int64_t units)
{
    const tw_port *p = &c->plan->joint->program->platform->port[port];
    tw_port_traffic *t = &c->at[port * c->plan->model->n_tensors + tensor];
    t->delivered += units;
    if (in->heard && reads && p->broadcasts) return;
    t->transfers++;
    t->units += tw_cdiv(units, p->word) * p->word;
}

static tw_status count_command(void *user, const tw_rowset *row)
{
    const counter *c = user;
    const tw_joint *program = c->plan->joint->program;
    for (int i = 0; i < row->n_events; i++) {
        const tw_instr *in = &row->event[i].instr;
        if (in->op != TW_LOAD && in->op != TW_STORE) continue;
        const tw_platform_engine *engine = &program->platform->engine[in->engine];
        int tensor = program->nest[in->group].op[in->which].op->operand[in->operand].tensor;
        int reads = engine->reads[in->op == TW_STORE], writes = engine->writes[in->op == TW_STORE];
        if (reads >= 0) count_at(c, reads, tensor, in, true, in->reads);
        if (writes >= 0 && writes != reads) count_at(c, writes, tensor, in, false, in->writes);
    }
    return TW_OK;
}

tw_status tw_joint_port_traffic(const tw_plan *plan, const tw_work *work, int *n, const tw_port_traffic **out)
{
    int n_ports = plan->joint->program->platform->n_ports, n_tensors = plan->model->n_tensors;
    counter c = {.plan = plan};
    *n = 0;
    TW_ALLOC(work->arena, c.at, (int64_t)n_ports * n_tensors + 1);
    *out = c.at;
    if (n_ports == 0) return TW_OK;
    const tw_row_sink sink = {count_command, NULL, &c};
    TW_TRY(tw_joint_walk(plan, &sink, work->scratch, work->diag));
    for (int p = 0; p < n_ports; p++)
        for (int t = 0; t < n_tensors; t++) {
            tw_port_traffic own = c.at[p * n_tensors + t];
            if (own.delivered == 0) continue;
            own.port = p;
            own.tensor = t;
            c.at[(*n)++] = own;
        }
    return TW_OK;
}
