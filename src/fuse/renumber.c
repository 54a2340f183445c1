/* src/fuse/renumber.c - finds operators by their names, which divided ones have made theirs: see renumber.h. */
#include "fuse/renumber.h"

#include <stdio.h>
#include <string.h>

int tw_renumber_op(const tw_op *op, const tw_model *to)
{
    for (int i = 0; i < to->n_ops; i++)
        if (strcmp(to->op[i].name, op->name) == 0) return i;
    return -1;
}

int tw_renumber_part(const tw_op *op, int part, const tw_model *to)
{
    size_t n = strlen(op->name);
    char behind[20];
    snprintf(behind, sizeof behind, ".part%d", part);
    for (int i = 0; i < to->n_ops; i++)
        if (strncmp(to->op[i].name, op->name, n) == 0 && strcmp(to->op[i].name + n, behind) == 0) return i;
    return -1;
}

tw_status tw_renumber_group(const tw_model *from, const tw_model *to, tw_arena *arena, tw_group_map *group)
{
    tw_group_op *op;
    TW_ALLOC(arena, op, group->n_ops);
    for (int i = 0; i < group->n_ops; i++) {
        op[i] = group->op[i];
        op[i].op = tw_renumber_op(&from->op[group->op[i].op], to);
        assert(op[i].op >= 0);
    }
    group->op = op;
    return TW_OK;
}

bool tw_renumber_resident(const tw_model *from, const tw_model *to, tw_group_resident *resident)
{
    if (resident->until == 0) return true;
    resident->until = 1 + tw_renumber_op(&from->op[resident->until - 1], to);
    return resident->until > 0;
}
