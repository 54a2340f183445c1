/* src/place/pack_heuristic.h - a placement at once, without any promise: first fit. */
#ifndef TW_PLACE_PACK_HEURISTIC_H
#define TW_PLACE_PACK_HEURISTIC_H
#include "place/pack.h"

enum { TW_PACK_FIRST_FIT_MAX = 4000 }; /* beyond, items are placed once, in the order of time */

typedef struct tw_pack_first {
    int64_t height; /* INT64_MAX: an item with windows found no room                                   */
    int clash;      /* a fixed item that overlaps another fixed one; then nothing else counts; -1: none */
} tw_pack_first;
/* Offsets and their height, the best of a few orders. When the deadline, which may be NULL, is
 * over, items are no longer put into holes, but on top of each other. */
TW_NODISCARD tw_status tw_pack_first_fit(const tw_pack_item *item, int n, const tw_deadline *deadline,
                                         tw_arena *scratch, int64_t *offset, tw_pack_first *out);
#endif
