/* src/program/build.c - from a mapping to a program: resolve levels, check the geometry, size the slots.
 *
 * The cut of a loop at a level depends on that loop alone, so the tiles of a level are the product of one
 * list of spans per loop. Everything here is therefore asked loop by loop: which lengths reach a
 * level (at most a few different ones), and, only along axes that meet the tensor's edge, which spans. */
#include "mapping/taken.h"
#include "place/layout.h"
#include "program/flowbuild.h"
#include "tile/box.h"

/* ---- levels ---- */

static void resolve_levels(tw_program *p)
{
    int16_t pass[TW_MAX_MEMORIES];
    int n_pass = 0;
    for (int l = 0; l < p->map->n_levels; l++) {
        const tw_level_map *map = &p->map->level[l];
        if (map->pass) {
            pass[n_pass++] = (int16_t)map->memory;
            continue;
        }
        tw_tiled_level *t = &p->tiled[p->n_tiled++];
        *t = (tw_tiled_level){.map = map, .memory = map->memory, .n_pass = n_pass};
        for (int i = 0; i < n_pass; i++) {
            t->pass[i] = pass[i];
            t->mover[i] = (int16_t)tw_machine_mover(p->machine, pass[i]);
        }
        t->mover[n_pass] = (int16_t)tw_machine_mover(p->machine, map->memory);
        t->adder = (int16_t)tw_machine_adder(p->machine, map->memory);
        n_pass = 0;
    }
    p->tiled[p->n_tiled - 1].innermost = true;
}

void tw_program_levels(const tw_program *p, tw_level_info info[TW_MAX_MEMORIES])
{
    tw_box box = tw_box_of_op(p->op);
    for (int t = 0; t < p->n_tiled; t++) {
        info[t] = (tw_level_info){.memory = p->tiled[t].memory, .mode = p->tiled[t].map->accumulate};
        for (int l = 0; l < p->op->n_loops; l++)
            info[t].n_tiles[l] = tw_level_split(p->tiled[t].map, l, tw_span_len(box.span[l])).count;
        box = tw_level_first_tile(p->tiled[t].map, p->op, &box);
    }
}

/* ---- cuts ---- */

/* The different lengths that a loop's pieces have when they reach a level. A balanced cut makes at most two
 * from each, a greedy one at most two, and neighbours coincide, so the list stays short. */
enum { MAX_LENGTHS = 2 << TW_MAX_MEMORIES };
typedef struct lengths {
    int n;
    int64_t len[MAX_LENGTHS];
} lengths;

static void add_length(lengths *list, int64_t len)
{
    for (int i = 0; i < list->n; i++)
        if (list->len[i] == len) return;
    list->len[list->n++] = len;
}

/* The other one of two lists, emptied: long as they may be, the lists are neither cleared nor copied. */
static lengths *other_of(lengths list[2], const lengths *now)
{
    lengths *other = &list[now == list];
    other->n = 0;
    return other;
}

static tw_status refuse_cut(const tw_program *p, const tw_level_map *map, int loop, int64_t len, tw_diag *diag)
{
    const char *name = p->op->loop[loop].name, *at = p->machine->memory[map->memory].name;
    int64_t count = map->count[loop];
    if (count > len)
        return tw_diag_error(diag, map->loc,
                             "loop '%s' has %" PRId64 " points at '%s', fewer than %" PRId64 " tiles", name, len,
                             at, count);
    return tw_diag_error(diag, map->loc,
                         "a greedy cut of %" PRId64 " points of '%s' at '%s' never makes %" PRId64
                         " tiles; the next count that it makes is %" PRId64,
                         len, name, at, count, tw_split_next_legal(len, count, map->cut));
}

static tw_status check_min_tile(const tw_program *p, const tw_level_map *map, int loop, const tw_split *s,
                                tw_diag *diag)
{
    const tw_engine *mac = &p->machine->engine[p->machine->compute];
    int64_t least = tw_max(mac->min_tile, map->min_tile), points = s->len / s->count;
    if (s->count == 1 || points >= least) return TW_OK;
    const char *name = p->op->loop[loop].name, *at = p->machine->memory[map->memory].name;
    if (least > mac->min_tile)
        return tw_diag_infeasible(diag, map->loc,
                                  "tiles of loop '%s' at '%s' have %" PRId64 " points, 'min_tile' is %" PRId64,
                                  name, at, points, least);
    return tw_diag_infeasible(
        diag, map->loc, "tiles of loop '%s' at '%s' have %" PRId64 " points, engine '%s' needs at least %" PRId64,
        name, at, points, mac->name, least);
}

/* The tiles that a cut of one of a loop's pieces makes. */
static void add_tiles(lengths *list, const tw_split *s)
{
    add_length(list, tw_span_len(tw_split_at(s, 0, 0)));
    add_length(list, tw_span_len(tw_split_at(s, 0, s->count - 1)));
}

/* A cut loop's innermost tiles are such as the engine takes. The cuts are legal. */
static tw_status check_taken(const tw_program *p, int loop, tw_diag *diag)
{
    const tw_engine *mac = &p->machine->engine[p->machine->compute];
    const tw_tiled_level *inner = &p->tiled[p->n_tiled - 1];
    const tw_level_map *level[TW_MAX_MEMORIES];
    const char *name = p->op->loop[loop].name, *at = p->machine->memory[inner->memory].name;
    tw_taken taken = tw_taken_of(mac, p->op, loop);
    if (tw_taken_is_any(&taken)) return TW_OK;
    for (int t = 0; t < p->n_tiled; t++) level[t] = p->tiled[t].map;
    tw_refused bad = tw_taken_refuses(&taken, level, p->n_tiled, loop, p->op->loop[loop].extent);
    if (bad.len == 0) return TW_OK;
    if (taken.tiles.n_list == 0)
        return tw_diag_infeasible(diag, inner->map->loc,
                                  "a tile of loop '%s' at '%s' has %" PRId64
                                  " points, engine '%s' needs a multiple of %" PRId64 " in all but the last",
                                  name, at, bad.len, mac->name, taken.step);
    if (bad.last)
        return tw_diag_infeasible(diag, inner->map->loc,
                                  "the last tile of loop '%s' at '%s' has %" PRId64
                                  " points, engine '%s' takes at most %" PRId64,
                                  name, at, bad.len, mac->name, taken.last);
    return tw_diag_infeasible(diag, inner->map->loc,
                              "a tile of loop '%s' at '%s' has %" PRId64
                              " points, which is none of the sizes that engine '%s' takes",
                              name, at, bad.len, mac->name);
}

/* What is asked about the cuts: per tiled level and loop. */
typedef struct cuts {
    int64_t largest[TW_MAX_MEMORIES][TW_MAX_LOOPS];  /* longest tile                     */
    int64_t smallest[TW_MAX_MEMORIES][TW_MAX_LOOPS]; /* shortest tile                    */
    int64_t most[TW_MAX_MEMORIES][TW_MAX_LOOPS];     /* most tiles that a piece is cut into */
} cuts;

/* Walks one loop through all levels: legality, minimum and multiple of every cut; *n_tiles is the number of innermost
 * tiles along this loop. */
static tw_status check_loop(const tw_program *p, int loop, cuts *c, int64_t *n_tiles, tw_diag *diag)
{
    lengths list[2], *now = &list[0];
    *n_tiles = now->n = 1;
    now->len[0] = p->op->loop[loop].extent;
    for (int t = 0; t < p->n_tiled; t++) {
        const tw_level_map *map = p->tiled[t].map;
        lengths *next = other_of(list, now);
        int64_t most = 1, largest = 0, smallest = INT64_MAX;
        for (int i = 0; i < now->n; i++) {
            int64_t len = now->len[i];
            if (!tw_level_split_is_legal(map, loop, len)) return refuse_cut(p, map, loop, len, diag);
            tw_split s = tw_level_split(map, loop, len);
            TW_TRY(check_min_tile(p, map, loop, &s, diag));
            add_tiles(next, &s);
            largest = tw_max(largest, tw_split_largest(&s));
            smallest = tw_min(smallest, tw_span_len(tw_split_at(&s, 0, s.count - 1)));
            most = tw_max(most, s.count);
        }
        c->largest[t][loop] = largest;
        c->smallest[t][loop] = smallest;
        c->most[t][loop] = most;
        *n_tiles *= most; /* at most the extent, rounded up once per level */
        now = next;
    }
    return check_taken(p, loop, diag);
}

/* Partial sums of a level are added where they lie. */
static tw_status check_adders(const tw_program *p, tw_diag *diag)
{
    tw_level_info info[TW_MAX_MEMORIES];
    tw_program_levels(p, info);
    for (int t = 0; t < p->n_tiled; t++) {
        bool cuts_reduction = false;
        for (int l = 0; l < p->op->n_loops; l++) cuts_reduction |= p->op->loop[l].reduces && info[t].n_tiles[l] > 1;
        if (!cuts_reduction || info[t].mode == TW_FUSED || p->tiled[t].adder >= 0) continue;
        return tw_diag_infeasible(diag, p->tiled[t].map->loc,
                                  "accumulation '%s' needs an adder, memory '%s' has none",
                                  tw_accumulate_name(info[t].mode), p->machine->memory[p->tiled[t].memory].name);
    }
    return TW_OK;
}

/* ---- footprints at the tensor's edge ---- */

typedef struct spans {
    int64_t n;
    tw_span *at;
} spans;

/* Every piece of a loop at tiled level t, in order. */
static tw_status spans_at(const tw_program *p, int loop, int t, tw_arena *scratch, spans *out)
{
    spans now = {1, NULL};
    TW_ALLOC(scratch, now.at, 1);
    now.at[0] = (tw_span){0, p->op->loop[loop].extent};
    for (int level = 0; level <= t; level++) {
        const tw_level_map *map = p->tiled[level].map;
        spans next = {0};
        for (int64_t i = 0; i < now.n; i++) next.n += tw_level_split(map, loop, tw_span_len(now.at[i])).count;
        TW_ALLOC(scratch, next.at, next.n);
        int64_t k = 0;
        for (int64_t i = 0; i < now.n; i++) {
            tw_split s = tw_level_split(map, loop, tw_span_len(now.at[i]));
            for (int64_t j = 0; j < s.count; j++) next.at[k++] = tw_split_at(&s, now.at[i].lo, j);
        }
        now = next;
    }
    *out = now;
    return TW_OK;
}

/* What is asked about the tiles of an axis: the longest footprint, the deepest padding of a tile that
 * reads something. */
typedef struct axis_extremes {
    int64_t longest, pad_lo, pad_hi;
} axis_extremes;

static void visit(const tw_axis *axis, const spans *list, int term, tw_box *box, axis_extremes *out)
{
    if (term == axis->n_terms) {
        tw_span reach = tw_axis_reach(axis, box);
        int64_t len = tw_span_len(tw_span_clip(reach, 0, axis->extent)), lo, hi;
        out->longest = tw_max(out->longest, len);
        if (len == 0) return;
        tw_axis_padding(axis, box, &lo, &hi);
        out->pad_lo = tw_max(out->pad_lo, lo);
        out->pad_hi = tw_max(out->pad_hi, hi);
        return;
    }
    for (int64_t i = 0; i < list[term].n; i++) {
        box->span[axis->term[term].loop] = list[term].at[i];
        visit(axis, list, term + 1, box, out);
    }
}

static tw_status visit_tiles(const tw_program *p, const tw_axis *axis, int t, tw_arena *scratch, axis_extremes *out)
{
    spans list[TW_MAX_TERMS] = {0};
    for (int i = 0; i < axis->n_terms; i++) TW_TRY(spans_at(p, axis->term[i].loop, t, scratch, &list[i]));
    tw_box box = {0};
    *out = (axis_extremes){0};
    visit(axis, list, 0, &box, out);
    return TW_OK;
}

/* ---- slots ---- */

static tw_status largest_axis(const tw_program *p, const tw_axis *axis, int t, const int64_t *largest,
                              tw_arena *scratch, int64_t *out)
{
    if (tw_axis_is_clipped(p->op, axis)) {
        axis_extremes e;
        TW_TRY(visit_tiles(p, axis, t, scratch, &e));
        *out = e.longest;
        return TW_OK;
    }
    *out = tw_axis_stretch(axis, largest);
    return TW_OK;
}

static void set_pool(const tw_program *p, int memory, int operand, int64_t elems, tw_pools *pools)
{
    const tw_stop *stop = &p->stop[memory][operand];
    int64_t units = stop->sums ? elems * p->partial_units : tw_program_units(p, operand, elems);
    pools->count[memory][operand] = stop->slots;
    pools->depth[memory][operand] = stop->depth;
    pools->packed[memory][operand] = stop->packed || stop->slides;
    pools->circular[memory][operand] = stop->slides;
    if (stop->resident) pools->resident |= 1u << operand;
    pools->size[memory][stop->pool] = tw_max(pools->size[memory][stop->pool], units);
    if (stop->pool != operand) pools->sharers[memory][stop->pool] |= 1u << operand;
}

/* Where the output is padded, the compiler that pads it also gives out a buffer of its own size, and does not use it. */
static void count_unpadded(const tw_program *p, int t, int o, tw_pools *pools)
{
    tw_box all = tw_box_of_op(p->op);
    tw_region region;
    if (!(p->loops[o] & p->padded)) return;
    pools->extra[p->tiled[t].memory] = tw_program_units(p, o, tw_region_of(&p->op->operand[o], &all, &region));
}

/* What comes ahead of the window in a circular buffer: rows as long as those of the largest tile, whose axes are `len` long. */
static void set_ahead(const tw_program *p, int memory, int operand, const int64_t *len, tw_pools *pools)
{
    const tw_residency *s = p->flow ? &p->flow->residency[memory][operand] : NULL;
    int64_t elems = 1;
    if (!s || !s->slides) return;
    for (int a = 0; a < p->op->operand[operand].n_axes; a++) elems *= a == s->slide.axis ? s->slide.ahead : len[a];
    pools->ahead[memory][operand] = tw_program_units(p, operand, elems);
    pools->rows[memory][operand] = len[s->slide.axis] + (p->stop[memory][operand].slots - 1) * s->slide.ahead;
}

/* Units of the largest tile of each operand at tiled level t. Axes that share no loop are independent, so
 * the largest tile is the product of the largest axes; for others the product is an upper bound. */
static tw_status size_pools(const tw_program *p, int t, const int64_t *largest, tw_arena *scratch, tw_pools *pools)
{
    for (int o = 0; o < p->op->n_operands; o++) {
        const tw_operand *operand = &p->op->operand[o];
        int64_t elems = 1, len[TW_MAX_AXES];
        for (int a = 0; a < operand->n_axes; a++) {
            TW_TRY(largest_axis(p, &operand->axis[a], t, largest, scratch, &len[a]));
            elems *= len[a]; /* at most the tensor's elements, which fit */
        }
        int64_t held = elems;
        if (p->stop[p->tiled[t].memory][o].grain < 0) {
            tw_box all = tw_box_of_op(p->op);
            tw_region region;
            for (int l = 0; l < p->op->n_loops; l++)
                if (p->padded >> l & 1) all.span[l].hi = tw_cdiv(all.span[l].hi, p->largest[l]) * p->largest[l];
            held = 1;
            for (int a = 0; a < operand->n_axes; a++) held *= tw_span_len(tw_axis_reach(&operand->axis[a], &all));
            if (p->padded == 0) held = tw_region_of(operand, &all, &region);
        }
        set_pool(p, p->tiled[t].memory, o, held, pools);
        set_ahead(p, p->tiled[t].memory, o, len, pools);
        if (p->padded && o == tw_op_output(p->op) && held > elems) count_unpadded(p, t, o, pools);
        for (int i = 0; i < p->tiled[t].n_pass; i++) {
            set_pool(p, p->tiled[t].pass[i], o, elems, pools);
            set_ahead(p, p->tiled[t].pass[i], o, len, pools);
        }
    }
    return TW_OK;
}

/* ---- limits of the machine ---- */

static tw_status check_pads(const tw_program *p, int o, const tw_axis *axis, tw_arena *scratch, tw_diag *diag)
{
    int64_t kernel = 0;
    for (int i = 0; i < axis->n_terms; i++) {
        const tw_loop *loop = &p->op->loop[axis->term[i].loop];
        if (loop->reduces && axis->n_terms > 1) kernel = tw_max(kernel, loop->extent);
    }
    if (kernel == 0 || axis->divisor > 1 || !tw_axis_is_clipped(p->op, axis)) return TW_OK;
    axis_extremes e;
    TW_TRY(visit_tiles(p, axis, p->n_tiled - 1, scratch, &e));
    int64_t pad = tw_max(e.pad_lo, e.pad_hi);
    if (pad <= kernel / 2) return TW_OK;
    const tw_engine *mac = &p->machine->engine[p->machine->compute];
    return tw_diag_infeasible(diag, p->op->loc,
                              "a tile of '%s' has %" PRId64
                              " elements of padding, engine '%s' takes at most %" PRId64 " for a kernel of %" PRId64
                              "; the padding must be materialised",
                              p->op->operand[o].name, pad, mac->name, kernel / 2, kernel);
}

static tw_status check_pad_limit(const tw_program *p, tw_arena *scratch, tw_diag *diag)
{
    if (!p->machine->engine[p->machine->compute].pad_half) return TW_OK;
    for (int o = 0; o < tw_op_output(p->op); o++)
        for (int a = 0; a < p->op->operand[o].n_axes; a++)
            TW_TRY(check_pads(p, o, &p->op->operand[o].axis[a], scratch, diag));
    return TW_OK;
}

/* Whether transfers of `least` to `most` units take no longer on `outer` than on `inner`. Sufficient, and for
 * equal links exact; two linear costs differ most at one end, give or take the rounding of one cycle. */
static bool is_as_fast(const tw_engine *outer, const tw_engine *inner, int64_t least, int64_t most)
{
    const tw_cost *a = &outer->cost, *b = &inner->cost;
    int64_t of_a, of_b, grain_a = tw_cost_grain(a, &of_a), grain_b = tw_cost_grain(b, &of_b);
    if (a->kind == b->kind && tw_cost_fixed(a) <= tw_cost_fixed(b) && of_a <= of_b && grain_a >= grain_b)
        return true;
    if (tw_cost_cycles(a, most) <= tw_cost_cycles(b, least)) return true; /* costs never fall with size */
    if (a->kind != TW_COST_LINEAR || b->kind != TW_COST_LINEAR) return false;
    int64_t worst = grain_a >= grain_b ? least : most;
    return a->linear.latency + worst / grain_a + 1 <= b->linear.latency + worst / grain_b;
}

/* Units of the smallest tile, or something below. */
static int64_t smallest_units(const tw_program *p, int o, const int64_t *smallest)
{
    int64_t elems = 1;
    if (p->clipped >> o & 1) return 1;
    for (int a = 0; a < p->op->operand[o].n_axes; a++)
        elems *= tw_axis_stretch(&p->op->operand[o].axis[a], smallest);
    return tw_program_units(p, o, elems);
}

/* A pass-through level is free only while its transfers hide behind those of the level it feeds. */
static tw_status check_pass_speed(const tw_program *p, int t, const int64_t *smallest, const tw_pools *pools,
                                  tw_diag *diag)
{
    const tw_tiled_level *level = &p->tiled[t];
    const tw_engine *inner = &p->machine->engine[level->mover[level->n_pass]];
    for (int i = 0; i < level->n_pass; i++) {
        const tw_engine *outer = &p->machine->engine[level->mover[i]];
        const char *memory = p->machine->memory[level->pass[i]].name;
        if (outer->one_channel && !inner->one_channel)
            return tw_diag_infeasible(
                diag, pools->loc[level->pass[i]],
                "'%s' cannot be passed through: '%s' has one channel and cannot keep up with '%s'", memory,
                outer->name, inner->name);
        for (int o = 0; o < p->op->n_operands; o++) {
            int64_t most = pools->size[level->memory][o], least = smallest_units(p, o, smallest);
            if (is_as_fast(outer, inner, least, most)) continue;
            int64_t units = tw_cost_cycles(&outer->cost, most) > tw_cost_cycles(&inner->cost, most) ? most : least;
            return tw_diag_infeasible(diag, pools->loc[level->pass[i]],
                                      "'%s' cannot be passed through: %" PRId64 " units of '%s' take %" PRId64
                                      " cycles on '%s' and cannot hide behind %" PRId64 " on '%s'",
                                      memory, units, p->op->operand[o].name, tw_cost_cycles(&outer->cost, units),
                                      outer->name, tw_cost_cycles(&inner->cost, units), inner->name);
        }
    }
    return TW_OK;
}

/* Whether memory m, which knows single and double buffers only, can have those of the mapping. */
static tw_status check_dual(const tw_program *p, int m, const tw_pools *pools, tw_diag *diag)
{
    int64_t doubled = 0;
    tw_doubling doubles = p->machine->memory[m].doubles;
    if (doubles == TW_DOUBLE_ANY || p->map->level[m - 1].pass) return TW_OK;
    for (int o = 0; o < p->op->n_operands; o++) {
        const tw_residency *s = &p->flow->residency[m][o];
        bool changes = o < tw_op_output(p->op) && s->filler >= 0;
        if (doubles == TW_DOUBLE_CHANGING)
            changes = changes && p->flow->n_places > 0 && s->depth >= p->flow->n_places;
        int64_t count = pools->count[m][o];
        if (!s->here || s->resident || s->pool != o || (!changes && (count == 1 || count == s->needed))) continue;
        if (!changes)
            return tw_diag_infeasible(diag, pools->loc[m],
                                      "'%s' has %" PRId64 " buffers in '%s', which doubles only inputs%s",
                                      p->op->operand[o].name, count, p->machine->memory[m].name,
                                      doubles == TW_DOUBLE_CHANGING ? " that change with every execution" : "");
        if (count > 2 || (doubled > 0 && count != doubled))
            return tw_diag_infeasible(diag, pools->loc[m],
                                      "'%s' has %" PRId64 " buffers in '%s', which doubles all inputs%s or none",
                                      p->op->operand[o].name, count, p->machine->memory[m].name,
                                      doubles == TW_DOUBLE_CHANGING ? " that change with every execution" : "");
        doubled = count;
    }
    return TW_OK;
}

/* ---- rows and streams ---- */

/* Where operands stop on their way when each memory is on all of them. */
static void stop_everywhere(tw_program *p, cuts *c)
{
    for (int t = 0; t < p->n_tiled; t++) {
        const tw_tiled_level *level = &p->tiled[t];
        bool cut = false;
        for (int l = 0; l < p->op->n_loops; l++) cut |= p->op->loop[l].reduces && c->most[t][l] > 1;
        for (int i = 0; i <= level->n_pass; i++)
            for (int o = 0; o < p->op->n_operands; o++) {
                int m = i < level->n_pass ? level->pass[i] : level->memory;
                bool sums = m == level->memory && o == tw_op_output(p->op);
                p->stop[m][o] = (tw_stop){
                    .here = true,
                    .changes = true,
                    .outer = (int16_t)(m - 1),
                    .pool = (int16_t)o,
                    .grain = t,
                    .slots = p->map->level[m - 1].slots[o],
                    .needed = sums ? tw_mapping_min_output_slots(level->map->accumulate, cut ? 2 : 1) : 1};
            }
    }
}

static tw_stop stop_of(const tw_program *p, int m, int o)
{
    const tw_residency *s = &p->flow->residency[m][o];
    return (tw_stop){.here = s->here,
                     .resident = s->resident,
                     .sums = o == tw_op_output(p->op) && p->flow->sums[m],
                     .slides = s->slides,
                     .packed = p->machine->memory[m].placement != TW_PLACE_SLOTS && s->n_tiles > 1,
                     .changes = s->here && !s->resident && s->filler >= 0 && s->depth >= p->flow->n_places,
                     .outer = (int16_t)s->outer,
                     .pool = (int16_t)tw_level_pool(&p->map->level[m - 1], o),
                     .grain = s->grain,
                     .depth = s->depth,
                     .slots = tw_flow_slots(p, p->flow, m, o),
                     .needed = p->flow->needed[m][o]};
}

static tw_status begin_rows(tw_program *p, cuts *c, tw_arena *arena, tw_diag *diag)
{
    (void)arena;
    TW_TRY(check_adders(p, diag));
    stop_everywhere(p, c);
    return TW_OK;
}

static tw_status begin_stream(tw_program *p, cuts *c, tw_arena *arena, tw_diag *diag)
{
    TW_TRY(tw_flow_build(p, c->most, c->largest, arena, diag, &p->flow));
    for (int m = 1; m < p->machine->n_memories; m++)
        for (int o = 0; o < p->op->n_operands; o++) p->stop[m][o] = stop_of(p, m, o);
    return TW_OK;
}

static tw_status check_rows(const tw_program *p, cuts *c, const tw_pools *pools, tw_diag *diag)
{
    for (int t = 0; t < p->n_tiled; t++) TW_TRY(check_pass_speed(p, t, c->smallest[t], pools, diag));
    return TW_OK;
}

static tw_status check_stream(const tw_program *p, cuts *c, const tw_pools *pools, tw_diag *diag)
{
    (void)c;
    for (int m = 1; m < p->machine->n_memories; m++) TW_TRY(check_dual(p, m, pools, diag));
    return TW_OK;
}

/* What the two kinds of programs ask for while they are built. */
typedef struct program_form {
    /* Levels and cuts are there: everything but the pools. */
    tw_status (*begin)(tw_program *p, cuts *c, tw_arena *arena, tw_diag *diag);
    /* The pools are there. */
    tw_status (*check)(const tw_program *p, cuts *c, const tw_pools *pools, tw_diag *diag);
    bool roomy; /* memories that are as large as they have to be take it as well */
} program_form;

static const program_form *form_of(const tw_machine *machine)
{
    static const program_form rows = {begin_rows, check_rows, true}, stream = {begin_stream, check_stream, false};
    return tw_discipline_of(machine)->rows ? &rows : &stream;
}

/* ---- the whole ---- */

static tw_status check_cuts(tw_program *p, cuts *c, tw_diag *diag)
{
    p->n_execs = 1;
    for (int l = 0; l < p->op->n_loops; l++) {
        int64_t n;
        TW_TRY(check_loop(p, l, c, &n, diag));
        if (!tw_ckd_mul(p->n_execs, n, &p->n_execs) || p->n_execs > TW_EXECS_MAX)
            return tw_diag_error(diag, p->map->loc, "the mapping of '%s' makes more than %" PRId64 " executions",
                                 p->op->name, TW_EXECS_MAX);
    }
    return TW_OK;
}

/* Levels, limits and pools of a program whose cuts are legal. */
static tw_status build_pools(tw_program *p, cuts *c, bool roomy, tw_arena *arena, tw_diag *diag, tw_pools *pools)
{
    const program_form *form = form_of(p->machine);
    TW_TRY(form->begin(p, c, arena, diag));
    tw_arena_mark mark = tw_arena_save(arena);
    tw_status status = check_pad_limit(p, arena, diag);
    for (int t = 0; t < p->n_tiled && status == TW_OK; t++) status = size_pools(p, t, c->largest[t], arena, pools);
    if (status == TW_OK && (form->roomy || !roomy)) status = form->check(p, c, pools, diag);
    tw_arena_rewind(arena, mark);
    return status;
}

static tw_status build(const tw_problem *problem, const tw_op_map *map, bool roomy, tw_arena *arena, tw_diag *diag,
                       tw_program *out)
{
    const tw_model *model = problem->model;
    const tw_machine *machine = problem->machine;
    tw_program p = {.model = model, .op = &model->op[problem->op], .machine = machine, .map = map};
    cuts c;
    tw_pools pools = {.op = p.op, .machine = machine};
    assert(map->fused == machine->fusion.before);
    resolve_levels(&p);
    p.clipped = tw_op_clipped(p.op);
    for (int o = 0; o < p.op->n_operands; o++) p.loops[o] = tw_operand_loops(&p.op->operand[o]);
    for (int o = 0; o < p.op->n_operands; o++)
        p.elem_units[o] = tw_machine_units(machine, model->tensor[p.op->operand[o].tensor].dtype, 1);
    p.partial_units = tw_machine_units(machine, p.op->accumulator, 1);
    TW_TRY(check_cuts(&p, &c, diag));
    for (int l = 0; l < map->n_levels; l++) pools.loc[map->level[l].memory] = map->level[l].loc;
    for (int l = 0; l < p.op->n_loops; l++) {
        p.largest[l] = c.largest[p.n_tiled - 1][l];
        if (machine->pads && c.most[p.n_tiled - 1][l] > 1 && p.op->loop[l].extent % p.largest[l] != 0)
            p.padded |= 1u << l;
    }
    TW_TRY(build_pools(&p, &c, roomy, arena, diag, &pools));
    TW_TRY(tw_layout_build(&pools, roomy, arena, diag, &p.layout));
    *out = p;
    return TW_OK;
}

tw_status tw_program_build(const tw_problem *problem, const tw_op_map *map, tw_arena *arena, tw_diag *diag,
                           tw_program *out)
{
    return build(problem, map, false, arena, diag, out);
}

tw_status tw_program_build_roomy(const tw_problem *problem, const tw_op_map *map, tw_arena *arena, tw_diag *diag,
                                 tw_program *out)
{
    return build(problem, map, true, arena, diag, out);
}
