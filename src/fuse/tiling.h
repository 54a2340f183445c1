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
    tw_spread over[TW_MAX_GROUP_OPS];
    double cycles, energy_fj; /* estimated */
    int64_t n_steps;
} tw_tiling;

/* Tensors at the ends of a segment that lie whole in a memory, between the groups that make and read them. */
typedef struct tw_seams {
    int in;   /* a tensor that comes in, -1: none is resident */
    bool out; /* what the driver makes                        */
} tw_seams;

typedef struct tw_frame tw_frame;
/* TW_INFEASIBLE when these operators cannot be one group on the machine, without a word. */
TW_NODISCARD tw_status tw_frame_of(const tw_segment *segment, const tw_seams *seams, const tw_machine *machine,
                                   tw_arena *arena, const tw_frame **out);
/* The outermost memory, of the platform, that the tensor passes on the way out of what makes it and on the way into all that read it; 0: there is
 * none. */
int tw_resident_memory(const tw_model *model, const tw_machine *machine, int tensor);
/* At most `most` tilings that fit, the best by `price` first; returns how many. */
typedef double tw_price_fn(const void *user, double cycles, double energy_fj);
typedef struct tw_pricing {
    tw_price_fn *price;
    const void *user;
} tw_pricing;
int tw_tilings_find(const tw_frame *frame, const tw_pricing *by, int most, tw_tiling *out);
/* The tiling as a group of a mapping. */
TW_NODISCARD tw_status tw_tiling_group(const tw_frame *frame, const tw_tiling *tiling, tw_arena *arena,
                                       tw_group_map *out);
#endif
