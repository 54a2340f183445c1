/* cli/value.c - see value.h. */
#include "value.h"
#include "tilewright/tilewright.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t value_number(const struct argp_state *state, const char *option, const char *text, int64_t min, int64_t max)
{
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (errno || end == text || *end || x < min || x > max)
        argp_error(state, "%s takes a number from %lld to %lld, not '%s'", option, (long long)min, (long long)max,
                   text);
    return x;
}

unsigned value_word(const struct argp_state *state, const char *option, const char *text, const char *const *words)
{
    char list[200] = "";
    unsigned n = 0;
    for (; words[n]; n++) {
        if (strcmp(words[n], text) == 0) return n;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", words[n]);
    }
    const char *near = tw_nearest_word(text, words, (int)n);
    argp_error(state, "%s takes one of %s, not '%s'%s%s%s", option, list, text, near ? "; did you mean '" : "",
               near ? near : "", near ? "'?" : "");
    return 0;
}

/* Whether it is a number above 0 and at most `most`. */
static bool is_decimal(const char *text, double most, double *out)
{
    char *end;
    *out = strtod(text, &end);
    bool decimal = *text && strspn(text, "0123456789.") == strlen(text); /* strtod reads more: 0x1p3, inf */
    return decimal && !*end && *out > 0 && *out <= most;
}

double value_seconds(const struct argp_state *state, const char *option, const char *text)
{
    double x;
    if (!is_decimal(text, 1e9, &x))
        argp_error(state, "%s takes seconds, more than 0 and at most 1000000000, not '%s'", option, text);
    return x;
}

double value_percent(const struct argp_state *state, const char *option, const char *text)
{
    double x;
    char number[32] = "";
    size_t n = strlen(text), sign = n > 0 && text[n - 1] == '%';
    if (n - sign < sizeof number) memcpy(number, text, n - sign);
    if (!is_decimal(number, 100, &x))
        argp_error(state, "%s takes a percentage, more than 0 and at most 100, not '%s'", option, text);
    return x;
}

/* What a suffix stands for, 0 when it is none. They are those of machine files. */
static int64_t bytes_of_suffix(const char *suffix)
{
    static const struct {
        const char *suffix;
        int64_t bytes;
    } list[] = {{"", 1},          {"B", 1},         {"kB", 1000},    {"MB", 1000000}, {"GB", 1000000000},
                {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(suffix, list[i].suffix) == 0) return list[i].bytes;
    return 0;
}

int64_t value_bytes(const struct argp_state *state, const char *option, const char *text)
{
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    bool begins = end != text && *text >= '0' && *text <= '9';
    int64_t unit = bytes_of_suffix(end + strspn(end, " ")), bytes = 0;
    if (errno || !begins || unit == 0 || x <= 0 || __builtin_mul_overflow(x, unit, &bytes))
        argp_error(state, "%s takes a size such as 512MiB, not '%s'", option, text);
    return bytes;
}
