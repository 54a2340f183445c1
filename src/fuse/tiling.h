/* src/fuse/tiling.h - ways to cut a segment into tiles, each with what it costs in closed form.
 *
 * A *frame* is what of a segment does not depend on tiles: which engine runs each operator, where every tensor is held, which movers
 * bring it there. A *tiling* cuts up to three loops of the driver. Tiles along a loop are all alike but for those at its ends, so
 * that three of them (the first, one in the middle, the last) stand for all:
 *
 *     tiles along oy    0  1  2  ...  n-2  n-1        first x 1, middle x (n - 2), last x 1
 *
 * Engines are busy for the sum over all tiles; the whole takes as long as the engine that is busy longest and, where data is double-buffered,
 * what nothing overlaps with: the first loads, the last stores. That is an estimate, by which tilings are ordered: what one really takes
 * is simulated. The memory that it needs is exact, or less. */
#ifndef TW_FUSE_TILING_H
#define TW_FUSE_TILING_H
#include "fuse/segment.h"

enum { TW_TILING_CUTS = 3 };

typedef struct tw_tiling {
    int n_cuts;
    int loop[TW_TILING_CUTS]; /* of the driver, outermost first                        */
    int64_t size[TW_TILING_CUTS];
    int64_t in_slots, out_slots; /* buffers of what comes into the group, and of what it makes */
    uint64_t changing;           /* bit i: what is held of the frame's tensor i is not the same in all steps */
    uint64_t resident;           /* bit i: the tensor lies whole in a memory between groups                   */
    tw_spread over[TW_MAX_GROUP_OPS];
    double cycles, energy_fj, price; /* estimated */
} tw_tiling;

/* Which loops lie over arrays, as far as that was found before; for all frames of a model. */
typedef struct tw_spread_memo tw_spread_memo;
TW_NODISCARD tw_status tw_spread_memo_new(const tw_model *model, tw_arena *arena, tw_spread_memo **out);

typedef struct tw_frame tw_frame;
/* TW_INFEASIBLE when these operators cannot be one group on the machine, without a word. */
TW_NODISCARD tw_status tw_frame_of(const tw_segment *segment, const tw_machine *machine, tw_spread_memo *memo,
                                   tw_arena *arena, const tw_frame **out);
/* The outermost memory, of the platform, that the tensor passes on the way out of what makes it and on the way into all that read it; 0:
 * there is none. */
int tw_resident_memory(const tw_model *model, const tw_machine *machine, int tensor);

/* The ends of a segment: what comes from the segment before it, and what it makes, may lie whole in a memory between the groups. */
typedef struct tw_seams {
    bool in, out;
} tw_seams;
typedef double tw_price_fn(const void *user, double cycles, double energy_fj);
typedef struct tw_pricing {
    tw_price_fn *price;
    const void *user;
} tw_pricing;
/* Tilings of one segment between given seams, the best by its price first. */
typedef struct tw_tilings {
    tw_seams seams;
    int in_tensor; /* that is resident if `seams.in` */
    int most, n;   /* room; found                    */
    tw_tiling *tiling;
} tw_tilings;
/* Finds those of `n` lists of the same frame, which differ in their seams. */
void tw_tilings_find(const tw_frame *frame, const tw_pricing *by, tw_tilings *list, int n);
/* The tiling as a group of a mapping. */
TW_NODISCARD tw_status tw_tiling_group(const tw_frame *frame, const tw_tiling *tiling, tw_arena *arena,
                                       tw_group_map *out);
#endif
