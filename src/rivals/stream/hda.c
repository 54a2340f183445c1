/* src/rivals/stream/hda.c - the cores of a machine of Stream, in all dialects.
 *
 * Cores are read one by one as accelerators of ZigZag. One that computes gets a second hierarchy, with the off-chip memory as memory 0, which is what the
 * tool counts layers on. */
#include "rivals/stream/hda.h"

#include <string.h>

bool tw_hda_is(const tw_node *root)
{
    static const char *const key[] = {"core_connectivity", "offchip_core_id", "offchip_core", "graph"};
    if (!tw_rival_entry(root, "cores") || tw_rival_entry(root, "machine")) return false;
    for (size_t i = 0; i < TW_COUNT(key); i++)
        if (tw_rival_entry(root, key[i])) return true;
    return false;
}

tw_status tw_hda_references(const tw_node *root, tw_status (*take)(void *to, const char *file, tw_loc loc),
                            void *to)
{
    const tw_node *cores = tw_rival_entry(root, "cores"), *offchip = tw_rival_entry(root, "offchip_core");
    for (const tw_node *e = cores && cores->kind != TW_SCALAR ? cores->child : NULL; e; e = e->next)
        if (e->kind == TW_SCALAR && *e->text) TW_TRY(take(to, e->text, e->loc));
    if (offchip && offchip->kind == TW_SCALAR && *offchip->text) return take(to, offchip->text, offchip->loc);
    return TW_OK;
}

typedef struct reader {
    tw_work work;
    const tw_rival_file *file;
    int n_files;
    tw_hda *hda;
    tw_hda_core *core;
    const tw_node **tree; /* of each core */
    int (**listed)[TW_ZZ_OPERANDS];
} reader;

/* ---- files of cores ---- */

static const char *without_dot(const char *path) { return strncmp(path, "./", 2) == 0 ? path + 2 : path; }

/* Whether a file stands for the reference: it was fetched for it, or was given and its name ends so. */
static bool is_file(const tw_rival_file *file, const char *reference)
{
    const char *name = file->name, *wanted = without_dot(reference);
    size_t n = strlen(name), m = strlen(wanted);
    if (!file->root) return false;
    if (file->reference) return strcmp(file->reference, reference) == 0;
    return n >= m && strcmp(name + n - m, wanted) == 0 && (n == m || name[n - m - 1] == '/');
}

static const tw_node *tree_of(const reader *r, const char *reference)
{
    for (int i = 0; i < r->n_files; i++)
        if (is_file(&r->file[i], reference)) return r->file[i].root;
    return NULL;
}

/* ---- one core ---- */

static void read_kind(tw_fields *f, const tw_node *tree, tw_hda_core *core)
{
    static const char *const word[] = {"compute", "memory", "offchip", "shim"};
    static const tw_hda_kind kind[] = {TW_HDA_COMPUTES, TW_HDA_STORES, TW_HDA_STORES, TW_HDA_STORES};
    const tw_node *node = tw_rival_entry(tree, "type");
    const char *text = node && node->kind == TW_SCALAR ? node->text : node ? "" : "compute";
    if (strncmp(text, "zigzag.", 7) == 0) text += 7;
    for (size_t i = 0; i < TW_COUNT(word); i++)
        if (strcmp(text, word[i]) == 0) {
            core->kind = kind[i];
            return;
        }
    if (strncmp(text, "aie2.", 5) == 0)
        TW_REFUSE(f, node->loc,
                  "cores of AI Engines ('%s') are not described by memories and an array, and are not read", text);
    else
        TW_REFUSE(f, node->loc,
                  "a core is of type compute, memory, offchip or shim, with or without 'zigzag.', found '%s'",
                  text);
}

static tw_status read_types(tw_fields *f, const tw_node *tree, tw_arena *arena, tw_hda_core *core)
{
    const tw_node *list = tw_rival_entry(tree, "operator_types");
    const char **type;
    if (!list) return TW_OK;
    if (list->kind != TW_LIST) {
        TW_REFUSE(f, list->loc, "'operator_types' must be a list such as [Conv, Gemm]");
        return TW_OK;
    }
    TW_ALLOC(arena, type, list->n_children + 1);
    core->type = type;
    for (const tw_node *e = list->child; e; e = e->next)
        if (e->kind == TW_SCALAR)
            type[core->n_types++] = e->text;
        else
            TW_REFUSE(f, e->loc, "a type of operator is a word");
    return TW_OK;
}

static tw_status read_core(reader *r, tw_fields *f, int at)
{
    tw_hda_core *core = &r->core[at];
    tw_zz_reader one = {.work = r->work, .may_idle = true};
    const tw_node *tree = r->tree[at];
    int before = f->n_bad;
    read_kind(f, tree, core);
    TW_TRY(read_types(f, tree, r->work.arena, core));
    if (f->n_bad > before) return TW_OK;
    tw_status status = tw_zz_read_accelerator(&one, tree);
    if (status == TW_ERR_INPUT) f->n_bad++;
    if (status != TW_OK) return status == TW_ERR_INPUT ? TW_OK : status;
    core->own = one.machine;
    core->name = one.machine->name;
    r->listed[at] = one.listed;
    status = tw_zz_read_dataflow(&one, tree, "dataflows", &core->dataflow);
    f->n_bad += status == TW_ERR_INPUT;
    return status == TW_ERR_NOMEM ? status : TW_OK;
}

/* A core of the same file is the same, and is read once. */
static tw_status read_core_once(reader *r, tw_fields *f, int at)
{
    for (int i = 0; i < at; i++)
        if (r->tree[i] == r->tree[at]) {
            tw_hda_core like = r->core[i];
            like.loc = r->core[at].loc;
            r->core[at] = like;
            r->listed[at] = r->listed[i];
            return TW_OK;
        }
    return read_core(r, f, at);
}

/* ---- which cores there are ---- */

static void find_tree(reader *r, tw_fields *f, const tw_node *node, int at)
{
    r->core[at].loc = node->loc;
    r->tree[at] = node->kind == TW_NODE_MAP ? node : node->kind == TW_SCALAR ? tree_of(r, node->text) : NULL;
    if (!r->tree[at] && node->kind == TW_SCALAR)
        TW_REFUSE(f, node->loc, "the file of core %d, '%s', was not found", at, node->text);
    else if (!r->tree[at])
        TW_REFUSE(f, node->loc, "core %d must be a file or a map", at);
    else if (!tw_zz_is_accelerator(r->tree[at]) && !tw_rival_entry(r->tree[at], "type"))
        TW_REFUSE(f, node->loc, "the file of core %d is no core: it has no 'memories' and 'operational_array'", at);
    else
        return;
    r->tree[at] = NULL;
}

/* The number that a key of a map of cores is; -1: it is none. */
static int number_of(tw_fields *f, const tw_node *node, int n)
{
    int64_t id = 0;
    const char *s = node->key;
    for (; tw_is_digit(*s) && id < TW_HDA_CORES; s++) id = 10 * id + (*s - '0');
    if (*s || !*node->key || id >= n) {
        TW_REFUSE(f, node->key_loc, "cores are numbered from 0 without gaps, here to %d, found '%s'", n - 1,
                  node->key);
        return -1;
    }
    return (int)id;
}

static void find_trees(reader *r, tw_fields *f, const tw_node *cores)
{
    int next = 0;
    for (const tw_node *e = cores->child; e; e = e->next) {
        int at = cores->kind == TW_LIST ? next++ : number_of(f, e, cores->n_children);
        if (at >= 0 && r->core[at].loc.line > 0)
            TW_REFUSE(f, e->key_loc, "core %d is given twice", at);
        else if (at >= 0)
            find_tree(r, f, e, at);
    }
}

/* The older dialect has the off-chip core apart; it is then the last. */
static void find_offchip(reader *r, tw_fields *f, const tw_node *apart)
{
    const tw_node *graph = tw_field_node(f, "graph", TW_OPTIONAL);
    const tw_node *id = tw_field_node(f, "offchip_core_id", apart || graph ? TW_OPTIONAL : TW_REQUIRED);
    int64_t at = r->hda->n_cores - 1;
    if (apart) find_tree(r, f, apart, (int)at);
    if (graph) {
        id = tw_rival_entry(graph, "offchip_core_id");
        if (!id)
            TW_REFUSE(f, graph->loc, "'graph' does not say which core is the off-chip memory ('offchip_core_id')");
    }
    if (id && !tw_node_int(id, "offchip_core_id", 0, r->hda->n_cores - 1, f->diag, &at)) f->n_bad++;
    r->hda->offchip = (int)at;
}

static tw_status make_room(reader *r, int n)
{
    TW_ALLOC(r->work.arena, r->core, n);
    TW_ALLOC(r->work.arena, r->tree, n);
    TW_ALLOC(r->work.arena, r->listed, n);
    r->hda->core = r->core;
    r->hda->n_cores = n;
    return TW_OK;
}

static tw_status read_cores(reader *r, tw_fields *f)
{
    const tw_node *cores = tw_field_node(f, "cores", TW_REQUIRED),
                  *apart = tw_field_node(f, "offchip_core", TW_OPTIONAL);
    int n = (cores && cores->kind != TW_SCALAR ? cores->n_children : 0) + (apart != NULL);
    if (!cores || cores->kind == TW_SCALAR || n < 2 || n > TW_HDA_CORES) {
        TW_REFUSE(f, cores ? cores->loc : f->node->loc,
                  "'cores' must be a map or a list of 2 to %d cores, the off-chip one included", TW_HDA_CORES);
        f->node = NULL; /* nothing else makes sense */
        return TW_OK;
    }
    TW_TRY(make_room(r, n));
    find_trees(r, f, cores);
    find_offchip(r, f, apart);
    for (int i = 0; i < n; i++)
        if (r->tree[i]) TW_TRY(read_core_once(r, f, i));
    return TW_OK;
}

/* ---- what layers are counted on ---- */

/* The off-chip memory serves the whole array of whichever core it is put outside of. */
static void put_outside(const tw_rival_memory *offchip, tw_hierarchy *h)
{
    memmove(&h->memory[1], &h->memory[0], (size_t)h->n_memories * sizeof h->memory[0]);
    h->memory[0] = *offchip;
    h->memory[0].serves = (1U << h->n_axes) - 1;
    h->memory[0].instances = 1;
    h->n_memories++;
}

static tw_status check_computes(tw_fields *f, const tw_hda_core *core, int at)
{
    for (int a = 0; a < core->own->n_axes; a++)
        if (core->own->axis_size[a] == 0) {
            TW_REFUSE(f, core->loc, "core %d ('%s') computes, but dimension '%s' of its array has size 0", at,
                      core->name, core->own->axis[a]);
            return TW_ERR_INPUT;
        }
    if (core->own->n_memories == TW_RIVAL_MEMORIES) {
        TW_REFUSE(f, core->loc,
                  "core %d ('%s') has %d memories, and the off-chip one is one more than there may be", at,
                  core->name, core->own->n_memories);
        return TW_ERR_INPUT;
    }
    return TW_OK;
}

static tw_status complete(reader *r, tw_fields *f, int at)
{
    tw_hda_core *core = &r->core[at];
    const tw_rival_memory *offchip = &r->core[r->hda->offchip].own->memory[0];
    tw_hierarchy *h;
    int(*listed)[TW_ZZ_OPERANDS];
    if (check_computes(f, core, at) != TW_OK) return TW_OK;
    for (int i = 0; i < at; i++)
        if (r->core[i].own == core->own && r->core[i].machine) {
            core->machine = r->core[i].machine;
            core->listed = r->core[i].listed;
            return TW_OK;
        }
    TW_ALLOC(r->work.arena, h, 1);
    TW_ALLOC(r->work.arena, listed, core->own->n_memories + 1);
    *h = *core->own;
    put_outside(offchip, h);
    memcpy(listed[0], r->listed[r->hda->offchip][0], sizeof listed[0]);
    memcpy(listed[1], r->listed[at][0], (size_t)core->own->n_memories * sizeof listed[0]);
    core->machine = h;
    core->listed = (const int(*)[TW_ZZ_OPERANDS])listed;
    return TW_OK;
}

static tw_status complete_all(reader *r, tw_fields *f)
{
    int n = 0;
    for (int i = 0; i < r->hda->n_cores; i++)
        if (!r->core[i].own) return TW_OK;
    tw_hda_core *offchip = &r->core[r->hda->offchip];
    if (offchip->own->n_memories != 1 || offchip->own->memory[0].keeps != 7)
        TW_REFUSE(f, offchip->loc,
                  "the off-chip core '%s' has %d memories; there must be one that keeps I1, I2 and O",
                  offchip->name, offchip->own->n_memories);
    offchip->kind = TW_HDA_OFFCHIP;
    for (int i = 0; i < r->hda->n_cores; i++) {
        if (r->core[i].kind != TW_HDA_COMPUTES) continue;
        TW_TRY(complete(r, f, i));
        n++;
    }
    if (n == 0) TW_REFUSE(f, f->node->loc, "no core computes");
    return TW_OK;
}

/* Cores that several stand for get their number behind the name. */
static tw_status name_cores(reader *r)
{
    for (int i = 0; i < r->hda->n_cores; i++) {
        int n = 0;
        for (int k = 0; k < r->hda->n_cores && r->core[i].own; k++)
            n += r->core[k].own && strcmp(r->core[k].own->name, r->core[i].own->name) == 0;
        if (n < 2) continue;
        r->core[i].name = tw_arena_printf(r->work.arena, "%s_%d", r->core[i].own->name, i);
        if (!r->core[i].name) return TW_ERR_NOMEM;
    }
    return TW_OK;
}

/* ---- the rest of the file ---- */

static void read_coordinates(reader *r, tw_fields *f)
{
    const tw_node *map = tw_field_map(f, "core_coordinates", TW_OPTIONAL);
    for (const tw_node *e = map ? map->child : NULL; e; e = e->next) {
        int at = number_of(f, e, r->hda->n_cores);
        if (at < 0) continue;
        int64_t x, y;
        if (e->kind != TW_LIST || e->n_children != 2)
            TW_REFUSE(f, e->loc, "coordinates of a core are two numbers such as [0, 1]");
        else if (!tw_node_int(e->child, "core_coordinates", INT32_MIN, INT32_MAX, f->diag, &x) ||
                 !tw_node_int(e->child->next, "core_coordinates", INT32_MIN, INT32_MAX, f->diag, &y))
            f->n_bad++;
    }
}

tw_status tw_hda_read(const tw_node *root, const tw_rival_file *file, int n, tw_work work, tw_hda *out)
{
    reader r = {.work = work, .file = file, .n_files = n, .hda = out};
    tw_fields f = tw_fields_open(root, "machine", work.diag);
    *out = (tw_hda){.name = "", .loc = root->loc};
    const tw_node *name = tw_field_node(&f, "name", TW_REQUIRED);
    if (name && name->kind == TW_SCALAR) out->name = name->text;
    (void)tw_field_node(&f, "technology_node", TW_OPTIONAL);
    (void)tw_field_node(&f, "memory_aliases", TW_OPTIONAL);
    TW_TRY(read_cores(&r, &f));
    if (f.n_bad == 0) TW_TRY(complete_all(&r, &f));
    if (f.node) read_coordinates(&r, &f);
    if (f.node) TW_TRY(tw_hda_read_links(&f, work.arena, out));
    TW_TRY(name_cores(&r));
    return tw_fields_close(&f);
}

bool tw_hda_runs(const tw_hda_core *core, const char *type)
{
    for (int i = 0; i < core->n_types; i++)
        if (strcmp(core->type[i], type) == 0) return true;
    return core->n_types == 0;
}
