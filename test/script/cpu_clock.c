/* test/script/cpu_clock.c - a library to preload: the monotonic clock shows the processor time of the process.
 *
 * A command with a time limit then ends after so many seconds of work, however busy the host is, and what it does without
 * looking at the clock shows as time above the limit. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    return (int)syscall(SYS_clock_gettime, id == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : id, now);
}
