/* src/plan/touch.c - see touch.h. */
#include "plan/touch.h"

typedef struct watcher {
    tw_touch *of;
    int64_t n_rows, n_instrs;
    bool too_long;
} watcher;

static void touch(const watcher *w, int buffer, bool reads, bool writes)
{
    if (buffer < 0) return;
    tw_touch *t = &w->of[buffer];
    if (t->upper == 0) t->lower = w->n_rows;
    t->upper = w->n_rows + 1;
    t->reads += reads;
    t->writes += writes;
}

static tw_status see_row(void *user, const tw_rowset *row)
{
    watcher *w = user;
    w->n_instrs += row->n_events;
    w->too_long = w->n_instrs > TW_TOUCHES_MOST;
    if (w->too_long) return TW_INFEASIBLE;
    for (int i = 0; i < row->n_events; i++) {
        const tw_instr *in = &row->event[i].instr;
        for (int k = 0; k < in->n_src; k++) touch(w, in->src[k], true, false);
        touch(w, in->dst, in->accumulates, true);
    }
    w->n_rows++;
    return TW_OK;
}

tw_status tw_touches_watch(const tw_program *program, const tw_work *work, tw_timeline *timeline, tw_touches *out)
{
    watcher w = {0};
    tw_row_sink sink = {see_row, NULL, &w};
    TW_ALLOC(work->arena, w.of, program->layout.n_buffers + 1);
    tw_status status = tw_timeline_walk(program, &sink, work->scratch, work->diag, timeline);
    *out = (tw_touches){.n_commands = w.n_rows, .of = w.of};
    if (!w.too_long) return status;
    *out = (tw_touches){0};
    return tw_timeline_run(program, work->scratch, work->diag, timeline);
}
