/* src/rivals/stream/fusion.c - which layers a fused group has, see fusion.h; fusion_print.c writes them. */
#include "rivals/stream/fusion.h"

#include <string.h>

typedef struct finder {
    const tw_cores *cores;
    tw_diag *diag;
    tw_hda_fusion *fused;
    int n, end; /* groups that were found, and the layer behind the last of them */
} finder;

static const tw_zz_layer *layer_at(const finder *f, int i) { return f->cores->layer[i].whole; }

static int layer_called(const finder *f, const char *name)
{
    for (int i = 0; i < f->cores->n_layers; i++)
        if (strcmp(layer_at(f, i)->name, name) == 0) return i;
    return -1;
}

/* The layer whose loop a cut is about: the one that it names or, of a type, the first at or behind `from`. */
static int layer_cut(const finder *f, const tw_hda_cut *cut, int from)
{
    int at = cut->layer ? layer_called(f, cut->layer) : -1;
    for (int i = from; at < 0 && cut->layer && i < f->cores->n_layers; i++)
        if (strcmp(layer_at(f, i)->type, cut->layer) == 0) at = i;
    return at;
}

/* Whether the group has the layer, by its name or its type. */
static bool has_layer(const finder *f, const tw_hda_group *g, int layer)
{
    for (int k = 0; k < g->n_layers; k++)
        if (strcmp(g->layer[k], layer_at(f, layer)->name) == 0 ||
            strcmp(g->layer[k], layer_at(f, layer)->type) == 0)
            return true;
    return false;
}

/* The last layer that one of the group's names is the name of; -1: it names types alone. */
static int last_named(const finder *f, const tw_hda_group *g)
{
    int last = -1;
    for (int k = 0; k < g->n_layers; k++) {
        int i = layer_called(f, g->layer[k]);
        last = i > last ? i : last;
    }
    return last;
}

static bool is_named(const finder *f, const tw_hda_group *g, int layer)
{
    for (int k = 0; k < g->n_layers; k++)
        if (strcmp(g->layer[k], layer_at(f, layer)->name) == 0) return true;
    return false;
}

/* The layer that the group ends with: of its last word that means one at or behind `from`, the layer of that name or the first of that type that has no
 * name there. -1: none. */
static int last_of(const finder *f, const tw_hda_group *g, int from)
{
    for (int k = g->n_layers - 1; k >= 0; k--) {
        int named = layer_called(f, g->layer[k]);
        if (named >= from) return named;
        for (int i = from; named < 0 && i < f->cores->n_layers; i++)
            if (strcmp(g->layer[k], layer_at(f, i)->type) == 0 && !is_named(f, g, i)) return i;
    }
    return -1;
}

/* The layer whose loop the group cuts, `none` where it cuts none. */
static tw_status find_anchor(const finder *f, const tw_hda_group *g, int none, int *out)
{
    *out = none;
    for (int c = 0; c < g->n_intra; c++) {
        int at = layer_cut(f, &g->intra[c], f->end);
        if (at < 0)
            return tw_diag_error(f->diag, g->intra[c].loc, "no layer of the workload is called '%s'",
                                 g->intra[c].layer ? g->intra[c].layer : "");
        if (!has_layer(f, g, at))
            return tw_diag_error(f->diag, g->intra[c].loc, "'%s' is no layer of group '%s'", g->intra[c].layer,
                                 g->name);
        *out = at > *out || c == 0 ? at : *out;
    }
    return TW_OK;
}

static int first_named(const finder *f, const tw_hda_group *g)
{
    int first = f->cores->n_layers;
    for (int k = 0; k < g->n_layers; k++) {
        int i = layer_called(f, g->layer[k]);
        first = i >= 0 && i < first ? i : first;
    }
    return first;
}

static tw_status check_members(const finder *f, const tw_hda_group *g, int first, int last)
{
    if (first < f->end)
        return tw_diag_error(f->diag, g->loc,
                             "layer '%s' of group '%s' is in group '%s' already, or stands before it",
                             layer_at(f, first)->name, g->name, f->fused[f->n - 1].group->name);
    for (int i = first; i <= last; i++)
        if (!has_layer(f, g, i))
            return tw_diag_error(f->diag, g->loc,
                                 "'%s' stands between layers of group '%s', which does not have it",
                                 layer_at(f, i)->name, g->name);
    for (int c = 0; c < g->n_intra; c++) {
        int at = layer_cut(f, &g->intra[c], first);
        if (at < first || at > last)
            return tw_diag_error(f->diag, g->intra[c].loc, "'%s' is no layer of group '%s'", g->intra[c].layer,
                                 g->name);
        if (tw_allocation_dim(layer_at(f, at), g->intra[c].dim) < 0)
            return tw_diag_error(f->diag, g->intra[c].loc, "layer '%s' has no loop '%s'", g->intra[c].layer,
                                 g->intra[c].dim);
    }
    return TW_OK;
}

/* Words of a group are layers of the workload, or have an entry of the mapping, of whose type there may be no layer. */
static tw_status check_words(const finder *f, const tw_hda_group *g)
{
    const tw_allocation *a = f->cores->allocation;
    tw_status status = TW_OK;
    for (int k = 0; k < g->n_layers; k++) {
        bool known = layer_called(f, g->layer[k]) >= 0;
        for (int i = 0; i < a->n_entries && !known; i++) known = strcmp(a->entry[i].name, g->layer[k]) == 0;
        if (!known)
            status = tw_diag_error(f->diag, g->layer_loc[k],
                                   "group '%s' has '%s', which is no layer, and 'layers' does not have it", g->name,
                                   g->layer[k]);
    }
    return status;
}

/* A function of the elements of the last layer, of one of the group's types, is computed where these are: the tool cuts networks behind it. */
static int behind_functions(const finder *f, const tw_hda_group *g, int last)
{
    while (last + 1 < f->cores->n_layers && !is_named(f, g, last) && has_layer(f, g, last + 1) &&
           layer_at(f, last + 1)->bits[TW_ZZ_LAYER_W] == 0 && layer_at(f, last + 1)->value &&
           layer_at(f, last + 1)->source == layer_at(f, last)->id)
        last++;
    return last;
}

static tw_status find_group(finder *f, const tw_hda_group *g)
{
    int anchor, named = last_named(f, g);
    TW_TRY(check_words(f, g));
    TW_TRY(find_anchor(f, g, named >= 0 ? named : f->end, &anchor));
    int last = last_of(f, g, anchor > named ? anchor : named);
    if (last < 0) {
        tw_diag_note(f->diag, g->loc, "group '%s' has no layer that costs something", g->name);
        return TW_OK;
    }
    last = behind_functions(f, g, last);
    bool begins = g->n_layers > 0 && layer_called(f, g->layer[0]) >= 0;
    int first = begins ? first_named(f, g) : f->end;
    TW_TRY(check_members(f, g, first, last));
    f->fused[f->n++] = (tw_hda_fusion){g, first, last - first + 1};
    f->end = last + 1;
    return TW_OK;
}

tw_status tw_hda_fusion_find(const tw_cores *cores, tw_work work, int *n, const tw_hda_fusion **out)
{
    finder f = {.cores = cores, .diag = work.diag};
    const tw_allocation *a = cores->allocation;
    TW_ALLOC(work.arena, f.fused, (a ? a->n_groups : 0) + 1);
    for (int g = 0; a && g < a->n_groups; g++) TW_TRY(find_group(&f, &a->group[g]));
    *n = f.n;
    *out = f.fused;
    return TW_OK;
}

/* ---- tiles of one layer ---- */

static bool apply_cuts(const tw_zz_layer *l, const tw_hda_cut *cut, int n, int64_t *size)
{
    bool any = false;
    for (int c = 0; c < n; c++) {
        int d = tw_allocation_dim(l, cut[c].dim);
        if (d < 0 || cut[c].parts == TW_PARTS_OPEN) continue;
        int64_t to = cut[c].parts == TW_PARTS_ALL      ? 1
                     : cut[c].parts == TW_PARTS_NUMBER ? tw_cdiv(l->extent[d], tw_min(cut[c].n, l->extent[d]))
                                                       : cut[c].n;
        any |= to < size[d];
        size[d] = tw_min(size[d], to);
    }
    return any;
}

bool tw_hda_fusion_sizes(const tw_cores *cores, int layer, const tw_hda_fusion *alone, int64_t *size)
{
    const tw_cores_layer *l = &cores->layer[layer];
    bool any = l->entry && apply_cuts(l->whole, l->entry->intra, l->entry->n_intra, size);
    if (alone) any |= apply_cuts(l->whole, alone->group->intra, alone->group->n_intra, size);
    return any;
}
