/* src/plan/group_moves.h - small changes of a mapping with groups, one thing at a time.
 *
 *     tile      oy 19 -> 14          another size of a cut, or a loop that was not cut
 *     order     oy ox -> ox oy       two cuts of a level exchanged
 *     buffers   d 1 -> 2             one more, or one less, of a tensor in a memory
 *     keep      w tile -> all        while another loop stands still; or a tensor stays in a memory between groups, or does not
 *     slide     b none -> oy         what two tiles share is kept, and not loaded or made again
 *     unroll    l1 rows oc -> rows oc ic       one loop over another dimension of the array, or two dimensions exchanged
 *     fusion    l0 | l1 l2 -> l0 l1 l2         two groups as one, with tiles as the search for groups would cut them; or one as two
 *
 * A move is a whole mapping. Nothing is judged here: many are refused or do not fit. */
#ifndef TW_PLAN_GROUP_MOVES_H
#define TW_PLAN_GROUP_MOVES_H
#include "fuse/tiling.h"
#include "plan/plan.h"

typedef struct tw_group_move {
    tw_change_kind kind;
    int group, thing; /* moves that are equal in these and in their kind ask the same: the best of them is told */
    const tw_group_resident
        *stays; /* of a move about the tensor `thing`, group -1: how it stays, NULL: it does not */
    const char *at, *change;
    tw_mapping mapping;
} tw_group_move;

/* Told each move. What it returns ends the list unless it is TW_OK. */
typedef struct tw_group_move_sink {
    tw_status (*put)(void *user, const tw_group_move *move);
    void *user;
} tw_group_move_sink;

/* Of a plan in groups. Words and mappings are made in the work's arena; `by` orders the tilings of groups that are joined or
 * parted; NULL: fusion is not asked for. */
TW_NODISCARD tw_status tw_group_moves_each(const tw_plan *plan, const tw_pricing *by, const tw_work *work,
                                           tw_group_move_sink sink);
/* The mapping in which the tensor stays between groups as `is` says (NULL: it does not); what groups say of it where it stays is left out. */
TW_NODISCARD tw_status tw_group_mapping_that_keeps(const tw_mapping *from, const tw_model *model, int tensor,
                                                   const tw_group_resident *is, tw_arena *arena, tw_mapping *out);

/* Of these, only that a tensor stays in a memory between groups that passes memory 0. */
TW_NODISCARD tw_status tw_group_moves_that_stay(const tw_plan *plan, const tw_work *work, tw_group_move_sink sink);
#endif
