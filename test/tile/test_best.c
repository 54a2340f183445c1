/* test/tile/test_best.c - the best tiles against trying all of them, each by walking its nest. */
#include "tile/best.h"

#include "tile/box.h"
#include "tile/split.h"
#include "tw_test.h"

#include <string.h>
#include <time.h>

enum { N = 3 };

static tw_operand random_operand(uint64_t *rng)
{
    tw_operand in = {.n_axes = (int)tw_test_pick(rng, 1, 2)};
    bool plain = tw_test_pick(rng, 0, 1);
    int first = (int)tw_test_pick(rng, 0, N - 1);
    for (int a = 0; a < in.n_axes; a++) {
        tw_axis *axis = &in.axis[a];
        *axis = (tw_axis){.extent = tw_test_pick(rng, 1, 14), .divisor = 1, .n_terms = 1};
        axis->term[0] = (tw_term){(first + a) % N, 1};
        if (plain) continue;
        axis->divisor = tw_test_pick(rng, 0, 3) ? 1 : 2;
        axis->n_terms = (int)tw_test_pick(rng, 0, 2);
        axis->offset = axis->n_terms ? tw_test_pick(rng, -2, 2) : 0;
        int loop = (int)tw_test_pick(rng, 0, N - 1);
        for (int t = 0; t < axis->n_terms; t++) axis->term[t] = (tw_term){(loop + t) % N, tw_test_pick(rng, -1, 3)};
        for (int t = 0; t < axis->n_terms; t++) axis->term[t].coef += axis->term[t].coef == 0;
    }
    return in;
}

/* Three loops, one or two inputs over some of them, with windows, gaps and clipping, and an output. */
static tw_op random_op(uint64_t *rng)
{
    tw_op op = {.name = "op", .n_loops = N, .n_operands = (int)tw_test_pick(rng, 2, 3)};
    for (int l = 0; l < N; l++) op.loop[l] = (tw_loop){"l", tw_test_pick(rng, 1, 9), l == 2};
    for (int o = 0; o + 1 < op.n_operands; o++) {
        op.operand[o] = random_operand(rng);
        for (int a = 0; a < op.operand[o].n_axes; a++) { /* half of the plain axes fill their tensor */
            tw_axis *axis = &op.operand[o].axis[a];
            if (axis->n_terms == 1 && tw_test_pick(rng, 0, 1)) axis->extent = op.loop[axis->term[0].loop].extent;
        }
    }
    tw_operand *out = &op.operand[tw_op_output(&op)];
    out->n_axes = 2;
    for (int a = 0; a < 2; a++)
        out->axis[a] = (tw_axis){.extent = op.loop[a].extent, .divisor = 1, .n_terms = 1, .term = {{a, 1}}};
    return op;
}

/* ---- the oracle ---- */

typedef struct walk {
    const tw_best_request *request;
    const int64_t *tile;
    int64_t index[N], last[TW_MAX_OPERANDS][N];
    bool started;
    int64_t elems, first_visits;
    bool seen[10 * 10];
} walk;

/* One step of the nest: an operand is loaded when one of its loops stands on another tile than before. */
static void visit(walk *w)
{
    const tw_op *op = w->request->op;
    tw_box box = {0};
    for (int l = 0; l < N; l++) {
        int64_t lo = w->index[l] * w->tile[l];
        box.span[l] = (tw_span){lo, tw_min(lo + w->tile[l], op->loop[l].extent)};
    }
    for (int o = 0; o < op->n_operands; o++) {
        unsigned loops = tw_operand_loops(&op->operand[o]);
        bool same = w->started;
        for (int l = 0; l < N; l++)
            if ((loops >> l & 1) && w->index[l] != w->last[o][l]) same = false;
        memcpy(w->last[o], w->index, sizeof w->index);
        if (same) continue;
        tw_region region;
        int64_t elems = tw_region_of(&op->operand[o], &box, &region);
        w->elems += elems;
        if (o < tw_op_output(op)) continue;
        bool *seen = &w->seen[w->index[0] * 10 + w->index[1]];
        if (*seen) w->elems += elems; /* read back before it is added to */
        *seen = true;
    }
    w->started = true;
}

static void run(walk *w, int place)
{
    if (place == N) {
        visit(w);
        return;
    }
    int l = w->request->order[place];
    int64_t n = tw_cdiv(w->request->op->loop[l].extent, w->tile[l]);
    for (w->index[l] = 0; w->index[l] < n; w->index[l]++) run(w, place + 1);
}

/* Most positions along an axis that a tile of this size reaches, wherever it lies. */
static int64_t axis_held(const tw_op *op, const tw_axis *axis, const int64_t *tile)
{
    int64_t least = 0, most = 0, best = 0;
    for (int t = 0; t < axis->n_terms; t++) {
        int64_t last =
            axis->term[t].coef * (tw_min(tile[axis->term[t].loop], op->loop[axis->term[t].loop].extent) - 1);
        *(last < 0 ? &least : &most) += last;
    }
    for (int64_t phase = 0; phase < axis->divisor; phase++) {
        int64_t n = 0;
        for (int64_t x = least; x <= most; x++) n += (x + phase) % axis->divisor == 0;
        best = tw_max(best, n);
    }
    return tw_min(best, axis->extent);
}

static int64_t held_by(const tw_op *op, const int64_t *tile)
{
    int64_t held = 0;
    for (int o = 0; o < op->n_operands; o++) {
        int64_t n = 1;
        for (int a = 0; a < op->operand[o].n_axes; a++) n *= axis_held(op, &op->operand[o].axis[a], tile);
        held += n;
    }
    return held;
}

static bool by_trying_all(const tw_best_request *request, tw_best_tiles *best)
{
    const tw_op *op = request->op;
    int64_t g = request->granule, tile[N];
    bool found = false;
    for (tile[0] = g; tile[0] < op->loop[0].extent + g; tile[0] += g)
        for (tile[1] = g; tile[1] < op->loop[1].extent + g; tile[1] += g)
            for (tile[2] = g; tile[2] < op->loop[2].extent + g; tile[2] += g) {
                int64_t held = held_by(op, tile);
                if (held > request->capacity) continue;
                walk w = {.request = request, .tile = tile};
                run(&w, 0);
                if (found && (w.elems > best->elems || (w.elems == best->elems && held >= best->held))) continue;
                found = true;
                *best = (tw_best_tiles){.elems = w.elems, .held = held};
                memcpy(best->tile, tile, sizeof tile);
            }
    return found;
}

static void shuffle(uint64_t *rng, int *order)
{
    for (int l = 0; l < N; l++) order[l] = l;
    for (int l = N - 1; l > 0; l--) {
        int k = (int)tw_test_pick(rng, 0, l), t = order[l];
        order[l] = order[k];
        order[k] = t;
    }
}

TEST(twenty_thousand_random_operators_have_the_tiles_that_trying_all_finds)
{
    uint64_t rng = tw_test_seed();
    tw_arena *scratch = tw_arena_new();
    int n_found = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t seed = rng;
        tw_op op = random_op(&rng);
        tw_best_request request = {
            .op = &op, .granule = tw_test_pick(&rng, 1, 4), .capacity = tw_test_pick(&rng, 1, 120)};
        shuffle(&rng, request.order);
        tw_diag diag = {0};
        tw_best_tiles want = {0}, got = {0};
        bool found = by_trying_all(&request, &want);
        tw_status status = tw_best_find(&request, scratch, &diag, &got);
        if ((status == TW_OK) != found || memcmp(got.tile, want.tile, sizeof want.tile) != 0)
            print_error("case %d, seed %" PRIu64 "\n", i, seed);
        CHECK_EQ(status, found ? TW_OK : TW_INFEASIBLE);
        for (int l = 0; l < N; l++) CHECK_EQ(got.tile[l], want.tile[l]);
        CHECK_EQ(got.elems, want.elems);
        CHECK_EQ(got.held, want.held);
        n_found += found;
        tw_diag_release(&diag);
    }
    CHECK(n_found > 10000);
    tw_arena_free(scratch);
}

/* ---- the public function ---- */

static tw_status best_of(tw_context *ctx, const char *workload, const char *order, int64_t granule,
                         int64_t capacity, const tw_tile_choice **out)
{
    const tw_model *model;
    CHECK_EQ(tw_model_open(ctx, workload, &model), TW_OK);
    return tw_traffic_best(ctx, model, 0, order, granule, capacity, out);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Far beyond what could be tried one by one; the limits are loose, since the host may be slow and sanitized. */
TEST(large_operators_are_a_matter_of_moments)
{
    static const struct {
        const char *workload, *order;
        int64_t granule, capacity;
    } all[] = {
        {"matmul:4096x4096x4096", "m n k", 16, 16384},
        {"matmul:4096x4096x4096", "k n m", 1, 1 << 20},
        {"matmul:2000000x2000000x2000000", "m n k", 1, 100000},
        {"matmul:2147483647x3x100003", "m k n", 1, 1000},
        {"conv:64x56x56,out=64,kernel=3,pad=1", "oc oy ox ic ky kx", 1, 16384},
        {"conv:128x28x28,out=128,kernel=3,stride=2,pad=1", "oy ox oc ic ky kx", 4, 100000},
    };
    for (size_t i = 0; i < TW_COUNT(all); i++) {
        tw_context *ctx = tw_context_new();
        const tw_tile_choice *choice;
        double start = seconds();
        CHECK_EQ(best_of(ctx, all[i].workload, all[i].order, all[i].granule, all[i].capacity, &choice), TW_OK);
        double took = seconds() - start;
        print_message("%s: %.3f s, %" PRId64 " tried\n", all[i].workload, took, choice->n_tried);
        CHECK(choice->held <= all[i].capacity);
        CHECK(took < 20);
        tw_context_free(ctx);
    }
}

TEST(a_larger_memory_never_means_more_traffic)
{
    int64_t before = INT64_MAX;
    for (int64_t capacity = 768; capacity <= 1 << 17; capacity += 512) {
        tw_context *ctx = tw_context_new();
        const tw_tile_choice *choice;
        CHECK_EQ(best_of(ctx, "matmul:197x768x333", "m n k", 16, capacity, &choice), TW_OK);
        CHECK(choice->elems <= before);
        before = choice->elems;
        tw_context_free(ctx);
    }
}

TEST(what_is_asked_wrongly_or_cannot_be_is_told)
{
    tw_context *ctx = tw_context_new();
    const tw_tile_choice *choice;
    CHECK_EQ(best_of(ctx, "matmul:64x64x64", "m n k", 16, 767, &choice), TW_INFEASIBLE);
    CHECK_STR(tw_context_message(ctx, 0),
              "<workload>:1:1: infeasible: the smallest tiles of 'matmul', 16 along every "
              "loop, hold 768 elements, the memory 767");
    CHECK_EQ(best_of(ctx, "matmul:64x64x64", "m n k", 16, 768, &choice), TW_OK);
    CHECK_EQ(choice->held, 768);
    CHECK_EQ(best_of(ctx, "matmul:64x64x64", "m n k", 0, 768, &choice), TW_ERR_INPUT);
    CHECK_STR(tw_context_message(ctx, 1), "<workload>:1:1: error: granule is 0, outside 1..2147483647");
    CHECK_EQ(best_of(ctx, "matmul:64x64x64", "m n", 16, 768, &choice), TW_ERR_INPUT);
    CHECK_EQ(best_of(ctx, "matmul:1x5x1", "m n k", 16, 100, &choice), TW_OK);
    CHECK_EQ(choice->tile[1], 16); /* a tile may be larger than its loop, its elements are not */
    CHECK_EQ(choice->held, 1 + 5 + 5);
    CHECK_EQ(choice->elems, 1 + 5 + 5);
    tw_context_free(ctx);
}
