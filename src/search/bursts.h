/* src/search/bursts.h - async, one tiled level, sizes chosen: what movers carry by one order of loops, block by block.
 *
 * joint.h adds up what a mover carries in the whole program. But it does not come evenly. Let no sum leave before it is finished, and let a
 * *block* be what is executed while the loops of the output outside of the outermost cut reduction stand still: a tile of the output, or, with
 * X loops inside (joint.h), all tiles along X. Blocks follow each other in the order of those loops. Of each block are known
 *
 *     a     cycles in which it is executed: the passes of its tiles, edge tiles included,
 *     u(e)  units that come by mover e for it and for no block before it. An operand comes again in every block in which all loops stand
 *           on their first index that it does not depend on and that run inside its residency. A residency that reaches over
 *           blocks holds all tiles that come in it at once; so it reaches no further than some memory has room, from the one that the mover
 *           fills inwards, beside a tile of everything else. A shorter one only brings more.
 *
 * When block j has been executed, what has come for later ones is still in those memories, so it is `cap` at most: the sizes of all of
 * them, but for a tile of the output and of inputs that others bring, for the tiles that were executed last, which are still in their buffers, and
 * for all that block j + 1 needs of an input that does not come for it. With E(j) the end of block j
 *
 *     E(i) >= E(i - 1) + a(i)                                            one array,
 *     E(i) >= E(j) + (u(j + 1) + .. + u(i) - cap) / rate     for j < i      what had no room comes after E(j),
 *     E(i) >= (u(1) + .. + u(i)) / rate + what comes before the first and behind the last of it,
 *
 * and where two tiles of the output have no room, a(i) begins when the one before has left. The program ends after the last block and the way
 * out of its last tile. Tiles of 48 channels and 3 of 7 rows of 7 positions, with 64 bytes a cycle: each 4 passes in the time in which 3
 * passes' weights come, then twice 2 for 3; weights of a phase that lacks time come in the one before as far as there is room.
 *
 * Three things are known besides.
 *
 *     rounds   Where one reduction is cut, into tiles of a known size, a block runs through it in steps, each with a tile of every input that comes. Its
 *              command rounds up by itself. What is ahead is then a number of whole steps, and some tiles of one more, since a mover serves in
 *              program order.
 *     turns    Units of a mover take turns, command by command. With as many units as inputs, all of which come in every step, each input has a
 *              unit of its own, which brings all of it.
 *     crowds   A residency in a memory leaves room there for so many buffers of another input. Each tile of that one has a buffer from the beginning of its
 *              way in until it has been read by the next mover. So a program takes no less than all these times, divided by the buffers. Where that is
 *              clearly longer than all executions the residency is set aside, and what it takes at least is weighed instead. */
#ifndef TW_SEARCH_BURSTS_H
#define TW_SEARCH_BURSTS_H
#include "search/start.h"

/* Cycles of programs of the part in which no sum leaves unfinished, the cut loops `inside` of the output run inside the outermost cut
 * reduction, those in `outside` outside of it in any order with `outermost` first (-1: any); 0: nothing is known. Nothing up to
 * `known` is worth finding out. */
int64_t tw_bursts_least(const tw_view *view, const tw_ends *ends, unsigned inside, unsigned outside, int outermost,
                        int64_t known);
#endif
