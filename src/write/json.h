/* src/write/json.h - JSON, written as it is known.
 *
 *     tw_json j = {.out = stdout, .pretty = true};
 *     tw_json_open(&j, '{');
 *     tw_json_key(&j, "ticks");  tw_json_int(&j, 11);
 *     tw_json_close(&j);
 *     tw_json_end(&j);                              ->  {"ticks": 11}
 *
 * The writer keeps the nesting, the commas and the quoting right; what is a wrong call order (a value without
 * a key inside an object, a close too many) is a mistake of ours and asserts. Nothing is kept in memory.
 * Containers opened with tw_json_open_line stay on one line in pretty output. */
#ifndef TW_WRITE_JSON_H
#define TW_WRITE_JSON_H
#include "core/core.h"

enum { TW_JSON_DEPTH = 32 };

typedef struct tw_json { /* zeroed but for `out` and `pretty`: ready */
    FILE *out;
    bool pretty; /* two spaces per level                          */
    int depth;
    int line_depth;            /* > 0: containers open inside a one-line one    */
    bool key_given;            /* a key was written, its value is due           */
    char kind[TW_JSON_DEPTH];  /* '{' or '['                                    */
    bool begun[TW_JSON_DEPTH]; /* the container has an element already          */
} tw_json;

void tw_json_open(tw_json *j, char kind);
void tw_json_open_line(tw_json *j, char kind);
void tw_json_close(tw_json *j);
void tw_json_key(tw_json *j, const char *key);
/* NULL becomes null. Bytes that are not UTF-8 become U+FFFD, so that the document is always valid; characters that are not
 * visible (core/utf8.h) are written by their numbers, so that a terminal may show it. */
void tw_json_string(tw_json *j, const char *text);
void tw_json_int(tw_json *j, int64_t x);
/* Whole numbers up to 10^21 are written as integers, all others so that they read back as the same; what is not finite
 * as null. */
void tw_json_number(tw_json *j, double x);
void tw_json_bool(tw_json *j, bool x);
void tw_json_null(tw_json *j);
/* A value that is JSON already. */
void tw_json_raw(tw_json *j, const char *bytes, size_t n);
/* After the last close: the newline that ends the document. */
void tw_json_end(tw_json *j);

/* Key and value, or the beginning of a container, in one call. */
void tw_json_key_open(tw_json *j, const char *key, char kind);
void tw_json_key_open_line(tw_json *j, const char *key, char kind);
void tw_json_key_string(tw_json *j, const char *key, const char *text);
void tw_json_key_int(tw_json *j, const char *key, int64_t x);
void tw_json_key_number(tw_json *j, const char *key, double x);
void tw_json_key_bool(tw_json *j, const char *key, bool x);
void tw_json_key_null(tw_json *j, const char *key);
void tw_json_key_int_or_null(tw_json *j, const char *key, int64_t x, bool known);
#endif
