/* src/fuse/ways.h - all ways to run a few operators, on one core or on several: a space so small that it can be listed.
 *
 * **Several cores.** A *run* is a segment (segment.h) of the operators in the model's order. It runs whole on one core, or its last operator's work is split along one of
 * its parallel loops over two cores or more, in the machine's order, each with one index at least:
 *
 *     whole     each core
 *     split     each parallel loop x each set of cores x each cut of the loop into as many pieces
 *
 * and each of these with tiles of one loop at most:
 *
 *     one tile
 *     tiles     each parallel loop x 2 .. 8 tiles of every part (sizes rounded up; what makes the same tiles counts once)
 *               x one buffer of everything, or two of what the run loads or stores and what is not the same in all of them
 *
 * **One core** (ways_one.c), on which what a run reads and makes is held in one memory or in two, one further inside. A run is one group, each with
 *
 *     cuts      none, one or two parallel loops of the last operator, in either order, in tiles of any size; before that, of the tiles of the outer of two memories, none or one
 *     buffers   one or two of what comes in, one or two of what goes out, each unless all tiles have the same of it; of two memories, one or two of both in each
 *     slides    of each tensor but weights and what the last operator makes, in each memory: along its last cut, or not at all
 *
 * Operators run on the first engine of the core that computes them. What lies over an array is what takes the fewest passes for the largest tile, of all ways to lay all
 * loops over its dimensions the first (of two dimensions the first one changes first). */
#ifndef TW_FUSE_WAYS_H
#define TW_FUSE_WAYS_H
#include "fuse/segment.h"
#include "mapping/mapping.h"

enum { TW_WAYS_CORES = 4, TW_WAYS_TILES = 8 };

typedef struct tw_way {
    int n; /* parts, each on a core of its own                   */
    const tw_group_map *group;
    int home; /* memory in which the output can stay; 0: none, it is made in parts */
} tw_way;
typedef struct tw_ways {
    int n; /* more than asked for: nothing is listed */
    const tw_way *way;
} tw_ways;

/* Whether the machine is of the kind that such lists are about: one core, or up to TW_WAYS_CORES cores, each with one memory inside of memory 0, and nothing shared; no
 * private memories. */
bool tw_ways_suit(const tw_machine *machine);
/* The best of all ways to lay the operator's loops over the view's array for this box; nothing where there is none. */
tw_spread tw_ways_lay_over(const tw_machine *view, const tw_op *op, const tw_box *box);
/* `most`: how many there may be; on one core, those that no mapping may say included. */
TW_NODISCARD tw_status tw_ways_list(const tw_segment *segment, const tw_machine *machine, int most, tw_arena *arena,
                                    tw_ways *out);
/* The same on one core; called by it. */
TW_NODISCARD tw_status tw_ways_list_one(const tw_segment *segment, const tw_machine *machine, int most,
                                        tw_arena *arena, tw_ways *out);
#endif
