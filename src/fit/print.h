/* src/fit/print.h - a calibration for people and for programs. */
#ifndef TW_FIT_PRINT_H
#define TW_FIT_PRINT_H
#include "core/core.h"

TW_NODISCARD tw_status tw_calibration_text(const tw_calibration *c, const char *machine,
                                           const tw_print_options *options, tw_arena *scratch, FILE *out);
void tw_calibration_json(const tw_calibration *c, const char *machine, FILE *out);

/* Thousandths as a machine file has them: "31", "0.78". */
const char *tw_milli(int64_t x, char out[TW_GROUPED_MAX]);
#define TW_MILLI_TEXT(x) tw_milli((x), (char[TW_GROUPED_MAX]){0})
#endif
