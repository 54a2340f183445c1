/* src/plan/network_mapping.h - programs of a network in mapping files.
 *
 *     mapping: {conv1: .., pool1: .., ..}        of the layers
 *     programs:
 *       - as_layers: [pool1]                     steps that have the loops of their layers, and not the axes of their tensors
 *         groups: [{ops: [conv1, conv2], ..}, {ops: [pool1], ..}]     as those of a workload, of steps of the network
 *         resident: {conv2.out: sram}
 *
 * A complete mapping says all: a program is made of the steps from the first to the last that its groups have, all of them; other steps are done by their layers. Limits say
 * some of it: programs are those that the network has, and a search finds the other groups. */
#ifndef TW_PLAN_NETWORK_MAPPING_H
#define TW_PLAN_NETWORK_MAPPING_H
#include "mapping/limits.h"
#include "plan/network_join.h"

typedef struct tw_program_map {
    tw_loc loc;
    tw_stretch stretch;
    const tw_model *model;       /* the stretch's, of which some operators are as in their layers */
    tw_mapping mapping;          /* its groups */
    const tw_joint_search *said; /* by the search that found them; NULL: they are given */
} tw_program_map;

typedef struct tw_network_mapping {
    const tw_mapping *layers;
    const tw_search_record *found; /* per layer: by the search that found it; NULL: they are given */
    int n_programs;                /* in the order of their steps */
    tw_program_map *program;
} tw_network_mapping;

/* A whole mapping file. What its layers are complained about is no reason to be silent about the programs. */
TW_NODISCARD tw_status tw_network_mapping_of_tree(const tw_node *root, const tw_network *net,
                                                  const tw_machine *machine, const tw_work *work,
                                                  tw_network_mapping *out);
/* The file of the plan's layers and programs. */
TW_NODISCARD tw_status tw_network_mapping_print(const tw_network_plan *plan, tw_arena *scratch, tw_text *out);
/* The entries of `programs`, NULL: there are none. */
TW_NODISCARD tw_status tw_programs_read(const tw_network *net, const tw_machine *machine, const tw_node *list,
                                        const tw_work *work, tw_network_mapping *out);
/* Whether limits can be what they say: everything but whether the groups' steps end up in one program. */
TW_NODISCARD tw_status tw_program_limits_check(const tw_network *net, const tw_machine *machine,
                                               const tw_node *programs, const tw_work *work);
/* What they say about a stretch whose model is made; `out` has no groups if that is nothing. */
TW_NODISCARD tw_status tw_program_limits_of(const tw_network_plan *plan, const tw_stretch *s,
                                            const tw_node *programs, const tw_work *work, tw_limits *out);
/* The first entry that is about none of the parts; NULL: there is none. */
TW_NODISCARD tw_status tw_program_limits_met(const tw_network_plan *plan, const tw_node *programs, tw_diag *diag);
void tw_programs_print(const tw_network_plan *plan, tw_text *out);
#endif
