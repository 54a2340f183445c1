/* src/core/file.c - files read whole and replaced whole. */
#include "core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tw_status read_stream(FILE *f, const char *path, size_t limit, tw_arena *arena, tw_diag *diag,
                             const char **bytes, size_t *n)
{
    tw_text t = {0};
    char block[8192];
    size_t got;
    while ((got = fread(block, 1, sizeof block, f)) > 0 && t.len <= limit) tw_text_add(&t, block, got);
    tw_status status = TW_OK;
    char *copy = NULL;
    if (ferror(f)) {
        status = tw_diag_io(diag, (tw_loc){path, 0, 0}, "cannot read: %s", strerror(errno));
    } else if (t.len > limit) {
        status = tw_diag_error(diag, (tw_loc){path, 0, 0}, "file is larger than %zu bytes", limit);
    } else if (t.failed || !(copy = tw_arena_strndup(arena, t.len ? t.bytes : "", t.len))) {
        status = TW_ERR_NOMEM;
    } else {
        *bytes = copy;
        *n = t.len;
    }
    tw_text_release(&t);
    return status;
}

tw_status tw_file_read(const char *path, size_t limit, tw_arena *arena, tw_diag *diag, const char **bytes,
                       size_t *n)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return tw_diag_io(diag, (tw_loc){path, 0, 0}, "cannot read: it is a directory");
    FILE *f = fopen(path, "rb");
    if (!f) return tw_diag_io(diag, (tw_loc){path, 0, 0}, "cannot open: %s", strerror(errno));
    tw_status status = read_stream(f, path, limit, arena, diag, bytes, n);
    fclose(f);
    return status;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        n -= (size_t)done;
    }
    return fsync(fd) == 0;
}

tw_status tw_file_write(const char *path, const char *bytes, size_t n, tw_diag *diag)
{
    tw_text temporary = {0};
    tw_text_printf(&temporary, "%s.XXXXXX", path);
    if (temporary.failed) {
        tw_text_release(&temporary);
        return TW_ERR_NOMEM;
    }
    int fd = mkstemp(temporary.bytes);
    bool done = fd >= 0 && write_all(fd, bytes, n) && fchmod(fd, 0644) == 0;
    if (fd >= 0 && close(fd) != 0) done = false;
    if (done && rename(temporary.bytes, path) != 0) done = false;
    tw_status status = TW_OK;
    if (!done) {
        status = tw_diag_io(diag, (tw_loc){path, 0, 0}, "cannot write: %s", strerror(errno));
        if (fd >= 0) unlink(temporary.bytes);
    }
    tw_text_release(&temporary);
    return status;
}
