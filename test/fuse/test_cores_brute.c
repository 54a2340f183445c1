/* test/fuse/test_cores_brute.c - small problems on several cores against trying everything.
 *
 * The space is that of fuse/exact.h. Here it is walked without bounds: every mapping is written as a file, read and simulated. TW_CASES says how many problems. */
#include "fuse/exact.h"
#include "mapping/groups.h"
#include "sim/joint.h"
#include "tw_read.h"

#include <math.h>
#include <tilewright/tilewright.h>

enum { ROOM = 8000, MOST_OPS = 5, MOST_CORES = 3, MOST_MAPPINGS = 5000 };

typedef struct layer { /* tensors are t0, t1, ..: layer i makes t(i + 1) */
    bool adds;
    int reads, also; /* tensors; `also` -1: one of its own */
    int kernel;
    int64_t loop[6]; /* oc oy ox ic ky kx; of an addition d0 d1 d2 */
} layer;

typedef struct problem {
    uint64_t random;
    int n_cores, n_ops, n_sides[MOST_CORES];
    int64_t side[MOST_CORES][2];
    bool adds[MOST_CORES];
    int64_t size[MOST_CORES];
    layer layer[MOST_OPS];
    int64_t shape[MOST_OPS + 1][3];
    char machine[ROOM], workload[ROOM];
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return tw_test_pick(&p->random, lo, hi); }

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

/* ---- problems ---- */

static void draw_engines(problem *p, int c)
{
    p->n_sides[c] = (int)pick(p, 0, 2);
    for (int d = 0; d < 2; d++) p->side[c][d] = 1 << pick(p, 0, 2);
    p->adds[c] = c == 0 || pick(p, 0, 3) > 0;
    p->size[c] = pick(p, 0, 2) ? pick(p, 40, 150) : pick(p, 150, 2000);
    add(p->machine,
        "  - name: c%d\n    memories: [{name: m, size: %d, energy: %d pJ}]\n    engines:\n"
        "      - {name: dma, between: [dram, m], prefetch: all, cost: {latency: %d, per_cycle: %d}}\n"
        "      - {name: mac, computes: [multiply-add%s], memory: m, cost: {",
        c, (int)p->size[c], (int)pick(p, 0, 2), (int)pick(p, 0, 3), (int)pick(p, 1, 8), p->adds[c] ? ", add" : "");
    if (p->n_sides[c] == 0)
        add(p->machine, "latency: %d, per_cycle: %d}}\n", (int)pick(p, 0, 3), (int)p->side[c][0]);
    else if (p->n_sides[c] == 1)
        add(p->machine, "array: {rows: %d}}}\n", (int)p->side[c][0]);
    else
        add(p->machine, "array: [%d, %d]}}\n", (int)p->side[c][0], (int)p->side[c][1]);
}

static void draw_machine(problem *p)
{
    bool linked = pick(p, 0, 2) == 0, port = pick(p, 0, 4) > 0;
    *p->machine = 0;
    add(p->machine,
        "machine: cores\nunit: byte\ntiming: async\nmemories: [{name: dram, size: unlimited, energy: 5 pJ}]\n");
    if (linked) {
        add(p->machine, "engines:\n");
        for (int a = 0; a < p->n_cores; a++)
            for (int b = 0; b < p->n_cores; b++)
                if (a != b)
                    add(p->machine,
                        "  - {name: l%d%d, between: [c%d.m, c%d.m], carries: in, cost: {latency: 1, per_cycle: "
                        "%d}}\n",
                        a, b, a, b, (int)pick(p, 1, 8));
    }
    if (port)
        add(p->machine, "ports: [{name: ddr, memory: dram, per_cycle: %d, broadcast: %s}]\n", (int)pick(p, 1, 8),
            pick(p, 0, 2) ? "true" : "false");
    add(p->machine, "cores:\n");
    for (int c = 0; c < p->n_cores; c++) draw_engines(p, c);
}

static void draw_layer(problem *p, int i, int64_t most)
{
    layer *l = &p->layer[i];
    const int64_t *in = p->shape[i];
    int64_t *out = p->shape[i + 1];
    *l = (layer){.adds = i > 0 && pick(p, 0, 3) == 0, .reads = i, .also = -1};
    if (l->adds) {
        memcpy(out, in, sizeof p->shape[0]);
        memcpy(l->loop, in, sizeof p->shape[0]);
        for (int t = 0; t < i; t++)
            if (memcmp(p->shape[t], in, sizeof p->shape[0]) == 0 && pick(p, 0, 1)) l->also = t;
        return;
    }
    if (i > 1 && pick(p, 0, 5) == 0) l->reads = (int)pick(p, 0, i); /* a branch */
    in = p->shape[l->reads];
    l->kernel = pick(p, 0, 1) ? 3 : 1;
    out[0] = pick(p, 1, most);
    out[1] = in[1];
    out[2] = in[2];
    const int64_t loop[6] = {out[0], out[1], out[2], in[0], l->kernel, l->kernel};
    memcpy(l->loop, loop, sizeof loop);
}

static void write_workload(problem *p)
{
    *p->workload = 0;
    add(p->workload, "workload: small\nops:\n");
    for (int i = 0; i < p->n_ops; i++) {
        const layer *l = &p->layer[i];
        const int64_t *in = p->shape[l->reads];
        add(p->workload, "  - {name: o%d, op: %s, shape: [%d, %d, %d], dtype: i8, out_dtype: i8, ", i,
            l->adds ? "add" : "conv", (int)in[0], (int)in[1], (int)in[2]);
        if (!l->adds)
            add(p->workload, "accumulator: i32, out: %d, kernel: %d, pad: %d, ", (int)l->loop[0], l->kernel,
                l->kernel / 2);
        add(p->workload, "inputs: {ifm: t%d", l->reads);
        if (l->also >= 0) add(p->workload, ", w: t%d", l->also);
        add(p->workload, "}, output: t%d}\n", i + 1);
    }
}

/* Long chains have short loops: otherwise nobody could try everything. */
static void draw(problem *p)
{
    static const int64_t longest[MOST_OPS + 1] = {0, 8, 4, 3, 2, 2};
    p->n_cores = (int)pick(p, 2, MOST_CORES);
    int64_t most = longest[p->n_ops];
    p->shape[0][0] = pick(p, 1, most);
    p->shape[0][1] = pick(p, 1, most);
    p->shape[0][2] = p->n_ops > 3 ? 1 : pick(p, 1, 2);
    for (int i = 0; i < p->n_ops; i++) draw_layer(p, i, p->n_ops > 3 ? pick(p, 1, 2) : most);
    draw_machine(p);
    write_workload(p);
}

/* ---- every mapping ---- */

typedef struct way { /* of a run */
    int first, n, n_parts, loop, core[MOST_CORES];
    int64_t lo[MOST_CORES], hi[MOST_CORES];
    int cut;
    int64_t tiles;
    int slots;
    bool stays;
} way;

typedef struct brute {
    const problem *p;
    tw_bench bench;
    tw_arena *scratch;
    const tw_model *model;
    const tw_machine *machine;
    way way[MOST_OPS];
    int n;
    bool counts;               /* nothing is tried */
    int64_t n_mappings, least; /* least 0: none is possible */
    char best[ROOM];
} brute;

static const char *loop_name(const layer *l, int i)
{
    static const char *const conv[] = {"oc", "oy", "ox", "ic", "ky", "kx"}, *const sum[] = {"d0", "d1", "d2"};
    return l->adds ? sum[i] : conv[i];
}

static bool reads(const problem *p, int op, int tensor)
{
    return p->layer[op].reads == tensor || (p->layer[op].adds && p->layer[op].also == tensor);
}

/* Whether everything that is made before the last is read in the run, and nowhere else. */
static bool is_closed(const problem *p, int first, int n)
{
    for (int i = first; i < first + n - 1; i++) {
        bool read = false, elsewhere = false;
        for (int k = 0; k < p->n_ops; k++)
            if (reads(p, k, i + 1)) *(k > i && k < first + n ? &read : &elsewhere) = true;
        if (!read || elsewhere) return false;
    }
    return true;
}

typedef struct window { /* of a tensor of three axes; empty: nobody asks */
    bool any;
    int64_t lo[3], hi[3];
} window;

static void widen(window *w, int axis, int64_t lo, int64_t hi)
{
    w->lo[axis] = w->any && w->lo[axis] < lo ? w->lo[axis] : lo;
    w->hi[axis] = w->any && w->hi[axis] > hi ? w->hi[axis] : hi;
}

/* What tile or part of the last layer asks of each tensor of the run. */
static void find_windows(const problem *p, const way *w, int part, bool tile, window out[MOST_OPS + 1])
{
    memset(out, 0, (MOST_OPS + 1) * sizeof *out);
    int last = w->first + w->n - 1;
    window *driver = &out[last + 1];
    for (int a = 0; a < 3; a++) driver->hi[a] = p->layer[last].loop[a];
    if (w->loop >= 0) driver->lo[w->loop] = w->lo[part], driver->hi[w->loop] = w->hi[part];
    if (tile && w->cut >= 0) {
        int64_t len = driver->hi[w->cut] - driver->lo[w->cut];
        driver->hi[w->cut] = driver->lo[w->cut] + (len + w->tiles - 1) / w->tiles;
    }
    driver->any = true;
    for (int i = last; i >= w->first; i--) {
        const layer *l = &p->layer[i];
        const window *made = &out[i + 1];
        for (int both = 0; both < 2; both++) {
            int t = both ? l->also : l->reads;
            if (both && (!l->adds || t < 0)) continue;
            for (int a = 0; a < 3; a++) {
                int64_t pad = l->adds || a == 0 ? 0 : l->kernel / 2;
                int64_t lo = made->lo[a] - pad, hi = made->hi[a] + pad;
                if (!l->adds && a == 0) lo = 0, hi = p->shape[t][0];
                widen(&out[t], a, lo > 0 ? lo : 0, hi < p->shape[t][a] ? hi : p->shape[t][a]);
            }
            out[t].any = true;
        }
    }
}

static int64_t elems_of(const window *w)
{
    int64_t n = 1;
    for (int a = 0; a < 3; a++) n *= w->hi[a] - w->lo[a];
    return n;
}

static const char *comma(const char *text) { return strchr("{[", text[strlen(text) - 1]) ? "" : ", "; }

/* " o1.w: 2, t0: 2": everything that is loaded and stored and not the same in all tiles. */
static void print_buffers(const problem *p, const way *w, int part, char *out)
{
    window whole[MOST_OPS + 1], tile[MOST_OPS + 1];
    int last = w->first + w->n - 1;
    bool named[MOST_OPS + 1] = {false};
    find_windows(p, w, part, false, whole);
    find_windows(p, w, part, true, tile);
    add(out, ", buffers: {");
    for (int i = w->first; i <= last; i++) {
        const layer *l = &p->layer[i];
        const int tensor[3] = {l->reads, l->adds ? l->also : -1, i + 1};
        for (int k = 0; k < 3; k++) {
            int t = tensor[k];
            bool inside = t > w->first && t <= last;
            if (t < 0 || inside || named[t] || elems_of(&whole[t]) == elems_of(&tile[t])) continue;
            named[t] = true;
            add(out, "%st%d: 2", comma(out), t);
        }
        bool own = l->adds ? l->also < 0 && elems_of(&whole[i + 1]) != elems_of(&tile[i + 1])
                           : whole[i + 1].hi[0] - whole[i + 1].lo[0] != tile[i + 1].hi[0] - tile[i + 1].lo[0];
        if (own) add(out, "%so%d.w: 2", comma(out), i);
    }
    add(out, "}");
}

/* Of all ways to lay the loops that are longer than 1 over the sides of the array, the first that takes the fewest passes for such a tile: as a number to the base of
 * the sides, the first loop last. */
static int best_unroll(const problem *p, int core, const layer *l, const window *tile, const int *loop, int n)
{
    int best = 0, many = 1;
    int64_t least = INT64_MAX;
    for (int x = 0; x < n; x++) many *= p->n_sides[core];
    for (int code = 0; code < many; code++) {
        int64_t on[2] = {1, 1}, passes = 1;
        for (int x = 0, rest = code; x < n; x++, rest /= p->n_sides[core])
            on[rest % p->n_sides[core]] *= loop[x] < 3 ? tile->hi[loop[x]] - tile->lo[loop[x]] : l->loop[loop[x]];
        for (int d = 0; d < p->n_sides[core]; d++) passes *= (on[d] + p->side[core][d] - 1) / p->side[core][d];
        if (passes < least) least = passes, best = code;
    }
    return best;
}

static void print_unroll(const problem *p, const way *w, int part, char *out)
{
    static const char *const side_name[] = {"rows", "columns"};
    int n_sides = p->n_sides[w->core[part]];
    window tile[MOST_OPS + 1];
    find_windows(p, w, part, true, tile);
    add(out, ", unroll: {");
    for (int i = w->first; i < w->first + w->n && n_sides > 0; i++) {
        const layer *l = &p->layer[i];
        int loop[6], n = 0;
        for (int x = 0; x < (l->adds ? 3 : 6); x++)
            if (l->loop[x] > 1) loop[n++] = x;
        int best = best_unroll(p, w->core[part], l, &tile[i + 1], loop, n);
        if (n > 0) add(out, "%so%d: {", comma(out), i);
        for (int d = 0; d < n_sides; d++) {
            bool open = false;
            for (int x = 0, rest = best; x < n; x++, rest /= n_sides) {
                if (rest % n_sides != d) continue;
                if (!open) add(out, "%s%s: [", comma(out), side_name[d]);
                add(out, "%s%s", comma(out), loop_name(l, loop[x]));
                open = true;
            }
            if (open) add(out, "]");
        }
        if (n > 0) add(out, "}");
    }
    add(out, "}");
}

static int64_t part_len(const problem *p, const way *w, int part, int loop)
{
    return loop == w->loop ? w->hi[part] - w->lo[part] : p->layer[w->first + w->n - 1].loop[loop];
}

static void print_group(const problem *p, const way *w, int part, char *out)
{
    const layer *driver = &p->layer[w->first + w->n - 1];
    add(out, "  - {name: g%d.%d, core: c%d, ops: [", w->first, part, w->core[part]);
    for (int i = w->first; i < w->first + w->n; i++) add(out, "%so%d", comma(out), i);
    add(out, "]");
    if (w->loop >= 0)
        add(out, ", part: {loop: %s, from: %d, to: %d}", loop_name(driver, w->loop), (int)w->lo[part],
            (int)w->hi[part]);
    print_unroll(p, w, part, out);
    add(out, ", levels: [{at: m");
    if (w->cut >= 0)
        add(out, ", sizes: {%s: %d}", loop_name(driver, w->cut),
            (int)((part_len(p, w, part, w->cut) + w->tiles - 1) / w->tiles));
    if (w->slots > 1) print_buffers(p, w, part, out);
    add(out, "}]}\n");
}

static void print_mapping(const brute *b, char *out)
{
    *out = 0;
    add(out, "groups:\n");
    for (int i = 0; i < b->n; i++)
        for (int part = 0; part < b->way[i].n_parts; part++) print_group(b->p, &b->way[i], part, out);
    add(out, "resident: {");
    for (int i = 0; i < b->n; i++)
        if (b->way[i].stays) add(out, "%st%d: c%d.m", comma(out), b->way[i].first + b->way[i].n, b->way[i].core[0]);
    add(out, "}\n");
    if (strstr(out, "resident: {}")) *strstr(out, "resident: {}") = 0;
}

static void try_mapping(brute *b)
{
    static char text[ROOM];
    tw_arena_mark mark = tw_arena_save(b->bench.arena);
    const tw_work work = {b->bench.arena, b->scratch, &b->bench.diag};
    tw_mapping mapping;
    const tw_joint *joint;
    tw_summary sum;
    b->n_mappings++;
    if (b->counts) return;
    print_mapping(b, text);
    tw_status status = tw_read_mapping(&b->bench, "mapping", text, b->model, b->machine, &mapping);
    if (status == TW_OK) status = tw_mapping_check(&mapping, b->model, b->machine, &b->bench.diag);
    if (status == TW_OK) status = tw_joint_build(b->model, b->machine->platform, &mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, NULL, &work, &sum);
    if (status == TW_OK && (b->least == 0 || sum.cycles < b->least)) {
        b->least = sum.cycles;
        strcpy(b->best, text);
    }
    tw_diag_release(&b->bench.diag);
    tw_arena_rewind(b->bench.arena, mark);
}

static void choose_run(brute *b, int first);

static void choose_resident(brute *b, way *w)
{
    int next = w->first + w->n;
    for (int stays = 0; stays < (w->n_parts == 1 && next < b->p->n_ops ? 2 : 1); stays++) {
        w->stays = stays;
        b->way[b->n++] = *w;
        choose_run(b, next);
        b->n--;
    }
}

static bool has_other_sizes(const brute *b, const way *w)
{
    for (int i = 0; i < w->n_parts; i++) {
        int64_t len = part_len(b->p, w, i, w->cut);
        if ((len + w->tiles - 1) / w->tiles != (len + w->tiles - 2) / (w->tiles - 1)) return true;
    }
    return false;
}

static void choose_tiles(brute *b, way *w)
{
    w->cut = -1;
    w->slots = 1;
    choose_resident(b, w);
    for (int l = 0; l < 3; l++)
        for (w->tiles = 2; w->tiles <= 8; w->tiles++) {
            w->cut = l;
            for (w->slots = 1; w->slots <= 2 && has_other_sizes(b, w); w->slots++) choose_resident(b, w);
        }
}

static void choose_pieces(brute *b, way *w, int part, int64_t at)
{
    int64_t extent = b->p->layer[w->first + w->n - 1].loop[w->loop];
    w->lo[part] = at;
    if (part == w->n_parts - 1) {
        w->hi[part] = extent;
        if (at < extent) choose_tiles(b, w);
        return;
    }
    for (int64_t end = at + 1; end < extent; end++) {
        w->hi[part] = end;
        choose_pieces(b, w, part + 1, end);
    }
}

static void choose_cores(brute *b, way *w)
{
    for (int set = 1; set < 1 << b->p->n_cores; set++) {
        bool can = true;
        w->n_parts = 0;
        for (int c = 0; c < b->p->n_cores; c++) {
            if (!(set >> c & 1)) continue;
            w->core[w->n_parts++] = c;
            for (int i = w->first; i < w->first + w->n; i++) can &= !b->p->layer[i].adds || b->p->adds[c];
        }
        w->loop = -1;
        if (can && w->n_parts == 1) choose_tiles(b, w);
        for (w->loop = 0; w->loop < 3 && can && w->n_parts > 1; w->loop++) choose_pieces(b, w, 0, 0);
    }
}

static void choose_run(brute *b, int first)
{
    if (first == b->p->n_ops) try_mapping(b);
    if (b->counts && b->n_mappings > MOST_MAPPINGS) return;
    for (int n = 1; n <= b->p->n_ops - first; n++) {
        way w = {.first = first, .n = n};
        if (is_closed(b->p, first, n)) choose_cores(b, &w);
    }
}

/* ---- both ---- */

static double by_cycles(const void *user, double cycles, double energy_fj)
{
    (void)user;
    (void)energy_fj;
    return cycles;
}

static char *print_plan(tw_context *ctx, const tw_plan *plan)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    CHECK_EQ(tw_plan_print_mapping(ctx, plan, out), TW_OK);
    fclose(out);
    return text;
}

static tw_status find_plan(tw_context *ctx, const problem *p, int threads, const tw_plan **out)
{
    const tw_model *model;
    const tw_machine *machine;
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.groups = true;
    options.n_threads = threads;
    options.budget = 2000; /* of operators one by one, which search/brute is about */
    CHECK_EQ(tw_model_parse(ctx, "workload", p->workload, &model), TW_OK);
    CHECK_EQ(tw_machine_parse(ctx, "machine", p->machine, &machine), TW_OK);
    return tw_plan_search(ctx, model, machine, &options, out);
}

/* `plan` is no worse than all of them, runs to the reference's results, and is the same on any number of threads. */
static void check_plan(const problem *p, int64_t least)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plan, *again;
    tw_verify_options options = TW_VERIFY_OPTIONS_INIT;
    const tw_verdict *v;
    tw_status status = find_plan(ctx, p, 1, &plan);
    if (status != TW_OK && least > 0)
        fprintf(stderr, "%s%sno plan, by trying %d\n", p->machine, p->workload, (int)least);
    CHECK(status == TW_OK || least == 0);
    if (status == TW_OK) {
        CHECK(least == 0 || tw_plan_summary(plan)->cycles <= least);
        bool grouped = tw_plan_n_groups(plan) > 0; /* otherwise layers on one core are faster */
        for (int op = 0; op < (grouped ? 1 : p->n_ops); op++) {
            tw_status judged = tw_plan_verify(ctx, plan, grouped ? -1 : op, &options, &v);
            if (judged != TW_OK)
                fprintf(stderr, "%s%s%sis wrong\n", p->machine, p->workload, print_plan(ctx, plan));
            CHECK_EQ(judged, TW_OK);
            CHECK(v->checked && v->executed && v->equal);
        }
        CHECK_EQ(find_plan(ctx, p, 3, &again), TW_OK);
        char *one = print_plan(ctx, plan), *three = print_plan(ctx, again);
        CHECK_STR(one, three);
        free(one);
        free(three);
    }
    tw_context_free(ctx);
}

typedef struct score {
    int n, n_possible, by_ops[MOST_OPS + 1];
    int64_t n_mappings, n_simulated;
} score;

static void show(const problem *p, const brute *b, const tw_exact *exact)
{
    fprintf(stderr, "%s%sby trying %d of %d mappings, found %d of %.0f%s\n%s", p->machine, p->workload,
            (int)b->least, (int)b->n_mappings, (int)exact->best.cycles, exact->n_mappings,
            exact->complete ? "" : ", not complete", b->best);
}

/* Bounds are put to the hardest test where all that is a cycle too slow is left out: the best is found, and then nothing. */
static void check_known(const tw_fuse_request *request, const tw_work *work, const brute *b)
{
    tw_exact exact;
    int64_t least = b->least;
    if (least == 0) return;
    CHECK_EQ(tw_exact_find(request, (double)least + 1, work, &exact), TW_OK);
    if (exact.best.cycles != least) show(b->p, b, &exact);
    CHECK_EQ(exact.best.cycles, least);
    CHECK_EQ(tw_exact_find(request, (double)least, work, &exact), TW_OK);
    CHECK(exact.complete && exact.best.mapping.n_groups == 0);
}

static bool run_case(problem *p, score *s)
{
    static brute b;
    tw_bench bench = tw_bench_new();
    tw_model model;
    tw_machine machine;
    tw_exact exact;
    bool taken = false;
    b = (brute){.p = p, .bench = bench, .scratch = tw_arena_new(), .counts = true};
    choose_run(&b, 0);
    if (b.n_mappings <= MOST_MAPPINGS) {
        CHECK_EQ(tw_read_model(&b.bench, "workload", p->workload, &model), TW_OK);
        CHECK_EQ(tw_read_machine(&b.bench, "machine", p->machine, &machine), TW_OK);
        const tw_work work = {b.bench.arena, b.scratch, &b.bench.diag};
        const tw_fuse_request request = {.model = &model, .machine = &machine, .by = {by_cycles, NULL}};
        CHECK_EQ(tw_exact_find(&request, INFINITY, &work, &exact), TW_OK);
        b.counts = false;
        b.n_mappings = 0;
        b.model = &model;
        b.machine = &machine;
        choose_run(&b, 0);
        if (!exact.complete || exact.best.cycles != b.least || (int64_t)exact.n_mappings != b.n_mappings)
            show(p, &b, &exact);
        CHECK(exact.complete);
        CHECK_EQ((int64_t)exact.n_mappings, b.n_mappings);
        CHECK_EQ(exact.best.cycles, b.least);
        check_known(&request, &work, &b);
        s->n_mappings += b.n_mappings;
        s->n_simulated += exact.n_tried;
        s->n_possible += b.least > 0;
        s->by_ops[p->n_ops]++;
        s->n++;
        taken = true;
    }
    tw_bench_free(&b.bench);
    tw_arena_free(b.scratch);
    if (taken) check_plan(p, b.least);
    return taken;
}

TEST(the_best_of_a_small_space_is_found_and_plans_are_no_worse)
{
    uint64_t seed = tw_test_seed();
    int n = getenv("TW_CASES") ? atoi(getenv("TW_CASES")) : tw_test_rounds(20);
    score s = {0};
    for (uint64_t i = 0; s.n < n; i++) {
        static problem p;
        p = (problem){.random = seed * 1000003 + i, .n_ops = 1 + s.n % MOST_OPS};
        draw(&p);
        (void)run_case(&p, &s);
    }
    fprintf(stderr,
            "%d problems (%d %d %d %d %d by operators), %d possible; %ld mappings, %ld simulated after bounds\n",
            s.n, s.by_ops[1], s.by_ops[2], s.by_ops[3], s.by_ops[4], s.by_ops[5], s.n_possible, (long)s.n_mappings,
            (long)s.n_simulated);
    CHECK(s.n_possible * 2 > s.n);
}
