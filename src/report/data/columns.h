/* src/report/data/columns.h - the events of a plan as columns of small integers, and the head that explains them:
 * docs/design/report.md. Memory grows with the compressed columns, not with the events. */
#ifndef TW_REPORT_DATA_COLUMNS_H
#define TW_REPORT_DATA_COLUMNS_H
#include "core/table.h"
#include "report/trace/trace.h"
#include "write/json.h"
#include "write/packed.h"

enum {
    TW_COLUMN_KIND,
    TW_COLUMN_TIME,
    TW_COLUMN_DUR,
    TW_COLUMN_TAIL,
    TW_COLUMN_WORK,
    TW_COLUMN_DST,
    TW_COLUMN_SRC,
    TW_COLUMN_N_FREED,
    TW_COLUMN_FREED,
    TW_COLUMN_INDEX, /* of the first cut loop; the others follow */
    TW_N_COLUMNS = TW_COLUMN_INDEX + TW_MAX_LOOPS
};

typedef struct tw_columns {
    const tw_plan *plan;
    bool complete;
    int64_t n_events;
    int n_columns; /* that are used */
    tw_packer column[TW_N_COLUMNS];
    struct tw_columns_state *state;
} tw_columns;

/* Walks the plan, up to `max_events`. What is kept lives in `arena`, but for the columns: release them. */
TW_NODISCARD tw_status tw_columns_fill(tw_columns *c, const tw_plan *plan, int64_t max_events, tw_arena *arena,
                                       tw_diag *diag);
/* The head, as an object. */
void tw_columns_head(const tw_columns *c, tw_json *j);
/* All columns, one behind the other, in base64. */
TW_NODISCARD tw_status tw_columns_write(const tw_columns *c, FILE *out);
void tw_columns_release(tw_columns *c);
#endif
