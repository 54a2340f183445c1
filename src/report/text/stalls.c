/* src/report/text/stalls.c - see stalls.h. */
#include "report/text/stalls.h"
#include "report/facts/losses.h"
#include "write/number.h"
#include "write/table.h"

#include <stdio.h>
#include <string.h>

static tw_status count_command(void *user, const tw_rowset *row)
{
    ((tw_activity *)user)->commands[row->event[0].instr.engine]++;
    return TW_OK;
}

tw_row_sink tw_activity_sink(tw_activity *activity) { return (tw_row_sink){count_command, NULL, activity}; }

/* ---- who is it? ---- */

static int64_t busy_per_unit(const tw_engine_use *use) { return tw_cdiv(use->busy_cycles, tw_max(use->count, 1)); }

tw_busiest tw_busiest_of(const tw_op_plan *plan)
{
    const tw_machine *machine = plan->program.machine;
    tw_busiest b = {machine->compute, busy_per_unit(&plan->timeline.engine[machine->compute])};
    for (int e = 0; e < machine->n_engines; e++) {
        int64_t cycles = busy_per_unit(&plan->timeline.engine[e]);
        if (cycles > b.cycles) b = (tw_busiest){e, cycles};
    }
    return b;
}

int tw_most_critical(const tw_op_plan *plan)
{
    int best = plan->program.machine->compute;
    for (int e = 0; e < plan->program.machine->n_engines; e++)
        if (plan->timeline.engine[e].critical_cycles > plan->timeline.engine[best].critical_cycles) best = e;
    return best;
}

static int64_t unit_cycles(const tw_op_plan *plan, int engine)
{
    return plan->timeline.sum.cycles * tw_max(plan->timeline.engine[engine].count, 1);
}

int64_t tw_idle_cycles(const tw_op_plan *plan, int engine)
{
    const tw_engine_use *use = &plan->timeline.engine[engine];
    return unit_cycles(plan, engine) - use->busy_cycles - use->wait_data - use->wait_credit;
}

/* Whether the engine takes credits of the operand's pool in this memory. */
static bool fills(const tw_program *p, int engine, int memory, int operand)
{
    const tw_residency *residency = &p->flow->residency[memory][operand];
    if (!residency->here) return false;
    if (residency->filler == engine && (operand != tw_op_output(p->op) || residency->returns)) return true;
    if (operand != tw_op_output(p->op)) return false;
    if (residency->inner < 0) return engine == p->machine->compute;
    return p->flow->residency[residency->inner][operand].drain == engine;
}

const tw_pool_use *tw_worst_pool(const tw_op_plan *plan, int engine)
{
    const tw_program *p = &plan->program;
    const tw_pool_use *worst = NULL;
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            if (!fills(p, engine, m, o)) continue;
            const tw_pool_use *pool = &plan->timeline.pool[m][p->flow->residency[m][o].pool];
            if (pool->wait_cycles > (worst ? worst->wait_cycles : 0)) worst = pool;
        }
    return worst;
}

const char *tw_pool_name(const tw_pool_use *pool, tw_arena *arena)
{
    tw_text text = {0};
    for (int i = 0; i < pool->n_operands; i++) tw_text_printf(&text, "%s%s", i ? "+" : "", pool->operand[i]);
    tw_text_printf(&text, " in %s", pool->memory);
    char *name = text.failed ? NULL : tw_arena_strndup(arena, text.bytes, text.len);
    tw_text_release(&text);
    return name;
}

/* ---- what holds it up ---- */

/* Of the time, in per cent: an engine that is busy so long is what to look at; a wait that is worth a word. */
enum { BUSY = 50, WORTH_A_WORD = 5 };

static bool is_at_least(int64_t part, int64_t whole, int percent)
{
    return (__int128)part * 100 >= (__int128)whole * percent;
}

/* Cycles of its busy time that do not depend on how much is moved: paid once per command. */
static int64_t fixed_cycles(const tw_engine *engine, const tw_engine_use *use)
{
    if (engine->pipelined) return 0;
    int64_t cycles, n = use->loads + use->stores + use->ops;
    return tw_ckd_mul(tw_cost_fixed(&engine->cost), n, &cycles) ? tw_min(cycles, use->busy_cycles)
                                                                : use->busy_cycles;
}

/* The largest part that is lost while executions run; NULL: none. */
static const tw_loss *largest_inside(const tw_losses *losses)
{
    const tw_loss *most = NULL;
    for (int i = 0; i < losses->n; i++)
        if (losses->part[i].kind <= TW_LOSS_CONTENTION && (!most || losses->part[i].cycles > most->cycles))
            most = &losses->part[i];
    return most;
}

/* Whatever else is changed, the points take as long as they do at the peak. */
static void advise_faster(const tw_losses *losses, tw_text *out)
{
    if (losses->has_peak)
        tw_text_printf(out, ", near its peak: at most %s can be gained without a faster one",
                       TW_PERCENT(losses->cycles - losses->peak, losses->cycles));
}

/* Being busy is no merit by itself: what is lost meanwhile comes first. */
static void advise_compute(const tw_op_plan *plan, tw_arena *arena, tw_text *out)
{
    tw_losses losses;
    if (tw_losses_of_op(plan, arena, &losses) != TW_OK) {
        out->failed = true;
        return;
    }
    const tw_loss *most = largest_inside(&losses);
    const char *text = most ? tw_loss_text(most, arena) : "";
    out->failed = out->failed || !text;
    if (most && is_at_least(most->cycles, losses.cycles, WORTH_A_WORD))
        tw_text_printf(out, ", but at %s of its peak: %s of the time is lost to %s (%s)",
                       TW_PERCENT(losses.peak, losses.cycles), TW_PERCENT(most->cycles, losses.cycles),
                       tw_loss_title(most->kind), text ? text : "");
    else
        advise_faster(&losses, out);
}

static void advise_busy(const tw_op_plan *plan, int e, tw_arena *arena, tw_text *out)
{
    const tw_engine *engine = &plan->program.machine->engine[e];
    const tw_engine_use *use = &plan->timeline.engine[e];
    tw_text_printf(out, "%s: busy %s of the time", engine->name,
                   TW_PERCENT(use->busy_cycles, unit_cycles(plan, e)));
    if (engine->kind == TW_COMPUTES)
        advise_compute(plan, arena, out);
    else if (engine->cost.kind == TW_COST_CONSTANT)
        tw_text_printf(out, ", equally long for every command, large or small");
    else if (is_at_least(fixed_cycles(engine, use), use->busy_cycles, 50))
        tw_text_printf(out, ", mostly with the latency of its transfers");
    else
        tw_text_printf(out, ", limited by its bandwidth");
}

/* What keeps the busiest engine from being busy all the time. That it is done before the others are is worth a word
 * only where no engine is busy. */
typedef enum slack { CREDIT, DATA, IDLE } slack;

static slack largest_slack(const tw_op_plan *plan, int e, bool busy, int64_t *cycles)
{
    const tw_engine_use *use = &plan->timeline.engine[e];
    int64_t part[] = {[CREDIT] = use->wait_credit, [DATA] = use->wait_data, [IDLE] = tw_idle_cycles(plan, e)};
    slack best = CREDIT;
    for (slack s = DATA; s <= (busy ? DATA : IDLE); s++)
        if (part[s] > part[best]) best = s;
    *cycles = part[best];
    return best;
}

/* Whether one slot more fits the memory. */
static const char *room_for_more(const tw_op_plan *plan, const tw_pool_use *pool)
{
    const tw_machine *machine = plan->program.machine;
    int m = tw_machine_find_memory(machine, pool->memory);
    int64_t more = pool->ahead_units > 0 ? pool->ahead_units : pool->slot_units;
    bool fits = m >= 0 && more <= machine->memory[m].size - plan->program.layout.used[m];
    return fits ? "" : ", and no room for another";
}

static void advise_pool(const tw_op_plan *plan, const tw_pool_use *pool, tw_arena *arena, tw_text *out)
{
    const char *name = tw_pool_name(pool, arena);
    out->failed = out->failed || !name;
    tw_text_printf(out, "a free buffer of %s, which has %s%s", name ? name : "", TW_GROUPED(pool->slots),
                   room_for_more(plan, pool));
}

/* Whether the engine reads the operand's buffers in this memory. */
static bool empties(const tw_program *p, int engine, int memory, int operand)
{
    const tw_residency *residency = &p->flow->residency[memory][operand];
    if (!residency->here) return false;
    if (operand == tw_op_output(p->op)) return residency->drain == engine;
    return residency->inner < 0 ? engine == p->machine->compute
                                : p->flow->residency[residency->inner][operand].filler == engine;
}

/* A pool through which two engines hand tiles to each other, without a buffer more than they cannot do without. */
static const tw_pool_use *tight_pool(const tw_op_plan *plan, int a, int b)
{
    const tw_program *p = &plan->program;
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            if (!p->stop[m][o].here) continue;
            const tw_pool_use *pool = &plan->timeline.pool[m][p->stop[m][o].pool];
            bool between = (fills(p, a, m, o) && empties(p, b, m, o)) || (fills(p, b, m, o) && empties(p, a, m, o));
            if (between && pool->slots <= pool->needed) return pool;
        }
    return NULL;
}

/* Of the other engines, the one with the largest share of the critical path. */
static int partner_of(const tw_op_plan *plan, int engine)
{
    int best = engine == 0 ? 1 : 0;
    for (int e = 0; e < plan->program.machine->n_engines; e++)
        if (e != engine && plan->timeline.engine[e].critical_cycles > plan->timeline.engine[best].critical_cycles)
            best = e;
    return best;
}

static void advise_data(const tw_op_plan *plan, int e, tw_arena *arena, tw_text *out)
{
    int other = partner_of(plan, e);
    const tw_engine_use *use = &plan->timeline.engine[other];
    const tw_pool_use *tight = tight_pool(plan, e, other), *waits = tw_worst_pool(plan, other);
    const char *name = tight ? tw_pool_name(tight, arena) : "";
    out->failed = out->failed || !name;
    if (tight) {
        tw_text_printf(out, "for %s; %s has the fewest buffers that work, %s%s", use->engine, name ? name : "",
                       TW_GROUPED(tight->slots), room_for_more(plan, tight));
    } else if (waits && is_at_least(use->wait_credit, unit_cycles(plan, other), WORTH_A_WORD)) {
        tw_text_printf(out, "for data, and %s for ", use->engine);
        advise_pool(plan, waits, arena, out);
    } else {
        tw_text_printf(out, "for data, and %s makes up %s of the critical path", use->engine,
                       TW_PERCENT(use->critical_cycles, plan->timeline.sum.cycles));
    }
}

static void advise_slack(const tw_op_plan *plan, int e, slack what, int64_t cycles, tw_arena *arena, tw_text *out)
{
    const tw_pool_use *pool = tw_worst_pool(plan, e);
    const char *share = TW_PERCENT(cycles, unit_cycles(plan, e));
    if (what == IDLE) {
        tw_text_printf(out, "has nothing to do %s of the time, while the pipe fills or drains", share);
        return;
    }
    tw_text_printf(out, "waits %s of the time ", share);
    if (what == DATA)
        advise_data(plan, e, arena, out);
    else if (pool)
        tw_text_printf(out, "for "), advise_pool(plan, pool, arena, out);
}

const char *tw_stall_advice(const tw_op_plan *plan, tw_arena *arena)
{
    tw_text text = {0};
    int64_t waits;
    int e = tw_busiest_of(plan).engine;
    bool busy = is_at_least(plan->timeline.engine[e].busy_cycles, unit_cycles(plan, e), BUSY);
    slack what = largest_slack(plan, e, busy, &waits);
    if (busy)
        advise_busy(plan, e, arena, &text);
    else
        tw_text_printf(&text, "no engine is busy half of the time; the busiest, %s, ",
                       plan->program.machine->engine[e].name);
    if (busy && is_at_least(waits, unit_cycles(plan, e), WORTH_A_WORD)) tw_text_printf(&text, "; it ");
    if (!busy || is_at_least(waits, unit_cycles(plan, e), WORTH_A_WORD))
        advise_slack(plan, e, what, waits, arena, &text);
    const char *advice = text.failed ? NULL : tw_arena_strndup(arena, text.bytes, text.len);
    tw_text_release(&text);
    return advice;
}

/* ---- the table ---- */

static bool is_used(const tw_engine_use *use) { return use->loads || use->stores || use->ops; }

static void add_engine(const tw_op_plan *plan, const tw_activity *activity, int e, tw_table *table)
{
    const tw_engine_use *use = &plan->timeline.engine[e];
    int64_t all = unit_cycles(plan, e);
    const tw_pool_use *pool = use->wait_credit > 0 ? tw_worst_pool(plan, e) : NULL;
    tw_table_row(table, TW_PLAIN);
    if (use->count > 1)
        tw_table_printf(table, 0, "%.16s %s%" PRId64, use->engine, "x", use->count);
    else
        tw_table_printf(table, 0, "%.20s", use->engine);
    tw_table_number(table, 1, activity ? activity->commands[e] : use->loads + use->stores + use->ops);
    tw_table_number(table, 2, use->busy_cycles);
    tw_table_put(table, 3, TW_PERCENT(use->busy_cycles, all));
    tw_table_put(table, 4, TW_PERCENT(use->wait_data, all));
    tw_table_put(table, 5, TW_PERCENT(use->wait_credit, all));
    tw_table_put(table, 6, TW_PERCENT(tw_idle_cycles(plan, e), all));
    tw_table_put(table, 7, TW_PERCENT(use->critical_cycles, plan->timeline.sum.cycles));
    if (!pool) return;
    char name[40];
    int n = snprintf(name, sizeof name, "%.8s", pool->memory);
    for (int i = 0; i < pool->n_operands && n < 17; i++)
        n += snprintf(name + n, sizeof name - (size_t)n, "%s%.16s", i ? "+" : " ", pool->operand[i]);
    tw_table_printf(table, 8, "%.16s", name);
}

tw_status tw_stalls_print(const tw_op_plan *plan, const tw_activity *activity, tw_line *line, tw_arena *arena)
{
    static const char *const title[] = {"engine",    "commands", "cycles",   "busy",      "no data",
                                        "no credit", "idle",     "critical", "credits of"};
    tw_table table;
    int64_t waits = 0;
    for (int e = 0; e < plan->program.machine->n_engines; e++) waits += plan->timeline.engine[e].wait_credit;
    tw_table_init(&table, title, TW_COUNT(title) - (waits == 0), 1, arena);
    table.tail = waits > 0;
    for (int e = 0; e < plan->program.machine->n_engines; e++)
        if (is_used(&plan->timeline.engine[e])) add_engine(plan, activity, e, &table);
    TW_TRY(tw_table_print(&table, line));
    tw_line_end(line);
    return TW_OK;
}
