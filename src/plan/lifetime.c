/* src/plan/lifetime.c - see lifetime.h. */
#include "plan/lifetime.h"

typedef struct watch {
    tw_buffer_info *info;
} watch;

static void touch(watch *w, int buffer, const tw_event *event, bool writes)
{
    if (buffer < 0) return;
    tw_buffer_info *info = &w->info[buffer];
    bool fresh = info->reads + info->writes == 0;
    info->first = fresh ? event->start_cycle : tw_min(info->first, event->start_cycle);
    info->last = fresh ? event->end_cycle : tw_max(info->last, event->end_cycle);
    if (writes)
        info->writes++;
    else
        info->reads++;
}

/* The execution of a level that is tiled further touches nothing itself: the rows inside it do. */
static tw_status see_row(void *user, const tw_rowset *row)
{
    watch *w = user;
    for (int i = 0; i < row->n_events; i++) {
        const tw_instr *instr = &row->event[i].instr;
        for (int s = 0; s < instr->n_src; s++) touch(w, instr->src[s], &row->event[i], false);
        touch(w, instr->dst, &row->event[i], true);
    }
    return TW_OK;
}

tw_status tw_lifetimes_of(const tw_op_plan *plan, const tw_work *work, tw_buffer_info **out)
{
    const tw_program *p = &plan->program;
    watch w;
    tw_timeline ignored;
    TW_ALLOC(work->arena, w.info, tw_max(p->layout.n_buffers, 1));
    for (int i = 0; i < p->layout.n_buffers; i++) {
        const tw_buffer *b = &p->layout.buffer[i];
        w.info[i] = (tw_buffer_info){.memory = p->machine->memory[b->memory].name,
                                     .operand = p->op->operand[b->operand].name,
                                     .slot = b->slot,
                                     .offset = b->offset,
                                     .size = b->size,
                                     .last = -1};
    }
    *out = w.info;
    return tw_timeline_walk(p, &(tw_row_sink){see_row, NULL, &w}, work->scratch, work->diag, &ignored);
}
