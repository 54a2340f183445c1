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

typedef struct held { /* a tensor of the segment */
    int tensor;
    part part;
    int op, operand;                 /* that stand for it                                                   */
    int64_t units;                   /* of an element                                                       */
    int n_memories;                  /* that it is held in,                                                 */
    int memory[2 * TW_MAX_MEMORIES]; /* of the platform                                       */
    int n_links;                     /* movers that it passes, of the platform                              */
    int link[2 * TW_MAX_MEMORIES];
} held;

struct tw_frame {
    tw_segment segment;
    const tw_machine *machine;
    const tw_platform *platform;
    int view[TW_MAX_GROUP_OPS];
    tw_engine engine[TW_MAX_GROUP_OPS]; /* with the cost that it has for the operator */
    int n_spreads[TW_MAX_GROUP_OPS];
    const tw_spread *spread[TW_MAX_GROUP_OPS]; /* that are worth a try */
    tw_seams seams;
    int64_t whole[TW_MAX_PLATFORM_MEMORIES]; /* units of what is resident at the seams */
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

/* Every way to lay all loops that may over the array's dimensions. */
static tw_status list_spreads(tw_frame *f, int k, tw_arena *arena)
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
    f->n_spreads[k] = n > 0 ? (int)count : 0;
    f->spread[k] = list;
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

static bool is_resident(const tw_frame *f, const held *h)
{
    return h->part == COMES_IN ? h->tensor == f->seams.in : h->part == GOES_OUT && f->seams.out;
}

/* Between memory 0, or where the tensor is resident, and the compute engine. */
static bool hold_outside(const tw_frame *f, int k, int operand, held *h)
{
    int memory[TW_MAX_MEMORIES], own[TW_MAX_MEMORIES], n = way_of(f, k, operand, memory, own), from = 1;
    int home = is_resident(f, h) ? tw_resident_memory(f->segment.model, f->machine, h->tensor) : 0;
    while (home > 0 && from <= n && memory[from - 1] != home) from++;
    return n > 0 && from <= n && hold_along(f, k, operand, from, n, h);
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
    *h = (held){.tensor = tensor, .op = k, .operand = operand};
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

/* What is resident takes its room whole. */
static bool count_residents(tw_frame *f)
{
    const tw_model *model = f->segment.model;
    const int tensor[2] = {f->seams.in, f->seams.out ? tw_op_makes(driver_of(f)) : -1};
    for (int i = 0; i < 2; i++) {
        if (tensor[i] < 0) continue;
        int m = tw_resident_memory(model, f->machine, tensor[i]);
        if (m == 0) return false;
        int64_t align = f->platform->memory[m].is.align;
        int64_t units = tw_machine_units(f->machine, model->tensor[tensor[i]].dtype,
                                         tw_tensor_elems(&model->tensor[tensor[i]]));
        f->whole[m] += tw_cdiv(units, align) * align;
        if (f->whole[m] > f->platform->memory[m].is.size) return false;
    }
    return true;
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

tw_status tw_frame_of(const tw_segment *segment, const tw_seams *seams, const tw_machine *machine, tw_arena *arena,
                      const tw_frame **out)
{
    tw_frame *f;
    TW_ALLOC(arena, f, 1);
    *f = (tw_frame){.segment = *segment, .seams = *seams, .machine = machine, .platform = machine->platform};
    if (!find_engines(f) || !count_residents(f) || !find_held(f)) return TW_INFEASIBLE;
    for (int k = 0; k < segment->n; k++) TW_TRY(list_spreads(f, k, arena));
    for (int i = 0; i < f->n_held; i++)
        for (int m = 0; m < f->held[i].n_memories; m++) f->level = (int)tw_max(f->level, f->held[i].memory[m]);
    for (int m = 1; m < f->platform->n_memories && f->level == 0; m++)
        if (f->whole[m] > 0) f->level = m;
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
    int inner[MOST_TENSORS]; /* of each tensor: cuts that count, the others leave what is held as it is */
    double busy[TW_MAX_PLATFORM_ENGINES];
    double first_load, last_store, last_work, energy_fj;
    int64_t most[MOST_TENSORS]; /* elements held at once */
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

/* The loops over the array that take the fewest passes of a tile in the middle. */
static tw_spread best_spread(const tw_frame *f, int k, const tw_box *box)
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

/* Adds `times` such transfers along the tensor's way, and returns how long one of them keeps the movers busy. */
static double count_moves(const tw_frame *f, int i, const tw_region *region, int64_t elems, double times, count *c)
{
    const held *h = &f->held[i];
    double once = 0;
    for (int x = 0; x < h->n_links; x++) {
        const tw_platform_engine *mover = &f->platform->engine[h->link[x]];
        double cycles = move_cycles(f, h, h->link[x], region, elems) / (double)tw_max(1, mover->is.count);
        c->busy[h->link[x]] += times * cycles;
        once += cycles;
        c->energy_fj += times * (double)(elems * h->units) *
                        (double)(f->platform->memory[mover->is.outer].is.energy_fj +
                                 f->platform->memory[mover->is.memory].is.energy_fj);
    }
    return once;
}

/* One combination of tiles, which stands for `times[d]` of those that the first d cuts make. */
static void count_tile(const tw_frame *f, const tw_tiling *t, const int *at, const double *times, count *c)
{
    tw_box box[TW_MAX_GROUP_OPS], tile = tile_of(f, t, c, at);
    bool last = true, first = true;
    int same = t->n_cuts; /* cuts from here on stand at their first tile */
    while (same > 0 && at[same - 1] == 0) same--;
    for (int p = 0; p < t->n_cuts; p++) last &= at[p] == c->cut[p].n - 1, first &= at[p] == 0;
    tw_segment_boxes(&f->segment, &tile, box);
    for (int i = 0; i < f->n_held; i++) {
        const held *h = &f->held[i];
        tw_region region;
        int64_t elems = tw_segment_region(&f->segment, box, h->tensor, &region);
        c->most[i] = tw_max(c->most[i], elems);
        if (c->inner[i] < same || elems == 0) continue;
        double once = count_moves(f, i, &region, elems, times[c->inner[i]], c);
        if (h->part == COMES_IN && first && h->op == 0) c->first_load += once;
        if (h->part == GOES_OUT && last) c->last_store += once;
        int maker = tw_segment_maker(&f->segment, h->tensor);
        if (maker < 0) continue;
        double cycles = exec_cycles(f, maker, &t->over[maker], &box[maker]);
        int engine = f->platform->view[f->view[maker]].engine;
        c->busy[engine] += times[c->inner[i]] * cycles / (double)tw_max(1, f->engine[maker].count);
        c->energy_fj += times[c->inner[i]] * (double)tw_box_points(tw_segment_op(&f->segment, maker), &box[maker]) *
                        (double)f->engine[maker].energy_fj;
        if (last && maker == f->segment.n - 1) c->last_work = cycles;
    }
}

static void count_all(const tw_frame *f, const tw_tiling *t, count *c)
{
    int at[TW_TILING_CUTS] = {0}, p;
    do {
        double times[TW_TILING_CUTS + 1] = {1};
        for (int d = 0; d < t->n_cuts; d++) times[d + 1] = times[d] * (double)c->cut[d].times[at[d]];
        count_tile(f, t, at, times, c);
        for (p = t->n_cuts - 1; p >= 0 && ++at[p] == c->cut[p].n; p--) at[p] = 0;
    } while (p >= 0);
}

static int64_t slots_of(const tw_tiling *t, const held *h, int inner)
{
    if (inner == 0) return 1;
    return h->part == COMES_IN ? t->in_slots : h->part == GOES_OUT ? t->out_slots : 1;
}

/* Whether the buffers fit, each memory by itself. */
static bool fits(const tw_frame *f, const tw_tiling *t, const count *c)
{
    int64_t need[TW_MAX_PLATFORM_MEMORIES];
    memcpy(need, f->whole, sizeof need);
    for (int i = 0; i < f->n_held; i++)
        for (int m = 0; m < f->held[i].n_memories; m++) {
            int memory = f->held[i].memory[m];
            int64_t align = f->platform->memory[memory].is.align;
            need[memory] +=
                tw_cdiv(c->most[i] * f->held[i].units, align) * align * slots_of(t, &f->held[i], c->inner[i]);
            if (need[memory] > f->platform->memory[memory].is.size) return false;
        }
    return true;
}

/* Where loads, executions and stores do not overlap they add up. */
static double time_of(const tw_frame *f, const tw_tiling *t, const count *c)
{
    double moved = 0, worked = 0;
    for (int e = 0; e < f->platform->n_engines; e++)
        if (f->platform->engine[e].is.kind == TW_MOVES)
            moved = fmax(moved, c->busy[e]);
        else
            worked = fmax(worked, c->busy[e]);
    double overlapped = fmax(worked + c->first_load + c->last_store, moved + c->last_work * (c->last_store > 0));
    if (t->in_slots > 1 && t->out_slots > 1) return overlapped;
    return t->in_slots > 1 || t->out_slots > 1 ? (overlapped + moved + worked) / 2 : moved + worked;
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

/* False: it does not fit. */
static bool estimate(const tw_frame *f, tw_tiling *t)
{
    count c = {0};
    int at[TW_TILING_CUTS] = {0};
    t->n_steps = 1;
    for (int p = 0; p < t->n_cuts; p++) {
        c.cut[p] = classes_of(driver_of(f), t->loop[p], t->size[p]);
        at[p] = c.cut[p].n / 2;
        t->n_steps *= tw_cdiv(driver_of(f)->loop[t->loop[p]].extent, t->size[p]);
    }
    find_inner(f, t, &c);
    t->changing = 0;
    for (int i = 0; i < f->n_held; i++) t->changing |= (uint64_t)(c.inner[i] > 0) << i;
    tw_box box[TW_MAX_GROUP_OPS], tile = tile_of(f, t, &c, at);
    tw_segment_boxes(&f->segment, &tile, box);
    for (int k = 0; k < f->segment.n; k++) t->over[k] = best_spread(f, k, &box[k]);
    count_all(f, t, &c);
    static const int64_t slots[][2] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}};
    for (int i = 0; i < 4; i++) {
        t->in_slots = slots[i][0];
        t->out_slots = slots[i][1];
        if (!fits(f, t, &c)) continue;
        t->cycles = time_of(f, t, &c);
        t->energy_fj = c.energy_fj;
        return true;
    }
    return false;
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
    int most, n;
    tw_tiling *out;
} lister;

static void offer(lister *l, const tw_tiling *t)
{
    double now = l->by->price(l->by->user, t->cycles, t->energy_fj);
    int at = l->n;
    while (at > 0 && l->by->price(l->by->user, l->out[at - 1].cycles, l->out[at - 1].energy_fj) > now) at--;
    if (at == l->most) return;
    if (l->n == l->most) l->n--;
    memmove(&l->out[at + 1], &l->out[at], (size_t)(l->n - at) * sizeof *t);
    l->out[at] = *t;
    l->n++;
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
        if (estimate(l->f, &t)) offer(l, &t);
        for (p = n - 1; p >= 0 && ++at[p] == n_sizes[p]; p--) at[p] = 0;
    } while (p >= 0);
}

int tw_tilings_find(const tw_frame *f, const tw_pricing *by, int most, tw_tiling *out)
{
    lister l = {.f = f, .by = by, .most = most, .out = out};
    try_loops(&l, (int)tw_min(f->n_loops, 2));
    if (l.n == 0 && f->n_loops > 2) try_loops(&l, 3);
    return l.n;
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
        for (int m = 0; m < h->n_memories && slots > 1; m++)
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
