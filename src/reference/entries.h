/* src/reference/entries.h - what the implementations of operators share: tables, arguments, messages, walks.
 *
 * An implementation asks for its arguments, allocates its outputs (tw_ref_make) and fills them:
 *
 *     const tw_array *x;
 *     TW_TRY(tw_ref_need(c, 0, &x));
 *     TW_TRY(tw_ref_make(c, x->type, x->n_dims, x->dim, &output[0]));
 *
 * Every output that is made counts against TW_REFER_MAX_ELEMS, and so does every input before an implementation is
 * called: products of a tensor's dims fit int64_t. The case's arena is thrown away afterwards: tw_ref_run copies the
 * outputs, so an implementation allocates as it likes, and an output may even point into an input. */
#ifndef TW_REFERENCE_ENTRIES_H
#define TW_REFERENCE_ENTRIES_H
#include "reference/reference.h"

/* Ended by an entry whose op is NULL. */
extern const tw_ref_entry tw_ref_unary[], tw_ref_binary[], tw_ref_activations[], tw_ref_softmaxes[],
    tw_ref_reductions[], tw_ref_norms[], tw_ref_products[], tw_ref_convolutions[], tw_ref_pools[],
    tw_ref_quantised[], tw_ref_recurrent[], tw_ref_losses[];
extern const tw_ref_entry tw_ref_moving[], tw_ref_indexing[], tw_ref_control[];

/* ---- messages: "model.onnx: error: node 'c1' (Conv) at byte 4711: ..." ---- */

/* The node or its inputs contradict the standard: TW_ERR_INPUT. */
tw_status tw_ref_error(const tw_ref_case *c, const char *fmt, ...) TW_PRINTF(2, 3);
/* A variant without an implementation: TW_INFEASIBLE. */
tw_status tw_ref_unknown(const tw_ref_case *c, const char *fmt, ...) TW_PRINTF(2, 3);

/* ---- arguments ---- */

/* The input, NULL when it was left out or never given. */
const tw_array *tw_ref_input(const tw_ref_case *c, int i);
/* The same, but its absence is an error. */
TW_NODISCARD tw_status tw_ref_need(const tw_ref_case *c, int i, const tw_array **out);
/* The same case with results in another arena. */
tw_ref_case tw_ref_in(const tw_ref_case *c, tw_arena *arena);
/* Whether somebody reads output i. */
bool tw_ref_wants(const tw_ref_case *c, int i);

/* A list of integers that is an attribute in old opsets and an input in new ones. */
typedef struct tw_ref_list {
    bool there;
    int64_t n;
    const int64_t *v;
} tw_ref_list;
/* From input `i` if that is given (an integer tensor; i < 0: never), else from the attribute `name`. */
TW_NODISCARD tw_status tw_ref_ints(const tw_ref_case *c, const char *name, int i, tw_ref_list *out);
/* An axis that may count from the end, as 0..n_dims-1; anything else is an error. */
TW_NODISCARD tw_status tw_ref_axis(const tw_ref_case *c, int64_t axis, int n_dims, int *out);
/* The attribute `axis` of *x; without it *x becomes `flat`, the same elements along one axis. */
TW_NODISCARD tw_status tw_ref_axis_or_flat(const tw_ref_case *c, const tw_array **x, tw_array *flat, int *axis);

/* ---- shapes and walks ---- */

/* Product of dims[from..to); the dims of an existing array, so it cannot overflow. */
int64_t tw_ref_extent(const tw_array *a, int from, int to);
bool tw_ref_same_shape(const tw_array *a, const tw_array *b);
/* The output's elements, or a message when there are too many or a dim is negative. data is never NULL, n may be
 * 0. */
TW_NODISCARD tw_status tw_ref_make(const tw_ref_case *c, tw_onnx_type type, int n_dims, const int64_t *dim,
                                   tw_array *out);
/* Refuses (TW_INFEASIBLE) what would take more than TW_REFER_MAX_WORK steps: a * b * d, none negative. */
#define TW_ref_MAX_WORK (INT64_C(1) << 37)
TW_NODISCARD tw_status tw_ref_work(const tw_ref_case *c, int64_t a, int64_t b, int64_t d);
/* The shape that n arrays (none NULL) are broadcast to, numpy's way. */
TW_NODISCARD tw_status tw_ref_broadcast(const tw_ref_case *c, const tw_array *const *a, int n, int *n_dims,
                                        int64_t dim[TW_ONNX_MAX_DIMS]);

/* Visits the positions of a shape in row-major order and tells where each operand has its element:
 *
 *     tw_walk w = tw_walk_of(n_dims, dim);
 *     tw_walk_operand(&w, a);      operand 0, broadcast
 *     tw_walk_operand(&w, b);      operand 1
 *     for (int64_t i = 0; i < w.n; i++, tw_walk_next(&w)) out[i] = a[w.at[0]] + b[w.at[1]]; */
enum { TW_WALK_OPERANDS = 4 };
typedef struct tw_walk {
    int n_dims, n_operands;
    int64_t n; /* positions */
    int64_t dim[TW_ONNX_MAX_DIMS], index[TW_ONNX_MAX_DIMS];
    int64_t stride[TW_WALK_OPERANDS][TW_ONNX_MAX_DIMS];
    int64_t at[TW_WALK_OPERANDS];
} tw_walk;
tw_walk tw_walk_of(int n_dims, const int64_t *dim);
/* An operand that broadcasts to the shape. */
void tw_walk_operand(tw_walk *w, const tw_array *a);
/* An operand with elements per step of each axis (0: stays), starting at `at`. */
void tw_walk_strides(tw_walk *w, const int64_t *stride, int64_t at);
void tw_walk_next(tw_walk *w);

/* ---- elements in bulk ---- */

bool tw_onnx_is_float(tw_onnx_type type);  /* f16, bf16, f32, f64       */
bool tw_onnx_is_whole(tw_onnx_type type);  /* integers and bool         */
bool tw_onnx_is_number(tw_onnx_type type); /* one of the two            */
/* As tw_array_reals and tw_array_put_reals; u64 keeps its bits in int64_t. */
int64_t *tw_array_wholes(const tw_array *a, tw_arena *arena);
void tw_array_put_wholes(tw_array *out, const int64_t *v);
/* Wraps or rounds one value to what the type can hold, as storing and loading it would. */
double tw_onnx_rounded(tw_onnx_type type, double x);

/* ---- one operator alone in its file ---- */
tw_status tw_ref_einsum(const tw_ref_case *c, tw_array *output);

/* ---- functions of one number, by the name of their operator ---- */

/* alpha and beta are what the operator calls so, or its two parameters in the order of the standard. */
typedef struct tw_activation {
    const char *op;
    const char *alpha_name, *beta_name; /* attributes, NULL: none */
    double alpha, beta;                 /* defaults               */
    double (*of)(double x, double alpha, double beta);
} tw_activation;
/* NULL when there is none; case does not matter, for recurrent cells. */
const tw_activation *tw_activation_find(const char *op);
#endif
