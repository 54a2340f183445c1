/* src/rivals/stream/spread.h - which loops lie over the array of a core, where Stream's files leave it open: at most one over each axis, so that a tile takes the
 * fewest passes. */
#ifndef TW_RIVALS_STREAM_SPREAD_H
#define TW_RIVALS_STREAM_SPREAD_H
#include "rivals/array.h"

/* "Conv1: {d1: ox, d2: c}" for a tile in which loop d has size[d] iterations, an entry of `unroll` of ours. `piece`: behind the name, often empty. */
void tw_stream_spread_print(const tw_einsum *einsum, const char *piece, const int64_t *size,
                            const tw_hierarchy *machine, tw_text *out);
#endif
