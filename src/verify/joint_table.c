/* src/verify/joint_table.c - the table of buffers: each in its memory, aligned, apart from the others, and of a hold that the
 * mapping asks for.
 *
 * The buffers of a hold are its slots one behind the other, each with all its lanes. Whether one is large enough is seen
 * when it is taken. */
#include "verify/joint_judge.h"

#include <stdio.h>
#include <stdlib.h>

int64_t tw_joint_units(const tw_joint_judge *j, tw_dtype dtype, int64_t elems)
{
    return j->unit == TW_UNIT_BYTE ? elems * tw_dtype_bytes(dtype) : elems;
}

/* Of the elements in the hold's buffers. */
tw_dtype tw_joint_dtype(const tw_joint_judge *j, const tw_joint_hold *h)
{
    return h->sums ? j->group[h->group].op[h->maker].op->accumulator : j->in.model->tensor[h->tensor].dtype;
}

tw_buffer_name tw_joint_buffer_name(const tw_joint_judge *j, int buffer, int tensor)
{
    tw_buffer_name name;
    bool known = tensor >= 0 && tensor < j->in.model->n_tensors;
    if (buffer < 0 || buffer >= j->in.n_buffers) {
        snprintf(name.text, sizeof name.text, "%.40s",
                 buffer == -1 && known ? j->in.model->tensor[tensor].name : "(none)");
        return name;
    }
    const tw_buffer *b = &j->in.buffer[buffer];
    bool is_sound = b->memory >= 0 && b->memory < j->in.platform->n_memories && b->operand >= 0 &&
                    b->operand < j->in.model->n_tensors;
    snprintf(name.text, sizeof name.text, "%.24s.%.24s%d", is_sound ? j->in.platform->memory[b->memory].name : "?",
             is_sound ? j->in.model->tensor[b->operand].name : "?", b->slot);
    return name;
}

static bool check_place(tw_joint_judge *j, int buffer)
{
    const tw_buffer *b = &j->in.buffer[buffer];
    if (b->memory < 1 || b->memory >= j->in.platform->n_memories || b->operand < 0 ||
        b->operand >= j->in.model->n_tensors || b->group < 0 || b->group >= j->in.n_groups || b->offset < 0 ||
        b->size < 0 || b->lane < 0) {
        tw_fault_set(&j->fault, "layout: buffer %d has no place", buffer);
        return false;
    }
    const tw_platform_memory *m = &j->in.platform->memory[b->memory];
    tw_buffer_name name = tw_joint_buffer_name(j, buffer, -1);
    int64_t end, align = tw_max(1, m->is.align);
    if (!tw_ckd_add(b->offset, b->size, &end) || end > m->is.size)
        tw_fault_set(&j->fault, "layout: buffer %s ends at %" PRId64 ", '%s' has %" PRId64, name.text,
                     b->offset + b->size, m->name, m->is.size);
    else if (b->offset % align != 0)
        tw_fault_set(&j->fault, "layout: buffer %s lies at %" PRId64 ", '%s' is aligned to %" PRId64, name.text,
                     b->offset, m->name, align);
    else
        j->static_units[b->memory] = tw_max(j->static_units[b->memory], end);
    return !j->fault.set;
}

/* ---- overlaps ---- */

typedef struct interval {
    int memory, lane, buffer;
    int64_t lo, hi;
} interval;

static int compare(const void *x, const void *y)
{
    const interval *a = x, *b = y;
    if (a->memory != b->memory) return a->memory < b->memory ? -1 : 1;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
    return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

/* Groups, tensors and slots lie in their order. */
static bool is_before(const tw_buffer *a, const tw_buffer *b)
{
    if (a->group != b->group) return a->group < b->group;
    return a->operand != b->operand ? a->operand < b->operand : a->slot < b->slot;
}

/* A buffer lies as close behind the one before it, NULL: there is none, as it can. */
static void check_neighbours(tw_joint_judge *j, const interval *a, const interval *b)
{
    bool is_first = !a || a->memory != b->memory || a->lane != b->lane;
    int64_t align = tw_max(1, j->in.platform->memory[b->memory].is.align), end = is_first ? 0 : a->hi;
    int64_t should = (end / align + (end % align > 0)) * align;
    tw_buffer_name name = tw_joint_buffer_name(j, b->buffer, -1), before = {"?"};
    if (!is_first) before = tw_joint_buffer_name(j, a->buffer, -1);
    if (!is_first && b->lo < a->hi)
        tw_fault_set(&j->fault, "layout: buffer %s lies at %" PRId64 ", buffer %s before it ends at %" PRId64,
                     name.text, b->lo, before.text, a->hi);
    else if (b->lo != should)
        tw_fault_set(&j->fault, "layout: buffer %s lies at %" PRId64 ", it should lie at %" PRId64, name.text,
                     b->lo, should);
    else if (!is_first && !j->in.unhurried && !is_before(&j->in.buffer[a->buffer], &j->in.buffer[b->buffer]))
        tw_fault_set(&j->fault, "layout: buffer %s lies behind buffer %s", name.text, before.text);
}

static tw_status check_overlaps(tw_joint_judge *j)
{
    interval *all;
    int n = 0;
    TW_ALLOC(j->arena, all, j->in.n_buffers + 1);
    for (int i = 0; i < j->in.n_buffers; i++) {
        const tw_buffer *b = &j->in.buffer[i];
        if (b->size > 0) all[n++] = (interval){b->memory, b->lane, i, b->offset, b->offset + b->size};
    }
    qsort(all, (size_t)n, sizeof *all, compare);
    for (int i = 0; i < n && !j->fault.set; i++) check_neighbours(j, i > 0 ? &all[i - 1] : NULL, &all[i]);
    return TW_OK;
}

/* ---- holds ---- */

static bool belongs(const tw_joint_judge *j, const tw_joint_hold *h, int buffer)
{
    const tw_buffer *b = &j->in.buffer[buffer];
    return b->group == h->group && b->operand == h->tensor && b->memory == h->memory;
}

/* The buffer i of a hold is lane i mod lanes of slot i / lanes, and as large as all of them. */
static bool check_buffer(tw_joint_judge *j, const tw_joint_hold *h, int64_t i)
{
    const tw_buffer *b = &j->in.buffer[h->first + i], *first = &j->in.buffer[h->first + i - i % h->lanes];
    tw_buffer_name name = tw_joint_buffer_name(j, (int)(h->first + i), -1);
    if (b->slot != i / h->lanes)
        tw_fault_set(&j->fault, "layout: buffer %s has slot %d, it should be %" PRId64, name.text, b->slot,
                     i / h->lanes);
    else if (b->lane != i % h->lanes)
        tw_fault_set(&j->fault, "layout: buffer %s has lane %d, it should be %" PRId64, name.text, b->lane,
                     i % h->lanes);
    else if (b->size != first->size || b->offset != first->offset)
        tw_fault_set(&j->fault,
                     "layout: lane %d of buffer %s has %" PRId64 " units at %" PRId64 ", lane 0 has %" PRId64
                     " at %" PRId64,
                     b->lane, name.text, b->size, b->offset, first->size, first->offset);
    else if (b->size != j->in.buffer[h->first].size)
        tw_fault_set(&j->fault, "layout: buffer %s has %" PRId64 " units, slot 0 has %" PRId64, name.text, b->size,
                     j->in.buffer[h->first].size);
    return !j->fault.set;
}

/* Finds the buffers of a hold: the first ones of its kind that no other hold has. */
static bool find_buffers(tw_joint_judge *j, tw_joint_hold *h, int number)
{
    int64_t n = 0, should = h->slots * h->lanes;
    for (int i = 0; i < j->in.n_buffers && n < should; i++) {
        if (!belongs(j, h, i) || j->hold_of[i] >= 0) continue;
        if (n == 0) h->first = i;
        if (h->first + n != i) break;
        j->hold_of[i] = number;
        n++;
    }
    if (n > 0 && n != should) {
        tw_fault_set(&j->fault,
                     "layout: '%s' has %" PRId64 " buffers in '%s' for group '%s', it should have %" PRId64,
                     j->in.model->tensor[h->tensor].name, n, j->in.platform->memory[h->memory].name,
                     j->group[h->group].map->name, should);
        return false;
    }
    for (int64_t i = 0; i < n; i++)
        if (!check_buffer(j, h, i)) return false;
    return true;
}

tw_status tw_joint_table(tw_joint_judge *j)
{
    TW_ALLOC(j->arena, j->hold_of, j->in.n_buffers + 1);
    TW_ALLOC(j->arena, j->static_units, j->in.platform->n_memories);
    for (int i = 0; i < j->in.n_buffers; i++) {
        j->hold_of[i] = -1;
        if (!check_place(j, i)) return TW_OK;
    }
    for (int g = 0; g < j->in.n_groups; g++)
        for (int h = 0; h < j->group[g].n_holds; h++)
            if (!find_buffers(j, &j->group[g].hold[h], h)) return TW_OK;
    for (int i = 0; i < j->in.n_buffers && !j->fault.set; i++)
        if (j->hold_of[i] < 0)
            tw_fault_set(&j->fault, "layout: buffer %s belongs to nothing that group '%s' holds",
                         tw_joint_buffer_name(j, i, -1).text, j->group[j->in.buffer[i].group].map->name);
    return check_overlaps(j);
}
