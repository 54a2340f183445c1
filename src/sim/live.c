/* src/sim/live.c - see live.h for the picture. */
#include "sim/live.h"

tw_status tw_live_init(tw_live *live, int n_slots, tw_arena *arena)
{
    *live = (tw_live){.n_segments = 1};
    TW_ALLOC(arena, live->segment, n_slots + 1);
    return TW_OK;
}

void tw_live_doubt(tw_live *live, int64_t row, int64_t size)
{
    live->in_doubt += size;
    if (live->segment[live->n_segments - 1].from < row)
        live->segment[live->n_segments++] = (tw_live_segment){row, 0};
}

static void merge(tw_live *live, int i)
{
    tw_live_segment *s = live->segment;
    s[i - 1].peak = tw_max(s[i - 1].peak, s[i].peak);
    for (int k = i; k + 1 < live->n_segments; k++) s[k] = s[k + 1];
    live->n_segments--;
}

void tw_live_settle(tw_live *live, int64_t row, int64_t size, bool was_alive, bool shared)
{
    live->in_doubt -= size;
    int i = live->n_segments - 1;
    for (; live->segment[i].from > row; i--)
        if (was_alive) live->segment[i].peak += size;
    assert(live->segment[i].from == row);
    if (was_alive) live->segment[i].peak += size;
    if (!shared && i > 0) merge(live, i);
}

int64_t tw_live_close(tw_live *live, int64_t row, int64_t change)
{
    live->alive += change;
    int64_t certain = live->alive - live->in_doubt;
    tw_live_segment *newest = &live->segment[live->n_segments - 1];
    assert(newest->from <= row);
    (void)row;
    newest->peak = tw_max(newest->peak, certain);
    return certain;
}

int64_t tw_live_peak(const tw_live *live)
{
    int64_t peak = 0;
    for (int i = 0; i < live->n_segments; i++) peak = tw_max(peak, live->segment[i].peak);
    return peak;
}
