/* src/infer/infer.h - the shape and type of every value of a network, and the small constants shapes are made of.
 *
 * One pass in the order of the nodes. A node whose inputs are all known small constants is evaluated (reference/); so are
 * Shape, Size and the like of known shapes. Everything else has a rule from its inputs' shapes. Only sizes and types are
 * looked at: elements of large constants are read when a rule needs them (the target of a Reshape), weights never.
 *
 * Dimensions that the file names ("batch") are bound by the caller; those that stay open are an error that names the
 * option that would help. What the file declares is compared with what is inferred: a contradiction is a warning
 * (files are often stale) and the inferred shape counts. */
#ifndef TW_INFER_INFER_H
#define TW_INFER_INFER_H
#include "reference/reference.h"

/* Constants of the file of at most so many elements are always read when they are there, larger ones where a rule needs
 * them. */
#define TW_INFER_SMALL_ELEMS 4096

typedef struct tw_shape_of_value { /* of one value                                                    */
    bool known;                    /* false: depends on data (NonZero), or follows an operator that is not known  */
    bool is_tensor;
    tw_onnx_type type;
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    int64_t n_elems;
    const tw_array *constant; /* its elements, where they are known and few; NULL                     */
} tw_shape_of_value;

typedef struct tw_dim_value {
    const char *name;
    int64_t value;
} tw_dim_value;
typedef struct tw_input_shape {
    const char *name;
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
} tw_input_shape;
typedef struct tw_infer_options {
    int n_dims, n_inputs;
    const tw_dim_value *dim;     /* --dim batch=1 */
    const tw_input_shape *input; /* --input-shape x=1x3x416x416 */
    /* Elements of inputs that are known: shapes may depend on them (NULL data: not). One per value, or NULL. */
    const tw_array *given;
} tw_infer_options;

typedef struct tw_shapes {
    const tw_graph_file *file;
    int n_values;
    const tw_shape_of_value *value; /* one per value of the file */
    int n_stale;              /* values whose declared shape contradicts                                     */
    const char *const *stale; /* "'y': the file says 1x3x?x?, it is 1x4x8x8"                         */
    int n_unknown;            /* values without a shape; those in branches that are not taken do not count   */
} tw_shapes;
/* TW_ERR_INPUT: a node contradicts its inputs (message names node, byte offset and shapes), an input has no shape, an
 * option names what is not there. */
TW_NODISCARD tw_status tw_infer_shapes(const tw_graph_file *file, const tw_infer_options *options, tw_arena *arena,
                                       tw_diag *diag, const tw_shapes **out);
void tw_shapes_print(const tw_shapes *shapes, tw_text *out); /* one line per value: "y float 1x64x112x112" */
#endif
