/* src/tile/shares.h - one loop split over unequal cores: the functions behind tilewright/shares.h, in a caller's arena. */
#ifndef TW_TILE_SHARES_H
#define TW_TILE_SHARES_H
#include "core/core.h"
#include "tilewright/shares.h"

enum { TW_SHARE_CORES = 4096, TW_SHARE_EXTENT = 1 << 24 };

typedef struct tw_share_problem {
    int64_t extent;
    int n_cores;
    const tw_share_rate *core;
} tw_share_problem;

TW_NODISCARD tw_status tw_share_problem_check(const tw_share_problem *p, tw_diag *diag);
/* Both of a problem that passed the check. */
TW_NODISCARD tw_status tw_share_equally(const tw_share_problem *p, tw_arena *arena, tw_shares *out);
TW_NODISCARD tw_status tw_share_best(const tw_share_problem *p, tw_arena *arena, tw_diag *diag, tw_shares *out);
TW_NODISCARD tw_status tw_share_traffic(const tw_split_layers *layers, tw_diag *diag, tw_split_traffic *out);
#endif
