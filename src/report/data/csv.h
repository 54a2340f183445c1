/* src/report/data/csv.h - what the CSV tables of a plan have in common.
 *
 * Names of operators, engines, memories, operands and loops have no quotes, commas or line ends, the readers refuse
 * those: cells need no quoting. Operators may differ in their loops, so each loop name has a column, empty for
 * operators without such a loop. */
#ifndef TW_REPORT_DATA_CSV_H
#define TW_REPORT_DATA_CSV_H
#include "model/model.h"

#include <stdio.h>

typedef struct tw_csv_loops {
    int n;
    const char *const *name;
} tw_csv_loops;

/* The loops of all operators, in the order in which they first occur. */
TW_NODISCARD tw_status tw_csv_loops_init(tw_csv_loops *loops, const tw_model *model, tw_arena *arena);
/* ",loop_m,loop_n" and ",0,3" */
void tw_csv_put_titles(const tw_csv_loops *loops, FILE *out);
void tw_csv_put_indices(const tw_csv_loops *loops, const tw_op *op, const int64_t *index, FILE *out);
#endif
