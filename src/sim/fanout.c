/* src/sim/fanout.c - see fanout.h. */
#include "sim/fanout.h"

void tw_row_fanout_add(tw_row_fanout *fanout, tw_row_sink sink)
{
    assert(fanout->n < TW_FANOUT_MAX);
    fanout->sink[fanout->n++] = sink;
}

static tw_status begin(void *user, const tw_rowset *row)
{
    const tw_row_fanout *fanout = user;
    for (int i = 0; i < fanout->n; i++)
        if (fanout->sink[i].begin) TW_TRY(fanout->sink[i].begin(fanout->sink[i].user, row));
    return TW_OK;
}

static tw_status end(void *user, const tw_rowset *row)
{
    const tw_row_fanout *fanout = user;
    for (int i = 0; i < fanout->n; i++)
        if (fanout->sink[i].end) TW_TRY(fanout->sink[i].end(fanout->sink[i].user, row));
    return TW_OK;
}

tw_row_sink tw_row_fanout_sink(tw_row_fanout *fanout) { return (tw_row_sink){begin, end, fanout}; }
