/* src/write/number.h - numbers for people, computed with integers so that they print the same everywhere.
 *
 * Each writes into a buffer of its caller and returns it; the macros bring a buffer along that lives as long as the
 * block they stand in. */
#ifndef TW_WRITE_NUMBER_H
#define TW_WRITE_NUMBER_H
#include "core/core.h"

/* "73%", "0.4%", "99.8%": a whole number, but for what would otherwise round to nothing or to all. */
const char *tw_percent(int64_t part, int64_t whole, char out[TW_GROUPED_MAX]);
/* a / b with two digits behind the point, rounded as the page does; "-" where there is no such number. */
const char *tw_ratio(int64_t a, int64_t b, char out[TW_GROUPED_MAX]);
/* The same with as many digits as a person wants to read: "0.42", "28.2", "128", "1'024". */
const char *tw_rate(int64_t a, int64_t b, char out[TW_GROUPED_MAX]);
/* Three digits and a unit from ns to s, of cycles at so many MHz: "1.23 ms". */
const char *tw_duration(int64_t cycles, int64_t mhz, char out[TW_GROUPED_MAX]);
/* Three digits and a unit from fJ to J, cut off: "12.3 nJ". */
const char *tw_energy(int64_t femtojoules, char out[TW_GROUPED_MAX]);

#define TW_GROUPED(x)            tw_grouped((x), (char[TW_GROUPED_MAX]){0})
#define TW_PERCENT(part, all)    tw_percent((part), (all), (char[TW_GROUPED_MAX]){0})
#define TW_RATIO(a, b)           tw_ratio((a), (b), (char[TW_GROUPED_MAX]){0})
#define TW_RATE(a, b)            tw_rate((a), (b), (char[TW_GROUPED_MAX]){0})
#define TW_DURATION(cycles, mhz) tw_duration((cycles), (mhz), (char[TW_GROUPED_MAX]){0})
#define TW_ENERGY(femtojoules)   tw_energy((femtojoules), (char[TW_GROUPED_MAX]){0})
#endif
