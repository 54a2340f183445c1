/* src/search/first.h - a mapping by construction, before anything is searched.
 *
 * A tile grows from the smallest one that the machine takes, loop by loop, as long as so many buffers of every operand fit
 * into each memory; then the tiles of a loop are evened out. From the inside out, so that a tile of an outer level
 * holds one of the level inside. An operator that reduces nothing moves every element once, whatever its tiles: large tiles
 * that leave room for the next ones are near the best there is, and their program is short.
 *
 * What differs is which loops grow first, how many buffers there is room for, and whether tiles are evened out or a rest is
 * left. What is found proves nothing. */
#ifndef TW_SEARCH_FIRST_H
#define TW_SEARCH_FIRST_H
#include "search/space.h"

/* Which loops grow first. */
typedef enum tw_growth {
    TW_GROW_ROWS,     /* those along the output's rows, from the innermost axis on        */
    TW_GROW_READ,     /* the same of the first input                                      */
    TW_GROW_TOGETHER, /* all, by turns                                                    */
    TW_N_GROWTHS
} tw_growth;
typedef struct tw_first {
    tw_growth growth;
    int64_t buffers; /* of each operand, that there is room for                     */
    bool even;       /* tiles differ by one at most, as far as that may be          */
} tw_first;

/* The k-th way to try, those first that are mostly best; false: there are no more. */
bool tw_first_way(int k, tw_first *out);
/* The mapping of a frame that grows so, buffers open; NULL in *out when nothing fits. */
TW_NODISCARD tw_status tw_first_part(const tw_space *space, int frame, const tw_first *first, tw_part **out);
#endif
