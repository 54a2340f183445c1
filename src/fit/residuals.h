/* src/fit/residuals.h - predicted over measured, against measured, drawn with characters. */
#ifndef TW_FIT_RESIDUALS_H
#define TW_FIT_RESIDUALS_H
#include "write/line.h"

/* Nothing when no row has both numbers. */
TW_NODISCARD tw_status tw_residuals_draw(const tw_calibration *c, tw_arena *scratch, tw_line *line);
#endif
