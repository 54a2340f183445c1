/* src/mapping/mapping_read.c - see mapping_read.h. */
#include "mapping/mapping_read.h"

#include "mapping/fusion.h"

#include <string.h>

/* ---- names ---- */

static tw_words loop_names(const tw_op *op)
{
    tw_words words = {0};
    for (int l = 0; l < op->n_loops; l++) tw_words_add(&words, op->loop[l].name);
    return words;
}

int tw_map_loop(tw_fields *f, const tw_op *op, const char *name, tw_loc loc)
{
    int l = tw_op_find_loop(op, name);
    if (l < 0)
        TW_REFUSE(f, loc, "operator '%s' has no loop '%s'; its loops are %s", op->name, name, loop_names(op).text);
    return l;
}

int tw_map_operand(tw_fields *f, const tw_op *op, const char *text, size_t len, tw_loc loc)
{
    tw_words all = {0};
    for (int i = 0; i < op->n_operands; i++) {
        if (strlen(op->operand[i].name) == len && strncmp(op->operand[i].name, text, len) == 0) return i;
        tw_words_add(&all, op->operand[i].name);
    }
    TW_REFUSE(f, loc, "operator '%s' has no operand '%.*s'; its operands are %s", op->name, (int)len, text,
              all.text);
    return -1;
}

int tw_map_op(tw_fields *f, const tw_model *model, const tw_node *node)
{
    tw_words all = {0};
    for (int o = 0; o < model->n_ops; o++) {
        if (strcmp(model->op[o].name, node->key) == 0) return o;
        tw_words_add(&all, model->op[o].name);
    }
    if (model->apart)
        TW_REFUSE(f, node->key_loc, "the network has no layer '%s'", node->key);
    else
        TW_REFUSE(f, node->key_loc, "workload '%s' has no operator '%s'; its operators are %s", model->name,
                  node->key, all.text);
    return -1;
}

bool tw_map_is_none(const tw_model *model, const tw_node *node)
{
    return model->apart && node->kind == TW_SCALAR && strcmp(node->text, "none") == 0;
}

bool tw_map_fused(tw_fields *f, const tw_model *model, int op, const tw_machine *machine, bool *out)
{
    const tw_node *node = tw_field_node(f, "fused", TW_OPTIONAL);
    if (!tw_field_bool(f, "fused", TW_OPTIONAL, out)) return false;
    if (*out && model->apart)
        TW_REFUSE(f, node->loc, "layer '%s' is fused, layers of a network cannot be", model->op[op].name);
    else if (*out)
        f->n_bad += tw_fusion_check(model, op, machine, node->loc, f->diag) != TW_OK;
    return true;
}

static tw_words level_names(const tw_machine *machine)
{
    tw_words words = {0};
    for (int m = 1; m < machine->n_memories; m++) tw_words_add(&words, machine->memory[m].name);
    return words;
}

int tw_map_memory(tw_fields *f, const tw_machine *machine, int next, bool may_skip)
{
    const tw_node *at = tw_field_node(f, "at", TW_REQUIRED);
    if (!at) return -1;
    int m = at->kind == TW_SCALAR ? tw_machine_find_memory(machine, at->text) : -1;
    if (m < 1) {
        TW_REFUSE(f, at->loc, "'at' must be one of %s, found %s%s%s", level_names(machine).text,
                  m == 0 ? "the outermost memory '" : "'", at->kind == TW_SCALAR ? at->text : "...", "'");
        return -1;
    }
    if (m < next) {
        TW_REFUSE(f, at->loc, "level '%s' comes after '%s': levels go from the outside in", at->text,
                  machine->memory[next - 1].name);
        return -1;
    }
    for (int skipped = next; skipped < m && !may_skip; skipped++)
        TW_REFUSE(f, at->loc, "memory '%s' has no level before '%s'", machine->memory[skipped].name, at->text);
    return m;
}

/* ---- values ---- */

int tw_map_loops(tw_fields *f, const tw_node *list, const tw_op *op, int *loop, tw_loc *loc)
{
    int n = 0;
    unsigned seen = 0;
    for (const tw_node *node = list->child; node; node = node->next) {
        int l = tw_map_loop(f, op, node->kind == TW_SCALAR ? node->text : "", node->loc);
        if (l < 0) continue;
        if (seen >> l & 1)
            TW_REFUSE(f, node->loc, "loop '%s' is given twice in 'order'", op->loop[l].name);
        else
            loop[n] = l, loc[n] = node->loc, n++;
        seen |= 1U << l;
    }
    return n;
}

static void add_missing(const tw_op *op, bool reduces, unsigned seen, int *order, int *at)
{
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].reduces == reduces && !(seen >> l & 1)) order[(*at)++] = l;
}

void tw_map_order(tw_fields *f, const tw_op *op, int *order, tw_loc *loc)
{
    const tw_node *list = tw_field_list(f, "order", TW_OPTIONAL);
    int given[TW_MAX_LOOPS], at = 0, n = 0;
    tw_loc where[TW_MAX_LOOPS];
    unsigned seen = 0;
    bool complete = false; /* the parallel loops are all there */
    if (list) n = tw_map_loops(f, list, op, given, where);
    for (int i = 0; i < n; i++) seen |= 1U << given[i];
    for (int i = 0; i < n; i++) {
        if (op->loop[given[i]].reduces && !complete) {
            add_missing(op, false, seen, order, &at);
            complete = true;
        }
        loc[at] = where[i];
        order[at++] = given[i];
    }
    if (!complete) add_missing(op, false, seen, order, &at);
    add_missing(op, true, seen, order, &at);
}

void tw_map_cuts(tw_fields *f, const char *key, const tw_op *op, int64_t *out, tw_loc *loc)
{
    const tw_node *map = tw_field_map(f, key, TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int l = tw_map_loop(f, op, node->key, node->key_loc);
        if (l < 0) continue;
        f->n_bad += !tw_node_int(node, node->key, 1, TW_EXTENT_MAX, f->diag, &out[l]);
        loc[l] = node->loc;
    }
}

bool tw_map_keep(tw_fields *f, const tw_op *op, const char *operand, const tw_node *word, int *out)
{
    const char *text = word->kind == TW_SCALAR ? word->text : "";
    int loop = tw_op_find_loop(op, text);
    bool tile = strcmp(text, "tile") == 0, all = strcmp(text, "all") == 0;
    if (!tile && !all && loop < 0) {
        TW_REFUSE(f, word->loc, "'keep' of '%s' must be a loop, 'tile' or 'all', found '%s'; the loops are %s",
                  operand, word->kind == TW_SCALAR ? text : "...", loop_names(op).text);
        return false;
    }
    *out = tile ? TW_KEEP_TILE : all ? TW_KEEP_ALL : loop;
    return true;
}

bool tw_map_slide(tw_fields *f, const tw_op *op, const char *operand, const tw_node *word, int *out)
{
    const char *text = word->kind == TW_SCALAR ? word->text : "";
    int loop = tw_op_find_loop(op, text);
    if (loop < 0 && strcmp(text, "none") != 0) {
        TW_REFUSE(f, word->loc, "'slide' of '%s' must be a loop or 'none', found '%s'; the loops are %s", operand,
                  word->kind == TW_SCALAR ? text : "...", loop_names(op).text);
        return false;
    }
    *out = loop < 0 ? TW_SLIDE_NONE : loop;
    return true;
}

tw_status tw_map_check_slide(const tw_op *op, int operand, int loop, tw_loc loc, tw_diag *diag)
{
    const tw_operand *o = &op->operand[operand];
    const char *name = op->loop[loop].name;
    int n_axes = 0;
    int64_t coef = 0;
    if (operand == tw_op_output(op))
        return tw_diag_error(diag, loc, "'%s' is the output: only windows of inputs slide", o->name);
    for (int a = 0; a < o->n_axes; a++)
        for (int t = 0; t < o->axis[a].n_terms; t++)
            if (o->axis[a].term[t].loop == loop) n_axes++, coef = o->axis[a].term[t].coef;
    if (n_axes == 0)
        return tw_diag_error(diag, loc, "'%s' does not depend on '%s', so no window of it slides along that loop",
                             o->name, name);
    if (n_axes > 1)
        return tw_diag_error(diag, loc, "'%s' moves '%s' along %d axes: a window slides along one", name, o->name,
                             n_axes);
    if (coef > 0) return TW_OK;
    return tw_diag_error(diag, loc, "'%s' moves '%s' backwards, a window slides forwards", name, o->name);
}

/* Of "oc/2" the share of the loop, 0: the text has none, -1: it is no number; and the length of its name. */
static int64_t share_of(const char *text, size_t *len)
{
    const char *slash = strchr(text, '/');
    *len = slash ? (size_t)(slash - text) : strlen(text);
    int64_t share = 0;
    for (const char *c = slash ? slash + 1 : ""; *c; c++) {
        if (*c < '0' || *c > '9' || share > TW_EXTENT_MAX) return -1;
        share = 10 * share + (*c - '0');
    }
    return slash && share == 0 ? -1 : share;
}

int tw_map_over(tw_fields *f, const tw_op *op, const char *text, tw_loc loc, int dim, tw_spread *over)
{
    char name[TW_NAME_MAX + 1];
    size_t len;
    int64_t share = share_of(text, &len);
    tw_snprintf(name, sizeof name, "%.*s", (int)tw_min((int64_t)len, TW_NAME_MAX), text);
    int l = tw_map_loop(f, op, name, loc);
    if (l < 0) return -1;
    if (tw_spread_has(over, l, dim) || (share == 0 && over->dim[l] > 0)) {
        TW_REFUSE(f, loc, "'unroll' names '%s' twice", name);
        return -1;
    }
    if (share != 0 && (share < 2 || share > op->loop[l].extent || share > INT32_MAX)) {
        TW_REFUSE(f, loc, "'%s' must be '%s/N' with N in 2..%" PRId64 ", the points side by side", text, name,
                  op->loop[l].extent);
        return -1;
    }
    if (share > 0)
        over->share[l][dim] = (int32_t)share;
    else
        over->dim[l] = (int8_t)(dim + 1);
    return l;
}

/* A loop, or a list of loops, lies over the dimension. */
static void read_over(tw_fields *f, const tw_op *op, const tw_node *node, int dim, tw_spread *over)
{
    const tw_node *entry = node->kind == TW_LIST ? node->child : node;
    for (; entry; entry = node->kind == TW_LIST ? entry->next : NULL)
        tw_map_over(f, op, entry->kind == TW_SCALAR ? entry->text : "", entry->loc, dim, over);
}

static int find_dim(const tw_cost *cost, const char *name)
{
    for (int d = 0; d < tw_cost_dims(cost); d++)
        if (strcmp(cost->array.dim[d], name) == 0) return d;
    return -1;
}

void tw_map_unroll(tw_fields *f, const tw_op *op, const tw_cost *cost, tw_spread *over, tw_loc *loc)
{
    const tw_node *node = tw_field_node(f, "unroll", TW_OPTIONAL);
    int n = cost->kind == TW_COST_ARRAY ? cost->array.n_dims : 2, d = 0;
    if (!node) return;
    *loc = node->loc;
    if (node->kind == TW_SCALAR || (node->kind == TW_LIST && node->n_children != n)) {
        bool plain = cost->kind != TW_COST_ARRAY || tw_dims_are_plain(&cost->array);
        TW_REFUSE(f, node->loc, "'unroll' must name %d loops%s", n, plain ? ": rows, then columns" : "");
        return;
    }
    for (const tw_node *entry = node->child; entry; entry = entry->next, d++) {
        int dim = node->kind == TW_LIST ? d : find_dim(cost, entry->key);
        if (dim < 0)
            TW_REFUSE(f, entry->key_loc, "the array has no dimension '%s'", entry->key);
        else
            read_over(f, op, entry, dim, over);
    }
}

/* ---- what the machine lets a level have ---- */

bool tw_map_holds(const tw_op *op, const tw_machine *machine, int memory, int operand)
{
    return tw_machine_path(machine, op, operand) >> memory & 1;
}

bool tw_map_offers(const tw_machine *machine, tw_accumulate mode)
{
    return machine->engine[machine->compute].accumulate >> mode & 1;
}

tw_status tw_map_check_offered(const tw_machine *machine, tw_accumulate mode, tw_loc loc, tw_diag *diag)
{
    tw_words all = {0};
    if (tw_map_offers(machine, mode)) return TW_OK;
    for (int m = 0; m < TW_N_ACCUMULATES; m++)
        if (tw_map_offers(machine, (tw_accumulate)m)) tw_words_add(&all, tw_accumulate_name((tw_accumulate)m));
    return tw_diag_error(diag, loc, "machine '%s' does not accumulate '%s'; it offers %s", machine->name,
                         tw_accumulate_name(mode), all.text);
}

tw_status tw_map_check_order(const tw_op *op, const tw_machine *machine, const int *order, const tw_loc *loc,
                             tw_diag *diag)
{
    unsigned seen = 0;
    int reduction = -1;
    for (int i = 0; i < op->n_loops; i++) {
        int l = order[i];
        if (l < 0 || l >= op->n_loops || (seen >> l & 1))
            return tw_diag_error(diag, loc[i], "'order' must hold every loop once");
        seen |= 1U << l;
        if (tw_discipline_of(machine)->sums_leave) continue;
        if (op->loop[l].reduces)
            reduction = l;
        else if (reduction >= 0)
            return tw_diag_error(
                diag, loc[i],
                "loop '%s' is inside reduction loop '%s': partial sums would have to leave the memory",
                op->loop[l].name, op->loop[reduction].name);
    }
    return TW_OK;
}

tw_status tw_map_check_pass(const tw_machine *machine, int memory, tw_loc loc, tw_diag *diag)
{
    if (memory < machine->n_memories - 1) return TW_OK;
    return tw_diag_error(diag, loc, "the innermost memory '%s' cannot be passed through",
                         machine->memory[memory].name);
}
