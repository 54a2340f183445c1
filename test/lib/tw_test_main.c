/* test/lib/tw_test_main.c - see tw_test.h. */
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

static tw_test_case *first, **end = &first;
static int n_tests;

void tw_test_register(tw_test_case *test)
{
    *end = test;
    end = &test->next;
    n_tests++;
}

uint64_t tw_test_seed(void)
{
    const char *text = getenv("TW_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : UINT64_C(20261115);
    print_message("seed %" PRIu64 " (set TW_SEED to change it)\n", seed);
    return seed;
}

int64_t tw_test_pick(uint64_t *state, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(tw_random_next(state) % (uint64_t)(hi - lo + 1));
}

const char *tw_test_shared(void) { return getenv("TW_SHARED"); }

void tw_test_check_eq(int64_t a, int64_t b, const char *expr, const char *file, int line)
{
    if (a == b) return;
    print_error("%s:%d: %s: %" PRId64 " against %" PRId64 "\n", file, line, expr, a, b);
    _fail(file, line);
}

void tw_test_check_str(const char *a, const char *b, const char *file, int line)
{
    if (a && b && strcmp(a, b) == 0) return;
    print_error("%s:%d:\n  got      %s\n  expected %s\n", file, line, a ? a : "(null)", b ? b : "(null)");
    _fail(file, line);
}

int main(void)
{
    struct CMUnitTest *list = calloc((size_t)n_tests + 1, sizeof *list);
    if (!list) return 70;
    int n = 0;
    if (getenv("TW_TEST")) cmocka_set_test_filter(getenv("TW_TEST"));
    for (tw_test_case *t = first; t; t = t->next)
        list[n++] = (struct CMUnitTest){t->name, t->run, NULL, NULL, NULL};
    int failed = _cmocka_run_group_tests("tests", list, (size_t)n, NULL, NULL);
    free(list);
    return failed ? 1 : 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INSTRUMENTED 1
#endif
#endif
#ifndef INSTRUMENTED
#define INSTRUMENTED 0
#endif
int tw_test_part(int n) { return INSTRUMENTED ? (n + 9) / 10 : n; }

void tw_test_is_long(void)
{
    if (INSTRUMENTED) skip();
}

int tw_test_rounds(int n)
{
    static const int percent = INSTRUMENTED ? 10 : 50;
    const char *asked = getenv("TW_ROUNDS");
    int64_t of = asked ? strtol(asked, NULL, 10) : percent;
    return (int)((n * of + 99) / 100);
}
