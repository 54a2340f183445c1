/* src/core/text.c - text that grows. */
#include "core/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char nothing[1]; /* what a text holds that never got memory */

void tw_text_release(tw_text *t)
{
    if (t->bytes != nothing) free(t->bytes);
    *t = (tw_text){0};
}

/* Makes room for n more bytes and the terminating zero. */
static bool reserve(tw_text *t, size_t n)
{
    if (t->failed) return false;
    if (t->room - t->len > n) return true;
    size_t room = t->room ? t->room * 2 : 256;
    while (room - t->len <= n && room < SIZE_MAX / 2) room *= 2;
    char *bytes = room - t->len > n ? realloc(t->bytes, room) : NULL;
    if (!bytes) {
        t->failed = true;
        if (!t->bytes) t->bytes = nothing;
        return false;
    }
    t->bytes = bytes;
    t->room = room;
    return true;
}

void tw_text_add(tw_text *t, const char *bytes, size_t n)
{
    if (!reserve(t, n)) return;
    memcpy(t->bytes + t->len, bytes, n);
    t->len += n;
    t->bytes[t->len] = 0;
}

void tw_text_printf(tw_text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = tw_vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (!reserve(t, n < 0 ? SIZE_MAX / 2 : (size_t)n)) return; /* n < 0: too long to be printed at all */
    va_start(args, fmt);
    tw_vsnprintf(t->bytes + t->len, (size_t)n + 1, fmt, args);
    va_end(args);
    t->len += (size_t)n;
}

bool tw_same_word(const char *a, const char *b)
{
    while (*a && tw_to_lower(*a) == tw_to_lower(*b)) a++, b++;
    return tw_to_lower(*a) == tw_to_lower(*b);
}

const char *tw_grouped(int64_t x, char buf[TW_GROUPED_MAX])
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
    char *at = buf;
    if (x < 0) *at++ = '-';
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) *at++ = '\'';
        *at++ = digits[i];
    }
    *at = 0;
    return buf;
}

tw_status tw_text_write(tw_text *t, tw_diag *diag, FILE *out)
{
    tw_status status = t->failed ? TW_ERR_NOMEM : TW_OK;
    if (status == TW_OK && fwrite(t->bytes, 1, t->len, out) != t->len)
        status = tw_diag_io(diag, (tw_loc){0}, "cannot write: %s", strerror(errno));
    tw_text_release(t);
    return status;
}

/* ---- words that were meant ---- */

enum { LONGEST = 32 };

/* Fewest letters to insert, delete or replace to turn one word into the other. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), row[LONGEST + 1];
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replace = diagonal + (a[i - 1] != b[j - 1]);
            size_t shift = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            diagonal = row[j];
            row[j] = replace < shift ? replace : shift;
        }
    }
    return row[m];
}

const char *tw_nearest_word(const char *word, const char *const *list, int n)
{
    const char *best = NULL;
    size_t least = 3;
    for (int i = 0; i < n; i++) {
        size_t d = edit_distance(word, list[i]);
        if (d >= least || d >= strlen(word) || d >= strlen(list[i])) continue;
        least = d;
        best = list[i];
    }
    return best;
}
