/* src/plan/context.c - contexts from their beginning to their end. */
#include "plan/context.h"

#include <stdlib.h>

tw_context *tw_context_new(void)
{
    tw_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx) return NULL;
    tw_deadline_init(&ctx->deadline, 0, NULL);
    ctx->diag.deadline = &ctx->deadline;
    ctx->arena = tw_arena_new();
    ctx->scratch = tw_arena_new();
    if (ctx->arena && ctx->scratch) return ctx;
    tw_context_free(ctx);
    return NULL;
}

void tw_context_free(tw_context *ctx)
{
    if (!ctx) return;
    for (tw_closing *c = ctx->closing; c; c = c->next) c->close(c->what);
    tw_diag_release(&ctx->diag);
    tw_arena_free(ctx->arena);
    tw_arena_free(ctx->scratch);
    free(ctx);
}

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
