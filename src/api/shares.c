/* src/api/shares.c - the public functions of tilewright/shares.h. */
#include "tile/shares.h"
#include "plan/context.h"

tw_status tw_shares_equal(tw_context *ctx, int64_t extent, const tw_share_rate *core, int n_cores,
                          const tw_shares **out)
{
    tw_share_problem p = {extent, n_cores, core};
    tw_shares *shares;
    TW_TRY(tw_share_problem_check(&p, &ctx->diag));
    TW_ALLOC(ctx->arena, shares, 1);
    *out = shares;
    return tw_share_equally(&p, ctx->arena, shares);
}

tw_status tw_shares_best(tw_context *ctx, int64_t extent, const tw_share_rate *core, int n_cores,
                         const tw_shares **out)
{
    tw_share_problem p = {extent, n_cores, core};
    tw_shares *shares;
    TW_TRY(tw_share_problem_check(&p, &ctx->diag));
    TW_ALLOC(ctx->arena, shares, 1);
    *out = shares;
    return tw_share_best(&p, ctx->arena, &ctx->diag, shares);
}

tw_status tw_split_traffic_of(tw_context *ctx, const tw_split_layers *layers, tw_split_traffic *out)
{
    return tw_share_traffic(layers, &ctx->diag, out);
}
