/* src/report/facts/shown.h - which ticks of a long plan are printed. */
#ifndef TW_REPORT_FACTS_SHOWN_H
#define TW_REPORT_FACTS_SHOWN_H
#include "core/core.h"

/* At most this many ticks are a screenful; of more, the head and the tail. */
enum { TW_SHOWN_ALL = 24, TW_SHOWN_HEAD = 16, TW_SHOWN_TAIL = 4 };

typedef struct tw_shown {
    int64_t total; /* ticks of the plan        */
    int n_parts;   /* 0..2, in order, not empty */
    tw_span part[2];
} tw_shown;

/* As tw_print_options asks: n_rows 0 a screenful, -1 all, else that many from first_row on. */
tw_shown tw_shown_of(const tw_print_options *options, int64_t total);
/* Whether a row that spans these ticks is printed. */
bool tw_shown_has(const tw_shown *shown, tw_span ticks);
#endif
