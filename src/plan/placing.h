/* src/plan/placing.h - which pieces of memory a plan needs, when each is live, and where each lies.
 *
 * A *group* is an operator and the fused ones behind it: they share their memories, one address space per memory. A
 * *block* is a piece of memory that is given out as one: a slot, a pool of tiles that are kept, an operand that is whole, or a
 * tensor that stays between two operators. Its lifetime counts commands (rows on a lockstep machine) of the group from
 * the first that writes it to the last that touches it. Inside an operator engines run side by side and the order of
 * commands is not that of time; so blocks share addresses only when no operator needs both.
 *
 *     command   0    1    2    3    4    5    6    7
 *     ifm[0]    ########################                     3 policies, the same blocks:
 *     w[0]      #####     ####      ####                       slots     operator by operator, operand by operand
 *     w[1]           #########  ########                       bump      in this order, never freed
 *     ofm            ##############################            lifetime  packed, as low as can be                */
#ifndef TW_PLAN_PLACING_H
#define TW_PLAN_PLACING_H
#include "mapping/fusion.h"
#include "mapping/limits.h"
#include "plan/plan.h"
#include "program/program.h"

/* Blocks of the group of operators [first, first + n) in `memory`, with the offsets that the memory's policy gives them and
 * what the other policies would take. Lifetimes are those that the operators' `touches` say. Capacity is not looked at. */
TW_NODISCARD tw_status tw_placing_build(const tw_op_plan *op, int first, int n, int memory, const tw_work *work,
                                        tw_placing *out);
/* The layout of operator `op` of a group, whose memories were placed, with the addresses that it has there. */
TW_NODISCARD tw_status tw_placed_layout(const tw_placing *placing, int n, const tw_program *program, int op,
                                        tw_arena *arena, tw_layout *out);
/* TW_INFEASIBLE with the reason when the blocks do not fit. */
TW_NODISCARD tw_status tw_placing_check(const tw_placing *placing, const tw_op_plan *op, tw_diag *diag);

/* A fused operator works on what the one before it left, in one piece: that mapping. */
tw_op_map tw_whole_map(const tw_model *model, int op, const tw_machine *machine);
/* What a search begins with: the mappings of all fused operators, as the limits (NULL: none) and the workload say; of the
 * others only that they are not fused. */
TW_NODISCARD tw_status tw_maps_begin(const tw_model *model, const tw_machine *machine, const tw_limits *limits,
                                     tw_arena *arena, tw_op_map **out);
/* The machine as operator `op` of the model meets it: its costs, and what the rest of its group needs of the memories.
 * `map` has the mappings of all operators; of itself, and of those outside its group, only what is fused counts. */
TW_NODISCARD tw_status tw_machine_view(const tw_model *model, int op, const tw_machine *machine,
                                       const tw_op_map *map, tw_arena *arena, const tw_machine **out);
/* Units of memory m that the group takes in which `program` was built for such a view. That program alone may fit and its
 * group not. */
TW_NODISCARD tw_status tw_group_need(const tw_program *program, int m, tw_arena *scratch, int64_t *need);
/* What the others take of memory m, at least; of `bump` beside the program's own. */
TW_NODISCARD tw_status tw_group_need_others(const tw_program *program, int m, tw_arena *scratch, int64_t *need);
/* TW_INFEASIBLE with the reason when the group does not fit; diag->short_by says by how much. */
TW_NODISCARD tw_status tw_group_check(const tw_program *program, tw_arena *scratch, tw_diag *diag);
#endif
