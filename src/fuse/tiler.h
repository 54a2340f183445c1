/* src/fuse/tiler.h - what the files that count tilings share (tiling.h).
 *
 *     tiling.c          operators come in from the driver backwards; sizes, loops, lists
 *     tiling_price.c    what moves, what has to fit, what it all takes
 *     halves.c          tiles of two levels
 *     tiling_group.c    a tiling as a group of a mapping                                      */
#ifndef TW_FUSE_TILER_H
#define TW_FUSE_TILER_H
#include "fuse/tiling.h"
#include "model/running.h"

enum { TW_MOST_CORNERS = 81, TW_TILER_MEMO = 1 << 12 };

/* Memories of a frame: all of them, those up to frame.outer, or those further inside. */
typedef enum tw_side { TW_BOTH_SIDES, TW_OUTER_SIDE, TW_INNER_SIDE } tw_side;
/* What the mover or the port takes that is busy longest; what comes into the first operator first, and what goes out last. */
typedef struct tw_moving {
    double moved, first, last;
} tw_moving;

typedef struct tw_corner { /* one combination of first, middle and last tiles */
    int at[TW_TILING_CUTS];
    double times[TW_TILING_CUTS + 1]; /* it stands for times[d] of those that the first d cuts make */
    int same;                         /* cuts from here on stand at their first tile               */
    bool end[2];                      /* it is the first of all, the last of all                   */
} tw_corner;

typedef struct tw_link_sums { /* of a tensor on a mover */
    int mover, op;            /* the operator whose operand shapes the transfers                  */
    int64_t version;          /* of the tensor's sums                                             */
    double cycles, first, last, energy_fj;
} tw_link_sums;

typedef struct tw_tiler_seen { /* a tensor, as far as operators are in that touch it */
    int tensor;
    bool is_made;                         /* by an operator that may come in                                  */
    bool twice;                           /* it is held together with what it was before                      */
    int64_t version;                      /* 0: nobody reads it yet in this tiling                            */
    int inner;                            /* cuts that count, the others leave what is held as it is          */
    int64_t most, ahead;                  /* elements held at once; most that come for the next window        */
    int64_t elems[TW_MOST_CORNERS];       /* that are held at each corner,                                    */
    tw_region region[TW_MOST_CORNERS];    /* and where                                                        */
    int axis;                             /* along which the window slides, -1: it does not                   */
    int64_t fresh_elems[TW_MOST_CORNERS]; /* then: what is new,                                             */
    tw_region fresh[TW_MOST_CORNERS];
    int64_t old_elems[TW_MOST_CORNERS]; /* and what the tile before holds if nothing slides                 */
    tw_region old[TW_MOST_CORNERS];
    int n_links;
    tw_link_sums link[TW_FRAME_STOPS];
} tw_tiler_seen;

/* What is made or moved at a corner. */
static inline int64_t tw_fresh_elems(const tw_tiler_seen *s, int c)
{
    return s->axis >= 0 ? s->fresh_elems[c] : s->elems[c];
}
static inline const tw_region *tw_fresh_region(const tw_tiler_seen *s, int c)
{
    return s->axis >= 0 ? &s->fresh[c] : &s->region[c];
}

typedef struct tw_entered {             /* an operator that is in */
    int output, input[TW_MAX_OPERANDS]; /* as seen                                                      */
    tw_box whole, box[TW_MOST_CORNERS];
    tw_box old[TW_MOST_CORNERS]; /* where windows slide: of the tile before, if nothing did */
    double peak, worked, points; /* cycles at the peak of the engine, and with its loops over the array */
    double last_work;
    bool is_spread; /* `over` and `worked` are known in this tiling */
    const tw_spread *over;
} tw_entered;

typedef struct tw_remembered {
    const tw_frame_op *op;
    int64_t len[TW_MAX_LOOPS];
    const tw_spread *spread;
} tw_remembered;

/* Tiles of one side of a frame, and what they take there. */
typedef struct tw_half {
    tw_outer_tiles is;
    int running;
    double cycles, energy_fj, price, last_work;
    tw_moving moving;
    const tw_spread *over[TW_MAX_GROUP_OPS];
} tw_half;
enum { TW_MOST_HALVES = 4 };
/* The best halves of a segment between given seams: of the outer and of the inner side, without windows that slide and with them. */
typedef struct tw_halves {
    int n[2][2];
    tw_half half[2][2][TW_MOST_HALVES];
} tw_halves;

struct tw_tiler {
    const tw_pricing *by;
    tw_remembered memo[TW_TILER_MEMO]; /* the best spread for a tile; a new one takes the place of an old one */
    /* the drive at hand */
    tw_drive *drive;
    const tw_segment_frame *widest;                /* that has all operators which may come in             */
    int index[TW_MAX_GROUP_OPS][TW_FRAME_TENSORS]; /* of each frame's tensors as seen                  */
    bool wanted[TW_MAX_GROUP_OPS];                 /* frames that the loops at hand are for                 */
    int n_seen;
    tw_tiler_seen seen[TW_FRAME_TENSORS];
    tw_entered entered[TW_MAX_GROUP_OPS]; /* the driver first */
    /* the tiling at hand */
    int64_t version;
    int n_corners;
    tw_corner corner[TW_MOST_CORNERS];
    int n_classes[TW_TILING_CUTS], step[TW_TILING_CUTS]; /* along a cut; from a corner to the next one */
    /* where reductions run along a loop: of the only frame that is tried then */
    tw_running running;
    int n_running; /* operators of that frame, 0: none run */
    /* where tiles may be of two levels: of each frame, those between the seams of each list; NULL: they may not */
    tw_arena *arena;
    tw_halves *halves[TW_MAX_GROUP_OPS][TW_MAX_LISTS], *room[TW_MAX_GROUP_OPS][TW_MAX_LISTS];
};

/* The frame's operator that came in as number d, the driver being number 0. */
static inline int tw_tiler_op(const tw_segment_frame *f, int d) { return f->segment.n - 1 - d; }
static inline const tw_tiler_seen *tw_seen_of(const tw_tiler *w, const tw_segment_frame *f, int i)
{
    return &w->seen[w->index[f->segment.n - 1][i]];
}

/* ---- tiling_price.c ---- */

/* Of the frame's tensors, those that are resident between the seams of the list. */
uint64_t tw_tiler_residents(const tw_segment_frame *f, const tw_tilings *list);
/* The first of the tensor's memories that holds tiles of it, and of the links that move them: those inside of where it is resident. */
int tw_tiles_from(const tw_segment_frame *f, uint64_t resident, int i);
/* With as many buffers as fit, two of each at best, each memory by itself, beside what is resident; false: nothing fits. */
bool tw_tiler_fits(const tw_tiler *w, const tw_segment_frame *f, tw_side side, const tw_seams *seams, tw_tiling *t);
/* The memories in which no longer segment fits, either: what is inside stays so, and what nobody makes comes in. Bit 63 stands for all from there on. */
uint64_t tw_tiler_full(const tw_tiler *w, const tw_segment_frame *f);
/* Time and energy between the tiling's seams. Where loads, executions and stores do not overlap they add up. */
tw_moving tw_tiler_price(tw_tiler *w, const tw_segment_frame *f, tw_side side, bool peak, tw_tiling *t);
/* What movers and the work inside take together, with the tiling's buffers. */
double tw_tiler_overlap(const tw_moving *m, double worked, double last_work, const tw_tiling *t);

/* ---- tiling.c ---- */

/* The loops over the arrays that suit a tile in the middle, and what all operators that are in take with them. */
void tw_tiler_spread(tw_tiler *w, int n_entered, const tw_tiling *t);
/* What of the tensors changes and slides with the tiling. */
void tw_tiler_describe(const tw_tiler *w, const tw_segment_frame *f, tw_tiling *t);
/* Whether groups can say how windows slide in all memories of the side: not in lanes, and further outside only along the last cut. */
bool tw_tiler_may_slide(const tw_tiler *w, const tw_segment_frame *f, tw_side side, const tw_tiling *t);
/* Puts the tiling on the list if it is among the best. */
void tw_tilings_keep(tw_tilings *list, const tw_tiling *t);

/* ---- halves.c ---- */

/* Makes room for halves, where tiles can be of two levels. */
TW_NODISCARD tw_status tw_halves_open(tw_tiler *w);
/* The tiling at hand as a half of either side that is not full; false: it is not among the best of this segment. */
bool tw_halves_offer(tw_tiler *w, int n_entered, uint64_t full, tw_tiling *t);
/* Whether nothing of the frame can fit any more with these memories full. */
bool tw_halves_are_over(const tw_segment_frame *f, uint64_t full);
/* Pairs of halves become tilings of the lists. */
void tw_halves_join(tw_tiler *w);
#endif
