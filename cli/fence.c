/* cli/fence.c - see fence.h. */
#include "fence.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DONE_MARK = 0x5a };

/* Ends as the child, past everything that the parent wants done at its own end. A child that a library ended with exit() leaves no
 * mark in the pipe. */
static void be_child(pid_t parent, int mark, int (*work)(void *user), void *user)
{
    const struct rlimit no_core = {0, 0};
    unsigned char byte = DONE_MARK;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    setrlimit(RLIMIT_CORE, &no_core);
    int code = work(user);
    fflush(stderr);
    while (write(mark, &byte, 1) < 0 && errno == EINTR) continue;
    _exit(code);
}

static int wait_for(pid_t child, int mark, const char *what)
{
    int status;
    unsigned char byte = 0;
    while (read(mark, &byte, 1) < 0 && errno == EINTR) continue;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (byte == DONE_MARK && WIFEXITED(status)) return WEXITSTATUS(status);
    fprintf(stderr, "tilewright: %s failed in a library that it uses (%s); is memory short?\n", what,
            WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended the process");
    return FENCE_BROKEN;
}

int fence_run(const char *what, int (*work)(void *user), void *user)
{
    int mark[2];
    if (pipe(mark) != 0) {
        fprintf(stderr, "tilewright: %s: no pipe: %s\n", what, strerror(errno));
        return FENCE_BROKEN;
    }
    fflush(stderr);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(mark[0]);
        be_child(parent, mark[1], work, user);
    }
    int error = errno, result = FENCE_BROKEN;
    close(mark[1]);
    if (child < 0)
        fprintf(stderr, "tilewright: %s: no process: %s\n", what, strerror(error));
    else
        result = wait_for(child, mark[0], what);
    close(mark[0]);
    return result;
}

/* ---- pictures ---- */

typedef struct picture {
    int (*draw)(void *user, FILE *out);
    void *user;
    int file; /* in memory, shared with the child */
} picture;

static int draw_into_file(void *user)
{
    const picture *p = user;
    FILE *out = fdopen(p->file, "w");
    int code = out ? p->draw(p->user, out) : 0;
    if (out && (code != 0 || fflush(out) == 0)) return code;
    abort(); /* the child has nothing to say that the parent would not */
}

static int draw_once(const picture *how, int *file)
{
    picture p = *how;
    *file = p.file = memfd_create("picture", MFD_CLOEXEC);
    if (*file >= 0) return fence_run("drawing", draw_into_file, &p);
    fprintf(stderr, "tilewright: drawing: no file in memory: %s\n", strerror(errno));
    return FENCE_BROKEN;
}

/* Whether both files hold the same. */
static bool are_equal(int a, int b)
{
    char one[4096], other[sizeof one];
    for (off_t at = 0;;) {
        ssize_t n = pread(a, one, sizeof one, at), m = pread(b, other, sizeof other, at);
        if (n < 0 || n != m || memcmp(one, other, (size_t)n) != 0) return false;
        if (n == 0) return true;
        at += n;
    }
}

static bool copy(int from, FILE *out)
{
    char bytes[4096];
    ssize_t n;
    for (off_t at = 0; (n = pread(from, bytes, sizeof bytes, at)) > 0; at += n) fwrite(bytes, 1, (size_t)n, out);
    return n == 0;
}

int fence_draw(int (*draw)(void *user, FILE *out), void *user, FILE *out)
{
    const picture p = {draw, user, -1};
    int first, second = -1, code = draw_once(&p, &first);
    if (code == 0) code = draw_once(&p, &second);
    if (code == 0 && !(are_equal(first, second) && copy(first, out))) {
        fputs("tilewright: drawing twice gave two pictures; is memory short?\n", stderr);
        code = FENCE_BROKEN;
    }
    if (first >= 0) close(first);
    if (second >= 0) close(second);
    return code;
}
