/* src/fit/errors.h - how good predictions are: numbers about rows that were measured and predicted. */
#ifndef TW_FIT_ERRORS_H
#define TW_FIT_ERRORS_H
#include "core/core.h"

/* Which rows. */
typedef struct tw_row_choice {
    const char *file; /* NULL: of any */
    bool test;
} tw_row_choice;

/* Whether it has both numbers. */
static inline bool tw_row_is_timed(const tw_row_fit *row) { return row->measured > 0 && row->predicted > 0; }
/* predicted / measured - 1 */
static inline double tw_row_error(const tw_row_fit *row)
{
    return (double)row->predicted / (double)row->measured - 1;
}

/* No rows: all zero. */
TW_NODISCARD tw_status tw_errors_of(const tw_row_fit *row, int n, tw_row_choice choice, tw_arena *scratch,
                                    tw_error_summary *out);
/* The workloads of each file that were measured with many tiles, in the order of the rows. */
TW_NODISCARD tw_status tw_sweeps_of(const tw_row_fit *row, int n, tw_arena *arena, const tw_sweep_summary **out,
                                    int *n_out);
#endif
