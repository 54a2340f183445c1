/* src/search/closed.h - the least that crosses into a memory, over all orders and residencies, in closed form.
 *
 * Streams only. How often an operand comes into a memory is decided by two things: the order of the tile loops of the memory's
 * level, and for each operand the place in that order from which on it stays. Inside that place the loops that the operand does
 * not depend on cost nothing, and the loops that it does depend on are all held:
 *
 *     order     m   n | k            ofm stays from k on: k costs nothing, one tile is held
 *               m | n   k            ifm stays from n on: n costs nothing, all tiles along k are held
 *
 * So an order matters only through which loops lie inside which residency. Let the residencies begin at the places
 * P1, P2, P3 from the outside in; they divide the order into segments, and a loop does best in one of few: outside of all of them, or
 * just inside a residency that it repeats for nothing. All combinations are weighed, for every sequence of the operands:
 * some forty for a matrix product or a convolution, each with exact products of trip counts, in well under a microsecond.
 *
 *     segment     0        1        2        3
 *              |-----|P1|-----|P2|-----|P3|-----|
 *
 * For a part of the space trip counts are those of the largest tiles, footprints those of the smallest: what comes out is a lower bound
 * for every mapping of the part, and the traffic itself when all sizes are one number, but for edges of windows.
 *
 * An operand that is held for a whole piece of the next level outside may stay while the innermost loops of that level, which
 * it does not depend on, run (`settled`): there the loops outside cost nothing either. */
#ifndef TW_SEARCH_CLOSED_H
#define TW_SEARCH_CLOSED_H
#include "search/view.h"

enum {
    TW_CLOSED_LOOPS = 8,    /* that a level may cut          */
    TW_CLOSED_OPERANDS = 4, /* that come into the memory     */
};

/* What a unit of each operand costs that crosses, and one of partial sums that comes back. */
typedef struct tw_price {
    int64_t of[TW_MAX_OPERANDS], back;
} tw_price;

/* Energy; and units, those that engine e carries, or all of them if it is -1. */
tw_price tw_price_of_energy(const tw_space *space, int memory);
tw_price tw_price_of_units(const tw_space *space, int memory, int engine);

/* Whether so many units of each of n operands, all of one operand in one memory of its path from `memory` to `last`, have room in
 * what is left there. */
typedef struct tw_load_of {
    int operand;
    int64_t units;
} tw_load_of;
bool tw_have_room(const tw_space *space, const tw_load_of *load, int n, const int memory[2], int64_t *left);

typedef struct tw_choice {               /* what was best */
    int n, sequence[TW_CLOSED_OPERANDS]; /* operands, the longest residency first                  */
    uint8_t inside[TW_CLOSED_OPERANDS];  /* per operand of the list: loops inside its residency     */
    uint8_t whole;                       /* operands that are held for a whole piece, as bits        */
} tw_choice;

typedef struct tw_closed { /* one memory of a part */
    const tw_view *v;
    int memory, level;
    int n_loops, loop[TW_CLOSED_LOOPS]; /* that the level may cut                                 */
    int64_t many[TW_CLOSED_LOOPS],
        few[TW_CLOSED_LOOPS];            /* times that a loop costs outside and inside a residency */
    int n, operand[TW_CLOSED_OPERANDS];  /* that come in, or go out                                */
    uint8_t depends[TW_CLOSED_OPERANDS]; /* on which of the loops                                  */
    int64_t elems[TW_CLOSED_OPERANDS];   /* of all tiles, each once                                */
    int64_t always[TW_CLOSED_OPERANDS];  /* times by the other loops that it does not depend on     */
    int64_t one[TW_CLOSED_OPERANDS];     /* units of a tile                                        */
    int64_t all[TW_CLOSED_OPERANDS];     /* and of a whole piece                                   */
    int last;                            /* the innermost memory whose tiles the level cuts        */
    int64_t left[TW_MAX_MEMORIES];       /* room from `memory` to it beside a tile of everything    */
    /* Not in every order: what holds one of the loops that stand apart holds all of these, which run inside of them. 0: in every order. */
    uint8_t apart, together;
    uint8_t outermost; /* the same: what holds this loop holds all of them */
    unsigned settles;  /* sets of operands that may be settled at once: bit w for set w                       */
    bool ordered;      /* the order is chosen                                                               */
    int n_suffixes[TW_CLOSED_OPERANDS];
    uint8_t suffix[TW_CLOSED_OPERANDS]
                  [TW_CLOSED_LOOPS + 1]; /* ordered: residencies to choose from, as loops inside */
    int64_t held[TW_CLOSED_OPERANDS][1 << TW_CLOSED_LOOPS]; /* units by the loops inside, -1: not asked for yet */
    int64_t n_weighed;                                      /* combinations                                 */
    tw_choice choice;
} tw_closed;

/* False when the form does not know the part: too many loops or operands, tiles that lie wholly in padding. */
bool tw_closed_of(const tw_view *view, int memory, tw_closed *out);
/* The least price of all that crosses; INT64_MAX: nothing fits. The best combination is in `choice`. */
int64_t tw_closed_least(tw_closed *closed, const tw_price *price);
#endif
