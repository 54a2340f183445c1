/* src/verify/room.c - see room.h. */
#include "verify/room.h"
#include "verify/scene.h"
#include "verify/shape.h"

#include <string.h>

enum { MOST_VISITED = 1 << 12 }; /* pieces of a loop that are looked at one by one */

typedef struct room {
    const tw_verify_input *in;
    tw_fault *fault;
    tw_residencies residencies;                     /* in rows: a tile of everything, everywhere   */
    int level[TW_MAX_MEMORIES];                     /* tiled level whose tiles a memory has       */
    const tw_level_map *map[TW_MAX_MEMORIES];       /* of the tiled levels                        */
    int64_t longest[TW_MAX_MEMORIES][TW_MAX_LOOPS]; /* tile of each, per loop                     */
} room;

static int output_of(const room *r) { return r->in->op->n_operands - 1; }
static const tw_level_map *map_of(const room *r, int memory) { return &r->in->map->level[memory - 1]; }
static int owner_of(const room *r, int memory, int operand) { return operand - map_of(r, memory)->shares[operand]; }

static bool is_here(const room *r, int memory, int operand) { return r->residencies.of[memory][operand].here; }

/* ---- pieces of loops ---- */

/* Every piece that levels up to t cut a loop into; -1 when there are too many. */
static int pieces(const room *r, int t, int loop, tw_span out[MOST_VISITED])
{
    tw_span *now = out;
    int n = 1;
    now[0] = (tw_span){0, r->in->op->loop[loop].extent};
    for (int level = 0; level <= t; level++) {
        int64_t sum = 0;
        for (int i = 0; i < n; i++) sum += tw_steps_tiles(r->map[level], loop, now[i].hi - now[i].lo);
        if (sum > MOST_VISITED) return -1;
        int to = (int)sum; /* from the last on, so that nothing is overwritten that is still needed */
        for (int i = n - 1; i >= 0; i--) {
            tw_span piece = now[i];
            int64_t tiles = tw_steps_tiles(r->map[level], loop, piece.hi - piece.lo);
            for (int64_t k = tiles - 1; k >= 0; k--) now[--to] = tw_steps_tile(r->map[level], loop, piece, k);
        }
        n = (int)sum;
    }
    return n;
}

/* The longest part of an axis that a tile of level t reaches inside the tensor; -1 when there are too many to look at. */
static int64_t longest_clipped(const room *r, const tw_axis *axis, int t)
{
    tw_span list[2][MOST_VISITED], reached;
    int n[2] = {1, 1};
    int64_t longest = 0;
    if (axis->n_terms > 2) return -1;
    for (int k = 0; k < axis->n_terms; k++) n[k] = pieces(r, t, axis->term[k].loop, list[k]);
    if (n[0] < 0 || n[1] < 0 || (int64_t)n[0] * n[1] > 16 * MOST_VISITED) return -1;
    for (int i = 0; i < n[0]; i++)
        for (int k = 0; k < n[1]; k++) {
            tw_box box = {0};
            if (axis->n_terms > 0) box.span[axis->term[0].loop] = list[0][i];
            if (axis->n_terms > 1) box.span[axis->term[1].loop] = list[1][k];
            if (tw_verify_axis_hull(axis, &box, &reached)) longest = tw_max(longest, tw_span_len(reached));
        }
    return longest;
}

static int64_t reach_of(const tw_axis *axis, const int64_t *len)
{
    int64_t reach = 1;
    for (int t = 0; t < axis->n_terms; t++) {
        int64_t coef = axis->term[t].coef;
        reach += (coef < 0 ? -coef : coef) * (len[axis->term[t].loop] - 1);
    }
    return reach;
}

/* Positions of the longest tile of the operand in the memory along an axis; -1: not known. */
static int64_t longest_along(const room *r, int memory, int operand, int a)
{
    int t = r->level[memory];
    const tw_axis *axis = &r->in->op->operand[operand].axis[a];
    if (tw_verify_axis_can_miss(r->in->op, axis)) return longest_clipped(r, axis, t);
    return reach_of(axis, r->longest[t]);
}

/* Elements of the largest tile of the operand in the memory; -1: not known. What lies in a circular buffer ahead of the window: as many
 * rows as that is. */
static int64_t largest_tile(const room *r, int memory, int operand, bool ahead)
{
    const tw_residencies_of *f = &r->residencies.of[memory][operand];
    int64_t elems = 1, len;
    for (int a = 0; a < r->in->op->operand[operand].n_axes; a++) {
        len = ahead && a == f->axis ? f->ahead : longest_along(r, memory, operand, a);
        if (len < 0) return -1;
        elems *= len;
    }
    return elems;
}

/* What is kept whole, loops that are padded at their padded length. */
static int64_t whole_operand(const room *r, int operand)
{
    const tw_verify_input *in = r->in;
    const tw_operand *o = &in->op->operand[operand];
    int64_t elems = 1, len[TW_MAX_LOOPS];
    tw_box all = tw_verify_whole_box(in->op);
    tw_region region;
    for (int l = 0; l < in->op->n_loops; l++) {
        int64_t extent = in->op->loop[l].extent, tile = in->largest[l];
        len[l] = in->padded >> l & 1 ? (extent + tile - 1) / tile * tile : extent;
    }
    if (!in->padded) return tw_verify_hull(in->op, operand, &all, &region) ? tw_verify_region_elems(o, &region) : 0;
    for (int l = 0; l < in->op->n_loops; l++) all.span[l].hi = len[l];
    for (int a = 0; a < o->n_axes; a++) elems *= tw_verify_reach(in->op, operand, a, &all);
    return elems;
}

/* ---- pools ---- */

static int64_t wanted_count(const room *r, int memory, int operand)
{
    const tw_level_map *map = map_of(r, memory);
    const tw_residencies_of *f = &r->residencies.of[memory][operand];
    if (!f->here || owner_of(r, memory, operand) != operand) return 0;
    if (map->slots[operand] > 0 && !f->resident) return map->slots[operand];
    int64_t needed = r->residencies.needed[memory][operand];
    return needed == 1 && map->pass ? 2 : needed;
}

/* Units of one buffer of the pool; -1: not known. */
static int64_t wanted_size(const room *r, int memory, int owner, bool ahead)
{
    int64_t size = 0;
    for (int o = owner; o <= output_of(r); o++) {
        if (!is_here(r, memory, o) || owner_of(r, memory, o) != owner) continue;
        bool whole = r->residencies.of[memory][o].grain < 0;
        int64_t elems = whole ? whole_operand(r, o) : largest_tile(r, memory, o, ahead);
        if (elems < 0) return -1;
        size = tw_max(size, tw_verify_slot_units(r->in, memory, o, elems));
    }
    return size;
}

static void check_pool(const room *r, int memory, int o)
{
    const tw_layout *layout = r->in->layout;
    int64_t count = wanted_count(r, memory, o), is = owner_of(r, memory, o) == o ? layout->count[memory][o] : 0;
    const char *name = r->in->op->operand[o].name, *at = r->in->machine->memory[memory].name;
    if (count != is) {
        tw_fault_set(r->fault, "layout: '%s' has %" PRId64 " buffers in '%s', the mapping asks for %" PRId64, name,
                     is, at, count);
        return;
    }
    bool slides = r->residencies.of[memory][o].slides;
    for (int b = layout->first[memory][o]; b < layout->first[memory][o] + count; b++) {
        int64_t size = wanted_size(r, memory, o, slides && b > layout->first[memory][o]);
        if (layout->buffer[b].circular != slides)
            tw_fault_set(r->fault, "layout: buffer %s is %s, the mapping asks for %s",
                         tw_buffer_name_of(r->in->scene, b, -1, -1).text,
                         slides ? "no part of a circular one" : "circular",
                         slides ? "a window that slides" : "whole tiles");
        if (size >= 0 && layout->buffer[b].size != size)
            tw_fault_set(r->fault, "layout: buffer %s has %" PRId64 " units, its largest tile %" PRId64,
                         tw_buffer_name_of(r->in->scene, b, -1, -1).text, layout->buffer[b].size, size);
        if (size < 0 && !slides) break;
    }
}

/* ---- addresses ---- */

/* What stays for the next operator lies where that one finds it whatever its own buffers are. */
static void put_residents_first(const room *r, int memory, int order[TW_MAX_OPERANDS])
{
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int o = 0; o <= output_of(r); o++)
            if (r->residencies.of[memory][o].resident == (pass == 0)) order[n++] = o;
}

/* Operands in the order in which their buffers are given out; false where that is not laid down. */
static bool order_of(const room *r, int memory, int order[TW_MAX_OPERANDS])
{
    tw_placement placement = r->in->machine->memory[memory].placement;
    for (int o = 0; o <= output_of(r); o++) {
        int k = o;
        bool bump = placement == TW_PLACE_BUMP;
        for (; bump && k > 0 && r->residencies.of[memory][order[k - 1]].depth > r->residencies.of[memory][o].depth;
             k--)
            order[k] = order[k - 1];
        order[k] = o;
    }
    if (placement == TW_PLACE_SLOTS) put_residents_first(r, memory, order);
    bool first = !r->in->map->fused && placement == TW_PLACE_SLOTS; /* of its group */
    return first || (tw_verify_is_alone(r->in) && placement != TW_PLACE_LIFETIME);
}

/* One behind the other, each at a multiple of the alignment; the tiles of what is kept are one piece where nothing is given back. */
static void check_addresses(const room *r, int memory)
{
    const tw_layout *layout = r->in->layout;
    const tw_memory *m = &r->in->machine->memory[memory];
    int order[TW_MAX_OPERANDS];
    int64_t end = 0;
    bool known = order_of(r, memory, order);
    for (int i = 0; i <= output_of(r) && known && !r->fault->set; i++) {
        int o = order[i], first = layout->first[memory][o];
        const tw_residencies_of *f = &r->residencies.of[memory][o];
        if (owner_of(r, memory, o) != o || layout->count[memory][o] == 0) continue;
        bool piece = f->slides || (m->placement != TW_PLACE_SLOTS && f->held_table > 1);
        for (int b = first; b < first + layout->count[memory][o]; b++) {
            int64_t at = piece && b > first ? end : (end + m->align - 1) / m->align * m->align;
            if (layout->buffer[b].offset != at)
                tw_fault_set(r->fault, "layout: buffer %s lies at %" PRId64 ", the one before it ends at %" PRId64,
                             tw_buffer_name_of(r->in->scene, b, -1, -1).text, layout->buffer[b].offset, end);
            end = at + layout->buffer[b].size;
        }
    }
}

/* The end of the last buffer. Others of a group, and a buffer that the compiler of a padded output gives out for nothing, may lie
 * behind it. */
static void check_used(const room *r, int memory)
{
    if (!r->in->claims || r->fault->set) return;
    int64_t said = r->in->claims->memory[memory].static_units, end = r->in->scene->used[memory];
    bool exact = tw_verify_is_alone(r->in) && !r->in->padded;
    if (said < end || (exact && said != end) || said > r->in->machine->memory[memory].size)
        tw_fault_set(r->fault, "the report says that buffers take %" PRId64 " of '%s', they end at %" PRId64, said,
                     r->in->machine->memory[memory].name, end);
}

/* ---- single and double buffers ---- */

static void check_doubled(const room *r, int memory)
{
    const tw_memory *m = &r->in->machine->memory[memory];
    int64_t doubled = 0;
    if (m->doubles == TW_DOUBLE_ANY || map_of(r, memory)->pass) return;
    for (int o = 0; o <= output_of(r) && !r->fault->set; o++) {
        const tw_residencies_of *f = &r->residencies.of[memory][o];
        int64_t count = r->in->layout->count[memory][o];
        bool may = o < output_of(r) && f->inwards >= 0;
        if (m->doubles == TW_DOUBLE_CHANGING)
            may = may && r->residencies.walk.n > 0 && f->depth >= r->residencies.walk.n;
        if (!f->here || f->resident || owner_of(r, memory, o) != o) continue;
        if (!may && (count == 1 || count == f->held)) continue;
        if (!may || count > 2 || (doubled > 0 && count != doubled))
            tw_fault_set(r->fault,
                         "layout: '%s' has %" PRId64 " buffers in '%s', which does not take so many of it",
                         r->in->op->operand[o].name, count, m->name);
        doubled = count;
    }
}

/* ---- cuts ---- */

static void check_cuts(const room *r, int loop)
{
    const tw_engine *mac = &r->in->machine->engine[r->in->machine->compute];
    int64_t len[2][64] = {{r->in->op->loop[loop].extent}};
    int n[2] = {1, 0};
    for (int t = 0; t < r->in->n_levels && !r->fault->set; t++) {
        const tw_level_map *map = r->map[t];
        int64_t least = tw_max(mac->min_tile, map->min_tile), *to = len[(t + 1) % 2];
        int *m = &n[(t + 1) % 2];
        *m = 0;
        for (int i = 0; i < n[t % 2]; i++) {
            int64_t piece = len[t % 2][i], tiles = tw_steps_tiles(map, loop, piece);
            if (tiles > 1 && piece / tiles < least)
                tw_fault_set(
                    r->fault,
                    "tiles of loop '%s' in '%s' have %" PRId64 " points, at least %" PRId64 " are asked for",
                    r->in->op->loop[loop].name, r->in->machine->memory[map->memory].name, piece / tiles, least);
            for (int64_t k = 0; k < tiles && *m < 62; k += tw_max(1, tiles - 1)) {
                tw_span s = tw_steps_tile(map, loop, (tw_span){0, piece}, k);
                bool known = false;
                for (int j = 0; j < *m; j++) known |= to[j] == s.hi - s.lo;
                if (!known) to[(*m)++] = s.hi - s.lo;
            }
        }
    }
}

/* The list that the compute engine has for loops of this name, NULL: none. */
static const tw_tile_sizes *list_for(const tw_engine *mac, const char *loop)
{
    for (int i = 0; i < mac->n_tile_sizes; i++)
        if (strcmp(mac->tile_sizes[i].loop, loop) == 0) return &mac->tile_sizes[i];
    return NULL;
}

/* So many points of a loop are in the list; of the tile that ends the loop, not more than some entry has. */
static bool is_listed(const tw_tile_sizes *list, int64_t points, bool ends)
{
    for (int i = 0; i < list->n_sizes; i++)
        if (ends ? points <= list->size[i] : points == list->size[i]) return true;
    return false;
}

bool tw_room_takes(const tw_engine *mac, const tw_op *op, int loop, tw_span span)
{
    int64_t points = span.hi - span.lo;
    bool ends = span.hi == op->loop[loop].extent;
    const tw_tile_sizes *list = list_for(mac, op->loop[loop].name);
    if (list) return is_listed(list, points, ends);
    if (ends || mac->tile_multiple <= 1 || (mac->multiple_parallel && op->loop[loop].reduces)) return true;
    return points % mac->tile_multiple == 0;
}

/* What the engine takes of each loop. */
static bool takes_tile(const tw_site *s, const tw_engine *mac)
{
    const tw_op *op = s->in->op;
    for (int l = 0; l < op->n_loops; l++) {
        tw_span span = s->instr->box.span[l];
        if (tw_room_takes(mac, op, l, span)) continue;
        if (list_for(mac, op->loop[l].name))
            return tw_fault_at(s, "has %" PRId64 " points of loop '%s', which '%s' does not take",
                               span.hi - span.lo, op->loop[l].name, mac->name);
        return tw_fault_at(s, "has %" PRId64 " points of loop '%s', '%s' takes multiples of %" PRId64,
                           span.hi - span.lo, op->loop[l].name, mac->name, mac->tile_multiple);
    }
    return true;
}

bool tw_room_exec(const tw_site *s)
{
    const tw_op *op = s->in->op;
    const tw_engine *mac = &s->in->machine->engine[s->in->machine->compute];
    if (!takes_tile(s, mac)) return false;
    for (int o = 0; o < op->n_operands - 1 && mac->pad_half; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            int64_t pad = tw_verify_padding(op, o, a, &s->instr->box), kernel = 0;
            const tw_axis *axis = &op->operand[o].axis[a];
            for (int t = 0; t < axis->n_terms && axis->n_terms > 1; t++)
                if (op->loop[axis->term[t].loop].reduces)
                    kernel = tw_max(kernel, op->loop[axis->term[t].loop].extent);
            if (kernel > 0 && axis->divisor == 1 && pad > kernel / 2)
                return tw_fault_at(s, "has %" PRId64 " elements of padding, '%s' takes half a kernel of %" PRId64,
                                   pad, mac->name, kernel);
        }
    return true;
}

/* ---- the whole ---- */

static void measure(room *r)
{
    const tw_verify_input *in = r->in;
    int64_t len[TW_MAX_LOOPS];
    int t = 0;
    for (int l = 0; l < in->op->n_loops; l++) len[l] = in->op->loop[l].extent;
    for (int i = 0; i < in->map->n_levels; i++) {
        const tw_level_map *map = &in->map->level[i];
        r->level[map->memory] = t;
        if (map->pass) continue;
        for (int l = 0; l < in->op->n_loops; l++) r->longest[t][l] = len[l] = tw_steps_longest(map, l, len[l]);
        r->map[t++] = map;
    }
}

int64_t tw_room_rows(const tw_verify_input *in, const tw_residencies *residencies, int memory, int operand)
{
    tw_fault unused = {0};
    const tw_residencies_of *f = &residencies->of[memory][operand];
    room r = {.in = in, .fault = &unused, .residencies = *residencies};
    if (!f->slides) return 0;
    measure(&r);
    int64_t window = longest_along(&r, memory, operand, f->axis), count = wanted_count(&r, memory, operand);
    if (window < 0) window = in->op->operand[operand].axis[f->axis].extent; /* too many tiles to look at */
    return window + (count - 1) * f->ahead;
}

/* ---- neighbours ---- */

static int count_reads(const tw_model *model, const tw_op *op, int tensor)
{
    int n = 0;
    for (int o = 0; o < op->n_operands - 1; o++) n += tw_tensors_share(model, op->operand[o].tensor, tensor);
    return n;
}

/* What is never stored is for the next operator alone, which reads it once. */
static void check_neighbours(const tw_verify_input *in, tw_fault *fault)
{
    const tw_op *op = in->op, *end = in->model->op + in->model->n_ops;
    bool first = op == in->model->op, last = op + 1 == end;
    int made = op->operand[op->n_operands - 1].tensor;
    if (in->map->fused && (first || count_reads(in->model, op, op[-1].operand[op[-1].n_operands - 1].tensor) != 1))
        tw_fault_set(fault, "the mapping: '%s' is fused, but does not read once what the operator before it makes",
                     op->name);
    for (const tw_op *o = in->model->op; o < end && tw_verify_leaves(in) && !fault->set; o++)
        if (last || count_reads(in->model, o, made) != (o == op + 1))
            tw_fault_set(fault, "the mapping: what '%s' makes stays for the next operator, '%s' reads it %d times",
                         op->name, o->name, count_reads(in->model, o, made));
    if (tw_verify_leaves(in) && in->model->tensor[made].is_output)
        tw_fault_set(fault,
                     "the mapping: what '%s' makes stays for the next operator, and is an output of the workload",
                     op->name);
}

void tw_room_check(const tw_verify_input *in, tw_fault *fault)
{
    room r = {.in = in, .fault = fault};
    check_neighbours(in, fault);
    if (fault->set) return;
    tw_residencies_init(&r.residencies, in);
    measure(&r);
    for (int l = 0; l < in->op->n_loops; l++) check_cuts(&r, l);
    for (int m = 1; m < in->machine->n_memories; m++) {
        for (int o = 0; o <= output_of(&r) && !fault->set; o++) check_pool(&r, m, o);
        if (!fault->set) check_addresses(&r, m);
        if (!fault->set) check_doubled(&r, m);
        check_used(&r, m);
    }
}
