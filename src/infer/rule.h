/* src/infer/rule.h - one rule per operator: from its inputs' shapes and types to those of its outputs.
 *
 * A rule is a line in a table: the operator, what types it takes and gives, and the function of the shapes. The pass
 * (infer.c) checks the number of inputs and the types by the line, so that functions speak of shapes only.
 *
 *     {"Conv", "", "TTT?:T", conv}      three inputs of one type, the last may be left out; the output has that type
 *
 *     T U V W   a type, the same wherever the letter stands        i   int32 or int64
 *     F         such a type of floats, N M of numbers, I of whole numbers: no bools, no texts
 *     l n b f y int64, int32, bool, float, uint8                   q   uint8 or int8
 *     .         any type; as an output: the function sets it
 *     ?         the one before may be left out                     +   the one before, once or more often
 *                                                                  *   any number of times, or left out
 *
 * A function leaves outputs unknown that it cannot tell (`known` stays false) and returns TW_OK. All inputs that are there
 * are known when it is called, unless the line says `partial`. */
#ifndef TW_INFER_RULE_H
#define TW_INFER_RULE_H
#include "infer/infer.h"

typedef struct tw_pass tw_pass;
typedef struct tw_rule_case {
    tw_pass *pass;
    const tw_graph_file *file;
    const tw_onnx_node *node;
    int64_t opset; /* of the node's domain */
    int graph;     /* that the node is in  */
    int n_in, n_out;
    tw_shape_of_value *const *in; /* NULL: left out                     */
    tw_shape_of_value *out;       /* types by the line, nothing known   */
    tw_arena *arena;
    tw_diag *diag;
} tw_rule_case;

#define TW_ANY_DOMAIN "*" /* functions that their name defines */
typedef struct tw_rule {
    const char *op, *domain, *types;
    tw_status (*shape)(const tw_rule_case *c);
    bool partial; /* copes with inputs that are not known */
} tw_rule;
typedef struct tw_rules {
    const tw_rule *rule;
    size_t n;
    bool heavy; /* never computed here: no exporter makes shapes with them, and a small one can take long */
} tw_rules;
extern const tw_rules tw_rules_window, tw_rules_element, tw_rules_math, tw_rules_recurrent, tw_rules_quant,
    tw_rules_move, tw_rules_pick, tw_rules_control;

/* ---- what functions of shapes are made of ---- */

/* "node 'c1' (Conv) at byte 17: ..." */
tw_status tw_rule_error(const tw_rule_case *c, const char *fmt, ...) TW_PRINTF(2, 3);
/* Refuses attributes that are of another kind than their name has in the standard (attributes.c). */
TW_NODISCARD tw_status tw_rule_attributes(const tw_rule_case *c);
/* NULL: left out, or there are not so many. */
const tw_shape_of_value *tw_rule_in(const tw_rule_case *c, int k);

/* A shape in the making. Dimensions beyond the largest rank are counted, not kept; tw_rule_set refuses them. */
typedef struct tw_dims {
    int n;
    int64_t dim[TW_ONNX_MAX_DIMS];
} tw_dims;
tw_dims tw_dims_of(const tw_shape_of_value *v);
void tw_dims_add(tw_dims *dims, int64_t dim);
/* Room for the text of a shape, "1x3x224x224" or "scalar". */
#define TW_SHAPE_TEXT 256
const char *tw_shape_text(int n, const int64_t *dim, char text[TW_SHAPE_TEXT]);

/* Gives a value this shape if it is one; else the value stays as it is, and *axis is the one that is out of range. */
typedef enum tw_shape_fault { TW_SHAPE_FINE, TW_SHAPE_RANK, TW_SHAPE_AXIS, TW_SHAPE_ELEMS } tw_shape_fault;
tw_shape_fault tw_shape_set(tw_shape_of_value *value, const tw_dims *dims, int *axis);
/* The shape of output k, checked: no dimension above TW_EXTENT_MAX or below 0. An output that the node does not have is
 * no error. */
TW_NODISCARD tw_status tw_rule_set(const tw_rule_case *c, int k, const tw_dims *dims);
TW_NODISCARD tw_status tw_rule_like(const tw_rule_case *c, int k, const tw_shape_of_value *v);
/* Output 0 is a constant: one row of int64. */
TW_NODISCARD tw_status tw_rule_set_row(const tw_rule_case *c, const int64_t *value, int n);

/* Refuses input k unless its rank lies in lo..hi. */
TW_NODISCARD tw_status tw_rule_rank(const tw_rule_case *c, int k, int lo, int hi);
/* -rank..rank-1 as 0..rank-1. */
TW_NODISCARD tw_status tw_rule_axis(const tw_rule_case *c, int64_t axis, int rank, int *out);

/* Integers that are an attribute in old versions of an operator and an input in new ones. */
typedef struct tw_ints {
    bool there; /* attribute or input                      */
    bool known; /* false: an input that is not a constant  */
    int n;
    const int64_t *v;
} tw_ints;
/* `name` NULL: no attribute; `k` -1: no input. */
TW_NODISCARD tw_status tw_rule_ints(const tw_rule_case *c, const char *name, int k, tw_ints *out);
/* The elements of input k, NULL when they are not known. */
TW_NODISCARD tw_status tw_rule_constant(const tw_rule_case *c, int k, const tw_array **out);
/* An attribute of exactly n integers in lo..TW_EXTENT_MAX; all `fallback` when the node has none. */
TW_NODISCARD tw_status tw_rule_attr(const tw_rule_case *c, const char *name, int n, int64_t lo, int64_t fallback,
                                    int64_t *out);
/* A type that is an attribute; TW_ONNX_NONE when it is none that we know. */
tw_onnx_type tw_rule_type(const tw_rule_case *c, const char *name, tw_onnx_type fallback);
/* *into and `dim` made one shape by the rules of numpy. */
TW_NODISCARD tw_status tw_rule_broadcast(const tw_rule_case *c, tw_dims *into, int n, const int64_t *dim);

/* Shapes that many operators share. */
tw_status tw_rule_same(const tw_rule_case *c);   /* every output is like input 0                      */
tw_status tw_rule_spread(const tw_rule_case *c); /* output 0 is the broadcast of all inputs           */
tw_status tw_rule_unknown(const tw_rule_case *c);

/* For operators with graphs in them: what is known of any value, and a graph's nodes in order. A branch that is not
 * `taken` may be wrong for these shapes: nothing is reported, and its values do not count as stale or unknown. */
tw_shape_of_value *tw_rule_value(const tw_rule_case *c, int value);
TW_NODISCARD tw_status tw_rule_graph(const tw_rule_case *c, int graph, bool taken);
/* A branch that may be taken; one that is wrong for these shapes is not possible. */
TW_NODISCARD tw_status tw_rule_try_graph(const tw_rule_case *c, int graph, bool *possible);
#endif
