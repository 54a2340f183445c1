/* src/sim/injection.h - the latest moment at which every tile can be sent.
 *
 * Forwards, every execution is put as early as the engines alone allow, as if buffers were without number. Then
 * backwards, every transfer of an input as late as its readers and the next command of its unit allow:
 *
 *     start(x) = min( earliest start of the readers of x - cost(x),   start of the next command on the unit - busy(x) )
 *
 * Nothing moves before its earliest time, since that schedule keeps all of these conditions. Executions and the
 * transfers of the output stay where they are. What a memory then holds at once is what this schedule needs of it.
 *
 * The plain schedule knows neither: T(q) is the sum of the executions before, a transfer starts at T less the latencies
 * of the links from there inwards. */
#ifndef TW_SIM_INJECTION_H
#define TW_SIM_INJECTION_H
#include "program/program.h"

/* Commands that may be kept for the way back. */
enum { TW_INJECTION_MAX = 1 << 22 };

typedef struct tw_injection_request {
    const tw_injection_options *options;
    tw_injection_fn fn; /* sees the rows; NULL: nobody does */
    void *user;
} tw_injection_request;
/* `n_instrs`: of the whole program. TW_INFEASIBLE when they are too many. */
TW_NODISCARD tw_status tw_injection_run(const tw_program *program, int64_t n_instrs,
                                        const tw_injection_request *asked, const tw_work *work,
                                        const tw_injection_summary **out);
#endif
