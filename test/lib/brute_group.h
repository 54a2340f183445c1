/* test/lib/brute_group.h - every way to part a small graph into groups and to tile these, simulated one by one: what a search for
 * groups is judged by.
 *
 * The space that docs/design/fuse.md states is written down once more here, for machines with one memory on chip and one compute engine without an array:
 *
 *   segments   every way to cut the order of the operators into stretches whose insides nobody else reads
 *   resident   each tensor from one stretch to later ones is stored, or lies whole in the memory on chip
 *   cuts       none, one or two parallel loops of the driver, in either order, in tiles of any size
 *   buffers    one or two of what comes in, one or two of what goes out
 *   slides     of each tensor that is not what the driver makes: its window slides along the last cut, or is loaded and computed again
 *
 * All combinations over all groups are tried, since groups share time and memory. */
#ifndef TW_BRUTE_GROUP_H
#define TW_BRUTE_GROUP_H
#include "mapping/mapping.h"

typedef void (*brute_group_fn)(void *user, const tw_mapping *mapping, const tw_summary *sum);

/* Programs to simulate, those that will not fit included; more than `limit`: the count ends there. */
int64_t brute_group_size(const tw_model *model, const tw_machine *machine, int64_t limit);
/* Simulates them; how many have a plan. Ends the process when the host has no memory. */
int64_t brute_group_run(const tw_model *model, const tw_machine *machine, brute_group_fn fn, void *user);
#endif
