/* test/lib/tw_test.h - tests as sentences, on top of cmocka.
 *
 *     #include "tw_test.h"
 *     TEST(a_kernel_wider_than_its_input_is_refused) { CHECK_EQ(1 + 1, 2); }
 *
 * A file's tests register themselves; tw_test_main.c runs them. Property tests take their seed from
 * tw_test_seed(), which honours the environment variable TW_SEED and prints the seed it uses. TW_TEST='*pattern*' runs
 * only those whose names match. */
#ifndef TW_TEST_H
#define TW_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h> /* needs all of the above */

#include "core/core.h"

typedef struct tw_test_case {
    const char *name;
    void (*run)(void **state);
    struct tw_test_case *next;
} tw_test_case;
void tw_test_register(tw_test_case *test);
uint64_t tw_test_seed(void);
/* Of n random cases those that are run: TW_ROUNDS per cent. Not given, half of them, and a tenth when every memory access is watched; `make rounds` runs all. */
int tw_test_rounds(int n);
/* Of a list of n, or of work that is allowed: all of it, and a tenth when every memory access is watched. */
int tw_test_part(int n);
/* Called first by a test that is one long search: it is left out when every memory access is watched, where shorter searches pass the same code. */
void tw_test_is_long(void);
/* Uniform in lo..hi, both included. */
int64_t tw_test_pick(uint64_t *state, int64_t lo, int64_t hi);
/* The folder of another team's data beside the project, or NULL: skip the test then. */
const char *tw_test_shared(void);

#define TEST(name_)                                                    \
    static void name_(void **state);                                   \
    __attribute__((constructor)) static void tw_register_##name_(void) \
    {                                                                  \
        static tw_test_case test = {#name_, name_, NULL};              \
        tw_test_register(&test);                                       \
    }                                                                  \
    static void name_(void **state __attribute__((unused)))

void tw_test_check_eq(int64_t a, int64_t b, const char *expr, const char *file, int line);
void tw_test_check_str(const char *a, const char *b, const char *file, int line);
#define CHECK_EQ(a, b)  tw_test_check_eq((int64_t)(a), (int64_t)(b), #a " == " #b, __FILE__, __LINE__)
#define CHECK(cond)     tw_test_check_eq((cond) ? 1 : 0, 1, #cond, __FILE__, __LINE__)
#define CHECK_STR(a, b) tw_test_check_str((a), (b), __FILE__, __LINE__)
#endif
