/* src/machine/machine.h - memories, engines and how time passes; what things cost is in cost.h.
 *
 * The memories form a path from the outermost to the one the compute engine works on:
 *
 *     outside --move3--> l3 --move2--> l2 --move1--> l1 [mac, add1]
 *
 * A level of a mapping belongs to one memory of that path. In a lockstep machine exactly one mover stands between
 * neighbours. In an async machine a memory may hold operands of some roles only: activations, weights, the output. Each role
 * has a path of its own; between two memories that follow each other on a path stand one mover for both
 * directions, or one for each:
 *
 *     inputs   dram --dma--> l3 --mover--> l2 --streamer--> l1
 *     output   dram <-write-- l3 <--lift--- l2 <--drain----------- fabric [array]                              */
#ifndef TW_MACHINE_MACHINE_H
#define TW_MACHINE_MACHINE_H
#include "core/core.h"
#include "machine/cost.h"
#include "model/model.h"

enum { TW_MAX_MEMORIES = 8, TW_MAX_ENGINES = 24, TW_MAX_UNITS = 1024 /* of one engine */ };
enum { TW_CLOCK_MAX = 1000000 }; /* MHz */

typedef enum tw_unit { TW_UNIT_ELEMENT, TW_UNIT_BYTE, TW_N_UNITS } tw_unit;
typedef enum tw_timing {
    TW_LOCKSTEP, /* engines start together in rows                                    */
    TW_ASYNC,    /* each engine waits only for its data, for itself and for a credit  */
    TW_N_TIMINGS
} tw_timing;
/* When a tile that the memory still holds is sent again. */
typedef enum tw_reuse {
    TW_REUSE_RESIDENT, /* never                                                         */
    TW_REUSE_DECLARED, /* in every step, unless the mapping says that the input is kept */
    TW_N_REUSES
} tw_reuse;

const char *tw_unit_name(tw_unit unit);       /* "element", "byte" */
const char *tw_timing_name(tw_timing timing); /* "lockstep", "async" */
const char *tw_reuse_name(tw_reuse reuse);    /* "resident", "declared" */

/* Where the buffers of a memory go. */
typedef enum tw_placement {
    TW_PLACE_SLOTS,    /* an operator's buffers one behind the other, in operand order                     */
    TW_PLACE_BUMP,     /* in the order of the program, over all operators of a group, never freed          */
    TW_PLACE_LIFETIME, /* as tightly as their lifetimes allow, exactly                                     */
    TW_N_PLACEMENTS
} tw_placement;
const char *tw_placement_name(tw_placement placement); /* "slots", "bump", "lifetime" */

/* What may have two buffers. */
typedef enum tw_doubling {
    TW_DOUBLE_ANY,      /* anything, and more than two                                                     */
    TW_DOUBLE_CHANGING, /* inputs that change with every execution, all or none; anything else has one     */
    TW_DOUBLE_INPUTS,   /* the inputs, all or none                                                         */
    TW_N_DOUBLINGS
} tw_doubling;
const char *tw_doubling_name(tw_doubling doubling); /* "any", "dual", "dual-inputs" */

/* Whether an operator is fused with its neighbours, which the mapping says. */
typedef struct tw_fusion {
    bool before; /* with the one before it: it finds an input where that one left it              */
    bool behind; /* with the one behind it: its output stays in the compute engine's memory       */
} tw_fusion;

/* What the other operators of a group need of a memory beside the one at hand; see tw_machine_view. Of two numbers the first
 * is for a mapping whose output has finished elements only, the second for one that leaves sums there. */
typedef struct tw_others {
    int64_t left[2];     /* units of the output at hand, which stays there for the next operator, at least */
    int64_t least[2];    /* units that the others take at least, what is left for them included            */
    int first_op, n_ops; /* of the group, the one at hand included                                      */
    int op;              /* the one at hand                                                             */
    int n;               /* pieces, in the order in which they are allocated                            */
    int own;             /* the piece that stands for the output at hand: its size is open              */
    const struct tw_block *block;
} tw_others;

/* Names of operands, as operators call them: "bias". Some memories hold, and some movers carry, these beside whole roles. */
typedef struct tw_names {
    int n;
    const char *const *name;
} tw_names;
/* `names` may be NULL: none. */
bool tw_names_have(const tw_names *names, const char *name);

typedef struct tw_memory {
    const char *name;
    tw_loc loc;
    int64_t size;          /* units; TW_UNLIMITED */
    int64_t align;         /* units; buffers start at a multiple of it, at least 1 */
    unsigned holds;        /* TW_HOLDS_..: operands of other roles bypass it, */
    const tw_names *named; /* but for those that are called so; NULL: none */
    tw_placement placement;
    /* of a view, see tw_machine_view: */
    const tw_others *others; /* NULL: nothing                                                             */
    int64_t reserved, full;  /* `bump`: units that they take beside these, and all that there are; 0, 0: nothing */
    bool goes_on;            /* `bump`: something is allocated behind these                                      */
    unsigned keeps;          /* TW_HOLDS_..: what a mapping may keep there for longer than a tile                */
    tw_doubling doubles;
    bool whole;        /* an operand that is kept all the time is one buffer, and moved as a whole          */
    int64_t energy_fj; /* femtojoules to read or to write one unit */
    unsigned
        per; /* bit d: there is one of it per index of dimension d of the compute engine's array; 0: one in all */
} tw_memory;
/* Roles of operands, as bits. */
enum { TW_HOLDS_ACTIVATIONS = 1, TW_HOLDS_OUTPUT = 2, TW_HOLDS_WEIGHTS = 4, TW_HOLDS_INPUTS = 5, TW_HOLDS_ALL = 7 };
/* Its units, also in a view that takes some away for others. */
static inline int64_t tw_memory_full(const tw_memory *memory)
{
    return memory->reserved > 0 ? memory->full : memory->size;
}

/* Units of a memory of a view that the group takes, when the operator at hand takes `own`: where nothing is ever given back
 * (`bump`) those of the others, too. What is allocated behind them begins at a multiple of the alignment. */
static inline int64_t tw_memory_with_others(const tw_memory *memory, int64_t own)
{
    if (memory->reserved <= 0) return own;
    if (own > INT64_MAX / 2 - memory->reserved) return INT64_MAX;
    return (memory->goes_on ? tw_cdiv(own, memory->align) * memory->align : own) + memory->reserved;
}

/* Accumulation over a cut reduction loop. */
typedef enum tw_accumulate {
    TW_SEPARATE, /* S: an adder puts accumulator + partial into a third slot         */
    TW_IN_PLACE, /* I: an adder puts the sum into the accumulator's slot             */
    TW_FUSED,    /* F: the execution itself adds to what the output slot holds       */
    TW_N_ACCUMULATES
} tw_accumulate;
const char *tw_accumulate_name(tw_accumulate mode); /* "separate", "in-place", "fused" */

/* The sizes of tiles that an engine takes along loops of a name. */
typedef struct tw_tile_sizes {
    const char *loop;
    int n_sizes;         /* 1 .. TW_MAX_TILE_SIZES           */
    const int64_t *size; /* ascending, without repetitions   */
} tw_tile_sizes;
enum { TW_MAX_TILE_SIZES = 64, TW_MAX_SIZED_LOOPS = 32 };

typedef enum tw_engine_kind { TW_MOVES, TW_COMPUTES, TW_ADDS } tw_engine_kind;
typedef struct tw_engine {
    const char *name;
    tw_loc loc;
    tw_engine_kind kind;
    int outer, memory;     /* MOVES: between memories outer < memory; others: works on `memory`, outer -1         */
    bool one_channel;      /* MOVES: transfers of a unit follow each other; otherwise all of a row run at once */
    unsigned carries;      /* MOVES: TW_INWARDS, TW_OUTWARDS                                               */
    unsigned roles;        /* MOVES: TW_HOLDS_.., operands of these roles;                                 */
    const tw_names *named; /* MOVES: and those that are called so. 0 and NULL: all                     */
    bool joins;            /* MOVES, async: the inputs of a step are one command                           */
    bool prefetches;       /* MOVES, async, both ways: what the next step needs goes before what this one made,
                          when there is room for it                                                   */
    bool drains; /* MOVES: but only inside one sweep of the innermost loop: the first inputs of the next one
                          wait for the last execution of this one                                     */
    bool
        strided; /* MOVES, async, DESCRIPTOR: both ends of a transfer may be strided, so that the tile of an operator that
                          only moves elements comes in the order in which its output has them      */
    bool pipelined; /* async: the next command may start when the work is done, before the latency  */
    bool multicast; /* MOVES: what several lanes of a private memory need alike is sent once        */
    bool sums; /* MOVES: outwards, what the lanes of a private memory hold of an element is added up on the way */
    int64_t count;     /* async: so many of them take turns                                            */
    int64_t energy_fj; /* COMPUTES: femtojoules of one loop point                                      */
    tw_cost cost;
    unsigned computes;      /* COMPUTES: bit c set for each tw_compute it can do                      */
    unsigned accumulate;    /* COMPUTES: bit m set for each tw_accumulate it offers                   */
    int shares;             /* ADDS: the compute engine whose row it excludes, -1: a unit of its own  */
    int64_t min_tile;       /* COMPUTES: a cut loop keeps at least this many points per tile, 1: any  */
    int64_t tile_multiple;  /* COMPUTES: a cut loop has tiles of a multiple of it, but for the last; 0 or 1: any */
    bool multiple_parallel; /* COMPUTES: only parallel loops do                                      */
    int n_tile_sizes;       /* COMPUTES: lists of sizes that count instead of tile_multiple, of loops; 0: none */
    const tw_tile_sizes *tile_sizes;
    bool unrolls_whole;    /* COMPUTES, array: each loop lies over one dimension of it at most                 */
    bool unrolls_parallel; /* COMPUTES, array: only loops that name the output lie over its rows and columns */
    bool pad_half;         /* COMPUTES: a tile's padding may not exceed floor(kernel / 2)            */
    bool late;             /* COMPUTES, async: needs the buffer that it writes only at its end       */
} tw_engine;

enum { TW_INWARDS = 1, TW_OUTWARDS = 2, TW_BOTH_WAYS = 3 };
const char *tw_carries_name(unsigned carries); /* "in", "out", "both" */
/* Cycles after the start of a command until its engine can start the next one. */
int64_t tw_engine_busy(const tw_engine *engine, int64_t work);

/* A number in the costs that measurements may settle, see `calibrate`. */
enum { TW_MAX_PARAMETERS = 24 };
typedef struct tw_parameter {
    const char *name;
    tw_loc loc, value_loc;      /* of the entry, and of the number in it                    */
    int64_t value, least, most; /* in thousandths                                           */
} tw_parameter;

typedef struct tw_platform tw_platform;
struct tw_machine {
    const char *name;
    tw_unit unit;
    tw_timing timing;
    tw_reuse reuse;
    int n_memories; /* outermost first; at least 2 */
    tw_memory memory[TW_MAX_MEMORIES];
    int n_engines;
    tw_engine engine[TW_MAX_ENGINES];
    int compute;                  /* index of the compute engine */
    unsigned has_apart;           /* bit c: tw_compute c has a cost of its own there, */
    tw_cost apart[TW_N_COMPUTES]; /* this one                                         */
    int64_t clock_mhz;            /* 0: not said */
    /* async */
    int64_t
        barrier; /* thousandths of a cycle that every command takes longer, until its engine and the others know */
    int64_t launch; /* thousandths of a cycle before the first command of an operator that is not fused with one
                        before it */
    bool pads;      /* loops are padded up to a multiple of the tile: edge tiles take as long as whole ones */
    bool arranged; /* of a view: the movers do all of the operator, which only moves elements; see tw_machine_for */
    tw_fusion fusion; /* of a view: the operator's */
    int n_parameters;
    tw_parameter parameter[TW_MAX_PARAMETERS];
    const struct tw_node *root; /* of the file that it was read from */
    const tw_platform
        *platform; /* all of it, see platform.h; NULL: the machine was made up and has no more than this */
};

/* The machine as this operator of the model meets it: with the cost that its compute engine has for it. Where the mover that
 * fills the compute engine's memory is strided, an operator that only moves elements needs no computing: loads put the
 * elements into the order of the output, and an execution stands for handing the buffer over to the store. It takes no time
 * and asks nothing of the tiles. Without a model (NULL) nothing is called a move, and what is fused is none. */
tw_machine tw_machine_for(const tw_machine *machine, const tw_model *model, const tw_op *op, tw_fusion fusion);
/* Whether the operand stays in the compute engine's memory between the operator, whose view this is, and a neighbour. */
bool tw_view_keeps(const tw_machine *view, const tw_op *op, int operand);

/* The memories that something passes between the outermost one and the compute engine, bit m for memory m; bit 0 is always set. */
typedef unsigned tw_path;
/* Of a role (one of TW_HOLDS_..), and of an operand. */
tw_path tw_machine_role_path(const tw_machine *machine, unsigned role);
tw_path tw_machine_path(const tw_machine *machine, const tw_op *op, int operand);
/* TW_HOLDS_ACTIVATIONS, .._WEIGHTS or .._OUTPUT. */
unsigned tw_role_of(const tw_op *op, int operand);
/* The memory outside of `memory` on the path; -1 before the outermost. */
static inline int tw_path_outer(tw_path path, int memory)
{
    for (int m = memory - 1; m > 0; m--)
        if (path >> m & 1) return m;
    return memory > 0 ? 0 : -1;
}
/* The memory where it ends: from there the compute engine reads, or there it writes. */
static inline int tw_path_innermost(tw_path path) { return tw_path_outer(path, TW_MAX_MEMORIES); }
/* Which ways something may pass between two memories, 0 when they are not neighbours on any path: inputs inwards, the
 * output outwards and, as partial sums, inwards. */
unsigned tw_machine_ways(const tw_machine *machine, int outer, int inner);
/* The first mover between two memories that carries operands of one of these roles that way (TW_INWARDS or TW_OUTWARDS), -1 when
 * there is none. */
int tw_machine_link(const tw_machine *machine, int outer, int inner, unsigned way, unsigned roles);
/* The one that carries this operand: a mover that names it comes before one that carries its role. */
int tw_machine_link_of(const tw_machine *machine, const tw_op *op, int operand, int outer, int inner, unsigned way);
/* Whether the mover carries the operand, by its name or its role, wherever it leads. */
bool tw_engine_carries(const tw_engine *mover, const tw_op *op, int operand);
/* Whether the movers carry every operand along its path, and the output ends where the compute engine works: a question only
 * where memories or movers name operands, since tw_machine_check sees to whole roles. */
TW_NODISCARD tw_status tw_machine_check_op(const tw_machine *machine, const tw_op *op, tw_diag *diag);
/* Whether its compute engine does such an operator. */
static inline bool tw_machine_computes(const tw_machine *machine, const tw_op *op)
{
    return machine->engine[machine->compute].computes >> op->compute & 1;
}
/* Lockstep: the mover that fills memory m (m >= 1); the adder that works on m, -1 when there is none. */
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
