/* test/plan/test_dags.c - random graphs of up to eight operators as one group: fused they make what they make one by one.
 *
 * What is drawn, as one group or several: convolutions, depthwise and transposed ones, maxima, sums, concatenations, element-wise maps and resizing, with branches and
 * several readers, of small tensors of integers; tiles of channels, rows and columns in any order; per tensor, whether its halo is
 * computed again or its window slides. The verifier executes every plan and compares it with the operators one after the other on
 * whole tensors. Where nothing slides, the windows of all tensors in all steps are those that counting point by point finds. TW_CASES says how many, TW_SEED which. */
#include "least_check.h"
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 8000, MOST_OPS = 8, MOST_READS = 2, AXES = 3, LOOPS = 6, MOST_TENSORS = MOST_OPS + 2 };

typedef struct access { /* (sum of coef * loop + offset) / divisor */
    int64_t coef[LOOPS], offset, divisor;
    bool floors;
} access;

typedef struct node {
    int n_loops, n_reads, tensor[MOST_READS];
    int64_t extent[LOOPS]; /* the first three are the axes of what it makes */
    access at[MOST_READS][AXES];
} node;

typedef struct draw {
    uint64_t random;
    char machine[ROOM], workload[ROOM], mapping[ROOM];
    int n_ops, n_tensors;
    node op[MOST_OPS];
    int64_t shape[MOST_TENSORS][AXES];
    int maker[MOST_TENSORS], n_readers[MOST_TENSORS];
    bool l2, acc, rf, vector, limited, refused; /* of the machine; there is a reason not to have a plan */
    int64_t less;                               /* of l1, in which groups have to share addresses; 0: all of it */
    bool shares;                                /* groups do         */
    bool slides, plain;                         /* some window slides; windows are as counting finds them */
    bool slide[MOST_TENSORS];                   /* of the last group */
    int n_groups, n_cuts, cut[AXES];
    int64_t size[AXES]; /* of the cuts */
} draw;

static int64_t pick(draw *d, int64_t lo, int64_t hi) { return tw_test_pick(&d->random, lo, hi); }
static bool toss(draw *d, int64_t n) { return pick(d, 1, n) == 1; }

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

/* ---- operators ---- */

static const char *const loop_name[] = {"c", "y", "x", "i", "u", "v"};

/* Terms of an access, as the workload has it. */
static void add_access(draw *d, const access *a)
{
    const char *gap = "";
    add(d->workload, "%s", a->divisor > 1 ? "(" : "");
    for (int l = 0; l < LOOPS; l++) {
        if (a->coef[l] == 0) continue;
        if (a->coef[l] < 0) gap = *gap ? " - " : "-";
        add(d->workload, "%s%d*%s", gap, abs((int)a->coef[l]), loop_name[l]);
        gap = " + ";
    }
    if (a->offset != 0) add(d->workload, " %c %d", a->offset < 0 ? '-' : '+', abs((int)a->offset));
    if (a->divisor > 1) add(d->workload, ")%s%d", a->floors ? "//" : "/", (int)a->divisor);
}

static void add_read(draw *d, const node *n, int r)
{
    const int64_t *shape = d->shape[n->tensor[r]];
    add(d->workload, "      %c: {tensor: t%d, dtype: i32, shape: [%d, %d, %d], at: [", 'a' + r, n->tensor[r],
        (int)shape[0], (int)shape[1], (int)shape[2]);
    for (int a = 0; a < AXES; a++) {
        add(d->workload, "%s", a ? ", " : "");
        add_access(d, &n->at[r][a]);
    }
    add(d->workload, "]}\n");
}

static void add_op(draw *d, const char *compute, const char *value, const char *weights)
{
    const node *n = &d->op[d->n_ops];
    int made = d->n_tensors++;
    add(d->workload, "  - name: o%d\n    compute: %s\n", d->n_ops, compute);
    for (int l = 0; l < n->n_loops; l++)
        add(d->workload, "%s%s: %d", l ? ", " : "    loops: {", loop_name[l], (int)n->extent[l]);
    add(d->workload, "}\n");
    if (n->n_loops > AXES) add(d->workload, "    reduce: [%s]\n", n->n_loops == LOOPS ? "i, u, v" : "i, u");
    if (value) add(d->workload, "    value: \"%s\"\n", value);
    add(d->workload, "    reads:\n");
    for (int r = 0; r < n->n_reads; r++) add_read(d, n, r);
    if (weights) add(d->workload, "      w: {dtype: i32, role: weights, at: [%s]}\n", weights);
    add(d->workload, "    writes: {o: {tensor: t%d, dtype: i32, at: [c, y, x]}}\n", made);
    for (int a = 0; a < AXES; a++) d->shape[made][a] = n->extent[a];
    d->maker[made] = d->n_ops++;
    for (int r = 0; r < n->n_reads; r++) d->n_readers[n->tensor[r]]++;
}

static access loop_at(int loop, int64_t offset)
{
    access a = {.offset = offset, .divisor = 1};
    a.coef[loop] = 1;
    return a;
}

static node *begin(draw *d, int n_reads, int first, int second)
{
    node *n = &d->op[d->n_ops];
    *n = (node){.n_loops = AXES, .n_reads = n_reads, .tensor = {first, second}};
    for (int a = 0; a < AXES; a++) {
        n->extent[a] = d->shape[first][a];
        for (int r = 0; r < n_reads; r++) n->at[r][a] = loop_at(a, 0);
    }
    return n;
}

/* A window of `taps` along an axis, whose taps are loop `tap`; false: there is no output. */
static bool draw_window(draw *d, node *n, int axis, int tap)
{
    int64_t taps = pick(d, 1, 4), stride = pick(d, 1, 2), dilation = toss(d, 4) ? 2 : 1,
            in = d->shape[n->tensor[0]][axis];
    int64_t reach = (taps - 1) * dilation + 1, lo = pick(d, 0, taps), hi = pick(d, 0, taps);
    access *a = &n->at[0][axis];
    if (in + lo + hi < reach) return false;
    if (toss(d, 8)) stride = taps + 1;
    *a = (access){.offset = -lo, .divisor = 1};
    a->coef[axis] = stride;
    a->coef[tap] = dilation;
    n->extent[axis] = (in + lo + hi - reach) / stride + 1;
    n->extent[tap] = taps;
    return true;
}

/* The same, spread by a stride. */
static bool draw_spread(draw *d, node *n, int axis, int tap)
{
    int64_t taps = pick(d, 1, 4), stride = pick(d, 1, 3), in = d->shape[n->tensor[0]][axis],
            crop = pick(d, 0, taps - 1);
    access *a = &n->at[0][axis];
    int64_t out = (in - 1) * stride + taps - 2 * crop;
    if (out < 1 || out > 14) return false;
    *a = (access){.offset = crop, .divisor = stride};
    a->coef[axis] = 1;
    a->coef[tap] = -1;
    n->extent[axis] = out;
    n->extent[tap] = taps;
    return true;
}

static bool draw_conv(draw *d, int in)
{
    node *n = begin(d, 1, in, 0);
    bool spread = toss(d, 4);
    n->n_loops = LOOPS;
    n->extent[0] = pick(d, 1, 3);
    n->extent[3] = d->shape[in][0];
    n->at[0][0] = loop_at(3, 0);
    for (int a = 1; a < AXES; a++)
        if (!(spread ? draw_spread : draw_window)(d, n, a, a + 3)) return false;
    add_op(d, "multiply-add", NULL, "c, i, u, v");
    return true;
}

/* Channel by channel: loops i and u are the taps. */
static bool draw_depthwise(draw *d, int in)
{
    node *n = begin(d, 1, in, 0);
    bool weights = toss(d, 2);
    n->n_loops = LOOPS - 1;
    for (int a = 1; a < AXES; a++)
        if (!draw_window(d, n, a, a + 2)) return false;
    add_op(d, weights ? "multiply-add" : "max", NULL, weights ? "c, i, u" : NULL);
    return true;
}

static void draw_resize(draw *d, int in)
{
    node *n = begin(d, 1, in, 0);
    for (int a = 1; a < AXES; a++) {
        int64_t up = pick(d, 1, 3), down = pick(d, 1, 3);
        n->extent[a] = tw_max(1, tw_min(14, d->shape[in][a] * up / down));
        n->at[0][a] = (access){.divisor = up, .floors = true};
        n->at[0][a].coef[a] = down;
    }
    add_op(d, "map", toss(d, 2) ? "max(a, 0) + 1" : "a", NULL);
}

static bool same_shape(const draw *d, int a, int b)
{
    for (int x = 0; x < AXES; x++)
        if (d->shape[a][x] != d->shape[b][x]) return false;
    return true;
}

/* Channels behind each other, or one on the other; what one of them does not have is padding. */
static void draw_merge(draw *d, int first, int second)
{
    node *n = begin(d, 2, first, second);
    if (same_shape(d, first, second) && first != second && toss(d, 2)) {
        add_op(d, "add", NULL, NULL);
        return;
    }
    if (toss(d, 2) && d->shape[first][0] + d->shape[second][0] <= 6) {
        n->extent[0] += d->shape[second][0];
        n->at[1][0] = loop_at(0, -d->shape[first][0]);
    }
    add_op(d, "map", "a + b", NULL);
}

static void draw_unary(draw *d, int in)
{
    for (int tries = 0; tries < 4; tries++) {
        if (toss(d, 2) ? draw_conv(d, in) : draw_depthwise(d, in)) return;
        if (toss(d, 3)) break;
    }
    draw_resize(d, in);
}

/* ---- graphs ---- */

/* A tensor that an operator made and nobody reads, other than `but`; -1: there is none. */
static int find_unread(draw *d, int but)
{
    int found = -1;
    for (int t = 0; t < d->n_tensors; t++)
        if (d->maker[t] >= 0 && d->n_readers[t] == 0 && t != but && (found < 0 || toss(d, 2))) found = t;
    return found;
}

static int count_unread(const draw *d)
{
    int n = 0;
    for (int t = 0; t < d->n_tensors; t++) n += d->maker[t] >= 0 && d->n_readers[t] == 0;
    return n;
}

/* In the end all but the last operator are read by others. */
static void draw_graph(draw *d)
{
    int n = (int)pick(d, 1, MOST_OPS), n_inputs = (int)pick(d, 1, 2);
    add(d->workload, "workload: drawn\nops:\n");
    for (int t = 0; t < n_inputs; t++, d->n_tensors++) {
        d->maker[t] = -1;
        d->shape[t][0] = pick(d, 1, 3);
        d->shape[t][1] = pick(d, 3, 10);
        d->shape[t][2] = pick(d, 2, 8);
    }
    while (d->n_ops < n) {
        int left = n - d->n_ops, unread = count_unread(d), first = find_unread(d, -1);
        int any = (int)pick(d, 0, d->n_tensors - 1);
        if (first < 0 || (unread < left && toss(d, 3))) first = any;
        int second = find_unread(d, first);
        if (unread > left || (second >= 0 && toss(d, 3)))
            draw_merge(d, first, second);
        else if (unread == left && d->n_readers[first] == 0 && toss(d, 3))
            draw_merge(d, first, any);
        else
            draw_unary(d, first);
    }
}

/* ---- machines and mappings ---- */

static void draw_machine(draw *d)
{
    const char *feed = "";
    static const char *const limit[] = {", pad_limit: half-kernel", ", tile_multiple: 2", ", min_tile: 2"};
    d->limited = toss(d, 6);
    d->l2 = toss(d, 4);
    d->acc = toss(d, 3);
    d->rf = d->acc && toss(d, 2);
    d->vector = d->acc && toss(d, 2);
    if (d->rf) feed = "  - {name: feed, between: [l1, rf], carries: in, cost: {latency: 1, per_cycle: 16}}\n";
    add(d->machine, "machine: drawn\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n");
    if (d->l2) add(d->machine, "  - {name: l2, size: unlimited, align: 4}\n");
    add(d->machine, "  - {name: l1, size: unlimited, align: %d}\n", (int)pick(d, 1, 16));
    if (d->rf) add(d->machine, "  - {name: rf, size: unlimited, holds: inputs}\n");
    if (d->acc) add(d->machine, "  - {name: acc, size: unlimited, holds: output}\n");
    add(d->machine, "engines:\n");
    if (d->l2) add(d->machine, "  - {name: main, between: [dram, l2], cost: {latency: 9, per_cycle: 8}}\n");
    const char *outer = d->l2 ? "l2" : "dram", *prefetch = toss(d, 3) ? ", prefetch: all" : "";
    if (toss(d, 2))
        add(d->machine,
            "  - {name: load, between: [%s, l1], carries: in, count: %d, cost: {latency: %d, per_cycle: 8}}\n"
            "  - {name: store, between: [%s, l1], carries: out, cost: {latency: 3, per_cycle: %d}}\n",
            outer, (int)pick(d, 1, 2), (int)pick(d, 0, 30), outer, (int)pick(d, 1, 9));
    else
        add(d->machine, "  - {name: dma, between: [%s, l1]%s, cost: {latency: 5, per_cycle: 4}}\n", outer,
            prefetch);
    if (d->acc)
        add(d->machine, "  - {name: drain, between: [l1, acc], carries: out, cost: {latency: 1, per_cycle: 16}}\n");
    add(d->machine,
        "  - {name: core, computes: [multiply-add, add, max, map], memory: %s, cost: {latency: 2, per_cycle: "
        "%d}%s%s}\n",
        d->acc ? "acc" : "l1", (int)pick(d, 1, 64), toss(d, 4) ? ", writes: end" : "",
        d->limited ? limit[pick(d, 0, 2)] : "");
    add(d->machine, "%s", feed);
    if (d->vector)
        add(d->machine,
            "  - {name: vector, computes: [multiply-add, add, max, map], memory: l1, memories: [%sl1], cost: "
            "{latency: "
            "1, per_cycle: 9}}\n",
            d->l2 ? "l2, " : "");
}

/* Which loops of an operator are cut, in which order. */
static void draw_cuts(draw *d, const node *driver)
{
    int order[AXES] = {0, 1, 2};
    for (int i = AXES - 1; i > 0; i--) {
        int k = (int)pick(d, 0, i), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    d->n_cuts = 0;
    for (int i = 0; i < AXES; i++) {
        if (order[i] == 0 ? !toss(d, 4) : toss(d, 4)) continue;
        d->cut[d->n_cuts] = order[i];
        d->size[d->n_cuts++] = pick(d, 1, tw_max(1, driver->extent[order[i]]));
    }
}

/* Whether one of the operators first .. end - 1 reads the tensor. */
static bool is_read(const draw *d, int tensor, int first, int end)
{
    for (int i = first; i < end; i++)
        for (int r = 0; r < d->op[i].n_reads; r++)
            if (d->op[i].tensor[r] == tensor) return true;
    return false;
}

typedef struct span {
    int first, end; /* operators of a group */
} span;

static void add_names(draw *d, span g, const char *key, bool sliding, const char *loop)
{
    const char *gap = "";
    add(d->mapping, ", %s: {", key);
    for (int t = 0; t < d->n_tensors; t++) {
        if (!is_read(d, t, g.first, g.end) || (sliding && !d->slide[t])) continue;
        if (loop)
            add(d->mapping, "%st%d: %s", gap, t, loop);
        else
            add(d->mapping, "%st%d: %d", gap, t, (int)pick(d, 1, 3));
        gap = ", ";
    }
    add(d->mapping, "}");
}

/* Rows or columns are what windows slide along; what changes further inside is held together. */
static void draw_slides(draw *d, span g)
{
    int last = (int)tw_max(0, d->n_cuts - 1), place = (int)pick(d, 0, last), policy = (int)pick(d, 0, 2),
        loop = d->n_cuts > 0 ? d->cut[place] : 0; /* again, kept, mixed */
    bool any = false;
    memset(d->slide, 0, sizeof d->slide);
    if (loop == 0 || policy == 0) return;
    for (int t = 0; t < d->n_tensors; t++) {
        d->slide[t] = is_read(d, t, g.first, g.end) && (policy == 1 || toss(d, 2));
        any |= d->slide[t];
    }
    if (place < last) add_names(d, g, "keep", false, loop_name[loop]);
    if (any) add_names(d, g, "slide", true, loop_name[loop]);
    d->slides |= any;
}

static void draw_group(draw *d, span g)
{
    const char *gap = "";
    add(d->mapping, "  - name: g%d\n    ops: [", g.first);
    for (int i = g.first; i < g.end; i++) add(d->mapping, "%so%d", i > g.first ? ", " : "", i);
    add(d->mapping, "]\n");
    for (int i = g.first; i < g.end && d->vector; i++, gap = ", ")
        add(d->mapping, "%so%d: %s", *gap ? gap : "    engines: {", i, toss(d, 2) ? "core" : "vector");
    if (*gap) add(d->mapping, "}\n");
    gap = "";
    add(d->mapping, "    levels:\n%s      - {at: l1, sizes: {", d->l2 ? "      - {at: l2}\n" : "");
    draw_cuts(d, &d->op[g.end - 1]);
    for (int i = 0; i < d->n_cuts; i++, gap = ", ")
        add(d->mapping, "%s%s: %d", gap, loop_name[d->cut[i]], (int)d->size[i]);
    add(d->mapping, "}, order: [");
    for (int i = 0; i < d->n_cuts; i++) add(d->mapping, "%s%s", i ? ", " : "", loop_name[d->cut[i]]);
    add(d->mapping, "]");
    add_names(d, g, "buffers", false, NULL);
    size_t before = strlen(d->mapping);
    draw_slides(d, g);
    d->plain = before == strlen(d->mapping) && g.end - g.first == d->n_ops;
    add(d->mapping, "}\n");
}

/* What is made by all but the last operator of a group is read in it. */
static bool is_group(const draw *d, span g)
{
    for (int t = 0; t < d->n_tensors; t++)
        if (d->maker[t] >= g.first && d->maker[t] < g.end - 1 && !is_read(d, t, d->maker[t] + 1, g.end))
            return false;
    return true;
}

/* One group of all, or several: what is read in others leaves its group besides. */
static void draw_mapping(draw *d)
{
    bool one = !toss(d, 3);
    add(d->mapping, "groups:\n");
    for (span g = {0, 0}; g.first < d->n_ops; g.first = g.end, d->n_groups++) {
        g.end = one ? d->n_ops : (int)pick(d, g.first + 1, d->n_ops);
        while (!is_group(d, g)) g.end--;
        draw_group(d, g);
    }
}

/* ---- the oracle ---- */

typedef struct part {
    bool any;
    int64_t lo[LOOPS], hi[LOOPS];
} part;

/* Position of a point along an axis; false: there is none. */
static bool position(const access *a, const int64_t *point, int64_t *out)
{
    int64_t x = a->offset;
    for (int l = 0; l < LOOPS; l++) x += a->coef[l] * point[l];
    if (!a->floors && x % a->divisor != 0) return false;
    *out = tw_fdiv(x, a->divisor);
    return true;
}

static bool next_point(const node *n, const part *box, int64_t *point)
{
    for (int l = n->n_loops - 1; l >= 0; l--) {
        if (++point[l] < box->hi[l]) return true;
        point[l] = box->lo[l];
    }
    return false;
}

static void widen(part *sum, int axis, int64_t lo, int64_t hi)
{
    sum->lo[axis] = sum->any ? tw_min(sum->lo[axis], lo) : lo;
    sum->hi[axis] = sum->any ? tw_max(sum->hi[axis], hi) : hi;
}

/* The positions along an axis that read r has in the box, point by point: from the first to the last, those outside of the tensor
 * left out; false: there are none. */
static bool count_axis(const draw *d, const node *n, int r, int axis, const part *box, part *out)
{
    int64_t point[LOOPS], at;
    part all = {0};
    memcpy(point, box->lo, sizeof point);
    do {
        if (!position(&n->at[r][axis], point, &at)) continue;
        widen(&all, axis, at, at + 1);
        all.any = true;
    } while (next_point(n, box, point));
    out->lo[axis] = tw_max(all.lo[axis], 0);
    out->hi[axis] = tw_min(all.hi[axis], d->shape[n->tensor[r]][axis]);
    return all.any && out->lo[axis] < out->hi[axis];
}

static void touch(const draw *d, const node *n, int r, const part *box, part *sum)
{
    part one = {0};
    for (int a = 0; a < AXES; a++)
        if (!count_axis(d, n, r, a, box, &one)) return;
    for (int a = 0; a < AXES; a++) widen(sum, a, one.lo[a], one.hi[a]);
    sum->any = true;
}

/* The windows of all tensors, the driver having this box. */
static void find_windows(const draw *d, const part *tile, part *window)
{
    part box[MOST_OPS] = {0};
    memset(window, 0, MOST_TENSORS * sizeof *window);
    for (int i = d->n_ops - 1, made = d->n_tensors - 1; i >= 0; i--, made--) {
        const node *n = &d->op[i];
        if (i == d->n_ops - 1) window[made] = *tile;
        box[i] = window[made];
        for (int l = AXES; l < n->n_loops; l++) box[i].lo[l] = 0, box[i].hi[l] = n->extent[l];
        for (int r = 0; r < n->n_reads && box[i].any; r++) touch(d, n, r, &box[i], &window[n->tensor[r]]);
    }
}

typedef struct walk {
    const draw *d;
    const tw_plan *plan;
    int n_wrong;
} walk;

/* The tile of the driver in a step, the last cut fastest. */
static part tile_of(const draw *d, int64_t step)
{
    part tile = {.any = true};
    const node *driver = &d->op[d->n_ops - 1];
    for (int a = 0; a < AXES; a++) tile.hi[a] = driver->extent[a];
    for (int i = d->n_cuts - 1; i >= 0; i--) {
        int64_t extent = driver->extent[d->cut[i]], n = tw_cdiv(extent, d->size[i]);
        tile.lo[d->cut[i]] = step % n * d->size[i];
        tile.hi[d->cut[i]] = tw_min(extent, tile.lo[d->cut[i]] + d->size[i]);
        step /= n;
    }
    return tile;
}

static tw_status see_step(void *user, const tw_group_step *step)
{
    walk *w = user;
    part tile = tile_of(w->d, step->number), window[MOST_TENSORS];
    find_windows(w->d, &tile, window);
    for (int i = 0; i < step->n_tensors; i++) {
        const char *name = tw_plan_group_tensor(w->plan, 0, i).name;
        if (name[0] != 't') continue; /* weights */
        const part *should = &window[atoi(name + 1)];
        const tw_group_window *is = &step->window[i];
        bool same = is->any == should->any;
        for (int a = 0; a < AXES && same && is->any; a++)
            same = is->lo[a] == should->lo[a] && is->hi[a] == should->hi[a];
        if (!same && w->n_wrong++ == 0)
            printf("step %d: '%s' is %d..%d of axis 1, it should be %d..%d\n", (int)step->number, name,
                   (int)is->lo[1], (int)is->hi[1], (int)should->lo[1], (int)should->hi[1]);
    }
    return TW_OK;
}

/* What slides is made once, where nothing but the loop along which it does is cut, in a chain: where branches meet, one of them may ask for
 * wider rows in some steps than in others. */
static bool is_made_once(const draw *d, const tw_plan *plan)
{
    for (int i = 0; i < d->n_ops; i++)
        if (d->op[i].n_reads > 1 || d->n_groups > 1) return true;
    for (int i = 0; i < tw_plan_group_facts(plan, 0).n_tensors && d->n_cuts == 1; i++) {
        tw_group_tensor t = tw_plan_group_tensor(plan, 0, i);
        int number = t.name[0] == 't' ? atoi(t.name + 1) : -1;
        if (number < 0 || !d->slide[number] || t.elems_made <= t.elems) continue;
        printf("'%s' has %d elements, %d are made\n", t.name, (int)t.elems, (int)t.elems_made);
        return false;
    }
    return true;
}

/* ---- the test ---- */

static void show(const draw *d, tw_context *ctx, uint64_t seed)
{
    printf("case %" PRIu64 "\n%s%s%s", seed, d->machine, d->workload, d->mapping);
    for (int i = 0; i < tw_context_n_messages(ctx); i++) printf("%s\n", tw_context_message(ctx, i));
}

/* A group that does not need all of what others read, too, does not make all of it; and a machine may not take a tile. */
static bool is_reason(const tw_context *ctx, draw *d)
{
    const char *why = tw_context_message(ctx, 0);
    d->refused = (d->n_groups > 1 && strstr(why, "does not make")) || strstr(why, "is read in several memories") ||
                 strstr(why, "cannot slide: what is new is not read in the same step") || /* but padding is */
                 (d->less > 0 && (strstr(why, "is short by") || strstr(why, "no addresses were found"))) ||
                 (d->limited &&
                  (strstr(why, "of padding") || strstr(why, "needs a multiple") || strstr(why, "needs at least")));
    return d->refused;
}

/* A mapping as it is printed; the caller frees it. */
static char *print_mapping(tw_context *ctx, const tw_mapping *mapping, const tw_model *model,
                           const tw_machine *machine)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    CHECK_EQ(tw_mapping_print_to(ctx, mapping, model, machine, out), TW_OK);
    fclose(out);
    return text;
}

/* What is printed reads as what it was, and is printed as before. */
static bool reads_back(tw_context *ctx, const tw_mapping *mapping, const tw_model *model, const tw_machine *machine)
{
    const tw_mapping *again;
    char *first = print_mapping(ctx, mapping, model, machine), *second = NULL;
    bool same = tw_mapping_parse(ctx, model, machine, "printed", first, &again) == TW_OK;
    if (same) second = print_mapping(ctx, again, model, machine);
    same = same && strcmp(first, second) == 0;
    free(first);
    free(second);
    return same;
}

/* The same in less of l1 than all groups have side by side; 0: it is the same. */
static int64_t draw_less(draw *d, const tw_plan *plan)
{
    const tw_platform *platform = plan->machine->platform;
    for (int m = 1; m < platform->n_memories && d->n_groups > 1; m++) {
        int64_t all = plan->joint->memory[m].static_units;
        if (strcmp(platform->memory[m].name, "l1") == 0) return all > 1 ? pick(d, all / 2, all - 1) : 0;
    }
    return 0;
}

static void limit_l1(draw *d, int64_t size)
{
    static const char was[] = "name: l1, size: unlimited";
    char rest[ROOM], *at = strstr(d->machine, was);
    snprintf(rest, sizeof rest, "%s", at + sizeof was - 1);
    snprintf(at, (size_t)(ROOM - (at - d->machine)), "name: l1, size: %d%s", (int)size, rest);
}

static bool judge(draw *d, tw_context *ctx)
{
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *verdict = NULL;
    tw_status status = TW_ERR_INPUT;
    if (tw_model_parse(ctx, "workload", d->workload, &model) != TW_OK ||
        tw_machine_parse(ctx, "machine", d->machine, &machine) != TW_OK ||
        tw_mapping_parse(ctx, model, machine, "mapping", d->mapping, &mapping) != TW_OK ||
        !reads_back(ctx, mapping, model, machine) ||
        (status = tw_plan_eval(ctx, model, machine, mapping, &plan)) != TW_OK)
        return status == TW_INFEASIBLE && is_reason(ctx, d);
    d->shares = plan->joint->program->any_shares;
    if (d->less == 0) d->less = draw_less(d, plan);
    if (!least_holds(plan)) return false;
    status = tw_plan_verify(ctx, plan, 0, NULL, &verdict);
    if (status == TW_WRONG) printf("%s\n", verdict->first_fault);
    if (status != TW_OK || !verdict->checked || !verdict->executed || !verdict->equal) return false;
    walk w = {d, plan, 0};
    if (d->plain && tw_plan_group_walk(ctx, plan, 0, see_step, &w) != TW_OK) return false;
    return w.n_wrong == 0 && is_made_once(d, plan);
}

/* Once with as much memory as it takes, and once where groups have to share addresses. */
static bool judge_twice(draw *d, tw_context *ctx)
{
    if (!judge(d, ctx)) return false;
    if (d->less == 0) return true;
    limit_l1(d, d->less);
    tw_context *again = tw_context_new();
    bool good = judge(d, again);
    for (int i = 0; !good && i < tw_context_n_messages(again); i++) printf("%s\n", tw_context_message(again, i));
    tw_context_free(again);
    return good;
}

TEST(what_is_fused_is_what_its_operators_make_one_by_one)
{
    uint64_t random = tw_test_seed();
    const char *asked = getenv("TW_CASES");
    int n = asked ? atoi(asked) : 300, n_slide = 0, n_plain = 0, n_apart = 0, n_refused = 0, n_wrong = 0,
        n_shared = 0;
    for (int i = 0; i < n && n_wrong < 3; i++) {
        uint64_t seed = tw_random_next(&random);
        draw *d = calloc(1, sizeof *d);
        tw_context *ctx = tw_context_new();
        assert_non_null(d);
        d->random = seed;
        draw_graph(d);
        draw_machine(d);
        draw_mapping(d);
        if (!judge_twice(d, ctx)) {
            show(d, ctx, seed);
            n_wrong++;
        }
        n_slide += d->slides;
        n_plain += d->plain;
        n_shared += d->slides && d->shares;
        n_apart += d->n_groups > 1;
        n_refused += d->refused;
        tw_context_free(ctx);
        free(d);
    }
    printf(
        "%d graphs, %d in several groups, %d refused: windows slide in %d, beside groups at the same addresses in "
        "%d, counted point by point in %d\n",
        n, n_apart, n_refused, n_slide, n_shared, n_plain);
    CHECK_EQ(n_wrong, 0);
    CHECK(n_slide > n / 4 && n_plain > n / 8 && n_refused < n / 4 && n_shared > n / 60);
}
/* Four by four elements with two of padding on all sides, a kernel of one: of 16 tiles, the 12 at the edges meet nothing but padding. Each of their
 * elements takes one point, and an engine that takes no padding takes them. */
TEST(a_tile_of_nothing_but_padding_is_a_fill)
{
    static const char on[] = "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n"
                             "  - {name: l1, size: 64 KiB}\nengines:\n"
                             "  - {name: dma, between: [dram, l1], cost: {latency: 1, per_cycle: 4}}\n"
                             "  - {name: mac, computes: [multiply-add], memory: l1, pad_limit: half-kernel, cost: "
                             "{latency: 0, per_cycle: 1}}\n",
                      asked[] = "workload: w\nops:\n"
                                "  - {name: c, op: conv, shape: [16, 4, 4], out: 8, kernel: 1, pad: 2, dtype: i8, "
                                "out_dtype: i32, inputs: {ifm: x}, output: y}\n",
                      mapped[] = "groups:\n  - name: g\n    ops: [c]\n    levels:\n"
                                 "      - {at: l1, sizes: {oy: 2, ox: 2}, order: [oy, ox]}\n";
    tw_context *ctx = tw_context_new();
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *mapping;
    const tw_plan *plan;
    const tw_verdict *verdict;
    CHECK_EQ(tw_model_parse(ctx, "w", asked, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "m", on, &machine), TW_OK);
    CHECK_EQ(tw_mapping_parse(ctx, model, machine, "mapping", mapped, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
    CHECK_EQ(plan->sum.macs, 4 * (8 * 2 * 2) * 16 + 12 * (8 * 2 * 2));
    CHECK_EQ(tw_plan_verify(ctx, plan, 0, NULL, &verdict), TW_OK);
    CHECK(verdict->checked && verdict->executed && verdict->equal);
    tw_context_free(ctx);
}

/* What `a` makes is read whole by `b` and in parts by `c`: its weights, which move with the cut of channels by themselves, are the same in all steps, are
 * brought inwards once, and leave room outside with that. */
TEST(weights_that_a_second_reader_keeps_whole_are_given_back_when_they_were_brought_inwards)
{
    static const char
        on[] = "machine: m\nunit: byte\ntiming: async\nmemories:\n  - {name: dram, size: unlimited}\n"
               "  - {name: l2, size: 200}\n  - {name: l1, size: 100}\nengines:\n"
               "  - {name: far, between: [dram, l2], cost: {latency: 1, per_cycle: 4}}\n"
               "  - {name: near, between: [l2, l1], cost: {latency: 1, per_cycle: 4}}\n"
               "  - {name: mac, computes: [multiply-add, add], memory: l1, cost: {latency: 1, per_cycle: 4}}\n",
        asked[] =
            "workload: w\nops:\n"
            "  - {name: a, op: conv, shape: [3, 2, 3], out: 4, kernel: 1, dtype: i8, out_dtype: i8, output: x}\n"
            "  - {name: b, op: conv, shape: [4, 2, 3], out: 4, kernel: 1, dtype: i8, out_dtype: i8, "
            "inputs: {ifm: x}, output: y}\n"
            "  - {name: c, op: add, shape: [4, 2, 3], dtype: i8, out_dtype: i8, inputs: {ifm: x, w: y}, "
            "output: z}\n",
        said[] =
            "groups: [{ops: [a, b, c], levels: [{at: l2, sizes: {d0: 2, d1: 1}, order: [d0, d1]%s}, {at: l1}]}]\n";
    static const char *const keep[] = {"", ", keep: {a.w: all}"};
    for (size_t i = 0; i < TW_COUNT(keep); i++) {
        tw_context *ctx = tw_context_new();
        const tw_model *model;
        const tw_machine *machine;
        const tw_mapping *mapping;
        const tw_plan *plan;
        const tw_verdict *verdict;
        char text[200];
        snprintf(text, sizeof text, said, keep[i]);
        CHECK_EQ(tw_model_parse(ctx, "w", asked, &model), TW_OK);
        CHECK_EQ(tw_machine_parse(ctx, "m", on, &machine), TW_OK);
        CHECK_EQ(tw_mapping_parse(ctx, model, machine, "g", text, &mapping), TW_OK);
        CHECK_EQ(tw_plan_eval(ctx, model, machine, mapping, &plan), TW_OK);
        tw_status status = tw_plan_verify(ctx, plan, 0, NULL, &verdict);
        if (status == TW_WRONG) print_error("%s\n", verdict->first_fault);
        CHECK_EQ(status, TW_OK);
        CHECK(verdict->checked && verdict->equal);
        tw_context_free(ctx);
    }
}
