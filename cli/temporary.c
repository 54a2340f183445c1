/* cli/temporary.c - see temporary.h.
 *
 * The handler of a signal may run between any two instructions, in any thread: names are in static memory, and one is
 * noted before its file is made. Removing what is not there yet, or no longer, does no harm. */
#include "temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LIVE_MAX = 80, TRIES = 100, NAME_BYTES = 200, TAG_LETTERS = 6 };
static const char mark[] = ".tilewright-";
static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

struct temporary {
    atomic_bool live;
    char path[PATH_MAX];
};
static temporary all[LIVE_MAX];

/* ---- signals ---- */

void temporary_remove_all(void)
{
    int error = errno;
    for (int i = 0; i < LIVE_MAX; i++)
        if (all[i].live) unlink(all[i].path);
    errno = error;
}

static void end_by(int signal)
{
    temporary_remove_all();
    raise(signal); /* as if there were no handler: see SA_RESETHAND */
}

/* Whoever ignores a signal (nohup), or does something else about it, is left in peace. */
void temporary_watch(int signal)
{
    struct sigaction now, ours = {.sa_handler = end_by, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&ours.sa_mask);
    if (sigaction(signal, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) return;
    sigaction(signal, &ours, NULL);
}

static void watch_all(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) temporary_watch(signals[i]);
}

/* ---- what dead runs left ---- */

/* Whether the name is one that this file makes. */
static bool is_ours(const char *name)
{
    size_t n = strlen(name), n_tail = sizeof mark - 1 + TAG_LETTERS;
    if (*name != '.' || n <= n_tail) return false;
    const char *tail = name + n - n_tail;
    return memcmp(tail, mark, sizeof mark - 1) == 0 && strspn(tail + sizeof mark - 1, letters) == TAG_LETTERS;
}

/* A lock that can be had is one that nobody holds: its writer is gone. */
static void remove_if_stale(int folder, const char *name)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, name, 0);
    close(fd);
}

/* `at` ends with a slash, or is empty: this folder. What cannot be looked at is left alone. */
static void sweep(const char *at)
{
    int fd = open(*at ? at : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0) close(fd);
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (is_ours(entry->d_name)) remove_if_stale(fd, entry->d_name);
    closedir(folder);
}

/* ---- making one ---- */

static void choose_tag(char tag[TAG_LETTERS + 1])
{
    uint64_t x = 0;
    struct timespec now;
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) != sizeof x) { /* a name that is taken is tried again */
        clock_gettime(CLOCK_MONOTONIC, &now);
        x = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u + (uint64_t)getpid();
    }
    for (int i = 0; i < TAG_LETTERS; i++, x /= sizeof letters - 1) tag[i] = letters[x % (sizeof letters - 1)];
    tag[TAG_LETTERS] = 0;
}

/* Opens a new file of this name, locked; -1 with EEXIST when somebody else was quicker. */
static int create(const char *path)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    bool taken =
        flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; /* by somebody who sweeps, and removes it */
    if (!taken && fstat(fd, &st) == 0 && st.st_nlink > 0) return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

static temporary *free_slot(void)
{
    for (int i = 0; i < LIVE_MAX; i++)
        if (!all[i].live) return &all[i];
    errno = EMFILE;
    return NULL;
}

/* The folder of a path, with its slash; false with errno. */
static bool take_folder(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    errno = ENAMETOOLONG;
    if (n >= PATH_MAX) return false;
    memcpy(folder, path, n);
    folder[n] = 0;
    return true;
}

temporary *temporary_make(const char *path, int *descriptor)
{
    char folder[PATH_MAX], tag[TAG_LETTERS + 1];
    temporary *t = free_slot();
    if (!t || !take_folder(path, folder)) return NULL;
    sweep(folder);
    watch_all();
    *descriptor = -1;
    errno = EEXIST;
    for (int i = 0; i < TRIES && *descriptor < 0 && errno == EEXIST; i++) {
        choose_tag(tag);
        int n =
            snprintf(t->path, sizeof t->path, "%s.%.*s%s%s", folder, NAME_BYTES, path + strlen(folder), mark, tag);
        if (n < 0 || (size_t)n >= sizeof t->path) {
            errno = ENAMETOOLONG;
            return NULL;
        }
        t->live = true;
        *descriptor = create(t->path);
        t->live = *descriptor >= 0;
    }
    return *descriptor < 0 ? NULL : t;
}

int temporary_rename(temporary *t, const char *path)
{
    if (rename(t->path, path) != 0) return -1;
    t->live = false;
    return 0;
}

void temporary_remove(temporary *t)
{
    int error = errno;
    unlink(t->path);
    t->live = false;
    errno = error;
}
