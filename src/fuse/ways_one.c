/* src/fuse/ways_one.c - all ways to run a few operators as one group on one core: see ways.h. A first walk counts, a second one writes what a mapping may say. */
#include "fuse/ways.h"
#include "mapping/groups.h"
#include "tile/box.h"

#include <string.h>

enum { MOST_CUTS = 2, MOST_TENSORS = 24, ON_CHIP = 1 };

typedef struct tensor { /* of the segment */
    int tensor;
    bool comes, goes; /* into the segment, out of it */
    bool slides;      /* it may */
} tensor;

typedef struct lister {
    tw_segment segment;
    const tw_machine *machine;
    tw_arena *arena;
    int view[TW_MAX_GROUP_OPS];
    int n_tensors;
    tensor tensor[MOST_TENSORS];
    int64_t n_counted, most;
    tw_ways *out; /* NULL: they are counted */
    tw_way *way;
    /* the way at hand */
    int n_cuts;
    tw_nest_cut cut[MOST_CUTS];
    const tw_group_op *op; /* as the cuts ask */
} lister;

static const tw_op *driver_of(const lister *w) { return tw_segment_op(&w->segment, w->segment.n - 1); }

/* The first engine of each operator; false: one has none that works on the memory. */
static bool find_views(lister *w)
{
    const tw_platform *p = w->machine->platform;
    for (int k = 0; k < w->segment.n; k++) {
        int v = 0;
        while (v < p->n_views && !tw_machine_computes(&p->view[v].machine, tw_segment_op(&w->segment, k))) v++;
        if (v == p->n_views || p->engine[p->view[v].engine].is.memory != ON_CHIP) return false;
        w->view[k] = v;
    }
    return true;
}

static tensor *find_tensor(lister *w, int number)
{
    for (int i = 0; i < w->n_tensors; i++)
        if (w->tensor[i].tensor == number) return &w->tensor[i];
    if (w->n_tensors == MOST_TENSORS) return NULL;
    w->tensor[w->n_tensors] = (tensor){.tensor = number};
    return &w->tensor[w->n_tensors++];
}

/* False: there are too many. */
static bool list_tensors(lister *w)
{
    for (int k = 0; k < w->segment.n; k++) {
        const tw_op *op = tw_segment_op(&w->segment, k);
        for (int o = 0; o < op->n_operands; o++) {
            tensor *t = find_tensor(w, op->operand[o].tensor);
            if (!t) return false;
            int maker = tw_segment_maker(&w->segment, t->tensor);
            t->comes = maker < 0;
            t->goes = maker == w->segment.n - 1;
            t->slides |= !t->goes && !op->operand[o].weights;
        }
    }
    return true;
}

/* ---- one way ---- */

/* Operators with what lies over the array for the first tile, which is the largest. */
static tw_status write_ops(lister *w)
{
    tw_group_op *op;
    tw_box tile = tw_box_of_op(driver_of(w)), box[TW_MAX_GROUP_OPS];
    for (int c = 0; c < w->n_cuts; c++) tile.span[w->cut[c].loop].hi = w->cut[c].size;
    tw_segment_boxes(&w->segment, &tile, box);
    TW_ALLOC(w->arena, op, w->segment.n);
    for (int k = 0; k < w->segment.n; k++) {
        op[k] = (tw_group_op){.op = w->segment.first + k, .view = w->view[k]};
        op[k].over = tw_ways_lay_over(&w->machine->platform->view[w->view[k]].machine,
                                      tw_segment_op(&w->segment, k), &box[k]);
    }
    w->op = op;
    return TW_OK;
}

static tw_status write_group(const lister *w, const tw_hold *hold, tw_group_map *out)
{
    tw_group_level *level;
    tw_nest_cut *cut;
    tw_hold *own;
    TW_ALLOC(w->arena, level, 1);
    TW_ALLOC(w->arena, cut, MOST_CUTS);
    TW_ALLOC(w->arena, own, w->n_tensors);
    memcpy(cut, w->cut, sizeof w->cut);
    memcpy(own, hold, (size_t)w->n_tensors * sizeof *own);
    *level = (tw_group_level){.memory = ON_CHIP, .depth = w->n_cuts};
    *out = (tw_group_map){.name = driver_of(w)->name,
                          .n_ops = w->segment.n,
                          .op = w->op,
                          .n_cuts = w->n_cuts,
                          .cut = cut,
                          .n_levels = 1,
                          .level = level,
                          .n_holds = w->n_tensors,
                          .hold = own};
    return TW_OK;
}

/* The way with these holds, unless no mapping may say it. */
static tw_status put(lister *w, const tw_hold *hold)
{
    tw_group_map *group;
    tw_diag muted = {.muted = true};
    tw_arena_mark mark = tw_arena_save(w->arena);
    TW_ALLOC(w->arena, group, 1);
    TW_TRY(write_group(w, hold, group));
    const tw_grouping one = {
        .model = w->segment.model, .machine = w->machine, .n = 1, .group = group, .diag = &muted};
    tw_status status = tw_grouping_check_one(&one, 0);
    if (status == TW_OK)
        w->way[w->out->n++] = (tw_way){1, group, ON_CHIP};
    else
        tw_arena_rewind(w->arena, mark);
    return status == TW_ERR_NOMEM ? status : TW_OK;
}

/* ---- all ways ---- */

static int64_t count_slides(const lister *w)
{
    int64_t n = 1;
    for (int i = 0; i < w->n_tensors && w->n_cuts > 0; i++) n <<= w->tensor[i].slides;
    return n;
}

static tw_status list_slots(lister *w, const bool *slides)
{
    int most = w->n_cuts > 0 ? 2 : 1;
    tw_hold hold[MOST_TENSORS];
    for (int in = 1; in <= most; in++)
        for (int out = 1; out <= most; out++) {
            for (int i = 0; i < w->n_tensors; i++) {
                const tensor *t = &w->tensor[i];
                hold[i] = (tw_hold){.tensor = t->tensor,
                                    .memory = ON_CHIP,
                                    .depth = -1,
                                    .slots = t->goes    ? out
                                             : t->comes ? in
                                                        : 1,
                                    .slide = slides[i] ? 1 + w->cut[w->n_cuts - 1].loop : 0};
            }
            TW_TRY(put(w, hold));
        }
    return TW_OK;
}

/* Buffers and slides for the cuts at hand. */
static tw_status list_holds(lister *w)
{
    int64_t n = count_slides(w);
    w->n_counted += n * (w->n_cuts > 0 ? 4 : 1);
    if (!w->out) return TW_OK;
    TW_TRY(write_ops(w));
    for (int64_t set = 0; set < n; set++) {
        bool slides[MOST_TENSORS] = {false};
        int bit = 0;
        for (int i = 0; i < w->n_tensors; i++)
            if (w->tensor[i].slides) slides[i] = set >> bit++ & 1;
        TW_TRY(list_slots(w, slides));
    }
    return TW_OK;
}

static tw_status list_cuts(lister *w, unsigned used)
{
    const tw_op *op = driver_of(w);
    TW_TRY(list_holds(w));
    if (w->n_cuts == MOST_CUTS) return TW_OK;
    for (int l = 0; l < op->n_loops; l++) {
        if (op->loop[l].reduces || (used >> l & 1)) continue;
        for (int64_t size = 1; size < op->loop[l].extent && w->n_counted <= w->most; size++) {
            w->cut[w->n_cuts++] = (tw_nest_cut){.loop = l, .size = size};
            tw_status status = list_cuts(w, used | 1u << l);
            w->n_cuts--;
            TW_TRY(status);
        }
    }
    return TW_OK;
}

tw_status tw_ways_list_one(const tw_segment *segment, const tw_machine *machine, int most, tw_arena *arena,
                           tw_ways *out)
{
    lister w = {.segment = *segment, .machine = machine, .arena = arena, .most = most};
    *out = (tw_ways){0};
    if (!find_views(&w)) return TW_OK;
    if (list_tensors(&w)) TW_TRY(list_cuts(&w, 0));
    if (w.n_counted == 0 || w.n_counted > most) {
        out->n = most + 1;
        return TW_OK;
    }
    TW_ALLOC(arena, w.way, w.n_counted);
    w.n_counted = 0;
    w.out = out;
    TW_TRY(list_cuts(&w, 0));
    out->way = w.way;
    return TW_OK;
}
