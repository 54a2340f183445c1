/* src/report/text/losses_text.h - where the time goes, for people: one row per part, with a bar that begins where the one above ends.
 *
 *       speed       112 points per cycle, 44% of the peak of 256; array busy 99% of the time
 *
 *       peak        451'584   44%  ██████         115'605'504 points
 *       fill        580'608   56%        ████████ ox 7 of 16 columns
 *       end             559  0.1%               █ after the last execution
 *       time      1'032'838                                                                       */
#ifndef TW_REPORT_TEXT_LOSSES_TEXT_H
#define TW_REPORT_TEXT_LOSSES_TEXT_H
#include "report/facts/losses.h"
#include "write/line.h"

/* The fact "speed". */
void tw_speed_print(const tw_losses *losses, tw_line *line);
/* The rows, and an empty line. */
TW_NODISCARD tw_status tw_losses_print(const tw_losses *losses, tw_line *line, tw_arena *arena);
/* "8'486 cycles", and where the clock is known ", 8.49 us at 1'000 MHz". */
void tw_cycles_add(const tw_machine *machine, int64_t cycles, tw_text *out);
/* The kind of loss that costs most, "-" where that is less than 1 %. */
const char *tw_lost_to(const tw_losses *losses);
/* Tells that there is more: how to get advice, "" where that was asked for, and `what` the full report has. */
void tw_more_print(tw_line *line, const char *advice, const char *what);
#endif
