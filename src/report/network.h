/* src/report/network.h - a planned network, as the printers see it. network.c makes it. */
#ifndef TW_REPORT_NETWORK_H
#define TW_REPORT_NETWORK_H
#include "lower/lower.h"
#include "report/plan.h"
#include "tilewright/network.h"

typedef struct tw_layer { /* a distinct operator */
    const tw_model *model; /* one operator, called like the first step that has it */
    int first_step, n_steps;
} tw_layer;

struct tw_network {
    const tw_graph_file *file;
    const tw_shapes *shapes;
    const tw_lowered *lowered;
    const tw_array *given; /* per value: elements of inputs that are known from the beginning; NULL: none */
    const bool *derived;   /* per value: `given` follows from the shapes in the file, the user may know better; NULL: none */
    const tw_onnx_node *const *asks; /* per value: an input of the network that tells this node what to do; NULL: data */
    bool executable;      /* false: tensors are planned as another type than they are */
    int n_layers;
    const tw_layer *layer;
    const int *layer_of;  /* per step, -1: not TILED                                  */
    const char *const *shape_text; /* per step                                        */
    const tw_model *model; /* all layers, one operator each: what mapping files are about */
};

struct tw_network_plan {
    const tw_network *network;
    const tw_machine *machine;
    const tw_plan *const *plan;     /* per layer, NULL: none     */
    const char *const *refusal;     /* per layer, NULL: none     */
    tw_network_totals totals;
    tw_network_memory memory;
};

tw_status tw_report_network_text(const tw_network_plan *plan, const tw_network_verdict *verdict,
                                 const tw_print_options *options, tw_arena *scratch, tw_diag *diag, FILE *out);
tw_status tw_report_network_json(const tw_network_plan *plan, const tw_network_verdict *verdict, tw_diag *diag,
                                 FILE *out);
tw_status tw_report_costs(const tw_network_plan *const *plan, int n_plans, tw_format format, tw_diag *diag, FILE *out);
tw_status tw_report_costs_svg(const tw_network_plan *const *plan, int n_plans, tw_arena *scratch, tw_diag *diag,
                              FILE *out);
tw_status tw_report_costs_png(const tw_network_plan *const *plan, int n_plans, tw_arena *scratch, tw_diag *diag,
                              FILE *out);
tw_status tw_report_costs_plot(const tw_network_plan *const *plan, int n_plans, tw_image image, double width_mm,
                               tw_arena *scratch, tw_diag *diag, FILE *out);
#endif
