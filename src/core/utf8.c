/* src/core/utf8.c - which bytes are characters, and which characters may be shown; see utf8.h. */
#include "core/utf8.h"

#include <stdio.h>
#include <string.h>

static bool continues(unsigned char c) { return (c & 0xc0) == 0x80; }

int tw_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) return continues(s[1]) ? 2 : 0;
    if ((s[0] & 0xf0) == 0xe0) {
        if (!continues(s[1]) || !continues(s[2])) return 0;
        bool overlong = s[0] == 0xe0 && s[1] < 0xa0, surrogate = s[0] == 0xed && s[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        if (!continues(s[1]) || !continues(s[2]) || !continues(s[3])) return 0;
        bool overlong = s[0] == 0xf0 && s[1] < 0x90, beyond = s[0] == 0xf4 && s[1] > 0x8f;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

unsigned tw_utf8_decode(const char *s, int n)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned c = (unsigned char)s[0] & first_bits[n];
    for (int i = 1; i < n; i++) c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return c;
}

/* Bytes of the sequence that such a byte begins; 1 where it begins none. */
static int promised(unsigned char lead)
{
    return lead > 0xf4 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

int tw_utf8_cut(const char *text, int most)
{
    int n = text ? (int)strnlen(text, (size_t)most) : 0, tail = 1;
    while (tail < 4 && tail < n && continues((unsigned char)text[n - tail])) tail++;
    return n == most && n > 0 && promised((unsigned char)text[n - tail]) > tail ? n - tail : n;
}

bool tw_utf8_is_visible(unsigned c)
{
    static const struct {
        unsigned from, to;
    } hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},       /* control characters                          */
        {0xad, 0xad},     {0x61c, 0x61c},     /* soft hyphen; Arabic letter mark             */
        {0x180e, 0x180e}, {0x200b, 0x200f},   /* no width; marks of direction                */
        {0x2028, 0x202e}, {0x2060, 0x206f},   /* ends of lines; overrides, isolates          */
        {0xfeff, 0xfeff}, {0xfff9, 0xfffb},   /* byte order mark; annotations                */
        {0xfdd0, 0xfdef}, {0xe0000, 0xe0fff}, /* non-characters; tags                        */
    };
    if ((c & 0xfffe) == 0xfffe) return false;
    for (size_t i = 0; i < TW_COUNT(hidden); i++)
        if (c >= hidden[i].from && c <= hidden[i].to) return false;
    return true;
}

int tw_visible_next(const char *s, char out[TW_VISIBLE_MAX])
{
    int n = tw_utf8_length(s);
    unsigned c = n > 0 ? tw_utf8_decode(s, n) : (unsigned char)*s;
    if (n > 0 && tw_utf8_is_visible(c)) {
        memcpy(out, s, (size_t)n);
        out[n] = 0;
    } else if (n <= 1) {
        snprintf(out, TW_VISIBLE_MAX, "\\x%02x", c);
    } else {
        snprintf(out, TW_VISIBLE_MAX, c > 0xffff ? "\\U%06x" : "\\u%04x", c);
    }
    return n > 0 ? n : 1;
}

int tw_visible_width(const char *form) { return (unsigned char)form[0] < 0x80 ? (int)strlen(form) : 1; }

void tw_text_add_visible(tw_text *t, const char *text)
{
    for (char form[TW_VISIBLE_MAX]; *text;) {
        text += tw_visible_next(text, form);
        tw_text_add(t, form, strlen(form));
    }
}

size_t tw_utf8_mark(const char *text, size_t n) { return n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; }

size_t tw_utf8_visible_span(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n) {
        char padded[5] = {0};
        memcpy(padded, text + at, n - at < 4 ? n - at : 4);
        int length = tw_utf8_length(padded);
        if (length == 0) return at;
        if (*padded != '\t' && !tw_utf8_is_visible(tw_utf8_decode(padded, length))) return at;
        at += (size_t)length;
    }
    return n;
}
