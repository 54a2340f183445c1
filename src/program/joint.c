/* src/program/joint.c - all groups of a mapping: what passes between them, and the addresses of their buffers. */
#include "mapping/groups.h"
#include "program/nestbuild.h"
#include "program/nestshare.h"

#include <stdlib.h>

static int output_of(const tw_nest *nest)
{
    const tw_op *driver = nest->op[nest->n_ops - 1].op;
    return driver->operand[tw_op_output(driver)].tensor;
}

bool tw_nest_makes(const tw_nest *nest, int tensor)
{
    for (int s = 0; s < nest->n_holds; s++)
        if (tw_tensors_share(nest->model, nest->hold[s].tensor, tensor) &&
            (nest->hold[s].drain >= 0 || nest->hold[s].resident))
            return true;
    return tw_tensors_share(nest->model, output_of(nest), tensor);
}

/* Of each tensor that others are views of. */
typedef struct crossing {
    bool made, loaded; /* a group makes it; one loads it for others, too */
    int read;          /* the last group that reads it of another one     */
} crossing;

/* What the group reads and groups before it make, or loaded for it. */
static void find_coming(tw_nest *nest, int group, crossing *of)
{
    const tw_model *model = nest->model;
    for (int s = 0; s < nest->n_holds; s++) {
        tw_nest_hold *hold = &nest->hold[s];
        crossing *c = &of[model->tensor[hold->tensor].root];
        if (hold->maker >= 0 || !(c->made || (c->loaded && tw_nest_home_of(nest, hold->tensor) > 0))) continue;
        hold->crosses = hold->comes = true;
        c->read = group;
    }
    for (int s = 0; s < nest->n_holds; s++) {
        const tw_nest_hold *hold = &nest->hold[s];
        crossing *c = &of[model->tensor[hold->tensor].root];
        bool loads = hold->resident && hold->from == TW_FROM_TENSOR;
        c->loaded |= loads;
        c->made |= !loads && (hold->drain >= 0 || hold->resident);
    }
    of[model->tensor[output_of(nest)].root].made = true;
}

/* What passes from group to group. */
static tw_status find_crossing(const tw_joint *joint, tw_nest *nest, tw_arena *scratch)
{
    tw_arena_mark mark = tw_arena_save(scratch);
    crossing *of;
    TW_ALLOC(scratch, of, joint->model->n_tensors);
    for (int g = 0; g < joint->n_nests; g++) find_coming(&nest[g], g, of);
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++) {
            tw_nest_hold *hold = &nest[g].hold[s];
            if (hold->maker >= 0 && g < of[joint->model->tensor[hold->tensor].root].read &&
                tw_nest_makes(&nest[g], hold->tensor))
                hold->crosses = true;
        }
    tw_arena_rewind(scratch, mark);
    return TW_OK;
}

int64_t tw_joint_room(const tw_joint *joint, int memory)
{
    const tw_mapping *mapping = joint->nest[0].mapping;
    return tw_room_of(mapping->room, mapping->n_rooms, memory, joint->platform->memory[memory].is.size);
}

static tw_status refuse_size(const tw_joint *joint, int memory, int64_t need, tw_diag *diag)
{
    const tw_memory *mem = &joint->platform->memory[memory].is;
    int64_t room = tw_joint_room(joint, memory);
    tw_status status = tw_diag_infeasible(
        diag, joint->nest[0].map->loc, "memory '%s' is short by %" PRId64 ": buffers need %" PRId64 " of %" PRId64,
        joint->platform->memory[memory].name, need - room, need, room);
    diag->short_by = need - room;
    for (int i = 0; i < joint->n_holds; i++) {
        const tw_nest_hold *s = joint->hold[i];
        if (s->memory == memory && s->slides)
            tw_diag_note(diag, s->loc, "'%s' takes %" PRId64 " in '%s', where it slides",
                         joint->model->tensor[s->tensor].name, tw_nest_hold_units(s, s->slots),
                         joint->platform->memory[memory].name);
        else if (s->memory == memory)
            tw_diag_note(diag, s->loc, "'%s' takes %" PRId64 " x %" PRId64 " in '%s'",
                         joint->model->tensor[s->tensor].name, s->slots, s->size,
                         joint->platform->memory[memory].name);
    }
    tw_diag_note(diag, mem->loc, "memory '%s' declared here with %" PRId64, joint->platform->memory[memory].name,
                 mem->size);
    return status;
}

/* Buffers of a hold from *end on, lane by lane alike. */
static bool lay_hold(const tw_joint *joint, int group, tw_nest_hold *s, tw_buffer *buffer, int *n, int64_t *end)
{
    int64_t align = joint->platform->memory[s->memory].is.align;
    s->first = *n;
    for (int64_t slot = 0; slot < s->slots; slot++) {
        bool ahead = s->slides && slot > 0;
        int64_t at = ahead ? *end : tw_cdiv(*end, align) * align, size = ahead ? s->ahead : s->size;
        if (!tw_ckd_add(at, size, end) || *end > INT64_MAX / 2) return false;
        for (int lane = 0; lane < s->lanes; lane++)
            buffer[(*n)++] = (tw_buffer){.memory = s->memory,
                                         .operand = s->tensor,
                                         .slot = (int)slot,
                                         .offset = at,
                                         .size = size,
                                         .circular = s->slides,
                                         .inside = ahead,
                                         .pool = s->number,
                                         .lane = lane,
                                         .group = group};
    }
    return true;
}

/* By memories, groups and tensors. */
static int by_place(const void *x, const void *y)
{
    const tw_nest_hold *a = *(tw_nest_hold *const *)x, *b = *(tw_nest_hold *const *)y;
    if (a->memory != b->memory) return a->memory - b->memory;
    return a->group != b->group ? a->group - b->group : a->tensor - b->tensor;
}

/* The holds in a memory, of which `next` is the first; *next moves behind them. */
static tw_status lay_memory(tw_joint *joint, int memory, tw_nest_hold *const **next, tw_buffer *buffer,
                            tw_diag *diag)
{
    for (; **next && (**next)->memory == memory; ++*next) {
        tw_nest_hold *s = **next;
        if (!lay_hold(joint, s->group, s, buffer, &joint->n_buffers, &joint->used[memory]))
            return tw_diag_error(diag, s->loc, "buffers in '%s' exceed 2^62", joint->platform->memory[memory].name);
    }
    return TW_OK;
}

/* All holds, memory by memory; NULL behind the last. */
static tw_status list_places(const tw_joint *joint, tw_nest *nest, tw_arena *scratch, tw_nest_hold *const **out)
{
    tw_nest_hold **all;
    int n = 0;
    TW_ALLOC(scratch, all, joint->n_holds + 1);
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++) all[n++] = &nest[g].hold[s];
    qsort(all, (size_t)n, sizeof *all, by_place);
    *out = all;
    return TW_OK;
}

static tw_status lay_memories(tw_joint *joint, tw_nest *nest, tw_buffer *buffer, const tw_work *work)
{
    tw_nest_hold *const *next;
    TW_TRY(list_places(joint, nest, work->scratch, &next));
    for (int m = 1; m < joint->platform->n_memories; m++) {
        TW_TRY(lay_memory(joint, m, &next, buffer, work->diag));
        int64_t align = joint->platform->memory[m].is.align, room = tw_joint_room(joint, m);
        if (joint->used[m] <= room) continue;
        bool by_order = joint->used[m] - room < align; /* another one may end with a buffer that needs no gap */
        if (joint->n_ranks == 1 && !by_order) return refuse_size(joint, m, joint->used[m], work->diag);
        TW_TRY(tw_joint_pack(joint, m, buffer, work));
    }
    return TW_OK;
}

static tw_status lay_out(tw_joint *joint, tw_nest *nest, const tw_work *work)
{
    int64_t n = 0;
    tw_buffer *buffer;
    for (int i = 0; i < joint->n_holds; i++)
        if (!tw_ckd_add(n, joint->hold[i]->slots * joint->hold[i]->lanes, &n) || n > TW_MAX_BUFFERS)
            return tw_diag_error(work->diag, nest->map->loc, "the mapping has more than %d buffers",
                                 TW_MAX_BUFFERS);
    TW_ALLOC(work->arena, buffer, n + 1);
    joint->buffer = buffer;
    tw_arena_mark mark = tw_arena_save(work->scratch);
    tw_status status = lay_memories(joint, nest, buffer, work);
    tw_arena_rewind(work->scratch, mark);
    return status;
}

/* Holds are numbered over all groups. */
static tw_status number_holds(tw_joint *joint, tw_nest *nest, tw_arena *arena)
{
    const tw_nest_hold **all;
    int n = 0;
    for (int g = 0; g < joint->n_nests; g++) n += nest[g].n_holds;
    TW_ALLOC(arena, all, n);
    for (int g = 0; g < joint->n_nests; g++)
        for (int s = 0; s < nest[g].n_holds; s++) {
            nest[g].hold[s].number = joint->n_holds;
            nest[g].hold[s].group = g;
            all[joint->n_holds++] = &nest[g].hold[s];
        }
    joint->hold = all;
    return TW_OK;
}

/* Of the groups that find a resident tensor where it is, the last one gives it back. That it is complete by then is known of those that read it: were
 * there none, it would be given back before. */
static tw_status check_residents(const tw_joint *joint, const tw_mapping *mapping, tw_diag *diag)
{
    for (int i = 0; i < mapping->n_residents; i++) {
        const tw_group_resident *r = &mapping->resident[i];
        bool is_read = false, is_found = false;
        for (int h = 0; h < joint->n_holds && !is_read; h++) {
            const tw_nest_hold *hold = joint->hold[h];
            if (hold->from != TW_FROM_GROUP || !tw_tensors_are_alike(joint->model, hold->tensor, r->tensor))
                continue;
            is_found = true;
            is_read = hold->is_read;
        }
        if (is_found && !is_read)
            return tw_diag_infeasible(
                diag, r->loc,
                "'%s' is resident, and the groups that find it in '%s' read nothing but padding of it",
                joint->model->tensor[r->tensor].name, joint->platform->memory[r->memory].name);
    }
    return TW_OK;
}

tw_status tw_joint_build(const tw_model *model, const tw_platform *platform, const tw_mapping *mapping,
                         const tw_work *work, const tw_joint **out)
{
    tw_joint *joint;
    tw_nest *nest;
    TW_ALLOC(work->arena, joint, 1);
    TW_ALLOC(work->arena, nest, mapping->n_groups);
    *joint = (tw_joint){.model = model, .platform = platform, .n_nests = mapping->n_groups, .nest = nest};
    for (int g = 0; g < joint->n_nests; g++) {
        nest[g] = (tw_nest){
            .model = model, .platform = platform, .map = &mapping->group[g], .mapping = mapping, .group = g};
        tw_nest_builder b = {.nest = &nest[g], .arena = work->arena, .diag = work->diag};
        TW_TRY(tw_nest_build(&b, work));
    }
    TW_TRY(find_crossing(joint, nest, work->scratch));
    TW_TRY(number_holds(joint, nest, work->arena));
    TW_TRY(check_residents(joint, mapping, work->diag));
    tw_joint_live(joint, nest);
    TW_TRY(lay_out(joint, nest, work));
    tw_joint_settle_residents(joint, nest);
    TW_TRY(tw_joint_find_heirs(joint, work));
    *out = joint;
    return TW_OK;
}
