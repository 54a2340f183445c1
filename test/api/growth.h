/* test/api/growth.h - three mistakes that tools/check_headers notices; nobody includes it. */
#ifndef TW_TEST_GROWTH_H
#define TW_TEST_GROWTH_H
#include <stddef.h>

typedef struct tw_table {
    int n;
    int of[4]; /* of a fixed size */
} tw_table;
typedef struct tw_unsized_options {
    int n;
} tw_unsized_options;
typedef struct tw_bare_options {
    size_t size; /* without an initialiser */
} tw_bare_options;
#endif
