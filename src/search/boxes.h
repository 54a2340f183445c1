/* src/search/boxes.h - blocks of two loops that share a dimension of an array: which of them may take so many passes.
 *
 * Of two short loops over one dimension a block (start.h) is a box of p x q indices, which takes x passes. The first box is the largest along
 * both loops, and boxes of the same lengths are cut alike, however many levels do that. So with n of them
 *
 *     n x + ceil((all points - n p q) / size)
 *
 * passes are taken over the dimension at least. Of 14 x 14 positions in 14 passes of 16 no column is executed in two passes, since there are
 * fourteen of them, and no block of 14 positions at all.
 *
 * Tiles inside of a box form a grid of no more cells than passes. So where a loop moves several elements at a time it is known how many of the gaps
 * tiles bring: a box of 4 x 4 indices with a stride of two in two passes has 6 x 7 elements or more. */
#ifndef TW_SEARCH_BOXES_H
#define TW_SEARCH_BOXES_H
#include "search/pairs.h"

#include <stdbool.h>

typedef struct tw_boxes { /* of one part, and one kind of block                                       */
    const tw_pair *pair;
    int64_t extent[2];
    int level[2];         /* whose piece the box is along the loop, -1: all of the loop        */
    int64_t lo[2], hi[2]; /* its length                                                        */
    int64_t wide;         /* passes over the dimension                                         */
    bool full;            /* the box is one tile, which takes no pass more than its points do  */
} tw_boxes;

/* Points of a box that takes x passes, at least; INT64_MAX: there is none. */
int64_t tw_boxes_points(const tw_boxes *boxes, int64_t x);
/* The same of the elements that its tiles bring, where an index of the loops moves so many. */
int64_t tw_boxes_elements(const tw_boxes *boxes, int64_t x, const int64_t stride[2]);
#endif
