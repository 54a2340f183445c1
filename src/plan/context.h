/* src/plan/context.h - what a context owns: the arenas of its values, its messages, and the texts of its machines. */
#ifndef TW_PLAN_CONTEXT_H
#define TW_PLAN_CONTEXT_H
#include "core/deadline.h"
#include "input/tree.h"
#include "tilewright/paint.h"

/* The bytes that a machine was read from, told by the root of its tree, which machines with other values share. */
typedef struct tw_machine_source {
    const tw_node *root;
    const char *text;
    size_t n;
    const struct tw_machine_source *next;
} tw_machine_source;

/* Something that ends with the context: a mapped file, the arena of another thread. */
typedef struct tw_closing {
    void (*close)(void *what);
    void *what;
    struct tw_closing *next;
} tw_closing;

struct tw_context {
    tw_arena *arena, *scratch;
    tw_deadline deadline;            /* of all that is made with the context     */
    tw_diag diag;                    /* looks at it                              */
    const tw_machine_source *source; /* the newest first */
    tw_closing *closing;             /* the newest first */
    const tw_painter *painter;       /* of PNG and PDF, NULL: none */
};
/* What a stage works with: values and messages are the context's. */
static inline tw_work tw_context_work(tw_context *ctx) { return (tw_work){ctx->arena, ctx->scratch, &ctx->diag}; }
/* Closes `what` at once when there is no memory to remember it. */
TW_NODISCARD tw_status tw_context_close_later(tw_context *ctx, void (*close)(void *what), void *what);
#endif
