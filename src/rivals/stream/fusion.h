/* src/rivals/stream/fusion.h - groups of layers that a mapping of Stream fuses, as groups of ours.
 *
 *     fused_groups: [{name: g, layers: [Conv1, Conv2], intra_core_tiling: [{dim: Conv2.D2, tile: 4}]}]
 *
 *     groups:                                        one for each core that has a part of the last layer
 *       - {name: g.0, core: a, ops: [Conv1, Conv2], part: {loop: oy, from: 0, to: 16}, levels: [{at: sram, sizes: {oy: 4}}]}
 *
 * The layers of a group stand one behind the other in the workload. The last one *drives*: parts and tiles are those of its loops, and what the layers before it
 * make is what a tile needs of them. A loop of another layer is followed from what the layer makes to what reads it, up to the loop of the
 * last layer that it becomes; channels that the next layer adds up become none. */
#ifndef TW_RIVALS_STREAM_FUSION_H
#define TW_RIVALS_STREAM_FUSION_H
#include "rivals/stream/table.h"

/* The layers of each group of the mapping, in the order of the workload. A group that begins with a type of operators has all layers from where the one before it ended, and one that ends with a type those up to the first
 * of the last type that stands at or behind the layer whose loop it cuts, and functions of its elements right behind that. A cut of a type's loop is one of the first layer of that type. Layers that do not exist, overlap or have others between them are errors. */
TW_NODISCARD tw_status tw_hda_fusion_find(const tw_cores *cores, tw_work work, int *n, const tw_hda_fusion **out);
/* Prints one as groups of ours. TW_INFEASIBLE: it cannot be one, nothing was printed, and a note says why. */
TW_NODISCARD tw_status tw_hda_fusion_print(const tw_cores *cores, const tw_core_table *table,
                                           const tw_hda_fusion *fused, tw_diag *diag, tw_text *out);
/* Elements of a tile along each loop of a layer, as cuts have it: those of its entry, or of a group that has it alone (NULL: none has). False: nothing is cut. */
bool tw_hda_fusion_sizes(const tw_cores *cores, int layer, const tw_hda_fusion *alone, int64_t *size);
#endif
