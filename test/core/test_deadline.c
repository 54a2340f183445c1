#include "core/deadline.h"

#include "tw_test.h"

#include <math.h>

TEST(no_deadline_never_ends)
{
    tw_deadline never;
    tw_deadline_init(&never, 0, NULL);
    CHECK(!tw_deadline_is_over(NULL));
    CHECK(!tw_deadline_is_over(&never));
    CHECK(isinf(tw_deadline_left(NULL)) && isinf(tw_deadline_left(&never)));
    CHECK(tw_deadline_seconds(&never, 0) == 0);
    CHECK(tw_deadline_seconds(&never, 3) == 3);
}

TEST(a_deadline_within_another_ends_with_it)
{
    tw_deadline outer, inner;
    tw_deadline_init(&outer, 1000, NULL);
    tw_deadline_init(&inner, 0, &outer);
    CHECK(!tw_deadline_is_over(&inner));
    CHECK(tw_deadline_left(&inner) <= 1000 && tw_deadline_left(&inner) > 500);
    atomic_store(&outer.interrupted, true);
    CHECK_EQ(tw_deadline_ending(&inner), TW_END_STOPPED);
    CHECK(tw_deadline_left(&inner) == 0);
    tw_deadline_init(&outer, 1e-9, NULL);
    while (tw_deadline_now() <= atomic_load(&outer.end_ns)) continue;
    CHECK_EQ(tw_deadline_ending(&inner), TW_END_TIME);
    CHECK(tw_deadline_left(&inner) == 0);
    CHECK(tw_deadline_seconds(&inner, 0) > 0); /* 0 would be no limit at all */
}

TEST(a_short_deadline_ends_before_the_outer_one)
{
    tw_deadline outer, inner;
    tw_deadline_init(&outer, 1000, NULL);
    tw_deadline_init(&inner, 1e-9, &outer);
    while (tw_deadline_now() <= atomic_load(&inner.end_ns)) continue;
    CHECK_EQ(tw_deadline_ending(&inner), TW_END_TIME);
    CHECK(!tw_deadline_is_over(&outer));
}

TEST(a_deadline_that_follows_tells_nobody_before_the_end)
{
    tw_deadline outer, quiet, inner;
    tw_deadline_init(&outer, 1000, NULL);
    tw_deadline_follow(&quiet, &outer);
    tw_deadline_init(&inner, 5000, &quiet);
    CHECK(isinf(tw_deadline_left(&quiet)) && tw_deadline_seconds(&quiet, 0) == 0);
    CHECK(tw_deadline_left(&inner) > 4000); /* a share of its own is told */
    CHECK(!tw_deadline_is_over(&quiet) && !tw_deadline_is_over(&inner));
    tw_deadline_init(&outer, 1e-9, NULL);
    while (tw_deadline_now() <= atomic_load(&outer.end_ns)) continue;
    CHECK_EQ(tw_deadline_ending(&inner), TW_END_TIME);
    CHECK(tw_deadline_left(&quiet) == 0 && tw_deadline_left(&inner) == 0);
    CHECK(tw_deadline_seconds(&quiet, 0) > 0);
}

TEST(a_pulse_looks_now_and_then)
{
    tw_deadline over;
    tw_deadline_init(&over, 0, NULL);
    atomic_store(&over.interrupted, true);
    tw_pulse pulse = {.deadline = &over};
    int64_t n = 0;
    while (!tw_pulse_is_over(&pulse, 1)) n++;
    CHECK(n < 1 << 20);
}

TEST(what_was_stopped_says_by_what)
{
    tw_deadline late, interrupted;
    tw_diag diag = {.deadline = &late};
    tw_deadline_init(&late, 1e-9, NULL);
    tw_deadline_init(&interrupted, 0, NULL);
    atomic_store(&interrupted.interrupted, true);
    while (tw_deadline_now() <= atomic_load(&late.end_ns)) continue;
    CHECK_EQ(tw_diag_stopped(&diag, (tw_loc){0}, "the walk of '%s'", "x"), TW_STOPPED);
    CHECK_STR(diag.last, "stopped: the time limit came before the walk of 'x' ended");
    diag.deadline = &interrupted;
    CHECK_EQ(tw_diag_stopped(&diag, (tw_loc){"a", 1, 2}, "it"), TW_STOPPED);
    CHECK_STR(diag.last, "a:1:2: stopped: it was interrupted before it ended");
    tw_diag_release(&diag);
    CHECK(diag.deadline == &interrupted);
}
