/* src/machine/arrange.h - the transfer that puts a tile of an input into the order of the output.
 *
 * An operator that only moves elements (tw_op_is_move) leads from one element of an input to the next, and from one of the
 * output to the next, by a stride per loop. Elements that follow each other in both make a run, which is a row of the
 * transfer; the longest loop that is left counts rows, each further one repeats that transfer:
 *
 *     slice      out[y][x] = in[y + 2][x + 8]     runs along x, rows along y
 *     transpose  out[x][y] = in[y][x]             a run is one element: slow, and that is what it costs
 *     tile       out[r][x] = in[x]                runs along x, rows along r, with stride 0 in the input
 *     pad        out[y][x] = in[y - 1][x - 1]     as a slice; a buffer of which a part is rim is zeroed before      */
#ifndef TW_MACHINE_ARRANGE_H
#define TW_MACHINE_ARRANGE_H
#include "machine/machine.h"

/* Of what `box` needs of an input, into a buffer that has the output's part of the box `laid`; `elem` are the units of an
 * element. All zero where the input has nothing. */
tw_shape tw_arranged(const tw_op *op, int operand, const tw_box *box, const tw_box *laid, int64_t elem);
/* Points of the box at which a pad has no element, with one input; otherwise none. */
typedef enum tw_rim { TW_RIM_NONE, TW_RIM_SOME, TW_RIM_ALL } tw_rim;
tw_rim tw_rim_of(const tw_op *op, const tw_box *box);
/* Whether every tile with these steps of the loop is nothing but rim. */
bool tw_rim_has(const tw_op *op, int loop, tw_span steps);
/* Whether the movers do all of a move in no more time than movers and the compute engine beside them: a row for every element
 * is more than many engines take to compute it. The compute engine has the cost for the operator, `link` fills its memory. */
bool tw_arranging_pays(const tw_machine *machine, const tw_model *model, const tw_op *op, int link);
#endif
