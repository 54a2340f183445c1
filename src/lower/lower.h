/* src/lower/lower.h - a network as steps that the engine can plan: described operators, and what is left over.
 *
 *     Conv -> BatchNormalization -> Relu          one step, a described convolution whose `finish` does the rest
 *     Softmax                                     four steps: maximum, exponentials, their sum, quotients
 *     Reshape, Squeeze, Identity ...              no step: the tensor is another view of the same bytes
 *     NonZero, TopK, Unique ...                   a step on the host: evaluated as it is, its time is not known
 *
 * A step's model has one operator. Its tensors have the shapes that the operator wants to see, which need not be those of
 * the network: [n, g, c, y, x] for a grouped convolution, one axis where a sum of two tensors needs no more. Only the
 * order of elements and their number must agree.
 *
 * Steps are in an order in which every tensor is written before it is read. */
#ifndef TW_LOWER_LOWER_H
#define TW_LOWER_LOWER_H
#include "infer/infer.h"
#include "model/simplify.h"

/* Steps of one network, some 30 KB each: a file of a few megabytes can ask for any number of them. */
enum { TW_LOWER_MAX_STEPS = 1 << 17 };

typedef enum tw_tensor_role { TW_ROLE_INPUT, TW_ROLE_CONSTANT, TW_ROLE_BETWEEN } tw_tensor_role;
typedef struct tw_net_tensor {
    const char *name; /* the value's, or made from it: "y.max"                                     */
    int value;        /* of the file, -1: a result in the middle of a node                         */
    tw_tensor_role role;
    bool is_output; /* of the network                                                            */
    bool known;     /* its shape is                                                              */
    tw_onnx_type type;
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    int64_t n_elems;
    int64_t bytes;  /* n_elems * width; 0 for strings                                            */
    int root;       /* tensor whose bytes these are; itself when it has its own. Steps may write
                          such parts of a tensor one by one                                         */
    int64_t offset; /* elements into them                                                        */
    const tw_array
        *literal; /* CONSTANT made by lowering or inference: elements; NULL: the file has them (value), or
                                constant steps make them                                            */
} tw_net_tensor;

/* An operand that is rows of a tensor: [outer, count, inner] of [outer, extent, inner], row i being the one that element i of
 * another operand names. Negative ones count from the end. In the step's model the rows stand one behind the other, as
 * an operand that is `scattered`. */
typedef struct tw_selection {
    int index; /* operand that has the numbers of the rows */
    bool
        counts; /* a step before made these numbers of the node's indices: what lies outside of the tensor is none */
    int64_t outer, extent, count, inner; /* count 0: no selection */
} tw_selection;
/* Where a row begins in the tensor; -1: there is no such row. */
int64_t tw_selection_at(const tw_selection *selection, const tw_array *index, int64_t outer, int64_t row);

typedef enum tw_step_kind {
    TW_STEP_TILED,   /* model                                                                       */
    TW_STEP_HOST,    /* evaluated by reference/, not tiled; time unknown                                */
    TW_STEP_UNKNOWN, /* no description and no evaluation: only the tensors flow                     */
} tw_step_kind;
typedef struct tw_step {
    const char *name; /* unique: the node's name or "Conv_12", and ".max" in a chain               */
    const char *op;   /* "Conv", "Conv+BatchNormalization+Relu"                                    */
    tw_step_kind kind;
    const char *why; /* HOST, UNKNOWN: the reason in a few words                                  */
    int graph;
    bool constant;   /* reads constants alone: done before the network runs                      */
    bool in_branch;  /* of an If whose condition is not known: may not run. The If itself is a HOST step that
                          evaluates the branch that is taken                                        */
    int n_nodes;     /* that are done with this step: value of the output = what they compute     */
    const int *node; /* of `graph`, in order; empty in the middle of a chain                      */
    /* TILED */
    const tw_model *model; /* one operator; tensor i is operand i                                   */
    int n_operands;
    int operand[TW_MAX_OPERANDS]; /* net tensors: inputs, output                                    */
    int held[TW_MAX_HELD];        /* net tensors, one per held value                                */
    tw_selection
        select[TW_MAX_OPERANDS]; /* of operands that are rows of their tensor; of the output: the rows that are
                                             written, the others stay as they are                   */
    /* HOST, UNKNOWN */
    int n_inputs, n_outputs;
    const int *input, *output; /* net tensors, -1: left out. Inputs of the node in its order, then what its
                                     subgraphs read from outside, then the results of the branches of an If */
} tw_step;

typedef struct tw_fold {          /* something that is not a step of its own */
    const char *node, *op, *into; /* "bn1", "BatchNormalization", "conv1" */
} tw_fold;
typedef struct tw_count {
    const char *op;
    int n;
    const char *why;
} tw_count;

typedef struct tw_lowered {
    const tw_shapes *shapes;
    int n_tensors, n_steps, n_folds, n_views;
    const tw_net_tensor *tensor;
    const tw_step *step;
    const tw_fold *fold;
    int n_undescribed; /* HOST and UNKNOWN steps by operator, most frequent first        */
    const tw_count *undescribed;
    const int *tensor_of_value; /* per value of the file, -1: none                                */
    /* What depends on constants alone is no step of the network. */
    int n_constant_nodes; /* nodes of which nothing is left to do                           */
    int n_constant_steps; /* that make the constants, in an order in which they can be done. They have no plan
                                     and no time; their outputs are of role CONSTANT                */
    const tw_step *constant_step;
    int n_constants;              /* constants that steps read and that the file does not have      */
    int64_t constant_bytes;       /* of them                                                        */
    int64_t weight_bytes;         /* of all constants that steps read                               */
    int n_too_large;              /* steps that are left because their constant would be too large  */
    const char *const *too_large; /* their names                                                    */
} tw_lowered;
/* A constant of more bytes, and of more than what it is made of, is not computed before the network runs. */
#define TW_CONSTANT_MOST_BYTES (INT64_C(1) << 28)

typedef struct tw_lower_options {
    bool no_fold;         /* every node is a step of its own, also where it depends on constants alone      */
    bool strict;          /* a step that is not TILED is an error                                           */
    tw_dtype float_as;    /* plan f32 tensors as if they were of this type; TW_N_DTYPES: as they are.
                          Such a network cannot be executed                                         */
    tw_merge_judge judge; /* loops that are better left apart stay so                            */
} tw_lower_options;
TW_NODISCARD tw_status tw_lower_network(const tw_shapes *shapes, const tw_lower_options *options, tw_arena *arena,
                                        tw_diag *diag, const tw_lowered **out);
/* Stable text: one line per step, for --dump=steps and tests. */
void tw_lowered_print(const tw_lowered *lowered, tw_text *out);
#endif
