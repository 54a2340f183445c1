/* src/core/file.c - files read whole. */
#include "core/core.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Until its end, whatever its length turns out to be. */
static tw_status read_stream(FILE *f, const char *path, size_t limit, tw_diag *diag, tw_text *out)
{
    char block[8192];
    size_t got;
    while ((got = fread(block, 1, sizeof block, f)) > 0 && out->len <= limit) tw_text_add(out, block, got);
    if (ferror(f)) return tw_diag_io(diag, (tw_loc){path, 0, 0}, "cannot read: %s", strerror(errno));
    if (out->len > limit) return tw_diag_error(diag, (tw_loc){path, 0, 0}, "file is larger than %zu bytes", limit);
    return out->failed ? TW_ERR_NOMEM : TW_OK;
}

/* A regular file of n bytes, without a copy; false when it is not that any more. */
static bool read_known(FILE *f, size_t n, tw_arena *arena, const char **bytes)
{
    char *room = tw_arena_alloc(arena, n + 1, 1);
    if (!room || fread(room, 1, n, f) != n || fgetc(f) != EOF) {
        rewind(f);
        return false;
    }
    *bytes = room;
    return true;
}

tw_status tw_file_read(const char *path, size_t limit, tw_arena *arena, tw_diag *diag, const char **bytes,
                       size_t *n)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return tw_diag_io(diag, (tw_loc){path, 0, 0}, "cannot read: it is a directory");
    FILE *f = fopen(path, "rb");
    if (!f && errno == ENOMEM) return TW_ERR_NOMEM;
    if (!f) return tw_diag_io(diag, (tw_loc){path, 0, 0}, "cannot open: %s", strerror(errno));
    tw_arena_mark mark = tw_arena_save(arena);
    bool regular = fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    tw_status status = TW_OK;
    if (regular && (size_t)st.st_size <= limit && read_known(f, (size_t)st.st_size, arena, bytes)) {
        *n = (size_t)st.st_size;
    } else {
        tw_text text = {0};
        char *copy = NULL;
        tw_arena_rewind(arena, mark);
        status = read_stream(f, path, limit, diag, &text);
        if (status == TW_OK && !(copy = tw_arena_strndup(arena, text.len ? text.bytes : "", text.len)))
            status = TW_ERR_NOMEM;
        if (status == TW_OK) *bytes = copy, *n = text.len;
        tw_text_release(&text);
    }
    fclose(f);
    return status;
}

const char *tw_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
