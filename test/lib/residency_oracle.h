/* test/lib/residency_oracle.h - what crosses every link of an async machine, counted with sets of tiles, as an oracle.
 *
 * The tile nest is walked step by step. Every memory holds a set of tiles of each operand; the set is emptied when a
 * loop moves that the mapping does not keep it over. An input that is not in the set is asked of the next memory
 * outside; an output tile that was begun before comes back the same way, and what leaves a set is stored. Of an input that slides
 * the elements of its last tile are remembered one by one, as long as the loops outside stand still, and those that are
 * in the next tile are not loaded; a memory that is asked for each tile only once hands on what the memory inside loads. Nothing here
 * knows of masks or formulas, and of the library only the descriptions of operator, machine and mapping are read. */
#ifndef TW_RESIDENCY_ORACLE_H
#define TW_RESIDENCY_ORACLE_H
#include "mapping/mapping.h"

typedef struct residency_count { /* of one operand on the link into one memory */
    int64_t loads, load_elems;
    int64_t stores, store_elems; /* of complete results */
    int64_t partial_stores, partial_elems;
    int64_t most_held; /* tiles in the set at once */
} residency_count;

typedef struct residency_result {
    residency_count count[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
    int64_t steps, points;
    bool slides;      /* some input does */
    bool empty_tiles; /* some tile of an input lies wholly in padding                                     */
    bool uneven;      /* a level cuts some pieces of a loop into one tile and others into more: there a program
                         keeps its tiles as if all were cut into more, and sends some again that are still there */
} residency_result;

void residency_oracle(const tw_machine *machine, const tw_op *op, const tw_op_map *map, residency_result *out);
#endif
