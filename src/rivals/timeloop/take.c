/* src/rivals/timeloop/take.c - a nest from elsewhere as a mapping of the tool: one block of loops per memory, and one tile there for all
 * operands. */
#include "rivals/plain.h"
#include "rivals/timeloop/timeloop.h"

#include <string.h>

static int owner_of(const tw_hierarchy *h, int axis)
{
    for (int m = 0; m < h->n_memories; m++) {
        const tw_tl_level *level = h->memory[m].extra;
        if (level->axis_x == axis || level->axis_y == axis) return m;
    }
    return h->n_memories - 1;
}

/* Loops over time of memories before this one. */
static int block_start(const tw_plain *p, int m)
{
    int n = 0;
    while (n < p->n_loops && p->loop[n].level < m) n++;
    return n;
}

static tw_status check_tiles(const tw_rival *rival, const tw_rival_layer *l, const tw_plain *p, tw_diag *diag)
{
    for (int m = 0; m < rival->machine->n_memories; m++)
        for (int o = 0; o < l->einsum->n_operands; o++)
            if (p->outside[m][o] >= 0 && p->outside[m][o] != block_start(p, m))
                return tw_diag_error(
                    diag, l->loc,
                    "'%s' is kept in '%s' for longer than the tile; Timeloop has one tile there for all operands",
                    l->einsum->operand[o].name, rival->machine->memory[m].name);
    return TW_OK;
}

static void add_block(const tw_hierarchy *h, const tw_plain *p, int m, tw_loopnest *nest, tw_loopnest_loop *loop)
{
    for (int i = 0; i < p->n_loops; i++)
        if (p->loop[i].level == m)
            loop[nest->n_loops++] = (tw_loopnest_loop){p->loop[i].dim, p->loop[i].bound, p->loop[i].last, -1, m};
    for (int i = 0; i < p->n_space; i++)
        if (owner_of(h, p->space[i].axis) == m)
            loop[nest->n_loops++] =
                (tw_loopnest_loop){p->space[i].dim, p->space[i].bound, p->space[i].bound, p->space[i].axis, m};
}

tw_status tw_tl_take(const tw_rival *rival, int layer, const tw_plain *p, tw_work work, const tw_rival **out)
{
    const tw_rival_layer *l = &rival->layer[layer];
    tw_rival *copy;
    tw_rival_layer *all;
    tw_loopnest *nest;
    tw_loopnest_loop *loop;
    TW_TRY(check_tiles(rival, l, p, work.diag));
    TW_ALLOC(work.arena, copy, 1);
    TW_ALLOC(work.arena, all, rival->n_layers);
    TW_ALLOC(work.arena, nest, 1);
    TW_ALLOC(work.arena, loop, p->n_loops + p->n_space + 1);
    nest->loop = loop;
    for (int m = 0; m < rival->machine->n_memories; m++) {
        for (int o = 0; o < l->einsum->n_operands; o++)
            nest->depth[m][o] = p->outside[m][o] < 0 ? -1 : nest->n_loops;
        add_block(rival->machine, p, m, nest, loop);
    }
    TW_TRY(tw_loopnest_check(nest, l->einsum, rival->machine, l->loc, work.diag));
    memcpy(all, rival->layer, (size_t)rival->n_layers * sizeof *all);
    all[layer].nest = nest;
    *copy = *rival;
    copy->layer = all;
    *out = copy;
    return TW_OK;
}
