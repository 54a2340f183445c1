/* test/verify/joint_cases.h - random groups for the naive writer: one or two operators, one or two cores, private memories.
 *
 * Machines   one core    dram -- l2 -- l1 [mac], with or without a memory of its own for outputs, weights past l2 or not;
 *                        l1 and acc private to dimensions of the array, or not
 *            two cores   dram -- l2 -- a.l1 [a.mac], b.l1 [b.mac] */
#ifndef TW_TEST_VERIFY_JOINT_CASES_H
#define TW_TEST_VERIFY_JOINT_CASES_H
#include "joint_naive.h"

#define CASE_AXIS(extent_, ...)                                                     \
    {                                                                               \
        .extent = extent_, .divisor = 1, .n_terms = 1, .term = { {__VA_ARGS__, 1} } \
    }

/* ---- operators ---- */

static inline int case_tensor(naive *v, const char *name, tw_dtype dtype, int64_t a, int64_t b, int64_t c)
{
    int t = v->model.n_tensors++;
    v->tensor[t] = (tw_tensor){.name = name, .dtype = dtype, .n_axes = c ? 3 : 2, .extent = {a, b, c}, .root = t};
    return t;
}

/* i8(sum * bias + 3), and i8(x * x + z). */
static const tw_formula_step case_finish_step[] = {
    {TW_FN_MULTIPLY, {0, 1}, 0}, {TW_FN_CONSTANT, {0}, 3}, {TW_FN_ADD, {2, 3}, 0}, {TW_FN_I8, {4}, 0}};
static const tw_formula case_finish = {2, 4, case_finish_step};
static const tw_formula_step case_value_step[] = {
    {TW_FN_MULTIPLY, {0, 0}, 0}, {TW_FN_ADD, {2, 1}, 0}, {TW_FN_I8, {3}, 0}};
static const tw_formula case_value = {2, 3, case_value_step};

/* out[oc, y] += x[ic, s*y + k - p] * w[oc, ic, k]; the output's tensor. */
static inline int case_conv(naive *v, const char *name, int x, uint64_t *state)
{
    tw_op *op = &v->op[v->model.n_ops++];
    int64_t ic = v->tensor[x].extent[0], h = v->tensor[x].extent[1], oc = tw_test_pick(state, 1, 5),
            k = tw_test_pick(state, 1, 3), s = tw_test_pick(state, 1, 2), p = tw_test_pick(state, 0, k),
            y = (h + 2 * p - k) / s + 1;
    if (y < 1) s = 1, p = k, y = h + 2 * p - k + 1;
    static const tw_dtype out[] = {TW_DTYPE_I8, TW_DTYPE_I32, TW_DTYPE_F32};
    tw_dtype dtype = out[tw_test_pick(state, 0, 2)];
    int w = case_tensor(v, v->model.n_ops > 1 ? "w1" : "w0", TW_DTYPE_I8, oc, ic, k);
    int o = case_tensor(v, v->model.n_ops > 1 ? "out" : "mid", dtype, oc, y, 0);
    *op =
        (tw_op){.name = name,
                .compute = TW_MULTIPLY_ADD,
                .accumulator = dtype == TW_DTYPE_F32 ? TW_DTYPE_F32 : TW_DTYPE_I32,
                .n_loops = 4,
                .loop = {{"oc", oc, false}, {"y", y, false}, {"ic", ic, true}, {"k", k, true}},
                .n_operands = 3,
                .operand = {{.name = "x", .tensor = x, .n_axes = 2, .axis = {CASE_AXIS(ic, 2), {.extent = h}}},
                            {.name = "w",
                             .tensor = w,
                             .n_axes = 3,
                             .weights = true,
                             .axis = {CASE_AXIS(oc, 0), CASE_AXIS(ic, 2), CASE_AXIS(k, 3)}},
                            {.name = "o", .tensor = o, .n_axes = 2, .axis = {CASE_AXIS(oc, 0), CASE_AXIS(y, 1)}}}};
    if (tw_test_pick(state, 0, 2) == 0) {
        op->finish = &case_finish;
        op->n_held = 1;
        op->held[0] = (tw_held){"bias", 0};
    }
    op->operand[0].axis[1] =
        (tw_axis){.extent = h, .offset = -p, .divisor = 1, .n_terms = 2, .term = {{1, s}, {3, 1}}};
    return o;
}

/* out[c, y] = x[c, y] + x[c, y + 1] of the same tensor twice or a formula of them, or their maximum or average. */
static inline int case_other(naive *v, const char *name, int x, uint64_t *state)
{
    tw_op *op = &v->op[v->model.n_ops++];
    int64_t c = v->tensor[x].extent[0], h = v->tensor[x].extent[1];
    int kind = (int)tw_test_pick(state, 0, 3);
    tw_dtype dtype = kind == 3 ? TW_DTYPE_F32 : v->tensor[x].dtype;
    int o = case_tensor(v, v->model.n_ops > 1 ? "out" : "mid", dtype, c, h, 0);
    tw_axis shifted = {.extent = h, .offset = 1, .divisor = 1, .n_terms = 1, .term = {{1, 1}}};
    *op = (tw_op){.name = name,
                  .compute = TW_ADD,
                  .accumulator = dtype,
                  .n_loops = 2,
                  .loop = {{"c", c, false}, {"y", h, false}, {"k", 2, true}},
                  .n_operands = 3,
                  .operand = {{.name = "x", .tensor = x, .n_axes = 2, .axis = {CASE_AXIS(c, 0), CASE_AXIS(h, 1)}},
                              {.name = "z", .tensor = x, .n_axes = 2, .axis = {CASE_AXIS(c, 0), shifted}},
                              {.name = "o", .tensor = o, .n_axes = 2, .axis = {CASE_AXIS(c, 0), CASE_AXIS(h, 1)}}}};
    if (kind == 1) op->compute = TW_MAP, op->value = &case_value;
    if (kind < 2) return o;
    op->compute = kind == 2 ? TW_MAX : TW_AVERAGE;
    op->n_loops = 3;
    op->n_operands = 2;
    op->operand[0].axis[1].n_terms = 2;
    op->operand[0].axis[1].term[1] = (tw_term){2, 1};
    op->operand[1] = op->operand[2];
    return o;
}

/* ---- machines ---- */

static inline void case_memory(naive *v, const char *name, int core, unsigned holds)
{
    int m = v->platform.n_memories++;
    v->memory[m] = (tw_platform_memory){
        name, core, {.name = name, .size = TW_UNLIMITED, .align = 1, .holds = holds, .energy_fj = m + 1}, 1};
}

static inline void case_mover(naive *v, const char *name, int core, int outer, int inner)
{
    tw_engine e = {.name = name,
                   .kind = TW_MOVES,
                   .outer = outer,
                   .memory = inner,
                   .carries = TW_BOTH_WAYS,
                   .count = 1,
                   .sums = true,
                   .cost = {.kind = TW_COST_LINEAR, .linear = {2, 4}}};
    v->engine[v->platform.n_engines++] = (tw_platform_engine){name, core, e, {-1, -1}, {-1, -1}};
}

static inline void case_compute(naive *v, const char *name, int core, int memory, bool array)
{
    tw_engine e = {.name = name,
                   .kind = TW_COMPUTES,
                   .outer = -1,
                   .memory = memory,
                   .count = 1,
                   .cost = {.kind = TW_COST_LINEAR, .linear = {1, 3}},
                   .computes = 127,
                   .accumulate = 1u << TW_FUSED,
                   .shares = -1,
                   .energy_fj = 3};
    if (array)
        e.cost =
            (tw_cost){.kind = TW_COST_ARRAY,
                      .array = {.latency = 2, .n_dims = 2, .dim = {tw_rows_name, tw_columns_name}, .size = {3, 2}}};
    v->engine[v->platform.n_engines++] = (tw_platform_engine){name, core, e, {-1, -1}, {-1, -1}};
}

static inline void case_view(naive *v, int engine, const int *memory, int n)
{
    tw_platform_view *view = &v->view[v->platform.n_views++];
    view->engine = engine;
    view->machine.unit = TW_UNIT_BYTE;
    view->machine.timing = TW_ASYNC;
    view->machine.n_memories = n;
    for (int m = 0; m < n; m++) {
        view->memory[m] = memory[m];
        view->machine.memory[m] = v->memory[memory[m]].is;
    }
}

static inline void case_private(naive *v, int memory, unsigned per)
{
    v->memory[memory].is.per = per;
    v->memory[memory].lanes = (per & 1 ? 3 : 1) * (per & 2 ? 2 : 1);
}

static inline void case_machine(naive *v, bool two_cores, bool array, uint64_t *state)
{
    bool past = tw_test_pick(state, 0, 1);
    unsigned l2 = past ? TW_HOLDS_ACTIVATIONS | TW_HOLDS_OUTPUT : TW_HOLDS_ALL;
    case_memory(v, "dram", -1, TW_HOLDS_ALL);
    case_memory(v, "l2", -1, l2);
    if (two_cores) {
        v->platform.n_cores = 2;
        v->core[0].name = "a", v->core[1].name = "b";
        case_memory(v, "a.l1", 0, TW_HOLDS_ALL);
        case_memory(v, "b.l1", 1, TW_HOLDS_ALL);
        case_mover(v, "dma", -1, 0, 1);
        case_mover(v, "a.mv", 0, 1, 2);
        case_mover(v, "b.mv", 1, 1, 3);
        case_mover(v, "a.w", 0, 0, 2);
        case_mover(v, "b.w", 1, 0, 3);
        case_compute(v, "a.mac", 0, 2, false);
        case_compute(v, "b.mac", 1, 3, false);
        case_view(v, 5, (int[]){0, 1, 2}, 3);
        case_view(v, 6, (int[]){0, 1, 3}, 3);
        return;
    }
    bool apart = tw_test_pick(state, 0, 1);
    case_memory(v, "l1", -1, apart ? TW_HOLDS_INPUTS : TW_HOLDS_ALL);
    if (apart) case_memory(v, "acc", -1, TW_HOLDS_OUTPUT);
    if (array) case_private(v, 2, (unsigned)tw_test_pick(state, 0, 3));
    if (array && apart) case_private(v, 3, (unsigned)tw_test_pick(state, 0, 3));
    case_mover(v, "dma", -1, 0, 1);
    case_mover(v, "mv", -1, 1, 2);
    case_mover(v, "w", -1, 0, 2);
    if (apart) case_mover(v, "lift", -1, 1, 3);
    for (int e = 0; e < v->platform.n_engines; e++) v->engine[e].is.multicast = tw_test_pick(state, 0, 1);
    case_compute(v, "mac", -1, apart ? 3 : 2, array);
    case_view(v, v->platform.n_engines - 1, (int[]){0, 1, 2, 3}, apart ? 4 : 3);
}

/* ---- mappings ---- */

static inline int case_depth(const tw_group_map *g, int tensor, int memory)
{
    int depth = -1;
    for (int i = 0; i < g->n_holds; i++)
        if (g->hold[i].tensor == tensor && g->hold[i].memory == memory) depth = g->hold[i].depth;
    if (depth >= 0) return depth;
    depth = g->n_cuts;
    for (int i = g->n_levels - 1; i >= 0; i--)
        if (g->level[i].memory > memory) depth = g->level[i].depth;
    for (int i = 0; i < g->n_levels; i++)
        if (g->level[i].memory == memory) depth = g->level[i].depth;
    return depth;
}

static inline int case_slots(const tw_group_map *g, int tensor, int memory)
{
    for (int i = 0; i < g->n_holds; i++)
        if (g->hold[i].tensor == tensor && g->hold[i].memory == memory && g->hold[i].slots)
            return (int)g->hold[i].slots;
    return 1;
}

static inline int case_hold(naive *v, int tensor, int memory, int parent, int maker)
{
    v->hold[v->n_holds] = (naive_hold){.tensor = tensor,
                                       .memory = memory,
                                       .depth = case_depth(v->g, tensor, memory),
                                       .slots = case_slots(v->g, tensor, memory),
                                       .lanes = v->memory[memory].is.per ? (int)v->memory[memory].lanes : 1,
                                       .per = v->memory[memory].is.per,
                                       .parent = parent,
                                       .outer = -2,
                                       .maker = maker,
                                       .sub = -1};
    return v->n_holds++;
}

static inline bool case_is_held(const naive *v, int memory, const tw_op *op, int operand)
{
    unsigned role = operand == op->n_operands - 1  ? TW_HOLDS_OUTPUT
                    : op->operand[operand].weights ? TW_HOLDS_WEIGHTS
                                                   : TW_HOLDS_ACTIVATIONS;
    return v->memory[memory].is.holds & role;
}

static inline void case_input(naive *v, int which, int operand)
{
    const tw_op *op = naive_op(v, which);
    const tw_platform_view *view = &v->view[v->g->op[which].view];
    int tensor = op->operand[operand].tensor, at = -1, from = 1, maker = -1;
    if (which == 1 && naive_op(v, 0)->operand[naive_op(v, 0)->n_operands - 1].tensor == tensor) {
        maker = 0;
        at = v->path_end[0][naive_op(v, 0)->n_operands - 1];
        bool shared = false;
        for (int m = 1; m < view->machine.n_memories; m++)
            shared |= view->memory[m] == v->hold[at].memory && case_is_held(v, view->memory[m], op, operand);
        if (!shared) { /* by way of l2 */
            if (v->hold[at].outer < 0) {
                int l2 = case_hold(v, tensor, 1, at, 0);
                v->hold[l2].outward = true;
                v->hold[at].outer = l2;
            }
            at = v->hold[at].outer;
        }
        for (int m = 1; m < view->machine.n_memories; m++)
            if (view->memory[m] == v->hold[at].memory) from = m + 1;
    }
    for (int m = from; m < view->machine.n_memories; m++) {
        if (!case_is_held(v, view->memory[m], op, operand)) continue;
        int found = -1;
        for (int h = 0; h < v->n_holds; h++)
            if (v->hold[h].tensor == tensor && v->hold[h].memory == view->memory[m] && v->hold[h].parent == at &&
                !v->hold[h].outward && !v->hold[h].made)
                found = h;
        at = found >= 0 ? found : case_hold(v, tensor, view->memory[m], at, maker);
    }
    v->path_end[which][operand] = at;
}

static inline void case_output(naive *v, int which)
{
    const tw_op *op = naive_op(v, which);
    const tw_platform_view *view = &v->view[v->g->op[which].view];
    int tensor = op->operand[op->n_operands - 1].tensor, at = -1;
    for (int m = view->machine.n_memories - 1; m > 0; m--) {
        if (!case_is_held(v, view->memory[m], op, op->n_operands - 1)) continue;
        int h = case_hold(v, tensor, view->memory[m], at, which);
        if (at < 0) {
            v->hold[h].made = true;
            v->path_end[which][op->n_operands - 1] = h;
        } else {
            v->hold[h].outward = true;
            v->hold[at].outer = h;
        }
        at = h;
        if (which < v->g->n_ops - 1) return;
    }
    v->hold[at].outer = -1;
}

/* Whether sums lie there before they are complete. */
static inline void case_sums(naive *v, int which)
{
    const tw_op *op = naive_op(v, which);
    naive_hold *h = &v->hold[v->path_end[which][op->n_operands - 1]];
    for (int l = 0; l < op->n_loops; l++) {
        int d = v->g->op[which].over.dim[l];
        if (!op->loop[l].reduces) continue;
        h->summed |= d > 0 && (h->per >> (d - 1) & 1) && v->g->op[which].parts[l] > 1;
        h->sums |= which < v->g->n_ops - 1 && v->g->op[which].reduce[l] > 0 &&
                   v->g->op[which].reduce[l] < op->loop[l].extent;
        int64_t len = op->loop[l].extent;
        for (int c = 0; c < v->g->n_cuts && which == v->g->n_ops - 1; c++) {
            if (v->g->cut[c].loop != l) continue;
            h->sums |= naive_tiles(&v->g->cut[c], len) > 1;
            len = naive_tile(&v->g->cut[c], (tw_span){0, len}, 0).hi;
        }
    }
    h->sums |= h->summed;
}

static inline void case_subs(naive *v)
{
    for (int h = 0; h < v->n_holds; h++) {
        naive_hold *hold = &v->hold[h];
        bool divided = false;
        if (hold->made || hold->outward || v->g->n_ops < 2) continue;
        const tw_op *op = naive_op(v, 0), *driver = naive_op(v, 1);
        if (hold->depth < v->hold[v->path_end[0][op->n_operands - 1]].depth) continue;
        bool elsewhere = false, all = true;
        for (int o = 0; o < driver->n_operands - 1; o++) elsewhere |= driver->operand[o].tensor == hold->tensor;
        for (int o = 0; o < op->n_operands - 1; o++) {
            bool depends = false;
            if (op->operand[o].tensor != hold->tensor) continue;
            for (int l = 0; l < op->n_loops; l++)
                for (int a = 0; a < op->operand[o].n_axes; a++)
                    for (int t = 0; t < op->operand[o].axis[a].n_terms; t++)
                        depends |= op->operand[o].axis[a].term[t].loop == l && v->g->op[0].reduce[l] > 0 &&
                                   v->g->op[0].reduce[l] < op->loop[l].extent;
            divided |= depends;
            all &= depends;
        }
        if (divided && all && !elsewhere) hold->sub = 0;
    }
}

static inline void case_cuts(tw_group_map *g, tw_nest_cut *cut, const tw_op *driver, uint64_t *state)
{
    int n = (int)tw_test_pick(state, 0, 3);
    g->cut = cut;
    for (int pass = 0; pass < 2; pass++) /* reductions stand inside */
        for (int c = 0; c < n; c++) {
            int loop = (int)tw_test_pick(state, 0, driver->n_loops - 1);
            if (driver->loop[loop].reduces != (pass == 1) || g->n_cuts == 4) continue;
            tw_nest_cut is = {.loop = loop, .rule = tw_test_pick(state, 0, 1) ? TW_GREEDY : TW_BALANCED};
            if (tw_test_pick(state, 0, 1))
                is.size = tw_test_pick(state, 1, 3);
            else
                is.count = tw_test_pick(state, 1, 3);
            cut[g->n_cuts++] = is;
        }
}

static inline void case_add_hold(tw_group_map *g, tw_hold *to, tw_hold hold)
{
    g->hold = to;
    to[g->n_holds++] = hold;
}

/* Levels, and for what is made inside a depth of its own, which is the same in all memories. */
static inline void case_holds(naive *v, int number, uint64_t *state)
{
    tw_group_map *g = &v->group[number];
    bool any_private = v->memory[2].is.per || v->memory[3].is.per;
    int d1 = (int)tw_test_pick(state, 0, g->n_cuts),
        d2 = any_private ? g->n_cuts : (int)tw_test_pick(state, d1, g->n_cuts);
    v->level[number][0] = (tw_group_level){.memory = 1, .depth = d1};
    v->level[number][1] = (tw_group_level){.memory = 2, .depth = d2};
    g->n_levels = 2;
    g->level = v->level[number];
    tw_hold *to = v->hold_map[number];
    for (int t = 0; t < v->model.n_tensors; t++)
        for (int m = 1; m < v->platform.n_memories; m++)
            if (tw_test_pick(state, 0, 2) == 0 && g->n_holds < 10)
                case_add_hold(g, to,
                              (tw_hold){.tensor = t, .memory = m, .depth = -1, .slots = tw_test_pick(state, 1, 3)});
    if (g->n_ops < 2) return;
    const tw_op *op = &v->op[g->op[0].op];
    int tensor = op->operand[op->n_operands - 1].tensor, e = (int)tw_test_pick(state, 0, g->n_cuts);
    for (int m = 1; m < v->platform.n_memories; m++)
        case_add_hold(g, to, (tw_hold){.tensor = tensor, .memory = m, .depth = e});
}

/* The longest parallel loops, in the order of the operator, one over each dimension. */
static inline void case_longest(const tw_op *op, tw_group_op *o)
{
    int best[2] = {-1, -1};
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < op->n_loops; l++) {
            if (op->loop[l].reduces || l == best[0]) continue;
            if (best[d] < 0 || op->loop[l].extent > op->loop[best[d]].extent) best[d] = l;
        }
    int8_t n = 0;
    for (int l = 0; l < op->n_loops; l++)
        if (l == best[0] || l == best[1]) o->over.dim[l] = ++n;
}

static inline void case_spread(naive *v, tw_group_op *o, tw_group_op *said, uint64_t *state)
{
    const tw_op *op = &v->op[o->op];
    const tw_cost *cost = &v->engine[v->view[o->view].engine].is.cost;
    unsigned per = v->memory[2].is.per | v->memory[3].is.per;
    int64_t used[TW_MAX_DIMS] = {1, 1};
    for (int l = 0; l < op->n_loops; l++) o->parts[l] = 1;
    *said = *o;
    memset(said->parts, 0, sizeof said->parts);
    if (cost->kind != TW_COST_ARRAY) return;
    bool silent = tw_test_pick(state, 0, 3) == 0, whole = tw_test_pick(state, 0, 2) == 0;
    o->over.dim[0] = 1; /* one at least, or none would be said */
    for (int l = 1; l < op->n_loops; l++) o->over.dim[l] = (int8_t)tw_test_pick(state, 0, 2);
    said->over = o->over;
    if (silent) {
        memset(&o->over, 0, sizeof o->over);
        said->over = o->over;
        case_longest(op, o);
    }
    for (int l = 0; l < op->n_loops; l++) {
        int d = o->over.dim[l] - 1;
        if (d < 0 || !(per >> d & 1)) continue;
        int64_t left = cost->array.size[d] / used[d];
        o->parts[l] = whole ? tw_min(left, op->loop[l].extent) : tw_test_pick(state, 1, left);
        used[d] *= o->parts[l];
        if (!whole) said->parts[l] = o->parts[l];
    }
}

static inline void case_group(naive *v, const int *ops, int n, uint64_t *state)
{
    int number = v->in.n_groups++;
    tw_group_map *g = &v->group[number];
    *g = (tw_group_map){.name = number ? "second" : "first", .n_ops = n, .op = v->group_op[number]};
    for (int i = 0; i < n; i++) {
        tw_group_op *o = &v->group_op[number][i];
        *o = (tw_group_op){.op = ops[i], .view = (int)tw_test_pick(state, 0, v->platform.n_views - 1)};
        const tw_op *op = &v->op[ops[i]];
        for (int l = 0; l < op->n_loops && i < n - 1; l++)
            if (op->loop[l].reduces && tw_test_pick(state, 0, 1)) o->reduce[l] = tw_test_pick(state, 1, 3);
        case_spread(v, o, &v->said_op[number][i], state);
    }
    case_cuts(g, v->cut[number], &v->op[ops[n - 1]], state);
    case_holds(v, number, state);
}

/* Two groups that share a loop of their driver, on two cores. */
static inline void case_split(naive *v)
{
    tw_group_map *g = &v->group[v->in.n_groups - 1], *other = &v->group[v->in.n_groups];
    const tw_op *driver = &v->op[g->op[g->n_ops - 1].op];
    int64_t len = driver->loop[1].extent;
    if (len < 2) return;
    *other = *g;
    other->name = "other";
    g->n_parts = other->n_parts = 1;
    g->part[0] = (tw_group_part){1, {0, len / 2}};
    other->part[0] = (tw_group_part){1, {len / 2, len}};
    v->in.n_groups++;
}

static inline void case_write(naive *v)
{
    int64_t used[5] = {0};
    for (int i = 0; i < v->in.n_groups; i++) {
        v->g = &v->group[i];
        v->n_holds = 0;
        for (int k = 0; k < v->g->n_ops; k++) {
            for (int o = 0; o < naive_op(v, k)->n_operands - 1; o++) case_input(v, k, o);
            case_output(v, k);
            case_sums(v, k);
        }
        case_subs(v);
        naive_write(v, used);
    }
}

/* ---- other orders and times ---- */

static inline bool case_uses(const tw_instr *i, int buffer)
{
    if (buffer < 0) return false;
    bool used = i->dst == buffer;
    for (int k = 0; k < i->n_src; k++) used |= i->src[k] == buffer;
    for (int k = 0; k < i->n_gives; k++) used |= i->gives[k] == buffer;
    return used;
}

/* Whether two commands that follow each other may change places: they have nothing in common, not even a hold. */
static inline bool case_are_apart(const naive *v, const tw_instr *a, const tw_instr *b)
{
    if (a->group != b->group || (a->op == TW_EXEC && b->op == TW_EXEC)) return false;
    for (int i = 0; i < v->n_buffers; i++) {
        if (!case_uses(a, i)) continue;
        for (int k = 0; k < v->n_buffers; k++) {
            bool same = v->buffer[i].operand == v->buffer[k].operand && v->buffer[i].memory == v->buffer[k].memory;
            if (same && case_uses(b, k)) return false;
        }
    }
    return true;
}

static inline void case_shuffle(naive *v, uint64_t *state)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i + 1 < v->n; i++) {
            tw_instr a = v->event[i].instr;
            if (tw_test_pick(state, 0, 1) || !case_are_apart(v, &a, &v->event[i + 1].instr)) continue;
            int64_t read = v->read_units[i], write = v->write_units[i];
            v->event[i].instr = v->event[i + 1].instr;
            v->event[i + 1].instr = a;
            v->read_units[i] = v->read_units[i + 1], v->write_units[i] = v->write_units[i + 1];
            v->read_units[i + 1] = read, v->write_units[i + 1] = write;
        }
}

/* From `start` on, the first moment at which a way of the port is free for the whole command, which is the first such one's. */
static inline void case_find_way(naive *v, int command, int64_t start)
{
    for (naive_time(v, command, start); naive_at_port(v, &v->event[command].instr); naive_time(v, command, ++start))
        for (int w = 0; w < v->port.ways; w++) {
            bool fits = true;
            for (int i = 0; i < command; i++)
                fits &= !naive_at_port(v, &v->event[i].instr) || v->way[i] != w ||
                        v->event[i].start_cycle >= v->event[command].busy_end || v->event[i].busy_end <= start;
            v->way[command] = w;
            if (fits) return;
        }
}

/* Every command as soon as it can. */
static inline void case_schedule(naive *v)
{
    static int64_t there[NAIVE_BUFFERS], read[NAIVE_BUFFERS];
    int64_t free[8] = {0}, stored[NAIVE_TENSORS] = {0};
    memset(there, 0, sizeof there);
    memset(read, 0, sizeof read);
    for (int c = 0; c < v->n; c++) {
        const tw_instr *i = &v->event[c].instr;
        int tensor = v->op[v->group[i->group].op[i->which].op].operand[i->operand].tensor;
        int64_t start = free[i->engine];
        for (int k = 0; k < i->n_src; k++)
            start = tw_max(start, i->src[k] >= 0 ? there[i->src[k]] : i->op == TW_EXEC ? 0 : stored[tensor]);
        if (i->dst >= 0) start = tw_max(start, tw_max(there[i->dst], read[i->dst]));
        case_find_way(v, c, start);
        const tw_event *e = &v->event[c];
        free[i->engine] = e->busy_end;
        for (int k = 0; k < i->n_src; k++)
            if (i->src[k] >= 0) read[i->src[k]] = tw_max(read[i->src[k]], e->busy_end);
        if (i->dst >= 0) there[i->dst] = tw_max(there[i->dst], e->end_cycle);
        if (i->dst < 0) stored[tensor] = tw_max(stored[tensor], e->end_cycle);
        for (int k = 0; k < i->n_gives; k++) read[i->gives[k]] = tw_max(read[i->gives[k]], e->busy_end);
    }
}

static inline void case_claim(naive *v)
{
    memset(v->use, 0, sizeof v->use);
    memset(v->memory_use, 0, sizeof v->memory_use);
    v->claims = (tw_claims){.engine = v->use, .memory = v->memory_use};
    v->claims.sum.instructions = v->n;
    for (int e = 0; e < v->platform.n_engines; e++) v->use[e].count = v->engine[e].is.count;
    for (int c = 0; c < v->n; c++) {
        const tw_event *e = &v->event[c];
        const tw_engine *engine = &v->engine[e->instr.engine].is;
        tw_engine_use *use = &v->use[e->instr.engine];
        v->claims.sum.cycles = tw_max(v->claims.sum.cycles, e->end_cycle);
        use->busy_cycles += e->busy_end - e->start_cycle;
        use->ops += e->instr.op == TW_EXEC;
        use->loads += e->instr.op == TW_LOAD;
        use->stores += e->instr.op == TW_STORE;
        if (e->instr.op == TW_EXEC) {
            v->claims.sum.execs++;
            v->claims.sum.macs += e->instr.work;
            v->claims.sum.energy_fj += e->instr.work * engine->energy_fj;
            continue;
        }
        bool in = v->engine[e->instr.engine].is.memory == (e->instr.dst < 0 ? 0 : v->buffer[e->instr.dst].memory),
             port = naive_at_port(v, &e->instr);
        *(e->instr.op == TW_LOAD ? &use->load_units : &use->store_units) += e->instr.work;
        int64_t outer = in ? v->read_units[c] : v->write_units[c],
                inner = in ? v->write_units[c] : v->read_units[c];
        v->claims.sum.energy_fj += inner * v->memory[engine->memory].is.energy_fj;
        v->claims.sum.energy_fj += port ? naive_words(outer) * (in ? 7 : v->memory[0].is.energy_fj)
                                        : outer * v->memory[engine->outer].is.energy_fj;
    }
    for (int i = 0; i < v->n_buffers; i++) {
        int64_t *most = &v->memory_use[v->buffer[i].memory].static_units;
        *most = tw_max(*most, v->buffer[i].offset + v->buffer[i].size);
    }
    v->in.claims = &v->claims;
    v->in.unhurried = true; /* every command waits for the one before it */
}

static inline void case_port(naive *v, uint64_t *state)
{
    if (tw_test_pick(state, 0, 1)) return;
    v->port = (tw_port){.name = "bus",
                        .serves = TW_PORT_READS | TW_PORT_WRITES,
                        .ways = tw_test_pick(state, 1, 2),
                        .per_cycle = tw_test_pick(state, 1, 4),
                        .word = 4,
                        .read_fj = 7,
                        .write_fj = -1};
    v->platform.n_ports = 1;
    v->platform.port = &v->port;
    for (int e = 0; e < v->platform.n_engines; e++)
        if (v->engine[e].is.kind == TW_MOVES && v->engine[e].is.outer == 0)
            v->engine[e].reads[0] = v->engine[e].writes[1] = 0;
}

static inline void case_make(naive *v, uint64_t seed)
{
    uint64_t state = seed;
    memset(v, 0, sizeof *v);
    bool two_ops = tw_test_pick(&state, 0, 1), two_cores = tw_test_pick(&state, 0, 1),
         array = !two_ops && !two_cores && tw_test_pick(&state, 0, 3) > 0;
    int x = case_tensor(v, "in", TW_DTYPE_I8, tw_test_pick(&state, 1, 4), tw_test_pick(&state, 2, 8), 0);
    int mid = tw_test_pick(&state, 0, 2) ? case_conv(v, "conv", x, &state) : case_other(v, "other", x, &state);
    if (two_ops)
        (void)(tw_test_pick(&state, 0, 2) ? case_conv(v, "conv2", mid, &state)
                                          : case_other(v, "last", mid, &state));
    case_machine(v, two_cores, array, &state);
    case_port(v, &state);
    for (int e = 0; e < v->platform.n_engines; e++) v->engine[e].is.pipelined = tw_test_pick(&state, 0, 1);
    v->model.name = "random";
    v->model.tensor = v->tensor;
    v->model.op = v->op;
    v->platform.memory = v->memory;
    v->platform.engine = v->engine;
    v->platform.core = v->core;
    v->platform.view = v->view;
    v->as_stores = tw_test_pick(&state, 0, 1);
    bool together = two_ops && tw_test_pick(&state, 0, 3) > 0;
    for (int i = 0; i < v->model.n_ops && !together; i++) case_group(v, &i, 1, &state);
    if (together) case_group(v, (int[]){0, 1}, 2, &state);
    if (tw_test_pick(&state, 0, 3) == 0) case_split(v);
    case_write(v);
    v->in.model = &v->model;
    v->in.platform = &v->platform;
    for (int i = 0; i < v->in.n_groups; i++) {
        v->said[i] = v->group[i];
        v->said[i].op =
            v->said_op[v->group[i].op - v->group_op[0] >= 2 ? (v->group[i].op - v->group_op[0]) / 2 : 0];
    }
    v->in.group = v->said;
    v->in.n_buffers = v->n_buffers;
    v->in.buffer = v->buffer;
    v->in.seed = seed;
    v->in.executes = true;
    bool shuffled = tw_test_pick(&state, 0, 1);
    if (shuffled) case_shuffle(v, &state);
    if (shuffled || tw_test_pick(&state, 0, 1)) case_schedule(v);
    case_claim(v);
}
#endif
