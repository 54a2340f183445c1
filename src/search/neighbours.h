/* src/search/neighbours.h - mappings that differ from a given one in little.
 *
 * Estimates and bounds know little of what the last percent is made of: short ends, buffers that are free a moment sooner, a mover
 * that is not interrupted. A simulation does. So what was found is improved by looking around it, each neighbour being
 * simulated:
 *
 *     a size       doubled, halved, one more or less, the next number of tiles or of passes; of the innermost level also two at once
 *     a choice     another rule, mode, order, keep or window that slides
 *     a frame      other loops over the array, a level more with tiles between those around it, a level less
 *
 * Neighbours have numbers, so that whoever walks may stop and go on; numbers that stand for nothing are many, and cheap. */
#ifndef TW_SEARCH_NEIGHBOURS_H
#define TW_SEARCH_NEIGHBOURS_H
#include "search/space.h"

/* All numbers of neighbours are below this. `part` has one number for every variable. */
int tw_neighbours_count(const tw_space *space, const tw_part *part);
/* Those with other frames begin with this one. */
int tw_neighbours_levels(const tw_space *space, const tw_part *part);
/* The k-th, with every variable one number; NULL: there is none with that number. Its owner is who asks. */
TW_NODISCARD tw_status tw_neighbours_part(const tw_space *space, const tw_part *part, int k, tw_part **out);
/* The same of mappings that keep an input in one memory as this one does in the next further in or out, k below tw_neighbours_stays. A single choice
 * less would bring it twice. */
int tw_neighbours_stays(const tw_space *space);
TW_NODISCARD tw_status tw_neighbours_elsewhere(const tw_space *space, const tw_part *part, int k, tw_part **out);
#endif
