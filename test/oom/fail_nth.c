/* test/oom/fail_nth.c - a library to preload: the n-th allocation of the process fails, all others succeed.
 *
 *     TW_FAIL_AT=N       which one, from 1; 0 or unset: none
 *     TW_FAIL_COUNT=FILE at the end of the process its number of allocations is written there
 *     TW_FAIL_TRACE=1    says on standard error where the failing one was asked for (addr2line reads it)
 *
 * The C library's own allocations count too: getline, fopen and setlocale allocate like everybody else. A child that is
 * forked counts with its parent: the counter is in memory that both share. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static atomic_long early, *n_asked = &early;
static long fails_at;
static int traces;
static pid_t counted;

__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("TW_FAIL_AT"), *trace = getenv("TW_FAIL_TRACE");
    void *frame[1];
    traces = trace && *trace;
    if (traces) backtrace(frame, 1); /* its first call allocates */
    counted = getpid();
    fails_at = at ? atol(at) : 0;
    n_asked = mmap(NULL, sizeof *n_asked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n_asked == MAP_FAILED) _exit(99);
}

__attribute__((destructor)) static void finish(void)
{
    const char *file = getenv("TW_FAIL_COUNT");
    char text[32];
    int fd = file && getpid() == counted ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd < 0) return;
    int n = snprintf(text, sizeof text, "%ld\n", (long)*n_asked);
    if (write(fd, text, (size_t)n) != n) _exit(99);
    close(fd);
}

static int fails(void)
{
    if (atomic_fetch_add(n_asked, 1) + 1 != fails_at || fails_at == 0) return 0;
    if (traces) {
        void *frame[40];
        traces = 0;
        backtrace_symbols_fd(frame, backtrace(frame, 40), STDERR_FILENO);
    }
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t n) { return fails() ? NULL : __libc_realloc(old, n); }
void *memalign(size_t align, size_t n) { return fails() ? NULL : __libc_memalign(align, n); }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
int posix_memalign(void **out, size_t align, size_t n)
{
    if (fails()) return ENOMEM;
    *out = __libc_memalign(align, n);
    return *out ? 0 : ENOMEM;
}
