/* test/place/test_pack_heuristic.c - many items are placed in the order of time, each as low as those before it allow. */
#include "pack_check.h"
#include "place/pack_heuristic.h"
#include "tw_test.h"

#include <stdlib.h>

enum { N = TW_PACK_FIRST_FIT_MAX + 300 };

typedef struct problem {
    tw_pack_segment segment[N];
    tw_pack_item item[N];
    int64_t offset[N], want[N];
} problem;

static void draw(problem *p, uint64_t *seed, int n_fixed)
{
    int64_t now = 0;
    for (int i = 0; i < N; i++) {
        int64_t size = tw_test_pick(seed, 0, 3) ? tw_test_pick(seed, 1, 900) : tw_test_pick(seed, 0, 4);
        now +=
            tw_test_pick(seed, 0, 1); /* ascending, so that the items are in the order in which they are placed */
        p->segment[i] = (tw_pack_segment){now, now + tw_test_pick(seed, 1, 120), 0, size};
        p->item[i] = (tw_pack_item){.segment = &p->segment[i], .n_segments = 1, .fixed = -1};
        p->item[i].align = tw_test_pick(seed, 0, 3) ? 1 : 16;
    }
    for (int k = 0; k < n_fixed; k++) { /* one above the other, so that they do not meet */
        int i = (int)tw_test_pick(seed, 0, N - 1);
        p->item[i].fixed = 1600 * k;
    }
}

static bool meets(const problem *p, int i, int64_t at, int other, int64_t other_at)
{
    const tw_pack_segment *a = &p->segment[i], *b = &p->segment[other];
    bool together = a->lower < b->upper && b->lower < a->upper && a->high > 0 && b->high > 0;
    return together && at < other_at + b->high && other_at < at + a->high;
}

/* Oracle: from 0 upwards, past whatever is in the way, until nothing is. */
static int64_t lowest(const problem *p, int i)
{
    int64_t align = p->item[i].align;
    for (int64_t at = 0, before = -1;;) {
        if (at == before) return at;
        before = at;
        for (int k = 0; k < N; k++) {
            bool placed = k < i || p->item[k].fixed >= 0;
            if (placed && k != i && meets(p, i, at, k, p->want[k]))
                at = tw_cdiv(p->want[k] + p->segment[k].high, align) * align;
        }
    }
}

static void check(uint64_t *seed, int n_fixed)
{
    problem *p = calloc(1, sizeof *p);
    tw_arena *scratch = tw_arena_new();
    tw_pack_first first;
    draw(p, seed, n_fixed);
    for (int i = 0; i < N; i++) p->want[i] = p->item[i].fixed;
    for (int i = 0; i < N; i++)
        if (p->item[i].fixed < 0) p->want[i] = lowest(p, i);
    CHECK_EQ(tw_pack_first_fit(p->item, N, NULL, scratch, p->offset, &first), TW_OK);
    CHECK_EQ(first.clash, -1);
    for (int i = 0; i < N; i++) CHECK_EQ(p->offset[i], p->want[i]);
    CHECK(pack_check(p->item, N, p->offset, first.height) == NULL);
    tw_arena_free(scratch);
    free(p);
}

TEST(each_of_many_items_lies_as_low_as_those_before_it_allow)
{
    uint64_t seed = tw_test_seed();
    check(&seed, 0);
    check(&seed, 20);
}

TEST(without_time_many_items_are_placed_all_the_same)
{
    uint64_t seed = tw_test_seed();
    problem *p = calloc(1, sizeof *p);
    tw_arena *scratch = tw_arena_new();
    tw_pack_first first, in_time;
    tw_deadline over;
    tw_deadline_init(&over, 0, NULL);
    atomic_store(&over.interrupted, true);
    draw(p, &seed, 20);
    CHECK_EQ(tw_pack_first_fit(p->item, N, &over, scratch, p->offset, &first), TW_OK);
    CHECK(pack_check(p->item, N, p->offset, first.height) == NULL);
    CHECK_EQ(tw_pack_first_fit(p->item, N, NULL, scratch, p->offset, &in_time), TW_OK);
    CHECK(in_time.height < first.height);
    tw_arena_free(scratch);
    free(p);
}

/* Each of a hundred thousand that are live at once is placed at a glance: looking at all others took minutes. */
TEST(many_items_that_are_live_at_once)
{
    enum { MANY = 100000 };
    tw_pack_segment segment = {0, 5, 0, 8};
    tw_pack_item *item = calloc(MANY, sizeof *item);
    int64_t *offset = calloc(MANY, sizeof *offset);
    tw_arena *scratch = tw_arena_new();
    tw_pack_first first;
    double start = tw_pack_clock();
    for (int i = 0; i < MANY; i++)
        item[i] = (tw_pack_item){.segment = &segment, .n_segments = 1, .align = 1, .fixed = -1};
    CHECK_EQ(tw_pack_first_fit(item, MANY, NULL, scratch, offset, &first), TW_OK);
    CHECK_EQ(first.height, 8 * MANY);
    CHECK(tw_pack_clock() - start < 10);
    tw_arena_free(scratch);
    free(offset);
    free(item);
}
