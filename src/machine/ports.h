/* src/machine/ports.h - the ports of a machine file. */
#ifndef TW_MACHINE_PORTS_H
#define TW_MACHINE_PORTS_H
#include "machine/graph.h"

/* Reads the ports of the graph into the platform, whose other parts are all there, and tells its engines, which are `engine`,
 * which ones they use. */
TW_NODISCARD tw_status tw_ports_read(const tw_machine_parts *graph, tw_platform_engine *engine, tw_arena *arena,
                                     tw_diag *diag, tw_platform *platform);
#endif
