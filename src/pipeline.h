/* src/pipeline.h - the whole walk: model, machine and mapping in, a finished plan out. */
#ifndef TW_PIPELINE_H
#define TW_PIPELINE_H
#include "report/plan.h"

/* Lays out, programs and times the mapping of every operator. `found`: how the search of each operator ended,
 * NULL when the mapping was given; `front`: the Pareto front of each, or NULL. */
TW_NODISCARD tw_status tw_plan_build(const tw_model *model, const tw_machine *machine, const tw_mapping *mapping,
                                     const tw_search_result *found, const tw_front_list *front, tw_arena *arena, tw_arena *scratch,
                                     tw_diag *diag, const tw_plan **out);
/* Programs, timelines and addresses of the operators [first, first + n), a group: see placing.h. `map` and `op` have an
 * entry for every operator of the model; *n_placings of `placing` are taken already. */
TW_NODISCARD tw_status tw_group_build(const tw_model *model, const tw_machine *machine, const tw_op_map *map, int first,
                                      int n, tw_arena *arena, tw_arena *scratch, tw_diag *diag, tw_op_plan *op,
                                      tw_placing *placing, int *n_placings);
/* Finds a mapping first. */
TW_NODISCARD tw_status tw_plan_find(const tw_model *model, const tw_machine *machine,
                                    const tw_search_options *options, tw_arena *arena, tw_arena *scratch,
                                    tw_diag *diag, const tw_plan **out);
/* Lets both judges watch operator `op`. The verdict is written whenever the run was possible. */
TW_NODISCARD tw_status tw_plan_judge(const tw_plan *plan, int op, const tw_verify_options *options, tw_arena *arena,
                                     tw_arena *scratch, tw_diag *diag, const tw_verdict **out);
#endif
