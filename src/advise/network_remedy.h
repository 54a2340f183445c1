/* src/advise/network_remedy.h - what would help a whole network? It is planned again on a machine that is better in one thing: its layers and,
 * where the plan has programs, its groups, too.
 *
 * Of programs every change of their mappings is simulated besides (group_moves.h), in a quarter of the time, those that take longest first: other tiles, buffers, and groups that are joined or
 * parted. Groups that join in a larger memory alone are simulated there, and what they need is told.
 *
 * A mapping that was given is simulated on each changed machine as it is, and what `plan` finds instead is one more answer. Each answer that gains has the mapping file with which `eval` comes to it.
 *
 * The changes are those of change.h. Engines come first, by the share of the network's time that is theirs on the critical paths of its layers, then
 * memories and channels, so that what there is no time for is what promised least. */
#ifndef TW_ADVISE_NETWORK_REMEDY_H
#define TW_ADVISE_NETWORK_REMEDY_H
#include "plan/network.h"

/* The largest gain first, equal ones in the order in which they were asked, then those that there was no time for. The time
 * limit of the options is for all of them. */
TW_NODISCARD tw_status tw_network_remedies_find(const tw_network_plan *plan,
                                                const tw_network_search_options *options, const tw_work *work,
                                                const tw_network_remedy **out, int *n);
#endif
