/* src/fuse/fuse.h - which operators of a model run together, tile by tile: a search over groups.
 *
 * Operators stand in the order in which they run. A *segment* of them may be one group if nothing that it makes on the way is needed
 * elsewhere; a mapping of groups cuts the order into segments:
 *
 *     c1 c2 c3 | pool c4 | add          cost of a cut = sum over its segments: a shortest path from end to end
 *
 * Of each segment the tilings are estimated in closed form (tiling.h), and the best of them are simulated when the shortest path
 * needs them; what single operators take is known from the plan layer by layer, whose mappings are tried as groups, too. So the path
 * is one of simulated groups alone when it is settled.
 *
 * What two tiles share is computed and loaded again, or kept where windows slide. The search does without slides first, and then looks for a path on
 * which they may: the better one counts. Where they win, single tensors are tried without.
 *
 * What a segment makes for the next one may also stay: lie whole in a memory that both use, where neither stores nor loads it. Such a seam is a
 * second way from one segment to the next, with less to move and less room for tiles; what the segments at it take is estimated. One tensor may
 * stay longer, until the last segment that reads it; those in between have less room. All groups
 * of the shortest path with such seams, and of the one without, are simulated as one program, in which other tilings of
 * each group are tried, too. */
#ifndef TW_FUSE_FUSE_H
#define TW_FUSE_FUSE_H
#include "fuse/tiling.h"
#include "mapping/limits.h"

typedef struct tw_fuse_request {
    const tw_model *model;
    const tw_machine *machine;
    const tw_op_map *apart; /* of each operator, as a group of its own may do it; NULL: not known */
    const tw_op *
        alone; /* the operators as those maps are about them: over the same tensors, perhaps in other views of them, and
                               perhaps with other loops. NULL: as the model has them */
    const tw_limits *limits; /* of which groups must be there; NULL: none must */
    tw_pricing by;           /* what is made small */
    bool is_attempt; /* nothing is to be proven, and there are other attempts: exact.h simulates a thirtieth */
    bool no_slides;  /* what tiles share is always loaded and computed again */
    int n_threads;   /* which change nothing but the time that it takes */
} tw_fuse_request;

typedef struct tw_fused {
    tw_mapping mapping;
    const tw_model *model; /* that it is about: where an operator is a group of its own, it may be as it is alone */
    int64_t cycles, energy_fj; /* of all as one program */
    int n_simulated;           /* programs              */
    int blocked; /* TW_INFEASIBLE: an open group of the limits for which no tiling fits; -1: that is not the reason */
} tw_fused;

/* TW_INFEASIBLE, without a word, when no mapping of groups was found. */
TW_NODISCARD tw_status tw_fuse_find(const tw_fuse_request *asked, const tw_work *work, tw_fused *out);
#endif
