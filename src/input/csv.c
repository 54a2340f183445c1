/* src/input/csv.c - see csv.h.
 *
 * One pass cuts the bytes into fields. A bad row is reported and left out, so that one run reports several; the
 * result is then refused as a whole. */
#include "input/csv.h"
#include "core/utf8.h"

#include <string.h>

typedef struct reader {
    const char *file, *at, *end, *line_at; /* of the current line */
    int line;
    tw_arena *arena;
    tw_diag *diag;
    tw_csv_field *row;  /* room for TW_CSV_COLUMNS_MAX */
    int n;              /* fields of the row so far    */
    tw_csv_field *cell; /* of all rows                 */
    bool bad;
} reader;

static tw_loc here(const reader *r) { return (tw_loc){r->file, r->line, (int)(r->at - r->line_at) + 1}; }

#define COMPLAIN(r, loc, ...)                         \
    do {                                              \
        (r)->bad = true;                              \
        tw_diag_error((r)->diag, (loc), __VA_ARGS__); \
    } while (0)

static bool is_blank(char c) { return c == ' ' || c == '\t'; }
static bool is_control(char c) { return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f; }

/* Whether a line ends here: LF, CRLF or the end of the text. */
static bool ends_line(const reader *r)
{
    return r->at == r->end || *r->at == '\n' || (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n');
}

static void next_line(reader *r)
{
    if (r->at < r->end) r->at += *r->at == '\r' ? 2 : 1;
    r->line_at = r->at;
    r->line++;
}

/* Goes on at the next line, where the next row may be sound. */
static void skip_line(reader *r)
{
    while (!ends_line(r)) r->at++;
}

/* ---- fields ---- */

/* Bytes up to the closing quote, with "" for each quote among them; from behind the opening one. */
static size_t quoted_length(const reader *r)
{
    const char *at = r->at;
    while (at < r->end && (*at != '"' || (at + 1 < r->end && at[1] == '"'))) at += *at == '"' ? 2 : 1;
    return (size_t)(at - r->at);
}

/* What stands in quotes; at the opening one. TW_ERR_INPUT when the row cannot be read on. */
static tw_status read_quoted(reader *r, const char **text)
{
    tw_loc begin = here(r);
    size_t n = 0, length;
    char *out;
    r->at++;
    length = quoted_length(r);
    if (length == (size_t)(r->end - r->at)) {
        r->at = r->end;
        return tw_diag_error(r->diag, begin, "the quote that opens here is never closed");
    }
    TW_ALLOC(r->arena, out, length + 1);
    for (const char *end = r->at + length; r->at < end; r->at++) {
        if (is_control(*r->at) && *r->at != '\n' && *r->at != '\r')
            return tw_diag_error(r->diag, here(r), "control character 0x%02x", (unsigned char)*r->at);
        out[n++] = *r->at;
        if (*r->at == '"') r->at++;
        if (*r->at != '\n') continue;
        r->line_at = r->at + 1;
        r->line++;
    }
    r->at++;
    while (r->at < r->end && is_blank(*r->at)) r->at++;
    *text = tw_csv_is_guarded(out) ? out + 1 : out;
    if (ends_line(r) || *r->at == ',') return TW_OK;
    return tw_diag_error(r->diag, here(r), "a comma must follow the closing quote");
}

static tw_status read_plain(reader *r, const char **text)
{
    const char *begin = r->at, *last = r->at;
    for (; !ends_line(r) && *r->at != ','; r->at++) {
        if (is_control(*r->at))
            return tw_diag_error(r->diag, here(r), "control character 0x%02x", (unsigned char)*r->at);
        if (!is_blank(*r->at)) last = r->at + 1;
    }
    *text = tw_arena_strndup(r->arena, begin, (size_t)(last - begin));
    if (!*text) return TW_ERR_NOMEM;
    if (tw_csv_is_guarded(*text)) ++*text;
    return TW_OK;
}

/* The fields of one row, up to the end of its last line. */
static tw_status read_row(reader *r)
{
    for (r->n = 0;; r->at++) {
        while (r->at < r->end && is_blank(*r->at)) r->at++;
        tw_loc loc = here(r);
        tw_csv_field *field = &r->row[r->n];
        if (r->n == TW_CSV_COLUMNS_MAX)
            return tw_diag_error(r->diag, loc, "row has more than %d fields", TW_CSV_COLUMNS_MAX);
        *field = (tw_csv_field){.line = loc.line, .col = loc.col};
        bool quoted = r->at < r->end && *r->at == '"';
        TW_TRY(quoted ? read_quoted(r, &field->text) : read_plain(r, &field->text));
        r->n++;
        if (ends_line(r)) return TW_OK;
    }
}

static bool is_blank_line(reader *r)
{
    const char *at = r->at;
    while (r->at < r->end && is_blank(*r->at)) r->at++;
    if (ends_line(r)) return true;
    r->at = at;
    return false;
}

/* ---- the file ---- */

static void check_names(reader *r, const tw_csv *csv)
{
    for (int c = 0; c < csv->n_columns; c++)
        for (int b = 0; b < c && *csv->name[c].text; b++) {
            if (strcmp(csv->name[c].text, csv->name[b].text) != 0) continue;
            COMPLAIN(r, tw_csv_loc(csv, &csv->name[c]), "column '%.*s' is given twice",
                     TW_FIRST(80, csv->name[c].text));
            break;
        }
}

static tw_status keep_names(reader *r, tw_csv *csv)
{
    tw_csv_field *name;
    TW_ALLOC(r->arena, name, r->n);
    memcpy(name, r->row, (size_t)r->n * sizeof *name);
    csv->n_columns = r->n;
    csv->name = name;
    check_names(r, csv);
    return TW_OK;
}

/* Fields at most: each has a comma or a line end behind it. */
static size_t count_separators(const reader *r)
{
    size_t n = 1;
    for (const char *at = r->at; at < r->end; at++) n += *at == '\n' || *at == ',';
    return n;
}

/* A row that could be read: the names, or the cells of the next row. */
static tw_status keep_row(reader *r, tw_csv *csv)
{
    if (!csv->name) return keep_names(r, csv);
    if (r->n == csv->n_columns) {
        memcpy(r->cell + (size_t)csv->n_rows++ * (size_t)r->n, r->row, (size_t)r->n * sizeof *r->row);
        return TW_OK;
    }
    COMPLAIN(r, ((tw_loc){r->file, r->row[0].line, r->row[0].col}), "row has %d fields, the header has %d", r->n,
             csv->n_columns);
    return TW_OK;
}

static tw_status read_rows(reader *r, tw_csv *csv)
{
    TW_ALLOC(r->arena, r->cell, count_separators(r));
    csv->cell = r->cell;
    for (; r->at < r->end; next_line(r)) {
        if (is_blank_line(r)) continue;
        tw_status status = read_row(r);
        if (status == TW_OK) status = keep_row(r, csv);
        if (status == TW_OK) continue;
        if (status != TW_ERR_INPUT || !csv->name) return status; /* without names nothing more can be said */
        r->bad = true;
        skip_line(r);
    }
    return TW_OK;
}

tw_status tw_csv_parse(const char *file, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag, tw_csv *out)
{
    size_t skip = tw_utf8_mark(bytes, n);
    reader r = {.file = file,
                .at = bytes + skip,
                .end = bytes + n,
                .line_at = bytes + skip,
                .line = 1,
                .arena = arena,
                .diag = diag};
    tw_csv csv = {.file = file};
    TW_ALLOC(arena, r.row, TW_CSV_COLUMNS_MAX);
    TW_TRY(read_rows(&r, &csv));
    if (!csv.name) return tw_diag_error(diag, (tw_loc){file, 1, 1}, "there is no header row");
    if (r.bad) return TW_ERR_INPUT;
    *out = csv;
    return TW_OK;
}

/* ---- formulas of spreadsheets ---- */

/* Whether a cell begins as a formula, behind quotes and blanks. */
static bool begins_formula(const char *text)
{
    text += strspn(text, "'\" \t");
    return *text && strchr("=+-@", *text);
}

/* [+-]digits[.digits] */
static bool is_number(const char *text)
{
    text += *text == '+' || *text == '-';
    size_t whole = strspn(text, "0123456789"), point = text[whole] == '.';
    size_t part = point ? strspn(text + whole + 1, "0123456789") : 0;
    return whole > 0 && !text[whole + point + part];
}

bool tw_csv_wants_guard(const char *text) { return begins_formula(text) && !is_number(text); }

bool tw_csv_is_guarded(const char *text) { return *text == '\'' && begins_formula(text + 1); }

int tw_csv_find(const tw_csv *csv, const char *name)
{
    for (int c = 0; c < csv->n_columns && *name; c++)
        if (strcmp(csv->name[c].text, name) == 0) return c;
    return -1;
}
