/* src/verify/stream_check.c - the checker of async programs: a state that believes no command.
 *
 * Commands come in program order, which must be an order in which everything stands behind what it depends on. So
 * the state needs no clock: it knows for every buffer who holds it, what lies in it, when the last write of it
 * ends and when its last reader is done, and a command is right when the moment of its start is not before any of
 * those that concern it. What must hold, in the order in which it is looked at:
 *
 *   1. buffers lie inside their memories, aligned, disjoint                            check.c
 *   2. a command takes what its work costs, after the last command of its unit         time.c
 *   3. an instruction sits on the right engine between neighbours of its operand's
 *      path, its work is what its region says, what it reads is there, what it writes
 *      is held, or free and taken, and nobody reads it any more                        stream_rules.c
 *   4. it starts as early as that allows, and says what it waited for                  time.c
 *   5. every loop point goes once into its output element, which leaves once; every
 *      credit comes back                                                               apply_*, finish
 *
 * Partial sums are moved, not copied: whoever reads them carries them on, and they are gone where they were. Sums
 * that are read twice, overwritten or left behind are thereby found where it happens. */
#include "verify/shape.h"
#include "verify/stream_checker.h"

/* ---- partial sums ---- */

static uint64_t positions_of(const tw_commanded *s, const tw_region *region)
{
    return tw_cover_region(s->c->cover, region);
}

static int64_t output_elems(const tw_commanded *s, const tw_region *region)
{
    return tw_verify_region_elems(&s->at.in->op->operand[tw_op_output(s->at.in->op)], region);
}

bool tw_stream_find_sums(const tw_commanded *s, int buffer, const tw_region *region, tw_found_sums *out)
{
    const tw_stream_check *k = s->k;
    int part = tw_parts_find(k->parts, buffer < 0 ? k->outside : buffer, region);
    if (part != TW_PART_NONE) {
        *out = (tw_found_sums){part, tw_parts_at(k->parts, part)->points};
        return !tw_parts_at(k->parts, part)->gone;
    }
    if (buffer < 0 || k->slot[buffer].elems == 0 || k->slot[buffer].positions != positions_of(s, region))
        return false;
    *out = (tw_found_sums){TW_PART_NONE, k->slot[buffer].points};
    return true;
}

static void count_sums(const tw_commanded *s, tw_slot *slot, const tw_region *region, uint64_t points, bool more)
{
    uint64_t (*change)(uint64_t, uint64_t) = more ? tw_cover_add : tw_cover_subtract;
    slot->elems += more ? output_elems(s, region) : -output_elems(s, region);
    slot->positions = change(slot->positions, positions_of(s, region));
    slot->points = change(slot->points, points);
}

/* Leaves behind who read the sums beside the tensor and until when: the next ones must not come before. */
static bool leave_trace(const tw_commanded *s, int part)
{
    tw_parts *parts = s->k->parts;
    tw_region region = tw_parts_at(parts, part)->region;
    int trace = tw_parts_new_loose(parts, &region);
    if (trace == TW_PART_NONE) return false;
    tw_parts_at(parts, trace)->gone = true;
    tw_parts_at(parts, trace)->read = s->event->busy_end;
    tw_parts_put(parts, trace, s->k->outside, true);
    return true;
}

/* The sums that the instruction at hand moves, loose; TW_PART_NONE when out of memory. */
static int lift_sums(const tw_commanded *s, const tw_found_sums *found)
{
    const tw_instr *i = s->at.instr;
    tw_parts *parts = s->k->parts;
    int buffer = i->src[0], part = found->part;
    if (part == TW_PART_NONE) {
        part = tw_parts_new_loose(parts, &i->region);
        if (part == TW_PART_NONE) return part;
        tw_parts_lift_all(parts, buffer, part);
        tw_parts_at(parts, part)->points = found->points;
    } else {
        tw_parts_lift(parts, part);
    }
    if (buffer >= 0)
        count_sums(s, &s->k->slot[buffer], &i->region, found->points, false);
    else if (!leave_trace(s, part))
        return TW_PART_NONE;
    return part;
}

/* ---- effects of an instruction ---- */

static void take(const tw_commanded *s, int buffer, int operand)
{
    tw_slot *slot = &s->k->slot[buffer];
    *slot = (tw_slot){.held = true,
                      .operand = operand,
                      .base = slot->base,
                      .there = slot->there,
                      .read = slot->read}; /* it may continue its own window */
}

static void write_until(const tw_commanded *s, tw_slot *slot)
{
    slot->full = true;
    slot->there = tw_max(slot->there, s->event->end_cycle);
}

/* The tensor, or the place beside it, receives sums. */
static void put_outside(const tw_commanded *s, int part)
{
    tw_stream_check *k = s->k;
    const tw_region *region = &s->at.instr->region;
    int old = tw_parts_find(k->parts, k->outside, region);
    if (old != TW_PART_NONE) {
        tw_parts_lift(k->parts, old);
        tw_parts_drop(k->parts, old);
    }
    if (s->at.instr->partial) {
        tw_parts_at(k->parts, part)->there = s->event->end_cycle;
        tw_parts_put(k->parts, part, k->outside, true);
    } else {
        s->c->stored = tw_cover_add(s->c->stored, positions_of(s, region));
        tw_parts_drop(k->parts, part);
    }
}

/* Inwards a tile comes apart, since the memory inside will ask for parts of it. */
static void apply_sums(const tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    tw_found_sums found;
    bool there = tw_stream_find_sums(s, i->src[0], &i->region, &found);
    assert(there); /* the rules have looked */
    int part = there ? lift_sums(s, &found) : TW_PART_NONE;
    if (part == TW_PART_NONE) {
        s->k->no_memory = true;
    } else if (i->dst == -1) {
        put_outside(s, part);
    } else {
        tw_parts_put(s->k->parts, part, i->dst, i->op == TW_STORE);
        count_sums(s, &s->k->slot[i->dst], &i->region, found.points, true);
        write_until(s, &s->k->slot[i->dst]);
    }
}

/* New rows of a window that slides. */
static void apply_rows(const tw_commanded *s, tw_ring *ring)
{
    const tw_instr *i = s->at.instr;
    tw_slot *slot = &s->k->slot[i->dst];
    int axis = s->at.in->slide[s->at.in->layout->buffer[i->dst].memory][i->operand].axis;
    tw_span new = i->region.axis[axis];
    tw_region window;
    int64_t base = tw_ring_base(s, ring, new);
    write_until(s, slot);
    if (i->continues >= 0 && i->continues < s->at.in->layout->n_buffers)
        slot->there = tw_max(slot->there, s->k->slot[i->continues].there);
    slot->region = i->region;
    slot->slid = true;
    slot->base = base;
    slot->first =
        base + (tw_verify_hull(s->at.in->op, i->operand, &i->box, &window) ? window.axis[axis].lo : new.lo);
    ring->end = base + new.hi;
    ring->came = s->event->start_cycle;
    for (int64_t x = new.lo; x < new.hi; x++) {
        tw_ring_row *row = tw_ring_at(ring, base + x);
        row->number = base + x;
        row->position = x;
        row->there = s->event->end_cycle;
    }
}

static void apply_load(const tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    tw_slot *slot = &s->k->slot[i->dst];
    tw_ring *ring = tw_stream_ring(s, i->dst, i->operand);
    if (ring) {
        apply_rows(s, ring);
        return;
    }
    slot->region = i->region;
    write_until(s, slot);
}

static void apply_exec(const tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    tw_parts *parts = s->k->parts;
    tw_slot *slot = &s->k->slot[i->dst];
    tw_region made = tw_verify_output_region(s->at.in->op, &i->box);
    uint64_t points = tw_cover_box(s->c->cover, &i->box);
    int part = tw_parts_find(parts, i->dst, &made);
    write_until(s, slot);
    if (part != TW_PART_NONE) {
        slot->points = tw_cover_add(slot->points, points);
        tw_parts_at(parts, part)->points = tw_cover_add(tw_parts_at(parts, part)->points, points);
        return;
    }
    part = tw_parts_new_loose(parts, &made);
    if (part == TW_PART_NONE) {
        s->k->no_memory = true;
        return;
    }
    tw_parts_at(parts, part)->points = points;
    tw_parts_put(parts, part, i->dst, true);
    count_sums(s, slot, &made, points, true);
}

static void read_until(const tw_commanded *s, int buffer)
{
    tw_slot *slot = &s->k->slot[buffer];
    slot->read = tw_max(slot->read, s->event->busy_end);
}

/* The rows that an instruction reads of a window that slides. */
static void read_rows(const tw_commanded *s, int buffer, int operand)
{
    const tw_instr *i = s->at.instr;
    tw_ring *ring = tw_stream_ring(s, buffer, operand);
    if (!ring) return;
    int axis = s->at.in->slide[s->at.in->layout->buffer[buffer].memory][operand].axis;
    tw_span rows = i->region.axis[axis];
    if (i->op == TW_EXEC && !tw_cover_touch(s->c->cover, operand, axis, &i->box, &rows)) return;
    for (int64_t x = rows.lo; x < rows.hi; x++) {
        tw_ring_row *row = tw_ring_at(ring, s->k->slot[buffer].base + x);
        row->read = tw_max(row->read, s->event->busy_end);
    }
}

/* Loads and stores of the output move sums. */
static void apply(const tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    int output = tw_op_output(s->at.in->op);
    if (i->takes) take(s, i->dst, i->op == TW_EXEC ? output : i->operand);
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] >= 0) {
            read_until(s, i->src[k]);
            read_rows(s, i->src[k], i->op == TW_EXEC ? k : i->operand);
        }
    if (i->op == TW_EXEC)
        apply_exec(s);
    else if (i->operand == output)
        apply_sums(s);
    else
        apply_load(s);
}

/* A credit comes back: of a buffer with nothing in it that is still needed. */
static bool give_back_one(const tw_commanded *s, int buffer)
{
    tw_slot *slot = &s->k->slot[buffer];
    const char *why = !slot->held                  ? "which nobody holds"
                      : buffer == s->at.instr->dst ? "which it writes"
                      : slot->elems > 0            ? "which has sums in it that nobody took"
                                                   : NULL;
    if (why)
        return tw_fault_at(&s->at, "gives back buffer %s, %s",
                           tw_buffer_name_of(s->at.in->scene, buffer, -1, -1).text, why);
    slot->held = slot->full = false;
    tw_tally_give(&s->c->tally, buffer, s->event->busy_end);
    read_until(s, buffer);
    tw_ring *ring = tw_stream_ring(s, buffer, s->at.in->layout->buffer[buffer].operand);
    if (ring) ring->behind = slot->read = tw_max(ring->behind, tw_max(slot->read, slot->there));
    return true;
}

static bool give_back(const tw_commanded *s)
{
    for (int k = 0; k < s->at.instr->n_gives; k++)
        if (!give_back_one(s, s->at.instr->gives[k])) return false;
    return true;
}

/* ---- the sink ---- */

static void judge(tw_commanded *s)
{
    const tw_rowset *row = s->at.row;
    if (!tw_stream_command(s)) return;
    for (int i = 0; i < row->n_events; i++) {
        s->event = &row->event[i];
        s->at.instr = &s->event->instr;
        if (!tw_stream_rules(s)) return;
        tw_tally_instr(&s->c->tally, s->at.instr, NULL);
        tw_links_count(&s->c->links, s->at.instr);
        bool late = tw_stream_is_late(s, s->at.instr);
        int64_t taken = late ? s->event->end_cycle : s->event->start_cycle;
        if (s->at.instr->takes) tw_tally_take(&s->c->tally, s->at.instr->dst, taken);
        apply(s);
        if (s->k->no_memory || !give_back(s)) return;
        if (s->k->follow && !tw_follow_instr(s->k->follow, &s->at)) return;
    }
    s->event = &row->event[0];
    s->at.instr = &s->event->instr;
    if (!tw_time_start(&s->at, s->event, &s->moments, tw_moments_last(&s->moments))) return;
    tw_tally_command(&s->c->tally, s->event, s->awaited);
    if (s->at.instr->op == TW_EXEC) tw_tally_execution(&s->c->tally, s->event, s->stalled, s->contended);
    tw_critical_command(s->k->critical, row);
    s->k->units.free[s->at.instr->engine][s->at.instr->unit] = s->event->busy_end;
    s->k->n_commands++;
}

tw_status tw_stream_check_command(void *checker, const tw_rowset *row)
{
    tw_checker *c = checker;
    if (c->fault.set) return TW_OK;
    judge(&(tw_commanded){.at = {&c->in, &c->fault, row, NULL}, .c = c, .k = c->stream, .late = -1, .awaited = -1});
    return c->stream->no_memory ? TW_ERR_NOMEM : TW_OK;
}

/* The circular buffers in which windows slide; false when out of memory. */
static bool make_rings(tw_stream_check *k, const tw_verify_input *in, tw_arena *arena)
{
    for (int m = 1; m < in->machine->n_memories; m++)
        for (int o = 0; o < in->op->n_operands; o++) {
            const tw_verify_slide *slide = &in->slide[m][o];
            if (slide->rows == 0) continue;
            tw_ring *ring = k->ring[m][o] = TW_NEW(arena, tw_ring, 1);
            if (!ring) return false;
            ring->n_rows = slide->rows;
            if (!(ring->row = TW_NEW(arena, tw_ring_row, ring->n_rows))) return false;
            for (int64_t r = 0; r < ring->n_rows; r++) ring->row[r].number = -1;
        }
    return true;
}

/* Buffers of one operand in one memory are a pool; false when out of memory. */
static bool make_pools(tw_tally *t, tw_arena *arena)
{
    const tw_scene *scene = t->scene;
    int number[TW_MAX_MEMORIES * TW_MAX_OPERANDS] = {0};
    for (int b = 0; b < scene->n_buffers; b++) {
        int said = scene->buffer[b].memory * TW_MAX_OPERANDS + scene->buffer[b].operand;
        int64_t slots = 0;
        for (int k = b; k < scene->n_buffers && !number[said]; k++)
            slots += scene->buffer[k].memory == scene->buffer[b].memory &&
                     scene->buffer[k].operand == scene->buffer[b].operand;
        if (!number[said] && !tw_tally_add_pool(t, b, said, slots, arena)) return false;
        if (!number[said]) {
            number[said] = t->n_pools;
            t->pool[t->n_pools - 1].needed = 1; /* also of what is resident and never taken */
        }
        t->pool_of[b] = number[said] - 1;
    }
    return true;
}

tw_stream_check *tw_stream_check_new(tw_checker *c)
{
    const tw_verify_input *in = &c->in;
    int n = in->layout->n_buffers;
    tw_stream_check *k = TW_NEW(c->arena, tw_stream_check, 1);
    if (!k) return NULL;
    k->outside = n;
    k->slot = TW_NEW(c->arena, tw_slot, n + 1);
    k->parts = tw_parts_new(&in->op->operand[tw_op_output(in->op)], n + 1, c->arena);
    if (!k->slot || !k->parts || !make_rings(k, in, c->arena) || !make_pools(&c->tally, c->arena)) return NULL;
    if (!tw_units_init(&k->units, in->scene, in->machine->launch, c->arena)) return NULL;
    if (!(k->critical = tw_critical_new(in, c->arena))) return NULL;
    if (in->map && !(k->follow = tw_follow_new(&c->in, c->arena))) return NULL;
    for (int i = 0; i < in->n_residents; i++) {
        const tw_resident *r = &in->resident[i];
        if (r->operand == tw_op_output(in->op)) continue;
        k->slot[r->buffer] = (tw_slot){.held = true, .full = true, .operand = r->operand, .region = r->region};
    }
    return k;
}

/* A tile that stays: an input, or a part of the output with all its points in it. Whether those of the output are all
 * of it is found with what was stored. */
static bool check_resident(tw_checker *c, int buffer)
{
    const tw_slot *slot = &c->stream->slot[buffer];
    for (int i = 0; i < c->in.n_residents; i++) {
        const tw_resident *r = &c->in.resident[i];
        if (r->buffer != buffer || slot->operand != r->operand) continue;
        if (r->operand != tw_op_output(c->in.op)) return true;
        if (slot->elems == 0 || slot->positions != tw_cover_region(c->cover, &r->region) ||
            slot->points != tw_cover_finished(c->cover, &r->region))
            return false;
        c->stored = tw_cover_add(c->stored, slot->positions);
        return true;
    }
    return false;
}

void tw_stream_check_finish(tw_checker *c)
{
    if (c->stream->follow) tw_follow_finish(c->stream->follow, &c->fault);
    for (int i = 0; i < c->in.layout->n_buffers && !c->fault.set; i++)
        if (c->stream->slot[i].held && !check_resident(c, i))
            tw_fault_set(&c->fault, "buffer %s is still held at the end",
                         tw_buffer_name_of(c->in.scene, i, -1, -1).text);
}
