/* src/verify/check.c - a checker that believes no row.
 *
 * It keeps, for every buffer of the layout, the value the buffer holds: a region of its operand and, for
 * outputs, the fingerprint of the loop points that went into it (cover.h). A row is judged against the
 * values from before the row, and its writes take effect when the row ends: hence a value is usable only
 * from the next row on. Rows of a nested program arrive between the begin and the end of the row whose
 * EXEC contains them; they see the buffers of that EXEC and no others of the level above.
 *
 * What must hold, in the order in which it is looked at:
 *
 *   1. buffers lie inside their memories, aligned, disjoint                              check_layout
 *   2. rows nest, follow each other without gaps, and are as long as their slowest op    begin, check_length
 *   3. an instruction sits on the right engine and its work is what its region says      check_engine, check_work
 *   4. what it reads is there, what it writes fits                                       check_load ..
 *   5. instructions of a row do not disturb each other                                   check_hazards
 *   6. every loop point goes once into its output element, which leaves once             apply_*, finish
 *   7. the live units claimed by a row are those of the values alive in it               check_live
 *
 * The first fault ends the judgement: everything after it may follow from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/cover.h"
#include "verify/shape.h"

typedef struct value {
    bool full;
    tw_region region;
    uint64_t points;         /* output: fingerprint of what was accumulated         */
    int64_t born, last_read; /* rows of its level's program                  */
} value;

typedef struct live_row {
    int64_t change; /* units that become alive in this row less those that died before it */
    int64_t claimed, tick;
} live_row;

typedef struct level {
    int memory, outer;       /* works in `memory`; loads from and stores to `outer`         */
    int64_t n_rows;          /* of the program under way, the open one included             */
    int64_t clock;           /* end of its last row, at first its start                     */
    const tw_instr *nested;  /* of the open row: the EXEC that contains the next level */
    uint64_t pieces, points; /* stored into its target so far, by the next level      */
    live_row *live;
    int64_t live_room;
} level;

struct tw_checker {
    const tw_verify_input *in;
    tw_verify_input input;
    tw_arena *arena;
    tw_cover *cover;
    tw_fault fault;
    value *value; /* per buffer */
    int depth;    /* open rows  */
    int64_t next_tick;
    uint64_t stored; /* positions of the output that reached the outermost memory */
    level level[TW_MAX_MEMORIES];
};

/* The row and the instruction being judged, for the fault's text. */
typedef struct site {
    tw_checker *c;
    level *level;
    const tw_rowset *row;
    const tw_instr *instr;
} site;

TW_PRINTF(2, 3) static bool fault_at(const site *s, const char *fmt, ...)
{
    char where[TW_WHERE_MAX], text[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tw_fault_set(&s->c->fault, "%s %s", tw_verify_where(s->c->in, s->row, s->instr, where), text);
    return false;
}

typedef struct name {
    char text[TW_BUFFER_NAME_MAX];
} name;
static name name_of(const site *s, int buffer)
{
    name n;
    tw_verify_buffer_name(s->c->in, buffer, s->instr->operand, s->level->memory, n.text);
    return n;
}

static const tw_operand *operand_of(const site *s, int operand) { return &s->c->in->op->operand[operand]; }
static int output_of(const site *s) { return tw_op_output(s->c->in->op); }

/* ---- layout ---- */

static int by_address(const void *a, const void *b)
{
    const tw_buffer *x = *(const tw_buffer *const *)a, *y = *(const tw_buffer *const *)b;
    if (x->memory != y->memory) return x->memory < y->memory ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool check_buffer(tw_checker *c, int i)
{
    const tw_verify_input *in = c->in;
    const tw_buffer *b = &in->layout->buffer[i];
    char text[TW_BUFFER_NAME_MAX];
    if (b->memory < 1 || b->memory >= in->machine->n_memories || b->operand < 0 ||
        b->operand >= in->op->n_operands) {
        tw_fault_set(&c->fault, "layout: buffer %d belongs to no memory or operand", i);
        return false;
    }
    const tw_memory *m = &in->machine->memory[b->memory];
    tw_verify_buffer_name(in, i, -1, -1, text);
    if (b->offset < 0 || b->size < 0 || b->size > m->size || b->offset > m->size - b->size)
        tw_fault_set(&c->fault, "layout: buffer %s ends at %" PRId64 ", memory '%s' has %" PRId64, text,
                     b->offset + b->size, m->name, m->size);
    else if (b->offset % m->align)
        tw_fault_set(&c->fault, "layout: buffer %s starts at %" PRId64 ", not a multiple of %" PRId64, text,
                     b->offset, m->align);
    return !c->fault.set;
}

static bool check_layout(tw_checker *c)
{
    const tw_layout *layout = c->in->layout;
    const tw_buffer **order = TW_NEW(c->arena, const tw_buffer *, layout->n_buffers + 1);
    if (!order) return false;
    for (int i = 0; i < layout->n_buffers; i++) {
        if (!check_buffer(c, i)) return true;
        order[i] = &layout->buffer[i];
    }
    qsort(order, (size_t)layout->n_buffers, sizeof *order, by_address);
    for (int i = 1; i < layout->n_buffers; i++) {
        const tw_buffer *a = order[i - 1], *b = order[i];
        char first[TW_BUFFER_NAME_MAX], second[TW_BUFFER_NAME_MAX];
        if (a->memory != b->memory || a->offset + a->size <= b->offset) continue;
        tw_verify_buffer_name(c->in, (int)(a - layout->buffer), -1, -1, first);
        tw_verify_buffer_name(c->in, (int)(b - layout->buffer), -1, -1, second);
        tw_fault_set(&c->fault, "layout: buffers %s and %s overlap at %" PRId64, first, second, b->offset);
    }
    return true;
}

/* ---- costs and work ---- */

/* Cycles by the machine file's words; negative when the number does not fit. */
static int64_t cycles_of(const tw_cost *cost, int64_t work)
{
    if (cost->kind == TW_COST_CONSTANT) return cost->fixed;
    int64_t steps = work / cost->per_cycle + (work % cost->per_cycle ? 1 : 0), cycles;
    bool fits = cost->kind == TW_COST_LINEAR ? !__builtin_add_overflow(cost->fixed, steps, &cycles)
                                             : !__builtin_mul_overflow(cost->fixed, steps, &cycles);
    return fits ? cycles : -1;
}

static bool check_work(const site *s, int64_t work)
{
    if (s->instr->work == work) return true;
    return fault_at(s, "claims work %" PRId64 ", does %" PRId64, s->instr->work, work);
}

/* ---- engines ---- */

/* A transfer's engine is the mover between exactly the two memories. */
static bool check_mover(const site *s, int inner, int outer)
{
    const tw_machine *m = s->c->in->machine;
    int e = s->instr->engine;
    if (e < 0 || e >= m->n_engines || m->engine[e].kind != TW_MOVES) return fault_at(s, "is not on a mover");
    if (m->engine[e].outer != outer || m->engine[e].memory != inner)
        return fault_at(s, "on '%s' does not run between memories '%s' and '%s'", m->engine[e].name,
                        m->memory[outer].name, m->memory[inner].name);
    if (inner <= s->level->outer || inner > s->level->memory)
        return fault_at(s, "fills memory '%s' of another level", m->memory[inner].name);
    return true;
}

static bool check_compute_engine(const site *s)
{
    const tw_machine *m = s->c->in->machine;
    const tw_engine *mac = &m->engine[m->compute];
    if (s->row->level != s->c->in->n_levels - 1) return fault_at(s, "on the compute engine of an inner level");
    if (s->instr->engine != m->compute) return fault_at(s, "is not on the compute engine '%s'", mac->name);
    if (mac->memory != s->level->memory) return fault_at(s, "on '%s' cannot reach this memory", mac->name);
    if (!(mac->computes >> s->c->in->op->compute & 1))
        return fault_at(s, "asks '%s' for what it cannot do", mac->name);
    return true;
}

static bool check_adder(const site *s)
{
    const tw_machine *m = s->c->in->machine;
    int e = s->instr->engine;
    if (e < 0 || e >= m->n_engines || m->engine[e].kind != TW_ADDS || m->engine[e].memory != s->level->memory)
        return fault_at(s, "is not on the adder of this memory");
    return true;
}

/* ---- what an instruction reads and writes ---- */

static bool is_buffer(const site *s, int buffer) { return buffer >= 0 && buffer < s->c->in->layout->n_buffers; }
static int memory_of(const site *s, int buffer) { return buffer < 0 ? 0 : s->c->in->layout->buffer[buffer].memory; }

/* A buffer that exists and is meant for this operand. */
static bool check_buffer_use(const site *s, int buffer, int operand)
{
    if (!is_buffer(s, buffer)) return fault_at(s, "names buffer %d, there is none", buffer);
    if (s->c->in->layout->buffer[buffer].operand != operand)
        return fault_at(s, "uses buffer %s for operand '%s'", name_of(s, buffer).text,
                        operand_of(s, operand)->name);
    return true;
}

static bool check_here(const site *s, int buffer)
{
    if (memory_of(s, buffer) == s->level->memory) return true;
    return fault_at(s, "uses buffer %s of another memory", name_of(s, buffer).text);
}

static bool check_fits(const site *s, int buffer, int operand, const tw_region *region)
{
    int64_t need = tw_verify_units(s->c->in, operand, tw_verify_region_elems(operand_of(s, operand), region));
    int64_t size = s->c->in->layout->buffer[buffer].size;
    if (need <= size) return true;
    return fault_at(s, "puts %" PRId64 " units into buffer %s of %" PRId64, need, name_of(s, buffer).text, size);
}

/* The value of a buffer that the instruction reads; NULL and a fault when it holds none. */
static const value *read_value(const site *s, int buffer)
{
    const value *v = &s->c->value[buffer];
    if (!v->full) fault_at(s, "reads buffer %s, which holds nothing yet", name_of(s, buffer).text);
    return v->full ? v : NULL;
}

/* The output value of a buffer; it must be exactly `region`. */
static const value *read_exact(const site *s, int buffer, const tw_region *region)
{
    const value *v = read_value(s, buffer);
    if (v && !tw_verify_region_equal(operand_of(s, output_of(s)), &v->region, region)) {
        fault_at(s, "expects another region in buffer %s", name_of(s, buffer).text);
        return NULL;
    }
    return v;
}

/* The instruction of the level above that contains this row, NULL at the outermost level. */
static const tw_instr *parent_of(const site *s)
{
    return s->row->level ? s->c->level[s->row->level - 1].nested : NULL;
}

/* One end of a transfer that lies in the level's outer memory: `own` is what the level above offers. */
static bool check_outer_end(const site *s, int buffer, int own)
{
    if (memory_of(s, buffer) != s->level->outer || buffer == own) return true;
    return fault_at(s, "reaches buffer %s of the level above, which its EXEC does not hand down",
                    name_of(s, buffer).text);
}

static bool check_load(const site *s)
{
    const tw_instr *i = s->instr;
    if (i->operand < 0 || i->operand >= output_of(s)) return fault_at(s, "moves no input operand");
    const tw_operand *operand = operand_of(s, i->operand);
    if (i->n_src != 1) return fault_at(s, "has %d sources", i->n_src);
    if (!check_buffer_use(s, i->dst, i->operand)) return false;
    if (i->src[0] != -1 && !check_buffer_use(s, i->src[0], i->operand)) return false;
    if (!check_mover(s, memory_of(s, i->dst), memory_of(s, i->src[0]))) return false;
    if (!check_outer_end(s, i->src[0], parent_of(s) ? parent_of(s)->src[i->operand] : -1)) return false;
    if (!tw_verify_region_is_sound(operand, &i->region))
        return fault_at(s, "region leaves tensor '%s'", operand->name);
    if (i->src[0] != -1) {
        const value *v = read_value(s, i->src[0]);
        if (!v) return false;
        if (!tw_verify_region_inside(operand, &i->region, &v->region))
            return fault_at(s, "takes a region that buffer %s does not hold", name_of(s, i->src[0]).text);
    }
    return check_fits(s, i->dst, i->operand, &i->region) &&
           check_work(s, tw_verify_units(s->c->in, i->operand, tw_verify_region_elems(operand, &i->region)));
}

/* Where a store goes: the tensor, the target of the EXEC above, or a buffer on the way. */
static bool check_store_target(const site *s)
{
    const tw_instr *i = s->instr, *parent = parent_of(s);
    if (i->dst != -1 && !check_buffer_use(s, i->dst, i->operand)) return false;
    if (!check_mover(s, memory_of(s, i->src[0]), memory_of(s, i->dst))) return false;
    if (!check_outer_end(s, i->dst, parent ? parent->dst : -1)) return false;
    bool to_parent = parent && i->dst == parent->dst;
    if (i->accumulates != (to_parent && parent->accumulates))
        return fault_at(s, "%s what %s holds", i->accumulates ? "adds to" : "overwrites", name_of(s, i->dst).text);
    if (i->dst == -1) return true;
    if (!to_parent) return check_fits(s, i->dst, i->operand, &i->region);
    tw_region target = tw_verify_output_region(s->c->in->op, &parent->box);
    if (tw_verify_region_inside(operand_of(s, i->operand), &i->region, &target)) return true;
    return fault_at(s, "writes outside of what the EXEC above makes");
}

static bool check_store(const site *s)
{
    const tw_instr *i = s->instr;
    if (i->operand != output_of(s)) return fault_at(s, "moves an input operand");
    const tw_operand *operand = operand_of(s, i->operand);
    if (i->n_src != 1) return fault_at(s, "has %d sources", i->n_src);
    if (!check_buffer_use(s, i->src[0], i->operand) || !check_store_target(s)) return false;
    if (!tw_verify_box_is_sound(s->c->in->op, &i->box)) return fault_at(s, "box leaves the loops");
    tw_region made = tw_verify_output_region(s->c->in->op, &i->box);
    if (!tw_verify_region_equal(operand, &i->region, &made)) return fault_at(s, "region is not that of its box");
    const value *v = read_exact(s, i->src[0], &i->region);
    if (!v) return false;
    if (i->dst == -1 && v->points != tw_cover_finished(s->c->cover, &i->region))
        return fault_at(s, "moves buffer %s out before every point, once each, is in it",
                        name_of(s, i->src[0]).text);
    return check_work(s, tw_verify_units(s->c->in, i->operand, tw_verify_region_elems(operand, &i->region)));
}

/* Input `operand` of an EXEC: its buffer must hold every position that the box touches. */
static bool check_input(const site *s, int operand)
{
    const tw_instr *i = s->instr;
    const tw_operand *o = operand_of(s, operand);
    tw_region need = {0};
    bool any = true;
    for (int a = 0; a < o->n_axes && any; a++)
        any = tw_cover_touch(s->c->cover, operand, a, &i->box, &need.axis[a]);
    int buffer = i->src[operand];
    if (buffer == -1) return any ? fault_at(s, "has no buffer for '%s', which it reads", o->name) : true;
    if (!check_buffer_use(s, buffer, operand) || !check_here(s, buffer)) return false;
    const value *v = read_value(s, buffer);
    if (!v) return false;
    if (!any || tw_verify_region_inside(o, &need, &v->region)) return true;
    return fault_at(s, "reads elements of '%s' that buffer %s does not hold", o->name, name_of(s, buffer).text);
}

/* The target of an EXEC, SUM or FILL. */
static bool check_target(const site *s, const tw_region *made)
{
    const tw_instr *i = s->instr;
    return check_buffer_use(s, i->dst, output_of(s)) && check_here(s, i->dst) &&
           check_fits(s, i->dst, output_of(s), made);
}

static bool check_exec(const site *s)
{
    const tw_instr *i = s->instr;
    const tw_verify_input *in = s->c->in;
    if (i->nested && s->row->level >= in->n_levels - 1)
        return fault_at(s, "nests a program, there is no inner level");
    if (!i->nested && !check_compute_engine(s)) return false;
    if (!tw_verify_box_is_sound(in->op, &i->box)) return fault_at(s, "box leaves the loops");
    if (i->n_src != in->op->n_operands - 1) return fault_at(s, "has %d sources", i->n_src);
    for (int o = 0; o < i->n_src; o++)
        if (!check_input(s, o)) return false;
    tw_region made = tw_verify_output_region(in->op, &i->box);
    if (!check_target(s, &made)) return false;
    if (i->accumulates) {
        if (in->level[s->row->level].mode != TW_FUSED) return fault_at(s, "accumulates, the level's mode does not");
        if (!(in->machine->engine[in->machine->compute].accumulate >> TW_FUSED & 1))
            return fault_at(s, "accumulates, the compute engine cannot");
        if (!read_exact(s, i->dst, &made)) return false;
    }
    return check_work(s, tw_verify_box_points(in->op, &i->box));
}

static bool check_made(const site *s, tw_region *made)
{
    const tw_instr *i = s->instr;
    if (!tw_verify_box_is_sound(s->c->in->op, &i->box)) return fault_at(s, "box leaves the loops");
    *made = tw_verify_output_region(s->c->in->op, &i->box);
    const tw_operand *out = operand_of(s, output_of(s));
    if (!tw_verify_region_equal(out, &i->region, made)) return fault_at(s, "region is not that of its box");
    return check_target(s, made) && check_work(s, tw_verify_region_elems(out, made));
}

static bool check_sum(const site *s)
{
    const tw_instr *i = s->instr;
    tw_region made;
    if (i->n_src != 2) return fault_at(s, "has %d sources", i->n_src);
    if (!check_adder(s) || !check_made(s, &made)) return false;
    for (int k = 0; k < 2; k++)
        if (!check_buffer_use(s, i->src[k], output_of(s)) || !check_here(s, i->src[k]) ||
            !read_exact(s, i->src[k], &made))
            return false;
    if (i->src[0] == i->src[1]) return fault_at(s, "adds buffer %s to itself", name_of(s, i->src[0]).text);
    tw_accumulate mode = s->c->in->level[s->row->level].mode;
    bool as_said = mode == TW_IN_PLACE   ? i->dst == i->src[0]
                   : mode == TW_SEPARATE ? i->dst != i->src[0] && i->dst != i->src[1]
                                         : false;
    return as_said ? true
                   : fault_at(s, "into buffer %s is not what the level's mode does", name_of(s, i->dst).text);
}

static bool check_fill(const site *s)
{
    tw_region made;
    if (s->instr->n_src != 0) return fault_at(s, "has %d sources", s->instr->n_src);
    return check_compute_engine(s) && check_made(s, &made);
}

static bool check_instr(const site *s)
{
    switch (s->instr->op) {
    case TW_LOAD: return check_load(s);
    case TW_STORE: return check_store(s);
    case TW_EXEC: return check_exec(s);
    case TW_SUM: return check_sum(s);
    case TW_FILL: return check_fill(s);
    }
    return fault_at(s, "has no meaning");
}

/* ---- instructions of one row against each other ---- */

static bool reads(const tw_instr *i, int buffer)
{
    if (i->accumulates && i->op == TW_EXEC && i->dst == buffer) return true;
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] == buffer) return true;
    return false;
}

static bool writes(const tw_instr *i, int buffer) { return i->dst == buffer; }

/* `a` against `b` over one buffer that a touches. Several stores may fill the same target of the level
 * above, or the output tensor: that their regions differ is a matter of the cover. */
static bool check_buffer_hazard(const site *s, const tw_instr *b, int buffer)
{
    const tw_instr *a = s->instr;
    if (buffer < 0 || (!reads(b, buffer) && !writes(b, buffer))) return true;
    if (a->op == TW_STORE && b->op == TW_STORE && memory_of(s, buffer) == s->level->outer) return true;
    bool closed = a->op == TW_EXEC || b->op == TW_EXEC;
    if (!closed && !writes(a, buffer) && !writes(b, buffer)) return true;
    return fault_at(s, "%s buffer %s that %s %s in the same row", reads(a, buffer) ? "reads" : "writes",
                    name_of(s, buffer).text, tw_verify_opcode_name(b->op), reads(b, buffer) ? "reads" : "writes");
}

static bool check_pair(const site *s, const tw_instr *b)
{
    const tw_instr *a = s->instr;
    for (int k = 0; k < a->n_src; k++)
        if (!check_buffer_hazard(s, b, a->src[k])) return false;
    return check_buffer_hazard(s, b, a->dst);
}

static bool check_units(const site *s, int n_execs, int n_sums)
{
    if (n_execs > 1) return fault_at(s, "%d executions in one row", n_execs);
    if (n_sums > 1) return fault_at(s, "%d sums in one row", n_sums);
    const tw_machine *m = s->c->in->machine;
    if (!n_execs || !n_sums) return true;
    for (int e = 0; e < m->n_engines; e++)
        if (m->engine[e].kind == TW_ADDS && m->engine[e].memory == s->level->memory && m->engine[e].shares >= 0)
            return fault_at(s, "an execution and a sum, whose units are one");
    return true;
}

static bool check_hazards(const site *row)
{
    int n_execs = 0, n_sums = 0;
    for (int i = 0; i < row->row->n_events; i++) {
        site s = *row;
        s.instr = &row->row->event[i].instr;
        n_execs += s.instr->op == TW_EXEC || s.instr->op == TW_FILL;
        n_sums += s.instr->op == TW_SUM;
        for (int j = i + 1; j < row->row->n_events; j++)
            if (!check_pair(&s, &row->row->event[j].instr)) return false;
    }
    return check_units(row, n_execs, n_sums);
}

/* ---- time ---- */

/* Transfers into and out of memories that are passed through hide behind the level's own work. */
static bool is_passing(const site *s, const tw_instr *i)
{
    return (i->op == TW_LOAD || i->op == TW_STORE) &&
           s->c->in->is_pass[s->c->in->machine->engine[i->engine].memory];
}

static int64_t cost_of(const site *s, const tw_event *e)
{
    if (e->instr.op == TW_EXEC && e->instr.nested)
        return s->c->level[s->row->level + 1].clock - s->row->start_cycle;
    return cycles_of(&s->c->in->machine->engine[e->instr.engine].cost, e->instr.work);
}

static bool check_event_time(const site *s, const tw_event *e, bool hides)
{
    int64_t cost = cost_of(s, e);
    if (cost < 0) return fault_at(s, "takes longer than can be counted");
    if (e->end_cycle - e->start_cycle != cost)
        return fault_at(s, "takes %" PRId64 " cycles, should take %" PRId64, e->end_cycle - e->start_cycle, cost);
    if (e->start_cycle < s->row->start_cycle || (!hides && e->end_cycle > s->row->end_cycle))
        return fault_at(s, "runs in %" PRId64 "..%" PRId64 ", outside its row %" PRId64 "..%" PRId64,
                        e->start_cycle, e->end_cycle, s->row->start_cycle, s->row->end_cycle);
    if (e->instr.nested && e->start_cycle != s->row->start_cycle) return fault_at(s, "does not start with its row");
    return true;
}

/* Transfers of a mover with one channel take turns. */
static bool check_channel(const site *s, int i)
{
    const tw_event *e = &s->row->event[i];
    bool moves = e->instr.op == TW_LOAD || e->instr.op == TW_STORE;
    if (!moves || !s->c->in->machine->engine[e->instr.engine].one_channel) return true;
    for (int j = 0; j < i; j++) {
        const tw_event *f = &s->row->event[j];
        if (f->instr.engine == e->instr.engine && f->start_cycle < e->end_cycle && e->start_cycle < f->end_cycle)
            return fault_at(s, "runs while '%s' is busy", s->c->in->machine->engine[e->instr.engine].name);
    }
    return true;
}

/* Cycles of the slowest engine among the events that do or do not pass through. */
static int64_t slowest(const site *s, bool passing)
{
    int64_t busy[TW_MAX_ENGINES + 1] = {0}, longest = 0;
    for (int i = 0; i < s->row->n_events; i++) {
        const tw_event *e = &s->row->event[i];
        if (is_passing(s, &e->instr) != passing) continue;
        bool moves = e->instr.op == TW_LOAD || e->instr.op == TW_STORE;
        bool in_turn = moves && s->c->in->machine->engine[e->instr.engine].one_channel;
        int64_t *mine = &busy[e->instr.nested ? TW_MAX_ENGINES : e->instr.engine], cost = cost_of(s, e);
        if (!in_turn)
            *mine = tw_max(*mine, cost);
        else if (!tw_ckd_add(*mine, cost, mine))
            *mine = INT64_MAX;
        longest = tw_max(longest, *mine);
    }
    return longest;
}

static bool check_length(const site *row)
{
    int n_own = 0;
    for (int i = 0; i < row->row->n_events; i++) n_own += !is_passing(row, &row->row->event[i].instr);
    for (int i = 0; i < row->row->n_events; i++) {
        site s = *row;
        const tw_event *e = &row->row->event[i];
        s.instr = &e->instr;
        if (!check_event_time(&s, e, n_own && is_passing(row, &e->instr)) || !check_channel(&s, i)) return false;
    }
    int64_t length = slowest(row, n_own == 0);
    if (row->row->end_cycle - row->row->start_cycle == length) return true;
    return fault_at(row, "lasts %" PRId64 " cycles, its slowest engine %" PRId64,
                    row->row->end_cycle - row->row->start_cycle, length);
}

/* ---- live units ---- */

static bool live_reserve(tw_checker *c, level *l)
{
    if (l->n_rows + 1 < l->live_room) return true;
    int64_t room = l->live_room ? 2 * l->live_room : 64;
    live_row *wider = TW_NEW(c->arena, live_row, room);
    if (!wider) return false;
    if (l->live) memcpy(wider, l->live, (size_t)l->live_room * sizeof *wider);
    l->live = wider;
    l->live_room = room;
    return true;
}

/* The value of a buffer ends: it was alive from the row that wrote it to that of its last read. */
static void retire(tw_checker *c, level *l, int buffer)
{
    value *v = &c->value[buffer];
    const tw_buffer *b = &c->in->layout->buffer[buffer];
    if (v->full && b->memory == l->memory) {
        int64_t elems = tw_verify_region_elems(&c->in->op->operand[b->operand], &v->region);
        int64_t units = tw_verify_units(c->in, b->operand, elems);
        l->live[v->born].change += units;
        l->live[tw_max(v->born, v->last_read) + 1].change -= units;
    }
    v->full = false;
}

static void check_live(tw_checker *c, const level *l)
{
    int64_t units = 0;
    for (int64_t r = 0; r < l->n_rows && !c->fault.set; r++) {
        units += l->live[r].change;
        if (units != l->live[r].claimed)
            tw_fault_set(&c->fault, "row %" PRId64 " (%s) claims %" PRId64 " live units, has %" PRId64,
                         l->live[r].tick, c->in->machine->memory[l->memory].name, l->live[r].claimed, units);
    }
}

/* ---- programs of a level ---- */

static bool belongs_to(const level *l, const tw_buffer *b)
{
    return b->memory > l->outer && b->memory <= l->memory;
}

/* A program starts with empty buffers. */
static void program_begin(tw_checker *c, int at, int64_t clock)
{
    level *l = &c->level[at];
    l->n_rows = 0;
    l->clock = clock;
    if (l->live) memset(l->live, 0, (size_t)l->live_room * sizeof *l->live);
}

static void program_end(tw_checker *c, int at)
{
    level *l = &c->level[at];
    for (int i = 0; i < c->in->layout->n_buffers; i++)
        if (belongs_to(l, &c->in->layout->buffer[i])) retire(c, l, i);
    check_live(c, l);
}

/* ---- effects of a row ---- */

static void put(const site *s, int buffer, const tw_region *region, uint64_t points)
{
    int64_t row = s->level->n_rows - 1;
    retire(s->c, s->level, buffer);
    s->c->value[buffer] = (value){.full = true, .region = *region, .points = points, .born = row, .last_read = row};
}

/* Adds to a value that goes on living. */
static void add_points(const site *s, int buffer, uint64_t points)
{
    value *v = &s->c->value[buffer];
    v->points = tw_cover_add(v->points, points);
}

static void apply_store(const site *s)
{
    const tw_instr *i = s->instr, *parent = parent_of(s);
    uint64_t points = s->c->value[i->src[0]].points, positions = tw_cover_region(s->c->cover, &i->region);
    if (i->dst == -1) {
        s->c->stored = tw_cover_add(s->c->stored, positions);
    } else if (parent && i->dst == parent->dst) {
        level *above = s->level - 1;
        above->pieces = tw_cover_add(above->pieces, positions);
        above->points = tw_cover_add(above->points, points);
    } else {
        put(s, i->dst, &i->region, points);
    }
}

static void apply_exec(const site *s)
{
    const tw_instr *i = s->instr;
    tw_region made = tw_verify_output_region(s->c->in->op, &i->box);
    uint64_t points = tw_cover_box(s->c->cover, &i->box);
    if (i->nested && !i->accumulates && s->level->pieces != tw_cover_region(s->c->cover, &made))
        fault_at(s, "its program does not store every element of buffer %s once", name_of(s, i->dst).text);
    if (i->nested && s->level->points != points)
        fault_at(s, "its program does not execute every point of the box once");
    if (i->accumulates)
        add_points(s, i->dst, points);
    else
        put(s, i->dst, &made, points);
}

static void apply_sum(const site *s)
{
    const tw_instr *i = s->instr;
    const value *v = s->c->value;
    if (i->dst == i->src[0])
        add_points(s, i->dst, v[i->src[1]].points);
    else
        put(s, i->dst, &i->region, tw_cover_add(v[i->src[0]].points, v[i->src[1]].points));
}

static void apply(const site *s)
{
    switch (s->instr->op) {
    case TW_LOAD: put(s, s->instr->dst, &s->instr->region, 0); break;
    case TW_STORE: apply_store(s); break;
    case TW_EXEC: apply_exec(s); break;
    case TW_SUM: apply_sum(s); break;
    case TW_FILL: put(s, s->instr->dst, &s->instr->region, 0); break;
    }
}

static void mark_reads(const site *s)
{
    const tw_instr *i = s->instr;
    int64_t row = s->level->n_rows - 1;
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] >= 0 && belongs_to(s->level, &s->c->in->layout->buffer[i->src[k]]))
            s->c->value[i->src[k]].last_read = row;
    if (i->op == TW_EXEC && i->accumulates) s->c->value[i->dst].last_read = row;
}

/* ---- the sink ---- */

static bool check_place_in_time(const site *s)
{
    const tw_rowset *row = s->row;
    if (row->memory != s->level->memory) return fault_at(s, "is not in the memory of its level");
    if (row->start_cycle != s->level->clock)
        return fault_at(s, "starts at %" PRId64 ", the row before it ended at %" PRId64, row->start_cycle,
                        s->level->clock);
    if (row->tick != s->c->next_tick) return fault_at(s, "should have tick %" PRId64, s->c->next_tick);
    return true;
}

static void judge_begin(site *s)
{
    tw_checker *c = s->c;
    const tw_rowset *row = s->row;
    if (!check_place_in_time(s)) return;
    s->level->live[s->level->n_rows - 1].claimed = row->live_units;
    s->level->live[s->level->n_rows - 1].tick = row->tick;
    for (int i = 0; i < row->n_events; i++) {
        s->instr = &row->event[i].instr;
        if (!check_instr(s)) return;
        if (s->instr->op == TW_EXEC && s->instr->nested) s->level->nested = s->instr;
    }
    s->instr = NULL;
    if (!check_hazards(s)) return;
    for (int i = 0; i < row->n_events; i++) {
        s->instr = &row->event[i].instr;
        mark_reads(s);
    }
    if (s->level->nested)
        program_begin(c, row->level + 1, row->start_cycle);
    else
        c->next_tick++;
}

static tw_status checker_begin(void *user, const tw_rowset *row)
{
    tw_checker *c = user;
    if (c->fault.set) return TW_OK;
    if (row->level < 0 || row->level >= c->in->n_levels || row->level != c->depth ||
        (row->level && !c->level[row->level - 1].nested)) {
        tw_fault_set(&c->fault, "row %" PRId64 " of level %d is nested in no EXEC", row->tick, row->level);
        return TW_OK;
    }
    level *l = &c->level[row->level];
    if (!live_reserve(c, l)) return TW_ERR_NOMEM;
    l->nested = NULL;
    l->pieces = l->points = 0;
    l->n_rows++;
    c->depth++;
    judge_begin(&(site){c, l, row, NULL});
    return TW_OK;
}

static void judge_end(site *s)
{
    tw_checker *c = s->c;
    int below = s->row->level + 1;
    if (s->level->nested) {
        s->instr = s->level->nested;
        if (c->level[below].n_rows == 0) fault_at(s, "contains no program");
        program_end(c, below);
        if (c->fault.set) return;
        s->instr = NULL;
    }
    if (!check_length(s)) return;
    for (int i = 0; i < s->row->n_events; i++) {
        s->instr = &s->row->event[i].instr;
        apply(s);
    }
    s->level->clock = s->row->end_cycle;
}

static tw_status checker_end(void *user, const tw_rowset *row)
{
    tw_checker *c = user;
    if (c->fault.set) return TW_OK;
    if (row->level != c->depth - 1) {
        tw_fault_set(&c->fault, "row %" PRId64 " of level %d ends but is not the open one", row->tick, row->level);
        return TW_OK;
    }
    level *l = &c->level[row->level];
    judge_end(&(site){c, l, row, NULL});
    l->nested = NULL;
    c->depth--;
    return TW_OK;
}

tw_row_sink tw_checker_sink(tw_checker *checker) { return (tw_row_sink){checker_begin, checker_end, checker}; }

tw_checker *tw_checker_new(const tw_verify_input *in, tw_arena *arena)
{
    tw_checker *c = TW_NEW(arena, tw_checker, 1);
    if (!c) return NULL;
    c->input = *in;
    c->in = &c->input;
    c->arena = arena;
    c->cover = tw_cover_new(in->op, arena);
    c->value = TW_NEW(arena, value, in->layout->n_buffers + 1);
    if (!c->cover || !c->value) return NULL;
    for (int l = 0; l < in->n_levels; l++)
        c->level[l] = (level){.memory = in->level[l].memory, .outer = l ? in->level[l - 1].memory : 0};
    return check_layout(c) ? c : NULL;
}

const char *tw_checker_finish(tw_checker *c)
{
    const tw_op *op = c->in->op;
    if (!c->fault.set && c->depth) tw_fault_set(&c->fault, "the last row does not end");
    if (!c->fault.set && c->in->n_levels > 0) program_end(c, 0);
    tw_region whole = tw_verify_whole(&op->operand[tw_op_output(op)]);
    if (!c->fault.set && c->stored != tw_cover_region(c->cover, &whole))
        tw_fault_set(&c->fault, "the stores do not write every element of '%s' once",
                     op->operand[tw_op_output(op)].name);
    return c->fault.set ? c->fault.text : NULL;
}
