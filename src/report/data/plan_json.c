/* src/report/data/plan_json.c - the plan for programs: one JSON document, described field by field in docs/json.md.
 *
 * Integers, but for the search's bounds and shares; what has no value (an unlimited size, a plan that was not
 * searched) is null. A change that could break a reader raises SCHEMA_VERSION; new fields do not. */
#include "program/print.h"
#include "report/data/async_json.h"
#include "report/data/head.h"
#include "report/data/joint_json.h"
#include "report/data/losses_json.h"
#include "report/facts/bound.h"
#include "report/facts/cuts.h"
#include "report/facts/jointfacts.h"
#include "report/facts/usage.h"
#include "report/report.h"
#include "report/text/placement.h"
#include "report/text/proof.h"
#include "report/text/remedy.h"
#include "report/text/stalls.h"
#include "write/json.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMA_VERSION = 1 };

/* ---- pieces ---- */

static void write_summary(tw_json *j, const tw_summary *s, bool energy)
{
    tw_json_key_open_line(j, "summary", '{');
    tw_json_key_int(j, "ticks", s->ticks);
    tw_json_key_int(j, "cycles", s->cycles);
    tw_json_key_int(j, "executions", s->execs);
    tw_json_key_int(j, "points", s->macs);
    tw_json_key_int(j, "instructions", s->instructions);
    if (energy) tw_json_key_int(j, "energy_fj", s->energy_fj);
    tw_json_close(j);
}

/* Where the time goes: of rows found by a walk, of a stream known from its critical path. */
typedef struct time_use {
    tw_bound bound;
    int bottleneck;
    int64_t active[TW_MAX_ENGINES], awaited[TW_MAX_ENGINES];
    int64_t peak_tick[TW_MAX_MEMORIES]; /* -1: there are no ticks */
} time_use;

static tw_status find_in_rows(const tw_op_plan *plan, tw_arena *scratch, tw_diag *diag, time_use *w)
{
    tw_usage usage;
    tw_timeline again;
    tw_usage_init(&usage, &plan->program);
    tw_row_sink sink = tw_usage_sink(&usage);
    TW_TRY(tw_timeline_walk(&plan->program, &sink, scratch, diag, &again));
    w->bound = tw_bound_of(plan, &usage);
    w->bottleneck = tw_usage_bottleneck(&usage);
    memcpy(w->active, usage.active_cycles, sizeof w->active);
    memcpy(w->awaited, usage.decisive_cycles, sizeof w->awaited);
    memcpy(w->peak_tick, usage.peak_tick, sizeof w->peak_tick);
    return TW_OK;
}

static void find_in_stream(const tw_op_plan *plan, time_use *w)
{
    tw_busiest busiest = tw_busiest_of(plan);
    w->bound = (tw_bound){.cycles = busiest.cycles, .engine = busiest.engine};
    w->bottleneck = busiest.engine;
    for (int e = 0; e < plan->program.machine->n_engines; e++) {
        w->active[e] = plan->timeline.engine[e].busy_cycles;
        w->awaited[e] = plan->timeline.engine[e].critical_cycles;
    }
    for (int m = 0; m < TW_MAX_MEMORIES; m++) w->peak_tick[m] = -1;
}

static void write_bound(tw_json *j, const tw_op_plan *plan, const time_use *w)
{
    const tw_engine *engine = plan->program.machine->engine;
    tw_json_key_string(j, "bottleneck", engine[w->bottleneck].name);
    tw_json_key_open_line(j, "bound", '{');
    tw_json_key_int(j, "ticks", w->bound.ticks);
    tw_json_key_int(j, "cycles", w->bound.cycles);
    tw_json_key_string(j, "engine", engine[w->bound.engine].name);
    tw_json_close(j);
}

/* What the machine file says of an engine: where it works, and what it does at best. */
static void write_engine(tw_json *j, const tw_machine *machine, const tw_engine *engine)
{
    bool moves = engine->kind == TW_MOVES;
    double rate = tw_cost_rate(&engine->cost);
    tw_json_key_string(j, "name", engine->name);
    tw_json_key_string(j, "kind", moves ? "moves" : engine->kind == TW_ADDS ? "adds" : "computes");
    tw_json_key_string(j, "outer", moves ? machine->memory[engine->outer].name : NULL);
    tw_json_key_string(j, "memory", machine->memory[engine->memory].name);
    tw_json_key_int(j, "count", tw_max(engine->count, 1));
    tw_json_key(j, "rate");
    if (rate > 0)
        tw_json_number(j, rate);
    else
        tw_json_null(j);
}

static void write_engines(tw_json *j, const tw_op_plan *plan, const time_use *w)
{
    const tw_machine *machine = plan->program.machine;
    tw_json_key_open(j, "engines", '[');
    for (int e = 0; e < machine->n_engines; e++) {
        const tw_engine_use *use = &plan->timeline.engine[e];
        tw_json_open_line(j, '{');
        write_engine(j, machine, &machine->engine[e]);
        tw_json_key_int(j, "loads", use->loads);
        tw_json_key_int(j, "load_units", use->load_units);
        tw_json_key_int(j, "stores", use->stores);
        tw_json_key_int(j, "store_units", use->store_units);
        tw_json_key_int(j, "runs", use->ops);
        tw_json_key_int(j, "busy_cycles", use->busy_cycles);
        tw_json_key_int(j, "active_cycles", w->active[e]);
        tw_json_key_int(j, "awaited_cycles", w->awaited[e]);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_operands(tw_json *j, const tw_model *model, const tw_op *op)
{
    tw_json_key_open(j, "operands", '[');
    for (int o = 0; o < op->n_operands; o++) {
        const tw_operand *operand = &op->operand[o];
        const tw_tensor *tensor = &model->tensor[operand->tensor];
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "name", operand->name);
        tw_json_key_string(j, "tensor", tensor->name);
        tw_json_key_string(j, "dtype", tw_dtype_name(tensor->dtype));
        tw_json_key_bool(j, "output", o == tw_op_output(op));
        tw_json_key_open_line(j, "shape", '[');
        for (int a = 0; a < operand->n_axes; a++) tw_json_int(j, operand->axis[a].extent);
        tw_json_close(j);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_links(tw_json *j, const tw_op_plan *plan)
{
    tw_json_key_open(j, "links", '[');
    for (int m = 1; m < plan->program.machine->n_memories; m++)
        for (int o = 0; o < plan->program.op->n_operands; o++) {
            const tw_link_use *use = &plan->link[m][o];
            if (!use->inner) continue;
            tw_json_open_line(j, '{');
            tw_json_key_string(j, "outer", use->outer);
            tw_json_key_string(j, "inner", use->inner);
            tw_json_key_string(j, "operand", use->operand);
            tw_json_key_int(j, "transfers", use->transfers);
            tw_json_key_int(j, "units", use->units);
            tw_json_key_int(j, "least_units", use->least_units);
            tw_json_key_int(j, "elements", use->elems);
            tw_json_key_int(j, "loads", use->loads);
            tw_json_key_int(j, "load_units", use->load_units);
            tw_json_key_int(j, "partial_stores", use->partial_stores);
            tw_json_key_int(j, "partial_units", use->partial_units);
            tw_json_key_int(j, "slots", use->n_slots);
            tw_json_key_int(j, "held_units", use->held_units);
            tw_json_close(j);
        }
    tw_json_close(j);
}

static void write_memories(tw_json *j, const tw_op_plan *plan, const time_use *w)
{
    tw_json_key_open(j, "memories", '[');
    for (int m = 0; m < plan->program.machine->n_memories; m++) {
        const tw_memory_use *use = &plan->memory[m];
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "name", use->memory);
        tw_json_key_int_or_null(j, "size", use->size, use->size != TW_UNLIMITED);
        tw_json_key_int(j, "slots", use->static_units);
        tw_json_key_int(j, "peak_live", use->peak_live);
        tw_json_key_int_or_null(j, "peak_tick", w->peak_tick[m], w->peak_tick[m] >= 0);
        tw_json_close(j);
    }
    tw_json_close(j);
}

/* ---- mapping and layout ---- */

static void write_tiles(tw_json *j, const tw_program *p, const tw_cuts *cuts, int level)
{
    tw_json_key_open_line(j, "tiles", '{');
    for (int l = 0; l < p->op->n_loops; l++) {
        tw_json_key_open_line(j, p->op->loop[l].name, '{');
        tw_json_key_int(j, "count", cuts->level[level].count[l]);
        tw_json_key_int(j, "largest", cuts->level[level].largest[l]);
        tw_json_close(j);
    }
    tw_json_close(j);
    tw_json_key_open_line(j, "order", '[');
    for (int i = 0; i < p->op->n_loops; i++) tw_json_string(j, p->op->loop[p->tiled[level].map->order[i]].name);
    tw_json_close(j);
    tw_json_key_string(j, "cut", tw_cut_name(p->tiled[level].map->cut));
    tw_json_key_string(j, "accumulate", tw_accumulate_name(p->tiled[level].map->accumulate));
}

static void write_mapping(tw_json *j, const tw_program *p)
{
    tw_cuts cuts = tw_cuts_of(p);
    int level = 0;
    tw_json_key_open(j, "mapping", '[');
    for (int i = 0; i < p->map->n_levels; i++) {
        const tw_level_map *map = &p->map->level[i];
        tw_json_open(j, '{');
        tw_json_key_string(j, "memory", p->machine->memory[map->memory].name);
        tw_json_key_bool(j, "pass", map->pass);
        if (!map->pass) write_tiles(j, p, &cuts, level++);
        tw_json_key_open_line(j, "buffers", '{');
        for (int o = 0; o < p->op->n_operands; o++)
            if (p->stop[map->memory][o].here)
                tw_json_key_int(j, p->op->operand[o].name, p->layout.count[map->memory][o]);
        tw_json_close(j);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_layout(tw_json *j, const tw_program *p)
{
    tw_json_key_open(j, "layout", '[');
    for (int b = 0; b < p->layout.n_buffers; b++) {
        const tw_buffer *buffer = &p->layout.buffer[b];
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "memory", p->machine->memory[buffer->memory].name);
        tw_json_key_string(j, "operand", p->op->operand[buffer->operand].name);
        tw_json_key_int(j, "slot", buffer->slot);
        tw_json_key_int(j, "offset", buffer->offset);
        tw_json_key_int(j, "size", buffer->size);
        tw_json_close(j);
    }
    tw_json_close(j);
}

/* ---- verdict ---- */

static void bool_or_null(tw_json *j, const char *key, bool x, bool known)
{
    tw_json_key(j, key);
    if (known)
        tw_json_bool(j, x);
    else
        tw_json_null(j);
}

/* "verified" is the whole of it; a plan that was not executed is checked, and nothing was compared. */
static void write_verdict(tw_json *j, const tw_verdict *v)
{
    tw_json_key(j, "verdict");
    if (!v) {
        tw_json_null(j);
        return;
    }
    tw_json_open_line(j, '{');
    tw_json_key_bool(j, "verified", v->checked && v->executed && v->equal);
    tw_json_key_bool(j, "checked", v->checked);
    tw_json_key_bool(j, "executed", v->executed);
    bool_or_null(j, "equal", v->equal, v->executed);
    tw_json_key_int(j, "rows", v->rows);
    tw_json_key_int(j, "instructions", v->instructions);
    tw_json_key_int_or_null(j, "elements", v->elements, v->executed);
    tw_json_key_string(j, "reference", v->reference);
    tw_json_key_string(j, "first_fault", v->first_fault);
    if (v->stopped) tw_json_key_bool(j, "stopped", true);
    tw_json_close(j);
}

/* ---- rows ---- */

static void write_async_action(tw_json *j, const tw_action *a)
{
    tw_json_key_int(j, "busy_end", a->busy_end);
    tw_json_key_int(j, "unit", a->unit);
    tw_json_key_string(j, "from", a->from);
    tw_json_key_string(j, "to", a->to);
    tw_json_key_string(j, "wait", tw_wait_name(a->wait));
    tw_json_key_int(j, "waited", a->waited);
    tw_json_key_bool(j, "partial", a->partial);
}

static void write_action(tw_json *j, const tw_action *a)
{
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "op", tw_opcode_name(a->op));
    tw_json_key_string(j, "engine", a->engine);
    tw_json_key_string(j, "operand", a->operand);
    tw_json_key_int(j, "slot", a->slot);
    tw_json_key_open_line(j, "tile", '[');
    for (int i = 0; i < a->n_tile; i++) tw_json_int(j, a->tile[i]);
    tw_json_close(j);
    if (a->n_sources > 0) {
        tw_json_key_open_line(j, "sources", '[');
        for (int i = 0; i < a->n_sources; i++) tw_json_int(j, a->source[i]);
        tw_json_close(j);
    }
    tw_json_key_bool(j, "accumulates", a->accumulates);
    tw_json_key_int(j, "units", a->units);
    tw_json_key_int(j, "start_cycle", a->start_cycle);
    tw_json_key_int(j, "end_cycle", a->end_cycle);
    if (a->from) write_async_action(j, a);
    tw_json_close(j);
}

typedef struct row_writer {
    tw_json *j;
    const tw_program *program; /* NULL: of groups */
    const tw_plan *joint;
    tw_arena *scratch;
    tw_span ticks;
    bool done; /* the walk was stopped behind the last row asked for */
} row_writer;

static tw_status write_row(void *user, const tw_rowset *rowset)
{
    row_writer *w = user;
    if (rowset->tick < w->ticks.lo) return TW_OK;
    if (rowset->tick >= w->ticks.hi) {
        w->done = true; /* rows come in order; any status but TW_OK ends the walk */
        return TW_INFEASIBLE;
    }
    tw_arena_mark mark = tw_arena_save(w->scratch);
    tw_action *action;
    tw_action_tables *tables;
    tw_row row;
    TW_ALLOC(w->scratch, action, rowset->n_events + 1);
    TW_ALLOC(w->scratch, tables, rowset->n_events + 1);
    if (w->joint)
        tw_joint_row(w->joint, rowset, action, tables, &row);
    else
        tw_report_row(w->program, rowset, action, tables, &row);
    tw_json_open(w->j, '{');
    tw_json_key_int(w->j, "tick", row.tick);
    if (w->joint) tw_joint_command_json(w->joint, &rowset->event[0].instr, w->j);
    tw_json_key_int(w->j, "level", row.level);
    tw_json_key_string(w->j, "memory", row.memory);
    tw_json_key_bool(w->j, "contains_rows", tw_row_contains_rows(rowset));
    tw_json_key_int(w->j, "start_cycle", row.start_cycle);
    tw_json_key_int(w->j, "end_cycle", row.end_cycle);
    tw_json_key_int(w->j, "live", row.live_units);
    tw_json_key(w->j, "actions");
    tw_json_open(w->j, '[');
    for (int i = 0; i < row.n_actions; i++) write_action(w->j, &row.action[i]);
    tw_json_close(w->j);
    tw_json_close(w->j);
    tw_arena_rewind(w->scratch, mark);
    return TW_OK;
}

static tw_span ticks_of(const tw_print_options *options)
{
    int64_t first = tw_max(options->first_row, 0);
    bool all = options->n_rows < 0 || options->n_rows > INT64_MAX - first;
    return (tw_span){all ? 0 : first, all ? INT64_MAX : first + options->n_rows};
}

static tw_status write_rows(tw_json *j, const tw_op_plan *plan, const tw_print_options *options, tw_arena *scratch,
                            tw_diag *diag)
{
    row_writer w = {.j = j, .program = &plan->program, .scratch = scratch, .ticks = ticks_of(options)};
    tw_timeline again;
    tw_json_key_open(j, "rows", '[');
    tw_status status = tw_timeline_walk(&plan->program, &(tw_row_sink){write_row, NULL, &w}, scratch, diag, &again);
    tw_json_close(j);
    return w.done ? TW_OK : status;
}

/* ---- groups ---- */

/* An operator of a plan of groups, all of which have the one verdict. */
static void write_joint_op(tw_json *j, const tw_plan *plan, int op, const tw_verdict *verdict)
{
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", plan->model->op[op].name);
    tw_json_loops(j, &plan->model->op[op]);
    write_summary(j, &plan->op[op].timeline.sum, false);
    write_verdict(j, verdict);
    tw_json_close(j);
}

static tw_status write_joint_rows(tw_json *j, const tw_plan *plan, const tw_print_options *options, tw_diag *diag)
{
    tw_arena *scratch = tw_arena_new(), *own = tw_arena_new(); /* the walk's, and the writer's */
    row_writer w = {.j = j, .joint = plan, .scratch = own, .ticks = ticks_of(options)};
    tw_json_key_open(j, "rows", '[');
    tw_status status =
        scratch && own ? tw_joint_walk(plan, &(tw_row_sink){write_row, NULL, &w}, scratch, diag) : TW_ERR_NOMEM;
    tw_json_close(j);
    tw_arena_free(own);
    tw_arena_free(scratch);
    return w.done ? TW_OK : status;
}

/* ---- the document ---- */

/* Of an object that stays open: rows may follow. */
static tw_status write_op(tw_json *j, const tw_plan *all, int op, const tw_verdict *verdict, tw_arena *scratch,
                          tw_diag *diag)
{
    const tw_op_plan *plan = &all->op[op];
    bool has_waits = plan->timeline.has_waits;
    time_use w = {0};
    if (has_waits)
        find_in_stream(plan, &w);
    else
        TW_TRY(find_in_rows(plan, scratch, diag, &w));
    tw_json_open(j, '{');
    tw_json_key_string(j, "name", plan->program.op->name);
    tw_json_loops(j, plan->program.op);
    write_operands(j, all->model, plan->program.op);
    write_summary(j, &plan->timeline.sum, has_waits);
    write_bound(j, plan, &w);
    tw_losses losses;
    TW_TRY(tw_losses_of_op(plan, scratch, &losses));
    tw_json_key(j, "losses");
    TW_TRY(tw_losses_json(&losses, scratch, j));
    write_engines(j, plan, &w);
    write_links(j, plan);
    write_memories(j, plan, &w);
    write_mapping(j, &plan->program);
    write_layout(j, &plan->program);
    if (has_waits) TW_TRY(tw_async_json(plan, j, scratch));
    tw_search_json(plan, j);
    TW_TRY(tw_front_json(all, op, j));
    write_verdict(j, verdict);
    return TW_OK;
}

static void write_placements(tw_json *j, const tw_plan *plan)
{
    tw_json_key_open(j, "placement", '[');
    for (int i = 0; i < plan->n_placings; i++) {
        tw_json_open(j, '{');
        tw_placement_json(&plan->placement[i], plan->model, j);
        tw_json_close(j);
    }
    tw_json_close(j);
}

static void write_head(tw_json *j, const tw_plan *plan)
{
    tw_json_head(j, "tilewright.plan", SCHEMA_VERSION, plan->model, plan->machine);
    write_summary(j, &plan->sum, plan->op[0].timeline.has_waits);
}

tw_status tw_report_json(const tw_plan *plan, const tw_verdict *const *verdict, const tw_print_options *options,
                         tw_arena *scratch, tw_diag *diag, FILE *out)
{
    tw_json j = {.out = out, .pretty = true};
    tw_json_open(&j, '{');
    write_head(&j, plan);
    TW_TRY(tw_plan_losses_json(plan, scratch, &j));
    tw_json_key_open(&j, "ops", '[');
    for (int i = 0; i < plan->model->n_ops; i++) {
        if (plan->joint) {
            write_joint_op(&j, plan, i, verdict ? verdict[i] : NULL);
            continue;
        }
        TW_TRY(write_op(&j, plan, i, verdict ? verdict[i] : NULL, scratch, diag));
        if (options->n_rows != 0) TW_TRY(write_rows(&j, &plan->op[i], options, scratch, diag));
        tw_json_close(&j);
    }
    tw_json_close(&j);
    if (plan->joint) tw_joint_json(plan, &j);
    if (plan->joint) TW_TRY(tw_joint_traffic_json(plan, &(tw_work){scratch, scratch, diag}, &j));
    if (plan->joint && options->n_rows != 0) TW_TRY(write_joint_rows(&j, plan, options, diag));
    if (plan->n_placings > 0) write_placements(&j, plan);
    if (options->remedy) {
        tw_json_key(&j, "remedies");
        tw_report_remedies_json(options->remedy, options->n_remedies, &j);
    }
    tw_json_close(&j);
    tw_json_end(&j);
    if (fflush(out) != 0 || ferror(out)) return tw_diag_io(diag, (tw_loc){0}, "cannot write the document");
    return TW_OK;
}
