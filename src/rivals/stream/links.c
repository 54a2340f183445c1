/* src/rivals/stream/links.c - what connects the cores of a machine of Stream.
 *
 * All dialects end as a list of buses and links. The older ones leave out what leads to the off-chip memory: there every core reaches it over one
 * connection as wide as the memory's port. */
#include "rivals/stream/hda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct linker {
    tw_fields *f;
    tw_arena *arena;
    tw_hda *hda;
    tw_hda_link *link;
    int room;
    double pj; /* for links that say nothing else */
} linker;

tw_status tw_hda_read_cores(tw_fields *f, const tw_node *list, const tw_hda *hda, int least, tw_arena *arena,
                            int *n, const int **out)
{
    int *core;
    TW_ALLOC(arena, core, list->n_children + 1);
    *n = 0;
    *out = core;
    for (const tw_node *e = list->kind == TW_LIST ? list->child : NULL; e; e = e->next) {
        int64_t id = 0;
        if (!tw_node_int(e, "core", 0, hda->n_cores - 1, f->diag, &id)) {
            f->n_bad++;
            continue;
        }
        core[(*n)++] = (int)id;
    }
    if (list->kind != TW_LIST || list->n_children < least)
        TW_REFUSE(f, list->loc, "at least %d cores must be named, as a list such as [0, 1]", least);
    return TW_OK;
}

/* A connection has each of its cores, which `list` names, once. */
static void check_distinct(tw_fields *f, const tw_node *list, const tw_hda_link *link)
{
    const tw_node *e = list->child;
    for (int i = 0; f->n_bad == 0 && i < link->n_cores; i++, e = e->next)
        for (int k = 0; k < i; k++)
            if (link->core[i] == link->core[k]) TW_REFUSE(f, e->loc, "core %d is named twice", link->core[i]);
}

static tw_status add_link(linker *l, tw_hda_link link)
{
    if (l->hda->n_links == TW_HDA_LINKS) {
        TW_REFUSE(l->f, link.loc, "there are more than %d connections", TW_HDA_LINKS);
        return TW_OK;
    }
    if (l->hda->n_links == l->room) {
        tw_hda_link *more;
        TW_ALLOC(l->arena, more, 2 * l->room + 16);
        if (l->room) memcpy(more, l->link, (size_t)l->room * sizeof *more);
        l->link = more;
        l->room = 2 * l->room + 16;
    }
    l->link[l->hda->n_links++] = link;
    l->hda->link = l->link;
    return TW_OK;
}

static tw_status add_pair(linker *l, int a, int b, double bits, tw_loc loc)
{
    int *core;
    TW_ALLOC(l->arena, core, 2);
    core[0] = a;
    core[1] = b;
    return add_link(l, (tw_hda_link){.n_cores = 2, .core = core, .bits = bits, .pj_per_cycle = l->pj, .loc = loc});
}

static bool read_bandwidth(tw_fields *f, tw_loc loc, double *bits)
{
    if (!tw_zz_number(f, "bandwidth", TW_REQUIRED, bits)) return false;
    if (*bits > 0) return true;
    TW_REFUSE(f, loc, "the bandwidth must be more than 0 bits per cycle");
    return false;
}

/* ---- 2025 and later ---- */

static tw_status read_connection(linker *l, const tw_node *node)
{
    static const char *const word[] = {"link", "bus"};
    tw_fields f = tw_fields_open(node, "connection", l->f->diag);
    tw_hda_link link = {.loc = node->loc, .pj_per_cycle = l->pj};
    int kind = 0;
    (void)tw_field_word(&f, "type", TW_OPTIONAL, word, 2, &kind);
    (void)read_bandwidth(&f, node->loc, &link.bits);
    (void)tw_zz_number(&f, "unit_energy_cost", TW_OPTIONAL, &link.pj_per_cycle);
    const tw_node *cores = tw_field_node(&f, "cores", TW_REQUIRED);
    if (cores) TW_TRY(tw_hda_read_cores(&f, cores, l->hda, 2, l->arena, &link.n_cores, &link.core));
    if (cores) check_distinct(&f, cores, &link);
    link.is_bus = kind == 1;
    bool good = tw_fields_close(&f) == TW_OK;
    if (!good) l->f->n_bad++;
    if (good && link.is_bus) return add_link(l, link);
    for (int a = 0; good && a < link.n_cores; a++) /* a link of more than two is one for each pair */
        for (int b = a + 1; b < link.n_cores; b++) {
            TW_TRY(add_pair(l, link.core[a], link.core[b], link.bits, node->loc));
            l->link[l->hda->n_links - 1].pj_per_cycle = link.pj_per_cycle;
        }
    return TW_OK;
}

/* ---- late 2024: "0, 1, 2" ---- */

/* Numbers of cores with commas between them, which must exist. */
static tw_status read_numbers(linker *l, const tw_node *node, int *n, const int **out)
{
    const char *s = node->kind == TW_SCALAR ? node->text : "";
    int *core;
    TW_ALLOC(l->arena, core, TW_TREE_TEXT_MAX);
    *n = 0;
    *out = core;
    while (tw_is_digit(*s) && *n < TW_TREE_TEXT_MAX) {
        char *end;
        long id = strtol(s, &end, 10);
        if (id >= l->hda->n_cores) break;
        core[(*n)++] = (int)id;
        s = end + strspn(end, " ");
        if (*s == ',')
            s += 1 + strspn(s + 1, " ");
        else
            break;
    }
    if (*s || *n < 2) {
        TW_REFUSE(l->f, node->loc, "cores that belong together are numbers from 0 to %d such as '0, 1', found '%s'",
                  l->hda->n_cores - 1, node->kind == TW_SCALAR ? node->text : "a list or map");
        *n = 0;
    }
    return TW_OK;
}

static tw_status read_text(linker *l, const tw_node *node, double bits)
{
    tw_hda_link link = {.is_bus = true, .bits = bits, .pj_per_cycle = l->pj, .loc = node->loc};
    TW_TRY(read_numbers(l, node, &link.n_cores, &link.core));
    link.is_bus = link.n_cores > 2;
    return link.n_cores > 0 ? add_link(l, link) : TW_OK;
}

/* One connection that everybody reaches the off-chip memory by, as wide as its port. */
static tw_status add_offchip(linker *l, tw_loc loc)
{
    const tw_hda_core *offchip = &l->hda->core[l->hda->offchip];
    tw_hda_link link = {.is_bus = true, .n_cores = l->hda->n_cores, .pj_per_cycle = l->pj, .loc = loc};
    int *core;
    TW_ALLOC(l->arena, core, l->hda->n_cores);
    for (int i = 0; i < l->hda->n_cores; i++) core[i] = i;
    link.core = core;
    if (!offchip->own) return TW_OK;
    for (int i = 0; i < offchip->own->memory[0].n_ports; i++)
        link.bits = fmax(link.bits, offchip->own->memory[0].port[i].most);
    return add_link(l, link);
}

/* ---- early 2024: a mesh or a bus ---- */

typedef struct mesh {
    int64_t rows, columns;
    int n, core[TW_HDA_CORES]; /* those of the mesh          */
    int n_helpers, helper[2];  /* next to every core of it   */
} mesh;

static void read_helpers(linker *l, tw_fields *f, mesh *m)
{
    static const char *const key[] = {"pooling_core_id", "simd_core_id"};
    for (int i = 0; i < 2; i++) {
        int64_t id = -1;
        if (tw_field_int(f, key[i], TW_OPTIONAL, 0, l->hda->n_cores - 1, &id)) m->helper[m->n_helpers++] = (int)id;
    }
    for (int c = 0; c < l->hda->n_cores; c++) {
        bool apart = c == l->hda->offchip;
        for (int i = 0; i < m->n_helpers; i++) apart |= m->helper[i] == c;
        if (!apart) m->core[m->n++] = c;
    }
}

static tw_status add_mesh(linker *l, const mesh *m, double bits, tw_loc loc)
{
    for (int i = 0; i < m->n; i++) {
        if ((i + 1) % m->columns != 0 && i + 1 < m->n) TW_TRY(add_pair(l, m->core[i], m->core[i + 1], bits, loc));
        if (i + m->columns < m->n) TW_TRY(add_pair(l, m->core[i], m->core[i + m->columns], bits, loc));
        for (int k = 0; k < m->n_helpers; k++) TW_TRY(add_pair(l, m->core[i], m->helper[k], bits, loc));
    }
    return TW_OK;
}

static tw_status add_bus(linker *l, double bits, tw_loc loc)
{
    tw_hda_link link = {.is_bus = true, .bits = bits, .pj_per_cycle = l->pj, .loc = loc};
    int *core;
    TW_ALLOC(l->arena, core, l->hda->n_cores);
    for (int i = 0; i < l->hda->n_cores; i++)
        if (i != l->hda->offchip) core[link.n_cores++] = i;
    link.core = core;
    return link.n_cores > 1 ? add_link(l, link) : TW_OK;
}

static tw_status read_graph(linker *l, const tw_node *node)
{
    static const char *const word[] = {"2d_mesh", "bus"};
    tw_fields f = tw_fields_open(node, "graph", l->f->diag);
    mesh m = {.rows = 1, .columns = 1};
    int kind = 0;
    double bits = 0;
    bool is_mesh = tw_field_word(&f, "type", TW_REQUIRED, word, 2, &kind) && kind == 0;
    (void)read_bandwidth(&f, node->loc, &bits);
    (void)tw_zz_number(&f, "unit_energy_cost", TW_OPTIONAL, &l->pj);
    (void)tw_field_node(&f, "offchip_core_id", TW_OPTIONAL);
    read_helpers(l, &f, &m);
    (void)tw_field_int(&f, "nb_rows", is_mesh ? TW_REQUIRED : TW_OPTIONAL, 1, TW_HDA_CORES, &m.rows);
    (void)tw_field_int(&f, "nb_cols", is_mesh ? TW_REQUIRED : TW_OPTIONAL, 1, TW_HDA_CORES, &m.columns);
    if (f.n_bad == 0 && is_mesh && m.rows * m.columns != m.n)
        TW_REFUSE(&f, node->loc, "a mesh of %d x %d cores is given, and %d cores that are in it", (int)m.rows,
                  (int)m.columns, m.n);
    if (tw_fields_close(&f) != TW_OK) {
        l->f->n_bad++;
        return TW_OK;
    }
    TW_TRY(is_mesh ? add_mesh(l, &m, bits, node->loc) : add_bus(l, bits, node->loc));
    return add_offchip(l, node->loc);
}

/* ---- memories that cores share ---- */

static tw_status read_sharing(linker *l)
{
    const tw_node *list = tw_field_list(l->f, "core_memory_sharing", TW_OPTIONAL);
    int *shares;
    TW_ALLOC(l->arena, shares, l->hda->n_cores);
    for (int i = 0; i < l->hda->n_cores; i++) shares[i] = i;
    l->hda->shares = shares;
    for (const tw_node *e = list ? list->child : NULL; e; e = e->next) {
        int n;
        const int *core;
        TW_TRY(read_numbers(l, e, &n, &core));
        for (int i = 0; i < n; i++) {
            if (core[i] == l->hda->offchip)
                TW_REFUSE(l->f, e->loc, "the off-chip core %d shares no memory", core[i]);
            shares[core[i]] = core[0];
        }
    }
    return TW_OK;
}

/* A link inside of a group that shares a memory leads nowhere. */
static void check_sharing(linker *l)
{
    for (int i = 0; i < l->hda->n_links; i++) {
        const tw_hda_link *x = &l->link[i];
        for (int a = 0; a < x->n_cores; a++)
            for (int b = 0; b < a; b++)
                if (l->hda->shares[x->core[a]] == l->hda->shares[x->core[b]])
                    TW_REFUSE(l->f, x->loc, "cores %d and %d share their outermost memory and are connected, too",
                              x->core[b], x->core[a]);
    }
}

/* ---- all of it ---- */

static void check_reach(linker *l)
{
    int way[TW_HDA_CORES];
    for (int i = 0; i < l->hda->n_cores; i++)
        if (tw_hda_route(l->hda, i, l->hda->offchip, way) < 0)
            TW_REFUSE(l->f, l->hda->core[i].loc, "nothing connects core %d with the off-chip core %d", i,
                      l->hda->offchip);
}

static tw_status read_connections(linker *l, const tw_node *list)
{
    const tw_node *apart = tw_field_node(l->f, "offchip_core", TW_OPTIONAL);
    double bits = 0;
    if (apart) (void)read_bandwidth(l->f, list->loc, &bits);
    for (const tw_node *e = list->child; e; e = e->next)
        TW_TRY(apart ? read_text(l, e, bits) : read_connection(l, e));
    return apart ? add_offchip(l, list->loc) : TW_OK;
}

tw_status tw_hda_read_links(tw_fields *f, tw_arena *arena, tw_hda *hda)
{
    linker l = {.f = f, .arena = arena, .hda = hda};
    const tw_node *graph = tw_field_map(f, "graph", TW_OPTIONAL);
    (void)tw_zz_number(f, "unit_energy_cost", TW_OPTIONAL, &l.pj);
    const tw_node *list = tw_field_list(f, "core_connectivity", graph ? TW_OPTIONAL : TW_REQUIRED);
    if (graph) TW_TRY(read_graph(&l, graph));
    if (list && !graph) TW_TRY(read_connections(&l, list));
    TW_TRY(read_sharing(&l));
    if (f->n_bad > 0) return TW_OK;
    check_sharing(&l);
    check_reach(&l);
    return TW_OK;
}

static bool has_core(const tw_hda_link *link, int core)
{
    for (int i = 0; i < link->n_cores; i++)
        if (link->core[i] == core) return true;
    return false;
}

/* A search in breadth: `by` is the connection that a core was reached by first, and `before` the core on its other side. */
int tw_hda_route(const tw_hda *hda, int from, int to, int *link)
{
    int queue[TW_HDA_CORES], before[TW_HDA_CORES], by[TW_HDA_CORES], n = 0, first = 0, last = 0;
    for (int i = 0; i < hda->n_cores; i++) before[i] = -1;
    before[from] = from;
    for (queue[last++] = from; first < last && before[to] < 0; first++)
        for (int i = 0; i < hda->n_links; i++)
            for (int k = 0; has_core(&hda->link[i], queue[first]) && k < hda->link[i].n_cores; k++) {
                int next = hda->link[i].core[k];
                if (before[next] >= 0) continue;
                before[next] = queue[first];
                by[next] = i;
                queue[last++] = next;
            }
    if (before[to] < 0) return -1;
    for (int at = to; at != from; at = before[at]) n++;
    for (int at = to, k = n; at != from; at = before[at]) link[--k] = by[at];
    return n;
}

double tw_hda_offchip_bits(const tw_hda *hda, int core)
{
    int way[TW_HDA_CORES], n = tw_hda_route(hda, hda->offchip, core, way);
    double bits = INFINITY;
    for (int i = 0; i < n; i++) bits = fmin(bits, hda->link[way[i]].bits);
    return bits;
}
