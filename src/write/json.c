/* src/write/json.c - see json.h.
 *
 * A document may have millions of lines, and one thread writes it: stdio need not lock for every character. */
#include "write/json.h"
#include "core/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void newline(tw_json *j)
{
    if (!j->pretty || j->line_depth > 0) return;
    putc_unlocked('\n', j->out);
    for (int i = 0; i < 2 * j->depth; i++) putc_unlocked(' ', j->out);
}

static void write_mark(tw_json *j, char mark, bool space)
{
    putc_unlocked(mark, j->out);
    if (space) putc_unlocked(' ', j->out);
}

/* The comma and the line break that belong before the next element of an array or key of an object. */
static void separate(tw_json *j)
{
    if (j->depth == 0) return;
    if (j->begun[j->depth - 1]) write_mark(j, ',', j->line_depth > 0 && j->pretty);
    j->begun[j->depth - 1] = true;
    newline(j);
}

static void before_value(tw_json *j)
{
    bool in_object = j->depth > 0 && j->kind[j->depth - 1] == '{';
    assert(in_object == j->key_given);
    if (!in_object) separate(j);
    j->key_given = false;
}

void tw_json_open(tw_json *j, char kind)
{
    assert((kind == '{' || kind == '[') && j->depth < TW_JSON_DEPTH);
    before_value(j);
    putc_unlocked(kind, j->out);
    j->kind[j->depth] = kind;
    j->begun[j->depth] = false;
    j->depth++;
    if (j->line_depth > 0) j->line_depth++;
}

void tw_json_open_line(tw_json *j, char kind)
{
    tw_json_open(j, kind);
    if (j->line_depth == 0) j->line_depth = 1;
}

void tw_json_close(tw_json *j)
{
    assert(j->depth > 0 && !j->key_given);
    j->depth--;
    if (j->begun[j->depth]) newline(j);
    if (j->line_depth > 0) j->line_depth--;
    putc_unlocked(j->kind[j->depth] == '{' ? '}' : ']', j->out);
}

static void write_ascii(FILE *out, unsigned char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", escaped[] = "\"\\bfnrt";
    const char *at = c ? strchr(plain, c) : NULL;
    if (at)
        fprintf(out, "\\%c", escaped[at - plain]);
    else if (c < 0x20 || c == 0x7f)
        fprintf(out, "\\u%04x", c);
    else
        putc_unlocked(c, out);
}

/* A character by its number, above 0xffff by two. */
static void write_code(FILE *out, unsigned c)
{
    if (c > 0xffff)
        fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
    else
        fprintf(out, "\\u%04x", c);
}

/* Bytes that stand for themselves: of most names all. */
static size_t plain_length(const unsigned char *s)
{
    size_t n = 0;
    while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\') n++;
    return n;
}

static void write_quoted(FILE *out, const char *text)
{
    putc_unlocked('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t plain = plain_length(s);
        if (plain > 0) {
            fwrite_unlocked(s, 1, plain, out);
            s += plain;
            continue;
        }
        int n = tw_utf8_length((const char *)s);
        unsigned c = n > 0 ? tw_utf8_decode((const char *)s, n) : 0xfffd;
        if (n == 1)
            write_ascii(out, *s);
        else if (n > 1 && tw_utf8_is_visible(c))
            fwrite_unlocked(s, 1, (size_t)n, out);
        else
            write_code(out, c);
        s += n ? n : 1;
    }
    putc_unlocked('"', out);
}

void tw_json_key(tw_json *j, const char *key)
{
    assert(j->depth > 0 && j->kind[j->depth - 1] == '{' && !j->key_given);
    separate(j);
    write_quoted(j->out, key);
    write_mark(j, ':', j->pretty);
    j->key_given = true;
}

void tw_json_string(tw_json *j, const char *text)
{
    before_value(j);
    if (text)
        write_quoted(j->out, text);
    else
        fputs_unlocked("null", j->out);
}

void tw_json_int(tw_json *j, int64_t x)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    before_value(j);
    do *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (x < 0) *--at = '-';
    fwrite_unlocked(at, 1, (size_t)(digits + sizeof digits - at), j->out);
}

/* As few digits as read back as the same number; whole ones up to 10^21 without an exponent. */
static void print_double(double x, char *out, size_t size)
{
    if (x > -1e21 && x < 1e21 && (x <= -0x1p53 || x >= 0x1p53))
        tw_snprintf(out, size, "%.0f", x);
    else
        for (int digits = 15; digits <= 17; digits++) {
            tw_snprintf(out, size, "%.*g", digits, x);
            if (tw_strtod(out, NULL) == x) break;
        }
}

void tw_json_number(tw_json *j, double x)
{
    char text[40];
    if (x > -0x1p53 && x < 0x1p53 && x == (double)(int64_t)x) {
        tw_json_int(j, (int64_t)x);
        return;
    }
    before_value(j);
    if (isfinite(x)) print_double(x, text, sizeof text);
    fputs_unlocked(isfinite(x) ? text : "null", j->out);
}

void tw_json_bool(tw_json *j, bool x)
{
    before_value(j);
    fputs_unlocked(x ? "true" : "false", j->out);
}

void tw_json_null(tw_json *j)
{
    before_value(j);
    fputs_unlocked("null", j->out);
}

void tw_json_raw(tw_json *j, const char *bytes, size_t n)
{
    before_value(j);
    fwrite_unlocked(bytes, 1, n, j->out);
}

void tw_json_end(tw_json *j)
{
    assert(j->depth == 0);
    putc_unlocked('\n', j->out);
}

void tw_json_key_string(tw_json *j, const char *key, const char *text)
{
    tw_json_key(j, key);
    tw_json_string(j, text);
}

void tw_json_key_int(tw_json *j, const char *key, int64_t x)
{
    tw_json_key(j, key);
    tw_json_int(j, x);
}

void tw_json_key_number(tw_json *j, const char *key, double x)
{
    tw_json_key(j, key);
    tw_json_number(j, x);
}

void tw_json_key_bool(tw_json *j, const char *key, bool x)
{
    tw_json_key(j, key);
    tw_json_bool(j, x);
}

void tw_json_key_null(tw_json *j, const char *key)
{
    tw_json_key(j, key);
    tw_json_null(j);
}

void tw_json_key_int_or_null(tw_json *j, const char *key, int64_t x, bool known)
{
    if (known)
        tw_json_key_int(j, key, x);
    else
        tw_json_key_null(j, key);
}

void tw_json_key_open(tw_json *j, const char *key, char kind)
{
    tw_json_key(j, key);
    tw_json_open(j, kind);
}

void tw_json_key_open_line(tw_json *j, const char *key, char kind)
{
    tw_json_key(j, key);
    tw_json_open_line(j, kind);
}
