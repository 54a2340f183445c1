/* cli/value.h - values of options. Each reader ends the process with a usage error when the text is none. */
#ifndef TW_CLI_VALUE_H
#define TW_CLI_VALUE_H
#include <argp.h>
#include <stdint.h>

int64_t value_number(const struct argp_state *state, const char *option, const char *text, int64_t min,
                     int64_t max);
/* The index of `text` in `words`, which end with NULL. */
unsigned value_word(const struct argp_state *state, const char *option, const char *text, const char *const *words);
/* More than 0, with or without a point. */
double value_seconds(const struct argp_state *state, const char *option, const char *text);
/* More than 0 and at most 100, with or without a point and a '%'. */
double value_percent(const struct argp_state *state, const char *option, const char *text);
/* Bytes: 1048576, 1024KiB, 1MiB, 1 GB. */
int64_t value_bytes(const struct argp_state *state, const char *option, const char *text);
#endif
