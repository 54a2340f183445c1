/* src/onnx/source.c - see source.h. */
#include "onnx/source.h"
#include "core/utf8.h"

#include <stdio.h>
#include <string.h>

int64_t tw_source_offset(const tw_source *source, const uint8_t *at) { return at - source->bytes.at; }

tw_status tw_source_error(const tw_source *source, const char *fmt, ...)
{
    char body[512];
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(body, sizeof body, fmt, args);
    va_end(args);
    tw_loc loc = {source->path, 0, 0};
    const tw_onnx_node *node = source->node;
    if (!node) return tw_diag_error(source->diag, loc, "%s", body);
    return tw_diag_error(source->diag, loc, "node '%.*s' (%.*s) at byte %" PRId64 ": %s", TW_FIRST(200, node->name),
                         TW_FIRST(100, node->op), node->offset, body);
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

/* Whether the text already has what a visible form would write out. */
static bool looks_escaped(const char *text, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (text[i] == '\\' && strchr("xuU\\", text[i + 1])) return true;
    return false;
}

const char *tw_source_name(tw_bytes bytes, tw_arena *arena)
{
    const char *raw = tw_arena_strndup(arena, (const char *)bytes.at, bytes.n);
    if (!raw) return NULL;
    bool plain = tw_utf8_visible_span(raw, bytes.n) == bytes.n && !memchr(raw, '\t', bytes.n);
    if (plain && !looks_escaped(raw, bytes.n)) return raw;
    tw_text text = {0};
    char form[TW_VISIBLE_MAX];
    for (size_t at = 0; at < bytes.n;) { /* a zero among the bytes is a control character like others */
        at += (size_t)tw_visible_next(raw + at, form);
        tw_text_add(&text, form, strlen(form));
        if (strcmp(form, "\\") == 0) tw_text_add(&text, form, 1);
    }
    const char *name = text.failed ? NULL : tw_arena_strndup(arena, text.bytes, text.len);
    tw_text_release(&text);
    return name;
}
