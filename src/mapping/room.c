/* src/mapping/room.c - how much of a memory the buffers of all groups have together: read, checked, printed; see groups.h.
 *
 * Buffers of groups that do not live at the same time share addresses where a memory has no room for all of them, and then later groups wait for earlier ones. Loads that
 * come as early as they can are not always better: they pass before others that are needed sooner. With less room they come later. */
#include "mapping/groups.h"

int64_t tw_room_of(const tw_group_room *room, int n, int memory, int64_t size)
{
    for (int i = 0; i < n; i++)
        if (room[i].memory == memory) size = tw_min(size, room[i].units);
    return size;
}

/* The units of the memory that the node names; false: it names none, or they are no number. */
static bool read_room(tw_fields *f, const tw_platform *platform, tw_size_unit unit, const tw_node *node,
                      tw_group_room *out)
{
    tw_words all = {0};
    out->loc = node->loc;
    out->memory = tw_platform_find_memory(platform, node->key, -1);
    for (int i = 1; i < platform->n_memories; i++) tw_words_add(&all, platform->memory[i].name);
    if (out->memory < 1)
        TW_REFUSE(f, node->key_loc, "'room' is of memories on chip: %s, found '%s'", all.text, node->key);
    else if (tw_node_size(node, node->key, unit, false, f->diag, &out->units))
        return true;
    else
        f->n_bad++;
    return false;
}

tw_status tw_rooms_of_tree(tw_fields *f, tw_arena *arena, tw_grouping *c)
{
    const tw_node *map = tw_field_map(f, "room", TW_OPTIONAL);
    tw_size_unit unit = c->machine->unit == TW_UNIT_BYTE ? TW_SIZE_BYTES : TW_SIZE_ELEMENTS;
    tw_group_room *room;
    if (!map) return TW_OK;
    TW_ALLOC(arena, room, map->n_children + 1);
    for (const tw_node *node = map->child; node; node = node->next)
        c->n_rooms += read_room(f, c->machine->platform, unit, node, &room[c->n_rooms]);
    c->room = room;
    return TW_OK;
}

tw_status tw_grouping_check_rooms(const tw_grouping *c)
{
    const tw_platform *platform = c->machine->platform;
    for (int i = 0; i < c->n_rooms; i++) {
        const tw_group_room *is = &c->room[i];
        if (is->memory < 1 || is->memory >= platform->n_memories || is->units < 1)
            return tw_diag_error(c->diag, is->loc, "'room' has %" PRId64 " of memory %d", is->units, is->memory);
        const tw_platform_memory *memory = &platform->memory[is->memory];
        if (is->units > memory->is.size)
            return tw_diag_error(c->diag, is->loc, "'room' has %" PRId64 " of '%s', which has %" PRId64, is->units,
                                 memory->name, memory->is.size);
    }
    return TW_OK;
}

void tw_rooms_print(const tw_mapping *mapping, const tw_machine *machine, tw_text *out)
{
    for (int i = 0; i < mapping->n_rooms; i++)
        tw_text_printf(out, "%s%s: %" PRId64, i == 0 ? "room: {" : ", ",
                       machine->platform->memory[mapping->room[i].memory].name, mapping->room[i].units);
    if (mapping->n_rooms > 0) tw_text_printf(out, "}\n");
}
