/* src/search/pairs.h - two loops that share a dimension of an array: the fewest passes that tiles of them take.
 *
 * Cut 14 x 14 positions into rectangles, lay each over 16 columns: what shapes waste least? Whatever the levels, the tiles are those
 * of a partition of one loop times a partition of the other, and their passes are the sum of ceil(a b / size). For a given partition of
 * one loop that is a sum over the parts of the other, least by a table over its lengths; short loops have few partitions (14 has 135). So
 * the least of all is known for every limit on the longest tile of either loop: 13 passes if both may be 8 long, otherwise 14. */
#ifndef TW_SEARCH_PAIRS_H
#define TW_SEARCH_PAIRS_H
#include <stdint.h>

enum {
    TW_PAIR_LONGEST = 16, /* loops that are looked at: longer ones have too many partitions */
    TW_PAIRS = 4,
    TW_PAIR_LEVELS = 3, /* of pieces that are counted: of further ones there is one at least */
};
typedef struct tw_pair {
    int loop[2];
    int64_t size;                                             /* of the dimension                   */
    int16_t passes[TW_PAIR_LONGEST + 1][TW_PAIR_LONGEST + 1]; /* by the longest tiles along each loop */
    /* Pieces of each loop and level that are as long as the longest, of that length, at least; 0: it has no such length. */
    uint8_t alike[2][TW_PAIR_LEVELS][TW_PAIR_LONGEST + 1];
} tw_pair;

/* Fills in what is known of loops of these extents, at most TW_PAIR_LONGEST each. */
void tw_pair_measure(tw_pair *pair, int64_t extent, int64_t other);
#endif
