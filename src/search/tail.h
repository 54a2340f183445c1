/* src/search/tail.h - async, no reduction cut: cycles that no program of the space is below, where movers in line are the limit.
 *
 * Engines in line are a flow shop: a program takes no less than what the first mover carries up to some tile, and the next from that tile on, and so on.
 * Let P be the largest tile of the outermost tiled level, which is what the first mover carries at a time, in every frame. Then
 *
 *     first      mover e, the second, has all to carry when the first tile of any input has come, which is the largest of P
 *     last       for any step J of that level: what e carries of all that is executed up to J, each element once; an execution; the
 *                way of the output of J; and what the last engine of the way out carries behind it, the output of all steps after J
 *     commands   each tile comes by a command of its own, or each window's new rows do, rounded up by themselves
 *     compute    tiles of no more than P take passes of their own
 *
 * Where e is the limit, and J near the end, little is lost to steps after J: e does not wait for them, but outputs follow. So J may be any step near
 * the end, and we take a large one. Along each loop the last tile is a rest, or as long as all others but for one point; before
 * a rest is a whole tile. Let q be a loop, all others standing at their last tile but for c, on which every input depends with an axis of its
 * own: then J is the last whole tile along q and c. In the channels of J's tile, what is executed behind J lies in the rest along q;
 * in those behind them, all, or what begins with J's tile along q, by the order of c and q; in those before
 * them, nothing or the rest. Of an input what is used by nothing else is what its axes do not touch before. Orders and rules are
 * weighed, the worst counts.
 *
 * Steps of an outermost level that is cut again may leave in pieces, but then every whole one takes two executions. So the least over all P is
 * a bound for all frames, and it knows what a range of sizes does not: that small tiles cost rounded commands and passes, and large ones
 * beginnings and ends. */
#ifndef TW_SEARCH_TAIL_H
#define TW_SEARCH_TAIL_H
#include "search/view.h"

/* The least over all P; 0: nothing is known. Of a P that leaves less than `enough` programs are played (play.h), which takes longer. */
TW_NODISCARD tw_status tw_tail_floor(const tw_space *space, int64_t enough, int64_t *cycles);
/* The same of one P, up to `enough`. */
TW_NODISCARD tw_status tw_tail_of_tile(const tw_space *space, const int64_t size[TW_MAX_LOOPS], int64_t enough,
                                       int64_t *cycles);
/* The same of a product with a vector, whose reduction may be cut, up to `enough`: for each tile of the first memory and each of the second inside of
 * it, as far as movers and passes alone leave something below, programs are played in which everything stays (play.h). */
TW_NODISCARD tw_status tw_tail_of_product(const tw_space *space, int64_t enough, int64_t *cycles);
#endif
