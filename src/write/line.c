/* src/write/line.c - see line.h. */
#include "write/line.h"
#include "core/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tw_glyphs ascii_glyphs = {.arrow = ">",
                                       .wall = "|",
                                       .enter = ">",
                                       .dead = ".",
                                       .filled = "#",
                                       .empty = ".",
                                       .left = "<-",
                                       .times = "x",
                                       .etc = "...",
                                       .corner = {"+", "+", "+", "+"},
                                       .beam = "-",
                                       .pole = "|",
                                       .up = "^",
                                       .down = "v",
                                       .tick = "+",
                                       .run = "#",
                                       .run_begins = "[",
                                       .no_data = ".",
                                       .no_credit = "!"};
static const tw_glyphs utf8_glyphs = {.arrow = "→",
                                      .wall = "│",
                                      .enter = "▶",
                                      .dead = "·",
                                      .filled = "█",
                                      .empty = "░",
                                      .left = "◀",
                                      .times = "×",
                                      .etc = "⋯",
                                      .corner = {"┌", "┐", "└", "┘"},
                                      .beam = "─",
                                      .pole = "│",
                                      .up = "▲",
                                      .down = "▼",
                                      .tick = "┴",
                                      .run = "█",
                                      .run_begins = "▐",
                                      .no_data = "░",
                                      .no_credit = "▒"};

static const char *const escape[TW_HUES + TW_N_HUES] = {
    [TW_BOLD] = "1",      [TW_DIM] = "2",       [TW_ALARM] = "1;31",  [TW_GOOD] = "32",     [TW_HUES + 0] = "36",
    [TW_HUES + 1] = "33", [TW_HUES + 2] = "32", [TW_HUES + 3] = "35", [TW_HUES + 4] = "34", [TW_HUES + 5] = "96",
};

void tw_line_init(tw_line *line, const tw_print_options *options, FILE *out)
{
    memset(line, 0, sizeof *line);
    line->out = out;
    line->columns = options->columns ? options->columns : TW_COLUMNS_DEFAULT;
    line->columns = (int)tw_clamp(line->columns, TW_COLUMNS_MIN, TW_COLUMNS_MAX);
    line->colour = options->colour;
    line->glyph = options->ascii ? ascii_glyphs : utf8_glyphs;
}

int tw_text_width(const char *text)
{
    int n = 0;
    for (char form[TW_VISIBLE_MAX]; *text; n += tw_visible_width(form)) text += tw_visible_next(text, form);
    return n;
}

/* Bytes of `text` whose visible forms take at most `width` columns; at least one character. */
static size_t fitting_bytes(const char *text, int width)
{
    size_t n = 0;
    char form[TW_VISIBLE_MAX];
    for (int used = 0; text[n];) {
        size_t next = n + (size_t)tw_visible_next(text + n, form);
        used += tw_visible_width(form);
        if (used > width && n > 0) break;
        n = next;
    }
    return n;
}

static void put_character(tw_line *line, int at, tw_style style, const char *s, size_t n)
{
    if (at < 0 || at >= line->columns) return;
    for (; line->used <= at; line->used++) {
        strcpy(line->cell[line->used].bytes, " ");
        line->cell[line->used].style = TW_PLAIN;
    }
    memcpy(line->cell[at].bytes, s, n);
    line->cell[at].bytes[n] = 0;
    line->cell[at].style = (unsigned char)style;
}

int tw_line_put(tw_line *line, int at, tw_style style, const char *text)
{
    for (char form[TW_VISIBLE_MAX]; *text;) {
        text += tw_visible_next(text, form);
        bool spelled = tw_visible_width(form) > 1;
        size_t step = spelled ? 1 : strlen(form);
        for (const char *c = form; *c; c += step) put_character(line, at++, style, c, step);
    }
    return at;
}

int tw_line_printf(tw_line *line, int at, tw_style style, const char *fmt, ...)
{
    char text[4 * TW_COLUMNS_MAX];
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tw_line_put(line, at, style, text);
}

void tw_line_put_right(tw_line *line, int end, tw_style style, const char *text)
{
    tw_line_put(line, end - tw_text_width(text), style, text);
}

static bool is_blank(const tw_line *line, int i) { return strcmp(line->cell[i].bytes, " ") == 0; }

void tw_line_end(tw_line *line)
{
    while (line->used > 0 && is_blank(line, line->used - 1)) line->used--;
    unsigned char style = TW_PLAIN;
    for (int i = 0; i < line->used; i++) {
        if (line->colour && !is_blank(line, i) && line->cell[i].style != style) {
            style = line->cell[i].style;
            fprintf(line->out, "\033[0%s%sm", escape[style] ? ";" : "", escape[style] ? escape[style] : "");
        }
        fputs(line->cell[i].bytes, line->out);
    }
    if (style != TW_PLAIN) fputs("\033[0m", line->out);
    fputc('\n', line->out);
    line->used = 0;
}

void tw_line_wrap(tw_line *line, int at, tw_style style, const char *text)
{
    int column = at;
    while (*text) {
        char word[TW_COLUMNS_MAX + 1] = {0};
        size_t n = strcspn(text, " \n"), kept = n;
        if (n >= sizeof word) /* cut between two characters */
            for (kept = sizeof word - 1; kept > sizeof word - 4 && (text[kept] & 0xc0) == 0x80;) kept--;
        memcpy(word, text, kept);
        word[kept] = 0;
        if (column > at && column + tw_text_width(word) > line->columns) {
            tw_line_end(line);
            column = at;
        }
        while (tw_text_width(word) > line->columns - at) { /* a word that no line can hold is broken */
            size_t cut = fitting_bytes(word, line->columns - at);
            char rest = word[cut];
            word[cut] = 0;
            tw_line_put(line, at, style, word);
            tw_line_end(line);
            word[cut] = rest;
            memmove(word, word + cut, strlen(word + cut) + 1);
        }
        column = tw_line_put(line, column, style, word) + 1;
        text += kept;
        if (kept == n) text += strspn(text, " \n");
    }
    tw_line_end(line);
}

bool tw_line_has(tw_line *line, const tw_text *text)
{
    line->failed |= text->failed;
    return !text->failed;
}

tw_status tw_line_status(const tw_line *line) { return line->failed ? TW_ERR_NOMEM : TW_OK; }
