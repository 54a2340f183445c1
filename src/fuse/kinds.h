/* src/fuse/kinds.h - the machine of each core by itself, and which cores are alike.
 *
 * A core's machine has the shared parts of the platform, its own ones and what lies on its way out through other cores, in numbers of their own: what is planned there costs nothing for the
 * other cores, however many there are. Cores that differ in their names alone are of one *kind*; a group that was found for one of them becomes one of
 * another by that one's numbers. */
#ifndef TW_FUSE_KINDS_H
#define TW_FUSE_KINDS_H
#include "mapping/group.h"

typedef struct tw_core_machine {
    tw_machine
        machine; /* its platform has the shared parts and its own ones; without views: it computes nothing by itself */
    int *view,
        *memory; /* their numbers in the whole platform                                                            */
    int kind; /* the first core that is like it                                                                 */
} tw_core_machine;

/* One for each core of the machine's platform, and one more that has all parts. `arena` and `scratch` may be the same. */
TW_NODISCARD tw_status tw_core_machines_of(const tw_machine *machine, tw_arena *arena, tw_arena *scratch,
                                           tw_core_machine **out);
/* The machine of a core whose own memories are so many times as large. */
TW_NODISCARD tw_status tw_core_enlarge(const tw_core_machine *core, int times, tw_arena *arena, tw_machine *out);
/* The same with so many units less in its own memories, or half as large (-1); a memory keeps a quarter at least. */
TW_NODISCARD tw_status tw_core_reduce(const tw_core_machine *core, int64_t less, tw_arena *arena, tw_machine *out);
/* A group on the machine of a core becomes one of the whole platform; its operators are those from `first` on. */
TW_NODISCARD tw_status tw_core_widen(const tw_core_machine *core, int first, tw_arena *arena, tw_group_map *group);
#endif
