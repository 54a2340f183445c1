/* src/mapping/groups.h - groups of operators (group.h): reading, checking, printing, and what follows from what they say.
 *
 * A group is judged with a table that says where its parts were written. The reader fills the table, so that complaints
 * point at the word in the file; tw_mapping_check has none, and points all of it at the group. */
#ifndef TW_MAPPING_GROUPS_H
#define TW_MAPPING_GROUPS_H
#include "input/field.h"
#include "mapping/mapping.h"
#include "model/running.h"

typedef struct tw_group_locs {
    tw_loc op[TW_MAX_GROUP_OPS], engine[TW_MAX_GROUP_OPS], part, running;
    tw_loc unroll[TW_MAX_GROUP_OPS][TW_MAX_LOOPS], reduce[TW_MAX_GROUP_OPS][TW_MAX_LOOPS];
} tw_group_locs;

/* The groups of a mapping, and what they are groups of. */
typedef struct tw_grouping {
    const tw_model *model;
    const tw_machine *machine;
    int n;
    const tw_group_map *group;
    const tw_group_locs *locs; /* one per group; NULL: everything is where the group is */
    tw_loc loc;                /* of all of them                                        */
    int n_residents;
    const tw_group_resident *resident;
    int n_rooms;
    const tw_group_room *room;
    tw_diag *diag;
} tw_grouping;

/* ---- what follows from what a group says ---- */

/* Which of the group's operators makes the tensor; -1: none, it is an input. */
int tw_group_maker(const tw_group_map *group, const tw_model *model, int tensor);
/* Whether it is made and read inside the group; and whether others read it, too, or it is an output of the model, so that it goes to memory 0
 * besides. */
bool tw_group_is_inside(const tw_group_map *group, const tw_model *model, int tensor);
bool tw_group_is_stored(const tw_group_map *group, const tw_model *model, int tensor);
/* What such a tensor is, in words: "read outside of the group, too". */
static inline const char *tw_needed_as(const tw_model *model, int tensor)
{
    return model->tensor[tensor].is_output ? "an output of the workload" : "read outside of the group, too";
}
/* What the mapping says about the tensor in the memory, NULL: nothing. */
const tw_hold *tw_group_find_hold(const tw_group_map *group, int tensor, int memory);
/* How many cuts stand still while the memory holds the tensor: as the hold says or, by default, up to the level of the memory; of one
 * without a level, up to the first level further inside, else all. */
int tw_group_depth(const tw_group_map *group, int tensor, int memory);
/* How many buffers it has there. */
int64_t tw_group_slots(const tw_group_map *group, int tensor, int memory);
/* The platform's memories in which operand `operand` of the group's operator `op` has holds, outermost first and without memory 0, and
 * how many these are. What is made inside the group begins where its maker's path meets that of who reads it. */
int tw_group_chain(const tw_grouping *c, const tw_group_map *group, int op, int operand,
                   int memory[TW_MAX_MEMORIES]);
/* What runs along the group's loop `running`, which must be one; false: nothing can, *where is the operator that is in the way, *why a sentence. */
bool tw_group_running(const tw_group_map *group, const tw_model *model, tw_running *out, int *where,
                      const char **why);
/* The number of the last of n groups that read what is resident where it is; those behind it, if any, load it. */
int tw_resident_last(const tw_group_resident *is, const tw_group_map *group, int n);
/* How much of a memory of `size` units the buffers of all groups have. */
int64_t tw_room_of(const tw_group_room *room, int n, int memory, int64_t size);
/* The driver's loops, as far as the group has them; how many points it has of one. */
tw_box tw_group_work(const tw_group_map *group, const tw_op *driver);
int64_t tw_group_extent(const tw_group_map *group, const tw_op *driver, int loop);
/* The cost that the engine of the group's operator has for it. */
const tw_cost *tw_group_cost(const tw_grouping *c, const tw_group_op *op);

/* ---- checks ---- */

/* Whether the machine can have groups at all. */
TW_NODISCARD tw_status tw_grouping_check_machine(const tw_machine *machine, tw_loc loc, tw_diag *diag);
/* One group by itself, and all of them side by side. */
TW_NODISCARD tw_status tw_grouping_check_one(const tw_grouping *c, int group);
TW_NODISCARD tw_status tw_grouping_check_all(const tw_grouping *c);

/* Some groups of a mapping that a search completes: as few rules as hold of them. */
TW_NODISCARD tw_status tw_grouping_check_some(const tw_grouping *c);
/* What stays between groups; part of the check of all of them. */
TW_NODISCARD tw_status tw_grouping_check_residents(const tw_grouping *c);
/* How much of memories they have; part of the same check. */
TW_NODISCARD tw_status tw_grouping_check_rooms(const tw_grouping *c);

/* ---- files ---- */

/* `resident` and `room`: what is wrong with its words is reported and counted. */
TW_NODISCARD tw_status tw_residents_of_tree(tw_fields *f, tw_arena *arena, tw_grouping *c);
TW_NODISCARD tw_status tw_rooms_of_tree(tw_fields *f, tw_arena *arena, tw_grouping *c);
void tw_rooms_print(const tw_mapping *mapping, const tw_machine *machine, tw_text *out);
void tw_residents_print(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine, tw_text *out);

/* The entries of `groups`. What is wrong is reported and counted in the fields. With `some` other groups, too, may be needed for a mapping, and
 * a group may have operators alone: one that has no levels is open, its tiles are searched. */
TW_NODISCARD tw_status tw_groups_of_tree(tw_fields *f, const tw_model *model, const tw_machine *machine, bool some,
                                         tw_arena *arena, tw_mapping *out);
static inline bool tw_group_is_open(const tw_group_map *group) { return group->n_levels == 0; }
void tw_groups_print(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine, tw_text *out);
#endif
