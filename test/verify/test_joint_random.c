/* Random groups, written by the naive writer: the judge accepts every program, and finds what is changed in one. */
#include "joint_cases.h"

#include <stdio.h>

static const char *judge(naive *v, tw_arena *arena, int64_t *elements)
{
    const char *fault = NULL, *who = NULL;
    tw_joint_judge *j = tw_joint_judge_new(&v->in, arena);
    CHECK(j != NULL);
    tw_row_sink sink = tw_joint_judge_sink(j);
    for (int i = 0; i < v->n; i++) CHECK_EQ(sink.begin(sink.user, &v->row[i]), TW_OK);
    CHECK_EQ(tw_joint_judge_finish(j, &fault, &who, elements), TW_OK);
    return fault;
}

enum { CASES = 2000 };

TEST(programs_of_the_naive_writer_are_right)
{
    static naive v;
    uint64_t seed = tw_test_seed();
    int wrong = 0;
    for (int i = 0; i < CASES; i++) {
        tw_arena *arena = tw_arena_new();
        int64_t elements = 0;
        case_make(&v, seed + (uint64_t)i);
        const char *fault = judge(&v, arena, &elements);
        if (fault) printf("case %" PRIu64 ": %s\n", seed + (uint64_t)i, fault);
        wrong += fault != NULL || elements == 0;
        tw_arena_free(arena);
    }
    CHECK_EQ(wrong, 0);
}
