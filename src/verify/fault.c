/* src/verify/fault.c - see fault.h. */
#include "verify/fault.h"
#include "verify/scene.h"

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

static const char *memory_name(const tw_scene *scene, int memory)
{
    return memory >= 0 && memory < scene->platform->n_memories ? scene->platform->memory[memory].name : "?";
}

static const char *engine_name(const tw_scene *scene, const tw_rowset *row)
{
    int engine = row->n_events > 0 ? row->event[0].instr.engine : -1;
    return engine >= 0 && engine < scene->platform->n_engines ? scene->platform->engine[engine].name : "?";
}

static const char *tensor_name(const tw_site *site)
{
    const tw_op *op = site->in->op;
    int operand = site->instr->operand;
    if (!op || operand < 0 || operand >= op->n_operands) return "?";
    return site->in->model->tensor[op->operand[operand].tensor].name;
}

bool tw_fault_at(const tw_site *site, const char *fmt, ...)
{
    char where[192];
    const tw_scene *scene = site->in->scene;
    bool command = site->row->command;
    int n = snprintf(where, sizeof where, "%s %" PRId64 " (%.40s)", command ? "command" : "row", site->row->tick,
                     command ? engine_name(scene, site->row) : memory_name(scene, site->row->memory));
    if (site->instr)
        n += snprintf(where + n, sizeof where - (size_t)n, ": %s", tw_verify_opcode_name(site->instr->op));
    if (site->instr && scene->names_ops)
        n += snprintf(where + n, sizeof where - (size_t)n, " '%.24s' of '%.24s'", tensor_name(site),
                      site->in->op ? site->in->op->name : "?");
    snprintf(where + n, sizeof where - (size_t)n, " ");
    va_list args;
    va_start(args, fmt);
    set(site->fault, where, fmt, args);
    va_end(args);
    return false;
}

tw_buffer_name tw_buffer_name_of(const tw_scene *scene, int buffer, int operand, int memory)
{
    tw_buffer_name name;
    if (buffer < 0 || buffer >= scene->n_buffers) {
        bool known = buffer == -1 && operand >= 0 && operand < scene->n_tensors;
        snprintf(name.text, sizeof name.text, "%.40s", known ? scene->tensor[operand] : "(none)");
        return name;
    }
    const tw_buffer *b = &scene->buffer[buffer];
    const char *what = b->operand >= 0 && b->operand < scene->n_tensors ? scene->tensor[b->operand] : "?";
    bool near = b->memory == memory;
    snprintf(name.text, sizeof name.text, "%.24s%s%.24s%d", near ? "" : memory_name(scene, b->memory),
             near ? "" : ".", what, b->slot);
    return name;
}
