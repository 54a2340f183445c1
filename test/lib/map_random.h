/* test/lib/map_random.h - random operators that reduce nothing: element-wise ones, broadcasts, moves.
 *
 * Extents are odd, prime or powers of two. Inputs have all loops, some of them (a broadcast), all backwards (a transpose), are
 * shifted (a slice, a pad), or are two parts of the output (a concatenation). */
#ifndef TW_MAP_RANDOM_H
#define TW_MAP_RANDOM_H
#include "tw_test.h"

typedef struct map_random {
    char text[2000]; /* a workload file with one operator, 'op' */
    int64_t elems;   /* of its output                           */
} map_random;

/* Of at most so many elements. */
map_random map_random_make(uint64_t *rng, int64_t most);
#endif
