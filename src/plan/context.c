/* src/plan/context.c - see context.h. */
#include "plan/context.h"

tw_status tw_context_close_later(tw_context *ctx, void (*close)(void *what), void *what)
{
    tw_closing *c = TW_NEW(ctx->arena, tw_closing, 1);
    if (!c) {
        close(what);
        return TW_ERR_NOMEM;
    }
    *c = (tw_closing){close, what, ctx->closing};
    ctx->closing = c;
    return TW_OK;
}
