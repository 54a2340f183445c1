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
    /* The machine's own invariants, see tw_machine_check. */
    tw_status (*check)(const tw_machine *machine, tw_diag *diag);
    /* A program is rows whose engines start together, and the program of a level runs inside one execution of the level
     * outside it. Otherwise all levels are one stream of commands. That chooses between the tables of functions, and is
     * asked nowhere else: tools/debt counts it as a question about the timing. */
    bool rows;
    bool ticks; /* rows are a measure of time beside cycles */
    /* Buffers change hands by credits: a mapping may leave their number open, let operands share them, and say how long what
     * lies in them is kept. */
    bool credits;
    bool adders;             /* engines of their own add partial sums up; otherwise the compute engine does */
    bool sums_leave;         /* partial sums may leave a memory and come back: loops in any order           */
    bool fuses;              /* what an operator makes may stay on the chip for the next one                */
    int64_t max_buffers;     /* of one operand in one memory                                                */
    const char *const *keys; /* of machine files that are known to it alone; the last is NULL              */
} tw_discipline;

/* In machine.c. */
TW_NODISCARD tw_status tw_machine_check_rows(const tw_machine *machine, tw_diag *diag);
TW_NODISCARD tw_status tw_machine_check_stream(const tw_machine *machine, tw_diag *diag);

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
