/* src/core/agenda.c - see agenda.h: a binary heap that grows in an arena. */
#include "core/agenda.h"

#include <string.h>

static bool comes_before(const tw_agenda_entry *a, const tw_agenda_entry *b)
{
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

tw_status tw_agenda_put(tw_agenda *a, tw_agenda_entry entry, tw_arena *arena)
{
    if (a->n == a->room) {
        int room = a->room ? 2 * a->room : 64;
        tw_agenda_entry *wider;
        TW_ALLOC(arena, wider, room);
        if (a->n) memcpy(wider, a->entry, (size_t)a->n * sizeof *wider);
        a->entry = wider;
        a->room = room;
    }
    int at = a->n++;
    for (; at > 0 && comes_before(&entry, &a->entry[(at - 1) / 2]); at = (at - 1) / 2)
        a->entry[at] = a->entry[(at - 1) / 2];
    a->entry[at] = entry;
    return TW_OK;
}

tw_agenda_entry tw_agenda_take(tw_agenda *a)
{
    tw_agenda_entry first = a->entry[0], last = a->entry[--a->n];
    int at = 0;
    for (int child; (child = 2 * at + 1) < a->n; at = child) {
        if (child + 1 < a->n && comes_before(&a->entry[child + 1], &a->entry[child])) child++;
        if (!comes_before(&a->entry[child], &last)) break;
        a->entry[at] = a->entry[child];
    }
    a->entry[at] = last;
    return first;
}
