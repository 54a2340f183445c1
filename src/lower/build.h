/* src/lower/build.h - the words in which the files of this folder describe operators.
 *
 * A node is lowered by one function that says what it needs, straight on:
 *
 *     tw_seen x = tw_see_input(l, 0), y = tw_see_output(l, 0);
 *     tw_nest_begin(l, ".max", TW_MAX);
 *     ...loops, operands, formulas...
 *
 * Nothing of this fails visibly: a description that is not possible (too many axes, a type without arithmetic) calls
 * tw_refuse, what follows does no harm, and the walk (lower.c) takes back what the node made and gives it to the host.
 * One nest is open at a time. The last one of a node stays open until the node's followers are folded into it (fold.c). */
#ifndef TW_LOWER_BUILD_H
#define TW_LOWER_BUILD_H
#include "core/deadline.h"
#include "lower/lower.h"

/* A tensor, seen in a shape. The same elements may be seen in any shape of as many elements. */
typedef struct tw_seen {
    int tensor; /* -1: left out */
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
} tw_seen;

/* Variables of formulas in the making: the inputs (in `finish`: the sum as variable 0), then what is held. */
enum { TW_VAR_HELD = TW_MAX_OPERANDS - 1, TW_N_VARS = TW_VAR_HELD + TW_MAX_HELD };

typedef struct tw_lowered_nest { /* a step in the making */
    const char *suffix;
    tw_op op;
    tw_formula_draft value, finish;
    int value_is, finish_is; /* index of the result, -1: none */
} tw_lowered_nest;

typedef struct tw_reader_lists { /* who reads what */
    const int *first, *node;     /* value v: node[first[v]] .. node[first[v + 1] - 1] of its own graph, ascending */
    const bool *escapes;         /* read elsewhere too: an output of a graph, a subgraph                       */
} tw_reader_lists;

typedef struct tw_lowering {
    const tw_shapes *shapes;
    const tw_graph_file *file;
    const tw_lower_options *options;
    tw_arena *arena;
    tw_tensor *tensor;
    tw_tensor_source *source; /* per tensor */
    tw_op *step;
    tw_fold_info *fold;
    int n_tensors, n_steps, n_folds, n_views, tensor_room, source_room, step_room, fold_room;
    int *tensor_of_value;
    bool *made_of_constants; /* per value: computed of constants of the file (constants.c) */
    bool *made_of_given;     /* per value: an input whose elements are given, or computed of one */
    int n_constant_nodes, n_too_large, too_large_room;
    const char **too_large; /* steps that stay because of the size of their constant      */
    bool no_memory;         /* or what follows: nothing more is made          */
    bool too_many;          /* steps                                          */
    bool stopped;           /* by the clock                                   */
    tw_pulse pulse;         /* of nodes and steps                             */
    /* the node at hand */
    int graph, index;
    bool in_branch; /* of an If whose condition is not known            */
    const tw_onnx_node *node;
    const char *name;   /* of its steps                                     */
    const char *prefix; /* of all names in the graph at hand: "if1.then."   */
    tw_reader_lists readers;
    int64_t opset;
    const char *why; /* it cannot be described, because; NULL: it can    */
    bool nest_open;
    tw_lowered_nest nest;
    tw_formula_draft *f; /* formula in the making: nest.value or nest.finish */
    bool holds_known;    /* scalars are held even when they are known        */
} tw_lowering;

/* The first reason counts. */
void tw_refuse(tw_lowering *l, const char *why);
static inline bool tw_refused(const tw_lowering *l) { return l->why || l->no_memory; }
/* Room for one more item in an array that doubles; false when out of memory. */
bool tw_room_for(tw_lowering *l, void *items, int n, int *room, size_t size);
/* Room for one more step; false also when there are too many, or time is up. */
bool tw_room_for_step(tw_lowering *l);
/* Looks at the clock now and then. */
void tw_lowering_beat(tw_lowering *l);
/* Text in the arena; "" when out of memory. */
const char *tw_say(tw_lowering *l, const char *fmt, ...) TW_PRINTF(2, 3);

/* ---- tensors (tensors.c) ---- */

/* The type that a network type is planned as; TW_N_DTYPES: none. */
tw_dtype tw_dtype_of(const tw_lowering *l, tw_onnx_type type);
bool tw_is_float_type(tw_onnx_type type);
/* Smallest and largest value of an integer type. */
double tw_type_lowest(tw_onnx_type type);
double tw_type_highest(tw_onnx_type type);
const tw_shape_of_value *tw_shape_of(const tw_lowering *l, int value);
int tw_tensor_of(tw_lowering *l, int value); /* made when it is new; -1 for -1 */
tw_seen tw_see(tw_lowering *l, int value);   /* in its own shape */
bool tw_has_input(const tw_lowering *l, int i);
bool tw_is_read(const tw_lowering *l, int value);
bool tw_has_output(const tw_lowering *l, int i); /* listed and read by somebody */
tw_seen tw_see_input(tw_lowering *l, int i);
tw_seen tw_see_output(tw_lowering *l, int i);
tw_onnx_type tw_type_of(const tw_lowering *l, tw_seen seen);
/* The elements of an input that inference knows; NULL. */
const tw_array *tw_known_input(const tw_lowering *l, int i);
/* Whether all elements are known to be zero. */
bool tw_is_zero(const tw_lowering *l, tw_seen seen);
/* A tensor between the steps of a node, called like its output with the suffix. */
tw_seen tw_between(tw_lowering *l, const char *suffix, tw_onnx_type type, int n_dims, const int64_t *dim);
/* The same shape with another element type. */
tw_seen tw_between_like(tw_lowering *l, const char *suffix, tw_onnx_type type, tw_seen like);
enum { TW_LITERAL_MOST = 1 << 20 };
/* A constant made here, all zero (of at most TW_LITERAL_MOST elements where it is not small by itself); its elements may be changed through *array. */
tw_seen tw_literal(tw_lowering *l, const char *suffix, tw_onnx_type type, int n_dims, const int64_t *dim,
                   tw_array **array);
/* The constant 0, 1, 2 .. n - 1; refuses more than TW_LITERAL_MOST. */
tw_seen tw_counting(tw_lowering *l, const char *suffix, int64_t n);
/* Elements from `offset` on, as a tensor of its own. */
tw_seen tw_part_of(tw_lowering *l, const char *suffix, tw_seen whole, int64_t offset, int n_dims,
                   const int64_t *dim);
/* Value `output` is these elements, no work. */
void tw_output_is(tw_lowering *l, int output, tw_seen whole, int64_t offset);
tw_seen tw_reshaped(tw_seen seen, int n_dims, const int64_t *dim);
#define TW_RESHAPED(seen, ...) \
    tw_reshaped((seen), (int)TW_COUNT(((const int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})
int64_t tw_product(const int64_t *dim, int n);
int64_t tw_elems_of(tw_seen seen);

/* ---- nests (nest.c) ---- */

/* Ends the nest that is open and begins another. */
void tw_nest_begin(tw_lowering *l, const char *suffix, tw_compute compute);
/* Makes the open nest a step that is done with `n_nodes` nodes, called `op`. */
void tw_nest_end(tw_lowering *l, const char *op, int n_nodes, const int *node);
/* The index of a new loop. */
int tw_add_loop(tw_lowering *l, const char *name, int64_t extent, bool reduces);
/* -1, no loop, when the extent is 1. */
int tw_add_outer(tw_lowering *l, const char *name, int64_t extent);
/* The same, called by its number: "d2". */
int tw_add_numbered(tw_lowering *l, int64_t extent);
/* "d0" .. "d15" */
const char *tw_loop_name(int i);
/* An input without axes yet; its variable in `value`. The output comes last. */
int tw_add_operand(tw_lowering *l, tw_seen seen);
/* One more axis of the newest operand: walked by a loop (-1: no axis), or as given. */
void tw_add_axis(tw_lowering *l, int loop);
void tw_add_axis_as(tw_lowering *l, tw_axis axis);
/* An operand walked by these loops, one per axis; -1 is left out. */
int tw_add_walked(tw_lowering *l, tw_seen seen, const int *loop, int n);
#define TW_WALK(l, seen, ...) \
    tw_add_walked((l), (seen), (const int[]){__VA_ARGS__}, (int)TW_COUNT(((const int[]){__VA_ARGS__})))
/* The output, walked by all parallel loops in their order. Settles the accumulator. */
void tw_add_output(tw_lowering *l, tw_seen seen);
/* The variable of something held: a scalar (loop -1) or a vector along a loop. */
int tw_hold(tw_lowering *l, tw_seen seen, int loop);
/* The formula of the open nest that is the last to touch an element, ready to go on; its value so far. */
int tw_tail(tw_lowering *l);
void tw_set_tail(tw_lowering *l, int result);
/* Starts `value`; tw_set_value ends it. */
void tw_value_begin(tw_lowering *l);
void tw_set_value(tw_lowering *l, int result);
/* A scalar: its number where it is known (unless l->holds_known), else held. */
int tw_scalar(tw_lowering *l, tw_seen seen);
/* Output axis (a loop) along which a tensor of `inner` elements behind and `extent` elements along lies; -1. */
int tw_find_output_loop(const tw_lowering *l, int64_t extent, int64_t inner);

/* Where windows leave something over at the ends of an operand, it becomes a view of what they reach (trim.c). */
void tw_trim_views(tw_lowering *l);
/* Constants of the settled nest of which it reads a part are replaced by that part, which a step of its own copies
 * (trim.c); true: there were some. */
bool tw_trim_constants(tw_lowering *l);

/* ---- nests from shapes (broadcast.c) ---- */

/* Begins a nest over the space of these dims. Each operand has in every dim either all of it or 1 (missing ones before
 * its first are 1); dims that the output has not reduce. Dims that all operands treat alike are one loop. With TW_MAP,
 * inputs that are scalars, and constant vectors along one loop, are held. var[i]: the variable of input i. */
void tw_broadcast(tw_lowering *l, const char *suffix, tw_compute compute, tw_seen out, int n_dims,
                  const int64_t *dim, int n_inputs, const tw_seen *input, int *var);
/* The map of these inputs over the output's shape; leaves l->f at the formula `value`. */
void tw_map(tw_lowering *l, const char *suffix, tw_seen out, int n_inputs, const tw_seen *input, int *var);
/* A reduction of x over the dims with `gone` into out (which has 1 there). */
void tw_reduction(tw_lowering *l, const char *suffix, tw_compute compute, tw_seen x, const bool *gone, tw_seen out);
/* The mean over the dims with `gone`. */
void tw_mean(tw_lowering *l, const char *suffix, tw_seen x, const bool *gone, tw_seen out);
/* Shape with 1 where `gone`. */
tw_seen tw_without(tw_seen seen, const bool *gone);
/* x as [before, along, behind] the attribute "axis", as Softmax and its like mean it: until version 13 everything from the
 * axis on is `along`. */
tw_seen tw_rows_of(tw_lowering *l, tw_seen x);

/* ---- element-wise operators (element.c) ---- */

enum { TW_ELEMENT_MAX_INPUTS = 16 };
typedef struct tw_element_call {
    tw_lowering *l;
    const tw_onnx_node *node;
    tw_formula_draft *f;
    int n;                          /* inputs                             */
    int arg[TW_ELEMENT_MAX_INPUTS]; /* what they are in f, -1: left out   */
    tw_onnx_type type[TW_ELEMENT_MAX_INPUTS];
    tw_onnx_type out;
    int64_t opset;
} tw_element_call;
typedef struct tw_element {
    const char *op, *domain; /* domain NULL: any                                                        */
    int (*emit)(const tw_element_call *c, tw_fn fn); /* the result in c->f */
    tw_fn fn;
    int needs;  /* inputs that must be there, in order; 0: one                                       */
    int reads;  /* inputs whose elements count; 0: all                                               */
    int along;  /* inputs 1.. are: 0: broadcast, 1: vectors along axis 1, 2: along attribute `axis` */
    bool holds; /* scalars are held even when known, because they differ from layer to layer        */
} tw_element;
/* The description of a node, NULL: it is not element-wise, or this variant is not, or shapes or types are missing. */
const tw_element *tw_element_of(const tw_lowering *l, const tw_onnx_node *node);
bool tw_element_reads(const tw_element *e, const tw_onnx_node *node, int i);
/* Input i of the node in the shape in which it meets the output's. */
tw_seen tw_element_input(tw_lowering *l, const tw_element *e, const tw_onnx_node *node, int i);
/* Continues the formula l->f; arg[i] of the inputs. */
int tw_element_emit(tw_lowering *l, const tw_element *e, const tw_onnx_node *node, const int *arg);

/* ---- arithmetic ---- */

static inline int tw_num(tw_lowering *l, double x) { return tw_formula_constant(l->f, x); }
static inline int tw_fn1(tw_lowering *l, tw_fn fn, int a) { return tw_formula_call(l->f, fn, a, 0, 0); }
static inline int tw_fn2(tw_lowering *l, tw_fn fn, int a, int b) { return tw_formula_call(l->f, fn, a, b, 0); }
static inline int tw_plus(tw_lowering *l, int a, int b) { return tw_fn2(l, TW_FN_ADD, a, b); }
static inline int tw_minus(tw_lowering *l, int a, int b) { return tw_fn2(l, TW_FN_SUBTRACT, a, b); }
static inline int tw_times(tw_lowering *l, int a, int b) { return tw_fn2(l, TW_FN_MULTIPLY, a, b); }
static inline int tw_over(tw_lowering *l, int a, int b) { return tw_fn2(l, TW_FN_DIVIDE, a, b); }
static inline int tw_choose(tw_lowering *l, int c, int a, int b)
{
    return tw_formula_call(l->f, TW_FN_SELECT, c, a, b);
}
/* Integers wrap around into their type; floats stay. */
int tw_fit(tw_lowering *l, int x, tw_onnx_type type);
int tw_cast(tw_lowering *l, int x, tw_onnx_type from, tw_onnx_type to);
/* A result of the formula as its type has it: floats are rounded, integers wrap around, unless it is known to be one. A
 * formula of several nodes rounds what goes from one to the next, so that it computes what the nodes would one by one. */
int tw_rounded(tw_lowering *l, int x, tw_onnx_type type);
/* round(x) + zero, saturated; zero -1: none. */
int tw_quantize(tw_lowering *l, int x, int zero, tw_onnx_type type);
/* (x - zero) * scale; zero -1: none. */
int tw_dequantize(tw_lowering *l, int x, int scale, int zero);
/* The activation called so ("Relu", "Sigmoid", "HardSigmoid"...) with its parameters, -1 when it is not known. */
int tw_activation(tw_lowering *l, const char *name, int x, const float *alpha, const float *beta);

/* ---- chains that several operators share ---- */

/* The steps of DynamicQuantizeLinear: y of bytes, scale and zero point. Their names begin with `prefix`. */
void tw_dynamic_quantize(tw_lowering *l, const char *prefix, tw_seen x, tw_seen y, tw_seen scale, tw_seen zero);
typedef struct tw_matrix {
    tw_seen seen; /* its last two axes; those before are batches */
    bool transposed;
} tw_matrix;
/* out[m, n] = sum over k of a[m, k] * b[k, n], either transposed; opens a nest with loops m, n, k = 0, 1, 2. */
void tw_matmul(tw_lowering *l, const char *suffix, tw_matrix a, tw_matrix b, tw_seen out);
typedef struct tw_quantised { /* (x - zero) * scale; scale and zero of all or per column, zero may be left out */
    tw_seen x, scale, zero;
} tw_quantised;
/* The product of floats with a quantised matrix: a is quantised first, and the sums are made of bytes. Leaves a nest open
 * whose loops are as above. bias is one per column, or left out. */
void tw_dynamic_matmul(tw_lowering *l, const char *suffix, tw_seen a, const tw_quantised *b, tw_seen bias,
                       tw_seen y);
/* A copy with the axes in another order. */
void tw_transpose(tw_lowering *l, const char *suffix, tw_seen x, const int *perm, tw_seen out);
/* Opens the nest of up to five inputs side by side: variables 0 .. n - 1, each absent where the others are. */
void tw_concat_begin(tw_lowering *l, const char *suffix, int n, const tw_seen *x, int axis, tw_seen out);
/* Concatenation along an axis. */
void tw_concat(tw_lowering *l, int n, const tw_seen *x, int axis, tw_seen out);
/* Resize by the nearest elements (nearest.c), or by weighing neighbours (resize.c). */
void tw_take_nearest(tw_lowering *l);
void tw_interpolate(tw_lowering *l);
/* Offset, divisor and first factor of an axis with (factor * i + offset) // divisor = table[i], which does not fall; false:
 * there is none. A factor of 0 belongs to no loop. */
bool tw_fit_line(const int64_t *table, int64_t n, tw_axis *axis);
/* Gather of several rows (select.c). */
void tw_gather_by_index(tw_lowering *l);
/* y is x with the axis in the order of a constant index. */
void tw_gather_axis(tw_lowering *l, const char *suffix, tw_seen x, int axis, tw_seen index, tw_seen y);
/* An axis attribute, which counts from the end when negative; refuses what is out of range. */
int tw_axis_attribute(tw_lowering *l, const char *name, int64_t fallback, int n_dims);

/* ---- the table of operators ---- */

typedef struct tw_describer {
    const char *op, *domain;
    void (*lower)(tw_lowering *l);
    bool folds; /* what follows may be folded into its last step */
} tw_describer;
extern const tw_describer tw_window_ops[], tw_matmul_ops[], tw_reduce_ops[], tw_norm_ops[], tw_move_ops[],
    tw_view_ops[], tw_recurrent_ops[], tw_quant_ops[], tw_position_ops[], tw_select_ops[];

/* ---- constants (constants.c) ---- */

/* Finds the values that depend on constants alone. */
TW_NODISCARD tw_status tw_constants_find(tw_lowering *l);
/* Whether a value is there before the network runs. */
bool tw_is_constant(const tw_lowering *l, int value);
/* Whether all outputs of a node are, though the file does not have them. */
bool tw_is_constant_node(const tw_lowering *l, const tw_onnx_node *node);
/* Marks the steps that read constants alone, and gives their tensors that role. */
TW_NODISCARD tw_status tw_constants_set_apart(tw_lowering *l);
/* Counts the constants that the steps of `out` read. */
TW_NODISCARD tw_status tw_constants_count(const tw_lowering *l, tw_lowered *out);

/* ---- the walk: fold.c and lower.c ---- */

enum { TW_GROUP_MAX = 24 };
typedef struct tw_node_group { /* nodes that become one step, first the one that the others are folded into */
    int n, node[TW_GROUP_MAX];
    int value; /* what comes out */
} tw_node_group;
/* The group that begins with this node; `taken` marks nodes of earlier groups. */
void tw_group_of(tw_lowering *l, int node, const bool *taken, bool is_element, tw_node_group *group);
/* Folds the nodes after the first into the open nest; false: not possible, nothing has changed. */
bool tw_fold_group(tw_lowering *l, const tw_node_group *group);
/* The map of a group of element-wise nodes, from its node `first` on. */
void tw_map_group(tw_lowering *l, const tw_node_group *group, int first);
/* Sum, Mean, Min and Max of more inputs than an operator has: in several steps. */
void tw_variadic_chain(tw_lowering *l);
TW_NODISCARD tw_status tw_readers_build(const tw_graph_file *file, tw_arena *arena, tw_reader_lists *out);
/* Lowers all nodes of a graph; names begin with `prefix`. */
void tw_lower_graph(tw_lowering *l, int graph, const char *prefix);
/* Whether a graph is `around` or lies in it. */
bool tw_is_within(const tw_graph_file *file, int graph, int around);
/* The branches of the If at hand; true: one was chosen and nothing is left to do. */
bool tw_lower_if(tw_lowering *l);
/* The step of the node at hand as it is. */
void tw_add_host(tw_lowering *l, const char *why);
/* Leaves out steps that nobody needs and tensors that no step has; names become unique. */
TW_NODISCARD tw_status tw_tidy(tw_lowering *l);
#endif
