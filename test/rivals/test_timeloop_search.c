/* test/rivals/test_timeloop_search.c - the search against trying every mapping, and what other people's searches found. */
#include "tilewright/rivals.h"
#include "tl_random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- every mapping, one by one ---- */

typedef struct brute {
    const tw_rival *rival;
    const tw_tl_limits *limits;
    tw_work work;
    tw_measure measure;
    int64_t rest[TW_RIVAL_DIMS];
    int64_t factor[2][TW_RIVAL_MEMORIES][TW_RIVAL_DIMS]; /* over the fan-out, over time */
    unsigned on_y[TW_RIVAL_MEMORIES], bypass[TW_RIVAL_MEMORIES];
    int order[TW_RIVAL_MEMORIES][TW_RIVAL_DIMS], n_order[TW_RIVAL_MEMORIES]; /* over time, innermost first */
    double best;
    int64_t tried;
    tw_rival_layer layer;
    tw_rival trial;
    tw_loopnest nest;
    tw_loopnest_loop loop[128];
} brute;

static void try_one(brute *b)
{
    const tw_hierarchy *h = b->rival->machine;
    const tw_einsum *e = b->rival->layer[0].einsum;
    tw_diag quiet = {.muted = true};
    tw_work work = {b->work.arena, b->work.scratch, &quiet};
    double energy, cycles;
    int n = 0;
    for (int m = 0; m < h->n_memories; m++) {
        const tw_tl_level *level = h->memory[m].extra;
        for (int o = 0; o < e->n_operands; o++) b->nest.depth[m][o] = b->bypass[m] >> o & 1 ? -1 : n;
        for (int i = b->n_order[m] - 1; i >= 0; i--) {
            int64_t f = b->factor[1][m][b->order[m][i]];
            b->loop[n++] = (tw_loopnest_loop){b->order[m][i], f, f, -1, m};
        }
        for (int y = 1; y >= 0; y--)
            for (int d = e->n_dims - 1; d >= 0; d--)
                if (b->factor[0][m][d] > 1 && (int)(b->on_y[m] >> d & 1) == y)
                    b->loop[n++] = (tw_loopnest_loop){d, b->factor[0][m][d], b->factor[0][m][d],
                                                      y ? level->axis_y : level->axis_x, m};
    }
    b->nest.n_loops = n;
    b->tried++;
    if (tw_tl_count_cost(&b->trial, 0, work, &energy, &cycles) != TW_OK) return;
    double value = b->measure == TW_ENERGY ? energy : b->measure == TW_CYCLES ? cycles : energy * cycles;
    if (value < b->best && getenv("TW_SHOW")) {
        tw_text t = {0};
        tw_loopnest_print(&b->nest, e, h, &t);
        print_message("%g\n%s", value, t.bytes);
        tw_text_release(&t);
    }
    b->best = fmin(b->best, value);
}

/* Whether the order keeps to what is fixed: listed dimensions innermost, those behind the bar outermost. */
static bool order_is_allowed(const brute *b, int m)
{
    const tw_tl_block *l = &b->limits->time[m];
    int at = 0, end = b->n_order[m];
    for (int i = 0; i < l->n_inner; i++)
        if (b->factor[1][m][l->inner[i]] > 1 && b->order[m][at++] != l->inner[i]) return false;
    for (int i = l->n_outer - 1; i >= 0; i--)
        if (b->factor[1][m][l->outer[i]] > 1 && b->order[m][--end] != l->outer[i]) return false;
    return true;
}

static void all_orders(brute *b, int m, unsigned left)
{
    const tw_einsum *e = b->rival->layer[0].einsum;
    if (m < 0) {
        try_one(b);
        return;
    }
    if (left == 0) {
        unsigned next = 0;
        if (!order_is_allowed(b, m)) return;
        for (int d = 0; m > 0 && d < e->n_dims; d++) next |= (unsigned)(b->factor[1][m - 1][d] > 1) << d;
        if (m > 0) b->n_order[m - 1] = 0;
        all_orders(b, m - 1, next);
        return;
    }
    for (int d = 0; d < e->n_dims; d++) {
        int n = b->n_order[m];
        if (!(left >> d & 1)) continue;
        b->order[m][b->n_order[m]++] = d;
        all_orders(b, m, left & ~(1u << d));
        b->n_order[m] = n;
    }
}

static void all_bypasses(brute *b, int m)
{
    const tw_einsum *e = b->rival->layer[0].einsum;
    int n = b->rival->machine->n_memories;
    if (m == n) {
        unsigned first = 0;
        for (int d = 0; d < e->n_dims; d++) first |= (unsigned)(b->factor[1][n - 1][d] > 1) << d;
        b->n_order[n - 1] = 0;
        all_orders(b, n - 1, first);
        return;
    }
    for (unsigned x = 0; x < 1u << e->n_operands; x++) {
        if ((x & b->limits->keep[m]) || (b->limits->bypass[m] & ~x) || (m == 0 && x != b->limits->bypass[0]))
            continue;
        b->bypass[m] = x;
        all_bypasses(b, m + 1);
    }
}

/* Everything on X that has room there; the costs do not tell X from Y but for links, which the search lays out the same way. */
static bool lay_out(brute *b, int m)
{
    const tw_einsum *e = b->rival->layer[0].einsum;
    const tw_tl_level *level = b->rival->machine->memory[m].extra;
    unsigned used = 0;
    for (int d = 0; d < e->n_dims; d++) used |= (unsigned)(b->factor[0][m][d] > 1) << d;
    for (unsigned y = 0; y <= used; y++) {
        int64_t size[2] = {1, 1};
        if (y & ~used) continue;
        for (int d = 0; d < e->n_dims; d++) size[y >> d & 1] *= b->factor[0][m][d];
        b->on_y[m] = y;
        if (size[0] <= level->fan_x && size[1] <= level->fan_y) return true;
    }
    return false;
}

static void all_factors(brute *b, int kind, int m, int d)
{
    const tw_einsum *e = b->rival->layer[0].einsum;
    const tw_tl_block *limit = kind ? &b->limits->time[m] : &b->limits->space[m];
    if (d == e->n_dims) {
        if (kind == 0 && !lay_out(b, m)) return;
        if (kind == 0)
            all_factors(b, 1, m, 0);
        else if (m == 0)
            all_bypasses(b, 0);
        else
            all_factors(b, 0, m - 1, 0);
        return;
    }
    int64_t rest = b->rest[d];
    for (int64_t f = kind == 1 && m == 0 ? rest : 1; f <= rest; f++) {
        if (rest % f != 0 || (limit->exactly[d] && f != limit->exactly[d]) ||
            (limit->most[d] && f > limit->most[d]))
            continue;
        b->factor[kind][m][d] = f;
        b->rest[d] = rest / f;
        all_factors(b, kind, m, d + 1);
    }
    b->rest[d] = rest;
}

static double best_of_all(const tw_rival *rival, tw_measure measure, tw_work work, int64_t *tried)
{
    static brute b;
    memset(&b, 0, sizeof b);
    b.rival = rival;
    b.limits = &((const tw_tl_layer *)rival->layer[0].extra)->limits;
    b.work = work;
    b.measure = measure;
    b.best = INFINITY;
    b.layer = rival->layer[0];
    b.layer.nest = &b.nest;
    b.nest.loop = b.loop;
    b.trial = *rival;
    b.trial.layer = &b.layer;
    memcpy(b.rest, rival->layer[0].einsum->extent, sizeof b.rest);
    all_factors(&b, 0, rival->machine->n_memories - 1, 0);
    *tried = b.tried;
    return b.best;
}

static void compare_with_brute(uint64_t *seed, tw_work work, bool limited)
{
    static tl_random texts;
    static const tw_measure measures[] = {TW_EDP, TW_ENERGY, TW_CYCLES};
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    uint64_t start = *seed;
    int64_t tried;
    const tw_rival *rival;
    const tw_rival_found *found;
    tw_context *ctx = tw_context_new();
    memset(&texts, 0, sizeof texts);
    do { /* few enough to try all of them */
        memset(&texts, 0, sizeof texts);
        tl_random_problem(seed, 4, &texts);
        tl_random_machine(seed, &texts);
    } while (strstr(texts.text[1], "'m4"));
    if (limited) tl_random_limits(seed, &texts);
    how.measure = measures[tw_test_pick(seed, 0, 2)];
    CHECK_EQ(tl_random_open(ctx, &texts, &rival), TW_OK);
    if (getenv("TW_SHOW")) print_message("%s%s%s%s", texts.text[0], texts.text[1], texts.text[2], texts.text[3]);
    double best = best_of_all(rival, how.measure, work, &tried);
    tw_status status = tw_rival_search(ctx, rival, 0, &how, &found);
    CHECK_EQ(status, best < INFINITY ? TW_OK : TW_INFEASIBLE);
    if (status == TW_OK && fabs(found->value - best) > 1e-9 * best)
        print_message("seed %llu: found %.10g, the best of %lld is %.10g\n", (unsigned long long)start,
                      found->value, (long long)tried, best);
    if (status == TW_OK) {
        CHECK(found->proven);
        CHECK(fabs(found->value - best) <= 1e-9 * best);
    }
    tw_context_free(ctx);
}

TEST(what_is_proven_is_the_best_of_all_mappings)
{
    uint64_t seed = tw_test_seed();
    tw_diag diag = {.muted = true};
    tw_work work = {tw_arena_new(), tw_arena_new(), &diag};
    const char *cases = getenv("TW_CASES");
    for (int i = 0; i < (cases ? atoi(cases) : 8); i++) compare_with_brute(&seed, work, true);
    tw_arena_free(work.arena);
    tw_arena_free(work.scratch);
}

/* ---- what others found ---- */

typedef struct row {
    const char *machine, *problem;
    tw_measure measure;
    bool any_sizes;
    double value; /* proven by enumeration, or by the tool itself at the end of its mapspace */
} row;

static void check_row(const char *shared, const row *r)
{
    static const char *const part[] = {"arch.yaml", "ERT.yaml", "constraints.yaml"};
    tw_rival_search_options how = TW_RIVAL_SEARCH_OPTIONS_INIT;
    const tw_rival *rival;
    const tw_rival_found *found;
    char path[4][500];
    const char *file[4];
    tw_context *ctx = tw_context_new();
    for (int i = 0; i < 3; i++) snprintf(path[i], 500, "%s/data/timeloop/arch/%s/%s", shared, r->machine, part[i]);
    snprintf(path[3], 500, "%s/data/timeloop/prob/%s.yaml", shared, r->problem);
    for (int i = 0; i < 4; i++) file[i] = path[i];
    how.measure = r->measure;
    how.any_sizes = r->any_sizes;
    CHECK_EQ(tw_rival_open(ctx, file, 4, &rival), TW_OK);
    CHECK_EQ(tw_rival_search(ctx, rival, 0, &how, &found), TW_OK);
    CHECK(found->proven);
    double digits = r->any_sizes ? 2e-5 : 1e-6; /* as many as were published */
    if (fabs(found->value / r->value - 1) > digits)
        print_message("%s on %s: %.10g\n", r->problem, r->machine, found->value);
    CHECK(fabs(found->value / r->value - 1) <= digits);
    tw_context_free(ctx);
}

TEST(optima_that_others_proved_are_found_and_proven)
{
    static const row rows[] = {
        {"simple3", "gemm_128x512x128", TW_ENERGY, false, 33847705.6},
        {"simple3", "gemm_128x512x128", TW_EDP, false, 2.839351e14},
        {"simple3", "gemm_8x16x8", TW_EDP, false, 2.473984e7},
        {"simple3_256pe", "gemm_128x512x128", TW_EDP, false, 9.086003e11},
        {"simple3", "gemm_128x512x128", TW_ENERGY, true, 32.127e6},
    };
    const char *shared = tw_test_shared();
    if (!shared) skip();
    for (size_t i = 0; i < TW_COUNT(rows); i++) check_row(shared, &rows[i]);
}
