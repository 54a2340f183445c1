/* src/report/text/joint_dump.c - see joint_dump.h. */
#include "report/text/joint_dump.h"
#include "program/print.h"
#include "report/facts/jointfacts.h"

static const char *memory_name(const tw_plan *plan, int memory)
{
    return plan->joint->program->platform->memory[memory].name;
}

static const char *engine_name(const tw_plan *plan, int engine)
{
    return plan->joint->program->platform->engine[engine].name;
}

void tw_joint_layout_print(const tw_plan *plan, tw_text *out)
{
    const tw_joint *program = plan->joint->program;
    for (int b = 0; b < program->n_buffers; b++) {
        const tw_buffer *buffer = &program->buffer[b];
        tw_text_printf(out, "buffer %d %s %s slot %d", b, memory_name(plan, buffer->memory),
                       plan->model->tensor[buffer->operand].name, buffer->slot);
        if (program->platform->memory[buffer->memory].lanes > 1) tw_text_printf(out, " lane %d", buffer->lane);
        tw_text_printf(out, " offset %" PRId64 " size %" PRId64 "\n", buffer->offset, buffer->size);
    }
}

static void print_source(const tw_plan *plan, const tw_nest *nest, const tw_nest_hold *hold, tw_text *out)
{
    if (hold->from == TW_FROM_TENSOR) tw_text_printf(out, " from %s", memory_name(plan, 0));
    if (hold->from == TW_FROM_HOLD)
        tw_text_printf(out, " from %s", memory_name(plan, nest->hold[hold->source].memory));
    if (hold->from == TW_FROM_OP) tw_text_printf(out, " made by %s", nest->op[hold->source].op->name);
    if (hold->from == TW_FROM_GROUP) tw_text_printf(out, " made by another group");
    if (hold->engine >= 0) tw_text_printf(out, " by %s", engine_name(plan, hold->engine));
    if (hold->drain >= 0) tw_text_printf(out, " drained by %s", engine_name(plan, hold->drain));
}

static void print_hold(const tw_plan *plan, const tw_nest *nest, const tw_nest_hold *hold, tw_text *out)
{
    tw_text_printf(out, "  %s in %s, ", plan->model->tensor[hold->tensor].name, memory_name(plan, hold->memory));
    tw_joint_kept_print(plan, hold, nest->group, out);
    print_source(plan, nest, hold, out);
    tw_text_printf(out, ": %" PRId64 " of %" PRId64, hold->slots, hold->size);
    if (hold->lanes > 1) tw_text_printf(out, " in %d lanes", hold->lanes);
    tw_text_printf(out, "%s\n", hold->sums ? ", sums" : "");
}

void tw_joint_program_print(const tw_plan *plan, tw_text *out)
{
    const tw_joint *program = plan->joint->program;
    for (int g = 0; g < program->n_nests; g++) {
        const tw_nest *nest = &program->nest[g];
        tw_text_printf(out, "group %s:", nest->map->name);
        for (int k = 0; k < nest->n_ops; k++)
            tw_text_printf(out, "%s %s on %s", k ? "," : "", nest->op[k].op->name,
                           engine_name(plan, nest->op[k].engine));
        tw_text_printf(out, "\n");
        for (int s = 0; s < nest->n_holds; s++) print_hold(plan, nest, &nest->hold[s], out);
    }
}

void tw_joint_timeline_print(const tw_plan *plan, tw_text *out)
{
    const tw_summary *s = &plan->sum;
    const tw_platform *platform = plan->joint->program->platform;
    tw_text_printf(out,
                   "cycles %" PRId64 " executions %" PRId64 " points %" PRId64 " instructions %" PRId64
                   " energy %" PRId64 " fJ\n",
                   s->cycles, s->execs, s->macs, s->instructions, s->energy_fj);
    for (int e = 0; e < platform->n_engines; e++) {
        const tw_engine_use *use = &plan->joint->timeline.engine[e];
        tw_text_printf(out,
                       "%s loads %" PRId64 "/%" PRId64 " stores %" PRId64 "/%" PRId64 " runs %" PRId64
                       " busy %" PRId64 " data %" PRId64 " credit %" PRId64 " port %" PRId64 "\n",
                       engine_name(plan, e), use->loads, use->load_units, use->stores, use->store_units, use->ops,
                       use->busy_cycles, use->wait_data, use->wait_credit, use->wait_port);
    }
}

void tw_joint_command_print(const tw_plan *plan, const tw_rowset *row, tw_text *out)
{
    const tw_event *e = &row->event[0];
    char label[TW_JOINT_LABEL];
    tw_action a;
    tw_row ignored;
    tw_action_tables tables;
    tw_joint_row(plan, row, &a, &tables, &ignored);
    tw_text_printf(out,
                   "command %" PRId64 " %s unit %d cycles %" PRId64 "..%" PRId64 " busy %" PRId64
                   " wait %s %" PRId64 " %s %s %" PRId64 " %s -> %s slot %d%s\n",
                   row->tick, a.engine, a.unit, e->start_cycle, e->end_cycle, e->busy_end, tw_wait_name(e->wait),
                   e->waited, tw_opcode_name(a.op), tw_joint_label(plan, &e->instr, label), a.units, a.from, a.to,
                   a.slot, a.accumulates ? " adds" : "");
}
