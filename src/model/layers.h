/* src/model/layers.h - a layer is all operators of a graph that are equal, so that one plan serves them.
 *
 * What counts for a plan is the nest: loops, access maps, types, and how points are combined. What is done to single elements
 * (`value`, `finish`, what is held) takes no time of its own and does not count, unless it tells whether elements are only moved,
 * which a mover may do. Names of operators and tensors do not count either; those of loops and operands do: reports
 * and mapping files say them. */
#ifndef TW_MODEL_LAYERS_H
#define TW_MODEL_LAYERS_H
#include "core/deadline.h"
#include "model/model.h"

typedef struct tw_layers {
    int n;
    const int *of;    /* per operator; -1: it is not described */
    const int *first; /* per layer: the first operator of it   */
    const int *count; /* per layer: how many operators it has  */
} tw_layers;
/* TW_STOPPED, without a message, when the deadline is over; NULL: there is none. */
TW_NODISCARD tw_status tw_layers_find(const tw_model *model, const tw_deadline *deadline, tw_arena *arena,
                                      tw_arena *scratch, tw_layers *out);

/* A described operator as a workload of its own, whose tensors are called after its operands and have their shapes. */
TW_NODISCARD tw_status tw_model_of_op(const tw_model *model, int op, const char *name, tw_arena *arena,
                                      const tw_model **out);
#endif
