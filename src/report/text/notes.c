/* src/report/text/notes.c - see notes.h. */
#include "report/text/notes.h"

#include <stdio.h>
#include <string.h>

enum { CONTINUED = 2 }; /* columns that what follows a break is indented by */

void tw_notes_init(tw_notes *notes, int width, tw_arena *arena)
{
    *notes = (tw_notes){.width = (int)tw_max(width, CONTINUED + 1), .arena = arena};
}

static void append(tw_notes *notes, tw_style style, const char *text, int indent, size_t n)
{
    tw_note *note = TW_NEW(notes->arena, tw_note, 1);
    char *copy = tw_arena_printf(notes->arena, "%*s%.*s", indent, "", (int)n, text);
    if (!note || !copy) {
        notes->failed = true;
        return;
    }
    *note = (tw_note){.text = copy, .style = style};
    if (notes->last)
        notes->last->next = note;
    else
        notes->first = note;
    notes->last = note;
    notes->n++;
}

/* Bytes of `text` that fill at most `width` columns and end where it may be broken, or where they must. */
static size_t piece(const char *text, int width)
{
    size_t at = 0, best = 0;
    for (int columns = 0; columns < width; columns++) {
        if (!text[at]) return at;
        if (text[at] == '*') best = at + 1;
        do at++;
        while ((text[at] & 0xc0) == 0x80);
        if (text[at] == ' ') best = at;
    }
    return !text[at] || best == 0 ? at : best;
}

void tw_notes_add(tw_notes *notes, tw_style style, const char *text)
{
    int indent = 0;
    do {
        size_t n = piece(text, notes->width - indent);
        append(notes, style, text, indent, n);
        text += n;
        text += strspn(text, " ");
        indent = CONTINUED;
    } while (*text && !notes->failed);
}

void tw_notes_printf(tw_notes *notes, tw_style style, const char *fmt, ...)
{
    char text[4 * TW_COLUMNS_MAX];
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tw_notes_add(notes, style, text);
}
