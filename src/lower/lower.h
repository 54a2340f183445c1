/* src/lower/lower.h - a network as a graph that the engine can plan: described operators, and what is left over.
 *
 *     Conv -> BatchNormalization -> Relu          one operator, a described convolution whose `finish` does the rest
 *     Softmax                                     four operators: maximum, exponentials, their sum, quotients
 *     Reshape, Squeeze, Identity ...              no operator: the tensor is another view of the same bytes
 *     NonZero, TopK, Unique ...                   an operator on the host: evaluated as it is, its time is not known
 *
 * An operator of that graph is called a step of the network. */
#ifndef TW_LOWER_LOWER_H
#define TW_LOWER_LOWER_H
#include "infer/infer.h"
#include "model/padded.h"
#include "model/simplify.h"
#include "tilewright/network.h"

/* Steps of one network, some 6 KB each: a file of a few megabytes can ask for any number of them. */
enum { TW_LOWER_MAX_STEPS = 1 << 17 };

typedef struct tw_tensor_source { /* where the elements of a tensor come from when the network runs */
    tw_onnx_type type;            /* in which they are kept                                        */
    int value;                    /* of the file, -1: a result in the middle of a node             */
    const tw_array
        *literal; /* a constant that lowering or inference made; NULL: the file has it, or an operator makes it */
} tw_tensor_source;
/* Where a row begins in the tensor; -1: there is no such row. */
int64_t tw_selection_at(const tw_selection *selection, const tw_array *index, int64_t outer, int64_t row);

typedef struct tw_lowered {
    const tw_shapes *shapes;
    tw_model graph; /* what runs */
    tw_model
        constants; /* what is done before, over the same tensors: it makes constants, and has no plan and no time */
    const tw_tensor_source *source; /* per tensor                                                       */
    int n_folds, n_views;
    const tw_fold_info *fold; /* what is not an operator of its own */
    int n_undescribed;        /* HOST and UNKNOWN steps by operator, most frequent first        */
    const tw_undescribed *undescribed;
    const int *tensor_of_value; /* per value of the file, -1: none                                */
    /* What depends on constants alone is no step of the network. */
    int n_constant_nodes;         /* nodes of which nothing is left to do                           */
    int n_constants;              /* constants that steps read and that the file does not have      */
    int64_t constant_bytes;       /* of them                                                        */
    int64_t weight_bytes;         /* of all constants that steps read                               */
    int n_too_large;              /* steps that are left because their constant would be too large  */
    const char *const *too_large; /* their names                                                    */
} tw_lowered;
/* A constant of more bytes, and of more than what it is made of, is not computed before the network runs. */
#define TW_CONSTANT_MOST_BYTES (INT64_C(1) << 28)

/* Padding that a machine does not take is written by steps of their own (model/padded.h). */
typedef struct tw_pad_judge {
    bool (*is_limited)(const void *user, const tw_op *op); /* to half a kernel; NULL: nowhere */
    const void *user;
    bool maps; /* some engine computes maps */
} tw_pad_judge;

typedef struct tw_lower_options {
    bool no_fold;         /* every node is a step of its own, also where it depends on constants alone      */
    bool strict;          /* a step that is not TILED is an error                                           */
    tw_dtype float_as;    /* plan f32 tensors as if they were of this type; TW_N_DTYPES: as they are.
                          Such a network cannot be executed                                         */
    tw_merge_judge judge; /* loops that are better left apart stay so                            */
    tw_pad_judge padding;
} tw_lower_options;
TW_NODISCARD tw_status tw_lower_network(const tw_shapes *shapes, const tw_lower_options *options, tw_arena *arena,
                                        tw_diag *diag, const tw_lowered **out);
/* A tensor of the graph as an array without elements. */
tw_array tw_lowered_array(const tw_lowered *lowered, int tensor);
/* The constant of the file that holds the elements of a tensor, NULL: there is none, or they are known without it. */
const tw_constant *tw_lowered_constant(const tw_lowered *lowered, int tensor);
/* Stable text: one line per step, for --dump=steps and tests. */
void tw_lowered_print(const tw_lowered *lowered, tw_text *out);
#endif
