/* src/place/pack_branch.h - does one component fit below a height? Search with a proof.
 *
 * The search fills time sections from below. Its state is a floor per section: nothing that is still to be placed may
 * go under it. It picks a section that no neighbour is lower than and decides what lies directly on its floor: one of
 * the items that can, or nothing ("waste"; then the floor rises to where the next item could be). These cases exclude each
 * other, so no placement is met twice. See docs/design/place.md for why this order, and for what closes a case:
 *
 *   load       floor + sizes still to come > height, in some section
 *   idle       the same, with the holes that must arise because items cannot start low enough
 *   dominated  an item still to come would fit into a hole that was left; or nothing carries it
 *   repeat     the same items and floors were refuted before (two 64-bit hashes)
 *   jump       what was refuted did not depend on the choice, so that its alternatives fail as well
 *
 * Runs are short and start again with other orders; refutations and the sections' weights are kept. */
#ifndef TW_PLACE_PACK_BRANCH_H
#define TW_PLACE_PACK_BRANCH_H
#include "place/pack_section.h"

enum { TW_PACK_SEARCH_MAX = 4000 }; /* items of a component that is searched */

typedef struct tw_pack_budget {
    int64_t nodes;               /* left; the search counts down                        */
    const tw_deadline *deadline; /* at which to stop, NULL: never                         */
    tw_pack_counts *counts;
} tw_pack_budget;

typedef struct tw_pack_search tw_pack_search;
/* `item` are the items of `sections` in their numbering; all of it stays the caller's. */
TW_NODISCARD tw_status tw_pack_search_new(const tw_pack_item *item, const tw_pack_sections *sections,
                                          tw_arena *arena, tw_pack_search **out);
/* Whether all items fit below `height`, spending at most `nodes` (and the budget). TW_PACK_FITS writes offset[]. */
TW_NODISCARD tw_status tw_pack_search_run(tw_pack_search *search, int64_t height, int64_t nodes,
                                          tw_pack_budget *budget, int64_t *offset, tw_pack_verdict *out);
#endif
