/* src/mapping/group_print.c - groups as a mapping file that reads back as the same groups; see groups.h.
 *
 * Memories and engines have their full names, so that no group needs a core. */
#include "mapping/groups.h"

typedef struct printer {
    const tw_model *model;
    const tw_platform *platform;
    const tw_group_map *group;
    tw_text *out;
} printer;

static const tw_op *member(const printer *p, int i) { return &p->model->op[p->group->op[i].op]; }

static const tw_op *driver(const printer *p) { return member(p, p->group->n_ops - 1); }

static const char *engine_name(const printer *p, int i)
{
    return p->platform->engine[p->platform->view[p->group->op[i].view].engine].name;
}

static void print_ops(const printer *p)
{
    for (int i = 0; i < p->group->n_ops; i++)
        tw_text_printf(p->out, "%s%s", i == 0 ? "    ops: [" : ", ", member(p, i)->name);
    tw_text_printf(p->out, "]\n");
    for (int i = 0; i < p->group->n_ops; i++)
        tw_text_printf(p->out, "%s%s: %s", i == 0 ? "    engines: {" : ", ", member(p, i)->name, engine_name(p, i));
    tw_text_printf(p->out, "}\n");
}

/* The cuts of a level, by size or by count: "sizes: {oy: 4, ox: 8}" */
static void print_cuts(const printer *p, const char *key, int level, bool by_size)
{
    const char *sep = "";
    for (int k = 0; k < p->group->n_cuts; k++) {
        const tw_nest_cut *cut = &p->group->cut[k];
        if (cut->level != level || (cut->size > 0) != by_size) continue;
        if (!*sep) tw_text_printf(p->out, ", %s: {", key);
        tw_text_printf(p->out, "%s%s: %" PRId64, sep, driver(p)->loop[cut->loop].name,
                       by_size ? cut->size : cut->count);
        sep = ", ";
    }
    if (*sep) tw_text_printf(p->out, "}");
}

static void print_order(const printer *p, int level)
{
    const char *sep = ", order: [", *rule = NULL;
    for (int k = 0; k < p->group->n_cuts; k++) {
        const tw_nest_cut *cut = &p->group->cut[k];
        if (cut->level != level) continue;
        if (cut->count > 0) rule = tw_cut_name(cut->rule);
        tw_text_printf(p->out, "%s%s", sep, driver(p)->loop[cut->loop].name);
        sep = ", ";
    }
    if (sep[2] != 'o') tw_text_printf(p->out, "]");
    if (rule) tw_text_printf(p->out, ", cut: %s", rule);
}

static const char *keep_word(const printer *p, int level, int depth)
{
    int outside = level > 0 ? p->group->level[level - 1].depth : 0;
    return depth <= outside ? "all" : driver(p)->loop[p->group->cut[depth - 1].loop].name;
}

static void print_holds(const printer *p, int level, bool keeps)
{
    const char *sep = "";
    for (int h = 0; h < p->group->n_holds; h++) {
        const tw_hold *hold = &p->group->hold[h];
        if (hold->memory != p->group->level[level].memory || (keeps ? hold->depth < 0 : hold->slots == 0)) continue;
        tw_text_printf(p->out, "%s%s: ",
                       *sep    ? sep
                       : keeps ? ", keep: {"
                               : ", buffers: {",
                       p->model->tensor[hold->tensor].name);
        if (keeps)
            tw_text_printf(p->out, "%s", keep_word(p, level, hold->depth));
        else
            tw_text_printf(p->out, "%" PRId64, hold->slots);
        sep = ", ";
    }
    if (*sep) tw_text_printf(p->out, "}");
}

static void print_slides(const printer *p, int level)
{
    const char *sep = ", slide: {";
    for (int h = 0; h < p->group->n_holds; h++) {
        const tw_hold *hold = &p->group->hold[h];
        if (hold->memory != p->group->level[level].memory || hold->slide == 0) continue;
        tw_text_printf(p->out, "%s%s: %s", sep, p->model->tensor[hold->tensor].name,
                       driver(p)->loop[hold->slide - 1].name);
        sep = ", ";
    }
    if (sep[2] != 's') tw_text_printf(p->out, "}");
}

static void print_levels(const printer *p)
{
    tw_text_printf(p->out, "    levels:\n");
    for (int l = 0; l < p->group->n_levels; l++) {
        tw_text_printf(p->out, "      - {at: %s", p->platform->memory[p->group->level[l].memory].name);
        print_cuts(p, "sizes", l, true);
        print_cuts(p, "tiles", l, false);
        print_order(p, l);
        print_holds(p, l, false);
        print_holds(p, l, true);
        print_slides(p, l);
        tw_text_printf(p->out, "}\n");
    }
}

/* "rows: [oc, ox/2]", or "columns: {oy: 4, ox: 4}" */
static void print_dim(const printer *p, int i, const char *name, int dim)
{
    const tw_group_op *op = &p->group->op[i];
    const char *sep = "", *end = "";
    for (int l = 0; l < member(p, i)->n_loops; l++) {
        if (!tw_spread_has(&op->over, l, dim)) continue;
        if (!*sep) tw_text_printf(p->out, "%s: %s", name, op->parts[l] > 0 ? "{" : "[");
        if (!*sep) end = op->parts[l] > 0 ? "}" : "]";
        tw_text_printf(p->out, "%s%s", sep, member(p, i)->loop[l].name);
        if (op->over.share[l][dim] > 0) tw_text_printf(p->out, "/%" PRId32, op->over.share[l][dim]);
        if (op->parts[l] > 0) tw_text_printf(p->out, ": %" PRId64, op->parts[l]);
        sep = ", ";
    }
    tw_text_printf(p->out, "%s", end);
}

static void print_unroll(const printer *p, const tw_grouping *c)
{
    const char *sep = "    unroll: {";
    for (int i = 0; i < p->group->n_ops; i++) {
        const tw_cost *cost = tw_group_cost(c, &p->group->op[i]);
        if (!tw_spread_is_given(&p->group->op[i].over, member(p, i))) continue;
        tw_text_printf(p->out, "%s%s: {", sep, member(p, i)->name);
        sep = "";
        for (int d = 0; d < tw_cost_dims(cost); d++) {
            if (!tw_spread_uses(&p->group->op[i].over, member(p, i), d)) continue;
            tw_text_printf(p->out, "%s", sep);
            print_dim(p, i, cost->array.dim[d], d);
            sep = ", ";
        }
        tw_text_printf(p->out, "}");
        sep = ", ";
    }
    if (sep[0] == ',') tw_text_printf(p->out, "}\n");
}

static void print_reduce(const printer *p)
{
    const char *sep = "    reduce: {";
    for (int i = 0; i < p->group->n_ops; i++) {
        const char *inner = "";
        for (int l = 0; l < member(p, i)->n_loops; l++) {
            if (p->group->op[i].reduce[l] == 0) continue;
            if (!*inner) tw_text_printf(p->out, "%s%s: {", sep, member(p, i)->name);
            tw_text_printf(p->out, "%s%s: %" PRId64, inner, member(p, i)->loop[l].name, p->group->op[i].reduce[l]);
            inner = sep = ", ";
        }
        if (*inner) tw_text_printf(p->out, "}");
    }
    if (sep[0] == ',') tw_text_printf(p->out, "}\n");
}

/* One map or, of several loops, a list of them. */
static void print_part(const printer *p)
{
    const tw_group_map *g = p->group;
    for (int i = 0; i < g->n_parts; i++)
        tw_text_printf(p->out, "%s%s{loop: %s, from: %" PRId64 ", to: %" PRId64 "}%s", i == 0 ? "    part: " : ", ",
                       i == 0 && g->n_parts > 1 ? "[" : "", driver(p)->loop[g->part[i].loop].name,
                       g->part[i].span.lo, g->part[i].span.hi,
                       i < g->n_parts - 1 ? ""
                       : g->n_parts > 1   ? "]\n"
                                          : "\n");
}

void tw_groups_print(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine, tw_text *out)
{
    const tw_grouping c = {.model = model, .machine = machine};
    tw_text_printf(out, "groups:\n");
    for (int g = 0; g < mapping->n_groups; g++) {
        const tw_group_map *group = &mapping->group[g];
        printer p = {model, machine->platform, group, out};
        tw_text_printf(out, "  - name: %s\n", group->name);
        print_ops(&p);
        print_part(&p);
        print_levels(&p);
        print_unroll(&p, &c);
        print_reduce(&p);
        if (group->running > 0) tw_text_printf(out, "    running: %s\n", driver(&p)->loop[group->running - 1].name);
    }
    tw_residents_print(mapping, model, machine, out);
    tw_rooms_print(mapping, machine, out);
}
