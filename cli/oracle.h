/* cli/oracle.h - other people's implementations as references for verification.
 *
 * Products of matrices (any transposition, batched, matrix times vector) go to OpenBLAS; convolutions (grouped,
 * depthwise, strided, dilated, padded unevenly, transposed) and pooling to oneDNN. An operator is recognised by
 * its description, never by its name. */
#ifndef TW_CLI_ORACLE_H
#define TW_CLI_ORACLE_H
#include "tilewright/tilewright.h"

/* Whether the libraries were built in. */
bool tw_oracle_is_present(void);
/* Whether a library that has an answer was not asked, because it would not find the memory with which it starts. */
bool tw_oracle_had_no_room(void);
/* A tw_reference_fn: "OpenBLAS", "oneDNN", or NULL when neither has an answer or they were not built in. */
const char *tw_oracle_reference(void *user, const tw_reference_case *c, double *out);
/* Elements of the output of an operator that one of them would be asked about; 0: none of them. */
int64_t tw_oracle_elems(const tw_reference_case *c);
/* The same behind a fence (fence.h): a library that does not survive is an answer that is missing. That one had no room to start
 * is said on standard error, once. */
const char *tw_oracle_reference_fenced(void *user, const tw_reference_case *c, double *out);
#endif
