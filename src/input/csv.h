/* src/input/csv.h - comma-separated text to rows of fields that remember where they were written.
 *
 *     JSON Name,Kernel Time,"M, N"          the first line that is not blank names the columns
 *     1x32x80w1-32-80,1345,"1, 32"          a field in quotes may hold commas, line ends and "" for one quote
 *
 * Lines end with LF or CRLF; a byte order mark and blank lines are skipped; blanks around a field without quotes are
 * dropped, and so is a ' that guards a text against being taken for a formula. Refused, each with its place: rows of another length than the header, names that occur twice, quotes that
 * never end or are followed by more, control characters. */
#ifndef TW_INPUT_CSV_H
#define TW_INPUT_CSV_H
#include "core/core.h"

enum { TW_CSV_COLUMNS_MAX = 1024 };

typedef struct tw_csv_field {
    const char *text;
    int line, col;
} tw_csv_field;

typedef struct tw_csv {
    const char *file;
    int n_columns, n_rows;
    const tw_csv_field *name; /* of the columns; may be empty, and then no one can ask for it */
    const tw_csv_field *cell; /* row by row, n_columns each                                   */
} tw_csv;

/* `file` is used in messages and must outlive the rows. */
TW_NODISCARD tw_status tw_csv_parse(const char *file, const char *bytes, size_t n, tw_arena *arena, tw_diag *diag,
                                    tw_csv *out);
/* Index of a column by its name, -1 when there is none. */
int tw_csv_find(const tw_csv *csv, const char *name);
static inline const tw_csv_field *tw_csv_cell(const tw_csv *csv, int row, int column)
{
    return &csv->cell[(size_t)row * (size_t)csv->n_columns + (size_t)column];
}
static inline tw_loc tw_csv_loc(const tw_csv *csv, const tw_csv_field *field)
{
    return (tw_loc){csv->file, field->line, field->col};
}

/* A spreadsheet computes a cell that begins with =, +, - or @. Writers put a ' before a text that does and is no number, and
 * readers take it away again: what one writes and the other reads is the same text. */
bool tw_csv_wants_guard(const char *text);
bool tw_csv_is_guarded(const char *text);
#endif
