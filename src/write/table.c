/* src/write/table.c - see table.h. */
#include "write/table.h"
#include "write/grow.h"

#include <stdio.h>
#include <string.h>

void tw_table_init(tw_table *table, const char *const *title, int n_columns, int n_texts, tw_arena *arena)
{
    assert(n_columns <= TW_TABLE_COLUMNS);
    *table = (tw_table){
        .n_columns = n_columns, .n_texts = n_texts, .indent = 2, .once = true, .title = title, .arena = arena};
    for (int c = 0; c < n_columns; c++) table->width[c] = tw_text_width(title[c]);
}

void tw_table_row(tw_table *table, tw_style style)
{
    int64_t room = table->room;
    void *row = tw_grow(table->arena, table->row, table->n_rows, &table->room, sizeof *table->row);
    tw_style *styles = tw_grow(table->arena, table->style, table->n_rows, &room, sizeof *styles);
    if (!row || !styles) {
        table->failed = true;
        return;
    }
    table->row = row;
    table->style = styles;
    table->style[table->n_rows] = style;
    for (int c = 0; c < table->n_columns; c++) table->row[table->n_rows][c] = "";
    table->n_rows++;
}

void tw_table_put(tw_table *table, int column, const char *text)
{
    if (column >= table->n_columns) return;
    const char *copy = table->failed ? NULL : tw_arena_strndup(table->arena, text, strlen(text));
    if (!copy) {
        table->failed = true;
        return;
    }
    table->row[table->n_rows - 1][column] = copy;
    table->width[column] = (int)tw_max(table->width[column], tw_text_width(copy));
}

void tw_table_printf(tw_table *table, int column, const char *fmt, ...)
{
    char text[TW_COLUMNS_MAX];
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tw_table_put(table, column, text);
}

void tw_table_number(tw_table *table, int column, int64_t x)
{
    char text[TW_GROUPED_MAX];
    tw_table_put(table, column, x ? tw_grouped(x, text) : "-");
}

/* ---- printing ---- */

/* Columns that have room when they stand `gap` apart. */
static int columns_that_fit(const tw_table *table, int gap, const tw_line *line)
{
    int n = 0;
    for (int end = table->indent; n < table->n_columns && (end += table->width[n]) <= line->columns; n++)
        end += gap;
    return n;
}

static void print_cells(const tw_table *table, const char *const *cell, tw_style style, bool repeats, tw_line *line)
{
    int gap = columns_that_fit(table, 2, line) == table->n_columns ? 2 : 1;
    int n = columns_that_fit(table, gap, line), at = table->indent;
    for (int c = 0; c < n; c++) {
        if (c >= table->n_texts && !(table->tail && c == table->n_columns - 1))
            tw_line_put_right(line, at + table->width[c], style, cell[c]);
        else if (c > 0 || !repeats)
            tw_line_put(line, at, style, cell[c]);
        at += table->width[c] + gap;
    }
    tw_line_end(line);
}

tw_status tw_table_print(const tw_table *table, tw_line *line)
{
    if (table->failed) return TW_ERR_NOMEM;
    print_cells(table, table->title, TW_BOLD, false, line);
    for (int64_t r = 0; r < table->n_rows; r++) {
        bool repeats = table->once && r > 0 && strcmp(table->row[r][0], table->row[r - 1][0]) == 0;
        print_cells(table, table->row[r], table->style[r], repeats, line);
    }
    return TW_OK;
}
