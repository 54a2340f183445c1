/* src/program/nestbuild.h - how a group becomes a nest: what the steps of building one share.
 *
 * nest.c resolves the operators and calls the steps in their order: check_first (the first pieces of the cuts are legal), open_holds (path by path:
 * nestholds.c), settle (what follows for each hold: nestsettle.c), measure (one walk over all steps: nestmeasure.c). joint.c builds all groups of a
 * mapping and gives their buffers addresses. */
#ifndef TW_PROGRAM_NESTBUILD_H
#define TW_PROGRAM_NESTBUILD_H
#include "program/nest.h"

/* Of a window that slides, most of all steps: rows of it, by which it moves on, that stay; and elements of a row. */
typedef struct tw_slide_rows {
    int64_t window, moved, kept, row;
} tw_slide_rows;

typedef struct tw_nest_builder {
    tw_nest *nest;
    tw_arena *arena;
    tw_diag *diag;
    int room; /* holds that there is room for */
    int64_t
        sharing[TW_MAX_GROUP_OPS];    /* of each operator: lanes with sums of the same elements, 0: not known yet */
    tw_slide_rows *rows;              /* of each hold */
    uint8_t *marks[TW_MAX_GROUP_OPS]; /* what leaves besides the output: a bit for each element that was made, */
    int64_t missing[TW_MAX_GROUP_OPS]; /* and how many were not */
} tw_nest_builder;

static inline const tw_platform_view *tw_nest_view_of(const tw_nest *nest, int k)
{
    return &nest->platform->view[nest->map->op[k].view];
}
static inline const char *tw_nest_memory_name(const tw_nest *nest, int memory)
{
    return nest->platform->memory[memory].name;
}
static inline const char *tw_nest_tensor_name(const tw_nest *nest, int tensor)
{
    return nest->model->tensor[tensor].name;
}

/* One group: everything but addresses and what passes between groups. */
TW_NODISCARD tw_status tw_nest_build(tw_nest_builder *b, const tw_work *work);

TW_NODISCARD tw_status tw_nest_check_first(const tw_nest_builder *b);
TW_NODISCARD tw_status tw_nest_open_holds(tw_nest_builder *b);
TW_NODISCARD tw_status tw_nest_settle(tw_nest_builder *b);
/* Finds how large each buffer has to be, and whether the compute engines take the tiles. */
TW_NODISCARD tw_status tw_nest_measure(tw_nest_builder *b, tw_arena *scratch);

/* The operator of the group that makes the tensor, -1: none does. */
int tw_nest_maker_of(const tw_nest *nest, int tensor);
/* The memory in which the tensor is resident between groups, 0: in none but the outermost. */
int tw_nest_home_of(const tw_nest *nest, int tensor);
/* Whether what operator k makes goes to memory 0: the output of the group, and what others read, too. */
bool tw_nest_leaves(const tw_nest *nest, int k);
#endif
