/* src/search/branch.c - see branch.h. */
#include "search/branch.h"

#include "search/blocks.h"
#include "search/box.h"
#include "search/descend.h"
#include "search/first.h"
#include "search/heap.h"
#include "search/layout.h"
#include "search/neighbours.h"
#include "search/seed.h"
#include "search/shortlist.h"
#include "search/sizes.h"
#include "search/small.h"
#include "search/spread.h"
#include "search/tail.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TASKS = 8,      /* parts of a round                                 */
    SEEN = 1 << 12, /* mappings that a walk remembers                   */
    LONG_TRIES = 4, /* of a mapping with other numbers of buffers, if they take long */
    TRIED = 128,    /* mappings of the shortlist that are remembered    */
    FIRST_NODES =
        2048, /* of the first round, which one thread does alone; lockstep: eight times as many, their bounds are quick */
    MANY_NODES = 32768, /* lockstep: seeds are not worth it before          */
    TASK_NODES = 1024,  /* of a task                                        */
    LAST_LOOKS = 300,   /* the same, mappings                               */
    /* Pieces of work of a tenth of a microsecond each, as a simulated instruction is one. Measured: on all kinds of
     * machine a second is 8 to 15 million. */
    ASK_WORK = 6,      /* a bound that is compared with the best           */
    NODE_WORK = 5,     /* a node, and one more for two of its variables    */
    RUN_WORK = 40,     /* a program, besides its instructions              */
    OUTLINE_WORK = 20, /* a mapping whose transfers are counted            */
    MUCH = 10,         /* a best that is such a part of itself above the least bound may gain much */
    LATE_SHARE = 4,    /* of a budget, for each of the two searches with divided loops, on top of it */
};
#define FIRST_WORK     INT64_C(2000000)
#define TASK_WORK      INT64_C(1000000)   /* a task begins nothing more after that */
#define TASK_LEAST     INT64_C(250000)    /* and may take so much of a budget that is less for each */
#define ROUND_LEAST    INT64_C(25000)     /* a budget with less for each task of a round is for fewer of them */
#define ONE_RUN        INT64_C(20000000)  /* longer programs are not simulated to their end */
#define CANDIDATE_WORK INT64_C(1000000)   /* a mapping of the shortlist, with all its buffers    */
#define LONGER_WORK    INT64_C(3000000)   /* the same of programs that are longer for shorter ends */
#define SHORTLIST_WORK INT64_C(4000000)   /* no more of them are tried after that           */
#define WALKS_AFTER    INT64_C(5000000)   /* what is proven soon needs none,                              */
#define WALKS_WORK     INT64_C(4000000)   /* all walks around the best                                    */
#define HURRIED_WORK   INT64_C(100000)    /* the same where somebody is in a hurry,                        */
#define LEVELS_WORK    INT64_C(30000)     /* the best with a level more                                    */
#define WALK_WORK      INT64_C(400000)    /* one of them, at most,                                        */
#define WALK_LEAST     INT64_C(50000)     /* and at least                                                 */
#define POLISH_WORK    INT64_C(60000)     /* what is near enough already is tried to improve on    */
#define DEFAULT_POLISH INT64_C(750000)    /* and proven, if nobody asked for a gap                       */
#define DIVIDED_WORK   INT64_C(600000)    /* mappings with divided loops, by estimates,                   */
#define LATE_WORK      INT64_C(100000)    /* and by bounds                                                */
#define SIZED_WORK     INT64_C(300)       /* a part with chosen sizes                                     */
#define TIES_WORK      INT64_C(20000)     /* the same where an earlier objective has chosen others           */
#define MUST_WORK      INT64_C(4000000)   /* a first mapping, whatever budget and time are left,     */
#define MUST_END       (INT64_C(1) << 26) /* and, all attempts together, whatever budget is left    */
#define LAST_WORK      INT64_C(2000000)   /* when nothing was found, for each frame */
#define NO_BUDGET      (INT64_MAX / 4)
#define DEFAULT_MEMORY (INT64_C(256) << 20)
static const double default_gap = 0.01;
static const double share_of_search = 0.85; /* of the time; the rest is for when nothing was found */

typedef struct task { /* some parts, searched for a while */
    struct branch *all;
    int worker;
    int64_t n_asked; /* whether to stop */
    tw_heap heap;    /* in: where to begin; out: what stayed open */
    tw_front front;
    int64_t nodes_left, work_left;
    int64_t most;    /* pieces of work after which it ends, whatever it is at */
    int64_t longest; /* work of simulating one of its programs, at most */
    int64_t n_nodes, n_points, work, closed[TW_N_BOUNDS];
    bool has_nearest, any_left;
    int64_t least_short;
    tw_op_map nearest;
    tw_goal_value left;    /* least bound of what could not be settled */
    tw_part *at;           /* the part at hand */
    tw_part *seed;         /* only this mapping is tried; its own */
    uint64_t *seen;        /* a walk begins there: numbers of mappings that it met, 0: no more */
    bool must;             /* simulates a mapping whatever the budget: there is none yet */
    bool cut;              /* the part at hand was not divided to its end                */
    bool full;             /* since there is no room for more parts                      */
    const tw_meter *meter; /* of the simulation that runs, NULL: none */
    tw_status status;
} task;

typedef struct branch {
    const tw_space *space;
    const tw_goals *goals;
    const tw_search_options *options;
    const tw_eval *eval;
    double gap;                         /* that is near enough, 0: none is */
    const tw_deadline *deadline, *last; /* of the search; and of what comes when that has found nothing */
    int64_t total;                      /* pieces of work that all may take            */
    int64_t gained_at;                  /* work when something better was found last, or the shortlist was made */
    tw_wide risen;          /* the first objective that nothing open was below when patience began last */
    bool near;              /* something near enough was found             */
    int64_t near_at;        /* work when it was not yet                    */
    int64_t polish;         /* that may follow, 0: only on the shortlist   */
    int64_t budget;         /* that is left: of `total`, of patience, of polish */
    int64_t must_left;      /* of MUST_END; only task 0 spends it          */
    int64_t candidate_work; /* of a mapping of the shortlist, with all its buffers, */
    int64_t longest_tries;  /* or of LONG_TRIES simulations of it where its program is long */
    int64_t one_run;        /* instructions of a program that is simulated, at most */
    int64_t shown;          /* the same of one that is only counted                 */
    bool desperate;         /* time is up, nothing was found: any program will do   */
    int64_t start_ns;
    atomic_int stop; /* a tw_ending, 0: go on */
    tw_heap heap;
    tw_heap late;      /* frames with loops that may be divided: when all others are searched, */
    bool divides;      /* which they are now                                                   */
    tw_wide estimated; /* what came of the shortlist of all others, INT64_MAX: nothing        */
    tw_hunt *out;
    const tw_op_map *start; /* NULL: none */
    bool foreign;           /* it was found for another objective */
    bool optional;          /* and without it nothing is looked for */
    int64_t part_size;
    bool has_seeds, has_walked;
    uint64_t dice; /* where walks begin */
    int n_tried;
    tw_candidate tried[TRIED]; /* of the shortlist */
    bool hurries;              /* nobody is asked any more */
    tw_goal_value floor;       /* nothing that is open had a lower bound when the round began                */
    tw_wide enough;            /* a first objective of so much is near enough, -1: nothing but a proof is         */
    tw_wide claimed;           /* and of so much ends the round at hand, -1: none does                           */
    /* the round at hand */
    task task[TASKS];
    int n_tasks;
    atomic_int next;
    atomic_int winner; /* the first task that reached the bound of the whole space, TASKS: none */
    /* threads */
    int n_threads;
    pthread_t thread[TW_MAX_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t begins, ends;
    int64_t round;
    int n_working;
    bool quits;
    double last_told;
} branch;

/* ---- the judge of a leaf ---- */

/* How much of the budget, or of the time, is over: the larger share. 0: there is neither limit. */
static double share_done(const branch *b, double seconds)
{
    double left = tw_deadline_left(b->deadline);
    double work = b->total == NO_BUDGET || b->total <= 0 ? 0 : (double)b->out->work / (double)b->total;
    double time = isfinite(left) && seconds + left > 0 ? seconds / (seconds + left) : 0;
    return fmin(1, fmax(work, time));
}

/* What is known at the end of the last round; called by the thread that called the search. */
static void tell(branch *b)
{
    double now = tw_deadline_since(b->start_ns);
    if (!b->options->progress || b->hurries || now - b->last_told < 0.05) return;
    b->last_told = now;
    tw_progress p = {.op = b->space->problem.op,
                     .found = b->out->front.n > 0,
                     .seconds = now,
                     .nodes = b->out->n_nodes,
                     .simulated = b->out->n_points,
                     .space = tw_space_word(b->options->space)};
    tw_goal_value open = b->heap.n > 0 ? b->heap.part[0]->bound : b->out->root;
    if (b->out->any_open && tw_value_compare(b->goals, &b->out->open, &open) < 0) open = b->out->open;
    p.bound = (double)(open.of[0]);
    if (p.found) {
        p.best = (double)(b->out->front.best[0].value.of[0]);
        p.bound = p.bound < p.best ? p.bound : p.best;
        p.gap = p.best > 0 ? (p.best - p.bound) / p.best : 0;
    }
    p.share = share_done(b, now);
    int none = 0;
    if (!b->options->progress(b->options->user, &p))
        atomic_compare_exchange_strong(&b->stop, &none, TW_END_STOPPED);
}

static bool task_stopped(void *user)
{
    task *t = user;
    branch *all = t->all;
    int none = 0;
    if ((t->n_asked++ & 15) == 0) {
        if (t->worker == 0) tell(all);
        tw_ending ending = tw_deadline_ending(all->deadline);
        if (ending != TW_END_DONE) atomic_compare_exchange_strong(&all->stop, &none, (int)ending);
    }
    int stop = atomic_load_explicit(&all->stop, memory_order_relaxed);
    if (t->must)
        return stop == TW_END_STOPPED || (stop != 0 && t->work + (t->meter ? t->meter->done : 0) > MUST_WORK);
    return stop != 0 || t->work > t->most ||
           atomic_load_explicit(&all->winner, memory_order_relaxed) < t - all->task;
}

/* Nothing can be better than the bound of the whole space. */
static void claim(task *t)
{
    branch *all = t->all;
    int mine = (int)(t - all->task), first = atomic_load(&all->winner);
    if (all->goals->pareto || t->front.counts || t->front.n == 0 || !all->out->any_root) return;
    bool best = tw_value_compare(all->goals, &t->front.best[0].value, &all->out->root) <= 0;
    if (!best && t->front.best[0].value.of[0] > all->claimed) return;
    while (mine < first && !atomic_compare_exchange_weak(&all->winner, &first, mine)) continue;
}

static bool task_wanted(void *user, const tw_goal_value *bound, tw_closer closer)
{
    task *t = user;
    t->work += ASK_WORK;
    if (tw_front_wants(&t->front, bound)) return true;
    t->closed[closer]++;
    return false;
}

static tw_status task_found(void *user, const tw_op_map *map, const tw_goal_value *value, bool *better)
{
    task *t = user;
    *better = tw_front_wants(&t->front, value);
    t->must = false;
    TW_TRY(tw_front_offer(&t->front, t->all->space->op, value, t->at->frame, map));
    claim(t);
    return TW_OK;
}

/* Without a shortage of memory (short_by 0) a refusal counts only while there is no other. */
static void keep_nearest(bool *has, int64_t *least, tw_op_map *nearest, const tw_op_map *map, int64_t short_by)
{
    if (short_by == 0) short_by = INT64_MAX;
    if (*has && short_by >= *least) return;
    *has = true;
    *least = short_by;
    *nearest = *map;
}

static void task_refused(void *user, const tw_op_map *map, int64_t short_by)
{
    task *t = user;
    if (t->front.n == 0) keep_nearest(&t->has_nearest, &t->least_short, &t->nearest, map, short_by);
}

/* What is below all that is open. The parts of a front have no order: that is the least of each objective by itself. */
static void keep_least(const tw_goals *goals, bool *any, tw_goal_value *least, const tw_goal_value *bound)
{
    for (int i = 0; i < goals->n && *any && goals->pareto; i++)
        least->of[i] = bound->of[i] < least->of[i] ? bound->of[i] : least->of[i];
    if (!*any || (!goals->pareto && tw_value_compare(goals, bound, least) < 0)) *least = *bound;
    *any = true;
}

static void task_left(void *user, const tw_goal_value *bound)
{
    task *t = user;
    keep_least(t->all->goals, &t->any_left, &t->left, bound);
}

static void task_ignored(void *user, const tw_goal_value *bound)
{
    (void)user;
    (void)bound;
}

/* Work that simulating a program may take. */
static int64_t most_of_run(const task *t)
{
    const branch *b = t->all;
    if (!t->seed) return b->one_run;
    int64_t tries = tw_min(t->longest * LONG_TRIES, b->longest_tries);
    return tw_min(tw_max(b->candidate_work, tries), b->one_run) - t->work;
}

/* The same of a first mapping: what fits into the time that is left, or a little more where that is short. */
static int64_t most_of_first(const branch *b)
{
    static const double per_second = 5e6;
    double left = tw_deadline_left(b->last);
    int64_t most =
        isfinite(left) ? tw_clamp((int64_t)fmin(left * per_second, 1e12), MUST_WORK, MUST_END) : MUST_END;
    return tw_min(b->must_left, most);
}

static tw_status task_cost(void *user, const tw_machine *machine, const tw_op_map *map, tw_outcome *out,
                           bool *unfinished, int64_t *short_by)
{
    task *t = user;
    const tw_space *s = t->all->space;
    int64_t most = most_of_run(t);
    tw_meter meter = {.limit = tw_min(t->most - t->work, most), .stopped = task_stopped, .user = t};
    if (t->must) meter.limit = most_of_first(t->all);
    *unfinished = meter.limit <= 0;
    if (*unfinished) return TW_OK;
    t->meter = &meter;
    const tw_problem problem = {s->problem.model, s->problem.op, machine};
    tw_status status = t->all->eval->cost(t->all->eval->user[t->worker], &problem, map, &meter, out, short_by);
    t->meter = NULL;
    t->longest = tw_max(t->longest, meter.done);
    if (t->must) t->all->must_left -= meter.done;
    *unfinished = meter.unfinished;
    t->must =
        t->must && !(meter.unfinished && isfinite(tw_deadline_left(t->all->last))); /* there is time for one */
    t->n_points += machine == s->machine;                                           /* others are relaxations */
    t->work += meter.done + RUN_WORK;
    return status;
}

static tw_status task_count(void *user, const tw_op_map *map, tw_outcome *out, int64_t *short_by)
{
    task *t = user;
    const tw_space *s = t->all->space;
    t->work += RUN_WORK;
    t->n_points++;
    return t->all->eval->count(t->all->eval->user[t->worker], &s->problem, map, out, short_by);
}

static tw_status task_outline(void *user, const tw_op_map *map, tw_outline *out)
{
    task *t = user;
    const tw_space *s = t->all->space;
    t->work += OUTLINE_WORK;
    return t->all->eval->outline(t->all->eval->user[t->worker], &s->problem, map, out);
}

static bool task_affords(void *user, int64_t instructions)
{
    const branch *b = ((task *)user)->all;
    return b->desperate || instructions <= b->shown;
}

static void task_spent(void *user, int64_t work) { ((task *)user)->work += work; }

/* ---- a task ---- */

/* Open parts for which there is room. */
static int64_t most_parts(const branch *b)
{
    int64_t limit = b->options->memory_limit > 0 ? b->options->memory_limit : DEFAULT_MEMORY;
    return tw_max(limit / (b->part_size + 64), 64);
}

/* Bounds in closed form take three times as long for each variable. */
static int64_t node_work(const branch *b, const tw_part *part)
{
    bool closed = !b->space->rules->nests && b->space->wants != 0;
    return NODE_WORK + (int64_t)b->space->frame[part->frame].n_vars * (closed ? 3 : 1) / 2;
}

/* Whether nothing is lost without the part, since a frame with the same tiles takes no longer for any of them: asked when sizes are chosen, and
 * nothing else. */
static bool is_beaten(const branch *b, tw_part *part, int64_t *work)
{
    int64_t n_asked = 0;
    const tw_frame *f = &b->space->frame[part->frame];
    if (b->space->notes || b->out->front.counts || f->n_dims == 0) return false;
    bool beaten = tw_spread_is_beaten(b->space, part, &n_asked);
    *work += n_asked / 2;
    return beaten;
}

static bool take_part(void *user, tw_part *part)
{
    task *t = user;
    const branch *all = t->all;
    t->full |= t->heap.n >= most_parts(all); /* a part may divide into 12! orders */
    t->cut = t->full || ((t->n_nodes & 63) == 0 && task_stopped(t));
    t->n_nodes++;
    if (t->cut) {
        free(part);
        return false;
    }
    t->work += node_work(all, part);
    if (all->options->exhaustive) {
        if (!tw_heap_push(&t->heap, part)) t->status = TW_ERR_NOMEM;
        return t->status == TW_OK;
    }
    tw_part_bounds least = {0};
    if (tw_part_tighten(all->space, part)) tw_part_least(all->space, part, &least);
    if (!least.feasible) {
        t->closed[TW_BOUND_CAPACITY]++;
        free(part);
        return true;
    }
    tw_part_bound(all->space, all->goals, &least, part);
    if (!task_wanted(t, &part->bound, part->closer)) {
        free(part);
    } else if (is_beaten(all, part, &t->work)) {
        t->closed[TW_BOUND_COMPUTE]++;
        free(part);
    } else if (!tw_heap_push(&t->heap, part)) {
        t->status = TW_ERR_NOMEM;
    }
    return t->status == TW_OK;
}

/* What a leaf asks of the task; `left` is told of mappings that were not looked at to their end. */
static tw_judge judge_of(task *t, void (*left)(void *, const tw_goal_value *))
{
    return (tw_judge){t,          task_wanted,  task_found,   task_refused, left,      task_cost,
                      task_count, task_outline, task_stopped, task_affords, task_spent};
}

/* Whether the closed form says what a mapping costs: then one can be made of sizes alone. */
static bool is_closed(const branch *b)
{
    return !b->space->rules->nests && b->space->wants != 0 && !(b->space->wants & TW_WANTS_TIME) &&
           !b->options->exhaustive;
}

/* Tries the part, of which sizes are chosen and little else, with the orders and residencies that suit it. */
static tw_status try_completed(task *t, tw_part *part)
{
    tw_part *whole;
    tw_judge judge = judge_of(t, task_ignored);
    part->completed = true;
    TW_TRY(tw_closed_complete(t->all->space, t->all->goals, part, &whole));
    if (!whole) return TW_OK;
    tw_part *at = t->at;
    t->at = whole;
    tw_status status = tw_leaf_quick(t->all->space, t->all->goals, whole, &judge);
    t->at = at;
    free(whole);
    return status;
}

/* *kept: the heap has the part again. */
static tw_status open_part(task *t, tw_part *part, bool *kept)
{
    const branch *all = t->all;
    bool divided;
    tw_judge judge = judge_of(t, task_left);
    t->at = part;
    *kept = false;
    if (!part->refined) {
        if (is_closed(all) && !part->completed && tw_part_is_sized(all->space, part)) {
            TW_TRY(try_completed(t, part));
            if (!task_wanted(t, &part->bound, part->closer)) return TW_OK;
        }
        TW_TRY(tw_part_divide(all->space, part, take_part, t, &divided));
        TW_TRY(t->status);
        if (t->cut) task_left(t, &part->bound);
        t->cut = false;
        if (divided) return TW_OK;
        if (all->options->exhaustive) return tw_leaf_search(all->space, all->goals, part, true, &judge);
        /* With its bound raised it may not be the first any more. */
        TW_TRY(tw_leaf_refine(all->space, all->goals, part, &judge));
        if (!task_wanted(t, &part->bound, part->closer)) return TW_OK;
        *kept = true;
        return tw_heap_push(&t->heap, part) ? TW_OK : TW_ERR_NOMEM;
    }
    return tw_leaf_search(all->space, all->goals, part, false, &judge);
}

static tw_status try_seed(task *t)
{
    tw_judge judge = judge_of(t, task_ignored);
    t->at = t->seed;
    tw_status status = tw_leaf_quick(t->all->space, t->all->goals, t->seed, &judge);
    memset(t->closed, 0, sizeof t->closed);
    return status;
}

/* ---- a walk ---- */

/* Whether the mapping is new to the walk; if so it is remembered, as long as there is room. */
static bool is_new(task *t, const tw_part *part)
{
    enum { PROBES = 16 };
    const unsigned char *bytes = (const unsigned char *)part->var;
    size_t n = (size_t)t->all->space->frame[part->frame].n_vars * sizeof *part->var;
    uint64_t hash = UINT64_C(14695981039346656037) + (uint64_t)part->frame; /* FNV-1a */
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    hash += hash == 0;
    for (uint64_t i = 0; i < PROBES; i++) {
        uint64_t *place = &t->seen[(hash + i) % SEEN];
        if (*place == hash) return false;
        if (*place != 0) continue;
        *place = hash;
        return true;
    }
    return true;
}

/* Simulates the mapping if it may be better than what the walk has. */
static tw_status try_neighbour(task *t, tw_part *part)
{
    const branch *b = t->all;
    tw_part_bounds least = {0};
    tw_judge judge = judge_of(t, task_ignored);
    t->work += node_work(b, part);
    tw_part_least(b->space, part, &least);
    if (!least.feasible) return TW_OK;
    tw_part_bound(b->space, b->goals, &least, part);
    if (!task_wanted(t, &part->bound, part->closer)) return TW_OK;
    t->at = part;
    return tw_leaf_quick(b->space, b->goals, part, &judge);
}

/* The next neighbour of t->seed; where it is better, it takes that one's place. */
static tw_status step_to(task *t, int k, bool *better)
{
    const branch *b = t->all;
    tw_part *part;
    tw_goal_value before = t->front.best[0].value;
    TW_TRY(tw_neighbours_part(b->space, t->seed, k, &part));
    t->work++;
    if (!part) return TW_OK;
    tw_status status = is_new(t, part) ? try_neighbour(t, part) : TW_OK;
    *better = status == TW_OK && tw_value_compare(b->goals, &t->front.best[0].value, &before) < 0;
    free(*better ? t->seed : part);
    if (*better) t->seed = part;
    return status;
}

/* From t->seed, of which nothing but its own value is known, to better neighbours as long as there are some. */
static tw_status walk(task *t)
{
    const branch *b = t->all;
    TW_TRY(try_neighbour(t, t->seed));
    int n = tw_neighbours_count(b->space, t->seed), next = 0;
    for (int left = n; t->front.n > 0 && left > 0 && t->work < t->work_left && !task_stopped(t); left--) {
        int frame = t->seed->frame;
        bool better = false;
        TW_TRY(step_to(t, next, &better));
        next = (next + 1) % n;
        if (!better) continue;
        left = n = tw_neighbours_count(b->space, t->seed);
        if (t->seed->frame != frame) next = 0; /* numbers are of a frame */
    }
    return TW_OK;
}

static void run_task(task *t, int worker)
{
    t->worker = worker;
    if (t->seed && !task_stopped(t)) t->status = t->seen ? walk(t) : try_seed(t);
    if (t->seen) return;
    for (tw_part *part; t->status == TW_OK && t->n_nodes < t->nodes_left && t->work < t->work_left;) {
        if (task_stopped(t) || !(part = tw_heap_pop(&t->heap))) return;
        bool kept = false;
        if (t->all->options->exhaustive || task_wanted(t, &part->bound, part->closer))
            t->status = open_part(t, part, &kept);
        if (!kept) free(part);
    }
}

/* ---- threads ---- */

static void run_tasks(branch *b, int worker)
{
    for (int i; (i = atomic_fetch_add(&b->next, 1)) < b->n_tasks;) run_task(&b->task[i], worker);
}

typedef struct hand {
    branch *all;
    int worker;
} hand;

static void *work(void *user)
{
    hand h = *(hand *)user;
    free(user);
    int64_t seen = 0;
    pthread_mutex_lock(&h.all->lock);
    for (;;) {
        while (!h.all->quits && h.all->round == seen) pthread_cond_wait(&h.all->begins, &h.all->lock);
        if (h.all->quits) break;
        seen = h.all->round;
        pthread_mutex_unlock(&h.all->lock);
        run_tasks(h.all, h.worker);
        pthread_mutex_lock(&h.all->lock);
        if (--h.all->n_working == 0) pthread_cond_signal(&h.all->ends);
    }
    pthread_mutex_unlock(&h.all->lock);
    return NULL;
}

/* A thread that cannot be had is one less. */
static void start_threads(branch *b)
{
    int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = (int)tw_clamp(b->options->n_threads > 0 ? b->options->n_threads : cores, 1, b->eval->n_users);
    while (b->n_threads < wanted - 1) {
        hand *h = malloc(sizeof *h);
        if (!h) return;
        *h = (hand){b, b->n_threads + 1};
        if (pthread_create(&b->thread[b->n_threads], NULL, work, h) != 0) {
            free(h);
            return;
        }
        b->n_threads++;
    }
}

static void stop_threads(branch *b)
{
    pthread_mutex_lock(&b->lock);
    b->quits = true;
    pthread_cond_broadcast(&b->begins);
    pthread_mutex_unlock(&b->lock);
    for (int i = 0; i < b->n_threads; i++) pthread_join(b->thread[i], NULL);
}

static void run_round(branch *b)
{
    atomic_store(&b->next, 0);
    if (b->n_tasks > 1 && b->n_threads > 0) {
        pthread_mutex_lock(&b->lock);
        b->round++;
        b->n_working = b->n_threads;
        pthread_cond_broadcast(&b->begins);
        pthread_mutex_unlock(&b->lock);
    }
    run_tasks(b, 0);
    if (b->n_tasks == 1 || b->n_threads == 0) return;
    pthread_mutex_lock(&b->lock);
    while (b->n_working > 0) pthread_cond_wait(&b->ends, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

/* ---- rounds ---- */

static void drop_task(task *t)
{
    free(t->seed);
    free(t->seen);
    t->seed = NULL;
    t->seen = NULL;
    tw_heap_release(&t->heap);
    tw_front_release(&t->front);
}

static void spend(branch *b, int64_t work)
{
    int64_t patience = tw_shortlist_suits(b->space, b->goals) ? b->options->patience : 0;
    b->out->work += work;
    b->budget = b->total - b->out->work;
    if (patience > 0) b->budget = tw_min(b->budget, patience - (b->out->work - b->gained_at));
    if (b->near && b->polish > 0) b->budget = tw_min(b->budget, b->polish - (b->out->work - b->near_at));
}

/* Patience begins anew. */
static void be_patient(branch *b)
{
    b->gained_at = b->out->work;
    spend(b, 0);
}

static bool has_gained(const branch *b, const tw_front *front)
{
    const tw_front *known = &b->out->front;
    return front->n > 0 && (b->goals->pareto || known->n == 0 || tw_front_wants(known, &front->best[0].value));
}

static tw_status merge_task(branch *b, task *t)
{
    tw_hunt *out = b->out;
    tw_status status = t->status;
    bool gained = has_gained(b, &t->front);
    if (t - b->task > atomic_load(&b->winner)) {
        drop_task(t);
        return TW_OK;
    }
    out->n_nodes += t->n_nodes;
    out->n_points += t->n_points;
    spend(b, t->work);
    if (gained) be_patient(b);
    for (int i = 0; i < TW_N_BOUNDS; i++) out->closed[i] += t->closed[i];
    if (t->any_left) keep_least(b->goals, &out->any_open, &out->open, &t->left);
    if (t->full) out->ending = TW_END_MEMORY;
    if (t->has_nearest)
        keep_nearest(&out->has_nearest, &out->least_short, &out->nearest, &t->nearest, t->least_short);
    if (status == TW_OK) status = tw_front_merge(&out->front, b->space->op, &t->front);
    for (tw_part *p; (p = tw_heap_pop(&t->heap));)
        if (status != TW_OK)
            free(p);
        else if (!tw_heap_push(&b->heap, p))
            status = TW_ERR_NOMEM;
    drop_task(t);
    return status;
}

/* `status` is that of the round's beginning. */
static tw_status merge_round(branch *b, tw_status status)
{
    for (int i = 0; i < b->n_tasks; i++) {
        tw_status merged = merge_task(b, &b->task[i]);
        if (status == TW_OK) status = merged;
    }
    b->n_tasks = 0;
    TW_TRY(status);
    tell(b);
    return TW_OK;
}

static bool is_over(branch *b) { return atomic_load(&b->winner) < TASKS || atomic_load(&b->stop) != 0; }

static tw_status begin_task(branch *b, task *t, int64_t nodes, int64_t amount)
{
    *t = (task){.all = b, .heap = {.goals = b->goals}, .nodes_left = nodes, .work_left = amount, .most = b->budget};
    TW_TRY(tw_front_copy(&t->front, &b->out->front));
    t->front.n_optima = 0;
    return TW_OK;
}

/* The next open part that may still hold something. */
static tw_part *next_open(branch *b)
{
    for (tw_part *p; (p = tw_heap_pop(&b->heap)); free(p)) {
        if (b->options->exhaustive || tw_front_wants(&b->out->front, &p->bound)) return p;
        b->out->closed[p->closer]++;
    }
    return NULL;
}

/* What nothing that is open can beat, and what would be near enough to it. */
static void aim(branch *b)
{
    b->floor = b->heap.n > 0 ? b->heap.part[0]->bound : b->out->any_root ? b->out->root : (tw_goal_value){{0}};
    if (b->out->any_open && tw_value_compare(b->goals, &b->out->open, &b->floor) < 0) b->floor = b->out->open;
    b->enough = -1;
    if (b->gap > 0 && b->gap < 1 && !b->goals->pareto && !b->out->front.counts)
        b->enough = (tw_wide)((double)b->floor.of[0] / (1 - b->gap) * (1 - 1e-12));
    b->claimed = b->polish > 0 ? -1 : b->enough;
}

/* What is left for the tasks of a round, which do not know of each other. Where little was set apart, they share it. */
static void share_budget(branch *b)
{
    const int64_t n = tw_max(1, b->n_tasks), share = tw_max(0, b->total - b->out->work) / n;
    int64_t each = tw_max(b->budget / n, tw_min(b->budget, TASK_LEAST));
    if (b->divides || b->optional) each = tw_min(each, share);
    for (int i = 0; i < b->n_tasks; i++) b->task[i].most = each;
}

static tw_status fill_round(branch *b)
{
    aim(b);
    const int64_t most = tw_clamp((b->total - b->out->work) / ROUND_LEAST, 1, TASKS);
    for (b->n_tasks = 0; b->n_tasks < most; b->n_tasks++) {
        tw_part *p = next_open(b);
        if (!p) return TW_OK;
        task *t = &b->task[b->n_tasks];
        tw_status status = begin_task(b, t, TASK_NODES, TASK_WORK);
        if (status == TW_OK && !tw_heap_push(&t->heap, p)) {
            tw_front_release(&t->front);
            return TW_ERR_NOMEM;
        }
        if (status != TW_OK) {
            free(p);
            return status;
        }
    }
    return TW_OK;
}

/* The whole space, a part for each frame. */
static tw_status open_frames(branch *b)
{
    for (int i = 0; i < b->space->n_frames; i++) {
        bool empty;
        tw_part *p = tw_part_of_frame(b->space, i, &empty);
        if (!p) return TW_ERR_NOMEM;
        if (empty) {
            free(p);
            continue;
        }
        b->part_size =
            tw_max(b->part_size, (int64_t)(sizeof *p + (size_t)b->space->frame[i].n_vars * sizeof *p->var));
        tw_part_bounds least;
        tw_part_least(b->space, p, &least);
        if (least.feasible) {
            tw_part_bound(b->space, b->goals, &least, p);
            if (!b->out->any_root || tw_value_compare(b->goals, &p->bound, &b->out->root) < 0) {
                b->out->root_by = p->closer;
                b->out->root_at = p->at;
            }
            keep_least(b->goals, &b->out->any_root, &b->out->root, &p->bound);
        }
        if (b->options->exhaustive) p->bound = (tw_goal_value){{0}};
        if (!least.feasible && !b->options->exhaustive) {
            b->out->closed[TW_BOUND_CAPACITY]++;
            free(p);
        } else if (!tw_heap_push(b->space->frame[i].joined ? &b->late : &b->heap, p)) {
            return TW_ERR_NOMEM;
        }
    }
    if (b->heap.n > 0 || b->late.n == 0) return TW_OK;
    b->heap = b->late;
    b->late = (tw_heap){.goals = b->goals};
    b->divides = true;
    return TW_OK;
}

/* Everything that one thread does before the others are asked: most problems end here. */
static tw_status first_round(branch *b)
{
    task *t = &b->task[0];
    TW_TRY(begin_task(b, t, FIRST_NODES * b->space->rules->first_nodes, FIRST_WORK));
    b->n_tasks = 1;
    aim(b);
    for (tw_part *p; (p = tw_heap_pop(&b->heap));)
        if (!tw_heap_push(&t->heap, p)) return TW_ERR_NOMEM;
    return TW_OK;
}

/* What a climb found, and how it ended. */
static tw_status end_climb(branch *b, task *t, tw_status status)
{
    if (t->status == TW_OK) t->status = status;
    memset(t->closed, 0, sizeof t->closed);
    TW_TRY(merge_task(b, t));
    tell(b);
    return TW_OK;
}

static tw_status run_seed(branch *b, int frame, const tw_part *start, int64_t looks)
{
    task *t = &b->task[0];
    TW_TRY(begin_task(b, t, 0, 0));
    t->must = b->desperate && b->out->front.n == 0;
    tw_judge judge = judge_of(t, task_ignored);
    return end_climb(b, t, tw_seed_frame(&(tw_climb){b->space, b->goals, &judge, &t->at, looks}, frame, start));
}

/* Whether a search that has little work spends it all on the program that it begins with. */
static tw_status is_start_long(branch *b, task *t, bool *is_long)
{
    tw_outline outline;
    *is_long = false;
    if (!b->optional || b->space->rules->nests) return TW_OK;
    tw_status status = task_outline(t, b->start, &outline);
    if (status == TW_OK && outline.exact)
        *is_long = tw_outline_instructions(&outline, b->space->machine) > b->must_left;
    return status == TW_ERR_NOMEM ? status : TW_OK;
}

/* What an earlier search found. *known: what it costs now; a search that has less work than that takes looks for nothing. */
static tw_status run_start(branch *b, bool *known)
{
    task *t = &b->task[0];
    tw_outcome outcome;
    bool unfinished;
    int64_t short_by;
    TW_TRY(begin_task(b, t, 0, 0));
    t->must = true;
    tw_status status = is_start_long(b, t, &unfinished);
    if (status == TW_OK && !unfinished)
        status = task_cost(t, b->space->machine, b->start, &outcome, &unfinished, &short_by);
    if (status == TW_OK && !unfinished) {
        tw_goal_value value = tw_goals_value(b->goals, &outcome);
        status = tw_front_offer(&t->front, b->space->op, &value, -1, b->start);
    }
    t->status = status == TW_INFEASIBLE || status == TW_ERR_INPUT ? TW_OK : status;
    *known = status != TW_OK || !unfinished;
    return merge_task(b, t);
}

/* ---- by construction ---- */

/* Whether the best found is within a hundredth of what nothing can beat. */
static bool is_good(const branch *b)
{
    const tw_hunt *out = b->out;
    return out->front.n > 0 && out->any_root && 99 * out->front.best[0].value.of[0] <= 100 * out->root.of[0];
}

/* One mapping, with the orders and keeps that suit it. Without it there may be no plan at all. */
static tw_status try_first(branch *b, const tw_part *part)
{
    enum { LOOKS = 250 };
    task *t = &b->task[0];
    TW_TRY(begin_task(b, t, 0, 0));
    t->must = b->out->front.n == 0;
    tw_judge judge = judge_of(t, task_ignored);
    return end_climb(b, t, tw_seed_choices(&(tw_climb){b->space, b->goals, &judge, &t->at, LOOKS}, part));
}

/* The mapping as it is, with a few choices of buffers. */
static tw_status try_quickly(branch *b, tw_part *part)
{
    task *t = &b->task[0];
    TW_TRY(begin_task(b, t, 0, 0));
    t->at = part;
    tw_judge judge = judge_of(t, task_ignored);
    return end_climb(b, t, tw_leaf_quick(b->space, b->goals, part, &judge));
}

/* Every way in which a frame's tiles may grow, those of equal tiles once; or until there is a mapping. */
static tw_status run_first_frame(branch *b, int frame, bool one)
{
    enum { MOST = 32 };
    const size_t size = (size_t)b->space->frame[frame].n_vars * sizeof(tw_range);
    int64_t end = b->budget - SHORTLIST_WORK;
    tw_part *seen[MOST];
    int n = 0;
    tw_first way;
    tw_status status = TW_OK;
    for (int k = 0; status == TW_OK && n < MOST && tw_first_way(k, &way) && !is_over(b) && !is_good(b); k++) {
        if (b->out->front.n > 0 && (one || b->budget < tw_max(end, 0))) break;
        tw_part *part;
        status = tw_first_part(b->space, frame, &way, &part);
        if (status != TW_OK || !part) continue;
        bool again = false;
        for (int i = 0; i < n; i++) again |= memcmp(seen[i]->var, part->var, size) == 0;
        seen[n++] = part;
        if (!again) status = try_first(b, part);
    }
    while (n > 0) free(seen[--n]);
    return status;
}

/* Mappings by construction, in the frames with the fewest tiled levels: an operator that reduces nothing has one in every
 * memory that its smallest tiles fit into. `one`: a single one; otherwise what other ways may lead to. */
static tw_status run_first(branch *b, bool one)
{
    enum { MOST_FRAMES = 4 };
    int n = 0;
    bool none = b->out->front.n == 0;
    if (b->options->exhaustive || b->out->front.counts || b->goals->pareto) return TW_OK;
    aim(b);
    if (one) b->claimed = -1; /* what comes next is quick, and mostly better */
    for (int tiled = 1; tiled < TW_MAX_MEMORIES && (b->out->front.n == 0 || !none); tiled++)
        for (int i = 0; i < b->space->n_frames && n < MOST_FRAMES && !is_over(b); i++) {
            if (b->space->frame[i].n_tiled != tiled) continue;
            TW_TRY(run_first_frame(b, i, one));
            n++;
        }
    return TW_OK;
}

/* ---- descents ---- */

/* Whether estimates of time are about the goals. */
static bool is_timed(const branch *b) { return tw_shortlist_suits(b->space, b->goals); }

/* Whether a frame before this one differs only in what an array unrolls, which costs time alone. */
static bool is_seen(const branch *b, int frame)
{
    const tw_frame *f = &b->space->frame[frame];
    for (int i = 0; i < frame; i++) {
        const tw_frame *g = &b->space->frame[i];
        if (g->n_tiled == f->n_tiled && memcmp(g->memory, f->memory, sizeof f->memory) == 0) return true;
    }
    return false;
}

/* The smallest tiles of a frame that the machine takes, but that loops of `whole` are not cut, with the choices that suit them. */
static tw_status run_smallest(branch *b, int frame, unsigned whole)
{
    enum { LOOKS = 60 };
    bool empty;
    task *t = &b->task[0];
    tw_part *part = tw_part_of_frame(b->space, frame, &empty);
    if (!part) return TW_ERR_NOMEM;
    for (int i = 0; i < b->space->frame[frame].n_tiled && !empty; i++)
        for (int l = 0; l < b->space->op->n_loops; l++) {
            tw_range *size = &part->var[tw_var_size(b->space, i, l)];
            if (whole >> l & 1)
                size->lo = size->hi;
            else
                size->hi = size->lo;
        }
    tw_status status = empty ? TW_OK : begin_task(b, t, 0, 0);
    if (status == TW_OK && !empty) {
        t->most = tw_min(t->most, SHORTLIST_WORK);
        tw_judge judge = judge_of(t, task_ignored);
        status = end_climb(b, t, tw_seed_choices(&(tw_climb){b->space, b->goals, &judge, &t->at, LOOKS}, part));
    }
    free(part);
    return status;
}

/* The same with every choice of so many loops. */
static tw_status run_smallest_of(branch *b, int frame, int n_whole)
{
    const tw_op *op = b->space->op;
    for (unsigned whole = 0; whole < 1u << op->n_loops; whole++) {
        bool again = __builtin_popcount(whole) != n_whole || is_over(b) || b->budget <= 0;
        for (int l = 0; l < op->n_loops; l++) again |= (whole >> l & 1) && op->loop[l].extent == 1;
        if (!again) TW_TRY(run_smallest(b, frame, whole));
    }
    return TW_OK;
}

/* Where little memory is asked for: nothing needs less than the smallest tiles. They make the longest programs, so loops are cut one by one: what needs no
 * less than what was found is left out. */
static tw_status run_peak(branch *b)
{
    enum { MOST_LOOPS = 7, MOST_FRAMES = 4 };
    const int n_loops = b->space->op->n_loops;
    const bool counts = b->options->exhaustive || b->out->front.counts || b->goals->pareto;
    int n = 0;
    if (b->goals->goal[0].measure != TW_PEAK || counts || b->space->rules->nests) return TW_OK;
    if (b->goals->n_limits > 0) return TW_OK; /* the smallest tiles seldom are within them */
    aim(b);
    for (int tiled = 1; tiled < TW_MAX_MEMORIES; tiled++)
        for (int i = 0; i < b->space->n_frames && n < MOST_FRAMES; i++) {
            if (b->space->frame[i].n_tiled != tiled || is_seen(b, i)) continue;
            n++;
            for (int k = n_loops <= MOST_LOOPS ? n_loops : 0; k >= 0; k--) TW_TRY(run_smallest_of(b, i, k));
        }
    return TW_OK;
}

/* The end of a descent, with orders and residencies that are then improved one by one. */
static tw_status end_descent(branch *b, const tw_part *sized)
{
    enum { LOOKS = 400, SHARE = 16 };
    tw_part *whole;
    TW_TRY(tw_closed_complete(b->space, b->goals, sized, &whole));
    if (!whole) return TW_OK;
    task *t = &b->task[0];
    tw_status status = begin_task(b, t, 0, 0);
    t->most = tw_min(t->most, tw_max(TASK_LEAST, b->budget / SHARE)); /* there are other descents, too */
    tw_judge judge = judge_of(t, task_ignored);
    if (status == TW_OK)
        status = end_climb(b, t, tw_seed_choices(&(tw_climb){b->space, b->goals, &judge, &t->at, LOOKS}, whole));
    free(whole);
    return status;
}

static bool descent_stopped(void *user)
{
    branch *b = user;
    return atomic_load(&b->stop) != 0 || tw_deadline_ending(b->deadline) != TW_END_DONE;
}

/* Descends from `start`, or from whole loops if that is NULL. */
static tw_status run_descent(branch *b, int frame, const tw_part *start)
{
    enum { LOOKS = 4000, LOOK = 60 };
    bool empty = false;
    tw_part *whole = start ? NULL : tw_part_of_frame(b->space, frame, &empty), *sized = NULL;
    if (!start && !whole) return TW_ERR_NOMEM;
    for (int i = 0; !start && i < b->space->frame[frame].rule; i++) whole->var[i].lo = whole->var[i].hi;
    tw_descent d = {b->space, b->goals, LOOKS, descent_stopped, b};
    tw_status status = empty ? TW_OK : tw_descend(&d, start ? start : whole, &sized);
    spend(b, LOOK * (LOOKS - d.looks));
    if (status == TW_OK && sized) status = end_descent(b, sized);
    free(sized);
    free(whole);
    return status;
}

/* Whether descents lead anywhere: what they are guided by says little of time, so not to programs that may take so many
 * cycles at most. */
static bool has_descents(const branch *b)
{
    tw_measure first = b->goals->goal[0].measure;
    bool suits = first == TW_EDP || ((first == TW_ENERGY || first == TW_TRAFFIC) && !is_timed(b));
    return suits && !b->space->rules->nests && !b->options->exhaustive && !b->goals->pareto &&
           !b->out->front.counts;
}

/* Descends in one frame from tiles that grow in way k, -1: that are as large as fit. */
static tw_status run_way(branch *b, int frame, int k)
{
    tw_first way;
    tw_part *start = NULL;
    if (k < 0) return run_descent(b, frame, NULL);
    if (!tw_first_way(k, &way)) return TW_OK;
    TW_TRY(tw_first_part(b->space, frame, &way, &start));
    tw_status status = start ? run_descent(b, frame, start) : TW_OK;
    free(start);
    return status;
}

/* Descents from tiles as large as fit, then from those that grow in different ways; of each in every frame, so that little work has
 * seen all of them. */
static tw_status run_descents(branch *b)
{
    enum { WAYS = 3 };
    if (!has_descents(b)) return TW_OK;
    aim(b);
    for (int k = -1; k < WAYS; k++)
        for (int i = 0; i < b->space->n_frames && !is_over(b) && b->budget > 0 && !is_good(b); i++)
            if (!is_seen(b, i)) TW_TRY(run_way(b, i, k));
    return TW_OK;
}

/* ---- the shortlist ---- */

/* Whether the best is near enough to what nothing can beat, or the best of all. */
static bool is_near(branch *b)
{
    if (atomic_load(&b->winner) < TASKS) return true;
    aim(b);
    b->near = b->out->front.n > 0 && b->out->front.best[0].value.of[0] <= b->enough;
    if (!b->near) b->near_at = b->out->work;
    spend(b, 0);
    return b->near;
}

/* Whether so much work more has not found what is nearer. */
static bool is_polished(const branch *b, int64_t polish)
{
    return b->out->work - b->near_at >= polish || atomic_load(&b->winner) < TASKS ||
           tw_value_compare(b->goals, &b->out->front.best[0].value, &b->floor) <= 0;
}

/* Whether the search may end with what it has. */
static bool is_done(branch *b) { return is_near(b) && is_polished(b, b->polish); }

/* What an estimate has to beat. Estimates of some nests are too high, all alike: so they are compared with what came from the
 * shortlist, not with what was there before (`before`) or was found by walks and bounds since. */
static double shortlist_best(const branch *b, tw_wide before)
{
    const tw_front *front = &b->out->front;
    bool alike = front->n > 0 && tw_shortlist_suits(b->space, b->goals);
    if (!alike || front->best[0].value.of[0] >= before) return INFINITY;
    return (double)(b->divides ? b->estimated : front->best[0].value.of[0]);
}

static tw_status serve_round(branch *b, const tw_shortlist *shortlist, tw_wide before, int most, int *next)
{
    aim(b);
    b->claimed = -1; /* what is near is asked between rounds */
    for (b->n_tasks = 0; *next < shortlist->n && b->n_tasks < most; ++*next) {
        const tw_candidate *candidate = &shortlist->candidate[*next];
        tw_part *seed = NULL;
        task *t = &b->task[b->n_tasks];
        if (*next >= TASKS && candidate->weight > shortlist_best(b, before)) continue;
        if (b->n_tried < TRIED) b->tried[b->n_tried++] = *candidate;
        TW_TRY(tw_shortlist_part(b->space, candidate, &seed));
        if (!seed) continue;
        tw_status status = begin_task(b, t, 0, 0);
        t->seed = seed;
        if (status != TW_OK) free(seed);
        TW_TRY(status);
        b->n_tasks++;
    }
    return TW_OK;
}

/* Whether what is left of the shortlist may stay there. */
static bool is_served(branch *b) { return is_near(b) && is_polished(b, POLISH_WORK); }

/* Tries what is on the shortlist, on all cores; where something near is enough, few at a time in the beginning. */
static tw_status serve(branch *b, const tw_shortlist *shortlist, tw_wide before)
{
    int64_t end = tw_max(0, b->budget - SHORTLIST_WORK);
    int most = b->gap > 0 || shortlist->execs > TW_SHORTLIST_EXECS ? 1 : TASKS;
    for (int next = 0; next < shortlist->n && !is_over(b) && b->budget > end && !is_served(b);) {
        tw_status status = serve_round(b, shortlist, before, most, &next);
        most = (int)tw_min(2 * most, TASKS);
        if (b->n_tasks > 1 && b->n_threads == 0) start_threads(b);
        if (status == TW_OK && b->n_tasks > 0) run_round(b);
        TW_TRY(merge_round(b, status));
    }
    return TW_OK;
}

/* Whether a shortlist leads anywhere: not to little memory. */
static bool has_shortlist(const branch *b)
{
    bool counts = b->options->exhaustive || b->out->front.counts;
    return !counts && b->goals->n == 1 && b->goals->goal[0].measure != TW_PEAK && tw_shortlist_serves(b->space);
}

/* An empty one, which may take half of what is left: the rest is for simulating what is on it. */
static tw_shortlist new_shortlist(const branch *b)
{
    tw_shortlist shortlist = tw_shortlist_of(b->space, b->goals, b->deadline);
    shortlist.most_work = tw_max(b->budget, tw_max(0, b->total - b->out->work) / 2) / 2;
    shortlist.most_played = tw_max(0, b->total - b->out->work) / 2; /* patience begins with what is found */
    shortlist.tried = b->tried;
    shortlist.n_tried = b->n_tried;
    return shortlist;
}

/* The frames with so many tiled levels, by the estimates that the shortlist is about. */
static tw_status run_frames(branch *b, int tiled, double below, tw_wide before, tw_shortlist *shortlist)
{
    for (int i = 0; i < b->space->n_frames; i++)
        if (b->space->frame[i].n_tiled == tiled && b->space->frame[i].joined == b->divides)
            tw_shortlist_add(b->space, i, below, shortlist);
    spend(b, tw_shortlist_work(shortlist));
    be_patient(b);
    return serve(b, shortlist, before);
}

/* Whether nests of several levels are worth weighing: they seldom lead further, so whoever is in a hurry has them only where much may be gained. */
static bool may_add_levels(const branch *b)
{
    const tw_front *front = &b->out->front;
    return b->options->patience == 0 || front->n == 0 ||
           MUCH * (front->best[0].value.of[0] - b->out->root.of[0]) > front->best[0].value.of[0];
}

/* Mappings made by construction, from the frames with the fewest tiled levels on. */
static tw_status run_estimates(branch *b, tw_wide before, tw_shortlist *shortlist)
{
    for (int tiled = 1; tiled <= TW_SHORTLIST_LEVELS && !is_over(b) && !is_near(b); tiled++) {
        if (tiled > 1 && !may_add_levels(b)) break;
        *shortlist = new_shortlist(b);
        TW_TRY(run_frames(b, tiled, shortlist_best(b, before), before, shortlist));
    }
    return TW_OK;
}

/* Whether the least bound has risen so far that patience should begin anew: in the first round by as much as is missing to what is near
 * enough, which is known before anything was divided, and then by a quarter of that. Frames that come late have a search of their own. */
static bool is_rising(branch *b)
{
    enum { AGAIN = 4 };
    if (b->options->patience <= 0 || b->out->front.n == 0 || b->late.n > 0 || b->goals->pareto || is_near(b))
        return false;
    const tw_wide from = b->risen > 0 ? b->risen : b->out->root.of[0], now = b->floor.of[0];
    double missing = (double)b->out->front.best[0].value.of[0] * (1 - b->gap) - (double)now;
    double risen = (double)(now - from) * (b->risen > 0 ? AGAIN : 1);
    b->risen = now;
    return risen >= missing;
}

/* Where nobody is content with what is near: longer programs, whose ends are shorter, of the best kind. */
static tw_status run_longer(branch *b, tw_shortlist *shortlist)
{
    static const int64_t execs = 4096;
    const tw_front *front = &b->out->front;
    if (b->gap > 0 || b->goals->goal[0].measure != TW_CYCLES || front->n == 0) return TW_OK;
    if (is_over(b) || is_near(b)) return TW_OK;
    *shortlist = new_shortlist(b);
    shortlist->execs = execs;
    b->candidate_work = LONGER_WORK;
    tw_status status = run_frames(b, 1, INFINITY, INT64_MAX, shortlist);
    b->candidate_work = CANDIDATE_WORK;
    return status;
}

/* The same with what is a little too slow by its estimate, which may be too high. */
static tw_status run_doubtful(branch *b, tw_shortlist *shortlist)
{
    for (int tiled = 1; tiled <= TW_SHORTLIST_LEVELS && !is_over(b) && !is_near(b); tiled++) {
        const tw_front *front = &b->out->front;
        *shortlist = new_shortlist(b);
        if (front->n == 0 || !tw_shortlist_doubt(shortlist, &front->best[0].value)) break;
        bool timed = shortlist->goal.measure == TW_CYCLES; /* then the estimate is above the best by itself */
        double below = timed ? INFINITY : shortlist_best(b, INT64_MAX);
        TW_TRY(run_frames(b, tiled, below, INT64_MAX, shortlist));
    }
    return TW_OK;
}

/* The nests that are best in something else: of those that take about as long, the ones that move little keep it up where
 * estimates of time are too low; and of an objective that is a product a factor may be estimated well. */
static tw_status run_others(branch *b, tw_shortlist *shortlist)
{
    static const tw_measure others[] = {TW_CYCLES, TW_EDP, TW_ENERGY};
    const tw_front *front = &b->out->front;
    bool timed = b->goals->goal[0].measure == TW_CYCLES;
    if (b->options->patience > 0 || front->n == 0) return TW_OK; /* somebody is in a hurry */
    for (size_t i = 0; i < TW_COUNT(others); i++)
        for (int tiled = 1; tiled <= TW_SHORTLIST_LEVELS && !is_over(b) && !is_near(b); tiled++) {
            *shortlist = new_shortlist(b);
            if (shortlist->goal.measure == others[i]) break;
            if (timed && !tw_shortlist_doubt(shortlist, &front->best[0].value)) break;
            shortlist->above = -1;
            shortlist->goal = (tw_goal){.measure = others[i], .memory = -1, .engine = -1};
            TW_TRY(run_frames(b, tiled, INFINITY, INT64_MIN, shortlist));
        }
    return TW_OK;
}

/* The part of the best mapping, NULL in *out: the space does not say which it is. */
static tw_status part_of_best(const branch *b, tw_part **out)
{
    const tw_best *best = &b->out->front.best[0];
    *out = NULL;
    for (int i = 0; i < b->space->n_frames && !*out; i++)
        if (best->frame < 0 || best->frame == i) TW_TRY(tw_part_of_map(b->space, i, &best->map, out));
    return TW_OK;
}

/* Nests like the best, of which less has to come before the first execution. */
static tw_status run_pieces(branch *b, tw_shortlist *shortlist)
{
    tw_part *home = NULL;
    if (!b->space->reductions || b->out->front.n == 0 || is_over(b) || is_near(b)) return TW_OK;
    TW_TRY(part_of_best(b, &home));
    if (!home) return TW_OK;
    *shortlist = new_shortlist(b);
    tw_shortlist_divide(b->space, home, shortlist_best(b, INT64_MAX), shortlist);
    free(home);
    spend(b, tw_shortlist_work(shortlist));
    if (shortlist->n == 0) return TW_OK;
    be_patient(b);
    return serve(b, shortlist, INT64_MAX);
}

static tw_status run_shortlist(branch *b)
{
    const tw_front *front = &b->out->front;
    tw_wide before = front->n > 0 ? front->best[0].value.of[0] : INT64_MAX;
    if (!has_shortlist(b)) return TW_OK;
    tw_shortlist *shortlist = malloc(sizeof *shortlist);
    tw_status status = shortlist ? run_estimates(b, before, shortlist) : TW_ERR_NOMEM;
    if (status == TW_OK) status = run_longer(b, shortlist);
    if (status == TW_OK && is_timed(b)) status = run_pieces(b, shortlist);
    if (status == TW_OK && is_timed(b)) status = run_doubtful(b, shortlist);
    if (status == TW_OK && is_timed(b)) status = run_others(b, shortlist);
    free(shortlist);
    return status;
}

typedef struct block { /* of a frame */
    int frame, k;
    tw_goal_value bound;
} block;

static int compare_blocks(const void *a, const void *b)
{
    const block *x = a, *y = b;
    if (tw_blocks_step(x->k) != tw_blocks_step(y->k)) return tw_blocks_step(x->k) - tw_blocks_step(y->k);
    if (x->bound.of[0] != y->bound.of[0]) return x->bound.of[0] < y->bound.of[0] ? -1 : 1;
    return x->frame != y->frame ? x->frame - y->frame : x->k - y->k;
}

/* Makes a list of the blocks whose bounds are below the best: of each length of steps in turn, the lowest first. */
static tw_status list_blocks(branch *b, int most, block *list, int *n)
{
    *n = 0;
    for (int i = 0; i < b->space->n_frames; i++)
        for (int k = 0; *n < most && tw_blocks_have(b->space, i, k); k++) {
            tw_part *part;
            tw_part_bounds least;
            TW_TRY(tw_blocks_part(b->space, i, k, &part));
            if (!part) continue;
            tw_part_least(b->space, part, &least);
            tw_part_bound(b->space, b->goals, &least, part);
            spend(b, node_work(b, part));
            if (least.feasible && tw_front_wants(&b->out->front, &part->bound))
                list[(*n)++] = (block){i, k, part->bound};
            free(part);
        }
    qsort(list, (size_t)*n, sizeof *list, compare_blocks);
    return TW_OK;
}

/* `thoroughly`: where its own orders and residencies are refused at once, others are tried. */
static tw_status try_block(branch *b, const block *asked, bool thoroughly)
{
    static const int64_t refused = 1000; /* no simulation takes as little work */
    tw_part *part, *whole = NULL;
    int64_t before = b->out->work;
    TW_TRY(tw_blocks_part(b->space, asked->frame, asked->k, &part));
    if (!part) return TW_OK;
    tw_status status = tw_blocks_complete(b->space, asked->k, part, &whole);
    if (status == TW_OK && whole) status = try_quickly(b, whole);
    bool again = thoroughly && b->out->work - before < refused;
    if (status == TW_OK && whole && again) status = try_first(b, whole);
    free(whole);
    free(part);
    return status;
}

/* Tries a block and, where it gains something, those that differ from it in the length of their steps alone. */
static tw_status try_kin(branch *b, block *list, int n, int i, bool thoroughly)
{
    if (is_near(b) || is_over(b) || !tw_front_wants(&b->out->front, &list[i].bound)) return TW_OK;
    tw_wide before = b->out->front.n > 0 ? b->out->front.best[0].value.of[0] : INT64_MAX;
    TW_TRY(try_block(b, &list[i], thoroughly));
    bool gained = b->out->front.n > 0 && b->out->front.best[0].value.of[0] < before;
    for (int k = i + 1; k < n && gained; k++)
        if (list[k].frame == list[i].frame && tw_blocks_are_kin(list[k].k, list[i].k))
            TW_TRY(try_kin(b, list, n, k, thoroughly));
    return TW_OK;
}

/* Mappings whose blocks of sums suit an array. */
static tw_status run_blocks(branch *b)
{
    enum { MOST = 1024, TRIES = 24, FIRST = 8 };
    block list[MOST];
    int n;
    tw_measure measure = b->goals->goal[0].measure;
    if (!has_shortlist(b) || (measure != TW_CYCLES && measure != TW_EDP)) return TW_OK;
    TW_TRY(list_blocks(b, MOST, list, &n));
    if (n > 0) be_patient(b);
    for (int i = 0; i < n && i < TRIES && !is_over(b) && !is_near(b) && b->budget > 0; i++) {
        if (i < FIRST) be_patient(b); /* what gains something is mostly among these, but not at once */
        TW_TRY(try_kin(b, list, n, i, i < FIRST));
    }
    return TW_OK;
}

/* ---- around the best ---- */

/* The best mapping with a level more, which what is short at its ends gains by. */
static tw_status run_levels(branch *b)
{
    const int64_t end = b->out->work + LEVELS_WORK;
    tw_part *home = NULL;
    if (b->goals->n_limits > 0 || b->out->front.n == 0) return TW_OK;
    tw_status status = part_of_best(b, &home);
    int n = home ? tw_neighbours_count(b->space, home) : 0;
    for (int k = home ? tw_neighbours_levels(b->space, home) : 0; k < n && status == TW_OK; k++) {
        tw_part *part;
        if (b->out->work >= end || is_over(b) || is_near(b)) break;
        status = tw_neighbours_part(b->space, home, k, &part);
        if (!part) continue;
        tw_part_bounds least = {0};
        tw_part_least(b->space, part, &least);
        tw_part_bound(b->space, b->goals, &least, part);
        spend(b, node_work(b, part));
        if (status == TW_OK && least.feasible && tw_front_wants(&b->out->front, &part->bound))
            status = try_quickly(b, part);
        free(part);
    }
    free(home);
    return status;
}

static tw_part *copy_of(const branch *b, const tw_part *part)
{
    const size_t size = sizeof *part + (size_t)b->space->frame[part->frame].n_vars * sizeof *part->var;
    tw_part *copy = malloc(size);
    if (copy) memcpy(copy, part, size);
    return copy;
}

/* The larger tiles first where bounds are equal: their programs are shorter. */
static int compare_parts(const void *a, const void *b)
{
    const tw_part *x = *(tw_part *const *)a, *y = *(tw_part *const *)b;
    if (x->bound.of[0] != y->bound.of[0]) return x->bound.of[0] < y->bound.of[0] ? -1 : 1;
    return x->seq > y->seq ? -1 : x->seq < y->seq;
}

/* Lists sizes of the frame's one level whose bound is below the best. */
static tw_status list_sized(branch *b, int frame, tw_part **list, int most, int *n)
{
    tw_part *at;
    TW_TRY(tw_small_begin(b->space, frame, &at));
    for (bool more = true; more && *n < most; more = tw_small_next(b->space, at)) {
        tw_part_bounds least = {0};
        tw_part *part = copy_of(b, at);
        if (!part) {
            free(at);
            return TW_ERR_NOMEM;
        }
        part->seq = *n;
        if (tw_part_tighten(b->space, part)) tw_part_least(b->space, part, &least);
        if (least.feasible) tw_part_bound(b->space, b->goals, &least, part);
        spend(b, node_work(b, part));
        if (least.feasible && tw_front_wants(&b->out->front, &part->bound))
            list[(*n)++] = part;
        else
            free(part);
    }
    free(at);
    return TW_OK;
}

/* All sizes of one level of a small operator, those with the least bounds first. */
static tw_status run_small(branch *b)
{
    enum { MOST = 256 };
    const int64_t end = b->out->work + LEVELS_WORK;
    tw_part *list[MOST], *whole;
    int n = 0;
    tw_status status = TW_OK;
    if (b->goals->n_limits > 0 || b->out->front.n == 0) return TW_OK;
    if (tw_op_points(b->space->op) > TW_SMALL_POINTS) return TW_OK;
    for (int i = 0; i < b->space->n_frames && status == TW_OK; i++)
        if (b->space->frame[i].n_tiled == 1 && !b->space->frame[i].joined)
            status = list_sized(b, i, list, MOST, &n);
    qsort(list, (size_t)n, sizeof *list, compare_parts);
    for (int i = 0; i < n && status == TW_OK; i++) {
        bool more = tw_front_wants(&b->out->front, &list[i]->bound);
        for (int k = 0; more && status == TW_OK && b->out->work < end && !is_over(b) && !is_near(b); k++) {
            status = tw_small_complete(b->space, list[i], k, &more, &whole);
            if (status == TW_OK && whole) status = try_quickly(b, whole);
            free(status == TW_OK ? whole : NULL);
        }
    }
    while (n > 0) free(list[--n]);
    return status;
}

static uint64_t roll(uint64_t *dice)
{
    *dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *dice >> 33;
}

/* A mapping so many steps away from `from`, whatever it costs; one that cannot fit is no step. */
static tw_status stray(branch *b, const tw_part *from, int steps, tw_part **out)
{
    enum { TRIES = 400 };
    tw_status status = TW_OK;
    tw_part *at = copy_of(b, from), *next;
    if (!at) return TW_ERR_NOMEM;
    for (int i = 0; i < TRIES && steps > 0 && status == TW_OK; i++) {
        int k = (int)(roll(&b->dice) % (uint64_t)tw_neighbours_count(b->space, at));
        tw_part_bounds least = {0};
        status = tw_neighbours_part(b->space, at, k, &next);
        if (status != TW_OK || !next) continue;
        spend(b, node_work(b, next));
        tw_part_least(b->space, next, &least);
        free(least.feasible ? at : next);
        if (!least.feasible) continue;
        at = next;
        steps--;
    }
    *out = status == TW_OK ? at : NULL;
    if (status != TW_OK) free(at);
    return status;
}

/* Walks that begin near `home`, the first of them there. Each knows of nothing but itself, so that it may pass what is worse than the
 * best. */
static tw_status fill_walks(branch *b, const tw_part *home, int n, int64_t each, int *number)
{
    enum { FARTHEST = 4 };
    aim(b);
    b->claimed = -1;
    for (b->n_tasks = 0; b->n_tasks < n; ++*number) {
        task *t = &b->task[b->n_tasks];
        tw_part *seed;
        TW_TRY(stray(b, home, *number == 0 ? 0 : 1 + *number % FARTHEST, &seed));
        tw_status status = begin_task(b, t, 0, each);
        t->most = each;
        t->front.n = 0;
        t->seed = seed;
        t->seen = calloc(SEEN, sizeof *t->seen);
        b->n_tasks++;
        TW_TRY(status);
        if (!t->seen) return TW_ERR_NOMEM;
    }
    return TW_OK;
}

/* Looks around the best mapping, simulating what it meets: see neighbours.h. */
static tw_status walk_around(branch *b, int64_t end, tw_part **home)
{
    enum { WALKS = 4 };
    int64_t each = tw_clamp((end - b->out->work) / 8, WALK_LEAST, WALK_WORK);
    int number = 0;
    while (b->out->work < end && !is_over(b) && !is_near(b)) {
        tw_goal_value before = b->out->front.best[0].value;
        tw_status status = fill_walks(b, *home, number == 0 ? 1 : WALKS, each, &number);
        if (b->n_tasks > 1 && b->n_threads == 0) start_threads(b);
        if (status == TW_OK) run_round(b);
        TW_TRY(merge_round(b, status));
        if (tw_value_compare(b->goals, &b->out->front.best[0].value, &before) >= 0) continue;
        free(*home);
        TW_TRY(part_of_best(b, home));
        if (!*home) return TW_OK;
    }
    return TW_OK;
}

/* Whether it is time for it. Who is in a hurry walks only where it takes little, since nothing is reduced, or much may be gained. */
static bool may_walk(const branch *b)
{
    const tw_front *front = &b->out->front;
    if (b->options->patience == 0) return b->out->work >= WALKS_AFTER;
    return !b->space->reductions ||
           (front->n > 0 && b->heap.n > 0 &&
            MUCH * (front->best[0].value.of[0] - b->heap.part[0]->bound.of[0]) > front->best[0].value.of[0]);
}

/* Whether simulating neighbours leads anywhere: time matters, and mappings are programs of a stream. */
static bool is_walked(const branch *b)
{
    tw_measure measure = b->goals->goal[0].measure;
    bool counts = b->options->exhaustive || b->out->front.counts;
    return !counts && b->space->rules->shortlist && b->goals->n == 1 && (measure == TW_CYCLES || measure == TW_EDP);
}

static tw_status run_walks(branch *b)
{
    tw_part *home = NULL;
    bool suits = is_walked(b) && b->goals->n_limits == 0 && b->out->front.n > 0;
    if (!suits || b->heap.n == 0 || is_near(b)) return TW_OK;
    tw_status status = part_of_best(b, &home);
    int64_t left = tw_max(0, b->total - b->out->work), most = b->options->patience > 0 ? HURRIED_WORK : WALKS_WORK;
    const int64_t before = b->out->work;
    if (status == TW_OK && home) status = walk_around(b, before + tw_min(left / 2, most), &home);
    if (b->options->patience > 0) b->total += b->out->work - before; /* short ones take nothing from the proof */
    free(home);
    be_patient(b);
    return status;
}

/* One tiled level, few loops: the tiles that move least for every order. */
static tw_status run_tile_seeds(branch *b, int frame)
{
    enum { MOST_LOOPS = 3, LOOKS = 400, GRANULES = 2 };
    static const int64_t granule[GRANULES] = {16, 1};
    tw_arena *scratch = tw_arena_new();
    tw_status status = scratch ? TW_OK : TW_ERR_NOMEM;
    int64_t n = 1;
    for (int l = 2; l <= b->space->op->n_loops; l++) n *= l;
    for (int64_t i = 0; status == TW_OK && i < GRANULES * n && b->space->op->n_loops <= MOST_LOOPS; i++) {
        tw_part *start;
        status = tw_seed_tiles(b->space, frame, i / GRANULES, granule[i % GRANULES], scratch, &start);
        if (status == TW_OK && start) status = run_seed(b, frame, start, LOOKS);
        free(status == TW_OK ? start : NULL);
        if (is_over(b)) break;
    }
    tw_arena_free(scratch);
    return status;
}

/* Mappings to begin with, from the frames with the fewest tiled levels on. */
static tw_status run_seeds(branch *b)
{
    enum { MOST_FRAMES = 24, MOST_LOOKS = 3000 };
    int n = 0;
    for (int tiled = 1; tiled < TW_MAX_MEMORIES; tiled++)
        for (int i = 0; i < b->space->n_frames && n < MOST_FRAMES; i++) {
            if (b->space->frame[i].n_tiled != tiled) continue;
            n++;
            TW_TRY(run_seed(b, i, NULL, MOST_LOOKS));
            if (is_over(b)) return TW_OK;
            if (tiled == 1 && n == 1) TW_TRY(run_tile_seeds(b, i));
            if (is_over(b)) return TW_OK;
        }
    return TW_OK;
}

/* Whether seeds are worth it before much is known: where a shortlist has led to something they rarely lead further. */
static bool has_early_seeds(const branch *b)
{
    return b->space->rules->seeds_first && !(has_shortlist(b) && is_timed(b) && b->out->front.n > 0);
}

/* Lets go of the parts with the highest bounds; what they bound is remembered. */
static void bound_memory(branch *b)
{
    int64_t most = most_parts(b);
    if (b->heap.n <= most) return;
    tw_heap kept = {.goals = b->goals};
    for (int64_t i = 0; i < most / 2; i++) {
        tw_part *p = tw_heap_pop(&b->heap);
        if (!tw_heap_push(&kept, p)) break;
    }
    for (int64_t i = 0; i < b->heap.n; i++) {
        if (tw_front_wants(&b->out->front, &b->heap.part[i]->bound)) b->out->ending = TW_END_MEMORY;
        keep_least(b->goals, &b->out->any_open, &b->out->open, &b->heap.part[i]->bound);
    }
    tw_heap_release(&b->heap);
    b->heap = kept;
}

/* Whether a search for a proof alone cannot have one any more: what was let go is below all that is open. */
static bool is_stuck(const branch *b)
{
    return b->total == NO_BUDGET && b->out->ending == TW_END_MEMORY && b->out->any_open && b->heap.n > 0 &&
           tw_value_compare(b->goals, &b->out->open, &b->heap.part[0]->bound) <= 0;
}

/* Budget or time are used up and nothing was found: one mapping at least, if one can be made or a climb leads to one. */
static tw_status last_resort(branch *b)
{
    tw_deadline soon;
    if (b->out->front.n > 0 || b->heap.n == 0 || b->options->exhaustive) return TW_OK;
    b->hurries = atomic_load(&b->stop) == TW_END_STOPPED;
    tw_deadline_init(&soon, TW_HURRY, NULL);
    b->deadline = b->hurries ? &soon : b->last; /* some time was kept for this */
    b->one_run = ONE_RUN;
    b->desperate = true;
    atomic_store(&b->stop, 0);
    if (!b->hurries && !isfinite(tw_deadline_left(b->last))) TW_TRY(run_first(b, true)); /* it may be long */
    for (int i = 0; i < b->space->n_frames && b->out->front.n == 0; i++) {
        b->total = b->out->work + LAST_WORK;
        be_patient(b);
        TW_TRY(run_seed(b, i, NULL, LAST_LOOKS));
        if (atomic_load(&b->stop) != 0) break;
    }
    b->total = 0;
    b->deadline = b->last;
    spend(b, 0);
    return TW_OK;
}

/* What tasks behind the winner left open is forgotten, but not that it is above the floor. */
static tw_status end_early(branch *b)
{
    bool won = is_near(b);
    b->out->ending = won ? TW_END_GAP : (tw_ending)atomic_load(&b->stop);
    keep_least(b->goals, &b->out->any_open, &b->out->open, &b->floor);
    for (int64_t i = 0; i < b->heap.n && b->goals->pareto;
         i++) /* the first of the heap is below others in one objective */
        keep_least(b->goals, &b->out->any_open, &b->out->open, &b->heap.part[i]->bound);
    tw_heap_release(&b->heap);
    return TW_OK;
}

/* What estimates say is better than the best. */
static tw_status run_divided(branch *b)
{
    if (!has_shortlist(b)) return TW_OK;
    tw_shortlist *shortlist = malloc(sizeof *shortlist);
    if (!shortlist) return TW_ERR_NOMEM;
    *shortlist = new_shortlist(b);
    /* Where movers are the limit the first tiles count twice in an estimate, as they come and as movers are busy with them. */
    static const double twice = 1.03;
    double below = shortlist_best(b, INT64_MAX) * (tw_layout_is_moved(b->space) ? twice : 1);
    tw_status status = run_frames(b, 1, below, INT64_MAX, shortlist);
    free(shortlist);
    return status;
}

/* Whether the best mapping so far has divided loops. */
static bool is_divided(const branch *b)
{
    if (b->out->front.n == 0) return false;
    const tw_op_map *map = &b->out->front.best[0].map; /* what the search began with is of no frame */
    for (int i = 0; i < map->n_levels; i++)
        for (int l = 0; l < b->space->op->n_loops; l++)
            if (tw_spread_divides(&map->level[i].over, l)) return true;
    return false;
}

/* The best mapping with residencies in other memories. Estimates take the memory whose own mover gains most, which may leave few buffers there to what
 * passes it. */
static tw_status run_elsewhere(branch *b)
{
    tw_part *home = NULL;
    if (b->out->front.n == 0) return TW_OK;
    tw_status status = part_of_best(b, &home);
    for (int k = 0; home && k < tw_neighbours_stays(b->space) && status == TW_OK; k++) {
        tw_part *part;
        if (b->budget <= 0 || is_over(b) || is_near(b)) break;
        status = tw_neighbours_elsewhere(b->space, home, k, &part);
        if (!part) continue;
        tw_part_bounds least = {0};
        tw_part_least(b->space, part, &least);
        tw_part_bound(b->space, b->goals, &least, part);
        spend(b, node_work(b, part));
        if (status == TW_OK && least.feasible && tw_front_wants(&b->out->front, &part->bound))
            status = try_quickly(b, part);
        free(part);
    }
    free(home);
    return status;
}

/* Around the best, if it is one of these. */
static tw_status walk_divided(branch *b)
{
    const tw_search_options *options = b->options;
    int64_t most = options->patience > 0 ? HURRIED_WORK : WALK_WORK;
    if (!is_divided(b) || is_over(b) || is_near(b)) return TW_OK;
    if (options->budget > 0 && options->patience == 0) most = tw_min(most, options->budget / LATE_SHARE);
    if (b->total < NO_BUDGET) b->total = b->out->work + most;
    be_patient(b);
    return run_walks(b);
}

typedef struct sweep {
    branch *all;
    tw_heap heap;
} sweep;

static bool take_sized(void *user, tw_part *part)
{
    sweep *w = user;
    branch *b = w->all;
    tw_part_bounds least = {0};
    b->out->n_nodes++;
    b->out->work += SIZED_WORK;
    if (tw_part_tighten(b->space, part)) tw_part_least(b->space, part, &least);
    if (least.feasible) tw_part_bound(b->space, b->goals, &least, part);
    if (least.feasible && tw_front_wants(&b->out->front, &part->bound)) return tw_heap_push(&w->heap, part);
    b->out->closed[least.feasible ? part->closer : TW_BOUND_CAPACITY]++;
    free(part);
    return true;
}

/* Frames with loops that may be divided become parts of one size each, as far as these may be nearer than what is found is near enough. */
static tw_status sweep_sizes(branch *b)
{
    sweep w = {.all = b, .heap = {.goals = b->goals}};
    tw_status status = TW_OK;
    const tw_goal *first = &b->goals->goal[0];
    if (b->goals->pareto || b->goals->n != 1 || b->goals->n_limits > 0 || first->measure != TW_CYCLES) return TW_OK;
    if (b->out->front.n == 0 || b->options->exhaustive) return TW_OK;
    double best = (double)b->out->front.best[0].value.of[0], enough = best * (1 - fmax(0, b->gap));
    for (tw_part *p; status == TW_OK && (p = tw_heap_pop(&b->heap));) {
        int64_t beyond;
        bool divided;
        status = tw_sizes_divide(b->space, p, (int64_t)ceil(enough), take_sized, &w, &beyond, &divided);
        if (divided) {
            tw_goal_value left = p->bound;
            if (left.of[0] < beyond) left.of[0] = beyond;
            if (beyond < INT64_MAX && tw_front_wants(&b->out->front, &left))
                keep_least(b->goals, &b->out->any_open, &b->out->open, &left);
            free(p);
        } else if (!tw_heap_push(&w.heap, p)) {
            status = TW_ERR_NOMEM;
        }
    }
    for (tw_part *p; (p = tw_heap_pop(&w.heap));)
        if (status != TW_OK)
            free(p);
        else if (!tw_heap_push(&b->heap, p))
            status = TW_ERR_NOMEM;
    tw_heap_release(&w.heap);
    return status;
}

/* Parts of these frames by their bounds until the budget ends. Where much of it is left, some of it goes around the best, as in the frames before. */
static tw_status run_late_parts(branch *b, bool walks)
{
    const int64_t after = b->out->work + WALKS_AFTER;
    while (b->budget > 0 && !is_over(b) && !is_near(b)) {
        tw_status status = fill_round(b);
        share_budget(b);
        if (b->n_tasks == 0) return status;
        if (b->n_tasks > 1 && b->n_threads == 0) start_threads(b);
        if (status == TW_OK) run_round(b);
        TW_TRY(merge_round(b, status));
        bound_memory(b);
        if (is_stuck(b)) return TW_OK;
        if (walks && b->out->work >= after) {
            walks = false;
            TW_TRY(run_walks(b));
        }
    }
    if (is_over(b) || is_near(b)) return end_early(b);
    b->out->ending = TW_END_BUDGET;
    return TW_OK;
}

/* Frames with loops that may be divided: what an estimate finds there, then parts by their bounds. These are often far from what is found, so that
 * others are searched before, to an end of their own; but what those leave of the budget is for these, except where somebody is in a hurry. */
static tw_status run_late(branch *b)
{
    for (tw_part *p; (p = tw_heap_pop(&b->late));)
        if (!tw_heap_push(&b->heap, p)) return TW_ERR_NOMEM;
    if (atomic_load(&b->stop) != 0) return TW_OK;
    /* Later objectives are about mappings like those that were found; what is small is looked at whatever these are. */
    const bool first = b->goals->n_limits == 0, hurried = b->options->patience > 0;
    const int64_t left = first && !hurried ? b->total : 0;
    int64_t most = hurried ? DIVIDED_WORK / 2 : DIVIDED_WORK, late = first ? LATE_WORK : TIES_WORK;
    if (b->options->budget > 0 && !hurried) {
        most = tw_min(most, b->options->budget / LATE_SHARE);
        late = tw_min(late, b->options->budget / LATE_SHARE);
    }
    const int64_t estimates = first ? most : is_divided(b) ? most / 2 : tw_min(most, TIES_WORK);
    atomic_store(&b->winner, TASKS);
    b->divides = true;
    if (b->total < NO_BUDGET) b->total = b->out->work + estimates;
    b->near = false;
    be_patient(b);
    bool known = b->start && !b->foreign; /* then an earlier search has made these */
    if (is_timed(b) && !known) TW_TRY(run_divided(b));
    if (first && !known && is_divided(b) && !is_over(b) && !is_near(b)) {
        be_patient(b);
        TW_TRY(run_elsewhere(b));
    }
    if (first && !known) TW_TRY(walk_divided(b));
    if (first && !is_over(b) && !is_near(b)) TW_TRY(sweep_sizes(b));
    if (b->total < NO_BUDGET) b->total = tw_max(left, b->out->work + (!first && hurried ? 0 : late));
    be_patient(b);
    return run_late_parts(b, first && !hurried);
}

static tw_status run_rounds(branch *b)
{
    bool begins = true;
    if (b->start) TW_TRY(run_start(b, &begins));
    if (!begins && b->optional) return TW_OK;
    bool known = b->out->front.n > 0 && !b->foreign; /* then an earlier search has made these */
    if (!known && !b->space->reductions) TW_TRY(run_first(b, true));
    if (!known && !is_over(b) && b->budget > 0) TW_TRY(run_peak(b));
    if (!known && is_timed(b) && !is_over(b) && b->budget > 0) TW_TRY(run_shortlist(b));
    if (!known && !is_over(b) && b->budget > 0) TW_TRY(run_descents(b));
    if (!known && !is_timed(b) && !is_over(b) && b->budget > 0) TW_TRY(run_shortlist(b));
    b->estimated = b->out->front.n > 0 ? b->out->front.best[0].value.of[0] : INT64_MAX;
    if (!known && !is_over(b) && !is_near(b) && b->total > b->out->work) TW_TRY(run_blocks(b));
    if (!known && !is_over(b) && !is_near(b) && is_walked(b)) TW_TRY(run_levels(b));
    if (!known && !is_over(b) && !is_near(b) && is_walked(b)) TW_TRY(run_small(b));
    bool others = !known && !b->space->reductions && !is_timed(b);
    if (others && !is_over(b) && !is_near(b) && b->budget > 0) TW_TRY(run_first(b, false));
    if (atomic_load(&b->stop) != 0 && b->out->front.n == 0) {
        b->out->ending = (tw_ending)atomic_load(&b->stop);
        return last_resort(b);
    }
    if (is_over(b) || is_done(b)) return end_early(b);
    tw_status status = first_round(b);
    while (b->n_tasks > 0) {
        if (status == TW_OK) run_round(b);
        TW_TRY(merge_round(b, status));
        if (is_done(b)) return end_early(b);
        if (may_walk(b) && !b->has_walked && !is_over(b)) {
            b->has_walked = true;
            TW_TRY(run_walks(b));
            if (is_done(b)) return end_early(b);
        }
        int stop = atomic_load(&b->stop);
        if (b->budget <= 0 && b->total > b->out->work && is_rising(b)) be_patient(b);
        if (stop != 0) b->out->ending = (tw_ending)stop;
        if (stop == 0 && b->budget <= 0) b->out->ending = b->near ? TW_END_GAP : TW_END_BUDGET;
        if (stop != 0 || b->budget <= 0) TW_TRY(last_resort(b));
        if (stop != 0 || b->budget <= 0) return TW_OK;
        bound_memory(b);
        if (is_stuck(b)) return TW_OK;
        bool seeds = has_early_seeds(b) || b->out->n_nodes >= MANY_NODES;
        if (seeds && !b->has_seeds && b->heap.n > 0 && !b->out->front.counts) {
            b->has_seeds = true;
            aim(b);
            TW_TRY(run_seeds(b));
            if (is_done(b)) return end_early(b);
        }
        status = fill_round(b);
        share_budget(b);
        if (b->n_tasks > 1 && b->n_threads == 0) start_threads(b);
    }
    return status;
}

/* Where cycles are asked for, and what is open is not near enough to what was found: what all programs take at least. */
static tw_status raise_open(branch *b)
{
    tw_hunt *out = b->out;
    int64_t cycles;
    if (b->goals->pareto || b->goals->goal[0].measure != TW_CYCLES || !out->any_open) return TW_OK;
    if (out->front.n == 0 || out->front.counts) return TW_OK;
    const double enough = ceil((1 - b->gap) * (double)out->front.best[0].value.of[0]);
    if ((double)out->open.of[0] >= enough) return TW_OK;
    TW_TRY(tw_tail_floor(b->space, (int64_t)enough, &cycles));
    if (cycles == 0) TW_TRY(tw_tail_of_product(b->space, (int64_t)enough, &cycles));
    if (cycles == 0) TW_TRY(tw_box_floor(b->space, (int64_t)enough, &cycles));
    if (cycles > out->open.of[0]) out->open = (tw_goal_value){{cycles}};
    return TW_OK;
}

/* What is still open at the end. */
static tw_status close_books(branch *b)
{
    tw_hunt *out = b->out;
    for (tw_part *p; (p = next_open(b)); free(p)) keep_least(b->goals, &out->any_open, &out->open, &p->bound);
    TW_TRY(raise_open(b));
    if (out->any_open && !tw_front_wants(&out->front, &out->open)) out->any_open = false;
    if (!out->any_open) out->ending = TW_END_DONE;
    if (out->any_open && out->ending == TW_END_DONE) out->ending = TW_END_BUDGET;
    out->seconds = tw_deadline_since(b->start_ns);
    return TW_OK;
}

/* What is found is simulated once more for the plan, and again for each view of it: with little time only programs are
 * looked for with which that is quick. */
static int64_t longest_run(const tw_deadline *deadline)
{
    static const double per_second = 3e5;
    double most = tw_deadline_left(deadline) * per_second;
    return most < (double)ONE_RUN ? tw_max(1, (int64_t)most) : ONE_RUN;
}

/* What is only counted is simulated for the plan alone, which takes a second for so many instructions where they repeat
 * themselves little; a third of the time that is left is for that. Without a time limit a plan may take some seconds to show, unless a
 * proof is asked for, whatever it takes. */
static int64_t longest_shown(const tw_deadline *deadline, bool prove)
{
    static const double per_second = 5e7, some_seconds = 6, share = 1. / 3;
    double left = tw_deadline_left(deadline), seconds = isfinite(left) ? left * share : prove ? left : some_seconds;
    double most = seconds * per_second;
    return most < 9e18 ? (int64_t)most : INT64_MAX;
}

tw_status tw_branch(const tw_search *search, const tw_space *space, const tw_goals *goals,
                    const tw_deadline *deadline, tw_hunt *out)
{
    const tw_search_options *options = search->options;
    branch *b = calloc(1, sizeof *b);
    if (!b) return TW_ERR_NOMEM;
    *out = (tw_hunt){.front = {.goals = goals, .counts = space->notes || options->exhaustive}, .root_at = -1};
    b->space = space;
    b->goals = goals;
    b->options = options;
    b->eval = search->eval;
    b->start = search->start;
    b->foreign = search->foreign;
    b->heap.goals = b->late.goals = goals;
    atomic_store(&b->winner, TASKS);
    b->total = options->budget > 0 ? options->budget : options->prove ? NO_BUDGET : TW_DEFAULT_BUDGET;
    b->gap = options->gap > 0 || options->prove ? options->gap : default_gap;
    b->polish = options->gap > 0 || options->prove ? 0 : DEFAULT_POLISH;
    b->must_left = MUST_END;
    b->optional = search->optional && options->budget > 0;
    if (b->optional) b->must_left = tw_min(b->must_left, options->budget);
    b->candidate_work = CANDIDATE_WORK;
    b->out = out;
    be_patient(b);
    tw_deadline most;
    double left = tw_deadline_left(deadline);
    tw_deadline_init(&most, isfinite(left) ? share_of_search * left : 0, deadline);
    b->deadline = &most;
    b->last = deadline;
    b->one_run = longest_run(deadline);
    b->longest_tries = options->patience > 0 ? options->patience / 2 : INT64_MAX;
    b->shown = longest_shown(deadline, options->prove);
    b->start_ns = tw_deadline_now();
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->begins, NULL);
    pthread_cond_init(&b->ends, NULL);
    tw_status status = open_frames(b);
    if (status == TW_OK) status = run_rounds(b);
    if (status == TW_OK && b->late.n > 0) status = run_late(b);
    stop_threads(b);
    if (status == TW_OK) status = close_books(b);
    tw_heap_release(&b->heap);
    tw_heap_release(&b->late);
    pthread_cond_destroy(&b->ends);
    pthread_cond_destroy(&b->begins);
    pthread_mutex_destroy(&b->lock);
    free(b);
    return status;
}
