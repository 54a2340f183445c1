/* src/rivals/stream/allocation.h - Stream's mappings: which cores run a layer, and how it is cut over them.
 *
 *     2025   - name: Conv                                  a layer, a type of operators or 'default'
 *              core_allocation: [0, 1, 2]                  cores that may run it; not said: core 0
 *              inter_core_tiling: ["K, 3"]                 parts on different cores: a number, '*' (open) or 'all'
 *              intra_core_tiling: ["OY, all"]              parts one after the other on one core
 *     2026   layers: [{name: Conv1, core_allocation: [[0, 1]], inter_core_tiling: [[{dim: D6, split: 2}]]}]
 *            fused_groups: [{name: g, layers: [Conv1], intra_core_tiling: [{dim: Conv1.D2, tile: 1}]}]
 *
 * In the newer form loops are called by their position (allocation_dim_of knows which is which), and `tile` is the size of a part, not
 * the number of parts. */
#ifndef TW_RIVALS_STREAM_ALLOCATION_H
#define TW_RIVALS_STREAM_ALLOCATION_H
#include "rivals/stream/hda.h"

typedef enum tw_hda_parts { TW_PARTS_NUMBER, TW_PARTS_OPEN, TW_PARTS_ALL, TW_PARTS_OF_SIZE } tw_hda_parts;
typedef struct tw_hda_cut { /* "K, 3" */
    const char *layer;      /* whose loop it is; NULL: the entry's layer */
    const char *dim;
    tw_hda_parts parts;
    int64_t n; /* parts, or elements of a part */
    tw_loc loc;
} tw_hda_cut;
typedef struct tw_hda_entry {
    const char *name;
    tw_loc loc;
    int n_cores;
    const int *core; /* one for each part, which may name a core several times, or those that may run any part */
    bool is_fixed;   /* late 2024: parts are as many as cores are named */
    int n_inter, n_intra;
    const tw_hda_cut *inter, *intra;
    const tw_node *node; /* that ZigZag's reader reads the rest of; NULL: there is no rest */
} tw_hda_entry;
typedef struct tw_hda_group { /* layers that run tile by tile, one after the other */
    const char *name;
    tw_loc loc;
    int n_layers;
    const char *const *layer; /* names, or types */
    const tw_loc *layer_loc;
    int n_intra;
    const tw_hda_cut *intra;
} tw_hda_group;
typedef struct tw_allocation {
    tw_loc loc;
    int n_entries, n_groups;
    const tw_hda_entry *entry;
    const tw_hda_group *group;
} tw_allocation;

/* Whether the file is a mapping of the newer form; one of the older form is also one of ZigZag's. */
bool tw_allocation_is(const tw_node *root);
TW_NODISCARD tw_status tw_allocation_read(const tw_node *root, const tw_hda *hda, tw_work work, tw_allocation *out);
/* By the layer's name, its type, or the default; NULL: none. */
const tw_hda_entry *tw_allocation_for(const tw_allocation *allocation, const tw_zz_layer *layer);
/* The loop of a layer that a cut names, by its name or its position; -1: the layer has none of it. */
int tw_allocation_dim(const tw_zz_layer *layer, const char *name);
#endif
