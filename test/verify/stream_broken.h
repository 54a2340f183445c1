/* test/verify/stream_broken.h - async programs that are wrong in one place. See broken.h, whose patients these
 * are. */
#ifndef TW_TEST_VERIFY_STREAM_BROKEN_H
#define TW_TEST_VERIFY_STREAM_BROKEN_H
#include "async_cases.h"
#include "broken.h"

static inline patient stream_patient(uint64_t *r, test_case *c, record *rec)
{
    patient p = {.r = r, .c = c, .rec = rec, .in = c->in, .machine = c->machine, .layout = c->program.layout};
    p.buffer = TW_NEW(c->arena, tw_buffer, p.layout.n_buffers + 1);
    CHECK(p.buffer != NULL);
    memcpy(p.buffer, c->program.layout.buffer, (size_t)p.layout.n_buffers * sizeof *p.buffer);
    return p;
}

/* ---- commands as a list ---- */

/* Programs have no rows within rows: the script is the list, without ends. */
static inline void list_commands(record *rec)
{
    rec->n_script = rec->n_rows;
    for (int i = 0; i < rec->n_rows; i++) rec->script[i] = i;
}

static inline void number_commands(record *rec)
{
    for (int i = 0; i < rec->n_script; i++) rec->row[rec->script[i]].tick = i;
}

static inline void drop_command(patient *p, int row)
{
    record *rec = p->rec;
    list_commands(rec);
    for (int i = row; i + 1 < rec->n_script; i++) rec->script[i] = rec->script[i + 1];
    rec->n_script--;
    number_commands(rec);
}

static inline void set_times(patient *p, int row, int64_t start, int64_t end, int64_t busy_end)
{
    tw_rowset *r = &p->rec->row[row];
    r->start_cycle += start;
    r->end_cycle += end;
    for (int k = 0; k < r->n_events; k++) {
        event_at(p, row, k)->start_cycle += start;
        event_at(p, row, k)->end_cycle += end;
        event_at(p, row, k)->busy_end += busy_end;
    }
}

static inline int any_row(patient *p) { return (int)tw_test_pick(p->r, 0, p->rec->n_rows - 1); }
static inline tw_event *any_event(patient *p)
{
    int row = any_row(p);
    return event_at(p, row, (int)tw_test_pick(p->r, 0, p->rec->row[row].n_events - 1));
}

/* ---- what fits ---- */

static inline bool is_alone(const patient *p, int row, const tw_instr *i)
{
    return i && p->rec->row[row].n_events == 1;
}
static inline bool brings_sums(const patient *p, int row, const tw_instr *i) { return p && row >= 0 && i->partial; }
static inline bool loads_from_sibling(const patient *p, int row, const tw_instr *i)
{
    return row >= 0 && i->src[0] >= 0 && sibling(p, i->src[0]) >= 0;
}
static inline bool gives_some(const patient *p, int row, const tw_instr *i)
{
    return p && row >= 0 && i->n_gives > 0;
}
static inline bool stays_on_chip(const patient *p, int row, const tw_instr *i)
{
    return p && row >= 0 && i->dst >= 0 && sibling(p, i->dst) >= 0;
}

#define FIND(op_, fits_)                                        \
    int row = 0, event = 0;                                     \
    if (!find_instr(p, op_, fits_, &row, &event)) return false; \
    tw_event *e = event_at(p, row, event);                      \
    (void)e

/* ---- damage ---- */

static inline bool load_reads_wrong_slot(patient *p)
{
    FIND(TW_LOAD, loads_from_sibling);
    e->instr.src[0] = sibling(p, e->instr.src[0]);
    return true;
}
static inline bool store_fills_wrong_slot(patient *p)
{
    FIND(TW_STORE, stays_on_chip);
    e->instr.dst = sibling(p, e->instr.dst);
    return true;
}
static inline bool load_command_is_dropped(patient *p)
{
    FIND(TW_LOAD, is_alone);
    drop_command(p, row);
    return true;
}
static inline bool returning_sums_are_dropped(patient *p)
{
    FIND(TW_LOAD, brings_sums);
    drop_command(p, row);
    return true;
}
static inline bool store_command_is_dropped(patient *p)
{
    FIND(TW_STORE, NULL);
    drop_command(p, row);
    return true;
}
static inline bool exec_command_is_dropped(patient *p)
{
    FIND(TW_EXEC, NULL);
    drop_command(p, row);
    return true;
}
static inline bool exec_command_is_doubled(patient *p)
{
    FIND(TW_EXEC, NULL);
    record *rec = p->rec;
    if (rec->n_rows == rec->room) return false;
    list_commands(rec);
    for (int i = rec->n_script++; i > row + 1; i--) rec->script[i] = rec->script[i - 1];
    rec->row[rec->n_rows] = rec->row[row];
    rec->script[row + 1] = rec->n_rows++;
    number_commands(rec);
    return true;
}
/* With the work that belongs to it. */
static inline bool load_region_is_shifted(patient *p)
{
    FIND(TW_LOAD, NULL);
    const tw_operand *o = &p->c->in.op->operand[e->instr.operand];
    for (int a = 0; a < o->n_axes; a++) {
        tw_span *s = &e->instr.region.axis[a];
        int64_t by = s->lo > 0 ? -1 : s->hi < o->axis[a].extent ? 1 : 0;
        *s = (tw_span){s->lo + by, s->hi + by};
        if (by) return true;
    }
    return false;
}
static inline bool take_is_flipped(patient *p)
{
    tw_event *e = any_event(p);
    if (e->instr.dst < 0) return false;
    e->instr.takes = !e->instr.takes;
    return true;
}
static inline bool give_is_dropped(patient *p)
{
    FIND((tw_opcode)tw_test_pick(p->r, TW_LOAD, TW_EXEC), gives_some);
    e->instr.n_gives--;
    return true;
}
static inline bool give_is_added(patient *p)
{
    tw_instr *i = &any_event(p)->instr;
    i->gives[i->n_gives++] = (int32_t)tw_test_pick(p->r, 0, p->layout.n_buffers - 1);
    return true;
}
/* Of several readers of a buffer another one gives it back. */
static inline bool give_is_early(patient *p)
{
    FIND(TW_LOAD, gives_some);
    int32_t buffer = e->instr.gives[0];
    for (int r = row - 1; r >= 0; r--) {
        tw_instr *i = &event_at(p, r, 0)->instr;
        if (i->dst == buffer) return false;
        if (i->n_src < 1 || i->src[0] != buffer) continue;
        e->instr.n_gives--;
        e->instr.gives[0] = e->instr.gives[e->instr.n_gives];
        i->gives[i->n_gives++] = buffer;
        return true;
    }
    return false;
}
static inline bool partial_is_flipped(patient *p)
{
    FIND(TW_STORE, NULL);
    e->instr.partial = !e->instr.partial;
    return true;
}
static inline bool passes_are_wrong(patient *p)
{
    tw_instr *i = &any_event(p)->instr;
    if (!tw_cost_has_passes(&p->machine.engine[i->engine].cost)) return false;
    i->passes++;
    return true;
}
static inline bool unit_is_unknown(patient *p)
{
    tw_instr *i = &any_event(p)->instr;
    i->unit = (int16_t)p->machine.engine[i->engine].count;
    return true;
}
static inline bool command_is_early(patient *p)
{
    set_times(p, any_row(p), -1, -1, -1);
    return true;
}
static inline bool command_is_late(patient *p)
{
    set_times(p, any_row(p), 1, 1, 1);
    return true;
}
static inline bool command_is_long(patient *p)
{
    set_times(p, any_row(p), 0, 1, 0);
    return true;
}
static inline bool unit_is_busy_longer(patient *p)
{
    set_times(p, any_row(p), 0, 0, 1);
    return true;
}
static inline bool reason_is_wrong(patient *p)
{
    tw_event *e = any_event(p);
    e->wait = (tw_wait)((e->wait + 1) % 4);
    return true;
}
static inline bool idle_time_is_wrong(patient *p)
{
    any_event(p)->waited++;
    return true;
}
static inline bool number_is_wrong(patient *p)
{
    p->rec->row[any_row(p)].tick++;
    return true;
}
static inline bool together_is_flipped(patient *p)
{
    tw_instr *i = &any_event(p)->instr;
    i->together = !i->together;
    return true;
}
static inline bool commands_are_swapped(patient *p)
{
    int row = any_row(p);
    if (row + 1 >= p->rec->n_rows) return false;
    list_commands(p->rec);
    p->rec->script[row] = row + 1;
    p->rec->script[row + 1] = row;
    number_commands(p->rec);
    return true;
}
static inline bool a_memory_is_too_small(patient *p)
{
    int m = (int)tw_test_pick(p->r, 1, p->machine.n_memories - 1);
    p->machine.memory[m].size = p->layout.used[m] - 1;
    return p->layout.used[m] > 0;
}

/* ---- damage to what only clusters have ---- */

static inline bool has_kernel(const patient *p, int row, const tw_instr *i)
{
    return row >= 0 && p->machine.engine[i->engine].cost.kind == TW_COST_KERNEL;
}
static inline bool has_descriptor(const patient *p, int row, const tw_instr *i)
{
    return row >= 0 && p->machine.engine[i->engine].cost.kind == TW_COST_DESCRIPTOR;
}
static inline bool waits_at_its_end(const patient *p, int row, const tw_instr *i)
{
    const tw_event *e = &p->rec->row[row].event[0];
    const tw_engine *engine = &p->machine.engine[i->engine];
    int64_t work = tw_cost_has_passes(&engine->cost) ? tw_max(i->passes, i->contended) : i->work;
    return engine->late && i->takes && e->end_cycle - e->start_cycle > tw_cost_cycles(&engine->cost, work);
}
/* A load that waited for the cores alone. */
static inline bool waits_for_the_drain(const patient *p, int row, const tw_instr *i)
{
    const tw_event *e = &p->rec->row[row].event[0];
    return i->drains && e->wait == TW_WAIT_DATA && e->waited > 0;
}

static inline bool pressure_is_wrong(patient *p)
{
    FIND(TW_EXEC, has_kernel);
    e->instr.contended += tw_test_pick(p->r, 0, 1) ? 1 : TW_MILLI;
    return true;
}
/* The length that it has when nothing works on the memory, and the other way round. */
static inline bool pressure_is_not_felt(patient *p)
{
    FIND(TW_EXEC, has_kernel);
    const tw_cost *cost = &p->machine.engine[e->instr.engine].cost;
    int64_t alone = tw_cost_cycles(cost, e->instr.passes), under = tw_cost_cycles(cost, e->instr.contended);
    int64_t now = e->end_cycle - e->start_cycle, by = now == alone   ? under - alone
                                                      : now == under ? alone - under
                                                                     : 0;
    set_times(p, row, 0, by, by);
    return by != 0;
}
static inline bool a_row_is_not_counted(patient *p)
{
    FIND(TW_LOAD, has_descriptor);
    const tw_cost *cost = &p->machine.engine[e->instr.engine].cost;
    int64_t row_cost = cost->descriptor.per_row + cost->descriptor.per_beat,
            was = tw_cost_cycles(cost, e->instr.passes);
    if (p->rec->row[row].n_events > 1 || row_cost == 0 || e->instr.passes < row_cost) return false;
    e->instr.passes -= row_cost;
    int64_t by = tw_cost_cycles(cost, e->instr.passes) - was;
    set_times(p, row, 0, by, by);
    return true;
}
static inline bool late_write_is_early(patient *p)
{
    FIND(TW_EXEC, waits_at_its_end);
    set_times(p, row, 0, -1, -1);
    return true;
}
static inline bool drained_load_is_early(patient *p)
{
    FIND(TW_LOAD, waits_for_the_drain);
    set_times(p, row, -1, -1, -1);
    for (int k = 0; k < p->rec->row[row].n_events; k++) event_at(p, row, k)->waited--;
    return true;
}
/* Whether an input of a new sweep comes before the last execution of the old one is over. */
static inline bool comes_before_the_drain(patient *p, int engine)
{
    const tw_instr *before[TW_MAX_OPERANDS] = {NULL};
    int64_t cores = 0;
    for (int row = 0; row < p->rec->n_rows; row++)
        for (int k = 0; k < p->rec->row[row].n_events; k++) {
            const tw_event *e = event_at(p, row, k);
            if (e->instr.op == TW_EXEC) cores = e->busy_end;
            if (e->instr.op != TW_LOAD || e->instr.partial || e->instr.engine != engine) continue;
            const tw_instr *old = before[e->instr.operand];
            for (int l = 0; old && l < p->in.op->n_loops; l++)
                if (l != p->in.innermost && e->instr.box.span[l].lo != old->box.span[l].lo &&
                    e->start_cycle < cores)
                    return true;
            before[e->instr.operand] = &e->instr;
        }
    return false;
}
/* The program is one of a machine that need not wait. */
static inline bool drain_is_forgotten(patient *p)
{
    bool forgotten = false;
    for (int e = 0; e < p->machine.n_engines && p->machine.n_memories == 2 && p->in.innermost >= 0; e++) {
        tw_engine *engine = &p->machine.engine[e];
        if (!engine->prefetches || engine->drains) continue;
        forgotten |= p->machine.engine[p->machine.compute].count == 1 && comes_before_the_drain(p, e);
        engine->drains = true;
    }
    return forgotten;
}
static inline bool launch_is_longer(patient *p)
{
    p->machine.launch += TW_MILLI;
    return true;
}
static inline bool barrier_is_longer(patient *p)
{
    tw_engine *engine = &p->machine.engine[any_event(p)->instr.engine];
    if (engine->cost.kind == TW_COST_DESCRIPTOR) engine->cost.descriptor.barrier += TW_MILLI;
    if (engine->cost.kind == TW_COST_KERNEL) engine->cost.kernel.barrier += TW_MILLI;
    return tw_cost_has_passes(&engine->cost) && engine->cost.kind != TW_COST_ARRAY;
}
static inline bool write_is_expected_at_the_start(patient *p)
{
    FIND(TW_EXEC, waits_at_its_end);
    p->machine.engine[e->instr.engine].late = false;
    return true;
}
static inline bool pad_is_forgotten(patient *p)
{
    bool zeroed = false; /* tiles are, and that takes time */
    for (int l = 0; l < p->in.op->n_loops; l++) zeroed |= (p->in.padded >> l & 1) && p->in.op->loop[l].reduces;
    for (int e = 0; e < p->machine.n_engines; e++) {
        const tw_cost *cost = &p->machine.engine[e].cost;
        bool slow = cost->kind == TW_COST_DESCRIPTOR && cost->descriptor.setup + cost->descriptor.fill > 0;
        zeroed &= p->machine.engine[e].kind != TW_MOVES || slow;
    }
    p->in.padded = 0;
    return zeroed;
}
#undef FIND

#define DAMAGE(name_, data_) \
    {                        \
#name_, name_, data_ \
    }
static const damage stream_damages[] = {
    DAMAGE(exec_reads_wrong_slot, true),
    DAMAGE(load_reads_wrong_slot, true),
    DAMAGE(store_reads_wrong_slot, true),
    DAMAGE(load_fills_wrong_slot, true),
    DAMAGE(store_fills_wrong_slot, true),
    DAMAGE(exec_writes_wrong_slot, true),
    DAMAGE(load_command_is_dropped, true),
    DAMAGE(returning_sums_are_dropped, true),
    DAMAGE(store_command_is_dropped, true),
    DAMAGE(exec_command_is_dropped, true),
    DAMAGE(exec_command_is_doubled, false),
    DAMAGE(load_region_is_short, true),
    DAMAGE(load_region_is_shifted, true),
    DAMAGE(load_region_leaves_tensor, true),
    DAMAGE(store_region_is_short, true),
    DAMAGE(exec_box_is_moved, true),
    DAMAGE(exec_source_is_missing, true),
    DAMAGE(exec_accumulation_is_flipped, true),
    DAMAGE(store_accumulation_is_flipped, false),
    DAMAGE(take_is_flipped, false),
    DAMAGE(give_is_dropped, false),
    DAMAGE(give_is_added, false),
    DAMAGE(give_is_early, false),
    DAMAGE(partial_is_flipped, false),
    DAMAGE(engine_is_wrong, false),
    DAMAGE(unit_is_unknown, false),
    DAMAGE(work_is_wrong, false),
    DAMAGE(passes_are_wrong, false),
    DAMAGE(command_is_early, false),
    DAMAGE(command_is_late, false),
    DAMAGE(command_is_long, false),
    DAMAGE(unit_is_busy_longer, false),
    DAMAGE(reason_is_wrong, false),
    DAMAGE(idle_time_is_wrong, false),
    DAMAGE(number_is_wrong, false),
    DAMAGE(together_is_flipped, false),
    DAMAGE(commands_are_swapped, false),
    DAMAGE(a_memory_is_too_small, false),
    DAMAGE(buffers_overlap, false),
    DAMAGE(buffers_are_small, false),
};
enum { RARE_DAMAGES = 5 }; /* programs that have a place for the first ones are rare */
static const damage cluster_damages[] = {
    DAMAGE(drain_is_forgotten, false),
    DAMAGE(pad_is_forgotten, false),
    DAMAGE(write_is_expected_at_the_start, false),
    DAMAGE(drained_load_is_early, false),
    DAMAGE(late_write_is_early, false),
    DAMAGE(pressure_is_wrong, false),
    DAMAGE(pressure_is_not_felt, false),
    DAMAGE(a_row_is_not_counted, false),
    DAMAGE(barrier_is_longer, false),
    DAMAGE(launch_is_longer, false),
};
#undef DAMAGE
#endif
