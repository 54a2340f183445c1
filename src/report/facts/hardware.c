/* src/report/facts/hardware.c - see hardware.h. */
#include "report/facts/hardware.h"

static const tw_platform *platform_of(const tw_plan *plan) { return plan->joint->program->platform; }

int tw_hardware_n_engines(const tw_plan *plan)
{
    return plan->joint ? platform_of(plan)->n_engines : plan->machine->n_engines;
}

const tw_engine *tw_hardware_engine(const tw_plan *plan, int engine)
{
    return plan->joint ? &platform_of(plan)->engine[engine].is : &plan->machine->engine[engine];
}

const char *tw_hardware_engine_name(const tw_plan *plan, int engine)
{
    return plan->joint ? platform_of(plan)->engine[engine].name : plan->machine->engine[engine].name;
}

int tw_hardware_n_memories(const tw_plan *plan)
{
    return plan->joint ? platform_of(plan)->n_memories : plan->machine->n_memories;
}

const tw_memory *tw_hardware_memory(const tw_plan *plan, int memory)
{
    return plan->joint ? &platform_of(plan)->memory[memory].is : &plan->machine->memory[memory];
}

const char *tw_hardware_memory_name(const tw_plan *plan, int memory)
{
    return plan->joint ? platform_of(plan)->memory[memory].name : plan->machine->memory[memory].name;
}

const tw_buffer *tw_hardware_buffers(const tw_plan *plan, int op, int *n)
{
    const tw_layout *layout = &plan->op[op].program.layout;
    *n = plan->joint ? plan->joint->program->n_buffers : layout->n_buffers;
    return plan->joint ? plan->joint->program->buffer : layout->buffer;
}
