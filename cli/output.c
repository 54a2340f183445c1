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
    return first_error == 0 ? (ssize_t)n : 0; /* marks the stream, so that writers stop; output_close reports */
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

/* mkstemp makes files that only their owner can read; a report is an ordinary file. */
static bool open_to_all(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
}

static void forget(output_file *file)
{
    int error = errno;
    free(file->path);
    free(file->temporary);
    *file = (output_file){0};
    errno = error;
}

bool output_file_open(output_file *file, const char *folder, const char *name)
{
    *file = (output_file){0};
    int fd = -1;
    if (asprintf(&file->path, "%s/%s", folder, name) < 0) file->path = NULL;
    if (asprintf(&file->temporary, "%s/.%s.XXXXXX", folder, name) < 0) file->temporary = NULL;
    if (file->path && file->temporary) fd = mkstemp(file->temporary);
    if (fd >= 0) file->stream = fdopen(fd, "w");
    if (file->stream) return true;
    if (fd >= 0) {
        close(fd);
        unlink(file->temporary);
    }
    forget(file);
    return false;
}

void output_file_drop(output_file *file)
{
    int error = errno;
    if (file->stream) fclose(file->stream);
    unlink(file->temporary);
    errno = error;
    forget(file);
}

bool output_path_open(output_file *file, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (*name == 0) {
        errno = EINVAL;
        return false;
    }
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    bool open = folder && output_file_open(file, folder, name);
    free(folder);
    return open;
}

void output_complain(const char *path)
{
    fprintf(stderr, "tilewright: cannot write '%s': %s\n", path, strerror(errno));
}

bool output_file_commit(output_file *file)
{
    int fd = fileno(file->stream);
    bool done = fflush(file->stream) == 0 && !ferror(file->stream) && fsync(fd) == 0 && open_to_all(fd);
    int error = errno;
    if (fclose(file->stream) != 0 && done) {
        done = false;
        error = errno;
    }
    file->stream = NULL;
    errno = error;
    if (done && rename(file->temporary, file->path) == 0) {
        forget(file);
        return true;
    }
    output_file_drop(file);
    return false;
}

void output_say_wrote(const char *folder, const char *const *name, int n, int columns, FILE *out)
{
    int at = fprintf(out, "wrote %s/%s", folder, name[0]);
    for (int i = 1; i < n; i++) {
        const char *link = i < n - 1 ? ", " : " and ";
        bool breaks = at + (int)(strlen(link) + strlen(name[i])) + 1 > columns; /* 1: a comma may follow */
        if (breaks) {
            fputs(i < n - 1 ? ",\n" : " and\n", out);
            at = fprintf(out, "  %s", name[i]);
        } else {
            at += fprintf(out, "%s%s", link, name[i]);
        }
    }
    fputc('\n', out);
}
