/* src/rivals/timeloop/write.h - plans of ours as files of Timeloop. */
#ifndef TW_RIVALS_TIMELOOP_WRITE_H
#define TW_RIVALS_TIMELOOP_WRITE_H
#include "rivals/timeloop/timeloop.h"

/* All sections in one file. What the tool cannot say is an error that names it. */
TW_NODISCARD tw_status tw_tl_write(const tw_rival *ours, tw_work work, tw_text *out);
#endif
