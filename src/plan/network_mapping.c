/* src/plan/network_mapping.c - `programs` of a mapping file; see network_mapping.h.
 *
 * An entry is read in two steps: which steps of the network it names settles the stretch, and with the stretch there is the model that its groups
 * are read for, by the reader of all groups. */
#include "plan/network_mapping.h"

#include "mapping/groups.h"

#include <string.h>

/* ---- which steps ---- */

typedef struct entry { /* of `programs` */
    const tw_node *node, *groups, *as_layers;
    int first, last; /* steps that its groups name */
} entry;

/* -1: there is none, which is said. */
static int find_step(const tw_network *net, const tw_node *node, tw_diag *diag)
{
    const char *name = node->kind == TW_SCALAR ? node->text : "...";
    for (int s = 0; s < net->lowered->graph.n_ops; s++)
        if (strcmp(net->label[s], name) == 0) return s;
    (void)tw_diag_error(diag, node->loc, "the network has no step '%s'", name);
    return -1;
}

/* The steps that a list names; false: one is not there. */
static bool add_steps(const tw_network *net, const tw_node *list, tw_diag *diag, int *first, int *last)
{
    bool good = true;
    for (const tw_node *node = list && list->kind == TW_LIST ? list->child : NULL; node; node = node->next) {
        int step = find_step(net, node, diag);
        good &= step >= 0;
        if (step >= 0 && (*last < 0 || step < *first)) *first = step;
        if (step > *last) *last = step;
    }
    return good;
}

/* What is not a list, or is missing, the reader of groups says. */
static tw_status open_entry(const tw_network *net, const tw_node *node, tw_diag *diag, entry *out)
{
    tw_fields f = tw_fields_open(node, "program", diag);
    *out = (entry){.node = node, .last = -1};
    if (!f.node) return TW_ERR_INPUT;
    out->groups = tw_field_list(&f, "groups", TW_REQUIRED);
    out->as_layers = tw_field_list(&f, "as_layers", TW_OPTIONAL);
    tw_field_node(&f, "resident", TW_OPTIONAL);
    tw_field_node(&f, "room", TW_OPTIONAL);
    for (const tw_node *group = out->groups ? out->groups->child : NULL; group; group = group->next)
        f.n_bad += !add_steps(net, tw_node_entry(group, "ops"), diag, &out->first, &out->last);
    int ignored = 0, also = -1;
    f.n_bad += !add_steps(net, out->as_layers, diag, &ignored, &also);
    TW_TRY(tw_fields_close(&f));
    if (out->last >= 0) return TW_OK;
    return tw_diag_error(diag, out->groups->loc, "the groups name no step");
}

/* ---- their model ---- */

static bool is_named(const entry *e, const char *label)
{
    for (const tw_node *node = e->as_layers ? e->as_layers->child : NULL; node; node = node->next)
        if (strcmp(node->text, label) == 0) return true;
    return false;
}

static tw_status model_of(const tw_stretch *s, const entry *e, tw_arena *arena, const tw_model **out)
{
    tw_model *model;
    tw_op *op;
    TW_ALLOC(arena, model, 1);
    TW_ALLOC(arena, op, s->n);
    memcpy(op, s->model.op, (size_t)s->n * sizeof *op);
    for (int i = 0; i < s->n; i++)
        if (is_named(e, op[i].name)) op[i] = s->alone[i];
    *model = s->model;
    model->op = op;
    *out = model;
    return TW_OK;
}

/* A step with the loops of its layer is a group by itself. */
static tw_status check_alone(const tw_model *model, const entry *e, const tw_mapping *mapping, tw_diag *diag)
{
    for (int g = 0; g < mapping->n_groups; g++)
        for (int i = 0; i < mapping->group[g].n_ops && mapping->group[g].n_ops > 1; i++)
            if (is_named(e, model->op[mapping->group[g].op[i].op].name))
                return tw_diag_error(
                    diag, e->as_layers->loc,
                    "'%s' is in a group with others, which share the axes of its tensors: it cannot have "
                    "the loops of its layer",
                    model->op[mapping->group[g].op[i].op].name);
    return TW_OK;
}

static tw_status read_groups(const tw_machine *machine, const tw_stretch *s, const entry *e, bool some,
                             const tw_work *work, const tw_model **model, tw_mapping *out)
{
    tw_fields f = tw_fields_open(e->node, "program", work->diag);
    TW_TRY(model_of(s, e, work->arena, model));
    tw_field_node(&f, "as_layers", TW_OPTIONAL);
    *out = (tw_mapping){0};
    TW_TRY(some ? tw_limits_read_groups(&f, *model, machine, work->arena, out)
                : tw_groups_of_tree(&f, *model, machine, false, work->arena, out));
    TW_TRY(tw_fields_close(&f));
    return check_alone(*model, e, out, work->diag);
}

/* Whether a stretch has all steps of the entry. */
static tw_status is_inside(const tw_network *net, const tw_stretch *s, const entry *e, tw_diag *diag)
{
    if (s->n == 0)
        return tw_diag_error(diag, e->node->loc, "'%s' cannot be in a program: its layer runs by itself",
                             net->label[e->first]);
    if (e->last < s->first + s->n) return TW_OK;
    return tw_diag_error(diag, e->node->loc, "'%s' and '%s' cannot be in one program: no program goes on with '%s'",
                         net->label[e->first], net->label[e->last], net->label[s->first + s->n]);
}

/* ---- complete mappings ---- */

static tw_status stretch_of(const tw_network *net, const tw_machine *machine, const entry *e, const tw_work *work,
                            tw_stretch *out)
{
    const tw_network_plan plan = {.network = net, .machine = machine};
    int n = e->last + 1 - e->first;
    TW_TRY(tw_stretch_from(&plan, e->first, work, out));
    TW_TRY(is_inside(net, out, e, work->diag));
    out->n = n;
    return tw_stretch_build(net, work, out);
}

static tw_status add_program(const tw_network *net, const tw_machine *machine, const tw_node *node,
                             const tw_work *work, tw_program_map *out)
{
    entry e;
    TW_TRY(open_entry(net, node, work->diag, &e));
    *out = (tw_program_map){.loc = node->loc};
    TW_TRY(stretch_of(net, machine, &e, work, &out->stretch));
    return read_groups(machine, &out->stretch, &e, false, work, &out->model, &out->mapping);
}

/* Puts the last one where its steps are. */
static tw_status sort_in(const tw_network *net, tw_program_map *program, int n, tw_diag *diag)
{
    tw_program_map last = program[n - 1];
    int at = n - 1;
    for (; at > 0 && program[at - 1].stretch.first > last.stretch.first; at--) program[at] = program[at - 1];
    program[at] = last;
    for (int i = 1; i < n; i++)
        if (program[i - 1].stretch.first + program[i - 1].stretch.n > program[i].stretch.first)
            return tw_diag_error(diag, last.loc, "two programs have step '%s'",
                                 net->label[program[i].stretch.first]);
    return TW_OK;
}

tw_status tw_programs_read(const tw_network *net, const tw_machine *machine, const tw_node *list,
                           const tw_work *work, tw_network_mapping *out)
{
    tw_program_map *program;
    tw_status status = TW_OK;
    if (!list) return TW_OK;
    if (list->kind != TW_LIST) return tw_diag_error(work->diag, list->loc, "'programs' must be a list");
    TW_ALLOC(work->arena, program, list->n_children + 1);
    for (const tw_node *node = list->child; node; node = node->next) {
        tw_status one = add_program(net, machine, node, work, &program[out->n_programs]);
        if (one == TW_OK) one = sort_in(net, program, ++out->n_programs, work->diag);
        if (one != TW_OK && one != TW_ERR_INPUT) return one;
        if (one != TW_OK) status = one;
    }
    out->program = program;
    return status;
}

/* ---- limits ---- */

/* The groups of one entry, behind those that there are. */
static tw_status add_limits(const tw_machine *machine, const tw_stretch *s, const entry *e, const tw_work *work,
                            tw_limits *out)
{
    const tw_model *model;
    tw_mapping some;
    tw_group_map *group;
    tw_group_resident *resident;
    tw_group_room *room;
    bool *alone;
    int n = out->groups.n_groups, n_residents = out->groups.n_residents, n_rooms = out->groups.n_rooms;
    TW_TRY(read_groups(machine, s, e, true, work, &model, &some));
    TW_ALLOC(work->arena, group, n + some.n_groups);
    TW_ALLOC(work->arena, resident, n_residents + some.n_residents + 1);
    TW_ALLOC(work->arena, room, n_rooms + some.n_rooms + 1);
    TW_ALLOC(work->arena, alone, n + some.n_groups);
    for (int g = 0; g < n; g++) group[g] = out->groups.group[g], alone[g] = out->alone[g];
    for (int g = 0; g < some.n_groups; g++) {
        group[n + g] = some.group[g];
        alone[n + g] = is_named(e, model->op[some.group[g].op[0].op].name);
    }
    for (int i = 0; i < n_residents; i++) resident[i] = out->groups.resident[i];
    for (int i = 0; i < some.n_residents; i++) resident[n_residents + i] = some.resident[i];
    for (int i = 0; i < n_rooms; i++) room[i] = out->groups.room[i];
    for (int i = 0; i < some.n_rooms; i++) room[n_rooms + i] = some.room[i];
    out->groups = (tw_mapping){.n_groups = n + some.n_groups,
                               .group = group,
                               .n_residents = n_residents + some.n_residents,
                               .resident = resident,
                               .n_rooms = n_rooms + some.n_rooms,
                               .room = room};
    out->alone = alone;
    const tw_grouping all = {.model = &s->model,
                             .machine = machine,
                             .n = out->groups.n_groups,
                             .group = group,
                             .loc = e->node->loc,
                             .n_residents = 0,
                             .diag = work->diag};
    return tw_grouping_check_some(&all);
}

/* The entries about a stretch, and whether their steps are all of it. */
static tw_status limits_of(const tw_network *net, const tw_machine *machine, const tw_stretch *s,
                           const tw_node *programs, const tw_work *work, tw_limits *out)
{
    *out = (tw_limits){0};
    for (const tw_node *node = programs->child; node; node = node->next) {
        entry e;
        TW_TRY(open_entry(net, node, work->diag, &e));
        if (e.first < s->first || e.first >= s->first + s->n) continue;
        TW_TRY(is_inside(net, s, &e, work->diag));
        TW_TRY(add_limits(machine, s, &e, work, out));
    }
    return TW_OK;
}

tw_status tw_program_limits_of(const tw_network_plan *plan, const tw_stretch *s, const tw_node *programs,
                               const tw_work *work, tw_limits *out)
{
    return limits_of(plan->network, plan->machine, s, programs, work, out);
}

/* The stretch that a step is in, as the network has it where all layers have plans. */
static tw_status stretch_around(const tw_network *net, const tw_machine *machine, int step, const tw_work *work,
                                tw_stretch *out)
{
    const tw_network_plan plan = {.network = net, .machine = machine};
    for (int s = 0; s <= step; s += (int)tw_max(1, out->n)) TW_TRY(tw_stretch_from(&plan, s, work, out));
    return tw_stretch_build(net, work, out);
}

tw_status tw_program_limits_check(const tw_network *net, const tw_machine *machine, const tw_node *programs,
                                  const tw_work *work)
{
    tw_status status = TW_OK;
    for (const tw_node *node = programs->child; node; node = node->next) {
        entry e;
        tw_stretch s;
        tw_limits ignored = {0};
        tw_status one = open_entry(net, node, work->diag, &e);
        if (one == TW_OK) one = stretch_around(net, machine, e.first, work, &s);
        if (one == TW_OK) one = is_inside(net, &s, &e, work->diag);
        if (one == TW_OK) one = add_limits(machine, &s, &e, work, &ignored);
        if (one != TW_OK && one != TW_ERR_INPUT) return one;
        if (one != TW_OK) status = one;
    }
    return status;
}

tw_status tw_program_limits_met(const tw_network_plan *plan, const tw_node *programs, tw_diag *diag)
{
    for (const tw_node *node = programs->child; node; node = node->next) {
        entry e;
        bool met = false;
        TW_TRY(open_entry(plan->network, node, diag, &e));
        for (int i = 0; i < plan->n_parts; i++) {
            const tw_network_part *part = &plan->part[i];
            met |= part->plan && part->first_step <= e.first && e.last < part->first_step + part->n_steps;
        }
        if (!met)
            return tw_diag_infeasible(diag, node->loc,
                                      "'%s' to '%s' are in no program: a layer among them has no plan",
                                      plan->network->label[e.first], plan->network->label[e.last]);
    }
    return TW_OK;
}

/* ---- the printer ---- */

static bool same_axis(const tw_axis *a, const tw_axis *b)
{
    bool same =
        a->extent == b->extent && a->offset == b->offset && a->divisor == b->divisor && a->n_terms == b->n_terms;
    for (int t = 0; same && t < a->n_terms; t++)
        same = a->term[t].loop == b->term[t].loop && a->term[t].coef == b->term[t].coef;
    return same;
}

/* Whether two forms of an operator have the same loops over the same tensors. */
static bool same_form(const tw_op *a, const tw_op *b)
{
    bool same = a->n_loops == b->n_loops && a->n_operands == b->n_operands;
    for (int l = 0; same && l < a->n_loops; l++)
        same = a->loop[l].extent == b->loop[l].extent && strcmp(a->loop[l].name, b->loop[l].name) == 0;
    for (int o = 0; same && o < a->n_operands; o++) {
        const tw_operand *x = &a->operand[o], *y = &b->operand[o];
        same = x->tensor == y->tensor && x->n_axes == y->n_axes;
        for (int i = 0; same && i < x->n_axes; i++) same = same_axis(&x->axis[i], &y->axis[i]);
    }
    return same;
}

static void print_as_layers(const tw_stretch *s, const tw_model *model, tw_text *out)
{
    const char *sep = "as_layers: [";
    for (int i = 0; i < s->n; i++) {
        if (same_form(&model->op[i], &s->model.op[i])) continue;
        tw_text_printf(out, "%s%s", sep, model->op[i].name);
        sep = ", ";
    }
    if (sep[0] == ',') tw_text_printf(out, "]\n");
}

/* The lines of a text as an entry of a list. */
static void print_entry(const char *text, tw_text *out)
{
    const char *indent = "  - ";
    for (const char *line = text; *line; indent = "    ") {
        size_t n = strcspn(line, "\n");
        tw_text_printf(out, "%s%.*s\n", indent, (int)n, line);
        line += n + (line[n] == '\n');
    }
}

void tw_programs_print(const tw_network_plan *plan, tw_text *out)
{
    bool first = true;
    for (int i = 0; i < plan->n_parts; i++) {
        const tw_plan *program = plan->part[i].plan;
        tw_text text = {0};
        if (!program) continue;
        if (first) tw_text_printf(out, "programs:\n");
        first = false;
        print_as_layers(&plan->stretch[i], program->model, &text);
        tw_groups_print(program->mapping, program->model, program->machine, &text);
        out->failed |= text.failed;
        print_entry(text.bytes && !text.failed ? text.bytes : "", out);
        tw_text_release(&text);
    }
}

/* ---- whole files ---- */

tw_status tw_network_mapping_of_tree(const tw_node *root, const tw_network *net, const tw_machine *machine,
                                     const tw_work *work, tw_network_mapping *out)
{
    const tw_node *programs = NULL;
    tw_mapping *layers;
    TW_ALLOC(work->arena, layers, 1);
    for (const tw_node *node = root->kind == TW_NODE_MAP ? root->child : NULL; node; node = node->next)
        if (strcmp(node->key, "programs") == 0) programs = node;
    tw_status status = tw_mapping_of_tree(root, net->model, machine, work->arena, work->diag, layers);
    tw_status second =
        status == TW_OK || status == TW_ERR_INPUT ? tw_programs_read(net, machine, programs, work, out) : TW_OK;
    out->layers = layers;
    return status != TW_OK ? status : second;
}

/* Layers without a plan. */
static void print_none(const tw_network_plan *plan, tw_text *text)
{
    for (int i = 0; i < plan->network->layers.n; i++)
        if (!plan->plan[i] && tw_machine_computes(plan->machine, &plan->network->model->op[i]))
            tw_text_printf(text, "  %s: none\n", plan->network->model->op[i].name);
}

tw_status tw_network_mapping_print(const tw_network_plan *plan, tw_arena *scratch, tw_text *out)
{
    const tw_network *net = plan->network;
    tw_op_map *map;
    tw_op *op;
    int n = 0;
    tw_arena_mark mark = tw_arena_save(scratch);
    TW_ALLOC(scratch, map, net->layers.n + 1);
    TW_ALLOC(scratch, op, net->layers.n + 1);
    for (int i = 0; i < net->layers.n; i++) {
        if (!plan->plan[i]) continue;
        op[n] = net->model->op[i];
        map[n++] = plan->plan[i]->mapping->op[0];
    }
    tw_model some = *net->model;
    some.op = op;
    some.n_ops = n;
    tw_mapping_print(&(tw_mapping){n, map}, &some, plan->machine, out);
    print_none(plan, out);
    tw_programs_print(plan, out);
    tw_arena_rewind(scratch, mark);
    return out->failed ? TW_ERR_NOMEM : TW_OK;
}
