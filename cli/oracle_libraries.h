/* cli/oracle_libraries.h - OpenBLAS and oneDNN, loaded when a verification first asks for them.
 *
 * OpenBLAS allocates work space for every core as soon as it is mapped, and without end where it gets none: a command that
 * verifies nothing must not have it in its address space. Each library is loaded once, by whichever thread asks first, and is
 * never unloaded. */
#ifndef TW_CLI_ORACLE_LIBRARIES_H
#define TW_CLI_ORACLE_LIBRARIES_H
#include <cblas.h>
#include <dnnl.h>
#include <stdbool.h>

/* clang-format off */
#define ORACLE_DNNL_FUNCTIONS(X) \
    X(dilated_convolution_forward_desc_init) X(dilated_deconvolution_forward_desc_init) X(engine_create) \
    X(engine_destroy) X(memory_create) X(memory_desc_init_by_tag) X(memory_destroy) \
    X(pooling_v2_forward_desc_init) X(primitive_create) X(primitive_desc_create) \
    X(primitive_desc_destroy) X(primitive_destroy) X(primitive_execute) X(stream_create) \
    X(stream_destroy) X(stream_wait)
/* clang-format on */

typedef struct oracle_blas {
    __typeof__(cblas_dgemm) *dgemm;
    __typeof__(openblas_set_num_threads) *set_num_threads;
} oracle_blas;

typedef struct oracle_dnnl {
#define X(name) __typeof__(dnnl_##name) *name;
    ORACLE_DNNL_FUNCTIONS(X)
#undef X
} oracle_dnnl;

/* Whether a library was not loaded because the process may not take the memory with which it starts. */
bool oracle_had_no_room(void);
/* NULL where the library is not installed, lacks a function, or would not find the memory that it takes. */
const oracle_blas *oracle_blas_load(void);
const oracle_dnnl *oracle_dnnl_load(void);
#endif
