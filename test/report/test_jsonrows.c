/* test/report/test_jsonrows.c - documents without their rows are the same but for these, and places are found again. */
#include "report/data/jsonrows.h"
#include "tw_test.h"

#include <string.h>

static void check_short(const char *text, const char *expected)
{
    tw_arena *arena = tw_arena_new();
    tw_json_short s;
    CHECK_EQ(tw_json_without_rows(text, strlen(text), arena, &s), TW_OK);
    CHECK_EQ(s.n, strlen(expected));
    if (memcmp(s.text, expected, s.n) != 0) print_error("%.*s\n", (int)s.n, s.text);
    CHECK(memcmp(s.text, expected, s.n) == 0);
    for (size_t at = 0; at < s.n; at++) CHECK_EQ(text[tw_json_long_place(&s, at)], s.text[at]);
    tw_arena_free(arena);
}

TEST(rows_are_left_out_and_nothing_else)
{
    check_short("{\"a\": [1, 2], \"rows\": [{\"x\": \"]\\\"\"}, 3, null , 1e99]}", "{\"a\": [1, 2], \"rows\": []}");
    check_short("{\"ops\":[{\"rows\" : [1],\"b\":\"rows\"},{\"rows\":\n[[2],\n{\"rows\":[3]}]}]}",
                "{\"ops\":[{\"rows\" : [],\"b\":\"rows\"},{\"rows\":\n[]}]}");
    check_short("{\"rows\": [], \"rows_\": [1], \"a\\\"rows\": [1]}",
                "{\"rows\": [], \"rows_\": [1], \"a\\\"rows\": [1]}");
    check_short("[\"rows\", [1]]", "[\"rows\", [1]]");
    check_short("{\"rows\": [123456789012345678901234567890]}", "{\"rows\": []}");
}

TEST(rows_that_are_no_json_stay_for_the_reader_to_find)
{
    static const char *const text[] = {"{\"rows\": [1 2]}",
                                       "{\"rows\": [1,]}",
                                       "{\"rows\": [",
                                       "{\"rows\": [{]}",
                                       "{\"rows\": [\"",
                                       "{\"rows\"",
                                       "\"",
                                       "",
                                       "{\"rows\": [{\"a\":1,\"a\":2}]}"};
    for (size_t k = 0; k < TW_COUNT(text); k++) check_short(text[k], text[k]);
}
