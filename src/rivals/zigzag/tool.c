/* src/rivals/zigzag/tool.c - ZigZag's files: which they are, what they say together, and the account of a layer. */
#include "rivals/zigzag/count.h"
#include "rivals/zigzag/foreign.h"
#include "rivals/zigzag/remarks.h"
#include "rivals/zigzag/zigzag.h"

#include <math.h>
#include <string.h>

static bool knows(const tw_node *root)
{
    return tw_zz_is_accelerator(root) || tw_zz_is_mapping(root) || tw_zz_is_workload(root);
}

/* ---- layers as products ---- */

static bool has_window(const tw_zz_layer *l, int operand)
{
    for (int i = 0; i < l->n_indices[operand]; i++)
        if (l->index[operand][i] >= l->n_dims) return true;
    return false;
}

static bool is_in_window(const tw_zz_layer *l, int dim)
{
    for (int i = 0; i < l->n_relations; i++)
        if (l->relation[i].dim[0] == dim || l->relation[i].dim[1] == dim) return true;
    return false;
}

static void add_rank(tw_einsum_operand *e, tw_einsum_rank rank)
{
    if (e->n_ranks < TW_RIVAL_RANKS) e->rank[e->n_ranks++] = rank;
}

/* What a window reaches at most: as the layer says, or what its loops reach without the padding. */
static int64_t extent_of(const tw_zz_layer *l, const tw_zz_relation *x)
{
    tw_zz_window w = {.dim = {x->dim[0], x->dim[1]}, .step = {x->step[0], x->step[1]}, .most = INFINITY};
    if (x->size > 0) return x->size;
    double reach = tw_zz_window_reach(&w, (double)l->extent[x->dim[0]], (double)l->extent[x->dim[1]]);
    return tw_max(1, (int64_t)reach - x->pad);
}

static void add_window(const tw_zz_layer *l, int relation, tw_einsum_operand *e, tw_zz_window_size *size)
{
    const tw_zz_relation *x = &l->relation[relation];
    if (e->n_ranks < TW_RIVAL_RANKS) size->most[e->n_ranks] = extent_of(l, x);
    add_rank(e, (tw_einsum_rank){.n_terms = 2,
                                 .term = {{x->dim[0], x->step[0]}, {x->dim[1], x->step[1]}},
                                 .has_before = x->has_before,
                                 .before = x->before});
}

/* An operand that has one window has all of them, as in the tool: those of the equation in its order, so that what a layer makes and the next reads has the
 * same axes. */
static void describe_operand(const tw_zz_layer *l, int operand, tw_einsum_operand *e, tw_zz_window_size *size)
{
    bool windows = has_window(l, operand);
    for (int i = 0; i < l->n_indices[operand]; i++) {
        int d = l->index[operand][i];
        if (d < l->n_dims && !(windows && is_in_window(l, d))) add_rank(e, (tw_einsum_rank){1, {{d, 1}}});
    }
    bool added[TW_ZZ_WINDOWS] = {false};
    for (int i = 0; i < l->n_indices[operand]; i++) {
        int x = l->index[operand][i] - l->n_dims;
        if (x < 0 || added[x]) continue;
        add_window(l, x, e, size);
        added[x] = true;
    }
    for (int x = 0; windows && x < l->n_relations; x++)
        if (!added[x]) add_window(l, x, e, size);
}

static void describe(const tw_zz_layer *l, const tw_zz_entry *entry, tw_einsum *e, tw_zz_layer_facts *facts)
{
    static const char *const name[] = {"O", "W", "I"};
    *e = (tw_einsum){
        .name = l->name, .n_dims = l->n_dims, .n_operands = TW_ZZ_OPERANDS, .adds = l->adds, .value = l->value};
    facts->is_ordered = true;
    for (int d = 0; d < l->n_dims; d++) {
        e->dim[d] = l->dim[d];
        e->extent[d] = l->extent[d];
    }
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        tw_einsum_operand *x = &e->operand[entry->link[o]];
        *x = (tw_einsum_operand){.name = name[o], .updated = o == TW_ZZ_LAYER_O, .bits = l->bits[o]};
        if (o == TW_ZZ_LAYER_O) {
            x->bits = l->final_bits;
            x->partial_bits = l->bits[o];
        }
        describe_operand(l, o, x, &facts->size[entry->link[o]]);
        facts->order[o] = entry->link[l->order[o]];
    }
}

/* ---- reading ---- */

static tw_status read_one(tw_zz_reader *r, const tw_rival_file *file, int kind)
{
    if (file->graph) return kind == 2 ? tw_zz_read_network(r, file->graph) : TW_OK;
    if (tw_zz_is_accelerator(file->root)) return kind == 0 ? tw_zz_read_accelerator(r, file->root) : TW_OK;
    if (tw_zz_is_mapping(file->root)) return kind == 1 ? tw_zz_read_mapping(r, file->root) : TW_OK;
    return kind == 2 ? tw_zz_read_workload(r, file->root) : TW_OK;
}

/* The accelerator first: the others name its dimensions. */
static tw_status read_files(tw_zz_reader *r, const tw_rival_file *file, int n)
{
    static const char *const what[] = {"accelerator", "mapping", "workload"};
    tw_status status = TW_OK;
    for (int kind = 0; kind < 3; kind++) {
        for (int i = 0; i < n; i++) {
            tw_status one = read_one(r, &file[i], kind);
            if (one != TW_OK && one != TW_ERR_INPUT) return one;
            if (one != TW_OK) status = one;
        }
        bool there = kind == 0 ? r->machine != NULL : kind == 1 ? r->mapping != NULL : r->n_layers > 0;
        if (status == TW_OK && !there)
            return tw_diag_error(r->work.diag, (tw_loc){file[0].name, 0, 0}, "no %s of ZigZag was given",
                                 what[kind]);
        if (status != TW_OK && kind == 0) return status;
    }
    return status;
}

tw_status tw_zz_describe_layer(const tw_zz_layer *l, const tw_zz_entry *entry, tw_arena *arena, tw_rival_layer *out)
{
    tw_einsum *e;
    tw_zz_extra *x;
    TW_ALLOC(arena, e, 1);
    TW_ALLOC(arena, x, 1);
    describe(l, entry, e, &x->facts);
    x->layer = l;
    x->entry = entry;
    *out = (tw_rival_layer){.name = l->name, .einsum = e, .loc = l->loc, .extra = x};
    return TW_OK;
}

tw_status tw_zz_build_layer(tw_zz_reader *r, const tw_zz_layer *l, const tw_zz_entry *entry, tw_rival_layer *out)
{
    TW_TRY(tw_zz_describe_layer(l, entry, r->work.arena, out));
    tw_zz_extra *x = (tw_zz_extra *)(uintptr_t)out->extra;
    x->facts.listed = (const int(*)[TW_ZZ_OPERANDS])r->listed;
    return tw_zz_unrollings_of(r, l, entry, x);
}

static tw_status build_layer(tw_zz_reader *r, const tw_zz_layer *l, tw_rival_layer *out)
{
    const tw_zz_entry *entry = tw_zz_entry_for(r->mapping, l);
    if (entry) return tw_zz_build_layer(r, l, entry, out);
    return tw_diag_error(r->work.diag, l->loc,
                         "no mapping is called '%s', as the layer is, '%s', as its type is, or 'default'", l->name,
                         l->type);
}

void tw_zz_find_makers(const tw_zz_layer *l, int n, tw_rival_layer *out)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            if (l[k].id == l[i].source) out[i].made_by = k + 1;
            if (l[k].id == l[i].other) out[i].also_by = k + 1;
        }
}

static tw_status read(const tw_rival_file *file, int n, tw_work work, tw_rival *out)
{
    tw_zz_reader r = {.work = work};
    tw_rival_layer *layer;
    TW_TRY(read_files(&r, file, n));
    TW_ALLOC(work.arena, layer, r.n_layers);
    for (int i = 0; i < r.n_layers; i++) TW_TRY(build_layer(&r, &r.layer[i], &layer[i]));
    tw_zz_find_makers(r.layer, r.n_layers, layer);
    out->machine = r.machine;
    out->n_layers = r.n_layers;
    out->layer = layer;
    return TW_OK;
}

/* ---- the nest in shared words ---- */

static void add_array_loops(const tw_zz_case *c, tw_loopnest *nest, tw_loopnest_loop *loop)
{
    for (int i = 0; i < c->unrolling.n; i++) {
        const tw_zz_unroll *p = &c->unrolling.part[i];
        int64_t rest = c->einsum->extent[p->dim] - (c->steps[p->dim] - 1) * p->factor;
        if (p->factor == 1) continue;
        loop[nest->n_loops++] =
            (tw_loopnest_loop){p->dim, p->factor, rest > 0 && rest < p->factor ? rest : p->factor, p->axis,
                               c->machine->n_memories - 1};
    }
}

static tw_status share_nest(const tw_zz_case *c, const tw_zz_nest *nest, tw_arena *arena, const tw_loopnest **out)
{
    tw_loopnest *n;
    tw_loopnest_loop *loop;
    TW_ALLOC(arena, n, 1);
    TW_ALLOC(arena, loop, nest->n_loops + c->unrolling.n + 1);
    for (int i = nest->n_loops - 1; i >= 0; i--)
        loop[n->n_loops++] = (tw_loopnest_loop){nest->loop[i].dim, nest->loop[i].size, nest->loop[i].size, -1, 0};
    add_array_loops(c, n, loop);
    n->loop = loop;
    for (int m = 0; m < TW_RIVAL_MEMORIES; m++)
        for (int o = 0; o < TW_RIVAL_OPERANDS; o++) n->depth[m][o] = -1;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < c->operand[o].n_levels; l++)
            n->depth[c->operand[o].level[l].memory][c->operand[o].index] = nest->n_loops - nest->cut[o][l];
    *out = n;
    return TW_OK;
}

/* ---- the account ---- */

typedef struct accountant {
    const tw_zz_case *c;
    const tw_zz_count *count;
    tw_arena *arena;
    tw_account *out;
} accountant;

/* Counts beyond 64 bits stay at the largest that there is. */
static int64_t whole_of(double x) { return x >= 9.2e18 ? INT64_MAX : (int64_t)x; }

static tw_status add_line(const accountant *a, int operand, int level, tw_account_line *line)
{
    static const char *const name[TW_N_WAYS] = {"read to below (tl)", "write from below (fl)", "read to above (th)",
                                                "write from above (fh)"};
    const tw_zz_operand *x = &a->c->operand[operand];
    tw_account_action *action;
    TW_ALLOC(a->arena, action, TW_N_WAYS);
    for (int way = 0; way < TW_N_WAYS; way++) {
        double words = a->count->words[operand][level][way];
        action[way] = (tw_account_action){name[way], whole_of(words), words * x->level[level].pj[way]};
    }
    *line = (tw_account_line){.memory = a->c->machine->memory[x->level[level].memory].name,
                              .operand = x->name,
                              .tile_words = whole_of(a->count->exact[operand].elems[level]),
                              .instances = whole_of(x->exact.units[level + 1]),
                              .bits_at_once = level == x->n_levels - 1
                                                  ? a->count->top_rate[operand] * a->c->cycles / a->count->latency
                                                  : 0,
                              .n_actions = TW_N_WAYS,
                              .action = action};
    return TW_OK;
}

static tw_status add_lines(const accountant *a)
{
    tw_account_line *line;
    TW_ALLOC(a->arena, line, TW_ZZ_OPERANDS * TW_ZZ_LEVELS);
    for (int m = 0; m < a->c->n_memories; m++)
        for (int i = 0; i < a->c->n_sharing[m]; i++)
            TW_TRY(add_line(a, a->c->sharing[m][i].operand, a->c->sharing[m][i].level, &line[a->out->n_lines++]));
    a->out->line = line;
    return TW_OK;
}

static double line_energy(const tw_account *account, const char *memory)
{
    double pj = 0;
    for (int i = 0; i < account->n_lines; i++)
        for (int k = 0; account->line[i].memory == memory && k < account->line[i].n_actions; k++)
            pj += account->line[i].action[k].energy_pj;
    return pj;
}

static tw_status add_levels(const accountant *a)
{
    tw_account_level *level;
    TW_ALLOC(a->arena, level, a->c->n_memories + 1);
    for (int m = 0; m < a->c->n_memories; m++) {
        double stall = 0;
        for (int p = 0; p < a->c->n_ports; p++)
            if (a->c->port[p].memory == m) stall = fmax(stall, a->count->port_stall[p]);
        const char *name = a->c->machine->memory[m].name;
        level[m] = (tw_account_level){
            .name = name, .cycles = a->c->cycles + stall, .energy_pj = line_energy(a->out, name)};
    }
    level[a->c->n_memories] = (tw_account_level){
        .name = a->c->machine->array_name, .cycles = a->c->cycles, .energy_pj = a->count->mac_pj};
    a->out->level = level;
    a->out->n_levels = a->c->n_memories + 1;
    return TW_OK;
}

static tw_status add_parts(const accountant *a)
{
    tw_account_part *part;
    double ideal = ceil(a->c->macs / a->c->multipliers);
    const tw_account_part all[] = {{"ideal", ideal},
                                   {"array not filled", a->c->cycles - ideal},
                                   {"stall", a->count->stall},
                                   {"on-load", a->count->onload},
                                   {"off-load", a->count->offload}};
    TW_ALLOC(a->arena, part, TW_COUNT(all));
    memcpy(part, all, sizeof all);
    a->out->part = part;
    a->out->n_parts = (int)TW_COUNT(all);
    a->out->utilization = a->count->latency > 0 ? ideal / a->count->latency : 0;
    return TW_OK;
}

static tw_status print_nest(const accountant *a, const tw_loopnest *nest)
{
    tw_text text = {0};
    tw_loopnest_print(nest, a->c->einsum, a->c->machine, &text);
    a->out->nest = text.failed || !text.bytes ? "" : tw_arena_strndup(a->arena, text.bytes, text.len);
    tw_text_release(&text);
    return a->out->nest ? TW_OK : TW_ERR_NOMEM;
}

static tw_status settle_account(const accountant *a, const tw_loopnest *nest)
{
    *a->out = (tw_account){.rules = TW_RULES_ZIGZAG,
                           .layer = a->c->einsum->name,
                           .macs = (int64_t)a->c->macs,
                           .compute_cycles = a->c->cycles,
                           .cycles = a->count->latency,
                           .energy_pj = a->count->energy};
    TW_TRY(add_lines(a));
    TW_TRY(add_levels(a));
    TW_TRY(add_parts(a));
    return print_nest(a, nest);
}

/* ---- counting ---- */

static tw_status choose(const tw_zz_goal *goal, tw_diag *diag, tw_zz_best *best)
{
    tw_zz_goal own = *goal;
    own.tiles = goal->extra->tiles;
    if (!goal->extra->chosen) return tw_zz_loma(&own, diag, best);
    *best = (tw_zz_best){.unrolling = 0, .nest = *goal->extra->chosen};
    return TW_OK;
}

static tw_zz_goal goal_of(const tw_rival *rival, int layer)
{
    const tw_rival_layer *l = &rival->layer[layer];
    return (tw_zz_goal){
        .machine = rival->machine, .einsum = l->einsum, .extra = l->extra, .loc = l->loc, .measure = TW_CYCLES};
}

/* The account of a nest with the unrolling of that number. */
static tw_status account_of(const tw_zz_goal *goal, const tw_zz_best *best, tw_remarks *remarks, tw_work work,
                            tw_account *out, const tw_loopnest **shared)
{
    tw_zz_case c;
    tw_zz_count count;
    TW_TRY(tw_zz_case_build(goal->machine, goal->einsum, &goal->extra->facts,
                            &goal->extra->unrolling[best->unrolling], goal->loc, work.diag, &c));
    if (!tw_zz_count_nest(&c, &best->nest, &count))
        return tw_diag_error(work.diag, goal->loc,
                             "partial sums of '%s' return to a memory that has no port for them",
                             goal->einsum->name);
    TW_TRY(share_nest(&c, &best->nest, work.arena, shared));
    TW_TRY(settle_account(&(accountant){&c, &count, work.arena, out}, *shared));
    return tw_zz_remark(&c, &best->nest, &count, remarks);
}

static tw_status count_layer(const tw_rival *rival, int layer, tw_work work, tw_account *out)
{
    tw_zz_goal goal = goal_of(rival, layer);
    tw_remarks remarks = {.arena = work.arena};
    const tw_loopnest *nest;
    tw_zz_best best;
    if (rival->tool->rules != TW_RULES_ZIGZAG)
        TW_TRY(tw_zz_adopt(rival, layer, work, &remarks, &goal, &best));
    else
        TW_TRY(choose(&goal, work.diag, &best));
    TW_TRY(account_of(&goal, &best, &remarks, work, out, &nest));
    return tw_remarks_give(&remarks, out);
}

/* ---- searching ---- */

tw_status tw_zz_put_in_place(const tw_rival *rival, int layer, const tw_zz_extra *extra, const tw_zz_case *c,
                             tw_work work, const tw_rival **out)
{
    tw_rival *copy;
    tw_rival_layer *all;
    TW_ALLOC(work.arena, copy, 1);
    TW_ALLOC(work.arena, all, rival->n_layers);
    memcpy(all, rival->layer, (size_t)rival->n_layers * sizeof *all);
    all[layer].extra = extra;
    TW_TRY(share_nest(c, extra->chosen, work.arena, &all[layer].nest));
    *copy = *rival;
    copy->layer = all;
    *out = copy;
    return TW_OK;
}

/* The files with what was found. */
static tw_status keep_best(const tw_rival *rival, int layer, const tw_zz_best *best, tw_work work,
                           const tw_rival **out)
{
    tw_zz_goal goal = goal_of(rival, layer);
    tw_zz_extra *x;
    tw_zz_nest *chosen;
    tw_zz_case *c;
    TW_ALLOC(work.arena, x, 1);
    TW_ALLOC(work.arena, chosen, 1);
    TW_ALLOC(work.scratch, c, 1);
    *chosen = best->nest;
    *x = *goal.extra;
    x->unrolling += best->unrolling;
    x->n_unrollings = 1;
    x->chosen = chosen;
    TW_TRY(tw_zz_case_build(goal.machine, goal.einsum, &x->facts, x->unrolling, goal.loc, work.diag, c));
    return tw_zz_put_in_place(rival, layer, x, c, work, out);
}

/* The files with the nest that the tool itself chooses. */
static tw_status choose_nest(const tw_rival *rival, int layer, tw_work work, const tw_rival **out)
{
    tw_zz_goal goal = goal_of(rival, layer);
    tw_zz_best best;
    TW_TRY(choose(&goal, work.diag, &best));
    return keep_best(rival, layer, &best, work, out);
}

static const char space[] =
    "the unrollings that the files allow, all orders of loops of any sizes that divide, and all cuts";

static tw_status search(const tw_rival *rival, int layer, const tw_rival_search_options *options, tw_work work,
                        tw_rival_found *out)
{
    tw_zz_goal goal = goal_of(rival, layer);
    tw_account *account;
    const tw_loopnest *nest;
    tw_zz_best best;
    tw_remarks remarks = {.arena = work.arena};
    double bound = 0;
    goal.measure = options->measure;
    goal.max_nodes = options->max_nodes;
    TW_TRY(tw_zz_search(&goal, work, &best, &bound));
    if (bound >= best.value * (1 - 1e-12)) bound = best.value; /* the same sum in another order */
    TW_ALLOC(work.arena, account, 1);
    TW_TRY(account_of(&goal, &best, &remarks, work, account, &nest));
    TW_TRY(tw_remarks_give(&remarks, account));
    *out = (tw_rival_found){.account = account,
                            .value = best.value,
                            .bound = bound,
                            .proven = bound == best.value,
                            .counted = best.counted,
                            .nodes = best.counted,
                            .space = space};
    return keep_best(rival, layer, &best, work, &out->rival);
}

/* ---- layers that are the same ---- */

static bool same_dims(const tw_zz_layer *a, const tw_zz_layer *b)
{
    if (a->n_dims != b->n_dims) return false;
    for (int d = 0; d < a->n_dims; d++)
        if (a->extent[d] != b->extent[d] || strcmp(a->dim[d], b->dim[d]) != 0) return false;
    return true;
}

static bool same_windows(const tw_zz_layer *a, const tw_zz_layer *b)
{
    if (a->n_relations != b->n_relations) return false;
    for (int i = 0; i < a->n_relations; i++) {
        const tw_zz_relation *x = &a->relation[i], *y = &b->relation[i];
        if (x->dim[0] != y->dim[0] || x->dim[1] != y->dim[1] || x->step[0] != y->step[0] ||
            x->step[1] != y->step[1] || x->size != y->size || x->pad != y->pad || x->before != y->before)
            return false;
    }
    return true;
}

static bool same_operands(const tw_zz_layer *a, const tw_zz_layer *b)
{
    return memcmp(a->order, b->order, sizeof a->order) == 0 &&
           memcmp(a->n_indices, b->n_indices, sizeof a->n_indices) == 0 &&
           memcmp(a->index, b->index, sizeof a->index) == 0 && memcmp(a->bits, b->bits, sizeof a->bits) == 0 &&
           a->final_bits == b->final_bits;
}

static bool is_same(const tw_rival_layer *a, const tw_rival_layer *b)
{
    const tw_zz_extra *x = a->extra, *y = b->extra;
    return x->entry == y->entry && !x->chosen && !y->chosen && same_dims(x->layer, y->layer) &&
           same_windows(x->layer, y->layer) && same_operands(x->layer, y->layer);
}

static int64_t real_extent(const tw_rival_layer *layer, int operand, int rank)
{
    int64_t most = ((const tw_zz_extra *)layer->extra)->facts.size[operand].most[rank];
    return most > 0 ? most : INT64_MAX;
}

/* ---- writing ---- */

static void print_unrolling(const tw_hierarchy *m, const tw_einsum *e, const tw_zz_unrolling *u, tw_text *out)
{
    tw_text_printf(out, "  spatial_mapping:\n");
    for (int a = 0; a < m->n_axes; a++) {
        int n = 0;
        tw_text_printf(out, "    %s:", m->axis[a]);
        for (int i = 0; i < u->n; i++)
            if (u->part[i].axis == a) {
                tw_text_printf(out, "\n      - %s, %" PRId64, e->dim[u->part[i].dim], u->part[i].factor);
                n++;
            }
        tw_text_printf(out, n ? "\n" : " []\n");
    }
}

static void print_orders(const tw_einsum *e, const tw_zz_nest *nest, tw_text *out)
{
    tw_text_printf(out, "  temporal_ordering: # innermost first\n");
    for (int i = 0; i < nest->n_loops; i++)
        tw_text_printf(out, "    - [%s, %" PRId64 "]\n", e->dim[nest->loop[i].dim], nest->loop[i].size);
    if (nest->n_loops == 0) tw_text_printf(out, "    []\n");
}

static void print_cuts(const tw_zz_case *c, const tw_zz_nest *nest, tw_text *out)
{
    tw_text_printf(
        out,
        "  # Which loops each memory keeps, lowest memory and innermost loop first. ZigZag has no way to say it\n"
        "  # and refuses the key: without it, it cuts the same order as its allocator does.\n"
        "  temporal_mapping:\n");
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        int at = 0;
        tw_text_printf(out, "    %s: [", c->operand[o].name);
        for (int l = 0; l < c->operand[o].n_levels; l++) {
            tw_text_printf(out, "%s[", l ? ", " : "");
            for (int first = at; at < nest->cut[o][l]; at++)
                tw_text_printf(out, "%s[%s, %" PRId64 "]", at > first ? ", " : "",
                               c->einsum->dim[nest->loop[at].dim], nest->loop[at].size);
            tw_text_printf(out, "]");
        }
        tw_text_printf(out, "]\n");
    }
}

/* Whether the tool's allocator would cut the order in the same way. */
static bool is_natural(const tw_zz_case *c, const tw_zz_nest *nest)
{
    tw_zz_nest own = *nest;
    int memory;
    if (!tw_zz_nest_allocate(c, &own, &memory)) return false;
    tw_zz_nest_settle(c, &own);
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < c->operand[o].n_levels; l++)
            if (own.cut[o][l] != nest->cut[o][l]) return false;
    return true;
}

/* In quotes: names of networks hold whatever their authors liked. */
static void print_name(const char *name, tw_text *out)
{
    tw_text_printf(out, "- name: \"");
    for (; *name; name++) tw_text_printf(out, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
    tw_text_printf(out, "\"\n");
}

static void print_mapping(const tw_rival *rival, int layer, tw_text *out)
{
    static const char *const memory[] = {"I1", "I2", "O"};
    const tw_rival_layer *l = &rival->layer[layer];
    const tw_zz_extra *x = l->extra;
    tw_diag quiet = {.muted = true};
    tw_zz_case c;
    if (!x->chosen ||
        tw_zz_case_build(rival->machine, l->einsum, &x->facts, x->unrolling, l->loc, &quiet, &c) != TW_OK)
        return;
    print_name(l->name, out);
    print_unrolling(rival->machine, l->einsum, x->unrolling, out);
    print_orders(l->einsum, x->chosen, out);
    if (!is_natural(&c, x->chosen)) print_cuts(&c, x->chosen, out);
    tw_text_printf(out, "  memory_operand_links:\n");
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        tw_text_printf(out, "    %s: %s\n", c.operand[o].name, memory[c.operand[o].index]);
    if (layer == rival->n_layers - 1)
        tw_text_printf(out, "- name: default # which ZigZag insists on\n  spatial_mapping: {}\n");
}

const tw_rival_tool tw_zigzag_tool = {.rules = TW_RULES_ZIGZAG,
                                      .knows = knows,
                                      .read = read,
                                      .count = count_layer,
                                      .search = search,
                                      .print_mapping = print_mapping,
                                      .is_same = is_same,
                                      .extent_of = real_extent,
                                      .choose = choose_nest,
                                      .take = tw_zz_take,
                                      .orders_steps = true,
                                      .repeats_keys = true};
