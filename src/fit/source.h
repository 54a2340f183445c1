/* src/fit/source.h - a machine file with other numbers in it.
 *
 * The values of the parameters are put where the file has them; every other byte stays. */
#ifndef TW_FIT_SOURCE_H
#define TW_FIT_SOURCE_H
#include "machine/machine.h"

/* `text` is what the machine was read from. */
void tw_source_print(const tw_machine *machine, const char *text, size_t n, tw_text *out);
#endif
