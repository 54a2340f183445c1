/* src/report/facts/row.c - a row of the timeline as the public interface shows it.
 *
 * Inside, an instruction names buffers of the layout and one tile index per loop. Outside, a buffer is a slot
 * number within its operand's pool, and a moved tile is named along the axes of its tensor: a matmul's `w` is
 * w[k, n] whatever the order of the loops is. */
#include "report/report.h"

static int slot_of(const tw_layout *layout, int buffer) { return buffer < 0 ? -1 : layout->buffer[buffer].slot; }

/* An axis is named by its first loop: the output position of a window, not the tap. */
static void name_along_axes(const tw_operand *operand, const tw_instr *instr, tw_action_tables *own, tw_action *out)
{
    for (int a = 0; a < operand->n_axes; a++)
        own->tile[a] = operand->axis[a].n_terms > 0 ? instr->index[operand->axis[a].term[0].loop] : 0;
    out->n_tile = operand->n_axes;
    out->tile = own->tile;
}

static void name_along_loops(const tw_op *op, const tw_instr *instr, tw_action *out)
{
    out->n_tile = op->n_loops;
    out->tile = instr->index;
}

static void fill_sources(const tw_layout *layout, const tw_instr *instr, tw_action_tables *own, tw_action *out)
{
    for (int i = 0; i < instr->n_src; i++) own->source[i] = slot_of(layout, instr->src[i]);
    out->n_sources = instr->n_src;
    out->source = own->source;
}

/* The memory that a buffer lies in; no buffer is the tensor in the outermost one. */
static const char *memory_of(const tw_program *program, int buffer)
{
    return program->machine->memory[buffer < 0 ? 0 : program->layout.buffer[buffer].memory].name;
}

/* Inputs that meet only padding have no buffer: the first that has one tells. */
static int first_source(const tw_instr *instr)
{
    for (int i = 0; i < instr->n_src; i++)
        if (instr->src[i] >= 0) return instr->src[i];
    return -1;
}

static void add_command(const tw_program *program, const tw_event *event, tw_action *out)
{
    const tw_instr *instr = &event->instr;
    out->unit = instr->unit;
    out->partial = instr->partial;
    out->from = memory_of(program, first_source(instr));
    out->to = memory_of(program, instr->dst);
    out->busy_end = event->busy_end;
    out->wait = event->wait;
    out->waited = event->waited;
    out->n_loops = program->op->n_loops;
    out->index = instr->index;
}

static tw_action action_of(const tw_program *program, const tw_rowset *row, const tw_event *event,
                           tw_action_tables *own)
{
    const tw_instr *instr = &event->instr;
    const tw_layout *layout = &program->layout;
    const tw_operand *operand = &program->op->operand[instr->operand];
    tw_action a = {.op = instr->op,
                   .engine = instr->engine < 0 ? "" : program->machine->engine[instr->engine].name,
                   .operand = operand->name,
                   .slot = slot_of(layout, instr->op == TW_STORE ? instr->src[0] : instr->dst),
                   .accumulates = instr->accumulates,
                   .units = instr->work,
                   .start_cycle = event->start_cycle,
                   .end_cycle = event->end_cycle};
    if (instr->op == TW_EXEC || instr->op == TW_SUM) {
        name_along_loops(program->op, instr, &a);
        fill_sources(layout, instr, own, &a);
    } else {
        name_along_axes(operand, instr, own, &a);
    }
    if (row->command) add_command(program, event, &a);
    return a;
}

void tw_report_row(const tw_program *program, const tw_rowset *row, tw_action *action, tw_action_tables *tables,
                   tw_row *out)
{
    for (int i = 0; i < row->n_events; i++) action[i] = action_of(program, row, &row->event[i], &tables[i]);
    *out = (tw_row){.level = row->level,
                    .memory = program->machine->memory[row->memory].name,
                    .tick = row->tick,
                    .start_cycle = row->start_cycle,
                    .end_cycle = row->end_cycle,
                    .live_units = row->live_units,
                    .n_actions = row->n_events,
                    .action = action};
}

bool tw_row_contains_rows(const tw_rowset *row)
{
    for (int i = 0; i < row->n_events; i++)
        if (row->event[i].instr.nested) return true;
    return false;
}
