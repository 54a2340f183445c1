/* src/report/data/joint_json.c - see joint_json.h. */
#include "report/data/joint_json.h"
#include "fuse/cores.h"
#include "plan/ends.h"
#include "plan/groupfacts.h"
#include "plan/groupform.h"
#include "plan/off_chip.h"
#include "report/facts/jointfacts.h"

static const char *engine_name(const tw_plan *plan, int engine)
{
    return engine < 0 ? NULL : plan->joint->program->platform->engine[engine].name;
}

static void open_list(tw_json *j, const char *key) { tw_json_key_open(j, key, '['); }

/* ---- groups ---- */

static void write_cuts(const tw_nest *nest, tw_json *j)
{
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    open_list(j, "cuts");
    for (int p = 0; p < nest->n_places; p++) {
        const tw_nest_cut *cut = &nest->map->cut[p];
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "loop", driver->loop[cut->loop].name);
        tw_json_key_int_or_null(j, "count", cut->count, cut->count > 0);
        tw_json_key_int_or_null(j, "size", cut->size, cut->size > 0);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_group_op(const tw_plan *plan, int g, int k, tw_json *j)
{
    const tw_nest_op *op = &plan->joint->program->nest[g].op[k];
    const tw_joint_span *span = &plan->joint->timeline.op[g][k];
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", op->op->name);
    tw_json_key_string(j, "engine", engine_name(plan, op->engine));
    tw_json_key_int(j, "executions", span->execs);
    tw_json_key_int(j, "points", span->macs);
    tw_json_key_int(j, "start_cycle", span->start_cycle);
    tw_json_key_int(j, "end_cycle", span->end_cycle);
    tw_json_close(j);
}

static void write_facts(const tw_group_facts *f, tw_json *j)
{
    tw_json_key_int(j, "steps", f->n_steps);
    tw_json_key_int(j, "points", f->points);
    tw_json_key_int(j, "points_once", f->points_once);
    tw_json_key_int(j, "rescaled", f->rescaled);
    tw_json_key_int(j, "saved_bytes", f->saved_bytes);
    tw_json_key_int(j, "kept_bytes", f->kept_bytes);
    tw_json_key_open_line(j, "even", '{');
    tw_json_key_int(j, "points", f->even_points);
    tw_json_key_int(j, "bytes", f->even_bytes);
    tw_json_close(j);
}

static void write_form(const tw_plan *plan, int g, tw_json *j)
{
    tw_group_form f = tw_group_form_of(plan, g);
    tw_json_key(j, "closed_form");
    tw_json_open_line(j, '{');
    tw_json_key_int(j, "cycles", f.cycles);
    tw_json_key_string(j, "engine", f.engine < 0 ? NULL : engine_name(plan, f.engine));
    tw_json_key_int(j, "more_cycles", f.more_cycles);
    tw_json_key_int(j, "saved_cycles", f.saved_cycles);
    tw_json_key_int(j, "weight_bytes", f.weight_bytes);
    tw_json_key_int(j, "weight_loaded", f.weight_loaded);
    tw_json_close(j);
}

static void write_tensors(const tw_plan *plan, int g, int n, tw_json *j)
{
    open_list(j, "tensors");
    for (int i = 0; i < n; i++) {
        tw_group_tensor t = tw_group_tensor_of(plan, g, i);
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "name", t.name);
        tw_json_key_string(j, "maker", t.maker < 0 ? NULL : plan->joint->program->nest[g].op[t.maker].op->name);
        tw_json_key_bool(j, "inside", t.inside);
        tw_json_key_int(j, "elements", t.elems);
        tw_json_key_int_or_null(j, "elements_made", t.elems_made, t.maker >= 0);
        tw_group_rows rows = tw_group_rows_of(plan, g, i);
        tw_json_key_int_or_null(j, "rows", rows.extent, rows.extent > 0);
        tw_json_key_int_or_null(j, "rows_made", rows.made, rows.extent > 0);
        tw_json_key_int(j, "saved_bytes", t.saved_bytes);
        tw_json_key_int(j, "kept_bytes", t.kept_bytes);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_needs(const tw_plan *plan, int g, tw_json *j)
{
    const tw_platform *platform = plan->joint->program->platform;
    tw_json_key_open_line(j, "needs", '{');
    for (int m = 1; m < platform->n_memories; m++)
        tw_json_key_int(j, platform->memory[m].name, tw_group_needs(plan, g, m));
    tw_json_close(j);
}

/* What it takes, and what its operators take layer by layer; why it ends there. */
static void write_gain(const tw_plan *plan, int g, tw_json *j)
{
    tw_group_gain gain = tw_group_gain_of(plan, g);
    tw_json_key_int(j, "cycles", gain.cycles);
    tw_json_key_int(j, "energy_fj", gain.energy_fj);
    tw_json_key_int_or_null(j, "layers_cycles", gain.layers_cycles, gain.layers_cycles >= 0);
    tw_json_key_int_or_null(j, "layers_energy_fj", gain.layers_energy_fj, gain.layers_energy_fj >= 0);
    if (!plan->joint->end) return;
    tw_arena *arena = tw_arena_new();
    const char *text = arena ? tw_group_end_text(plan, &plan->joint->end[g], arena) : NULL;
    if (text) tw_json_key_string(j, "ends", text);
    tw_arena_free(arena);
}

static void write_group(const tw_plan *plan, int g, tw_json *j)
{
    tw_group_facts facts = tw_group_facts_of(plan, g);
    const tw_nest *nest = &plan->joint->program->nest[g];
    tw_span when = tw_joint_group_span(plan, g);
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", nest->map->name);
    tw_json_key_int(j, "start_cycle", when.lo);
    tw_json_key_int(j, "end_cycle", when.hi);
    open_list(j, "operators");
    for (int k = 0; k < nest->n_ops; k++) write_group_op(plan, g, k, j);
    tw_json_close(j);
    write_cuts(nest, j);
    write_facts(&facts, j);
    write_form(plan, g, j);
    write_tensors(plan, g, facts.n_tensors, j);
    write_needs(plan, g, j);
    write_gain(plan, g, j);
    tw_json_close(j);
}

/* ---- where the time goes ---- */

static void write_bottleneck(const tw_plan *plan, tw_json *j)
{
    tw_joint_limit limit = tw_joint_limit_of(plan);
    tw_json_key_string(j, "bottleneck", tw_joint_limit_name(plan, &limit));
    tw_json_key_open_line(j, "bound", '{');
    tw_json_key_int(j, "ticks", 0);
    tw_json_key_int(j, "cycles", limit.cycles);
    tw_json_key_string(j, limit.port ? "port" : "engine", tw_joint_limit_name(plan, &limit));
    tw_json_close(j);
    tw_json_key_int(j, "critical_port_cycles", tw_joint_port_path(plan));
}

static const char *measure_word(tw_measure measure)
{
    return measure == TW_ENERGY    ? "energy"
           : measure == TW_EDP     ? "edp"
           : measure == TW_TRAFFIC ? "traffic"
                                   : "latency";
}

/* How the groups were found; null: the mapping was given. */
static void write_search(const tw_plan *plan, tw_json *j)
{
    const tw_joint_search *s = plan->joint->search;
    tw_json_key(j, "group_search");
    if (!s) {
        tw_json_null(j);
        return;
    }
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "measure", measure_word(s->measure));
    tw_json_key_int_or_null(j, "layers_cycles", s->apart.cycles, s->apart.cycles > 0);
    tw_json_key_int_or_null(j, "layers_energy_fj", s->apart.energy_fj, s->apart.cycles > 0);
    if (s->n_cores > 1) {
        tw_json_key_open(j, "alone_cycles", '{');
        for (int c = 0; c < s->n_cores; c++)
            tw_json_key_int_or_null(j, plan->joint->program->platform->core[c].name, s->alone[c], s->alone[c] > 0);
        tw_json_close(j);
        tw_json_key_open(j, "alone_cycles_at_least", '{');
        for (int c = 0; c < s->n_cores; c++)
            if (s->alone[c] < 0) tw_json_key_int(j, plan->joint->program->platform->core[c].name, -s->alone[c]);
        tw_json_close(j);
        tw_json_key_int_or_null(j, "equal_cycles", s->equal, s->equal > 0);
        tw_json_key(j, "proven_mappings");
        if (s->space > 0)
            tw_json_number(j, s->space);
        else
            tw_json_null(j);
    }
    tw_json_key_int_or_null(j, "bound_cycles", s->bound, s->bound > 0);
    tw_json_key_string(j, "bound_by", s->bound_by);
    tw_json_key_int_or_null(j, "off_chip_bound", s->bound_units, s->bound_units > 0);
    tw_json_key_int(j, "off_chip", tw_off_chip_of_groups(plan));
    tw_json_key_int(j, "simulations", s->n_simulated);
    tw_json_close(j);
}

static void write_engine(const tw_plan *plan, int e, tw_json *j)
{
    const tw_engine_use *use = &plan->joint->timeline.engine[e];
    const tw_platform *platform = plan->joint->program->platform;
    int core = platform->engine[e].core;
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", platform->engine[e].name);
    tw_json_key_string(j, "core", core < 0 ? NULL : platform->core[core].name);
    tw_json_key_int(j, "count", tw_max(platform->engine[e].is.count, 1));
    tw_json_key_int(j, "loads", use->loads);
    tw_json_key_int(j, "load_units", use->load_units);
    tw_json_key_int(j, "stores", use->stores);
    tw_json_key_int(j, "store_units", use->store_units);
    tw_json_key_int(j, "runs", use->ops);
    tw_json_key_int(j, "busy_cycles", use->busy_cycles);
    tw_json_key_int(j, "wait_data_cycles", use->wait_data);
    tw_json_key_int(j, "wait_credit_cycles", use->wait_credit);
    tw_json_key_int(j, "wait_port_cycles", use->wait_port);
    tw_json_key_int(j, "idle_cycles", tw_joint_idle(plan, e));
    tw_json_key_int(j, "critical_cycles", use->critical_cycles);
    tw_json_close(j);
}

static void write_port(const tw_plan *plan, int p, tw_json *j)
{
    const tw_platform *platform = plan->joint->program->platform;
    const tw_port *port = &platform->port[p];
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", port->name);
    if (port->memory >= 0) tw_json_key_string(j, "memory", platform->memory[port->memory].name);
    tw_json_key_int(j, "ways", port->ways);
    tw_json_key_int_or_null(j, "per_cycle", port->per_cycle, port->per_cycle > 0);
    tw_json_key_int(j, "busy_cycles", plan->joint->timeline.port_busy[p]);
    tw_json_key_int(j, "transfers", plan->joint->timeline.port_passed[p]);
    tw_json_key_int(j, "units", plan->joint->timeline.port_units[p]);
    tw_json_close(j);
}

/* ---- what lies where ---- */

static void write_memory(const tw_plan *plan, int m, tw_json *j)
{
    const tw_memory_use *use = &plan->joint->memory[m];
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", use->memory);
    tw_json_key_int_or_null(j, "size", use->size, use->size != TW_UNLIMITED);
    tw_json_key_int(j, "copies", plan->joint->program->platform->memory[m].lanes);
    tw_json_key_int(j, "slots", use->static_units);
    tw_json_key_int(j, "peak_live", use->peak_live);
    tw_json_close(j);
}

/* The loops that stand still while it is held. */
static void write_depth(const tw_plan *plan, const tw_nest_hold *hold, int group, tw_json *j)
{
    const tw_nest *nest = &plan->joint->program->nest[group];
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    tw_json_key_int(j, "depth", hold->depth);
    tw_json_key_open_line(j, "while", '[');
    for (int p = 0; p < hold->depth; p++) tw_json_string(j, driver->loop[nest->map->cut[p].loop].name);
    tw_json_close(j);
}

static void write_hold(const tw_plan *plan, int s, tw_json *j)
{
    static const char *const from[] = {
        [TW_FROM_TENSOR] = "tensor", [TW_FROM_HOLD] = "hold", [TW_FROM_OP] = "operator", [TW_FROM_GROUP] = "group"};
    const tw_joint *program = plan->joint->program;
    const tw_nest_hold *hold = program->hold[s];
    const tw_link_count *link = &plan->joint->timeline.link[s];
    const tw_pool_use *pool = &plan->joint->timeline.pool[s];
    int group = tw_joint_group_of_hold(plan, s);
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "group", program->nest[group].map->name);
    tw_json_key_string(j, "tensor", plan->model->tensor[hold->tensor].name);
    tw_json_key_string(j, "memory", program->platform->memory[hold->memory].name);
    write_depth(plan, hold, group, j);
    tw_json_key_bool(j, "by_sub_step", hold->by_sub);
    tw_json_key_string(j, "slides", hold->slides ? tw_joint_slide_loop(plan, hold, group) : NULL);
    tw_json_key_int(j, "ahead_units", hold->ahead);
    tw_json_key_bool(j, "sums", hold->sums);
    tw_json_key_bool(j, "resident", hold->resident || hold->from == TW_FROM_GROUP);
    tw_json_key_string(j, "from", from[hold->from]);
    tw_json_key_string(j, "mover", engine_name(plan, hold->engine));
    tw_json_key_string(j, "drain", engine_name(plan, hold->drain));
    tw_json_key_int(j, "slots", hold->slots);
    tw_json_key_int(j, "slot_units", hold->size);
    tw_json_key_int(j, "copies", hold->lanes);
    tw_json_key_int(j, "peak", pool->peak);
    tw_json_key_int(j, "start_cycle", plan->joint->timeline.life[s].lo);
    tw_json_key_int(j, "end_cycle", plan->joint->timeline.life[s].hi);
    tw_json_key_int(j, "live_units", tw_nest_hold_units(hold, pool->peak));
    tw_json_key_int(j, "wait_cycles", pool->wait_cycles);
    tw_json_key_string(j, "engine", engine_name(plan, tw_joint_mover_of(plan, s)));
    tw_json_key_int(j, "transfers", link->transfers);
    tw_json_key_int(j, "units", link->units);
    tw_json_key_int(j, "loads", link->loads);
    tw_json_key_int(j, "load_units", link->load_units);
    tw_json_close(j);
}

static void write_buffer(const tw_plan *plan, int b, tw_json *j)
{
    const tw_joint *program = plan->joint->program;
    const tw_buffer *buffer = &program->buffer[b];
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "memory", program->platform->memory[buffer->memory].name);
    tw_json_key_string(j, "tensor", plan->model->tensor[buffer->operand].name);
    tw_json_key_string(j, "group", program->nest[buffer->group].map->name);
    tw_json_key_int(j, "hold", buffer->pool);
    tw_json_key_int(j, "slot", buffer->slot);
    tw_json_key_int(j, "lane", buffer->lane);
    tw_json_key_int(j, "offset", buffer->offset);
    tw_json_key_int(j, "size", buffer->size);
    tw_json_close(j);
}

/* ---- the part ---- */

static void write_list(const tw_plan *plan, const char *key, int n, void (*write)(const tw_plan *, int, tw_json *),
                       tw_json *j)
{
    open_list(j, key);
    for (int i = 0; i < n; i++) write(plan, i, j);
    tw_json_close(j);
}

void tw_joint_json(const tw_plan *plan, tw_json *j)
{
    const tw_joint *program = plan->joint->program;
    write_list(plan, "groups", program->n_nests, write_group, j);
    write_search(plan, j);
    write_bottleneck(plan, j);
    write_list(plan, "engines", program->platform->n_engines, write_engine, j);
    write_list(plan, "ports", program->platform->n_ports, write_port, j);
    write_list(plan, "memories", program->platform->n_memories, write_memory, j);
    write_list(plan, "holds", program->n_holds, write_hold, j);
    write_list(plan, "buffers", program->n_buffers, write_buffer, j);
}

/* What each operator takes by itself on each core; null: one core, or too many operators. */
static tw_status write_core_table(const tw_plan *plan, const tw_work *work, tw_json *j)
{
    const tw_platform *platform = plan->joint->program->platform;
    const int64_t *cycles;
    TW_TRY(tw_cores_table(plan->model, plan->machine, work, &cycles));
    tw_json_key(j, "core_cycles");
    if (!cycles) {
        tw_json_null(j);
        return TW_OK;
    }
    tw_json_open(j, '{');
    for (int i = 0; i < plan->model->n_ops; i++) {
        tw_json_key_open_line(j, plan->model->op[i].name, '{');
        for (int c = 0; c < platform->n_cores; c++) {
            int64_t own = cycles[(int64_t)i * platform->n_cores + c];
            tw_json_key_int_or_null(j, platform->core[c].name, own, own > 0);
        }
        tw_json_close(j);
    }
    tw_json_close(j);
    return TW_OK;
}

tw_status tw_joint_traffic_json(const tw_plan *plan, const tw_work *work, tw_json *j)
{
    TW_TRY(write_core_table(plan, work, j));
    const tw_port_traffic *traffic;
    int n;
    TW_TRY(tw_joint_port_traffic(plan, work, &n, &traffic));
    open_list(j, "port_traffic");
    for (int i = 0; i < n; i++) {
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "port", plan->joint->program->platform->port[traffic[i].port].name);
        tw_json_key_string(j, "tensor", plan->model->tensor[traffic[i].tensor].name);
        tw_json_key_int(j, "transfers", traffic[i].transfers);
        tw_json_key_int(j, "units", traffic[i].units);
        tw_json_key_int(j, "delivered_units", traffic[i].delivered);
        tw_json_close(j);
    }
    tw_json_close(j);
    return TW_OK;
}

void tw_joint_command_json(const tw_plan *plan, const tw_instr *in, tw_json *j)
{
    const tw_nest *nest = &plan->joint->program->nest[in->group];
    char label[TW_JOINT_LABEL];
    tw_json_key_string(j, "group", nest->map->name);
    tw_json_key_string(j, "operator", nest->op[in->which].op->name);
    tw_json_key_string(j, "label", tw_joint_label(plan, in, label));
}
