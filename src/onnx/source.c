/* src/onnx/source.c - see source.h. */
#include "onnx/source.h"

#include <stdio.h>
#include <string.h>

int64_t tw_source_offset(const tw_source *source, const uint8_t *at) { return at - source->bytes.at; }

tw_status tw_source_error(const tw_source *source, const char *fmt, ...)
{
    char body[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(body, sizeof body, fmt, args);
    va_end(args);
    tw_loc loc = {source->path, 0, 0};
    const tw_onnx_node *node = source->node;
    if (!node) return tw_diag_error(source->diag, loc, "%s", body);
    return tw_diag_error(source->diag, loc, "node '%.200s' (%.100s) at byte %" PRId64 ": %s", node->name, node->op,
                         node->offset, body);
}

tw_status tw_source_end(const tw_source *source, const tw_wire *wire, const char *what)
{
    if (!wire->broken) return TW_OK;
    return tw_source_error(source, "%s at byte %" PRId64 ": %s at byte %" PRId64, what,
                           tw_source_offset(source, wire->start), wire->wrong, tw_source_offset(source, wire->at));
}

tw_status tw_source_end_repeated(const tw_source *source, const tw_repeated *repeated, const char *what)
{
    const tw_wire *broken = tw_repeated_broken(repeated);
    return broken ? tw_source_end(source, broken, what) : TW_OK;
}

static bool is_control(uint8_t c) { return c < 32 || c == 127; }

const char *tw_source_name(tw_bytes bytes, tw_arena *arena)
{
    size_t n_control = 0;
    for (size_t i = 0; i < bytes.n; i++) n_control += is_control(bytes.at[i]);
    if (n_control == 0) return tw_arena_strndup(arena, (const char *)bytes.at, bytes.n);
    char *name = tw_arena_alloc(arena, bytes.n + 3 * n_control + 1, 1), *to = name;
    if (!name) return NULL;
    for (size_t i = 0; i < bytes.n; i++)
        if (is_control(bytes.at[i]))
            to += sprintf(to, "\\x%02x", bytes.at[i]);
        else
            *to++ = (char)bytes.at[i];
    return name;
}
