/* src/core/deadline.c - see deadline.h. */
#include "core/deadline.h"

#include <math.h>
#include <time.h>

int64_t tw_deadline_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double tw_deadline_since(int64_t start_ns) { return 1e-9 * (double)(tw_deadline_now() - start_ns); }

/* More seconds than fit are no limit. */
void tw_deadline_init(tw_deadline *deadline, double seconds, const tw_deadline *outer)
{
    static const double most_seconds = 4e9;
    bool limited = seconds > 0 && seconds < most_seconds;
    deadline->outer = outer;
    deadline->quiet = false;
    atomic_init(&deadline->end_ns, limited ? tw_deadline_now() + (int64_t)(seconds * 1e9) : TW_DEADLINE_NEVER);
    atomic_init(&deadline->interrupted, false);
}

void tw_deadline_follow(tw_deadline *deadline, const tw_deadline *outer)
{
    tw_deadline_init(deadline, 0, outer);
    deadline->quiet = true;
}

tw_ending tw_deadline_ending(const tw_deadline *deadline)
{
    bool limited = false;
    for (const tw_deadline *c = deadline; c; c = c->outer) {
        if (atomic_load_explicit(&c->interrupted, memory_order_relaxed)) return TW_END_STOPPED;
        limited |= atomic_load_explicit(&c->end_ns, memory_order_relaxed) != TW_DEADLINE_NEVER;
    }
    int64_t now = limited ? tw_deadline_now() : 0;
    for (const tw_deadline *c = deadline; c && limited; c = c->outer)
        if (now >= atomic_load_explicit(&c->end_ns, memory_order_relaxed)) return TW_END_TIME;
    return TW_END_DONE;
}

double tw_deadline_left(const tw_deadline *deadline)
{
    int64_t end = TW_DEADLINE_NEVER;
    for (const tw_deadline *c = deadline; c; c = c->quiet ? NULL : c->outer) {
        if (atomic_load_explicit(&c->interrupted, memory_order_relaxed)) return 0;
        if (c->quiet && tw_deadline_is_over(c->outer)) return 0;
        end = tw_min(end, atomic_load_explicit(&c->end_ns, memory_order_relaxed));
    }
    if (end == TW_DEADLINE_NEVER) return INFINITY;
    return 1e-9 * (double)tw_max(0, end - tw_deadline_now());
}

double tw_deadline_seconds(const tw_deadline *deadline, double most)
{
    static const double least = 1e-3;
    double left = fmin(tw_deadline_left(deadline), most > 0 ? most : INFINITY);
    return isinf(left) ? 0 : fmax(left, least);
}
