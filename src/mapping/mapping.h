/* src/mapping/mapping.h - how an operator is cut, in what order, with how many buffers.
 *
 * One level per memory inside the outermost one, in the machine's order. A *tiled* level cuts the
 * box of loop points that the level above hands it, and runs the pieces in `order`; the piece is
 * handed to the next tiled level (multistage) or, at the innermost one, to the compute engine. A
 * *pass-through* level cuts nothing: every tile of the next tiled level crosses it in a small FIFO.
 *
 *     l3   tiled   m: 5 tiles                 l3   pass
 *     l2   tiled   n: 2 tiles          or     l2   pass
 *     l1   tiled   n: 2, k: 9 tiles           l1   tiled  m: 4, n: 4, k: 12 tiles
 *
 * A loop is cut either by `count` (cut rule balanced or greedy) or by `size` (tiles of that size,
 * the last one what is left: greedy by nature).
 *
 * On an async machine any order is allowed, and a level may keep an operand: "while loop m stays" holds all its
 * tiles that the loops inside m touch. A tile is kept while the loops that change it stay, and no longer. */
#ifndef TW_MAPPING_MAPPING_H
#define TW_MAPPING_MAPPING_H
#include "input/tree.h"
#include "machine/discipline.h"
#include "mapping/group.h"
#include "mapping/opmap.h"
#include "mapping/spread.h"
#include "tile/split.h"

/* What is mapped: one operator of a model, on a machine. */
typedef struct tw_problem {
    const tw_model *model;
    int op;                    /* its index in the model                              */
    const tw_machine *machine; /* often its view for this operator: tw_machine_view   */
} tw_problem;

struct tw_mapping {
    int n_ops; /* one per operator of the model, same order; 0: all are in groups */
    const tw_op_map *op;
    int n_groups; /* 0: operators run one after the other */
    const tw_group_map *group;
    int n_residents; /* of the groups */
    const tw_group_resident *resident;
    int n_rooms; /* of the groups; a memory that is not among them is theirs as a whole */
    const tw_group_room *room;
    const tw_model
        *model; /* that it is about, with padding that it has written (model/padded.h) and operators that it divides
                   (model/divided.h); NULL: as it was given */
};
static inline const tw_model *tw_mapping_model(const tw_mapping *mapping, const tw_model *given)
{
    return mapping->model ? mapping->model : given;
}

/* The loop while which the operand is kept, or TW_KEEP_TILE, TW_KEEP_ALL. */
static inline int tw_level_keep(const tw_level_map *map, int operand)
{
    return map->keeps[operand] > 0 ? map->keeps[operand] - 1 : map->keeps[operand] < 0 ? TW_KEEP_ALL : TW_KEEP_TILE;
}
/* The first operand of those that it shares its buffers with, often itself. */
static inline int tw_level_pool(const tw_level_map *map, int operand) { return operand - map->shares[operand]; }
/* How a tiled level cuts an interval of loop `loop` that is `len` long, and whether it can. */
tw_split tw_level_split(const tw_level_map *map, int loop, int64_t len);
bool tw_level_split_is_legal(const tw_level_map *map, int loop, int64_t len);
/* How many tiles that makes and how long the largest is, whether it can or not. */
int64_t tw_level_n_tiles(const tw_level_map *map, int loop, int64_t len);
int64_t tw_level_largest(const tw_level_map *map, int loop, int64_t len);
/* The first of the tiles that it cuts a box into. */
tw_box tw_level_first_tile(const tw_level_map *map, const tw_op *op, const tw_box *box);

/* Whether two mappings of equal operators say the same, wherever they were written. */
bool tw_op_map_same(const tw_op_map *a, const tw_op_map *b);
/* Fewest output slots with which the mode can accumulate over `n_reduction_tiles`. */
int64_t tw_mapping_min_output_slots(tw_accumulate mode, int64_t n_reduction_tiles);
/* Everything that does not need the tile geometry: see docs/formats.md, "mapping". */
TW_NODISCARD tw_status tw_mapping_check(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine,
                                        tw_diag *diag);
/* The same of one operator by itself. */
TW_NODISCARD tw_status tw_op_map_check(const tw_op_map *map, const tw_op *op, const tw_machine *machine,
                                       tw_diag *diag);
/* Refuses a mapping with groups, which "cannot be" what is given here: "fitted". */
TW_NODISCARD tw_status tw_mapping_refuse_groups(const tw_mapping *mapping, const char *what, tw_diag *diag);
/* Stable text, as a mapping file that reads back as the same mapping. It says everything that the mapping settles, so that
 * it allows nothing else when it is read as limits. */
void tw_mapping_print(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine, tw_text *out);

/* Tree to mapping; absent operators and levels are errors. A level that gives no tiles keeps its
 * box whole; `buffers` default to 1 (the output to the mode's minimum), at a pass-through level to
 * TW_PASS_SLOTS; `order` to the loops as declared, parallel ones before reductions. */
enum { TW_PASS_SLOTS = 2 };
TW_NODISCARD tw_status tw_mapping_of_tree(const tw_node *root, const tw_model *model, const tw_machine *machine,
                                          tw_arena *arena, tw_diag *diag, tw_mapping *out);
#endif
