/* src/machine/machine.h - memories, engines, what things cost, and how time passes.
 *
 * The memories form a path from the outermost to the one the compute engine works on; between
 * neighbours stands exactly one mover:
 *
 *     outside --move3--> l3 --move2--> l2 --move1--> l1 [mac, add1]
 *
 * A level of a mapping belongs to one memory of that path. */
#ifndef TW_MACHINE_MACHINE_H
#define TW_MACHINE_MACHINE_H
#include "core/core.h"
#include "model/model.h"

enum { TW_MAX_MEMORIES = 8, TW_MAX_ENGINES = 24 };

typedef enum tw_unit { TW_UNIT_ELEMENT, TW_UNIT_BYTE, TW_N_UNITS } tw_unit;
typedef enum tw_timing { TW_LOCKSTEP, TW_N_TIMINGS } tw_timing;

const char *tw_unit_name(tw_unit unit);       /* "element", "byte" */
const char *tw_timing_name(tw_timing timing); /* "lockstep"        */

/* Cycles for an amount of work: units moved, loop points executed, elements added. */
typedef enum tw_cost_kind { TW_COST_CONSTANT, TW_COST_LINEAR, TW_COST_STEPPED } tw_cost_kind;
typedef struct tw_cost {
    tw_cost_kind kind;
    int64_t fixed;     /* CONSTANT: all of it; LINEAR: the latency; STEPPED: cycles per step */
    int64_t per_cycle; /* LINEAR: work done in a cycle; STEPPED: work of one step            */
} tw_cost;
/* constant: fixed; linear: fixed + ceil(work / per_cycle); stepped: fixed * ceil(work / per_cycle).
 * Saturates at INT64_MAX, which the simulator reports as overflow. */
int64_t tw_cost_cycles(const tw_cost *cost, int64_t work);

typedef struct tw_memory {
    const char *name;
    tw_loc loc;
    int64_t size;  /* units; TW_UNLIMITED */
    int64_t align; /* units; buffers start at a multiple of it, at least 1 */
} tw_memory;

/* Accumulation over a cut reduction loop. */
typedef enum tw_accumulate {
    TW_SEPARATE, /* S: an adder puts accumulator + partial into a third slot         */
    TW_IN_PLACE, /* I: an adder puts the sum into the accumulator's slot             */
    TW_FUSED,    /* F: the execution itself adds to what the output slot holds       */
    TW_N_ACCUMULATES
} tw_accumulate;
const char *tw_accumulate_name(tw_accumulate mode); /* "separate", "in-place", "fused" */

typedef enum tw_engine_kind { TW_MOVES, TW_COMPUTES, TW_ADDS } tw_engine_kind;
typedef struct tw_engine {
    const char *name;
    tw_loc loc;
    tw_engine_kind kind;
    int outer,
        memory; /* MOVES: between memories outer and memory = outer + 1; others: works on `memory`, outer -1 */
    bool one_channel; /* MOVES: transfers of a row follow each other; otherwise all run at once */
    tw_cost cost;
    unsigned computes;   /* COMPUTES: bit c set for each tw_compute it can do                      */
    unsigned accumulate; /* COMPUTES: bit m set for each tw_accumulate it offers                   */
    int shares;          /* ADDS: the compute engine whose row it excludes, -1: a unit of its own  */
    int64_t min_tile;    /* COMPUTES: a cut loop keeps at least this many points per tile, 1: any  */
    bool pad_half;       /* COMPUTES: a tile's padding may not exceed floor(kernel / 2)            */
} tw_engine;

struct tw_machine {
    const char *name;
    tw_unit unit;
    tw_timing timing;
    int n_memories; /* outermost first; at least 2 */
    tw_memory memory[TW_MAX_MEMORIES];
    int n_engines;
    tw_engine engine[TW_MAX_ENGINES];
    int compute; /* index of the compute engine */
};

/* The mover that fills memory m (m >= 1); the adder that works on m, -1 when there is none. */
int tw_machine_mover(const tw_machine *machine, int memory);
int tw_machine_adder(const tw_machine *machine, int memory);
/* Index by name, -1 when there is none. */
int tw_machine_find_memory(const tw_machine *machine, const char *name);
/* Units that `elems` elements of this type take in the machine's memories. */
int64_t tw_machine_units(const tw_machine *machine, tw_dtype dtype, int64_t elems);

TW_NODISCARD tw_status tw_machine_check(const tw_machine *machine, tw_diag *diag);
/* Stable text, as a machine file that reads back as the same machine. */
void tw_machine_print(const tw_machine *machine, tw_text *out);

/* Machines that come with the library, from examples/machines. */
typedef struct tw_builtin {
    const char *name, *text;
} tw_builtin;
extern const tw_builtin tw_machine_builtins[]; /* ends with a NULL name */
#endif
