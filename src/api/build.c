/* src/api/build.c - documents built in code, and what code generators ask of a plan: see tilewright/build.h. */
#include "input/doc.h"
#include "machine/read.h"
#include "mapping/limits.h"
#include "mapping/mapping.h"
#include "model/read.h"
#include "plan/context.h"
#include "plan/lifetime.h"
#include "report/facts/cuts.h"

tw_doc *tw_doc_new(tw_context *ctx, const char *name) { return tw_doc_of_arena(ctx->arena, name); }

tw_status tw_model_build(tw_context *ctx, const tw_doc *doc, const tw_model **out)
{
    const tw_node *root;
    tw_model *model;
    TW_TRY(tw_doc_tree(doc, &ctx->diag, &root));
    TW_ALLOC(ctx->arena, model, 1);
    TW_TRY(tw_model_of_tree(root, ctx->arena, &ctx->diag, model));
    *out = model;
    return TW_OK;
}

tw_status tw_machine_build(tw_context *ctx, const tw_doc *doc, const tw_machine **out)
{
    const tw_node *root;
    tw_machine *machine;
    TW_TRY(tw_doc_tree(doc, &ctx->diag, &root));
    TW_ALLOC(ctx->arena, machine, 1);
    TW_TRY(tw_machine_of_tree(root, ctx->arena, &ctx->diag, machine));
    *out = machine;
    return TW_OK;
}

tw_status tw_mapping_build(tw_context *ctx, const tw_model *model, const tw_machine *machine, const tw_doc *doc,
                           const tw_mapping **out)
{
    const tw_node *root;
    tw_mapping *mapping;
    TW_TRY(tw_doc_tree(doc, &ctx->diag, &root));
    TW_ALLOC(ctx->arena, mapping, 1);
    TW_TRY(tw_mapping_of_tree(root, model, machine, ctx->arena, &ctx->diag, mapping));
    *out = mapping;
    return TW_OK;
}

tw_status tw_limits_build(tw_context *ctx, const tw_model *model, const tw_machine *machine, const tw_doc *doc,
                          const tw_limits **out)
{
    const tw_node *root;
    tw_limits *limits;
    tw_text text = {0};
    TW_TRY(tw_doc_tree(doc, &ctx->diag, &root));
    TW_ALLOC(ctx->arena, limits, 1);
    TW_TRY(tw_limits_of_tree(root, model, machine, ctx->arena, &ctx->diag, limits));
    tw_doc_print(doc, &text);
    limits->text = text.failed ? NULL : tw_arena_strndup(ctx->arena, text.bytes, text.len);
    tw_text_release(&text);
    if (!limits->text) return TW_ERR_NOMEM;
    *out = limits;
    return TW_OK;
}

/* ---- tiles ---- */

static const tw_op *op_of(const tw_plan *plan, int op) { return plan->op[op].program.op; }

int tw_plan_n_loops(const tw_plan *plan, int op) { return op_of(plan, op)->n_loops; }
const char *tw_plan_loop_name(const tw_plan *plan, int op, int loop) { return op_of(plan, op)->loop[loop].name; }
int64_t tw_plan_loop_extent(const tw_plan *plan, int op, int loop) { return op_of(plan, op)->loop[loop].extent; }
int tw_plan_n_levels(const tw_plan *plan, int op) { return plan->op[op].program.n_tiled; }

const char *tw_plan_level_memory(const tw_plan *plan, int op, int level)
{
    return plan->machine->memory[plan->op[op].program.tiled[level].memory].name;
}

int64_t tw_plan_tile_size(const tw_plan *plan, int op, int level, int loop)
{
    return tw_cuts_of(&plan->op[op].program).level[level].largest[loop];
}

int64_t tw_plan_n_tiles(const tw_plan *plan, int op, int level, int loop)
{
    return tw_cuts_of(&plan->op[op].program).level[level].count[loop];
}

int tw_plan_order(const tw_plan *plan, int op, int level, int place)
{
    return plan->op[op].program.tiled[level].map->order[place];
}

/* ---- buffers ---- */

tw_status tw_plan_buffers(tw_context *ctx, const tw_plan *plan, int op, const tw_buffer_info **out, int *n)
{
    const tw_work work = tw_context_work(ctx);
    tw_buffer_info *info;
    if (plan->joint) {
        *out = NULL;
        *n = 0;
        return TW_OK;
    }
    tw_arena_mark mark = tw_arena_save(ctx->scratch);
    tw_status status = tw_lifetimes_of(&plan->op[op], &work, &info);
    tw_arena_rewind(ctx->scratch, mark);
    TW_TRY(status);
    *out = info;
    *n = plan->op[op].program.layout.n_buffers;
    return TW_OK;
}
