/* test/place/test_pack.c - placements are right, least, and proven so. */
#include "pack_check.h"
#include "place/pack.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

static tw_pack_result solve(const tw_pack_item *item, int n, int64_t capacity, bool minimize, tw_arena *arena)
{
    tw_pack_options options = {.capacity = capacity, .minimize = minimize};
    tw_pack_result r;
    int bad;
    CHECK(tw_pack_check(item, n, &bad) == NULL);
    CHECK_EQ(tw_pack_solve(item, n, &options, NULL, arena, &r), TW_OK);
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

/* Whoever interrupts gets a placement at once, and no proof that was not made. */
TEST(an_interrupted_search_has_the_first_placement)
{
    enum { MANY = 120 };
    tw_arena *arena = tw_arena_new();
    tw_pack_segment segment[MANY];
    tw_pack_item item[MANY];
    tw_pack_options options = {.capacity = TW_UNLIMITED, .minimize = true};
    tw_pack_result r, full;
    tw_deadline over;
    uint64_t seed = 7;
    for (int i = 0; i < MANY; i++) {
        int64_t lower = tw_test_pick(&seed, 0, 39);
        segment[i] = (tw_pack_segment){lower, lower + tw_test_pick(&seed, 1, 12), 0, tw_test_pick(&seed, 1, 50)};
        item[i] = (tw_pack_item){.segment = &segment[i], .n_segments = 1, .align = 1, .fixed = -1};
    }
    tw_deadline_init(&over, 0, NULL);
    atomic_store(&over.interrupted, true);
    CHECK_EQ(tw_pack_solve(item, MANY, &options, &over, arena, &r), TW_OK);
    CHECK_EQ(tw_pack_solve(item, MANY, &options, NULL, arena, &full), TW_OK);
    CHECK_EQ(r.verdict, TW_PACK_FITS);
    CHECK(pack_check(item, MANY, r.offset, r.height) == NULL);
    CHECK_EQ(r.counts.nodes, 0);
    CHECK(full.counts.nodes > 0 && full.height < r.height);
    tw_arena_free(arena);
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
    static const unsigned kinds[] = {PACK_ALIGN,  PACK_BANK,   PACK_FIXED, PACK_STEPS,
                                     PACK_WINDOW, PACK_RAISED, PACK_ALL};
    int above = 0;
    pack_problem p;
    for (int k = 0; k < 700; k++) {
        pack_random(&seed, 5, 3, kinds[k % 7], &p);
        check_against_brute_force(&p, 24, &above);
    }
    print_message("constrained: %d of 700 above the load\n", above);
    CHECK(above > 10);
}

/* ---- other people's problems ---- */

enum { MAX_SHARED = 500 };
typedef struct shared_problem {
    int n;
    tw_pack_item item[MAX_SHARED];
    tw_pack_segment segment[MAX_SHARED];
} shared_problem;

/* Reads "id,lower,upper,size"; false when the file is not there. */
static bool read_shared(const char *name, shared_problem *p)
{
    char path[4096], line[200];
    const char *shared = tw_test_shared();
    if (!shared) return false;
    snprintf(path, sizeof path, "%s/data/minimalloc/%s.1048576.csv", shared, name);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    p->n = 0;
    while (fgets(line, sizeof line, f) && p->n < MAX_SHARED) {
        tw_pack_segment *g = &p->segment[p->n];
        if (sscanf(line, "%*[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64, &g->lower, &g->upper, &g->high) != 3) continue;
        p->item[p->n++] = (tw_pack_item){.segment = g, .n_segments = 1, .align = 1, .fixed = -1};
    }
    fclose(f);
    return p->n > 0;
}

TEST(nine_challenging_problems_fit_into_their_capacity)
{
    static const char *const name[] = {"A", "B", "C", "D", "E", "G", "H", "J", "K"};
    static shared_problem p;
    int solved = 0;
    tw_arena *arena = tw_arena_new();
    for (size_t k = 0; k < TW_COUNT(name); k++) {
        if (!read_shared(name[k], &p)) continue;
        CHECK_EQ(solve(p.item, p.n, 1048576, false, arena).verdict, TW_PACK_FITS);
        solved++;
    }
    if (read_shared("C", &p)) CHECK_EQ(solve(p.item, p.n, 1039360, false, arena).verdict, TW_PACK_FITS);
    tw_arena_free(arena);
    print_message("%d of 9 problems are there\n", solved);
    if (solved == 0) skip();
    CHECK_EQ(solved, 9);
}

/* ---- laws ---- */

TEST(the_same_question_has_the_same_answer)
{
    uint64_t seed = tw_test_seed();
    for (int k = 0; k < 50; k++) {
        pack_problem p;
        pack_random(&seed, 14, 9, k % 2 ? PACK_ALL : 0, &p);
        tw_arena *arena = tw_arena_new();
        tw_pack_result a = solve(p.item, p.n, TW_UNLIMITED, true, arena),
                       b = solve(p.item, p.n, TW_UNLIMITED, true, arena);
        CHECK_EQ(a.height, b.height);
        CHECK_EQ(a.counts.nodes, b.counts.nodes);
        for (int i = 0; a.offset && i < p.n; i++) CHECK_EQ(a.offset[i], b.offset[i]);
        tw_arena_free(arena);
    }
}

/* Times, sizes and addresses times a number: the height is, too. Upside down in time: it stays. */
TEST(heights_follow_the_units_and_not_the_direction_of_time)
{
    uint64_t seed = tw_test_seed();
    for (int k = 0; k < 100; k++) {
        pack_problem p, q;
        pack_random(&seed, 12, 9, 0, &p);
        tw_arena *arena = tw_arena_new();
        int64_t height = solve(p.item, p.n, TW_UNLIMITED, true, arena).height,
                unit = tw_test_pick(&seed, 2, 1 << 20);
        q = p;
        for (int i = 0; i < p.n; i++) {
            tw_pack_segment g = p.segment[i][0];
            q.segment[i][0] = (tw_pack_segment){1000 - g.upper, 1000 - g.lower, 0, g.high * unit};
            q.item[i].segment = q.segment[i];
        }
        CHECK_EQ(solve(q.item, q.n, TW_UNLIMITED, true, arena).height, height * unit);
        tw_arena_free(arena);
    }
}

TEST(the_clique_adds_up_to_the_load)
{
    uint64_t seed = tw_test_seed();
    for (int k = 0; k < 100; k++) {
        pack_problem p;
        pack_random(&seed, 12, 9, 0, &p);
        tw_arena *arena = tw_arena_new();
        tw_pack_result r = solve(p.item, p.n, 1, false, arena);
        int64_t sum = 0;
        for (int m = 0; m < r.n_clique; m++) {
            const tw_pack_segment *g = p.segment[r.clique[m]];
            CHECK(g->lower <= r.peak.lo && r.peak.hi <= g->upper);
            sum += g->high;
        }
        CHECK_EQ(r.verdict, TW_PACK_DOES_NOT_FIT);
        CHECK_EQ(sum, r.load);
        CHECK_EQ(r.bound, r.load);
        tw_arena_free(arena);
    }
}

TEST(an_in_place_pair_takes_the_larger_size_at_its_hand_over)
{
    tw_pack_segment g[] = {{0, 3, 0, 8}, {2, 6, 0, 5}, {0, 6, 0, 4}};
    tw_pack_item item[3];
    tw_pack_joined joined;
    int partner[] = {-1, 0, -1};
    for (int i = 0; i < 3; i++)
        item[i] = (tw_pack_item){.segment = &g[i], .n_segments = 1, .align = 1, .fixed = -1};
    tw_arena *arena = tw_arena_new();
    CHECK_EQ(tw_pack_join(item, partner, 3, arena, &joined), TW_OK);
    CHECK_EQ(joined.conflict, -1);
    CHECK_EQ(joined.n, 2);
    CHECK_EQ(joined.group[0], joined.group[1]);
    CHECK_EQ(joined.item[0].n_segments, 2);
    CHECK_EQ(joined.item[0].segment[0].upper, 3);
    CHECK_EQ(joined.item[0].segment[0].high, 8);
    CHECK_EQ(joined.item[0].segment[1].high, 5);
    CHECK_EQ(solve(joined.item, joined.n, TW_UNLIMITED, true, arena).height, 12);
    item[0].fixed = 0;
    item[1].fixed = 4;
    CHECK_EQ(tw_pack_join(item, partner, 3, arena, &joined), TW_OK);
    CHECK_EQ(joined.conflict, 1);
    tw_arena_free(arena);
}

/* ---- extremes ---- */

TEST(many_buffers_are_placed_without_a_search)
{
    enum { N = 100000 };
    tw_arena *arena = tw_arena_new();
    tw_pack_item *item = TW_NEW(arena, tw_pack_item, N);
    tw_pack_segment *g = TW_NEW(arena, tw_pack_segment, N);
    uint64_t seed = tw_test_seed();
    for (int i = 0; i < N; i++) {
        int64_t lower = tw_test_pick(&seed, 0, 1000000);
        g[i] = (tw_pack_segment){lower, lower + tw_test_pick(&seed, 0, 2000), 0, tw_test_pick(&seed, 0, 1 << 20)};
        item[i] = (tw_pack_item){.segment = &g[i], .n_segments = 1, .align = 64, .fixed = -1};
    }
    tw_pack_options options = {.capacity = TW_UNLIMITED, .minimize = true};
    tw_pack_result r;
    CHECK_EQ(tw_pack_solve(item, N, &options, NULL, arena, &r), TW_OK);
    CHECK_EQ(r.verdict, TW_PACK_FITS);
    CHECK(r.counts.limited);
    CHECK(r.bound <= r.height);
    tw_arena_free(arena);
}

TEST(nothing_and_emptiness_have_height_zero)
{
    tw_pack_segment g = {5, 5, 0, 100}, none = {0, 9, 0, 0};
    tw_pack_item item[] = {{.segment = &g, .n_segments = 1, .align = 1, .fixed = -1},
                           {.segment = &none, .n_segments = 1, .align = 8, .fixed = -1}};
    tw_arena *arena = tw_arena_new();
    CHECK_EQ(solve(item, 0, 0, false, arena).verdict, TW_PACK_FITS);
    CHECK_EQ(solve(item, 2, TW_UNLIMITED, true, arena).load, 0);
    tw_arena_free(arena);
}

TEST(sums_beyond_all_memories_are_refused)
{
    tw_pack_segment g = {0, 1, 0, INT64_C(1) << 60};
    tw_pack_item item[] = {{.segment = &g, .n_segments = 1, .align = 1, .fixed = -1},
                           {.segment = &g, .n_segments = 1, .align = 1, .fixed = -1}};
    int bad;
    CHECK_STR(tw_pack_check(item, 2, &bad), "sizes, alignments and addresses add up to more than 2^60");
    g.high = INT64_MAX;
    CHECK_STR(tw_pack_check(item, 2, &bad), "its size is out of range");
    CHECK_EQ(bad, 0);
}
