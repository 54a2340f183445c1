/* src/write/table.h - rows of cells, aligned.
 *
 *       link      operand  transfers   bytes      f
 *       dram→l3   ifm             16  16'384   1.00       text columns to the left, numbers to the right
 *                 w               64  65'536   4.00       what repeats in the first column is written once
 *
 * Columns stand two blanks apart, or one where the line is too short for that. What even then has no room is left
 * out from the right: put last what can be missed. */
#ifndef TW_WRITE_TABLE_H
#define TW_WRITE_TABLE_H
#include "write/line.h"

enum { TW_TABLE_COLUMNS = 24 };

typedef struct tw_table {
    int n_columns, n_texts; /* the first n_texts hold words                      */
    bool tail;              /* so does the last one                              */
    int indent;
    bool once; /* a first cell equal to the one above it is left blank  */
    const char *const *title;
    int width[TW_TABLE_COLUMNS];
    int64_t n_rows, room;
    const char *(*row)[TW_TABLE_COLUMNS];
    tw_style *style;
    tw_arena *arena;
    bool failed; /* out of memory: rows are missing                       */
} tw_table;

void tw_table_init(tw_table *table, const char *const *title, int n_columns, int n_texts, tw_arena *arena);
/* The next row, empty; then its cells, of which those behind the last column are dropped. */
void tw_table_row(tw_table *table, tw_style style);
void tw_table_put(tw_table *table, int column, const char *text);
void tw_table_printf(tw_table *table, int column, const char *fmt, ...) TW_PRINTF(3, 4);
/* A number, or "-" for 0. */
void tw_table_number(tw_table *table, int column, int64_t x);
/* Title and rows; TW_ERR_NOMEM when rows are missing. */
TW_NODISCARD tw_status tw_table_print(const tw_table *table, tw_line *line);
#endif
