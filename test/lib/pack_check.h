/* test/lib/pack_check.h - what a placement has to be, and small problems to place; shares nothing with src/place/pack*. */
#ifndef TW_PACK_CHECK_H
#define TW_PACK_CHECK_H
#include "place/pack.h"

/* NULL when the offsets keep every constraint below `capacity`, else the first fault found. All pairs are compared. */
const char *pack_check(const tw_pack_item *item, int n, const int64_t *offset, int64_t capacity);

/* The least height, by trying every offset of every item below `limit`; limit + 1 when there is none. */
int64_t pack_brute(const tw_pack_item *item, int n, int64_t limit);

enum { PACK_MAX = 16 };
typedef struct pack_problem {
    int n;
    tw_pack_item item[PACK_MAX];
    tw_pack_segment segment[PACK_MAX][4];
    tw_span window[PACK_MAX][2];
} pack_problem;
/* n items of at most `size`, topped up until no item can grow without a higher load: the load is then often out of
 * reach. `kinds`: bits of what else may occur. */
enum {
    PACK_ALIGN = 1,
    PACK_BANK = 2,
    PACK_FIXED = 4,
    PACK_STEPS = 8,
    PACK_WINDOW = 16,
    PACK_RAISED = 32,
    PACK_ALL = 63
};
void pack_random(uint64_t *seed, int n, int64_t size, unsigned kinds, pack_problem *out);
#endif
