/* src/core/deadline.h - when work shall end: at an instant of the host's monotonic clock, or when somebody interrupts it.
 *
 * A command has one deadline. It goes wherever diagnostics go (tw_diag.deadline), so that every loop that can take long may look
 * at it; what is over stays over. A stage that can hand out something unfinished, as a search can, does so; the others
 * leave with TW_STOPPED, which tw_diag_stopped words. NULL never ends. */
#ifndef TW_CORE_DEADLINE_H
#define TW_CORE_DEADLINE_H
#include "core/core.h"

#include <stdatomic.h>

#define TW_DEADLINE_NEVER INT64_MAX

typedef struct tw_deadline {
    const struct tw_deadline *outer; /* this one is over when the outer one is; NULL: stands alone           */
    _Atomic int64_t end_ns;          /* of CLOCK_MONOTONIC                                                   */
    atomic_bool interrupted;         /* may be set from another thread or a signal handler                   */
    bool quiet;                      /* nobody is told beforehand when the outer one ends                    */
} tw_deadline;

/* Nanoseconds of CLOCK_MONOTONIC, and seconds from an instant to now. */
int64_t tw_deadline_now(void);
double tw_deadline_since(int64_t start_ns);

/* Ends so many seconds from now, 0 or less: never by itself; and with `outer`, which may be NULL. */
void tw_deadline_init(tw_deadline *deadline, double seconds, const tw_deadline *outer);
/* Over when the outer one is, but until then as if it never ended: for work that has to be what it is without a limit, and is thrown
 * away if it is not finished. */
void tw_deadline_follow(tw_deadline *deadline, const tw_deadline *outer);
/* Why it is over: TW_END_TIME or TW_END_STOPPED; TW_END_DONE: it is not. Takes some tens of nanoseconds. */
tw_ending tw_deadline_ending(const tw_deadline *deadline);
/* Seconds until it ends by itself, 0 when it is over; INFINITY: never. */
double tw_deadline_left(const tw_deadline *deadline);
static inline bool tw_deadline_is_over(const tw_deadline *deadline)
{
    return deadline && tw_deadline_ending(deadline) != TW_END_DONE;
}
/* As options give a limit, for work that looks at a clock of its own: seconds, at most `most` of them unless that is 0; above 0
 * where there is a limit, else 0. */
double tw_deadline_seconds(const tw_deadline *deadline, double most);

/* For loops with short bodies: counts pieces of work, of some nanoseconds each, and looks at the clock now and then. A zeroed
 * one, with its deadline, is ready. */
typedef struct tw_pulse {
    const tw_deadline *deadline;
    int64_t left; /* until the next look */
} tw_pulse;
TW_NODISCARD static inline bool tw_pulse_is_over(tw_pulse *pulse, int64_t work)
{
    enum { BETWEEN = 1 << 16 };
    if ((pulse->left -= work) > 0) return false;
    pulse->left = BETWEEN;
    return tw_deadline_is_over(pulse->deadline);
}
#endif
