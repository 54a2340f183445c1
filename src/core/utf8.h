/* src/core/utf8.h - names come from other people's files, and need not be what they claim to be.
 *
 * Everything that a person sees (terminal, tables, pictures, messages) shows a name in its visible form: characters
 * stand for themselves, and what could steer a terminal, reorder a line or break it is written out: "\x1b" for a control
 * character or a byte that is not UTF-8, "\u202e" for a character that has no shape of its own but moves others. The public
 * interface has it one character at a time (tw_visible_next). */
#ifndef TW_CORE_UTF8_H
#define TW_CORE_UTF8_H
#include "core/core.h"

/* Length of the UTF-8 sequence at `s`, which ends with a zero; 0 when it is none: overlong forms, surrogates and what is
 * above U+10FFFF are refused. */
int tw_utf8_length(const char *s);
/* The character of a sequence of n bytes. */
unsigned tw_utf8_decode(const char *s, int n);
/* Whether the character may be shown as it is: no control character, no mark that reorders or ends lines, no
 * non-character. */
bool tw_utf8_is_visible(unsigned character);
/* Adds the visible form of a text that ends with a zero. */
void tw_text_add_visible(tw_text *t, const char *text);
/* Bytes of a byte order mark in front of a text: 3 or 0. Editors and spreadsheets put it there, and every reader of text
 * skips it. */
size_t tw_utf8_mark(const char *text, size_t n);
/* The byte behind the last that is visible UTF-8; n when all is. Tabs are taken as visible. */
size_t tw_utf8_visible_span(const char *text, size_t n);
#endif
