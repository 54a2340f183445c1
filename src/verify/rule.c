/* src/verify/rule.c - see rule.h. */
#include "verify/rule.h"
#include "verify/scene.h"
#include "verify/shape.h"

/* In rows, names of the level's own memory are short. */
tw_buffer_name tw_rule_name(const tw_site *s, int buffer)
{
    int operand = s->in->scene->names_ops ? -1 : s->instr ? s->instr->operand : -1;
    return tw_buffer_name_of(s->in->scene, buffer, operand, s->row->command ? -1 : s->row->memory);
}

bool tw_rule_work(const tw_site *s, int64_t work)
{
    if (s->instr->work == work) return true;
    return tw_fault_at(s, "claims work %" PRId64 ", does %" PRId64, s->instr->work, work);
}

bool tw_rule_sources(const tw_site *s, int n)
{
    return s->instr->n_src == n ? true : tw_fault_at(s, "has %d sources", s->instr->n_src);
}

bool tw_rule_box(const tw_site *s)
{
    return tw_verify_box_is_sound(s->in->op, &s->instr->box) ? true : tw_fault_at(s, "box leaves the loops");
}

bool tw_rule_region(const tw_site *s)
{
    const tw_operand *operand = &s->in->op->operand[s->instr->operand];
    if (tw_verify_region_is_sound(operand, &s->instr->region)) return true;
    return tw_fault_at(s, "region leaves tensor '%s'", operand->name);
}

bool tw_rule_exists(const tw_site *s, int buffer)
{
    if (buffer >= 0 && buffer < s->in->scene->n_buffers) return true;
    return tw_fault_at(s, "names buffer %d, there is none", buffer);
}

bool tw_rule_buffer(const tw_site *s, int buffer, int operand)
{
    if (!tw_rule_exists(s, buffer)) return false;
    const tw_buffer *b = &s->in->scene->buffer[buffer];
    if (b->operand == operand || (b->operands >> operand & 1)) return true;
    return tw_fault_at(s, "uses buffer %s for operand '%s'", tw_rule_name(s, buffer).text,
                       s->in->op->operand[operand].name);
}

bool tw_rule_fits(const tw_site *s, int buffer, int64_t units)
{
    int64_t size = s->in->scene->buffer[buffer].size;
    if (units <= size) return true;
    return tw_fault_at(s, "puts %" PRId64 " units into buffer %s of %" PRId64, units, tw_rule_name(s, buffer).text,
                       size);
}

bool tw_rule_gives(const tw_site *s)
{
    const tw_instr *i = s->instr;
    if (i->n_gives < 0 || i->n_gives > TW_MAX_GIVES) return tw_fault_at(s, "gives %d buffers back", i->n_gives);
    for (int k = 0; k < i->n_gives; k++)
        if (!tw_rule_exists(s, i->gives[k])) return false;
    return true;
}

bool tw_rule_mover(const tw_site *s, int inner, int outer, bool inward)
{
    const tw_platform *p = s->in->scene->platform;
    int number = s->instr->engine;
    const tw_platform_engine *e = number >= 0 && number < p->n_engines ? &p->engine[number] : NULL;
    if (!e || e->is.kind != TW_MOVES) return tw_fault_at(s, "is not on a mover");
    if (e->is.outer != outer || e->is.memory != inner)
        return tw_fault_at(s, "on '%s' does not run between memories '%s' and '%s'", e->name, p->memory[outer].name,
                           p->memory[inner].name);
    if (e->is.carries & (inward ? TW_INWARDS : TW_OUTWARDS)) return true;
    return tw_fault_at(s, "on '%s', which does not carry %s", e->name, inward ? "inwards" : "outwards");
}

bool tw_rule_computer(const tw_site *s, int number, const tw_engine *engine)
{
    const char *name = s->in->scene->platform->engine[number].name;
    if (s->instr->engine != number) return tw_fault_at(s, "is not on the compute engine '%s'", name);
    if (!(engine->computes >> s->in->op->compute & 1))
        return tw_fault_at(s, "asks '%s' for what it cannot do", name);
    if (s->instr->accumulates && !(engine->accumulate >> TW_FUSED & 1))
        return tw_fault_at(s, "accumulates, '%s' cannot", name);
    return true;
}
