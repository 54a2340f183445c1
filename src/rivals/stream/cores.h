/* src/rivals/stream/cores.h - layers of a workload on the cores of a machine of Stream.
 *
 * What a core runs of a layer is a tile: the layer with each loop that lies over cores cut into equal parts, as Stream has them, the last padded up to the size of the others. Each
 * core that computes has a view: the files as ZigZag would read them for this core alone, with tiles as layers. Everything that counts and
 * searches layers works on views. */
#ifndef TW_RIVALS_STREAM_CORES_H
#define TW_RIVALS_STREAM_CORES_H
#include "rivals/stream/allocation.h"

enum { TW_CORES_TILES = 1024 }; /* of one layer, at most */

typedef struct tw_cores_layer {
    const tw_zz_layer *whole, *tile;
    const tw_hda_entry *entry; /* NULL: no mapping was given                   */
    int n_cores;               /* that may run it; those of the entry in its order */
    const int *core;
    int64_t parts[TW_RIVAL_DIMS]; /* of each loop, on different cores          */
    int64_t n_tiles;              /* their product                             */
    bool is_placed;               /* tile t is on core[t]; otherwise each tile may be on any of them */
    bool is_open;                 /* how many parts was left open: as many as there are cores */
} tw_cores_layer;

typedef struct tw_hda_fusion { /* layers that run tile by tile, see fusion.h */
    const tw_hda_group *group;
    int first, n; /* layers of the workload */
} tw_hda_fusion;
typedef struct tw_cores {
    const tw_hda *hda;
    const tw_allocation *allocation; /* NULL: no mapping was given */
    int n_layers;
    const tw_cores_layer *layer;
    int n_fused; /* groups of the mapping that have layers, in the order of the workload */
    const tw_hda_fusion *fused;
    const tw_rival_layer *whole; /* layers as products, with nothing said about arrays */
    const tw_rival *
        view; /* of each core; a layer that the core does not run has no einsum, nor have all of a core that does not compute */
} tw_cores;

/* Reads a machine of Stream, a workload or a network if there is one, and a mapping if there is one. `out` is the view of the first core that computes, and has
 * them all. */
TW_NODISCARD tw_status tw_cores_read(const tw_rival_file *file, int n, tw_work work, tw_rival *out);
#endif
