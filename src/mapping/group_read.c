/* src/mapping/group_read.c - `groups` of a mapping file; see groups.h.
 *
 * An entry becomes one group or, with `split`, one per core: it is then read once for each, with the names of that core. What is
 * wrong in the first reading is not read again, so that it is reported once. */
#include <string.h>

#include "mapping/groups.h"
#include "mapping/mapping_read.h"

enum { MOST_HOLDS = TW_MAX_GROUP_LEVELS * TW_MAX_GROUP_OPS * TW_MAX_OPERANDS, MOST_SHARE = 1000000 };

/* The group that is being read. */
typedef struct reader {
    const tw_grouping *c; /* its `group` is not there yet */
    const tw_platform *platform;
    tw_fields f;
    tw_diag *diag;
    bool may_be_open; /* levels may be missing                        */
    int core;         /* whose names are short; -1: not said          */
    int home;         /* else the one whose engines the group has; -1: none */
    tw_loc loc;
    const char *name;
    int n_ops, n_cuts, n_levels, n_holds;
    tw_group_op op[TW_MAX_GROUP_OPS];
    tw_nest_cut cut[TW_MAX_CUTS];
    tw_group_level level[TW_MAX_GROUP_LEVELS];
    tw_hold hold[MOST_HOLDS];
    int n_parts;
    tw_group_part part[TW_MAX_SPLIT_LOOPS];
    int running;
    tw_group_locs *locs;
} reader;

/* A loop that is divided, and in which shares. */
typedef struct divided {
    const char *loop;
    tw_loc loc;
    int n;
    int64_t share[TW_MAX_CORES];
} divided;

/* How an entry is split: over cores, or not at all, and then there is one piece. Of several loops the last one's pieces change first. */
typedef struct split {
    tw_loc loc;
    int n_loops; /* 0: there is no split */
    divided by[TW_MAX_SPLIT_LOOPS];
    int n, core[TW_MAX_CORES];
} split;

/* ---- names ---- */

static const char *text_of(const tw_node *node) { return node->kind == TW_SCALAR ? node->text : "..."; }

static const tw_op *member(const reader *r, int i) { return &r->c->model->op[r->op[i].op]; }

static const tw_op *driver(const reader *r) { return member(r, r->n_ops - 1); }

static int find_model_op(reader *r, const tw_node *node)
{
    const tw_model *model = r->c->model;
    tw_words all = {0};
    for (int o = 0; o < model->n_ops; o++) {
        if (node->kind == TW_SCALAR && strcmp(model->op[o].name, node->text) == 0) return o;
        tw_words_add(&all, model->op[o].name);
    }
    TW_REFUSE(&r->f, node->loc, "workload '%s' has no operator '%s'; its operators are %s", model->name,
              text_of(node), all.text);
    return -1;
}

/* The operator of the group that an entry is about. */
static int find_member(reader *r, const tw_node *node)
{
    tw_words all = {0};
    for (int i = 0; i < r->n_ops; i++) {
        if (strcmp(member(r, i)->name, node->key) == 0) return i;
        tw_words_add(&all, member(r, i)->name);
    }
    TW_REFUSE(&r->f, node->key_loc, "the group has no operator '%s'; its operators are %s", node->key, all.text);
    return -1;
}

static int find_core(tw_fields *f, const tw_platform *platform, const tw_node *node)
{
    int core = node->kind == TW_SCALAR ? tw_platform_find_core(platform, node->text) : -1;
    tw_words all = {0};
    if (core >= 0) return core;
    for (int i = 0; i < platform->n_cores; i++) tw_words_add(&all, platform->core[i].name);
    if (platform->n_cores == 0)
        TW_REFUSE(f, node->loc, "there is no core '%s': the machine has no cores", text_of(node));
    else
        TW_REFUSE(f, node->loc, "there is no core '%s'; the cores are %s", text_of(node), all.text);
    return -1;
}

/* Whether what belongs to `core` can be meant in the group. */
static bool is_near(const reader *r, int core) { return r->core < 0 || core < 0 || core == r->core; }

static int find_memory(reader *r, tw_fields *f, const tw_node *at)
{
    int m = at->kind == TW_SCALAR ? tw_platform_find_memory(r->platform, at->text, r->core) : -1;
    tw_words all = {0};
    if (m == -2 && r->home >= 0) m = tw_platform_find_memory(r->platform, at->text, r->home);
    if (m >= 0) return m;
    for (int i = 1; i < r->platform->n_memories; i++)
        if (is_near(r, r->platform->memory[i].core)) tw_words_add(&all, r->platform->memory[i].name);
    if (m == -2)
        TW_REFUSE(f, at->loc, "several cores have a memory '%s'; say 'core', or one of %s", at->text, all.text);
    else
        TW_REFUSE(f, at->loc, "'at' must be one of %s, found '%s'", all.text, text_of(at));
    return -1;
}

static const char *view_name(const reader *r, int view)
{
    return r->platform->engine[r->platform->view[view].engine].name;
}

static int view_core(const reader *r, int view) { return r->platform->engine[r->platform->view[view].engine].core; }

static int find_view(reader *r, const tw_node *node)
{
    int v = node->kind == TW_SCALAR ? tw_platform_find_view(r->platform, node->text, r->core) : -1;
    tw_words all = {0};
    if (v >= 0) return v;
    for (int i = 0; i < r->platform->n_views; i++)
        if (is_near(r, view_core(r, i))) tw_words_add(&all, view_name(r, i));
    if (v == -2)
        TW_REFUSE(&r->f, node->loc, "several cores have an engine '%s'; say 'core', or one of %s", node->text,
                  all.text);
    else
        TW_REFUSE(&r->f, node->loc, "there is no compute engine '%s'; there are %s", text_of(node), all.text);
    return -1;
}

/* The tensor that an operand of exactly one operator is called after; -1: none, -2: there are several. */
static int find_operand(const reader *r, const char *name)
{
    int tensor = -1;
    for (int i = 0; i < r->n_ops; i++) {
        int o = tw_op_find_operand(member(r, i), name);
        if (o < 0) continue;
        if (tensor >= 0) return -2;
        tensor = member(r, i)->operand[o].tensor;
    }
    return tensor;
}

static bool touches(const reader *r, int tensor)
{
    for (int i = 0; i < r->n_ops; i++)
        for (int o = 0; o < member(r, i)->n_operands; o++)
            if (member(r, i)->operand[o].tensor == tensor) return true;
    return false;
}

static int find_tensor(reader *r, tw_fields *f, const tw_node *node)
{
    const tw_model *model = r->c->model;
    tw_words all = {0};
    int tensor = -1;
    for (int t = 0; t < model->n_tensors; t++) {
        if (touches(r, t)) tw_words_add(&all, model->tensor[t].name);
        if (strcmp(model->tensor[t].name, node->key) == 0) tensor = t;
    }
    if (tensor < 0) tensor = find_operand(r, node->key);
    if (tensor >= 0 && touches(r, tensor)) return tensor;
    if (tensor == -2)
        TW_REFUSE(f, node->key_loc, "several operators of the group have an operand '%s'; its tensors are %s",
                  node->key, all.text);
    else
        TW_REFUSE(f, node->key_loc, "the group has no tensor '%s'; its tensors are %s", node->key, all.text);
    return -1;
}

/* ---- operators and engines ---- */

static void read_ops(reader *r)
{
    const tw_node *list = tw_field_list(&r->f, "ops", TW_REQUIRED);
    if (!list) return;
    if (list->n_children < 1 || list->n_children > TW_MAX_GROUP_OPS) {
        TW_REFUSE(&r->f, list->loc, "a group has 1..%d operators, found %d", TW_MAX_GROUP_OPS, list->n_children);
        return;
    }
    for (const tw_node *node = list->child; node; node = node->next) {
        int op = find_model_op(r, node);
        if (op < 0) continue;
        r->locs->op[r->n_ops] = r->locs->engine[r->n_ops] = node->loc;
        r->op[r->n_ops++] = (tw_group_op){.op = op, .view = -1};
    }
}

static bool computes(const reader *r, int view, const tw_op *op)
{
    return tw_machine_computes(&r->platform->view[view].machine, op);
}

/* The first engine that can compute the operator: of the core, or one that all share. */
static int default_view(const reader *r, const tw_op *op)
{
    int shared = -1;
    for (int v = 0; v < r->platform->n_views; v++) {
        int core = view_core(r, v);
        if (!computes(r, v, op) || !is_near(r, core)) continue;
        if (core == r->core || r->core < 0) return v;
        if (shared < 0) shared = v;
    }
    return shared;
}

/* `engines`: one for all, or by operator. */
static void read_engines(reader *r)
{
    const tw_node *node = tw_field_node(&r->f, "engines", TW_OPTIONAL);
    bool map = node && node->kind == TW_NODE_MAP;
    for (const tw_node *entry = map ? node->child : NULL; entry; entry = entry->next) {
        int i = find_member(r, entry);
        if (i < 0) continue;
        r->op[i].view = find_view(r, entry);
        r->locs->engine[i] = entry->loc;
    }
    int all = node && !map ? find_view(r, node) : -1;
    for (int i = 0; i < r->n_ops && r->f.n_bad == 0; i++) {
        if (all >= 0) r->op[i].view = all, r->locs->engine[i] = node->loc;
        if (r->op[i].view < 0) r->op[i].view = default_view(r, member(r, i));
        if (r->op[i].view < 0)
            TW_REFUSE(&r->f, r->locs->op[i], "operator '%s' computes %s, which no engine%s%s does",
                      member(r, i)->name, tw_compute_name(member(r, i)->compute), r->core < 0 ? "" : " of core ",
                      r->core < 0 ? "" : r->platform->core[r->core].name);
    }
}

/* Where no core is said, a short name that several cores have is of the one whose engines the group has. */
static void settle_home(reader *r)
{
    for (int i = 0; i < r->n_ops && r->home < 0; i++) r->home = view_core(r, r->op[i].view);
}

/* ---- levels ---- */

static void add_cut(reader *r, tw_fields *f, tw_nest_cut cut)
{
    if (r->n_cuts == TW_MAX_CUTS)
        TW_REFUSE(f, cut.loc, "the levels of a group cut at most %d times", TW_MAX_CUTS);
    else
        r->cut[r->n_cuts++] = cut;
}

static void read_cuts(reader *r, tw_fields *f)
{
    const char *word[TW_N_CUTS] = {tw_cut_name(TW_BALANCED), tw_cut_name(TW_GREEDY)};
    int64_t count[TW_MAX_LOOPS] = {0}, size[TW_MAX_LOOPS] = {0};
    tw_loc loc[TW_MAX_LOOPS] = {0}, order_loc[TW_MAX_LOOPS];
    int rule = TW_BALANCED, order[TW_MAX_LOOPS];
    tw_map_cuts(f, "tiles", driver(r), count, loc);
    tw_map_cuts(f, "sizes", driver(r), size, loc);
    tw_field_word(f, "cut", TW_OPTIONAL, word, TW_N_CUTS, &rule);
    tw_map_order(f, driver(r), order, order_loc);
    for (int i = 0; i < driver(r)->n_loops; i++) {
        int l = order[i];
        if (count[l] > 0 && size[l] > 0)
            TW_REFUSE(f, loc[l], "'%s' has both a count and a size", driver(r)->loop[l].name);
        else if (count[l] > 0 || size[l] > 0)
            add_cut(r, f,
                    (tw_nest_cut){loc[l], r->n_levels, l, count[l] > 0 ? (tw_cut)rule : TW_BALANCED, count[l],
                                  size[l]});
    }
}

/* What is said about the tensor at the level whose holds begin at `first`; they stand in the order of the tensors. */
static tw_hold *hold_of(reader *r, int first, int tensor, int memory, tw_loc loc)
{
    int at = first;
    while (at < r->n_holds && r->hold[at].tensor < tensor) at++;
    if (at < r->n_holds && r->hold[at].tensor == tensor) return &r->hold[at];
    memmove(&r->hold[at + 1], &r->hold[at], (size_t)(r->n_holds - at) * sizeof *r->hold);
    r->n_holds++;
    r->hold[at] = (tw_hold){.loc = loc, .tensor = tensor, .memory = memory, .depth = -1};
    return &r->hold[at];
}

static void read_buffers(reader *r, tw_fields *f, int first, int memory)
{
    const tw_node *map = tw_field_map(f, "buffers", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int tensor = find_tensor(r, f, node);
        if (tensor < 0) continue;
        tw_hold *hold = hold_of(r, first, tensor, memory, node->loc);
        if (hold->slots > 0)
            TW_REFUSE(f, node->key_loc, "'%s' is given twice in 'buffers'", r->c->model->tensor[tensor].name);
        f->n_bad += !tw_node_int(node, node->key, 1, TW_MAX_CREDITS, f->diag, &hold->slots);
    }
}

/* The cuts that stand still while the loop does, at the level whose cuts begin at `outside`; -1: it does not cut it. */
static int depth_of(const reader *r, int outside, int loop)
{
    for (int k = outside; k < r->n_cuts; k++)
        if (r->cut[k].loop == loop) return k + 1;
    return -1;
}

static void read_keep(reader *r, tw_fields *f, int first, int outside, int memory)
{
    const tw_node *map = tw_field_map(f, "keep", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int keep = TW_KEEP_TILE, tensor = find_tensor(r, f, node);
        if (tensor < 0 || !tw_map_keep(f, driver(r), node->key, node, &keep) || keep == TW_KEEP_TILE) continue;
        tw_hold *hold = hold_of(r, first, tensor, memory, node->loc);
        if (hold->depth >= 0)
            TW_REFUSE(f, node->key_loc, "'%s' is given twice in 'keep'", r->c->model->tensor[tensor].name);
        hold->depth = keep == TW_KEEP_ALL ? outside : depth_of(r, outside, keep);
        hold->loc = node->loc;
        if (hold->depth < 0)
            TW_REFUSE(f, node->loc, "'%s' is not cut at this level, so that '%s' cannot be kept while it stands",
                      driver(r)->loop[keep].name, node->key);
    }
}

/* Windows that slide along a loop that this level, or one further outside, cuts. */
static void read_slide(reader *r, tw_fields *f, int first, int memory)
{
    const tw_node *map = tw_field_map(f, "slide", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int tensor = find_tensor(r, f, node),
            loop = tensor < 0 ? -1 : tw_map_loop(f, driver(r), text_of(node), node->loc);
        if (loop < 0) continue;
        tw_hold *hold = hold_of(r, first, tensor, memory, node->loc);
        if (hold->slide > 0)
            TW_REFUSE(f, node->key_loc, "'%s' is given twice in 'slide'", r->c->model->tensor[tensor].name);
        hold->slide = loop + 1;
        hold->loc = node->loc;
        if (depth_of(r, 0, loop) < 0)
            TW_REFUSE(f, node->loc,
                      "'%s' is cut neither at this level nor further outside, so that '%s' cannot slide along it",
                      driver(r)->loop[loop].name, node->key);
    }
}

static void read_level(reader *r, const tw_node *node)
{
    tw_fields f = tw_fields_open(node, "level of a group", r->diag);
    const tw_node *at = tw_field_node(&f, "at", TW_REQUIRED);
    int memory = at ? find_memory(r, &f, at) : -1, outside = r->n_cuts, first = r->n_holds;
    if (f.node) {
        read_cuts(r, &f);
        read_buffers(r, &f, first, memory);
        read_keep(r, &f, first, outside, memory);
        read_slide(r, &f, first, memory);
    }
    r->f.n_bad += tw_fields_close(&f) != TW_OK;
    r->level[r->n_levels++] = (tw_group_level){at ? at->loc : node->loc, memory, r->n_cuts};
}

/* Without levels all else is the search's. */
static void read_open(reader *r)
{
    static const char *const closed[] = {"core", "split", "engines", "part", "unroll", "reduce", "running"};
    for (size_t i = 0; i < TW_COUNT(closed); i++) {
        const tw_node *node = tw_field_node(&r->f, closed[i], TW_OPTIONAL);
        if (node)
            TW_REFUSE(&r->f, node->key_loc,
                      "a group without 'levels' is searched: it has 'ops' and 'name' alone, no '%s'", closed[i]);
    }
}

static void read_levels(reader *r)
{
    const tw_node *list = tw_field_list(&r->f, "levels", r->may_be_open ? TW_OPTIONAL : TW_REQUIRED);
    if (!list) return;
    if (list->n_children < 1 || list->n_children > TW_MAX_GROUP_LEVELS) {
        TW_REFUSE(&r->f, list->loc, "a group has 1..%d levels, found %d", TW_MAX_GROUP_LEVELS, list->n_children);
        return;
    }
    for (const tw_node *node = list->child; node; node = node->next) read_level(r, node);
}

/* ---- arrays and reductions ---- */

static int lay_over(reader *r, int i, const char *text, tw_loc loc, int dim)
{
    int l = tw_map_over(&r->f, member(r, i), text, loc, dim, &r->op[i].over);
    if (l >= 0) r->locs->unroll[i][l] = loc;
    return l;
}

/* A loop, a list of loops, or a map from loops to parts. */
static void read_over(reader *r, int i, const tw_node *node, int dim)
{
    if (node->kind == TW_SCALAR) lay_over(r, i, node->text, node->loc, dim);
    for (const tw_node *entry = node->child; entry; entry = entry->next) {
        bool parts = node->kind == TW_NODE_MAP;
        int l = lay_over(r, i, parts ? entry->key : text_of(entry), parts ? entry->key_loc : entry->loc, dim);
        if (!parts || l < 0) continue;
        r->locs->unroll[i][l] = entry->loc;
        r->f.n_bad += !tw_node_int(entry, entry->key, 1, TW_EXTENT_MAX, r->diag, &r->op[i].parts[l]);
    }
}

static int find_dim(reader *r, const tw_cost *cost, const tw_node *node, int i)
{
    tw_words all = {0};
    for (int d = 0; d < tw_cost_dims(cost); d++) {
        if (strcmp(cost->array.dim[d], node->key) == 0) return d;
        tw_words_add(&all, cost->array.dim[d]);
    }
    TW_REFUSE(&r->f, node->key_loc, "the array of '%s' has no dimension '%s'; it has %s",
              view_name(r, r->op[i].view), node->key, all.text);
    return -1;
}

static void read_unroll_of(reader *r, int i, const tw_node *node)
{
    const tw_cost *cost = tw_group_cost(r->c, &r->op[i]);
    int d = 0;
    if (!computes(r, r->op[i].view, member(r, i))) return; /* which the checks say */
    if (cost->kind != TW_COST_ARRAY) {
        TW_REFUSE(&r->f, node->loc, "engine '%s' has no array to unroll '%s' over", view_name(r, r->op[i].view),
                  member(r, i)->name);
        return;
    }
    if (node->kind == TW_SCALAR || (node->kind == TW_LIST && node->n_children != tw_cost_dims(cost))) {
        TW_REFUSE(&r->f, node->loc, "'unroll' of '%s' must be a map from dimensions to loops, or a list of %d",
                  member(r, i)->name, tw_cost_dims(cost));
        return;
    }
    for (const tw_node *entry = node->child; entry; entry = entry->next, d++) {
        int dim = node->kind == TW_LIST ? d : find_dim(r, cost, entry, i);
        if (dim >= 0) read_over(r, i, entry, dim);
    }
}

static void read_unroll(reader *r)
{
    const tw_node *map = tw_field_map(&r->f, "unroll", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int i = find_member(r, node);
        if (i >= 0) read_unroll_of(r, i, node);
    }
}

static void read_reduce(reader *r)
{
    const tw_node *map = tw_field_map(&r->f, "reduce", TW_OPTIONAL);
    for (const tw_node *node = map ? map->child : NULL; node; node = node->next) {
        int i = find_member(r, node);
        if (i < 0) continue;
        if (node->kind != TW_NODE_MAP) {
            TW_REFUSE(&r->f, node->loc, "'reduce' of '%s' must be a map from loops to sizes", node->key);
            continue;
        }
        for (const tw_node *entry = node->child; entry; entry = entry->next) {
            int l = tw_map_loop(&r->f, member(r, i), entry->key, entry->key_loc);
            if (l < 0) continue;
            r->locs->reduce[i][l] = entry->loc;
            r->f.n_bad += !tw_node_int(entry, entry->key, 1, TW_EXTENT_MAX, r->diag, &r->op[i].reduce[l]);
        }
    }
}

/* `running`: the driver's loop along which reductions of the group run. */
static void read_running(reader *r)
{
    const tw_node *node = tw_field_node(&r->f, "running", TW_OPTIONAL);
    const char *loop = NULL;
    if (!node) return;
    tw_field_name(&r->f, "running", TW_OPTIONAL, &loop);
    r->locs->running = node->loc;
    if (loop) r->running = 1 + tw_map_loop(&r->f, driver(r), loop, node->loc);
}

/* ---- parts ---- */

/* What the group has of one loop. */
static void read_part_of(reader *r, const tw_node *node)
{
    const char *loop = NULL;
    tw_group_part part = {.loop = -1};
    tw_fields f = tw_fields_open(node, "part", r->diag);
    tw_field_name(&f, "loop", TW_REQUIRED, &loop);
    tw_field_int(&f, "from", TW_REQUIRED, 0, TW_EXTENT_MAX, &part.span.lo);
    tw_field_int(&f, "to", TW_REQUIRED, 0, TW_EXTENT_MAX, &part.span.hi);
    if (loop) part.loop = tw_map_loop(&f, driver(r), loop, tw_field_node(&f, "loop", TW_OPTIONAL)->loc);
    r->part[r->n_parts++] = part;
    r->f.n_bad += tw_fields_close(&f) != TW_OK;
}

/* `part`, as the printer writes it: of one loop, or a list of them. */
static void read_part(reader *r)
{
    const tw_node *node = tw_field_node(&r->f, "part", TW_OPTIONAL);
    if (!node) return;
    r->locs->part = node->loc;
    if (node->kind != TW_LIST) {
        read_part_of(r, node);
        return;
    }
    if (node->n_children < 1 || node->n_children > TW_MAX_SPLIT_LOOPS) {
        TW_REFUSE(&r->f, node->loc, "'part' is of 1..%d loops, found %d", TW_MAX_SPLIT_LOOPS, node->n_children);
        return;
    }
    for (const tw_node *one = node->child; one; one = one->next) read_part_of(r, one);
}

/* Of one loop of the split, what share `at` of it is. */
static void take_share(reader *r, const split *s, const divided *by, int at, int core)
{
    int64_t sum = 0, before = 0, extent;
    int l = tw_map_loop(&r->f, driver(r), by->loop, by->loc);
    if (l < 0) return;
    for (int i = 0; i < by->n; i++) sum += by->share[i];
    for (int i = 0; i < at; i++) before += by->share[i];
    extent = driver(r)->loop[l].extent;
    const tw_span span = {extent * before / sum, extent * (before + by->share[at]) / sum};
    r->part[r->n_parts++] = (tw_group_part){l, span};
    if (span.lo == span.hi)
        TW_REFUSE(&r->f, s->loc,
                  "core '%s' gets nothing of '%s': its extent is %" PRId64 ", the share %" PRId64 " of %" PRId64,
                  r->platform->core[core].name, by->loop, extent, by->share[at], sum);
}

/* Piece `piece` of the split. */
static void take_piece(reader *r, const split *s, int piece)
{
    int inside = s->n;
    r->locs->part = s->loc;
    for (int l = 0; l < s->n_loops; l++) {
        inside /= s->by[l].n;
        take_share(r, s, &s->by[l], piece / inside % s->by[l].n, s->core[piece]);
    }
}

static void read_cores(tw_fields *f, const tw_platform *platform, const tw_node *list, split *s)
{
    if (list->n_children < 1 || list->n_children > TW_MAX_CORES) {
        TW_REFUSE(f, list->loc, "'cores' has 1..%d entries, found %d", TW_MAX_CORES, list->n_children);
        return;
    }
    for (const tw_node *node = list->child; node; node = node->next) {
        int core = find_core(f, platform, node);
        for (int i = 0; core >= 0 && i < s->n; i++)
            if (s->core[i] == core) {
                TW_REFUSE(f, node->loc, "core '%s' is given twice in 'cores'", node->text);
                core = -1;
            }
        if (core < 0) continue;
        s->core[s->n++] = core;
    }
}

static void read_shares(tw_fields *f, const tw_node *list, divided *by)
{
    int i = 0;
    if (f->n_bad > 0) return;
    if (list->n_children != by->n) {
        TW_REFUSE(f, list->loc, "'shares' has %d entries for %d cores", list->n_children, by->n);
        return;
    }
    for (const tw_node *node = list->child; node; node = node->next, i++)
        f->n_bad += !tw_node_int(node, "shares", 1, MOST_SHARE, f->diag, &by->share[i]);
}

/* One loop over all cores. */
static void divide_loop(tw_fields *f, split *s)
{
    divided *by = &s->by[s->n_loops];
    const tw_node *shares = tw_field_list(f, "shares", TW_OPTIONAL);
    if (!tw_field_name(f, "loop", TW_REQUIRED, &by->loop)) return;
    by->loc = tw_field_node(f, "loop", TW_OPTIONAL)->loc;
    by->n = s->n;
    for (int i = 0; i < by->n; i++) by->share[i] = 1;
    if (shares) read_shares(f, shares, by);
    s->n_loops++;
}

/* Several loops, each into a number of equal parts or by shares: as many pieces as there are cores. */
static void divide_loops(tw_fields *f, const tw_node *map, split *s)
{
    int64_t pieces = 1;
    for (const tw_node *node = map->child; node && f->n_bad == 0; node = node->next) {
        divided *by = &s->by[s->n_loops];
        int64_t n = node->n_children;
        if (s->n_loops == TW_MAX_SPLIT_LOOPS) {
            TW_REFUSE(f, node->key_loc, "'loops' has at most %d loops", TW_MAX_SPLIT_LOOPS);
            return;
        }
        if (node->kind != TW_LIST && !tw_node_int(node, node->key, 1, TW_MAX_CORES, f->diag, &n)) {
            f->n_bad++;
            return;
        }
        by->loop = node->key;
        by->loc = node->key_loc;
        by->n = (int)tw_clamp(n, 1, TW_MAX_CORES);
        for (int i = 0; i < by->n; i++) by->share[i] = 1;
        if (node->kind == TW_LIST) read_shares(f, node, by);
        pieces *= by->n;
        s->n_loops++;
    }
    if (f->n_bad == 0 && pieces != s->n)
        TW_REFUSE(f, map->loc, "'loops' makes %" PRId64 " pieces for %d cores", pieces, s->n);
}

static bool read_split(const tw_node *node, const tw_platform *platform, tw_diag *diag, split *s)
{
    tw_fields f = tw_fields_open(node, "split", diag);
    s->loc = node->loc;
    const tw_node *loops = tw_field_map(&f, "loops", TW_OPTIONAL), *cores = tw_field_list(&f, "cores", TW_REQUIRED);
    if (cores) read_cores(&f, platform, cores, s);
    if (loops && cores)
        divide_loops(&f, loops, s);
    else
        divide_loop(&f, s);
    return tw_fields_close(&f) == TW_OK;
}

/* ---- groups ---- */

/* `core`, `split` and `part`, of which the first two exclude each other, as do the last two. */
static void read_where(reader *r, const split *s, int piece)
{
    const tw_node *core = tw_field_node(&r->f, "core", TW_OPTIONAL);
    tw_field_node(&r->f, "split", TW_OPTIONAL);
    if (core) r->core = find_core(&r->f, r->platform, core);
    if (s->n_loops == 0) return;
    const tw_node *part = tw_field_node(&r->f, "part", TW_OPTIONAL);
    if (core) TW_REFUSE(&r->f, core->key_loc, "a group that is split has its cores in 'split', and no 'core'");
    if (part) TW_REFUSE(&r->f, part->key_loc, "a group has either 'split' or 'part'");
    r->core = s->core[piece];
}

/* Without operators and engines nothing can be made of the rest. */
static void read_fields(reader *r, const split *s, int piece)
{
    static const char *const rest[] = {"engines", "part", "levels", "unroll", "reduce", "running"};
    tw_field_label(&r->f, "name", TW_OPTIONAL, &r->name);
    read_where(r, s, piece);
    read_ops(r);
    for (size_t i = 0; i < TW_COUNT(rest); i++) tw_field_node(&r->f, rest[i], TW_OPTIONAL);
    if (r->f.n_bad == 0) read_engines(r);
    if (r->f.n_bad > 0) return;
    settle_home(r);
    if (s->n_loops > 0)
        take_piece(r, s, piece);
    else
        read_part(r);
    read_levels(r);
    if (r->may_be_open && !tw_field_node(&r->f, "levels", TW_OPTIONAL)) {
        read_open(r);
        return;
    }
    read_unroll(r);
    read_reduce(r);
    read_running(r);
}

/* "halves", or "halves.big" */
static tw_status name_group(reader *r, const split *s, int piece, tw_arena *arena)
{
    if (r->f.n_bad > 0) return TW_OK;
    if (!r->name) r->name = driver(r)->name;
    r->name = s->n_loops > 0 ? tw_arena_printf(arena, "%s.%s", r->name, r->platform->core[s->core[piece]].name)
                             : tw_arena_printf(arena, "%s", r->name);
    if (!r->name) return TW_ERR_NOMEM;
    if (!tw_label_is_valid(r->name))
        TW_REFUSE(&r->f, r->loc, "the name '%s' has more than %d bytes", r->name, TW_LABEL_MAX);
    return TW_OK;
}

static void *copy(tw_arena *arena, const void *from, int n, size_t size)
{
    void *to = tw_arena_alloc(arena, (size_t)n + 1, size);
    if (to) memcpy(to, from, (size_t)n * size);
    return to;
}

static tw_status keep_group(const reader *r, tw_arena *arena, tw_group_map *out)
{
    *out = (tw_group_map){.loc = r->loc,
                          .name = r->name,
                          .n_ops = r->n_ops,
                          .op = copy(arena, r->op, r->n_ops, sizeof *r->op),
                          .n_cuts = r->n_cuts,
                          .cut = copy(arena, r->cut, r->n_cuts, sizeof *r->cut),
                          .n_levels = r->n_levels,
                          .level = copy(arena, r->level, r->n_levels, sizeof *r->level),
                          .n_holds = r->n_holds,
                          .hold = copy(arena, r->hold, r->n_holds, sizeof *r->hold),
                          .n_parts = r->n_parts,
                          .running = r->running};
    memcpy(out->part, r->part, sizeof out->part);
    return out->op && out->cut && out->level && out->hold ? TW_OK : TW_ERR_NOMEM;
}

/* The groups so far. */
typedef struct file {
    tw_grouping c;
    tw_group_map *group;
    tw_group_locs *locs;
    bool some;
    tw_arena *arena;
} file;

/* One piece of an entry; *good says whether it is sound. */
static tw_status read_piece(file *all, const tw_node *node, const split *s, int piece, bool *good)
{
    tw_grouping *c = &all->c;
    reader r = {.c = c,
                .platform = c->machine->platform,
                .f = tw_fields_open(node, "group", c->diag),
                .diag = c->diag,
                .may_be_open = all->some,
                .core = -1,
                .home = -1,
                .loc = node->loc,
                .locs = &all->locs[c->n]};
    if (r.f.node) read_fields(&r, s, piece);
    TW_TRY(name_group(&r, s, piece, all->arena));
    *good = tw_fields_close(&r.f) == TW_OK;
    if (!*good) return TW_OK;
    TW_TRY(keep_group(&r, all->arena, &all->group[c->n++]));
    *good = tw_group_is_open(&c->group[c->n - 1]) || tw_grouping_check_one(c, c->n - 1) == TW_OK;
    return TW_OK;
}

static tw_status read_entry(file *all, const tw_node *node, bool *good)
{
    const tw_node *over = tw_node_entry(node, "split");
    split s = {.n = 0};
    *good = !over || read_split(over, all->c.machine->platform, all->c.diag, &s);
    for (int piece = 0; *good && piece < (over ? s.n : 1); piece++) TW_TRY(read_piece(all, node, &s, piece, good));
    return TW_OK;
}

/* How many groups the entries make, at most. */
static int count_groups(const tw_node *list)
{
    int n = 0;
    for (const tw_node *node = list->child; node; node = node->next) {
        const tw_node *over = tw_node_entry(node, "split"), *cores = over ? tw_node_entry(over, "cores") : NULL;
        n += cores && cores->n_children > 0 ? cores->n_children : 1;
    }
    return n;
}

tw_status tw_groups_of_tree(tw_fields *f, const tw_model *model, const tw_machine *machine, bool some,
                            tw_arena *arena, tw_mapping *out)
{
    const tw_node *list = tw_field_list(f, "groups", TW_REQUIRED);
    file all = {.c = {.model = model, .machine = machine, .diag = f->diag}, .some = some, .arena = arena};
    if (!list) return TW_OK;
    TW_TRY(tw_grouping_check_machine(machine, list->key_loc, f->diag));
    int n = count_groups(list);
    if (n < 1 || n > TW_MAX_GROUPS)
        return tw_diag_error(f->diag, list->loc, "a mapping has 1..%d groups, found %d", TW_MAX_GROUPS, n);
    TW_ALLOC(arena, all.group, n);
    TW_ALLOC(arena, all.locs, n);
    all.c.group = all.group;
    all.c.locs = all.locs;
    all.c.loc = list->loc;
    for (const tw_node *node = list->child; node; node = node->next) {
        bool good = true;
        TW_TRY(read_entry(&all, node, &good));
        f->n_bad += !good;
    }
    TW_TRY(tw_residents_of_tree(f, arena, &all.c));
    TW_TRY(tw_rooms_of_tree(f, arena, &all.c));
    if (f->n_bad == 0) f->n_bad += (some ? tw_grouping_check_some : tw_grouping_check_all)(&all.c) != TW_OK;
    out->n_groups = all.c.n;
    out->group = all.group;
    out->n_residents = all.c.n_residents;
    out->resident = all.c.resident;
    out->n_rooms = all.c.n_rooms;
    out->room = all.c.room;
    return TW_OK;
}
