/* src/mapping/resident.c - tensors that stay in a memory between groups: read, checked, printed; see groups.h.
 *
 * A resident tensor is made by the driver of one group and read by others; the memory is on its way out of the one and on its way to
 * every operator that reads it. Or it is an input of the model that several groups read, the first of which loads it. */
#include <string.h>

#include "mapping/groups.h"

/* ---- files ---- */

static int find_tensor(tw_fields *f, const tw_model *model, const tw_node *node)
{
    tw_words all = {0};
    for (int t = 0; t < model->n_tensors; t++) {
        if (strcmp(model->tensor[t].name, node->key) == 0) return t;
        tw_words_add(&all, model->tensor[t].name);
    }
    TW_REFUSE(f, node->key_loc, "workload '%s' has no tensor '%s'; its tensors are %s", model->name, node->key,
              all.text);
    return -1;
}

static int find_memory(tw_fields *f, const tw_platform *platform, const char *tensor, const tw_node *node)
{
    bool word = node->kind == TW_SCALAR;
    int m = word ? tw_platform_find_memory(platform, node->text, -1) : -1;
    tw_words all = {0};
    if (m >= 0) return m;
    for (int i = 1; i < platform->n_memories; i++) tw_words_add(&all, platform->memory[i].name);
    TW_REFUSE(f, node->loc, "'%s' must be in one of %s, found '%s'", tensor, all.text, word ? node->text : "...");
    return -1;
}

/* 1 + the operator that is named, 0: there is none. */
static int find_op(tw_fields *f, const tw_model *model, const tw_node *node)
{
    tw_words all = {0};
    for (int i = 0; i < model->n_ops; i++) {
        if (node->kind == TW_SCALAR && strcmp(model->op[i].name, node->text) == 0) return i + 1;
        tw_words_add(&all, model->op[i].name);
    }
    TW_REFUSE(f, node->loc, "'until' must be one of %s, found '%s'", all.text,
              node->kind == TW_SCALAR ? node->text : "...");
    return 0;
}

/* A memory, or {in: MEMORY, until: OPERATOR}; false: it is neither. */
static bool read_place(tw_fields *f, const tw_grouping *c, const tw_node *node, tw_group_resident *out)
{
    const tw_platform *platform = c->machine->platform;
    out->loc = node->loc;
    if (node->kind != TW_NODE_MAP) return (out->memory = find_memory(f, platform, node->key, node)) >= 0;
    tw_fields own = tw_fields_open(node, "resident", f->diag);
    const tw_node *in = tw_field_node(&own, "in", TW_REQUIRED), *until = tw_field_node(&own, "until", TW_REQUIRED);
    out->memory = in ? find_memory(&own, platform, node->key, in) : -1;
    out->until = until ? find_op(&own, c->model, until) : 0;
    bool good = tw_fields_close(&own) == TW_OK && out->memory >= 0;
    f->n_bad += !good;
    return good;
}

tw_status tw_residents_of_tree(tw_fields *f, tw_arena *arena, tw_grouping *c)
{
    const tw_node *map = tw_field_map(f, "resident", TW_OPTIONAL);
    tw_group_resident *resident;
    if (!map) return TW_OK;
    TW_ALLOC(arena, resident, map->n_children + 1);
    for (const tw_node *node = map->child; node; node = node->next) {
        tw_group_resident is = {.tensor = find_tensor(f, c->model, node)};
        if (read_place(f, c, node, &is) && is.tensor >= 0) resident[c->n_residents++] = is;
    }
    c->resident = resident;
    return TW_OK;
}

void tw_residents_print(const tw_mapping *mapping, const tw_model *model, const tw_machine *machine, tw_text *out)
{
    for (int i = 0; i < mapping->n_residents; i++) {
        const tw_group_resident *is = &mapping->resident[i];
        const char *memory = machine->platform->memory[is->memory].name;
        tw_text_printf(out, "%s%s: ", i == 0 ? "resident: {" : ", ", model->tensor[is->tensor].name);
        if (is->until > 0)
            tw_text_printf(out, "{in: %s, until: %s}", memory, model->op[is->until - 1].name);
        else
            tw_text_printf(out, "%s", memory);
    }
    if (mapping->n_residents > 0) tw_text_printf(out, "}\n");
}

int tw_resident_last(const tw_group_resident *is, const tw_group_map *group, int n)
{
    int g = n - 1;
    for (; is->until > 0 && g > 0; g--)
        for (int i = 0; i < group[g].n_ops; i++)
            if (group[g].op[i].op == is->until - 1) return g;
    return g;
}

/* ---- checks ---- */

typedef struct judge {
    const tw_grouping *c;
    const tw_group_resident *is;
    const char *tensor, *memory;
    int last; /* the group behind which it has left */
} judge;

static const tw_op *op_of(const judge *j, const tw_group_map *group, int i)
{
    return &j->c->model->op[group->op[i].op];
}

/* Whether a tensor is what is resident, in whatever shape. */
static bool is_it(const judge *j, int tensor) { return tw_tensors_are_alike(j->c->model, tensor, j->is->tensor); }

/* Whether the operand passes the memory. */
static bool passes(const judge *j, const tw_group_op *op, int operand)
{
    const tw_platform_view *view = &j->c->machine->platform->view[op->view];
    tw_path path = tw_machine_path(&view->machine, &j->c->model->op[op->op], operand);
    for (int m = 1; m < view->machine.n_memories; m++)
        if ((path >> m & 1) && view->memory[m] == j->is->memory) return true;
    return false;
}

/* Whether links lead from the memory to one that the operand passes. */
static bool is_linked(const judge *j, const tw_group_op *op, int operand)
{
    const tw_platform_view *view = &j->c->machine->platform->view[op->view];
    tw_path path = tw_machine_path(&view->machine, &j->c->model->op[op->op], operand);
    int to[TW_MAX_MEMORIES], n = 0;
    for (int m = 1; m < view->machine.n_memories; m++)
        if (path >> m & 1) to[n++] = view->memory[m];
    int link[TW_MAX_HOPS];
    return tw_platform_find_route(j->c->machine->platform, (tw_memory_list){1, &j->is->memory},
                                  (tw_memory_list){n, to}, &j->c->model->op[op->op], operand, link) > 0;
}

static bool drives(const judge *j, const tw_group_map *group)
{
    const tw_op *driver = op_of(j, group, group->n_ops - 1);
    return driver->operand[tw_op_output(driver)].tensor == j->is->tensor;
}

static tw_status check_maker(const judge *j, const tw_group_map *group)
{
    const tw_op *driver = op_of(j, group, group->n_ops - 1);
    if (group->n_parts > 0)
        return tw_diag_error(j->c->diag, j->is->loc,
                             "'%s' is made in parts, of which group '%s' makes one: it cannot "
                             "be resident",
                             j->tensor, group->name);
    if (passes(j, &group->op[group->n_ops - 1], tw_op_output(driver))) return TW_OK;
    return tw_diag_error(j->c->diag, j->is->loc, "'%s' does not pass memory '%s' on its way out of group '%s'",
                         j->tensor, j->memory, group->name);
}

/* Operators of the group that read it, -1: what one reads does not pass the memory. */
static int count_readers(const judge *j, const tw_group_map *group)
{
    int n = 0;
    for (int i = 0; i < group->n_ops; i++)
        for (int o = 0; o < tw_op_output(op_of(j, group, i)); o++) {
            if (!is_it(j, op_of(j, group, i)->operand[o].tensor)) continue;
            n++;
            if (passes(j, &group->op[i], o) || is_linked(j, &group->op[i], o)) continue;
            (void)tw_diag_error(
                j->c->diag, j->is->loc,
                "'%s' does not pass memory '%s' on its way to '%s' in group '%s', and no link leads "
                "there",
                j->tensor, j->memory, op_of(j, group, i)->name, group->name);
            return -1;
        }
    return n;
}

/* What a group says of it in the memory; NULL: nothing. */
static const tw_hold *find_hold(const judge *j, const tw_group_map *group)
{
    for (int h = 0; h < group->n_holds; h++)
        if (group->hold[h].memory == j->is->memory && is_it(j, group->hold[h].tensor)) return &group->hold[h];
    return NULL;
}

/* It is in no other way held there. */
static tw_status check_holds(const judge *j)
{
    for (int g = 0; g <= j->last; g++) {
        const tw_hold *hold = find_hold(j, &j->c->group[g]);
        if (hold)
            return tw_diag_error(
                j->c->diag, hold->loc,
                "'%s' is resident in '%s': it is whole there, in one buffer, and no level says otherwise",
                j->tensor, j->memory);
    }
    return TW_OK;
}

/* The memory is the first one on the way of what a group loads. */
static tw_status check_loader(const judge *j, const tw_group_map *group)
{
    for (int i = 0; i < group->n_ops; i++)
        for (int o = 0; o < tw_op_output(op_of(j, group, i)); o++) {
            int memory[TW_MAX_MEMORIES];
            if (!is_it(j, op_of(j, group, i)->operand[o].tensor)) continue;
            (void)tw_group_chain(j->c, group, i, o, memory);
            if (memory[0] != j->is->memory)
                return tw_diag_error(
                    j->c->diag, j->is->loc,
                    "'%s' is an input and comes to '%s' first, where it can be resident, in group '%s'", j->tensor,
                    j->c->machine->platform->memory[memory[0]].name, group->name);
        }
    return TW_OK;
}

static tw_status check_crossing(const judge *j)
{
    int makers = 0, readers = 0, inside = 0, first = -1;
    for (int g = 0; g < j->c->n; g++) {
        const tw_group_map *group = &j->c->group[g];
        if (drives(j, group)) {
            makers++;
            TW_TRY(check_maker(j, group));
        } else if (tw_group_maker(group, j->c->model, j->is->tensor) < 0 && g <= j->last) {
            int n = count_readers(j, group);
            if (n < 0) return TW_ERR_INPUT;
            readers += n > 0;
            if (n > 0 && first < 0) first = g;
        } else {
            inside += g <= j->last;
        }
    }
    if (makers == 1 && readers > 0) return TW_OK;
    if (makers + inside == 0 && readers > 1) return check_loader(j, &j->c->group[first]);
    return tw_diag_error(j->c->diag, j->is->loc,
                         "'%s' is neither made by one group and read by others nor an input that several groups "
                         "read: only what crosses "
                         "groups can be resident",
                         j->tensor);
}

/* The operator sees some of its bytes as something else. */
static tw_status refuse_view(const judge *j, const tw_op *op)
{
    return tw_diag_error(j->c->diag, j->is->loc,
                         "'%s' cannot be resident: '%s' sees a part of it as another tensor", j->tensor, op->name);
}

/* A group that makes or reads it sees it in one shape. */
static tw_status check_shape(const judge *j, const tw_group_map *group)
{
    int seen = -1;
    for (int i = 0; i < group->n_ops; i++)
        for (int o = 0; o < op_of(j, group, i)->n_operands; o++) {
            int tensor = op_of(j, group, i)->operand[o].tensor;
            if (!is_it(j, tensor)) continue;
            if (seen >= 0 && seen != tensor)
                return tw_diag_error(j->c->diag, j->is->loc,
                                     "'%s' cannot be resident: group '%s' sees it in several shapes", j->tensor,
                                     group->name);
            seen = tensor;
        }
    return TW_OK;
}

/* Everybody sees all of it, each group in one shape. */
static tw_status check_views(const judge *j)
{
    for (int i = 0; i < j->c->model->n_ops; i++)
        for (int o = 0; o < j->c->model->op[i].n_operands; o++) {
            int tensor = j->c->model->op[i].operand[o].tensor;
            if (!is_it(j, tensor) && tw_tensors_share(j->c->model, tensor, j->is->tensor))
                return refuse_view(j, &j->c->model->op[i]);
        }
    for (int g = 0; g < j->c->n; g++) TW_TRY(check_shape(j, &j->c->group[g]));
    return TW_OK;
}

/* It leaves behind a group that reads it, and before one that does. */
static tw_status check_leaving(const judge *j)
{
    const tw_model *model = j->c->model;
    if (j->is->until == 0) return TW_OK;
    const tw_op *until = &model->op[j->is->until - 1];
    if (!tw_op_reads_alike(model, until, j->is->tensor))
        return tw_diag_error(j->c->diag, j->is->loc, "'%s' leaves '%s' behind '%s', which does not read it",
                             j->tensor, j->memory, until->name);
    for (int g = j->last + 1; g < j->c->n; g++)
        for (int i = 0; i < j->c->group[g].n_ops; i++)
            if (tw_op_reads_alike(model, op_of(j, &j->c->group[g], i), j->is->tensor)) return TW_OK;
    return tw_diag_error(j->c->diag, j->is->loc, "'%s' leaves '%s' behind '%s', and no group behind that reads it",
                         j->tensor, j->memory, until->name);
}

static tw_status check_one(const judge *j)
{
    const tw_platform *platform = j->c->machine->platform;
    if (j->is->memory == 0)
        return tw_diag_error(j->c->diag, j->is->loc,
                             "'%s' cannot be resident in '%s', the outermost memory, where it would be anyway",
                             j->tensor, j->memory);
    if (platform->memory[j->is->memory].is.per)
        return tw_diag_error(j->c->diag, j->is->loc, "'%s' cannot be resident in '%s', which is private to lanes",
                             j->tensor, j->memory);
    for (const tw_group_resident *other = j->c->resident; other < j->is; other++)
        if (other->tensor == j->is->tensor)
            return tw_diag_error(j->c->diag, j->is->loc, "'%s' is resident twice", j->tensor);
    TW_TRY(check_leaving(j));
    TW_TRY(check_crossing(j));
    TW_TRY(check_views(j));
    return check_holds(j);
}

tw_status tw_grouping_check_residents(const tw_grouping *c)
{
    tw_status status = TW_OK;
    for (int i = 0; i < c->n_residents; i++) {
        const tw_group_resident *is = &c->resident[i];
        if (is->tensor < 0 || is->tensor >= c->model->n_tensors || is->memory < 0 ||
            is->memory >= c->machine->platform->n_memories || is->until < 0 || is->until > c->model->n_ops)
            return tw_diag_error(c->diag, is->loc, "resident %d has a tensor or a memory that is not there", i);
        judge j = {c, is, c->model->tensor[is->tensor].name, c->machine->platform->memory[is->memory].name,
                   tw_resident_last(is, c->group, c->n)};
        if (check_one(&j) != TW_OK) status = TW_ERR_INPUT;
    }
    return status;
}
