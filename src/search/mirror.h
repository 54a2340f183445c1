/* src/search/mirror.h - spreads that mirror others, because the operator is the same with some of its loops exchanged.
 *
 * Exchange rows and columns of a square image, and those of a square kernel: the convolution reads and writes as before, with the axes of
 * its tensors exchanged. So each mapping has a mirror image with every choice about one loop made about the other: tiles as large, transfers as
 * large in the same order, executions of as many passes. Where nothing asks for the shape of what is moved or tells the loops apart,
 * both cost the same whatever is counted, and of two spreads that mirror each other one is enough.
 *
 *     rows [oc, ox], columns oy      mirrors      rows [oc, oy], columns ox
 *
 * That halves what is searched and what is to be proven. A mapping or options that say something about single loops tell them apart. */
#ifndef TW_SEARCH_MIRROR_H
#define TW_SEARCH_MIRROR_H
#include "search/spread.h"

/* Takes those out that mirror one before them; returns how many are left. */
int tw_mirror_drop(const tw_space *space, const tw_search_options *options, int n, tw_laying *laying);
#endif
