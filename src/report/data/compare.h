/* src/report/data/compare.h - two documents, value by value. */
#ifndef TW_REPORT_DATA_COMPARE_H
#define TW_REPORT_DATA_COMPARE_H
#include "report/data/document.h"

typedef struct tw_difference {
    const tw_doc_value *of[2]; /* NULL: this document has no such value; never both */
} tw_difference;

/* Steps between which both networks have the end of a group, or of a step that runs by itself. */
typedef struct tw_compared_stretch {
    int64_t first, last; /* steps */
    int64_t groups[2];
    double cycles[2];
} tw_compared_stretch;

typedef struct tw_comparison_rows {
    const tw_document *doc[2];
    const char *remark[5]; /* what makes the two hard to compare */
    int n_remarks;
    bool same_units;
    const tw_difference *row; /* in the order of the first; what only the second has comes last */
    int64_t n_rows;
    const tw_compared_stretch
        *stretch; /* of networks with the same steps, one of which runs in groups; they add up to both times */
    int64_t n_stretches;
} tw_comparison_rows;

TW_NODISCARD tw_status tw_compare_build(const tw_document *a, const tw_document *b, tw_arena *arena,
                                        tw_comparison_rows *out);
/* The main differences, no wider than options->columns. */
TW_NODISCARD tw_status tw_compare_text(const tw_comparison_rows *rows, const tw_print_options *options,
                                       tw_arena *scratch, FILE *out);
/* All of them: docs/json.md, "Comparisons". */
void tw_compare_json(const tw_comparison_rows *rows, FILE *out);

/* Whether both are numbers that mean the same; then *change is second - first. */
bool tw_difference_change(const tw_comparison_rows *rows, const tw_difference *d, double *change);
/* 1: the second is better, -1: it is worse, 0: neither, or they cannot be compared. */
int tw_difference_better(const tw_comparison_rows *rows, const tw_difference *d);
/* Femtojoules. A machine without such costs has 0, which is not little. */
bool tw_doc_value_is_energy(const tw_doc_value *value);
#endif
