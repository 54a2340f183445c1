/* src/reference/reference.h - ONNX operators on numbers, as the standard words them.
 *
 * An evaluator of single nodes, slow and obvious. It serves three: shape inference (constants that shapes are computed
 * from), operators that are not planned as tiled programs, and verification, where it is the reference that
 * tiled programs are held against. It knows nothing of loop nests, tiles or machines, and shares no line with lower/.
 *
 * Arithmetic: floats of any width are added up in double and rounded once to the element's type; integers wrap around as in
 * two's complement. */
#ifndef TW_REFERENCE_REF_H
#define TW_REFERENCE_REF_H
#include "onnx/graph.h"

typedef struct tw_array { /* a tensor with its elements                                        */
    tw_onnx_type type;
    int n_dims;
    int64_t dim[TW_ONNX_MAX_DIMS];
    int64_t n;        /* elements, 0 is possible                                               */
    const void *data; /* dense, row-major, the host's types: float, int8_t, uint8_t for bool,
                         uint16_t for f16 and bf16, const char * for strings; NULL: not there  */
} tw_array;

/* Elements allocated in the arena, zeroed. TW_ERR_NOMEM. `*out` has its data written through (void *)out->data. */
TW_NODISCARD tw_status tw_array_new(tw_onnx_type type, int n_dims, const int64_t *dim, tw_arena *arena,
                                    tw_array *out);
/* The i-th element as a number. */
double tw_array_get(const tw_array *array, int64_t i);
int64_t tw_array_get_int(const tw_array *array, int64_t i);
/* Rounds (floats) or wraps (integers). */
void tw_array_set(tw_array *array, int64_t i, double value);
/* All elements as numbers; NULL when out of memory. */
double *tw_array_reals(const tw_array *array, tw_arena *arena);
/* array->n elements, rounded or wrapped. */
void tw_array_put_reals(tw_array *array, const double *value);
int64_t tw_array_elem_bytes(tw_onnx_type type); /* of an element in memory: a string is a pointer */
float tw_f16_to_float(uint16_t bits);
uint16_t tw_f16_of_float(float x); /* to nearest even */
float tw_bf16_to_float(uint16_t bits);
uint16_t tw_bf16_of_float(float x);

/* Largest number of elements an evaluation may make; hostile shapes end there with a diagnostic. */
#define TW_ref_MAX_ELEMS (INT64_C(1) << 31)

typedef struct tw_ref_case {
    const tw_graph_file *file;
    const tw_onnx_node *node;
    int64_t opset; /* of the node's domain                                        */
    int n_inputs, n_outputs;
    const tw_array *const *input; /* NULL: left out                                */
    bool *wanted;                 /* per output: false: may be left empty          */
    int graph;                    /* the graph that the node is in                 */
    /* Subgraphs (If, Loop, Scan) see the values around them: NULL when there is none. */
    const tw_array *(*outer)(void *user, int value);
    void *user;
    tw_arena *arena; /* outputs are made here                                                */
    tw_diag *diag;
} tw_ref_case;
/* Whether there is an implementation of this operator. */
bool tw_ref_knows(const tw_onnx_node *node);
/* Computes all outputs, in the case's arena. TW_INFEASIBLE: the operator, or this variant of it, has no implementation (one
 * message says which). TW_ERR_INPUT: the node or its inputs contradict the standard. */
TW_NODISCARD tw_status tw_ref_run(const tw_ref_case *c, tw_array *output);
/* The whole of a graph: `value` has one array per value of the file, data NULL where it is not known yet; inputs are
 * set by the caller, constants are read where they are needed, everything else is computed. `keep` false: arrays that
 * no later node reads may be forgotten. Stops at the first node without an implementation. */
TW_NODISCARD tw_status tw_ref_graph(const tw_graph_file *file, int graph, tw_arena *arena, tw_diag *diag,
                                    tw_array *value);

/* Implementations by operator: one table per file, put together in reference.c. */
typedef struct tw_ref_entry {
    const char *op, *domain; /* domain "" or "com.microsoft"; NULL: any */
    tw_status (*run)(const tw_ref_case *c, tw_array *output);
} tw_ref_entry;
#endif
