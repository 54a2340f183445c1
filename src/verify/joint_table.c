/* src/verify/joint_table.c - which buffers of the table belong to which hold of which group, and where they lie.
 *
 * The buffers of a hold are its slots one behind the other, each with all its lanes. Whether one is large enough is seen
 * when it is taken. Where a memory has room for all of them one behind the other, that is how they lie. Otherwise two may overlap
 * if the last group that uses the one stands before the group of the other; that nobody uses the one when the other is
 * taken is seen then. */
#include "verify/joint_judge.h"
#include "verify/shape.h"

/* Of the elements in the hold's buffers. */
tw_dtype tw_joint_dtype(const tw_joint_judge *j, const tw_joint_hold *h)
{
    return h->sums ? j->group[h->group].op[h->maker].op->accumulator : j->in.model->tensor[h->tensor].dtype;
}

/* ---- addresses ---- */

/* Groups, tensors and slots lie in their order. */
static bool is_before(const tw_buffer *a, const tw_buffer *b)
{
    if (a->group != b->group) return a->group < b->group;
    return a->operand != b->operand ? a->operand < b->operand : a->slot < b->slot;
}

/* A buffer lies as close behind the one before it, NULL: there is none, as it can. */
static void check_neighbours(tw_joint_judge *j, const tw_buffer *a, const tw_buffer *b)
{
    const tw_scene *scene = j->known.scene;
    int64_t align = tw_max(1, j->in.platform->memory[b->memory].is.align), end = a ? a->offset + a->size : 0;
    bool inside = a && b->circular && b->slot > 0 && a->pool == b->pool;
    int64_t should = inside ? end : (end / align + (end % align > 0)) * align;
    tw_buffer_name name = tw_joint_buffer_name(j, (int)(b - scene->buffer), -1);
    if (b->offset != should)
        tw_fault_set(&j->fault, "layout: buffer %s lies at %" PRId64 ", it should lie at %" PRId64, name.text,
                     b->offset, should);
    else if (a && !j->in.unhurried && !is_before(a, b))
        tw_fault_set(&j->fault, "layout: buffer %s lies behind buffer %s", name.text,
                     tw_joint_buffer_name(j, (int)(a - scene->buffer), -1).text);
}

static const tw_joint_hold *hold_at(const tw_joint_judge *j, const tw_buffer *b)
{
    return &j->group[b->group].hold[j->hold_of[b - j->in.buffer]];
}

/* What the alignment adds behind so many units. */
static int64_t slack(int64_t align, int64_t units) { return (align - units % align) % align; }

/* Of a memory, what the mapping leaves to all buffers together. */
static int64_t room_in(const tw_joint_judge *j, int memory)
{
    int64_t units = j->in.platform->memory[memory].is.size;
    for (int i = 0; i < j->in.n_rooms; i++)
        if (j->in.room[i].memory == memory && j->in.room[i].units < units) units = j->in.room[i].units;
    return units;
}

/* Whether the buffers of a memory, in the order of groups, tensors and slots, would fit one behind the other: all but the last with what
 * the alignment adds to them, a circular one as one. */
static bool has_room(const tw_joint_judge *j, int memory)
{
    const tw_memory *m = &j->in.platform->memory[memory].is;
    const tw_buffer *last = NULL;
    int64_t sum = 0, align = tw_max(1, m->align), behind = 0;
    for (int i = 0; i < j->in.n_buffers; i++) {
        const tw_buffer *b = &j->in.buffer[i];
        if (b->memory != memory || b->lane > 0 || b->size == 0 || (b->circular && b->slot > 0)) continue;
        int64_t units = b->circular ? tw_table_units(j->known.scene, i, hold_at(j, b)->slots) : b->size;
        if (!tw_ckd_add(sum, units, &sum) || !tw_ckd_add(sum, slack(align, units), &sum)) return false;
        if (last && !is_before(last, b)) continue;
        last = b;
        behind = slack(align, units);
    }
    return sum - behind <= room_in(j, memory);
}

/* Of two that overlap, one was given back for good before the other's group begins. */
static bool are_apart(const tw_joint_judge *j, const tw_buffer *a, const tw_buffer *b)
{
    int first = j->group[a->group].rank, second = j->group[b->group].rank;
    return hold_at(j, a)->last_rank < second || hold_at(j, b)->last_rank < first;
}

/* Buffers from `order` on that overlap the first one. */
static void check_sharers(tw_joint_judge *j, const tw_buffer **order, int n)
{
    const tw_buffer *a = order[0];
    for (int i = 1; i < n && tw_table_overlap(a, order[i]) && !j->fault.set; i++) {
        if (are_apart(j, a, order[i])) continue;
        tw_fault_set(&j->fault, "layout: buffers %s of group '%s' and %s of group '%s' overlap and live together",
                     tw_joint_buffer_name(j, (int)(a - j->in.buffer), -1).text, j->group[a->group].map->name,
                     tw_joint_buffer_name(j, (int)(order[i] - j->in.buffer), -1).text,
                     j->group[order[i]->group].map->name);
    }
}

/* The buffers of a circular one lie behind each other without gaps, wherever that is. */
static void check_ring(tw_joint_judge *j, const tw_buffer *b)
{
    if (!b->circular || b->slot == 0 || b[-1].offset + b[-1].size == b->offset) return;
    tw_fault_set(&j->fault,
                 "layout: buffer %s lies at %" PRId64 ", the one before it in the circle ends at %" PRId64,
                 tw_joint_buffer_name(j, (int)(b - j->in.buffer), -1).text, b->offset, b[-1].offset + b[-1].size);
}

static tw_status check_addresses(tw_joint_judge *j)
{
    const tw_buffer **order;
    int n = tw_table_order(j->known.scene, j->arena, &order);
    if (n < 0) return TW_ERR_NOMEM;
    bool in_line = true;
    for (int i = 0, memory = -1; i < n && !j->fault.set; i++) {
        const tw_buffer *a = i > 0 ? order[i - 1] : NULL, *b = order[i];
        if (a && (a->memory != b->memory || a->lane != b->lane)) a = NULL;
        if (b->memory != memory) in_line = has_room(j, memory = b->memory);
        j->shares |= !in_line;
        if (!in_line) check_ring(j, b);
        if (b->offset + b->size > room_in(j, b->memory))
            tw_fault_set(&j->fault, "layout: buffer %s ends at %" PRId64 ", where there is room for %" PRId64,
                         tw_joint_buffer_name(j, (int)(b - j->in.buffer), -1).text, b->offset + b->size,
                         room_in(j, b->memory));
        if (!in_line)
            check_sharers(j, order + i, n - i);
        else if (a && tw_table_overlap(a, b))
            tw_table_refuse(j->known.scene, a, b, &j->fault);
        else
            check_neighbours(j, a, b);
    }
    return TW_OK;
}

/* ---- holds ---- */

static bool belongs(const tw_joint_judge *j, const tw_joint_hold *h, int buffer)
{
    const tw_buffer *b = &j->in.buffer[buffer];
    return b->group == h->group && b->operand == h->tensor && b->memory == h->memory;
}

/* The first of a circular buffer has room for a window, each other one for what comes ahead of it. */
static int64_t window_units(const tw_joint_judge *j, const tw_joint_hold *h, int slot)
{
    int64_t rows = slot == 0 ? h->slide.window : h->slide.moved;
    return tw_verify_dtype_units(j->known.scene->unit, tw_joint_dtype(j, h), rows * h->slide.row);
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
    else if (b->circular != h->slide.is)
        tw_fault_set(&j->fault, "layout: buffer %s is %s", name.text,
                     b->circular ? "circular" : "no part of a circular one");
    else if (h->slide.is && b->size != window_units(j, h, b->slot))
        tw_fault_set(&j->fault, "layout: buffer %s has %" PRId64 " units, its window asks for %" PRId64, name.text,
                     b->size, window_units(j, h, b->slot));
    else if (!h->slide.is && b->size != j->in.buffer[h->first].size)
        tw_fault_set(&j->fault, "layout: buffer %s has %" PRId64 " units, slot 0 has %" PRId64, name.text, b->size,
                     j->in.buffer[h->first].size);
    return !j->fault.set;
}

/* Finds the buffers of a hold: the first ones of its kind that no other hold has. */
static bool find_buffers(tw_joint_judge *j, tw_joint_hold *h, int number)
{
    int64_t n = 0, should = h->slots * h->lanes;
    if (h->home) {
        h->first = h->home->first;
        return true;
    }
    for (int i = 0; i < j->in.n_buffers && n < should; i++) {
        if (!belongs(j, h, i) || j->hold_of[i] >= 0) continue;
        if (n == 0) h->first = i;
        if (h->first + n != i) break;
        j->hold_of[i] = number;
        j->tally.pool_of[i] = j->tally.n_pools;
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
    if (n == 0) return true;
    j->no_memory |= !tw_tally_add_pool(&j->tally, h->first, j->in.buffer[h->first].pool, h->slots, j->arena);
    return !j->no_memory;
}

tw_status tw_joint_table(tw_joint_judge *j)
{
    TW_ALLOC(j->arena, j->hold_of, j->in.n_buffers + 1);
    for (int i = 0; i < j->in.n_buffers; i++) {
        j->hold_of[i] = -1;
        if (j->in.buffer[i].group < 0 || j->in.buffer[i].group >= j->in.n_groups)
            tw_fault_set(&j->fault, "layout: buffer %d is of no group", i);
    }
    tw_table_places(j->known.scene, &j->fault);
    for (int g = 0; g < j->in.n_groups && !j->fault.set; g++)
        for (int h = 0; h < j->group[g].n_holds; h++)
            if (!find_buffers(j, &j->group[g].hold[h], h)) return j->no_memory ? TW_ERR_NOMEM : TW_OK;
    for (int i = 0; i < j->in.n_buffers && !j->fault.set; i++)
        if (j->hold_of[i] < 0)
            tw_fault_set(&j->fault, "layout: buffer %s belongs to nothing that group '%s' holds",
                         tw_joint_buffer_name(j, i, -1).text, j->group[j->in.buffer[i].group].map->name);
    return j->fault.set ? TW_OK : check_addresses(j);
}
