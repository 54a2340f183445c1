/* src/report/text/traffic.c - see traffic.h: a table with a row per link and operand. */
#include "report/text/traffic.h"
#include "write/number.h"

#include <stdio.h>

enum { COLUMNS = 7, TEXTS = 2, INDENT = 2, GAP = 2, CELL = 40 };
static const char *const title[COLUMNS] = {"link",     "operand", "transfers",  "units",
                                           "at least", "times",   "points/unit"};
typedef struct row {
    char cell[COLUMNS][CELL];
} row;

static row row_of(const tw_op_plan *plan, int m, int o)
{
    const tw_link_use *use = &plan->link[m][o];
    char number[TW_GROUPED_MAX];
    row r;
    snprintf(r.cell[0], CELL, "%.16s-%.16s", use->outer, use->inner);
    snprintf(r.cell[1], CELL, "%.16s", use->operand);
    snprintf(r.cell[2], CELL, "%s", tw_grouped(use->transfers, number));
    snprintf(r.cell[3], CELL, "%s", tw_grouped(use->units, number));
    snprintf(r.cell[4], CELL, "%s", tw_grouped(use->least_units, number));
    tw_ratio(use->units, use->least_units, r.cell[5]);
    tw_ratio(plan->timeline.sum.macs, use->units, r.cell[6]);
    return r;
}

/* As many columns as the line has room for; the JSON document has them all. */
static int columns_that_fit(const int width[COLUMNS], const tw_line *line)
{
    int n = 0;
    for (int end = INDENT; n < COLUMNS && (end += width[n]) <= line->columns; n++) end += GAP;
    return n;
}

static void put_row(const char *const cell[COLUMNS], const int width[COLUMNS], tw_style style, tw_line *line)
{
    int at = INDENT, n = columns_that_fit(width, line);
    for (int c = 0; c < n; c++) {
        if (c < TEXTS)
            tw_line_put(line, at, style, cell[c]);
        else
            tw_line_put_right(line, at + width[c], style, cell[c]);
        at += width[c] + GAP;
    }
    tw_line_end(line);
}

void tw_traffic_print(const tw_op_plan *plan, tw_line *line)
{
    int n = 0, width[COLUMNS];
    row list[TW_MAX_MEMORIES * TW_MAX_OPERANDS];
    for (int c = 0; c < COLUMNS; c++) width[c] = tw_text_width(title[c]);
    for (int m = 1; m < plan->program.machine->n_memories; m++)
        for (int o = 0; o < plan->program.op->n_operands; o++) {
            list[n] = row_of(plan, m, o);
            for (int c = 0; c < COLUMNS; c++) width[c] = (int)tw_max(width[c], tw_text_width(list[n].cell[c]));
            n++;
        }
    put_row(title, width, TW_BOLD, line);
    for (int i = 0; i < n; i++) {
        const char *cell[COLUMNS];
        for (int c = 0; c < COLUMNS; c++) cell[c] = list[i].cell[c];
        put_row(cell, width, TW_PLAIN, line);
    }
    tw_line_end(line);
}
