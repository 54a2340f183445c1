/* src/report/data/jsonrows.h - a plan's document without its rows.
 *
 * A document may carry every command of the plan in its lists `rows`: a hundred times what the rest takes, and a reader that
 * builds values needs twenty times as much memory again. Whoever does not ask for rows reads this instead: each such list is
 * checked, entry by entry, and left empty. */
#ifndef TW_REPORT_DATA_JSONROWS_H
#define TW_REPORT_DATA_JSONROWS_H
#include "core/core.h"

typedef struct tw_json_cut {
    size_t at, removed; /* behind byte `at` of the short text so many bytes of the long one are missing */
} tw_json_cut;

typedef struct tw_json_short {
    const char *text;
    size_t n;
    const tw_json_cut *cut;
    int64_t n_cuts;
} tw_json_short;

/* `text` without the entries of its lists called `rows`. Lists that are no JSON stay: who reads the short text finds out. */
TW_NODISCARD tw_status tw_json_without_rows(const char *text, size_t n, tw_arena *arena, tw_json_short *out);
/* The place in the long text of byte `at` of the short one. */
size_t tw_json_long_place(const tw_json_short *shorter, size_t at);
#endif
