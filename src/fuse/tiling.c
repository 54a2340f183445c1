/* src/fuse/tiling.c - see tiling.h. */
#include "fuse/tiling.h"

#include "mapping/groups.h"
#include "mapping/taken.h"
#include "tile/box.h"
#include "tile/shape.h"
#include "tile/split.h"

#include <math.h>
#include <string.h>

enum { MOST_TENSORS = 64, MOST_LINKS = 128, MOST_SIZES = 24, MOST_SPREADS = 4096 };

typedef enum part { COMES_IN, GOES_OUT, STAYS_INSIDE } part;

typedef struct held {  /* a tensor of the segment */
    int tensor, maker; /* the operator that makes it, -1: none does                          */
    part part;
    int op, operand;                 /* that stand for it                                                   */
    int64_t units;                   /* of an element                                                       */
    int n_memories;                  /* that it is held in,                                                 */
    int memory[2 * TW_MAX_MEMORIES]; /* of the platform                                       */
    int n_links;                     /* movers that it passes, of the platform                              */
    int link[2 * TW_MAX_MEMORIES];
} held;

enum { MEMO_SIZE = 1 << 14 };
typedef struct remembered {
    bool used;
    int op;
    int64_t len[TW_MAX_LOOPS];
    tw_spread spread;
} remembered;

struct tw_spread_memo {
    struct { /* per operator of the model: all ways to lay its loops over the array */
        bool known;
        int n;
        const tw_spread *spread;
    } * of;
    remembered entry[MEMO_SIZE]; /* the best of them for a tile; a new one takes the place of an old one */
};

tw_status tw_spread_memo_new(const tw_model *model, tw_arena *arena, tw_spread_memo **out)
{
    tw_spread_memo *memo;
    TW_ALLOC(arena, memo, 1);
    TW_ALLOC(arena, memo->of, model->n_ops);
    *out = memo;
    return TW_OK;
}

struct tw_frame {
    tw_segment segment;
    const tw_machine *machine;
    const tw_platform *platform;
    int view[TW_MAX_GROUP_OPS];
    tw_engine engine[TW_MAX_GROUP_OPS]; /* with the cost that it has for the operator */
    int n_spreads[TW_MAX_GROUP_OPS];
    const tw_spread *spread[TW_MAX_GROUP_OPS]; /* that are worth a try */
    tw_spread_memo *memo;
    int home[MOST_TENSORS];      /* memory in which the tensor may be resident, 0: none */
    int64_t whole[MOST_TENSORS]; /* units of all of it                                  */
    int n_held;
    held held[MOST_TENSORS];
    int n_loops, loop[TW_MAX_LOOPS]; /* of the driver that may be cut, those first that make most of it smaller */
    int level;                       /* the memory of the platform whose level cuts */
};

static const tw_op *driver_of(const tw_frame *f) { return tw_segment_op(&f->segment, f->segment.n - 1); }

/* ---- engines ---- */

static int view_for(const tw_platform *platform, const tw_op *op)
{
    for (int v = 0; v < platform->n_views; v++)
        if (tw_machine_computes(&platform->view[v].machine, op)) return v;
    return -1;
}

static bool find_engines(tw_frame *f)
{
    for (int k = 0; k < f->segment.n; k++) {
        const tw_op *op = tw_segment_op(&f->segment, k);
        f->view[k] = view_for(f->platform, op);
        if (f->view[k] < 0) return false;
        const tw_machine *machine = &f->platform->view[f->view[k]].machine;
        f->engine[k] = machine->engine[machine->compute];
        if (machine->has_apart >> op->compute & 1) f->engine[k].cost = machine->apart[op->compute];
        if (machine->pads || f->platform->engine[f->platform->view[f->view[k]].engine].core !=
                                 f->platform->engine[f->platform->view[f->view[0]].engine].core)
            return false;
    }
    return true;
}

/* Every way to lay all loops that may over the array's dimensions; n 0: there is no array. */
static tw_status list_spreads(const tw_frame *f, int k, tw_arena *arena, int *n_spreads, const tw_spread **out)
{
    const tw_op *op = tw_segment_op(&f->segment, k);
    int n_dims = tw_cost_dims(&f->engine[k].cost), loop[TW_MAX_LOOPS], n = 0;
    int64_t count = 1;
    tw_spread *list;
    for (int l = 0; l < op->n_loops && n_dims > 0; l++) {
        if (op->loop[l].extent == 1 || (op->loop[l].reduces && f->engine[k].unrolls_parallel)) continue;
        if (count * n_dims > MOST_SPREADS) continue;
        loop[n++] = l;
        count *= n_dims;
    }
    TW_ALLOC(arena, list, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t code = i;
        for (int x = 0; x < n; x++, code /= n_dims) list[i].dim[loop[x]] = (int8_t)(1 + code % n_dims);
    }
    *n_spreads = n > 0 ? (int)count : 0;
    *out = list;
    return TW_OK;
}

/* Once for each operator of the model. */
static tw_status find_spreads(tw_frame *f, int k, tw_arena *arena)
{
    int op = f->segment.first + k;
    if (!f->memo->of[op].known) TW_TRY(list_spreads(f, k, arena, &f->memo->of[op].n, &f->memo->of[op].spread));
    f->memo->of[op].known = true;
    f->n_spreads[k] = f->memo->of[op].n;
    f->spread[k] = f->memo->of[op].spread;
    return TW_OK;
}

/* ---- where tensors are held ---- */

/* The memories on the way of an operand, memory 0 first, as numbers of the platform and of the view; returns how many. */
static int way_of(const tw_frame *f, int k, int operand, int memory[TW_MAX_MEMORIES], int own[TW_MAX_MEMORIES])
{
    const tw_platform_view *view = &f->platform->view[f->view[k]];
    tw_path path = tw_machine_path(&view->machine, tw_segment_op(&f->segment, k), operand);
    int n = 0;
    for (int m = 0; m < view->machine.n_memories; m++)
        if (path >> m & 1) own[n] = m, memory[n++] = view->memory[m];
    return n;
}

/* Memories from .. to - 1 of the operand's way hold the tensor, and the movers between from - 1 and to - 1 bring it. */
static bool hold_along(const tw_frame *f, int k, int operand, int from, int to, held *h)
{
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    const tw_platform_view *view = &f->platform->view[f->view[k]];
    const tw_op *op = tw_segment_op(&f->segment, k);
    unsigned way = operand == tw_op_output(op) ? TW_OUTWARDS : TW_INWARDS;
    way_of(f, k, operand, memory, own);
    for (int i = from; i < to; i++) {
        bool known = false;
        for (int m = 0; m < h->n_memories; m++) known |= h->memory[m] == memory[i];
        if (!known) h->memory[h->n_memories++] = memory[i];
        if (i == 0) continue;
        int link = tw_machine_link_of(&view->machine, op, operand, own[i - 1], own[i], way);
        if (link < 0 || h->n_links == 2 * TW_MAX_MEMORIES - 1) return false;
        if (!known) h->link[h->n_links++] = view->mover[link];
    }
    return h->n_memories < 2 * TW_MAX_MEMORIES - TW_MAX_MEMORIES;
}

static bool hold_outside(const tw_frame *f, int k, int operand, held *h)
{
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES], n = way_of(f, k, operand, memory, own);
    return n > 0 && hold_along(f, k, operand, 1, n, h);
}

/* What operator j makes and k reads: from where the ways of both meet. */
static bool hold_inside(const tw_frame *f, int j, int k, int operand, held *h)
{
    int made[TW_MAX_MEMORIES], read[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES];
    int output = tw_op_output(tw_segment_op(&f->segment, j));
    int n_made = way_of(f, j, output, made, own), n_read = way_of(f, k, operand, read, own);
    for (int i = n_made - 1; i > 0; i--)
        for (int r = 1; r < n_read; r++)
            if (read[r] == made[i]) {
                if (h->n_memories == 0) h->memory[h->n_memories++] = made[i];
                return hold_along(f, j, output, i + 1, n_made, h) && hold_along(f, k, operand, r + 1, n_read, h);
            }
    return false;
}

static held *held_of(tw_frame *f, int tensor, int k, int operand)
{
    for (int i = 0; i < f->n_held; i++)
        if (f->held[i].tensor == tensor) return &f->held[i];
    if (f->n_held == MOST_TENSORS) return NULL;
    held *h = &f->held[f->n_held++];
    int maker = tw_segment_maker(&f->segment, tensor);
    *h = (held){.tensor = tensor, .maker = maker, .op = k, .operand = operand};
    h->part = maker < 0 ? COMES_IN : maker == f->segment.n - 1 ? GOES_OUT : STAYS_INSIDE;
    h->units = tw_machine_units(f->machine, f->segment.model->tensor[tensor].dtype, 1);
    return h;
}

static bool find_held(tw_frame *f)
{
    for (int k = 0; k < f->segment.n; k++) {
        const tw_op *op = tw_segment_op(&f->segment, k);
        for (int o = 0; o < tw_op_output(op); o++) {
            held *h = held_of(f, op->operand[o].tensor, k, o);
            if (!h) return false;
            int maker = tw_segment_maker(&f->segment, h->tensor);
            if (!(maker < 0 ? hold_outside(f, k, o, h) : hold_inside(f, maker, k, o, h))) return false;
        }
    }
    const tw_op *driver = driver_of(f);
    held *h = held_of(f, tw_op_makes(driver), f->segment.n - 1, tw_op_output(driver));
    return h && h->part == GOES_OUT && hold_outside(f, f->segment.n - 1, tw_op_output(driver), h);
}

/* ---- loops that are cut ---- */

static double elems_held(const tw_frame *f, const tw_box *tile)
{
    tw_box box[TW_MAX_GROUP_OPS];
    tw_region region;
    double sum = 0;
    tw_segment_boxes(&f->segment, tile, box);
    for (int i = 0; i < f->n_held; i++)
        sum += (double)(tw_segment_region(&f->segment, box, f->held[i].tensor, &region) * f->held[i].units);
    return sum;
}

static void list_loops(tw_frame *f)
{
    const tw_op *op = driver_of(f);
    double left[TW_MAX_LOOPS];
    for (int l = 0; l < op->n_loops; l++) {
        if (op->loop[l].reduces || op->loop[l].extent == 1) continue;
        tw_box half = tw_box_of_op(op);
        half.span[l].hi = tw_cdiv(op->loop[l].extent, 2);
        double now = elems_held(f, &half);
        int at = f->n_loops++;
        for (; at > 0 && left[at - 1] > now; at--) left[at] = left[at - 1], f->loop[at] = f->loop[at - 1];
        left[at] = now;
        f->loop[at] = l;
    }
}

/* Bit m: memory m of the platform is on the operand's way. */
static bool passes(const tw_platform *platform, const tw_op *op, int operand, bool *on)
{
    int v = view_for(platform, op);
    if (v < 0) return false;
    tw_path path = tw_machine_path(&platform->view[v].machine, op, operand);
    bool here[TW_MAX_PLATFORM_MEMORIES] = {false};
    for (int m = 0; m < platform->view[v].machine.n_memories; m++)
        if (path >> m & 1) here[platform->view[v].memory[m]] = true;
    for (int m = 0; m < platform->n_memories; m++) on[m] &= here[m];
    return true;
}

int tw_resident_memory(const tw_model *model, const tw_machine *machine, int tensor)
{
    const tw_platform *platform = machine->platform;
    bool on[TW_MAX_PLATFORM_MEMORIES];
    for (int m = 0; m < platform->n_memories; m++) on[m] = m > 0 && platform->memory[m].lanes <= 1;
    for (int i = 0; i < model->n_ops; i++)
        for (int o = 0; o < model->op[i].n_operands; o++)
            if (model->op[i].operand[o].tensor == tensor && !passes(platform, &model->op[i], o, on)) return 0;
    for (int m = 1; m < platform->n_memories; m++)
        if (on[m]) return m;
    return 0;
}

tw_status tw_frame_of(const tw_segment *segment, const tw_machine *machine, tw_spread_memo *memo, tw_arena *arena,
                      const tw_frame **out)
{
    tw_frame *f;
    TW_ALLOC(arena, f, 1);
    *f = (tw_frame){.segment = *segment, .machine = machine, .platform = machine->platform, .memo = memo};
    if (!find_engines(f) || !find_held(f)) return TW_INFEASIBLE;
    for (int k = 0; k < segment->n; k++) TW_TRY(find_spreads(f, k, arena));
    for (int i = 0; i < f->n_held; i++)
        for (int m = 0; m < f->held[i].n_memories; m++) f->level = (int)tw_max(f->level, f->held[i].memory[m]);
    for (int i = 0; i < f->n_held; i++) {
        const tw_tensor *tensor = &segment->model->tensor[f->held[i].tensor];
        f->whole[i] = tw_machine_units(machine, tensor->dtype, tw_tensor_elems(tensor));
        if (f->held[i].part != STAYS_INSIDE)
            f->home[i] = tw_resident_memory(segment->model, machine, f->held[i].tensor);
    }
    list_loops(f);
    *out = f;
    return TW_OK;
}

/* ---- what a tiling costs ---- */

typedef struct classes { /* of the tiles along a cut */
    int n;
    tw_span span[3];
    int64_t times[3];
} classes;

typedef struct count {
    classes cut[TW_TILING_CUTS];
    int inner[MOST_TENSORS];    /* of each tensor: cuts that count, the others leave what is held as it is */
    int64_t most[MOST_TENSORS]; /* elements held at once                     */
    double moved[MOST_TENSORS][2 * TW_MAX_MEMORIES]; /* cycles of each link                       */
    double units[MOST_TENSORS];                      /* that pass each link                       */
    double first[MOST_TENSORS][2 * TW_MAX_MEMORIES]; /* cycles of the first transfer, of the last */
    double last[MOST_TENSORS][2 * TW_MAX_MEMORIES];
    double worked[TW_MAX_GROUP_OPS], last_work, energy_fj; /* executions                                */
} count;

static classes classes_of(const tw_op *op, int loop, int64_t size)
{
    tw_split s = tw_split_by_size(op->loop[loop].extent, size);
    classes c = {.n = (int)tw_min(3, s.count)};
    int64_t at[3] = {0, s.count == 2 ? 1 : s.count / 2, s.count - 1};
    for (int i = 0; i < c.n; i++) {
        c.span[i] = tw_split_at(&s, 0, at[i]);
        c.times[i] = c.n == 3 && i == 1 ? s.count - 2 : 1;
    }
    return c;
}

static tw_box tile_of(const tw_frame *f, const tw_tiling *t, const count *c, const int *at)
{
    tw_box box = tw_box_of_op(driver_of(f));
    for (int p = 0; p < t->n_cuts; p++) box.span[t->loop[p]] = c->cut[p].span[at[p]];
    return box;
}

/* Behind the last cut that moves what is held of each tensor, the others leave it where it is. */
static void find_inner(const tw_frame *f, const tw_tiling *t, count *c)
{
    int at[TW_TILING_CUTS] = {0};
    tw_box first[TW_MAX_GROUP_OPS], moved[TW_MAX_GROUP_OPS];
    tw_box tile = tile_of(f, t, c, at);
    tw_segment_boxes(&f->segment, &tile, first);
    for (int p = 0; p < t->n_cuts; p++) {
        if (c->cut[p].n == 1) continue;
        at[p] = 1;
        tile = tile_of(f, t, c, at);
        at[p] = 0;
        tw_segment_boxes(&f->segment, &tile, moved);
        for (int i = 0; i < f->n_held; i++) {
            tw_region a, b;
            tw_segment_region(&f->segment, first, f->held[i].tensor, &a);
            tw_segment_region(&f->segment, moved, f->held[i].tensor, &b);
            if (memcmp(&a, &b, sizeof a) != 0) c->inner[i] = p + 1;
        }
    }
}

static double exec_cycles(const tw_frame *f, int k, const tw_spread *over, const tw_box *box)
{
    const tw_op *op = tw_segment_op(&f->segment, k);
    const tw_cost *cost = &f->engine[k].cost;
    int64_t len[TW_MAX_LOOPS], work = tw_box_points(op, box);
    if (work == 0) return 0;
    for (int l = 0; l < op->n_loops; l++) len[l] = tw_span_len(box->span[l]);
    if (cost->kind == TW_COST_ARRAY) work = tw_spread_passes(over, op, &cost->array, len);
    if (cost->kind == TW_COST_KERNEL) {
        int o = (int)tw_max(0, tw_op_output(op) - 1);
        int64_t units = tw_machine_units(f->machine, f->segment.model->tensor[op->operand[o].tensor].dtype, 1);
        tw_kernel_nest nest = tw_nest_of(op, len, units);
        work = tw_cost_of_kernel(&cost->kernel, &nest, false);
    }
    return (double)tw_engine_busy(&f->engine[k], work);
}

/* ---- spreads that were found before ---- */

static remembered *place_of(tw_spread_memo *memo, int op, const int64_t *len, int n)
{
    uint64_t hash = (uint64_t)op * 0x9e3779b97f4a7c15u;
    for (int l = 0; l < n; l++) hash = (hash ^ (uint64_t)len[l]) * 0x100000001b3u, hash ^= hash >> 29;
    return &memo->entry[hash % MEMO_SIZE];
}

static tw_spread try_spreads(const tw_frame *f, int k, const tw_box *box)
{
    tw_spread best = {{0}};
    double least = 0;
    for (int i = 0; i < f->n_spreads[k]; i++) {
        double now = exec_cycles(f, k, &f->spread[k][i], box);
        if (i > 0 && now >= least) continue;
        least = now;
        best = f->spread[k][i];
    }
    return best;
}

/* The loops over the array that take the fewest passes of a tile in the middle. */
static tw_spread best_spread(const tw_frame *f, int k, const tw_box *box)
{
    const tw_op *op = tw_segment_op(&f->segment, k);
    int64_t len[TW_MAX_LOOPS] = {0};
    if (f->n_spreads[k] == 0) return (tw_spread){{0}};
    for (int l = 0; l < op->n_loops; l++) len[l] = tw_span_len(box->span[l]);
    remembered *at = place_of(f->memo, f->segment.first + k, len, op->n_loops);
    if (!at->used || at->op != f->segment.first + k || memcmp(at->len, len, sizeof len) != 0) {
        *at = (remembered){.used = true, .op = f->segment.first + k, .spread = try_spreads(f, k, box)};
        memcpy(at->len, len, sizeof len);
    }
    return at->spread;
}

/* ---- sums over tiles ---- */

static double move_cycles(const tw_frame *f, const held *h, int link, const tw_region *region, int64_t elems)
{
    const tw_engine *mover = &f->platform->engine[link].is;
    int64_t work = elems * h->units;
    if (tw_cost_by_shape(&mover->cost)) {
        const tw_operand *operand = &tw_segment_op(&f->segment, h->op)->operand[h->operand];
        tw_shape shape = tw_region_shape(operand, region, NULL, h->units);
        work = tw_cost_of_transfer(&mover->cost.descriptor, &shape);
    }
    return (double)tw_engine_busy(mover, work);
}

static void count_moves(const tw_frame *f, int i, const tw_region *region, int64_t elems, double times,
                        const bool *end, count *c)
{
    const held *h = &f->held[i];
    for (int x = 0; x < h->n_links; x++) {
        const tw_platform_engine *mover = &f->platform->engine[h->link[x]];
        double cycles = move_cycles(f, h, h->link[x], region, elems) / (double)tw_max(1, mover->is.count);
        c->moved[i][x] += times * cycles;
        if (end[0]) c->first[i][x] = cycles;
        if (end[1]) c->last[i][x] = cycles;
    }
    c->units[i] += times * (double)(elems * h->units);
}

/* At the peak of the engine where no spread is chosen yet. */
static double work_cycles(const tw_frame *f, const tw_tiling *t, int k, const tw_box *box, bool peak)
{
    const tw_cost *cost = &f->engine[k].cost;
    if (!peak || cost->kind != TW_COST_ARRAY) return exec_cycles(f, k, &t->over[k], box);
    double at_once = 1;
    for (int d = 0; d < cost->array.n_dims; d++) at_once *= (double)cost->array.size[d];
    return (double)tw_box_points(tw_segment_op(&f->segment, k), box) / at_once;
}

typedef struct corner { /* one combination of tiles */
    const int *at;
    const double *times; /* it stands for times[d] of those that the first d cuts make */
    int same;            /* cuts from here on stand at their first tile              */
    bool end[2];         /* it is the first of all, the last of all                  */
} corner;

static corner corner_of(const tw_tiling *t, const int *at, const double *times, const count *c)
{
    corner k = {at, times, t->n_cuts, {true, true}};
    while (k.same > 0 && at[k.same - 1] == 0) k.same--;
    for (int p = 0; p < t->n_cuts; p++) {
        k.end[0] &= at[p] == 0;
        k.end[1] &= at[p] == c->cut[p].n - 1;
    }
    return k;
}

static void count_work(const tw_frame *f, const tw_tiling *t, int maker, const tw_box *box, double times,
                       const corner *k, bool peak, count *c)
{
    double cycles = work_cycles(f, t, maker, box, peak);
    c->worked[maker] += times * cycles / (double)tw_max(1, f->engine[maker].count);
    c->energy_fj +=
        times * (double)tw_box_points(tw_segment_op(&f->segment, maker), box) * (double)f->engine[maker].energy_fj;
    if (k->end[1] && maker == f->segment.n - 1) c->last_work = cycles;
}

static void count_tile(const tw_frame *f, const tw_tiling *t, const corner *k, bool peak, count *c)
{
    tw_box box[TW_MAX_GROUP_OPS], tile = tile_of(f, t, c, k->at);
    tw_segment_boxes(&f->segment, &tile, box);
    for (int i = 0; i < f->n_held; i++) {
        const held *h = &f->held[i];
        tw_region region;
        int64_t elems = tw_segment_region(&f->segment, box, h->tensor, &region);
        c->most[i] = tw_max(c->most[i], elems);
        if (c->inner[i] < k->same || elems == 0) continue;
        count_moves(f, i, &region, elems, k->times[c->inner[i]], k->end, c);
        if (h->maker >= 0) count_work(f, t, h->maker, &box[h->maker], k->times[c->inner[i]], k, peak, c);
    }
}

static void count_all(const tw_frame *f, const tw_tiling *t, bool peak, count *c)
{
    int at[TW_TILING_CUTS] = {0}, p;
    do {
        double times[TW_TILING_CUTS + 1] = {1};
        for (int d = 0; d < t->n_cuts; d++) times[d + 1] = times[d] * (double)c->cut[d].times[at[d]];
        corner k = corner_of(t, at, times, c);
        count_tile(f, t, &k, peak, c);
        for (p = t->n_cuts - 1; p >= 0 && ++at[p] == c->cut[p].n; p--) at[p] = 0;
    } while (p >= 0);
}

/* ---- between seams ---- */

static bool is_resident(const tw_tilings *list, const held *h)
{
    return h->part == COMES_IN ? list->seams.in && h->tensor == list->in_tensor
                               : h->part == GOES_OUT && list->seams.out;
}

static uint64_t residents_of(const tw_frame *f, const tw_tilings *list)
{
    uint64_t all = 0;
    for (int i = 0; i < f->n_held; i++) all |= (uint64_t)is_resident(list, &f->held[i]) << i;
    return all;
}

/* The first of the tensor's memories that holds tiles of it, and of the links that move them: those inside of where it is resident. */
static int tiles_from(const tw_frame *f, const tw_tiling *t, int i)
{
    const held *h = &f->held[i];
    for (int m = 0; (t->resident >> i & 1) && m < h->n_memories; m++)
        if (h->memory[m] == f->home[i]) return m + 1;
    return 0;
}

static int64_t slots_of(const tw_tiling *t, const held *h, int inner)
{
    if (inner == 0) return 1;
    return h->part == COMES_IN ? t->in_slots : h->part == GOES_OUT ? t->out_slots : 1;
}

static int64_t aligned(const tw_frame *f, int memory, int64_t units)
{
    int64_t align = f->platform->memory[memory].is.align;
    return tw_cdiv(units, align) * align;
}

/* Whether the buffers fit, each memory by itself, beside what is resident. */
static bool fits(const tw_frame *f, const tw_tiling *t, const count *c)
{
    int64_t need[TW_MAX_PLATFORM_MEMORIES] = {0};
    for (int i = 0; i < f->n_held; i++) {
        const held *h = &f->held[i];
        if (t->resident >> i & 1) need[f->home[i]] += aligned(f, f->home[i], f->whole[i]);
        for (int m = tiles_from(f, t, i); m < h->n_memories; m++)
            need[h->memory[m]] += aligned(f, h->memory[m], c->most[i] * h->units) * slots_of(t, h, c->inner[i]);
        for (int m = 0; m < f->platform->n_memories; m++)
            if (need[m] > f->platform->memory[m].is.size) return false;
    }
    return true;
}

/* Time and energy between these seams. Where loads, executions and stores do not overlap they add up. */
static void price_tiling(const tw_frame *f, const tw_pricing *by, const count *c, tw_tiling *t)
{
    double busy[TW_MAX_PLATFORM_ENGINES] = {0}, moved = 0, worked = 0, load = 0, store = 0;
    t->energy_fj = c->energy_fj;
    for (int k = 0; k < f->segment.n; k++) busy[f->platform->view[f->view[k]].engine] += c->worked[k];
    for (int e = 0; e < f->platform->n_engines; e++) worked = fmax(worked, busy[e]), busy[e] = 0;
    for (int i = 0; i < f->n_held; i++) {
        const held *h = &f->held[i];
        for (int x = tiles_from(f, t, i); x < h->n_links; x++) {
            const tw_engine *mover = &f->platform->engine[h->link[x]].is;
            busy[h->link[x]] += c->moved[i][x];
            if (h->part == COMES_IN && h->op == 0) load += c->first[i][x];
            if (h->part == GOES_OUT) store += c->last[i][x];
            t->energy_fj += c->units[i] * (double)(f->platform->memory[mover->outer].is.energy_fj +
                                                   f->platform->memory[mover->memory].is.energy_fj);
        }
    }
    for (int e = 0; e < f->platform->n_engines; e++) moved = fmax(moved, busy[e]);
    double overlapped = fmax(worked + load + store, moved + c->last_work * (store > 0));
    t->cycles = t->in_slots > 1 && t->out_slots > 1   ? overlapped
                : t->in_slots > 1 || t->out_slots > 1 ? (overlapped + moved + worked) / 2
                                                      : moved + worked;
    t->price = by->price(by->user, t->cycles, t->energy_fj);
}

/* With as many buffers as fit, two of each at best; false: nothing fits. */
static bool fit_buffers(const tw_frame *f, const count *c, tw_tiling *t)
{
    static const int64_t slots[][2] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}};
    for (int i = 0; i < 4; i++) {
        t->in_slots = slots[i][0];
        t->out_slots = slots[i][1];
        if (fits(f, t, c)) return true;
    }
    return false;
}

static bool is_cut_taken(const tw_frame *f, int loop, int64_t size)
{
    int k = f->segment.n - 1;
    const tw_op *op = driver_of(f);
    tw_taken taken = tw_taken_of(&f->engine[k], op, loop);
    int64_t extent = op->loop[loop].extent, rest = extent % size;
    if (size == extent) return extent <= taken.last;
    return tw_number_allows(&taken.tiles, size) && (rest == 0 || rest <= taken.last);
}

/* ---- the list ---- */

/* Sizes of tiles along a loop that differ enough to be tried, the whole loop first. */
static int list_sizes(const tw_frame *f, int loop, int64_t size[MOST_SIZES])
{
    int n = 0;
    int64_t extent = driver_of(f)->loop[loop].extent, tiles = 1;
    tw_taken taken = tw_taken_of(&f->engine[f->segment.n - 1], driver_of(f), loop);
    while (tiles <= extent && n < MOST_SIZES) {
        int64_t s = tw_cdiv(extent, tiles);
        if (tiles > 1) s = tw_min(extent, tw_cdiv(s, tw_max(1, taken.step)) * tw_max(1, taken.step));
        if (is_cut_taken(f, loop, s) && (n == 0 || size[n - 1] != s)) size[n++] = s;
        tiles = tw_max(tiles + 1, tiles < 8 ? 0 : tiles * 5 / 4);
    }
    return n;
}

typedef struct lister {
    const tw_frame *f;
    const tw_pricing *by;
    int n;
    tw_tilings *list;
} lister;

static void keep(tw_tilings *list, const tw_tiling *t)
{
    int at = list->n;
    while (at > 0 && list->tiling[at - 1].price > t->price) at--;
    if (at == list->most) return;
    if (list->n == list->most) list->n--;
    memmove(&list->tiling[at + 1], &list->tiling[at], (size_t)(list->n - at) * sizeof *t);
    list->tiling[at] = *t;
    list->n++;
}

/* Whether it may get onto a list, at its price at the peak. */
static bool is_promising(const lister *l, int i, const count *c, tw_tiling *t)
{
    const tw_tilings *list = &l->list[i];
    t->resident = residents_of(l->f, list);
    if (!fit_buffers(l->f, c, t)) return false;
    price_tiling(l->f, l->by, c, t);
    return list->n < list->most || t->price < list->tiling[list->most - 1].price;
}

static void open_count(const tw_frame *f, tw_tiling *t, count *c)
{
    for (int p = 0; p < t->n_cuts; p++) c->cut[p] = classes_of(driver_of(f), t->loop[p], t->size[p]);
    find_inner(f, t, c);
    t->changing = 0;
    for (int i = 0; i < f->n_held; i++) t->changing |= (uint64_t)(c->inner[i] > 0) << i;
}

static void choose_spreads(const tw_frame *f, const count *c, tw_tiling *t)
{
    int at[TW_TILING_CUTS] = {0};
    for (int p = 0; p < t->n_cuts; p++) at[p] = c->cut[p].n / 2;
    tw_box box[TW_MAX_GROUP_OPS], tile = tile_of(f, t, c, at);
    tw_segment_boxes(&f->segment, &tile, box);
    for (int k = 0; k < f->segment.n; k++) t->over[k] = best_spread(f, k, &box[k]);
}

/* First at the peak, which costs little; what may be among the best then with the loops that really lie over the arrays. */
static void try_tiling(lister *l, tw_tiling *t)
{
    count c = {0}, fresh;
    bool any = false;
    open_count(l->f, t, &c);
    fresh = c;
    count_all(l->f, t, true, &c);
    for (int i = 0; i < l->n; i++) any |= is_promising(l, i, &c, t);
    if (!any) return;
    choose_spreads(l->f, &fresh, t);
    count_all(l->f, t, false, &fresh);
    for (int i = 0; i < l->n; i++)
        if (is_promising(l, i, &fresh, t)) keep(&l->list[i], t);
}

/* Loops that do not move what stays inside are cut innermost, so that nothing is computed again for them. */
static bool moves_inside(const tw_frame *f, int loop)
{
    tw_box box[TW_MAX_GROUP_OPS], half[TW_MAX_GROUP_OPS], tile = tw_box_of_op(driver_of(f));
    tw_segment_boxes(&f->segment, &tile, box);
    tile.span[loop].hi = tw_cdiv(tile.span[loop].hi, 2);
    tw_segment_boxes(&f->segment, &tile, half);
    for (int i = 0; i < f->n_held; i++) {
        tw_region a, b;
        if (f->held[i].part != STAYS_INSIDE) continue;
        if (tw_segment_region(&f->segment, box, f->held[i].tensor, &a) !=
            tw_segment_region(&f->segment, half, f->held[i].tensor, &b))
            return true;
    }
    return false;
}

static void order_loops(const tw_frame *f, int n, const int *given, int *loop)
{
    int at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < driver_of(f)->n_loops; l++)
            for (int i = 0; i < n; i++)
                if (given[i] == l && moves_inside(f, l) == (pass == 0)) loop[at++] = l;
}

/* All combinations of sizes of n loops. */
static void try_loops(lister *l, int n)
{
    int64_t size[TW_TILING_CUTS][MOST_SIZES];
    int loop[TW_TILING_CUTS], n_sizes[TW_TILING_CUTS], at[TW_TILING_CUTS] = {0}, p;
    order_loops(l->f, n, l->f->loop, loop);
    for (p = 0; p < n; p++)
        if ((n_sizes[p] = list_sizes(l->f, loop[p], size[p])) == 0) return;
    do {
        tw_tiling t = {0};
        for (p = 0; p < n; p++) {
            if (size[p][at[p]] == driver_of(l->f)->loop[loop[p]].extent) continue;
            t.loop[t.n_cuts] = loop[p];
            t.size[t.n_cuts++] = size[p][at[p]];
        }
        try_tiling(l, &t);
        for (p = n - 1; p >= 0 && ++at[p] == n_sizes[p]; p--) at[p] = 0;
    } while (p >= 0);
}

void tw_tilings_find(const tw_frame *f, const tw_pricing *by, tw_tilings *list, int n)
{
    lister l = {.f = f, .by = by, .n = n, .list = list};
    bool none = true;
    for (int i = 0; i < n; i++) list[i].n = 0;
    try_loops(&l, (int)tw_min(f->n_loops, 2));
    for (int i = 0; i < n; i++) none &= list[i].n == 0;
    if (none && f->n_loops > 2) try_loops(&l, 3);
}

/* ---- as a mapping ---- */

tw_status tw_tiling_group(const tw_frame *f, const tw_tiling *t, tw_arena *arena, tw_group_map *out)
{
    tw_group_op *op;
    tw_nest_cut *cut;
    tw_group_level *level;
    tw_hold *hold;
    int n_holds = 0;
    TW_ALLOC(arena, op, f->segment.n);
    TW_ALLOC(arena, cut, t->n_cuts);
    TW_ALLOC(arena, level, 1);
    TW_ALLOC(arena, hold, f->n_held * 2 * TW_MAX_MEMORIES);
    for (int k = 0; k < f->segment.n; k++)
        op[k] = (tw_group_op){.op = f->segment.first + k, .view = f->view[k], .over = t->over[k]};
    for (int p = 0; p < t->n_cuts; p++) cut[p] = (tw_nest_cut){.loop = t->loop[p], .size = t->size[p]};
    level[0] = (tw_group_level){.memory = f->level, .depth = t->n_cuts};
    for (int i = 0; i < f->n_held; i++) {
        const held *h = &f->held[i];
        int64_t slots = h->part == COMES_IN ? t->in_slots : h->part == GOES_OUT ? t->out_slots : 1;
        if (!(t->changing >> i & 1)) continue; /* it comes once */
        for (int m = tiles_from(f, t, i); m < h->n_memories && slots > 1; m++)
            hold[n_holds++] = (tw_hold){.tensor = h->tensor, .memory = h->memory[m], .depth = -1, .slots = slots};
    }
    *out = (tw_group_map){.name = driver_of(f)->name,
                          .n_ops = f->segment.n,
                          .op = op,
                          .n_cuts = t->n_cuts,
                          .cut = cut,
                          .n_levels = 1,
                          .level = level,
                          .n_holds = n_holds,
                          .hold = hold,
                          .part_loop = -1};
    return TW_OK;
}
