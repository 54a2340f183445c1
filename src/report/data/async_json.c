/* src/report/data/async_json.c - see async_json.h. */
#include "report/data/async_json.h"
#include "report/text/stalls.h"

/* ---- engines ---- */

static void write_engine(const tw_op_plan *plan, int e, tw_json *j)
{
    const tw_engine_use *use = &plan->timeline.engine[e];
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "name", use->engine);
    tw_json_key_int(j, "count", use->count);
    tw_json_key_int(j, "busy_cycles", use->busy_cycles);
    tw_json_key_int(j, "wait_data_cycles", use->wait_data);
    tw_json_key_int(j, "wait_credit_cycles", use->wait_credit);
    tw_json_key_int(j, "idle_cycles", tw_idle_cycles(plan, e));
    tw_json_key_int(j, "critical_cycles", use->critical_cycles);
    tw_json_close(j);
}

/* The engines with a share of the critical path, the largest first. */
static void write_path(const tw_op_plan *plan, tw_json *j)
{
    int n = plan->program.machine->n_engines;
    bool done[TW_MAX_ENGINES] = {false};
    tw_json_key_open(j, "critical_path", '[');
    for (int i = 0; i < n; i++) {
        int best = -1;
        for (int e = 0; e < n; e++) {
            int64_t cycles = plan->timeline.engine[e].critical_cycles;
            if (!done[e] && cycles > (best < 0 ? 0 : plan->timeline.engine[best].critical_cycles)) best = e;
        }
        if (best < 0) break;
        done[best] = true;
        tw_json_open_line(j, '{');
        tw_json_key_string(j, "engine", plan->timeline.engine[best].engine);
        tw_json_key_int(j, "cycles", plan->timeline.engine[best].critical_cycles);
        tw_json_close(j);
    }
    tw_json_close(j);
}

/* ---- buffers ---- */

static void write_pool(const tw_pool_use *pool, tw_json *j)
{
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "memory", pool->memory);
    tw_json_key_open_line(j, "operands", '[');
    for (int i = 0; i < pool->n_operands; i++) tw_json_string(j, pool->operand[i]);
    tw_json_close(j);
    tw_json_key_int(j, "slots", pool->slots);
    tw_json_key_int(j, "slot_units", pool->slot_units);
    if (pool->ahead_units > 0) tw_json_key_int(j, "ahead_units", pool->ahead_units);
    tw_json_key_int(j, "needed", pool->needed);
    tw_json_key_int(j, "peak", pool->peak);
    tw_json_key_int(j, "wait_cycles", pool->wait_cycles);
    tw_json_close(j);
}

static void write_residency(const tw_program *p, int m, int o, tw_json *j)
{
    const tw_residency *residency = &p->flow->residency[m][o];
    int keep = tw_level_keep(&p->map->level[m - 1], o);
    tw_json_open_line(j, '{');
    tw_json_key_string(j, "memory", p->machine->memory[m].name);
    tw_json_key_string(j, "operand", p->op->operand[o].name);
    tw_json_key_string(j, "keep",
                       keep == TW_KEEP_TILE  ? "tile"
                       : keep == TW_KEEP_ALL ? "all"
                                             : p->op->loop[keep].name);
    if (residency->slides) tw_json_key_string(j, "slide", p->op->loop[residency->slide.loop].name);
    tw_json_key_bool(j, "passes", residency->passing);
    tw_json_key_int(j, "tiles_held", residency->needed);
    tw_json_close(j);
}

/* ---- the part ---- */

tw_status tw_async_json(const tw_op_plan *plan, tw_json *j, tw_arena *scratch)
{
    const tw_program *p = &plan->program;
    const char *advice = tw_stall_advice(plan, scratch);
    if (!advice) return TW_ERR_NOMEM;
    tw_json_key_open(j, "async", '{');
    tw_json_key_int(j, "energy_fj", plan->timeline.sum.energy_fj);
    tw_json_key_bool(j, "serpentine", p->flow->serpentine);
    tw_json_key_string(j, "advice", advice);
    tw_json_key_open(j, "engines", '[');
    for (int e = 0; e < p->machine->n_engines; e++) write_engine(plan, e, j);
    tw_json_close(j);
    write_path(plan, j);
    tw_json_key_open(j, "pools", '[');
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++)
            if (plan->timeline.pool[m][o].n_operands > 0) write_pool(&plan->timeline.pool[m][o], j);
    tw_json_close(j);
    tw_json_key_open(j, "residencies", '[');
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++)
            if (p->flow->residency[m][o].here) write_residency(p, m, o, j);
    tw_json_close(j);
    tw_json_close(j);
    return TW_OK;
}
