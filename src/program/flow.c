/* src/program/flow.c - see flow.h: the nest of an async program and who keeps what in it. */
#include "program/flowbuild.h"
#include "program/slide.h"
#include "tile/box.h"

/* ---- places ---- */

static void find_places(const tw_program *p, int64_t most[TW_MAX_MEMORIES][TW_MAX_LOOPS], tw_flow *flow)
{
    for (int t = 0; t < p->n_tiled; t++)
        for (int i = 0; i < p->op->n_loops; i++) {
            int l = p->tiled[t].map->order[i];
            if (most[t][l] < 2) continue;
            assert(flow->n_places < TW_MAX_PLACES); /* each doubles the executions, which are below 2^36 */
            if (p->op->loop[l].reduces) flow->reductions |= (tw_places)1 << flow->n_places;
            flow->trips[flow->n_places] = most[t][l];
            flow->place[flow->n_places++] = (tw_flow_place){t, l};
        }
}

/* Places of levels outside `level`. */
static int places_before(const tw_flow *flow, int level)
{
    int n = 0;
    while (n < flow->n_places && flow->place[n].level < level) n++;
    return n;
}

static tw_places span_of(int from, int to)
{
    tw_places all = 0;
    for (int p = from; p < to; p++) all |= (tw_places)1 << p;
    return all;
}

/* Places in [from, to) of these loops. */
static tw_places select_places(const tw_flow *flow, unsigned loops, int from, int to)
{
    tw_places set = 0;
    for (int p = from; p < to; p++)
        if (loops >> flow->place[p].loop & 1) set |= (tw_places)1 << p;
    return set;
}

/* ---- residencies ---- */

/* The level that the memory's tiles are cut by: its own, or the one that it passes tiles to. */
static int grain_of(const tw_program *p, int memory)
{
    int t = 0;
    while (p->tiled[t].memory < memory) t++;
    return t;
}

/* Whether the memory has one buffer for all of the operand: only where it comes from the tensor itself. */
static bool is_whole(const tw_program *p, int memory, int operand)
{
    return p->machine->memory[memory].whole && p->tiled[0].memory == memory &&
           tw_path_outer(tw_machine_path(p->machine, p->op, operand), memory) == 0 &&
           tw_level_keep(&p->map->level[memory - 1], operand) == TW_KEEP_ALL;
}

/* Places outside the loop while which the operand is kept, that loop included. */
static int kept_depth(const tw_program *p, const tw_flow *flow, int memory, int operand, int grain)
{
    int keep = tw_level_keep(&p->map->level[memory - 1], operand), depth = places_before(flow, grain);
    if (keep == TW_KEEP_TILE) return places_before(flow, grain + 1);
    const int *order = p->tiled[grain].map->order;
    for (int i = 0; keep != TW_KEEP_ALL; i++) {
        if (depth < flow->n_places && flow->place[depth].level == grain && flow->place[depth].loop == order[i])
            depth++;
        if (order[i] == keep) break;
    }
    return depth;
}

/* A tile that no outer place changes, those of `loops` doing so, need not leave when such a place moves. */
static int settle_depth(const tw_flow *flow, unsigned loops, int depth)
{
    while (depth > 0 && !(loops >> flow->place[depth - 1].loop & 1)) depth--;
    return depth;
}

/* How many tiles the places [from, to) make of an operand that depends on these loops; stride[p] of them are one step of place p apart. */
static int64_t number_tiles(const tw_flow *flow, unsigned loops, int from, int to, int64_t *stride)
{
    int64_t n = 1; /* at most the tensor's elements, rounded up once per level */
    for (int p = to - 1; p >= from; p--) {
        if (!(loops >> flow->place[p].loop & 1)) continue;
        stride[p] = n;
        n *= flow->trips[p];
    }
    return n;
}

/* It is there from the beginning, or stays there: no mover has anything to do with it. */
static void open_resident(tw_residency *s, int memory, int inner)
{
    *s = (tw_residency){.here = memory == inner, .resident = true, .inner = -1, .filler = -1, .drain = -1};
}

static void open_residency(const tw_program *p, tw_flow *flow, int memory, int operand)
{
    const tw_path path = tw_machine_path(p->machine, p->op, operand);
    tw_residency *s = &flow->residency[memory][operand];
    if (!(path >> memory & 1)) return;
    if (tw_view_keeps(p->machine, p->op, operand)) {
        open_resident(s, memory, flow->innermost[operand]);
        s->pool = (int16_t)operand;
        s->grain = -1;
        if (s->here) flow->residency[0][operand].inner = memory;
        return;
    }
    s->here = true;
    s->outer = tw_path_outer(path, memory);
    s->inner = -1;
    flow->residency[s->outer][operand].inner = memory;
    s->filler = (int16_t)tw_machine_link_of(p->machine, p->op, operand, s->outer, memory, TW_INWARDS);
    s->drain = (int16_t)tw_machine_link_of(p->machine, p->op, operand, s->outer, memory, TW_OUTWARDS);
    s->pool = (int16_t)tw_level_pool(&p->map->level[memory - 1], operand);
    s->grain = is_whole(p, memory, operand) ? -1 : grain_of(p, memory);
    s->depth = s->grain < 0 ? 0 : kept_depth(p, flow, memory, operand, s->grain);
    if (operand == tw_op_output(p->op) || p->machine->reuse == TW_REUSE_RESIDENT)
        s->depth = settle_depth(flow, p->loops[operand], s->depth);
}

static void close_residency(const tw_program *p, tw_flow *flow, tw_residency *s, int operand)
{
    int grain = places_before(flow, s->grain + 1);
    bool declared = operand != tw_op_output(p->op) && p->machine->reuse == TW_REUSE_DECLARED;
    s->key = declared ? span_of(0, s->depth) : select_places(flow, p->loops[operand], 0, s->depth);
    s->running = select_places(flow, ~p->loops[operand], s->depth, grain) | span_of(grain, flow->n_places);
    s->n_tiles = number_tiles(flow, p->loops[operand], s->depth, grain, s->stride);
    s->n_numbers = number_tiles(flow, p->loops[operand], 0, grain, s->number);
}

/* Tiles that are held at once: those that the outermost place that brings a tile back sweeps over. */
static int64_t count_needed(const tw_flow *flow, unsigned loops, const tw_residency *s, tw_places back)
{
    int grain = places_before(flow, s->grain + 1), q = s->depth;
    int64_t n = 1;
    while (q < grain && !(back >> q & 1)) q++;
    for (int p = q + 1; p < grain; p++)
        if (loops >> flow->place[p].loop & 1) n *= flow->trips[p];
    return n;
}

/* Whether a residency may go on although a place outside its depth moves: a sweep that turns around comes back to where it
 * was. All its tiles are then held. */
static bool goes_on(const tw_flow *flow, const tw_residency *s)
{
    return flow->serpentine && (span_of(0, s->depth) & ~s->key) != 0;
}

/* Tiles handed on at once: the memory inside asks for each of them only once. */
static bool passes(const tw_flow *flow, const tw_residency *s, tw_places asked, int operand)
{
    if (s->running & ~asked) return false;
    if (!goes_on(flow, s)) return true;
    return s->inner >= 0 && (flow->residency[s->inner][operand].key & ~s->key) == 0;
}

static int64_t needed_by(const tw_flow *flow, unsigned loops, const tw_residency *s, tw_places back)
{
    if (s->passing) return 1;
    return goes_on(flow, s) ? s->n_tiles : count_needed(flow, loops, s, back);
}

/* From the innermost memory outwards: what each is asked for. */
static void link_inputs(const tw_program *p, tw_flow *flow, int operand)
{
    tw_places asked = 0; /* places that stand on their first index when the memory inside asks for a tile */
    for (int m = flow->innermost[operand]; m > 0; m = flow->residency[m][operand].outer) {
        tw_residency *s = &flow->residency[m][operand];
        close_residency(p, flow, s, operand);
        s->last = s->running & ~asked;
        s->passing = passes(flow, s, asked, operand);
        asked = s->first = asked | s->running;
        s->needed = needed_by(flow, p->loops[operand], s, s->last);
        if (s->resident) s->passing = false, s->needed = s->n_tiles;
        if (s->passing) s->n_tiles = 1;
    }
}

static void link_output(const tw_program *p, tw_flow *flow)
{
    int output = tw_op_output(p->op), depth = flow->n_places;
    tw_places inside = 0;
    tw_residency *outermost = NULL;
    for (int m = flow->innermost[output]; m > 0; m = flow->residency[m][output].outer) {
        tw_residency *s = &flow->residency[m][output];
        depth = s->depth = s->depth < depth ? s->depth : depth; /* what lies inside keeps it as long */
        close_residency(p, flow, s, output);
        s->first = s->last = s->running;
        s->passing = s->inner >= 0 && passes(flow, s, inside, output);
        s->returns = (flow->reductions & ~s->running) != 0;
        flow->sums[m] = s->inner < 0 ? flow->reductions != 0 : flow->residency[s->inner][output].returns;
        s->needed = needed_by(flow, p->loops[output], s, s->running & ~inside);
        if (s->resident) s->passing = s->returns = false, s->needed = s->n_tiles;
        if (s->passing) s->n_tiles = 1;
        inside = s->running;
        outermost = s;
    }
    tw_residency *tensor = &flow->residency[0][output];
    tensor->grain = outermost->grain;
    tensor->returns = outermost->returns;
    tensor->n_tiles = outermost->n_numbers;
    memcpy(tensor->stride, outermost->number, sizeof tensor->stride);
}

/* ---- pools ---- */

/* Whether the inputs that pass through a memory are there together: they come or go in one command, or are read by the
 * execution. Otherwise each has left before the next one comes. */
static bool inputs_meet(const tw_flow *flow, int memory, const tw_residency *s)
{
    return s->inner < 0 || flow->joins[s->inner] || flow->joins[memory];
}

/* Tiles that are kept are all there at once; those that pass are not there together with the output that passes, nor,
 * mostly, with each other. Exact for a pool of one operand, and enough for one that is shared. */
static void count_pool(const tw_program *p, tw_flow *flow, int memory, int owner)
{
    int64_t held = 0, inputs = 0, output = 0;
    for (int o = owner; o < p->op->n_operands; o++) {
        const tw_residency *s = &flow->residency[memory][o];
        if (!s->here || s->pool != owner) continue;
        if (!s->passing)
            held += s->needed;
        else if (o == tw_op_output(p->op))
            output = 1;
        else
            inputs = inputs_meet(flow, memory, s) ? inputs + 1 : 1;
    }
    /* Sums come back behind the inputs of the step, which wait in their innermost memory for the execution. */
    bool meet = inputs > 0 && flow->residency[memory][owner].inner < 0;
    flow->needed[memory][owner] = held + (meet ? inputs + output : tw_max(inputs, output));
}

int64_t tw_flow_slots(const tw_program *p, const tw_flow *flow, int memory, int operand)
{
    const tw_level_map *map = &p->map->level[memory - 1];
    const tw_residency *s = &flow->residency[memory][operand];
    if (!s->here || s->pool != operand) return 0;
    if (map->slots[operand] > 0 && !s->resident) return map->slots[operand];
    int64_t needed = flow->needed[memory][operand];
    return needed == 1 && map->pass ? TW_PASS_SLOTS : needed;
}

/* ---- the whole ---- */

/* What stays between operators has its buffer for itself. */
static tw_status check_residents(const tw_program *p, const tw_flow *flow, tw_diag *diag)
{
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) {
            int owner = tw_level_pool(&p->map->level[m - 1], o);
            if (owner == o || !flow->residency[m][o].here || !flow->residency[m][owner].here) continue;
            if (!flow->residency[m][o].resident && !flow->residency[m][owner].resident) continue;
            return tw_diag_error(diag, p->map->level[m - 1].loc,
                                 "'%s' and '%s' share buffers in '%s', but one of them stays between two operators",
                                 p->op->operand[owner].name, p->op->operand[o].name, p->machine->memory[m].name);
        }
    return TW_OK;
}

static tw_status check_flow(const tw_program *p, const tw_flow *flow, tw_diag *diag)
{
    int output = tw_op_output(p->op), m = flow->innermost[output];
    const tw_level_map *inner = p->tiled[p->n_tiled - 1].map;
    if (flow->serpentine && p->n_tiled > 1)
        return tw_diag_error(diag, inner->loc, "'serpentine' needs a mapping with one tiled level, this one has %d",
                             p->n_tiled);
    TW_TRY(check_residents(p, flow, diag));
    for (; m > 0; m = flow->residency[m][output].outer) {
        const tw_residency *s = &flow->residency[m][output];
        if (!s->returns || s->filler >= 0 || s->resident) continue;
        return tw_diag_infeasible(
            diag, inner->loc,
            "partial sums of '%s' leave '%s' and would have to come back, but no engine carries "
            "from '%s' inwards to it",
            p->op->operand[output].name, p->machine->memory[m].name, p->machine->memory[s->outer].name);
    }
    if (flow->residency[0][output].returns && flow->residency[0][output].n_tiles > TW_FLOW_MAX_RETURNS)
        return tw_diag_error(diag, inner->loc, "more than %d tiles of partial sums in '%s'", TW_FLOW_MAX_RETURNS,
                             p->machine->memory[0].name);
    return TW_OK;
}

/* Whether several inputs come into the memory in one command: one mover brings them all, and joins them. */
static bool inputs_join(const tw_program *p, const tw_flow *flow, int memory)
{
    int filler = -1, n = 0;
    for (int o = 0; o < tw_op_output(p->op); o++) {
        const tw_residency *s = &flow->residency[memory][o];
        if (!s->here || s->filler < 0) continue;
        if (filler >= 0 && s->filler != filler) return false;
        filler = s->filler;
        n++;
    }
    return n > 1 && p->machine->engine[filler].joins;
}

tw_status tw_flow_build(const tw_program *p, int64_t most[TW_MAX_MEMORIES][TW_MAX_LOOPS],
                        int64_t largest[TW_MAX_MEMORIES][TW_MAX_LOOPS], tw_arena *arena, tw_diag *diag,
                        const tw_flow **out)
{
    tw_flow *flow;
    TW_ALLOC(arena, flow, 1);
    TW_ALLOC(arena, flow->residency, p->machine->n_memories);
    const tw_level_map *inner = p->tiled[p->n_tiled - 1].map;
    find_places(p, most, flow);
    flow->over =
        tw_spread_or_default(&inner->over, p->op, tw_cost_dims(&p->machine->engine[p->machine->compute].cost));
    flow->serpentine = inner->serpentine;
    for (int o = 0; o < p->op->n_operands; o++) {
        flow->residency[0][o] = (tw_residency){.here = true, .outer = -1, .inner = -1};
        flow->innermost[o] = tw_path_innermost(tw_machine_path(p->machine, p->op, o));
    }
    for (int m = 1; m < p->machine->n_memories; m++) {
        for (int o = 0; o < p->op->n_operands; o++) open_residency(p, flow, m, o);
        flow->joins[m] = inputs_join(p, flow, m);
    }
    for (int o = 0; o < tw_op_output(p->op); o++) link_inputs(p, flow, o);
    link_output(p, flow);
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) count_pool(p, flow, m, o);
    TW_TRY(check_flow(p, flow, diag));
    TW_TRY(tw_slide_settle(p, largest, flow, diag));
    *out = flow;
    return TW_OK;
}

/* ---- traffic by the formula ---- */

/* Ways through the cuts of a loop from a level inwards, those places of `still` standing on their first piece. */
static int64_t count_paths(const tw_program *p, int loop, int level, int64_t len, tw_places still)
{
    if (level == p->n_tiled) return 1;
    tw_split s = tw_level_split(p->tiled[level].map, loop, len);
    int64_t n_first = count_paths(p, loop, level + 1, tw_split_largest(&s), still);
    int at = 0;
    while (at < p->flow->n_places && (p->flow->place[at].level != level || p->flow->place[at].loop != loop)) at++;
    if (s.count == 1 || (at < p->flow->n_places && (still >> at & 1))) return n_first;
    int64_t n_large = s.extra > 0 ? s.extra : s.count - 1, last = tw_span_len(tw_split_at(&s, 0, s.count - 1));
    int64_t n_last = count_paths(p, loop, level + 1, last, still);
    return n_large * n_first + (s.count - n_large) * n_last; /* at most the loop's extent */
}

typedef struct sweep {
    const tw_program *p;
    const tw_operand *operand;
    int grain;
    const tw_sliding *slide;         /* NULL: tiles come whole      */
    unsigned axes;                   /* that are looked at          */
    tw_box box[TW_MAX_MEMORIES + 1]; /* box[t] is what level t cuts */
    tw_span before;         /* of the loop along which a window slides: the tile before this one, empty: none */
    int64_t elems, n_moved; /* of all tiles; tiles of which there is something to move */
    bool fits;
} sweep;

/* Positions of the tile at hand along an axis: all or, where it slides, those that are new. */
static int64_t positions_along(const sweep *s, int a)
{
    const tw_axis *axis = &s->operand->axis[a];
    const tw_box *box = &s->box[s->grain + 1];
    tw_span window = tw_span_clip(tw_axis_reach(axis, box), 0, axis->extent);
    if (s->slide && s->slide->axis == a && tw_span_len(s->before) > 0)
        window = tw_slide_new_rows(window, tw_slide_window(s->operand, s->slide, box, s->before));
    return tw_span_len(window);
}

/* Positions of the tile at hand along these axes. */
static int64_t footprint_of(const sweep *s)
{
    int64_t n = 1;
    for (unsigned rest = s->axes; rest; rest &= rest - 1) n *= positions_along(s, __builtin_ctz(rest));
    return n;
}

/* Sums the footprints of all tiles over the loops in `loops`, level by level. */
static void sweep_tiles(sweep *s, unsigned loops, int level)
{
    if (level > s->grain) {
        level = 0;
        loops &= loops - 1;
    }
    if (loops == 0) {
        int64_t n = footprint_of(s);
        s->n_moved += n > 0;
        s->fits = s->fits && tw_ckd_add(s->elems, n, &s->elems);
        return;
    }
    int l = __builtin_ctz(loops);
    tw_span from = s->box[level].span[l];
    tw_split split = tw_level_split(s->p->tiled[level].map, l, tw_span_len(from));
    for (int64_t i = 0; i < split.count && s->fits; i++) {
        s->box[level + 1].span[l] = tw_split_at(&split, from.lo, i);
        if (s->slide && s->slide->loop == l && level == s->grain)
            s->before = i > 0 ? tw_split_at(&split, from.lo, i - 1) : (tw_span){0, 0};
        sweep_tiles(s, loops, level + 1);
    }
}

/* Loops that occur only in axes of one loop and never leave the tensor are covered by their tiles exactly: such a
 * loop may as well be one tile. */
static unsigned windowed_loops(const tw_op *op, const tw_operand *operand)
{
    unsigned loops = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        bool plain = axis->n_terms == 1 && axis->term[0].coef == 1 && !tw_axis_is_clipped(op, axis);
        if (!plain) loops |= tw_axis_loops(axis);
    }
    return loops;
}

/* Takes from `left` an axis and all that share windowed loops with it, directly or by others; *loops are those. */
static unsigned take_axes(const tw_operand *operand, unsigned windowed, unsigned *left, unsigned *loops)
{
    unsigned axes = *left & -*left, before;
    *loops = tw_axis_loops(&operand->axis[__builtin_ctz(axes)]) & windowed;
    do {
        before = axes;
        for (int a = 0; a < operand->n_axes; a++) {
            unsigned of = tw_axis_loops(&operand->axis[a]) & windowed;
            if (!(*left >> a & 1) || !(of & *loops)) continue;
            axes |= 1u << a;
            *loops |= of;
        }
    } while (axes != before);
    *left &= ~axes;
    return axes;
}

/* Elements of all tiles of the operand, each once. Tiles are boxes: axes that share no loop are summed up apart, rows apart
 * from columns, and the sums multiplied. */
static bool sweep_operand(sweep *s, unsigned windowed, tw_flow_count *c)
{
    c->sweep = 1;
    for (unsigned left = (1u << s->operand->n_axes) - 1, loops; left != 0;) {
        s->axes = take_axes(s->operand, windowed, &left, &loops);
        s->elems = s->n_moved = 0;
        sweep_tiles(s, loops, 0);
        if (s->slide && (s->axes >> s->slide->axis & 1))
            c->slid_loops = loops, c->windows = s->n_moved, c->new_rows = s->elems;
        if (!s->fits || !tw_ckd_mul(c->sweep, s->elems, &c->sweep)) return false;
    }
    return true;
}

bool tw_flow_traffic(const tw_program *p, int memory, int operand, tw_flow_count *out)
{
    const tw_residency *residency = &p->flow->residency[memory][operand];
    tw_flow_count c = {.transfers = 1};
    int64_t repeats = 1;
    sweep s; /* boxes are large, and filled in as far as there are levels */
    s.p = p;
    s.operand = &p->op->operand[operand];
    s.grain = residency->grain;
    s.slide = residency->asks > 0 ? &p->flow->residency[residency->asks][operand].slide : NULL;
    s.before = (tw_span){0, 0};
    s.fits = true;
    s.box[0] = tw_box_of_op(p->op);
    for (int t = 0; t <= residency->grain; t++) s.box[t + 1] = s.box[0];
    if (residency->grain < 0) {
        tw_region region;
        *out = (tw_flow_count){1, tw_region_of(s.operand, s.box, &region), tw_region_of(s.operand, s.box, &region)};
        return true;
    }
    bool fits = sweep_operand(&s, windowed_loops(p->op, s.operand), &c);
    c.transfers = s.slide ? c.windows : 1;
    for (int l = 0; l < p->op->n_loops; l++) {
        int64_t n = count_paths(p, l, 0, p->op->loop[l].extent, residency->first);
        if (!(c.slid_loops >> l & 1) && !tw_ckd_mul(c.transfers, n, &c.transfers)) return false;
        if (!(p->loops[operand] >> l & 1) && !tw_ckd_mul(repeats, n, &repeats)) return false;
    }
    *out = c;
    return fits && tw_ckd_mul(c.sweep, repeats, &out->elems);
}
