/* src/fuse/ways_one.c - all ways to run a few operators as one group on one core: see ways.h. A first walk counts, a second one writes what a mapping may say. */
#include "fuse/ways.h"
#include "mapping/groups.h"
#include "tile/box.h"

#include <string.h>

enum { INNER_CUTS = 2, OUTER_CUTS = 1, MOST_LEVELS = 2, MOST_CUTS = INNER_CUTS + OUTER_CUTS, MOST_TENSORS = 24 };

typedef struct tensor { /* of the segment */
    int tensor;
    bool comes, goes;       /* into the segment, out of it */
    bool slides;            /* it may */
    bool held[MOST_LEVELS]; /* in the memory of each level */
    bool same[MOST_LEVELS]; /* all tiles of the cuts at hand have the same of it there */
} tensor;

typedef struct lister {
    tw_segment segment;
    const tw_machine *machine;
    tw_arena *arena;
    int view[TW_MAX_GROUP_OPS];
    int n_levels, memory[MOST_LEVELS]; /* outermost first */
    int home;                          /* of these, where what the last operator makes comes last on its way out */
    int n_tensors;
    tensor tensor[MOST_TENSORS];
    int64_t n_counted, most;
    tw_ways *out; /* NULL: they are counted */
    tw_way *way;
    /* the way at hand */
    int n_cuts, depth[MOST_LEVELS]; /* of each level: cuts up to it */
    tw_nest_cut cut[MOST_CUTS];
    const tw_group_op *op; /* as the cuts ask */
} lister;

static const tw_op *driver_of(const lister *w) { return tw_segment_op(&w->segment, w->segment.n - 1); }

/* The first engine of each operator; false: one has none that works on chip. */
static bool find_views(lister *w)
{
    const tw_platform *p = w->machine->platform;
    for (int k = 0; k < w->segment.n; k++) {
        int v = 0;
        while (v < p->n_views && !tw_machine_computes(&p->view[v].machine, tw_segment_op(&w->segment, k))) v++;
        if (v == p->n_views || p->engine[p->view[v].engine].is.memory == 0) return false;
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

/* The level of a memory, -1: there are too many. */
static int level_of(lister *w, int memory)
{
    int at = 0, to;
    while (at < w->n_levels && w->memory[at] < memory) at++;
    if (at < w->n_levels && w->memory[at] == memory) return at;
    if (w->n_levels == MOST_LEVELS) return -1;
    for (to = w->n_levels++; to > at; to--) w->memory[to] = w->memory[to - 1];
    w->memory[at] = memory;
    for (int i = 0; i < w->n_tensors; i++)
        for (to = MOST_LEVELS - 1; to >= at; to--) w->tensor[i].held[to] = to > at && w->tensor[i].held[to - 1];
    return at;
}

/* The memories in which an operand is held; false: they are of too many levels. */
static bool list_levels(lister *w, const tw_group_map *group, int k, int operand)
{
    const tw_grouping all = {.model = w->segment.model, .machine = w->machine, .n = 1, .group = group};
    int memory[TW_MAX_MEMORIES], n = tw_group_chain(&all, group, k, operand, memory);
    for (int m = 0; m < n; m++) {
        int level = level_of(w, memory[m]);
        if (level < 0) return false;
        find_tensor(w, tw_segment_op(&w->segment, k)->operand[operand].tensor)->held[level] = true;
    }
    if (k == w->segment.n - 1 && operand == tw_op_output(driver_of(w))) w->home = n > 0 ? memory[0] : 0;
    return true;
}

/* False: there are too many. */
static bool list_tensors(lister *w)
{
    tw_group_op own[TW_MAX_GROUP_OPS];
    for (int k = 0; k < w->segment.n; k++) own[k] = (tw_group_op){.op = w->segment.first + k, .view = w->view[k]};
    const tw_group_map group = {.n_ops = w->segment.n, .op = own};
    for (int k = 0; k < w->segment.n; k++) {
        const tw_op *op = tw_segment_op(&w->segment, k);
        for (int o = 0; o < op->n_operands; o++) {
            tensor *t = find_tensor(w, op->operand[o].tensor);
            if (!t) return false;
            int maker = tw_segment_maker(&w->segment, t->tensor);
            t->comes = maker < 0;
            t->goes = maker == w->segment.n - 1;
            t->slides |= !t->goes && !op->operand[o].weights;
            if (!list_levels(w, &group, k, o)) return false;
        }
    }
    return w->n_levels > 0;
}

/* ---- one way ---- */

/* The parts of all operators for the first tile of the first so many cuts. */
static void find_boxes(const lister *w, int n_cuts, tw_box box[TW_MAX_GROUP_OPS])
{
    tw_box tile = tw_box_of_op(driver_of(w));
    for (int c = 0; c < n_cuts; c++) tile.span[w->cut[c].loop].hi = w->cut[c].size;
    tw_segment_boxes(&w->segment, &tile, box);
}

/* What all tiles have alike, as far as the first one shows. */
static void find_same(lister *w)
{
    tw_box box[TW_MAX_GROUP_OPS], whole[TW_MAX_GROUP_OPS];
    tw_region region;
    find_boxes(w, 0, whole);
    for (int level = 0; level < w->n_levels; level++) {
        find_boxes(w, w->depth[level], box);
        for (int i = 0; i < w->n_tensors; i++)
            w->tensor[i].same[level] = tw_segment_region(&w->segment, box, w->tensor[i].tensor, &region) ==
                                       tw_segment_region(&w->segment, whole, w->tensor[i].tensor, &region);
    }
}

/* Operators with what lies over the array for the first tile, which is the largest. */
static tw_status write_ops(lister *w)
{
    tw_group_op *op;
    tw_box box[TW_MAX_GROUP_OPS];
    find_boxes(w, w->n_cuts, box);
    TW_ALLOC(w->arena, op, w->segment.n);
    for (int k = 0; k < w->segment.n; k++) {
        op[k] = (tw_group_op){.op = w->segment.first + k, .view = w->view[k]};
        op[k].over = tw_ways_lay_over(&w->machine->platform->view[w->view[k]].machine,
                                      tw_segment_op(&w->segment, k), &box[k]);
    }
    w->op = op;
    return TW_OK;
}

static tw_status write_group(const lister *w, const tw_hold *hold, int n_holds, tw_group_map *out)
{
    tw_group_level *level;
    tw_nest_cut *cut;
    tw_hold *own;
    TW_ALLOC(w->arena, level, MOST_LEVELS);
    TW_ALLOC(w->arena, cut, MOST_CUTS);
    TW_ALLOC(w->arena, own, n_holds + 1);
    memcpy(cut, w->cut, sizeof w->cut);
    memcpy(own, hold, (size_t)n_holds * sizeof *own);
    for (int i = 0; i < w->n_levels; i++) level[i] = (tw_group_level){.memory = w->memory[i], .depth = w->depth[i]};
    *out = (tw_group_map){.name = driver_of(w)->name,
                          .n_ops = w->segment.n,
                          .op = w->op,
                          .n_cuts = w->n_cuts,
                          .cut = cut,
                          .n_levels = w->n_levels,
                          .level = level,
                          .n_holds = n_holds,
                          .hold = own};
    return TW_OK;
}

/* The way with these holds, unless no mapping may say it. */
static tw_status put(lister *w, const tw_hold *hold, int n_holds)
{
    tw_group_map *group;
    tw_diag muted = {.muted = true};
    tw_arena_mark mark = tw_arena_save(w->arena);
    TW_ALLOC(w->arena, group, 1);
    TW_TRY(write_group(w, hold, n_holds, group));
    const tw_grouping one = {
        .model = w->segment.model, .machine = w->machine, .n = 1, .group = group, .diag = &muted};
    tw_status status = tw_grouping_check_one(&one, 0);
    if (status == TW_OK)
        w->way[w->out->n++] = (tw_way){1, group, w->home};
    else
        tw_arena_rewind(w->arena, mark);
    return status == TW_ERR_NOMEM ? status : TW_OK;
}

/* ---- all ways ---- */

/* Whether the window of the tensor may slide in the memory of the level. */
static bool may_slide(const lister *w, int i, int level)
{
    return w->tensor[i].slides && w->tensor[i].held[level] && w->depth[level] > 0;
}

static int64_t count_slides(const lister *w)
{
    int64_t n = 1;
    for (int i = 0; i < w->n_tensors; i++)
        for (int level = 0; level < w->n_levels; level++) n <<= may_slide(w, i, level);
    return n;
}

/* How many combinations of buffers there are: of one level, one or two of what comes in and of what goes out; of two, one or two of both in each. */
static int64_t count_slots(const lister *w) { return w->n_cuts == 0 ? 1 : 4; }

static int64_t slots_of(const lister *w, int i, int level, int64_t code)
{
    int bit = w->n_levels > 1 ? level : !w->tensor[i].goes;
    bool moves = w->tensor[i].comes || w->tensor[i].goes;
    return moves && !w->tensor[i].same[level] ? 1 + (code >> bit & 1) : 1;
}

static tw_status put_holds(lister *w, int64_t slots, int64_t slides)
{
    tw_hold hold[MOST_TENSORS * MOST_LEVELS];
    int n = 0;
    for (int i = 0; i < w->n_tensors; i++)
        for (int level = 0; level < w->n_levels; level++) {
            const tensor *t = &w->tensor[i];
            if (!t->held[level]) continue;
            hold[n] = (tw_hold){.tensor = t->tensor,
                                .memory = w->memory[level],
                                .depth = -1,
                                .slots = slots_of(w, i, level, slots)};
            if (may_slide(w, i, level)) {
                if (slides & 1) hold[n].slide = 1 + w->cut[w->depth[level] - 1].loop;
                slides >>= 1;
            }
            n++;
        }
    return put(w, hold, n);
}

/* Buffers and slides for the cuts at hand. */
static tw_status list_holds(lister *w)
{
    int64_t n = count_slides(w), n_slots = count_slots(w);
    w->n_counted += n * n_slots;
    if (!w->out) return TW_OK;
    TW_TRY(write_ops(w));
    find_same(w);
    for (int64_t slides = 0; slides < n; slides++)
        for (int64_t slots = 0; slots < n_slots; slots++) TW_TRY(put_holds(w, slots, slides));
    return TW_OK;
}

/* The size of a tile along a loop, as it is cut so far. */
static int64_t size_of(const lister *w, int loop)
{
    int64_t size = driver_of(w)->loop[loop].extent;
    for (int c = 0; c < w->n_cuts; c++)
        if (w->cut[c].loop == loop) size = w->cut[c].size;
    return size;
}

/* The cuts of a level behind `own` of them, which have cut the loops `used`, and of those further inside. */
static tw_status list_cuts(lister *w, int level, int own, unsigned used)
{
    const tw_op *op = driver_of(w);
    bool last = level == w->n_levels - 1;
    w->depth[level] = w->n_cuts;
    if (last)
        TW_TRY(list_holds(w));
    else
        TW_TRY(list_cuts(w, level + 1, 0, 0));
    if (own == (last ? INNER_CUTS : OUTER_CUTS)) return TW_OK;
    for (int l = 0; l < op->n_loops; l++) {
        if (op->loop[l].reduces || (used >> l & 1)) continue;
        for (int64_t size = 1; size < size_of(w, l) && w->n_counted <= w->most; size++) {
            w->cut[w->n_cuts++] = (tw_nest_cut){.level = level, .loop = l, .size = size};
            tw_status status = list_cuts(w, level, own + 1, used | 1u << l);
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
    if (list_tensors(&w)) TW_TRY(list_cuts(&w, 0, 0, 0));
    if (w.n_counted == 0 || w.n_counted > most) {
        out->n = most + 1;
        return TW_OK;
    }
    TW_ALLOC(arena, w.way, w.n_counted);
    w.n_counted = 0;
    w.out = out;
    TW_TRY(list_cuts(&w, 0, 0, 0));
    out->way = w.way;
    return TW_OK;
}
