/* src/verify/expect.h - what a mapping, as it was written, says about the program that is made of it.
 *
 * A judge has to know which loops lie over an array, how long the largest tile is, which loops are padded up to it, and
 * which inputs change with every execution: what an execution costs depends on that. All of it follows from the mapping and the
 * machine, and is worked out here once more. Nothing is asked of those who built the program. */
#ifndef TW_VERIFY_EXPECT_H
#define TW_VERIFY_EXPECT_H
#include "verify/verify.h"

/* Fills levels, is_pass, padded, largest, streamed, innermost, holds_sums and over of `in`, whose model, operator, machine and `next`
 * are there. in->level will point to `level`. */
void tw_verify_expect(const tw_op_map *map, tw_level_info level[TW_MAX_MEMORIES], tw_verify_input *in);
/* Operands that stay between two operators, each in one buffer: `in` will point to `resident`. */
void tw_verify_residents(tw_verify_input *in, tw_resident resident[TW_MAX_OPERANDS]);
#endif
