/* test/place/test_pack_z3.c - the least heights of random problems, by Z3.
 *
 * Half of the problems are drawn again until their least height is above the load (as we compute it; Z3 then says
 * whether that is so). Z3 gets the buffers as they are: pairs that share an address as two variables and an equation. */
#include "pack_check.h"
#include "place/pack.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>
#include <z3.h>

enum { N_PROBLEMS = 1000, MAX_ITEMS = 14 };

typedef struct formula {
    Z3_context z;
    Z3_solver solver;
    Z3_sort number;
    Z3_ast at[MAX_ITEMS];
} formula;

static Z3_ast num(const formula *f, int64_t x) { return Z3_mk_int64(f->z, x, f->number); }
static Z3_ast plus(const formula *f, Z3_ast a, int64_t x)
{
    Z3_ast both[] = {a, num(f, x)};
    return Z3_mk_add(f->z, 2, both);
}
static Z3_ast either(const formula *f, Z3_ast a, Z3_ast b)
{
    Z3_ast both[] = {a, b};
    return Z3_mk_or(f->z, 2, both);
}
static Z3_ast within(const formula *f, Z3_ast a, int64_t lo, int64_t hi)
{
    Z3_ast both[] = {Z3_mk_ge(f->z, a, num(f, lo)), Z3_mk_le(f->z, a, num(f, hi))};
    return Z3_mk_and(f->z, 2, both);
}
static void demand(const formula *f, Z3_ast a) { Z3_solver_assert(f->z, f->solver, a); }

static int64_t reach_of(const tw_pack_item *it)
{
    int64_t reach = 0;
    for (int k = 0; k < it->n_segments; k++) reach = tw_max(reach, it->segment[k].high);
    return reach;
}

/* What one item asks for; `limit` is above every height in question. */
static void demand_own(const formula *f, const tw_pack_item *it, Z3_ast at, int64_t limit)
{
    int64_t reach = reach_of(it);
    demand(f, Z3_mk_ge(f->z, at, num(f, 0)));
    if (it->align > 1) demand(f, Z3_mk_eq(f->z, Z3_mk_mod(f->z, at, num(f, it->align)), num(f, 0)));
    if (it->fixed >= 0) demand(f, Z3_mk_eq(f->z, at, num(f, it->fixed)));
    Z3_ast any = Z3_mk_false(f->z);
    for (int64_t b = 0; it->bank > 0 && b * it->bank <= limit; b++)
        any = either(f, any, within(f, at, b * it->bank, (b + 1) * it->bank - reach));
    if (it->bank > 0) demand(f, any);
    any = Z3_mk_false(f->z);
    for (int k = 0; k < it->n_windows; k++)
        any = either(f, any, within(f, at, it->window[k].lo, it->window[k].hi - reach));
    if (it->n_windows > 0) demand(f, any);
}

static void demand_apart(const formula *f, const tw_pack_item *a, Z3_ast at, const tw_pack_item *b, Z3_ast bt)
{
    for (int x = 0; x < a->n_segments; x++)
        for (int y = 0; y < b->n_segments; y++) {
            const tw_pack_segment *p = &a->segment[x], *q = &b->segment[y];
            if (p->lower >= q->upper || q->lower >= p->upper) continue;
            demand(f, either(f, Z3_mk_le(f->z, plus(f, at, p->high), plus(f, bt, q->low)),
                             Z3_mk_le(f->z, plus(f, bt, q->high), plus(f, at, p->low))));
        }
}

static bool fits(const formula *f, const pack_problem *p, int64_t height)
{
    Z3_solver_push(f->z, f->solver);
    for (int i = 0; i < p->n; i++)
        demand(f, Z3_mk_le(f->z, plus(f, f->at[i], reach_of(&p->item[i])), num(f, height)));
    Z3_lbool answer = Z3_solver_check(f->z, f->solver);
    CHECK(answer != Z3_L_UNDEF);
    Z3_solver_pop(f->z, f->solver, 1);
    return answer == Z3_L_TRUE;
}

/* Most bytes that are live at one time, without those that share their address. */
static int64_t plain_load(const pack_problem *p, const int *partner)
{
    int64_t most = 0;
    for (int64_t t = 0; t < 20; t++) {
        int64_t load = 0;
        for (int i = 0; i < p->n; i++)
            for (int k = 0; k < p->item[i].n_segments; k++) {
                const tw_pack_segment *g = &p->item[i].segment[k];
                if (partner[i] < 0 && g->lower <= t && t < g->upper) load += g->high - g->low;
            }
        most = tw_max(most, load);
    }
    return most;
}

/* The height that Z3 allows is ours, and one less it refutes; ours < 0: not even `limit` works. */
static void check_with_z3(const pack_problem *p, const int *partner, int64_t ours, int64_t limit)
{
    formula f;
    Z3_config config = Z3_mk_config();
    f.z = Z3_mk_context(config);
    Z3_del_config(config);
    f.number = Z3_mk_int_sort(f.z);
    f.solver = Z3_mk_simple_solver(f.z);
    Z3_solver_inc_ref(f.z, f.solver);
    for (int i = 0; i < p->n; i++) {
        f.at[i] = Z3_mk_const(f.z, Z3_mk_int_symbol(f.z, i), f.number);
        demand_own(&f, &p->item[i], f.at[i], limit);
        for (int j = 0; j < i; j++)
            if (partner[i] == j)
                demand(&f, Z3_mk_eq(f.z, f.at[i], f.at[j]));
            else
                demand_apart(&f, &p->item[i], f.at[i], &p->item[j], f.at[j]);
    }
    if (ours < 0) CHECK(!fits(&f, p, limit));
    if (ours >= 0) CHECK(fits(&f, p, ours));
    if (ours > plain_load(p, partner)) CHECK(!fits(&f, p, ours - 1)); /* else it is plain, and Z3 counts pigeons */
    Z3_solver_dec_ref(f.z, f.solver);
    Z3_del_context(f.z);
}

/* Pairs that do not constrain each other otherwise and meet, if at all, at their hand-over. */
static void pair_some(uint64_t *seed, const pack_problem *p, int *partner)
{
    for (int i = 0; i < p->n; i++) partner[i] = -1;
    for (int tries = 0; tries < 4; tries++) {
        int i = (int)tw_test_pick(seed, 1, p->n - 1), j = (int)tw_test_pick(seed, 0, i - 1);
        bool paired = partner[i] >= 0 || partner[j] >= 0;
        for (int k = 0; k < p->n; k++) paired = paired || partner[k] == i || partner[k] == j;
        if (!paired && p->item[i].fixed < 0 && p->item[i].bank == 0 && p->item[j].bank == 0) partner[i] = j;
    }
}

static int64_t least_height(const pack_problem *p, const int *partner, int64_t *load)
{
    tw_arena *arena = tw_arena_new();
    tw_pack_joined joined;
    tw_pack_options options = {.capacity = TW_UNLIMITED, .minimize = true};
    tw_pack_result r;
    CHECK_EQ(tw_pack_join(p->item, partner, p->n, arena, &joined), TW_OK);
    CHECK_EQ(joined.conflict, -1);
    CHECK_EQ(tw_pack_solve(joined.item, joined.n, &options, NULL, arena, &r), TW_OK);
    CHECK(r.verdict != TW_PACK_UNDECIDED);
    if (r.verdict == TW_PACK_FITS) {
        CHECK_EQ(r.bound, r.height);
        CHECK(pack_check(joined.item, joined.n, r.offset, r.height) == NULL);
    }
    *load = r.load;
    int64_t height = r.verdict == TW_PACK_FITS ? r.height : -1;
    tw_arena_free(arena);
    return height;
}

TEST(least_heights_agree_with_z3)
{
    uint64_t seed = tw_test_seed();
    int above = 0, constrained = 0, paired = 0, impossible = 0;
    for (int k = 0; k < N_PROBLEMS; k++) {
        pack_problem p;
        int partner[MAX_ITEMS];
        int64_t height, load;
        unsigned kinds = k % 5 < 2 ? PACK_ALL : 0;
        for (int draw = 0; draw < 2000; draw++) {
            pack_random(&seed, (int)(k % 20 == 3 ? MAX_ITEMS : tw_test_pick(&seed, 7, 11)), 9, kinds, &p);
            for (int i = 0; i < p.n; i++) partner[i] = -1;
            if (k % 10 == 1 || k % 10 == 4) pair_some(&seed, &p, partner);
            height = least_height(&p, partner, &load);
            if (k % 2 == 0 || height > load) break;
        }
        above += height > load;
        impossible += height < 0;
        constrained += kinds != 0;
        paired += k % 10 == 1 || k % 10 == 4;
        check_with_z3(&p, partner, height, 400);
    }
    print_message("%d problems: %d above the load, %d with constraints, %d with pairs, %d impossible\n", N_PROBLEMS,
                  above, constrained, paired, impossible);
    CHECK(above > N_PROBLEMS / 3);
}
