/* cli/target.c - see target.h.
 *
 * The links are followed by hand, one at a time, because those below /proc/PID/fd only look like links: the kernel
 * knows the open file, and the name in it may be gone, or somebody else's by now. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as many as the kernel follows */

/* The folder that the last part of the path lies in; NULL with errno. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- links to open files ---- */

/* Where the link lies, all links of the folder followed; false with errno. */
static bool real_folder(const char *path, char real[PATH_MAX])
{
    char *folder = folder_of(path);
    bool found = folder && realpath(folder, real);
    free(folder);
    return found;
}

/* The number of our own descriptor that a name in /proc/PID/fd stands for; -1: none of ours. */
static int own_descriptor(const char *folder, const char *name)
{
    char own[64], own_thread[96], *end;
    snprintf(own, sizeof own, "/proc/%d/fd", (int)getpid());
    snprintf(own_thread, sizeof own_thread, "/proc/%d/task/%d/fd", (int)getpid(), (int)gettid());
    if (strcmp(folder, own) != 0 && strcmp(folder, own_thread) != 0) return -1;
    long number = strtol(name, &end, 10);
    return *end || number > INT_MAX ? -1 : (int)number;
}

typedef enum step { FAILED, ARRIVED, FOLLOWED } step;

static step arrive(target *t, int descriptor)
{
    t->descriptor = descriptor;
    return descriptor < 0 ? FAILED : ARRIVED;
}

/* ---- the walk ---- */

/* Goes over one link. */
static step follow(target *t)
{
    char folder[PATH_MAX], to[PATH_MAX], *next;
    if (!real_folder(t->path, folder)) return FAILED;
    int own = own_descriptor(folder, name_of(t->path));
    if (own >= 0) return arrive(t, fcntl(own, F_DUPFD_CLOEXEC, 0));
    if (strncmp(folder, "/proc/", strlen("/proc/")) == 0)
        return arrive(t, open(t->path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_TRUNC));
    ssize_t n = readlink(t->path, to, sizeof to - 1);
    if (n < 0) return FAILED;
    to[n] = 0;
    if (asprintf(&next, "%s%s%s", *to == '/' ? "" : folder, *to == '/' ? "" : "/", to) < 0) return FAILED;
    free(t->path);
    t->path = next;
    return FOLLOWED;
}

/* At the end of the links there is something. */
static step meet(target *t)
{
    t->exists = S_ISREG(t->stat.st_mode);
    if (t->exists) return faccessat(AT_FDCWD, t->path, W_OK, AT_EACCESS) == 0 ? ARRIVED : FAILED;
    if (S_ISDIR(t->stat.st_mode)) errno = EISDIR;
    return S_ISDIR(t->stat.st_mode) ? FAILED : arrive(t, open(t->path, O_WRONLY | O_NOCTTY | O_CLOEXEC));
}

static step advance(target *t)
{
    if (*name_of(t->path) == 0) { /* "folder/" */
        errno = *t->path ? EISDIR : ENOENT;
        return FAILED;
    }
    if (lstat(t->path, &t->stat) != 0)
        return errno == ENOENT ? ARRIVED : FAILED; /* the folder may be missing too */
    return S_ISLNK(t->stat.st_mode) ? follow(t) : meet(t);
}

bool target_find(target *t, const char *path)
{
    *t = (target){.path = strdup(path), .descriptor = -1};
    step last = t->path ? FOLLOWED : FAILED;
    for (int i = 0; i < LINKS_MAX && last == FOLLOWED; i++) last = advance(t);
    if (last == ARRIVED) return true;
    if (last == FOLLOWED) errno = ELOOP;
    target_release(t);
    return false;
}

void target_release(target *t)
{
    int error = errno;
    free(t->path);
    *t = (target){.descriptor = -1};
    errno = error;
}
