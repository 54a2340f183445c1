/* src/report/facts/shown.c - see shown.h. */
#include "report/facts/shown.h"

static void add_part(tw_shown *shown, int64_t lo, int64_t hi)
{
    tw_span part = tw_span_clip((tw_span){lo, hi}, 0, shown->total);
    if (tw_span_len(part) > 0) shown->part[shown->n_parts++] = part;
}

tw_shown tw_shown_of(const tw_print_options *options, int64_t total)
{
    tw_shown shown = {.total = total};
    int64_t first = tw_max(options->first_row, 0), n = options->n_rows;
    if (n < 0 || (n == 0 && total <= TW_SHOWN_ALL)) {
        add_part(&shown, 0, total);
    } else if (n == 0) {
        add_part(&shown, 0, TW_SHOWN_HEAD);
        add_part(&shown, total - TW_SHOWN_TAIL, total);
    } else {
        add_part(&shown, first, n > INT64_MAX - first ? INT64_MAX : first + n);
    }
    return shown;
}

bool tw_shown_has(const tw_shown *shown, tw_span ticks)
{
    for (int i = 0; i < shown->n_parts; i++)
        if (ticks.lo < shown->part[i].hi && shown->part[i].lo < ticks.hi) return true;
    return false;
}
