/* src/rivals/plain.h - a nest between two formats: what lies over time, in one order, what lies over the array, and where each operand's
 * tile is. Mappings of ours are read as one and written from one; each tool makes its own nest of it. */
#ifndef TW_RIVALS_PLAIN_H
#define TW_RIVALS_PLAIN_H
#include "mapping/mapping.h"
#include "rivals/levels.h"

enum { TW_PLAIN_LOOPS = 64, TW_PLAIN_SPACE = 32 };
struct tw_plain {
    int n_loops; /* over time, outermost first */
    struct {
        int dim;
        int64_t bound, last; /* iterations, and those of the last round */
        int level;           /* the memory whose block it belongs to    */
    } loop[TW_PLAIN_LOOPS];
    int n_space;
    struct {
        int dim, axis;
        int64_t bound;
    } space[TW_PLAIN_SPACE];
    int outside[TW_RIVAL_MEMORIES][TW_RIVAL_OPERANDS]; /* loops over time outside of the tile, -1: it passes by */
};

/* The nest of a layer that is mapped. TW_ERR_INPUT: it has more loops than there is room for. */
TW_NODISCARD tw_status tw_plain_of(const tw_rival_layer *layer, const tw_hierarchy *machine, tw_diag *diag,
                                   tw_plain *out);
/* The nest as an entry of a mapping file of ours, for the machine with these levels (TW_LEVELS_ALL). Where order inside of an execution
 * counts (`ordered`), executions are single steps of the array. What ours cannot say is an error that names it. */
TW_NODISCARD tw_status tw_plain_print_ours(const tw_plain *plain, const tw_rival *rival, int layer,
                                           const tw_levels *levels, tw_diag *diag, tw_text *out);
/* The machine with all levels, the workload and the mapping of ours that stand for the files. */
typedef struct tw_plain_ours {
    tw_levels levels; /* of the machine, in the order of the mapping */
    tw_machine machine;
    tw_model model;
    tw_mapping mapping;
} tw_plain_ours;
/* Reads a mapping file of ours. */
TW_NODISCARD tw_status tw_plain_read_ours(const tw_node *root, const tw_rival *rival, tw_work work,
                                          tw_plain_ours *out);
/* The nest that it says for a layer. What nests of other tools cannot say is an error that names it. */
TW_NODISCARD tw_status tw_plain_of_ours(const tw_plain_ours *ours, const tw_rival *rival, int layer, tw_diag *diag,
                                        tw_plain *out);
#endif
