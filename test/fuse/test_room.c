/* test/fuse/test_room.c - more memory is hardly ever slower: what was found in a memory is a plan in one of twice the size.
 *
 * Groups are planned for less memory as well (plan/fused.c), and may be given no more room than there (mapping/room.c). Where a plan is slower in more memory all the same, that is counted, printed and limited.
 *
 * Random graphs of convolutions, poolings and residual adds, too large to be gone through (fuse/exact.h), are planned for a memory, for one of twice the size, and so on.
 *
 *     TW_SEED=n TW_CASES=n    so many graphs; TW_CASE=i only this one */
#include "mapping/groups.h"
#include "plan/plan.h"
#include "program/nest.h"
#include "tw_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 8000, STEPS = 4 };

typedef struct draw {
    uint64_t random;
    char workload[ROOM];
    int64_t units; /* bytes of all tensors, about */
    int64_t latency, rate, points;
    bool prefetch, energy;
} draw;

typedef struct shape { /* of the tensor that the next operator reads */
    int64_t c, y, x;
} shape;

static int64_t pick(draw *d, int64_t lo, int64_t hi) { return tw_test_pick(&d->random, lo, hi); }

static void add(char *text, const char *fmt, ...) TW_PRINTF(2, 3);
static void add(char *text, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + n, ROOM - n, fmt, args);
    va_end(args);
}

static void add_conv(draw *d, int i, shape *s)
{
    int64_t oc = pick(d, 2, 12), taps = pick(d, 0, 2) ? 3 : 1;
    add(d->workload,
        "  - name: o%d\n    compute: multiply-add\n    accumulator: i32\n"
        "    loops: {oc: %d, oy: %d, ox: %d, ic: %d, ky: %d, kx: %d}\n    reduce: [ic, ky, kx]\n"
        "    reads: {ifm: {tensor: t%d, dtype: i8, at: [ic, oy + ky - %d, ox + kx - %d], shape: [%d, %d, %d]}, "
        "w: {tensor: w%d, role: weights, dtype: i8, at: [oc, ic, ky, kx]}}\n"
        "    writes: {ofm: {tensor: t%d, dtype: i8, at: [oc, oy, ox]}}\n",
        i, (int)oc, (int)s->y, (int)s->x, (int)s->c, (int)taps, (int)taps, i, (int)(taps / 2), (int)(taps / 2),
        (int)s->c, (int)s->y, (int)s->x, i, i + 1);
    d->units += s->c * oc * taps * taps;
    s->c = oc;
}

static void add_pool(draw *d, int i, shape *s)
{
    add(d->workload,
        "  - name: o%d\n    compute: max\n    loops: {c: %d, oy: %d, ox: %d, ky: 2, kx: 2}\n    reduce: [ky, kx]\n"
        "    reads: {ifm: {tensor: t%d, dtype: i8, at: [c, 2*oy + ky, 2*ox + kx], shape: [%d, %d, %d]}}\n"
        "    writes: {ofm: {tensor: t%d, dtype: i8, at: [c, oy, ox]}}\n",
        i, (int)s->c, (int)(s->y / 2), (int)(s->x / 2), i, (int)s->c, (int)s->y, (int)s->x, i + 1);
    s->y /= 2;
    s->x /= 2;
}

static void add_sum(draw *d, int i, int with, const shape *s)
{
    add(d->workload,
        "  - name: o%d\n    compute: add\n    loops: {c: %d, y: %d, x: %d}\n    reads: {ifm: {tensor: t%d, dtype: "
        "i8, "
        "at: [c, y, x]}, w: {tensor: t%d, dtype: i8, at: [c, y, x]}}\n"
        "    writes: {ofm: {tensor: t%d, dtype: i8, at: [c, y, x]}}\n",
        i, (int)s->c, (int)s->y, (int)s->x, i, with, i + 1);
}

static void draw_all(draw *d)
{
    int n = (int)pick(d, 2, 7), same = 0; /* the last tensor of the same shape */
    shape s = {pick(d, 2, 12), pick(d, 8, 28), pick(d, 8, 28)};
    add(d->workload, "workload: w\nops:\n");
    d->units = s.c * s.x * s.y;
    for (int i = 0; i < n; i++) {
        shape was = s;
        if (same < i && pick(d, 1, 4) == 1)
            add_sum(d, i, same, &s);
        else if (s.x >= 6 && s.y >= 6 && pick(d, 1, 6) == 1)
            add_pool(d, i, &s);
        else
            add_conv(d, i, &s);
        if (was.c != s.c || was.x != s.x) same = i + 1;
        d->units += s.c * s.x * s.y;
    }
    d->latency = pick(d, 0, 60);
    d->rate = pick(d, 1, 8);
    d->points = pick(d, 2, 64);
    d->prefetch = pick(d, 0, 1);
    d->energy = pick(d, 1, 4) == 1;
}

static const tw_machine *machine_of(const draw *d, int64_t size, tw_context *ctx)
{
    char text[ROOM] = "";
    const tw_machine *machine;
    add(text,
        "machine: m\nunit: byte\ntiming: async\nreuse: resident\nmemories:\n  - {name: dram, size: unlimited, "
        "energy: "
        "20 pJ}\n  - {name: l1, size: %d, align: 4, energy: 1 pJ}\nengines:\n  - {name: dma, between: [dram, l1], "
        "%s"
        "cost: {latency: %d, per_cycle: %d}}\n  - {name: mac, computes: [multiply-add, add, max, map], memory: l1, "
        "energy: 1 pJ, cost: {latency: 8, per_cycle: %d}}\n",
        (int)size, d->prefetch ? "prefetch: all, " : "", (int)d->latency, (int)d->rate, (int)d->points);
    CHECK_EQ(tw_machine_parse(ctx, "m", text, &machine), TW_OK);
    return machine;
}

/* NULL: nothing fits. */
static const tw_plan *search(const draw *d, int64_t size, tw_context *ctx)
{
    const tw_objective objective = {.measure = d->energy ? TW_ENERGY : TW_CYCLES};
    tw_search_options options = TW_SEARCH_OPTIONS_INIT;
    const tw_model *model;
    const tw_plan *plan;
    options.objective = &objective;
    options.n_objectives = 1;
    options.groups = true;
    options.budget = 20000;
    CHECK_EQ(tw_model_parse(ctx, "w", d->workload, &model), TW_OK);
    return tw_plan_search(ctx, model, machine_of(d, size, ctx), &options, &plan) == TW_OK ? plan : NULL;
}

/* The plan is right, and takes as long when its mapping is written and read again. */
static void check_again(tw_context *ctx, const tw_plan *plan)
{
    tw_text text = {0};
    const tw_mapping *mapping;
    const tw_plan *again;
    const tw_verdict *verdict;
    tw_mapping_print(plan->mapping, plan->model, plan->machine, &text);
    CHECK_EQ(tw_mapping_parse(ctx, plan->model, plan->machine, "mapping", text.bytes, &mapping), TW_OK);
    CHECK_EQ(tw_plan_eval(ctx, plan->model, plan->machine, mapping, &again), TW_OK);
    CHECK_EQ(again->sum.cycles, plan->sum.cycles);
    CHECK_EQ(tw_plan_verify(ctx, again, 0, NULL, &verdict), TW_OK);
    CHECK(verdict->checked && verdict->equal);
    tw_text_release(&text);
}

/* Of the first objective; INT64_MAX: nothing fits. */
static int64_t plan_of(const draw *d, int64_t size)
{
    tw_context *ctx = tw_context_new();
    const tw_plan *plan = search(d, size, ctx);
    int64_t value = !plan ? INT64_MAX : d->energy ? plan->sum.energy_fj : plan->sum.cycles;
    if (plan && plan->mapping->n_rooms > 0) check_again(ctx, plan);
    tw_context_free(ctx);
    return value;
}

/* Groups that share addresses take as long in four times the memory, if they have no more room there. */
TEST(groups_with_less_room_are_those_of_a_smaller_memory)
{
    int n = 0;
    for (int i = 0; i < tw_test_rounds(12); i++) {
        draw d = {.random = tw_test_seed() + (uint64_t)i * UINT64_C(0x632be59bd9b4e019)};
        tw_context *ctx = tw_context_new();
        draw_all(&d);
        int64_t size = d.units / 12 + 200;
        const tw_plan *plan = search(&d, size, ctx), *there;
        if (plan && plan->joint) {
            const tw_group_room room = {.memory = 1, .units = size};
            tw_mapping mapping = *plan->mapping;
            mapping.n_rooms = 1;
            mapping.room = &room;
            CHECK_EQ(tw_plan_eval(ctx, plan->model, machine_of(&d, 4 * size, ctx), &mapping, &there), TW_OK);
            CHECK_EQ(there->sum.cycles, plan->sum.cycles);
            CHECK_EQ(there->joint->program->any_shares, plan->joint->program->any_shares);
            check_again(ctx, there);
            n += there->joint->program->any_shares;
        }
        tw_context_free(ctx);
    }
    CHECK(n > 0);
}

TEST(more_memory_is_hardly_ever_slower)
{
    const char *asked = getenv("TW_CASES"), *only = getenv("TW_CASE");
    int n_cases = asked ? atoi(asked) : tw_test_rounds(10), first = only ? atoi(only) : 0, n_worse = 0, n_plans = 0;
    double most = 0;
    for (int i = first; i < (only ? first + 1 : n_cases); i++) {
        draw d = {.random = tw_test_seed() + (uint64_t)i * UINT64_C(0x632be59bd9b4e019)};
        draw_all(&d);
        int64_t size = pick(&d, d.units / 12 + 200, d.units / 2 + 200), before = INT64_MAX;
        for (int k = 0; k < STEPS; k++, size *= 2) {
            int64_t now = plan_of(&d, size);
            n_plans += now < INT64_MAX;
            if (now > before) {
                fprintf(stderr,
                        "TW_SEED=%" PRIu64 " TW_CASE=%d: %s %" PRId64 " in %" PRId64 " bytes, %" PRId64
                        " in %" PRId64 "\n%s",
                        tw_test_seed(), i, d.energy ? "energy" : "cycles", before, size / 2, now, size,
                        only ? d.workload : "");
                n_worse++;
                double worse = (double)now / (double)before - 1;
                if (worse > most) most = worse;
            }
            before = now;
        }
    }
    print_message("%d plans, %d worse with twice the memory, by %.2f %% at most\n", n_plans, n_worse, 100 * most);
    CHECK(30 * n_worse <= n_plans + 30);
    CHECK(most <= 0.03);
}
