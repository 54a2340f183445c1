/* src/verify/joint_rules.c - a command of a group against what is expected next.
 *
 * Its group, its operator and the buffer at its inner end say which queue it belongs to; the first of that queue says what it
 * must be. What it reads was commanded before it; what it takes is free, and the one whose turn it is. */
#include "verify/joint_judge.h"
#include "verify/room.h"
#include "verify/rule.h"
#include "verify/shape.h"

/* ---- whose it is ---- */

static bool check_row(const tw_joint_at *s)
{
    const tw_instr *i = s->at.instr;
    if (!s->at.row->command) return tw_fault_at(&s->at, "is a row, not a command");
    if (s->at.row->n_events != 1 || i->together) return tw_fault_at(&s->at, "is joined with others");
    if (s->at.row->tick != s->j->n_commands)
        return tw_fault_at(&s->at, "should have number %" PRId64, s->j->n_commands);
    if (i->op != TW_LOAD && i->op != TW_STORE && i->op != TW_EXEC)
        return tw_fault_at(&s->at, "has no meaning in a group");
    if (!tw_time_engine(&s->at, i)) return false;
    if (s->at.row->start_cycle == s->event->start_cycle && s->at.row->end_cycle == s->event->end_cycle) return true;
    return tw_fault_at(&s->at, "disagrees with its instruction about its time");
}

static bool find_place(tw_joint_at *s)
{
    const tw_instr *i = s->at.instr;
    if (i->group < 0 || i->group >= s->j->in.n_groups)
        return tw_fault_at(&s->at, "is of group %d, there are %d", i->group, s->j->in.n_groups);
    s->group = &s->j->group[i->group];
    if (i->which < 0 || i->which >= s->group->n_ops)
        return tw_fault_at(&s->at, "is of operator %d of group '%s', which has %d", i->which, s->group->map->name,
                           s->group->n_ops);
    s->op = &s->group->op[i->which];
    s->at.in = &s->op->in;
    int output = tw_op_output(s->op->op);
    if (i->operand < 0 || i->operand > output || (i->op == TW_EXEC && i->operand != output))
        return tw_fault_at(&s->at, "names operand %d", i->operand);
    s->tensor = s->op->op->operand[i->operand].tensor;
    return tw_rule_gives(&s->at);
}

/* The hold that a buffer of the group belongs to; NULL and a fault when it is none of this tensor. */
static tw_joint_hold *hold_of(const tw_joint_at *s, int buffer)
{
    if (!tw_rule_exists(&s->at, buffer)) return NULL;
    const tw_buffer *b = &s->j->in.buffer[buffer];
    tw_joint_hold *h = b->group == s->group->number ? &s->group->hold[s->j->hold_of[buffer]] : NULL;
    if (h && h->tensor == s->tensor && b->lane == 0) return h;
    tw_fault_at(&s->at, "uses buffer %s, which is lane %d for '%s' in group '%s'",
                tw_joint_buffer_name(s->j, buffer, -1).text, b->lane, s->j->in.model->tensor[b->operand].name,
                s->j->group[b->group].map->name);
    return NULL;
}

/* What was made inside moves inwards, too: as a load of its reader or as a store of its maker. */
static bool is_inward(const tw_joint_at *s)
{
    const tw_instr *i = s->at.instr;
    if (i->op != TW_STORE || i->dst < 0 || i->dst >= s->j->in.n_buffers) return i->op == TW_LOAD;
    if (s->j->in.buffer[i->dst].group != s->group->number) return false;
    const tw_joint_hold *h = &s->group->hold[s->j->hold_of[i->dst]];
    return h->tensor == s->tensor && !h->made && !h->outward;
}

static tw_joint_queue *queue_of(tw_joint_at *s)
{
    const tw_instr *i = s->at.instr;
    if (i->op == TW_EXEC) return &s->op->exec;
    if (!tw_rule_sources(&s->at, 1)) return NULL;
    s->inward = is_inward(s);
    tw_joint_hold *h = hold_of(s, s->inward ? i->dst : i->src[0]);
    return !h || s->j->fault.set ? NULL : s->inward ? &h->fill : &h->store;
}

/* The walk goes on until it has a command for the queue: as far as a program may run ahead. */
static tw_status find_todo(tw_joint_at *s)
{
    enum { AHEAD = 3 };
    tw_joint_queue *q = queue_of(s);
    for (int i = 0; q && !q->first && i < AHEAD && !s->j->fault.set; i++) TW_TRY(tw_joint_advance(s->j, s->group));
    if (!q || s->j->fault.set) return TW_OK;
    if (!q->first)
        tw_fault_at(&s->at,
                    "is not asked for: group '%s' stands in step %" PRId64 ", %" PRId64 " like it came before",
                    s->group->map->name, s->group->step, q->n_done);
    else
        s->todo = tw_joint_pop(s->group, q);
    return TW_OK;
}

/* ---- engines ---- */

static bool check_mover(const tw_joint_at *s)
{
    const tw_platform *p = s->j->in.platform;
    const tw_platform_engine *e = &p->engine[s->at.instr->engine];
    bool inward = s->inward;
    int inner = s->group->hold[inward ? s->todo->dst : s->todo->src[0].hold].memory, outer = 0;
    int beyond = inward ? s->todo->src[0].hold : s->todo->dst;
    if (beyond >= 0) outer = s->group->hold[beyond].memory;
    if (!tw_rule_mover(&s->at, inner, outer, inward)) return false;
    int core = p->engine[s->op->view->engine].core;
    bool links = p->memory[outer].core >= 0 && p->memory[outer].core != p->memory[inner].core;
    if (e->core >= 0 && e->core != core && e->core != p->memory[inner].core && !links)
        return tw_fault_at(&s->at, "on '%s' of core '%s', '%s' runs on '%s'", e->name, p->core[e->core].name,
                           s->op->op->name, p->engine[s->op->view->engine].name);
    int should = tw_joint_mover(s, outer, inner);
    if (should >= 0 && should != s->at.instr->engine)
        return tw_fault_at(&s->at, "on '%s', it should be on '%s'", e->name, p->engine[should].name);
    if (!inward && s->group->hold[s->todo->src[0].hold].summed && !e->is.sums)
        return tw_fault_at(&s->at, "on '%s', which does not add up lanes", e->name);
    return true;
}

/* ---- buffers ---- */

static int buffer_of(const tw_joint_hold *h, const tw_joint_run *run)
{
    return h->first + run->slot * (int)h->lanes;
}

/* One thing that is read: it lies in this buffer, and its writes came before. */
static bool check_source(const tw_joint_at *s, int index)
{
    const tw_joint_source *src = &s->todo->src[index];
    int buffer = s->at.instr->src[index];
    int tensor = src->run                     ? s->group->hold[src->hold].tensor
                 : s->at.instr->op == TW_EXEC ? s->op->op->operand[index].tensor
                                              : s->tensor;
    const char *name = s->j->in.model->tensor[tensor].name;
    if (!src->run) {
        if (buffer == -1) return true;
        return tw_fault_at(&s->at, "reads '%s' from buffer %s, it should from none", name,
                           tw_joint_buffer_name(s->j, buffer, -1).text);
    }
    const tw_joint_hold *h = &s->group->hold[src->hold];
    const char *memory = s->j->in.platform->memory[h->memory].name;
    if (src->run->slot == TW_JOINT_GIVEN)
        return tw_fault_at(&s->at, "reads '%s' in '%s', which was given back", name, memory);
    if (src->run->done < src->writes)
        return tw_fault_at(&s->at, "reads '%s' in '%s' after %" PRId64 " of %" PRId64 " commands that make it",
                           name, memory, src->run->done, src->writes);
    if (buffer == buffer_of(h, src->run)) return true;
    tw_buffer_name is = tw_joint_buffer_name(s->j, buffer, tensor),
                   should = tw_joint_buffer_name(s->j, buffer_of(h, src->run), tensor);
    return tw_fault_at(&s->at, "reads %s, it should read %s", is.text, should.text);
}

/* A window goes on from the one that was taken before it; the first of a sweep from none. */
static bool check_window(const tw_joint_at *s, const tw_joint_hold *h)
{
    int should = s->todo->continues ? h->slide.last < 0 ? -2 : h->first + h->slide.last : -1;
    if (s->at.instr->continues == should) return true;
    return tw_fault_at(&s->at, "continues the window in buffer %d, it should that in %d", s->at.instr->continues,
                       should);
}

static bool check_room(const tw_joint_at *s, tw_joint_hold *h, const tw_joint_run *run)
{
    if (h->slide.is) return check_window(s, h); /* the table has room for it */
    tw_dtype dtype = tw_joint_dtype(s->j, h);
    int64_t times = tw_joint_is_reference(s->group, h) ? 2 : 1;
    for (int64_t i = 0; i < h->lanes; i++) {
        int64_t need = !run->lane[i].any
                           ? 0
                           : tw_verify_dtype_units(s->at.in->scene->unit, dtype,
                                                   times * tw_verify_region_elems(&s->j->tensor[h->tensor].shape,
                                                                                  &run->lane[i].region));
        h->most = tw_max(h->most, need);
        if (!tw_rule_fits(&s->at, s->at.instr->dst, need)) return false;
    }
    return true;
}

/* The slot whose turn it is: of those that are free, the one that was given back furthest back. */
static int next_slot(const tw_joint_hold *h)
{
    int best = -1;
    for (int i = 0; i < h->slots; i++)
        if (!h->slot[i].run && (best < 0 || h->slot[i].given < h->slot[best].given)) best = i;
    return best;
}

static bool check_taken(const tw_joint_at *s, tw_joint_hold *h)
{
    int buffer = s->at.instr->dst;
    const tw_buffer *b = buffer >= 0 && buffer < s->j->in.n_buffers ? &s->j->in.buffer[buffer] : NULL;
    bool mine = b && b->group == s->group->number && &s->group->hold[s->j->hold_of[buffer]] == h && b->lane == 0;
    if (!mine)
        return tw_fault_at(&s->at, "writes %s, it should write a free buffer in '%s'",
                           tw_joint_buffer_name(s->j, buffer, s->tensor).text,
                           s->j->in.platform->memory[h->memory].name);
    if (h->slot[b->slot].run)
        return tw_fault_at(&s->at, "takes buffer %s, which is held", tw_joint_buffer_name(s->j, buffer, -1).text);
    int turn = next_slot(h);
    if (turn != b->slot)
        return tw_fault_at(&s->at, "takes buffer %s, it is the turn of slot %d",
                           tw_joint_buffer_name(s->j, buffer, -1).text, turn);
    return tw_joint_check_heir(s, h, &h->slot[turn]) && check_room(s, h, s->todo->run);
}

static bool check_target(const tw_joint_at *s)
{
    const tw_joint_todo *todo = s->todo;
    int buffer = s->at.instr->dst;
    if (todo->dst < 0) {
        if (buffer != -1)
            return tw_fault_at(&s->at, "writes %s, it should write the tensor",
                               tw_joint_buffer_name(s->j, buffer, s->tensor).text);
        return !s->at.instr->takes || tw_fault_at(&s->at, "takes a credit of the outermost memory");
    }
    tw_joint_hold *h = &s->group->hold[todo->dst];
    if (todo->accumulates && todo->takes)
        return tw_fault_at(&s->at, "adds to sums in '%s' that left it before they were complete",
                           s->j->in.platform->memory[h->memory].name);
    if (s->at.instr->takes != todo->takes)
        return tw_fault_at(&s->at, todo->takes ? "fills buffer %s without taking it" : "takes buffer %s again",
                           tw_joint_buffer_name(s->j, buffer, s->tensor).text);
    if (todo->takes) return check_taken(s, h);
    if (todo->run->slot < 0)
        return tw_fault_at(&s->at, "writes '%s' in '%s', which was given back",
                           s->j->in.model->tensor[h->tensor].name, s->j->in.platform->memory[h->memory].name);
    if (buffer == buffer_of(h, todo->run)) return true;
    tw_buffer_name is = tw_joint_buffer_name(s->j, buffer, s->tensor),
                   should = tw_joint_buffer_name(s->j, buffer_of(h, todo->run), s->tensor);
    return tw_fault_at(&s->at, "writes %s, it should write %s", is.text, should.text);
}

static bool check_copies(const tw_joint_at *s)
{
    const tw_joint_todo *todo = s->todo;
    int64_t from = 1, to = todo->dst >= 0 ? s->group->hold[todo->dst].lanes : 1;
    for (int i = 0; i < todo->n_src; i++)
        if (todo->src[i].hold >= 0) from = tw_max(from, s->group->hold[todo->src[i].hold].lanes);
    int64_t should = s->at.instr->op != TW_EXEC && s->inward ? to : from, said = s->at.instr->copies;
    if (said == should || (s->at.instr->op == TW_EXEC && said == tw_max(from, to))) return true;
    return tw_fault_at(&s->at, "has %" PRId64 " copies, it should have %" PRId64, said, should);
}

/* ---- what it does ---- */

static bool check_region(const tw_joint_at *s)
{
    const tw_operand *shape = &s->j->tensor[s->tensor].shape;
    for (int a = 0; a < shape->n_axes; a++) {
        tw_span is = s->at.instr->region.axis[a], should = s->todo->region.axis[a];
        if (is.lo != should.lo || is.hi != should.hi)
            return tw_fault_at(&s->at,
                               "moves %" PRId64 "..%" PRId64 " of axis %d, in step %" PRId64
                               " it should be %" PRId64 "..%" PRId64,
                               is.lo, is.hi, a, s->todo->step, should.lo, should.hi);
    }
    return true;
}

static bool check_box(const tw_joint_at *s)
{
    for (int l = 0; l < s->op->op->n_loops; l++) {
        tw_span is = s->at.instr->box.span[l], should = s->todo->box.span[l];
        if (is.lo != should.lo || is.hi != should.hi)
            return tw_fault_at(&s->at,
                               "runs %" PRId64 "..%" PRId64 " of loop '%s', in step %" PRId64
                               " it should be %" PRId64 "..%" PRId64,
                               is.lo, is.hi, s->op->op->loop[l].name, s->todo->step, should.lo, should.hi);
    }
    if (s->at.instr->nested) return tw_fault_at(&s->at, "nests a program");
    return true;
}

static bool check_transfer(const tw_joint_at *s, tw_moved *moved)
{
    if (!check_mover(s) || !check_region(s) || !check_source(s, 0) || !check_target(s) || !check_copies(s))
        return false;
    *moved = tw_joint_move(s, &s->group->hold[s->inward ? s->todo->dst : s->todo->src[0].hold]);
    if (s->at.instr->accumulates) return tw_fault_at(&s->at, "adds to what its target holds");
    if (s->at.instr->partial) return tw_fault_at(&s->at, "moves partial sums");
    return tw_rule_work(&s->at, moved->work) && tw_joint_check_passes(s);
}

/* The driver's tiles are such as its engine takes, along loops that are cut or whole; where a loop is shared by cores alone, nobody
 * asks. */
static bool check_driver(const tw_joint_at *s)
{
    const tw_joint_op *op = s->op;
    if (op != &s->group->op[s->group->n_ops - 1]) return true;
    for (int l = 0; l < op->op->n_loops; l++) {
        tw_span span = s->todo->box.span[l];
        if (s->todo->fills && op->op->loop[l].reduces) continue;
        bool asked = span.hi - span.lo == op->op->loop[l].extent;
        for (int c = 0; c < s->group->map->n_cuts; c++) asked |= s->group->map->cut[c].loop == l;
        if (asked && !tw_room_takes(&op->engine, op->op, l, span))
            return tw_fault_at(&s->at, "has %" PRId64 " points of loop '%s', which '%s' does not take",
                               span.hi - span.lo, op->op->loop[l].name, op->engine.name);
    }
    return true;
}

/* What a producer executes has one of the sizes that its engine takes, where these are some only; multiples and a least size are asked of the
 * pieces of its reductions. */
static bool check_producer(const tw_joint_at *s)
{
    const tw_joint_op *op = s->op;
    if (op == &s->group->op[s->group->n_ops - 1]) return true;
    for (int l = 0; l < op->op->n_loops; l++) {
        tw_span span = s->todo->box.span[l];
        if (s->todo->fills && op->op->loop[l].reduces) continue;
        int64_t points = span.hi - span.lo, extent = op->op->loop[l].extent;
        tw_engine engine = op->engine;
        if (!op->op->loop[l].reduces) engine.tile_multiple = engine.min_tile = 1;
        bool least = points == extent || span.hi == extent || points >= engine.min_tile;
        if (!least || !tw_room_takes(&engine, op->op, l, span))
            return tw_fault_at(&s->at, "has %" PRId64 " points of loop '%s', which '%s' does not take", points,
                               op->op->loop[l].name, op->engine.name);
    }
    return true;
}

/* Padding that is met along an axis with taps, where the engine takes half a kernel of it. */
static bool check_padding(const tw_joint_at *s)
{
    const tw_op *op = s->op->op;
    for (int o = 0; o < tw_op_output(op) && s->op->engine.pad_half && !s->todo->fills; o++)
        for (int a = 0; a < op->operand[o].n_axes && op->operand[o].beside == 0; a++) {
            const tw_axis *axis = &op->operand[o].axis[a];
            int64_t taps = 0, pad = tw_verify_padding(op, o, a, &s->todo->box);
            for (int t = 0; t < axis->n_terms && axis->n_terms > 1; t++)
                if (op->loop[axis->term[t].loop].reduces) taps = tw_max(taps, op->loop[axis->term[t].loop].extent);
            if (taps > 0 && axis->divisor == 1 && pad > taps / 2)
                return tw_fault_at(&s->at,
                                   "has %" PRId64 " elements of padding, '%s' takes half a kernel of %" PRId64, pad,
                                   s->op->engine.name, taps);
        }
    return true;
}

static bool check_exec(const tw_joint_at *s)
{
    if (!tw_rule_computer(&s->at, s->op->view->engine, &s->op->engine)) return false;
    if (!check_box(s) || !check_driver(s) || !check_producer(s) || !check_padding(s)) return false;
    if (s->at.instr->accumulates != s->todo->accumulates)
        return tw_fault_at(&s->at, s->todo->accumulates ? "starts afresh, it should add to what is there"
                                                        : "adds to what is there, it should start afresh");
    if (s->at.instr->rescales != s->todo->rescales)
        return tw_fault_at(&s->at, s->todo->rescales ? "should rescale what is there" : "rescales what is there");
    if (s->at.instr->n_src != s->todo->n_src)
        return tw_fault_at(&s->at, "has %d sources, it should have %d", s->at.instr->n_src, s->todo->n_src);
    for (int i = 0; i < s->todo->n_src; i++)
        if (!check_source(s, i)) return false;
    if (!check_target(s) || !check_copies(s)) return false;
    return tw_rule_work(&s->at, tw_verify_points(s->op->op, &s->todo->box)) && tw_joint_check_passes(s);
}

/* ---- what follows from it ---- */

static tw_joint_slot *slot_of(const tw_joint_at *s, int hold, const tw_joint_run *run)
{
    return &s->group->hold[hold].slot[run->slot];
}

static void note_write(tw_joint_slot *slot, const tw_region *region, int64_t end)
{
    slot->latest = tw_max(slot->latest, end);
    if (slot->n_writes == TW_JOINT_WRITES) {
        slot->there = tw_max(slot->there, slot->write[0].end);
        for (int i = 1; i < TW_JOINT_WRITES; i++) slot->write[i - 1] = slot->write[i];
        slot->n_writes--;
    }
    slot->write[slot->n_writes].region = *region;
    slot->write[slot->n_writes++].end = end;
}

/* A slot is taken. A window that goes on has in it what was written before, too. */
static void open_slot(const tw_joint_at *s, tw_joint_hold *h, int slot)
{
    bool continues = s->todo->continues && h->slide.last >= 0;
    tw_joint_slot is = {0};
    if (continues) is = h->slot[h->slide.last];
    is.run = s->todo->run;
    is.reader = (struct tw_joint_reader){-1, -1, false};
    is.given = is.giver = is.free_at = is.read = 0;
    h->slot[slot] = is;
    h->slide.last = slot;
    h->slide.came = s->event->start_cycle;
}

/* The elements of a region were stored, from an axis on; those before it make up element `base`. */
static void note_stored(tw_joint_tensor *t, const tw_region *region, int axis, int64_t base)
{
    if (axis == t->shape.n_axes) {
        t->missing -= !(t->stored[base / 8] >> (base % 8) & 1);
        t->stored[base / 8] |= (uint8_t)(1u << (base % 8));
        return;
    }
    for (int64_t x = region->axis[axis].lo; x < region->axis[axis].hi; x++)
        note_stored(t, region, axis + 1, base * t->shape.axis[axis].extent + x);
}

static void note_target(const tw_joint_at *s)
{
    const tw_joint_todo *todo = s->todo;
    if (todo->dst < 0) {
        tw_joint_tensor *t = &s->j->tensor[s->tensor];
        tw_joint_tensor *root = &s->j->tensor[s->j->in.model->tensor[s->tensor].root];
        root->stored_at = tw_max(root->stored_at, s->event->end_cycle);
        if (t->stored) note_stored(t, &todo->region, 0, 0);
        return;
    }
    if (todo->takes) {
        int slot = s->j->in.buffer[s->at.instr->dst].slot;
        open_slot(s, &s->group->hold[todo->dst], slot);
        todo->run->slot = slot;
        todo->run->refs++;
        tw_tally_take(&s->j->tally, s->at.instr->dst,
                      tw_joint_is_late(s) ? s->event->end_cycle : s->event->start_cycle);
    }
    todo->run->done++;
    tw_region made = todo->region;
    if (s->at.instr->op == TW_EXEC) made = tw_verify_output_region(s->op->op, &todo->box);
    note_write(slot_of(s, todo->dst, todo->run), &made, s->event->end_cycle);
}

static bool is_last(const tw_joint_at *s)
{
    return s->at.instr->op == TW_EXEC && !s->at.instr->rescales && s->op == &s->group->op[s->group->n_ops - 1];
}

/* The last who reads a hold gives it back; or, where others might have read it in the last step of its run and did not, the last
 * execution of that step or, when that has given back enough, a store behind it. */
static bool check_giver(const tw_joint_at *s, tw_joint_hold *h, tw_joint_slot *slot, const char *name)
{
    const tw_joint_reader *reader = h->home ? &h->reader : &slot->reader;
    bool last = is_last(s) || s->group->full;
    if (s->j->in.unhurried || reader->full || reader->tick == s->at.row->tick) return true;
    if (reader->tick >= 0 && (reader->step == s->todo->step || h->read_once || h->divided_by >= 0))
        return tw_fault_at(&s->at, "gives buffer %s back, command %" PRId64 " reads it last", name, reader->tick);
    if (!last) return tw_fault_at(&s->at, "gives buffer %s back, which it does not read", name);
    *(h->home ? &h->given_step : &slot->run->given_step) = s->todo->step;
    tw_joint_check_given(s->j, h, slot->run);
    return !s->j->fault.set;
}

static bool give(const tw_joint_at *s, int buffer)
{
    const tw_buffer *b = &s->j->in.buffer[buffer];
    tw_buffer_name name = tw_joint_buffer_name(s->j, buffer, -1);
    bool mine = b->group == s->group->number;
    tw_joint_hold *h = mine ? &s->group->hold[s->j->hold_of[buffer]] : tw_joint_guest(s->j, s->group, buffer);
    if (!h || b->lane != 0 || h->resident)
        return tw_fault_at(&s->at, "gives buffer %s back, which is lane %d of group '%s'", name.text, b->lane,
                           s->j->group[b->group].map->name);
    tw_joint_slot *slot = &h->slot[b->slot];
    if (!slot->run) return tw_fault_at(&s->at, "gives buffer %s back, which nobody holds", name.text);
    slot->free_at = tw_max(s->event->busy_end, tw_max(slot->read, slot->latest));
    if (h->slide.is) slot->free_at = h->slide.behind = tw_max(h->slide.behind, slot->free_at);
    if (!check_giver(s, h, slot, name.text)) return false;
    tw_tally_give(&s->j->tally, buffer, s->event->busy_end);
    slot->giver = s->at.row->tick;
    slot->given = h->n_given++;
    slot->run->slot = TW_JOINT_GIVEN;
    tw_joint_release(h, slot->run);
    slot->run = NULL;
    return true;
}

static void settle(const tw_joint_at *s)
{
    s->j->units.free[s->at.instr->engine][s->at.instr->unit] = s->event->busy_end;
    for (int i = 0; i < s->todo->n_src; i++) {
        const tw_joint_source *src = &s->todo->src[i];
        if (!src->run) continue;
        tw_joint_slot *slot = slot_of(s, src->hold, src->run);
        slot->read = tw_max(slot->read, s->event->busy_end);
        slot->reader = s->group->hold[src->hold].reader =
            (tw_joint_reader){s->at.row->tick, s->todo->step, s->at.instr->n_gives == TW_MAX_GIVES};
    }
    note_target(s);
    for (int i = 0; i < s->at.instr->n_gives; i++)
        if (!give(s, s->at.instr->gives[i])) return;
    if (s->at.instr->op != TW_LOAD)
        s->group->full = (is_last(s) || s->group->full) && s->at.instr->n_gives == TW_MAX_GIVES;
}

static void count(const tw_joint_at *s, const tw_moved *moved)
{
    tw_tally *t = &s->j->tally;
    tw_tally_instr(t, s->at.instr, moved);
    tw_tally_command(t, s->event, s->at.instr->dst);
    if (s->at.instr->op != TW_EXEC) return;
    tw_tally_execution(t, s->event, s->stalled, s->contended);
    tw_tally_op(t, s->op->map->op, s->event);
}

static tw_status pass_on(const tw_joint_at *s)
{
    tw_joint_job *job = tw_joint_job_new(s->j);
    if (!job) return TW_ERR_NOMEM;
    *job = (tw_joint_job){.event = *s->event,
                          .row = *s->at.row,
                          .late = tw_joint_is_late(s),
                          .dst_hold = s->todo->dst,
                          .run = s->todo->run,
                          .space = job->space};
    job->row.event = &job->event;
    for (int k = 0; k < s->todo->n_src; k++) job->src_hold[k] = s->todo->src[k].hold;
    if (job->run) job->run->refs++;
    return tw_joint_order_put(s->j, job);
}

tw_status tw_joint_command(tw_joint_judge *j, const tw_rowset *row, const tw_event *event)
{
    tw_joint_at s = {.at = {&j->known, &j->fault, row, &event->instr}, .j = j, .event = event, .tensor = -1};
    tw_moved moved = {0};
    if (!find_place(&s) || !check_row(&s) || !tw_joint_check_makers(&s)) return TW_OK;
    TW_TRY(find_todo(&s));
    if (!s.todo || !tw_joint_check_sequence(&s)) return TW_OK;
    s.group->n_seen++;
    j->n_commands++;
    bool fine = s.at.instr->op == TW_EXEC ? check_exec(&s) : check_transfer(&s, &moved);
    if (!fine || !tw_joint_check_start(&s, &moved) || !tw_joint_check_turn(&s))
        return j->no_memory ? TW_ERR_NOMEM : TW_OK;
    TW_TRY(tw_ways_take(j->ports, &(tw_asked){event, s.tensor, s.inward}, &moved, tw_joint_watermark(j)));
    if (s.at.instr->heard) moved.reads = 0;
    count(&s, &moved);
    settle(&s);
    if (!j->fault.set) TW_TRY(pass_on(&s));
    tw_joint_drop(j, s.group, s.todo);
    return TW_OK;
}
