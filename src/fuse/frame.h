/* src/fuse/frame.h - what of a segment does not depend on tiles.
 *
 * Which engine runs each operator, in which memories every tensor is held, which movers bring it there, which loops of the driver
 * may be cut. Tilings of the segment (tiling.h) are counted on that. */
#ifndef TW_FUSE_FRAME_H
#define TW_FUSE_FRAME_H
#include "fuse/segment.h"

enum { TW_FRAME_TENSORS = 64, TW_FRAME_STOPS = 2 * TW_MAX_MEMORIES };

typedef enum tw_frame_part { TW_COMES_IN, TW_GOES_OUT, TW_INTERMEDIATE } tw_frame_part;

typedef struct tw_frame_tensor {
    int tensor, maker; /* the operator that makes it, -1: none does   */
    tw_frame_part part;
    int op, operand;            /* that stand for it                           */
    int64_t units;              /* of an element                               */
    int n_memories;             /* that it is held in,                         */
    int memory[TW_FRAME_STOPS]; /* of the platform                             */
    int n_links;                /* movers that it passes, of the platform      */
    int link[TW_FRAME_STOPS];
    int64_t whole; /* units of all of it                          */
} tw_frame_tensor;

/* An operator on the engine that runs it. */
typedef struct tw_frame_op {
    int view;         /* -1: no engine does     */
    tw_engine engine; /* with the cost that it has for the operator */
    int n_spreads;
    const tw_spread *spread; /* all ways to lay its loops over the array; 0: there is no array */
} tw_frame_op;

/* What frames of a model on a machine have in common. */
typedef struct tw_frame_facts {
    const tw_model *model;
    const tw_machine *machine;
    const tw_frame_op *op;  /* of every operator of the model                                        */
    const int *home;        /* of every tensor: a memory in which it may be resident, 0: none        */
    const tw_span *readers; /* see tw_readers_of                                                      */
} tw_frame_facts;
TW_NODISCARD tw_status tw_frame_facts_of(const tw_model *model, const tw_machine *machine, tw_arena *arena,
                                         tw_frame_facts *out);

typedef struct tw_segment_frame {
    tw_segment segment;
    const tw_frame_facts *facts;
    const tw_machine *machine;
    const tw_platform *platform;
    const tw_frame_op *op; /* of the segment's first operator, and those behind it */
    int n_tensors;
    tw_frame_tensor tensor[TW_FRAME_TENSORS];
    int n_loops, loop[TW_MAX_LOOPS]; /* of the driver that may be cut, those first that make most of it smaller */
    int level;                       /* the memory of the platform whose level cuts */
    int outer; /* the last memory that is further outside than all that is made and read in the segment, and than where something from it is read; 0: none is */
} tw_segment_frame;

static inline const tw_op *tw_frame_driver(const tw_segment_frame *f)
{
    return tw_segment_op(&f->segment, f->segment.n - 1);
}
/* Whether tiles of this size, into which a piece of one of the driver's loops is cut, are as large as its engine asks (`min_tile`). */
static inline bool tw_frame_is_cut_large(const tw_segment_frame *f, int64_t piece, int64_t size)
{
    return size >= piece || piece / tw_cdiv(piece, size) >= f->op[f->segment.n - 1].engine.min_tile;
}
/* TW_INFEASIBLE when these operators cannot be one group on the machine, without a word: everything that is made before the driver is
 * read in the segment and nowhere else, by engines of one core. */
TW_NODISCARD tw_status tw_frame_of(const tw_frame_facts *facts, const tw_segment *segment, tw_arena *arena,
                                   const tw_segment_frame **out);
#endif
