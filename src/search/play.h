/* src/search/play.h - async, no reduction cut: a program behind movers in line, played with room for everything.
 *
 * Buffers only make commands wait, and a mapping that keeps more brings less. So no program with given tiles, rules and orders takes fewer cycles than
 * the one in which every buffer is there and everything that came stays: an input comes with a step only if the step is the first one of all loops
 * that it does not depend on, and of a window what the step before has brought, if that stood next to it along the innermost loop that moves it.
 * That is one pass of maxima over the steps, as in sim/async.c. Where it is not known which input a mover carries first, both moments are as early as
 * either order allows: each input by itself, and all of them together.
 *
 * Let P be the largest tile of the outermost tiled level, which the first mover carries, and R the one of the next level inside.
 *
 *     whole      nothing is cut inside: P passes all engines
 *     nested     all memories from the second on have R
 *     apart      the second memory has P, too: the second mover carries it before anything of it is executed, in two executions if it is whole,
 *                and all of them come before the step behind the second memory on the way out
 *     below      the second memory has less: windows begin anew in each piece, so that all that P touches comes; what is executed last waits for it
 *
 * `apart` and `below` hold whatever is cut inside, with pieces of one unit behind the second memory. Where `below` is too little, every R that leaves
 * the array time for its executions is played; only where there is time for a third cut `below` stays. */
#ifndef TW_SEARCH_PLAY_H
#define TW_SEARCH_PLAY_H
#include "search/start.h"

enum { TW_PLAY_LOOPS = 3 };
typedef struct tw_play { /* an operator and a machine that tail.h knows */
    const tw_space *s;
    const tw_route *way;              /* of each operand                                                */
    int n_loops, loop[TW_PLAY_LOOPS]; /* parallel ones that have several points                         */
    unsigned slides;                  /* loops along which windows may, in some memory                  */
    bool reduces;                     /* each execution passes over all points of the reductions        */
    bool nested;                      /* some frame tiles several levels                                */
    int64_t launch, around;           /* cycles before anything starts; beside executions, at least     */
    int64_t rows;                     /* 0, or points of a pass, at most: tw_play_sums                  */
    int64_t left;                     /* steps that may still be played                                 */
} tw_play;

/* Cycles of programs with this P at least, whatever is cut inside; anything from `enough` on is as good. 0: nothing is known. */
int64_t tw_play_least(tw_play *play, const int64_t size[TW_MAX_LOOPS], int64_t enough);

/* Where reductions are among the loops, and every axis has a loop of its own: the least where the first mover carries tiles of the one size and the
 * second, being those of the second memory, of the other, whatever is cut behind that. All sums stay until they are finished. */
int64_t tw_play_sums(tw_play *play, const int64_t outer[TW_MAX_LOOPS], const int64_t inner[TW_MAX_LOOPS],
                     int64_t enough);

/* Positions along an axis that the first n points of its loop touch; and that lie before all that point n touches. */
int64_t tw_play_touched(const tw_space *space, const tw_axis *axis, int64_t n);
int64_t tw_play_before(const tw_space *space, const tw_axis *axis, int64_t n);
#endif
