/* src/verify/rules.c - what an instruction may do, given what the buffers hold.
 *
 * Nothing changes here: an instruction is looked at against the values from before its row, and against the
 * other instructions of its row. */
#include "verify/checker.h"
#include "verify/room.h"
#include "verify/rule.h"
#include "verify/shape.h"

static const tw_operand *operand_of(const tw_checked *s, int operand) { return &s->at.in->op->operand[operand]; }
static int output_of(const tw_checked *s) { return tw_op_output(s->at.in->op); }
static tw_buffer_name name_of(const tw_checked *s, int buffer) { return tw_rule_name(&s->at, buffer); }

/* ---- engines ---- */

/* A transfer's engine is the mover between exactly the two memories, one of which is the level's own. */
static bool check_mover(const tw_checked *s, int inner, int outer)
{
    if (!tw_rule_mover(&s->at, inner, outer, s->at.instr->op == TW_LOAD)) return false;
    if (inner > s->level->outer && inner <= s->level->memory) return true;
    return tw_fault_at(&s->at, "fills memory '%s' of another level", s->at.in->machine->memory[inner].name);
}

static bool check_compute_engine(const tw_checked *s)
{
    const tw_machine *m = s->at.in->machine;
    const tw_engine *mac = &m->engine[m->compute];
    if (s->at.row->level != s->at.in->n_levels - 1)
        return tw_fault_at(&s->at, "on the compute engine of an inner level");
    if (!tw_rule_computer(&s->at, m->compute, mac)) return false;
    return mac->memory == s->level->memory ? true
                                           : tw_fault_at(&s->at, "on '%s' cannot reach this memory", mac->name);
}

static bool check_adder(const tw_checked *s)
{
    const tw_machine *m = s->at.in->machine;
    int e = s->at.instr->engine;
    if (e < 0 || e >= m->n_engines || m->engine[e].kind != TW_ADDS || m->engine[e].memory != s->level->memory)
        return tw_fault_at(&s->at, "is not on the adder of this memory");
    return true;
}

/* ---- what an instruction reads and writes ---- */

static int memory_of(const tw_checked *s, int buffer)
{
    return buffer < 0 ? 0 : s->at.in->layout->buffer[buffer].memory;
}

static bool check_here(const tw_checked *s, int buffer)
{
    if (memory_of(s, buffer) == s->level->memory) return true;
    return tw_fault_at(&s->at, "uses buffer %s of another memory", name_of(s, buffer).text);
}

static bool check_fits(const tw_checked *s, int buffer, int operand, const tw_region *region)
{
    int64_t elems = tw_verify_region_elems(operand_of(s, operand), region);
    return tw_rule_fits(&s->at, buffer, tw_verify_units(s->at.in, operand, elems));
}

/* The value of a buffer that the instruction reads; NULL and a fault when it holds none. */
static const tw_checker_value *read_value(const tw_checked *s, int buffer)
{
    const tw_checker_value *v = &s->c->value[buffer];
    if (!v->full) tw_fault_at(&s->at, "reads buffer %s, which holds nothing yet", name_of(s, buffer).text);
    return v->full ? v : NULL;
}

/* The output value of a buffer; it must be exactly `region`. */
static const tw_checker_value *read_exact(const tw_checked *s, int buffer, const tw_region *region)
{
    const tw_checker_value *v = read_value(s, buffer);
    if (v && !tw_verify_same_region(operand_of(s, output_of(s)), &v->region, region)) {
        tw_fault_at(&s->at, "expects another region in buffer %s", name_of(s, buffer).text);
        return NULL;
    }
    return v;
}

/* One end of a transfer that lies in the level's outer memory: `own` is what the level above offers. */
static bool check_outer_end(const tw_checked *s, int buffer, int own)
{
    if (memory_of(s, buffer) != s->level->outer || buffer == own) return true;
    return tw_fault_at(&s->at, "reaches buffer %s of the level above, which its EXEC does not hand down",
                       name_of(s, buffer).text);
}

static bool check_load(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    if (i->operand < 0 || i->operand >= output_of(s)) return tw_fault_at(&s->at, "moves no input operand");
    const tw_operand *operand = operand_of(s, i->operand);
    if (!tw_rule_sources(&s->at, 1)) return false;
    if (!tw_rule_buffer(&s->at, i->dst, i->operand)) return false;
    if (i->src[0] != -1 && !tw_rule_buffer(&s->at, i->src[0], i->operand)) return false;
    if (!check_mover(s, memory_of(s, i->dst), memory_of(s, i->src[0]))) return false;
    if (!check_outer_end(s, i->src[0], tw_checker_parent(s) ? tw_checker_parent(s)->src[i->operand] : -1))
        return false;
    if (!tw_rule_region(&s->at)) return false;
    if (i->src[0] != -1) {
        const tw_checker_value *v = read_value(s, i->src[0]);
        if (!v) return false;
        if (!tw_verify_region_inside(operand, &i->region, &v->region))
            return tw_fault_at(&s->at, "takes a region that buffer %s does not hold", name_of(s, i->src[0]).text);
    }
    return check_fits(s, i->dst, i->operand, &i->region) &&
           tw_rule_work(&s->at, tw_verify_units(s->at.in, i->operand, tw_verify_region_elems(operand, &i->region)));
}

/* Where a store goes: the tensor, the target of the EXEC above, or a buffer on the way. */
static bool check_store_target(const tw_checked *s)
{
    const tw_instr *i = s->at.instr, *parent = tw_checker_parent(s);
    if (i->dst != -1 && !tw_rule_buffer(&s->at, i->dst, i->operand)) return false;
    if (!check_mover(s, memory_of(s, i->src[0]), memory_of(s, i->dst))) return false;
    if (!check_outer_end(s, i->dst, parent ? parent->dst : -1)) return false;
    bool to_parent = parent && i->dst == parent->dst;
    if (i->accumulates != (to_parent && parent->accumulates))
        return tw_fault_at(&s->at, "%s what %s holds", i->accumulates ? "adds to" : "overwrites",
                           name_of(s, i->dst).text);
    if (i->dst == -1) return true;
    if (!to_parent) return check_fits(s, i->dst, i->operand, &i->region);
    tw_region target = tw_verify_output_region(s->at.in->op, &parent->box);
    if (tw_verify_region_inside(operand_of(s, i->operand), &i->region, &target)) return true;
    return tw_fault_at(&s->at, "writes outside of what the EXEC above makes");
}

static bool check_store(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    if (i->operand != output_of(s)) return tw_fault_at(&s->at, "moves an input operand");
    const tw_operand *operand = operand_of(s, i->operand);
    if (!tw_rule_sources(&s->at, 1)) return false;
    if (!tw_rule_buffer(&s->at, i->src[0], i->operand) || !check_store_target(s)) return false;
    if (!tw_rule_box(&s->at)) return false;
    tw_region made = tw_verify_output_region(s->at.in->op, &i->box);
    if (!tw_verify_same_region(operand, &i->region, &made))
        return tw_fault_at(&s->at, "region is not that of its box");
    const tw_checker_value *v = read_exact(s, i->src[0], &i->region);
    if (!v) return false;
    if (i->dst == -1 && v->points != tw_cover_finished(s->c->cover, &i->region))
        return tw_fault_at(&s->at, "moves buffer %s out before every point, once each, is in it",
                           name_of(s, i->src[0]).text);
    return tw_rule_work(&s->at, tw_verify_units(s->at.in, i->operand, tw_verify_region_elems(operand, &i->region)));
}

/* Input `operand` of an EXEC: its buffer must hold every position that the box touches. */
static bool check_input(const tw_checked *s, int operand)
{
    const tw_instr *i = s->at.instr;
    const tw_operand *o = operand_of(s, operand);
    tw_region need = {0};
    bool any = tw_cover_reach(s->c->cover, operand, &i->box, &need);
    int buffer = i->src[operand];
    if (buffer == -1) return any ? tw_fault_at(&s->at, "has no buffer for '%s', which it reads", o->name) : true;
    if (!tw_rule_buffer(&s->at, buffer, operand) || !check_here(s, buffer)) return false;
    const tw_checker_value *v = read_value(s, buffer);
    if (!v) return false;
    if (!any || tw_verify_region_inside(o, &need, &v->region)) return true;
    return tw_fault_at(&s->at, "reads elements of '%s' that buffer %s does not hold", o->name,
                       name_of(s, buffer).text);
}

/* The target of an EXEC, SUM or FILL. */
static bool check_target(const tw_checked *s, const tw_region *made)
{
    const tw_instr *i = s->at.instr;
    return tw_rule_buffer(&s->at, i->dst, output_of(s)) && check_here(s, i->dst) &&
           check_fits(s, i->dst, output_of(s), made);
}

static bool check_exec(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    const tw_verify_input *in = s->at.in;
    if (i->nested && s->at.row->level >= in->n_levels - 1)
        return tw_fault_at(&s->at, "nests a program, there is no inner level");
    if (!i->nested && !check_compute_engine(s)) return false;
    if (!tw_rule_box(&s->at)) return false;
    if (!tw_rule_sources(&s->at, in->op->n_operands - 1)) return false;
    for (int o = 0; o < i->n_src; o++)
        if (!check_input(s, o)) return false;
    tw_region made = tw_verify_output_region(in->op, &i->box);
    if (!check_target(s, &made)) return false;
    if (i->accumulates) {
        if (in->level[s->at.row->level].mode != TW_FUSED)
            return tw_fault_at(&s->at, "accumulates, the level's mode does not");
        if (!(in->machine->engine[in->machine->compute].accumulate >> TW_FUSED & 1))
            return tw_fault_at(&s->at, "accumulates, the compute engine cannot");
        if (!read_exact(s, i->dst, &made)) return false;
    }
    if (in->map && !i->nested && !tw_room_exec(&s->at)) return false;
    return tw_rule_work(&s->at, tw_verify_points(in->op, &i->box));
}

static bool check_made(const tw_checked *s, tw_region *made)
{
    const tw_instr *i = s->at.instr;
    if (!tw_rule_box(&s->at)) return false;
    *made = tw_verify_output_region(s->at.in->op, &i->box);
    const tw_operand *out = operand_of(s, output_of(s));
    if (!tw_verify_same_region(out, &i->region, made)) return tw_fault_at(&s->at, "region is not that of its box");
    return check_target(s, made) && tw_rule_work(&s->at, tw_verify_region_elems(out, made));
}

static bool check_sum(const tw_checked *s)
{
    const tw_instr *i = s->at.instr;
    tw_region made;
    if (!tw_rule_sources(&s->at, 2)) return false;
    if (!check_adder(s) || !check_made(s, &made)) return false;
    for (int k = 0; k < 2; k++)
        if (!tw_rule_buffer(&s->at, i->src[k], output_of(s)) || !check_here(s, i->src[k]) ||
            !read_exact(s, i->src[k], &made))
            return false;
    if (i->src[0] == i->src[1]) return tw_fault_at(&s->at, "adds buffer %s to itself", name_of(s, i->src[0]).text);
    tw_accumulate mode = s->at.in->level[s->at.row->level].mode;
    bool as_said = mode == TW_IN_PLACE   ? i->dst == i->src[0]
                   : mode == TW_SEPARATE ? i->dst != i->src[0] && i->dst != i->src[1]
                                         : false;
    return as_said
               ? true
               : tw_fault_at(&s->at, "into buffer %s is not what the level's mode does", name_of(s, i->dst).text);
}

static bool check_fill(const tw_checked *s)
{
    tw_region made;
    if (!tw_rule_sources(&s->at, 0)) return false;
    return check_compute_engine(s) && check_made(s, &made);
}

bool tw_rules_instr(const tw_checked *s)
{
    switch (s->at.instr->op) {
    case TW_LOAD: return check_load(s);
    case TW_STORE: return check_store(s);
    case TW_EXEC: return check_exec(s);
    case TW_SUM: return check_sum(s);
    case TW_FILL: return check_fill(s);
    }
    return tw_fault_at(&s->at, "has no meaning");
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
static bool check_buffer_hazard(const tw_checked *s, const tw_instr *b, int buffer)
{
    const tw_instr *a = s->at.instr;
    if (buffer < 0 || (!reads(b, buffer) && !writes(b, buffer))) return true;
    if (a->op == TW_STORE && b->op == TW_STORE && memory_of(s, buffer) == s->level->outer) return true;
    bool closed = a->op == TW_EXEC || b->op == TW_EXEC;
    if (!closed && !writes(a, buffer) && !writes(b, buffer)) return true;
    return tw_fault_at(&s->at, "%s buffer %s that %s %s in the same row", reads(a, buffer) ? "reads" : "writes",
                       name_of(s, buffer).text, tw_verify_opcode_name(b->op),
                       reads(b, buffer) ? "reads" : "writes");
}

static bool check_pair(const tw_checked *s, const tw_instr *b)
{
    const tw_instr *a = s->at.instr;
    for (int k = 0; k < a->n_src; k++)
        if (!check_buffer_hazard(s, b, a->src[k])) return false;
    return check_buffer_hazard(s, b, a->dst);
}

static bool check_units(const tw_checked *s, int n_execs, int n_sums)
{
    if (n_execs > 1) return tw_fault_at(&s->at, "%d executions in one row", n_execs);
    if (n_sums > 1) return tw_fault_at(&s->at, "%d sums in one row", n_sums);
    const tw_machine *m = s->at.in->machine;
    if (!n_execs || !n_sums) return true;
    for (int e = 0; e < m->n_engines; e++)
        if (m->engine[e].kind == TW_ADDS && m->engine[e].memory == s->level->memory && m->engine[e].shares >= 0)
            return tw_fault_at(&s->at, "an execution and a sum, whose units are one");
    return true;
}

bool tw_rules_row(const tw_checked *row)
{
    int n_execs = 0, n_sums = 0;
    for (int i = 0; i < row->at.row->n_events; i++) {
        tw_checked s = *row;
        s.at.instr = &row->at.row->event[i].instr;
        n_execs += s.at.instr->op == TW_EXEC || s.at.instr->op == TW_FILL;
        n_sums += s.at.instr->op == TW_SUM;
        for (int j = i + 1; j < row->at.row->n_events; j++)
            if (!check_pair(&s, &row->at.row->event[j].instr)) return false;
    }
    return check_units(row, n_execs, n_sums);
}
