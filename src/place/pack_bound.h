/* src/place/pack_bound.h - a lower bound on the height that alignment asks for.
 *
 *     A          2A         3A         4A
 *     |==a==.....|===b======|=c=.......|==d===      align A: each but the highest takes its size rounded up to A
 *
 * Items that are live at one time and whose alignments are multiples of A start at multiples of A, so that two of them are
 * apart by the lower one's size, rounded up. Only the highest is not followed by another: the one with the most to round. */
#ifndef TW_PLACE_PACK_BOUND_H
#define TW_PLACE_PACK_BOUND_H
#include "place/pack.h"

/* No placement of the items is lower than *bound; 0 when no item is aligned. */
TW_NODISCARD tw_status tw_pack_aligned_bound(const tw_pack_item *item, int n, tw_arena *scratch, int64_t *bound);
#endif
