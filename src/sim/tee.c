/* src/sim/tee.c - see tee.h. */
#include "sim/tee.h"

void tw_row_tee_add(tw_row_tee *tee, tw_row_sink sink)
{
    assert(tee->n < TW_TEE_MAX);
    tee->sink[tee->n++] = sink;
}

static tw_status begin(void *user, const tw_rowset *row)
{
    const tw_row_tee *tee = user;
    for (int i = 0; i < tee->n; i++)
        if (tee->sink[i].begin) TW_TRY(tee->sink[i].begin(tee->sink[i].user, row));
    return TW_OK;
}

static tw_status end(void *user, const tw_rowset *row)
{
    const tw_row_tee *tee = user;
    for (int i = 0; i < tee->n; i++)
        if (tee->sink[i].end) TW_TRY(tee->sink[i].end(tee->sink[i].user, row));
    return TW_OK;
}

tw_row_sink tw_row_tee_sink(tw_row_tee *tee) { return (tw_row_sink){begin, end, tee}; }
