/* src/advise/moves.h - small changes of one operator's mapping, and how far two mappings are apart.
 *
 *     tile      n 240 -> 120       sizes that divide what is cut, multiples of what the engine takes, largest first
 *     buffers   w 2 -> 1           of one operand, or of all operands of a memory down to the fewest that work; or all
 *                                  inputs of which there is one get a second, which costs memory and saves time
 *     order     k n -> n k         of the loops that are cut
 *     keep      ofm all -> tile
 *
 * and, for a mapping that fits and should be faster, those that may take more memory:
 *
 *     tile      n 120 -> 240       larger sizes that divide what is cut
 *     buffers   w 1 -> 2           of one operand: one more, or twice as many
 *     keep      ifm tile -> all    or while a loop of the level stands still
 *     unroll    rows m -> rows m, k    a loop over another dimension of the array, together with those that are there; or two
 *                                  dimensions exchanged
 *
 * The distance of two mappings counts 1 for everything that differs, and for numbers 1 more for each time that they are
 * halved or doubled. */
#ifndef TW_ADVISE_MOVES_H
#define TW_ADVISE_MOVES_H
#include "program/program.h"

typedef struct tw_move {
    tw_edit_kind kind;
    int level;        /* of the mapping                                             */
    int index;        /* TILE: loop; BUFFERS, KEEP: operand, -1: all of the level   */
    int64_t from, to; /* TILE: size; BUFFERS: of one operand, or 2: doubles all; KEEP: as tw_level_map has it */
    int order[TW_MAX_LOOPS]; /* ORDER                                                      */
    tw_spread over;          /* UNROLL                                                     */
} tw_move;

/* Moves of the program's mapping. Those with the same kind, level and index stand together, the smallest change first. */
TW_NODISCARD tw_status tw_moves_list(const tw_program *program, tw_arena *arena, tw_move **out, int *n);
/* The same of moves that may take more memory. */
TW_NODISCARD tw_status tw_moves_list_growing(const tw_program *program, tw_arena *arena, tw_move **out, int *n);
/* Whether it takes more memory, so that it is of use only together with another one. */
static inline bool tw_move_doubles(const tw_move *move)
{
    return move->kind == TW_EDIT_BUFFERS && move->index < 0 && move->to > 0;
}
bool tw_moves_are_one_kind(const tw_move *a, const tw_move *b);
/* Changes `map`, which may have been changed before. */
void tw_move_apply(const tw_move *move, const tw_program *program, tw_op_map *map);
/* "buffers of w", "2", "1"; in machines of several memories "buffers of w in l1". TW_ERR_NOMEM. */
TW_NODISCARD tw_status tw_move_describe(const tw_move *move, const tw_program *program, tw_arena *arena,
                                        tw_edit *out);

/* Distance of `map` from the program's mapping; "n 120, k 40, buffers w 2" is added to `what`, in machines of
 * several memories "l2: n 120; l1: k 40". */
double tw_maps_distance(const tw_program *program, const tw_op_map *map, tw_text *what);
#endif
