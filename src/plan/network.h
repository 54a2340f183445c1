/* src/plan/network.h - the walk of a whole network: read, infer, lower, find what is equal, plan, place, run.
 *
 *   network.c         the file as a graph, whose operators are steps, with its layers
 *   network_ask.c     inputs that are no data: shapes, axes
 *   network_plan.c    layers to plans, several at a time
 *   network_join.c    steps to programs, whose operators run in groups on one timeline
 *   network_mapping.c programs in mapping files
 *   network_memory.c  where the tensors between the steps lie
 *   network_need.c    what a run needs: inputs, files, memory
 *   network_run.c     steps on numbers, each against the reference */
#ifndef TW_PLAN_NETWORK_H
#define TW_PLAN_NETWORK_H
#include "core/table.h"
#include "lower/lower.h"
#include "model/layers.h"
#include "plan/context.h"
#include "plan/plan.h"
#include "tilewright/network.h"

struct tw_network {
    const tw_graph_file *file;
    const tw_shapes *shapes;
    const tw_lowered *lowered;
    const tw_array *given; /* per value: elements of inputs that are known from the beginning; NULL: none */
    const bool
        *derived; /* per value: `given` follows from the shapes in the file, the user may know better; NULL: none */
    const tw_onnx_node *const
        *asks;        /* per value: an input of the network that tells this node what to do; NULL: data */
    bool executable;  /* false: tensors are planned as another type than they are */
    tw_layers layers; /* operators of the graph that are equal share one          */
    const tw_model *const *layer; /* per layer: the operator by itself, called like the first step that has it */
    const char *const *label; /* per step: what mapping files call it; layers are called like their first step */
    const char *const *shape_text; /* per step                                        */
    const tw_model *model;         /* all layers side by side: what mapping files are about    */
};

struct tw_network_plan {
    const tw_network *network;
    const tw_machine *machine;
    const tw_plan *const *plan; /* per layer, NULL: none     */
    const char *const *refusal; /* per layer, NULL: none     */
    const bool *is_left; /* per refusal: time was up before the layer was planned, so that there may be a plan */
    int n_parts;         /* of all steps, in their order */
    const tw_network_part *part;      /* what each is done by         */
    const struct tw_stretch *stretch; /* per part: see network_join.h */
    tw_network_totals totals;
    tw_network_memory memory;
};

/* Reads the network; the file stays mapped until the context is freed. */
TW_NODISCARD tw_status tw_network_read(tw_context *ctx, const char *path, const tw_network_options *options,
                                       const tw_network **out);
/* "model/conv1" of "/model/conv1": a name that mapping files and workloads can hold as it is, of a long one the end, which tells more;
 * "model/conv1~1" where that is taken. */
TW_NODISCARD tw_status tw_label_of(const char *name, tw_table *taken, tw_arena *arena, const char **out);
/* A plan per layer, and programs. `mapping` NULL: searched; else the mapping of all layers, and all programs. */
struct tw_network_mapping;
TW_NODISCARD tw_status tw_network_build(tw_context *ctx, const tw_network *network, const tw_machine *machine,
                                        const tw_network_search_options *options,
                                        const struct tw_network_mapping *mapping, const tw_network_plan **out);
/* Lifetimes over the steps to addresses; what could stay on the chip. Reads everything of the plan but `memory`. */
TW_NODISCARD tw_status tw_network_place(const tw_network_plan *plan, const tw_deadline *deadline, tw_arena *arena,
                                        tw_arena *scratch, tw_network_memory *out);
/* Per value: the node that an input of the network tells what to do; NULL: it is data. */
TW_NODISCARD tw_status tw_network_ask(const tw_graph_file *file, const tw_shapes *shapes, tw_arena *arena,
                                      tw_arena *scratch, const tw_onnx_node *const **out);
/* Fills in `given` of inputs that follow from the shapes in the file, and marks them. */
TW_NODISCARD tw_status tw_network_derive(tw_context *ctx, const tw_graph_file *file, tw_array *given,
                                         bool *derived);
/* Whether a run has what it needs; messages say what is missing. TW_INFEASIBLE: too large. */
TW_NODISCARD tw_status tw_run_check(tw_context *ctx, const tw_network *network,
                                    const tw_network_run_options *options);
TW_NODISCARD tw_status tw_network_execute(tw_context *ctx, const tw_network_plan *plan,
                                          const tw_network_run_options *options, tw_network_verdict *out);
/* The first and the last step that need the bytes of each root tensor; first -1: before the first step. Tensors that nobody
 * needs have last < first. */
typedef struct tw_lifetime {
    int first, last;
} tw_lifetime;
void tw_network_lifetimes(const tw_model *graph, tw_lifetime *of_tensor);
#endif
