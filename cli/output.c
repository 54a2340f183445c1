/* cli/output.c - see output.h. */
#include "output.h"

#include "visible.h"

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

FILE *output_open(void)
{
    static char held_back[1 << 16];
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = watched_write});
    if (stream) setvbuf(stream, held_back, _IOFBF, sizeof held_back);
    return stream;
}

/* A stream that lost something for want of memory has no error of its own. */
static int error_of(bool lost) { return first_error == EPIPE ? 0 : first_error ? first_error : lost ? ENOMEM : 0; }

int output_flush(FILE *stream)
{
    bool lost = fflush(stream) != 0 || ferror(stream);
    return error_of(lost);
}

bool output_was_left(void) { return first_error == EPIPE; }

int output_close(FILE *stream)
{
    bool lost = ferror(stream);
    lost |= fclose(stream) != 0;
    return error_of(lost);
}

/* ---- files ---- */

/* The folder above: "." of a name alone. */
static void cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == path)
        path[1] = 0;
    else if (slash)
        *slash = 0;
    else
        strcpy(path, ".");
}

bool output_folder_is_possible(const char *path)
{
    char *copy = malloc(strlen(path) + 2);
    struct stat st;
    if (!copy) return false;
    strcpy(copy, *path ? path : ".");
    while (stat(copy, &st) != 0 && errno == ENOENT && strcmp(copy, ".") != 0 && strcmp(copy, "/") != 0)
        cut_last(copy);
    bool possible = stat(copy, &st) == 0;
    if (possible && !S_ISDIR(st.st_mode)) errno = ENOTDIR, possible = false;
    possible = possible && access(copy, W_OK | X_OK) == 0;
    free(copy);
    return possible;
}

bool output_path_is_possible(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0) return access(path, W_OK) == 0;
    char *copy = malloc(strlen(path) + 2);
    if (!copy) return false;
    strcpy(copy, path);
    cut_last(copy);
    bool possible = access(copy, W_OK | X_OK) == 0;
    free(copy);
    return possible;
}

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

/* ---- files that are replaced, and others that are written to ---- */

/* A new file is an ordinary one; one that replaces another has its permissions, and its owner where that is allowed. */
static bool give_mode(int fd, const target *old)
{
    mode_t mask = umask(0);
    umask(mask);
    if (!old->exists) return fchmod(fd, 0666 & ~mask) == 0;
    if (fchown(fd, old->stat.st_uid, old->stat.st_gid) != 0 && fchown(fd, (uid_t)-1, old->stat.st_gid) != 0)
        errno = 0; /* only root gives files away */
    return fchmod(fd, old->stat.st_mode & 0777) == 0;
}

static void forget(output_file *file)
{
    target_release(&file->target);
    *file = (output_file){0};
}

/* What is written directly goes the way of standard output: a reader that went away has what it wanted. */
static ssize_t direct_write(void *cookie, const char *bytes, size_t n)
{
    const int *fd = cookie;
    for (size_t done = 0; done < n;) {
        ssize_t now = write(*fd, bytes + done, n - done);
        if (now > 0) done += (size_t)now;
        if (now < 0 && errno == EPIPE) break;
        if (now < 0 && errno != EINTR) return 0;
    }
    return (ssize_t)n;
}

static int direct_close(void *cookie)
{
    int *fd = cookie, result = close(*fd);
    free(fd);
    return result;
}

static FILE *open_direct(int fd)
{
    int *cookie = malloc(sizeof *cookie);
    FILE *stream = NULL;
    if (cookie) {
        *cookie = fd;
        stream = fopencookie(cookie, "w", (cookie_io_functions_t){.write = direct_write, .close = direct_close});
    }
    if (!stream) {
        close(fd);
        free(cookie);
        errno = ENOMEM;
    }
    return stream;
}

static FILE *open_temporary(output_file *file)
{
    int fd;
    file->made = temporary_make(file->target.path, &fd);
    FILE *stream = file->made ? fdopen(fd, "w") : NULL;
    if (stream || !file->made) return stream;
    temporary_remove(file->made);
    close(fd);
    return NULL;
}

bool output_path_open(output_file *file, const char *path)
{
    *file = (output_file){0};
    if (!target_find(&file->target, path)) return false;
    int fd = file->target.descriptor;
    file->stream = fd >= 0 ? open_direct(fd) : open_temporary(file);
    if (!file->stream) forget(file);
    return file->stream;
}

bool output_file_open(output_file *file, const char *folder, const char *name)
{
    char *path;
    *file = (output_file){0};
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        errno = ENOMEM;
        return false;
    }
    bool open = output_path_open(file, path);
    int error = errno;
    free(path);
    errno = error;
    return open;
}

void output_file_drop(output_file *file)
{
    int error = errno;
    if (file->made) temporary_remove(file->made);
    file->made = NULL;
    if (file->stream) fclose(file->stream);
    errno = error;
    forget(file);
}

/* On disk, with its permissions. What is written to directly is then over. */
static bool complete(output_file *file)
{
    bool done = fflush(file->stream) == 0 && !ferror(file->stream);
    if (!file->made) {
        done = fclose(file->stream) == 0 && done;
        file->stream = NULL;
        return done;
    }
    int fd = fileno(file->stream);
    return done && fsync(fd) == 0 && give_mode(fd, &file->target);
}

/* Under its name. The stream, and with it the lock, ends last. */
static bool appear(output_file *file)
{
    if (file->made && temporary_rename(file->made, file->target.path) != 0) return false;
    file->made = NULL;
    output_file_drop(file);
    return true;
}

bool output_file_commit(output_file *file)
{
    if (complete(file) && appear(file)) return true;
    output_file_drop(file);
    return false;
}

bool output_batch_add(output_batch *batch, output_file *file)
{
    if (batch->n == OUTPUT_BATCH && !output_batch_commit(batch)) return false;
    if (!complete(file)) {
        output_file_drop(file);
        return false;
    }
    batch->file[batch->n++] = *file;
    *file = (output_file){0};
    return true;
}

bool output_batch_commit(output_batch *batch)
{
    for (int i = 0; i < batch->n; i++) {
        if (appear(&batch->file[i])) continue;
        output_complain(batch->file[i].target.path);
        output_batch_drop(batch);
        return false;
    }
    batch->n = 0;
    return true;
}

void output_batch_drop(output_batch *batch)
{
    for (int i = 0; i < batch->n; i++) output_file_drop(&batch->file[i]);
    batch->n = 0;
}

bool output_remove(const char *folder, const char *name)
{
    char *path;
    struct stat st;
    if (asprintf(&path, "%s/%s", folder, name) < 0) return false;
    bool removed = lstat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) && unlink(path) == 0;
    free(path);
    return removed;
}

void output_complain(const char *path)
{
    fprintf(stderr, "tilewright: cannot write '%s': %s\n", path, strerror(errno));
}

void output_say_file(const char *path, FILE *out)
{
    fputs("wrote ", out);
    visible_print(path, out);
    fputc('\n', out);
}

void output_say_wrote(const char *folder, const char *const *name, int n, int columns, FILE *out)
{
    int at = fprintf(out, "wrote ") + visible_print(folder, out) + fprintf(out, "/%s", name[0]);
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
