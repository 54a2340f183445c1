/* src/machine/vary.h - a copy of a machine that may be changed, with a platform of its own.
 *
 * A part of a machine stands in several places: in the platform, in every view that has it, and, as view 0 is the machine itself, in the
 * machine. A change is made in all of them, so that operators one by one and groups meet the same machine.
 *
 * Parts are numbered as in the platform; of a machine that was made up and has none, as in the machine. */
#ifndef TW_MACHINE_VARY_H
#define TW_MACHINE_VARY_H
#include "machine/platform.h"

typedef struct tw_variant {
    tw_machine *machine;
    tw_platform *platform; /* NULL: it has none; then the four that follow are NULL, too */
    tw_platform_memory *memory;
    tw_platform_engine *engine;
    tw_platform_view *view;
    tw_port *port;
} tw_variant;

TW_NODISCARD tw_status tw_variant_of(const tw_machine *machine, tw_arena *arena, tw_variant *out);
/* The platform's number of a memory or an engine of the machine. */
int tw_variant_memory(const tw_variant *v, int memory);
int tw_variant_engine(const tw_variant *v, int engine);
/* Units of a memory. */
void tw_variant_set_size(tw_variant *v, int memory, int64_t size);
/* What an engine costs, how many of it take turns, and whether its transfers follow each other: the rest of `is` is not looked at.
 * False: memories that are private to a dimension of an array would not fit the arrays of others any more. */
bool tw_variant_set_engine(tw_variant *v, int engine, const tw_engine *is);
/* Energies that count: 1 for each unit read from or written to the outermost memory, 0 for all else. */
void tw_variant_count_outermost(tw_variant *v);
#endif
