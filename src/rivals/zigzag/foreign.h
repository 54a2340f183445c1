/* src/rivals/zigzag/foreign.h - files of another tool for ZigZag's rules. */
#ifndef TW_RIVALS_ZIGZAG_FOREIGN_H
#define TW_RIVALS_ZIGZAG_FOREIGN_H
#include "rivals/remark.h"
#include "rivals/zigzag/zigzag.h"

/* The layer's nest and machine as these rules count them: `goal` and `best` are what an account is made of. TW_ERR_INPUT names the
 * concept that these rules do not have, TW_INFEASIBLE a memory in which it does not fit. */
TW_NODISCARD tw_status tw_zz_adopt(const tw_rival *rival, int layer, tw_work work, tw_remarks *remarks,
                                   tw_zz_goal *goal, tw_zz_best *best);
#endif
