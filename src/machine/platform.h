/* src/machine/platform.h - a whole machine, as a graph: memories, ports, movers, cores and compute engines.
 *
 * A machine file says which memories there are and what moves between them. Some are shared, some belong to a core, and some
 * exist once per index of an array's dimension:
 *
 *     dram ==port==+==dma==> big.l1 [big.array 16x16]
 *                  |
 *                  +==dma==> little.l1 [little.array 4x4, little.vector]
 *
 * What an operator meets of it is a *view*: one compute engine, the memories on the paths of its operands, outermost first,
 * and the movers between them. A view is a tw_machine, and everything that plans one operator works on a view. What plans
 * several operators at the same time (mapping/group.h) works on the platform, whose memories and engines are numbered over all
 * cores: shared memories first, then those of each core, in the order of the file. Memory 0 is the outermost one of every view.
 *
 * A *port* is the way into a memory that several movers share. A transfer occupies one of its ways from the start of its
 * command until its engine can start the next one (busy), and takes at least ceil(words / per_cycle) cycles there, so that
 *
 *     busy = max(engine's busy, port's cycles),   end = max(engine's end, start + busy).
 *
 * A port without a memory is a *bus*: its movers pass it wherever they lead.
 *
 * Where a port *broadcasts*, a load that reads there *hears* another one, instead of passing the port itself, if that one brings the same elements
 * of the same tensor from the same place, passed the port among the last TW_HEARD_MOST that did, starts no earlier than this load could, and is as
 * slow at least; of several the one that starts first. Both start together, and the port's other end must be free for it then.
 *
 * A core without a mover to the shared memories may stand *behind* another one (gate.h): then memories of that one are on its paths, and the links between them are movers
 * of its view. Memories are numbered so that those behind others come behind them.
 *
 * A *link* is a mover between memories of different cores, which otherwise is in no view. It carries one way, from its outer memory to its inner one:
 * what one core makes comes to another without a way through shared memories. Where no link leads from one to the other, a *route* of several does: the
 * fewest, and of these, hop by hop, the one that stands first in the file. It is stored and forwarded: what passes a memory is held there.
 *
 * A mover that carries inwards reads at its outer memory and writes at its inner one; outwards the other way round. */
#ifndef TW_MACHINE_PLATFORM_H
#define TW_MACHINE_PLATFORM_H
#include "machine/machine.h"

enum {
    TW_MAX_PLATFORM_MEMORIES = 1024,
    TW_MAX_PLATFORM_ENGINES = 4096,
    TW_MAX_PORTS = 1024,
    TW_MAX_CORES = 256,
    TW_MAX_VIEWS = 512, /* compute engines */
    TW_MAX_WAYS = 1024, /* of one port      */
    TW_HEARD_MOST = 64
};

typedef struct tw_platform_core {
    const char *name;
    tw_loc loc;
} tw_platform_core;

typedef struct tw_platform_memory {
    const char *name; /* "dram"; of a core "big.l1"; of a machine without cores as the file says               */
    int core;         /* -1: shared                                                                           */
    tw_memory is;     /* what the file says of it; `name` is the short one                                    */
    int64_t lanes;    /* copies that there are of it, one per index of the dimensions it is private to; else 1 */
} tw_platform_memory;

typedef struct tw_platform_engine {
    const char *name; /* "big.dma"                                              */
    int core;         /* -1: shared                                             */
    tw_engine is;     /* `outer` and `memory` are numbers of the platform's memories */
    int reads[2];     /* MOVES: the port where it reads, inwards and outwards; -1: none */
    int writes[2];    /* and where it writes                                            */
} tw_platform_engine;

enum { TW_PORT_READS = 1, TW_PORT_WRITES = 2 };
typedef struct tw_port {
    const char *name;
    tw_loc loc;
    int memory;                /* of the platform; -1: none, it is a bus that movers pass on their way */
    unsigned serves;           /* TW_PORT_READS, TW_PORT_WRITES                         */
    int64_t ways;              /* transfers at the same time                            */
    int64_t per_cycle;         /* units that a way passes in a cycle; 0: any number     */
    int64_t word;              /* units that are passed together: a transfer is rounded up to whole words */
    int64_t read_fj, write_fj; /* of one unit; -1: as the memory says                   */
    bool broadcasts;           /* what several movers ask for alike passes once          */
} tw_port;

struct tw_platform {
    int n_cores;
    const tw_platform_core *core;
    int n_memories;
    const tw_platform_memory *memory;
    int n_engines;
    const tw_platform_engine *engine;
    int n_ports;
    const tw_port *port;
    int n_views; /* one per compute engine, in the order of `engine`; the machine itself is view 0 */
    const struct tw_platform_view {
        tw_machine machine;
        int engine;                  /* the compute engine, in the platform                       */
        int memory[TW_MAX_MEMORIES]; /* of the machine's memories and engines: those of the platform */
        int mover[TW_MAX_ENGINES];
    } * view;
};
typedef struct tw_platform_view tw_platform_view;

/* The memory, compute engine (as a view) or core called so: by its full name, or by its short one inside `core` (-1: none is
 * meant; a short name is then good if only one core has it). -1: there is none, -2: several. */
int tw_platform_find_memory(const tw_platform *platform, const char *name, int core);
int tw_platform_find_view(const tw_platform *platform, const char *name, int core);
int tw_platform_find_core(const tw_platform *platform, const char *name);
/* The view of the first engine that computes the operator; -1: none does. */
int tw_platform_find_computing(const tw_platform *platform, const tw_op *op);
/* Whether the engine is a link. */
bool tw_platform_is_link(const tw_platform *platform, int engine);
typedef struct tw_memory_list {
    int n;
    const int *memory;
} tw_memory_list;
enum { TW_MAX_HOPS = 64 };
/* The route over links that carry the operand from one of some memories to one of others; how many links, 0: there is none. On its way it
 * passes memories that are private to no lanes. */
int tw_platform_find_route(const tw_platform *platform, tw_memory_list from, tw_memory_list to, const tw_op *op,
                           int operand, int link[TW_MAX_HOPS]);
/* Whether only a mapping with groups knows all that the machine has: ports, memories that are private to a dimension. Then
 * *what and *loc say which one: the first port or, without ports, the first such memory. */
bool tw_platform_needs_groups(const tw_platform *platform, const char **what, tw_loc *loc);
/* Cycles that the port takes to pass so many units. */
int64_t tw_port_cycles(const tw_port *port, int64_t units);
/* The invariants of the platform itself; those of a view are tw_machine_check's. */
TW_NODISCARD tw_status tw_platform_check(const tw_platform *platform, tw_diag *diag);
#endif
