/* src/machine/discipline.h - what follows from the timing of a machine.
 *
 * Lockstep and async differ in several ways that have nothing to do with each other: how time is counted, who adds up
 * partial sums, how buffers change hands, what may stay on the chip between two operators. Each has a name here and is set
 * here, once per timing, so that a rule elsewhere asks for what it is about, and a third timing is a third line of the
 * table. Whole algorithms that there are two of (readers of levels, generators, clocks, bounds, judges) are tables of
 * functions of the folder that has them: see docs/design/timing.md. */
#ifndef TW_MACHINE_DISCIPLINE_H
#define TW_MACHINE_DISCIPLINE_H
#include "machine/machine.h"

/* Buffers that one operand can have in a memory: each of its own slots, or credits, which are numbers alone. */
enum { TW_MAX_SLOTS = 64, TW_MAX_CREDITS = 1 << 16 };

typedef struct tw_discipline {
    const char *name;
    /* Engines start together, in rows that are counted as ticks; the program of a level runs inside one execution of the level
     * outside it and begins with empty buffers. Otherwise all levels are one stream of commands, each with a time and a
     * reason for waiting of its own. */
    bool rows;
    /* Buffers change hands by credits: a mapping may leave their number open, let operands share them, and say how long what
     * lies in them is kept. */
    bool credits;
    bool adders;             /* engines of their own add partial sums up; otherwise the compute engine does */
    bool sums_leave;         /* partial sums may leave a memory and come back: loops in any order           */
    bool fuses;              /* what an operator makes may stay on the chip for the next one                */
    int64_t max_buffers;     /* of one operand in one memory                                                */
    const char *const *keys; /* of machine files that are known to it alone; the last is NULL              */
} tw_discipline;

extern const tw_discipline tw_disciplines[TW_N_TIMINGS];
static inline const tw_discipline *tw_discipline_of(const tw_machine *machine)
{
    return &tw_disciplines[machine->timing];
}
/* Whether this key of a machine file means something to the machine: all keys do that are not another discipline's. */
bool tw_machine_knows(const tw_machine *machine, const char *key);
/* The discipline that alone knows the key, NULL: all do. */
const tw_discipline *tw_discipline_of_key(const char *key);
#endif
