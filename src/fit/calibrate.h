/* src/fit/calibrate.h - measurements and a machine in, the machine's parameters and how well they explain out. */
#ifndef TW_FIT_CALIBRATE_H
#define TW_FIT_CALIBRATE_H
#include "fit/clock.h"
#include "fit/data.h"

typedef struct tw_calibrate_request {
    const tw_machine *machine;
    const tw_data_use *data;
    int n_data;
    const tw_calibrate_options *options;
    tw_time_fn time; /* what a mapping takes: a later stage knows */
} tw_calibrate_request;
/* The machine of the result is for the caller to make: it has the values `after`. */
TW_NODISCARD tw_status tw_calibrate_run(const tw_calibrate_request *asked, const tw_work *work,
                                        tw_calibration *out);
#endif
