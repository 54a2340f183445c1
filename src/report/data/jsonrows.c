/* src/report/data/jsonrows.c - see jsonrows.h. One pass that knows no more of JSON than where strings end; entries of a list that is left
 * out are read by jansson, one at a time, so that a document with a fault in them is refused as before. */
#include "report/data/jsonrows.h"
#include "write/grow.h"

#include <jansson.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static size_t skip_blanks(const char *text, size_t at, size_t n)
{
    while (at < n && is_blank(text[at])) at++;
    return at;
}

/* The byte behind the string that opens at `at`. */
static size_t skip_string(const char *text, size_t at, size_t n)
{
    for (at++; at < n && text[at] != '"'; at++) at += text[at] == '\\';
    return at < n ? at + 1 : n;
}

/* The byte behind one value, 0 when it is none. */
static size_t skip_value(const char *text, size_t at, size_t n)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK;
    json_error_t error;
    json_t *value = json_loadb(text + at, n - at, flags, &error);
    if (!value && json_error_code(&error) == json_error_numeric_overflow)
        value = json_loadb(text + at, n - at, flags | JSON_DECODE_INT_AS_REAL, &error);
    if (!value) return 0;
    json_decref(value);
    return at + (size_t)error.position;
}

/* The closing bracket of the list that opens at `at`; 0 when it is no list of values. */
static size_t find_end(const char *text, size_t at, size_t n)
{
    at = skip_blanks(text, at + 1, n);
    if (at < n && text[at] == ']') return at;
    while (at < n) {
        at = skip_value(text, at, n);
        if (at == 0) return 0;
        at = skip_blanks(text, at, n);
        if (at < n && text[at] == ']') return at;
        if (at == n || text[at] != ',') return 0;
        at = skip_blanks(text, at + 1, n);
    }
    return 0;
}

/* The opening bracket of a list called `rows`, when the string at [from, to) is that name; 0 otherwise. */
static size_t list_of_rows(const char *text, size_t from, size_t to, size_t n)
{
    if (to - from != 6 || memcmp(text + from, "\"rows\"", 6) != 0) return 0;
    size_t colon = skip_blanks(text, to, n),
           list = colon < n && text[colon] == ':' ? skip_blanks(text, colon + 1, n) : n;
    return list < n && text[list] == '[' ? list : 0;
}

tw_status tw_json_without_rows(const char *text, size_t n, tw_arena *arena, tw_json_short *out)
{
    *out = (tw_json_short){.text = text, .n = n};
    tw_json_cut *cut = NULL;
    int64_t room = 0, n_cuts = 0;
    size_t removed = 0;
    for (size_t at = 0; at < n;) {
        if (text[at] != '"') {
            at++;
            continue;
        }
        size_t to = skip_string(text, at, n), list = list_of_rows(text, at, to, n),
               end = list ? find_end(text, list, n) : 0;
        at = end ? end : to;
        if (!end || end == list + 1) continue;
        cut = tw_grow(arena, cut, n_cuts, &room, sizeof *cut);
        if (!cut) return TW_ERR_NOMEM;
        cut[n_cuts++] = (tw_json_cut){list + 1 - removed, end - list - 1};
        removed += end - list - 1;
    }
    if (n_cuts == 0) return TW_OK;
    char *copy = tw_arena_alloc(arena, n - removed + 1, 1);
    if (!copy) return TW_ERR_NOMEM;
    size_t from = 0, filled = 0;
    for (int64_t k = 0; k <= n_cuts; k++) {
        size_t here = (k < n_cuts ? cut[k].at : n - removed) - filled;
        memcpy(copy + filled, text + from, here);
        filled += here;
        from += here + (k < n_cuts ? cut[k].removed : 0);
    }
    *out = (tw_json_short){copy, filled, cut, n_cuts};
    return TW_OK;
}

size_t tw_json_long_place(const tw_json_short *shorter, size_t at)
{
    size_t place = at;
    for (int64_t k = 0; k < shorter->n_cuts && shorter->cut[k].at <= at; k++) place += shorter->cut[k].removed;
    return place;
}
