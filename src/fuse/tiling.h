/* src/fuse/tiling.h - ways to cut segments into tiles, each with what it costs in closed form.
 *
 * A *tiling* cuts up to three loops of the driver. Tiles along a loop are all alike but for those at its ends, so
 * that three of them (the first, one in the middle, the last) stand for all:
 *
 *     tiles along oy    0  1  2  ...  n-2  n-1        first x 1, middle x (n - 2), last x 1
 *
 * Engines are busy for the sum over all tiles; the whole takes as long as the engine that is busy longest and, where data is double-buffered,
 * what nothing overlaps with: the first loads, the last stores. That is an estimate, by which tilings are ordered: what one really takes
 * is simulated. The memory that it needs is exact, or less.
 *
 * Where windows slide along a cut, the tile before counts: of what is asked for, that has been there is not made or moved again. What does
 * so is held in a circular buffer as large as the largest window, and each further buffer of it as large as what is new (docs/design/slide.md).
 *
 * Where reductions of a segment can run along a reduction of its driver, tilings that cut it, innermost, are tried, too: what runs is executed at every
 * tile, and rescaled at all but the first.
 *
 * Where what one output needs is too much for a memory, or leaves the array empty, reductions of a single operator are cut, too, innermost: its sums stay until they are complete.
 *
 * **Two levels.** Where all that is made in a segment is held further inside than some memory that its inputs and outputs pass, tiles of that memory may be larger than those that
 * are executed, and are cut again:
 *
 *     dram | l2: 14 rows, loaded and stored at once | l1: 4 rows x 8 columns of these | array
 *
 * What l2 holds and what passes between dram and l2 depends on the outer tiles alone; all else is that of a grid of inner tiles, as long as outer ones are multiples of them. So both
 * *halves* are counted like tilings of one level, each in its own memories and on its own movers, the best of either kind are kept, and pairs of them are put together (halves.c).
 *
 * All segments that end with the same operator are counted together. What a tile asks of an operator depends on those behind it alone, so
 * that a segment is the next shorter one and one more operator in front:
 *
 *     c1 c2 c3 c4     c4 drives: the boxes of c4, c3, c2 are the same in  c4 | c3 c4 | c2 c3 c4 | c1 c2 c3 c4
 *
 * What is inside a segment and what no operator makes needs as much room in all longer ones: where that does not fit, they do not either. */
#ifndef TW_FUSE_TILING_H
#define TW_FUSE_TILING_H
#include "fuse/frame.h"

enum { TW_TILING_CUTS = 4 }; /* three but for sums */

/* Tiles of the memories up to a frame's `outer`, which are cut again further inside. */
typedef struct tw_outer_tiles {
    int n_cuts;
    int loop[TW_TILING_CUTS];
    int64_t size[TW_TILING_CUTS];
    int64_t in_slots, out_slots;
    uint64_t changing;
    int slide;
    uint64_t slides;
} tw_outer_tiles;

typedef struct tw_tiling {
    bool nested; /* tiles of two levels: what is said here is of those inside, and cuts those of `outer` */
    tw_outer_tiles outer;
    int n_cuts;
    int loop[TW_TILING_CUTS]; /* of the driver, outermost first                        */
    int64_t size[TW_TILING_CUTS];
    int64_t in_slots, out_slots; /* buffers of what comes into the group, and of what it makes */
    uint64_t changing;           /* bit i: what is held of the frame's tensor i is not the same in all steps */
    uint64_t resident;           /* bit i: the tensor lies whole in a memory between groups                   */
    int slide;                   /* 1 + the cut along which windows slide, 0: none does                       */
    uint64_t slides;             /* bit i: the tensor's window does, so that what two tiles share is kept     */
    int running; /* 1 + the driver's loop, the last that is cut, along which reductions run (model/running.h); 0: none do */
    bool sums; /* the last cuts are reductions of the driver, whose output stays until it is complete */
    tw_spread over[TW_MAX_GROUP_OPS];
    double cycles, energy_fj, price; /* estimated */
} tw_tiling;

/* What lies whole in a memory while the segment runs: of what it reads, what it makes, and what is there for others. */
typedef struct tw_seams {
    int n_in, in[2]; /* tensors of other segments that it reads where they are resident */
    bool out;        /* what it makes is, from now on                                   */
    int shelf;       /* a memory of which others have                                   */
    int64_t passing; /* so many units for a tensor that the segment does not touch      */
} tw_seams;
typedef double tw_price_fn(const void *user, double cycles, double energy_fj);
typedef struct tw_pricing {
    tw_price_fn *price;
    const void *user;
} tw_pricing;
/* Tilings of one segment between given seams, the best by its price first. */
typedef struct tw_tilings {
    tw_seams seams;
    bool keeps;  /* those in which windows slide; otherwise what tiles share is loaded and computed again */
    bool nests;  /* those of two levels; otherwise of one                                                  */
    int most, n; /* room but for one more; found   */
    tw_tiling *tiling;
} tw_tilings;

enum { TW_MAX_LISTS = 48 };
/* All segments that one operator drives; number i has i + 1 operators. */
typedef struct tw_drive {
    int n;
    bool sums; /* a single operator may cut its reductions: no mapping of it is known from elsewhere */
    const tw_segment_frame *frame[TW_MAX_GROUP_OPS]; /* NULL: they cannot be one group */
    int n_lists[TW_MAX_GROUP_OPS];
    tw_tilings list[TW_MAX_GROUP_OPS]
                   [TW_MAX_LISTS]; /* which differ in their seams, in what is kept and in levels */
} tw_drive;

/* Counts tilings, for one thread. What it remembers changes no result. */
typedef struct tw_tiler tw_tiler;
TW_NODISCARD tw_status tw_tiler_new(const tw_pricing *by, tw_arena *arena, tw_tiler **out);
/* Fills in all lists of the drive. */
TW_NODISCARD tw_status tw_tilings_find(tw_tiler *tiler, tw_drive *drive);
/* Fills in one list of one segment. */
TW_NODISCARD tw_status tw_tilings_find_one(tw_tiler *tiler, const tw_segment_frame *frame, tw_tilings *list);
/* The tiling as a group of a mapping. */
TW_NODISCARD tw_status tw_tiling_group(const tw_segment_frame *frame, const tw_tiling *tiling, tw_arena *arena,
                                       tw_group_map *out);
#endif
