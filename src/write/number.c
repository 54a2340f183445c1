/* src/write/number.c - see number.h. */
#include "write/number.h"

#include <stdio.h>

/* In units of 1 / parts, rounded to the nearest once: 3.46 % is 3 %, and not 4 % by way of 3.5 %. */
static int64_t share_of(int64_t part, int64_t whole, int parts)
{
    return whole > 0 ? (int64_t)(((__int128)part * parts + whole / 2) / whole) : 0;
}

const char *tw_percent(int64_t part, int64_t whole, char out[TW_GROUPED_MAX])
{
    int64_t tenths = share_of(part, whole, 1000);
    if (part < whole && tenths >= 995)
        snprintf(out, TW_GROUPED_MAX, "99.%" PRId64 "%%", tw_min(tenths, 999) - 990);
    else if (part > 0 && tenths == 0)
        snprintf(out, TW_GROUPED_MAX, "<0.1%%");
    else if (tenths > 0 && tenths < 10)
        snprintf(out, TW_GROUPED_MAX, "0.%" PRId64 "%%", tenths);
    else
        snprintf(out, TW_GROUPED_MAX, "%" PRId64 "%%", share_of(part, whole, 100));
    return out;
}

/* a / b in units of 1 / parts, rounded to the nearest. */
static __int128 rounded(__int128 a, __int128 b, int parts) { return (a * parts + b / 2) / b; }

const char *tw_ratio(int64_t a, int64_t b, char out[TW_GROUPED_MAX])
{
    char whole[TW_GROUPED_MAX];
    if (b <= 0) {
        snprintf(out, TW_GROUPED_MAX, "-");
        return out;
    }
    __int128 hundredths = rounded(a, b, 100);
    snprintf(out, TW_GROUPED_MAX, "%.26s.%02d", tw_grouped((int64_t)(hundredths / 100), whole),
             (int)(hundredths % 100));
    return out;
}

const char *tw_rate(int64_t a, int64_t b, char out[TW_GROUPED_MAX])
{
    if (b > 0 && (a % b == 0 || rounded(a, b, 10) >= 1000)) return tw_grouped((int64_t)rounded(a, b, 1), out);
    if (b <= 0 || rounded(a, b, 100) < 1000) return tw_ratio(a, b, out);
    int tenths = (int)rounded(a, b, 10);
    snprintf(out, TW_GROUPED_MAX, "%d.%d", tenths / 10, tenths % 10);
    return out;
}

/* Three digits with the unit that makes the number less than a thousand; each unit is a thousand of the one before. */
static const char *scale(__int128 x, const char *const *unit, int n_units, char out[TW_GROUPED_MAX])
{
    char whole[TW_GROUPED_MAX];
    __int128 one = 1;
    int u = 0;
    for (; rounded(x, one, 1) >= 1000 && u + 1 < n_units; u++) one *= 1000;
    int64_t hundredths = (int64_t)rounded(x, one, 100), tenths = (int64_t)rounded(x, one, 10);
    if (u == 0 || tenths >= 1000)
        snprintf(out, TW_GROUPED_MAX, "%.26s %s", tw_grouped((int64_t)rounded(x, one, 1), whole), unit[u]);
    else if (hundredths >= 1000)
        snprintf(out, TW_GROUPED_MAX, "%d.%d %s", (int)(tenths / 10), (int)(tenths % 10), unit[u]);
    else
        snprintf(out, TW_GROUPED_MAX, "%d.%02d %s", (int)(hundredths / 100), (int)(hundredths % 100), unit[u]);
    return out;
}

const char *tw_energy(int64_t femtojoules, char out[TW_GROUPED_MAX])
{
    static const char *const unit[] = {"fJ", "pJ", "nJ", "uJ", "mJ", "J", "kJ"};
    __int128 digit = 1; /* what the third digit counts: energies are cut off, never more than they are */
    for (int64_t x = femtojoules; x >= 1000; x /= 10) digit *= 10;
    return scale(femtojoules / digit * digit, unit, TW_COUNT(unit), out);
}

const char *tw_duration(int64_t cycles, int64_t mhz, char out[TW_GROUPED_MAX])
{
    static const char *const unit[] = {"ps", "ns", "us", "ms", "s"};
    return scale((__int128)cycles * 1000000 / mhz, unit, TW_COUNT(unit), out);
}
