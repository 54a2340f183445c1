/* src/verify/steps.h - the tiles that a mapping asks for, one after the other.
 *
 * A *place* is a loop that a tiled level cuts into several tiles, outermost first. A step is one combination of their indices. On
 * an async machine all levels make one nest; on a lockstep machine each level walks by itself through the box that it is given.
 *
 *     place   0    1    2    3                 l1 tiles of k inside l2 tiles of m, n and k
 *     loop    m    n    k    k
 *     level   0    0    0    1
 *
 * How a loop is cut is read from the mapping and worked out here: nothing is asked of tile/. */
#ifndef TW_VERIFY_STEPS_H
#define TW_VERIFY_STEPS_H
#include "mapping/opmap.h"
#include "verify/verify.h"

enum { TW_STEPS_PLACES = 64 };

typedef struct tw_steps {
    const tw_op *op;
    int n_levels;
    const tw_level_map *map[TW_MAX_MEMORIES]; /* of the tiled levels that are walked, outermost first   */
    bool turns;                               /* every second sweep of a place runs backwards           */
    int n;
    int level[TW_STEPS_PLACES], loop[TW_STEPS_PLACES];
    int64_t most[TW_STEPS_PLACES];                       /* tiles, at most                                */
    int64_t at[TW_STEPS_PLACES], count[TW_STEPS_PLACES]; /* steps of the sweep that are over; tiles now    */
    bool backwards[TW_STEPS_PLACES];
    uint64_t first, last;            /* bit p: place p is at the first, at the last step of its sweep   */
    int moved;                       /* the outermost place that moved last, -1: none has              */
    tw_box box[TW_MAX_MEMORIES + 1]; /* box[0] is all, box[t + 1] the tile of level t                  */
    bool done;
} tw_steps;

/* Tiled level `from` of the mapping and those inside it, or that level alone. */
void tw_steps_init(tw_steps *w, const tw_op *op, const tw_op_map *map, int from, bool alone);
/* Stands on the first tile of this box, which is not larger than what the level was made for. */
void tw_steps_start(tw_steps *w, const tw_box *box);
/* On to the next; `done` after the last. */
void tw_steps_next(tw_steps *w);
/* Index of the tile that place p stands on. */
static inline int64_t tw_steps_index(const tw_steps *w, int p)
{
    return w->backwards[p] ? w->count[p] - 1 - w->at[p] : w->at[p];
}

/* How many tiles a level cuts so many points of a loop into, and tile i of a piece. */
int64_t tw_steps_tiles(const tw_level_map *map, int loop, int64_t len);
tw_span tw_steps_tile(const tw_level_map *map, int loop, tw_span piece, int64_t i);
int64_t tw_steps_longest(const tw_level_map *map, int loop, int64_t len);
#endif
