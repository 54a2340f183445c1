/* test/report/test_compare.c - documents of two plans, written by hand: what is read, what meets what, what is better. */
#include "report/data/compare.h"
#include "tw_test.h"

#include <string.h>

#define PLAN(summary, op)                                                                                       \
    "{\"schema\": \"tilewright.plan\", \"version\": 1, \"machine\": {\"name\": \"m\", \"unit\": \"byte\"}, "    \
    "\"model\": {\"name\": \"mm\"}, \"summary\": {" summary "}, \"ops\": [{\"name\": \"mm\", \"summary\": {}, " \
    "\"memories\": [], " op "}]}"
#define ENGINES(busy) "\"engines\": [{\"name\": \"mac\", \"busy_cycles\": " busy "}], \"mapping\": []"

typedef struct pair {
    tw_arena *arena;
    tw_diag diag;
    tw_document doc[2];
    tw_comparison_rows rows;
} pair;

static void compare(pair *p, const char *a, const char *b)
{
    const char *text[2] = {a, b};
    *p = (pair){.arena = tw_arena_new()};
    for (int i = 0; i < 2; i++)
        CHECK_EQ(tw_document_read("x", text[i], strlen(text[i]), p->arena, &p->diag, &p->doc[i]), TW_OK);
    CHECK_EQ(tw_compare_build(&p->doc[0], &p->doc[1], p->arena, &p->rows), TW_OK);
}

static void release(pair *p)
{
    tw_diag_release(&p->diag);
    tw_arena_free(p->arena);
}

/* The n-th row with this key, from 0. */
static const tw_difference *find(const pair *p, const char *key, int n)
{
    for (int64_t i = 0; i < p->rows.n_rows; i++) {
        const tw_difference *d = &p->rows.row[i];
        if (strcmp((d->of[0] ? d->of[0] : d->of[1])->key, key) == 0 && n-- == 0) return d;
    }
    return NULL;
}

TEST(fewer_cycles_are_better)
{
    pair p;
    double change = 0;
    compare(&p, PLAN("\"cycles\": 10", ENGINES("8")), PLAN("\"cycles\": 8", ENGINES("6")));
    const tw_difference *d = find(&p, "cycles", 0);
    CHECK(d && tw_difference_change(&p.rows, d, &change));
    CHECK(change == -2);
    CHECK_EQ(tw_difference_better(&p.rows, d), 1);
    CHECK_EQ(tw_difference_better(&p.rows, find(&p, "engines.mac.busy_cycles", 0)), 0);
    CHECK_EQ(p.rows.n_remarks, 0);
    release(&p);
}

TEST(counts_beyond_2_to_the_53_stay_exact)
{
    pair p;
    double change = 0;
    compare(&p, PLAN("\"cycles\": 9007199254740993", ENGINES("1")),
            PLAN("\"cycles\": 9007199254740994", ENGINES("1")));
    CHECK_EQ(find(&p, "cycles", 0)->of[0]->count, INT64_C(9007199254740993));
    CHECK(tw_difference_change(&p.rows, find(&p, "cycles", 0), &change));
    CHECK(change == 1);
    release(&p);
}

TEST(numbers_too_large_for_an_integer_are_read_as_doubles)
{
    pair p;
    compare(&p, PLAN("\"cycles\": 100000000000000000000", ENGINES("1")), PLAN("\"cycles\": 1", ENGINES("1")));
    CHECK(find(&p, "cycles", 0)->of[0]->number == 1e20);
    release(&p);
}

TEST(no_energy_costs_are_not_little_energy)
{
    pair p;
    compare(&p, PLAN("\"cycles\": 1, \"energy_fj\": 5", ENGINES("1")),
            PLAN("\"cycles\": 1, \"energy_fj\": 0", ENGINES("1")));
    CHECK_EQ(tw_difference_better(&p.rows, find(&p, "energy_fj", 0)), 0);
    release(&p);
}

TEST(of_equal_names_the_second_meets_the_second)
{
    static const char two[] =
        "\"engines\": [{\"name\": \"e\", \"runs\": 1}, {\"name\": \"e\", \"runs\": 2}], \"mapping\": []";
    static const char one[] = "\"engines\": [{\"name\": \"e\", \"runs\": 3}], \"mapping\": []";
    char a[1000], b[1000];
    pair p;
    snprintf(a, sizeof a, PLAN("\"cycles\": 1", "%s"), two);
    snprintf(b, sizeof b, PLAN("\"cycles\": 1", "%s"), one);
    compare(&p, a, b);
    CHECK_EQ(find(&p, "engines.e.runs", 0)->of[0]->count, 1);
    CHECK_EQ(find(&p, "engines.e.runs", 0)->of[1]->count, 3);
    CHECK_EQ(find(&p, "engines.e.runs", 1)->of[0]->count, 2);
    CHECK(!find(&p, "engines.e.runs", 1)->of[1]);
    release(&p);
}

TEST(what_only_the_second_has_comes_last)
{
    pair p;
    double change = 0;
    compare(&p, PLAN("\"cycles\": 1", ENGINES("1")), PLAN("\"cycles\": 1, \"ticks\": 3", ENGINES("1")));
    const tw_difference *d = find(&p, "ticks", 0);
    CHECK(d == &p.rows.row[p.rows.n_rows - 1]);
    CHECK(!d->of[0] && d->of[1]);
    CHECK(!tw_difference_change(&p.rows, d, &change));
    release(&p);
}

TEST(other_extents_are_remarked)
{
    pair p;
    compare(&p, PLAN("\"cycles\": 1", ENGINES("1") ", \"loops\": [{\"name\": \"m\", \"extent\": 2}]"),
            PLAN("\"cycles\": 1", ENGINES("1") ", \"loops\": [{\"name\": \"m\", \"extent\": 3}]"));
    CHECK_EQ(p.rows.n_remarks, 1);
    CHECK_STR(p.rows.remark[0], "different loops: m 2 and m 3");
    release(&p);
}

TEST(control_characters_do_not_reach_the_terminal)
{
    pair p;
    static const char text[] =
        PLAN("\"cycles\": 1", "\"engines\": [{\"name\": \"\\u001b[31m\", \"runs\": 1}], \"mapping\": []");
    compare(&p, text, text);
    CHECK(find(&p, "engines.?[31m.runs", 0));
    release(&p);
}

TEST(without_memory_nothing_is_read_and_nothing_breaks)
{
    static const char text[] = PLAN("\"cycles\": 1, \"ticks\": 2", ENGINES("8"));
    tw_status status = TW_ERR_NOMEM;
    for (int64_t n = 1; status == TW_ERR_NOMEM; n++) {
        pair p = {.arena = tw_arena_new()};
        tw_arena_fail_at(p.arena, n);
        status = tw_document_read("x", text, strlen(text), p.arena, &p.diag, &p.doc[0]);
        if (status == TW_OK) status = tw_compare_build(&p.doc[0], &p.doc[0], p.arena, &p.rows);
        CHECK(status == TW_OK || status == TW_ERR_NOMEM);
        release(&p);
    }
}
