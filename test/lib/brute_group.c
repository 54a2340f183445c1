/* test/lib/brute_group.c - see brute_group.h.
 *
 * The ways of each stretch are listed once, those left out that no mapping may say. A way of the whole is a way of each of its
 * stretches and a set of tensors that stay. */
#include "brute_group.h"

#include "mapping/groups.h"
#include "sim/joint.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 4, MOST_HOLDS = 12, ON_CHIP = 1 };

typedef struct way { /* of one stretch */
    tw_group_map map;
    tw_group_op op[MOST_OPS];
    tw_nest_cut cut[2];
    tw_group_level level;
    tw_hold hold[MOST_HOLDS];
} way;

typedef struct ways {
    int64_t n, room;
    way *way;
} ways;

typedef struct walk {
    const tw_model *model;
    const tw_machine *machine;
    ways of[MOST_OPS][MOST_OPS + 1]; /* operators from .. to */
    int n, end[MOST_OPS];            /* stretches of the whole that is tried */
    tw_group_map group[MOST_OPS];
    tw_group_resident resident[MOST_OPS];
    int n_residents;
    int64_t n_good;
    brute_group_fn fn;
    void *user;
    tw_arena *arena, *scratch;
    tw_diag diag;
} walk;

static int makes(const walk *w, int op)
{
    const tw_op *is = &w->model->op[op];
    return is->operand[tw_op_output(is)].tensor;
}

static bool reads(const walk *w, int op, int tensor)
{
    const tw_op *is = &w->model->op[op];
    for (int o = 0; o < tw_op_output(is); o++)
        if (is->operand[o].tensor == tensor) return true;
    return false;
}

/* Whether operators [a, b) read the tensor. */
static bool read_among(const walk *w, int a, int b, int tensor)
{
    for (int k = a; k < b; k++)
        if (reads(w, k, tensor)) return true;
    return false;
}

/* What is made before the last of them is read in [a, b), and nowhere else. */
static bool is_closed(const walk *w, int a, int b)
{
    for (int k = a; k + 1 < b; k++) {
        int tensor = makes(w, k);
        if (w->model->tensor[tensor].is_output || !read_among(w, a, b, tensor)) return false;
        if (read_among(w, 0, a, tensor) || read_among(w, b, w->model->n_ops, tensor)) return false;
    }
    return true;
}

/* ---- ways of one stretch ---- */

static void add_hold(way *y, int tensor, int64_t slots, int slide)
{
    for (int h = 0; h < y->map.n_holds; h++)
        if (y->hold[h].tensor == tensor) return;
    if (y->map.n_holds == MOST_HOLDS) abort();
    y->hold[y->map.n_holds++] =
        (tw_hold){.tensor = tensor, .memory = ON_CHIP, .depth = -1, .slots = slots, .slide = slide};
}

/* Pointers lead into the way itself, wherever it lies. */
static void tie(way *y)
{
    y->map.op = y->op;
    y->map.cut = y->cut;
    y->map.level = &y->level;
    y->map.hold = y->hold;
}

static void add_way(walk *w, ways *all, way *y)
{
    tie(y);
    const tw_grouping one = {.model = w->model, .machine = w->machine, .n = 1, .group = &y->map, .diag = &w->diag};
    tw_status status = tw_grouping_check_one(&one, 0);
    if (status == TW_ERR_NOMEM) abort();
    if (status != TW_OK) return;
    if (all->n == all->room) {
        all->room = all->room ? 2 * all->room : 64;
        all->way = realloc(all->way, (size_t)all->room * sizeof *all->way);
        if (!all->way) abort();
    }
    all->way[all->n++] = *y;
}

/* The tensors of the stretch: what comes in, what stays inside, and last what goes out. */
static int list_tensors(const walk *w, int a, int b, int tensor[MOST_HOLDS])
{
    int n = 0;
    for (int k = a; k < b; k++)
        for (int o = 0; o < tw_op_output(&w->model->op[k]); o++) {
            int is = w->model->op[k].operand[o].tensor, seen = 0;
            while (seen < n && tensor[seen] != is) seen++;
            if (seen == n) tensor[n++] = is;
        }
    tensor[n++] = makes(w, b - 1);
    return n;
}

/* Of the tensors, those that windows may move over: not the weights. */
static unsigned may_slide(const walk *w, int a, int b, const int *tensor, int n)
{
    unsigned may = 0;
    for (int k = a; k < b; k++)
        for (int o = 0; o < tw_op_output(&w->model->op[k]); o++)
            for (int i = 0; i + 1 < n; i++)
                if (w->model->op[k].operand[o].tensor == tensor[i] && !w->model->op[k].operand[o].weights)
                    may |= 1u << i;
    return may;
}

static void add_slots(walk *w, int a, int b, const way *cut, unsigned slides)
{
    int tensor[MOST_HOLDS], n = list_tensors(w, a, b, tensor), cuts = cut->map.n_cuts;
    for (int64_t in = 1; in <= (cuts > 0 ? 2 : 1); in++)
        for (int64_t out = 1; out <= (cuts > 0 ? 2 : 1); out++) {
            way y = *cut;
            for (int i = 0; i < n; i++) {
                bool comes = true;
                for (int k = a; k < b; k++) comes &= makes(w, k) != tensor[i];
                int64_t slots = i + 1 == n ? out : comes ? in : 1;
                add_hold(&y, tensor[i], slots, slides >> i & 1 ? 1 + y.cut[cuts - 1].loop : 0);
            }
            add_way(w, &w->of[a][b], &y);
        }
}

static void add_buffers(walk *w, int a, int b, const way *cut)
{
    int tensor[MOST_HOLDS], n = list_tensors(w, a, b, tensor);
    unsigned may = cut->map.n_cuts > 0 ? may_slide(w, a, b, tensor, n) : 0;
    for (unsigned slides = 0; slides <= may; slides++)
        if (!(slides & ~may)) add_slots(w, a, b, cut, slides);
}

static void add_cuts(walk *w, int a, int b, way *y, unsigned used)
{
    const tw_op *driver = &w->model->op[b - 1];
    y->level = (tw_group_level){.memory = ON_CHIP, .depth = y->map.n_cuts};
    add_buffers(w, a, b, y);
    if (y->map.n_cuts == 2) return;
    for (int l = 0; l < driver->n_loops; l++) {
        if (driver->loop[l].reduces || (used >> l & 1)) continue;
        for (int64_t size = 1; size < driver->loop[l].extent; size++) {
            y->cut[y->map.n_cuts++] = (tw_nest_cut){.loop = l, .size = size};
            add_cuts(w, a, b, y, used | 1u << l);
            y->map.n_cuts--;
        }
    }
}

static void list_ways(walk *w, int a, int b)
{
    way y = {.map = {.name = w->model->op[b - 1].name, .n_ops = b - a, .n_levels = 1}};
    for (int k = a; k < b; k++) y.op[k - a] = (tw_group_op){.op = k};
    if (is_closed(w, a, b)) add_cuts(w, a, b, &y, 0);
}

/* ---- the whole ---- */

static void simulate(walk *w)
{
    tw_arena_mark mark = tw_arena_save(w->arena), scratch = tw_arena_save(w->scratch);
    const tw_work work = {w->arena, w->scratch, &w->diag};
    const tw_mapping mapping = {
        .n_groups = w->n, .group = w->group, .n_residents = w->n_residents, .resident = w->resident};
    const tw_joint *joint;
    tw_summary sum;
    tw_status status = tw_mapping_check(&mapping, w->model, w->machine, &w->diag);
    if (status == TW_OK) status = tw_joint_build(w->model, w->machine->platform, &mapping, &work, &joint);
    if (status == TW_OK) status = tw_joint_measure(joint, NULL, &work, &sum);
    if (status == TW_ERR_NOMEM) abort();
    if (status == TW_OK) {
        w->n_good++;
        w->fn(w->user, &mapping, &sum);
    }
    tw_arena_rewind(w->arena, mark);
    tw_arena_rewind(w->scratch, scratch);
}

static void walk_ways(walk *w, int k)
{
    if (k == w->n) {
        simulate(w);
        return;
    }
    const ways *all = &w->of[k == 0 ? 0 : w->end[k - 1]][w->end[k]];
    for (int64_t i = 0; i < all->n; i++) {
        way y = all->way[i];
        tie(&y);
        w->group[k] = y.map;
        walk_ways(w, k + 1);
    }
}

/* What may stay from the stretches on. */
static unsigned may_be_resident(const walk *w)
{
    unsigned may = 0;
    for (int k = 0; k + 1 < w->n; k++) {
        int tensor = makes(w, w->end[k] - 1);
        if (!w->model->tensor[tensor].is_output && read_among(w, w->end[k], w->model->n_ops, tensor))
            may |= 1u << k;
    }
    return may;
}

static int64_t count_ways(const walk *w)
{
    int64_t n = (int64_t)1 << __builtin_popcount(may_be_resident(w));
    for (int k = 0; k < w->n; k++) n *= w->of[k == 0 ? 0 : w->end[k - 1]][w->end[k]].n;
    return n;
}

static void try_parting(walk *w)
{
    unsigned may = may_be_resident(w);
    for (unsigned hold = 0; hold < 1u << w->n; hold++) {
        if (hold & ~may) continue;
        w->n_residents = 0;
        for (int k = 0; k < w->n; k++)
            if (hold >> k & 1)
                w->resident[w->n_residents++] =
                    (tw_group_resident){.tensor = makes(w, w->end[k] - 1), .memory = ON_CHIP};
        walk_ways(w, 0);
    }
}

/* All ways to part the order; how many programs that are, if it only counts. */
static int64_t walk_partings(walk *w, bool counts)
{
    int64_t n = 0;
    int n_ops = w->model->n_ops;
    for (unsigned cuts = 0; cuts < 1u << (n_ops - 1); cuts++) {
        w->n = 0;
        for (int k = 0; k < n_ops; k++)
            if (k + 1 == n_ops || (cuts >> k & 1)) w->end[w->n++] = k + 1;
        n += count_ways(w);
        if (!counts) try_parting(w);
    }
    return n;
}

static walk *open_walk(const tw_model *model, const tw_machine *machine)
{
    walk *w = calloc(1, sizeof *w);
    if (!w || model->n_ops > MOST_OPS) abort();
    *w = (walk){.model = model, .machine = machine, .diag = {.muted = true}};
    w->arena = tw_arena_new();
    w->scratch = tw_arena_new();
    if (!w->arena || !w->scratch) abort();
    for (int a = 0; a < model->n_ops; a++)
        for (int b = a + 1; b <= model->n_ops; b++) list_ways(w, a, b);
    return w;
}

static void close_walk(walk *w)
{
    for (int a = 0; a < MOST_OPS; a++)
        for (int b = 0; b <= MOST_OPS; b++) free(w->of[a][b].way);
    tw_arena_free(w->arena);
    tw_arena_free(w->scratch);
    free(w);
}

int64_t brute_group_size(const tw_model *model, const tw_machine *machine, int64_t limit)
{
    walk *w = open_walk(model, machine);
    int64_t n = walk_partings(w, true);
    close_walk(w);
    return tw_min(n, limit + 1);
}

int64_t brute_group_run(const tw_model *model, const tw_machine *machine, brute_group_fn fn, void *user)
{
    walk *w = open_walk(model, machine);
    w->fn = fn;
    w->user = user;
    walk_partings(w, false);
    int64_t n = w->n_good;
    close_walk(w);
    return n;
}
