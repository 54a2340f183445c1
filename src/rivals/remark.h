/* src/rivals/remark.h - what an account leaves out or was made to fit, one sentence each. */
#ifndef TW_RIVALS_REMARK_H
#define TW_RIVALS_REMARK_H
#include "core/core.h"
#include "tilewright/rivals.h"

enum { TW_REMARKS = 64 };
typedef struct tw_remarks {
    tw_arena *arena;
    int n;
    const char *text[TW_REMARKS];
} tw_remarks;

/* Adds a sentence; those beyond the most that there may be are dropped. */
TW_NODISCARD tw_status tw_remark(tw_remarks *remarks, const char *fmt, ...) TW_PRINTF(2, 3);
/* Hands them over to an account. */
TW_NODISCARD tw_status tw_remarks_give(const tw_remarks *remarks, tw_account *account);
#endif
