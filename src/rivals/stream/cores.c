/* src/rivals/stream/cores.c - tiles of layers and the views of cores; files of Stream as a tool. */
#include "rivals/stream/cores.h"
#include "rivals/stream/fusion.h"

#include <string.h>

typedef struct builder {
    tw_work work;
    tw_hda *hda;
    tw_allocation *allocation;
    tw_zz_reader workload; /* its layers */
    tw_cores *out;
    tw_cores_layer *layer;
    int n_entries;       /* for each core */
    tw_zz_entry **entry; /* NULL: not read yet */
} builder;

/* ---- tiles ---- */

static int64_t parts_of(const tw_hda_cut *cut, int64_t extent, const tw_cores_layer *l)
{
    switch (cut->parts) {
    case TW_PARTS_ALL: return extent;
    case TW_PARTS_OPEN: return tw_min(extent, tw_max(l->n_cores, 1));
    case TW_PARTS_OF_SIZE: return tw_cdiv(extent, cut->n);
    case TW_PARTS_NUMBER: break;
    }
    return tw_min(extent, cut->n);
}

/* The loop that the tool lays over cores where the mapping names none: groups, heads or channels, whichever there are. */
static int usual_loop(const tw_zz_layer *whole)
{
    static const char *const name[] = {"G", "H", "K"};
    for (size_t i = 0; i < TW_COUNT(name); i++) {
        int d = tw_zz_dim_of(whole, name[i]);
        if (d >= 0 && whole->extent[d] > 1) return d;
    }
    return 0;
}

/* Entries for several layers name loops that some do not have: those are left out, as in the tool. */
static void cut_layer(tw_cores_layer *l)
{
    for (int d = 0; d < l->whole->n_dims; d++) l->parts[d] = 1;
    if (l->entry && l->entry->is_fixed && l->entry->n_inter == 0) {
        int d = usual_loop(l->whole);
        l->parts[d] = tw_min(l->whole->extent[d], l->n_cores);
    }
    for (int i = 0; l->entry && i < l->entry->n_inter; i++) {
        const tw_hda_cut *cut = &l->entry->inter[i];
        int d = tw_allocation_dim(l->whole, cut->dim);
        if (d < 0) continue;
        l->parts[d] = parts_of(cut, l->whole->extent[d], l);
        l->is_open |= cut->parts == TW_PARTS_OPEN;
    }
    l->n_tiles = 1;
    for (int d = 0; d < l->whole->n_dims; d++)
        if (!tw_ckd_mul(l->n_tiles, l->parts[d], &l->n_tiles)) l->n_tiles = INT64_MAX;
}

static tw_status make_tile(builder *b, tw_cores_layer *l)
{
    tw_zz_layer *tile;
    TW_ALLOC(b->work.arena, tile, 1);
    *tile = *l->whole;
    for (int d = 0; d < tile->n_dims; d++) tile->extent[d] = tw_cdiv(tile->extent[d], l->parts[d]);
    l->tile = tile;
    return TW_OK;
}

/* Without a mapping: every core that runs operators of the layer's type. */
static tw_status find_cores(builder *b, tw_cores_layer *l)
{
    int *core;
    TW_ALLOC(b->work.arena, core, b->hda->n_cores);
    l->core = core;
    for (int c = 0; c < b->hda->n_cores; c++)
        if (b->hda->core[c].kind == TW_HDA_COMPUTES && tw_hda_runs(&b->hda->core[c], l->whole->type))
            core[l->n_cores++] = c;
    if (l->n_cores > 0) return TW_OK;
    return tw_diag_error(b->work.diag, l->whole->loc, "no core runs '%s', which is of type '%s'", l->whole->name,
                         l->whole->type);
}

static tw_status take_cores(builder *b, tw_cores_layer *l)
{
    const tw_hda_entry *e = l->entry;
    l->n_cores = e->n_cores;
    l->core = e->core;
    for (int i = 0; i < e->n_cores; i++)
        if (!tw_hda_runs(&b->hda->core[e->core[i]], l->whole->type))
            return tw_diag_error(b->work.diag, e->loc, "core %d ('%s') does not run '%s', which is of type '%s'",
                                 e->core[i], b->hda->core[e->core[i]].name, l->whole->name, l->whole->type);
    return TW_OK;
}

static tw_status allocate_layer(builder *b, const tw_zz_layer *whole, tw_cores_layer *l)
{
    *l = (tw_cores_layer){.whole = whole, .entry = b->allocation ? tw_allocation_for(b->allocation, whole) : NULL};
    if (b->allocation && !l->entry)
        return tw_diag_error(b->work.diag, b->allocation->loc,
                             "no mapping is called '%s', as the layer is, '%s', as its type is, or 'default'",
                             whole->name, whole->type);
    TW_TRY(l->entry ? take_cores(b, l) : find_cores(b, l));
    cut_layer(l);
    l->is_placed = l->n_tiles > 1 && l->n_tiles == l->n_cores;
    if (l->n_tiles > TW_CORES_TILES)
        return tw_diag_error(b->work.diag, l->entry->loc,
                             "'%s' is cut into %" PRId64 " parts for %d cores; at most %d parts are looked at",
                             whole->name, l->n_tiles, l->n_cores, TW_CORES_TILES);
    return make_tile(b, l);
}

/* ---- views ---- */

/* Of the cores that an entry is about, the one whose array has the most axes: what lies over an axis that a core does not have is not about that core. */
static const tw_hierarchy *widest_of(const tw_hda *hda, const tw_hda_entry *entry)
{
    const tw_hierarchy *widest = NULL;
    for (int i = 0; entry && i < entry->n_cores; i++) {
        const tw_hierarchy *m = hda->core[entry->core[i]].machine;
        if (m && (!widest || m->n_axes > widest->n_axes)) widest = m;
    }
    return widest;
}

/* What lies over the array: the core's own dataflow before what the mapping says. */
static tw_status read_entry(tw_zz_reader *r, const tw_hda_entry *entry, const tw_hda_core *core, tw_zz_entry *e)
{
    *e = (tw_zz_entry){.name = entry ? entry->name : "", .loc = entry ? entry->loc : core->loc};
    tw_zz_default_links(e);
    if (entry && entry->node) TW_TRY(tw_zz_read_entry(r, entry->node, e));
    if (core->dataflow) {
        memcpy(e->part, core->dataflow->part, sizeof e->part);
        memcpy(e->given, core->dataflow->given, sizeof e->given);
        e->n_parts = core->dataflow->n_parts;
    }
    return TW_OK;
}

/* Cores that are alike have one entry for each of the mapping's, so that layers that are alike are known to be. */
static tw_status entry_for(builder *b, tw_zz_reader *r, const tw_hda_entry *entry, int core,
                           const tw_zz_entry **out)
{
    int like = 0, at = entry ? (int)(entry - b->allocation->entry) : 0;
    while (b->hda->core[like].machine != b->hda->core[core].machine) like++;
    tw_zz_entry **slot = &b->entry[like * b->n_entries + at];
    if (!*slot) {
        TW_ALLOC(b->work.arena, *slot, 1);
        r->widest = widest_of(b->hda, entry);
        TW_TRY(read_entry(r, entry, &b->hda->core[core], *slot));
    }
    *out = *slot;
    return TW_OK;
}

static bool may_run(const tw_cores_layer *l, int core)
{
    for (int i = 0; i < l->n_cores; i++)
        if (l->core[i] == core) return true;
    return false;
}

static tw_status build_view(builder *b, int at, tw_rival *view)
{
    tw_hda_core core = b->hda->core[at];
    tw_hierarchy *machine = (tw_hierarchy *)(uintptr_t)core.machine;
    tw_zz_reader r = {
        .work = b->work, .machine = machine, .listed = (int(*)[TW_ZZ_OPERANDS])(uintptr_t)core.listed};
    tw_rival_layer *layer;
    TW_ALLOC(b->work.arena, layer, b->out->n_layers + 1);
    *view = (tw_rival){
        .tool = &tw_zigzag_tool, .machine = machine, .n_layers = b->out->n_layers, .layer = layer, .cores = b->out};
    for (int i = 0; i < b->out->n_layers && core.machine; i++) {
        const tw_cores_layer *l = &b->layer[i];
        const tw_zz_entry *entry;
        layer[i] = (tw_rival_layer){.name = l->whole->name, .loc = l->whole->loc};
        if (!may_run(l, at)) continue;
        TW_TRY(entry_for(b, &r, l->entry, at, &entry));
        TW_TRY(tw_zz_build_layer(&r, l->tile, entry, &layer[i]));
        ((tw_zz_extra *)(uintptr_t)layer[i].extra)->tiles = l->is_open ? 1 : l->n_tiles;
    }
    return TW_OK;
}

static tw_status build_views(builder *b)
{
    tw_rival *view;
    b->n_entries = b->allocation ? b->allocation->n_entries : 1;
    TW_ALLOC(b->work.arena, b->entry, b->hda->n_cores * b->n_entries);
    TW_ALLOC(b->work.arena, view, b->hda->n_cores);
    for (int c = 0; c < b->hda->n_cores; c++) TW_TRY(build_view(b, c, &view[c]));
    b->out->view = view;
    return TW_OK;
}

static tw_status describe_all(builder *b)
{
    tw_zz_entry *links;
    tw_rival_layer *whole;
    TW_ALLOC(b->work.arena, links, 1);
    TW_ALLOC(b->work.arena, whole, b->out->n_layers + 1);
    tw_zz_default_links(links);
    for (int i = 0; i < b->out->n_layers; i++)
        TW_TRY(tw_zz_describe_layer(b->layer[i].whole, links, b->work.arena, &whole[i]));
    tw_zz_find_makers(b->workload.layer, b->out->n_layers, whole);
    b->out->whole = whole;
    return TW_OK;
}

/* ---- files ---- */

static bool is_mapping(const tw_rival_file *file)
{
    return file->root && (tw_allocation_is(file->root) || tw_zz_is_mapping(file->root));
}

static tw_status read_machine(builder *b, const tw_rival_file *file, int n)
{
    for (int i = 0; i < n; i++) {
        if (!file[i].root || !tw_hda_is(file[i].root)) continue;
        if (b->hda)
            return tw_diag_error(b->work.diag, file[i].root->loc, "a second machine is given; there can be one");
        TW_ALLOC(b->work.arena, b->hda, 1);
        TW_TRY(tw_hda_read(file[i].root, file, n, b->work, b->hda));
    }
    if (b->hda) return TW_OK;
    return tw_diag_error(b->work.diag, (tw_loc){file[0].name, 0, 0}, "no machine of Stream was given");
}

static tw_status read_mapping(builder *b, const tw_rival_file *file, int n)
{
    for (int i = 0; i < n; i++) {
        if (!is_mapping(&file[i])) continue;
        if (b->allocation)
            return tw_diag_error(b->work.diag, file[i].root->loc, "a second mapping is given; there can be one");
        TW_ALLOC(b->work.arena, b->allocation, 1);
        TW_TRY(tw_allocation_read(file[i].root, b->hda, b->work, b->allocation));
    }
    return TW_OK;
}

static tw_status read_workload(builder *b, const tw_rival_file *file, int n)
{
    for (int i = 0; i < n; i++) {
        if (file[i].graph) TW_TRY(tw_zz_read_network(&b->workload, file[i].graph));
        if (file[i].root && tw_zz_is_workload(file[i].root))
            TW_TRY(tw_zz_read_workload(&b->workload, file[i].root));
    }
    return TW_OK;
}

/* A loop that none of the entry's layers has may be a slip of the pen; files of the tool name such loops, so that it is only said. */
static void check_cut(const builder *b, const tw_hda_entry *entry, const tw_hda_cut *cut)
{
    bool any = false;
    for (int i = 0; i < b->workload.n_layers; i++) {
        if (b->layer[i].entry != entry) continue;
        if (tw_allocation_dim(b->layer[i].whole, cut->dim) >= 0) return;
        any = true;
    }
    if (any && (cut->parts != TW_PARTS_NUMBER || cut->n > 1))
        tw_diag_note(b->work.diag, cut->loc, "no layer that '%s' is about has a loop '%s', which is left out",
                     entry->name, cut->dim);
}

static void check_cuts(const builder *b)
{
    for (int e = 0; b->allocation && e < b->allocation->n_entries; e++)
        for (int i = 0; i < b->allocation->entry[e].n_inter; i++)
            check_cut(b, &b->allocation->entry[e], &b->allocation->entry[e].inter[i]);
}

static tw_status allocate_all(builder *b)
{
    int n = b->workload.n_layers;
    TW_ALLOC(b->work.arena, b->layer, n + 1);
    for (int i = 0; i < n; i++) TW_TRY(allocate_layer(b, &b->workload.layer[i], &b->layer[i]));
    check_cuts(b);
    b->out->hda = b->hda;
    b->out->allocation = b->allocation;
    b->out->n_layers = n;
    b->out->layer = b->layer;
    TW_TRY(tw_hda_fusion_find(b->out, b->work, &b->out->n_fused, &b->out->fused));
    TW_TRY(describe_all(b));
    return build_views(b);
}

tw_status tw_cores_read(const tw_rival_file *file, int n, tw_work work, tw_rival *out)
{
    builder b = {.work = work, .workload = {.work = work, .is_stream = true}};
    int first = 0;
    TW_ALLOC(work.arena, b.out, 1);
    TW_TRY(read_machine(&b, file, n));
    TW_TRY(read_mapping(&b, file, n));
    TW_TRY(read_workload(&b, file, n));
    TW_TRY(allocate_all(&b));
    while (b.hda->core[first].kind != TW_HDA_COMPUTES) first++;
    *out = b.out->view[first];
    return TW_OK;
}

static bool knows(const tw_node *root) { return tw_hda_is(root) || tw_allocation_is(root); }

const tw_rival_tool tw_stream_tool = {
    .rules = TW_RULES_ZIGZAG, .knows = knows, .read = tw_cores_read, .repeats_keys = true, .base = &tw_zigzag_tool};
