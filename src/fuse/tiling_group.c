/* src/fuse/tiling_group.c - a tiling as a group of a mapping; see tiling.h.
 *
 * Every memory that something is held in has a level. Of one level of tiles, the first has all cuts; of two, the first memory has those of the outer tiles, and the first one
 * further inside those of the inner ones. */
#include "fuse/tiler.h"

static int n_outer_cuts(const tw_tiling *t) { return t->nested ? t->outer.n_cuts : 0; }

static tw_status write_levels(const tw_segment_frame *f, const tw_tiling *t, tw_arena *arena, tw_group_map *out)
{
    tw_group_level *level;
    bool held[TW_MAX_PLATFORM_MEMORIES] = {false};
    for (int i = 0; i < f->n_tensors; i++)
        for (int m = 0; m < f->tensor[i].n_memories; m++) held[f->tensor[i].memory[m]] = true;
    TW_ALLOC(arena, level, TW_MAX_GROUP_LEVELS);
    for (int m = 1; m < f->platform->n_memories; m++) {
        if (!held[m] || (m != f->level && out->n_levels >= TW_MAX_GROUP_LEVELS - 1)) continue;
        bool outer = t->nested && m <= f->outer;
        level[out->n_levels++] = (tw_group_level){.memory = m, .depth = outer ? t->outer.n_cuts : out->n_cuts};
    }
    out->level = level;
    return TW_OK;
}

static tw_status write_cuts(const tw_segment_frame *f, const tw_tiling *t, tw_arena *arena, tw_group_map *out)
{
    tw_nest_cut *cut;
    int n = n_outer_cuts(t), inner = 0;
    TW_ALLOC(arena, cut, out->n_cuts);
    while (t->nested && inner < out->n_levels - 1 && out->level[inner].memory <= f->outer) inner++;
    for (int p = 0; p < n; p++) cut[p] = (tw_nest_cut){.loop = t->outer.loop[p], .size = t->outer.size[p]};
    for (int p = 0; p < t->n_cuts; p++)
        cut[n + p] = (tw_nest_cut){.level = inner, .loop = t->loop[p], .size = t->size[p]};
    out->cut = cut;
    return TW_OK;
}

/* Of a tensor of the frame in a memory; false: it comes once, so that it has one buffer, and nothing is said of it. */
static bool hold_of(const tw_segment_frame *f, const tw_tiling *t, int i, int memory, tw_hold *out)
{
    const tw_frame_tensor *h = &f->tensor[i];
    bool outer = t->nested && memory <= f->outer;
    uint64_t slides = outer ? t->outer.slides : t->slides, changing = outer ? t->outer.changing : t->changing;
    int slide = outer ? t->outer.slide : t->slide, n_cuts = outer ? t->outer.n_cuts : t->n_cuts;
    int64_t in = outer ? t->outer.in_slots : t->in_slots, made = outer ? t->outer.out_slots : t->out_slots;
    int64_t slots = h->part == TW_COMES_IN ? in : h->part == TW_GOES_OUT ? made : 1;
    bool moves = slides >> i & 1;
    *out = (tw_hold){.tensor = h->tensor, .memory = memory, .depth = -1, .slots = slots};
    if (moves) out->slide = 1 + (outer ? t->outer.loop : t->loop)[slide - 1];
    if (moves && slide < n_cuts) out->depth = slide + (outer ? 0 : n_outer_cuts(t));
    return (changing >> i & 1) && (slots > 1 || moves);
}

static tw_status write_holds(const tw_segment_frame *f, const tw_tiling *t, tw_arena *arena, tw_group_map *out)
{
    tw_hold *hold;
    TW_ALLOC(arena, hold, f->n_tensors * TW_FRAME_STOPS);
    for (int i = 0; i < f->n_tensors; i++)
        for (int m = tw_tiles_from(f, t->resident, i); m < f->tensor[i].n_memories; m++)
            out->n_holds += hold_of(f, t, i, f->tensor[i].memory[m], &hold[out->n_holds]);
    out->hold = hold;
    return TW_OK;
}

tw_status tw_tiling_group(const tw_segment_frame *f, const tw_tiling *t, tw_arena *arena, tw_group_map *out)
{
    tw_group_op *op;
    TW_ALLOC(arena, op, f->segment.n);
    for (int k = 0; k < f->segment.n; k++)
        op[k] = (tw_group_op){.op = f->segment.first + k, .view = f->op[k].view, .over = t->over[k]};
    *out = (tw_group_map){.name = tw_frame_driver(f)->name,
                          .n_ops = f->segment.n,
                          .op = op,
                          .n_cuts = n_outer_cuts(t) + t->n_cuts,
                          .running = t->running};
    TW_TRY(write_levels(f, t, arena, out));
    TW_TRY(write_cuts(f, t, arena, out));
    return write_holds(f, t, arena, out);
}
