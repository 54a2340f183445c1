/* src/machine/draft.c - see draft.h. */
#include "machine/draft.h"

#include <string.h>

int tw_draft_named(const tw_machine_draft *d, const char *name)
{
    for (int m = 0; m < d->n_memories; m++)
        if (strcmp(d->memory[m].name, name) == 0) return m;
    return -1;
}

/* The memory of that name as the part at hand sees it, among those that were read; -1: there is none. */
int tw_draft_find(const tw_machine_draft *d, const tw_machine_part *by, const char *name)
{
    for (int m = 0; m < d->n_memories && by->core >= 0; m++)
        if (d->memory[m].core == by->core && strcmp(d->memory[m].is.name, name) == 0) return m;
    return tw_draft_named(d, name);
}

/* Whether the view's compute engine sees the memory of itself: it is shared, in the same core, or in another one on the way out of this. */
static bool sees(const tw_machine_draft *d, const tw_draft_view *v, int m)
{
    if (!v->compute || d->memory[m].core < 0 || d->memory[m].core == v->compute->core) return true;
    return tw_gate_is_passed(&d->graph, d->outer, v->compute->core, m);
}

/* Marks the memories that the compute engine lists. */
static void mark_listed(tw_machine_draft *d, const tw_draft_view *v, const tw_node *list)
{
    for (int m = 0; m < d->n_memories; m++) v->slot[m] = m == 0 ? 0 : -1;
    if (list->kind != TW_LIST || list->n_children == 0) {
        tw_diag_error(d->diag, list->loc, "'memories' of an engine must be a list of memories");
        ++*d->n_bad;
        return;
    }
    for (const tw_node *node = list->child; node; node = node->next) {
        int m = node->kind == TW_SCALAR ? tw_draft_find(d, v->compute, node->text) : -1;
        bool known = m >= 0 && sees(d, v, m), again = known && m > 0 && v->slot[m] == 0;
        if (known) v->slot[m] = 0;
        if (known && !again) continue;
        ++*d->n_bad;
        if (again)
            tw_diag_error(d->diag, node->loc, "'%s' is given twice in 'memories'", node->text);
        else
            tw_diag_error(d->diag, node->loc, "'memories' names '%s', which is no memory that the engine can reach",
                          node->kind == TW_SCALAR ? node->text : "");
    }
}

/* The memories of the view. */
void tw_draft_choose(tw_machine_draft *d, const tw_draft_view *v, const tw_machine *base)
{
    tw_machine *machine = &v->out->machine;
    const tw_node *list = v->compute ? tw_node_entry(v->compute->node, "memories") : NULL;
    int n = 0, n_bad = *d->n_bad;
    *machine = *base;
    for (int m = 0; m < d->n_memories; m++) v->slot[m] = sees(d, v, m) ? 0 : -1;
    if (list) mark_listed(d, v, list);
    if (*d->n_bad > n_bad && !d->plain) return;
    for (int m = 0; m < d->n_memories; m++) n += v->slot[m] >= 0;
    if (!d->plain && (n < 2 || n > TW_MAX_MEMORIES)) {
        tw_diag_error(d->diag, v->compute->node->loc,
                      "compute engine '%s' has %d memories on its paths, outside 2..%d",
                      v->compute->name ? v->compute->name : "", n, TW_MAX_MEMORIES);
        ++*d->n_bad;
        return;
    }
    for (int m = 0; m < d->n_memories; m++) {
        if (v->slot[m] < 0) continue;
        v->slot[m] = machine->n_memories;
        v->out->memory[machine->n_memories] = m;
        machine->memory[machine->n_memories] = d->memory[m].is;
        machine->memory[machine->n_memories++].name = d->memory[m].name;
    }
}

/* The memory at one end of a mover, -1: it cannot be told. */
static int end_of(const tw_machine_draft *d, const tw_machine_part *mover, int end)
{
    const tw_node *between = tw_node_entry(mover->node, "between");
    if (!between || between->kind != TW_LIST || between->n_children != 2) return -1;
    const tw_node *node = end == 0 ? between->child : between->child->next;
    return node->kind == TW_SCALAR ? tw_draft_find(d, mover, node->text) : -1;
}

bool tw_draft_links(const tw_machine_draft *d, const tw_machine_part *part, int ends[2])
{
    if (d->plain || tw_graph_computes(part->node)) return false;
    for (int i = 0; i < 2; i++)
        if ((ends[i] = end_of(d, part, i)) < 0 || d->memory[ends[i]].core < 0) return false;
    return d->memory[ends[0]].core != d->memory[ends[1]].core;
}

/* Whether both ends of a mover are in the view and, with `near`, follow each other there on a path. */
static bool spans(const tw_draft_view *v, int outer, int inner, bool near)
{
    const tw_machine *machine = &v->out->machine;
    int a = v->slot[outer], b = v->slot[inner];
    if (a < 0 || b < 0) return false;
    return !near || tw_machine_ways(machine, a, b) || tw_machine_ways(machine, b, a);
}

/* Whether a mover leads into or out of a memory of another core that is in the view. */
static bool passes(const tw_machine_draft *d, const tw_draft_view *v, const tw_machine_part *mover)
{
    for (int i = 0; i < 2; i++) {
        int end = end_of(d, mover, i);
        if (end < 0 || v->slot[end] < 0) continue;
        if (d->memory[end].core >= 0 && d->memory[end].core != v->compute->core) return true;
    }
    return false;
}

/* Whether the engine belongs to the view. What stands nowhere in the right place does so wherever it has both ends: the
 * reader says what is wrong with it; unless it is a link. */
bool tw_draft_belongs(const tw_machine_draft *d, const tw_draft_view *all, int n, const tw_draft_view *v,
                      const tw_machine_part *part)
{
    if (d->plain) return true;
    if (tw_graph_computes(part->node)) return part == v->compute;
    if (part->core >= 0 && part->core != v->compute->core && !passes(d, v, part)) return false;
    int outer = end_of(d, part, 0), inner = end_of(d, part, 1), ends[2];
    if (outer < 0 || inner < 0 || spans(v, outer, inner, true)) return true;
    for (int i = 0; i < n; i++)
        if (spans(&all[i], outer, inner, true)) return false;
    return !tw_draft_links(d, part, ends) && spans(v, outer, inner, false);
}

/* The dimension of an array that is called so, -1: there is none. */
static int find_dim(const tw_cost *cost, const tw_node *node)
{
    for (int d = 0; d < tw_cost_dims(cost); d++)
        if (node->kind == TW_SCALAR && strcmp(cost->array.dim[d], node->text) == 0) return d;
    return -1;
}

/* One dimension that the memory is private to; *lanes is how many of it there are. */
static void add_dim(tw_machine_draft *d, const tw_engine *compute, const tw_node *node, tw_memory *memory,
                    int64_t *lanes)
{
    int dim = find_dim(&compute->cost, node);
    bool again = dim >= 0 && (memory->per >> dim & 1);
    if (dim >= 0) memory->per |= 1u << dim;
    if (dim >= 0 && !again && tw_ckd_mul(*lanes, compute->cost.array.size[dim], lanes) && *lanes <= TW_EXTENT_MAX)
        return;
    ++*d->n_bad;
    if (node->kind != TW_SCALAR)
        tw_diag_error(d->diag, node->loc, "'per' must be a dimension of the array or a list of them");
    else if (again)
        tw_diag_error(d->diag, node->loc, "'%s' is given twice in 'per'", node->text);
    else if (dim >= 0)
        tw_diag_error(d->diag, node->loc, "there are more than %" PRId64 " of memory '%s'", TW_EXTENT_MAX,
                      memory->name);
    else
        tw_diag_error(d->diag, node->loc, "memory '%s' is private to '%s', which is no dimension of '%s'",
                      memory->name, node->text, compute->name);
}

/* The dimensions that the memory is private to. */
static void resolve_per(tw_machine_draft *d, const tw_machine *machine, int m, tw_memory *memory)
{
    const tw_node *per = d->per[m];
    const tw_engine *compute = &machine->engine[machine->compute];
    tw_platform_memory *all = &d->memory[m];
    int n_bad = *d->n_bad;
    int64_t lanes = 1;
    if (per->kind != TW_LIST) add_dim(d, compute, per, memory, &lanes);
    for (const tw_node *node = per->kind == TW_LIST ? per->child : NULL; node && *d->n_bad == n_bad;
         node = node->next)
        add_dim(d, compute, node, memory, &lanes);
    if (*d->n_bad > n_bad) return;
    if (memory->per == 0) {
        tw_diag_error(d->diag, per->loc, "'per' is empty");
        ++*d->n_bad;
    } else if (all->is.per != 0 && all->lanes != lanes) {
        tw_diag_error(d->diag, per->loc,
                      "there are %" PRId64 " of memory '%s' for one compute engine, and %" PRId64 " for '%s'",
                      all->lanes, memory->name, lanes, compute->name);
        ++*d->n_bad;
    }
    if (all->is.per == 0) all->is.per = memory->per;
    all->lanes = lanes;
}

void tw_draft_private(tw_machine_draft *d, const tw_draft_view *v)
{
    tw_machine *machine = &v->out->machine;
    for (int m = 0; m < d->n_memories && machine->compute < machine->n_engines; m++) {
        if (!d->per[m] || v->slot[m] < 0) continue;
        if (d->graph.n_cores > 0 && d->memory[m].core < 0) {
            tw_diag_error(d->diag, d->per[m]->key_loc, "memory '%s' is shared by the cores and cannot be private",
                          d->memory[m].name);
            ++*d->n_bad;
            continue;
        }
        resolve_per(d, machine, m, &machine->memory[v->slot[m]]);
    }
}

/* The compute engines; every core has one. */
int tw_draft_views(tw_machine_draft *d, const tw_machine_part **compute)
{
    const tw_machine_parts *graph = &d->graph;
    int n = 0, of_core[TW_MAX_CORES] = {0};
    for (int e = 0; e < graph->n[TW_PART_ENGINE]; e++) {
        const tw_machine_part *part = &graph->part[TW_PART_ENGINE][e];
        if (!tw_graph_computes(part->node)) continue;
        if (part->core >= 0) of_core[part->core]++;
        if (n == TW_MAX_VIEWS) {
            tw_diag_error(d->diag, part->node->loc, "more than %d compute engines", TW_MAX_VIEWS);
            ++*d->n_bad;
            return n;
        }
        compute[n++] = part;
    }
    for (int c = 0; c < graph->n_cores; c++) {
        if (of_core[c] > 0) continue;
        tw_diag_error(d->diag, graph->core[c].loc, "core '%s' has no compute engine",
                      graph->core[c].name ? graph->core[c].name : "");
        ++*d->n_bad;
    }
    return n;
}

/* ---- all views together ---- */

/* Engines as the first view that has them knows them. */
static tw_status join_engines(tw_machine_draft *d, tw_platform *platform, tw_platform_engine *engine)
{
    const tw_machine_parts *graph = &d->graph;
    for (int v = platform->n_views - 1; v >= 0; v--) {
        const tw_platform_view *from = &platform->view[v];
        for (int e = 0; e < from->machine.n_engines; e++) {
            const tw_machine_part *part = &graph->part[TW_PART_ENGINE][from->mover[e]];
            tw_platform_engine *to = &engine[from->mover[e]];
            *to = (tw_platform_engine){.name = part->name, .core = part->core, .is = from->machine.engine[e]};
            to->is.name = tw_node_entry(part->node, "name")->text;
            to->is.memory = from->memory[to->is.memory];
            if (to->is.outer >= 0) to->is.outer = from->memory[to->is.outer];
            for (int way = 0; way < 2; way++) to->reads[way] = to->writes[way] = -1;
        }
    }
    for (int e = 0; e < platform->n_engines; e++) {
        const tw_machine_part *part = &graph->part[TW_PART_ENGINE][e];
        if (!engine[e].name && d->link && d->link[e].name) engine[e] = d->link[e];
        if (engine[e].name) continue;
        ++*d->n_bad;
        tw_diag_error(d->diag, part->node->loc,
                      "engine '%s' moves between memories that no compute engine has both of",
                      part->name ? part->name : "");
    }
    return *d->n_bad ? TW_ERR_INPUT : TW_OK;
}

static void check_engine_names(tw_machine_draft *d, const tw_platform_engine *engine, int n)
{
    for (int e = 0; e < n; e++)
        for (int before = 0; before < e; before++) {
            if (strcmp(engine[e].name, engine[before].name) != 0) continue;
            tw_diag_error(d->diag, engine[e].is.loc, "engine '%s' is given twice", engine[e].name);
            tw_diag_note(d->diag, engine[before].is.loc, "'%s' was first given here", engine[before].name);
            ++*d->n_bad;
        }
}

static void check_memory_use(tw_machine_draft *d, const tw_platform *platform)
{
    for (int m = 0; m < d->n_memories; m++) {
        int n = 0;
        for (int v = 0; v < platform->n_views; v++)
            for (int i = 0; i < platform->view[v].machine.n_memories; i++) n += platform->view[v].memory[i] == m;
        if (n > 0) continue;
        tw_diag_error(d->diag, d->memory[m].is.loc, "memory '%s' is on the paths of no compute engine",
                      d->memory[m].name);
        ++*d->n_bad;
    }
}

tw_status tw_draft_join(tw_machine_draft *d, tw_platform *platform, tw_platform_engine *engine)
{
    TW_TRY(join_engines(d, platform, engine));
    check_engine_names(d, engine, platform->n_engines);
    check_memory_use(d, platform);
    return *d->n_bad ? TW_ERR_INPUT : TW_OK;
}
