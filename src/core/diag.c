/* src/core/diag.c - messages with their place, in the order in which they were found. What they quote is shown in its
 * visible form, wherever it comes from. */
#include "core/deadline.h"
#include "core/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tw_status_name(tw_status status)
{
    switch (status) {
    case TW_OK: return "ok";
    case TW_INFEASIBLE: return "infeasible";
    case TW_ERR_INPUT: return "bad input";
    case TW_ERR_NOMEM: return "out of memory";
    case TW_ERR_IO: return "input/output error";
    case TW_WRONG: return "wrong";
    case TW_STOPPED: return "stopped";
    }
    return "unknown status";
}

/* What is said when there is no memory for what there is to say. */
static char lost[] = "error: out of memory: a message is lost";

void tw_diag_release(tw_diag *diag)
{
    for (int i = 0; i < diag->n_texts; i++)
        if (diag->text[i] != lost) free(diag->text[i]);
    *diag = (tw_diag){.deadline = diag->deadline};
}

/* What stands behind the name of the file. */
static void add_position(tw_text *t, tw_loc loc)
{
    if (!loc.file) return;
    tw_text_add(t, ":", 1);
    if (loc.line > 0) tw_text_printf(t, "%d:%d:", loc.line, loc.col);
    tw_text_add(t, " ", 1);
}

static const char *const kind_word[] = {[TW_MESSAGE_ERROR] = "error",
                                        [TW_MESSAGE_INFEASIBLE] = "infeasible",
                                        [TW_MESSAGE_NOTE] = "note",
                                        [TW_MESSAGE_STOPPED] = "stopped"};

static void add_message(tw_diag *diag, tw_loc loc, tw_message_kind kind, const char *fmt, va_list args)
{
    if (diag->muted || diag->n_texts == TW_DIAG_MAX) return;
    char body[1024];
    tw_vsnprintf(body, sizeof body, fmt, args);
    tw_text t = {0};
    struct tw_diag_part part = {.kind = kind, .line = loc.line, .col = loc.line > 0 ? loc.col : 0};
    if (loc.file) tw_text_add_visible(&t, loc.file);
    part.n_file = (int)t.len;
    add_position(&t, loc);
    tw_text_printf(&t, "%s: ", kind_word[kind]);
    part.body = (int)t.len;
    tw_text_add_visible(&t, body);
    bool failed = t.failed;
    if (failed) tw_text_release(&t);
    if (failed) part = (struct tw_diag_part){.kind = TW_MESSAGE_ERROR, .body = sizeof "error: " - 1};
    diag->part[diag->n_texts] = part;
    diag->last = diag->text[diag->n_texts++] = failed ? lost : t.bytes;
}

TW_PRINTF(4, 5) static void add(tw_diag *diag, tw_loc loc, tw_message_kind kind, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_message(diag, loc, kind, fmt, args);
    va_end(args);
}

#define FORWARD(kind)                        \
    va_list args;                            \
    va_start(args, fmt);                     \
    add_message(diag, loc, kind, fmt, args); \
    va_end(args)

tw_status tw_diag_error(tw_diag *diag, tw_loc loc, const char *fmt, ...)
{
    FORWARD(TW_MESSAGE_ERROR);
    diag->n_errors++;
    return TW_ERR_INPUT;
}

tw_status tw_diag_infeasible(tw_diag *diag, tw_loc loc, const char *fmt, ...)
{
    FORWARD(TW_MESSAGE_INFEASIBLE);
    diag->short_by = 0;
    return TW_INFEASIBLE;
}

tw_status tw_diag_io(tw_diag *diag, tw_loc loc, const char *fmt, ...)
{
    FORWARD(TW_MESSAGE_ERROR);
    diag->n_errors++;
    return TW_ERR_IO;
}

tw_status tw_diag_stopped(tw_diag *diag, tw_loc loc, const char *fmt, ...)
{
    char what[512];
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    bool time = !diag->deadline || tw_deadline_ending(diag->deadline) == TW_END_TIME;
    add(diag, loc, TW_MESSAGE_STOPPED, "%s before %s ended", time ? "the time limit came" : "it was interrupted",
        what);
    return TW_STOPPED;
}

void tw_diag_note(tw_diag *diag, tw_loc loc, const char *fmt, ...) { FORWARD(TW_MESSAGE_NOTE); }
