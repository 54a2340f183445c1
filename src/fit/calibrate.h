/* src/fit/calibrate.h - measurements and a machine in, the machine's parameters and how well they explain out. */
#ifndef TW_FIT_CALIBRATE_H
#define TW_FIT_CALIBRATE_H
#include "fit/clock.h"
#include "fit/data.h"

/* The machine of the result is for the caller to make: it has the values `after`. */
TW_NODISCARD tw_status tw_calibrate_run(const tw_machine *machine, const tw_data_use *data, int n_data,
                                        const tw_calibrate_options *options, tw_time_fn time, tw_arena *arena,
                                        tw_arena *scratch, tw_diag *diag, tw_calibration *out);
#endif
