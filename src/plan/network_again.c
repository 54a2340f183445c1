/* src/plan/network_again.c - see network_again.h. */
#include "plan/network_again.h"

#include "plan/ends.h"

#include <assert.h>
#include <string.h>

/* The model with numbers for names. */
static tw_status number_all(const tw_stretch *s, const tw_op *from, tw_arena *scratch, tw_model *out)
{
    tw_op *op;
    tw_tensor *tensor;
    const tw_model *model = &s->model;
    TW_ALLOC(scratch, op, s->n);
    TW_ALLOC(scratch, tensor, model->n_tensors);
    memcpy(op, from, (size_t)s->n * sizeof *op);
    memcpy(tensor, model->tensor, (size_t)model->n_tensors * sizeof *tensor);
    for (int i = 0; i < s->n; i++)
        if (!(op[i].name = tw_arena_printf(scratch, "o%d", i))) return TW_ERR_NOMEM;
    for (int i = 0; i < model->n_tensors; i++)
        if (!(tensor[i].name = tw_arena_printf(scratch, "t%d", i))) return TW_ERR_NOMEM;
    *out = *model;
    out->name = "stretch";
    out->op = op;
    out->tensor = tensor;
    return TW_OK;
}

tw_status tw_stretch_print(const tw_stretch *s, tw_arena *scratch, tw_text *out)
{
    tw_model model;
    tw_arena_mark mark = tw_arena_save(scratch);
    tw_status status = number_all(s, s->model.op, scratch, &model);
    if (status == TW_OK) tw_model_print(&model, out);
    if (status == TW_OK) status = number_all(s, s->alone, scratch, &model);
    if (status == TW_OK) tw_model_print(&model, out);
    tw_arena_rewind(scratch, mark);
    return status == TW_OK && out->failed ? TW_ERR_NOMEM : status;
}

/* Whether two descriptions of one operator have the same loops and see the same tensors. */
static bool is_described_as(const tw_op *a, const tw_op *b)
{
    bool same = a->n_loops == b->n_loops && a->n_operands == b->n_operands;
    for (int l = 0; l < a->n_loops && same; l++) same = a->loop[l].extent == b->loop[l].extent;
    for (int o = 0; o < a->n_operands && same; o++) same = a->operand[o].tensor == b->operand[o].tensor;
    return same;
}

/* The model of the program: operators as in their layers where the equal one has them so. */
static tw_status copy_model(const tw_stretch *like, const tw_plan *found, const tw_stretch *s, tw_arena *arena,
                            const tw_model **out)
{
    tw_model *model;
    tw_op *op;
    TW_ALLOC(arena, model, 1);
    TW_ALLOC(arena, op, s->n);
    for (int i = 0; i < s->n; i++) {
        bool alone = !is_described_as(&found->model->op[i], &like->model.op[i]);
        op[i] = alone ? s->alone[i] : s->model.op[i];
    }
    *model = s->model;
    model->op = op;
    *out = model;
    return TW_OK;
}

static tw_status copy_mapping(const tw_plan *found, const tw_model *model, tw_arena *arena, tw_mapping **out)
{
    tw_group_map *group;
    const tw_mapping *was = found->mapping;
    TW_ALLOC(arena, *out, 1);
    TW_ALLOC(arena, group, was->n_groups);
    memcpy(group, was->group, (size_t)was->n_groups * sizeof *group);
    for (int g = 0; g < was->n_groups; g++) {
        const char *driver = found->model->op[group[g].op[group[g].n_ops - 1].op].name;
        size_t n = strlen(driver);
        if (!group[g].name || strncmp(group[g].name, driver, n) != 0) continue;
        const char *own = model->op[group[g].op[group[g].n_ops - 1].op].name;
        if (!(group[g].name = tw_arena_printf(arena, "%s%s", own, group[g].name + n))) return TW_ERR_NOMEM;
    }
    **out = *was;
    (*out)->group = group;
    return TW_OK;
}

tw_status tw_stretch_again(const tw_stretch *like, const tw_plan *found, const tw_stretch *s, const tw_work *work,
                           const tw_plan **out)
{
    const tw_model *model;
    tw_mapping *mapping;
    TW_TRY(copy_model(like, found, s, work->arena, &model));
    TW_TRY(copy_mapping(found, model, work->arena, &mapping));
    tw_status status = tw_mapping_check(mapping, model, found->machine, work->diag);
    if (status == TW_OK)
        status = tw_plan_build_joint(model, found->machine, mapping, found->joint->search, work, out);
    bool same = status == TW_OK && (*out)->sum.cycles == found->sum.cycles;
    (void)same;
    assert(same || status == TW_ERR_NOMEM || status == TW_STOPPED); /* equal texts are equal programs */
    TW_TRY(status);
    return found->joint->end ? tw_joint_with_ends(*out, work, out) : TW_OK;
}
