/* src/mapping/limits.c - the reader of partial mappings, and what they allow; see limits.h.
 *
 * Limits are read level by level, each on its own: whether the levels can be fulfilled together is for the search to
 * find out. What no mapping could fulfil at one level, such as a tile larger than its loop, is a mistake of the file.
 *
 * A level that says anything that only a tiled one has is a tiled one, as in a mapping. */
#include "mapping/limits.h"

#include "mapping/groups.h"
#include "mapping/mapping_read.h"
#include "mapping/written.h"

#include <stdlib.h>
#include <string.h>

/* ---- sets of numbers ---- */

tw_number_limit tw_number_any(void)
{
    return (tw_number_limit){.at_least = 1, .at_most = INT64_MAX, .multiple_of = 1};
}

bool tw_number_is_any(const tw_number_limit *limit)
{
    return limit->at_least <= 1 && limit->at_most == INT64_MAX && limit->multiple_of == 1 && limit->n_list == 0;
}

bool tw_number_is_one(const tw_number_limit *limit) { return limit->at_least == limit->at_most; }

bool tw_number_allows(const tw_number_limit *limit, int64_t x)
{
    if (x < 1 || x < limit->at_least || x > limit->at_most || x % limit->multiple_of != 0) return false;
    for (int i = 0; i < limit->n_list; i++)
        if (limit->list[i] == x) return true;
    return limit->n_list == 0;
}

int64_t tw_number_above(const tw_number_limit *limit, int64_t x)
{
    int64_t from = tw_max(tw_max(x, limit->at_least), 1), y;
    for (int i = 0; i < limit->n_list; i++)
        if (limit->list[i] >= from && tw_number_allows(limit, limit->list[i])) return limit->list[i];
    if (limit->n_list > 0 || !tw_ckd_mul(tw_cdiv(from, limit->multiple_of), limit->multiple_of, &y)) return 0;
    return y <= limit->at_most ? y : 0;
}

int64_t tw_number_below(const tw_number_limit *limit, int64_t x)
{
    int64_t to = tw_min(x, limit->at_most);
    for (int i = limit->n_list - 1; i >= 0; i--)
        if (limit->list[i] <= to && tw_number_allows(limit, limit->list[i])) return limit->list[i];
    if (limit->n_list > 0 || to < 1) return 0;
    to -= to % limit->multiple_of;
    return to >= limit->at_least ? to : 0;
}

/* ---- no limits ---- */

static tw_level_limits no_limits(void)
{
    tw_level_limits level = {
        .pass = -1, .cuts = (1U << TW_N_CUTS) - 1, .accumulate = (1U << TW_N_ACCUMULATES) - 1, .min_tile = 1};
    for (int l = 0; l < TW_MAX_LOOPS; l++) level.tiles[l] = level.sizes[l] = tw_number_any();
    for (int i = 0; i < TW_MAX_OPERANDS; i++) {
        level.slots[i] = tw_number_any();
        level.keep[i] = level.slide[i] = UINT32_MAX;
    }
    return level;
}

tw_op_limits tw_op_limits_none(const tw_machine *machine)
{
    tw_op_limits limits = {.fused = -1, .n_levels = machine->n_memories - 1};
    for (int l = 0; l < limits.n_levels; l++) limits.level[l] = no_limits();
    return limits;
}

/* ---- reading numbers ---- */

typedef struct reader {
    const tw_op *op;
    const tw_machine *machine;
    tw_arena *arena;
    tw_diag *diag;
    bool no_memory;
} reader;

static bool has_credits(const reader *r) { return tw_discipline_of(r->machine)->credits; }

/* What a number counts: how messages put it, and how large it can be. */
typedef struct quantity {
    const char *before, *after; /* what is said of a loop, around the number                             */
    int64_t most;               /* above it nothing can be                                               */
    int64_t most_number;        /* above it a number is out of range, whatever it is of                  */
    int64_t whole;              /* sizes: shortest piece that may stay whole, a multiple of anything then */
} quantity;

static quantity count_of(const tw_op *op, int loop, int memory __attribute__((unused)))
{
    return (quantity){"cut into", " tiles", op->loop[loop].extent, TW_EXTENT_MAX, INT64_MAX};
}

static quantity size_of(const tw_op *op, int loop, int memory)
{
    int64_t extent = op->loop[loop].extent;
    return (quantity){"cut into tiles of", "", extent, TW_EXTENT_MAX, memory == 1 ? extent : 1};
}

static quantity buffers_of(int64_t most) { return (quantity){"", "", most, most, INT64_MAX}; }

/* Refuses a number that no loop of this extent can have. */
static void check_reach(tw_fields *f, const char *key, const quantity *q, const char *least, int64_t x, tw_loc loc)
{
    if (x > q->most)
        TW_REFUSE(f, loc, "'%s' is %s %s%" PRId64 "%s, its extent is %" PRId64, key, q->before, least, x, q->after,
                  q->most);
}

/* One number, alone or in a list; 0 when it is none. */
static int64_t read_one(tw_fields *f, const char *key, const quantity *q, const tw_node *node)
{
    int64_t x = 0;
    if (tw_node_int(node, key, 1, q->most_number, f->diag, &x))
        check_reach(f, key, q, "", x, node->loc);
    else
        f->n_bad++;
    return x;
}

static void read_list(reader *r, tw_fields *f, const char *key, const quantity *q, const tw_node *node,
                      tw_number_limit *out)
{
    int n = 0;
    if (node->n_children == 0 || node->n_children > TW_MAX_CANDIDATES) {
        TW_REFUSE(f, node->loc, "'%s' has %d candidates, outside 1..%d", key, node->n_children, TW_MAX_CANDIDATES);
        return;
    }
    int64_t *list = TW_NEW(r->arena, int64_t, node->n_children);
    if (!list) {
        r->no_memory = true;
        return;
    }
    for (const tw_node *entry = node->child; entry; entry = entry->next) {
        int64_t x = read_one(f, key, q, entry);
        int i = 0;
        while (i < n && list[i] != x) i++;
        if (i < n && x > 0) TW_REFUSE(f, entry->loc, "'%s' is given twice in '%s'", entry->text, key);
        if (i == n && x > 0) list[n++] = x;
    }
    if (n == 0) return;
    qsort(list, (size_t)n, sizeof *list, tw_by_int64);
    *out = (tw_number_limit){list[0], list[n - 1], 1, n, list};
}

/* A map of limits that leave no number at all is refused. */
static void check_limits(tw_fields *f, const char *key, const quantity *q, const tw_number_limit *limit, tw_loc loc)
{
    int64_t most = tw_min(limit->at_most, q->most), least = tw_number_above(limit, 1);
    if (limit->at_least > limit->at_most)
        TW_REFUSE(f, loc, "'%s' is at least %" PRId64 " and at most %" PRId64, key, limit->at_least,
                  limit->at_most);
    else if (limit->at_least > q->most)
        check_reach(f, key, q, "at least ", limit->at_least, loc);
    else if ((least == 0 || least > most) && q->whole > most)
        TW_REFUSE(f, loc, "'%s' must be a multiple of %" PRId64 ", %" PRId64 "..%" PRId64 " has none", key,
                  limit->multiple_of, limit->at_least, most);
}

static void read_limits(tw_fields *parent, const char *key, const quantity *q, const tw_node *node,
                        tw_number_limit *out)
{
    tw_fields f = tw_fields_open(node, "limit", parent->diag);
    tw_number_limit limit = tw_number_any();
    if (node->n_children == 0)
        TW_REFUSE(&f, node->loc, "'%s' has no limit: give 'at least', 'at most' or 'multiple of'", key);
    tw_field_int(&f, "at least", TW_OPTIONAL, 1, q->most_number, &limit.at_least);
    tw_field_int(&f, "at most", TW_OPTIONAL, 1, q->most_number, &limit.at_most);
    tw_field_int(&f, "multiple of", TW_OPTIONAL, 1, q->most_number, &limit.multiple_of);
    if (f.n_bad == 0) check_limits(&f, key, q, &limit, node->loc);
    parent->n_bad += tw_fields_close(&f) != TW_OK;
    *out = limit;
}

/* A number, a list of candidates or a map of limits. */
static void read_number(reader *r, tw_fields *f, const quantity *q, const tw_node *node, tw_number_limit *out)
{
    if (node->kind == TW_LIST) {
        read_list(r, f, node->key, q, node, out);
    } else if (node->kind == TW_NODE_MAP) {
        read_limits(f, node->key, q, node, out);
    } else {
        int64_t x = read_one(f, node->key, q, node);
        if (x > 0) *out = (tw_number_limit){x, x, 1, 0, NULL};
    }
}

/* ---- reading levels ---- */

typedef quantity quantity_fn(const tw_op *op, int loop, int memory);

static void read_cuts(reader *r, tw_fields *f, const char *key, int memory, quantity_fn *quantity_of,
                      tw_number_limit *out)
{
    const tw_node *map = tw_field_map(f, key, TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int l = tw_map_loop(f, r->op, node->key, node->key_loc);
        if (l < 0) continue;
        quantity q = quantity_of(r->op, l, memory);
        read_number(r, f, &q, node, &out[l]);
    }
}

/* Where a key's map has the loop. */
static tw_loc loop_loc(tw_fields *f, const char *key, const char *loop)
{
    const tw_node *node = tw_field_node(f, key, TW_REQUIRED)->child;
    while (strcmp(node->key, loop) != 0) node = node->next;
    return node->loc;
}

/* So many tiles of these sizes must have room in the loop; the last one may be short. */
static void check_both(const reader *r, tw_fields *f, const tw_level_limits *level)
{
    for (int l = 0; l < r->op->n_loops; l++) {
        int64_t count = tw_number_above(&level->tiles[l], 1), size = tw_number_above(&level->sizes[l], 1);
        if (count == 1 || (size > 0 && (count - 1) * size < r->op->loop[l].extent)) continue;
        TW_REFUSE(f, loop_loc(f, "sizes", r->op->loop[l].name),
                  "'%s' cannot be cut into %" PRId64 " tiles of such sizes, its extent is %" PRId64,
                  r->op->loop[l].name, count, r->op->loop[l].extent);
    }
}

static void read_order(const reader *r, tw_fields *f, tw_level_limits *level)
{
    const tw_node *list = tw_field_list(f, "order", TW_OPTIONAL);
    tw_loc loc[TW_MAX_LOOPS];
    int n_bad = f->n_bad;
    if (!list) return;
    int n = tw_map_loops(f, list, r->op, level->order, loc);
    level->has_order = n == r->op->n_loops;
    if (level->has_order)
        f->n_bad += tw_map_check_order(r->op, r->machine, level->order, loc, r->diag) != TW_OK;
    else if (f->n_bad == n_bad)
        TW_REFUSE(f, list->loc, "'order' names %d of the %d loops of '%s': a partial mapping names all or none", n,
                  r->op->n_loops, r->op->name);
}

/* Where the word stands in a list of words, or alone. */
static tw_loc word_loc(const tw_node *node, const char *word)
{
    const tw_node *entry = node->kind == TW_LIST ? node->child : node;
    while (entry->kind != TW_SCALAR || strcmp(entry->text, word) != 0) entry = entry->next;
    return entry->loc;
}

static void read_modes(const reader *r, tw_fields *f, tw_level_limits *level)
{
    const char *word[TW_N_ACCUMULATES];
    for (int m = 0; m < TW_N_ACCUMULATES; m++) word[m] = tw_accumulate_name((tw_accumulate)m);
    const tw_node *node = tw_field_node(f, "accumulate", TW_OPTIONAL);
    unsigned modes = 0;
    tw_field_words(f, "accumulate", TW_OPTIONAL, word, TW_N_ACCUMULATES, &modes);
    for (int m = 0; m < TW_N_ACCUMULATES; m++)
        if (modes >> m & 1)
            f->n_bad +=
                tw_map_check_offered(r->machine, (tw_accumulate)m, word_loc(node, word[m]), r->diag) != TW_OK;
    if (modes) level->accumulate = modes;
}

static void read_unroll(const reader *r, tw_fields *f, tw_level_limits *level)
{
    tw_loc loc;
    tw_map_unroll(f, r->op, &r->machine->engine[r->machine->compute].cost, &level->over, &loc);
    level->has_unroll = tw_spread_is_given(&level->over, r->op);
}

static void read_tiling(reader *r, tw_fields *f, int memory, tw_level_limits *level)
{
    static const char *const key[] = {"tiles", "sizes", "cut", "order", "accumulate", "min_tile", "unroll"};
    const char *cut[TW_N_CUTS] = {tw_cut_name(TW_BALANCED), tw_cut_name(TW_GREEDY)};
    bool arrays = tw_machine_knows(r->machine, "array");
    for (size_t i = 0; i < TW_COUNT(key) - !arrays; i++) /* the last one is about arrays */
        if (tw_field_node(f, key[i], TW_OPTIONAL)) level->pass = 0;
    read_cuts(r, f, "tiles", memory, count_of, level->tiles);
    read_cuts(r, f, "sizes", memory, size_of, level->sizes);
    if (f->n_bad == 0) check_both(r, f, level);
    tw_field_words(f, "cut", TW_OPTIONAL, cut, TW_N_CUTS, &level->cuts);
    read_order(r, f, level);
    read_modes(r, f, level);
    tw_field_int(f, "min_tile", TW_OPTIONAL, 1, TW_EXTENT_MAX, &level->min_tile);
    if (arrays) read_unroll(r, f, level);
    if (!has_credits(r)) return;
    const tw_node *serpentine = tw_field_node(f, "serpentine", TW_OPTIONAL);
    if (serpentine)
        TW_REFUSE(f, serpentine->key_loc, "'serpentine' is not searched: a partial mapping cannot have it");
}

/* The operand of an entry of `buffers` or `keep`, which the memory holds; -1 when it does not. */
static int find_held(const reader *r, tw_fields *f, const tw_node *node, int memory)
{
    int i = tw_map_operand(f, r->op, node->key, strlen(node->key), node->key_loc);
    if (i < 0 || tw_map_holds(r->op, r->machine, memory, i)) return i;
    TW_REFUSE(f, node->loc, "memory '%s' does not hold '%s'", r->machine->memory[memory].name, node->key);
    return -1;
}

static void read_slots(reader *r, tw_fields *f, int memory, tw_level_limits *level)
{
    quantity q = buffers_of(tw_discipline_of(r->machine)->max_buffers);
    const tw_node *map = tw_field_map(f, "buffers", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        if (has_credits(r) && strchr(node->key, '+')) {
            TW_REFUSE(f, node->key_loc,
                      "'%s' is a shared pool, which is not searched: a partial mapping cannot have it", node->key);
            continue;
        }
        int i = find_held(r, f, node, memory);
        if (i >= 0) read_number(r, f, &q, node, &level->slots[i]);
    }
}

static uint32_t slide_bit(int loop) { return 1U << (loop == TW_SLIDE_NONE ? 0 : 1 + loop); }

static uint32_t keep_bit(int keep) { return 1U << (keep == TW_KEEP_TILE ? 0 : keep == TW_KEEP_ALL ? 1 : 2 + keep); }

/* A word of `keep` or a list of them. */
static void read_keeps(const reader *r, tw_fields *f, const tw_node *node, uint32_t *out)
{
    bool list = node->kind == TW_LIST;
    uint32_t bits = 0;
    if (list && node->n_children == 0) TW_REFUSE(f, node->loc, "'keep' of '%s' is empty", node->key);
    for (const tw_node *word = list ? node->child : node; word; word = list ? word->next : NULL) {
        int keep;
        if (!tw_map_keep(f, r->op, node->key, word, &keep)) continue;
        if (bits & keep_bit(keep))
            TW_REFUSE(f, word->loc, "'%s' is given twice in 'keep' of '%s'", word->text, node->key);
        bits |= keep_bit(keep);
    }
    if (bits) *out = bits;
}

static void read_keep(const reader *r, tw_fields *f, int memory, tw_level_limits *level)
{
    const tw_node *map = has_credits(r) ? tw_field_map(f, "keep", TW_OPTIONAL) : NULL;
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int i = find_held(r, f, node, memory);
        if (i < 0) continue;
        read_keeps(r, f, node, &level->keep[i]);
        level->slide[i] = slide_bit(TW_SLIDE_NONE); /* unless `slide` says something else */
    }
}

/* A word of `slide` or a list of them. */
static void read_slides(const reader *r, tw_fields *f, const tw_node *node, int operand, uint32_t *out)
{
    bool list = node->kind == TW_LIST;
    uint32_t bits = 0;
    if (list && node->n_children == 0) TW_REFUSE(f, node->loc, "'slide' of '%s' is empty", node->key);
    for (const tw_node *word = list ? node->child : node; word; word = list ? word->next : NULL) {
        int loop;
        if (!tw_map_slide(f, r->op, node->key, word, &loop)) continue;
        if (loop != TW_SLIDE_NONE)
            f->n_bad += tw_map_check_slide(r->op, operand, loop, word->loc, r->diag) != TW_OK;
        if (bits & slide_bit(loop))
            TW_REFUSE(f, word->loc, "'%s' is given twice in 'slide' of '%s'", word->text, node->key);
        bits |= slide_bit(loop);
    }
    if (bits) *out = bits;
}

static void read_slide(const reader *r, tw_fields *f, int memory, tw_level_limits *level)
{
    const tw_node *map = has_credits(r) ? tw_field_map(f, "slide", TW_OPTIONAL) : NULL;
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int i = find_held(r, f, node, memory);
        if (i >= 0) read_slides(r, f, node, i, &level->slide[i]);
    }
}

/* Everything but `at`. */
static bool read_level(reader *r, tw_fields *f, int memory, tw_level_limits *level)
{
    bool pass = false;
    const tw_node *node = tw_field_node(f, "pass", TW_OPTIONAL);
    if (tw_field_bool(f, "pass", TW_OPTIONAL, &pass)) level->pass = pass;
    if (pass) f->n_bad += tw_map_check_pass(r->machine, memory, node->loc, r->diag) != TW_OK;
    if (pass)
        f->what = "pass-through level";
    else
        read_tiling(r, f, memory, level);
    read_slots(r, f, memory, level);
    read_keep(r, f, memory, level);
    read_slide(r, f, memory, level);
    return tw_fields_close(f) == TW_OK;
}

static bool read_levels(reader *r, const tw_node *list, tw_op_limits *limits)
{
    bool good = true;
    int next = 1;
    for (const tw_node *node = list->child; node; node = node->next) {
        tw_fields f = tw_fields_open(node, "level", r->diag);
        int memory = f.node ? tw_map_memory(&f, r->machine, next, true) : -1;
        if (memory < 0) return false;
        next = memory + 1;
        limits->level[memory - 1].loc = node->loc;
        if (!read_level(r, &f, memory, &limits->level[memory - 1])) good = false;
    }
    return good;
}

static bool read_op(reader *r, const tw_node *node, const tw_model *model, tw_op_limits *limits)
{
    bool fused;
    tw_fields f = tw_fields_open(node, "mapping of an operator", r->diag);
    if (tw_map_fused(&f, model, (int)(r->op - model->op), r->machine, &fused)) limits->fused = fused;
    const tw_node *levels = tw_field_list(&f, "levels", TW_OPTIONAL);
    bool good = tw_fields_close(&f) == TW_OK;
    return (!levels || read_levels(r, levels, limits)) && good;
}

tw_status tw_limits_read_groups(tw_fields *f, const tw_model *model, const tw_machine *machine, tw_arena *arena,
                                tw_mapping *out)
{
    const tw_node *groups = tw_field_node(f, "groups", TW_REQUIRED);
    if (groups && machine->platform && machine->platform->n_cores > 1)
        return tw_diag_error(
            f->diag, groups->key_loc,
            "on several cores a search does not complete groups that are given: give all of them to 'eval'");
    return tw_groups_of_tree(f, model, machine, true, arena, out);
}

tw_status tw_limits_of_tree(const tw_node *root, const tw_model *given, const tw_machine *machine, tw_arena *arena,
                            tw_diag *diag, tw_limits *out)
{
    reader r = {.machine = machine, .arena = arena, .diag = diag};
    tw_op_limits *op;
    const tw_model *model;
    tw_fields f = tw_fields_open(root, "mapping file", diag);
    TW_TRY(tw_written_of_tree(&f, given, machine, arena, &model));
    TW_ALLOC(arena, op, model->n_ops);
    for (int o = 0; o < model->n_ops; o++) op[o] = tw_op_limits_none(machine);
    const tw_node *groups = tw_field_node(&f, "groups", TW_OPTIONAL);
    const tw_node *programs = model->apart ? tw_field_list(&f, "programs", TW_OPTIONAL) : NULL;
    const tw_node *map = tw_field_map(&f, "mapping", groups || programs ? TW_OPTIONAL : TW_REQUIRED);
    tw_mapping some = {0};
    if (groups && map)
        TW_REFUSE(&f, map->key_loc, "a mapping file has either 'mapping' or 'groups'");
    else if (groups && model->apart)
        TW_REFUSE(&f, groups->key_loc, "groups of a network stand in its 'programs'");
    else if (groups)
        TW_TRY(tw_limits_read_groups(&f, model, machine, arena, &some));
    if (groups) map = NULL;
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int o = tw_map_op(&f, model, node);
        if (o < 0 || tw_map_is_none(model, node)) continue;
        r.op = &model->op[o];
        f.n_bad += !read_op(&r, node, model, &op[o]);
    }
    if (r.no_memory) return TW_ERR_NOMEM;
    TW_TRY(tw_fields_close(&f));
    *out = (tw_limits){.n_ops = map ? model->n_ops : 0,
                       .op = op,
                       .model = model == given ? NULL : model,
                       .groups = some,
                       .programs = programs};
    return TW_OK;
}

/* ---- what they allow ---- */

/* A complete mapping under judgement. `piece` is the largest piece of each loop that reaches a level. */
typedef struct trial {
    const tw_op_limits *limits;
    const tw_op *op;
    const tw_machine *machine;
    const tw_op_map *map;
    int64_t piece[TW_MAX_MEMORIES][TW_MAX_LOOPS];
} trial;

static bool is_cut(const trial *t, int level, int loop)
{
    return tw_level_n_tiles(&t->map->level[level], loop, t->piece[level][loop]) > 1;
}

/* Whether both cut a piece into the same tiles. Tiles are as long as the first or one shorter, but for the last: where
 * that begins at the same place all do. */
static bool splits_alike(const tw_split *a, const tw_split *b)
{
    return a->count == b->count && tw_split_largest(a) == tw_split_largest(b) &&
           tw_split_at(a, 0, a->count - 1).lo == tw_split_at(b, 0, b->count - 1).lo;
}

/* Whether a level that makes so many tiles of its largest piece would cut this one alike by that rule. */
static bool cuts_alike(const tw_split *s, int64_t count, tw_cut rule)
{
    if (!tw_split_is_legal(s->len, count, rule)) return false;
    tw_split other = tw_split_by_count(s->len, count, rule);
    return splits_alike(s, &other);
}

/* Whether the level may cut a piece as it does. */
static bool allows_split(const trial *t, int level, int loop, const tw_split *s)
{
    const tw_level_limits *limits = &t->limits->level[level];
    const tw_level_map *map = &t->map->level[level];
    const tw_number_limit *sizes = &limits->sizes[loop];
    tw_cut rule = map->size[loop] > 0 ? TW_GREEDY : map->cut;
    int64_t count = tw_level_n_tiles(map, loop, t->piece[level][loop]);
    bool either = limits->cuts == (1U << TW_N_CUTS) - 1, plain = tw_number_is_one(&limits->tiles[loop]);
    if (s->count > 1 && s->len / s->count < limits->min_tile) return false;
    if (tw_number_is_one(sizes)) {
        tw_split fixed = tw_split_by_size(s->len, sizes->at_least);
        return splits_alike(s, &fixed);
    }
    if (!is_cut(t, level, loop) || either || (!plain && (limits->cuts >> rule & 1))) return true;
    return cuts_alike(s, count, limits->cuts >> TW_GREEDY & 1 ? TW_GREEDY : TW_BALANCED);
}

/* All pieces of `len` and what the levels inside make of them. */
static bool allows_pieces(const trial *t, int level, int loop, int64_t len)
{
    if (level == t->map->n_levels) return true;
    const tw_level_map *map = &t->map->level[level];
    if (map->pass) return allows_pieces(t, level + 1, loop, len);
    if (!tw_level_split_is_legal(map, loop, len)) return true; /* no program will come of it */
    tw_split s = tw_level_split(map, loop, len);
    int64_t first = tw_split_largest(&s), last = tw_span_len(tw_split_at(&s, 0, s.count - 1));
    return allows_split(t, level, loop, &s) && allows_pieces(t, level + 1, loop, first) &&
           (first == last || allows_pieces(t, level + 1, loop, last));
}

/* How many tiles there are, and how long the largest is. */
static bool allows_cut(const trial *t, int level, int loop)
{
    const tw_level_map *map = &t->map->level[level];
    tw_number_limit sizes = t->limits->level[level].sizes[loop];
    int64_t piece = t->piece[level][loop];
    if (!tw_number_allows(&t->limits->level[level].tiles[loop], tw_level_n_tiles(map, loop, piece))) return false;
    if (tw_number_is_one(&sizes) && map->size[loop] == sizes.at_least) return true; /* may exceed the piece */
    if (!is_cut(t, level, loop)) sizes.multiple_of = 1;
    return tw_number_allows(&sizes, tw_level_largest(map, loop, piece));
}

/* The loops that are cut stand as asked. */
static bool allows_order(const trial *t, int level)
{
    const tw_level_limits *limits = &t->limits->level[level];
    const int *order = t->map->level[level].order;
    for (int i = 0, at = 0; limits->has_order && i < t->op->n_loops; i++) {
        if (!is_cut(t, level, limits->order[i])) continue;
        while (!is_cut(t, level, order[at])) at++;
        if (order[at++] != limits->order[i]) return false;
    }
    return true;
}

static bool allows_mode(const trial *t, int level)
{
    bool adds = false;
    for (int l = 0; l < t->op->n_loops; l++) adds |= t->op->loop[l].reduces && is_cut(t, level, l);
    return !adds || (t->limits->level[level].accumulate >> t->map->level[level].accumulate & 1);
}

/* What an array is given is said at the innermost level. */
static bool allows_unroll(const trial *t, int level)
{
    const tw_level_limits *limits = &t->limits->level[level];
    const tw_cost *cost = &t->machine->engine[t->machine->compute].cost;
    bool counts = level == t->map->n_levels - 1 && cost->kind == TW_COST_ARRAY;
    if (!limits->has_unroll || !counts) return true;
    tw_spread over = tw_spread_or_default(&t->map->level[level].over, t->op, tw_cost_dims(cost));
    return memcmp(&over, &limits->over, sizeof over) == 0;
}

/* How many of the cut loops stay when loop l does: those up to it. Where it is not cut, its place in the order decides;
 * -1 when that is open. */
static int loops_outside(const tw_level_limits *tiled, const tw_cut_loops *cut, int l)
{
    unsigned up_to = 0;
    int n = 0;
    for (int i = 0; i < cut->n; i++)
        if (cut->loop[i] == l) return i + 1;
    if (!tiled->has_order) return -1;
    for (int i = 0; !(up_to >> l & 1); i++) up_to |= 1U << tiled->order[i];
    for (int i = 0; i < cut->n; i++)
        if (up_to >> cut->loop[i] & 1) n++;
    return n;
}

bool tw_limits_allow_keep(const tw_level_limits *here, const tw_level_limits *tiled, const tw_op *op, int operand,
                          const tw_cut_loops *cut, int depth)
{
    uint32_t words = here->keep[operand];
    if (((words & keep_bit(TW_KEEP_TILE)) && depth == cut->n) || ((words & keep_bit(TW_KEEP_ALL)) && depth == 0))
        return true;
    for (int l = 0; l < op->n_loops; l++) {
        int outside = words & keep_bit(l) ? loops_outside(tiled, cut, l) : cut->n + 1;
        if (outside == depth || outside < 0) return true;
    }
    return false;
}

bool tw_limits_allow_slide(const tw_level_limits *here, int operand, int loop)
{
    return (here->slide[operand] & slide_bit(loop)) != 0;
}

bool tw_windows_overlap(const tw_op *op, int operand, int loop, const int64_t *len)
{
    for (int a = 0; a < op->operand[operand].n_axes; a++) {
        const tw_axis *axis = &op->operand[operand].axis[a];
        int64_t reach = 1, step = 0;
        for (int t = 0; t < axis->n_terms; t++) {
            int64_t coef = axis->term[t].coef;
            if (axis->term[t].loop == loop)
                step = coef;
            else
                reach += (coef < 0 ? -coef : coef) * (len[axis->term[t].loop] - 1);
        }
        if (step > 0) return reach > step;
    }
    return false;
}

bool tw_limits_allow_whole(const tw_level_limits *here, const tw_op *op, int operand, const tw_cut_loops *cut,
                           const int64_t *len)
{
    unsigned loops = tw_operand_loops(&op->operand[operand]), is_cut = 0;
    int innermost = -1;
    if (here->slide[operand] & slide_bit(TW_SLIDE_NONE)) return true;
    for (int i = 0; i < cut->n; i++) {
        is_cut |= 1u << cut->loop[i];
        if (loops >> cut->loop[i] & 1) innermost = cut->loop[i];
    }
    for (int l = 0; l < op->n_loops; l++) {
        if (!tw_limits_allow_slide(here, operand, l)) continue;
        if (!(is_cut >> l & 1) || (l == innermost && !tw_windows_overlap(op, operand, l, len))) return true;
    }
    return false;
}

/* Whether it slides as the limits say, or comes whole where that is the same. */
static bool allows_slide(const trial *t, int level, int tiled, int operand)
{
    const tw_level_limits *here = &t->limits->level[level];
    const int *order = t->map->level[tiled].order;
    int loop = t->map->level[level].slides[operand] - 1;
    tw_cut_loops cut = {0};
    int64_t len[TW_MAX_LOOPS];
    if (here->slide[operand] == UINT32_MAX || tw_limits_allow_slide(here, operand, loop)) return true;
    for (int i = 0; i < t->op->n_loops; i++) {
        len[i] = tw_level_largest(&t->map->level[tiled], i, t->piece[tiled][i]);
        if (is_cut(t, tiled, order[i])) cut.loop[cut.n++] = order[i];
    }
    return loop == TW_SLIDE_NONE && tw_limits_allow_whole(here, t->op, operand, &cut, len);
}

/* Whether the level's memory may keep the operand as it does; `tiled` is the level that its tiles are cut by. */
static bool allows_keep(const trial *t, int level, int tiled, int operand)
{
    const int *order = t->map->level[tiled].order;
    int keep = tw_level_keep(&t->map->level[level], operand), depth = 0;
    tw_cut_loops cut = {0};
    bool inside = keep == TW_KEEP_ALL;
    for (int i = 0; i < t->op->n_loops; i++) {
        if (is_cut(t, tiled, order[i])) cut.loop[cut.n++] = order[i];
        if (!inside) depth = cut.n;
        inside |= order[i] == keep;
    }
    return tw_limits_allow_keep(&t->limits->level[level], &t->limits->level[tiled], t->op, operand, &cut, depth);
}

static bool allows_buffers(const trial *t, int level)
{
    const tw_level_limits *limits = &t->limits->level[level];
    const tw_level_map *map = &t->map->level[level];
    int tiled = level;
    while (t->map->level[tiled].pass) tiled++;
    for (int i = 0; i < t->op->n_operands; i++) {
        bool open = map->slots[i] == 0 && tw_number_is_any(&limits->slots[i]);
        if (!open && !tw_number_allows(&limits->slots[i], map->slots[i])) return false;
        if (limits->keep[i] != UINT32_MAX && !allows_keep(t, level, tiled, i)) return false;
        if (!allows_slide(t, level, tiled, i)) return false;
    }
    return true;
}

static bool allows_level(const trial *t, int level)
{
    const tw_level_limits *limits = &t->limits->level[level];
    bool pass = t->map->level[level].pass;
    if ((limits->pass >= 0 && pass != limits->pass) || !allows_buffers(t, level)) return false;
    if (pass) return true;
    for (int l = 0; l < t->op->n_loops; l++)
        if (!allows_cut(t, level, l)) return false;
    return allows_order(t, level) && allows_mode(t, level) && allows_unroll(t, level);
}

static bool cuts_some(const tw_op *op, const tw_op_map *map)
{
    for (int i = 0; i < map->n_levels; i++)
        for (int l = 0; l < op->n_loops && !map->level[i].pass; l++)
            if (tw_level_n_tiles(&map->level[i], l, op->loop[l].extent) > 1) return true;
    return false;
}

bool tw_limits_allow(const tw_op_limits *limits, const tw_op *op, const tw_machine *machine, const tw_op_map *map)
{
    trial t = {.limits = limits, .op = op, .machine = machine, .map = map};
    if (limits->whole && cuts_some(op, map)) return false;
    if (limits->fused >= 0 && map->fused != (limits->fused == 1)) return false;
    for (int l = 0; l < op->n_loops; l++) t.piece[0][l] = op->loop[l].extent;
    for (int i = 1; i < map->n_levels; i++)
        for (int l = 0; l < op->n_loops; l++)
            t.piece[i][l] = map->level[i - 1].pass ? t.piece[i - 1][l]
                                                   : tw_level_largest(&map->level[i - 1], l, t.piece[i - 1][l]);
    for (int i = 0; i < map->n_levels; i++)
        if (!allows_level(&t, i)) return false;
    for (int l = 0; l < op->n_loops; l++)
        if (!allows_pieces(&t, 0, l, op->loop[l].extent)) return false;
    return true;
}
