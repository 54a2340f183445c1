/* src/search/floor.h - what crosses into a memory at least, whatever tiles, orders and residencies a mapping has.
 *
 * The nest of a mapping is a path from whole loops to single tiles. Each operand stays from some place of that path on: what its
 * tiles touch inside of that place is held, in one memory, and the loops inside that it does not depend on cost
 * nothing. So with x(P) the lengths that the loops have inside place P,
 *
 *     comes o   = product, over the loops that o does not depend on, of ceil(extent / x(P_o))       times
 *     holds o   = footprint of o with the lengths x(P_o)
 *
 * and x only falls from the outermost P to the innermost one. Of an operator in which each loop is idle for one operand at most
 * (products, convolutions), little is left to choose: which residency is the longest, the second and so on, and the lengths
 * of the loops that the second and further ones are idle in. These are tried, one by one where that is quick and in
 * groups otherwise, against the memories that have to hold it all. Unlike Loomis and Whitney's bound this one has no constant to lose: for
 * one level of a matrix product it is the optimum. */
#ifndef TW_SEARCH_FLOOR_H
#define TW_SEARCH_FLOOR_H
#include "search/closed.h"

/* What all that crosses between memory m and those outside costs at least at this price, looking at about `most`
 * combinations; 0: not known. */
int64_t tw_floor_of(const tw_space *space, int memory, const tw_price *price, int64_t most);
#endif
