/* src/report/text/notes.h - lines of text that are made first and placed later: what stands in a box or beside an arrow.
 *
 * A text that is too wide for its place is broken between words and behind `*`, so that formulas can be broken too;
 * what follows is indented. */
#ifndef TW_REPORT_TEXT_NOTES_H
#define TW_REPORT_TEXT_NOTES_H
#include "write/line.h"

typedef struct tw_note {
    const char *text;
    tw_style style;
    struct tw_note *next;
} tw_note;

typedef struct tw_notes {
    int n, width;
    tw_note *first, *last;
    tw_arena *arena;
    bool failed; /* out of memory: lines are missing */
} tw_notes;

void tw_notes_init(tw_notes *notes, int width, tw_arena *arena);
void tw_notes_add(tw_notes *notes, tw_style style, const char *text);
void tw_notes_printf(tw_notes *notes, tw_style style, const char *fmt, ...) TW_PRINTF(3, 4);
#endif
