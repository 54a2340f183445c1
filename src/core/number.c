/* src/core/number.c - numbers as text, by no locale.
 *
 * A program that uses the library may have called setlocale(): printf then writes "1,75" and strtod reads "1.75" as 1. What the
 * library reads and writes is the same everywhere, so every text that may hold a number with a point is made here, under the
 * locale "C", for this thread and for as long as it takes. (glibc and musl hand out one and the same "C" locale, without
 * allocating: it is never freed.) */
#include "core/core.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static locale_t plain(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

int tw_vsnprintf(char *out, size_t room, const char *fmt, va_list args)
{
    locale_t c = plain(), before = c ? uselocale(c) : (locale_t)0;
    int n = vsnprintf(out, room, fmt, args);
    if (before) uselocale(before);
    if (n > 0 && room > 0 && (size_t)n >= room) out[tw_utf8_cut(out, (int)room - 1)] = 0;
    return n;
}

int tw_snprintf(char *out, size_t room, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = tw_vsnprintf(out, room, fmt, args);
    va_end(args);
    return n;
}

int tw_fprintf(FILE *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    locale_t c = plain(), before = c ? uselocale(c) : (locale_t)0;
    int n = vfprintf(out, fmt, args);
    if (before) uselocale(before);
    va_end(args);
    return n;
}

double tw_strtod(const char *text, char **end)
{
    locale_t c = plain();
    return c ? strtod_l(text, end, c) : strtod(text, end);
}

float tw_strtof(const char *text, char **end)
{
    locale_t c = plain();
    return c ? strtof_l(text, end, c) : strtof(text, end);
}

int tw_by_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int tw_by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
