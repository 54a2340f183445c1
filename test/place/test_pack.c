/* test/place/test_pack.c - placements are right, least, and proven so. */
#include "place/pack.h"
#include "pack_check.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

static tw_pack_result solve(const tw_pack_item *item, int n, int64_t capacity, bool minimize, tw_arena *arena)
{
    tw_pack_options options = {.capacity = capacity, .minimize = minimize};
    tw_pack_result r;
    int bad;
    CHECK(tw_pack_check(item, n, &bad) == NULL);
    CHECK_EQ(tw_pack_solve(item, n, &options, arena, &r), TW_OK);
    if (r.verdict == TW_PACK_FITS) {
        const char *fault = pack_check(item, n, r.offset, r.height);
        if (fault) print_error("%s\n", fault);
        CHECK(fault == NULL);
        CHECK(r.height <= capacity);
    }
    return r;
}

static void print_problem(const pack_problem *p)
{
    for (int i = 0; i < p->n; i++) {
        const tw_pack_item *it = &p->item[i];
        print_error("%d: align %d bank %d fixed %d windows %d:", i, (int)it->align, (int)it->bank, (int)it->fixed,
                    it->n_windows);
        for (int k = 0; k < it->n_segments; k++)
            print_error(" [%d,%d) %d..%d", (int)it->segment[k].lower, (int)it->segment[k].upper,
                        (int)it->segment[k].low, (int)it->segment[k].high);
        for (int k = 0; k < it->n_windows; k++)
            print_error(" in %d..%d", (int)it->window[k].lo, (int)it->window[k].hi);
        print_error("\n");
    }
}

/* The least height is what brute force finds, and one unit less is refuted. */
static void check_against_brute_force(const pack_problem *p, int64_t limit, int *above_load)
{
    tw_arena *arena = tw_arena_new();
    int64_t least = pack_brute(p->item, p->n, limit);
    tw_pack_result r = solve(p->item, p->n, TW_UNLIMITED, true, arena);
    int64_t height = r.verdict == TW_PACK_FITS ? r.height : limit + 1;
    if (tw_min(height, limit + 1) != least) {
        print_error("brute force %d, found %d\n", (int)least, (int)r.height);
        print_problem(p);
    }
    CHECK_EQ(tw_min(height, limit + 1), least);
    if (least <= limit) {
        CHECK_EQ(r.bound, r.height);
        CHECK_EQ(solve(p->item, p->n, least, false, arena).verdict, TW_PACK_FITS);
        if (least > 0) CHECK_EQ(solve(p->item, p->n, least - 1, false, arena).verdict, TW_PACK_DOES_NOT_FIT);
        *above_load += least > r.load;
    }
    tw_arena_free(arena);
}

TEST(small_problems_agree_with_brute_force)
{
    uint64_t seed = tw_test_seed();
    int above = 0;
    pack_problem p;
    for (int k = 0; k < 400; k++) {
        pack_random(&seed, 7, 3, 0, &p);
        check_against_brute_force(&p, 24, &above);
    }
    print_message("plain: %d of 400 above the load\n", above);
}

TEST(small_problems_with_constraints_agree_with_brute_force)
{
    uint64_t seed = tw_test_seed();
    static const unsigned kinds[] = {PACK_ALIGN, PACK_BANK, PACK_FIXED, PACK_STEPS, PACK_WINDOW, PACK_RAISED, PACK_ALL};
    int above = 0;
    pack_problem p;
    for (int k = 0; k < 700; k++) {
        pack_random(&seed, 5, 3, kinds[k % 7], &p);
        check_against_brute_force(&p, 24, &above);
    }
    print_message("constrained: %d of 700 above the load\n", above);
    CHECK(above > 10);
}
