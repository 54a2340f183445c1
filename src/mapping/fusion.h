/* src/mapping/fusion.h - which operators of a mapping are fused.
 *
 * A fused operator works where the one before it left its output: the tensor between them stays in the compute engine's
 * memory, which the first one does not store and the second one does not load.
 *
 *     fc       load ifm, load w, execute             ]  ofm of fc is ifm of fc.add: one buffer,
 *     fc.add            load bias, execute, store    ]  full when fc ends, and nobody moves it
 *
 * The workload may wish that an operator be fused (tw_op.wants_fusion); the mapping decides. */
#ifndef TW_MAPPING_FUSION_H
#define TW_MAPPING_FUSION_H
#include "mapping/opmap.h"

/* Whether operator `op` can be fused with the one before it, on this machine. Reports at `loc` why it cannot. */
TW_NODISCARD tw_status tw_fusion_check(const tw_model *model, int op, const tw_machine *machine, tw_loc loc,
                                       tw_diag *diag);
/* What holds where a mapping is silent: it is fused if the workload wishes so and it can be. */
bool tw_fusion_is_default(const tw_model *model, int op, const tw_machine *machine);
/* What the mappings of all `n` operators of a model say of operator `op` and its neighbours. */
tw_fusion tw_fusion_of(const tw_op_map *map, int n, int op);
/* How many operators the group has that begins with `first`: itself and those that are fused, one behind the other. */
int tw_group_size(const tw_op_map *map, int n, int first);
/* Per operator that begins a group: the first operator of the first group that is equal, so that the plans of both are; itself: there is
 * none before it. Equal are the operators (model/layers.h), how they are chained, and the mappings of all of them; `open`: of
 * all but the first, which is still looked for. */
TW_NODISCARD tw_status tw_groups_repeated(const tw_model *model, const tw_op_map *map, bool open,
                                          const tw_work *work, const int **out);
#endif
