/* src/machine/grid.c - writes out cores that stand in a grid, and the links between neighbours: see grid.h.
 *
 * Nodes are copied where something about them changes: a core, the list of its engines, the engines of that list. Everything below is shared. */
#include "machine/grid.h"

#include "input/field.h"
#include "machine/graph.h"

#include <string.h>

typedef struct grid {
    const tw_node *core;
    const char *name;
    int n_dims;
    int64_t rows, columns;
    const tw_node *links; /* NULL: there are none */
    const char *link, *memory;
    bool wraps;
    tw_arena *arena;
} grid;

typedef struct chain { /* of children */
    const tw_node *first;
    tw_node *last;
    int n;
} chain;

/* ---- nodes ---- */

/* A copy of a node as the last of a chain; NULL when out of memory. */
static tw_node *append(const grid *g, chain *c, const tw_node *like)
{
    tw_node *node = TW_NEW(g->arena, tw_node, 1);
    if (!node) return NULL;
    *node = *like;
    node->next = NULL;
    if (c->last)
        c->last->next = node;
    else
        c->first = node;
    c->last = node;
    c->n++;
    return node;
}

static void close_chain(tw_node *node, const chain *c)
{
    node->child = c->first;
    node->n_children = c->n;
}

/* An entry of a map with this text, at the place of another node. */
static tw_status append_text(const grid *g, chain *c, const tw_node *at, const char *key, const char *text)
{
    const tw_node like = {.kind = TW_SCALAR, .loc = at->loc, .text = text, .key = key, .key_loc = at->loc};
    return text && append(g, c, &like) ? TW_OK : TW_ERR_NOMEM;
}

/* ---- names ---- */

static const char *core_name(const grid *g, int64_t row, int64_t column)
{
    if (g->n_dims == 1) return tw_arena_printf(g->arena, "%s_%" PRId64, g->name, column);
    return tw_arena_printf(g->arena, "%s_%" PRId64 "_%" PRId64, g->name, row, column);
}

/* ---- links ---- */

/* Moves along an axis; false: there is no core. */
static bool step(int64_t *at, int64_t by, int64_t n, bool wraps)
{
    int64_t to = *at + by;
    if (wraps && n > 2) to = (to + n) % n;
    if (to < 0 || to >= n || to == *at) return false;
    *at = to;
    return true;
}

/* The link of a core that brings what a neighbour has. */
static tw_status append_link(const grid *g, chain *engines, const char *direction, const char *from, const char *to)
{
    chain ends = {0}, entries = {0};
    const tw_node map = {.kind = TW_NODE_MAP, .loc = g->links->loc};
    tw_node list = {.kind = TW_LIST, .loc = g->links->loc, .key = "between", .key_loc = g->links->loc};
    tw_node *link = append(g, engines, &map);
    if (!link) return TW_ERR_NOMEM;
    TW_TRY(append_text(g, &entries, g->links, "name", tw_arena_printf(g->arena, "%s_%s", g->link, direction)));
    TW_TRY(append_text(g, &ends, g->links, NULL, tw_arena_printf(g->arena, "%s.%s", from, g->memory)));
    TW_TRY(append_text(g, &ends, g->links, NULL, tw_arena_printf(g->arena, "%s.%s", to, g->memory)));
    close_chain(&list, &ends);
    if (!append(g, &entries, &list)) return TW_ERR_NOMEM;
    TW_TRY(append_text(g, &entries, g->links, "carries", "in"));
    for (const tw_node *entry = g->links->child; entry; entry = entry->next) {
        bool own =
            strcmp(entry->key, "name") == 0 || strcmp(entry->key, "memory") == 0 || strcmp(entry->key, "wrap") == 0;
        if (!own && !append(g, &entries, entry)) return TW_ERR_NOMEM;
    }
    close_chain(link, &entries);
    return TW_OK;
}

/* The links that end at a core, since who reads pulls: along the rows first. */
static tw_status append_links(const grid *g, chain *engines, int64_t row, int64_t column)
{
    static const struct {
        const char *name;
        int64_t down, right;
    } way[] = {{"west", 0, -1}, {"east", 0, 1}, {"north", -1, 0}, {"south", 1, 0}};
    for (size_t i = 0; i < TW_COUNT(way); i++) {
        int64_t other_row = row, other_column = column;
        bool is = way[i].right != 0 ? step(&other_column, way[i].right, g->columns, g->wraps)
                                    : step(&other_row, way[i].down, g->rows, g->wraps);
        const char *from = core_name(g, other_row, other_column), *to = core_name(g, row, column);
        if (!from || !to) return TW_ERR_NOMEM;
        if (is) TW_TRY(append_link(g, engines, way[i].name, from, to));
    }
    return TW_OK;
}

/* ---- cores ---- */

static tw_status append_engines(const grid *g, chain *entries, const tw_node *like, int64_t row, int64_t column)
{
    chain engines = {0};
    tw_node *list = append(g, entries, like);
    if (!list) return TW_ERR_NOMEM;
    for (const tw_node *node = like->child; node; node = node->next)
        if (!append(g, &engines, node)) return TW_ERR_NOMEM;
    TW_TRY(append_links(g, &engines, row, column));
    close_chain(list, &engines);
    return TW_OK;
}

static tw_status append_core(const grid *g, chain *cores, int64_t row, int64_t column)
{
    chain entries = {0};
    tw_node *core = append(g, cores, g->core);
    if (!core) return TW_ERR_NOMEM;
    for (const tw_node *entry = g->core->child; entry; entry = entry->next) {
        if (strcmp(entry->key, "grid") == 0 || strcmp(entry->key, "links") == 0) continue;
        if (strcmp(entry->key, "name") == 0)
            TW_TRY(append_text(g, &entries, entry, "name", core_name(g, row, column)));
        else if (strcmp(entry->key, "engines") == 0 && entry->kind == TW_LIST && g->links)
            TW_TRY(append_engines(g, &entries, entry, row, column));
        else if (!append(g, &entries, entry))
            return TW_ERR_NOMEM;
    }
    close_chain(core, &entries);
    return TW_OK;
}

/* ---- the grid ---- */

static tw_status read_sizes(const tw_node *sizes, grid *g, tw_diag *diag)
{
    int64_t size[2] = {1, 1};
    int i = 0;
    if (sizes->kind != TW_LIST || sizes->n_children < 1 || sizes->n_children > 2)
        return tw_diag_error(diag, sizes->loc, "'grid' of a core is [rows, columns], or [cores] for a row of them");
    for (const tw_node *node = sizes->child; node; node = node->next)
        if (!tw_node_int(node, "grid", 1, TW_MAX_CORES, diag, &size[i++])) return TW_ERR_INPUT;
    g->n_dims = i;
    g->rows = i == 2 ? size[0] : 1;
    g->columns = size[i - 1];
    if (g->rows * g->columns <= TW_MAX_CORES) return TW_OK;
    return tw_diag_error(diag, sizes->loc, "a grid of %" PRId64 " cores: a machine has at most %d",
                         g->rows * g->columns, TW_MAX_CORES);
}

/* Whether the core has the memory that links join. */
static bool has_memory(const grid *g)
{
    const tw_node *list = tw_node_entry(g->core, "memories");
    for (const tw_node *node = list ? list->child : NULL; node; node = node->next) {
        const tw_node *name = tw_node_entry(node, "name");
        if (name && name->kind == TW_SCALAR && strcmp(name->text, g->memory) == 0) return true;
    }
    return false;
}

/* What the reader of engines does not know of links; the rest is its business. */
static tw_status read_grid_links(grid *g, tw_diag *diag)
{
    const tw_node *links = g->links;
    if (links->kind != TW_NODE_MAP) return tw_diag_error(diag, links->loc, "'links' of a core must be a map");
    const tw_node *name = tw_node_entry(links, "name"), *memory = tw_node_entry(links, "memory"),
                  *wrap = tw_node_entry(links, "wrap");
    if (!name) return tw_diag_error(diag, links->loc, "missing key 'name' in links");
    if (!memory) return tw_diag_error(diag, links->loc, "missing key 'memory' in links");
    if (!tw_node_name(name, "name", diag, &g->link) || !tw_node_name(memory, "memory", diag, &g->memory))
        return TW_ERR_INPUT;
    if (!has_memory(g))
        return tw_diag_error(diag, memory->loc, "'links' join '%s', which is no memory of core '%s'", g->memory,
                             g->name);
    if (!wrap) return TW_OK;
    g->wraps = wrap->kind == TW_SCALAR && strcmp(wrap->text, "true") == 0;
    if (g->wraps || (wrap->kind == TW_SCALAR && strcmp(wrap->text, "false") == 0)) return TW_OK;
    return tw_diag_error(diag, wrap->loc, "'wrap' must be true or false");
}

static tw_status expand_core(const tw_node *core, tw_arena *arena, tw_diag *diag, chain *out)
{
    grid g = {.core = core, .arena = arena, .links = tw_node_entry(core, "links")};
    const tw_node *sizes = tw_node_entry(core, "grid"), *name = tw_node_entry(core, "name");
    if (!sizes && g.links) return tw_diag_error(diag, g.links->key_loc, "'links' of a core needs a 'grid'");
    if (!sizes || !name) return append(&g, out, core) ? TW_OK : TW_ERR_NOMEM; /* the reader asks for the name */
    TW_TRY(read_sizes(sizes, &g, diag));
    if (!tw_node_name(name, "name", diag, &g.name)) return TW_ERR_INPUT;
    if (g.links) TW_TRY(read_grid_links(&g, diag));
    for (int64_t row = 0; row < g.rows; row++)
        for (int64_t column = 0; column < g.columns; column++) TW_TRY(append_core(&g, out, row, column));
    return TW_OK;
}

tw_status tw_grid_expand(const tw_node *cores, tw_arena *arena, tw_diag *diag, const tw_node **out)
{
    tw_node *list;
    chain all = {0};
    int n_bad = 0;
    TW_ALLOC(arena, list, 1);
    for (const tw_node *core = cores->child; core; core = core->next) {
        tw_status status = expand_core(core, arena, diag, &all);
        if (status != TW_OK && status != TW_ERR_INPUT) return status;
        n_bad += status != TW_OK;
    }
    *list = *cores;
    close_chain(list, &all);
    *out = list;
    return n_bad ? TW_ERR_INPUT : TW_OK;
}
