/* src/report/trace/counters.h - counters whose changes come out of order.
 *
 * A walk in the order of the program tells of a load long before the execution that runs beside it, so changes of one
 * counter come with times that go back and forth. They wait here, sorted, until nothing that is still to come can be
 * earlier; then they are shown, one value per nanosecond at most and only those that differ from the value before.
 *
 *     told     +4 @10   +4 @20   -4 @15         nothing before 20 is to come
 *     shown    4 @10    0 @15                   +4 @20 waits: another change may come at 20 */
#ifndef TW_REPORT_TRACE_COUNTERS_H
#define TW_REPORT_TRACE_COUNTERS_H
#include "core/core.h"

/* Cycles as nanoseconds, rounded down, so that times keep their order. `mhz` 0: a cycle is a nanosecond. The caller has
 * seen to it that the result fits. */
static inline int64_t tw_cycles_ns(int64_t cycles, int64_t mhz)
{
    return mhz > 0 ? cycles / mhz * 1000 + cycles % mhz * 1000 / mhz : cycles;
}

typedef struct tw_change {
    int64_t cycle, delta;
} tw_change;

typedef struct tw_counter {
    int64_t first, n, room; /* changes that wait: change[first .. first + n), by cycle */
    tw_change *change;
    int64_t value, shown;
    bool begun; /* a value was shown */
} tw_counter;

typedef struct tw_counters {
    int64_t n, room;
    tw_counter *counter;
    int64_t mhz;
    tw_arena *arena; /* nobody may rewind it */
    tw_status (*show)(void *user, int counter, int64_t ns, int64_t value);
    void *user;
} tw_counters;

/* Its number, from 0 on. */
TW_NODISCARD tw_status tw_counters_new(tw_counters *c, int *counter);
/* Whether the next change of this counter finds no room, so that it pays to settle first. */
bool tw_counters_full(const tw_counters *c, int counter);
TW_NODISCARD tw_status tw_counters_add(tw_counters *c, int counter, int64_t cycle, int64_t delta);
/* Of all counters: nothing before cycle `until` is still to come. INT64_MAX: nothing at all. */
TW_NODISCARD tw_status tw_counters_settle(tw_counters *c, int64_t until);
#endif
