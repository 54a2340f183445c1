/* src/core/agenda.h - things to be done at certain times: the earliest first, of equals the one with the smallest number. */
#ifndef TW_CORE_AGENDA_H
#define TW_CORE_AGENDA_H
#include "core/core.h"

typedef struct tw_agenda_entry {
    int64_t at, number;
    void *what;
} tw_agenda_entry;

typedef struct tw_agenda {
    tw_agenda_entry *entry; /* a heap: entry[0] is next, when n > 0 */
    int n, room;
} tw_agenda;

/* Numbers of one agenda differ. */
TW_NODISCARD tw_status tw_agenda_put(tw_agenda *agenda, tw_agenda_entry entry, tw_arena *arena);
/* Takes the next one out; there is one. */
tw_agenda_entry tw_agenda_take(tw_agenda *agenda);
/* Whether something is to be done until this time. */
static inline bool tw_agenda_is_due(const tw_agenda *agenda, int64_t until)
{
    return agenda->n > 0 && agenda->entry[0].at <= until;
}
#endif
