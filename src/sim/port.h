/* src/sim/port.h - when the ways into memories are taken.
 *
 * A port gives a transfer the earliest time at which one of its ways is free for as long as the transfer lasts; transfers
 * that came before are not moved. So a load that is ready early may go before a store that was placed earlier and waits for
 * its data:
 *
 *     way   |--load--|            |--store--|        the gap before the store is open to whoever fits into it     */
#ifndef TW_SIM_PORT_H
#define TW_SIM_PORT_H
#include "machine/platform.h"
#include "program/instr.h"

typedef struct tw_ports tw_ports;
/* NULL when out of memory. Everything is allocated in `arena`. */
tw_ports *tw_ports_new(const tw_platform *platform, const tw_model *model, tw_arena *arena);
/* Lets a LOAD or STORE through the ports at its two ends: the start that it gets, not before `start`. *busy, the cycles of its
 * engine, grows to what the ports need; they are taken for so long, unless it hears another one there (platform.h), which is noted in it. INT64_MAX
 * when out of memory. */
int64_t tw_ports_pass(tw_ports *ports, tw_instr *in, int64_t start, int64_t *busy);
/* Cycles in which a port was taken, over all its ways, transfers that passed it, and their units in whole words. */
int64_t tw_ports_busy(const tw_ports *ports, int port);
int64_t tw_ports_passed(const tw_ports *ports, int port);
int64_t tw_ports_units(const tw_ports *ports, int port);
#endif
