/* src/fuse/partly.h - a tensor that does not stay on chip as a whole between two groups, but in part.
 *
 * What an operator makes for the next group may be too large to be resident beside all else. Then one part of it can be: the operator is divided in two along an axis of what it makes (model/divided.h), each half
 * of its points a group of its own, and the next group finds one part on chip and loads the other:
 *
 *     conv.part0   rows  0 .. 9     stay --------------------> conv2, reads both as pieces of one input
 *     conv.part1   rows 10 .. 27    stored, and loaded again -> conv2
 *
 * Either part may be the one that stays: the first is there while the second is made, the last takes no room before. What both halves read alike comes twice, or is resident itself, too. Of every operator that is a group by itself and
 * hands on to the next group alone, the largest parts that fit are tried, in eighths, along the first two axes, each with its tilings counted for exactly the memory that is left; the rest of the mapping stays as it is. Whole
 * programs are simulated, and the best one is kept. The answer is of another model, with one operator more. */
#ifndef TW_FUSE_PARTLY_H
#define TW_FUSE_PARTLY_H
#include "fuse/fuse.h"

/* `base` is a mapping of the request's model with its figures. Of *out `mapping.n_groups` is 0 when nothing is better. */
TW_NODISCARD tw_status tw_partly_find(const tw_fuse_request *asked, const tw_fused *base, const tw_work *work,
                                      tw_fused *out);
#endif
