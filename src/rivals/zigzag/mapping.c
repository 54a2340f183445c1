/* src/rivals/zigzag/mapping.c - what a mapping file says about layers, types of layers and the rest. */
#include "rivals/zigzag/zigzag.h"

#include <string.h>

bool tw_zz_is_mapping(const tw_node *root)
{
    if (root->kind != TW_LIST || !root->child || root->child->kind != TW_NODE_MAP) return false;
    static const char *const key[] = {"spatial_mapping",      "memory_operand_links", "temporal_ordering",
                                      "spatial_mapping_hint", "core_allocation",      "temporal_mapping",
                                      "inter_core_tiling"};
    for (const tw_node *entry = root->child; entry; entry = entry->next)
        for (const tw_node *e = entry->kind == TW_NODE_MAP ? entry->child : NULL; e; e = e->next)
            for (size_t i = 0; i < TW_COUNT(key); i++)
                if (strcmp(e->key, key[i]) == 0) return true;
    return false;
}

static int find_axis(const tw_hierarchy *m, const char *name)
{
    for (int a = 0; m && a < m->n_axes; a++)
        if (strcmp(m->axis[a], name) == 0) return a;
    return -1;
}

/* -1: the array has no such dimension, which is refused unless another core that the entry is about has it. */
static int axis_called(const tw_zz_reader *r, tw_fields *f, const tw_node *node)
{
    int axis = find_axis(r->machine, node->key);
    if (axis < 0 && find_axis(r->widest, node->key) < 0)
        TW_REFUSE(f, node->key_loc, "the array has no dimension '%s'", node->key);
    return axis;
}

static bool whole_number(const char *text, int64_t *out)
{
    int64_t x = 0;
    if (!*text) return false;
    for (; tw_is_digit(*text); text++)
        if (!tw_ckd_mul(x, 10, &x) || !tw_ckd_add(x, *text - '0', &x)) return false;
    *out = x;
    return !*text;
}

static tw_status read_part(tw_zz_reader *r, tw_fields *f, int axis, const tw_node *node, tw_zz_entry *e)
{
    const char *dim, *factor;
    int64_t n = 0;
    tw_status status = tw_zz_pair(node, "spatial_mapping", r->work, &dim, &factor);
    if (status == TW_ERR_NOMEM) return status;
    if (status != TW_OK) {
        f->n_bad++;
    } else if (!whole_number(factor, &n) || n < 1 || n > TW_EXTENT_MAX) {
        TW_REFUSE(f, node->loc, "loop '%s' lies over dimension '%s' with '%s', which is no number of 1 or more",
                  dim, r->machine->axis[axis], factor);
    } else if (e->n_parts == (int)TW_COUNT(e->part)) {
        TW_REFUSE(f, node->loc, "more than %d loops lie over the array", (int)TW_COUNT(e->part));
    } else {
        for (int i = 0; i < e->n_parts; i++)
            if (e->part[i].axis == axis && strcmp(e->part[i].dim, dim) == 0)
                TW_REFUSE(f, node->loc, "loop '%s' lies over dimension '%s' twice", dim, r->machine->axis[axis]);
        e->part[e->n_parts++] = (tw_zz_part){axis, dim, n, node->loc};
    }
    return TW_OK;
}

/* In the order of the array's axes, whatever the order of the file. */
static tw_status read_spatial(tw_zz_reader *r, tw_fields *f, const char *key, tw_zz_entry *e)
{
    const tw_node *map = tw_field_node(f, key, TW_OPTIONAL);
    if (!map || (map->kind == TW_SCALAR && !*map->text)) return TW_OK;
    if (map->kind != TW_NODE_MAP) {
        TW_REFUSE(f, map->loc, "'%s' must be a map of the array's dimensions", key);
        return TW_OK;
    }
    for (const tw_node *a = map->child; a; a = a->next) {
        int axis = axis_called(r, f, a);
        if (axis < 0) continue;
        e->given[axis] = true;
        if (a->kind != TW_LIST) TW_REFUSE(f, a->loc, "'%s' must be a list of loops such as 'K, 32'", a->key);
        for (const tw_node *p = a->kind == TW_LIST ? a->child : NULL; p; p = p->next)
            TW_TRY(read_part(r, f, axis, p, e));
    }
    for (int i = 1; i < e->n_parts; i++)
        for (int j = i; j > 0 && e->part[j].axis < e->part[j - 1].axis; j--) {
            tw_zz_part swap = e->part[j];
            e->part[j] = e->part[j - 1];
            e->part[j - 1] = swap;
        }
    return TW_OK;
}

static void read_hints(tw_zz_reader *r, tw_fields *f, tw_zz_entry *e)
{
    const tw_node *map = tw_field_map(f, "spatial_mapping_hint", TW_OPTIONAL);
    for (const tw_node *a = map ? map->child : NULL; a; a = a->next) {
        bool known = false;
        for (int i = 0; i < r->machine->n_axes; i++) known |= strcmp(r->machine->axis[i], a->key) == 0;
        if (!known) continue; /* files that serve several arrays hint at more dimensions than this one has */
        int axis = axis_called(r, f, a);
        if (a->kind != TW_LIST) TW_REFUSE(f, a->loc, "'%s' must be a list of loops", a->key);
        for (const tw_node *d = a->kind == TW_LIST ? a->child : NULL; d; d = d->next)
            if (d->kind != TW_SCALAR || e->hint[axis].n == TW_ZZ_HINTS)
                TW_REFUSE(f, d->loc, "a hint is a list of at most %d loops", TW_ZZ_HINTS);
            else
                e->hint[axis].dim[e->hint[axis].n++] = d->text;
    }
}

static bool is_star(const tw_node *n) { return n->kind == TW_SCALAR && strcmp(n->text, "*") == 0; }

static void read_order(tw_fields *f, const tw_node *pair, tw_zz_order *out)
{
    *out = (tw_zz_order){.dim = "*", .loc = pair->loc};
    if (pair->kind != TW_LIST || pair->n_children != 2 || pair->child->kind != TW_SCALAR) {
        TW_REFUSE(f, pair->loc, "a line of 'temporal_ordering' is a loop and its size or '*', such as [K, 4]");
        return;
    }
    const tw_node *size = pair->child->next;
    out->dim = pair->child->text;
    if (!is_star(size) && !tw_node_int(size, "temporal_ordering", 1, TW_EXTENT_MAX, f->diag, &out->size))
        f->n_bad++;
    if (is_star(pair->child) && !is_star(size)) TW_REFUSE(f, size->loc, "a gap is written [\"*\", \"*\"]");
}

static tw_status read_orders(tw_zz_reader *r, tw_fields *f, tw_zz_entry *e)
{
    const tw_node *list = tw_field_list(f, "temporal_ordering", TW_OPTIONAL);
    tw_zz_order *order;
    if (!list || list->n_children == 0) return TW_OK;
    TW_ALLOC(r->work.arena, order, list->n_children);
    for (const tw_node *pair = list->child; pair; pair = pair->next) read_order(f, pair, &order[e->n_orders++]);
    e->order = order;
    return TW_OK;
}

void tw_zz_default_links(tw_zz_entry *e)
{
    e->link[TW_ZZ_LAYER_O] = TW_ZZ_O;
    e->link[TW_ZZ_LAYER_W] = TW_ZZ_I2;
    e->link[TW_ZZ_LAYER_I] = TW_ZZ_I1;
}

static void read_links(tw_fields *f, tw_zz_entry *e)
{
    static const char *const operand[] = {"O", "W", "I"};
    const tw_node *map = tw_field_map(f, "memory_operand_links", TW_OPTIONAL);
    unsigned seen = 0;
    tw_zz_default_links(e);
    if (!map) return;
    tw_fields links = tw_fields_open(map, "memory_operand_links", f->diag);
    for (int i = 0; i < TW_ZZ_OPERANDS; i++) {
        const tw_node *node = tw_field_node(&links, operand[i], TW_REQUIRED);
        int to = node && node->kind == TW_SCALAR ? tw_zz_operand_called(node->text) : -1;
        if (node && (to < 0 || seen >> to & 1 || (i == TW_ZZ_LAYER_O) != (to == TW_ZZ_O)))
            TW_REFUSE(&links, node->loc, "'%s' must be linked to %s that no other is linked to, found '%s'",
                      operand[i], i == TW_ZZ_LAYER_O ? "O" : "I1 or I2",
                      node->kind == TW_SCALAR ? node->text : "a list or map");
        if (to >= 0) seen |= 1U << to;
        if (to >= 0) e->link[i] = to;
    }
    f->n_bad += tw_fields_close(&links) != TW_OK;
}

tw_status tw_zz_read_entry(tw_zz_reader *r, const tw_node *node, tw_zz_entry *e)
{
    /* Of Stream, whose entries are these and more. */
    static const char *const cores[] = {"core_allocation", "core_allocation_is_fixed", "inter_core_tiling",
                                        "intra_core_tiling", "layer_dimension_names"};
    tw_fields f = tw_fields_open(node, "mapping", r->work.diag);
    *e = (tw_zz_entry){.name = "", .loc = node->loc};
    const tw_node *name = tw_field_node(&f, "name", TW_REQUIRED);
    if (name && name->kind == TW_SCALAR) e->name = name->text;
    if (name && name->kind != TW_SCALAR)
        TW_REFUSE(&f, name->loc, "'name' must be a layer, a type of layer or 'default'");
    for (size_t i = 0; i < TW_COUNT(cores); i++) (void)tw_field_node(&f, cores[i], TW_OPTIONAL);
    if (f.node) TW_TRY(read_spatial(r, &f, "spatial_mapping", e));
    if (f.node) read_hints(r, &f, e);
    if (f.node) TW_TRY(read_orders(r, &f, e));
    read_links(&f, e);
    e->temporal = tw_field_map(&f, "temporal_mapping", TW_OPTIONAL);
    return tw_fields_close(&f);
}

tw_status tw_zz_read_dataflow(tw_zz_reader *r, const tw_node *root, const char *key, const tw_zz_entry **out)
{
    tw_fields f = tw_fields_open(root, key, r->work.diag);
    tw_zz_entry *e;
    bool given = tw_field_node(&f, key, TW_OPTIONAL) != NULL;
    TW_ALLOC(r->work.arena, e, 1);
    *e = (tw_zz_entry){.name = key, .loc = root->loc};
    tw_zz_default_links(e);
    TW_TRY(read_spatial(r, &f, key, e));
    *out = given ? e : NULL;
    return f.n_bad > 0 ? TW_ERR_INPUT : TW_OK;
}

tw_status tw_zz_read_mapping(tw_zz_reader *r, const tw_node *root)
{
    tw_zz_mapping *m;
    tw_zz_entry *entry;
    tw_status status = TW_OK;
    if (r->mapping) return tw_diag_error(r->work.diag, root->loc, "a second mapping is given; there can be one");
    TW_ALLOC(r->work.arena, m, 1);
    TW_ALLOC(r->work.arena, entry, root->n_children);
    for (const tw_node *node = root->child; node; node = node->next) {
        tw_zz_entry *e = &entry[m->n_entries++];
        tw_status one = tw_zz_read_entry(r, node, e);
        if (one == TW_ERR_NOMEM) return one;
        if (one != TW_OK) status = one;
        for (int i = 0; i + 1 < m->n_entries; i++)
            if (strcmp(entry[i].name, e->name) == 0)
                status = tw_diag_error(r->work.diag, node->loc, "the mapping '%s' is given twice", e->name);
    }
    m->entry = entry;
    r->mapping = m;
    return status;
}

static const tw_zz_entry *entry_called(const tw_zz_mapping *m, const char *name)
{
    for (int i = 0; i < m->n_entries; i++)
        if (strcmp(m->entry[i].name, name) == 0) return &m->entry[i];
    return NULL;
}

const tw_zz_entry *tw_zz_entry_for(const tw_zz_mapping *mapping, const tw_zz_layer *layer)
{
    const tw_zz_entry *e = entry_called(mapping, layer->name);
    if (!e) e = entry_called(mapping, layer->type);
    return e ? e : entry_called(mapping, "default");
}
