/* src/verify/fault.c - see fault.h. */
#include "verify/fault.h"

#include <stdio.h>

static void set(tw_fault *fault, const char *where, const char *fmt, va_list args)
{
    if (fault->set) return;
    fault->set = true;
    int n = snprintf(fault->text, sizeof fault->text, "%s", where);
    tw_vsnprintf(fault->text + n, sizeof fault->text - (size_t)n, fmt, args);
}

void tw_fault_set(tw_fault *fault, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set(fault, "", fmt, args);
    va_end(args);
}

const char *tw_verify_opcode_name(tw_opcode op)
{
    switch (op) {
    case TW_LOAD: return "LOAD";
    case TW_STORE: return "STORE";
    case TW_EXEC: return "EXEC";
    case TW_SUM: return "SUM";
    case TW_FILL: return "FILL";
    }
    return "unknown instruction";
}

static const char *memory_name(const tw_verify_input *in, int memory)
{
    return memory >= 0 && memory < in->machine->n_memories ? in->machine->memory[memory].name : "?";
}

static const char *engine_name(const tw_verify_input *in, const tw_rowset *row)
{
    int engine = row->n_events > 0 ? row->event[0].instr.engine : -1;
    return engine >= 0 && engine < in->machine->n_engines ? in->machine->engine[engine].name : "?";
}

bool tw_fault_at(const tw_site *site, const char *fmt, ...)
{
    char where[96];
    const tw_instr *instr = site->instr;
    bool command = site->row->command;
    snprintf(where, sizeof where, "%s %" PRId64 " (%.40s)%s%s ", command ? "command" : "row", site->row->tick,
             command ? engine_name(site->in, site->row) : memory_name(site->in, site->row->memory),
             instr ? ": " : "", instr ? tw_verify_opcode_name(instr->op) : "");
    va_list args;
    va_start(args, fmt);
    set(site->fault, where, fmt, args);
    va_end(args);
    return false;
}

tw_buffer_name tw_buffer_name_of(const tw_verify_input *in, int buffer, int operand, int memory)
{
    const tw_op *op = in->op;
    tw_buffer_name name;
    if (buffer < 0 || buffer >= in->layout->n_buffers) {
        bool known = buffer == -1 && operand >= 0 && operand < op->n_operands;
        snprintf(name.text, sizeof name.text, "%s", known ? op->operand[operand].name : "(none)");
        return name;
    }
    const tw_buffer *b = &in->layout->buffer[buffer];
    const char *what = b->operand >= 0 && b->operand < op->n_operands ? op->operand[b->operand].name : "?";
    bool near = b->memory == memory;
    snprintf(name.text, sizeof name.text, "%s%s%s%d", near ? "" : memory_name(in, b->memory), near ? "" : ".", what,
             b->slot);
    return name;
}
