/* src/rivals/zigzag/nest.c - nests that a mapping file fixes: by a complete order of the loops, or by the loops of every level. */
#include "rivals/zigzag/zigzag.h"

#include <string.h>

/* ---- the order ---- */

static int dim_called(const tw_zz_case *c, const char *name)
{
    for (int d = 0; d < c->n_dims; d++)
        if (tw_same_word(c->einsum->dim[d], name)) return d;
    return -1;
}

static bool is_gap(const tw_zz_order *o) { return strcmp(o->dim, "*") == 0; }

/* Lines whose loop the layer does not have do not count, as in the tool. */
static int lines_of(const tw_zz_entry *e, const tw_zz_case *c, const tw_zz_order **line)
{
    int n = 0;
    for (int i = 0; i < e->n_orders && n < TW_ZZ_LOOPS; i++)
        if (is_gap(&e->order[i]) || dim_called(c, e->order[i].dim) >= 0) line[n++] = &e->order[i];
    return n;
}

bool tw_zz_order_allows(const tw_zz_entry *entry, const tw_zz_case *c, const tw_zz_nest *nest)
{
    const tw_zz_order *line[TW_ZZ_LOOPS];
    int n = entry ? lines_of(entry, c, line) : 0;
    bool outer = false;
    for (int i = 0; i < n; i++) {
        if (is_gap(line[i])) {
            outer = true;
            continue;
        }
        int at = outer ? nest->n_loops - n + i : i;
        if (at < 0 || at >= nest->n_loops || nest->loop[at].dim != dim_called(c, line[i]->dim)) return false;
        if (line[i]->size > 0 && nest->loop[at].size != line[i]->size) return false;
    }
    return true;
}

bool tw_zz_order_begins(const tw_zz_entry *entry, const tw_zz_case *c, const tw_zz_nest *nest)
{
    const tw_zz_order *line[TW_ZZ_LOOPS];
    int n = lines_of(entry, c, line);
    for (int i = 0; i < nest->n_loops && i < n && !is_gap(line[i]); i++)
        if (nest->loop[i].dim != dim_called(c, line[i]->dim)) return false;
    return true;
}

bool tw_zz_order_is_whole(const tw_zz_entry *entry, const tw_zz_case *c)
{
    const tw_zz_order *line[TW_ZZ_LOOPS];
    int n = lines_of(entry, c, line), loops = 0;
    bool listed[TW_RIVAL_DIMS] = {0};
    for (int i = 0; i < n; i++) {
        int d = is_gap(line[i]) ? -1 : dim_called(c, line[i]->dim);
        if (d < 0 || listed[d]) return false;
        listed[d] = true;
    }
    for (int d = 0; d < c->n_dims; d++) loops += c->steps[d] > 1 && !listed[d];
    return loops == 0;
}

/* Whether the order has a size in every line, and they multiply to what is left for time. */
static bool is_complete(const tw_zz_entry *e, const tw_zz_case *c, tw_zz_nest *out)
{
    const tw_zz_order *line[TW_ZZ_LOOPS];
    int64_t product[TW_RIVAL_DIMS];
    int n = lines_of(e, c, line);
    for (int d = 0; d < c->n_dims; d++) product[d] = 1;
    *out = (tw_zz_nest){0};
    for (int i = 0; i < n; i++) {
        int d = is_gap(line[i]) ? -1 : dim_called(c, line[i]->dim);
        if (d < 0 || line[i]->size == 0 || !tw_ckd_mul(product[d], line[i]->size, &product[d])) return false;
        out->loop[out->n_loops].dim = d;
        out->loop[out->n_loops++].size = line[i]->size;
    }
    for (int d = 0; d < c->n_dims; d++)
        if (product[d] != c->steps[d]) return false;
    return true;
}

/* ---- the cut nest: temporal_mapping: {O: [[[FX, 3], [C, 2]], [[K, 4]], []], W: .., I: ..}, lowest level and innermost first ---- */

static tw_status read_loop(const tw_zz_case *c, const tw_node *pair, tw_diag *diag, int at, tw_zz_nest *nest)
{
    bool good = pair->kind == TW_LIST && pair->n_children == 2 && pair->child->kind == TW_SCALAR;
    int d = good ? dim_called(c, pair->child->text) : -1;
    int64_t size = 0;
    if (d < 0)
        return tw_diag_error(diag, pair->loc,
                             "a loop of 'temporal_mapping' is one of the layer and its size, such as [K, 4]");
    if (!tw_node_int(pair->child->next, "temporal_mapping", 1, TW_EXTENT_MAX, diag, &size)) return TW_ERR_INPUT;
    if (at == TW_ZZ_LOOPS) return tw_diag_error(diag, pair->loc, "more than %d loops", TW_ZZ_LOOPS);
    if (at < nest->n_loops && (nest->loop[at].dim != d || nest->loop[at].size != size))
        return tw_diag_error(
            diag, pair->loc,
            "loop %d is %s of %" PRId64 " here and %s of %" PRId64 " for the first operand; all have the same nest",
            at + 1, c->einsum->dim[d], size, c->einsum->dim[nest->loop[at].dim], nest->loop[at].size);
    if (at < nest->n_loops) return TW_OK;
    nest->loop[at].dim = d;
    nest->loop[at].size = size;
    return TW_OK;
}

static tw_status read_levels(const tw_zz_case *c, int o, const tw_node *list, tw_diag *diag, tw_zz_nest *nest)
{
    int at = 0, l = 0;
    if (list->kind != TW_LIST || list->n_children != c->operand[o].n_levels)
        return tw_diag_error(
            diag, list->loc,
            "operand '%s' has %d memories, and 'temporal_mapping' must have a list of loops for each",
            c->operand[o].name, c->operand[o].n_levels);
    for (const tw_node *level = list->child; level; level = level->next, l++) {
        if (level->kind != TW_LIST)
            return tw_diag_error(diag, level->loc, "a level of 'temporal_mapping' is a list of loops");
        for (const tw_node *pair = level->child; pair; pair = pair->next) {
            TW_TRY(read_loop(c, pair, diag, at, nest));
            at++;
            if (o == 0) nest->n_loops = at;
        }
        nest->cut[o][l] = at;
    }
    if (at != nest->n_loops)
        return tw_diag_error(diag, list->loc, "operand '%s' has %d loops, the first has %d", c->operand[o].name, at,
                             nest->n_loops);
    return TW_OK;
}

static tw_status check_products(const tw_zz_case *c, const tw_zz_nest *nest, tw_loc loc, tw_diag *diag)
{
    for (int d = 0; d < c->n_dims; d++) {
        int64_t product = 1;
        for (int i = 0; i < nest->n_loops; i++)
            if (nest->loop[i].dim == d && !tw_ckd_mul(product, nest->loop[i].size, &product)) product = INT64_MAX;
        if (product != c->steps[d])
            return tw_diag_error(diag, loc,
                                 "the loops over '%s' make %" PRId64 " rounds; of %" PRId64
                                 " iterations the array leaves %" PRId64,
                                 c->einsum->dim[d], product, c->einsum->extent[d], c->steps[d]);
    }
    return TW_OK;
}

static const tw_node *entry_called(const tw_node *map, const char *key)
{
    for (const tw_node *e = map->child; e; e = e->next)
        if (strcmp(e->key, key) == 0) return e;
    return NULL;
}

static tw_status read_temporal(const tw_zz_case *c, const tw_node *map, tw_diag *diag, tw_zz_nest *out)
{
    *out = (tw_zz_nest){0};
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        const tw_node *list = entry_called(map, c->operand[o].name);
        if (!list)
            return tw_diag_error(diag, map->loc, "'temporal_mapping' says nothing about operand '%s'",
                                 c->operand[o].name);
        TW_TRY(read_levels(c, o, list, diag, out));
    }
    for (const tw_node *e = map->child; e; e = e->next)
        if (map->n_children != TW_ZZ_OPERANDS)
            return tw_diag_error(diag, map->loc, "'temporal_mapping' has %d operands, there are %d",
                                 map->n_children, TW_ZZ_OPERANDS);
    return check_products(c, out, map->loc, diag);
}

/* ---- does it fit? ---- */

static tw_status too_small(const tw_zz_case *c, int memory, double bits, tw_loc loc, tw_diag *diag)
{
    const tw_rival_memory *m = &c->machine->memory[memory];
    tw_status status =
        tw_diag_infeasible(diag, loc, "memory '%s' holds %" PRId64 " bits, the tiles of '%s' need %.0f", m->name,
                           m->size_bits, c->einsum->name, bits);
    if (m->loc.file) tw_diag_note(diag, m->loc, "memory '%s' is declared here", m->name);
    return status;
}

tw_status tw_zz_given_nest(const tw_zz_extra *x, const tw_zz_case *c, tw_diag *diag, bool *fixed, tw_zz_nest *out)
{
    int memory = 0;
    *fixed = true;
    if (x->entry && x->entry->temporal) {
        TW_TRY(read_temporal(c, x->entry->temporal, diag, out));
        tw_zz_nest_settle(c, out);
        if (!tw_zz_nest_fits(c, out, &memory))
            return too_small(c, memory, tw_zz_memory_bits(c, out, memory), x->entry->temporal->loc, diag);
        return TW_OK;
    }
    *fixed = x->entry && x->entry->n_orders > 0 && is_complete(x->entry, c, out);
    if (!*fixed) return TW_OK;
    if (!tw_zz_nest_allocate(c, out, &memory))
        return tw_diag_infeasible(diag, x->entry->order[0].loc,
                                  "memory '%s' has no room for what this order of loops puts there",
                                  c->machine->memory[memory].name);
    tw_zz_nest_settle(c, out);
    return TW_OK;
}
