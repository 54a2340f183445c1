/* test/lower/test_resize.c - lines that are rounded down: found where there is one, and only there. */
#include "lower/build.h"
#include "tw_test.h"

/* Every point of the line, by the definition of the axis. */
static void check_line(const int64_t *table, int64_t n, const tw_axis *axis)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t value = axis->term[0].coef * i + axis->offset, at = value / axis->divisor;
        if (at * axis->divisor > value) at--;
        CHECK(axis->floors || axis->divisor == 1);
        CHECK_EQ(at, table[i]);
    }
}

TEST(a_line_that_is_rounded_down_is_found_again)
{
    uint64_t rng = tw_test_seed();
    for (int round = 0; round < 2000; round++) {
        int64_t n = tw_test_pick(&rng, 1, 60), c = tw_test_pick(&rng, 1, 300), a = tw_test_pick(&rng, 0, 900);
        int64_t b = tw_test_pick(&rng, -400, 400), table[60];
        for (int64_t i = 0; i < n; i++) table[i] = tw_fdiv(a * i + b, c);
        tw_axis axis = {0};
        CHECK(tw_fit_line(table, n, &axis));
        check_line(table, n, &axis);
    }
}

/* Oracle: all lines with small numbers. */
static bool some_line(const int64_t *table, int64_t n)
{
    for (int64_t c = 1; c <= 12; c++)
        for (int64_t a = 0; a <= 5 * c; a++)
            for (int64_t b = -c; b <= 2 * c; b++) {
                int64_t i = 0;
                while (i < n && tw_fdiv(a * i + b, c) == table[i]) i++;
                if (i == n) return true;
            }
    return false;
}

TEST(what_is_on_no_line_is_refused)
{
    uint64_t rng = tw_test_seed();
    int lines = 0, others = 0;
    for (int round = 0; round < 300; round++) {
        int64_t table[6] = {tw_test_pick(&rng, -1, 1)};
        for (int i = 1; i < 6; i++) table[i] = table[i - 1] + tw_test_pick(&rng, 0, 3);
        tw_axis axis = {0};
        bool found = tw_fit_line(table, 6, &axis);
        CHECK_EQ(found, some_line(table, 6));
        if (found) check_line(table, 6, &axis);
        lines += found;
        others += !found;
    }
    CHECK(lines > 0 && others > 0);
}
