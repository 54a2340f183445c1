/* src/advise/moves.c - lists small changes of a mapping, makes them and words them; moves.h shows which. */
#include "advise/moves.h"

#include "machine/discipline.h"
#include "mapping/taken.h"

#include <math.h>
#include <string.h>

enum {
    MOST_SIZES = 48,      /* of one loop at one level                                              */
    FEW_DIVISORS = 3,     /* fewer than so many: sizes that leave a rest are tried too              */
    MOST_COUNT = 1 << 16, /* tiles of a size that is tried                                   */
    MOST_PERMUTED = 4,    /* cut loops of which every order is tried; of more only one is put elsewhere */
};

typedef struct list {
    const tw_program *p;
    tw_arena *arena;
    tw_move *move;
    int n, room;
    bool failed;
} list;

static void add(list *l, tw_move move)
{
    if (l->n == l->room) {
        int room = l->room ? 2 * l->room : 64;
        tw_move *grown = TW_NEW(l->arena, tw_move, room);
        l->failed = l->failed || !grown;
        if (!grown) return;
        if (l->n > 0) memcpy(grown, l->move, (size_t)l->n * sizeof *grown);
        l->move = grown;
        l->room = room;
    }
    l->move[l->n++] = move;
}

/* ---- tiles ---- */

/* The largest piece of a loop that reaches a level. */
static int64_t piece_at(const tw_op *op, const tw_op_map *map, int level, int loop)
{
    int64_t len = op->loop[loop].extent;
    for (int l = 0; l < level; l++)
        if (!map->level[l].pass) len = tw_level_largest(&map->level[l], loop, len);
    return len;
}

static int64_t size_at(const tw_op *op, const tw_op_map *map, int level, int loop)
{
    return tw_level_largest(&map->level[level], loop, piece_at(op, map, level, loop));
}

/* What tiles of the loop are multiples of at the level. */
static int64_t granule_of(const tw_program *p, int level, int loop)
{
    bool inner = &p->map->level[level] == p->tiled[p->n_tiled - 1].map;
    return inner ? tw_taken_of(&p->machine->engine[p->machine->compute], p->op, loop).step : 1;
}

typedef struct sizes {
    int n;
    int64_t size[MOST_SIZES]; /* falling */
    int64_t below, granule;
} sizes;

/* Not two that are nearly the same. */
static void add_size(sizes *s, int64_t size)
{
    int64_t before = s->n > 0 ? s->size[s->n - 1] : s->below;
    bool differs = s->n == 0 ? size < before : size <= before - before / 16 && size < before;
    if (size >= 1 && size % s->granule == 0 && differs && s->n < MOST_SIZES) s->size[s->n++] = size;
}

static void list_divisors(sizes *s, int64_t len)
{
    for (int64_t d = 1; d * d <= len; d++)
        if (len % d == 0) add_size(s, len / d);
    int64_t d = 1;
    while (d * d < len) d++;
    for (; d >= 1; d--)
        if (len % d == 0) add_size(s, d);
}

/* Sizes of 2, 3, .. tiles, rounded up to the granule. */
static void list_others(sizes *s, int64_t len)
{
    for (int64_t count = tw_max(2, len / s->below); count <= len && s->n < MOST_SIZES; count += 1 + count / 4)
        add_size(s, tw_cdiv(tw_cdiv(len, count), s->granule) * s->granule);
    add_size(s, s->granule);
}

static void list_tiles(list *l, int level)
{
    const tw_program *p = l->p;
    for (int loop = 0; loop < p->op->n_loops; loop++) {
        int64_t len = piece_at(p->op, p->map, level, loop), now = size_at(p->op, p->map, level, loop);
        sizes s = {.below = now, .granule = granule_of(p, level, loop)};
        list_divisors(&s, len);
        if (s.n < FEW_DIVISORS) {
            s.n = 0;
            list_others(&s, len);
        }
        for (int i = 0; i < s.n; i++)
            add(l, (tw_move){.kind = TW_EDIT_TILE, .level = level, .index = loop, .from = now, .to = s.size[i]});
    }
}

/* A reduction that is cut needs room for partial sums; a number of buffers that is left open has it. */
static void make_room_for_sums(const tw_program *p, int level, int loop, tw_op_map *map)
{
    tw_level_map *at = &map->level[level];
    int output = tw_op_output(p->op);
    if (at->slots[output] == 0 || !p->op->loop[loop].reduces) return;
    at->slots[output] = tw_max(at->slots[output], tw_mapping_min_output_slots(at->accumulate, 2));
}

/* ---- buffers ---- */

/* The fewest slots of a pool with which the program works. */
static int64_t least_slots(const tw_program *p, int level, int o)
{
    return tw_max(1, p->stop[p->map->level[level].memory][o].needed);
}

/* Slots of the pool that stands under operand o, 0: none does. */
static int64_t slots_now(const tw_program *p, int level, int o)
{
    int m = p->map->level[level].memory;
    if (p->layout.first[m][o] < 0 || p->stop[m][o].pool != o) return 0;
    return p->layout.count[m][o];
}

/* An input of which a second buffer would let the next tile come while this one is used. */
static bool can_double(const tw_program *p, int level, int o)
{
    return slots_now(p, level, o) == 1 && p->stop[p->map->level[level].memory][o].changes;
}

static void list_buffers(list *l, int level)
{
    int n_more = 0;
    for (int o = 0; o < l->p->op->n_operands; o++) {
        int64_t now = slots_now(l->p, level, o), least = least_slots(l->p, level, o);
        if (now <= least) continue;
        n_more++;
        for (int64_t n = now - 1;; n = tw_max(least, n - 1 - n / 4)) {
            add(l, (tw_move){.kind = TW_EDIT_BUFFERS, .level = level, .index = o, .from = now, .to = n});
            if (n == least) break;
        }
    }
    if (n_more > 1) add(l, (tw_move){.kind = TW_EDIT_BUFFERS, .level = level, .index = -1});
    for (int o = 0; o < tw_op_output(l->p->op); o++) {
        if (!can_double(l->p, level, o)) continue;
        add(l, (tw_move){.kind = TW_EDIT_BUFFERS, .level = level, .index = -1, .to = 2});
        break;
    }
}

static void set_slots(tw_level_map *level, const tw_op *op, int pool, int64_t n)
{
    for (int o = pool; o < op->n_operands; o++)
        if (tw_level_pool(level, o) == pool) level->slots[o] = n;
}

static void set_double_slots(const tw_program *p, int level, tw_op_map *map)
{
    for (int o = 0; o < tw_op_output(p->op); o++)
        if (can_double(p, level, o)) set_slots(&map->level[level], p->op, o, 2);
}

static void set_least_slots(const tw_program *p, int level, tw_op_map *map)
{
    for (int o = 0; o < p->op->n_operands; o++) {
        int64_t least = least_slots(p, level, o);
        if (slots_now(p, level, o) > least) set_slots(&map->level[level], p->op, o, least);
    }
}

/* ---- order ---- */

/* Positions of the loops that the level cuts; returns how many. */
static int cut_positions(const tw_program *p, const tw_op_map *map, int level, int at[TW_MAX_LOOPS])
{
    int n = 0;
    for (int i = 0; i < p->op->n_loops; i++) {
        int loop = map->level[level].order[i];
        if (size_at(p->op, map, level, loop) < piece_at(p->op, map, level, loop)) at[n++] = i;
    }
    return n;
}

static void add_order(list *l, int level, const int *at, const int *pick, int n)
{
    tw_move move = {.kind = TW_EDIT_ORDER, .level = level, .index = -1};
    const int *now = l->p->map->level[level].order;
    memcpy(move.order, now, sizeof move.order);
    for (int i = 0; i < n; i++) move.order[at[i]] = now[at[pick[i]]];
    add(l, move);
}

/* The permutation of this number: 0 leaves everything where it is. */
static void permute(int number, int n, int pick[TW_MAX_LOOPS])
{
    for (int i = 0; i < n; i++) pick[i] = i;
    for (int i = 0, rest = number; i < n; rest /= n - i, i++) {
        int k = i + rest % (n - i), taken = pick[k];
        for (; k > i; k--) pick[k] = pick[k - 1];
        pick[i] = taken;
    }
}

static void relocate(int from, int to, int n, int pick[TW_MAX_LOOPS])
{
    for (int i = 0; i < n; i++) pick[i] = i;
    for (int i = from; i < to; i++) pick[i] = i + 1;
    for (int i = from; i > to; i--) pick[i] = i - 1;
    pick[to] = from;
}

static void list_orders(list *l, int level)
{
    int at[TW_MAX_LOOPS], pick[TW_MAX_LOOPS], n = cut_positions(l->p, l->p->map, level, at), n_orders = 1;
    for (int i = 2; i <= n && n <= MOST_PERMUTED; i++) n_orders *= i;
    for (int i = 1; i < n_orders; i++) {
        permute(i, n, pick);
        add_order(l, level, at, pick, n);
    }
    for (int from = 0; from < n && n > MOST_PERMUTED; from++)
        for (int to = 0; to < n; to++) {
            if (to == from || to == from - 1) continue; /* the same as moving the other one */
            relocate(from, to, n, pick);
            add_order(l, level, at, pick, n);
        }
}

/* ---- keeping ---- */

static void list_keeps(list *l, int level)
{
    for (int o = 0; o < l->p->op->n_operands; o++)
        if (l->p->map->level[level].keeps[o] != 0)
            add(l, (tw_move){.kind = TW_EDIT_KEEP, .level = level, .index = o});
}

/* Everything, or while one of the loops that the level cuts stands still. */
static void list_longer_keeps(list *l, int level)
{
    int at[TW_MAX_LOOPS], n = cut_positions(l->p, l->p->map, level, at);
    const tw_level_map *map = &l->p->map->level[level];
    for (int o = 0; o < l->p->op->n_operands; o++) {
        if (!l->p->stop[map->memory][o].here || map->slides[o] != 0) continue;
        if (map->keeps[o] >= 0 && n > 0) add(l, (tw_move){TW_EDIT_KEEP, level, o, map->keeps[o], -1});
        for (int i = 0; i < n; i++)
            if (map->keeps[o] != map->order[at[i]] + 1)
                add(l, (tw_move){TW_EDIT_KEEP, level, o, map->keeps[o], map->order[at[i]] + 1});
    }
}

/* With another keeping it needs other buffers. */
static void set_keep(tw_level_map *level, const tw_op *op, int operand, int64_t keep)
{
    bool shared = false;
    for (int o = 0; o < op->n_operands; o++)
        shared = shared || (o != operand && tw_level_pool(level, o) == tw_level_pool(level, operand));
    level->keeps[operand] = (int)keep;
    if (!shared) level->slots[operand] = 0;
}

/* ---- arrays ---- */

/* The array of the compute engine, NULL: it is none. */
static const tw_cost_array *array_of(const tw_program *p)
{
    const tw_cost *cost = &p->machine->engine[p->machine->compute].cost;
    return cost->kind == TW_COST_ARRAY ? &cost->array : NULL;
}

static void add_spread(list *l, int level, const tw_spread *over)
{
    add(l, (tw_move){.kind = TW_EDIT_UNROLL, .level = level, .index = -1, .over = *over});
}

/* Dimensions a and b exchanged. */
static void add_exchanged(list *l, int level, tw_spread over, int a, int b)
{
    for (int i = 0; i < l->p->op->n_loops; i++) {
        int32_t share = over.share[i][a];
        over.dim[i] = (int8_t)(over.dim[i] == a + 1 ? b + 1 : over.dim[i] == b + 1 ? a + 1 : over.dim[i]);
        over.share[i][a] = over.share[i][b];
        over.share[i][b] = share;
    }
    add_spread(l, level, &over);
}

/* One loop over another dimension than now, or two dimensions exchanged; of the innermost tiles. */
static void list_spreads(list *l)
{
    const tw_cost_array *array = array_of(l->p);
    int level = (int)(l->p->tiled[l->p->n_tiled - 1].map - l->p->map->level);
    if (!array) return;
    tw_spread now = tw_spread_or_default(&l->p->map->level[level].over, l->p->op, array->n_dims);
    for (int i = 0; i < l->p->op->n_loops; i++)
        for (int d = 0; d < array->n_dims; d++) {
            tw_spread over = now;
            over.dim[i] = (int8_t)(d + 1);
            memset(over.share[i], 0, sizeof over.share[i]); /* the whole loop */
            if (now.dim[i] != d + 1) add_spread(l, level, &over);
        }
    for (int a = 0; a < array->n_dims; a++)
        for (int b = a + 1; b < array->n_dims; b++) add_exchanged(l, level, now, a, b);
}

/* ---- all of them ---- */

tw_status tw_moves_list(const tw_program *p, tw_arena *arena, tw_move **out, int *n)
{
    list l = {.p = p, .arena = arena};
    for (int level = 0; level < p->map->n_levels; level++) {
        if (!p->map->level[level].pass) list_tiles(&l, level);
        list_buffers(&l, level);
        if (!p->map->level[level].pass) list_orders(&l, level);
        list_keeps(&l, level);
    }
    *out = l.move;
    *n = l.n;
    return l.failed ? TW_ERR_NOMEM : TW_OK;
}

/* Larger sizes that divide what the level cuts, the smallest first. */
static void list_larger_tiles(list *l, int level)
{
    const tw_program *p = l->p;
    for (int loop = 0; loop < p->op->n_loops; loop++) {
        int64_t len = piece_at(p->op, p->map, level, loop), now = size_at(p->op, p->map, level, loop);
        int64_t granule = granule_of(p, level, loop);
        int n = 0;
        for (int64_t count = tw_min(len / now, MOST_COUNT); count >= 1 && n < MOST_SIZES; count--) {
            int64_t size = len / count;
            if (len % count != 0 || size <= now || (size % granule != 0 && size < len)) continue;
            add(l, (tw_move){.kind = TW_EDIT_TILE, .level = level, .index = loop, .from = now, .to = size});
            n++;
        }
    }
}

/* One buffer more of an operand, or twice as many. */
static void list_more_buffers(list *l, int level)
{
    int64_t most = tw_discipline_of(l->p->machine)->max_buffers;
    for (int o = 0; o < l->p->op->n_operands; o++) {
        int64_t now = slots_now(l->p, level, o);
        if (now == 0) continue;
        for (int64_t n = now + 1; n <= tw_min(2 * now, most); n += tw_max(1, now - 1))
            add(l, (tw_move){.kind = TW_EDIT_BUFFERS, .level = level, .index = o, .from = now, .to = n});
    }
}

tw_status tw_moves_list_growing(const tw_program *p, tw_arena *arena, tw_move **out, int *n)
{
    list l = {.p = p, .arena = arena};
    for (int level = 0; level < p->map->n_levels; level++) {
        if (!p->map->level[level].pass) list_larger_tiles(&l, level);
        list_more_buffers(&l, level);
        if (!p->map->level[level].pass) list_longer_keeps(&l, level);
    }
    list_spreads(&l);
    *out = l.move;
    *n = l.n;
    return l.failed ? TW_ERR_NOMEM : TW_OK;
}

bool tw_moves_are_one_kind(const tw_move *a, const tw_move *b)
{
    bool whole = a->kind == TW_EDIT_BUFFERS && (a->index < 0 || b->index < 0);
    return a->kind == b->kind && a->level == b->level && (a->index == b->index || whole);
}

void tw_move_apply(const tw_move *move, const tw_program *p, tw_op_map *map)
{
    tw_level_map *level = &map->level[move->level];
    switch (move->kind) {
    case TW_EDIT_TILE:
        level->size[move->index] = move->to;
        level->count[move->index] = 0;
        make_room_for_sums(p, move->level, move->index, map);
        break;
    case TW_EDIT_BUFFERS:
        if (move->index < 0 && move->to > 0)
            set_double_slots(p, move->level, map);
        else if (move->index < 0)
            set_least_slots(p, move->level, map);
        else
            set_slots(level, p->op, move->index, move->to);
        break;
    case TW_EDIT_ORDER: memcpy(level->order, move->order, sizeof level->order); break;
    case TW_EDIT_KEEP: set_keep(level, p->op, move->index, move->to); break;
    case TW_EDIT_UNROLL: level->over = move->over; break;
    default: break;
    }
}

/* ---- words ---- */

/* " in l1", where there is a choice. */
static const char *place_of(const tw_program *p, int level, tw_arena *arena)
{
    const char *memory = p->machine->memory[p->map->level[level].memory].name;
    return p->map->n_levels > 1 ? tw_arena_printf(arena, " in %s", memory) : "";
}

/* "k n": the loops that are cut, outermost first. */
static void put_order(const tw_program *p, const tw_op_map *map, int level, tw_text *out)
{
    int at[TW_MAX_LOOPS], n = cut_positions(p, map, level, at);
    for (int i = 0; i < n; i++)
        tw_text_printf(out, "%s%s", i ? " " : "", p->op->loop[map->level[level].order[at[i]]].name);
}

static const char *keep_bytes(tw_text *text, tw_arena *arena)
{
    const char *kept = text->failed ? NULL : tw_arena_strndup(arena, text->bytes ? text->bytes : "", text->len);
    tw_text_release(text);
    return kept;
}

static const char *order_text(const tw_program *p, const tw_op_map *map, int level, tw_arena *arena)
{
    tw_text text = {0};
    put_order(p, map, level, &text);
    return keep_bytes(&text, arena);
}

static const char *keep_text(const tw_program *p, const tw_op_map *map, const tw_move *move, tw_arena *arena)
{
    int keep = tw_level_keep(&map->level[move->level], move->index);
    if (keep == TW_KEEP_ALL) return "all";
    return keep == TW_KEEP_TILE ? "tile" : tw_arena_printf(arena, "%s", p->op->loop[keep].name);
}

/* "rows m, columns oy ox" */
static const char *spread_text(const tw_program *p, const tw_spread *given, tw_arena *arena)
{
    const tw_cost_array *array = array_of(p);
    tw_spread over = tw_spread_or_default(given, p->op, array->n_dims);
    tw_text text = {0};
    for (int d = 0; d < array->n_dims; d++) {
        tw_text_printf(&text, "%s%s%s", d > 0 ? ", " : "", array->dim[d],
                       tw_spread_uses(&over, p->op, d) ? " " : "");
        tw_spread_print(&over, p->op, d, " ", &text);
    }
    return keep_bytes(&text, arena);
}

static const char *number_text(int64_t x, tw_arena *arena)
{
    char text[TW_GROUPED_MAX];
    return tw_arena_printf(arena, "%s", tw_grouped(x, text));
}

/* "buffers of ifm, w", "2, 2", "1, 1" */
static tw_status describe_all_buffers(const tw_program *p, int level, const char *place, tw_arena *arena,
                                      tw_edit *out)
{
    tw_text what = {0}, from = {0}, to = {0};
    for (int o = 0; o < p->op->n_operands; o++) {
        int64_t now = slots_now(p, level, o), least = least_slots(p, level, o);
        const char *mark = what.len ? ", " : "";
        if (now <= least) continue;
        tw_text_printf(&what, "%s%s", *mark ? mark : "buffers of ", p->op->operand[o].name);
        tw_text_printf(&from, "%s%" PRId64, mark, now);
        tw_text_printf(&to, "%s%" PRId64, mark, least);
    }
    tw_text_printf(&what, "%s", place);
    out->what = keep_bytes(&what, arena);
    out->from = keep_bytes(&from, arena);
    out->to = keep_bytes(&to, arena);
    return out->what && out->from && out->to ? TW_OK : TW_ERR_NOMEM;
}

tw_status tw_move_describe(const tw_move *move, const tw_program *p, tw_arena *arena, tw_edit *out)
{
    tw_op_map changed = *p->map;
    const char *place = place_of(p, move->level, arena);
    const char *operand = p->op->operand[tw_clamp(move->index, 0, p->op->n_operands - 1)].name;
    tw_move_apply(move, p, &changed);
    out->kind = move->kind;
    if (!place) return TW_ERR_NOMEM;
    switch (move->kind) {
    case TW_EDIT_TILE:
        out->what = tw_arena_printf(arena, "tile of %s%s", p->op->loop[move->index].name, place);
        out->from = number_text(move->from, arena);
        out->to = number_text(move->to, arena);
        break;
    case TW_EDIT_BUFFERS:
        if (move->index < 0) return describe_all_buffers(p, move->level, place, arena, out);
        out->what = tw_arena_printf(arena, "buffers of %s%s", operand, place);
        out->from = number_text(move->from, arena);
        out->to = number_text(move->to, arena);
        break;
    case TW_EDIT_ORDER:
        out->what = tw_arena_printf(arena, "order%s", place);
        out->from = order_text(p, p->map, move->level, arena);
        out->to = order_text(p, &changed, move->level, arena);
        break;
    case TW_EDIT_KEEP:
        out->what = tw_arena_printf(arena, "keep %s%s", operand, place);
        out->from = keep_text(p, p->map, move, arena);
        out->to = keep_text(p, &changed, move, arena);
        break;
    case TW_EDIT_UNROLL:
        out->what = "unroll";
        out->from = spread_text(p, &p->map->level[move->level].over, arena);
        out->to = spread_text(p, &move->over, arena);
        break;
    default: break;
    }
    return out->what && out->from && out->to ? TW_OK : TW_ERR_NOMEM;
}

/* ---- distance ---- */

typedef struct measure {
    const tw_program *p;
    const tw_op_map *map;
    tw_text *what;
    double sum;
    const char *place; /* "l1: ", where there is a choice; "" when it was said */
} measure;

__attribute__((format(printf, 3, 4))) static void differ(measure *d, double far, const char *fmt, ...)
{
    char text[160];
    va_list args;
    va_start(args, fmt);
    tw_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    d->sum += 1 + far;
    tw_text_printf(d->what, "%s%s%s", d->what->len ? *d->place ? "; " : ", " : "", d->place, text);
    d->place = "";
}

static double halvings(int64_t a, int64_t b) { return fabs(log2((double)a / (double)b)); }

static void compare_tiles(measure *d, int level)
{
    const tw_level_map *now = &d->p->map->level[level], *then = &d->map->level[level];
    for (int loop = 0; loop < d->p->op->n_loops; loop++) {
        if (now->size[loop] == then->size[loop] && now->count[loop] == then->count[loop]) continue;
        int64_t a = size_at(d->p->op, d->p->map, level, loop), b = size_at(d->p->op, d->map, level, loop);
        if (a != b) differ(d, halvings(a, b), "%s %" PRId64, d->p->op->loop[loop].name, b);
    }
}

static void compare_orders(measure *d, int level)
{
    const int *a = d->p->map->level[level].order, *b = d->map->level[level].order;
    if (memcmp(a, b, (size_t)d->p->op->n_loops * sizeof *a) == 0) return;
    tw_text text = {0};
    put_order(d->p, d->map, level, &text);
    d->what->failed = d->what->failed || text.failed;
    differ(d, 1, "order %s", text.bytes ? text.bytes : "");
    tw_text_release(&text);
}

static void compare_buffers(measure *d, int level)
{
    const char *word = "buffers ";
    for (int o = 0; o < d->p->op->n_operands; o++) {
        int64_t a = slots_now(d->p, level, o), b = d->map->level[level].slots[o];
        const char *name = d->p->op->operand[o].name;
        bool kept = d->p->map->level[level].keeps[o] == d->map->level[level].keeps[o];
        if (!kept) differ(d, 1, "%s not kept", name);
        if (a == 0 || b == 0 || a == b || b == d->p->map->level[level].slots[o]) continue;
        differ(d, halvings(a, b), "%s%s %" PRId64, word, name, b);
        word = "";
    }
}

double tw_maps_distance(const tw_program *p, const tw_op_map *map, tw_text *what)
{
    measure d = {.p = p, .map = map, .what = what};
    for (int level = 0; level < map->n_levels; level++) {
        char place[160] = "";
        if (map->n_levels > 1)
            snprintf(place, sizeof place, "%s: ", p->machine->memory[map->level[level].memory].name);
        d.place = place;
        if (!map->level[level].pass) compare_tiles(&d, level);
        if (!map->level[level].pass) compare_orders(&d, level);
        compare_buffers(&d, level);
    }
    return d.sum;
}
