/* src/rivals/timeloop/foreign.h - files of another tool by Timeloop's rules. */
#ifndef TW_RIVALS_TIMELOOP_FOREIGN_H
#define TW_RIVALS_TIMELOOP_FOREIGN_H
#include "rivals/remark.h"
#include "rivals/timeloop/operand.h"

/* The account of a layer that is mapped. Remarks say what was made to fit. */
TW_NODISCARD tw_status tw_tl_count_foreign(const tw_rival *rival, int layer, tw_work work, tw_remarks *remarks,
                                           tw_account *out);
/* What these rules leave out, in words and figures. `words_per_cycle`: what the outermost memory passes, 0: anything. */
TW_NODISCARD tw_status tw_tl_remark(const tw_account *account, double words_per_cycle, tw_remarks *remarks);
#endif
