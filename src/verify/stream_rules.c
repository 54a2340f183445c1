/* src/verify/stream_rules.c - what an instruction of an async program may do, given what the buffers hold.
 *
 * Nothing changes here. Moments in which something is there, or free, are compared with the start of the command,
 * and the latest of them is noted: a command has no reason to start later. */
#include "verify/cost.h"
#include "verify/room.h"
#include "verify/rule.h"
#include "verify/shape.h"
#include "verify/stream_checker.h"

static const tw_operand *operand_of(const tw_commanded *s, int operand) { return &s->at.in->op->operand[operand]; }
static int output_of(const tw_commanded *s) { return tw_op_output(s->at.in->op); }
static tw_buffer_name name_of(const tw_commanded *s, int buffer) { return tw_rule_name(&s->at, buffer); }
static const char *memory_name(const tw_commanded *s, int memory) { return s->at.in->machine->memory[memory].name; }
static int memory_of(const tw_commanded *s, int buffer)
{
    return buffer < 0 ? 0 : s->at.in->layout->buffer[buffer].memory;
}

/* An array has only loops over it that it may have. */
static bool check_array(const tw_commanded *s)
{
    const tw_engine *engine = &s->at.in->machine->engine[s->at.instr->engine];
    tw_verify_phrase fault;
    for (int l = 0; l < s->at.in->op->n_loops && engine->cost.kind == TW_COST_ARRAY; l++)
        if (!tw_verify_array_takes(s->at.in, engine, l, &fault))
            return tw_fault_at(&s->at, "lays '%s' over %s'%s'%s", s->at.in->op->loop[l].name, fault.before,
                               engine->name, fault.after);
    return true;
}

static bool check_passes(const tw_commanded *s)
{
    const tw_engine *engine = &s->at.in->machine->engine[s->at.instr->engine];
    return (s->at.instr->op != TW_EXEC || check_array(s)) &&
           tw_cost_claims(&s->at, engine, tw_verify_shape(s->at.in, engine, s->at.instr));
}

/* ---- buffers and engines ---- */

/* A transfer's engine is a mover that carries this operand this way between exactly the two memories. */
static bool check_mover(const tw_commanded *s, int inner, int outer, bool inward)
{
    int engine = s->at.instr->engine, operand = s->at.instr->operand;
    if (!tw_rule_mover(&s->at, inner, outer, inward)) return false;
    if (tw_verify_carries(s->at.in, engine, operand, inward ? TW_INWARDS : TW_OUTWARDS)) return true;
    return tw_fault_at(&s->at, "on '%s', which does not carry '%s'", s->at.in->machine->engine[engine].name,
                       operand_of(s, operand)->name);
}

/* The two ends of a transfer follow each other on the path of the operand. */
static bool check_path(const tw_commanded *s, int inner, int outer, int operand)
{
    const tw_memory *memory = s->at.in->machine->memory;
    if (inner > 0 && tw_verify_holds(s->at.in, inner, operand) &&
        tw_verify_outside(s->at.in, inner, operand) == outer)
        return true;
    return tw_fault_at(&s->at, "moves '%s' between '%s' and '%s', which is not on its path",
                       operand_of(s, operand)->name, memory[outer].name, memory[inner].name);
}

/* The memory between which and the compute engine nothing holds the operand. */
static int innermost(const tw_commanded *s, int operand)
{
    return tw_verify_outside(s->at.in, s->at.in->machine->n_memories, operand);
}

/* ---- reading ---- */

/* The buffer holds a tile of the operand, and it is there at the start. */
static bool check_source(tw_commanded *s, int buffer, int operand)
{
    const tw_slot *slot = &s->k->slot[buffer];
    int64_t start = s->event->start_cycle;
    if (!slot->held) return tw_fault_at(&s->at, "reads buffer %s, which nobody holds", name_of(s, buffer).text);
    if (slot->operand != operand)
        return tw_fault_at(&s->at, "reads '%s' from buffer %s, which holds '%s'", operand_of(s, operand)->name,
                           name_of(s, buffer).text, operand_of(s, slot->operand)->name);
    if (!slot->full)
        return tw_fault_at(&s->at, "reads buffer %s, which holds nothing yet", name_of(s, buffer).text);
    if (start < slot->there)
        return tw_fault_at(&s->at, "starts at %" PRId64 ", buffer %s is written until %" PRId64, start,
                           name_of(s, buffer).text, slot->there);
    s->moments.data = tw_max(s->moments.data, slot->there);
    return true;
}

static bool lies_within(const tw_operand *o, const tw_region *region, const tw_region *held, int but)
{
    for (int a = 0; a < o->n_axes; a++)
        if (a != but && (region->axis[a].lo < held->axis[a].lo || region->axis[a].hi > held->axis[a].hi))
            return false;
    return true;
}

/* Every row of the region lies in the circular buffer, and is there at the start. */
static bool check_ring_source(const tw_commanded *s, int buffer, int operand, const tw_region *region)
{
    const tw_ring *ring = tw_stream_ring(s, buffer, operand);
    int axis = s->at.in->slide[s->at.in->layout->buffer[buffer].memory][operand].axis;
    int64_t base = s->k->slot[buffer].base;
    if (!lies_within(operand_of(s, operand), region, &s->k->slot[buffer].region, axis))
        return tw_fault_at(&s->at, "takes a region of '%s' that the window in %s does not have",
                           operand_of(s, operand)->name, name_of(s, buffer).text);
    for (int64_t x = region->axis[axis].lo; x < region->axis[axis].hi; x++) {
        const tw_ring_row *row = tw_ring_at(ring, base + x);
        if (row->number != base + x)
            return tw_fault_at(&s->at, "takes row %" PRId64 " of '%s', which the window in %s does not have", x,
                               operand_of(s, operand)->name, name_of(s, buffer).text);
        if (s->event->start_cycle < row->there)
            return tw_fault_at(&s->at, "starts at %" PRId64 ", row %" PRId64 " of '%s' is written until %" PRId64,
                               s->event->start_cycle, x, operand_of(s, operand)->name, row->there);
    }
    return true;
}

static bool check_input(tw_commanded *s, int buffer, int operand, const tw_region *region)
{
    if (!check_source(s, buffer, operand)) return false;
    if (tw_stream_ring(s, buffer, operand)) return check_ring_source(s, buffer, operand, region);
    if (tw_verify_region_inside(operand_of(s, operand), region, &s->k->slot[buffer].region)) return true;
    return tw_fault_at(&s->at, "takes a region of '%s' that buffer %s does not hold", operand_of(s, operand)->name,
                       name_of(s, buffer).text);
}

/* Partial sums of a region in a buffer, or beside the tensor. */
static bool check_sums(tw_commanded *s, int buffer, const tw_region *region, tw_found_sums *found)
{
    if (buffer >= 0 && !check_source(s, buffer, output_of(s))) return false;
    if (!tw_stream_find_sums(s, buffer, region, found))
        return tw_fault_at(&s->at, "takes sums of a region that %s%s does not hold", buffer < 0 ? "" : "buffer ",
                           name_of(s, buffer).text);
    if (buffer >= 0) return true;
    int64_t there = tw_parts_at(s->k->parts, found->part)->there;
    if (s->event->start_cycle < there)
        return tw_fault_at(&s->at, "starts at %" PRId64 ", its sums are stored in '%s' until %" PRId64,
                           s->event->start_cycle, memory_name(s, 0), there);
    s->moments.data = tw_max(s->moments.data, there);
    return true;
}

/* ---- writing ---- */

/* A target that is taken was free; one that is not was held for this operand. */
static bool check_credit(const tw_commanded *s, int buffer, int operand)
{
    const tw_slot *slot = &s->k->slot[buffer];
    if (s->at.instr->takes)
        return slot->held ? tw_fault_at(&s->at, "takes buffer %s, which is held", name_of(s, buffer).text) : true;
    if (!slot->held) return tw_fault_at(&s->at, "writes buffer %s, which nobody holds", name_of(s, buffer).text);
    if (slot->operand == operand) return true;
    return tw_fault_at(&s->at, "writes '%s' into buffer %s, which holds '%s'", operand_of(s, operand)->name,
                       name_of(s, buffer).text, operand_of(s, slot->operand)->name);
}

/* Whether another window has rows where those of the load at hand come: the rows behind its first one reach round the circular buffer. */
static bool is_in_the_way(const tw_commanded *s, const tw_ring *ring, int buffer)
{
    const tw_instr *i = s->at.instr;
    tw_span new = i->region.axis[s->at.in->slide[s->at.in->layout->buffer[i->dst].memory][i->operand].axis];
    return buffer != i->dst && s->k->slot[buffer].slid &&
           s->k->slot[buffer].first + ring->n_rows < tw_ring_base(s, ring, new) + new.hi;
}

/* When the last of those who used the buffer is done; of a circular one, of the windows that have rows where new ones come. */
static int64_t used_until(const tw_commanded *s, int buffer)
{
    const tw_layout *layout = s->at.in->layout;
    const tw_buffer *b = &layout->buffer[buffer];
    const tw_slot *slot = &s->k->slot[buffer];
    int64_t until = tw_max(slot->there, slot->read);
    const tw_ring *ring = s->at.instr->op == TW_LOAD ? tw_stream_ring(s, buffer, s->at.instr->operand) : NULL;
    if (!ring) return until;
    int first = layout->first[b->memory][b->operand], n = layout->count[b->memory][b->operand];
    for (int k = first; k < first + n; k++)
        if (is_in_the_way(s, ring, k)) until = tw_max(until, tw_max(s->k->slot[k].there, s->k->slot[k].read));
    return tw_max(until, ring->came); /* rows come in their order */
}

/* Windows that are in the way have been given back. */
static bool check_ways(const tw_commanded *s, const tw_ring *ring)
{
    const tw_layout *layout = s->at.in->layout;
    const tw_buffer *b = &layout->buffer[s->at.instr->dst];
    int first = layout->first[b->memory][b->operand], n = layout->count[b->memory][b->operand];
    for (int k = first; k < first + n; k++)
        if (is_in_the_way(s, ring, k) && s->k->slot[k].held)
            return tw_fault_at(&s->at, "brings rows to where the window in %s has some, which is held",
                               name_of(s, k).text);
    return true;
}

/* New rows come where none lie that are still read or written, all of them into the circular buffer. */
static bool check_ring_target(const tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    const tw_buffer *b = &s->at.in->layout->buffer[i->dst];
    const tw_operand *o = operand_of(s, i->operand);
    const tw_ring *ring = s->k->ring[b->memory][i->operand];
    const tw_verify_slide *slide = &s->at.in->slide[b->memory][i->operand];
    tw_span new = i->region.axis[slide->axis];
    if (new.hi - new.lo > slide->rows)
        return tw_fault_at(&s->at, "puts %" PRId64 " rows into the circular buffer %s of %" PRId64, new.hi - new.lo,
                           name_of(s, i->dst).text, slide->rows);
    const tw_slot *before =
        i->continues >= 0 && i->continues < s->at.in->layout->n_buffers ? &s->k->slot[i->continues] : NULL;
    if (before && !(lies_within(o, &i->region, &before->region, slide->axis) &&
                    lies_within(o, &before->region, &i->region, slide->axis)))
        return tw_fault_at(&s->at, "brings rows of another length than those of the window that it continues");
    if (!check_ways(s, ring)) return false;
    for (int64_t x = new.lo; x < new.hi; x++) {
        const tw_ring_row *row = tw_ring_at(ring, tw_ring_base(s, ring, new) + x);
        int64_t until = tw_max(row->there, row->read);
        if (s->event->start_cycle < until)
            return tw_fault_at(
                &s->at, "starts at %" PRId64 ", where row %" PRId64 " comes row %" PRId64 " is %s until %" PRId64,
                s->event->start_cycle, x, row->position, row->there > row->read ? "written" : "read", until);
    }
    return true;
}

/* Units of the rows of a sweep, in a circular buffer that is full of them. */
static int64_t ring_units(const tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    const tw_verify_slide *slide = &s->at.in->slide[s->at.in->layout->buffer[i->dst].memory][i->operand];
    tw_region all = i->region;
    all.axis[slide->axis] = (tw_span){0, slide->rows};
    return tw_verify_units(s->at.in, i->operand, tw_verify_region_elems(operand_of(s, i->operand), &all));
}

static bool check_ring(const tw_commanded *s)
{
    const tw_layout *layout = s->at.in->layout;
    const tw_buffer *b = &layout->buffer[s->at.instr->dst];
    int first = layout->first[b->memory][b->operand], n = layout->count[b->memory][b->operand];
    int64_t size = 0, need = ring_units(s);
    for (int k = first; k < first + n; k++) size += layout->buffer[k].size;
    if (need > size)
        return tw_fault_at(&s->at, "needs %" PRId64 " units of a circular buffer of %" PRId64, need, size);
    return check_ring_target(s);
}

/* Whoever used the buffer before is done. What is taken was a credit to wait for, what is written further is data.
 * */
static bool check_unused(tw_commanded *s, int buffer)
{
    const tw_slot *slot = &s->k->slot[buffer];
    int64_t start = s->event->start_cycle, until = used_until(s, buffer);
    if (tw_stream_is_late(s, s->at.instr)) start = s->event->end_cycle, s->late = until;
    if (start < until)
        return tw_fault_at(&s->at, "starts at %" PRId64 ", buffer %s is %s until %" PRId64, start,
                           name_of(s, buffer).text,
                           s->at.instr->takes         ? "held"
                           : slot->there > slot->read ? "written"
                                                      : "read",
                           until);
    if (s->late >= 0) return true;
    if (s->at.instr->takes && (s->awaited < 0 || until > s->moments.credit)) s->awaited = buffer;
    int64_t *latest = s->at.instr->takes ? &s->moments.credit : &s->moments.data;
    *latest = tw_max(*latest, until);
    return true;
}

static bool check_target(tw_commanded *s, int buffer, int operand, const tw_region *region)
{
    const tw_slot *slot = &s->k->slot[buffer];
    if (!check_credit(s, buffer, operand) || !check_unused(s, buffer)) return false;
    if (s->at.instr->op == TW_LOAD && tw_stream_ring(s, buffer, operand)) return check_ring(s);
    int64_t elems = tw_verify_region_elems(operand_of(s, operand), region);
    bool again = s->at.instr->accumulates;
    if ((again || s->at.instr->partial) && !s->at.in->holds_sums[s->at.in->layout->buffer[buffer].memory])
        return tw_fault_at(&s->at, "leaves partial sums in buffer %s, which is made for finished elements",
                           name_of(s, buffer).text);
    if (!s->at.instr->takes) elems = again ? slot->elems : slot->elems + elems;
    int memory = s->at.in->layout->buffer[buffer].memory;
    return tw_rule_fits(&s->at, buffer, tw_verify_slot_units(s->at.in, memory, operand, elems));
}

/* ---- transfers ---- */

static int64_t units_of(const tw_commanded *s, const tw_instr *i)
{
    int64_t elems = tw_verify_region_elems(operand_of(s, i->operand), &i->region);
    return i->partial ? tw_verify_sum_units(s->at.in, elems) : tw_verify_units(s->at.in, i->operand, elems);
}

static bool check_transfer(const tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    if (!tw_rule_sources(&s->at, 1)) return false;
    if (i->accumulates) return tw_fault_at(&s->at, "adds to what its target holds");
    if (i->src[0] != -1 && !tw_rule_buffer(&s->at, i->src[0], i->operand)) return false;
    if (i->dst != -1 && !tw_rule_buffer(&s->at, i->dst, i->operand)) return false;
    int from = memory_of(s, i->src[0]), to = memory_of(s, i->dst);
    bool inwards = i->op == TW_LOAD;
    if (!check_path(s, inwards ? to : from, inwards ? from : to, i->operand)) return false;
    if (!check_mover(s, inwards ? to : from, inwards ? from : to, inwards)) return false;
    return tw_rule_region(&s->at) && tw_rule_work(&s->at, units_of(s, i)) && check_passes(s);
}

/* The compute engine has ended whatever stands before this. */
static bool check_drained(tw_commanded *s)
{
    const tw_machine *m = s->at.in->machine;
    for (int u = 0; u < m->engine[m->compute].count; u++) {
        int64_t until = s->k->units.free[m->compute][u];
        if (s->event->start_cycle < until)
            return tw_fault_at(&s->at, "starts at %" PRId64 ", '%s' has work until %" PRId64, s->event->start_cycle,
                               m->engine[m->compute].name, until);
        s->moments.data = tw_max(s->moments.data, until);
    }
    return true;
}

/* Whether the step that is served is the first of a sweep of the innermost loop, and not of all, on an engine that does not
 * mix sweeps. */
static bool begins_sweep(const tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    bool later = false;
    if (!s->at.in->machine->engine[i->engine].drains || s->at.in->innermost < 0) return false;
    for (int l = 0; l < s->at.in->op->n_loops; l++) later |= i->box.span[l].lo > 0;
    return later && i->box.span[s->at.in->innermost].lo == 0;
}

static bool check_load(tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    bool sums = i->operand == output_of(s);
    tw_found_sums found;
    if (i->operand < 0 || i->operand > output_of(s)) return tw_fault_at(&s->at, "moves no operand");
    if (sums != i->partial)
        return tw_fault_at(&s->at, "brings %s", sums ? "finished elements back" : "an input as partial sums");
    if (!check_transfer(s)) return false;
    if (i->drains && !check_drained(s)) return false;
    if (!i->drains && !sums && begins_sweep(s))
        return tw_fault_at(&s->at, "is the first of a sweep and does not wait for the last one to end");
    if (!i->takes) return tw_fault_at(&s->at, "fills buffer %s without taking it", name_of(s, i->dst).text);
    if (sums ? !check_sums(s, i->src[0], &i->region, &found)
             : i->src[0] != -1 && !check_input(s, i->src[0], i->operand, &i->region))
        return false;
    return check_target(s, i->dst, i->operand, &i->region);
}

/* Sums that are there must be taken before others come into their place. */
static bool check_overwritten(const tw_commanded *s, const tw_region *region)
{
    const tw_instr *i = s->at.instr;
    const tw_parts *parts = s->k->parts;
    int old = tw_parts_find(parts, i->dst < 0 ? s->k->outside : i->dst, region);
    if (old == TW_PART_NONE) return true;
    if (!tw_parts_at(parts, old)->gone)
        return tw_fault_at(&s->at, "overwrites sums in %s%s that nobody took", i->dst < 0 ? "" : "buffer ",
                           name_of(s, i->dst).text);
    if (s->event->start_cycle >= tw_parts_at(parts, old)->read) return true;
    return tw_fault_at(&s->at, "starts at %" PRId64 ", the old sums in '%s' are read until %" PRId64,
                       s->event->start_cycle, memory_name(s, 0), tw_parts_at(parts, old)->read);
}

static bool check_store(tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    tw_found_sums found;
    if (i->operand != output_of(s)) return tw_fault_at(&s->at, "moves an input operand");
    if (!check_transfer(s)) return false;
    if (i->takes && i->dst == -1) return tw_fault_at(&s->at, "takes a credit of '%s'", memory_name(s, 0));
    if (!check_sums(s, i->src[0], &i->region, &found)) return false;
    if (!i->partial && found.points != tw_cover_finished(s->c->cover, &i->region))
        return tw_fault_at(&s->at, "moves buffer %s out as finished before every point, once each, is in it",
                           name_of(s, i->src[0]).text);
    if (!check_overwritten(s, &i->region)) return false;
    return i->dst == -1 || check_target(s, i->dst, i->operand, &i->region);
}

/* ---- executions ---- */

/* Input `operand` of an EXEC: its buffer must hold every position that the box touches. */
static bool check_exec_input(tw_commanded *s, int operand)
{
    const tw_instr *i = s->at.instr;
    const tw_operand *o = operand_of(s, operand);
    tw_region need = {0};
    bool any = tw_cover_reach(s->c->cover, operand, &i->box, &need);
    int buffer = i->src[operand];
    if (buffer == -1) return any ? tw_fault_at(&s->at, "has no buffer for '%s', which it reads", o->name) : true;
    if (!tw_rule_buffer(&s->at, buffer, operand)) return false;
    if (memory_of(s, buffer) != innermost(s, operand))
        return tw_fault_at(&s->at, "reads buffer %s, which the compute engine does not reach",
                           name_of(s, buffer).text);
    return any ? check_input(s, buffer, operand, &need) : check_source(s, buffer, operand);
}

static bool check_exec_target(tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    tw_region made = tw_verify_output_region(s->at.in->op, &i->box);
    tw_found_sums found;
    if (!tw_rule_buffer(&s->at, i->dst, output_of(s))) return false;
    if (memory_of(s, i->dst) != innermost(s, output_of(s)))
        return tw_fault_at(&s->at, "writes buffer %s, which the compute engine does not reach",
                           name_of(s, i->dst).text);
    if (i->accumulates && i->takes)
        return tw_fault_at(&s->at, "adds to buffer %s, which it takes only now", name_of(s, i->dst).text);
    if (!check_target(s, i->dst, output_of(s), &made)) return false;
    if (!i->accumulates) return i->takes || check_overwritten(s, &made);
    if (!check_sums(s, i->dst, &made, &found)) return false;
    if (found.part != TW_PART_NONE) return true;
    return tw_fault_at(&s->at, "adds to buffer %s as a whole, which holds it in parts", name_of(s, i->dst).text);
}

static bool check_exec(tw_commanded *s)
{
    const tw_instr *i = s->at.instr;
    const tw_verify_input *in = s->at.in;
    if (i->nested) return tw_fault_at(&s->at, "nests a program");
    const tw_machine *m = in->machine;
    if (!tw_rule_computer(&s->at, m->compute, &m->engine[m->compute])) return false;
    if (in->machine->arranged && !tw_verify_only_moves(in))
        return tw_fault_at(&s->at, "computes something, and is left to the movers");
    if (!tw_rule_box(&s->at)) return false;
    if (!tw_rule_sources(&s->at, in->op->n_operands - 1)) return false;
    for (int o = 0; o < i->n_src; o++)
        if (!check_exec_input(s, o)) return false;
    if (in->map && !tw_room_exec(&s->at)) return false;
    return check_exec_target(s) && tw_rule_work(&s->at, tw_verify_points(in->op, &i->box)) && check_passes(s);
}

bool tw_stream_rules(tw_commanded *s)
{
    if (!tw_rule_gives(&s->at)) return false;
    switch (s->at.instr->op) {
    case TW_LOAD: return check_load(s);
    case TW_STORE: return check_store(s);
    case TW_EXEC: return check_exec(s);
    case TW_SUM:
    case TW_FILL: break;
    }
    return tw_fault_at(&s->at, "has no meaning on an async machine");
}
