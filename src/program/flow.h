/* src/program/flow.h - the one nest of tile loops that an async program walks, and who keeps what in it.
 *
 * The loops of all tiled levels form one nest; a *place* is one loop of one level that is cut there:
 *
 *     place   0    1    2    3                 l1 tiles of k inside l2 tiles of m, n and k
 *     loop    m    n    k    k
 *     level   0    0    0    1
 *
 * One step is one combination of indices: one execution. In each memory of its path an operand has a *residency*: a
 * tile arrives, is used, and leaves. Two numbers say how long. The grain is the tile of the tiled level that the
 * memory belongs to (the places of that level and of those outside it). The depth is a place: the residency lasts while
 * the places outside the depth stand still, so what the loops inside touch is kept.
 *
 * During a residency some places run: those inside the depth that the operand does not depend on, and all inside the
 * grain. With sets of places, bit p for place p, everything that a step has to know becomes a test of masks against
 * the places that stand on their first index and those on their last:
 *
 *     a tile comes    when all places of `first` stand on their first index
 *     it leaves       when moreover all places of `last` stand on their last
 *
 * For the output a residency begins when all running places stand on their first index and ends when they stand on their
 * last. `first` collects the running places of this memory and of those inside it, since a tile is sent for only when the
 * memory inside asks; `last` are the running places that the memory inside does not fix. The same sets give
 * the traffic in closed form: see tw_flow_traffic.
 *
 * The sets are those of the nest at its largest. A piece at the edge may have a single tile of a loop that other pieces
 * have several of; there a tile that could have stayed leaves and comes back, and is counted as often.
 *
 * A serpentine nest turns around at the end of a sweep, and the place outside moves while all inside it stand still: a
 * stay whose key does not move then goes on. Whether it does is asked when a place moves, see renew_stays. */
#ifndef TW_PROGRAM_FLOW_H
#define TW_PROGRAM_FLOW_H
#include "mapping/mapping.h"
#include "program/instr.h"

enum { TW_MAX_PLACES = 40 };
typedef uint64_t tw_places;

typedef struct tw_flow_place {
    int level, loop;
} tw_flow_place;

typedef struct tw_sliding { /* along what a window slides: see slide.h */
    int axis, loop, place;
    int64_t ahead; /* rows by which the largest tile moves it on */
} tw_sliding;

typedef struct tw_residency { /* of one operand in one memory */
    bool here;                /* the memory is on the operand's path; memory 0 is on all                 */
    int grain;                /* tiled level, -1: it is whole                                            */
    int outer, inner;         /* next memories on the path, -1: none                                     */
    int16_t filler;           /* mover from `outer` into this memory, -1: none                           */
    int16_t drain;            /* output: mover to `outer`                                                */
    int16_t pool;             /* the operand under whose name the buffers are                            */
    int depth;                /* places outside of it                                                    */
    tw_places key;            /* the residency ends when one of these moves                                   */
    tw_places running;        /* places that run during a residency                                           */
    tw_places first, last;
    bool resident;   /* it never comes and never goes: see tw_op_map.fused                       */
    bool passing;    /* every tile is handed on at once                                         */
    bool returns;    /* output: partial sums leave this memory and come back                    */
    int64_t needed;  /* tiles held at once                                                      */
    int64_t n_tiles; /* that differ during a residency: the table of who is where has so many entries */
    int64_t stride[TW_MAX_PLACES]; /* entry of a tile = sum of stride x index                       */
    int64_t n_numbers;             /* tiles of the operand at this grain, uneven ones counted full  */
    int64_t number[TW_MAX_PLACES]; /* number of a tile = sum of number x index                      */
    bool slides;                   /* only the new rows of a tile come, into a circular buffer      */
    tw_sliding slide;
    int asks; /* the sliding memory whose new rows come into this one: itself, or one that it hands them on to; 0: none */
} tw_residency;

typedef struct tw_flow {
    int n_places; /* outermost first */
    tw_flow_place place[TW_MAX_PLACES];
    int64_t trips[TW_MAX_PLACES]; /* at most                                                          */
    tw_places reductions;
    bool serpentine;
    bool any_slides;
    bool sums[TW_MAX_MEMORIES]; /* unfinished sums of the output lie there; elsewhere only finished elements do */
    int innermost[TW_MAX_OPERANDS]; /* memory that the compute engine reads the operand from, or writes it to */
    bool joins[TW_MAX_MEMORIES];    /* the inputs come into this memory in one command                  */
    tw_spread over;                 /* loops over the dimensions of the array                           */
    tw_residency (*residency)
        [TW_MAX_OPERANDS]; /* of each memory of the machine, not more: they are cleared for every program */
    int64_t needed[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* per pool: slots that suffice; with fewer an
                                                         operand that has a pool of its own deadlocks */
} tw_flow;

/* Transfers of an operand into a memory over the whole program, by the formula: tiles, and elements. For the output:
 * visits, that is stores out of the memory. Nests that are serpentine have no formula. False when a number leaves
 * 64 bits. */
typedef struct tw_flow_count {
    int64_t transfers, elems;
    int64_t sweep; /* elements of all tiles, each once */
    /* Of a window that slides, over the loops of its axis alone: those loops, the windows that bring something, and their new rows. */
    unsigned slid_loops;
    int64_t windows, new_rows;
} tw_flow_count;
#endif
