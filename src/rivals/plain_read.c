/* src/rivals/plain_read.c - mappings of ours as nests of other tools.
 *
 * The sizes of a level are those of the tiles of all instances together. From level to level a loop is cut into as many tiles as fit,
 * and other tools have nests in which all rounds are alike, but for the last: a size must divide the one before it; only the extent
 * itself may leave a rest. */
#include "input/tree.h"
#include "machine/read.h"
#include "model/read.h"
#include "rivals/convert.h"
#include "rivals/plain.h"

#include <string.h>

/* ---- files of ours ---- */

static tw_status tree_of(tw_text *text, const char *name, tw_work work, const tw_node **root)
{
    const char *copy = text->failed ? NULL : tw_arena_strndup(work.arena, text->bytes, text->len);
    size_t n = text->len;
    tw_text_release(text);
    return copy ? tw_tree_parse(name, copy, n, work.arena, work.diag, root) : TW_ERR_NOMEM;
}

static const tw_node *entry_of(const tw_node *map, const char *key)
{
    const tw_node *entry = map && map->kind == TW_NODE_MAP ? map->child : NULL;
    while (entry && key && strcmp(entry->key, key) != 0) entry = entry->next;
    return entry;
}

/* Brings the levels into the order that the first entry of the mapping has them in; what it does not name stays where it is. */
static void sort_by_names(const tw_node *root, const tw_hierarchy *h, tw_levels *levels)
{
    const tw_node *list = entry_of(entry_of(entry_of(root, "mapping"), NULL), "levels");
    int n = 0;
    for (const tw_node *level = list && list->kind == TW_LIST ? list->child : NULL; level; level = level->next) {
        const tw_node *at = entry_of(level, "at");
        for (int l = n; at && at->kind == TW_SCALAR && l < levels->n; l++) {
            if (strcmp(h->memory[levels->level[l].memory].name, at->text) != 0) continue;
            tw_level_of t = levels->level[l];
            memmove(&levels->level[n + 1], &levels->level[n], (size_t)(l - n) * sizeof t);
            levels->level[n++] = t;
            break;
        }
    }
}

static tw_status read_machine(const tw_rival *rival, const tw_levels *levels, tw_work work, tw_machine *out)
{
    tw_text text = {0};
    const tw_node *root;
    tw_status status = tw_levels_print_machine(rival, 0, levels, work.diag, &text);
    if (status != TW_OK) tw_text_release(&text);
    TW_TRY(status);
    TW_TRY(tree_of(&text, "converted machine", work, &root));
    return tw_machine_of_tree(root, work.arena, work.diag, out);
}

static tw_status read_workload(const tw_rival *rival, tw_work work, tw_model *out)
{
    tw_text text = {0};
    const tw_node *root;
    tw_status status = tw_rival_workload_print(rival, work.diag, &text);
    if (status != TW_OK) tw_text_release(&text);
    TW_TRY(status);
    TW_TRY(tree_of(&text, "converted workload", work, &root));
    return tw_model_of_tree(root, work.arena, work.diag, out);
}

tw_status tw_plain_read_ours(const tw_node *root, const tw_rival *rival, tw_work work, tw_plain_ours *out)
{
    TW_TRY(tw_levels_of(rival, 0, TW_LEVELS_ALL, work.diag, &out->levels));
    sort_by_names(root, rival->machine, &out->levels);
    TW_TRY(read_machine(rival, &out->levels, work, &out->machine));
    TW_TRY(read_workload(rival, work, &out->model));
    TW_TRY(tw_mapping_of_tree(root, &out->model, &out->machine, work.arena, work.diag, &out->mapping));
    return tw_mapping_refuse_groups(&out->mapping, "converted", work.diag);
}

/* ---- the nest ---- */

typedef struct reader {
    const tw_op *op;
    const tw_op_map *map;
    const tw_machine *machine;
    const tw_hierarchy *theirs;
    const tw_einsum *einsum;
    tw_levels levels;
    tw_diag *diag;
    int64_t piece[TW_MAX_LOOPS]; /* of each loop, inside of the levels so far        */
    int64_t rest[TW_MAX_LOOPS];  /* of the piece that ends the loop                  */
    tw_plain *out;
} reader;

/* Loops and operands of ours are those of the layer, in small letters or as they are. */
static bool is_called(const char *ours, const char *theirs)
{
    if (strcmp(ours, theirs) == 0) return true;
    for (; *ours && *theirs; ours++, theirs++)
        if (*ours != (*theirs == '.' ? '_' : tw_to_lower(*theirs))) return false;
    return !*ours && !*theirs;
}

static int dim_of(const reader *r, int loop)
{
    int d = 0;
    while (d < r->einsum->n_dims && !is_called(r->op->loop[loop].name, r->einsum->dim[d])) d++;
    assert(d < r->einsum->n_dims);
    return d;
}

static int operand_of(const reader *r, int operand)
{
    for (int o = 0; o < r->op->n_operands; o++)
        if (is_called(r->op->operand[o].name, r->einsum->operand[operand].name)) return o;
    return -1;
}

/* Whether tiles of this size, or so many positions, leave no rest but at the end of the loop. */
static tw_status check_rest(const reader *r, int loop, int64_t size, tw_loc loc)
{
    if (r->piece[loop] % size == 0 || r->piece[loop] == r->op->loop[loop].extent) return TW_OK;
    return tw_diag_error(r->diag, loc,
                         "tiles of %" PRId64 " do not divide the %" PRId64
                         " of '%s' that they cut: rounds of other tools "
                         "are alike but for the last of all",
                         size, r->piece[loop], r->op->loop[loop].name);
}

static tw_status add_loop(reader *r, int loop, int64_t size, tw_loc loc, int level)
{
    int64_t n = tw_cdiv(r->piece[loop], size), last = tw_cdiv(r->rest[loop], size);
    TW_TRY(check_rest(r, loop, size, loc));
    r->rest[loop] -= (last - 1) * size;
    r->piece[loop] = size;
    if (n == 1) return TW_OK;
    if (r->out->n_loops == TW_PLAIN_LOOPS)
        return tw_diag_error(r->diag, loc, "more than %d loops over time", TW_PLAIN_LOOPS);
    r->out->loop[r->out->n_loops++] = (typeof(r->out->loop[0])){dim_of(r, loop), n, last, level};
    return TW_OK;
}

/* What other tools have no word for. */
static tw_status check_words(const reader *r, const tw_level_map *map)
{
    const char *what = map->serpentine ? "serpentine" : NULL;
    for (int o = 0; o < r->op->n_operands; o++) {
        if (map->slides[o] > 0) what = "slide";
        if (map->shares[o] > 0) what = "a shared pool of buffers";
    }
    if (what)
        return tw_diag_error(r->diag, map->loc, "'%s' is a word of ours that mappings of other tools do not have",
                             what);
    return TW_OK;
}

static tw_status check_even(const reader *r, const tw_level_map *map, int loop)
{
    int64_t n = map->count[loop];
    if (n == 0 || r->piece[loop] % n == 0) return TW_OK;
    return tw_diag_error(r->diag, map->loc,
                         "%" PRId64 " tiles of '%s' differ in size; those of other tools are alike", n,
                         r->op->loop[loop].name);
}

/* Loops outside of an operand's tile at a level whose loops begin at `first`. */
static int outside_of(const reader *r, const tw_level_map *map, int operand, int first)
{
    int keep = tw_level_keep(map, operand);
    if (keep == TW_KEEP_ALL) return first;
    if (keep == TW_KEEP_TILE) return r->out->n_loops;
    for (int i = r->out->n_loops; i > first; i--)
        if (r->out->loop[i - 1].dim == dim_of(r, keep)) return i;
    return first;
}

/* The level of ours that has this number, and those before it that are only passed through. */
static void set_outside(reader *r, int from, int to, int first)
{
    for (int l = from; l <= to; l++)
        for (int o = 0; o < r->einsum->n_operands; o++)
            if (r->levels.level[l].holds >> o & 1)
                r->out->outside[r->levels.level[l].memory][o] =
                    outside_of(r, &r->map->level[l], operand_of(r, o), first);
}

static tw_status read_level(reader *r, int l, int *pending)
{
    const tw_level_map *map = &r->map->level[l];
    int first = r->out->n_loops, outer = *pending > 0 ? r->levels.level[*pending - 1].memory : 0;
    TW_TRY(check_words(r, map));
    if (map->pass) return TW_OK;
    for (int i = 0; i < r->op->n_loops; i++) {
        int loop = map->order[i];
        TW_TRY(check_even(r, map, loop));
        TW_TRY(add_loop(r, loop, tw_level_largest(map, loop, r->piece[loop]), map->loc, outer));
    }
    set_outside(r, *pending, l, first);
    *pending = l + 1;
    return TW_OK;
}

/* ---- the array ---- */

static int axis_of(const reader *r, const tw_cost_array *array, int dim)
{
    for (int a = 0; a < r->theirs->n_axes; a++)
        if (is_called(array->dim[dim], r->theirs->axis[a])) return a;
    return -1;
}

/* A loop alone over a dimension takes all of it that it can; of several the whole tiles must fit. */
static tw_status lay_over(reader *r, const tw_spread *spread, const tw_cost_array *array, int dim, int64_t *inside)
{
    int n = 0;
    int64_t all = 1, size = array->size[dim];
    for (int l = 0; l < r->op->n_loops; l++) {
        if (spread->dim[l] == dim + 1) n++, all *= r->piece[l];
        if (spread->share[l][dim] > 0)
            return tw_diag_error(r->diag, r->map->loc, "'%s' is divided over several dimensions of the array",
                                 r->op->loop[l].name);
    }
    if (n > 1 && all > size)
        return tw_diag_error(r->diag, r->map->loc,
                             "%d loops fill '%s' together, %" PRId64 " positions with %" PRId64
                             " points: how many each takes is not said",
                             n, array->dim[dim], size, all);
    for (int l = 0; l < r->op->n_loops; l++) {
        int64_t takes = tw_min(r->piece[l], size);
        if (spread->dim[l] != dim + 1) continue;
        TW_TRY(check_rest(r, l, takes, r->map->loc));
        inside[l] = tw_cdiv(r->piece[l], takes);
        if (takes == 1) continue;
        if (r->out->n_space == TW_PLAIN_SPACE)
            return tw_diag_error(r->diag, r->map->loc, "more than %d loops over the array", TW_PLAIN_SPACE);
        r->out->space[r->out->n_space++] = (typeof(r->out->space[0])){dim_of(r, l), axis_of(r, array, dim), takes};
    }
    return TW_OK;
}

static tw_status read_array(reader *r)
{
    const tw_cost *cost = &r->machine->engine[r->machine->compute].cost;
    static const tw_cost_array none;
    const tw_cost_array *array = cost->kind == TW_COST_ARRAY ? &cost->array : &none;
    const tw_level_map *last = &r->map->level[r->map->n_levels - 1];
    int level = r->levels.level[r->levels.n - 1].memory;
    int64_t inside[TW_MAX_LOOPS];
    tw_spread spread = tw_spread_or_default(&last->over, r->op, array->n_dims);
    for (int l = 0; l < r->op->n_loops; l++) inside[l] = r->piece[l];
    for (int d = 0; r->theirs->n_axes > 0 && d < array->n_dims; d++) TW_TRY(lay_over(r, &spread, array, d, inside));
    for (int l = 0; l < r->op->n_loops; l++) {
        if (inside[l] == 1) continue;
        if (r->out->n_loops == TW_PLAIN_LOOPS)
            return tw_diag_error(r->diag, last->loc, "more than %d loops over time", TW_PLAIN_LOOPS);
        int64_t step = tw_cdiv(r->piece[l], inside[l]);
        r->out->loop[r->out->n_loops++] =
            (typeof(r->out->loop[0])){dim_of(r, l), inside[l], tw_cdiv(r->rest[l], step), level};
    }
    return TW_OK;
}

tw_status tw_plain_of_ours(const tw_plain_ours *ours, const tw_rival *rival, int layer, tw_diag *diag,
                           tw_plain *out)
{
    reader r = {.op = &ours->model.op[layer],
                .map = &ours->mapping.op[layer],
                .machine = &ours->machine,
                .theirs = rival->machine,
                .einsum = rival->layer[layer].einsum,
                .levels = ours->levels,
                .diag = diag,
                .out = out};
    int pending = 0;
    *out = (tw_plain){0};
    memset(out->outside, 0xff, sizeof out->outside);
    for (int o = 0; o < r.einsum->n_operands; o++) out->outside[0][o] = 0;
    for (int l = 0; l < r.op->n_loops; l++) r.piece[l] = r.rest[l] = r.op->loop[l].extent;
    for (int l = 0; l < r.levels.n; l++) TW_TRY(read_level(&r, l, &pending));
    return read_array(&r);
}
