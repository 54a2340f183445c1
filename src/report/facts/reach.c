/* src/report/facts/reach.c - see reach.h. */
#include "report/facts/reach.h"
#include "report/facts/cuts.h"
#include "tile/box.h"

typedef struct walk {
    const tw_program *program;
    const tw_axis *axis;
    int level;
    tw_box box[TW_MAX_MEMORIES + 1]; /* box[t] is what level t cuts */
    tw_reach reach;
} walk;

/* Cuts the loop of the axis' term, level by level, then the next one's. */
static void visit(walk *w, int term, int level)
{
    if (level > w->level) {
        level = 0;
        term++;
    }
    if (term >= w->axis->n_terms) {
        tw_span reach = tw_span_clip(tw_axis_reach(w->axis, &w->box[w->level + 1]), 0, w->axis->extent);
        w->reach.sum += tw_span_len(reach);
        w->reach.most = tw_max(w->reach.most, tw_span_len(reach));
        return;
    }
    int l = w->axis->term[term].loop;
    tw_span from = w->box[level].span[l];
    tw_split split = tw_level_split(w->program->tiled[level].map, l, tw_span_len(from));
    for (int64_t i = 0; i < split.count; i++) {
        w->box[level + 1].span[l] = tw_split_at(&split, from.lo, i);
        visit(w, term, level + 1);
    }
}

tw_reach tw_reach_of(const tw_program *program, const tw_axis *axis, int level)
{
    if (level < 0) {
        tw_box all = tw_box_of_op(program->op);
        int64_t len = tw_span_len(tw_span_clip(tw_axis_reach(axis, &all), 0, axis->extent));
        return (tw_reach){len, len};
    }
    if (axis->n_terms == 1 && axis->term[0].coef == 1 && !tw_axis_is_clipped(program->op, axis)) {
        int l = axis->term[0].loop; /* tiles lie side by side, and may be many */
        return (tw_reach){program->op->loop[l].extent, tw_cuts_of(program).level[level].largest[l]};
    }
    walk w = {.program = program, .axis = axis, .level = level};
    for (int t = 0; t <= level + 1; t++) w.box[t] = tw_box_of_op(program->op);
    visit(&w, 0, 0);
    return w.reach;
}
