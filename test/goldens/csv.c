/* test/goldens/csv.c - comma-separated values with a header; a value that has commas is in quotes. */
#include "goldens.h"

#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    for (int c; to && (c = getc(f)) != EOF;) putc(c, to);
    fclose(f);
    if (to) fclose(to);
    return text;
}

static int count(const char *text, char what)
{
    int n = 0;
    for (; *text; text++) n += *text == what;
    return n;
}

/* Cuts the next value off a line; NULL: there is none. */
static char *next_cell(char **line)
{
    if (!*line || **line != '"') return strsep(line, ",");
    char *cell = *line + 1, *end = strchr(cell, '"');
    *line = end && end[1] == ',' ? end + 2 : NULL;
    if (end) *end = 0;
    return cell;
}

bool csv_read(const char *path, csv *out)
{
    *out = (csv){.text = read_all(path)};
    if (!out->text) return false;
    char *lines = out->text, *line;
    out->cell = calloc((size_t)count(lines, ',') + (size_t)count(lines, '\n') + 2, sizeof *out->cell);
    int n = 0;
    while (out->cell && (line = strsep(&lines, "\r\n"))) {
        if (!*line) continue;
        int before = n;
        for (char *cell; (cell = next_cell(&line));) out->cell[n++] = cell;
        if (out->n_columns == 0)
            out->n_columns = n;
        else if (n - before != out->n_columns)
            return false;
        else
            out->n_rows++;
    }
    return out->n_columns > 0;
}

void csv_release(csv *c)
{
    free(c->cell);
    free(c->text);
}

const char *csv_text(const csv *c, int row, const char *column)
{
    for (int i = 0; i < c->n_columns; i++)
        if (strcmp(c->cell[i], column) == 0) return c->cell[(row + 1) * c->n_columns + i];
    return NULL;
}

int64_t csv_int(const csv *c, int row, const char *column)
{
    const char *text = csv_text(c, row, column);
    return text ? strtoll(text, NULL, 10) : 0;
}
