/* src/rivals/stream/hda.h - Stream's machines: cores of ZigZag, an off-chip memory, and what connects them.
 *
 *     hda.yaml   cores: {0: ./a.yaml, 1: ./b.yaml, 2: ./dram.yaml}     which cores there are           hda.c
 *                offchip_core_id: 2                                   the one that is the DRAM
 *                core_connectivity: [{type: bus, cores: [0, 1, 2], bandwidth: 32}]                     links.c
 *
 * Four dialects say the same: that of 2025, that of 2026 (cores inside of the file, coordinates, types with a name space), that of late 2024
 * (`offchip_core`, connections as texts, one bandwidth) and that of early 2024 (`graph`). What a core may run is what its `operator_types` say, or
 * anything.
 *
 * Stream counts a layer on a core by ZigZag's rules on the core's memories with the off-chip one outside of them (`tw_hda_core.machine`). */
#ifndef TW_RIVALS_STREAM_HDA_H
#define TW_RIVALS_STREAM_HDA_H
#include "rivals/zigzag/zigzag.h"

enum { TW_HDA_CORES = 256, TW_HDA_LINKS = 4096 };

typedef enum tw_hda_kind { TW_HDA_COMPUTES, TW_HDA_STORES, TW_HDA_OFFCHIP } tw_hda_kind;
typedef struct tw_hda_core {
    const char *name; /* that of its file, with its number where several have it */
    tw_loc loc;       /* where the machine names it                              */
    tw_hda_kind kind;
    const tw_hierarchy *own;             /* its memories, outermost first                  */
    const tw_hierarchy *machine;         /* with the off-chip memory first; NULL: it does not compute */
    const int (*listed)[TW_ZZ_OPERANDS]; /* of `machine`, as tw_zz_reader                  */
    const tw_zz_entry *dataflow;         /* what lies over its array; NULL: mappings say it */
    int n_types;                         /* of operators that it runs; 0: any              */
    const char *const *type;
} tw_hda_core;

typedef struct tw_hda_link { /* a bus that its cores share, or two one-way links between two cores */
    bool is_bus;
    int n_cores;
    const int *core;
    double bits;         /* per cycle                     */
    double pj_per_cycle; /* while something passes        */
    tw_loc loc;
} tw_hda_link;

typedef struct tw_hda {
    const char *name;
    tw_loc loc;
    int n_cores, offchip;
    const tw_hda_core *core;
    int n_links;
    const tw_hda_link *link;
    const int *shares; /* of each core: the first core whose outermost memory is its own, too */
} tw_hda;

/* Whether the file is a machine of this kind. */
bool tw_hda_is(const tw_node *root);
/* The files of cores that a machine names: each is handed to `take` with the place of its name, once per core. */
TW_NODISCARD tw_status tw_hda_references(const tw_node *root,
                                         tw_status (*take)(void *to, const char *file, tw_loc loc), void *to);
/* Reads the machine; `file` has the files of its cores, too. */
TW_NODISCARD tw_status tw_hda_read(const tw_node *root, const tw_rival_file *file, int n, tw_work work,
                                   tw_hda *out);
/* Reads what connects the cores, which are there already (links.c). */
TW_NODISCARD tw_status tw_hda_read_links(tw_fields *f, tw_arena *arena, tw_hda *hda);
/* A list of cores' numbers that exist, at least `least`. */
TW_NODISCARD tw_status tw_hda_read_cores(tw_fields *f, const tw_node *list, const tw_hda *hda, int least,
                                         tw_arena *arena, int *n, const int **out);

/* Whether the core runs operators of this type. */
bool tw_hda_runs(const tw_hda_core *core, const char *type);
/* A way with the fewest connections from one core to another, of several the one by the cores and connections of lower numbers: *link has those
 * that it passes, and there is room for as many as there are cores. Their number, -1: there is no way. */
TW_NODISCARD int tw_hda_route(const tw_hda *hda, int from, int to, int *link);
/* Bits per cycle that the connections between the core and the off-chip memory let pass. */
double tw_hda_offchip_bits(const tw_hda *hda, int core);
#endif
