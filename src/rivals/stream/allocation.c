/* src/rivals/stream/allocation.c - mapping files of Stream, in both forms. */
#include "rivals/stream/allocation.h"

#include <stdlib.h>
#include <string.h>

bool tw_allocation_is(const tw_node *root)
{
    const tw_node *list = tw_rival_entry(root, "layers");
    return list && list->kind == TW_LIST && list->child && tw_rival_entry(list->child, "core_allocation");
}

typedef struct reader {
    tw_work work;
    const tw_hda *hda;
} reader;

/* ---- cuts ---- */

static bool read_count(const char *text, tw_hda_cut *cut)
{
    char *end;
    cut->parts = strcmp(text, "*") == 0 ? TW_PARTS_OPEN : strcmp(text, "all") == 0 ? TW_PARTS_ALL : TW_PARTS_NUMBER;
    if (cut->parts != TW_PARTS_NUMBER) return true;
    if (!tw_is_digit(*text)) return false;
    cut->n = strtoll(text, &end, 10);
    return !*end && cut->n >= 1 && cut->n <= TW_EXTENT_MAX;
}

/* "K, 3" */
static tw_status read_text(reader *r, tw_fields *f, const char *key, const tw_node *node, tw_hda_cut *cut)
{
    const char *count;
    tw_status status = tw_zz_pair(node, key, r->work, &cut->dim, &count);
    if (status == TW_ERR_NOMEM) return status;
    if (status != TW_OK)
        f->n_bad++;
    else if (!read_count(count, cut))
        TW_REFUSE(f, node->loc, "loop '%s' is cut into a number of parts, 'all' or '*', found '%s'", cut->dim,
                  count);
    return TW_OK;
}

/* {dim: D6, split: 4}, {dim: Conv1.D2, tile: 1} */
static tw_status read_map(reader *r, tw_fields *f, bool inter, const tw_node *node, tw_hda_cut *cut)
{
    tw_fields c = tw_fields_open(node, "tiling", r->work.diag);
    const tw_node *dim = tw_field_node(&c, "dim", TW_REQUIRED);
    cut->parts = inter ? TW_PARTS_NUMBER : TW_PARTS_OF_SIZE;
    cut->n = 1;
    (void)tw_field_int(&c, inter ? "split" : "tile", TW_REQUIRED, 1, TW_EXTENT_MAX, &cut->n);
    const char *dot = dim && dim->kind == TW_SCALAR && !inter ? strrchr(dim->text, '.') : NULL;
    cut->dim = dot ? dot + 1 : dim && dim->kind == TW_SCALAR ? dim->text : "";
    cut->layer = dot ? tw_arena_strndup(r->work.arena, dim->text, (size_t)(dot - dim->text)) : NULL;
    if (dim && (cut->dim[0] != 'D' || !tw_is_digit(cut->dim[1]) || (!inter && !dot)))
        TW_REFUSE(&c, dim->loc, "a loop is called %s, found '%s'",
                  inter ? "D0, D1 and so on" : "LAYER.D0, LAYER.D1 and so on",
                  dim->kind == TW_SCALAR ? dim->text : "a list or map");
    f->n_bad += tw_fields_close(&c) != TW_OK;
    return dot && !cut->layer ? TW_ERR_NOMEM : TW_OK;
}

/* Of several lists, which the tool may choose from, the first one. */
static const tw_node *first_list(reader *r, const char *key, const tw_node *list)
{
    if (!list || list->kind != TW_LIST || !list->child || list->child->kind != TW_LIST) return list;
    if (list->n_children > 1)
        tw_diag_note(r->work.diag, list->child->next->loc, "'%s' has %d lists to choose from; the first is taken",
                     key, list->n_children);
    return list->child;
}

static tw_status read_cuts(reader *r, tw_fields *f, const char *key, int *n, const tw_hda_cut **out)
{
    const tw_node *list = tw_field_list(f, key, TW_OPTIONAL);
    bool inter = strcmp(key, "inter_core_tiling") == 0;
    tw_hda_cut *cut;
    if (!list || list->n_children == 0) return TW_OK;
    list = first_list(r, key, list); /* the newer form has one for each list of cores */
    TW_ALLOC(r->work.arena, cut, list->n_children + 1);
    *out = cut;
    for (const tw_node *e = list->child; e; e = e->next) {
        cut[*n] = (tw_hda_cut){.dim = "", .loc = e->loc};
        if (e->kind == TW_NODE_MAP)
            TW_TRY(read_map(r, f, inter, e, &cut[*n]));
        else
            TW_TRY(read_text(r, f, key, e, &cut[*n]));
        ++*n;
    }
    return TW_OK;
}

/* ---- entries ---- */

static void read_name(tw_fields *f, const char **out)
{
    const tw_node *name = tw_field_node(f, "name", TW_REQUIRED);
    if (name && name->kind == TW_SCALAR) *out = name->text;
    if (name && name->kind != TW_SCALAR)
        TW_REFUSE(f, name->loc, "'name' must be a layer, a type of layer or 'default'");
}

/* [0, 1], or in the newer form [[0, 1]]. The older form means core 0 where it says nothing. */
static tw_status read_allocation(reader *r, tw_fields *f, bool newer, tw_hda_entry *e)
{
    static const int zero = 0;
    const tw_node *list =
        first_list(r, "core_allocation", tw_field_node(f, "core_allocation", newer ? TW_REQUIRED : TW_OPTIONAL));
    const tw_node *fixed = newer ? NULL : tw_field_node(f, "core_allocation_is_fixed", TW_OPTIONAL);
    e->is_fixed = fixed && fixed->kind == TW_SCALAR && (fixed->text[0] == 't' || fixed->text[0] == 'T');
    e->n_cores = 1;
    e->core = &zero;
    if (!list) return TW_OK;
    TW_TRY(tw_hda_read_cores(f, list, r->hda, 1, r->work.arena, &e->n_cores, &e->core));
    for (int i = 0; i < e->n_cores; i++)
        if (r->hda->core[e->core[i]].kind != TW_HDA_COMPUTES)
            TW_REFUSE(f, list->loc, "core %d ('%s') does not compute", e->core[i], r->hda->core[e->core[i]].name);
    return TW_OK;
}

static tw_status read_entry(reader *r, const tw_node *node, bool newer, tw_hda_entry *e)
{
    /* What ZigZag's reader reads for each core that runs the layer, or nobody has a use for. */
    static const char *const rest[] = {
        "layer_dimension_names", "spatial_mapping", "spatial_mapping_hint", "temporal_ordering", "temporal_mapping",
        "memory_operand_links",  "kernel"};
    tw_fields f = tw_fields_open(node, "mapping", r->work.diag);
    *e = (tw_hda_entry){.name = "", .loc = node->loc, .node = newer ? NULL : node};
    for (size_t i = 0; i < TW_COUNT(rest); i++)
        if (newer == (i == TW_COUNT(rest) - 1)) (void)tw_field_node(&f, rest[i], TW_OPTIONAL);
    read_name(&f, &e->name);
    TW_TRY(read_allocation(r, &f, newer, e));
    TW_TRY(read_cuts(r, &f, "inter_core_tiling", &e->n_inter, &e->inter));
    if (!newer) TW_TRY(read_cuts(r, &f, "intra_core_tiling", &e->n_intra, &e->intra));
    return tw_fields_close(&f);
}

static tw_status read_entries(reader *r, const tw_node *list, bool newer, tw_allocation *out)
{
    tw_hda_entry *entry;
    tw_status status = TW_OK;
    TW_ALLOC(r->work.arena, entry, list->n_children + 1);
    for (const tw_node *node = list->child; node; node = node->next) {
        tw_hda_entry *e = &entry[out->n_entries++];
        tw_status one = read_entry(r, node, newer, e);
        if (one == TW_ERR_NOMEM) return one;
        if (one != TW_OK) status = one;
        for (int i = 0; i + 1 < out->n_entries; i++)
            if (strcmp(entry[i].name, e->name) == 0)
                status = tw_diag_error(r->work.diag, node->loc, "the mapping '%s' is given twice", e->name);
    }
    out->entry = entry;
    return status;
}

/* ---- groups ---- */

static const tw_hda_entry *entry_called(const tw_allocation *a, const char *name)
{
    for (int i = 0; i < a->n_entries; i++)
        if (strcmp(a->entry[i].name, name) == 0) return &a->entry[i];
    return NULL;
}

static tw_status read_group(reader *r, const tw_node *node, tw_hda_group *g)
{
    tw_fields f = tw_fields_open(node, "fused group", r->work.diag);
    const char **layer;
    tw_loc *loc;
    *g = (tw_hda_group){.name = "", .loc = node->loc};
    read_name(&f, &g->name);
    const tw_node *list = tw_field_list(&f, "layers", TW_REQUIRED);
    TW_ALLOC(r->work.arena, layer, (list ? list->n_children : 0) + 1);
    TW_ALLOC(r->work.arena, loc, (list ? list->n_children : 0) + 1);
    g->layer = layer;
    g->layer_loc = loc;
    for (const tw_node *e = list ? list->child : NULL; e; e = e->next) {
        loc[g->n_layers] = e->loc;
        layer[g->n_layers++] = e->kind == TW_SCALAR ? e->text : "";
    }
    TW_TRY(read_cuts(r, &f, "intra_core_tiling", &g->n_intra, &g->intra));
    return tw_fields_close(&f);
}

static tw_status read_groups(reader *r, tw_fields *f, tw_allocation *out)
{
    const tw_node *list = tw_field_list(f, "fused_groups", TW_OPTIONAL);
    tw_hda_group *group;
    TW_ALLOC(r->work.arena, group, (list ? list->n_children : 0) + 1);
    for (const tw_node *e = list ? list->child : NULL; e; e = e->next) {
        tw_status one = read_group(r, e, &group[out->n_groups++]);
        if (one == TW_ERR_NOMEM) return one;
        f->n_bad += one != TW_OK;
    }
    out->group = group;
    return TW_OK;
}

tw_status tw_allocation_read(const tw_node *root, const tw_hda *hda, tw_work work, tw_allocation *out)
{
    reader r = {work, hda};
    *out = (tw_allocation){.loc = root->loc};
    if (root->kind == TW_LIST) {
        const tw_node *first = root->child ? tw_rival_entry(root->child, "core_allocation") : NULL;
        bool newer = first && first->kind == TW_LIST && first->child && first->child->kind == TW_LIST;
        return read_entries(&r, root, newer, out);
    }
    tw_fields f = tw_fields_open(root, "mapping", work.diag);
    const tw_node *layers = tw_field_list(&f, "layers", TW_REQUIRED);
    (void)tw_field_node(&f, "runtime_args", TW_OPTIONAL);
    tw_status status = layers ? read_entries(&r, layers, true, out) : TW_OK;
    if (status == TW_ERR_NOMEM) return status;
    f.n_bad += status != TW_OK;
    TW_TRY(read_groups(&r, &f, out));
    return tw_fields_close(&f);
}

/* ---- looking up ---- */

const tw_hda_entry *tw_allocation_for(const tw_allocation *allocation, const tw_zz_layer *layer)
{
    const tw_hda_entry *e = entry_called(allocation, layer->name);
    if (!e) e = entry_called(allocation, layer->type);
    return e ? e : entry_called(allocation, "default");
}

/* In the newer form a convolution has the loops B, OX, OY, FX, FY, C, K and a product B, H, D, C, K, of which those that are not there are left
 * out. */
int tw_allocation_dim(const tw_zz_layer *layer, const char *name)
{
    static const char *const conv[] = {"B", "OX", "OY", "FX", "FY", "C", "K"}, *const product[] = {"B", "H", "D",
                                                                                                   "C", "K"};
    int named = tw_zz_dim_of(layer, name);
    if (named >= 0 || name[0] != 'D' || !tw_is_digit(name[1])) return named;
    bool is_conv = tw_zz_dim_of(layer, "FX") >= 0;
    const char *const *word = is_conv ? conv : product;
    long at = strtol(name + 1, NULL, 10);
    for (int i = 0; i < (is_conv ? (int)TW_COUNT(conv) : (int)TW_COUNT(product)); i++) {
        int d = tw_zz_dim_of(layer, word[i]);
        if (d >= 0 && at-- == 0) return d;
    }
    return -1;
}
