/* src/fit/source.c - see source.h. */
#include "fit/source.h"

#include "fit/print.h"

#include <stdio.h>
#include <string.h>

const char *tw_milli(int64_t x, char out[TW_GROUPED_MAX])
{
    int n = snprintf(out, TW_GROUPED_MAX, "%" PRId64 ".%03d", x / TW_MILLI, (int)(x % TW_MILLI));
    while (out[n - 1] == '0') out[--n] = 0;
    if (out[n - 1] == '.') out[--n] = 0;
    return out;
}

/* Where a place is in the text. */
static size_t offset_of(const char *text, size_t n, tw_loc loc)
{
    size_t at = 0;
    for (int line = 1; line < loc.line && at < n; at++) line += text[at] == '\n';
    return (size_t)tw_min((int64_t)at + loc.col - 1, (int64_t)n);
}

/* The parameter whose value stands first from `from` on, -1: none. */
static int next_value(const tw_machine *machine, const char *text, size_t n, size_t from, size_t *at)
{
    int next = -1;
    for (int i = 0; i < machine->n_parameters; i++) {
        size_t here = offset_of(text, n, machine->parameter[i].value_loc);
        if (here < from || (next >= 0 && here >= *at)) continue;
        next = i;
        *at = here;
    }
    return next;
}

void tw_source_print(const tw_machine *machine, const char *text, size_t n, tw_text *out)
{
    size_t from = 0, at = 0;
    for (int i; (i = next_value(machine, text, n, from, &at)) >= 0;) {
        size_t length = 0;
        while (at + length < n && memchr("0123456789.'_", text[at + length], 13)) length++; /* NOLINT: no text */
        tw_text_add(out, text + from, at - from);
        tw_text_printf(out, "%s", TW_MILLI_TEXT(machine->parameter[i].value));
        from = at + length;
    }
    tw_text_add(out, text + from, n - from);
}
