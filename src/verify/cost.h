/* src/verify/cost.h - how long an instruction takes, by the machine file's words. */
#ifndef TW_VERIFY_COST_H
#define TW_VERIFY_COST_H
#include "verify/fault.h"

/* Cycles that an engine takes for so much work (on an array: so many passes); negative when the number does not
 * fit. */
int64_t tw_verify_cycles(const tw_engine *engine, int64_t work);
/* Of these the cycles until it can start the next command. */
int64_t tw_verify_busy(const tw_engine *engine, int64_t cycles);
/* Passes over the array for a box: the points of its loops, of those that are laid out over rows or columns as
 * many as rounds are needed. */
int64_t tw_verify_passes(const tw_verify_input *in, const tw_cost_array *array, const tw_box *box);
/* Whether movers alone can do the operator: on numbers, each element of the output is one of the inputs, unchanged. */
bool tw_verify_only_moves(const tw_verify_input *in);
/* Whether the work of an instruction of the engine is its `passes`. */
bool tw_verify_by_shape(const tw_engine *engine);
/* What `passes` of an instruction on this engine must be: of an array, of a kernel, of a transfer by its rows. */
int64_t tw_verify_shape(const tw_verify_input *in, const tw_engine *engine, const tw_instr *instr);
/* Whether an instruction claims the passes that it makes and, of an EXEC, what they are while a mover disturbs it; false and a
 * fault. */
bool tw_cost_claims(const tw_site *s, const tw_engine *engine, int64_t passes);
#endif
