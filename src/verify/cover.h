/* src/verify/cover.h - was every loop point executed once, and every output element stored once?
 *
 * Sets of loop points are compared by fingerprint, a number modulo the prime 2^61 - 1. Every index of
 * every loop has a pseudo-random weight; a point weighs the product of its indices' weights, a set the
 * sum of its points. Fingerprints of sets that are put together add up, so a buffer's history fits in
 * one number, and a point that is missing or doubled changes it. */
#ifndef TW_VERIFY_COVER_H
#define TW_VERIFY_COVER_H
#include "core/deadline.h"
#include "model/model.h"

typedef struct tw_cover tw_cover;
/* NULL when out of memory. When the deadline (NULL: none) is over, fingerprints are no longer right. */
tw_cover *tw_cover_new(const tw_op *op, const tw_deadline *deadline, tw_arena *arena);

/* Fingerprint of what the points of a sound box contribute. Padding contributes nothing: a point counts
 * where the inputs it combines lie inside their tensors, and where each input contributes on its own
 * (everything but products) it counts once for each input. A map has its value everywhere: there every point counts
 * once. */
uint64_t tw_cover_box(tw_cover *cover, const tw_box *box);
/* The same for all there is to do for a region of the output: its positions times the whole reduction. */
uint64_t tw_cover_finished(tw_cover *cover, const tw_region *region);
/* Fingerprint of the positions of an output region. */
uint64_t tw_cover_region(const tw_cover *cover, const tw_region *region);
/* Of the union, with multiplicity; of a without b, which it contains. */
uint64_t tw_cover_add(uint64_t a, uint64_t b);
uint64_t tw_cover_subtract(uint64_t a, uint64_t b);

/* The positions inside the tensor that a box touches along one axis of an operand, as a hull; false when
 * there are none. Found by visiting every combination of the axis' loops. */
bool tw_cover_touch(tw_cover *cover, int operand, int axis, const tw_box *box, tw_span *out);
/* The same for all axes. */
bool tw_cover_reach(tw_cover *cover, int operand, const tw_box *box, tw_region *out);
#endif
