/* test/fuse/test_group_brute.c - the search for groups against trying everything.
 *
 * Random graphs of two to four small operators on random machines with one memory on chip, with and without ports. Every mapping of the space that
 * docs/design/fuse.md states is simulated (brute_group.h). The bound is never above any of them: that is a proof, and has no exceptions. Nor has the plan: where so few mappings are
 * all that there is, fuse/exact.h goes through them, so that no plan is worse than the best of them.
 *
 * Every third graph is asked for the least traffic of the outermost memory. Its machine has energies that count it, a picojoule a unit, so that what brute force simulates has that
 * number, too.
 *
 *     TW_SEED=n TW_CASES=n    so many graphs; TW_CASE=i only this one
 */
#include "brute_group.h"
#include "fuse/least.h"
#include "plan/plan.h"
#include "tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4000, MOST_OPS = 4 };

typedef struct draw {
    uint64_t random;
    char machine[ROOM], workload[ROOM];
    int64_t units;      /* bytes of all tensors, about */
    bool ports, counts; /* energies of the machine count what passes into and out of the outermost memory */
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

typedef struct shape { /* of the tensor that the next operator reads: channels, positions */
    int64_t c, x;
} shape;

/* Along positions, with kernels of several taps; all channels of what comes in. */
static void add_conv(draw *d, int i, int from, shape *s)
{
    int64_t oc = toss(d, 3) ? 2 : 1, taps = pick(d, 1, 3), pad = taps / 2;
    bool channels = s->c > 1 || oc > 1;
    add(d->workload, "  - name: o%d\n    compute: multiply-add\n    accumulator: i32\n", i);
    if (channels)
        add(d->workload,
            "    loops: {oc: %d, ox: %d, ic: %d, kx: %d}\n    reduce: [ic, kx]\n    reads: {ifm: {tensor: t%d, "
            "dtype: i8, at: [ic, ox + kx - %d], "
            "shape: [%d, %d]}, w: {tensor: w%d, role: weights, dtype: i8, at: [oc, ic, kx]}}\n",
            (int)oc, (int)s->x, (int)s->c, (int)taps, from, (int)pad, (int)s->c, (int)s->x, i);
    else
        add(d->workload,
            "    loops: {oc: 1, ox: %d, kx: %d}\n    reduce: [kx]\n    reads: {ifm: {tensor: t%d, dtype: i8, at: "
            "[oc, ox + kx - %d], "
            "shape: [1, %d]}, w: {tensor: w%d, role: weights, dtype: i8, at: [kx]}}\n",
            (int)s->x, (int)taps, from, (int)pad, (int)s->x, i);
    add(d->workload, "    writes: {ofm: {tensor: t%d, dtype: i8, at: [oc, ox]}}\n", i + 1);
    d->units += s->c * oc * taps;
    s->c = channels ? oc : 1;
}

static void add_pool(draw *d, int i, int from, shape *s)
{
    int64_t out = s->x / 2;
    add(d->workload,
        "  - name: o%d\n    compute: max\n    loops: {c: %d, ox: %d, kx: 2}\n    reduce: [kx]\n    reads: {ifm: "
        "{tensor: t%d, dtype: i8, at: [c, 2*ox + "
        "kx], shape: [%d, %d]}}\n    writes: {ofm: {tensor: t%d, dtype: i8, at: [c, ox]}}\n",
        i, (int)s->c, (int)out, from, (int)s->c, (int)s->x, i + 1);
    s->x = out;
}

static void add_sum(draw *d, int i, int from, int with, const shape *s)
{
    add(d->workload,
        "  - name: o%d\n    compute: add\n    loops: {c: %d, x: %d}\n    reads: {ifm: {tensor: t%d, dtype: i8, at: "
        "[c, x]}, w: {tensor: t%d, dtype: "
        "i8, at: [c, x]}}\n    writes: {ofm: {tensor: t%d, dtype: i8, at: [c, x]}}\n",
        i, (int)s->c, (int)s->x, from, with, i + 1);
}

static void draw_workload(draw *d)
{
    int n = (int)(toss(d, 12) ? 4 : toss(d, 3) ? 3 : 2), same = 0; /* the last tensor of the same shape */
    shape s = {toss(d, 3) ? 2 : 1, pick(d, 3, 6)};
    add(d->workload, "workload: w\nops:\n");
    d->units = s.c * s.x;
    for (int i = 0; i < n; i++) {
        shape was = s;
        if (i > 0 && same < i && toss(d, 2))
            add_sum(d, i, i, same, &s);
        else if (s.x >= 4 && toss(d, 4))
            add_pool(d, i, i, &s);
        else
            add_conv(d, i, i, &s);
        if (was.c != s.c || was.x != s.x) same = i + 1;
        d->units += s.c * s.x;
    }
}

/* ---- machines ---- */

static void add_cost(draw *d)
{
    if (toss(d, 4))
        add(d->machine, "cost: {setup: %d, per_row: %d, beat: %d, beats: rows}}\n", (int)pick(d, 0, 5),
            (int)pick(d, 0, 2), (int)pick(d, 1, 4));
    else
        add(d->machine, "cost: {latency: %d, per_cycle: %d}%s}\n", (int)pick(d, 0, 6), (int)pick(d, 1, 4),
            toss(d, 4) ? ", pipelined: true" : "");
}

static void add_port(draw *d, bool apart)
{
    add(d->machine, "ports:\n  - {name: p, memory: %s, ways: %d, per_cycle: %d, word: %d",
        toss(d, 2) ? "dram" : "l1", (int)pick(d, 1, 2), (int)pick(d, 1, 4), (int)pick(d, 1, 3));
    bool priced = toss(d, 2);
    int64_t read = priced ? pick(d, 0, 9) : 0, write = priced ? pick(d, 0, 9) : 0;
    if (priced && !d->counts) add(d->machine, ", read: %d pJ, write: %d pJ", (int)read, (int)write);
    bool some = toss(d, 4);
    if (some) add(d->machine, ", serves: %s", toss(d, 2) ? "reads" : "writes");
    if (apart && !some && toss(d, 2)) add(d->machine, ", movers: [in, out]");
    add(d->machine, "}\n");
}

/* A drawn energy, or that of the memory in a machine whose energies count. */
static int energy(draw *d, int64_t most, int counted)
{
    int64_t drawn = pick(d, 0, most);
    return d->counts ? counted : (int)drawn;
}

static void draw_machine(draw *d)
{
    bool apart = toss(d, 2);
    add(d->machine,
        "machine: m\nunit: byte\ntiming: async\nreuse: resident\nmemories:\n  - {name: dram, size: unlimited, "
        "energy: %d pJ}\n"
        "  - {name: l1, size: %d, align: %d, energy: %d pJ}\nengines:\n",
        energy(d, 20, 1), (int)pick(d, d->units / 3, 2 * d->units), (int)(1 << pick(d, 0, 2)), energy(d, 3, 0));
    if (apart) {
        add(d->machine, "  - {name: in, between: [dram, l1], carries: in, ");
        add_cost(d);
        add(d->machine, "  - {name: out, between: [dram, l1], carries: out, ");
        add_cost(d);
    } else {
        add(d->machine, "  - {name: dma, between: [dram, l1], %s", toss(d, 2) ? "prefetch: all, " : "");
        add_cost(d);
    }
    add(d->machine, "  - {name: mac, computes: [multiply-add, add, max, map], memory: l1, energy: %d pJ, %s",
        energy(d, 3, 0), toss(d, 6) ? "count: 2, " : "");
    add(d->machine, "cost: {latency: %d, per_cycle: %d}%s}\n", (int)pick(d, 0, 6), (int)pick(d, 1, 4),
        toss(d, 4) ? ", pipelined: true" : "");
    d->ports = toss(d, 3);
    if (d->ports) add_port(d, apart);
}

/* ---- trials ---- */

typedef struct trial {
    draw d;
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    tw_measure measure; /* is made small */
    tw_least least;
    bool found, below; /* something has a plan; something is below the bound */
    int64_t best;
    char *mapping; /* of the best */
} trial;

typedef struct tally {
    int n, n_none, n_better, n_equal, n_worse;
    int64_t n_simulated;
    double most, sum; /* how much worse, as a share */
} tally;

static int64_t value_of(const trial *t, const tw_summary *sum)
{
    return t->measure == TW_CYCLES ? sum->cycles : sum->energy_fj;
}

static void keep_text(trial *t, const tw_mapping *mapping)
{
    size_t n;
    free(t->mapping);
    FILE *f = open_memstream(&t->mapping, &n);
    if (!f || tw_mapping_print_to(t->ctx, mapping, t->model, t->machine, f) != TW_OK) abort();
    fclose(f);
}

static void see(void *user, const tw_mapping *mapping, const tw_summary *sum)
{
    trial *t = user;
    bool below = t->least.engine >= 0 && sum->cycles < t->least.cycles;
    if (t->found && value_of(t, sum) >= t->best && (!below || t->below)) return;
    t->below |= below;
    t->found = true;
    t->best = value_of(t, sum);
    keep_text(t, mapping);
}

static void show(const trial *t, int number, const char *what, const tw_plan *plan)
{
    fprintf(stderr,
            "---- %s: TW_SEED=%" PRIu64 " TW_CASE=%d, %s\n%s%sbound %" PRId64 ", tried %" PRId64 ", plan %" PRId64
            "\n%s",
            what, tw_test_seed(), number,
            t->measure == TW_CYCLES   ? "latency"
            : t->measure == TW_ENERGY ? "energy"
                                      : "traffic",
            t->d.machine, t->d.workload, t->least.cycles, t->best, plan ? value_of(t, &plan->sum) : -1,
            t->mapping ? t->mapping : "");
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    if (plan && tw_plan_print_mapping(t->ctx, plan, f) == TW_OK) {
        fclose(f);
        fprintf(stderr, "the plan:\n%s", text);
    }
    free(text);
}

static tw_status plan_of(const trial *t, int n_threads, const tw_plan **out)
{
    const tw_objective objective = {.measure = t->measure, .at = t->measure == TW_TRAFFIC ? "dram" : NULL};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    options.objective = &objective;
    options.n_objectives = 1;
    options.groups = true;
    options.n_threads = n_threads;
    return tw_plan_search(t->ctx, t->model, t->machine, &options, out);
}

/* What passed is what energies say where they count it, and not below what every plan moves, nor is anything that was tried. */
static bool is_counted(const trial *t, const tw_plan *plan)
{
    const int64_t unit_fj = 1000;
    int64_t bound = plan->joint->search->bound_units, is = plan->joint->timeline.outermost_units;
    if (bound > is) return false;
    return t->measure != TW_TRAFFIC ||
           (is * unit_fj == plan->sum.energy_fj && (!t->found || bound * unit_fj <= t->best));
}

/* Everything that is said of the plan is true. */
static bool is_true(const trial *t, const tw_plan *plan)
{
    const tw_verdict *verdict;
    for (int i = 0; i < (plan->joint ? 1 : t->model->n_ops); i++)
        if (tw_plan_verify(t->ctx, plan, i, NULL, &verdict) != TW_OK || !verdict->checked || !verdict->equal)
            return false;
    if (t->least.engine >= 0 && plan->sum.cycles < t->least.cycles) return false;
    const tw_joint_search *search = plan->joint ? plan->joint->search : NULL;
    bool timed = t->measure == TW_CYCLES && t->found;
    return !search ||
           (search->bound <= plan->sum.cycles && (!timed || search->bound <= t->best) && is_counted(t, plan));
}

static void compare(const trial *t, int number, const tw_plan *plan, tally *n)
{
    int64_t value = value_of(t, &plan->sum);
    if (!t->found) {
        n->n_better++;
        return;
    }
    n->n_better += value < t->best;
    n->n_equal += value == t->best;
    n->n_worse += value > t->best;
    if (value <= t->best) return;
    double worse = (double)value / (double)t->best - 1;
    n->sum += worse;
    if (worse > n->most) n->most = worse;
    show(t, number, "worse", plan);
}

/* A graph that brute force can do. */
static void open_trial(trial *t, uint64_t random, bool counts, int64_t limit)
{
    *t = (trial){.d = {.random = random}};
    for (bool small = false; !small;) {
        t->d = (draw){.random = t->d.random, .counts = counts};
        t->ctx = tw_context_new();
        draw_workload(&t->d);
        draw_machine(&t->d);
        bool read = tw_machine_parse(t->ctx, "m", t->d.machine, &t->machine) == TW_OK &&
                    tw_model_parse(t->ctx, "w", t->d.workload, &t->model) == TW_OK;
        if (!read) fprintf(stderr, "%s\n%s%s", tw_context_message(t->ctx, 0), t->d.machine, t->d.workload);
        CHECK(read);
        small = brute_group_size(t->model, t->machine, limit) <= limit;
        if (!small) tw_context_free(t->ctx);
    }
    t->measure = toss(&t->d, 4) ? TW_ENERGY : TW_CYCLES;
    if (counts) t->measure = TW_TRAFFIC;
}

static void try_case(uint64_t random, int number, int64_t limit, tally *n)
{
    trial t;
    const tw_plan *plan = NULL;
    tw_arena *scratch = tw_arena_new();
    open_trial(&t, random, number % 3 == 2, limit);
    CHECK_EQ(tw_least_of(t.model, t.machine, scratch, &t.least), TW_OK);
    n->n_simulated += brute_group_run(t.model, t.machine, see, &t);
    if (t.below) show(&t, number, "below the bound", NULL);
    CHECK(!t.below);
    tw_status status = plan_of(&t, 1 + number % 2, &plan);
    n->n++;
    if (status == TW_INFEASIBLE && !t.found) {
        n->n_none++;
    } else {
        if (status != TW_OK) show(&t, number, tw_status_name(status), NULL);
        CHECK_EQ(status, TW_OK);
        bool good = is_true(&t, plan);
        if (!good) show(&t, number, "not true", plan);
        CHECK(good);
        compare(&t, number, plan, n);
    }
    free(t.mapping);
    tw_context_free(t.ctx);
    tw_arena_free(scratch);
}

TEST(no_bound_is_above_any_way_to_run_a_graph_and_plans_are_as_good_as_trying_everything)
{
    const char *asked = getenv("TW_CASES"), *only = getenv("TW_CASE");
    int n_cases = asked ? atoi(asked) : tw_test_rounds(40), first = only ? atoi(only) : 0;
    uint64_t seed = tw_test_seed();
    tally n = {0};
    for (int i = first; i < (only ? first + 1 : n_cases); i++)
        try_case(seed + (uint64_t)i * UINT64_C(0x632be59bd9b4e019), i, asked && i % 20 == 0 ? 20000 : 1500, &n);
    print_message("%d objectives asked of %d graphs, %" PRId64 " programs simulated\n", n.n, n.n, n.n_simulated);
    print_message("plans: %d better than what was tried, %d equal, %d worse, by %.1f %% on average and %.1f %% at "
                  "most; %d have none\n",
                  n.n_better, n.n_equal, n.n_worse, n.n_worse ? 100 * n.sum / n.n_worse : 0, 100 * n.most,
                  n.n_none);
    CHECK_EQ(n.n_worse, 0);
}
