/* src/fuse/alike.h - which segments are alike, so that how one of them is run best is known of all.
 *
 *     c0 c1 c2 c3 c4 ..     twenty equal convolutions: c1 c2 is like c3 c4, and is tiled once
 *
 * Two segments are alike if their operators are described alike and their tensors are shared alike, in whatever names and numbers: the tensors of a segment are numbered in the order in which its
 * operators name them. What depends on the segment alone can then be written down in these numbers, and read in those of the model by another one. */
#ifndef TW_FUSE_ALIKE_H
#define TW_FUSE_ALIKE_H
#include "fuse/segment.h"

typedef struct tw_alike tw_alike; /* numbers that were given out, in memory of the arena */
TW_NODISCARD tw_status tw_alike_new(tw_arena *arena, tw_alike **out);
/* Another model, whose segments may be like those of the models before. */
TW_NODISCARD tw_status tw_alike_open(tw_alike *a, const tw_model *model);
/* The number of the segment, of the model that was opened last: that of all segments like it. */
TW_NODISCARD tw_status tw_alike_number(tw_alike *a, const tw_segment *segment, int *number);

/* The number of a tensor of the model in the segment; -1: the segment does not touch it. */
int tw_alike_local(const tw_segment *segment, int tensor);
/* The tensor of the model with this number in the segment. */
int tw_alike_tensor(const tw_segment *segment, int local);
#endif
