/* src/model/model.h - the graph: tensors, and operators in the order in which they run.
 *
 * A workload file makes one (read.h), and so does a network (lower/). An operator is described, or it is a word for something that
 * only the host can do, or that nobody can: it is listed, its tensors flow. Everything but the walk over whole networks is about
 * described ones.
 *
 * A described operator is a loop nest and, per operand, a map from loop indices to tensor positions:
 *
 *     conv:  loops   n oc oy ox | ic ky kx          (the last three reduce)
 *            ifm  [ n,  ic,  2*oy + ky - 3,  2*ox + kx - 3 ]
 *            w    [ oc, ic,  ky,  kx ]
 *            ofm  [ n,  oc,  oy,  ox ]
 *
 * Each point of the nest combines the inputs it reads and accumulates into the one output it
 * names. A position outside the tensor is padding: it contributes the neutral value and is never
 * stored or moved. Everything after this stage reads only the description; no later file knows
 * what a convolution is.
 *
 * An operand sees its tensor in the shape that suits the operator, [n, g, c, y, x] for a grouped convolution: the order of elements
 * and their number count, not the axes. In a workload file both have the same.
 *
 * Invariants (tw_model_check): 1. extents are in 1..TW_EXTENT_MAX and the product of an operator's
 * loops fits int64_t. 2. The output is the last operand; each of its axes is one parallel loop with
 * coefficient 1, offset 0, divisor 1 and the loop's extent, and each parallel loop is one of its axes.
 * 3. Every loop reaches some operand, and an axis without loops stands inside its tensor; all but sums and maps have one
 * input, average a float output; an operand scatters at most the axes that it has; no position before its division exceeds TW_POSITION_MAX; the accumulator holds
 * every value of the output's type. An operand has as many elements as its tensor, or as the rows that it selects. 4. The operators
 * are in an order in which every tensor is written before it is read, at most once; rows may be written into it again. 5. A map has a value and reduces no loop; what is held lies along parallel loops; formulas have as
 * many variables as there are inputs (`finish`: one) and values held; their names can stand in a text. With `finish` the
 * accumulator may be of any type. 6. Further pieces of inputs stand behind all inputs. They are read by the same terms as the input,
 * but for the offset along one axis, along which no two pieces of an input have a position in common. */
#ifndef TW_MODEL_MODEL_H
#define TW_MODEL_MODEL_H
#include "model/formula.h"

enum {
    TW_MAX_LOOPS = 12,       /* of one operator                                   */
    TW_MAX_AXES = 8,         /* of one operand, and of a tensor that one sees as it is */
    TW_MAX_TENSOR_AXES = 16, /* of a tensor that operands see in other shapes    */
    TW_MAX_TERMS = 4,        /* loops in one access expression                    */
    TW_MAX_OPERANDS = 6,     /* inputs plus output                                */
    TW_MAX_HELD = 16,        /* values that the compute engine holds by itself    */
};

/* name, bytes, is a float */
/* clang-format off */
#define TW_DTYPES(X)        \
    X(I8, "i8", 1, false)   \
    X(U8, "u8", 1, false)   \
    X(I16, "i16", 2, false) \
    X(I32, "i32", 4, false) \
    X(F32, "f32", 4, true)  \
    X(F64, "f64", 8, true)  \
    X(U16, "u16", 2, false) \
    X(U32, "u32", 4, false) \
    X(I64, "i64", 8, false) \
    X(U64, "u64", 8, false) \
    X(F16, "f16", 2, true)  \
    X(BF16, "bf16", 2, true) \
    X(BOOL, "bool", 1, false)
/* clang-format on */
typedef enum tw_dtype {
#define X(id, name, bytes, is_float) TW_DTYPE_##id,
    TW_DTYPES(X)
#undef X
        TW_N_DTYPES
} tw_dtype;
const char *tw_dtype_name(tw_dtype dtype);
int64_t tw_dtype_bytes(tw_dtype dtype);
bool tw_dtype_is_float(tw_dtype dtype);

typedef enum tw_tensor_role {
    TW_ROLE_INPUT,
    TW_ROLE_CONSTANT, /* known before the graph runs */
    TW_ROLE_BETWEEN,  /* some operator writes it     */
} tw_tensor_role;
typedef struct tw_tensor {
    const char *name;
    tw_loc loc;
    tw_dtype dtype; /* as it is planned; TW_N_DTYPES: it has no numbers, and no described operator sees it */
    int n_axes;
    int64_t extent[TW_MAX_TENSOR_AXES];
    bool unshaped; /* nobody knows its shape before the graph runs: it has no axes and no elements here   */
    int64_t bytes; /* of all elements; 0 where these have no fixed size                                   */
    tw_tensor_role role;
    bool is_output; /* of the graph                                                                         */
    int root;       /* the tensor whose bytes these are, often itself; operators may write parts one by one */
    int64_t offset; /* elements into them                                                                   */
} tw_tensor;

typedef struct tw_loop {
    const char *name;
    int64_t extent;
    bool reduces; /* false: parallel, the loop names an output position */
} tw_loop;

typedef struct tw_term {
    int loop;     /* index into the operator's loops */
    int64_t coef; /* any sign, never 0               */
} tw_term;

/* Position along one tensor axis = (sum of coef * loop index + offset) / divisor. It exists where the
 * division leaves no rest and the result lies in [0, extent). With `floors` the division rounds down instead, and its rest
 * counts for nothing: output row y of an image that is made larger reads the rows (3*y - 1)//5 and the one below. */
typedef struct tw_axis {
    int64_t extent, offset, divisor;
    bool floors;
    int n_terms;
    tw_term term[TW_MAX_TERMS];
} tw_axis;

/* An operand that is rows of a tensor: [outer, count, inner] of [outer, extent, inner], row i being the one that element i of
 * another operand names. Negative ones count from the end. The operator sees the rows one behind the other, `scattered`. */
typedef struct tw_selection {
    int index;   /* operand that has the numbers of the rows */
    bool counts; /* an operator before made these numbers of others: what lies outside of the tensor is none */
    int64_t outer, extent, count, inner; /* count 0: no selection */
} tw_selection;

typedef struct tw_operand {
    const char *name; /* its role in the operator: "ifm"; mappings use it */
    int tensor;       /* index into the model's tensors                   */
    int n_axes;
    tw_axis axis[TW_MAX_AXES];
    bool weights; /* known before the operator runs: the role of a memory path; see tw_machine_path */
    int beside; /* 1 + the input of which this is a further piece: a point takes the one that has an element there. 0: an
                      input of its own */
    int scattered; /* the first so many axes count rows that lie apart, so that no two are moved as one; 0: as its
                      tensor has them */
    tw_selection rows; /* of the output: the rows that are written, the others stay as they are */
} tw_operand;

/* How a loop point changes its output. */
typedef enum tw_compute {
    TW_MULTIPLY_ADD, /* out += product of the inputs, or `value`; nothing where an input is in the padding  */
    TW_ADD,     /* out += sum of the inputs, or `value` of one input; without a reduction: element-wise addition */
    TW_MAX,     /* out = max(out, input or `value` of one input)                                   */
    TW_AVERAGE, /* out += input / number of points of the window, see average_counts_padding */
    TW_MIN,     /* out = min(out, input or `value` of one input)                                   */
    TW_PRODUCT, /* out *= input or `value` of one input                                            */
    TW_MAP, /* out = `value`; no loop reduces. Inputs in the padding count as 0, and `present` tells them apart */
    TW_N_COMPUTES
} tw_compute;
const char *tw_compute_name(tw_compute compute);

/* A scalar, or a vector along one parallel loop, that the compute engine holds by itself: a bias, a zero point. It is not moved
 * by the program, takes no room in a memory and is known when the operator runs. */
typedef struct tw_held {
    const char *name;
    int loop;   /* -1: a scalar */
    int tensor; /* whose elements they are, -1: the workload does not say */
} tw_held;

typedef enum tw_op_kind {
    TW_OP_DESCRIBED, /* by all that follows in tw_op                                       */
    TW_OP_HOST,      /* evaluated as it is (reference/), not tiled; its time is not known  */
    TW_OP_UNKNOWN,   /* neither: only the tensors flow                                     */
} tw_op_kind;
/* What an operator stands for in the file of a network. */
typedef struct tw_op_origin {
    const char *what; /* "Conv", "Conv+BatchNormalization+Relu"; NULL: a workload's                 */
    int graph;
    int n_nodes;     /* that are done with it: what its output holds then is what they compute       */
    const int *node; /* of `graph`, in order; empty in the middle of a chain                         */
    bool constant;   /* reads constants alone: done before the network runs                          */
    bool in_branch;  /* of an If whose condition is not known: may not run. The If itself is a HOST operator that
                        evaluates the branch that is taken                                           */
    const struct tw_op
        *plain; /* the same operator before its loops were rewritten (simplify.h); NULL: they were not */
} tw_op_origin;

typedef struct tw_op {
    const char *name; /* unique in its graph */
    tw_loc loc;
    tw_op_kind kind;
    tw_op_origin from;
    /* HOST, UNKNOWN */
    const char *why; /* the reason in a few words */
    int n_inputs, n_outputs;
    const int *input, *output; /* tensors, -1: left out. Inputs of the node in its order, then what its subgraphs
                                  read from outside, then the results of the branches of an If */
    /* DESCRIBED */
    tw_compute compute;
    const tw_formula *value;  /* of a point: over the inputs, then what is held. NULL: as `compute` says     */
    const tw_formula *finish; /* of an output element once all its points are in: over the sum, then what is held.
                                 NULL: as it is                                                                */
    int n_held;
    tw_held held[TW_MAX_HELD];
    tw_dtype accumulator; /* of partial sums; the output's type unless the workload says otherwise */
    bool
        wants_fusion; /* mappings that say nothing else fuse it with the operator before it, if the machine can: see
                          tw_op_map.fused. tw_chain_check accepts it */
    bool average_counts_padding; /* divide by all points of the window, not only by those inside */
    int n_loops;
    tw_loop loop[TW_MAX_LOOPS];
    int n_operands; /* inputs first, the output last */
    tw_operand operand[TW_MAX_OPERANDS];
} tw_op;

/* A tile: one span per loop; and the part of a tensor it touches: one span per axis, empty when any is. */
typedef struct tw_box {
    tw_span span[TW_MAX_LOOPS];
} tw_box;
typedef struct tw_region {
    tw_span axis[TW_MAX_AXES];
} tw_region;

struct tw_model {
    const char *name;
    int n_tensors;
    const tw_tensor *tensor;
    int n_ops;
    const tw_op *op;
    bool apart; /* layers of a network, side by side: they share no tensors, and a mapping may leave some out */
    const struct tw_model
        *given;    /* what a mapping made this model of, by the two that follow; NULL: it is as it was given */
    int n_written; /* inputs whose padding operators of their own write: padded.h */
    const struct tw_written_padding *written;
    int n_divided; /* operators that are divided into several: divided.h */
    const struct tw_divided_op *divided;
    bool has_masks; /* of a network: what comes from outside may be infinite, as masks of scores are */
};

static inline int tw_op_output(const tw_op *op) { return op->n_operands - 1; }
/* The tensor that a described operator makes, and whether it reads one as it is. */
static inline int tw_op_makes(const tw_op *op) { return op->operand[tw_op_output(op)].tensor; }
bool tw_op_reads(const tw_op *op, int tensor);
/* The operator of that name, -1: there is none. */
int tw_model_find_op(const tw_model *model, const char *name);
/* Whether the position along the axis depends on the loop. */
bool tw_axis_has_loop(const tw_axis *axis, int loop);
/* Inputs, each with its pieces counted once: the variables of formulas. */
static inline int tw_op_n_variables(const tw_op *op)
{
    int n = tw_op_output(op);
    while (n > 1 && op->operand[n - 1].beside > 0) n--;
    return n;
}
/* The input that an operand is, or is a piece of. */
static inline int tw_op_variable(const tw_op *op, int operand)
{
    return op->operand[operand].beside > 0 ? op->operand[operand].beside - 1 : operand;
}
static inline bool tw_op_has_pieces(const tw_op *op) { return tw_op_n_variables(op) < tw_op_output(op); }
/* Whether two tensors are views of the same bytes: who reads one waits for who writes the other. */
static inline bool tw_tensors_share(const tw_model *model, int a, int b)
{
    return model->tensor[a].root == model->tensor[b].root;
}
/* Whether two tensors are the same bytes, all of them, maybe in different shapes. */
bool tw_tensors_are_alike(const tw_model *model, int a, int b);
/* Whether the operator reads all bytes of the tensor as one of its operands, in whatever shape. */
bool tw_op_reads_alike(const tw_model *model, const tw_op *op, int tensor);
/* Whether the operator reads the tensor, as it is or in another view. */
bool tw_op_reads_bytes(const tw_model *model, const tw_op *op, int tensor);
/* Tensors that an operator of any kind reads, and writes, one by one: operands, what is held, lists. -1: left out. */
int tw_op_n_reads(const tw_op *op);
int tw_op_read(const tw_op *op, int i);
int tw_op_n_writes(const tw_op *op);
int tw_op_written(const tw_op *op, int i);
/* Bit l is set when loop l occurs in the operand's map. */
unsigned tw_operand_loops(const tw_operand *operand);
/* Bit l is set when loop l reduces. */
unsigned tw_op_reductions(const tw_op *op);
/* Product of the loop extents: multiply-adds, or whatever a point does. */
int64_t tw_op_points(const tw_op *op);
/* The input of operator `op` that is what the operator before it makes, -1: there is none. */
int tw_chain_input(const tw_model *model, int op);
/* Whether operator `op` reads once, and alone, what the operator before it makes, and nobody is handed that, so that both can be fused. Reports at
 * `loc` when it is not so. */
TW_NODISCARD tw_status tw_chain_check(const tw_model *model, int op, tw_loc loc, tw_diag *diag);
/* Whether it only moves elements: each element of the output is one of exactly one input, of the same type, and strides
 * lead from one to the next; where there is one input only, also 0. */
bool tw_op_is_move(const tw_model *model, const tw_op *op);
/* INT64_MAX: more than fit. */
int64_t tw_tensor_elems(const tw_tensor *tensor);
int64_t tw_operand_elems(const tw_operand *operand);
/* Whether the operand has as many elements as the tensor, or as the rows that it selects of it. */
bool tw_operand_sees(const tw_operand *operand, const tw_tensor *tensor);
/* An operator of a graph, alone among all its tensors. */
tw_model tw_model_alone(const tw_model *model, int op);
/* The names of the variables of `value` and of `finish`; returns their number. */
#define TW_SUM_NAME    "sum"    /* in `finish` */
#define TW_SCALAR_NAME "scalar" /* in `held`, for a loop */
int tw_op_value_names(const tw_op *op, const char *name[TW_MAX_OPERANDS + TW_MAX_HELD]);
int tw_op_finish_names(const tw_op *op, const char *name[1 + TW_MAX_HELD]);
/* Index of the loop or operand called `name`, -1 when there is none. */
int tw_op_find_loop(const tw_op *op, const char *name);
int tw_op_find_operand(const tw_op *op, const char *name);

/* Where the parts of an operator were written, for messages. */
typedef struct tw_op_locs {
    tw_loc loop[TW_MAX_LOOPS];
    tw_loc operand[TW_MAX_OPERANDS];
    tw_loc axis[TW_MAX_OPERANDS][TW_MAX_AXES];
} tw_op_locs;
/* Every part where the operator itself is. */
tw_op_locs tw_op_locs_of(tw_loc loc);
/* Invariants 1 to 3 of one operator; what is wrong is reported at its place in `locs`. */
TW_NODISCARD tw_status tw_op_check(const tw_op *op, const tw_op_locs *locs, tw_diag *diag);
/* Whether an operator may add up in this type: the output's or a wider one, both integers or both floats; all
 * but sums keep the output's. Reports at `loc` when it may not. */
TW_NODISCARD tw_status tw_accumulator_check(tw_compute compute, tw_dtype accumulator, tw_dtype output, tw_loc loc,
                                            tw_diag *diag);
/* Smallest and largest value of the axis expression before the division; false when it may leave
 * TW_POSITION_MAX. */
#define TW_POSITION_MAX (INT64_C(1) << 61)
TW_NODISCARD bool tw_axis_values(const tw_axis *axis, const tw_op *op, int64_t *least, int64_t *most);
/* The position of a value of the expression before the division; false when there is none inside the tensor. */
static inline bool tw_axis_position(const tw_axis *axis, int64_t value, int64_t *position)
{
    if (value < 0) return false;
    int64_t at = axis->divisor > 1 ? value / axis->divisor : value;
    *position = at;
    return at < axis->extent && (axis->floors || at * axis->divisor == value);
}

/* Invariants 1 to 3 and 5 of a described operator among the tensors of the model, which need not have it. */
TW_NODISCARD tw_status tw_model_check_op(const tw_model *model, const tw_op *op, tw_diag *diag);
TW_NODISCARD tw_status tw_model_check(const tw_model *model, tw_diag *diag);
/* Stable text, as a workload file of described operators that reads back as the same model. */
void tw_model_print(const tw_model *model, tw_text *out);
#endif
