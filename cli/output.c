/* cli/output.c - see output.h. */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- standard output ---- */

static int first_error;

static ssize_t watched_write(void *cookie, const char *bytes, size_t n)
{
    (void)cookie;
    for (size_t done = 0; done < n && first_error == 0;) {
        ssize_t now = write(STDOUT_FILENO, bytes + done, n - done);
        if (now < 0 && errno != EINTR) first_error = errno;
        if (now > 0) done += (size_t)now;
    }
    return (ssize_t)n; /* the error is reported once, by output_close */
}

FILE *output_open(void) { return fopencookie(NULL, "w", (cookie_io_functions_t){.write = watched_write}); }

int output_close(FILE *stream)
{
    fclose(stream);
    return first_error == EPIPE ? 0 : first_error;
}

/* ---- files ---- */

bool output_make_folder(const char *path)
{
    char *copy = *path ? strdup(path) : NULL;
    if (!copy) return false;
    bool made = true;
    for (char *at = copy + 1; made; at++) {
        if (*at && *at != '/') continue;
        char end = *at;
        *at = 0;
        struct stat st;
        made = mkdir(copy, 0777) == 0 || (errno == EEXIST && stat(copy, &st) == 0 && S_ISDIR(st.st_mode));
        if (!end) break;
        *at = end;
    }
    free(copy);
    return made;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t now = write(fd, bytes, n);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return false;
        bytes += now;
        n -= (size_t)now;
    }
    return fsync(fd) == 0;
}

/* mkstemp makes files that only their owner can read; a report is an ordinary file. */
static bool open_to_all(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
}

static bool replace(const char *path, char *temporary, const char *bytes, size_t n)
{
    int fd = mkstemp(temporary);
    if (fd < 0) return false;
    bool done = write_all(fd, bytes, n) && open_to_all(fd);
    int error = errno;
    if (close(fd) != 0 && done) {
        done = false;
        error = errno;
    }
    if (done && rename(temporary, path) == 0) return true;
    if (done) error = errno;
    unlink(temporary);
    errno = error;
    return false;
}

bool output_replace(const char *folder, const char *name, const char *bytes, size_t n)
{
    char *path = NULL, *temporary = NULL;
    bool done = asprintf(&path, "%s/%s", folder, name) >= 0 &&
                asprintf(&temporary, "%s/.%s.XXXXXX", folder, name) >= 0 && replace(path, temporary, bytes, n);
    int error = errno;
    free(path);
    free(temporary);
    errno = error;
    return done;
}
