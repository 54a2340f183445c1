/* src/write/number.c - see number.h. */
#include "write/number.h"

#include <stdio.h>

/* Tenths of a per cent, rounded to the nearest. */
static int64_t permille(int64_t part, int64_t whole)
{
    return whole > 0 ? (int64_t)(((__int128)part * 1000 + whole / 2) / whole) : 0;
}

const char *tw_percent(int64_t part, int64_t whole, char out[TW_GROUPED_MAX])
{
    int64_t tenths = permille(part, whole);
    if (part < whole && tenths >= 995)
        snprintf(out, TW_GROUPED_MAX, "99.%" PRId64 "%%", tw_min(tenths, 999) - 990);
    else if (part > 0 && tenths == 0)
        snprintf(out, TW_GROUPED_MAX, "<0.1%%");
    else if (tenths > 0 && tenths < 10)
        snprintf(out, TW_GROUPED_MAX, "0.%" PRId64 "%%", tenths);
    else
        snprintf(out, TW_GROUPED_MAX, "%" PRId64 "%%", (tenths + 5) / 10);
    return out;
}

const char *tw_ratio(int64_t a, int64_t b, char out[TW_GROUPED_MAX])
{
    char whole[TW_GROUPED_MAX];
    if (b <= 0)
        snprintf(out, TW_GROUPED_MAX, "-");
    else
        snprintf(out, TW_GROUPED_MAX, "%.26s.%02d", tw_grouped(a / b, whole), (int)((__int128)(a % b) * 100 / b));
    return out;
}

const char *tw_rate(int64_t a, int64_t b, char out[TW_GROUPED_MAX])
{
    char whole[TW_GROUPED_MAX];
    if (b > 0 && (a % b == 0 || a / b >= 1000)) return tw_grouped(a / b, out);
    if (b <= 0 || a / b < 10) return tw_ratio(a, b, out);
    snprintf(out, TW_GROUPED_MAX, "%.26s.%d", tw_grouped(a / b, whole), (int)((__int128)(a % b) * 10 / b));
    return out;
}

const char *tw_energy(int64_t femtojoules, char out[TW_GROUPED_MAX])
{
    static const char *const unit[] = {"fJ", "pJ", "nJ", "uJ", "mJ", "J", "kJ"};
    int64_t whole = femtojoules, rest = 0;
    size_t u = 0;
    for (; whole >= 1000 && u + 1 < TW_COUNT(unit); u++) {
        rest = whole % 1000;
        whole /= 1000;
    }
    if (u == 0 || whole >= 100)
        snprintf(out, TW_GROUPED_MAX, "%" PRId64 " %s", whole, unit[u]);
    else if (whole >= 10)
        snprintf(out, TW_GROUPED_MAX, "%" PRId64 ".%d %s", whole, (int)(rest / 100), unit[u]);
    else
        snprintf(out, TW_GROUPED_MAX, "%" PRId64 ".%02d %s", whole, (int)(rest / 10), unit[u]);
    return out;
}
