/* src/fuse/ways.c - see ways.h: a walk over splits, and inside of each over tiles; a first walk counts, a second one writes. */
#include "fuse/ways.h"

#include "tile/box.h"

#include <string.h>

typedef struct lister {
    tw_segment segment;
    const tw_machine *machine;
    const tw_platform *platform;
    tw_arena *arena;
    int view[TW_WAYS_CORES][TW_MAX_GROUP_OPS]; /* of each core: who runs each operator; -1: nobody */
    int n, most;
    tw_way *way; /* NULL: they are counted */
    /* the way at hand */
    int loop, n_parts; /* loop -1: one core has all */
    int core[TW_WAYS_CORES];
    tw_span span[TW_WAYS_CORES];
    int cut; /* loop; -1: one tile */
    int64_t tiles, slots;
} lister;

bool tw_ways_suit(const tw_machine *machine)
{
    const tw_platform *p = machine->platform;
    bool one = p && p->n_cores < 2;
    if (!p || p->n_cores > TW_WAYS_CORES || (!one && p->n_memories != 1 + p->n_cores)) return false;
    for (int m = 1; m < p->n_memories; m++)
        if ((!one && p->memory[m].core != m - 1) || p->memory[m].lanes > 1) return false;
    for (int v = 0; v < p->n_views; v++)
        if (!one && p->view[v].machine.n_memories != 2)
            return false; /* the way of its core leads through another one */
    for (int v = 0; v < p->n_views; v++)
        if ((!one && p->engine[p->view[v].engine].core < 0) || p->view[v].machine.pads) return false;
    return true;
}

static const tw_op *driver_of(const lister *w) { return tw_segment_op(&w->segment, w->segment.n - 1); }
static bool can_run(const lister *w, int c) { return w->view[c][0] >= 0; }

/* The first engine of each core for each operator; of a core that cannot run one of them, none. */
static void find_views(lister *w)
{
    const tw_platform *p = w->platform;
    for (int c = 0; c < p->n_cores; c++)
        for (int k = 0; k < w->segment.n; k++) {
            int *view = &w->view[c][k];
            *view = -1;
            for (int v = p->n_views - 1; v >= 0; v--)
                if (p->engine[p->view[v].engine].core == c &&
                    tw_machine_computes(&p->view[v].machine, tw_segment_op(&w->segment, k)))
                    *view = v;
            if (*view < 0) {
                w->view[c][0] = -1;
                break;
            }
        }
}

/* ---- a way as groups ---- */

static int64_t len_of(const lister *w, int part, int loop)
{
    return loop == w->loop ? tw_span_len(w->span[part]) : driver_of(w)->loop[loop].extent;
}

static int64_t size_of(const lister *w, int part) { return tw_cdiv(len_of(w, part, w->cut), w->tiles); }

/* The points of a part, and of its first tile. */
static tw_box box_of(const lister *w, int part, bool tile)
{
    tw_box box = tw_box_of_op(driver_of(w));
    if (w->loop >= 0) box.span[w->loop] = w->span[part];
    if (tile && w->cut >= 0) box.span[w->cut].hi = box.span[w->cut].lo + size_of(w, part);
    return box;
}

tw_spread tw_ways_lay_over(const tw_machine *view, const tw_op *op, const tw_box *box)
{
    const tw_engine *engine = &view->engine[view->compute];
    const tw_cost *cost = view->has_apart >> op->compute & 1 ? &view->apart[op->compute] : &engine->cost;
    int n_dims = tw_cost_dims(cost), loop[TW_MAX_LOOPS], n = 0;
    int64_t count = 1, least = INT64_MAX, len[TW_MAX_LOOPS] = {0};
    tw_spread best = {{0}};
    for (int l = 0; l < op->n_loops && n_dims > 0; l++) {
        len[l] = tw_span_len(box->span[l]);
        if (op->loop[l].extent == 1 || (op->loop[l].reduces && engine->unrolls_parallel)) continue;
        loop[n++] = l;
        count *= n_dims;
    }
    for (int64_t i = 0; i < count && n > 0; i++) {
        tw_spread spread = {{0}};
        int64_t code = i;
        for (int x = 0; x < n; x++, code /= n_dims) spread.dim[loop[x]] = (int8_t)(1 + code % n_dims);
        int64_t passes = tw_spread_passes(&spread, op, &cost->array, len);
        if (passes >= least) continue;
        least = passes;
        best = spread;
    }
    return best;
}

static tw_status write_ops(const lister *w, int part, tw_group_map *group)
{
    tw_group_op *op;
    tw_box tile = box_of(w, part, true), box[TW_MAX_GROUP_OPS];
    tw_segment_boxes(&w->segment, &tile, box);
    TW_ALLOC(w->arena, op, w->segment.n);
    for (int k = 0; k < w->segment.n; k++) {
        int view = w->view[w->core[part]][k];
        op[k] = (tw_group_op){.op = w->segment.first + k, .view = view};
        op[k].over = tw_ways_lay_over(&w->platform->view[view].machine, tw_segment_op(&w->segment, k), &box[k]);
    }
    group->n_ops = w->segment.n;
    group->op = op;
    return TW_OK;
}

/* Whether all tiles of the part have the same of the tensor, as far as the first one shows. */
static bool is_same_in_all(const lister *w, int part, int tensor)
{
    tw_box whole = box_of(w, part, false), tile = box_of(w, part, true), box[TW_MAX_GROUP_OPS];
    tw_region all, first;
    tw_segment_boxes(&w->segment, &whole, box);
    int64_t elems = tw_segment_region(&w->segment, box, tensor, &all);
    tw_segment_boxes(&w->segment, &tile, box);
    return tw_segment_region(&w->segment, box, tensor, &first) == elems;
}

/* More than one buffer of what is loaded, and of what is stored. */
static tw_status write_holds(const lister *w, int part, tw_group_map *group)
{
    tw_hold *hold;
    int n = 0;
    TW_ALLOC(w->arena, hold, w->segment.n * TW_MAX_OPERANDS);
    for (int k = 0; k < w->segment.n && w->slots > 1; k++) {
        const tw_op *op = tw_segment_op(&w->segment, k);
        for (int o = 0; o < op->n_operands; o++) {
            int tensor = op->operand[o].tensor, maker = tw_segment_maker(&w->segment, tensor);
            bool known = maker >= 0 && maker < w->segment.n - 1;
            for (int i = 0; i < n; i++) known |= hold[i].tensor == tensor;
            if (known || is_same_in_all(w, part, tensor)) continue;
            hold[n++] = (tw_hold){.tensor = tensor, .memory = 1 + w->core[part], .depth = -1, .slots = w->slots};
        }
    }
    group->n_holds = n;
    group->hold = hold;
    return TW_OK;
}

static tw_status write_group(const lister *w, int part, tw_group_map *out)
{
    tw_group_level *level;
    tw_nest_cut *cut;
    const char *core = w->platform->core[w->core[part]].name;
    TW_ALLOC(w->arena, level, 1);
    TW_ALLOC(w->arena, cut, 1);
    *out = (tw_group_map){.name = driver_of(w)->name, .n_levels = 1, .level = level};
    if (w->loop >= 0) {
        out->n_parts = 1;
        out->part[0] = (tw_group_part){w->loop, w->span[part]};
        if (!(out->name = tw_arena_printf(w->arena, "%.90s.%.30s", out->name, core))) return TW_ERR_NOMEM;
    }
    if (w->cut >= 0) cut[out->n_cuts++] = (tw_nest_cut){.loop = w->cut, .size = size_of(w, part)};
    *level = (tw_group_level){.memory = 1 + w->core[part], .depth = out->n_cuts};
    out->cut = cut;
    TW_TRY(write_ops(w, part, out));
    return write_holds(w, part, out);
}

static tw_status put(lister *w)
{
    tw_group_map *group;
    if (w->n++ >= w->most || !w->way) return TW_OK;
    TW_ALLOC(w->arena, group, w->n_parts);
    for (int i = 0; i < w->n_parts; i++) TW_TRY(write_group(w, i, &group[i]));
    w->way[w->n - 1] = (tw_way){w->n_parts, group, w->n_parts == 1 ? 1 + w->core[0] : 0};
    return TW_OK;
}

/* ---- all ways ---- */

/* Whether one tile less, in every part, has the same sizes. */
static bool is_repeated(lister *w)
{
    bool same = true;
    for (int i = 0; i < w->n_parts; i++) {
        int64_t size = size_of(w, i);
        w->tiles--;
        same &= size_of(w, i) == size;
        w->tiles++;
    }
    return same;
}

static tw_status list_tiles(lister *w)
{
    const tw_op *op = driver_of(w);
    w->cut = -1;
    w->slots = 1;
    TW_TRY(put(w));
    for (int l = 0; l < op->n_loops; l++)
        for (w->tiles = 2; w->tiles <= TW_WAYS_TILES && !op->loop[l].reduces && op->loop[l].extent > 1;
             w->tiles++) {
            w->cut = l;
            if (is_repeated(w)) continue;
            for (w->slots = 1; w->slots <= 2; w->slots++) TW_TRY(put(w));
            if (w->n > w->most) return TW_OK;
        }
    return TW_OK;
}

/* Pieces of the loop for the parts from `part` on, which begin at `at`. */
static tw_status list_pieces(lister *w, int part, int64_t at)
{
    int64_t extent = driver_of(w)->loop[w->loop].extent;
    if (part == w->n_parts - 1) {
        w->span[part] = (tw_span){at, extent};
        return list_tiles(w);
    }
    for (int64_t end = at + 1; end <= extent - (w->n_parts - 1 - part) && w->n <= w->most; end++) {
        w->span[part] = (tw_span){at, end};
        TW_TRY(list_pieces(w, part + 1, end));
    }
    return TW_OK;
}

static tw_status list_splits(lister *w)
{
    const tw_op *op = driver_of(w);
    if (w->n_parts == 1) {
        w->loop = -1;
        return list_tiles(w);
    }
    for (int l = 0; l < op->n_loops; l++) {
        w->loop = l;
        if (!op->loop[l].reduces && op->loop[l].extent >= w->n_parts) TW_TRY(list_pieces(w, 0, 0));
    }
    return TW_OK;
}

static tw_status list_all(lister *w)
{
    w->n = 0;
    for (unsigned set = 1; set < 1u << w->platform->n_cores; set++) {
        bool all = true;
        w->n_parts = 0;
        for (int c = 0; c < w->platform->n_cores; c++)
            if (set >> c & 1) w->core[w->n_parts++] = c, all &= can_run(w, c);
        if (all) TW_TRY(list_splits(w));
    }
    return TW_OK;
}

tw_status tw_ways_list(const tw_segment *segment, const tw_machine *machine, int most, tw_arena *arena,
                       tw_ways *out)
{
    if (machine->platform->n_cores < 2) return tw_ways_list_one(segment, machine, most, arena, out);
    lister w = {
        .segment = *segment, .machine = machine, .platform = machine->platform, .arena = arena, .most = most};
    find_views(&w);
    TW_TRY(list_all(&w));
    *out = (tw_ways){.n = w.n};
    if (w.n > most) return TW_OK;
    TW_ALLOC(arena, w.way, w.n);
    TW_TRY(list_all(&w));
    out->way = w.way;
    return TW_OK;
}
