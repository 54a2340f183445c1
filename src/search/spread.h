/* src/search/spread.h - which loops an array does side by side: the choices that are worth a frame, and how they are written.
 *
 * Over a dimension of d units lie any number of loops; a tile takes ceil(points of these loops / d) passes along it, and the points of
 * the loops that lie over none are done one after the other. So one loop more never adds a pass:
 *
 *     ceil(p len / d) <= len ceil(p / d)
 *
 * and passes are all that a spread decides about. Executions that take less never end a program later. So the best of the spreads
 * in which every loop that may lie over the array does is the best of all, and D dimensions and n loops make D^n frames. Of
 * dimensions of one size those that are used come first: the others mirror them. That is about loops that lie over one dimension each;
 * for those that are divided over several layout.h has a frame of its own.
 *
 * A mapping says less where that is the same for its tiles: a loop that fills no pass better is left out, and what is the default then
 * is not said at all. */
#ifndef TW_SEARCH_SPREAD_H
#define TW_SEARCH_SPREAD_H
#include "search/space.h"

enum {
    TW_MOST_SPREADS = 1024,    /* with more, those with the fewest passes if nothing is cut     */
    TW_MOST_CHOICES = 1 << 20, /* with more, only the longest loops are laid over the array     */
    TW_MAX_TILES = 64,
};

typedef struct
    tw_tiles { /* the innermost tiles along some loops: volumes that are all different, and how many there are of each */
    int n;
    int64_t len[TW_MAX_TILES], count[TW_MAX_TILES];
} tw_tiles;

/* The spreads that are frames, at least one, those with the fewest passes first; joined, before all others: whatever suits the tiles, with
 * loops that may be divided, see layout.h. */
typedef struct tw_laying {
    bool joined;
    tw_spread over;
} tw_laying;
TW_NODISCARD tw_status tw_spreads_of(const tw_space *space, tw_arena *arena, int *n, tw_laying **out);
/* Of a part in which only buffers are open: the simplest spread that takes the same passes; no loop at all: the default does. */
tw_spread tw_spread_plain(const tw_space *space, const tw_part *part);

/* Of a part whose sizes are chosen, and no rule: whether the same tiles take no more passes in another frame, each of them by whichever rule; of frames
 * in which they take as many the first is not beaten. So of all frames with the same tiled levels one is not. Rules are tried and put back; tiles
 * that were compared are added to *n_asked. */
bool tw_spread_is_beaten(const tw_space *space, tw_part *part, int64_t *n_asked);

/* The innermost tiles along loop l; false when they are not all chosen, or too many. */
bool tw_part_tiles(const tw_space *space, const tw_part *part, int l, tw_tiles *out);
/* Each of them combined with each of the others; false when that makes too many volumes. */
bool tw_tiles_combine(tw_tiles *all, const tw_tiles *others);
#endif
