/* src/rivals/zigzag/remarks.h - what ZigZag's rules leave out of an account. */
#ifndef TW_RIVALS_ZIGZAG_REMARKS_H
#define TW_RIVALS_ZIGZAG_REMARKS_H
#include "rivals/remark.h"
#include "rivals/zigzag/count.h"

/* Latency below the port bound, stalls that hide each other, reads that are elided, loading that is less than nothing. */
TW_NODISCARD tw_status tw_zz_remark(const tw_zz_case *c, const tw_zz_nest *nest, const tw_zz_count *count,
                                    tw_remarks *remarks);
#endif
