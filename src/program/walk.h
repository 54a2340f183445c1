/* src/program/walk.h - the steps of a group, one after the other: which box each operator has at each depth, and what every
 * hold has. */
#ifndef TW_PROGRAM_WALK_H
#define TW_PROGRAM_WALK_H
#include "program/nest.h"
#include "tile/split.h"

typedef struct tw_nest_walk {
    const tw_nest *nest;
    bool done;
    int64_t index[TW_MAX_CUTS], count[TW_MAX_CUTS]; /* of each place                                        */
    tw_box *box;                                    /* of operator k at depth d: [k * (n_places + 1) + d]   */
    tw_region *region;                              /* of each hold; of one that slides, its window         */
    int64_t *elems;                                 /* in it; 0: it is empty                                */
    struct tw_nest_slide {
        tw_region fresh; /* what of the window is new                                                   */
        int64_t elems;   /* in that; 0: nothing is                                                      */
        int64_t moved;   /* rows by which the end of the window moved on; 0: it continues none          */
        int64_t number;  /* of windows with something new, so far                                       */
        bool continues;  /* it goes on from the window before; otherwise a sweep begins with it         */
    } * slide;           /* of each hold that slides; NULL: none does */
} tw_nest_walk;

/* At the first step. */
TW_NODISCARD tw_status tw_nest_walk_init(tw_nest_walk *walk, const tw_nest *nest, tw_arena *arena);
/* At the next one; `done` after the last. */
void tw_nest_walk_next(tw_nest_walk *walk);
/* At the first step behind the next move of place p, or of one outside of it. */
void tw_nest_walk_after(tw_nest_walk *walk, int place);
/* The same state in `to`, which was made for the same nest. */
void tw_nest_walk_copy(tw_nest_walk *to, const tw_nest_walk *from);
static inline const tw_box *tw_nest_box(const tw_nest_walk *walk, int op, int depth)
{
    return &walk->box[op * (walk->nest->n_places + 1) + depth];
}
/* What the hold asks for: of a window that slides, what is new. Returns its elements. */
int64_t tw_nest_asked(const tw_nest_walk *walk, int hold, tw_region *out);
/* How place p cuts a piece of this length, and whether it can; if it cannot, it leaves it whole. */
tw_split tw_place_split(const tw_nest *nest, int place, int64_t len);
bool tw_place_is_legal(const tw_nest *nest, int place, int64_t len);
/* The box of a sub-step of an operator whose box this is. */
tw_box tw_nest_sub_box(const tw_nest_op *op, const tw_box *box, int64_t sub);
/* Whether operator k only fills its output in the box, since all that it would add up is padding; not into private memories. Then
 * each element takes one point: *out is the box with the first point of every reduction, otherwise the box itself. */
bool tw_nest_fills(const tw_nest *nest, int k, const tw_box *box, tw_box *out);
/* What a sub-step's reader touches of the hold; returns its elements. */
int64_t tw_nest_sub_region(const tw_nest *nest, int hold, const tw_box *box, tw_region *out);
bool tw_same_region(const tw_region *a, const tw_region *b, int n_axes);
#endif
