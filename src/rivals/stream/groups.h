/* src/rivals/stream/groups.h - a mapping of Stream as a mapping of ours with `groups`.
 *
 * Each tile is a group on its core, with a `part` of the loop that lies over cores: remainders are what they are, nothing is padded. Stream's files do not say
 * tiles inside of a core; here they are the largest that fit, with two buffers for what changes, and rows slide where they overlap; where the mapping has `intra_core_tiling`, tiles are those. Layers
 * that a mapping fuses are one group (fusion.h). */
#ifndef TW_RIVALS_STREAM_GROUPS_H
#define TW_RIVALS_STREAM_GROUPS_H
#include "rivals/stream/table.h"

/* For the machine that tw_hda_print writes and the workload of all layers. Where the mapping leaves the core open, the fastest of the table. What ours does not
 * say (several loops over cores, sums over cores) is an error that names it. */
TW_NODISCARD tw_status tw_cores_print_groups(const tw_cores *cores, const tw_core_table *table, tw_diag *diag,
                                             tw_text *out);
#endif
