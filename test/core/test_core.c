/* test/core/test_core.c - arena, text, diagnostics, files, table, integers. */
#include "core/table.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(division_rounds_the_right_way_for_every_sign)
{
    for (int64_t a = -20; a <= 20; a++)
        for (int64_t b = 1; b <= 7; b++) {
            int64_t down = -100, up = 100;
            for (int64_t q = -100; q <= 100; q++) {
                if (q * b <= a) down = q;
                if (q * b >= a && up == 100) up = q;
            }
            CHECK_EQ(tw_fdiv(a, b), down);
            CHECK_EQ(tw_cdiv(a, b), up);
        }
}

TEST(checked_arithmetic_notices_what_does_not_fit)
{
    int64_t x;
    CHECK(!tw_ckd_add(INT64_MAX, 1, &x));
    CHECK(!tw_ckd_mul(INT64_C(1) << 32, INT64_C(1) << 31, &x));
    CHECK(tw_ckd_mul(TW_EXTENT_MAX, TW_EXTENT_MAX, &x));
}

TEST(arena_memory_is_zeroed_aligned_and_comes_back_after_a_rewind)
{
    tw_arena *arena = tw_arena_new();
    char *first = tw_arena_alloc(arena, 1, 3);
    memset(first, 7, 3);
    tw_arena_mark mark = tw_arena_save(arena);
    for (size_t n = 1; n < 100000; n = n * 3 + 1) {
        unsigned char *p = tw_arena_alloc(arena, n, 1);
        CHECK_EQ((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++) CHECK_EQ(p[i], 0);
        memset(p, 0xff, n);
    }
    tw_arena_rewind(arena, mark);
    CHECK_EQ(first[2], 7);
    unsigned char *again = tw_arena_alloc(arena, 64, 1);
    for (size_t i = 0; i < 64; i++) CHECK_EQ(again[i], 0);
    CHECK(tw_arena_alloc(arena, SIZE_MAX / 2, 3) == NULL);
    tw_arena_free(arena);
}

TEST(an_arena_fails_when_told_to)
{
    tw_arena *arena = tw_arena_new();
    tw_arena_fail_at(arena, 3);
    CHECK(tw_arena_alloc(arena, 1, 1) != NULL);
    CHECK(tw_arena_alloc(arena, 1, 1) != NULL);
    CHECK(tw_arena_alloc(arena, 1, 1) == NULL);
    CHECK(tw_arena_alloc(arena, 1, 1) == NULL);
    tw_arena_fail_at(arena, 0);
    CHECK(tw_arena_alloc(arena, 1, 1) != NULL);
    tw_arena_free(arena);
}

TEST(text_grows_and_numbers_are_grouped)
{
    tw_text t = {0};
    for (int i = 0; i < 1000; i++) tw_text_printf(&t, "%d,", i);
    CHECK_EQ(t.len, 10 * 2 + 90 * 3 + 900 * 4);
    CHECK_EQ(strlen(t.bytes), t.len);
    tw_text_release(&t);
    char buf[TW_GROUPED_MAX];
    CHECK_STR(tw_grouped(0, buf), "0");
    CHECK_STR(tw_grouped(999, buf), "999");
    CHECK_STR(tw_grouped(-147456, buf), "-147'456");
    CHECK_STR(tw_grouped(INT64_MIN, buf), "-9'223'372'036'854'775'808");
}

TEST(messages_carry_their_place_and_stop_at_a_limit)
{
    tw_diag diag = {0};
    CHECK_EQ(tw_diag_error(&diag, (tw_loc){"a.yaml", 3, 5}, "'%s' is %d", "x", 7), TW_ERR_INPUT);
    CHECK_STR(diag.last, "a.yaml:3:5: error: 'x' is 7");
    tw_diag_note(&diag, (tw_loc){"a.yaml", 0, 0}, "whole file");
    CHECK_STR(diag.last, "a.yaml: note: whole file");
    CHECK_EQ(tw_diag_infeasible(&diag, (tw_loc){0}, "no"), TW_INFEASIBLE);
    CHECK_STR(diag.last, "infeasible: no");
    for (int i = 0; i < 2 * TW_DIAG_MAX; i++) (void)tw_diag_error(&diag, (tw_loc){0}, "again");
    CHECK_EQ(diag.n_texts, TW_DIAG_MAX);
    CHECK_EQ(diag.n_errors, 1 + 2 * TW_DIAG_MAX);
    tw_diag_release(&diag);
}

TEST(files_are_read_whole_or_refused)
{
    char dir[] = "/tmp/tw_core_XXXXXX", path[64], missing[80];
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(missing, sizeof missing, "%s/no/file", dir);
    tw_arena *arena = tw_arena_new();
    tw_diag diag = {0};
    const char *bytes;
    size_t n;
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("second", f) >= 0 && fclose(f) == 0);
    CHECK_EQ(tw_file_read(path, 100, arena, &diag, &bytes, &n), TW_OK);
    CHECK_STR(bytes, "second");
    CHECK_EQ(tw_file_read(path, 5, arena, &diag, &bytes, &n), TW_ERR_INPUT);
    CHECK_EQ(tw_file_read(dir, 5, arena, &diag, &bytes, &n), TW_ERR_IO);
    CHECK_EQ(tw_file_read(missing, 5, arena, &diag, &bytes, &n), TW_ERR_IO);
    unlink(path);
    CHECK_EQ(rmdir(dir), 0);
    tw_diag_release(&diag);
    tw_arena_free(arena);
}

TEST(a_table_finds_what_was_put_in_and_nothing_else)
{
    tw_arena *arena = tw_arena_new();
    tw_table *table = tw_table_new(sizeof(int64_t), arena);
    bool found;
    for (int64_t i = 0; i < 5000; i++) {
        int64_t key[] = {i % 7, i / 7}, *value = tw_table_entry(table, key, 2, &found);
        CHECK(!found);
        *value = i;
    }
    for (int64_t i = 0; i < 5000; i++) {
        int64_t key[] = {i % 7, i / 7}, *value = tw_table_entry(table, key, 2, &found);
        CHECK(found);
        CHECK_EQ(*value, i);
    }
    int64_t shorter[] = {3};
    (void)tw_table_entry(table, shorter, 1, &found);
    CHECK(!found);
    tw_arena_free(arena);
}

TEST(a_table_finds_texts_of_any_length)
{
    tw_arena *arena = tw_arena_new();
    tw_table *table = tw_table_new(sizeof(int), arena);
    char text[40] = "";
    bool found;
    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n < 39; n++) {
            memset(text, 'a', (size_t)n);
            text[n] = 0;
            int *value = tw_table_text(table, text, &found);
            CHECK_EQ(found, pass == 1);
            if (!found) *value = n;
            CHECK_EQ(*value, n);
        }
    tw_arena_free(arena);
}
