/* test/verify/broken.h - programs that are wrong in one place.
 *
 * Each kind of damage edits one thing in a recorded program, or in the tables beside it. It returns false
 * when the program has no place for it. */
#ifndef TW_TEST_VERIFY_BROKEN_H
#define TW_TEST_VERIFY_BROKEN_H
#include "cases.h"

typedef struct patient { /* copies that may be edited */
    uint64_t *r;
    test_case *c;
    record *rec;
    tw_verify_input in;
    tw_machine machine;
    tw_layout layout;
    tw_buffer *buffer;
} patient;

static inline patient patient_of(uint64_t *r, test_case *c)
{
    patient p = {
        .r = r, .c = c, .rec = case_record(c), .in = c->in, .machine = c->machine, .layout = c->program.layout};
    p.buffer = TW_NEW(c->arena, tw_buffer, p.layout.n_buffers + 1);
    CHECK(p.buffer != NULL);
    memcpy(p.buffer, c->program.layout.buffer, (size_t)p.layout.n_buffers * sizeof *p.buffer);
    return p;
}
/* The judges' input with the patient's own tables; the patient must not move any more. */
static inline const tw_verify_input *patient_input(patient *p)
{
    p->layout.buffer = p->buffer;
    p->in.machine = &p->machine;
    p->in.layout = &p->layout;
    return &p->in;
}

/* ---- finding a place ---- */

static inline tw_event *event_at(patient *p, int row, int event)
{
    return (tw_event *)&p->rec->row[row].event[event];
}

/* A random instruction of this kind for which `fits` holds; false when there is none. */
typedef bool (*fits_fn)(const patient *p, int row, const tw_instr *i);
static inline bool find_instr(patient *p, tw_opcode op, fits_fn fits, int *row, int *event)
{
    int64_t n = 0;
    for (int i = 0; i < p->rec->n_rows; i++)
        for (int k = 0; k < p->rec->row[i].n_events; k++) {
            const tw_instr *at = &p->rec->row[i].event[k].instr;
            if (at->op != op || (fits && !fits(p, i, at)) || tw_test_pick(p->r, 0, n++)) continue;
            *row = i;
            *event = k;
        }
    return n > 0;
}

/* The row before this one in the same program, -1 when it is the first. */
static inline int row_before(const patient *p, int row)
{
    int level = p->rec->row[row].level;
    for (int i = row - 1; i >= 0 && p->rec->row[i].level >= level; i--)
        if (p->rec->row[i].level == level) return i;
    return -1;
}

static inline void drop_event(patient *p, int row, int event)
{
    tw_rowset *r = &p->rec->row[row];
    for (int k = event; k + 1 < r->n_events; k++) *event_at(p, row, k) = r->event[k + 1];
    r->n_events--;
}

static inline void add_event(patient *p, int row, tw_event e)
{
    tw_rowset *r = &p->rec->row[row];
    *event_at(p, row, r->n_events++) = e;
}

static inline void move_up(patient *p, int row, int event)
{
    int to = row_before(p, row);
    tw_event e = p->rec->row[row].event[event];
    int64_t cycles = e.end_cycle - e.start_cycle;
    e.start_cycle = p->rec->row[to].start_cycle;
    e.end_cycle = e.start_cycle + cycles;
    drop_event(p, row, event);
    add_event(p, to, e);
}

/* Another buffer of the same pool, -1 when there is only one. */
static inline int sibling(const patient *p, int buffer)
{
    const tw_buffer *b = &p->buffer[buffer];
    int n = p->layout.count[b->memory][b->operand], first = p->layout.first[b->memory][b->operand];
    return n < 2 ? -1 : first + (buffer - first + 1) % n;
}

static inline bool has_source_sibling(const patient *p, int row, const tw_instr *i)
{
    return row >= 0 && i->n_src > 0 && i->src[0] >= 0 && sibling(p, i->src[0]) >= 0;
}
static inline bool is_leaf(const patient *p, int row, const tw_instr *i) { return p && row >= 0 && !i->nested; }
static inline bool is_nested(const patient *p, int row, const tw_instr *i) { return p && row >= 0 && i->nested; }
static inline bool leaf_has_source_sibling(const patient *p, int row, const tw_instr *i)
{
    return is_leaf(p, row, i) && has_source_sibling(p, row, i);
}
static inline bool nest_has_source_sibling(const patient *p, int row, const tw_instr *i)
{
    return is_nested(p, row, i) && has_source_sibling(p, row, i);
}
static inline bool has_target_sibling(const patient *p, int row, const tw_instr *i)
{
    return row >= 0 && i->dst >= 0 && sibling(p, i->dst) >= 0;
}
static inline bool leaf_has_target_sibling(const patient *p, int row, const tw_instr *i)
{
    return is_leaf(p, row, i) && has_target_sibling(p, row, i);
}
static inline bool nest_has_target_sibling(const patient *p, int row, const tw_instr *i)
{
    return is_nested(p, row, i) && has_target_sibling(p, row, i);
}
static inline bool fills_own_memory(const patient *p, int row, const tw_instr *i)
{
    return p->buffer[i->dst].memory == p->rec->row[row].memory && row_before(p, row) >= 0;
}
static inline bool leaves_own_memory(const patient *p, int row, const tw_instr *i)
{
    return p->buffer[i->src[0]].memory == p->rec->row[row].memory && row_before(p, row) >= 0;
}
static inline bool reads_first_input(const patient *p, int row, const tw_instr *i)
{
    return is_leaf(p, row, i) && i->src[0] >= 0;
}

/* An axis or loop along which a span is longer than one element. */
static inline int long_axis(const patient *p, const tw_instr *i)
{
    for (int a = 0; a < p->c->in.op->operand[i->operand].n_axes; a++)
        if (tw_span_len(i->region.axis[a]) > 1) return a;
    return -1;
}
static inline bool has_long_axis(const patient *p, int row, const tw_instr *i)
{
    return row >= 0 && long_axis(p, i) >= 0;
}
static inline int movable_loop(const patient *p, const tw_instr *i)
{
    for (int l = 0; l < p->c->in.op->n_loops; l++)
        if (tw_span_len(i->box.span[l]) < p->c->in.op->loop[l].extent) return l;
    return -1;
}
static inline bool has_movable_loop(const patient *p, int row, const tw_instr *i)
{
    return is_leaf(p, row, i) && movable_loop(p, i) >= 0;
}

/* ---- damage ---- */

#define FIND(op_, fits_)                                        \
    int row = 0, event = 0;                                     \
    if (!find_instr(p, op_, fits_, &row, &event)) return false; \
    tw_event *e = event_at(p, row, event);                      \
    (void)e

static inline bool exec_reads_wrong_slot(patient *p)
{
    FIND(TW_EXEC, leaf_has_source_sibling);
    e->instr.src[0] = (int16_t)sibling(p, e->instr.src[0]);
    return true;
}
static inline bool nest_reads_wrong_slot(patient *p)
{
    FIND(TW_EXEC, nest_has_source_sibling);
    e->instr.src[0] = (int16_t)sibling(p, e->instr.src[0]);
    return true;
}
static inline bool nest_writes_wrong_slot(patient *p)
{
    FIND(TW_EXEC, nest_has_target_sibling);
    e->instr.dst = (int16_t)sibling(p, e->instr.dst);
    return true;
}
static inline bool store_reads_wrong_slot(patient *p)
{
    FIND(TW_STORE, has_source_sibling);
    e->instr.src[0] = (int16_t)sibling(p, e->instr.src[0]);
    return true;
}
static inline bool load_fills_wrong_slot(patient *p)
{
    FIND(TW_LOAD, has_target_sibling);
    e->instr.dst = (int16_t)sibling(p, e->instr.dst);
    return true;
}
static inline bool exec_writes_wrong_slot(patient *p)
{
    FIND(TW_EXEC, leaf_has_target_sibling);
    e->instr.dst = (int16_t)sibling(p, e->instr.dst);
    return true;
}
static inline bool sum_reads_wrong_slot(patient *p)
{
    FIND(TW_SUM, NULL);
    e->instr.src[1] = e->instr.src[0];
    return true;
}
static inline bool load_is_early(patient *p)
{
    FIND(TW_LOAD, fills_own_memory);
    move_up(p, row, event);
    return true;
}
static inline bool store_is_early(patient *p)
{
    FIND(TW_STORE, leaves_own_memory);
    move_up(p, row, event);
    return true;
}
static inline bool sum_is_early(patient *p)
{
    FIND(TW_SUM, NULL);
    move_up(p, row, event);
    return true;
}
static inline bool load_is_dropped(patient *p)
{
    FIND(TW_LOAD, NULL);
    drop_event(p, row, event);
    return true;
}
static inline bool store_is_dropped(patient *p)
{
    FIND(TW_STORE, NULL);
    drop_event(p, row, event);
    return true;
}
static inline bool sum_is_dropped(patient *p)
{
    FIND(TW_SUM, NULL);
    drop_event(p, row, event);
    return true;
}
static inline bool exec_is_dropped(patient *p)
{
    FIND(TW_EXEC, is_leaf);
    drop_event(p, row, event);
    return true;
}
static inline bool exec_is_doubled(patient *p)
{
    FIND(TW_EXEC, is_leaf);
    add_event(p, row, *e);
    return true;
}
static inline bool load_region_is_short(patient *p)
{
    FIND(TW_LOAD, has_long_axis);
    e->instr.region.axis[long_axis(p, &e->instr)].hi--;
    return true;
}
static inline bool store_region_is_short(patient *p)
{
    FIND(TW_STORE, has_long_axis);
    e->instr.region.axis[long_axis(p, &e->instr)].lo++;
    return true;
}
static inline bool load_region_leaves_tensor(patient *p)
{
    FIND(TW_LOAD, NULL);
    tw_span *s = &e->instr.region.axis[0];
    int64_t by = p->c->in.op->operand[e->instr.operand].axis[0].extent - s->lo;
    *s = (tw_span){s->lo + by, s->hi + by};
    return true;
}
static inline bool exec_box_is_moved(patient *p)
{
    FIND(TW_EXEC, has_movable_loop);
    int l = movable_loop(p, &e->instr);
    tw_span *s = &e->instr.box.span[l];
    int64_t by = s->lo > 0 ? -1 : 1;
    *s = (tw_span){s->lo + by, s->hi + by};
    return true;
}
static inline bool nested_box_is_moved(patient *p)
{
    FIND(TW_EXEC, is_nested);
    int l = movable_loop(p, &e->instr);
    if (l < 0) return false;
    tw_span *s = &e->instr.box.span[l];
    int64_t by = s->lo > 0 ? -1 : 1;
    *s = (tw_span){s->lo + by, s->hi + by};
    return true;
}
static inline bool exec_source_is_missing(patient *p)
{
    FIND(TW_EXEC, reads_first_input);
    e->instr.src[0] = -1;
    return true;
}
static inline bool exec_accumulation_is_flipped(patient *p)
{
    FIND(TW_EXEC, is_leaf);
    e->instr.accumulates = !e->instr.accumulates;
    return true;
}
static inline bool store_accumulation_is_flipped(patient *p)
{
    FIND(TW_STORE, NULL);
    e->instr.accumulates = !e->instr.accumulates;
    return true;
}
static inline bool engine_is_wrong(patient *p)
{
    FIND(TW_LOAD, NULL);
    e->instr.engine = (int16_t)((e->instr.engine + 1) % p->machine.n_engines);
    return true;
}
static inline bool work_is_wrong(patient *p)
{
    FIND(TW_EXEC, NULL);
    e->instr.work++;
    return true;
}
static inline bool duration_is_wrong(patient *p)
{
    FIND(TW_LOAD, NULL);
    e->end_cycle++;
    return true;
}
static inline bool row_is_long(patient *p)
{
    p->rec->row[tw_test_pick(p->r, 0, p->rec->n_rows - 1)].end_cycle++;
    return true;
}
static inline bool row_starts_late(patient *p)
{
    tw_rowset *row = &p->rec->row[tw_test_pick(p->r, 0, p->rec->n_rows - 1)];
    row->start_cycle++;
    row->end_cycle++;
    return true;
}
static inline bool live_count_is_wrong(patient *p)
{
    p->rec->row[tw_test_pick(p->r, 0, p->rec->n_rows - 1)].live_units++;
    return true;
}
static inline bool tick_is_wrong(patient *p)
{
    p->rec->row[tw_test_pick(p->r, 0, p->rec->n_rows - 1)].tick++;
    return true;
}
static inline bool row_is_dropped(patient *p)
{
    int row = (int)tw_test_pick(p->r, 0, p->rec->n_rows - 1), n = 0;
    for (int i = 0; i < p->rec->n_script; i++)
        if (p->rec->script[i] != row && p->rec->script[i] != ~row) p->rec->script[n++] = p->rec->script[i];
    p->rec->n_script = n;
    return true;
}
static inline bool memory_is_too_small(patient *p)
{
    int m = p->machine.n_memories - 1;
    p->machine.memory[m].size = p->layout.used[m] - 1;
    return true;
}
static inline bool buffers_overlap(patient *p)
{
    for (int i = 1; i < p->layout.n_buffers; i++)
        if (p->buffer[i].memory == p->buffer[i - 1].memory && p->buffer[i - 1].size > 0 && p->buffer[i].size > 0) {
            p->buffer[i].offset = p->buffer[i - 1].offset;
            return true;
        }
    return false;
}
/* The slots of a pool are as large as the largest tile, which some slot receives; all of them shrink. */
static inline bool buffers_are_small(patient *p)
{
    FIND(TW_LOAD, NULL);
    const tw_buffer *b = &p->buffer[e->instr.dst];
    int64_t units = e->instr.work;
    for (int i = 0; i < p->layout.n_buffers; i++)
        if (p->buffer[i].memory == b->memory && p->buffer[i].operand == b->operand)
            p->buffer[i].size = tw_min(p->buffer[i].size, units - 1);
    return true;
}
#undef FIND

/* What must notice: the executor sees only what changes numbers or where they are. */
typedef struct damage {
    const char *name;
    bool (*inflict)(patient *p);
    bool changes_data;
} damage;
#define DAMAGE(name_, data_) \
    {                        \
#name_, name_, data_ \
    }
__attribute__((unused)) static const damage damages[] = {
    DAMAGE(exec_reads_wrong_slot, true),
    DAMAGE(store_reads_wrong_slot, true),
    DAMAGE(load_fills_wrong_slot, true),
    DAMAGE(exec_writes_wrong_slot, true),
    DAMAGE(nest_reads_wrong_slot, false),
    DAMAGE(nest_writes_wrong_slot, false),
    DAMAGE(sum_reads_wrong_slot, true),
    DAMAGE(load_is_early, false),
    DAMAGE(store_is_early, true),
    DAMAGE(sum_is_early, true),
    DAMAGE(load_is_dropped, true),
    DAMAGE(store_is_dropped, true),
    DAMAGE(sum_is_dropped, true),
    DAMAGE(exec_is_dropped, true),
    DAMAGE(exec_is_doubled, false),
    DAMAGE(load_region_is_short, true),
    DAMAGE(store_region_is_short, true),
    DAMAGE(load_region_leaves_tensor, true),
    DAMAGE(exec_box_is_moved, true),
    DAMAGE(nested_box_is_moved, false),
    DAMAGE(exec_source_is_missing, true),
    DAMAGE(exec_accumulation_is_flipped, true),
    DAMAGE(store_accumulation_is_flipped, false),
    DAMAGE(engine_is_wrong, false),
    DAMAGE(work_is_wrong, false),
    DAMAGE(duration_is_wrong, false),
    DAMAGE(row_is_long, false),
    DAMAGE(row_starts_late, false),
    DAMAGE(live_count_is_wrong, false),
    DAMAGE(tick_is_wrong, false),
    DAMAGE(row_is_dropped, false),
    DAMAGE(memory_is_too_small, false),
    DAMAGE(buffers_overlap, false),
    DAMAGE(buffers_are_small, false),
};
#undef DAMAGE
#endif
