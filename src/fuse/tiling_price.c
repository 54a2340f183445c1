/* src/fuse/tiling_price.c - what a tiling moves, what of it has to fit, and what it takes; see tiler.h. */
#include "fuse/tiler.h"
#include "tile/shape.h"

#include <math.h>
#include <string.h>

/* ---- transfers ---- */

/* The ports that the tensor passes on the way over a mover; -1: none. What stays inside is taken for what comes in. */
static void ports_of(const tw_segment_frame *f, const tw_frame_tensor *h, int link, int port[2])
{
    int out = h->part == TW_GOES_OUT;
    port[0] = f->platform->engine[link].reads[out];
    port[1] = f->platform->engine[link].writes[out];
}

/* Of reading so many units at one end, and writing them at the other. */
static double move_energy(const tw_segment_frame *f, const tw_frame_tensor *h, int link, int64_t units)
{
    const tw_platform *p = f->platform;
    const tw_engine *mover = &p->engine[link].is;
    int port[2], end[2] = {h->part == TW_GOES_OUT ? mover->memory : mover->outer,
                           h->part == TW_GOES_OUT ? mover->outer : mover->memory};
    double sum = 0;
    ports_of(f, h, link, port);
    for (int i = 0; i < 2; i++) {
        const tw_port *at = port[i] < 0 ? NULL : &p->port[port[i]];
        int64_t own = !at ? -1 : i == 0 ? at->read_fj : at->write_fj;
        int64_t word = at ? at->word : 1;
        sum += (double)(tw_cdiv(units, word) * word) * (double)(own >= 0 ? own : p->memory[end[i]].is.energy_fj);
    }
    return sum;
}

static double move_cycles(const tw_segment_frame *f, const tw_frame_tensor *h, int link, const tw_region *region,
                          int64_t elems)
{
    const tw_engine *mover = &f->platform->engine[link].is;
    int64_t work = elems * h->units, passing = 0;
    int port[2];
    ports_of(f, h, link, port);
    for (int i = 0; i < 2; i++)
        if (port[i] >= 0) passing = tw_max(passing, tw_port_cycles(&f->platform->port[port[i]], work));
    if (tw_cost_by_shape(&mover->cost)) {
        const tw_operand *operand = &tw_segment_op(&f->segment, h->op)->operand[h->operand];
        tw_shape shape = tw_region_shape(operand, region, NULL, h->units);
        work = tw_cost_of_transfer(&mover->cost.descriptor, &shape);
    }
    return (double)tw_max(passing, tw_engine_busy(mover, work)) / (double)tw_max(1, mover->count);
}

static void sum_moves(const tw_tiler *w, const tw_segment_frame *f, const tw_frame_tensor *h,
                      const tw_tiler_seen *s, tw_link_sums *sums)
{
    sums->version = s->version;
    sums->op = f->segment.first + h->op;
    sums->cycles = sums->first = sums->last = sums->energy_fj = 0;
    for (int c = 0; c < w->n_corners; c++) {
        if (w->corner[c].same > s->inner || tw_fresh_elems(s, c) == 0) continue;
        double cycles = move_cycles(f, h, sums->mover, tw_fresh_region(s, c), tw_fresh_elems(s, c));
        sums->cycles += w->corner[c].times[s->inner] * cycles;
        sums->energy_fj +=
            w->corner[c].times[s->inner] * move_energy(f, h, sums->mover, tw_fresh_elems(s, c) * h->units);
        if (w->corner[c].end[0]) sums->first = cycles;
        if (w->corner[c].end[1]) sums->last = cycles;
    }
}

/* What the tensor takes on a mover, as the frame has it. */
static const tw_link_sums *moves_of(tw_tiler *w, const tw_segment_frame *f, int i, int x)
{
    const tw_frame_tensor *h = &f->tensor[i];
    tw_tiler_seen *s = &w->seen[w->index[f->segment.n - 1][i]];
    int n = 0;
    while (n < s->n_links && s->link[n].mover != h->link[x]) n++;
    if (n == s->n_links) {
        if (n == TW_FRAME_STOPS) n--;
        s->link[n] = (tw_link_sums){.mover = h->link[x]};
        s->n_links = n + 1;
    }
    if (s->link[n].version != s->version || s->link[n].op != f->segment.first + h->op)
        sum_moves(w, f, h, s, &s->link[n]);
    return &s->link[n];
}
/* ---- between seams ---- */

/* Whether a memory of the platform is on the side. */
static bool is_on(const tw_segment_frame *f, tw_side side, int memory)
{
    return side == TW_BOTH_SIDES || (memory <= f->outer) == (side == TW_OUTER_SIDE);
}

static bool is_resident(const tw_tilings *list, const tw_frame_tensor *h)
{
    if (h->part == TW_GOES_OUT) return list->seams.out;
    for (int k = 0; k < list->seams.n_in; k++)
        if (list->seams.in[k] == h->tensor) return h->part == TW_COMES_IN;
    return false;
}

uint64_t tw_tiler_residents(const tw_segment_frame *f, const tw_tilings *list)
{
    uint64_t all = 0;
    for (int i = 0; i < f->n_tensors; i++) all |= (uint64_t)is_resident(list, &f->tensor[i]) << i;
    return all;
}

static int home_of(const tw_segment_frame *f, int i) { return f->facts->home[f->tensor[i].tensor]; }

int tw_tiles_from(const tw_segment_frame *f, uint64_t resident, int i)
{
    const tw_frame_tensor *h = &f->tensor[i];
    for (int m = 0; (resident >> i & 1) && m < h->n_memories; m++)
        if (h->memory[m] == home_of(f, i)) return m + 1;
    return 0;
}

static int64_t aligned(const tw_segment_frame *f, int memory, int64_t units)
{
    int64_t align = f->platform->memory[memory].is.align;
    return tw_cdiv(units, align) * align;
}

/* What one memory needs: once, for each buffer of what comes in, of what is made. Every buffer begins at a multiple of the memory's alignment, and the one
 * that lies last need not end at one: `spare` is the most that this saves. */
typedef struct room {
    int64_t once, in, out, spare;
} room;

static void spare_end(const tw_segment_frame *f, int memory, int64_t units, room *need)
{
    need[memory].spare = tw_max(need[memory].spare, aligned(f, memory, units) - units);
}

/* Units of an element of frame tensor i in its memory number m: sums that are not complete have the accumulator's type where they are made. */
static int64_t units_in(const tw_segment_frame *f, const tw_tiling *t, int i, int m)
{
    const tw_frame_tensor *h = &f->tensor[i];
    bool partial = t->sums && h->part == TW_GOES_OUT && m == h->n_memories - 1;
    return partial ? tw_machine_units(f->machine, tw_frame_driver(f)->accumulator, 1) : h->units;
}

static void add_room(const tw_tiler *w, const tw_segment_frame *f, const tw_tiling *t, int i, room *need)
{
    const tw_frame_tensor *h = &f->tensor[i];
    const tw_tiler_seen *s = tw_seen_of(w, f, i);
    uint64_t resident = t->resident;
    if (resident >> i & 1) {
        need[home_of(f, i)].once += aligned(f, home_of(f, i), h->whole);
        spare_end(f, home_of(f, i), h->whole, need);
    }
    for (int m = tw_tiles_from(f, resident, i); m < h->n_memories; m++) {
        room *r = &need[h->memory[m]];
        int64_t most = (s->twice ? 2 : 1) * s->most * units_in(f, t, i, m), units = aligned(f, h->memory[m], most),
                each = units;
        if (s->axis >= 0) each = aligned(f, h->memory[m], s->ahead * h->units);
        spare_end(f, h->memory[m], most, need);
        bool one = s->inner == 0 || h->part == TW_INTERMEDIATE;
        r->once += one ? units : units - each;
        if (!one) *(h->part == TW_COMES_IN ? &r->in : &r->out) += each;
    }
}

static int64_t units_of(const room *need, const tw_tiling *t)
{
    return need->once + t->in_slots * need->in + t->out_slots * need->out - need->spare;
}

bool tw_tiler_fits(const tw_tiler *w, const tw_segment_frame *f, tw_side side, const tw_seams *seams, tw_tiling *t)
{
    static const int64_t slots[][2] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}};
    room need[TW_MAX_PLATFORM_MEMORIES];
    int n = f->platform->n_memories;
    memset(need, 0, (size_t)n * sizeof *need);
    need[seams->shelf].once = seams->passing;
    for (int i = 0; i < f->n_tensors; i++) add_room(w, f, t, i, need);
    for (int i = 0; i < 4; i++) {
        int m = 1;
        t->in_slots = slots[i][0];
        t->out_slots = slots[i][1];
        while (m < n && (!is_on(f, side, m) || units_of(&need[m], t) <= f->platform->memory[m].is.size)) m++;
        if (m == n) return true;
    }
    return false;
}

uint64_t tw_tiler_full(const tw_tiler *w, const tw_segment_frame *f)
{
    room need[TW_MAX_PLATFORM_MEMORIES];
    const tw_tiling least = {.in_slots = 1, .out_slots = 1};
    uint64_t full = 0;
    memset(need, 0, (size_t)f->platform->n_memories * sizeof *need);
    for (int i = 0; i < f->n_tensors; i++)
        if (f->tensor[i].part != TW_COMES_IN || !tw_seen_of(w, f, i)->is_made) add_room(w, f, &least, i, need);
    for (int m = 1; m < f->platform->n_memories; m++)
        if (units_of(&need[m], &least) > f->platform->memory[m].is.size) full |= (uint64_t)1 << tw_min(m, 63);
    return full;
}

typedef struct load { /* of all that moves */
    double busy[TW_MAX_PLATFORM_ENGINES], passing[TW_MAX_PORTS];
    double first, last; /* of what comes into the first operator, and of what goes out */
} load;

static void add_link(tw_tiler *w, const tw_segment_frame *f, int i, int x, load *all, tw_tiling *t)
{
    const tw_frame_tensor *h = &f->tensor[i];
    const tw_link_sums *sums = moves_of(w, f, i, x);
    const tw_engine *mover = &f->platform->engine[h->link[x]].is;
    int port[2];
    ports_of(f, h, h->link[x], port);
    all->busy[h->link[x]] += sums->cycles;
    for (int k = 0; k < 2; k++)
        if (port[k] >= 0)
            all->passing[port[k]] +=
                sums->cycles * (double)tw_max(1, mover->count) / (double)f->platform->port[port[k]].ways;
    if (h->part == TW_COMES_IN && h->op == 0) all->first += sums->first;
    if (h->part == TW_GOES_OUT) all->last += sums->last;
    t->energy_fj += sums->energy_fj;
}

/* What the mover or the port takes that is busy longest. */
static double moving_of(tw_tiler *w, const tw_segment_frame *f, tw_side side, load *all, tw_tiling *t)
{
    double moved = 0;
    memset(all->busy, 0, (size_t)f->platform->n_engines * sizeof *all->busy);
    memset(all->passing, 0, (size_t)f->platform->n_ports * sizeof *all->passing);
    all->first = all->last = 0;
    for (int i = 0; i < f->n_tensors; i++)
        for (int x = tw_tiles_from(f, t->resident, i); x < f->tensor[i].n_links; x++)
            if (is_on(f, side, f->tensor[i].memory[x])) add_link(w, f, i, x, all, t);
    for (int e = 0; e < f->platform->n_engines; e++) moved = fmax(moved, all->busy[e]);
    for (int k = 0; k < f->platform->n_ports; k++) moved = fmax(moved, all->passing[k]);
    return moved;
}

static double working_of(const tw_tiler *w, const tw_segment_frame *f, bool peak, tw_tiling *t)
{
    double busy[TW_MAX_PLATFORM_ENGINES], worked = 0;
    memset(busy, 0, (size_t)f->platform->n_engines * sizeof *busy);
    for (int k = 0; k < f->segment.n; k++) {
        const tw_entered *e = &w->entered[tw_tiler_op(f, k)];
        const tw_engine *engine = &f->op[k].engine;
        busy[f->platform->view[f->op[k].view].engine] +=
            (peak ? e->peak : e->worked) / (double)tw_max(1, engine->count);
        t->energy_fj += e->points * (double)engine->energy_fj;
    }
    for (int e = 0; e < f->platform->n_engines; e++) worked = fmax(worked, busy[e]);
    return worked;
}

double tw_tiler_overlap(const tw_moving *m, double worked, double last_work, const tw_tiling *t)
{
    double overlapped = fmax(worked + m->first + m->last, m->moved + last_work * (m->last > 0));
    return t->in_slots > 1 && t->out_slots > 1   ? overlapped
           : t->in_slots > 1 || t->out_slots > 1 ? (overlapped + m->moved + worked) / 2
                                                 : m->moved + worked;
}

tw_moving tw_tiler_price(tw_tiler *w, const tw_segment_frame *f, tw_side side, bool peak, tw_tiling *t)
{
    load all;
    t->energy_fj = 0;
    double worked = working_of(w, f, peak, t);
    if (side == TW_OUTER_SIDE) t->energy_fj = 0; /* it is not executed there */
    tw_moving m = {.moved = moving_of(w, f, side, &all, t)};
    m.first = all.first;
    m.last = all.last;
    t->cycles = tw_tiler_overlap(&m, worked, peak ? 0 : w->entered[0].last_work, t);
    t->price = w->by->price(w->by->user, t->cycles, t->energy_fj);
    return m;
}
